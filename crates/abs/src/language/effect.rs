//! What has an effect: new objects, calls, `get`, `random`. Each is a statement of its own.

use mazurka_syntax::Diagnostic;

use super::Dialect;
use super::ast::{Expr, ExprKind, Name, Path, Where};
use super::body::{Body, Kind};
use super::expr::Context;
use super::suggest::did_you_mean;
use super::types::Type;
use super::world::{Entity, MethodInfo, NameLookup, Space};
use crate::model::{self, Effect, Guard, Slot, Span, StatementKind, Target};

/// The right-hand side of an assignment, or an expression that is a statement.
pub(crate) enum Right {
    Pure(model::Expr, Type),
    Effect(Effect, Type),
    /// `await o!m()`: the call, and the type of its value.
    Awaited(Effect, Type),
}

impl Right {
    /// Of what was not understood, which has been reported.
    fn unknown(span: Span) -> Right {
        Right::Pure(model::Expr { kind: model::ExprKind::Unit, span }, Type::Error)
    }

    pub(crate) fn ty(&self) -> &Type {
        match self {
            Right::Pure(_, ty) | Right::Effect(_, ty) | Right::Awaited(_, ty) => ty,
        }
    }
}

/// The parts of a call.
struct Call {
    callee: model::Expr,
    method: model::MethodName,
    arguments: Vec<model::Expr>,
    /// What the method returns.
    ty: Type,
    /// Whether it is declared never to wait.
    atomic: bool,
}

impl<'a> Body<'_, 'a> {
    /// An expression that stands alone, with or without an effect.
    pub(crate) fn right(&mut self, expr: &Expr<'a>, expected: Option<&Type>) -> Right {
        match &expr.kind {
            ExprKind::New(class, arguments, place) => self.new_object(class, arguments, *place, expr.span),
            ExprKind::Get(inner) => self.get(inner, expr.span),
            ExprKind::Call { awaited, callee, method, arguments } => {
                let Call { callee, method, arguments, ty, .. } =
                    self.call(callee, *method, arguments, expr.span);
                let call = Effect::Call { callee, method, arguments };
                match awaited {
                    true => {
                        self.forbid_in_init(expr.span, "`await`");
                        Right::Awaited(call, ty)
                    }
                    false => Right::Effect(call, Type::Data(self.compiler.world.basics.fut, vec![ty])),
                }
            }
            ExprKind::SyncCall { callee, method, arguments } => {
                let on_this = matches!(callee.kind, ExprKind::This);
                let Call { callee, method, arguments, ty, atomic } =
                    self.call(callee, *method, arguments, expr.span);
                if !on_this && !atomic {
                    self.forbid_in_init(
                        expr.span,
                        "a synchronous call to another object, of a method that is not `[Atomic]`,",
                    );
                }
                self.compiler.note_atomic(callee.span, atomic);
                Right::Effect(Effect::SyncCall { callee, method, arguments }, ty)
            }
            ExprKind::Original(arguments) => self.original(arguments, expr.span),
            ExprKind::Apply(path, arguments) if self.is_random(path) => self.random(arguments, expr.span),
            _ => match expected {
                Some(expected) => {
                    let lowered = self.check(expr, expected);
                    Right::Pure(lowered, expected.clone())
                }
                None => {
                    let typed = self.infer(expr, None);
                    Right::Pure(typed.expr, typed.ty)
                }
            },
        }
    }

    /// A right-hand side of the type that is expected; `context` says why it is.
    pub(crate) fn right_of(&mut self, expr: &Expr<'a>, expected: &Type, context: Context) -> Right {
        let pure =
            !is_effect(expr) && !matches!(&expr.kind, ExprKind::Apply(path, _) if self.is_random(path));
        if pure {
            let lowered = self.check_for(expr, expected, context);
            return Right::Pure(lowered, expected.clone());
        }
        let right = self.right(expr, Some(expected));
        let ty = right.ty().clone();
        if !self.sub(&ty, expected) {
            self.mismatch(expr.span, expected, &ty, context);
        }
        right
    }

    /// Computes a right-hand side and assigns it.
    pub(crate) fn assign(&mut self, target: Option<Target>, right: Right, span: Span) {
        match right {
            Right::Pure(expr, _) => {
                let target = target.unwrap_or_else(|| Target::Slot(self.slot("_")));
                self.emit(StatementKind::Assign(target, expr), span);
            }
            Right::Effect(effect, _) => self.emit(StatementKind::Effect(target, effect), span),
            Right::Awaited(call, _) => {
                let future = self.slot("_");
                let read = || model::Expr { kind: model::ExprKind::Slot(future), span };
                self.emit(StatementKind::Effect(Some(Target::Slot(future)), call), span);
                self.emit(StatementKind::Await(Guard::Future(read())), span);
                if target.is_some() {
                    self.emit(StatementKind::Effect(target, Effect::Get(read())), span);
                }
            }
        }
    }

    /// A right-hand side as an expression: what has an effect is done before, and its result kept in a
    /// variable.
    pub(crate) fn as_expr(&mut self, right: Right, span: Span) -> model::Expr {
        match right {
            Right::Pure(expr, _) => expr,
            right => {
                let slot: Slot = self.slot("_");
                self.assign(Some(Target::Slot(slot)), right, span);
                model::Expr { kind: model::ExprKind::Slot(slot), span }
            }
        }
    }

    /// Reports what may not stand in init blocks and field initialisers.
    pub(crate) fn forbid_in_init(&mut self, span: Span, what: &str) {
        if matches!(self.kind, Kind::Init) {
            let diagnostic =
                Diagnostic::new(span, format!("{what} can't stand in the initialisation of an object"))
                    .label("a new object may neither wait nor throw")
                    .help("do it in the method `run`, which is called when the object is there");
            self.report(diagnostic);
        }
    }

    fn new_object(&mut self, path: &Path<'a>, arguments: &[Expr<'a>], place: Where, span: Span) -> Right {
        let legacy = self.compiler.dialect == Dialect::Legacy;
        if place == Where::Cog && !legacy {
            let diagnostic = Diagnostic::new(span, "`new cog` is of the legacy dialect").help(
                "write `new C()` for an object in a cog of its own, `new local C()` for one in this cog",
            );
            self.report(diagnostic);
        }
        let local = place == Where::Local || (place == Where::Plain && legacy);
        let Some(Entity::Class(class)) = self.compiler.lookup(self.module, Space::Class, path) else {
            self.infer_all(arguments);
            return Right::unknown(span);
        };
        let info = &self.compiler.world.classes[class.index()];
        let (name, declared) = (info.name.clone(), info.span);
        let parameters = info.fields[..info.parameters].iter();
        let parameters: Vec<_> =
            parameters.map(|field| (Some(field.name.clone()), field.ty.clone())).collect();
        let arguments = self.arguments(&name, arguments, &parameters, span, declared).unwrap_or_default();
        Right::Effect(Effect::New { class, arguments, local }, Type::Class(class))
    }

    fn get(&mut self, inner: &Expr<'a>, span: Span) -> Right {
        self.forbid_in_init(span, "`get`");
        let typed = self.infer(inner, None);
        let value = self.future_value(&typed.ty, inner.span);
        Right::Effect(Effect::Get(typed.expr), value)
    }

    /// What a future will have.
    pub(crate) fn future_value(&mut self, ty: &Type, span: Span) -> Type {
        let value = self.inference.fresh();
        let future = Type::Data(self.compiler.world.basics.fut, vec![value.clone()]);
        if !self.sub(ty, &future) {
            let found = self.show(ty);
            let message = format!("expected a future, found `{found}`");
            let diagnostic = Diagnostic::new(span, message).label(format!("this is `{found}`"));
            self.report(diagnostic.help("asynchronous calls give futures: `Fut<T> f = o!m();`"));
            return Type::Error;
        }
        self.resolved(&value, span)
    }

    fn call(&mut self, callee: &Expr<'a>, method: Name<'a>, arguments: &[Expr<'a>], span: Span) -> Call {
        let typed = self.infer(callee, None);
        let number = self.compiler.world.method_name(method.text);
        let Some(info) = self.find_method(&typed.ty, method, callee.span) else {
            self.infer_all(arguments);
            // Nothing more is said of what is unknown.
            let arguments = Vec::new();
            return Call { callee: typed.expr, method: number, arguments, ty: Type::Error, atomic: true };
        };
        let parameters: Vec<_> = info.parameters.into_iter().map(|(name, ty)| (Some(name), ty)).collect();
        let arguments =
            self.arguments(method.text, arguments, &parameters, span, info.span).unwrap_or_default();
        Call { callee: typed.expr, method: number, arguments, ty: info.result, atomic: info.atomic }
    }

    /// The method that is called on something of a type, or a report that there is none.
    fn find_method(&mut self, ty: &Type, method: Name<'a>, callee: Span) -> Option<MethodInfo> {
        let ty = self.resolved(ty, callee);
        let world = &self.compiler.world;
        let (found, known): (Option<&MethodInfo>, Vec<&str>) = match &ty {
            Type::Error => return None,
            Type::Interface(interface) => {
                let methods = &world.interfaces[interface.index()].methods;
                let found = methods.get(method.text).map(|(_, info)| info);
                (found, methods.keys().map(String::as_str).collect())
            }
            Type::Class(class) => {
                let methods = &world.classes[class.index()].methods;
                (methods.get(method.text), methods.keys().map(String::as_str).collect())
            }
            _ => {
                let found = self.show(&ty);
                let message = format!("methods are called on objects, but this is `{found}`");
                let diagnostic = Diagnostic::new(callee, message).label(format!("this is `{found}`"));
                self.report(match &ty {
                    Type::Data(data, _) if *data == self.compiler.world.basics.fut => diagnostic
                        .help("it is a future: wait for it by `await`, and take its value by `.get` first"),
                    _ => diagnostic,
                });
                return None;
            }
        };
        if found.is_some() {
            return found.cloned();
        }
        let what = match ty {
            Type::Class(_) => "class",
            _ => "interface",
        };
        let message = format!("the {what} `{}` has no method `{}`", self.show(&ty), method.text);
        let help = did_you_mean(method.text, known);
        let diagnostic = Diagnostic::new(method.span, message).label("unknown method");
        let help = help.or_else(|| match ty {
            Type::Interface(_) => Some("what is not in the interface is private to the class".to_string()),
            _ => None,
        });
        self.report(diagnostic.help_if(help));
        None
    }

    /// `original(..)`: the method as it was before this one modified it.
    fn original(&mut self, arguments: &[Expr<'a>], span: Span) -> Right {
        let found = self.original.clone().zip(self.class);
        let method = found.and_then(|(name, class)| {
            let info = self.compiler.world.classes[class.index()].methods.get(&name)?.clone();
            Some((name, info))
        });
        let Some((name, info)) = method else {
            let diagnostic = Diagnostic::new(span, "there is no original here")
                .label("this method modifies none")
                .help("`original(..)` stands in methods of a trait that `modifies` others of the same name");
            self.report(diagnostic);
            return Right::unknown(span);
        };
        let method = self.compiler.world.method_name(&name);
        let parameters: Vec<_> = info.parameters.into_iter().map(|(name, ty)| (Some(name), ty)).collect();
        let arguments =
            self.arguments("original", arguments, &parameters, span, info.span).unwrap_or_default();
        let callee = model::Expr { kind: model::ExprKind::This, span };
        Right::Effect(Effect::SyncCall { callee, method, arguments }, info.result)
    }

    /// Whether a function is `random` of the standard library.
    fn is_random(&self, path: &Path<'a>) -> bool {
        if path.name.text != "random" || (path.qualifier.is_none() && self.local("random").is_some()) {
            return false;
        }
        let world = &self.compiler.world;
        let found = world.find_path(self.module, Space::Function, path);
        matches!(found, NameLookup::One(Entity::Function(id)) if world.is_library(id, "random"))
    }

    fn random(&mut self, arguments: &[Expr<'a>], span: Span) -> Right {
        self.forbid_in_init(span, "`random`");
        let int = self.basic(|basics| basics.int);
        let parameters = [(Some("below".to_string()), int.clone())];
        match self.arguments("random", arguments, &parameters, span, span).map(|mut found| found.pop()) {
            Some(Some(bound)) => Right::Effect(Effect::Random(bound), int),
            _ => Right::unknown(span),
        }
    }
}

/// Whether an expression has an effect by its form.
pub(crate) fn is_effect(expr: &Expr) -> bool {
    use ExprKind::*;
    matches!(expr.kind, New(..) | Call { .. } | SyncCall { .. } | Get(_) | Original(_))
}
