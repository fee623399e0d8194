//! Expressions without effects: checked and lowered.

use mazurka_syntax::Diagnostic;

use super::Dialect;
use super::apply::{Lowered, Site};
use super::ast::{Expr, ExprKind as Kind, Path, Pattern};
use super::body::{Body, TypedExpr};
use super::types::Type;
use crate::model::{self, Binary, ExprKind, InterfaceId, Span, Target};

/// Expressions within each other that are looked at.
const MOST_DEPTH: usize = 300;

/// Where a type that is expected comes from.
pub(crate) type Context = Option<(Span, String)>;

impl<'a> Body<'_, 'a> {
    /// Checks an expression against the type that it must have; `context` says why it must.
    pub(crate) fn check_for(&mut self, expr: &Expr<'a>, expected: &Type, context: Context) -> model::Expr {
        let kind = match &expr.kind {
            // The parts are checked, so that the place of an error is that of the part.
            Kind::If(..) | Kind::Case(..) => {
                self.alternatives(expr, &mut |this, part| this.check_for(part, expected, context.clone()))
            }
            Kind::Let(parameter, value, body) => {
                let (slot, value) = self.let_value(parameter, value);
                let body = self.check_for(body, expected, context);
                self.close();
                ExprKind::Let(slot, Box::new(value), Box::new(body))
            }
            _ => {
                let typed = self.infer(expr, Some(expected));
                if !self.sub(&typed.ty, expected) {
                    self.mismatch(expr.span, expected, &typed.ty, context);
                }
                return typed.expr;
            }
        };
        model::Expr { kind, span: expr.span }
    }

    pub(crate) fn condition(&mut self, expr: &Expr<'a>) -> model::Expr {
        let bool = self.compiler.world.basic(|basics| basics.bool);
        self.check(expr, &bool)
    }

    /// A pattern and what it leads to, in a scope of their own.
    pub(crate) fn branch<T>(
        &mut self,
        pattern: &Pattern<'a>,
        subject: &Type,
        body: impl FnOnce(&mut Self) -> T,
    ) -> (model::Pattern, T) {
        self.open();
        let pattern = self.pattern(pattern, subject);
        let body = body(self);
        self.close();
        (pattern, body)
    }

    /// Opens the scope of a let.
    fn let_value(
        &mut self,
        parameter: &super::ast::Parameter<'a>,
        value: &Expr<'a>,
    ) -> (model::Slot, model::Expr) {
        let ty = self.resolve_type(&parameter.ty);
        let value = self.check_for(value, &ty, Some((parameter.ty.span, "its type".to_string())));
        self.open();
        (self.declare(parameter.name, ty), value)
    }

    /// The type of an expression, and what it is. What is expected only helps to find type arguments.
    pub(crate) fn infer(&mut self, expr: &Expr<'a>, expected: Option<&Type>) -> TypedExpr {
        // One expression is not that deep, but a function whose type is needed may be looked at in between.
        let lowered = if self.compiler.depth > MOST_DEPTH {
            self.report(Diagnostic::new(expr.span, "functions that take functions are nested too deeply"));
            None
        } else {
            self.compiler.depth += 1;
            let lowered = self.infer_open(expr, Site { span: expr.span, expected });
            self.compiler.depth -= 1;
            lowered
        };
        let (kind, ty) = lowered.unwrap_or((ExprKind::Unit, Type::Error));
        let ty = self.resolved_outside(ty, expr.span);
        TypedExpr { expr: model::Expr { kind, span: expr.span }, ty }
    }

    fn infer_open(&mut self, expr: &Expr<'a>, site: Site) -> Lowered {
        Some(match &expr.kind {
            Kind::Int(number) => (ExprKind::Int(number.clone()), self.basic(|basics| basics.int)),
            Kind::Text(text) => (ExprKind::Text(text.clone()), self.basic(|basics| basics.string)),
            Kind::Template(parts) => self.template(parts, expr.span),
            Kind::This => return self.this(expr.span),
            Kind::Null => (ExprKind::Null, Type::Null),
            Kind::Name(path) => return self.name(path),
            Kind::Field(name) => {
                let Some((field, ty)) = self.field(name.text) else {
                    self.unknown_field(*name);
                    return None;
                };
                (ExprKind::Field(field), ty)
            }
            Kind::Dot(inner, name) => {
                self.infer(inner, None);
                self.not_a_field(name.span);
                return None;
            }
            Kind::Construct(path, arguments) => return self.construct(path, arguments, site),
            Kind::Apply(path, arguments) => return self.apply(path, arguments, site),
            Kind::ApplyFunctions(path, functions, arguments) => {
                return self.apply_functions(path, functions, arguments, site);
            }
            Kind::Variadic(path, elements) => return self.variadic(path, elements, site),
            Kind::Not(inner) => {
                let inner = self.condition(inner);
                (ExprKind::Not(Box::new(inner)), self.basic(|basics| basics.bool))
            }
            Kind::Negate(inner) => self.negate(inner),
            Kind::Binary(operator, left, right) => return self.binary(*operator, left, right),
            Kind::If(..) | Kind::Case(..) => {
                let mut joined = None;
                let kind = self
                    .alternatives(expr, &mut |this, part| this.alternative(part, site.expected, &mut joined));
                (kind, joined.map_or(Type::Error, |(ty, _)| ty))
            }
            Kind::Let(parameter, value, body) => {
                let (slot, value) = self.let_value(parameter, value);
                let body = self.infer(body, site.expected);
                self.close();
                (ExprKind::Let(slot, Box::new(value), Box::new(body.expr)), body.ty)
            }
            Kind::Implements(inner, interface) => {
                let (inner, interface) = self.cast(inner, interface);
                let kind = interface
                    .map_or(ExprKind::Unit, |interface| ExprKind::Implements(Box::new(inner), interface));
                (kind, self.basic(|basics| basics.bool))
            }
            Kind::As(inner, interface) => {
                let (inner, interface) = self.cast(inner, interface);
                let interface = interface?;
                (ExprKind::As(Box::new(inner), interface), Type::Interface(interface))
            }
            Kind::New(..) | Kind::Call { .. } | Kind::SyncCall { .. } | Kind::Get(_) | Kind::Original(_) => {
                self.effect_inside(expr);
                return None;
            }
        })
    }

    /// A type that is small enough, with its meta variables.
    fn resolved_outside(&mut self, ty: Type, span: Span) -> Type {
        match ty {
            Type::Data(_, ref arguments) if !arguments.is_empty() => match self.resolved(&ty, span) {
                Type::Error => Type::Error,
                _ => ty,
            },
            _ => ty,
        }
    }

    pub(crate) fn basic(&self, which: impl Fn(&super::world::Basics) -> super::world::DataId) -> Type {
        self.compiler.world.basic(which)
    }

    pub(crate) fn this(&mut self, span: Span) -> Lowered {
        if let Some(class) = self.class {
            return Some((ExprKind::This, Type::Class(class)));
        }
        let where_ = match self.kind {
            super::body::Kind::Function(_) => "a function",
            _ => "the main block",
        };
        self.report(Diagnostic::new(span, format!("there is no `this` in {where_}")).label("no object"));
        None
    }

    fn name(&mut self, path: &Path<'a>) -> Lowered {
        if path.qualifier.is_none() {
            match self.variable(path.name.text) {
                Some((Target::Slot(slot), ty)) => return Some((ExprKind::Slot(slot), ty)),
                Some((Target::Field(field), ty)) => return Some((ExprKind::Field(field), ty)),
                None => {}
            }
            if self.local(path.name.text).is_some() {
                let message =
                    format!("`{0}` is a function: it can be called, `{0}(..)`, or passed on", path.name.text);
                self.report(Diagnostic::new(path.span, message).label("no value"));
                return None;
            }
        }
        self.unknown_variable(path.name);
        None
    }

    pub(crate) fn unknown_field(&mut self, name: super::ast::Name) {
        let Some(class) = self.class else {
            self.this(name.span);
            return;
        };
        if let Some(diagnostic) = self.later_field(name) {
            return self.report(diagnostic);
        }
        let class = &self.compiler.world.classes[class.index()];
        let message = format!("the class `{}` has no field `{}`", class.name, name.text);
        let fields = class.fields.iter().map(|field| field.name.as_str());
        let help = super::suggest::did_you_mean(name.text, fields);
        let help =
            help.or_else(|| self.local(name.text).map(|_| "it is a variable, without `this.`".to_string()));
        self.report(Diagnostic::new(name.span, message).label("unknown field").help_if(help));
    }

    pub(crate) fn not_a_field(&mut self, span: Span) {
        let diagnostic = Diagnostic::new(span, "fields of other objects can't be accessed")
            .label("fields are private")
            .help("declare a method that returns it, and call that");
        self.report(diagnostic);
    }

    /// Reports an effect that is only a part of an expression.
    fn effect_inside(&mut self, expr: &Expr<'a>) {
        let what = match &expr.kind {
            Kind::New(..) => "`new`",
            Kind::Get(_) => "`get`",
            _ => "a call of a method",
        };
        let diagnostic = Diagnostic::new(expr.span, format!("{what} can't stand inside an expression"))
            .label("this has an effect")
            .help("declare a variable for its result first: `T x = ..;`");
        self.report(diagnostic);
    }

    /// Text, the texts of the values, concatenated.
    fn template(&mut self, parts: &[Expr<'a>], span: Span) -> (ExprKind, Type) {
        let string = self.basic(|basics| basics.string);
        let to_string = self.compiler.world.basics.to_string;
        let mut whole: Option<model::Expr> = None;
        for part in parts {
            let typed = self.infer(part, None);
            let is_text = typed.ty == string;
            if matches!(&typed.expr.kind, ExprKind::Text(text) if text.is_empty()) {
                continue;
            }
            let text = match is_text {
                true => typed.expr,
                false => {
                    let arguments = vec![typed.expr];
                    let kind = ExprKind::Apply { function: to_string, arguments, closures: Vec::new() };
                    model::Expr { kind, span: part.span }
                }
            };
            whole = Some(match whole {
                None => text,
                Some(before) => {
                    let kind = ExprKind::Binary(Binary::Concatenate, Box::new(before), Box::new(text));
                    model::Expr { kind, span }
                }
            });
        }
        (whole.map_or(ExprKind::Text(String::new()), |whole| whole.kind), string)
    }

    fn negate(&mut self, inner: &Expr<'a>) -> (ExprKind, Type) {
        let typed = self.infer(inner, None);
        let ty = self.number(&typed.ty, inner.span);
        // A negative number is one value, not an operation on one.
        match typed.expr.kind {
            ExprKind::Int(number) => (ExprKind::Int(-number), ty),
            _ => (ExprKind::Negate(Box::new(typed.expr)), ty),
        }
    }

    /// `Int` or `Rat`, or a report that it is neither.
    fn number(&mut self, ty: &Type, span: Span) -> Type {
        let (int, rat) = (self.basic(|basics| basics.int), self.basic(|basics| basics.rat));
        let resolved = self.resolved(ty, span);
        if resolved == int || resolved == rat || resolved.is_error() {
            return resolved;
        }
        if !matches!(resolved, Type::Meta(_)) || !self.sub(ty, &rat) {
            let found = self.show(ty);
            let diagnostic = Diagnostic::new(span, format!("expected a number, found `{found}`"));
            self.report(diagnostic.label(format!("this is `{found}`")));
            return Type::Error;
        }
        int
    }

    fn binary(&mut self, operator: Binary, left: &Expr<'a>, right: &Expr<'a>) -> Lowered {
        use Binary::*;
        let bool = self.basic(|basics| basics.bool);
        match operator {
            Or | And => {
                let (left, right) = (self.condition(left), self.condition(right));
                Some((ExprKind::Binary(operator, Box::new(left), Box::new(right)), bool))
            }
            Equal | NotEqual | Less | LessEqual | Greater | GreaterEqual => {
                let a = self.infer(left, None);
                let b = self.infer(right, Some(&a.ty));
                if self.join(&a.ty, &b.ty).is_none() {
                    let context = Some((left.span, "compared with this".to_string()));
                    self.mismatch(right.span, &a.ty, &b.ty, context);
                }
                Some((ExprKind::Binary(operator, Box::new(a.expr), Box::new(b.expr)), bool))
            }
            _ => self.arithmetic(operator, left, right),
        }
    }

    fn arithmetic(&mut self, operator: Binary, left: &Expr<'a>, right: &Expr<'a>) -> Lowered {
        let (int, rat) = (self.basic(|basics| basics.int), self.basic(|basics| basics.rat));
        let string = self.basic(|basics| basics.string);
        let a = self.infer(left, None);
        let b = self.infer(right, None);
        let texts = [&a, &b].map(|typed| self.inference.resolve(&typed.ty) == Some(string.clone()));
        let make = |operator, a: TypedExpr, b: TypedExpr| {
            ExprKind::Binary(operator, Box::new(a.expr), Box::new(b.expr))
        };
        if operator == Binary::Add && texts.contains(&true) {
            for (typed, place, other) in [(&a, left, right), (&b, right, left)] {
                if !self.sub(&typed.ty, &string) {
                    let context = Some((other.span, "added to this".to_string()));
                    self.mismatch(place.span, &string, &typed.ty, context);
                }
            }
            return Some((make(Binary::Concatenate, a, b), string));
        }
        let types = [self.number(&a.ty, left.span), self.number(&b.ty, right.span)];
        if types.contains(&Type::Error) {
            return None;
        }
        let ints = types.iter().all(|ty| *ty == int);
        Some(match operator {
            Binary::Divide if ints && self.compiler.dialect == Dialect::Legacy => {
                (make(Binary::DivideInts, a, b), int)
            }
            Binary::Divide => (make(operator, a, b), rat),
            _ => (make(operator, a, b), if ints { int } else { rat }),
        })
    }

    /// An if or a case, each of whose possible values is lowered by `lower`.
    fn alternatives(
        &mut self,
        expr: &Expr<'a>,
        lower: &mut dyn FnMut(&mut Self, &Expr<'a>) -> model::Expr,
    ) -> ExprKind {
        match &expr.kind {
            Kind::If(condition, yes, no) => {
                let condition = self.condition(condition);
                let (yes, no) = (lower(self, yes), lower(self, no));
                ExprKind::If(Box::new(condition), Box::new(yes), Box::new(no))
            }
            Kind::Case(subject, branches) => {
                let subject = self.infer(subject, None);
                let branches = branches
                    .iter()
                    .map(|(pattern, body)| self.branch(pattern, &subject.ty, |this| lower(this, body)))
                    .collect();
                ExprKind::Case(Box::new(subject.expr), branches)
            }
            _ => ExprKind::Unit,
        }
    }

    /// One of several possible values: all of them must have a type in common.
    fn alternative(
        &mut self,
        expr: &Expr<'a>,
        expected: Option<&Type>,
        joined: &mut Option<(Type, Span)>,
    ) -> model::Expr {
        let typed = self.infer(expr, expected);
        *joined = Some(match joined.take() {
            None => (typed.ty, expr.span),
            Some((before, span)) => match self.join(&before, &typed.ty) {
                Some(ty) => (ty, span),
                None => {
                    let context = Some((span, "the other possibility".to_string()));
                    self.mismatch(expr.span, &before, &typed.ty, context);
                    (Type::Error, span)
                }
            },
        });
        typed.expr
    }

    fn cast(&mut self, inner: &Expr<'a>, interface: &Path<'a>) -> (model::Expr, Option<InterfaceId>) {
        let typed = self.infer(inner, None);
        let object = Type::Interface(self.compiler.world.basics.object);
        if !self.sub(&typed.ty, &object) {
            self.mismatch(inner.span, &object, &typed.ty, None);
        }
        let interface = self.compiler.resolve_interface(self.module, interface);
        (typed.expr, interface)
    }
}
