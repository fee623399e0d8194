//! Cells whose accesses are watched for data races, as [`std::cell::UnsafeCell`].
//!
//! ```
//! use mazurka::cell::UnsafeCell;
//!
//! let cell = UnsafeCell::new(1);
//! // SAFETY: nobody else has the cell.
//! cell.with_mut(|value| unsafe { *value += 1 });
//! assert_eq!(cell.with(|value| unsafe { *value }), 2);
//! ```
//! Two accesses of which one is a write, and which no synchronisation orders, are a failure of kind
//! `data-race`. Tell reads and writes apart by [`with`](UnsafeCell::with) and
//! [`with_mut`](UnsafeCell::with_mut): [`get`](UnsafeCell::get) can't know what becomes of its pointer, and
//! counts as a read.
//!
//! The other cells of [`std::cell`] belong to one thread, and are those of the standard library.

pub use std::cell::{BorrowError, BorrowMutError, Cell, LazyCell, OnceCell, Ref, RefCell, RefMut};
use std::fmt;
use std::panic::Location as Caller;

use crate::runtime::identity::Object;
use crate::runtime::{Whole, stop_here, with_runtime};
use crate::step::CallSite;

/// As [`std::cell::UnsafeCell`], with data race detection within a check.
///
/// A static one does not begin anew in each execution: only its owner knows how.
pub struct UnsafeCell<T: ?Sized> {
    object: Object,
    value: std::cell::UnsafeCell<T>,
}

impl<T> UnsafeCell<T> {
    /// A new cell.
    #[track_caller]
    pub const fn new(value: T) -> UnsafeCell<T> {
        UnsafeCell { object: Object::new(), value: std::cell::UnsafeCell::new(value) }
    }

    /// The value, of a cell that need not be there yet: no access is noted.
    pub const fn raw_get(this: *const UnsafeCell<T>) -> *mut T {
        let value = std::mem::offset_of!(UnsafeCell<T>, value);
        this.wrapping_byte_add(value).cast::<T>().cast_mut()
    }

    /// The value, for its last owner.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T: ?Sized> UnsafeCell<T> {
    /// Notes an access.
    fn access(&self, write: bool, place: CallSite) {
        let watched = with_runtime(|runtime| {
            if !runtime.watches_cells() {
                runtime.discover_cells();
                return false;
            }
            let cell = runtime.locate(&self.object, || Whole::of(self), "UnsafeCell", || 0);
            runtime.access_cell(cell, write, place);
            true
        });
        if watched == Some(false) && !std::thread::panicking() {
            stop_here();
        }
    }

    /// The value. The pointer may be read through; what is done with it later is not seen.
    #[track_caller]
    pub fn get(&self) -> *mut T {
        self.access(false, Caller::caller());
        self.value.get()
    }

    /// The value, for its only owner.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }

    /// Reads the value: the pointer must not be used after `f`, nor written through.
    #[track_caller]
    pub fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
        let place = Caller::caller();
        self.access(false, place);
        let result = f(self.value.get());
        self.access(false, place);
        result
    }

    /// Reads and writes the value: the pointer must not be used after `f`.
    #[track_caller]
    pub fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        let place = Caller::caller();
        self.access(true, place);
        let result = f(self.value.get());
        self.access(true, place);
        result
    }
}

impl<T: Default> Default for UnsafeCell<T> {
    #[track_caller]
    fn default() -> UnsafeCell<T> {
        UnsafeCell::new(T::default())
    }
}

impl<T> From<T> for UnsafeCell<T> {
    #[track_caller]
    fn from(value: T) -> UnsafeCell<T> {
        UnsafeCell::new(value)
    }
}

impl<T: ?Sized> fmt::Debug for UnsafeCell<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UnsafeCell").finish_non_exhaustive()
    }
}
