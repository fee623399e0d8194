//! States up to renaming.
//!
//! Creation-tree names tell processes apart in a trace, but who created a process says nothing of what it
//! will do. Two states that differ in names only have the same futures, but for names; [`Renamed`] is what it
//! takes to carry over what is known of the one to the other. What is there already has a number in the
//! canonical order; what is made later is named after its maker, counted from the state on.

use crate::{Location, ProcessId};

/// Something that has a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Thing {
    /// A process.
    Process(ProcessId),
    /// Something else that processes make; the number is the run's.
    Object(u32),
}

/// Where a thing comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Origin {
    /// Who made it.
    pub maker: ProcessId,
    /// How many of its sort (processes, or objects) the maker had made before.
    pub ordinal: u32,
    /// What kind of object it is; 0 for a process.
    pub kind: u32,
}

/// A state in a canonical order.
#[derive(Clone, Debug, Default)]
pub struct Renamed {
    /// The state. Where two lists are equal, the bijection between their `things` by place, and between what
    /// the same makers make from there on, turns every continuation of the one run into one of the other,
    /// with labels and outcomes.
    pub list: Vec<i64>,
    /// All things that steps to come can touch or be taken by, as far as they exist.
    pub things: Vec<Thing>,
    /// For each of them, how many processes and how many objects it has made; 0 for what makes nothing any
    /// more.
    pub made: Vec<(u32, u32)>,
}

/// A run that can tell its states up to renaming.
pub trait Renaming {
    /// Writes the present state.
    fn renamed(&self, state: &mut Renamed);

    /// Where a thing comes from; none if it was there at the start.
    fn origin(&self, thing: Thing) -> Option<Origin>;

    /// The process of that origin, which may not have been met yet: it gets its number then.
    fn process_of(&mut self, origin: Origin) -> ProcessId;

    /// The object of that origin, which may not have been met yet.
    fn object_of(&mut self, origin: Origin) -> u32;

    /// Whose location this is, and which of those it has; none if it is the same in every state.
    fn owner(&self, location: Location) -> Option<(Thing, u32)>;

    /// The location of a thing that is its `place`th.
    fn location_of(&self, thing: Thing, place: u32) -> Location;
}
