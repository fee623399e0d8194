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
    /// `convergent` merges a state only with one in which nobody slept that is awake; taken out, with any.
    pub merge_asleep: bool,
    /// `convergent` compares the step that led to a merged state with what is below it; taken out, it does not.
    pub merged_conflicts: bool,
    /// `convergent` explores a sleeping process if something below would wake it; taken out, it never does.
    pub wake_needed: bool,
    /// `convergent` explores those who can create or enable a process that is needed; taken out, it forgets them.
    pub need_enablers: bool,
    /// `source+context` reverses the races of everybody at every node, asleep or not; taken out, of those who go on (CX1).
    pub race_everybody: bool,
    /// `source+context` puts sequences to sleep only if nothing but `e` happens after `e`; taken out, all (CX16).
    pub single_event: bool,
    /// `source+context` puts no sequence to sleep in which something fails that has not failed yet.
    pub compare_failures: bool,
    /// The sequence that reverses an observed race ends with an observer; taken out, with the race's later event.
    pub carry_observer: bool,
    /// A sequence is planned with each view that its last event can have of writes which nobody observed; taken out, with one.
    pub views: bool,
    /// An explored event that others follow without observers is kept in mind; taken out, it is woken by them.
    pub keep_unobserved: bool,
    /// Writes of overlapping, unequal sets of locations race unconditionally; taken out, if observed (CX13).
    pub unequal_writes: bool,
    /// Writes that a guard waits for race unconditionally; taken out, if observed.
    pub awaited_writes: bool,
    /// Two messages to a mailbox race if a receive would take either; taken out, if a receive took one of them.
    pub selective: bool,
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
            merge_asleep: true,
            merged_conflicts: true,
            wake_needed: true,
            need_enablers: true,
            race_everybody: true,
            single_event: true,
            compare_failures: true,
            carry_observer: true,
            views: true,
            keep_unobserved: true,
            unequal_writes: true,
            awaited_writes: true,
            selective: true,
        }
    }
}
