//! What a search is told, and what it says in the end.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use mazurka_program::{Failure, Footprints};

use crate::{Published, Rules};

/// The algorithms, by the names that users type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Algorithm {
    /// Every interleaving.
    Naive,
    /// Source-DPOR: each Mazurkiewicz trace at least once; executions that turn out redundant are cut.
    Source,
    /// Optimal-DPOR: each Mazurkiewicz trace exactly once, and nothing is cut.
    Optimal,
    /// Optimal-DPOR with observers: each class modulo observers exactly once, and nothing is cut.
    OptimalObservers,
    /// Source-DPOR that does not explore what leads to the same state in another order.
    SourceContext,
    /// Each final state once: equal states are merged.
    Convergent,
    /// An algorithm as its paper prints it: it can miss behaviours, and is never exhaustive.
    Published(Published),
}

impl Algorithm {
    /// All of them, but for those as published.
    pub const ALL: [Algorithm; 6] = [
        Algorithm::Naive,
        Algorithm::Source,
        Algorithm::Optimal,
        Algorithm::OptimalObservers,
        Algorithm::SourceContext,
        Algorithm::Convergent,
    ];

    /// The name that users type.
    pub fn name(self) -> &'static str {
        match self {
            Algorithm::Naive => "naive",
            Algorithm::Source => "source",
            Algorithm::Optimal => "optimal",
            Algorithm::OptimalObservers => "optimal+observers",
            Algorithm::SourceContext => "source+context",
            Algorithm::Convergent => "convergent",
            Algorithm::Published(published) => published.name(),
        }
    }

    /// Whether it compares states: front ends that can't are refused ([`NotExhaustive::NoStates`]).
    pub fn compares_states(self) -> bool {
        matches!(self, Algorithm::SourceContext | Algorithm::Convergent | Algorithm::Published(_))
    }

    /// Which labels it works with.
    pub(crate) fn footprints(self, rules: &Rules) -> Footprints {
        match self {
            Algorithm::Source if rules.static_footprints => Footprints::Static,
            Algorithm::SourceContext => Footprints::Static,
            Algorithm::Published(published) => published.footprints(),
            _ => Footprints::Dynamic,
        }
    }

    /// The form of it, if it is an algorithm as its paper prints it.
    pub fn published(self) -> Option<Published> {
        match self {
            Algorithm::Published(published) => Some(published),
            _ => None,
        }
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Algorithm::Published(published) => published.fmt(f),
            _ => f.write_str(self.name()),
        }
    }
}

/// A name that is no algorithm's; tells which there are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownAlgorithm(pub String);

impl fmt::Display for UnknownAlgorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let planned = ["source+constraints", "convergent+constraints", "data-centric", "reads-from"];
        if self.0.starts_with("optimal+context") {
            return write!(
                f,
                "{} has no sound form: the published one loses behaviours of programs of 4 to 6 steps (CX10 to CX12: \
                 corpus/cx10.maz, cx11.maz, cx12.maz), which --as-published runs; use convergent, which has one execution for each final state",
                self.0
            );
        }
        let what = if planned.contains(&self.0.as_str()) { "not supported yet" } else { "not an algorithm" };
        let names: Vec<&str> = Algorithm::ALL.into_iter().map(Algorithm::name).collect();
        let (last, others) = names.split_last().expect("there are algorithms");
        write!(f, "{} is {what}; there are {} and {last}", self.0, others.join(", "))
    }
}

impl std::error::Error for UnknownAlgorithm {}

impl FromStr for Algorithm {
    type Err = UnknownAlgorithm;

    fn from_str(text: &str) -> Result<Algorithm, UnknownAlgorithm> {
        Algorithm::ALL
            .into_iter()
            .find(|algorithm| algorithm.name() == text)
            .ok_or_else(|| UnknownAlgorithm(text.to_owned()))
    }
}

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
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { executions: None, time: None, depth: 100_000, memory: None }
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
    /// An execution came back to a state that it had been in so many steps before, and the algorithm needs executions that
    /// end. The search went on, but may have missed something.
    Cycle(usize),
    /// The algorithm compares states, and those of the program can't be compared: nothing was run.
    NoStates(Algorithm),
    /// The algorithm has to know what receives would take, and the front end can't tell: nothing was run.
    NoObservers,
    /// The program has steps of which the algorithm is not proved to explore everything, though nothing is known to be missed.
    NotProved,
    /// The algorithm ran as its paper prints it.
    AsPublished(Published),
    /// The monitor asked for an end.
    Stopped,
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
            NotExhaustive::Program(reason) => f.write_str(reason),
            NotExhaustive::Cycle(steps) => write!(
                f,
                "an execution came back to a state that it had been in {steps} steps before, and convergent needs executions \
                 that end; bound the loop, or use optimal"
            ),
            NotExhaustive::NoStates(algorithm) => {
                write!(f, "{algorithm} compares states, which can't be done for this kind of program; use optimal")
            }
            NotExhaustive::NoObservers => f.write_str(
                "optimal+observers has to know which messages a receive would take, which can't be told for this kind of \
                 program; use optimal",
            ),
            NotExhaustive::NotProved => f.write_str(
                "optimal+observers is not proved to find everything where a step has several outcomes that others can \
                 notice (whom a notification wakes, whether a wait times out); use optimal",
            ),
            NotExhaustive::AsPublished(published) => write!(
                f,
                "the algorithm as published ({}) can miss behaviours, as it does of {}; the sound one is {}",
                published.paper(),
                published.losses(),
                published.sound()
            ),
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
        self.complete + self.blocked + self.assumed + self.cut
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
}
