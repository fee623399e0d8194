//! What the environment decides, and sections that nobody interrupts.

use mazurka_program::{FailureKind, ProcessId};
use mazurka_threads::sync::StepEffects as _;

use super::stubs::{Passing, Stub, stubs};
use super::user::{caller, with_runtime};
use crate::runtime::threads::arrive;
use crate::runtime::threads::operation::{CurrentStep, InRound, Operation};
use crate::runtime::threads::runtime::Runtime;

/// No choice has more outcomes.
const MOST: u32 = 1 << 10;

/// One of several numbers.
struct Choose {
    outcomes: u32,
    chosen: u32,
}

impl Operation for Choose {
    fn in_round(&self) -> InRound {
        InRound::At(u64::from(self.outcomes))
    }

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
        let message = "mazurka_choose: there is nothing to choose from".to_owned();
        arrive::fail_here(FailureKind::InvalidSync, message, place);
    }
    if outcomes > MOST {
        refuse(&format!("mazurka_choose with more than {MOST} outcomes"), "choose in steps", place);
    }
    choose(outcomes, place)
}

/// The program calls what is not supported.
fn refuse(what: &str, instead: &str, place: usize) -> ! {
    with_runtime(|runtime| runtime.refuse_at(place, |at| format!("{what}{at} is not supported; {instead}")))
}

/// What gives any number of a type: it is refused under its usual name, whatever the program calls it.
macro_rules! refused {
    ($list:ident; $($usual:literal: $($name:literal)*;)*) => { $({
        extern "C-unwind" fn refused() -> ! {
            let instead = "it has too many outcomes to try: use mazurka_choose(n), which gives 0 to n-1";
            refuse(concat!("__VERIFIER_nondet_", $usual), instead, caller())
        }
        $list.extend(stubs! { Passing::Plain; $(concat!("__VERIFIER_nondet_", $name) => refused,)* });
    })* };
}

/// Begins a section that is one step: what it touches is told when it has been done.
struct BeginSection;

impl Operation for BeginSection {
    fn in_round(&self) -> InRound {
        InRound::At(0)
    }

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
    if with_runtime(|runtime| runtime.me().state.atomic) == 0 {
        arrive::operate(&mut BeginSection, place);
    }
    with_runtime(|runtime| runtime.me().state.atomic += 1);
}

extern "C-unwind" fn atomic_end() {
    let place = caller();
    let depth = with_runtime(|runtime| runtime.me().state.atomic);
    if depth == 0 {
        let message = "the end of an atomic section that has not begun".to_owned();
        arrive::fail_here(FailureKind::InvalidSync, message, place);
    }
    with_runtime(|runtime| runtime.me().state.atomic = depth - 1);
}

/// What programs call.
pub(crate) fn interposed(list: &mut Vec<Stub>) {
    list.extend(stubs! { Passing::Plain;
        "__VERIFIER_nondet_bool" => nondet_bool, "__VERIFIER_nondet__Bool" => nondet_bool,
        "__VERIFIER_nondet_char" => nondet_char, "__VERIFIER_nondet_uchar" => nondet_uchar,
        "mazurka_choose" => mazurka_choose, "__VERIFIER_atomic_begin" => atomic_begin,
        "__VERIFIER_atomic_end" => atomic_end,
    });
    refused! { list;
        "int": "int"; "uint": "uint" "unsigned"; "long": "long"; "ulong": "ulong"; "short": "short";
        "ushort": "ushort"; "pointer": "pointer"; "double": "double"; "float": "float"; "size_t": "size_t";
    }
}
