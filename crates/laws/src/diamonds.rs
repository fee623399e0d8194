//! Labels are honest: steps that are independent by their labels commute.
//!
//! Brute force compares what algorithms find with all that there is, on programs that are small enough. A
//! label that says too little may do no harm there. This looks at labels themselves, in states along random
//! walks through programs of any size: of two steps that can be taken in a state and are independent by their
//! labels, neither disables the other, gives it another label, or another number of outcomes.

use mazurka_program::{Footprints, Label, Location, ProcessId, Program, Run};
use mazurka_trace::dependence;

use crate::random::Random;

/// How many walks, and how many steps each.
#[derive(Clone, Copy, Debug)]
pub struct Walks {
    /// How many.
    pub number: usize,
    /// No walk is longer.
    pub steps: usize,
}

/// Looks for two steps that are independent by their labels and do not commute; tells what they are.
///
/// # Errors
/// If there are such steps.
pub fn check(
    program: &impl Program,
    footprints: Footprints,
    walks: Walks,
    random: &mut Random,
) -> Result<(), String> {
    let mut run = program.start(footprints);
    for _ in 0..walks.number {
        run.rewind(0);
        for _ in 0..walks.steps {
            let enabled: Vec<ProcessId> = run.enabled().iter().collect();
            let Some(&next) = random.pick(&enabled) else { break };
            if look(&mut run, &enabled)?.is_none() {
                // The run can't go on: that is for others to tell.
                return Ok(());
            }
            let choice = random.below(run.alternatives(next) as usize) as u32;
            if run.step(next, choice, &mut Label::default()).is_err() {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// What a step would do in the present state: its label and how many outcomes it has. None if the run can't
/// go on.
fn peek(run: &mut impl Run, process: ProcessId) -> Option<Deed> {
    let (depth, outcomes) = (run.depth(), run.alternatives(process));
    let mut label = Label::default();
    run.step(process, 0, &mut label).ok()?;
    run.rewind(depth);
    Some(Deed::new(&label, outcomes))
}

/// What matters of a step to others.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Deed {
    accesses: Vec<mazurka_program::Access>,
    guard: Option<Location>,
    waited_for: Vec<Location>,
    spawned: Vec<ProcessId>,
    outcomes: u32,
}

impl Deed {
    fn new(label: &Label, outcomes: u32) -> Deed {
        let mut accesses = label.accesses.clone();
        accesses.sort_unstable();
        accesses.dedup();
        let mut waited_for = label.waited_for.clone();
        waited_for.sort_unstable();
        waited_for.dedup();
        let guard = label.guard.map(|guard| guard.location);
        Deed { accesses, guard, waited_for, spawned: label.spawned.clone(), outcomes }
    }
}

/// Looks at all pairs of steps in the present state. None if the run can't go on.
fn look(run: &mut impl Run, enabled: &[ProcessId]) -> Result<Option<()>, String> {
    let depth = run.depth();
    let mut deeds = Vec::with_capacity(enabled.len());
    for &process in enabled {
        let Some(deed) = peek(run, process) else { return Ok(None) };
        deeds.push(deed);
    }
    for (first, one) in enabled.iter().zip(&deeds) {
        if run.step(*first, 0, &mut Label::default()).is_err() {
            return Ok(None);
        }
        for (second, other) in enabled.iter().zip(&deeds).filter(|(second, _)| *second != first) {
            if dependence::dependent(&one.accesses, &other.accesses) {
                continue;
            }
            let name = |process| run.names().display(process).to_string();
            let told = format!("in a state after {depth} steps, {} and {}", name(*first), name(*second));
            if !run.enabled().contains(*second) {
                return Err(format!("{told} are independent, but the first disables the second"));
            }
            let Some(after) = peek(run, *second) else { return Ok(None) };
            if after != *other {
                return Err(format!("{told} are independent, but the second is {other:?} or {after:?}"));
            }
        }
        run.rewind(depth);
    }
    Ok(Some(()))
}
