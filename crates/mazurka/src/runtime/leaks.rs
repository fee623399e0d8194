//! What nobody drops: `Arc`s in cycles, handles that were forgotten, memory that was never freed.
//!
//! Looked for where the check says so. An `Arc` counts from when it is made in an execution to the drop of
//! its last strong handle. What is left when all threads have ended, and nothing else went wrong, is never
//! dropped: of what lives on in statics that is so, too. Of memory that is known by the allocator only, it
//! counts that nothing points to it any more: see [`super::reach`].

use std::panic::Location as Caller;
use std::sync::atomic::{AtomicBool, Ordering};

use mazurka_program::{Failure, FailureKind};
use mazurka_threads::lifetime::Reset;
use rustc_hash::FxHashMap;

use super::heap::{Block, Maker, Watch};
use super::process::Status;
use super::{Runtime, place_of, reach, with_runtime};

/// The `Arc`s of an execution that live, by the address of what they share.
#[derive(Default)]
pub(crate) struct Living {
    /// The memory that lives. There only if leaks are looked for.
    watch: Option<Watch>,
    arcs: FxHashMap<usize, Made>,
    /// The number of the first block of the execution.
    first: u64,
    /// Where the last step was taken, if it is a new one.
    pub(super) last_step: Option<&'static Caller<'static>>,
}

struct Made {
    kind: &'static str,
    place: &'static Caller<'static>,
}

/// Whether there ever was a check that looks for them: to ask who checks takes longer.
static ANY: AtomicBool = AtomicBool::new(false);

/// An `Arc` of a type is made.
#[inline]
pub(crate) fn born(address: usize, kind: &'static str, place: &'static Caller<'static>) {
    if ANY.load(Ordering::Relaxed) {
        with_runtime(|runtime| {
            if runtime.execution.living.watch.is_some() {
                runtime.execution.living.arcs.insert(address, Made { kind, place });
            }
        });
    }
}

/// The last strong handle of an `Arc` is dropped, or its value taken out.
#[inline]
pub(crate) fn dies(address: usize) {
    if ANY.load(Ordering::Relaxed) {
        // The last one goes where its process runs, never within a step.
        with_runtime(|runtime| runtime.execution.living.arcs.remove(&address));
    }
}

impl Living {
    pub(super) fn watch(&mut self, watch: Watch) {
        self.watch = Some(watch);
        ANY.store(true, Ordering::Relaxed);
    }

    /// Whether leaks are looked for.
    pub(super) fn is_watched(&self) -> bool {
        self.watch.is_some()
    }
}

impl Reset for Living {
    fn reset(&mut self) {
        self.last_step = None;
        if self.watch.is_some() {
            self.arcs.clear();
            self.first = Watch::next_birth();
        }
    }
}

impl Runtime {
    /// No process can take a step: what lives on is a failure, if all have ended and nothing else is one.
    pub(super) fn report_leaks(&mut self) {
        let ended = |process: &_| self.process(*process).status == Status::Finished;
        let regular = self.execution.findings.failures.is_empty()
            && !self.execution.findings.assumed
            && self.execution.schedule.created.iter().all(ended);
        if self.execution.living.watch.is_none() || !regular {
            return;
        }
        let leak = self.leaked_arc().or_else(|| self.leaked_memory());
        self.execution.findings.failures.extend(leak);
    }

    fn leaked_arc(&self) -> Option<Failure> {
        // By place, since addresses are others in another run.
        let order = |made: &&Made| (made.place.file(), made.place.line(), made.place.column(), made.kind);
        let made = self.execution.living.arcs.values().min_by_key(order)?;
        let others = nor_others(self.execution.living.arcs.len());
        let message = format!(
            "the Arc<{}> made at {} is never dropped{others}: all threads have ended, and handles are left, in a cycle or \
             forgotten",
            made.kind, made.place
        );
        Some(Failure { kind: FailureKind::Memory, message, place: Some(place_of(made.place)), process: None })
    }

    fn leaked_memory(&self) -> Option<Failure> {
        let watch = self
            .execution
            .living
            .watch
            .as_ref()
            .filter(|watch| watch.any_since(self.execution.living.first))?;
        let leaked = reach::leaked(self, watch, self.execution.living.first);
        let &Block { size, maker: Some(maker), .. } = leaked.first()? else { return None };
        let (when, place) = self.when(maker);
        let message = format!(
            "{size} bytes that thread `{}` allocated {when} are never freed{}: all threads have ended, and nothing points to \
             them",
            self.name_of(maker.process),
            nor_others(leaked.len())
        );
        let place = place.map(place_of);
        Some(Failure { kind: FailureKind::Memory, message, place, process: Some(maker.process) })
    }

    /// When a process allocated something, for people: after the step at a place.
    fn when(&self, Maker { process, step }: Maker) -> (String, Option<&'static Caller<'static>>) {
        let Some(earlier) = step.checked_sub(1) else {
            return ("before its first step".to_owned(), self.process(process).created);
        };
        let mut own = self.search.script.iter().filter(|taken| taken.process == process);
        let place = match own.nth(earlier as usize) {
            Some(taken) => taken.place,
            None => self.execution.living.last_step,
        };
        match place {
            Some(place) => (format!("after its step at {place}"), Some(place)),
            None => (format!("after its step {step}"), None),
        }
    }
}

/// Of so many things one was named.
fn nor_others(count: usize) -> String {
    match count - 1 {
        0 => String::new(),
        1 => ", nor is another".to_owned(),
        more => format!(", nor are {more} others"),
    }
}
