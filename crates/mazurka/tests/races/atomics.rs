//! Atomics: orderings, fences, release sequences.

use mazurka::sync::Arc;
use mazurka::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use mazurka::sync::atomic::{AtomicU32, fence};
use mazurka::thread;

use super::{Number, ordered, races};

type Raise = fn(&AtomicU32);
type Raised = fn(&AtomicU32) -> bool;

#[derive(Default)]
struct Post {
    data: Number,
    flag: AtomicU32,
}

/// One thread writes a number and raises a flag, from 0; another, if it finds it raised, reads the number.
fn message(raise: Raise, raised: Raised) -> impl Fn() + Send + Sync + 'static {
    move || {
        let post = Arc::new(Post::default());
        let sender = {
            let post = post.clone();
            thread::spawn(move || {
                post.data.set(1);
                raise(&post.flag);
            })
        };
        if raised(&post.flag) {
            assert_eq!(post.data.get(), 1);
        }
        sender.join().unwrap();
    }
}

#[test]
fn a_release_that_an_acquire_reads_orders_and_nothing_weaker() {
    let store: [(&str, Raise); 3] = [
        ("relaxed", |flag| flag.store(1, Relaxed)),
        ("release", |flag| flag.store(1, Release)),
        ("seqcst", |flag| flag.store(1, SeqCst)),
    ];
    let load: [(&str, Raised); 3] = [
        ("relaxed", |flag| flag.load(Relaxed) == 1),
        ("acquire", |flag| flag.load(Acquire) == 1),
        ("seqcst", |flag| flag.load(SeqCst) == 1),
    ];
    for (stored, raise) in store {
        for (loaded, raised) in load {
            let what = format!("a {stored} store and a {loaded} load");
            match stored == "relaxed" || loaded == "relaxed" {
                true => races(&what, message(raise, raised)),
                false => ordered(&what, message(raise, raised)),
            }
        }
    }
}

#[test]
fn fences_order_on_both_sides_of_relaxed_accesses() {
    let relaxed: Raised = |flag| flag.load(Relaxed) == 1;
    let acquire: Raised = |flag| flag.load(Acquire) == 1;
    let fenced: Raised = |flag| {
        let raised = flag.load(Relaxed) == 1;
        fence(Acquire);
        raised
    };
    let release_fence: Raise = |flag| {
        fence(Release);
        flag.store(1, Relaxed);
    };
    ordered("fences on both sides", message(release_fence, fenced));
    ordered("a fence and an acquire load", message(release_fence, acquire));
    ordered("a release store and a fence", message(|flag| flag.store(1, Release), fenced));
    races("a release fence alone", message(release_fence, relaxed));
    races("an acquire fence alone", message(|flag| flag.store(1, Relaxed), fenced));
    for order in [SeqCst, AcqRel] {
        ordered("fences of both kinds", move || {
            let post = Arc::new(Post::default());
            let other = post.clone();
            let sender = thread::spawn(move || {
                other.data.set(1);
                fence(order);
                other.flag.store(1, Relaxed);
            });
            if post.flag.load(Relaxed) == 1 {
                fence(order);
                post.data.get();
            }
            sender.join().unwrap();
        });
    }
}

#[test]
fn a_fence_on_the_wrong_side_orders_nothing() {
    let late: Raise = |flag| {
        flag.store(1, Relaxed);
        fence(Release);
    };
    races("a release fence behind the store", message(late, |flag| flag.load(Acquire) == 1));
    let early: Raised = |flag| {
        fence(Acquire);
        flag.load(Relaxed) == 1
    };
    races("an acquire fence before the load", message(|flag| flag.store(1, Release), early));
    let acquire: Raise = |flag| {
        fence(Acquire);
        flag.store(1, Relaxed);
    };
    races("an acquire fence where a release fence should be", message(acquire, |f| f.load(Acquire) == 1));
    races("what is written behind the fence", || {
        let post = Arc::new(Post::default());
        let other = post.clone();
        let sender = thread::spawn(move || {
            fence(Release);
            other.data.set(1);
            other.flag.store(1, Relaxed);
        });
        if post.flag.load(Acquire) == 1 {
            post.data.get();
        }
        sender.join().unwrap();
    });
}

#[test]
fn read_modify_writes_order_by_their_orderings() {
    let acquire: Raised = |flag| flag.load(Acquire) == 1;
    let add = |raise: Raise| message(raise, acquire);
    ordered(
        "fetch_add, release",
        add(|flag| {
            flag.fetch_add(1, Release);
        }),
    );
    ordered(
        "swap, acqrel",
        add(|flag| {
            flag.swap(1, AcqRel);
        }),
    );
    races(
        "fetch_add, relaxed",
        add(|flag| {
            flag.fetch_add(1, Relaxed);
        }),
    );
    races(
        "swap, acquire",
        add(|flag| {
            flag.swap(1, Acquire);
        }),
    );
    let read = |raised: Raised| message(|flag| flag.store(1, Release), raised);
    ordered("fetch_or, acquire", read(|flag| flag.fetch_or(0, Acquire) == 1));
    races("fetch_or, release", read(|flag| flag.fetch_or(0, Release) == 1));
}

#[test]
fn a_compare_exchange_has_an_ordering_for_either_outcome() {
    let read = |raised: Raised| message(|flag| flag.store(1, Release), raised);
    ordered("a success, acquire", read(|flag| flag.compare_exchange(1, 2, Acquire, Relaxed).is_ok()));
    races("a success, relaxed", read(|flag| flag.compare_exchange(1, 2, Relaxed, Acquire).is_ok()));
    ordered("a failure, acquire", read(|flag| flag.compare_exchange(0, 0, Relaxed, Acquire).is_err()));
    races("a failure, relaxed", read(|flag| flag.compare_exchange(0, 0, AcqRel, Relaxed).is_err()));
    let failed: Raise = |flag| {
        // It fails where the other thread was there before, and releases nothing then.
        let _ = flag.compare_exchange(5, 6, Release, Relaxed);
        flag.store(1, Relaxed);
    };
    races("a failure releases nothing", message(failed, |flag| flag.load(Acquire) == 1));
    let update: Raise = |flag| {
        let _ = flag.fetch_update(Release, Relaxed, |value| Some(value + 1));
    };
    ordered("fetch_update", message(update, |flag| flag.load(Acquire) == 1));
}

/// A number is written and a flag set to 1 with release; another thread goes on from there; main reads the
/// number if it finds the flag at 2 with acquire.
fn relay(pass_on: Raise) -> impl Fn() + Send + Sync + 'static {
    move || {
        let post = Arc::new(Post::default());
        let (first, second) = (post.clone(), post.clone());
        let threads = [
            thread::spawn(move || {
                first.data.set(1);
                first.flag.store(1, Release);
            }),
            thread::spawn(move || pass_on(&second.flag)),
        ];
        if post.flag.load(Acquire) == 2 {
            post.data.get();
        }
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    }
}

#[test]
fn read_modify_writes_continue_a_release_sequence_and_stores_break_it() {
    ordered(
        "a relaxed exchange",
        relay(|flag| {
            let _ = flag.compare_exchange(1, 2, Relaxed, Relaxed);
        }),
    );
    races(
        "a relaxed store of another thread",
        relay(|flag| {
            if flag.load(Relaxed) == 1 {
                flag.store(2, Relaxed);
            }
        }),
    );
    races(
        "a release store of a thread that did not acquire",
        relay(|flag| {
            if flag.load(Relaxed) == 1 {
                flag.store(2, Release);
            }
        }),
    );
    ordered(
        "a release store of a thread that did",
        relay(|flag| {
            if flag.load(Acquire) == 1 {
                flag.store(2, Release);
            }
        }),
    );
    let twice: Raise = |flag| {
        flag.store(7, Release);
        flag.store(1, Relaxed);
    };
    races("a relaxed store of the same thread", message(twice, |flag| flag.load(Acquire) == 1));
    let update: Raise = |flag| {
        flag.store(0, Release);
        flag.fetch_add(1, Relaxed);
    };
    ordered("a relaxed update of the same thread", message(update, |flag| flag.load(Acquire) == 1));
    let fenced: Raise = |flag| {
        fence(Release);
        flag.store(0, Relaxed);
        flag.fetch_add(1, Relaxed);
    };
    ordered("a sequence that begins behind a fence", message(fenced, |flag| flag.load(Acquire) == 1));
}

#[test]
fn the_report_says_what_orderings_count_for() {
    let report =
        mazurka::Checker::new().run(message(|flag| flag.store(1, Release), |flag| flag.load(Acquire) == 1));
    let text = report.text();
    assert!(text.contains("atomics.rs"), "{text}");
    assert!(
        text.contains("weaker than SeqCst: it counts for data races; values are those of SeqCst"),
        "{text}"
    );
}
