//! What hides a counter is taken for no round: who panics in his twelfth round is found.
#![allow(unsafe_code)]

use std::cell::{Cell, RefCell};

use mazurka::sync::atomic::{AtomicBool, Ordering::SeqCst};
use mazurka::sync::{Arc, Mutex};
use mazurka::{Checker, thread};

use super::{fails, passes};

/// A loop that asks a lock in every round, and panics in its twelfth.
fn twelfth_round(mut count: impl FnMut() -> usize) {
    let done = Arc::new(Mutex::new(false));
    let other = done.clone();
    let setter = thread::spawn(move || *other.lock().unwrap() = true);
    while !*done.lock().unwrap() {
        assert!(count() < 12, "the twelfth round");
    }
    setter.join().unwrap();
}

#[test]
fn in_a_box() {
    fails("panic", || {
        let mut rounds = Box::new(0);
        twelfth_round(move || {
            *rounds += 1;
            *rounds
        });
    });
}

#[test]
fn in_a_list() {
    fails("panic", || {
        let mut rounds = Vec::new();
        twelfth_round(move || {
            rounds.push(());
            rounds.len()
        });
    });
    fails("panic", || {
        let mut rounds = Vec::from([0_u8; 5]);
        twelfth_round(move || {
            rounds.rotate_left(1);
            rounds[0] += 1;
            rounds.iter().map(|&rounds| usize::from(rounds)).sum()
        });
    });
}

#[test]
fn in_a_cell_on_the_stack_of_another() {
    fails("panic", || {
        let rounds = Mutex::new(Cell::new(0));
        thread::scope(|scope| {
            scope.spawn(|| {
                twelfth_round(|| {
                    let rounds = rounds.lock().unwrap();
                    rounds.set(rounds.get() + 1);
                    rounds.get()
                })
            });
        });
    });
}

#[test]
fn in_a_variable_of_the_thread() {
    mazurka::thread_local!(static ROUNDS: RefCell<usize> = const { RefCell::new(0) });
    fails("panic", || {
        twelfth_round(|| {
            ROUNDS.with_borrow_mut(|rounds| {
                *rounds += 1;
                *rounds
            })
        })
    });
}

#[test]
fn under_a_lock() {
    fails("panic", || {
        let rounds = Arc::new(Mutex::new(0));
        twelfth_round(move || {
            let mut rounds = rounds.lock().unwrap();
            *rounds += 1;
            *rounds
        });
    });
}

#[test]
fn under_a_static_lock() {
    static ROUNDS: Mutex<usize> = Mutex::new(0);
    fails("panic", || {
        twelfth_round(|| {
            let mut rounds = ROUNDS.lock().unwrap();
            *rounds += 1;
            *rounds
        });
    });
}

#[test]
fn in_a_modelled_cell() {
    fails("panic", || {
        let rounds = mazurka::cell::UnsafeCell::new(0);
        let busy = AtomicBool::new(false);
        twelfth_round(move || {
            busy.store(true, SeqCst);
            // SAFETY: the thread is alone with it.
            let rounds = rounds.with_mut(|rounds| unsafe {
                *rounds += 1;
                *rounds
            });
            busy.store(false, SeqCst);
            rounds
        });
    });
}

/// A loop that only reads, and panics in its twelfth round.
fn twelfth_look(mut count: impl FnMut() -> usize) {
    let done = Arc::new(AtomicBool::new(false));
    let other = done.clone();
    let setter = thread::spawn(move || other.store(true, SeqCst));
    while !done.load(SeqCst) {
        assert!(count() < 12, "the twelfth look");
    }
    setter.join().unwrap();
}

/// Counts where neither the stack nor a register shows it, also where leaks are looked for.
fn is_seen_to_count(closure: impl Fn() + Clone + Send + Sync + 'static) {
    fails("panic", closure.clone());
    let report = Checker::new().leaks(true).run(closure);
    assert_eq!(report.failures().map(|failure| failure.kind()).collect::<Vec<_>>(), ["panic"]);
}

#[test]
fn in_an_atomic_of_std_while_it_only_reads() {
    is_seen_to_count(|| {
        let rounds = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
        twelfth_look(move || rounds.fetch_add(1, SeqCst));
    });
}

#[test]
fn in_a_list_while_it_only_reads() {
    is_seen_to_count(|| {
        let rounds = Box::new(RefCell::new(Vec::with_capacity(20)));
        twelfth_look(|| {
            rounds.borrow_mut().push(1_u8);
            rounds.borrow().len()
        });
    });
}

#[test]
fn on_the_stack_of_another_while_it_only_reads() {
    is_seen_to_count(|| {
        let rounds = std::sync::atomic::AtomicUsize::new(0);
        thread::scope(|scope| {
            scope.spawn(|| twelfth_look(|| rounds.fetch_add(1, SeqCst)));
        });
    });
}

/// Memory of which too much lives at once is not compared, so nobody can tell whether the loop counts there.
#[test]
fn where_nobody_can_see_it() {
    let report = Checker::new().run(|| {
        let large = vec![0_u8; 1 << 20];
        twelfth_look(|| large[0].into());
    });
    assert!(report.failures().len() == 0 && !report.is_exhaustive(), "{}", report.text());
    assert!(report.text().contains("whether it counts where nobody is told"), "{}", report.text());
}

/// A loop that only reads may count, too.
#[test]
fn in_a_box_while_it_only_reads() {
    passes((1, 0), || {
        let (flag, mut rounds) = (AtomicBool::new(false), Box::new(0));
        while !flag.load(SeqCst) && *rounds < 5 {
            *rounds += 1;
        }
        assert_eq!(*rounds, 5);
    });
}
