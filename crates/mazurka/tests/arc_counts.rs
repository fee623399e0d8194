//! Counts of `Arc`s, asked for where all that others do to them is past by the first execution: it matters
//! all the same.

use crate::brute::verify;
use mazurka::cell::UnsafeCell;
use mazurka::sync::atomic::{AtomicU64, Ordering::SeqCst};
use mazurka::sync::{Arc, Weak};
use mazurka::{Checker, thread};

/// An operation that nobody else looks at: a thread that was created before has begun when it has been done.
fn let_others_begin() {
    AtomicU64::new(0).load(SeqCst);
}

#[test]
fn an_upgrade_that_comes_too_late_may_come_in_time() {
    let upgrade = || {
        let own = Arc::new(5);
        let weak = Arc::downgrade(&own);
        let dropping = thread::spawn(move || drop(own));
        let_others_begin();
        let upgraded = weak.upgrade().is_some();
        dropping.join().unwrap();
        upgraded.to_string()
    };
    verify(upgrade, 3, &["false", "true"]);
}

#[test]
fn counts_that_a_weak_handle_gives() {
    let strong = || {
        let own = Arc::new(5);
        let weak = Arc::downgrade(&own);
        let dropping = thread::spawn(move || drop(own));
        let_others_begin();
        let count = weak.strong_count();
        dropping.join().unwrap();
        count.to_string()
    };
    verify(strong, 2, &["0", "1"]);
    let weak = || {
        let own = Arc::new(5);
        let (weak, other) = (Arc::downgrade(&own), Arc::downgrade(&own));
        let dropping = thread::spawn(move || drop(other));
        let_others_begin();
        let count = weak.weak_count();
        dropping.join().unwrap();
        count.to_string()
    };
    verify(weak, 2, &["1", "2"]);
}

#[test]
fn a_handle_of_nothing_gives_nothing_away() {
    let program = || {
        let (weak, own) = (Weak::<u32>::new(), Arc::new(1));
        let other = own.clone();
        thread::spawn(move || drop(other)).join().unwrap();
        format!("{} {} {}", weak.upgrade().is_some(), weak.strong_count(), weak.weak_count())
    };
    verify(program, 1, &["false 0 0"]);
}

/// A value that knows itself.
struct Node {
    own: Weak<Node>,
    name: &'static str,
}

fn node() -> Arc<Node> {
    Arc::new_cyclic(|own| {
        assert!(own.upgrade().is_none() && own.strong_count() == 0, "it is not there yet");
        Node { own: own.clone(), name: "node" }
    })
}

#[test]
fn a_weak_handle_within_the_value_is_one_like_others() {
    let upgrade = || {
        let node = node();
        let weak = node.own.clone();
        let dropping = thread::spawn(move || drop(node));
        let_others_begin();
        let name = weak.upgrade().map_or("gone", |node| node.name);
        dropping.join().unwrap();
        name.to_owned()
    };
    verify(upgrade, 3, &["gone", "node"]);
    let unwrap = || {
        let node = node();
        let weak = node.own.clone();
        let upgrading = thread::spawn(move || {
            let upgraded = weak.upgrade();
            let_others_begin();
            upgraded.is_some()
        });
        let unwrapped = Arc::try_unwrap(node).is_ok();
        format!("{unwrapped} {}", upgrading.join().unwrap())
    };
    // Before the upgrade; after the other handle is gone; and in between, where the two that are left go in
    // either order.
    verify(unwrap, 4, &["true false", "false true", "true true"]);
}

#[test]
fn a_weak_handle_of_what_is_being_made() {
    let program = || {
        let mut upgrading = None;
        let node = Arc::new_cyclic(|own: &Weak<u32>| {
            let weak = own.clone();
            upgrading = Some(thread::spawn(move || weak.upgrade().map(|value| *value)));
            7
        });
        let upgraded = upgrading.unwrap().join().unwrap();
        format!("{upgraded:?} {}", Arc::strong_count(&node))
    };
    verify(program, 2, &["None 1", "Some(7) 1"]);
}

/// A value whose destructor looks at what others did to it.
struct Watched(UnsafeCell<u32>);

// SAFETY: who writes the cell is alone with it: see below.
#[allow(unsafe_code)]
unsafe impl Sync for Watched {}

impl Drop for Watched {
    fn drop(&mut self) {
        self.0.with(|_| ());
    }
}

#[test]
fn the_last_drop_comes_after_what_was_done_with_other_handles() {
    let report = Checker::new().run(|| {
        let own = Arc::new(Watched(UnsafeCell::new(0)));
        let other = own.clone();
        let child = thread::spawn(move || {
            other.0.with_mut(|_| ());
            drop(other);
        });
        let_others_begin();
        drop(own);
        child.join().unwrap();
    });
    assert!(report.is_pass(), "{report}");
    // Either handle is the last.
    assert_eq!(report.executions(), 2);
}

#[test]
fn the_place_of_a_drop_is_where_the_handle_was_made() {
    let report = Checker::new().run(|| {
        let own = Arc::new(5);
        let (weak, other) = (Arc::downgrade(&own), own.clone());
        drop(other);
        drop(own);
        assert!(weak.upgrade().is_some(), "nothing is left");
    });
    let text = report.text();
    assert!(text.contains("drop an Arc") && text.contains("nothing is left"), "{text}");
    assert!(!text.contains("arc.rs:"), "{text}");
}
