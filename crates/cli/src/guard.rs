//! A bug of ours must not look like a verdict: a panic becomes exit status 2 and a sentence on what to
//! report.

use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::sync::Mutex;

use crate::error::CommandError;

/// What the last panic said and where, since what is caught says only the former.
static LAST: Mutex<Option<String>> = Mutex::new(None);

/// Does the work; a panic in it is an internal error.
pub fn guarded<T>(work: impl FnOnce() -> Result<T, CommandError>) -> Result<T, CommandError> {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(remember));
    let result = catch_unwind(AssertUnwindSafe(work));
    std::panic::set_hook(hook);
    result.unwrap_or_else(|_| Err(internal()))
}

fn remember(info: &PanicHookInfo<'_>) {
    let message = info.payload_as_str().unwrap_or("a panic without a message");
    let place = info.location().map_or(String::new(), |place| format!(" (at {place})"));
    if let Ok(mut last) = LAST.lock() {
        *last = Some(format!("{message}{place}"));
    }
}

fn internal() -> CommandError {
    let what = LAST.lock().ok().and_then(|mut last| last.take()).unwrap_or_default();
    CommandError::internal(what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_internal_error() {
        let error = guarded::<()>(|| panic!("{} is not even", 7)).unwrap_err();
        assert!(error.message().starts_with("internal error: 7 is not even (at crates/cli/src/guard.rs"));
    }
}
