//! What the environment decides, and sections that nobody interrupts.
#![allow(unsafe_code)]

use mazurka_program::{FailureKind, ProcessId};
use mazurka_threads::sync::Step as _;

use super::stubs::{Passing, Stub, stubs};
use super::user::caller;
use crate::runtime::threads::arrive;
use crate::runtime::threads::operation::{CurrentStep, Operation};
use crate::runtime::threads::runtime::{Runtime, current};

/// No choice has more outcomes.
const MOST: u32 = 1 << 10;

/// One of several numbers.
struct Choose {
    outcomes: u32,
    chosen: u32,
}

impl Operation for Choose {
    fn branches(&self) -> bool {
        true
    }

    fn outcomes(&self, _runtime: &Runtime, _process: ProcessId) -> u32 {
        self.outcomes
    }

    fn perform(&mut self, step: &mut CurrentStep<'_>) {
        self.chosen = step.choice;
        let (chosen, outcomes) = (self.chosen, self.outcomes);
        step.note(|_| format!("{chosen} of {outcomes}"));
    }

    fn describe(&self, _runtime: &Runtime) -> String {
        "choose".to_owned()
    }
}

fn choose(outcomes: u32, place: usize) -> u32 {
    if outcomes <= 1 {
        return 0;
    }
    let mut choose = Choose { outcomes, chosen: 0 };
    arrive::operate(&mut choose, place);
    choose.chosen
}

extern "C-unwind" fn nondet_bool() -> i32 {
    choose(2, caller()) as i32
}

extern "C-unwind" fn nondet_char() -> i32 {
    i32::from(choose(256, caller()) as u8 as i8)
}

extern "C-unwind" fn nondet_uchar() -> u32 {
    choose(256, caller())
}

/// Any number from 0 up to one below the given.
extern "C-unwind" fn mazurka_choose(outcomes: u32) -> u32 {
    let place = caller();
    if outcomes == 0 {
        arrive::fail_here(
            FailureKind::InvalidSync,
            "mazurka_choose: there is nothing to choose from".to_owned(),
            place,
        );
    }
    if outcomes > MOST {
        refuse(&format!("mazurka_choose with more than {MOST} outcomes"), "choose in steps", place);
    }
    choose(outcomes, place)
}

/// The program calls what is not supported.
fn refuse(what: &str, instead: &str, place: usize) -> ! {
    // SAFETY: a thread of the program runs here; the reference ends before it is suspended.
    let runtime = unsafe { &mut *current() };
    let message = format!("{what}{} is not supported; {instead}", runtime.at_place(place));
    runtime.refuse(message);
    arrive::stop_here()
}

macro_rules! refused {
    ($($name:ident => $text:literal),* $(,)?) => {
        $(extern "C-unwind" fn $name() -> ! {
            refuse($text, "it has too many outcomes to try: use mazurka_choose(n), which gives 0 to n-1", caller())
        })*
    };
}

refused! {
    nondet_int => "__VERIFIER_nondet_int", nondet_uint => "__VERIFIER_nondet_uint",
    nondet_long => "__VERIFIER_nondet_long", nondet_ulong => "__VERIFIER_nondet_ulong",
    nondet_short => "__VERIFIER_nondet_short", nondet_ushort => "__VERIFIER_nondet_ushort",
    nondet_pointer => "__VERIFIER_nondet_pointer", nondet_double => "__VERIFIER_nondet_double",
    nondet_float => "__VERIFIER_nondet_float", nondet_size => "__VERIFIER_nondet_size_t",
}

/// Begins a section that is one step: what it touches is told when it has been done.
struct BeginSection;

impl Operation for BeginSection {
    fn perform(&mut self, step: &mut CurrentStep<'_>) {
        step.refuse_static_footprints("atomic sections");
        step.varies();
    }

    fn describe(&self, _runtime: &Runtime) -> String {
        "begin an atomic section".to_owned()
    }
}

extern "C-unwind" fn atomic_begin() {
    let place = caller();
    // SAFETY: a thread of the program runs here.
    if unsafe { (*current()).me().state.atomic } == 0 {
        arrive::operate(&mut BeginSection, place);
    }
    // SAFETY: as above.
    unsafe { (*current()).me().state.atomic += 1 };
}

extern "C-unwind" fn atomic_end() {
    let place = caller();
    // SAFETY: a thread of the program runs here.
    let depth = unsafe { &mut (*current()).me().state.atomic };
    match depth.checked_sub(1) {
        Some(less) => *depth = less,
        None => {
            let message = "the end of an atomic section that has not begun".to_owned();
            arrive::fail_here(FailureKind::InvalidSync, message, place);
        }
    }
}

/// What programs call.
pub(crate) fn interposed(list: &mut Vec<Stub>) {
    list.extend(stubs! { Passing::Plain;
        "__VERIFIER_nondet_bool" => nondet_bool, "__VERIFIER_nondet__Bool" => nondet_bool,
        "__VERIFIER_nondet_char" => nondet_char, "__VERIFIER_nondet_uchar" => nondet_uchar,
        "__VERIFIER_nondet_int" => nondet_int, "__VERIFIER_nondet_uint" => nondet_uint,
        "__VERIFIER_nondet_unsigned" => nondet_uint, "__VERIFIER_nondet_long" => nondet_long,
        "__VERIFIER_nondet_ulong" => nondet_ulong, "__VERIFIER_nondet_short" => nondet_short,
        "__VERIFIER_nondet_ushort" => nondet_ushort, "__VERIFIER_nondet_pointer" => nondet_pointer,
        "__VERIFIER_nondet_double" => nondet_double, "__VERIFIER_nondet_float" => nondet_float,
        "__VERIFIER_nondet_size_t" => nondet_size, "mazurka_choose" => mazurka_choose,
        "__VERIFIER_atomic_begin" => atomic_begin, "__VERIFIER_atomic_end" => atomic_end,
    });
}
