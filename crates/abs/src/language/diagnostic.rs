//! What is wrong with a program, where, and what to do about it.

use std::borrow::Cow;
use std::ops::Range;

use annotate_snippets::{Annotation, AnnotationKind, Group, Level, Origin, Renderer, Snippet};

use crate::model::{SourceFile, Span};

/// A line longer than this many bytes is shown only around the place.
const LONGEST_LINE: usize = 500;
/// How many bytes of such a line are shown before and after the place.
const WINDOW: usize = 100;

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// What, in one line.
    pub message: String,
    /// Where.
    pub span: Span,
    /// What to write beneath the place; may be empty.
    pub label: String,
    /// Another place that has to do with it, and what to write beneath that one.
    pub also: Option<(Span, String)>,
    /// What to do about it.
    pub help: Option<String>,
}

impl Diagnostic {
    /// Something wrong at a place.
    pub fn new(span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic { message: message.into(), span, label: String::new(), also: None, help: None }
    }

    /// With words beneath the place.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Diagnostic {
        self.label = label.into();
        self
    }

    /// With a second place.
    #[must_use]
    pub fn also(mut self, span: Span, label: impl Into<String>) -> Diagnostic {
        self.also = Some((span, label.into()));
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
pub fn place(file: &SourceFile, span: Span) -> (u32, u32) {
    let before = &file.text[..boundary(&file.text, span.start as usize)];
    let line = before.bytes().filter(|byte| *byte == b'\n').count();
    let column = before[start_of_line(before)..].chars().count();
    (line as u32 + 1, column as u32 + 1)
}

/// The diagnostics as a user reads them: what is wrong, the place, the line with a label, the remedy. The files are those
/// of [`crate::language::files`].
pub fn render(diagnostics: &[Diagnostic], files: &[SourceFile], color: bool) -> String {
    let renderer = if color { Renderer::styled() } else { Renderer::plain() };
    let mut out = String::new();
    for (index, diagnostic) in diagnostics.iter().enumerate() {
        if index > 0 {
            out.push('\n');
        }
        out.push_str(&renderer.render(&[group(diagnostic, files)]));
        out.push('\n');
    }
    out
}

/// One diagnostic with the lines that it is about.
fn group<'a>(diagnostic: &'a Diagnostic, files: &'a [SourceFile]) -> Group<'a> {
    let title = Level::ERROR.primary_title(diagnostic.message.as_str());
    let mut group = Group::with_title(title);
    group = excerpt(group, files, diagnostic.span, &diagnostic.label, AnnotationKind::Primary);
    if let Some((span, label)) = &diagnostic.also {
        group = excerpt(group, files, *span, label, AnnotationKind::Context);
    }
    match &diagnostic.help {
        Some(help) => group.element(Level::HELP.message(help.as_str())),
        None => group,
    }
}

/// Adds the line of a place; of a span over several lines, the first.
fn excerpt<'a>(
    group: Group<'a>,
    files: &'a [SourceFile],
    span: Span,
    label: &'a str,
    kind: AnnotationKind,
) -> Group<'a> {
    let Some(file) = files.get(span.file as usize) else { return group };
    let excerpt = Excerpt::new(&file.text, span);
    let (line, column) = place(file, span);
    let annotation = kind.span(excerpt.marked).label(Some(label).filter(|label| !label.is_empty()));
    let snippet: Snippet<'a, Annotation<'a>> =
        Snippet::source(excerpt.text).line_start(line as usize).annotation(annotation);
    if excerpt.whole {
        return group.element(snippet.path(file.name.as_str()));
    }
    // The column can't be counted in the part that is shown.
    let origin = Origin::path(file.name.as_str()).line(line as usize).char_column(column as usize);
    group.element(origin).element(snippet)
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
