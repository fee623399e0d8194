//! What a search knows, as far as it is found out by running: so that a copy of the process can explore a part
//! of the search ahead of its turn, and it can be told afterwards whether it came to what this process would
//! have come to.
//!
//! What changes the labels of steps begins the search again, in whatever process it is found out; within one
//! generation of a search all processes have the same locations. What else is known decides when such a thing
//! is found out (who has touched a byte, which blocks were freed), which number a thread gets, and with it its
//! addresses, or is told in the report. A copy notes what it learns ([`Native::note_what_is_learned`]), and the
//! process takes that up ([`Native::take_up`]) when it has come to that part itself, or says that it has to
//! explore the part: docs/soundness.md has why that is enough. The copy may be of another process, on another
//! machine, that knows less and has the program at the same addresses ([`Native::layout`]).

use std::hash::{Hash, Hasher};

use rustc_hash::FxHasher;

use super::objects::Class;
use super::run::open;
use super::runtime::{Runtime, Search};
use crate::runtime::Native;
use crate::runtime::memory::shadow::Touch;
use crate::runtime::system::hang;

/// Whether what a copy came to is what this process would have come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TakenUp {
    /// It is, and this process knew before what the copy has learned.
    Known,
    /// It is, and this process knows now what it did not know.
    Learned,
    /// It can't be told: this process has to explore the part itself.
    Refused,
}

/// What was learned, of each kind.
#[derive(Debug, Default, PartialEq, Eq)]
struct Learned {
    /// What there is news of, all together, as a digest: it is the same as long as the search does not begin
    /// again.
    news: u64,
    /// The names of all threads, in the order of their numbers, as digests.
    names: Vec<u64>,
    /// What the report tells of the whole search, as digests.
    told: Vec<u64>,
    /// How many objects in blocks of the heap were known at first, and in the end.
    objects_in_blocks: (u64, u64),
    touched: Vec<Touch>,
    freed: Vec<usize>,
    /// By address and class.
    met: Vec<(usize, u64)>,
}

impl Native {
    /// This process is a copy of the one that loaded the program, made between two executions. From now on it
    /// is noted what is learned.
    pub fn note_what_is_learned(&self) {
        hang::forget();
        let Search { partition, objects, .. } = &mut open(&self.runtime).search;
        partition.touched = Some(Vec::new());
        objects.begin_log();
    }

    /// What was learned since then.
    pub fn learned(&self) -> Vec<u8> {
        let runtime = open(&self.runtime);
        let Search { partition, objects, .. } = &runtime.search;
        let (before, freed, met) = objects.logged();
        Learned {
            news: runtime.search.news_digest(),
            names: runtime.search.name_digests(),
            told: runtime.told(),
            objects_in_blocks: (before, objects.many_in_blocks),
            touched: partition.touched.clone().unwrap_or_default(),
            freed: freed.to_vec(),
            met: met.iter().map(|&(address, class)| (address, class as u64)).collect(),
        }
        .encoded()
    }

    /// A copy has learned this, and nothing else. Says whether this process would have come to the same had it
    /// explored what the copy did, and knows it from now on then.
    pub fn take_up(&self, learned: &[u8]) -> TakenUp {
        let runtime = open(&self.runtime);
        let Some(learned) = Learned::decoded(learned) else { return TakenUp::Refused };
        let (told, news) = (runtime.told(), runtime.search.news_digest());
        let Search { partition, shadow, objects, .. } = &mut runtime.search;
        let known = objects.many_in_blocks;
        let agrees = learned.news == news
            && learned.objects_in_blocks == (known, known)
            && learned.told.iter().all(|digest| told.contains(digest))
            && learned.touched.iter().all(|touch| partition.is_no_news(shadow, touch));
        if !agrees || !runtime.search.name_digests().starts_with(&learned.names) {
            return TakenUp::Refused;
        }
        let Search { partition, shadow, objects, .. } = &mut runtime.search;
        let mut is_new = false;
        for Touch { address, size, thread, write } in learned.touched {
            is_new |= partition.note_touch(shadow, (address, size), (thread, write));
        }
        for block in learned.freed {
            is_new |= !objects.was_freed(block);
            objects.free(block);
        }
        for (address, class) in learned.met {
            let class = Class::ALL.into_iter().find(|&known| known as u64 == class);
            is_new |= class.is_some_and(|class| objects.at(address, class, partition).1);
        }
        debug_assert!(!partition.news, "what is news was told to be");
        if is_new { TakenUp::Learned } else { TakenUp::Known }
    }

    /// What has to be the same in two processes for what one of them has learned to mean something in the
    /// other: where they have the program and the C library.
    pub fn layout(&self) -> String {
        let runtime = open(&self.runtime);
        let (image, slots) = (&runtime.execution.image, &runtime.search.slots);
        let library = libc::malloc as *const () as usize;
        format!("{:x} {:x} {:x} {:x}", image.base, image.variables.start, slots.start(), library)
    }

    /// Whether something was found out for which the search has to be begun again.
    pub fn has_news(&self) -> bool {
        open(&self.runtime).search.partition.news
    }
}

fn digest(thing: impl Hash) -> u64 {
    let mut hasher = FxHasher::default();
    thing.hash(&mut hasher);
    hasher.finish()
}

impl Search {
    /// What there is news of. Locations have other numbers in other processes, which mean nothing.
    fn news_digest(&self) -> u64 {
        digest((self.partition.all_memory(), self.rounds, self.watched.any, self.has_clock))
    }

    fn name_digests(&self) -> Vec<u64> {
        let numbers = (0..self.names.len() as u32).map(mazurka_program::ProcessId);
        numbers.map(|process| digest(self.names.path(process))).collect()
    }
}

impl Runtime {
    /// What was met that the report tells, or that is remembered besides, as digests.
    fn told(&self) -> Vec<u64> {
        let search = &self.search;
        let flags = [
            ("sampled", search.sampled.is_some()),
            ("waits", search.has_waits),
            ("spins", search.left_spinning.is_some()),
            ("stuck", search.stuck.is_some()),
            ("refused", search.refused.is_some()),
            ("stored", self.execution.races.stored_after_release),
            ("weak", search.has_weak_order),
        ];
        let flags = flags.into_iter().filter(|(_, is_so)| *is_so).map(|(name, _)| digest(name));
        flags.chain(search.stops.digests()).chain(search.leaks.digests()).collect()
    }
}

impl Learned {
    /// As bytes: numbers of eight, each list after its length.
    fn encoded(&self) -> Vec<u8> {
        let touched = |touch: &Touch| {
            let Touch { address, size, thread, write } = *touch;
            [address as u64, size as u64, u64::from(thread), u64::from(write)]
        };
        let lists = [
            vec![self.news],
            self.names.clone(),
            self.told.clone(),
            vec![self.objects_in_blocks.0, self.objects_in_blocks.1],
            self.touched.iter().flat_map(touched).collect(),
            self.freed.iter().map(|&block| block as u64).collect(),
            self.met.iter().flat_map(|&(address, class)| [address as u64, class]).collect(),
        ];
        let list = |list: &Vec<u64>| [&[list.len() as u64], &list[..]].concat();
        lists.iter().flat_map(list).flat_map(u64::to_le_bytes).collect()
    }

    fn decoded(bytes: &[u8]) -> Option<Learned> {
        let mut words = bytes.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word));
        let mut list = || -> Option<Vec<u64>> {
            let len = words.next()?;
            (0..len).map(|_| words.next()).collect()
        };
        let (news, names, told, objects) = (list()?, list()?, list()?, list()?);
        let (touched, freed, met) = (list()?, list()?, list()?);
        let touch = |&[address, size, thread, write]: &[u64; 4]| Touch {
            address: address as usize,
            size: size as usize,
            thread: thread as u32,
            write: write != 0,
        };
        let is_whole = words.next().is_none() && bytes.len().is_multiple_of(8);
        is_whole.then_some(Learned {
            news: *news.first()?,
            names,
            told,
            objects_in_blocks: (*objects.first()?, *objects.get(1)?),
            touched: touched.as_chunks().0.iter().map(touch).collect(),
            freed: freed.into_iter().map(|block| block as usize).collect(),
            met: met.as_chunks().0.iter().map(|&[address, class]| (address as usize, class)).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_learned_is_read_as_it_was_written() {
        let touch = |write| Touch { address: 1 << 40, size: 3, thread: 2, write };
        let learned = Learned {
            news: 9,
            names: vec![1, 2],
            told: vec![u64::MAX],
            objects_in_blocks: (3, 4),
            touched: vec![touch(true), touch(false)],
            freed: vec![16],
            met: vec![(8, 2), (16, 0)],
        };
        let bytes = learned.encoded();
        assert_eq!(Learned::decoded(&bytes).as_ref(), Some(&learned));
        for shorter in [&bytes[..bytes.len() - 8], &bytes[..bytes.len() - 1], &[][..]] {
            assert_eq!(Learned::decoded(shorter), None);
        }
    }
}
