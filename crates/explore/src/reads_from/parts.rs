//! Parts of a search by `reads-from`, for several workers.
//!
//! A part is some children of a node, which are explored with all below them, and the nodes *above*: those that lead
//! there from the root. The ends of executions show children of the nodes above too. They are no part of the part; it
//! tells of them, and where parts are put together, in their order, each that nobody has told of before becomes a part
//! of its own ([`Common`]). So what comes of a part depends on the part alone, and every child is explored once. That
//! what a part knows of other parts' children is out of date costs a test whether there is an order for the child, no
//! execution.
//!
//! What parts learn of locations is put together likewise. If one concluded something from the contrary of what another
//! has learned, the search begins again with what is known, as it does if that happens within a part; and it begins
//! again by `optimal` if one of them met what this search does not know.
//!
//! A part is explored by another run, so processes and locations are told by their names.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};

use mazurka_program::{Location, LocationName, ProcessId, Schedule, Step};

use super::locations::{Keys, Knowledge};
use super::past::Identity;
use super::tree::{Child, Frozen, Node, NodeKind, Seen};
use super::{ReadsFromSearch, Unfit, merged};
use crate::sharing::{Cut, Next, Sharing};
use crate::walk::Walk;
use crate::{Algorithm, Options};

/// The children of a node that are left are cut into so many parts at most.
const MOST_PARTS: usize = 8;

/// A process by its path in the creation tree.
type Path = Vec<u32>;

/// A part of a search that is left to do.
#[derive(Clone)]
pub(crate) enum Part {
    /// All of it, given what is known of locations.
    Whole(Arc<Knowledge>),
    /// Some children of a node.
    Below(Branch),
    /// All of it, by `optimal`.
    Merged(Unfit),
}

/// Some children of a node.
#[derive(Clone)]
pub(crate) struct Branch {
    /// The nodes that lead there and perhaps further ones, from the root on, and how many lead there.
    above: Arc<[Arc<Common>]>,
    depth: usize,
    /// The children, the next one first, and how many of these are not left.
    children: Arc<[ToldChild]>,
    behind: usize,
    known: Arc<Knowledge>,
}

/// A node that several parts know.
pub(super) struct Common {
    cut: Vec<(Path, u32)>,
    process: Path,
    kind: ToldKind,
    frozen: Vec<ToldFrozen>,
    /// The events known to lead from it when it came to be known to several parts.
    pub before: Seen,
    /// Those that were found since, by who puts parts together.
    since: Mutex<Seen>,
}

/// As [`NodeKind`].
enum ToldKind {
    Reads,
    Acquires(LocationName, Option<(Path, u32)>),
    Waits(LocationName),
}

/// As [`Frozen`].
struct ToldFrozen {
    process: Path,
    location: LocationName,
}

/// As [`Child`].
struct ToldChild {
    schedule: Schedule,
    event: Option<(Path, u32, Identity)>,
    freezes: Option<ToldFrozen>,
}

impl Common {
    /// Notes that an event leads from here; whether nobody knew.
    fn is_new(&self, event: Identity) -> bool {
        !self.before.contains(event)
            && self.since.lock().unwrap_or_else(PoisonError::into_inner).insert(event)
    }
}

/// Cuts children of a node into parts.
fn branches(
    above: &Arc<[Arc<Common>]>,
    depth: usize,
    children: Vec<ToldChild>,
    known: &Arc<Knowledge>,
) -> Vec<Part> {
    let size = children.len().div_ceil(MOST_PARTS).max(1);
    let mut children = children.into_iter();
    let chunks = std::iter::from_fn(|| {
        let chunk: Arc<[ToldChild]> = children.by_ref().take(size).collect();
        (!chunk.is_empty()).then_some(chunk)
    });
    let branch = |children| {
        let (above, known) = (Arc::clone(above), Arc::clone(known));
        Part::Below(Branch { above, depth, children, behind: 0, known })
    };
    chunks.map(branch).collect()
}

/// What a part was given to do.
#[derive(Default)]
pub(super) struct Given(Option<Branch>);

impl Given {
    /// How many nodes are above the part.
    pub fn depth(&self) -> usize {
        self.0.as_ref().map_or(0, |branch| branch.depth)
    }

    /// Takes the next child: where it is among those of the part.
    pub fn next(&mut self) -> Option<usize> {
        let Branch { children, behind, .. } = self.0.as_mut()?;
        (*behind < children.len()).then(|| {
            *behind += 1;
            *behind - 1
        })
    }

    fn above(&self) -> &[Arc<Common>] {
        self.0.as_ref().map_or(&[], |branch| &branch.above[..branch.depth])
    }

    /// The children that are left, with what is known now.
    fn rest(self, known: Arc<Knowledge>) -> Option<Part> {
        let branch = self.0.filter(|branch| branch.behind < branch.children.len())?;
        Some(Part::Below(Branch { known, ..branch }))
    }
}

/// What a part shows that concerns others.
#[derive(Default)]
pub(crate) struct Found {
    known: Knowledge,
    /// Whether something that it relied on turned out to be wrong.
    is_wrong: bool,
    unfit: Option<Unfit>,
    /// The nodes above the part, and children of theirs: of the last one first.
    above: Option<Arc<[Arc<Common>]>>,
    more: Vec<(usize, Vec<ToldChild>)>,
}

/// What is known where parts are put together.
#[derive(Default)]
pub(crate) struct ReadsFromSharing {
    known: Knowledge,
}

impl Sharing for ReadsFromSharing {
    const ALGORITHM: Algorithm = Algorithm::ReadsFrom;
    const FINDS_MORE: bool = true;
    type Part = Part;
    type Found = Found;

    fn whole(_: &Options) -> Part {
        Part::Whole(Arc::default())
    }

    fn explore(walk: Walk<'_>, part: Part, most: u64) -> Cut<Part, Found> {
        let (known, given) = match part {
            Part::Merged(why) => {
                let summary = merged::search(walk, why);
                return Cut { summary, is_over: false, rest: Vec::new(), found: Found::default() };
            }
            Part::Whole(known) => (known, None),
            Part::Below(branch) => (Arc::clone(&branch.known), Some(branch)),
        };
        let mut search = ReadsFromSearch::new(walk);
        (search.keys, search.given) = (Keys::new(known), Given(given));
        let travels = search.walk.run.portable_names().is_some();
        search.most = if travels { most } else { u64::MAX };
        search.explore_part()
    }

    fn put_in(&mut self, found: Found) -> Next<Part> {
        let Found { known, is_wrong, unfit, above, more } = found;
        if let Some(why) = unfit {
            return Next::Again(Part::Merged(why));
        }
        if self.known.join(&known) | is_wrong {
            return Next::Again(Part::Whole(Arc::new(self.known.facts())));
        }
        let mut parts = Vec::new();
        if let Some(above) = above.filter(|_| !more.is_empty()) {
            let known = Arc::new(self.known.clone());
            for (at, mut children) in more {
                children.retain(|child| child.event.as_ref().is_none_or(|event| above[at].is_new(event.2)));
                parts.extend(branches(&above, at + 1, children, &known));
            }
        }
        Next::With(parts)
    }
}

impl ReadsFromSearch<'_> {
    fn explore_part(mut self) -> Cut<Part, Found> {
        let ended = match self.given.0.is_some() {
            true => self.go_to_next().map_continue(drop),
            false => ControlFlow::Continue(()),
        };
        let ended = if ended.is_continue() { self.run() } else { ended };
        let memory = self.memory();
        let is_stopped = ended.is_break() | self.walk.note_memory(memory).is_break();
        let unfit = self.unfit.filter(|&unfit| unfit != Unfit::Stopped);
        let summary = self.walk.summary();
        let known = self.keys.knowledge();
        let mut found = Found { known, is_wrong: self.is_wrong, unfit, ..Found::default() };
        let is_over = is_stopped && !found.is_wrong && unfit.is_none();
        let mut rest = Vec::new();
        if !is_stopped {
            match self.tell(&mut found) {
                Some(parts) => rest = parts,
                // What has no name can't be told to another run.
                None => found.unfit = Some(Unfit::Planned),
            }
        }
        Cut { summary, is_over, rest, found }
    }

    /// What is left of the part, and what was found for the nodes above it. None if something has no name.
    fn tell(mut self, found: &mut Found) -> Option<Vec<Part>> {
        let outside = self.given.depth();
        while self.stack.len() > outside && self.stack.last().is_some_and(|node| node.children.is_empty()) {
            self.stack.pop();
        }
        for at in (0..outside).rev() {
            let children = self.tell_children(at)?;
            if !children.is_empty() {
                found.more.push((at, children));
            }
        }
        let known = Arc::new(found.known.clone());
        let mut above = self.given.above().to_vec();
        for at in outside..self.stack.len() {
            above.push(Arc::new(self.tell_node(at)?));
        }
        let above: Arc<[Arc<Common>]> = above.into();
        found.above = Some(Arc::clone(&above));
        let mut rest = Vec::new();
        for at in (outside..self.stack.len()).rev() {
            let children = self.tell_children(at)?;
            rest.extend(branches(&above, at + 1, children, &known));
        }
        rest.extend(self.given.rest(known));
        Some(rest)
    }

    /// The children of a node that are left, the next one first.
    fn tell_children(&mut self, at: usize) -> Option<Vec<ToldChild>> {
        let children = std::mem::take(&mut self.stack[at].children);
        children.into_iter().rev().map(|child| self.tell_child(&child)).collect()
    }

    fn tell_child(&mut self, child: &Child) -> Option<ToldChild> {
        let step = |&(process, choice): &(ProcessId, u32)| Step { process: self.path(process), choice };
        let schedule = Schedule { steps: child.schedule().iter().map(step).collect() };
        let event = child.event.map(|(process, index, identity)| (self.path(process), index, identity));
        let freezes = match child.freezes {
            Some(frozen) => Some(self.tell_frozen(frozen)?),
            None => None,
        };
        Some(ToldChild { schedule, event, freezes })
    }

    fn tell_node(&mut self, at: usize) -> Option<Common> {
        let Node { cut, process, kind, frozen, seen, .. } = &mut self.stack[at];
        let (cut, process, kind) = (std::mem::take(cut), *process, *kind);
        let (frozen, before) = (frozen.clone(), std::mem::take(seen));
        let kind = match kind {
            NodeKind::Reads => ToldKind::Reads,
            NodeKind::Acquires(location, source) => {
                let source = source.map(|(process, index)| (self.path(process), index));
                ToldKind::Acquires(self.name(location)?, source)
            }
            NodeKind::Waits(location) => ToldKind::Waits(self.name(location)?),
        };
        let events = cut.iter().enumerate().filter(|(_, events)| **events > 0);
        let cut = events.map(|(process, &events)| (self.path(ProcessId(process as u32)), events)).collect();
        let process = self.path(process);
        let frozen = frozen.iter().map(|&frozen| self.tell_frozen(frozen)).collect::<Option<_>>()?;
        Some(Common { cut, process, kind, frozen, before, since: Mutex::default() })
    }

    fn tell_frozen(&mut self, Frozen { process, location }: Frozen) -> Option<ToldFrozen> {
        Some(ToldFrozen { process: self.path(process), location: self.name(location)? })
    }

    fn path(&self, process: ProcessId) -> Path {
        self.walk.run.names().path(process)
    }

    fn name(&mut self, location: Location) -> Option<LocationName> {
        self.walk.run.portable_names()?.location_name(location)
    }

    /// Goes to a configuration that the part was given.
    pub(super) fn follow_given(&mut self, at: usize) -> ControlFlow<()> {
        let Some(branch) = self.given.0.clone() else { return ControlFlow::Continue(()) };
        let ToldChild { schedule, event, freezes } = &branch.children[at];
        self.follow_told(&schedule.steps)?;
        let is_planned = event.as_ref().is_none_or(|(process, index, identity)| {
            let process = self.walk.run.names().find(process);
            let own = process.map_or(&[][..], |process| self.walk.trace.positions(process));
            own.get(*index as usize - 1).is_some_and(|&at| self.pasts.identity(at as usize) == *identity)
        });
        if !is_planned || self.open_above(&branch).is_none() {
            return self.give_up(Unfit::Planned);
        }
        self.is_new &= freezes.is_none();
        self.cut.clear();
        (0..self.walk.trace.len()).for_each(|at| self.advance(self.walk.trace.process(at)));
        self.frozen.clear();
        self.frozen.extend(self.stack.last().into_iter().flat_map(|node| node.frozen.iter().copied()));
        match freezes.as_ref().map(|freezes| self.hear_frozen(freezes)) {
            Some(None) => return self.give_up(Unfit::Planned),
            Some(Some(frozen)) => self.frozen.push(frozen),
            None => {}
        }
        ControlFlow::Continue(())
    }

    /// Takes the steps of a schedule.
    fn follow_told(&mut self, steps: &[Step]) -> ControlFlow<()> {
        let (names, trace) = (self.walk.run.names(), &self.walk.trace);
        let is_same = |(at, step): &(usize, &Step)| {
            *at < trace.len()
                && trace.choice(*at) == step.choice
                && names.find(&step.process) == Some(trace.process(*at))
        };
        let shared = steps.iter().enumerate().take_while(is_same).count();
        self.back_to(shared);
        for Step { process, choice } in &steps[shared..] {
            let process = self.walk.run.names().find(process);
            let Some(process) = process.filter(|&process| self.walk.enabled().contains(process)) else {
                return self.give_up(Unfit::Planned);
            };
            self.take(process, *choice)?;
        }
        ControlFlow::Continue(())
    }

    /// Has the nodes above the part be on the stack. The run has taken the steps of the last one.
    fn open_above(&mut self, branch: &Branch) -> Option<()> {
        for at in self.stack.len()..branch.depth {
            let node = self.hear_node(&branch.above[at])?;
            self.stack.push(node);
        }
        Some(())
    }

    fn hear_node(&mut self, common: &Arc<Common>) -> Option<Node> {
        let mut cut = Vec::new();
        for (process, events) in &common.cut {
            let at = self.walk.run.names().find(process)?.index();
            cut.resize(cut.len().max(at + 1), 0);
            cut[at] = *events;
        }
        let kind = match &common.kind {
            ToldKind::Reads => NodeKind::Reads,
            ToldKind::Waits(location) => NodeKind::Waits(self.location(location)?),
            ToldKind::Acquires(location, source) => {
                let source = match source {
                    Some((process, index)) => Some((self.walk.run.names().find(process)?, *index)),
                    None => None,
                };
                NodeKind::Acquires(self.location(location)?, source)
            }
        };
        let process = self.walk.run.names().find(&common.process)?;
        let frozen = common.frozen.iter().map(|frozen| self.hear_frozen(frozen)).collect::<Option<_>>()?;
        let (seen, children, common) = (Seen::default(), Vec::new(), Some(Arc::clone(common)));
        Some(Node { cut, process, kind, frozen, seen, children, known: 1, is_examined: false, common })
    }

    fn hear_frozen(&mut self, told: &ToldFrozen) -> Option<Frozen> {
        let process = self.walk.run.names().find(&told.process)?;
        Some(Frozen { process, location: self.location(&told.location)? })
    }

    fn location(&mut self, name: &LocationName) -> Option<Location> {
        self.walk.run.portable_names()?.location_named(name)
    }
}
