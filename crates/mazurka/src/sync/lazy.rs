//! Values that are made once, as [`std::sync::OnceLock`] and [`std::sync::LazyLock`].
//!
//! Both are mostly used in statics. There, each execution has a value of its own, which lives until the execution is over,
//! also while it is being abandoned: destructors may look at it. Then its memory is given back without its being dropped, as
//! statics never are; so what it owns leaks, once an execution. A reference to such a value must not leave its execution,
//! though its type says `'static`: do not put it where the next execution finds it.
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

use mazurka_program::{AccessKind, Location, ProcessId};

use super::once::{Begun, COMPLETE, INCOMPLETE, POISONED, await_end, begin, is_complete};
use crate::runtime::identity::Object;
use crate::runtime::operation::{Operation, Step, Wait};
use crate::runtime::statics::Home;
use crate::runtime::{Whole, World, operate, with_world};
use mazurka_threads::values::Until;

/// What a check keeps in an object; for a static, in the copy of the execution.
///
/// Whoever runs the initialiser writes it; when that is complete, everybody reads it.
struct Slot<T> {
    home: Home,
    value: UnsafeCell<Option<T>>,
}

impl<T> Slot<T> {
    const fn new(value: Option<T>) -> Slot<T> {
        Slot { home: Home::new(), value: UnsafeCell::new(value) }
    }

    /// Where the value is in this execution.
    fn place(&self, location: Location) -> *mut Option<T> {
        self.home.data(location, self.value.get())
    }

    /// The value; none as long as there is none.
    ///
    /// # Safety
    /// The initialisation must be complete, and the lifetime must not outlast the execution.
    unsafe fn get(&self, location: Location) -> Option<&T> {
        // SAFETY: nobody writes it any more, by the contract; the place lives as long as the object and the execution do.
        unsafe { (*self.place(location)).as_ref() }
    }

    /// Where the value is, for the only owner of the object.
    fn get_mut(&mut self, object: &Object) -> &mut Option<T> {
        let location = with_world(|world| object.location(world.execution.stamp)).flatten();
        match location {
            // SAFETY: the object is borrowed alone, and with it its place.
            Some(location) => unsafe { &mut *self.place(location) },
            None => self.value.get_mut(),
        }
    }
}

/// Sets a value if there is none; waits for the end of an initialiser.
struct Set<T> {
    location: Location,
    place: *mut Option<T>,
    value: Option<T>,
}

impl<T> Operation for Set<T> {
    fn wait(&self) -> Wait {
        Wait::Guard { location: self.location, until: Until::AtLeast(INCOMPLETE) }
    }

    fn perform(&mut self, step: &mut Step<'_>) {
        let sets = step.peek(self.location) != COMPLETE;
        step.acquire(self.location);
        if sets {
            // SAFETY: nobody runs the initialiser, since the guard holds, and nobody has a reference, since it isn't
            // complete.
            unsafe { *self.place = self.value.take() };
            step.set(self.location, COMPLETE);
            step.release(self.location);
        } else {
            step.note(|| "there is a value".to_owned());
        }
        if step.world.search.foresee {
            step.touch(self.location, AccessKind::Update);
        } else {
            step.touch(self.location, if sets { AccessKind::Update } else { AccessKind::Read });
            step.varies();
        }
    }

    fn describe(&self, world: &World) -> String {
        format!("{}.set()", world.name_of_location(self.location))
    }

    fn waits_for(&self, world: &World) -> (String, Vec<ProcessId>) {
        super::once::initialised_by(world, self.location)
    }
}

/// As [`std::sync::OnceLock`]: a value that is set once.
///
/// In a static, each execution of a check begins without a value; at its end what the value owns leaks.
pub struct OnceLock<T> {
    object: Object,
    /// What it holds outside of a check.
    real: real::OnceLock<T>,
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
        OnceLock { object: Object::new(), real: real::OnceLock::new(), slot: Slot::new(None) }
    }

    fn location(&self) -> Option<Location> {
        with_world(|world| {
            world.locate(
                &self.object,
                || Whole::of(self),
                "OnceLock",
                || {
                    // SAFETY: this is the first use, so nobody writes it.
                    let full = unsafe { (*self.slot.value.get()).is_some() };
                    if full { COMPLETE } else { INCOMPLETE }
                },
            )
        })
    }

    fn outside(&self) -> &real::OnceLock<T> {
        self.object.use_outside();
        &self.real
    }

    /// The value, if it has been set.
    #[inline]
    #[track_caller]
    pub fn get(&self) -> Option<&T> {
        match self.location() {
            Some(location) if is_complete(location, Caller::caller()) => {
                // SAFETY: it is complete. The lifetime is that of the object: see the module for statics.
                unsafe { self.slot.get(location) }
            }
            Some(_) => None,
            None => self.outside().get(),
        }
    }

    /// The value, for its only owner.
    #[inline]
    pub fn get_mut(&mut self) -> Option<&mut T> {
        let OnceLock { object, real, slot } = self;
        slot.get_mut(object).as_mut().or_else(|| real.get_mut())
    }

    /// Waits until there is a value.
    #[track_caller]
    pub fn wait(&self) -> &T {
        match self.location() {
            Some(location) => {
                await_end(location, true, Caller::caller());
                self.complete(location)
            }
            None => self.outside().wait(),
        }
    }

    /// The value, when it is known to be there.
    fn complete(&self, location: Location) -> &T {
        // SAFETY: the caller has seen that it is complete. The lifetime is that of the object.
        let value = unsafe { self.slot.get(location) };
        value.expect("a complete OnceLock holds a value")
    }

    /// Sets the value if there is none.
    ///
    /// # Errors
    /// If there is one: what was to be set.
    #[inline]
    #[track_caller]
    pub fn set(&self, value: T) -> Result<(), T> {
        match self.location() {
            Some(location) => {
                let mut set = Set { location, place: self.slot.place(location), value: Some(value) };
                operate(&mut set, Caller::caller());
                set.value.map_or(Ok(()), Err)
            }
            None => self.outside().set(value),
        }
    }

    /// The value; made by the function if there is none. A panic of the function leaves it without a value.
    #[inline]
    #[track_caller]
    pub fn get_or_init<F>(&self, f: F) -> &T
    where
        F: FnOnce() -> T,
    {
        let Some(location) = self.location() else { return self.outside().get_or_init(f) };
        if let Begun::Running(running) = begin(location, true, INCOMPLETE, Caller::caller()) {
            let value = f();
            // SAFETY: it is up to us to initialise it, so that nobody reads or writes the place.
            unsafe { *self.slot.place(location) = Some(value) };
            running.complete();
        }
        self.complete(location)
    }

    /// The value, for its last owner.
    #[inline]
    pub fn into_inner(mut self) -> Option<T> {
        self.take()
    }

    /// Takes the value out: there is none any more.
    #[inline]
    pub fn take(&mut self) -> Option<T> {
        let OnceLock { object, real, slot } = self;
        let Some(value) = slot.get_mut(object).take() else { return real.take() };
        with_world(|world| {
            if let Some(location) = object.location(world.execution.stamp) {
                // Whoever is alone with the object has seen all that others did with it.
                let depth = world.execution.schedule.depth;
                world.execution.values.set(location, INCOMPLETE, depth);
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
        let mut debug = f.debug_tuple("OnceLock");
        match self.get() {
            Some(value) => debug.field(value),
            None => debug.field(&format_args!("<uninit>")),
        };
        debug.finish()
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
        if crate::runtime::world().is_some() {
            lock.slot = Slot::new(Some(value));
        } else {
            lock.real = real::OnceLock::from(value);
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
/// It is moved out by copying its bytes, which are left as they are: in a static they are a constant, of which every
/// execution has a copy, and there is another one for what is outside of checks. Of any other object, one copy is made.
struct Initialiser<F> {
    function: ManuallyDrop<F>,
    /// Whether it was moved out: in a check, of an object that is no static; or outside of a check.
    moved: AtomicBool,
    moved_outside: AtomicBool,
}

impl<F> Drop for Initialiser<F> {
    fn drop(&mut self) {
        if !*self.moved.get_mut() && !*self.moved_outside.get_mut() {
            // SAFETY: it was not moved out, and is not used again.
            unsafe { ManuallyDrop::drop(&mut self.function) };
        }
    }
}

impl<F> Initialiser<F> {
    /// # Safety
    /// Once in an execution, or once outside of any; of an object that is no static, once altogether.
    unsafe fn move_out(&self) -> F {
        // SAFETY: the bytes are never changed. For a static see above; else the caller vouches for it that this is the only
        // copy, and `drop` knows of it.
        unsafe { std::ptr::read(&*self.function) }
    }
}

/// As [`std::sync::LazyLock`]: a value that is made when it is needed first.
///
/// In a static, each execution of a check begins without a value; at its end what the value owns leaks.
pub struct LazyLock<T, F = fn() -> T> {
    object: Object,
    /// Whether there is a value outside of a check.
    once: real::Once,
    real: real::OnceLock<T>,
    slot: Slot<T>,
    initialiser: Initialiser<F>,
}

// SAFETY: as that of the standard library: any thread may call the function, once, and get the value, or drop it.
unsafe impl<T: Sync + Send, F: Send> Sync for LazyLock<T, F> {}

impl<T: RefUnwindSafe + UnwindSafe, F: UnwindSafe> RefUnwindSafe for LazyLock<T, F> {}
impl<T: UnwindSafe, F: UnwindSafe> UnwindSafe for LazyLock<T, F> {}

impl<T, F: FnOnce() -> T> LazyLock<T, F> {
    /// A new one, with the function that will make its value.
    #[inline]
    #[track_caller]
    pub const fn new(f: F) -> LazyLock<T, F> {
        LazyLock {
            object: Object::new(),
            once: real::Once::new(),
            real: real::OnceLock::new(),
            slot: Slot::new(None),
            initialiser: Initialiser {
                function: ManuallyDrop::new(f),
                moved: AtomicBool::new(false),
                moved_outside: AtomicBool::new(false),
            },
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
            Begun::Running(running) => {
                let place = this.slot.place(location);
                if std::ptr::eq(place, this.slot.value.get()) {
                    this.initialiser.moved.store(true, Ordering::Relaxed);
                }
                // SAFETY: it is up to us to initialise it, in this execution; and after that it is complete or poisoned.
                let function = unsafe { this.initialiser.move_out() };
                let value = function();
                // SAFETY: as above, so that nobody reads or writes the place.
                unsafe { *place = Some(value) };
                running.complete();
            }
        }
        // SAFETY: it is complete. The lifetime is that of the object: see the module for statics.
        let value = unsafe { this.slot.get(location) };
        value.expect("a complete LazyLock holds a value")
    }

    #[track_caller]
    fn force_outside(&self) -> &T {
        self.object.use_outside();
        self.once.call_once_force(|state| {
            if state.is_poisoned() {
                panic_poisoned();
            }
            self.initialiser.moved_outside.store(true, Ordering::Relaxed);
            // SAFETY: this is called once, since a second call panics above.
            let function = unsafe { self.initialiser.move_out() };
            let _ = self.real.set(function());
        });
        self.real.get().expect("a complete LazyLock holds a value")
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
        with_world(|world| world.locate(&self.object, || Whole::of(self), "LazyLock", || INCOMPLETE))
    }

    /// The value, if it has been made.
    #[inline]
    #[track_caller]
    pub fn get(this: &LazyLock<T, F>) -> Option<&T> {
        match this.location() {
            Some(location) if is_complete(location, Caller::caller()) => {
                // SAFETY: it is complete. The lifetime is that of the object.
                unsafe { this.slot.get(location) }
            }
            Some(_) => None,
            None => {
                this.object.use_outside();
                this.real.get()
            }
        }
    }

    /// The value, if it has been made, for the only owner of the lock.
    #[inline]
    pub fn get_mut(this: &mut LazyLock<T, F>) -> Option<&mut T> {
        let LazyLock { object, real, slot, .. } = this;
        slot.get_mut(object).as_mut().or_else(|| real.get_mut())
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
        let mut debug = f.debug_tuple("LazyLock");
        match LazyLock::get(self) {
            Some(value) => debug.field(value),
            None => debug.field(&format_args!("<uninit>")),
        };
        debug.finish()
    }
}
