//! Wakeup trees: which sequences are still to be explored from the nodes of the stack.
//!
//! A node of a tree is an event: a process, the outcome of its step, and what the step touches. Sequences are
//! long and part late, so what is kept are *strands*: events of which each but the first is the only child of the
//! one before. A strand is cut in two where another event comes beside one of it. Strands live in one slab and are
//! used again; a tree is the number of its first child's strand, children are linked in the order of insertion.
//! Events with several outcomes have siblings mostly, and are strands of their own: so their numbers stay.

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

/// An event of a tree.
#[derive(Clone, Debug)]
struct Step {
    process: ProcessId,
    choice: u32,
    alternatives: u32,
    accesses: SmallVec<[Access; 1]>,
}

impl Step {
    fn of(planned: Planned<'_>) -> Step {
        let Planned { process, choice, alternatives, accesses, .. } = planned;
        Step { process, choice, alternatives, accesses: SmallVec::from_slice(accesses) }
    }
}

#[derive(Debug, Default)]
struct Strand {
    steps: Vec<Step>,
    /// How many of the steps have been taken.
    taken: usize,
    /// Those below the last step.
    children: Children,
    /// The next sibling of the first step.
    next: Children,
}

/// Where an event is: a strand, and the place in it.
#[derive(Clone, Copy, Debug)]
struct At {
    strand: Children,
    step: usize,
}

/// A strand that is free keeps room for so many steps.
const ROOM: usize = 16;

#[derive(Debug, Default)]
pub(crate) struct WakeupTrees {
    strands: Vec<Strand>,
    free: Vec<u32>,
    /// How many events are planned.
    planned: u64,
    /// The largest number of events that were planned at one time.
    pub peak: u64,
    /// For how many steps there is room in all strands.
    room: usize,
    /// For how many accesses there is room besides.
    accesses: usize,
    /// The most bytes that these have taken at one time.
    most: usize,
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
        let id = self.new_strand(next);
        self.extend(id, step);
        id
    }

    /// A strand without steps.
    fn new_strand(&mut self, next: Children) -> Children {
        let id = self.free.pop().unwrap_or_else(|| {
            self.strands.push(Strand::default());
            self.strands.len() as u32 - 1
        });
        let strand = &mut self.strands[id as usize];
        (strand.taken, strand.children, strand.next) = (0, NONE, next);
        id
    }

    /// Plans an event below the last one of a strand.
    #[inline]
    fn extend(&mut self, strand: Children, step: Planned<'_>) {
        let steps = &mut self.strands[strand as usize].steps;
        let before = steps.capacity();
        let step = Step::of(step);
        self.accesses += spilled(&step.accesses);
        steps.push(step);
        self.room += steps.capacity() - before;
        self.planned += 1;
        self.peak = self.peak.max(self.planned);
        self.note_most();
    }

    #[inline]
    fn note_most(&mut self) {
        self.most = self.most.max(self.room * size_of::<Step>() + self.accesses * size_of::<Access>());
    }

    /// Counts a leaf that is not made, for it would be taken at once.
    #[inline]
    pub fn leaf_in_passing(&mut self) {
        self.peak = self.peak.max(self.planned + 1);
    }

    /// Takes the first child out of a list that has one.
    pub fn take_first(&mut self, list: Children) -> Branch {
        self.planned -= 1;
        let strand = &mut self.strands[list as usize];
        let rest = std::mem::replace(&mut strand.next, NONE);
        let step = &mut strand.steps[strand.taken];
        let (process, choice) = (step.process, step.choice);
        self.accesses -= spilled(&step.accesses);
        step.accesses = SmallVec::new();
        strand.taken += 1;
        if strand.taken < strand.steps.len() {
            return Branch { process, choice, children: list, rest };
        }
        let children = strand.children;
        strand.steps.clear();
        if strand.steps.capacity() > ROOM {
            self.room -= strand.steps.capacity();
            strand.steps = Vec::new();
        }
        self.free.push(list);
        Branch { process, choice, children, rest }
    }

    /// Gives the remaining outcomes of a process's step the label of the one that was taken: outcomes of one
    /// step touch the same as far as others are concerned.
    pub fn label_outcomes(&mut self, list: Children, process: ProcessId, accesses: &[Access]) {
        let mut at = list;
        while at != NONE {
            let strand = &mut self.strands[at as usize];
            let step = &mut strand.steps[strand.taken];
            if step.process == process && step.alternatives > 1 && step.accesses.is_empty() {
                step.accesses.extend_from_slice(accesses);
                self.accesses += spilled(&step.accesses);
            }
            at = strand.next;
        }
        self.note_most();
    }

    /// How many children a list has.
    pub fn count(&self, list: Children) -> usize {
        std::iter::successors(Some(list).filter(|&at| at != NONE), |&at| {
            Some(self.strands[at as usize].next).filter(|&next| next != NONE)
        })
        .count()
    }

    /// The most bytes that were held so far: what is asked now and then must not depend on when.
    pub fn memory(&self) -> usize {
        self.strands.capacity() * size_of::<Strand>() + self.most
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
        self.insert_below(list, None, Rest::new(v.iter().copied()), asleep.to_vec(), &rules, order)
    }

    /// As [`WakeupTrees::insert`], of a sequence of so many steps, under Mazurkiewicz happens-before.
    ///
    /// Most sequences begin as one that is there, and those of long executions part from it late. So it is
    /// followed as far as it goes before anything else is made of the sequence: its first step is an initial
    /// whatever comes then.
    pub fn insert_steps<'v>(
        &mut self,
        list: Children,
        len: usize,
        step: impl Fn(usize) -> Planned<'v>,
        asleep: Vec<ExploredOutcome>,
        rules: &Rules,
    ) -> Children {
        let (mut used, mut parent) = (0, None);
        if asleep.is_empty() {
            let mut next = self.first(list);
            while let Some(At { strand, step: begin }) = next {
                let steps = &self.strands[strand as usize].steps[begin..];
                let same = |(at, there): (usize, &Step)| {
                    let own = step(at);
                    own.process == there.process && own.choice == there.choice
                };
                let followed = (used..len).zip(steps).take_while(|&pair| same(pair)).count();
                let Some(last) = followed.checked_sub(1) else { break };
                let at = At { strand, step: begin + last };
                used += followed;
                (parent, next) = (Some(at), self.below(at));
                if followed < steps.len() {
                    break;
                }
            }
            let is_leaf = parent.is_some() && next.is_none();
            if is_leaf || used == len && !rules.optimal.other_outcomes {
                return list;
            }
        }
        let rest = Rest::new((used..len).map(step));
        self.insert_below(list, parent, rest, asleep, rules, &mut Dependences)
    }

    /// Inserts what is left of a sequence below an event that it has come to, or into a whole tree.
    fn insert_below(
        &mut self,
        list: Children,
        parent: Option<At>,
        mut rest: Rest<'_>,
        asleep: Vec<ExploredOutcome>,
        rules: &Rules,
        order: &mut impl Precedence,
    ) -> Children {
        let mut root = list;
        let mut work: Work<'_> = Vec::new();
        self.descend(&mut root, parent, &mut rest, asleep, rules, &mut work, order);
        while let Some((parent, mut rest, covered)) = work.pop() {
            let parent = self.first(parent);
            self.descend(&mut root, parent, &mut rest, covered, rules, &mut work, order);
        }
        root
    }

    fn step(&self, at: At) -> &Step {
        &self.strands[at.strand as usize].steps[at.step]
    }

    /// The first event of a list.
    #[inline]
    fn first(&self, list: Children) -> Option<At> {
        let strand = self.strands.get(list as usize)?;
        Some(At { strand: list, step: strand.taken })
    }

    /// The first event below one.
    #[inline]
    fn below(&self, at: At) -> Option<At> {
        let strand = &self.strands[at.strand as usize];
        let after = at.step + 1;
        if after < strand.steps.len() { Some(At { step: after, ..at }) } else { self.first(strand.children) }
    }

    /// The next sibling of an event.
    #[inline]
    fn beside(&self, at: At) -> Option<At> {
        let strand = &self.strands[at.strand as usize];
        if at.step == strand.taken { self.first(strand.next) } else { None }
    }

    /// Puts a list behind an event that has no sibling behind it.
    fn put_beside(&mut self, at: At, list: Children) {
        let strand = if at.step == self.strands[at.strand as usize].taken { at.strand } else { self.cut(at) };
        self.strands[strand as usize].next = list;
    }

    /// Cuts a strand before one of its events. Gives the strand that begins with that one.
    fn cut(&mut self, at: At) -> Children {
        let id = self.new_strand(NONE);
        let strand = &mut self.strands[at.strand as usize];
        let children = std::mem::replace(&mut strand.children, id);
        let steps = strand.steps.split_off(at.step);
        let second = &mut self.strands[id as usize];
        self.room = self.room + steps.capacity() - second.steps.capacity();
        (second.steps, second.children) = (steps, children);
        self.note_most();
        id
    }

    /// Down the tree from below a node (from the root, if there is none), until a leaf or a node where
    /// nothing covers the rest. Also where nothing is left: what is planned below may be for some outcomes
    /// only. `covered` has the outcomes under which there is no need.
    #[allow(clippy::too_many_arguments)]
    fn descend<'v>(
        &mut self,
        root: &mut Children,
        mut parent: Option<At>,
        rest: &mut Rest<'v>,
        mut covered: Vec<ExploredOutcome>,
        rules: &Rules,
        work: &mut Work<'v>,
        order: &mut impl Precedence,
    ) {
        loop {
            let head = parent.map_or_else(|| self.first(*root), |at| self.below(at));
            match self.search(head, rest, &mut covered, rules, work, order) {
                Found::Follow(at) if self.below(at).is_none() => return,
                Found::Follow(_) if rest.steps().is_empty() && !rules.optimal.other_outcomes => return,
                Found::Follow(at) => parent = Some(at),
                Found::Covered => return,
                Found::Nothing(last) => {
                    let branch = match head {
                        Some(head) if rest.steps().is_empty() => self.other_outcomes(head, &covered),
                        _ => self.chain(rest.steps().iter().copied()),
                    };
                    match (last, parent) {
                        (Some(last), _) => self.put_beside(last, branch),
                        (None, None) => *root = branch,
                        (None, Some(at)) => self.strands[at.strand as usize].children = branch,
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
        head: Option<At>,
        rest: &mut Rest<'v>,
        covered: &mut Vec<ExploredOutcome>,
        rules: &Rules,
        work: &mut Work<'v>,
        order: &mut impl Precedence,
    ) -> Found {
        let (mut next, mut last) = (head, None);
        while let Some(at) = next {
            let node = self.step(at);
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
                    if self.below(at).is_some() {
                        let below = covered.iter().filter(|outcome| outcome.stays(node)).cloned().collect();
                        let mut rest = rest.clone();
                        rest.beside.push((node.process, node.choice));
                        work.push((at.strand, rest, below));
                    }
                    let (process, choice) = (node.process, node.choice);
                    covered.push(ExploredOutcome { process, choice, accesses: node.accesses.to_vec() });
                    let known = covered.iter().filter(|outcome| outcome.process == process).count();
                    if known as u32 >= node.alternatives {
                        return Found::Covered;
                    }
                }
                Relation::Apart => {}
            }
            (last, next) = (Some(at), self.beside(at));
        }
        Found::Nothing(last)
    }

    /// The outcomes that are not covered of the step at the head of a list, as leaves.
    fn other_outcomes(&mut self, head: At, covered: &[ExploredOutcome]) -> Children {
        let Step { process, alternatives, accesses, .. } = self.step(head).clone();
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
    pub fn chain<'v>(&mut self, v: impl Iterator<Item = Planned<'v>>) -> Children {
        let (mut first, mut last) = (NONE, NONE);
        let mut goes_on = false;
        for step in v {
            let single = step.alternatives == 1;
            if goes_on && single {
                self.extend(last, step);
                continue;
            }
            let strand = self.leaf(step, NONE);
            match last {
                NONE => first = strand,
                last => self.strands[last as usize].children = strand,
            }
            (last, goes_on) = (strand, single);
        }
        first
    }

    fn relation(&self, at: At, rest: &Rest<'_>, weak: bool, order: &mut impl Precedence) -> Relation {
        let node = self.step(at);
        let v = rest.steps();
        let Some(k) = v.iter().position(|step| step.process == node.process) else {
            let Step { process, choice, alternatives, ref accesses } = *node;
            let step = Planned { process, choice, alternatives, accesses, at: 0 };
            let apart = !weak || order.overtaken_after(v, &rest.beside, step);
            return if apart { Relation::Apart } else { Relation::Beside };
        };
        let apart = v[k].choice != node.choice || order.overtaken(v, k);
        if apart { Relation::Apart } else { Relation::Initial(k) }
    }
}

/// For how many accesses a step has room elsewhere.
#[inline]
fn spilled(accesses: &SmallVec<[Access; 1]>) -> usize {
    if accesses.spilled() { accesses.capacity() } else { 0 }
}

/// What is left of a sequence on the way down a tree, and the steps on the way that it does not have.
#[derive(Clone)]
struct Rest<'v> {
    steps: SmallVec<[Planned<'v>; 24]>,
    /// How many of the steps are used up: mostly it is the first that goes, and the others need not move.
    used: usize,
    beside: SmallVec<[(ProcessId, u32); 4]>,
}

impl<'v> Rest<'v> {
    fn new(v: impl Iterator<Item = Planned<'v>>) -> Rest<'v> {
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
    fn stays(&self, node: &Step) -> bool {
        self.process != node.process && !dependent(&self.accesses, &node.accesses)
    }
}

/// What a list of siblings has for a sequence.
enum Found {
    /// A child that begins it.
    Follow(At),
    /// All outcomes of some step, under each of which it is covered.
    Covered,
    /// Nothing; the last of the siblings, if there is any.
    Nothing(Option<At>),
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
