//! Programs of the language against all laws, or against those of one algorithm.

use mazurka_explore::Algorithm;
use mazurka_litmus::ast::Ast;
use mazurka_litmus::{Source, compile};

use crate::campaign::{Checked, FuzzTarget, Outcome};
use crate::corpus::Seed;
use crate::laws::{CHECKED, names};
use crate::random::Random;
use crate::{Build, OneAlgorithm, check, check_one, conditional, generate, mutate, trees};

/// Random programs, half of them mutants.
#[derive(Clone, Debug)]
pub struct MazPrograms {
    /// What mutants are made of.
    pub corpus: Vec<Seed>,
    /// What is checked.
    pub build: Build,
    /// One algorithm to check by itself, on small programs.
    pub only: Option<OneAlgorithm>,
}

/// A program that compiles, and whether it is a mutant: every other one is, the others are `fresh`.
pub(crate) fn draw(
    index: u64,
    random: &mut Random,
    corpus: &[Seed],
    fresh: impl Fn(&mut Random) -> Ast,
) -> (Ast, bool) {
    let mutant = index % 2 == 1 && !corpus.is_empty();
    loop {
        let ast = match (mutant, random.pick(corpus), random.pick(corpus)) {
            (true, Some(base), Some(other)) => mutate::mutant(&base.ast, &other.ast, random),
            _ => fresh(random),
        };
        if compile(&ast, &Source::default(), &[]).is_ok() {
            return (ast, mutant);
        }
    }
}

impl FuzzTarget for MazPrograms {
    type Program = Ast;

    /// A quarter of the fresh ones have steps that read and write conditionally, and little else. For
    /// `data-centric` three quarters are trees of processes.
    fn draw(&self, index: u64, random: &mut Random) -> (Ast, bool) {
        let trees = self.only.is_some_and(|only| only.algorithm == Algorithm::DataCentric);
        let fresh = match index % 8 {
            2..=6 if trees => trees::program,
            0 => conditional::program,
            _ => generate::program,
        };
        draw(index, random, &self.corpus, fresh)
    }

    fn check(&self, ast: &Ast, seed: u64) -> Checked {
        match self.only {
            None => check(ast, self.build, seed),
            Some(only) => check_one(ast, only, self.build, seed),
        }
    }

    fn corpus(&self) -> Option<String> {
        Some(format!("corpus of {} programs", self.corpus.len()))
    }

    fn summary(&self, outcome: &Outcome<Ast>) -> String {
        let Outcome { held, mutants, classes, agreed, too_large, .. } = outcome;
        let seconds = outcome.time.as_secs_f64();
        let algorithms = self.only.map_or_else(|| names(&CHECKED), |only| only.to_string());
        let kinds = outcome.kind_lines();
        let large = match self.only {
            Some(only)
                if !matches!(
                    only.algorithm,
                    Algorithm::OptimalObservers | Algorithm::ReadsFrom | Algorithm::WakeUp
                ) =>
            {
                format!("{too_large} that were left out")
            }
            _ => format!("{agreed} on which all orders agree, {too_large} that were left out"),
        };
        format!(
            "{held} programs ({mutants} mutants of the corpus), {classes} classes, in {seconds:.1} s under \
             {algorithms}{kinds}\n\
             too large for brute force: {large}{}",
            outcome.unfit_lines("left out")
        )
    }

    fn options(&self) -> String {
        self.only.map_or(String::new(), |only| {
            let dead = if only.dead_variables { " --dead-variables" } else { "" };
            format!(" --only {}{dead} --orders {}", only.algorithm, only.orders)
        })
    }
}
