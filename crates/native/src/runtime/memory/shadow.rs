//! The shadow memory: what is known of each byte, whose it is, or which location it belongs to.
//!
//! A byte starts untouched, becomes private to the first thread that touches it, and shared when another
//! thread does, unless both only read. Private bytes, and those that are only read, are no part of any label:
//! a thread's accesses of them commute with all steps of others. Shared bytes are partitioned into cells,
//! each of which is a location. What is known stays from execution to execution, so that a location means the
//! same in all of a search. When a byte becomes shared, or a cell turns out to be too coarse, the labels of
//! steps taken before would have been others: the search begins again. Nothing is lost before that: up to the
//! first foreign access all labels told the truth.

use mazurka_program::{Access, AccessKind, Location};

use super::layout::Shadow;

/// Numbers below are locations; 0 is an untouched byte.
const TAGS: u32 = 1 << 30;
const WRITTEN: u32 = 1 << 30;
const READ: u32 = 2 << 30;
/// Several threads have read it, and nobody has written it.
const READ_ONLY: u32 = 3 << 30;
/// It is in a redzone between two variables: see [`super::redzones`].
pub(crate) const REDZONE: u32 = READ_ONLY + 1;

/// A range of addresses that counts as one location.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Cell {
    pub(crate) address: usize,
    pub(crate) size: usize,
}

/// The word of a byte that a thread has to itself.
#[inline]
pub(crate) fn private(thread: u32, written: bool) -> u32 {
    thread | if written { WRITTEN } else { READ }
}

/// Whether an access of a byte with this word by a thread is invisible to others, and is no news.
#[inline]
pub(crate) fn is_invisible(word: u32, thread: u32, write: bool) -> bool {
    word == private(thread, true) || (!write && (word == private(thread, false) || word == READ_ONLY))
}

/// Whether the word is a location.
#[inline]
pub(crate) fn is_location(word: u32) -> bool {
    word.wrapping_sub(1) < TAGS - 1
}

/// Whether other threads may change the byte: it is a location, or another thread's own, wherever it lies.
#[inline]
pub(crate) fn is_changed_by_others(word: u32, thread: u32) -> bool {
    is_location(word) || word & READ_ONLY == WRITTEN && word != private(thread, true)
}

/// What locations stand for; the numbers of all of them are given here.
#[derive(Default)]
pub(crate) struct Partition {
    /// By location. Those that are no cells of memory have size 0.
    cells: Vec<Cell>,
    /// Whether something was found out that changes labels.
    pub(crate) news: bool,
    /// What was learned of who touches bytes that are no location, if that is noted.
    pub(crate) touched: Option<Vec<Touch>>,
}

/// A thread touches bytes that are no location, in a way that was not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Touch {
    pub(crate) address: usize,
    pub(crate) size: usize,
    pub(crate) thread: u32,
    pub(crate) write: bool,
}

/// The word of a byte that is no location, when a thread touches it; 0 if it becomes one.
fn touched(word: u32, thread: u32, write: bool) -> u32 {
    let mine = word & !(WRITTEN | READ) == thread;
    match word {
        0 => private(thread, write),
        READ_ONLY if !write => READ_ONLY,
        READ_ONLY => 0,
        _ if mine && word & READ_ONLY == WRITTEN => word,
        _ if mine => private(thread, write),
        _ if word & READ_ONLY == READ && !write => READ_ONLY,
        _ => 0,
    }
}

impl Partition {
    /// A location that is no cell of memory: a lock, the end of a thread.
    pub(crate) fn other(&mut self) -> Location {
        self.cell(Cell { address: 0, size: 0 })
    }

    fn cell(&mut self, cell: Cell) -> Location {
        if self.cells.is_empty() {
            // So that 0 is none.
            self.cells.push(Cell { address: 0, size: 0 });
        }
        self.cells.push(cell);
        Location(self.cells.len() as u32 - 1)
    }

    /// Whether the location is that cell.
    #[inline]
    pub(crate) fn is(&self, location: u32, address: usize, size: usize) -> bool {
        self.cells.get(location as usize).is_some_and(|cell| cell.address == address && cell.size == size)
    }

    /// The memory of all locations, in the order of addresses.
    pub(crate) fn all_memory(&self) -> Vec<Cell> {
        let mut cells: Vec<Cell> = self.cells.iter().copied().filter(|cell| cell.size > 0).collect();
        cells.sort_unstable_by_key(|cell| (cell.address, cell.size));
        cells
    }

    /// The memory that a location stands for, if it is memory.
    pub(crate) fn memory(&self, location: Location) -> Option<Cell> {
        self.cells.get(location.0 as usize).copied().filter(|cell| cell.size > 0)
    }

    /// Notes an access of a thread and adds what others can notice of it to a list.
    pub(crate) fn access(
        &mut self,
        shadow: &mut Shadow,
        (address, size): (usize, usize),
        (thread, kind): (u32, AccessKind),
        touched: &mut Vec<Access>,
    ) {
        let write = !kind.is_read();
        let mut at = address;
        let end = address + size;
        while at < end {
            let words = shadow.words(at, end - at);
            let Some(&word) = words.first() else { return };
            let same = words.iter().take_while(|&&other| other == word).count();
            if is_location(word) {
                at += self.touch(shadow, word, (at, end), kind, touched);
            } else {
                self.mark(&mut words[..same], at, (thread, write), word);
                let words = shadow.words(at, same);
                if let Some(&location) = words.first().filter(|&&word| is_location(word)) {
                    touched.push(Access::one(Location(location), kind));
                }
                at += same;
            }
        }
    }

    /// A thread touches bytes that are no location; they may become one.
    fn mark(&mut self, words: &mut [u32], address: usize, (thread, write): (u32, bool), word: u32) {
        let next = touched(word, thread, write);
        if next == 0 {
            return self.make_location(words, address);
        }
        if let Some(list) = self.touched.as_mut().filter(|_| next != word) {
            list.push(Touch { address, size: words.len(), thread, write });
        }
        words.fill(next);
    }

    /// Whether it makes no location of any byte that a thread touches it so.
    pub(crate) fn is_no_news(&self, shadow: &mut Shadow, touch: &Touch) -> bool {
        let words = shadow.words(touch.address, touch.size);
        words.iter().all(|&word| !is_location(word) && touched(word, touch.thread, touch.write) != 0)
    }

    /// Notes that a thread touches bytes, which makes no location of any. Says whether that was not known.
    pub(crate) fn note_touch(
        &mut self,
        shadow: &mut Shadow,
        (address, size): (usize, usize),
        (thread, write): (u32, bool),
    ) -> bool {
        let mut is_new = false;
        for word in shadow.words(address, size) {
            let next = touched(*word, thread, write);
            is_new |= next != *word;
            *word = next;
        }
        is_new
    }

    /// Bytes become one location, which changes the labels of steps.
    fn make_location(&mut self, words: &mut [u32], address: usize) {
        self.news = true;
        let location = self.cell(Cell { address, size: words.len() });
        words.fill(location.0);
    }

    /// Bytes that were only read become a location, before anybody writes them. Says whether they were such.
    pub(crate) fn expose(&mut self, words: &mut [u32], address: usize, thread: u32) -> bool {
        let word = words.first().copied().unwrap_or_default();
        let read = word == READ_ONLY || word == private(thread, false);
        if read {
            self.make_location(words, address);
        }
        read
    }

    /// Bytes that one thread has to itself, or that were only read, become locations. Says whether there were
    /// any.
    pub(crate) fn expose_all(&mut self, words: &mut [u32], address: usize) -> bool {
        let (mut from, mut any) = (0, false);
        while let Some(&word) = words.get(from) {
            let same = words[from..].iter().take_while(|&&other| other == word).count();
            if !is_location(word) && word != REDZONE {
                self.make_location(&mut words[from..from + same], address + from);
                any = true;
            }
            from += same;
        }
        any
    }

    /// A thread touches a cell, from `at` on, up to `end`. Gives how many bytes of the access that were.
    fn touch(
        &mut self,
        shadow: &mut Shadow,
        location: u32,
        (at, end): (usize, usize),
        kind: AccessKind,
        touched: &mut Vec<Access>,
    ) -> usize {
        let cell = self.cells[location as usize];
        let cell_end = cell.address + cell.size;
        let covered = end.min(cell_end);
        if at == cell.address && covered == cell_end {
            touched.push(Access::one(Location(location), kind));
            return cell.size;
        }
        self.news = true;
        for (from, to) in [(cell.address, at), (at, covered), (covered, cell_end)] {
            if from < to {
                let part = self.cell(Cell { address: from, size: to - from });
                shadow.words(from, to - from).fill(part.0);
                if from == at {
                    touched.push(Access::one(part, kind));
                }
            }
        }
        // The number of the whole stands for nothing from now on.
        self.cells[location as usize].size = 0;
        covered - at
    }
}
