//! Tokens into a syntax tree, by recursive descent.
//!
//! After an error the parser goes on behind the next `;`, before the next `}` that closes nothing it has
//! skipped, or before a word that begins a declaration, so that one run reports several errors; at most one
//! for each token, and at most [`MOST_ERRORS`]. Neither what a file says nor how deeply it nests may make it
//! panic, hang or overflow the stack: every loop consumes a token or ends, and the depth of blocks and of
//! expressions is limited. The limit on expressions is on the tree, not only on what the parser has open, as
//! a long sum is a deep tree too and whoever walks it later will recurse.
//!
//! The span of a statement that has blocks is that of its head: `while x == 0`.

mod expr;
mod operation;
mod stmt;
mod suggest;

pub(crate) use expr::{is_comparison, precedence};

use crate::ast::{
    Ast, Block, Expr, Init, Item, Name, ObjectDecl, ProcessDecl, Range, Span, TaskDecl, VarDecl,
};
use crate::diagnostic::{Diagnostic, Source};
use crate::lexer::{Lexed, Lexeme, Token, lex};

/// Errors after which it gives up.
const MOST_ERRORS: usize = 20;
/// Blocks within blocks.
const MOST_BLOCKS: usize = 100;
/// Bytes of a file.
const MOST_BYTES: usize = 16 << 20;

/// Reads a file.
///
/// # Errors
///
/// Whatever is wrong with it, in the order of the places; never empty.
pub fn parse(source: &Source) -> Result<Ast, Vec<Diagnostic>> {
    if source.text.len() > MOST_BYTES {
        let size = source.text.len() >> 20;
        let diagnostic = Diagnostic::new(Span::default(), format!("the file is too large: {size} MiB"))
            .help("a program of this language has at most 16 MiB");
        return Err(vec![diagnostic]);
    }
    let Lexed { lexemes, faults, torn } = lex(&source.text, MOST_ERRORS);
    // The rest of the file is missing then, and errors about that would be false.
    if faults.len() >= MOST_ERRORS {
        return Err(faults);
    }
    let mut parser = Parser {
        text: &source.text,
        lexemes,
        position: 0,
        diagnostics: faults,
        torn,
        reported: None,
        levels: 0,
        blocks: 0,
    };
    let ast = parser.file();
    let mut diagnostics = parser.diagnostics;
    if diagnostics.is_empty() {
        return Ok(ast);
    }
    diagnostics.sort_by_key(|diagnostic| diagnostic.span.start);
    diagnostics.truncate(MOST_ERRORS);
    Err(diagnostics)
}

/// An error has been reported; whoever can go on behind it does.
struct Reported;

type Parsed<T> = Result<T, Reported>;

struct Parser<'a> {
    text: &'a str,
    /// Never empty: the last is [`Token::End`].
    lexemes: Vec<Lexeme>,
    position: usize,
    diagnostics: Vec<Diagnostic>,
    /// Whether a text or a comment has no end.
    torn: bool,
    /// The position at which an error has been reported last.
    reported: Option<usize>,
    /// Parts of expressions that are open.
    levels: usize,
    /// Blocks that are open.
    blocks: usize,
}

/// The tokens.
impl<'a> Parser<'a> {
    fn peek(&self) -> Token {
        self.lexemes[self.position].token
    }

    fn peek_second(&self) -> Token {
        self.lexemes.get(self.position + 1).map_or(Token::End, |lexeme| lexeme.token)
    }

    fn at(&self, token: Token) -> bool {
        self.peek() == token
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
        Span { start, end: self.previous_end().max(start) }
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

    /// Whether the next token stands on a later line than the one before.
    fn at_new_line(&self) -> bool {
        let between = Span { start: self.previous_end(), end: self.span().start };
        self.at(Token::End) || self.slice(between).contains('\n')
    }

    /// Whether the next token is a word of the language.
    fn at_keyword(&self) -> bool {
        !matches!(self.peek(), Token::Name | Token::Underscore | Token::Wrong)
            && self.slice(self.span()).starts_with(|first: char| first.is_ascii_alphabetic())
    }

    /// Whether a declaration begins here. `lock(m)` is a statement.
    fn at_declaration(&self) -> bool {
        match self.peek() {
            Token::Param | Token::Const | Token::Var | Token::Condvar | Token::Process | Token::Task => true,
            Token::Lock => self.peek_second() == Token::Name,
            _ => false,
        }
    }
}

/// Errors.
impl Parser<'_> {
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

    /// What the next token is, in words.
    fn found(&self) -> String {
        match self.peek() {
            Token::End => "the end of the file".to_string(),
            Token::Text => "a text".to_string(),
            _ => format!("`{}`", abbreviated(self.slice(self.span()))),
        }
    }

    /// Reports that something else should stand here.
    fn expected(&mut self, what: &str, help: Option<&str>) -> Reported {
        let diagnostic = Diagnostic::new(self.span(), format!("expected {what}, found {}", self.found()))
            .label(format!("expected {what}"));
        self.report(match help {
            Some(help) => diagnostic.help(help),
            None => diagnostic,
        })
    }

    /// Takes the token, or reports that it is missing.
    fn expect(&mut self, token: Token, help: Option<&str>) -> Parsed<Span> {
        if self.at(token) {
            return Ok(self.bump());
        }
        Err(self.expected(symbol(token), help))
    }

    /// Takes the `;` at the end of a statement or declaration. If it is only forgotten, all goes on as if it
    /// were there.
    fn semicolon(&mut self) -> Parsed<()> {
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
        let diagnostic = Diagnostic::new(Span { start: end, end }, "a `;` is missing")
            .label("expected `;`")
            .help("every statement and declaration without a block ends with `;`");
        self.report(diagnostic);
        Ok(())
    }

    /// Takes a name. A word of the language in its place is reported, and taken for a name.
    fn name(&mut self, what: &str) -> Parsed<Name> {
        if !self.at(Token::Name) {
            let mistaken = self.at_keyword() && !self.at(Token::In) && self.peek_second() != Token::Name;
            if !mistaken {
                return Err(self.expected(what, None));
            }
            let word = self.slice(self.span());
            let diagnostic = Diagnostic::new(
                self.span(),
                format!("`{word}` is a word of the language and can't be a name"),
            )
            .label(format!("expected {what}"))
            .help(format!("choose another name, such as `{word}_1`"));
            self.report(diagnostic);
        }
        let span = self.bump();
        Ok(Name { text: self.slice(span).to_string(), span })
    }

    /// Elements with commas between them up to the closing token, which is taken too. A comma may stand after
    /// the last.
    fn list<T>(&mut self, close: Token, mut element: impl FnMut(&mut Self) -> Parsed<T>) -> Parsed<Vec<T>> {
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

    /// Goes on to where a statement or a declaration may begin, at least one token after `start` unless the
    /// block or the file ends there.
    fn synchronise(&mut self, start: usize, in_block: bool) {
        let mut open = 0usize;
        loop {
            let moved = self.position > start;
            match self.peek() {
                Token::End => return,
                Token::Process | Token::Task if moved => return,
                Token::Process | Token::Task if in_block => return,
                Token::CloseBrace if open == 0 && in_block => return,
                Token::CloseBrace if open <= 1 => {
                    self.bump();
                    if !self.at(Token::Else) {
                        return;
                    }
                    open = 0;
                    continue;
                }
                Token::CloseBrace => open -= 1,
                Token::OpenBrace => open += 1,
                Token::Semicolon if open == 0 => {
                    self.bump();
                    return;
                }
                _ if open == 0 && moved && !in_block && self.at_declaration() => return,
                _ if open == 0 && moved && in_block && self.at_statement_word() => return,
                _ => {}
            }
            self.bump();
        }
    }

    /// Whether a word stands here that can do nothing but begin a statement.
    fn at_statement_word(&self) -> bool {
        use Token::*;
        let words =
            [Let, If, While, For, Break, Continue, Atomic, Assert, Assume, Await, Receive, Token::Skip];
        words.contains(&self.peek())
    }
}

/// Declarations.
impl Parser<'_> {
    fn file(&mut self) -> Ast {
        let mut items = Vec::new();
        while !self.at(Token::End) {
            let start = self.position;
            match self.item() {
                Ok(item) => items.push(item),
                Err(Reported) => self.synchronise(start, false),
            }
        }
        let runs = items.iter().any(|item| matches!(item, Item::Process(_)));
        if !runs && self.diagnostics.is_empty() {
            let diagnostic = Diagnostic::new(Span::default(), "the file declares no process")
                .label("nothing would run")
                .help("declare at least one: `process main { ... }`");
            self.report(diagnostic);
        }
        Ast { items }
    }

    fn item(&mut self) -> Parsed<Item> {
        if !self.at_declaration() && !self.at(Token::Lock) {
            return Err(self.no_declaration());
        }
        let word = self.peek();
        self.bump();
        let item = match word {
            Token::Process => return self.process().map(Item::Process),
            Token::Task => return self.task().map(Item::Task),
            Token::Param | Token::Const => {
                let name = self.name("a name")?;
                let help = "it needs a value, such as `= 3`";
                self.expect(Token::Assign, Some(help))?;
                let value = self.expr()?;
                if word == Token::Param { Item::Param(name, value) } else { Item::Const(name, value) }
            }
            Token::Var => Item::Var(self.declared(Self::var_decl)?),
            Token::Lock => Item::Lock(self.declared(Self::object_decl)?),
            _ => Item::Condvar(self.declared(Self::object_decl)?),
        };
        self.semicolon()?;
        Ok(item)
    }

    /// Reports what stands where a declaration should.
    fn no_declaration(&mut self) -> Reported {
        let span = self.span();
        let word = self.slice(span);
        if self.at(Token::CloseBrace) {
            let diagnostic = Diagnostic::new(span, "this `}` closes nothing").label("no block is open here");
            return self.report(diagnostic.help("remove it, or look for a `}` too many above"));
        }
        if self.at(Token::Semicolon) {
            let diagnostic = Diagnostic::new(span, "this `;` ends nothing").label("not needed");
            return self.report(diagnostic.help("remove it; nothing follows the `}` of a process"));
        }
        let assigns = [Token::Assign, Token::AddAssign, Token::SubAssign].contains(&self.peek_second());
        if self.at_keyword() || (self.at(Token::Name) && assigns) {
            let diagnostic = Diagnostic::new(span, "a statement stands outside of every process")
                .label("expected a declaration")
                .help("move it into the block of a `process`; a shared variable is declared by `var x = 0;`");
            return self.report(diagnostic);
        }
        let meant = suggest::closest(word, suggest::DECLARATIONS).filter(|_| self.at(Token::Name));
        let help = match meant {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => "a file consists of `param`, `const`, `var`, `lock`, `condvar`, `process` and `task`"
                .to_string(),
        };
        self.expected("a declaration", Some(&help))
    }

    /// One or more, with commas between them.
    fn declared<T>(&mut self, one: impl Fn(&mut Self) -> Parsed<T>) -> Parsed<Vec<T>> {
        let mut all = vec![one(self)?];
        while self.eat(Token::Comma) {
            all.push(one(self)?);
        }
        Ok(all)
    }

    fn object_decl(&mut self) -> Parsed<ObjectDecl> {
        let name = self.name("a name")?;
        let size = self.index()?;
        if self.at(Token::Assign) {
            let diagnostic =
                Diagnostic::new(self.span(), "locks and condition variables have no initial value")
                    .label("unexpected `=`")
                    .help("remove it; a lock is free at the start");
            return Err(self.report(diagnostic));
        }
        Ok(ObjectDecl { name, size })
    }

    fn var_decl(&mut self) -> Parsed<VarDecl> {
        let name = self.name("a name")?;
        let size = self.index()?;
        if !self.eat(Token::Assign) {
            return Ok(VarDecl { name, size, init: Init::Zero });
        }
        let open = self.span();
        if !self.eat(Token::OpenBracket) {
            return Ok(VarDecl { name, size, init: Init::All(self.expr()?) });
        }
        let values = self.list(Token::CloseBracket, Self::expr)?;
        if size.is_none() {
            let help = format!("write `var {}[{}] = ...`", abbreviated(&name.text), values.len());
            let diagnostic =
                Diagnostic::new(self.since(open.start), "several values for a variable that is no array")
                    .label("these")
                    .help(help);
            self.report(diagnostic);
        }
        Ok(VarDecl { name, size, init: Init::Each(values) })
    }

    fn process(&mut self) -> Parsed<ProcessDecl> {
        let name = self.name("the name of the process")?;
        let mut family = None;
        if self.eat(Token::OpenBracket) {
            let index = self.name("the name of an index")?;
            self.expect(Token::In, Some("a family is declared like this: `process p[i in 0..3] { ... }`"))?;
            family = Some((index, self.range()?));
            self.expect(Token::CloseBracket, None)?;
        }
        if self.at(Token::OpenParen) {
            let diagnostic = Diagnostic::new(self.span(), "a process has no parameters")
                .label("unexpected `(`")
                .help("remove them; a `task` has parameters, a family of processes an index: `p[i in 0..3]`");
            return Err(self.report(diagnostic));
        }
        Ok(ProcessDecl { name, family, body: self.block()? })
    }

    fn task(&mut self) -> Parsed<TaskDecl> {
        let name = self.name("the name of the task")?;
        self.expect(
            Token::OpenParen,
            Some("a task has a list of parameters, which may be empty: `task t() { ... }`"),
        )?;
        let params = self.list(Token::CloseParen, |parser| parser.name("the name of a parameter"))?;
        Ok(TaskDecl { name, params, body: self.block()? })
    }

    /// `[e]`, if it stands here.
    fn index(&mut self) -> Parsed<Option<Expr>> {
        if !self.eat(Token::OpenBracket) {
            return Ok(None);
        }
        let index = self.expr()?;
        self.expect(Token::CloseBracket, None)?;
        self.no_second_index()?;
        Ok(Some(index))
    }

    fn no_second_index(&mut self) -> Parsed<()> {
        if !self.at(Token::OpenBracket) {
            return Ok(());
        }
        let diagnostic = Diagnostic::new(self.span(), "arrays have one dimension")
            .label("a second index")
            .help("compute one index from the two: `a[i * width + j]`");
        Err(self.report(diagnostic))
    }

    fn range(&mut self) -> Parsed<Range> {
        let from = self.expr()?;
        let inclusive = self.at(Token::RangeInclusive);
        if !inclusive && !self.at(Token::Range) {
            return Err(self.expected("`..`", Some("a range is written `0..n`, or `0..=n` to include `n`")));
        }
        self.bump();
        Ok(Range { from, to: self.expr()?, inclusive })
    }

    /// Statements in braces. If only the closing brace is missing, they are given all the same.
    fn block(&mut self) -> Parsed<Block> {
        let open = self.open_brace()?;
        self.blocks += 1;
        let mut statements = Vec::new();
        while !matches!(self.peek(), Token::CloseBrace | Token::End | Token::Process | Token::Task) {
            let start = self.position;
            match self.statement() {
                Ok(statement) => statements.push(statement),
                Err(Reported) => self.synchronise(start, true),
            }
        }
        self.blocks -= 1;
        self.close_brace(open, "this block is never closed");
        Ok(Block { statements })
    }

    fn open_brace(&mut self) -> Parsed<Span> {
        if self.blocks == MOST_BLOCKS && self.at(Token::OpenBrace) {
            let diagnostic = Diagnostic::new(self.span(), "blocks are nested too deeply")
                .label(format!("{MOST_BLOCKS} blocks are open here, the limit"))
                .help("join conditions by `&&`, and leave loops early by `break` and `continue`");
            return Err(self.report(diagnostic));
        }
        let comparing = self.at(Token::Arrow);
        let help = if comparing { "to compare, write `>=`" } else { "a block stands in braces: `{ ... }`" };
        self.expect(Token::OpenBrace, Some(help))
    }

    /// Takes the `}` that belongs to `open`. If there is none, the block ends all the same.
    fn close_brace(&mut self, open: Span, message: &str) {
        if self.eat(Token::CloseBrace) || self.torn {
            return;
        }
        let diagnostic = Diagnostic::new(open, message)
            .label("it begins here")
            .help(format!("a `}}` is missing before {}", self.found()));
        self.report(diagnostic);
    }
}

/// A piece of the source, short enough to be quoted.
fn abbreviated(text: &str) -> String {
    const MOST: usize = 40;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_string(),
    }
}

/// How a message names a token.
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
        Token::Arrow => "`=>`",
        Token::Assign => "`=`",
        Token::In => "`in`",
        _ => "something else",
    }
}
