//! Atomic blocks: several operations as one step, and what is claimed of them.

use std::cell::Cell;
use std::fmt::{self, Debug};
use std::panic::Location as Caller;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::runtime::operation::{CurrentStep, Operation};
use crate::runtime::{Runtime, operate, with_runtime};
use crate::step::CallSite;

/// Does all of a closure as one step: no other thread comes between.
///
/// It is for models, where what an implementation does in many steps is to be one, or where an invariant over several
/// objects is looked at. The step touches all that is touched within, and depends on whatever touches one of these.
///
/// ```
/// use mazurka::sync::atomic::{AtomicI32, Ordering::SeqCst};
/// use mazurka::thread;
///
/// mazurka::check(|| {
///     let (from, to) = (AtomicI32::new(10), AtomicI32::new(0));
///     thread::scope(|scope| {
///         scope.spawn(|| {
///             mazurka::atomic(|| {
///                 from.fetch_sub(7, SeqCst);
///                 to.fetch_add(7, SeqCst);
///             });
///         });
///         // Nobody sees the money on its way.
///         let sum = mazurka::atomic(|| from.load(SeqCst) + to.load(SeqCst));
///         assert_eq!(sum, 10);
///     });
/// });
/// ```
///
/// Within it, what may have to wait (a lock, a join, a receive), has several outcomes ([`choose`](crate::choose)) or
/// starts a thread is a failure of the check, of kind `invalid-sync`. A block within a block is a part of it. Threads
/// are ordered by what is done in a block, as [data races](crate::cell) are judged, and not by the block itself.
///
/// Outside of a check blocks exclude each other, and nothing else.
#[track_caller]
pub fn atomic<R>(body: impl FnOnce() -> R) -> R {
    let _within = Within::begin(None, Caller::caller());
    body()
}

/// An [atomic](fn@atomic) block with a name, and with claims of which blocks it commutes with.
///
/// ```
/// use mazurka::sync::atomic::{AtomicI32, Ordering::SeqCst};
/// use mazurka::{Block, Checker, thread};
///
/// let report = Checker::new().run(|| {
///     let balance = AtomicI32::new(50);
///     thread::scope(|scope| {
///         scope.spawn(|| {
///             Block::named("withdraw").run(|| {
///                 let enough = balance.load(SeqCst) >= 100;
///                 if enough {
///                     balance.fetch_sub(100, SeqCst);
///                 }
///                 enough
///             })
///         });
///         Block::named("deposit").commutes_with("withdraw").run(|| {
///             balance.fetch_add(50, SeqCst);
///         });
///     });
/// });
/// // Right where there is enough, and wrong here:
/// let failure = report.failures().next().unwrap();
/// assert_eq!(failure.kind(), "constraint");
/// assert!(failure.message().contains("`deposit` does not commute with `withdraw` here, where balance = 50"));
/// ```
///
/// # What a claim is
/// Wherever the two blocks are what two threads do next, and the condition holds, both orders end alike: the blocks
/// give the same, as `{:?}` shows it, and what they have written has the same values. A claim is tried, not proved: in
/// each state that a search comes to in which both are next, both orders are run. One that is wrong there is a failure
/// of kind `constraint`, with what the blocks found and what each order leaves. Searches take no advantage of claims:
/// they run what they would run without them. What a condition reads counts as read by its block, so a state in which
/// it would be another is another.
///
/// A block of which something is claimed must do nothing but operations of [atomics](crate::sync::atomic): only their
/// values are compared. Else the verdict is "not exhaustive", with the place.
#[must_use = "a block does nothing until it is run"]
pub struct Block<'a> {
    name: &'a str,
    claims: Vec<Claim<'a>>,
}

/// That a block commutes with those of a name.
pub(crate) struct Claim<'a> {
    with: &'a str,
    condition: Option<Box<dyn Fn() -> bool + 'a>>,
    place: CallSite,
}

impl<'a> Block<'a> {
    /// A block with a name, by which others know it. Several may have one name: claims are of all of them.
    pub fn named(name: &'a str) -> Block<'a> {
        Block { name, claims: Vec::new() }
    }

    /// Claims that it commutes with blocks of a name, its own among them, wherever both are next.
    #[track_caller]
    pub fn commutes_with(mut self, name: &'a str) -> Block<'a> {
        self.claims.push(Claim { with: name, condition: None, place: Caller::caller() });
        self
    }

    /// Claims that it commutes with blocks of a name, its own among them, wherever both are next and a condition holds.
    /// The condition may only read.
    #[track_caller]
    pub fn commutes_with_if(mut self, name: &'a str, condition: impl Fn() -> bool + 'a) -> Block<'a> {
        let (condition, place) = (Some(Box::new(condition) as Box<_>), Caller::caller());
        self.claims.push(Claim { with: name, condition, place });
        self
    }

    /// Does all of a closure as one step, as [`atomic`](fn@atomic). What comes of it has to be in what it gives: that
    /// is what is compared.
    #[track_caller]
    pub fn run<R: Debug>(self, body: impl Fn() -> R) -> R {
        let place = Caller::caller();
        let within = Within::begin(Some(&self), place);
        if within.is_step() {
            self.look_at_conditions();
        }
        let result = body();
        if with_runtime(|runtime| runtime.is_trying()) == Some(true) {
            let shown = format!("{result:?}");
            with_runtime(|runtime| runtime.note_result(shown));
        }
        result
    }

    fn look_at_conditions(&self) {
        for claim in &self.claims {
            let holds = claim.condition.as_ref().is_none_or(|condition| condition());
            let goes_on = with_runtime(|runtime| runtime.note_condition(holds, claim.place));
            if goes_on == Some(false) {
                crate::runtime::stop_here();
            }
        }
    }

    pub(crate) fn name(&self) -> &str {
        self.name
    }

    /// What is claimed: the number of the claim, whom it is of, and where it is.
    pub(crate) fn claims(&self) -> impl Iterator<Item = (usize, &str, CallSite)> {
        self.claims.iter().enumerate().map(|(number, claim)| (number, claim.with, claim.place))
    }
}

impl Debug for Block<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Block").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The step that a block is. What its process does then is part of it, until it [ends](Within).
struct Begin<'a> {
    block: Option<&'a Block<'a>>,
}

impl Operation for Begin<'_> {
    /// What is done within says what it does itself.
    fn is_told(&self) -> bool {
        true
    }

    fn perform(&mut self, step: &mut CurrentStep<'_>) {
        step.runtime.begins_block();
    }

    fn describe(&self, _: &Runtime) -> String {
        self.block.map_or("atomic".to_owned(), |block| format!("atomic {}", block.name))
    }

    fn block(&self) -> Option<&Block<'_>> {
        self.block
    }
}

/// While it is alive, the thread is within a block.
enum Within {
    /// In a check, in a step of its own.
    Step,
    /// As a part of something that is one step anyway.
    Part,
    /// Outside of a check.
    Outside(#[allow(dead_code)] Option<MutexGuard<'static, ()>>),
}

thread_local! {
    /// Whether this thread is in a block, outside of a check.
    static OUTSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Blocks outside of checks exclude each other.
static BLOCKS: Mutex<()> = Mutex::new(());

impl Within {
    fn begin(block: Option<&Block<'_>>, place: CallSite) -> Within {
        match with_runtime(|runtime| runtime.is_step_for_block(block)) {
            None => Within::outside(),
            Some(false) => Within::Part,
            Some(true) => {
                operate(&mut Begin { block }, place);
                with_runtime(|runtime| runtime.enter_block(place));
                Within::Step
            }
        }
    }

    fn outside() -> Within {
        let is_first = !OUTSIDE.replace(true);
        // A panic in a block leaves nothing of ours undone.
        Within::Outside(is_first.then(|| BLOCKS.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    fn is_step(&self) -> bool {
        matches!(self, Within::Step)
    }
}

impl Drop for Within {
    fn drop(&mut self) {
        match self {
            Within::Step => {
                with_runtime(|runtime| runtime.leave_block());
            }
            Within::Outside(Some(_)) => OUTSIDE.set(false),
            Within::Part | Within::Outside(None) => {}
        }
    }
}
