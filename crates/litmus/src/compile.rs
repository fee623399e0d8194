//! From syntax trees to compiled programs, with everything checked that can be checked before a run.
//!
//! Declarations come first, in order (constants are computed as they are met), then the bodies, then what
//! depends on all bodies together: which processes end with a step because somebody may join them. Whatever
//! is wrong becomes a [`Diagnostic`] and compilation goes on, so that a person sees several at a time;
//! nothing runs unless there is none.

mod atomic;
mod check;
mod constraint;
mod declare;
mod expr;
mod flow;
mod polls;
mod stmt;
mod target;

use std::collections::{HashMap, HashSet};

use mazurka_syntax::{Diagnostic, Source};

use crate::ast::{Ast, Block, Item, Name, Span};
use crate::code::{Body, Image, Instr, Line, LocalInfo, NONE, Pc};
use crate::litmus::Litmus;

/// Checks a program and makes it runnable; `params` are the values given for its parameters.
///
/// # Errors
/// All that is wrong with it, in the order of the text.
pub fn compile(ast: &Ast, source: &Source, params: &[(String, i64)]) -> Result<Litmus, Vec<Diagnostic>> {
    let mut compiler = Compiler::new(source);
    compiler.declare(ast, params);
    for (item, declaration) in ast.items.iter().enumerate() {
        compiler.item = item;
        match declaration {
            Item::Process(process) => {
                let parameters: Vec<&Name> = process.family.iter().map(|(index, _)| index).collect();
                compiler.body(&parameters, &process.body);
            }
            Item::Task(task) => compiler.body(&task.params.iter().collect::<Vec<_>>(), &task.body),
            _ => {}
        }
    }
    // Constraints name blocks, wherever these stand.
    for (item, declaration) in ast.items.iter().enumerate() {
        compiler.item = item;
        if let Item::Commute(declared) = declaration {
            compiler.commute(declared);
        }
    }
    compiler.finish()
}

/// What a name at the top stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Symbol {
    Param(i64),
    Const(i64),
    Var(u32),
    Lock(u32),
    Condvar(u32),
    /// By its entry in [`Image::families`].
    Process(u32),
    /// By its entry in [`Image::bodies`].
    Task(u32),
}

impl Symbol {
    fn noun(self) -> &'static str {
        match self {
            Symbol::Param(_) => "a parameter",
            Symbol::Const(_) => "a constant",
            Symbol::Var(_) => "a shared variable",
            Symbol::Lock(_) => "a lock",
            Symbol::Condvar(_) => "a condition variable",
            Symbol::Process(_) => "a process",
            Symbol::Task(_) => "a task",
        }
    }
}

/// Where a jump is to be filled in once its target is known.
#[derive(Clone, Copy, Debug)]
enum Patch {
    Line(Pc),
    Atomic(u32),
}

/// A loop that is being compiled.
#[derive(Debug)]
struct Loop {
    next: Pc,
    breaks: Vec<Patch>,
}

/// What is known while one body is compiled.
#[derive(Debug, Default)]
struct Scope {
    locals: Vec<LocalInfo>,
    slots: HashMap<String, u32>,
    /// For each handle: the tasks it may stand for.
    tasks: HashMap<u32, Vec<u32>>,
    joined: HashSet<u32>,
    loops: Vec<Loop>,
    /// How many loops of the present atomic block are open.
    atomic_loops: usize,
    /// Names that were complained of: once is enough.
    unknown: HashSet<String>,
    nesting: usize,
    /// Whether it is no body, but the condition of a declared constraint.
    of_constraint: bool,
}

struct Compiler {
    image: Image,
    symbols: HashMap<String, (Symbol, usize)>,
    /// The lines of atomic blocks that have names.
    blocks: HashMap<String, Pc>,
    errors: Vec<Diagnostic>,
    scope: Scope,
    /// The item that is being compiled.
    item: usize,
    /// The number of arguments of each body.
    arity: Vec<usize>,
    /// Which bodies may be joined.
    joined: Vec<bool>,
    /// The body that is compiled next.
    next_body: usize,
    /// The names met in the condition that is being compiled, for [`crate::code::Condition`].
    leaves: Option<Vec<(String, u32)>>,
}

impl Compiler {
    fn new(source: &Source) -> Compiler {
        let starts =
            source.text.bytes().enumerate().filter(|&(_, b)| b == b'\n').map(|(at, _)| at as u32 + 1);
        let image = Image {
            file: source.name.clone(),
            text: source.text.clone(),
            line_starts: std::iter::once(0).chain(starts).collect(),
            ..Image::default()
        };
        Compiler {
            image,
            symbols: HashMap::new(),
            blocks: HashMap::new(),
            errors: Vec::new(),
            scope: Scope::default(),
            item: 0,
            arity: Vec::new(),
            joined: Vec::new(),
            next_body: 0,
            leaves: None,
        }
    }

    fn error(&mut self, diagnostic: Diagnostic) {
        self.errors.push(diagnostic);
    }

    /// Compiles the next body.
    fn body(&mut self, parameters: &[&Name], block: &Block) {
        self.scope = Scope::default();
        for name in parameters {
            if self.scope.slots.contains_key(&name.text) {
                let message = format!("`{}` is a parameter twice", name.text);
                self.error(Diagnostic::new(name.span, message).help("give each parameter a name of its own"));
            } else {
                self.declare_local(name, false);
            }
        }
        let entry = self.here();
        self.block(block);
        let end = self.emit(Instr::Finish, false, false, Span::default(), String::new());
        let scope = std::mem::take(&mut self.scope);
        for slot in &scope.joined {
            for &task in scope.tasks.get(slot).into_iter().flatten() {
                self.joined[task as usize] = true;
            }
        }
        let index = self.next_body;
        self.next_body += 1;
        let body: &mut Body = &mut self.image.bodies[index];
        body.entry = entry;
        body.end = end;
        body.handles = scope.locals.iter().any(|local| local.handle);
        body.locals = scope.locals;
    }

    fn here(&self) -> Pc {
        self.image.lines.len() as Pc
    }

    fn emit(&mut self, instr: Instr, step: bool, varies: bool, span: Span, text: String) -> Pc {
        let at = self.here();
        self.image.lines.push(Line { instr, step, varies, in_while: false, polls: NONE, span });
        self.image.texts.push(text);
        at
    }

    /// Makes the jump at `patch` go to `to`.
    fn patch(&mut self, patch: Patch, to: Pc) {
        match patch {
            Patch::Atomic(index) => self.image.atomics[index as usize].on_break = to,
            Patch::Line(at) => match &mut self.image.lines[at as usize].instr {
                Instr::Branch { otherwise: target, .. }
                | Instr::Jump(target)
                | Instr::ForNext { exit: target, .. } => *target = to,
                _ => {}
            },
        }
    }

    /// Turns the ends of bodies that may be joined into steps, and gives the program.
    fn finish(mut self) -> Result<Litmus, Vec<Diagnostic>> {
        if !self.errors.is_empty() {
            self.errors.sort_by_key(|e| (e.span.start, e.span.end));
            return Err(self.errors);
        }
        for (body, _) in self.image.bodies.iter().zip(&self.joined).filter(|(_, joined)| **joined) {
            let line = &mut self.image.lines[body.end as usize];
            line.instr = Instr::Exit;
            line.step = true;
            self.image.texts[body.end as usize] = "exit".to_owned();
        }
        self.find_polls();
        Ok(Litmus::new(self.image))
    }

    /// A new slot for a local variable.
    fn slot(&mut self, name: &str, handle: bool) -> u32 {
        let slot = self.scope.locals.len() as u32;
        self.scope.locals.push(LocalInfo { name: name.to_owned(), handle });
        slot
    }

    /// The slot of a local variable that is declared here, or was before; `NONE` if the name can't be one.
    fn declare_local(&mut self, name: &Name, handle: bool) -> u32 {
        if let Some(&(symbol, _)) = self.symbols.get(&name.text) {
            let message = format!("`{}` is {}, declared at the top", name.text, symbol.noun());
            let help = match symbol {
                Symbol::Var(_) => {
                    format!("to assign the shared variable, leave out `let`: `{} = ...`", name.text)
                }
                _ => "give the local variable another name".to_owned(),
            };
            let label = "a local variable can't have this name";
            self.error(Diagnostic::new(name.span, message).label(label).help(help));
            self.scope.unknown.insert(name.text.clone());
            return NONE;
        }
        let Some(&slot) = self.scope.slots.get(&name.text) else {
            let slot = self.slot(&name.text, handle);
            self.scope.slots.insert(name.text.clone(), slot);
            return slot;
        };
        if self.scope.locals[slot as usize].handle != handle {
            self.mixed(name, handle);
            return NONE;
        }
        slot
    }

    /// Complains of a local that is a handle here and a number there.
    fn mixed(&mut self, name: &Name, now_handle: bool) {
        let (was, now) = if now_handle { ("a number", "a handle") } else { ("a handle", "a number") };
        let message = format!("`{}` holds {was}, it can't hold {now}", name.text);
        let help = "a variable for the result of `spawn` holds nothing else: use two names";
        self.error(Diagnostic::new(name.span, message).help(help));
    }
}
