//! Schedules as text: which process took each step.
//!
//! ```text
//! schedule = "v1:" [ item { "," item } ]
//! item     = name [ "#" choice ] [ "*" count ]
//! name     = ordinal { "." ordinal }
//! ```
//! `name` is a path in the creation tree; `choice` is the outcome of the step (0 where it is left out);
//! `count` repeats the item. `v1:0*3,1,0.1#2` is three steps of process 0, one of process 1, and one of 0's
//! second child, outcome 2.

use std::fmt;
use std::str::FromStr;

/// One step of a schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The path of the process in the creation tree.
    pub process: Vec<u32>,
    /// The outcome of the step.
    pub choice: u32,
}

/// A sequence of steps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    /// The steps, in order.
    pub steps: Vec<Step>,
}

/// Why a text is not a schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduleError {
    /// The byte at which reading ended.
    pub at: usize,
    /// What should have been there.
    pub expected: &'static str,
}

impl fmt::Display for ScheduleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not a schedule: expected {} at character {}", self.expected, self.at + 1)
    }
}

impl std::error::Error for ScheduleError {}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("v1:")?;
        for (i, run) in self.steps.chunk_by(|a, b| a == b).enumerate() {
            if i > 0 {
                f.write_str(",")?;
            }
            for (j, ordinal) in run[0].process.iter().enumerate() {
                write!(f, "{}{ordinal}", if j > 0 { "." } else { "" })?;
            }
            if run[0].choice > 0 {
                write!(f, "#{}", run[0].choice)?;
            }
            if run.len() > 1 {
                write!(f, "*{}", run.len())?;
            }
        }
        Ok(())
    }
}

/// No schedule that a text names is longer than this: a typing error must not fill the memory.
const MAX_STEPS: usize = 1_000_000;

impl FromStr for Schedule {
    type Err = ScheduleError;

    fn from_str(text: &str) -> Result<Schedule, ScheduleError> {
        let mut reader = Reader { text, at: 0 };
        if !reader.skip("v1:") {
            return Err(reader.error("\"v1:\" (the version of the schedule)"));
        }
        let mut steps = Vec::new();
        while reader.at < text.len() {
            if !steps.is_empty() && !reader.skip(",") {
                return Err(reader.error("a comma"));
            }
            let mut process = vec![reader.number("the number of a process")?];
            while reader.skip(".") {
                process.push(reader.number("the number of a process")?);
            }
            let choice = if reader.skip("#") { reader.number("the number of an outcome")? } else { 0 };
            let count = if reader.skip("*") { reader.number("how many steps")? as usize } else { 1 };
            if count == 0 || steps.len() + count > MAX_STEPS {
                return Err(reader.error("between 1 and 1,000,000 steps in all"));
            }
            steps.resize(steps.len() + count, Step { process, choice });
        }
        Ok(Schedule { steps })
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn skip(&mut self, what: &str) -> bool {
        let found = self.text[self.at..].starts_with(what);
        if found {
            self.at += what.len();
        }
        found
    }

    fn number(&mut self, expected: &'static str) -> Result<u32, ScheduleError> {
        let rest = &self.text[self.at..];
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let number = rest[..digits].parse().map_err(|_| self.error(expected))?;
        self.at += digits;
        Ok(number)
    }

    fn error(&self, expected: &'static str) -> ScheduleError {
        ScheduleError { at: self.at, expected }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_back() {
        for text in ["v1:", "v1:0", "v1:0*3,1,0.1#2", "v1:0.0.7#1*2,12"] {
            assert_eq!(text.parse::<Schedule>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn bad_text_is_refused_with_its_place() {
        for (text, at) in [
            ("", 0),
            ("v2:0", 0),
            ("v1:x", 3),
            ("v1:0,", 5),
            ("v1:0*0", 6),
            ("v1:0;1", 4),
            ("v1:0*999999999", 14),
            ("v1:99999999999", 3),
            ("v1:é", 3),
        ] {
            assert_eq!(text.parse::<Schedule>().unwrap_err().at, at, "{text}");
        }
    }
}
