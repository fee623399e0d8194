//! A campaign: many random programs, each checked against laws, on several threads.
//!
//! What is drawn and what must hold of it is a [`FuzzTarget`]'s affair, one for each front end. Program
//! number `i` of a seed is always the same program, whoever checks it, so a campaign is reproduced from its
//! seed, and a single program from its seed and number. A campaign ends at the first broken law, with a
//! program that was made small.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use mazurka_explore::{Algorithm, Order};
use mazurka_litmus::ast::Ast;
use mazurka_litmus::print;

use crate::random::Random;
use crate::shrink;

/// Something that is drawn.
pub trait FuzzProgram: Clone + Send {
    /// Its text.
    fn text(&self) -> String;

    /// Programs that are a little smaller, the best ones first.
    fn smaller(&self) -> Vec<Self> {
        Vec::new()
    }
}

impl FuzzProgram for Ast {
    fn text(&self) -> String {
        print(self)
    }

    fn smaller(&self) -> Vec<Ast> {
        shrink::smaller(self)
    }
}

/// What a campaign is about: the programs that are drawn, and the laws that each of them obeys.
pub trait FuzzTarget: Sync {
    /// What is drawn.
    type Program: FuzzProgram;
    /// So many programs are checked together, where that is cheaper.
    const BATCH: u64 = 1;
    /// What is said if no law is broken.
    const CLEAN: &'static str = "no law broken";
    /// What is said before the number of a program that breaks a law.
    const BROKEN: &'static str = "LAW BROKEN by program";

    /// Program number `index`, from its random numbers, and whether it is a mutant of the corpus.
    fn draw(&self, index: u64, random: &mut Random) -> (Self::Program, bool);

    /// Checks all laws on a program. The seed draws whatever else is random.
    fn check(&self, program: &Self::Program, seed: u64) -> Checked;

    /// Checks programs, each with its seed, in turn.
    fn check_batch<'a>(
        &'a self,
        batch: &'a [(Self::Program, u64)],
    ) -> Box<dyn Iterator<Item = Checked> + 'a> {
        Box::new(batch.iter().map(|(program, seed)| self.check(program, *seed)))
    }

    /// What programs are made of, if that is worth a line.
    fn corpus(&self) -> Option<String> {
        None
    }

    /// The lines that tell what came of a campaign.
    fn summary(&self, outcome: &Outcome<Self::Program>) -> String;

    /// The options that `mazurka-fuzz` needs to check a program in the same way again.
    fn options(&self) -> String;
}

/// How much a campaign does.
#[derive(Clone, Debug)]
pub struct Campaign {
    /// The seed of everything.
    pub seed: u64,
    /// The number of the first program.
    pub first: u64,
    /// At most so many programs.
    pub programs: u64,
    /// None is begun after so long.
    pub time: Option<Duration>,
    /// How many threads.
    pub threads: usize,
}

/// What became of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Checked {
    /// There is nothing to check, for this reason.
    Unfit(&'static str),
    /// It has too many executions for anything.
    TooLarge,
    /// It has too many for brute force, but algorithms agree with each other, or front ends: so many classes
    /// are known.
    Agrees(usize),
    /// All laws hold; it has so many Mazurkiewicz classes.
    Holds(usize),
    /// The same of a program of a kind that is counted apart.
    HoldsAs(&'static str, usize),
    /// A law is broken.
    Breaks(Broken),
}

/// What is said of a text that does not compile.
pub(crate) const NOT_A_PROGRAM: &str = "not a program";

/// A law that a program breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The algorithm, if one is to blame.
    pub algorithm: Option<Algorithm>,
    /// The order in which it tried things.
    pub order: Order,
    /// What is wrong.
    pub law: String,
}

impl Broken {
    /// No algorithm is to blame.
    pub(crate) fn law(law: impl Into<String>) -> Broken {
        Broken { algorithm: None, order: Order::Natural, law: law.into() }
    }

    /// An algorithm in some order is to blame.
    pub(crate) fn by(algorithm: Algorithm, order: Order) -> impl Fn(String) -> Broken {
        move |law| Broken { algorithm: Some(algorithm), order, law }
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.algorithm {
            Some(algorithm) => write!(f, "{algorithm} ({:?}): {}", self.order, self.law),
            None => f.write_str(&self.law),
        }
    }
}

/// What came of a campaign.
#[derive(Clone, Debug)]
pub struct Outcome<P> {
    /// Programs on which all laws hold.
    pub held: u64,
    /// Those of them that were mutants of the corpus.
    pub mutants: u64,
    /// The same by kind, where kinds are counted apart.
    pub kinds: BTreeMap<&'static str, u64>,
    /// Programs that are too large for brute force, but agree.
    pub agreed: u64,
    /// Programs that are too large even for that.
    pub too_large: u64,
    /// Programs on which there was nothing to check, by the reason.
    pub unfit: BTreeMap<&'static str, u64>,
    /// The classes of the programs that hold or agree.
    pub classes: u64,
    /// The time it took.
    pub time: Duration,
    /// The longest that one program took.
    pub slowest: Duration,
    /// The first program that broke a law.
    pub found: Option<Counterexample<P>>,
}

/// A program that breaks a law.
#[derive(Clone, Debug)]
pub struct Counterexample<P> {
    /// Its number.
    pub index: u64,
    /// The program.
    pub program: P,
    /// The law that it breaks.
    pub broken: Broken,
    /// The smallest program that breaks a law and that it could be made into, with that law. None if it is
    /// that one.
    pub shrunk: Option<(P, Broken)>,
}

impl<P> Counterexample<P> {
    /// The smallest program that is known, and the law that it breaks.
    pub fn smallest(&self) -> (&P, &Broken) {
        self.shrunk.as_ref().map_or((&self.program, &self.broken), |(program, broken)| (program, broken))
    }
}

impl<P> Default for Outcome<P> {
    fn default() -> Outcome<P> {
        Outcome {
            held: 0,
            mutants: 0,
            kinds: BTreeMap::new(),
            agreed: 0,
            too_large: 0,
            unfit: BTreeMap::new(),
            classes: 0,
            time: Duration::ZERO,
            slowest: Duration::ZERO,
            found: None,
        }
    }
}

impl<P> Outcome<P> {
    /// How many programs were looked at.
    pub fn programs(&self) -> u64 {
        self.held + self.agreed + self.too_large + self.unfit.values().sum::<u64>()
    }

    /// The lines on the kinds of programs that hold.
    pub(crate) fn kind_lines(&self) -> String {
        self.kinds.iter().map(|(kind, count)| format!("\nof them {count} {kind}")).collect()
    }

    /// The lines on programs on which there was nothing to check.
    pub(crate) fn unfit_lines(&self, what: &str) -> String {
        self.unfit.iter().map(|(why, count)| format!("\n{what}: {count}, for {why}")).collect()
    }

    fn count(&mut self, checked: &Checked, mutant: bool) {
        match *checked {
            Checked::Unfit(why) => *self.unfit.entry(why).or_default() += 1,
            Checked::TooLarge => self.too_large += 1,
            Checked::Agrees(classes) => {
                self.agreed += 1;
                self.classes += classes as u64;
            }
            Checked::Holds(classes) => self.hold(classes, mutant),
            Checked::HoldsAs(kind, classes) => {
                self.hold(classes, mutant);
                *self.kinds.entry(kind).or_default() += 1;
            }
            Checked::Breaks(_) => {}
        }
    }

    fn hold(&mut self, classes: usize, mutant: bool) {
        self.held += 1;
        self.mutants += u64::from(mutant);
        self.classes += classes as u64;
    }
}

impl Campaign {
    /// Draws and checks programs, to the end or to the first that breaks a law.
    pub fn run<T: FuzzTarget>(&self, target: &T) -> Outcome<T::Program> {
        let started = Instant::now();
        let outcome = Mutex::new(Outcome::default());
        let (next, over) = (AtomicU64::new(self.first), AtomicBool::new(false));
        let end = self.first.saturating_add(self.programs);
        let work = || {
            while !over.load(Relaxed) {
                let first = next.fetch_add(T::BATCH, Relaxed);
                let late = self.time.is_some_and(|most| started.elapsed() >= most);
                if late || first >= end {
                    break;
                }
                self.batch(target, first..end.min(first + T::BATCH), &outcome, &over);
            }
        };
        std::thread::scope(|scope| (0..self.threads.max(1)).for_each(|_| drop(scope.spawn(work))));
        Outcome { time: started.elapsed(), ..outcome.into_inner().expect("no thread panicked") }
    }

    fn batch<T: FuzzTarget>(
        &self,
        target: &T,
        numbers: Range<u64>,
        outcome: &Mutex<Outcome<T::Program>>,
        over: &AtomicBool,
    ) {
        let draw = |index| {
            let (program, mutant) = target.draw(index, &mut Random::for_program(self.seed, index));
            ((program, self.seed ^ index), mutant)
        };
        let (programs, mutants): (Vec<_>, Vec<_>) = numbers.clone().map(draw).unzip();
        let mut checks = target.check_batch(&programs);
        for ((index, (program, seed)), mutant) in numbers.zip(&programs).zip(mutants) {
            let started = Instant::now();
            let Some(checked) = checks.next() else { return };
            let mut total = outcome.lock().expect("no thread panicked");
            total.slowest = total.slowest.max(started.elapsed());
            total.count(&checked, mutant);
            if let Checked::Breaks(broken) = checked {
                over.store(true, Relaxed);
                if total.found.is_none() {
                    let shrunk = shrink(target, program, *seed);
                    total.found = Some(Counterexample { index, program: program.clone(), broken, shrunk });
                }
                return;
            }
        }
    }
}

/// The smallest program that single steps lead to, all of which break a law; none if there is no smaller one.
fn shrink<T: FuzzTarget>(target: &T, program: &T::Program, seed: u64) -> Option<(T::Program, Broken)> {
    let mut best: Option<(T::Program, Broken)> = None;
    loop {
        let smaller = best.as_ref().map_or(program, |(program, _)| program).smaller();
        let next = smaller.into_iter().find_map(|smaller| match target.check(&smaller, seed) {
            Checked::Breaks(broken) => Some((smaller, broken)),
            _ => None,
        });
        if next.is_none() {
            return best;
        }
        best = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl FuzzProgram for u64 {
        fn text(&self) -> String {
            self.to_string()
        }

        fn smaller(&self) -> Vec<u64> {
            vec![self / 2, self - 1]
        }
    }

    /// The numbers themselves, which have to be below a bound.
    struct Numbers {
        checked: Mutex<Vec<u64>>,
        bound: u64,
    }

    impl FuzzTarget for Numbers {
        type Program = u64;

        fn draw(&self, index: u64, _: &mut Random) -> (u64, bool) {
            (index, false)
        }

        fn check(&self, program: &u64, _: u64) -> Checked {
            self.checked.lock().unwrap().push(*program);
            if *program < self.bound { Checked::Holds(1) } else { Checked::Breaks(Broken::law("large")) }
        }

        fn summary(&self, _: &Outcome<u64>) -> String {
            String::new()
        }

        fn options(&self) -> String {
            String::new()
        }
    }

    #[test]
    fn each_number_is_done_once_until_one_breaks_a_law_and_is_made_small() {
        let campaign = Campaign { seed: 1, first: 5, programs: 100, time: None, threads: 3 };
        let numbers = |bound| Numbers { checked: Mutex::default(), bound };
        let all = numbers(1_000);
        assert_eq!(campaign.run(&all).held, 100);
        let mut checked = all.checked.into_inner().unwrap();
        checked.sort_unstable();
        assert_eq!(checked, (5..105).collect::<Vec<_>>());

        let some = numbers(7);
        let outcome = Campaign { threads: 1, ..campaign.clone() }.run(&some);
        let found = outcome.found.expect("7 is too large");
        assert_eq!((outcome.held, found.index, found.shrunk), (2, 7, None));
        assert_eq!(some.checked.into_inner().unwrap(), [5, 6, 7, 3, 6]);

        let outcome = Campaign { first: 40, ..campaign.clone() }.run(&numbers(7));
        assert_eq!(*outcome.found.expect("40 is too large").smallest().0, 7);

        let late = numbers(0);
        Campaign { time: Some(Duration::ZERO), ..campaign }.run(&late);
        assert!(late.checked.into_inner().unwrap().is_empty(), "one was begun too late");
    }
}
