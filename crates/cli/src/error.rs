//! What keeps the command from a verdict, and how it is told: exit status 2.

use std::fmt;
use std::process::ExitCode;

use mazurka_report::json::{ErrorKind, ErrorReport, FileError, error_json};

use crate::output;

/// The exit status where there is no verdict.
pub const EXIT: u8 = 2;

/// Why there is no verdict.
#[derive(Debug)]
pub struct CommandError {
    report: Box<ErrorReport>,
    /// What people see instead of the plain message: what clap says, with usage and hints, or excerpts of a
    /// file.
    rendered: Option<String>,
}

impl CommandError {
    /// A sentence, of some kind.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> CommandError {
        let report = ErrorReport { kind, message: message.into(), location: None, diagnostics: vec![] };
        CommandError { report: Box::new(report), rendered: None }
    }

    /// Bad input.
    pub fn input(message: impl fmt::Display) -> CommandError {
        CommandError::new(ErrorKind::Input, message.to_string())
    }

    /// Something that is not supported.
    pub fn unsupported(message: impl fmt::Display) -> CommandError {
        CommandError::new(ErrorKind::Unsupported, message.to_string())
    }

    /// A bug of ours.
    pub fn internal(what: impl fmt::Display) -> CommandError {
        let version = env!("CARGO_PKG_VERSION");
        CommandError::new(
            ErrorKind::Internal,
            format!(
                "internal error: {what}. This is a bug of mazurka {version} and no verdict on your program; please \
                 report it with this message, the command line and the program"
            ),
        )
    }

    /// At a file.
    #[must_use]
    pub fn at(mut self, location: impl fmt::Display) -> CommandError {
        self.report.location = Some(location.to_string());
        self
    }

    /// What clap found wrong with the arguments.
    pub fn of_usage(error: &clap::Error) -> CommandError {
        let text = error.to_string();
        // The first paragraph says what is wrong; hints and usage follow.
        let lines: Vec<&str> = text.lines().map(str::trim).take_while(|line| !line.is_empty()).collect();
        let message = lines.join(" ");
        let message = message.strip_prefix("error: ").unwrap_or(&message);
        CommandError { rendered: Some(text.clone()), ..CommandError::new(ErrorKind::Usage, message) }
    }

    /// What a compiler said, as it said it.
    pub fn of_compiler(text: &str) -> CommandError {
        let first = text.lines().find(|line| line.contains("error")).or_else(|| text.lines().next());
        let message = mazurka_report::clean(first.unwrap_or("the compiler failed"));
        CommandError { rendered: Some(text.to_owned()), ..CommandError::new(ErrorKind::Input, message) }
    }

    /// What is wrong with files, for machines and for people. There is at least one thing.
    pub fn of_diagnostics(diagnostics: Vec<FileError>, rendered: String) -> CommandError {
        let message = diagnostics.first().map_or(String::new(), |first| first.message.clone());
        let location = diagnostics.first().and_then(|first| first.location.clone());
        let report = ErrorReport { kind: ErrorKind::Input, message, location, diagnostics };
        CommandError { report: Box::new(report), rendered: Some(rendered) }
    }

    /// Reports it: to people on stderr, and to machines on stdout if they asked.
    pub fn report(&self, json: bool) -> ExitCode {
        if json {
            // There is no other place to complain if this can't be written.
            let _ = output::stdout(&format!("{}\n", error_json(&self.report)));
        }
        let plain = || format!("error: {}\n", self.report.message);
        output::stderr(&self.rendered.clone().unwrap_or_else(plain));
        ExitCode::from(EXIT)
    }

    /// The message alone.
    pub fn message(&self) -> &str {
        &self.report.message
    }
}
