//! One step: what each line does when its process is scheduled.

use mazurka_program::{AccessKind, Failure, FailureKind, Label, ProcessId, Stop};

use super::Machine;
use super::eval::{LabelRecorder, Now, Recorder, SpawnRecorder, Unrecorded, eval, place};
use super::footprint;
use super::process::{Halt, Status, Wait};
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
        if core.wait != Wait::Free {
            core.wait = Wait::Free;
            core.guard = NONE;
            self.guarded.remove(ProcessId(p));
        }
        let line = &image.lines[pc as usize];
        let foreseen = self.foresee && line.varies && footprint::covers(&line.instr);
        let result = if foreseen {
            self.foresee(image, pc, label);
            let record = &mut SpawnRecorder(label);
            Executor { machine: self, image, process: p, record }.execute(choice, &line.instr)
        } else {
            label.varies = line.varies && !self.foresee;
            let mut labeller = LabelRecorder { label, seen: std::mem::take(&mut self.seen), ranges: false };
            let mut executor = Executor { machine: self, image, process: p, record: &mut labeller };
            let result = executor.execute(choice, &line.instr);
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
        let core = &mut self.procs[p as usize].core;
        if core.status == Status::Live && image.lines[core.pc as usize].in_while {
            core.loops |= core.pc <= pc;
            label.returns = core.loops;
        }
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
    pub(super) fn value<R: Recorder>(
        &self,
        image: &Image,
        p: u32,
        id: NodeId,
        record: &mut R,
    ) -> Result<i64, Halt> {
        let locals = &self.procs[p as usize].locals;
        eval(image, locals, id, &mut Now(&self.memory, record)).map_err(Halt::Arithmetic)
    }

    #[inline]
    pub(super) fn set_local(&mut self, p: u32, slot: u32, value: i64) {
        if slot != NONE {
            self.procs[p as usize].locals[slot as usize] = value;
        }
    }

    /// How many outcomes a `choose` has.
    pub(super) fn choices(&self, image: &Image, p: u32, count: NodeId) -> Result<u32, Halt> {
        let count = self.value(image, p, count, &mut Unrecorded)?;
        if (1..=MAX_CHOICES).contains(&count) { Ok(count as u32) } else { Err(Halt::Choices(count)) }
    }
}

/// What a line does, done by a process: as a step, or on the way to the next one.
pub(super) struct Executor<'a, R> {
    pub machine: &'a mut Machine,
    pub image: &'a Image,
    pub process: u32,
    /// What becomes of the accesses.
    pub record: &'a mut R,
}

impl<R: Recorder> Executor<'_, R> {
    #[inline]
    pub(super) fn value(&mut self, id: NodeId) -> Result<i64, Halt> {
        self.machine.value(self.image, self.process, id, self.record)
    }

    fn cell(&mut self, to: Lvalue) -> Result<u32, Halt> {
        let machine = &*self.machine;
        let locals = &machine.procs[self.process as usize].locals;
        place(self.image, locals, to, &mut Now(&machine.memory, self.record)).map_err(Halt::Arithmetic)
    }

    #[inline]
    pub(super) fn set_local(&mut self, slot: u32, value: i64) {
        self.machine.set_local(self.process, slot, value);
    }

    /// Writes a cell as part of the step.
    #[inline]
    pub(super) fn set_cell(&mut self, cell: u32, value: i64) {
        let now = self.machine.now();
        self.machine.memory.set(cell, value, now);
    }

    /// Does what a line says and moves the process on.
    fn execute(&mut self, choice: u32, instr: &Instr) -> Result<(), Halt> {
        let image = self.image;
        let mut next = self.machine.procs[self.process as usize].core.pc + 1;
        match *instr {
            Instr::Op(op) => self.op(op)?,
            Instr::Branch { condition, otherwise } => {
                if self.value(condition)? == 0 {
                    next = otherwise;
                }
            }
            Instr::ForStart(code) => self.for_start(&image.fors[code as usize])?,
            Instr::Lock(lock) => self.lock(lock)?,
            Instr::Unlock(lock) => self.unlock(lock)?,
            Instr::TryLock { dest, lock } => self.try_lock(dest, lock)?,
            Instr::WaitStart { condvar, lock } => self.wait_start(condvar, lock)?,
            Instr::Wake(condvar) => self.wake(condvar)?,
            Instr::NotifyOne(condvar) => self.notify(condvar, Some(choice))?,
            Instr::NotifyAll(condvar) => self.notify(condvar, None)?,
            Instr::Await(guard) => self.pass(guard)?,
            Instr::Atomic(index) => next = self.atomic(index)?.unwrap_or(next),
            Instr::Spawn(code) => self.spawn(&image.spawns[code as usize])?,
            Instr::Join(peer) => self.join(peer)?,
            Instr::Receive(code) => next = self.receive(code)?,
            Instr::Choose { dest, count } => {
                self.machine.choices(image, self.process, count)?;
                self.set_local(dest, i64::from(choice));
            }
            Instr::Exit => {
                self.exit();
                return Ok(());
            }
            // These are no steps; `advance` runs them.
            Instr::Jump(_) | Instr::ForNext { .. } | Instr::ForEnd(_) | Instr::Finish => {}
        }
        self.machine.procs[self.process as usize].core.pc = next;
        Ok(())
    }

    pub(super) fn for_start(&mut self, code: &ForCode) -> Result<(), Halt> {
        let (from, to) = (self.value(code.from)?, self.value(code.to)?);
        self.set_local(code.next, from);
        self.set_local(code.left, rounds(from, to, code.inclusive));
        Ok(())
    }

    /// A simple operation.
    #[inline]
    pub(super) fn op(&mut self, op: Op) -> Result<(), Halt> {
        match op {
            Op::Local { slot, value } => {
                let value = self.value(value)?;
                self.set_local(slot, value);
            }
            Op::Store { to, value } => {
                let (cell, value) = (self.cell(to)?, self.value(value)?);
                self.write(to, cell, value, AccessKind::Write);
            }
            Op::Change { dest, to, op, by } => {
                let old = self.change(to, op, by)?;
                self.set_local(dest, old);
            }
            Op::Swap { dest, to, value } => {
                let (cell, value) = (self.cell(to)?, self.value(value)?);
                let old = self.machine.memory.get(cell);
                self.write(to, cell, value, AccessKind::Update);
                self.set_local(dest, old);
            }
            Op::Cas { dest, to, old, new } => {
                let (cell, old, new) = (self.cell(to)?, self.value(old)?, self.value(new)?);
                let equal = self.machine.memory.get(cell) == old;
                if equal {
                    self.write(to, cell, new, AccessKind::Update);
                } else {
                    self.record.touch(cell, AccessKind::Read);
                }
                self.set_local(dest, i64::from(equal));
            }
            Op::Send(code) => self.send(&self.image.sends[code as usize])?,
            Op::Assert(index) => {
                let condition = &self.image.conditions[index as usize];
                if self.value(condition.node)? == 0 {
                    self.machine.assertion_failed(self.image, self.process, condition);
                }
            }
            Op::Assume(condition) => {
                if self.value(condition)? == 0 {
                    return Err(Halt::Assumed);
                }
            }
            Op::Skip => {}
        }
        Ok(())
    }

    /// Adds to a cell or takes from it; gives what it held.
    fn change(&mut self, to: Lvalue, op: BinaryOp, by: NodeId) -> Result<i64, Halt> {
        let (cell, by) = (self.cell(to)?, self.value(by)?);
        let old = self.machine.memory.get(cell);
        let Some(new) = arithmetic::binary(op, old, by) else {
            self.record.touch(cell, AccessKind::Read);
            return Err(Halt::Change(cell, op, by));
        };
        self.write(to, cell, new, AccessKind::Update);
        Ok(old)
    }

    #[inline]
    fn write(&mut self, to: Lvalue, cell: u32, value: i64, kind: AccessKind) {
        self.record.touch(cell, kind);
        for &group in &self.image.vars[to.var as usize].groups {
            self.record.touch(group, AccessKind::Update);
        }
        self.set_cell(cell, value);
    }

    /// An atomic block; gives where to go on if that is not after it.
    fn atomic(&mut self, index: u32) -> Result<Option<u32>, Halt> {
        let code = &self.image.atomics[index as usize];
        if code.guard != NONE {
            self.pass(code.guard)?;
        }
        let mut left = MAX_ATOMIC;
        Ok(match self.trees(&code.body, &mut left)? {
            Flow::On => None,
            Flow::Break => Some(code.on_break),
            Flow::Continue => Some(code.on_continue),
        })
    }

    /// Statements of an atomic block, of which so many may still be run.
    fn trees(&mut self, body: &[Tree], left: &mut u32) -> Result<Flow, Halt> {
        for tree in body {
            *left = left.checked_sub(1).ok_or(Halt::Overrun)?;
            let flow = match tree {
                Tree::Op(op) => {
                    self.op(*op)?;
                    Flow::On
                }
                Tree::If { arms, otherwise } => self.tree_if(arms, otherwise, left)?,
                Tree::For { slot, from, to, inclusive, body } => {
                    let (from, to) = (self.value(*from)?, self.value(*to)?);
                    for round in 0..rounds(from, to, *inclusive) {
                        *left = left.checked_sub(1).ok_or(Halt::Overrun)?;
                        self.set_local(*slot, from.wrapping_add(round));
                        if self.trees(body, left)? == Flow::Break {
                            break;
                        }
                    }
                    Flow::On
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

    fn tree_if(
        &mut self,
        arms: &[(NodeId, Vec<Tree>)],
        otherwise: &[Tree],
        left: &mut u32,
    ) -> Result<Flow, Halt> {
        for (condition, block) in arms {
            if self.value(*condition)? != 0 {
                return self.trees(block, left);
            }
        }
        self.trees(otherwise, left)
    }
}

/// How many numbers a range has; more than can ever be gone through are as good as any.
pub(super) fn rounds(from: i64, to: i64, inclusive: bool) -> i64 {
    let count = i128::from(to) - i128::from(from) + i128::from(inclusive);
    count.clamp(0, i128::from(i64::MAX)) as i64
}
