//! Text into tokens.
//!
//! The whole file is cut up before it is parsed. What is no token (a stray character, a text or a comment
//! without an end) is reported here and stands in the stream as [`Token::Wrong`], where the parser says no
//! more about it. The stream always ends with [`Token::End`].

use logos::{Lexer, Logos, Skip};

use crate::ast::Span;
use crate::diagnostic::Diagnostic;

/// A token; what names, numbers and texts say is in the source.
#[derive(Logos, Clone, Copy, Debug, PartialEq, Eq)]
#[logos(error = Fault)]
#[logos(skip r"[ \t\r\n\f]+")]
#[logos(skip(r"//[^\n]*", allow_greedy = true))]
pub(crate) enum Token {
    #[token("param")]
    Param,
    #[token("const")]
    Const,
    #[token("var")]
    Var,
    #[token("lock")]
    Lock,
    #[token("condvar")]
    Condvar,
    #[token("process")]
    Process,
    #[token("task")]
    Task,
    #[token("let")]
    Let,
    #[token("fetch_add")]
    FetchAdd,
    #[token("swap")]
    Swap,
    #[token("cas")]
    Cas,
    #[token("unlock")]
    Unlock,
    #[token("try_lock")]
    TryLock,
    #[token("wait")]
    Wait,
    #[token("notify_one")]
    NotifyOne,
    #[token("notify_all")]
    NotifyAll,
    #[token("await")]
    Await,
    #[token("spawn")]
    Spawn,
    #[token("join")]
    Join,
    #[token("send")]
    Send,
    #[token("receive")]
    Receive,
    #[token("timeout")]
    Timeout,
    #[token("choose")]
    Choose,
    #[token("assert")]
    Assert,
    #[token("assume")]
    Assume,
    #[token("skip")]
    Skip,
    #[token("if")]
    If,
    #[token("else")]
    Else,
    #[token("while")]
    While,
    #[token("for")]
    For,
    #[token("in")]
    In,
    #[token("break")]
    Break,
    #[token("continue")]
    Continue,
    #[token("atomic")]
    Atomic,
    #[token("true")]
    True,
    #[token("false")]
    False,

    #[regex(r"[A-Za-z_][A-Za-z0-9_]*")]
    #[regex(r"[\p{XID_Start}_]\p{XID_Continue}*", strange_name, priority = 1)]
    Name,
    #[token("_", priority = 10)]
    Underscore,
    #[regex(r"[0-9]+")]
    #[regex(r"[0-9][0-9A-Za-z_]*[A-Za-z_][0-9A-Za-z_]*", digits)]
    #[regex(r"[0-9]+\.[0-9]+", fraction)]
    Number,
    #[token("\"", text)]
    Text,

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
    #[token("?")]
    Question,
    #[token("=>")]
    Arrow,
    #[token("..")]
    Range,
    #[token("..=")]
    RangeInclusive,
    #[token("=")]
    Assign,
    #[token("+=")]
    AddAssign,
    #[token("-=")]
    SubAssign,
    #[token("||")]
    Or,
    #[token("&&")]
    And,
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

    /// An operator of other languages, for which the parser knows what to say.
    #[regex(r"&|\||\^|~|<<|>>|===|!==|<>|=<|\+\+|\*\*|\*=|/=|%=|:=|->")]
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
    Fraction,
    Comment,
    Text,
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

/// All the tokens of a text that is short enough for spans, and what is wrong with it. At `limit` faults it
/// stops where it is.
pub(crate) fn lex(text: &str, limit: usize) -> Lexed {
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
        let span = Span { start: range.start as u32, end: range.end as u32 };
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
        torn |= matches!(fault, Fault::Text | Fault::Comment);
        if faults.len() >= limit {
            break;
        }
    }
    let end = text.len() as u32;
    lexemes.push(Lexeme { token: Token::End, span: Span { start: end, end } });
    Lexed { lexemes, faults, torn }
}

fn describe(fault: Fault, span: Span, slice: &str) -> Diagnostic {
    match fault {
        Fault::Character => strange(span, slice),
        Fault::Name => Diagnostic::new(span, "a name has a strange letter")
            .label("not a name")
            .help("names consist of the letters `a` to `z` and `A` to `Z`, digits and `_`"),
        Fault::Digits => Diagnostic::new(span, "a number consists of decimal digits only")
            .label("not a number")
            .help("names do not begin with a digit, and numbers have neither prefix, suffix nor `_`"),
        Fault::Fraction => Diagnostic::new(span, "all numbers are whole")
            .label("a number with a fraction")
            .help("a range is written with two dots: `0..5`"),
        Fault::Comment => Diagnostic::new(Span { end: span.start + 2, ..span }, "this comment has no end")
            .label("it begins here")
            .help("close it by `*/`; a comment of one line begins with `//`"),
        Fault::Text => Diagnostic::new(span, "this text has no end")
            .label("there is no closing `\"` on this line")
            .help("close it by `\"`; a line break in a text is written `\\n`"),
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
        ':' => diagnostic.help("there are no types; a value is given by `=`"),
        '.' => diagnostic.help("a range is written with two dots: `0..5`"),
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

fn fraction(_: &mut Lexer<Token>) -> Result<(), Fault> {
    Err(Fault::Fraction)
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

/// Goes on to the end of a text; the lexer stands after its first quote. Escapes are looked into by the
/// parser.
fn text(lexer: &mut Lexer<Token>) -> Result<(), Fault> {
    let rest = lexer.remainder().as_bytes();
    let mut at = 0;
    while at < rest.len() {
        match rest[at] {
            b'"' => {
                lexer.bump(at + 1);
                return Ok(());
            }
            b'\n' => break,
            b'\\' if rest.get(at + 1).is_some_and(|next| *next != b'\n') => {
                at += 1 + lexer.remainder()[at + 1..].chars().next().map_or(1, char::len_utf8);
            }
            _ => at += 1,
        }
    }
    lexer.bump(at);
    Err(Fault::Text)
}
