//! The algorithms of four papers exactly as printed, for those who compare: none of them is sound, and none
//! may say "pass".
//!
//! *CAV 2017*: Albert, Arenas, Garcia de la Banda, Gomez-Zamalloa, Stuckey, "Context-Sensitive Dynamic
//! Partial Order Reduction" ([`context`], in three versions). *ISSTA 2019*: Albert, Garcia de la Banda,
//! Gomez-Zamalloa, Isabel, Stuckey, "Optimal Context-Sensitive Dynamic Partial Order Reduction with
//! Observers" ([`optimal_context`], algorithms 1 and 2). *CAV 2018*: Albert, Gomez-Zamalloa, Isabel, Rubio,
//! "Constrained Dynamic Partial Order Reduction" ([`constraints`]). *POPL 2018*: Chalupa, Chatterjee, Pavlogiannis, Sinha,
//! Vaidya, "Data-centric Dynamic Partial Order Reduction" ([`data_centric`]). Comments name the papers' lines. What the papers
//! leave open is filled in as in the sound algorithms: guarded steps race with the writers of their guard, a
//! step may have several outcomes, and labels are static but under observers.
//!
//! Nothing here is tuned: these searches compute orders pair by pair and run sequences again to see where
//! they lead.

mod constraints;
mod context;
mod data_centric;
mod optimal_context;
mod order;
mod races;
mod sequence;
mod tree;

use std::fmt;

use mazurka_program::{Footprints, Names, ProcessId};

use crate::walk::Walk;
use crate::{Order, Summary};

/// An algorithm as its paper prints it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Published {
    /// CAV'17, algorithm 1; the paper's experiments call it CDPOR1.
    Context,
    /// The same with its optimisation 1, "anticipating cuts": CDPOR2.
    ContextAnticipating,
    /// The same with optimisations 1 and 2, "guiding with sleep sequences": CDPOR3.
    ContextGuided,
    /// CAV'18, algorithm 1: Constrained DPOR, which the paper calls CDPOR too.
    Constraints,
    /// ISSTA'19, algorithm 1: ODPOR_cs.
    OptimalContext,
    /// ISSTA'19, algorithm 2: ODPOR_cs^ob.
    OptimalContextObservers,
    /// POPL'18, algorithm 2: DC-DPOR, with the acyclic reduction of section 6.
    DataCentric,
    /// The same as the paper's tool has it: burst mutations, and stars in place of cycles.
    DataCentricTool,
}

impl Published {
    /// All of them.
    pub const ALL: [Published; 8] = [
        Published::Context,
        Published::ContextAnticipating,
        Published::ContextGuided,
        Published::Constraints,
        Published::OptimalContext,
        Published::OptimalContextObservers,
        Published::DataCentric,
        Published::DataCentricTool,
    ];

    /// The name that users type. Versions of one algorithm have one name.
    pub fn name(self) -> &'static str {
        match self {
            Published::Context | Published::ContextAnticipating | Published::ContextGuided => {
                "source+context"
            }
            Published::Constraints => "source+constraints",
            Published::OptimalContext => "optimal+context",
            Published::OptimalContextObservers => "optimal+context+observers",
            Published::DataCentric | Published::DataCentricTool => "data-centric",
        }
    }

    /// Which of the versions of the algorithm it is, from 1.
    pub fn version(self) -> u8 {
        match self {
            Published::ContextAnticipating | Published::DataCentricTool => 2,
            Published::ContextGuided => 3,
            _ => 1,
        }
    }

    /// Where it was published, and what it is called there.
    pub fn paper(self) -> &'static str {
        match self {
            Published::Context => "CAV'17, CDPOR1: algorithm 1",
            Published::ContextAnticipating => "CAV'17, CDPOR2: algorithm 1 with optimisation 1",
            Published::ContextGuided => "CAV'17, CDPOR3: algorithm 1 with optimisations 1 and 2",
            Published::Constraints => "CAV'18, Constrained DPOR: algorithm 1",
            Published::OptimalContext => "ISSTA'19, ODPOR_cs: algorithm 1",
            Published::OptimalContextObservers => "ISSTA'19, ODPOR_cs^ob: algorithm 2",
            Published::DataCentric => "POPL'18, DC-DPOR: algorithm 2",
            Published::DataCentricTool => {
                "POPL'18, DC-DPOR as in its tool: algorithm 2 with burst mutations and stars"
            }
        }
    }

    /// The programs that show what it loses.
    pub fn losses(self) -> &'static str {
        match self {
            Published::Context => "corpus/cx01.maz",
            Published::ContextAnticipating | Published::ContextGuided => "corpus/cx02.maz",
            Published::Constraints => "corpus/cx08.maz",
            Published::OptimalContext => "corpus/cx10.maz",
            Published::OptimalContextObservers => "corpus/cx12.maz",
            Published::DataCentric => "corpus/cx15.maz",
            Published::DataCentricTool => "corpus/cx14.maz",
        }
    }

    /// The sound algorithm to be used instead.
    pub fn sound(self) -> &'static str {
        match self {
            Published::OptimalContext | Published::OptimalContextObservers => "convergent",
            Published::Constraints => "source+constraints without --as-published",
            Published::DataCentric | Published::DataCentricTool => "data-centric without --as-published",
            _ => "source+context without --as-published",
        }
    }

    /// Which labels it works with.
    pub(crate) fn footprints(self) -> Footprints {
        match self {
            Published::OptimalContextObservers | Published::DataCentric | Published::DataCentricTool => {
                Footprints::Dynamic
            }
            _ => Footprints::Static,
        }
    }

    /// Whether it compares states.
    pub(crate) fn compares_states(self) -> bool {
        !matches!(self, Published::DataCentric | Published::DataCentricTool)
    }

    /// The search.
    pub(crate) fn search(self) -> fn(Walk<'_>) -> Summary {
        match self {
            Published::Context => |walk| context::search(walk, 1),
            Published::ContextAnticipating => |walk| context::search(walk, 2),
            Published::ContextGuided => |walk| context::search(walk, 3),
            Published::Constraints => constraints::search,
            Published::OptimalContext => |walk| optimal_context::search(walk, false),
            Published::OptimalContextObservers => |walk| optimal_context::search(walk, true),
            Published::DataCentric => |walk| data_centric::search(walk, false),
            Published::DataCentricTool => |walk| data_centric::search(walk, true),
        }
    }

    /// Why it is never exhaustive.
    pub(crate) fn misses(self) -> String {
        format!(
            "the algorithm as published ({}) can miss behaviours, as it does of {}; the sound one is {}",
            self.paper(),
            self.losses(),
            self.sound()
        )
    }

    /// The versions of the algorithm of a name, in order.
    pub fn versions(name: &str) -> impl Iterator<Item = Published> {
        Published::ALL.into_iter().filter(move |published| published.name() == name)
    }

    /// The algorithm of a name, in a version.
    ///
    /// # Errors
    /// If the algorithm has no published form here, or not that version.
    pub fn of(name: &str, version: u8) -> Result<Published, NotPublished> {
        Published::versions(name)
            .find(|published| published.version() == version)
            .ok_or_else(|| NotPublished { name: name.to_owned(), version })
    }
}

impl fmt::Display for Published {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} as published", self.name())?;
        if Published::versions(self.name()).count() > 1 {
            write!(f, ", version {}", self.version())?;
        }
        Ok(())
    }
}

/// There is no such published form; tells which there are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotPublished {
    name: String,
    version: u8,
}

impl fmt::Display for NotPublished {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match Published::versions(&self.name).count() {
            0 => write!(
                f,
                "{} has no form as published; source+context (versions 1 to 3), source+constraints, data-centric (versions 1 \
                 and 2), optimal+context and optimal+context+observers have one",
                self.name
            ),
            1 => write!(f, "{} as published has no version {}; it has one", self.name, self.version),
            versions => {
                write!(
                    f,
                    "{} as published has no version {}; it has 1 to {versions}",
                    self.name, self.version
                )
            }
        }
    }
}

impl std::error::Error for NotPublished {}

/// The choices that the papers leave open: drawn from a seed, or in the natural order the process that comes
/// first in the creation tree, so that what was created last is followed first. With it the papers' numbers
/// come out where any order gives them.
struct Chance(Option<u64>);

impl Chance {
    fn new(order: Order) -> Chance {
        Chance(match order {
            Order::Natural => None,
            Order::Shuffled(seed) => Some(seed.wrapping_mul(0xD134_2543_DE82_EF95) | 1),
        })
    }

    /// One of some processes.
    fn pick(&mut self, names: &Names, among: &[ProcessId]) -> Option<ProcessId> {
        match self.0 {
            None => among.iter().copied().min_by(|&a, &b| names.compare(a, b)),
            Some(_) => among.get(self.of(among.len())).copied(),
        }
    }

    /// One of so many; the first in the natural order.
    fn of(&mut self, many: usize) -> usize {
        let Some(state) = &mut self.0 else { return 0 };
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        (*state >> 20) as usize % many.max(1)
    }
}
