//! Long executions and endless ones: no algorithm recurses over their length, and every process gets its
//! turn.

use std::ops::ControlFlow;
use std::time::Duration;

use mazurka_explore::{
    Algorithm, Counts, Ending, Limits, Monitor, NoMonitor, NotExhaustive, Options, explore,
};
use mazurka_litmus::{LitmusRun, Source, compile, parse};
use mazurka_program::Run;
use mazurka_trace::Trace;

const STACK: usize = 256 * 1024;

#[test]
fn long_executions_need_no_stack() {
    let text = "param n = 20000; var x, u, v;
        process a { x = 1; }
        process b { for i in 0..n { u = i; } x = 2; }
        process c { for i in 0..n { v = i; } x = 3; }";
    let source = Source { name: "long.maz".into(), text: text.into() };
    let program = compile(&parse(&source).expect("it parses"), &source, &[]).expect("it compiles");
    for algorithm in [Algorithm::Source, Algorithm::Optimal] {
        let program = program.clone();
        let search = move || explore(&program, algorithm, &Options::default(), &mut NoMonitor);
        let thread = std::thread::Builder::new().stack_size(STACK).spawn(search).expect("a thread");
        let summary = thread.join().expect("no overflow");
        assert_eq!((summary.counts.complete, summary.not_exhaustive), (6, None), "{algorithm}");
        assert_eq!(summary.counts.longest, 40_003);
    }
    // Nobody reads x.
    let search = move || explore(&program, Algorithm::OptimalObservers, &Options::default(), &mut NoMonitor);
    let thread = std::thread::Builder::new().stack_size(STACK).spawn(search).expect("a thread");
    let summary = thread.join().expect("no overflow");
    assert_eq!((summary.counts.complete, summary.not_exhaustive), (1, None));
}

/// Counts executions that failed.
#[derive(Default)]
struct Failing(u64);

impl Monitor<LitmusRun> for Failing {
    fn execution(&mut self, _: Ending, _: &Trace, run: &LitmusRun, _: &Counts) -> ControlFlow<()> {
        self.0 += u64::from(!run.failures().is_empty());
        ControlFlow::Continue(())
    }
}

const ENDLESS: &str = "var x; process p { while true { x += 1; } } process q { assert x < 0; }";

#[test]
fn an_endless_process_leaves_others_their_turn() {
    let source = Source { name: "endless.maz".into(), text: ENDLESS.into() };
    let program = compile(&parse(&source).expect("it parses"), &source, &[]).expect("it compiles");
    let minute = Some(Duration::from_secs(60));
    for (limits, reason) in [
        (
            Limits { time: minute, depth: 20_000, unroll: usize::MAX, ..Limits::default() },
            NotExhaustive::Depth(20_000),
        ),
        // The clock ends this one within its first execution; what failed so far is told all the same.
        (
            Limits {
                time: Some(Duration::from_millis(500)),
                depth: usize::MAX,
                unroll: usize::MAX,
                ..Limits::default()
            },
            NotExhaustive::Time(Duration::from_millis(500)),
        ),
    ] {
        // What never ends is more than `data-centric` covers, and it says so.
        let others = |algorithm: &Algorithm| {
            !matches!(
                algorithm,
                Algorithm::Convergent | Algorithm::ConvergentConstraints | Algorithm::DataCentric
            )
        };
        for algorithm in Algorithm::ALL.into_iter().filter(others) {
            let mut failing = Failing::default();
            let options = Options { limits, ..Options::default() };
            let summary = explore(&program, algorithm, &options, &mut failing);
            assert_eq!(summary.not_exhaustive, Some(reason.clone()), "{algorithm}");
            assert_eq!(failing.0, 1, "{algorithm}");
        }
    }
}

/// Wants no more once an execution has ended.
struct Enough(bool);

impl Monitor<LitmusRun> for Enough {
    fn execution(&mut self, _: Ending, _: &Trace, _: &LitmusRun, _: &Counts) -> ControlFlow<()> {
        self.0 = true;
        ControlFlow::Continue(())
    }

    fn progress(&mut self, _: &Counts, _: f64) -> ControlFlow<()> {
        if self.0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// What the races of one long execution have to be planned for takes more memory than there may be, and long.
#[test]
fn limits_hold_while_reversals_are_planned() {
    let text = "param n = 3000; var a[n], b[n], c[n];
        process p { for i in 0..n { a[i] = 1; b[i] = c[i] + 1; } }
        process q { for i in 0..n { b[i] = 1; c[i] = c[i] + 1; } }
        process r { for i in 0..n { c[i] = 1; a[i] = c[i] + 1; } }";
    let source = Source { name: "many_races.maz".into(), text: text.into() };
    let program = compile(&parse(&source).expect("it parses"), &source, &[]).expect("it compiles");
    let (most, room) = (40_000_000, 60_000_000);
    let limits = Limits { memory: Some(most), ..Limits::default() };
    let options = Options { limits, ..Options::default() };
    for algorithm in [Algorithm::Optimal, Algorithm::OptimalObservers] {
        let cut = explore(&program, algorithm, &options, &mut NoMonitor);
        assert_eq!(cut.not_exhaustive, Some(NotExhaustive::Memory(most)), "{algorithm}");
        assert_eq!(cut.counts.complete, 1, "{algorithm}");
        assert!(cut.counts.memory < most + room, "{algorithm}: {} bytes", cut.counts.memory);
        let stopped = explore(&program, algorithm, &Options::default(), &mut Enough(false));
        assert_eq!(stopped.not_exhaustive, Some(NotExhaustive::Stopped), "{algorithm}");
        assert_eq!(stopped.counts.complete, 1, "{algorithm}");
    }
}
