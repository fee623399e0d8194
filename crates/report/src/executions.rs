//! What a report may list of the executions of a search besides failures: the states in which they ended, and
//! their steps.

use std::collections::HashMap;
use std::ops::ControlFlow;

use mazurka_explore::{Counts, Ending, Monitor};
use mazurka_program::{Explain, Label, Program, Run, Schedule, State, follow, settled};
use mazurka_trace::Trace;

use crate::collect::schedule_of;
use crate::replay::{Misfit, Replay, ReplayEnd, replay};
use crate::report::{Method, Report};
use crate::style::{Paint, Tone, clean};
use crate::text::counted;

/// So many distinct states are told apart. Beyond that it is only known that there are more.
const MOST_STATES: usize = 100_000;
/// Of so many the terms are kept.
const MOST_LISTED_STATES: usize = 1_000;
/// So many executions are listed.
const MOST_EXECUTIONS: usize = 100;
/// All of them together have at most so many steps, but for the first.
const MOST_STEPS: usize = 100_000;

/// The distinct final states of the complete executions of a search. States are equal up to the names of
/// processes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FinalStates {
    known: HashMap<State, usize>,
    /// Whether there are more than were counted.
    pub more: bool,
    /// The first ones, in the order in which they were met.
    pub listed: Vec<FinalState>,
}

/// A final state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FinalState {
    /// What it is made of, in words of the front end, as it was in the first execution that ended so.
    pub terms: Vec<String>,
    /// Whether somebody waits in it.
    pub deadlock: bool,
    /// How many executions ended so.
    pub executions: u64,
}

/// The complete executions of a search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Executions {
    /// The first ones.
    pub listed: Vec<ListedExecution>,
    /// How many there are besides.
    pub left_out: u64,
}

/// A complete execution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedExecution {
    /// How to run it again.
    pub schedule: Schedule,
    /// What happened.
    pub replay: Replay,
}

impl ListedExecution {
    /// Whether it ended in a deadlock.
    pub fn is_deadlock(&self) -> bool {
        self.replay.end == ReplayEnd::Deadlock
    }
}

/// What a [`Recorder`] is to keep of the complete executions of a search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    /// The distinct final states, which takes a run that has [states](mazurka_program::Run::states).
    pub final_states: bool,
    /// The steps of all.
    pub traces: bool,
    /// The first one.
    pub first: bool,
}

/// A monitor that keeps what a report lists of complete executions.
#[derive(Default)]
pub struct Recorder {
    recording: Recording,
    final_states: FinalStates,
    schedules: Vec<Schedule>,
    steps: usize,
    left_out: u64,
}

impl Recorder {
    /// One that has seen nothing yet.
    pub fn new(recording: Recording) -> Recorder {
        Recorder { recording, ..Recorder::default() }
    }

    /// The final states so far, if they were to be kept.
    pub fn final_states(&self) -> &FinalStates {
        &self.final_states
    }

    /// The schedule of the first complete execution, if it was to be kept.
    pub fn first(&self) -> Option<&Schedule> {
        self.schedules.first()
    }

    /// Puts what was kept into the report. Where one schedule was run instead of a search, that is the only
    /// execution.
    ///
    /// # Errors
    /// If the schedule of an execution does not fit the program: a bug.
    pub fn add_to<P: Program<Run: Explain>>(
        &mut self,
        program: &P,
        report: &mut Report,
    ) -> Result<(), Misfit> {
        if let Method::Replay(schedule) = &report.method
            && report.counts.complete > 0
        {
            self.keep(schedule.clone());
            if self.recording.final_states {
                self.final_states = settled(program, |run| {
                    let (mut states, mut label) = (FinalStates::default(), Label::default());
                    let taken = follow(run, &schedule.steps, |run, process, choice| {
                        run.step(process, choice, &mut label)
                    });
                    taken.iter().for_each(|()| states.note(run));
                    states
                });
            }
        }
        if self.recording.final_states {
            report.final_states = Some(std::mem::take(&mut self.final_states));
        }
        if self.recording.traces {
            let told = |schedule: &Schedule| {
                Ok(ListedExecution { schedule: schedule.clone(), replay: replay(program, schedule)? })
            };
            let listed = self.schedules.iter().map(told).collect::<Result<_, Misfit>>()?;
            report.executions = Some(Executions { listed, left_out: self.left_out });
        }
        Ok(())
    }

    fn keep(&mut self, schedule: Schedule) {
        let Recording { traces, first, .. } = self.recording;
        let most = if traces { MOST_EXECUTIONS } else { usize::from(first) };
        let steps = self.steps + schedule.steps.len();
        if self.schedules.len() >= most || (steps > MOST_STEPS && !self.schedules.is_empty()) {
            self.left_out += 1;
            return;
        }
        self.steps = steps;
        self.schedules.push(schedule);
    }
}

impl<R: Explain> Monitor<R> for Recorder {
    fn execution(&mut self, ending: Ending, trace: &Trace, run: &R, _: &Counts) -> ControlFlow<()> {
        let Recording { final_states, traces, first } = self.recording;
        if matches!(ending, Ending::Complete { .. }) {
            if final_states {
                self.final_states.note(run);
            }
            if traces || (first && self.schedules.is_empty()) {
                self.keep(schedule_of(trace, run));
            }
        }
        ControlFlow::Continue(())
    }

    fn begin_again(&mut self) {
        *self = Recorder::new(self.recording);
    }
}

impl FinalStates {
    /// Notes the state of a run at the end of an execution.
    pub fn note<R: Explain>(&mut self, run: &R) {
        let Some(state) = run.states().map(|states| states.state()) else { return };
        if let Some(&at) = self.known.get(&state) {
            if let Some(known) = self.listed.get_mut(at) {
                known.executions += 1;
            }
            return;
        }
        if self.known.len() == MOST_STATES {
            self.more = true;
            return;
        }
        self.known.insert(state, self.known.len());
        if self.listed.len() < MOST_LISTED_STATES {
            let mut deadlock = false;
            run.waiting(&mut |_, _| deadlock = true);
            let terms = run.state_terms().unwrap_or_default();
            self.listed.push(FinalState { terms, deadlock, executions: 1 });
        }
    }

    /// How many there are; at least, if there are [more](FinalStates::more).
    pub fn count(&self) -> usize {
        self.known.len()
    }

    /// The states as text. `so_far`: the search did not look at everything.
    pub(crate) fn text(&self, so_far: bool, paint: Paint) -> String {
        let heading = if so_far { "final states so far:" } else { "final states:" };
        let more = if self.more { "more than " } else { "" };
        let mut text = format!("{} {more}{}\n", paint.paint(Tone::Heading, heading), self.count());
        for (at, state) in self.listed.iter().enumerate() {
            let deadlock = if state.deadlock { "deadlock, " } else { "" };
            let executions = counted(state.executions, "execution");
            text += &format!("  state {}: {deadlock}{executions}\n", at + 1);
            for term in &state.terms {
                text += &format!("    {}\n", clean(term));
            }
        }
        if self.count() > self.listed.len() {
            text += &format!("  ... only the first {} are listed\n", self.listed.len());
        }
        text
    }
}

impl Executions {
    /// The executions as text; `steps` writes those of one.
    pub(crate) fn text(&self, paint: Paint, steps: &dyn Fn(&Replay) -> String) -> String {
        let all = self.listed.len() as u64 + self.left_out;
        let mut text = String::new();
        for (at, execution) in self.listed.iter().enumerate() {
            let deadlock = if execution.is_deadlock() { " (deadlock)" } else { "" };
            let heading = format!("execution {} of {all}{deadlock}:", at + 1);
            text += &format!("{} {}\n", paint.paint(Tone::Heading, &heading), execution.schedule);
            text += &format!("{}\n", steps(&execution.replay));
        }
        if self.left_out > 0 {
            text += &format!("only the first {} of {all} complete executions are told\n", self.listed.len());
        } else {
            text.pop();
        }
        text
    }
}
