//! What searches have in common beyond the walk: a stack of wakeup trees, and the outcomes of a step one after the other.

use std::ops::ControlFlow;

use mazurka_program::ProcessId;

use crate::wakeup::{Children, NONE, Step, Taken, WakeupTrees};
use crate::walk::Walk;
use crate::{Ending, NotExhaustive};

/// The nodes of the stack of a search that wakeup trees lead: of each what is left of `wut(E)`. The branch that is being
/// explored has been taken out of it.
#[derive(Default)]
pub(crate) struct WakeupStack {
    pub trees: WakeupTrees,
    nodes: Vec<Node>,
}

struct Node {
    wut: Children,
    /// How many branches have been explored.
    done: usize,
}

impl WakeupStack {
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    pub fn push(&mut self, wut: Children) {
        self.nodes.push(Node { wut, done: 0 });
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
    pub fn take_first(&mut self) -> Option<Taken> {
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

    /// Lines 17-18: plans the outcomes of a process's step from the last node on, but for those that are known.
    pub fn plan_outcomes(&mut self, walk: &Walk<'_>, process: ProcessId, known: impl Fn(u32) -> bool) {
        let alternatives = walk.run.alternatives(process);
        let mut wut = NONE;
        for k in (0..alternatives).rev() {
            let choice = walk.choice_at(k, alternatives);
            if !known(choice) {
                wut = self.trees.leaf(Step { process, choice, alternatives, accesses: &[], at: 0 }, wut);
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
        self.trees.memory() + self.nodes.capacity() * size_of::<Node>()
    }
}

impl Walk<'_> {
    /// The search has come to a node from which there is nothing new, which an optimal search never does: an error of ours.
    /// But beyond the limit of depth nothing is known, so what was planned may lead nowhere.
    pub fn nothing_new(&mut self, error: &'static str) -> ControlFlow<()> {
        if self.counts.cut == 0 && self.is_sound() {
            return self.stop(NotExhaustive::Internal(error));
        }
        self.end(Ending::Blocked)
    }
}

/// The process that is being explored from a node, and the outcomes of its step: how many, and how many have been begun.
#[derive(Default)]
pub(crate) struct Outcomes {
    process: Option<ProcessId>,
    alternatives: u32,
    tried: u32,
    /// How many processes have been begun.
    pub begun: usize,
}

impl Outcomes {
    /// The next outcome that does not sleep of the present process's step, else of that of the `next` process.
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
