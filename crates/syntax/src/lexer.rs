//! Text into tokens.
//!
//! The whole file is cut up before it is parsed. What is no token (a stray character, a text or a comment
//! without an end) is reported here and stands in the stream as [`Token::WRONG`], where the parser says no
//! more about it. The stream always ends with [`Token::END`].

use logos::{Lexer, Logos, Skip};

use crate::{Diagnostic, Span};

/// A token of a language, as [`tokens`](crate::tokens) declares it; what names, numbers and texts say is in
/// the source.
pub trait Token: TokenWords + Eq + for<'s> Logos<'s, Source = str, Extras = (), Error = Fault> {
    /// A name.
    const NAME: Self;
    /// `;`
    const SEMICOLON: Self;
    /// `,`
    const COMMA: Self;
    /// `}`
    const CLOSE_BRACE: Self;
    /// Something that has been reported already.
    const WRONG: Self;
    /// The end of the file.
    const END: Self;

    /// How messages call it, of tokens that are called the same wherever they stand.
    fn words(self) -> Option<&'static str>;
}

/// What a language says of its tokens.
pub trait TokenWords: Copy {
    /// How messages call a token that is neither of a fixed text nor of those that all languages have.
    fn called(self) -> Option<&'static str> {
        None
    }

    /// Whether it is a name of another kind than [`Token::NAME`].
    fn is_other_name(self) -> bool {
        false
    }

    /// What to do about a token that other languages have, where it is not expected.
    fn remedy(self, _text: &str) -> Option<&'static str> {
        None
    }

    /// What to do about a character that begins no token, where this language has more to say than others.
    fn remedy_of_character(_character: char) -> Option<&'static str> {
        None
    }
}

/// Declares the tokens of a language: first those that are always the same text, then the others with their
/// patterns, among them `Name`, `Text`, `Wrong` and `End`. White space and comments of one line are skipped.
#[macro_export]
macro_rules! tokens {
    (
        $(#[$attribute:meta])*
        $visibility:vis enum $name:ident {
            fixed { $($text:tt $fixed:ident,)* }
            $($others:tt)*
        }
    ) => {
        $(#[$attribute])*
        #[derive(logos::Logos, Clone, Copy, Debug, PartialEq, Eq)]
        #[logos(error = $crate::Fault)]
        #[logos(skip r"[ \t\r\n\f]+")]
        #[logos(skip(r"//[^\n]*", allow_greedy = true))]
        $visibility enum $name {
            $(#[token($text)] $fixed,)*
            $($others)*
        }

        impl $crate::Token for $name {
            const NAME: $name = $name::Name;
            const SEMICOLON: $name = $name::Semicolon;
            const COMMA: $name = $name::Comma;
            const CLOSE_BRACE: $name = $name::CloseBrace;
            const WRONG: $name = $name::Wrong;
            const END: $name = $name::End;

            fn words(self) -> Option<&'static str> {
                match self {
                    $($name::$fixed => Some(concat!("`", $text, "`")),)*
                    $name::Text => Some("a text"),
                    $name::End => Some("the end of the file"),
                    other => $crate::TokenWords::called(other),
                }
            }
        }
    };
}

/// Why something is no token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fault {
    /// A character that begins no token.
    #[default]
    Character,
    /// What looks like a token and is none.
    Malformed(&'static Malformed),
}

/// What is said of something that looks like a token and is none.
#[derive(Debug, PartialEq, Eq)]
pub struct Malformed {
    /// What is wrong, in one line.
    pub message: &'static str,
    /// What to write beneath it.
    pub label: &'static str,
    /// What to do about it.
    pub help: &'static str,
    /// How many bytes at its beginning are pointed at; none: all of it.
    pub marked: Option<u32>,
    /// Whether its end is missing, so that it may have swallowed what is missed after it.
    pub unclosed: bool,
}

const DIGITS: Malformed = Malformed {
    message: "a number consists of decimal digits only",
    label: "not a number",
    help: "names do not begin with a digit, and numbers have neither prefix, suffix nor `_`",
    marked: None,
    unclosed: false,
};

const COMMENT: Malformed = Malformed {
    message: "this comment has no end",
    label: "it begins here",
    help: "close it by `*/`; a comment of one line begins with `//`",
    marked: Some(2),
    unclosed: true,
};

const TEXT: Malformed = Malformed {
    message: "this text has no end",
    label: "there is no closing `\"` on this line",
    help: "close it by `\"`; a line break in a text is written `\\n`",
    marked: None,
    unclosed: true,
};

/// A token and its place.
#[derive(Clone, Copy, Debug)]
pub struct Lexeme<T> {
    /// The token.
    pub token: T,
    /// Where it stands.
    pub span: Span,
}

/// The tokens of a file.
pub(crate) struct Lexed<T> {
    pub(crate) lexemes: Vec<Lexeme<T>>,
    pub(crate) faults: Vec<Diagnostic>,
    /// Whether a text or a comment has no end, and may have swallowed what is missed after it.
    pub(crate) torn: bool,
}

/// All the tokens of a text that is short enough for spans, and what is wrong with it. At `limit` faults it
/// stops where it is.
pub(crate) fn lex<T: Token>(file: u32, text: &str, limit: usize) -> Lexed<T> {
    let mut lexemes = Vec::new();
    let mut faults: Vec<Diagnostic> = Vec::new();
    let mut lexer = T::lexer(text);
    // A byte order mark is layout, but only in front.
    if text.starts_with('\u{feff}') {
        lexer.bump('\u{feff}'.len_utf8());
    }
    let mut torn = false;
    let mut previous = None;
    while let Some(result) = lexer.next() {
        let range = lexer.span();
        let span = Span { file, start: range.start as u32, end: range.end as u32 };
        let fault = match result {
            Ok(token) => {
                lexemes.push(Lexeme { token, span });
                continue;
            }
            Err(fault) => fault,
        };
        lexemes.push(Lexeme { token: T::WRONG, span });
        match faults.last_mut() {
            // A run of strange characters is one fault.
            Some(last)
                if [previous, Some(fault)] == [Some(Fault::Character); 2] && last.span.end == span.start =>
            {
                last.span.end = span.end;
            }
            _ => faults.push(describe::<T>(fault, span, lexer.slice())),
        }
        previous = Some(fault);
        torn |= matches!(fault, Fault::Malformed(Malformed { unclosed: true, .. }));
        if faults.len() >= limit {
            break;
        }
    }
    let end = text.len() as u32;
    lexemes.push(Lexeme { token: T::END, span: Span { file, start: end, end } });
    Lexed { lexemes, faults, torn }
}

fn describe<T: Token>(fault: Fault, span: Span, slice: &str) -> Diagnostic {
    let Fault::Malformed(malformed) = fault else { return strange::<T>(span, slice) };
    let end = malformed.marked.map_or(span.end, |bytes| span.start + bytes);
    Diagnostic::new(Span { end, ..span }, malformed.message).label(malformed.label).help(malformed.help)
}

fn strange<T: Token>(span: Span, slice: &str) -> Diagnostic {
    let character = slice.chars().next().unwrap_or('?');
    // Those that can't be seen are named by their number.
    let shown =
        if character.is_ascii_graphic() { slice.to_string() } else { character.escape_debug().to_string() };
    let help = T::remedy_of_character(character).unwrap_or(match character {
        '\'' | '“' | '”' | '‘' | '’' => "a text stands between double quotes: `\"`",
        '#' => "a comment begins with `//`",
        '≠' => "write `!=`",
        '≤' => "write `<=`",
        '≥' => "write `>=`",
        '∧' => "write `&&`",
        '∨' => "write `||`",
        '¬' => "write `!`",
        _ => "remove it",
    });
    Diagnostic::new(span, format!("`{shown}` means nothing here")).label("not of the language").help(help)
}

/// For a pattern of `logos`: digits with letters among them, which are no number.
pub fn digits<'s, T: Logos<'s>>(_: &mut Lexer<'s, T>) -> Result<(), Fault> {
    Err(Fault::Malformed(&DIGITS))
}

/// For a pattern of `logos`: goes on to the end of a comment; the lexer stands after its `/*`.
pub fn comment<'s, T: Logos<'s, Source = str>>(lexer: &mut Lexer<'s, T>) -> Result<Skip, Fault> {
    let end = lexer.remainder().find("*/");
    lexer.bump(end.map_or(lexer.remainder().len(), |at| at + 2));
    end.map(|_| Skip).ok_or(Fault::Malformed(&COMMENT))
}

/// For a pattern of `logos`: goes on to the end of a text; the lexer stands after its first quote. Escapes
/// are looked into by the parser.
pub fn quoted<'s, T: Logos<'s, Source = str>>(lexer: &mut Lexer<'s, T>) -> Result<(), Fault> {
    scan(lexer, &TEXT, |byte| byte == b'"', |_| true, |byte| byte == b'\n')
}

/// Goes on behind the sign that closes something, unless it stops before; then the fault is `unclosed`. A
/// backslash escapes only some signs.
pub fn scan<'s, T: Logos<'s, Source = str>>(
    lexer: &mut Lexer<'s, T>,
    unclosed: &'static Malformed,
    closes: impl Fn(u8) -> bool,
    escapes: impl Fn(u8) -> bool,
    stops: impl Fn(u8) -> bool,
) -> Result<(), Fault> {
    let rest = lexer.remainder();
    let bytes = rest.as_bytes();
    let mut at = 0;
    while at < bytes.len() && !stops(bytes[at]) {
        if closes(bytes[at]) {
            lexer.bump(at + 1);
            return Ok(());
        }
        at += match bytes.get(at + 1) {
            Some(&next) if bytes[at] == b'\\' && escapes(next) && !stops(next) => {
                1 + rest[at + 1..].chars().next().map_or(1, char::len_utf8)
            }
            _ => 1,
        };
    }
    lexer.bump(at);
    Err(Fault::Malformed(unclosed))
}

/// What a text between quotes says, by the escapes of its language (the letter after the backslash, and what
/// it stands for); with the bytes of each escape that is none of them.
pub fn unescape(quoted: &str, escapes: &[(char, char)]) -> (String, Vec<std::ops::Range<usize>>) {
    let mut text = String::with_capacity(quoted.len());
    let mut unknown = Vec::new();
    let mut characters = quoted.char_indices();
    while let Some((at, character)) = characters.next() {
        if character != '\\' {
            text.push(character);
            continue;
        }
        let escaped = characters.next().map(|(_, escaped)| escaped);
        match escapes.iter().find(|(letter, _)| Some(*letter) == escaped) {
            Some((_, meant)) => text.push(*meant),
            None => unknown.push(at..at + 1 + escaped.map_or(0, char::len_utf8)),
        }
    }
    (text, unknown)
}
