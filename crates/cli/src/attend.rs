//! Attending to the worker process: waiting for its end, ending it where it takes far too much, and telling
//! how it died.
//!
//! A worker keeps to the limits of the search by itself. What is looked at from here is the rest: a worker
//! that loads a program or tells a failure, or that was overwritten by the program and obeys nobody.

use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use crate::error::CommandError;

/// What a worker may take besides what the search may: the program in memory, what it had before the search,
/// names and places.
pub(crate) const ROOM: u64 = 512 << 20;
/// What a worker may take longer than the search may: telling a failure runs it again.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a worker may take.
pub struct Allowance {
    /// The most time of its searches together.
    pub time: Option<Duration>,
    /// The most bytes of memory of a search.
    pub memory: u64,
}

/// Waits until a worker has ended, and gives its exit status and what it wrote. One that takes too much is
/// ended.
pub fn attend(child: &mut Child, allowance: &Allowance) -> Result<(u8, String), CommandError> {
    let killed_before = killed_for_memory();
    let mut stdout = child.stdout.take();
    let reader = thread::spawn(move || {
        let mut report = Vec::new();
        // What can't be read to its end is of a worker that died.
        stdout.as_mut().map(|stdout| stdout.read_to_end(&mut report));
        report
    });
    let status = wait(child, allowance)?;
    let report = reader.join().unwrap_or_default();
    match status.code() {
        Some(code @ 0..=3) => Ok((code as u8, String::from_utf8_lossy(&report).into_owned())),
        _ => Err(CommandError::input(death(status, killed_for_memory() > killed_before))),
    }
}

fn wait(child: &mut Child, allowance: &Allowance) -> Result<ExitStatus, CommandError> {
    let begin = Instant::now();
    let most_memory = allowance.memory.saturating_add(ROOM);
    let mut pause = Duration::from_millis(1);
    loop {
        if let Some(status) = child.try_wait().map_err(CommandError::internal)? {
            return Ok(status);
        }
        let too_much = if allowance.time.is_some_and(|time| begin.elapsed() > time + PATIENCE) {
            Some("took much longer than --timeout allows and was ended".to_owned())
        } else if resident(child.id()) > most_memory {
            Some(format!(
                "took more than {} MiB of memory and was ended; --max-memory raises that",
                most_memory >> 20
            ))
        } else {
            None
        };
        if let Some(what) = too_much {
            let _ = child.kill();
            let _ = child.wait();
            return Err(CommandError::input(format!(
                "the process in which the program ran {what}: there is no verdict"
            )));
        }
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(50));
    }
}

/// The bytes of memory that a process has; 0 if that is not to be found out.
pub(crate) fn resident(process: u32) -> u64 {
    const PAGE: u64 = 4096;
    let text = std::fs::read_to_string(format!("/proc/{process}/statm")).unwrap_or_default();
    text.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) * PAGE
}

/// The time of processors that a process has used, in ticks; 0 if that is not to be found out.
#[cfg_attr(not(feature = "postgres"), expect(dead_code, reason = "only other machines need it"))]
pub(crate) fn used_time(process: u32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // Behind the name, which may be anything, the twelfth and the thirteenth.
    let rest = text.rsplit_once(')').map_or("", |(_, rest)| rest);
    rest.split_whitespace().skip(11).take(2).filter_map(|ticks| ticks.parse::<u64>().ok()).sum()
}

/// How many processes the system has killed so far because there was no memory left; 0 if it does not tell.
fn killed_for_memory() -> u64 {
    let text = std::fs::read_to_string("/proc/vmstat").unwrap_or_default();
    let count = text.lines().find_map(|line| line.strip_prefix("oom_kill "));
    count.and_then(|count| count.parse().ok()).unwrap_or(0)
}

/// How a worker died that gave no report.
fn death(status: ExitStatus, out_of_memory: bool) -> String {
    const KILL: i32 = 9;
    const CPU_TIME: i32 = 24;
    let (how, advice) = match status.signal() {
        Some(KILL) if out_of_memory => (
            "was killed by the system, which had no memory left".to_owned(),
            " A smaller --max-memory ends the search before that",
        ),
        Some(CPU_TIME) => ("had used all the CPU time that it was allowed (SIGXCPU)".to_owned(), ""),
        // What a fault of the process itself raises.
        Some(signal @ (4 | 5 | 6 | 7 | 8 | 11 | 31)) => (
            format!("was ended by signal {signal}{}", signal_name(signal)),
            " Most likely the program wrote over memory that is not its own; a sanitizer (-fsanitize=address) may show \
             where",
        ),
        Some(signal) => (format!("was killed from outside, by signal {signal}{}", signal_name(signal)), ""),
        None => (format!("ended in an unexpected way ({status})"), ""),
    };
    let stop = if advice.is_empty() { "" } else { "." };
    format!("the process in which the program ran {how}: there is no verdict{stop}{advice}")
}

fn signal_name(signal: i32) -> &'static str {
    match signal {
        1 => " (SIGHUP)",
        2 => " (SIGINT)",
        3 => " (SIGQUIT)",
        4 => " (SIGILL)",
        5 => " (SIGTRAP)",
        6 => " (SIGABRT)",
        7 => " (SIGBUS)",
        8 => " (SIGFPE)",
        9 => " (SIGKILL)",
        11 => " (SIGSEGV)",
        15 => " (SIGTERM)",
        31 => " (SIGSYS)",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_death_is_told_as_what_it_was() {
        for (signal, out_of_memory, expected) in [
            (
                11,
                false,
                "was ended by signal 11 (SIGSEGV): there is no verdict. Most likely the program wrote",
            ),
            (9, false, "was killed from outside, by signal 9 (SIGKILL): there is no verdict"),
            (15, false, "was killed from outside, by signal 15 (SIGTERM): there is no verdict"),
            (9, true, "was killed by the system, which had no memory left: there is no verdict. A smaller"),
            (24, false, "had used all the CPU time that it was allowed (SIGXCPU): there is no verdict"),
        ] {
            let told = death(ExitStatus::from_raw(signal), out_of_memory);
            assert!(told.contains(expected), "{told}");
        }
    }
}
