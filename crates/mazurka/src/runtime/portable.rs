//! Locations by names that mean the same in another run.
//!
//! What an object is named by ([`Base`]) has a process in it or an address of a static. Processes are told by
//! their paths, statics by their distance from one of ours: they lie together in one binary, wherever it is
//! loaded.

use mazurka_program::{Location, LocationName, PortableNames, ProcessId};

use super::Runtime;
use super::identity::{Base, OwnKind};
use super::run::ClosureRun;

/// What a location is, by the first word of its name. The last word is the generation, but for a group, which
/// is named after that member whose name is the least, since the order of numbers does not travel.
const HEAP: u64 = 0;
const STACK: u64 = 1;
const STATIC: u64 = 2;
const COPIED: u64 = 3;
const OWN: u64 = 4;
const GROUP: u64 = 5;

/// From where distances of statics are counted.
static ANCHOR: u8 = 0;

fn anchor() -> u64 {
    (&raw const ANCHOR).addr() as u64
}

/// The words of a name, but for the process.
fn words(base: Base, generation: usize) -> Vec<u64> {
    let mut words = match base {
        Base::Heap { step, size, ordinal, offset, .. } => {
            vec![HEAP, step.into(), size as u64, ordinal.into(), offset as u64]
        }
        Base::Stack { offset, .. } => vec![STACK, offset as u64],
        Base::Static { address } => vec![STATIC, (address as u64).wrapping_sub(anchor())],
        Base::Copied { address } => vec![COPIED, (address as u64).wrapping_sub(anchor())],
        Base::Own { kind, ordinal, .. } => vec![OWN, kind as u64, ordinal.into()],
    };
    words.push(generation as u64);
    words
}

/// What those words stand for, and the generation.
fn base(process: Option<ProcessId>, words: &[u64]) -> Option<(Base, usize)> {
    let word = |at: usize| words.get(at).copied();
    let number = |at: usize| word(at).and_then(|word| usize::try_from(word).ok());
    let small = |at: usize| word(at).and_then(|word| u32::try_from(word).ok());
    let address = |at: usize| word(at).map(|distance| distance.wrapping_add(anchor()) as usize);
    let (base, len) = match word(0)? {
        HEAP => {
            let (step, size, ordinal, offset) = (small(1)?, number(2)?, small(3)?, number(4)?);
            (Base::Heap { process: process?, step, size, ordinal, offset }, 5)
        }
        STACK => (Base::Stack { process: process?, offset: number(1)? }, 2),
        STATIC => (Base::Static { address: address(1)? }, 2),
        COPIED => (Base::Copied { address: address(1)? }, 2),
        OWN => {
            let kind = OwnKind::ALL.into_iter().find(|&kind| Some(kind as u64) == word(1))?;
            (Base::Own { process: process?, kind, ordinal: small(2)? }, 3)
        }
        _ => return None,
    };
    // Whatever a place holds in turn, it is not more than this.
    let generation = number(len).filter(|&generation| generation < 1 << 20 && words.len() == len + 1)?;
    Some((base, generation))
}

impl Runtime {
    /// The name of a location that means the same in every run.
    pub(super) fn location_name(&self, location: Location) -> Option<LocationName> {
        if let Some(members) = self.search.groups.members(location) {
            let names = members.iter().filter_map(|&member| self.location_name(member));
            let LocationName { process, words } = names.min()?;
            return Some(LocationName { process, words: [vec![GROUP], words].concat() });
        }
        let (base, generation) = self.search.table.name_of(location)?;
        let process = base.process().map_or_else(Vec::new, |process| self.search.names.path(process));
        Some(LocationName { process, words: words(base, generation) })
    }

    /// The location of that name in this run.
    pub(super) fn location_named(&mut self, name: &LocationName) -> Option<Location> {
        let process = self.search.names.named(&name.process);
        if let [GROUP, first @ ..] = &name.words[..] {
            let first = LocationName { process: name.process.clone(), words: first.to_vec() };
            let first = self.location_named(&first)?;
            return self.search.groups.of(&[(first, 0)]);
        }
        let (base, generation) = base(process, &name.words)?;
        Some(self.search.table.named(base, generation))
    }
}

impl PortableNames for ClosureRun {
    fn location_name(&self, location: Location) -> Option<LocationName> {
        self.runtime.location_name(location)
    }

    fn location_named(&mut self, name: &LocationName) -> Option<Location> {
        self.runtime.location_named(name)
    }
}
