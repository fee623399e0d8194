//! A copy of the memory that processes share, to see what a step changes.
//!
//! The copy is brought up to date before a step, unless the process took the last one too. When the process
//! comes to its next operation, what differs from the copy is what it has changed: nobody else has run since.
//!
//! Of a stack, words below the stack pointer are not looked at, and the copy keeps what they were when they
//! were looked at last. So it shows what has become of them when a frame is there again.
#![allow(unsafe_code)]

use std::ops::Range;

use mazurka_program::ProcessId;
use mazurka_threads::lifetime::Reset;

use super::spin::copy_words;

const WORD: usize = size_of::<usize>();

/// Words of memory as they were.
#[derive(Default)]
struct Part {
    start: usize,
    words: Vec<usize>,
}

/// Memory as it was.
#[derive(Default)]
pub(super) struct Shadow {
    /// The process that took the last step, if the copy shows what came of it.
    fresh: Option<ProcessId>,
    /// The first so many are in use.
    parts: Vec<Part>,
    used: usize,
    /// The stack of each process that is followed, as far down as it was looked at.
    stacks: Vec<(ProcessId, Part)>,
    buffer: Vec<usize>,
}

impl Reset for Shadow {
    fn reset(&mut self) {
        (self.fresh, self.used) = (None, 0);
        self.stacks.clear();
    }
}

/// A stack: how far it reaches down now, and where it begins.
pub(super) type StackRange = Range<usize>;

impl Shadow {
    /// Whether it shows what came of the last step, which a process took.
    pub(super) fn is_fresh(&self, process: ProcessId) -> bool {
        self.fresh == Some(process)
    }

    /// A process runs on.
    #[inline]
    pub(super) fn runs(&mut self, process: ProcessId) {
        if self.fresh != Some(process) {
            self.fresh = None;
        }
    }

    /// Takes memory as it is before a step of a process.
    ///
    /// # Safety
    /// The memory must be there.
    pub(super) unsafe fn refresh(
        &mut self,
        process: ProcessId,
        own: StackRange,
        memory: impl Iterator<Item = Range<usize>>,
    ) {
        (self.fresh, self.used) = (Some(process), 0);
        // SAFETY: the caller vouches for it.
        memory.into_iter().for_each(|range| unsafe { self.add(range.start, range) });
        let at = self.stack_of(process, own.end);
        let (_, stack) = &mut self.stacks[at];
        // SAFETY: as above.
        unsafe { read(&own, &mut self.buffer) };
        let keep = own.start.saturating_sub(stack.start) / WORD;
        stack.words.truncate(keep);
        if stack.words.is_empty() {
            stack.start = own.start;
        }
        stack.words.extend_from_slice(&self.buffer);
    }

    fn stack_of(&mut self, process: ProcessId, base: usize) -> usize {
        let known = self.stacks.iter().position(|stack| stack.0 == process);
        known.unwrap_or_else(|| {
            self.stacks.push((process, Part { start: base, words: Vec::new() }));
            self.stacks.len() - 1
        })
    }

    /// Adds memory, which is the same as what is there.
    ///
    /// # Safety
    /// The memory must be there.
    unsafe fn add(&mut self, start: usize, same: Range<usize>) {
        if self.parts.len() == self.used {
            self.parts.push(Part::default());
        }
        let part = &mut self.parts[self.used];
        part.start = start;
        // SAFETY: the caller vouches for it.
        unsafe { read(&same, &mut part.words) };
        self.used += 1;
    }

    /// Adds memory that came to be in the step, a copy of what is there.
    ///
    /// # Safety
    /// The memory must be there.
    pub(super) unsafe fn add_copy(&mut self, start: usize, original: Range<usize>) {
        if !self.parts[..self.used].iter().any(|part| part.start == start) {
            // SAFETY: the caller vouches for it.
            unsafe { self.add(start, original) };
        }
    }

    /// Calls `with` for each word that the step has changed, with what it was and what it is. Memory that
    /// came to be in the step was 0.
    ///
    /// # Safety
    /// The memory must be there.
    pub(super) unsafe fn compare(
        &mut self,
        process: ProcessId,
        own: StackRange,
        memory: impl Iterator<Item = Range<usize>>,
        mut with: impl FnMut(usize, usize, usize),
    ) {
        for range in memory {
            // SAFETY: the caller vouches for it.
            unsafe { read(&range, &mut self.buffer) };
            let at = match self.parts[..self.used].iter().position(|part| part.start == range.start) {
                Some(at) => at,
                None => {
                    // SAFETY: nothing is read.
                    unsafe { self.add(range.start, 0..0) };
                    self.used - 1
                }
            };
            differences(range.start, &mut self.parts[at].words, &self.buffer, &mut with);
        }
        // SAFETY: as above.
        unsafe { read(&own, &mut self.buffer) };
        let at = self.stack_of(process, own.end);
        let (_, stack) = &mut self.stacks[at];
        if own.start < stack.start {
            let deeper = (stack.start - own.start) / WORD;
            stack.words.splice(0..0, std::iter::repeat_n(0, deeper));
            stack.start = own.start;
        }
        let from = (own.start - stack.start) / WORD;
        let mut before = stack.words.split_off(from);
        differences(own.start, &mut before, &self.buffer, &mut with);
        stack.words.append(&mut before);
    }
}

/// So many words are compared at once, as memory.
const AT_ONCE: usize = 64;

/// Makes words what they are now, and tells of those that were others.
fn differences(
    start: usize,
    before: &mut Vec<usize>,
    now: &[usize],
    with: &mut impl FnMut(usize, usize, usize),
) {
    if before.len() != now.len() {
        before.resize(now.len(), 0);
    }
    if before == now {
        return;
    }
    for (part, (before, now)) in before.chunks_mut(AT_ONCE).zip(now.chunks(AT_ONCE)).enumerate() {
        if before == now {
            continue;
        }
        for (at, (before, &now)) in before.iter_mut().zip(now).enumerate() {
            if *before != now {
                with(start + (part * AT_ONCE + at) * WORD, *before, now);
                *before = now;
            }
        }
    }
}

/// Reads memory as words, the last of which is filled up with zeros.
///
/// # Safety
/// The memory must be there.
unsafe fn read(memory: &Range<usize>, words: &mut Vec<usize>) {
    let size = memory.end.saturating_sub(memory.start);
    // SAFETY: the caller vouches for it.
    unsafe { copy_words(memory.start, size / WORD, words) };
    let rest = size % WORD;
    if rest > 0 {
        let mut last = [0; WORD];
        // SAFETY: as above; these bytes are of a static's copy, which has no padding that was never written.
        unsafe {
            let from = std::ptr::with_exposed_provenance::<u8>(memory.end - rest);
            std::ptr::copy_nonoverlapping(from, last.as_mut_ptr(), rest);
        }
        words.push(usize::from_ne_bytes(last));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const P: ProcessId = ProcessId(1);

    fn range(words: &[usize]) -> Range<usize> {
        let start = words.as_ptr().expose_provenance();
        start..start + size_of_val(words)
    }

    #[test]
    #[cfg(all(target_arch = "x86_64", unix))]
    fn what_differs_is_told_once() {
        let mut shadow = Shadow::default();
        let (mut heap, mut stack) = ([1, 2, 3], [10, 20, 30, 40]);
        let at = |part: &[usize], index: usize| part.as_ptr().addr() + index * WORD;
        // SAFETY: all that is read is borrowed from above.
        let compare = |shadow: &mut Shadow, own: &[usize], heap: &[usize]| {
            let mut told = Vec::new();
            let with = |at, old, new| told.push((at, old, new));
            unsafe { shadow.compare(P, range(own), std::iter::once(range(heap)), with) };
            told
        };
        // SAFETY: as above.
        unsafe { shadow.refresh(P, range(&stack[2..]), std::iter::once(range(&heap[..2]))) };
        assert!(shadow.is_fresh(P) && !shadow.is_fresh(ProcessId(0)));
        assert_eq!(compare(&mut shadow, &stack[2..], &heap[..2]), []);
        (heap[0], heap[2], stack[3]) = (7, 8, 44);
        let expected = [(at(&heap, 0), 1, 7), (at(&heap, 2), 0, 8), (at(&stack, 3), 40, 44)];
        assert_eq!(compare(&mut shadow, &stack[2..], &heap), expected);
        assert_eq!(compare(&mut shadow, &stack[2..], &heap), []);
        // A deeper frame, and then the same again with another word in it.
        assert_eq!(compare(&mut shadow, &stack, &heap), [(at(&stack, 0), 0, 10), (at(&stack, 1), 0, 20)]);
        assert_eq!(compare(&mut shadow, &stack[2..], &heap), []);
        stack[1] = 21;
        assert_eq!(compare(&mut shadow, &stack, &heap), [(at(&stack, 1), 20, 21)]);
        shadow.runs(ProcessId(2));
        assert!(!shadow.is_fresh(P));
    }
}
