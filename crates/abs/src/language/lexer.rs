//! Text into tokens.
//!
//! The whole file is cut up before it is parsed. What is no token (a stray character, a text or a comment without an
//! end) is reported here and stands in the stream as [`Token::Wrong`], where the parser says no more about it. The
//! stream always ends with [`Token::End`].
//!
//! Only words that the grammar needs are tokens of their own. The others (`get`, `local`, `from`, `as`, `uses`, ..) are
//! names that the parser knows at their places, so that old programs may have variables of these names.

use logos::{Lexer, Logos, Skip};

use super::diagnostic::Diagnostic;
use crate::model::Span;

/// A token; what names, numbers and texts say is in the source.
#[derive(Logos, Clone, Copy, Debug, PartialEq, Eq)]
#[logos(error = Fault)]
#[logos(skip r"[ \t\r\n\f]+")]
#[logos(skip(r"//[^\n]*", allow_greedy = true))]
pub(crate) enum Token {
    #[token("module")]
    Module,
    #[token("import")]
    Import,
    #[token("export")]
    Export,
    #[token("data")]
    Data,
    #[token("type")]
    Type,
    #[token("exception")]
    Exception,
    #[token("def")]
    Def,
    #[token("interface")]
    Interface,
    #[token("class")]
    Class,
    #[token("if")]
    If,
    #[token("then")]
    Then,
    #[token("else")]
    Else,
    #[token("when")]
    When,
    #[token("case")]
    Case,
    #[token("switch")]
    Switch,
    #[token("while")]
    While,
    #[token("foreach")]
    Foreach,
    #[token("try")]
    Try,
    #[token("catch")]
    Catch,
    #[token("finally")]
    Finally,
    #[token("throw")]
    Throw,
    #[token("await")]
    Await,
    #[token("suspend")]
    Suspend,
    #[token("skip")]
    Skip,
    #[token("return")]
    Return,
    #[token("assert")]
    Assert,
    #[token("new")]
    New,
    #[token("null")]
    Null,
    #[token("this")]
    This,
    #[token("let")]
    Let,
    #[token("in")]
    In,
    #[token("builtin")]
    Builtin,

    /// Of a variable, a function, a method.
    #[regex(r"[a-z][A-Za-z0-9_]*")]
    #[regex(r"[\p{XID_Start}_]\p{XID_Continue}*", strange_name, priority = 1)]
    Name,
    /// Of a type, a constructor, a class, a module.
    #[regex(r"[A-Z][A-Za-z0-9_]*")]
    TypeName,
    #[token("_", priority = 10)]
    Underscore,
    #[regex(r"[0-9]+")]
    #[regex(r"[0-9][0-9A-Za-z_]*[A-Za-z_][0-9A-Za-z_]*", digits)]
    Number,
    #[regex(r"[0-9]*\.[0-9]+([eE][+-]?[0-9]+)?")]
    Fraction,
    #[token("\"", text)]
    Text,
    /// A part of a template: begins with a back quote or `$`, ends with a back quote or `$`.
    #[token("`", template)]
    #[token("$", template)]
    Template,

    #[token("(")]
    OpenParen,
    #[token(")")]
    CloseParen,
    #[token("[")]
    OpenBracket,
    #[token("]")]
    CloseBracket,
    #[token("{")]
    OpenBrace,
    #[token("}")]
    CloseBrace,
    #[token(";")]
    Semicolon,
    #[token(",")]
    Comma,
    #[token(":")]
    Colon,
    #[token(".")]
    Dot,
    #[token("?")]
    Question,
    #[token("=>")]
    Arrow,
    #[token("=")]
    Assign,
    #[token("||")]
    Or,
    #[token("|")]
    Bar,
    #[token("&&")]
    And,
    #[token("&")]
    Ampersand,
    #[token("==")]
    Equal,
    #[token("!=")]
    NotEqual,
    #[token("<")]
    Less,
    #[token("<=")]
    LessEqual,
    #[token(">")]
    Greater,
    #[token(">=")]
    GreaterEqual,
    #[token("+")]
    Plus,
    #[token("-")]
    Minus,
    #[token("*")]
    Star,
    #[token("/")]
    Slash,
    #[token("%")]
    Percent,
    #[token("!")]
    Bang,
    /// The negation, as it was.
    #[token("~")]
    Tilde,

    /// An operator of other languages, for which the parser knows what to say.
    #[regex(r"\^|<<|===|!==|<>|=<|\+\+|\*\*|\+=|-=|\*=|/=|%=|:=|->|<->|::")]
    Foreign,

    /// Something that has been reported already.
    #[token("/*", comment)]
    Wrong,
    /// The end of the file.
    End,
}

/// Why something is no token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Fault {
    #[default]
    Character,
    Name,
    Digits,
    Comment,
    Text,
    Template,
}

/// A token and its place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lexeme {
    pub(crate) token: Token,
    pub(crate) span: Span,
}

/// The tokens of a file.
pub(crate) struct Lexed {
    pub(crate) lexemes: Vec<Lexeme>,
    pub(crate) faults: Vec<Diagnostic>,
    /// Whether a text or a comment has no end, and may have swallowed what is missed after it.
    pub(crate) torn: bool,
}

/// All the tokens of a text that is short enough for spans, and what is wrong with it. At `limit` faults it stops where
/// it is.
pub(crate) fn lex(file: u32, text: &str, limit: usize) -> Lexed {
    let mut lexemes: Vec<Lexeme> = Vec::new();
    let mut faults: Vec<Diagnostic> = Vec::new();
    let mut lexer = Token::lexer(text);
    // A byte order mark is layout, but only in front.
    if text.starts_with('\u{feff}') {
        lexer.bump('\u{feff}'.len_utf8());
    }
    let mut torn = false;
    let mut previous = Fault::Comment;
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
        lexemes.push(Lexeme { token: Token::Wrong, span });
        match faults.last_mut() {
            // A run of strange characters is one fault.
            Some(last) if [previous, fault] == [Fault::Character; 2] && last.span.end == span.start => {
                last.span.end = span.end;
            }
            _ => faults.push(describe(fault, span, lexer.slice())),
        }
        previous = fault;
        torn |= matches!(fault, Fault::Text | Fault::Comment | Fault::Template);
        if faults.len() >= limit {
            break;
        }
    }
    let end = text.len() as u32;
    lexemes.push(Lexeme { token: Token::End, span: Span { file, start: end, end } });
    Lexed { lexemes, faults, torn }
}

fn describe(fault: Fault, span: Span, slice: &str) -> Diagnostic {
    let begin = |length| Span { end: span.start + length, ..span };
    match fault {
        Fault::Character => strange(span, slice),
        Fault::Name => Diagnostic::new(span, "a name has a strange letter").label("not a name").help(
            "names begin with a letter and consist of the letters `a` to `z` and `A` to `Z`, digits and `_`",
        ),
        Fault::Digits => Diagnostic::new(span, "a number consists of decimal digits only")
            .label("not a number")
            .help("names do not begin with a digit, and numbers have neither prefix, suffix nor `_`"),
        Fault::Comment => Diagnostic::new(begin(2), "this comment has no end")
            .label("it begins here")
            .help("close it by `*/`; a comment of one line begins with `//`"),
        Fault::Text => Diagnostic::new(span, "this text has no end")
            .label("there is no closing `\"` on this line")
            .help("close it by `\"`; a line break in a text is written `\\n`"),
        Fault::Template => Diagnostic::new(begin(1), "this template has no end")
            .label("it begins here")
            .help("close it by a back quote; what is computed stands between two `$`"),
    }
}

fn strange(span: Span, slice: &str) -> Diagnostic {
    let character = slice.chars().next().unwrap_or('?');
    // Those that can't be seen are named by their number.
    let shown =
        if character.is_ascii_graphic() { slice.to_string() } else { character.escape_debug().to_string() };
    let diagnostic =
        Diagnostic::new(span, format!("`{shown}` means nothing here")).label("not of the language");
    match character {
        '\'' | '“' | '”' | '‘' | '’' => diagnostic.help("a text stands between double quotes: `\"`"),
        '#' => diagnostic.help("a comment begins with `//`"),
        '≠' => diagnostic.help("write `!=`"),
        '≤' => diagnostic.help("write `<=`"),
        '≥' => diagnostic.help("write `>=`"),
        '∧' => diagnostic.help("write `&&`"),
        '∨' => diagnostic.help("write `||`"),
        '¬' => diagnostic.help("write `!`"),
        _ => diagnostic.help("remove it"),
    }
}

fn strange_name(_: &mut Lexer<Token>) -> Result<(), Fault> {
    Err(Fault::Name)
}

fn digits(_: &mut Lexer<Token>) -> Result<(), Fault> {
    Err(Fault::Digits)
}

/// Goes on to the end of a comment; the lexer stands after its `/*`.
fn comment(lexer: &mut Lexer<Token>) -> Result<Skip, Fault> {
    match lexer.remainder().find("*/") {
        Some(at) => {
            lexer.bump(at + 2);
            Ok(Skip)
        }
        None => {
            lexer.bump(lexer.remainder().len());
            Err(Fault::Comment)
        }
    }
}

/// Goes on to the end of a text; the lexer stands after its first quote. Escapes are looked into by the parser.
fn text(lexer: &mut Lexer<Token>) -> Result<(), Fault> {
    let length = until(lexer.remainder(), |byte| byte == b'"', |_| true, |byte| byte == b'\n');
    lexer.bump(length.unwrap_or_else(|stopped| stopped));
    length.map(|_| ()).map_err(|_| Fault::Text)
}

/// Goes on to the end of a part of a template; the lexer stands after the sign it begins with.
fn template(lexer: &mut Lexer<Token>) -> Result<(), Fault> {
    let closes = |byte| byte == b'`' || byte == b'$';
    let length = until(lexer.remainder(), closes, closes, |_| false);
    lexer.bump(length.unwrap_or_else(|stopped| stopped));
    length.map(|_| ()).map_err(|_| Fault::Template)
}

/// The number of bytes up to the closing sign, that one included; or up to where it stops without one. A backslash
/// escapes only some signs.
fn until(
    rest: &str,
    closes: impl Fn(u8) -> bool,
    escapes: impl Fn(u8) -> bool,
    stops: impl Fn(u8) -> bool,
) -> Result<usize, usize> {
    let bytes = rest.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let byte = bytes[at];
        if closes(byte) {
            return Ok(at + 1);
        }
        if stops(byte) {
            return Err(at);
        }
        at += match bytes.get(at + 1) {
            Some(&next) if byte == b'\\' && escapes(next) && !stops(next) => {
                1 + rest[at + 1..].chars().next().map_or(1, char::len_utf8)
            }
            _ => 1,
        };
    }
    Err(at)
}
