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

/// A number of a type that has too many to try them all: one of those that the options name, as C converts
/// it.
fn some(usual: &'static str, place: usize) -> i64 {
    let values = with_runtime(|runtime| runtime.search.options.nondet.len());
    if values == 0 {
        let instead = "it has too many values to try them all: name those to be tried, -- --nondet=0,1,-1 or \
                       -- --nondet=0..9, or call mazurka_choose(n), which gives 0 to n-1";
        refuse(usual, instead, place);
    }
    with_runtime(|runtime| {
        runtime.search.sampled.get_or_insert(usual);
    });
    let chosen = choose(values as u32, place);
    with_runtime(|runtime| runtime.search.options.nondet[chosen as usize])
}

/// What gives any number of a type, under all the names that programs call it by.
macro_rules! sampled {
    ($list:ident; $($usual:literal as $type:ty: $($name:literal)*;)*) => { $({
        extern "C-unwind" fn sampled() -> $type {
            some(concat!("__VERIFIER_nondet_", $usual), caller()) as $type
        }
        $list.extend(stubs! { Passing::Plain; $(concat!("__VERIFIER_nondet_", $name) => sampled,)* });
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
    begin_section(caller());
}

fn begin_section(place: usize) {
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

/// A function of the program begins, called from a place. Some are one step each.
extern "C-unwind" fn function_begins(function: usize, place: usize) {
    if with_runtime(|runtime| runtime.search.atomic_functions.contains(&function)) {
        begin_section(place);
    }
}

extern "C-unwind" fn function_ends(function: usize, _place: usize) {
    if with_runtime(|runtime| runtime.search.atomic_functions.contains(&function)) {
        atomic_end();
    }
}

/// What programs call.
pub(crate) fn interposed(list: &mut Vec<Stub>) {
    list.extend(stubs! { Passing::Plain;
        "__VERIFIER_nondet_bool" => nondet_bool, "__VERIFIER_nondet__Bool" => nondet_bool,
        "__VERIFIER_nondet_char" => nondet_char, "__VERIFIER_nondet_uchar" => nondet_uchar,
        "__VERIFIER_nondet_S8" => nondet_char, "__VERIFIER_nondet_s8" => nondet_char,
        "__VERIFIER_nondet_int8_t" => nondet_char, "__VERIFIER_nondet_U8" => nondet_uchar,
        "__VERIFIER_nondet_u8" => nondet_uchar, "__VERIFIER_nondet_uint8_t" => nondet_uchar,
        "__VERIFIER_nondet_unsigned_char" => nondet_uchar,
        "mazurka_choose" => mazurka_choose, "__VERIFIER_atomic_begin" => atomic_begin,
        "__VERIFIER_atomic_end" => atomic_end,
    });
    list.extend(stubs! { Passing::Plain;
        "__cyg_profile_func_enter" => function_begins, "__cyg_profile_func_exit" => function_ends,
    });
    sampled! { list;
        "int" as i32: "int" "S32" "s32" "int32_t"; "uint" as u32: "uint" "unsigned" "unsigned_int" "U32" "u32"
            "uint32_t";
        "long" as i64: "long" "longlong" "loff_t" "S64" "s64" "int64_t" "ssize_t";
        "ulong" as u64: "ulong" "ulonglong" "unsigned_long" "U64" "u64" "uint64_t" "size_t" "sector_t"
            "pthread_t";
        "short" as i16: "short" "S16" "s16" "int16_t"; "ushort" as u16: "ushort" "U16" "u16" "uint16_t";
        "pointer" as usize: "pointer" "pchar"; "double" as f64: "double"; "float" as f32: "float";
    }
}
