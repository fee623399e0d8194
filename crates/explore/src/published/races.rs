//! Race detection of ISSTA 2019: lines 34-42 of algorithm 1 and, in brackets, 66-81 of algorithm 2.

use mazurka_program::{Access, ProcessId, Run};

use super::optimal_context::PublishedOptimal;
use super::order::{Order, Race};
use super::sequence::{Event, elsewhere, failed, same_events};
use super::tree;

/// A sequence that reverses a race: positions of the execution, and then perhaps the step of a process that
/// waits.
struct Reversal {
    positions: Vec<usize>,
    waiting: Option<ProcessId>,
    /// `observers(e, e', E)`.
    observers: Vec<usize>,
}

impl PublishedOptimal<'_> {
    /// Plans the reversal of each race of the present execution.
    pub(super) fn detect_races(&mut self) {
        let mut order = Order::of(&self.walk.trace, &self.walk.order, &*self.walk.run, &self.relation());
        // "For all", in any order.
        let mut races = std::mem::take(&mut order.races);
        while !races.is_empty() {
            let race = races.remove(self.chance.of(races.len()));
            self.reverse(race, &order);
        }
        self.note_planned();
    }

    fn reverse(&mut self, race: Race, order: &Order) {
        let v = self.sequence(race, order);
        // What `v` and what `dont` adds to it touch there.
        let dont = self.dont(race, &v, order);
        let whole: Vec<usize> = v.positions.iter().chain(dont.iter().flatten()).copied().collect();
        let Some(mut events) = self.labelled(race.e, &whole, v.waiting) else { return };
        let dont = dont.map(|_| events.clone());
        events.truncate(v.positions.len() + usize::from(v.waiting.is_some()));
        // Lines 40-41 [79-80].
        if !self.redundant(race.e, &events) {
            let mut wut = std::mem::take(&mut self.nodes[race.e].wut);
            tree::insert(&mut wut, events, &self.relation());
            self.nodes[race.e].wut = wut;
        }
        // Line 42 [81].
        let dnd = &mut self.nodes[race.e].dnd;
        dnd.extend(dont.filter(|dont| !dnd.iter().any(|known| same_events(known, dont))));
    }

    /// Line 37 [71-72, 76]: `v`, with `notdep*(e, e', E) = ance(e, e', E)`, followed by `I_fut(E', v, E)`.
    fn sequence(&self, Race { e, second, process }: Race, order: &Order) -> Reversal {
        let trace = &self.walk.trace;
        let after = |k: &usize| !order.before(e, *k);
        let Some(second) = second else {
            let positions = (e + 1..trace.len()).filter(after).collect();
            return Reversal { positions, waiting: Some(process), observers: Vec::new() };
        };
        let observers = order.observers(trace, &self.relation(), e, second);
        // A guard may need more than what happens before the step.
        let guarded = trace.guard(second).is_some();
        let ance = |k: &usize| after(k) && (guarded || order.before(*k, second));
        let mut v: Vec<usize> = (e + 1..second).filter(ance).collect();
        v.push(second);
        if let Some(&last) = observers.last() {
            // [71]: e', e, what the observers need, and the last of them.
            v.push(e);
            let needed = |k: &usize| observers.iter().any(|&o| order.before(*k, o));
            let notobs: Vec<usize> = (e + 1..last).filter(needed).filter(|k| !v.contains(k)).collect();
            v.extend(notobs);
            v.push(last);
        }
        let initial = |k: &usize| !(e..*k).any(|earlier| order.before(earlier, *k));
        let future: Vec<usize> = (e + 1..trace.len()).filter(|k| initial(k) && !v.contains(k)).collect();
        v.extend(future);
        Reversal { positions: v, waiting: None, observers }
    }

    /// Lines 38-39 [73-74, 77-78]: what follows `v` in the sequence that is not to be explored, if the check
    /// succeeds.
    fn dont(&mut self, Race { e, second, .. }: Race, v: &Reversal, order: &Order) -> Option<Vec<usize>> {
        let second = second?;
        let trace = &self.walk.trace;
        if (e..trace.len()).any(|k| trace.alternatives(k) > 1) {
            // In another order there may be another number of outcomes: the paper has no such steps.
            return None;
        }
        if let Some((&last, others)) = v.observers.split_last() {
            let upto = v.positions.iter().copied().filter(|&k| k <= last);
            let there: Vec<usize> = upto.chain(others.iter().copied()).collect();
            return self.seen_alike(e, &there, &v.observers).then(|| others.to_vec());
        }
        let suc = (e..second).filter(|&k| k == e || order.before(e, k) && !v.positions.contains(&k));
        let upto = v.positions.iter().copied().filter(|&k| k <= second);
        let there: Vec<(ProcessId, u32)> = self.steps(upto.chain(suc));
        let states = &self.states;
        let same = elsewhere(&mut self.walk, e, &there, |run, _| {
            super::sequence::Reached::by(run) == states[second + 1]
        });
        (same == Some(true)).then(|| vec![e])
    }

    fn steps(&self, positions: impl Iterator<Item = usize>) -> Vec<(ProcessId, u32)> {
        let trace = &self.walk.trace;
        positions.map(|k| (trace.process(k), trace.choice(k))).collect()
    }

    /// [73]: whether each observer is left the same by its step in the execution and at the end of another
    /// sequence.
    fn seen_alike(&mut self, e: usize, there: &[usize], observers: &[usize]) -> bool {
        let trace = &self.walk.trace;
        let observed: Vec<(ProcessId, Vec<Access>)> =
            observers.iter().map(|&o| (trace.process(o), trace.accesses(o).to_vec())).collect();
        let steps = self.steps(there.iter().copied());
        let effects =
            |run: &dyn Run| observed.iter().map(|(p, label)| effect(run, *p, label)).collect::<Vec<_>>();
        let Some(there) = elsewhere(&mut self.walk, e, &steps, |run, _| effects(run)) else { return false };
        observers.iter().zip(&observed).zip(there).all(|((&o, (process, label)), there)| {
            let own = self.steps(std::iter::once(o));
            let here = elsewhere(&mut self.walk, o, &own, |run, _| effect(run, *process, label));
            there.is_some() && here == Some(there)
        })
    }

    /// The events of a sequence, with what they touch there; none if it can't be taken.
    fn labelled(&mut self, e: usize, whole: &[usize], waiting: Option<ProcessId>) -> Option<Vec<Event>> {
        let mut events: Vec<Event> = whole.iter().map(|&k| Event::at(&self.walk.trace, k)).collect();
        if !self.observers && waiting.is_none() {
            // Labels are static.
            return Some(events);
        }
        events.extend(waiting.map(|process| Event { process, choice: 0, accesses: [].into() }));
        let steps: Vec<(ProcessId, u32)> = events.iter().map(|event| (event.process, event.choice)).collect();
        let touched = elsewhere(&mut self.walk, e, &steps, |_, touched| touched)?;
        events.iter_mut().zip(touched).for_each(|(event, touched)| event.accesses = touched);
        Some(events)
    }

    /// `v ∈ redundant(E', done)`: for some `E' = w.w'`, something that is done at `w` is a weak initial of
    /// `w'.v`.
    fn redundant(&self, level: usize, v: &[Event]) -> bool {
        let (trace, relation) = (&self.walk.trace, self.relation());
        (0..=level).any(|w| {
            let done = &self.nodes[w].done;
            let sequence = || -> Vec<Event> {
                (w..level).map(|k| Event::at(trace, k)).chain(v.iter().cloned()).collect()
            };
            !done.is_empty() && {
                let sequence = sequence();
                done.iter().any(|event| relation.weak_initial(event, &sequence))
            }
        })
    }
}

/// What the last step of a process left behind: what the process knows, what it wrote, and whether it failed.
/// None if the front end can't tell.
fn effect(run: &dyn Run, process: ProcessId, label: &[Access]) -> Option<impl PartialEq + use<>> {
    let mut list = Vec::new();
    let states = run.states().and_then(|states| states.named())?;
    states
        .effect(process, label, &mut list)
        .then(|| (list, failed(run, |of| of.is_none_or(|of| of == process))))
}
