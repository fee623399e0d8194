//! Constructors and functions, applied.

use mazurka_syntax::Diagnostic;

use super::ast::{Expr, FunctionArgument, Path};
use super::body::{Body, Kind, Local};
use super::compiler::Compiler;
use super::signature::count;
use super::types::{FunctionType, Type};
use super::world::{Entity, Space, Value};
use crate::model::{self, Closure, ExprKind, FunctionId, Span};

/// Functions that take functions and whose bodies wait for each other's types.
const MOST_WAITING: usize = 50;

/// Where something is applied, and the type that is expected there, if one is.
#[derive(Clone, Copy)]
pub(crate) struct Site<'t> {
    pub(crate) span: Span,
    pub(crate) expected: Option<&'t Type>,
}

/// What an expression is and its type; none if it was not understood, which has been reported.
pub(crate) type Lowered = Option<(ExprKind, Type)>;

impl<'a> Body<'_, 'a> {
    pub(crate) fn construct(&mut self, path: &Path<'a>, arguments: &[Expr<'a>], site: Site) -> Lowered {
        let Some(Entity::Constructor(number)) = self.compiler.lookup(self.module, Space::Constructor, path)
        else {
            self.infer_all(arguments);
            return None;
        };
        let constructor = self.compiler.world.constructors[number].clone();
        let metas = self.inference.fresh_list(self.compiler.world.data(constructor.data).parameters.len());
        let ty = Type::Data(constructor.data, metas.clone());
        self.hint(&ty, site);
        let wanted: Vec<(Option<String>, Type)> =
            constructor.arguments.iter().map(|ty| (None, self.instance(ty, &metas, site.span))).collect();
        let mut arguments =
            self.arguments(&constructor.name, arguments, &wanted, site.span, constructor.span)?;
        let kind = match constructor.value {
            Value::Unit => ExprKind::Unit,
            Value::Bool(value) => ExprKind::Bool(value),
            Value::Constructor(id) => ExprKind::Construct(id, arguments),
            Value::Made(function) => {
                arguments.reverse();
                ExprKind::Apply { function, arguments, closures: Vec::new() }
            }
        };
        Some((kind, ty))
    }

    /// Lets what is expected say what type arguments may be.
    fn hint(&mut self, ty: &Type, site: Site) {
        if let Some(expected) = site.expected {
            self.inference.hint(&self.compiler.world, ty, expected);
        }
    }

    /// The function of a name. If there is none, what is wrong with its arguments is reported all the same.
    fn function(&mut self, space: Space, path: &Path<'a>, arguments: &[Expr<'a>]) -> Option<FunctionId> {
        if let Some(Entity::Function(function)) = self.compiler.lookup(self.module, space, path) {
            return Some(function);
        }
        self.infer_all(arguments);
        None
    }

    /// A type of a declaration, with what stands for its type parameters.
    fn instance(&mut self, ty: &Type, arguments: &[Type], span: Span) -> Type {
        match ty.substitute(arguments) {
            Some(ty) => ty,
            None => {
                self.report(Diagnostic::new(span, "the type of this is too large"));
                Type::Error
            }
        }
    }

    pub(crate) fn infer_all(&mut self, arguments: &[Expr<'a>]) {
        for argument in arguments {
            self.infer(argument, None);
        }
    }

    /// Checks arguments against parameters; none if there are too many or too few.
    pub(crate) fn arguments(
        &mut self,
        name: &str,
        arguments: &[Expr<'a>],
        parameters: &[(Option<String>, Type)],
        span: Span,
        declared: Span,
    ) -> Option<Vec<model::Expr>> {
        if arguments.len() != parameters.len() {
            let message =
                format!("`{name}` takes {}, found {}", count(parameters.len(), "argument"), arguments.len());
            self.report(Diagnostic::new(span, message).also(declared, "declared here"));
            self.infer_all(arguments);
            return None;
        }
        let check = |(argument, (parameter, ty)): (&Expr<'a>, &(Option<String>, Type))| {
            let label = match parameter {
                Some(parameter) => format!("the parameter `{parameter}`"),
                None => "declared here".to_string(),
            };
            self.check_for(argument, ty, Some((declared, label)))
        };
        Some(arguments.iter().zip(parameters).map(check).collect())
    }

    pub(crate) fn apply(&mut self, path: &Path<'a>, arguments: &[Expr<'a>], site: Site) -> Lowered {
        if path.qualifier.is_none()
            && let Some(Local::Function { index, slot }) = self.local(path.name.text).cloned()
        {
            return self.apply_parameter(index, slot, path.name.text, arguments, site.span);
        }
        let function = self.function(Space::Function, path, arguments)?;
        if self.compiler.world.is_library(function, "random") {
            let diagnostic = Diagnostic::new(site.span, "`random` can't stand inside an expression")
                .label("this has an effect")
                .help("declare a variable for it first: `Int x = random(n);`");
            self.report(diagnostic);
        }
        self.apply_function(function, &[], arguments, site)
    }

    /// Calls a function that is a parameter of this one. Its type is what its calls say.
    fn apply_parameter(
        &mut self,
        index: usize,
        function: model::Slot,
        name: &str,
        arguments: &[Expr<'a>],
        span: Span,
    ) -> Lowered {
        let ty = self.parameter_type(index, arguments.len());
        let wanted: Vec<(Option<String>, Type)> = ty.parameters.into_iter().map(|ty| (None, ty)).collect();
        let arguments = self.arguments(name, arguments, &wanted, span, span)?;
        Some((ExprKind::ApplySlot { function, arguments }, ty.result))
    }

    /// The type of a function parameter; the first use says how many arguments it takes.
    fn parameter_type(&mut self, index: usize, arity: usize) -> FunctionType {
        if let Some(Some(ty)) = self.function_types.get(index) {
            return ty.clone();
        }
        let ty =
            FunctionType { parameters: self.inference.fresh_list(arity), result: self.inference.fresh() };
        if let Some(entry) = self.function_types.get_mut(index) {
            *entry = Some(ty.clone());
        }
        ty
    }

    pub(crate) fn apply_functions(
        &mut self,
        path: &Path<'a>,
        functions: &[FunctionArgument<'a>],
        arguments: &[Expr<'a>],
        site: Site,
    ) -> Lowered {
        let function = self.function(Space::SecondOrder, path, arguments)?;
        let in_progress = &self.compiler.in_progress;
        if !self.is_itself(function) {
            if in_progress.contains(&function) || in_progress.len() > MOST_WAITING {
                let what = "functions that take functions and call each other in a circle";
                self.report(super::refuse::diagnostic(site.span, what));
                return None;
            }
            self.compiler.lower_function(function);
        }
        self.apply_function(function, functions, arguments, site)
    }

    /// Whether this is the body of the function.
    fn is_itself(&self, function: FunctionId) -> bool {
        matches!(self.kind, Kind::Function(own) if own == function)
    }

    fn apply_function(
        &mut self,
        function: FunctionId,
        functions: &[FunctionArgument<'a>],
        arguments: &[Expr<'a>],
        site: Site,
    ) -> Lowered {
        let span = site.span;
        let info = self.compiler.world.functions[function.index()].clone();
        // A call of itself, in a function that takes functions, is at the same types: else those can't be
        // inferred.
        let itself = self.is_itself(function) && !info.functions.is_empty();
        let types: Vec<Type> = match itself {
            true => (0..info.type_parameters.len() as u32).map(Type::Variable).collect(),
            false => self.inference.fresh_list(info.type_parameters.len()),
        };
        let result = self.instance(&info.result, &types, span);
        self.hint(&result, site);
        let instance = |(name, ty): &(String, Type)| (Some(name.clone()), self.instance(ty, &types, span));
        let wanted: Vec<(Option<String>, Type)> = info.parameters.iter().map(instance).collect();
        let arguments = self.arguments(&info.name, arguments, &wanted, span, info.span);
        if functions.len() != info.functions.len() {
            let (wanted, found) = (count(info.functions.len(), "function"), functions.len());
            let diagnostic = Diagnostic::new(span, format!("`{}` takes {wanted}, found {found}", info.name));
            self.report(diagnostic.also(info.span, "declared here"));
            return None;
        }
        let mut closures = Vec::with_capacity(functions.len());
        for (index, argument) in functions.iter().enumerate() {
            let ty = match itself {
                true => None,
                false => info.functions[index].1.as_ref().map(|ty| self.function_instance(ty, &types, span)),
            };
            closures.push(self.closure(argument, ty, itself.then_some(index), span)?);
        }
        Some((ExprKind::Apply { function, arguments: arguments?, closures }, result))
    }

    fn function_instance(&mut self, ty: &FunctionType, types: &[Type], span: Span) -> FunctionType {
        let parameters = ty.parameters.iter().map(|ty| self.instance(ty, types, span)).collect();
        FunctionType { parameters, result: self.instance(&ty.result, types, span) }
    }

    /// A function that is passed; `own` is the parameter that it is passed for in a call of this function by
    /// itself.
    fn closure(
        &mut self,
        argument: &FunctionArgument<'a>,
        wanted: Option<FunctionType>,
        own: Option<usize>,
        span: Span,
    ) -> Option<Closure> {
        let FunctionArgument::Named(path) = argument else {
            let FunctionArgument::Lambda(parameters, body) = argument else { return None };
            let wanted = wanted.unwrap_or_else(|| self.wanted(own, parameters.len()));
            return self.lambda(parameters, body, wanted, span);
        };
        if path.qualifier.is_none()
            && let Some(Local::Function { index, slot }) = self.local(path.name.text).cloned()
        {
            if own == Some(index) {
                return Some(Closure::Slot(slot));
            }
            let arity = wanted.as_ref().map(|wanted| wanted.parameters.len());
            let arity = arity.or_else(|| {
                let types = [Some(index), own].into_iter().flatten();
                types
                    .filter_map(|at| self.function_types.get(at)?.as_ref())
                    .map(|ty| ty.parameters.len())
                    .next()
            });
            let given = self.parameter_type(index, arity.unwrap_or(1));
            let wanted = wanted.unwrap_or_else(|| self.wanted(own, given.parameters.len()));
            self.fits(path, &given, &wanted);
            return Some(Closure::Slot(slot));
        }
        let function = self.function(Space::Function, path, &[])?;
        let info = self.compiler.world.functions[function.index()].clone();
        if self.compiler.world.is_library(function, "random") {
            let diagnostic = Diagnostic::new(path.span, "`random` can't be passed to a function");
            self.report(diagnostic.label("this has an effect"));
            return None;
        }
        let types = self.inference.fresh_list(info.type_parameters.len());
        let parameters = info.parameters.into_iter().map(|(_, ty)| ty).collect();
        let given = self.function_instance(&FunctionType { parameters, result: info.result }, &types, span);
        let wanted = wanted.unwrap_or_else(|| self.wanted(own, given.parameters.len()));
        self.fits(path, &given, &wanted);
        Some(Closure::Function(function))
    }

    /// What a parameter of this function takes; if nothing is known of it, anything.
    fn wanted(&mut self, own: Option<usize>, arity: usize) -> FunctionType {
        match own {
            Some(own) => self.parameter_type(own, arity),
            None => FunctionType { parameters: vec![Type::Error; arity], result: Type::Error },
        }
    }

    /// Reports a function that can't be passed where another type of function is wanted.
    fn fits(&mut self, path: &Path<'a>, given: &FunctionType, wanted: &FunctionType) {
        let name = path.name.text;
        if given.parameters.len() != wanted.parameters.len() {
            let who = format!("`{name}` takes");
            self.wrong_arity(path.span, &who, given.parameters.len(), wanted.parameters.len());
            return;
        }
        for (given, wanted) in given.parameters.iter().zip(&wanted.parameters) {
            if !self.sub(wanted, given) {
                let (given, wanted) = (self.show(given), self.show(wanted));
                let message = format!("`{name}` takes `{given}`, but is called with `{wanted}`");
                self.report(Diagnostic::new(path.span, message));
                return;
            }
        }
        if !self.sub(&given.result, &wanted.result) {
            let (given, wanted) = (self.show(&given.result), self.show(&wanted.result));
            self.report(Diagnostic::new(path.span, format!("`{name}` gives `{given}`, expected `{wanted}`")));
        }
    }

    fn wrong_arity(&mut self, span: Span, who: &str, given: usize, wanted: usize) {
        let message = format!("{who} {}, but is called with {wanted}", count(given, "argument"));
        self.report(Diagnostic::new(span, message));
    }

    fn lambda(
        &mut self,
        parameters: &[super::ast::Parameter<'a>],
        body: &Expr<'a>,
        wanted: FunctionType,
        span: Span,
    ) -> Option<Closure> {
        if parameters.len() != wanted.parameters.len() {
            self.wrong_arity(span, "the function takes", parameters.len(), wanted.parameters.len());
            return None;
        }
        self.open();
        let mut slots = Vec::with_capacity(parameters.len());
        for (parameter, wanted) in parameters.iter().zip(&wanted.parameters) {
            let ty = self.resolve_type(&parameter.ty);
            if !self.sub(wanted, &ty) {
                self.mismatch(parameter.ty.span, wanted, &ty, None);
            }
            slots.push(self.declare(parameter.name, ty));
        }
        let body = self.check(body, &wanted.result);
        self.close();
        Some(Closure::Lambda { parameters: slots, body: Box::new(body) })
    }

    /// `f[a, b]`: the function gets a list.
    pub(crate) fn variadic(&mut self, path: &Path<'a>, elements: &[Expr<'a>], site: Site) -> Lowered {
        let span = site.span;
        let function = self.function(Space::Function, path, elements)?;
        let info = self.compiler.world.functions[function.index()].clone();
        let list = self.compiler.world.basics.list;
        let element = match info.parameters.as_slice() {
            [(_, Type::Data(data, arguments))] if *data == list => arguments[0].clone(),
            _ => {
                let message =
                    format!("`{}` does not take a list, so it has no form with brackets", info.name);
                self.report(Diagnostic::new(span, message).also(info.span, "declared here"));
                self.infer_all(elements);
                return None;
            }
        };
        let types = self.inference.fresh_list(info.type_parameters.len());
        let result = self.instance(&info.result, &types, span);
        self.hint(&result, site);
        let element = self.instance(&element, &types, span);
        let elements: Vec<model::Expr> = elements.iter().map(|part| self.check(part, &element)).collect();
        let world = &self.compiler.world;
        let [nil, cons] = world.data(list).constructors[..] else { return None };
        let [Value::Constructor(nil), Value::Constructor(cons)] =
            [nil, cons].map(|number| world.constructors[number].value)
        else {
            return None;
        };
        let end = model::Expr { kind: ExprKind::Construct(nil, Vec::new()), span };
        let whole = elements.into_iter().rev().fold(end, |rest, element| model::Expr {
            kind: ExprKind::Construct(cons, vec![element, rest]),
            span,
        });
        // `list` itself is the list.
        if world.is_library(function, "list") {
            return Some((whole.kind, result));
        }
        Some((ExprKind::Apply { function, arguments: vec![whole], closures: Vec::new() }, result))
    }
}

impl<'a> Compiler<'a> {
    /// Checks and lowers the body of a function, unless that is done.
    pub(crate) fn lower_function(&mut self, function: FunctionId) {
        if self.lowered[function.index()].is_some() || self.in_progress.contains(&function) {
            return;
        }
        let Some(&(module, declared)) = self.functions.get(&function) else { return };
        let info = self.world.functions[function.index()].clone();
        let Some(expr) = &declared.body else {
            self.lower_builtin(function, declared.span);
            return;
        };
        self.in_progress.push(function);
        let mut body = Body::new(self, module, Kind::Function(function));
        body.type_parameters = info.type_parameters;
        body.function_types = vec![None; info.functions.len()];
        for (parameter, (_, ty)) in declared.parameters.iter().zip(info.parameters) {
            body.declare(parameter.name, ty);
        }
        for (index, name) in declared.functions.iter().flatten().enumerate() {
            let slot = body.slot(name.text);
            body.bind(*name, Local::Function { index, slot });
        }
        let context = Some((declared.result.span, "what the function gives".to_string()));
        let lowered = body.check_for(expr, &info.result, context);
        let types = std::mem::take(&mut body.function_types);
        let resolve = |ty: &Type| strip(body.inference.resolve(ty).unwrap_or(Type::Error));
        let types: Vec<Option<FunctionType>> = types
            .iter()
            .map(|ty| {
                let ty = ty.as_ref()?;
                let parameters = ty.parameters.iter().map(resolve).collect();
                Some(FunctionType { parameters, result: resolve(&ty.result) })
            })
            .collect();
        let slots = body.slots.len() as u32;
        self.in_progress.pop();
        for (known, ty) in self.world.functions[function.index()].functions.iter_mut().zip(types) {
            known.1 = ty;
        }
        self.lowered[function.index()] = Some(model::Function {
            name: info.name,
            parameters: declared.parameters.len() as u32,
            functions: declared.functions.as_ref().map_or(0, Vec::len) as u32,
            slots,
            body: model::FunctionBody::Expr(lowered),
            span: declared.span,
        });
    }

    fn lower_builtin(&mut self, function: FunctionId, span: Span) {
        let info = &self.world.functions[function.index()];
        let Some(builtin) = super::library::builtin(&info.name).filter(|_| self.is_library) else {
            let diagnostic = Diagnostic::new(span, "only functions of the standard library are builtin");
            self.report(diagnostic.help("write its body: `def T f(U x) = e;`"));
            return;
        };
        self.lowered[function.index()] = Some(model::Function {
            name: info.name.clone(),
            parameters: info.parameters.len() as u32,
            functions: 0,
            slots: info.parameters.len() as u32,
            body: model::FunctionBody::Builtin(builtin),
            span,
        });
    }
}

/// What nothing is known about may be anything.
fn strip(ty: Type) -> Type {
    match ty {
        Type::Meta(_) => Type::Error,
        Type::Data(data, arguments) => Type::Data(data, arguments.into_iter().map(strip).collect()),
        other => other,
    }
}
