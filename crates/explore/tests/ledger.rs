//! A search that is kept ends the same wherever it is cut off, and again cut off, by any number of workers.

#[expect(dead_code, reason = "other tests have other programs")]
mod toy;

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;

use mazurka_explore::{
    Beginning, Counts, DoneItem, Ending, ItemPlace, Jobs, Ledger, Limits, Monitor, NotExhaustive, OpenItem,
    Options, Order, StretchEnd, Summary, explore_jobs_from, explore_stretch,
};
use mazurka_program::Program;
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

    fn begin_again(&mut self, _: Option<&OpenItem>) -> Result<(), String> {
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
        let (open, done) = (self.open.values().cloned().collect(), self.done.clone());
        let beginning = Beginning { found_out: Vec::new(), open, done };
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

/// A search in stretches, which are taken in any order, left anywhere, cut anywhere and halted: put together
/// by their places, and gone on with from the first that ends it, they are the search of one worker.
fn in_stretches(program: &Toy, options: &Options, ends_at: Option<u32>, seed: usize) -> Ended {
    let mut random = seed;
    let mut draw = |most: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % most
    };
    let mut left = vec![Beginning::<Seen>::whole().open];
    let (mut done, mut end): (Vec<DoneItem<Seen>>, Option<OpenItem>) = (Vec::new(), None);
    while !left.is_empty() {
        let items = left.swap_remove(draw(left.len()));
        let (first, most, mut times) = (items[0].place.clone(), draw(4), 0);
        let mut enough = || {
            times += 1;
            times > most
        };
        let (monitor, halt) = (|| Seen { executions: 0, ends_at }, AtomicBool::new(draw(5) == 0));
        let stretch = explore_stretch(
            program,
            options,
            items,
            &monitor,
            &mut || program.begin_again(),
            &mut enough,
            &halt,
        );
        assert!(stretch.done.first().is_none_or(|item| item.place == first));
        let places =
            stretch.done.iter().map(|item| &item.place).chain(stretch.left.iter().map(|item| &item.place));
        assert!(places.is_sorted(), "what is left comes after what is done");
        done.extend(stretch.done);
        let size = 1 + draw(3);
        left.extend(stretch.left.chunks(size).map(<[OpenItem]>::to_vec));
        if let StretchEnd::Over(item) = stretch.end
            && end.as_ref().is_none_or(|end| item.place < end.place)
        {
            left.retain(|items| items[0].place < item.place);
            end = Some(item);
        }
    }
    done.retain(|item| end.as_ref().is_none_or(|end| item.place < end.place));
    let open = end.into_iter().map(|end| (end.place.clone(), end)).collect();
    Few { most: 0, open, done }.go_on(program, options, 1, ends_at, 0)
}

#[test]
fn a_search_in_stretches_ends_the_same() {
    let program = Toy(vec![vec![Update(0); 4]; 3]);
    for (seed, ends_at) in [(1, None), (2, None), (3, Some(2)), (4, Some(2)), (5, Some(1)), (6, Some(0))] {
        let order = if seed == 2 { Order::Shuffled(7) } else { Order::Natural };
        let options = Options { order, ..Options::default() };
        let expected = Few::new().go_on(&program, &options, 1, ends_at, usize::MAX);
        assert_eq!(in_stretches(&program, &options, ends_at, seed), expected, "{seed} {ends_at:?}");
    }
}
