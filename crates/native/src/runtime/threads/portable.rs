//! Locations by names that mean the same in another run.
//!
//! Memory is named by where it is in the object, or in the slot of a thread, which is named by its path:
//! slots lie in the order in which a run meets threads. What lies where in a slot is the same in every run,
//! since stacks and heaps begin at the same places of it. That memory is shared is found out by running:
//! where this run has not, there is no location.

use mazurka_program::{Location, LocationName, PortableNames, ProcessId};

use super::objects::Class;
use super::run::NativeRun;
use super::runtime::Runtime;
use crate::runtime::memory::layout::MAX_THREADS;
use crate::runtime::memory::shadow::is_location;

/// What a location is, by the first word of its name: `[MEMORY, offset, size]`, `[OBJECT, class, offset]`; of a
/// thread its end, its wake-ups, and whether it was joined; what is registered for the end; and a group, of
/// memory or of mutexes, by the words of that member whose name is the least, since the order of numbers does
/// not travel.
const MEMORY: u64 = 0;
const OBJECT: u64 = 1;
const END: u64 = 2;
const WAKE: u64 = 3;
const HANDLE: u64 = 4;
const REGISTRY: u64 = 5;
const GROUP: u64 = 6;
const LOCKS: u64 = 7;

impl Runtime {
    /// The thread in whose slot an address is, if any, and where it is there, or in the object.
    fn address_name(&self, address: usize) -> Option<(Vec<u32>, u64)> {
        let (slots, image) = (&self.search.slots, &self.execution.image);
        if let Some(process) = slots.owner(address) {
            let known = process.index() < self.search.names.len();
            let offset = (address - slots.slot(process).stack_limit) as u64;
            return known.then(|| (self.search.names.path(process), offset));
        }
        image.extent.contains(&address).then(|| (Vec::new(), (address - image.base) as u64))
    }

    /// The address of that name.
    fn address_named(&self, process: Option<ProcessId>, offset: u64) -> Option<usize> {
        let offset = usize::try_from(offset).ok()?;
        let start = match process {
            Some(process) if process.index() < MAX_THREADS => self.search.slots.slot(process).stack_limit,
            Some(_) => return None,
            None => self.execution.image.base,
        };
        start.checked_add(offset)
    }

    fn location_name(&self, location: Location) -> Option<LocationName> {
        if let Some(cell) = self.search.partition.memory(location) {
            let (process, offset) = self.address_name(cell.address)?;
            return Some(LocationName { process, words: vec![MEMORY, offset, cell.size as u64] });
        }
        if let Some((address, class)) = self.search.objects.find(location) {
            let (process, offset) = self.address_name(address)?;
            return Some(LocationName { process, words: vec![OBJECT, class as u64, offset] });
        }
        if location == self.search.registry.location() {
            return Some(LocationName::global(vec![REGISTRY]));
        }
        let groups = [
            (GROUP, self.search.watched.groups.members(location)),
            (LOCKS, self.search.lock_groups.members(location)),
        ];
        if let Some((kind, members)) = groups.into_iter().find_map(|(kind, members)| Some((kind, members?))) {
            let names = members.iter().filter_map(|&member| self.location_name(member));
            let LocationName { process, words } = names.min()?;
            return Some(LocationName { process, words: [vec![kind], words].concat() });
        }
        self.execution.threads.list.iter().enumerate().find_map(|(at, thread)| {
            let of_thread = [(thread.end, END), (thread.wake, WAKE), (thread.handle, HANDLE)];
            let (_, word) = of_thread.into_iter().find(|own| own.0 == location)?;
            let process = self.search.names.path(ProcessId(at as u32));
            Some(LocationName { process, words: vec![word] })
        })
    }

    fn location_named(&mut self, process: Option<ProcessId>, words: &[u64]) -> Option<Location> {
        match *words {
            [MEMORY, offset, size] => {
                let (address, size) = (self.address_named(process, offset)?, usize::try_from(size).ok()?);
                let word =
                    *self.search.shadow.words(address, 1).first().filter(|&&word| is_location(word))?;
                self.search.partition.is(word, address, size).then_some(Location(word))
            }
            [OBJECT, class, offset] => {
                let class = Class::ALL.into_iter().find(|&known| known as u64 == class)?;
                self.search.objects.known(self.address_named(process, offset)?, class)
            }
            [REGISTRY] => Some(self.search.registry.location()),
            [GROUP, ref first @ ..] => {
                let first = self.location_named(process, first)?;
                self.search.watched.groups.of(&[(first, 0)])
            }
            [LOCKS, ref first @ ..] => {
                let first = self.location_named(process, first)?;
                self.search.lock_groups.of(first).map(|(group, _)| group)
            }
            [word] => {
                let thread = self.execution.threads.list.get(process?.index())?;
                let own = [(thread.end, END), (thread.wake, WAKE), (thread.handle, HANDLE)];
                own.into_iter().find(|own| own.1 == word).map(|own| own.0)
            }
            _ => None,
        }
    }
}

impl PortableNames for NativeRun {
    fn location_name(&self, location: Location) -> Option<LocationName> {
        self.runtime().location_name(location)
    }

    fn location_named(&mut self, name: &LocationName) -> Option<Location> {
        let runtime = self.runtime();
        let process = runtime.search.names.named(&name.process);
        runtime.location_named(process, &name.words)
    }
}
