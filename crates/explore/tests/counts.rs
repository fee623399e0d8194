//! Exact numbers of executions of small programs, in many orders, and agreement with brute force.

mod toy;

use std::cell::Cell;
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use mazurka_explore::{
    Algorithm, Counts, Ending, Item, Limits, Monitor, NoMonitor, NotExhaustive, Options, Order, explore,
    explore_item,
};
use mazurka_oracle::{Budget, truth};
use mazurka_program::{Footprints, Program, Run};
use mazurka_trace::Trace;
use mazurka_trace::dependence::Awaited;
use mazurka_trace::equivalence::{self, Key, Order as HappensBefore};
use toy::{Op, Op::*, Toy, ToyRun};

const ORDERS: u64 = 8;

/// Collects classes and compares the clocks with the order computed pair by pair.
#[derive(Default)]
struct Classes {
    complete: Vec<Key>,
}

impl<R: Run> Monitor<R> for Classes {
    fn execution(&mut self, ending: Ending, trace: &Trace, run: &R, _: &Counts) -> ControlFlow<()> {
        let order = HappensBefore::mazurkiewicz(trace);
        let clocks = mazurka_trace::HappensBefore::of(trace);
        for j in 0..trace.len() {
            for i in 0..j {
                assert_eq!(clocks.happens_before(i, j), order.before(i, j), "events {i} and {j}");
            }
        }
        if matches!(ending, Ending::Complete { .. }) {
            self.complete.push(equivalence::mazurkiewicz(trace, run.names()));
        }
        ControlFlow::Continue(())
    }
}

fn run(program: &Toy, algorithm: Algorithm, order: Order) -> (Counts, Vec<Key>) {
    let mut classes = Classes::default();
    let options = Options { order, ..Options::default() };
    let summary = explore(program, algorithm, &options, &mut classes);
    assert_eq!(summary.not_exhaustive, None, "{algorithm} {order:?} {program:?}");
    (summary.counts, classes.complete)
}

fn orders() -> impl Iterator<Item = Order> {
    (0..ORDERS).map(|seed| if seed == 0 { Order::Natural } else { Order::Shuffled(seed) })
}

/// Every algorithm finds exactly the classes that brute force finds; `optimal` and `wake-up` each once and
/// nothing else.
fn check(program: &Toy) -> usize {
    let truth = truth(program, Budget { executions: 200_000, steps: 100 }).expect("a small program");
    assert!(truth.inconsistent.is_empty());
    let classes: BTreeSet<&Key> = truth.mazurkiewicz.keys().collect();
    for order in orders() {
        for algorithm in [Algorithm::Naive, Algorithm::Source, Algorithm::Optimal, Algorithm::WakeUp] {
            let (counts, found) = run(program, algorithm, order);
            let distinct: BTreeSet<&Key> = found.iter().collect();
            assert_eq!(distinct, classes, "{algorithm} {order:?} {program:?}");
            match algorithm {
                Algorithm::Naive => assert_eq!(counts.complete, truth.interleavings),
                Algorithm::Source => assert_eq!(found.len(), distinct.len(), "{order:?} {program:?}"),
                _ => {
                    assert_eq!(found.len(), distinct.len(), "{order:?} {program:?}");
                    assert_eq!(counts.blocked, 0);
                    if algorithm == Algorithm::WakeUp {
                        check_items(program, &found, order);
                    }
                }
            }
        }
        check_observers(program, &truth.observers, order);
    }
    classes.len()
}

/// A search that is cut into items after every execution, each of which goes through text to a run of its
/// own, has the executions of the whole search, in the same order.
fn check_items(program: &Toy, whole: &[Key], order: Order) {
    let options = Options { order, ..Options::default() };
    let (mut left, mut found) = (vec![Item::whole()], Vec::new());
    while let Some(item) = left.pop() {
        let mut classes = Classes::default();
        let item: Item = item.to_string().parse().expect("what is printed can be read");
        let explored = explore_item(program, item, 1, &options, &mut classes);
        assert_eq!(
            (explored.summary.not_exhaustive, explored.is_over),
            (None, false),
            "{order:?} {program:?}"
        );
        found.extend(classes.complete);
        let rest: Vec<Item> = explored.rest.split().collect();
        left.extend(rest.into_iter().rev());
    }
    assert_eq!(found, whole, "{order:?} {program:?}");
}

/// Collects classes modulo observers. No guard of these programs waits for what is written blindly.
#[derive(Default)]
struct Observed {
    complete: Vec<Key>,
}

impl<R: Run> Monitor<R> for Observed {
    fn execution(&mut self, ending: Ending, trace: &Trace, run: &R, _: &Counts) -> ControlFlow<()> {
        assert!(matches!(ending, Ending::Complete { .. }), "nothing is blocked");
        self.complete.push(equivalence::observers(trace, run, &Awaited::default()));
        ControlFlow::Continue(())
    }

    fn begin_again(&mut self) {
        self.complete.clear();
    }
}

/// `optimal+observers` finds each class modulo observers once and nothing else.
fn check_observers(program: &Toy, classes: &BTreeSet<Key>, order: Order) {
    let mut observed = Observed::default();
    let options = Options { order, ..Options::default() };
    let summary = explore(program, Algorithm::OptimalObservers, &options, &mut observed);
    assert_eq!(summary.not_exhaustive, None, "{order:?} {program:?}");
    let distinct: BTreeSet<Key> = observed.complete.iter().cloned().collect();
    assert_eq!(&distinct, classes, "{order:?} {program:?}");
    assert_eq!(observed.complete.len(), distinct.len(), "{order:?} {program:?}");
}

#[test]
fn known_numbers() {
    let locked = |n: usize| Toy(vec![vec![Lock(0), Update(0), Unlock(0)]; n]);
    for (program, expected) in [
        (Toy(vec![vec![Write(0)]; 4]), 24),
        (Toy(vec![vec![Write(0)], vec![Read(0)], vec![Read(0)], vec![Read(0)]]), 8),
        (Toy(vec![vec![Read(0), Read(1)], vec![Write(1), Write(0)]]), 3),
        (Toy(vec![vec![Write(0), Read(1)], vec![Write(1), Read(0)]]), 3),
        (Toy(vec![vec![Write(0)], vec![Write(1)], vec![Read(2)]]), 1),
        (Toy(vec![vec![Choose(3)], vec![Choose(2)]]), 6),
        (Toy(vec![vec![Choose(2), Write(0)], vec![Read(0), Choose(2)]]), 8),
        (locked(3), 6),
        // The second lock is taken in either order, or each process waits for the other.
        (
            Toy(vec![
                vec![Lock(0), Lock(1), Unlock(1), Unlock(0)],
                vec![Lock(1), Lock(0), Unlock(0), Unlock(1)],
            ]),
            3,
        ),
        // Never given back: whoever is first.
        (Toy(vec![vec![Lock(0)], vec![Lock(0)], vec![Lock(0), Write(0)]]), 3),
    ] {
        assert_eq!(check(&program), expected, "{program:?}");
    }
}

#[test]
fn random_programs_agree_with_brute_force() {
    let mut seed = 0x2545_F491_4F6C_DD1D_u64;
    let mut random = move |n: u64| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed % n
    };
    for _ in 0..300 {
        let processes = 2 + random(3) as usize;
        let steps = if processes == 2 { 5 } else { 8 / processes as u64 };
        let program = Toy((0..processes).map(|_| random_process(&mut random, steps)).collect());
        check(&program);
    }
}

fn random_process(random: &mut impl FnMut(u64) -> u64, steps: u64) -> Vec<Op> {
    let mut process = Vec::new();
    let mut held = Vec::new();
    for _ in 0..1 + random(steps) {
        let x = random(2) as u32;
        let op = match random(8) {
            0 | 1 => Read(x),
            2 | 3 => Write(x),
            4 => Update(x),
            5 => Choose(2),
            6 if !held.contains(&x) => Lock(x),
            _ if !held.is_empty() => Unlock(held[0]),
            _ => Read(x),
        };
        match op {
            Lock(l) => held.push(l),
            Unlock(l) => held.retain(|&h| h != l),
            _ => {}
        }
        process.push(op);
    }
    process
}

#[test]
fn limits_are_reported() {
    let program = Toy(vec![vec![Write(0); 3]; 3]);
    let with = |limits| {
        explore(
            &program,
            Algorithm::Optimal,
            &Options { limits, ..Options::default() },
            &mut mazurka_explore::NoMonitor,
        )
    };
    let few = with(Limits { executions: Some(5), ..Limits::default() });
    assert_eq!((few.counts.complete, few.not_exhaustive), (5, Some(NotExhaustive::Executions(5))));
    let shallow = with(Limits { depth: 4, ..Limits::default() });
    assert_eq!((shallow.counts.cut, shallow.not_exhaustive), (1, Some(NotExhaustive::Depth(4))));
    let all = with(Limits::default());
    assert_eq!((all.counts.complete, all.not_exhaustive), (1680, None));
}

/// A program of which something is found out again and again, and that takes its time to start.
struct Restless {
    toy: Toy,
    discoveries: Cell<u32>,
}

impl Program for Restless {
    type Run = ToyRun;

    fn start(&self, footprints: Footprints) -> ToyRun {
        std::thread::sleep(Duration::from_millis(20));
        self.toy.start(footprints)
    }

    fn begin_again(&self) -> bool {
        let left = self.discoveries.get();
        self.discoveries.set(left.saturating_sub(1));
        left > 0
    }
}

#[test]
fn the_time_is_for_all_beginnings_together() {
    let time = Some(Duration::from_millis(100));
    let options = Options { limits: Limits { time, ..Limits::default() }, ..Options::default() };
    for algorithm in [Algorithm::Naive, Algorithm::Source, Algorithm::Optimal] {
        let program =
            Restless { toy: Toy(vec![vec![Write(0)], vec![Write(0)]]), discoveries: Cell::new(200) };
        let started = Instant::now();
        let summary = explore(&program, algorithm, &options, &mut NoMonitor);
        let took = started.elapsed();
        assert_eq!(summary.not_exhaustive, time.map(NotExhaustive::Time), "{algorithm}");
        assert!(took < Duration::from_millis(1100), "{algorithm}: {took:?}");
    }
}
