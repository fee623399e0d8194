//! What a process does between its steps: lines that touch nothing shared, up to the next that does.
//!
//! A loop that comes back to the same line with the same locals never ends; Brent's algorithm finds that: the
//! state is kept at each power of two of the laps and compared with those that follow.

use mazurka_program::Stop;

use super::Machine;
use super::eval::Unrecorded;
use super::process::{Halt, Status, Wait};
use super::step::Executor;
use crate::code::{Image, Instr, NONE};

/// How many lines without a step are too many.
const MAX_LOCAL: u32 = 10_000_000;

impl Machine {
    /// Lets a process run to its next step or its end.
    #[inline]
    pub(super) fn advance(&mut self, image: &Image, p: u32) {
        let core = &self.procs[p as usize].core;
        if core.status == Status::Live {
            if image.lines[core.pc as usize].step {
                self.arrive(image, p);
            } else {
                self.run_on(image, p);
            }
        }
    }

    fn run_on(&mut self, image: &Image, p: u32) {
        let mut laps = Laps::default();
        for _ in 0..MAX_LOCAL {
            self.lines_run += 1;
            let pc = self.procs[p as usize].core.pc;
            let line = &image.lines[pc as usize];
            if line.step {
                return self.arrive(image, p);
            }
            match self.local(image, p, pc, &line.instr) {
                Ok(next) => self.procs[p as usize].core.pc = next,
                Err(halt) => self.halt(image, p, halt),
            }
            let proc = &self.procs[p as usize];
            if proc.core.status != Status::Live {
                return;
            }
            if proc.core.pc <= pc && laps.repeats(proc.core.pc, &proc.locals) {
                self.halt(image, p, Halt::Hang);
            }
        }
        self.halt(image, p, Halt::Overrun);
    }

    /// Runs a line that is no step; gives the next.
    fn local(&mut self, image: &Image, p: u32, pc: u32, instr: &Instr) -> Result<u32, Halt> {
        let mut executor = Executor { machine: self, image, process: p, record: &mut Unrecorded };
        match *instr {
            Instr::Op(op) => executor.op(op)?,
            Instr::Branch { condition, otherwise } => {
                if executor.value(condition)? == 0 {
                    return Ok(otherwise);
                }
            }
            Instr::Jump(to) => return Ok(to),
            Instr::ForStart(code) => executor.for_start(&image.fors[code as usize])?,
            Instr::ForNext { code, exit } => {
                let code = image.fors[code as usize];
                let locals = &mut self.procs[p as usize].locals;
                if locals[code.left as usize] <= 0 {
                    return Ok(exit);
                }
                locals[code.left as usize] -= 1;
                locals[code.slot as usize] = locals[code.next as usize];
                locals[code.next as usize] = locals[code.next as usize].wrapping_add(1);
            }
            Instr::ForEnd(code) => {
                let code = image.fors[code as usize];
                self.set_local(p, code.next, 0);
                self.set_local(p, code.left, 0);
            }
            _ => self.finish(p),
        }
        Ok(pc + 1)
    }

    /// Ends a process, or stops it for good.
    pub(super) fn halt(&mut self, image: &Image, p: u32, halt: Halt) {
        match halt {
            Halt::Assumed => {
                self.procs[p as usize].core.status = Status::Halted;
                self.assumed += 1;
                self.set_enabled(p, false);
            }
            Halt::Overrun => {
                self.procs[p as usize].core.status = Status::Overrun;
                self.overran = Some(p);
                self.set_enabled(p, true);
            }
            _ => {
                self.halted(image, p, halt);
                let proc = &mut self.procs[p as usize];
                proc.core.pc = image.bodies[proc.body as usize].end;
            }
        }
    }

    pub(super) fn finish(&mut self, p: u32) {
        self.procs[p as usize].core.status = Status::Finished;
        self.signal = true;
        self.set_enabled(p, false);
    }

    /// Why the run can't go on once a process has run too long.
    pub(super) fn overrun(&self, image: &Image, p: u32) -> Stop {
        let place = image.place(image.lines[self.procs[p as usize].core.pc as usize].span);
        let at = place.map(|place| format!(" at {place}")).unwrap_or_default();
        let name = self.process_name(image, p);
        Stop::Bound(format!(
            "{name} ran {MAX_LOCAL} lines{at} without coming to its next step; make its loop end sooner"
        ))
    }

    /// Makes room for a process that may be new.
    pub(super) fn make_room(&mut self, p: u32) {
        while self.procs.len() <= p as usize {
            self.procs.push(super::Proc::absent());
        }
    }

    /// Creates a process that stands at the beginning of a body.
    pub(super) fn create(&mut self, image: &Image, p: u32, parent: u32, body: u32, args: &[i64]) {
        self.make_room(p);
        let code = &image.bodies[body as usize];
        let proc = &mut self.procs[p as usize];
        proc.core = super::process::Core {
            pc: code.entry,
            status: Status::Live,
            wait: Wait::Free,
            guard: NONE,
            spawned: 0,
            sent: 0,
            head: 0,
            loops: false,
        };
        proc.body = body;
        proc.parent = parent;
        proc.notified = false;
        proc.locals.clear();
        proc.locals.extend_from_slice(args);
        proc.locals.resize(code.locals.len(), 0);
        if code.handles {
            for (value, local) in proc.locals.iter_mut().zip(&code.locals).filter(|(_, local)| local.handle) {
                debug_assert!(local.handle);
                *value = -1;
            }
        }
    }
}

/// The laps of local loops within one step.
#[derive(Default)]
struct Laps {
    count: u32,
    /// The state that later ones are compared with, and the lap at which it is replaced.
    pc: u32,
    locals: Vec<i64>,
    until: u32,
}

impl Laps {
    /// Counts a lap; says whether the state at its end has been there before.
    fn repeats(&mut self, pc: u32, locals: &[i64]) -> bool {
        self.count += 1;
        // Most loops are short: keep nothing for those.
        if self.count < 8 {
            return false;
        }
        if self.until > 0 && self.pc == pc && self.locals == locals {
            return true;
        }
        if self.count >= self.until {
            self.until = self.count * 2;
            self.pc = pc;
            self.locals.clear();
            self.locals.extend_from_slice(locals);
        }
        false
    }
}
