//! Gets that never block: of a variable whose future an await, or another get, has seen resolved on every
//! path.

use crate::model::Target;

use super::super::code::{AwaitCode, Instr, NONE};
use super::target_of;

/// Marks the gets that never block.
pub(super) fn mark(code: &mut [Instr], slots: u32, awaits: &[AwaitCode]) {
    let mut known: Vec<Option<Vec<bool>>> = vec![None; code.len()];
    let mut rest = vec![(0, vec![false; slots as usize])];
    while let Some((pc, arriving)) = rest.pop() {
        let Some(here) = known.get_mut(pc) else { continue };
        let merged = match here {
            None => arriving,
            // What is known is what is known on every path.
            Some(old) => {
                let merged: Vec<bool> = old.iter().zip(&arriving).map(|(a, b)| *a && *b).collect();
                if merged == *old {
                    continue;
                }
                merged
            }
        };
        *here = Some(merged.clone());
        let after = transfer(&code[pc], merged, awaits);
        successors(code, pc, |next| {
            // A handler may be entered from anywhere: nothing is known there.
            let to_handler = matches!(code[pc], Instr::Enter { .. }) && next != pc + 1;
            rest.push((next, if to_handler { vec![false; after.len()] } else { after.clone() }));
        });
    }
    for (instr, known) in code.iter_mut().zip(known) {
        if let (Instr::Get { slot, resolved, .. }, Some(known)) = (instr, known) {
            *resolved = *slot != NONE && known[*slot as usize];
        }
    }
}

fn transfer(instr: &Instr, mut known: Vec<bool>, awaits: &[AwaitCode]) -> Vec<bool> {
    let mut note = |slot: u32, value: bool| {
        if let Some(known) = known.get_mut(slot as usize) {
            *known = value;
        }
    };
    match instr {
        Instr::Await(index) => awaits[*index as usize].futures.iter().for_each(|&(_, slot)| note(slot, true)),
        Instr::Get { slot, .. } => note(*slot, true),
        Instr::Next { element, index, .. } => {
            note(*element, false);
            note(*index, false);
        }
        // Patterns bind slots of their own, which the source can't have awaited before.
        Instr::Switch(..) | Instr::Catch(..) => known.iter_mut().for_each(|known| *known = false),
        _ => {}
    }
    if let Some(Target::Slot(slot)) = target_of(instr)
        && let Some(known) = known.get_mut(slot.index())
    {
        *known = false;
    }
    known
}

/// Where control may go from an instruction, exceptions apart: those go where an [`Instr::Enter`] says.
pub(super) fn successors(code: &[Instr], pc: usize, mut with: impl FnMut(usize)) {
    match &code[pc] {
        Instr::Jump(to) => with(*to as usize),
        Instr::JumpUnless(_, to) | Instr::Next { end: to, .. } | Instr::Enter { at: to, .. } => {
            with(pc + 1);
            with(*to as usize);
        }
        Instr::Switch(_, branches) | Instr::Catch(branches) => {
            branches.iter().for_each(|&(_, to)| with(to as usize));
        }
        Instr::Throw(_) | Instr::Return(_) => {}
        _ => with(pc + 1),
    }
}
