//! What may be written from a line on, by the process that stands there and by those that it may create.

use crate::code::{Image, Instr, Op, Tree};
use crate::dead::{Finder, Set};

/// For each line, the shared variables that may be written from there on.
#[derive(Clone, Debug)]
pub(crate) struct MayWrite {
    pub lines: Vec<Set>,
}

impl MayWrite {
    pub fn find(image: &Image) -> MayWrite {
        let mut lines: Vec<Set> = image.lines.iter().map(|line| of_line(image, &line.instr)).collect();
        let finder = Finder { image };
        let mut news = true;
        while news {
            news = false;
            for pc in (0..lines.len()).rev() {
                let instr = &image.lines[pc].instr;
                let mut next = finder.successors(pc as u32, instr);
                if let Instr::Spawn(spawn) = instr {
                    next.push(image.bodies[image.spawns[*spawn as usize].body as usize].entry);
                }
                for after in next {
                    let Some(after) = lines.get(after as usize).cloned() else { continue };
                    news |= lines[pc].add_all(&after);
                }
            }
        }
        MayWrite { lines }
    }
}

fn of_line(image: &Image, instr: &Instr) -> Set {
    let mut written = Set::default();
    let mut op = |op: Op| {
        if let Some(to) = op.target() {
            written.insert(to.var);
        }
    };
    match instr {
        Instr::Op(one) => op(*one),
        Instr::Atomic(atomic) => Tree::each(&image.atomics[*atomic as usize].body, &mut |tree| {
            if let Tree::Op(one) = tree {
                op(*one);
            }
        }),
        _ => {}
    }
    written
}
