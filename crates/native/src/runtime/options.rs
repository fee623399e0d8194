//! How a program is checked, and how a check of it is made.
#![allow(unsafe_code)]

use std::cell::UnsafeCell;
use std::rc::Rc;
use std::time::Duration;

pub use crate::driver::Built;
use crate::driver::ReleaseSequences;
use crate::symbols::Symbols;

use super::memory::image::Image;
use super::threads::runtime::Runtime;

/// What happens when accesses of memory race.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Races {
    /// It is a failure.
    #[default]
    Report,
    /// They are looked at in every order, as if they were atomic.
    Sc,
}

/// What the end of `main` is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MainExits {
    /// The end of the program: who waits then is in no deadlock.
    #[default]
    Process,
    /// The end of the first thread.
    Thread,
}

/// What a program may end with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Statuses {
    /// A status of 0: any other is a failure.
    #[default]
    Zero,
    /// Whatever it likes.
    Any,
}

/// How a program is checked.
#[derive(Clone, Debug)]
pub struct Options {
    /// What happens when accesses race.
    pub races: Races,
    /// What the end of `main` is.
    pub main_exits: MainExits,
    /// What the program may end with.
    pub exit_status: Statuses,
    /// Whether waits at condition variables may end of themselves, one of each thread in an execution.
    pub spurious_wakeups: bool,
    /// The size of each thread's stack, in bytes.
    pub stack_size: usize,
    /// How many executions there are to each one that is replayed in another order, to see whether its labels
    /// tell all; 0 for none.
    pub self_check: u32,
    /// Whether places of an execution are saved, so that not every step has to be taken again that leads
    /// there. Nothing else depends on it.
    pub snapshots: bool,
    /// How much CPU time a thread may use between two operations.
    pub patience: Duration,
    /// What is tried of the values of `__VERIFIER_nondet_int` and its kin, which have too many; if nothing is,
    /// a program that calls them is refused.
    pub nondet: Vec<i64>,
    /// What `main` is given besides the name of the program.
    pub arguments: Vec<String>,
    /// Tells places and names to people.
    pub symbols: Option<Rc<Symbols>>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            races: Races::default(),
            main_exits: MainExits::default(),
            exit_status: Statuses::default(),
            spurious_wakeups: false,
            stack_size: 8 << 20,
            self_check: 1 << 10,
            snapshots: true,
            patience: Duration::from_secs(10),
            nondet: Vec::new(),
            arguments: Vec::new(),
            symbols: None,
        }
    }
}

/// A compiled program in memory, to be checked.
pub struct Native {
    pub(super) runtime: Rc<UnsafeCell<Runtime>>,
    release_sequences: ReleaseSequences,
}

impl Native {
    /// The thread that was stopped last because it came to no operation, and where in its loop it was then:
    /// anywhere.
    pub fn stuck(&self) -> Option<(String, mazurka_program::Place)> {
        super::threads::run::open(&self.runtime).search.stuck.clone()
    }

    /// What the next search may take, from now on: time, and memory of this process besides what it has now.
    /// When it is used up, the search ends in the middle of a step. Nothing else ends: to tell a failure
    /// takes what it takes.
    pub fn limit(&self, time: Option<Duration>, memory: Option<u64>) {
        super::system::limits::set(time, memory);
    }

    /// The memory that was never freed and could not be reached at the end of some execution in which nothing
    /// went wrong.
    pub fn leaks(&self) -> Vec<super::Leak> {
        super::threads::run::open(&self.runtime).search.leaks.list()
    }

    /// Whether the program waits at condition variables, and was not asked how it bears waits that end of
    /// themselves.
    pub fn was_spared_wakeups(&self) -> bool {
        let runtime = super::threads::run::open(&self.runtime);
        runtime.search.has_waits && !runtime.search.options.spurious_wakeups
    }

    /// Who was left in a loop that waits when the program had ended, and where: one whom
    /// `--main-exits=thread` would have told of.
    pub fn left_spinning(&self) -> Option<&str> {
        super::threads::run::open(&self.runtime).search.left_spinning.as_deref()
    }

    /// The rule for release sequences by which data races were looked for, if it made a difference which one.
    pub fn release_rule(&self) -> Option<&ReleaseSequences> {
        let decided = super::threads::run::open(&self.runtime).execution.races.stored_after_release;
        decided.then_some(&self.release_sequences)
    }

    /// What was given values of some of many, if something was: then not everything was looked at.
    pub fn sampled(&self) -> Option<&'static str> {
        super::threads::run::open(&self.runtime).search.sampled
    }

    /// What the program does that is not supported, if an execution has come to it. The search has ended
    /// there.
    pub fn refusal(&self) -> Option<String> {
        super::threads::run::open(&self.runtime).search.refused.clone()
    }
}

/// Loads a program. It belongs to the thread of the operating system that loads it.
///
/// # Errors
/// If the object is not as the driver makes them, or if there is no room for it.
pub fn load(built: &Built, options: Options) -> Result<Native, String> {
    let mut image = Image::load(&built.object)?;
    image.unwinds = built.unwinds;
    let at = |offset: &u64| image.base + *offset as usize;
    let atomic = built.atomic.iter().map(at).collect();
    let (init, fini) = (built.init_array.iter().map(at).collect(), built.fini_array.iter().map(at).collect());
    let mut runtime = Runtime::new(image, options)?;
    (runtime.search.init, runtime.search.fini) = (init, fini);
    runtime.search.atomic_functions = atomic;
    runtime.mark_redzones();
    // SAFETY: the function has no conditions.
    runtime.search.errno = unsafe { libc::__errno_location() };
    let release_sequences = built.release_sequences.clone();
    let own_stores_continue = release_sequences.own_stores_continue();
    runtime.execution.races.own_stores_continue = own_stores_continue;
    runtime.execution.race_log.own_stores_continue = own_stores_continue;
    Ok(Native { runtime: Rc::new(UnsafeCell::new(runtime)), release_sequences })
}
