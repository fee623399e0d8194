//! The panic hook: silent within a check, which reports panics itself; outside it delegates to the hook
//! before it.

use std::panic::PanicHookInfo;
use std::sync::Once;

use mazurka_program::{FailureKind, Stop};

use super::{Panicked, UNFIT, place_of, stop_here, with_runtime};

/// Installs the hook, once.
pub(crate) fn install_hook() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        super::overflow::install_handler();
        super::exit::install_handler();
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
