//! The schedules that are still to be run, the next one last.
//!
//! Only the last one is kept in full. Of each other the stack has the steps that it does not share with the
//! one above it, which is there when it is needed. So a stack takes little more than one schedule.

use mazurka_program::ProcessId;

/// A step: a process with an outcome.
pub(super) type Step = (ProcessId, u32);

/// Schedules, each with the share of the search that is behind it.
#[derive(Default)]
pub(super) struct Schedules {
    /// The last schedule.
    top: Vec<Step>,
    /// What the others have that the one above has not.
    tails: Vec<Step>,
    below: Vec<Below>,
    /// The share of the last one; none if there is none.
    share: Option<f64>,
    new: Vec<Step>,
}

struct Below {
    /// How many steps it shares with the schedule above.
    shared: usize,
    /// Where its tail begins.
    tail: usize,
    share: f64,
}

impl Schedules {
    /// Puts a schedule on top, which begins with these steps.
    pub fn push(&mut self, beginning: &[Step], rest: impl Iterator<Item = Step>, share: f64) {
        self.new.clear();
        self.new.extend_from_slice(beginning);
        self.new.extend(rest);
        if let Some(share) = self.share.replace(share) {
            let shared = common(&self.top, &self.new);
            self.below.push(Below { shared, tail: self.tails.len(), share });
            self.tails.extend_from_slice(&self.top[shared..]);
        }
        std::mem::swap(&mut self.top, &mut self.new);
    }

    /// Takes the schedule on top, which `into` is made; its share.
    pub fn pop(&mut self, into: &mut Vec<Step>) -> Option<f64> {
        let share = self.share?;
        into.clear();
        into.extend_from_slice(&self.top);
        self.share = self.below.pop().map(|next| {
            self.top.truncate(next.shared);
            self.top.extend(self.tails.drain(next.tail..));
            next.share
        });
        Some(share)
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        (self.top.capacity() + self.tails.capacity() + self.new.capacity()) * size_of::<Step>()
            + self.below.capacity() * size_of::<Below>()
    }
}

/// How many steps two schedules begin with in common.
pub(super) fn common(a: &[Step], b: &[Step]) -> usize {
    a.iter().zip(b).take_while(|(x, y)| x == y).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(text: &str) -> Vec<Step> {
        text.bytes().map(|b| (ProcessId(u32::from(b - b'a')), 0)).collect()
    }

    #[test]
    fn what_was_pushed_last_comes_first() {
        let mut stack = Schedules::default();
        let texts = ["abc", "abd", "", "abdef", "abd", "x"];
        for text in texts {
            let schedule = steps(text);
            let (beginning, rest) = schedule.split_at(text.len() / 2);
            stack.push(beginning, rest.iter().copied(), text.len() as f64);
        }

        let mut popped = Vec::new();
        for text in texts.into_iter().rev() {
            assert_eq!(stack.pop(&mut popped), Some(text.len() as f64));
            assert_eq!(popped, steps(text), "{text}");
        }
        assert_eq!(stack.pop(&mut popped), None);
    }
}
