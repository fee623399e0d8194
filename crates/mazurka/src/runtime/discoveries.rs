//! What a search finds out about a program that would have changed its labels, had it been known from the start.
//!
//! Some things are events only if they matter: the drop of an `Arc` matters if somebody looks at the count, or if the
//! last drop does operations. Whether they do shows when it happens. Labels of one search must be of one kind, so the
//! search ends there, and another begins that knows. Only finitely many things can be found out.

use std::sync::{Arc, Mutex, PoisonError};

use mazurka_program::{Location, ProcessId, Stop};
use rustc_hash::FxHashSet;

use super::World;
use super::identity::Base;

/// What has been found out. Shared by the searches of one check.
#[derive(Default)]
pub(crate) struct Discoveries {
    found: Mutex<Found>,
}

#[derive(Default)]
struct Found {
    /// Whether the present search found something.
    news: bool,
    arcs: FxHashSet<&'static str>,
    cells: bool,
    ends: bool,
    groups: Vec<Vec<StableName>>,
    /// Whether destructors panic when an execution is abandoned.
    bombs: bool,
    /// Whether that has made the thread of the operating system useless for the search.
    stranded: bool,
}

impl Discoveries {
    fn found(&self) -> std::sync::MutexGuard<'_, Found> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a search has to be begun again, since the last time this was asked; and can be, on this thread.
    pub(crate) fn begin_again(&self) -> bool {
        let mut found = self.found();
        !found.stranded && std::mem::take(&mut found.news)
    }

    /// Whether a search has to be begun again on another thread of the operating system, since the last time this was asked.
    pub(crate) fn begin_elsewhere(&self) -> bool {
        std::mem::take(&mut self.found().stranded)
    }
}

/// What a location is named by, whatever the numbers of processes and locations in a run.
#[derive(Clone, PartialEq, Eq)]
struct StableName {
    /// The path of the process that the base is about; empty if it is about none.
    owner: Vec<u32>,
    base: Base,
    generation: usize,
}

/// Adds a set of locations to the groups, which stay disjoint.
fn merge_group(groups: &mut Vec<Vec<StableName>>, locations: &[StableName]) {
    let mut merged = locations.to_vec();
    groups.retain(|group| {
        let apart = !group.iter().any(|at| merged.contains(at));
        if !apart {
            let others: Vec<StableName> = group.iter().filter(|at| !merged.contains(at)).cloned().collect();
            merged.extend(others);
        }
        apart
    });
    groups.push(merged);
}

/// What happens while an execution is abandoned is no part of any, and finds out nothing.
impl World {
    /// Takes over what was found out before.
    pub(super) fn follow(&mut self, discoveries: &Arc<Discoveries>) {
        self.discoveries = discoveries.clone();
        let found = discoveries.found();
        self.arcs.followed = found.arcs.clone();
        self.races.enabled = found.cells;
        self.ends_are_steps = found.ends;
        self.leaves_stacks = found.bombs;
        let groups = found.groups.clone();
        drop(found);
        let resolved = |group: &Vec<StableName>| group.iter().map(|name| self.resolve(name)).collect();
        let mut groups: Vec<Vec<Location>> = groups.iter().map(resolved).collect();
        groups.iter_mut().for_each(|group| group.sort_unstable());
        self.groups = groups;
    }

    /// From now on `Arc`s of a type are followed.
    pub(crate) fn discover_arc(&mut self, name: &'static str) {
        if self.leaving {
            return;
        }
        let mut found = self.discoveries.found();
        found.news |= found.arcs.insert(name);
        drop(found);
        self.begin_again();
    }

    /// From now on accesses of cells are watched.
    pub(crate) fn discover_cells(&mut self) {
        if self.leaving {
            return;
        }
        let mut found = self.discoveries.found();
        found.news |= !found.cells;
        found.cells = true;
        drop(found);
        self.begin_again();
    }

    /// From now on the end of a thread is a step of its own. Otherwise it is part of the last one, which may or may not be
    /// the last, depending on what it reads; only who looks for the end without waiting for it can tell.
    pub(crate) fn discover_ends(&mut self) {
        if self.leaving {
            return;
        }
        let mut found = self.discoveries.found();
        found.news |= !found.ends;
        found.ends = true;
        drop(found);
        self.begin_again();
    }

    /// From now on several locations count as one for those who spin on them.
    pub(super) fn discover_group(&mut self, locations: &[Location]) {
        if self.leaving {
            return;
        }
        let names: Vec<StableName> =
            locations.iter().filter_map(|&location| self.stable_name(location)).collect();
        let mut found = self.discoveries.found();
        merge_group(&mut found.groups, &names);
        found.news = true;
        drop(found);
        self.begin_again();
    }

    /// A destructor panicked while the execution was abandoned, which is no fault of the program: it was stopped in the middle
    /// of something. From now on nothing is dropped then. The panic goes on for ever on this thread of the operating
    /// system, so the next search needs another.
    pub(super) fn discover_bomb(&mut self) {
        let mut found = self.discoveries.found();
        (found.bombs, found.stranded) = (true, true);
        drop(found);
        self.begin_again();
    }

    /// The name of a location that means the same in every run.
    fn stable_name(&self, location: Location) -> Option<StableName> {
        let (base, generation) = self.table.name_of(location)?;
        let owner = base.process().map_or_else(Vec::new, |process| self.names.path(process));
        Some(StableName { owner, base: base.of_process(ProcessId(0)), generation })
    }

    /// The location of that name in this run.
    fn resolve(&mut self, name: &StableName) -> Location {
        let mut owner = None;
        for &ordinal in &name.owner {
            // Children have names in the order of their creation.
            let siblings = (0..=ordinal).map(|ordinal| self.names.child(owner, ordinal));
            owner = siblings.last();
        }
        self.table.named(name.base.of_process(owner.unwrap_or(ProcessId(0))), name.generation)
    }

    fn begin_again(&mut self) {
        self.fail(Stop::BeginAgain);
    }
}
