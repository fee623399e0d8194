//! Declared constraints: whether they are proved, a state refutes them, or neither can be told from the text.
//!
//! A constraint says of two blocks that both orders of them agree in every state in which its condition holds,
//! whether the program can come to that state or not. Where that can't be told, both orders are run whenever
//! both blocks are next ([`LitmusRun`](crate::LitmusRun)); a search relies on what is proved only.

use mazurka_constraints::{Block, Creation, DeclaredRow, Settings, Standing, compose, refute};
use mazurka_smt::{Formula, Model, Work};

use super::extract::{Locals, condition, extract};
use super::table::without_dead;
use crate::code::{DeclaredCode, Image};
use crate::dead::MayRead;

/// How much may be done for one.
const WORK: u64 = 300_000;

/// What is known of the declared constraints of a program.
#[derive(Debug)]
pub(crate) struct Judged {
    /// Of each.
    pub standings: Vec<Standing>,
    /// Local variables that nobody reads any more are no part of what the orders may differ in.
    pub may_read: std::sync::Arc<MayRead>,
}

impl Judged {
    /// None if nothing is declared.
    pub fn of(image: &Image) -> Option<Judged> {
        if image.declared.is_empty() {
            return None;
        }
        let settings = Settings { work: WORK, ..Settings::default() };
        let may_read = MayRead::find(image);
        let judge = |declared| judge(image, declared, &may_read, &settings);
        let standings = image.declared.iter().map(judge).collect();
        Some(Judged { standings, may_read: may_read.into() })
    }

    /// For people.
    pub fn rows(&self, image: &Image) -> Vec<DeclaredRow> {
        let row = |(declared, standing): (&DeclaredCode, &Standing)| DeclaredRow {
            text: declared.text.clone(),
            line: image.line_number(declared.span).unwrap_or(0),
            standing: standing.clone(),
        };
        image.declared.iter().zip(&self.standings).map(row).collect()
    }
}

fn judge(image: &Image, declared: &DeclaredCode, may_read: &MayRead, settings: &Settings) -> Standing {
    try_to_judge(image, declared, may_read, settings).unwrap_or_else(Standing::Open)
}

fn try_to_judge(
    image: &Image,
    declared: &DeclaredCode,
    may_read: &MayRead,
    settings: &Settings,
) -> Result<Standing, String> {
    let holds = formula(image, declared).map_err(|why| format!("its condition {why}"))?;
    let block = |at: usize| {
        let pc = declared.lines[at];
        let body = image.bodies.iter().find(|body| (body.entry..=body.end).contains(&pc));
        let locals = body.map_or(0, |body| body.locals.len() as u32);
        let block = extract(image, pc, Locals::Unknown(locals));
        block
            .map(|block| without_dead(block, may_read))
            .map_err(|why| format!("{} {why}", declared.names[at]))
    };
    let (first, second) = (block(0)?, block(1)?);
    let pair = compose(&first, &second, Creation::SameCreator, &mut Work(settings.work))?;
    if pair.differ.vars().iter().any(|var| var.0 >= image.var_cells) {
        return Err("its blocks use local variables".to_owned());
    }
    Ok(match refute(&pair, &holds, settings)? {
        None => Standing::Proved,
        Some(state) => {
            Standing::Refuted(told(image, &declared.names, [&first, &second], &pair.differ, &state))
        }
    })
}

/// Where a declared constraint is to hold.
pub(super) fn formula(image: &Image, declared: &DeclaredCode) -> Result<Formula, &'static str> {
    declared.condition.as_ref().map_or(Ok(Formula::True), |holds| condition(image, holds.node))
}

/// The state that refutes a constraint, and what the orders make of it.
fn told(image: &Image, names: &[String; 2], blocks: [&Block; 2], differ: &Formula, state: &Model) -> String {
    let cell = |cell: u32| image.cell_name(cell).unwrap_or_default();
    let values = differ.vars().into_iter().map(|var| format!("{} = {}", cell(var.0), state.value(var)));
    let values: Vec<String> = values.collect();
    let state_told =
        if values.is_empty() { "in every state".to_owned() } else { format!("where {}", values.join(", ")) };
    let [a, b] = names;
    let in_order = |first: usize, second: usize| run(blocks[second], &run(blocks[first], state)?);
    let how = match (in_order(0, 1), in_order(1, 0)) {
        (Some(one), Some(other)) => {
            let vars = one.0.keys().chain(other.0.keys()).copied().collect::<std::collections::BTreeSet<_>>();
            let differs =
                vars.into_iter().find(|&var| var.0 < image.var_cells && one.value(var) != other.value(var));
            differs.map(|var| {
                let name = cell(var.0);
                format!(
                    "{a} before {b} leaves {name} = {}, {b} before {a} {name} = {}",
                    one.value(var),
                    other.value(var)
                )
            })
        }
        (None, Some(_)) => Some(format!("{a} before {b} can't be, {b} before {a} can")),
        (Some(_), None) => Some(format!("{a} before {b} can be, {b} before {a} can't")),
        (None, None) => None,
    };
    let how = how.unwrap_or_else(|| format!("{a} and {b} know, or tell, something else in the other order"));
    format!("{state_told}: {how}")
}

/// What shared variables hold after a block; none if it waits.
fn run(block: &Block, state: &Model) -> Option<Model> {
    let holds =
        |formula: &Option<Formula>| formula.as_ref().is_none_or(|formula| formula.holds(state) == Some(true));
    let path = block.paths.iter().find(|path| holds(&path.condition)).filter(|_| holds(&block.guard))?;
    let mut after = state.clone();
    for (&var, sum) in &path.assigned {
        after.0.insert(var, sum.value(state)?);
    }
    Some(after)
}
