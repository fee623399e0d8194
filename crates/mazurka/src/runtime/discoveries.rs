//! What a search finds out about a program that would have changed its labels, had it been known from the
//! start.
//!
//! Some things are events only if they matter: the drop of an `Arc` matters if somebody looks at the count,
//! or if the last drop does operations. Whether they do shows when it happens. Labels of one search must be
//! of one kind, so the search ends there, and another begins that knows. Only finitely many things can be
//! found out.
//!
//! Where a search is shared among several threads of the operating system, each part of it has discoveries of
//! its own, which begin as those of the whole. They become those of the whole only if the part is the first, in
//! the order of the search, in which something was found out: what others find out at the same time is
//! forgotten, and will be found again. So what is known, and when, is what one thread would have known.

use std::sync::{Arc, Mutex, PoisonError};

use mazurka_program::{Location, LocationName, Stop};
use mazurka_threads::spin::merge_disjoint;
use rustc_hash::FxHashSet;

use super::Runtime;
use super::identity::OwnKind;
use super::quiet::Memory;
use super::rounds::Loops;
use super::run::MAIN;

/// Why a search that has ended is no pass.
const UNSEEN: &str = "a loop that only reads was taken to wait, and whether it counts where nobody is told can't \
                      be seen: the closure has too much memory to be compared, or keeps some from one \
                      execution to the next, or allocates otherwise than by `mazurka::Allocator`";

/// What has been found out. Shared by the searches of one check.
#[derive(Default)]
pub(crate) struct Discoveries {
    facts: Mutex<Facts>,
    /// Whether they are those of a part of a search.
    of_part: bool,
}

#[derive(Clone, Default)]
struct Facts {
    /// Whether the present search found something.
    news: bool,
    arcs: FxHashSet<&'static str>,
    cells: bool,
    clocks: bool,
    ends: bool,
    groups: Vec<Vec<LocationName>>,
    /// Whether processes go in loops that write.
    loops: bool,
    /// Whether processes seem to spin.
    spins: bool,
    /// Whether some did whose memory could not be compared.
    unseen: bool,
    /// Whether processes spin in frames that are deeper than the clean part of a stack.
    deep: bool,
    /// Whether rounds can't be looked for.
    no_rounds: bool,
    /// Whether destructors panic when an execution is abandoned.
    bombs: bool,
    /// Whether that has made the thread of the operating system useless for the search.
    stranded: bool,
    /// Whether the search is not to be shared, since it gives threads up with all that they hold, and may do so
    /// only so often.
    alone: bool,
}

impl Discoveries {
    fn facts(&self) -> std::sync::MutexGuard<'_, Facts> {
        self.facts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a search has to be begun again, since the last time this was asked; and can be, on this
    /// thread.
    pub(crate) fn begin_again(&self) -> bool {
        let mut facts = self.facts();
        !facts.stranded && std::mem::take(&mut facts.news)
    }

    /// Those of a part of the search, which begins.
    pub(crate) fn part(&self) -> Discoveries {
        Discoveries { facts: Mutex::new(self.facts().clone()), of_part: true }
    }

    /// Whether they are of a part in which something was found out.
    pub(crate) fn is_part_with_news(&self) -> bool {
        let facts = self.facts();
        self.of_part && (facts.news || facts.stranded)
    }

    /// Takes up what was found out in a part, which began when all was known that is known now: what changes
    /// labels ends a search as soon as it is taken up.
    pub(crate) fn take_up(&self, part: &Discoveries) {
        let (mut facts, of_part) = (self.facts(), part.facts().clone());
        let unseen = facts.unseen || of_part.unseen;
        if of_part.news || of_part.stranded {
            *facts = of_part;
        }
        facts.unseen = unseen;
    }

    /// Whether the search is not to be shared.
    pub(crate) fn is_alone(&self) -> bool {
        self.facts().alone
    }

    /// Why what was found is not all there is, though the search came to its end.
    pub(crate) fn doubt(&self) -> Option<&'static str> {
        self.facts().unseen.then_some(UNSEEN)
    }

    /// Another process could not see whether a loop counts.
    pub(crate) fn know_unseen(&self) {
        self.facts().unseen = true;
    }

    /// Whether a search has to be begun again on another thread of the operating system, since the last time
    /// this was asked.
    pub(crate) fn begin_elsewhere(&self) -> bool {
        let mut facts = self.facts();
        // Whatever was found out, what begins elsewhere knows.
        facts.news &= !facts.stranded;
        std::mem::take(&mut facts.stranded)
    }
}

impl Runtime {
    /// Takes over what was found out before.
    pub(super) fn follow(&mut self, discoveries: &Arc<Discoveries>) {
        self.search.discoveries = discoveries.clone();
        let facts = discoveries.facts();
        self.execution.arcs.followed = facts.arcs.clone();
        self.execution.races.enabled = facts.cells;
        self.execution.clocks.enabled = facts.clocks;
        self.search.ends_are_steps = facts.ends;
        self.search.leaves_stacks = facts.bombs;
        self.search.is_deep = facts.deep;
        let groups = facts.groups.clone();
        let is_watched = self.execution.living.is_watched();
        let loops = facts.loops && !facts.no_rounds && !is_watched;
        let spins = facts.spins && !facts.no_rounds;
        self.search.without_rounds = facts.no_rounds || is_watched;
        self.search.memory = match facts.spins {
            _ if facts.no_rounds => Memory::Unknown,
            true => Memory::Compared,
            false => Memory::NotAsked,
        };
        drop(facts);
        self.search.loops = (loops || (spins && !is_watched)).then(|| Loops::new(loops)).flatten();
        if (loops || (spins && !is_watched)) && self.search.loops.is_none() {
            (self.search.without_rounds, self.search.memory) = (true, Memory::Unknown);
        }
        let arenas = self.search.loops.as_mut().map(|loops| &raw mut *loops.arenas);
        self.execution.log.arenas = arenas.unwrap_or(std::ptr::null_mut());
        for group in groups {
            let mut members: Vec<Location> =
                group.iter().filter_map(|name| self.location_named(name)).collect();
            members.sort_unstable();
            let stands_for_all = self.own(MAIN, OwnKind::Group, members[0].0);
            self.search.groups.add(stands_for_all, members);
        }
        let has_groups = !self.search.groups.is_empty();
        self.search.is_simple = !has_groups && !self.execution.races.enabled && !self.follows_loops();
    }

    /// Notes what was found out, and whether that is news. What happens while an execution is abandoned is no
    /// part of any, and finds out nothing.
    fn discover(&mut self, note: impl FnOnce(&mut Facts) -> bool) {
        if !self.execution.leaving {
            let mut facts = self.search.discoveries.facts();
            facts.news |= note(&mut facts);
            drop(facts);
            self.fail(Stop::BeginAgain);
        }
    }

    /// From now on `Arc`s of a type are followed.
    pub(crate) fn discover_arc(&mut self, name: &'static str) {
        self.discover(|facts| facts.arcs.insert(name));
    }

    /// From now on accesses of cells are watched.
    pub(crate) fn discover_cells(&mut self) {
        self.discover(|facts| !std::mem::replace(&mut facts.cells, true));
    }

    /// From now on clocks are kept.
    pub(crate) fn discover_clocks(&mut self) {
        self.discover(|facts| !std::mem::replace(&mut facts.clocks, true));
    }

    /// From now on the end of a thread is a step of its own. Otherwise it is part of the last one, which may
    /// or may not be the last, depending on what it reads; only who looks for the end without waiting for it
    /// can tell.
    pub(crate) fn discover_ends(&mut self) {
        self.discover(|facts| !std::mem::replace(&mut facts.ends, true));
    }

    /// From now on several locations count as one for those who spin on them.
    pub(super) fn discover_group(&mut self, locations: &[Location]) {
        let mut group: Vec<LocationName> =
            locations.iter().filter_map(|&at| self.location_name(at)).collect();
        self.discover(|facts| {
            merge_disjoint(&mut facts.groups, &mut group, |group| group);
            facts.groups.push(group);
            true
        });
    }

    /// From now on processes are followed, to see whether they go rounds; unless that is out of the question.
    pub(super) fn discover_loops(&mut self) {
        if !self.search.without_rounds {
            self.discover(|facts| !std::mem::replace(&mut facts.loops, true));
        }
    }

    /// From now on the memory of processes that seem to spin is compared.
    pub(super) fn discover_spins(&mut self) {
        self.discover(|facts| !std::mem::replace(&mut facts.spins, true));
    }

    /// Some process seems to spin, and may count all the same: the search goes on, but is not all there is.
    pub(super) fn discover_unseen(&mut self) {
        self.search.discoveries.facts().unseen = true;
    }

    /// As [`Runtime::discover_loops`], unless that was done before. Says whether it is news.
    pub(super) fn discover_loops_once(&mut self) -> bool {
        let is_news = !self.search.without_rounds && !self.search.discoveries.facts().loops;
        if is_news {
            self.discover_loops();
        }
        is_news
    }

    /// From now on more of a stack is clean.
    #[cold]
    pub(super) fn discover_depth(&mut self) {
        self.discover(|facts| !std::mem::replace(&mut facts.deep, true));
    }

    /// From now on no rounds are looked for: there is too much memory, or it is not known.
    #[cold]
    pub(super) fn discover_no_rounds(&mut self) {
        self.discover(|facts| !std::mem::replace(&mut facts.no_rounds, true));
    }

    /// A destructor panicked while the execution was abandoned, which is no fault of the program: it was
    /// stopped in the middle of something. From now on nothing is dropped then. The panic goes on for ever on
    /// this thread of the operating system, so the next search needs another.
    pub(super) fn discover_bomb(&mut self) {
        let mut facts = self.search.discoveries.facts();
        (facts.bombs, facts.stranded, facts.alone) = (true, true, true);
        drop(facts);
        self.fail(Stop::BeginAgain);
    }

    /// A process was given up with all that it holds. That is counted, for the whole search, so from now on the
    /// search is not shared.
    pub(super) fn discover_abandoned(&mut self) {
        if self.search.discoveries.of_part {
            let mut facts = self.search.discoveries.facts();
            (facts.stranded, facts.alone) = (true, true);
            drop(facts);
            self.fail(Stop::BeginAgain);
        }
    }
}
