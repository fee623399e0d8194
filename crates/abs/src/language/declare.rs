//! The first phase: numbers for everything that is declared, and what modules import and export.

use mazurka_syntax::Diagnostic;

use super::ast::{ClassDecl, Clause, DataDecl, Declaration, InterfaceDecl, Name, Path};
use super::compiler::{Compiler, noun};
use super::refuse;
use super::suggest::did_you_mean;
use super::types::Type;
use super::world::{
    ClassInfo, ConstructorInfo, DataId, DataInfo, Entity, FunctionInfo, Imported, InterfaceInfo, ModuleInfo,
    SPACES, Space, SynonymInfo, Value,
};
use crate::model::{ClassId, Constructor, ConstructorId, FunctionId, InterfaceId};

impl<'a> Compiler<'a> {
    pub(crate) fn declare(&mut self) {
        for module in self.modules {
            self.declare_module(&module.name);
        }
        for (module, declaration) in self.declarations() {
            self.declare_one(module, declaration);
        }
        for (number, module) in (self.first_module..).zip(self.modules) {
            for clause in &module.imports {
                self.import(number, clause);
            }
            for clause in &module.exports {
                self.export(number, clause);
            }
        }
        // What a module exports is known only now.
        for (number, module) in (self.first_module..).zip(self.modules) {
            for clause in &module.imports {
                self.check_import(number, clause);
            }
        }
    }

    fn declare_module(&mut self, path: &Path) {
        let (name, span) = (path.full(), path.span);
        let number = self.world.modules.len();
        if let Some(&other) = self.world.module_names.get(&name) {
            let other = self.world.modules[other].span;
            let diagnostic =
                Diagnostic::new(span, format!("there are two modules `{name}`")).label("the second");
            self.report(diagnostic.also(other, "the first"));
        } else {
            self.world.module_names.insert(name.clone(), number);
        }
        self.world.modules.push(ModuleInfo {
            name,
            span,
            declared: Default::default(),
            exports: Default::default(),
            imports: Vec::new(),
            is_broken: false,
        });
    }

    /// Gives a name its meaning in a module.
    pub(crate) fn enter(&mut self, module: usize, space: Space, name: Name, entity: Entity) {
        let taken = self.world.modules[module].declared(space, name.text);
        if let Some((_, other)) = taken {
            let message = format!("the {} `{}` is declared twice", noun(space), name.text);
            self.report(
                Diagnostic::new(name.span, message).label("declared again").also(other, "declared here"),
            );
            return;
        }
        let all = self.world.modules[module].declared.entry(name.text.to_string()).or_default();
        all.push((space, entity, name.span));
    }

    fn declare_one(&mut self, module: usize, declaration: &'a Declaration<'a>) {
        match declaration {
            Declaration::Data(data) => self.declare_data(module, data),
            Declaration::Exception(exception) => {
                let (data, arity) = (self.world.basics.exception, exception.arguments.len());
                let number = self.declare_constructor(module, exception.name, data, arity, true);
                self.exceptions.push((module, number, exception));
                self.declare_accessors(module, number, std::slice::from_ref(exception));
            }
            Declaration::Synonym(name, ty) => {
                let number = self.world.synonyms.len();
                self.world.synonyms.push(SynonymInfo { ty: None });
                self.synonyms.push((module, *name, ty));
                self.enter(module, Space::Type, *name, Entity::Synonym(number));
            }
            Declaration::Function(function) => {
                let id = self.declare_function(module, function.name, function.functions.is_some());
                self.functions.insert(id, (module, function));
            }
            Declaration::Interface(interface) => self.declare_interface(module, interface),
            Declaration::Class(class) => self.declare_class(module, class),
            Declaration::Trait(name, expr) => {
                let number = self.traits.len();
                self.traits.push((module, *name, expr));
                self.enter(module, Space::Trait, *name, Entity::Trait(number));
            }
        }
    }

    fn declare_data(&mut self, module: usize, data: &'a DataDecl<'a>) {
        let id = DataId(self.world.data.len() as u32);
        let parameters = data.parameters.iter().map(|name| name.text.to_string()).collect();
        let name = data.name.text.to_string();
        self.world.data.push(DataInfo { name, parameters, constructors: Vec::new() });
        self.data.push((module, data));
        self.enter(module, Space::Type, data.name, Entity::Data(id));
        for constructor in &data.constructors {
            let arity = constructor.arguments.len();
            let number = self.declare_constructor(module, constructor.name, id, arity, false);
            self.world.data[id.0 as usize].constructors.push(number);
        }
        if let Some(&first) = self.world.data(id).constructors.first() {
            self.declare_accessors(module, first, &data.constructors);
        }
    }

    fn declare_interface(&mut self, module: usize, interface: &'a InterfaceDecl<'a>) {
        let id = InterfaceId(self.world.interfaces.len() as u32);
        self.world.interfaces.push(InterfaceInfo {
            name: interface.name.text.to_string(),
            ancestors: vec![id],
            methods: Default::default(),
        });
        self.interfaces.push((module, id, interface));
        self.enter(module, Space::Type, interface.name, Entity::Interface(id));
    }

    fn declare_class(&mut self, module: usize, class: &'a ClassDecl<'a>) {
        let id = ClassId(self.world.classes.len() as u32);
        self.world.classes.push(ClassInfo {
            name: class.name.text.to_string(),
            implements: Vec::new(),
            parameters: 0,
            fields: Vec::new(),
            field_names: Default::default(),
            methods: Default::default(),
            span: class.name.span,
        });
        self.classes.push((module, id, class));
        self.enter(module, Space::Class, class.name, Entity::Class(id));
    }

    fn declare_constructor(
        &mut self,
        module: usize,
        name: Name,
        data: DataId,
        arity: usize,
        is_exception: bool,
    ) -> usize {
        let number = self.world.constructors.len();
        let value = match name.text {
            "Unit" if self.is_library => Value::Unit,
            "True" if self.is_library => Value::Bool(true),
            "False" if self.is_library => Value::Bool(false),
            text => {
                let constructor = Constructor { name: text.to_string(), arity: arity as u32, is_exception };
                self.constructors.push(constructor);
                Value::Constructor(ConstructorId(self.constructors.len() as u32 - 1))
            }
        };
        let arguments = vec![Type::Error; arity];
        let name_text = name.text.to_string();
        self.world.constructors.push(ConstructorInfo {
            name: name_text,
            data,
            arguments,
            value,
            span: name.span,
        });
        self.enter(module, Space::Constructor, name, Entity::Constructor(number));
        number
    }

    pub(crate) fn declare_function(&mut self, module: usize, name: Name, second_order: bool) -> FunctionId {
        let id = FunctionId(self.world.functions.len() as u32);
        self.world.functions.push(FunctionInfo {
            name: name.text.to_string(),
            type_parameters: Vec::new(),
            parameters: Vec::new(),
            functions: Vec::new(),
            result: Type::Error,
            span: name.span,
        });
        self.lowered.push(None);
        let space = if second_order { Space::SecondOrder } else { Space::Function };
        self.enter(module, space, name, Entity::Function(id));
        id
    }
}

/// Imports and exports.
impl<'a> Compiler<'a> {
    fn module_number(&mut self, path: &Path) -> Option<usize> {
        let name = path.full();
        if let Some(&number) = self.world.module_names.get(&name) {
            return Some(number);
        }
        let diagnostic = self.no_module(path.span, &name);
        self.report(diagnostic);
        None
    }

    fn import(&mut self, module: usize, clause: &Clause) {
        if let Some(from) = &clause.from {
            let Some(from) = self.module_number(from) else {
                self.world.modules[module].is_broken = true;
                return;
            };
            let imported = self.imported_from(module, from);
            match &clause.names {
                None => imported.all = true,
                Some(names) => imported.names.extend(names.iter().map(|name| name.name.text.to_string())),
            }
            return;
        }
        for path in clause.names.iter().flatten() {
            let Some(qualifier) = &path.qualifier else { continue };
            match self.world.module_names.get(qualifier) {
                Some(&from) => {
                    self.imported_from(module, from).qualified.insert(path.name.text.to_string());
                }
                None => {
                    let diagnostic = self.no_module(path.span, qualifier);
                    self.report(diagnostic);
                    self.world.modules[module].is_broken = true;
                }
            }
        }
    }

    fn imported_from(&mut self, module: usize, from: usize) -> &mut Imported {
        let imports = &mut self.world.modules[module].imports;
        let at = imports.iter().position(|(other, _)| *other == from).unwrap_or_else(|| {
            imports.push((from, Default::default()));
            imports.len() - 1
        });
        &mut imports[at].1
    }

    fn check_import(&mut self, module: usize, clause: &Clause) {
        for path in clause.names.iter().flatten() {
            let qualifier = clause.from.as_ref().map(Path::full).or_else(|| path.qualifier.clone());
            let from = qualifier.and_then(|qualifier| self.world.module_names.get(&qualifier).copied());
            if let Some(from) = from {
                self.check_exported(module, from, path);
            }
        }
    }

    /// Reports a name that the module does not export.
    fn check_exported(&mut self, module: usize, from: usize, path: &Path) {
        let name = path.name.text;
        let exported = SPACES.iter().any(|space| self.world.exported(from, *space, name).is_some());
        if exported || self.full() {
            return;
        }
        self.world.modules[module].is_broken = true;
        let info = &self.world.modules[from];
        let refused = refuse::function(name).or_else(|| refuse::type_or_constructor(name));
        let diagnostic = match refused {
            Some(what) if from < self.first_module => refuse::diagnostic(path.span, what),
            _ if info.declared.contains_key(name) => {
                Diagnostic::new(path.span, format!("`{}` does not export `{name}`", info.name))
                    .label("not exported")
                    .also(info.span, "the module")
                    .help(format!("write `export {name};` there"))
            }
            _ => {
                let message = format!("the module `{}` has nothing called `{name}`", info.name);
                let help = did_you_mean(name, info.declared.keys().map(String::as_str));
                Diagnostic::new(path.span, message).label("unknown").help_if(help)
            }
        };
        self.report(diagnostic);
    }

    fn export(&mut self, module: usize, clause: &Clause) {
        let from = match &clause.from {
            None => None,
            Some(path) => match self.module_number(path) {
                Some(from) => Some(from),
                None => return,
            },
        };
        match (&clause.names, from) {
            (None, None) => self.world.modules[module].exports.all = true,
            (None, Some(from)) => self.world.modules[module].exports.all_from.push(from),
            (Some(names), Some(from)) => {
                let names = names.iter().map(|name| (name.name.text.to_string(), from));
                self.world.modules[module].exports.from.extend(names);
            }
            (Some(names), None) => {
                for path in names {
                    self.check_declared(module, path);
                    self.world.modules[module].exports.names.insert(path.name.text.to_string());
                }
            }
        }
    }

    fn check_declared(&mut self, module: usize, path: &Path) {
        let name = path.name.text;
        let info = &self.world.modules[module];
        let imported = info.imports.iter().any(|(_, imported)| imported.all || imported.names.contains(name));
        if info.declared.contains_key(name) || imported || self.full() {
            return;
        }
        let diagnostic = Diagnostic::new(path.span, format!("the module has nothing called `{name}`"));
        let help = did_you_mean(name, info.declared.keys().map(String::as_str));
        self.report(diagnostic.label("can't be exported").help_if(help));
    }
}
