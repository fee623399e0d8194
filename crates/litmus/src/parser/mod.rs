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

use std::ops::{Deref, DerefMut};

use mazurka_syntax::{Cursor, Diagnostic, Parsed, RecursiveDescent, Reported, Source, Span, abbreviated};

use crate::ast::{
    Ast, Block, CommuteDecl, Expr, Init, Item, Name, ObjectDecl, ProcessDecl, Range, TaskDecl, VarDecl,
};
use crate::lexer::Token;

/// Blocks within blocks.
const MOST_BLOCKS: usize = 100;

/// Reads a file.
///
/// # Errors
///
/// Whatever is wrong with it, in the order of the places; never empty.
pub fn parse(source: &Source) -> Result<Ast, Vec<Diagnostic>> {
    let cursor = Cursor::new(0, &source.text, "a program of this language has at most 16 MiB")?;
    if cursor.gave_up() {
        return Err(cursor.finish());
    }
    let mut parser = Parser { cursor, blocks: 0 };
    let ast = parser.file();
    if parser.is_clean() { Ok(ast) } else { Err(parser.cursor.finish()) }
}

struct Parser<'a> {
    cursor: Cursor<'a, Token>,
    /// Blocks that are open.
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

impl Parser<'_> {
    /// Whether a declaration begins here. `lock(m)` is a statement.
    fn at_declaration(&self) -> bool {
        match self.peek() {
            Token::Param | Token::Const | Token::Var | Token::Condvar | Token::Process | Token::Task => true,
            Token::Commute => true,
            Token::Lock => self.peek_at(1) == Token::Name,
            _ => false,
        }
    }

    /// Takes a name. A word of the language in its place is reported, and taken for a name.
    fn name(&mut self, what: &str) -> Parsed<Name> {
        if !self.at(Token::Name) && !self.mistakes_word_for_name(what, "_1") {
            return Err(self.expected(what, None));
        }
        let span = self.bump();
        Ok(Name { text: self.slice(span).to_string(), span })
    }

    /// Goes on to where a statement or a declaration may begin, at least one token after `start` unless the
    /// block or the file ends there.
    fn synchronise(&mut self, start: usize, in_block: bool) {
        let mut open = 0usize;
        loop {
            let moved = self.position() > start;
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
            let start = self.position();
            match self.item() {
                Ok(item) => items.push(item),
                Err(Reported) => self.synchronise(start, false),
            }
        }
        let runs = items.iter().any(|item| matches!(item, Item::Process(_)));
        if !runs && self.is_clean() {
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
            Token::Var => Item::Var(self.several(Self::var_decl)?),
            Token::Lock => Item::Lock(self.several(Self::object_decl)?),
            Token::Commute => Item::Commute(self.commute()?),
            _ => Item::Condvar(self.several(Self::object_decl)?),
        };
        self.semicolon()?;
        Ok(item)
    }

    /// Reports what stands where a declaration should.
    fn no_declaration(&mut self) -> Reported {
        let span = self.span();
        let word = self.word();
        if self.at(Token::CloseBrace) {
            let diagnostic = Diagnostic::new(span, "this `}` closes nothing").label("no block is open here");
            return self.report(diagnostic.help("remove it, or look for a `}` too many above"));
        }
        if self.at(Token::Semicolon) {
            let diagnostic = Diagnostic::new(span, "this `;` ends nothing").label("not needed");
            return self.report(diagnostic.help("remove it; nothing follows the `}` of a process"));
        }
        let assigns = [Token::Assign, Token::AddAssign, Token::SubAssign].contains(&self.peek_at(1));
        if self.at_keyword() || (self.at(Token::Name) && assigns) {
            let diagnostic = Diagnostic::new(span, "a statement stands outside of every process")
                .label("expected a declaration")
                .help("move it into the block of a `process`; a shared variable is declared by `var x = 0;`");
            return self.report(diagnostic);
        }
        let meant = suggest::closest(word, suggest::DECLARATIONS).filter(|_| self.at(Token::Name));
        let help = match meant {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => "a file consists of `param`, `const`, `var`, `lock`, `condvar`, `process`, `task` and `commute`"
                .to_string(),
        };
        self.expected("a declaration", Some(&help))
    }

    fn commute(&mut self) -> Parsed<CommuteDecl> {
        let first = self.name("the name of an atomic block")?;
        self.expect(
            Token::Comma,
            Some("two blocks are named: `commute a, b if x > 0;`, or `commute a, a;`"),
        )?;
        let second = self.name("the name of an atomic block")?;
        let condition = if self.eat(Token::If) { Some(self.expr()?) } else { None };
        Ok(CommuteDecl { blocks: [first, second], condition })
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
            let start = self.position();
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
        if self.eat(Token::CloseBrace) || self.is_torn() {
            return;
        }
        let diagnostic = Diagnostic::new(open, message)
            .label("it begins here")
            .help(format!("a `}}` is missing before {}", self.found()));
        self.report(diagnostic);
    }
}
