//! Executions and the CPU time that they took.
//!
//! Each measurement has a process of its own. Checkers leave things behind in theirs: shuttle a panic hook,
//! which prints two lines for each thread that loom discards.

use std::process::{Command, Stdio};
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

use crate::programs::{Case, Program};
use crate::tools::{Check, Tool};

/// What one tool did with one program.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measurement {
    /// The first check; repetitions are the same.
    pub check: Check,
    /// Executions of all checks, a second of CPU time.
    pub rate: f64,
}

/// Measures in another process; `None` if the tool can't run the program or fails, which its own output
/// explains.
pub fn measure_apart(tool: Tool, case: &Case, at_least: Duration) -> Option<Measurement> {
    if !tool.supports(case.program) {
        return None;
    }
    let this = std::env::current_exe().expect("the program knows where it is");
    let seconds = at_least.as_secs_f64().to_string();
    let arguments = ["--one", tool.name(), case.name, "--seconds", &seconds];
    let output = Command::new(this).args(arguments).stderr(Stdio::inherit()).output();
    let output = output.expect("the program can start itself");
    Measurement::from_line(&String::from_utf8_lossy(&output.stdout)).filter(|_| output.status.success())
}

/// Repeats a check until so much CPU time is over. A check that takes longer than that by the clock is cut.
pub fn measure(tool: Tool, program: Program, at_least: Duration) -> Measurement {
    let started = cpu_time();
    let check = tool.check(program, at_least);
    let mut executions = check.executions;
    // On a busy machine a check that was cut by the clock has not had its CPU time: it is repeated too.
    while cpu_time() - started < at_least {
        executions += tool.check(program, at_least).executions;
    }
    let seconds = (cpu_time() - started).as_secs_f64();
    Measurement { check, rate: executions as f64 / seconds }
}

/// CPU time of all threads of this process: what others do on the machine does not count.
fn cpu_time() -> Duration {
    clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).expect("the clock of a process's CPU time").into()
}

impl Measurement {
    /// For the process that asked.
    pub fn to_line(self) -> String {
        let Check { executions, blocked, pass, cut } = self.check;
        format!("{executions} {blocked} {pass} {cut} {}", self.rate)
    }

    fn from_line(line: &str) -> Option<Measurement> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let &[executions, blocked, pass, cut, rate] = &words[..] else { return None };
        let check = Check {
            executions: executions.parse().ok()?,
            blocked: blocked.parse().ok()?,
            pass: pass.parse().ok()?,
            cut: cut.parse().ok()?,
        };
        Some(Measurement { check, rate: rate.parse().ok()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_measurement_survives_the_way_between_processes() {
        let check = Check { executions: 1_107, blocked: 3, pass: false, cut: true };
        let measurement = Measurement { check, rate: 0.1 + 0.2 };
        assert_eq!(Measurement::from_line(&measurement.to_line()), Some(measurement));
        assert_eq!(Measurement::from_line("thread 'main' panicked"), None);
    }
}
