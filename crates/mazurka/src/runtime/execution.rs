//! An execution: how it begins, the turns of its processes, and what is said of it when nobody can take a
//! step.
//!
//! How it is ended before that is another matter: see [`super::ending`].
#![allow(unsafe_code)]

use mazurka_program::{AccessKind, Failure, FailureKind, ProcessId, Stop};

use mazurka_threads::lifetime::Reset;
use mazurka_threads::race_log::Did;
use mazurka_threads::races::WHOLE;
use mazurka_threads::rounds::Last;

use super::process::{self, Body, Resume, Status};
use super::quiet::Memory;
use super::run::MAIN;
use super::{Panicked, RUNTIME, Runtime, UNFIT, overflow, place_of};

impl Runtime {
    /// Begins an execution: process 0 will run the body.
    pub(crate) fn begin_execution(&mut self, body: Body) {
        self.execution.reset();
        if self.search.loops.as_mut().is_some_and(|loops| !loops.arenas.begin()) {
            self.discover_no_rounds();
        }
        let stamps = &mut self.search.stamps;
        self.execution.stamp = stamps.next().unwrap_or_else(|| {
            *stamps = super::identity::new_stamps();
            stamps.next().unwrap_or_default()
        });
        let main = self.search.names.child(None, 0);
        debug_assert_eq!(main, MAIN);
        let name = self.processes.get_mut(main.index()).and_then(|before| before.name.take());
        self.add(main, body);
        self.process_mut(main).name = Some(name.unwrap_or_else(|| "main".into()));
        self.announce(main);
        self.execution.schedule.starting.push(main);
    }

    /// Gives a process a stack.
    pub(super) fn embark(&mut self, process: ProcessId) -> std::io::Result<()> {
        let clean = match self.follows_loops() || self.search.is_deep {
            true => super::rounds::CLEAN_STACK,
            false => super::spin::CLEAN_STACK,
        };
        self.processes[process.0 as usize].embark(&mut self.search.stacks, clean)
    }

    /// Runs a process until it suspends itself or ends.
    #[inline(never)]
    pub(super) fn resume(&mut self, process: ProcessId, with: Resume) {
        self.resume_here(process, with);
    }

    /// As [`Runtime::resume`]. Inlined where it is done most: after a switch, each return from a function is
    /// one that the processor does not foresee.
    #[inline(always)]
    pub(super) fn resume_here(&mut self, process: ProcessId, with: Resume) {
        let state = self.process_mut(process);
        let (events, limit) = (state.events, state.stack.0);
        let Some(routine) = state.routine() else { return };
        state.status = Status::Running;
        self.execution.schedule.running = process;
        self.execution.log.set_process(process, events);
        if self.looks_for_rounds() {
            self.execution.shadow.runs(process);
            super::spin::leaves_more();
        } else if self.search.memory == Memory::Compared {
            self.execution.shadow.runs(process);
        }
        let runtime: *mut Runtime = self;
        let before = RUNTIME.with(|cell| cell.replace(runtime));
        self.search.heartbeat.turn(process);
        // SAFETY: the coroutine is that of a process which is parked or has not been started; it stays where
        // it is, since nobody but the scheduler, who waits for it here, takes coroutines away.
        let ended = unsafe { process::resume(routine, limit, with) };
        self.search.heartbeat.turn_is_over();
        RUNTIME.with(|cell| cell.set(before));
        self.leave_block();
        if ended {
            self.has_ended(process);
        }
    }

    /// The coroutine of a process has come to its end.
    #[inline(never)]
    fn has_ended(&mut self, process: ProcessId) {
        if self.looks_for_rounds() {
            self.note_last(process, Last::Ended);
        }
        self.processes[process.0 as usize].disembark(&mut self.search.stacks);
        if overflow::take_overflow() {
            self.report_overflow(process);
        }
        if overflow::take_abort() {
            self.report_abort(process);
        }
        if self.search.scripted > 0 {
            self.check_end(process);
        }
        self.finish(process);
    }

    #[cold]
    fn report_overflow(&mut self, process: ProcessId) {
        UNFIT.set(true);
        let message = format!(
            "{} overflowed its stack of {} KiB; Checker::stack_size makes stacks larger, and thread::Builder::stack_size one",
            self.name_of(process),
            self.process(process).size_among(&self.search.stacks) / 1024
        );
        let (kind, place) = (FailureKind::StackOverflow, None);
        self.fail(Stop::Broken(Failure { kind, message, place, process: Some(process) }));
    }

    #[cold]
    fn report_abort(&mut self, process: ProcessId) {
        UNFIT.set(true);
        self.search.spoiled |= std::thread::panicking();
        if self.execution.ending {
            return self.discover_bomb();
        }
        let message = format!(
            "thread `{}` aborted: by std::process::abort, or by a panic in a destructor while it unwound",
            self.name_of(process)
        );
        let (kind, place) = (FailureKind::Panic, None);
        self.fail(Stop::Broken(Failure { kind, message, place, process: Some(process) }));
    }

    /// A process has come to its end.
    fn finish(&mut self, process: ProcessId) {
        self.process_mut(process).status = Status::Finished;
        if self.execution.ending {
            return;
        }
        let end = self.end_of(process);
        self.step.label.touch(end, AccessKind::Write);
        if self.keeps_clocks() {
            self.set_clock_alone(process, end, AccessKind::Write);
        }
        if self.execution.races.enabled {
            self.execution.races.release(process, end, WHOLE);
            self.note_race(process, Did::Release(end, WHOLE));
        }
        self.execution.values.set(end, 1, self.execution.schedule.depth);
        self.execution.schedule.changed = true;
    }

    /// No process can take a step: what went wrong without anybody having been told is a failure.
    pub(super) fn conclude(&mut self) {
        self.report_livelock();
        self.report_intrusion();
        let mut panics = std::mem::take(&mut self.execution.panics);
        if panics.iter().any(|panic| !panic.told) {
            // Who unwraps the result of a join panics because of another panic: that one is the cause.
            let words = ["`Err` value: Any", "`Err` value: PoisonError", "a scoped thread panicked"];
            let passed_on = |panic: &Panicked| words.iter().any(|words| panic.message.contains(words));
            let cause = panics.iter().any(|panic| !panic.told && passed_on(panic));
            panics.retain(|panic| cause || !panic.told);
            panics.sort_by_key(passed_on);
            self.execution.findings.failures.extend(panics.drain(..).map(failure_of));
        }
        // What processes allocated for those whom somebody was told of.
        drop(panics);
        self.report_leaks();
    }

    /// Those who spin when nobody can take a step spin forever.
    fn report_livelock(&mut self) {
        let created = self.execution.schedule.created.iter().copied();
        let spinning = created.filter_map(|process| {
            let pending = self.process(process).pending.filter(|pending| pending.spins)?;
            Some((process, pending))
        });
        let mut spinning: Vec<_> = spinning.collect();
        let Some(_) = spinning.first() else { return };
        // It may count where only it can see it: then memory tells, which is compared from now on.
        if self.discover_loops_once() {
            return;
        }
        spinning.sort_by(|a, b| self.search.names.compare(a.0, b.0));
        let (process, place) = (spinning[0].0, Some(place_of(spinning[0].1.place)));
        let told: Vec<String> = spinning
            .iter()
            .map(|(process, pending)| {
                let at = if Some(place_of(pending.place)) == place {
                    String::new()
                } else {
                    format!(" ({})", place_of(pending.place))
                };
                format!(
                    "{} spins at {}{at} forever",
                    self.name_of(*process),
                    pending.operation().describe(self)
                )
            })
            .collect();
        let they = if told.len() == 1 { "what it reads" } else { "what they read" };
        let message = format!("{}: nobody is left to change {they}", told.join(", "));
        let kind = FailureKind::Livelock;
        self.execution.findings.failures.push(Failure { kind, message, place, process: Some(process) });
    }
}

fn failure_of(panic: Panicked) -> Failure {
    let kind = match panic.message.starts_with("assertion") {
        true => FailureKind::Assertion,
        false => FailureKind::Panic,
    };
    Failure { kind, message: panic.message, place: panic.place, process: Some(panic.process) }
}
