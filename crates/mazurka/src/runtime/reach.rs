//! Memory that nobody freed in an execution and that nothing points to any more.
//!
//! As leak checkers do, every word that could be a pointer counts as one, wherever it is in the process: in
//! statics, in variables of threads of the operating system, in memory that was allocated before the check.
//! Of the memory that is known since then, only that counts which is reached itself. What modelled atomics
//! hold is not where they are but in the runtime, which is no root: it is looked up there. So what is kept in
//! a static is no leak, whether anybody frees it or not. Where the operating system does not show the memory
//! of the process, nothing is found.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::heap::{Block, Maker, Watch, base_of_stack};
use super::identity::Base;
use super::{Runtime, arena, region};

const WORD: usize = size_of::<usize>();

/// So many bytes are read at once.
const CHUNK: usize = 1 << 16;

/// If the process has more memory than this, it is not looked through: shadow memory of a sanitizer, say.
const MOST: usize = 1 << (if usize::BITS == 64 { 32 } else { 30 });

/// The bits of a word that are an address: some keep tags in the others.
const ADDRESS: usize = if usize::BITS == 64 { usize::MAX >> 17 } else { usize::MAX };

/// So often it is looked again, and so long waited before: another thread of the operating system may have
/// held a pointer where it can't be seen.
const LOOKS: u32 = 2;
const PAUSE: Duration = Duration::from_millis(1);

/// The blocks that were allocated by processes since a birth and leaked, but for those to which others of
/// them point, in the order in which they were allocated.
pub(super) fn leaked(runtime: &Runtime, watch: &Watch, since: u64) -> Vec<Block> {
    let mut leaked = look(runtime, watch, since).unwrap_or_default();
    for _ in 0..LOOKS {
        if !leaked.is_empty() {
            std::thread::sleep(PAUSE);
            let again = look(runtime, watch, since).unwrap_or_default();
            leaked.retain(|block| again.iter().any(|other| other.birth == block.birth));
        }
    }
    leaked
}

/// One thread looks at a time: another would find what it has read.
static LOOKING: Mutex<()> = Mutex::new(());

/// None if nothing can be told.
fn look(runtime: &Runtime, watch: &Watch, since: u64) -> Option<Vec<Block>> {
    let _alone = LOOKING.lock().unwrap_or_else(PoisonError::into_inner);
    let region = region::range();
    let mappings = outside(&region)?;
    let contents = Contents::of(runtime);
    let mut apart = runtime.search.stacks.unused();
    // The frames of the check are the library's; above them are the variables of the thread.
    let base = base_of_stack();
    let stack = mappings.iter().find(|mapping| mapping.contains(&base))?;
    apart.push(stack.start..base);
    // What is allocated for the look itself must be among the blocks.
    let room = watch.count() + 64;
    apart.reserve_exact(room);
    let mut reach = Reach {
        memory: File::open("/proc/self/mem").ok()?,
        region,
        since,
        missing: 0,
        blocks: Vec::with_capacity(room),
        reached: Vec::with_capacity(room),
        waiting: Vec::with_capacity(room),
        buffer: vec![0; CHUNK],
        inner: contents.inner,
    };
    // Where the memory can't be read, nothing would point to anything.
    read(&reach.memory, &mut reach.buffer[..WORD], std::ptr::from_ref(runtime).addr()).ok()?;
    watch.fill(&mut reach.blocks);
    let of_look = [
        apart.as_ptr().addr(),
        contents.roots.as_ptr().addr(),
        reach.blocks.as_ptr().addr(),
        reach.buffer.as_ptr().addr(),
        reach.inner.as_ptr().addr(),
    ];
    let of_world = [
        std::ptr::from_ref(runtime).addr(),
        runtime.execution.values.address(),
        runtime.processes.as_ptr().addr(),
    ];
    reach.begin(of_look.into_iter().chain(of_world));
    apart.extend(reach.blocks.iter().map(|block| block.start..block.start + block.size));
    apart.sort_unstable_by_key(|range| range.start);
    contents.roots.iter().for_each(|&word| reach.word(word));
    reach.follow();
    for mapping in &mappings {
        without(mapping, &apart, |range| reach.roots(range));
    }
    Some(reach.heads())
}

/// The memory of the process that can be written, but for a region, and for what arenas have reserved and do
/// not use. None if it can't be told, or is too much.
fn outside(region: &Range<usize>) -> Option<Vec<Range<usize>>> {
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    let mut apart = arena::unused();
    apart.push(region.clone());
    apart.sort_unstable_by_key(|range| range.start);
    let mut parts = Vec::new();
    for mapping in mappings(&maps) {
        // The operating system may have joined it to others.
        without(&mapping, &apart, |part| parts.push(part));
    }
    (parts.iter().map(Range::len).sum::<usize>() <= MOST).then_some(parts)
}

/// What modelled objects hold.
struct Contents {
    /// What is in statics, and what the runtime itself holds of what processes have allocated.
    roots: Vec<usize>,
    /// What is in memory that a process allocated, of a size.
    inner: Vec<(Maker, usize, usize)>,
}

impl Contents {
    fn of(runtime: &Runtime) -> Contents {
        let mut contents =
            Contents { roots: runtime.execution.statics.copies().collect(), inner: Vec::new() };
        for (base, location) in runtime.search.table.all() {
            let word = runtime.execution.values.get(location) as usize;
            match base {
                Base::Static { .. } | Base::Copied { .. } => contents.roots.push(word),
                Base::Heap { process, step, size, .. } => {
                    contents.inner.push((Maker { process, step }, size, word));
                }
                Base::Stack { .. } | Base::Own { .. } => {}
            }
        }
        let names = runtime
            .execution
            .schedule
            .created
            .iter()
            .filter_map(|&process| runtime.process(process).name.as_ref());
        contents.roots.extend(names.map(|name| name.as_ptr().addr()));
        contents.roots.extend(runtime.execution.last_panic.iter().map(|panic| panic.message.as_ptr().addr()));
        contents
    }
}

/// Blocks, and which of them are reached.
struct Reach {
    /// Of this process: what is not there any more can't be read, which is no harm.
    memory: File,
    /// Where memory is that processes allocate.
    region: Range<usize>,
    /// Blocks that processes allocated from this birth on are looked for.
    since: u64,
    /// How many of these are not reached.
    missing: usize,
    blocks: Vec<Block>,
    reached: Vec<bool>,
    /// Reached, and not looked at.
    waiting: Vec<usize>,
    buffer: Vec<u8>,
    inner: Vec<(Maker, usize, usize)>,
}

impl Reach {
    /// Nothing is reached, but for the blocks at some addresses, which lead nowhere.
    fn begin(&mut self, ends: impl Iterator<Item = usize>) {
        self.reached.resize(self.blocks.len(), false);
        self.missing = (0..self.blocks.len()).filter(|&at| self.is_wanted(at)).count();
        for end in ends {
            if let Some(at) = self.find(end) {
                self.reached[at] = true;
            }
        }
    }

    fn is_wanted(&self, at: usize) -> bool {
        self.blocks[at].maker.is_some() && self.blocks[at].birth >= self.since
    }

    /// The block that an address is in, or right behind.
    fn find(&self, address: usize) -> Option<usize> {
        let at = self.blocks.partition_point(|block| block.start <= address).checked_sub(1)?;
        (address - self.blocks[at].start <= self.blocks[at].size).then_some(at)
    }

    /// What a word points to is reached.
    fn word(&mut self, word: usize) {
        if let Some(at) = self.find(word & ADDRESS)
            && !std::mem::replace(&mut self.reached[at], true)
        {
            self.missing -= usize::from(self.is_wanted(at));
            self.waiting.push(at);
        }
    }

    /// Reaches what is reached from what is.
    fn follow(&mut self) {
        while let Some(at) = self.waiting.pop() {
            self.words_of(at, Reach::word);
        }
    }

    /// Reaches what words in a range of memory point to, and what follows. Only what processes allocated is
    /// at addresses that mean nothing else; but who uses what the library allocated for it does so from
    /// there.
    fn roots(&mut self, range: Range<usize>) {
        if self.missing == 0 {
            return;
        }
        self.words(range, |reach, _, word| {
            if reach.region.contains(&(word & ADDRESS)) {
                reach.word(word);
            }
        });
        self.follow();
    }

    /// Gives all words of a block.
    fn words_of(&mut self, at: usize, mut with: impl FnMut(&mut Reach, usize)) {
        let Block { start, size, maker, .. } = self.blocks[at];
        self.words(start..start + size, |reach, _, word| with(reach, word));
        let inner = std::mem::take(&mut self.inner);
        for &(_, _, word) in inner.iter().filter(|inner| maker == Some(inner.0) && size == inner.1) {
            with(self, word);
        }
        self.inner = inner;
    }

    /// Gives all words in a range of memory, with their places.
    fn words(&mut self, range: Range<usize>, mut with: impl FnMut(&mut Reach, usize, usize)) {
        let mut buffer = std::mem::take(&mut self.buffer);
        let mut place = range.start.next_multiple_of(WORD);
        while place + WORD <= range.end {
            let size = (range.end - place).min(CHUNK);
            let Ok(read) = read(&self.memory, &mut buffer[..size], place) else { break };
            for (at, bytes) in buffer[..read].chunks_exact(WORD).enumerate() {
                let mut word = [0; WORD];
                word.copy_from_slice(bytes);
                with(self, place + at * WORD, usize::from_ne_bytes(word));
            }
            match read / WORD * WORD {
                0 => break,
                whole => place += whole,
            }
        }
        self.buffer = buffer;
    }

    /// Of the blocks that are wanted and not reached: those from which all of them are reached.
    fn heads(&mut self) -> Vec<Block> {
        let mut leaked: Vec<usize> =
            (0..self.blocks.len()).filter(|&at| self.is_wanted(at) && !self.reached[at]).collect();
        leaked.sort_unstable_by_key(|&at| self.blocks[at].birth);
        let mut pointed_to = vec![false; self.blocks.len()];
        for &from in &leaked {
            self.words_of(from, |reach, word| {
                if let Some(to) = reach.find(word & ADDRESS).filter(|&to| to != from) {
                    pointed_to[to] = true;
                }
            });
        }
        let mut heads = Vec::new();
        // Then cycles to which nothing else points: their first.
        let (others, first): (Vec<usize>, Vec<usize>) = leaked.iter().partition(|&&at| pointed_to[at]);
        for at in first.into_iter().chain(others) {
            if !self.reached[at] {
                self.word(self.blocks[at].start);
                self.follow();
                heads.push(self.blocks[at]);
            }
        }
        heads.sort_unstable_by_key(|block| block.birth);
        heads
    }
}

#[cfg(unix)]
fn read(memory: &File, buffer: &mut [u8], place: usize) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(memory, buffer, place as u64)
}

#[cfg(not(unix))]
fn read(_memory: &File, _buffer: &mut [u8], _place: usize) -> io::Result<usize> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Gives the parts of a mapping that are in none of the ranges, which come in the order of their starts.
fn without(mapping: &Range<usize>, apart: &[Range<usize>], mut with: impl FnMut(Range<usize>)) {
    let mut at = mapping.start;
    for other in apart.iter().filter(|other| other.end > mapping.start) {
        if other.start >= mapping.end {
            break;
        }
        if other.start > at {
            with(at..other.start);
        }
        at = at.max(other.end);
    }
    if at < mapping.end {
        with(at..mapping.end);
    }
}

/// The memory that can be written.
fn mappings(maps: &str) -> Vec<Range<usize>> {
    let mapping = |line: &str| {
        let mut fields = line.split_whitespace();
        let (range, rights) = (fields.next()?, fields.next()?);
        let (start, end) = range.split_once('-')?;
        let range = usize::from_str_radix(start, 16).ok()?..usize::from_str_radix(end, 16).ok()?;
        rights.starts_with("rw").then_some(range)
    };
    maps.lines().filter_map(mapping).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_written_is_looked_at_but_for_what_is_apart() {
        let maps = "1000-2000 r-xp 00000000 08:01 1 /bin/a\n\
                    2000-3000 rw-p 00000000 08:01 1 /lib/libc.so.6\n\
                    4000-6000 rw-p 00000000 00:00 0 [heap]\n";
        let found = mappings(maps);
        assert_eq!(found, [0x2000..0x3000, 0x4000..0x6000]);
        let mut parts = Vec::new();
        let apart = [0x100..0x4100, 0x4200..0x4300, 0x4210..0x4220, 0x5000..0x7000, 0x8000..0x9000];
        without(&found[1], &apart, |part| parts.push(part));
        assert_eq!(parts, [0x4100..0x4200, 0x4300..0x5000]);
        parts.clear();
        without(&found[0], &[], |part| parts.push(part));
        assert_eq!((parts.len(), &parts[0]), (1, &(0x2000..0x3000)));
    }
}
