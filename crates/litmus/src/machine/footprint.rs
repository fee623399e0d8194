//! Static footprints: all that a step could touch from where its process is, whatever shared memory holds.
//!
//! The step is run ahead with shared values unknown: both sides of a condition that is not known, every cell
//! of an array whose index is not known, a loop of unknown length once with everything that it assigns
//! unknown. What is touched on one way only is touched perhaps: a write that may not happen is no blind
//! write, so it counts as an update. Overflows and divisions by zero are not followed: what would come after
//! them is in the footprint.

use mazurka_program::{Access, AccessKind, Label, Location};

use super::Machine;
use super::eval::{cell_of, then};
use super::process::Halt;
use super::step::rounds;
use crate::arithmetic;
use crate::code::{Image, Instr, Lvalue, Mention, NONE, Node, NodeId, Op, Peer, SendCode, Tree};

/// Beyond so many accesses cells of arrays are no longer told apart.
const MANY: usize = 256;
/// How many statements are run ahead.
const MAX_AHEAD: u32 = 10_000_000;

/// Buffers that steps use again and again.
#[derive(Clone, Debug, Default)]
pub(super) struct Scratch {
    pub woken: Vec<u32>,
    pub args: Vec<i64>,
    ahead: Vec<AbstractState>,
}

/// How far a step was run ahead: its locals as far as they are known, and what it touched on the way.
#[derive(Clone, Debug, Default)]
struct AbstractState {
    locals: Vec<Option<i64>>,
    accesses: Vec<Access>,
    /// How many messages were sent.
    sent: u32,
}

/// The ways in which a block may end, each with all ways there in one.
#[derive(Default)]
struct BlockEnds {
    on: Option<AbstractState>,
    broken: Option<AbstractState>,
    continued: Option<AbstractState>,
    /// The process failed or was stopped.
    halted: Option<AbstractState>,
}

/// What follows an operation.
enum AfterOp {
    On,
    Halted,
    Either,
}

/// The expression fails, whatever shared memory holds.
struct Fails;

struct AbstractInterpreter<'a> {
    image: &'a Image,
    machine: &'a mut Machine,
    left: u32,
}

/// Whether a line's footprint is found by running it ahead. The others' are known as they are.
pub(super) fn covers(instr: &Instr) -> bool {
    matches!(
        instr,
        Instr::Op(_) | Instr::Branch { .. } | Instr::ForStart(_) | Instr::Spawn(_) | Instr::Atomic(_)
    )
}

impl Machine {
    /// Adds to the label of a step that failed midway what it would have touched but for that, so that
    /// failures of arithmetic don't make labels vary. A write that did not happen is no blind write.
    pub(super) fn complete(&mut self, image: &Image, pc: u32, label: &mut Label) {
        if self.foresee {
            return self.foresee(image, pc, label);
        }
        let touched = label.accesses.len();
        let mut whole = Label::default();
        self.foresee(image, pc, &mut whole);
        for access in whole.accesses {
            let known =
                label.accesses[..touched].iter_mut().find(|k| k.first == access.first && k.len == access.len);
            match (known, access.kind) {
                (Some(known), kind) if kind.is_read() || !known.kind.is_read() => {}
                (Some(known), _) => known.kind = AccessKind::Update,
                (None, AccessKind::Write) => {
                    label.accesses.push(Access { kind: AccessKind::Update, ..access })
                }
                (None, _) => label.accesses.push(access),
            }
        }
    }

    /// Makes the accesses of a label those of the static footprint of the step that was marked last.
    pub(super) fn foresee(&mut self, image: &Image, pc: u32, label: &mut Label) {
        let mut at = self.scratch.ahead.pop().unwrap_or_default();
        at.accesses.clear();
        at.locals.clear();
        at.sent = 0;
        let step = self.marks.len() - 1;
        at.locals.extend(self.saved_locals(step).iter().copied().map(Some));
        let mut foresight = AbstractInterpreter { image, machine: self, left: MAX_AHEAD };
        let mut at = foresight.line(at, &image.lines[pc as usize].instr);
        let overran = foresight.left == 0;
        at.forget_blindness();
        label.accesses.clear();
        label.accesses.extend_from_slice(&at.accesses);
        self.scratch.ahead.push(at);
        if overran {
            let process = self.marks[step].process;
            self.halt(image, process, Halt::Overrun);
        }
    }
}

impl AbstractState {
    fn touch(&mut self, first: u32, len: u32, kind: AccessKind) {
        let known = self.accesses.iter_mut().find(|known| known.first.0 == first && known.len == len);
        match known {
            Some(known) => known.kind = then(known.kind, kind),
            None if len > 0 => self.accesses.push(Access { first: Location(first), len, kind }),
            None => {}
        }
    }

    /// A write of a location that another access covers in part is not blind for all that one can tell.
    fn forget_blindness(&mut self) {
        for i in 0..self.accesses.len() {
            let access = self.accesses[i];
            let overlaps = |(j, other): (usize, &Access)| i != j && access.overlaps(*other);
            if access.kind == AccessKind::Write && self.accesses.iter().enumerate().any(overlaps) {
                self.accesses[i].kind = AccessKind::Update;
            }
        }
    }

    /// Joins another way to the same place.
    fn join(&mut self, other: &AbstractState) {
        for (mine, theirs) in self.locals.iter_mut().zip(&other.locals) {
            if mine != theirs {
                *mine = None;
            }
        }
        let same = |a: &Access, b: &Access| a.first == b.first && a.len == b.len;
        for (i, mine) in self.accesses.iter_mut().enumerate() {
            // Both ways began with the same accesses, in the same places.
            let theirs = match other.accesses.get(i) {
                Some(theirs) if same(mine, theirs) => Some(theirs),
                _ => other.accesses.iter().find(|theirs| same(mine, theirs)),
            };
            mine.kind = either(mine.kind, theirs.map(|theirs| theirs.kind));
        }
        for theirs in &other.accesses {
            if !self.accesses.iter().any(|mine| same(mine, theirs)) {
                self.accesses.push(Access { kind: either(theirs.kind, None), ..*theirs });
            }
        }
    }
}

/// How a location is touched if it is touched in one of two ways, of which one may be not at all.
fn either(a: AccessKind, b: Option<AccessKind>) -> AccessKind {
    match (a, b) {
        (a, Some(b)) if a == b => a,
        (AccessKind::Read, None) => AccessKind::Read,
        (AccessKind::Send, None) => AccessKind::Send,
        _ => AccessKind::Update,
    }
}

impl AbstractInterpreter<'_> {
    fn fork(&mut self, at: &AbstractState) -> AbstractState {
        let mut copy = self.machine.scratch.ahead.pop().unwrap_or_default();
        copy.locals.clone_from(&at.locals);
        copy.accesses.clone_from(&at.accesses);
        copy.sent = at.sent;
        copy
    }

    fn merge(&mut self, into: &mut Option<AbstractState>, from: Option<AbstractState>) {
        match (into.as_mut(), from) {
            (Some(into), Some(from)) => {
                into.join(&from);
                self.machine.scratch.ahead.push(from);
            }
            (None, from) => *into = from,
            (Some(_), None) => {}
        }
    }

    /// Runs a whole line ahead, all ways to its end in one.
    fn line(&mut self, mut at: AbstractState, instr: &Instr) -> AbstractState {
        let image = self.image;
        match *instr {
            Instr::Op(op) => {
                self.op(&mut at, op);
            }
            Instr::Branch { condition, .. } => {
                let _ = self.value(&mut at, condition);
            }
            Instr::ForStart(code) => {
                let code = &image.fors[code as usize];
                if self.value(&mut at, code.from).is_ok() {
                    let _ = self.value(&mut at, code.to);
                }
            }
            Instr::Spawn(code) => {
                for &arg in &image.spawns[code as usize].args {
                    if self.value(&mut at, arg).is_err() {
                        break;
                    }
                }
            }
            Instr::Atomic(code) => {
                let code = &image.atomics[code as usize];
                if code.guard != NONE {
                    self.guard(&mut at, code.guard);
                }
                let mut ends = self.block(at, &code.body);
                let mut all = ends.on.take();
                self.merge(&mut all, ends.broken);
                self.merge(&mut all, ends.continued);
                self.merge(&mut all, ends.halted);
                return all.unwrap_or_default();
            }
            _ => {}
        }
        at
    }

    /// What an await reads, as in [`Machine::pass`].
    fn guard(&mut self, at: &mut AbstractState, guard: u32) {
        let image = self.image;
        let code = &image.guards[guard as usize];
        for mention in &code.mentions {
            match *mention {
                Mention::Cell(cell) => at.touch(cell, 1, AccessKind::Read),
                Mention::Whole(var) => self.touch_all(at, var, AccessKind::Read),
                Mention::Indexed(Lvalue { var, index, .. }) => {
                    if let Ok(Some(index)) = self.value(at, index)
                        && let Some(cell) = cell_of(image, var, index)
                    {
                        at.touch(cell, 1, AccessKind::Read);
                    }
                }
            }
        }
        if code.group != NONE {
            at.touch(code.group, 1, AccessKind::Read);
        }
    }

    fn touch_all(&self, at: &mut AbstractState, var: u32, kind: AccessKind) {
        let info = &self.image.vars[var as usize];
        at.touch(info.base, info.len, kind);
    }

    /// Touches the cell of an array, or any of them if the index is not known.
    fn touch_cell(
        &self,
        at: &mut AbstractState,
        var: u32,
        index: Option<i64>,
        kind: AccessKind,
    ) -> Result<(), Fails> {
        let perhaps = if kind == AccessKind::Write { AccessKind::Update } else { kind };
        match index {
            None => self.touch_all(at, var, perhaps),
            Some(index) => {
                let cell = cell_of(self.image, var, index).ok_or(Fails)?;
                if at.accesses.len() < MANY {
                    at.touch(cell, 1, kind);
                } else {
                    self.touch_all(at, var, perhaps);
                }
            }
        }
        Ok(())
    }

    /// The value of an expression, if it does not depend on shared memory.
    fn value(&mut self, at: &mut AbstractState, id: NodeId) -> Result<Option<i64>, Fails> {
        Ok(match self.image.nodes[id as usize] {
            Node::Const(value) => Some(value),
            Node::Local(slot) => at.locals[slot as usize],
            Node::Var(cell) => {
                at.touch(cell, 1, AccessKind::Read);
                None
            }
            Node::Cell { var, index } => {
                let index = self.value(at, index)?;
                self.touch_cell(at, var, index, AccessKind::Read)?;
                None
            }
            Node::Neg(a) => match self.value(at, a)? {
                Some(value) => Some(value.checked_neg().ok_or(Fails)?),
                None => None,
            },
            Node::Not(a) => self.value(at, a)?.map(|value| i64::from(value == 0)),
            Node::And(a, b) => self.connective(at, a, b, 0)?,
            Node::Or(a, b) => self.connective(at, a, b, 1)?,
            Node::Binary(op, a, b) => match (self.value(at, a)?, self.value(at, b)?) {
                (Some(a), Some(b)) => Some(arithmetic::binary(op, a, b).ok_or(Fails)?),
                _ => None,
            },
        })
    }

    /// `&&` or `||`, which is decided by its left side if that has the value `decisive`.
    fn connective(
        &mut self,
        at: &mut AbstractState,
        a: NodeId,
        b: NodeId,
        decisive: i64,
    ) -> Result<Option<i64>, Fails> {
        let truth = |value: i64| i64::from(value != 0);
        match self.value(at, a)?.map(truth) {
            Some(value) if value == decisive => Ok(Some(decisive)),
            Some(_) => Ok(self.value(at, b)?.map(truth)),
            // The right side may be left out, so its failure is not certain.
            None => Ok(match self.value(at, b) {
                Ok(Some(value)) if truth(value) == decisive => Some(decisive),
                _ => None,
            }),
        }
    }

    fn op(&mut self, at: &mut AbstractState, op: Op) -> AfterOp {
        self.try_op(at, op).unwrap_or(AfterOp::Halted)
    }

    fn try_op(&mut self, at: &mut AbstractState, op: Op) -> Result<AfterOp, Fails> {
        let image = self.image;
        match op {
            Op::Local { slot, value } => at.locals[slot as usize] = self.value(at, value)?,
            Op::Store { to, value } => self.write(at, to, &[value], AccessKind::Write)?,
            Op::Change { dest, to, by: value, .. } | Op::Swap { dest, to, value } => {
                self.write(at, to, &[value], AccessKind::Update)?;
                forget(at, dest);
            }
            Op::Cas { dest, to, old, new } => {
                self.write(at, to, &[old, new], AccessKind::Update)?;
                forget(at, dest);
            }
            Op::Send(code) => self.send(at, &image.sends[code as usize])?,
            Op::Assert(index) => {
                self.value(at, image.conditions[index as usize].node)?;
            }
            Op::Assume(condition) => match self.value(at, condition)? {
                Some(0) => return Ok(AfterOp::Halted),
                Some(_) => {}
                None => return Ok(AfterOp::Either),
            },
            Op::Skip => {}
        }
        Ok(AfterOp::On)
    }

    fn write(
        &mut self,
        at: &mut AbstractState,
        to: Lvalue,
        values: &[NodeId],
        kind: AccessKind,
    ) -> Result<(), Fails> {
        let image = self.image;
        let index = match to.index {
            NONE => Some(0),
            index => self.value(at, index)?,
        };
        // An index out of range fails before anything else is read.
        if index.is_some_and(|index| cell_of(image, to.var, index).is_none()) {
            return Err(Fails);
        }
        for &value in values {
            self.value(at, value)?;
        }
        self.touch_cell(at, to.var, index, kind)?;
        for &group in &image.vars[to.var as usize].groups {
            at.touch(group, 1, AccessKind::Update);
        }
        Ok(())
    }

    fn send(&mut self, at: &mut AbstractState, code: &SendCode) -> Result<(), Fails> {
        let (first, len) = match code.to {
            Peer::Root(process) => (process, 1),
            Peer::Handle(slot) => {
                let process = at.locals[slot as usize].and_then(|process| u32::try_from(process).ok());
                (process.ok_or(Fails)?, 1)
            }
            Peer::Member { decl, index } => {
                let family = &self.image.families[decl as usize];
                match self.value(at, index)? {
                    None => (family.first, family.len),
                    Some(index) => {
                        let at = i128::from(index) - i128::from(family.from);
                        let at = u32::try_from(at).ok().filter(|at| *at < family.len);
                        (family.first + at.ok_or(Fails)?, 1)
                    }
                }
            }
        };
        for &part in &code.message {
            self.value(at, part)?;
        }
        for process in first..first + len {
            let mailbox = self.machine.mailbox_location(process);
            at.touch(mailbox, 1, AccessKind::Send);
        }
        // Static footprints do without the locations of messages; the label of a step that failed does not.
        if let (false, Some(mark)) = (self.machine.foresee, self.machine.marks.last()) {
            let (sender, ordinal) = (mark.process, mark.core.sent + at.sent);
            let message = self.machine.message_location(sender, ordinal);
            at.touch(message, 1, AccessKind::Write);
        }
        at.sent += 1;
        Ok(())
    }

    fn block(&mut self, at: AbstractState, body: &[Tree]) -> BlockEnds {
        let mut ends = BlockEnds::default();
        let mut current = Some(at);
        for tree in body {
            let Some(mut at) = current.take() else { break };
            self.left = self.left.saturating_sub(1);
            if self.left == 0 {
                self.merge(&mut ends.halted, Some(at));
                break;
            }
            match tree {
                Tree::Op(op) => match self.op(&mut at, *op) {
                    AfterOp::On => current = Some(at),
                    AfterOp::Halted => self.merge(&mut ends.halted, Some(at)),
                    AfterOp::Either => {
                        let halted = self.fork(&at);
                        self.merge(&mut ends.halted, Some(halted));
                        current = Some(at);
                    }
                },
                Tree::If { arms, otherwise } => current = self.branches(at, arms, otherwise, &mut ends),
                Tree::For { slot, from, to, inclusive, body } => {
                    current = self.for_loop(at, (*slot, *from, *to, *inclusive), body, &mut ends);
                }
                Tree::Break => self.merge(&mut ends.broken, Some(at)),
                Tree::Continue => self.merge(&mut ends.continued, Some(at)),
            }
        }
        ends.on = current;
        ends
    }

    /// Adds the ends of an inner block to those of the one around it, but for the way on.
    fn absorb(&mut self, ends: &mut BlockEnds, inner: BlockEnds) -> Option<AbstractState> {
        self.merge(&mut ends.broken, inner.broken);
        self.merge(&mut ends.continued, inner.continued);
        self.merge(&mut ends.halted, inner.halted);
        inner.on
    }

    fn branches(
        &mut self,
        mut at: AbstractState,
        arms: &[(NodeId, Vec<Tree>)],
        otherwise: &[Tree],
        ends: &mut BlockEnds,
    ) -> Option<AbstractState> {
        let mut after = None;
        for (condition, block) in arms {
            let known = match self.value(&mut at, *condition) {
                Ok(known) => known,
                Err(Fails) => {
                    self.merge(&mut ends.halted, Some(at));
                    return after;
                }
            };
            if known == Some(0) {
                continue;
            }
            let taken = if known.is_none() { self.fork(&at) } else { std::mem::take(&mut at) };
            let inner = self.block(taken, block);
            let on = self.absorb(ends, inner);
            self.merge(&mut after, on);
            if known.is_some() {
                return after;
            }
        }
        let inner = self.block(at, otherwise);
        let on = self.absorb(ends, inner);
        self.merge(&mut after, on);
        after
    }

    fn for_loop(
        &mut self,
        mut at: AbstractState,
        (slot, from, to, inclusive): (u32, NodeId, NodeId, bool),
        body: &[Tree],
        ends: &mut BlockEnds,
    ) -> Option<AbstractState> {
        let bounds = self.value(&mut at, from).and_then(|from| Ok((from, self.value(&mut at, to)?)));
        let (from, rounds) = match bounds {
            Err(Fails) => {
                self.merge(&mut ends.halted, Some(at));
                return None;
            }
            Ok((Some(from), Some(to))) => (Some(from), rounds(from, to, inclusive)),
            Ok(_) => {
                // Nothing is known of the rounds before: what they assign is unknown at the start of one.
                Tree::each(body, &mut |tree| match tree {
                    Tree::Op(op) => forget(&mut at, op.dest()),
                    Tree::For { slot, .. } => forget(&mut at, *slot),
                    _ => {}
                });
                (None, 1)
            }
        };
        let mut after = from.is_none().then(|| self.fork(&at));
        let mut current = Some(at);
        for round in 0..rounds {
            self.left = self.left.saturating_sub(1);
            let Some(mut at) = current.take().filter(|_| self.left > 0) else { break };
            at.locals[slot as usize] = from.map(|from| from.wrapping_add(round));
            let mut inner = self.block(at, body);
            current = inner.on.take();
            self.merge(&mut current, inner.continued);
            self.merge(&mut after, inner.broken);
            self.merge(&mut ends.halted, inner.halted);
        }
        self.merge(&mut after, current);
        if let (None, Some(after)) = (from, &mut after) {
            forget(after, slot);
        }
        after
    }
}

fn forget(at: &mut AbstractState, slot: u32) {
    if slot != NONE {
        at.locals[slot as usize] = None;
    }
}
