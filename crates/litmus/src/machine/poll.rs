//! Polls: a step that only reads one cell and leads back to where it was is not taken.
//!
//! A process that stands at such a step waits until the cell holds something that leads elsewhere, as at an
//! `await`: to take the step would change nothing. Where it waits for ever it goes round and round, which is a
//! livelock and no deadlock.

use super::Machine;
use super::eval::{Now, Reader, Unrecorded, eval, place};
use super::process::{GuardKind, Wait};
use super::step::rounds;
use crate::code::{Image, Instr, Mention, NONE, Op, Watched};

/// So many lines are run to see where a step leads.
const MOST_LINES: usize = 1000;

/// What a poll sees: the one cell that it watches.
struct View(i64);

impl Reader for View {
    fn read(&mut self, _: u32) -> i64 {
        self.0
    }
}

impl Machine {
    /// What a process waits for that has come to a step which may be a poll.
    pub(super) fn wait_to_change(&mut self, image: &Image, p: u32, poll: u32) -> Wait {
        let cell = match image.polls[poll as usize] {
            Watched::Lock(lock) => self.lock_cell(image, p, lock).ok(),
            Watched::Cell(Mention::Indexed(to)) => {
                let locals = &self.procs[p as usize].locals;
                place(image, locals, to, &mut Now(&self.memory, &mut Unrecorded)).ok()
            }
            Watched::Cell(Mention::Cell(cell)) => Some(cell),
            Watched::Cell(Mention::Whole(_)) => None,
        };
        // An index out of range fails, whatever others do.
        let Some(cell) = cell else { return Wait::Free };
        let pc = self.procs[p as usize].core.pc;
        self.capture(p, cell, GuardKind::Change { pc, cell }, true);
        Wait::Change(cell)
    }
}

/// Whether a process that stands at a poll with these locals stands there again with the same locals, where
/// the cell that it watches holds a value.
pub(super) fn leads_back(image: &Image, start: u32, before: &[i64], value: i64) -> bool {
    let mut locals = before.to_vec();
    let Some(mut pc) = take_poll(image, start, &mut locals, value) else { return false };
    for _ in 0..MOST_LINES {
        if image.lines[pc as usize].step {
            return pc == start && locals == before;
        }
        let Some(next) = run_line(image, pc, &mut locals) else { return false };
        pc = next;
    }
    false
}

/// Takes a step that only reads; gives the next line, none if it does anything else or fails.
fn take_poll(image: &Image, pc: u32, locals: &mut [i64], value: i64) -> Option<u32> {
    let dest = match image.lines[pc as usize].instr {
        Instr::TryLock { dest, .. } => (value != 0).then_some(dest)?,
        Instr::Op(Op::Cas { dest, old, .. }) => {
            (eval(image, locals, old, &mut View(value)).ok()? != value).then_some(dest)?
        }
        _ => return run_with(image, pc, locals, &mut View(value)),
    };
    if dest != NONE {
        locals[dest as usize] = 0;
    }
    Some(pc + 1)
}

/// Runs a line that touches nothing shared.
fn run_line(image: &Image, pc: u32, locals: &mut [i64]) -> Option<u32> {
    run_with(image, pc, locals, &mut View(0))
}

fn run_with(image: &Image, pc: u32, locals: &mut [i64], view: &mut View) -> Option<u32> {
    let mut value = |locals: &[i64], node| eval(image, locals, node, view).ok();
    match image.lines[pc as usize].instr {
        Instr::Op(Op::Local { slot, value: node }) => {
            let value = value(locals, node)?;
            if slot != NONE {
                locals[slot as usize] = value;
            }
        }
        Instr::Op(Op::Assert(index)) => {
            (value(locals, image.conditions[index as usize].node)? != 0).then_some(())?;
        }
        Instr::Op(Op::Assume(node)) => (value(locals, node)? != 0).then_some(())?,
        Instr::Branch { condition, otherwise } => {
            if value(locals, condition)? == 0 {
                return Some(otherwise);
            }
        }
        Instr::Jump(to) => return Some(to),
        Instr::ForStart(code) => {
            let code = image.fors[code as usize];
            let (from, to) = (value(locals, code.from)?, value(locals, code.to)?);
            locals[code.next as usize] = from;
            locals[code.left as usize] = rounds(from, to, code.inclusive);
        }
        // A loop that counts does not come back to where it was within one round.
        _ => return None,
    }
    Some(pc + 1)
}
