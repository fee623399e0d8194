//! The cursor that a parser moves over the tokens of a file, with the errors that it has reported on its way.
//!
//! A parser reports at most one error for each token, and goes on behind it, so that one run tells several.
//! Neither what a file says nor how deeply it nests may make a parser panic, hang or overflow the stack: the
//! cursor never leaves the tokens, whose last is the end, and [`RecursiveDescent::nested`] limits the depth.

use std::ops::DerefMut;

use crate::diagnostic::{Diagnostic, MOST_ERRORS};
use crate::lexer::{Lexed, Lexeme, Token, lex};
use crate::source::Span;

/// How high the tree of an expression may be.
pub const MOST_HEIGHT: usize = 200;
/// How many parts of an expression may be open. A tree of the greatest height needs two for each node, one
/// for the operand and one for parentheses around it; so what is printed with no more parentheses than needed
/// can be read again.
const MOST_LEVELS: usize = 2 * MOST_HEIGHT + 8;
/// Bytes of a file.
const MOST_BYTES: usize = 16 << 20;

/// An error has been reported; whoever can go on behind it does.
pub struct Reported;

/// What was read, unless an error has been reported.
pub type Parsed<T> = Result<T, Reported>;

/// A place among the tokens of a file.
pub struct Cursor<'a, T> {
    file: u32,
    text: &'a str,
    /// Never empty: the last is [`Token::END`].
    lexemes: Vec<Lexeme<T>>,
    position: usize,
    diagnostics: Vec<Diagnostic>,
    /// Whether a text or a comment has no end.
    torn: bool,
    /// The position at which an error has been reported last.
    reported: Option<usize>,
    /// Parts of expressions that are open.
    levels: usize,
}

impl<'a, T: Token> Cursor<'a, T> {
    /// Stands at the first token of a text.
    ///
    /// # Errors
    ///
    /// If the text has more than 16 MiB; `help` is what to say then.
    pub fn new(file: u32, text: &'a str, help: &str) -> Result<Cursor<'a, T>, Vec<Diagnostic>> {
        if text.len() > MOST_BYTES {
            let message = format!("the file is too large: {} MiB", text.len() >> 20);
            return Err(vec![Diagnostic::new(Span { file, start: 0, end: 0 }, message).help(help)]);
        }
        let Lexed { lexemes, faults, torn } = lex(file, text, MOST_ERRORS);
        Ok(Cursor { file, text, lexemes, position: 0, diagnostics: faults, torn, reported: None, levels: 0 })
    }

    /// Whether so much is no token that the rest of the file has not been looked at, and errors about what is
    /// missing would be false.
    pub fn gave_up(&self) -> bool {
        self.diagnostics.len() >= MOST_ERRORS
    }

    /// What was wrong, in the order of the places.
    pub fn finish(self) -> Vec<Diagnostic> {
        let mut diagnostics = self.diagnostics;
        diagnostics.sort_by_key(|diagnostic| diagnostic.span.start);
        diagnostics.truncate(MOST_ERRORS);
        diagnostics
    }
}

/// The tokens.
impl<'a, T: Token> Cursor<'a, T> {
    /// The next token.
    pub fn peek(&self) -> T {
        self.lexemes[self.position].token
    }

    /// The token so many after the next.
    pub fn peek_at(&self, ahead: usize) -> T {
        self.lexemes.get(self.position + ahead).map_or(T::END, |lexeme| lexeme.token)
    }

    /// What the next token says.
    pub fn word(&self) -> &'a str {
        self.slice(self.span())
    }

    /// What the token says that stands so many after the next; nothing beyond the end.
    pub fn word_at(&self, ahead: usize) -> &'a str {
        self.lexemes.get(self.position + ahead).map_or("", |lexeme| self.slice(lexeme.span))
    }

    /// Whether this is the next token.
    pub fn at(&self, token: T) -> bool {
        self.peek() == token
    }

    /// Whether a word stands here that is a name elsewhere.
    pub fn at_word(&self, word: &str) -> bool {
        self.at(T::NAME) && self.word() == word
    }

    /// How many tokens are behind.
    pub fn position(&self) -> usize {
        self.position
    }

    /// Goes back to where it was.
    pub fn go_back(&mut self, position: usize) {
        self.position = position;
    }

    /// All tokens from a position on to the end.
    pub fn tokens_from(&self, position: usize) -> impl Iterator<Item = T> + '_ {
        self.lexemes[position..].iter().map(|lexeme| lexeme.token)
    }

    /// The place of the next token.
    pub fn span(&self) -> Span {
        self.lexemes[self.position].span
    }

    /// A place in this file.
    pub fn span_of(&self, start: u32, end: u32) -> Span {
        Span { file: self.file, start, end }
    }

    /// Where the token before ends.
    pub fn previous_end(&self) -> u32 {
        self.position.checked_sub(1).map_or(0, |before| self.lexemes[before].span.end)
    }

    /// From a place to the end of the token before.
    pub fn since(&self, start: u32) -> Span {
        self.span_of(start, self.previous_end().max(start))
    }

    /// The source at a place.
    pub fn slice(&self, span: Span) -> &'a str {
        &self.text[span.start as usize..span.end as usize]
    }

    /// Takes the next token; the end stays.
    pub fn bump(&mut self) -> Span {
        let span = self.span();
        if self.position + 1 < self.lexemes.len() {
            self.position += 1;
        }
        span
    }

    /// Takes the next token if it is this one.
    pub fn eat(&mut self, token: T) -> bool {
        let found = self.at(token);
        if found {
            self.bump();
        }
        found
    }

    /// Takes the next token if it is this word, which is a name elsewhere.
    pub fn eat_word(&mut self, word: &str) -> bool {
        self.at_word(word) && self.eat(T::NAME)
    }

    /// Whether the next token stands on a later line than the one before.
    pub fn at_new_line(&self) -> bool {
        let start = self.previous_end();
        let between = self.span_of(start, self.span().start.max(start));
        self.at(T::END) || self.slice(between).contains('\n')
    }

    /// Whether the next token is a word of the language.
    pub fn at_keyword(&self) -> bool {
        self.is_keyword_at(0)
    }

    /// Whether the token so many after the next is a word of the language.
    pub fn is_keyword_at(&self, ahead: usize) -> bool {
        let token = self.peek_at(ahead);
        token != T::NAME
            && token != T::WRONG
            && !token.is_other_name()
            && self.word_at(ahead).starts_with(|first: char| first.is_ascii_alphabetic())
    }
}

/// Errors.
impl<T: Token> Cursor<'_, T> {
    /// Whether nothing has been reported.
    pub fn is_clean(&self) -> bool {
        self.diagnostics.is_empty()
    }

    /// Whether a text or a comment has no end, and may have swallowed what is missed after it.
    pub fn is_torn(&self) -> bool {
        self.torn
    }

    /// Reports an error, unless it is no news: one has been reported here, or enough of them.
    pub fn report(&mut self, diagnostic: Diagnostic) -> Reported {
        let enough = 2 * MOST_ERRORS;
        let silent = self.reported == Some(self.position) || self.diagnostics.len() >= enough;
        if !silent && !self.at(T::WRONG) {
            self.diagnostics.push(diagnostic);
            self.reported = Some(self.position);
        }
        if self.diagnostics.len() >= enough {
            self.position = self.lexemes.len() - 1;
        }
        Reported
    }

    /// Reports an error that has nothing to do with the next token.
    pub fn report_apart(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }

    /// What the next token is, in words.
    pub fn found(&self) -> String {
        match self.peek().words() {
            Some(words) => words.to_string(),
            None => format!("`{}`", abbreviated(self.word())),
        }
    }

    /// Reports that something else should stand here.
    pub fn expected(&mut self, what: &str, help: Option<&str>) -> Reported {
        let diagnostic = Diagnostic::new(self.span(), format!("expected {what}, found {}", self.found()))
            .label(format!("expected {what}"))
            .help_if(help.or_else(|| self.peek().remedy(self.word())));
        self.report(diagnostic)
    }

    /// Takes the token, or reports that it is missing.
    pub fn expect(&mut self, token: T, help: Option<&str>) -> Parsed<Span> {
        if self.at(token) {
            return Ok(self.bump());
        }
        Err(self.expected(token.words().unwrap_or("something else"), help))
    }

    /// Takes the `;` at the end of a statement or declaration. If it is only forgotten, all goes on as if it
    /// were there.
    pub fn semicolon(&mut self) -> Parsed<()> {
        if self.eat(T::SEMICOLON) {
            return Ok(());
        }
        let forgotten = self.at_new_line() || self.at(T::CLOSE_BRACE) || self.at_keyword();
        if !forgotten {
            let help = match self.word() {
                "and" => Some("write `&&`"),
                "or" => Some("write `||`"),
                "mod" => Some("write `%`"),
                _ => None,
            };
            return Err(self.expected("`;`", help));
        }
        let end = self.previous_end();
        let diagnostic = Diagnostic::new(self.span_of(end, end), "a `;` is missing")
            .label("expected `;`")
            .help("every statement and declaration without a block ends with `;`");
        self.report(diagnostic);
        Ok(())
    }

    /// Whether a word of the language stands where a name should, and is to be taken for one; that is
    /// reported, with the word and `suffix` as a name to choose.
    pub fn mistakes_word_for_name(&mut self, what: &str, suffix: &str) -> bool {
        let word = self.word();
        let mistaken = self.at_keyword() && word != "in" && self.peek_at(1) != T::NAME;
        if mistaken {
            let message = format!("`{word}` is a word of the language and can't be a name");
            let diagnostic = Diagnostic::new(self.span(), message)
                .label(format!("expected {what}"))
                .help(format!("choose another name, such as `{word}{suffix}`"));
            self.report(diagnostic);
        }
        mistaken
    }
}

/// A parser by recursive descent: a cursor and the functions of a grammar.
pub trait RecursiveDescent<'a, T: Token>: DerefMut<Target = Cursor<'a, T>> + Sized {
    /// Reports that too much is open.
    fn too_deep(&mut self) -> Reported;

    /// Runs a part of the parser one level deeper, unless too many are open.
    fn nested<R>(&mut self, part: impl FnOnce(&mut Self) -> Parsed<R>) -> Parsed<R> {
        if self.levels == MOST_LEVELS {
            return Err(self.too_deep());
        }
        self.levels += 1;
        let result = part(self);
        self.levels -= 1;
        result
    }

    /// Elements with commas between them up to the closing token, which is taken too. A comma may stand after
    /// the last.
    fn list<E>(&mut self, close: T, mut element: impl FnMut(&mut Self) -> Parsed<E>) -> Parsed<Vec<E>> {
        let mut elements = Vec::new();
        while !self.at(close) {
            elements.push(element(self)?);
            if !self.eat(T::COMMA) && !self.at(close) {
                let close = close.words().unwrap_or("something else");
                return Err(self.expected(&format!("`,` or {close}"), None));
            }
        }
        self.bump();
        Ok(elements)
    }

    /// One or more elements with commas between them.
    fn several<E>(&mut self, mut element: impl FnMut(&mut Self) -> Parsed<E>) -> Parsed<Vec<E>> {
        let mut elements = vec![element(self)?];
        while self.eat(T::COMMA) {
            elements.push(element(self)?);
        }
        Ok(elements)
    }
}

/// A piece of the source, short enough to be quoted.
pub fn abbreviated(text: &str) -> String {
    const MOST: usize = 40;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_string(),
    }
}
