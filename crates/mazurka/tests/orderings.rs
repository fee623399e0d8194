//! The orderings that atomics name.

use mazurka::sync::atomic::Ordering::{self, *};
use mazurka::sync::atomic::{AtomicUsize, fence};
use mazurka::{Checker, Report};

fn run(operation: impl Fn(&AtomicUsize) + Send + Sync + 'static) -> Report {
    Checker::new().run(move || operation(&AtomicUsize::new(0)))
}

#[test]
fn orderings_that_there_are_not_are_a_panic_at_the_place_of_their_use() {
    let refused = |words: &str, operation: fn(&AtomicUsize, Ordering), order| {
        let report = run(move |atomic| operation(atomic, order));
        let failure = report.failures().next().expect("a failure");
        assert_eq!(failure.kind(), "panic", "{report}");
        assert!(report.text().contains(&format!("there is no such thing as {words}\n")), "{report}");
        assert!(failure.place().is_some_and(|place| place.contains("orderings.rs")), "{report}");
    };
    let load: fn(&AtomicUsize, Ordering) = |atomic, order| {
        let _ = atomic.load(order);
    };
    refused("a release load", load, Release);
    refused("an acquire-release load", load, AcqRel);
    let store: fn(&AtomicUsize, Ordering) = |atomic, order| atomic.store(1, order);
    refused("an acquire store", store, Acquire);
    refused("an acquire-release store", store, AcqRel);
    let exchange: fn(&AtomicUsize, Ordering) = |atomic, order| {
        let _ = atomic.compare_exchange(0, 1, SeqCst, order);
    };
    refused("a release failure ordering", exchange, Release);
    refused("an acquire-release failure ordering", exchange, AcqRel);
    let update: fn(&AtomicUsize, Ordering) = |atomic, order| {
        let _ = atomic.fetch_update(SeqCst, order, |value| Some(value + 1));
    };
    refused("a release load", update, Release);
    refused("a relaxed fence", |_, order| fence(order), Relaxed);
}

#[test]
fn a_weaker_ordering_is_told_wherever_it_is() {
    let told = |operation: fn(&AtomicUsize)| {
        let report = run(operation);
        assert!(report.is_pass(), "{report}");
        report.text().contains("uses an ordering weaker than SeqCst")
    };
    assert!(!told(|atomic| {
        let _ = atomic.compare_exchange(0, 1, SeqCst, SeqCst);
    }));
    assert!(told(|atomic| {
        let _ = atomic.compare_exchange(0, 1, SeqCst, Relaxed);
    }));
    assert!(told(|atomic| {
        let _ = atomic.compare_exchange(0, 1, AcqRel, Acquire);
    }));
    assert!(told(|atomic| {
        let _ = atomic.swap(1, Relaxed);
    }));
    assert!(told(|_| fence(AcqRel)));
}
