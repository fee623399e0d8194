//! How a search is cut into parts that several workers explore ([`jobs`](crate::jobs)): what an algorithm that can be
//! shared says of itself.
//!
//! What holds of the parts of a search:
//! * what comes of a part follows from the part, the program and the options alone: not from who explores it, when, or
//!   what was explored before;
//! * to explore a part for so many executions and then each of the parts that are left of it is to explore the part;
//! * parts have an order, that in which one worker would come to them. In that order the search is told what was found
//!   in each ([`Sharing::put_in`]), once all that comes before is done; so what follows from it is the same whoever
//!   was the faster.

use mazurka_program::{Program, Run};

use crate::explore::Typed;
use crate::registry::Algorithm;
use crate::walk::Walk;
use crate::{Monitor, Options, Summary};

/// An algorithm whose searches can be cut. A value of it is what is known of one beginning of a search, where its parts
/// are put together.
pub(crate) trait Sharing: Default + Send {
    /// Which one it is.
    const ALGORITHM: Algorithm;

    /// Whether further parts may be found when parts are put together.
    const FINDS_MORE: bool = false;

    /// What is left to do of a search, so that another run can do it.
    type Part: Clone + Send;

    /// What a part shows that concerns others.
    type Found: Send;

    /// The whole search.
    fn whole(options: &Options) -> Self::Part;

    /// Explores a part, until there were so many executions.
    fn explore(walk: Walk<'_>, part: Self::Part, most: u64) -> Cut<Self::Part, Self::Found>;

    /// Takes up what was found in a part, in the order of parts.
    fn put_in(&mut self, found: Self::Found) -> Next<Self::Part>;
}

/// What came of a part.
pub(crate) struct Cut<Part, Found> {
    /// What was found, of this part alone.
    pub summary: Summary,
    /// Whether the search is over, before all was explored. The summary says why.
    pub is_over: bool,
    /// What is left of it, the next part first; nothing if the search is over.
    pub rest: Vec<Part>,
    pub found: Found,
}

/// How a search goes on.
pub(crate) enum Next<Part> {
    /// With these parts too, which come before all that follow the present one and what is left of it.
    With(Vec<Part>),
    /// From the start, by this part: what was done is void.
    Again(Part),
}

/// Explores a part of a search of a program.
pub(crate) fn explore_part<S: Sharing, P: Program>(
    program: &P,
    part: S::Part,
    most: u64,
    options: &Options,
    monitor: &mut dyn Monitor<P::Run>,
) -> Cut<S::Part, S::Found> {
    let run: Box<dyn Run> = Box::new(program.start(S::ALGORITHM.footprints(&options.rules)));
    let mut monitor = Typed::new(monitor);
    S::explore(Walk::new(run, S::ALGORITHM.is_ordered(), options, &mut monitor), part, most)
}

/// Something that is done with the way in which an algorithm is shared.
pub(crate) trait WithSharing {
    /// What comes of it.
    type Output;

    fn with<S: Sharing>(self) -> Self::Output;
}
