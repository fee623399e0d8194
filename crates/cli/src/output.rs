//! Where text goes, and what can be seen there.

use std::io::{ErrorKind, IsTerminal, Write};

use crate::trouble::Trouble;

/// The columns to fill where there is no terminal.
const COLUMNS: usize = 120;

/// Writes to stdout. A reader that went away has seen enough, which is fine; anything else is not.
pub fn stdout(text: &str) -> Result<(), Trouble> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Trouble::input(format!("the report can't be written: {error}")))
        }
        _ => Ok(()),
    }
}

/// Writes to stderr, if it can be written to.
pub fn stderr(text: &str) {
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// How wide a line on stdout may be.
pub fn columns() -> usize {
    let size = console::Term::stdout().size_checked();
    match size {
        Some((_, columns)) if std::io::stdout().is_terminal() => usize::from(columns).max(40),
        _ => COLUMNS,
    }
}

/// Whether colours are wanted on stdout.
pub fn colour_on_stdout() -> bool {
    std::io::stdout().is_terminal() && colour_allowed()
}

/// Whether colours are wanted on stderr.
pub fn colour_on_stderr() -> bool {
    std::io::stderr().is_terminal() && colour_allowed()
}

/// <https://no-color.org>, and terminals that say they are not able to.
fn colour_allowed() -> bool {
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
    !no_color && !dumb
}
