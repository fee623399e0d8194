//! The end of an execution that is not finished: what lives on the stacks is dropped.
//!
//! First the rest is simply run, which is cheaper than to unwind; what still waits then unwinds, the youngest
//! process first, since it may borrow from the stacks of its ancestors. Operations of destructors are done on
//! the way. A process that catches the unwinding again and again is given up with all that it holds. So are
//! all, if it was found out that a destructor panics on the way.

use mazurka_program::{ProcessId, Stop};
use mazurka_threads::lifetime::Reset;

use super::process::{Resume, Status};
use super::{Runtime, UNFIT};

/// So many steps are taken to bring an execution to its end that nobody is interested in.
const MAX_STEPS: u32 = 10_000;

/// And so many where it goes in loops that may have no end.
const MAX_STEPS_IN_LOOPS: u32 = 100;

/// So often a process may catch the end of its execution and go on.
const MAX_CATCHES: u32 = 100;

/// So many processes of a search may be given up.
const MAX_ABANDONED: u32 = 1_000;

impl Runtime {
    /// Ends the execution, however far it has come.
    pub(super) fn end_execution(&mut self) {
        self.search.scripted = 0;
        self.execution.leaving = true;
        // That something was found out is no reason to drop what is in the middle of something: a destructor may
        // trust that it never is.
        let begins_again = self.search.fatal.take_if(|stop| *stop == Stop::BeginAgain);
        if self.search.runs_out && !self.search.spoiled && self.search.fatal.is_none() {
            self.run_out();
        }
        if begins_again.is_some() {
            self.search.fatal = begins_again;
        }
        self.execution.ending = true;
        while let Some(process) = self.execution.schedule.created.pop() {
            self.end_process(process);
        }
        (self.execution.ending, self.execution.leaving) = (false, false);
        self.execution.schedule.starting.clear();
        self.execution.schedule.forget_arrivals();
        self.execution.log.reset();
    }

    /// Lets processes take steps in turn until nobody can: one that spins lets the others change what it
    /// reads.
    fn run_out(&mut self) {
        self.step.story = None;
        let mut last = None;
        let most = if self.follows_loops() { MAX_STEPS_IN_LOOPS } else { MAX_STEPS };
        for _ in 0..most {
            if !self.start_unseen() {
                return;
            }
            let enabled = &self.execution.schedule.enabled;
            let next = match last {
                Some(last) => enabled.after(last).or_else(|| enabled.first()),
                None => enabled.first(),
            };
            let Some(process) = next else { return };
            if self.search.heartbeat.is_time_up() {
                return;
            }
            last = next;
            self.step_unseen(process);
            self.resume(process, Resume::Go);
        }
    }

    /// Lets processes begin that were created, and finds out who can take a step. Says whether there is nothing
    /// against going on.
    fn start_unseen(&mut self) -> bool {
        while let Some(child) = self.execution.schedule.starting.pop() {
            if self.search.fatal.is_some() || self.embark(child).is_err() {
                return false;
            }
            self.resume(child, Resume::Go);
        }
        if self.execution.schedule.changed {
            self.refresh();
        }
        self.search.fatal.is_none()
    }

    /// Does the operation that a process is at, or begins its unwinding.
    fn step_unseen(&mut self, process: ProcessId) {
        self.step.label.clear();
        self.execution.schedule.enabled.remove(process);
        self.execution.schedule.running = process;
        let Some(pending) = self.process_mut(process).pending.take() else {
            self.execution.schedule.depth += 1;
            self.process_mut(process).events += 1;
            return;
        };
        self.leave(process, pending);
        // SAFETY: the process is parked at it, and nobody else refers to it.
        #[allow(unsafe_code)]
        let operation = unsafe { pending.operation_mut() };
        self.perform(operation, 0, pending.place, pending.arrival());
    }

    fn abandon(&mut self, process: ProcessId) {
        self.process_mut(process).abandon();
        UNFIT.set(true);
        self.discover_abandoned();
        self.search.abandoned += 1;
        if self.search.abandoned == MAX_ABANDONED {
            let why = match self.search.leaves_stacks {
                true => "were left where they waited, since a destructor panics when its thread can't go on",
                false => "caught the panic by which an execution is ended, again and again",
            };
            self.fail(Stop::Bound(format!("{MAX_ABANDONED} threads {why}")));
        }
    }

    fn end_process(&mut self, process: ProcessId) {
        let leaves = self.search.spoiled || self.search.leaves_stacks;
        if self.process(process).body.is_some() && (leaves || self.embark(process).is_err()) {
            std::mem::forget(self.process_mut(process).body.take());
        }
        let mut catches = 0;
        while self.process(process).has_routine() {
            if self.search.spoiled || self.search.leaves_stacks || catches == MAX_CATCHES {
                self.abandon(process);
                break;
            }
            catches += 1;
            self.resume(process, Resume::End);
        }
        let state = self.process_mut(process);
        state.pending = None;
        state.status = Status::Absent;
        // Threads drop these themselves, but for threads that were given up.
        if !state.locals.is_empty() {
            state.locals.drain(..).for_each(std::mem::forget);
        }
    }
}
