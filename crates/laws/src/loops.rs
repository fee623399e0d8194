//! Programs with executions that need not end, against all states that they can reach.
//!
//! 1. Complete executions end in exactly the states in which nobody can go on, in exactly the deadlocks, and
//!    exactly what can fail does.
//! 2. A livelock is told exactly if some state has no way to an end.
//! 3. The search ends, and says that it looked at everything. No execution is longer than twice what
//!    processes can do without coming to a state again, each by itself.
//! 4. `optimal` has no execution twice, complete or stopped, and blocks nothing; `source` and
//!    `source+context` have none twice.
//! 5. The executions of `optimal`, complete and stopped, do not depend on the order of choices.
//!
//! Who polls goes round in the search of states; in the others it may wait meanwhile.
//! Of `optimal+observers` and `reads-from` law 1 is asked as far as processes know of an end.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use mazurka_explore::{
    Algorithm, Counts, Ending, Limits, Monitor, NotExhaustive, Options, Order, Stopped, StoppedBy, explore,
};
use mazurka_litmus::ast::Ast;
use mazurka_litmus::{LabelRules, Litmus};
use mazurka_oracle::{Deadlock, Failed, Livelock, Reachable, TooMuch, deadlock, reachable};
use mazurka_program::{Run, State};
use mazurka_trace::Trace;
use mazurka_trace::equivalence::{self, Key};

use crate::campaign::{Broken, Checked, FuzzTarget, NOT_A_PROGRAM, Outcome};
use crate::corpus::Seed;
use crate::laws::{compiled, in_orders, same};
use crate::random::Random;
use crate::{Build, cyclic, maz};

/// In how many orders a program is searched by `optimal`, besides the natural one.
pub const ORDERS: u64 = 4;

/// Programs with more states are left out.
const MOST_STATES: usize = 1_500;

/// Programs with more executions than this, or longer ones, are left out.
const LIMITS: Limits =
    Limits { executions: Some(400), time: None, memory: None, depth: 300, unroll: MOST_UNROLLED };

/// No process comes so often to one place: a search that lets it does not end.
const MOST_UNROLLED: usize = 200;

/// Algorithms that may have many more executions than `optimal` are given up sooner: a program counts all the
/// same, and the summary tells how many each has judged.
const FEW_EXECUTIONS: Limits = Limits { executions: Some(200), ..LIMITS };

/// `convergent` goes through all states where there is a cycle, perhaps all in a row, and ends executions
/// where a step leads to a known one.
const BY_STATES: Limits = Limits { executions: None, depth: MOST_STATES, ..LIMITS };

/// Why a program is left out.
const TOO_MANY_STATES: &str = "too many states";
const TOO_MANY_EXECUTIONS: &str = "too many executions, or too long ones";
const NO_CYCLE: &str = "having no cycle";

/// Random programs with loops, half of them mutants.
#[derive(Debug)]
pub struct Loops {
    /// What mutants are made of.
    pub corpus: Vec<Seed>,
    /// How they are checked.
    pub laws: LoopLaws,
    tally: Tally,
}

/// How programs with loops are checked.
#[derive(Clone, Copy, Debug)]
pub struct LoopLaws {
    /// What is checked.
    pub build: Build,
    /// One algorithm to check by itself; `optimal` is what others are compared with.
    pub only: Option<Algorithm>,
    /// In how many orders besides the natural one.
    pub orders: u64,
}

impl Default for LoopLaws {
    fn default() -> LoopLaws {
        LoopLaws { build: Build::default(), only: None, orders: ORDERS }
    }
}

/// What the programs were on which all laws hold.
#[derive(Debug, Default)]
struct Tally {
    by_processes: [AtomicU64; 5],
    livelocks: AtomicU64,
    deadlocks: AtomicU64,
    failures: AtomicU64,
    states: AtomicU64,
    stopped: AtomicU64,
    /// How many each of [`JUDGED`] has searched to the end.
    judged: [AtomicU64; JUDGED.len()],
}

/// A program on which all laws hold.
struct Held {
    truth: Reachable,
    /// Of `optimal`.
    counts: Counts,
    /// The algorithms that have searched it to the end, in all orders.
    judged: Vec<Algorithm>,
}

impl Loops {
    /// Programs of which some are mutants of these.
    pub fn of(corpus: Vec<Seed>, laws: LoopLaws) -> Loops {
        Loops { corpus, laws, tally: Tally::default() }
    }
}

impl FuzzTarget for Loops {
    type Program = Ast;

    fn draw(&self, index: u64, random: &mut Random) -> (Ast, bool) {
        maz::draw(index, random, &self.corpus, cyclic::program)
    }

    fn check(&self, ast: &Ast, seed: u64) -> Checked {
        match self.laws.checked(ast, seed) {
            Err(checked) => checked,
            Ok(held) => {
                self.tally.add(&held);
                Checked::Holds(held.counts.complete as usize)
            }
        }
    }

    fn corpus(&self) -> Option<String> {
        Some(format!("corpus of {} programs with loops", self.corpus.len()))
    }

    fn summary(&self, outcome: &Outcome<Ast>) -> String {
        let Outcome { held, mutants, classes, .. } = outcome;
        let Tally { by_processes, livelocks, deadlocks, failures, states, stopped, judged } = &self.tally;
        let (seconds, rest) = (outcome.time.as_secs_f64(), outcome.unfit_lines("left out"));
        let judged = JUDGED.iter().zip(judged).map(|(algorithm, count)| (algorithm, count.load(Relaxed)));
        let judged = judged.filter(|(_, count)| *count > 0);
        let judged: Vec<String> = judged.map(|(algorithm, count)| format!("{algorithm} {count}")).collect();
        let number = |count: &AtomicU64| count.load(Relaxed);
        let [.., two, three, four] = by_processes.each_ref().map(number);
        format!(
            "{held} programs with cycles ({mutants} mutants of the corpus; {two} of two processes, \
             {three} of three, {four} of four or more) in {seconds:.1} s, under optimal in {} orders\n\
             searched to the end: {}\n\
             {} states, {classes} complete and {} stopped executions\n\
             {} can livelock, {} deadlock, {} fail otherwise{rest}",
            self.laws.orders + 1,
            judged.join(", "),
            number(states),
            number(stopped),
            number(livelocks),
            number(deadlocks),
            number(failures),
        )
    }

    fn options(&self) -> String {
        let only = self.laws.only.map_or_else(String::new, |only| format!(" --only {only}"));
        format!(" --loops{only} --orders {}", self.laws.orders)
    }
}

impl Tally {
    fn add(&self, Held { truth, counts, judged }: &Held) {
        let count = |tally: &AtomicU64, number: u64| _ = tally.fetch_add(number, Relaxed);
        count(&self.by_processes[truth.processes.min(4)], 1);
        count(&self.livelocks, u64::from(truth.livelock == Livelock::Yes));
        count(&self.deadlocks, u64::from(!truth.deadlocks.is_empty()));
        count(&self.failures, u64::from(!truth.failures.is_empty()));
        count(&self.states, truth.states as u64);
        count(&self.stopped, counts.stopped);
        let judged = JUDGED.iter().zip(&self.judged).filter(|(algorithm, _)| judged.contains(algorithm));
        judged.for_each(|(_, tally)| count(tally, 1));
    }
}

/// The algorithms that are compared with what can be reached.
const JUDGED: [Algorithm; 10] = [
    Algorithm::Naive,
    Algorithm::Source,
    Algorithm::Optimal,
    Algorithm::WakeUp,
    Algorithm::SourceContext,
    Algorithm::Convergent,
    Algorithm::OptimalObservers,
    Algorithm::SourceConstraints,
    Algorithm::ConvergentConstraints,
    Algorithm::ReadsFrom,
];

impl LoopLaws {
    /// Checks all laws on a program with loops. The seed draws orders.
    pub fn check(&self, ast: &Ast, seed: u64) -> Checked {
        match self.checked(ast, seed) {
            Ok(held) => Checked::Holds(held.counts.complete as usize),
            Err(checked) => checked,
        }
    }

    /// Checks all laws on a program with loops; what it is, if they hold.
    fn checked(&self, ast: &Ast, seed: u64) -> Result<Held, Checked> {
        let program = compiled(ast, self.build).ok_or(Checked::Unfit(NOT_A_PROGRAM))?;
        let truth = match reachable(&every_poll_a_step(&program), MOST_STATES) {
            Ok(truth) if truth.cyclic => truth,
            Ok(_) => return Err(Checked::Unfit(NO_CYCLE)),
            Err(TooMuch::States) => return Err(Checked::Unfit(TOO_MANY_STATES)),
            Err(_) => return Err(Checked::TooLarge),
        };
        let counts = self.optimal(&program, &truth, seed)?;
        let judged = self.others(&program, &truth, seed)?;
        Ok(Held { truth, counts, judged })
    }

    /// The laws of `optimal` and `wake-up`, in all orders; their counts. In two orders executions are compared as
    /// classes, which takes longer than the search: in the first one is found out how many there are.
    fn optimal(&self, program: &Litmus, truth: &Reachable, seed: u64) -> Result<Counts, Checked> {
        let orders: Vec<u64> = (0..=self.orders).rev().collect();
        let wake_up: Vec<u64> = (7..7 + self.orders).chain([0]).collect();
        let wake_up = if self.asks(Algorithm::WakeUp) { &wake_up[..] } else { &[] };
        let mut first: Option<Counts> = None;
        let mut classes: Option<BTreeSet<Key>> = None;
        for (algorithm, order) in
            in_orders(seed.wrapping_mul(53), &[(Algorithm::Optimal, &orders), (Algorithm::WakeUp, wake_up)])
        {
            let broken = |law| Checked::Breaks(Broken::by(algorithm, order)(law));
            let once = first.is_some() && (order == Order::Natural || classes.is_none());
            let judged = self.obeys(program, truth, algorithm, order, Search { once, limits: LIMITS });
            let (counts, seen) = match (judged.map_err(broken)?, first) {
                (None, None) => return Err(Checked::Unfit(TOO_MANY_EXECUTIONS)),
                (None, Some(_)) => return Err(broken("more executions than in another order".to_owned())),
                (Some(judged), _) => judged,
            };
            if counts.blocked > 0 {
                return Err(broken(format!("{} executions ended blocked", counts.blocked)));
            }
            equal(&counts, first.get_or_insert(counts)).map_err(broken)?;
            if once {
                let known = classes.get_or_insert_with(|| seen.classes.clone());
                same("classes of another order", &seen.classes, known).map_err(broken)?;
            }
        }
        first.ok_or(Checked::TooLarge)
    }

    /// The laws of the other algorithms; those that have looked at everything, `optimal` among them.
    fn others(&self, program: &Litmus, truth: &Reachable, seed: u64) -> Result<Vec<Algorithm>, Checked> {
        let mut judged = JUDGED.to_vec();
        judged.retain(|&algorithm| self.asks(algorithm));
        let table: [(Algorithm, &[u64]); 8] = [
            (Algorithm::Naive, &[0]),
            (Algorithm::Source, &[0, 3]),
            (Algorithm::SourceContext, &[4]),
            (Algorithm::Convergent, &[0, 5]),
            (Algorithm::OptimalObservers, &[6]),
            (Algorithm::SourceConstraints, &[0, 11]),
            (Algorithm::ConvergentConstraints, &[0, 12]),
            (Algorithm::ReadsFrom, &[0, 13]),
        ];
        for (algorithm, order) in in_orders(seed.wrapping_mul(59), &table).filter(|(a, _)| self.asks(*a)) {
            let broken = |law| Checked::Breaks(Broken::by(algorithm, order)(law));
            let once = order == Order::Natural && algorithm == Algorithm::Source
                || algorithm == Algorithm::SourceContext;
            let limits = match algorithm {
                Algorithm::Convergent | Algorithm::ConvergentConstraints => BY_STATES,
                _ => FEW_EXECUTIONS,
            };
            let search = Search { once, limits };
            if self.obeys(program, truth, algorithm, order, search).map_err(broken)?.is_none() {
                judged.retain(|&other| other != algorithm);
            }
        }
        Ok(judged)
    }

    fn asks(&self, algorithm: Algorithm) -> bool {
        self.only.is_none_or(|only| only == algorithm) || algorithm == Algorithm::Optimal
    }

    /// Laws 1 to 4 for one algorithm in one order; what it showed, or none if there is too much to look at.
    fn obeys(
        &self,
        program: &Litmus,
        truth: &Reachable,
        algorithm: Algorithm,
        order: Order,
        search: Search,
    ) -> Result<Option<(Counts, Seen)>, String> {
        let options = Options { order, rules: self.build.rules, limits: search.limits, ..Options::default() };
        let mut seen = Seen { once: search.once, ..Seen::default() };
        let summary = explore(program, algorithm, &options, &mut seen);
        if let Some(law) = seen.broken {
            return Err(law);
        }
        match summary.not_exhaustive {
            // What is not proved has to hold all the same.
            None | Some(NotExhaustive::NotProved) => {}
            Some(NotExhaustive::Depth(most)) if most >= 2 * truth.processes * truth.states => {
                return Err(format!("an execution of {most} steps among {} states", truth.states));
            }
            Some(NotExhaustive::Executions(_) | NotExhaustive::Depth(_)) => return Ok(None),
            Some(reason) => return Err(format!("not exhaustive: {reason}")),
        }
        if let Some(failure) = summary.broken {
            return Err(format!("broken: {}", failure.message));
        }
        match algorithm {
            Algorithm::OptimalObservers | Algorithm::ReadsFrom => seen.knows(truth)?,
            _ => seen.equals(truth)?,
        }
        Ok(Some((summary.counts, seen)))
    }
}

/// How a search is judged.
#[derive(Clone, Copy)]
struct Search {
    /// Whether no execution may be there twice: to find that out takes longer than the search.
    once: bool,
    limits: Limits,
}

/// The same program, in which who polls goes round and does not wait.
pub fn every_poll_a_step(program: &Litmus) -> Litmus {
    program.clone().with_rules(LabelRules { polls_wait: false, ..LabelRules::default() })
}

/// Law 5.
fn equal(counts: &Counts, first: &Counts) -> Result<(), String> {
    let told = |counts: &Counts| {
        let Counts { complete, stopped, assumed, .. } = counts;
        format!("{complete} complete, {stopped} stopped and {assumed} assumed executions")
    };
    match told(counts) == told(first) {
        true => Ok(()),
        false => Err(format!("{}, in another order {}", told(counts), told(first))),
    }
}

/// What a search has shown.
#[derive(Default)]
struct Seen {
    /// Whether executions are told apart, and none may be there twice.
    once: bool,
    classes: BTreeSet<Key>,
    ends: BTreeSet<State>,
    deadlocks: BTreeSet<Deadlock>,
    failures: BTreeSet<Failed>,
    livelock: bool,
    broken: Option<String>,
}

impl Seen {
    /// Laws 1 and 2.
    fn equals(&self, truth: &Reachable) -> Result<(), String> {
        same("final states", &self.ends, &truth.ends)?;
        same("deadlocks", &self.deadlocks, &truth.deadlocks)?;
        self.fails(truth)
    }

    /// The same as far as processes know of it: neither what shared variables hold at the end nor the order
    /// of messages that nobody took is part of a class modulo observers.
    fn knows(&self, truth: &Reachable) -> Result<(), String> {
        let locals = |ends: &BTreeSet<State>| ends.iter().map(|state| state.local.clone()).collect();
        if !truth.sends {
            same("what processes know in the end", &locals(&self.ends), &locals(&truth.ends))?;
        }
        let waiting = |deadlocks: &BTreeSet<Deadlock>| deadlocks.iter().map(|(who, _)| who.clone()).collect();
        same("deadlocks", &waiting(&self.deadlocks), &waiting(&truth.deadlocks))?;
        self.fails(truth)
    }

    fn fails(&self, truth: &Reachable) -> Result<(), String> {
        same("failures", &self.failures, &truth.failures)
            .map_err(|law| format!("{law}: {:?}, not {:?}", self.failures, truth.failures))?;
        match (self.livelock, truth.livelock) {
            (true, Livelock::No) => Err("a livelock is told, and there is none".to_owned()),
            (false, Livelock::Yes) => Err("a livelock is missed".to_owned()),
            _ => Ok(()),
        }
    }

    /// Law 4, and what an execution shows.
    fn add(&mut self, ending: Ending, trace: &Trace, run: &impl Run) -> Result<(), String> {
        self.failures.extend(run.failures().iter().map(|failure| (failure.kind, failure.message.clone())));
        match ending {
            Ending::Complete { .. } => {
                self.ends.extend(run.states().map(|states| states.state()));
                self.deadlocks.extend(deadlock(run));
            }
            Ending::Stopped { livelock } => self.livelock |= livelock,
            Ending::Assumed => {}
            Ending::Blocked | Ending::Cut => return Ok(()),
        }
        match !self.once || self.classes.insert(equivalence::mazurkiewicz(trace, run.names())) {
            true => Ok(()),
            false => Err(format!("an execution of {} steps is there twice ({ending:?})", trace.len())),
        }
    }

    fn note(&mut self, law: Result<(), String>) -> ControlFlow<()> {
        match law {
            Ok(()) => ControlFlow::Continue(()),
            Err(law) => {
                self.broken.get_or_insert(law);
                ControlFlow::Break(())
            }
        }
    }
}

impl<R: Run> Monitor<R> for Seen {
    fn execution(&mut self, ending: Ending, trace: &Trace, run: &R, _: &Counts) -> ControlFlow<()> {
        if self.broken.is_some() {
            return ControlFlow::Break(());
        }
        let law = self.add(ending, trace, run);
        self.note(law)
    }

    /// Law 3: who is stopped for coming to one place too often has not been stopped by a round.
    fn stopped(&mut self, stopped: &[Stopped]) {
        if stopped.iter().any(|stopped| stopped.by == StoppedBy::Limit) {
            let law = format!("a process comes to one place more than {MOST_UNROLLED} times");
            self.broken.get_or_insert(law);
        }
    }

    fn begin_again(&mut self) {
        *self = Seen { once: self.once, ..Seen::default() };
    }
}
