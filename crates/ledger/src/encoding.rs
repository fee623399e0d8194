//! Items and what came of them, as bytes.
//!
//! What is read is what was written, or nothing: everything is one [frame](mazurka_journal::frame), whose
//! checksum tells bytes that were cut or garbled. Numbers and texts are those of that module; schedules are as
//! people see them. What can't be written is refused when it is met: no item that was explored to its end
//! has it.
//!
//! ```text
//! place    = length, numbers
//! item     = place, share (8 bytes), length, schedules
//! part     = place, share (8 bytes), 9 counts, missed, length, failures, whether there were more, learned
//! learned  = length, bytes of the front end
//! missed   = nothing | depth | unrolled | undecided, by a number, and what belongs to it
//! failure  = kind (its name), message, source?, process?, length, sources, schedule, executions, whether it varies
//! source   = file, line, column
//! x?       = 0, or 1 and x
//! ```

use mazurka_explore::{Counts, FoundOut, Item, ItemPlace, NotExhaustive, OpenItem, Summary};
use mazurka_journal::frame::{framed, put_bytes, put_number, take_bytes, take_frame, take_number};
use mazurka_program::{Failure, FailureKind, Place, ProcessId, Schedule};
use mazurka_report::{Collected, DistinctFailure, Part};

/// The form that is written here. Who keeps bytes says so beside them, and does not read those of another.
pub const FORMAT: &str = "3";

/// A longer schedule can't be read again.
const MOST_STEPS: usize = 1_000_000;

const KINDS: [FailureKind; 14] = [
    FailureKind::Assertion,
    FailureKind::Panic,
    FailureKind::Exception,
    FailureKind::Arithmetic,
    FailureKind::Deadlock,
    FailureKind::Livelock,
    FailureKind::Hang,
    FailureKind::DataRace,
    FailureKind::Memory,
    FailureKind::InvalidSync,
    FailureKind::StackOverflow,
    FailureKind::Nondeterminism,
    FailureKind::Constraint,
    FailureKind::ExitStatus,
];

/// An item that is to be explored.
///
/// # Errors
/// If it can't be written: why.
pub fn open_item(open: &OpenItem) -> Result<Vec<u8>, String> {
    written(|to| put_open_item(to, open))
}

/// The item that was written so.
pub fn read_open_item(bytes: &[u8]) -> Option<OpenItem> {
    read(bytes, take_open_item)
}

/// Items that follow each other.
///
/// # Errors
/// If one can't be written: why.
pub fn open_items(items: &[OpenItem]) -> Result<Vec<u8>, String> {
    written(|to| put_list(to, items, put_open_item))
}

/// Those that were written so.
pub fn read_open_items(bytes: &[u8]) -> Option<Vec<OpenItem>> {
    read(bytes, |from| take_list(from, take_open_item))
}

/// What came of some items, in order.
///
/// # Errors
/// If that can't be written: why.
pub fn parts<'a>(parts: impl IntoIterator<Item = &'a Part>) -> Result<Vec<u8>, String> {
    let parts: Vec<&Part> = parts.into_iter().collect();
    written(|to| put_list(to, &parts, |to, part| put_part(to, part)))
}

/// What was written so.
pub fn read_parts(bytes: &[u8]) -> Option<Vec<Part>> {
    read(bytes, |from| take_list(from, take_part))
}

/// What was found out about a program, in order.
///
/// # Errors
/// If that can't be written: why.
pub fn found_out(known: &[FoundOut]) -> Result<Vec<u8>, String> {
    written(|to| {
        put_list(to, known, |to, FoundOut { learned, item }| {
            put_list(to, learned, |to, learned| put_learned(to, learned))?;
            put_open_item(to, item)
        })
    })
}

/// What was written so.
pub fn read_found_out(bytes: &[u8]) -> Option<Vec<FoundOut>> {
    let take = |from: &mut &[u8]| {
        Some(FoundOut { learned: take_list(from, take_learned)?, item: take_open_item(from)? })
    };
    read(bytes, |from| take_list(from, take))
}

fn written(put: impl FnOnce(&mut Vec<u8>) -> Result<(), String>) -> Result<Vec<u8>, String> {
    let mut body = Vec::new();
    put(&mut body)?;
    framed(&body).ok_or_else(|| "a part of the search would be longer than 1 GiB".to_owned())
}

/// Reads all of some bytes, or nothing.
fn read<T>(mut bytes: &[u8], take: impl FnOnce(&mut &[u8]) -> Option<T>) -> Option<T> {
    let mut body = take_frame(&mut bytes).filter(|_| bytes.is_empty())?;
    take(&mut body).filter(|_| body.is_empty())
}

fn put_open_item(to: &mut Vec<u8>, open: &OpenItem) -> Result<(), String> {
    put_place(to, &open.place);
    put_share(to, open.share);
    put_list(to, &open.item.schedules, put_schedule)
}

fn take_open_item(from: &mut &[u8]) -> Option<OpenItem> {
    let (place, share) = (take_place(from)?, take_share(from)?);
    Some(OpenItem { place, share, item: Item { schedules: take_list(from, take_schedule)? } })
}

fn put_part(to: &mut Vec<u8>, part: &Part) -> Result<(), String> {
    let Summary { counts, not_exhaustive, broken, note } = &part.summary;
    let Collected { found, more, interrupted } = &part.monitor;
    if broken.is_some() || note.is_some() || *interrupted {
        return Err("there are no words for what came of a part of the search".to_owned());
    }
    put_place(to, &part.place);
    put_share(to, part.share);
    numbers(counts).into_iter().for_each(|number| put_number(to, number));
    put_missed(to, not_exhaustive.as_ref())?;
    put_list(to, found, put_failure)?;
    put_truth(to, *more);
    put_list(to, &part.learned, |to, learned| put_learned(to, learned))
}

fn take_part(from: &mut &[u8]) -> Option<Part> {
    let (place, share) = (take_place(from)?, take_share(from)?);
    let (counts, not_exhaustive) = (take_counts(from)?, take_missed(from)?);
    let (found, more) = (take_list(from, take_failure)?, take_truth(from)?);
    let learned = take_list(from, take_learned)?;
    let summary = Summary { counts, not_exhaustive, broken: None, note: None };
    Some(Part { place, share, summary, monitor: Collected { found, more, interrupted: false }, learned })
}

/// The counts of which `wake-up` has any.
fn numbers(counts: &Counts) -> [u64; 9] {
    let Counts { complete, blocked, assumed, stopped, cut, deadlocks, events, longest, memory, .. } = *counts;
    [complete, blocked, assumed, stopped, cut, deadlocks, events, longest as u64, memory]
}

fn take_counts(from: &mut &[u8]) -> Option<Counts> {
    let mut numbers = [0; 9];
    for number in &mut numbers {
        *number = take_number(from)?;
    }
    let [complete, blocked, assumed, stopped, cut, deadlocks, events, longest, memory] = numbers;
    let longest = usize::try_from(longest).ok()?;
    let counts = Counts { complete, blocked, assumed, stopped, cut, deadlocks, ..Counts::default() };
    Some(Counts { events, longest, memory, ..counts })
}

const NOTHING: u64 = 0;
const DEPTH: u64 = 1;
const UNROLLED: u64 = 2;
const UNDECIDED: u64 = 3;

/// What an item may have missed although it was explored to its end.
fn put_missed(to: &mut Vec<u8>, why: Option<&NotExhaustive>) -> Result<(), String> {
    match why {
        None => put_number(to, NOTHING),
        Some(NotExhaustive::Depth(most)) => {
            [DEPTH, *most as u64].into_iter().for_each(|number| put_number(to, number));
        }
        Some(NotExhaustive::Unrolled(most, what)) => {
            [UNROLLED, *most as u64].into_iter().for_each(|number| put_number(to, number));
            put_bytes(to, what.as_bytes());
        }
        Some(NotExhaustive::Undecided) => put_number(to, UNDECIDED),
        Some(other) => return Err(format!("there are no words for this: {other}")),
    }
    Ok(())
}

/// Whether something was missed, if that can be read.
#[expect(clippy::option_option, reason = "nothing that can be read is not the same as nothing missed")]
fn take_missed(from: &mut &[u8]) -> Option<Option<NotExhaustive>> {
    let most = |from: &mut &[u8]| usize::try_from(take_number(from)?).ok();
    Some(match take_number(from)? {
        NOTHING => None,
        DEPTH => Some(NotExhaustive::Depth(most(from)?)),
        UNROLLED => Some(NotExhaustive::Unrolled(most(from)?, take_text(from)?)),
        UNDECIDED => Some(NotExhaustive::Undecided),
        _ => return None,
    })
}

fn put_failure(to: &mut Vec<u8>, found: &DistinctFailure) -> Result<(), String> {
    let Failure { kind, message, place, process } = &found.failure;
    put_bytes(to, kind.name().as_bytes());
    put_bytes(to, message.as_bytes());
    put_list(to, place.as_slice(), put_source)?;
    put_list(to, process.as_slice(), |to, process| {
        put_number(to, process.0.into());
        Ok(())
    })?;
    put_list(to, &found.waits, put_source)?;
    put_schedule(to, &found.schedule)?;
    put_number(to, found.executions);
    put_truth(to, found.varies);
    Ok(())
}

fn take_failure(from: &mut &[u8]) -> Option<DistinctFailure> {
    let name = take_text(from)?;
    let kind = KINDS.into_iter().find(|known| known.name() == name)?;
    let (message, place) = (take_text(from)?, take_optional(from, take_source)?);
    let process = take_optional(from, |from| take_u32(from).map(ProcessId))?;
    let failure = Failure { kind, message, place, process };
    let (waits, schedule) = (take_list(from, take_source)?, take_schedule(from)?);
    let (executions, varies) = (take_number(from)?, take_truth(from)?);
    Some(DistinctFailure { failure, waits, schedule, executions, varies })
}

fn put_source(to: &mut Vec<u8>, place: &Place) -> Result<(), String> {
    put_bytes(to, place.file.as_bytes());
    [place.line, place.column].into_iter().for_each(|number| put_number(to, number.into()));
    Ok(())
}

fn take_source(from: &mut &[u8]) -> Option<Place> {
    Some(Place { file: take_text(from)?, line: take_u32(from)?, column: take_u32(from)? })
}

fn put_schedule(to: &mut Vec<u8>, schedule: &Schedule) -> Result<(), String> {
    if schedule.steps.len() > MOST_STEPS {
        return Err(format!("an execution of {} steps is too long to be kept", schedule.steps.len()));
    }
    put_bytes(to, schedule.to_string().as_bytes());
    Ok(())
}

fn take_schedule(from: &mut &[u8]) -> Option<Schedule> {
    std::str::from_utf8(take_bytes(from)?).ok()?.parse().ok()
}

fn put_learned(to: &mut Vec<u8>, learned: &[u8]) -> Result<(), String> {
    put_bytes(to, learned);
    Ok(())
}

fn take_learned(from: &mut &[u8]) -> Option<Vec<u8>> {
    take_bytes(from).map(<[u8]>::to_vec)
}

fn put_place(to: &mut Vec<u8>, place: &[u32]) {
    put_number(to, place.len() as u64);
    place.iter().for_each(|number| put_number(to, (*number).into()));
}

fn take_place(from: &mut &[u8]) -> Option<ItemPlace> {
    take_list(from, take_u32)
}

fn put_share(to: &mut Vec<u8>, share: f64) {
    to.extend(share.to_bits().to_le_bytes());
}

fn take_share(from: &mut &[u8]) -> Option<f64> {
    let (bits, rest) = from.split_first_chunk()?;
    *from = rest;
    Some(f64::from_bits(u64::from_le_bytes(*bits)))
}

fn put_truth(to: &mut Vec<u8>, truth: bool) {
    put_number(to, truth.into());
}

fn take_truth(from: &mut &[u8]) -> Option<bool> {
    match take_number(from)? {
        0 => Some(false),
        1 => Some(true),
        _ => None,
    }
}

fn take_text(from: &mut &[u8]) -> Option<String> {
    String::from_utf8(take_bytes(from)?.to_vec()).ok()
}

fn take_u32(from: &mut &[u8]) -> Option<u32> {
    u32::try_from(take_number(from)?).ok()
}

fn put_list<T>(
    to: &mut Vec<u8>,
    list: &[T],
    mut put: impl FnMut(&mut Vec<u8>, &T) -> Result<(), String>,
) -> Result<(), String> {
    put_number(to, list.len() as u64);
    list.iter().try_for_each(|one| put(to, one))
}

/// Nothing is laid out before it is read: the length may be anything.
fn take_list<T>(from: &mut &[u8], mut take: impl FnMut(&mut &[u8]) -> Option<T>) -> Option<Vec<T>> {
    let mut list = Vec::new();
    for _ in 0..take_number(from)? {
        list.push(take(from)?);
    }
    Some(list)
}

/// A list of one at most.
#[expect(clippy::option_option, reason = "nothing that can be read is not the same as nothing there")]
fn take_optional<T>(from: &mut &[u8], take: impl FnMut(&mut &[u8]) -> Option<T>) -> Option<Option<T>> {
    let mut list = take_list(from, take)?;
    let first = list.pop();
    list.is_empty().then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(line: u32) -> Place {
        Place { file: "it's \"here\"\n.maz".to_owned(), line, column: u32::MAX }
    }

    fn found(kind: FailureKind, schedule: &str) -> DistinctFailure {
        let failure = Failure {
            kind,
            message: "x = 1\u{1b} é".to_owned(),
            place: (kind == FailureKind::Assertion).then(|| place(3)),
            process: (kind != FailureKind::Deadlock).then_some(ProcessId(7)),
        };
        let waits = if kind == FailureKind::Deadlock { vec![place(1), place(2)] } else { Vec::new() };
        let schedule = schedule.parse().unwrap();
        DistinctFailure { failure, waits, schedule, executions: u64::MAX, varies: kind == FailureKind::Panic }
    }

    fn items() -> Vec<OpenItem> {
        let item = Item { schedules: ["v1:", "v1:0*3,1,0.1#2"].map(|text| text.parse().unwrap()).to_vec() };
        let open = |share| OpenItem { place: vec![0, u32::MAX], item: item.clone(), share };
        [1.0, 0.1, 1.0 / 3.0, 1e-300].map(open).to_vec()
    }

    fn some_parts() -> Vec<Part> {
        let counts = Counts { complete: u64::MAX, events: 1, longest: 2, memory: 3, ..Counts::default() };
        let unrolled = NotExhaustive::Unrolled(5, "a loop".to_owned());
        let reasons = [None, Some(NotExhaustive::Depth(7)), Some(unrolled), Some(NotExhaustive::Undecided)];
        let part = |not_exhaustive| {
            let summary = Summary { counts, not_exhaustive, broken: None, note: None };
            let found = KINDS.map(|kind| found(kind, "v1:0,1*2")).to_vec();
            {
                let monitor = Collected { found, more: true, ..Collected::default() };
                let learned = vec![b"some\xffthing".to_vec(), vec![]];
                Part { place: vec![1], share: 0.1, summary, monitor, learned }
            }
        };
        reasons.map(part).to_vec()
    }

    #[test]
    fn what_is_read_is_what_was_written() {
        for open in items() {
            assert_eq!(read_open_item(&open_item(&open).unwrap()), Some(open));
        }
        assert_eq!(read_open_items(&open_items(&items()).unwrap()), Some(items()));
        assert_eq!(read_open_items(&open_items(&[]).unwrap()), Some(Vec::new()));
        assert_eq!(read_parts(&parts(&some_parts()).unwrap()), Some(some_parts()));
        assert_eq!(read_parts(&parts([]).unwrap()), Some(Vec::new()));
        let known = items().into_iter().map(|item| FoundOut { learned: vec![b"it".to_vec()], item });
        let known: Vec<FoundOut> = known.collect();
        assert_eq!(read_found_out(&found_out(&known).unwrap()), Some(known));
    }

    #[test]
    fn what_was_cut_or_garbled_is_not_read() {
        let (open, done) = (open_items(&items()).unwrap(), parts(&some_parts()[..1]).unwrap());
        let is_read = |bytes: &[u8]| read_open_items(bytes).is_some() || read_parts(bytes).is_some();
        for written in [open, done] {
            assert!(is_read(&written));
            for at in 0..written.len() {
                assert!(!is_read(&written[..at]), "cut at {at}");
                for damage in [0x01, 0x80, 0xff] {
                    let mut bytes = written.clone();
                    bytes[at] ^= damage;
                    assert!(!is_read(&bytes), "{damage:#x} at {at}");
                }
            }
            assert!(!is_read(&[&written[..], &[0]].concat()), "something follows");
        }
    }

    /// As [`what_was_cut_or_garbled_is_not_read`], of bytes whose checksum is right: somebody else wrote them.
    #[test]
    fn what_somebody_else_wrote_is_something_or_nothing() {
        let take_all = |body: &[u8]| {
            let framed = framed(body).unwrap();
            let (items, found) = (read_open_items(&framed), read_parts(&framed));
            // What was read can be written, and is read again: shares may be no numbers.
            items.into_iter().for_each(|items| drop(open_items(&items).unwrap()));
            found.into_iter().for_each(|found| drop(parts(&found).unwrap()));
        };
        for written in [open_items(&items()).unwrap(), parts(&some_parts()).unwrap()] {
            let body = take_frame(&mut &written[..]).unwrap();
            for at in 0..body.len() {
                take_all(&body[..at]);
                for damage in [0x01, 0x7f, 0x80, 0xff] {
                    let mut bytes = body.to_vec();
                    bytes[at] ^= damage;
                    take_all(&bytes);
                }
            }
        }
        // A list that says that it is longer than any memory.
        let mut long = Vec::new();
        put_number(&mut long, u64::MAX);
        take_all(&long);
    }

    #[test]
    fn what_is_something_else_is_not_read() {
        for text in ["", "{}", "[{}]", "{\"place\":[],\"share\":1.0,\"schedules\":[\"v1:\"]}", "\u{0}"] {
            assert_eq!(read_open_item(text.as_bytes()), None, "{text}");
            assert_eq!(read_parts(text.as_bytes()), None, "{text}");
        }
        assert_eq!(read_parts(&open_item(&items()[0]).unwrap()), None);
    }

    #[test]
    fn what_ends_a_search_is_not_written() {
        for why in [NotExhaustive::Stopped, NotExhaustive::Undecided] {
            let is_written = why == NotExhaustive::Undecided;
            let counts = Counts::default();
            let summary = Summary { counts, not_exhaustive: Some(why), broken: None, note: None };
            let part =
                Part { place: vec![], share: 1.0, summary, monitor: Collected::default(), learned: vec![] };
            assert_eq!(parts([&part]).is_ok(), is_written);
        }
    }
}
