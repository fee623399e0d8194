//! The repairs of algorithms, each with a switch, so that tests can take one out and see that it is missed.
//! The switches of an algorithm are in its own file.

use crate::{
    convergent, data_centric, observers, optimal, reads_from, rounds, source, source_constraints,
    source_context, wake_up,
};

/// Declares switches, all on by default.
macro_rules! switches {
    ($(#[$about:meta])* $name:ident { $($(#[$says:meta])* $switch:ident,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $name {
            $($(#[$says])* pub $switch: bool,)*
        }

        impl Default for $name {
            fn default() -> $name {
                $name { $($switch: true,)* }
            }
        }
    };
}
pub(crate) use switches;

switches! {
    /// Repairs that several algorithms have.
    Shared {
        /// A guarded step races with every earlier writer of its guard; taken out, only with immediate
        /// predecessors.
        every_guard_writer,
        /// A process that waits at the end of an execution races too.
        waiting_races,
        /// A race with a guard's writer counts only if the guard holds without it; taken out, always.
        guard_must_hold,
        /// A sleeping process is woken by what depends on it; taken out, it sleeps on.
        wake,
    }
}

/// Which repairs are in force. Everything but the default is wrong on purpose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Rules {
    pub shared: Shared,
    pub rounds: rounds::Repairs,
    pub source: source::Repairs,
    /// Those of wakeup trees, so `optimal+observers` has them too.
    pub optimal: optimal::Repairs,
    pub observers: observers::Repairs,
    pub source_context: source_context::Repairs,
    pub source_constraints: source_constraints::Repairs,
    pub convergent: convergent::Repairs,
    pub data_centric: data_centric::Repairs,
    pub reads_from: reads_from::Repairs,
    pub wake_up: wake_up::Repairs,
}
