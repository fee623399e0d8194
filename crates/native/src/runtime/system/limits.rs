//! What a search may take: time, and memory of this process. Looked at by the handler of the timer, so that a
//! program which comes to no operation can't outlast it.
//!
//! When a limit is reached, the thread that runs is stopped in the middle of its step, if it is in the
//! program's own code. An execution in which nothing has gone wrong so far ends the search; one with a
//! failure is told, as far as it has come. Limits hold until the search is over: whoever tells a failure to
//! people then takes the time that it needs.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::time::{Duration, Instant};

use mazurka_program::Stop;

use crate::runtime::memory::layout::PAGE;

/// What has been used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limit {
    /// The search has taken so long.
    Time(Duration),
    /// This process has taken so many bytes more than before the search.
    Memory(u64),
}

impl Limit {
    /// The search ends here.
    pub(crate) fn stop(self) -> Stop {
        Stop::Bound(match self {
            Limit::Time(time) => format!("the time limit of {} s was reached", time.as_secs_f64()),
            Limit::Memory(bytes) => {
                format!("the memory limit of {} was reached; --max-memory raises it", size_text(bytes))
            }
        })
    }
}

/// A number of bytes as the option takes it: `512M`.
fn size_text(bytes: u64) -> String {
    let units = [(40, "T"), (30, "G"), (20, "M"), (10, "K")];
    match units.into_iter().find(|&(shift, _)| bytes.is_multiple_of(1 << shift)) {
        Some((shift, unit)) => format!("{}{unit}", bytes >> shift),
        None => format!("{bytes} bytes"),
    }
}

#[derive(Clone, Copy)]
struct Limits {
    time: Option<(Instant, Duration)>,
    /// The most bytes, and how many there were before.
    memory: Option<(u64, u64)>,
}

thread_local! {
    static LIMITS: Cell<Limits> = const { Cell::new(Limits { time: None, memory: None }) };
    static REACHED: Cell<Option<Limit>> = const { Cell::new(None) };
}

/// From now on a search on this thread of the operating system may take so much.
pub(crate) fn set(time: Option<Duration>, memory: Option<u64>) {
    let time = time.and_then(|time| Some((Instant::now().checked_add(time)?, time)));
    let memory = memory.map(|most| (most, resident()));
    LIMITS.set(Limits { time, memory });
    REACHED.set(None);
}

/// The search is over.
pub(crate) fn lift() {
    set(None, None);
}

/// The limit that has been reached.
#[inline]
pub(crate) fn reached() -> Option<Limit> {
    REACHED.get()
}

/// Looks whether a limit has been reached. Called by a handler: calls of the system are all that it does.
pub(crate) fn look() {
    let Limits { time, memory } = LIMITS.get();
    if reached().is_some() {
        return;
    }
    let late = time.filter(|(end, _)| Instant::now() >= *end).map(|(_, time)| Limit::Time(time));
    let large = || memory.filter(|(most, before)| resident().saturating_sub(*before) > *most);
    let limit = late.or_else(|| large().map(|(most, _)| Limit::Memory(most)));
    REACHED.set(limit);
}

/// The bytes of memory that this process has to itself; 0 if that is not known. `errno` stays.
fn resident() -> u64 {
    let mut text = [0u8; 128];
    // SAFETY: the path is a C string, and the buffer as large as is said; `errno` is that of this thread.
    let len = unsafe {
        let errno = *libc::__errno_location();
        let file = libc::open(c"/proc/self/statm".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        let len = if file < 0 { 0 } else { libc::read(file, text.as_mut_ptr().cast(), text.len()) };
        if file >= 0 {
            libc::close(file);
        }
        *libc::__errno_location() = errno;
        len.max(0) as usize
    };
    // Of the pages in memory those that are shared with files are not counted.
    let mut pages = text[..len].split(|&byte| byte == b' ').skip(1).map(number);
    let (all, shared) = (pages.next().unwrap_or(0), pages.next().unwrap_or(0));
    all.saturating_sub(shared) * PAGE as u64
}

fn number(digits: &[u8]) -> u64 {
    digits.iter().fold(0, |number, digit| number * 10 + u64::from(digit.wrapping_sub(b'0')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_counted_when_it_is_touched() {
        let before = resident();
        let memory = std::hint::black_box(vec![1u8; 64 << 20]);
        let after = resident();
        assert!(before > 0 && after >= before + (60 << 20), "{before} {after}");
        drop(memory);
    }

    #[test]
    fn limits_are_told_as_they_were_given() {
        assert_eq!(size_text(64 << 20), "64M");
        assert_eq!(size_text(1001), "1001 bytes");
        assert_eq!(
            Limit::Time(Duration::from_millis(500)).stop(),
            Stop::Bound("the time limit of 0.5 s was reached".to_owned())
        );
    }
}
