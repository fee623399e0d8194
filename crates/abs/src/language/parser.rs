//! Tokens into a syntax tree, by recursive descent.
//!
//! After an error the parser goes on behind the next `;`, before the next `}` that closes nothing it has
//! skipped, or before a word that begins a declaration, so that one run reports several errors; at most one
//! for each token, and at most [`MOST_ERRORS`]. Neither what a file says nor how deeply it nests may make it
//! panic, hang or overflow the stack: every loop consumes a token or ends, and the depth of statements and of
//! expressions is limited. The limit on expressions is on the tree, not only on what the parser has open, as
//! a long sum is a deep tree too and whoever walks it later will recurse.

mod declaration;
mod expr;
mod member;
mod stmt;

use std::ops::{Deref, DerefMut};

use mazurka_syntax::{Cursor, Diagnostic, MOST_HEIGHT, Parsed, RecursiveDescent, Reported};

use super::ast::{Expr, Module, Name, Path};
use super::lexer::Token;
use crate::model::Span;

/// Statements within statements.
const MOST_BLOCKS: usize = 100;

/// What a file says.
pub(crate) struct ParsedFile<'a> {
    pub(crate) modules: Vec<Module<'a>>,
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// Whether it has what only the legacy dialect has.
    pub(crate) legacy: bool,
}

/// Reads a file.
pub(crate) fn parse(file: u32, text: &str) -> ParsedFile<'_> {
    let mut parser = match Parser::new(file, text) {
        Ok(parser) => parser,
        Err(diagnostics) => return ParsedFile { modules: Vec::new(), diagnostics, legacy: false },
    };
    let new_cog = |(at, token)| token == Token::New && parser.word_at(at + 1) == "cog";
    let legacy = parser.tokens_from(0).enumerate().any(new_cog);
    let modules = if parser.gave_up() { Vec::new() } else { parser.file() };
    ParsedFile { modules, diagnostics: parser.cursor.finish(), legacy }
}

/// Reads an expression without effects that stands alone.
pub(crate) fn parse_expr(file: u32, text: &str) -> Result<Expr<'_>, Vec<Diagnostic>> {
    let mut parser = Parser::new(file, text)?;
    let expr = parser.expr();
    if expr.is_ok() && !parser.at(Token::End) {
        parser.expected("the end of the expression", None);
    }
    let diagnostics = parser.cursor.finish();
    expr.ok().filter(|_| diagnostics.is_empty()).ok_or(diagnostics)
}

struct Parser<'a> {
    cursor: Cursor<'a, Token>,
    /// Statements that are open.
    blocks: usize,
}

impl<'a> Deref for Parser<'a> {
    type Target = Cursor<'a, Token>;

    fn deref(&self) -> &Cursor<'a, Token> {
        &self.cursor
    }
}

impl<'a> DerefMut for Parser<'a> {
    fn deref_mut(&mut self) -> &mut Cursor<'a, Token> {
        &mut self.cursor
    }
}

impl<'a> RecursiveDescent<'a, Token> for Parser<'a> {
    fn too_deep(&mut self) -> Reported {
        let diagnostic = Diagnostic::new(self.span(), "this is nested too deeply")
            .label(format!("the limit of {MOST_HEIGHT} within each other is exceeded here"))
            .help("compute parts of it before, in functions or variables of their own");
        self.report(diagnostic)
    }
}

impl<'a> Parser<'a> {
    /// A parser of a text that is not too large.
    fn new(file: u32, text: &'a str) -> Result<Parser<'a>, Vec<Diagnostic>> {
        Ok(Parser { cursor: Cursor::new(file, text, "a file of a program has at most 16 MiB")?, blocks: 0 })
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

    /// Reports that something of the language is not supported.
    fn refuse(&mut self, span: Span, what: &str) -> Reported {
        self.report(super::refuse::diagnostic(span, what))
    }

    /// Takes `=>`; an arrow of another language is reported, and taken for one.
    fn arrow(&mut self) -> Parsed<()> {
        if self.at(Token::Foreign) && self.word() == "->" {
            self.expected("`=>`", None);
            self.bump();
            return Ok(());
        }
        self.expect(Token::Arrow, None).map(|_| ())
    }

    /// Takes a name that begins with a small letter. A word of the language in its place is reported, and
    /// taken for a name.
    fn name(&mut self, what: &str) -> Parsed<Name<'a>> {
        if !self.at(Token::Name) && !self.at_late_word() {
            if self.at(Token::TypeName) {
                let word = self.word();
                let help = format!(
                    "names of variables, functions and methods begin with a small letter: `{}`",
                    small(word)
                );
                return Err(self.expected(what, Some(&help)));
            }
            if !self.mistakes_word_for_name(what, "1") {
                return Err(self.expected(what, None));
            }
        }
        let span = self.bump();
        Ok(Name { text: self.slice(span), span })
    }

    /// Takes a name that begins with a capital letter.
    fn type_name(&mut self, what: &str) -> Parsed<Name<'a>> {
        if !self.at(Token::TypeName) {
            let help = self.at(Token::Name).then(|| {
                let word = self.word();
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
    fn type_path(&mut self, what: &str) -> Parsed<Path<'a>> {
        let mut path = self.path_start(what)?;
        while self.at(Token::Dot) && self.peek_at(1) == Token::TypeName {
            self.bump();
            let name = self.type_name(what)?;
            path = self.qualify(path, name);
        }
        Ok(path)
    }

    /// Takes `A.B.C` or `A.B.c` or `c`.
    fn any_path(&mut self, what: &str) -> Parsed<Path<'a>> {
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

    fn path_start(&mut self, what: &str) -> Parsed<Path<'a>> {
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

    /// Goes on behind the next `;`, or before the next `}` that closes nothing that was skipped, or before
    /// what `stops` says; at least one token after `start` unless the block or the file ends there.
    fn synchronise(&mut self, start: usize, stops: impl Fn(&Self) -> bool) {
        // What was opened since, and not closed.
        let mut open = 0usize;
        for token in self.tokens_from(start).take(self.position() - start) {
            match token {
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
                _ if self.position() > start && self.at_top_level_word() => return,
                _ if open == 0 && self.position() > start && stops(self) => return,
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

fn capital(word: &str) -> String {
    word[..1].to_ascii_uppercase() + &word[1..]
}

fn small(word: &str) -> String {
    word[..1].to_ascii_lowercase() + &word[1..]
}
