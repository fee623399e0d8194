//! Questions about expressions: what they read, and whether what they read depends on what they read.
//!
//! A step *varies* if the set of what it touches depends on shared values, or how it touches it: a step that
//! fails has not overwritten what it would have overwritten, nor sent anything. Inside an atomic block locals
//! that were assigned from shared values count as shared: they are *tainted*.

use crate::ast::BinaryOp;
use crate::code::{Image, Node, NodeId};

/// Whether a local is tainted, by slot; slots beyond the end are not.
pub(super) type Taint = Vec<bool>;

impl Image {
    /// Whether any part of the expression is as asked.
    pub(super) fn any_node(&self, id: NodeId, mut test: impl FnMut(Node) -> bool) -> bool {
        let mut found = false;
        self.each_node(id, &mut |_, node| found |= test(node));
        found
    }

    /// Whether the expression reads shared memory.
    pub(super) fn reads_shared(&self, id: NodeId) -> bool {
        self.any_node(id, |node| matches!(node, Node::Var(_) | Node::Cell { .. }))
    }

    /// Whether the value depends on shared memory.
    pub(super) fn depends(&self, id: NodeId, taint: &[bool]) -> bool {
        self.any_node(id, |node| match node {
            Node::Var(_) | Node::Cell { .. } => true,
            Node::Local(slot) => taint.get(slot as usize) == Some(&true),
            _ => false,
        })
    }

    /// Whether the set of cells that the expression reads depends on shared memory.
    ///
    /// A divisor counts, because a division by zero ends the step before it has touched the rest; overflows
    /// don't.
    pub(super) fn varies(&self, id: NodeId, taint: &[bool]) -> bool {
        self.any_node(id, |node| match node {
            Node::Cell { index, .. } => self.depends(index, taint),
            Node::And(a, b) | Node::Or(a, b) => self.depends(a, taint) && self.reads_shared(b),
            Node::Binary(BinaryOp::Div | BinaryOp::Rem, _, b) => self.depends(b, taint),
            _ => false,
        })
    }

    /// Whether the expression may fail, depending on shared memory: an index or a divisor, or a result that
    /// is out of range.
    pub(super) fn may_fail(&self, id: NodeId, taint: &[bool]) -> bool {
        use BinaryOp::{Add, Div, Mul, Rem, Sub};
        self.any_node(id, |node| match node {
            Node::Cell { index: a, .. } | Node::Neg(a) => self.depends(a, taint),
            Node::Binary(Add | Sub | Mul | Div | Rem, a, b) => {
                self.depends(a, taint) || self.depends(b, taint)
            }
            _ => false,
        })
    }
}

/// Whether two expressions are the same text over the same variables.
pub(super) fn same(nodes: &[Node], a: NodeId, b: NodeId) -> bool {
    match (nodes[a as usize], nodes[b as usize]) {
        (Node::Const(x), Node::Const(y)) => x == y,
        (Node::Local(x), Node::Local(y)) | (Node::Var(x), Node::Var(y)) => x == y,
        (Node::Cell { var: v, index: i }, Node::Cell { var: w, index: j }) => v == w && same(nodes, i, j),
        (Node::Neg(x), Node::Neg(y)) | (Node::Not(x), Node::Not(y)) => same(nodes, x, y),
        (Node::And(p, q), Node::And(r, s)) | (Node::Or(p, q), Node::Or(r, s)) => {
            same(nodes, p, r) && same(nodes, q, s)
        }
        (Node::Binary(o, p, q), Node::Binary(n, r, s)) => o == n && same(nodes, p, r) && same(nodes, q, s),
        _ => false,
    }
}

/// The names that look like `name`, for "did you mean".
pub(super) fn closest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let allowed = name.chars().count().div_ceil(3);
    let scored = known.filter(|k| !k.is_empty()).map(|k| (distance(name, k), k));
    scored.filter(|&(d, k)| d <= allowed && d < k.chars().count()).min().map(|(_, k)| k)
}

/// How many letters must be changed, added or left out to get from one word to the other.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}
