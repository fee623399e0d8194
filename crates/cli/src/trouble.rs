//! What keeps the command from a verdict, and how it is told: exit status 2.

use std::fmt;
use std::process::ExitCode;

use mazurka_abs::model::SourceFile;
use mazurka_litmus::{Diagnostic, Source, place, render};
use mazurka_report::json::{DiagnosticJson, ErrorKind, ErrorReport, error_json};

use crate::output;

/// The exit status where there is no verdict.
pub const EXIT: u8 = 2;

/// Why there is no verdict.
#[derive(Debug)]
pub struct Trouble {
    report: Box<ErrorReport>,
    rendered: Rendered,
}

/// What people see instead of the plain message.
#[derive(Debug)]
enum Rendered {
    Message,
    /// What clap says, with usage and hints; or what is wrong with a file, with excerpts of it.
    Text(String),
}

impl Trouble {
    /// A sentence, of some kind.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Trouble {
        let report = ErrorReport { kind, message: message.into(), location: None, diagnostics: vec![] };
        Trouble { report: Box::new(report), rendered: Rendered::Message }
    }

    /// Bad input.
    pub fn input(message: impl fmt::Display) -> Trouble {
        Trouble::new(ErrorKind::Input, message.to_string())
    }

    /// Something that is not supported.
    pub fn unsupported(message: impl fmt::Display) -> Trouble {
        Trouble::new(ErrorKind::Unsupported, message.to_string())
    }

    /// A bug of ours.
    pub fn internal(what: impl fmt::Display) -> Trouble {
        let version = env!("CARGO_PKG_VERSION");
        Trouble::new(
            ErrorKind::Internal,
            format!(
                "internal error: {what}. This is a bug of mazurka {version} and no verdict on your program; please \
                 report it with this message, the command line and the program"
            ),
        )
    }

    /// At a file.
    #[must_use]
    pub fn at(mut self, location: impl fmt::Display) -> Trouble {
        self.report.location = Some(location.to_string());
        self
    }

    /// What clap found wrong with the arguments.
    pub fn of_usage(error: &clap::Error) -> Trouble {
        let text = error.to_string();
        // The first paragraph says what is wrong; hints and usage follow.
        let lines: Vec<&str> = text.lines().map(str::trim).take_while(|line| !line.is_empty()).collect();
        let message = lines.join(" ");
        let message = message.strip_prefix("error: ").unwrap_or(&message);
        let mut trouble = Trouble::new(ErrorKind::Usage, message);
        trouble.rendered = Rendered::Text(text);
        trouble
    }

    /// What a compiler said, as it said it.
    pub fn of_compiler(text: &str) -> Trouble {
        let first = text.lines().find(|line| line.contains("error")).or_else(|| text.lines().next());
        let message = mazurka_report::clean(first.unwrap_or("the compiler failed"));
        let mut trouble = Trouble::new(ErrorKind::Input, message);
        trouble.rendered = Rendered::Text(text.to_owned());
        trouble
    }

    /// What is wrong with a file. There is at least one thing.
    pub fn of_file(diagnostics: &[Diagnostic], source: &Source) -> Trouble {
        let told: Vec<DiagnosticJson> = diagnostics
            .iter()
            .map(|diagnostic| DiagnosticJson {
                message: diagnostic.message.clone(),
                location: Some(location(diagnostic, source)),
                help: diagnostic.help.clone(),
            })
            .collect();
        let mut trouble = Trouble::of_told(told);
        trouble.rendered = Rendered::Text(render(diagnostics, source, output::colour_on_stderr()));
        trouble
    }

    /// What is wrong with a program of active objects, whose places are in these files. There is at least one thing.
    pub fn of_abs(diagnostics: &[mazurka_abs::Diagnostic], files: &[SourceFile]) -> Trouble {
        let told = |diagnostic: &mazurka_abs::Diagnostic| DiagnosticJson {
            message: diagnostic.message.clone(),
            location: files.get(diagnostic.span.file as usize).map(|file| {
                let (line, column) = mazurka_abs::place(file, diagnostic.span);
                format!("{}:{line}:{column}", file.name)
            }),
            help: diagnostic.help.clone(),
        };
        let rendered = mazurka_abs::render(diagnostics, files, output::colour_on_stderr());
        let mut trouble = Trouble::of_told(diagnostics.iter().map(told).collect());
        trouble.rendered = Rendered::Text(rendered);
        trouble
    }

    /// What is wrong with a file, as machines read it.
    fn of_told(told: Vec<DiagnosticJson>) -> Trouble {
        let message = told.first().map_or(String::new(), |first| first.message.clone());
        let location = told.first().and_then(|first| first.location.clone());
        let report = ErrorReport { kind: ErrorKind::Input, message, location, diagnostics: told };
        Trouble { report: Box::new(report), rendered: Rendered::Message }
    }

    /// Tells it: people on stderr, and machines on stdout if they asked.
    pub fn tell(&self, json: bool) -> ExitCode {
        if json {
            // There is no other place to complain if this can't be written.
            let _ = output::stdout(&format!("{}\n", error_json(&self.report)));
        }
        let text = match &self.rendered {
            Rendered::Message => format!("error: {}\n", self.report.message),
            Rendered::Text(text) => text.clone(),
        };
        output::stderr(&text);
        ExitCode::from(EXIT)
    }

    /// The message alone.
    pub fn message(&self) -> &str {
        &self.report.message
    }
}

fn location(diagnostic: &Diagnostic, source: &Source) -> String {
    let (line, column) = place(source, diagnostic.span);
    format!("{}:{line}:{column}", source.name)
}
