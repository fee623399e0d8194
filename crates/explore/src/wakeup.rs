//! Wakeup trees: which sequences are still to be explored from the nodes of the stack.
//!
//! A tree node is an event: a process, the outcome of its step, and what the step touches. Nodes live in one slab and
//! are used again; a tree is the number of its first child, children are linked in the order of insertion.

use mazurka_program::{Access, ProcessId};
use mazurka_trace::dependence::dependent;
use smallvec::SmallVec;

/// A list of sibling nodes, by its first one; [`NONE`] if it is empty.
pub(crate) type Children = u32;

/// The empty list.
pub(crate) const NONE: Children = u32::MAX;

/// An event of a sequence that is to be inserted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step<'a> {
    pub process: ProcessId,
    pub choice: u32,
    pub alternatives: u32,
    pub accesses: &'a [Access],
}

#[derive(Debug)]
struct Node {
    process: ProcessId,
    choice: u32,
    alternatives: u32,
    accesses: Vec<Access>,
    children: Children,
    next: Children,
}

#[derive(Debug, Default)]
pub(crate) struct WakeupTrees {
    nodes: Vec<Node>,
    free: Vec<u32>,
    /// The largest number of nodes in use at one time.
    pub peak: u64,
    accesses: usize,
}

/// What the first child of a list is, taken out of it.
pub(crate) struct Taken {
    pub process: ProcessId,
    pub choice: u32,
    pub children: Children,
    pub rest: Children,
}

impl WakeupTrees {
    /// A list of one leaf before another list.
    pub fn leaf(&mut self, step: Step<'_>, next: Children) -> Children {
        let id = self.free.pop().unwrap_or_else(|| {
            self.nodes.push(Node {
                process: step.process,
                choice: 0,
                alternatives: 1,
                accesses: Vec::new(),
                children: NONE,
                next: NONE,
            });
            self.nodes.len() as u32 - 1
        });
        let node = &mut self.nodes[id as usize];
        (node.process, node.choice, node.alternatives) = (step.process, step.choice, step.alternatives);
        (node.children, node.next) = (NONE, next);
        self.accesses -= node.accesses.capacity();
        node.accesses.clear();
        node.accesses.extend_from_slice(step.accesses);
        self.accesses += node.accesses.capacity();
        self.peak = self.peak.max((self.nodes.len() - self.free.len()) as u64);
        id
    }

    /// Takes the first child out of a list that has one.
    pub fn take_first(&mut self, list: Children) -> Taken {
        let node = &self.nodes[list as usize];
        self.free.push(list);
        Taken { process: node.process, choice: node.choice, children: node.children, rest: node.next }
    }

    /// Gives the remaining outcomes of a process's step the label of the one that was taken: outcomes of one step
    /// touch the same as far as others are concerned.
    pub fn label_outcomes(&mut self, list: Children, process: ProcessId, accesses: &[Access]) {
        let mut at = list;
        while at != NONE {
            let node = &mut self.nodes[at as usize];
            if node.process == process && node.alternatives > 1 && node.accesses.is_empty() {
                self.accesses -= node.accesses.capacity();
                node.accesses.extend_from_slice(accesses);
                self.accesses += node.accesses.capacity();
            }
            at = node.next;
        }
    }

    /// How many children a list has.
    pub fn count(&self, list: Children) -> usize {
        std::iter::successors(Some(list).filter(|&at| at != NONE), |&at| {
            Some(self.nodes[at as usize].next).filter(|&next| next != NONE)
        })
        .count()
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        self.nodes.capacity() * size_of::<Node>() + self.accesses * size_of::<Access>()
    }

    /// `insert(v, wut)`: makes sure that the tree has a leaf from which an execution equivalent to one that begins
    /// with `v` is found. Gives the list as it is then. `asleep(p)` tells how many outcomes of `p`'s step sleep at
    /// this tree's node.
    ///
    /// `weak` is false only in builds that are broken on purpose.
    pub fn insert(
        &mut self,
        list: Children,
        v: &[Step<'_>],
        asleep: &dyn Fn(ProcessId) -> u32,
        weak: bool,
    ) -> Children {
        let (mut at, mut last) = (list, NONE);
        // Outcomes of steps that are independent of v and under which v was inserted, with how many there are.
        let mut partly: Vec<(ProcessId, u32)> = Vec::new();
        while at != NONE {
            match self.relation(at, v, weak) {
                Relation::Initial(k) => {
                    let mut rest: SmallVec<[Step<'_>; 24]> = SmallVec::from_slice(v);
                    rest.remove(k);
                    self.insert_below(at, &rest, weak);
                    return list;
                }
                Relation::Beside if self.nodes[at as usize].alternatives == 1 => {
                    self.insert_below(at, v, weak);
                    return list;
                }
                Relation::Beside => {
                    // Under this outcome v is covered here; under the others it is not.
                    self.insert_below(at, v, weak);
                    let node = &self.nodes[at as usize];
                    match partly.iter_mut().find(|(p, _)| *p == node.process) {
                        Some((_, count)) => *count += 1,
                        None => partly.push((node.process, 1 + asleep(node.process))),
                    }
                    if partly.iter().any(|&(p, count)| p == node.process && count >= node.alternatives) {
                        return list;
                    }
                }
                Relation::Apart => {}
            }
            (last, at) = (at, self.nodes[at as usize].next);
        }
        let branch = self.chain(v);
        if last == NONE {
            return branch;
        }
        self.nodes[last as usize].next = branch;
        list
    }

    /// Follows a child: nothing to do at a leaf, or if nothing is left to insert.
    fn insert_below(&mut self, at: Children, rest: &[Step<'_>], weak: bool) {
        let children = self.nodes[at as usize].children;
        if children != NONE && !rest.is_empty() {
            let list = self.insert(children, rest, &|_| 0, weak);
            debug_assert_eq!(list, children);
        }
    }

    /// A branch that is the sequence.
    fn chain(&mut self, v: &[Step<'_>]) -> Children {
        let mut below = NONE;
        for &step in v.iter().rev() {
            let node = self.leaf(step, NONE);
            self.nodes[node as usize].children = below;
            below = node;
        }
        below
    }

    fn relation(&self, at: Children, v: &[Step<'_>], weak: bool) -> Relation {
        let node = &self.nodes[at as usize];
        match v.iter().position(|step| step.process == node.process) {
            Some(k) if v[k].choice != node.choice => Relation::Apart,
            Some(k) if v[..k].iter().any(|step| dependent(step.accesses, v[k].accesses)) => Relation::Apart,
            Some(k) => Relation::Initial(k),
            None if !weak || v.iter().any(|step| dependent(step.accesses, &node.accesses)) => Relation::Apart,
            None => Relation::Beside,
        }
    }
}

/// How a child relates to a sequence.
enum Relation {
    /// It is the event at that place of the sequence, and nothing before it happens before it.
    Initial(usize),
    /// It is not in the sequence and independent of all of it.
    Beside,
    /// It is no weak initial of it.
    Apart,
}
