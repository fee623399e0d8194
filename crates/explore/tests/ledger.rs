//! A search that is kept ends the same wherever it is cut off, and again cut off, by any number of workers.

#[expect(dead_code, reason = "other tests have other programs")]
mod toy;

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use mazurka_explore::{
    Beginning, Counts, DoneItem, Ending, ItemPlace, Jobs, Ledger, Limits, Monitor, NotExhaustive, OpenItem,
    Options, Order, Summary, explore_jobs_from,
};
use mazurka_trace::Trace;
use toy::{Op::*, Toy, ToyRun};

/// Counts executions, and ends the search at one that begins with this process, if asked to.
#[derive(Clone, Debug, Default, PartialEq)]
struct Seen {
    executions: u64,
    ends_at: Option<u32>,
}

impl Monitor<ToyRun> for Seen {
    fn execution(&mut self, _: Ending, trace: &Trace, _: &ToyRun, _: &Counts) -> ControlFlow<()> {
        self.executions += 1;
        match self.ends_at {
            Some(process) if trace.process(0).0 == process => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    }
}

/// Keeps so many commits, and no more.
struct Few {
    most: usize,
    open: BTreeMap<ItemPlace, OpenItem>,
    done: Vec<DoneItem<Seen>>,
}

impl Ledger<Seen> for Few {
    fn commit(&mut self, done: &DoneItem<Seen>, left: &[OpenItem]) -> Result<(), String> {
        if self.most == 0 {
            return Err("full".to_owned());
        }
        self.most -= 1;
        assert!(self.open.remove(&done.place).is_some(), "an item that is not open: {:?}", done.place);
        self.open.extend(left.iter().map(|item| (item.place.clone(), item.clone())));
        self.done.push(done.clone());
        Ok(())
    }

    fn begin_again(&mut self) -> Result<(), String> {
        unreachable!("nothing is found out of a toy")
    }
}

impl Few {
    fn new() -> Few {
        let whole = Beginning::<Seen>::whole().open.remove(0);
        Few { most: 0, open: BTreeMap::from([(whole.place.clone(), whole)]), done: Vec::new() }
    }

    /// Goes on until so many more items are done.
    fn go_on(
        &mut self,
        program: &Toy,
        options: &Options,
        workers: usize,
        ends_at: Option<u32>,
        most: usize,
    ) -> Ended {
        self.most = most;
        let beginning = Beginning { open: self.open.values().cloned().collect(), done: self.done.clone() };
        let mut executions = 0;
        let jobs = Jobs {
            workers,
            monitor: &|| Seen { executions: 0, ends_at },
            collect: &mut |seen: Seen| executions += seen.executions,
            begin_again: &mut || {},
            watch: &mut |_, _| ControlFlow::Continue(()),
        };
        let summary = explore_jobs_from(program, options, jobs, beginning, self);
        (summary, executions)
    }
}

/// What a search said, and how many executions its monitors saw.
type Ended = (Summary, u64);

/// Cuts the search off after every `stride`-th number of items, and goes on twice.
fn ends_the_same(program: &Toy, options: &Options, ends_at: Option<u32>, stride: usize) -> Ended {
    let mut whole = Few::new();
    let expected = whole.go_on(program, options, 1, ends_at, usize::MAX);
    let items = whole.done.len();
    assert!(items > 10, "{items}");
    for first in (0..items).step_by(stride) {
        let mut few = Few::new();
        for (workers, most) in [(1, first), (2, (items - first) / 2)] {
            let (cut, _) = few.go_on(program, options, workers, ends_at, most);
            assert!(cut.not_exhaustive.is_some());
        }
        assert_eq!(few.done.len(), first + (items - first) / 2);
        let ended = few.go_on(program, options, 3, ends_at, usize::MAX);
        assert_eq!(ended, expected, "after {first} of {items}");
        // And again, when there is nothing left to do, or what ended it.
        assert_eq!(few.go_on(program, options, 1, ends_at, usize::MAX), expected);
    }
    expected
}

#[test]
fn a_search_that_is_cut_off_anywhere_ends_the_same() {
    let program = Toy(vec![vec![Update(0); 4]; 3]);
    for order in [Order::Natural, Order::Shuffled(3)] {
        let options = Options { order, ..Options::default() };
        let (summary, executions) = ends_the_same(&program, &options, None, 3);
        assert_eq!((summary.counts.complete, executions, summary.not_exhaustive), (34_650, 34_650, None));
    }
}

#[test]
fn a_search_that_ends_early_ends_there_again() {
    let program = Toy(vec![vec![Update(0); 4]; 3]);
    let (summary, executions) = ends_the_same(&program, &Options::default(), Some(2), 1);
    assert_eq!(summary.not_exhaustive, Some(NotExhaustive::Stopped));
    assert_eq!((summary.counts.complete, executions), (5811, 5811));
}

#[test]
fn what_was_missed_on_the_way_is_not_forgotten() {
    let program =
        Toy(vec![vec![Update(0); 4], vec![Update(0); 4], vec![Update(0), Update(0), Update(0), Read(0)]]);
    let limits = Limits { depth: 11, ..Limits::default() };
    let options = Options { limits, keep_going: true, ..Options::default() };
    let (summary, executions) = ends_the_same(&program, &options, None, 3);
    assert_eq!(summary.not_exhaustive, Some(NotExhaustive::Depth(11)));
    assert_eq!((summary.counts.cut, summary.counts.complete), (executions, 0));
}
