//! Atomics whose memory is reached by pointers as well: `as_ptr` and `from_ptr`.
//!
//! Within a check the value of an atomic is not where it lives, but with the runtime. Of an atomic that gave a
//! pointer to its memory, the value is put there too, after each operation: who reads through the pointer
//! finds it. Who writes through it must be alone with it, as by `get_mut`: the next operation finds another
//! value than it left, and takes the memory for that of a new atomic. Neither is a step, nor watched for
//! races.
//!
//! Memory that is none of ours has no room for what a check has to know of an atomic. So `from_ptr` gives a
//! stand-in, which lives elsewhere, for ever, and knows the memory that it stands for: there is one for each
//! address and type.
#![allow(unsafe_code)]

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};

use mazurka_program::Stop;

use crate::runtime::identity::{Base, Object, StandIn};
use crate::runtime::{outside_runtime, stop_here, with_runtime};
use crate::step::CallSite;

/// What the memory is that a stand-in stands for: the execution, and what it is named by there.
type Identity = Option<(u64, Base)>;

/// Stand-ins, by the address and the type of what they stand for; and what that was when they were asked for
/// last.
type StandIns = HashMap<(usize, &'static str), (usize, Identity)>;

static STAND_INS: LazyLock<Mutex<StandIns>> = LazyLock::new(Mutex::default);

/// The stand-in of a type for memory; `new` makes one. Its object is the first thing in it.
///
/// # Safety
/// `A` must begin with its [`Object`].
pub(super) unsafe fn stand_in<'a, A: 'a>(
    target: *mut (),
    place: CallSite,
    new: impl FnOnce(Object) -> A,
) -> &'a A {
    let address = target.expose_provenance();
    let found = with_runtime(|runtime| {
        let base = runtime.base_of(address);
        (base.map(|base| (runtime.execution.stamp, base)), matches!(base, Some(Base::Static { .. })))
    });
    let (identity, is_static) = found.unwrap_or((None, false));
    if is_static {
        refuse_static("from_ptr", place);
    }
    // What is allocated for it has no part in names.
    let (stand_in, forget) = outside_runtime(|| {
        let mut all = STAND_INS.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = all.entry((address, std::any::type_name::<A>())).or_insert_with(|| {
            let new = StandIn { target: address, atomic: new(Object::standing_in(place)) };
            let whole = Box::leak(Box::new(new));
            // The object leads to what is before it.
            std::ptr::from_ref(whole).expose_provenance();
            (std::ptr::from_ref(&whole.atomic) as usize, identity)
        });
        (entry.0, std::mem::replace(&mut entry.1, identity) != identity)
    });
    // SAFETY: it was made above, lives for ever and is of this type.
    let atomic = unsafe { &*std::ptr::with_exposed_provenance::<A>(stand_in) };
    if forget {
        // SAFETY: the caller vouches for it.
        unsafe { &*std::ptr::from_ref(atomic).cast::<Object>() }.begin_anew();
    }
    atomic
}

/// A pointer to the memory of an object is given away.
pub(super) fn expose(object: &Object, place: CallSite) {
    let address = std::ptr::from_ref(object) as usize;
    let is_static = with_runtime(|runtime| {
        matches!(runtime.base_of(address), Some(Base::Static { .. } | Base::Copied { .. }))
    });
    match is_static {
        Some(true) => refuse_static("as_ptr", place),
        Some(false) => object.set_exposed(),
        None => {}
    }
}

/// Executions begin with statics as they were; what pointers lead to is one for all of them.
#[cold]
fn refuse_static(method: &str, place: CallSite) {
    let message = format!(
        "{method} of an atomic in a static, at {place}, is not supported within a check: executions share its memory; \
         make it within the closure that is checked"
    );
    with_runtime(|runtime| runtime.fail(Stop::Unsupported(message)));
    if !std::thread::panicking() {
        stop_here();
    }
}

/// Before an operation on an object that is exposed, whose memory holds this.
#[cold]
#[inline(never)]
pub(super) fn take_over(object: &Object, held: u64) {
    let known = value_of(object);
    if known.is_some_and(|known| known != held) {
        object.begin_anew();
    }
}

/// What a check knows an object to hold.
pub(super) fn value_of(object: &Object) -> Option<u64> {
    with_runtime(|runtime| {
        let location = object.location(runtime.execution.stamp)?;
        Some(runtime.value(location))
    })
    .flatten()
}
