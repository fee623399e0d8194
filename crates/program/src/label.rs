//! Labels: what a step did to which locations.

/// Something that steps touch: a shared variable, a cell of an array, a lock, a mailbox, the end of a
/// process.
///
/// Locations are small dense numbers, so that what is known of them can be kept in plain arrays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Location(pub u32);

/// How a step touches a location.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AccessKind {
    /// Its value was read.
    Read,
    /// It was overwritten, whatever it held before (a blind write).
    Write,
    /// It was read and written, as by a read-modify-write, a lock or an unlock.
    Update,
    /// A message was appended to it (the location is a mailbox).
    Send,
    /// It was given its value, once and for all: no other step of any execution writes it, nor can it be read
    /// before (the location is a future that is resolved). So it has no order of writes that could be
    /// observed.
    Once,
}

impl AccessKind {
    /// Whether the access leaves the location as it was.
    #[inline]
    pub fn is_read(self) -> bool {
        self == AccessKind::Read
    }
}

/// One access of a step: `len` consecutive locations from `first` on, all touched in the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Access {
    /// The first location touched.
    pub first: Location,
    /// How many; never 0.
    pub len: u32,
    /// How they were touched.
    pub kind: AccessKind,
}

impl Access {
    /// An access of one location.
    #[inline]
    pub fn one(location: Location, kind: AccessKind) -> Access {
        Access { first: location, len: 1, kind }
    }

    /// The locations touched.
    #[inline]
    pub fn locations(self) -> impl Iterator<Item = Location> {
        (self.first.0..self.first.0 + self.len).map(Location)
    }

    /// Whether the two have a location in common.
    #[inline]
    pub fn overlaps(self, other: Access) -> bool {
        self.first.0 < other.first.0 + other.len && other.first.0 < self.first.0 + self.len
    }
}

/// The run's handle of a guard that was met, for [`crate::Run::guard_holds_at`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GuardId(pub u32);

/// The guard of a step that can wait, where another process can make the guard false again.
///
/// All that the guard reads counts as the one `location`: a step that writes any of it accesses `location`
/// too, so two such steps are dependent. A guard that only its own process can make false again is not one of
/// these: see [`Label::waited_for`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guard {
    /// The one location that stands for everything the guard reads.
    pub location: Location,
    /// What to ask [`crate::Run::guard_holds_at`] about.
    pub id: GuardId,
}

/// What a step did.
///
/// A run writes it into a buffer of its caller, so that no step allocates once the buffer has grown.
#[derive(Clone, Debug, Default, Eq)]
pub struct Label {
    /// What was touched. One location may occur more than once.
    pub accesses: Vec<Access>,
    /// The guard that had to hold for the step to be taken.
    pub guard: Option<Guard>,
    /// The locations whose writers the step had to wait for, where only its own process can make that undone:
    /// the end of a process that is joined, a wake-up, the message that is taken, the end of every sender.
    /// There is no race with those writers.
    pub waited_for: Vec<Location>,
    /// The processes that the step created, in order.
    pub spawned: Vec<crate::ProcessId>,
    /// Whether the step might touch other locations, or touch them otherwise, had it read other values
    /// (a compare-and-swap, a conditional block, a receive with a timeout).
    pub varies: bool,
    /// Whether the process has come to where it was before, so that it may have gone a
    /// [round](crate::Rounds). It is no part of what the step did.
    pub returns: bool,
}

impl PartialEq for Label {
    /// Whether the steps did the same.
    fn eq(&self, other: &Label) -> bool {
        let did = |label: &Label| (label.guard, label.varies);
        did(self) == did(other)
            && self.accesses == other.accesses
            && self.waited_for == other.waited_for
            && self.spawned == other.spawned
    }
}

impl Label {
    /// Makes the label that of a step which touches nothing.
    pub fn clear(&mut self) {
        self.accesses.clear();
        self.guard = None;
        self.waited_for.clear();
        self.spawned.clear();
        self.varies = false;
        self.returns = false;
    }

    /// Adds an access of one location.
    #[inline]
    pub fn touch(&mut self, location: Location, kind: AccessKind) {
        self.accesses.push(Access::one(location, kind));
    }
}
