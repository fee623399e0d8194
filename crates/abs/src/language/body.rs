//! A body that is being checked and lowered: its variables, their types, and what it may do.

use std::collections::HashMap;

use mazurka_syntax::Diagnostic;

use super::ast::{Expr, Name, TypeUse};
use super::compiler::Compiler;
use super::suggest::did_you_mean;
use super::types::{FunctionType, Inference, Type};
use crate::model::{self, ClassId, FieldId, FunctionId, Slot, Span, Statement, StatementKind, Target};

/// What a body belongs to.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    Function(FunctionId),
    Method,
    /// Field initialisers and the init block.
    Init,
    Main,
}

/// What a local name stands for.
#[derive(Clone, Debug)]
pub(crate) enum Local {
    Variable {
        slot: Slot,
        ty: Type,
    },
    /// A function parameter: which one, and the slot that holds it.
    Function {
        index: usize,
        slot: Slot,
    },
}

struct Binding {
    local: Local,
    span: Span,
    /// The scope that it belongs to.
    depth: usize,
}

/// A lowered expression and its type.
pub(crate) struct TypedExpr {
    pub(crate) expr: model::Expr,
    pub(crate) ty: Type,
}

/// A body in the making.
pub(crate) struct Body<'c, 'a> {
    pub(crate) compiler: &'c mut Compiler<'a>,
    pub(crate) module: usize,
    pub(crate) kind: Kind,
    pub(crate) class: Option<ClassId>,
    /// The type that is returned.
    pub(crate) result: Type,
    pub(crate) type_parameters: Vec<String>,
    /// In the initialiser of a field, the fields that have a value: those before it.
    pub(crate) visible_fields: usize,
    /// What `original(..)` calls, in a method that modifies another.
    pub(crate) original: Option<String>,
    pub(crate) inference: Inference,
    pub(crate) slots: Vec<String>,
    /// The statements of the block at hand, as far as they are lowered.
    pub(crate) out: Vec<Statement>,
    /// What is known of the function parameters.
    pub(crate) function_types: Vec<Option<FunctionType>>,
    names: HashMap<&'a str, Vec<Binding>>,
    /// The names that were bound, in their order.
    bound: Vec<&'a str>,
    /// Where in `bound` the open scopes begin.
    scopes: Vec<usize>,
}

impl<'c, 'a> Body<'c, 'a> {
    pub(crate) fn new(compiler: &'c mut Compiler<'a>, module: usize, kind: Kind) -> Body<'c, 'a> {
        Body {
            compiler,
            module,
            kind,
            class: None,
            result: Type::Error,
            type_parameters: Vec::new(),
            visible_fields: usize::MAX,
            original: None,
            inference: Inference::default(),
            slots: Vec::new(),
            out: Vec::new(),
            function_types: Vec::new(),
            names: HashMap::new(),
            bound: Vec::new(),
            scopes: Vec::new(),
        }
    }

    pub(crate) fn report(&mut self, diagnostic: Diagnostic) {
        self.compiler.report(diagnostic);
    }

    pub(crate) fn open(&mut self) {
        self.scopes.push(self.bound.len());
    }

    pub(crate) fn close(&mut self) {
        let start = self.scopes.pop().unwrap_or(0);
        for name in self.bound.drain(start..) {
            if let Some(bindings) = self.names.get_mut(name) {
                bindings.pop();
            }
        }
    }

    /// A new slot.
    pub(crate) fn slot(&mut self, name: &str) -> Slot {
        self.slots.push(name.to_string());
        Slot(self.slots.len() as u32 - 1)
    }

    pub(crate) fn emit(&mut self, kind: StatementKind, span: Span) {
        self.out.push(Statement { kind, span });
    }

    /// What is lowered in a scope of its own: a part of another statement.
    pub(crate) fn lowered_apart(&mut self, lower: impl FnOnce(&mut Self)) -> Vec<Statement> {
        let before = std::mem::take(&mut self.out);
        self.open();
        lower(self);
        self.close();
        std::mem::replace(&mut self.out, before)
    }

    /// Declares a variable in the innermost scope.
    pub(crate) fn declare(&mut self, name: Name<'a>, ty: Type) -> Slot {
        let slot = self.slot(name.text);
        self.bind(name, Local::Variable { slot, ty });
        slot
    }

    pub(crate) fn bind(&mut self, name: Name<'a>, local: Local) {
        let depth = self.scopes.len();
        let bindings = self.names.entry(name.text).or_default();
        // Parameters, which are outside of all scopes, have been compared with each other before. To a
        // method's variables they are of the same block.
        let is_body = depth == 1 && matches!(self.kind, Kind::Method);
        if let Some(other) = bindings.last()
            && depth > 0
            && (other.depth == depth || is_body)
        {
            let message = format!("`{}` is declared twice in this block", name.text);
            let diagnostic = Diagnostic::new(name.span, message).label("declared again");
            let diagnostic = diagnostic.also(other.span, "declared here");
            self.compiler.report(diagnostic.help("choose another name, or assign to it without its type"));
        }
        bindings.push(Binding { local, span: name.span, depth });
        self.bound.push(name.text);
    }

    pub(crate) fn local(&self, name: &str) -> Option<&Local> {
        self.names.get(name)?.last().map(|binding| &binding.local)
    }

    /// A field of the class.
    pub(crate) fn field(&self, name: &str) -> Option<(FieldId, Type)> {
        let class = &self.compiler.world.classes[self.class?.index()];
        let at = *class.field_names.get(name).filter(|at| **at < self.visible_fields)?;
        Some((FieldId(at as u32), class.fields[at].ty.clone()))
    }

    /// A variable or a field, whichever is nearer.
    pub(crate) fn variable(&self, name: &str) -> Option<(Target, Type)> {
        match self.local(name) {
            Some(Local::Variable { slot, ty }) => Some((Target::Slot(*slot), ty.clone())),
            Some(Local::Function { .. }) => None,
            None => self.field(name).map(|(field, ty)| (Target::Field(field), ty)),
        }
    }

    /// Reports a name that no variable has.
    pub(crate) fn unknown_variable(&mut self, name: Name) {
        if self.compiler.full() {
            return;
        }
        if let Some(what) = super::refuse::variable(name.text) {
            return self.report(super::refuse::diagnostic(name.span, what));
        }
        if let Some(diagnostic) = self.later_field(name) {
            return self.report(diagnostic);
        }
        let diagnostic =
            Diagnostic::new(name.span, format!("there is no variable `{}`", name.text)).label("unknown");
        let fields = self.class.map(|class| &self.compiler.world.classes[class.index()].fields);
        let fields = fields.into_iter().flatten().map(|field| field.name.as_str());
        let locals = self.names.iter().filter(|(_, bindings)| !bindings.is_empty()).map(|(name, _)| *name);
        let help = did_you_mean(name.text, locals.chain(fields));
        let is_function = || {
            let found = self.compiler.world.find(self.module, super::world::Space::Function, name.text);
            matches!(found, super::world::NameLookup::One(_))
                .then(|| format!("`{0}` is a function: `{0}(..)`", name.text))
        };
        let help = help.or_else(is_function);
        self.report(diagnostic.help_if(help));
    }

    /// What to say of a field that has no value yet.
    pub(crate) fn later_field(&self, name: Name) -> Option<Diagnostic> {
        let class = &self.compiler.world.classes[self.class?.index()];
        let field = &class.fields[*class.field_names.get(name.text)?];
        let message = format!("the field `{}` has no value here: it is declared further down", name.text);
        let diagnostic =
            Diagnostic::new(name.span, message).label("used too early").also(field.span, "declared here");
        Some(diagnostic.help("fields get their initial values in the order of their declarations"))
    }

    pub(crate) fn resolve_type(&mut self, ty: &TypeUse) -> Type {
        let parameters = std::mem::take(&mut self.type_parameters);
        let resolved = self.compiler.resolve_type(self.module, ty, &parameters);
        self.type_parameters = parameters;
        resolved
    }

    /// The best that is known of a type.
    pub(crate) fn resolved(&mut self, ty: &Type, span: Span) -> Type {
        match self.inference.resolve(ty) {
            Some(ty) => ty,
            None => {
                self.report(
                    Diagnostic::new(span, "the type of this is too large")
                        .label("spelled out, it is enormous"),
                );
                Type::Error
            }
        }
    }

    pub(crate) fn show(&self, ty: &Type) -> String {
        let ty = self.inference.resolve(ty).unwrap_or(Type::Error);
        self.compiler.world.show(&ty, &self.type_parameters)
    }

    pub(crate) fn sub(&mut self, a: &Type, b: &Type) -> bool {
        self.inference.sub(&self.compiler.world, a, b)
    }

    pub(crate) fn join(&mut self, a: &Type, b: &Type) -> Option<Type> {
        self.inference.join(&self.compiler.world, a, b)
    }

    /// Reports that something is of another type than it should be.
    pub(crate) fn mismatch(
        &mut self,
        span: Span,
        expected: &Type,
        found: &Type,
        context: Option<(Span, String)>,
    ) {
        if self.compiler.full() {
            return;
        }
        let (wanted, got) = (self.show(expected), self.show(found));
        let diagnostic = Diagnostic::new(span, format!("expected {}, found {}", typed(&wanted), typed(&got)))
            .label(format!("this is {}", typed(&got)));
        let diagnostic = match context {
            Some((span, label)) => diagnostic.also(span, label),
            None => diagnostic,
        };
        let help = self.remedy(expected, found);
        self.report(diagnostic.help_if(help));
    }

    /// What to do about some mismatches.
    fn remedy(&self, expected: &Type, found: &Type) -> Option<String> {
        let basics = &self.compiler.world.basics;
        let resolve = |ty: &Type| self.inference.resolve(ty).unwrap_or(Type::Error);
        let (expected, found) = (resolve(expected), resolve(found));
        let of = |ty: &Type| match ty {
            Type::Data(data, _) => Some(*data),
            _ => None,
        };
        let (wanted, got) = (of(&expected), of(&found));
        if wanted == Some(basics.int) && got == Some(basics.rat) {
            return Some("`/` gives a `Rat`; `truncate(..)` makes it an `Int`".to_string());
        }
        if wanted == Some(basics.string) {
            return Some("`toString(..)` makes it a `String`".to_string());
        }
        if let Type::Data(data, arguments) = &found
            && *data == basics.fut
            && arguments.first() == Some(&expected)
        {
            return Some(
                "it is the future of such a value: wait for it by `await`, and take it by `.get`".to_string(),
            );
        }
        if found == Type::Null {
            return Some(
                "`null` is for references only; `Nothing` of `Maybe` says that there is no value".to_string(),
            );
        }
        if let (Type::Interface(a), Type::Interface(b)) = (&expected, &found) {
            let [a, b] = [a, b].map(|interface| &self.compiler.world.interfaces[interface.index()].name);
            return Some(format!("`{b}` does not extend `{a}`; `as` asks the object itself"));
        }
        if let (Type::Interface(a), Type::Class(b)) = (&expected, &found) {
            let a = &self.compiler.world.interfaces[a.index()].name;
            let b = &self.compiler.world.classes[b.index()].name;
            return Some(format!("the class `{b}` does not implement `{a}`"));
        }
        None
    }

    /// Checks an expression against the type that it must have.
    pub(crate) fn check(&mut self, expr: &Expr<'a>, expected: &Type) -> model::Expr {
        self.check_for(expr, expected, None)
    }
}

/// `Int` as in "an `Int`".
pub(crate) fn typed(name: &str) -> String {
    match name {
        "null" => "`null`".to_string(),
        _ => format!("`{name}`"),
    }
}
