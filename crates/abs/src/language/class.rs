//! Classes: their fields, what they implement, their bodies, and what the initialisation of an object may do.

use std::collections::{HashMap, HashSet};

use mazurka_syntax::Diagnostic;

use super::ast::{ClassDecl, Commutes, Name};
use super::body::{Body, Kind};
use super::compiler::Compiler;
use super::traits::FlatMethod;
use super::types::{Inference, Type};
use super::world::{FieldInfo, MethodInfo};
use crate::model::{
    self, ClassId, Effect, Expr, ExprKind, FieldId, InterfaceId, MethodId, MethodName, Sort, Span, Statement,
    StatementKind, Target,
};

impl<'a> Compiler<'a> {
    pub(crate) fn class_signature(&mut self, at: usize) {
        let (module, id, class) = self.classes[at];
        let mut implements: Vec<InterfaceId> = Vec::new();
        for interface in self.resolve_interfaces(module, &class.implements) {
            for &ancestor in &self.world.interfaces[interface.index()].ancestors {
                if !implements.contains(&ancestor) {
                    implements.push(ancestor);
                }
            }
        }
        let object = self.world.basics.object;
        if !implements.contains(&object) {
            implements.push(object);
        }
        let fields = self.class_fields(module, class);
        let methods = self.class_methods(module, &class.methods, &class.uses);
        let infos = methods.iter().map(|method| {
            let info = self.method_signature(method.module, &method.declared.signature);
            (method.name.clone(), info)
        });
        let infos: HashMap<String, MethodInfo> = infos.collect();
        let info = &mut self.world.classes[id.index()];
        info.implements = implements;
        info.parameters = class.parameters.len();
        info.field_names = fields.iter().enumerate().map(|(at, field)| (field.name.clone(), at)).collect();
        info.fields = fields;
        info.methods = infos;
        self.flat.push(methods);
        self.check_implements(id, class);
    }

    fn class_fields(&mut self, module: usize, class: &ClassDecl) -> Vec<FieldInfo> {
        let parameters = class.parameters.iter().map(|parameter| (parameter.name, &parameter.ty));
        let fields = class.fields.iter().map(|field| (field.name, &field.ty));
        let all: Vec<(Name, &super::ast::TypeUse)> = parameters.chain(fields).collect();
        self.check_distinct(all.iter().map(|(name, _)| *name), "field");
        let resolve = |(name, ty): (Name, &super::ast::TypeUse)| FieldInfo {
            name: name.text.to_string(),
            ty: self.resolve_type(module, ty, &[]),
            span: name.span,
        };
        all.into_iter().map(resolve).collect()
    }

    /// Reports methods of the interfaces that the class has not, or has with other types.
    fn check_implements(&mut self, id: ClassId, class: &ClassDecl) {
        // Inherited methods are met more than once.
        let mut checked: HashSet<Span> = HashSet::new();
        for interface in self.world.classes[id.index()].implements.clone() {
            let wanted = &self.world.interfaces[interface.index()];
            let interface_name = wanted.name.clone();
            let mut methods: Vec<(String, MethodInfo)> =
                wanted.methods.iter().map(|(name, (_, method))| (name.clone(), method.clone())).collect();
            methods.sort_by_key(|(_, method)| (method.span.file, method.span.start));
            for (name, wanted) in methods {
                if !checked.insert(wanted.span) || self.full() {
                    continue;
                }
                match self.world.classes[id.index()].methods.get(&name).cloned() {
                    Some(found) => self.check_method(&name, &interface_name, &wanted, &found),
                    None => {
                        let message = format!(
                            "the class `{}` lacks the method `{name}` of its interface `{interface_name}`",
                            class.name.text
                        );
                        let diagnostic = Diagnostic::new(class.name.span, message);
                        self.report(diagnostic.label("not implemented").also(wanted.span, "declared here"));
                    }
                }
            }
        }
    }

    fn check_method(&mut self, name: &str, interface: &str, wanted: &MethodInfo, found: &MethodInfo) {
        let same =
            |(a, b): (&(String, Type), &(String, Type))| a.1 == b.1 || a.1.is_error() || b.1.is_error();
        let parameters = wanted.parameters.len() == found.parameters.len()
            && wanted.parameters.iter().zip(&found.parameters).all(same);
        if parameters && Inference::default().sub(&self.world, &found.result, &wanted.result) {
            if wanted.atomic && !found.atomic {
                let message = format!("the method `{name}` is atomic in the interface `{interface}`");
                let diagnostic = Diagnostic::new(found.span, message).label("not `[Atomic]`");
                self.report(diagnostic.also(wanted.span, "declared here"));
            }
            return;
        }
        let message = format!("the method `{name}` has other types than in the interface `{interface}`");
        let shown = self.show_signature(name, wanted);
        let diagnostic = Diagnostic::new(found.span, message).label(format!("expected `{shown}`"));
        self.report(diagnostic.also(wanted.span, "declared here"));
    }

    fn show_signature(&self, name: &str, method: &MethodInfo) -> String {
        let show = |(name, ty): &(String, Type)| format!("{} {name}", self.show(ty));
        let parameters: Vec<String> = method.parameters.iter().map(show).collect();
        format!("{} {name}({})", self.show(&method.result), parameters.join(", "))
    }

    pub(crate) fn lower_class(&mut self, at: usize) {
        let (module, id, class) = self.classes[at];
        let init = self.lower_init(module, id, class);
        let mut methods: Vec<(MethodName, MethodId)> = Vec::new();
        let (mut run, mut annotated) = (None, Vec::new());
        for method in std::mem::take(&mut self.flat[at]) {
            if self.full() {
                return;
            }
            let body = self.lower_method(id, &method);
            let info = self.world.classes[id.index()].methods.get(&method.name);
            let types = info.map_or(&[][..], |info| &info.parameters);
            let mut sorts: Vec<Sort> = types.iter().map(|(_, ty)| self.sort(ty)).collect();
            sorts.resize(method.declared.signature.parameters.len(), Sort::Other);
            let number = MethodId(self.methods.len() as u32);
            annotated.push((number, method.module, &method.declared.signature.annotations.commutes));
            if method.name == "run" {
                self.check_run(&method);
                run = Some(number);
            }
            methods.push((self.world.method_name(&method.name), number));
            self.methods.push(model::Method {
                name: method.name,
                class: id,
                parameters: method.declared.signature.parameters.len() as u32,
                sorts,
                body,
                commutes: Vec::new(),
                span: method.declared.span,
            });
        }
        methods.sort();
        for (number, module, commutes) in annotated {
            self.methods[number.index()].commutes = self.lower_commutes(id, module, commutes, &methods);
        }
        self.check_init(&init, &methods);
        self.check_atomic(id, &methods);
        let info = &self.world.classes[id.index()];
        let field = |field: &FieldInfo| model::Field {
            name: field.name.clone(),
            sort: self.sort(&field.ty),
            span: field.span,
        };
        self.model_classes.push(model::Class {
            name: info.name.clone(),
            implements: info.implements.clone(),
            fields: info.fields.iter().map(field).collect(),
            parameters: info.parameters as u32,
            init,
            run,
            methods,
            span: class.span,
        });
    }

    /// What kind of values a type has.
    fn sort(&self, ty: &Type) -> Sort {
        match ty {
            Type::Data(data, _) if *data == self.world.basics.int => Sort::Int,
            Type::Data(data, _) if *data == self.world.basics.bool => Sort::Bool,
            Type::Data(data, _) if *data == self.world.basics.rat => Sort::Rat,
            _ => Sort::Other,
        }
    }

    fn check_run(&mut self, method: &FlatMethod) {
        let signature = &method.declared.signature;
        if !signature.parameters.is_empty() {
            let diagnostic = Diagnostic::new(signature.name.span, "`run` has no parameters")
                .label("called without arguments when the object is there");
            self.report(diagnostic.help("give the method another name"));
        }
    }

    fn lower_method(&mut self, class: ClassId, method: &FlatMethod<'a>) -> model::Body {
        let info = self.world.classes[class.index()].methods.get(&method.name).cloned();
        let signature = &method.declared.signature;
        let mut body = Body::new(self, method.module, Kind::Method);
        body.class = Some(class);
        body.original = method.original.clone();
        let types = info.as_ref().map_or(&[][..], |info| &info.parameters);
        for (at, parameter) in signature.parameters.iter().enumerate() {
            let ty = types.get(at).map_or(Type::Error, |(_, ty)| ty.clone());
            body.declare(parameter.name, ty);
        }
        body.result = info.as_ref().map_or(Type::Error, |info| info.result.clone());
        body.method_block(&method.declared.body, signature.name, &signature.result);
        model::Body { slots: body.slots, statements: body.out, span: method.declared.body.span }
    }

    /// What is declared to commute with a method.
    fn lower_commutes(
        &mut self,
        class: ClassId,
        module: usize,
        declared: &'a [Commutes<'a>],
        methods: &[(MethodName, MethodId)],
    ) -> Vec<model::Commutes> {
        let mut lowered = Vec::new();
        for Commutes { with, condition } in declared {
            let condition = condition.as_ref().map(|condition| {
                let mut body = Body::new(self, module, Kind::Method);
                body.class = Some(class);
                (body.condition(condition), body.slots.len() as u32)
            });
            let (condition, slots) = condition.unzip();
            let name = self.world.method_name(with.text);
            match methods.iter().find(|(known, _)| *known == name) {
                Some(&(_, other)) => {
                    let slots = slots.unwrap_or_default();
                    lowered.push(model::Commutes { with: other, condition, slots, span: with.span })
                }
                None => {
                    let message = format!("the class has no method `{}`", with.text);
                    let help = "name a method of the same class, or the method itself";
                    self.report(Diagnostic::new(with.span, message).help(help));
                }
            }
        }
        lowered
    }

    /// Field initialisers in their order, then the init block.
    fn lower_init(&mut self, module: usize, id: ClassId, class: &'a ClassDecl<'a>) -> model::Body {
        let mut body = Body::new(self, module, Kind::Init);
        body.class = Some(id);
        for (at, field) in class.fields.iter().enumerate() {
            let at = class.parameters.len() + at;
            // What is declared further down has no value yet.
            body.visible_fields = at;
            let ty = body.compiler.world.classes[id.index()].fields[at].ty.clone();
            let right = match &field.value {
                Some(value) => body.right_of(value, &ty, Some((field.ty.span, "its type".to_string()))),
                None => {
                    body.check_uninitialised(&ty, field.name);
                    let null = Expr { kind: ExprKind::Null, span: field.span };
                    super::effect::Right::Pure(null, ty)
                }
            };
            body.assign(Some(Target::Field(FieldId(at as u32))), right, field.span);
        }
        body.visible_fields = usize::MAX;
        if let Some(block) = &class.init {
            body.block(block);
        }
        let span = class.init.as_ref().map_or(class.span, |block| block.span);
        model::Body { slots: body.slots, statements: body.out, span }
    }

    /// Reports calls in the initialisation, of methods of the object itself, that may wait.
    fn check_init(&mut self, init: &model::Body, methods: &[(MethodName, MethodId)]) {
        let waits = |kind: &StatementKind| self.may_wait(kind) || chooses(kind);
        if let Some(found) = self.called_wait(&init.statements, methods, waits) {
            let message = "what may wait can't be called in the initialisation of an object";
            let help = "do it in the method `run`, which is called when the object is there";
            self.report(found.diagnostic(message).help(help));
        }
    }

    /// Reports methods that are declared never to wait and may.
    fn check_atomic(&mut self, class: ClassId, methods: &[(MethodName, MethodId)]) {
        for (_, id) in methods {
            let method = &self.methods[id.index()];
            let declared = self.world.classes[class.index()].methods.get(&method.name);
            if !declared.is_some_and(|declared| declared.atomic) {
                continue;
            }
            let statements = &method.body.statements;
            let waits = |kind: &StatementKind| self.may_wait(kind);
            let diagnostic = match first(statements, waits) {
                Some(waits) => {
                    let message = format!("the method `{}` is atomic, so it may not wait", method.name);
                    Some(
                        Diagnostic::new(waits, message)
                            .label("this may wait")
                            .also(method.span, "the method"),
                    )
                }
                None => self.called_wait(statements, methods, waits).map(|found| {
                    found.diagnostic("what may wait can't be called in a method that is atomic")
                }),
            };
            diagnostic.into_iter().for_each(|diagnostic| self.report(diagnostic));
        }
    }

    /// Whether a statement may release the cog or block it.
    fn may_wait(&self, statement: &StatementKind) -> bool {
        match statement {
            StatementKind::Await(_) | StatementKind::Suspend => true,
            StatementKind::Effect(_, Effect::Get(_)) => true,
            StatementKind::Effect(_, Effect::SyncCall { callee, .. }) => {
                !matches!(callee.kind, ExprKind::This) && !self.atomic_calls.contains(&callee.span)
            }
            _ => false,
        }
    }

    /// Notes whether the method that is called on what stands at a place is declared never to wait. A method
    /// of a trait is lowered for each class that uses it, and the last answer is for the present class.
    pub(crate) fn note_atomic(&mut self, callee: Span, atomic: bool) {
        match atomic {
            true => self.atomic_calls.insert(callee),
            false => self.atomic_calls.remove(&callee),
        };
    }

    /// What waits in the methods of the object itself that statements call, directly or not.
    fn called_wait(
        &self,
        statements: &[Statement],
        methods: &[(MethodName, MethodId)],
        waits: impl Fn(&StatementKind) -> bool + Copy,
    ) -> Option<CalledWait> {
        let method = |name: MethodName| {
            let at = methods.binary_search_by_key(&name, |(name, _)| *name).ok()?;
            Some(methods[at].1)
        };
        let mut seen: HashSet<MethodId> = HashSet::new();
        let mut open: Vec<(MethodId, Span)> = Vec::new();
        own_calls(statements, &mut |name, span| open.extend(method(name).map(|id| (id, span))));
        while let Some((id, call)) = open.pop() {
            if !seen.insert(id) {
                continue;
            }
            let called = &self.methods[id.index()];
            if let Some(waits) = first(&called.body.statements, waits) {
                return Some(CalledWait { call, method: called.name.clone(), waits });
            }
            own_calls(&called.body.statements, &mut |name, _| open.extend(method(name).map(|id| (id, call))));
        }
        None
    }
}

/// A call that leads to something that may wait.
struct CalledWait {
    call: Span,
    /// The method that has it.
    method: String,
    waits: Span,
}

impl CalledWait {
    fn diagnostic(&self, message: &str) -> Diagnostic {
        Diagnostic::new(self.call, message)
            .label(format!("this leads to `{}`", self.method))
            .also(self.waits, "which may wait")
    }
}

/// The methods that are called synchronously on `this`.
fn own_calls(statements: &[Statement], found: &mut dyn FnMut(MethodName, Span)) {
    walk(statements, &mut |statement| {
        if let StatementKind::Effect(_, Effect::SyncCall { callee, method, .. }) = &statement.kind
            && matches!(callee.kind, ExprKind::This)
        {
            found(*method, statement.span);
        }
    });
}

/// Whether a statement is a step of its own because of a choice.
fn chooses(statement: &StatementKind) -> bool {
    matches!(statement, StatementKind::Effect(_, Effect::Random(_)))
}

/// The place of the first statement of a kind.
fn first(statements: &[Statement], is: impl Fn(&StatementKind) -> bool) -> Option<Span> {
    let mut first = None;
    walk(statements, &mut |statement| {
        if first.is_none() && is(&statement.kind) {
            first = Some(statement.span);
        }
    });
    first
}

/// All statements, those within others too.
fn walk(statements: &[Statement], visit: &mut dyn FnMut(&Statement)) {
    for statement in statements {
        visit(statement);
        match &statement.kind {
            StatementKind::If(_, yes, no) => {
                walk(yes, visit);
                walk(no, visit);
            }
            StatementKind::While(_, body) | StatementKind::ForEach { body, .. } => walk(body, visit),
            StatementKind::Switch(_, branches) => {
                for (_, body) in branches {
                    walk(body, visit);
                }
            }
            StatementKind::Try { body, handlers, finally } => {
                walk(body, visit);
                for (_, body) in handlers {
                    walk(body, visit);
                }
                walk(finally, visit);
            }
            _ => {}
        }
    }
}
