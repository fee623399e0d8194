//! Items and what came of them, as bytes: JSON, in which schedules are as people see them.
//!
//! What is read is what was written, or nothing. What can't be written is refused when it is met: no item
//! that was explored to its end has it.

use mazurka_explore::{Counts, Item, NotExhaustive, OpenItem, Summary};
use mazurka_program::{Failure, FailureKind, Place, ProcessId, Schedule};
use mazurka_report::{Collected, DistinctFailure, Part};
use serde_json::{Value, json};

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
pub fn open_item(open: &OpenItem) -> Result<Vec<u8>, String> {
    let schedules: Vec<Value> = open.item.schedules.iter().map(schedule).collect::<Result<_, _>>()?;
    Ok(json!({ "place": open.place, "share": open.share, "schedules": schedules }).to_string().into_bytes())
}

/// The item that was written so.
pub fn read_open_item(bytes: &[u8]) -> Option<OpenItem> {
    let value: Value = serde_json::from_slice(bytes).ok()?;
    let schedules = value["schedules"].as_array()?.iter().map(read_schedule).collect::<Option<_>>()?;
    let (place, share) = (read_place_in_search(&value["place"])?, value["share"].as_f64()?);
    Some(OpenItem { place, item: Item { schedules }, share })
}

/// What came of some items, in order.
pub fn parts<'a>(parts: impl Iterator<Item = &'a Part>) -> Result<Vec<u8>, String> {
    let parts: Vec<Value> = parts.map(part).collect::<Result<_, _>>()?;
    Ok(Value::from(parts).to_string().into_bytes())
}

/// What was written so.
pub fn read_parts(bytes: &[u8]) -> Option<Vec<Part>> {
    let value: Value = serde_json::from_slice(bytes).ok()?;
    value.as_array()?.iter().map(read_part).collect()
}

fn part(part: &Part) -> Result<Value, String> {
    let Summary { counts, not_exhaustive, broken, note } = &part.summary;
    if broken.is_some() || note.is_some() || part.monitor.interrupted {
        return Err("the journal has no words for what came of a part of the search".to_owned());
    }
    let failures: Vec<Value> = part.monitor.found.iter().map(failure).collect::<Result<_, _>>()?;
    Ok(json!({
        "place": part.place,
        "share": part.share,
        "counts": numbers(counts),
        "missed": missed(not_exhaustive.as_ref())?,
        "failures": failures,
        "more": part.monitor.more,
    }))
}

fn read_part(value: &Value) -> Option<Part> {
    let counts = read_counts(&value["counts"])?;
    let not_exhaustive = read_missed(&value["missed"])?;
    let found = value["failures"].as_array()?.iter().map(read_failure).collect::<Option<_>>()?;
    Some(Part {
        place: read_place_in_search(&value["place"])?,
        share: value["share"].as_f64()?,
        summary: Summary { counts, not_exhaustive, broken: None, note: None },
        monitor: Collected { found, more: value["more"].as_bool()?, interrupted: false },
    })
}

/// The counts of which `wake-up` has any.
fn numbers(counts: &Counts) -> [u64; 9] {
    let Counts { complete, blocked, assumed, stopped, cut, deadlocks, events, longest, memory, .. } = *counts;
    [complete, blocked, assumed, stopped, cut, deadlocks, events, longest as u64, memory]
}

fn read_counts(value: &Value) -> Option<Counts> {
    let numbers: Vec<u64> = value.as_array()?.iter().map(Value::as_u64).collect::<Option<_>>()?;
    let [complete, blocked, assumed, stopped, cut, deadlocks, events, longest, memory] =
        numbers.try_into().ok()?;
    let longest = usize::try_from(longest).ok()?;
    let counts = Counts { complete, blocked, assumed, stopped, cut, deadlocks, ..Counts::default() };
    Some(Counts { events, longest, memory, ..counts })
}

/// What an item may have missed although it was explored to its end.
fn missed(why: Option<&NotExhaustive>) -> Result<Value, String> {
    Ok(match why {
        None => Value::Null,
        Some(NotExhaustive::Depth(most)) => json!(["depth", most]),
        Some(NotExhaustive::Unrolled(most, what)) => json!(["unrolled", most, what]),
        Some(NotExhaustive::Undecided) => json!(["undecided"]),
        Some(other) => return Err(format!("the journal has no words for this: {other}")),
    })
}

/// Whether something was missed, if that can be read.
#[expect(clippy::option_option, reason = "nothing that can be read is not the same as nothing missed")]
fn read_missed(value: &Value) -> Option<Option<NotExhaustive>> {
    if value.is_null() {
        return Some(None);
    }
    let most = || usize::try_from(value[1].as_u64()?).ok();
    Some(Some(match value[0].as_str()? {
        "depth" => NotExhaustive::Depth(most()?),
        "unrolled" => NotExhaustive::Unrolled(most()?, value[2].as_str()?.to_owned()),
        "undecided" => NotExhaustive::Undecided,
        _ => return None,
    }))
}

fn failure(found: &DistinctFailure) -> Result<Value, String> {
    let Failure { kind, message, place, process } = &found.failure;
    Ok(json!({
        "kind": kind.name(),
        "message": message,
        "place": place.as_ref().map(place_in_source),
        "process": process.map(|process| process.0),
        "waits": found.waits.iter().map(place_in_source).collect::<Vec<_>>(),
        "schedule": schedule(&found.schedule)?,
        "executions": found.executions,
        "varies": found.varies,
    }))
}

fn read_failure(value: &Value) -> Option<DistinctFailure> {
    let kind = value["kind"].as_str()?;
    let optional = |value: &Value| Some(value.clone()).filter(|value| !value.is_null());
    let place = match optional(&value["place"]) {
        Some(place) => Some(read_place_in_source(&place)?),
        None => None,
    };
    let process = match optional(&value["process"]) {
        Some(process) => Some(ProcessId(read_u32(&process)?)),
        None => None,
    };
    Some(DistinctFailure {
        failure: Failure {
            kind: KINDS.into_iter().find(|known| known.name() == kind)?,
            message: value["message"].as_str()?.to_owned(),
            place,
            process,
        },
        waits: value["waits"].as_array()?.iter().map(read_place_in_source).collect::<Option<_>>()?,
        schedule: read_schedule(&value["schedule"])?,
        executions: value["executions"].as_u64()?,
        varies: value["varies"].as_bool()?,
    })
}

fn place_in_source(place: &Place) -> Value {
    json!([place.file, place.line, place.column])
}

fn read_place_in_source(value: &Value) -> Option<Place> {
    let (line, column) = (read_u32(&value[1])?, read_u32(&value[2])?);
    Some(Place { file: value[0].as_str()?.to_owned(), line, column })
}

fn read_place_in_search(value: &Value) -> Option<Vec<u32>> {
    value.as_array()?.iter().map(read_u32).collect()
}

fn schedule(schedule: &Schedule) -> Result<Value, String> {
    match schedule.steps.len() {
        ..=MOST_STEPS => Ok(Value::from(schedule.to_string())),
        steps => Err(format!("an execution of {steps} steps is too long for the journal")),
    }
}

fn read_schedule(value: &Value) -> Option<Schedule> {
    value.as_str()?.parse().ok()
}

fn read_u32(value: &Value) -> Option<u32> {
    u32::try_from(value.as_u64()?).ok()
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

    #[test]
    fn what_is_read_is_what_was_written() {
        let item = Item { schedules: ["v1:", "v1:0*3,1,0.1#2"].map(|text| text.parse().unwrap()).to_vec() };
        for share in [1.0, 0.1, 1.0 / 3.0, 1e-300] {
            let open = OpenItem { place: vec![0, u32::MAX], item: item.clone(), share };
            assert_eq!(read_open_item(&open_item(&open).unwrap()), Some(open));
        }
        let counts = Counts { complete: u64::MAX, events: 1, longest: 2, memory: 3, ..Counts::default() };
        let unrolled = NotExhaustive::Unrolled(5, "a loop".to_owned());
        let reasons = [None, Some(NotExhaustive::Depth(7)), Some(unrolled), Some(NotExhaustive::Undecided)];
        for not_exhaustive in reasons {
            let summary = Summary { counts, not_exhaustive, broken: None, note: None };
            let found = KINDS.map(|kind| found(kind, "v1:0,1*2")).to_vec();
            let monitor = Collected { found, more: true, interrupted: false };
            let part = Part { place: vec![1], share: 0.1, summary, monitor };
            let bytes = parts([&part, &part].into_iter()).unwrap();
            assert_eq!(read_parts(&bytes), Some(vec![part.clone(), part]));
        }
    }

    #[test]
    fn what_is_something_else_is_not_read() {
        for text in
            ["", "{}", "[{}]", "null", "[1]", "{\"place\":[-1],\"share\":1,\"schedules\":[]}", "[", "\u{0}"]
        {
            assert_eq!(read_open_item(text.as_bytes()), None, "{text}");
            assert_eq!(read_parts(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn what_ends_a_search_is_not_written() {
        let summary = Summary {
            counts: Counts::default(),
            not_exhaustive: Some(NotExhaustive::Stopped),
            broken: None,
            note: None,
        };
        let part = Part { place: vec![], share: 1.0, summary, monitor: Collected::default() };
        assert!(parts([&part].into_iter()).is_err());
    }
}
