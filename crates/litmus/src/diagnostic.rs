//! What is wrong with a file, where, and what to do about it.

use std::borrow::Cow;
use std::ops::Range;

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};

use crate::ast::Span;

/// A line longer than this many bytes is shown only around the place.
const LONGEST_LINE: usize = 500;
/// How many bytes of such a line are shown before and after the place.
const WINDOW: usize = 100;

/// A source file.
#[derive(Clone, Debug, Default)]
pub struct Source {
    /// The name, as the user gave it.
    pub name: String,
    /// The text.
    pub text: String,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// What, in one line.
    pub message: String,
    /// Where.
    pub span: Span,
    /// What to write beneath the place; may be empty.
    pub label: String,
    /// What to do about it.
    pub help: Option<String>,
}

impl Diagnostic {
    /// Something wrong at a place.
    pub fn new(span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic { message: message.into(), span, label: String::new(), help: None }
    }

    /// With words beneath the place.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Diagnostic {
        self.label = label.into();
        self
    }

    /// With a remedy.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Diagnostic {
        self.help = Some(help.into());
        self
    }
}

/// The line and the column of the first character of a span, both from 1; the column counts characters. A
/// span that lies beyond the text stands at its end.
pub fn place(source: &Source, span: Span) -> (u32, u32) {
    let before = &source.text[..boundary(&source.text, span.start as usize)];
    let line = before.bytes().filter(|byte| *byte == b'\n').count();
    let column = before[start_of_line(before)..].chars().count();
    (line as u32 + 1, column as u32 + 1)
}

/// The diagnostics as a user reads them: what is wrong, the place, the line with a label, the remedy.
pub fn render(diagnostics: &[Diagnostic], source: &Source, color: bool) -> String {
    let renderer = if color { Renderer::styled() } else { Renderer::plain() };
    let mut out = String::new();
    for (index, diagnostic) in diagnostics.iter().enumerate() {
        if index > 0 {
            out.push('\n');
        }
        out.push_str(&renderer.render(&[group(diagnostic, source)]));
        out.push('\n');
    }
    out
}

/// One diagnostic with the line that it is about; of a span over several lines, the first.
fn group<'a>(diagnostic: &'a Diagnostic, source: &'a Source) -> Group<'a> {
    let excerpt = Excerpt::new(&source.text, diagnostic.span);
    let (line, column) = place(source, diagnostic.span);
    let label = Some(diagnostic.label.as_str()).filter(|label| !label.is_empty());
    let annotation = AnnotationKind::Primary.span(excerpt.marked).label(label);
    let snippet = Snippet::source(excerpt.text).line_start(line as usize).annotation(annotation);
    let title = Level::ERROR.primary_title(diagnostic.message.as_str());
    let group = if excerpt.whole {
        title.element(snippet.path(source.name.as_str()))
    } else {
        // The column can't be counted in the part that is shown.
        let origin = Origin::path(source.name.as_str()).line(line as usize).char_column(column as usize);
        title.element(origin).element(snippet)
    };
    match &diagnostic.help {
        Some(help) => group.element(Level::HELP.message(help.as_str())),
        None => group,
    }
}

/// What is shown of the line of a place.
struct Excerpt<'a> {
    text: Cow<'a, str>,
    /// The bytes of it that are pointed at.
    marked: Range<usize>,
    /// Whether it is the whole line.
    whole: bool,
}

impl Excerpt<'_> {
    fn new(text: &str, span: Span) -> Excerpt<'_> {
        let start = boundary(text, span.start as usize);
        let from = start_of_line(&text[..start]);
        let rest = text[start..].split('\n').next().unwrap_or_default();
        let to = start + rest.trim_end_matches('\r').len();
        let end = boundary(text, span.end as usize).clamp(start, to);
        if to - from <= LONGEST_LINE {
            let marked = start - from..end - from;
            return Excerpt { text: Cow::Borrowed(&text[from..to]), marked, whole: true };
        }
        let left = boundary(text, start.saturating_sub(WINDOW)).max(from);
        let right = boundary(text, start + WINDOW).min(to);
        let before = if left > from { "..." } else { "" };
        let after = if right < to { "..." } else { "" };
        let offset = |at: usize| at.min(right) - left + before.len();
        let marked = offset(start)..offset(end);
        Excerpt { text: Cow::Owned(format!("{before}{}{after}", &text[left..right])), marked, whole: false }
    }
}

/// The last place at or before `at` where a character begins or the text ends.
fn boundary(text: &str, at: usize) -> usize {
    text.floor_char_boundary(at)
}

/// Where the last line of a text begins.
fn start_of_line(text: &str) -> usize {
    text.rfind('\n').map_or(0, |newline| newline + 1)
}
