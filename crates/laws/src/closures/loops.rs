//! Programs that may run for ever, acted out by a closure, against all states that the program can reach.
//!
//! 1. What shared variables hold where complete executions of the closure end, its deadlocks with who waits, and
//!    what fails are exactly those of the program.
//! 2. It tells a livelock exactly if the program has one.
//! 3. The search ends, and says that it looked at everything. It blocks nothing.
//! 4. The executions, complete and stopped, do not depend on the order of choices.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use mazurka_explore::{
    Algorithm, Counts, Ending, Limits, Monitor, NotExhaustive, Options, Order, Stopped, StoppedBy, explore,
};
use mazurka_litmus::ast::Ast;
use mazurka_litmus::{Source, compile};
use mazurka_oracle::{Livelock, Reachable, TooMuch, deadlock, reachable};
use mazurka_program::{FailureKind, Run, State};
use mazurka_trace::Trace;

use super::program::{ClosureProgram, MainThread, Shape};
use super::{blocks, joins, lowering, rewrite};
use crate::behaviour::failure_name;
use crate::campaign::{Broken, Checked, FuzzTarget, NOT_A_PROGRAM, Outcome};
use crate::corpus::Seed;
use crate::laws::same;
use crate::loops::every_poll_a_step;
use crate::random::Random;
use crate::{cyclic, maz};

/// Programs with more states are left out.
const MOST_STATES: usize = 1_500;

/// Programs whose closures have more executions than this, or longer ones, are left out.
const LIMITS: Limits =
    Limits { executions: Some(250), time: None, memory: None, depth: 250, unroll: MOST_UNROLLED };

/// No process comes so often to one place: a search that lets it does not end.
const MOST_UNROLLED: usize = 150;

/// Random programs with loops as closures, half of them mutants.
#[derive(Debug)]
pub struct LoopClosures {
    /// What mutants are made of.
    pub corpus: Vec<Seed>,
    tally: Tally,
}

/// What the programs were on which all laws hold.
#[derive(Debug, Default)]
struct Tally {
    livelocks: AtomicU64,
    deadlocks: AtomicU64,
    stopped: AtomicU64,
    joint: AtomicU64,
}

impl LoopClosures {
    /// Programs of which some are mutants of these.
    pub fn of(corpus: Vec<Seed>) -> LoopClosures {
        LoopClosures { corpus, tally: Tally::default() }
    }
}

impl FuzzTarget for LoopClosures {
    type Program = Ast;
    const CLEAN: &'static str = "nothing wrong";
    const BROKEN: &'static str = "WRONG in program";

    fn draw(&self, index: u64, random: &mut Random) -> (Ast, bool) {
        let (ast, mutant) = maz::draw(index, random, &self.corpus, cyclic::program);
        let mut ast = joins::arrange(&rewrite::rewrite(&ast, random));
        if random.one_in(3) {
            blocks::add(&mut ast, random);
        }
        (ast, mutant)
    }

    fn check(&self, ast: &Ast, seed: u64) -> Checked {
        match check(ast, seed) {
            Err(checked) => checked,
            Ok((truth, counts, joint)) => {
                let count = |tally: &AtomicU64, number: u64| _ = tally.fetch_add(number, Relaxed);
                count(&self.tally.livelocks, u64::from(truth.livelock == Livelock::Yes));
                count(&self.tally.deadlocks, u64::from(!truth.deadlocks.is_empty()));
                count(&self.tally.stopped, counts.stopped);
                count(&self.tally.joint, u64::from(joint));
                Checked::Holds(counts.complete as usize)
            }
        }
    }

    fn corpus(&self) -> Option<String> {
        Some(format!("corpus of {} programs with loops", self.corpus.len()))
    }

    fn summary(&self, outcome: &Outcome<Ast>) -> String {
        let Outcome { held, mutants, classes, .. } = outcome;
        let Tally { livelocks, deadlocks, stopped, joint } = &self.tally;
        let [livelocks, deadlocks, stopped, joint] =
            [livelocks, deadlocks, stopped, joint].map(|count| count.load(Relaxed));
        format!(
            "{held} programs with cycles ({mutants} mutants of the corpus) as closures in {:.1} s, in {ORDERS} \
             orders: {classes} complete and {stopped} stopped executions; {joint} have joint rounds, {livelocks} \
             can livelock, {deadlocks} deadlock{}",
            outcome.time.as_secs_f64(),
            outcome.unfit_lines("left out")
        )
    }

    fn options(&self) -> String {
        " --loop-closures".to_owned()
    }
}

/// In how many orders each is searched.
const ORDERS: u64 = 3;

/// Checks everything on a program that was prepared. What it can reach, what the search counted, and whether there
/// were joint rounds.
fn check(ast: &Ast, seed: u64) -> Result<(Reachable, Counts, bool), Checked> {
    let litmus = compile(ast, &Source::default(), &[]).map_err(|_| Checked::Unfit(NOT_A_PROGRAM))?;
    let plan = lowering::plan(ast).map_err(Checked::Unfit)?;
    if plan.roots.is_empty() || plan.mailboxes {
        return Err(Checked::Unfit("no process, or mailboxes"));
    }
    let truth = match reachable(&every_poll_a_step(&litmus), MOST_STATES) {
        Ok(truth) if truth.cyclic => truth,
        Ok(_) => return Err(Checked::Unfit("having no cycle")),
        Err(TooMuch::States) => return Err(Checked::Unfit("too many states")),
        Err(_) => return Err(Checked::TooLarge),
    };
    if truth.failures.iter().any(|(kind, _)| *kind == FailureKind::Hang) {
        return Err(Checked::Unfit("an endless local loop"));
    }
    let mut shape = Shape { panics: false, ..Shape::random(&plan, &mut Random::new(seed ^ 0x5AFE)) };
    if shape.main == MainThread::Looks {
        shape.main = MainThread::Leaves;
    }
    let closure = ClosureProgram::with_loops(plan, shape);
    let (mut first, mut joint): (Option<Counts>, _) = (None, false);
    for number in 0..ORDERS {
        let order = match number {
            0 => Order::Natural,
            _ => Order::Shuffled(seed.wrapping_mul(2 * number + 41) | 1),
        };
        let broken =
            |law: String| Checked::Breaks(Broken::by(Algorithm::Optimal, order)(format!("{shape:?}: {law}")));
        let found = search(&closure, order);
        let errors = closure.errors();
        if let Some(why) = errors.unfit {
            return Err(Checked::Unfit(why));
        }
        if let Some(wrong) = errors.wrong {
            return Err(broken(wrong));
        }
        let found = match found {
            Err(Fault::Undecided) => return Err(Checked::Unfit("livelocks that were not found out")),
            Err(Fault::Law(why)) => return Err(broken(format!("{why} ({:?})", errors.stop))),
            Ok(found) => found,
        };
        let (counts, seen) = match (found, first) {
            (Some(found), _) => found,
            (None, None) => return Err(Checked::Unfit("too many executions, or too long ones")),
            (None, Some(_)) => return Err(broken("more executions than in another order".to_owned())),
        };
        seen.equals(&truth).map_err(broken)?;
        let told = |counts: &Counts| (counts.complete, counts.stopped, counts.assumed);
        let expected = told(first.get_or_insert(counts));
        if told(&counts) != expected {
            let numbers = format!("{:?}, in another order {expected:?}", told(&counts));
            return Err(broken(format!("complete, stopped and assumed executions {numbers}")));
        }
        joint |= seen.joint;
    }
    first.map(|counts| (truth, counts, joint)).ok_or(Checked::TooLarge)
}

/// Why a search shows nothing.
enum Fault {
    /// Too many states had to be looked at, to see whether it is a livelock.
    Undecided,
    /// It breaks a law.
    Law(String),
}

/// Searches in an order; what that shows, or none if it is too much.
fn search(closure: &ClosureProgram, order: Order) -> Result<Option<(Counts, Seen)>, Fault> {
    let options = Options { order, limits: LIMITS, ..Options::default() };
    let process = |path: &[u32]| closure.shape().process(closure.plan(), path);
    let mut monitor = Watcher { seen: Seen::default(), process: &process };
    let summary = explore(closure, Algorithm::Optimal, &options, &mut monitor);
    if let Some(failure) = summary.broken {
        return Err(Fault::Law(format!("broken: {}", failure.message)));
    }
    let blocked = summary.counts.blocked;
    match summary.not_exhaustive {
        None if blocked > 0 => Err(Fault::Law(format!("{blocked} blocked executions"))),
        None => Ok(Some((summary.counts, monitor.seen))),
        Some(NotExhaustive::Executions(_) | NotExhaustive::Depth(_)) => Ok(None),
        Some(NotExhaustive::Undecided) => Err(Fault::Undecided),
        Some(reason) => Err(Fault::Law(format!("not exhaustive: {reason}"))),
    }
}

/// Who waits, and what shared variables hold.
type Waiting = (Vec<Vec<u32>>, Vec<i64>);

/// What a search has shown.
#[derive(Default)]
struct Seen {
    ends: BTreeSet<Vec<i64>>,
    deadlocks: BTreeSet<Waiting>,
    failures: BTreeSet<String>,
    livelock: bool,
    joint: bool,
}

impl Seen {
    /// Laws 1 and 2.
    fn equals(&self, truth: &Reachable) -> Result<(), String> {
        let shared = |state: &State| state.shared.clone();
        let ends = truth.ends.iter().map(shared).collect();
        let told = |law| format!("{law}: {:?}, not {ends:?}", self.ends);
        same("final values", &self.ends, &ends).map_err(told)?;
        let waiting = |(who, state): &(Vec<_>, Option<State>)| {
            (who.clone(), state.as_ref().map(shared).unwrap_or_default())
        };
        let deadlocks = truth.deadlocks.iter().map(waiting).collect();
        same("deadlocks", &self.deadlocks, &deadlocks)?;
        let failures = truth.failures.iter().map(|(kind, message)| failure_name(*kind, message)).collect();
        same("failures", &self.failures, &failures)?;
        match (self.livelock, truth.livelock) {
            (true, Livelock::No) => Err("a livelock is told, and there is none".to_owned()),
            (false, Livelock::Yes) => Err("a livelock is missed".to_owned()),
            _ => Ok(()),
        }
    }
}

struct Watcher<'a> {
    seen: Seen,
    process: &'a dyn Fn(&[u32]) -> Option<Vec<u32>>,
}

impl<R: Run> Monitor<R> for Watcher<'_> {
    fn execution(&mut self, ending: Ending, _: &Trace, run: &R, _: &Counts) -> ControlFlow<()> {
        let seen = &mut self.seen;
        let mut spins = false;
        for failure in run.failures() {
            match failure.kind {
                FailureKind::Livelock => spins = true,
                kind => _ = seen.failures.insert(failure_name(kind, &failure.message)),
            }
        }
        match ending {
            // Who only reads waits, and goes round for ever all the same.
            Ending::Complete { .. } if spins => seen.livelock = true,
            Ending::Complete { .. } => {
                seen.ends.extend(run.states().map(|states| states.state().shared));
                if let Some((paths, state)) = deadlock(run) {
                    let mut who: Vec<_> = paths.iter().filter_map(|path| (self.process)(path)).collect();
                    who.sort();
                    seen.deadlocks.insert((who, state.map(|state| state.shared).unwrap_or_default()));
                }
            }
            Ending::Stopped { livelock } => seen.livelock |= livelock,
            Ending::Assumed | Ending::Blocked | Ending::Cut => {}
        }
        ControlFlow::Continue(())
    }

    fn stopped(&mut self, stopped: &[Stopped]) {
        self.seen.joint |= stopped.iter().any(|one| matches!(one.by, StoppedBy::JointRound(_)));
    }

    fn begin_again(&mut self) {
        self.seen = Seen::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Campaign;
    use crate::corpus;

    #[test]
    fn a_few_programs_do_as_closures_what_they_do() {
        let target = LoopClosures::of(corpus::seeds_in("loops"));
        let campaign = Campaign { seed: 400, first: 0, programs: 25, time: None, threads: 1 };
        let outcome = campaign.run(&target);
        assert!(outcome.found.is_none(), "{}", target.summary(&outcome));
        assert!(outcome.held > 10, "{}", target.summary(&outcome));
    }

    #[test]
    fn other_ends_and_livelocks_are_noticed() {
        let truth =
            Reachable { ends: [State { shared: vec![1], local: Vec::new() }].into(), ..Reachable::default() };
        let seen = |ends: &[i64], livelock| Seen {
            ends: ends.iter().map(|&end| vec![end]).collect(),
            livelock,
            ..Seen::default()
        };
        assert_eq!(seen(&[1], false).equals(&truth), Ok(()));
        for wrong in [seen(&[], false), seen(&[1, 2], false), seen(&[1], true)] {
            assert!(wrong.equals(&truth).is_err());
        }
        let truth = Reachable { livelock: Livelock::Yes, ..truth };
        assert!(seen(&[1], false).equals(&truth).is_err());
    }
}
