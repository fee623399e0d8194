//! Many programs as closures, on several threads.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use mazurka_litmus::ast::Ast;

use super::{Checked, check, prepare};
use crate::corpus::Seed;
use crate::random::Random;
use crate::share::Work;
use crate::{Broken, generate, mutate, shrink};

/// What a campaign does.
#[derive(Clone, Debug)]
pub struct Campaign {
    /// The seed of everything.
    pub seed: u64,
    /// The number of the first program.
    pub first: u64,
    /// At most so many programs.
    pub programs: u64,
    /// At most this long.
    pub time: Option<Duration>,
    /// How many threads.
    pub threads: usize,
    /// What mutants are made of.
    pub corpus: Vec<Seed>,
}

/// What came of it.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Programs on which all laws hold.
    pub held: u64,
    /// Those of them that were mutants of the corpus.
    pub mutants: u64,
    /// Closures that are too large for brute force, in which `optimal` finds what there is in the program.
    pub agreed: u64,
    /// Programs that are too large even for that.
    pub too_large: u64,
    /// Programs that a closure can't act out, by the reason.
    pub unfit: BTreeMap<&'static str, u64>,
    /// Mazurkiewicz classes of the programs that hold or agree.
    pub classes: u64,
    /// The time it took.
    pub time: Duration,
    /// The first program on which something is wrong.
    pub found: Option<Found>,
}

/// A program on which something is wrong.
#[derive(Debug)]
pub struct Found {
    /// Its number.
    pub index: u64,
    /// What is wrong.
    pub broken: Broken,
    /// The program as it was acted out.
    pub ast: Ast,
    /// The smallest one on which something is wrong and that it could be made into.
    pub shrunk: Ast,
    /// What is wrong on that.
    pub broken_shrunk: Broken,
}

/// Program number `index` of a seed, prepared, and whether it is a mutant. Half are.
pub fn program(seed: u64, index: u64, corpus: &[Seed]) -> (Ast, bool) {
    let mut random = Random::for_program(seed, index);
    let mutant = index % 2 == 1 && !corpus.is_empty();
    loop {
        let ast = match (mutant, random.pick(corpus), random.pick(corpus)) {
            (true, Some(base), Some(other)) => mutate::mutant(&base.ast, &other.ast, &mut random),
            _ => generate::threads(&mut random),
        };
        if mazurka_litmus::compile(&ast, &mazurka_litmus::Source::default(), &[]).is_ok() {
            return (prepare(&ast, random.number()), mutant);
        }
    }
}

/// Runs a campaign. Ends at the first program on which something is wrong.
pub fn run(campaign: &Campaign) -> Outcome {
    let outcome = Mutex::new(Outcome::default());
    let &Campaign { first, programs: count, time, threads, .. } = campaign;
    let work = Work { first, count, time, threads };
    let time = work.share(|index, over| one(campaign, index, &outcome, over));
    Outcome { time, ..outcome.into_inner().expect("no thread panicked") }
}

fn one(campaign: &Campaign, index: u64, outcome: &Mutex<Outcome>, over: &AtomicBool) {
    let (ast, mutant) = program(campaign.seed, index, &campaign.corpus);
    let seed = campaign.seed ^ index;
    let checked = check(&ast, seed);
    let mut total = outcome.lock().expect("no thread panicked");
    match checked {
        Checked::Unfit(why) => *total.unfit.entry(why).or_default() += 1,
        Checked::TooLarge => total.too_large += 1,
        Checked::Agrees(classes) => {
            total.agreed += 1;
            total.classes += classes as u64;
        }
        Checked::Holds(classes) => {
            total.held += 1;
            total.mutants += u64::from(mutant);
            total.classes += classes as u64;
        }
        Checked::Breaks(broken) => {
            over.store(true, Ordering::Relaxed);
            if total.found.is_none() {
                let shrunk = shrink::shrink(&ast, |ast| matches!(check(ast, seed), Checked::Breaks(_)));
                let broken_shrunk = match check(&shrunk, seed) {
                    Checked::Breaks(broken) => broken,
                    _ => broken.clone(),
                };
                total.found = Some(Found { index, broken, ast, shrunk, broken_shrunk });
            }
        }
    }
}
