//! The algorithms: their names, what they are in a line, what they need of a program, and where each is. All
//! that lists algorithms (help, errors, documents) is made from this table or held to it.

use std::fmt;
use std::str::FromStr;

use mazurka_program::{Footprints, Run};

use crate::sharing::{Sharing, WithSharing};
use crate::walk::Walk;
use crate::{Published, Rules, Summary};
use crate::{
    convergent, data_centric, naive, observers, optimal, random, reads_from, source, source_constraints,
    source_context, wake_up,
};

/// The algorithms, by the names that users type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Algorithm {
    /// Every interleaving.
    Naive,
    /// Source-DPOR: each Mazurkiewicz trace at least once; executions that turn out redundant are cut.
    Source,
    /// Optimal-DPOR: each Mazurkiewicz trace exactly once, and nothing is cut.
    Optimal,
    /// A reverse search over traces: each Mazurkiewicz trace exactly once, and nothing is remembered.
    WakeUp,
    /// Optimal-DPOR with observers: each class modulo observers exactly once, and nothing is cut.
    OptimalObservers,
    /// Source-DPOR that does not explore what leads to the same state in another order.
    SourceContext,
    /// Source-DPOR that does not try both orders of steps that are known to commute.
    SourceConstraints,
    /// Each final state once: equal states are merged.
    Convergent,
    /// The same, without trying steps in both orders that are known to commute.
    ConvergentConstraints,
    /// Data-centric DPOR: each reads-from class once, if the communication architecture is acyclic.
    DataCentric,
    /// Each class of executions in which every read reads from the same write, exactly once.
    ReadsFrom,
    /// Random walks, never exhaustive.
    Random,
    /// An algorithm as its paper prints it: it can miss behaviours, and is never exhaustive.
    Published(Published),
}

/// What an algorithm may need of a program besides what every [`Run`] does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Need {
    /// States that can be compared with their names.
    States,
    /// What a receive would take.
    Receives,
    /// When steps commute.
    Constraints,
}

impl Need {
    pub(crate) fn is_met_by(self, run: &mut dyn Run) -> bool {
        match self {
            Need::States => run.states().is_some_and(|states| states.named().is_some()),
            Need::Receives => run.receives().is_some(),
            Need::Constraints => run.constraints().is_some(),
        }
    }

    /// What can't be, where the need is not met: "can't be done".
    pub(crate) fn verb(self) -> &'static str {
        match self {
            Need::States => "done",
            Need::Receives | Need::Constraints => "told",
        }
    }
}

impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Need::States => "compares states",
            Need::Receives => "has to know which messages a receive would take",
            Need::Constraints => "has to know when steps commute",
        })
    }
}

/// What is known of an algorithm.
struct Entry {
    name: &'static str,
    summary: &'static str,
    footprints: Footprints,
    needs: &'static [Need],
    /// Whether it asks for happens-before and races.
    ordered: bool,
    search: fn(Walk<'_>) -> Summary,
}

impl Algorithm {
    /// All of them, but for those as published.
    pub const ALL: [Algorithm; 12] = [
        Algorithm::Naive,
        Algorithm::Source,
        Algorithm::Optimal,
        Algorithm::WakeUp,
        Algorithm::OptimalObservers,
        Algorithm::SourceContext,
        Algorithm::SourceConstraints,
        Algorithm::Convergent,
        Algorithm::ConvergentConstraints,
        Algorithm::DataCentric,
        Algorithm::ReadsFrom,
        Algorithm::Random,
    ];

    fn entry(self) -> Entry {
        let entry = |name, summary, search: fn(Walk<'_>) -> Summary| {
            let (footprints, needs) = (Footprints::Dynamic, &[] as &[Need]);
            Entry { name, summary, footprints, needs, ordered: true, search }
        };
        match self {
            Algorithm::Naive => {
                Entry { ordered: false, ..entry("naive", "every interleaving", naive::search) }
            }
            Algorithm::Source => {
                let summary = "each Mazurkiewicz trace at least once; redundant executions are cut";
                Entry { footprints: Footprints::Static, ..entry("source", summary, source::search) }
            }
            Algorithm::Optimal => entry("optimal", "each Mazurkiewicz trace exactly once", optimal::search),
            Algorithm::WakeUp => entry(
                "wake-up",
                "each Mazurkiewicz trace exactly once; nothing is remembered",
                wake_up::search,
            ),
            Algorithm::OptimalObservers => {
                let summary = "each class modulo observers exactly once";
                Entry { needs: &[Need::Receives], ..entry("optimal+observers", summary, observers::search) }
            }
            Algorithm::SourceContext => {
                let summary = "source, without what leads to the same state in another order";
                let entry = entry("source+context", summary, source_context::search);
                Entry { footprints: Footprints::Static, needs: &[Need::States], ..entry }
            }
            Algorithm::SourceConstraints => {
                let summary = "every final state, without both orders of steps that are known to commute";
                let entry = entry("source+constraints", summary, source_constraints::search);
                Entry { footprints: Footprints::Static, needs: &[Need::Constraints], ordered: false, ..entry }
            }
            Algorithm::Convergent => {
                let summary = "each final state once; equal states are merged";
                let entry = entry("convergent", summary, convergent::search);
                Entry { needs: &[Need::States], ordered: false, ..entry }
            }
            Algorithm::ConvergentConstraints => {
                let summary = "convergent, without both orders of steps that are known to commute";
                let entry = entry("convergent+constraints", summary, convergent::search_with_constraints);
                let needs = &[Need::States, Need::Constraints];
                Entry { footprints: Footprints::Static, needs, ordered: false, ..entry }
            }
            Algorithm::DataCentric => {
                let summary =
                    "each reads-from class once where processes form a tree, else each trace at most once";
                Entry { ordered: false, ..entry("data-centric", summary, data_centric::search) }
            }
            Algorithm::ReadsFrom => {
                let summary = "each class in which every read reads from the same write, exactly once";
                Entry { ordered: false, ..entry("reads-from", summary, reads_from::search) }
            }
            Algorithm::Random => {
                let summary = "random walks, for what is too large to be searched; never exhaustive";
                Entry { ordered: false, ..entry("random", summary, random::search) }
            }
            Algorithm::Published(form) => {
                let entry = entry(form.name(), "as its paper prints it; it misses behaviours", form.search());
                let (footprints, compares) = (form.footprints(), form.compares_states());
                let needs = match form {
                    Published::Constraints => &[Need::States, Need::Constraints] as &[Need],
                    _ if compares => &[Need::States],
                    _ => &[],
                };
                Entry { footprints, needs, ordered: compares, ..entry }
            }
        }
    }

    /// The name that users type.
    pub fn name(self) -> &'static str {
        self.entry().name
    }

    /// What it explores, in a few words.
    pub fn summary(self) -> &'static str {
        self.entry().summary
    }

    /// Why it never looks at everything, if it does not.
    pub fn misses(self) -> Option<String> {
        match self {
            Algorithm::Random => {
                Some("random walks are a sample of the executions; optimal looks at all of them".to_owned())
            }
            Algorithm::Published(form) => Some(form.misses()),
            _ => None,
        }
    }

    /// What it needs of a program: one that can't do it is refused
    /// ([`NotExhaustive::Lacks`](crate::NotExhaustive::Lacks)).
    pub fn needs(self) -> &'static [Need] {
        self.entry().needs
    }

    /// Whether it compares states.
    pub fn compares_states(self) -> bool {
        self.needs().contains(&Need::States)
    }

    /// Whether it finds every final state, and not every class of executions.
    pub fn is_about_states(self) -> bool {
        self.compares_states() || self == Algorithm::SourceConstraints
    }

    /// Which labels it works with.
    pub(crate) fn footprints(self, rules: &Rules) -> Footprints {
        match self {
            Algorithm::Source if !rules.source.static_footprints => Footprints::Dynamic,
            _ => self.entry().footprints,
        }
    }

    pub(crate) fn is_ordered(self) -> bool {
        self.entry().ordered
    }

    /// Whether several workers can share a search by it ([`explore_jobs`](crate::explore_jobs)).
    pub fn can_be_shared(self) -> bool {
        struct Nothing;
        impl WithSharing for Nothing {
            type Output = ();

            fn with<S: Sharing>(self) {}
        }
        self.with_sharing(Nothing).is_some()
    }

    /// Does something with the way in which searches by it are shared; nothing if they can't be.
    pub(crate) fn with_sharing<W: WithSharing>(self, what: W) -> Option<W::Output> {
        match self {
            Algorithm::Naive => Some(what.with::<naive::NaiveSharing>()),
            Algorithm::WakeUp => Some(what.with::<wake_up::WakeUpSharing>()),
            Algorithm::ReadsFrom => Some(what.with::<reads_from::ReadsFromSharing>()),
            Algorithm::Random => Some(what.with::<random::RandomSharing>()),
            _ => None,
        }
    }

    pub(crate) fn search(self, walk: Walk<'_>) -> Summary {
        (self.entry().search)(walk)
    }

    /// The form of it, if it is an algorithm as its paper prints it.
    pub fn published(self) -> Option<Published> {
        match self {
            Algorithm::Published(published) => Some(published),
            _ => None,
        }
    }

    /// The names of some algorithms, as in a sentence: `naive, source and optimal`.
    pub fn list(algorithms: impl IntoIterator<Item = Algorithm>) -> String {
        let names: Vec<&str> = algorithms.into_iter().map(Algorithm::name).collect();
        match names.split_last() {
            Some((last, others)) if !others.is_empty() => format!("{} and {last}", others.join(", ")),
            _ => names.concat(),
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
        if self.0.starts_with("optimal+context") {
            return write!(
                f,
                "{} has no sound form: the published one loses behaviours of programs of 4 to 6 steps (CX10 to CX12: \
                 corpus/cx10.maz, cx11.maz, cx12.maz), which --as-published runs; use convergent, which has one execution for each final state",
                self.0
            );
        }
        write!(f, "{} is not an algorithm; there are {}", self.0, Algorithm::list(Algorithm::ALL))
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
