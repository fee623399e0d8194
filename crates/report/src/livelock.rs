//! Livelocks, told: who goes round and round, where, and what it reads.

use mazurka_program::{AccessKind, Explain, Failure, FailureKind, Location, Place, ProcessId};
use mazurka_trace::Trace;

/// So many of its last steps tell what a process that goes round and round reads.
const LAST_STEPS: usize = 64;

/// So many processes are named, and so many things that one of them reads.
const NAMED: usize = 3;

/// The livelock that an execution has ended in.
pub(crate) fn livelock_of<R: Explain>(run: &R, trace: &Trace) -> Failure {
    let looping = looping(run, trace);
    let place = |process: ProcessId| run.rounds().and_then(|rounds| rounds.place(process));
    let mut parts: Vec<String> = looping
        .iter()
        .take(NAMED)
        .map(|(process, read)| told(run, *process, read, place(*process)))
        .collect();
    match looping.len().saturating_sub(NAMED) {
        0 => {}
        1 => parts.push("1 more goes round".to_owned()),
        more => parts.push(format!("{more} more go round")),
    }
    let first = looping.first().map(|one| one.0);
    let message = format!("{}; nobody is left {}", parts.join(", "), way_out(&looping));
    Failure { kind: FailureKind::Livelock, message, place: first.and_then(place), process: first }
}

/// What it would take for them to go on.
fn way_out(looping: &[(ProcessId, Vec<Location>)]) -> &'static str {
    let reads = looping.iter().any(|(_, read)| !read.is_empty());
    match (reads, looping.len()) {
        (true, 1) => "to change what it reads",
        (true, _) => "to change what they read, but they themselves",
        (false, 1) => "who could let it out",
        (false, _) => "who could let them out",
    }
}

fn told<R: Explain>(run: &R, process: ProcessId, read: &[Location], place: Option<Place>) -> String {
    let names = read.iter().filter_map(|&at| run.rounds().and_then(|rounds| rounds.location_name(at)));
    let mut names: Vec<String> = names.collect();
    names.dedup();
    let reading = match names.split_last() {
        None => String::new(),
        Some(_) if names.len() > NAMED => format!(", reading {} and others", names[..NAMED].join(", ")),
        Some((one, [])) => format!(", reading {one}"),
        Some((last, others)) => format!(", reading {} and {last}", others.join(", ")),
    };
    let at = place.map_or_else(String::new, |place| format!(" at {place}"));
    format!("{} goes round and round{at}{reading}", run.process_name(process))
}

/// Who goes round and round, in the order of names, each with what it reads.
fn looping<R: Explain>(run: &R, trace: &Trace) -> Vec<(ProcessId, Vec<Location>)> {
    let mut looping: Vec<_> =
        run.enabled().iter().map(|process| (process, read_last(trace, process))).collect();
    run.waiting(&mut |process, guard| {
        if run.goes_round(process) {
            looping.push((process, guard.map(|guard| guard.location).into_iter().collect()));
        }
    });
    looping.sort_by(|a, b| run.names().compare(a.0, b.0));
    looping
}

/// What a process that goes round and round reads and does not simply overwrite.
fn read_last(trace: &Trace, process: ProcessId) -> Vec<Location> {
    let own = trace.positions(process);
    let last = &own[own.len().saturating_sub(LAST_STEPS)..];
    let accesses =
        || last.iter().flat_map(|&step| trace.accesses(step as usize)).filter(|access| access.len == 1);
    let of = |writes: bool| {
        let of = accesses().filter(move |access| (access.kind == AccessKind::Write) == writes);
        of.map(|access| access.first)
    };
    let written: Vec<Location> = of(true).collect();
    let mut read: Vec<Location> = of(false).filter(|location| !written.contains(location)).collect();
    read.sort_unstable();
    read.dedup();
    read
}
