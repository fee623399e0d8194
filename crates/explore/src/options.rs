//! What a search is told, and what it says in the end.

use std::fmt;
use std::time::Duration;

use mazurka_program::Failure;

use crate::{Algorithm, Need, Reduction, Rules};

/// The order in which processes and choices are tried where the algorithm leaves it open.
///
/// Outcomes never depend on it, nor do the counts of `optimal`; tests run many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Order {
    /// Stay with the process that ran last, else the one with the smallest number; choices from 0 up.
    #[default]
    Natural,
    /// An order drawn from a seed.
    Shuffled(u64),
}

/// When to stop early. Whatever stops a search makes it "not exhaustive".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// At most so many executions, of all kinds together.
    pub executions: Option<u64>,
    /// At most this long.
    pub time: Option<Duration>,
    /// No execution longer than this. The first that is ends the search, unless [`Options::keep_going`].
    pub depth: usize,
    /// At most so many bytes for what the search itself keeps.
    pub memory: Option<u64>,
    /// A process that comes to one place more often than this takes no further step.
    pub unroll: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { executions: None, time: None, depth: 100_000, memory: None, unroll: 1000 }
    }
}

/// For how many executions items are explored before what is left of them is split.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ItemSizes {
    /// The first one: where there are no more, there is nothing to share.
    pub first: u64,
    /// Any other.
    pub later: u64,
    /// What is left of one is cut into so many at most.
    pub parts: usize,
}

impl ItemSizes {
    /// Of programs whose items are explored by processes: to hand one over takes as long as some hundreds of
    /// the shortest executions.
    pub const OF_PROCESSES: ItemSizes = ItemSizes { first: 256, later: 4096, parts: 4 };
}

impl Default for ItemSizes {
    fn default() -> ItemSizes {
        ItemSizes { first: 256, later: 2048, parts: usize::MAX }
    }
}

/// What a search is told.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// The order of choices that are free.
    pub order: Order,
    /// When to stop early.
    pub limits: Limits,
    /// Go on after an execution that reached the limit of depth.
    pub keep_going: bool,
    /// Have `reads-from` tell classes apart by who wrote each location last, too.
    pub observe_memory: bool,
    /// What `data-centric` does where processes form cycles.
    pub reduction: Reduction,
    /// How a search is cut into items that are shared among workers: all the same but in tests.
    #[doc(hidden)]
    pub items: ItemSizes,
    /// The repairs that are in force: all but in tests that break them.
    #[doc(hidden)]
    pub rules: Rules,
}

/// Why a search did not look at everything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotExhaustive {
    /// The limit of executions was reached.
    Executions(u64),
    /// The time was up.
    Time(Duration),
    /// Some execution was longer than this.
    Depth(usize),
    /// The memory was used up.
    Memory(u64),
    /// The program reached a bound of its front end.
    Program(String),
    /// The program does what is not supported, or not under this algorithm.
    Unsupported(String),
    /// The algorithm needs what the program can't do: nothing was run.
    Lacks(Algorithm, Need),
    /// The program has steps of which the algorithm is not proved to explore everything, though nothing is
    /// known to be missed.
    NotProved,
    /// A process was stopped that had come to one place so many times; what it did there.
    Unrolled(usize, String),
    /// It was not found out whether processes that loop can come to an end.
    Undecided,
    /// The algorithm never looks at everything ([`Algorithm::misses`]).
    ByDesign(Algorithm),
    /// The monitor asked for an end.
    Stopped,
    /// What was done could not be kept ([`Ledger`](crate::Ledger)), and why.
    NotKept(String),
    /// An error of ours: an invariant of the algorithm does not hold.
    Internal(&'static str),
}

impl fmt::Display for NotExhaustive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotExhaustive::Executions(n) => write!(f, "the limit of {n} executions was reached"),
            NotExhaustive::Time(t) => write!(f, "the time limit of {} s was reached", t.as_secs_f64()),
            NotExhaustive::Depth(n) => {
                write!(f, "an execution was cut after {n} steps; bound its loops or raise --max-depth")
            }
            NotExhaustive::Memory(n) => write!(f, "the memory limit of {n} bytes was reached"),
            NotExhaustive::Program(reason)
            | NotExhaustive::Unsupported(reason)
            | NotExhaustive::NotKept(reason) => f.write_str(reason),
            NotExhaustive::Lacks(algorithm, need) => {
                write!(f, "{algorithm} {need}, which can't be {} for this kind of program; use optimal", need.verb())
            }
            NotExhaustive::NotProved => f.write_str(
                "optimal+observers is not proved to find everything where a step has several outcomes that others can \
                 notice (whom a notification wakes, whether a wait times out); use optimal",
            ),
            NotExhaustive::Unrolled(most, what) => {
                write!(f, "{what} was cut after {most} rounds; bound it or raise --max-unroll")
            }
            NotExhaustive::Undecided => f.write_str(
                "some processes go round and round together, and whether they can come to an end was not found out",
            ),
            NotExhaustive::ByDesign(algorithm) => f.write_str(&algorithm.misses().unwrap_or_default()),
            NotExhaustive::Stopped => f.write_str("the search was stopped"),
            NotExhaustive::Internal(what) => write!(f, "internal error: {what}; please report it"),
        }
    }
}

/// Running totals of a search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Executions at whose end no process was enabled, deadlocked ones among them.
    pub complete: u64,
    /// Executions that were cut because all that follows had been explored.
    pub blocked: u64,
    /// Executions in which an assumption was false.
    pub assumed: u64,
    /// Executions at whose end nobody goes on but processes that were stopped, since they had come back to where
    /// they were.
    pub stopped: u64,
    /// Executions that were cut at the limit of depth.
    pub cut: u64,
    /// Complete executions at whose end some process waited.
    pub deadlocks: u64,
    /// Steps taken, replayed ones not counted.
    pub events: u64,
    /// The length of the longest execution.
    pub longest: usize,
    /// The largest number of nodes in wakeup trees at one time.
    pub wakeup_nodes: u64,
    /// The most bytes that the search kept at one time.
    pub memory: u64,
    /// States that are stored.
    pub states: u64,
    /// Blocked executions that ended in a stored state.
    pub merges: u64,
    /// Bytes for the stored states and what is known of them.
    pub state_memory: u64,
}

impl Counts {
    /// How many executions were begun, whatever became of them.
    pub fn executions(&self) -> u64 {
        self.complete + self.blocked + self.assumed + self.stopped + self.cut
    }
}

/// What a search says in the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// The totals.
    pub counts: Counts,
    /// Why not everything was looked at; none if everything was.
    pub not_exhaustive: Option<NotExhaustive>,
    /// Something that makes the search itself meaningless: the program did not repeat what it had done.
    pub broken: Option<Failure>,
    /// What else is to be known of the numbers.
    pub note: Option<&'static str>,
}
