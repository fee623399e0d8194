//! Threads that count, and reports that are compared.

use mazurka::sync::Arc;
use mazurka::sync::atomic::AtomicUsize;
use mazurka::sync::atomic::Ordering::SeqCst;
use mazurka::{Report, thread};

/// The report without the time that it took.
pub fn timeless(report: &Report) -> String {
    let seconds = |line: &str| line.starts_with("executions: ");
    let cut = |line: &str| line.rsplit_once("; ").map_or(String::new(), |parts| parts.0.to_owned());
    let line = |line: &str| if seconds(line) { cut(line) } else { line.to_owned() };
    report.text().lines().map(|text| line(text) + "\n").collect()
}

/// Threads that add to a counter, each so many times.
pub fn adders(threads: usize, times: usize, add: fn(&AtomicUsize)) -> Arc<AtomicUsize> {
    let counter = Arc::new(AtomicUsize::new(0));
    let threads: Vec<_> = (0..threads)
        .map(|_| {
            let counter = counter.clone();
            thread::spawn(move || (0..times).for_each(|_| add(&counter)))
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    counter
}

pub fn add(counter: &AtomicUsize) {
    counter.fetch_add(1, SeqCst);
}

pub fn add_in_two_steps(counter: &AtomicUsize) {
    counter.store(counter.load(SeqCst) + 1, SeqCst);
}
