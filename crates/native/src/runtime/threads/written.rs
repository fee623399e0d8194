//! What threads have written: entries of their logs, and what many of them come to together.

use rustc_hash::FxHashMap;

/// What an entry of the log is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum What {
    /// 8 bytes of memory at an address.
    Memory(usize),
    /// What an object holds.
    Object(u32),
    /// How many times a thread reads a lock: the lock, and the thread.
    Reader(u32, u32),
    /// What a thread waits at to be woken, by its number.
    Waiter(u32),
    /// An atomic variable was written: blindly, or with what was there acquired.
    Synchronised(u32),
    /// How many locks the thread has.
    Held,
    /// The clock of a thread.
    Clock(u32),
    /// What its clock showed when a thread accessed a location last: whether to read, the location, the thread.
    Time(bool, u32, u32),
    /// The thread has slept, or waited in vain.
    Slept,
    /// What can't be undone by writing values.
    Lasting,
}

impl What {
    /// Whether it is a part of the time, which who sleeps for as long as it takes has no use for.
    pub(crate) fn is_time(self) -> bool {
        matches!(self, What::Clock(_) | What::Time(..))
    }
}

/// An entry of a log: something was changed, or may have been.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Written {
    pub(crate) what: What,
    /// Which bytes of it.
    pub(crate) bytes: u8,
    pub(crate) old: u64,
    pub(crate) new: u64,
}

/// The mask of the bytes that a number stands for.
pub(crate) fn spread(bytes: u8) -> u64 {
    (0..8).filter(|at| bytes >> at & 1 == 1).fold(0, |mask, at| mask | 0xFF << (8 * at))
}

/// What was there before some of the last writes, and what was left there.
#[derive(Clone, Copy)]
pub(crate) struct Seen {
    bytes: u8,
    old: u64,
    pub(crate) new: u64,
}

impl Seen {
    pub(crate) fn is_restored(&self) -> bool {
        self.changed_bits() == 0
    }

    /// The bits that are others now.
    pub(crate) fn changed_bits(&self) -> u64 {
        (self.old ^ self.new) & spread(self.bytes)
    }

    /// What they are now: of the bytes that were changed, the others being 0, and which these are.
    pub(crate) fn changed_bytes(&self) -> (u64, u8) {
        let changed = self.changed_bits().to_le_bytes();
        let bytes = (0..8).filter(|&at| changed[at] != 0).fold(0, |bytes, at| bytes | 1 << at);
        (self.new & spread(bytes), bytes)
    }
}

/// The last writes of a thread, of which more and more are looked at.
#[derive(Default)]
pub(crate) struct Way {
    pub(crate) entries: usize,
    pub(crate) seen: FxHashMap<What, Seen>,
    /// How many locks more were held before these writes than are now, and the fewest on the way.
    held: i64,
    pub(crate) fewest_held: i64,
    /// Whether some of them can't be told by values.
    pub(crate) lasts: bool,
    /// Whether somebody slept: then what clocks show is no part of what was changed.
    pub(crate) slept: bool,
    /// The atomic variables that were written, each with whether the first of these writes was a blind one.
    synchronised: FxHashMap<u32, bool>,
}

impl Way {
    /// Looks at writes that come before those that were looked at.
    pub(crate) fn go_back(&mut self, log: &[Written]) {
        self.entries += log.len();
        for written in log.iter().rev() {
            match written.what {
                What::Lasting => self.lasts = true,
                What::Slept => self.slept = true,
                What::Synchronised(location) => {
                    self.synchronised.insert(location, written.new != 0);
                }
                What::Held => {
                    self.held -= written.new.cast_signed();
                    self.fewest_held = self.fewest_held.min(self.held);
                }
                what => {
                    let seen = self.seen.entry(what).or_insert(Seen { bytes: 0, old: 0, new: 0 });
                    let new = spread(written.bytes & !seen.bytes);
                    seen.new = seen.new & !new | written.new & new;
                    let old = spread(written.bytes);
                    seen.old = seen.old & !old | written.old & old;
                    seen.bytes |= written.bytes;
                }
            }
        }
    }

    /// Whether some atomic variable was overwritten before what was released there had been acquired.
    pub(crate) fn is_blind(&self) -> bool {
        self.synchronised.values().any(|&blind| blind)
    }

    /// Whether all is as it was, but for words that nobody looks at any more.
    pub(crate) fn is_restored(&self, is_dead: impl Fn(usize) -> bool) -> bool {
        let is_restored = |(what, seen): (&What, &Seen)| {
            seen.is_restored()
                || matches!(what, What::Memory(address) if is_dead(*address))
                || self.slept && what.is_time()
        };
        !self.lasts && self.seen.iter().all(is_restored)
    }
}
