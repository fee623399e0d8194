//! What a search is told: blocks are lines with the locals of their process, pairs are looked at when they
//! are first met.

use std::collections::HashMap;
use std::sync::Arc;

use mazurka_constraints::{Block, Creation, Independence, Pair, SearchSolver, Settings, compose, refute};
use mazurka_program::Commutes;
use mazurka_smt::{Formula, Linear, Model, Var, Work};

use super::declared::formula;
use super::extract::{Locals, extract};
use super::ranges::Ranges;
use super::writes::MayWrite;
use crate::code::{DeclaredCode, Image};
use crate::dead::{Finder, Set};

/// How much may be done for a pair while a search waits.
const WORK: u64 = 300_000;
/// How many constraints are kept of a pair.
const MOST: usize = 16;
/// How many blocks are told apart: beyond that nothing is known of new ones.
const MOST_BLOCKS: usize = 5_000;

/// What is known of the blocks of a program that were met.
#[derive(Clone, Debug)]
pub(crate) struct Knowledge {
    writes: Arc<MayWrite>,
    ranges: Arc<Ranges>,
    /// By line and locals; none if nothing is known.
    numbers: HashMap<(u32, Vec<i64>), Option<u32>>,
    blocks: Vec<Arc<Block>>,
    /// Of each block, its line.
    lines: Vec<u32>,
    /// Of each block, whether its line is in no loop.
    once: Vec<bool>,
    pairs: HashMap<(u32, u32), Arc<PairKnowledge>>,
    solver: SearchSolver,
}

#[derive(Debug)]
struct PairKnowledge {
    independence: Independence,
    /// Conditions that the program declares, and that are proved.
    declared: Vec<Formula>,
    computed: Vec<Linear>,
    /// Whether all that is computed is of 64 bits in every state.
    fits: bool,
}

impl Knowledge {
    pub fn new(image: &Image, solver: SearchSolver) -> Knowledge {
        Knowledge {
            writes: Arc::new(MayWrite::find(image)),
            ranges: Arc::new(Ranges::find(image)),
            numbers: HashMap::new(),
            blocks: Vec::new(),
            lines: Vec::new(),
            once: Vec::new(),
            pairs: HashMap::new(),
            solver,
        }
    }

    /// The block of a process that stands at a line with these locals.
    pub fn block(&mut self, image: &Image, pc: u32, locals: &[i64]) -> Option<u32> {
        // There are few locals, and whoever asks does so for every step: the key is not kept from being made.
        let key = (pc, locals.to_vec());
        if let Some(&known) = self.numbers.get(&key) {
            return known;
        }
        let block = extract(image, pc, Locals::Known(locals)).ok();
        let number = block.filter(|_| self.blocks.len() < MOST_BLOCKS).map(|block| {
            self.blocks.push(Arc::new(block));
            self.lines.push(pc);
            self.once.push(!comes_again(image, pc));
            self.blocks.len() as u32 - 1
        });
        self.numbers.insert(key, number);
        number
    }

    /// Whether no process runs a block twice.
    pub fn is_once(&self, block: u32) -> bool {
        self.once.get(block as usize).is_some_and(|&once| once)
    }

    fn pair(&mut self, image: &Image, first: u32, second: u32) -> Option<Arc<PairKnowledge>> {
        let key = (first.min(second), first.max(second));
        if let Some(known) = self.pairs.get(&key) {
            return Some(Arc::clone(known));
        }
        let (one, other) = (self.blocks.get(key.0 as usize)?, self.blocks.get(key.1 as usize)?);
        let mut work = Work(WORK);
        let known = match compose(one, other, Creation::SameCreator, &mut work) {
            Ok(pair) => {
                let fits = pair.computed.iter().all(|sum| self.ranges.fits(image, sum));
                let independence =
                    self.solver.synthesise(&pair, self.ranges.invariant(image, &pair.differ), work, MOST);
                let declared = proved(image, [key.0, key.1].map(|block| self.lines[block as usize]), &pair);
                PairKnowledge { independence, declared, computed: pair.computed, fits }
            }
            Err(why) => {
                let independence = Independence::nothing(why);
                PairKnowledge { independence, declared: Vec::new(), computed: Vec::new(), fits: false }
            }
        };
        let known = Arc::new(known);
        self.pairs.insert(key, Arc::clone(&known));
        Some(known)
    }

    pub fn commute(&mut self, image: &Image, memory: &[i64], first: u32, second: u32) -> Commutes {
        let Some(pair) = self.pair(image, first, second) else { return Commutes::Unknown };
        if pair.fits && (pair.independence.always() || pair.declared.contains(&Formula::True)) {
            return Commutes::Always;
        }
        let holds = pair.holds_where(memory, &mut |_| true);
        if holds && pair.fits_in(memory) { Commutes::Here } else { Commutes::Unknown }
    }

    /// As [`Knowledge::commute`], in all states that can be reached by writing no more than `written`.
    pub fn commute_uniformly(
        &mut self,
        image: &Image,
        memory: &[i64],
        first: u32,
        second: u32,
        written: &Set,
    ) -> bool {
        let stays = &mut |cell: u32| !written.contains(image.var_of(cell));
        self.commute_while(image, memory, first, second, stays)
    }

    /// As [`Knowledge::commute`], in all states in which the cells that stay hold what they hold.
    pub fn commute_while(
        &mut self,
        image: &Image,
        memory: &[i64],
        first: u32,
        second: u32,
        stays: &mut dyn FnMut(u32) -> bool,
    ) -> bool {
        let Some(pair) = self.pair(image, first, second) else { return false };
        let mut stays = |var: Var| stays(var.0);
        let fits = pair.fits || (pair.fits_in(memory) && pair.computed_vars().all(&mut stays));
        fits && pair.holds_where(memory, &mut stays)
    }

    /// Adds what may be written from a line on.
    pub fn add_written(&self, pc: u32, into: &mut Set) {
        if let Some(written) = self.writes.lines.get(pc as usize) {
            into.add_all(written);
        }
    }
}

impl PairKnowledge {
    /// Whether a constraint holds that is about such variables only.
    fn holds_where(&self, memory: &[i64], about: &mut dyn FnMut(Var) -> bool) -> bool {
        let found = self.independence.constraints.iter().any(|constraint| {
            let vars = constraint.vars();
            vars.iter().copied().all(&mut *about) && constraint.holds(&present(memory, vars)) == Some(true)
        });
        found
            || self.declared.iter().any(|condition| {
                let vars = condition.vars();
                vars.iter().copied().all(&mut *about) && condition.holds(&present(memory, vars)) == Some(true)
            })
    }

    fn computed_vars(&self) -> impl Iterator<Item = Var> + '_ {
        self.computed.iter().flat_map(|sum| sum.terms()).map(|&(var, _)| var)
    }

    /// Whether all that is computed in either order is of 64 bits, in this state.
    fn fits_in(&self, memory: &[i64]) -> bool {
        let model = present(memory, self.computed_vars());
        self.fits
            || self.computed.iter().all(|sum| sum.value(&model).is_some_and(|sum| i64::try_from(sum).is_ok()))
    }
}

/// The conditions that a program declares of two lines, as far as they are proved of a pair of their blocks.
fn proved(image: &Image, lines: [u32; 2], pair: &Pair) -> Vec<Formula> {
    let is_theirs =
        |declared: &&DeclaredCode| declared.lines == lines || declared.lines == [lines[1], lines[0]];
    let conditions =
        image.declared.iter().filter(is_theirs).filter_map(|declared| formula(image, declared).ok());
    let settings = Settings { work: WORK, ..Settings::default() };
    conditions.filter(|condition| refute(pair, condition, &settings) == Ok(None)).collect()
}

/// Whether a process that stands at a line may come there again.
fn comes_again(image: &Image, pc: u32) -> bool {
    let finder = Finder { image };
    let successors = |pc: u32| match image.lines.get(pc as usize) {
        Some(line) => finder.successors(pc, &line.instr),
        None => Vec::new(),
    };
    let (mut seen, mut rest) = (vec![false; image.lines.len()], successors(pc));
    while let Some(next) = rest.pop() {
        if next == pc {
            return true;
        }
        if seen.get(next as usize) == Some(&false) {
            seen[next as usize] = true;
            rest.extend(successors(next));
        }
    }
    false
}

/// What shared cells hold.
fn present(memory: &[i64], vars: impl IntoIterator<Item = Var>) -> Model {
    let value = |var: Var| memory.get(var.0 as usize).map(|&value| (var, value.into()));
    Model(vars.into_iter().filter_map(value).collect())
}
