//! The laws.
//!
//! 1. Every class of the algorithm's equivalence is reached, and every failure, deadlock and final state.
//! 2. `optimal` completes no class twice and blocks nothing; `source` completes none twice.
//! 3. The counts of `optimal`, `wake-up`, `optimal+observers` and `reads-from` do not depend on the numbering of
//!    processes nor on the order of choices.
//! 4. A random linearisation of an explored trace gives the same trace, the same labels and the same final
//!    state.
//! 5. The schedule of a failing execution, written down and read again, gives the failure again.
//!
//! And one about labels, on which all others stand: executions of one class end in one state.
//!
//! Where brute force gives up, all orders of `optimal` still have to find the same classes, each once, and
//! `source` no others: what an order loses, another one finds.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::ControlFlow;

use mazurka_explore::{
    Algorithm, Counts, Ending, Limits, Monitor, Need, NotExhaustive, Options, Order, Rules, explore,
};
use mazurka_litmus::ast::Ast;
use mazurka_litmus::{LabelRules, Litmus, Source, compile};
use mazurka_oracle::{Budget, Deadlock, Exact, Failed, TooMuch, Truth, deadlock, truth};
use mazurka_program::{Program, Run, Schedule, State};
use mazurka_trace::equivalence::{self, Key};
use mazurka_trace::{HappensBefore, Trace};

use crate::campaign::{Broken, Checked, NOT_A_PROGRAM};
use crate::data_centric::{self, Obeyed, Shape};
use crate::random::Random;
use crate::replay::{Replay, steps};
use crate::{observers, reads_from, sharing, visit};

/// The algorithms as they are, or with a repair taken out.
#[derive(Clone, Copy, Debug, Default)]
pub struct Build {
    /// The repairs of the algorithms.
    pub rules: Rules,
    /// The repairs of labels.
    pub labels: LabelRules,
}

const BUDGET: Budget = Budget { executions: 3_000, steps: 40 };

/// Checks all laws on a program. The seed draws orders and linearisations.
pub fn check(ast: &Ast, build: Build, seed: u64) -> Checked {
    let Some(program) = compiled(ast, build) else { return Checked::Unfit(NOT_A_PROGRAM) };
    let truth = match truth(&program, BUDGET) {
        Ok(truth) => truth,
        Err(TooMuch::Executions) => return agreement(&program, build, seed),
        Err(TooMuch::Steps | TooMuch::States | TooMuch::Program) => return Checked::TooLarge,
    };
    match laws(ast, &program, &truth, build, seed) {
        Ok(()) => Checked::Holds(truth.mazurkiewicz.len()),
        Err(broken) => Checked::Breaks(broken),
    }
}

/// The orders that algorithms are checked in: the natural one, and those that numbers other than 0 and a seed
/// draw.
pub(crate) fn in_orders(
    seed: u64,
    table: &[(Algorithm, &[u64])],
) -> impl Iterator<Item = (Algorithm, Order)> {
    let order = move |k| match k {
        0 => Order::Natural,
        k => Order::Shuffled(seed.wrapping_add(k) | 1),
    };
    table.iter().flat_map(move |(algorithm, orders)| orders.iter().map(move |&k| (*algorithm, order(k))))
}

/// At most so many executions of programs that are too large for brute force, and none longer than this: to
/// compare executions costs more than the square of their length.
const AGREED_LIMITS: Limits =
    Limits { executions: Some(2_000), time: None, memory: None, depth: 200, unroll: 1000 };

/// Fewer where many programs are looked at, in many orders each.
const SMALL_AGREED: u64 = 100;

/// The laws that need no oracle.
fn agreement(program: &Litmus, build: Build, seed: u64) -> Checked {
    let table: [(Algorithm, &[u64]); 3] =
        [(Algorithm::Optimal, &[0, 1, 2, 3]), (Algorithm::Source, &[4]), (Algorithm::WakeUp, &[0, 8, 9, 10])];
    match traces_agree(program, AGREED_LIMITS, build, in_orders(seed.wrapping_mul(37), &table), seed) {
        Checked::Agrees(_) => {}
        checked => return checked,
    }
    match observers_agree(program, AGREED_LIMITS, build, seed.wrapping_mul(37), &[0, 5, 6, 7], seed) {
        Checked::Agrees(_) => {
            reads_from_agree(program, AGREED_LIMITS, build, seed.wrapping_mul(37), &[0, 5, 6, 7])
        }
        checked => checked,
    }
}

/// All algorithms that tell Mazurkiewicz traces apart find the same ones.
fn traces_agree(
    program: &Litmus,
    limits: Limits,
    build: Build,
    orders: impl Iterator<Item = (Algorithm, Order)>,
    seed: u64,
) -> Checked {
    let mut known: Option<BTreeSet<Key>> = None;
    for (algorithm, order) in orders {
        let broken = |law| Checked::Breaks(Broken::by(algorithm, order)(law));
        let mut seen = Seen::new(program, algorithm, seed);
        let options = Options { order, rules: build.rules, limits, ..Options::default() };
        let summary = explore(program, algorithm, &options, &mut seen);
        match (seen.broken, summary.not_exhaustive) {
            (Some(law), _) => return broken(law),
            (_, Some(NotExhaustive::Executions(_) | NotExhaustive::Depth(_))) => return Checked::TooLarge,
            (_, Some(reason)) => return broken(format!("not exhaustive: {reason}")),
            (None, None) => {}
        }
        let found: BTreeSet<Key> = seen.complete.iter().cloned().collect();
        if matches!(algorithm, Algorithm::Optimal | Algorithm::WakeUp) && found.len() != seen.complete.len() {
            return broken(format!("{} executions for {} classes", seen.complete.len(), found.len()));
        }
        if let Err(law) = same("classes of other orders", &found, known.get_or_insert_with(|| found.clone()))
        {
            return broken(law);
        }
    }
    Checked::Agrees(known.map_or(0, |known| known.len()))
}

fn reads_from_agree(program: &Litmus, limits: Limits, build: Build, base: u64, orders: &[u64]) -> Checked {
    let options = Options { rules: build.rules, limits, ..Options::default() };
    reads_from::agree(program, &options, in_orders(base, &[(Algorithm::ReadsFrom, orders)]))
}

fn observers_agree(
    program: &Litmus,
    limits: Limits,
    build: Build,
    base: u64,
    orders: &[u64],
    seed: u64,
) -> Checked {
    let options = Options { rules: build.rules, limits, ..Options::default() };
    let table = [(Algorithm::OptimalObservers, orders)];
    observers::agree(program, &options, in_orders(base, &table), seed)
}

/// One algorithm that is checked by itself, so that more programs can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OneAlgorithm {
    /// Which.
    pub algorithm: Algorithm,
    /// Whether states are told without their dead variables.
    pub dead_variables: bool,
    /// In how many orders.
    pub orders: u64,
}

impl fmt::Display for OneAlgorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let without = if self.dead_variables { " without dead variables" } else { "" };
        write!(f, "{}{without}, in {} orders each", self.algorithm, self.orders)
    }
}

/// Programs that brute force takes about a millisecond for.
const SMALL: Budget = Budget { executions: 150, steps: 30 };

/// Cycles of processes take more steps.
const MIDDLING: Budget = Budget { executions: 800, steps: 30 };

/// Checks the laws of one algorithm, in several orders, on a small program. Where brute force gives up, all
/// orders of `optimal+observers` still have to find the same classes.
pub fn check_one(ast: &Ast, only: OneAlgorithm, build: Build, seed: u64) -> Checked {
    let Some(mut program) = compiled(ast, build) else { return Checked::Unfit(NOT_A_PROGRAM) };
    if only.dead_variables {
        program = program.without_dead_variables();
    }
    let (base, orders) = (seed.wrapping_mul(43), (0..only.orders).map(|k| 2 * k).collect::<Vec<_>>());
    let budget = if only.algorithm == Algorithm::DataCentric { MIDDLING } else { SMALL };
    let truth = match truth(&program, budget) {
        Ok(truth) => truth,
        Err(TooMuch::Executions) if only.algorithm == Algorithm::OptimalObservers => {
            let limits = Limits { executions: Some(SMALL_AGREED), ..AGREED_LIMITS };
            return observers_agree(&program, limits, build, base, &orders, seed);
        }
        Err(TooMuch::Executions) if only.algorithm == Algorithm::ReadsFrom => {
            let limits = Limits { executions: Some(SMALL_AGREED), ..AGREED_LIMITS };
            return reads_from_agree(&program, limits, build, base, &orders);
        }
        Err(TooMuch::Executions) if only.algorithm == Algorithm::WakeUp => {
            let table: [(Algorithm, &[u64]); 2] = [(Algorithm::Optimal, &[0]), (Algorithm::WakeUp, &orders)];
            let limits = Limits { executions: Some(4 * SMALL_AGREED), ..AGREED_LIMITS };
            return traces_agree(&program, limits, build, in_orders(base, &table), seed);
        }
        Err(_) => return Checked::TooLarge,
    };
    if only.algorithm == Algorithm::DataCentric {
        return check_data_centric(ast, &program, &truth, build, base, &orders);
    }
    for (algorithm, order) in in_orders(base, &[(only.algorithm, &orders)]) {
        let law = obeys_knowing(&program, &truth, build.rules, algorithm, order, seed)
            .and_then(|()| shared_obeys(&program, &truth, build.rules, algorithm, order, seed));
        if let Err(law) = law {
            return Checked::Breaks(Broken::by(algorithm, order)(law));
        }
    }
    Checked::Holds(truth.mazurkiewicz.len())
}

/// The laws of an algorithm when it is shared, if it can be.
fn shared_obeys(
    program: &Litmus,
    truth: &Truth,
    rules: Rules,
    algorithm: Algorithm,
    order: Order,
    seed: u64,
) -> Result<(), String> {
    let options = Options { order, rules, limits: within(truth), ..Options::default() };
    match algorithm {
        Algorithm::ReadsFrom => sharing::reads_from_obeys(program, truth, &options, seed),
        _ if algorithm.can_be_shared() => sharing::obeys(program, algorithm, &options, seed),
        _ => Ok(()),
    }
}

/// The laws of `data-centric` by themselves, in several orders, and with processes numbered otherwise.
fn check_data_centric(
    ast: &Ast,
    program: &Litmus,
    truth: &Truth,
    build: Build,
    base: u64,
    orders: &[u64],
) -> Checked {
    let mut shape = Shape::Acyclic;
    for (algorithm, order) in in_orders(base, &[(Algorithm::DataCentric, orders)]) {
        let options = Options { order, rules: build.rules, limits: within(truth), ..Options::default() };
        let mut law = data_centric::obeys(program, truth, &options);
        if let Ok(Obeyed::Holds(Shape::Acyclic | Shape::NothingSplit, complete)) = law {
            let mut permuted = ast.clone();
            visit::shuffle_processes(&mut permuted, &mut Random::new(base ^ orders.len() as u64));
            // A process that names a later one does not compile in every order.
            if let Some(program) = compiled(&permuted, build) {
                let again = explore(&program, algorithm, &options, &mut mazurka_explore::NoMonitor);
                let refused = matches!(again.not_exhaustive, Some(NotExhaustive::Unsupported(_)));
                let again = again.counts.complete;
                if again != complete && !refused {
                    law =
                        Err(format!("{again} executions with processes numbered otherwise, not {complete}"));
                }
            }
        }
        match law {
            Ok(Obeyed::Refused) => return Checked::Unfit("steps that data-centric does not cover"),
            Ok(Obeyed::Holds(found, _)) => shape = shape.max(found),
            Err(law) => return Checked::Breaks(Broken::by(algorithm, order)(law)),
        }
    }
    Checked::HoldsAs(shape.words(), truth.reads_from.len())
}

pub(crate) fn compiled(ast: &Ast, build: Build) -> Option<Litmus> {
    let program = compile(ast, &Source::default(), &[]).ok()?;
    Some(program.with_rules(build.labels))
}

/// What every program that brute force can take is checked under, and in which orders.
pub(crate) const CHECKED: [(Algorithm, &[u64]); 11] = [
    (Algorithm::Naive, &[0]),
    (Algorithm::Optimal, &[0, 1, 2]),
    (Algorithm::WakeUp, &[0, 18, 19, 20]),
    (Algorithm::Source, &[0, 3, 4]),
    (Algorithm::SourceContext, &[0, 5, 6]),
    (Algorithm::SourceConstraints, &[0, 19]),
    (Algorithm::Convergent, &[0, 7, 8]),
    (Algorithm::ConvergentConstraints, &[0, 18]),
    (Algorithm::OptimalObservers, &[0, 9, 10, 11, 12]),
    (Algorithm::DataCentric, &[0, 16, 17]),
    (Algorithm::ReadsFrom, &[0, 13, 14, 15]),
];

/// The names of the algorithms of a table, as a summary has them.
pub(crate) fn names(table: &[(Algorithm, &[u64])]) -> String {
    let names: Vec<&str> = table.iter().map(|(algorithm, _)| algorithm.name()).collect();
    match names.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} and {last}", others.join(", ")),
        _ => names.concat(),
    }
}

fn laws(ast: &Ast, program: &Litmus, truth: &Truth, build: Build, seed: u64) -> Result<(), Broken> {
    if !truth.inconsistent.is_empty() {
        return Err(Broken::law(INCONSISTENT));
    }
    for (algorithm, order) in in_orders(seed.wrapping_mul(31), &CHECKED) {
        obeys_knowing(program, truth, build.rules, algorithm, order, seed)
            .map_err(Broken::by(algorithm, order))?;
    }
    // To share a search of a small program takes longer than to search it, so not of all.
    if (seed / 64).is_multiple_of(16) {
        let options = Options { rules: build.rules, limits: within(truth), ..Options::default() };
        let (algorithm, order, law) = sharing::one_obeys(program, truth, &options, seed);
        law.map_err(Broken::by(algorithm, order))?;
    }
    without_dead_variables(program, build, seed)?;
    renumbered(ast, build, truth, seed)
}

/// What is said of labels that do not tell all that a step touches.
pub(crate) const INCONSISTENT: &str = "two executions of one class end in different states";

/// The laws of `convergent` where states are told without their dead variables.
fn without_dead_variables(program: &Litmus, build: Build, seed: u64) -> Result<(), Broken> {
    if !seed.is_multiple_of(3) {
        return Ok(());
    }
    let program = program.clone().without_dead_variables();
    // What brute force could do once, it can do again.
    let Ok(truth) = truth(&program, BUDGET) else { return Ok(()) };
    for (algorithm, order) in in_orders(seed.wrapping_mul(47), &[(Algorithm::Convergent, &[0, 1])]) {
        obeys(&program, &truth, build.rules, algorithm, order, seed)
            .map_err(|law| Broken::by(algorithm, order)(format!("without dead variables: {law}")))?;
    }
    Ok(())
}

/// The laws for one algorithm in one order; if it has to know when steps commute, it knows what the run knows, and
/// it knows exactly.
fn obeys_knowing(
    program: &Litmus,
    truth: &Truth,
    rules: Rules,
    algorithm: Algorithm,
    order: Order,
    seed: u64,
) -> Result<(), String> {
    match algorithm.needs().contains(&Need::Constraints) {
        true => {
            obeys(program, truth, rules, algorithm, order, seed)?;
            obeys(&Exact::new(program.clone()), truth, rules, algorithm, order, seed)
        }
        false => obeys(program, truth, rules, algorithm, order, seed),
    }
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
    let options = Options { order, rules, limits: within(truth), ..Options::default() };
    if algorithm == Algorithm::OptimalObservers {
        return observers::obeys(program, truth, &options, seed);
    }
    if algorithm == Algorithm::DataCentric {
        return data_centric::obeys(program, truth, &options).map(|_| ());
    }
    if algorithm == Algorithm::ReadsFrom {
        return reads_from::obeys(program, truth, &options);
    }
    let mut seen = Seen::new(program, algorithm, seed);
    let summary = explore(program, algorithm, &options, &mut seen);
    if let Some(reason) = summary.not_exhaustive {
        return Err(seen.broken.unwrap_or_else(|| format!("not exhaustive: {reason}")));
    }
    if let Some(failure) = summary.broken {
        return Err(format!("broken: {}", failure.message));
    }
    let classes: BTreeSet<&Key> = truth.mazurkiewicz.keys().collect();
    if !algorithm.is_about_states() {
        same("complete classes", &seen.complete.iter().collect(), &classes)?;
        same("assumed classes", &seen.assumed, &truth.assumed)?;
    }
    same("final states", &seen.states, &truth.states)?;
    let told = |failures: &BTreeSet<Failed>| match algorithm.is_about_states() {
        true => failures.iter().map(without_names).collect(),
        false => failures.clone(),
    };
    same("failures", &told(&seen.failures), &told(&truth.failures))
        .map_err(|law| format!("{law}: {:?}, not {:?}", seen.failures, truth.failures))?;
    if algorithm.is_about_states() {
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
        Algorithm::Optimal | Algorithm::WakeUp if counts.blocked > 0 => {
            Err(format!("{} executions ended blocked", counts.blocked))
        }
        Algorithm::Optimal | Algorithm::WakeUp if counts.complete != classes.len() as u64 => {
            Err(format!("{} executions for {} classes", counts.complete, classes.len()))
        }
        Algorithm::Optimal | Algorithm::WakeUp if counts.assumed != truth.assumed.len() as u64 => {
            Err(format!("{} executions for {} assumed classes", counts.assumed, truth.assumed.len()))
        }
        Algorithm::Source | Algorithm::SourceContext | Algorithm::SourceConstraints
            if counts.complete + counts.assumed != seen.static_classes.len() as u64 =>
        {
            Err(format!("{} executions for {} classes", counts.complete, seen.static_classes.len()))
        }
        Algorithm::Convergent | Algorithm::ConvergentConstraints
            if counts.complete != truth.states.len() as u64 =>
        {
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

/// No algorithm may need more executions than there are interleavings, each perhaps cut somewhere; a broken
/// one may never end.
fn within(truth: &Truth) -> Limits {
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

/// Law 3: the numbering of processes does not matter to the counts of those that complete each class once.
fn renumbered(ast: &Ast, build: Build, truth: &Truth, seed: u64) -> Result<(), Broken> {
    let mut permuted = ast.clone();
    visit::shuffle_processes(&mut permuted, &mut Random::new(seed ^ 0x5EED));
    // A process that names a later one does not compile in every order.
    let Some(program) = compiled(&permuted, build) else { return Ok(()) };
    let options = Options { rules: build.rules, limits: within(truth), ..Options::default() };
    for (algorithm, expected) in [
        (Algorithm::Optimal, truth.mazurkiewicz.len() as u64),
        (Algorithm::WakeUp, truth.mazurkiewicz.len() as u64),
        (Algorithm::OptimalObservers, truth.observers.len() as u64),
        (Algorithm::ReadsFrom, truth.reads_from.len() as u64),
    ] {
        let complete =
            explore(&program, algorithm, &options, &mut mazurka_explore::NoMonitor).counts.complete;
        if complete != expected {
            let law =
                format!("{complete} complete executions with processes numbered otherwise, not {expected}");
            return Err(Broken::by(algorithm, Order::Natural)(law));
        }
    }
    Ok(())
}

/// What an algorithm has shown.
struct Seen<R> {
    algorithm: Algorithm,
    replay: Replay<R>,
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
            replay: Replay::new(program, seed),
            complete: Vec::new(),
            assumed: BTreeSet::new(),
            static_classes: BTreeSet::new(),
            states: BTreeSet::new(),
            failures: BTreeSet::new(),
            deadlocks: BTreeSet::new(),
            broken: None,
        }
    }

    fn examine(&mut self, ending: Ending, trace: &Trace, run: &R) -> Result<(), String> {
        self.failures.extend(run.failures().iter().map(|failure| (failure.kind, failure.message.clone())));
        let schedule = Schedule { steps: steps(trace, run, 0..trace.len()) };
        let read: Schedule = schedule.to_string().parse().map_err(|error| format!("law 5: {error}"))?;
        let repeated = self.replay.repeat(&read.steps, |_, _| {}).map_err(|why| format!("law 5: {why}"))?;
        let again = &self.replay.run;
        if again.failures().iter().map(|f| &f.message).ne(run.failures().iter().map(|f| &f.message)) {
            return Err("law 5: the schedule of a failure does not give it again".to_owned());
        }
        let class = equivalence::mazurkiewicz(&repeated, again.names());
        if matches!(ending, Ending::Complete { .. } | Ending::Assumed) {
            self.static_classes.insert(equivalence::mazurkiewicz(trace, run.names()));
        }
        match ending {
            Ending::Assumed => {
                self.assumed.insert(class);
            }
            Ending::Complete { .. } => {
                self.deadlocks.extend(deadlock(again));
                self.states.extend(run.states().map(|states| states.state()));
                self.complete.push(class.clone());
                if self.algorithm == Algorithm::Optimal {
                    self.linearise(trace, run, &class).map_err(|why| format!("law 4: {why}"))?;
                }
            }
            Ending::Blocked | Ending::Stopped { .. } | Ending::Cut => {}
        }
        Ok(())
    }

    /// Law 4.
    fn linearise(&mut self, trace: &Trace, run: &R, class: &Key) -> Result<(), String> {
        let clocks = HappensBefore::of(trace);
        let linear = self.replay.linearisation(trace.len(), |i, k| clocks.happens_before(i, k));
        let again = self.replay.repeat(&steps(trace, run, linear), |_, _| {})?;
        let repeated = &self.replay.run;
        if equivalence::mazurkiewicz(&again, repeated.names()) != *class {
            return Err("a linearisation gives another trace".to_owned());
        }
        if repeated.states().map(|states| states.state()) != run.states().map(|states| states.state()) {
            return Err("a linearisation ends in another state".to_owned());
        }
        Ok(())
    }
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
        self.assumed.clear();
        self.static_classes.clear();
        self.states.clear();
        self.failures.clear();
        self.deadlocks.clear();
    }
}
