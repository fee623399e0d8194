//! `reads-from`: each class of executions in which every read reads from the same write, exactly once.
//!
//! A *configuration* is a set of events, each with the events that it reads from, which contains with an event
//! all that comes before it (in program order, by creation, by reading from) and has an order in which every
//! read sees its source last. A class of complete executions is a configuration that nothing can be added to.
//!
//! The search is a tree of configurations whose branches have no class in common. A node has a configuration
//! `C` and a process `p` that can take a step there. Every class `M` above `C` has a next event `e` of `p`, and
//! so is above exactly one `C + [e]`, `e` with its past. These are the children. From one node to the next leads
//! the step that `p` takes where the execution stands; all other children are *found* at the ends of executions:
//! * whatever writes what `e` read, and does not come after `e`, may be read instead;
//! * some step `z` of another process, which came after `e` because of what it read, or waits, may have come
//!   before it and read from others; and then `e` may read what that wrote.
//!
//! Each is taken down once, if it is a configuration ([`consistency`]); then the execution that leads there is
//! run to its end, which finds further children, here and above. docs/soundness.md has the proof that all are
//! found. So there is one execution for each class and no other, with two exceptions:
//! * a process that waits for a location may wait for ever in a class though it could have gone on before,
//!   where some writes let it go and others hold it back. Its turn comes when nobody else can go on, or when nobody
//!   writes that location any more and it can't be held back by what was written. Otherwise its node has one more
//!   child, in which it takes no further step. If it turns out that there is no order of its events after which the
//!   process waits, that execution was in vain, and counts as blocked;
//! * where a program sends messages, goes round and round, or has steps with very many reads, `optimal` does
//!   the work, and executions of a class that was seen before count as blocked ([`merged`]).
//!
//! A process that waits to update a location that nobody writes without reading it (a lock, a semaphore) needs
//! no such child: let `s` be the last to update it in `C`, and `p` enabled. In every class somebody does so next,
//! or `p` could go on at the end; who that is tells the children apart.

mod consistency;
mod examine;
mod locations;
mod merged;
mod parts;
mod past;
mod tree;
mod versions;

use std::ops::ControlFlow;
use std::rc::Rc;

use mazurka_program::{AccessKind, Location, ProcessId};

use crate::walk::Walk;
use crate::{Ending, Summary};
use consistency::Arrangement;
use locations::{Keys, Known, overwritten_by};
use parts::Given;
use past::{Identity, Pasts};
use tree::{Child, Frozen, Node, NodeKind, Seen, Steps, Way};
use versions::Memo;

pub(crate) use merged::Classes;
pub(crate) use parts::ReadsFromSharing;

crate::rules::switches! {
    /// The switches of the search's parts.
    Repairs {
        /// Steps that came after the read are tried before it, reading from others.
        swap,
        /// At a lock, every other step that could take it next is tried.
        acquire,
        /// Processes that could go on are tried with waiting for ever.
        freeze,
        /// Writes that hold somebody back are noticed; taken out, whoever could go on once can do so for ever.
        hold_back,
        /// Writes that come later than any that was known are noticed, where somebody relied on there being none.
        later_writes,
        /// Writes of locations that were taken to be only updated are noticed.
        overwrite,
        /// So are they in steps that are taken aside; taken out, in executions only, which may all have somebody
        /// acquire the location before it is written.
        overwrite_aside,
        /// A step that varies is taken in its place to learn what it touches there; taken out, it touches what
        /// it touched.
        find_out,
    }
}

/// Why a program is given to `optimal`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unfit {
    /// It sends messages.
    Sends,
    /// Processes go round and round.
    Rounds,
    /// It looks at a clock: what that shows depends on more than what is read.
    Clock,
    /// Somebody waits for what is not told to be read.
    Guards,
    /// Some step reads too many locations.
    TooManyReads,
    /// What a step reads first depends on what it reads later.
    Labels,
    /// A step could not be taken as it was planned: what it waits for depends on more than what is read.
    Planned,
    /// Whether steps can be ordered was too hard to find out.
    TooHard,
    /// The run can't go on: the search is over.
    Stopped,
}

/// How many events of a process are in a cut.
#[inline]
fn count(cut: &[u32], process: ProcessId) -> u32 {
    cut.get(process.index()).copied().unwrap_or(0)
}

pub(crate) fn search(walk: Walk<'_>) -> Summary {
    let mut search = ReadsFromSearch::new(walk);
    // The answer is in the summary: a search that ends early has noted why.
    let _ = search.run();
    while std::mem::take(&mut search.is_wrong) {
        search.reset();
        let _ = search.run();
    }
    if let Some(unfit) = search.unfit.filter(|&unfit| unfit != Unfit::Stopped) {
        return merged::search(search.walk, unfit);
    }
    let memory = search.memory();
    let _ = search.walk.note_memory(memory);
    search.walk.summary()
}

/// A process that could go on, but might also wait, and so is to be tried last.
#[derive(Clone, Copy)]
struct Postponed {
    process: ProcessId,
    /// What it waits for.
    location: Location,
    /// Whether it was found that it may wait where the search is.
    is_examined: bool,
}

/// Whose turn it is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Turn {
    /// Somebody who has not been tried.
    First,
    /// Somebody who might have waited, but perhaps can't any more.
    Postponed,
    /// Whoever is left: it may go on or wait.
    Last,
}

struct ReadsFromSearch<'a> {
    walk: Walk<'a>,
    pasts: Pasts,
    /// For each event, whether it touches one location at most, whatever it reads.
    plain: Vec<bool>,
    /// The positions of those that do not.
    odd: Vec<u32>,
    stack: Vec<Node>,
    /// The configuration that the search is at.
    cut: Vec<u32>,
    frozen: Vec<Frozen>,
    postponed: Vec<Postponed>,
    /// What is known of locations.
    keys: Keys,
    /// Up to where the trace is that of the execution examined last.
    shared: usize,
    /// Whether a step was taken since an execution was told of.
    is_new: bool,
    unfit: Option<Unfit>,
    /// Whether something that was relied on turned out to be wrong.
    is_wrong: bool,
    memo: Memo,
    /// How often the clock was looked at while children were looked for.
    looked: u64,
    /// The execution that is examined, if children need it.
    kept: Option<Rc<Steps>>,
    /// How many versions of steps were tried at the end of this execution.
    tried: usize,
    /// How far the run knows the trace, while steps are tried aside of it.
    probed: usize,
    steps: Arrangement,
    items: Vec<u32>,
    /// What the search was given to do, if it is a part of one.
    given: Given,
    /// The search goes on until there were so many executions.
    most: u64,
}

impl<'a> ReadsFromSearch<'a> {
    fn new(walk: Walk<'a>) -> ReadsFromSearch<'a> {
        ReadsFromSearch {
            walk,
            pasts: Pasts::default(),
            plain: Vec::new(),
            odd: Vec::new(),
            stack: Vec::new(),
            cut: Vec::new(),
            frozen: Vec::new(),
            postponed: Vec::new(),
            keys: Keys::default(),
            shared: 0,
            is_new: false,
            unfit: None,
            is_wrong: false,
            memo: Memo::default(),
            looked: 0,
            kept: None,
            tried: 0,
            probed: usize::MAX,
            steps: Arrangement::default(),
            items: Vec::new(),
            given: Given::default(),
            most: u64::MAX,
        }
    }

    /// Goes on from the present configuration until there were so many executions, or nothing is left.
    fn run(&mut self) -> ControlFlow<()> {
        loop {
            self.go_on()?;
            if self.walk.run.keeps_time() {
                return self.give_up(Unfit::Clock);
            }
            self.end()?;
            if let Err(unfit) = self.examine() {
                return self.give_up(unfit);
            }
            if self.is_wrong {
                return ControlFlow::Break(());
            }
            if self.walk.progress_due {
                self.report()?;
            }
            if self.walk.counts.executions() >= self.most || !self.go_to_next()? {
                return ControlFlow::Continue(());
            }
        }
    }

    /// Goes to the next configuration, if there is one.
    fn go_to_next(&mut self) -> ControlFlow<(), bool> {
        if let Some(child) = self.next_child() {
            self.follow(child)?;
        } else if let Some(child) = self.given.next() {
            self.follow_given(child)?;
        } else {
            return ControlFlow::Continue(false);
        }
        ControlFlow::Continue(true)
    }

    fn give_up(&mut self, unfit: Unfit) -> ControlFlow<()> {
        self.unfit = Some(unfit);
        ControlFlow::Break(())
    }

    fn report(&mut self) -> ControlFlow<()> {
        let behind = |node: &Node| (node.known - node.children.len().min(node.known - 1) - 1, node.known);
        let branches: Vec<(usize, usize)> = self.stack.iter().map(behind).collect();
        self.walk.report_progress(branches.into_iter())?;
        // What is noted is never by the clock, for the report says how much it was.
        let memory = self.memory();
        self.walk.look_at_memory(memory)
    }

    /// Bytes held.
    fn memory(&self) -> usize {
        let of_way = |way: &Way| match way {
            Way::Told(schedule) => 8 * schedule.capacity(),
            // All who share it share what it takes.
            Way::Within(execution, _) => 8 * execution.len() / Rc::strong_count(execution),
        };
        let of_child = |child: &Child| size_of::<Child>() + of_way(&child.way) + 4 * child.cut.capacity();
        let of_node = |node: &Node| {
            size_of::<Node>() + node.seen.memory() + node.children.iter().map(of_child).sum::<usize>()
        };
        self.pasts.memory()
            + self.memo.memory()
            + self.keys.memory()
            + self.stack.iter().map(of_node).sum::<usize>()
    }

    /// Takes the next child of the last node that has one, within this part of the search.
    fn next_child(&mut self) -> Option<Child> {
        while self.stack.len() > self.given.depth()
            && let Some(node) = self.stack.last_mut()
        {
            match node.children.pop() {
                Some(child) => return Some(child),
                None => self.stack.pop(),
            };
        }
        None
    }

    /// Goes to a configuration.
    fn follow(&mut self, child: Child) -> ControlFlow<()> {
        let schedule = child.schedule();
        let Child { cut, event, freezes, .. } = child;
        let node = self.stack.last().map(|node| node.frozen.clone()).unwrap_or_default();
        self.frozen.clear();
        self.frozen.extend(node.iter().copied().chain(freezes));
        self.back_to(self.common_prefix(&schedule));
        for &(process, choice) in &schedule[self.walk.trace.len()..] {
            if !self.walk.enabled().contains(process) {
                return self.give_up(Unfit::Planned);
            }
            self.take(process, choice)?;
            let last = self.walk.trace.len() - 1;
            let is_planned = |event: &(ProcessId, u32, Identity)| {
                (event.0, event.1) != (process, self.walk.trace.index(last))
                    || self.pasts.identity(last) == event.2
            };
            if !event.as_ref().is_none_or(is_planned) {
                return self.give_up(Unfit::Planned);
            }
        }
        // To come to where somebody is to wait is no execution yet.
        self.is_new &= freezes.is_none();
        self.cut = cut;
        ControlFlow::Continue(())
    }

    fn back_to(&mut self, depth: usize) {
        if depth < self.walk.trace.len() {
            self.pasts.truncate(&self.walk.trace, depth);
            self.plain.truncate(depth);
            self.shared = self.shared.min(depth);
        }
        self.walk.back_to(depth);
        self.probed = usize::MAX;
    }

    /// Has the run be where the trace is, after steps were tried aside of it.
    fn return_to_trace(&mut self) {
        if self.probed != usize::MAX {
            self.back_to(self.walk.trace.len());
        }
    }

    /// Takes a step.
    fn take(&mut self, process: ProcessId, choice: u32) -> ControlFlow<()> {
        self.walk.step(process, choice)?;
        let at = self.walk.trace.len() - 1;
        let (run, label) = self.walk.run_and_label();
        self.keys.meet_step(run, label);
        let index = self.walk.trace.index(at);
        let is_later = self.keys.note_writes(process, index, self.walk.label());
        self.pasts.enter(&self.walk.trace, self.walk.run.names().len(), &self.keys);
        let is_plain =
            self.reads_what_it_must(at) || self.is_the_same_everywhere(at) && self.touches_one(at).is_some();
        self.plain.push(is_plain);
        self.is_new = true;
        if is_later && self.walk.options.rules.reads_from.later_writes {
            return self.begin_again();
        }
        if !self.walk.stops.is_empty() {
            return self.give_up(Unfit::Rounds);
        }
        self.look_at_label()
    }

    /// Learns of locations from the label of the last step.
    fn look_at_label(&mut self) -> ControlFlow<()> {
        if self.walk.label().accesses.iter().any(|access| access.kind == AccessKind::Send) {
            return self.give_up(Unfit::Sends);
        }
        let ReadsFromSearch { walk, keys, .. } = self;
        let overwritten = overwritten_by(walk.label());
        let is_wrong = walk.options.rules.reads_from.overwrite && keys.note_overwritten(&overwritten);
        if is_wrong { self.begin_again() } else { ControlFlow::Continue(()) }
    }

    /// Begins the search again: a location is not what it was taken for.
    fn begin_again(&mut self) -> ControlFlow<()> {
        self.is_wrong = true;
        ControlFlow::Break(())
    }

    /// Forgets all but what is known of locations, and of what steps do.
    fn reset(&mut self) {
        self.back_to(0);
        self.walk.begin_again();
        self.keys.forget_conclusions();
        self.stack.clear();
        self.cut.clear();
        self.frozen.clear();
        self.is_new = false;
    }

    fn known(&mut self, location: Location) -> &mut Known {
        self.keys.meet(&mut *self.walk.run, location);
        self.keys.known(location)
    }

    /// Some write of a location keeps a process waiting for it.
    fn note_hold_back(&mut self, location: Location) {
        if !self.walk.options.rules.reads_from.hold_back {
            return;
        }
        let known = self.known(location);
        let is_wrong = !std::mem::replace(&mut known.holds_back, true) && known.is_taken_to_let_go;
        self.is_wrong |= is_wrong;
    }

    /// Runs the execution to its end, and opens a node wherever a step could do something else.
    fn go_on(&mut self) -> ControlFlow<()> {
        self.postponed.clear();
        while !self.walk.too_deep() {
            self.return_to_trace();
            if let Some((process, turn)) = self.next_enabled() {
                self.step_freely(process, turn)?;
            } else {
                let waiting = match self.next_waiting() {
                    Ok(Some(waiting)) => waiting,
                    Ok(None) if self.is_wrong => return ControlFlow::Break(()),
                    Ok(None) => break,
                    Err(unfit) => return self.give_up(unfit),
                };
                if self.is_wrong {
                    return ControlFlow::Break(());
                }
                self.open(waiting.process, NodeKind::Waits(waiting.location), None);
                self.frozen.push(waiting);
            }
        }
        ControlFlow::Continue(())
    }

    /// Whose turn it is, if somebody can go on.
    fn next_enabled(&mut self) -> Option<(ProcessId, Turn)> {
        let ReadsFromSearch { walk, frozen, postponed, keys, cut, .. } = self;
        let is_frozen = |p: ProcessId| frozen.iter().any(|frozen| frozen.process == p);
        let is_postponed = |p: ProcessId| postponed.iter().any(|one| one.process == p);
        if let Some(process) = walk.pick(|p| !is_frozen(p) && !is_postponed(p)) {
            return Some((process, Turn::First));
        }
        let may_be_told = |one: &Postponed| {
            !one.is_examined && keys.writes_are_over(one.location, cut, |q| q == one.process || is_frozen(q))
        };
        postponed.retain(|one| !is_frozen(one.process));
        if postponed.iter().any(may_be_told)
            && let Some(process) =
                walk.pick(|p| postponed.iter().any(|one| one.process == p && may_be_told(one)))
        {
            return Some((process, Turn::Postponed));
        }
        walk.pick(|p| !is_frozen(p)).map(|process| (process, Turn::Last))
    }

    /// Takes the step of a process as it comes; if it may wait, only if nobody else can go on.
    fn step_freely(&mut self, process: ProcessId, turn: Turn) -> ControlFlow<()> {
        let (depth, alternatives) = (self.walk.trace.len(), self.walk.run.alternatives(process));
        self.take(process, 0)?;
        let mut kind = self.kind_of_step(depth)?;
        if let Some(NodeKind::Waits(location)) = kind
            && turn != Turn::Last
        {
            let is_examined = turn == Turn::Postponed;
            if is_examined && self.must_go_on(process, location)? {
                kind = Some(NodeKind::Reads);
            } else {
                self.back_to(depth);
                self.walk.counts.events -= 1;
                self.postponed.retain(|one| one.process != process);
                self.postponed.push(Postponed { process, location, is_examined });
                return ControlFlow::Continue(());
            }
        }
        self.postponed.retain(|one| one.process != process);
        // Where there are more events they may have other orders.
        self.postponed.iter_mut().for_each(|one| one.is_examined = false);
        if kind.is_some() || alternatives > 1 {
            let cut = self.cut.clone();
            self.open(process, kind.unwrap_or(NodeKind::Reads), Some(self.pasts.identity(depth)));
            if let Some(NodeKind::Waits(location)) = kind
                && self.walk.options.rules.reads_from.freeze
            {
                let trace = &self.walk.trace;
                let schedule: Vec<_> = (0..depth).map(|k| (trace.process(k), trace.choice(k))).collect();
                let freezes = Some(Frozen { process, location });
                let Some(node) = self.stack.last_mut() else { return ControlFlow::Break(()) };
                node.add(Child { way: Way::Told(schedule), cut, event: None, choice: 0, freezes });
            }
        }
        self.advance(process);
        ControlFlow::Continue(())
    }

    /// Whether a process that has just gone on does so in all classes above the configuration before: nobody writes what
    /// it waits for any more, as far as is known, and what is written lets it go in any order.
    fn must_go_on(&mut self, process: ProcessId, location: Location) -> ControlFlow<(), bool> {
        let can_be_held_back = match self.can_be_held_back(Frozen { process, location }) {
            Ok(can_be_held_back) => can_be_held_back,
            Err(unfit) => {
                self.give_up(unfit)?;
                return ControlFlow::Break(());
            }
        };
        if self.is_wrong {
            return ControlFlow::Break(());
        }
        self.return_to_trace();
        if !can_be_held_back {
            self.keys.take_for_told(location);
        }
        ControlFlow::Continue(!can_be_held_back)
    }

    /// The configuration has one more event of a process.
    fn advance(&mut self, process: ProcessId) {
        if process.index() >= self.cut.len() {
            self.cut.resize(process.index() + 1, 0);
        }
        self.cut[process.index()] += 1;
    }

    /// Which node the step at a position leads from; none if it can do nothing else.
    fn kind_of_step(&mut self, position: usize) -> ControlFlow<(), Option<NodeKind>> {
        if self.reads_what_it_must(position) {
            return ControlFlow::Continue(None);
        }
        let reads = self.pasts.reads(position);
        let Some(guard) = self.walk.trace.guard(position) else {
            return ControlFlow::Continue(Some(NodeKind::Reads));
        };
        let location = guard.location;
        let Some(read) = reads.iter().find(|read| read.location == location).copied() else {
            self.give_up(Unfit::Guards)?;
            return ControlFlow::Break(());
        };
        let only_updates = matches!(self.walk.trace.accesses(position), [access]
            if access.len == 1 && access.kind == AccessKind::Update && !self.walk.trace.varies(position));
        let known = self.known(location);
        if !only_updates || known.is_overwritten {
            if known.holds_back {
                return ControlFlow::Continue(Some(NodeKind::Waits(location)));
            }
            known.is_taken_to_let_go = true;
            return ControlFlow::Continue(Some(NodeKind::Reads));
        }
        known.is_taken_for_updated = true;
        let trace = &self.walk.trace;
        let source = read.source.map(|at| (trace.process(at as usize), trace.index(at as usize)));
        ControlFlow::Continue(Some(NodeKind::Acquires(location, source)))
    }

    /// Opens a node at the present configuration.
    fn open(&mut self, process: ProcessId, kind: NodeKind, event: Option<Identity>) {
        let mut seen = Seen::default();
        event.into_iter().for_each(|event| {
            seen.insert(event);
        });
        let (cut, frozen) = (self.cut.clone(), self.frozen.iter().copied().collect());
        let children = Vec::new();
        let (is_examined, common) = (false, None);
        self.stack.push(Node { cut, process, kind, frozen, seen, children, known: 1, is_examined, common });
    }

    /// A process that waits, though it could have gone on after some of the events there are.
    fn next_waiting(&mut self) -> Result<Option<Frozen>, Unfit> {
        let mut waiting = self.waiting();
        waiting.retain(|one| self.frozen.iter().all(|frozen| frozen.process != one.process));
        for one in waiting {
            let Some(only_updates) = self.what_lets_go(one)? else { continue };
            let known = self.known(one.location);
            if only_updates && !known.is_overwritten {
                // It reads what was written last or nothing.
                known.is_taken_for_updated = true;
                continue;
            }
            self.note_hold_back(one.location);
            if self.walk.options.rules.reads_from.freeze {
                return Ok(Some(one));
            }
        }
        Ok(None)
    }

    /// Tells of the execution that has come to its end.
    fn end(&mut self) -> ControlFlow<()> {
        if self.walk.too_deep() && !self.walk.enabled().is_empty() {
            return self.walk.end(Ending::Cut);
        }
        self.return_to_trace();
        let is_class = match self.wait_for_ever() {
            Ok(is_class) => is_class,
            Err(unfit) => return self.give_up(unfit),
        };
        let is_class = is_class?;
        if self.is_wrong {
            return ControlFlow::Break(());
        }
        self.return_to_trace();
        match is_class {
            true if self.walk.options.observe_memory => self.end_in_all_memories()?,
            true => self.walk.end(self.walk.maximal_ending())?,
            false if self.is_new => self.walk.end(Ending::Blocked)?,
            false => {}
        }
        self.is_new = false;
        ControlFlow::Continue(())
    }
}
