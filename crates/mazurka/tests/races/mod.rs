//! Data races on cells: what orders two accesses, and what does not. Executions are sequentially consistent;
//! the order by which races are judged is that of C++20, which Rust has.
#![allow(unsafe_code)]

mod atomics;
mod primitives;
mod structures;

use mazurka::Checker;
use mazurka::cell::UnsafeCell;

/// A number that threads share without a lock.
#[derive(Default)]
struct Number(UnsafeCell<u32>);

// SAFETY: who shares one has to order the accesses; the tests are about whether that is noticed. Modelled
// threads take turns, so accesses that race do no harm.
unsafe impl Sync for Number {}

impl Number {
    #[track_caller]
    fn set(&self, number: u32) {
        // SAFETY: as above.
        self.0.with_mut(|value| unsafe { *value = number });
    }

    #[track_caller]
    fn get(&self) -> u32 {
        // SAFETY: as above.
        self.0.with(|value| unsafe { *value })
    }
}

/// Some execution of the program has a data race.
#[track_caller]
fn races(what: &str, program: impl Fn() + Send + Sync + 'static) {
    let report = Checker::new().run(program);
    let kind = report.failures().next().map(|failure| failure.kind());
    assert_eq!(kind, Some("data-race"), "{what}: {report}");
}

/// No execution of the program has one, nor fails otherwise.
#[track_caller]
fn ordered(what: &str, program: impl Fn() + Send + Sync + 'static) {
    let report = Checker::new().run(program);
    assert!(report.is_pass(), "{what}: {report}");
}
