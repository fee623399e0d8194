//! Copies of the worker process, each of which explores a part of a search ahead of it.
//!
//! A copy has the program in memory as the worker has it, and all that the worker knows of it. It explores one
//! item, tells what came of it and what it learned of the program, and ends. One that dies, that comes to
//! something that ends the search, or to something for which the search has to be begun again, tells nothing:
//! the worker explores that item itself, and dies, ends or begins again as it does without copies.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use mazurka_explore::{Ahead, Crew, Explored, Item, ItemPlace, OpenItem, Options, TakenUp};
use mazurka_ledger::encoding;
use mazurka_native::isolation::ProcessCopy;
use mazurka_native::runtime::{self as native, Native};
use mazurka_report::{Collected, Part, explore_part};

use crate::attend::{ROOM, resident};

/// Copies that explore parts of a search.
pub struct Copies<'a> {
    program: &'a Native,
    options: &'a Options,
    started: Instant,
    at_work: Vec<ProcessCopy>,
    /// What they are at.
    places: Vec<ItemPlace>,
    /// What those that are done have learned.
    learned: BTreeMap<ItemPlace, Vec<u8>>,
}

impl<'a> Copies<'a> {
    /// None so far.
    pub fn of(program: &'a Native, options: &'a Options) -> Copies<'a> {
        let (started, learned) = (Instant::now(), BTreeMap::new());
        Copies { program, options, started, at_work: Vec::new(), places: Vec::new(), learned }
    }

    /// What a copy does.
    fn explore(&self, item: Item, most: u64) -> Option<Vec<u8>> {
        self.program.note_what_is_learned();
        let mut options = *self.options;
        let limits = &mut options.limits;
        limits.time = limits.time.map(|most| most.saturating_sub(self.started.elapsed()));
        let (explored, collected) = explore_part(self.program, item, most, &options);
        if explored.is_over || self.program.has_news() {
            return None;
        }
        message(&explored, collected, &self.program.learned())
    }

    /// Ends copies that take far more memory than a search may: their programs have overwritten them, and they
    /// obey nobody.
    fn end_large(&mut self) {
        let most = self.options.limits.memory.map(|most| most.saturating_add(ROOM));
        let is_large = |copy: &ProcessCopy| most.is_some_and(|most| resident(copy.id()) > most);
        self.at_work.iter_mut().filter(|copy| is_large(copy)).for_each(ProcessCopy::kill);
    }
}

impl Crew<Collected> for Copies<'_> {
    fn begin(&mut self, place: &ItemPlace, item: &Item, most: u64) -> bool {
        let Ok(copy) = ProcessCopy::of_this_process(|| self.explore(item.clone(), most)) else {
            return false;
        };
        self.at_work.push(copy);
        self.places.push(place.clone());
        true
    }

    fn wait(&mut self, most: Duration) -> Vec<Ahead<Collected>> {
        let mut heard = ProcessCopy::hear(&mut self.at_work, most);
        if heard.is_empty() {
            self.end_large();
        }
        // The last ones first, so that the numbers of the others stay.
        heard.reverse();
        let mut done = Vec::new();
        for (at, message) in heard {
            drop(self.at_work.remove(at));
            let place = self.places.remove(at);
            let found = message.and_then(|message| read_message(&message));
            let found = found.map(|(explored, collected, learned)| {
                self.learned.insert(place.clone(), learned);
                (explored, collected)
            });
            done.push(Ahead { place, found });
        }
        done
    }

    fn take_up(&mut self, place: &ItemPlace) -> TakenUp {
        let Some(learned) = self.learned.remove(place) else { return TakenUp::Refused };
        match self.program.take_up(&learned) {
            native::TakenUp::Known => TakenUp::Known,
            native::TakenUp::Learned => TakenUp::Learned(learned),
            native::TakenUp::Refused => TakenUp::Refused,
        }
    }

    fn know(&mut self, learned: &[u8]) -> bool {
        self.program.take_up(learned) != native::TakenUp::Refused
    }

    fn give_up(&mut self, place: &ItemPlace) {
        self.learned.remove(place);
        if let Some(at) = self.places.iter().position(|other| other == place) {
            self.places.remove(at);
            drop(self.at_work.remove(at));
        }
    }

    fn has_news(&self) -> bool {
        self.program.has_news()
    }
}

/// What a copy tells: what came of the item, what is left of it, and what was learned. None if that can't be
/// told.
fn message(explored: &Explored, collected: Collected, learned: &[u8]) -> Option<Vec<u8>> {
    let Explored { summary, rest, .. } = explored;
    let part =
        Part { place: Vec::new(), share: 0.0, summary: summary.clone(), monitor: collected, learned: vec![] };
    let part = encoding::parts([&part]).ok()?;
    let rest = OpenItem { place: Vec::new(), item: rest.clone(), share: 0.0 };
    let rest = encoding::open_item(&rest).ok()?;
    let with_length = |bytes: &[u8]| [&(bytes.len() as u64).to_le_bytes(), bytes].concat();
    Some([&part, &rest, learned].map(with_length).concat())
}

fn read_message(mut message: &[u8]) -> Option<(Explored, Collected, Vec<u8>)> {
    let mut take = || {
        let (length, rest) = message.split_first_chunk()?;
        let (bytes, rest) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
        message = rest;
        Some(bytes)
    };
    let (part, rest, learned) = (take()?, take()?, take()?.to_vec());
    let Part { summary, monitor, .. } = encoding::read_parts(part)?.pop()?;
    let rest = encoding::read_open_item(rest)?.item;
    message.is_empty().then_some((Explored { summary, is_over: false, rest }, monitor, learned))
}

#[cfg(test)]
mod tests {
    use super::*;
    use mazurka_explore::{Counts, Summary};

    #[test]
    fn a_message_is_read_whole_or_not_at_all() {
        let counts = Counts { complete: 7, events: 70, longest: 10, ..Counts::default() };
        let summary = Summary { counts, not_exhaustive: None, broken: None, note: None };
        let rest = Item { schedules: vec!["v1:0*3,0.1".parse().unwrap(), "v1:0.1".parse().unwrap()] };
        let explored = Explored { summary, is_over: false, rest };
        let written = message(&explored, Collected::default(), b"learned").unwrap();
        let read = read_message(&written).unwrap();
        assert_eq!(read, (explored, Collected::default(), b"learned".to_vec()));
        for len in 0..written.len() {
            assert_eq!(read_message(&written[..len]), None);
        }
        assert_eq!(read_message(&[&written[..], b"more"].concat()), None);
    }
}
