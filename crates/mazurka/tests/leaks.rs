//! `Arc`s that nobody drops and memory that nobody frees, where the check says so.

use mazurka::sync::{Arc, Mutex, Weak};
use mazurka::{Checker, Report, thread};

fn run(program: impl Fn() + Send + Sync + 'static) -> Report {
    Checker::new().leaks(true).run(program)
}

#[track_caller]
fn assert_leaks(report: &Report, what: &str) {
    assert_eq!(report.failures().next().map(|failure| failure.kind()), Some("memory"), "{report}");
    assert!(report.text().contains(what), "{report}");
}

#[derive(Default)]
struct Node {
    next: Mutex<Option<Arc<Node>>>,
    back: Mutex<Weak<Node>>,
}

fn cycle() {
    let (a, b) = (Arc::new(Node::default()), Arc::new(Node::default()));
    *a.next.lock().unwrap() = Some(b.clone());
    *b.next.lock().unwrap() = Some(a.clone());
}

#[test]
fn a_cycle_is_never_dropped() {
    let report = run(cycle);
    assert_leaks(&report, "is never dropped, nor is another");
    assert!(Checker::new().run(cycle).is_pass(), "only where it is asked for");
}

#[test]
fn what_is_forgotten_is_never_dropped_in_some_order() {
    let report = run(|| {
        let shared = Arc::new(Mutex::new(0));
        let other = shared.clone();
        let child = thread::spawn(move || {
            if *other.lock().unwrap() == 1 {
                std::mem::forget(other);
            }
        });
        *shared.lock().unwrap() = 1;
        child.join().unwrap();
    });
    assert_leaks(&report, "leaks.rs:38");
}

/// Weak handles on the way back, clones, values that are taken out, handles that threads take with them: all
/// of it goes.
#[test]
fn what_is_dropped_is_no_leak() {
    let report = run(|| {
        let (a, b) = (Arc::new(Node::default()), Arc::new(Node::default()));
        *a.next.lock().unwrap() = Some(b.clone());
        *b.back.lock().unwrap() = Arc::downgrade(&a);
        drop(b);
        thread::spawn(move || a.next.lock().unwrap().is_some());
        let cyclic: Arc<Weak<u32>> = Arc::new_cyclic(|_| Weak::new());
        let other = cyclic.clone();
        thread::spawn(move || drop(other)).join().unwrap();
        assert!(Arc::into_inner(cyclic).is_some());
        assert_eq!(Arc::try_unwrap(Arc::new(5)), Ok(5));
        let mut changed = Arc::new(1);
        let kept = changed.clone();
        *Arc::make_mut(&mut changed) += 1;
        assert_eq!((*kept, *changed), (1, 2));
    });
    assert!(report.is_pass(), "{report}");
}

/// A thread that waits for ever holds what it holds: that is a deadlock, and no leak.
#[test]
fn what_a_waiting_thread_holds_is_no_leak() {
    let report = run(|| {
        let _held = Arc::new(1);
        thread::park();
    });
    assert_eq!(report.failures().next().map(|failure| failure.kind()), Some("deadlock"), "{report}");
}

/// Memory is known to leak only where the operating system shows the process its own. Raw pointers are what
/// is often forgotten, and memory that leads to other memory is the point.
#[cfg(all(feature = "allocator", target_os = "linux"))]
#[allow(unsafe_code, clippy::vec_box, clippy::box_collection, clippy::redundant_allocation)]
mod memory {
    use std::cell::RefCell;
    use std::hint::black_box;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::ptr;
    use std::rc::Rc;

    use mazurka::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::SeqCst};

    use super::*;

    #[test]
    fn a_box_that_is_leaked() {
        let leak = || {
            black_box(Box::leak(Box::new(black_box(5_u64))));
        };
        let report = run(leak);
        assert_leaks(&report, "8 bytes that thread `main` allocated before its first step are never freed:");
        assert!(Checker::new().run(leak).is_pass(), "only where it is asked for");
    }

    /// Whatever its size.
    #[test]
    fn a_vector_that_is_forgotten() {
        for size in [1, 7, 8, 16, 17, 24, 100, 1 << 12, 3 << 20] {
            let report = run(move || std::mem::forget(black_box(vec![1_u8; size])));
            assert_leaks(&report, &format!("{size} bytes that"));
        }
    }

    fn forgets_in_some_order() {
        let flag = Arc::new(AtomicUsize::new(0));
        let seen = flag.clone();
        thread::spawn(move || {
            let seen = seen.load(SeqCst);
            let value = black_box(Box::new([seen; 3]));
            if seen == 1 {
                std::mem::forget(value);
            }
        });
        flag.store(1, SeqCst);
    }

    #[test]
    fn what_is_forgotten_in_some_order_is_told_with_its_place_and_a_schedule() {
        let report = run(forgets_in_some_order);
        assert_leaks(&report, "24 bytes that thread `thread 1` allocated after its step at");
        let failure = report.failures().next().unwrap();
        assert!(failure.place().unwrap().contains("leaks.rs"), "{report}");
        let schedule = failure.schedule().unwrap();
        for _ in 0..3 {
            let again = Checker::new().leaks(true).replay(schedule.clone()).run(forgets_in_some_order);
            assert_eq!(again.failures().next().unwrap().message(), failure.message());
        }
    }

    struct Link {
        next: *mut Link,
    }

    /// A stack of links whose pop takes the head without looking whether it is still the one that it has
    /// read.
    fn stack(pop: fn(&AtomicPtr<Link>)) -> Report {
        run(move || {
            let head = AtomicPtr::new(ptr::null_mut());
            for _ in 0..2 {
                head.store(Box::into_raw(Box::new(Link { next: head.load(SeqCst) })), SeqCst);
            }
            thread::scope(|scope| {
                scope.spawn(|| pop(&head));
                push(&head);
            });
            while !head.load(SeqCst).is_null() {
                pop_carefully(&head);
            }
        })
    }

    fn push(head: &AtomicPtr<Link>) {
        let link = Box::into_raw(Box::new(Link { next: ptr::null_mut() }));
        loop {
            let next = head.load(SeqCst);
            // SAFETY: nobody else knows of it yet.
            unsafe { (*link).next = next };
            if head.compare_exchange(next, link, SeqCst, SeqCst).is_ok() {
                return;
            }
        }
    }

    fn pop_carefully(head: &AtomicPtr<Link>) {
        let first = head.load(SeqCst);
        // SAFETY: one thread pops at a time, so it is alive.
        if head.compare_exchange(first, unsafe { (*first).next }, SeqCst, SeqCst).is_ok() {
            drop(unsafe { Box::from_raw(first) });
        }
    }

    fn pop_carelessly(head: &AtomicPtr<Link>) {
        let first = head.load(SeqCst);
        // SAFETY: as above.
        head.store(unsafe { (*first).next }, SeqCst);
        drop(unsafe { Box::from_raw(first) });
    }

    #[test]
    fn what_a_careless_pop_loses() {
        assert_leaks(&stack(pop_carelessly), "8 bytes that thread `main` allocated after its step at");
        let report = stack(pop_carefully);
        assert!(report.is_pass(), "{report}");
    }

    #[derive(Default)]
    struct Ring {
        next: RefCell<Option<Rc<Ring>>>,
        _weight: Box<u64>,
    }

    /// What only leaked memory points to is told by what it belongs to.
    #[test]
    fn a_cycle_of_counted_pointers_is_told_once() {
        let ring = |count: usize| {
            let links: Vec<Rc<Ring>> = (0..count).map(|_| Rc::default()).collect();
            for (at, link) in links.iter().enumerate() {
                *link.next.borrow_mut() = Some(links[(at + 1) % count].clone());
            }
        };
        let once = run(move || ring(3));
        assert_leaks(&once, "before its first step are never freed: all threads");
        let twice = run(move || (ring(3), ring(2)).0);
        assert_leaks(&twice, "are never freed, nor is another: all threads");
    }

    #[test]
    fn each_leak_of_a_row_is_found() {
        let report = run(|| (0..100).for_each(|i| std::mem::forget(black_box(Box::new(i)))));
        assert_leaks(&report, "nor are 99 others");
    }

    #[track_caller]
    fn assert_no_leak(program: impl Fn() + Send + Sync + 'static) {
        let report = run(move || {
            let step = Arc::new(AtomicUsize::new(0));
            let other = step.clone();
            let child = thread::spawn(move || other.fetch_add(1, SeqCst));
            program();
            step.fetch_add(1, SeqCst);
            child.join().unwrap();
            program();
        });
        assert!(report.is_pass(), "{report}");
        assert!(report.executions() > 1);
    }

    #[test]
    fn lazy_statics_are_no_leak() {
        static STD: std::sync::LazyLock<Vec<Box<u32>>> =
            std::sync::LazyLock::new(|| (0..10).map(Box::new).collect());
        static OWN: mazurka::sync::LazyLock<Vec<Box<u32>>> =
            mazurka::sync::LazyLock::new(|| (0..10).map(Box::new).collect());
        static ONCE: std::sync::OnceLock<Rc0> = std::sync::OnceLock::new();
        struct Rc0(std::sync::Arc<Box<String>>);
        assert_no_leak(|| {
            assert_eq!(*STD[3] + *OWN[4], 7);
            assert_eq!(ONCE.get_or_init(|| Rc0(std::sync::Arc::new(Box::new("a".repeat(9))))).0.len(), 9);
        });
    }

    #[test]
    fn what_goes_through_a_static_is_no_leak() {
        static EMPTIED: std::sync::Mutex<Vec<Box<u32>>> = std::sync::Mutex::new(Vec::new());
        static KEPT: std::sync::Mutex<Vec<Box<u32>>> = std::sync::Mutex::new(Vec::new());
        static OWN: Mutex<Vec<Box<u32>>> = Mutex::new(Vec::new());
        assert_no_leak(|| {
            *EMPTIED.lock().unwrap() = vec![Box::new(1)];
            EMPTIED.lock().unwrap().clear();
            KEPT.lock().unwrap().push(Box::new(2));
            OWN.lock().unwrap().push(Box::new(3));
        });
    }

    struct Chained {
        next: AtomicPtr<Chained>,
        _value: Box<u32>,
    }

    /// What an atomic of a check holds is not where it is.
    #[test]
    fn what_atomics_in_statics_lead_to_is_no_leak() {
        static HEAD: AtomicPtr<Chained> = AtomicPtr::new(ptr::null_mut());
        assert_no_leak(|| {
            let next = AtomicPtr::new(ptr::null_mut());
            let link = Box::into_raw(Box::new(Chained { next, _value: Box::new(1) }));
            // SAFETY: it is never freed.
            unsafe { (*link).next.store(HEAD.load(SeqCst), SeqCst) };
            HEAD.store(link, SeqCst);
        });
    }

    /// It was there before the check, and so was what it is reached by.
    #[test]
    fn what_the_closure_collects_is_no_leak() {
        let seen = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
        let inner = seen.clone();
        assert_no_leak(move || inner.lock().unwrap().push(format!("{} and more", black_box(1))));
        assert!(seen.lock().unwrap().len() > 1);
    }

    #[test]
    fn variables_of_threads_are_no_leak() {
        std::thread_local!(static STD: RefCell<Vec<Box<u32>>> = const { RefCell::new(Vec::new()) });
        mazurka::thread_local!(static OWN: RefCell<Vec<Box<u32>>> = RefCell::new(vec![Box::new(0)]));
        assert_no_leak(|| {
            STD.with_borrow_mut(|all| all.push(Box::new(1)));
            OWN.with_borrow_mut(|all| all.push(Box::new(1)));
            thread::spawn(|| OWN.with_borrow_mut(|all| all.push(Box::new(2)))).join().unwrap();
        });
    }

    #[test]
    fn what_is_printed_is_no_leak() {
        assert_no_leak(|| {
            println!("{}", "a line that is long enough for some memory ".repeat(50));
            eprintln!("another");
        });
    }

    #[test]
    fn panics_that_are_caught_are_no_leak() {
        assert_no_leak(|| {
            let caught = catch_unwind(AssertUnwindSafe(|| panic!("the number is {}", black_box(1))));
            assert!(caught.is_err());
            let named = thread::Builder::new().name("a name of its own".to_owned());
            assert!(named.spawn(|| panic!("{} more", black_box(2))).unwrap().join().is_err());
        });
    }

    #[test]
    fn what_another_thread_frees_or_keeps_is_no_leak() {
        let (sender, receiver) = std::sync::mpsc::channel::<Vec<Box<u32>>>();
        let keeper = std::thread::spawn(move || receiver.into_iter().skip(1).collect::<Vec<_>>().len());
        let sender = std::sync::Mutex::new(sender);
        assert_no_leak(move || sender.lock().unwrap().send(vec![Box::new(1)]).unwrap());
        assert!(keeper.join().unwrap() > 1);
    }

    #[test]
    fn channels_and_pointers_that_are_put_together_again_are_no_leak() {
        assert_no_leak(|| {
            let (sender, receiver) = mazurka::sync::mpsc::channel();
            thread::spawn(move || sender.send(vec![Box::new(1); 5]).unwrap());
            assert_eq!(receiver.recv().unwrap().len(), 5);
            let raw = Box::into_raw(Box::new([1_u64; 9]));
            // SAFETY: it was made of a box.
            drop(unsafe { Box::from_raw(raw) });
        });
    }
}

#[test]
fn a_pointer_that_nobody_takes_back_is_never_dropped() {
    let program = |taken_back: bool| {
        run(move || {
            let pointer = Arc::into_raw(Arc::new(Mutex::new(0)));
            if taken_back {
                // SAFETY: it is the handle that was made a pointer.
                #[allow(unsafe_code)]
                drop(unsafe { Arc::from_raw(pointer) });
            }
        })
    };
    assert!(program(true).is_pass());
    assert_leaks(&program(false), "is never dropped");
}

/// A lock that two threads poll; each attempt that fails leaves everything as it was.
fn polled_lock() {
    let lock = Arc::new(Mutex::new(0));
    let other = lock.clone();
    let child = thread::spawn(move || *other.lock().unwrap() = 1);
    while *lock.lock().unwrap() == 0 {}
    child.join().unwrap();
}

#[test]
fn loops_end_in_checks_that_come_after_one_for_leaks() {
    assert!(run(|| drop(Arc::new(0))).is_pass());
    let report = Checker::new().run(polled_lock);
    assert!(report.is_pass(), "{report}");
    assert_eq!((report.executions(), report.stopped()), (2, 1));
}

#[test]
fn loops_that_write_are_cut_where_leaks_are_looked_for() {
    let report = Checker::new().leaks(true).max_depth(1000).run(polled_lock);
    assert!(!report.is_pass() && report.failures().next().is_none(), "{report}");
    assert!(report.text().contains("1000 steps"), "the bound is told: {report}");
}
