//! Runs of compiled programs.

#[path = "machine/behaviour.rs"]
mod behaviour;
#[path = "machine/errors.rs"]
mod errors;
#[path = "machine/labels.rs"]
mod labels;
#[path = "machine/laws.rs"]
mod laws;
#[path = "machine/programs.rs"]
mod programs;
#[path = "machine/random.rs"]
mod random;
#[path = "machine/support.rs"]
mod support;

use mazurka_program::{Footprints, Label, Program, Run};
use support::program;

/// `cargo test --release -p mazurka-litmus --test machine -- --ignored --nocapture`
#[test]
#[ignore = "a measurement"]
fn how_long_a_step_takes() {
    let programs = [
        ("increments", "var x; process p[i in 0..2] { for k in 0..20 { let r = x; x = r + 1; } }"),
        ("locks", "var x; lock m; process p[i in 0..4] { for k in 0..10 { lock(m); x += 1; unlock(m); } }"),
        ("await", "var x; process p[i in 0..2] { for k in 0..20 { await x % 2 == i; x += 1; } }"),
        ("cas", "var x; process p[i in 0..2] { for k in 0..20 { let o = x; let r = cas(x, o, o + 1); } }"),
        (
            "atomic if",
            "var x, y; process p[i in 0..2] { for k in 0..20 { atomic { if x > y { y += 1; } else { x += 1; } } } }",
        ),
        (
            "mailbox",
            "process p[i in 0..2] { for k in 0..20 { send(q, (i, k)); } } process q { while true { receive (?a, ?b); } }",
        ),
    ];
    for (name, text) in programs {
        for footprints in [Footprints::Dynamic, Footprints::Static] {
            let mut run = program(text).start(footprints);
            let mut label = Label::default();
            let mut random = 1u64;
            let mut best = f64::INFINITY;
            for _ in 0..2000 {
                let (mut steps, begin) = (0u64, std::time::Instant::now());
                while steps < 2_000 {
                    while !run.enabled().is_empty() {
                        random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                        let skip = (random >> 33) as usize % 4;
                        let first = run.enabled().iter().next();
                        let p = run.enabled().iter().nth(skip).or(first).unwrap();
                        run.step(p, 0, &mut label).unwrap();
                        steps += 1;
                    }
                    run.rewind(0);
                }
                best = best.min(begin.elapsed().as_nanos() as f64 / steps as f64);
            }
            println!("{name} {footprints:?}: {best:.1} ns");
        }
    }
}
