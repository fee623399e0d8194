//! Wakeup trees, as ordered trees of events.

use super::order::Relation;
use super::sequence::Event;

/// A node of a wakeup tree and what is below it, in order.
#[derive(Clone, Debug)]
pub(super) struct Branch {
    pub event: Event,
    pub children: Vec<Branch>,
}

impl Branch {
    pub fn leaf(event: Event) -> Branch {
        Branch { event, children: Vec::new() }
    }
}

/// `insert(v, wut)`: nothing if the tree has a leaf that leads to what `v` leads to, else a new last branch
/// where the two part. A child is followed if it is a weak initial of what is left of the sequence.
pub(super) fn insert(mut tree: &mut Vec<Branch>, mut rest: Vec<Event>, relation: &Relation<'_>) {
    loop {
        let Some(at) = tree.iter().position(|child| relation.weak_initial(&child.event, &rest)) else {
            tree.extend(chain(rest));
            return;
        };
        let child = &mut tree[at];
        if let Some(k) = rest.iter().position(|event| event.process == child.event.process) {
            rest.remove(k);
        }
        if child.children.is_empty() {
            return;
        }
        tree = &mut child.children;
    }
}

/// A branch that is the sequence.
fn chain(sequence: Vec<Event>) -> Option<Branch> {
    sequence
        .into_iter()
        .rev()
        .fold(None, |below, event| Some(Branch { event, children: below.into_iter().collect() }))
}

/// How many nodes a tree has.
pub(super) fn size(tree: &[Branch]) -> usize {
    tree.iter().map(|branch| 1 + size(&branch.children)).sum()
}
