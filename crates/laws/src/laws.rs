//! The laws.
//!
//! 1. Every class of the algorithm's equivalence is reached, and every failure, deadlock and final state.
//! 2. `optimal` completes no class twice and blocks nothing; `source` completes none twice.
//! 3. The counts of `optimal` do not depend on the numbering of processes nor on the order of choices.
//! 4. A random linearisation of an explored trace gives the same trace, the same labels and the same final state.
//! 5. The schedule of a failing execution, written down and read again, gives the failure again.
//!
//! And one about labels, on which all others stand: executions of one class end in one state.
//!
//! Where brute force gives up, all orders of `optimal` still have to find the same classes, each once, and `source` no
//! others: what an order loses, another one finds.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::ControlFlow;

use mazurka_explore::{
    Algorithm, Counts, Ending, Limits, Monitor, NotExhaustive, Options, Order, Rules, explore,
};
use mazurka_litmus::ast::{Ast, Item};
use mazurka_litmus::{LabelRules, Litmus, Source, compile};
use mazurka_oracle::{Budget, Deadlock, Failed, TooMuch, Truth, deadlock, truth};
use mazurka_program::{Footprints, Program, Run, Schedule, State, Step};
use mazurka_trace::equivalence::{self, Key};
use mazurka_trace::{HappensBefore, Trace};

use crate::observers;
use crate::random::Random;

/// What is checked: the algorithms as they are, or with a repair taken out.
#[derive(Clone, Copy, Debug, Default)]
pub struct Subject {
    /// The repairs of the algorithms.
    pub rules: Rules,
    /// The repairs of labels.
    pub labels: LabelRules,
}

/// A law that a program breaks.
#[derive(Clone, Debug)]
pub struct Broken {
    /// The algorithm, if one is to blame.
    pub algorithm: Option<Algorithm>,
    /// The order in which it tried things.
    pub order: Order,
    /// What is wrong.
    pub law: String,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.algorithm {
            Some(algorithm) => write!(f, "{algorithm} ({:?}): {}", self.order, self.law),
            None => f.write_str(&self.law),
        }
    }
}

/// What became of a program.
#[derive(Clone, Debug)]
pub enum Checked {
    /// It does not compile.
    Invalid,
    /// Brute force gives up, and there are too many executions even so.
    TooLarge,
    /// Brute force gives up, but the algorithms agree in all orders.
    Agrees,
    /// All laws hold; it has so many Mazurkiewicz classes.
    Holds(usize),
    /// A law is broken.
    Breaks(Broken),
}

const BUDGET: Budget = Budget { executions: 3_000, steps: 40 };

/// Checks all laws on a program. The seed draws orders and linearisations.
pub fn check(ast: &Ast, subject: Subject, seed: u64) -> Checked {
    let Some(program) = build(ast, subject) else { return Checked::Invalid };
    let truth = match truth(&program, BUDGET) {
        Ok(truth) => truth,
        Err(TooMuch::Executions) => return agreement(&program, subject, seed),
        Err(TooMuch::Steps | TooMuch::Program) => return Checked::TooLarge,
    };
    match laws(ast, &program, &truth, subject, seed) {
        Ok(()) => Checked::Holds(truth.mazurkiewicz.len()),
        Err(broken) => Checked::Breaks(broken),
    }
}

/// At most so many executions of programs that are too large for brute force, and none longer than this: to compare executions
/// costs more than the square of their length.
const AGREED_LIMITS: Limits = Limits { executions: Some(2_000), time: None, memory: None, depth: 200 };

/// Fewer where many programs are looked at, in many orders each.
const SMALL_AGREED: u64 = 100;

/// The laws that need no oracle.
fn agreement(program: &Litmus, subject: Subject, seed: u64) -> Checked {
    let shuffled = |k: u64| Order::Shuffled(seed.wrapping_mul(37).wrapping_add(k) | 1);
    let mut known: Option<BTreeSet<Key>> = None;
    for (algorithm, order) in [
        (Algorithm::Optimal, Order::Natural),
        (Algorithm::Optimal, shuffled(1)),
        (Algorithm::Optimal, shuffled(2)),
        (Algorithm::Optimal, shuffled(3)),
        (Algorithm::Source, shuffled(4)),
    ] {
        let broken = |law| Checked::Breaks(Broken { algorithm: Some(algorithm), order, law });
        let mut seen = Seen::new(program, algorithm, seed);
        let options = Options { order, rules: subject.rules, limits: AGREED_LIMITS, ..Options::default() };
        let summary = explore(program, algorithm, &options, &mut seen);
        match (seen.broken, summary.not_exhaustive) {
            (Some(law), _) => return broken(law),
            (_, Some(NotExhaustive::Executions(_) | NotExhaustive::Depth(_))) => return Checked::TooLarge,
            (_, Some(reason)) => return broken(format!("not exhaustive: {reason}")),
            (None, None) => {}
        }
        let found: BTreeSet<Key> = seen.complete.iter().cloned().collect();
        if algorithm == Algorithm::Optimal && found.len() != seen.complete.len() {
            return broken(format!("{} executions for {} classes", seen.complete.len(), found.len()));
        }
        if let Err(law) = same("classes of other orders", &found, known.get_or_insert_with(|| found.clone()))
        {
            return broken(law);
        }
    }
    let orders = [Order::Natural, shuffled(5), shuffled(6), shuffled(7)];
    observers_agree(program, AGREED_LIMITS, subject, &orders, seed)
}

fn observers_agree(
    program: &Litmus,
    limits: Limits,
    subject: Subject,
    orders: &[Order],
    seed: u64,
) -> Checked {
    let options = Options { rules: subject.rules, limits, ..Options::default() };
    match observers::agree(program, &options, orders, seed) {
        Some(Ok(())) => Checked::Agrees,
        Some(Err((order, law))) => {
            let algorithm = Some(Algorithm::OptimalObservers);
            Checked::Breaks(Broken { algorithm, order, law })
        }
        None => Checked::TooLarge,
    }
}

/// One algorithm that is checked by itself, so that more programs can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Only {
    /// Which.
    pub algorithm: Algorithm,
    /// Whether states are told without their dead variables.
    pub dead_variables: bool,
    /// In how many orders.
    pub orders: u64,
}

impl fmt::Display for Only {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let without = if self.dead_variables { " without dead variables" } else { "" };
        write!(f, "{}{without}, in {} orders each", self.algorithm, self.orders)
    }
}

/// Programs that brute force takes about a millisecond for.
const SMALL: Budget = Budget { executions: 150, steps: 30 };

/// Checks the laws of one algorithm, in several orders, on a small program. Where brute force gives up, all orders of
/// `optimal+observers` still have to find the same classes.
pub fn check_only(ast: &Ast, only: Only, subject: Subject, seed: u64) -> Checked {
    let Some(mut program) = build(ast, subject) else { return Checked::Invalid };
    if only.dead_variables {
        program = program.without_dead_variables();
    }
    let orders = (0..only.orders).map(|k| match k {
        0 => Order::Natural,
        k => Order::Shuffled(seed.wrapping_mul(43).wrapping_add(2 * k) | 1),
    });
    let truth = match truth(&program, SMALL) {
        Ok(truth) => truth,
        Err(TooMuch::Executions) if only.algorithm == Algorithm::OptimalObservers => {
            let limits = Limits { executions: Some(SMALL_AGREED), ..AGREED_LIMITS };
            return observers_agree(&program, limits, subject, &orders.collect::<Vec<_>>(), seed);
        }
        Err(_) => return Checked::TooLarge,
    };
    for order in orders {
        let result = match only.algorithm {
            Algorithm::OptimalObservers => {
                let rules = subject.rules;
                let options = Options { order, rules, limits: within(&truth), ..Options::default() };
                observers::obeys(&program, &truth, &options, seed)
            }
            algorithm => obeys(&program, &truth, subject.rules, algorithm, order, seed),
        };
        if let Err(law) = result {
            return Checked::Breaks(Broken { algorithm: Some(only.algorithm), order, law });
        }
    }
    Checked::Holds(truth.mazurkiewicz.len())
}

fn build(ast: &Ast, subject: Subject) -> Option<Litmus> {
    let program = compile(ast, &Source::default(), &[]).ok()?;
    Some(program.with_rules(subject.labels))
}

fn laws(ast: &Ast, program: &Litmus, truth: &Truth, subject: Subject, seed: u64) -> Result<(), Broken> {
    if !truth.inconsistent.is_empty() {
        let law = "two executions of one class end in different states".to_owned();
        return Err(Broken { algorithm: None, order: Order::Natural, law });
    }
    let shuffled = |k: u64| Order::Shuffled(seed.wrapping_mul(31).wrapping_add(k) | 1);
    for (algorithm, order) in [
        (Algorithm::Naive, Order::Natural),
        (Algorithm::Optimal, Order::Natural),
        (Algorithm::Optimal, shuffled(1)),
        (Algorithm::Optimal, shuffled(2)),
        (Algorithm::Source, Order::Natural),
        (Algorithm::Source, shuffled(3)),
        (Algorithm::Source, shuffled(4)),
        (Algorithm::SourceContext, Order::Natural),
        (Algorithm::SourceContext, shuffled(5)),
        (Algorithm::SourceContext, shuffled(6)),
        (Algorithm::Convergent, Order::Natural),
        (Algorithm::Convergent, shuffled(7)),
        (Algorithm::Convergent, shuffled(8)),
    ] {
        obeys(program, truth, subject.rules, algorithm, order, seed).map_err(|law| Broken {
            algorithm: Some(algorithm),
            order,
            law,
        })?;
    }
    let algorithm = Some(Algorithm::OptimalObservers);
    for order in [Order::Natural, shuffled(9), shuffled(10), shuffled(11), shuffled(12)] {
        let options = Options { order, rules: subject.rules, limits: within(truth), ..Options::default() };
        observers::obeys(program, truth, &options, seed).map_err(|law| Broken { algorithm, order, law })?;
    }
    without_dead_variables(program, subject, seed)?;
    renumbered(ast, subject, truth, seed).map_err(|(algorithm, law)| Broken {
        algorithm: Some(algorithm),
        order: Order::Natural,
        law,
    })
}

/// The laws of `convergent` where states are told without their dead variables.
fn without_dead_variables(program: &Litmus, subject: Subject, seed: u64) -> Result<(), Broken> {
    if !seed.is_multiple_of(3) {
        return Ok(());
    }
    let program = program.clone().without_dead_variables();
    // What brute force could do once, it can do again.
    let Ok(truth) = truth(&program, BUDGET) else { return Ok(()) };
    for order in [Order::Natural, Order::Shuffled(seed.wrapping_mul(47) | 1)] {
        obeys(&program, &truth, subject.rules, Algorithm::Convergent, order, seed).map_err(|law| Broken {
            algorithm: Some(Algorithm::Convergent),
            order,
            law: format!("without dead variables: {law}"),
        })?;
    }
    Ok(())
}

/// Laws 1, 2, 4 and 5 for one algorithm in one order.
pub(crate) fn obeys<P: Program>(
    program: &P,
    truth: &Truth,
    rules: Rules,
    algorithm: Algorithm,
    order: Order,
    seed: u64,
) -> Result<(), String> {
    let mut seen = Seen::new(program, algorithm, seed);
    let options = Options { order, rules, limits: within(truth), ..Options::default() };
    let summary = explore(program, algorithm, &options, &mut seen);
    if let Some(reason) = summary.not_exhaustive {
        return Err(seen.broken.unwrap_or_else(|| format!("not exhaustive: {reason}")));
    }
    if let Some(failure) = summary.broken {
        return Err(format!("broken: {}", failure.message));
    }
    let classes: BTreeSet<&Key> = truth.mazurkiewicz.keys().collect();
    if !algorithm.compares_states() {
        same("complete classes", &seen.complete.iter().collect(), &classes)?;
        same("assumed classes", &seen.assumed, &truth.assumed)?;
    }
    same("final states", &seen.states, &truth.states)?;
    let told = |failures: &BTreeSet<Failed>| match algorithm.compares_states() {
        true => failures.iter().map(without_names).collect(),
        false => failures.clone(),
    };
    same("failures", &told(&seen.failures), &told(&truth.failures))
        .map_err(|law| format!("{law}: {:?}, not {:?}", seen.failures, truth.failures))?;
    if algorithm.compares_states() {
        // Up to renaming: who waits under another name waits in the same state.
        let states = |deadlocks: &BTreeSet<Deadlock>| -> BTreeSet<Option<State>> {
            deadlocks.iter().map(|(_, state)| state.clone()).collect()
        };
        same("deadlocks", &states(&seen.deadlocks), &states(&truth.deadlocks))?;
        if seen.assumed.is_empty() != truth.assumed.is_empty() {
            return Err("assumed executions: all of them missed".to_owned());
        }
    } else {
        same("deadlocks", &seen.deadlocks, &truth.deadlocks)?;
    }
    let counts = summary.counts;
    match algorithm {
        Algorithm::Naive if counts.complete + counts.assumed != truth.interleavings => {
            Err(format!("{} of {} interleavings", counts.complete + counts.assumed, truth.interleavings))
        }
        Algorithm::Optimal if counts.blocked > 0 => {
            Err(format!("{} executions ended blocked", counts.blocked))
        }
        Algorithm::Optimal if counts.complete != classes.len() as u64 => {
            Err(format!("{} executions for {} classes", counts.complete, classes.len()))
        }
        Algorithm::Optimal if counts.assumed != truth.assumed.len() as u64 => {
            Err(format!("{} executions for {} assumed classes", counts.assumed, truth.assumed.len()))
        }
        Algorithm::Source | Algorithm::SourceContext
            if counts.complete + counts.assumed != seen.static_classes.len() as u64 =>
        {
            Err(format!("{} executions for {} classes", counts.complete, seen.static_classes.len()))
        }
        Algorithm::Convergent if counts.complete != truth.states.len() as u64 => {
            Err(format!("{} executions for {} final states", counts.complete, truth.states.len()))
        }
        _ => Ok(()),
    }
}

/// A failure without the name of who failed: where states are equal up to renaming, one name will do.
fn without_names((kind, message): &Failed) -> Failed {
    let known = message.split_once(" leaves ").map_or(message.as_str(), |(what, _)| what);
    (*kind, known.to_owned())
}

/// No algorithm may need more executions than there are interleavings, each perhaps cut somewhere; a broken one may never
/// end.
pub(crate) fn within(truth: &Truth) -> Limits {
    Limits { executions: Some(100 + 2 * truth.interleavings), ..Limits::default() }
}

pub(crate) fn same<T: Ord>(what: &str, found: &BTreeSet<T>, expected: &BTreeSet<T>) -> Result<(), String> {
    if found == expected {
        return Ok(());
    }
    let missed = expected.difference(found).count();
    let invented = found.difference(expected).count();
    Err(format!("{what}: {missed} of {} missed, {invented} invented", expected.len()))
}

/// Law 3: the numbering of processes does not matter to the counts of `optimal` and `optimal+observers`.
fn renumbered(ast: &Ast, subject: Subject, truth: &Truth, seed: u64) -> Result<(), (Algorithm, String)> {
    let mut permuted = ast.clone();
    let places: Vec<usize> =
        (0..ast.items.len()).filter(|&i| matches!(ast.items[i], Item::Process(_))).collect();
    let mut random = Random::new(seed ^ 0x5EED);
    for k in (1..places.len()).rev() {
        permuted.items.swap(places[k], places[random.below(k + 1)]);
    }
    // A process that names a later one does not compile in every order.
    let Some(program) = build(&permuted, subject) else { return Ok(()) };
    let options = Options { rules: subject.rules, limits: within(truth), ..Options::default() };
    for (algorithm, expected) in [
        (Algorithm::Optimal, truth.mazurkiewicz.len() as u64),
        (Algorithm::OptimalObservers, truth.observers.len() as u64),
    ] {
        let counts = explore(&program, algorithm, &options, &mut mazurka_explore::NoMonitor).counts;
        if counts.complete != expected {
            let law = format!(
                "{} complete executions with processes numbered otherwise, not {expected}",
                counts.complete
            );
            return Err((algorithm, law));
        }
    }
    Ok(())
}

/// What an algorithm has shown.
struct Seen<R> {
    algorithm: Algorithm,
    /// A run of its own, with dynamic footprints, on which executions are repeated.
    replay: R,
    random: Random,
    complete: Vec<Key>,
    assumed: BTreeSet<Key>,
    static_classes: BTreeSet<Key>,
    states: BTreeSet<State>,
    failures: BTreeSet<Failed>,
    deadlocks: BTreeSet<Deadlock>,
    broken: Option<String>,
}

impl<R: Run> Seen<R> {
    fn new<P: Program<Run = R>>(program: &P, algorithm: Algorithm, seed: u64) -> Seen<R> {
        Seen {
            algorithm,
            replay: program.start(Footprints::Dynamic),
            random: Random::new(seed),
            complete: Vec::new(),
            assumed: BTreeSet::new(),
            static_classes: BTreeSet::new(),
            states: BTreeSet::new(),
            failures: BTreeSet::new(),
            deadlocks: BTreeSet::new(),
            broken: None,
        }
    }

    /// Runs steps again from the start; the trace that they give, or why they can't be taken.
    fn repeat(&mut self, steps: &[Step]) -> Result<Trace, String> {
        self.replay.rewind(0);
        Trace::along(&mut self.replay, steps, |_, _| {}).map_err(|divergence| divergence.to_string())
    }

    fn examine(&mut self, ending: Ending, trace: &Trace, run: &R) -> Result<(), String> {
        self.failures.extend(run.failures().iter().map(|failure| (failure.kind, failure.message.clone())));
        let schedule = Schedule { steps: steps(trace, run, 0..trace.len()) };
        let read: Schedule = schedule.to_string().parse().map_err(|error| format!("law 5: {error}"))?;
        let repeated = self.repeat(&read.steps).map_err(|why| format!("law 5: {why}"))?;
        if self.replay.failures().iter().map(|f| &f.message).ne(run.failures().iter().map(|f| &f.message)) {
            return Err("law 5: the schedule of a failure does not give it again".to_owned());
        }
        let class = equivalence::mazurkiewicz(&repeated, self.replay.names());
        if matches!(ending, Ending::Complete { .. } | Ending::Assumed) {
            self.static_classes.insert(equivalence::mazurkiewicz(trace, run.names()));
        }
        match ending {
            Ending::Assumed => {
                self.assumed.insert(class);
            }
            Ending::Complete { .. } => {
                self.deadlocks.extend(deadlock(&self.replay));
                self.states.extend(run.states().map(|states| states.state()));
                self.complete.push(class.clone());
                if self.algorithm == Algorithm::Optimal {
                    self.linearise(trace, run, &class)?;
                }
            }
            Ending::Blocked | Ending::Cut => {}
        }
        Ok(())
    }

    /// Law 4.
    fn linearise(&mut self, trace: &Trace, run: &R, class: &Key) -> Result<(), String> {
        let mut left: Vec<usize> = (0..trace.len()).collect();
        let (mut order, clocks) = (Vec::new(), HappensBefore::of(trace));
        while !left.is_empty() {
            let free: Vec<usize> = left
                .iter()
                .copied()
                .filter(|&k| left.iter().all(|&i| i == k || !clocks.happens_before(i, k)))
                .collect();
            let next = free[self.random.below(free.len())];
            left.retain(|&k| k != next);
            order.push(next);
        }
        let again = self.repeat(&steps(trace, run, order)).map_err(|why| format!("law 4: {why}"))?;
        let key = equivalence::mazurkiewicz(&again, self.replay.names());
        if key != *class {
            return Err("law 4: a linearisation gives another trace".to_owned());
        }
        if self.replay.states().map(|states| states.state()) != run.states().map(|states| states.state()) {
            return Err("law 4: a linearisation ends in another state".to_owned());
        }
        Ok(())
    }
}

/// Events of a trace as steps of a schedule.
pub(crate) fn steps(trace: &Trace, run: &impl Run, order: impl IntoIterator<Item = usize>) -> Vec<Step> {
    let step = |k| Step { process: run.names().path(trace.process(k)), choice: trace.choice(k) };
    order.into_iter().map(step).collect()
}

impl<R: Run> Monitor<R> for Seen<R> {
    fn execution(&mut self, ending: Ending, trace: &Trace, run: &R, _: &Counts) -> ControlFlow<()> {
        match self.examine(ending, trace, run) {
            Ok(()) => ControlFlow::Continue(()),
            Err(law) => {
                self.broken = Some(law);
                ControlFlow::Break(())
            }
        }
    }

    fn begin_again(&mut self) {
        self.complete.clear();
        for classes in [&mut self.assumed, &mut self.static_classes] {
            classes.clear();
        }
        self.states.clear();
        self.failures.clear();
        self.deadlocks.clear();
    }
}
