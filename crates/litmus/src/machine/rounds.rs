//! Rounds: where a process has come back to where it was.
//!
//! All that is needed is there: the marks have what a process was before each of its steps, and the log of the
//! memory what every step wrote.

use std::ops::ControlFlow;

use mazurka_program::{Location, Place, ProcessId, Round, Rounds};

use super::process::Core;
use super::{LitmusRun, Machine};
use crate::code::Image;

/// So many steps of a process are looked at one by one. Of those before, one in so many is, and only to be
/// compared as part of a whole state: so long loops cost little, and every one is found some day.
const NEAR: usize = 256;

impl Rounds for LitmusRun {
    fn rounds(&self, process: ProcessId, own: &[u32], with: &mut dyn FnMut(Round) -> ControlFlow<()>) {
        let (image, machine) = (&*self.image, &self.machine);
        let is_back = |step: u32| machine.was_same(process.0, step as usize);
        let (far, near) = own.split_at(own.len().saturating_sub(NEAR));
        if near.iter().any(|&step| is_back(step)) {
            let mut way =
                Way { machine, image, process: process.0, held: 0, restored: true, cells: Vec::new() };
            for (steps, &step) in near.iter().rev().enumerate() {
                way.add(step as usize);
                // Whoever holds locks keeps others from going on: rounds end where the fewest are held.
                if way.held < 0 && machine.rules.few_locks {
                    return;
                }
                let steps = steps + 1;
                let round = Round { steps, restored: way.restores(), alone: steps, counts: true };
                if is_back(step) && with(round).is_break() {
                    return;
                }
            }
        }
        for (at, &step) in far.iter().enumerate().step_by(NEAR).rev() {
            let steps = own.len() - at;
            if is_back(step) && with(Round { steps, restored: false, alone: steps, counts: true }).is_break()
            {
                return;
            }
        }
    }

    fn arrivals(&self, process: ProcessId, own: &[u32]) -> usize {
        let machine = &self.machine;
        let here = machine.procs[process.index()].core.pc;
        1 + own.iter().filter(|&&step| machine.marks[step as usize].core.pc == here).count()
    }

    fn describe(&self, process: ProcessId, own: &[u32]) -> String {
        let (image, machine) = (&*self.image, &self.machine);
        let proc = &machine.procs[process.index()];
        let at = self.place(process).map_or_else(String::new, |place| format!(" at {place}"));
        let before = own.iter().rev().find(|&&step| machine.marks[step as usize].core.pc == proc.core.pc);
        let locals = before.map_or(&[][..], |&step| machine.saved_locals(step as usize));
        let names = image.bodies[proc.body as usize].locals.iter().map(|local| local.name.as_str());
        let changed = names
            .zip(locals.iter().zip(&proc.locals))
            .filter(|(name, (old, new))| !name.is_empty() && old != new);
        let mut changed: Vec<String> = changed.map(|(name, _)| name.to_owned()).collect();
        if let Some(&from) = before {
            changed.extend(
                machine.changed_cells(own, from).into_iter().filter_map(|cell| image.cell_name(cell)),
            );
        }
        let what = match &changed[..] {
            [] => String::new(),
            [one] => format!(", in which {one} changes,"),
            several => format!(", in which {} change,", several.join(" and ")),
        };
        format!("the loop of {}{at}{what}", machine.process_name(image, process.0))
    }

    fn place(&self, process: ProcessId) -> Option<Place> {
        self.image.place(self.image.lines[self.machine.procs[process.index()].core.pc as usize].span)
    }

    fn location_name(&self, location: Location) -> Option<String> {
        self.image.cell_name(location.0)
    }
}

impl Machine {
    /// Whether a process is as it was before one of its steps, but for what others see of it.
    fn was_same(&self, process: u32, step: usize) -> bool {
        let (mark, proc) = (&self.marks[step], &self.procs[process as usize]);
        let local = |core: &Core| (core.pc, core.status, core.spawned, core.sent);
        local(&mark.core) == local(&proc.core)
            && mark.notified == proc.notified
            && self.saved_locals(step) == proc.locals
    }

    /// The cells that the steps of a process from one on have changed.
    fn changed_cells(&self, own: &[u32], from: u32) -> Vec<u32> {
        let steps = own.iter().filter(|&&step| step >= from);
        let mut cells: Vec<u32> = steps
            .flat_map(|&step| self.memory.writes(self.writes_of(step as usize)))
            .filter(|written| written.old != written.new)
            .map(|written| written.cell)
            .collect();
        cells.sort_unstable();
        cells.dedup();
        cells
    }

    /// The entries of the log of memory that a step made.
    fn writes_of(&self, step: usize) -> std::ops::Range<usize> {
        let end = self.marks.get(step + 1).map_or(self.memory.written(), |next| next.written as usize);
        self.marks[step].written as usize..end
    }

    /// Whether a step did anything to other processes: created one, woke one, sent a message or took one.
    fn touches_others(&self, step: usize) -> bool {
        let end = self.marks.get(step + 1).map_or(self.undo.len(), |next| next.undo as usize);
        self.marks[step].undo as usize != end
    }
}

/// The last steps of a process, of which more and more are looked at.
struct Way<'a> {
    machine: &'a Machine,
    image: &'a Image,
    process: u32,
    /// How many locks more were held before these steps than now.
    held: i32,
    /// Whether all that was done can be undone by writes.
    restored: bool,
    /// Each cell that was written, with what it held before the first of these writes and after the last.
    cells: Vec<(u32, i64, i64)>,
}

impl Way<'_> {
    /// Adds the step before.
    fn add(&mut self, step: usize) {
        self.restored &= !self.machine.touches_others(step);
        let holder = i64::from(self.process) + 1;
        for written in self.machine.memory.writes(self.machine.writes_of(step)).rev() {
            if (self.image.lock_base..self.image.condvar_base).contains(&written.cell) {
                self.held += i32::from(written.old == holder) - i32::from(written.new == holder);
            }
            match self.cells.iter_mut().find(|cell| cell.0 == written.cell) {
                Some(cell) => cell.1 = written.old,
                None => self.cells.push((written.cell, written.old, written.new)),
            }
        }
    }

    /// Whether what was written holds what it held before.
    fn restores(&self) -> bool {
        self.restored && self.cells.iter().all(|&(_, before, after)| before == after)
    }
}
