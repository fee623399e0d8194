//! Limits hold whatever the program does, and whatever the algorithm.

use std::time::{Duration, Instant};

use crate::Place;

/// Quick steps, until the clock is looked at as seldom as ever, and then slow ones.
const SLOW_ABS: &str = "module M;
interface I { Unit quick(Int n); Unit slow(); }
class C implements I {
  Int x = 0;
  Unit quick(Int n) { Int i = 0; while (i < n) { x = x + 1; i = i + 1; suspend; } }
  Unit slow() {
    Int i = 0;
    while (i < 1000) { Int k = 0; while (k < 400000) { k = k + 1; } x = k; i = i + 1; suspend; }
  }
}
{ I a = new C(); Fut<Unit> f = a!quick(3000); await f?; a!slow(); }";

const SLOW_MAZ: &str = "var x = 0;
process p {
    for i in 0..3000 { x = i; }
    for i in 0..1000 { x = i; let sum = 0; for k in 0..2000000 { sum = sum + k; } }
}";

/// Long states and many of them: to write one down takes longer than a step.
const LARGE_ABS: &str = "module M;
interface I { Unit go(Int n); }
class C implements I {
  List<Int> l = Nil;
  Unit go(Int n) { Int i = 0; while (i < n) { l = Cons(i, l); i = i + 1; suspend; } }
}
{ I a = new C(); I b = new C(); a!go(4000); a!go(4000); b!go(4000); }";

#[test]
fn the_time_limit_holds_whatever_steps_take() {
    let algorithms = ["naive", "source", "optimal", "optimal+observers", "source+context", "convergent"];
    for (name, text) in [("p.abs", SLOW_ABS), ("p.maz", SLOW_MAZ), ("large.abs", LARGE_ABS)] {
        let place = Place::new("time-limit", name, text);
        for algorithm in algorithms {
            let started = Instant::now();
            let outcome = place.run(&[
                "check",
                name,
                "--algorithm",
                algorithm,
                "--timeout",
                "0.3",
                "--max-unroll",
                "100000",
            ]);
            let took = started.elapsed();
            outcome.expect(3, &["the time limit of 0.3 s was reached"]);
            assert!(took < Duration::from_millis(1800), "{name} {algorithm}: {took:?}");
        }
    }
}

/// Whatever the past of an execution holds counts, and in every algorithm.
#[test]
fn the_memory_limit_knows_what_the_program_keeps() {
    let abs = "module M;
        interface I { Unit go(Int n); }
        class C implements I {
          String s = \"\";
          Unit go(Int n) {
            Int i = 0; String line = \"0123456789012345678901234567890123456789\";
            while (i < n) { s = toString(i) + line + line + line + line + line + line; i = i + 1; suspend; }
          }
        }
        { I a = new C(); a!go(60000); a!go(60000); }";
    let maz =
        "var x = 0; process p { for i in 0..90000 { x = i; } } process q { for i in 0..90000 { x = i; } }";
    for (name, text, limit) in [("p.abs", abs, "16M"), ("p.maz", maz, "4M")] {
        let place = Place::new("memory-limit", name, text);
        for algorithm in ["naive", "source", "optimal", "convergent"] {
            let limits = ["--max-memory", limit, "--timeout", "20", "--max-unroll", "100000"];
            let outcome = place.run(&[&["check", name, "--algorithm", algorithm], &limits[..]].concat());
            outcome.expect(3, &[&format!("the memory limit of {limit} was reached")]);
        }
    }
}

#[test]
fn a_diagram_that_cannot_be_written_is_told_before_the_search() {
    let place = Place::new("svg-early", "p.abs", SLOW_ABS);
    let arguments = ["check", "p.abs", "--timeout", "20", "--", "--svg", "no/such/place.svg"];
    let started = Instant::now();
    place.run(&arguments).refused(&["no/such/place.svg: the diagram can't be written"]);
    assert!(started.elapsed() < Duration::from_secs(5));
    place.run(&["check", "p.abs", "--", "--svg", "."]).refused(&[".: the diagram can't be written"]);
    let cut = place.run(&["check", "p.abs", "--timeout", "0.1", "--", "--svg", "none.svg"]);
    cut.expect(3, &["note: none.svg was not written: there is no complete execution to draw"]);
    assert!(
        !place.directory.join("none.svg").exists(),
        "to look whether it can be written leaves nothing behind"
    );
}

/// `/dev/full` can be opened, and nothing can be written to it.
#[cfg(target_os = "linux")]
#[test]
fn the_verdict_is_told_whatever_becomes_of_the_diagram() {
    let place = Place::new("svg-full", "p.abs", "module M; { Int x = 1; assert x == 2; }");
    let outcome = place.run(&["check", "p.abs", "--", "--svg", "/dev/full"]);
    outcome.expect(1, &["assertion failed: x == 2", "note: /dev/full was not written: "]);
}
