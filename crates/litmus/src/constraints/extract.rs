//! What a line does, as a transition system.
//!
//! The line is run with unknown shared cells, every way through it apart. What is not linear, and what does
//! more than read, compute and assign, is refused with a reason. Locals are known numbers or unknown ones, as
//! the caller has it; what depends on an index is told only if the index is known.
//!
//! Failures of arithmetic are not followed: all that is computed is kept with the path, and whoever uses a
//! constraint must know that it fits in 64 bits.

use std::collections::BTreeMap;

use mazurka_constraints::{Block, Effect, Path};
use mazurka_smt::{Formula, Linear, Var};

use crate::arithmetic;
use crate::ast::BinaryOp;
use crate::code::{Image, Instr, Lvalue, NONE, Node, NodeId, Op, Tree};

/// How many ways through a line are followed.
const MOST_PATHS: usize = 64;
/// How many statements are run for a line, on all ways together.
const MOST_STATEMENTS: u32 = 20_000;
/// Where a process is that was stopped by an assumption.
const HALTED: i128 = -1;

/// Why nothing is known of a line, to follow its name.
pub(crate) type Reason = &'static str;

const TOO_LARGE: Reason = "computes numbers that are too large";
const NOT_LINEAR: Reason = "computes what is not linear";

/// The locals that a line begins with.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Locals<'a> {
    /// These.
    Known(&'a [i64]),
    /// So many, of which nothing is known.
    Unknown(u32),
}

/// What the line at a program counter does.
pub(crate) fn extract(image: &Image, pc: u32, locals: Locals<'_>) -> Result<Block, Reason> {
    let shared = image.var_cells;
    let (own, locals) = match locals {
        Locals::Known(values) => (0, values.iter().map(|&value| Linear::constant(value.into())).collect()),
        Locals::Unknown(count) => (count, (0..count).map(|slot| Linear::var(Var(shared + slot))).collect()),
    };
    let mut extractor = Extractor { image, left: MOST_STATEMENTS };
    let start = Way { locals, ..Way::default() };
    let line = &image.lines[pc as usize];
    if line.polls != NONE {
        return Err("may be a poll, which waits");
    }
    let mut guard = None;
    let ends: Vec<(Way, i128)> = match line.instr {
        Instr::Op(op) => {
            let ways = extractor.op(op, start)?;
            ways.into_iter().map(|(way, on)| (way, if on { i128::from(pc) + 1 } else { HALTED })).collect()
        }
        Instr::Branch { condition, otherwise } => {
            let next = i128::from(pc) + 1;
            let ways = extractor.fork(condition, start)?;
            ways.into_iter().map(|(way, holds)| (way, if holds { next } else { otherwise.into() })).collect()
        }
        Instr::Await(code) => {
            let mut at = start;
            guard = Some(extractor.truth(image.guards[code as usize].condition.node, &mut at)?);
            vec![(at, i128::from(pc) + 1)]
        }
        Instr::Atomic(code) => {
            let code = &image.atomics[code as usize];
            let mut at = start;
            if code.guard != NONE {
                guard = Some(extractor.truth(image.guards[code.guard as usize].condition.node, &mut at)?);
            }
            let to = |flow: Flow| match flow {
                Flow::On => i128::from(pc) + 1,
                Flow::Break => code.on_break.into(),
                Flow::Continue => code.on_continue.into(),
                Flow::Halted => HALTED,
            };
            extractor.trees(&code.body, at)?.into_iter().map(|(way, flow)| (way, to(flow))).collect()
        }
        _ => return Err("does more than read, compute and assign"),
    };
    let paths = ends.into_iter().map(|(way, to)| way.path(to)).collect();
    Ok(Block { shared, own, guard, paths, ..Block::default() })
}

/// Where an expression over shared variables is not 0.
pub(crate) fn condition(image: &Image, node: NodeId) -> Result<Formula, Reason> {
    Extractor { image, left: MOST_STATEMENTS }.truth(node, &mut Way::default())
}

/// One way through a line, as far as it was followed.
#[derive(Clone, Debug, Default)]
struct Way {
    condition: Vec<Formula>,
    cells: BTreeMap<u32, Linear>,
    locals: Vec<Linear>,
    effects: Vec<Effect>,
    computed: Vec<Linear>,
}

impl Way {
    fn path(self, to: i128) -> Path {
        let mut results = vec![Linear::constant(to)];
        results.extend(self.locals);
        Path {
            condition: Some(Formula::and(self.condition)),
            assigned: self.cells.into_iter().map(|(cell, sum)| (Var(cell), sum)).collect(),
            results,
            effects: self.effects,
            computed: self.computed,
            fatal: false,
        }
    }

    fn cell(&self, cell: u32) -> Linear {
        self.cells.get(&cell).cloned().unwrap_or_else(|| Linear::var(Var(cell)))
    }

    fn set_local(&mut self, slot: u32, value: Linear) {
        if let Some(local) = self.locals.get_mut(slot as usize) {
            *local = value;
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flow {
    On,
    Break,
    Continue,
    Halted,
}

struct Extractor<'a> {
    image: &'a Image,
    left: u32,
}

impl Extractor<'_> {
    /// Statements of an atomic block, on every way.
    fn trees(&mut self, body: &[Tree], start: Way) -> Result<Vec<(Way, Flow)>, Reason> {
        let (mut going, mut done) = (vec![start], Vec::new());
        for tree in body {
            let mut next = Vec::new();
            for way in going {
                self.left = self.left.checked_sub(1).ok_or("has loops that are too long")?;
                for (way, flow) in self.tree(tree, way)? {
                    if flow == Flow::On {
                        next.push(way);
                    } else {
                        done.push((way, flow));
                    }
                }
            }
            if next.len() + done.len() > MOST_PATHS {
                return Err("has too many ways through it");
            }
            going = next;
        }
        done.extend(going.into_iter().map(|way| (way, Flow::On)));
        Ok(done)
    }

    fn tree(&mut self, tree: &Tree, way: Way) -> Result<Vec<(Way, Flow)>, Reason> {
        match tree {
            Tree::Op(op) => {
                let flow = |on: bool| if on { Flow::On } else { Flow::Halted };
                Ok(self.op(*op, way)?.into_iter().map(|(way, on)| (way, flow(on))).collect())
            }
            Tree::If { arms, otherwise } => self.arms(arms, otherwise, way),
            Tree::For { slot, from, to, inclusive, body } => {
                let mut way = way;
                let known = |sum: Linear| sum.as_constant().ok_or("has a loop whose length is not known");
                let from = known(self.value(*from, &mut way)?)?;
                let to = known(self.value(*to, &mut way)?)? + i128::from(*inclusive);
                self.rounds(*slot, from..to, body, way)
            }
            Tree::Break => Ok(vec![(way, Flow::Break)]),
            Tree::Continue => Ok(vec![(way, Flow::Continue)]),
        }
    }

    fn arms(
        &mut self,
        arms: &[(NodeId, Vec<Tree>)],
        otherwise: &[Tree],
        way: Way,
    ) -> Result<Vec<(Way, Flow)>, Reason> {
        let Some(((condition, block), rest)) = arms.split_first() else {
            return self.trees(otherwise, way);
        };
        let mut ends = Vec::new();
        for (way, holds) in self.fork(*condition, way)? {
            ends.extend(if holds { self.trees(block, way)? } else { self.arms(rest, otherwise, way)? });
        }
        Ok(ends)
    }

    fn rounds(
        &mut self,
        slot: u32,
        range: std::ops::Range<i128>,
        body: &[Tree],
        way: Way,
    ) -> Result<Vec<(Way, Flow)>, Reason> {
        let (mut going, mut done) = (vec![way], Vec::new());
        for round in range {
            let mut next = Vec::new();
            for mut way in going {
                self.left = self.left.checked_sub(1).ok_or("has loops that are too long")?;
                way.set_local(slot, Linear::constant(round));
                for (way, flow) in self.trees(body, way)? {
                    match flow {
                        Flow::On | Flow::Continue => next.push(way),
                        Flow::Break => done.push((way, Flow::On)),
                        Flow::Halted => done.push((way, Flow::Halted)),
                    }
                }
            }
            if next.len() + done.len() > MOST_PATHS {
                return Err("has too many ways through it");
            }
            going = next;
        }
        done.extend(going.into_iter().map(|way| (way, Flow::On)));
        Ok(done)
    }

    /// An operation; false where an assumption stops the process.
    fn op(&mut self, op: Op, mut way: Way) -> Result<Vec<(Way, bool)>, Reason> {
        let ways = match op {
            Op::Local { slot, value } => self.each_value(value, way, &mut |_, way, value| {
                way.set_local(slot, value);
                Ok(())
            })?,
            Op::Store { to, value } => {
                let cell = self.place(to, &mut way)?;
                self.each_value(value, way, &mut |_, way, value| {
                    way.cells.insert(cell, value);
                    Ok(())
                })?
            }
            Op::Change { dest, to, op, by } => {
                let cell = self.place(to, &mut way)?;
                self.each_value(by, way, &mut |extractor, way, by| {
                    let old = way.cell(cell);
                    let new = extractor.linear(op, &old, &by, way)?;
                    way.cells.insert(cell, new);
                    way.set_local(dest, old);
                    Ok(())
                })?
            }
            Op::Swap { dest, to, value } => {
                let cell = self.place(to, &mut way)?;
                self.each_value(value, way, &mut |_, way, value| {
                    let old = way.cell(cell);
                    way.cells.insert(cell, value);
                    way.set_local(dest, old);
                    Ok(())
                })?
            }
            Op::Cas { dest, to, old, new } => {
                let cell = self.place(to, &mut way)?;
                let (old, new) = (self.value(old, &mut way)?, self.value(new, &mut way)?);
                let equal = Formula::equal(&way.cell(cell), &old).ok_or(TOO_LARGE)?;
                let mut ways = Vec::new();
                for (mut way, holds) in split(way, equal) {
                    if holds {
                        way.cells.insert(cell, new.clone());
                    }
                    way.set_local(dest, Linear::constant(holds.into()));
                    ways.push(way);
                }
                ways
            }
            Op::Assert(index) => {
                let condition = &self.image.conditions[index as usize];
                let mut ways = Vec::new();
                for (mut way, holds) in self.fork(condition.node, way)? {
                    if !holds {
                        let told = condition.leaves.iter().map(|(_, leaf)| self.value(*leaf, &mut way));
                        let arguments = told.collect::<Result<_, _>>()?;
                        way.effects.push(Effect { kind: index, arguments, made: None });
                    }
                    ways.push(way);
                }
                ways
            }
            Op::Assume(condition) => return self.fork(condition, way),
            Op::Skip => vec![way],
            Op::Send(_) => return Err("sends a message"),
        };
        Ok(ways.into_iter().map(|way| (way, true)).collect())
    }

    /// Both ways of a condition, as far as they can be.
    fn fork(&mut self, condition: NodeId, mut way: Way) -> Result<Vec<(Way, bool)>, Reason> {
        let holds = self.truth(condition, &mut way)?;
        Ok(split(way, holds))
    }

    /// Does something with a value, for each way in which it comes about: a comparison is 0 or 1.
    fn each_value(
        &mut self,
        node: NodeId,
        mut way: Way,
        with: &mut dyn FnMut(&mut Self, &mut Way, Linear) -> Result<(), Reason>,
    ) -> Result<Vec<Way>, Reason> {
        if !is_condition(self.image.nodes[node as usize]) {
            let value = self.value(node, &mut way)?;
            with(self, &mut way, value)?;
            return Ok(vec![way]);
        }
        let mut ways = Vec::new();
        for (mut way, holds) in self.fork(node, way)? {
            with(self, &mut way, Linear::constant(holds.into()))?;
            ways.push(way);
        }
        Ok(ways)
    }

    fn place(&mut self, to: Lvalue, way: &mut Way) -> Result<u32, Reason> {
        let info = &self.image.vars[to.var as usize];
        if to.index == NONE {
            return Ok(info.base);
        }
        let index = self.value(to.index, way)?;
        self.cell(to.var, &index)
    }

    fn cell(&self, var: u32, index: &Linear) -> Result<u32, Reason> {
        let info = &self.image.vars[var as usize];
        let index = index.as_constant().ok_or("uses a cell of an array whose index is not known")?;
        let index = u32::try_from(index).ok().filter(|&index| index < info.len);
        index.map(|index| info.base + index).ok_or("uses a cell outside of an array")
    }

    /// Where an expression is not 0.
    fn truth(&mut self, node: NodeId, way: &mut Way) -> Result<Formula, Reason> {
        Ok(match self.image.nodes[node as usize] {
            Node::Not(a) => self.truth(a, way)?.negated(),
            Node::And(a, b) => Formula::and([self.truth(a, way)?, self.truth(b, way)?]),
            Node::Or(a, b) => Formula::or([self.truth(a, way)?, self.truth(b, way)?]),
            Node::Binary(op, a, b) if compares(op) => {
                let (a, b) = (self.value(a, way)?, self.value(b, way)?);
                let formula = match op {
                    BinaryOp::Eq | BinaryOp::Ne => Formula::equal(&a, &b),
                    BinaryOp::Le | BinaryOp::Gt => Formula::at_most(&a, &b),
                    _ => Formula::at_most(&b, &a),
                };
                let formula = formula.ok_or(TOO_LARGE)?;
                let negative = matches!(op, BinaryOp::Ne | BinaryOp::Gt | BinaryOp::Lt);
                if negative { formula.negated() } else { formula }
            }
            _ => {
                let value = self.value(node, way)?;
                Formula::equal(&value, &Linear::constant(0)).ok_or(TOO_LARGE)?.negated()
            }
        })
    }

    fn value(&mut self, node: NodeId, way: &mut Way) -> Result<Linear, Reason> {
        match self.image.nodes[node as usize] {
            Node::Const(value) => Ok(Linear::constant(value.into())),
            Node::Local(slot) => Ok(way.locals[slot as usize].clone()),
            Node::Var(cell) => Ok(way.cell(cell)),
            Node::Cell { var, index } => {
                let index = self.value(index, way)?;
                Ok(way.cell(self.cell(var, &index)?))
            }
            Node::Neg(a) => {
                let a = self.value(a, way)?;
                self.linear(BinaryOp::Sub, &Linear::constant(0), &a, way)
            }
            Node::Binary(op, a, b) if !compares(op) => {
                let (a, b) = (self.value(a, way)?, self.value(b, way)?);
                self.linear(op, &a, &b, way)
            }
            _ => match self.truth(node, way)? {
                Formula::True => Ok(Linear::constant(1)),
                Formula::False => Ok(Linear::constant(0)),
                _ => Err("uses a comparison as a number"),
            },
        }
    }

    /// What comes of an operator on numbers; kept with what the way computes.
    fn linear(&mut self, op: BinaryOp, a: &Linear, b: &Linear, way: &mut Way) -> Result<Linear, Reason> {
        let result = match (op, a.as_constant(), b.as_constant()) {
            (BinaryOp::Add, ..) => a.plus(b),
            (BinaryOp::Sub, ..) => a.minus(b),
            (BinaryOp::Mul, Some(a), _) => b.times(a),
            (BinaryOp::Mul, _, Some(b)) => a.times(b),
            (BinaryOp::Div | BinaryOp::Rem, Some(a), Some(b)) => {
                let small = |number: i128| i64::try_from(number).ok();
                let value = small(a).zip(small(b)).and_then(|(a, b)| arithmetic::binary(op, a, b));
                Some(Linear::constant(value.ok_or("divides by zero")?.into()))
            }
            _ => return Err(NOT_LINEAR),
        };
        let result = result.ok_or(TOO_LARGE)?;
        way.computed.push(result.clone());
        Ok(result)
    }
}

fn compares(op: BinaryOp) -> bool {
    matches!(op, BinaryOp::Eq | BinaryOp::Ne | BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge)
}

fn is_condition(node: Node) -> bool {
    match node {
        Node::Not(_) | Node::And(..) | Node::Or(..) => true,
        Node::Binary(op, ..) => compares(op),
        _ => false,
    }
}

/// Both sides of a condition, without what can't be at first sight.
fn split(way: Way, holds: Formula) -> Vec<(Way, bool)> {
    let mut sides = Vec::new();
    for (condition, truth) in [(holds.clone(), true), (holds.negated(), false)] {
        if condition != Formula::False {
            let mut way = way.clone();
            way.condition.push(condition);
            sides.push((way, truth));
        }
    }
    sides
}
