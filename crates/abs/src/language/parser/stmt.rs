//! Statements.

use mazurka_syntax::{Diagnostic, MOST_HEIGHT, Parsed, RecursiveDescent, Reported};

use super::{MOST_BLOCKS, Parser};
use crate::language::ast::{Assignee, Block, Expr, ExprKind, Guard, Pattern, Statement, StatementKind};
use crate::language::lexer::Token;
use crate::language::suggest::did_you_mean;
use crate::model::Span;

/// The words that begin statements.
const STATEMENTS: &[&str] = &[
    "skip", "return", "assert", "if", "else", "while", "foreach", "switch", "case", "try", "throw", "await",
    "suspend",
];

impl<'a> Parser<'a> {
    /// `{ .. }`
    pub(super) fn block(&mut self) -> Parsed<Block<'a>> {
        let open = self.expect(Token::OpenBrace, None)?;
        let statements = self.members(open, Self::at_statement_word, Self::statement)?;
        Ok(Block { statements, span: self.since(open.start) })
    }

    /// Reports a `{` that nothing closes; not where a text or a comment without end may have swallowed the
    /// `}`.
    pub(super) fn unclosed(&mut self, open: Span) -> Reported {
        if self.is_torn() {
            return Reported;
        }
        let message = format!("expected `}}`, found {}", self.found());
        let diagnostic = Diagnostic::new(self.span(), message).label("expected `}`");
        self.report(diagnostic.also(open, "this `{` is not closed"))
    }

    /// Whether a word stands here that can do nothing but begin a statement.
    fn at_statement_word(&self) -> bool {
        use Token::*;
        matches!(self.peek(), Skip | Return | Assert | While | Foreach | Switch | Try | Throw | Suspend)
    }

    pub(super) fn statement(&mut self) -> Parsed<Statement<'a>> {
        if self.blocks >= MOST_BLOCKS {
            let diagnostic = Diagnostic::new(self.span(), "statements are nested too deeply")
                .label(format!("{MOST_BLOCKS} are open here, the limit"))
                .help("move the inner ones into a method");
            return Err(self.report(diagnostic));
        }
        self.blocks += 1;
        let statement = self.statement_open();
        self.blocks -= 1;
        statement
    }

    fn statement_open(&mut self) -> Parsed<Statement<'a>> {
        self.annotations()?;
        let start = self.span().start;
        if self.at_late_name() {
            return self.assignment_or_expression(start);
        }
        match self.peek() {
            Token::Skip => self.simple(|_| Ok(StatementKind::Skip)),
            Token::Suspend => self.simple(|_| Ok(StatementKind::Suspend)),
            Token::Return => self.simple(|parser| {
                if parser.at(Token::Semicolon) {
                    let help = "a method of type `Unit` just ends, or says `return Unit;`";
                    return Err(parser.expected("an expression", Some(help)));
                }
                Ok(StatementKind::Return(parser.expr()?))
            }),
            Token::Assert => self.simple(|parser| Ok(StatementKind::Assert(parser.expr()?))),
            Token::Throw => self.simple(|parser| Ok(StatementKind::Throw(parser.expr()?))),
            Token::Await => self.simple(Self::await_statement),
            Token::OpenBrace => {
                let block = self.block()?;
                let span = block.span;
                Ok(Statement { kind: StatementKind::Block(block), span })
            }
            Token::If if self.at_conditional() => self.assignment_or_expression(start),
            Token::If => self.if_statement(),
            Token::While => self.while_statement(),
            Token::Foreach => self.foreach(),
            Token::Switch | Token::Case => self.switch(),
            Token::Try => self.try_statement(),
            Token::TypeName if self.declares(0) => self.declaration_statement(),
            Token::Name if self.refused_statement() => Err(Reported),
            _ => self.assignment_or_expression(start),
        }
    }

    /// Whether the `if` here is an expression, in the old form: `then` comes before any block or the end.
    fn at_conditional(&self) -> bool {
        let mut rest = self.tokens_from(self.position()).skip_while(|token| {
            !matches!(
                token,
                Token::Then | Token::OpenBrace | Token::CloseBrace | Token::Semicolon | Token::End
            )
        });
        rest.next() == Some(Token::Then)
    }

    /// A statement of one word, what follows it, and `;`.
    fn simple(&mut self, rest: impl FnOnce(&mut Self) -> Parsed<StatementKind<'a>>) -> Parsed<Statement<'a>> {
        let start = self.bump().start;
        let kind = rest(self)?;
        let span = self.since(start);
        self.semicolon()?;
        Ok(Statement { kind, span })
    }

    /// Reports a statement that is not supported.
    fn refused_statement(&mut self) -> bool {
        let what = match self.word() {
            "die" => "killing objects (`die`)",
            "movecogto" => "deployment components (`movecogto`)",
            _ => return false,
        };
        use Token::*;
        if !matches!(self.peek_at(1), Name | TypeName | This | Null | OpenParen) {
            return false;
        }
        let span = self.span();
        self.refuse(span, what);
        true
    }

    fn declaration_statement(&mut self) -> Parsed<Statement<'a>> {
        let start = self.span().start;
        let ty = self.type_use()?;
        let name = self.name("the name of a variable")?;
        let value = if self.eat(Token::Assign) { Some(self.expr()?) } else { None };
        let span = self.since(start);
        self.semicolon()?;
        Ok(Statement { kind: StatementKind::Declare(ty, name, value), span })
    }

    fn assignment_or_expression(&mut self, start: u32) -> Parsed<Statement<'a>> {
        let word = self.word();
        let is_word =
            self.at(Token::Name) && matches!(self.peek_at(1), Token::Name | Token::TypeName | Token::This);
        if is_word {
            let help = did_you_mean(word, STATEMENTS.iter().copied());
            return Err(self.expected("a statement", help.as_deref()));
        }
        let expr = self.expr()?;
        let kind = if self.at(Token::Assign) {
            let assignee = self.assignee(&expr)?;
            self.bump();
            StatementKind::Assign(assignee, self.expr()?)
        } else {
            StatementKind::Expr(expr)
        };
        let span = self.since(start);
        self.semicolon()?;
        Ok(Statement { kind, span })
    }

    fn assignee(&mut self, expr: &Expr<'a>) -> Parsed<Assignee<'a>> {
        match &expr.kind {
            ExprKind::Name(path) if path.qualifier.is_none() => Ok(Assignee::Name(path.name)),
            ExprKind::Field(name) => Ok(Assignee::Field(*name)),
            _ => {
                let diagnostic = Diagnostic::new(expr.span, "this can't be assigned to")
                    .label("expected a variable or a field")
                    .help("equality is written `==`");
                Err(self.report(diagnostic))
            }
        }
    }

    fn condition(&mut self) -> Parsed<Expr<'a>> {
        self.expect(Token::OpenParen, Some("the condition stands in parentheses"))?;
        let condition = self.expr()?;
        self.expect(Token::CloseParen, None)?;
        Ok(condition)
    }

    fn if_statement(&mut self) -> Parsed<Statement<'a>> {
        let start = self.bump().start;
        let condition = self.condition()?;
        let span = self.since(start);
        let yes = Box::new(self.statement()?);
        let no = if self.eat(Token::Else) { Some(Box::new(self.statement()?)) } else { None };
        Ok(Statement { kind: StatementKind::If(condition, yes, no), span })
    }

    fn while_statement(&mut self) -> Parsed<Statement<'a>> {
        let start = self.bump().start;
        let condition = self.condition()?;
        let span = self.since(start);
        let body = Box::new(self.statement()?);
        Ok(Statement { kind: StatementKind::While(condition, body), span })
    }

    fn foreach(&mut self) -> Parsed<Statement<'a>> {
        let start = self.bump().start;
        let help = Some("a loop over a list is written `foreach (x in list) { .. }`");
        self.expect(Token::OpenParen, help)?;
        let element = self.name("a name")?;
        let index = if self.eat(Token::Comma) { Some(self.name("a name")?) } else { None };
        self.expect(Token::In, help)?;
        let list = self.expr()?;
        self.expect(Token::CloseParen, None)?;
        let span = self.since(start);
        let body = Box::new(self.statement()?);
        Ok(Statement { kind: StatementKind::ForEach { element, index, list, body }, span })
    }

    /// `switch (e) { .. }`, or `case e { .. }` as it was.
    fn switch(&mut self) -> Parsed<Statement<'a>> {
        let start = self.bump().start;
        let subject = self.expr()?;
        let span = self.since(start);
        let branches = self.branches()?;
        // So that it may be an expression.
        self.eat(Token::Semicolon);
        Ok(Statement { kind: StatementKind::Switch(subject, branches), span })
    }

    fn branches(&mut self) -> Parsed<Vec<(Pattern<'a>, Statement<'a>)>> {
        let open = self.expect(Token::OpenBrace, None)?;
        self.members(open, |_| false, Self::branch)
    }

    fn branch(&mut self) -> Parsed<(Pattern<'a>, Statement<'a>)> {
        let pattern = self.pattern()?;
        self.arrow()?;
        let statement = self.statement()?;
        // A `;` after a block is one too many, but common.
        if matches!(statement.kind, StatementKind::Block(_)) {
            self.eat(Token::Semicolon);
        }
        Ok((pattern, statement))
    }

    fn try_statement(&mut self) -> Parsed<Statement<'a>> {
        let span = self.bump();
        let body = Box::new(self.statement()?);
        self.expect(Token::Catch, Some("a try is written `try { .. } catch { pattern => { .. } }`"))?;
        let handlers = match self.at(Token::OpenBrace) {
            true => self.branches()?,
            false => vec![self.branch()?],
        };
        let finally = if self.eat(Token::Finally) { Some(Box::new(self.statement()?)) } else { None };
        Ok(Statement { kind: StatementKind::Try { body, handlers, finally }, span })
    }

    /// What follows `await`: a guard, or a call whose value is not wanted.
    fn await_statement(&mut self) -> Parsed<StatementKind<'a>> {
        let mut expr = self.expr()?;
        if let ExprKind::Call { awaited, .. } = &mut expr.kind {
            *awaited = true;
            return Ok(StatementKind::Expr(expr));
        }
        let mut guard = self.guard(expr);
        let mut atoms = 1;
        while self.eat(Token::Ampersand) {
            atoms += 1;
            if atoms > MOST_HEIGHT {
                return Err(self.too_deep());
            }
            let next = self.expr()?;
            let next = self.guard(next);
            guard = Guard::And(Box::new(guard), Box::new(next));
        }
        Ok(StatementKind::Await(guard))
    }

    fn guard(&mut self, expr: Expr<'a>) -> Guard<'a> {
        if self.eat(Token::Question) { Guard::Future(expr) } else { Guard::Condition(expr) }
    }
}
