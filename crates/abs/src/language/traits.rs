//! Traits, flattened: the methods that a class gets from them.
//!
//! A method that another one modifies stays, under a name that nobody can write, and `original(..)` calls it.

use mazurka_syntax::Diagnostic;

use super::ast::{MethodDecl, MethodSet, Signature, TraitExpr, TraitOperation};
use super::compiler::Compiler;
use super::world::{Entity, Space};
use crate::model::Span;

/// Methods and traits that are looked at for one class. Traits can double with each step.
const MOST_STEPS: usize = 10_000;
/// Traits that are made of traits.
const MOST_DEPTH: usize = 100;

/// A method of a class, wherever it comes from.
#[derive(Clone, Debug)]
pub(crate) struct FlatMethod<'a> {
    pub(crate) name: String,
    /// The module in which its names are looked up.
    pub(crate) module: usize,
    pub(crate) declared: &'a MethodDecl<'a>,
    /// What `original(..)` calls.
    pub(crate) original: Option<String>,
}

/// What is going on while traits are flattened.
#[derive(Default)]
struct Flattening {
    /// The traits that are open.
    open: Vec<usize>,
    steps: usize,
    originals: usize,
}

impl<'a> Compiler<'a> {
    /// The methods of a class: its own, and those of the traits that it uses.
    pub(crate) fn class_methods(
        &mut self,
        module: usize,
        own: &'a [MethodDecl<'a>],
        uses: &'a [TraitExpr<'a>],
    ) -> Vec<FlatMethod<'a>> {
        let mut state = Flattening::default();
        let mut methods = Vec::new();
        self.add_all(&mut methods, own_methods(module, own));
        for expr in uses {
            let used = self.flatten(module, expr, &mut state);
            self.add_all(&mut methods, used);
        }
        methods
    }

    fn add_all(&mut self, methods: &mut Vec<FlatMethod<'a>>, added: Vec<FlatMethod<'a>>) {
        // Looked up by name, as classes may have many methods.
        let mut known: std::collections::HashMap<String, Span> =
            methods.iter().map(|method| (method.name.clone(), method.declared.signature.name.span)).collect();
        for method in added {
            let span = method.declared.signature.name.span;
            if let Some(other) = known.insert(method.name.clone(), span) {
                let diagnostic = Diagnostic::new(span, format!("there are two methods `{}`", method.name));
                self.report(diagnostic.label("the second").also(other, "the first"));
                continue;
            }
            methods.push(method);
        }
    }

    fn flatten(
        &mut self,
        module: usize,
        expr: &'a TraitExpr<'a>,
        state: &mut Flattening,
    ) -> Vec<FlatMethod<'a>> {
        let mut methods = self.method_set(module, &expr.base, state);
        for operation in &expr.operations {
            match operation {
                TraitOperation::Adds(set) => {
                    let added = self.method_set(module, set, state);
                    self.add_all(&mut methods, added);
                }
                TraitOperation::Modifies(set) => {
                    let modifying = self.method_set(module, set, state);
                    modify(&mut methods, modifying, state);
                }
                TraitOperation::Removes(signatures) => self.remove(&mut methods, signatures),
            }
        }
        methods
    }

    fn remove(&mut self, methods: &mut Vec<FlatMethod<'a>>, signatures: &[Signature]) {
        for signature in signatures {
            let name = signature.name;
            match methods.iter().position(|method| method.name == name.text) {
                Some(at) => {
                    methods.remove(at);
                }
                None => {
                    let message = format!("there is no method `{}` to remove", name.text);
                    self.report(Diagnostic::new(name.span, message).label("not in the trait"));
                }
            }
        }
    }

    fn method_set(
        &mut self,
        module: usize,
        set: &'a MethodSet<'a>,
        state: &mut Flattening,
    ) -> Vec<FlatMethod<'a>> {
        let path = match set {
            MethodSet::Methods(methods) => {
                state.steps += methods.len();
                return own_methods(module, methods);
            }
            MethodSet::Named(path) => path,
        };
        state.steps += 1;
        let Some(Entity::Trait(number)) = self.lookup(module, Space::Trait, path) else { return Vec::new() };
        let (home, name, expr) = self.traits[number];
        if state.open.contains(&number) {
            let message = format!("the trait `{}` is made of itself", name.text);
            self.report(Diagnostic::new(path.span, message).label("this goes in a circle"));
            return Vec::new();
        }
        if state.steps > MOST_STEPS || state.open.len() > MOST_DEPTH {
            self.report(
                Diagnostic::new(path.span, "these traits are too large")
                    .label("spelled out, they are enormous"),
            );
            return Vec::new();
        }
        state.open.push(number);
        let methods = self.flatten(home, expr, state);
        state.open.pop();
        state.steps += methods.len();
        methods
    }
}

fn own_methods<'a>(module: usize, methods: &'a [MethodDecl<'a>]) -> Vec<FlatMethod<'a>> {
    let flat = |declared: &'a MethodDecl<'a>| {
        let name = declared.signature.name.text.to_string();
        FlatMethod { name, module, declared, original: None }
    };
    methods.iter().map(flat).collect()
}

/// Puts methods in the place of those with the same names, which they know as their originals.
fn modify<'a>(methods: &mut Vec<FlatMethod<'a>>, modifying: Vec<FlatMethod<'a>>, state: &mut Flattening) {
    for mut method in modifying {
        if let Some(old) = methods.iter_mut().find(|old| old.name == method.name) {
            state.originals += 1;
            old.name = format!("{} (original {})", method.name, state.originals);
            // One that has an original within its own trait keeps it.
            if method.original.is_none() {
                method.original = Some(old.name.clone());
            }
        }
        methods.push(method);
    }
}
