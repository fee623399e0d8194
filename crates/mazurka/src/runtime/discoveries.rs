//! What a search finds out about a program that would have changed its labels, had it been known from the start.
//!
//! Some things are events only if they matter: the drop of an `Arc` matters if somebody looks at the count, or if the
//! last drop does operations. Whether they do shows when it happens. Labels of one search must be of one kind, so the
//! search ends there, and another begins that knows. Only finitely many things can be found out.

use std::sync::{Arc, Mutex, PoisonError};

use mazurka_program::{Location, Names, Stop};
use rustc_hash::FxHashSet;

use super::World;
use super::identity::NameTable;

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
    groups: Vec<Vec<Location>>,
    /// The names of the search before, so that locations keep their numbers.
    names: Option<(Names, NameTable)>,
}

impl Discoveries {
    fn found(&self) -> std::sync::MutexGuard<'_, Found> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a search has to be begun again, since the last time this was asked.
    pub(crate) fn begin_again(&self) -> bool {
        std::mem::take(&mut self.found().news)
    }
}

/// What happens while an execution is abandoned is no part of any, and finds out nothing.
impl World {
    /// Takes over what was found out before.
    pub(super) fn follow(&mut self, discoveries: &Arc<Discoveries>) {
        self.discoveries = discoveries.clone();
        let mut found = discoveries.found();
        self.arcs.followed = found.arcs.clone();
        self.races.enabled = found.cells;
        self.ends_are_steps = found.ends;
        self.groups = found.groups.clone();
        if let Some((names, table)) = found.names.take() {
            (self.names, self.table) = (names, table);
        }
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
        let mut found = self.discoveries.found();
        World::merge_group(&mut found.groups, locations);
        found.news = true;
        drop(found);
        self.begin_again();
    }

    /// Leaves the names to the search that comes after this one.
    pub(super) fn leave_names(&mut self) {
        let names = (std::mem::take(&mut self.names), std::mem::take(&mut self.table));
        self.discoveries.found().names = Some(names);
    }

    fn begin_again(&mut self) {
        self.fail(Stop::Bound("the search has to be begun again".to_owned()));
    }
}
