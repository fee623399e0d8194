//! Expressions, patterns, types.

use mazurka_syntax::{Diagnostic, MOST_HEIGHT, Parsed, RecursiveDescent, Reported, unescape};
use num_bigint::BigInt;

use super::Parser;
use crate::language::ast::{
    Annotations, Commutes, Expr, ExprKind, FunctionArgument, Name, Parameter, Path, Pattern, PatternKind,
    TypeUse, Where,
};
use crate::language::lexer::Token;
use crate::model::{Binary, Span};

/// Decimal digits of a number.
const MOST_DIGITS: usize = 4000;

/// What an argument of a call is: only functions of second order take anything but expressions.
enum Argument<'a> {
    Value(Expr<'a>),
    Lambda(Vec<Parameter<'a>>, Expr<'a>, Span),
}

impl<'a> Parser<'a> {
    pub(super) fn expr(&mut self) -> Parsed<Expr<'a>> {
        self.binary(0)
    }

    /// An expression of the kind, unless its tree gets too high.
    fn make(&mut self, kind: ExprKind<'a>, span: Span) -> Parsed<Expr<'a>> {
        let height = 1 + highest(&kind);
        if height as usize > MOST_HEIGHT {
            let diagnostic = Diagnostic::new(span, "this expression is nested too deeply")
                .label(format!("the limit of {MOST_HEIGHT} operations within each other is exceeded here"))
                .help("compute parts of it before, in functions or variables of their own");
            return Err(self.report(diagnostic));
        }
        Ok(Expr { kind, span, height })
    }

    /// Operators that bind at least as strongly as `least`; all of them group to the left.
    fn binary(&mut self, least: u8) -> Parsed<Expr<'a>> {
        self.nested(|parser| {
            let mut left = parser.unary()?;
            while let Some((operator, strength)) =
                operator(parser.peek()).filter(|(_, strength)| *strength >= least)
            {
                parser.bump();
                let right = parser.binary(strength + 1)?;
                let span = parser.since(left.span.start);
                left = parser.make(ExprKind::Binary(operator, Box::new(left), Box::new(right)), span)?;
            }
            Ok(left)
        })
    }

    fn unary(&mut self) -> Parsed<Expr<'a>> {
        let token = self.peek();
        if !matches!(token, Token::Bang | Token::Tilde | Token::Minus) {
            return self.cast();
        }
        let start = self.span().start;
        let operand = Box::new(self.nested(|parser| {
            parser.bump();
            parser.unary()
        })?);
        let kind = if token == Token::Minus { ExprKind::Negate(operand) } else { ExprKind::Not(operand) };
        self.make(kind, self.since(start))
    }

    /// `e implements I`, `e as I`
    fn cast(&mut self) -> Parsed<Expr<'a>> {
        let mut expr = self.postfix()?;
        while self.peek_at(1) == Token::TypeName && (self.at_word("implements") || self.at_word("as")) {
            let implements = self.at_word("implements");
            self.bump();
            let interface = self.type_path("the name of an interface")?;
            let inner = Box::new(expr);
            let start = inner.span.start;
            let kind = match implements {
                true => ExprKind::Implements(inner, interface),
                false => ExprKind::As(inner, interface),
            };
            expr = self.make(kind, self.since(start))?;
        }
        Ok(expr)
    }

    /// What is called on something: `e.get`, `e.m(..)`, `e!m(..)`.
    fn postfix(&mut self) -> Parsed<Expr<'a>> {
        let mut expr = self.primary()?;
        loop {
            let start = expr.span.start;
            let is_async = self.at(Token::Bang) && self.peek_at(1) == Token::Name;
            if !is_async && !self.at(Token::Dot) {
                return Ok(expr);
            }
            self.bump();
            let method = self.name("the name of a method")?;
            let callee = Box::new(expr);
            let kind = if self.eat(Token::OpenParen) {
                let arguments = self.list(Token::CloseParen, Self::expr)?;
                match is_async {
                    true => ExprKind::Call { awaited: false, callee, method, arguments },
                    false => ExprKind::SyncCall { callee, method, arguments },
                }
            } else if is_async {
                return Err(self.expected("`(`", Some("a call has arguments in parentheses: `o!m()`")));
            } else if method.text == "get" {
                ExprKind::Get(callee)
            } else if matches!(callee.kind, ExprKind::This) {
                ExprKind::Field(method)
            } else {
                ExprKind::Dot(callee, method)
            };
            expr = self.make(kind, self.since(start))?;
        }
    }

    fn primary(&mut self) -> Parsed<Expr<'a>> {
        let start = self.span().start;
        if self.at_late_name() {
            let name = self.name("a name")?;
            return self.make(ExprKind::Name(Path { qualifier: None, name, span: name.span }), name.span);
        }
        let kind = match self.peek() {
            Token::Number => ExprKind::Int(self.number()?),
            Token::Fraction => {
                let span = self.span();
                return Err(self.refuse(span, "floating point numbers (Float)"));
            }
            Token::Text => ExprKind::Text(self.text()?),
            Token::Template => ExprKind::Template(self.template()?),
            Token::This => {
                self.bump();
                ExprKind::This
            }
            Token::Null => {
                self.bump();
                ExprKind::Null
            }
            Token::If | Token::When => self.conditional()?,
            Token::Case => self.case()?,
            Token::Let => return self.let_in(),
            Token::New => self.new_object()?,
            Token::Await => self.awaited()?,
            Token::OpenParen => return self.parenthesised(),
            Token::TypeName | Token::Name => self.named()?,
            _ => return Err(self.expected("an expression", None)),
        };
        self.make(kind, self.since(start))
    }

    fn parenthesised(&mut self) -> Parsed<Expr<'a>> {
        let start = self.bump().start;
        let mut expr = self.expr()?;
        self.expect(Token::CloseParen, None)?;
        expr.span = self.since(start);
        Ok(expr)
    }

    fn number(&mut self) -> Parsed<BigInt> {
        let span = self.span();
        let digits = self.slice(span);
        if digits.len() > MOST_DIGITS {
            let diagnostic = Diagnostic::new(span, format!("this number has {} digits", digits.len()))
                .help(format!("a number of the source has at most {MOST_DIGITS}"));
            return Err(self.report(diagnostic));
        }
        self.bump();
        Ok(digits.parse().unwrap_or_default())
    }

    fn text(&mut self) -> Parsed<String> {
        let span = self.bump();
        let inner = &self.slice(span)[1..];
        let inner = inner.strip_suffix('"').unwrap_or(inner);
        let escapes = [('n', '\n'), ('t', '\t'), ('r', '\r'), ('"', '"'), ('\\', '\\')];
        let (text, unknown) = unescape(inner, &escapes);
        let Some(escape) = unknown.first() else { return Ok(text) };
        let start = span.start + 1;
        let place = self.span_of(start + escape.start as u32, start + escape.end as u32);
        let diagnostic = Diagnostic::new(place, "this escape means nothing")
            .help("there are `\\n`, `\\t`, `\\r`, `\\\"` and `\\\\`");
        Err(self.report(diagnostic))
    }

    /// The texts and the expressions of a template, in turn.
    fn template(&mut self) -> Parsed<Vec<Expr<'a>>> {
        let mut parts = Vec::new();
        let mut first = true;
        loop {
            let span = self.span();
            let slice = self.slice(span);
            if !self.at(Token::Template) || slice.starts_with('`') != first {
                let help = "what is computed stands between two `$`";
                return Err(self.expected("the rest of the template", Some(help)));
            }
            self.bump();
            // A backslash escapes the signs of templates and is itself before any other sign.
            let text = slice[1..slice.len() - 1].replace("\\`", "`").replace("\\$", "$");
            parts.push(self.make(ExprKind::Text(text), span)?);
            if slice.ends_with('`') {
                return Ok(parts);
            }
            parts.push(self.expr()?);
            first = false;
        }
    }

    fn conditional(&mut self) -> Parsed<ExprKind<'a>> {
        self.bump();
        let condition = self.expr()?;
        self.expect(Token::Then, Some("an expression with a condition is written `when c then a else b`"))?;
        let yes = self.expr()?;
        self.expect(Token::Else, Some("an expression has a value in any case: `when c then a else b`"))?;
        let no = self.expr()?;
        Ok(ExprKind::If(Box::new(condition), Box::new(yes), Box::new(no)))
    }

    fn case(&mut self) -> Parsed<ExprKind<'a>> {
        self.bump();
        let subject = self.expr()?;
        self.expect(Token::OpenBrace, None)?;
        self.eat(Token::Bar);
        let mut branches = Vec::new();
        loop {
            let pattern = self.pattern()?;
            self.arrow()?;
            branches.push((pattern, self.expr()?));
            let separated = self.eat(Token::Semicolon) || self.eat(Token::Bar);
            if self.eat(Token::CloseBrace) {
                return Ok(ExprKind::Case(Box::new(subject), branches));
            }
            if !separated {
                return Err(self.expected("`;` or `}`", Some("a branch of a case ends with `;`")));
            }
        }
    }

    /// `let (T x) = e, (U y) = f in g`: the later ones see the earlier ones.
    fn let_in(&mut self) -> Parsed<Expr<'a>> {
        let start = self.bump().start;
        let mut bindings = Vec::new();
        loop {
            let parenthesis = self.eat(Token::OpenParen);
            let binding = self.parameter()?;
            if parenthesis {
                self.expect(Token::CloseParen, None)?;
            }
            self.expect(Token::Assign, None)?;
            bindings.push((binding, self.expr()?));
            if !self.eat(Token::Comma) {
                break;
            }
        }
        self.expect(Token::In, Some("a let is written `let (T x) = e in f`"))?;
        let mut body = self.expr()?;
        let span = self.since(start);
        for (parameter, value) in bindings.into_iter().rev() {
            let kind = ExprKind::Let(Box::new(parameter), Box::new(value), Box::new(body));
            body = self.make(kind, span)?;
        }
        Ok(body)
    }

    fn new_object(&mut self) -> Parsed<ExprKind<'a>> {
        self.bump();
        let place = match () {
            () if self.eat_word("local") => Where::Local,
            () if self.eat_word("cog") => Where::Cog,
            () => Where::Plain,
        };
        let class = self.type_path("the name of a class")?;
        self.expect(Token::OpenParen, Some("the arguments of the class stand in parentheses: `new C()`"))?;
        let arguments = self.list(Token::CloseParen, Self::expr)?;
        Ok(ExprKind::New(class, arguments, place))
    }

    /// `await o!m()`, where it has a value.
    fn awaited(&mut self) -> Parsed<ExprKind<'a>> {
        let span = self.bump();
        let inner = self.postfix()?;
        if let ExprKind::Call { awaited: false, callee, method, arguments } = inner.kind {
            return Ok(ExprKind::Call { awaited: true, callee, method, arguments });
        }
        let diagnostic = Diagnostic::new(span, "only the await of a call has a value: `await o!m()`")
            .help("wait in a statement, `await f?;`, and take the value then, `f.get`");
        Err(self.report(diagnostic))
    }

    /// What begins with a name: a variable, a call, a constructor.
    fn named(&mut self) -> Parsed<ExprKind<'a>> {
        let core = self.at_word("core") && self.peek_at(1) == Token::Dot;
        if core && self.word_at(2) == "original" {
            let span = self.span();
            return Err(self.refuse(span, "deltas (`core.original`)"));
        }
        let path = self.any_path("a name")?;
        let is_constructor = path.name.text.starts_with(|first: char| first.is_ascii_uppercase());
        if self.eat(Token::OpenBracket) {
            let elements = self.list(Token::CloseBracket, Self::expr)?;
            return Ok(ExprKind::Variadic(path, elements));
        }
        if !self.eat(Token::OpenParen) {
            return Ok(if is_constructor {
                ExprKind::Construct(path, Vec::new())
            } else {
                ExprKind::Name(path)
            });
        }
        let arguments = self.list(Token::CloseParen, Self::argument)?;
        if !is_constructor && self.eat(Token::OpenParen) {
            let functions =
                arguments.into_iter().map(|argument| self.function(argument)).collect::<Parsed<_>>()?;
            let values = self.list(Token::CloseParen, Self::expr)?;
            return Ok(ExprKind::ApplyFunctions(path, functions, values));
        }
        let values: Vec<Expr> =
            arguments.into_iter().map(|argument| self.value(argument)).collect::<Parsed<_>>()?;
        Ok(match is_constructor {
            true => ExprKind::Construct(path, values),
            false if path.qualifier.is_none() && path.name.text == "original" => ExprKind::Original(values),
            false => ExprKind::Apply(path, values),
        })
    }

    /// An expression, or a function without a name.
    fn argument(&mut self) -> Parsed<Argument<'a>> {
        let lambda = self.at(Token::OpenParen)
            && match self.peek_at(1) {
                Token::CloseParen => self.peek_at(2) == Token::Arrow,
                Token::OpenBracket => true,
                Token::TypeName => self.declares(1),
                _ => false,
            };
        if !lambda {
            return Ok(Argument::Value(self.expr()?));
        }
        let start = self.span().start;
        let (parameters, body) = self.nested(Self::lambda)?;
        Ok(Argument::Lambda(parameters, body, self.since(start)))
    }

    fn lambda(&mut self) -> Parsed<(Vec<Parameter<'a>>, Expr<'a>)> {
        let parameters = self.parameters()?;
        self.expect(Token::Arrow, Some("a function without a name is written `(Int x) => x + 1`"))?;
        Ok((parameters, self.expr()?))
    }

    fn function(&mut self, argument: Argument<'a>) -> Parsed<FunctionArgument<'a>> {
        match argument {
            Argument::Lambda(parameters, body, _) => Ok(FunctionArgument::Lambda(parameters, body)),
            Argument::Value(Expr { kind: ExprKind::Name(path), .. }) => Ok(FunctionArgument::Named(path)),
            Argument::Value(other) => {
                let diagnostic = Diagnostic::new(other.span, "expected a function")
                    .label("in the first parentheses stand functions, by name or as `(Int x) => x + 1`");
                Err(self.report(diagnostic))
            }
        }
    }

    fn value(&mut self, argument: Argument<'a>) -> Parsed<Expr<'a>> {
        match argument {
            Argument::Value(expr) => Ok(expr),
            Argument::Lambda(_, _, span) => {
                let diagnostic = Diagnostic::new(span, "a function is no value")
                    .label("functions are passed in parentheses of their own")
                    .help("such as `map((Int x) => x + 1)(list)`");
                Err(self.report(diagnostic))
            }
        }
    }

    pub(super) fn pattern(&mut self) -> Parsed<Pattern<'a>> {
        self.nested(Self::pattern_open)
    }

    fn pattern_open(&mut self) -> Parsed<Pattern<'a>> {
        let start = self.span().start;
        let kind = match self.peek() {
            Token::Underscore => {
                self.bump();
                PatternKind::Wildcard
            }
            Token::Number => PatternKind::Int(self.number()?),
            Token::Minus if self.peek_at(1) == Token::Number => {
                self.bump();
                PatternKind::Int(-self.number()?)
            }
            Token::Text => PatternKind::Text(self.text()?),
            Token::Null => {
                self.bump();
                PatternKind::Null
            }
            Token::TypeName => {
                let constructor = self.type_path("a constructor")?;
                let open = self.eat(Token::OpenParen);
                let arguments = if open { self.list(Token::CloseParen, Self::pattern)? } else { Vec::new() };
                PatternKind::Construct(constructor, arguments)
            }
            Token::Name => PatternKind::Name(self.name("a pattern")?.text),
            _ if self.at_late_word() => PatternKind::Name(self.name("a pattern")?.text),
            _ => return Err(self.expected("a pattern", None)),
        };
        Ok(Pattern { kind, span: self.since(start) })
    }

    /// A type, with the annotations before it.
    pub(super) fn type_use(&mut self) -> Parsed<TypeUse<'a>> {
        self.annotations()?;
        self.nested(Self::type_open)
    }

    fn type_open(&mut self) -> Parsed<TypeUse<'a>> {
        let start = self.span().start;
        let path = self.type_path("a type")?;
        let arguments = match self.eat(Token::Less) {
            true => self.list(Token::Greater, Self::type_use)?,
            false => Vec::new(),
        };
        Ok(TypeUse { path, arguments, span: self.since(start) })
    }

    pub(super) fn parameter(&mut self) -> Parsed<Parameter<'a>> {
        let ty = self.type_use()?;
        let name = self.name("a name")?;
        Ok(Parameter { ty, name })
    }

    pub(super) fn parameters(&mut self) -> Parsed<Vec<Parameter<'a>>> {
        self.expect(Token::OpenParen, None)?;
        self.list(Token::CloseParen, Self::parameter)
    }

    /// Whether a type and then a name stand so many tokens ahead, as in a declaration.
    pub(super) fn declares(&self, ahead: usize) -> bool {
        let mut at = ahead;
        if self.peek_at(at) != Token::TypeName {
            return false;
        }
        while self.peek_at(at + 1) == Token::Dot && self.peek_at(at + 2) == Token::TypeName {
            at += 2;
        }
        match self.peek_at(at + 1) {
            // A name with a capital letter is wrong there, and is said so.
            Token::Name | Token::TypeName | Token::Less => true,
            // So is a word of the language.
            _ => {
                self.is_keyword_at(at + 1) && matches!(self.peek_at(at + 2), Token::Assign | Token::Semicolon)
            }
        }
    }

    /// `[..]` before declarations, statements and types. They change nothing here, but for those that ask for
    /// what there is not, `[Atomic]`, and `[Commutes: m, When: e]`.
    pub(super) fn annotations(&mut self) -> Parsed<Annotations<'a>> {
        let mut annotations = Annotations::default();
        while self.at(Token::OpenBracket) {
            self.bump();
            for annotation in self.list(Token::CloseBracket, Self::annotation)? {
                match annotation {
                    Annotation::Atomic => annotations.atomic = true,
                    Annotation::Commutes(with) => {
                        annotations.commutes.push(Commutes { with, condition: None });
                    }
                    Annotation::When(condition) => match annotations.commutes.last_mut() {
                        Some(commutes) if commutes.condition.is_none() => {
                            commutes.condition = Some(condition)
                        }
                        _ => {
                            let message = "`When` says where what is named before it commutes";
                            let diagnostic = Diagnostic::new(condition.span, message);
                            self.report(
                                diagnostic.help("write `[Commutes: m, When: n > 0]`, with one condition"),
                            );
                        }
                    },
                    Annotation::Other => {}
                }
            }
        }
        Ok(annotations)
    }

    fn annotation(&mut self) -> Parsed<Annotation<'a>> {
        let mut atomic = false;
        if self.at(Token::TypeName) {
            let word = self.word();
            atomic = word == "Atomic";
            if matches!(word, "Commutes" | "When") && self.peek_at(1) == Token::Colon {
                self.bump();
                self.bump();
                return Ok(match word {
                    "Commutes" => Annotation::Commutes(self.name("the name of a method")?),
                    _ => Annotation::When(self.expr()?),
                });
            }
            let what = match word {
                "Scheduler" => Some("user-defined schedulers"),
                "DC" => Some("deployment components"),
                "HTTPCallable" => Some("HTTP callable methods"),
                "Foreign" => Some("foreign classes"),
                _ => None,
            };
            if let Some(what) = what {
                let span = self.span();
                let Reported = self.refuse(span, what);
            }
            let position = self.position();
            if self.type_use().is_ok() && self.eat(Token::Colon) {
                return self.expr().map(|_| Annotation::Other);
            }
            self.go_back(position);
        }
        self.expr().map(|_| if atomic { Annotation::Atomic } else { Annotation::Other })
    }
}

/// One of several between brackets.
enum Annotation<'a> {
    Atomic,
    Commutes(Name<'a>),
    When(Expr<'a>),
    Other,
}

/// The operator of a token, and how strongly it binds.
fn operator(token: Token) -> Option<(Binary, u8)> {
    Some(match token {
        Token::Or => (Binary::Or, 1),
        Token::And => (Binary::And, 2),
        Token::Equal => (Binary::Equal, 3),
        Token::NotEqual => (Binary::NotEqual, 3),
        Token::Less => (Binary::Less, 4),
        Token::LessEqual => (Binary::LessEqual, 4),
        Token::Greater => (Binary::Greater, 4),
        Token::GreaterEqual => (Binary::GreaterEqual, 4),
        Token::Plus => (Binary::Add, 5),
        Token::Minus => (Binary::Subtract, 5),
        Token::Star => (Binary::Multiply, 6),
        Token::Slash => (Binary::Divide, 6),
        Token::Percent => (Binary::Modulo, 6),
        _ => return None,
    })
}

/// The height of the highest part.
fn highest(kind: &ExprKind) -> u32 {
    let most = |parts: &[Expr]| parts.iter().map(|part| part.height).max().unwrap_or(0);
    // The part at place i will be i levels down.
    let spread = |parts: &[Expr]| (0u32..).zip(parts).map(|(at, part)| at + part.height).max().unwrap_or(0);
    match kind {
        ExprKind::Int(_)
        | ExprKind::Text(_)
        | ExprKind::This
        | ExprKind::Null
        | ExprKind::Name(_)
        | ExprKind::Field(_) => 0,
        ExprKind::Template(parts) | ExprKind::Variadic(_, parts) => 1 + spread(parts),
        ExprKind::Construct(_, parts) | ExprKind::Apply(_, parts) | ExprKind::New(_, parts, _) => most(parts),
        ExprKind::Original(parts) => most(parts),
        ExprKind::ApplyFunctions(_, functions, parts) => {
            let bodies = functions.iter().map(|function| match function {
                FunctionArgument::Named(_) => 0,
                FunctionArgument::Lambda(_, body) => body.height,
            });
            bodies.max().unwrap_or(0).max(most(parts))
        }
        ExprKind::Dot(inner, _)
        | ExprKind::Not(inner)
        | ExprKind::Negate(inner)
        | ExprKind::Implements(inner, _)
        | ExprKind::As(inner, _)
        | ExprKind::Get(inner) => inner.height,
        ExprKind::Binary(_, left, right) => left.height.max(right.height),
        ExprKind::If(condition, yes, no) => condition.height.max(yes.height).max(no.height),
        ExprKind::Let(_, value, body) => value.height.max(body.height),
        ExprKind::Case(subject, branches) => {
            branches.iter().map(|(_, body)| body.height).max().unwrap_or(0).max(subject.height)
        }
        ExprKind::Call { callee, arguments, .. } | ExprKind::SyncCall { callee, arguments, .. } => {
            callee.height.max(most(arguments))
        }
    }
}
