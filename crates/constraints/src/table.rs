//! The constraints of a whole program, for people.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use mazurka_smt::{Formula, Linear, Var, Work};

use crate::{Block, Creation, Names, Settings, compose, show_constraint, synthesise};

/// A block with what it is called.
#[derive(Clone, Debug)]
pub struct Described {
    /// Its name.
    pub name: String,
    /// What it does, as its source has it.
    pub text: String,
    /// Its line, from 1; 0 if it has none.
    pub line: u32,
    /// Which code it belongs to: blocks of the same code are run by different processes only if there are
    /// several.
    pub body: u32,
    /// Whether several processes may run that code.
    pub several: bool,
    /// What its own variables are called.
    pub own: Vec<String>,
    /// What it does; else why that is not known, to follow its name.
    pub block: Result<Block, String>,
}

/// Two blocks and when they commute.
#[derive(Clone, Debug)]
pub struct PairRow {
    /// Two of the blocks, by number.
    pub blocks: (usize, usize),
    /// Conjunctions in the program's own names.
    pub constraints: Vec<String>,
    /// Whether they do not commute wherever none of these holds.
    pub necessary: bool,
    /// What kept more from being known.
    pub note: Option<String>,
    /// How long that took.
    pub time: Duration,
}

/// What is known of a constraint that a program declares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It holds in every state.
    Proved,
    /// It does not hold: the state that shows it, and how.
    Refuted(String),
    /// Neither can be told from the text, for this reason.
    Open(String),
}

/// A constraint that a program declares.
#[derive(Clone, Debug)]
pub struct DeclaredRow {
    /// As its source has it.
    pub text: String,
    /// Its line, from 1; 0 if it has none.
    pub line: u32,
    /// What is known of it.
    pub standing: Standing,
}

/// All pairs of blocks that touch something in common, and how many do not.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// The blocks.
    pub blocks: Vec<Described>,
    /// Pairs of those of which something is known, and that touch something in common.
    pub pairs: Vec<PairRow>,
    /// How many pairs have nothing in common: they commute always.
    pub apart: usize,
    /// What the program declares.
    pub declared: Vec<DeclaredRow>,
}

impl Table {
    /// Looks at all pairs. Shared variables and functions have these names.
    pub fn new(
        blocks: Vec<Described>,
        shared: &[String],
        functions: &[String],
        settings: &Settings,
    ) -> Table {
        let mut table = Table { blocks, ..Table::default() };
        for second in 0..table.blocks.len() {
            for first in 0..=second {
                let (one, other) = (&table.blocks[first], &table.blocks[second]);
                if one.body == other.body && !one.several {
                    continue;
                }
                let (Ok(left), Ok(right)) = (&one.block, &other.block) else { continue };
                if !conflict(left, right) {
                    table.apart += 1;
                    continue;
                }
                let row =
                    pair(table_pair(one, left, other, right), (first, second), shared, functions, settings);
                table.pairs.push(row);
            }
        }
        table.pairs.sort_by_key(|row| row.blocks);
        table
    }
}

struct TablePair<'a> {
    blocks: [&'a Block; 2],
    own: Vec<String>,
}

/// The second block's names are told from the first's by a 1, as papers do.
fn table_pair<'a>(one: &Described, left: &'a Block, other: &Described, right: &'a Block) -> TablePair<'a> {
    let mut own: Vec<String> = one.own.clone();
    own.resize(left.own as usize, String::from("?"));
    let theirs: Vec<String> = other
        .own
        .iter()
        .map(|name| if one.own.contains(name) { format!("{name}1") } else { name.clone() })
        .collect();
    own.extend(theirs);
    TablePair { blocks: [left, right], own }
}

fn pair(
    pair: TablePair<'_>,
    blocks: (usize, usize),
    shared: &[String],
    functions: &[String],
    settings: &Settings,
) -> PairRow {
    let start = Instant::now();
    let [left, right] = pair.blocks;
    let mut row =
        PairRow { blocks, constraints: Vec::new(), necessary: false, note: None, time: Duration::ZERO };
    match compose(left, right, Creation::Anyone, &mut Work(settings.work)) {
        Err(why) => row.note = Some(why.to_owned()),
        Ok(composed) => {
            let found = synthesise(&composed, settings);
            let vars = shared.iter().chain(&pair.own).cloned().collect();
            let names = Names { vars, functions: functions.to_vec(), applications: composed.applications };
            let shown = found.constraints.iter().map(|constraint| show_constraint(constraint, &names));
            row.constraints = shown.collect();
            (row.necessary, row.note) = (found.necessary, found.note);
        }
    }
    row.time = start.elapsed();
    row
}

/// Whether one writes what the other reads or writes, or both create or tell something.
fn conflict(left: &Block, right: &Block) -> bool {
    let (one, other) = (touched(left), touched(right));
    let effects = |block: &Block| block.paths.iter().any(|path| !path.effects.is_empty() || path.fatal);
    !one.1.is_disjoint(&other.0) || !one.0.is_disjoint(&other.1) || (effects(left) && effects(right))
}

/// What a block may touch, and what it may write.
fn touched(block: &Block) -> (BTreeSet<Var>, BTreeSet<Var>) {
    let (mut all, mut written) = (BTreeSet::new(), BTreeSet::new());
    let mut sum = |sum: &Linear| all.extend(sum.terms().iter().map(|&(var, _)| var));
    let mut conditions: Vec<&Formula> = block.guard.iter().collect();
    for path in &block.paths {
        conditions.extend(&path.condition);
        written.extend(path.assigned.keys().copied());
        path.assigned.values().for_each(&mut sum);
        path.results.iter().for_each(&mut sum);
        path.effects.iter().flat_map(|effect| &effect.arguments).for_each(&mut sum);
    }
    block.applications.iter().flat_map(|one| &one.arguments).for_each(&mut sum);
    conditions.iter().for_each(|formula| all.extend(formula.vars()));
    all.extend(written.iter().copied());
    all.retain(|var| var.0 < block.shared);
    (all, written)
}
