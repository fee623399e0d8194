//! Rust source as tokens, as far as names need it: words, operators, brackets; comments and literals are left
//! out.

/// The operators of two characters that must not be taken for two of one.
const PAIRS: [&str; 14] =
    ["::", "==", "!=", "<=", ">=", "=>", "->", "+=", "-=", "*=", "/=", "|=", "&=", "^="];

/// The tokens of a text. One that is not Rust gives tokens too, which mean nothing.
pub(super) fn read(text: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = if first.is_whitespace() {
            first.len_utf8()
        } else if let Some(length) = comment(rest).or_else(|| literal(rest)) {
            length
        } else {
            let length = word(rest).or_else(|| pair(rest)).unwrap_or(first.len_utf8());
            tokens.push(&rest[..length]);
            length
        };
        rest = &rest[length..];
    }
    tokens
}

fn comment(text: &str) -> Option<usize> {
    if text.starts_with("//") {
        return Some(text.find('\n').unwrap_or(text.len()));
    }
    text.strip_prefix("/*")?;
    let mut depth = 0;
    let mut at = 0;
    while at < text.len() {
        match &text.as_bytes()[at..] {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return Some(at);
        }
    }
    Some(text.len())
}

/// The length of a string or a character.
fn literal(text: &str) -> Option<usize> {
    let after = text.trim_start_matches(['b', 'c']);
    let prefix = text.len() - after.len();
    if prefix > 1 {
        return None;
    }
    let length = match after.strip_prefix('r') {
        Some(raw) => 1 + raw_string(raw)?,
        None => quoted(after, '"').or_else(|| character(after))?,
    };
    Some(prefix + length)
}

fn raw_string(text: &str) -> Option<usize> {
    let hashes = text.len() - text.trim_start_matches('#').len();
    let body = text[hashes..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    Some(hashes + 1 + body.find(&end).map_or(body.len(), |at| at + end.len()))
}

fn quoted(text: &str, quote: char) -> Option<usize> {
    text.strip_prefix(quote)?;
    let mut escaped = false;
    for (at, character) in text.char_indices().skip(1) {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return Some(at + 1),
            _ => {}
        }
    }
    Some(text.len())
}

/// A character, which is told from a lifetime by its end.
fn character(text: &str) -> Option<usize> {
    let rest = text.strip_prefix('\'')?;
    let first = rest.chars().next()?;
    if first == '\\' {
        return quoted(text, '\'');
    }
    rest[first.len_utf8()..].starts_with('\'').then_some(first.len_utf8() + 2)
}

fn word(text: &str) -> Option<usize> {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    (end > 0).then_some(end)
}

fn pair(text: &str) -> Option<usize> {
    PAIRS.iter().any(|pair| text.starts_with(pair)).then_some(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_are_left_out() {
        for (text, expected) in [
            ("let x = 1;", vec!["let", "x", "=", "1", ";"]),
            ("a // b\nc", vec!["a", "c"]),
            ("a /* b /* { */ } */ c", vec!["a", "c"]),
            (r#"f("a\"(", b"{")"#, vec!["f", "(", ",", ")"]),
            (r###"f(r#"a"("#, br"\")"###, vec!["f", "(", ",", ")"]),
            (r"f('(', '\'', 'a')", vec!["f", "(", ",", ",", ")"]),
            ("&'a str", vec!["&", "'", "a", "str"]),
            ("a == b => c::d", vec!["a", "==", "b", "=>", "c", "::", "d"]),
            ("bcb crate r b", vec!["bcb", "crate", "r", "b"]),
            ("\"not ended", vec![]),
            ("é = \u{1F600}", vec!["é", "=", "\u{1F600}"]),
        ] {
            assert_eq!(read(text), expected, "{text}");
        }
    }
}
