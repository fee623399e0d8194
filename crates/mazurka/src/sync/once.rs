//! Initialisation that happens once, as [`std::sync::Once`]; what [`OnceLock`](super::OnceLock) and
//! [`LazyLock`](super::LazyLock) are made of.
//!
//! All state is in one location, so that a static begins anew in each execution. To begin the initialisation
//! waits until nobody else runs it, and is one step: a thread that finds it complete only reads. A thread
//! that comes to the beginning again while it runs the initialiser waits for itself, and the check reports
//! the deadlock.

use std::fmt;
use std::panic::Location as Caller;
use std::sync as real;

use mazurka_program::{AccessKind, Location, ProcessId};

use crate::runtime::identity::Object;
use crate::runtime::operation::{CurrentStep, Operation, Wait};
use crate::runtime::{Runtime, Whole, operate, with_runtime};
use crate::step::{CallSite, opaque_debug, take_step};
use mazurka_threads::values::Until;

/// The cell holds the number of the process that runs the initialiser, or one of these, which are in the
/// order that guards need.
pub(super) const INCOMPLETE: u64 = 1 << 32;
pub(super) const POISONED: u64 = INCOMPLETE + 1;
pub(super) const COMPLETE: u64 = INCOMPLETE + 2;

/// A step that waits for a state of the initialisation.
struct AwaitState<P> {
    location: Location,
    until: Until,
    describe: fn(String) -> String,
    perform: P,
}

impl<P: FnMut(&mut CurrentStep<'_>, u64)> Operation for AwaitState<P> {
    fn wait(&self) -> Wait {
        Wait::Guard { location: self.location, until: self.until }
    }

    fn perform(&mut self, step: &mut CurrentStep<'_>) {
        step.acquire(self.location);
        let found = step.peek(self.location);
        (self.perform)(step, found);
    }

    fn describe(&self, runtime: &Runtime) -> String {
        (self.describe)(runtime.name_of_location(self.location))
    }

    fn waits_for(&self, runtime: &Runtime) -> (String, Vec<ProcessId>) {
        let name = runtime.name_of_location(self.location);
        match runtime.value(self.location) {
            INCOMPLETE.. => (format!("somebody to initialise `{name}`"), Vec::new()),
            process => {
                let process = ProcessId(process as u32);
                (format!("`{name}`, which {} initialises", runtime.name_of(process)), vec![process])
            }
        }
    }
}

/// Waits until nobody else runs the initialiser, and may change the state then: `change` is told what it is,
/// and tells whether it has changed it.
pub(super) fn change_state(
    location: Location,
    place: CallSite,
    describe: fn(String) -> String,
    mut change: impl FnMut(&mut CurrentStep<'_>, u64) -> bool,
) {
    let perform = |step: &mut CurrentStep<'_>, found| {
        let changes = change(step, found);
        let foresee = step.runtime.search.foresee;
        step.touch(location, if changes || foresee { AccessKind::Update } else { AccessKind::Read });
        if !foresee {
            step.varies();
        }
    };
    operate(&mut AwaitState { location, until: Until::AtLeast(INCOMPLETE), describe, perform }, place);
}

/// Looks whether the initialisation is complete.
struct IsComplete {
    location: Location,
    complete: bool,
}

impl Operation for IsComplete {
    fn is_plain(&self) -> bool {
        true
    }

    fn perform(&mut self, step: &mut CurrentStep<'_>) {
        step.touch(self.location, AccessKind::Read);
        self.complete = step.peek(self.location) == COMPLETE;
        if self.complete {
            step.acquire(self.location);
        }
        let complete = self.complete;
        step.note(|| if complete { "yes".to_owned() } else { "not yet".to_owned() });
    }

    fn describe(&self, runtime: &Runtime) -> String {
        format!("is {} initialised?", runtime.name_of_location(self.location))
    }
}

/// What an attempt to begin an initialisation came to.
pub(super) enum Begun {
    /// It is complete already.
    Complete,
    /// An initialiser panicked before.
    Poisoned,
    /// It is up to the caller now.
    Running(Initialisation),
}

/// The right and the duty to initialise. Dropped while a panic unwinds, it says so.
pub(super) struct Initialisation {
    location: Location,
    /// Whether an initialiser panicked before.
    pub(super) poisoned: bool,
    to: u64,
    place: CallSite,
}

impl Initialisation {
    /// The initialisation is complete.
    pub(super) fn complete(mut self) {
        self.to = COMPLETE;
    }
}

impl Drop for Initialisation {
    fn drop(&mut self) {
        let (location, to) = (self.location, self.to);
        let describe = |runtime: &Runtime| format!("{} is initialised", runtime.name_of_location(location));
        take_step(self.place, describe, |step| {
            step.touch(location, AccessKind::Write);
            step.set(location, to);
            step.release(location);
            if to != COMPLETE {
                step.note(|| "it panicked".to_owned());
            }
        });
    }
}

/// Begins an initialisation. If it panics, the location will hold `on_panic`.
pub(super) fn begin(location: Location, force: bool, on_panic: u64, place: CallSite) -> Begun {
    let mut state = COMPLETE;
    change_state(
        location,
        place,
        |name| format!("initialise {name}"),
        |step, found| {
            state = found;
            let begins = found == INCOMPLETE || found == POISONED && force;
            if begins {
                step.set(location, u64::from(step.process.0));
            } else if found == COMPLETE {
                step.note(|| "complete".to_owned());
            }
            begins
        },
    );
    match state {
        COMPLETE => Begun::Complete,
        POISONED if !force => Begun::Poisoned,
        found => {
            Begun::Running(Initialisation { location, poisoned: found == POISONED, to: on_panic, place })
        }
    }
}

/// Waits until it is complete; also ends at a panic, unless that is to be ignored. Tells whether it is
/// complete.
pub(super) fn await_end(location: Location, ignore_panic: bool, place: CallSite) -> bool {
    let until = if ignore_panic { Until::Is(COMPLETE) } else { Until::AtLeast(POISONED) };
    let mut complete = true;
    let perform = |step: &mut CurrentStep<'_>, found| {
        step.touch(location, AccessKind::Read);
        complete = found == COMPLETE;
    };
    operate(&mut AwaitState { location, until, describe: |name| format!("{name}.wait()"), perform }, place);
    complete
}

/// Whether it is complete.
pub(super) fn is_complete(location: Location, place: CallSite) -> bool {
    let mut look = IsComplete { location, complete: false };
    operate(&mut look, place);
    look.complete
}

/// As [`std::sync::Once`]: poisoned by a panic of its function.
pub struct Once {
    object: Object,
    real: real::Once,
}

/// What the function of [`Once::call_once_force`] is told, as [`std::sync::OnceState`].
pub struct OnceState {
    poisoned: bool,
}

impl OnceState {
    /// Whether an earlier function panicked.
    #[inline]
    pub fn is_poisoned(&self) -> bool {
        self.poisoned
    }
}

impl fmt::Debug for OnceState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnceState").field("poisoned", &self.poisoned).finish()
    }
}

/// As [`std::sync::ONCE_INIT`].
#[deprecated(note = "the `Once::new()` function is now preferred")]
#[allow(clippy::declare_interior_mutable_const)]
pub const ONCE_INIT: Once = Once::new();

impl Once {
    /// A new one: nothing has been called.
    #[allow(clippy::new_without_default, reason = "the standard library's has no default either")]
    #[inline]
    #[must_use]
    #[track_caller]
    pub const fn new() -> Once {
        Once { object: Object::new(), real: real::Once::new() }
    }

    #[inline(never)]
    fn location(&self) -> Option<Location> {
        with_runtime(|runtime| runtime.locate(&self.object, || Whole::of(self), "Once", || INCOMPLETE))
    }

    #[track_caller]
    fn outside(&self) -> &real::Once {
        self.object.use_outside();
        &self.real
    }

    /// Calls the function if none has been called; waits for the end of one that is running.
    ///
    /// # Panics
    /// If a function panicked before.
    #[inline]
    #[track_caller]
    pub fn call_once<F>(&self, f: F)
    where
        F: FnOnce(),
    {
        let Some(location) = self.location() else { return self.outside().call_once(f) };
        match begin(location, false, POISONED, Caller::caller()) {
            Begun::Complete => {}
            Begun::Poisoned => panic_poisoned(),
            Begun::Running(initialisation) => {
                f();
                initialisation.complete();
            }
        }
    }

    /// As [`call_once`](Once::call_once), but also calls the function if one before it panicked.
    #[inline]
    #[track_caller]
    pub fn call_once_force<F>(&self, f: F)
    where
        F: FnOnce(&OnceState),
    {
        let Some(location) = self.location() else {
            let f = |state: &real::OnceState| f(&OnceState { poisoned: state.is_poisoned() });
            return self.outside().call_once_force(f);
        };
        if let Begun::Running(initialisation) = begin(location, true, POISONED, Caller::caller()) {
            f(&OnceState { poisoned: initialisation.poisoned });
            initialisation.complete();
        }
    }

    /// Whether a function has been called and has come to its end.
    #[inline]
    #[track_caller]
    pub fn is_completed(&self) -> bool {
        match self.location() {
            Some(location) => is_complete(location, Caller::caller()),
            None => self.outside().is_completed(),
        }
    }

    /// Waits until a function has come to its end.
    ///
    /// # Panics
    /// If a function panicked.
    #[track_caller]
    pub fn wait(&self) {
        match self.location() {
            Some(location) if await_end(location, false, Caller::caller()) => {}
            Some(_) => panic_poisoned(),
            None => self.outside().wait(),
        }
    }

    /// Waits until a function has come to its end, whatever became of those before it.
    #[track_caller]
    pub fn wait_force(&self) {
        match self.location() {
            Some(location) => {
                await_end(location, true, Caller::caller());
            }
            None => self.outside().wait_force(),
        }
    }
}

#[cold]
#[track_caller]
fn panic_poisoned() -> ! {
    panic!("Once instance has previously been poisoned")
}

opaque_debug!(Once;);
