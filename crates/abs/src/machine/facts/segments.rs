//! Where a segment can lead that begins at some place of a body.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{Pattern, Target};

use super::super::code::{Body, Image, Instr, NONE, Op};
use super::resolved::successors;
use super::{callees, can_block, expressions, is_only, patterns, target_of};

/// What a segment may do.
#[derive(Clone, Debug, Default)]
pub struct SegmentFacts {
    /// Whether it may reach the end of its body.
    pub may_end: bool,
    /// Whether it may end with the cog locked.
    pub may_block: bool,
    /// The variables whose futures it may ask for, as they are when it begins.
    pub asks: Vec<u32>,
    /// Whether it may ask for a future that it takes from elsewhere.
    pub any_future: bool,
}

/// For every place where a segment can begin: the start of a body, behind what can wait, a handler.
pub(super) fn find(image: &Image, has_local: bool, continuing: bool) -> BTreeMap<(u32, u32), SegmentFacts> {
    let finder = Finder { image, continuing };
    let mut found = BTreeMap::new();
    for (index, body) in image.bodies.iter().enumerate() {
        found.insert((index as u32, 0), finder.facts(body, 0));
        for (pc, instr) in body.code.iter().enumerate() {
            let start = match instr {
                Instr::Await(_) | Instr::Suspend => pc as u32 + 1,
                Instr::SyncCall { .. } => pc as u32 + 1,
                Instr::Enter { at, .. } => *at,
                _ if can_block(instr) => pc as u32 + 1,
                _ => continue,
            };
            found.entry((index as u32, start)).or_insert_with(|| finder.facts(body, start));
        }
    }
    // What is called within a segment is part of it.
    let entries: Vec<SegmentFacts> =
        image.methods.iter().map(|method| found[&(method.body, 0)].clone()).collect();
    for (&(body, _), facts) in &mut found {
        for method in callees(image, body, has_local) {
            let (callee, code) = (&entries[method as usize], &image.methods[method as usize]);
            facts.may_block |= callee.may_block;
            // What its parameters hold is not known here.
            facts.any_future |= callee.any_future || callee.asks.iter().any(|&slot| slot < code.parameters);
        }
    }
    found
}

struct Finder<'a> {
    image: &'a Image,
    continuing: bool,
}

impl Finder<'_> {
    fn facts(&self, body: &Body, start: u32) -> SegmentFacts {
        let mut facts = SegmentFacts::default();
        let mut asks = BTreeSet::new();
        // For each place, the variables that may hold something else than when the segment began.
        let mut dirty: Vec<Option<BTreeSet<u32>>> = vec![None; body.code.len()];
        let all: BTreeSet<u32> = body.code.iter().flat_map(|instr| self.dirtied(instr)).collect();
        let mut rest = vec![(start as usize, at_start(body, start, &all))];
        while let Some((pc, arriving)) = rest.pop() {
            match dirty.get_mut(pc) {
                None => continue,
                Some(Some(known)) if arriving.is_subset(known) => continue,
                Some(known) => known.get_or_insert_default().extend(&arriving),
            }
            let (instr, mut after) = (&body.code[pc], dirty[pc].clone().unwrap_or_default());
            self.note(instr, &after, &mut facts, &mut asks);
            if self.ends_segment(instr) {
                continue;
            }
            after.extend(self.dirtied(instr));
            successors(&body.code, pc, |next| {
                let to_handler = matches!(instr, Instr::Enter { .. }) && next != pc + 1;
                rest.push((next, if to_handler { all.clone() } else { after.clone() }));
            });
        }
        facts.asks = asks.into_iter().collect();
        facts
    }

    fn note(&self, instr: &Instr, dirty: &BTreeSet<u32>, facts: &mut SegmentFacts, asks: &mut BTreeSet<u32>) {
        let mut ask = |slot: u32| {
            if slot == NONE || dirty.contains(&slot) {
                facts.any_future = true;
            } else {
                asks.insert(slot);
            }
        };
        match instr {
            Instr::Get { slot, resolved: false, .. } => ask(*slot),
            Instr::Await(index) if self.continuing => {
                self.image.awaits[*index as usize].futures.iter().for_each(|&(_, slot)| ask(slot));
            }
            Instr::Return(_) => facts.may_end = true,
            _ => {}
        }
        facts.may_block |= can_block(instr);
    }

    fn ends_segment(&self, instr: &Instr) -> bool {
        match instr {
            Instr::Await(_) => !self.continuing,
            Instr::Suspend | Instr::Random(..) => true,
            _ => false,
        }
    }

    /// The variables that an instruction may give something that is neither null nor a future that it
    /// creates: no future that was there before.
    fn dirtied(&self, instr: &Instr) -> Vec<u32> {
        let mut dirtied = Vec::new();
        let only_null = |op: &Op| matches!(op, Op::Null);
        match instr {
            Instr::Call { .. } => {}
            Instr::Assign(_, code) if is_only(self.image, *code, only_null) => {}
            Instr::Next { element, .. } => dirtied.push(*element),
            _ => {
                if let Some(Target::Slot(slot)) = target_of(instr) {
                    dirtied.push(slot.0);
                }
            }
        }
        patterns(self.image, instr).for_each(|pattern| bound(pattern, &mut dirtied));
        for code in expressions(self.image, instr) {
            for op in &self.image.ops[code.start as usize..code.end as usize] {
                match *op {
                    Op::Store(slot) => dirtied.push(slot),
                    Op::Match(pattern, _) => bound(&self.image.patterns[pattern as usize], &mut dirtied),
                    _ => {}
                }
            }
        }
        dirtied
    }
}

/// What may have changed when a segment begins behind an instruction: what that one assigns. At a handler,
/// everything.
fn at_start(body: &Body, start: u32, all: &BTreeSet<u32>) -> BTreeSet<u32> {
    let is_handler = |instr: &Instr| matches!(instr, Instr::Enter { at, .. } if *at == start);
    if body.code.iter().any(is_handler) {
        return all.clone();
    }
    let before = start.checked_sub(1).and_then(|before| body.code.get(before as usize));
    match before.and_then(target_of) {
        Some(Target::Slot(slot)) => BTreeSet::from([slot.0]),
        _ => BTreeSet::new(),
    }
}

/// Adds the variables that a pattern binds.
fn bound(pattern: &Pattern, into: &mut Vec<u32>) {
    pattern.each(&mut |part| {
        if let Pattern::Bind(slot) = part {
            into.push(slot.0);
        }
    });
}
