//! ABS programs against the laws: random ones, and mutants of a corpus, line by line.

pub mod counting;
pub mod generate;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use mazurka_abs::language::{Options as Reading, Source, compile};
use mazurka_abs::model::Model;
use mazurka_abs::{Abs, Dependence, Settings};
use mazurka_explore::{Algorithm, Rules};
use mazurka_oracle::{Budget, truth};
use mazurka_program::{Footprints, Program};

use crate::campaign::{Broken, Checked, FuzzProgram, FuzzTarget, NOT_A_PROGRAM, Outcome};
use crate::diamonds::{self, Walks};
use crate::laws::{INCONSISTENT, in_orders, names, obeys};
use crate::random::Random;

/// More is not tried by brute force.
const BUDGET: Budget = Budget { executions: 2_000, steps: 40 };

/// The same where one algorithm is checked by itself.
const SMALL: Budget = Budget { executions: 150, steps: 40 };

/// What programs are checked under, as far as it applies to their settings, and in which orders.
const CHECKED: [(Algorithm, &[u64]); 10] = [
    (Algorithm::Naive, &[0]),
    (Algorithm::Optimal, &[0, 1, 2]),
    (Algorithm::WakeUp, &[0, 10, 11, 12]),
    (Algorithm::Source, &[0, 3]),
    (Algorithm::SourceContext, &[0, 4, 5]),
    (Algorithm::SourceConstraints, &[0, 13]),
    (Algorithm::Convergent, &[0, 6, 7]),
    (Algorithm::ConvergentConstraints, &[0, 14, 15, 16]),
    (Algorithm::OptimalObservers, &[0, 8, 9]),
    (Algorithm::ReadsFrom, &[0, 17, 18]),
];

/// Random ABS programs, each under some settings, half of them mutants.
#[derive(Clone, Debug)]
pub struct AbsPrograms {
    /// What mutants are made of.
    pub corpus: Vec<String>,
    /// One algorithm to check by itself, on small programs.
    pub only: Option<Algorithm>,
}

/// A program, and the settings that it is checked under.
#[derive(Clone, Debug)]
pub struct AbsProgram {
    text: ProgramText,
    settings: Settings,
}

#[derive(Clone, Debug)]
enum ProgramText {
    Fresh(generate::Draft),
    Mutant(String),
}

impl AbsProgram {
    /// As a program that can be run.
    pub fn compiled(&self) -> Option<Abs> {
        compiled(&self.code()).map(|model| Abs::new(model, self.settings))
    }

    fn code(&self) -> String {
        match &self.text {
            ProgramText::Fresh(draft) => draft.text(),
            ProgramText::Mutant(text) => text.clone(),
        }
    }
}

impl FuzzProgram for AbsProgram {
    fn text(&self) -> String {
        format!("// under {:?}\n{}", self.settings, self.code())
    }

    fn smaller(&self) -> Vec<AbsProgram> {
        let fresh = |draft| AbsProgram { text: ProgramText::Fresh(draft), settings: self.settings };
        match &self.text {
            ProgramText::Fresh(draft) => draft.smaller().map(fresh).collect(),
            // A line less; what is no program then is no smaller one.
            ProgramText::Mutant(text) => {
                let lines: Vec<&str> = text.lines().collect();
                let without = |at: usize| {
                    let rest = lines.iter().enumerate().filter(|(line, _)| *line != at);
                    rest.map(|(_, line)| format!("{line}\n")).collect::<String>()
                };
                let smaller = (0..lines.len()).map(without).filter(|text| compiled(text).is_some());
                smaller
                    .map(|text| AbsProgram { text: ProgramText::Mutant(text), settings: self.settings })
                    .collect()
            }
        }
    }
}

impl FuzzTarget for AbsPrograms {
    type Program = AbsProgram;

    fn draw(&self, index: u64, random: &mut Random) -> (AbsProgram, bool) {
        let mutant = !index.is_multiple_of(2) && !self.corpus.is_empty();
        let text = match mutant {
            true => ProgramText::Mutant(self.mutant(random)),
            false if index.is_multiple_of(4) => ProgramText::Mutant(counting::program(random)),
            false => ProgramText::Fresh(generate::program(random)),
        };
        (AbsProgram { text, settings: generate::settings(random) }, mutant)
    }

    fn check(&self, program: &AbsProgram, seed: u64) -> Checked {
        check(&program.code(), program.settings, self.only, seed)
    }

    fn corpus(&self) -> Option<String> {
        Some(format!("corpus of {} ABS programs", self.corpus.len()))
    }

    fn summary(&self, outcome: &Outcome<AbsProgram>) -> String {
        let Outcome { held, mutants, classes, .. } = outcome;
        let seconds = outcome.time.as_secs_f64();
        let algorithms = self.only.map_or_else(|| names(&CHECKED), |only| only.to_string());
        let large = outcome.programs() - held;
        let large = match self.only {
            None => format!("{large}, of which only labels were looked at"),
            Some(_) => format!("{large} that were left out"),
        };
        format!(
            "{held} ABS programs ({mutants} mutants), {classes} classes, in {seconds:.1} s under \
             {algorithms}\n\
             too large for brute force: {large}"
        )
    }

    fn options(&self) -> String {
        format!(" --abs{}", self.only.map_or(String::new(), |only| format!(" --only {only}")))
    }
}

impl AbsPrograms {
    /// The text of a mutant that is a program. What was drawn at random is changed, too: the corpus has few
    /// programs that brute force can do.
    fn mutant(&self, random: &mut Random) -> String {
        loop {
            let text = match random.below(4) {
                0 | 1 => random.pick(&self.corpus).cloned().unwrap_or_default(),
                2 => counting::program(random),
                _ => generate::program(random).text(),
            };
            let text = mutant(&text, random);
            if compiled(&text).is_some() {
                return text;
            }
        }
    }
}

/// The programs that mutants are made of: what broke something once, and the benchmarks.
///
/// # Panics
/// If they can't be read: they are part of the checkout.
pub fn corpus() -> Vec<String> {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let mut paths: Vec<_> = ["bench/abs", "corpus/abs"]
        .iter()
        .filter_map(|directory| std::fs::read_dir(root.join(directory)).ok())
        .flat_map(|files| files.map(|file| file.expect("a readable file").path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "abs"))
        .collect();
    paths.sort();
    assert!(!paths.is_empty(), "part of the checkout");
    paths.iter().map(|path| std::fs::read_to_string(path).expect("part of the checkout")).collect()
}

/// Another program, made of one by a few changes of lines and numbers. It may be none.
pub fn mutant(text: &str, random: &mut Random) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for _ in 0..1 + random.below(4) {
        let (at, other) = (random.below(lines.len()), random.below(lines.len()));
        match random.below(5) {
            0 => drop(lines.remove(at)),
            1 => lines.swap(at, other),
            2 => lines.insert(at, lines[other].clone()),
            3 => {
                let digits = |c: char| c.is_ascii_digit();
                let number = ["0", "1", "2", "3"][random.below(4)];
                lines[at] = lines[at].replacen(digits, number, 1);
            }
            _ => {
                const EXCHANGES: [(&str, &str); 6] = [
                    (".get", ".get; suspend"),
                    ("await ", "suspend; await "),
                    ("!", "."),
                    ("==", "!="),
                    (" + ", " - "),
                    ("this!", "await this!"),
                ];
                let (from, to) = EXCHANGES[random.below(EXCHANGES.len())];
                lines[at] = lines[at].replacen(from, to, 1);
            }
        }
        if lines.is_empty() {
            break;
        }
    }
    lines.join("\n") + "\n"
}

fn compiled(text: &str) -> Option<Model> {
    let source = Source { name: "random.abs".to_owned(), text: text.to_owned() };
    compile(&[source], &Reading::default()).ok()
}

/// Holds a program to the laws.
pub fn check(text: &str, settings: Settings, only: Option<Algorithm>, seed: u64) -> Checked {
    let Some(model) = compiled(text) else { return Checked::Unfit(NOT_A_PROGRAM) };
    let program = Abs::new(model, settings);
    let judged = catch_unwind(AssertUnwindSafe(|| judge(&program, settings, only, seed)));
    judged.unwrap_or_else(|_| Err(Broken::law("panicked"))).unwrap_or_else(Checked::Breaks)
}

fn judge(program: &Abs, settings: Settings, only: Option<Algorithm>, seed: u64) -> Result<Checked, Broken> {
    let truth = match truth(program, only.map_or(BUDGET, |_| SMALL)) {
        Ok(truth) => truth,
        Err(_) if only.is_some() => return Ok(Checked::TooLarge),
        Err(_) => return honest(program, seed).map(|()| Checked::TooLarge),
    };
    if !truth.inconsistent.is_empty() {
        return Err(Broken::law(INCONSISTENT));
    }
    if only.is_none() {
        honest(program, seed)?;
    }
    let applies = |algorithm| match algorithm {
        Algorithm::Source | Algorithm::SourceConstraints | Algorithm::ConvergentConstraints => {
            settings.dependence != Dependence::Dynamic
        }
        Algorithm::SourceContext => {
            settings.dependence != Dependence::Dynamic && !settings.forgets_dead_variables
        }
        // With labels of what might be touched, nothing is known to be overwritten.
        Algorithm::OptimalObservers => settings.dependence != Dependence::Static,
        Algorithm::Naive => only.is_none() && truth.interleavings <= 200,
        _ => true,
    };
    let wanted = |algorithm| only.is_none_or(|only| only == algorithm) && applies(algorithm);
    for (algorithm, order) in in_orders(seed.wrapping_mul(41), &CHECKED).filter(|plan| wanted(plan.0)) {
        obeys(program, &truth, Rules::default(), algorithm, order, seed)
            .map_err(Broken::by(algorithm, order))?;
    }
    Ok(Checked::Holds(truth.mazurkiewicz.len()))
}

/// Labels are honest, as far as a few walks show; not before all that changes them has been found out.
fn honest(program: &Abs, seed: u64) -> Result<(), Broken> {
    let mut random = Random::new(seed ^ 0xD1A3);
    let walks = Walks { number: 3, steps: 40 };
    for footprints in [Footprints::Dynamic, Footprints::Static] {
        loop {
            let found = diamonds::check(program, footprints, walks, &mut random);
            if !program.begin_again() {
                found.map_err(Broken::law)?;
                break;
            }
        }
    }
    Ok(())
}
