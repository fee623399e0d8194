//! Brute force over states, for programs whose executions need not end: every state that can be reached, each
//! once, with nothing left out.
//!
//! States are compared with their names, so equal ones have the same continuations. Nothing here knows of
//! rounds, clocks or dependence.

use std::collections::{BTreeSet, HashMap};

use mazurka_program::{AccessKind, Footprints, Label, ProcessId, Program, Run, State};

use crate::{Deadlock, Failed, TooMuch, deadlock};

/// Everything that a program with finitely many states can come to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reachable {
    /// How many processes there are, all together.
    pub processes: usize,
    /// How many states there are, with their names.
    pub states: usize,
    /// Whether some state leads back to itself: there are executions that never end.
    pub cyclic: bool,
    /// The states in which nobody can go on, and no assumption was false.
    pub ends: BTreeSet<State>,
    /// The deadlocks.
    pub deadlocks: BTreeSet<Deadlock>,
    /// What fails in some step.
    pub failures: BTreeSet<Failed>,
    /// Whether some message is sent.
    pub sends: bool,
    /// The livelocks.
    pub livelock: Livelock,
}

/// Whether some state has no way to an end, whatever is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Livelock {
    /// None has.
    #[default]
    No,
    /// Only such as have a way to a false assumption: that is an end to some, and none to others.
    UnlessAssumed,
    /// Some has.
    Yes,
}

/// All states of a program.
///
/// # Errors
/// If there are more than so many, or the program has no states that can be compared.
pub fn reachable<P: Program>(program: &P, most: usize) -> Result<Reachable, TooMuch> {
    let mut search = Search {
        run: program.start(Footprints::Dynamic),
        most,
        known: HashMap::new(),
        nodes: Vec::new(),
        found: Reachable::default(),
        label: Label::default(),
    };
    search.go()?;
    let Search { nodes, mut found, run, .. } = search;
    (found.processes, found.states) = (run.names().len(), nodes.len());
    found.livelock = livelock(&nodes);
    Ok(found)
}

/// A state.
#[derive(Default)]
struct Node {
    /// The states with a step that leads here.
    before: Vec<usize>,
    /// Whether nobody can go on.
    is_end: bool,
    /// Whether an assumption was false on the way.
    assumed: bool,
    /// Whether it is on the path that is being followed.
    on_path: bool,
}

struct Search<R> {
    run: R,
    most: usize,
    known: HashMap<Vec<i64>, usize>,
    nodes: Vec<Node>,
    found: Reachable,
    label: Label,
}

impl<R: Run> Search<R> {
    /// Goes along paths as far as states are new: the steps of each state that are left to take lie on a
    /// stack.
    fn go(&mut self) -> Result<(), TooMuch> {
        self.enter()?;
        self.note_failures(0);
        let mut path = vec![(0, self.steps())];
        while let Some((node, steps)) = path.last_mut() {
            let from = *node;
            let Some((process, choice)) = steps.pop() else {
                self.nodes[from].on_path = false;
                path.pop();
                continue;
            };
            self.run.rewind(path.len() - 1);
            let failed = self.run.failures().len();
            self.run.step(process, choice, &mut self.label).map_err(|_| TooMuch::Program)?;
            self.found.sends |= self.label.accesses.iter().any(|access| access.kind == AccessKind::Send);
            self.note_failures(failed);
            let (to, is_new) = self.enter()?;
            self.nodes[to].before.push(from);
            self.found.cyclic |= !is_new && self.nodes[to].on_path;
            if is_new {
                path.push((to, self.steps()));
            }
        }
        Ok(())
    }

    /// Notes what failed on the present path, but for so many failures.
    fn note_failures(&mut self, known: usize) {
        let new = self.run.failures()[known..].iter();
        self.found.failures.extend(new.map(|failure| (failure.kind, failure.message.clone())));
    }

    /// The steps that can be taken now.
    fn steps(&self) -> Vec<(ProcessId, u32)> {
        let outcomes = |process| (0..self.run.alternatives(process)).map(move |choice| (process, choice));
        self.run.enabled().iter().flat_map(outcomes).collect()
    }

    /// The number of the present state, and whether it is new.
    fn enter(&mut self) -> Result<(usize, bool), TooMuch> {
        let mut state = Vec::new();
        let named = self.run.states().and_then(|states| states.named()).ok_or(TooMuch::Program)?;
        named.named_state(&mut state);
        let next = self.nodes.len();
        let number = *self.known.entry(state).or_insert(next);
        if number < next {
            return Ok((number, false));
        }
        if next >= self.most {
            return Err(TooMuch::States);
        }
        let (is_end, assumed) = (self.run.enabled().is_empty(), self.run.assumed());
        self.nodes.push(Node { before: Vec::new(), is_end, assumed, on_path: true });
        if is_end && !assumed {
            self.found.ends.extend(self.run.states().map(|states| states.state()));
            self.found.deadlocks.extend(deadlock(&self.run));
        }
        Ok((next, true))
    }
}

/// Whether states have no way to an end.
fn livelock(nodes: &[Node]) -> Livelock {
    let has_none = |is_goal: &dyn Fn(&Node) -> bool| {
        let reaches = can_reach(nodes, is_goal);
        nodes.iter().zip(reaches).any(|(node, reaches)| !reaches && !node.assumed)
    };
    if has_none(&|node| node.is_end || node.assumed) {
        Livelock::Yes
    } else if has_none(&|node| node.is_end && !node.assumed) {
        Livelock::UnlessAssumed
    } else {
        Livelock::No
    }
}

/// For each state, whether it has a way to one of these.
fn can_reach(nodes: &[Node], is_goal: &dyn Fn(&Node) -> bool) -> Vec<bool> {
    let mut reaches: Vec<bool> = nodes.iter().map(is_goal).collect();
    let mut left: Vec<usize> = (0..nodes.len()).filter(|&node| reaches[node]).collect();
    while let Some(node) = left.pop() {
        for &before in &nodes[node].before {
            if !std::mem::replace(&mut reaches[before], true) {
                left.push(before);
            }
        }
    }
    reaches
}
