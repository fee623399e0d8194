//! Tokens into a syntax tree, by recursive descent.
//!
//! After an error the parser goes on behind the next `;`, before the next `}` that closes nothing it has skipped, or
//! before a word that begins a declaration, so that one run reports several errors; at most one for each token, and at
//! most [`MOST_ERRORS`]. Neither what a file says nor how deeply it nests may make it panic, hang or overflow the stack:
//! every loop consumes a token or ends, and the depth of statements and of expressions is limited. The limit on expressions
//! is on the tree, not only on what the parser has open, as a long sum is a deep tree too and whoever walks it later will
//! recurse.

mod declaration;
mod expr;
mod member;
mod stmt;

use super::MOST_ERRORS;
use super::ast::{Expr, Module, Name, Path};
use super::diagnostic::Diagnostic;
use super::lexer::{Lexed, Lexeme, Token, lex};
use crate::model::Span;

/// Statements within statements.
const MOST_BLOCKS: usize = 100;
/// Bytes of a file.
const MOST_BYTES: usize = 16 << 20;

/// What a file says.
pub(crate) struct Parsed<'a> {
    pub(crate) modules: Vec<Module<'a>>,
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// Whether it has what only the legacy dialect has.
    pub(crate) legacy: bool,
}

/// Reads a file.
pub(crate) fn parse(file: u32, text: &str) -> Parsed<'_> {
    let Some((mut parser, legacy)) = Parser::new(file, text) else {
        return Parsed { modules: Vec::new(), diagnostics: vec![too_large(file, text)], legacy: false };
    };
    // The rest of the file is missing then, and errors about that would be false.
    let modules = if parser.diagnostics.len() >= MOST_ERRORS { Vec::new() } else { parser.file() };
    Parsed { modules, diagnostics: parser.finish(), legacy }
}

/// Reads an expression without effects that stands alone.
pub(crate) fn parse_expr(file: u32, text: &str) -> Result<Expr<'_>, Vec<Diagnostic>> {
    let Some((mut parser, _)) = Parser::new(file, text) else { return Err(vec![too_large(file, text)]) };
    let expr = parser.expr();
    if expr.is_ok() && !parser.at(Token::End) {
        parser.expected("the end of the expression", None);
    }
    let diagnostics = parser.finish();
    expr.ok().filter(|_| diagnostics.is_empty()).ok_or(diagnostics)
}

fn too_large(file: u32, text: &str) -> Diagnostic {
    let span = Span { file, start: 0, end: 0 };
    Diagnostic::new(span, format!("the file is too large: {} MiB", text.len() >> 20))
        .help("a file of a program has at most 16 MiB")
}

/// An error has been reported; whoever can go on behind it does.
struct Reported;

type Result_<T> = Result<T, Reported>;

struct Parser<'a> {
    file: u32,
    text: &'a str,
    /// Never empty: the last is [`Token::End`].
    lexemes: Vec<Lexeme>,
    position: usize,
    diagnostics: Vec<Diagnostic>,
    /// Whether a text or a comment has no end.
    torn: bool,
    /// The position at which an error has been reported last.
    reported: Option<usize>,
    /// Parts of expressions, types and patterns that are open.
    levels: usize,
    /// Statements that are open.
    blocks: usize,
}

impl<'a> Parser<'a> {
    /// A parser of a text, and whether the text is of the legacy dialect; none if it is too large.
    fn new(file: u32, text: &'a str) -> Option<(Parser<'a>, bool)> {
        if text.len() > MOST_BYTES {
            return None;
        }
        let Lexed { lexemes, faults, torn } = lex(file, text, MOST_ERRORS);
        let parser = Parser {
            file,
            text,
            lexemes,
            position: 0,
            diagnostics: faults,
            torn,
            reported: None,
            levels: 0,
            blocks: 0,
        };
        let new_cog = |pair: &[Lexeme]| pair[0].token == Token::New && parser.slice(pair[1].span) == "cog";
        let legacy = parser.lexemes.windows(2).any(new_cog);
        Some((parser, legacy))
    }

    /// What was wrong, in the order of the places.
    fn finish(self) -> Vec<Diagnostic> {
        let mut diagnostics = self.diagnostics;
        diagnostics.sort_by_key(|diagnostic| diagnostic.span.start);
        diagnostics.truncate(MOST_ERRORS);
        diagnostics
    }
}

/// The tokens.
impl<'a> Parser<'a> {
    fn peek(&self) -> Token {
        self.lexemes[self.position].token
    }

    fn peek_at(&self, ahead: usize) -> Token {
        self.lexemes.get(self.position + ahead).map_or(Token::End, |lexeme| lexeme.token)
    }

    fn at(&self, token: Token) -> bool {
        self.peek() == token
    }

    /// Whether a word stands here that is a name elsewhere.
    fn at_word(&self, word: &str) -> bool {
        self.at(Token::Name) && self.slice(self.span()) == word
    }

    /// The place of the next token.
    fn span(&self) -> Span {
        self.lexemes[self.position].span
    }

    /// Where the token before ends.
    fn previous_end(&self) -> u32 {
        self.position.checked_sub(1).map_or(0, |before| self.lexemes[before].span.end)
    }

    /// From a place to the end of the token before.
    fn since(&self, start: u32) -> Span {
        Span { file: self.file, start, end: self.previous_end().max(start) }
    }

    fn slice(&self, span: Span) -> &'a str {
        &self.text[span.start as usize..span.end as usize]
    }

    /// Takes the next token; the end stays.
    fn bump(&mut self) -> Span {
        let span = self.span();
        if self.position + 1 < self.lexemes.len() {
            self.position += 1;
        }
        span
    }

    fn eat(&mut self, token: Token) -> bool {
        let found = self.at(token);
        if found {
            self.bump();
        }
        found
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let found = self.at_word(word);
        if found {
            self.bump();
        }
        found
    }

    /// Whether the next token stands on a later line than the one before.
    fn at_new_line(&self) -> bool {
        let start = self.previous_end();
        let between = Span { file: self.file, start, end: self.span().start.max(start) };
        self.at(Token::End) || self.slice(between).contains('\n')
    }

    /// Whether the next token is a word of the language.
    fn at_keyword(&self) -> bool {
        self.is_keyword_at(0)
    }

    fn is_keyword_at(&self, ahead: usize) -> bool {
        let Some(lexeme) = self.lexemes.get(self.position + ahead) else { return false };
        !matches!(lexeme.token, Token::Name | Token::TypeName | Token::Underscore | Token::Wrong)
            && self.slice(lexeme.span).starts_with(|first: char| first.is_ascii_alphabetic())
    }

    /// Whether a word stands here that came into the language late, so that older programs have it as a name.
    fn at_late_word(&self) -> bool {
        use Token::*;
        matches!(self.peek(), When | Switch | Foreach | Try | Catch | Finally | Throw | Exception)
    }

    /// Whether a late word stands here, and what follows says that it is a name.
    fn at_late_name(&self) -> bool {
        use Token::*;
        self.at_late_word()
            && matches!(
                self.peek_at(1),
                Assign
                    | Semicolon
                    | CloseParen
                    | CloseBracket
                    | Comma
                    | Dot
                    | Question
                    | Ampersand
                    | Plus
                    | Star
                    | Slash
                    | Percent
                    | Equal
                    | NotEqual
                    | Less
                    | LessEqual
                    | Greater
                    | GreaterEqual
                    | And
                    | Or
            )
    }
}

/// Errors.
impl<'a> Parser<'a> {
    /// Whether another error would be no news: one has been reported here, or enough of them.
    fn silent(&self) -> bool {
        self.reported == Some(self.position) || self.diagnostics.len() >= 2 * MOST_ERRORS
    }

    /// Reports an error, unless it is no news.
    fn report(&mut self, diagnostic: Diagnostic) -> Reported {
        if !self.silent() && !self.at(Token::Wrong) {
            self.diagnostics.push(diagnostic);
            self.reported = Some(self.position);
        }
        if self.diagnostics.len() >= 2 * MOST_ERRORS {
            self.position = self.lexemes.len() - 1;
        }
        Reported
    }

    /// Reports that something of the language is not supported.
    fn refuse(&mut self, span: Span, what: &str) -> Reported {
        self.report(super::refuse::diagnostic(span, what))
    }

    /// What the next token is, in words.
    fn found(&self) -> String {
        match self.peek() {
            Token::End => "the end of the file".to_string(),
            Token::Text => "a text".to_string(),
            Token::Template => "a template".to_string(),
            _ => format!("`{}`", abbreviated(self.slice(self.span()))),
        }
    }

    /// Reports that something else should stand here.
    fn expected(&mut self, what: &str, help: Option<&str>) -> Reported {
        let diagnostic = Diagnostic::new(self.span(), format!("expected {what}, found {}", self.found()))
            .label(format!("expected {what}"));
        let help = help.or_else(|| self.foreign_operator());
        self.report(match help {
            Some(help) => diagnostic.help(help),
            None => diagnostic,
        })
    }

    /// What to write for an operator of another language.
    fn foreign_operator(&self) -> Option<&'static str> {
        if !self.at(Token::Foreign) {
            return None;
        }
        Some(match self.slice(self.span()) {
            "===" => "write `==`",
            "!==" | "<>" => "write `!=`",
            "=<" => "write `<=`",
            ":=" => "write `=`",
            "->" => "a branch is written with `=>`",
            "::" => "a list is built by `Cons(x, rest)`",
            "+=" | "-=" | "*=" | "/=" | "%=" | "++" => "write it as an assignment: `x = x + 1;`",
            "**" => "powers are computed by `pow(base, exponent)`",
            _ => "there is no such operator",
        })
    }

    /// Takes the token, or reports that it is missing.
    fn expect(&mut self, token: Token, help: Option<&str>) -> Result_<Span> {
        if self.at(token) {
            return Ok(self.bump());
        }
        Err(self.expected(symbol(token), help))
    }

    /// Takes `=>`; an arrow of another language is reported, and taken for one.
    fn arrow(&mut self) -> Result_<()> {
        if self.at(Token::Foreign) && self.slice(self.span()) == "->" {
            self.expected("`=>`", None);
            self.bump();
            return Ok(());
        }
        self.expect(Token::Arrow, None).map(|_| ())
    }

    /// Takes the `;` at the end of a statement or declaration. If it is only forgotten, all goes on as if it were there.
    fn semicolon(&mut self) -> Result_<()> {
        if self.eat(Token::Semicolon) {
            return Ok(());
        }
        let forgotten = self.at_new_line() || self.at(Token::CloseBrace) || self.at_keyword();
        if !forgotten {
            let help = match self.slice(self.span()) {
                "and" => Some("write `&&`"),
                "or" => Some("write `||`"),
                "mod" => Some("write `%`"),
                _ => None,
            };
            return Err(self.expected("`;`", help));
        }
        let end = self.previous_end();
        let diagnostic = Diagnostic::new(Span { file: self.file, start: end, end }, "a `;` is missing")
            .label("expected `;`");
        self.report(diagnostic.help("every statement and declaration without a block ends with `;`"));
        Ok(())
    }

    /// Takes a name that begins with a small letter. A word of the language in its place is reported, and taken for a name.
    fn name(&mut self, what: &str) -> Result_<Name<'a>> {
        if !self.at(Token::Name) && !self.at_late_word() {
            if self.at(Token::TypeName) {
                let word = self.slice(self.span());
                let help = format!(
                    "names of variables, functions and methods begin with a small letter: `{}`",
                    small(word)
                );
                return Err(self.expected(what, Some(&help)));
            }
            let mistaken = self.at_keyword() && !self.at(Token::In) && self.peek_at(1) != Token::Name;
            if !mistaken {
                return Err(self.expected(what, None));
            }
            let word = self.slice(self.span());
            let message = format!("`{word}` is a word of the language and can't be a name");
            let diagnostic = Diagnostic::new(self.span(), message)
                .label(format!("expected {what}"))
                .help(format!("choose another name, such as `{word}1`"));
            self.report(diagnostic);
        }
        let span = self.bump();
        Ok(Name { text: self.slice(span), span })
    }

    /// Takes a name that begins with a capital letter.
    fn type_name(&mut self, what: &str) -> Result_<Name<'a>> {
        if !self.at(Token::TypeName) {
            let help = self.at(Token::Name).then(|| {
                let word = self.slice(self.span());
                format!(
                    "names of types, constructors, classes and modules begin with a capital letter: `{}`",
                    capital(word)
                )
            });
            return Err(self.expected(what, help.as_deref()));
        }
        let span = self.bump();
        Ok(Name { text: self.slice(span), span })
    }

    /// Takes `A.B.C`.
    fn type_path(&mut self, what: &str) -> Result_<Path<'a>> {
        let mut path = self.path_start(what)?;
        while self.at(Token::Dot) && self.peek_at(1) == Token::TypeName {
            self.bump();
            let name = self.type_name(what)?;
            path = self.qualify(path, name);
        }
        Ok(path)
    }

    /// Takes `A.B.C` or `A.B.c` or `c`.
    fn any_path(&mut self, what: &str) -> Result_<Path<'a>> {
        if !self.at(Token::TypeName) {
            let name = self.name(what)?;
            return Ok(Path { qualifier: None, name, span: name.span });
        }
        let path = self.type_path(what)?;
        if self.at(Token::Dot) && self.peek_at(1) == Token::Name {
            self.bump();
            let name = self.name(what)?;
            return Ok(self.qualify(path, name));
        }
        Ok(path)
    }

    fn path_start(&mut self, what: &str) -> Result_<Path<'a>> {
        let name = self.type_name(what)?;
        Ok(Path { qualifier: None, name, span: name.span })
    }

    fn qualify(&self, module: Path<'a>, name: Name<'a>) -> Path<'a> {
        let qualifier = match module.qualifier {
            Some(mut qualifier) => {
                qualifier.push('.');
                qualifier.push_str(module.name.text);
                qualifier
            }
            None => module.name.text.to_string(),
        };
        Path { qualifier: Some(qualifier), name, span: self.since(module.span.start) }
    }

    /// Elements with commas between them up to the closing token, which is taken too.
    fn list<T>(&mut self, close: Token, mut element: impl FnMut(&mut Self) -> Result_<T>) -> Result_<Vec<T>> {
        let mut elements = Vec::new();
        while !self.at(close) {
            elements.push(element(self)?);
            if !self.eat(Token::Comma) && !self.at(close) {
                return Err(self.expected(&format!("`,` or {}", symbol(close)), None));
            }
        }
        self.bump();
        Ok(elements)
    }

    /// One or more elements with commas between them.
    fn several<T>(&mut self, mut element: impl FnMut(&mut Self) -> Result_<T>) -> Result_<Vec<T>> {
        let mut elements = vec![element(self)?];
        while self.eat(Token::Comma) {
            elements.push(element(self)?);
        }
        Ok(elements)
    }

    /// Opens a part of an expression, a type or a pattern, unless too many are open. The caller closes it.
    fn open_level(&mut self) -> Result_<()> {
        if self.levels >= expr::MOST_LEVELS {
            return Err(self.too_deep());
        }
        self.levels += 1;
        Ok(())
    }

    fn too_deep(&mut self) -> Reported {
        let diagnostic = Diagnostic::new(self.span(), "this is nested too deeply")
            .label(format!("the limit of {} within each other is exceeded here", expr::MOST_HEIGHT))
            .help("compute parts of it before, in functions or variables of their own");
        self.report(diagnostic)
    }

    /// Goes on behind the next `;`, or before the next `}` that closes nothing that was skipped, or before what `stops`
    /// says; at least one token after `start` unless the block or the file ends there.
    fn synchronise(&mut self, start: usize, stops: impl Fn(&Self) -> bool) {
        // What was opened since, and not closed.
        let mut open = 0usize;
        for lexeme in &self.lexemes[start..self.position] {
            match lexeme.token {
                Token::OpenBrace => open += 1,
                Token::CloseBrace => open = open.saturating_sub(1),
                _ => {}
            }
        }
        loop {
            match self.peek() {
                Token::End => return,
                Token::CloseBrace if open == 0 => return,
                Token::CloseBrace if open == 1 => {
                    self.bump();
                    self.eat(Token::Semicolon);
                    return;
                }
                Token::CloseBrace => open -= 1,
                Token::OpenBrace => open += 1,
                Token::Semicolon if open == 0 => {
                    self.bump();
                    return;
                }
                _ if self.position > start && self.at_top_level_word() => return,
                _ if open == 0 && self.position > start && stops(self) => return,
                _ => {}
            }
            self.bump();
        }
    }

    /// Whether a word stands here that does nothing but begin a declaration of a module.
    fn at_top_level_word(&self) -> bool {
        use Token::*;
        matches!(self.peek(), Module | Import | Export | Data | Def | Interface | Class)
    }
}

/// A token as a user writes it.
fn symbol(token: Token) -> &'static str {
    match token {
        Token::OpenParen => "`(`",
        Token::CloseParen => "`)`",
        Token::OpenBracket => "`[`",
        Token::CloseBracket => "`]`",
        Token::OpenBrace => "`{`",
        Token::CloseBrace => "`}`",
        Token::Semicolon => "`;`",
        Token::Comma => "`,`",
        Token::Colon => "`:`",
        Token::Dot => "`.`",
        Token::Arrow => "`=>`",
        Token::Assign => "`=`",
        Token::Greater => "`>`",
        Token::Then => "`then`",
        Token::Else => "`else`",
        Token::In => "`in`",
        Token::Catch => "`catch`",
        _ => "something else",
    }
}

/// A token as a message quotes it.
fn abbreviated(text: &str) -> String {
    const MOST: usize = 40;
    match text.char_indices().nth(MOST) {
        Some((at, _)) => format!("{}...", &text[..at]),
        None => text.to_string(),
    }
}

fn capital(word: &str) -> String {
    word[..1].to_ascii_uppercase() + &word[1..]
}

fn small(word: &str) -> String {
    word[..1].to_ascii_lowercase() + &word[1..]
}
