//! What a step of the litmus machine costs, by what the step is: forth with a random scheduler, and back.

use std::time::Instant;

use mazurka_litmus::{Source, compile, parse};
use mazurka_program::{Footprints, Label, Program, Run};

const PROGRAMS: [(&str, &str); 6] = [
    ("increments", "var x; process p[i in 0..2] { for k in 0..20 { let r = x; x = r + 1; } }"),
    ("locks", "var x; lock m; process p[i in 0..4] { for k in 0..10 { lock(m); x += 1; unlock(m); } }"),
    ("await", "var x; process p[i in 0..2] { for k in 0..20 { await x % 2 == i; x += 1; } }"),
    ("cas", "var x; process p[i in 0..2] { for k in 0..20 { let o = x; let r = cas(x, o, o + 1); } }"),
    (
        "atomic if",
        "var x, y; process p[i in 0..2] {
             for k in 0..20 { atomic { if x > y { y += 1; } else { x += 1; } } } }",
    ),
    (
        "mailbox",
        "process p[i in 0..2] { for k in 0..20 { send(q, (i, k)); } }
         process q { while true { receive (?a, ?b); } }",
    ),
];

/// Prints the table.
pub fn table() {
    println!("\nsteps: one step of the machine, taken and taken back");
    println!("{:>12} {:>14} {:>14}", "statement", "dynamic, ns", "static, ns");
    for (name, text) in PROGRAMS {
        let [dynamic, foreseen] = [Footprints::Dynamic, Footprints::Static].map(|f| nanoseconds(text, f));
        println!("{name:>12} {dynamic:>14.0} {foreseen:>14.0}");
    }
}

/// The best of several tries.
fn nanoseconds(text: &str, footprints: Footprints) -> f64 {
    let source = Source { name: "steps.maz".into(), text: text.into() };
    let program = compile(&parse(&source).expect("our own program"), &source, &[]).expect("our own program");
    let mut run = program.start(footprints);
    let mut random = 1;
    let mut once = || {
        let (mut steps, begun) = (0, Instant::now());
        while steps < 2_000 {
            steps += execution(&mut run, &mut random);
        }
        begun.elapsed().as_nanos() as f64 / steps as f64
    };
    (0..200).map(|_| once()).fold(f64::INFINITY, f64::min)
}

/// One execution under a random scheduler; gives its length.
fn execution(run: &mut impl Run, random: &mut u64) -> usize {
    let mut label = Label::default();
    while !run.enabled().is_empty() {
        *random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let drawn = (*random >> 33) as usize % run.enabled().len();
        let process = run.enabled().iter().nth(drawn).expect("one of the enabled processes");
        run.step(process, 0, &mut label).expect("our own program runs");
    }
    let steps = run.depth();
    run.rewind(0);
    steps
}
