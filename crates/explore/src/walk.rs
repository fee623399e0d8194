//! What all algorithms share: a run and its trace that go forth and back together, the counts, and the
//! limits.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use mazurka_program::{GuardId, Label, ProcessId, ProcessSet, Run, Stop};
use mazurka_trace::{HappensBefore, Trace};

use crate::explore::AnyMonitor;
use crate::livelock::{Livelocks, some_go_round};
use crate::reads_from::Classes;
use crate::rounds::Stops;
use crate::{Counts, Ending, NotExhaustive, Options, Order, Rules, Summary};

/// The most work between looks at the clock, in steps; a look costs about as much as the quickest step.
const MOST_BETWEEN_LOOKS: u64 = 512;

/// Looks that lie no further apart in time than this may lie further apart in work.
const OFTEN: Duration = Duration::from_millis(1);

/// Looks that lie further apart in time than this are due at every step from then on.
const SELDOM: Duration = Duration::from_millis(20);

/// How much is planned between looks at the clock and the memory: sequences with so many events in all.
const PLANNED_BETWEEN_LOOKS: usize = 1 << 19;

/// How often the monitor is told of the progress: to find it out costs time in proportion to the depth.
const BETWEEN_REPORTS: Duration = Duration::from_millis(50);

/// How many steps in a row a process takes before another one gets its turn, where the order is free. Only
/// programs with endless loops notice.
const PATIENCE: usize = 500;

/// A run and its trace, always at the same depth.
pub(crate) struct Walk<'a> {
    pub run: Box<dyn Run>,
    pub trace: Trace,
    /// The order of the trace's events, if the algorithm asks for it.
    pub order: HappensBefore,
    pub is_ordered: bool,
    pub stops: Stops,
    ignores_rounds: bool,
    pub livelocks: Livelocks,
    pub counts: Counts,
    pub options: &'a Options,
    monitor: &'a mut dyn AnyMonitor,
    label: Label,
    /// The depth up to which the run has taken the steps of the trace.
    on_trace: usize,
    started: Instant,
    next_report: Duration,
    shuffle: u64,
    /// Steps taken, those that are no part of the search or of the trace included.
    taken: u64,
    /// When the clock was looked at last.
    looked: Duration,
    /// How much work there is between looks.
    between_looks: u64,
    /// How much work will have been done at the next look.
    next_look: u64,
    /// Events of the sequences planned since the last look.
    planned: usize,
    /// The share of the search that was reported last.
    share: f64,
    /// Set when it is time to tell the monitor of the progress.
    pub progress_due: bool,
    not_exhaustive: Option<NotExhaustive>,
    broken: Option<mazurka_program::Failure>,
    /// Whether some process was stopped in some execution.
    pub stops_at_rounds: bool,
    /// The reads-from classes that were seen, if an execution of one that was is no new one.
    pub classes: Option<Classes>,
    /// What is to be known of the numbers.
    pub note: Option<&'static str>,
}

impl<'a> Walk<'a> {
    pub fn new(
        run: Box<dyn Run>,
        is_ordered: bool,
        options: &'a Options,
        monitor: &'a mut dyn AnyMonitor,
    ) -> Walk<'a> {
        Walk {
            run,
            trace: Trace::new(),
            order: HappensBefore::default(),
            is_ordered,
            stops: Stops::default(),
            ignores_rounds: false,
            livelocks: Livelocks::default(),
            counts: Counts::default(),
            options,
            monitor,
            label: Label::default(),
            on_trace: usize::MAX,
            started: Instant::now(),
            next_report: BETWEEN_REPORTS,
            shuffle: match options.order {
                Order::Natural => 0,
                Order::Shuffled(seed) => seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1,
            },
            taken: 0,
            looked: Duration::ZERO,
            between_looks: 1,
            next_look: 1,
            planned: 0,
            share: 0.0,
            progress_due: false,
            not_exhaustive: None,
            broken: None,
            stops_at_rounds: false,
            classes: None,
            note: None,
        }
    }

    /// Takes a step and appends it to the trace. Breaks if the search is over.
    pub fn step(&mut self, process: ProcessId, choice: u32) -> ControlFlow<()> {
        if !self.enabled().contains(process) {
            return self.stop(NotExhaustive::Internal("a process was planned that can't take a step"));
        }
        let alternatives = self.run.alternatives(process);
        self.taken += 1;
        if let Err(stop) = self.run.step(process, choice, &mut self.label) {
            self.note(stop);
            return ControlFlow::Break(());
        }
        if self.is_ordered {
            let (run, must_hold) = (&self.run, self.options.rules.shared.guard_must_hold);
            let holds = |guard: GuardId, depth: usize| !must_hold || run.guard_holds_at(guard, depth);
            self.order.enter(&self.trace, process, &self.label, holds);
        }
        self.trace.push(process, choice, alternatives, &self.label);
        self.counts.events += 1;
        if (self.label.returns || !self.stops.is_empty()) && !self.ignores_rounds {
            self.look_for_a_round(process)?;
        }
        if self.look_is_due() { self.look_at_the_clock() } else { ControlFlow::Continue(()) }
    }

    /// The processes that can take a step and are not stopped.
    #[inline]
    pub fn enabled(&self) -> &ProcessSet {
        if self.stops.is_empty() { self.run.enabled() } else { self.stops.others() }
    }

    /// Has processes go on that close rounds: the algorithm knows states.
    pub fn ignore_rounds(&mut self) {
        self.ignores_rounds = true;
    }

    /// What has been done so far, in steps; what a step does besides counts too, so that no few steps last
    /// long unnoticed.
    #[inline]
    fn work(&self) -> u64 {
        self.taken + self.run.effort()
    }

    /// Notes that something was done that takes as long as so many steps.
    #[inline]
    pub fn worked(&mut self, steps: usize) {
        self.taken += steps as u64;
    }

    /// Whether so much was done that it is time for [`Walk::look_between`].
    #[inline]
    pub fn look_is_due(&self) -> bool {
        self.work() >= self.next_look
    }

    /// Takes a step as [`Walk::step`] does, to see what it does: it is not counted, and is to be gone back
    /// from.
    pub fn try_step(&mut self, process: ProcessId, choice: u32) -> ControlFlow<()> {
        let taken = self.step(process, choice);
        self.counts.events -= u64::from(taken.is_continue());
        taken
    }

    /// What the step taken last did.
    pub fn label(&self) -> &Label {
        &self.label
    }

    /// The run, and what the step did that it took last.
    pub fn run_and_label(&mut self) -> (&mut dyn Run, &Label) {
        (&mut *self.run, &self.label)
    }

    /// The run can't go on.
    pub fn note(&mut self, stop: Stop) {
        match stop {
            Stop::Broken(failure) => self.broken = Some(failure),
            Stop::Unsupported(reason) => self.not_exhaustive = Some(NotExhaustive::Unsupported(reason)),
            // That the search begins again is for the program to say: it may be asked before the run stops.
            Stop::Bound(_) | Stop::BeginAgain => {
                self.not_exhaustive = Some(NotExhaustive::Program(stop.reason().to_owned()));
            }
        }
    }

    /// Whether it is known that the run can't go on.
    pub fn has_stopped(&self) -> bool {
        let why = self.not_exhaustive.as_ref();
        self.broken.is_some()
            || matches!(why, Some(NotExhaustive::Program(_) | NotExhaustive::Unsupported(_)))
    }

    /// Whether no repair was taken out on purpose.
    pub fn is_sound(&self) -> bool {
        self.options.rules == Rules::default()
    }

    /// The races of the processes that wait at the end with what made them wait: the writer and the process
    /// of each.
    pub fn waiting_races(&self) -> Vec<(usize, ProcessId)> {
        let mut found = Vec::new();
        self.each_waiting_race(|e, process| found.push((e, process)));
        found
    }

    /// Calls `found` for each of [`Walk::waiting_races`].
    #[inline]
    pub fn each_waiting_race(&self, mut found: impl FnMut(usize, ProcessId)) {
        let Walk { run, trace, order, options, stops, .. } = self;
        if !options.rules.shared.waiting_races {
            return;
        }
        run.waiting(&mut |process, guard| {
            let Some(guard) = guard else { return };
            if stops.all().iter().any(|stopped| stopped.process == process) {
                return;
            }
            let holds = |id, depth| !options.rules.shared.guard_must_hold || run.guard_holds_at(id, depth);
            order.waiting_races(trace, process, guard, holds, |e| found(e, process));
        });
    }

    /// Goes back to where the execution had `depth` steps.
    #[inline]
    pub fn back_to(&mut self, depth: usize) {
        if self.trace.len() > depth || self.on_trace != usize::MAX {
            self.go_back_to(depth);
        }
    }

    fn go_back_to(&mut self, depth: usize) {
        self.trace.truncate(depth);
        self.order.truncate(depth);
        self.stops.truncate(depth);
        if depth <= self.on_trace {
            self.run.rewind(depth);
        } else {
            self.run.rewind(self.on_trace);
            self.follow_trace(depth);
        }
        self.on_trace = usize::MAX;
        if !self.stops.is_empty() {
            self.stops.refresh(self.run.enabled());
        }
    }

    /// Brings a run that left the trace back along it.
    fn follow_trace(&mut self, depth: usize) {
        for position in self.on_trace..depth {
            self.taken += 1;
            let (process, choice) = (self.trace.process(position), self.trace.choice(position));
            if let Err(stop) = self.run.step(process, choice, &mut self.label) {
                // It could be taken before: the program does not repeat itself, and says so from now on.
                return self.note(stop);
            }
        }
    }

    /// Takes steps that are no part of the trace, from depth `from` on, and gives the label of the last and
    /// the number of its outcomes; none if a step can't be taken. The run returns to the trace by
    /// [`Walk::back_to`] only.
    ///
    /// Calls in a row must not go up: after leaving the trace at one depth, the run knows it only up to
    /// there.
    pub fn probe(
        &mut self,
        from: usize,
        steps: impl Iterator<Item = (ProcessId, u32)>,
    ) -> Option<(&Label, u32)> {
        debug_assert!(from <= self.on_trace);
        self.run.rewind(from);
        self.on_trace = from;
        let mut alternatives = 1;
        for (process, choice) in steps {
            if !self.run.enabled().contains(process) {
                return None;
            }
            alternatives = self.run.alternatives(process);
            self.taken += 1;
            if let Err(stop) = self.run.step(process, choice, &mut self.label) {
                self.note(stop);
                return None;
            }
        }
        Some((&self.label, alternatives))
    }

    /// Brings the run to an earlier point of the trace, which stays as it is. The run returns to the end of the
    /// trace by [`Walk::back_to`] only.
    ///
    /// # Errors
    /// If a step that was taken can't be taken again.
    pub fn run_at(&mut self, depth: usize) -> Result<&mut dyn Run, Stop> {
        let from = depth.min(self.on_trace);
        self.run.rewind(from);
        for position in from..depth {
            self.taken += 1;
            let (process, choice) = (self.trace.process(position), self.trace.choice(position));
            self.run.step(process, choice, &mut self.label)?;
        }
        self.on_trace = depth;
        Ok(&mut *self.run)
    }

    /// Whether the run stands where the trace ends.
    pub fn is_on_trace(&self) -> bool {
        self.on_trace == usize::MAX
    }

    /// The trace, and the run on its own, to be asked about steps that are no part of the trace.
    pub fn aside(&mut self) -> (&Trace, &HappensBefore, Aside<'_>) {
        let Walk { trace, order, run, on_trace, label, taken, .. } = self;
        (trace, order, Aside { run: &mut **run, on_trace, label, taken })
    }

    /// Begins the search again from the start: something was found out that what was done so far did not
    /// know.
    pub fn begin_again(&mut self) {
        self.back_to(0);
        self.counts = Counts::default();
        self.monitor.begin_again();
    }

    /// Whether the execution has as many steps as it may have.
    pub fn too_deep(&self) -> bool {
        self.trace.len() >= self.options.limits.depth
    }

    /// How the execution ended, given that no process is enabled.
    pub fn maximal_ending(&self) -> Ending {
        if self.run.assumed() {
            return Ending::Assumed;
        }
        if !self.run.ended_early() {
            // Whoever is stopped may let the others go on.
            let stopped = self.stops.all().iter().any(|stopped| self.run.enabled().contains(stopped.process));
            let go_round = some_go_round(&*self.run);
            if !self.stops.is_empty() || go_round {
                return Ending::Stopped { livelock: !stopped && go_round };
            }
        }
        let mut deadlock = false;
        self.run.waiting(&mut |_, _| deadlock = true);
        Ending::Complete { deadlock: deadlock && !self.run.ended_early() }
    }

    /// How the execution ends in the present state, whatever the algorithm; none if it goes on.
    #[inline]
    pub fn ending_here(&self) -> Option<Ending> {
        let goes_on = !self.enabled().is_empty() && !self.too_deep();
        if goes_on { None } else { Some(self.ending()) }
    }

    /// Out of line: most nodes are no ends.
    #[inline(never)]
    fn ending(&self) -> Ending {
        if self.enabled().is_empty() { self.maximal_ending() } else { Ending::Cut }
    }

    /// Counts an execution and tells the monitor. Breaks if the search is over.
    pub fn end(&mut self, ending: Ending) -> ControlFlow<()> {
        let ending = match ending {
            Ending::Stopped { livelock } => Ending::Stopped { livelock: livelock || self.is_livelock()? },
            ending => ending,
        };
        let is_end = matches!(ending, Ending::Complete { .. } | Ending::Assumed | Ending::Stopped { .. });
        let is_known = match &mut self.classes {
            // Whether those who are stopped can come to an end depends on what memory holds.
            Some(classes) if is_end => !classes.insert(&self.trace, matches!(ending, Ending::Stopped { .. })),
            _ => false,
        };
        let ending = if is_known { Ending::Blocked } else { ending };
        let counts = &mut self.counts;
        match ending {
            Ending::Complete { deadlock } => {
                counts.complete += 1;
                counts.deadlocks += u64::from(deadlock);
            }
            Ending::Blocked => counts.blocked += 1,
            Ending::Assumed => counts.assumed += 1,
            Ending::Stopped { .. } => counts.stopped += 1,
            Ending::Cut => counts.cut += 1,
        }
        counts.longest = counts.longest.max(self.trace.len());
        let limits = &self.options.limits;
        if ending == Ending::Cut {
            note_miss(&mut self.not_exhaustive, NotExhaustive::Depth(limits.depth));
        }
        if !self.stops.is_empty() {
            self.monitor.stopped(self.stops.all());
        }
        if self.monitor.execution(ending, &self.trace, &*self.run, counts).is_break() {
            return self.stop(NotExhaustive::Stopped);
        }
        if ending == Ending::Cut && !self.options.keep_going {
            return ControlFlow::Break(());
        }
        match limits.executions {
            Some(most) if counts.executions() >= most => self.stop(NotExhaustive::Executions(most)),
            _ => ControlFlow::Continue(()),
        }
    }

    /// Notes that not everything will be looked at, and goes on.
    pub fn miss(&mut self, reason: NotExhaustive) {
        note_miss(&mut self.not_exhaustive, reason);
    }

    /// Ends the search because not everything will be looked at.
    pub fn stop(&mut self, reason: NotExhaustive) -> ControlFlow<()> {
        // What ends a search says more than that an execution was cut on the way.
        self.not_exhaustive = Some(reason);
        ControlFlow::Break(())
    }

    /// Notes how many bytes the search keeps besides the trace and the run. Breaks if they are too many.
    pub fn note_memory(&mut self, bytes: usize) -> ControlFlow<()> {
        let bytes = self.memory(bytes);
        self.counts.memory = self.counts.memory.max(bytes);
        self.limit_memory(bytes)
    }

    /// Breaks if the search keeps too many bytes, and notes nothing: when this is asked depends on the time.
    pub fn look_at_memory(&mut self, bytes: usize) -> ControlFlow<()> {
        let bytes = self.memory(bytes);
        self.limit_memory(bytes)
    }

    /// How many bytes are kept in all, given those that the search keeps besides the trace and the run.
    fn memory(&self, bytes: usize) -> u64 {
        let classes = self.classes.as_ref().map_or(0, Classes::memory);
        (bytes + classes + self.trace.memory() + self.order.memory() + self.run.memory()) as u64
    }

    fn limit_memory(&mut self, bytes: u64) -> ControlFlow<()> {
        match self.options.limits.memory {
            Some(most) if bytes > most => self.stop(NotExhaustive::Memory(most)),
            _ => ControlFlow::Continue(()),
        }
    }

    /// How long the search has lasted; says when to look next. Steps may be quick for long and then slow, so
    /// looks are as far apart as they may be only as long as all goes well.
    fn look(&mut self) -> Duration {
        let elapsed = self.started.elapsed();
        let apart = elapsed.saturating_sub(self.looked);
        self.looked = elapsed;
        if apart > SELDOM {
            self.between_looks = 1;
        } else if apart < OFTEN {
            self.between_looks = (2 * self.between_looks).min(MOST_BETWEEN_LOOKS);
        }
        self.next_look = self.work() + self.between_looks;
        elapsed
    }

    #[cold]
    fn look_at_the_clock(&mut self) -> ControlFlow<()> {
        let elapsed = self.look();
        if elapsed >= self.next_report {
            self.next_report = elapsed + BETWEEN_REPORTS;
            self.progress_due = true;
        }
        match self.options.limits.time {
            Some(most) if elapsed >= most => self.stop_midway(NotExhaustive::Time(most)),
            _ => ControlFlow::Continue(()),
        }
    }

    /// When the search has to be over.
    pub fn deadline(&self) -> Option<Instant> {
        self.options.limits.time.and_then(|most| self.started.checked_add(most))
    }

    /// Tells the monitor how far the search has come.
    ///
    /// `branches` gives, from the root on, how many branches of each node are behind us and how many are
    /// known.
    pub fn report_progress(&mut self, branches: impl Iterator<Item = (usize, usize)>) -> ControlFlow<()> {
        let (mut share, mut weight) = (0.0, 1.0);
        for (done, known) in branches.take(10_000) {
            weight /= known as f64;
            share += weight * done as f64;
        }
        self.report_share(share)
    }

    /// Tells the monitor, within an execution, which share of the search is behind us.
    pub fn report_share(&mut self, share: f64) -> ControlFlow<()> {
        self.progress_due = false;
        self.share = share;
        match self.monitor.progress(&self.counts, share) {
            ControlFlow::Continue(()) => ControlFlow::Continue(()),
            ControlFlow::Break(()) => self.stop_midway(NotExhaustive::Stopped),
        }
    }

    /// Notes that a sequence of at most so many events was planned. Whether it is time for
    /// [`Walk::look_between`]: the races of one long execution may take longer to plan for than a search may
    /// last.
    #[inline]
    pub fn planned(&mut self, events: usize) -> bool {
        self.planned += events;
        self.planned >= PLANNED_BETWEEN_LOOKS
    }

    /// Looks at the clock and asks the monitor, after the end of an execution has been told or while the run
    /// is aside of the trace.
    #[cold]
    pub fn look_between(&mut self) -> ControlFlow<()> {
        self.planned = 0;
        let elapsed = self.look();
        match self.options.limits.time {
            Some(most) if elapsed >= most => return self.stop(NotExhaustive::Time(most)),
            _ => {}
        }
        if elapsed < self.next_report {
            return ControlFlow::Continue(());
        }
        self.next_report = elapsed + BETWEEN_REPORTS;
        match self.monitor.progress(&self.counts, self.share) {
            ControlFlow::Continue(()) => ControlFlow::Continue(()),
            ControlFlow::Break(()) => self.stop(NotExhaustive::Stopped),
        }
    }

    /// Ends the search within an execution. What went wrong in it so far did go wrong, and is told.
    fn stop_midway(&mut self, reason: NotExhaustive) -> ControlFlow<()> {
        if !self.run.failures().is_empty() {
            self.counts.cut += 1;
            // The search is over, whatever the monitor says.
            let _ = self.monitor.execution(Ending::Cut, &self.trace, &*self.run, &self.counts);
        }
        self.stop(reason)
    }

    /// The process to run where the algorithm leaves it open: one of the enabled ones that `may` run.
    pub fn pick(&mut self, may: impl Fn(ProcessId) -> bool) -> Option<ProcessId> {
        let enabled = self.enabled();
        if self.shuffle == 0 {
            let Some(last) = self.trace.len().checked_sub(1).map(|last| self.trace.process(last)) else {
                return enabled.iter().find(|&p| may(p));
            };
            if enabled.contains(last) && may(last) && !self.has_run_long() {
                return Some(last);
            }
            // Whoever comes after it, in turn; itself only if there is nobody else.
            return enabled.iter().find(|&p| p > last && may(p)).or_else(|| enabled.iter().find(|&p| may(p)));
        }
        let candidates = enabled.iter().filter(|&p| may(p)).count() as u64;
        let skip = (self.random() % candidates.max(1)) as usize;
        self.enabled().iter().filter(|&p| may(p)).nth(skip)
    }

    /// Whether the last process has taken many steps in a row.
    fn has_run_long(&self) -> bool {
        let Some(back) = self.trace.len().checked_sub(PATIENCE + 1) else { return false };
        let last = self.trace.len() - 1;
        self.trace.process(back) == self.trace.process(last)
            && self.trace.index(last) - self.trace.index(back) == PATIENCE as u32
    }

    /// The outcome to try at place `k` of `alternatives`, where every one is tried.
    pub fn choice_at(&self, k: u32, alternatives: u32) -> u32 {
        if self.shuffle == 0 { k } else { (k + (self.shuffle >> 40) as u32 % alternatives) % alternatives }
    }

    /// A number from the order's seed (xorshift).
    fn random(&mut self) -> u64 {
        self.shuffle ^= self.shuffle << 13;
        self.shuffle ^= self.shuffle >> 7;
        self.shuffle ^= self.shuffle << 17;
        self.shuffle
    }

    /// What came of the search.
    pub fn summary(&mut self) -> Summary {
        let (not_exhaustive, broken) = (self.not_exhaustive.take(), self.broken.take());
        Summary { counts: self.counts, not_exhaustive, broken, note: self.note }
    }
}

/// Of several reasons the first counts; but that something was cut says more than that there is no proof.
fn note_miss(noted: &mut Option<NotExhaustive>, reason: NotExhaustive) {
    if matches!(noted, None | Some(NotExhaustive::NotProved)) {
        *noted = Some(reason);
    }
}

/// A run without its trace. It returns to the trace by [`Walk::back_to`] only, and as with [`Walk::probe`]
/// calls in a row must not go up.
pub(crate) struct Aside<'a> {
    pub run: &'a mut dyn Run,
    on_trace: &'a mut usize,
    label: &'a mut Label,
    taken: &'a mut u64,
}

impl Aside<'_> {
    /// Leaves the trace at a depth and takes steps. Says whether all could be taken.
    pub fn leave(&mut self, from: usize, steps: impl Iterator<Item = (ProcessId, u32)>) -> bool {
        debug_assert!(from <= *self.on_trace);
        self.run.rewind(from);
        *self.on_trace = from;
        self.take(steps)
    }

    /// Takes further steps. Says whether all could be taken.
    pub fn take(&mut self, mut steps: impl Iterator<Item = (ProcessId, u32)>) -> bool {
        steps.all(|(process, choice)| {
            *self.taken += 1;
            self.run.enabled().contains(process) && self.run.step(process, choice, self.label).is_ok()
        })
    }
}
