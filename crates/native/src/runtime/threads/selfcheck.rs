//! Looks whether labels tell everything: an execution is repeated with its steps in another order that should
//! come to the same, and must do so.
//!
//! What happens before what is found from labels. If two steps that their labels say are independent are not,
//! because something was read or written without being announced (inline assembly, a library that is not
//! instrumented), then a random order that respects the labels is likely to show it: a step does something
//! else, or memory differs in the end. One order of an execution is tried, of one in so many executions: that
//! finds holes, and proves nothing.
//!
//! The execution is repeated in its own order before that, from the start: so it is seen too whether what was
//! restored from snapshots was all that there is.

use mazurka_program::{Access, ProcessId, Stop};

use super::runtime::Runtime;
use super::script::TakenStep;
use crate::runtime::memory::layout;

/// Executions that are longer are not looked at: it takes time in proportion to the square.
const LONGEST: usize = 1000;

/// What a step did.
struct RepeatedStep {
    taken: TakenStep,
    accesses: Vec<Access>,
    spawned: Vec<ProcessId>,
}

impl RepeatedStep {
    fn depends_on(&self, earlier: &RepeatedStep) -> bool {
        self.taken.process == earlier.taken.process
            || earlier.spawned.contains(&self.taken.process)
            || self.accesses.iter().any(|a| {
                let conflict = |b: &Access| !(a.kind.is_read() && b.kind.is_read()) && a.overlaps(*b);
                earlier.accesses.iter().any(conflict)
            })
    }
}

/// A random number (xorshift).
fn random(seed: &mut u64) -> u64 {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    *seed
}

/// A random order of the steps that respects what happens before what.
fn another_order(steps: &[RepeatedStep], seed: &mut u64) -> Vec<usize> {
    let mut left: Vec<usize> = steps
        .iter()
        .enumerate()
        .map(|(at, step)| steps[..at].iter().filter(|earlier| step.depends_on(earlier)).count())
        .collect();
    let mut ready: Vec<usize> = (0..steps.len()).filter(|&at| left[at] == 0).collect();
    let mut order = Vec::with_capacity(steps.len());
    while !ready.is_empty() {
        let next = ready.swap_remove((random(seed) % ready.len() as u64) as usize);
        order.push(next);
        for later in next + 1..steps.len() {
            if steps[later].depends_on(&steps[next]) {
                left[later] -= 1;
                if left[later] == 0 {
                    ready.push(later);
                }
            }
        }
    }
    order
}

impl Runtime {
    /// Whether the execution that has just come to its end is to be looked at.
    pub(crate) fn is_due(&mut self) -> bool {
        self.search.completed += 1;
        let every = u64::from(self.search.options.self_check);
        every > 0
            && self.search.completed % every == 1 % every
            && self.execution.schedule.depth as usize <= LONGEST
    }

    /// Repeats an execution in another order. The runtime is left somewhere else then.
    pub(crate) fn check_itself(&mut self, script: &[TakenStep]) -> Result<(), Stop> {
        let mut steps = Vec::with_capacity(script.len());
        let reached = self.memory_now();
        self.start_again()?;
        for &taken in script {
            if self.repeat(taken)? != taken {
                self.not_repeated(steps.len(), taken.process);
                return self.check_stop();
            }
            let (accesses, spawned) = (self.step.label.accesses.clone(), self.step.label.spawned.clone());
            steps.push(RepeatedStep { taken, accesses, spawned });
        }
        let before = self.memory_now();
        if let Some(address) = difference(&reached, &before) {
            return Err(hole("repeated", &format!("{} holds something else", self.memory_name(address, 1))));
        }
        let mut seed = self.search.completed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        let order = another_order(&steps, &mut seed);
        self.start_again()?;
        for at in order {
            let step = &steps[at];
            let able = self.execution.schedule.enabled.contains(step.taken.process);
            if able {
                self.repeat(step.taken)?;
            }
            if !able || self.step.label.accesses != step.accesses || self.step.label.spawned != step.spawned {
                let what = format!("{} does something else", self.name_of(step.taken.process));
                return Err(hole(REORDERED, &what));
            }
        }
        match difference(&before, &self.memory_now()) {
            None => Ok(()),
            Some(address) => {
                Err(hole(REORDERED, &format!("{} holds something else", self.memory_name(address, 1))))
            }
        }
    }

    fn repeat(&mut self, taken: TakenStep) -> Result<TakenStep, Stop> {
        let again = self.take(taken.process, taken.choice);
        self.check_stop().map(|()| again)
    }

    /// What variables and heaps hold, range by range.
    fn memory_now(&self) -> Vec<(usize, Vec<u8>)> {
        let mut memory = self.execution.image.variables_now();
        for &process in &self.execution.schedule.created {
            let heap = self.execution.heap.in_use(process);
            memory.push((heap.start, layout::bytes(heap.start, heap.end)));
        }
        memory.sort();
        memory
    }
}

/// The first address at which memory differs.
fn difference(before: &[(usize, Vec<u8>)], after: &[(usize, Vec<u8>)]) -> Option<usize> {
    before.iter().find_map(|(start, was)| {
        // What only one of them has was not written in the other.
        let (_, is) = after.iter().find(|(other, _)| other == start)?;
        let at = was.iter().zip(is).position(|(was, is)| was != is);
        at.or((was.len() != is.len()).then_some(0)).map(|at| start + at)
    })
}

const REORDERED: &str = "taken in another order that should make no difference";

fn hole(how: &str, what: &str) -> Stop {
    Stop::Bound(format!(
        "when the steps of an execution are {how}, {what}: something was accessed that nobody announced, such as by \
         inline assembly or by a library, so what was found can't be relied on"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use mazurka_program::{AccessKind, Location};

    fn step(thread: u32, location: u32, kind: AccessKind) -> RepeatedStep {
        let taken = TakenStep { process: ProcessId(thread), choice: 0, mark: 0, next: 0 };
        RepeatedStep { taken, accesses: vec![Access::one(Location(location), kind)], spawned: Vec::new() }
    }

    #[test]
    fn orders_respect_dependence() {
        let (read, write) = (AccessKind::Read, AccessKind::Write);
        let steps =
            [step(0, 1, write), step(1, 1, read), step(2, 1, read), step(1, 2, write), step(0, 2, read)];
        let (mut seed, mut orders) = (7, std::collections::BTreeSet::new());
        for _ in 0..200 {
            let order = another_order(&steps, &mut seed);
            let place = |step: usize| order.iter().position(|&at| at == step);
            assert_eq!(order.len(), steps.len());
            for (earlier, later) in [(0, 1), (0, 2), (1, 3), (3, 4), (0, 4)] {
                assert!(place(earlier) < place(later), "{order:?}");
            }
            orders.insert(order);
        }
        assert_eq!(orders.len(), 4, "the read of thread 2 can be anywhere behind the write");
    }
}
