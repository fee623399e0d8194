//! What a search is told: blocks are lines with the locals of their process, pairs are looked at when they
//! are first met.

use std::collections::HashMap;
use std::sync::Arc;

use mazurka_constraints::{Block, Creation, Independence, Settings, compose, synthesise};
use mazurka_program::Commutes;
use mazurka_smt::{Linear, Model, Var, Work};

use super::extract::{Locals, extract};
use super::ranges::Ranges;
use super::writes::MayWrite;
use crate::code::Image;
use crate::dead::Set;

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
    pairs: HashMap<(u32, u32), Arc<PairKnowledge>>,
}

#[derive(Debug)]
struct PairKnowledge {
    independence: Independence,
    computed: Vec<Linear>,
    /// Whether all that is computed is of 64 bits in every state.
    fits: bool,
}

impl Knowledge {
    pub fn new(image: &Image) -> Knowledge {
        Knowledge {
            writes: Arc::new(MayWrite::find(image)),
            ranges: Arc::new(Ranges::find(image)),
            numbers: HashMap::new(),
            blocks: Vec::new(),
            pairs: HashMap::new(),
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
            self.blocks.len() as u32 - 1
        });
        self.numbers.insert(key, number);
        number
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
                let settings = Settings { work: work.0, most: MOST, ..Settings::default() };
                let fits = pair.computed.iter().all(|sum| self.ranges.fits(image, sum));
                PairKnowledge { independence: synthesise(&pair, &settings), computed: pair.computed, fits }
            }
            Err(why) => {
                PairKnowledge { independence: Independence::nothing(why), computed: Vec::new(), fits: false }
            }
        };
        let known = Arc::new(known);
        self.pairs.insert(key, Arc::clone(&known));
        Some(known)
    }

    pub fn commute(&mut self, image: &Image, memory: &[i64], first: u32, second: u32) -> Commutes {
        let Some(pair) = self.pair(image, first, second) else { return Commutes::Unknown };
        if pair.fits && pair.independence.always() {
            return Commutes::Always;
        }
        let holds = pair
            .independence
            .constraints
            .iter()
            .any(|constraint| constraint.holds(&present(memory, constraint.vars())) == Some(true));
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
        let Some(pair) = self.pair(image, first, second) else { return false };
        let stays = |var: Var| !written.contains(image.var_of(var.0));
        let fits = pair.fits || (pair.fits_in(memory) && pair.computed_vars().all(stays));
        fits && pair.independence.constraints.iter().any(|constraint| {
            let vars = constraint.vars();
            vars.iter().copied().all(stays) && constraint.holds(&present(memory, vars)) == Some(true)
        })
    }

    /// Adds what may be written from a line on.
    pub fn add_written(&self, pc: u32, into: &mut Set) {
        if let Some(written) = self.writes.lines.get(pc as usize) {
            into.add_all(written);
        }
    }
}

impl PairKnowledge {
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

/// What shared cells hold.
fn present(memory: &[i64], vars: impl IntoIterator<Item = Var>) -> Model {
    let value = |var: Var| memory.get(var.0 as usize).map(|&value| (var, value.into()));
    Model(vars.into_iter().filter_map(value).collect())
}
