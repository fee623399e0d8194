//! Steps as sequence diagrams show them. Off the hot path, as all that is told to people.

use crate::{Place, ProcessId, Stop};

/// A run whose steps have a form of their own in sequence diagrams. One that has none is drawn with a
/// lifeline a process.
pub trait Activations {
    /// What things are called in its diagrams.
    fn words(&self) -> DiagramWords;

    /// Takes a step as [`Run::step`](crate::Run::step) does, and tells it.
    ///
    /// # Errors
    /// As [`Run::step`](crate::Run::step).
    fn step_activation(&mut self, process: ProcessId, choice: u32) -> Result<Activation, Stop>;

    /// The lifeline of a process, and its name without that of the lifeline.
    fn lifeline(&self, process: ProcessId) -> (String, String);
}

/// What things are called in a sequence diagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiagramWords {
    /// A step: `segment`.
    pub step: &'static str,
    /// What has lifelines: `object`.
    pub lifeline: &'static str,
    /// Who takes steps: `task`.
    pub process: &'static str,
    /// A lifeline that is none of those, is always there, and comes first.
    pub root: Option<&'static str>,
    /// How steps end, to be explained above the picture.
    pub ends: &'static [(&'static str, ActivationEnd)],
    /// What else is to be explained.
    pub note: &'static str,
}

/// A step in a sequence diagram: a box on a lifeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Activation {
    /// The lifeline.
    pub lifeline: String,
    /// Who does it, or what.
    pub title: String,
    /// Where in the source.
    pub place: Option<Place>,
    /// What it does, a line each.
    pub messages: Vec<Message>,
    /// How it ends, in words and in kind.
    pub end: Option<(String, ActivationEnd)>,
}

/// Something that a step does, in a sequence diagram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// In words.
    pub text: String,
    /// The lifeline that it reaches, if any.
    pub to: Option<String>,
    /// Whether the lifeline begins with it.
    pub creates: bool,
}

impl Message {
    /// Something that reaches nobody else.
    pub fn local(text: String) -> Message {
        Message { text, to: None, creates: false }
    }
}

/// How a step ends, in a sequence diagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActivationEnd {
    /// In no way that is to be seen at once.
    Plain,
    /// Its process is done.
    Returned,
    /// Its process lets others go first.
    Waits,
    /// Its process waits and keeps others from going.
    Blocked,
    /// Its process failed.
    Threw,
}
