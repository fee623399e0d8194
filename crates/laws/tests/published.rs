//! The algorithms as their papers print them: their numbers, what they lose, and that what they find is real.
//!
//! What they lose, they lose in some orders of the choices that the papers leave open. A test of that looks
//! for such an order among many; that the sound algorithms find it all, in every one of these orders, stands
//! beside it.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::Path;

use mazurka_explore::{
    Algorithm, Counts, Ending, Limits, Monitor, NotExhaustive, Options, Order, Published, Rules, Summary,
    explore,
};
use mazurka_litmus::{Litmus, LitmusRun, Source, compile, parse};
use mazurka_oracle::{Budget, Deadlock, Failed, Truth, deadlock, known, truth};
use mazurka_program::{Footprints, Program, Run, State, Step};
use mazurka_trace::Trace;
use mazurka_trace::equivalence::{self, Key};

/// The natural order and so many others.
const ORDERS: u64 = 400;

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn load(file: &str) -> Litmus {
    load_with(file, &[])
}

fn load_with(file: &str, parameters: &[(String, i64)]) -> Litmus {
    let text = std::fs::read_to_string(root().join(file)).expect("it is in the checkout");
    let source = Source { name: file.to_owned(), text };
    let ast = parse(&source).unwrap_or_else(|errors| panic!("{file}: {}", errors[0].message));
    compile(&ast, &source, parameters).unwrap_or_else(|errors| panic!("{file}: {errors:?}"))
}

fn everything(program: &Litmus) -> Option<Truth> {
    truth(program, Budget { executions: 20_000, steps: 60 }).ok()
}

fn orders() -> impl Iterator<Item = Order> {
    (0..ORDERS).map(|seed| if seed == 0 { Order::Natural } else { Order::Shuffled(seed) })
}

/// What a search has shown; every execution is run again from the start, with the labels of the oracle.
struct Seen {
    again: LitmusRun,
    classes: BTreeSet<Key>,
    states: BTreeSet<State>,
    known: BTreeSet<Vec<i64>>,
    failures: BTreeSet<Failed>,
    deadlocks: BTreeSet<Deadlock>,
    assumed: BTreeSet<Key>,
}

impl Seen {
    fn repeat(&mut self, trace: &Trace, run: &LitmusRun) -> Trace {
        self.again.rewind(0);
        let step = |k| Step { process: run.names().path(trace.process(k)), choice: trace.choice(k) };
        let steps: Vec<Step> = (0..trace.len()).map(step).collect();
        Trace::along(&mut self.again, &steps, |_, _| {}).expect("steps that were taken")
    }
}

impl Monitor<LitmusRun> for Seen {
    fn execution(&mut self, ending: Ending, trace: &Trace, run: &LitmusRun, _: &Counts) -> ControlFlow<()> {
        let repeated = self.repeat(trace, run);
        assert_eq!(
            self.again.states().map(|states| states.state()),
            run.states().map(|states| states.state()),
            "the same steps lead to the same state"
        );
        assert_eq!(self.again.failures().len(), run.failures().len());
        self.failures.extend(run.failures().iter().map(|failure| (failure.kind, failure.message.clone())));
        match ending {
            Ending::Complete { .. } => {
                self.classes.insert(equivalence::mazurkiewicz(&repeated, self.again.names()));
                self.states.extend(run.states().map(|states| states.state()));
                self.known.extend(known(&repeated, run.states().map(|states| states.state()).as_ref()));
                self.deadlocks.extend(deadlock(&self.again));
            }
            Ending::Assumed => {
                self.assumed.insert(equivalence::mazurkiewicz(&repeated, self.again.names()));
            }
            Ending::Blocked | Ending::Stopped { .. } | Ending::Cut => {}
        }
        ControlFlow::Continue(())
    }
}

fn run(program: &Litmus, algorithm: Algorithm, order: Order, rules: Rules) -> (Summary, Seen) {
    let mut seen = Seen {
        again: program.start(Footprints::Dynamic),
        classes: BTreeSet::new(),
        states: BTreeSet::new(),
        known: BTreeSet::new(),
        failures: BTreeSet::new(),
        deadlocks: BTreeSet::new(),
        assumed: BTreeSet::new(),
    };
    let limits = Limits { executions: Some(100_000), ..Limits::default() };
    let options = Options { order, rules, limits, ..Options::default() };
    let summary = explore(program, algorithm, &options, &mut seen);
    (summary, seen)
}

/// Whether a search found everything that its algorithm is about: final states, or what processes know at the
/// end.
fn found_all(algorithm: Algorithm, seen: &Seen, truth: &Truth) -> bool {
    let classes = [
        Algorithm::OptimalObservers,
        Algorithm::Published(Published::OptimalContextObservers),
        Algorithm::DataCentric,
        Algorithm::ReadsFrom,
        Algorithm::Published(Published::DataCentric),
        Algorithm::Published(Published::DataCentricTool),
    ];
    let ends = match classes.contains(&algorithm) {
        true => seen.known == truth.known,
        false => seen.states == truth.states && seen.deadlocks.is_empty() == truth.deadlocks.is_empty(),
    };
    ends && seen.failures == truth.failures
}

/// In how many of the orders a search did not find everything.
fn losing_orders(file: &str, algorithm: Algorithm, rules: Rules) -> usize {
    let program = load(file);
    let truth = everything(&program).expect("a small program");
    let loses = |&order: &Order| {
        let (summary, seen) = run(&program, algorithm, order, rules);
        let refused = matches!(summary.not_exhaustive, Some(NotExhaustive::Unsupported(_)));
        !refused && !found_all(algorithm, &seen, &truth)
    };
    orders().filter(loses).count()
}

#[test]
fn the_papers_numbers() {
    use Published::*;
    let rules = Rules::default();
    for (file, form, executions, states) in [
        ("cav17_example1", Context, 3, 12),
        ("cav18_fig1", Context, 2, 9),
        ("cav18_fig1", ContextGuided, 2, 9),
        // Example 5, with the constraints that are synthesised: p.q.r, and q.r cut.
        ("cav18_fig1", Constraints, 1, 6),
        ("issta19_running", Context, 2, 10),
        ("issta19_running", OptimalContext, 2, 10),
        ("issta19_running", OptimalContextObservers, 1, 9),
    ] {
        let program = load(&format!("examples/papers/{file}.maz"));
        let (summary, _) = run(&program, Algorithm::Published(form), Order::Natural, rules);
        let counts = summary.counts;
        // A state for each step taken, and the initial one.
        assert_eq!((counts.complete, counts.events + 1), (executions, states), "{file} under {form}");
        assert_eq!(summary.not_exhaustive, Some(NotExhaustive::ByDesign(Algorithm::Published(form))));
    }
}

/// Example 4 of CAV'18 begins with z = -1: r.q.p ends in z = -1, and everything else in z = 0.
#[test]
fn example_4_of_cav18_has_two_final_states_in_every_form() {
    let program = load_with("examples/papers/cav18_fig1.maz", &[("z0".to_owned(), -1)]);
    let truth = everything(&program).expect("a small program");
    assert_eq!(truth.states.len(), 2);
    let forms =
        [Published::Context, Published::ContextGuided, Published::Constraints].map(Algorithm::Published);
    let sound = [Algorithm::SourceContext, Algorithm::SourceConstraints, Algorithm::ConvergentConstraints];
    for algorithm in forms.into_iter().chain(sound) {
        for order in orders().take(40) {
            let (_, seen) = run(&program, algorithm, order, Rules::default());
            assert_eq!(seen.states, truth.states, "{algorithm}, {order:?}");
        }
    }
}

#[test]
fn what_the_papers_lose() {
    use Published::*;
    for (file, form) in [
        ("cx01", Context),
        ("cx02", ContextAnticipating),
        ("cx02", ContextGuided),
        ("cx03", Context),
        ("cx07", Constraints),
        ("cx08", Constraints),
        ("cx16", Constraints),
        ("cx19", Constraints),
        ("cx10", OptimalContext),
        ("cx11", OptimalContext),
        ("cx12", OptimalContextObservers),
        ("cx14", DataCentricTool),
        ("cx15", DataCentric),
        ("cx15", DataCentricTool),
    ] {
        let file = format!("corpus/{file}.maz");
        let losing = losing_orders(&file, Algorithm::Published(form), Rules::default());
        println!("{file}: {form} loses something in {losing} of {ORDERS} orders");
        assert!(losing > 0, "{file}: {form} loses nothing in any order");
    }
}

#[test]
fn what_the_sound_algorithms_find_in_every_order() {
    let files = [
        "cx01",
        "cx02",
        "cx03",
        "cx07",
        "cx08",
        "cx09",
        "cx10",
        "cx11",
        "cx12",
        "cx13",
        "cx14",
        "cx15",
        "cx16",
        "cx19",
        "observers_unequal_writes",
    ];
    for file in files.map(|name| format!("corpus/{name}.maz")) {
        for algorithm in
            Algorithm::ALL.into_iter().filter(|a| !matches!(a, Algorithm::Naive | Algorithm::Random))
        {
            assert_eq!(losing_orders(&file, algorithm, Rules::default()), 0, "{file} under {algorithm}");
        }
    }
}

/// Each repair is needed: without it the program that it was made for loses something.
#[test]
fn what_is_lost_without_a_repair() {
    let broken = |change: fn(&mut Rules)| {
        let mut rules = Rules::default();
        change(&mut rules);
        rules
    };
    for (file, algorithm, rules) in [
        (
            "cx01",
            Algorithm::SourceContext,
            broken(|r| {
                r.source_context.race_everybody = false;
                r.source_context.single_event = false;
            }),
        ),
        ("cx16", Algorithm::SourceContext, broken(|r| r.source_context.single_event = false)),
        // Of CX13 itself the build without the rule still finds the violation, though by other executions.
        (
            "observers_unequal_writes",
            Algorithm::OptimalObservers,
            broken(|r| r.observers.unequal_writes = false),
        ),
    ] {
        let file = format!("corpus/{file}.maz");
        let losing = losing_orders(&file, algorithm, rules);
        println!("{file}: {algorithm} without its repair loses something in {losing} of {ORDERS} orders");
        assert!(losing > 0, "{file}: {algorithm} loses nothing in any order");
    }
}

#[test]
fn what_they_find_is_real() {
    let files = std::fs::read_dir(root().join("corpus")).expect("it is in the checkout");
    let mut checked = 0;
    for path in files.map(|file| file.expect("a readable file").path()) {
        if path.extension().is_none_or(|ending| ending != "maz") {
            continue;
        }
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        let program = load(&format!("corpus/{name}"));
        let Some(truth) = everything(&program) else { continue };
        let classes: BTreeSet<Key> = truth.mazurkiewicz.keys().cloned().collect();
        for form in Published::ALL {
            for order in orders().take(4) {
                let (summary, seen) = run(&program, Algorithm::Published(form), order, Rules::default());
                let what = format!("{name} under {form}, {order:?}");
                if matches!(summary.not_exhaustive, Some(NotExhaustive::Unsupported(_))) {
                    continue;
                }
                assert_eq!(
                    summary.not_exhaustive,
                    Some(NotExhaustive::ByDesign(Algorithm::Published(form))),
                    "{what}"
                );
                assert_eq!(summary.broken, None, "{what}");
                assert!(seen.classes.is_subset(&classes), "{what}: an execution that there is not");
                assert!(
                    seen.assumed.is_subset(&truth.assumed),
                    "{what}: an assumed execution that there is not"
                );
                assert!(seen.states.is_subset(&truth.states), "{what}: a final state that there is not");
                assert!(seen.deadlocks.is_subset(&truth.deadlocks), "{what}: a deadlock that there is not");
                assert!(seen.failures.is_subset(&truth.failures), "{what}: a failure that there is not");
                assert!(
                    summary.counts.complete + summary.counts.assumed > 0,
                    "{what}: nothing was run to its end"
                );
                checked += 1;
            }
        }
    }
    assert!(checked > 1_000, "only {checked} searches");
}
