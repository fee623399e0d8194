//! Searches that several workers share end where one worker's does: at what comes first in their order, whoever came
//! to what first.

#[expect(dead_code, reason = "other tests have other programs")]
mod toy;

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread::sleep;
use std::time::Duration;

use mazurka_explore::{
    Algorithm, Counts, Ending, ItemSizes, Jobs, Limits, Monitor, NotExhaustive, Options, Order, Summary,
    explore, explore_jobs,
};
use mazurka_program::{Footprints, Program};
use mazurka_trace::Trace;
use toy::{Op::*, Toy, ToyRun};

/// Fails where a process other than the first begins, and is slow where the first does: so what comes last in the order
/// of the search fails first.
#[derive(Default)]
struct SlowAtFirst {
    executions: u64,
    failed: Vec<u32>,
}

impl Monitor<ToyRun> for SlowAtFirst {
    fn execution(&mut self, _: Ending, trace: &Trace, _: &ToyRun, _: &Counts) -> ControlFlow<()> {
        self.executions += 1;
        match trace.process(0).0 {
            0 => {
                sleep(Duration::from_micros(200));
                ControlFlow::Continue(())
            }
            failed => {
                self.failed.push(failed);
                ControlFlow::Break(())
            }
        }
    }
}

fn shared(
    program: &Toy,
    algorithm: Algorithm,
    options: &Options,
    workers: usize,
) -> (Summary, u64, Vec<u32>) {
    let all = std::sync::Mutex::new((0, Vec::new()));
    let jobs = Jobs {
        workers,
        monitor: &SlowAtFirst::default,
        collect: &mut |part: SlowAtFirst| {
            let mut all = all.lock().expect("nobody panics with it");
            all.0 += part.executions;
            all.1.extend(part.failed);
        },
        begin_again: &mut || (),
        watch: &mut |_, _| ControlFlow::Continue(()),
    };
    let summary = explore_jobs(program, algorithm, options, jobs).expect("it can be shared");
    let (executions, failed) = all.into_inner().expect("nobody panics with it");
    (summary, executions, failed)
}

#[test]
fn what_ends_a_search_is_the_first_in_its_order() {
    let program = Toy(vec![vec![Update(0); 3]; 3]);
    let items = ItemSizes { first: 1, later: 5, parts: usize::MAX };
    for (algorithm, order) in [
        (Algorithm::Naive, Order::Natural),
        (Algorithm::WakeUp, Order::Natural),
        (Algorithm::Random, Order::Shuffled(1)),
        (Algorithm::Random, Order::Shuffled(8)),
    ] {
        let options = Options { items, order, ..Options::default() };
        let mut whole = SlowAtFirst::default();
        let summary = explore(&program, algorithm, &options, &mut whole);
        assert_eq!(summary.not_exhaustive, Some(NotExhaustive::Stopped), "{algorithm}");
        for workers in [1, 2, 4] {
            let (found, executions, failed) = shared(&program, algorithm, &options, workers);
            let case = format!("{algorithm} by {workers} workers");
            assert_eq!(found.not_exhaustive, summary.not_exhaustive, "{case}");
            assert_eq!(found.counts.complete, summary.counts.complete, "{case}");
            assert_eq!((executions, &failed), (whole.executions, &whole.failed), "{case}");
        }
    }
    // All that begin with the first of three processes, and one more.
    let options = Options { items, ..Options::default() };
    assert_eq!(shared(&program, Algorithm::Naive, &options, 2).1, 561);
}

#[test]
fn limits_hold() {
    let program = Toy(vec![vec![Read(0); 7]; 3]);
    let items = ItemSizes { first: 10, later: 20, parts: usize::MAX };
    let of = |limits| Options { items, limits, ..Options::default() };
    for algorithm in [Algorithm::Naive, Algorithm::Random] {
        let few = of(Limits { executions: Some(1_234), ..Limits::default() });
        let found = [1, 2, 4].map(|workers| quick(&program, algorithm, &few, workers));
        assert_eq!(
            (found[0].counts.executions(), &found[0].not_exhaustive),
            (1_234, &Some(NotExhaustive::Executions(1_234)))
        );
        assert!(found.iter().all(|other| *other == found[0]), "{found:?}");
        let short = of(Limits { time: Some(Duration::from_millis(50)), ..Limits::default() });
        let found = quick(&program, algorithm, &short, 2);
        assert_eq!(found.not_exhaustive, Some(NotExhaustive::Time(Duration::from_millis(50))));
    }
    // Without a limit there are ten thousand walks, and never all executions.
    let found = quick(&program, Algorithm::Random, &of(Limits::default()), 2);
    assert_eq!(found.counts.complete, 10_000);
    assert_eq!(found.not_exhaustive, Some(NotExhaustive::ByDesign(Algorithm::Random)));
}

fn quick(program: &Toy, algorithm: Algorithm, options: &Options, workers: usize) -> Summary {
    let jobs = Jobs {
        workers,
        monitor: &|| mazurka_explore::NoMonitor,
        collect: &mut |_| (),
        begin_again: &mut || (),
        watch: &mut |_, _| ControlFlow::Continue(()),
    };
    explore_jobs(program, algorithm, options, jobs).expect("it can be shared")
}

/// A program of which something is found out late: so late, counted in questions, that much of the search was done.
struct BeginsAgain {
    program: Toy,
    asked: AtomicU32,
    late: u32,
}

impl Program for BeginsAgain {
    type Run = ToyRun;

    fn start(&self, footprints: Footprints) -> ToyRun {
        self.program.start(footprints)
    }

    fn begin_again(&self) -> bool {
        self.asked.fetch_add(1, Relaxed) + 1 == self.late
    }
}

/// Takes its time, and keeps the shares that it is told.
#[derive(Clone, Default)]
struct Shares(Arc<Mutex<Vec<f64>>>);

impl Monitor<ToyRun> for Shares {
    fn execution(&mut self, _: Ending, _: &Trace, _: &ToyRun, _: &Counts) -> ControlFlow<()> {
        sleep(Duration::from_millis(2));
        ControlFlow::Continue(())
    }

    fn progress(&mut self, _: &Counts, share: f64) -> ControlFlow<()> {
        self.0.lock().expect("nobody panics with it").push(share);
        ControlFlow::Continue(())
    }
}

/// Whether a search that began again told this: it had come far, and never went back.
#[track_caller]
fn never_goes_back(shares: &Shares, case: &str) {
    let shares = shares.0.lock().expect("nobody panics with it");
    assert!(
        shares.is_sorted() && shares.iter().all(|share| (0.0..=1.0).contains(share)),
        "{case}: {shares:?}"
    );
    assert!(shares.iter().any(|&share| share > 0.1), "{case}: {shares:?}");
}

#[test]
fn the_share_that_is_done_never_goes_back() {
    let begins_again =
        |late| BeginsAgain { program: Toy(vec![vec![Update(0)]; 5]), asked: AtomicU32::new(0), late };
    for workers in [1, 2] {
        let told = Shares::default();
        let jobs = Jobs {
            workers,
            monitor: &|| Shares::default(),
            collect: &mut |_| (),
            begin_again: &mut || (),
            watch: &mut |counts, share| Monitor::<ToyRun>::progress(&mut told.clone(), counts, share),
        };
        let items = ItemSizes { first: 1, later: 3, parts: usize::MAX };
        let options = Options { items, ..Options::default() };
        let summary = explore_jobs(&begins_again(35), Algorithm::WakeUp, &options, jobs);
        assert_eq!(summary.expect("it can be shared").counts.complete, 120);
        never_goes_back(&told, &format!("{workers} workers"));
    }
    // The search that is not shared asks when it is through.
    for algorithm in [Algorithm::Optimal, Algorithm::WakeUp] {
        let mut told = Shares::default();
        let summary = explore(&begins_again(1), algorithm, &Options::default(), &mut told);
        assert_eq!(summary.counts.complete, 120);
        never_goes_back(&told, algorithm.name());
    }
}
