//! Polls: steps that only read one cell, if that, and may lead back to themselves.

use super::Compiler;
use crate::code::{Image, Instr, Mention, NONE, Node, NodeId, Op, Pc, Watched};

impl Compiler {
    /// Finds the steps that may be polls, once all lines are there.
    pub(super) fn find_polls(&mut self) {
        for at in 0..self.image.lines.len() {
            if let Some(watched) = self.watched(&self.image.lines[at].instr)
                && self.image.lines[at].step
                && self.image.comes_back(at as Pc)
            {
                self.image.lines[at].polls = self.image.polls.len() as u32;
                self.image.polls.push(watched);
            }
        }
    }

    /// The one cell that a line reads, if it reads just one, which values of others don't decide.
    fn watched(&self, instr: &Instr) -> Option<Watched> {
        let (target, values) = match *instr {
            Instr::Branch { condition, .. } => (None, vec![condition]),
            Instr::Op(Op::Local { value, .. }) => (None, vec![value]),
            Instr::Op(Op::Cas { to, old, new, .. }) => (Some(Mention::Indexed(to)), vec![to.index, old, new]),
            Instr::TryLock { lock, .. } => return Some(Watched::Lock(lock)),
            _ => return None,
        };
        if target.is_none() && !values.iter().any(|&value| self.image.always_reads(value)) {
            return None;
        }
        let values = values.into_iter().filter(|&value| value != NONE);
        let mut mentions: Vec<Mention> =
            values.flat_map(|value| self.mentions(value)).chain(target).collect();
        match (mentions.pop(), mentions.is_empty()) {
            (Some(one @ (Mention::Cell(_) | Mention::Indexed(_))), true) => Some(Watched::Cell(one)),
            _ => None,
        }
    }
}

impl Image {
    /// Whether an expression reads something shared whatever its parts are: the right sides of `&&` and `||` may
    /// be left out.
    fn always_reads(&self, id: NodeId) -> bool {
        match self.nodes[id as usize] {
            Node::Const(_) | Node::Local(_) => false,
            Node::Var(_) | Node::Cell { .. } => true,
            Node::Neg(a) | Node::Not(a) | Node::And(a, _) | Node::Or(a, _) => self.always_reads(a),
            Node::Binary(_, a, b) => self.always_reads(a) || self.always_reads(b),
        }
    }

    /// Whether a step can be followed by itself, with no other step between.
    fn comes_back(&self, step: Pc) -> bool {
        let (mut seen, mut rest) = (Vec::new(), self.next_lines(step));
        while let Some(at) = rest.pop() {
            if at == step {
                return true;
            }
            // A `for` counts its rounds: who comes back by it is not where it was.
            let counts = matches!(self.lines[at as usize].instr, Instr::ForNext { .. });
            if !counts && !self.lines[at as usize].step && !seen.contains(&at) {
                seen.push(at);
                rest.extend(self.next_lines(at));
            }
        }
        false
    }

    /// The lines that may come after one that does not end its process.
    fn next_lines(&self, at: Pc) -> Vec<Pc> {
        match self.lines[at as usize].instr {
            Instr::Branch { otherwise, .. } => vec![at + 1, otherwise],
            Instr::ForNext { exit, .. } => vec![at + 1, exit],
            Instr::Jump(to) => vec![to],
            Instr::Exit | Instr::Finish => Vec::new(),
            _ => vec![at + 1],
        }
    }
}
