//! `mazurka status` and `mazurka cancel`.

use mazurka_fleet::{SearchStatus, WorkerStatus};
use mazurka_report::clean;
use serde_json::{Value, json};

use super::{address, connect, wrong};
use crate::args::{CancelArgs, StatusArgs};
use crate::error::CommandError;
use crate::output;

/// So many searches are told, the last ones.
const MOST: i64 = 50;

/// So much of a hash tells searches apart.
const SHORT: usize = 16;

/// Tells how far searches are, and who works at them.
pub fn status(arguments: &StatusArgs) -> Result<u8, CommandError> {
    let address = address(&arguments.url)?;
    let (searches, workers) = connect(&address)?.status(MOST).map_err(wrong)?;
    if arguments.json {
        let object = json!({
            "schema": 1,
            "searches": searches.iter().map(search_json).collect::<Vec<_>>(),
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

fn search_json(search: &SearchStatus) -> Value {
    json!({
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
        "note": worker.note,
    })
}

/// The share that is behind us. Of sums of many shares the last digits say nothing.
fn share(search: &SearchStatus) -> f64 {
    if search.state == "done" { 1.0 } else { (search.share * 1e9).floor() / 1e9 }
}

fn text(searches: &[SearchStatus], workers: &[WorkerStatus]) -> String {
    let mut text = String::new();
    if searches.is_empty() {
        text += "no searches\n";
    }
    for search in searches {
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
    }
    if workers.is_empty() {
        text += "no workers\n";
    }
    for worker in workers {
        let WorkerStatus { id, process, threads, version, items, held, seen, .. } = worker;
        let host = clean(&worker.host);
        text += &format!("worker {id}: {host}, process {process}, mazurka {version}, {threads} threads; ");
        text += &format!("{items} items done, at {held}; seen {seen:.0} s ago\n");
        if !worker.note.is_empty() {
            text += &format!("  {}\n", clean(&worker.note));
        }
    }
    text
}
