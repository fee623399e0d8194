//! Steps and waits, told to people.

use crate::{Activations, Place, ProcessId, Run, Stop};

/// A value that a step read or wrote, as a person would name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observed {
    /// The name of what holds it: `x`, `a[2]`.
    pub name: String,
    /// The value.
    pub value: String,
    /// For a read: the position (from 0) of the step that wrote it; none if it is the initial value.
    pub source: Option<usize>,
}

/// A step, told to a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// Who took it.
    pub process: ProcessId,
    /// What it did, as in the source: `x = r + 1`.
    pub operation: String,
    /// What it read and where that came from.
    pub reads: Vec<Observed>,
    /// What it wrote.
    pub writes: Vec<Observed>,
    /// Anything else worth telling: "timed out", "chose 2 of 3".
    pub note: Option<String>,
    /// Where in the source.
    pub place: Option<Place>,
}

/// A process that waits, told to a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitExplanation {
    /// Who waits.
    pub process: ProcessId,
    /// At what operation: `lock(m)`.
    pub operation: String,
    /// For what: `lock m, held by writer[1] since line 12`.
    pub waits_for: String,
    /// The processes that could end the wait, where known (the holder of a lock, the process to be joined).
    pub waits_on: Vec<ProcessId>,
    /// Where in the source.
    pub place: Option<Place>,
}

/// A run that can tell people what it does. Off the hot path: a failing schedule is run again for its report.
pub trait Explain: Run {
    /// The name of a process for people: `writer[2]`.
    fn process_name(&self, process: ProcessId) -> String;

    /// Takes a step as [`Run::step`] does, and tells it.
    ///
    /// # Errors
    /// As [`Run::step`].
    fn step_explained(&mut self, process: ProcessId, choice: u32) -> Result<Explanation, Stop>;

    /// Whether the step told last is of the insides of a library, and says nothing of the program: it is shown
    /// to those who ask for everything.
    fn told_internal(&self) -> bool {
        false
    }

    /// Tells each process that waits now what it waits for.
    fn explain_waiting(&self) -> Vec<WaitExplanation>;

    /// The present state as a list of terms, where the run has [states](Run::states). They name everything as
    /// it is named in every interleaving.
    fn state_terms(&self) -> Option<Vec<String>> {
        None
    }

    /// Its steps as activations of lifelines, where processes are not what has lifelines in a picture.
    fn activations(&mut self) -> Option<&mut dyn Activations> {
        None
    }

    /// What a deadlock is called in which these wait, where the front end has words of its own for it.
    fn deadlock_message(&self, _waiting: &[WaitExplanation]) -> Option<String> {
        None
    }
}
