//! The panic hook: silent within a check, which reports panics itself; outside it delegates to the hook
//! before it.

use std::panic::{PanicHookInfo, catch_unwind, resume_unwind};
use std::sync::Once;
use std::sync::mpsc::{Sender, channel};
use std::thread;

use mazurka_program::{FailureKind, Stop};

use super::{Panicked, UNFIT, place_of, stop_here, with_runtime};

/// Installs the hook, once.
pub(crate) fn install_hook() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        super::overflow::install_handler();
        super::exit::install_handler();
        keep_panicking();
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if super::in_check() {
                note(info);
            } else {
                before(info);
            }
        }));
    });
}

/// Has a thread of the operating system panic from now on, for as long as the process lives.
///
/// The standard library counts the threads that panic. Who asks whether he does himself, and to give back a
/// lock of `std` is to ask, calls a function only if there are any, and a call leaves words on the stack that
/// uninitialised parts of later frames show. So what a modelled thread has on its stack would depend on what
/// other tests do at that moment, and each check ends executions by panics of its own. With one that always
/// panics the function is always called.
fn keep_panicking() {
    // Where panics abort there are none to be counted.
    if cfg!(not(panic = "unwind")) {
        return;
    }
    let (begun, begins) = channel();
    let panics = move || {
        let _ = catch_unwind(move || {
            let _dropped_on_the_way = StaysForEver { begun };
            resume_unwind(Box::new(()));
        });
    };
    let builder = thread::Builder::new().name("mazurka: panics".to_owned()).stack_size(1 << 16);
    if builder.spawn(panics).is_ok() {
        // An error would say that the thread has ended, which it does not.
        let _ = begins.recv();
    }
}

/// Is never dropped to the end.
struct StaysForEver {
    begun: Sender<()>,
}

impl Drop for StaysForEver {
    fn drop(&mut self) {
        let _ = self.begun.send(());
        loop {
            thread::park();
        }
    }
}

/// What the standard library says when it is about to end the operating system's process, because a
/// destructor panicked while its thread unwound, or a panic reached a function that can't unwind.
const LAST_WORDS: [&str; 2] =
    ["panic in a destructor during cleanup", "panic in a function that cannot unwind"];

fn note(info: &PanicHookInfo<'_>) {
    let message = message_of(info.payload());
    if LAST_WORDS.contains(&message.as_str()) {
        with_runtime(|runtime| {
            let process = runtime.execution.schedule.running;
            let before = runtime.execution.last_panic.take();
            let what = before.as_ref().map_or(String::new(), |panic| format!(": {}", panic.message));
            runtime.search.spoiled = true;
            UNFIT.set(true);
            if runtime.execution.ending {
                return runtime.discover_bomb();
            }
            runtime.fail(Stop::Broken(mazurka_program::Failure {
                kind: FailureKind::Panic,
                message: format!(
                    "thread `{}` panicked in a destructor while it unwound{what}; outside of a check this aborts",
                    runtime.name_of(process)
                ),
                place: before.and_then(|panic| panic.place),
                process: Some(process),
            }));
        });
        // To go on aborts. Where that can't be caught, this coroutine is left where it is; it keeps the hook
        // locked then.
        if !super::overflow::catch_abort() {
            stop_here();
        }
        return;
    }
    with_runtime(|runtime| {
        let (process, place) = (runtime.execution.schedule.running, info.location().map(place_of));
        runtime.execution.last_panic = Some(Panicked { process, told: false, message, place });
    });
}

/// The message of a panic.
pub(crate) fn message_of(payload: &(dyn std::any::Any + Send)) -> String {
    if let Some(text) = payload.downcast_ref::<&str>() {
        (*text).to_owned()
    } else if let Some(text) = payload.downcast_ref::<String>() {
        text.clone()
    } else {
        "a value that is no text".to_owned()
    }
}
