//! Writes the bodies of random programs, statement by statement, as text of the language.

use mazurka_litmus::ast::{Ast, Item, Span, Stmt, StmtKind, Target};
use mazurka_litmus::{Source, parse};

use crate::generate::Features;
use crate::random::Random;

/// Whose body is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Body {
    Process(usize),
    Task(usize),
}

/// Writes a body. Each part of it is drawn in the order in which it stands there, but for what a comment
/// says.
pub(crate) struct Writer<'a> {
    features: &'a Features,
    random: &'a mut Random,
    body: Body,
    pub locals: Vec<String>,
    handles: Vec<String>,
    held: Vec<Target>,
    /// How many loops are open.
    loops: usize,
}

impl<'a> Writer<'a> {
    pub fn new(features: &'a Features, random: &'a mut Random, body: Body) -> Writer<'a> {
        let (locals, handles, held) = Default::default();
        Writer { features, random, body, locals, handles, held, loops: 0 }
    }

    pub fn block(&mut self, statements: usize, depth: usize) -> String {
        let mut block: String = (0..statements).map(|_| self.statement(depth)).collect();
        // Most, not all, programs give their locks back.
        if depth == 0 && !self.random.one_in(3) {
            block.extend(std::mem::take(&mut self.held).iter().map(|lock| format!("unlock({lock});")));
        }
        block
    }

    /// One statement, or a few that belong together.
    pub fn statement(&mut self, depth: usize) -> String {
        let f = self.features;
        match self.random.weighted(&f.weights) {
            1 => self.bind_shared(),
            2 => {
                let op = if self.random.one_in(3) { "-=" } else { "+=" };
                format!("{} {op} {};", self.target(), self.constant())
            }
            3 => self.read_modify_write(),
            4 => {
                let first = self.inner(0);
                let others: String = (0..self.random.below(3)).map(|_| self.inner(0)).collect();
                format!("atomic {{ {first} {others} }}")
            }
            5 => format!("await {};", self.condition()),
            6 => self.lock_or_unlock(),
            7 => self.try_lock(depth),
            8 => self.wait(depth),
            9 => match self.random.pick(&f.condvars) {
                Some(c) if self.random.one_in(3) => format!("notify_all({c});"),
                Some(c) => format!("notify_one({c});"),
                None => self.assign(),
            },
            10 => self.spawn(depth),
            11 => self.join(),
            12 => format!("assert {};", self.condition()),
            13 if self.random.one_in(2) => format!("assume {};", self.condition()),
            14 => self.choose(),
            15 if depth < 2 => self.conditional(depth),
            16 if depth < 1 => self.repeat(depth),
            17 | 18 => self.send(),
            19 | 20 => self.receive(depth),
            21 => format!("atomic {{ await {}; {} }}", self.condition(), self.inner(0)),
            22 if self.random.one_in(3) => "skip;".to_owned(),
            23 if depth < 1 => self.while_loop(depth),
            24 if self.loops > 0 => self.leave(),
            25 if self.random.one_in(2) => self.failing(),
            26 => self.local_assign(),
            _ => self.assign(),
        }
    }

    fn fresh(&mut self) -> String {
        let name = format!("v{}", self.locals.len());
        self.locals.push(name.clone());
        name
    }

    fn constant(&mut self) -> i64 {
        constant(self.random)
    }

    fn bit(&mut self) -> String {
        self.random.below(2).to_string()
    }

    fn var(&mut self) -> String {
        self.random.pick(&self.features.vars).cloned().unwrap_or_else(|| "x".to_owned())
    }

    /// A shared variable, as it is written and as it is read.
    fn target(&mut self) -> String {
        if let Some(array) = self.random.pick(&self.features.arrays)
            && self.random.one_in(2)
        {
            let index = if self.random.one_in(3) { self.simple() } else { self.bit() };
            return format!("{array}[{index}]");
        }
        self.var()
    }

    fn assign(&mut self) -> String {
        // The value is drawn first.
        let value = match self.random.below(4) {
            0 => self.shared_expr(),
            1 => self.local(),
            _ => self.constant().to_string(),
        };
        format!("{} = {value};", self.target())
    }

    fn local(&mut self) -> String {
        self.random.pick(&self.locals).cloned().unwrap_or_else(|| "1".to_owned())
    }

    fn bind_shared(&mut self) -> String {
        let value = self.shared_expr();
        format!("let {} = {value};", self.fresh())
    }

    /// A statement that is no step, if there is a local variable.
    fn local_assign(&mut self) -> String {
        let op = self.arithmetic();
        let value = format!("{} {op} {}", self.local(), self.constant());
        match self.random.pick(&self.locals).cloned() {
            Some(name) if self.random.one_in(2) => format!("{name} = {value};"),
            _ => format!("let {} = {value};", self.fresh()),
        }
    }

    fn arithmetic(&mut self) -> &'static str {
        ["+", "-", "-", "*", "/", "%"][self.random.below(6)]
    }

    fn simple(&mut self) -> String {
        match self.random.below(3) {
            0 => self.local(),
            1 => self.constant().to_string(),
            _ => self.var(),
        }
    }

    fn shared_expr(&mut self) -> String {
        let read = self.target();
        match self.random.below(10) {
            0 | 1 => format!("{read} + {}", self.simple()),
            2 => format!("{read} {} {}", self.arithmetic(), self.simple()),
            3 => format!("{}{read}", if self.random.one_in(2) { "-" } else { "!" }),
            _ => read,
        }
    }

    fn condition(&mut self) -> String {
        let first = self.comparison();
        match self.random.below(5) {
            0 => format!("{first} && {}", self.comparison()),
            1 => format!("{first} || {}", self.comparison()),
            2 if self.random.one_in(4) => format!("!({first})"),
            _ => first,
        }
    }

    fn comparison(&mut self) -> String {
        // The operator is drawn first.
        let op = ["==", "==", "==", "!=", "!=", ">", "<", "<=", ">="][self.random.below(9)];
        let left = self.target();
        let right = if self.random.one_in(6) { self.simple() } else { self.constant().to_string() };
        format!("{left} {op} {right}")
    }

    fn read_modify_write(&mut self) -> String {
        let target = self.target();
        let value = if self.random.one_in(5) { self.simple() } else { self.constant().to_string() };
        let dest = if self.random.one_in(4) { String::new() } else { format!("let {} = ", self.fresh()) };
        match self.random.below(3) {
            0 => format!("{dest}fetch_add({target}, {value});"),
            1 => format!("{dest}swap({target}, {value});"),
            _ => format!("{dest}cas({target}, {}, {value});", self.constant()),
        }
    }

    /// A statement of an atomic block.
    fn inner(&mut self, depth: usize) -> String {
        match self.random.below(14) {
            0 => self.bind_shared(),
            1 => self.read_modify_write(),
            2 => self.send(),
            3 if self.random.one_in(2) => format!("assert {};", self.condition()),
            3 => format!("assume {};", self.condition()),
            4..=6 if depth < 2 => {
                let (condition, then) = (self.condition(), self.inner(depth + 1));
                match self.random.one_in(3) {
                    true => format!("if {condition} {{ {then} }} else {{ {} }}", self.inner(depth + 1)),
                    false => format!("if {condition} {{ {then} }}"),
                }
            }
            7 if depth < 1 => {
                let index = self.fresh();
                let to = if self.random.one_in(3) { self.simple() } else { "2".to_owned() };
                self.loops += 1;
                let body = self.inner(depth + 1);
                self.loops -= 1;
                format!("for {index} in 0..{to} {{ {body} }}")
            }
            8 if self.loops > 0 => self.leave(),
            _ => self.assign(),
        }
    }

    fn lock_or_unlock(&mut self) -> String {
        let free: Vec<&Target> = self.features.locks.iter().filter(|l| !self.held.contains(l)).collect();
        match self.random.pick(&free) {
            Some(&lock) => {
                self.held.push(lock.clone());
                format!("lock({lock});")
            }
            None if !self.held.is_empty() => {
                format!("unlock({});", self.held.remove(self.random.below(self.held.len())))
            }
            None => self.assign(),
        }
    }

    fn try_lock(&mut self, depth: usize) -> String {
        let Some(lock) = self.random.pick(&self.features.locks) else { return self.assign() };
        let taken = self.fresh();
        let attempt = format!("let {taken} = try_lock({lock});");
        match depth == 0 && !self.random.one_in(3) {
            true => format!("{attempt} if {taken} {{ {} unlock({lock}); }}", self.assign()),
            false => attempt,
        }
    }

    fn wait(&mut self, depth: usize) -> String {
        let f = self.features;
        let (Some(c), Some(m)) = (self.random.pick(&f.condvars), self.random.pick(&f.locks)) else {
            return self.assign();
        };
        let lock = match self.held.contains(m) {
            true => String::new(),
            false => {
                self.held.push(m.clone());
                format!("lock({m});")
            }
        };
        match self.random.below(6) {
            0 if depth == 0 => format!("{lock} if {} {{ wait({c}, {m}); }}", self.condition()),
            1 if depth == 0 => format!("{lock} while {} {{ wait({c}, {m}); }}", self.condition()),
            _ => format!("{lock} wait({c}, {m});"),
        }
    }

    fn spawn(&mut self, depth: usize) -> String {
        let later = match self.body {
            Body::Process(_) => 0,
            Body::Task(k) => k + 1,
        };
        let tasks = self.features.tasks.get(later..).unwrap_or_default();
        let Some((task, params)) = self.random.pick(tasks).filter(|_| depth < 2) else {
            return self.assign();
        };
        let args: Vec<String> = (0..*params).map(|_| self.simple()).collect();
        // The handle is drawn last.
        let dest = match self.random.pick(&self.handles).cloned() {
            _ if self.random.one_in(4) => String::new(),
            Some(handle) if self.random.one_in(4) => format!("let {handle} = "),
            _ => {
                self.handles.push(format!("h{}", self.handles.len()));
                format!("let h{} = ", self.handles.len() - 1)
            }
        };
        format!("{dest}spawn {task}({});", args.join(", "))
    }

    fn join(&mut self) -> String {
        if let (Some(handle), true) = (self.random.pick(&self.handles), self.random.one_in(2)) {
            return format!("join({handle});");
        }
        let family = self.features.processes.iter().enumerate().find(|(_, (_, family))| *family);
        if let Some((_, (name, _))) = family.filter(|&(k, _)| self.body != Body::Process(k))
            && self.random.one_in(2)
        {
            let index = self.fresh();
            return format!("for {index} in 0..2 {{ join({name}[{index}]); }}");
        }
        match self.other() {
            Some(process) => format!("join({process});"),
            None => self.assign(),
        }
    }

    /// Another process; of a family, any member.
    fn other(&mut self) -> Option<String> {
        let others = self.features.processes.iter().enumerate();
        let others: Vec<&(String, bool)> = others
            .filter(|(k, (_, family))| *family || self.body != Body::Process(*k))
            .map(|(_, process)| process)
            .collect();
        let (name, family) = self.random.pick(&others)?;
        if !family {
            return Some(name.clone());
        }
        let index = if self.random.below(4) == 0 { self.local() } else { self.bit() };
        Some(format!("{name}[{index}]"))
    }

    fn choose(&mut self) -> String {
        let count = match self.random.below(8) {
            0 => "3".to_owned(),
            1 => self.local(),
            _ => "2".to_owned(),
        };
        format!("let {} = choose({count});", self.fresh())
    }

    fn send(&mut self) -> String {
        // The message is drawn first.
        let first = if self.random.one_in(5) { self.simple() } else { self.constant().to_string() };
        let message = match self.random.one_in(4) {
            true => format!("({first}, {})", self.simple()),
            false => first,
        };
        let to = match self.random.pick(&self.handles).cloned() {
            Some(handle) if self.random.one_in(2) => Some(handle),
            _ => self.other(),
        };
        to.map_or_else(|| self.assign(), |to| format!("send({to}, {message});"))
    }

    fn receive(&mut self, depth: usize) -> String {
        let mut arms = format!("{} => {{ {} }}", self.pattern(), self.small_block(depth + 1));
        if self.random.one_in(3) {
            arms += &format!(" {} => {{ {} }}", self.pattern(), self.small_block(depth));
        }
        if self.random.one_in(3) {
            arms += &format!(" timeout => {{ {} }}", self.small_block(depth));
        }
        format!("receive {{ {arms} }}")
    }

    fn small_block(&mut self, depth: usize) -> String {
        if depth > 1 || self.random.one_in(2) { String::new() } else { self.block(1, depth + 1) }
    }

    fn pattern(&mut self) -> String {
        let first = match self.random.below(8) {
            0 => return "_".to_owned(),
            1 | 2 => format!("?{}", self.fresh()),
            3 => self.local(),
            4 => "_".to_owned(),
            _ => self.constant().to_string(),
        };
        match self.random.below(8) {
            0 => format!("({first}, ?{})", self.fresh()),
            1 => format!("({first}, _)"),
            _ => format!("({first})"),
        }
    }

    fn conditional(&mut self, depth: usize) -> String {
        let mut arms = Vec::new();
        for _ in 0..1 + usize::from(self.random.one_in(5)) {
            let condition = match self.locals.is_empty() || self.random.one_in(3) {
                true => self.condition(),
                false => format!("{} == {}", self.local(), self.constant()),
            };
            arms.push(format!("if {condition} {{ {} }}", self.block(1, depth + 1)));
        }
        if self.random.one_in(3) {
            arms.push(format!("{{ {} }}", self.block(1, depth + 1)));
        }
        arms.join(" else ")
    }

    fn repeat(&mut self, depth: usize) -> String {
        let index = self.fresh();
        let range = match self.random.below(8) {
            0 => "0..=2".to_owned(),
            1 => format!("0..{}", self.simple()),
            _ => "0..2".to_owned(),
        };
        format!("for {index} in {range} {{ {} }}", self.loop_body(depth))
    }

    fn loop_body(&mut self, depth: usize) -> String {
        self.loops += 1;
        let statements = 1 + usize::from(self.random.one_in(3));
        let body = self.block(statements, depth + 1);
        self.loops -= 1;
        body
    }

    /// A loop that ends soon, or at least as soon as the others let it.
    fn while_loop(&mut self, depth: usize) -> String {
        let (before, condition, last) = match self.random.below(3) {
            0 => {
                let name = self.fresh();
                let also =
                    if self.random.one_in(2) { format!(" && {}", self.comparison()) } else { String::new() };
                (format!("let {name} = 0;"), format!("{name} < 2{also}"), format!("{name} += 1;"))
            }
            1 => {
                let var = self.var();
                (String::new(), format!("{var} < {}", self.constant()), format!("{var} += 1;"))
            }
            _ => (String::new(), self.condition(), "break;".to_owned()),
        };
        format!("{before} while {condition} {{ {} {last} }}", self.loop_body(depth))
    }

    /// `break`, `continue`, or one of them under a condition.
    fn leave(&mut self) -> String {
        let leave = if self.random.one_in(3) { "continue;" } else { "break;" };
        match self.random.one_in(3) {
            true => leave.to_owned(),
            false => format!("if {} {{ {leave} }}", self.condition()),
        }
    }

    /// A statement that fails, always or perhaps.
    fn failing(&mut self) -> String {
        let f = self.features;
        match self.random.below(4) {
            0 => match self.random.pick(&f.locks) {
                Some(lock) => format!("unlock({lock});"),
                None => self.assign(),
            },
            1 => match self.random.pick(&f.arrays) {
                Some(array) => format!("{array}[{} + 1] = {};", self.var(), self.constant()),
                None => self.assign(),
            },
            _ => {
                let op = if self.random.one_in(2) { "/" } else { "%" };
                let value = format!("{} {op} {}", self.simple(), self.target());
                match self.random.one_in(2) {
                    true => format!("let {} = {value};", self.fresh()),
                    false => format!("{} = {value};", self.target()),
                }
            }
        }
    }
}

/// A number: mostly one that others write too.
pub(crate) fn constant(random: &mut Random) -> i64 {
    if random.one_in(16) { -1 } else { random.below(3) as i64 }
}

/// A program from its text.
pub(crate) fn program(text: String) -> Ast {
    let source = Source { name: String::new(), text };
    parse(&source).unwrap_or_else(|errors| panic!("{}: {}", errors[0].message, source.text))
}

/// A declaration from its text.
pub(crate) fn declaration(text: &str) -> Item {
    program(format!("{text} process p {{}}")).items.swap_remove(0)
}

/// Statements from their text.
pub(crate) fn statements(text: &str) -> Vec<Stmt> {
    match program(format!("process p {{ {text} }}")).items.pop() {
        Some(Item::Process(process)) => process.body.statements,
        _ => Vec::new(),
    }
}

pub(crate) fn stmt(kind: StmtKind) -> Stmt {
    Stmt { kind, span: Span::default() }
}
