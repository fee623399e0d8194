//! Whether an execution `P` is the parent of a candidate: `parent(y'.g'.Default) = P`, by the definition.
//!
//! `y'` are the events of `P` up to a cut that do not happen after the event `i`, so all that is asked is
//! asked of configurations of `P`'s own events: who can go on there, and what would a step touch. Mostly `P`
//! itself knows. A step whose past is in the configuration is the one that `P` took; one that does not vary
//! touches the same anywhere; a guard holds if it held before the next of its writers. Where `P` does not
//! know, the candidate is undecided, and examined again with the run at hand ([`Examination::by_run`]); the
//! run then follows the configuration as far as it is asked.

use mazurka_program::{Access, Guard, Label, ProcessId, ProcessSet, Run, Stop};
use mazurka_trace::dependence::dependent;
use mazurka_trace::{HappensBefore, Trace};

use crate::Ending;
use crate::walk::Walk;

use super::Repairs;
use super::known::Configuration;
use super::rank::{Rank, Ranks};
use super::sleepers::{Asleep, Sleepers};
use super::stack::Step;

/// Where `y'` may end.
#[derive(Clone, Copy, Debug)]
pub(super) enum Cuts {
    /// Before the event at a position.
    At(usize),
    /// Anywhere behind a position.
    From(usize),
}

/// That the step of a process may come instead of the event at `i`, which then sleeps.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub i: usize,
    pub process: ProcessId,
    /// The step as the execution has it; none if its process waits at the end, or varies and is disabled by
    /// the event at `i`.
    pub second: Option<usize>,
    pub cuts: Cuts,
}

/// A child: `y'` are the events before `cut` that do not happen after `i`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Child {
    pub i: usize,
    pub cut: usize,
    pub g: Step,
}

/// Why there is no answer.
enum Doubt {
    /// The run has to be asked.
    Undecided,
    /// The run can't go on.
    Stopped(Stop),
}

impl From<Stop> for Doubt {
    fn from(stop: Stop) -> Doubt {
        Doubt::Stopped(stop)
    }
}

type Answer<T> = Result<T, Doubt>;

/// What is known of the execution as a whole, and buffers.
#[derive(Default)]
pub(super) struct Examiner {
    /// The processes that take part, those first that come first where ranks are natural.
    processes: Vec<ProcessId>,
    pub(super) waiting: Vec<(ProcessId, Option<Guard>)>,
    pub(super) stopped: Vec<ProcessId>,
    room: usize,
    pub(super) is_cut: bool,
    /// From here on the execution always takes the least event.
    pub(super) settled: usize,
    /// An event that is in every candidate's parent before that takes least events only.
    pub(super) waker: Option<usize>,
    asleep: Vec<Asleep>,
    noted: Vec<Access>,
    /// What comes before the event that was looked at last: the next one is not far from it.
    prefix: Configuration,
    pub(super) y: Configuration,
    pub(super) parent: Configuration,
    path: Vec<Step>,
    done: Vec<bool>,
    label: Label,
}

impl Examiner {
    /// An execution with candidates is to be examined.
    pub fn begin(&mut self, walk: &Walk<'_>, ranks: &Ranks, ending: Ending) {
        let names = walk.run.names().len();
        self.room = names.max(walk.trace.width());
        self.prefix.make_all(&walk.trace, self.room);
        self.is_cut = ending == Ending::Cut;
        self.waiting.clear();
        walk.run.waiting(&mut |process, guard| self.waiting.push((process, guard)));
        self.stopped.clear();
        self.stopped.extend(walk.stops.all().iter().map(|stopped| stopped.process));
        self.processes.clear();
        for process in (0..self.room as u32).map(ProcessId) {
            let waits = self.waiting.iter().any(|waiting| waiting.0 == process);
            let has_events = !walk.trace.positions(process).is_empty();
            // Of an execution that was cut it is not known who would have gone on.
            if waits || has_events || self.is_cut {
                self.processes.push(process);
            }
        }
        self.processes.sort_unstable_by_key(|&process| ranks.place(process));
    }

    pub fn examination<'e>(
        &'e mut self,
        walk: &'e mut Walk<'_>,
        ranks: &'e Ranks,
        sleepers: &'e Sleepers,
        by_run: bool,
    ) -> Examination<'e> {
        let rules = walk.options.rules.wake_up;
        let (trace, order, aside) = walk.aside();
        Examination { known: self, trace, order, run: aside.run, ranks, sleepers, rules, by_run, followed: 0 }
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        self.asleep.capacity() * size_of::<Asleep>()
            + self.noted.capacity() * size_of::<Access>()
            + self.path.capacity() * size_of::<Step>()
    }
}

/// The examination of the candidates of one event `i`.
pub(super) struct Examination<'e> {
    pub(super) known: &'e mut Examiner,
    pub(super) trace: &'e Trace,
    pub(super) order: &'e HappensBefore,
    /// The run: at the end of the execution, and asked for guards only; or, `by_run`, behind the first `i`
    /// events and the first `followed` steps of the path.
    pub(super) run: &'e mut dyn Run,
    pub(super) ranks: &'e Ranks,
    sleepers: &'e Sleepers,
    rules: Repairs,
    pub(super) by_run: bool,
    followed: usize,
}

/// The step that a candidate has instead of the event at `i`.
#[derive(Clone, Copy)]
struct Waker {
    step: Step,
    rank: Rank,
    accesses: (u32, u32),
    guard: Option<Guard>,
    varies: bool,
    outcomes: u32,
}

impl Examination<'_> {
    /// Adds those candidates whose parent the execution is to the children; those of which that is not known
    /// without the run are undecided.
    ///
    /// # Errors
    /// If the run had to be asked, and can't go on.
    pub fn examine(
        &mut self,
        group: &[Candidate],
        children: &mut Vec<Child>,
        undecided: &mut Vec<Candidate>,
    ) -> Result<(), Stop> {
        let i = group[0].i;
        self.known.done.clear();
        self.known.done.resize(group.len(), false);
        self.begin(i);
        let mut rest = self.order.unordered(i, i + 1);
        let mut last = i;
        loop {
            let next = rest.next();
            let cut = next.unwrap_or(usize::MAX);
            for (at, candidate) in group.iter().enumerate() {
                let (Cuts::At(start) | Cuts::From(start)) = candidate.cuts;
                if self.known.done[at] || cut <= start {
                    continue;
                }
                self.known.done[at] = matches!(candidate.cuts, Cuts::At(_));
                match self.try_cut(candidate, cut, children) {
                    Ok(()) => {}
                    Err(Doubt::Stopped(stop)) => return Err(stop),
                    Err(Doubt::Undecided) => {
                        self.known.done[at] = true;
                        undecided.push(later(*candidate, last));
                    }
                }
            }
            let Some(next) = next.filter(|_| self.known.done.contains(&false)) else { return Ok(()) };
            match self.include(next) {
                Ok(()) => last = next,
                Err(Doubt::Stopped(stop)) => return Err(stop),
                Err(Doubt::Undecided) => {
                    let left = group.iter().zip(&self.known.done).filter(|(_, done)| !**done);
                    undecided.extend(left.map(|(candidate, _)| later(*candidate, next)));
                    return Ok(());
                }
            }
        }
    }

    /// Before the event at `i` everything is as it was in the execution.
    fn begin(&mut self, i: usize) {
        let Examiner { y, prefix, asleep, noted, path, .. } = &mut *self.known;
        prefix.move_prefix(self.trace, i);
        y.copy_from(prefix);
        path.clear();
        asleep.clear();
        noted.clear();
        for (sleeper, accesses) in self.sleepers.at(i) {
            let rank = self.ranks.rank(sleeper.process, sleeper.index, sleeper.choice);
            let accesses = note(noted, accesses);
            asleep.push(Asleep { process: sleeper.process, choice: sleeper.choice, rank, accesses });
        }
    }

    /// Takes the next event of `y'`: what is smaller falls asleep, what depends on it wakes.
    fn include(&mut self, d: usize) -> Answer<()> {
        let step = (self.trace.process(d), self.trace.choice(d));
        let rank = self.ranks.rank(step.0, self.trace.index(d) - 1, step.1);
        self.fall_asleep(rank, step.0)?;
        let Examiner { asleep, noted, y, path, .. } = &mut *self.known;
        let accesses = self.trace.accesses(d);
        asleep.retain(|sleeper| {
            sleeper.process != step.0 && !dependent(slice(noted, sleeper.accesses), accesses)
        });
        y.take(self.trace, d);
        path.push(step);
        Ok(())
    }

    /// Puts to sleep what is enabled at `y'` with a rank smaller than this, but for one process.
    fn fall_asleep(&mut self, rank: Rank, except: ProcessId) -> Answer<()> {
        let sleeping: ProcessSet = self.known.asleep.iter().map(|sleeper| sleeper.process).collect();
        for at in 0..self.known.processes.len() {
            let process = self.known.processes[at];
            if process == except {
                continue;
            }
            let index = self.known.y.taken[process.index()];
            if self.is_at_end(process, index)
                || self.ranks.is_behind(process, index, rank)
                || sleeping.contains(process) && self.has_one_outcome(process, index)
            {
                continue;
            }
            let outcomes = self.enabled(false, process)?;
            let mut accesses = None;
            for choice in 0..outcomes {
                let own = self.ranks.rank(process, index, choice);
                let same = |s: &Asleep| (s.process, s.choice) == (process, choice);
                if own >= rank || self.known.asleep.iter().any(same) {
                    continue;
                }
                let accesses = match accesses {
                    Some(accesses) => accesses,
                    None => *accesses.insert(self.would_touch(process, choice)?),
                };
                self.known.asleep.push(Asleep { process, choice, rank: own, accesses });
            }
        }
        Ok(())
    }

    /// Whether a process has taken all its steps, and it is seen at once that it can't take another.
    fn is_at_end(&self, process: ProcessId, index: u32) -> bool {
        let Examiner { waiting, is_cut, .. } = &*self.known;
        waiting.is_empty() && !is_cut && self.trace.positions(process).len() == index as usize
    }

    /// Whether the step of a process is known to have one outcome, wherever it is.
    fn has_one_outcome(&self, process: ProcessId, index: u32) -> bool {
        let event = self.trace.positions(process).get(index as usize).map(|&event| event as usize);
        event.is_some_and(|event| self.trace.alternatives(event) == 1 && !self.trace.varies(event))
    }

    /// Tries the steps that a candidate has at `y'`.
    fn try_cut(&mut self, candidate: &Candidate, cut: usize, children: &mut Vec<Child>) -> Answer<()> {
        let (trace, process, i) = (self.trace, candidate.process, candidate.i);
        let index = self.known.y.taken[process.index()];
        let kept = self.known.noted.len();
        let own = process == trace.process(i);
        let known = candidate.second.filter(|&j| own || !trace.varies(j) || !self.rules.run_varying);
        let (outcomes, mut waker) = match known {
            Some(j) => {
                let accesses = note(&mut self.known.noted, trace.accesses(j));
                let guard = trace.guard(j);
                (trace.alternatives(j), (accesses, guard, trace.varies(j) && own))
            }
            None if !self.by_run => return Err(Doubt::Undecided),
            None => (self.enabled(false, process)?, ((0, 0), None, true)),
        };
        for choice in 0..outcomes {
            // Before the cut at its event a step has only outcomes that the execution's has not: their ranks
            // are others.
            let early = known.is_none()
                && candidate.second.is_some_and(|j| cut <= j && choice < trace.alternatives(j));
            if early || own && choice == trace.choice(i) {
                continue;
            }
            if known.is_none() {
                self.follow()?;
                self.run.pending(process, choice, &mut self.known.label)?;
                let Label { accesses, guard, varies, .. } = &self.known.label;
                waker = (note(&mut self.known.noted, accesses), *guard, *varies);
            }
            let (accesses, guard, varies) = waker;
            let rank = self.ranks.rank(process, index, choice);
            let waker = Waker { step: (process, choice), rank, accesses, guard, varies, outcomes };
            if self.is_parent_of(i, &waker)? {
                children.push(Child { i, cut, g: waker.step });
            }
        }
        self.known.noted.truncate(kept);
        Ok(())
    }

    /// Whether the execution is the parent of `y'.g'.Default`.
    fn is_parent_of(&mut self, i: usize, g: &Waker) -> Answer<bool> {
        let (asleep, noted) = (self.known.asleep.len(), self.known.noted.len());
        let is_canonical = self.sleeps_and_is_canonical(i, g);
        self.known.asleep.truncate(asleep);
        self.known.noted.truncate(noted);
        if !is_canonical? {
            return Ok(false);
        }
        let steps = self.known.path.len();
        let leads_here = self.leads_here(i, g);
        self.known.path.truncate(steps);
        if self.followed > steps {
            self.run.rewind(i + steps);
            self.followed = steps;
        }
        leads_here
    }

    /// Whether `g'` is not asleep at `y'` and wakes all who are, and the event at `i` is the canonical one of
    /// them.
    fn sleeps_and_is_canonical(&mut self, i: usize, g: &Waker) -> Answer<bool> {
        let trace = self.trace;
        let f = (trace.process(i), trace.choice(i));
        let (process, choice) = g.step;
        let Examiner { asleep, noted, .. } = &mut *self.known;
        let is_f = |s: &Asleep| (s.process, s.choice) == f;
        let meets = |noted: &[Access], s: &Asleep| {
            s.process == process || dependent(slice(noted, s.accesses), slice(noted, g.accesses))
        };
        if asleep.iter().any(|s| (s.process, s.choice) == g.step || !meets(noted, s)) {
            return Ok(false);
        }
        let rank = self.ranks.rank(f.0, trace.index(i) - 1, f.1);
        if rank > g.rank && !asleep.iter().any(is_f) {
            return Ok(false);
        }
        let before = asleep.len();
        let index = self.known.y.taken[process.index()];
        for other in (0..g.outcomes).filter(|&other| other != choice) {
            let rank = self.ranks.rank(process, index, other);
            let same = |s: &Asleep| (s.process, s.choice) == (process, other);
            if rank < g.rank && !self.known.asleep.iter().any(same) {
                self.known.asleep.push(Asleep { process, choice: other, rank, accesses: g.accesses });
            }
        }
        self.fall_asleep(g.rank, process)?;
        let Examiner { asleep, noted, .. } = &*self.known;
        if !asleep[before..].iter().all(|s| meets(noted, s)) || !asleep.iter().any(is_f) {
            return Ok(false);
        }
        Ok(self.canonical(g)? == Some(f))
    }

    /// The canonical one of those who sleep.
    fn canonical(&mut self, g: &Waker) -> Answer<Option<Step>> {
        let writes_guard = |noted: &[Access], s: &Asleep| {
            g.guard.is_some_and(|guard| {
                let overlaps =
                    |a: &Access| !a.kind.is_read() && a.overlaps(Access::one(guard.location, a.kind));
                slice(noted, s.accesses).iter().any(overlaps)
            })
        };
        let mut behind = None;
        while let Some(at) = self.next_asleep(behind) {
            let Examiner { asleep, noted, .. } = &*self.known;
            let sleeper = asleep[at];
            behind = Some(sleeper.rank);
            if sleeper.process == g.step.0 || (writes_guard(noted, &sleeper) && self.rules.guard_writers_last)
            {
                continue;
            }
            if !g.varies || !self.rules.hides_nobody || !self.by_run || !self.hides_somebody(at, g)? {
                return Ok(Some((sleeper.process, sleeper.choice)));
            }
        }
        let asleep = &self.known.asleep;
        let least =
            |own: bool| asleep.iter().filter(|s| !own || s.process == g.step.0).min_by_key(|s| s.rank);
        Ok(least(true).or(least(false)).map(|s| (s.process, s.choice)))
    }

    /// The least of those who sleep whose rank is greater than this.
    fn next_asleep(&self, behind: Option<Rank>) -> Option<usize> {
        let asleep = &self.known.asleep;
        (0..asleep.len()).filter(|&at| behind < Some(asleep[at].rank)).min_by_key(|&at| asleep[at].rank)
    }

    /// Whether `g`, behind a sleeper, no longer meets some other sleeper.
    fn hides_somebody(&mut self, at: usize, g: &Waker) -> Answer<bool> {
        self.follow()?;
        let (depth, x) = (self.run.depth(), self.known.asleep[at]);
        self.run.step(x.process, x.choice, &mut self.known.label)?;
        let process = g.step.0;
        let mut hides = true;
        if self.run.enabled().contains(process) {
            let index = self.known.y.taken[process.index()];
            let choice = self.possible(g, index, self.run.alternatives(process));
            self.run.pending(process, choice, &mut self.known.label)?;
            let Examiner { asleep, noted, label, .. } = &*self.known;
            let meets = |s: &Asleep| {
                s.process == process
                    || s.process == x.process
                    || dependent(slice(noted, s.accesses), &label.accesses)
            };
            hides = !asleep.iter().all(meets);
        }
        self.run.rewind(depth);
        Ok(hides)
    }

    /// The outcome that `g` has where its step has so many; the least if its own is not there.
    fn possible(&self, g: &Waker, index: u32, outcomes: u32) -> u32 {
        let (process, choice) = g.step;
        if choice < outcomes { choice } else { self.ranks.least(process, index, || outcomes).1 }
    }

    /// Whether `f`, then `g` if it is possible, then least events only, lead from `y'` to the execution.
    fn leads_here(&mut self, i: usize, g: &Waker) -> Answer<bool> {
        let Examiner { y, parent, .. } = &mut *self.known;
        parent.copy_from(y);
        self.take(i);
        let process = g.step.0;
        if process != self.trace.process(i) {
            let outcomes = self.enabled(true, process)?;
            if outcomes > 0 && (g.step.1 < outcomes || self.rules.least_outcome) {
                let index = self.known.parent.taken[process.index()];
                let choice = self.possible(g, index, outcomes);
                match self.ready(process) {
                    Some(event) if self.trace.choice(event) == choice => self.take(event),
                    _ => return Ok(false),
                }
            }
        }
        if self.known.waker.is_some_and(|waker| !self.known.parent.contains(self.trace, waker)) {
            return Ok(false);
        }
        self.rest_is_default()
    }

    /// Takes an event of the execution behind the parent's configuration.
    fn take(&mut self, event: usize) {
        self.known.parent.take(self.trace, event);
        self.known.path.push((self.trace.process(event), self.trace.choice(event)));
    }

    /// The next event that the execution has of a process, if all that happens before it is in the parent's
    /// configuration.
    fn ready(&self, process: ProcessId) -> Option<usize> {
        let taken = &self.known.parent.taken;
        let &event = self.trace.positions(process).get(taken[process.index()] as usize)?;
        self.order.past_is_within(event as usize, taken).then_some(event as usize)
    }

    /// Whether least events lead from the parent's configuration to the execution.
    fn rest_is_default(&mut self) -> Answer<bool> {
        loop {
            let Examiner { parent, settled, .. } = &*self.known;
            if parent.is_prefix() && parent.len >= *settled {
                return Ok(true);
            }
            match self.least()? {
                Some(Some(event)) => self.take(event),
                // Behind the end of what was cut off nothing is known.
                Some(None) => return Ok(self.known.is_cut && self.nobody_is_ready()),
                None => return Ok(self.known.parent.len == self.trace.len()),
            }
        }
    }

    /// The least step that can be taken behind the parent's configuration, and the execution's event if it is
    /// one; none if there is no step.
    fn least(&mut self) -> Answer<Option<Option<usize>>> {
        let mut least: Option<(Rank, Option<usize>)> = None;
        for at in 0..self.known.processes.len() {
            let process = self.known.processes[at];
            let index = self.known.parent.taken[process.index()];
            if self.is_at_end(process, index)
                || least.is_some_and(|(least, _)| self.ranks.is_behind(process, index, least))
            {
                continue;
            }
            let event = self.ready(process);
            let outcomes = match event {
                Some(event) => self.trace.alternatives(event),
                None if self.rules.others_go_on => self.enabled(true, process)?,
                None => 0,
            };
            if outcomes > 0 {
                let (rank, choice) = self.ranks.least(process, index, || outcomes);
                if least.is_none_or(|(least, _)| rank < least) {
                    least = Some((rank, event.filter(|&event| self.trace.choice(event) == choice)));
                }
            }
        }
        Ok(least.map(|(_, event)| event))
    }

    fn nobody_is_ready(&self) -> bool {
        self.known.processes.iter().all(|&process| self.ready(process).is_none())
    }

    /// How many outcomes the step of a process has at `y'`, or at the parent's configuration; none if it
    /// can't be taken.
    fn enabled(&mut self, at_parent: bool, process: ProcessId) -> Answer<u32> {
        if let Some(outcomes) = self.known_outcomes(at_parent, process) {
            return Ok(outcomes);
        }
        if !self.by_run {
            return Err(Doubt::Undecided);
        }
        self.follow()?;
        let is_enabled = self.run.enabled().contains(process);
        Ok(if is_enabled { self.run.alternatives(process) } else { 0 })
    }

    /// What the step of a process would touch at `y'`.
    fn would_touch(&mut self, process: ProcessId, choice: u32) -> Answer<(u32, u32)> {
        let (trace, known) = (self.trace, &mut *self.known);
        let taken = &known.y.taken;
        if let Some(&event) = trace.positions(process).get(taken[process.index()] as usize) {
            let event = event as usize;
            if !trace.varies(event) || self.order.past_is_within(event, taken) {
                return Ok(note(&mut known.noted, trace.accesses(event)));
            }
        }
        if !self.by_run {
            return Err(Doubt::Undecided);
        }
        self.follow()?;
        self.run.pending(process, choice, &mut self.known.label)?;
        Ok(note(&mut self.known.noted, &self.known.label.accesses))
    }

    /// Brings the run to the end of the path.
    fn follow(&mut self) -> Result<(), Stop> {
        while let Some(&(process, choice)) = self.known.path.get(self.followed) {
            self.run.step(process, choice, &mut self.known.label)?;
            self.followed += 1;
        }
        Ok(())
    }
}

/// A candidate of which all is known up to and including the cut before an event.
fn later(candidate: Candidate, last: usize) -> Candidate {
    match candidate.cuts {
        Cuts::At(_) => candidate,
        Cuts::From(start) => Candidate { cuts: Cuts::From(start.max(last)), ..candidate },
    }
}

fn note(noted: &mut Vec<Access>, accesses: &[Access]) -> (u32, u32) {
    let start = noted.len() as u32;
    match accesses {
        // Nearly every step touches one thing.
        [only] => noted.push(*only),
        _ => noted.extend_from_slice(accesses),
    }
    (start, noted.len() as u32)
}

fn slice(noted: &[Access], (from, to): (u32, u32)) -> &[Access] {
    &noted[from as usize..to as usize]
}
