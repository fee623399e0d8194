//! Versions of a step: the same step of the same process after the same past of it, reading from others.
//!
//! What a step touches follows from what it reads. So its locations are told one by one, in the order in which
//! it comes to them: once it is known from whom it reads the first ones, the next is the same in all
//! executions. Where a label may vary, that is found out by taking the step in its place: after its past and
//! nothing else, which can be ordered only so that the step comes last. What was found out is remembered.

use std::collections::HashMap;
use std::rc::Rc;

use mazurka_program::{AccessKind, Label, Location, ProcessId};
use mazurka_trace::Trace;
use smallvec::SmallVec;

use super::consistency::{NONE, TooHard};
use super::locations::overwritten_by;
use super::past::{INITIAL, Identity, Pasts, identity, join};
use super::{ReadsFromSearch, Unfit, count};

/// No step may read more locations than this, nor may there be more versions, whole ones and beginnings, that are
/// tried at the end of one execution.
const MOST_READS: usize = 12;
const MOST_TRIED: usize = 50_000;

/// After so many looks at the clock the memory is looked at: to find out what is kept takes its time.
const BETWEEN_MEMORIES: u64 = 4096;

/// How many labels are remembered.
const MOST_REMEMBERED: usize = 200_000;

/// From whom a step reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    Initial,
    /// The event at a position of the trace.
    At(u32),
    /// The version of another step that is assumed besides.
    New,
}

/// A step that may be taken instead of one of the trace.
#[derive(Clone, Debug)]
pub(super) struct Version {
    pub process: ProcessId,
    pub index: u32,
    pub choice: u32,
    pub reads: Vec<(Location, Source)>,
    pub writes: Vec<Location>,
    pub identity: Identity,
    /// What comes before it: how many steps of each process.
    pub past: Vec<u32>,
}

/// A step of a process in the present execution, whether it was taken or not.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub process: ProcessId,
    pub index: u32,
    /// What comes before it in program order.
    pub before: Option<usize>,
    /// Where it is in the trace, if it was taken.
    pub at: Option<usize>,
    /// What it waits for, if it was not.
    pub guard: Option<Location>,
}

impl Place {
    pub fn new(trace: &Trace, process: ProcessId, index: u32) -> Place {
        let own = trace.positions(process);
        let at = own.get(index as usize - 1).map(|&at| at as usize);
        let before = match (index, at) {
            (1, Some(at)) => trace.before(at),
            (1, None) => trace.previous(process),
            _ => own.get(index as usize - 2).map(|&before| before as usize),
        };
        Place { process, index, before, at, guard: None }
    }
}

/// Locations with those from whom they must be read.
pub(super) type Pinned = SmallVec<[(Location, Source); 2]>;

/// What is asked for: which versions of a step.
#[derive(Clone)]
pub(super) struct Wanted<'a> {
    pub place: Place,
    /// Events that must not be in the past of any source.
    pub without: &'a [(ProcessId, u32)],
    /// Locations that must be read from somebody.
    pub pinned: Pinned,
    /// A version of another step, of which something must be read.
    pub new: Option<&'a Version>,
}

/// What a step does when it reads from certain others, as far as these are known.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    /// What it reads, in the order in which it does.
    reads: Vec<Location>,
    writes: Vec<Location>,
    alternatives: u32,
    /// Whether it would do something else, had it read from others.
    varies: bool,
}

impl Known {
    fn of(label: &Label, alternatives: u32) -> Known {
        let mut known = Known { alternatives, varies: label.varies, ..Known::default() };
        for access in &label.accesses {
            for location in access.locations() {
                let reads = matches!(access.kind, AccessKind::Read | AccessKind::Update);
                if reads && !known.reads.contains(&location) {
                    known.reads.push(location);
                }
                if !access.kind.is_read() && !known.writes.contains(&location) {
                    known.writes.push(location);
                }
            }
        }
        known
    }

    /// Whether it does nothing but update a location, whatever that holds.
    pub fn only_updates(&self, location: Location) -> bool {
        !self.varies && self.reads == [location] && self.writes == [location]
    }
}

/// What steps were found to do, by their identities; none if they can't be taken.
#[derive(Default)]
pub(super) struct Memo {
    labels: HashMap<Identity, Option<Rc<Known>>>,
}

impl Memo {
    pub fn memory(&self) -> usize {
        self.labels.capacity() * 96
    }
}

impl ReadsFromSearch<'_> {
    /// The versions of a step that the events of the present execution allow. Whether each fits to what else
    /// there is, is not asked.
    pub(super) fn versions(&mut self, wanted: &Wanted<'_>) -> Result<Vec<Version>, Unfit> {
        let Some(guard) = self.guard_of(wanted.place) else {
            let Some(at) = wanted.place.at else { return Ok(Vec::new()) };
            let trace = &self.walk.trace;
            let known = Known::of(&trace.label(at), trace.alternatives(at));
            let mut wanted = wanted.clone();
            // What it waited for it reads from whom it did.
            let waited_for = trace.waited_for(at);
            let reads = self.pasts.reads(at).iter().filter(|read| waited_for.contains(&read.location));
            wanted
                .pinned
                .extend(reads.map(|read| (read.location, read.source.map_or(Source::Initial, Source::At))));
            return self.versions_of(&wanted, known);
        };
        // Whether it can be taken depends on who wrote that for which it waits.
        let mut sources = Vec::new();
        self.each_source(wanted, guard, |source| sources.push(source));
        let mut found = Vec::new();
        for source in sources {
            let mut wanted = wanted.clone();
            if !wanted.pinned.contains(&(guard, source)) {
                wanted.pinned.push((guard, source));
            }
            if let Some(first) = self.found_out(&wanted, 0, &[])? {
                found.extend(self.versions_of(&wanted, (*first).clone())?);
            }
        }
        Ok(found)
    }

    /// What a step waits for.
    fn guard_of(&self, place: Place) -> Option<Location> {
        match place.at {
            Some(at) => self.walk.trace.guard(at).map(|guard| guard.location),
            None => place.guard,
        }
    }

    /// The versions of a step of which it is known what it may do.
    fn versions_of(&mut self, wanted: &Wanted<'_>, first: Known) -> Result<Vec<Version>, Unfit> {
        let is_the_same = !first.varies && first.alternatives <= 1;
        let mut found = Vec::new();
        let mut work: Vec<(u32, Vec<(Location, Source)>)> =
            (0..first.alternatives.max(1)).map(|choice| (choice, Vec::new())).collect();
        let first = Rc::new(first);
        while let Some((choice, reads)) = work.pop() {
            self.tried += 1;
            self.look(1)?;
            if reads.len() > MOST_READS || self.tried > MOST_TRIED {
                return Err(Unfit::TooManyReads);
            }
            let known = match reads.is_empty() || is_the_same {
                true => first.clone(),
                false => match self.found_out(wanted, choice, &reads)? {
                    Some(known) => known,
                    None => continue,
                },
            };
            let is_as_expected = |(read, location): (&(Location, Source), &Location)| read.0 == *location;
            if known.reads.len() < reads.len() || !reads.iter().zip(&known.reads).all(is_as_expected) {
                return Err(Unfit::Labels);
            }
            if let Some(&location) = known.reads.get(reads.len()) {
                self.each_source(wanted, location, |source| {
                    let mut more = reads.clone();
                    more.push((location, source));
                    let past = self.past_of(wanted, &more);
                    if !more.iter().any(|&(location, source)| self.is_hidden(wanted, location, source, &past))
                    {
                        work.push((choice, more));
                    }
                });
                continue;
            }
            if choice == 0 {
                // There may be more outcomes than in the step that was taken.
                let more = first.alternatives.max(1)..known.alternatives;
                work.extend(more.map(|choice| (choice, reads.clone())));
            }
            if ReadsFromSearch::is_wanted(wanted, &reads) {
                found.push(self.version(wanted, choice, reads, known.writes.clone()));
            }
        }
        Ok(found)
    }

    /// Whether a version reads what was asked for.
    fn is_wanted(wanted: &Wanted<'_>, reads: &[(Location, Source)]) -> bool {
        wanted.pinned.iter().all(|pinned| reads.contains(pinned))
            && (wanted.new.is_none() || reads.iter().any(|read| read.1 == Source::New))
    }

    /// The version that reads from certain others.
    pub(super) fn version(
        &self,
        wanted: &Wanted<'_>,
        choice: u32,
        reads: Vec<(Location, Source)>,
        writes: Vec<Location>,
    ) -> Version {
        let Place { process, index, .. } = wanted.place;
        let identity = self.version_identity(wanted, choice, &reads);
        let past = self.past_of(wanted, &reads);
        Version { process, index, choice, reads, writes, identity, past }
    }

    /// Calls `with` for each from whom a step could read a location.
    fn each_source(&self, wanted: &Wanted<'_>, location: Location, mut with: impl FnMut(Source)) {
        let pinned = wanted.pinned.iter().find(|pinned| pinned.0 == location).map(|pinned| pinned.1);
        let mut offer = |source| {
            if pinned.is_none_or(|pinned| pinned == source) {
                with(source);
            }
        };
        offer(Source::Initial);
        let Place { process, index, .. } = wanted.place;
        for &writer in self.pasts.writers(location) {
            let cut = self.pasts.cut(writer as usize);
            let is_after = |event: &(ProcessId, u32)| count(cut, event.0) >= event.1;
            if count(cut, process) < index && !wanted.without.iter().any(is_after) {
                offer(Source::At(writer));
            }
        }
        if wanted.new.is_some_and(|new| new.writes.contains(&location)) {
            offer(Source::New);
        }
    }

    /// What the step does, given from whom it reads its first locations and what is pinned; none if it can't be
    /// taken so.
    pub(super) fn found_out(
        &mut self,
        wanted: &Wanted<'_>,
        choice: u32,
        reads: &[(Location, Source)],
    ) -> Result<Option<Rc<Known>>, Unfit> {
        if let (Some(at), false) = (wanted.place.at, self.walk.options.rules.reads_from.find_out) {
            let trace = &self.walk.trace;
            return Ok(Some(Rc::new(Known::of(&trace.label(at), trace.alternatives(at)))));
        }
        let mut all = reads.to_vec();
        all.extend(wanted.pinned.iter().filter(|pinned| !reads.contains(pinned)));
        all.iter().for_each(|read| self.keys.meet(&mut *self.walk.run, read.0));
        let identity = self.version_identity(wanted, choice, &all);
        if let Some(known) = self.memo.labels.get(&identity) {
            return Ok(known.clone());
        }
        if choice > 0 && self.found_out(wanted, 0, reads)?.is_none_or(|known| known.alternatives <= choice) {
            return Ok(None);
        }
        let known = self.find_out(wanted, choice, &all)?.map(Rc::new);
        if self.memo.labels.len() >= MOST_REMEMBERED {
            self.memo.labels.clear();
        }
        self.memo.labels.insert(identity, known.clone());
        Ok(known)
    }

    /// Whether a step of the trace reads the same in all executions in which its past is the same: nothing, or
    /// what it waited for, which nobody else can undo.
    pub(super) fn reads_what_it_must(&self, at: usize) -> bool {
        let (trace, reads) = (&self.walk.trace, self.pasts.reads(at));
        let waited_for = trace.waited_for(at);
        trace.guard(at).is_none()
            && trace.alternatives(at) == 1
            && reads.iter().all(|read| waited_for.contains(&read.location))
    }

    /// Whether a step of the trace does the same whatever it reads.
    pub(super) fn is_the_same_everywhere(&self, at: usize) -> bool {
        let trace = &self.walk.trace;
        !trace.varies(at)
            && trace.guard(at).is_none()
            && trace.alternatives(at) == 1
            && trace.waited_for(at).is_empty()
    }

    /// Something was done that takes as long as so many steps: looks at the clock, if it is time.
    pub(super) fn look(&mut self, steps: usize) -> Result<(), Unfit> {
        // To lay a step out is less than to take it.
        self.walk.worked(steps.div_ceil(16));
        self.looked += 1;
        let is_full = self.looked.is_multiple_of(BETWEEN_MEMORIES) && {
            let memory = self.memory();
            self.walk.note_memory(memory).is_break()
        };
        match is_full || self.walk.look_is_due() && self.walk.look_between().is_break() {
            true => Err(Unfit::Stopped),
            false => Ok(()),
        }
    }

    /// Takes the step after its past.
    fn find_out(
        &mut self,
        wanted: &Wanted<'_>,
        choice: u32,
        reads: &[(Location, Source)],
    ) -> Result<Option<Known>, Unfit> {
        let Place { process, index, .. } = wanted.place;
        let past = self.past_of(wanted, reads);
        let new = wanted.new.filter(|_| reads.iter().any(|read| read.1 == Source::New));
        let (known, new) = self.lay_out_with(&past, new);
        self.add_step(process, choice, reads, &[], new);
        self.steps.comes_last();
        self.look(self.steps.len())?;
        let Some(order) = self.steps.order(known)? else { return Ok(None) };
        let schedule: Vec<(ProcessId, u32)> = order.iter().map(|&step| self.steps.named(step)).collect();
        // Its last step is the one in question.
        let from = self.common_prefix(&schedule[..schedule.len() - 1]).min(self.probed);
        self.probed = from;
        let ReadsFromSearch { walk, keys, is_wrong, .. } = self;
        let rules = walk.options.rules.reads_from;
        let found = walk.probe(from, schedule[from..].iter().copied());
        let found = found.map(|(label, alternatives)| Known::of(label, alternatives));
        if found.is_some() {
            let (run, label) = walk.run_and_label();
            keys.meet_step(run, label);
            let notes = rules.overwrite && rules.overwrite_aside;
            *is_wrong |= notes && keys.note_overwritten(&overwritten_by(label));
            *is_wrong |= keys.note_writes(process, index, label) && rules.later_writes;
        }
        if self.walk.has_stopped() {
            return Err(Unfit::Stopped);
        }
        if found.is_none() {
            let guard = self.guard_of(wanted.place);
            let is_guard = |read: &&(Location, Source)| Some(read.0) == guard && read.1 != Source::Initial;
            if let Some(&(location, _)) = reads.iter().find(is_guard) {
                self.note_hold_back(location);
            }
        }
        Ok(found)
    }

    fn version_identity(&self, wanted: &Wanted<'_>, choice: u32, reads: &[(Location, Source)]) -> Identity {
        let Place { process, index, before, .. } = wanted.place;
        let before = before.map_or(0, |before| self.pasts.identity(before));
        let source = |source: Source| match source {
            Source::Initial => INITIAL,
            Source::At(position) => self.pasts.identity(position as usize),
            Source::New => wanted.new.map_or(INITIAL, |new| new.identity),
        };
        let reads = reads.iter().map(|&(location, from)| (self.keys.location(location), source(from)));
        identity(self.keys.process(process), index, choice, before, reads)
    }

    /// All that comes before a step, given from whom it reads.
    fn past_of(&self, wanted: &Wanted<'_>, reads: &[(Location, Source)]) -> Vec<u32> {
        let mut past = vec![0; self.pasts.width()];
        if let Some(before) = wanted.place.before {
            join(&mut past, self.pasts.cut(before));
        }
        for (_, source) in reads {
            match source {
                Source::Initial => {}
                Source::At(position) => join(&mut past, self.pasts.cut(*position as usize)),
                Source::New => {
                    let Some(new) = wanted.new else { continue };
                    join(&mut past, &new.past);
                    let own = &mut past[new.process.index()];
                    *own = (*own).max(new.index);
                }
            }
        }
        past
    }

    /// Makes the steps to be ordered those of the trace in a cut, with a version instead of one of them. Gives how
    /// many are as in the trace, and the number of the version.
    pub(super) fn lay_out_with(&mut self, cut: &[u32], new: Option<&Version>) -> (usize, Option<u32>) {
        let Some(new) = new else {
            self.lay_out(cut);
            return (self.steps.len(), None);
        };
        let mut without = cut.to_vec();
        without[new.process.index()] = new.index - 1;
        self.lay_out(&without);
        let known = self.steps.len();
        (known, Some(self.add_step(new.process, new.choice, &new.reads, &new.writes, None)))
    }

    /// Makes the steps to be ordered those of the trace in a cut. In the order of the trace they are in one.
    fn lay_out(&mut self, cut: &[u32]) {
        let ReadsFromSearch { walk, pasts, steps, items, .. } = self;
        let trace = &walk.trace;
        steps.clear();
        items.clear();
        items.resize(trace.len(), NONE);
        for position in 0..trace.len() {
            let (process, index) = (trace.process(position), trace.index(position));
            if index > count(cut, process) {
                continue;
            }
            let parent = if index == 1 { trace.before(position) } else { None };
            let parent = parent.map_or(NONE, |parent| items[parent]);
            items[position] = steps.push(process, trace.choice(position), parent);
            for read in pasts.reads(position) {
                steps.read(read.location, read.source.map_or(NONE, |source| items[source as usize]));
            }
            for access in trace.accesses(position).iter().filter(|access| !access.kind.is_read()) {
                access.locations().for_each(|location| steps.write(location));
            }
        }
    }

    /// Adds a step to those that are laid out; `new` is the one that was added before it.
    pub(super) fn add_step(
        &mut self,
        process: ProcessId,
        choice: u32,
        reads: &[(Location, Source)],
        writes: &[Location],
        new: Option<u32>,
    ) -> u32 {
        let ReadsFromSearch { walk, steps, items, .. } = self;
        let own = walk.trace.positions(process);
        let is_first = own.first().is_none_or(|&first| items[first as usize] == NONE);
        let birth = match own.first() {
            Some(&first) => walk.trace.before(first as usize),
            None => walk.trace.previous(process),
        };
        let parent = birth.filter(|_| is_first).map_or(NONE, |birth| items[birth]);
        let step = steps.push(process, choice, parent);
        for &(location, source) in reads {
            let source = match source {
                Source::Initial => NONE,
                Source::At(position) => items[position as usize],
                Source::New => new.unwrap_or(NONE),
            };
            steps.read(location, source);
        }
        writes.iter().for_each(|&location| steps.write(location));
        step
    }

    /// How many steps of a schedule are those of the trace.
    pub(super) fn common_prefix(&self, schedule: &[(ProcessId, u32)]) -> usize {
        let trace = &self.walk.trace;
        let is_same = |k: &usize| schedule[*k] == (trace.process(*k), trace.choice(*k));
        (0..schedule.len().min(trace.len())).take_while(is_same).count()
    }

    /// Whether what somebody wrote to a location can't be read at the end of a past any more, since something
    /// later in that past hides it.
    fn is_hidden(&self, wanted: &Wanted<'_>, location: Location, source: Source, past: &[u32]) -> bool {
        let trace = &self.walk.trace;
        let mut writers = self.pasts.writers(location).iter().map(|&writer| writer as usize);
        let comes_later = |writer: usize| match source {
            Source::Initial => true,
            Source::New => false,
            Source::At(at) => {
                let (process, index) = (trace.process(at as usize), trace.index(at as usize));
                writer != at as usize && count(self.pasts.cut(writer), process) >= index
            }
        };
        writers.any(|writer| {
            let event = (trace.process(writer), trace.index(writer));
            let is_replaced = wanted.new.is_some_and(|new| (new.process, new.index) == event);
            event.1 <= count(past, event.0) && !is_replaced && comes_later(writer)
        })
    }

    /// What nobody can read at the end of a past any more, since something later in that past hides it: of each
    /// process how many events.
    pub(super) fn hidden(&self, location: Location, before: Option<usize>) -> Vec<u32> {
        let mut hidden = vec![0; self.pasts.width()];
        let Some(before) = before else { return hidden };
        let (trace, pasts): (&Trace, &Pasts) = (&self.walk.trace, &self.pasts);
        for &writer in pasts.writers(location) {
            let writer = writer as usize;
            let (process, index) = (trace.process(writer), trace.index(writer));
            if count(pasts.cut(before), process) >= index {
                let own = hidden[process.index()];
                join(&mut hidden, pasts.cut(writer));
                hidden[process.index()] = own.max(index - 1);
            }
        }
        hidden
    }
}

impl From<TooHard> for Unfit {
    fn from(_: TooHard) -> Unfit {
        Unfit::TooHard
    }
}
