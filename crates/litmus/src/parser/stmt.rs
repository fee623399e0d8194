//! Statements: assignments, conditions, loops, and what stands where none of them begins.

use mazurka_syntax::{Diagnostic, Parsed, Reported, Span, abbreviated, unescape};

use super::{Parser, suggest};
use crate::ast::{AssignOp, Dest, Expr, Stmt, StmtKind, Target};
use crate::lexer::Token;

impl Parser<'_> {
    pub(super) fn statement(&mut self) -> Parsed<Stmt> {
        let start = self.span().start;
        match self.peek() {
            Token::If => self.if_statement(),
            Token::While => {
                self.bump();
                let condition = self.expr()?;
                let span = self.since(start);
                Ok(Stmt { kind: StmtKind::While { condition, body: self.block()? }, span })
            }
            Token::For => {
                self.bump();
                let index = self.name("the name of an index")?;
                self.expect(Token::In, Some("a loop is written `for i in 0..n { ... }`"))?;
                let range = self.range()?;
                let span = self.since(start);
                Ok(Stmt { kind: StmtKind::For { index, range, body: self.block()? }, span })
            }
            Token::Atomic => {
                let span = self.bump();
                let name =
                    if self.at(Token::OpenBrace) { None } else { Some(self.name("a block or its name")?) };
                Ok(Stmt { kind: StmtKind::Atomic { name, body: self.block()? }, span })
            }
            Token::Receive => self.receive(),
            _ => {
                let kind = self.simple()?;
                let span = self.since(start);
                self.semicolon()?;
                Ok(Stmt { kind, span })
            }
        }
    }

    /// A chain of `else if` is no nesting, however long.
    fn if_statement(&mut self) -> Parsed<Stmt> {
        let start = self.bump().start;
        let condition = self.expr()?;
        let span = self.since(start);
        let mut arms = vec![(condition, self.block()?)];
        let mut otherwise = None;
        while self.eat(Token::Else) {
            if self.eat(Token::If) {
                let condition = self.expr()?;
                arms.push((condition, self.block()?));
            } else {
                otherwise = Some(self.block()?);
                break;
            }
        }
        Ok(Stmt { kind: StmtKind::If { arms, otherwise }, span })
    }

    /// A statement that ends with `;`, up to there.
    fn simple(&mut self) -> Parsed<StmtKind> {
        match self.peek() {
            Token::Let => self.let_statement(),
            Token::Name => self.assignment(),
            Token::Await => self.with_expr().map(StmtKind::Await),
            Token::Assume => self.with_expr().map(StmtKind::Assume),
            Token::Assert => self.assert_statement(),
            Token::Skip => self.lone(StmtKind::Skip),
            Token::Break => self.lone(StmtKind::Break),
            Token::Continue => self.lone(StmtKind::Continue),
            token if token.gives_value() => self.operation(Dest::None),
            token if token.acts() => self.action(),
            _ => Err(self.no_statement()),
        }
    }

    fn lone(&mut self, kind: StmtKind) -> Parsed<StmtKind> {
        self.bump();
        Ok(kind)
    }

    fn with_expr(&mut self) -> Parsed<Expr> {
        self.bump();
        self.expr()
    }

    fn let_statement(&mut self) -> Parsed<StmtKind> {
        self.bump();
        let name = self.name("the name of a local variable")?;
        self.expect(Token::Assign, Some("a local variable begins with a value: `let r = 0;`"))?;
        if self.peek().gives_value() {
            return self.operation(Dest::Let(name));
        }
        let value = self.expr()?;
        if self.at(Token::Comma) {
            let diagnostic = Diagnostic::new(self.span(), "`let` declares one variable")
                .label("unexpected `,`")
                .help("end the statement by `;` and write another `let`");
            return Err(self.report(diagnostic));
        }
        Ok(StmtKind::Let { name, value })
    }

    fn assignment(&mut self) -> Parsed<StmtKind> {
        use Token::{AddAssign, Assign, Equal, Foreign, Minus, OpenBracket, OpenParen, SubAssign};
        let assigns = [Assign, AddAssign, SubAssign, OpenBracket, Equal, Foreign, Minus];
        if !assigns.contains(&self.peek_at(1)) {
            return Err(self.unknown_statement(self.peek_at(1) == OpenParen));
        }
        let target = self.target("a variable")?;
        let op = match self.peek() {
            Assign => AssignOp::Set,
            AddAssign => AssignOp::Add,
            SubAssign => AssignOp::Sub,
            _ => return Err(self.no_assignment(&target)),
        };
        self.bump();
        if !self.peek().gives_value() {
            return Ok(StmtKind::Assign { target, op, value: self.expr()? });
        }
        match (target.index, op) {
            (None, AssignOp::Set) => self.operation(Dest::Local(target.name)),
            _ => Err(self.no_place_for_value()),
        }
    }

    /// A name, with an index or without.
    pub(super) fn target(&mut self, what: &str) -> Parsed<Target> {
        Ok(Target { name: self.name(what)?, index: self.index()? })
    }

    fn assert_statement(&mut self) -> Parsed<StmtKind> {
        self.bump();
        let condition = self.expr()?;
        let message = if self.eat(Token::Comma) { Some(self.text()?) } else { None };
        Ok(StmtKind::Assert { condition, message })
    }

    /// A text in quotes.
    fn text(&mut self) -> Parsed<String> {
        if !self.at(Token::Text) {
            return Err(self.expected("a text", Some("a text stands between double quotes: `\"...\"`")));
        }
        let start = self.span().start + 1;
        let quoted = self.word();
        let (text, unknown) =
            unescape(&quoted[1..quoted.len() - 1], &[('n', '\n'), ('"', '"'), ('\\', '\\')]);
        for escape in unknown {
            let span = self.span_of(start + escape.start as u32, start + escape.end as u32);
            let diagnostic = Diagnostic::new(span, "unknown escape in a text")
                .label("this")
                .help("the escapes are `\\\"`, `\\\\` and `\\n`; a backslash is written `\\\\`");
            self.report(diagnostic);
        }
        self.bump();
        Ok(text)
    }
}

/// What is no statement.
impl Parser<'_> {
    /// Reports what follows a variable that is not assigned.
    fn no_assignment(&mut self, target: &Target) -> Reported {
        let name = self.shown(target);
        let text = self.word();
        if self.at(Token::Equal) {
            let diagnostic = Diagnostic::new(self.span(), "`==` compares; it does not assign")
                .label("expected `=`")
                .help("to assign, write `=`");
            return self.report(diagnostic);
        }
        let help = match text {
            "++" => format!("write `{name} += 1`"),
            "-" if self.peek_at(1) == Token::Minus => format!("write `{name} -= 1`"),
            ":=" => format!("write `{name} = ...`"),
            "*=" | "/=" | "%=" => format!("write `{name} = {name} {} ...`", &text[..1]),
            _ => "a variable is assigned by `=`, `+=` or `-=`".to_string(),
        };
        self.expected("`=`, `+=` or `-=`", Some(&help))
    }

    fn shown(&self, target: &Target) -> String {
        let end = target.index.as_ref().map_or(target.name.span.end, |_| self.previous_end());
        abbreviated(self.slice(self.span_of(target.name.span.start, end)))
    }

    /// Reports an operation whose value goes somewhere else than into a local variable.
    fn no_place_for_value(&mut self) -> Reported {
        let word = self.word();
        let diagnostic =
            Diagnostic::new(self.span(), format!("the value of `{word}` goes into a local variable"))
                .label("its value is given to something else")
                .help(format!("write `let r = {word} ...;` and then assign `r`"));
        self.report(diagnostic)
    }

    /// Reports a name that begins no assignment.
    fn unknown_statement(&mut self, called: bool) -> Reported {
        let word = self.word();
        let kind = if called { "operation" } else { "statement" };
        let meant = suggest::closest(word, suggest::STATEMENTS)
            .or_else(|| suggest::closest(word, suggest::DECLARATIONS).filter(|_| !called));
        let help = match meant {
            Some(meant) => format!("did you mean `{meant}`?"),
            None if called => "there are no functions; a process is created by `spawn t(...)`".to_string(),
            None => "a statement is an assignment, `x = 1;`, or begins with a word such as `let` or `if`"
                .to_string(),
        };
        let diagnostic = Diagnostic::new(self.span(), format!("there is no {kind} `{}`", abbreviated(word)))
            .label(format!("unknown {kind}"))
            .help(help);
        self.report(diagnostic)
    }

    /// Reports what stands where a statement should.
    fn no_statement(&mut self) -> Reported {
        let span = self.span();
        let word = self.word();
        let (message, help) = match self.peek() {
            Token::Var | Token::Const | Token::Param | Token::Condvar => (
                format!("`{word}` stands at the top of the file"),
                "write `let r = 0;` for a local variable; or is a `}` missing above?",
            ),
            Token::Else => {
                ("this `else` belongs to no `if`".to_string(), "`else` follows the `}` of an `if`")
            }
            Token::Timeout => (
                "`timeout` stands outside of a receive".to_string(),
                "write `receive { ... timeout => { ... } }`",
            ),
            Token::Semicolon => {
                ("this `;` ends nothing".to_string(), "remove it; an empty step is written `skip;`")
            }
            Token::OpenBrace => {
                ("a block can't stand alone".to_string(), "remove the braces, or write `atomic { ... }`")
            }
            Token::Number | Token::OpenParen | Token::Minus | Token::Bang | Token::True | Token::False => (
                "an expression is no statement".to_string(),
                "give its value to a variable, or write `assert e;`",
            ),
            _ => return self.expected("a statement", None),
        };
        let diagnostic = Diagnostic::new(span, message).label("expected a statement").help(help);
        self.report(diagnostic)
    }

    /// Reports an operation that is followed by more of an expression; `start` is where it begins.
    pub(super) fn not_alone(&mut self, start: Span) -> Reported {
        let word = self.slice(start);
        let whole = abbreviated(self.slice(self.since(start.start)));
        let diagnostic = Diagnostic::new(self.span(), format!("`{word}` stands alone"))
            .label(format!("the value of `{word}` is used in an expression"))
            .help(format!("write `let r = {whole};` and use `r` in the next statement"));
        self.report(diagnostic)
    }
}
