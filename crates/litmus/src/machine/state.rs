//! The state in a canonical form.
//!
//! Every process is written as a list of numbers: where it is, what it waits for, its locals, the locks it
//! holds, its mailbox, and the lists of the processes it created, in order. Numbers, names and locations of
//! processes are no part of it. A handle stands for the place of its process in that order; no two handles
//! stand for the same process (only `spawn` makes them and they can't be copied), so a process is written
//! with the slot of its handle, and what remains equal is interchangeable.

use std::borrow::Cow;

use mazurka_program::{Access, NamedStates, ProcessId, State, States};

use super::process::{Proc, Status};
use super::{LitmusRun, Machine};
use crate::code::{Image, LocalInfo, NONE};
use crate::dead::{MayRead, Reads, Set};

impl States for LitmusRun {
    fn state(&self) -> State {
        self.machine.state(&self.image)
    }

    fn named(&self) -> Option<&dyn NamedStates> {
        Some(self)
    }
}

impl NamedStates for LitmusRun {
    /// Every process by its number, every lock with its holder, and of messages, which have locations of
    /// their own, the sender and how many it had sent before. How many processes and messages a process has
    /// made names those to come.
    fn named_state(&self, list: &mut Vec<i64>) {
        let (image, machine) = (&*self.image, &self.machine);
        list.clear();
        machine.living_cells(image, list);
        let cells = image.var_cells as usize..image.condvar_base as usize;
        list.extend_from_slice(&machine.memory.values()[cells]);
        for (p, proc) in machine.procs.iter().enumerate() {
            if proc.core.status == Status::Absent {
                continue;
            }
            let core = &proc.core;
            list.extend([p as i64, i64::from(core.pc), status_number(core.status), i64::from(proc.notified)]);
            list.extend([i64::from(proc.body), i64::from(core.spawned), i64::from(core.sent)]);
            list.extend_from_slice(&machine.living_locals(image, proc));
            let untaken = || proc.inbox.iter().filter(|message| message.taken_at == NONE);
            list.push(untaken().count() as i64);
            for message in untaken() {
                list.extend([message.sender, message.ordinal, message.len].map(i64::from));
                list.extend_from_slice(machine.parts(message));
            }
        }
    }

    /// What a process knows now, and the values of the variables that these accesses write.
    fn effect(&self, process: ProcessId, accesses: &[Access], list: &mut Vec<i64>) -> bool {
        list.clear();
        if let Some(proc) = self.machine.procs.get(process.index()) {
            let core = &proc.core;
            list.extend([i64::from(core.pc), status_number(core.status), i64::from(core.spawned)]);
            list.extend_from_slice(&proc.locals);
        }
        let written = accesses.iter().filter(|access| !access.kind.is_read());
        let values = &self.machine.memory.values()[..self.image.var_cells as usize];
        list.extend(
            written.flat_map(|access| access.locations()).filter_map(|cell| values.get(cell.0 as usize)),
        );
        true
    }
}

impl Machine {
    fn state(&self, image: &Image) -> State {
        let mut shared = Vec::new();
        self.living_cells(image, &mut shared);
        let locks = self.locks_held(image);
        let mut children: Vec<Vec<(Vec<i64>, u32)>> = vec![Vec::new(); self.procs.len()];
        let mut local = Vec::new();
        // A process has a higher number than the one that created it: children come first.
        for (p, proc) in self.procs.iter().enumerate().rev() {
            if proc.core.status == Status::Absent {
                continue;
            }
            let held = &locks[locks.partition_point(|&(q, _)| (q as usize) < p)..];
            let held = held.iter().take_while(|&&(q, _)| q as usize == p).map(|&(_, lock)| lock);
            let code = self.code(image, proc, &held.collect::<Vec<_>>(), std::mem::take(&mut children[p]));
            match proc.parent {
                NONE => local.push(code),
                parent => children[parent as usize].push((code, p as u32)),
            }
        }
        State { shared, local: local.into_iter().rev().flatten().collect() }
    }

    /// The values of shared variables, those that are dead as 0.
    fn living_cells(&self, image: &Image, list: &mut Vec<i64>) {
        let (from, cells) = (list.len(), &self.memory.values()[..image.var_cells as usize]);
        list.extend_from_slice(cells);
        let Some(may_read) = &self.may_read else { return };
        let mut living = Set::default();
        for reads in self.procs.iter().filter_map(|proc| to_read(may_read, proc)) {
            living.add_all(&reads.vars);
        }
        for (_, var) in image.vars.iter().enumerate().filter(|(at, _)| !living.contains(*at as u32)) {
            list[from + var.base as usize..][..var.len as usize].fill(0);
        }
    }

    /// The locals of a process, those that are dead as 0, or as no process.
    fn living_locals<'a>(&self, image: &Image, proc: &'a Proc) -> Cow<'a, [i64]> {
        let Some(may_read) = &self.may_read else { return Cow::Borrowed(&proc.locals) };
        let reads = to_read(may_read, proc).map(|reads| &reads.locals);
        let infos = &image.bodies[proc.body as usize].locals;
        let one = |(slot, (&value, info)): (usize, (&i64, &LocalInfo))| {
            let living = reads.is_some_and(|reads| reads.contains(slot as u32));
            match (living, info.handle) {
                (true, _) => value,
                (false, handle) => -i64::from(handle),
            }
        };
        proc.locals.iter().zip(infos).enumerate().map(one).collect()
    }

    /// The locks that are held, by holder.
    fn locks_held(&self, image: &Image) -> Vec<(u32, i64)> {
        let cells = &self.memory.values()[image.lock_base as usize..image.condvar_base as usize];
        let held = cells.iter().enumerate().filter(|(_, holder)| **holder != 0);
        let mut held: Vec<(u32, i64)> =
            held.map(|(lock, holder)| (*holder as u32 - 1, lock as i64)).collect();
        held.sort_unstable();
        held
    }

    /// A process as a list of numbers that begins with its length.
    fn code(
        &self,
        image: &Image,
        proc: &Proc,
        locks: &[i64],
        mut children: Vec<(Vec<i64>, u32)>,
    ) -> Vec<i64> {
        let body = &image.bodies[proc.body as usize];
        let locals = self.living_locals(image, proc);
        for (code, child) in &mut children {
            let of_child = |(value, local): (&i64, &LocalInfo)| local.handle && *value == i64::from(*child);
            let slot = locals.iter().zip(&body.locals).position(of_child);
            code.push(slot.map_or(-1, |slot| slot as i64));
        }
        children.sort();
        let status = status_number(proc.core.status);
        let mut code = vec![0, i64::from(proc.core.pc), status, i64::from(proc.notified)];
        for (&value, local) in locals.iter().zip(&body.locals) {
            let place = || children.iter().position(|(_, child)| i64::from(*child) == value);
            code.push(if local.handle { place().map_or(-1, |at| at as i64) } else { value });
        }
        code.push(locks.len() as i64);
        code.extend_from_slice(locks);
        let waiting = || proc.inbox.iter().filter(|message| message.taken_at == NONE);
        code.push(waiting().count() as i64);
        for message in waiting() {
            code.push(i64::from(message.len));
            code.extend_from_slice(self.parts(message));
        }
        code.push(children.len() as i64);
        children.iter().for_each(|(child, _)| code.extend_from_slice(child));
        code[0] = code.len() as i64;
        code
    }
}

/// What a process may read from where it is; none if it runs no further code.
fn to_read<'a>(may_read: &'a MayRead, proc: &Proc) -> Option<&'a Reads> {
    let goes_on = matches!(proc.core.status, Status::Live | Status::Overrun);
    may_read.lines.get(proc.core.pc as usize).filter(|_| goes_on)
}

fn status_number(status: Status) -> i64 {
    match status {
        Status::Absent | Status::Live => 0,
        Status::Halted => 1,
        Status::Finished => 2,
        Status::Overrun => 3,
    }
}
