//! Checks in short.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use mazurka::{Checker, Report};

/// Checks that a closure passes in so many executions, and that these are the values it gives.
#[track_caller]
pub fn expect<T>(
    executions: u64,
    outcomes: impl IntoIterator<Item = T>,
    body: impl Fn() -> T + Send + Sync + 'static,
) where
    T: Ord + std::fmt::Debug + Send + 'static,
{
    let seen = Arc::new(Mutex::new(BTreeSet::new()));
    let keep = seen.clone();
    let report = Checker::new().run(move || {
        let outcome = body();
        keep.lock().unwrap().insert(outcome);
    });
    assert!(report.is_pass(), "{}", report.text());
    assert_eq!(*seen.lock().unwrap(), outcomes.into_iter().collect());
    assert_eq!((report.executions(), report.blocked()), (executions, 0));
}

/// Checks that a closure passes in so many executions.
#[track_caller]
pub fn passes(executions: u64, body: impl Fn() + Send + Sync + 'static) {
    expect(executions, [()], body);
}

/// Checks that a closure fails, and that the report says all of this.
#[track_caller]
pub fn fails(with: &[&str], body: impl Fn() + Send + Sync + 'static) -> Report {
    let report = Checker::new().run(body);
    let text = report.text();
    assert!(!report.is_pass(), "{text}");
    for words in with {
        assert!(text.contains(words), "no `{words}` in\n{text}");
    }
    report
}
