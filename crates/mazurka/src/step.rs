//! Operations in short: steps that wait for nothing and have one outcome; and what types of the library have
//! in common.

use std::panic::Location as Caller;

use mazurka_program::Location;

use crate::runtime::operation::{CurrentStep, Operation};
use crate::runtime::{Runtime, operate};

/// Where in the source an operation is.
pub(crate) type CallSite = &'static Caller<'static>;

/// What a step does, and what it is for people.
struct Unguarded<P, D> {
    perform: P,
    describe: D,
    is_told: bool,
}

impl<P: FnMut(&mut CurrentStep<'_>), D: Fn(&Runtime) -> String> Operation for Unguarded<P, D> {
    fn is_told(&self) -> bool {
        self.is_told
    }

    fn perform(&mut self, step: &mut CurrentStep<'_>) {
        (self.perform)(step);
    }

    fn describe(&self, runtime: &Runtime) -> String {
        (self.describe)(runtime)
    }
}

/// Brings the running process to an operation that waits for nothing; gives what its step came to. None if
/// the step is not taken, since its execution is abandoned.
pub(crate) fn take_step<R>(
    place: CallSite,
    describe: impl Fn(&Runtime) -> String,
    perform: impl FnMut(&mut CurrentStep<'_>) -> R,
) -> Option<R> {
    take(place, describe, perform, false)
}

/// As [`take_step`], for a step that changes nothing but values of locations and memory that processes have
/// allocated.
pub(crate) fn take_told_step<R>(
    place: CallSite,
    describe: impl Fn(&Runtime) -> String,
    perform: impl FnMut(&mut CurrentStep<'_>) -> R,
) -> Option<R> {
    take(place, describe, perform, true)
}

#[inline]
fn take<R>(
    place: CallSite,
    describe: impl Fn(&Runtime) -> String,
    mut perform: impl FnMut(&mut CurrentStep<'_>) -> R,
    is_told: bool,
) -> Option<R> {
    let mut result = None;
    let perform = |step: &mut CurrentStep<'_>| result = Some(perform(step));
    operate(&mut Unguarded { perform, describe, is_told }, place);
    result
}

/// A step that is the call of a method, for people: `name.method()`.
pub(crate) fn call(location: Location, method: &str) -> impl Fn(&Runtime) -> String {
    move |runtime| format!("{}.{method}()", runtime.name_of_location(location))
}

/// A step that does something to an object, for people: `verb name`.
pub(crate) fn verb(verb: &str, location: Location) -> impl Fn(&Runtime) -> String {
    move |runtime| format!("{verb} {}", runtime.name_of_location(location))
}

/// Types of which nothing is shown but the name.
macro_rules! opaque_debug {
    ($($name:ident $(<$($parameter:tt),*>)?;)*) => {$(
        impl $(<$($parameter),*>)? ::std::fmt::Debug for $name $(<$($parameter),*>)? {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.debug_struct(stringify!($name)).finish_non_exhaustive()
            }
        }
    )*};
}
pub(crate) use opaque_debug;
