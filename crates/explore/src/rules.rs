//! The repairs, each with a switch, so that tests can take one out and see that it is missed.

/// Which repairs are in force. Everything but the default is wrong on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// `source` tests initials against the backtrack set; taken out, weak initials (CX5).
    pub initials: bool,
    /// `source` asks for static footprints; taken out, it uses those of what a step really touched (CX4).
    pub static_footprints: bool,
    /// A guarded step races with every earlier writer of its guard; taken out, only with immediate predecessors.
    pub every_guard_writer: bool,
    /// A process that waits at the end of an execution races too.
    pub waiting_races: bool,
    /// A race with a guard's writer counts only if the guard holds without it; taken out, always.
    pub guard_must_hold: bool,
    /// `optimal` runs a step that varies to learn its label in a new place; taken out, it keeps the old label.
    pub rerun_varying: bool,
    /// `optimal` leaves out a sequence of which a sleeping process is a weak initial.
    pub sleep_test: bool,
    /// `optimal` follows weak initials down the wakeup tree; taken out, only initials.
    pub weak_initials: bool,
    /// A sequence that is used up within a wakeup tree is covered only under the outcomes that are planned below it;
    /// taken out, under all.
    pub other_outcomes: bool,
    /// `optimal` handles the races of a common prefix again with what is new after it.
    pub old_races: bool,
    /// A sleeping process is woken by what depends on it; taken out, it sleeps on.
    pub wake: bool,
}

impl Default for Rules {
    fn default() -> Rules {
        Rules {
            initials: true,
            static_footprints: true,
            every_guard_writer: true,
            waiting_races: true,
            guard_must_hold: true,
            rerun_varying: true,
            sleep_test: true,
            weak_initials: true,
            other_outcomes: true,
            old_races: true,
            wake: true,
        }
    }
}
