//! Ctrl-C while a search runs: it ends there, and what is known by then is reported. A second one ends the
//! command, as does one while no search runs.

use std::io::{IsTerminal, stderr};
use std::ops::ControlFlow;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use std::{process, thread};

use crate::output;

/// After which somebody wants to know why nothing happens.
const PATIENCE: Duration = Duration::from_millis(500);
/// What shells have for a command that SIGINT ended.
const EXIT: i32 = 130;

static LISTENING: AtomicBool = AtomicBool::new(false);
static ASKED: AtomicBool = AtomicBool::new(false);

/// As long as this is there, Ctrl-C asks for an end of the search.
pub struct Interruptible(());

impl Drop for Interruptible {
    fn drop(&mut self) {
        LISTENING.store(false, Ordering::SeqCst);
    }
}

/// Listens for Ctrl-C, unless whoever started the command wants it to be ignored.
pub fn listen() -> Interruptible {
    static SET: Once = Once::new();
    LISTENING.store(true, Ordering::SeqCst);
    // Where it can't be set, Ctrl-C does what it always does.
    SET.call_once(|| drop(ctrlc::try_set_handler(interrupted)));
    Interruptible(())
}

/// Breaks if somebody asked for an end.
pub fn asked() -> ControlFlow<()> {
    if ASKED.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}

fn interrupted() {
    if ASKED.swap(true, Ordering::SeqCst) || !LISTENING.load(Ordering::SeqCst) {
        process::exit(EXIT);
    }
    // A search ends with an execution, and some are long.
    thread::sleep(PATIENCE);
    if LISTENING.load(Ordering::SeqCst) && stderr().is_terminal() {
        output::stderr("\ninterrupted: the search ends with this execution; Ctrl-C again ends it at once\n");
    }
}
