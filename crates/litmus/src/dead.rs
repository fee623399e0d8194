//! Dead variables: what no code that is left to run can read.
//!
//! For each line, the shared variables and the locals that may be read from there on, by whatever way the
//! control may take and by tasks that may be spawned on it. A read-modify-write reads; an array is read as a
//! whole. Nothing is said of what is overwritten before it is read: that counts as read. States without their
//! dead variables have the same futures.

use crate::code::{ComponentCode, Image, Instr, NONE, Node, NodeId, Object, Op, Peer, Tree};

/// A set of small numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Set(Vec<u64>);

impl Set {
    pub fn insert(&mut self, number: u32) {
        let word = number as usize / 64;
        if word >= self.0.len() {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << (number % 64);
    }

    pub fn contains(&self, number: u32) -> bool {
        self.0.get(number as usize / 64).is_some_and(|word| word >> (number % 64) & 1 == 1)
    }

    /// Adds another set; says whether that is news.
    pub fn add_all(&mut self, other: &Set) -> bool {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        let mut news = false;
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            news |= *theirs & !*mine != 0;
            *mine |= theirs;
        }
        news
    }
}

/// What may be read from a place on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reads {
    /// Shared variables.
    pub vars: Set,
    /// Locals.
    pub locals: Set,
}

/// What may be read from each line on.
#[derive(Clone, Debug)]
pub(crate) struct MayRead {
    pub lines: Vec<Reads>,
}

impl MayRead {
    pub fn find(image: &Image) -> MayRead {
        let finder = Finder { image };
        let mut lines: Vec<Reads> = image.lines.iter().map(|line| finder.line(&line.instr)).collect();
        let mut news = true;
        while news {
            news = false;
            for pc in (0..lines.len()).rev() {
                let instr = &image.lines[pc].instr;
                for next in finder.successors(pc as u32, instr) {
                    let Some(after) = lines.get(next as usize).cloned() else { continue };
                    news |= lines[pc].vars.add_all(&after.vars);
                    news |= lines[pc].locals.add_all(&after.locals);
                }
                if let Instr::Spawn(spawn) = instr {
                    let body = image.spawns[*spawn as usize].body;
                    let entry = image.bodies[body as usize].entry;
                    let within = lines[entry as usize].vars.clone();
                    news |= lines[pc].vars.add_all(&within);
                }
            }
        }
        MayRead { lines }
    }
}

pub(crate) struct Finder<'a> {
    pub image: &'a Image,
}

impl Finder<'_> {
    /// Where the control may go from a line.
    pub fn successors(&self, pc: u32, instr: &Instr) -> Vec<u32> {
        let mut to = match *instr {
            Instr::Jump(to) => vec![to],
            Instr::Branch { otherwise, .. } => vec![pc + 1, otherwise],
            Instr::ForNext { exit, .. } => vec![pc + 1, exit],
            Instr::Atomic(atomic) => {
                let atomic = &self.image.atomics[atomic as usize];
                vec![pc + 1, atomic.on_break, atomic.on_continue]
            }
            Instr::Receive(receive) => {
                let receive = &self.image.receives[receive as usize];
                receive.arms.iter().map(|arm| arm.to).chain([receive.timeout]).collect()
            }
            Instr::Exit | Instr::Finish => Vec::new(),
            _ => vec![pc + 1],
        };
        to.retain(|&pc| pc != NONE);
        to
    }

    /// What a line itself may read.
    fn line(&self, instr: &Instr) -> Reads {
        let (image, mut reads) = (self.image, Reads::default());
        let into = &mut reads;
        match *instr {
            Instr::Op(op) => self.op(op, into),
            Instr::Branch { condition, .. } => self.node(condition, into),
            Instr::ForStart(code) => {
                let code = image.fors[code as usize];
                self.node(code.from, into);
                self.node(code.to, into);
            }
            Instr::ForNext { code, .. } => {
                let code = image.fors[code as usize];
                into.locals.insert(code.next);
                into.locals.insert(code.left);
            }
            Instr::Lock(object)
            | Instr::Unlock(object)
            | Instr::TryLock { lock: object, .. }
            | Instr::Wake(object)
            | Instr::NotifyOne(object)
            | Instr::NotifyAll(object) => self.object(object, into),
            Instr::WaitStart { condvar, lock } => {
                self.object(condvar, into);
                self.object(lock, into);
            }
            Instr::Await(guard) => self.node(image.guards[guard as usize].condition.node, into),
            Instr::Atomic(atomic) => {
                let atomic = &image.atomics[atomic as usize];
                if atomic.guard != NONE {
                    self.node(image.guards[atomic.guard as usize].condition.node, into);
                }
                self.trees(&atomic.body, into);
            }
            Instr::Spawn(spawn) => {
                image.spawns[spawn as usize].args.iter().for_each(|&node| self.node(node, into));
            }
            Instr::Join(peer) => self.peer(peer, into),
            Instr::Receive(receive) => {
                let components = image.receives[receive as usize].arms.iter().flat_map(|arm| &arm.components);
                for component in components.flatten() {
                    if let ComponentCode::Equal(node) = component {
                        self.node(*node, into);
                    }
                }
            }
            Instr::Choose { count, .. } => self.node(count, into),
            Instr::Jump(_) | Instr::ForEnd(_) | Instr::Exit | Instr::Finish => {}
        }
        reads
    }

    fn trees(&self, trees: &[Tree], into: &mut Reads) {
        Tree::each(trees, &mut |tree| match tree {
            Tree::Op(op) => self.op(*op, into),
            Tree::If { arms, .. } => arms.iter().for_each(|(condition, _)| self.node(*condition, into)),
            Tree::For { from, to, .. } => {
                self.node(*from, into);
                self.node(*to, into);
            }
            Tree::Break | Tree::Continue => {}
        });
    }

    fn op(&self, op: Op, into: &mut Reads) {
        if let Some(to) = op.target().filter(|_| !matches!(op, Op::Store { .. })) {
            into.vars.insert(to.var);
        }
        self.image.each_expr(op, &mut |expr| self.node(expr, into));
        if let Op::Send(send) = op {
            self.peer(self.image.sends[send as usize].to, into);
        }
    }

    fn object(&self, object: Object, into: &mut Reads) {
        if object.index != NONE {
            self.node(object.index, into);
        }
    }

    fn peer(&self, peer: Peer, into: &mut Reads) {
        match peer {
            Peer::Handle(slot) => into.locals.insert(slot),
            Peer::Root(_) => {}
            Peer::Member { index, .. } => self.node(index, into),
        }
    }

    fn node(&self, node: NodeId, into: &mut Reads) {
        self.image.each_node(node, &mut |_, part| match part {
            Node::Local(slot) => into.locals.insert(slot),
            Node::Var(cell) => into.vars.insert(self.image.var_of(cell)),
            Node::Cell { var, .. } => into.vars.insert(var),
            _ => {}
        });
    }
}
