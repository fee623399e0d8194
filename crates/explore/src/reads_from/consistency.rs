//! Whether steps of which is known from whom each reads can be put into an order in which they do.
//!
//! Three ways, the quickest first. A new step at the end of an execution, or in its midst, may do. Else edges
//! are added that every order has (*saturation*): if `r` reads `w`, and `w'` writes the same location, then `w'`
//! comes before `w` if it comes before `r`, and after `r` if it comes after `w`. A cycle says no. Else the
//! steps are taken one by one, predecessors first: a read as soon as its source was the last to write, a write
//! only if nobody is left to read what it hides; where several writes could be next all are tried, and what
//! failed once is remembered. That takes a time that is exponential in the number of processes at worst, so
//! there is a limit.

use std::collections::HashSet;

use mazurka_program::{Location, ProcessId};

/// No step: the initial value is read; nobody creates the process.
pub(super) const NONE: u32 = u32::MAX;

/// How many choices between writes are tried at most.
const MOST_CHOICES: usize = 10_000;

/// The search for an order was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooHard;

/// Steps to be put into an order. Those of one process are added in their order, and whom a step reads from
/// before it.
#[derive(Default)]
pub(super) struct Arrangement {
    steps: Vec<Step>,
    reads: Vec<(Location, u32)>,
    writes: Vec<Location>,
}

#[derive(Clone, Copy)]
struct Step {
    process: ProcessId,
    choice: u32,
    /// The step that creates its process, if it is the first.
    parent: u32,
    reads: u32,
    writes: u32,
    /// Whether it comes after all the others.
    is_last: bool,
}

impl Arrangement {
    pub fn clear(&mut self) {
        self.steps.clear();
        self.reads.clear();
        self.writes.clear();
    }

    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Adds a step, whose reads and writes are added next, and gives its number.
    pub fn push(&mut self, process: ProcessId, choice: u32, parent: u32) -> u32 {
        let (reads, writes) = (self.reads.len() as u32, self.writes.len() as u32);
        self.steps.push(Step { process, choice, parent, reads, writes, is_last: false });
        self.steps.len() as u32 - 1
    }

    /// The step added last comes after all the others.
    pub fn comes_last(&mut self) {
        if let Some(last) = self.steps.last_mut() {
            last.is_last = true;
        }
    }

    /// The step added last reads a location from another step.
    pub fn read(&mut self, location: Location, source: u32) {
        self.reads.push((location, source));
    }

    /// The step added last writes a location.
    pub fn write(&mut self, location: Location) {
        let own = self.steps.last().map_or(0, |step| step.writes as usize);
        if !self.writes[own..].contains(&location) {
            self.writes.push(location);
        }
    }

    /// A step as a schedule names it.
    pub fn named(&self, step: u32) -> (ProcessId, u32) {
        let step = &self.steps[step as usize];
        (step.process, step.choice)
    }

    fn reads(&self, step: usize) -> &[(Location, u32)] {
        let end = self.steps.get(step + 1).map_or(self.reads.len(), |next| next.reads as usize);
        &self.reads[self.steps[step].reads as usize..end]
    }

    fn writes(&self, step: usize) -> &[Location] {
        let end = self.steps.get(step + 1).map_or(self.writes.len(), |next| next.writes as usize);
        &self.writes[self.steps[step].writes as usize..end]
    }

    /// An order of the steps, of which the first so many are known to be in one.
    ///
    /// # Errors
    /// If that is too hard to find out.
    pub fn order(&self, known: usize) -> Result<Option<Vec<u32>>, TooHard> {
        let mut order: Vec<u32> = (0..known as u32).collect();
        let fits = (known..self.len()).all(|step| match self.place_in(&order, step) {
            Some(at) if at == order.len() || step + 1 == self.len() => {
                order.insert(at, step as u32);
                true
            }
            _ => false,
        });
        if fits {
            return Ok(Some(order));
        }
        match Saturated::new(self) {
            Some(saturated) => Linearisation::new(self, &saturated).find(),
            None => Ok(None),
        }
    }

    /// Where a step can come in an order of others without anybody noticing, the last such place that its reads
    /// leave; none if there is none.
    fn place_in(&self, order: &[u32], step: usize) -> Option<usize> {
        let Step { process, parent, is_last, .. } = self.steps[step];
        let (reads, writes) = (self.reads(step), self.writes(step));
        let (mut from, mut to) = (0, order.len());
        // The last to write each location, on the way.
        for (at, &other) in order.iter().enumerate() {
            let other_step = &self.steps[other as usize];
            if other_step.process == process || other == parent || reads.iter().any(|read| read.1 == other) {
                from = at + 1;
            }
        }
        for &(location, source) in reads {
            let after = match source {
                NONE => 0,
                source => order.iter().position(|&other| other == source)? + 1,
            };
            let hides = |other: &u32| self.writes(*other as usize).contains(&location);
            let hidden = order[after..].iter().position(hides).map_or(order.len(), |at| after + at);
            to = to.min(hidden);
        }
        if from > to || is_last && to < order.len() {
            return None;
        }
        let is_noticed = writes.iter().any(|&location| {
            let touches = |other: &&u32| {
                let other = **other as usize;
                self.reads(other).iter().any(|read| read.0 == location)
                    || self.writes(other).contains(&location)
            };
            let next = order[to..].iter().find(touches);
            next.is_some_and(|&next| self.reads(next as usize).iter().any(|read| read.0 == location))
        });
        (!is_noticed).then_some(to)
    }
}

/// The steps with all edges that every order has: for each step how many of each process come before it, or are
/// it.
struct Saturated {
    clocks: Vec<u32>,
    /// The processes, by dense numbers.
    width: usize,
    slots: Vec<u32>,
    /// The ordinal of each step among those of its process, from 1.
    indices: Vec<u32>,
    /// The steps of each process.
    rows: Vec<Vec<u32>>,
    edges: Vec<Vec<u32>>,
}

/// The writes of a location by a process: ordinals and steps.
type WritesOf = Vec<(u32, u32, u32, u32)>;

impl Saturated {
    /// None if there is no order.
    fn new(steps: &Arrangement) -> Option<Saturated> {
        let mut saturated = Saturated::unordered(steps);
        let mut writes: WritesOf = Vec::new();
        for step in 0..steps.len() {
            let (slot, index) = (saturated.slots[step], saturated.indices[step]);
            writes.extend(steps.writes(step).iter().map(|at| (at.0, slot, index, step as u32)));
        }
        writes.sort_unstable();
        loop {
            let propagated = saturated.propagate(steps)?;
            if !saturated.add_edges(steps, &writes)? && !propagated {
                return Some(saturated);
            }
        }
    }

    fn unordered(steps: &Arrangement) -> Saturated {
        let most = steps.steps.iter().map(|step| step.process.index() + 1).max().unwrap_or(0);
        let mut dense = vec![NONE; most];
        let (mut slots, mut indices, mut rows) = (Vec::new(), Vec::new(), Vec::<Vec<u32>>::new());
        for (at, step) in steps.steps.iter().enumerate() {
            let slot = &mut dense[step.process.index()];
            if *slot == NONE {
                *slot = rows.len() as u32;
                rows.push(Vec::new());
            }
            let row = &mut rows[*slot as usize];
            row.push(at as u32);
            slots.push(*slot);
            indices.push(row.len() as u32);
        }
        let width = rows.len();
        let mut clocks = vec![0; steps.len() * width];
        for at in 0..steps.len() {
            let clock = &mut clocks[at * width..][..width];
            clock[slots[at] as usize] = indices[at];
            if steps.steps[at].is_last {
                for (slot, row) in rows.iter().enumerate() {
                    clock[slot] = row.len() as u32;
                }
            }
        }
        let edges = vec![Vec::new(); steps.len()];
        Saturated { clocks, width, slots, indices, rows, edges }
    }

    #[inline]
    fn clock(&self, step: u32) -> &[u32] {
        &self.clocks[step as usize * self.width..][..self.width]
    }

    /// Whether one step is, or comes before, another.
    #[inline]
    fn reaches(&self, first: u32, second: u32) -> bool {
        self.clock(second)[self.slots[first as usize] as usize] >= self.indices[first as usize]
    }

    /// Adds what comes before one step to what comes before another; whether that is new.
    #[inline]
    fn include(&mut self, step: usize, earlier: u32) -> bool {
        let width = self.width;
        let (from, to) = (earlier as usize * width, step * width);
        let mut changed = false;
        for slot in 0..width {
            let known = self.clocks[from + slot];
            if known > self.clocks[to + slot] {
                self.clocks[to + slot] = known;
                changed = true;
            }
        }
        changed
    }

    /// Brings clocks up to date with edges, once; whether any changed. None if there is a cycle.
    fn propagate(&mut self, steps: &Arrangement) -> Option<bool> {
        let mut changed = false;
        for step in 0..steps.len() {
            let (slot, index) = (self.slots[step] as usize, self.indices[step]);
            if index > 1 {
                let before = self.rows[slot][index as usize - 2];
                changed |= self.include(step, before);
            }
            let parent = steps.steps[step].parent;
            if parent != NONE {
                changed |= self.include(step, parent);
            }
            for &(_, source) in steps.reads(step).iter().filter(|read| read.1 != NONE) {
                changed |= self.include(step, source);
            }
            for edge in 0..self.edges[step].len() {
                changed |= self.include(step, self.edges[step][edge]);
            }
            if self.clocks[step * self.width + slot] > index {
                return None;
            }
        }
        Some(changed)
    }

    /// Adds the edges that follow from the clocks; whether there are new ones. None if there is a cycle.
    fn add_edges(&mut self, steps: &Arrangement, writes: &WritesOf) -> Option<bool> {
        let mut added = false;
        for reader in 0..steps.len() as u32 {
            for &(location, source) in steps.reads(reader as usize) {
                for slot in 0..self.width as u32 {
                    let key = (location.0, slot);
                    let from = writes.partition_point(|write| (write.0, write.1) < key);
                    let to = from + writes[from..].partition_point(|write| (write.0, write.1) == key);
                    if from < to {
                        added |= self.order_writes(reader, source, slot, &writes[from..to])?;
                    }
                }
            }
        }
        Some(added)
    }

    /// Orders the writes that a process makes of a location with a read of it and whom that reads from.
    fn order_writes(
        &mut self,
        reader: u32,
        source: u32,
        slot: u32,
        writes: &[(u32, u32, u32, u32)],
    ) -> Option<bool> {
        let mut added = false;
        // The last one before the read comes before what it reads.
        let known = self.clock(reader)[slot as usize];
        let before = writes[..writes.partition_point(|write| write.2 <= known)].iter();
        if let Some(&(.., write)) = before.rev().find(|write| write.3 != reader)
            && write != source
        {
            if source == NONE {
                return None;
            }
            if !self.reaches(write, source) {
                self.edges[source as usize].push(write);
                added |= self.include(source as usize, write);
            }
        }
        // The first one after what it reads comes after the read.
        let after = match source {
            NONE => 0,
            source => writes.partition_point(|write| !self.reaches(source, write.3)),
        };
        let next = writes[after..].iter().find(|write| write.3 != reader && write.3 != source);
        if let Some(&(.., write)) = next
            && !self.reaches(reader, write)
        {
            self.edges[write as usize].push(reader);
            added |= self.include(write as usize, reader);
        }
        Some(added)
    }
}

/// The search for an order of saturated steps.
struct Linearisation<'a> {
    steps: &'a Arrangement,
    saturated: &'a Saturated,
    /// The locations, by dense numbers.
    locations: Vec<Location>,
    /// For each step its reads and writes by these numbers.
    reads: Vec<Vec<(u32, u32)>>,
    writes: Vec<Vec<u32>>,
    /// How many steps of each process are taken.
    taken: Vec<u32>,
    order: Vec<u32>,
    /// Who wrote each location last.
    last: Vec<u32>,
    /// How many steps are left that read what a step wrote to a location; those of the initial value come first.
    readers: Vec<u32>,
    /// What was last before the writes of each step taken.
    hidden: Vec<(u32, u32)>,
    failed: HashSet<(Vec<u32>, Vec<u32>)>,
    choices: usize,
}

impl<'a> Linearisation<'a> {
    fn new(steps: &'a Arrangement, saturated: &'a Saturated) -> Linearisation<'a> {
        let mut locations: Vec<Location> =
            steps.reads.iter().map(|read| read.0).chain(steps.writes.iter().copied()).collect();
        locations.sort_unstable();
        locations.dedup();
        let dense = |location: &Location| locations.binary_search(location).unwrap_or(0) as u32;
        let count = steps.len();
        let reads: Vec<Vec<(u32, u32)>> = (0..count)
            .map(|step| steps.reads(step).iter().map(|(at, source)| (dense(at), *source)).collect())
            .collect();
        let writes = (0..count).map(|step| steps.writes(step).iter().map(dense).collect()).collect();
        let mut readers = vec![0; (count + 1) * locations.len()];
        for &(at, source) in reads.iter().flatten() {
            readers[source.wrapping_add(1) as usize * locations.len() + at as usize] += 1;
        }
        Linearisation {
            taken: vec![0; saturated.width],
            order: Vec::with_capacity(count),
            last: vec![NONE; locations.len()],
            hidden: Vec::new(),
            failed: HashSet::new(),
            choices: 0,
            steps,
            saturated,
            locations,
            reads,
            writes,
            readers,
        }
    }

    fn readers(&mut self, source: u32, at: u32) -> &mut u32 {
        &mut self.readers[source.wrapping_add(1) as usize * self.locations.len() + at as usize]
    }

    fn find(mut self) -> Result<Option<Vec<u32>>, TooHard> {
        /// A choice between writes: how many steps were taken before, and which could be next.
        struct Choice {
            taken: usize,
            next: Vec<u32>,
        }
        let mut stack: Vec<Choice> = Vec::new();
        loop {
            self.take_reads();
            if self.order.len() == self.steps.len() {
                return Ok(Some(self.order));
            }
            let mut next = self.writes_that_fit();
            if next.len() > 1 && self.failed.contains(&(self.taken.clone(), self.last.clone())) {
                next.clear();
            }
            next.reverse();
            stack.push(Choice { taken: self.order.len(), next });
            loop {
                let Some(choice) = stack.last_mut() else { return Ok(None) };
                let taken = choice.taken;
                let step = choice.next.pop();
                self.go_back(taken);
                match step {
                    Some(step) => {
                        self.take(step);
                        break;
                    }
                    None => {
                        self.failed.insert((self.taken.clone(), self.last.clone()));
                        self.choices += 1;
                        if self.choices > MOST_CHOICES {
                            return Err(TooHard);
                        }
                        stack.pop();
                    }
                }
            }
        }
    }

    /// The next step of a process, if all that comes before it has been taken and it reads what it should.
    fn next_of(&self, slot: usize) -> Option<u32> {
        let &step = self.saturated.rows[slot].get(self.taken[slot] as usize)?;
        let clock = self.saturated.clock(step).iter();
        let is_due = clock
            .zip(&self.taken)
            .enumerate()
            .all(|(other, (needed, taken))| other == slot || needed <= taken);
        let reads = || self.reads[step as usize].iter().all(|&(at, source)| self.last[at as usize] == source);
        (is_due && reads()).then_some(step)
    }

    /// Takes all steps that write nothing: nobody notices.
    fn take_reads(&mut self) {
        loop {
            let before = self.order.len();
            for slot in 0..self.taken.len() {
                while let Some(step) =
                    self.next_of(slot).filter(|&step| self.writes[step as usize].is_empty())
                {
                    self.take(step);
                }
            }
            if self.order.len() == before {
                return;
            }
        }
    }

    /// The steps that could be next and hide nothing that is still to be read.
    fn writes_that_fit(&mut self) -> Vec<u32> {
        let mut fit: Vec<u32> = (0..self.taken.len()).filter_map(|slot| self.next_of(slot)).collect();
        fit.retain(|&step| {
            self.writes[step as usize].iter().all(|&at| {
                let last = self.last[at as usize];
                let own = self.reads[step as usize].iter().any(|read| read.0 == at);
                let left = self.readers[last.wrapping_add(1) as usize * self.locations.len() + at as usize];
                left == u32::from(own)
            })
        });
        fit.sort_unstable();
        fit
    }

    fn take(&mut self, step: u32) {
        for k in 0..self.reads[step as usize].len() {
            let (at, source) = self.reads[step as usize][k];
            *self.readers(source, at) -= 1;
        }
        for &at in &self.writes[step as usize] {
            self.hidden.push((at, std::mem::replace(&mut self.last[at as usize], step)));
        }
        self.taken[self.saturated.slots[step as usize] as usize] += 1;
        self.order.push(step);
    }

    fn go_back(&mut self, taken: usize) {
        while self.order.len() > taken {
            let Some(step) = self.order.pop() else { return };
            self.taken[self.saturated.slots[step as usize] as usize] -= 1;
            for _ in 0..self.writes[step as usize].len() {
                if let Some((at, last)) = self.hidden.pop() {
                    self.last[at as usize] = last;
                }
            }
            for k in 0..self.reads[step as usize].len() {
                let (at, source) = self.reads[step as usize][k];
                *self.readers(source, at) += 1;
            }
        }
    }
}
