//! State spaces with cycles: every step of every state, by depth-first search.
//!
//! The reduction needs to know what lies below a state before it leaves it, which in a cycle nobody knows. So
//! where an execution comes back to a state that is being explored, the search begins again without reduction:
//! each state is entered once, with all that can be done there. Final states are found, and those from which
//! none can be reached.
//!
//! For the latter states are put together in strongly connected components (Tarjan): a state that has been left
//! is *pending* as long as its component has not been. A component that nothing leads out of and that has no
//! final state is a livelock.

use std::ops::ControlFlow;

use mazurka_program::ProcessId;

use super::ConvergentSearch;
use super::store::StateId;
use crate::Ending;
use crate::livelock::some_go_round;

/// What is known of a state.
#[derive(Clone, Copy, Debug)]
enum Reached {
    /// It is the one at a level of the stack.
    Open(usize),
    /// It has been left, and its component has not; its place among those.
    Pending(usize),
    /// Its component has been left; whether a final state can be reached.
    Done { ends: bool },
}

/// A node of the stack.
struct Node {
    state: StateId,
    /// What is left to do.
    steps: Vec<(ProcessId, u32)>,
    known: usize,
    /// The lowest level of the stack that can be reached.
    low: usize,
    /// How many states were pending when it was entered.
    pending: usize,
    /// Whether a final state can be reached, as far as is known.
    ends: bool,
    /// Whether some step leads out of its component.
    leads_out: bool,
}

/// The states of a search and what can be reached from them.
#[derive(Default)]
pub(super) struct Components {
    stack: Vec<Node>,
    pending: Vec<StateId>,
    /// By the numbers of states, which are given as they are met.
    reached: Vec<Reached>,
}

impl Components {
    /// The last step of the last node has led to a state that is known.
    fn lead_to(&mut self, reached: Reached) {
        let level = match reached {
            Reached::Open(level) => Some(level),
            // It belongs to the component of the last node that was there before it.
            Reached::Pending(place) => self.stack.iter().rposition(|node| node.pending <= place),
            Reached::Done { .. } => None,
        };
        let Some(last) = self.stack.last_mut() else { return };
        match (level, reached) {
            (Some(level), _) => last.low = last.low.min(level),
            (None, Reached::Done { ends }) => {
                last.ends |= ends;
                last.leads_out = true;
            }
            (None, _) => {}
        }
    }

    /// Leaves the last node. Says whether its component is a livelock that has been left with it.
    fn leave(&mut self) -> bool {
        let Some(node) = self.stack.pop() else { return false };
        let level = self.stack.len();
        if node.low < level {
            self.reached[node.state.0 as usize] = Reached::Pending(self.pending.len());
            self.pending.push(node.state);
            if let Some(above) = self.stack.last_mut() {
                above.low = above.low.min(node.low);
                above.ends |= node.ends;
                above.leads_out |= node.leads_out;
            }
            return false;
        }
        let done = Reached::Done { ends: node.ends };
        for state in self.pending.drain(node.pending..).chain([node.state]) {
            self.reached[state.0 as usize] = done;
        }
        self.lead_to(done);
        !node.ends && !node.leads_out
    }

    fn memory(&self) -> usize {
        self.stack.capacity() * size_of::<Node>()
            + self.pending.capacity() * size_of::<StateId>()
            + self.reached.capacity() * size_of::<Reached>()
    }
}

impl ConvergentSearch<'_> {
    /// Explores everything, without reduction.
    pub(super) fn explore_all(&mut self) -> ControlFlow<()> {
        let mut components = Components::default();
        self.reach(&mut components)?;
        while let Some(level) = components.stack.len().checked_sub(1) {
            self.walk.back_to(level);
            match components.stack[level].steps.pop() {
                Some((process, choice)) => {
                    self.walk.step(process, choice)?;
                    self.reach(&mut components)?;
                }
                None => {
                    // What goes on after a false assumption is nobody's concern.
                    if components.leave() && !self.walk.run.assumed() {
                        self.walk.end(Ending::Stopped { livelock: true })?;
                    }
                }
            }
            if self.walk.progress_due {
                let branches = components.stack.iter();
                let branches =
                    branches.map(|n| ((n.known - n.steps.len()).saturating_sub(1), n.known.max(1)));
                self.walk.report_progress(branches)?;
                let bytes = self.store.memory() + self.finals_memory + components.memory();
                self.walk.counts.state_memory = bytes as u64;
                self.walk.note_memory(bytes)?;
            }
        }
        ControlFlow::Continue(())
    }

    /// Enters the present state, if it is new.
    fn reach(&mut self, components: &mut Components) -> ControlFlow<()> {
        let state = self.number_state()?;
        if let Some(&reached) = components.reached.get(state.0 as usize) {
            components.lead_to(reached);
            self.walk.counts.merges += 1;
            return self.walk.end(Ending::Blocked);
        }
        let (level, run) = (components.stack.len(), &self.walk.run);
        let mut steps = Vec::new();
        if self.walk.too_deep() && !run.enabled().is_empty() {
            self.walk.end(Ending::Cut)?;
        } else {
            let mut left: Vec<ProcessId> = run.enabled().iter().collect();
            while let Some(process) = self.walk.pick(|p| left.contains(&p)) {
                left.retain(|&p| p != process);
                let alternatives = self.walk.run.alternatives(process);
                steps.extend((0..alternatives).map(|k| (process, self.walk.choice_at(k, alternatives))));
            }
            steps.reverse();
        }
        let ends = steps.is_empty() && !some_go_round(&*self.walk.run);
        debug_assert_eq!(components.reached.len(), state.0 as usize);
        components.reached.push(Reached::Open(level));
        let (known, pending) = (steps.len(), components.pending.len());
        components.stack.push(Node { state, steps, known, low: level, pending, ends, leads_out: false });
        if !ends || !self.walk.run.enabled().is_empty() {
            return ControlFlow::Continue(());
        }
        let ending = if self.is_new_final() { self.walk.maximal_ending() } else { Ending::Blocked };
        self.walk.end(ending)
    }
}
