//! What a check does, on its own thread: saved failures first, then the search; or one schedule.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mazurka_explore::{Algorithm, Beginning, Counts, Ending, Limits, Monitor, Options, explore};
use mazurka_program::{Explain, Explanation, Failure, Footprints, Program, Run, Schedule, Step, follow};
use mazurka_report::{
    Collected, Counterexample, InternalError, Kept, NOT_MET_AGAIN, Replay, ReplayEnd, ReplayStep,
    Report as Inner, Subject, Watch, check, check_jobs, check_kept, check_schedule,
};
use mazurka_trace::Trace;

use super::environment::Verbosity;
use super::heartbeat::Heartbeat;
use super::journal::{self, SharedKeeper};
use super::probe;
use super::regressions::Entry;
use super::report::{Report, internal};
use super::watchdog::{Loss, LostThread};
use crate::runtime::run::{Closure, ClosureRun};

/// How often the progress is told.
const BETWEEN_LINES: Duration = Duration::from_secs(2);

/// So many executions are run, if need be, to find out how the threads of a program step before a schedule is
/// run.
const SCOUTED: [u64; 2] = [1, 1_000];
/// And at most so long.
const SCOUTING: Duration = Duration::from_secs(2);

/// What is to be done.
#[derive(Clone)]
pub(super) struct Task {
    pub(super) subject: Subject,
    pub(super) algorithm: Algorithm,
    pub(super) options: Options,
    /// How many threads of the operating system share the search; none if it can't be shared.
    pub(super) workers: Option<usize>,
    /// Who keeps the search.
    pub(super) journal: Option<SharedKeeper>,
    /// What others have done of the search: all but what ends it.
    pub(super) elsewhere: Option<Beginning<Collected>>,
    /// The only schedule to run.
    pub(super) replay: Option<Schedule>,
    /// The schedules to run first.
    pub(super) saved: Vec<Entry>,
    pub(super) verbosity: Verbosity,
    pub(super) heartbeat: Arc<Heartbeat>,
}

impl Task {
    pub(super) fn run(&self, program: &Closure) -> Inner {
        if let Some(schedule) = &self.replay {
            return self.run_schedule(program, schedule);
        }
        // What saved failures teach of a program must make no difference to a search that is kept: there may be
        // others when it goes on.
        let saved = match (&self.journal, &self.elsewhere) {
            (None, None) => self.run_saved(program),
            _ => self.run_saved(&program.unknown()),
        };
        saved.unwrap_or_else(|| self.search(program))
    }

    /// Whether one of the saved failures is still there.
    pub(super) fn is_saved_there(&self, program: &Closure) -> bool {
        self.run_saved(program).is_some()
    }

    fn search(&self, program: &Closure) -> Inner {
        let begin = Instant::now();
        let mut next = BETWEEN_LINES;
        let mut watch = |counts: &Counts, share: f64| {
            if self.verbosity == Verbosity::Progress && begin.elapsed() >= next {
                next = begin.elapsed() + BETWEEN_LINES;
                eprintln!("{}", progress_line(&self.subject.program, counts, share, begin.elapsed()));
            }
            if self.heartbeat.progress(counts) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let subject = self.subject.clone();
        let workers = self.workers.filter(|_| !program.is_alone());
        let report = match (workers, &self.journal) {
            _ if self.elsewhere.is_some() => self.conclude(program, &mut watch),
            (Some(workers), Some(journal)) => match journal.take_turn() {
                Ok((mut keeper, before)) => {
                    let kept = Kept { before, keeper: Some(&mut keeper) };
                    check_kept(program, subject, &self.options, workers, &mut watch, kept)
                }
                Err(why) => Ok(self.nothing(why)),
            },
            (None, Some(_)) => Ok(self.nothing(journal::ALONE.to_owned())),
            (workers, None) => self.search_shared(program, workers, &mut watch),
        };
        let mut report = report.unwrap_or_else(|error| self.broken(program, &error.to_string()));
        report.reason = report.reason.or_else(|| program.doubt().map(str::to_owned));
        report
    }

    /// Ends a search that others have done.
    fn conclude(&self, program: &Closure, watch: &mut Watch<'_>) -> Result<Inner, InternalError> {
        let before = self.elsewhere.clone().unwrap_or_else(Beginning::whole);
        let kept = Kept { before, keeper: None };
        let report = check_kept(program, self.subject.clone(), &self.options, 1, watch, kept)?;
        match report.reason.as_deref() == Some(NOT_MET_AGAIN) && report.failures.is_empty() {
            true => Ok(Inner { reason: report.reason.clone(), ..self.broken(program, NOT_MET_AGAIN) }),
            false => Ok(report),
        }
    }

    /// Searches with so many workers, if the search can be shared.
    fn search_shared(
        &self,
        program: &Closure,
        workers: Option<usize>,
        watch: &mut Watch<'_>,
    ) -> Result<Inner, InternalError> {
        let subject = || self.subject.clone();
        let shared = workers.and_then(|workers| {
            check_jobs(program, subject(), self.algorithm, &self.options, workers, &mut *watch)
        });
        shared.unwrap_or_else(|| check(program, subject(), self.algorithm, &self.options, Some(watch)))
    }

    /// The report of a search that came to what can't be: the closure does not repeat itself, or there is a
    /// bug of ours.
    pub(super) fn broken(&self, program: &Closure, what: &str) -> Inner {
        self.heartbeat.set_time_is_up(false);
        let Some(failure) = probe::difference(program) else { return self.nothing(internal(what)) };
        let mut report = self.nothing("the program did not repeat what it had done".to_owned());
        report.counts = self.heartbeat.counts();
        report.failures.push(counterexample(failure, None, None, None));
        report
    }

    fn nothing(&self, reason: String) -> Inner {
        Report::nothing(self.subject.clone(), self.algorithm, reason)
    }

    /// What the first saved schedule says that still fails.
    fn run_saved(&self, program: &Closure) -> Option<Inner> {
        if self.saved.is_empty() {
            return None;
        }
        let failing = || {
            self.saved.iter().find_map(|entry| {
                let report = check_schedule(program, self.subject.clone(), entry.schedule.clone()).ok()?;
                (!report.failures.is_empty()).then_some((entry, report))
            })
        };
        let found = failing().or_else(|| if scout(program, SCOUTED[0]) { failing() } else { None });
        found.map(|(entry, mut report)| {
            let note = format!("the failure saved in {} was run first, and is still there", entry.place);
            report.notes.push(note);
            report
        })
    }

    fn run_schedule(&self, program: &Closure, schedule: &Schedule) -> Inner {
        let run = || check_schedule(program, self.subject.clone(), schedule.clone());
        let first = run();
        let mut efforts = SCOUTED.into_iter();
        let mut last = first.as_ref().ok().filter(|report| !report.failures.is_empty()).cloned();
        while last.is_none()
            && let Some(executions) = efforts.next()
        {
            if scout(program, executions) {
                last = run().ok().filter(|report| !report.failures.is_empty());
            }
        }
        last.or(first.as_ref().ok().cloned()).unwrap_or_else(|| {
            let why = first.err().map_or(String::new(), |misfit| misfit.to_string());
            self.nothing(format!("{why}; a schedule fits only the test that it was printed for"))
        })
    }
}

/// Runs some executions, to find out what changes the steps of threads; a schedule means something only with
/// what was known when it was found. Gives whether there was something new.
fn scout(program: &Closure, executions: u64) -> bool {
    struct Scout(bool);
    impl Monitor<ClosureRun> for Scout {
        fn execution(&mut self, _: Ending, _: &Trace, _: &ClosureRun, _: &Counts) -> ControlFlow<()> {
            ControlFlow::Continue(())
        }

        fn begin_again(&mut self) {
            self.0 = true;
        }
    }
    let limits = Limits { executions: Some(executions), time: Some(SCOUTING), ..Limits::default() };
    let mut scout = Scout(false);
    explore(program, Algorithm::Optimal, &Options { limits, ..Options::default() }, &mut scout);
    scout.0
}

/// The steps up to the one in which a thread was lost, explained; and that one, as far as it can be.
pub(super) fn explain_loss(program: &Closure, schedule: &Schedule, lost: &LostThread) -> Option<Replay> {
    let (last, before) = schedule.steps.split_last()?;
    let mut run = program.start(Footprints::Dynamic);
    run.never_runs_out();
    let steps = steps_to_loss(&mut run, before, last, lost);
    // To end the execution would be to let the thread go on to where it was lost, or to unwind what the one
    // that hangs works with.
    std::mem::forget(run);
    Some(Replay {
        steps: steps?,
        waiting: Vec::new(),
        failures: Vec::new(),
        end: ReplayEnd::Early(Vec::new()),
    })
}

fn steps_to_loss(
    run: &mut ClosureRun,
    before: &[Step],
    last: &Step,
    lost: &LostThread,
) -> Option<Vec<ReplayStep>> {
    let mut steps = Vec::new();
    let followed = follow(run, before, |run, process, choice| {
        let explanation = run.step_explained(process, choice)?;
        steps.push(ReplayStep::new(run, explanation));
        Ok(())
    });
    followed.ok()?;
    let process = run.names().find(&last.process)?;
    let (operation, place) = run.comes_to(process)?;
    let note = lost.note(&run.process_name(process));
    let (reads, writes) = (Vec::new(), Vec::new());
    let explanation = Explanation { process, operation, reads, writes, note: Some(note), place: Some(place) };
    steps.push(ReplayStep::new(run, explanation));
    Some(steps)
}

/// The report of a check that hangs, or that was ended by a signal.
pub(super) fn lost_report(task: &Task, lost: LostThread, replay: Option<Replay>, timeout: Duration) -> Inner {
    let why = match lost.loss {
        Loss::Crash(_) | Loss::InStep => "the search can't go on after this".to_owned(),
        Loss::Hang => format!(
            "it was given up after {} s without an operation (Checker::hang_timeout)",
            timeout.as_secs_f64()
        ),
    };
    let mut report = task.nothing(format!("{why}; the counts are those of a moment before"));
    report.counts = task.heartbeat.counts();
    report.failures.push(counterexample(lost.failure(), Some(lost.name), lost.schedule, replay));
    report
}

fn counterexample(
    failure: Failure,
    process: Option<String>,
    schedule: Option<Schedule>,
    replay: Option<Replay>,
) -> Counterexample {
    Counterexample { failure, process, executions: None, varies: false, schedule, replay }
}

fn progress_line(program: &str, counts: &Counts, share: f64, elapsed: Duration) -> String {
    let mut line = format!("mazurka: {program}: {} executions", counts.executions());
    if share > 0.0 && share <= 1.0 {
        line += &format!(", perhaps {:.1} %", share * 100.0);
    }
    line + &format!(", {:.0} s", elapsed.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_told_as_far_as_it_is_known() {
        let counts = Counts { complete: 90, blocked: 10, ..Counts::default() };
        let told = |share| progress_line("bank", &counts, share, Duration::from_secs(3));
        assert_eq!(told(0.25), "mazurka: bank: 100 executions, perhaps 25.0 %, 3 s");
        assert_eq!(told(0.0), "mazurka: bank: 100 executions, 3 s");
    }
}
