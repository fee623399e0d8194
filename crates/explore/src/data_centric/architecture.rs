//! The communication architecture `G_P` of a program, as far as its executions have shown it, and what is
//! made of it where it is cyclic.
//!
//! Two processes are adjacent if both use a location that one of them writes (locks are locations), or if one
//! creates the other. An edge is *free* if it is about a location that several processes write, one of them
//! blindly, and that somebody reads: of the other edges an annotation orders every two conflicting events.
//! What `Realize` needs is an *all-but-two* property (section 6 of the paper): every cycle has at most two
//! free edges. Acyclic architectures have it, and so do cycles of locks, joins and variables with one writer.
//!
//! Where it does not hold, edges are taken out of the free ones, until it does:
//! * by *locks* (section 6): the variables of an edge of `X` get a lock each, around every write. A write
//!   then observes the write before it, so it counts as an update, and no edge about that variable is free;
//! * by a *star* (section 7.1): a root, and Mazurkiewicz order among the leaves. A use of a variable by a
//!   leaf is a use of a shadow of that variable too, of which writes are updates.

use std::collections::{BTreeMap, BTreeSet};

use mazurka_program::{Access, AccessKind, Location, ProcessId};

use super::blocks::blocks;

/// How cyclic architectures are made acyclic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Reduction {
    /// Section 6: new locks for the variables on the edges of an all-but-two cycle set.
    #[default]
    Locks,
    /// Section 7.1: Mazurkiewicz order among the leaves of a star.
    Star,
}

/// A location as an annotation knows it: twice its number, and one more if it is the shadow of it that leaves
/// use.
pub(crate) type Cell = u32;

pub(super) fn cell(location: Location) -> Cell {
    2 * location.0
}

fn shadow(location: Location) -> Cell {
    2 * location.0 + 1
}

/// How a process uses a location.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Use {
    /// It reads it, perhaps to update it.
    pub reads: bool,
    /// It overwrites it blindly.
    pub overwrites: bool,
    /// It updates it: reads and writes at once.
    pub updates: bool,
}

impl Use {
    /// Whether it changes it.
    pub fn writes(self) -> bool {
        self.overwrites || self.updates
    }
}

/// An edge: two processes, the smaller number first.
pub type Edge = (ProcessId, ProcessId);

fn edge(a: ProcessId, b: ProcessId) -> Edge {
    if a < b { (a, b) } else { (b, a) }
}

/// What two processes share.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Link {
    /// The locations, in the order of their numbers.
    pub locations: Vec<Location>,
    /// Of these, the ones that make it free.
    pub free: Vec<Location>,
    /// Whether one creates the other.
    pub creates: bool,
    /// Whether one waits for what only the other does, as for its end.
    pub joins: bool,
}

/// The communication graph, as far as it was seen.
#[derive(Clone, Debug, Default)]
pub struct Architecture {
    /// Who uses each location.
    users: Vec<Vec<(ProcessId, Use)>>,
    waits: Waits,
    creations: BTreeSet<Edge>,
    /// Locations that a process waits for to be written, as the end of another one.
    joined: BTreeSet<Location>,
    processes: BTreeSet<ProcessId>,
    /// Whether something was seen since [`Architecture::is_settled`] was asked.
    grown: bool,
    reduction: Reduction,
    reduced: Reduced,
}

/// The locations that guards wait for.
#[derive(Clone, Debug, Default)]
struct Waits {
    /// Those that a guarded step writes too.
    updated: BTreeSet<Location>,
    /// Those that one only reads.
    read: BTreeSet<Location>,
    /// Those that somebody waited for at the end of an execution.
    ended: BTreeSet<Location>,
    /// Whether one of the first is overwritten blindly.
    overwritten: bool,
}

/// What became of a cyclic architecture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Reduced {
    /// `Y`: the locations whose writes are ordered.
    ordered: BTreeSet<Location>,
    /// The root of the star, and the locations that have a shadow.
    root: Option<ProcessId>,
    shadowed: BTreeSet<Location>,
}

impl Architecture {
    /// One of which nothing is known.
    pub fn new(reduction: Reduction) -> Architecture {
        Architecture { reduction, ..Architecture::default() }
    }

    /// What is made of cycles.
    pub fn reduction(&self) -> Reduction {
        self.reduction
    }

    /// Takes note of a step.
    pub fn note(&mut self, process: ProcessId, accesses: &[Access], spawned: &[ProcessId]) {
        if self.processes.insert(process) {
            self.grown = true;
        }
        for &child in spawned {
            self.grown |= self.creations.insert(edge(process, child));
            self.processes.insert(child);
        }
        for access in accesses {
            access.locations().for_each(|location| self.note_use(process, location, access.kind));
        }
    }

    /// Takes note of locations that a step had to wait for, where only its own process could undo that.
    pub fn note_joins(&mut self, locations: &[Location]) {
        self.joined.extend(locations);
    }

    fn note_use(&mut self, process: ProcessId, location: Location, kind: AccessKind) {
        let at = location.0 as usize;
        if at >= self.users.len() {
            self.users.resize_with(at + 1, Vec::new);
        }
        let users = &mut self.users[at];
        let found = users.iter().position(|(user, _)| *user == process).unwrap_or_else(|| {
            users.push((process, Use::default()));
            users.len() - 1
        });
        let used = &mut users[found].1;
        let before = *used;
        match kind {
            AccessKind::Read => used.reads = true,
            AccessKind::Update => (used.reads, used.updates) = (true, true),
            AccessKind::Write | AccessKind::Send | AccessKind::Once => used.overwrites = true,
        }
        if before != *used {
            self.grown = true;
            self.waits.overwritten |= used.overwrites && self.waits.updated.contains(&location);
        }
    }

    /// Takes note of a guard of a step that was taken: does the step write what it waits for?
    pub(super) fn note_guard(&mut self, location: Location, updates: bool) {
        if !updates {
            self.waits.read.insert(location);
        } else if self.waits.updated.insert(location) {
            self.waits.overwritten |= self.users(location).iter().any(|(_, used)| used.overwrites);
        }
    }

    /// Takes note that a process waits at the end of an execution.
    pub(super) fn note_waiting(&mut self, location: Location) {
        self.waits.ended.insert(location);
        self.note_guard(location, true);
    }

    /// Whether what is observed does not tell who waits at the end: a step waits for a location that somebody
    /// overwrites without having read it, or for one that it only reads.
    pub(super) fn awaits(&self) -> bool {
        let Waits { read, ended, overwritten, .. } = &self.waits;
        *overwritten || read.intersection(ended).next().is_some()
    }

    /// The processes seen.
    pub fn processes(&self) -> impl Iterator<Item = ProcessId> + '_ {
        self.processes.iter().copied()
    }

    /// Who uses a location, and how.
    pub fn users(&self, location: Location) -> &[(ProcessId, Use)] {
        self.users.get(location.0 as usize).map_or(&[], |users| users)
    }

    /// The locations that more than one process uses, one of them writing.
    pub fn shared(&self) -> impl Iterator<Item = Location> + '_ {
        let shared =
            |users: &[(ProcessId, Use)]| users.len() > 1 && users.iter().any(|(_, used)| used.writes());
        (0..self.users.len()).filter(move |&at| shared(&self.users[at])).map(|at| Location(at as u32))
    }

    /// Whether annotations leave the order of some events at a location open: several processes write it, one
    /// of them blindly, and somebody reads it.
    pub fn is_contended(&self, location: Location) -> bool {
        let users = self.users(location);
        users.iter().filter(|(_, used)| used.writes()).count() > 1
            && users.iter().any(|(_, used)| used.overwrites)
            && users.iter().any(|(_, used)| used.reads)
    }

    /// The edges, with what they are about.
    pub fn links(&self) -> BTreeMap<Edge, Link> {
        let mut links: BTreeMap<Edge, Link> = BTreeMap::new();
        for location in self.shared() {
            let (users, contended) = (self.users(location), self.is_contended(location));
            for (k, (a, one)) in users.iter().enumerate() {
                for (b, _) in users[k + 1..].iter().filter(|(_, other)| one.writes() || other.writes()) {
                    let link = links.entry(edge(*a, *b)).or_default();
                    if self.joined.contains(&location) {
                        link.joins = true;
                        continue;
                    }
                    link.locations.push(location);
                    if contended {
                        link.free.push(location);
                    }
                }
            }
        }
        for &edge in &self.creations {
            links.entry(edge).or_default().creates = true;
        }
        links
    }

    /// Whether the paper's graph `G_P` has no cycle. Its edges are between processes that use a common
    /// location; who creates and who joins whom is no part of it.
    pub fn is_acyclic(&self) -> bool {
        let edges: Vec<Edge> = self
            .links()
            .into_iter()
            .filter(|(_, link)| !link.locations.is_empty())
            .map(|(edge, _)| edge)
            .collect();
        blocks(&edges).iter().all(|block| block.len() == 1)
    }

    /// Whether every cycle has at most two free edges, so that no class is split.
    pub fn is_all_but_two(&self) -> bool {
        self.offending(&BTreeSet::new()).is_none()
    }

    /// A part of the graph, with no cut vertex, whose cycles may have more than two free edges, if the
    /// locations in `without` make none free: its free edges and what makes them so.
    fn offending(&self, without: &BTreeSet<Location>) -> Option<Vec<(Edge, Vec<Location>)>> {
        if !self.shared().any(|location| self.is_contended(location) && !without.contains(&location)) {
            return None;
        }
        let links = self.links();
        let edges: Vec<Edge> = links.keys().copied().collect();
        let free = |edge: Edge| -> Vec<Location> {
            links[&edge].free.iter().copied().filter(|location| !without.contains(location)).collect()
        };
        blocks(&edges)
            .into_iter()
            .map(|block| {
                block
                    .into_iter()
                    .map(|edge| (edge, free(edge)))
                    .filter(|(_, free)| !free.is_empty())
                    .collect()
            })
            .find(|free: &Vec<(Edge, Vec<Location>)>| {
                free.len() > 2 && !is_star(free.iter().map(|(edge, _)| *edge))
            })
    }

    /// What is to be done about cycles, given all that was seen.
    fn reduce(&self) -> Reduced {
        let mut reduced = Reduced::default();
        while let Some(free) = self.offending(&reduced.ordered) {
            let root = root(free.iter().map(|(edge, _)| *edge));
            if self.reduction == Reduction::Star {
                return self.star();
            }
            let apart = free.iter().filter(|((a, b), _)| *a != root && *b != root);
            reduced.ordered.extend(apart.flat_map(|(_, locations)| locations.iter().copied()));
        }
        reduced
    }

    /// The star: the first process is the root, and all that leaves share has a shadow.
    fn star(&self) -> Reduced {
        let root = self.processes.first().copied();
        let leaves = |location: &Location| {
            self.users(*location).iter().filter(|(user, _)| Some(*user) != root).count() > 1
        };
        let shadowed = self.shared().filter(|location| self.is_contended(*location)).filter(leaves).collect();
        Reduced { ordered: BTreeSet::new(), root, shadowed }
    }

    /// Whether what was seen since this was asked last needs no other treatment of cycles. If not, the
    /// treatment is changed, and the search has to be begun again.
    pub(super) fn is_settled(&mut self) -> bool {
        if !std::mem::take(&mut self.grown) {
            return true;
        }
        let reduced = self.reduce();
        let settled = reduced == self.reduced;
        self.reduced = reduced;
        settled
    }

    /// The locations whose writes are ordered, since cycles have more than two free edges.
    pub fn ordered(&mut self) -> impl Iterator<Item = Location> + '_ {
        self.is_settled();
        self.reduced.ordered.iter().chain(&self.reduced.shadowed).copied()
    }

    /// The root of the star, where one is made of cycles.
    pub fn root(&mut self) -> Option<ProcessId> {
        self.is_settled();
        self.reduced.root
    }

    /// What a step of a process with these accesses reads and writes, each cell once and in order.
    pub(super) fn footprint(&self, process: ProcessId, accesses: &[Access], footprint: &mut Footprint) {
        let Footprint { reads, writes } = footprint;
        reads.clear();
        writes.clear();
        for access in accesses {
            for location in access.locations() {
                self.touch(process, location, access.kind, reads, writes);
            }
        }
        for cells in [reads, writes] {
            if cells.len() > 1 {
                cells.sort_unstable();
                cells.dedup();
            }
        }
    }

    fn touch(
        &self,
        process: ProcessId,
        location: Location,
        kind: AccessKind,
        reads: &mut Vec<Cell>,
        writes: &mut Vec<Cell>,
    ) {
        let read = matches!(kind, AccessKind::Read | AccessKind::Update);
        let Reduced { ordered, root, shadowed } = &self.reduced;
        if read || (!ordered.is_empty() && ordered.contains(&location)) {
            reads.push(cell(location));
        }
        if !kind.is_read() {
            writes.push(cell(location));
        }
        if !shadowed.is_empty() && *root != Some(process) && shadowed.contains(&location) {
            reads.push(shadow(location));
            if !kind.is_read() {
                writes.push(shadow(location));
            }
        }
    }

    /// Bytes held.
    pub(super) fn memory(&self) -> usize {
        let one = |users: &Vec<(ProcessId, Use)>| users.capacity() * size_of::<(ProcessId, Use)>();
        self.users.capacity() * size_of::<Vec<u32>>() + self.users.iter().map(one).sum::<usize>()
    }
}

/// What a step reads and writes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Footprint {
    pub reads: Vec<Cell>,
    pub writes: Vec<Cell>,
}

impl Footprint {
    /// How many locations are read: one that is read together with its shadow counts once.
    pub fn locations_read(&self) -> usize {
        self.reads.chunk_by(|a, b| a / 2 == b / 2).count()
    }
}

/// Whether all edges have a process in common.
fn is_star(mut edges: impl Iterator<Item = Edge> + Clone) -> bool {
    let Some((a, b)) = edges.next() else { return true };
    [a, b].into_iter().any(|root| edges.clone().all(|(c, d)| c == root || d == root))
}

/// The process with most edges; of several the first.
fn root(edges: impl Iterator<Item = Edge>) -> ProcessId {
    let mut degrees: BTreeMap<ProcessId, usize> = BTreeMap::new();
    edges.flat_map(|(a, b)| [a, b]).for_each(|process| *degrees.entry(process).or_default() += 1);
    let most = degrees.values().copied().max();
    degrees.into_iter().find(|(_, degree)| Some(*degree) == most).map_or(ProcessId(0), |(process, _)| process)
}
