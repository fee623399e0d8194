//! ABS programs against the laws: random ones, and mutants of a corpus, line by line.

pub mod generate;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use mazurka_abs::language::{Options as Reading, Source, compile};
use mazurka_abs::{Abs, Dependence, Settings};
use mazurka_explore::{Algorithm, Options, Order, Rules};
use mazurka_oracle::{Budget, truth};
use mazurka_program::Footprints;

use crate::diamonds::{self, Walks};
use crate::laws::{obeys, within};
use crate::observers;
use crate::random::Random;
use crate::share::Work;

/// More is not tried by brute force.
const BUDGET: Budget = Budget { executions: 2_000, steps: 40 };

/// The same where one algorithm is checked by itself.
const SMALL: Budget = Budget { executions: 150, steps: 40 };

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
    pub corpus: Vec<String>,
    /// One algorithm to check by itself, on small programs.
    pub only: Option<Algorithm>,
}

/// What came of it.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Programs on which all laws hold.
    pub held: u64,
    /// Those of them that were mutants of the corpus.
    pub mutants: u64,
    /// Programs that are too large for brute force, whose labels are honest as far as was looked.
    pub too_large: u64,
    /// Mazurkiewicz classes of the programs that hold.
    pub classes: u64,
    /// The time it took.
    pub time: Duration,
    /// The first program that breaks a law.
    pub found: Option<Found>,
}

/// A program that breaks a law.
#[derive(Debug)]
pub struct Found {
    /// Its number.
    pub index: u64,
    /// Under these settings.
    pub settings: Settings,
    /// The law, and the algorithm.
    pub broken: String,
    /// The program, made small if it was a random one.
    pub text: String,
}

/// What came of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Checked {
    /// All laws hold; so many classes.
    Holds(usize),
    /// It is too large for brute force.
    TooLarge,
    /// A law is broken.
    Breaks(String),
    /// It is no program.
    Wrong,
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

/// Holds a program to the laws.
pub fn check(text: &str, settings: Settings, only: Option<Algorithm>, seed: u64) -> Checked {
    let source = Source { name: "random.abs".to_owned(), text: text.to_owned() };
    let Ok(model) = compile(&[source], &Reading::default()) else { return Checked::Wrong };
    let program = Abs::new(model, settings);
    let told = catch_unwind(AssertUnwindSafe(|| judge(&program, settings, only, seed)));
    told.unwrap_or_else(|_| Checked::Breaks("panicked".to_owned()))
}

fn judge(program: &Abs, settings: Settings, only: Option<Algorithm>, seed: u64) -> Checked {
    let truth = match truth(program, only.map_or(BUDGET, |_| SMALL)) {
        Ok(truth) => truth,
        Err(_) if only.is_some() => return Checked::TooLarge,
        Err(_) => return honest(program, seed).map_or(Checked::TooLarge, Checked::Breaks),
    };
    if !truth.inconsistent.is_empty() {
        return Checked::Breaks("two executions of one class end in different states".to_owned());
    }
    if let Some(what) = honest(program, seed).filter(|_| only.is_none()) {
        return Checked::Breaks(what);
    }
    let shuffled = |k: u64| Order::Shuffled(seed.wrapping_mul(41).wrapping_add(k) | 1);
    let mut plans = vec![
        (Algorithm::Optimal, Order::Natural),
        (Algorithm::Optimal, shuffled(1)),
        (Algorithm::Optimal, shuffled(2)),
        (Algorithm::Source, Order::Natural),
        (Algorithm::Source, shuffled(3)),
        (Algorithm::SourceContext, Order::Natural),
        (Algorithm::SourceContext, shuffled(4)),
        (Algorithm::SourceContext, shuffled(5)),
        (Algorithm::Convergent, Order::Natural),
        (Algorithm::Convergent, shuffled(6)),
        (Algorithm::Convergent, shuffled(7)),
    ];
    if settings.dependence == Dependence::Dynamic {
        plans.retain(|plan| !matches!(plan.0, Algorithm::Source | Algorithm::SourceContext));
    }
    if settings.forgets_dead_variables {
        plans.retain(|plan| plan.0 != Algorithm::SourceContext);
    }
    if let Some(only) = only {
        plans.retain(|plan| plan.0 == only);
    } else if truth.interleavings <= 200 {
        plans.push((Algorithm::Naive, Order::Natural));
    }
    for (algorithm, order) in plans {
        if let Err(law) = obeys(program, &truth, Rules::default(), algorithm, order, seed) {
            return Checked::Breaks(format!("{algorithm} ({order:?}): {law}"));
        }
    }
    // With labels of what might be touched, nothing is known to be overwritten.
    let orders = [Order::Natural, shuffled(8), shuffled(9)];
    let wanted = settings.dependence != Dependence::Static
        && only.is_none_or(|only| only == Algorithm::OptimalObservers);
    for order in orders.into_iter().filter(|_| wanted) {
        let options = Options { order, limits: within(&truth), ..Options::default() };
        if let Err(law) = observers::obeys(program, &truth, &options, seed) {
            return Checked::Breaks(format!("{} ({order:?}): {law}", Algorithm::OptimalObservers));
        }
    }
    Checked::Holds(truth.mazurkiewicz.len())
}

/// What is wrong with labels, as far as a few walks show; not before all that changes them has been found out.
fn honest(program: &Abs, seed: u64) -> Option<String> {
    let mut random = Random::new(seed ^ 0xD1A3);
    let walks = Walks { number: 3, steps: 40 };
    [Footprints::Dynamic, Footprints::Static].into_iter().find_map(|footprints| {
        loop {
            let found = diamonds::check(program, footprints, walks, &mut random);
            if !mazurka_program::Program::begin_again(program) {
                return found.err();
            }
        }
    })
}

/// Runs a campaign. Ends at the first program that breaks a law.
pub fn run(campaign: &Campaign) -> Outcome {
    let outcome = Mutex::new(Outcome::default());
    let &Campaign { first, programs: count, time, threads, .. } = campaign;
    let work = Work { first, count, time, threads };
    let time = work.share(|index, over| one(campaign, index, &outcome, over));
    Outcome { time, ..outcome.into_inner().expect("no thread panicked") }
}

/// A program of a campaign.
enum Drawn {
    Fresh(generate::Draft),
    Mutant(String),
}

fn draw(campaign: &Campaign, index: u64, random: &mut Random) -> Drawn {
    if index.is_multiple_of(2) || campaign.corpus.is_empty() {
        return Drawn::Fresh(generate::program(random));
    }
    loop {
        // What was drawn at random is changed, too: the corpus has few programs that brute force can do.
        let text = match random.one_in(2) {
            true => random.pick(&campaign.corpus).cloned().unwrap_or_default(),
            false => generate::program(random).text(),
        };
        let text = mutant(&text, random);
        let source = Source { name: "mutant.abs".to_owned(), text: text.clone() };
        if compile(&[source], &Reading::default()).is_ok() {
            return Drawn::Mutant(text);
        }
    }
}

fn one(campaign: &Campaign, index: u64, outcome: &Mutex<Outcome>, over: &AtomicBool) {
    let mut random = Random::for_program(campaign.seed, index);
    let drawn = draw(campaign, index, &mut random);
    let settings = generate::settings(&mut random);
    let seed = campaign.seed ^ index;
    let (text, is_mutant) = match &drawn {
        Drawn::Fresh(draft) => (draft.text(), false),
        Drawn::Mutant(text) => (text.clone(), true),
    };
    let checked = check(&text, settings, campaign.only, seed);
    let mut total = outcome.lock().expect("no thread panicked");
    match checked {
        Checked::Wrong | Checked::TooLarge => total.too_large += 1,
        Checked::Holds(classes) => {
            total.held += 1;
            total.mutants += u64::from(is_mutant);
            total.classes += classes as u64;
        }
        Checked::Breaks(_) => {
            over.store(true, Ordering::Relaxed);
            let text = match drawn {
                Drawn::Fresh(draft) => shrink(draft, settings, campaign.only, seed).text(),
                Drawn::Mutant(text) => text,
            };
            let Checked::Breaks(broken) = check(&text, settings, campaign.only, seed) else { return };
            total.found.get_or_insert(Found { index, settings, broken, text });
        }
    }
}

/// Takes statements away as long as a law stays broken.
fn shrink(
    mut draft: generate::Draft,
    settings: Settings,
    only: Option<Algorithm>,
    seed: u64,
) -> generate::Draft {
    let breaks =
        |draft: &generate::Draft| matches!(check(&draft.text(), settings, only, seed), Checked::Breaks(_));
    loop {
        let smaller = draft.smaller().find(breaks);
        match smaller {
            Some(smaller) => draft = smaller,
            None => return draft,
        }
    }
}
