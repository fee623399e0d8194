//! What is declared: modules, types, functions, interfaces and classes, by number, and how names are found.
//!
//! A world begins as a copy of the one that has the standard library, and grows by the modules of the
//! program.

use std::collections::{HashMap, HashSet};

use super::ast::Path;
use super::types::{FunctionType, Type};
use crate::model::{ClassId, ConstructorId, FunctionId, InterfaceId, MethodName, Span};

/// A data type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct DataId(pub(crate) u32);

/// Names of different kinds don't get in each other's way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Space {
    /// Data types, type synonyms, interfaces.
    Type,
    /// Constructors and exceptions.
    Constructor,
    Function,
    /// Functions that take functions.
    SecondOrder,
    Class,
    Trait,
}

pub(crate) const SPACES: [Space; 6] =
    [Space::Type, Space::Constructor, Space::Function, Space::SecondOrder, Space::Class, Space::Trait];

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entity {
    Data(DataId),
    Synonym(usize),
    Interface(InterfaceId),
    /// An index into [`World::constructors`].
    Constructor(usize),
    Function(FunctionId),
    Class(ClassId),
    Trait(usize),
}

#[derive(Clone, Debug)]
pub(crate) struct DataInfo {
    pub(crate) name: String,
    pub(crate) parameters: Vec<String>,
    pub(crate) constructors: Vec<usize>,
}

#[derive(Clone, Debug)]
pub(crate) struct SynonymInfo {
    /// None: not looked at yet.
    pub(crate) ty: Option<Type>,
}

/// What a constructor is to the machine.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Value {
    Constructor(ConstructorId),
    Unit,
    Bool(bool),
    /// Of an opaque type: made by a function, with its arguments in reverse order, and not matched.
    Made(FunctionId),
}

#[derive(Clone, Debug)]
pub(crate) struct ConstructorInfo {
    pub(crate) name: String,
    pub(crate) data: DataId,
    pub(crate) arguments: Vec<Type>,
    pub(crate) value: Value,
    pub(crate) span: Span,
}

#[derive(Clone, Debug)]
pub(crate) struct FunctionInfo {
    pub(crate) name: String,
    pub(crate) type_parameters: Vec<String>,
    pub(crate) parameters: Vec<(String, Type)>,
    /// The names of function parameters, and their types as soon as they are known.
    pub(crate) functions: Vec<(String, Option<FunctionType>)>,
    pub(crate) result: Type,
    pub(crate) span: Span,
}

#[derive(Clone, Debug)]
pub(crate) struct MethodInfo {
    /// Whether it is declared never to wait.
    pub(crate) atomic: bool,
    pub(crate) parameters: Vec<(String, Type)>,
    pub(crate) result: Type,
    pub(crate) span: Span,
}

#[derive(Clone, Debug)]
pub(crate) struct InterfaceInfo {
    pub(crate) name: String,
    /// Itself and all that it extends.
    pub(crate) ancestors: Vec<InterfaceId>,
    /// Inherited ones too, with the interface that declares them.
    pub(crate) methods: HashMap<String, (InterfaceId, MethodInfo)>,
}

#[derive(Clone, Debug)]
pub(crate) struct FieldInfo {
    pub(crate) name: String,
    pub(crate) ty: Type,
    pub(crate) span: Span,
}

#[derive(Clone, Debug)]
pub(crate) struct ClassInfo {
    pub(crate) name: String,
    /// Inherited ones too.
    pub(crate) implements: Vec<InterfaceId>,
    pub(crate) parameters: usize,
    pub(crate) fields: Vec<FieldInfo>,
    pub(crate) field_names: HashMap<String, usize>,
    pub(crate) methods: HashMap<String, MethodInfo>,
    pub(crate) span: Span,
}

/// What is imported from one module.
#[derive(Clone, Debug, Default)]
pub(crate) struct Imported {
    /// `import * from M`
    pub(crate) all: bool,
    /// Visible with and without the name of the module.
    pub(crate) names: HashSet<String>,
    /// `import M.x`: visible with the name of the module only.
    pub(crate) qualified: HashSet<String>,
}

/// What is exported.
#[derive(Clone, Debug, Default)]
pub(crate) struct Exports {
    /// `export *`
    pub(crate) all: bool,
    pub(crate) names: HashSet<String>,
    /// `export * from M`
    pub(crate) all_from: Vec<usize>,
    /// `export x from M`
    pub(crate) from: Vec<(String, usize)>,
}

#[derive(Clone, Debug)]
pub(crate) struct ModuleInfo {
    pub(crate) name: String,
    pub(crate) span: Span,
    pub(crate) declared: HashMap<String, Vec<(Space, Entity, Span)>>,
    pub(crate) exports: Exports,
    pub(crate) imports: Vec<(usize, Imported)>,
    /// Whether an import went wrong, so that names may be missing that are none of the module's fault.
    pub(crate) is_broken: bool,
}

impl ModuleInfo {
    pub(crate) fn declared(&self, space: Space, name: &str) -> Option<(Entity, Span)> {
        let all = self.declared.get(name)?;
        all.iter().find(|(other, ..)| *other == space).map(|(_, entity, span)| (*entity, *span))
    }
}

/// The types that expressions have by themselves; found when the library is declared.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Basics {
    pub(crate) unit: DataId,
    pub(crate) bool: DataId,
    pub(crate) int: DataId,
    pub(crate) rat: DataId,
    pub(crate) string: DataId,
    pub(crate) fut: DataId,
    pub(crate) exception: DataId,
    pub(crate) list: DataId,
    pub(crate) object: InterfaceId,
    pub(crate) to_string: FunctionId,
}

/// All that is declared.
#[derive(Clone, Debug, Default)]
pub(crate) struct World {
    pub(crate) modules: Vec<ModuleInfo>,
    pub(crate) module_names: HashMap<String, usize>,
    /// Modules that every module imports, unless it has the same names from elsewhere.
    pub(crate) implicit: Vec<usize>,
    pub(crate) data: Vec<DataInfo>,
    pub(crate) synonyms: Vec<SynonymInfo>,
    pub(crate) constructors: Vec<ConstructorInfo>,
    pub(crate) functions: Vec<FunctionInfo>,
    pub(crate) interfaces: Vec<InterfaceInfo>,
    pub(crate) classes: Vec<ClassInfo>,
    pub(crate) method_names: Vec<String>,
    pub(crate) method_numbers: HashMap<String, MethodName>,
    pub(crate) basics: Basics,
}

/// What looking for a name gives.
pub(crate) enum NameLookup {
    One(Entity),
    /// Imported from two modules, which declare different things.
    Ambiguous(usize, usize),
    /// It is there, but the module does not export it.
    Hidden(usize),
    /// The qualifier names no module, or one that is not imported.
    NoModule,
    NotImported(usize),
    Nothing,
}

/// Names.
impl World {
    /// Finds what a name means in a module: what the module declares, then what it imports, then what
    /// everyone imports.
    pub(crate) fn find(&self, module: usize, space: Space, name: &str) -> NameLookup {
        let info = &self.modules[module];
        if let Some((entity, _)) = info.declared(space, name) {
            return NameLookup::One(entity);
        }
        let mut found: Option<(Entity, usize)> = None;
        for (from, imported) in &info.imports {
            if !imported.all && !imported.names.contains(name) {
                continue;
            }
            match (self.exported(*from, space, name), found) {
                (Some(entity), Some((other, first))) if entity != other => {
                    return NameLookup::Ambiguous(first, *from);
                }
                (Some(entity), None) => found = Some((entity, *from)),
                _ => {}
            }
        }
        if found.is_none() {
            let everywhere = self.implicit.iter().find_map(|&from| self.exported(from, space, name));
            found = everywhere.map(|entity| (entity, module));
        }
        found.map_or(NameLookup::Nothing, |(entity, _)| NameLookup::One(entity))
    }

    /// Finds what a name with the name of its module means.
    pub(crate) fn find_qualified(
        &self,
        module: usize,
        space: Space,
        qualifier: &str,
        name: &str,
    ) -> NameLookup {
        let Some(&from) = self.module_names.get(qualifier) else { return NameLookup::NoModule };
        let declared = self.modules[from].declared(space, name);
        if from == module {
            return declared.map_or(NameLookup::Nothing, |(entity, _)| NameLookup::One(entity));
        }
        let imports = self.modules[module].imports.iter().find(|(imported, _)| *imported == from);
        let visible = match imports {
            Some((_, imported)) => {
                imported.all || imported.names.contains(name) || imported.qualified.contains(name)
            }
            None => self.implicit.contains(&from),
        };
        match self.exported(from, space, name) {
            Some(entity) if visible => NameLookup::One(entity),
            Some(_) => NameLookup::NotImported(from),
            None if declared.is_some() => NameLookup::Hidden(from),
            None => NameLookup::Nothing,
        }
    }

    /// Finds what a name means, with the name of its module or without.
    pub(crate) fn find_path(&self, module: usize, space: Space, path: &Path) -> NameLookup {
        match &path.qualifier {
            None => self.find(module, space, path.name.text),
            Some(qualifier) => self.find_qualified(module, space, qualifier, path.name.text),
        }
    }

    /// What a module exports under a name.
    pub(crate) fn exported(&self, module: usize, space: Space, name: &str) -> Option<Entity> {
        self.exported_past(module, space, name, &mut Vec::new())
    }

    fn exported_past(
        &self,
        module: usize,
        space: Space,
        name: &str,
        seen: &mut Vec<usize>,
    ) -> Option<Entity> {
        if seen.contains(&module) {
            return None;
        }
        seen.push(module);
        let info = &self.modules[module];
        let named = info.exports.names.contains(name);
        if (info.exports.all || named)
            && let Some((entity, _)) = info.declared(space, name)
        {
            return Some(entity);
        }
        if named {
            let imported =
                info.imports.iter().filter(|(_, imported)| imported.all || imported.names.contains(name));
            for (from, _) in imported {
                if let Some(entity) = self.exported_past(*from, space, name, seen) {
                    return Some(entity);
                }
            }
        }
        let by_name =
            info.exports.from.iter().filter(|(exported, _)| exported == name).map(|(_, from)| *from);
        by_name
            .chain(info.exports.all_from.iter().copied())
            .find_map(|from| self.exported_past(from, space, name, seen))
    }

    /// Names that are near: those of the module itself, what it imports, the standard library.
    pub(crate) fn visible_names(&self, module: usize, space: Space) -> impl Iterator<Item = &str> {
        let own = std::iter::once(module);
        let imported = self.modules[module].imports.iter().map(|(from, _)| *from);
        own.chain(imported).chain(self.implicit.iter().copied()).flat_map(move |from| {
            let declared = self.modules[from].declared.iter();
            declared
                .filter(move |(_, all)| all.iter().any(|(other, ..)| *other == space))
                .map(|(name, _)| name.as_str())
        })
    }

    pub(crate) fn method_name(&mut self, name: &str) -> MethodName {
        if let Some(&number) = self.method_numbers.get(name) {
            return number;
        }
        let number = MethodName(self.method_names.len() as u32);
        self.method_names.push(name.to_string());
        self.method_numbers.insert(name.to_string(), number);
        number
    }
}

/// Subtypes.
impl World {
    pub(crate) fn extends(&self, a: InterfaceId, b: InterfaceId) -> bool {
        a == b || b == self.basics.object || self.interfaces[a.index()].ancestors.contains(&b)
    }

    pub(crate) fn implements(&self, class: ClassId, interface: InterfaceId) -> bool {
        interface == self.basics.object || self.classes[class.index()].implements.contains(&interface)
    }

    /// An interface that both references have: the one that extends all others they share, else `Object`.
    pub(crate) fn common(&self, a: &Type, b: &Type) -> InterfaceId {
        let (a, b) = (self.ancestors(a), self.ancestors(b));
        let shared: Vec<InterfaceId> = a.iter().copied().filter(|interface| b.contains(interface)).collect();
        let least = shared.iter().find(|least| shared.iter().all(|other| self.extends(**least, *other)));
        least.copied().unwrap_or(self.basics.object)
    }

    fn ancestors(&self, ty: &Type) -> &[InterfaceId] {
        match ty {
            Type::Interface(interface) => &self.interfaces[interface.index()].ancestors,
            Type::Class(class) => &self.classes[class.index()].implements,
            _ => &[],
        }
    }

    /// Whether a function is the one of the standard library by this name.
    pub(crate) fn is_library(&self, function: FunctionId, name: &str) -> bool {
        let info = &self.functions[function.index()];
        info.name == name && info.span.file == 0
    }

    pub(crate) fn data(&self, data: DataId) -> &DataInfo {
        &self.data[data.0 as usize]
    }

    pub(crate) fn basic(&self, which: impl Fn(&Basics) -> DataId) -> Type {
        Type::Data(which(&self.basics), Vec::new())
    }

    /// A type as a user writes it; `parameters` are the names of the type parameters at hand.
    pub(crate) fn show(&self, ty: &Type, parameters: &[String]) -> String {
        match ty {
            Type::Error | Type::Meta(_) => "_".to_string(),
            Type::Null => "null".to_string(),
            Type::Variable(index) => {
                parameters.get(*index as usize).cloned().unwrap_or_else(|| "_".to_string())
            }
            Type::Interface(interface) => self.interfaces[interface.index()].name.clone(),
            Type::Class(class) => self.classes[class.index()].name.clone(),
            Type::Data(data, arguments) => {
                let name = &self.data(*data).name;
                if arguments.is_empty() {
                    return name.clone();
                }
                let arguments: Vec<String> =
                    arguments.iter().map(|argument| self.show(argument, parameters)).collect();
                format!("{name}<{}>", arguments.join(", "))
            }
        }
    }
}
