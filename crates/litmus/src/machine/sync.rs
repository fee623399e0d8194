//! Locks, condition variables, the creation and the end of processes.
//!
//! The cell of a lock holds 0 if it is free, else the number of its holder plus 1. A condition variable has
//! two locations: its queue, and, for static footprints only, one that stands for the wake-ups of all who
//! wait for it.

use mazurka_program::{AccessKind, ProcessId};

use super::Machine;
use super::eval::{Recorder, Unrecorded};
use super::process::{Halt, Indexed, Proc, Status, Undo, Wait};
use super::step::Executor;
use crate::code::{Image, NONE, Object, ObjectInfo, Peer, SpawnCode};

impl Machine {
    fn object(
        &self,
        image: &Image,
        p: u32,
        object: Object,
        of: Indexed,
        info: &ObjectInfo,
    ) -> Result<u32, Halt> {
        if object.index == NONE {
            return Ok(0);
        }
        let at = self.value(image, p, object.index, &mut Unrecorded)?;
        if at >= 0 && at < i64::from(info.len) { Ok(at as u32) } else { Err(Halt::Range(of, at)) }
    }

    pub(super) fn lock_cell(&self, image: &Image, p: u32, lock: Object) -> Result<u32, Halt> {
        let info = &image.locks[lock.decl as usize];
        Ok(info.base + self.object(image, p, lock, Indexed::Lock(lock.decl), info)?)
    }

    /// The cell of a condition variable's queue; the one after it is for its wake-ups.
    pub(super) fn condvar_cell(&self, image: &Image, p: u32, condvar: Object) -> Result<u32, Halt> {
        let info = &image.condvars[condvar.decl as usize];
        Ok(info.base + 2 * self.object(image, p, condvar, Indexed::Condvar(condvar.decl), info)?)
    }

    pub(super) fn peer(&self, image: &Image, p: u32, peer: Peer) -> Result<u32, Halt> {
        match peer {
            Peer::Root(process) => Ok(process),
            Peer::Handle(slot) => {
                u32::try_from(self.procs[p as usize].locals[slot as usize]).map_err(|_| Halt::NoProcess(slot))
            }
            Peer::Member { decl, index } => {
                let family = &image.families[decl as usize];
                let index = self.value(image, p, index, &mut Unrecorded)?;
                let at = i128::from(index) - i128::from(family.from);
                if at >= 0 && at < i128::from(family.len) {
                    Ok(family.first + at as u32)
                } else {
                    Err(Halt::Range(Indexed::Family(decl), index))
                }
            }
        }
    }

    /// Those who wait for a condition variable and have not been woken.
    pub(super) fn waiters(&self, queue: u32) -> impl Iterator<Item = u32> + '_ {
        self.guarded.iter().map(|process| process.0).filter(move |&p| {
            let proc = &self.procs[p as usize];
            proc.core.wait == Wait::Wake(queue) && !proc.notified
        })
    }

    /// Those who would be woken: all who wait, or the one that is chosen.
    ///
    /// They are counted by their names, which don't depend on the order in which the search met them.
    pub(super) fn woken(&self, queue: u32, choice: Option<u32>, woken: &mut Vec<u32>) {
        woken.clear();
        woken.extend(self.waiters(queue));
        let Some(choice) = choice else { return };
        if woken.len() > 1 {
            let root = |p: u32| self.procs[p as usize].parent == NONE;
            woken.sort_by(|&a, &b| match root(a) && root(b) {
                true => a.cmp(&b),
                false => self.names.compare(ProcessId(a), ProcessId(b)),
            });
            if let Some(&chosen) = woken.get(choice as usize) {
                woken.clear();
                woken.push(chosen);
            }
        }
    }

    pub(super) fn has_finished(&self, p: u32) -> bool {
        self.procs[p as usize].core.status == Status::Finished
    }

    /// The location of something of a process, given when it is asked for first.
    fn location(&mut self, p: u32, of: impl Fn(&mut Proc) -> &mut u32) -> u32 {
        if *of(&mut self.procs[p as usize]) == NONE {
            *of(&mut self.procs[p as usize]) = self.new_location();
        }
        *of(&mut self.procs[p as usize])
    }

    pub(super) fn exit_location(&mut self, p: u32) -> u32 {
        self.location(p, |proc| &mut proc.exit_location)
    }

    pub(super) fn wake_location(&mut self, p: u32) -> u32 {
        self.location(p, |proc| &mut proc.wake_location)
    }

    pub(super) fn mailbox_location(&mut self, p: u32) -> u32 {
        self.location(p, |proc| &mut proc.mailbox_location)
    }

    /// The location of the message that a process sends after so many others.
    pub(super) fn message_location(&mut self, sender: u32, ordinal: u32) -> u32 {
        while self.procs[sender as usize].message_locations.len() <= ordinal as usize {
            let location = self.new_location();
            self.procs[sender as usize].message_locations.push(location);
        }
        self.procs[sender as usize].message_locations[ordinal as usize]
    }
}

impl<R: Recorder> Executor<'_, R> {
    fn lock_cell(&self, lock: Object) -> Result<u32, Halt> {
        self.machine.lock_cell(self.image, self.process, lock)
    }

    fn condvar_cell(&self, condvar: Object) -> Result<u32, Halt> {
        self.machine.condvar_cell(self.image, self.process, condvar)
    }

    /// What the cell of a lock holds that the process holds.
    fn holder(&self) -> i64 {
        i64::from(self.process) + 1
    }

    pub(super) fn lock(&mut self, lock: Object) -> Result<(), Halt> {
        let cell = self.lock_cell(lock)?;
        self.record.touch(cell, AccessKind::Update);
        self.set_cell(cell, self.holder());
        Ok(())
    }

    /// Gives a lock back; a failed one is labelled as if it had succeeded, so that the label does not vary.
    fn release(&mut self, cell: u32) -> Result<(), Halt> {
        self.record.touch(cell, AccessKind::Update);
        if self.machine.memory.get(cell) != self.holder() {
            return Err(Halt::NotHeld(cell));
        }
        self.set_cell(cell, 0);
        Ok(())
    }

    pub(super) fn unlock(&mut self, lock: Object) -> Result<(), Halt> {
        let cell = self.lock_cell(lock)?;
        self.release(cell)
    }

    pub(super) fn try_lock(&mut self, dest: u32, lock: Object) -> Result<(), Halt> {
        let cell = self.lock_cell(lock)?;
        let free = self.machine.memory.get(cell) == 0;
        let rules = self.machine.rules;
        if !free && rules.failed_try_lock_reads {
            self.record.touch(cell, AccessKind::Read);
        } else if free || rules.failed_try_lock_counts {
            self.record.touch(cell, AccessKind::Update);
        }
        if free {
            self.set_cell(cell, self.holder());
        }
        self.set_local(dest, i64::from(free));
        Ok(())
    }

    pub(super) fn wait_start(&mut self, condvar: Object, lock: Object) -> Result<(), Halt> {
        let (queue, lock) = (self.condvar_cell(condvar)?, self.lock_cell(lock)?);
        self.record.touch(queue, AccessKind::Update);
        self.release(lock)
    }

    pub(super) fn wake(&mut self, condvar: Object) -> Result<(), Halt> {
        let queue = self.condvar_cell(condvar)?;
        let machine = &mut *self.machine;
        let location = if machine.foresee { queue + 1 } else { machine.wake_location(self.process) };
        self.record.touch(location, AccessKind::Read);
        machine.procs[self.process as usize].notified = false;
        Ok(())
    }

    pub(super) fn notify(&mut self, condvar: Object, choice: Option<u32>) -> Result<(), Halt> {
        let queue = self.condvar_cell(condvar)?;
        let (machine, record) = (&mut *self.machine, &mut *self.record);
        let mut woken = std::mem::take(&mut machine.scratch.woken);
        machine.woken(queue, choice, &mut woken);
        if machine.foresee {
            record.touch(queue, AccessKind::Update);
            record.touch(queue + 1, AccessKind::Update);
        } else {
            record.touch(queue, if woken.is_empty() { AccessKind::Read } else { AccessKind::Update });
        }
        for &q in &woken {
            if !machine.foresee {
                record.touch(machine.wake_location(q), AccessKind::Write);
            }
            machine.procs[q as usize].notified = true;
            machine.undo.push(Undo::Notified(q));
            machine.signal = true;
        }
        machine.scratch.woken = woken;
        Ok(())
    }

    pub(super) fn spawn(&mut self, code: &SpawnCode) -> Result<(), Halt> {
        let mut args = std::mem::take(&mut self.machine.scratch.args);
        args.clear();
        for &arg in &code.args {
            match self.value(arg) {
                Ok(value) => args.push(value),
                Err(halt) => {
                    self.machine.scratch.args = args;
                    return Err(halt);
                }
            }
        }
        let (machine, p) = (&mut *self.machine, self.process);
        let ordinal = machine.procs[p as usize].core.spawned;
        machine.procs[p as usize].core.spawned += 1;
        let child = machine.names.child(Some(ProcessId(p)), ordinal);
        machine.create(self.image, child.0, p, code.body, &args);
        machine.scratch.args = args;
        machine.undo.push(Undo::Created(child.0));
        self.record.spawned(child);
        machine.set_local(p, code.dest, i64::from(child.0));
        machine.advance(self.image, child.0);
        Ok(())
    }

    pub(super) fn join(&mut self, peer: Peer) -> Result<(), Halt> {
        let target = self.machine.peer(self.image, self.process, peer)?;
        self.record.touch(self.machine.exit_location(target), AccessKind::Read);
        Ok(())
    }

    pub(super) fn exit(&mut self) {
        self.record.touch(self.machine.exit_location(self.process), AccessKind::Write);
        self.machine.finish(self.process);
    }
}
