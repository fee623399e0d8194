//! What is wrong with a program, where, and what to do about it.

use std::borrow::Cow;
use std::ops::Range;

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};

use crate::source::{Source, Span, place, start_of_line};

/// Errors after which a parser or a compiler gives up.
pub const MOST_ERRORS: usize = 20;

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
    pub fn help(self, help: impl Into<String>) -> Diagnostic {
        self.help_if(Some(help))
    }

    /// With a remedy, if there is one.
    #[must_use]
    pub fn help_if(mut self, help: Option<impl Into<String>>) -> Diagnostic {
        self.help = help.map(Into::into);
        self
    }
}

/// The diagnostics as a user reads them: what is wrong, the place, the line with a label, the remedy. Places
/// are in `sources`.
pub fn render(diagnostics: &[Diagnostic], sources: &[Source], color: bool) -> String {
    let renderer = if color { Renderer::styled() } else { Renderer::plain() };
    let mut out = String::new();
    for (index, diagnostic) in diagnostics.iter().enumerate() {
        if index > 0 {
            out.push('\n');
        }
        out.push_str(&renderer.render(&[group(diagnostic, sources)]));
        out.push('\n');
    }
    out
}

/// One diagnostic with the lines that it is about.
fn group<'a>(diagnostic: &'a Diagnostic, sources: &'a [Source]) -> Group<'a> {
    let mut group = Group::with_title(Level::ERROR.primary_title(diagnostic.message.as_str()));
    group = with_excerpt(group, sources, diagnostic.span, &diagnostic.label, AnnotationKind::Primary);
    if let Some((span, label)) = &diagnostic.also {
        group = with_excerpt(group, sources, *span, label, AnnotationKind::Context);
    }
    match &diagnostic.help {
        Some(help) => group.element(Level::HELP.message(help.as_str())),
        None => group,
    }
}

/// Adds the line of a place; of a span over several lines, the first.
fn with_excerpt<'a>(
    group: Group<'a>,
    sources: &'a [Source],
    span: Span,
    label: &'a str,
    kind: AnnotationKind,
) -> Group<'a> {
    let Some(source) = sources.get(span.file as usize) else { return group };
    let excerpt = Excerpt::new(&source.text, span);
    let (line, column) = place(source, span);
    let annotation = kind.span(excerpt.marked).label(Some(label).filter(|label| !label.is_empty()));
    let snippet = Snippet::source(excerpt.text).line_start(line as usize).annotation(annotation);
    if excerpt.whole {
        return group.element(snippet.path(source.name.as_str()));
    }
    // The column can't be counted in the part that is shown.
    let origin = Origin::path(source.name.as_str()).line(line as usize).char_column(column as usize);
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
        let boundary = |at: usize| text.floor_char_boundary(at);
        let start = boundary(span.start as usize);
        let from = start_of_line(&text[..start]);
        let rest = text[start..].split('\n').next().unwrap_or_default();
        let to = start + rest.trim_end_matches('\r').len();
        let end = boundary(span.end as usize).clamp(start, to);
        if to - from <= LONGEST_LINE {
            let marked = start - from..end - from;
            return Excerpt { text: Cow::Borrowed(&text[from..to]), marked, whole: true };
        }
        let left = boundary(start.saturating_sub(WINDOW)).max(from);
        let right = boundary(start + WINDOW).min(to);
        let before = if left > from { "..." } else { "" };
        let after = if right < to { "..." } else { "" };
        let offset = |at: usize| at.min(right) - left + before.len();
        let marked = offset(start)..offset(end);
        Excerpt { text: Cow::Owned(format!("{before}{}{after}", &text[left..right])), marked, whole: false }
    }
}
