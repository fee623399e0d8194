//! What data-centric searches stand on: a walk of which every event has its cone, the annotation, and
//! executions that realize it. What the algorithm does not cover is refused here.

use std::ops::ControlFlow;

use mazurka_program::{AccessKind, ProcessId};

use crate::NotExhaustive;
use crate::walk::Walk;

use super::Repairs;
use super::annotation::Annotation;
use super::architecture::{Architecture, Footprint, Reduction, cell};
use super::cones::{ConeId, Cones};
use super::mutations::{NoList, mutations};
use super::present::Present;
use super::realize::{Realized, realize};

/// A guard that nothing tells from the annotation alone.
const AWAITS: &str = "a step that waits for the value of a variable, as an await or a loop that spins does";

pub(crate) struct Ground<'a> {
    pub walk: Walk<'a>,
    pub architecture: Architecture,
    pub cones: Cones,
    pub present: Present,
    pub annotation: Annotation,
    footprint: Footprint,
    rank: Vec<u32>,
}

impl<'a> Ground<'a> {
    pub fn new(mut walk: Walk<'a>, reduction: Reduction) -> Ground<'a> {
        // A process that comes back to where it was goes on: classes know of no rounds.
        walk.ignore_rounds();
        Ground {
            walk,
            architecture: Architecture::new(reduction),
            cones: Cones::default(),
            present: Present::default(),
            annotation: Annotation::default(),
            footprint: Footprint::default(),
            rank: Vec::new(),
        }
    }

    pub fn repairs(&self) -> &Repairs {
        &self.walk.options.rules.data_centric
    }

    /// Takes a step, and gives the cone of its event, and whether it writes what was expected.
    pub fn step(&mut self, process: ProcessId, choice: u32) -> ControlFlow<(), (ConeId, bool)> {
        let previous = self.present.previous(&self.walk.trace, process);
        self.walk.step(process, choice)?;
        let label = self.walk.label();
        self.architecture.note(process, &label.accesses, &label.spawned);
        self.architecture.footprint(process, &label.accesses, &mut self.footprint);
        if let Some(why) = self.uncovered() {
            return over(self.refuse(why));
        }
        let cone = self.present.enter(&mut self.cones, &self.walk.trace, previous, &self.footprint);
        match self.cones.see(cone, &self.footprint) {
            Some(expected) => ControlFlow::Continue((cone, expected)),
            None => {
                over(self.walk.stop(NotExhaustive::Internal("a step with the same past did something else")))
            }
        }
    }

    /// What the step taken last does that the algorithm does not cover.
    pub fn uncovered(&mut self) -> Option<&'static str> {
        let label = self.walk.label();
        let reads = self.footprint.locations_read();
        if label.accesses.iter().any(|access| access.kind == AccessKind::Send) {
            return Some("messages");
        }
        if let Some(guard) = label.guard {
            let touches = |location| location == guard.location;
            let updates = |kind| kind == AccessKind::Update;
            let updates =
                label.accesses.iter().any(|access| updates(access.kind) && access.locations().any(touches));
            self.architecture.note_guard(guard.location, updates);
            if reads > 1 {
                return Some("a step that waits and reads more than what it waits for");
            }
        }
        if self.architecture.awaits() {
            return Some(AWAITS);
        }
        let last = self.walk.trace.len() - 1;
        if label.varies && reads > 1 {
            return Some(
                "a step that reads several locations and may read or write others, by what it finds there",
            );
        }
        if self.walk.trace.alternatives(last) > 1 && reads > 0 {
            return Some(
                "a step with several outcomes that others can notice, as a notification or a timeout",
            );
        }
        None
    }

    pub fn back_to(&mut self, depth: usize) {
        self.present.truncate(&self.cones, depth);
        self.walk.back_to(depth);
    }

    /// The mutations of the present execution, which is maximal, in the order in which they are to be tried.
    pub fn mutations(&mut self, repairs: &Repairs) -> ControlFlow<(), Vec<ConeId>> {
        if self.walk.run.keeps_time() {
            return over(self.refuse("a program that looks at a clock"));
        }
        if let Some(why) = self.uncovered_waits() {
            return over(self.refuse(why));
        }
        let Walk { run, trace, .. } = &self.walk;
        let listed = mutations(&**run, trace, &self.present, &self.annotation, &mut self.cones, repairs);
        match listed {
            Ok(mutations) => ControlFlow::Continue(mutations),
            Err(NoList::Awaits) => over(self.refuse(AWAITS)),
            Err(NoList::TooMany) => {
                over(self.refuse("a step that reads many locations, each with many writes"))
            }
        }
    }

    /// What processes wait for, or have waited for, that the algorithm does not cover.
    fn uncovered_waits(&mut self) -> Option<&'static str> {
        let Walk { run, trace, .. } = &self.walk;
        let architecture = &mut self.architecture;
        run.waiting(&mut |_, guard| {
            guard.into_iter().for_each(|guard| architecture.note_waiting(guard.location))
        });
        if architecture.awaits() {
            return Some(AWAITS);
        }
        let twice = |position: usize| {
            trace.waited_for(position).iter().any(|&l| self.present.writers(cell(l)).len() > 1)
        };
        (0..trace.len()).any(twice).then_some("a process that is woken more than once")
    }

    fn refuse(&mut self, what: &str) -> ControlFlow<()> {
        let why = format!("data-centric does not cover {what}; use optimal");
        self.walk.stop(NotExhaustive::Unsupported(why))
    }

    /// Lines 4-5: takes the steps of an execution of `A+`, if there is one; says so. `trace` is one that is
    /// known.
    pub fn execute(&mut self, trace: &[ConeId]) -> ControlFlow<(), bool> {
        self.walk.worked(1 + self.annotation.pinned().len() / 16);
        loop {
            match self.realize(trace) {
                Realized::No if self.walk.look_is_due() => {
                    self.walk.look_between()?;
                    return ControlFlow::Continue(false);
                }
                Realized::No => return ControlFlow::Continue(false),
                Realized::Cycle => {
                    let reason = "an order of an annotation has a cycle";
                    return over(self.walk.stop(NotExhaustive::Internal(reason)));
                }
                Realized::Execution(order) => {
                    if self.follow(&order)? {
                        return ControlFlow::Continue(true);
                    }
                }
            }
        }
    }

    /// Line 4, in the order of a trace as far as that is possible.
    fn realize(&mut self, trace: &[ConeId]) -> Realized {
        self.rank.clear();
        self.rank.resize(self.cones.len(), u32::MAX);
        trace.iter().enumerate().for_each(|(at, &cone)| self.rank[cone as usize] = at as u32);
        let rank = |cone: ConeId| self.rank[cone as usize];
        realize(&self.cones, self.annotation.pinned(), rank, self.repairs())
    }

    /// Takes the steps of a realized annotation. Says whether all of them write what was expected; if not,
    /// they have to be put in order again.
    fn follow(&mut self, order: &[ConeId]) -> ControlFlow<(), bool> {
        let common = self.present.common(order);
        self.back_to(common);
        for &cone in &order[common..] {
            let event = self.cones.event(cone);
            let (process, choice) = (event.process, event.choice);
            let (found, expected) = self.step(process, choice)?;
            if found != cone {
                return self.strayed();
            }
            if !expected {
                let last = self.walk.trace.len() - 1;
                self.back_to(last);
                return ControlFlow::Continue(false);
            }
        }
        ControlFlow::Continue(true)
    }

    /// A step did not observe what it was put there to observe.
    fn strayed(&mut self) -> ControlFlow<(), bool> {
        over(self.walk.stop(NotExhaustive::Internal("an annotation was realized otherwise than it says")))
    }

    /// Makes all as it was when there were so many cones.
    pub fn forget(&mut self, cones: usize) {
        let known = self.present.cones.iter().take_while(|&&cone| (cone as usize) < cones).count();
        self.back_to(known);
        self.cones.truncate(cones);
    }

    /// Whether cycles need no other treatment than they had so far. If they do, everything begins from
    /// nothing.
    pub fn is_settled(&mut self) -> bool {
        if self.architecture.is_settled() {
            return true;
        }
        self.back_to(0);
        self.walk.begin_again();
        self.cones = Cones::default();
        self.present = Present::default();
        self.annotation = Annotation::default();
        false
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        self.cones.memory() + self.present.memory() + self.annotation.memory() + self.architecture.memory()
    }
}

/// The search is over, as the walk knows.
fn over<T>(_: ControlFlow<()>) -> ControlFlow<(), T> {
    ControlFlow::Break(())
}
