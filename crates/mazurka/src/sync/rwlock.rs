//! A lock for one writer or many readers, as [`std::sync::RwLock`].
//!
//! The lock is one location, whose cell holds 0 if it is free, the number of readers, or who writes. Every step that takes
//! or releases it changes the cell, so that readers of different threads count as dependent: orders of theirs that differ in
//! nothing else are explored one by one. That is coarse, and sound.
//!
//! A reader waits for nothing but a writer that holds the lock: one that merely waits does not keep readers out. Where the
//! operating system prefers writers, a thread that reads twice at once may wait for itself, with a writer in between; that
//! deadlock is not found here.
#![allow(unsafe_code)]

use std::cell::UnsafeCell;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::panic::{Location as Caller, RefUnwindSafe, UnwindSafe};
use std::sync as real;
use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};

use mazurka_program::{AccessKind, Location, ProcessId};

use super::mutex::{ClearPoison, IsPoisoned};
use super::poison::Poison;
use crate::runtime::identity::Object;
use crate::runtime::operation::{Operation, Step, Wait};
use crate::runtime::statics::Home;
use crate::runtime::{Whole, World, operate, with_world};
use mazurka_threads::values::Until;

/// As [`std::sync::RwLock`]: poisoned by a panic of its writer.
///
/// Waiting writers do not keep readers out.
pub struct RwLock<T: ?Sized> {
    object: Object,
    /// What is locked outside of a check.
    real: real::RwLock<()>,
    poison: Poison,
    home: Home,
    data: UnsafeCell<T>,
}

// SAFETY: the data is reached by one writer or by many readers at a time.
unsafe impl<T: ?Sized + Send + Sync> Sync for RwLock<T> {}

impl<T: ?Sized> UnwindSafe for RwLock<T> {}
impl<T: ?Sized> RefUnwindSafe for RwLock<T> {}

/// Reads what a [`RwLock`] holds until it is dropped.
#[must_use = "if unused the RwLock will immediately unlock"]
#[clippy::has_significant_drop]
pub struct RwLockReadGuard<'a, T: ?Sized + 'a> {
    data: *const T,
    held: Held<real::RwLockReadGuard<'a, ()>>,
    place: &'static Caller<'static>,
}

/// Reads and writes what a [`RwLock`] holds until it is dropped.
#[must_use = "if unused the RwLock will immediately unlock"]
#[clippy::has_significant_drop]
pub struct RwLockWriteGuard<'a, T: ?Sized + 'a> {
    lock: &'a RwLock<T>,
    data: *mut T,
    held: Held<real::RwLockWriteGuard<'a, ()>>,
    panicking: bool,
    place: &'static Caller<'static>,
}

// SAFETY: a shared guard gives shared access to the data only.
unsafe impl<T: ?Sized + Sync> Sync for RwLockReadGuard<'_, T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Sync> Sync for RwLockWriteGuard<'_, T> {}

enum Held<G> {
    /// In a check: the lock's location.
    Model(Location),
    /// Outside: kept for its destructor.
    Real(G),
}

/// The cell of a lock that is written holds this plus the number of the writer; one that is read holds less.
const WRITTEN: u64 = 1 << 32;

/// Whether a process has the lock to itself, given what its location holds.
fn is_written_by(held: u64, process: ProcessId) -> bool {
    held == WRITTEN + u64::from(process.0)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Read,
    Write,
}

impl Mode {
    /// What the cell must hold.
    fn until(self) -> Until {
        match self {
            Mode::Read => Until::Below(WRITTEN),
            Mode::Write => Until::Is(0),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Mode::Read => "read",
            Mode::Write => "write",
        }
    }
}

/// What readers release, to writers only: in [`release`](Step::release) of the location itself is what writers do.
const BY_READERS: u32 = 1;

/// Takes the lock; waits until it can.
struct Take {
    location: Location,
    mode: Mode,
    poisoned: bool,
}

impl Take {
    fn take(&mut self, step: &mut Step<'_>) {
        let cell = step.peek(self.location);
        let taken = match self.mode {
            Mode::Read => cell + 1,
            Mode::Write => WRITTEN + u64::from(step.process.0),
        };
        step.set(self.location, taken);
        step.acquire(self.location);
        if self.mode == Mode::Write {
            step.acquire_part(self.location, BY_READERS);
        }
        step.acquired(self.location);
        self.poisoned = step.world.is_poisoned(self.location);
    }
}

impl Operation for Take {
    fn wait(&self) -> Wait {
        Wait::Guard { location: self.location, until: self.mode.until() }
    }

    fn perform(&mut self, step: &mut Step<'_>) {
        step.touch(self.location, AccessKind::Update);
        self.take(step);
    }

    fn describe(&self, world: &World) -> String {
        format!("{}.{}()", world.name_of_location(self.location), self.mode.name())
    }

    fn waits_for(&self, world: &World) -> (String, Vec<ProcessId>) {
        let name = world.name_of_location(self.location);
        let holders = holders(world, self.location);
        let held: Vec<String> = holders.iter().map(|&p| world.held_since(self.location, p)).collect();
        let comma = if held.is_empty() { "" } else { ", " };
        (format!("`{name}`{comma}{}", held.join(" and ")), holders)
    }
}

/// Who holds a lock, as far as it was noted for people.
fn holders(world: &World, location: Location) -> Vec<ProcessId> {
    if let Some(writer) = world.execution.values.get(location).checked_sub(WRITTEN) {
        return vec![ProcessId(writer as u32)];
    }
    let mut holders = Vec::new();
    for &(_, process, _) in world.execution.acquired.iter().filter(|taken| taken.0 == location) {
        if !holders.contains(&process) {
            holders.push(process);
        }
    }
    holders
}

/// Takes the lock if it can.
struct TryTake {
    take: Take,
    taken: bool,
}

impl Operation for TryTake {
    fn is_plain(&self) -> bool {
        true
    }

    fn perform(&mut self, step: &mut Step<'_>) {
        // A failed attempt counts as an access of the same kind, so that the label does not vary.
        step.touch(self.take.location, AccessKind::Update);
        self.taken = self.take.mode.until().holds(step.peek(self.take.location));
        if self.taken {
            self.take.take(step);
        } else {
            step.note(|| "would block".to_owned());
        }
    }

    fn describe(&self, world: &World) -> String {
        format!("{}.try_{}()", world.name_of_location(self.take.location), self.take.mode.name())
    }
}

struct Release {
    location: Location,
    mode: Mode,
    poisons: bool,
}

impl Operation for Release {
    fn perform(&mut self, step: &mut Step<'_>) {
        step.touch(self.location, AccessKind::Update);
        let cell = step.peek(self.location);
        let left = match self.mode {
            // A destructor must not panic, whatever an abandoned execution left here.
            Mode::Read => cell.saturating_sub(1),
            Mode::Write => 0,
        };
        step.set(self.location, left);
        match self.mode {
            Mode::Read => step.release_part(self.location, BY_READERS),
            Mode::Write => step.release(self.location),
        }
        if self.poisons {
            step.world.set_poisoned(self.location, true);
            step.note(|| "and poison it".to_owned());
        }
        let taken = step
            .world
            .execution
            .acquired
            .iter()
            .rposition(|taken| (taken.0, taken.1) == (self.location, step.process));
        if let Some(at) = taken {
            step.world.execution.acquired.remove(at);
        }
    }

    fn describe(&self, world: &World) -> String {
        format!("unlock {}", world.name_of_location(self.location))
    }
}

/// Makes the writer a reader.
struct Downgrade {
    location: Location,
}

impl Operation for Downgrade {
    fn perform(&mut self, step: &mut Step<'_>) {
        step.touch(self.location, AccessKind::Update);
        step.set(self.location, 1);
        step.release(self.location);
    }

    fn describe(&self, world: &World) -> String {
        format!("downgrade {}", world.name_of_location(self.location))
    }
}

impl<T> RwLock<T> {
    /// A new lock around a value.
    #[inline]
    #[track_caller]
    pub const fn new(value: T) -> RwLock<T> {
        RwLock {
            object: Object::new(),
            real: real::RwLock::new(()),
            poison: Poison::new(),
            home: Home::new(),
            data: UnsafeCell::new(value),
        }
    }

    /// The value, for its last owner.
    ///
    /// # Errors
    /// If the lock is poisoned.
    pub fn into_inner(self) -> LockResult<T> {
        let poisoned = self.poison.get(&self.object);
        let value = self.data.into_inner();
        if poisoned { Err(PoisonError::new(value)) } else { Ok(value) }
    }
}

impl<T: ?Sized> RwLock<T> {
    #[inline(never)]
    fn location(&self) -> Option<Location> {
        with_world(|world| world.locate(&self.object, || Whole::lock(self, is_written_by), "RwLock", || 0))
    }

    /// Takes the lock for reading; waits while somebody writes.
    ///
    /// # Errors
    /// If a writer panicked.
    #[track_caller]
    pub fn read(&self) -> LockResult<RwLockReadGuard<'_, T>> {
        let place = Caller::caller();
        match self.location() {
            Some(location) => {
                let mut take = Take { location, mode: Mode::Read, poisoned: false };
                operate(&mut take, place);
                self.reader(Held::Model(location), take.poisoned, place)
            }
            None => {
                self.object.use_outside();
                let guard = self.real.read().unwrap_or_else(PoisonError::into_inner);
                self.reader(Held::Real(guard), self.poison.get(&self.object), place)
            }
        }
    }

    /// Takes the lock for writing; waits until it is free.
    ///
    /// # Errors
    /// If a writer panicked.
    #[track_caller]
    pub fn write(&self) -> LockResult<RwLockWriteGuard<'_, T>> {
        let place = Caller::caller();
        match self.location() {
            Some(location) => {
                let mut take = Take { location, mode: Mode::Write, poisoned: false };
                operate(&mut take, place);
                self.writer(Held::Model(location), take.poisoned, place)
            }
            None => {
                self.object.use_outside();
                let guard = self.real.write().unwrap_or_else(PoisonError::into_inner);
                self.writer(Held::Real(guard), self.poison.get(&self.object), place)
            }
        }
    }

    /// Takes the lock for reading if nobody writes.
    ///
    /// # Errors
    /// If somebody does, or if a writer panicked.
    #[track_caller]
    pub fn try_read(&self) -> TryLockResult<RwLockReadGuard<'_, T>> {
        let place = Caller::caller();
        match self.location() {
            Some(location) => {
                let poisoned = try_model(location, Mode::Read, place)?;
                Ok(self.reader(Held::Model(location), poisoned, place)?)
            }
            None => {
                self.object.use_outside();
                let guard = ignore_poison(self.real.try_read())?;
                Ok(self.reader(Held::Real(guard), self.poison.get(&self.object), place)?)
            }
        }
    }

    /// Takes the lock for writing if it is free.
    ///
    /// # Errors
    /// If it is not, or if a writer panicked.
    #[track_caller]
    pub fn try_write(&self) -> TryLockResult<RwLockWriteGuard<'_, T>> {
        let place = Caller::caller();
        match self.location() {
            Some(location) => {
                let poisoned = try_model(location, Mode::Write, place)?;
                Ok(self.writer(Held::Model(location), poisoned, place)?)
            }
            None => {
                self.object.use_outside();
                let guard = ignore_poison(self.real.try_write())?;
                Ok(self.writer(Held::Real(guard), self.poison.get(&self.object), place)?)
            }
        }
    }

    fn data<G>(&self, held: &Held<G>) -> *mut T {
        match held {
            Held::Model(location) => self.home.data(*location, self.data.get()),
            Held::Real(_) => self.home.outside(self.data.get()),
        }
    }

    fn reader<'a>(
        &'a self,
        held: Held<real::RwLockReadGuard<'a, ()>>,
        poisoned: bool,
        place: &'static Caller<'static>,
    ) -> LockResult<RwLockReadGuard<'a, T>> {
        let guard = RwLockReadGuard { data: self.data(&held), held, place };
        if poisoned { Err(PoisonError::new(guard)) } else { Ok(guard) }
    }

    fn writer<'a>(
        &'a self,
        held: Held<real::RwLockWriteGuard<'a, ()>>,
        poisoned: bool,
        place: &'static Caller<'static>,
    ) -> LockResult<RwLockWriteGuard<'a, T>> {
        let (data, panicking) = (self.data(&held), std::thread::panicking());
        let guard = RwLockWriteGuard { lock: self, data, held, panicking, place };
        if poisoned { Err(PoisonError::new(guard)) } else { Ok(guard) }
    }

    /// Whether a writer panicked.
    #[track_caller]
    pub fn is_poisoned(&self) -> bool {
        let Some(location) = self.location() else { return self.poison.get(&self.object) };
        let mut look = IsPoisoned { location, poisoned: false };
        operate(&mut look, Caller::caller());
        look.poisoned
    }

    /// Takes the poison away.
    #[track_caller]
    pub fn clear_poison(&self) {
        match self.location() {
            Some(location) => operate(&mut ClearPoison { location }, Caller::caller()),
            None => self.poison.set_outside(false),
        }
    }

    /// The value, for its only owner.
    ///
    /// # Errors
    /// If the lock is poisoned.
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        let poisoned = self.poison.get(&self.object);
        let value = self.data.get_mut();
        if poisoned { Err(PoisonError::new(value)) } else { Ok(value) }
    }
}

/// Takes a lock of a check if it can; tells whether it is poisoned.
fn try_model<G>(
    location: Location,
    mode: Mode,
    place: &'static Caller<'static>,
) -> Result<bool, TryLockError<G>> {
    let mut attempt = TryTake { take: Take { location, mode, poisoned: false }, taken: false };
    operate(&mut attempt, place);
    if attempt.taken { Ok(attempt.take.poisoned) } else { Err(TryLockError::WouldBlock) }
}

/// The real lock guards no data; its poison means nothing.
fn ignore_poison<G, H>(result: TryLockResult<G>) -> Result<G, TryLockError<H>> {
    match result {
        Ok(guard) => Ok(guard),
        Err(TryLockError::Poisoned(poisoned)) => Ok(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => Err(TryLockError::WouldBlock),
    }
}

impl<'a, T: ?Sized> RwLockWriteGuard<'a, T> {
    /// Goes on as a reader, without a moment in which nobody holds the lock.
    pub fn downgrade(guard: RwLockWriteGuard<'a, T>) -> RwLockReadGuard<'a, T> {
        if let Held::Model(location) = guard.held {
            // The guard stays until it is a reader, for the case that it never is: the execution may end here.
            operate(&mut Downgrade { location }, guard.place);
        }
        let guard = std::mem::ManuallyDrop::new(guard);
        // SAFETY: `guard` is not used again and not dropped, so that the part is moved out once.
        let held = match unsafe { std::ptr::read(&guard.held) } {
            Held::Model(location) => Held::Model(location),
            Held::Real(real) => Held::Real(real::RwLockWriteGuard::downgrade(real)),
        };
        RwLockReadGuard { data: guard.data, held, place: guard.place }
    }
}

impl<T: ?Sized> Deref for RwLockReadGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the lock is held for reading, and the data lives as long as the lock, or in this execution.
        unsafe { &*self.data }
    }
}

impl<T: ?Sized> Deref for RwLockWriteGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: as above, for writing.
        unsafe { &*self.data }
    }
}

impl<T: ?Sized> DerefMut for RwLockWriteGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above; the guard is borrowed alone.
        unsafe { &mut *self.data }
    }
}

impl<T: ?Sized> Drop for RwLockReadGuard<'_, T> {
    fn drop(&mut self) {
        if let Held::Model(location) = self.held {
            operate(&mut Release { location, mode: Mode::Read, poisons: false }, self.place);
        }
    }
}

impl<T: ?Sized> Drop for RwLockWriteGuard<'_, T> {
    fn drop(&mut self) {
        let poisons = !self.panicking && std::thread::panicking();
        match self.held {
            Held::Model(location) => {
                operate(&mut Release { location, mode: Mode::Write, poisons }, self.place)
            }
            Held::Real(_) if poisons => self.lock.poison.set_outside(true),
            Held::Real(_) => {}
        }
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLockReadGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for RwLockReadGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLockWriteGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for RwLockWriteGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T> From<T> for RwLock<T> {
    #[track_caller]
    fn from(value: T) -> RwLock<T> {
        RwLock::new(value)
    }
}

impl<T: Default> Default for RwLock<T> {
    #[track_caller]
    fn default() -> RwLock<T> {
        RwLock::new(T::default())
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLock<T> {
    #[track_caller]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("RwLock");
        match self.try_read() {
            Ok(guard) => debug.field("data", &&*guard),
            Err(TryLockError::Poisoned(poisoned)) => debug.field("data", &&**poisoned.get_ref()),
            Err(TryLockError::WouldBlock) => debug.field("data", &format_args!("<locked>")),
        };
        debug.field("poisoned", &self.poison.get(&self.object));
        debug.finish_non_exhaustive()
    }
}
