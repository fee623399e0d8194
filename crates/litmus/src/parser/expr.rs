//! Expressions, by precedence climbing.

use mazurka_syntax::{Diagnostic, MOST_HEIGHT, Parsed, RecursiveDescent, Reported, Span, abbreviated};

use super::Parser;
use crate::ast::{BinaryOp, Expr, ExprKind, Name, UnaryOp};
use crate::lexer::Token;

/// An expression and the height of its tree.
struct MeasuredExpr {
    expr: Expr,
    height: usize,
}

impl<'a> RecursiveDescent<'a, Token> for Parser<'a> {
    fn too_deep(&mut self) -> Reported {
        let diagnostic = Diagnostic::new(self.span(), "this expression is too long or too deeply nested")
            .label(format!("the limit of {MOST_HEIGHT} operations within each other is exceeded here"))
            .help("compute parts of it into local variables first");
        self.report(diagnostic)
    }
}

impl Parser<'_> {
    pub(super) fn expr(&mut self) -> Parsed<Expr> {
        self.binary(0).map(|measured| measured.expr)
    }

    /// The rest of an expression whose first operand has been read, in parentheses.
    pub(super) fn expr_after(&mut self, operand: Expr) -> Parsed<Expr> {
        let height = height(&operand);
        self.binary_after(MeasuredExpr { expr: operand, height }, 0).map(|measured| measured.expr)
    }

    /// Whether an operator follows, also one of another language.
    pub(super) fn at_operator(&self) -> bool {
        binary_op(self.peek()).is_some() || matches!(self.peek(), Token::Foreign | Token::Assign)
    }

    /// Operands joined by operators that bind at least as strongly as `weakest`.
    fn binary(&mut self, weakest: u8) -> Parsed<MeasuredExpr> {
        self.nested(|parser| {
            let left = parser.unary()?;
            parser.binary_after(left, weakest)
        })
    }

    fn binary_after(&mut self, mut left: MeasuredExpr, weakest: u8) -> Parsed<MeasuredExpr> {
        // The operator that joined `left` last, if it is not in parentheses.
        let mut last: Option<BinaryOp> = None;
        loop {
            let Some(op) = self.operator()?.filter(|op| precedence(*op) >= weakest) else {
                return Ok(left);
            };
            if is_comparison(op) && last.is_some_and(|last| precedence(last) == precedence(op)) {
                self.chained(&left.expr);
            }
            self.bump();
            let right = self.binary(precedence(op) + 1)?;
            let height = 1 + left.height.max(right.height);
            if height > MOST_HEIGHT {
                return Err(self.too_deep());
            }
            let span = self.since(left.expr.span.start);
            let kind = ExprKind::Binary(op, Box::new(left.expr), Box::new(right.expr));
            left = MeasuredExpr { expr: Expr { kind, span }, height };
            last = Some(op);
        }
    }

    /// The operator that stands here; an operator of another language is reported and taken for ours.
    fn operator(&mut self) -> Parsed<Option<BinaryOp>> {
        let token = self.peek();
        if !matches!(token, Token::Foreign | Token::Assign) {
            return Ok(binary_op(token));
        }
        let text = self.word();
        let (op, ours) = match text {
            "=" | "===" | ":=" => (BinaryOp::Eq, "=="),
            "&" => (BinaryOp::And, "&&"),
            "|" => (BinaryOp::Or, "||"),
            "!==" | "<>" => (BinaryOp::Ne, "!="),
            "=<" => (BinaryOp::Le, "<="),
            _ => {
                let diagnostic = Diagnostic::new(self.span(), format!("there is no operator `{text}`"))
                    .label("unknown operator")
                    .help("the operators are `|| && == != < <= > >= + - * / % !`");
                return Err(self.report(diagnostic));
            }
        };
        let diagnostic = match text {
            "=" => Diagnostic::new(self.span(), "`=` assigns; it does not compare")
                .label("within an expression")
                .help("to compare, write `==`"),
            "&" | "|" => Diagnostic::new(self.span(), format!("there is no operator `{text}`"))
                .label("unknown operator")
                .help(format!("write `{ours}`; there are no operations on bits")),
            _ => Diagnostic::new(self.span(), format!("there is no operator `{text}`"))
                .label("unknown operator")
                .help(format!("write `{ours}`")),
        };
        self.report(diagnostic);
        Ok(Some(op))
    }

    /// Reports `a < b < c`, at the second operator.
    fn chained(&mut self, left: &Expr) {
        let middle = match &left.kind {
            ExprKind::Binary(_, _, right) => right.span,
            _ => left.span,
        };
        let (first, middle) = (abbreviated(self.slice(left.span)), abbreviated(self.slice(middle)));
        let op = self.word();
        let diagnostic =
            Diagnostic::new(self.span(), "comparisons do not chain").label("a second comparison").help(
                format!("write `{first} && {middle} {op} ...`, or parentheses to compare the result, 0 or 1"),
            );
        self.report(diagnostic);
    }

    fn unary(&mut self) -> Parsed<MeasuredExpr> {
        let start = self.span().start;
        let op = match self.peek() {
            Token::Minus if self.peek_at(1) == Token::Number => {
                self.bump();
                return self.number(start, true);
            }
            Token::Minus => UnaryOp::Neg,
            Token::Bang => UnaryOp::Not,
            _ => return self.primary(),
        };
        self.bump();
        let operand = self.nested(Self::unary)?;
        let height = 1 + operand.height;
        if height > MOST_HEIGHT {
            return Err(self.too_deep());
        }
        let kind = ExprKind::Unary(op, Box::new(operand.expr));
        Ok(MeasuredExpr { expr: Expr { kind, span: self.since(start) }, height })
    }

    fn primary(&mut self) -> Parsed<MeasuredExpr> {
        let start = self.span().start;
        match self.peek() {
            Token::Number => self.number(start, false),
            Token::True | Token::False => {
                let value = i64::from(self.at(Token::True));
                let span = self.bump();
                Ok(leaf(ExprKind::Number(value), span))
            }
            Token::OpenParen => {
                self.bump();
                let mut inner = self.binary(0)?;
                let asserts = self.at(Token::Comma) && self.peek_at(1) == Token::Text;
                let help = "`assert` has no parentheses: `assert e, \"text\";`";
                self.expect(Token::CloseParen, Some(help).filter(|_| asserts))?;
                // So that whatever is said about it covers the parentheses.
                inner.expr.span = self.since(start);
                Ok(inner)
            }
            Token::Name if self.peek_at(1) == Token::OpenParen => Err(self.call_within()),
            Token::Name => self.variable(),
            Token::FetchAdd | Token::Swap | Token::Cas | Token::TryLock | Token::Choose | Token::Spawn => {
                self.operation_within();
                Ok(leaf(ExprKind::Number(0), self.since(start)))
            }
            _ => Err(self.no_expression()),
        }
    }

    fn variable(&mut self) -> Parsed<MeasuredExpr> {
        let span = self.bump();
        let name = Name { text: self.slice(span).to_string(), span };
        if !self.eat(Token::OpenBracket) {
            return Ok(leaf(ExprKind::Name(name), span));
        }
        let index = self.binary(0)?;
        self.expect(Token::CloseBracket, None)?;
        self.no_second_index()?;
        let height = 1 + index.height;
        if height > MOST_HEIGHT {
            return Err(self.too_deep());
        }
        let kind = ExprKind::Cell(name, Box::new(index.expr));
        Ok(MeasuredExpr { expr: Expr { kind, span: self.since(span.start) }, height })
    }

    /// The number that stands here, of an expression that begins at `start`. The smallest number can't be had
    /// by negation, so a minus right before the digits belongs to them.
    fn number(&mut self, start: u32, negative: bool) -> Parsed<MeasuredExpr> {
        let digits = self.word();
        let value = if negative { format!("-{digits}").parse() } else { digits.parse::<i64>() };
        if value.is_err() {
            let span = self.span_of(start, self.span().end);
            let diagnostic = Diagnostic::new(span, "this number does not fit into 64 bits")
                .label("too large")
                .help(format!("numbers are between {} and {}", i64::MIN, i64::MAX));
            self.report(diagnostic);
        }
        self.bump();
        Ok(leaf(ExprKind::Number(value.unwrap_or(0)), self.since(start)))
    }

    /// Reports and takes an operation in the middle of an expression.
    fn operation_within(&mut self) {
        let word = self.word();
        let diagnostic = Diagnostic::new(self.span(), format!("`{word}` stands alone"))
            .label("an operation within an expression")
            .help(format!(
                "give its value to a local variable first: `let r = {word} ...;`, then use `r` here"
            ));
        self.report(diagnostic);
        self.bump();
        self.eat(Token::Name);
        let mut open = 0usize;
        loop {
            match self.peek() {
                Token::OpenParen => open += 1,
                Token::CloseParen if open > 1 => open -= 1,
                Token::CloseParen if open == 1 => {
                    self.bump();
                    return;
                }
                Token::End | Token::Semicolon | Token::OpenBrace | Token::CloseBrace => return,
                _ if open == 0 => return,
                _ => {}
            }
            self.bump();
        }
    }

    /// Reports `f(...)` in an expression.
    fn call_within(&mut self) -> Reported {
        let name = abbreviated(self.word());
        let diagnostic = Diagnostic::new(self.span(), format!("there is no operation `{name}`"))
            .label("unknown operation")
            .help("there are no functions; a cell of an array is written `a[e]`");
        self.report(diagnostic)
    }

    fn no_expression(&mut self) -> Reported {
        let help = match self.peek() {
            Token::Plus | Token::Foreign => {
                Some("there are no other operators before an operand than `-` and `!`")
            }
            Token::Question | Token::Underscore => {
                Some("`?r` and `_` stand only in the patterns of `receive`")
            }
            Token::Text => Some("values are numbers; a text stands only after the condition of `assert`"),
            Token::Greater | Token::Assign => Some("the comparisons are `== != < <= > >=`"),
            Token::OpenBracket => Some("`[1, 2, 3]` stands only in the declaration of an array"),
            _ if self.at_keyword() => Some("this word gives no value"),
            _ => None,
        };
        self.expected("an expression", help)
    }
}

fn leaf(kind: ExprKind, span: Span) -> MeasuredExpr {
    MeasuredExpr { expr: Expr { kind, span }, height: 1 }
}

fn height(expr: &Expr) -> usize {
    match &expr.kind {
        ExprKind::Number(_) | ExprKind::Name(_) => 1,
        ExprKind::Cell(_, inner) | ExprKind::Unary(_, inner) => 1 + height(inner),
        ExprKind::Binary(_, left, right) => 1 + height(left).max(height(right)),
    }
}

fn binary_op(token: Token) -> Option<BinaryOp> {
    Some(match token {
        Token::Or => BinaryOp::Or,
        Token::And => BinaryOp::And,
        Token::Equal => BinaryOp::Eq,
        Token::NotEqual => BinaryOp::Ne,
        Token::Less => BinaryOp::Lt,
        Token::LessEqual => BinaryOp::Le,
        Token::Greater => BinaryOp::Gt,
        Token::GreaterEqual => BinaryOp::Ge,
        Token::Plus => BinaryOp::Add,
        Token::Minus => BinaryOp::Sub,
        Token::Star => BinaryOp::Mul,
        Token::Slash => BinaryOp::Div,
        Token::Percent => BinaryOp::Rem,
        _ => return None,
    })
}

/// How strongly an operator binds.
pub(crate) fn precedence(op: BinaryOp) -> u8 {
    match op {
        BinaryOp::Or => 1,
        BinaryOp::And => 2,
        BinaryOp::Eq | BinaryOp::Ne => 3,
        BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge => 4,
        BinaryOp::Add | BinaryOp::Sub => 5,
        BinaryOp::Mul | BinaryOp::Div | BinaryOp::Rem => 6,
    }
}

/// Whether it is of those that do not chain.
pub(crate) fn is_comparison(op: BinaryOp) -> bool {
    matches!(precedence(op), 3 | 4)
}
