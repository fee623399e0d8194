//! `naive`: every interleaving and every outcome, by depth-first search. What the others are compared with.
//!
//! A part of a search is a list of schedules: the executions that begin with one of them.

use std::ops::ControlFlow;

use mazurka_program::{ProcessId, Schedule, Step};

use crate::sharing::{Cut, Next, Sharing};
use crate::walk::Walk;
use crate::{Algorithm, Ending, Item, NotExhaustive, Options, Summary};

/// After so many executions it is noted how much memory is kept: never by the clock, for the report says how much it
/// was, and has to say the same always.
const BETWEEN_NOTES: u64 = 64;

/// The steps of a node that are still to be tried, the next one last, and how many there were.
struct Node {
    steps: Vec<(ProcessId, u32)>,
    known: usize,
}

struct NaiveSearch<'a> {
    walk: Walk<'a>,
    /// The schedules that the search was given, the next one last.
    given: Vec<Schedule>,
    /// How many steps the present one of them has.
    root: usize,
    /// The nodes from there on.
    stack: Vec<Node>,
    /// The search goes on until there were so many executions.
    most: u64,
}

pub(crate) fn search(walk: Walk<'_>) -> Summary {
    search_item(walk, Item::whole(), u64::MAX).summary
}

#[derive(Default)]
pub(crate) struct NaiveSharing;

impl Sharing for NaiveSharing {
    const ALGORITHM: Algorithm = Algorithm::Naive;
    type Part = Item;
    type Found = ();

    fn whole(_: &Options) -> Item {
        Item::whole()
    }

    fn explore(walk: Walk<'_>, part: Item, most: u64) -> Cut<Item, ()> {
        search_item(walk, part, most)
    }

    fn put_in(&mut self, (): ()) -> Next<Item> {
        Next::With(Vec::new())
    }
}

/// Runs the executions that begin with the schedules of an item, the last one first, until there were so many.
fn search_item(walk: Walk<'_>, item: Item, most: u64) -> Cut<Item, ()> {
    let mut search = NaiveSearch { walk, given: item.schedules, root: 0, stack: Vec::new(), most };
    // A search that ends early has noted why.
    let is_over = search.run().is_break() | search.note_memory().is_break();
    let rest = if is_over { Vec::new() } else { search.rest().parts(search.walk.options.items.parts) };
    Cut { summary: search.walk.summary(), is_over, rest, found: () }
}

impl NaiveSearch<'_> {
    fn run(&mut self) -> ControlFlow<()> {
        while self.walk.counts.executions() < self.most {
            let Some(node) = self.stack.last_mut() else {
                let Some(schedule) = self.given.pop() else { break };
                self.begin(&schedule)?;
                continue;
            };
            let Some((process, choice)) = node.steps.pop() else {
                self.stack.pop();
                continue;
            };
            self.walk.back_to(self.root + self.stack.len() - 1);
            self.walk.step(process, choice)?;
            self.open()?;
            if self.walk.progress_due {
                self.report()?;
            }
        }
        ControlFlow::Continue(())
    }

    /// Goes to where a schedule leads. Its steps were counted where it was found, but for the last.
    fn begin(&mut self, schedule: &Schedule) -> ControlFlow<()> {
        self.walk.back_to(0);
        for (at, step) in schedule.steps.iter().enumerate() {
            let Some(process) = self.walk.run.names().find(&step.process) else {
                let reason =
                    "a schedule names a process that there is not: it is another program's".to_owned();
                return self.walk.stop(NotExhaustive::Program(reason));
            };
            self.walk.step(process, step.choice)?;
            self.walk.counts.events -= u64::from(at + 1 < schedule.steps.len());
        }
        self.root = schedule.steps.len();
        self.open()
    }

    /// Opens the node of the present state: all that can be done there.
    fn open(&mut self) -> ControlFlow<()> {
        let walk = &mut self.walk;
        let mut steps = Vec::new();
        if walk.enabled().is_empty() {
            self.end(self.walk.maximal_ending())?;
        } else if walk.too_deep() {
            self.end(Ending::Cut)?;
        } else {
            let mut left: Vec<ProcessId> = walk.enabled().iter().collect();
            while let Some(process) = walk.pick(|p| left.contains(&p)) {
                left.retain(|&p| p != process);
                let alternatives = walk.run.alternatives(process);
                steps.extend((0..alternatives).map(|k| (process, walk.choice_at(k, alternatives))));
            }
            steps.reverse();
        }
        let known = steps.len();
        self.stack.push(Node { steps, known });
        ControlFlow::Continue(())
    }

    fn end(&mut self, ending: Ending) -> ControlFlow<()> {
        self.walk.end(ending)?;
        match self.walk.counts.executions().is_multiple_of(BETWEEN_NOTES) {
            true => self.note_memory(),
            false => ControlFlow::Continue(()),
        }
    }

    fn report(&mut self) -> ControlFlow<()> {
        let behind = |node: &Node| ((node.known - node.steps.len()).saturating_sub(1), node.known.max(1));
        let branches: Vec<(usize, usize)> = self.stack.iter().map(behind).collect();
        self.walk.report_progress(branches.into_iter())?;
        let bytes = self.memory();
        self.walk.look_at_memory(bytes)
    }

    /// What is left to do.
    fn rest(&mut self) -> Item {
        let Walk { run, trace, .. } = &self.walk;
        let step = |(process, choice)| Step { process: run.names().path(process), choice };
        let taken: Vec<Step> = (0..trace.len()).map(|k| step((trace.process(k), trace.choice(k)))).collect();
        let mut schedules = std::mem::take(&mut self.given);
        for (depth, node) in self.stack.iter().enumerate() {
            let prefix = &taken[..self.root + depth];
            let next = |&next: &(ProcessId, u32)| [prefix, &[step(next)]].concat();
            schedules.extend(node.steps.iter().map(|with| Schedule { steps: next(with) }));
        }
        Item { schedules }
    }

    fn note_memory(&mut self) -> ControlFlow<()> {
        let bytes = self.memory();
        self.walk.note_memory(bytes)
    }

    /// Bytes held by the nodes.
    fn memory(&self) -> usize {
        let steps = |node: &Node| node.steps.capacity() * size_of::<(ProcessId, u32)>();
        size_of_val(&self.stack[..]) + self.stack.iter().map(steps).sum::<usize>()
    }
}
