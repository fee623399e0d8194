//! Wakeup trees: which sequences are still to be explored from the nodes of the stack.
//!
//! A tree node is an event: a process, the outcome of its step, and what the step touches. Nodes live in one
//! slab and are used again; a tree is the number of its first child, children are linked in the order of
//! insertion.

use mazurka_program::{Access, ProcessId};
use mazurka_trace::dependence::dependent;
use smallvec::SmallVec;

use crate::Rules;

/// A list of sibling nodes, by its first one; [`NONE`] if it is empty.
pub(crate) type Children = u32;

/// The empty list.
pub(crate) const NONE: Children = u32::MAX;

/// An event of a sequence that is to be inserted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Planned<'a> {
    pub process: ProcessId,
    pub choice: u32,
    pub alternatives: u32,
    pub accesses: &'a [Access],
    /// Its position in an execution that begins with the sequence.
    pub at: u32,
}

/// What happens before what within a sequence: weak initials are made of it.
pub(crate) trait Precedence {
    /// Whether some event of `rest` before the one at `k` happens before that one.
    fn overtaken(&mut self, rest: &[Planned<'_>], k: usize) -> bool;

    /// Whether some event of `rest` would happen before `step`, were it taken after all of them and after the
    /// steps `beside`, which are independent of them.
    fn overtaken_after(
        &mut self,
        rest: &[Planned<'_>],
        beside: &[(ProcessId, u32)],
        step: Planned<'_>,
    ) -> bool;
}

/// Mazurkiewicz happens-before: an event comes before each later one that depends on it.
pub(crate) struct Dependences;

impl Precedence for Dependences {
    #[inline]
    fn overtaken(&mut self, rest: &[Planned<'_>], k: usize) -> bool {
        rest[..k].iter().any(|step| dependent(step.accesses, rest[k].accesses))
    }

    #[inline]
    fn overtaken_after(&mut self, rest: &[Planned<'_>], _: &[(ProcessId, u32)], step: Planned<'_>) -> bool {
        rest.iter().any(|earlier| dependent(earlier.accesses, step.accesses))
    }
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
pub(crate) struct Branch {
    pub process: ProcessId,
    pub choice: u32,
    pub children: Children,
    pub rest: Children,
}

impl WakeupTrees {
    /// A list of one leaf before another list.
    pub fn leaf(&mut self, step: Planned<'_>, next: Children) -> Children {
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

    /// Counts a leaf that is not made, for it would be taken at once.
    #[inline]
    pub fn leaf_in_passing(&mut self) {
        self.peak = self.peak.max((self.nodes.len() - self.free.len()) as u64 + 1);
    }

    /// Takes the first child out of a list that has one.
    pub fn take_first(&mut self, list: Children) -> Branch {
        let node = &self.nodes[list as usize];
        self.free.push(list);
        Branch { process: node.process, choice: node.choice, children: node.children, rest: node.next }
    }

    /// Gives the remaining outcomes of a process's step the label of the one that was taken: outcomes of one
    /// step touch the same as far as others are concerned.
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

    /// `insert(v, wut)`: makes sure that the tree has a leaf from which an execution equivalent to one that
    /// begins with `v` is found, whatever the outcomes of steps that `v` does not have. Gives the list as it
    /// is then. `asleep` has those of several outcomes that sleep at this tree's node.
    ///
    /// `rules` differ only in builds that are broken on purpose.
    pub fn insert(
        &mut self,
        list: Children,
        v: &[Planned<'_>],
        asleep: &[ExploredOutcome],
        rules: Rules,
        order: &mut impl Precedence,
    ) -> Children {
        self.insert_rest(list, &mut Rest::new(v.iter().copied()), asleep.to_vec(), &rules, order)
    }

    /// As [`WakeupTrees::insert`], of a sequence that may be used up.
    pub fn insert_rest(
        &mut self,
        list: Children,
        rest: &mut Rest<'_>,
        asleep: Vec<ExploredOutcome>,
        rules: &Rules,
        order: &mut impl Precedence,
    ) -> Children {
        let mut root = list;
        let mut work: Work<'_> = Vec::new();
        self.descend(&mut root, None, rest, asleep, rules, &mut work, order);
        while let Some((parent, mut rest, covered)) = work.pop() {
            self.descend(&mut root, Some(parent), &mut rest, covered, rules, &mut work, order);
        }
        root
    }

    /// Down the tree from below a node (from the root, if there is none), until a leaf or a node where
    /// nothing covers the rest. Also where nothing is left: what is planned below may be for some outcomes
    /// only. `covered` has the outcomes under which there is no need.
    #[allow(clippy::too_many_arguments)]
    fn descend<'v>(
        &mut self,
        root: &mut Children,
        mut parent: Option<Children>,
        rest: &mut Rest<'v>,
        mut covered: Vec<ExploredOutcome>,
        rules: &Rules,
        work: &mut Work<'v>,
        order: &mut impl Precedence,
    ) {
        loop {
            let head = parent.map_or(*root, |at| self.nodes[at as usize].children);
            match self.search(head, rest, &mut covered, rules, work, order) {
                Found::Follow(at) if self.nodes[at as usize].children == NONE => return,
                Found::Follow(_) if rest.steps().is_empty() && !rules.optimal.other_outcomes => return,
                Found::Follow(at) => parent = Some(at),
                Found::Covered => return,
                Found::Nothing(last) => {
                    let branch = match rest.steps().is_empty() {
                        true => self.other_outcomes(head, &covered),
                        false => self.chain(rest.steps().iter().copied()),
                    };
                    match (last, parent) {
                        (Some(last), _) => self.nodes[last as usize].next = branch,
                        (None, None) => *root = branch,
                        (None, Some(at)) => self.nodes[at as usize].children = branch,
                    }
                    return;
                }
            }
        }
    }

    /// Looks among siblings for one to follow, and takes out of the rest what that one is. Outcomes of a step
    /// that is independent of the rest cover it under themselves only: it has to go below each, which is put
    /// into `work`.
    fn search<'v>(
        &self,
        head: Children,
        rest: &mut Rest<'v>,
        covered: &mut Vec<ExploredOutcome>,
        rules: &Rules,
        work: &mut Work<'v>,
        order: &mut impl Precedence,
    ) -> Found {
        let (mut at, mut last) = (head, None);
        while at != NONE {
            let node = &self.nodes[at as usize];
            match self.relation(at, rest, rules.optimal.weak_initials, order) {
                Relation::Initial(k) => {
                    rest.remove(k);
                    covered.retain(|outcome| outcome.stays(node));
                    return Found::Follow(at);
                }
                Relation::Beside if node.alternatives == 1 => {
                    rest.beside.push((node.process, node.choice));
                    covered.retain(|outcome| outcome.stays(node));
                    return Found::Follow(at);
                }
                Relation::Beside => {
                    if node.children != NONE {
                        let below = covered.iter().filter(|outcome| outcome.stays(node)).cloned().collect();
                        let mut rest = rest.clone();
                        rest.beside.push((node.process, node.choice));
                        work.push((at, rest, below));
                    }
                    let (process, choice) = (node.process, node.choice);
                    covered.push(ExploredOutcome { process, choice, accesses: node.accesses.clone() });
                    let known = covered.iter().filter(|outcome| outcome.process == process).count();
                    if known as u32 >= node.alternatives {
                        return Found::Covered;
                    }
                }
                Relation::Apart => {}
            }
            (last, at) = (Some(at), node.next);
        }
        Found::Nothing(last)
    }

    /// The outcomes that are not covered of the step at the head of a list, as leaves.
    fn other_outcomes(&mut self, head: Children, covered: &[ExploredOutcome]) -> Children {
        let Node { process, alternatives, ref accesses, .. } = self.nodes[head as usize];
        let accesses = accesses.clone();
        let mut leaves = NONE;
        for choice in (0..alternatives).rev() {
            if !covered.iter().any(|outcome| outcome.process == process && outcome.choice == choice) {
                let step = Planned { process, choice, alternatives, accesses: &accesses, at: 0 };
                leaves = self.leaf(step, leaves);
            }
        }
        leaves
    }

    /// A branch that is the sequence.
    pub fn chain<'v>(&mut self, v: impl DoubleEndedIterator<Item = Planned<'v>>) -> Children {
        let mut below = NONE;
        for step in v.rev() {
            let node = self.leaf(step, NONE);
            self.nodes[node as usize].children = below;
            below = node;
        }
        below
    }

    fn relation(&self, at: Children, rest: &Rest<'_>, weak: bool, order: &mut impl Precedence) -> Relation {
        let node = &self.nodes[at as usize];
        let v = rest.steps();
        let Some(k) = v.iter().position(|step| step.process == node.process) else {
            let Node { process, choice, alternatives, ref accesses, .. } = *node;
            let step = Planned { process, choice, alternatives, accesses, at: 0 };
            let apart = !weak || order.overtaken_after(v, &rest.beside, step);
            return if apart { Relation::Apart } else { Relation::Beside };
        };
        let apart = v[k].choice != node.choice || order.overtaken(v, k);
        if apart { Relation::Apart } else { Relation::Initial(k) }
    }
}

/// What is left of a sequence on the way down a tree, and the steps on the way that it does not have.
#[derive(Clone)]
pub(crate) struct Rest<'v> {
    steps: SmallVec<[Planned<'v>; 24]>,
    /// How many of the steps are used up: mostly it is the first that goes, and the others need not move.
    used: usize,
    beside: SmallVec<[(ProcessId, u32); 4]>,
}

impl<'v> Rest<'v> {
    pub fn new(v: impl Iterator<Item = Planned<'v>>) -> Rest<'v> {
        Rest { steps: v.collect(), used: 0, beside: SmallVec::new() }
    }

    fn steps(&self) -> &[Planned<'v>] {
        &self.steps[self.used..]
    }

    /// Takes out the step at a place.
    fn remove(&mut self, k: usize) {
        self.steps.copy_within(self.used..self.used + k, self.used + 1);
        self.used += 1;
    }
}

/// What is still to be inserted below which node, and the outcomes under which it need not be.
type Work<'v> = Vec<(Children, Rest<'v>, Vec<ExploredOutcome>)>;

/// One of several outcomes of a step: it sleeps, or the sequence at hand was inserted below it.
#[derive(Clone, Debug)]
pub(crate) struct ExploredOutcome {
    pub process: ProcessId,
    pub choice: u32,
    pub accesses: Vec<Access>,
}

impl ExploredOutcome {
    /// Whether it sleeps behind a node if it does before.
    fn stays(&self, node: &Node) -> bool {
        self.process != node.process && !dependent(&self.accesses, &node.accesses)
    }
}

/// What a list of siblings has for a sequence.
enum Found {
    /// A child that begins it.
    Follow(Children),
    /// All outcomes of some step, under each of which it is covered.
    Covered,
    /// Nothing; the last of the siblings, if there is any.
    Nothing(Option<Children>),
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
