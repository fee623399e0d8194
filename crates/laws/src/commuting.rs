//! Constraints are honest: steps that a run says commute are run in both orders, and end in the same state.
//!
//! Along random walks, of every two pending steps: where they are said to commute here, or always, neither
//! enables nor disables the other, and both orders end in the same named state with the same failures; where
//! they are said to commute as long as one of them, or both, do not move, so they do in the states of a walk without.
//! Where they are said to end alike but for names, the ends are compared up to renaming.
//!
//! What is counted is states, each once for a program: those in which both orders of some pair could be run.

use std::collections::HashSet;

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
            "{held} programs ({mutants} mutants of the corpus) in {seconds:.1} s: in {classes} \
             different states both orders were run and agreed with a constraint{}",
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
            "{held} ABS programs ({mutants} mutants) in {seconds:.1} s: in {classes} different states both \
             orders were run and agreed with a constraint"
        )
    }

    fn options(&self) -> String {
        " --abs-commuting".to_owned()
    }
}

/// Walks through a program; gives in how many different states both orders of some pair were run.
///
/// # Errors
/// If two steps that are said to commute do not.
pub fn check(program: &impl Program, walks: Walks, random: &mut Random) -> Result<usize, String> {
    let run = program.start(Footprints::Dynamic);
    let mut walker = Walker { run, random, tried: HashSet::new() };
    for _ in 0..walks.number {
        walker.run.rewind(0);
        for _ in 0..walks.steps {
            let pending = walker.pending();
            for &(first, runs) in &pending {
                for &(second, _) in pending.iter().filter(|&&(second, _)| runs && second != first) {
                    walker.look([first, second])?;
                }
            }
            if !walker.step(&[]) {
                break;
            }
        }
    }
    Ok(walker.tried.len())
}

struct Walker<'a, R> {
    run: R,
    random: &'a mut Random,
    /// The states in which both orders of some pair were run.
    tried: HashSet<Vec<i64>>,
}

impl<R: Run> Walker<'_, R> {
    /// Those that can take a step, and those that wait.
    fn pending(&self) -> Vec<(ProcessId, bool)> {
        let enabled = self.run.enabled().iter().map(|process| (process, true));
        let mut pending: Vec<(ProcessId, bool)> = enabled.collect();
        self.run.waiting(&mut |process, _| pending.push((process, false)));
        pending
    }

    /// Takes a step of somebody else than these; says whether one could be taken.
    fn step(&mut self, without: &[ProcessId]) -> bool {
        let others = self.run.enabled().iter().filter(|process| !without.contains(process));
        let others: Vec<ProcessId> = others.collect();
        let Some(&next) = self.random.pick(&others) else { return false };
        let choice = self.random.below(self.run.alternatives(next) as usize) as u32;
        self.run.step(next, choice, &mut Label::default()).is_ok()
    }

    fn blocks(&mut self, [first, second]: [ProcessId; 2]) -> Option<(u32, u32)> {
        let constraints = self.run.constraints()?;
        Some((constraints.block(first)?, constraints.block(second)?))
    }

    /// Tries out what is said of two processes.
    fn look(&mut self, pair: [ProcessId; 2]) -> Result<(), String> {
        let Some((one, other)) = self.blocks(pair) else { return Ok(()) };
        let Some(constraints) = self.run.constraints() else { return Ok(()) };
        let commutes = constraints.commute(one, other);
        let uniformly = constraints.commute_uniformly(one, other, pair[0]);
        let beside = constraints.commute_beside(one, other, pair);
        let alike = match commutes {
            Commutes::Unknown => constraints.commute_unless(one, other, &mut |_| false),
            Commutes::Here | Commutes::Always => Alike::Same,
        };
        if alike != Alike::Unknown {
            self.both_orders(pair, alike)?;
        }
        if uniformly && commutes == Commutes::Unknown || beside && alike == Alike::Unknown {
            return Err("two steps commute in all states to come, and not here".to_owned());
        }
        match commutes {
            Commutes::Always => self.look_without(&pair, pair, (one, other), Alike::Same)?,
            _ if uniformly => self.look_without(&pair[..1], pair, (one, other), Alike::Same)?,
            _ => {}
        }
        if beside && commutes != Commutes::Always {
            self.look_without(&pair, pair, (one, other), Alike::Renamed)?;
        }
        Ok(())
    }

    /// Tries both orders wherever others lead than these, as long as the two have the same steps pending. The run is
    /// where it was afterwards.
    fn look_without(
        &mut self,
        without: &[ProcessId],
        pair: [ProcessId; 2],
        blocks: (u32, u32),
        alike: Alike,
    ) -> Result<(), String> {
        let depth = self.run.depth();
        for _ in 0..WITHOUT {
            if !self.step(without) || self.blocks(pair) != Some(blocks) {
                break;
            }
            if self.run.enabled().contains(pair[0]) {
                self.both_orders(pair, alike)?;
            }
        }
        self.run.rewind(depth);
        Ok(())
    }

    /// Runs both orders of two pending steps, of which the first is enabled, and compares.
    fn both_orders(&mut self, [first, second]: [ProcessId; 2], alike: Alike) -> Result<(), String> {
        let run = &mut self.run;
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
            ends.extend(end(run, alike));
            run.rewind(depth);
        }
        match &ends[..] {
            [one, other] if one != other => return Err(format!("{told} the orders end differently")),
            [_, _] => self.tried.extend(end(run, Alike::Same).map(|(state, _)| state)),
            _ => {}
        }
        Ok(())
    }
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

fn name(run: &impl Run, process: ProcessId) -> String {
    run.names().display(process).to_string()
}
