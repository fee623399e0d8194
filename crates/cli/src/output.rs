//! Where text goes, and what can be seen there.

use std::fs::OpenOptions;
use std::io::{ErrorKind, IsTerminal, Write};
use std::path::Path;
use std::sync::OnceLock;

use clap::ValueEnum;
use mazurka_report::Progress;

use crate::args::TalkArgs;
use crate::error::CommandError;

/// The columns to fill where there is no terminal.
const COLUMNS: usize = 120;

/// How the command talks to people. It is the same for all of a process.
static TALK: OnceLock<TalkArgs> = OnceLock::new();

/// When to use colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Colours {
    /// On a terminal, unless the environment says otherwise.
    #[default]
    Auto,
    /// Everywhere.
    Always,
    /// Nowhere.
    Never,
}

/// Says how to talk; what is said first holds.
pub fn talk(how: TalkArgs) {
    TALK.get_or_init(|| how);
}

fn how() -> TalkArgs {
    TALK.get().copied().unwrap_or_default()
}

/// Whether to keep quiet about all that is not a failure.
pub fn quiet() -> bool {
    how().quiet
}

/// The line of progress, unless nobody wants it.
pub fn progress() -> Option<Progress> {
    (!quiet()).then(Progress::new)
}

/// Writes to stdout. A reader that went away has seen enough, which is fine; anything else is not.
pub fn stdout(text: &str) -> Result<(), CommandError> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(CommandError::input(format!("the report can't be written: {error}")))
        }
        _ => Ok(()),
    }
}

/// Writes to stderr, if it can be written to.
pub fn stderr(text: &str) {
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// Writes warnings to stderr, unless nobody wants them.
pub fn warnings(text: &str) {
    if !quiet() {
        stderr(text);
    }
}

/// Whether a file can be written when the time comes, as far as can be told now. Leaves everything as it is.
pub fn writable(path: &Path) -> std::io::Result<()> {
    match std::fs::metadata(path) {
        // To open a pipe or a device may do something, or wait for somebody.
        Ok(there) if !there.is_file() && !there.is_dir() => Ok(()),
        Ok(_) => OpenOptions::new().append(true).open(path).map(drop),
        Err(_) => {
            OpenOptions::new().write(true).create_new(true).open(path)?;
            std::fs::remove_file(path)
        }
    }
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
    colour(std::io::stdout().is_terminal())
}

/// Whether colours are wanted on stderr.
pub fn colour_on_stderr() -> bool {
    colour(std::io::stderr().is_terminal())
}

fn colour(terminal: bool) -> bool {
    match how().color {
        Colours::Auto => terminal && colour_allowed(),
        Colours::Always => true,
        Colours::Never => false,
    }
}

/// <https://no-color.org>, and terminals that say they are not able to.
fn colour_allowed() -> bool {
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
    !no_color && !dumb
}
