//! What a report may tell of the executions of a search besides failures: in which states they ended, and their steps.

use mazurka_program::Schedule;

use crate::replay::{End, Story};
use crate::style::{Paint, Tone, clean};
use crate::text::counted;

/// The distinct final states of the complete executions of a search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FinalStates {
    /// How many there are.
    pub count: usize,
    /// Whether there are more than were counted.
    pub more: bool,
    /// The first ones.
    pub told: Vec<FinalState>,
}

/// A final state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FinalState {
    /// What it is made of, in words of the front end.
    pub terms: Vec<String>,
    /// Whether somebody waits in it.
    pub deadlock: bool,
    /// How many executions ended so.
    pub executions: u64,
}

/// The complete executions of a search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToldExecutions {
    /// The first ones.
    pub told: Vec<ToldExecution>,
    /// How many there are besides.
    pub left_out: u64,
}

/// A complete execution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToldExecution {
    /// How to run it again.
    pub schedule: Schedule,
    /// What happened.
    pub story: Story,
}

impl ToldExecution {
    /// Whether it ended in a deadlock.
    pub fn is_deadlock(&self) -> bool {
        self.story.end == End::Deadlock
    }
}

impl FinalStates {
    /// The states as text. `so_far`: the search did not look at everything.
    pub(crate) fn text(&self, so_far: bool, paint: Paint) -> String {
        let heading = if so_far { "final states so far:" } else { "final states:" };
        let more = if self.more { "more than " } else { "" };
        let mut text = format!("{} {more}{}\n", paint.paint(Tone::Heading, heading), self.count);
        for (at, state) in self.told.iter().enumerate() {
            let deadlock = if state.deadlock { "deadlock, " } else { "" };
            let executions = counted(state.executions, "execution");
            text += &format!("  state {}: {deadlock}{executions}\n", at + 1);
            for term in &state.terms {
                text += &format!("    {}\n", clean(term));
            }
        }
        if self.count > self.told.len() {
            text += &format!("  ... only the first {} are listed\n", self.told.len());
        }
        text
    }
}

impl ToldExecutions {
    /// The executions as text; `story` tells the steps of one.
    pub(crate) fn text(&self, paint: Paint, story: &dyn Fn(&Story) -> String) -> String {
        let all = self.told.len() as u64 + self.left_out;
        let mut text = String::new();
        for (at, told) in self.told.iter().enumerate() {
            let deadlock = if told.is_deadlock() { " (deadlock)" } else { "" };
            let heading = format!("execution {} of {all}{deadlock}:", at + 1);
            text += &format!("{} {}\n", paint.paint(Tone::Heading, &heading), told.schedule);
            text += &format!("{}\n", story(&told.story));
        }
        if self.left_out > 0 {
            text += &format!("only the first {} of {all} complete executions are told\n", self.told.len());
        } else {
            text.pop();
        }
        text
    }
}
