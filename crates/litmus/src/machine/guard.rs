//! Steps that can wait: what a process waits for, whether it has come, and whether it had come at an earlier
//! time.
//!
//! A guard that other processes can make false again is captured when its process arrives at it, with the
//! locals it uses, so that it can be evaluated after any number of steps, also when the process has gone on.

use mazurka_program::{AccessKind, ProcessId};

use super::Machine;
use super::eval::{Now, Past, Recorder, Unrecorded, eval, place};
use super::poll::leads_back;
use super::process::{CapturedGuard, GuardKind, Halt, Undo, Wait};
use super::step::Executor;
use crate::code::{Image, Instr, Mention, NONE};

impl Machine {
    /// Lets a process stand at the step it has come to.
    #[inline]
    pub(super) fn arrive(&mut self, image: &Image, p: u32) {
        let line = &image.lines[self.procs[p as usize].core.pc as usize];
        let wait = match line.instr {
            Instr::Lock(_)
            | Instr::Await(_)
            | Instr::Atomic(_)
            | Instr::Wake(_)
            | Instr::Join(_)
            | Instr::Receive(_) => self.wait_at(image, p, &line.instr),
            _ if line.polls != NONE && self.rules.polls_wait => self.wait_to_change(image, p, line.polls),
            _ => Wait::Free,
        };
        if wait == Wait::Free {
            self.set_enabled(p, true);
            return;
        }
        self.procs[p as usize].core.wait = wait;
        self.guarded.insert(ProcessId(p));
        let ready = self.ready(image, p);
        self.set_enabled(p, ready);
    }

    /// What a process waits for at a line. What can't be evaluated waits for nothing: its step will fail.
    fn wait_at(&mut self, image: &Image, p: u32, instr: &Instr) -> Wait {
        match *instr {
            Instr::Lock(lock) => match self.lock_cell(image, p, lock) {
                Ok(cell) => {
                    self.capture(p, cell, GuardKind::Lock(cell), false);
                    Wait::Lock(cell)
                }
                Err(_) => Wait::Free,
            },
            Instr::Await(guard) => self.wait_for_guard(image, p, guard),
            Instr::Atomic(code) => match image.atomics[code as usize].guard {
                NONE => Wait::Free,
                guard => self.wait_for_guard(image, p, guard),
            },
            Instr::Wake(condvar) => match self.condvar_cell(image, p, condvar) {
                Ok(queue) => {
                    // Statically every notification writes what all who wait read, so there are races.
                    if self.static_guards {
                        let met = self.marks.len() as u32;
                        self.capture(p, queue + 1, GuardKind::Wake { process: p, met }, false);
                    }
                    Wait::Wake(queue)
                }
                Err(_) => Wait::Free,
            },
            Instr::Join(peer) => self.peer(image, p, peer).map_or(Wait::Free, Wait::Join),
            Instr::Receive(receive) => {
                let code = &image.receives[receive as usize];
                if code.timeout != NONE || self.pattern_failure(image, p, code).is_some() {
                    return Wait::Free;
                }
                if self.static_guards {
                    let location = self.mailbox_location(p);
                    let met = self.marks.len() as u32;
                    self.capture(p, location, GuardKind::Receive { process: p, receive, met }, true);
                }
                Wait::Receive(receive)
            }
            _ => Wait::Free,
        }
    }

    fn wait_for_guard(&mut self, image: &Image, p: u32, guard: u32) -> Wait {
        let code = &image.guards[guard as usize];
        let location = match (code.group, code.mentions.first()) {
            (NONE, Some(mention)) => self.mentioned(image, p, *mention).map(|(first, _)| first),
            (group, _) => Some(group),
        };
        // An index out of range is so for good, whatever others do: then there is nothing to race for.
        if let Some(location) = location {
            self.capture(p, location, GuardKind::Await(guard), code.uses_locals);
        }
        Wait::Await(guard)
    }

    pub(super) fn capture(&mut self, p: u32, location: u32, kind: GuardKind, with_locals: bool) {
        let start = self.guard_locals.len() as u32;
        let proc = &mut self.procs[p as usize];
        if with_locals {
            self.guard_locals.extend_from_slice(&proc.locals);
        }
        proc.core.guard = self.guards.len() as u32;
        self.guards.push(CapturedGuard { location, kind, locals: (start, self.guard_locals.len() as u32) });
    }

    /// The cells that a guard mentions: the first, and how many.
    pub(super) fn mentioned(&self, image: &Image, p: u32, mention: Mention) -> Option<(u32, u32)> {
        match mention {
            Mention::Cell(cell) => Some((cell, 1)),
            Mention::Whole(var) => {
                let info = &image.vars[var as usize];
                (info.len > 0).then_some((info.base, info.len))
            }
            Mention::Indexed(to) => {
                let locals = &self.procs[p as usize].locals;
                let cell = place(image, locals, to, &mut Now(&self.memory, &mut Unrecorded));
                cell.ok().map(|cell| (cell, 1))
            }
        }
    }

    /// Whether a process that stands at a guarded step can take it.
    #[inline]
    pub(super) fn ready(&self, image: &Image, p: u32) -> bool {
        let proc = &self.procs[p as usize];
        match proc.core.wait {
            Wait::Free => true,
            Wait::Lock(cell) => self.memory.get(cell) == 0,
            Wait::Await(guard) => {
                let node = image.guards[guard as usize].condition.node;
                eval(image, &proc.locals, node, &mut Now(&self.memory, &mut Unrecorded)) != Ok(0)
            }
            Wait::Change(cell) => !leads_back(image, proc.core.pc, &proc.locals, self.memory.get(cell)),
            Wait::Wake(_) => proc.notified,
            Wait::Join(target) => self.has_finished(target),
            Wait::Receive(receive) => {
                self.find_message(image, p, &image.receives[receive as usize]).is_some()
            }
        }
    }

    /// Looks again at the processes that stand at a guarded step, if anything has changed for them.
    #[inline]
    pub(super) fn settle(&mut self, image: &Image) {
        let written = self.marks.last().is_some_and(|mark| self.memory.written() > mark.written as usize);
        if !written && !self.signal {
            return;
        }
        self.signal = false;
        let guarded = std::mem::take(&mut self.guarded);
        for process in guarded.iter() {
            let ready = self.ready(image, process.0);
            self.set_enabled(process.0, ready);
        }
        self.guarded = guarded;
    }

    /// Whether a step woke a process.
    fn notified_by(&self, step: u32, process: u32) -> bool {
        let end = self.marks.get(step as usize + 1).map_or(self.undo.len(), |next| next.undo as usize);
        let done = self.marks.get(step as usize).map_or(&[][..], |mark| &self.undo[mark.undo as usize..end]);
        done.iter().any(|undo| matches!(*undo, Undo::Notified(p) if p == process))
    }

    /// Whether a captured guard held after the first `depth` steps.
    pub(super) fn guard_holds_at(&self, image: &Image, id: u32, depth: u32) -> bool {
        let Some(captured) = self.guards.get(id as usize) else { return false };
        let locals = &self.guard_locals[captured.locals.0 as usize..captured.locals.1 as usize];
        match captured.kind {
            GuardKind::Lock(cell) => self.memory.at(cell, depth).0 == 0,
            GuardKind::Await(guard) => {
                let node = image.guards[guard as usize].condition.node;
                eval(image, locals, node, &mut Past(&self.memory, depth)) != Ok(0)
            }
            GuardKind::Change { pc, cell } => !leads_back(image, pc, locals, self.memory.at(cell, depth).0),
            GuardKind::Wake { process, met } => (met..depth).any(|step| self.notified_by(step, process)),
            GuardKind::Receive { process, receive, met } => {
                let code = &image.receives[receive as usize];
                self.procs[process as usize].inbox.iter().take_while(|m| m.sent_at < depth).any(|message| {
                    let taken_before = message.taken_at < met;
                    !taken_before && self.matching_arm(image, code, locals, message).is_some()
                })
            }
        }
    }
}

impl<R: Recorder> Executor<'_, R> {
    /// Passes an await: everything its guard mentions is read, whatever the guard left out, so that the label
    /// does not depend on values.
    pub(super) fn pass(&mut self, guard: u32) -> Result<(), Halt> {
        let code = &self.image.guards[guard as usize];
        for mention in &code.mentions {
            if let Some((first, len)) = self.machine.mentioned(self.image, self.process, *mention) {
                self.record.touch_range(first, len, AccessKind::Read);
            }
        }
        if code.group != NONE {
            self.record.touch(code.group, AccessKind::Read);
        }
        self.machine.value(self.image, self.process, code.condition.node, &mut Unrecorded).map(|_| ())
    }
}
