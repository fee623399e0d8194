//! Initialisation that happens once, as [`std::sync::Once`]; what [`OnceLock`](super::OnceLock) and
//! [`LazyLock`](super::LazyLock) are made of.
//!
//! All state is in one location, so that a static begins anew in each execution. To begin the initialisation waits until
//! nobody else runs it, and is one step: a thread that finds it complete only reads. A thread that comes to the beginning
//! again while it runs the initialiser waits for itself, and the check reports the deadlock.

use std::fmt;
use std::panic::Location as Caller;
use std::sync as real;

use mazurka_program::{AccessKind, Location, ProcessId};

use crate::runtime::identity::Object;
use crate::runtime::operation::{Operation, Step, Wait};
use crate::runtime::{Whole, World, operate, with_world};
use mazurka_threads::values::Until;

/// The cell holds the number of the process that runs the initialiser, or one of these, which are in the order that
/// guards need.
pub(super) const INCOMPLETE: u64 = 1 << 32;
pub(super) const POISONED: u64 = INCOMPLETE + 1;
pub(super) const COMPLETE: u64 = INCOMPLETE + 2;

/// Begins the initialisation, unless it is complete. `found` is what was there before.
struct Begin {
    location: Location,
    /// Whether to begin again after a panic.
    force: bool,
    found: u64,
}

impl Operation for Begin {
    fn wait(&self) -> Wait {
        Wait::Guard { location: self.location, until: Until::AtLeast(INCOMPLETE) }
    }

    fn perform(&mut self, step: &mut Step<'_>) {
        self.found = step.peek(self.location);
        step.acquire(self.location);
        let begins = self.found == INCOMPLETE || self.found == POISONED && self.force;
        if begins {
            step.set(self.location, u64::from(step.process.0));
        } else if self.found == COMPLETE {
            step.note(|| "complete".to_owned());
        }
        if step.world.search.foresee {
            step.touch(self.location, AccessKind::Update);
        } else {
            step.touch(self.location, if begins { AccessKind::Update } else { AccessKind::Read });
            step.varies();
        }
    }

    fn describe(&self, world: &World) -> String {
        format!("initialise {}", world.name_of_location(self.location))
    }

    fn waits_for(&self, world: &World) -> (String, Vec<ProcessId>) {
        initialised_by(world, self.location)
    }
}

/// What a thread waits for that needs something initialised, and who does that.
pub(super) fn initialised_by(world: &World, location: Location) -> (String, Vec<ProcessId>) {
    let name = world.name_of_location(location);
    match world.execution.values.get(location) {
        INCOMPLETE.. => (format!("somebody to initialise `{name}`"), Vec::new()),
        process => {
            let process = ProcessId(process as u32);
            (format!("`{name}`, which {} initialises", world.name_of(process)), vec![process])
        }
    }
}

/// Ends the initialisation, well or not.
struct Finish {
    location: Location,
    to: u64,
}

impl Operation for Finish {
    fn perform(&mut self, step: &mut Step<'_>) {
        step.touch(self.location, AccessKind::Write);
        step.set(self.location, self.to);
        step.release(self.location);
        if self.to != COMPLETE {
            step.note(|| "it panicked".to_owned());
        }
    }

    fn describe(&self, world: &World) -> String {
        format!("{} is initialised", world.name_of_location(self.location))
    }
}

/// Waits for the end of the initialisation, without having a part in it.
struct Await {
    location: Location,
    until: Until,
    found: u64,
}

impl Operation for Await {
    fn wait(&self) -> Wait {
        Wait::Guard { location: self.location, until: self.until }
    }

    fn perform(&mut self, step: &mut Step<'_>) {
        step.touch(self.location, AccessKind::Read);
        step.acquire(self.location);
        self.found = step.peek(self.location);
    }

    fn describe(&self, world: &World) -> String {
        format!("{}.wait()", world.name_of_location(self.location))
    }

    fn waits_for(&self, world: &World) -> (String, Vec<ProcessId>) {
        initialised_by(world, self.location)
    }
}

/// Looks whether the initialisation is complete.
struct Look {
    location: Location,
    complete: bool,
}

impl Operation for Look {
    fn is_plain(&self) -> bool {
        true
    }

    fn perform(&mut self, step: &mut Step<'_>) {
        step.touch(self.location, AccessKind::Read);
        self.complete = step.peek(self.location) == COMPLETE;
        if self.complete {
            step.acquire(self.location);
        }
        let complete = self.complete;
        step.note(|| if complete { "yes".to_owned() } else { "not yet".to_owned() });
    }

    fn describe(&self, world: &World) -> String {
        format!("is {} initialised?", world.name_of_location(self.location))
    }
}

/// What came of an attempt to begin.
pub(super) enum Begun {
    /// It is complete already.
    Complete,
    /// An initialiser panicked before.
    Poisoned,
    /// It is up to the caller now.
    Running(Running),
}

/// The right and the duty to initialise. Dropped on the way of an unwinding, it says so.
pub(super) struct Running {
    location: Location,
    /// Whether an initialiser panicked before.
    pub(super) poisoned: bool,
    to: u64,
    place: &'static Caller<'static>,
}

impl Running {
    /// The initialisation is complete.
    pub(super) fn complete(mut self) {
        self.to = COMPLETE;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        operate(&mut Finish { location: self.location, to: self.to }, self.place);
    }
}

/// Begins an initialisation. If it panics, the location will hold `spoiled`.
pub(super) fn begin(location: Location, force: bool, spoiled: u64, place: &'static Caller<'static>) -> Begun {
    let mut begin = Begin { location, force, found: COMPLETE };
    operate(&mut begin, place);
    match begin.found {
        COMPLETE => Begun::Complete,
        POISONED if !force => Begun::Poisoned,
        found => Begun::Running(Running { location, poisoned: found == POISONED, to: spoiled, place }),
    }
}

/// Waits until it is complete; also ends at a panic, unless that is to be ignored. Tells whether it is complete.
pub(super) fn await_end(location: Location, ignore_panic: bool, place: &'static Caller<'static>) -> bool {
    let until = if ignore_panic { Until::Is(COMPLETE) } else { Until::AtLeast(POISONED) };
    let mut wait = Await { location, until, found: COMPLETE };
    operate(&mut wait, place);
    wait.found == COMPLETE
}

/// Whether it is complete.
pub(super) fn is_complete(location: Location, place: &'static Caller<'static>) -> bool {
    let mut look = Look { location, complete: false };
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
        with_world(|world| world.locate(&self.object, || Whole::of(self), "Once", || INCOMPLETE))
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
        let Some(location) = self.location() else {
            self.object.use_outside();
            return self.real.call_once(f);
        };
        match begin(location, false, POISONED, Caller::caller()) {
            Begun::Complete => {}
            Begun::Poisoned => panic_poisoned(),
            Begun::Running(running) => {
                f();
                running.complete();
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
            self.object.use_outside();
            return self.real.call_once_force(|state| f(&OnceState { poisoned: state.is_poisoned() }));
        };
        if let Begun::Running(running) = begin(location, true, POISONED, Caller::caller()) {
            f(&OnceState { poisoned: running.poisoned });
            running.complete();
        }
    }

    /// Whether a function has been called and has come to its end.
    #[inline]
    #[track_caller]
    pub fn is_completed(&self) -> bool {
        match self.location() {
            Some(location) => is_complete(location, Caller::caller()),
            None => {
                self.object.use_outside();
                self.real.is_completed()
            }
        }
    }

    /// Waits until a function has come to its end.
    ///
    /// # Panics
    /// If a function panicked.
    #[track_caller]
    pub fn wait(&self) {
        match self.location() {
            Some(location) => {
                if !await_end(location, false, Caller::caller()) {
                    panic_poisoned();
                }
            }
            None => {
                self.object.use_outside();
                self.real.wait();
            }
        }
    }

    /// Waits until a function has come to its end, whatever became of those before it.
    #[track_caller]
    pub fn wait_force(&self) {
        match self.location() {
            Some(location) => {
                await_end(location, true, Caller::caller());
            }
            None => {
                self.object.use_outside();
                self.real.wait_force();
            }
        }
    }
}

#[cold]
#[track_caller]
fn panic_poisoned() -> ! {
    panic!("Once instance has previously been poisoned")
}

impl fmt::Debug for Once {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Once").finish_non_exhaustive()
    }
}
