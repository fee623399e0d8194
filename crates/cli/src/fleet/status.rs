//! `mazurka status` and `mazurka cancel`.

use std::time::Duration;

use mazurka_explore::Estimate;
use mazurka_fleet::{SearchStatus, Store, WorkerStatus};
use mazurka_report::clean;
use serde_json::{Value, json};

use super::job::Job;
use super::{address, connect, wrong};
use crate::args::{CancelArgs, StatusArgs};
use crate::error::CommandError;
use crate::{estimate, output};

/// So many searches are told, the last ones.
const MOST: i64 = 50;

/// For how many executions, and how long, the size of a search is estimated.
const ESTIMATED: u64 = 100_000;
const ESTIMATING: Duration = Duration::from_secs(5);

/// So much of a hash tells searches apart.
const SHORT: usize = 16;

/// Tells how far searches are, and who works at them.
pub fn status(arguments: &StatusArgs) -> Result<u8, CommandError> {
    let address = address(&arguments.url)?;
    let mut store = connect(&address)?;
    let (searches, workers) = store.status(MOST).map_err(wrong)?;
    let mut estimates = Vec::new();
    for search in &searches {
        let is_wanted = arguments.estimate && matches!(&*search.state, "running" | "paused");
        estimates.push(if is_wanted { Some(estimate(&mut store, search)?) } else { None });
    }
    let searches: Vec<_> = searches.into_iter().zip(estimates).collect();
    if arguments.json {
        let object = json!({
            "schema": 1,
            "searches": searches.iter().map(|(search, estimate)| search_json(search, estimate.as_ref())).collect::<Vec<_>>(),
            "workers": workers.iter().map(worker_json).collect::<Vec<_>>(),
        });
        output::stdout(&format!("{object}\n"))?;
        return Ok(0);
    }
    output::stdout(&text(&searches, &workers))?;
    Ok(0)
}

/// Ends a search for good.
pub fn cancel(arguments: &CancelArgs) -> Result<u8, CommandError> {
    let address = address(&arguments.url)?;
    let search = arguments.search;
    if !connect(&address)?.cancel(search).map_err(wrong)? {
        return Err(CommandError::input(format!("{address}: there is no search {search} that is not over")));
    }
    output::stdout(&format!("search {search} is cancelled\n"))?;
    Ok(0)
}

/// About how many executions a search has in all, or why that is not told.
type Told = Result<Estimate, String>;

/// Estimates how large a search is, here, from the text of its program.
fn estimate(store: &mut Store, status: &SearchStatus) -> Result<Told, CommandError> {
    let SearchStatus { id, generation, .. } = *status;
    let Some(search) = store.search(id).map_err(wrong)? else { return Ok(Err("it is gone".to_owned())) };
    let found_out = store.found_out(id, generation).map_err(wrong)?;
    let loaded = Job::header_of(&search).and_then(|header| {
        let job = Job::with(header);
        match job.is_apart() {
            true => Err("it is told of .maz and ABS programs only".to_owned()),
            false => job.load_knowing(&found_out).map_err(|error| error.message().to_owned()),
        }
    });
    Ok(loaded.map(|(target, mut options)| {
        options.limits.time = Some(ESTIMATING);
        options.keep_going = true;
        target.estimate(ESTIMATED, &options)
    }))
}

/// The words for that.
fn told(estimate: &Told) -> String {
    match estimate {
        Ok(found) => estimate::total_text(found),
        Err(why) => format!("unknown: {why}\n"),
    }
}

fn search_json(search: &SearchStatus, estimate: Option<&Told>) -> Value {
    let range = estimate.and_then(|told| told.as_ref().ok()).and_then(Estimate::range).unzip();
    json!({
        "estimated_executions": estimate.and_then(|told| told.as_ref().ok()).and_then(Estimate::total),
        "estimated_least": range.0,
        "estimated_most": range.1,
        "id": search.id,
        "hash": search.hash,
        "program": search.title,
        "user": search.owner,
        "state": search.state,
        "begun_again": search.generation,
        "seconds": search.seconds,
        "share_done": share(search),
        "executions": search.executions,
        "executions_per_second": search.rate,
        "failures": search.failures,
        "is_ending": search.is_ending,
        "items_waiting": search.ready,
        "items_held": search.held,
        "items_given_up": search.given_up,
        "worked_seconds": search.worked,
    })
}

fn worker_json(worker: &WorkerStatus) -> Value {
    json!({
        "id": worker.id,
        "host": worker.host,
        "process": worker.process,
        "threads": worker.threads,
        "version": worker.version,
        "seconds": worker.seconds,
        "seen_seconds_ago": worker.seen,
        "items_held": worker.held,
        "items_done": worker.items,
        "executions": worker.executions,
        "executions_per_second": worker.rate,
        "note": worker.note,
    })
}

/// The share that is behind us. Of sums of many shares the last digits say nothing.
fn share(search: &SearchStatus) -> f64 {
    if search.state == "done" { 1.0 } else { (search.share * 1e9).floor() / 1e9 }
}

fn text(searches: &[(SearchStatus, Option<Told>)], workers: &[WorkerStatus]) -> String {
    let mut text = String::new();
    if searches.is_empty() {
        text += "no searches\n";
    }
    for (search, estimate) in searches {
        let SearchStatus { id, state, executions, rate, seconds, ready, held, .. } = search;
        let done = 100.0 * share(search);
        text += &format!("search {id}: {}\n", clean(&search.title));
        text += &format!(
            "  {state}, {done:.1} % of the branches known so far; {executions} executions, {rate:.0}/s; "
        );
        text += &format!("{seconds:.0} s\n  {ready} items wait, {held} are at work");
        if search.given_up > 0 {
            text += &format!(", {} given up", search.given_up);
        }
        if search.failures > 0 || search.is_ending {
            text += "; something was met that failed, or that ends the search";
        }
        if search.generation > 0 {
            text += &format!("; begun again {} times", search.generation);
        }
        let hash: String = search.hash.chars().take(SHORT).collect();
        text += &format!("\n  begun by {}, hash {hash}\n", clean(&search.owner));
        text +=
            &estimate.as_ref().map_or_else(String::new, |estimate| format!("  in all {}", told(estimate)));
    }
    if workers.is_empty() {
        text += "no workers\n";
    }
    for worker in workers {
        let WorkerStatus { id, process, threads, version, items, held, seen, executions, rate, .. } = worker;
        let host = clean(&worker.host);
        text += &format!("worker {id}: {host}, process {process}, mazurka {version}, {threads} threads; ");
        text += &format!(
            "{items} items done, at {held}; {executions} executions, {rate:.0}/s; seen {seen:.0} s ago\n"
        );
        if !worker.note.is_empty() {
            text += &format!("  {}\n", clean(&worker.note));
        }
    }
    text
}
