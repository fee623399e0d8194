//! A campaign: many programs, checked against all laws, on several threads.
//!
//! Program number `i` of a seed is always the same program, whoever checks it, so a campaign is reproduced from its seed
//! and a single program from its seed and number.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use mazurka_litmus::ast::Ast;

use crate::corpus::Seed;
use crate::random::Random;
use crate::share::Work;
use crate::{Broken, Checked, Only, Subject, check, check_only, conditional, generate, mutate, shrink};

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
    /// What is checked.
    pub subject: Subject,
    /// What mutants are made of.
    pub corpus: Vec<Seed>,
    /// One algorithm to check by itself, on small programs.
    pub only: Option<Only>,
}

/// What came of it.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Programs on which all laws hold.
    pub held: u64,
    /// Those of them that were mutants of the corpus.
    pub mutants: u64,
    /// Programs that brute force gave up on, and on which the algorithms agree in all orders.
    pub agreed: u64,
    /// Programs that are too large even for that.
    pub too_large: u64,
    /// Mazurkiewicz classes of the programs that hold.
    pub classes: u64,
    /// The time it took.
    pub time: Duration,
    /// The first program that broke a law.
    pub found: Option<Found>,
}

/// A program that breaks a law.
#[derive(Debug)]
pub struct Found {
    /// Its number.
    pub index: u64,
    /// The law.
    pub broken: Broken,
    /// The program as it was.
    pub ast: Ast,
    /// The smallest one that breaks a law and that it could be made into.
    pub shrunk: Ast,
}

/// Program number `index` of a seed that compiles, and whether it is a mutant. Half are, and a quarter of the others have steps
/// that read and write conditionally, and little else.
pub fn program(seed: u64, index: u64, corpus: &[Seed]) -> (Ast, bool) {
    let mut random = Random::for_program(seed, index);
    let mutant = index % 2 == 1 && !corpus.is_empty();
    loop {
        let ast = match (mutant, random.pick(corpus), random.pick(corpus)) {
            (true, Some(base), Some(other)) => mutate::mutant(&base.ast, &other.ast, &mut random),
            _ if index.is_multiple_of(8) => conditional::program(&mut random),
            _ => generate::program(&mut random),
        };
        if mazurka_litmus::compile(&ast, &mazurka_litmus::Source::default(), &[]).is_ok() {
            return (ast, mutant);
        }
    }
}

/// Runs a campaign. Ends at the first broken law.
pub fn run(campaign: &Campaign) -> Outcome {
    let outcome = Mutex::new(Outcome::default());
    let &Campaign { first, programs: count, time, threads, .. } = campaign;
    let work = Work { first, count, time, threads };
    let time = work.share(|index, over| one(campaign, index, &outcome, over));
    Outcome { time, ..outcome.into_inner().expect("no thread panicked") }
}

fn one(campaign: &Campaign, index: u64, outcome: &Mutex<Outcome>, over: &AtomicBool) {
    let (ast, mutant) = program(campaign.seed, index, &campaign.corpus);
    let judge = |ast: &Ast| match campaign.only {
        None => check(ast, campaign.subject, campaign.seed ^ index),
        Some(only) => check_only(ast, only, campaign.subject, campaign.seed ^ index),
    };
    let checked = judge(&ast);
    let mut total = outcome.lock().expect("no thread panicked");
    match checked {
        Checked::Invalid => {}
        Checked::TooLarge => total.too_large += 1,
        Checked::Agrees => total.agreed += 1,
        Checked::Holds(classes) => {
            total.held += 1;
            total.mutants += u64::from(mutant);
            total.classes += classes as u64;
        }
        Checked::Breaks(broken) => {
            over.store(true, Ordering::Relaxed);
            let breaks = |ast: &Ast| matches!(judge(ast), Checked::Breaks(_));
            let shrunk = shrink::shrink(&ast, breaks);
            total.found.get_or_insert(Found { index, broken, ast, shrunk });
        }
    }
}
