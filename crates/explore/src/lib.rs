//! Exploration of concurrent programs: every interleaving that matters, once.
//!
//! [`explore`] runs a [`Program`](mazurka_program::Program) under an [`Algorithm`] and calls a [`Monitor`] at
//! the end of each execution. Each algorithm is in the file of its name and knows programs only through the
//! traits of `mazurka-program`, executions only through `mazurka-trace`.

mod ahead;
mod convergent;
mod data_centric;
mod explore;
mod frame;
mod furthest;
mod item;
mod jobs;
mod ledger;
mod livelock;
mod naive;
mod observers;
mod optimal;
mod options;
mod pair_order;
mod published;
mod quick_hash;
mod random;
mod reads_from;
mod registry;
mod rounds;
mod rules;
mod sharing;
mod sleep;
mod source;
mod source_constraints;
mod source_context;
mod stretch;
mod wake_up;
mod wakeup;
mod walk;

pub use ahead::{Ahead, Crew, TakenUp, explore_ahead};
pub use data_centric::architecture::{Architecture, Edge, Link, Reduction, Use};
pub use explore::{Ending, Monitor, NoMonitor, explore};
pub use item::{Explored, Item, explore_item};
pub use jobs::{Jobs, explore_jobs, explore_jobs_from};
pub use ledger::{Beginning, DoneItem, FoundOut, ItemPlace, Ledger, OpenItem};
pub use livelock::livelock;
#[doc(hidden)]
pub use options::ItemSizes;
pub use options::{Counts, Limits, NotExhaustive, Options, Order, Summary};
pub use published::{NotPublished, Published};
pub use registry::{Algorithm, Need, UnknownAlgorithm};
pub use rounds::{Stopped, StoppedBy};
#[doc(hidden)]
pub use rules::Rules;
pub use stretch::{Stretch, StretchEnd, explore_stretch};
pub use wake_up::estimate::{Estimate, estimate};
