//! One step: what each line does when its process is scheduled.

use mazurka_program::{AccessKind, Failure, FailureKind, Label, ProcessId, Stop};

use super::Machine;
use super::eval::{Foreseen, Labeller, Now, Record, eval, place};
use super::footprint;
use super::process::{Block, Halt, Status};
use crate::arithmetic;
use crate::ast::BinaryOp;
use crate::code::{ForCode, Image, Instr, Lvalue, NONE, NodeId, Op, Tree};

/// The most choices that `choose` offers.
const MAX_CHOICES: i64 = 1000;
/// How many statements an atomic block may run.
const MAX_ATOMIC: u32 = 10_000_000;

/// How a statement of an atomic block ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flow {
    On,
    Break,
    Continue,
}

impl Machine {
    pub(super) fn step(&mut self, image: &Image, p: u32, choice: u32, label: &mut Label) -> Result<(), Stop> {
        label.clear();
        self.check_step(image, p, choice)?;
        self.mark(p);
        label.guard = self.label_guard(p);
        let core = &mut self.procs[p as usize].core;
        let pc = core.pc;
        if core.block != Block::Free {
            core.block = Block::Free;
            core.guard = NONE;
            self.guarded.remove(ProcessId(p));
        }
        let line = &image.lines[pc as usize];
        let foreseen = self.foresee && line.varies && footprint::covers(&line.instr);
        let result = if foreseen {
            self.foresee(image, pc, label);
            self.execute(image, p, choice, &line.instr, &mut Foreseen(label))
        } else {
            label.varies = line.varies && !self.foresee;
            let mut labeller = Labeller { label, seen: std::mem::take(&mut self.seen), ranges: false };
            let result = self.execute(image, p, choice, &line.instr, &mut labeller);
            self.seen = labeller.seen;
            result
        };
        let waits = match line.instr {
            Instr::Join(_) | Instr::Wake(_) => true,
            Instr::Receive(receive) => image.receives[receive as usize].timeout == NONE,
            _ => false,
        };
        if waits && label.guard.is_none() {
            // Such a step touches nothing but what it waited for.
            label.waited_for.extend(label.accesses.first().map(|access| access.first));
        }
        if let Err(halt) = result {
            if !line.varies && footprint::covers(&line.instr) && !matches!(halt, Halt::Assumed) {
                self.complete(image, pc, label);
            }
            self.halt(image, p, halt);
        }
        self.advance(image, p);
        self.settle(image);
        match self.overran.take() {
            None => Ok(()),
            Some(process) => Err(self.overrun(image, process)),
        }
    }

    /// Refuses steps that can't be taken: a schedule may come from anywhere.
    #[inline]
    fn check_step(&self, image: &Image, p: u32, choice: u32) -> Result<(), Stop> {
        let refuse = |message: String| {
            let process = Some(ProcessId(p));
            Err(Stop::Broken(Failure { kind: FailureKind::Nondeterminism, message, place: None, process }))
        };
        if !self.enabled.contains(ProcessId(p)) {
            return refuse(match self.procs.get(p as usize) {
                None => format!("process number {p} does not exist"),
                Some(_) => format!("{} can't take a step here", self.process_name(image, p)),
            });
        }
        if self.procs[p as usize].core.status == Status::Overrun {
            return Err(self.overrun(image, p));
        }
        if choice > 0 && choice >= self.alternatives(image, p) {
            return refuse(format!("the step of {} has no outcome {choice}", self.process_name(image, p)));
        }
        Ok(())
    }

    #[inline]
    pub(super) fn value<R: Record>(
        &self,
        image: &Image,
        p: u32,
        id: NodeId,
        record: &mut R,
    ) -> Result<i64, Halt> {
        let locals = &self.procs[p as usize].locals;
        eval(image, locals, id, &mut Now(&self.memory, record)).map_err(Halt::Arithmetic)
    }

    fn cell<R: Record>(&self, image: &Image, p: u32, to: Lvalue, record: &mut R) -> Result<u32, Halt> {
        let locals = &self.procs[p as usize].locals;
        place(image, locals, to, &mut Now(&self.memory, record)).map_err(Halt::Arithmetic)
    }

    #[inline]
    pub(super) fn set_local(&mut self, p: u32, slot: u32, value: i64) {
        if slot != NONE {
            self.procs[p as usize].locals[slot as usize] = value;
        }
    }

    /// Does what a line says and moves its process on.
    fn execute<R: Record>(
        &mut self,
        image: &Image,
        p: u32,
        choice: u32,
        instr: &Instr,
        record: &mut R,
    ) -> Result<(), Halt> {
        let mut next = self.procs[p as usize].core.pc + 1;
        match *instr {
            Instr::Op(op) => self.op(image, p, op, record)?,
            Instr::Branch { condition, otherwise } => {
                if self.value(image, p, condition, record)? == 0 {
                    next = otherwise;
                }
            }
            Instr::ForStart(code) => self.for_start(image, p, &image.fors[code as usize], record)?,
            Instr::Lock(lock) => self.lock(image, p, lock, record)?,
            Instr::Unlock(lock) => self.unlock(image, p, lock, record)?,
            Instr::TryLock { dest, lock } => self.try_lock(image, p, dest, lock, record)?,
            Instr::WaitStart { condvar, lock } => self.wait_start(image, p, condvar, lock, record)?,
            Instr::Wake(condvar) => self.wake(image, p, condvar, record)?,
            Instr::NotifyOne(condvar) => self.notify(image, p, condvar, Some(choice), record)?,
            Instr::NotifyAll(condvar) => self.notify(image, p, condvar, None, record)?,
            Instr::Await(guard) => self.pass(image, p, guard, record)?,
            Instr::Atomic(index) => next = self.atomic(image, p, index, record)?.unwrap_or(next),
            Instr::Spawn(code) => self.spawn(image, p, &image.spawns[code as usize], record)?,
            Instr::Join(peer) => self.join(image, p, peer, record)?,
            Instr::Receive(code) => next = self.receive(image, p, code, record)?,
            Instr::Choose { dest, count } => {
                self.choices(image, p, count)?;
                self.set_local(p, dest, i64::from(choice));
            }
            Instr::Exit => {
                self.exit(p, record);
                return Ok(());
            }
            // These are no steps; `advance` runs them.
            Instr::Jump(_) | Instr::ForNext { .. } | Instr::ForEnd(_) | Instr::Finish => {}
        }
        self.procs[p as usize].core.pc = next;
        Ok(())
    }

    /// How many outcomes a `choose` has.
    pub(super) fn choices(&self, image: &Image, p: u32, count: NodeId) -> Result<u32, Halt> {
        let count = self.value(image, p, count, &mut super::eval::Silent)?;
        if (1..=MAX_CHOICES).contains(&count) { Ok(count as u32) } else { Err(Halt::Choices(count)) }
    }

    pub(super) fn for_start<R: Record>(
        &mut self,
        image: &Image,
        p: u32,
        code: &ForCode,
        record: &mut R,
    ) -> Result<(), Halt> {
        let from = self.value(image, p, code.from, record)?;
        let to = self.value(image, p, code.to, record)?;
        self.set_local(p, code.next, from);
        self.set_local(p, code.left, rounds(from, to, code.inclusive));
        Ok(())
    }

    /// A simple operation.
    #[inline]
    pub(super) fn op<R: Record>(
        &mut self,
        image: &Image,
        p: u32,
        op: Op,
        record: &mut R,
    ) -> Result<(), Halt> {
        match op {
            Op::Local { slot, value } => {
                let value = self.value(image, p, value, record)?;
                self.set_local(p, slot, value);
            }
            Op::Store { to, value } => {
                let cell = self.cell(image, p, to, record)?;
                let value = self.value(image, p, value, record)?;
                self.write(image, to, cell, value, AccessKind::Write, record);
            }
            Op::Add { to, value } => {
                self.change(image, p, to, BinaryOp::Add, value, record)?;
            }
            Op::Sub { to, value } => {
                self.change(image, p, to, BinaryOp::Sub, value, record)?;
            }
            Op::FetchAdd { dest, to, value } => {
                let old = self.change(image, p, to, BinaryOp::Add, value, record)?;
                self.set_local(p, dest, old);
            }
            Op::Swap { dest, to, value } => {
                let cell = self.cell(image, p, to, record)?;
                let value = self.value(image, p, value, record)?;
                let old = self.memory.get(cell);
                self.write(image, to, cell, value, AccessKind::Update, record);
                self.set_local(p, dest, old);
            }
            Op::Cas { dest, to, old, new } => {
                let cell = self.cell(image, p, to, record)?;
                let old = self.value(image, p, old, record)?;
                let new = self.value(image, p, new, record)?;
                let equal = self.memory.get(cell) == old;
                if equal {
                    self.write(image, to, cell, new, AccessKind::Update, record);
                } else {
                    record.touch(cell, AccessKind::Read);
                }
                self.set_local(p, dest, i64::from(equal));
            }
            Op::Send(code) => self.send(image, p, &image.sends[code as usize], record)?,
            Op::Assert(index) => {
                let condition = &image.conditions[index as usize];
                if self.value(image, p, condition.node, record)? == 0 {
                    self.assertion_failed(image, p, condition);
                }
            }
            Op::Assume(condition) => {
                if self.value(image, p, condition, record)? == 0 {
                    return Err(Halt::Assumed);
                }
            }
            Op::Skip => {}
        }
        Ok(())
    }

    /// Adds to a cell or takes from it; gives what it held.
    fn change<R: Record>(
        &mut self,
        image: &Image,
        p: u32,
        to: Lvalue,
        op: BinaryOp,
        by: NodeId,
        record: &mut R,
    ) -> Result<i64, Halt> {
        let cell = self.cell(image, p, to, record)?;
        let value = self.value(image, p, by, record)?;
        let old = self.memory.get(cell);
        match arithmetic::binary(op, old, value) {
            Some(new) => {
                self.write(image, to, cell, new, AccessKind::Update, record);
                Ok(old)
            }
            None => {
                record.touch(cell, AccessKind::Read);
                Err(Halt::Change(cell, op, value))
            }
        }
    }

    #[inline]
    fn write<R: Record>(
        &mut self,
        image: &Image,
        to: Lvalue,
        cell: u32,
        value: i64,
        kind: AccessKind,
        record: &mut R,
    ) {
        record.touch(cell, kind);
        for &group in &image.vars[to.var as usize].groups {
            record.touch(group, AccessKind::Update);
        }
        let now = self.now();
        self.memory.set(cell, value, now);
    }

    /// An atomic block; gives where to go on if that is not after it.
    fn atomic<R: Record>(
        &mut self,
        image: &Image,
        p: u32,
        index: u32,
        record: &mut R,
    ) -> Result<Option<u32>, Halt> {
        let code = &image.atomics[index as usize];
        if code.guard != NONE {
            self.pass(image, p, code.guard, record)?;
        }
        let mut left = MAX_ATOMIC;
        Ok(match self.trees(image, p, &code.body, &mut left, record)? {
            Flow::On => None,
            Flow::Break => Some(code.on_break),
            Flow::Continue => Some(code.on_continue),
        })
    }

    fn trees<R: Record>(
        &mut self,
        image: &Image,
        p: u32,
        body: &[Tree],
        left: &mut u32,
        record: &mut R,
    ) -> Result<Flow, Halt> {
        for tree in body {
            *left = left.checked_sub(1).ok_or(Halt::Overrun)?;
            let flow = match tree {
                Tree::Op(op) => {
                    self.op(image, p, *op, record)?;
                    Flow::On
                }
                Tree::If { arms, otherwise } => self.tree_if(image, p, (arms, otherwise), left, record)?,
                Tree::For { slot, from, to, inclusive, body } => {
                    let from = self.value(image, p, *from, record)?;
                    let to = self.value(image, p, *to, record)?;
                    self.tree_for(image, p, (*slot, from, rounds(from, to, *inclusive), body), left, record)?
                }
                Tree::Break => Flow::Break,
                Tree::Continue => Flow::Continue,
            };
            if flow != Flow::On {
                return Ok(flow);
            }
        }
        Ok(Flow::On)
    }

    fn tree_if<R: Record>(
        &mut self,
        image: &Image,
        p: u32,
        (arms, otherwise): (&[(NodeId, Vec<Tree>)], &[Tree]),
        left: &mut u32,
        record: &mut R,
    ) -> Result<Flow, Halt> {
        for (condition, block) in arms {
            if self.value(image, p, *condition, record)? != 0 {
                return self.trees(image, p, block, left, record);
            }
        }
        self.trees(image, p, otherwise, left, record)
    }

    fn tree_for<R: Record>(
        &mut self,
        image: &Image,
        p: u32,
        (slot, from, rounds, body): (u32, i64, i64, &[Tree]),
        left: &mut u32,
        record: &mut R,
    ) -> Result<Flow, Halt> {
        for round in 0..rounds {
            *left = left.checked_sub(1).ok_or(Halt::Overrun)?;
            self.set_local(p, slot, from.wrapping_add(round));
            if self.trees(image, p, body, left, record)? == Flow::Break {
                break;
            }
        }
        Ok(Flow::On)
    }
}

/// How many numbers a range has; more than can ever be gone through are as good as any.
pub(super) fn rounds(from: i64, to: i64, inclusive: bool) -> i64 {
    let count = i128::from(to) - i128::from(from) + i128::from(inclusive);
    count.clamp(0, i128::from(i64::MAX)) as i64
}
