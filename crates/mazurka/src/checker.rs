//! The ways in: [`check`], [`Checker`] and the attribute [`test`](macro@test).

mod asked;
mod cores;
mod elsewhere;
mod environment;
mod expansion;
pub(crate) mod heartbeat;
mod journal;
mod probe;
mod refusals;
mod regressions;
mod report;
mod task;
mod test_identity;
mod watchdog;
mod worker;

use std::panic::Location as Caller;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mazurka_explore::{Limits, Options, Order};
use mazurka_ledger::protocol::Answer;
use mazurka_program::{Failure as Failed, FailureKind, Schedule};
use mazurka_report::{Replay, Report as Inner, Subject};

pub use mazurka_explore::Algorithm;
pub use mazurka_macros::test;

#[doc(hidden)]
pub use expansion::__macro;
pub use regressions::Regressions;
pub use report::{Failure, Report};

pub(crate) use environment::manifest_dir;

use crate::runtime::run::Closure;
use crate::step::CallSite;
use asked::{Asked, Done};
use cores::Cores;
use elsewhere::Explorer;
use environment::{Environment, SavedFailures, Verbosity};
use heartbeat::{Heartbeat, Spot};
use journal::{Search, SharedKeeper};
use regressions::Store;
use task::Task;
use test_identity::{DeclaredTest, TestIdentity};
use watchdog::{JobFailure, LostThread, Timeouts, on_own_thread};

/// What may happen of itself.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spurious {
    pub(crate) wakeups: bool,
    pub(crate) polls: bool,
    pub(crate) failures: bool,
}

/// What the runtime is told.
#[derive(Clone)]
pub(crate) struct Settings {
    pub(crate) stack_size: usize,
    pub(crate) spurious: Spurious,
    /// Whether `Arc`s that nobody drops are failures.
    pub(crate) leaks: bool,
    /// How long a search may take: for people.
    pub(crate) max_time: Option<Duration>,
    /// For who watches the check.
    pub(crate) heartbeat: Arc<Heartbeat>,
}

/// Checks a closure with the default options: runs it under every interleaving of its threads that matters,
/// once.
///
/// The closure is run many times, so it must make what it works on anew each time, and must do the same
/// whenever threads take turns in the same way. What threads share has to be of the types of
/// [`sync`](crate::sync), and threads have to be those of [`thread`](crate::thread). For other options see
/// [`Checker`].
///
/// ```
/// use mazurka::sync::{Arc, Mutex};
/// use mazurka::thread;
///
/// mazurka::check(|| {
///     let balance = Arc::new(Mutex::new(0));
///     let deposit = {
///         let balance = balance.clone();
///         thread::spawn(move || *balance.lock().unwrap() += 10)
///     };
///     *balance.lock().unwrap() += 5;
///     deposit.join().unwrap();
///     assert_eq!(*balance.lock().unwrap(), 15);
/// });
/// ```
///
/// # Panics
/// If an execution fails (an assertion or another panic that nobody caught, a deadlock, ...) or if not
/// everything was looked at; with the report as message.
#[track_caller]
pub fn check(body: impl Fn() + Send + Sync + 'static) {
    Checker::new().check(body);
}

/// Checks closures, with options.
///
/// ```
/// use mazurka::sync::atomic::{AtomicUsize, Ordering::SeqCst};
/// use mazurka::sync::Arc;
/// use mazurka::{Checker, thread};
///
/// // Two threads that each read a counter and then write it: an increment can be lost.
/// let report = Checker::new().keep_going(true).run(|| {
///     let counter = Arc::new(AtomicUsize::new(0));
///     let threads = [0, 1].map(|_| {
///         let counter = counter.clone();
///         thread::spawn(move || counter.store(counter.load(SeqCst) + 1, SeqCst))
///     });
///     for thread in threads {
///         thread.join().unwrap();
///     }
///     assert_eq!(counter.load(SeqCst), 2, "an increment was lost");
/// });
/// assert_eq!(report.failures().next().unwrap().kind(), "assertion");
/// assert!(report.text().contains("an increment was lost"));
/// ```
#[derive(Clone, Debug)]
#[must_use = "a checker does nothing until `check` or `run` is called"]
pub struct Checker {
    stack_size: usize,
    spurious: Spurious,
    leaks: bool,
    options: Options,
    algorithm: Option<Algorithm>,
    jobs: Option<usize>,
    journal: Option<PathBuf>,
    name: Option<String>,
    declared: Option<DeclaredTest>,
    regressions: Option<Regressions>,
    hang_timeout: Option<Duration>,
    replay: Option<String>,
    verbose: bool,
}

impl Default for Checker {
    fn default() -> Checker {
        Checker::new()
    }
}

impl Checker {
    /// A checker with the default options.
    pub fn new() -> Checker {
        let limits = Limits { memory: Some(4 << 30), ..Limits::default() };
        Checker {
            stack_size: 256 * 1024,
            spurious: Spurious::default(),
            leaks: false,
            options: Options { limits, ..Options::default() },
            algorithm: None,
            jobs: None,
            journal: None,
            name: None,
            declared: None,
            regressions: None,
            hang_timeout: Some(Duration::from_secs(10)),
            replay: None,
            verbose: false,
        }
    }

    /// How to search: [`Algorithm::Optimal`] unless told otherwise, which runs one execution of each class of
    /// equivalent ones. [`Algorithm::WakeUp`] does so too, and can be [shared](Checker::jobs). The others are for
    /// comparison.
    pub fn algorithm(mut self, algorithm: Algorithm) -> Checker {
        self.algorithm = Some(algorithm);
        self
    }

    /// Share the search among so many threads of the operating system, by [`Algorithm::WakeUp`], which is the
    /// algorithm then unless another is asked for: [`Algorithm::ReadsFrom`], [`Algorithm::Naive`] and
    /// [`Algorithm::Random`] can be shared too. The report is the same for any number, but for the time. The
    /// closure is run by all of them at the same time, so what its executions share (a static that is not modelled,
    /// what it captures) several use at once.
    ///
    /// Other algorithms can't be shared, nor can a search for [leaks](Checker::leaks): one core is used then, and
    /// the report says so. Unless told otherwise, `WakeUp` uses the cores that are left by the checks which run in
    /// the same process when it begins, at least one.
    pub fn jobs(mut self, jobs: usize) -> Checker {
        self.jobs = Some(jobs);
        self
    }

    /// Keep the search in this file, by [`Algorithm::WakeUp`], which is the algorithm then unless another is asked
    /// for: a check that is killed, or out of [time](Checker::max_time), goes on from there when it is run again,
    /// and ends with the report of one that was not. One that came to its end gives its report at once. In a
    /// directory, which is there or whose name ends in `/`, each check has a file of its own, called after its test.
    ///
    /// Nothing is run, and the report says why, if the file is of another search: of another test, another build of
    /// it, or other options; or if somebody else is writing it.
    pub fn journal(mut self, path: impl Into<PathBuf>) -> Checker {
        self.journal = Some(path.into());
        self
    }

    /// Stop after so many executions. A check that is stopped is no pass.
    pub fn max_executions(mut self, executions: u64) -> Checker {
        self.options.limits.executions = Some(executions);
        self
    }

    /// Stop after this time. A check that is stopped is no pass.
    pub fn max_time(mut self, time: Duration) -> Checker {
        self.options.limits.time = Some(time);
        self
    }

    /// Cut executions after so many steps (100,000). The first that is cut ends the check, unless it is to
    /// [keep going](Checker::keep_going).
    pub fn max_depth(mut self, steps: usize) -> Checker {
        self.options.limits.depth = steps;
        self
    }

    /// Cut loops in which something changes in every round after so many rounds (1,000). A check in which one
    /// is cut is no pass. Loops that come back to where they were end by themselves.
    pub fn max_unroll(mut self, rounds: usize) -> Checker {
        self.options.limits.unroll = rounds;
        self
    }

    /// Stop when the search itself keeps more bytes than that (4 GiB). A check that is stopped is no pass.
    pub fn max_memory(mut self, bytes: u64) -> Checker {
        self.options.limits.memory = Some(bytes);
        self
    }

    /// The size of the stack of each modelled thread (256 KiB).
    pub fn stack_size(mut self, bytes: usize) -> Checker {
        self.stack_size = bytes;
        self
    }

    /// Whether threads may wake up though nobody woke them, as the operating system allows it: waits of
    /// condition variables, and `park`. Off unless told otherwise: correct programs have many more executions
    /// with it.
    pub fn spurious_wakeups(mut self, on: bool) -> Checker {
        self.spurious.wakeups = on;
        self
    }

    /// Whether futures may be polled though nobody woke their task, as executors may do it. Off unless told
    /// otherwise, as above.
    pub fn spurious_polls(mut self, on: bool) -> Checker {
        self.spurious.polls = on;
        self
    }

    /// Whether `compare_exchange_weak` may fail though the value is the expected one, as it may on some
    /// machines; also within `fetch_update` and its like. Off unless told otherwise, as above.
    pub fn spurious_failures(mut self, on: bool) -> Checker {
        self.spurious.failures = on;
        self
    }

    /// Whether an `Arc` that was made within the check and is left when all threads have ended is a failure:
    /// a cycle, or a handle that was forgotten. So is memory that modelled threads allocated, that is not
    /// freed and that nothing points to, on Linux with the recording [`Allocator`](crate::Allocator). Off
    /// unless told otherwise: statics may hold an `Arc` for ever, and rightly.
    pub fn leaks(mut self, on: bool) -> Checker {
        self.leaks = on;
        self
    }

    /// Whether to go on after a failure, and after an execution that is too long, and to report all failures
    /// that differ in kind or place.
    pub fn keep_going(mut self, on: bool) -> Checker {
        self.options.keep_going = on;
        self
    }

    /// With [`Algorithm::ReadsFrom`]: executions differ also if other operations were the last to write what the
    /// closure's objects hold in the end. Off unless told otherwise: then they differ only if something reads from
    /// another write. The others take no notice: they tell such executions apart anyway.
    pub fn observe_memory(mut self, on: bool) -> Checker {
        self.options.observe_memory = on;
        self
    }

    /// Search in an order drawn from a number. No verdict depends on it.
    pub fn seed(mut self, seed: u64) -> Checker {
        self.options.order = Order::Shuffled(seed);
        self
    }

    /// Run one schedule instead of searching: `v1:...`, as a report prints it, or `@FILE`. It is never a
    /// pass.
    pub fn replay(mut self, schedule: impl Into<String>) -> Checker {
        self.replay = Some(schedule.into());
        self
    }

    /// What to call it in the report. The name of the test unless told otherwise.
    pub fn name(mut self, name: impl Into<String>) -> Checker {
        self.name = Some(name.into());
        self
    }

    /// Where failures are saved, to be run first the next time: `true` (beside the test), `false` or a file.
    ///
    /// Unless told otherwise, [`Checker::check`] saves them beside the test, and [`Checker::run`] does not.
    pub fn regressions(mut self, regressions: impl Into<Regressions>) -> Checker {
        self.regressions = Some(regressions.into());
        self
    }

    /// How long a thread may run without coming to an operation before the check is given up (10 s).
    /// [`Duration::MAX`] is for ever.
    pub fn hang_timeout(mut self, time: Duration) -> Checker {
        self.hang_timeout = (time != Duration::MAX).then_some(time);
        self
    }

    /// Whether to print the verdict to stderr also if it is a pass.
    pub fn verbose(mut self, on: bool) -> Checker {
        self.verbose = on;
        self
    }

    pub(crate) fn settings(&self) -> Settings {
        Settings {
            stack_size: self.stack_size,
            spurious: self.spurious,
            leaks: self.leaks,
            max_time: self.options.limits.time,
            heartbeat: Arc::default(),
        }
    }

    /// Checks a closure: see [`check`].
    ///
    /// # Panics
    /// If an execution fails, or if not everything was looked at; with the report as message.
    #[track_caller]
    pub fn check(&self, body: impl Fn() + Send + Sync + 'static) {
        refuse_within_a_check();
        let report = self.report(Arc::new(body), Caller::caller(), Regressions::BesideTest);
        if !report.is_pass() {
            panic!("{report}");
        }
    }

    /// Checks a closure and says what came of it, whatever that is.
    ///
    /// # Panics
    /// If it is called within a check.
    #[track_caller]
    #[must_use = "the report says whether the check failed; `Checker::check` panics if it did"]
    pub fn run(&self, body: impl Fn() + Send + Sync + 'static) -> Report {
        refuse_within_a_check();
        self.report(Arc::new(body), Caller::caller(), Regressions::Off)
    }

    fn report(&self, body: Arc<dyn Fn() + Send + Sync>, caller: CallSite, default: Regressions) -> Report {
        crate::runtime::install_hook();
        let identity = TestIdentity::new(self.declared, caller);
        let program = self.name.clone().unwrap_or_else(|| identity.name());
        let subject = Subject { program, wording: report::WORDING, ..Subject::default() };
        let report = match self.plan(&identity, subject.clone(), default) {
            Ok(plan) => plan.carry_out(body),
            Err(wrong) => {
                let algorithm = self.algorithm.unwrap_or(Algorithm::Optimal);
                Report::of(Report::nothing(subject, algorithm, format!("nothing was run: {wrong}")))
            }
        };
        Report { test: identity.test, ..report }
    }

    /// What is to be done, by the options and the environment, which has the last word.
    fn plan(&self, identity: &TestIdentity, subject: Subject, default: Regressions) -> Result<Plan, String> {
        let environment = Environment::read()?;
        let own = self.replay.as_deref().map(environment::schedule).transpose();
        let own = own.map_err(|error| format!("Checker::replay: {error}"))?;
        let mut options = self.options;
        options.limits.executions = environment.max_executions.or(options.limits.executions);
        options.limits.time = environment.max_time.or(options.limits.time);
        options.limits.unroll = environment.max_unroll.unwrap_or(options.limits.unroll);
        options.observe_memory = environment.observe_memory.unwrap_or(options.observe_memory);
        if let Some(seed) = environment.seed {
            options.order = Order::Shuffled(seed);
        }
        let store = identity.store(self.regressions.as_ref().unwrap_or(&default));
        let saved = environment.saved.unwrap_or(SavedFailures::ReadAndWrite);
        let store = store.filter(|_| saved != SavedFailures::Ignore);
        let (entries, warnings) = store.as_ref().map_or_else(Default::default, Store::read);
        let verbose = if self.verbose { Verbosity::Verdict } else { Verbosity::Off };
        let mut spurious = Spurious {
            wakeups: environment.spurious_wakeups.unwrap_or(self.spurious.wakeups),
            polls: environment.spurious_polls.unwrap_or(self.spurious.polls),
            failures: environment.spurious_failures.unwrap_or(self.spurious.failures),
        };
        let leaks = environment.leaks.unwrap_or(self.leaks);
        let mut asked = asked::first(environment.worker.as_deref(), &subject.program)?;
        if let Some(theirs) = asked.as_ref().and_then(Asked::theirs) {
            journal::adopt(theirs, &mut options, &mut spurious);
        }
        let jobs = environment.jobs.or(self.jobs);
        let replay = environment.replay.or(own);
        // A schedule that is run alone is no part of a search.
        let journal = environment.journal.as_ref().or(self.journal.as_ref()).filter(|_| replay.is_none());
        let is_wake_up = jobs.is_some() || journal.is_some() || asked.is_some();
        let usual = if is_wake_up { Algorithm::WakeUp } else { Algorithm::Optimal };
        let algorithm = environment.algorithm.or(self.algorithm).unwrap_or(usual);
        let settings = Settings { max_time: options.limits.time, spurious, leaks, ..self.settings() };
        let search = Search { identity, algorithm, options: &options, settings: &settings };
        if let Some(asked) = &mut asked {
            let of_one_run = [
                ("a schedule (MAZURKA_REPLAY, Checker::replay)", replay.is_some()),
                ("a journal (MAZURKA_JOURNAL, Checker::journal)", journal.is_some()),
            ];
            let beside = of_one_run.into_iter().find(|(_, given)| *given).map(|(option, _)| option);
            asked.compare(&search, beside)?;
        }
        let journal = journal.map(|path| journal::open(path, &search, environment.long_journal));
        let task = Task {
            subject,
            algorithm,
            options,
            workers: None,
            journal: journal.transpose()?,
            elsewhere: None,
            replay,
            saved: entries,
            verbosity: environment.verbosity.unwrap_or(verbose),
            heartbeat: settings.heartbeat.clone(),
        };
        Ok(Plan {
            task,
            asked,
            settings,
            jobs,
            hang_timeout: environment.hang_timeout.unwrap_or(self.hang_timeout),
            store: store.filter(|_| saved == SavedFailures::ReadAndWrite),
            warnings,
            full_trace: environment.full_trace,
        })
    }
}

#[track_caller]
fn refuse_within_a_check() {
    assert!(
        !crate::runtime::in_check(),
        "a check can't be run within a check: call it outside of the closure that is checked"
    );
}

/// A check that is about to be run.
struct Plan {
    task: Task,
    /// Who asks for parts of the search.
    asked: Option<Asked>,
    settings: Settings,
    /// How many are to share the search.
    jobs: Option<usize>,
    hang_timeout: Option<Duration>,
    /// Where failures are to be saved.
    store: Option<Store>,
    warnings: Vec<String>,
    full_trace: bool,
}

impl Plan {
    fn carry_out(mut self, body: Arc<dyn Fn() + Send + Sync>) -> Report {
        for warning in &self.warnings {
            eprintln!("mazurka: warning: {warning}");
        }
        let mut asked = self.asked.take();
        let done = asked.as_mut().and_then(|asked| self.have_it_done(asked, &body));
        let time = done.as_ref().map(|done| done.time);
        self.task.elsewhere = done.map(|done| done.before);
        let mut inner = self.inner(&body);
        inner.seconds = time.map_or(inner.seconds, |time| time.as_secs_f64());
        self.task.journal.iter().for_each(SharedKeeper::close);
        let mut report = Report { full_trace: self.full_trace, ..Report::of(inner) };
        report.inner.memory_model = Some(report::MEMORY_MODEL);
        let met = self.task.heartbeat.met();
        if let Some(Spot { file, line }) = met.weak_ordering {
            report.inner.notes.push(format!(
                "{file}:{line} uses an ordering weaker than SeqCst: it counts for data races; values are those of SeqCst"
            ));
        }
        if let Some(Spot { file, line }) = met.clock {
            let note = format!("{file}:{line} looks at a clock: it shows one of the times that it could");
            report.inner.notes.push(note);
        }
        report.inner.notes.extend(report::notes_of_claims(&met.claims));
        self.save(&mut report);
        if self.task.verbosity != Verbosity::Off || asked.is_some() {
            eprintln!("{}", report.text().lines().take(2).collect::<Vec<_>>().join("\n"));
        }
        if let Some(asked) = &mut asked {
            asked.answer(&Answer::Told(report.inner.verdict().exit_status()));
        }
        report
    }

    /// What others do of the search, if they are to do it. For a worker this does not end.
    fn have_it_done(&self, asked: &mut Asked, body: &Arc<dyn Fn() + Send + Sync>) -> Option<Done> {
        let settings = Settings { max_time: None, ..self.settings.clone() };
        let closure = Closure::new(body.clone(), settings.clone());
        let mut explorer = Explorer::new(closure, settings, self.task.options, self.hang_timeout);
        if asked.theirs().is_some() {
            explorer.work(asked);
        }
        if self.is_saved_there(body) {
            asked.answer(&Answer::Over);
            return None;
        }
        Some(asked.hand_over(&mut explorer, self.task.options.limits.time))
    }

    /// Whether one of the saved failures is still there, or the check ends in it.
    fn is_saved_there(&self, body: &Arc<dyn Fn() + Send + Sync>) -> bool {
        let heartbeat: Arc<Heartbeat> = Arc::default();
        let closure =
            Closure::new(body.clone(), Settings { heartbeat: heartbeat.clone(), ..self.settings.clone() });
        let (task, timeouts) = (self.task.clone(), Timeouts { hang: self.hang_timeout, until: None });
        let is_there = on_own_thread(&heartbeat, timeouts, move || task.is_saved_there(&closure));
        !self.task.saved.is_empty() && is_there.unwrap_or(true)
    }

    fn inner(&mut self, body: &Arc<dyn Fn() + Send + Sync>) -> Inner {
        let is_shared = self.task.algorithm.can_be_shared() && !self.settings.leaks;
        // Closures may share what is not modelled, so who does not ask for several by name or by `wake-up` has one.
        let several = self.task.algorithm == Algorithm::WakeUp && self.task.replay.is_none();
        let cores = Cores::take(self.jobs.filter(|_| is_shared), is_shared && several);
        self.task.workers = is_shared.then_some(cores.number());
        // For all searches together, if there are several.
        let until = self.settings.max_time.and_then(|time| Instant::now().checked_add(time));
        let timeouts = Timeouts { hang: self.hang_timeout, until };
        let mut program = Arc::new(Closure::new(body.clone(), self.settings.clone()));
        let result = loop {
            self.task.heartbeat.set_program(&self.task.subject.program);
            let (task, closure) = (self.task.clone(), program.clone());
            let result = on_own_thread(&self.task.heartbeat, timeouts, move || task.run(&closure));
            if let (Err(JobFailure::Lost { in_part: true, .. }), Some(2..)) = (&result, self.task.workers) {
                program = self.on_one_core(body);
            } else if !program.begin_elsewhere() {
                break result;
            }
        };
        let nothing = |reason| Report::nothing(self.task.subject.clone(), self.task.algorithm, reason);
        let mut inner = match result {
            Ok(inner) => self.with_schedule(&program, inner),
            Err(JobFailure::Lost { thread, .. }) => self.lost(&program, thread),
            Err(JobFailure::Panicked(payload)) => {
                self.broken(&program, crate::runtime::message_of(&*payload))
            }
            Err(JobFailure::NoThread(error)) => nothing(format!("there is no thread for the check: {error}")),
        };
        inner.notes.extend(self.why_one_core(is_shared));
        inner
    }

    /// The same once more, with one worker: several had begun when one of them was lost, and which of them comes
    /// to what it was lost in is chance. With one worker it is the first. Those who shared the search are left
    /// behind, with all that they know.
    fn on_one_core(&mut self, body: &Arc<dyn Fn() + Send + Sync>) -> Arc<Closure> {
        self.settings.heartbeat = Arc::default();
        self.task.heartbeat = self.settings.heartbeat.clone();
        self.task.workers = Some(1);
        Arc::new(Closure::new(body.clone(), self.settings.clone()))
    }

    /// Why a search was not shared that was to be.
    fn why_one_core(&self, is_shared: bool) -> Option<String> {
        let jobs = self.jobs.filter(|&jobs| jobs > 1 && !is_shared && self.task.replay.is_none())?;
        let algorithm = self.task.algorithm;
        let why = match algorithm {
            _ if algorithm.can_be_shared() => "nobody else may run while leaks are looked for".to_owned(),
            _ => format!("a search by {algorithm} can't be shared, but one by wake-up can"),
        };
        Some(format!("one core was used, and not {jobs}: {why}"))
    }

    /// The report of a check that panicked, which may be the fault of a closure that does not repeat itself.
    fn broken(&self, program: &Arc<Closure>, what: String) -> Inner {
        let (task, closure, words) = (self.task.clone(), program.clone(), what.clone());
        let timeouts = Timeouts { hang: self.hang_timeout, until: None };
        let report = on_own_thread(&self.task.heartbeat, timeouts, move || task.broken(&closure, &words));
        report.unwrap_or_else(|_| {
            Report::nothing(self.task.subject.clone(), self.task.algorithm, report::internal(what))
        })
    }

    /// The report of a check that hangs, or that was ended by a signal.
    fn lost(&self, program: &Closure, lost: LostThread) -> Inner {
        let replay = lost.schedule.clone().and_then(|schedule| self.explain_loss(program, schedule, &lost));
        task::lost_report(&self.task, lost, replay, self.hang_timeout.unwrap_or_default())
    }

    /// The report of a search that ended in a step without an end: a stack overflowed, a destructor panicked
    /// during a panic. Nothing came after the step, so those that lead to it are those that were taken last.
    fn with_schedule(&self, program: &Closure, mut inner: Inner) -> Inner {
        if let [only] = &mut inner.failures[..]
            && only.schedule.is_none()
            && matches!(only.failure.kind, FailureKind::Panic | FailureKind::StackOverflow)
            // Else it came before all steps.
            && let heartbeat = self.task.heartbeat.last_part().unwrap_or(self.task.heartbeat.clone())
            && heartbeat.place().is_some()
            && let (Some(schedule), Some(process)) = (heartbeat.schedule(), only.failure.process)
        {
            let lost = LostThread::in_last_step(&heartbeat, process);
            only.replay = self.explain_loss(program, schedule.clone(), &lost);
            (only.process, only.schedule) = (Some(lost.name), Some(schedule));
        }
        inner
    }

    /// How a thread came to be lost: run once more, on another thread of the operating system, up to the step
    /// that has no end. If that does not come to an end soon, it is not explained: the whole timeout was
    /// waited for once.
    fn explain_loss(&self, program: &Closure, schedule: Schedule, lost: &LostThread) -> Option<Replay> {
        let heartbeat: Arc<Heartbeat> = Arc::default();
        let again = program.again(Settings { heartbeat: heartbeat.clone(), ..self.settings.clone() });
        let hang = self.hang_timeout.map(|timeout| timeout / 4);
        let lost = lost.clone();
        let replay = on_own_thread(&heartbeat, Timeouts { hang, until: None }, move || {
            task::explain_loss(&again, &schedule, &lost)
        });
        replay.ok().flatten()
    }

    fn save(&self, report: &mut Report) {
        let Some(store) = self.store.as_ref().filter(|_| self.task.replay.is_none()) else { return };
        let mut saved = false;
        for failure in &report.inner.failures {
            let Some(schedule) = &failure.schedule else { continue };
            let Failed { kind, message, .. } = &failure.failure;
            let message = match message.starts_with(kind.name()) {
                true => message.clone(),
                false => format!("{}: {message}", kind.name()),
            };
            match store.save(schedule, &message) {
                Ok(new) => saved |= new,
                Err(error) => eprintln!("mazurka: warning: {error}"),
            }
        }
        if saved {
            report.postscript.push(format!("saved:  {} (it is run first the next time)", store.shown()));
        }
    }
}
