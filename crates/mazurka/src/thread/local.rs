//! Thread-local variables: one a modelled thread, anew in each execution.
#![allow(unsafe_code)]

use std::cell::{Cell, RefCell};

use crate::runtime::{outside_runtime, with_runtime};
use crate::step::opaque_debug;

/// Declares thread-local variables, as [`std::thread_local`].
///
/// Within a check each modelled thread has its own, which is dropped when the thread ends: what its
/// destructor does are steps of the thread.
#[macro_export]
macro_rules! thread_local {
    () => {};
    ($(#[$attribute:meta])* $visibility:vis static $name:ident: $type:ty = const $init:block $(; $($rest:tt)*)?) => {
        $crate::thread_local!(@key [$(#[$attribute])*] [$visibility] $name, $type, const $init, $init);
        $($crate::thread_local!($($rest)*);)?
    };
    ($(#[$attribute:meta])* $visibility:vis static $name:ident: $type:ty = $init:expr $(; $($rest:tt)*)?) => {
        $crate::thread_local!(@key [$(#[$attribute])*] [$visibility] $name, $type, $init, $init);
        $($crate::thread_local!($($rest)*);)?
    };
    (@key [$($attribute:tt)*] [$visibility:vis] $name:ident, $type:ty, $std:expr, $init:expr) => {
        $($attribute)*
        $visibility static $name: $crate::thread::LocalKey<$type> = {
            ::std::thread_local!(static OUTSIDE: $type = $std);
            fn init() -> $type {
                $init
            }
            $crate::thread::LocalKey::__new(init, &OUTSIDE)
        };
    };
}

/// A thread-local variable, as [`std::thread::LocalKey`].
pub struct LocalKey<T: 'static> {
    init: fn() -> T,
    outside: &'static std::thread::LocalKey<T>,
}

pub use std::thread::AccessError;

impl<T: 'static> LocalKey<T> {
    #[doc(hidden)]
    pub const fn __new(init: fn() -> T, outside: &'static std::thread::LocalKey<T>) -> LocalKey<T> {
        LocalKey { init, outside }
    }

    fn key(&'static self) -> usize {
        std::ptr::from_ref(self) as usize
    }

    /// The variable of the running modelled thread. None if it has been dropped.
    fn find(&'static self) -> Option<*const T> {
        let key = self.key();
        let known = with_runtime(|runtime| {
            let locals = &runtime.process(runtime.running()).locals;
            let known = locals.iter().find(|local| local.0 == key)?;
            Some(known.1.as_ref().and_then(|value| value.downcast_ref::<T>()).map(std::ptr::from_ref))
        });
        if let Some(found) = known.flatten() {
            return found;
        }
        // The initialiser may do anything, even use this variable.
        let value = Box::new((self.init)());
        let address: *const T = &raw const *value;
        with_runtime(|runtime| {
            let me = runtime.running();
            runtime.process_mut(me).locals.push((key, Some(value)));
        });
        Some(address)
    }

    /// Does something with the variable.
    ///
    /// # Panics
    /// If it has been dropped: its thread is ending.
    pub fn with<R>(&'static self, f: impl FnOnce(&T) -> R) -> R {
        self.try_with(f).expect("cannot access a Thread Local Storage value during or after destruction")
    }

    /// Does something with the variable.
    ///
    /// # Errors
    /// If it has been dropped: its thread is ending.
    pub fn try_with<R>(&'static self, f: impl FnOnce(&T) -> R) -> Result<R, AccessError> {
        if !crate::runtime::in_check() {
            return self.outside.try_with(f);
        }
        match self.find() {
            // SAFETY: the value is in a box of its own which stays in the thread's list until the thread's
            // end, and is taken out of it before it is dropped: who finds it can use it until `f` returns.
            Some(value) => Ok(f(unsafe { &*value })),
            None => gone(),
        }
    }
}

/// The error of a variable that has been dropped. Only the standard library can make one.
fn gone<R>() -> Result<R, AccessError> {
    static ERROR: std::sync::OnceLock<AccessError> = std::sync::OnceLock::new();
    let make = || {
        std::thread_local!(static PROBE: Probe = const { Probe });
        struct Probe;
        impl Drop for Probe {
            fn drop(&mut self) {
                let error = PROBE.try_with(|_| ()).expect_err("its own destructor runs");
                FOUND.lock().unwrap_or_else(std::sync::PoisonError::into_inner).replace(error);
            }
        }
        static FOUND: std::sync::Mutex<Option<AccessError>> = std::sync::Mutex::new(None);
        let _ = std::thread::spawn(|| PROBE.with(|_| ())).join();
        FOUND
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .take()
            .expect("the probe has been dropped")
    };
    // What is allocated for it, in the first execution that needs it, has no part in names.
    Err(*outside_runtime(|| ERROR.get_or_init(make)))
}

impl<T: 'static> LocalKey<Cell<T>> {
    /// Sets the variable.
    pub fn set(&'static self, value: T) {
        self.with(|cell| cell.set(value));
    }

    /// The variable.
    pub fn get(&'static self) -> T
    where
        T: Copy,
    {
        self.with(Cell::get)
    }

    /// Takes the value, leaving the default.
    pub fn take(&'static self) -> T
    where
        T: Default,
    {
        self.with(Cell::take)
    }

    /// Sets the variable and gives the value before.
    pub fn replace(&'static self, value: T) -> T {
        self.with(|cell| cell.replace(value))
    }
}

impl<T: 'static> LocalKey<RefCell<T>> {
    /// Does something with the value.
    pub fn with_borrow<R>(&'static self, f: impl FnOnce(&T) -> R) -> R {
        self.with(|cell| f(&cell.borrow()))
    }

    /// Changes the value.
    pub fn with_borrow_mut<R>(&'static self, f: impl FnOnce(&mut T) -> R) -> R {
        self.with(|cell| f(&mut cell.borrow_mut()))
    }

    /// Sets the value.
    pub fn set(&'static self, value: T) {
        self.with(|cell| *cell.borrow_mut() = value);
    }

    /// Takes the value, leaving the default.
    pub fn take(&'static self) -> T
    where
        T: Default,
    {
        self.with(RefCell::take)
    }

    /// Sets the value and gives the one before.
    pub fn replace(&'static self, value: T) -> T {
        self.with(|cell| cell.replace(value))
    }
}

opaque_debug!(LocalKey<T>;);
