//! Shared ownership, as [`std::sync::Arc`].
//!
//! Clones and drops are steps only if they matter: if somewhere in the check somebody looks at the count of
//! an `Arc` of that type (`strong_count`, `get_mut`, `try_unwrap`, `upgrade`, ...), or if the drop of the
//! value, by whoever comes last, does operations of its own. The first time it shows, the search begins again
//! with clones and drops of that type as steps. Otherwise nothing that a thread can observe depends on their
//! order.

mod convert;
mod raw;
mod traits;

use std::mem::ManuallyDrop;
use std::panic::{Location as Caller, RefUnwindSafe, UnwindSafe};
use std::pin::Pin;
use std::sync as real;

use mazurka_program::Location;

use crate::runtime::arcs::{Act, Deed};
use crate::runtime::{leaks, operate, with_runtime};
use crate::step::CallSite;

/// As [`std::sync::Arc`]. An `Arc` of an unsized type is made from one of the standard library's:
/// `Arc::from_std(std::sync::Arc::new(value) as std::sync::Arc<dyn Trait>)`.
pub struct Arc<T: ?Sized> {
    real: ManuallyDrop<real::Arc<T>>,
    /// The location of this handle, if it is followed.
    handle: Option<Location>,
}

/// As [`std::sync::Weak`].
pub struct Weak<T: ?Sized> {
    real: real::Weak<T>,
    handle: Option<Location>,
}

impl<T: ?Sized> UnwindSafe for Arc<T> where T: RefUnwindSafe {}

fn address<T: ?Sized>(arc: &real::Arc<T>) -> usize {
    real::Arc::as_ptr(arc).cast::<()>() as usize
}

/// A handle, which may be followed, is about to be dropped.
#[inline]
fn leave_if_last<T: ?Sized>(arc: &real::Arc<T>, followed: bool) {
    if real::Arc::strong_count(arc) == 1 {
        leaks::dies(address(arc));
        if followed {
            with_runtime(|runtime| runtime.forget_if_dead(address(arc)));
        }
    }
}

/// A handle of a value that nobody else has, if handles of the type are followed.
#[inline]
#[track_caller]
fn only_handle<T: ?Sized>(real: &real::Arc<T>) -> Option<Location> {
    let (address, place) = (address(real), Caller::caller());
    with_runtime(|runtime| {
        if runtime.follows(std::any::type_name::<T>()) {
            return Some(runtime.first_handle(address, place));
        }
        runtime.forget_before(address);
        None
    })
    .flatten()
}

/// A handle that the standard library has had, if handles of the type are followed.
#[track_caller]
fn first_handle<T: ?Sized>(real: &real::Arc<T>) -> Option<Location> {
    let (address, place) = (address(real), Caller::caller());
    let handle = with_runtime(|runtime| {
        runtime.follows(std::any::type_name::<T>()).then(|| match runtime.root_of(address) {
            Some(root) => (root, false),
            None => (runtime.first_handle(address, place), true),
        })
    })
    .flatten();
    match handle? {
        (first, true) => Some(first),
        // There are or were handles that are followed beside this one.
        (root, false) => Handle { address, location: Some(root) }.ask(Deed::Adopt, "Arc::from_std")?.made,
    }
}

/// What a step with a handle came to.
struct ActResult {
    made: Option<Location>,
    yes: bool,
    counts: (usize, usize),
}

/// A handle as the runtime knows it.
#[derive(Clone, Copy)]
struct Handle {
    /// Of what it is a handle of.
    address: usize,
    /// None if it is not followed.
    location: Option<Location>,
}

impl Handle {
    /// Does something with the handle; none if it is not followed. `really` is given the answer and does it
    /// to the real one, as part of the step.
    fn act(
        self,
        deed: Deed,
        name: &'static str,
        place: CallSite,
        really: &mut dyn FnMut(bool),
    ) -> Option<ActResult> {
        let Handle { address, location } = self;
        let mut act =
            Act { address, handle: location?, deed, name, made: None, yes: false, counts: (0, 0), really };
        operate(&mut act, place);
        Some(ActResult { made: act.made, yes: act.yes, counts: act.counts })
    }

    /// Does something with the handle that leaves the real one as it is.
    #[track_caller]
    fn ask(self, deed: Deed, name: &'static str) -> Option<ActResult> {
        self.act(deed, name, Caller::caller(), &mut |_| ())
    }

    /// The handle is dropped. The place of that is where it was made.
    fn release(self, name: &'static str, really: &mut dyn FnMut(bool)) {
        let made = with_runtime(|runtime| runtime.where_made(self.address, self.location?)).flatten();
        self.act(Deed::Drop, name, made.unwrap_or(Caller::caller()), really);
    }
}

/// Somebody looks at the count of an `Arc`: from now on those of its type are followed.
fn look<T: ?Sized>(handle: Option<Location>) {
    if handle.is_none() {
        let name = std::any::type_name::<T>();
        let news = with_runtime(|runtime| {
            let news = !runtime.follows(name);
            if news {
                runtime.discover_arc(name);
            }
            news
        });
        if news == Some(true) && !std::thread::panicking() {
            crate::runtime::stop_here();
        }
    }
}

impl<T> Arc<T> {
    /// Shares a value.
    #[inline]
    #[track_caller]
    pub fn new(value: T) -> Arc<T> {
        Arc::only(real::Arc::new(value))
    }

    /// Shares a value that is never moved again.
    #[track_caller]
    pub fn pin(value: T) -> Pin<Arc<T>> {
        #[allow(unsafe_code)]
        // SAFETY: the value is on the heap and stays there until it is dropped; nothing of ours gives it
        // away, since `into_inner`, `try_unwrap` and `get_mut` need the `Arc` itself.
        unsafe {
            Pin::new_unchecked(Arc::new(value))
        }
    }

    /// A value that contains a weak handle of itself.
    #[track_caller]
    pub fn new_cyclic(value: impl FnOnce(&Weak<T>) -> T) -> Arc<T> {
        let place = Caller::caller();
        let mut handle = None;
        let real = real::Arc::new_cyclic(|weak: &real::Weak<T>| {
            let address = weak.as_ptr().cast::<()>() as usize;
            handle = with_runtime(|runtime| {
                runtime.follows(std::any::type_name::<T>()).then(|| runtime.unborn_handle(address, place))
            })
            .flatten();
            let clone = Deed::Clone { strong: false };
            let done = Handle { address, location: handle }.act(clone, "Arc::new_cyclic", place, &mut |_| ());
            value(&Weak { real: weak.clone(), handle: done.and_then(|done| done.made) })
        });
        leaks::born(address(&real), std::any::type_name::<T>(), place);
        let arc = Arc { real: ManuallyDrop::new(real), handle };
        arc.handle().ask(Deed::Complete, "Arc::new_cyclic");
        arc
    }

    /// The value, if this is the only strong handle; the handle as an error, if it is not.
    #[track_caller]
    pub fn try_unwrap(this: Arc<T>) -> Result<T, Arc<T>> {
        look::<T>(this.handle);
        match this.handle().ask(Deed::Unwrap, "Arc::try_unwrap") {
            Some(done) if !done.yes => Err(this),
            _ => {
                leave_if_last(&this.real, this.handle.is_some());
                real::Arc::try_unwrap(this.into_real()).map_err(Arc::from_std)
            }
        }
    }

    /// The value, if this is the last strong handle.
    #[track_caller]
    pub fn into_inner(this: Arc<T>) -> Option<T> {
        look::<T>(this.handle);
        let handle = this.handle();
        let mut real = Some(this.into_real());
        let release = &mut |last: bool| {
            if !last {
                real = None
            }
        };
        handle.act(Deed::Drop, "Arc::into_inner", Caller::caller(), release);
        real.iter().for_each(|real| leave_if_last(real, handle.location.is_some()));
        real.and_then(real::Arc::into_inner)
    }

    /// The value, or a clone of it if there are other handles.
    #[track_caller]
    pub fn unwrap_or_clone(this: Arc<T>) -> T
    where
        T: Clone,
    {
        Arc::try_unwrap(this).unwrap_or_else(|arc| (*arc).clone())
    }
}

impl<T: ?Sized> Arc<T> {
    /// Takes over an `Arc` of the standard library's that was made a moment ago.
    #[inline]
    #[track_caller]
    fn only(real: real::Arc<T>) -> Arc<T> {
        let handle = only_handle(&real);
        leaks::born(address(&real), std::any::type_name::<T>(), Caller::caller());
        Arc { real: ManuallyDrop::new(real), handle }
    }

    /// Takes over an `Arc` of the standard library's.
    #[inline]
    #[track_caller]
    pub fn from_std(real: real::Arc<T>) -> Arc<T> {
        let handle = first_handle(&real);
        if real::Arc::strong_count(&real) == 1 {
            leaks::born(address(&real), std::any::type_name::<T>(), Caller::caller());
        }
        Arc { real: ManuallyDrop::new(real), handle }
    }

    fn into_real(self) -> real::Arc<T> {
        let mut this = ManuallyDrop::new(self);
        #[allow(unsafe_code)]
        // SAFETY: `this` is not used again and not dropped.
        unsafe {
            ManuallyDrop::take(&mut this.real)
        }
    }

    #[inline]
    fn handle(&self) -> Handle {
        Handle { address: address(&self.real), location: self.handle }
    }

    /// A pointer to the value.
    pub fn as_ptr(this: &Arc<T>) -> *const T {
        real::Arc::as_ptr(&this.real)
    }

    /// Whether two are handles of one value.
    pub fn ptr_eq(this: &Arc<T>, other: &Arc<T>) -> bool {
        real::Arc::ptr_eq(&this.real, &other.real)
    }

    /// How many strong handles there are.
    #[track_caller]
    pub fn strong_count(this: &Arc<T>) -> usize {
        look::<T>(this.handle);
        let done = this.handle().ask(Deed::Count, "Arc::strong_count");
        done.map_or_else(|| real::Arc::strong_count(&this.real), |done| done.counts.0)
    }

    /// How many weak handles there are.
    #[track_caller]
    pub fn weak_count(this: &Arc<T>) -> usize {
        look::<T>(this.handle);
        let done = this.handle().ask(Deed::Count, "Arc::weak_count");
        done.map_or_else(|| real::Arc::weak_count(&this.real), |done| done.counts.1)
    }

    /// A weak handle.
    #[track_caller]
    pub fn downgrade(this: &Arc<T>) -> Weak<T> {
        let mut weak = None;
        let really = &mut |_| weak = Some(real::Arc::downgrade(&this.real));
        let deed = Deed::Clone { strong: false };
        let done = this.handle().act(deed, "Arc::downgrade", Caller::caller(), really);
        let real = weak.unwrap_or_else(|| real::Arc::downgrade(&this.real));
        Weak { real, handle: done.and_then(|done| done.made) }
    }

    /// The value, if there is no other handle of any kind.
    #[track_caller]
    pub fn get_mut(this: &mut Arc<T>) -> Option<&mut T> {
        look::<T>(this.handle);
        match this.handle().ask(Deed::Unique, "Arc::get_mut") {
            Some(done) if !done.yes => None,
            _ => real::Arc::get_mut(&mut this.real),
        }
    }
}

impl<T: Clone> Arc<T> {
    /// The value, cloned first if there are other handles.
    #[track_caller]
    pub fn make_mut(this: &mut Arc<T>) -> &mut T {
        if Arc::get_mut(this).is_none() {
            *this = Arc::new((**this).clone());
        }
        real::Arc::make_mut(&mut this.real)
    }
}

impl<T: ?Sized> Clone for Arc<T> {
    #[inline]
    #[track_caller]
    fn clone(&self) -> Arc<T> {
        if self.handle.is_none() {
            return Arc { real: self.real.clone(), handle: None };
        }
        let mut clone = None;
        let really = &mut |_| clone = Some(self.real.clone());
        let deed = Deed::Clone { strong: true };
        let done = self.handle().act(deed, "Arc::clone", Caller::caller(), really);
        let real = clone.unwrap_or_else(|| self.real.clone());
        Arc { real, handle: done.and_then(|done| done.made) }
    }
}

impl<T: ?Sized> Drop for Arc<T> {
    #[inline]
    fn drop(&mut self) {
        if self.handle.is_some() {
            return self.drop_followed();
        }
        leave_if_last(&self.real, false);
        let before = if std::mem::needs_drop::<T>() {
            with_runtime(|runtime| runtime.execution.operations)
        } else {
            None
        };
        #[allow(unsafe_code)]
        // SAFETY: it is not used again.
        unsafe {
            ManuallyDrop::drop(&mut self.real);
        }
        if let Some(before) = before {
            drop_watched(before, std::any::type_name::<T>());
        }
    }
}

impl<T: ?Sized> Arc<T> {
    /// Drops a handle that is followed. If it is not the last, the real one goes in the step itself.
    fn drop_followed(&mut self) {
        let handle = self.handle();
        let mut gone = false;
        let real = &mut self.real;
        let mut release = || {
            if !std::mem::replace(&mut gone, true) {
                leave_if_last(real, true);
                #[allow(unsafe_code)]
                // SAFETY: it is not used again, and `gone` says that it was dropped.
                unsafe {
                    ManuallyDrop::drop(real);
                }
            }
        };
        let really = &mut |last: bool| {
            if !last {
                release()
            }
        };
        handle.release("drop an Arc", really);
        release();
    }
}

/// The value of an `Arc` that is not followed may have been dropped here. If that did operations, it matters
/// who did it.
#[cold]
fn drop_watched(before: u64, name: &'static str) {
    with_runtime(|runtime| {
        if runtime.execution.operations != before {
            runtime.discover_arc(name);
        }
    });
}

impl<T> Weak<T> {
    /// A handle of nothing.
    pub const fn new() -> Weak<T> {
        Weak { real: real::Weak::new(), handle: None }
    }
}

impl<T: ?Sized> Weak<T> {
    fn handle(&self) -> Handle {
        Handle { address: self.real.as_ptr().cast::<()>() as usize, location: self.handle }
    }

    /// Somebody looks whether there are strong handles, or how many. That there are none now says nothing: in
    /// another order of steps there may be some. Only what [`Weak::new`] gives never has any.
    fn look(&self) {
        if !self.is_handle_of_nothing() {
            look::<T>(self.handle);
        }
    }

    fn is_handle_of_nothing(&self) -> bool {
        self.handle().address == usize::MAX
    }

    /// A strong handle, if there is one still.
    #[track_caller]
    pub fn upgrade(&self) -> Option<Arc<T>> {
        self.look();
        let mut upgraded = None;
        let really = &mut |yes: bool| upgraded = if yes { self.real.upgrade() } else { None };
        let done = self.handle().act(Deed::Upgrade, "Weak::upgrade", Caller::caller(), really);
        let (real, handle) = match done {
            Some(done) => (upgraded?, done.made),
            None => (self.real.upgrade()?, None),
        };
        Some(Arc { real: ManuallyDrop::new(real), handle })
    }

    /// How many strong handles there are.
    #[track_caller]
    pub fn strong_count(&self) -> usize {
        self.look();
        let done = self.handle().ask(Deed::Count, "Weak::strong_count");
        done.map_or_else(|| self.real.strong_count(), |done| done.counts.0)
    }

    /// How many weak handles there are.
    #[track_caller]
    pub fn weak_count(&self) -> usize {
        self.look();
        let count = |ActResult { counts: (strong, weak), .. }| if strong == 0 { 0 } else { weak };
        let done = self.handle().ask(Deed::Count, "Weak::weak_count");
        done.map_or_else(|| self.real.weak_count(), count)
    }

    /// Whether two are handles of one value.
    pub fn ptr_eq(&self, other: &Weak<T>) -> bool {
        self.real.ptr_eq(&other.real)
    }

    /// A pointer to the value, if it is there.
    pub fn as_ptr(&self) -> *const T {
        self.real.as_ptr()
    }
}

impl<T: ?Sized> Clone for Weak<T> {
    #[track_caller]
    fn clone(&self) -> Weak<T> {
        let done = self.handle().ask(Deed::Clone { strong: false }, "Weak::clone");
        Weak { real: self.real.clone(), handle: done.and_then(|done| done.made) }
    }
}

impl<T: ?Sized> Drop for Weak<T> {
    fn drop(&mut self) {
        if self.handle.is_some() {
            self.handle().release("drop a Weak", &mut |_| ());
        }
    }
}
