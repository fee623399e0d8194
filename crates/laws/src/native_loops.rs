//! Random programs in C that may run for ever, against all states that the same program in the language can
//! reach.
//!
//! An `await` is a loop that looks. Of each program, compiled with many others:
//! 1. complete executions end with exactly the shared values of the states in which nobody can go on, in
//!    exactly the deadlocks, and exactly what can fail does;
//! 2. a livelock is told exactly if some state has no way to an end;
//! 3. the search ends, says that it looked at everything, and blocks nothing;
//! 4. the executions of `optimal`, complete and stopped, do not depend on the order of choices, once a search
//!    finds out nothing more about memory: who spins on what nobody else has touched makes it a location, and
//!    whether it comes to that depends on the order.
//!
//! Half of the programs are run with snapshots.

use std::collections::BTreeSet;
use std::ffi::CString;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use mazurka_explore::{
    Algorithm, Counts, Ending, Limits, Monitor, NotExhaustive, Options, Order, Rules, explore,
};
use mazurka_litmus::ast::{Ast, Block, Expr, ExprKind, StmtKind, UnaryOp};
use mazurka_litmus::{Source, compile};
use mazurka_native::driver::Built;
use mazurka_native::runtime::{self, MainExits, Native, NativeRun, Races, load};
use mazurka_oracle::{Livelock, Reachable, TooMuch, deadlock, reachable};
use mazurka_program::{FailureKind, Run};
use mazurka_trace::Trace;

use crate::behaviour::failure_name;
use crate::campaign::{Broken, Checked, FuzzTarget, NOT_A_PROGRAM, Outcome};
use crate::closures::{GIVEN_UP, in_c, prepare_for_c};
use crate::corpus::Seed;
use crate::laws::same;
use crate::loops::every_poll_a_step;
use crate::native::{Compiler, file_of};
use crate::random::Random;
use crate::{cyclic, maz, visit};

/// Programs with more states are left out: what a program in C keeps in words that are not used any more tells
/// states apart that are one in the language.
const MOST_STATES: usize = 6_000;

/// Programs with more executions than this, or longer ones, are left out.
const LIMITS: Limits = Limits { executions: Some(1_500), time: None, memory: None, depth: 500, unroll: 300 };

/// Random programs in C with loops, half of them mutants.
#[derive(Debug)]
pub struct CLoops {
    /// What mutants are made of.
    pub corpus: Vec<Seed>,
    /// Who compiles them.
    pub compiler: Compiler,
    /// In how many orders each is searched, besides the natural one.
    pub orders: u64,
    /// The rules of the search.
    pub rules: Rules,
    tally: Tally,
}

/// What the programs were on which all laws hold.
#[derive(Debug, Default)]
struct Tally {
    livelocks: AtomicU64,
    deadlocks: AtomicU64,
    failures: AtomicU64,
    states: AtomicU64,
    stopped: AtomicU64,
}

impl CLoops {
    /// Programs of which some are mutants of these.
    pub fn of(corpus: Vec<Seed>, compiler: Compiler, orders: u64, rules: Rules) -> CLoops {
        CLoops { corpus, compiler, orders, rules, tally: Tally::default() }
    }
}

/// A program that C has words for: shared variables are accessed one at a time, and who waits for one looks
/// again and again.
fn prepared(ast: &Ast, seed: u64) -> Ast {
    let mut ast = ast.clone();
    visit::statements(&mut ast, &mut |statement| {
        if let StmtKind::Await(condition) = &statement.kind {
            let over = ExprKind::Unary(UnaryOp::Not, Box::new(condition.clone()));
            let body = Block { statements: Vec::new() };
            statement.kind = StmtKind::While { condition: Expr::new(over), body };
        }
    });
    prepare_for_c(&ast, seed)
}

impl FuzzTarget for CLoops {
    type Program = Ast;
    const BATCH: u64 = 100;
    const CLEAN: &'static str = "nothing wrong";
    const BROKEN: &'static str = "WRONG in program";

    fn draw(&self, index: u64, random: &mut Random) -> (Ast, bool) {
        let mut attempts = 20;
        loop {
            let (ast, mutant) = maz::draw(index, random, &self.corpus, cyclic::program);
            let ast = prepared(&ast, random.number());
            attempts -= 1;
            if attempts == 0 || in_c(&ast, 0).is_ok() && expectation(&ast).is_ok() {
                return (ast, mutant);
            }
        }
    }

    fn check(&self, ast: &Ast, seed: u64) -> Checked {
        let batch = [(ast.clone(), seed)];
        self.check_batch(&batch).next().unwrap_or(Checked::TooLarge)
    }

    fn check_batch<'a>(&'a self, batch: &'a [(Ast, u64)]) -> Box<dyn Iterator<Item = Checked> + 'a> {
        let mut programs = Vec::new();
        let mut enter = |ast| {
            let expected = expectation(ast)?;
            let program = in_c(ast, programs.len()).map_err(Checked::Unfit)?;
            // So that what shared variables hold in the end can be asked.
            programs.push(program.replacen("static volatile long v_", "volatile long v_", 1));
            Ok((programs.len() - 1, expected))
        };
        let entries: Vec<Result<(usize, Reachable), Checked>> =
            batch.iter().map(|(ast, _)| enter(ast)).collect();
        let built = match self.compiler.compiled(&file_of(&programs), batch.first().map_or(0, |one| one.1)) {
            Ok(built) => built,
            Err(why) if batch.len() == 1 => {
                return Box::new(std::iter::once(Checked::Breaks(Broken::law(why))));
            }
            // One by one: that which can't be compiled is found so.
            Err(_) => return Box::new(batch.iter().map(|(ast, seed)| self.check(ast, *seed))),
        };
        Box::new(entries.into_iter().zip(batch).map(move |(entry, (_, seed))| match entry {
            Ok((number, truth)) => self.judge(&built, number, &truth, *seed),
            Err(checked) => checked,
        }))
    }

    fn corpus(&self) -> Option<String> {
        Some(format!("corpus of {} programs with loops", self.corpus.len()))
    }

    fn summary(&self, outcome: &Outcome<Ast>) -> String {
        let Outcome { held, mutants, classes, too_large, .. } = outcome;
        let Tally { livelocks, deadlocks, failures, states, stopped } = &self.tally;
        let number = |count: &AtomicU64| count.load(Relaxed);
        format!(
            "{held} C programs with cycles ({mutants} mutants of the corpus) in {:.1} s: they do what the \
             language does, under optimal in {} orders, half of them with snapshots\n\
             {} states of the language, {classes} complete and {} stopped executions in C\n\
             {} can livelock, {} deadlock, {} fail otherwise\n\
             {too_large} have too many executions, or too long ones{}",
            outcome.time.as_secs_f64(),
            self.orders + 1,
            number(states),
            number(stopped),
            number(livelocks),
            number(deadlocks),
            number(failures),
            outcome.unfit_lines("left out")
        )
    }

    fn options(&self) -> String {
        let compiler = self.compiler.name.as_ref().map_or(String::new(), |name| format!(" --cc {name}"));
        format!(" --native --loops{compiler} --orders {}", self.orders)
    }
}

/// What a program can come to in the language; else why that can't be compared.
fn expectation(ast: &Ast) -> Result<Reachable, Checked> {
    let litmus = compile(ast, &Source::default(), &[]).map_err(|_| Checked::Unfit(NOT_A_PROGRAM))?;
    let truth = match reachable(&every_poll_a_step(&litmus), MOST_STATES) {
        Ok(truth) if truth.cyclic => truth,
        Ok(_) => return Err(Checked::Unfit("having no cycle")),
        Err(TooMuch::States) => return Err(Checked::Unfit("too many states")),
        Err(_) => return Err(Checked::TooLarge),
    };
    if truth.failures.iter().any(|(kind, _)| *kind == FailureKind::Hang) {
        return Err(Checked::Unfit("an endless local loop"));
    }
    // In C that is the end of the program; in the language the others go on.
    let not_held = |(kind, message): &(FailureKind, String)| {
        *kind == FailureKind::InvalidSync && !message.contains("holds no process")
    };
    match truth.failures.iter().any(not_held) {
        true => Err(Checked::Unfit("a lock that is not held")),
        false => Ok(truth),
    }
}

impl CLoops {
    /// Checks all laws on a program of a file.
    fn judge(&self, built: &Built, number: usize, truth: &Reachable, seed: u64) -> Checked {
        let mut known: Option<Counts> = None;
        let shared = truth.ends.iter().next().map_or(0, |state| state.shared.len());
        let program = match loaded(built, number, seed.is_multiple_of(2)) {
            Ok(program) => program,
            Err(law) => return Checked::Breaks(Broken::law(law)),
        };
        for at in 0..=self.orders {
            let order =
                if at == 0 { Order::Natural } else { Order::Shuffled(seed.wrapping_mul(61 + at) | 1) };
            let broken = |law: String| Checked::Breaks(Broken::by(Algorithm::Optimal, order)(law));
            let mut seen = Seen { number, shared, ..Seen::default() };
            let counts = match search(&program, order, self.rules, &mut seen) {
                Err(law) => return broken(law),
                Ok(None) if known.is_none() || seen.found_out => return Checked::TooLarge,
                Ok(None) => return broken("more executions than in another order".to_owned()),
                Ok(Some(counts)) => counts,
            };
            if seen.failures.contains(GIVEN_UP) {
                return Checked::Unfit(GIVEN_UP);
            }
            if seen.hangs {
                return Checked::Unfit("hanging in C, in a loop that others can't notice");
            }
            if let Some(known) = known.filter(|_| !seen.found_out)
                && (counts.complete, counts.stopped) != (known.complete, known.stopped)
            {
                return broken(format!(
                    "{} complete and {} stopped executions, in another order {} and {}",
                    counts.complete, counts.stopped, known.complete, known.stopped
                ));
            }
            known = Some(counts);
            if let Err(law) = seen.equals(truth) {
                return broken(law);
            }
        }
        let counts = known.unwrap_or_default();
        let Tally { livelocks, deadlocks, failures, states, stopped } = &self.tally;
        let count = |tally: &AtomicU64, number: u64| _ = tally.fetch_add(number, Relaxed);
        count(livelocks, u64::from(truth.livelock == Livelock::Yes));
        count(deadlocks, u64::from(!truth.deadlocks.is_empty()));
        count(failures, u64::from(!truth.failures.is_empty()));
        count(states, truth.states as u64);
        count(stopped, counts.stopped);
        Checked::Holds(counts.complete as usize)
    }
}

/// A program of a file.
fn loaded(built: &Built, number: usize, snapshots: bool) -> Result<Native, String> {
    let options = runtime::Options {
        races: Races::Sc,
        main_exits: MainExits::Thread,
        arguments: vec![number.to_string()],
        self_check: 1,
        snapshots,
        ..runtime::Options::default()
    };
    load(built, options)
}

/// Searches a program; nothing if there is too much to look at.
fn search(program: &Native, order: Order, rules: Rules, seen: &mut Seen) -> Result<Option<Counts>, String> {
    let options = Options { limits: LIMITS, order, rules, keep_going: true, ..Options::default() };
    let summary = explore(program, Algorithm::Optimal, &options, seen);
    match (summary.not_exhaustive, summary.broken) {
        (Some(NotExhaustive::Executions(_) | NotExhaustive::Depth(_)), _) => Ok(None),
        (_, Some(failure)) => Err(format!("broken: {}", failure.message)),
        (Some(reason), None) => Err(format!("not exhaustive: {reason}")),
        (None, None) if summary.counts.blocked > 0 => {
            Err(format!("{} executions ended blocked", summary.counts.blocked))
        }
        (None, None) => Ok(Some(summary.counts)),
    }
}

/// Who waits, and what shared variables hold then.
type Waiting = (Vec<Vec<u32>>, Vec<i64>);

/// What a search has shown.
#[derive(Default)]
struct Seen {
    /// The number of the program in its file, and how many shared variables it has.
    number: usize,
    shared: usize,
    ends: BTreeSet<Vec<i64>>,
    deadlocks: BTreeSet<Waiting>,
    failures: BTreeSet<String>,
    livelock: bool,
    /// Whether somebody comes to nothing any more that others could notice.
    hangs: bool,
    /// Whether something was found out that made the search begin again.
    found_out: bool,
}

impl Seen {
    fn equals(&self, truth: &Reachable) -> Result<(), String> {
        let ends: BTreeSet<Vec<i64>> = truth.ends.iter().map(|state| state.shared.clone()).collect();
        same("final values", &self.ends, &ends)
            .map_err(|law| format!("{law}: {:?}, not {ends:?}", self.ends))?;
        let shared = |(who, state): &mazurka_oracle::Deadlock| {
            let mut who = who.clone();
            who.sort();
            (who, state.as_ref().map_or(Vec::new(), |state| state.shared.clone()))
        };
        let deadlocks: BTreeSet<Waiting> = truth.deadlocks.iter().map(shared).collect();
        same("deadlocks", &self.deadlocks, &deadlocks)
            .map_err(|law| format!("{law}: {:?}, not {deadlocks:?}", self.deadlocks))?;
        let failures: BTreeSet<String> =
            truth.failures.iter().map(|(kind, message)| failure_name(*kind, message)).collect();
        same("failures", &self.failures, &failures)
            .map_err(|law| format!("{law}: {:?}, not {failures:?}", self.failures))?;
        match (self.livelock, truth.livelock) {
            (true, Livelock::No) => Err("a livelock is told, and there is none".to_owned()),
            (false, Livelock::Yes) => Err("a livelock is missed".to_owned()),
            _ => Ok(()),
        }
    }

    /// What the shared variables hold.
    fn values(&self, run: &NativeRun) -> Vec<i64> {
        let name = CString::new(format!("v_{}", self.number)).unwrap_or_default();
        run.words_of(&name, self.shared).unwrap_or_default()
    }
}

impl Monitor<NativeRun> for Seen {
    fn execution(&mut self, ending: Ending, _: &Trace, run: &NativeRun, _: &Counts) -> ControlFlow<()> {
        let printed = String::from_utf8_lossy(run.output()).into_owned();
        self.failures.extend(printed.lines().map(str::to_owned));
        // Who only looks, and nobody is left to change that.
        let spins = run.failures().iter().any(|failure| failure.kind == FailureKind::Livelock);
        self.hangs |= run.failures().iter().any(|failure| failure.kind == FailureKind::Hang);
        let others = run.failures().iter().filter(|failure| failure.kind != FailureKind::Livelock);
        self.failures.extend(others.map(|failure| format!("{}: {}", failure.kind.name(), failure.message)));
        match ending {
            Ending::Complete { .. } if spins => self.livelock = true,
            Ending::Complete { .. } => {
                let values = self.values(run);
                if let Some((paths, _)) = deadlock(run) {
                    let mut waiting: Vec<Vec<u32>> =
                        paths.iter().filter_map(|path| path.get(1..).map(<[u32]>::to_vec)).collect();
                    waiting.sort();
                    self.deadlocks.insert((waiting, values.clone()));
                }
                self.ends.insert(values);
            }
            Ending::Stopped { livelock } => self.livelock |= livelock,
            Ending::Assumed | Ending::Blocked | Ending::Cut => {}
        }
        ControlFlow::Continue(())
    }

    fn begin_again(&mut self) {
        *self = Seen { number: self.number, shared: self.shared, found_out: true, ..Seen::default() };
    }
}
