//! Values that are made once, as [`std::sync::OnceLock`] and [`std::sync::LazyLock`].
//!
//! Both are mostly used in statics. There, each execution has a value of its own, which lives until the
//! execution is over, also while it is being abandoned: destructors may look at it. Then its memory is given
//! back without its being dropped, as statics never are; so what it owns leaks, once an execution. A
//! reference to such a value must not leave its execution, though its type says `'static`: do not put it
//! where the next execution finds it.
//!
//! What an object holds outside of checks is kept apart, so that a static may be used on both sides.
#![allow(unsafe_code)]

use std::cell::UnsafeCell;
use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::panic::{Location as Caller, RefUnwindSafe, UnwindSafe};
use std::sync as real;
use std::sync::atomic::{AtomicBool, Ordering};

use mazurka_program::Location;

use super::once::{Begun, COMPLETE, INCOMPLETE, Initialisation, POISONED};
use super::once::{await_end, begin, change_state, is_complete};
use crate::runtime::identity::Object;
use crate::runtime::statics::Home;
use crate::runtime::{Whole, with_runtime};

/// Where a value is that is made once: what [`OnceLock`] and [`LazyLock`] have in common.
struct Slot<T> {
    object: Object,
    /// What it holds outside of a check.
    real: real::OnceLock<T>,
    home: Home,
    /// What it holds in a check; of a static, in the copy of the execution. Whoever runs the initialiser
    /// writes it; when that is complete, everybody reads it.
    value: UnsafeCell<Option<T>>,
}

impl<T> Slot<T> {
    #[track_caller]
    const fn new() -> Slot<T> {
        let (object, home) = (Object::new(), Home::new());
        Slot { object, real: real::OnceLock::new(), home, value: UnsafeCell::new(None) }
    }

    /// The location of the state of the initialisation. The slot is part of `whole`.
    fn location<W>(&self, whole: &W, kind: &'static str) -> Option<Location> {
        let first = || {
            // SAFETY: this is the first use, so nobody writes it.
            let full = unsafe { (*self.value.get()).is_some() };
            if full { COMPLETE } else { INCOMPLETE }
        };
        with_runtime(|runtime| runtime.locate(&self.object, || Whole::of(whole), kind, first))
    }

    #[track_caller]
    fn outside(&self) -> &real::OnceLock<T> {
        self.object.use_outside();
        &self.real
    }

    /// Where the value is in this execution.
    fn place(&self, location: Location) -> *mut Option<T> {
        self.home.data(location, self.value.get())
    }

    /// The value, if it has been made: a step, in a check.
    #[track_caller]
    fn get(&self, location: Option<Location>) -> Option<&T> {
        match location {
            // SAFETY: it is complete.
            Some(location) if is_complete(location, Caller::caller()) => unsafe { self.read(location) },
            Some(_) => None,
            None => self.outside().get(),
        }
    }

    /// # Safety
    /// The initialisation must be complete. The lifetime is that of the object: see the module for statics.
    unsafe fn read(&self, location: Location) -> Option<&T> {
        // SAFETY: nobody writes it any more, by the contract; the place lives as long as the object and the
        // execution do.
        unsafe { (*self.place(location)).as_ref() }
    }

    /// The value, when it is known to be there.
    ///
    /// # Safety
    /// As of [`Slot::read`].
    unsafe fn complete(&self, location: Location) -> &T {
        // SAFETY: the caller vouches for it.
        unsafe { self.read(location) }.expect("what is initialised holds a value")
    }

    /// Makes the value, in a check.
    fn initialise(&self, location: Location, initialisation: Initialisation, f: impl FnOnce() -> T) {
        let value = f();
        // SAFETY: it is up to the caller to initialise it, so that nobody else reads or writes the place.
        unsafe { *self.place(location) = Some(value) };
        initialisation.complete();
    }

    /// What a check keeps, for the only owner of the object.
    fn model_mut(&mut self) -> &mut Option<T> {
        let location = with_runtime(|runtime| self.object.location(runtime.execution.stamp)).flatten();
        match location {
            // SAFETY: the object is borrowed alone, and with it its place.
            Some(location) => unsafe { &mut *self.place(location) },
            None => self.value.get_mut(),
        }
    }

    /// The value, for the only owner of the object.
    fn get_mut(&mut self) -> Option<&mut T> {
        if self.model_mut().is_some() { self.model_mut().as_mut() } else { self.real.get_mut() }
    }
}

impl<T: fmt::Debug> Slot<T> {
    #[track_caller]
    fn debug(&self, location: Option<Location>, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_tuple(name);
        match self.get(location) {
            Some(value) => debug.field(value),
            None => debug.field(&format_args!("<uninit>")),
        };
        debug.finish()
    }
}

/// As [`std::sync::OnceLock`]: a value that is set once.
///
/// In a static, each execution of a check begins without a value; at its end what the value owns leaks.
pub struct OnceLock<T> {
    slot: Slot<T>,
}

// SAFETY: as that of the standard library: any thread may set the value, get it, or drop it.
unsafe impl<T: Sync + Send> Sync for OnceLock<T> {}

impl<T: RefUnwindSafe + UnwindSafe> RefUnwindSafe for OnceLock<T> {}
impl<T: UnwindSafe> UnwindSafe for OnceLock<T> {}

impl<T> OnceLock<T> {
    /// A new one, without a value.
    #[inline]
    #[must_use]
    #[track_caller]
    pub const fn new() -> OnceLock<T> {
        OnceLock { slot: Slot::new() }
    }

    fn location(&self) -> Option<Location> {
        self.slot.location(self, "OnceLock")
    }

    /// The value, if it has been set.
    #[inline]
    #[track_caller]
    pub fn get(&self) -> Option<&T> {
        self.slot.get(self.location())
    }

    /// The value, for its only owner.
    #[inline]
    pub fn get_mut(&mut self) -> Option<&mut T> {
        self.slot.get_mut()
    }

    /// Waits until there is a value.
    #[track_caller]
    pub fn wait(&self) -> &T {
        let Some(location) = self.location() else { return self.slot.outside().wait() };
        await_end(location, true, Caller::caller());
        // SAFETY: it is complete.
        unsafe { self.slot.complete(location) }
    }

    /// Sets the value; gives it back as an error if there is one.
    #[inline]
    #[track_caller]
    pub fn set(&self, value: T) -> Result<(), T> {
        let Some(location) = self.location() else { return self.slot.outside().set(value) };
        let (slot, mut value) = (self.slot.place(location), Some(value));
        change_state(
            location,
            Caller::caller(),
            |name| format!("{name}.set()"),
            |step, found| {
                let sets = found != COMPLETE;
                if sets {
                    // SAFETY: nobody runs the initialiser, since the guard holds, and nobody has a reference,
                    // since it isn't complete.
                    unsafe { *slot = value.take() };
                    step.set(location, COMPLETE);
                    step.release(location);
                } else {
                    step.note(|| "there is a value".to_owned());
                }
                sets
            },
        );
        value.map_or(Ok(()), Err)
    }

    /// The value; made by the function if there is none. A panic of the function leaves it without a value.
    #[inline]
    #[track_caller]
    pub fn get_or_init<F>(&self, f: F) -> &T
    where
        F: FnOnce() -> T,
    {
        let Some(location) = self.location() else { return self.slot.outside().get_or_init(f) };
        if let Begun::Running(initialisation) = begin(location, true, INCOMPLETE, Caller::caller()) {
            self.slot.initialise(location, initialisation, f);
        }
        // SAFETY: it is complete.
        unsafe { self.slot.complete(location) }
    }

    /// The value, for its last owner.
    #[inline]
    pub fn into_inner(mut self) -> Option<T> {
        self.take()
    }

    /// Takes the value out: there is none any more.
    #[inline]
    pub fn take(&mut self) -> Option<T> {
        let Some(value) = self.slot.model_mut().take() else { return self.slot.real.take() };
        with_runtime(|runtime| {
            if let Some(location) = self.slot.object.location(runtime.execution.stamp) {
                // Whoever is alone with the object has seen all that others did with it.
                let depth = runtime.execution.schedule.depth;
                runtime.execution.values.set(location, INCOMPLETE, depth);
            }
        });
        Some(value)
    }
}

impl<T> Default for OnceLock<T> {
    #[inline]
    #[track_caller]
    fn default() -> OnceLock<T> {
        OnceLock::new()
    }
}

impl<T: fmt::Debug> fmt::Debug for OnceLock<T> {
    #[track_caller]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.slot.debug(self.location(), "OnceLock", f)
    }
}

impl<T: Clone> Clone for OnceLock<T> {
    #[inline]
    #[track_caller]
    fn clone(&self) -> OnceLock<T> {
        self.get().cloned().map_or_else(OnceLock::new, OnceLock::from)
    }
}

impl<T> From<T> for OnceLock<T> {
    #[inline]
    #[track_caller]
    fn from(value: T) -> OnceLock<T> {
        let mut lock = OnceLock::new();
        if crate::runtime::in_check() {
            lock.slot.value = UnsafeCell::new(Some(value));
        } else {
            lock.slot.real = real::OnceLock::from(value);
        }
        lock
    }
}

impl<T: PartialEq> PartialEq for OnceLock<T> {
    #[inline]
    #[track_caller]
    fn eq(&self, other: &OnceLock<T>) -> bool {
        self.get() == other.get()
    }
}

impl<T: Eq> Eq for OnceLock<T> {}

/// The function of a [`LazyLock`].
///
/// It is moved out by copying its bytes, which are left as they are: in a static they are a constant, of
/// which every execution has a copy, and there is another one for what is outside of checks. Of any other
/// object, one copy is made.
struct Initialiser<F> {
    function: ManuallyDrop<F>,
    /// Whether it was moved out: outside of a check, or in one of an object that is no static.
    moved: AtomicBool,
}

impl<F> Drop for Initialiser<F> {
    fn drop(&mut self) {
        if !*self.moved.get_mut() {
            // SAFETY: it was not moved out, and is not used again.
            unsafe { ManuallyDrop::drop(&mut self.function) };
        }
    }
}

impl<F> Initialiser<F> {
    /// # Safety
    /// Once in an execution, or once outside of any; of an object that is no static, once altogether.
    unsafe fn move_out(&self) -> F {
        // SAFETY: the bytes are never changed. For a static see above; else the caller vouches for it that
        // this is the only copy, and `drop` knows of it.
        unsafe { std::ptr::read(&*self.function) }
    }
}

/// As [`std::sync::LazyLock`]: a value that is made when it is needed first.
///
/// In a static, each execution of a check begins without a value; at its end what the value owns leaks.
pub struct LazyLock<T, F = fn() -> T> {
    slot: Slot<T>,
    /// Whether there is a value outside of a check.
    once: real::Once,
    initialiser: Initialiser<F>,
}

// SAFETY: as that of the standard library: any thread may call the function, once, and get the value, or drop
// it.
unsafe impl<T: Sync + Send, F: Send> Sync for LazyLock<T, F> {}

impl<T: RefUnwindSafe + UnwindSafe, F: UnwindSafe> RefUnwindSafe for LazyLock<T, F> {}
impl<T: UnwindSafe, F: UnwindSafe> UnwindSafe for LazyLock<T, F> {}

impl<T, F: FnOnce() -> T> LazyLock<T, F> {
    /// A new one, with the function that will make its value.
    #[inline]
    #[track_caller]
    pub const fn new(f: F) -> LazyLock<T, F> {
        LazyLock {
            slot: Slot::new(),
            once: real::Once::new(),
            initialiser: Initialiser { function: ManuallyDrop::new(f), moved: AtomicBool::new(false) },
        }
    }

    /// The value; made now if there is none.
    ///
    /// # Panics
    /// If the function panicked, now or before.
    #[inline]
    #[track_caller]
    pub fn force(this: &LazyLock<T, F>) -> &T {
        let Some(location) = this.location() else { return this.force_outside() };
        match begin(location, false, POISONED, Caller::caller()) {
            Begun::Complete => {}
            Begun::Poisoned => panic_poisoned(),
            Begun::Running(initialisation) => {
                if std::ptr::eq(this.slot.place(location), this.slot.value.get()) {
                    this.initialiser.moved.store(true, Ordering::Relaxed);
                }
                // SAFETY: it is up to us to initialise it, in this execution; after that it is complete or
                // poisoned.
                let function = unsafe { this.initialiser.move_out() };
                this.slot.initialise(location, initialisation, function);
            }
        }
        // SAFETY: it is complete.
        unsafe { this.slot.complete(location) }
    }

    #[track_caller]
    fn force_outside(&self) -> &T {
        let value = self.slot.outside();
        self.once.call_once_force(|state| {
            if state.is_poisoned() {
                panic_poisoned();
            }
            self.initialiser.moved.store(true, Ordering::Relaxed);
            // SAFETY: this is called once, since a second call panics above.
            let function = unsafe { self.initialiser.move_out() };
            let _ = value.set(function());
        });
        value.get().expect("a complete LazyLock holds a value")
    }

    /// The value, for the only owner of the lock; made now if there is none.
    ///
    /// # Panics
    /// If the function panicked, now or before.
    #[inline]
    #[track_caller]
    pub fn force_mut(this: &mut LazyLock<T, F>) -> &mut T {
        LazyLock::force(this);
        LazyLock::get_mut(this).expect("a complete LazyLock holds a value")
    }
}

impl<T, F> LazyLock<T, F> {
    fn location(&self) -> Option<Location> {
        self.slot.location(self, "LazyLock")
    }

    /// The value, if it has been made.
    #[inline]
    #[track_caller]
    pub fn get(this: &LazyLock<T, F>) -> Option<&T> {
        this.slot.get(this.location())
    }

    /// The value, if it has been made, for the only owner of the lock.
    #[inline]
    pub fn get_mut(this: &mut LazyLock<T, F>) -> Option<&mut T> {
        this.slot.get_mut()
    }
}

#[cold]
#[track_caller]
fn panic_poisoned() -> ! {
    panic!("LazyLock instance has previously been poisoned")
}

impl<T, F: FnOnce() -> T> Deref for LazyLock<T, F> {
    type Target = T;

    #[inline]
    #[track_caller]
    fn deref(&self) -> &T {
        LazyLock::force(self)
    }
}

impl<T, F: FnOnce() -> T> DerefMut for LazyLock<T, F> {
    #[inline]
    #[track_caller]
    fn deref_mut(&mut self) -> &mut T {
        LazyLock::force_mut(self)
    }
}

impl<T: Default> Default for LazyLock<T> {
    #[inline]
    #[track_caller]
    fn default() -> LazyLock<T> {
        LazyLock::new(T::default)
    }
}

impl<T: fmt::Debug, F> fmt::Debug for LazyLock<T, F> {
    #[track_caller]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.slot.debug(self.location(), "LazyLock", f)
    }
}
