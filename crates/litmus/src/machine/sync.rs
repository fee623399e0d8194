//! Locks, condition variables, the creation and the end of processes.
//!
//! The cell of a lock holds 0 if it is free, else the number of its holder plus 1. A condition variable has two
//! locations: its queue, and, for static footprints only, one that stands for the wake-ups of all who wait for it.

use mazurka_program::{AccessKind, ProcessId};

use super::Machine;
use super::eval::{Record, Silent};
use super::process::{Block, Halt, Indexed, Status, Undo};
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
        let at = self.value(image, p, object.index, &mut Silent)?;
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
                let index = self.value(image, p, index, &mut Silent)?;
                let at = i128::from(index) - i128::from(family.from);
                if at >= 0 && at < i128::from(family.len) {
                    Ok(family.first + at as u32)
                } else {
                    Err(Halt::Range(Indexed::Family(decl), index))
                }
            }
        }
    }

    pub(super) fn lock<R: Record>(
        &mut self,
        image: &Image,
        p: u32,
        lock: Object,
        record: &mut R,
    ) -> Result<(), Halt> {
        let cell = self.lock_cell(image, p, lock)?;
        record.touch(cell, AccessKind::Update);
        let now = self.now();
        self.memory.set(cell, i64::from(p) + 1, now);
        Ok(())
    }

    /// Gives a lock back; a failed one is labelled as if it had succeeded, so that the label does not vary.
    fn release<R: Record>(&mut self, p: u32, cell: u32, record: &mut R) -> Result<(), Halt> {
        record.touch(cell, AccessKind::Update);
        if self.memory.get(cell) != i64::from(p) + 1 {
            return Err(Halt::NotHeld(cell));
        }
        let now = self.now();
        self.memory.set(cell, 0, now);
        Ok(())
    }

    pub(super) fn unlock<R: Record>(
        &mut self,
        image: &Image,
        p: u32,
        lock: Object,
        record: &mut R,
    ) -> Result<(), Halt> {
        let cell = self.lock_cell(image, p, lock)?;
        self.release(p, cell, record)
    }

    pub(super) fn try_lock<R: Record>(
        &mut self,
        image: &Image,
        p: u32,
        dest: u32,
        lock: Object,
        record: &mut R,
    ) -> Result<(), Halt> {
        let cell = self.lock_cell(image, p, lock)?;
        let free = self.memory.get(cell) == 0;
        if free || self.rules.failed_try_lock_counts {
            record.touch(cell, AccessKind::Update);
        }
        if free {
            let now = self.now();
            self.memory.set(cell, i64::from(p) + 1, now);
        }
        self.set_local(p, dest, i64::from(free));
        Ok(())
    }

    pub(super) fn wait_start<R: Record>(
        &mut self,
        image: &Image,
        p: u32,
        condvar: Object,
        lock: Object,
        record: &mut R,
    ) -> Result<(), Halt> {
        let queue = self.condvar_cell(image, p, condvar)?;
        let lock = self.lock_cell(image, p, lock)?;
        record.touch(queue, AccessKind::Update);
        self.release(p, lock, record)
    }

    pub(super) fn wake<R: Record>(
        &mut self,
        image: &Image,
        p: u32,
        condvar: Object,
        record: &mut R,
    ) -> Result<(), Halt> {
        let queue = self.condvar_cell(image, p, condvar)?;
        let location = if self.foresee { queue + 1 } else { self.wake_location(p) };
        record.touch(location, AccessKind::Read);
        self.procs[p as usize].notified = false;
        Ok(())
    }

    /// Those who wait for a condition variable and have not been woken.
    pub(super) fn waiters(&self, queue: u32) -> impl Iterator<Item = u32> + '_ {
        self.guarded.iter().map(|process| process.0).filter(move |&p| {
            let proc = &self.procs[p as usize];
            proc.core.block == Block::Wake(queue) && !proc.notified
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

    pub(super) fn notify<R: Record>(
        &mut self,
        image: &Image,
        p: u32,
        condvar: Object,
        choice: Option<u32>,
        record: &mut R,
    ) -> Result<(), Halt> {
        let queue = self.condvar_cell(image, p, condvar)?;
        let mut woken = std::mem::take(&mut self.scratch.woken);
        self.woken(queue, choice, &mut woken);
        if self.foresee {
            record.touch(queue, AccessKind::Update);
            record.touch(queue + 1, AccessKind::Update);
        } else {
            record.touch(queue, if woken.is_empty() { AccessKind::Read } else { AccessKind::Update });
        }
        for &q in &woken {
            if !self.foresee {
                let location = self.wake_location(q);
                record.touch(location, AccessKind::Write);
            }
            self.procs[q as usize].notified = true;
            self.undo.push(Undo::Notified(q));
            self.signal = true;
        }
        self.scratch.woken = woken;
        Ok(())
    }

    pub(super) fn spawn<R: Record>(
        &mut self,
        image: &Image,
        p: u32,
        code: &SpawnCode,
        record: &mut R,
    ) -> Result<(), Halt> {
        let mut args = std::mem::take(&mut self.scratch.args);
        args.clear();
        for &arg in &code.args {
            match self.value(image, p, arg, record) {
                Ok(value) => args.push(value),
                Err(halt) => {
                    self.scratch.args = args;
                    return Err(halt);
                }
            }
        }
        let ordinal = self.procs[p as usize].core.spawned;
        self.procs[p as usize].core.spawned += 1;
        let child = self.names.child(Some(ProcessId(p)), ordinal);
        self.create(image, child.0, p, code.body, &args);
        self.scratch.args = args;
        self.undo.push(Undo::Created(child.0));
        record.spawned(child);
        self.set_local(p, code.dest, i64::from(child.0));
        self.advance(image, child.0);
        Ok(())
    }

    pub(super) fn join<R: Record>(
        &mut self,
        image: &Image,
        p: u32,
        peer: Peer,
        record: &mut R,
    ) -> Result<(), Halt> {
        let target = self.peer(image, p, peer)?;
        let location = self.exit_location(target);
        record.touch(location, AccessKind::Read);
        Ok(())
    }

    pub(super) fn exit<R: Record>(&mut self, p: u32, record: &mut R) {
        let location = self.exit_location(p);
        record.touch(location, AccessKind::Write);
        self.finish(p);
    }

    pub(super) fn has_finished(&self, p: u32) -> bool {
        self.procs[p as usize].core.status == Status::Finished
    }

    fn exit_location(&mut self, p: u32) -> u32 {
        if self.procs[p as usize].exit_location == NONE {
            self.procs[p as usize].exit_location = self.new_location();
        }
        self.procs[p as usize].exit_location
    }

    fn wake_location(&mut self, p: u32) -> u32 {
        if self.procs[p as usize].wake_location == NONE {
            self.procs[p as usize].wake_location = self.new_location();
        }
        self.procs[p as usize].wake_location
    }

    pub(super) fn mailbox_location(&mut self, p: u32) -> u32 {
        if self.procs[p as usize].mailbox_location == NONE {
            self.procs[p as usize].mailbox_location = self.new_location();
        }
        self.procs[p as usize].mailbox_location
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
