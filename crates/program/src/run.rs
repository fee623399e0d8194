//! Programs and their runs.

use std::any::Any;

use crate::{Constraints, Failure, Guard, GuardId, Label, Names, ProcessId, ProcessSet};
use crate::{PortableNames, Receives, Renaming, Rounds, States, Values};

/// Which locations a label names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Footprints {
    /// Those that the step touched.
    Dynamic,
    /// All that it might have touched in any state in which its process is where it is: no label
    /// [varies](Label::varies). The source family needs these.
    Static,
}

/// Something that can be run under a scheduler, again and again.
pub trait Program {
    /// A run of it.
    type Run: Run;

    /// Starts it.
    fn start(&self, footprints: Footprints) -> Self::Run;

    /// Whether the search has to be begun again, since this was asked last: something was found out about the
    /// program that changes the labels of its steps. The run has [stopped](Stop) then. Answers "yes" finitely
    /// often.
    fn begin_again(&self) -> bool {
        false
    }

    /// The same program for a part of a search that is explored beside others, with what is known of it now. What
    /// is found out in the part, the part alone knows, until it is [taken up](Program::take_up): it may come
    /// after the end of the search. None if nothing is ever found out.
    fn part(&self) -> Option<Self>
    where
        Self: Sized,
    {
        None
    }

    /// Takes up what was found out in a part. It is called in the order of the parts, and of none that comes after the
    /// end of the search.
    fn take_up(&self, _part: Self)
    where
        Self: Sized,
    {
    }

    /// What was learned of it in this part that changes nothing of the search, but that a report tells or that
    /// matters later, as bytes; nothing if there is none. For who goes on with the search in another process.
    fn learned(&self) -> Vec<u8> {
        Vec::new()
    }

    /// Takes up what was [learned](Program::learned) in a part that another process explored, in the order of the
    /// parts. Says whether these are words of this program.
    fn know(&self, _learned: &[u8]) -> bool {
        false
    }

    /// Whether it can be started on this thread of the operating system. A run may leave one on which it can't.
    fn can_start_here(&self) -> bool {
        true
    }
}

/// A program that has been started.
///
/// A *process* takes *steps*; the number of steps taken so far is the *depth*. The outcomes of one step (see
/// [`Run::alternatives`]) may differ only in locations that no step enabled beside it touches.
pub trait Run: Any {
    /// The creation tree as far as it was met.
    fn names(&self) -> &Names;

    /// How many steps have been taken.
    fn depth(&self) -> usize;

    /// The processes that can take a step.
    fn enabled(&self) -> &ProcessSet;

    /// How many outcomes the next step of an enabled process has; 1 unless the environment has a say in it.
    fn alternatives(&self, process: ProcessId) -> u32;

    /// Calls `with` for each process that is neither finished nor enabled, with the guard it waits for. It
    /// may wait for something else besides, or instead ([`Label::waited_for`]): then there may be no guard.
    ///
    /// A process that was stopped by a false assumption does not wait: see [`Run::assumed`].
    fn waiting(&self, with: &mut dyn FnMut(ProcessId, Option<Guard>));

    /// Takes the step of an enabled process, with one of its outcomes, and makes `label` that of the step:
    /// the run clears it, whatever it held before, also if it stops.
    ///
    /// # Errors
    /// If the run can't go on: see [`Stop`].
    fn step(&mut self, process: ProcessId, choice: u32, label: &mut Label) -> Result<(), Stop>;

    /// How much has been done so far besides one thing a step: what steps and guards did within, in what
    /// takes about as long as a step that does nothing else. It never becomes less, and tells a search that
    /// steps last long before they do.
    fn effort(&self) -> u64 {
        0
    }

    /// About how many bytes the run keeps. Asked now and then.
    fn memory(&self) -> usize {
        0
    }

    /// Goes back to where the run was after its first `depth` steps.
    fn rewind(&mut self, depth: usize);

    /// Whether the guard would have held on what its location stood for after the first `depth` steps.
    ///
    /// The guard must be that of a step taken and not rewound, or of a process that waits now.
    fn guard_holds_at(&self, guard: GuardId, depth: usize) -> bool;

    /// What has gone wrong so far, in the order in which it happened. A failure does not end the run.
    fn failures(&self) -> &[Failure];

    /// Whether an assumption was false: the process that made it takes no further step.
    fn assumed(&self) -> bool;

    /// Whether the program has ended, whatever its processes do: those that wait then are in no deadlock.
    /// Their guards count as ever.
    fn ended_early(&self) -> bool {
        false
    }

    /// Whether what processes do may depend on a clock, and so on the order of steps of which neither reads what
    /// the other wrote.
    fn keeps_time(&self) -> bool {
        false
    }

    /// Whether a process that waits goes round and round meanwhile: where nobody is enabled then, that is a
    /// livelock and no deadlock, which the run does not tell as a failure.
    fn goes_round(&self, _process: ProcessId) -> bool {
        false
    }

    /// The label that the step of an enabled process would have if it were taken now. Every front end can
    /// tell, at the price of a step; the run is where it was afterwards.
    ///
    /// # Errors
    /// If the run can't go on: see [`Stop`].
    fn pending(&mut self, process: ProcessId, choice: u32, label: &mut Label) -> Result<(), Stop> {
        let depth = self.depth();
        self.step(process, choice, label)?;
        self.rewind(depth);
        Ok(())
    }

    /// Its states, if they can be compared.
    fn states(&self) -> Option<&dyn States> {
        None
    }

    /// States up to renaming, if the front end has them besides [named ones](crate::NamedStates). It is one
    /// and the same answer for the whole life of a run: once this was asked, a step that makes names matter
    /// [stops](Stop) the run.
    fn renaming(&mut self) -> Option<&mut dyn Renaming> {
        None
    }

    /// Names that mean the same in another run of the program, if it has them.
    fn portable_names(&mut self) -> Option<&mut dyn PortableNames> {
        None
    }

    /// What its receives would take, if it can tell.
    fn receives(&self) -> Option<&dyn Receives> {
        None
    }

    /// Where processes have come back to where they were, if it can tell. A run that can't has no label that
    /// [says so](Label::returns).
    fn rounds(&self) -> Option<&dyn Rounds> {
        None
    }

    /// What its locations held, if it can tell.
    fn values(&self) -> Option<&dyn Values> {
        None
    }

    /// When its steps commute, if it can tell.
    fn constraints(&mut self) -> Option<&mut dyn Constraints> {
        None
    }
}

/// Why a run can't go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// A bound of the front end was reached; the verdict can only be "not exhaustive", for this reason.
    Bound(String),
    /// The program does what the front end does not support, or not under this algorithm: "not exhaustive",
    /// for this reason.
    Unsupported(String),
    /// Something was found out that changes labels: the search has to be begun again
    /// ([`Program::begin_again`]).
    BeginAgain,
    /// The search itself is broken: the program did not repeat what it did before, or brought down what runs
    /// it.
    Broken(Failure),
}

impl Stop {
    /// Why, for people.
    pub fn reason(&self) -> &str {
        match self {
            Stop::Bound(reason) | Stop::Unsupported(reason) => reason,
            Stop::BeginAgain => "the search has to be begun again",
            Stop::Broken(failure) => &failure.message,
        }
    }
}
