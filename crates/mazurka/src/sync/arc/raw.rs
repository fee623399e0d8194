//! Handles as raw pointers, and as wakers.
//!
//! A pointer says nothing of the handle that it was: the runtime keeps that for who makes a handle of one
//! again (see [`crate::runtime::arcs`]).
#![allow(unsafe_code)]

use std::any::type_name;
use std::mem::ManuallyDrop;
use std::panic::Location as Caller;
use std::sync as real;
use std::task::{RawWaker, RawWakerVTable, Wake, Waker};

use mazurka_program::Location;

use super::{Arc, Handle, Weak};
use crate::runtime::arcs::Deed;
use crate::runtime::{stop_here, with_runtime};
use crate::step::CallSite;

impl Handle {
    /// The handle, of a type, becomes a raw pointer.
    fn keep<T: ?Sized>(self, name: &'static str, place: CallSite) {
        if self.act(Deed::Keep, name, place, &mut |_| ()).is_none() {
            with_runtime(|runtime| runtime.note_raw_type(self.address, type_name::<T>()));
        }
    }
}

/// A raw pointer becomes a handle of a type: its location, if it is followed.
fn take<T: ?Sized>(address: usize, strong: bool, name: &'static str, place: CallSite) -> Option<Location> {
    if let Some(root) = with_runtime(|runtime| runtime.root_of(address)).flatten() {
        let first = Handle { address, location: Some(root) };
        return first.act(Deed::Take { strong }, name, place, &mut |_| ())?.made;
    }
    if !strong || with_runtime(|runtime| runtime.follows(type_name::<T>())) != Some(true) {
        return None;
    }
    // It was a handle of another type, of which others may be about: they have to be followed, too.
    let news = with_runtime(|runtime| {
        let other = runtime.raw_type(address).filter(|other| !runtime.follows(other));
        other.into_iter().for_each(|other| runtime.discover_arc(other));
        other.is_some()
    });
    if news == Some(true) && !std::thread::panicking() {
        stop_here();
    }
    with_runtime(|runtime| runtime.first_handle(address, place))
}

/// Where the first handle of what lives at an address was made, for operations whose caller can't be told.
fn where_first_made(address: usize) -> CallSite {
    let made = with_runtime(|runtime| runtime.where_made(address, runtime.root_of(address)?)).flatten();
    made.unwrap_or(Caller::caller())
}

impl<T: ?Sized> Arc<T> {
    /// A pointer to the value, which is to become a handle again by [`Arc::from_raw`].
    #[must_use = "losing the pointer will leak memory"]
    #[track_caller]
    pub fn into_raw(this: Arc<T>) -> *const T {
        this.handle().keep::<T>("Arc::into_raw", Caller::caller());
        real::Arc::into_raw(this.into_real())
    }

    /// The handle that a pointer was.
    ///
    /// # Safety
    /// As of [`std::sync::Arc::from_raw`]; the pointer is one that [`Arc::into_raw`] gave, or that of the
    /// standard library.
    #[track_caller]
    pub unsafe fn from_raw(pointer: *const T) -> Arc<T> {
        // SAFETY: the caller vouches for it.
        unsafe { Arc::from_raw_at(pointer, "Arc::from_raw", Caller::caller()) }
    }

    unsafe fn from_raw_at(pointer: *const T, name: &'static str, place: CallSite) -> Arc<T> {
        // SAFETY: the caller vouches for it.
        let real = ManuallyDrop::new(unsafe { real::Arc::from_raw(pointer) });
        Arc { handle: take::<T>(pointer.cast::<()>() as usize, true, name, place), real }
    }

    /// Makes one handle more, as a pointer.
    ///
    /// # Safety
    /// As of [`Arc::from_raw`], and there must be a handle as long as this is done.
    #[track_caller]
    pub unsafe fn increment_strong_count(pointer: *const T) {
        // SAFETY: the caller vouches for it.
        unsafe { Arc::increment_at(pointer, "Arc::increment_strong_count", Caller::caller()) };
    }

    unsafe fn increment_at(pointer: *const T, name: &'static str, place: CallSite) {
        let address = pointer.cast::<()>() as usize;
        // SAFETY: the caller vouches for it.
        let really = &mut |_| unsafe { real::Arc::increment_strong_count(pointer) };
        let root = with_runtime(|runtime| runtime.root_of(address)).flatten();
        if (Handle { address, location: root }).act(Deed::KeepAnother, name, place, really).is_none() {
            really(true);
            with_runtime(|runtime| runtime.note_raw_type(address, type_name::<T>()));
        }
    }

    /// Drops the handle that a pointer was.
    ///
    /// # Safety
    /// As of [`Arc::from_raw`].
    #[track_caller]
    pub unsafe fn decrement_strong_count(pointer: *const T) {
        // SAFETY: the caller vouches for it.
        drop(unsafe { Arc::from_raw_at(pointer, "Arc::decrement_strong_count", Caller::caller()) });
    }
}

impl<T: ?Sized> Weak<T> {
    /// A pointer to the value, if it is there, which is to become a handle again by [`Weak::from_raw`].
    #[must_use = "losing the pointer will leak memory"]
    #[track_caller]
    pub fn into_raw(self) -> *const T {
        if !self.is_handle_of_nothing() {
            self.handle().keep::<T>("Weak::into_raw", Caller::caller());
        }
        let this = ManuallyDrop::new(self);
        // SAFETY: `this` is not used again and not dropped.
        unsafe { std::ptr::read(&this.real) }.into_raw()
    }
}

impl<T: ?Sized> Weak<T> {
    /// The handle that a pointer was.
    ///
    /// # Safety
    /// As of [`std::sync::Weak::from_raw`]; the pointer is one that [`Weak::into_raw`] gave, or that of the
    /// standard library.
    #[track_caller]
    pub unsafe fn from_raw(pointer: *const T) -> Weak<T> {
        // SAFETY: the caller vouches for it.
        let mut weak = Weak { real: unsafe { real::Weak::from_raw(pointer) }, handle: None };
        if !weak.is_handle_of_nothing() {
            let place = Caller::caller();
            weak.handle = take::<T>(pointer.cast::<()>() as usize, false, "Weak::from_raw", place);
        }
        weak
    }
}

/// A waker that is a handle: its clones are clones of it. What is woken is given an `Arc` of the standard
/// library's, as [`Wake`] has it.
impl<W: Wake + Send + Sync + 'static> From<Arc<W>> for Waker {
    #[track_caller]
    fn from(arc: Arc<W>) -> Waker {
        // SAFETY: the functions do what they are to do, for a pointer that `Arc::into_raw` gave; and `W` may
        // be sent and shared.
        unsafe { Waker::from_raw(RawWaker::from(arc)) }
    }
}

impl<W: Wake + Send + Sync + 'static> From<Arc<W>> for RawWaker {
    #[track_caller]
    fn from(arc: Arc<W>) -> RawWaker {
        RawWaker::new(Arc::into_raw(arc).cast(), vtable::<W>())
    }
}

fn vtable<W: Wake + Send + Sync + 'static>() -> &'static RawWakerVTable {
    /// # Safety
    /// As for all of them: the pointer is a handle that is one.
    unsafe fn clone<W: Wake + Send + Sync + 'static>(pointer: *const ()) -> RawWaker {
        // SAFETY: the pointer is a handle, which lives.
        unsafe {
            Arc::increment_at(pointer.cast::<W>(), "clone a waker", where_first_made(pointer as usize))
        };
        RawWaker::new(pointer, vtable::<W>())
    }
    unsafe fn wake<W: Wake + Send + Sync + 'static>(pointer: *const ()) {
        let place = where_first_made(pointer as usize);
        // SAFETY: the pointer is a handle, which is used up.
        let arc = unsafe { Arc::from_raw_at(pointer.cast::<W>(), "wake by a waker", place) };
        W::wake(real::Arc::clone(&arc.real));
    }
    unsafe fn wake_by_ref<W: Wake + Send + Sync + 'static>(pointer: *const ()) {
        // SAFETY: the pointer is a handle, which is not dropped here.
        let real = ManuallyDrop::new(unsafe { real::Arc::from_raw(pointer.cast::<W>()) });
        W::wake_by_ref(&real);
    }
    unsafe fn drop<W: Wake + Send + Sync + 'static>(pointer: *const ()) {
        let place = where_first_made(pointer as usize);
        // SAFETY: the pointer is a handle, which is used up.
        std::mem::drop(unsafe { Arc::from_raw_at(pointer.cast::<W>(), "drop a waker", place) });
    }
    const { &RawWakerVTable::new(clone::<W>, wake::<W>, wake_by_ref::<W>, drop::<W>) }
}
