//! Who has a handle of which `Arc`: labels for clones, drops and looks at the count.
//!
//! Each handle has a location. A drop writes that of its handle, and looks for another strong one that lives:
//! it goes through the others in a fixed order, up to the first that lives, and reads what it passes. So two
//! drops are independent if both find the same third handle. The order must be the same whatever independent
//! steps come first: it is that of the tree in which a handle is a child of what it was made from, parents
//! before children. Each handle has a second location, which stands for its children: who makes one writes
//! it, and who looks at the count reads all of both kinds. A look for strong ones ends at the first of them
//! that lives, and dead ones have no children any more, so none appears before the place where it ends, but
//! from weak ones, which are passed over: of these the second location is read. (That a weak one was the last
//! makes no difference to anybody.) Where nobody looks and the last drop does no operations, none of these
//! are events: then nothing that a process can observe depends on them.
//!
//! A handle that was made a raw pointer lives on without anybody who has it: it is kept with the others of
//! its `Arc`, until somebody makes a handle of a pointer again and is given the one that was kept last. Which
//! one that is depends on the order of all who keep and take, so there is a location for them: whatever is
//! done with raw pointers of one `Arc` is dependent.

use std::panic::Location as Caller;

use mazurka_program::{AccessKind, Location, ProcessId, Stop};
use mazurka_threads::lifetime::Reset;
use rustc_hash::{FxHashMap, FxHashSet};

use super::Runtime;
use super::identity::OwnKind;
use super::operation::{CurrentStep, Operation};

/// The `Arc`s of an execution.
#[derive(Default)]
pub(crate) struct Arcs {
    /// The types whose `Arc`s are followed.
    pub(super) followed: FxHashSet<&'static str>,
    /// By the address of what they share.
    handles: FxHashMap<usize, Vec<Handle>>,
    /// The same, for handles that are raw pointers.
    raw: FxHashMap<usize, Raw>,
    /// By the address of what they share: the type of handles that are not followed and became raw pointers.
    raw_types: FxHashMap<usize, &'static str>,
}

/// The handles of an `Arc` that are raw pointers.
struct Raw {
    /// Updated by whoever does something with raw pointers.
    location: Location,
    strong: Vec<Location>,
    weak: Vec<Location>,
}

/// What is released by the end of a strong handle, to who comes last,
const BY_STRONG: u32 = 0;
/// by the end of a weak one, to who is found to be the only one,
const BY_WEAK: u32 = 1;
/// and when a value that contains weak handles of itself is complete, to who makes one of these strong. To
/// clone a handle, to make a weak one strong otherwise, or to know the counts orders nothing, as in the
/// standard library.
const COMPLETED: u32 = 2;

/// Which of the handles it is that are made from another one, in words that are the same in all searches: the
/// process that made it, as a path in the creation tree, and its number among what that made.
type Birth = (Vec<u32>, u32);

/// A handle that lives or lived.
struct Handle {
    /// From the first handle of all, which has none, down to this one: how they were made. Handles are kept in
    /// this order.
    path: Vec<Birth>,
    location: Location,
    /// What was made from it.
    children: Location,
    strong: bool,
    alive: bool,
    /// For people: where it was made.
    made: &'static Caller<'static>,
}

impl Reset for Arcs {
    fn reset(&mut self) {
        self.handles.clear();
        self.raw.clear();
        self.raw_types.clear();
    }
}

/// What is done with a handle.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Deed {
    /// It is cloned, or downgraded if the new one is not strong.
    Clone {
        strong: bool,
    },
    Drop,
    /// The counts are looked at.
    Count,
    /// It is given up if it is the only strong one.
    Unwrap,
    /// It is looked whether it is the only one of all.
    Unique,
    /// A weak one is made strong, if there is a strong one.
    Upgrade,
    /// What it is a handle of has been made: from now on it lives.
    Complete,
    /// It becomes a raw pointer.
    Keep,
    /// A raw pointer becomes a handle.
    Take {
        strong: bool,
    },
    /// There is one strong raw pointer more.
    KeepAnother,
    /// A handle that the standard library has had is followed from now on, beside those that are.
    Adopt,
}

/// An operation on a handle.
pub(crate) struct Act<'a> {
    pub(crate) address: usize,
    pub(crate) handle: Location,
    pub(crate) deed: Deed,
    pub(crate) name: &'static str,
    /// The new handle, if there is one.
    pub(crate) made: Option<Location>,
    /// Whether the answer is yes: it was the last, the only one, an upgrade succeeded.
    pub(crate) yes: bool,
    pub(crate) counts: (usize, usize),
    /// Does to the real handle what the step decides, given the answer. It is part of the step, since others
    /// may come before the code that follows it.
    pub(crate) really: &'a mut dyn FnMut(bool),
}

impl Runtime {
    /// Whether `Arc`s of a type are followed.
    #[inline]
    pub(crate) fn follows(&self, name: &'static str) -> bool {
        !self.execution.arcs.followed.is_empty() && self.execution.arcs.followed.contains(name)
    }

    /// The location of the first handle of what lives at an address.
    pub(crate) fn first_handle(&mut self, address: usize, place: &'static Caller<'static>) -> Location {
        self.root_handle(address, true, place)
    }

    /// The location of the first handle of what is being made at an address. It does not live before it is
    /// [complete](Deed::Complete), but others can be made from it.
    pub(crate) fn unborn_handle(&mut self, address: usize, place: &'static Caller<'static>) -> Location {
        self.root_handle(address, false, place)
    }

    /// Where a handle of what lives at an address was made.
    pub(crate) fn where_made(&self, address: usize, handle: Location) -> Option<&'static Caller<'static>> {
        let handles = self.execution.arcs.handles.get(&address)?;
        handles.iter().find(|other| other.location == handle).map(|handle| handle.made)
    }

    fn root_handle(&mut self, address: usize, alive: bool, made: &'static Caller<'static>) -> Location {
        let (location, children) = self.two_locations(self.execution.schedule.running);
        let raw = self.make(self.execution.schedule.running, OwnKind::Handle);
        let handles = self.execution.arcs.handles.entry(address).or_default();
        // Something else may have lived there.
        handles.clear();
        handles.push(Handle { path: Vec::new(), location, children, strong: true, alive, made });
        self.execution.arcs.raw.insert(address, Raw { location: raw, strong: Vec::new(), weak: Vec::new() });
        location
    }

    /// The location of a new handle, made from another.
    fn child_handle(
        &mut self,
        process: ProcessId,
        address: usize,
        parent: Location,
        strong: bool,
        made: &'static Caller<'static>,
    ) -> Location {
        let birth = (self.search.names.path(process), self.process(process).made[OwnKind::Handle as usize]);
        let (location, children) = self.two_locations(process);
        let handles = self.execution.arcs.handles.entry(address).or_default();
        let parent = handles.iter().find(|handle| handle.location == parent);
        let mut path = parent.map_or(Vec::new(), |parent| parent.path.clone());
        path.push(birth);
        let at = handles.partition_point(|handle| handle.path < path);
        handles.insert(at, Handle { path, location, children, strong, alive: true, made });
        location
    }

    /// The first handle of what lives at an address, which may have been dropped. That there is one must not
    /// depend on what others do: it is known as long as the value lives, be it by handles of the standard
    /// library's alone.
    pub(crate) fn root_of(&self, address: usize) -> Option<Location> {
        Some(self.execution.arcs.handles.get(&address)?.first()?.location)
    }

    /// What lived at an address is gone, if all of its handles are.
    pub(crate) fn forget_if_dead(&mut self, address: usize) {
        let arcs = &mut self.execution.arcs;
        if arcs.handles.get(&address).is_some_and(|handles| handles.iter().all(|handle| !handle.alive)) {
            arcs.handles.remove(&address);
            arcs.raw.remove(&address);
        }
    }

    /// Something new lives at an address, whose handles are not followed.
    #[inline]
    pub(crate) fn forget_before(&mut self, address: usize) {
        if !self.execution.arcs.handles.is_empty() {
            self.execution.arcs.handles.remove(&address);
        }
    }

    /// A handle that is not followed becomes a raw pointer.
    pub(crate) fn note_raw_type(&mut self, address: usize, name: &'static str) {
        self.execution.arcs.raw_types.insert(address, name);
    }

    /// The type of a handle that became a raw pointer without being followed.
    pub(crate) fn raw_type(&self, address: usize) -> Option<&'static str> {
        self.execution.arcs.raw_types.get(&address).copied()
    }

    fn two_locations(&mut self, process: ProcessId) -> (Location, Location) {
        (self.make(process, OwnKind::Handle), self.make(process, OwnKind::Handle))
    }
}

impl Act<'_> {
    fn handles<'a>(&self, step: &'a CurrentStep<'_>) -> &'a [Handle] {
        step.runtime.execution.arcs.handles.get(&self.address).map_or(&[], Vec::as_slice)
    }

    /// Goes through the other handles, reading the strong ones (or all), up to the first of these that lives.
    /// Tells whether there is one.
    fn finds_another(&self, step: &mut CurrentStep<'_>, strong_only: bool) -> bool {
        let mut passed = Vec::new();
        let mut found = false;
        for handle in self.handles(step).iter().filter(|handle| handle.location != self.handle) {
            if strong_only && !handle.strong {
                passed.push(handle.children);
                continue;
            }
            passed.push(handle.location);
            if handle.alive {
                found = true;
                break;
            }
        }
        passed.into_iter().for_each(|location| step.touch(location, AccessKind::Read));
        found
    }

    fn is_strong(&self, step: &CurrentStep<'_>) -> bool {
        self.handles(step).iter().any(|handle| handle.location == self.handle && handle.strong)
    }

    /// The handle is gone. What was done by it comes before who finds that it was the last but one.
    fn bury(&self, step: &mut CurrentStep<'_>) {
        let part = if self.is_strong(step) { BY_STRONG } else { BY_WEAK };
        step.release_part(self.first(step), part);
        self.set_alive(step, false);
    }

    /// The location of the first handle, which stands for all of them.
    fn first(&self, step: &CurrentStep<'_>) -> Location {
        self.handles(step).first().map_or(self.handle, |handle| handle.location)
    }

    fn set_alive(&self, step: &mut CurrentStep<'_>, alive: bool) {
        step.touch(self.handle, AccessKind::Write);
        let handles = step.runtime.execution.arcs.handles.get_mut(&self.address);
        for handle in handles.into_iter().flatten().filter(|handle| handle.location == self.handle) {
            handle.alive = alive;
        }
    }

    fn create(&mut self, step: &mut CurrentStep<'_>, parent: Location, strong: bool) -> Location {
        let own = self.handles(step).iter().find(|handle| handle.location == parent);
        if let Some(children) = own.map(|handle| handle.children) {
            step.touch(children, AccessKind::Update);
        }
        let (process, place) = (step.process, step.place);
        let made = step.runtime.child_handle(process, self.address, parent, strong, place);
        step.touch(made, AccessKind::Write);
        made
    }

    /// As [`Act::create`], where nobody knows what it is made from: the first handle has to do. That may have
    /// been dropped, so that others have passed it by: it is written.
    fn adopt(&mut self, step: &mut CurrentStep<'_>, strong: bool) -> Location {
        let first = self.first(step);
        step.touch(first, AccessKind::Write);
        self.create(step, first, strong)
    }

    /// The handles that are raw pointers. Who asks for them does something with them.
    fn raw<'a>(&self, step: &'a mut CurrentStep<'_>, strong: bool) -> Option<&'a mut Vec<Location>> {
        let location = step.runtime.execution.arcs.raw.get(&self.address)?.location;
        step.touch(location, AccessKind::Update);
        let raw = step.runtime.execution.arcs.raw.get_mut(&self.address)?;
        Some(if strong { &mut raw.strong } else { &mut raw.weak })
    }

    fn keep(&self, step: &mut CurrentStep<'_>, handle: Location, strong: bool) {
        self.raw(step, strong).into_iter().for_each(|raw| raw.push(handle));
    }
}

impl Operation for Act<'_> {
    fn perform(&mut self, step: &mut CurrentStep<'_>) {
        if step.runtime.search.foresee {
            let message =
                "an Arc whose count or whose last drop matters is not supported by source; use optimal";
            step.runtime.fail(Stop::Unsupported(message.to_owned()));
        }
        match self.deed {
            Deed::Clone { strong } => self.made = Some(self.create(step, self.handle, strong)),
            Deed::Drop => {
                if self.is_strong(step) {
                    self.yes = !self.finds_another(step, true);
                    step.varies();
                }
                self.bury(step);
                if self.yes {
                    step.acquire_part(self.first(step), BY_STRONG);
                }
            }
            Deed::Count => {
                let both = |handle: &Handle| [handle.location, handle.children];
                let all: Vec<Location> = self.handles(step).iter().flat_map(both).collect();
                all.into_iter().for_each(|location| step.touch(location, AccessKind::Read));
                let count = |strong| {
                    self.handles(step).iter().filter(|handle| handle.alive && handle.strong == strong).count()
                };
                self.counts = (count(true), count(false));
                step.varies();
            }
            Deed::Unwrap => {
                self.yes = !self.finds_another(step, true);
                if self.yes {
                    self.bury(step);
                    step.acquire_part(self.first(step), BY_STRONG);
                }
                step.varies();
            }
            Deed::Unique => {
                self.yes = !self.finds_another(step, false);
                if self.yes {
                    let first = self.first(step);
                    step.acquire_part(first, BY_STRONG);
                    step.acquire_part(first, BY_WEAK);
                }
                step.varies();
            }
            Deed::Upgrade => {
                self.yes = self.finds_another(step, true);
                if self.yes {
                    step.acquire_part(self.first(step), COMPLETED);
                    self.made = Some(self.create(step, self.handle, true));
                }
                step.varies();
            }
            Deed::Complete => {
                step.release_part(self.first(step), COMPLETED);
                self.set_alive(step, true);
            }
            Deed::Keep => self.keep(step, self.handle, self.is_strong(step)),
            Deed::Take { strong } => {
                let kept = self.raw(step, strong).and_then(Vec::pop);
                self.made = Some(kept.unwrap_or_else(|| self.adopt(step, strong)));
            }
            Deed::KeepAnother => {
                let kept = self.raw(step, true).and_then(|raw| raw.last().copied());
                let made = match kept {
                    Some(other) => self.create(step, other, true),
                    None => self.adopt(step, true),
                };
                self.keep(step, made, true);
            }
            Deed::Adopt => self.made = Some(self.adopt(step, true)),
        }
        (self.really)(self.yes);
    }

    fn describe(&self, _world: &Runtime) -> String {
        self.name.to_owned()
    }
}
