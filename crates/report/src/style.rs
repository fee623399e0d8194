//! Colour, and text that is safe to show.

use unicode_width::UnicodeWidthStr;

/// What a piece of text is, for those who see colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    Good,
    Bad,
    Doubtful,
    Heading,
    Faint,
}

/// Paints text, or leaves it as it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paint(pub bool);

impl Paint {
    pub(crate) fn paint(self, tone: Tone, text: &str) -> String {
        let code = match tone {
            Tone::Good => "1;32",
            Tone::Bad => "1;31",
            Tone::Doubtful => "1;33",
            Tone::Heading => "1",
            Tone::Faint => "2",
        };
        if self.0 && !text.is_empty() { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

/// The text on one line, without anything that a terminal would obey.
pub fn clean(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for character in text.trim().chars() {
        match character {
            '\n' | '\r' | '\t' => line.push(' '),
            c if c.is_control() => line.extend(c.escape_unicode()),
            c => line.push(c),
        }
    }
    line
}

/// The lines of a text, each without anything that a terminal would obey; what they are indented by stays.
pub(crate) fn clean_lines(text: &str) -> impl Iterator<Item = String> {
    text.lines().map(|line| {
        let indent = line.chars().take_while(|&c| c == ' ').count();
        format!("{:indent$}{}", "", clean(line))
    })
}

/// An operation with more characters than this is shown in part.
const LONGEST_OPERATION: usize = 240;

/// An operation on one line: it may quote as much of the program as its author liked to write.
pub(crate) fn short_operation(text: &str) -> String {
    let line = clean(text);
    match line.char_indices().nth(LONGEST_OPERATION) {
        Some((end, _)) => format!("{} ...", &line[..end]),
        None => line,
    }
}

/// How many columns of a terminal the text takes.
pub(crate) fn width(text: &str) -> usize {
    UnicodeWidthStr::width(text)
}

/// The text, filled up to so many columns.
pub(crate) fn pad(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(width(text))))
}

/// The text on lines of at most so many columns, broken between words, or within a word that is too long for
/// a line.
pub(crate) fn fill(text: &str, columns: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("there is always a line");
        if !line.is_empty() && width(line) + 1 + width(word) <= columns {
            *line += &format!(" {word}");
            continue;
        }
        if !line.is_empty() {
            lines.push(String::new());
        }
        for character in word.chars() {
            let line = lines.last_mut().expect("there is always a line");
            let mut bytes = [0; 4];
            let character: &str = character.encode_utf8(&mut bytes);
            if !line.is_empty() && width(line) + width(character) > columns {
                lines.push(character.to_owned());
            } else {
                line.push_str(character);
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_a_terminal_obeys_is_left() {
        assert_eq!(clean("a\n b\x1b[31m"), "a  b\\u{1b}[31m");
    }

    #[test]
    fn lines_keep_their_indent() {
        let lines: Vec<String> = clean_lines("  left: 1\n right: \x1b2\n").collect();
        assert_eq!(lines, ["  left: 1", " right: \\u{1b}2"]);
    }

    #[test]
    fn filled_lines_fit() {
        assert_eq!(fill("short", 5), ["short"]);
        assert_eq!(fill("x = a + b", 6), ["x = a", "+ b"]);
        assert_eq!(fill("x = abcdefgh", 4), ["x =", "abcd", "efgh"]);
        assert_eq!(fill("日本語日本語", 8), ["日本語日", "本語"]);
        assert_eq!(fill("", 8), [""]);
        assert_eq!(width(&pad("日本", 6)), 6);
    }
}
