//! Statements that act on shared objects: atomic operations, locks, condition variables, processes and
//! messages.

use mazurka_syntax::{Diagnostic, Parsed, RecursiveDescent, Reported};

use super::Parser;
use crate::ast::{Arm, Block, Component, Dest, Expr, Pattern, Stmt, StmtKind};
use crate::lexer::Token;

impl Token {
    /// Whether it begins an operation that gives a value.
    pub(super) fn gives_value(self) -> bool {
        use Token::{Cas, Choose, FetchAdd, Spawn, Swap, TryLock};
        matches!(self, FetchAdd | Swap | Cas | TryLock | Spawn | Choose)
    }

    /// Whether it begins an operation that gives none.
    pub(super) fn acts(self) -> bool {
        use Token::{Join, Lock, NotifyAll, NotifyOne, Send, Unlock, Wait};
        matches!(self, Lock | Unlock | Wait | NotifyOne | NotifyAll | Join | Send)
    }
}

impl Parser<'_> {
    /// An operation that gives a value, after `let r =`, `r =` or nothing.
    pub(super) fn operation(&mut self, dest: Dest) -> Parsed<StmtKind> {
        let word = self.peek();
        let start = self.bump();
        let kind = match word {
            Token::Spawn => self.spawn(dest)?,
            Token::FetchAdd => {
                self.open("fetch_add(x, e)")?;
                let target = self.target("a shared variable")?;
                self.comma("fetch_add(x, e)")?;
                StmtKind::FetchAdd { dest, target, value: self.expr()? }
            }
            Token::Swap => {
                self.open("swap(x, e)")?;
                let target = self.target("a shared variable")?;
                self.comma("swap(x, e)")?;
                StmtKind::Swap { dest, target, value: self.expr()? }
            }
            Token::Cas => {
                self.open("cas(x, old, new)")?;
                let target = self.target("a shared variable")?;
                self.comma("cas(x, old, new)")?;
                let old = self.expr()?;
                self.comma("cas(x, old, new)")?;
                StmtKind::Cas { dest, target, old, new: self.expr()? }
            }
            Token::TryLock => {
                self.open("try_lock(m)")?;
                StmtKind::TryLock { dest, lock: self.target("a lock")? }
            }
            _ => {
                self.open("choose(e)")?;
                StmtKind::Choose { dest, count: self.expr()? }
            }
        };
        if word != Token::Spawn {
            self.close()?;
        }
        if self.at_operator() && !self.at_new_line() {
            return Err(self.not_alone(start));
        }
        Ok(kind)
    }

    fn spawn(&mut self, dest: Dest) -> Parsed<StmtKind> {
        const FORM: &str =
            "a process is created by `spawn t(1, 2)`, with the name of a task and its arguments";
        if !self.at(Token::Name) {
            return Err(self.expected("the name of a task", Some(FORM)));
        }
        let task = self.name("the name of a task")?;
        self.expect(Token::OpenParen, Some(FORM))?;
        let args = self.list(Token::CloseParen, Self::expr)?;
        Ok(StmtKind::Spawn { dest, task, args })
    }

    /// An operation that gives no value.
    pub(super) fn action(&mut self) -> Parsed<StmtKind> {
        let word = self.peek();
        self.bump();
        if word == Token::Lock && self.at(Token::Name) {
            return Err(self.lock_declared());
        }
        let form = match word {
            Token::Lock => "lock(m)",
            Token::Unlock => "unlock(m)",
            Token::Wait => "wait(c, m)",
            Token::NotifyOne => "notify_one(c)",
            Token::NotifyAll => "notify_all(c)",
            Token::Join => "join(p)",
            _ => "send(p, e)",
        };
        self.open(form)?;
        let what = match word {
            Token::Lock | Token::Unlock => "a lock",
            Token::Join | Token::Send => "a process",
            _ => "a condition variable",
        };
        let target = self.target(what)?;
        let kind = match word {
            Token::Lock => StmtKind::Lock(target),
            Token::Unlock => StmtKind::Unlock(target),
            Token::NotifyOne => StmtKind::NotifyOne(target),
            Token::NotifyAll => StmtKind::NotifyAll(target),
            Token::Join => StmtKind::Join(target),
            Token::Wait => {
                self.comma("wait(c, m)")?;
                StmtKind::Wait { condvar: target, lock: self.target("a lock")? }
            }
            _ => {
                self.comma("send(p, e)")?;
                StmtKind::Send { to: target, message: self.message()? }
            }
        };
        self.close()?;
        Ok(kind)
    }

    fn lock_declared(&mut self) -> Reported {
        let diagnostic = Diagnostic::new(self.span(), "a lock is declared at the top of the file")
            .label("expected `(`")
            .help("to take a lock, write `lock(m);`");
        self.report(diagnostic)
    }

    fn open(&mut self, form: &str) -> Parsed<()> {
        self.expect(Token::OpenParen, Some(&format!("write `{form}`"))).map(|_| ())
    }

    fn comma(&mut self, form: &str) -> Parsed<()> {
        self.expect(Token::Comma, Some(&format!("write `{form}`"))).map(|_| ())
    }

    /// The end of a list of arguments.
    fn close(&mut self) -> Parsed<()> {
        if self.at(Token::Comma) && self.peek_at(1) == Token::CloseParen {
            self.bump();
        }
        self.expect(Token::CloseParen, None).map(|_| ())
    }
}

/// Messages.
impl Parser<'_> {
    fn message(&mut self) -> Parsed<Vec<Expr>> {
        let components = self.components(|parser| parser.expr().map(Component::Equal))?;
        Ok(components
            .into_iter()
            .filter_map(|component| match component {
                Component::Equal(value) => Some(value),
                Component::Bind(_) | Component::Any => None,
            })
            .collect())
    }

    fn pattern(&mut self) -> Parsed<Pattern> {
        if self.eat(Token::Underscore) {
            return Ok(Pattern::Any);
        }
        if matches!(self.peek(), Token::Semicolon | Token::Arrow) {
            return Err(self.expected("a pattern", Some("`_` takes every message")));
        }
        self.components(Self::component).map(Pattern::Tuple)
    }

    /// `e` or `(e, ...)`. What begins with a parenthesis may be a tuple or an expression; that is known only
    /// after it.
    fn components(&mut self, one: impl Fn(&mut Self) -> Parsed<Component> + Copy) -> Parsed<Vec<Component>> {
        if !self.at(Token::OpenParen) {
            return Ok(vec![one(self)?]);
        }
        let start = self.bump().start;
        let mut components = self.list(Token::CloseParen, one)?;
        if components.is_empty() {
            let diagnostic = Diagnostic::new(self.since(start), "a message has at least one number")
                .label("empty")
                .help("send a number that stands for nothing, such as 0");
            return Err(self.report(diagnostic));
        }
        if self.at_operator() && components.len() == 1 {
            if let Some(Component::Equal(mut first)) = components.pop() {
                first.span = self.since(start);
                return Ok(vec![Component::Equal(self.expr_after(first)?)]);
            }
            return Err(self.expected("the end of the pattern", None));
        }
        Ok(components)
    }

    fn component(&mut self) -> Parsed<Component> {
        match self.peek() {
            Token::Underscore => {
                self.bump();
                Ok(Component::Any)
            }
            Token::Question => {
                self.bump();
                self.name("the name of a local variable").map(Component::Bind)
            }
            _ => self.expr().map(Component::Equal),
        }
    }

    pub(super) fn receive(&mut self) -> Parsed<Stmt> {
        let start = self.bump();
        if self.at(Token::OpenBrace) {
            let (arms, timeout) = self.arms()?;
            return Ok(Stmt { kind: StmtKind::Receive { arms, timeout }, span: start });
        }
        let arm = Arm { pattern: self.pattern()?, body: Block::default() };
        let span = self.since(start.start);
        if self.at(Token::Arrow) {
            let help = "several patterns with blocks stand in braces: `receive { p => { ... } }`";
            return Err(self.expected("`;`", Some(help)));
        }
        self.semicolon()?;
        Ok(Stmt { kind: StmtKind::Receive { arms: vec![arm], timeout: None }, span })
    }

    /// The arms of a receive, in braces.
    fn arms(&mut self) -> Parsed<(Vec<Arm>, Option<Block>)> {
        let open = self.bump();
        let (mut arms, mut timeout) = (Vec::new(), None);
        while !matches!(self.peek(), Token::CloseBrace | Token::End | Token::Process | Token::Task) {
            let start = self.position();
            if let Err(Reported) = self.arm(&mut arms, &mut timeout) {
                self.synchronise(start, true);
            }
        }
        if arms.is_empty() && timeout.is_none() && self.at(Token::CloseBrace) {
            let diagnostic = Diagnostic::new(self.span(), "this receive has no pattern")
                .label("expected a pattern")
                .help("write `receive { p => { ... } }`; `_` takes every message");
            self.report(diagnostic);
        }
        self.close_brace(open, "this receive is never closed");
        Ok((arms, timeout))
    }

    fn arm(&mut self, arms: &mut Vec<Arm>, timeout: &mut Option<Block>) -> Parsed<()> {
        const FORM: &str = "an arm is written `pattern => { ... }`";
        if timeout.is_some() {
            let diagnostic = Diagnostic::new(self.span(), "`timeout` is the last arm of a receive")
                .label("another arm follows it")
                .help("move the arm before `timeout`");
            self.report(diagnostic);
        }
        if self.eat(Token::Timeout) {
            self.expect(Token::Arrow, Some(FORM))?;
            *timeout = Some(self.block()?);
        } else {
            let pattern = self.pattern()?;
            self.expect(Token::Arrow, Some(FORM))?;
            arms.push(Arm { pattern, body: self.block()? });
        }
        if self.at(Token::Comma) {
            let diagnostic = Diagnostic::new(self.span(), "nothing stands between the arms of a receive")
                .label("unexpected `,`")
                .help("remove it");
            self.report(diagnostic);
            self.bump();
        }
        Ok(())
    }
}
