//! Parts of a search by `wake-up` that can be taken out of it and given to another: to another thread,
//! another process or machine, or to the same search on another day.
//!
//! An [`Item`] is a list of schedules, and nothing else: processes by their paths in the creation tree, and
//! outcomes. To explore an item is to run its schedules, the last one first, and the schedules that these
//! lead to, depth first. [`explore_item`] does so until there were so many executions, and gives the
//! [rest](Explored::rest), which is an item again. What holds:
//! * every execution of a search belongs to one item, however the search is cut into items, and in whatever
//!   order they are explored: counts add up exactly;
//! * the executions of an item, one after the other, and then those of its rest, are those of the item in
//!   order; and to explore the schedules of an item one by one, the last one first, is to explore the item.
//!   So the order of all executions is fixed by the program and the [rank](crate::Options::order) alone, and
//!   "the first failure" means the same however the work was shared;
//! * an item is of the program, the options and what was found out of the program ([`Program::begin_again`])
//!   when it was made: when the search has to be begun again, all items are void.
//!
//! As text, an item is its schedules, one a line.

use std::fmt;
use std::str::FromStr;

use mazurka_program::{Footprints, Program, Run, Schedule, ScheduleError};

use crate::explore::Typed;
use crate::walk::Walk;
use crate::{Monitor, Options, Summary, wake_up};

/// A part of a search that is left to do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Item {
    /// The schedules, the next one last.
    pub schedules: Vec<Schedule>,
}

impl Item {
    /// The whole search.
    pub fn whole() -> Item {
        Item { schedules: vec![Schedule::default()] }
    }

    /// Whether nothing is left to do.
    pub fn is_empty(&self) -> bool {
        self.schedules.is_empty()
    }

    /// An item for each schedule, in the order in which they are explored.
    pub fn split(self) -> impl Iterator<Item = Item> {
        self.schedules.into_iter().rev().map(|schedule| Item { schedules: vec![schedule] })
    }

    /// So many items at most, of about as many schedules each, in the order in which they are explored.
    pub(crate) fn parts(&self, most: usize) -> Vec<Item> {
        let (len, parts) = (self.schedules.len(), self.schedules.len().min(most));
        let part =
            |k: usize| Item { schedules: self.schedules[k * len / parts..(k + 1) * len / parts].to_vec() };
        (0..parts).rev().map(part).collect()
    }
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.schedules.iter().try_for_each(|schedule| writeln!(f, "{schedule}"))
    }
}

impl FromStr for Item {
    type Err = ScheduleError;

    fn from_str(text: &str) -> Result<Item, ScheduleError> {
        Ok(Item { schedules: text.lines().map(str::parse).collect::<Result<_, _>>()? })
    }
}

/// What came of an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explored {
    /// What was found, of this item alone.
    pub summary: Summary,
    /// Whether the search is over, before all was explored: somebody asked for that, a limit was reached, or
    /// it has to be begun again. The summary says why.
    pub is_over: bool,
    /// What is left to do; nothing if the search is over.
    pub rest: Item,
}

/// Explores an item, by `wake-up`, until there were so many executions or nothing is left.
pub fn explore_item<P: Program>(
    program: &P,
    item: Item,
    most: u64,
    options: &Options,
    monitor: &mut dyn Monitor<P::Run>,
) -> Explored {
    let run: Box<dyn Run> = Box::new(program.start(Footprints::Dynamic));
    let mut monitor = Typed::new(monitor);
    wake_up::search_item(Walk::new(run, true, options, &mut monitor), item, most)
}
