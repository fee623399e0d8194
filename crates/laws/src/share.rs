//! Work that is numbered, shared by several threads.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What is to be done.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Work {
    /// The first number.
    pub first: u64,
    /// How many numbers.
    pub count: u64,
    /// None is begun after so long.
    pub time: Option<Duration>,
    /// How many threads.
    pub threads: usize,
}

impl Work {
    /// Does each number once, until one asks to stop by setting the flag. Gives the time it took.
    pub fn share(self, one: impl Fn(u64, &AtomicBool) + Sync) -> Duration {
        let started = Instant::now();
        let (next, over) = (AtomicU64::new(self.first), AtomicBool::new(false));
        let end = self.first.saturating_add(self.count);
        let work = || {
            while !over.load(Ordering::Relaxed) {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let late = self.time.is_some_and(|most| started.elapsed() >= most);
                if late || index >= end {
                    break;
                }
                one(index, &over);
            }
        };
        std::thread::scope(|scope| (0..self.threads.max(1)).for_each(|_| drop(scope.spawn(work))));
        started.elapsed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    #[test]
    fn each_number_is_done_once_until_one_says_stop() {
        let done = Mutex::new(Vec::new());
        let work = Work { first: 5, count: 100, time: None, threads: 3 };
        work.share(|index, _| done.lock().unwrap().push(index));
        let mut all = std::mem::take(&mut *done.lock().unwrap());
        all.sort_unstable();
        assert_eq!(all, (5..105).collect::<Vec<_>>());
        Work { threads: 1, ..work }.share(|index, over| {
            done.lock().unwrap().push(index);
            over.store(index == 7, Ordering::Relaxed);
        });
        assert_eq!(*done.lock().unwrap(), [5, 6, 7]);
        let late = Work { time: Some(Duration::ZERO), ..work };
        late.share(|index, _| panic!("{index} was begun too late"));
    }
}
