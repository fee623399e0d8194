//! Searches that several workers share end where one worker's does: at what comes first in their order, whoever came
//! to what first.

#[expect(dead_code, reason = "other tests have other programs")]
mod toy;

use std::ops::ControlFlow;
use std::thread::sleep;
use std::time::Duration;

use mazurka_explore::{
    Algorithm, Counts, Ending, ItemSizes, Jobs, Limits, Monitor, NotExhaustive, Options, Order, Summary,
    explore, explore_jobs,
};
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
