//! The beginning and the end of the program and of its threads.
//!
//! When `main` returns, or `exit` is called, a program ends, whatever its other threads do. Here the thread
//! that ends it comes to its end, after its handlers, and the others go on; at the end of the execution
//! nobody is said to be in a deadlock. Nothing is lost: whatever another thread can do before the program
//! ends, it does in some execution, before or after that thread's last step. And nothing is invented: what
//! others do after that last step they can do before the program ends, since between the last step and the
//! end, of which the program can see nothing, any time may pass. What is not modelled is that the system ends
//! threads in the middle, which no program can tell.
#![allow(unsafe_code)]

use std::ffi::CString;
use std::ptr;

use mazurka_program::FailureKind;

use super::registry;
use super::stubs::{Passing, Stub, stubs};
use super::user::{caller, my_name, with_runtime};
use crate::runtime::memory::tls;
use crate::runtime::threads::arrive;
use crate::runtime::threads::runtime::current;
use crate::runtime::threads::thread::Status;
use crate::runtime::{MainExits, Statuses};

/// A function to be called at the end of the program, or of a thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Handler {
    function: usize,
    argument: usize,
}

/// Runs the program: what its first thread does.
pub(crate) fn run_main() {
    // SAFETY: the first thread of the program runs here. The functions are the program's, with the types of
    // the platform's conventions; room was left for the arguments.
    unsafe {
        let runtime = current();
        let end = (*runtime).me().slot.stack_base;
        let (count, pointers) = (*runtime).search.arguments.lay_out(end);
        let environment = pointers + count * size_of::<usize>();
        let arguments = [count, pointers, environment];
        for at in 0..(*runtime).search.init.len() {
            call((&(*runtime).search.init)[at], arguments);
        }
        let main = (*runtime).execution.image.main;
        let status = call(main, arguments) as i32;
        // Places are told as what a call returns to: the byte before it has to be one of the function.
        let place = main + 1;
        if (*runtime).search.options.main_exits == MainExits::Process {
            end_of_program(place);
        } else {
            end_of_thread(0);
        }
        judge_status(status, place, "returns");
    }
}

/// A thread has ended the program with a status, of which the system keeps 8 bits.
fn judge_status(status: i32, place: usize, verb: &str) {
    with_runtime(|runtime| {
        if status & 0xFF != 0 && runtime.search.options.exit_status == Statuses::Zero {
            let name = runtime.name_of(runtime.running());
            runtime.report(FailureKind::ExitStatus, format!("{name} {verb} {status}"), place);
        }
    });
}

/// Calls a function of the program, so that no exception comes out of it.
///
/// # Safety
/// A thread of the program must run here; the function must be the program's and take so many words, or
/// fewer.
pub(crate) unsafe fn call(function: usize, arguments: [usize; 3]) -> usize {
    // SAFETY: by the contract of this function; who takes fewer arguments ignores the rest.
    unsafe {
        let enter: extern "C-unwind" fn(usize, usize, usize, usize) -> usize =
            std::mem::transmute((*current()).execution.image.enter);
        enter(function, arguments[0], arguments[1], arguments[2])
    }
}

/// Calls what was registered for the end of the program, last first.
fn end_of_program(place: usize) {
    with_runtime(|runtime| runtime.me().state.exits = true);
    tls::run_destructors();
    registry::end(place);
    while let Some(handler) = with_runtime(|runtime| runtime.execution.at_exit.pop()) {
        // SAFETY: a thread of the program runs here, and the program registered the function to be called so.
        unsafe { call(handler.function, [handler.argument, 0, 0]) };
    }
    for at in 0..with_runtime(|runtime| runtime.search.fini.len()) {
        // SAFETY: as above; the function is a destructor of the program.
        unsafe { call(with_runtime(|runtime| runtime.search.fini[at]), [0; 3]) };
    }
    with_runtime(|runtime| runtime.execution.over = true);
}

/// A thread has returned: its own variables are destroyed, and what it returned is kept for who joins it.
pub(crate) fn end_of_thread(result: usize) {
    tls::run_destructors();
    with_runtime(|runtime| runtime.me().state.result = result);
}

/// The running thread ends here, wherever that is.
pub(crate) fn finish_here() -> ! {
    with_runtime(|runtime| runtime.me().state.status = Status::Finished);
    arrive::leave()
}

extern "C-unwind" fn pthread_exit(result: usize) -> ! {
    let place = caller();
    let told = "is not supported in C++: objects on the stack would not be destroyed; return instead";
    with_runtime(|runtime| {
        if runtime.execution.image.unwinds {
            runtime.refuse_at(place, |at| format!("pthread_exit{at} {told}"));
        }
    });
    end_of_thread(result);
    finish_here()
}

extern "C-unwind" fn thrd_exit(result: i32) -> ! {
    end_of_thread(result as isize as usize);
    finish_here()
}

extern "C-unwind" fn exit(status: i32) -> ! {
    let place = caller();
    end_of_program(place);
    judge_status(status, place, EXITS);
    finish_here()
}

/// What a thread does that ends the program where it is.
const EXITS: &str = "ends the program with status";

extern "C-unwind" fn quick_exit(status: i32) -> ! {
    judge_status(status, caller(), EXITS);
    with_runtime(|runtime| (runtime.me().state.exits, runtime.execution.over) = (true, true));
    finish_here()
}

extern "C-unwind" fn atexit(function: usize) -> i32 {
    at_exit(function, 0, caller())
}

extern "C-unwind" fn cxa_atexit(function: usize, argument: usize, _object: usize) -> i32 {
    at_exit(function, argument, caller())
}

fn at_exit(function: usize, argument: usize, place: usize) -> i32 {
    registry::register("atexit", place);
    with_runtime(|runtime| runtime.execution.at_exit.push(Handler { function, argument }));
    0
}

extern "C-unwind" fn cxa_finalize(_object: usize) {}

extern "C-unwind" fn abort() -> ! {
    match tls::handles_exception() {
        // The C++ library calls it where it has begun to handle an exception, and found nobody who does.
        true => fail(FailureKind::Exception, &format!("{} ends with an exception", my_name())),
        false => fail(FailureKind::Panic, &format!("{} calls abort", my_name())),
    }
}

/// The running thread fails where it called the function that runs now.
fn fail(kind: FailureKind, message: &str) -> ! {
    arrive::fail_here(kind, message.to_owned(), caller())
}

/// A string of the program.
fn text(string: *const libc::c_char) -> String {
    if string.is_null() {
        return String::new();
    }
    // SAFETY: the program passes a C string; a wild pointer faults, and the thread is thrown out.
    unsafe { std::ffi::CStr::from_ptr(string) }.to_string_lossy().into_owned()
}

extern "C-unwind" fn assert_fail(
    assertion: *const libc::c_char,
    _file: *const libc::c_char,
    _line: u32,
    _function: *const libc::c_char,
) -> ! {
    fail(FailureKind::Assertion, &format!("assertion failed: {}", text(assertion)))
}

extern "C-unwind" fn verifier_error() -> ! {
    fail(FailureKind::Assertion, "the program reaches an error")
}

extern "C-unwind" fn verifier_assert(condition: i32) {
    if condition == 0 {
        fail(FailureKind::Assertion, "assertion failed");
    }
}

extern "C-unwind" fn verifier_assume(condition: i32) {
    if condition == 0 {
        with_runtime(|runtime| runtime.execution.findings.assumed = true);
        arrive::stop_here();
    }
}

/// The program has come to a call of a function that it can't have, of this name and for this reason.
extern "C-unwind" fn refused(name: *const libc::c_char, why: *const libc::c_char) -> ! {
    let (name, why) = (text(name), text(why));
    refuse_from(caller(), &format!("the program calls `{name}`, which is not supported: {why}"))
}

/// The program has come to something else that it can't have, which the text says.
extern "C-unwind" fn refused_here(why: *const libc::c_char) -> ! {
    refuse_from(caller(), &text(why))
}

/// The running thread does what is not supported, at a place of the program.
fn refuse_from(place: usize, what: &str) -> ! {
    with_runtime(|runtime| {
        let place = runtime.place_of(runtime.running(), place);
        let place = place.map_or_else(String::new, |place| format!("{}:{}: ", place.file, place.line));
        runtime.refuse(format!("{place}{what}"));
    });
    arrive::stop_here()
}

extern "C-unwind" fn stack_smashed() -> ! {
    fail(FailureKind::Memory, "a function wrote past the end of its variables")
}

/// The arguments of `main`: where its stack begins, as in every process, since a program may write them.
pub(crate) struct Arguments {
    texts: Vec<CString>,
    /// The bytes of the texts and of the pointers to them, with a null pointer at the end.
    pub(crate) size: usize,
}

impl Arguments {
    pub(crate) fn new(arguments: &[String], stack_size: usize) -> Result<Arguments, String> {
        let texts: Result<Vec<CString>, _> = std::iter::once("program")
            .chain(arguments.iter().map(String::as_str))
            .map(CString::new)
            .collect();
        let texts = texts.map_err(|_| "an argument of the program has a zero byte".to_owned())?;
        let bytes: usize = texts.iter().map(|text| text.as_bytes_with_nul().len()).sum();
        let size = (bytes + (texts.len() + 1) * size_of::<usize>()).next_multiple_of(16);
        if size > stack_size / 2 {
            return Err("the arguments of the program take more than half of its stack".to_owned());
        }
        Ok(Arguments { texts, size })
    }

    /// Writes them to the end of a stack. Gives how many there are, and where the pointers to them are.
    ///
    /// # Safety
    /// So many bytes before the end must be memory of the stack that nobody uses.
    unsafe fn lay_out(&self, end: usize) -> (usize, usize) {
        let pointers = end - self.size;
        let mut text = pointers + (self.texts.len() + 1) * size_of::<usize>();
        // SAFETY: by the contract of this function: texts and pointers have that size.
        unsafe {
            let pointer = ptr::with_exposed_provenance_mut::<usize>(pointers);
            for (at, bytes) in self.texts.iter().map(|text| text.as_bytes_with_nul()).enumerate() {
                pointer.add(at).write(text);
                ptr::with_exposed_provenance_mut::<u8>(text)
                    .copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
                text += bytes.len();
            }
            pointer.add(self.texts.len()).write(0);
        }
        (self.texts.len(), pointers)
    }
}

/// What programs call.
pub(crate) fn interposed(list: &mut Vec<Stub>) {
    list.extend(stubs! { Passing::Plain;
        "pthread_exit" => pthread_exit, "thrd_exit" => thrd_exit, "exit" => exit, "_exit" => quick_exit,
        "_Exit" => quick_exit, "quick_exit" => quick_exit, "atexit" => atexit, "__cxa_atexit" => cxa_atexit,
        "__cxa_finalize" => cxa_finalize, "abort" => abort, "__assert_fail" => assert_fail,
        "__VERIFIER_error" => verifier_error, "reach_error" => verifier_error,
        "mazurka_reach_error" => verifier_error, "__VERIFIER_assert" => verifier_assert,
        "__VERIFIER_assume" => verifier_assume, "assume_abort_if_not" => verifier_assume,
        "mazurka_assume" => verifier_assume, "mazurka_refused" => refused, "mazurka_refused_here" => refused_here,
        "mazurka_pthread_exit" => pthread_exit,
        "__stack_chk_fail" => stack_smashed,
    });
}
