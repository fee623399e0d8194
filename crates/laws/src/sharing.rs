//! The laws of searches that several workers share.
//!
//! 1. What is said in the end and which executions there were, in their order, is the same for any number of workers.
//! 2. So it is if the search is to end at certain executions: it ends at the first of them in its order, whoever met
//!    which of them first.
//! 3. Cut into parts, `wake-up` and `random` have the executions of the search that is not cut, in its order; `naive`
//!    has them in an order of its own, which depends on what a run has met before. `reads-from` has its classes, each
//!    once, and what the oracle found ([`crate::reads_from`]).

use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::ControlFlow;

use mazurka_explore::{
    Algorithm, Counts, Ending, ItemSizes, Jobs, Limits, Monitor, Options, Order, Summary, explore,
    explore_jobs,
};
use mazurka_oracle::Truth;
use mazurka_program::{Program, Run};
use mazurka_trace::Trace;

use crate::reads_from;

/// The algorithms whose searches can be shared.
pub(crate) const SHARED: [Algorithm; 4] =
    [Algorithm::Naive, Algorithm::WakeUp, Algorithm::ReadsFrom, Algorithm::Random];

/// How searches are cut: everywhere, and here and there.
const SIZES: [ItemSizes; 4] = [
    ItemSizes { first: 1, later: 1, parts: usize::MAX },
    ItemSizes { first: 2, later: 3, parts: usize::MAX },
    ItemSizes { first: 1, later: 20, parts: usize::MAX },
    ItemSizes { first: 16, later: 5, parts: usize::MAX },
];

/// Numbers of workers.
const WORKERS: [usize; 3] = [1, 2, 4];

/// The executions of a search, in its order: how each ended, and what it did, by names.
#[derive(Default)]
struct Executions {
    all: Vec<u64>,
    /// The search ends at an execution whose number can be divided by this.
    ends_at: Option<u64>,
}

impl<R: Run> Monitor<R> for Executions {
    fn execution(&mut self, ending: Ending, trace: &Trace, run: &R, _: &Counts) -> ControlFlow<()> {
        let mut hasher = DefaultHasher::new();
        let step = |at: usize| (run.names().path(trace.process(at)), trace.choice(at));
        (ending, (0..trace.len()).map(step).collect::<Vec<_>>()).hash(&mut hasher);
        let number = hasher.finish();
        self.all.push(number);
        match self.ends_at {
            Some(divisor) if number.is_multiple_of(divisor) => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    }

    fn begin_again(&mut self) {
        self.all.clear();
    }
}

/// What a shared search says, and its executions.
fn shared<P: Program + Send + Sync>(
    program: &P,
    algorithm: Algorithm,
    options: &Options,
    workers: usize,
    ends_at: Option<u64>,
) -> Result<(Summary, Vec<u64>), String> {
    let all = std::sync::Mutex::new(Vec::new());
    let lock = || all.lock().expect("nobody panics with it");
    let jobs = Jobs {
        workers,
        monitor: &|| Executions { all: Vec::new(), ends_at },
        collect: &mut |part: Executions| lock().extend(part.all),
        begin_again: &mut || lock().clear(),
        watch: &mut |_, _| ControlFlow::Continue(()),
    };
    let summary = explore_jobs(program, algorithm, options, jobs).ok_or("it can't be shared")?;
    Ok((summary, all.into_inner().expect("nobody panics with it")))
}

/// The laws for one algorithm. The seed draws how the search is cut.
pub(crate) fn obeys<P: Program + Send + Sync>(
    program: &P,
    algorithm: Algorithm,
    options: &Options,
    seed: u64,
) -> Result<(), String> {
    // A search with a limit of executions is not cut, and programs are small.
    let limits = Limits { executions: None, ..options.limits };
    let mut options = Options { items: SIZES[(seed % 4) as usize], limits, ..*options };
    // Walks have no end of their own, so there are some parts of them.
    if algorithm == Algorithm::Random {
        options.limits.executions = Some(5 * options.items.first + 1);
    }
    for ends_at in [None, Some(7)] {
        let mut first = None;
        for workers in WORKERS {
            let found = shared(program, algorithm, &options, workers, ends_at)?;
            let known = first.get_or_insert_with(|| found.clone());
            if found != *known {
                let (found, known) = (&found.0, &known.0);
                return Err(format!(
                    "by {workers} workers {found:?}, and not {known:?} (ends at {ends_at:?})"
                ));
            }
        }
        let Some((summary, all)) = first else { continue };
        is_the_whole(program, algorithm, &options, ends_at, &summary, &all)?;
    }
    Ok(())
}

/// A search that is cut has the executions of one that is not.
fn is_the_whole<P: Program>(
    program: &P,
    algorithm: Algorithm,
    options: &Options,
    ends_at: Option<u64>,
    cut: &Summary,
    all: &[u64],
) -> Result<(), String> {
    // Which order of a class is run, and which execution is the first of some kind, depends on how one came to it.
    let has_order = matches!(algorithm, Algorithm::WakeUp | Algorithm::Random);
    if !has_order && ends_at.is_some() {
        return Ok(());
    }
    let mut whole = Executions { all: Vec::new(), ends_at };
    let summary = explore(program, algorithm, options, &mut whole);
    if (summary.not_exhaustive.as_ref(), &summary.broken) != (cut.not_exhaustive.as_ref(), &cut.broken) {
        return Err(format!("cut into parts it says {cut:?}, and not {summary:?}"));
    }
    let sorted = |executions: &[u64]| {
        let mut sorted = executions.to_vec();
        sorted.sort_unstable();
        sorted
    };
    let is_whole = match algorithm {
        Algorithm::ReadsFrom => summary.counts.complete == cut.counts.complete,
        Algorithm::Naive => sorted(&whole.all) == sorted(all),
        _ => whole.all == all,
    };
    match is_whole {
        true => Ok(()),
        false => Err(format!("cut into parts it has {} executions, and not {}", all.len(), whole.all.len())),
    }
}

/// The laws for an algorithm that is drawn.
pub(crate) fn one_obeys<P: Program + Send + Sync>(
    program: &P,
    truth: &Truth,
    options: &Options,
    seed: u64,
) -> (Algorithm, Order, Result<(), String>) {
    let algorithm = SHARED[(seed / 4 % 4) as usize];
    let order = if (seed / 16).is_multiple_of(2) { Order::Natural } else { Order::Shuffled(seed) };
    let options = Options { order, ..*options };
    let found = match algorithm {
        Algorithm::ReadsFrom => reads_from_obeys(program, truth, &options, seed),
        _ => obeys(program, algorithm, &options, seed),
    };
    (algorithm, order, found)
}

/// The laws for `reads-from`, and those that hold when it is not shared.
pub(crate) fn reads_from_obeys<P: Program + Send + Sync>(
    program: &P,
    truth: &Truth,
    options: &Options,
    seed: u64,
) -> Result<(), String> {
    let limits = Limits { executions: None, ..options.limits };
    let shared = Options { items: SIZES[(seed % 4) as usize], limits, ..*options };
    obeys(program, Algorithm::ReadsFrom, options, seed)?;
    reads_from::obeys_shared(program, truth, &shared).map_err(|law| format!("by two workers: {law}"))
}

#[cfg(test)]
mod tests {
    use mazurka_explore::NoMonitor;

    use super::*;

    #[test]
    fn those_can_be_shared_that_are_said_to_be() {
        for algorithm in Algorithm::ALL {
            assert_eq!(algorithm.can_be_shared(), SHARED.contains(&algorithm), "{algorithm}");
        }
        let program = crate::corpus::seeds().swap_remove(0).ast;
        let program = crate::laws::compiled(&program, crate::Build::default()).expect("it compiles");
        let jobs = Jobs {
            workers: 2,
            monitor: &|| NoMonitor,
            collect: &mut |_| (),
            begin_again: &mut || (),
            watch: &mut |_, _| ControlFlow::Continue(()),
        };
        assert_eq!(explore_jobs(&program, Algorithm::Optimal, &Options::default(), jobs), None);
    }

    /// Which of two children comes first is no matter of what the search has met before.
    #[test]
    fn the_order_of_children_is_missed() {
        let seeds = crate::corpus::seeds();
        let program =
            &seeds.iter().find(|seed| seed.name == "receive_twice").expect("it is in the corpus").ast;
        let program = crate::laws::compiled(program, crate::Build::default()).expect("it compiles");
        let mut options = Options { order: Order::Shuffled(31_653_904_419), ..Options::default() };
        let holds = |options| (0..4).all(|cut| obeys(&program, Algorithm::WakeUp, &options, cut).is_ok());
        assert!(holds(options));
        options.rules.wake_up.order_of_children = false;
        assert!(!holds(options));
    }
}
