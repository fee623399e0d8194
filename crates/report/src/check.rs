//! From a program to a report: by a search, or by one schedule.

use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use mazurka_explore::{
    Algorithm, Beginning, Counts, Crew, Explored, Item, Jobs, Ledger, Monitor, NoMonitor, NotExhaustive,
    Options, Summary, explore, explore_ahead, explore_item, explore_jobs, explore_jobs_from,
};
use mazurka_program::{Explain, Failure, FailureKind, Program, Schedule};

use crate::collect::{Both, Collected, Collector, DistinctFailure, PartCollector, Watch, same};
use crate::kept::{Collectors, Kept, NothingMore, Teller, collectors};
use crate::replay::{Misfit, Replay, ReplayEnd, ReplayFailure, replay};
use crate::report::{Counterexample, Method, Report, Subject};
use crate::text::counted;
use crate::wording::Wording;

/// All replays of a report together have at most so many steps, but for the first, which is always told. It
/// keeps a hundred failures of a hundred thousand steps each from filling the memory.
const MAX_TOLD: usize = 200_000;

/// A bug of ours that a search noticed: what was to hold always did not. There is no verdict then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InternalError {
    /// The algorithm that has it.
    pub algorithm: Algorithm,
    /// What does not hold.
    pub what: &'static str,
}

impl fmt::Display for InternalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.algorithm, self.what)
    }
}

impl std::error::Error for InternalError {}

/// Searches a program for failures: for the first, or with [`Options::keep_going`] for all.
///
/// # Errors
/// If the search noticed a bug of ours. Unless it had met a failure, which is one whatever else happened.
pub fn check<'a, P: Program<Run: Explain>>(
    program: &P,
    subject: Subject,
    algorithm: Algorithm,
    options: &Options,
    watch: Option<&'a mut Watch<'a>>,
) -> Result<Report, InternalError> {
    check_observed(program, subject, algorithm, options, watch, &mut NoMonitor)
}

/// As [`check()`], with somebody who is told of each execution too, before it is looked at for failures.
///
/// # Errors
/// As [`check()`].
pub fn check_observed<'a, P: Program<Run: Explain>>(
    program: &P,
    subject: Subject,
    algorithm: Algorithm,
    options: &Options,
    watch: Option<&'a mut Watch<'a>>,
    observer: &mut dyn Monitor<P::Run>,
) -> Result<Report, InternalError> {
    let begin = Instant::now();
    let mut collector = Collector::new(options.keep_going, watch);
    let summary = explore(program, algorithm, options, &mut Both { first: observer, second: &mut collector });
    told(program, subject, algorithm, options, Searched { summary, collected: collector.collected(), begin })
}

/// As [`check()`], with so many workers: the report does not depend on how many. None if searches by the algorithm can't
/// be shared ([`Algorithm::can_be_shared`]).
///
/// # Errors
/// As [`check()`].
pub fn check_jobs<P: Program<Run: Explain> + Send + Sync>(
    program: &P,
    subject: Subject,
    algorithm: Algorithm,
    options: &Options,
    workers: usize,
    watch: &mut Watch<'_>,
) -> Option<Result<Report, InternalError>> {
    let search = |jobs: Jobs<'_, PartCollector>| explore_jobs(program, algorithm, options, jobs);
    let Searched { summary, collected, begin } = searched(options, workers, watch, search);
    let searched = Searched { summary: summary?, collected, begin };
    Some(told(program, subject, algorithm, options, searched))
}

/// As [`check_jobs`] by `wake-up`, of a search that goes on from what was kept of it.
///
/// # Errors
/// As [`check()`].
pub fn check_kept<P: Program<Run: Explain> + Send + Sync>(
    program: &P,
    subject: Subject,
    options: &Options,
    workers: usize,
    watch: &mut Watch<'_>,
    kept: Kept<'_>,
) -> Result<Report, InternalError> {
    let (before, mut nobody) = (collectors(kept.before), NothingMore);
    let mut keeper = Teller(kept.keeper.unwrap_or(&mut nobody));
    let search =
        |jobs: Jobs<'_, PartCollector>| explore_jobs_from(program, options, jobs, before, &mut keeper);
    let searched = searched(options, workers, watch, search);
    told(program, subject, Algorithm::WakeUp, options, searched)
}

/// As [`check_jobs`] by `wake-up`, of a program that runs on one thread: with others who explore parts of the search
/// ahead, and from what was done before; if somebody keeps what is done, they are told.
///
/// # Errors
/// As [`check()`].
pub fn check_ahead<P: Program<Run: Explain>>(
    program: &P,
    subject: Subject,
    options: &Options,
    workers: usize,
    watch: &mut Watch<'_>,
    kept: Option<Kept<'_>>,
    crew: &mut dyn Crew<Collected>,
) -> Result<Report, InternalError> {
    let (before, keeper) = match kept {
        Some(Kept { before, keeper }) => (before, keeper),
        None => (Beginning::whole(), None),
    };
    let (before, mut crew, mut teller) = (collectors(before), Collectors(crew), keeper.map(Teller));
    let ledger = teller.as_mut().map(|teller| teller as &mut dyn Ledger<PartCollector>);
    let search =
        |jobs: Jobs<'_, PartCollector>| explore_ahead(program, options, jobs, before, &mut crew, ledger);
    let searched = searched(options, workers, watch, search);
    told(program, subject, Algorithm::WakeUp, options, searched)
}

/// Explores a part of a search, until there were so many executions: what came of it, and what was collected.
pub fn explore_part<P: Program<Run: Explain>>(
    program: &P,
    item: Item,
    most: u64,
    options: &Options,
) -> (Explored, Collected) {
    let mut part = PartCollector::new(options.keep_going);
    let explored = explore_item(program, item, most, options, &mut part);
    (explored, part.collected())
}

/// Searches in some way of sharing the work.
fn searched<S>(
    options: &Options,
    workers: usize,
    watch: &mut Watch<'_>,
    search: impl FnOnce(Jobs<'_, PartCollector>) -> S,
) -> Searched<S> {
    let begin = Instant::now();
    let collected = Mutex::new(Collected::default());
    let lock = || collected.lock().unwrap_or_else(PoisonError::into_inner);
    let mut interrupted = false;
    let jobs = Jobs {
        workers,
        monitor: &|| PartCollector::new(options.keep_going),
        collect: &mut |part: PartCollector| lock().add(part.collected()),
        begin_again: &mut || *lock() = Collected::default(),
        watch: &mut |counts, share| {
            let goes_on = watch(counts, share);
            interrupted |= goes_on.is_break();
            goes_on
        },
    };
    let summary = search(jobs);
    let mut collected = collected.into_inner().unwrap_or_else(PoisonError::into_inner);
    collected.interrupted = interrupted && (collected.found.is_empty() || options.keep_going);
    Searched { summary, collected, begin }
}

/// A search that is over.
struct Searched<S = Summary> {
    summary: S,
    collected: Collected,
    begin: Instant,
}

/// The report of a search.
fn told<P: Program<Run: Explain>>(
    program: &P,
    subject: Subject,
    algorithm: Algorithm,
    options: &Options,
    searched: Searched,
) -> Result<Report, InternalError> {
    let Searched { summary, collected, begin } = searched;
    let seconds = begin.elapsed().as_secs_f64();
    if collected.found.is_empty()
        && let Some(what) = internal_error(&summary)
    {
        return Err(InternalError { algorithm, what });
    }
    let mut failures = tell(program, &collected.found, options.keep_going, MAX_TOLD);
    let reason = reason(&summary, &collected, options.keep_going, &subject.wording);
    let refused = algorithm.name() == Algorithm::DataCentric.name()
        && matches!(summary.not_exhaustive, Some(NotExhaustive::Unsupported(_)));
    failures.extend(summary.broken.map(broken));
    let (counts, more_failures) = (summary.counts, collected.more);
    let mut notes: Vec<String> = summary.note.map(str::to_owned).into_iter().collect();
    if algorithm == Algorithm::ReadsFrom && failures.is_empty() {
        notes.push(memory_note(options.observe_memory, &subject.wording));
    }
    let report = Report::new(subject, Method::Search(algorithm));
    Ok(Report { counts, seconds, reason, refused, notes, failures, more_failures, ..report })
}

/// By what executions of `reads-from` were told apart.
fn memory_note(observes_memory: bool, wording: &Wording) -> String {
    const ONE: &str = "executions count as one if every read reads from the same write";
    match observes_memory {
        true => format!("{ONE} and memory was left by the same writes"),
        false => format!("{ONE}, whatever memory holds at the end ({}: that too)", wording.observe_memory),
    }
}

/// Runs one schedule of a program.
///
/// # Errors
/// If the schedule does not fit the program.
pub fn check_schedule<P: Program<Run: Explain>>(
    program: &P,
    subject: Subject,
    schedule: Schedule,
) -> Result<Report, Misfit> {
    let begin = Instant::now();
    let replay = replay(program, &schedule)?;
    let seconds = begin.elapsed().as_secs_f64();
    let counts = counts_of(&replay);
    let reason = Some(format!("only one schedule was run{}", end_text(&replay.end)));
    let mut found: Vec<DistinctFailure> = Vec::new();
    for met in &replay.failures {
        let next = DistinctFailure::once(met.failure.clone(), Vec::new(), schedule.clone());
        if !found.iter().any(|known| known.is_like(&next)) {
            found.push(next);
        }
    }
    let failures = tell(program, &found, false, MAX_TOLD);
    let replay = failures.is_empty().then_some(replay);
    let report = Report::new(subject, Method::Replay(schedule));
    Ok(Report { counts, seconds, reason, failures, replay, ..report })
}

/// The failures, confirmed; those whose replays would exceed the most steps of a report come without.
fn tell<P: Program<Run: Explain>>(
    program: &P,
    found: &[DistinctFailure],
    counted: bool,
    most: usize,
) -> Vec<Counterexample> {
    let mut told = 0;
    let mut failures = Vec::new();
    for found in found {
        let mut failure = confirm(program, found);
        failure.executions = failure.executions.filter(|_| counted);
        let steps = failure.replay.as_ref().map_or(0, |replay| replay.steps.len());
        if told > 0 && told + steps > most {
            failure.replay = None;
        } else {
            told += steps;
        }
        failures.push(failure);
    }
    failures
}

/// Runs the schedule of a failure again, which must give the failure again, and tells the part that leads to
/// it.
///
/// A program that does not repeat itself is a failure of its own, of kind nondeterminism.
pub fn confirm<P: Program<Run: Explain>>(program: &P, found: &DistinctFailure) -> Counterexample {
    let replay = match replay(program, &found.schedule) {
        Ok(replay) => replay,
        Err(misfit) => return not_repeated(found, None, &misfit.to_string()),
    };
    let Some(met) = replay.failures.iter().find(|met| same(&met.failure, &found.failure)) else {
        let why = match replay.failures.first() {
            Some(ReplayFailure { failure, .. }) => {
                format!("there was another instead ({}: {})", failure.kind.name(), failure.message)
            }
            None => "nothing failed".to_owned(),
        };
        return not_repeated(found, Some(replay), &why);
    };
    let ReplayFailure { steps, failure, process } = met.clone();
    if steps < found.schedule.steps.len() {
        // What came after the failure is of no interest: tell it as a replay of the shorter schedule will.
        let mut found = found.clone();
        found.schedule.steps.truncate(steps);
        return confirm(program, &found);
    }
    Counterexample {
        failure,
        process,
        executions: Some(found.executions),
        varies: found.varies,
        schedule: Some(found.schedule.clone()),
        replay: Some(replay),
    }
}

fn not_repeated(found: &DistinctFailure, replay: Option<Replay>, why: &str) -> Counterexample {
    let Failure { kind, message, place, .. } = &found.failure;
    let failure = Failure {
        kind: FailureKind::Nondeterminism,
        message: format!(
            "the search met a failure ({}: {message}), but when its schedule was run again {why}",
            kind.name()
        ),
        place: place.clone(),
        process: None,
    };
    let schedule = Some(found.schedule.clone());
    Counterexample { failure, process: None, executions: None, varies: false, schedule, replay }
}

fn broken(failure: Failure) -> Counterexample {
    Counterexample { failure, process: None, executions: None, varies: false, schedule: None, replay: None }
}

/// What a search found wrong with itself.
pub(crate) fn internal_error(summary: &Summary) -> Option<&'static str> {
    match summary.not_exhaustive {
        Some(NotExhaustive::Internal(what)) => Some(what),
        _ => None,
    }
}

/// Why a search did not look at everything, and what to do about it.
pub(crate) fn reason(
    summary: &Summary,
    collected: &Collected,
    keep_going: bool,
    wording: &Wording,
) -> Option<String> {
    if collected.interrupted && summary.not_exhaustive.is_some() {
        return Some("the search was interrupted".to_owned());
    }
    Some(match summary.not_exhaustive.as_ref() {
        Some(NotExhaustive::Stopped) => {
            format!("the search stopped at the first failure ({} looks for others)", wording.keep_going)
        }
        Some(NotExhaustive::Executions(1)) => "the limit of 1 execution was reached".to_owned(),
        Some(NotExhaustive::Depth(steps)) => {
            let cut = format!("an execution was cut after {}", counted(*steps as u64, "step"));
            let Wording { max_depth, seed, keep_going: go_on, .. } = wording;
            match keep_going {
                true => format!("{cut}; bound its loops or raise {max_depth} (another {seed} may show more)"),
                false => {
                    format!("{cut}; bound its loops, raise {max_depth}, or go on with {go_on} and a {seed}")
                }
            }
        }
        Some(NotExhaustive::Unrolled(most, what)) => {
            let most = counted(*most as u64, "round");
            format!("{what} was cut after {most}; bound it or raise {}", wording.max_unroll)
        }
        Some(NotExhaustive::Memory(bytes)) => {
            let most = size_text(*bytes);
            format!("the memory limit of {most} was reached; {} raises it", wording.max_memory)
        }
        Some(reason) => reason.to_string(),
        None => {
            let broken = summary.broken.as_ref()?;
            match broken.kind {
                FailureKind::Nondeterminism => "the program did not repeat what it had done".to_owned(),
                _ => "the search can't go on after this".to_owned(),
            }
        }
    })
}

/// A number of bytes as the option takes it: `512M`.
fn size_text(bytes: u64) -> String {
    let units = [(40, "T"), (30, "G"), (20, "M"), (10, "K")];
    match units.into_iter().find(|&(shift, _)| bytes > 0 && bytes.is_multiple_of(1 << shift)) {
        Some((shift, unit)) => format!("{}{unit}", bytes >> shift),
        None => format!("{bytes} bytes"),
    }
}

fn end_text(end: &ReplayEnd) -> String {
    match end {
        ReplayEnd::Finished => ", to its end".to_owned(),
        ReplayEnd::Deadlock => ", to a deadlock".to_owned(),
        ReplayEnd::Livelock => ", to a livelock".to_owned(),
        ReplayEnd::Assumed => ", and ended in a false assumption".to_owned(),
        ReplayEnd::Early(names) => format!(", and {} could still go on", listing(names)),
        ReplayEnd::Bound(reason) => format!(", and stopped early: {reason}"),
        ReplayEnd::Broken => ", and broke".to_owned(),
    }
}

/// A few names, and how many more there are.
fn listing(names: &[String]) -> String {
    const NAMED: usize = 4;
    let mut text = names.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    if names.len() > NAMED {
        text += &format!(" and {} more", names.len() - NAMED);
    }
    text
}

fn counts_of(replay: &Replay) -> Counts {
    let complete = matches!(replay.end, ReplayEnd::Finished | ReplayEnd::Deadlock);
    Counts {
        complete: complete.into(),
        assumed: (replay.end == ReplayEnd::Assumed).into(),
        stopped: (replay.end == ReplayEnd::Livelock).into(),
        deadlocks: (replay.end == ReplayEnd::Deadlock).into(),
        events: replay.steps.len() as u64,
        longest: replay.steps.len(),
        ..Counts::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toy::{Op, Toy};

    #[test]
    fn stories_are_told_as_long_as_there_is_room() {
        let toy = Toy::new(&[&[Op::Expect(0, 1), Op::Expect(0, 2), Op::Expect(0, 3)]]);
        let schedule: Schedule = "v1:0*3".parse().unwrap();
        let failures = replay(&toy, &schedule).unwrap().failures;
        let found: Vec<DistinctFailure> = failures
            .into_iter()
            .map(|met| DistinctFailure::once(met.failure, Vec::new(), schedule.clone()))
            .collect();
        let told = |most| {
            let failures = tell(&toy, &found, false, most);
            failures.iter().map(|failure| failure.replay.is_some()).collect::<Vec<_>>()
        };
        assert_eq!(told(6), [true, true, true]);
        assert_eq!(told(3), [true, true, false]);
        assert_eq!(told(0), [true, false, false]);
    }
}
