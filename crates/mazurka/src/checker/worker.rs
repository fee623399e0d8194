//! The threads that checks run on.
//!
//! To begin a thread of the operating system and to wait for its end costs more than a small check. So each
//! thread that calls checks has a worker, which it keeps from one check to the next. It is not shared with
//! other threads: a worker has the name of the one that calls, and the test harness captures what it prints
//! as if that one printed it.

use std::cell::RefCell;
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// The stack of a worker. Modelled threads have stacks of their own; this one is for the search.
const STACK: usize = 8 << 20;

type Job = Box<dyn FnOnce() + Send>;

/// A thread that does one job after the other. It ends when this is dropped, as soon as it is idle.
pub(super) struct Worker {
    jobs: Sender<Job>,
    thread: JoinHandle<()>,
}

thread_local! {
    /// The worker of this thread, while it is idle.
    static IDLE: RefCell<Option<Worker>> = const { RefCell::new(None) };
}

/// So often a worker looks for the next job before it goes to sleep: where one check follows another, to be
/// woken up takes longer than a small check.
const LOOKS: usize = 50;

/// Waits for the next job; none if there will be none.
fn next(todo: &Receiver<Job>) -> Option<Job> {
    for _ in 0..LOOKS {
        match todo.try_recv() {
            Err(TryRecvError::Empty) => thread::yield_now(),
            found => return found.ok(),
        }
    }
    todo.recv().ok()
}

/// Waits for a result, for a time.
pub(super) fn look_then_wait<T>(receiver: &Receiver<T>, time: Duration) -> Result<T, RecvTimeoutError> {
    for _ in 0..LOOKS {
        match receiver.try_recv() {
            Err(TryRecvError::Empty) => thread::yield_now(),
            found => return found.map_err(|_| RecvTimeoutError::Disconnected),
        }
    }
    receiver.recv_timeout(time)
}

impl Worker {
    /// The worker of this thread, who is idle from now on no longer.
    ///
    /// # Errors
    /// If the operating system has no thread for it.
    pub(super) fn hire() -> io::Result<Worker> {
        // A thread that is ending has lost its worker already.
        let idle = IDLE.try_with(|idle| idle.take()).ok().flatten();
        idle.map_or_else(Worker::begin, Ok)
    }

    fn begin() -> io::Result<Worker> {
        let mut builder = thread::Builder::new().stack_size(STACK);
        if let Some(name) = thread::current().name() {
            builder = builder.name(name.to_owned());
        }
        let (jobs, todo) = channel::<Job>();
        let thread = builder.spawn(move || {
            crate::runtime::heap::begin_thread();
            while let Some(job) = next(&todo) {
                job();
            }
        })?;
        Ok(Worker { jobs, thread })
    }

    /// Has the worker do a job. A job that panics ends it.
    pub(super) fn give(&self, job: impl FnOnce() + Send + 'static) {
        // It listens as long as it lives; if it does not live, nothing comes of the job, and that is noticed.
        let _ = self.jobs.send(Box::new(job));
    }

    /// Keeps the worker, who has done its job, for the next one.
    pub(super) fn keep(self) {
        let _ = IDLE.try_with(|idle| idle.replace(Some(self)));
    }

    /// Ends the worker, who has done its job or panicked; gives what it panicked with.
    pub(super) fn end(self) -> thread::Result<()> {
        drop(self.jobs);
        self.thread.join()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id_of(worker: &Worker) -> thread::ThreadId {
        let (sender, receiver) = channel();
        worker.give(move || sender.send(thread::current().id()).unwrap());
        receiver.recv().unwrap()
    }

    #[test]
    fn a_worker_that_is_kept_is_hired_again() {
        let first = Worker::hire().unwrap();
        let id = id_of(&first);
        first.keep();
        let again = Worker::hire().unwrap();
        assert_eq!(id_of(&again), id);
        let other = Worker::hire().unwrap();
        assert_ne!(id_of(&other), id);
        assert!(again.end().is_ok() && other.end().is_ok());
    }

    #[test]
    fn a_worker_that_panics_tells_with_what() {
        let worker = Worker::hire().unwrap();
        worker.give(|| std::panic::resume_unwind(Box::new("by intent")));
        assert_eq!(worker.end().unwrap_err().downcast_ref(), Some(&"by intent"));
    }
}
