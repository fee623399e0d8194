//! Mutexes that are locked together, as one step: `std::lock` and `std::scoped_lock` of several.
//!
//! Whoever locks several waits until all are free, and takes them at once. Programs can't tell that from the
//! library's way, which tries, gives back and tries again: whoever gets them all in the end could have done so
//! at once. What is waited for is a condition on several mutexes, so these count as one: a location stands for
//! all that are locked together with one another, and holds a bit for each that is held. Who changes one of
//! them changes it. Which they are is found out by running; then the search begins again.
#![allow(unsafe_code)]

use mazurka_program::{FailureKind, Location, ProcessId};
use mazurka_threads::spin::merge_disjoint;
use mazurka_threads::values::Until;

use super::mutex::{Lock, holder};
use crate::runtime::memory::shadow::Partition;
use crate::runtime::system::stubs::{Passing, Stub, stubs};
use crate::runtime::system::user::{caller, check_alive, object_at, with_runtime};
use crate::runtime::threads::arrive;
use crate::runtime::threads::objects::{Class, Object};
use crate::runtime::threads::operation::{CurrentStep, Operation, Wait};
use crate::runtime::threads::runtime::{Runtime, Search};

/// No more mutexes are locked together, in one call and in all of one group.
const MOST: usize = 8;
const MOST_IN_GROUP: usize = 64;

/// Mutexes that are locked together with one another.
#[derive(Debug)]
struct Group {
    stands_for_all: Location,
    members: Vec<Location>,
}

/// All groups: no mutex is in two of them.
#[derive(Debug, Default)]
pub(crate) struct LockGroups(Vec<Group>);

impl LockGroups {
    /// What stands for the group of a mutex, and the bit of the mutex; none if it is in no group.
    #[inline]
    pub(crate) fn of(&self, mutex: Location) -> Option<(Location, u64)> {
        self.0.iter().find_map(|group| {
            let at = group.members.iter().position(|&member| member == mutex)?;
            Some((group.stands_for_all, 1_u64.checked_shl(at as u32).unwrap_or(0)))
        })
    }

    /// The mutexes that a location stands for, if it does for some.
    pub(crate) fn members(&self, stands_for_all: Location) -> Option<&[Location]> {
        self.0.iter().find(|group| group.stands_for_all == stands_for_all).map(|group| &group.members[..])
    }

    /// Has mutexes be in one group. Says whether they were not.
    fn join(&mut self, mutexes: &[Location], partition: &mut Partition) -> bool {
        let groups: Vec<_> = mutexes.iter().map(|&mutex| self.of(mutex).map(|(group, _)| group)).collect();
        if groups[0].is_some() && groups.iter().all(|group| *group == groups[0]) {
            return false;
        }
        let mut members = mutexes.to_vec();
        merge_disjoint(&mut self.0, &mut members, |group| &group.members);
        self.0.push(Group { stands_for_all: partition.other(), members });
        true
    }
}

/// Locks several at once.
struct LockAll {
    mutexes: [Object; MOST],
    count: usize,
    group: Location,
    bits: u64,
}

impl LockAll {
    fn mutexes(&self) -> &[Object] {
        &self.mutexes[..self.count]
    }

    fn names(&self, runtime: &Runtime) -> String {
        let names: Vec<String> = self.mutexes().iter().map(|&mutex| runtime.object_name(mutex)).collect();
        names.join(", ")
    }
}

impl Operation for LockAll {
    fn wait(&self) -> Wait {
        Wait::Until(self.group, Until::Clear(self.bits))
    }

    fn perform(&mut self, step: &mut CurrentStep<'_>) {
        for &mutex in self.mutexes() {
            step.update(mutex.location);
            Lock::new(mutex).take(step);
        }
    }

    fn describe(&self, runtime: &Runtime) -> String {
        format!("std::lock({})", self.names(runtime))
    }

    fn waits_for(&self, runtime: &Runtime) -> (String, Vec<ProcessId>) {
        let held = |mutex: &Object| Some((*mutex, holder(runtime.execution.value(*mutex))?));
        let held: Vec<(Object, ProcessId)> = self.mutexes().iter().filter_map(held).collect();
        let told = held.iter().map(|&(mutex, holder)| {
            let since = runtime.held_since(mutex);
            format!("{}, held by {}{since}", runtime.object_name(mutex), runtime.name_of(holder))
        });
        (told.collect::<Vec<_>>().join(" and "), held.into_iter().map(|(_, holder)| holder).collect())
    }
}

/// Locks mutexes, of which there are the addresses; says whether it did. Otherwise it is to be done in the
/// library's way: there are too many.
extern "C-unwind" fn lock_all(addresses: *const usize, count: usize) -> i32 {
    let place = caller();
    if !(2..=MOST).contains(&count) {
        return 0;
    }
    let mutex = |at: usize| {
        // SAFETY: the function that is put before the program passes so many.
        let address = unsafe { addresses.add(at).read() };
        object_at(address, Class::Mutex, place, "std::lock")
    };
    let first = mutex(0);
    let mut mutexes = [first; MOST];
    for (at, slot) in mutexes.iter_mut().enumerate().take(count).skip(1) {
        *slot = mutex(at);
    }
    if (1..count).any(|at| mutexes[..at].iter().any(|other| other.location == mutexes[at].location)) {
        let message = "std::lock: a mutex is given twice".to_owned();
        arrive::fail_here(FailureKind::InvalidSync, message, place);
    }
    let locations = mutexes.map(|mutex| mutex.location);
    let group = with_runtime(|runtime| {
        let Search { lock_groups, partition, .. } = &mut runtime.search;
        let is_new = lock_groups.join(&locations[..count], partition);
        partition.news |= is_new;
        let known = locations[..count].iter().filter_map(|&mutex| lock_groups.of(mutex));
        let known: Vec<(Location, u64)> = known.collect();
        let group = known.first().map(|known| known.0);
        let group =
            group.filter(|&group| lock_groups.members(group).is_some_and(|all| all.len() <= MOST_IN_GROUP));
        // Who has one already that can be locked again does not wait for it.
        let waits = mutexes[..count].iter().map(|&mutex| !runtime.may_lock_again(mutex));
        let bits = known.iter().zip(waits).filter(|(_, waits)| *waits);
        group.zip(Some(bits.fold(0, |bits, ((_, bit), _)| bits | bit)))
    });
    let Some((group, bits)) = group else {
        let told = |at| {
            format!(
                "std::lock{at} of mutexes of which more than {MOST_IN_GROUP} are locked together is not supported"
            )
        };
        return with_runtime(|runtime| runtime.refuse_at(place, told));
    };
    arrive::operate(&mut LockAll { mutexes, count, group, bits }, place);
    for &mutex in &mutexes[..count] {
        check_alive(mutex, "std::lock", place);
    }
    1
}

/// What programs call.
pub(crate) fn interposed(list: &mut Vec<Stub>) {
    list.extend(stubs! { Passing::Plain; "mazurka_lock_all" => lock_all });
}
