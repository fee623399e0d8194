//! What the processes of a check share among themselves: locked without the cost of a lock.
//!
//! All processes of a check run on one thread of the operating system, one at a time, so a mutex of the
//! standard library would only cost time. But the types that users see may be sent to other threads; these
//! are kept out.
#![allow(unsafe_code)]

use std::cell::{Cell, UnsafeCell};
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::panic::{RefUnwindSafe, UnwindSafe};

thread_local! {
    /// Its address tells the threads apart that live at one time.
    static HERE: u8 = const { 0 };
}

#[inline]
fn this_thread() -> usize {
    HERE.with(|here| std::ptr::from_ref(here) as usize)
}

/// A value that only the thread reaches on which it was made, and there only one at a time.
pub(crate) struct Confined<T> {
    thread: usize,
    taken: Cell<bool>,
    value: UnsafeCell<T>,
}

// SAFETY: `taken` and the value are looked at only on the thread that `thread` says, and no two threads that
// live at one time have the same number. When the value is dropped, or used by a later thread with that
// number, nobody else uses it.
unsafe impl<T: Send> Send for Confined<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Confined<T> {}

// Who panics while he has it gives it back.
impl<T> UnwindSafe for Confined<T> {}
impl<T> RefUnwindSafe for Confined<T> {}

impl<T> Confined<T> {
    pub(crate) fn new(value: T) -> Confined<T> {
        Confined { thread: this_thread(), taken: Cell::new(false), value: UnsafeCell::new(value) }
    }

    /// The value; none on another thread, or while somebody has it.
    #[inline]
    pub(crate) fn try_lock(&self) -> Option<ConfinedGuard<'_, T>> {
        (self.thread == this_thread() && !self.taken.replace(true))
            .then(|| ConfinedGuard { confined: self, not_send: PhantomData })
    }

    /// The value.
    ///
    /// # Panics
    /// On another thread, or while somebody has it.
    #[inline]
    pub(crate) fn lock(&self) -> ConfinedGuard<'_, T> {
        match self.try_lock() {
            Some(taken) => taken,
            None => panic!("mazurka: something that belongs to a check is in use, or was used outside of it"),
        }
    }
}

/// Has a value to itself until it is dropped.
pub(crate) struct ConfinedGuard<'a, T> {
    confined: &'a Confined<T>,
    /// It stays on its thread.
    not_send: PhantomData<*const ()>,
}

impl<T> Deref for ConfinedGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: while this lives, and it stays on its thread, nobody else gets at the value.
        unsafe { &*self.confined.value.get() }
    }
}

impl<T> DerefMut for ConfinedGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above.
        unsafe { &mut *self.confined.value.get() }
    }
}

impl<T> Drop for ConfinedGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.confined.taken.set(false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_at_a_time_and_on_one_thread() {
        let confined = Confined::new(1);
        let mut first = confined.lock();
        assert!(confined.try_lock().is_none());
        *first += 1;
        drop(first);
        assert_eq!(confined.try_lock().map(|value| *value), Some(2));
        std::thread::scope(|scope| {
            scope.spawn(|| assert!(confined.try_lock().is_none()));
        });
    }
}
