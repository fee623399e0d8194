//! Constraints are honest: steps that a run says commute are run in both orders, and end in the same state.
//!
//! Along random walks, of every two pending steps: where they are said to commute here, or always, neither
//! enables nor disables the other, and both orders end in the same named state with the same failures; where
//! they are said to commute as long as one does not move, so they do in the states of a walk without it. Where they
//! are said to end alike but for names, the ends are compared up to renaming.

use mazurka_litmus::ast::Ast;
use mazurka_litmus::{Source, compile};
use mazurka_program::{Alike, Commutes, Failure, Footprints, Label, ProcessId, Program, Run};

use crate::abs::{AbsProgram, AbsPrograms};
use crate::campaign::{Broken, Checked, FuzzTarget, NOT_A_PROGRAM, Outcome};
use crate::corpus::Seed;
use crate::diamonds::Walks;
use crate::random::Random;
use crate::{conditional, generate, maz};

/// What is walked through a program.
const WALKS: Walks = Walks { number: 6, steps: 12 };
/// How long a walk without one process is.
const WITHOUT: usize = 6;

/// Random programs whose constraints are tried out.
#[derive(Clone, Debug)]
pub struct Commuting {
    /// What mutants are made of.
    pub corpus: Vec<Seed>,
}

impl FuzzTarget for Commuting {
    type Program = Ast;

    fn draw(&self, index: u64, random: &mut Random) -> (Ast, bool) {
        let fresh = if index.is_multiple_of(4) { conditional::program } else { generate::program };
        maz::draw(index, random, &self.corpus, fresh)
    }

    fn check(&self, ast: &Ast, seed: u64) -> Checked {
        let Ok(program) = compile(ast, &Source::default(), &[]) else { return Checked::Unfit(NOT_A_PROGRAM) };
        match check(&program, WALKS, &mut Random::new(seed)) {
            Ok(states) => Checked::Holds(states),
            Err(law) => Checked::Breaks(Broken::law(law)),
        }
    }

    fn summary(&self, outcome: &Outcome<Ast>) -> String {
        let Outcome { held, mutants, classes, .. } = outcome;
        let seconds = outcome.time.as_secs_f64();
        format!(
            "{held} programs ({mutants} mutants of the corpus) in {seconds:.1} s: {classes} times both orders \
             were run and agreed with a constraint{}",
            outcome.unfit_lines("left out")
        )
    }

    fn options(&self) -> String {
        " --commuting".to_owned()
    }
}

/// Random ABS programs whose constraints are tried out, half of them mutants.
#[derive(Clone, Debug)]
pub struct AbsCommuting {
    /// Where they come from.
    pub programs: AbsPrograms,
}

impl FuzzTarget for AbsCommuting {
    type Program = AbsProgram;

    fn draw(&self, index: u64, random: &mut Random) -> (AbsProgram, bool) {
        self.programs.draw(index, random)
    }

    fn check(&self, program: &AbsProgram, seed: u64) -> Checked {
        let Some(program) = program.compiled() else { return Checked::Unfit(NOT_A_PROGRAM) };
        let mut random = Random::new(seed);
        loop {
            let checked = check(&program, WALKS, &mut random);
            if !program.begin_again() {
                return match checked {
                    Ok(states) => Checked::Holds(states),
                    Err(law) => Checked::Breaks(Broken::law(law)),
                };
            }
        }
    }

    fn summary(&self, outcome: &Outcome<AbsProgram>) -> String {
        let Outcome { held, mutants, classes, .. } = outcome;
        let seconds = outcome.time.as_secs_f64();
        format!(
            "{held} ABS programs ({mutants} mutants) in {seconds:.1} s: {classes} times both orders were run and \
             agreed with a constraint"
        )
    }

    fn options(&self) -> String {
        " --abs-commuting".to_owned()
    }
}

/// Walks through a program; gives how often both orders were run.
///
/// # Errors
/// If two steps that are said to commute do not.
pub fn check(program: &impl Program, walks: Walks, random: &mut Random) -> Result<usize, String> {
    let mut run = program.start(Footprints::Dynamic);
    let mut tried = 0;
    for _ in 0..walks.number {
        run.rewind(0);
        for _ in 0..walks.steps {
            let pending = pending(&run);
            for &(first, runs) in &pending {
                for &(second, _) in pending.iter().filter(|&&(second, _)| runs && second != first) {
                    tried += look(&mut run, first, second, random)?;
                }
            }
            let enabled: Vec<ProcessId> = run.enabled().iter().collect();
            if !step(&mut run, &enabled, random) {
                break;
            }
        }
    }
    Ok(tried)
}

/// Those that can take a step, and those that wait.
fn pending(run: &impl Run) -> Vec<(ProcessId, bool)> {
    let mut pending: Vec<(ProcessId, bool)> = run.enabled().iter().map(|process| (process, true)).collect();
    run.waiting(&mut |process, _| pending.push((process, false)));
    pending
}

/// Takes a step of one of these processes; says whether one could be taken.
fn step(run: &mut impl Run, processes: &[ProcessId], random: &mut Random) -> bool {
    let Some(&next) = random.pick(processes) else { return false };
    let choice = random.below(run.alternatives(next) as usize) as u32;
    run.step(next, choice, &mut Label::default()).is_ok()
}

fn blocks(run: &mut impl Run, first: ProcessId, second: ProcessId) -> Option<(u32, u32)> {
    let constraints = run.constraints()?;
    Some((constraints.block(first)?, constraints.block(second)?))
}

/// Tries out what is said of two processes; gives how often both orders were run.
fn look(
    run: &mut impl Run,
    first: ProcessId,
    second: ProcessId,
    random: &mut Random,
) -> Result<usize, String> {
    let Some((one, other)) = blocks(run, first, second) else { return Ok(0) };
    let Some(constraints) = run.constraints() else { return Ok(0) };
    let commutes = constraints.commute(one, other);
    let uniformly = constraints.commute_uniformly(one, other, first);
    let alike = constraints.commute_unless(one, other, &mut |_| false);
    let mut tried = 0;
    if alike != Alike::Unknown {
        both_orders(run, (first, second), alike)?;
        tried += 1;
    }
    if commutes != Commutes::Unknown {
        both_orders(run, (first, second), Alike::Same)?;
        tried += 1;
    }
    if uniformly && commutes == Commutes::Unknown {
        return Err("two steps commute in all states to come, and not here".to_owned());
    }
    if uniformly || commutes == Commutes::Always {
        let depth = run.depth();
        for _ in 0..WITHOUT {
            let others = run
                .enabled()
                .iter()
                .filter(|&process| process != first && (process != second || commutes != Commutes::Always));
            let others: Vec<ProcessId> = others.collect();
            if !step(run, &others, random) || blocks(run, first, second) != Some((one, other)) {
                break;
            }
            if run.enabled().contains(first) {
                both_orders(run, (first, second), Alike::Same)?;
                tried += 1;
            }
        }
        run.rewind(depth);
    }
    Ok(tried)
}

/// A state, with its names or up to renaming, and what went wrong on the way there.
fn end(run: &impl Run, alike: Alike) -> Option<(Vec<i64>, Vec<Failure>)> {
    let mut state = Vec::new();
    match alike {
        Alike::Renamed => {
            let all = run.states()?.state();
            state.extend(all.shared.iter().chain(&all.local));
        }
        _ => run.states()?.named()?.named_state(&mut state),
    }
    let mut failures = run.failures().to_vec();
    failures.sort();
    Some((state, failures))
}

/// Runs both orders of two pending steps, of which the first is enabled, and compares.
fn both_orders(
    run: &mut impl Run,
    (first, second): (ProcessId, ProcessId),
    alike: Alike,
) -> Result<(), String> {
    let depth = run.depth();
    let told = format!(
        "in a state after {depth} steps, {} and {} are said to commute ({alike:?}), but",
        name(run, first),
        name(run, second)
    );
    let enabled = run.enabled().contains(second);
    let mut ends = Vec::new();
    for (one, other) in [(first, second), (second, first)] {
        if !enabled && one == second {
            continue;
        }
        if run.step(one, 0, &mut Label::default()).is_err() {
            run.rewind(depth);
            return Ok(());
        }
        if run.enabled().contains(other) != (enabled || other == first) {
            return Err(format!("{told} {} enables or disables the other", name(run, one)));
        }
        if enabled && run.step(other, 0, &mut Label::default()).is_err() {
            run.rewind(depth);
            return Ok(());
        }
        ends.push(end(run, alike));
        run.rewind(depth);
    }
    match ends[..] {
        [ref one, ref other] if one != other => Err(format!("{told} the orders end differently")),
        _ => Ok(()),
    }
}

fn name(run: &impl Run, process: ProcessId) -> String {
    run.names().display(process).to_string()
}
