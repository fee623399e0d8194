//! A thread of a worker: explores the items that the clerk gives it.
//!
//! Each has programs of its own, so that what is found out about one is found out in one item, and others can
//! find it out by exploring that. Machine code and Rust tests are in processes of their own for each, and what is
//! found out about them is the affair of who waits for the search.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender};
use std::time::{Duration, Instant};

use mazurka_explore::{Beginning, OpenItem, Options, StretchEnd};
use mazurka_fleet::{Lease, Left, Outcome, Said, SearchId};
use mazurka_ledger::encoding;
use mazurka_report::{Collected, Part, together};

use super::child::Child;
use super::evidence::{Account, Step, hash_of};
use super::job::Job;
use crate::front_end::AnyTarget;
use mazurka_ledger::protocol::{Answer, Ask};

/// No more programs are kept.
const MOST_PROGRAMS: usize = 8;

/// An item that is to be explored.
pub struct Task {
    pub lease: Lease,
    pub job: Arc<Job>,
    pub found_out: Arc<Vec<Vec<u8>>>,
    /// How long.
    pub budget: Duration,
    /// Into how many items the rest is to be cut.
    pub pieces: usize,
}

/// What a thread says when it has nothing to do: which one it is, and what came of its last item.
pub struct Free {
    pub thread: usize,
    pub said: Option<(Lease, Said)>,
}

/// A program, and whose it is.
struct Program {
    place: Place,
    job: Arc<Job>,
}

/// Where a program is, and how it is searched.
enum Place {
    Here(Box<dyn AnyTarget>, Options),
    /// In a process of its own.
    Apart(Child),
}

impl Program {
    /// Loads it, knowing what was found out before. A process that knows some of that goes on.
    fn load(task: &Task, earlier: Option<Program>, halt: &AtomicBool) -> Option<Program> {
        let started = match earlier {
            Some(Program { place: Place::Apart(child), job }) if Arc::ptr_eq(&job, &task.job) => {
                Some(Ok(child))
            }
            _ => task.job.start(),
        };
        let place = match started {
            None => {
                let (target, options) = task.job.load_knowing(&task.found_out).ok()?;
                Place::Here(target, options)
            }
            Some(child) => {
                let mut child = child.ok()?;
                let known = child.ask(&Ask::Know(task.found_out.to_vec()), &|| !halt.load(Relaxed))?;
                (known == Answer::Ready).then_some(Place::Apart(child))?
            }
        };
        Some(Program { place, job: task.job.clone() })
    }
}

/// What a thread does until nobody has anything for it any more. `halt` ends an item at once.
pub fn explore(thread: usize, tasks: &Receiver<Task>, free: &Sender<Free>, halt: &AtomicBool) {
    let mut programs: HashMap<(SearchId, i32), Program> = HashMap::new();
    let mut said = None;
    while free.send(Free { thread, said: said.take() }).is_ok() {
        let Ok(task) = tasks.recv() else { return };
        if programs.len() >= MOST_PROGRAMS {
            programs.clear();
        }
        let key = (task.lease.search, task.lease.generation);
        // A panic is a bug of ours: the item counts as tried, and the program may be in any state.
        let came = catch_unwind(AssertUnwindSafe(|| explored(&task, &mut programs, halt)));
        let is_halted = || halt.load(Relaxed).then(|| given_back(&task.lease.body)).flatten();
        let came = came.unwrap_or(None).or_else(is_halted).unwrap_or(Said::Failed);
        if !matches!(came, Said::Done(_)) {
            programs.remove(&key);
        }
        said = Some((task.lease, came));
    }
}

/// What came of an item; none if it could not be explored.
fn explored(
    task: &Task,
    programs: &mut HashMap<(SearchId, i32), Program>,
    halt: &AtomicBool,
) -> Option<Said> {
    let items = encoding::read_open_items(&task.lease.body)?;
    if task.lease.tries > 1 && items.len() > 1 {
        return split_off(items);
    }
    let key = (task.lease.search, task.lease.generation);
    // Nothing of an earlier generation is wanted any more.
    let earlier =
        programs.keys().find(|(search, generation)| *search == key.0 && *generation < key.1).copied();
    let earlier = earlier.and_then(|key| programs.remove(&key));
    if programs.get(&key).is_none_or(|known| !Arc::ptr_eq(&known.job, &task.job)) {
        programs.insert(key, Program::load(task, earlier, halt)?);
    }
    match &mut programs.get_mut(&key)?.place {
        Place::Here(target, options) => explored_here(task, (&**target, options), items, halt),
        Place::Apart(child) => {
            let said = explored_apart(task, child, &items, halt);
            let ends = matches!(&said, Some(Said::Done(Outcome { end: Some(_), .. })));
            if said.is_none() || (ends && task.job.is_test()) {
                // It died, or was not waited for, or a thread of the test may still go round in it.
                programs.remove(&key);
            }
            said
        }
    }
}

/// What came of an item of a program that is in this process.
fn explored_here(
    task: &Task,
    (target, options): (&dyn AnyTarget, &Options),
    items: Vec<OpenItem>,
    halt: &AtomicBool,
) -> Option<Said> {
    let started = Instant::now();
    let place = place(&items.first()?.place);
    let mut enough = || started.elapsed() >= task.budget || halt.load(Relaxed);
    let stretch = target.check_stretch(options, items, &mut enough, halt);
    let end = match stretch.end {
        StretchEnd::Enough => None,
        StretchEnd::Over(item) => Some(left(&[item])?),
        StretchEnd::FoundOut(item) => {
            return Some(Said::FoundOut { evidence: encoding::open_items(&[item]).ok()?, whole: whole()? });
        }
    };
    let done = together(stretch.done);
    let part = done.as_ref().map(|part| encoding::parts([part])).transpose().ok()?;
    // What comes behind the end is of no use.
    let left = if end.is_some() { Vec::new() } else { cut(&stretch.left, task.pieces)? };
    Some(Said::Done(Outcome { place, part, left, end, ..told(done.as_ref(), started) }))
}

/// What came of an item of a program that is in another process.
fn explored_apart(task: &Task, child: &mut Child, items: &[OpenItem], halt: &AtomicBool) -> Option<Said> {
    let started = Instant::now();
    let body = task.lease.body.clone();
    let ask = Ask::Explore { items: body.clone(), milliseconds: task.budget.as_millis() as u64 };
    let Answer::Came(came) = child.ask(&ask, &|| !halt.load(Relaxed))? else { return Some(Said::Failed) };
    let [end, rest] = [&came.end, &came.left].map(|bytes| encoding::read_open_items(bytes));
    let (end, rest) = (end?, rest?);
    let done = encoding::read_parts(&came.parts)?.pop();
    let part = done.as_ref().map(|_| {
        if task.job.is_test() {
            return Some(came.parts);
        }
        let left = hash_of(&[&end[..], &rest].concat())?;
        let step = Step::TakenUp { learned: came.learned, items: body, done: came.done, left };
        Some(Account { parts: came.parts, steps: vec![step] }.encoded())
    });
    Some(Said::Done(Outcome {
        place: place(&items.first()?.place),
        part: part.map_or(Some(None), |part| part.map(Some))?,
        left: cut(&rest, task.pieces)?,
        end: if end.is_empty() { None } else { Some(left(&end)?) },
        ..told(done.as_ref(), started)
    }))
}

/// What is told of some part besides what it is.
fn told(done: Option<&Part>, started: Instant) -> Outcome {
    Outcome {
        share: done.map_or(0.0, |part| part.share),
        executions: done.map_or(0, |part| part.summary.counts.executions()) as i64,
        failures: done.map_or(0, |part| part.monitor.found.len()) as i32,
        milliseconds: started.elapsed().as_millis() as i64,
        ..Outcome::default()
    }
}

/// Nobody wants it any more, or others are to have it.
fn given_back(body: &[u8]) -> Option<Said> {
    let items = encoding::read_open_items(body)?;
    let place = place(&items.first()?.place);
    Some(Said::Done(Outcome { place, left: vec![left(&items)?], ..Outcome::default() }))
}

/// Somebody had the item before and did not finish it: what it is that can't be done is tried by itself, so
/// that no more is given up than that.
fn split_off(items: Vec<OpenItem>) -> Option<Said> {
    let place = place(&items.first()?.place);
    let (first, others) = items.split_at(1);
    let left = vec![left(first)?, left(others)?];
    Some(Said::Done(Outcome { place, left, ..Outcome::default() }))
}

/// The whole search.
pub fn whole() -> Option<Vec<u8>> {
    encoding::open_items(&Beginning::<Collected>::whole().open).ok()
}

/// Items that follow each other, as so many items of the database at most, each with about as much of the
/// search: the first are small ones, of which the last leaves little.
pub fn cut(items: &[OpenItem], pieces: usize) -> Option<Vec<Left>> {
    let most = items.iter().map(|item| item.share).sum::<f64>() / pieces.max(1) as f64;
    let (mut cut, mut first, mut share) = (Vec::new(), 0, 0.0);
    for (at, item) in items.iter().enumerate() {
        if share > 0.0 && share + item.share > most && cut.len() + 1 < pieces {
            cut.push(left(&items[first..at])?);
            (first, share) = (at, 0.0);
        }
        share += item.share;
    }
    cut.extend((first < items.len()).then(|| left(&items[first..])).flatten());
    Some(cut)
}

fn left(items: &[OpenItem]) -> Option<Left> {
    let body = encoding::open_items(items).ok()?;
    let share = items.iter().map(|item| item.share).sum();
    Some(Left { place: place(&items.first()?.place), share, body })
}

/// A place as bytes, whose order is that of places.
pub fn place(place: &[u32]) -> Vec<u8> {
    place.iter().flat_map(|number| number.to_be_bytes()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_ordered_as_their_bytes() {
        let places: [&[u32]; 7] = [&[], &[0], &[0, 0], &[0, 256], &[1], &[255], &[256, 1]];
        assert!(places.is_sorted());
        assert!(places.map(place).is_sorted());
    }

    #[test]
    fn what_is_left_is_cut_in_order() {
        let shares = [1.0, 1.0, 2.0, 4.0, 8.0, 16.0];
        let item =
            |(number, share): (u32, f64)| OpenItem { place: vec![number], item: Default::default(), share };
        let items: Vec<OpenItem> = (0..).zip(shares).map(item).collect();
        for (pieces, sizes) in
            [(0, vec![6]), (1, vec![6]), (2, vec![5, 1]), (3, vec![4, 1, 1]), (9, vec![2, 1, 1, 1, 1])]
        {
            let cut = cut(&items, pieces).unwrap();
            let read: Vec<_> =
                cut.iter().map(|left| encoding::read_open_items(&left.body).unwrap()).collect();
            assert_eq!(read.iter().map(Vec::len).collect::<Vec<_>>(), sizes);
            assert_eq!(read.concat(), items);
            assert_eq!(cut.iter().map(|left| left.share).sum::<f64>(), 32.0);
        }
        assert_eq!(cut(&[], 3), Some(vec![]));
    }
}
