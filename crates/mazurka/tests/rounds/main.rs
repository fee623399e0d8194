//! Loops that wait and write end, with the right verdict; and what hides a counter is taken for no round.

mod beside;
mod counters;
mod joint;
mod locks;
mod polling;
mod queues;
mod random;
mod tasks;

use mazurka::{Checker, Report};

/// What is expected of a closure: the numbers of complete executions and of stopped ones, in several orders.
fn passes(expected: (u64, u64), closure: impl Fn() + Clone + Send + Sync + 'static) {
    passes_in_orders(6, expected, closure);
}

fn passes_in_orders(orders: u64, expected: (u64, u64), closure: impl Fn() + Clone + Send + Sync + 'static) {
    let counts = |report: &Report| (report.executions(), report.stopped());
    let report = Checker::new().run(closure.clone());
    assert!(report.is_pass(), "{}", report.text());
    assert_eq!(counts(&report), expected);
    for seed in 0..orders {
        let shuffled = Checker::new().seed(seed).run(closure.clone());
        assert!(shuffled.is_pass(), "seed {seed}: {}", shuffled.text());
        assert_eq!(counts(&shuffled), expected, "seed {seed}");
        assert_eq!(shuffled.blocked(), 0);
    }
}

/// As [`passes`], where the numbers depend on how the compiler lays out frames: they are the same in all orders.
/// Gives the number of complete executions.
fn passes_alike(closure: impl Fn() + Clone + Send + Sync + 'static) -> u64 {
    let report = Checker::new().run(closure.clone());
    assert!(report.is_pass() && report.stopped() > 0, "{}", report.text());
    passes_in_orders(2, (report.executions(), report.stopped()), closure);
    report.executions()
}

/// The failure of a closure, in several orders the same kind.
fn fails(kind: &str, closure: impl Fn() + Clone + Send + Sync + 'static) -> Report {
    let check = |checker: Checker, order: &str| {
        let report = checker.run(closure.clone());
        let kinds: Vec<&str> = report.failures().map(|failure| failure.kind()).collect();
        assert_eq!(kinds, [kind], "{order}: {}", report.text());
        report
    };
    (0..6).for_each(|seed| drop(check(Checker::new().seed(seed), &format!("seed {seed}"))));
    check(Checker::new(), "in the order of the threads")
}
