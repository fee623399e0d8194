//! `source`: Source-DPOR, Algorithm 1 of "Source Sets" (Abdulla, Aronis, Jonsson, Sagonas, JACM 2017), with
//! sleep sets.
//!
//! Each Mazurkiewicz trace is explored at least once; an execution that meets only sleeping processes is cut
//! and counted as blocked. Where we differ from the published algorithm, and why:
//! * labels carry static footprints: with those of what a step really touched, a conditional block violates
//!   the algorithm's Property 7, and behaviours are lost (CX4);
//! * steps that wait race as guarded steps: with every writer of their guard, whether the step was taken
//!   (lock orders are lost otherwise, CX6) or its process still waits when the execution ends;
//! * a step may have several outcomes; they are explored one after the other from the same node.
//!
//! The test of line 6 is against initials, never weak initials (CX5).

use std::ops::ControlFlow;

use mazurka_program::{ProcessId, ProcessSet};
use mazurka_trace::dependence::dependent;

use crate::frame::Search;
use crate::sleep::SleepSets;
use crate::walk::Walk;
use crate::{Ending, Summary};

crate::rules::switches! {
    /// The switches of the repairs.
    Repairs {
        /// `source` tests initials against the backtrack set; taken out, weak initials (CX5).
        initials,
        /// `source` asks for static footprints; taken out, it uses those of what a step really touched
        /// (CX4).
        static_footprints,
    }
}

pub(crate) fn search(walk: Walk<'_>) -> Summary {
    let (sleep, nodes, first) = Default::default();
    SourceSearch { walk, sleep, nodes, open: 0, next: None, first }.summary()
}

/// A node of the stack: `backtrack(E)` and what is being explored from it.
#[derive(Default)]
struct SourceNode {
    backtrack: ProcessSet,
    /// Those of `backtrack` that are not known to be explored or to sleep.
    left: ProcessSet,
    /// How many of `backtrack` have been begun.
    begun: usize,
    process: Option<ProcessId>,
    /// The outcomes of the process's step: how many, and how many have been begun.
    alternatives: u32,
    tried: u32,
}

impl SourceNode {
    /// Puts a process into `backtrack`, if it is not there.
    #[inline]
    fn plan(&mut self, process: ProcessId) {
        if !self.backtrack.contains(process) {
            self.backtrack.insert(process);
            self.left.insert(process);
        }
    }

    /// Whether nothing is left to be explored from here.
    #[inline]
    fn is_finished(&self) -> bool {
        self.left.is_empty() && (self.process.is_none() || (self.tried, self.alternatives) == (1, 1))
    }
}

struct SourceSearch<'a> {
    walk: Walk<'a>,
    sleep: SleepSets,
    /// The nodes of the stack are the first `open`; the others keep their memory for later.
    nodes: Vec<SourceNode>,
    open: usize,
    /// The process to go on with from the last node, if its step has one outcome.
    next: Option<ProcessId>,
    /// The first event of each process in the sequence at hand.
    first: Vec<(ProcessId, usize)>,
}

impl<'a> Search<'a> for SourceSearch<'a> {
    #[inline]
    fn walk(&mut self) -> &mut Walk<'a> {
        &mut self.walk
    }

    fn run(&mut self) -> ControlFlow<()> {
        self.sleep.push_root();
        self.visit()?;
        while let Some(level) = self.open.checked_sub(1) {
            let next = match self.next.take() {
                Some(process) => Some((process, 0)),
                None if self.nodes[level].is_finished() => None,
                None => self.advance(level),
            };
            match next {
                Some((process, choice)) => self.take(process, choice)?,
                None => self.open = level,
            }
        }
        ControlFlow::Continue(())
    }

    fn memory(&mut self) -> usize {
        self.sleep.memory() + self.nodes.capacity() * size_of::<SourceNode>()
    }
}

impl SourceSearch<'_> {
    /// Enters the node of the present state: ends the execution, or chooses a first process (lines 8-10).
    fn visit(&mut self) -> ControlFlow<()> {
        if self.open == self.nodes.len() {
            self.nodes.push(SourceNode::default());
        }
        let level = self.open;
        self.open += 1;
        let node = &mut self.nodes[level];
        (node.begun, node.process) = (0, None);
        node.backtrack.clear();
        node.left.clear();
        let sleep = &self.sleep;
        let ending = if let Some(ending) = self.walk.ending_here() {
            ending
        } else if let Some(process) = self.walk.pick(|p| !sleep.sleeps_altogether(level, p)) {
            self.begin_with(level, process);
            return ControlFlow::Continue(());
        } else {
            Ending::Blocked
        };
        self.walk.end(ending)?;
        // The processes that wait here race with what made them wait.
        for (e, process) in self.walk.waiting_races() {
            self.reverse(e, process, None);
        }
        ControlFlow::Continue(())
    }

    /// Enters the first process to be explored from a node.
    fn begin_with(&mut self, level: usize, process: ProcessId) {
        let alternatives = self.walk.run.alternatives(process);
        let node = &mut self.nodes[level];
        node.backtrack.insert(process);
        if alternatives == 1 {
            (node.process, node.alternatives, node.tried, node.begun) = (Some(process), 1, 1, 1);
            self.next = Some(process);
        } else {
            node.left.insert(process);
        }
    }

    /// Goes back to the last node, and gives the next process of its backtrack set that does not sleep (line
    /// 11), or the next outcome of the present one, if there is any.
    fn advance(&mut self, level: usize) -> Option<(ProcessId, u32)> {
        self.put_to_sleep(level);
        loop {
            let node = &mut self.nodes[level];
            let Some(process) = node.process else {
                let next = node.left.iter().next()?;
                node.left.remove(next);
                // Who sleeps here goes on sleeping.
                if self.sleep.sleeps_altogether(level, next) {
                    continue;
                }
                self.walk.back_to(level);
                node.alternatives = self.walk.run.alternatives(next);
                (node.process, node.tried) = (Some(next), 0);
                node.begun += 1;
                continue;
            };
            if node.tried == node.alternatives {
                node.process = None;
                // In an order that changes on the way an outcome may not have had its turn.
                if !self.sleep.sleeps_altogether(level, process) {
                    node.left.insert(process);
                }
                continue;
            }
            let (tried, alternatives) = (node.tried, node.alternatives);
            node.tried += 1;
            let choice = self.walk.choice_at(tried, alternatives);
            if !self.sleep.sleeps(level, process, choice) {
                self.walk.back_to(level);
                return Some((process, choice));
            }
        }
    }

    /// Takes a step, reverses its races (lines 4-7), and enters the node behind it.
    fn take(&mut self, process: ProcessId, choice: u32) -> ControlFlow<()> {
        self.walk.step(process, choice)?;
        let last = self.walk.trace.len() - 1;
        for i in 0..self.walk.order.races(last).len() {
            let race = self.walk.order.races(last)[i];
            if race.immediate || self.walk.options.rules.shared.every_guard_writer {
                self.reverse(race.first as usize, process, Some(last));
            }
        }
        self.sleep.push(process, &self.walk.label().accesses, self.walk.options.rules.shared.wake);
        if self.walk.progress_due {
            let nodes = self.nodes[..self.open].iter();
            self.walk.report_progress(nodes.map(|node| (node.begun - 1, node.backtrack.len())))?;
            self.note_memory()?;
        }
        self.visit()
    }

    /// The step that was explored from a node, if any, will only be repeated from now on.
    fn put_to_sleep(&mut self, level: usize) {
        let trace = &self.walk.trace;
        if trace.len() > level {
            self.sleep.back_to(level);
            let (process, choice) = (trace.process(level), trace.choice(level));
            let accesses = trace.accesses(level).iter().copied();
            self.sleep.add(process, choice, trace.alternatives(level), accesses);
        }
    }

    /// Lines 5-7: makes sure that some initial of `v = notdep(e, E).q` is in the backtrack set before `e`.
    ///
    /// `second` is the position of `q`'s step, the last of the trace; none if `q` waits.
    fn reverse(&mut self, e: usize, q: ProcessId, second: Option<usize>) {
        let trace = &self.walk.trace;
        let end = second.unwrap_or(trace.len());
        // The first event of `v` is an initial, and mostly will do.
        if let Some(first) = self.walk.order.unordered(e, e + 1).next().filter(|&k| k < end).or(second)
            && self.nodes[e].backtrack.contains(trace.process(first))
        {
            return;
        }
        let mut initials = std::mem::take(&mut self.first);
        collect_initials(&self.walk, e, q, second, &mut initials);
        let node = &self.nodes[e];
        let covered = initials.iter().any(|&(p, _)| node.backtrack.contains(p))
            || (!self.walk.options.rules.source.initials && self.weakly_covered(e, q, second));
        if !covered {
            // Any initial will do (line 7); one that sleeps costs nothing, for its traces have been explored.
            let asleep = initials.iter().find(|&&(p, _)| self.sleep.sleeps_altogether(e, p));
            let &(process, _) = asleep.unwrap_or(&initials[0]);
            self.nodes[e].plan(process);
        }
        self.first = initials;
    }

    /// The wrong test of CX5, for builds that are broken on purpose: a process that was explored before `e`
    /// and is independent of all of `v`.
    fn weakly_covered(&self, e: usize, q: ProcessId, second: Option<usize>) -> bool {
        let trace = &self.walk.trace;
        let end = second.unwrap_or(trace.len());
        let before_end = |&k: &usize| k < end;
        let v: Vec<usize> =
            self.walk.order.unordered(e, e + 1).take_while(before_end).chain(second).collect();
        self.sleep.level(e).iter().any(|sleeper| {
            let accesses = self.sleep.accesses_of(sleeper);
            sleeper.process != q
                && v.iter()
                    .all(|&k| trace.process(k) != sleeper.process && !dependent(trace.accesses(k), accesses))
        })
    }
}

/// `I(v)` for `v = notdep(e, E).q`: the processes whose first event in `v` no event of `v` happens before,
/// each with that event.
///
/// `second` is the position of `q`'s step, the last of the trace; none if `q` waits.
pub(crate) fn collect_initials(
    walk: &Walk<'_>,
    e: usize,
    q: ProcessId,
    second: Option<usize>,
    initials: &mut Vec<(ProcessId, usize)>,
) {
    let Walk { trace, order, .. } = walk;
    let end = second.unwrap_or(trace.len());
    initials.clear();
    // First the first event of every process, initial or not: an event that depends on any event of another
    // process depends on that process's first one.
    let notdep = order.unordered(e, e + 1).take_while(|&k| k < end);
    for k in notdep.chain(second) {
        if !initials.iter().any(|&(p, _)| p == trace.process(k)) {
            initials.push((trace.process(k), k));
        }
    }
    for i in (0..initials.len()).rev() {
        let (_, k) = initials[i];
        if initials[..i].iter().any(|&(_, earlier)| order.happens_before(earlier, k)) {
            initials.remove(i);
        }
    }
    // What a waiting step would touch is not known; that it is an initial is certain only if it is alone.
    if second.is_none() && initials.is_empty() {
        initials.push((q, end));
    }
}
