//! What searches have in common beyond the walk: how they begin and end, a stack of wakeup trees, a stack of
//! nodes at which sequences sleep, and the outcomes of a step one after the other. An algorithm adds what its
//! paper adds.

use std::ops::ControlFlow;

use mazurka_program::ProcessId;

use crate::source_context::sequence::Sleeping;
use crate::wakeup::{Branch, Children, NONE, Planned, WakeupTrees};
use crate::walk::Walk;
use crate::{Ending, NotExhaustive, Summary};

/// A search by an algorithm.
pub(crate) trait Search<'a>: Sized {
    fn walk(&mut self) -> &mut Walk<'a>;

    /// Explores everything. Breaks if the search ends early; the walk knows why.
    fn run(&mut self) -> ControlFlow<()>;

    /// Bytes held besides the trace and the run. What is counted of them apart is noted.
    fn memory(&mut self) -> usize;

    #[cold]
    fn note_memory(&mut self) -> ControlFlow<()> {
        let bytes = self.memory();
        self.walk().note_memory(bytes)
    }

    /// Searches, and tells what came of it.
    fn summary(mut self) -> Summary {
        // The answer is in the summary: a search that ends early has noted why.
        let _ = self.run();
        let _ = self.note_memory();
        self.walk().summary()
    }
}

/// A search that wakeup trees lead, with the lines of Algorithm 1 of TACAS 2018.
pub(crate) trait WakeupSearch<'a>: Search<'a> {
    fn stack(&mut self) -> &mut WakeupStack;

    /// An execution has come to its end, and is to be told of.
    fn at_the_end(&mut self) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// Lines 4-12: plans the reversal of each race of a maximal execution.
    fn handle_races(&mut self) -> ControlFlow<()>;

    /// Lines 17-18: no sequence leads, so any process will do, with every outcome of its step that is not
    /// known.
    fn plan_freely(&mut self) -> ControlFlow<()>;

    /// Explores the node of the present state with the wakeup tree that leads on from it, if any.
    #[inline]
    fn visit(&mut self, wut: Children) -> ControlFlow<()> {
        self.stack().push(wut);
        if let Some(ending) = self.walk().ending_here() {
            self.at_the_end()?;
            self.walk().end(ending)?;
            return self.handle_races();
        }
        if wut == NONE { self.plan_freely() } else { ControlFlow::Continue(()) }
    }
}

/// A node of the stack of a search with sleep sets of sequences: `backtrack(E)`, `sleep(E)`, and what is
/// being explored from it.
#[derive(Default)]
pub(crate) struct ContextNode<B> {
    pub backtrack: B,
    pub sleep: Sleeping,
    pub outcomes: Outcomes,
}

/// A search with sleep sets of sequences, with the lines of Algorithm 1 of CAV 2017.
pub(crate) trait ContextSearch<'a>: Search<'a> {
    /// A set of processes, in the order in which it is explored.
    type Backtrack: Default;

    fn parts(&mut self) -> (&mut Walk<'a>, &mut Vec<ContextNode<Self::Backtrack>>);

    /// How many processes are in a backtrack set.
    fn size(backtrack: &Self::Backtrack) -> usize;

    /// Lines 2-4: the node of the present state has been entered; ends the execution, or chooses a first
    /// process.
    fn enter(&mut self, level: usize) -> ControlFlow<()>;

    /// Line 5: the next process of the last node's backtrack set that does not sleep, or the next outcome of
    /// the present one.
    fn next(&mut self) -> Option<(ProcessId, u32)>;

    /// Lines 6-14: a step has been taken from a node.
    fn taken(&mut self, level: usize) -> ControlFlow<()>;

    /// Lines 7-10: makes sure that some initial of `v = notdep(e, E).q` is in the backtrack set before `e`.
    fn reverse(&mut self, e: usize, q: ProcessId, second: Option<usize>);

    /// Makes everything as it was at a node.
    fn back_to(&mut self, level: usize) {
        self.walk().back_to(level);
    }

    /// The processes that wait here race with what made them wait.
    fn race_waiting(&mut self) {
        for (e, process) in self.walk().waiting_races() {
            self.reverse(e, process, None);
        }
    }

    fn explore(&mut self) -> ControlFlow<()> {
        self.visit(Sleeping::default())?;
        while let Some(level) = self.parts().1.len().checked_sub(1) {
            self.back_to(level);
            if let Some((process, choice)) = self.next() {
                self.take(process, choice)?;
                continue;
            }
            let (walk, nodes) = self.parts();
            nodes.pop();
            if let Some(node) = nodes.last_mut() {
                node.sleep.add_last(&walk.trace);
            }
        }
        ControlFlow::Continue(())
    }

    #[inline]
    fn visit(&mut self, sleep: Sleeping) -> ControlFlow<()> {
        let (_, nodes) = self.parts();
        let level = nodes.len();
        nodes.push(ContextNode { sleep, ..ContextNode::default() });
        self.enter(level)
    }

    /// Lines 15-17: takes a step and explores what is behind it.
    fn take(&mut self, process: ProcessId, choice: u32) -> ControlFlow<()> {
        let (walk, nodes) = self.parts();
        let level = nodes.len() - 1;
        walk.step(process, choice)?;
        self.taken(level)?;
        let (walk, nodes) = self.parts();
        let sleep = nodes[level].sleep.behind(process, choice, walk.trace.accesses(level));
        if walk.progress_due {
            let branches = nodes.iter().map(|node| (node.outcomes.begun - 1, Self::size(&node.backtrack)));
            walk.report_progress(branches)?;
            self.note_memory()?;
        }
        self.visit(sleep)
    }

    /// Bytes held by the nodes.
    fn nodes_memory(&mut self) -> usize {
        let (_, nodes) = self.parts();
        nodes.capacity() * size_of::<ContextNode<Self::Backtrack>>()
            + nodes.iter().map(|node| node.sleep.memory()).sum::<usize>()
    }
}

/// The nodes of the stack of a search that wakeup trees lead: of each what is left of `wut(E)`. The branch
/// that is being explored has been taken out of it.
#[derive(Default)]
pub(crate) struct WakeupStack {
    pub trees: WakeupTrees,
    nodes: Vec<WakeupNode>,
}

struct WakeupNode {
    wut: Children,
    /// How many branches have been explored.
    done: usize,
}

impl WakeupStack {
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    pub fn push(&mut self, wut: Children) {
        self.nodes.push(WakeupNode { wut, done: 0 });
    }

    pub fn pop(&mut self) {
        self.nodes.pop();
    }

    /// Begins from nothing; how many nodes there were at most is forgotten too.
    pub fn clear(&mut self) {
        *self = WakeupStack::default();
    }

    /// Takes the smallest branch of the last node out of its tree, with its subtree (lines 19-22).
    #[inline]
    pub fn take_first(&mut self) -> Option<Branch> {
        let node = self.nodes.last_mut().filter(|node| node.wut != NONE)?;
        let taken = self.trees.take_first(node.wut);
        node.wut = taken.rest;
        Some(taken)
    }

    /// A branch of a node has been explored.
    #[inline]
    pub fn explored(&mut self, level: usize) {
        self.nodes[level].done += 1;
    }

    /// The tree of a node, to insert into, with the trees that it is one of.
    pub fn tree(&mut self, level: usize) -> (&mut Children, &mut WakeupTrees) {
        (&mut self.nodes[level].wut, &mut self.trees)
    }

    /// Lines 17-18: plans the outcomes of a process's step from the last node on, but for those that are
    /// known.
    pub fn plan_outcomes(&mut self, walk: &Walk<'_>, process: ProcessId, known: impl Fn(u32) -> bool) {
        let alternatives = walk.run.alternatives(process);
        let mut wut = NONE;
        for k in (0..alternatives).rev() {
            let choice = walk.choice_at(k, alternatives);
            if !known(choice) {
                wut = self.trees.leaf(Planned { process, choice, alternatives, accesses: &[], at: 0 }, wut);
            }
        }
        if let Some(node) = self.nodes.last_mut() {
            node.wut = wut;
        }
    }

    /// The other outcomes of the step that was taken last are given its label.
    #[inline]
    pub fn label_outcomes(&mut self, walk: &Walk<'_>) {
        let last = walk.trace.len() - 1;
        if walk.trace.alternatives(last) > 1 {
            let (process, accesses) = (walk.trace.process(last), walk.trace.accesses(last));
            self.trees.label_outcomes(self.nodes[last].wut, process, accesses);
        }
    }

    /// Tells the monitor how far the search has come.
    pub fn report_progress(&self, walk: &mut Walk<'_>) -> ControlFlow<()> {
        walk.report_progress(
            self.nodes.iter().map(|node| (node.done, node.done + 1 + self.trees.count(node.wut))),
        )
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        self.trees.memory() + self.nodes.capacity() * size_of::<WakeupNode>()
    }
}

impl Walk<'_> {
    /// The search has come to a node from which there is nothing new, which an optimal search never does: an
    /// error of ours. But beyond the limit of depth nothing is known, so what was planned may lead nowhere.
    pub fn nothing_new(&mut self, error: &'static str) -> ControlFlow<()> {
        if self.counts.cut == 0 && self.is_sound() {
            return self.stop(NotExhaustive::Internal(error));
        }
        self.end(Ending::Blocked)
    }
}

/// The process that is being explored from a node, and the outcomes of its step: how many, and how many have
/// been begun.
#[derive(Default)]
pub(crate) struct Outcomes {
    process: Option<ProcessId>,
    alternatives: u32,
    tried: u32,
    /// How many processes have been begun.
    pub begun: usize,
}

impl Outcomes {
    /// The next outcome that does not sleep of the present process's step, else of that of the `next`
    /// process.
    pub fn advance(
        &mut self,
        walk: &Walk<'_>,
        mut next: impl FnMut() -> Option<ProcessId>,
        sleeps: impl Fn(ProcessId, u32) -> bool,
    ) -> Option<(ProcessId, u32)> {
        loop {
            let Some(process) = self.process else {
                let process = next()?;
                self.alternatives = walk.run.alternatives(process);
                (self.process, self.tried) = (Some(process), 0);
                self.begun += 1;
                continue;
            };
            if self.tried == self.alternatives {
                self.process = None;
                continue;
            }
            let choice = walk.choice_at(self.tried, self.alternatives);
            self.tried += 1;
            if !sleeps(process, choice) {
                return Some((process, choice));
            }
        }
    }
}
