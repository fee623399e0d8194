//! What the readers of a report call things.

/// What the readers of a report call the things that they can set, and who takes steps. The default is the
/// command's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wording {
    /// Who takes steps.
    pub process: &'static str,
    /// What makes a search go on after a failure.
    pub keep_going: &'static str,
    /// What sets the most steps of an execution.
    pub max_depth: &'static str,
    /// What sets the most rounds of a loop.
    pub max_unroll: &'static str,
    /// What sets the most memory.
    pub max_memory: &'static str,
    /// What makes executions differ that leave memory in different ways.
    pub observe_memory: &'static str,
    /// What sets the order of the search.
    pub seed: &'static str,
    /// What makes a report tell everything.
    pub full_trace: &'static str,
    /// What gives a schedule that is too long for a command line.
    pub schedule: &'static str,
}

impl Wording {
    /// For those who use the command.
    pub const COMMAND: Wording = Wording {
        process: "process",
        keep_going: "--keep-going",
        max_depth: "--max-depth",
        max_unroll: "--max-unroll",
        max_memory: "--max-memory",
        observe_memory: "--observe-memory",
        seed: "--seed",
        full_trace: "--full-trace",
        schedule: "--json",
    };
}

impl Default for Wording {
    fn default() -> Wording {
        Wording::COMMAND
    }
}
