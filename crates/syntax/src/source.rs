//! Source files and places in them.

/// A source file.
#[derive(Clone, Debug, Default)]
pub struct Source {
    /// The name, as the user gave it.
    pub name: String,
    /// The text.
    pub text: String,
}

/// A place: a stretch of a source file, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// Which file, by its index among those of the program.
    pub file: u32,
    /// The first byte.
    pub start: u32,
    /// The byte after the last.
    pub end: u32,
}

/// The line and the column of the first character of a span, both from 1; the column counts characters. A
/// span that lies beyond the text stands at its end.
pub fn place(source: &Source, span: Span) -> (u32, u32) {
    let before = &source.text[..source.text.floor_char_boundary(span.start as usize)];
    let line = before.bytes().filter(|byte| *byte == b'\n').count();
    let column = before[start_of_line(before)..].chars().count();
    (line as u32 + 1, column as u32 + 1)
}

/// Where the last line of a text begins.
pub(crate) fn start_of_line(text: &str) -> usize {
    text.rfind('\n').map_or(0, |newline| newline + 1)
}
