//! The blocks of a program, for people: every line that is a step, with locals of which nothing is known.

use mazurka_constraints::{Block, Described, Settings, Table};

use super::Judged;
use super::extract::{Locals, extract};
use crate::code::{Image, Instr};
use crate::dead::MayRead;

/// When the steps of a program commute. Locals that nobody reads any more do not count.
pub(crate) fn table(image: &Image, judged: Option<&Judged>, settings: &Settings) -> Table {
    let may_read = MayRead::find(image);
    let mut blocks = Vec::new();
    for (body, code) in image.bodies.iter().enumerate() {
        let steps: Vec<u32> =
            (code.entry..=code.end).filter(|&pc| image.lines[pc as usize].step && !ends(image, pc)).collect();
        for &pc in &steps {
            let line = image.line_number(image.lines[pc as usize].span).unwrap_or(0);
            let block = extract(image, pc, Locals::Unknown(code.locals.len() as u32));
            let name = if steps.len() == 1 { code.name.clone() } else { format!("{}:{line}", code.name) };
            blocks.push(Described {
                name,
                text: image.texts[pc as usize].clone(),
                line,
                body: body as u32,
                several: several(image, body as u32),
                own: code.locals.iter().map(|local| local.name.clone()).collect(),
                block: block.map(|block| without_dead(block, &may_read)).map_err(str::to_owned),
            });
        }
    }
    let shared: Vec<String> =
        (0..image.var_cells).map(|cell| image.cell_name(cell).unwrap_or_default()).collect();
    let declared = judged.map_or_else(Vec::new, |judged| judged.rows(image));
    Table { declared, ..Table::new(blocks, &shared, &[], settings) }
}

/// The end of a process is a step that shares nothing but itself.
fn ends(image: &Image, pc: u32) -> bool {
    matches!(image.lines[pc as usize].instr, Instr::Exit | Instr::Finish)
}

/// Whether several processes may run a body: those of a family, and tasks.
fn several(image: &Image, body: u32) -> bool {
    let family = image.families.iter().find(|family| family.body == body);
    family.is_none_or(|family| family.len > 1)
}

/// Leaves out what a block tells of locals that are not read any more, wherever it goes.
pub(super) fn without_dead(mut block: Block, may_read: &MayRead) -> Block {
    let targets: Vec<usize> = block
        .paths
        .iter()
        .filter_map(|path| usize::try_from(path.results.first()?.as_constant()?).ok())
        .collect();
    let lives = |slot: u32| {
        targets.iter().any(|&pc| may_read.lines.get(pc).is_some_and(|reads| reads.locals.contains(slot)))
    };
    for path in &mut block.paths {
        let mut at = 0;
        path.results.retain(|_| {
            at += 1;
            at == 1 || lives(at - 2)
        });
    }
    block
}
