//! What operations name: locks, condition variables, processes, and the local that takes a result.

use mazurka_syntax::Diagnostic;

use super::{Compiler, Symbol};
use crate::ast::{Dest, Expr, Name, Target};
use crate::code::{NONE, Object, Peer};

impl Compiler {
    pub(super) fn lock(&mut self, target: &Target) -> Option<Object> {
        match self.named(&target.name)? {
            Symbol::Lock(decl) => {
                let info = &self.image.locks[decl as usize];
                let (array, len) = (info.array, info.len);
                self.object_index(target, array, len).map(|index| Object { decl, index })
            }
            symbol => self.wrong_kind(&target.name, symbol.noun(), "a lock", "lock"),
        }
    }

    pub(super) fn condvar(&mut self, target: &Target) -> Option<Object> {
        match self.named(&target.name)? {
            Symbol::Condvar(decl) => {
                let info = &self.image.condvars[decl as usize];
                let (array, len) = (info.array, info.len);
                self.object_index(target, array, len).map(|index| Object { decl, index })
            }
            symbol => self.wrong_kind(&target.name, symbol.noun(), "a condition variable", "condvar"),
        }
    }

    /// What the name of an object stands for; complains of locals.
    fn named(&mut self, name: &Name) -> Option<Symbol> {
        if self.scope.slots.contains_key(&name.text) {
            let message = format!("`{}` is a local variable", name.text);
            let help = "locks, condition variables and processes are declared at the top";
            self.error(Diagnostic::new(name.span, message).help(help));
            return None;
        }
        self.known(name)
    }

    fn wrong_kind<T>(&mut self, name: &Name, is: &str, wanted: &str, keyword: &str) -> Option<T> {
        let message = format!("`{}` is {is}, not {wanted}", name.text);
        let help = format!("declare one at the top: `{keyword} m;`");
        self.error(Diagnostic::new(name.span, message).help(help));
        None
    }

    /// The index of an object; `NONE` if it is not of an array.
    fn object_index(&mut self, target: &Target, array: bool, len: u32) -> Option<u32> {
        match (&target.index, array) {
            (None, false) => Some(NONE),
            (None, true) => {
                self.needs_index(&target.name);
                None
            }
            (Some(_), false) => self.no_index(&target.name),
            (Some(index), true) => Some(self.index(&target.name, index, 0, len)),
        }
    }

    fn no_index<T>(&mut self, name: &Name) -> Option<T> {
        let message = format!("`{}` is a single one and takes no index", name.text);
        self.error(Diagnostic::new(name.span, message).help("leave out the index"));
        None
    }

    fn index(&mut self, name: &Name, index: &Expr, from: i64, len: u32) -> u32 {
        let node = self.local_expr(index, &format!("the index of `{}`", name.text));
        self.check_index(&name.text, node, index.span, from, len);
        node
    }

    /// The process that is joined or sent to.
    pub(super) fn peer(&mut self, target: &Target) -> Option<Peer> {
        let name = &target.name;
        if let Some(&slot) = self.scope.slots.get(&name.text) {
            if !self.scope.locals[slot as usize].handle {
                let message = format!("`{}` is a number, not the handle of a process", name.text);
                let help = format!("a handle is the result of `spawn`: `let {} = spawn t();`", name.text);
                self.error(Diagnostic::new(name.span, message).help(help));
                return None;
            }
            return if target.index.is_some() { self.no_index(name) } else { Some(Peer::Handle(slot)) };
        }
        match self.known(name)? {
            Symbol::Process(decl) => self.member(target, decl),
            Symbol::Task(_) => {
                let message = format!("`{}` is a task, not a process", name.text);
                let help = format!("keep the handle: `let h = spawn {}(...);`, and use `h`", name.text);
                self.error(Diagnostic::new(name.span, message).help(help));
                None
            }
            symbol => self.wrong_kind(name, symbol.noun(), "a process", "process"),
        }
    }

    fn member(&mut self, target: &Target, decl: u32) -> Option<Peer> {
        let info = &self.image.families[decl as usize];
        let (family, first, from, len) = (info.family, info.first, info.from, info.len);
        match (&target.index, family) {
            (None, false) => Some(Peer::Root(first)),
            (Some(_), false) => self.no_index(&target.name),
            (None, true) => {
                let name = &target.name.text;
                let message = format!("`{name}` is a family of processes and needs an index");
                self.error(
                    Diagnostic::new(target.name.span, message).help(format!("name one: `{name}[{from}]`")),
                );
                None
            }
            (Some(index), true) => {
                Some(Peer::Member { decl, index: self.index(&target.name, index, from, len) })
            }
        }
    }

    /// The slot that takes the result of an operation.
    pub(super) fn dest(&mut self, dest: &Dest, handle: bool) -> u32 {
        match dest {
            Dest::None => NONE,
            Dest::Let(name) => self.declare_local(name, handle),
            Dest::Local(name) => match self.scope.slots.get(&name.text) {
                Some(_) => self.declare_local(name, handle),
                None => {
                    if let Some(symbol) = self.known(name) {
                        let message = format!("`{}` is {}, not a local variable", name.text, symbol.noun());
                        let help = format!("take the result first: `let r = ...; {} = r;`", name.text);
                        self.error(Diagnostic::new(name.span, message).help(help));
                    }
                    NONE
                }
            },
        }
    }
}
