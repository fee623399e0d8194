//! The log of an execution of a closure: what its threads read and wrote, by which executions are compared.
//!
//! Between two operations no other thread runs, so what a thread notes right after an operation is noted in
//! the order of the steps. Notes are no operations: they add nothing to labels. What is noted follows from
//! the class of the execution alone, if labels are right; the oracle finds out whether they are.
//!
//! There is one exception: a thread that goes on to a panic with a lock is held back after its last
//! operation, and what it does then is done when it unwinds. So where there are panics nothing is said of
//! shared variables.
//!
//! The memory is there before a check begins: what a closure allocates has a part in the names of its
//! objects.

use std::sync::{Mutex, MutexGuard, PoisonError};

use mazurka_program::{Failure, FailureKind, State};

use super::plan::Unfit;

/// More threads than this are not acted out.
const MAX_THREADS: usize = 32;
const MAX_FAILURES: usize = 64;

/// The log of one run, which is begun anew in each execution.
pub(super) struct Log(Mutex<Notes>);

#[derive(Default)]
struct Notes {
    /// What shared variables hold, as those who write them have it.
    shared: Vec<i64>,
    threads: Vec<(u64, u64)>,
    failures: Vec<(FailureKind, i64)>,
    unfit: Option<Unfit>,
    wrong: Option<String>,
    /// Whether threads may be held back.
    panics: bool,
    /// Whether what operations gave is noted. All of it is on the stacks of threads for a moment, and stays
    /// there: no loop would ever come back to where it was.
    results: bool,
}

/// A thread that writes into the log.
#[derive(Clone, Copy)]
pub(super) struct Thread {
    at: usize,
    /// A number that follows from its place in the creation tree.
    pub id: u64,
}

/// The number of the child of a thread, or of a root (whose parent is 0).
pub(super) fn child(parent: u64, ordinal: usize) -> u64 {
    mix(mix(parent, 1), ordinal as u64)
}

fn mix(a: u64, b: u64) -> u64 {
    (a.rotate_left(5) ^ b).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(23)
}

impl Log {
    pub fn new(cells: usize, panics: bool, results: bool) -> Log {
        Log(Mutex::new(Notes {
            shared: Vec::with_capacity(cells),
            threads: Vec::with_capacity(MAX_THREADS),
            failures: Vec::with_capacity(MAX_FAILURES),
            panics,
            results,
            ..Notes::default()
        }))
    }

    fn notes(&self) -> MutexGuard<'_, Notes> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An execution begins.
    pub fn begin(&self, shared: &[i64]) {
        let mut notes = self.notes();
        notes.shared.clear();
        notes.shared.extend_from_slice(shared);
        notes.threads.clear();
        notes.failures.clear();
        (notes.unfit, notes.wrong) = (None, None);
    }

    /// A thread begins.
    pub fn enter(&self, id: u64) -> Thread {
        let mut notes = self.notes();
        if notes.threads.len() == MAX_THREADS {
            notes.unfit = Some("many threads");
            return Thread { at: 0, id };
        }
        notes.threads.push((id, 0));
        Thread { at: notes.threads.len() - 1, id }
    }

    /// Whether what operations gave is noted.
    pub fn has_results(&self) -> bool {
        self.notes().results
    }

    /// A thread did an operation that gave a value.
    pub fn note(&self, thread: Thread, value: i64) {
        let mut notes = self.notes();
        if !notes.results {
            return;
        }
        if let Some((_, digest)) = notes.threads.get_mut(thread.at) {
            *digest = mix(*digest, value as u64 ^ 0x5851);
        }
    }

    /// A shared variable was written.
    pub fn wrote(&self, at: usize, value: i64) {
        self.notes().shared[at] = value;
    }

    /// A shared variable was changed by so much.
    pub fn changed(&self, at: usize, by: i64) {
        self.notes().shared[at] += by;
    }

    /// The last owner of a shared variable finds a value in it.
    pub fn ends_with(&self, at: usize, value: i64) {
        let mut notes = self.notes();
        let wrote = notes.shared[at];
        if value != wrote && !notes.panics {
            let what = || format!("variable {at} holds {value} in the end, and {wrote} was written last");
            notes.wrong.get_or_insert_with(what);
        }
    }

    pub fn failed(&self, kind: FailureKind, number: i64) {
        let mut notes = self.notes();
        if notes.failures.len() == MAX_FAILURES {
            notes.unfit = Some("many failures");
        } else {
            notes.failures.push((kind, number));
        }
    }

    /// The program does something that can't be compared.
    pub fn unfit(&self, why: Unfit) {
        self.notes().unfit.get_or_insert(why);
    }

    /// The library does not give what it should.
    pub fn wrong(&self, what: impl FnOnce() -> String) {
        self.notes().wrong.get_or_insert_with(what);
    }

    /// What was said last by [`unfit`](Log::unfit) and [`wrong`](Log::wrong).
    pub fn errors(&self) -> (Option<Unfit>, Option<String>) {
        let notes = self.notes();
        (notes.unfit, notes.wrong.clone())
    }

    /// What shared variables hold and what threads know.
    pub fn state(&self) -> State {
        let notes = self.notes();
        let mut threads = notes.threads.clone();
        threads.sort_unstable();
        let local = threads.iter().flat_map(|&(id, digest)| [id as i64, digest as i64]).collect();
        State { shared: if notes.panics { Vec::new() } else { notes.shared.clone() }, local }
    }

    /// In an order that does not depend on who of two threads that go on in one step does so first.
    pub fn failures(&self, into: &mut Vec<Failure>) {
        let failure = |&(kind, number): &(FailureKind, i64)| Failure {
            kind,
            message: format!("#{number}"),
            place: None,
            process: None,
        };
        let mut failures = self.notes().failures.clone();
        failures.sort_unstable();
        into.extend(failures.iter().map(failure));
    }
}
