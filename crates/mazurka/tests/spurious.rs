//! What may happen of itself, where the check says so; and stacks of the size that a thread asks for.

use std::future::poll_fn;
use std::task::Poll;

use mazurka::future::block_on;
use mazurka::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use mazurka::sync::{Arc, Mutex};
use mazurka::{Checker, thread};

/// Two threads that add, by exchanges that may have to be tried again.
fn add_by_exchanges(tries_again: bool) {
    let number = Arc::new(AtomicUsize::new(0));
    let other = number.clone();
    let add = move |number: &AtomicUsize| {
        let mut before = number.load(SeqCst);
        while let Err(now) = number.compare_exchange_weak(before, before + 1, SeqCst, SeqCst) {
            assert!(tries_again || now != before, "failed of itself");
            before = now;
        }
    };
    let child = thread::spawn(move || add(&other));
    add(&number);
    child.join().unwrap();
    assert_eq!(number.load(SeqCst), 2);
}

#[test]
fn a_weak_exchange_fails_of_itself_only_if_told() {
    assert!(Checker::new().run(|| add_by_exchanges(false)).is_pass());
    let report = Checker::new().spurious_failures(true).run(|| add_by_exchanges(false));
    assert!(
        report.text().contains("failed of itself") && report.text().contains("fails of itself"),
        "{report}"
    );
    let report = Checker::new().spurious_failures(true).run(|| add_by_exchanges(true));
    assert!(report.is_pass() && report.blocked() == 0, "{report}");
    let few = Checker::new().run(|| add_by_exchanges(true)).executions();
    assert!(report.executions() > few, "{few}: {report}");
}

/// A thread that is alone: its exchange succeeds, or fails once. A loop around it is not taken for one that
/// waits.
#[test]
fn an_exchange_fails_of_itself_once() {
    let report = Checker::new().spurious_failures(true).run(|| {
        let number = AtomicUsize::new(0);
        while number.compare_exchange_weak(0, 1, SeqCst, SeqCst).is_err() {}
        assert_eq!(number.compare_exchange_weak(0, 5, SeqCst, SeqCst), Err(1));
    });
    assert!(report.is_pass(), "{report}");
    assert_eq!(report.executions(), 2);
    let strong = Checker::new().spurious_failures(true).run(|| {
        assert_eq!(AtomicUsize::new(0).compare_exchange(0, 1, SeqCst, SeqCst), Ok(0));
    });
    assert_eq!((strong.is_pass(), strong.executions()), (true, 1), "{strong}");
}

#[test]
fn the_schedule_of_a_failure_of_itself_can_be_run() {
    let checker = Checker::new().spurious_failures(true);
    let report = checker.run(|| add_by_exchanges(false));
    let schedule = report.failures().next().and_then(|failure| failure.schedule()).unwrap();
    let again = checker.replay(schedule).run(|| add_by_exchanges(false));
    assert!(again.text().contains("failed of itself"), "{again}");
}

/// A future that leaves its waker with another thread, and is ready when that has been there.
fn wait_for_another(looks: bool) {
    type Post = (bool, Option<std::task::Waker>);
    let post: Arc<Mutex<Post>> = Arc::default();
    let other = post.clone();
    let child = thread::spawn(move || {
        let mut post = other.lock().unwrap();
        post.0 = true;
        let waker = post.1.take();
        drop(post);
        waker.into_iter().for_each(std::task::Waker::wake);
    });
    let mut polled = false;
    block_on(poll_fn(|context| {
        let mut post = post.lock().unwrap();
        if post.0 {
            return Poll::Ready(());
        }
        assert!(looks || !std::mem::replace(&mut polled, true), "polled too early");
        post.1 = Some(context.waker().clone());
        Poll::Pending
    }));
    child.join().unwrap();
}

#[test]
fn a_future_is_polled_of_itself_only_if_told() {
    assert!(Checker::new().run(|| wait_for_another(false)).is_pass());
    let report = Checker::new().spurious_polls(true).run(|| wait_for_another(false));
    assert!(report.text().contains("polled too early"), "{report}");
    assert!(report.text().contains("polled though nobody woke it"), "{report}");
    let report = Checker::new().spurious_polls(true).run(|| wait_for_another(true));
    assert!(report.is_pass(), "{report}");
}

/// A future that nobody ever wakes is a deadlock still: what happens of itself happens once.
#[test]
fn a_poll_of_itself_does_not_hide_a_lost_wake_up() {
    let report = Checker::new().spurious_polls(true).run(|| block_on(std::future::pending::<()>()));
    assert_eq!(report.failures().next().map(|failure| failure.kind()), Some("deadlock"), "{report}");
}

#[mazurka::test(spurious_polls, spurious_failures = true)]
fn the_attribute_has_these_options() {
    add_by_exchanges(true);
    wait_for_another(true);
}

fn deep(depth: usize) -> usize {
    let frame = std::hint::black_box([depth; 128]);
    if depth == 0 { frame[0] } else { deep(depth - 1) + frame[depth % 128] }
}

#[test]
fn a_thread_has_the_stack_that_it_asks_for() {
    const DEPTH: usize = 1000;
    let run = |size: Option<usize>| {
        Checker::new().run(move || {
            let builder = thread::Builder::new();
            let builder = size.into_iter().fold(builder, thread::Builder::stack_size);
            builder.spawn(|| deep(DEPTH)).unwrap().join().unwrap();
        })
    };
    assert!(run(Some(4 << 20)).is_pass());
    // One that is smaller than the others is not made: the library needs room too.
    assert!(
        Checker::new()
            .run(|| {
                thread::Builder::new().stack_size(1).spawn(|| deep(10)).unwrap().join().unwrap();
            })
            .is_pass()
    );
    assert!(
        Checker::new()
            .run(|| {
                thread::scope(|scope| {
                    thread::Builder::new().stack_size(4 << 20).spawn_scoped(scope, || deep(DEPTH)).unwrap();
                });
            })
            .is_pass()
    );
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    for (size, told) in [(None, "its stack of 256 KiB"), (Some(512 << 10), "its stack of 512 KiB")] {
        let report = run(size);
        assert_eq!(
            report.failures().next().map(|failure| failure.kind()),
            Some("stack-overflow"),
            "{report}"
        );
        assert!(report.text().contains(told), "{report}");
    }
}
