//! Data structures as people write them, each in one text with its bugs: the right one passes every
//! execution, and each bug is found for what it is. `docs/structures.md` tells of them.

mod channel;
mod once;
mod pool;
mod queue;
mod rwlock;
mod stack;

use mazurka::Checker;

/// Asserts that a program has so many executions, of which none fails.
#[track_caller]
fn passes(executions: u64, program: fn()) {
    let report = Checker::new().run(program);
    assert!(report.is_pass(), "{}", report.text());
    assert_eq!((report.executions(), report.blocked()), (executions, 0));
}

/// Asserts besides that these executions are all: there are as many classes of all interleavings.
#[track_caller]
fn passes_as_by_brute_force(executions: u64, program: fn()) {
    passes(executions, program);
    let told = move || {
        program();
        "passed".to_owned()
    };
    crate::brute::verify(told, executions as usize, &["passed"]);
}

/// Asserts that the first failure of a program is of a kind, and that its report says so, and says this.
#[track_caller]
fn fails(kind: &str, says: &str, program: fn()) {
    let report = Checker::new().run(program);
    let text = report.text();
    assert_eq!(report.failures().map(|failure| failure.kind()).next(), Some(kind), "{text}");
    assert!(text.starts_with(&format!("failure: {kind} in ")), "{text}");
    assert!(text.contains(says), "{text}");
    // Shown by `cargo test -- --nocapture`.
    println!("{text}");
}
