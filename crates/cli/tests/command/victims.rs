//! Rust tests that others run: alone, and searched by many processes.

use std::time::Duration;

use mazurka::sync::atomic::Ordering::{Relaxed, SeqCst};
use mazurka::sync::atomic::{AtomicBool, AtomicUsize};
use mazurka::sync::{Arc, Mutex};
use mazurka::{Algorithm, Checker, Report, thread};

/// What is before and behind a report in what a test prints.
pub const MARK: &str = "\n=====\n";

/// Prints a report without times.
fn tell(report: &Report) {
    let timeless = |line: &str| match line.strip_prefix("executions: ") {
        Some(_) => line.rsplit_once("; ").unwrap().0.to_owned(),
        None => line.to_owned(),
    };
    let text: Vec<String> = report.text().lines().map(timeless).collect();
    println!("{MARK}{}{MARK}", text.join("\n"));
}

/// A check in small parts, so that there is much to share.
fn small_parts() -> Checker {
    Checker::new().parts(16, 100)
}

/// Threads that each do something to a counter so often; what it is at the end.
fn counted(threads: usize, times: usize, add: fn(&AtomicUsize)) -> usize {
    let counter = Arc::new(AtomicUsize::new(0));
    let threads: Vec<_> = (0..threads)
        .map(|_| {
            let counter = counter.clone();
            thread::spawn(move || (0..times).for_each(|_| add(&counter)))
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    counter.load(SeqCst)
}

fn add(counter: &AtomicUsize) {
    counter.fetch_add(1, SeqCst);
}

fn add_in_two_steps(counter: &AtomicUsize) {
    counter.store(counter.load(SeqCst) + 1, SeqCst);
}

macro_rules! victims {
    ($($(#[$meaning:meta])* $name:ident: $checker:expr, $closure:expr;)*) => {
        $($(#[$meaning])* #[test] #[ignore = "run by others"] fn $name() { tell(&$checker.run($closure)); })*

        /// What one machine says of these is what many say.
        pub const VICTIMS: &[&str] = &[$(stringify!($name)),*];
    };
}

victims! {
    /// 184,756 executions, and no failure.
    passes: small_parts(), || assert_eq!(counted(2, 10, add), 20);
    fails: small_parts().keep_going(true), || {
        let found = counted(3, 2, add_in_two_steps);
        assert_ne!(found, 2, "most of it was lost");
        assert_eq!(found, 6, "some of it was lost");
    };
    /// Ends at a failure that comes late.
    fails_late: small_parts(), || {
        let counter = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
        let threads = [0, 1].map(|k| {
            let counter = counter.clone();
            thread::spawn(move || {
                for round in 0..7 {
                    counter.0.fetch_add(1, SeqCst);
                    if k == 1 && round == 0 {
                        counter.1.store(counter.0.load(SeqCst), SeqCst);
                    }
                }
            })
        });
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_ne!(counter.1.load(SeqCst), 1, "the last came first");
    };
    deadlocks: small_parts().keep_going(true), || {
        let (a, b) = (Arc::new(Mutex::new(())), Arc::new(Mutex::new(())));
        let (c, d) = (a.clone(), b.clone());
        let child = thread::spawn(move || drop((c.lock(), d.lock())));
        counted(2, 5, add);
        drop((b.lock(), a.lock()));
        child.join().unwrap();
    };
    /// That counts and ends of threads matter is found out late, one after the other.
    finds_out: small_parts(), || {
        let owner = Arc::new(0);
        let counter = Arc::new(AtomicUsize::new(0));
        let threads = [0, 1, 2].map(|_| {
            let (counter, other) = (counter.clone(), owner.clone());
            thread::spawn(move || {
                add_in_two_steps(&counter);
                drop(other);
                add_in_two_steps(&counter);
            })
        });
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        if counter.load(SeqCst) == 2 {
            let child = thread::spawn(|| ());
            assert!(Arc::strong_count(&owner) == 1 || child.is_finished());
            child.join().unwrap();
        }
    };
    /// Loops that are cut.
    cut: small_parts().keep_going(true).max_unroll(2), || {
        let shared = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
        let loops = shared.clone();
        thread::spawn(move || while loops.0.load(SeqCst) < 100 { loops.1.fetch_add(1, SeqCst); });
        let adders = [0, 1].map(|_| {
            let shared = shared.clone();
            thread::spawn(move || (0..2).for_each(|_| _ = shared.0.fetch_add(1, SeqCst)))
        });
        adders.into_iter().for_each(|adder| adder.join().unwrap());
    };
    /// What the report tells is met once, early or late.
    tells: small_parts().keep_going(true), || {
        let found = counted(3, 2, add_in_two_steps);
        let other = AtomicUsize::new(0);
        match found {
            2 => other.store(1, Relaxed),
            3 => drop(std::hint::black_box(mazurka::time::Instant::now())),
            _ => {}
        }
    };
    /// A thread does not come back, late.
    hangs: small_parts().hang_timeout(Duration::from_millis(500)), || {
        let last = Arc::new(AtomicBool::new(false));
        let other = last.clone();
        let late = thread::spawn(move || other.store(true, SeqCst));
        let was_late = counted(2, 4, add) == 8 && last.load(SeqCst);
        late.join().unwrap();
        if was_late {
            loop { std::hint::spin_loop(); }
        }
    };
}

#[test]
#[ignore = "run by others"]
fn comes_to_no_check() {}

#[test]
#[ignore = "run by others"]
fn asks_for_another_algorithm() {
    tell(&Checker::new().algorithm(Algorithm::Source).run(|| assert_eq!(counted(2, 2, add), 4)));
}

#[test]
#[ignore = "run by others"]
fn has_two_checks() {
    tell(&small_parts().run(|| assert_eq!(counted(2, 3, add), 6)));
    tell(&small_parts().run(|| assert_eq!(counted(2, 4, add), 8)));
}

/// What it does depends on how often it was run.
#[test]
#[ignore = "run by others"]
fn does_not_repeat_itself() {
    static RUNS: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    tell(&small_parts().run(|| {
        let times = 2 + usize::from(RUNS.fetch_add(1, SeqCst) % 37 == 36);
        assert_eq!(counted(3, times, add), 3 * times);
    }));
}

/// More executions than any test has time for.
#[test]
#[ignore = "run by others"]
fn is_huge() {
    let checker = Checker::new().max_time(Duration::from_secs(20));
    tell(&checker.run(|| assert_eq!(counted(4, 20, add), 80)));
}
