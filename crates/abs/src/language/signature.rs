//! The second phase: the types of what is declared.

use std::collections::HashMap;

use mazurka_syntax::Diagnostic;

use super::ast::{InterfaceDecl, Name, Parameter, Path, Signature, TypeUse};
use super::compiler::Compiler;
use super::types::{LARGEST, Type};
use super::world::{DataId, Entity, MethodInfo, NameLookup, Space};
use crate::model::{FunctionId, InterfaceId, Span};

/// Interfaces that one extends, all in all.
const MOST_ANCESTORS: usize = 1000;
/// Synonyms that stand for synonyms.
const MOST_SYNONYMS: usize = 100;

impl<'a> Compiler<'a> {
    pub(crate) fn signatures(&mut self) {
        for number in self.first_synonym..self.world.synonyms.len() {
            self.synonym(number, &mut Vec::new());
        }
        let first = self.world.data.len() - self.data.len();
        for at in 0..self.data.len() {
            self.data_signature(DataId((first + at) as u32), at);
        }
        for at in 0..self.exceptions.len() {
            let (module, number, exception) = self.exceptions[at];
            let types =
                exception.arguments.iter().map(|(ty, _)| self.resolve_type(module, ty, &[])).collect();
            self.world.constructors[number].arguments = types;
            let arguments: Vec<_> = exception.arguments.iter().map(|(_, name)| *name).collect();
            self.accessors(&[(number, arguments)]);
        }
        let mut functions: Vec<FunctionId> = self.functions.keys().copied().collect();
        functions.sort();
        for function in functions {
            self.function_signature(function);
        }
        self.interface_signatures();
        for at in 0..self.classes.len() {
            self.class_signature(at);
        }
    }

    /// The type that a synonym stands for.
    fn synonym(&mut self, number: usize, open: &mut Vec<usize>) -> Type {
        if let Some(ty) = &self.world.synonyms[number].ty {
            return ty.clone();
        }
        let (module, name, ty) = self.synonyms[number - self.first_synonym];
        if open.contains(&number) || open.len() > MOST_SYNONYMS {
            let message = match open.contains(&number) {
                true => format!("the type `{}` stands for itself", name.text),
                false => format!("more than {MOST_SYNONYMS} types stand for each other"),
            };
            self.report(Diagnostic::new(name.span, message).label("this goes in a circle"));
            return Type::Error;
        }
        open.push(number);
        let ty = self.resolve_open(module, ty, &[], open);
        open.pop();
        self.world.synonyms[number].ty = Some(ty.clone());
        ty
    }

    /// The type that is written, in a module, where these type parameters are known.
    pub(crate) fn resolve_type(&mut self, module: usize, ty: &TypeUse, parameters: &[String]) -> Type {
        self.resolve_open(module, ty, parameters, &mut Vec::new())
    }

    fn resolve_open(
        &mut self,
        module: usize,
        ty: &TypeUse,
        parameters: &[String],
        open: &mut Vec<usize>,
    ) -> Type {
        let name = ty.path.name.text;
        if ty.path.qualifier.is_none()
            && let Some(index) = parameters.iter().position(|parameter| parameter == name)
        {
            self.check_type_arguments(ty, 0);
            return Type::Variable(index as u32);
        }
        let arguments: Vec<Type> = ty
            .arguments
            .iter()
            .map(|argument| self.resolve_open(module, argument, parameters, open))
            .collect();
        if self.names_exception(module, &ty.path) {
            self.check_type_arguments(ty, 0);
            return self.world.basic(|basics| basics.exception);
        }
        let resolved = match self.lookup(module, Space::Type, &ty.path) {
            Some(Entity::Data(data)) => {
                let wanted = self.world.data(data).parameters.len();
                if !self.check_type_arguments(ty, wanted) {
                    return Type::Error;
                }
                Type::Data(data, arguments)
            }
            Some(Entity::Interface(interface)) => {
                self.check_type_arguments(ty, 0);
                Type::Interface(interface)
            }
            Some(Entity::Synonym(number)) => {
                self.check_type_arguments(ty, 0);
                self.synonym(number, open)
            }
            _ => Type::Error,
        };
        if resolved.size() > LARGEST {
            self.report(
                Diagnostic::new(ty.span, "this type is too large").label("spelled out, it is enormous"),
            );
            return Type::Error;
        }
        resolved
    }

    fn check_type_arguments(&mut self, ty: &TypeUse, wanted: usize) -> bool {
        let found = ty.arguments.len();
        if found == wanted {
            return true;
        }
        let name = ty.path.name.text;
        let message = match (wanted, found) {
            (0, _) => format!("`{name}` has no type arguments"),
            (_, 0) => format!("`{name}` needs {}", count(wanted, "type argument")),
            _ => format!("`{name}` has {}, found {found}", count(wanted, "type argument")),
        };
        let diagnostic = Diagnostic::new(ty.span, message);
        self.report(match wanted {
            0 => diagnostic,
            _ => diagnostic.help(format!("such as `{name}<{}>`", vec!["Int"; wanted].join(", "))),
        });
        false
    }

    /// Type parameters: no two have the same name.
    pub(crate) fn type_parameters(&mut self, names: &[Name]) -> Vec<String> {
        self.check_distinct(names.iter().copied(), "type parameter");
        names.iter().map(|name| name.text.to_string()).collect()
    }

    /// Reports names that occur twice.
    pub(crate) fn check_distinct<'n>(&mut self, names: impl IntoIterator<Item = Name<'n>>, what: &str) {
        let mut seen: HashMap<&str, Span> = HashMap::new();
        for name in names {
            if let Some(first) = seen.insert(name.text, name.span) {
                let diagnostic = Diagnostic::new(name.span, format!("there are two {what}s `{}`", name.text));
                self.report(diagnostic.label("the second").also(first, "the first"));
            }
        }
    }

    fn data_signature(&mut self, data: DataId, at: usize) {
        let (module, declared) = self.data[at];
        let parameters = self.type_parameters(&declared.parameters);
        let numbers = self.world.data(data).constructors.clone();
        let mut accessors = Vec::new();
        for (number, constructor) in numbers.into_iter().zip(&declared.constructors) {
            let types =
                constructor.arguments.iter().map(|(ty, _)| self.resolve_type(module, ty, &parameters));
            self.world.constructors[number].arguments = types.collect();
            accessors.push((number, constructor.arguments.iter().map(|(_, name)| *name).collect()));
        }
        self.accessors(&accessors);
    }

    fn function_signature(&mut self, function: FunctionId) {
        let Some(&(module, declared)) = self.functions.get(&function) else { return };
        let type_parameters = self.type_parameters(&declared.type_parameters);
        let functions = declared.functions.iter().flatten();
        let names = declared.parameters.iter().map(|parameter| parameter.name);
        self.check_distinct(names.chain(functions.clone().copied()), "parameter");
        let parameters = self.parameters(module, &declared.parameters, &type_parameters);
        let result = self.resolve_type(module, &declared.result, &type_parameters);
        let info = &mut self.world.functions[function.index()];
        info.functions = functions.map(|name| (name.text.to_string(), None)).collect();
        info.type_parameters = type_parameters;
        info.parameters = parameters;
        info.result = result;
    }

    pub(crate) fn parameters(
        &mut self,
        module: usize,
        declared: &[Parameter],
        type_parameters: &[String],
    ) -> Vec<(String, Type)> {
        let resolve = |parameter: &Parameter| {
            let ty = self.resolve_type(module, &parameter.ty, type_parameters);
            (parameter.name.text.to_string(), ty)
        };
        declared.iter().map(resolve).collect()
    }

    /// Whether a name is that of an exception and of no type: as a type it stands for `Exception`.
    fn names_exception(&self, module: usize, path: &Path) -> bool {
        let find = |space| self.world.find_path(module, space, path);
        let constructor = match (find(Space::Type), find(Space::Constructor)) {
            (NameLookup::Nothing, NameLookup::One(Entity::Constructor(number))) => {
                &self.world.constructors[number]
            }
            _ => return false,
        };
        constructor.data == self.world.basics.exception
    }

    pub(crate) fn method_signature(&mut self, module: usize, signature: &Signature) -> MethodInfo {
        self.check_distinct(signature.parameters.iter().map(|parameter| parameter.name), "parameter");
        let parameters = self.parameters(module, &signature.parameters, &[]);
        let result = self.resolve_type(module, &signature.result, &[]);
        MethodInfo { atomic: signature.annotations.atomic, parameters, result, span: signature.name.span }
    }

    /// The interface that is named.
    pub(crate) fn resolve_interface(&mut self, module: usize, path: &Path) -> Option<InterfaceId> {
        match self.lookup(module, Space::Type, path)? {
            Entity::Interface(interface) => Some(interface),
            _ => {
                let message = format!("`{}` is not an interface", path.full());
                self.report(Diagnostic::new(path.span, message).label("expected an interface"));
                None
            }
        }
    }

    pub(crate) fn resolve_interfaces(&mut self, module: usize, paths: &[Path]) -> Vec<InterfaceId> {
        paths.iter().filter_map(|path| self.resolve_interface(module, path)).collect()
    }

    fn interface_signatures(&mut self) {
        let mut parents: HashMap<InterfaceId, Vec<InterfaceId>> = HashMap::new();
        let mut own: HashMap<InterfaceId, Vec<(String, MethodInfo)>> = HashMap::new();
        for (module, id, declared) in self.interfaces.clone() {
            parents.insert(id, self.resolve_interfaces(module, &declared.extends));
            self.check_distinct(declared.methods.iter().map(|method| method.name), "method");
            let methods = declared
                .methods
                .iter()
                .map(|method| (method.name.text.to_string(), self.method_signature(module, method)));
            own.insert(id, methods.collect());
        }
        for (_, id, declared) in self.interfaces.clone() {
            let ancestors = self.ancestors(id, declared, &parents);
            for &ancestor in &ancestors {
                let inherited: Vec<(String, MethodInfo)> = match own.get(&ancestor) {
                    Some(methods) => methods.clone(),
                    None => Vec::new(),
                };
                for (name, method) in inherited {
                    self.add_method(id, ancestor, name, method, declared.name);
                }
            }
            self.world.interfaces[id.index()].ancestors = ancestors;
        }
    }

    /// An interface and all that it extends.
    fn ancestors(
        &mut self,
        id: InterfaceId,
        declared: &InterfaceDecl,
        parents: &HashMap<InterfaceId, Vec<InterfaceId>>,
    ) -> Vec<InterfaceId> {
        let mut ancestors = vec![id];
        let mut next = 0;
        while let Some(current) = ancestors.get(next) {
            next += 1;
            for &parent in parents.get(current).into_iter().flatten() {
                if parent == id {
                    let message = format!("the interface `{}` extends itself", declared.name.text);
                    self.report(Diagnostic::new(declared.name.span, message).label("this goes in a circle"));
                    return vec![id];
                }
                if !ancestors.contains(&parent) {
                    ancestors.push(parent);
                }
                if ancestors.len() > MOST_ANCESTORS {
                    let message = format!("an interface extends more than {MOST_ANCESTORS} others");
                    self.report(Diagnostic::new(declared.name.span, message));
                    return vec![id];
                }
            }
        }
        ancestors
    }

    fn add_method(&mut self, id: InterfaceId, from: InterfaceId, name: String, method: MethodInfo, at: Name) {
        let methods = &self.world.interfaces[id.index()].methods;
        let Some((other, first)) = methods.get(&name) else {
            self.world.interfaces[id.index()].methods.insert(name, (from, method));
            return;
        };
        let same = first.result == method.result
            && first.parameters.iter().map(|(_, ty)| ty).eq(method.parameters.iter().map(|(_, ty)| ty));
        if same || *other == from {
            return;
        }
        let [a, b] = [*other, from].map(|interface| &self.world.interfaces[interface.index()].name);
        let message = format!("`{}` has two different methods `{name}`, of `{a}` and of `{b}`", at.text);
        let diagnostic = Diagnostic::new(at.span, message).also(method.span, "one of them");
        self.report(diagnostic.help("methods differ by their names; rename one"));
    }
}

/// "one argument", "2 arguments".
pub(crate) fn count(number: usize, what: &str) -> String {
    match number {
        0 => format!("no {what}s"),
        1 => format!("one {what}"),
        _ => format!("{number} {what}s"),
    }
}
