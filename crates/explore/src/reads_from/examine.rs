//! What the end of an execution shows: further children of the nodes that led there, and whether those who wait
//! can wait for ever.

use std::ops::ControlFlow;
use std::rc::Rc;

use mazurka_program::{Location, ProcessId};
use smallvec::smallvec;

use super::past::join;
use super::tree::{Child, Frozen, NodeKind, Steps, Way};
use super::versions::{Pinned, Place, Source, Version, Wanted};
use super::{ReadsFromSearch, Unfit, count};

/// The event that wrote a location; none if it holds what it held at first.
type Writer = Option<(ProcessId, u32)>;

impl ReadsFromSearch<'_> {
    /// Looks for children of all nodes in the present execution.
    pub(super) fn examine(&mut self) -> Result<(), Unfit> {
        self.return_to_trace();
        let waiting = self.waiting();
        self.tried = 0;
        self.kept = None;
        self.odd.clear();
        self.odd.extend((0..self.plain.len() as u32).filter(|&at| !self.plain[at as usize]));
        for node in 0..self.stack.len() {
            match self.stack[node].kind {
                NodeKind::Acquires(location, source) => self.find_takers(node, location, source, &waiting)?,
                NodeKind::Reads | NodeKind::Waits(_) => self.find_sources(node, &waiting)?,
            }
            self.stack[node].is_examined = true;
            self.look(1)?;
        }
        self.shared = self.walk.trace.len();
        Ok(())
    }

    /// Whether some event lets a process go on that waits, and if so whether the process does nothing then but
    /// update what it waits for.
    pub(super) fn what_lets_go(&mut self, waiting: Frozen) -> Result<Option<bool>, Unfit> {
        let Frozen { process, location } = waiting;
        let writers = self.pasts.writers(location).to_vec();
        if writers.is_empty() {
            return Ok(None);
        }
        let place = self.place(process, count(&self.cut, process) + 1, &[waiting]);
        let sources = writers.into_iter().map(Source::At).chain([Source::Initial]);
        for source in sources {
            let wanted = Wanted { place, without: &[], pinned: smallvec![(location, source)], new: None };
            if let Some(known) = self.found_out(&wanted, 0, &[])? {
                return Ok(Some(known.only_updates(location)));
            }
        }
        Ok(None)
    }

    /// Who waits, or does not go on, and for what.
    pub(super) fn waiting(&self) -> Vec<Frozen> {
        let mut waiting = self.frozen.clone();
        self.walk.run.waiting(&mut |process, guard| {
            if let Some(guard) = guard
                && waiting.iter().all(|known| known.process != process)
            {
                waiting.push(Frozen { process, location: guard.location });
            }
        });
        waiting
    }

    /// The step of a process, which may not have been taken.
    fn place(&self, process: ProcessId, index: u32, waiting: &[Frozen]) -> Place {
        let mut place = Place::new(&self.walk.trace, process, index);
        if place.at.is_none() {
            let waits = waiting.iter().find(|waiting| waiting.process == process);
            place.guard = waits.map(|waiting| waiting.location);
        }
        place
    }

    /// Children in which the node's process reads from others.
    fn find_sources(&mut self, node: usize, waiting: &[Frozen]) -> Result<(), Unfit> {
        let process = self.stack[node].process;
        let index = count(&self.stack[node].cut, process) + 1;
        let place = self.place(process, index, waiting);
        let plain = self.plain(place);
        match plain {
            Some((location, _)) => self.find_plain_sources(node, place, location)?,
            None => {
                let wanted = Wanted { place, without: &[(process, index)], pinned: smallvec![], new: None };
                for version in self.versions(&wanted)? {
                    self.propose(node, &version, None)?;
                }
            }
        }
        // Where a process may wait, there is an execution in which it does, and nobody was kept from anything.
        if matches!(self.stack[node].kind, NodeKind::Waits(_)) {
            return Ok(());
        }
        self.find_swaps(node, place, waiting, plain.map(|(location, _)| location))
    }

    /// The one location that a step touches, and where it was taken, if it does so whatever it reads.
    fn plain(&self, place: Place) -> Option<(Location, usize)> {
        let at = place.at.filter(|&at| self.is_the_same_everywhere(at))?;
        self.touches_one(at).map(|location| (location, at))
    }

    /// The one location that the step at a position touches, if it reads it.
    pub(super) fn touches_one(&self, at: usize) -> Option<Location> {
        match self.pasts.reads(at) {
            [read] => {
                let mut accesses = self.walk.trace.accesses(at).iter();
                let only = accesses.all(|access| access.len == 1 && access.first == read.location);
                only.then_some(read.location)
            }
            _ => None,
        }
    }

    /// The same for a step that touches one location, whatever it reads.
    fn find_plain_sources(&mut self, node: usize, place: Place, location: Location) -> Result<(), Unfit> {
        let Place { process, index, before, at, .. } = place;
        let writes = match at {
            Some(at) if self.walk.trace.writes(at, location) => vec![location],
            _ => Vec::new(),
        };
        let hidden = self.hidden(location, before);
        let is_examined = self.stack[node].is_examined;
        let mut sources = Vec::new();
        if !is_examined && self.may_read_initial(location, before) {
            sources.push(Source::Initial);
        }
        let writers = self.pasts.writers(location);
        // What was there when the node was last looked at is known.
        let from = if is_examined { writers.partition_point(|&at| (at as usize) < self.shared) } else { 0 };
        for &writer in &writers[from..] {
            let (own, cut) = (self.walk.trace.process(writer as usize), self.pasts.cut(writer as usize));
            if count(cut, process) < index && self.walk.trace.index(writer as usize) > count(&hidden, own) {
                sources.push(Source::At(writer));
            }
        }
        for source in sources {
            let wanted = Wanted { place, without: &[], pinned: smallvec![], new: None };
            let version = self.version(&wanted, 0, vec![(location, source)], writes.clone());
            self.propose(node, &version, None)?;
        }
        Ok(())
    }

    /// Whether nothing in the past of a step hides the initial value.
    fn may_read_initial(&self, location: Location, before: Option<usize>) -> bool {
        let Some(before) = before else { return true };
        let (trace, cut) = (&self.walk.trace, self.pasts.cut(before));
        let mut writers = self.pasts.writers(location).iter().map(|&writer| writer as usize);
        !writers.any(|writer| trace.index(writer) <= count(cut, trace.process(writer)))
    }

    /// Children in which a step of another process comes before the node's, which reads what it wrote.
    ///
    /// If the node's step touches one `location`, whatever it reads, and so does the other, it is enough to look
    /// at those that read from it or wait for it, and to have them read what it read.
    fn find_swaps(
        &mut self,
        node: usize,
        place: Place,
        waiting: &[Frozen],
        location: Option<Location>,
    ) -> Result<(), Unfit> {
        if !self.walk.options.rules.reads_from.swap {
            return Ok(());
        }
        let event = (place.process, place.index);
        let candidates = self.candidates(place, location);
        for swapped in self.places_before(node, event, &candidates, waiting) {
            if swapped.process == place.process {
                continue;
            }
            let Some(pinned) = self.swap(place, swapped, location) else { continue };
            let wanted = Wanted { place: swapped, without: &[event], pinned, new: None };
            for version in self.versions(&wanted)? {
                self.propose_swap(node, place, &version)?;
            }
        }
        Ok(())
    }

    /// The positions of steps that may have to be tried before the node's.
    fn candidates(&self, place: Place, location: Option<Location>) -> Vec<u32> {
        let trace = &self.walk.trace;
        let Some(own) = place.at.filter(|&own| !trace.varies(own) && trace.alternatives(own) == 1) else {
            return (0..trace.len() as u32).collect();
        };
        // If neither writes what it reads, each could have come first as it is.
        if location.is_some_and(|location| !trace.writes(own, location)) {
            return self.odd.clone();
        }
        let read = self.pasts.reads(own).iter();
        read.fold(self.odd.clone(), |all, read| merged(&all, self.pasts.writers(read.location)))
    }

    /// Of steps in the order of the trace, and of those who wait, the ones beyond a node's configuration that do not come after an event.
    fn places_before(
        &self,
        node: usize,
        event: (ProcessId, u32),
        candidates: &[u32],
        waiting: &[Frozen],
    ) -> Vec<Place> {
        let (trace, node) = (&self.walk.trace, &self.stack[node]);
        let taken = candidates.iter().map(|&at| (trace.process(at as usize), trace.index(at as usize)));
        let next = |process| (process, trace.positions(process).len() as u32 + 1);
        let waits = waiting.iter().map(|waiting| next(waiting.process));
        // What follows a step that comes after the event does so, too.
        let mut is_over = vec![false; self.pasts.width()];
        let mut places = Vec::new();
        for (process, index) in taken.chain(waits) {
            if index <= count(&node.cut, process) || is_over.get(process.index()) == Some(&true) {
                continue;
            }
            let place = self.place(process, index, waiting);
            let comes_after = |before| count(self.pasts.cut(before), event.0) >= event.1;
            if place.before.is_some_and(comes_after) {
                is_over[process.index()] = true;
            } else if node.frozen.iter().all(|frozen| frozen.process != process) {
                places.push(place);
            }
        }
        places
    }

    /// Whether a step of another process is to be tried before the node's, and what it has to read then.
    fn swap(&self, place: Place, swapped: Place, location: Option<Location>) -> Option<Pinned> {
        let trace = &self.walk.trace;
        let Some(at) = swapped.at else {
            // It waits: nobody knows what it would do.
            return Some(smallvec![]);
        };
        if self.reads_what_it_must(at) {
            return None;
        }
        let Some(own) = place.at else { return Some(smallvec![]) };
        let is_read = |location: Location| self.pasts.reads(own).iter().any(|read| read.location == location);
        let written = trace.accesses(at).iter().filter(|access| !access.kind.is_read());
        let writes_what_is_read = written.flat_map(|access| access.locations()).any(is_read);
        let is_fixed = |at: usize| !trace.varies(at) && trace.alternatives(at) == 1;
        if is_fixed(own) && is_fixed(at) && !writes_what_is_read {
            return None;
        }
        let (Some(location), false) = (location, trace.varies(at)) else { return Some(smallvec![]) };
        if self.touches_one(at) != Some(location) {
            return Some(smallvec![]);
        }
        if !trace.writes(own, location) {
            return None;
        }
        let is_next = self.pasts.reads(at).iter().any(|read| read.source == Some(own as u32));
        if trace.guard(at).is_none() && !is_next {
            return None;
        }
        let source = self.pasts.reads(own)[0].source.map_or(Source::Initial, Source::At);
        Some(smallvec![(location, source)])
    }

    /// Has the node's step read what a version of another step wrote.
    fn propose_swap(&mut self, node: usize, place: Place, new: &Version) -> Result<(), Unfit> {
        let is_as_it_was = Place::new(&self.walk.trace, new.process, new.index).at;
        if is_as_it_was.is_some_and(|at| self.pasts.identity(at) == new.identity) {
            return Ok(());
        }
        let without = [(place.process, place.index), (new.process, new.index)];
        let wanted = Wanted { place, without: &without, pinned: smallvec![], new: Some(new) };
        for version in self.versions(&wanted)? {
            self.propose(node, &version, Some(new))?;
        }
        Ok(())
    }

    /// Children in which another step updates a location next.
    fn find_takers(
        &mut self,
        node: usize,
        location: Location,
        source: Option<(ProcessId, u32)>,
        waiting: &[Frozen],
    ) -> Result<(), Unfit> {
        let trace = &self.walk.trace;
        let source = source.map(|(process, index)| trace.positions(process)[index as usize - 1]);
        let writers = self.pasts.writers(location);
        let next = writers.partition_point(|&writer| source.is_some_and(|source| writer <= source));
        let Some(&taker) = writers.get(next) else { return Ok(()) };
        let taker = (trace.process(taker as usize), trace.index(taker as usize));
        if !self.walk.options.rules.reads_from.acquire {
            return Ok(());
        }
        let source = source.map_or(Source::Initial, Source::At);
        let candidates = merged(&self.odd, self.pasts.writers(location));
        for place in self.places_before(node, taker, &candidates, waiting) {
            let touches = |at: usize| {
                self.walk.trace.varies(at)
                    || self.pasts.reads(at).iter().any(|read| read.location == location)
            };
            if place.at.is_some_and(|at| !touches(at)) {
                continue;
            }
            let pinned = smallvec![(location, source)];
            let wanted = Wanted { place, without: &[taker], pinned, new: None };
            for version in self.versions(&wanted)? {
                if version.writes.contains(&location) {
                    self.propose(node, &version, None)?;
                }
            }
        }
        Ok(())
    }

    /// Takes a child down, if it is new and there is an order for it. Its event is a version of a step, which may
    /// read from the version of another.
    fn propose(&mut self, node: usize, version: &Version, new: Option<&Version>) -> Result<(), Unfit> {
        if !self.stack[node].is_new(version.identity) {
            return Ok(());
        }
        let mut cut = self.stack[node].cut.clone();
        cut.resize(self.pasts.width(), 0);
        join(&mut cut, &version.past);
        let (known, new) = self.lay_out_with(&cut, new);
        self.add_step(version.process, version.choice, &version.reads, &version.writes, new);
        self.look(self.steps.len())?;
        if let Some(order) = self.steps.order(known)? {
            let way = match new.is_none().then(|| inserted(&order, known)).flatten() {
                Some(at) => Way::Within(self.execution(), at),
                None => Way::Told(order.iter().map(|&step| self.steps.named(step)).collect()),
            };
            cut[version.process.index()] = version.index;
            let event = Some((version.process, version.index, version.identity));
            let child = Child { way, cut, event, choice: version.choice, freezes: None };
            self.stack[node].add(child);
        }
        Ok(())
    }

    /// The present execution, as it is kept for those who need it later.
    fn execution(&mut self) -> Rc<Steps> {
        let trace = &self.walk.trace;
        let steps = || (0..trace.len()).map(|k| (trace.process(k), trace.choice(k))).collect();
        self.kept.get_or_insert_with(steps).clone()
    }

    /// Whether there is an order of the present events after which none of those who are to wait can go on; the
    /// run is there then.
    pub(super) fn wait_for_ever(&mut self) -> Result<ControlFlow<(), bool>, Unfit> {
        if self.walk.run.enabled().is_empty() {
            return Ok(ControlFlow::Continue(true));
        }
        let mut locations: Vec<Location> = self.frozen.iter().map(|frozen| frozen.location).collect();
        locations.sort_unstable();
        locations.dedup();
        let mut hidden: Vec<(Location, Vec<Source>)> = Vec::new();
        for location in locations {
            let sources = self.sources_that_hold_back(location)?;
            hidden.push((location, sources));
        }
        let cut = self.cut.clone();
        let Some(&Frozen { process, .. }) = self.frozen.first() else {
            return Ok(ControlFlow::Continue(false));
        };
        let combinations: usize = hidden.iter().map(|(_, sources)| sources.len()).product();
        for mut combination in 0..combinations {
            let reads: Vec<(Location, Source)> = hidden
                .iter()
                .map(|(location, sources)| {
                    let source = sources[combination % sources.len()];
                    combination /= sources.len();
                    (*location, source)
                })
                .collect();
            let (known, _) = self.lay_out_with(&cut, None);
            let last = self.add_step(process, 0, &reads, &[], None);
            self.steps.comes_last();
            self.look(self.steps.len())?;
            if let Some(order) = self.steps.order(known)? {
                let steps = order.iter().filter(|&&step| step != last);
                let schedule: Vec<(ProcessId, u32)> = steps.map(|&step| self.steps.named(step)).collect();
                return Ok(self.rearrange(&schedule));
            }
        }
        Ok(ControlFlow::Continue(false))
    }

    /// Tells of the execution once for each way in which memory can be left by its events, in an order that does
    /// it. Those who wait go on waiting.
    pub(super) fn end_in_all_memories(&mut self) -> ControlFlow<()> {
        let mut locations: Vec<Location> = self.keys.overwritten().collect();
        locations.retain(|&location| !self.pasts.writers(location).is_empty());
        // By events, since positions are others in another order.
        let mut work: Vec<Vec<(Location, Writer)>> = vec![Vec::new()];
        while let Some(lasts) = work.pop() {
            let order = match self.order_that_leaves(&lasts) {
                Ok(Some(order)) => order,
                Ok(None) => continue,
                Err(unfit) => return self.give_up(unfit),
            };
            let Some(&location) = locations.get(lasts.len()) else {
                self.rearrange(&order)?;
                self.walk.end(self.walk.maximal_ending())?;
                continue;
            };
            let sources = match self.last_sources(location) {
                Ok(sources) => sources,
                Err(unfit) => return self.give_up(unfit),
            };
            work.extend(sources.into_iter().map(|source| {
                let mut more = lasts.clone();
                more.push((location, source));
                more
            }));
        }
        ControlFlow::Continue(())
    }

    /// By whom a location may have been written last.
    fn last_sources(&mut self, location: Location) -> Result<Vec<Writer>, Unfit> {
        let is_awaited = self.frozen.iter().any(|frozen| frozen.location == location);
        let sources = match is_awaited {
            true => self.sources_that_hold_back(location)?,
            false => self.pasts.writers(location).iter().map(|&writer| Source::At(writer)).collect(),
        };
        self.return_to_trace();
        let trace = &self.walk.trace;
        let event = |source: Source| match source {
            Source::At(at) => Some((trace.process(at as usize), trace.index(at as usize))),
            Source::Initial | Source::New => None,
        };
        Ok(sources.into_iter().map(event).collect())
    }

    /// A schedule of the present events after which locations were written last by certain events.
    fn order_that_leaves(
        &mut self,
        lasts: &[(Location, Writer)],
    ) -> Result<Option<Vec<(ProcessId, u32)>>, Unfit> {
        let trace = &self.walk.trace;
        let Some(last) = trace.len().checked_sub(1) else { return Ok(Some(Vec::new())) };
        let process = trace.process(last);
        let source = |event: Writer| match event {
            Some((process, index)) => Source::At(trace.positions(process)[index as usize - 1]),
            None => Source::Initial,
        };
        let reads: Vec<(Location, Source)> = lasts.iter().map(|&(at, event)| (at, source(event))).collect();
        let cut = self.cut.clone();
        let (known, _) = self.lay_out_with(&cut, None);
        let end = self.add_step(process, 0, &reads, &[], None);
        self.steps.comes_last();
        self.look(self.steps.len())?;
        let order = self.steps.order(known)?;
        Ok(order.map(|order| {
            let steps = order.iter().filter(|&&step| step != end);
            steps.map(|&step| self.steps.named(step)).collect()
        }))
    }

    /// From whom a location must have been written last for all who wait for it to go on waiting.
    fn sources_that_hold_back(&mut self, location: Location) -> Result<Vec<Source>, Unfit> {
        let waiting: Vec<Frozen> =
            self.frozen.iter().filter(|one| one.location == location).copied().collect();
        self.sources_that_keep(&waiting, location)
    }

    /// Whether the events of the present configuration have an order after which a process that could go on waits.
    pub(super) fn can_be_held_back(&mut self, waiting: Frozen) -> Result<bool, Unfit> {
        let Frozen { process, location } = waiting;
        let cut = self.cut.clone();
        for source in self.sources_that_keep(&[waiting], location)? {
            let (known, _) = self.lay_out_with(&cut, None);
            self.add_step(process, 0, &[(location, source)], &[], None);
            self.steps.comes_last();
            self.look(self.steps.len())?;
            if self.steps.order(known)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// From whom of the present configuration a location must have been written last for each of some processes to wait
    /// for it.
    fn sources_that_keep(&mut self, waiting: &[Frozen], location: Location) -> Result<Vec<Source>, Unfit> {
        let trace = &self.walk.trace;
        let is_within = |writer: &&u32| {
            let at = **writer as usize;
            trace.index(at) <= count(&self.cut, trace.process(at))
        };
        let writers = self.pasts.writers(location).iter().filter(is_within);
        let mut sources = vec![Source::Initial];
        sources.extend(writers.map(|&writer| Source::At(writer)));
        for &one in waiting {
            let index = count(&self.cut, one.process) + 1;
            let place = self.place(one.process, index, &[one]);
            let mut left = Vec::new();
            for source in sources {
                let wanted = Wanted { place, without: &[], pinned: smallvec![(location, source)], new: None };
                if self.found_out(&wanted, 0, &[])?.is_none() {
                    left.push(source);
                }
            }
            sources = left;
        }
        Ok(sources)
    }

    /// Takes the same steps in another order.
    fn rearrange(&mut self, schedule: &[(ProcessId, u32)]) -> ControlFlow<(), bool> {
        self.back_to(self.common_prefix(schedule));
        for &(process, choice) in &schedule[self.walk.trace.len()..] {
            self.take(process, choice)?;
            self.walk.counts.events -= 1;
        }
        ControlFlow::Continue(true)
    }
}

/// What is in either of two lists, which are in order, once.
fn merged(one: &[u32], other: &[u32]) -> Vec<u32> {
    let mut all = Vec::with_capacity(one.len() + other.len());
    let (mut one, mut other) = (one.iter().copied().peekable(), other.iter().copied().peekable());
    while let Some(least) = one.peek().into_iter().chain(other.peek()).min().copied() {
        all.push(least);
        one.next_if_eq(&least);
        other.next_if_eq(&least);
    }
    all
}

/// Where the last of so many steps was put among the others, if these are in their order.
fn inserted(order: &[u32], last: usize) -> Option<usize> {
    let at = order.iter().position(|&step| step as usize == last)?;
    let others = order.iter().filter(|&&step| step as usize != last);
    others.is_sorted().then_some(at)
}
