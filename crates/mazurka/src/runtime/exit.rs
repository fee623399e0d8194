//! The end of the operating system's process within a check.
//!
//! A test that calls `std::process::exit` ends all tests of its binary, and with status 0 it would look like
//! a pass. It can't be prevented, but it can be told: with a sentence and with another status.
#![allow(unsafe_code)]

use crate::checker::heartbeat::Heartbeat;

/// Ends the process of the operating system because of a check that crashed, without memory and without a
/// handler of the end.
pub(crate) fn with_last_words(heartbeat: &Heartbeat) -> ! {
    heartbeat.last_words(&mut |bytes| {
        // If they can't be written, there is nobody to be told. The stream has no buffer.
        let _ = std::io::Write::write_all(&mut std::io::stderr(), bytes);
    });
    #[cfg(unix)]
    // SAFETY: it does not return.
    unsafe {
        libc::_exit(101)
    }
    #[cfg(not(unix))]
    std::process::abort()
}

/// Installs the handler.
#[cfg(unix)]
pub(super) fn install_handler() {
    // SAFETY: the handler is a function that lives as long as the program, and does not unwind.
    unsafe { libc::atexit(at_exit) };
}

#[cfg(not(unix))]
pub(super) fn install_handler() {}

#[cfg(unix)]
extern "C" fn at_exit() {
    if super::in_check() {
        let words = b"mazurka: std::process::exit was called within a check; that ends all tests of this process, so it \
                      is reported as a failure (status 101)\n";
        // SAFETY: the bytes are there; `_exit` ends the process here, since to go on is what was asked not to
        // be done.
        unsafe {
            libc::write(libc::STDERR_FILENO, words.as_ptr().cast(), words.len());
            libc::_exit(101);
        }
    }
}
