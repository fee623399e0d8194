//! The programs of `bench/abs` under `optimal+observers` and `convergent`, with dead variables and without:
//! exactly the counts of `bench/abs/expected_states.tsv`, which has the published ones of ISSTA'19 (its
//! ODPOR^ob, DPOR_cs and ODPOR_cs^ob) beside.
//!
//! `observers` is the number of classes modulo observers, which `-` leaves out; `final_states` and
//! `living_final_states` are what `convergent` completes, the latter without dead variables. Where these
//! programs end, everything is dead: one is left.

use mazurka_abs::{Abs, Dependence, Options as Reading, Settings, Source, compile};
use mazurka_bench::abs_programs;
use mazurka_explore::{Algorithm, NoMonitor, Options, Order, explore};

struct Row {
    name: String,
    text: String,
    observers: Option<u64>,
    states: u64,
    living: u64,
}

fn rows() -> Vec<Row> {
    let text = include_str!("../abs/expected_states.tsv");
    let lines = text.lines().skip(1).map(|line| line.split('\t').collect::<Vec<_>>());
    let number = |text: &str| text.parse().expect("a number");
    lines
        .map(|parts| {
            assert_eq!(parts.len(), 8, "{parts:?}");
            Row {
                name: format!("{}({})", parts[0], parts[1]),
                text: abs_programs::program(parts[0], &[number(parts[1]) as u32]).expect("a program"),
                observers: (parts[2] != "-").then(|| number(parts[2])),
                states: number(parts[3]),
                living: number(parts[4]),
            }
        })
        .collect()
}

fn program(text: &str, settings: Settings) -> Abs {
    let source = Source { name: "bench.abs".to_owned(), text: text.to_owned() };
    Abs::new(compile(&[source], &Reading::default()).expect("our own program"), settings)
}

fn complete(program: &Abs, algorithm: Algorithm, order: Order) -> u64 {
    let summary = explore(program, algorithm, &Options { order, ..Options::default() }, &mut NoMonitor);
    assert_eq!((summary.not_exhaustive, summary.broken), (None, None));
    summary.counts.complete
}

#[test]
fn convergent_completes_each_final_state_once() {
    for row in rows() {
        for (forgets_dead_variables, expected) in [(false, row.states), (true, row.living)] {
            let settings = Settings { forgets_dead_variables, ..Settings::default() };
            let found = complete(&program(&row.text, settings), Algorithm::Convergent, Order::Natural);
            assert_eq!(found, expected, "{}, without dead variables: {forgets_dead_variables}", row.name);
        }
    }
}

#[test]
fn observers_complete_each_class_once() {
    let settings = Settings { dependence: Dependence::Dynamic, ..Settings::default() };
    for row in rows() {
        let Some(expected) = row.observers else { continue };
        for order in [Order::Natural, Order::Shuffled(1)] {
            let found = complete(&program(&row.text, settings), Algorithm::OptimalObservers, order);
            assert_eq!(found, expected, "{} {order:?}", row.name);
        }
    }
}

/// What is below a state is told by what is there: it does not grow with what is still to be made, and is
/// shared by the states that it is the same for.
#[test]
fn what_is_stored_of_a_state_stays_small() {
    for (name, size, states, most) in [("fib", 7, 695, 4_000), ("pi", 10, 1046, 1_500)] {
        let text = abs_programs::program(name, &[size]).expect("a program");
        let program = program(&text, Settings::default());
        let counts = explore(&program, Algorithm::Convergent, &Options::default(), &mut NoMonitor).counts;
        assert_eq!((counts.complete, counts.states), (1, states), "{name}({size})");
        let bytes = counts.state_memory / counts.states;
        assert!(bytes < most, "{name}({size}): {bytes} bytes a state");
    }
}
