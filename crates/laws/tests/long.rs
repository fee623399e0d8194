//! Long executions: no algorithm recurses over their length, nor over that of a wakeup sequence.

use mazurka_explore::{Algorithm, NoMonitor, Options, explore};
use mazurka_litmus::{Source, compile, parse};

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
}
