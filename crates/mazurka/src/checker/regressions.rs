//! Failures that were found before: saved beside the tests, and run first.
//!
//! A file has a line a failure: the name of the test, the schedule, and the message as a comment. Lines are
//! only added; one that does not fail any more stays, since what it guards against may come back.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use mazurka_program::Schedule;

/// Where failures are saved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Regressions {
    /// Nowhere.
    Off,
    /// In `mazurka-regressions` in the directory of the test's source, in a file named after its module.
    #[default]
    BesideTest,
    /// In this file.
    File(PathBuf),
}

impl From<bool> for Regressions {
    fn from(on: bool) -> Regressions {
        if on { Regressions::BesideTest } else { Regressions::Off }
    }
}

impl From<&str> for Regressions {
    fn from(file: &str) -> Regressions {
        Regressions::File(file.into())
    }
}

impl From<PathBuf> for Regressions {
    fn from(file: PathBuf) -> Regressions {
        Regressions::File(file)
    }
}

/// The failures of one test in a file.
#[derive(Clone, Debug)]
pub(super) struct Store {
    file: PathBuf,
    /// The file as people are told.
    shown: String,
    /// The name of the test, as one word.
    test: String,
}

/// A failure that was saved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// `file:line`.
    pub(super) place: String,
    pub(super) schedule: Schedule,
}

const HEADER: &str = "\
# Failures that mazurka found, each run again before anything else. Keep this file under version control.
# test, schedule # message
";

impl Store {
    pub(super) fn new(file: PathBuf, shown: &Path, test: &str) -> Store {
        let one_word = |c: char| if c.is_whitespace() || c == '#' { '_' } else { c };
        Store { file, shown: shown.display().to_string(), test: test.chars().map(one_word).collect() }
    }

    /// The file of a module, beside the source.
    pub(super) fn beside(source: &Path, module: &str) -> Option<PathBuf> {
        let plain = |c: char| if c.is_alphanumeric() || "._-".contains(c) { c } else { '_' };
        let name: String = module.replace("::", ".").chars().map(plain).collect();
        Some(source.parent()?.join("mazurka-regressions").join(format!("{name}.txt")))
    }

    pub(super) fn shown(&self) -> &str {
        &self.shown
    }

    /// The failures saved for the test; and what is wrong with the file, for which nobody should fail.
    pub(super) fn read(&self) -> (Vec<Entry>, Vec<String>) {
        let (mut entries, mut warnings) = (Vec::new(), Vec::new());
        let bytes = match fs::read(&self.file) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return (entries, warnings),
            Err(error) => return (entries, vec![format!("can't read {}: {error}", self.shown)]),
        };
        for (at, line) in String::from_utf8_lossy(&bytes).lines().enumerate() {
            let place = format!("{}:{}", self.shown, at + 1);
            match parse(line) {
                Ok(Some((test, schedule))) if test == self.test => entries.push(Entry { place, schedule }),
                Ok(_) => {}
                Err(why) => warnings.push(format!("{place}: {why}; the line is ignored")),
            }
        }
        (entries, warnings)
    }

    /// Adds a failure, unless it is there; gives whether it was not.
    ///
    /// # Errors
    /// If the file can't be written: says so with its name.
    pub(super) fn save(&self, schedule: &Schedule, message: &str) -> Result<bool, String> {
        if self.read().0.iter().any(|entry| entry.schedule == *schedule) {
            return Ok(false);
        }
        let message: Vec<&str> = message.split(|c: char| c.is_whitespace() || c.is_control()).collect();
        let message: Vec<&str> = message.into_iter().filter(|word| !word.is_empty()).collect();
        let line = format!("{} {schedule} # {}\n", self.test, message.join(" "));
        match self.append(&line) {
            Ok(()) => Ok(true),
            Err(error) => Err(format!("can't write {}: {error}", self.shown)),
        }
    }

    /// Whole lines are written at once, so that tests that run beside each other don't mix theirs.
    fn append(&self, line: &str) -> std::io::Result<()> {
        if let Some(directory) = self.file.parent() {
            fs::create_dir_all(directory)?;
        }
        let new = fs::OpenOptions::new().append(true).create_new(true).open(&self.file);
        match new {
            Ok(mut file) => file.write_all(format!("{HEADER}{line}").as_bytes()),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                let ended = fs::read(&self.file)?.last().is_none_or(|&last| last == b'\n');
                let line = format!("{}{line}", if ended { "" } else { "\n" });
                fs::OpenOptions::new().append(true).open(&self.file)?.write_all(line.as_bytes())
            }
            Err(error) => Err(error),
        }
    }
}

/// The test and the schedule of a line; none if there is nothing on it but a comment. (A `#` within a
/// schedule is no comment: it stands before an outcome.)
fn parse(line: &str) -> Result<Option<(&str, Schedule)>, String> {
    let mut words = line.split_whitespace();
    let Some(test) = words.next().filter(|word| !word.starts_with('#')) else { return Ok(None) };
    let schedule = words.next().unwrap_or_default().parse().map_err(|error| format!("{error}"))?;
    match words.next() {
        Some(word) if !word.starts_with('#') => Err(format!("`{word}` after the schedule")),
        _ => Ok(Some((test, schedule))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read() {
        for (line, expected) in [
            ("", Ok(None)),
            ("  # a comment", Ok(None)),
            ("lost v1:0*3,0.1#2 # assertion failed: x == 2", Ok(Some(("lost", "v1:0*3,0.1#2")))),
            ("lost v1:0", Ok(Some(("lost", "v1:0")))),
            ("lost", Err("not a schedule: expected \"v1:\" (the version of the schedule) at character 1")),
            ("lost v1:0,x", Err("not a schedule: expected the number of a process at character 6")),
            ("lost v1:0 v1:1", Err("`v1:1` after the schedule")),
        ] {
            let read = parse(line).map(|found| found.map(|(test, schedule)| (test, schedule.to_string())));
            let expected = expected.map(|found| found.map(|(test, text)| (test, text.to_owned())));
            assert_eq!(read, expected.map_err(str::to_owned), "{line}");
        }
    }

    #[test]
    fn a_file_is_named_after_its_module() {
        let file = Store::beside(Path::new("/p/tests/bank.rs"), "bank::deep::tests").unwrap();
        assert_eq!(file, Path::new("/p/tests/mazurka-regressions/bank.deep.tests.txt"));
        assert_eq!(Store::new(file, Path::new("shown"), "a test #1").test, "a_test__1");
    }
}
