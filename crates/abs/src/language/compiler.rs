//! From syntax trees to a model, in phases: what is declared, what its types are, what the bodies do.
//!
//! Each phase reports what is wrong and goes on; what could not be understood has [`Type::Error`], about
//! which nobody complains a second time.

use std::collections::{HashMap, HashSet};

use mazurka_syntax::{Diagnostic, MOST_ERRORS};

use super::ast::{
    Block, ClassDecl, Declaration, Expr, FunctionDecl, InterfaceDecl, Module, Name, Path, TraitExpr, TypeUse,
};
use super::suggest::did_you_mean;
use super::traits::FlatMethod;
use super::types::Type;
use super::world::{Entity, NameLookup, Space, World};
use super::{Dialect, refuse};
use crate::model::{self, FunctionId, Span};

/// What is made of the sources so far.
pub(crate) struct Compiler<'a> {
    pub(crate) world: World,
    pub(crate) dialect: Dialect,
    /// Whether this is the standard library.
    pub(crate) is_library: bool,
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// The modules of the program: numbers begin behind those of the library.
    pub(crate) first_module: usize,
    pub(crate) modules: &'a [Module<'a>],
    /// What the numbers of the program stand for; those of the library come before them.
    pub(crate) data: Vec<(usize, &'a super::ast::DataDecl<'a>)>,
    pub(crate) synonyms: Vec<(usize, Name<'a>, &'a TypeUse<'a>)>,
    pub(crate) first_synonym: usize,
    pub(crate) functions: HashMap<FunctionId, (usize, &'a FunctionDecl<'a>)>,
    /// Accessors: by the first constructor of their type, and by name.
    pub(crate) accessor_numbers: HashMap<(usize, &'a str), FunctionId>,
    /// Functions that take functions and whose bodies are being looked at.
    pub(crate) in_progress: Vec<FunctionId>,
    /// Expressions that are being looked at, within each other.
    pub(crate) depth: usize,
    pub(crate) exceptions: Vec<(usize, usize, &'a super::ast::ConstructorDecl<'a>)>,
    pub(crate) interfaces: Vec<(usize, model::InterfaceId, &'a InterfaceDecl<'a>)>,
    pub(crate) classes: Vec<(usize, model::ClassId, &'a ClassDecl<'a>)>,
    pub(crate) traits: Vec<(usize, Name<'a>, &'a TraitExpr<'a>)>,
    /// The methods of each class.
    pub(crate) flat: Vec<Vec<FlatMethod<'a>>>,
    pub(crate) constructors: Vec<model::Constructor>,
    /// By number; none: not lowered yet.
    pub(crate) lowered: Vec<Option<model::Function>>,
    pub(crate) model_classes: Vec<model::Class>,
    pub(crate) methods: Vec<model::Method>,
    /// The callees of synchronous calls of methods that are declared never to wait.
    pub(crate) atomic_calls: HashSet<Span>,
}

impl<'a> Compiler<'a> {
    /// A compiler that knows what is declared before these modules.
    pub(crate) fn new(
        base: super::library::Base,
        modules: &'a [Module<'a>],
        dialect: Dialect,
    ) -> Compiler<'a> {
        Compiler {
            dialect,
            is_library: false,
            diagnostics: Vec::new(),
            first_module: base.world.modules.len(),
            modules,
            data: Vec::new(),
            synonyms: Vec::new(),
            first_synonym: base.world.synonyms.len(),
            functions: HashMap::new(),
            accessor_numbers: HashMap::new(),
            in_progress: Vec::new(),
            atomic_calls: HashSet::new(),
            depth: 0,
            exceptions: Vec::new(),
            interfaces: Vec::new(),
            classes: Vec::new(),
            traits: Vec::new(),
            flat: Vec::new(),
            constructors: base.constructors,
            lowered: base.functions.into_iter().map(Some).collect(),
            model_classes: Vec::new(),
            methods: Vec::new(),
            world: base.world,
        }
    }

    pub(crate) fn report(&mut self, diagnostic: Diagnostic) {
        if !self.full() && !self.diagnostics.contains(&diagnostic) {
            self.diagnostics.push(diagnostic);
        }
    }

    /// Whether enough is wrong.
    pub(crate) fn full(&self) -> bool {
        self.diagnostics.len() >= MOST_ERRORS
    }

    /// All functions, interfaces and classes, with their bodies.
    pub(crate) fn program(&mut self) {
        self.declare();
        self.signatures();
        self.bodies();
    }

    /// All bodies of functions and classes.
    pub(crate) fn bodies(&mut self) {
        let mut functions: Vec<FunctionId> = self.functions.keys().copied().collect();
        functions.sort();
        for function in functions {
            if self.full() {
                return;
            }
            self.lower_function(function);
        }
        for at in 0..self.classes.len() {
            if self.full() {
                return;
            }
            self.lower_class(at);
        }
    }

    /// The main block, which there must be exactly one of.
    pub(crate) fn main(&mut self, overrides: &HashMap<&str, Expr<'a>>) -> Option<model::Body> {
        let mains: Vec<(usize, &'a Block<'a>)> = (self.first_module..)
            .zip(self.modules)
            .filter_map(|(module, declared)| declared.main.as_ref().map(|main| (module, main)))
            .collect();
        match mains.as_slice() {
            [(module, main)] => Some(self.lower_main(*module, main, overrides)),
            [(_, first), (_, second), ..] => {
                let span = Span { end: second.span.start + 1, ..second.span };
                let first = Span { end: first.span.start + 1, ..first.span };
                let diagnostic = Diagnostic::new(span, "the program has more than one main block");
                let diagnostic = diagnostic.label("this one").also(first, "and this one");
                self.report(diagnostic.help("leave out the files or the main blocks that are not meant"));
                None
            }
            [] => {
                let span = self.modules.last().map_or(Span::default(), |module| module.name.span);
                let diagnostic =
                    Diagnostic::new(span, "the program has no main block").label("nothing would run");
                self.report(diagnostic.help("a main block stands at the end of a module: `{ .. }`"));
                None
            }
        }
    }
}

/// Names.
impl<'a> Compiler<'a> {
    /// What a name means, or a report that it means nothing.
    pub(crate) fn lookup(&mut self, module: usize, space: Space, path: &Path) -> Option<Entity> {
        let name = path.name.text;
        let found = self.world.find_path(module, space, path);
        if let NameLookup::One(entity) = found {
            return Some(entity);
        }
        let excused = self.world.modules[module].is_broken
            && matches!(found, NameLookup::Nothing | NameLookup::NoModule);
        if self.full() || excused {
            return None;
        }
        let diagnostic = match found {
            NameLookup::Ambiguous(a, b) => {
                let (a, b) = (&self.world.modules[a].name, &self.world.modules[b].name);
                Diagnostic::new(path.span, format!("`{name}` is imported from `{a}` and from `{b}`"))
                    .label("which of them is not clear")
                    .help(format!("write `{a}.{name}` or `{b}.{name}`"))
            }
            NameLookup::Hidden(from) => {
                let from = &self.world.modules[from];
                Diagnostic::new(path.span, format!("`{}` does not export `{name}`", from.name))
                    .label("not exported")
                    .also(from.span, "the module")
                    .help(format!("write `export {name};` there"))
            }
            NameLookup::NotImported(from) => {
                let from = &self.world.modules[from].name;
                Diagnostic::new(path.span, format!("`{}` is not imported", path.full()))
                    .help(format!("write `import {from}.{name};` or `import {name} from {from};`"))
            }
            NameLookup::NoModule => self.no_module(path.span, path.qualifier.as_deref().unwrap_or_default()),
            NameLookup::Nothing | NameLookup::One(_) => self.nothing(module, space, path),
        };
        self.report(diagnostic);
        None
    }

    pub(crate) fn no_module(&self, span: Span, name: &str) -> Diagnostic {
        if let Some(what) = refuse::module(name) {
            return refuse::diagnostic(span, what);
        }
        let diagnostic =
            Diagnostic::new(span, format!("there is no module `{name}`")).label("unknown module");
        match did_you_mean(name, self.world.modules.iter().map(|module| module.name.as_str())) {
            Some(help) => diagnostic.help(help),
            None => diagnostic.help("all the files of a program are given together"),
        }
    }

    /// A name that nothing has.
    fn nothing(&self, module: usize, space: Space, path: &Path) -> Diagnostic {
        let name = path.name.text;
        let refused = match space {
            Space::Function | Space::SecondOrder => refuse::function(name),
            Space::Type | Space::Constructor | Space::Class => refuse::type_or_constructor(name),
            Space::Trait => None,
        };
        if let Some(what) = refused {
            return refuse::diagnostic(path.span, what);
        }
        let what = noun(space);
        let diagnostic =
            Diagnostic::new(path.span, format!("there is no {what} `{}`", path.full())).label("unknown");
        if let Some(help) = self.other_kind(module, space, name) {
            return diagnostic.help(help);
        }
        if let Some(ours) = refuse::foreign_type(name).filter(|_| space == Space::Type) {
            return diagnostic.help(format!("did you mean `{ours}`?"));
        }
        if let Some(help) = did_you_mean(name, self.world.visible_names(module, space)) {
            return diagnostic.help(help);
        }
        match self.exporter(module, space, name) {
            Some(from) => diagnostic.help(format!("`{from}` exports one: `import {name} from {from};`")),
            None => diagnostic,
        }
    }

    /// A remark if the name is that of another kind of thing.
    fn other_kind(&self, module: usize, space: Space, name: &str) -> Option<String> {
        let is = |space: Space| matches!(self.world.find(module, space, name), NameLookup::One(_));
        match space {
            Space::Type if is(Space::Class) => {
                Some(format!("`{name}` is a class; objects are known by their interfaces"))
            }
            Space::Type if is(Space::Constructor) => Some(format!("`{name}` is a constructor, not a type")),
            Space::Constructor if is(Space::Class) => Some(format!("objects are made by `new {name}(..)`")),
            Space::Constructor if is(Space::Type) => Some(format!("`{name}` is a type, not a constructor")),
            Space::Class if is(Space::Type) => {
                Some(format!("`{name}` is a type; `new` makes objects of classes"))
            }
            Space::Function if is(Space::SecondOrder) => {
                Some(format!("`{name}` takes functions, in parentheses of their own: `{name}(f)(..)`"))
            }
            Space::SecondOrder if is(Space::Function) => {
                Some(format!("`{name}` takes no functions: `{name}(..)`"))
            }
            _ => None,
        }
    }

    /// A module that exports the name, where this one does not import it.
    fn exporter(&self, module: usize, space: Space, name: &str) -> Option<&str> {
        let mut others = (0..self.world.modules.len()).filter(|&other| other != module).take(100);
        let found = others.find(|&other| self.world.exported(other, space, name).is_some())?;
        Some(&self.world.modules[found].name)
    }

    /// The declarations of the program with the numbers of their modules.
    pub(crate) fn declarations(&self) -> impl Iterator<Item = (usize, &'a Declaration<'a>)> + use<'a> {
        let modules = self.modules;
        (self.first_module..).zip(modules).flat_map(|(number, module)| {
            module.declarations.iter().map(move |declaration| (number, declaration))
        })
    }

    pub(crate) fn show(&self, ty: &Type) -> String {
        self.world.show(ty, &[])
    }
}

/// What the things of a space are called.
pub(crate) fn noun(space: Space) -> &'static str {
    match space {
        Space::Type => "type",
        Space::Constructor => "constructor",
        Space::Function => "function",
        Space::SecondOrder => "function that takes functions",
        Space::Class => "class",
        Space::Trait => "trait",
    }
}
