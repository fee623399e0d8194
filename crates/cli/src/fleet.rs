//! Searches that many machines share, through a PostgreSQL database: `mazurka check --on URL` hands one over
//! and waits for it ([`wait`]), `mazurka worker --join URL` works at those that are there ([`clerk`],
//! [`explorer`]), `mazurka status` and `mazurka cancel` are for people.
//!
//! A search is told by the header that a journal would have: the texts of the files, the options and the
//! version of the command; its hash is that of all these. An item of the database is a stretch of the search
//! ([`explore_stretch`](mazurka_explore::explore_stretch)), so what workers report are parts whose order is
//! fixed by the program, and whoever waits puts them together in that order, as a search that a journal was
//! kept of is gone on with. An item that ends the search (a failure, a limit) is explored again by who waits:
//! so the report is that of a search on one machine.
//!
//! A Rust test is run by its own program, which every worker has: only schedules travel ([`test_program`],
//! [`test_judge`]).
//!
//! C and C++ travel as machine code, which runs in processes of its own ([`child`], [`serve`]; what is said
//! between them is [`protocol`](mazurka_ledger::protocol)). What counts of what they found is decided by the process that
//! waits ([`judge`]), which knows of the program what one machine would; how others come to know the same is
//! [`evidence`].

mod child;
mod clerk;
mod evidence;
mod explorer;
mod job;
mod judge;
mod serve;
mod status;
mod test_judge;
mod test_program;
mod wait;

use std::path::Path;
use std::time::Duration;

use mazurka_explore::Algorithm;
use mazurka_fleet::{Address, Store, StoreError};
use mazurka_report::json::ErrorKind;

use crate::args::{CheckArgs, DEFAULT_ALGORITHM, LimitArgs, WorkerArgs};
use crate::error::CommandError;
use crate::executions::ExecutionArgs;
use crate::front_end::FrontEnd;
use crate::journal;

pub use serve::serve;
pub use status::{cancel, status};
pub use wait::{Elsewhere, hand_over, helped, resume};

/// So long a database that is gone is waited for: for a restart, or for somebody to mend it.
const PATIENCE: Duration = Duration::from_secs(600);

/// Whether what is to be resumed is in a database.
pub fn is_address(path: &Path) -> bool {
    path.to_str().is_some_and(Address::is_meant)
}

/// Complains of what can't be handed over.
pub fn refuse(
    arguments: &CheckArgs,
    front_end: &dyn FrontEnd,
    algorithm: Algorithm,
) -> Result<(), CommandError> {
    if !(front_end.can_be_resumed() || front_end.is_machine_code()) {
        return Err(CommandError::unsupported(
            "other machines can't search programs of this kind; leave out --on",
        ));
    }
    if algorithm != Algorithm::WakeUp {
        return Err(CommandError::unsupported(format!(
            "a search can be shared by --algorithm wake-up only, not by {algorithm}; choose that, or leave out --on"
        )));
    }
    let of_one_run = [
        ("--max-executions", arguments.limits.max_executions.is_some()),
        ("--replay", arguments.replay.is_some()),
        ("--journal (MAZURKA_JOURNAL)", journal::asked_for(arguments).is_some()),
    ];
    if let Some((option, _)) = of_one_run.into_iter().find(|(_, given)| *given) {
        return Err(beside(option));
    }
    refuse_stories(&arguments.executions)
}

/// Complains of what is told of every execution: only what failed comes back.
pub fn refuse_stories(executions: &ExecutionArgs) -> Result<(), CommandError> {
    executions.given().map_or(Ok(()), |option| Err(beside(option)))
}

fn beside(option: &str) -> CommandError {
    CommandError::new(ErrorKind::Usage, format!("{option} can't be had beside --on; leave one of them out"))
}

/// `mazurka check --on URL -- BINARY TEST`: hands the search of a Rust test over, and gives the exit status.
pub fn check_test(url: &str, arguments: &CheckArgs) -> Result<u8, CommandError> {
    let LimitArgs { max_executions, max_depth, max_unroll, max_memory, seed, .. } = &arguments.limits;
    let known = [Algorithm::WakeUp.name(), DEFAULT_ALGORITHM.name()];
    let of_the_test = [
        ("--algorithm", !known.contains(&&*arguments.algorithm)),
        ("--param", !arguments.params.is_empty()),
        ("--json", arguments.json),
        ("--keep-going", arguments.keep_going),
        ("--replay", arguments.replay.is_some()),
        ("--as-published", arguments.as_published.is_some()),
        ("--full-trace", arguments.full_trace),
        ("--max-executions", max_executions.is_some()),
        ("--max-depth", max_depth.is_some()),
        ("--max-unroll", max_unroll.is_some()),
        ("--max-memory", max_memory.is_some()),
        ("--seed", seed.is_some()),
    ];
    let told = of_the_test.into_iter().find(|(_, given)| *given).map(|(option, _)| option);
    match told.or(arguments.executions.given()) {
        Some(option) => Err(CommandError::unsupported(format!(
            "a Rust test has no {option}: it reports by itself, with options of its own (mazurka::Checker, MAZURKA_... in the \
             environment)"
        ))),
        None => wait::hand_over_test(url, arguments),
    }
}

/// `mazurka worker`: works at what there is.
pub fn work(arguments: &WorkerArgs) -> Result<u8, CommandError> {
    clerk::work(arguments)
}

fn address(text: &str) -> Result<Address, CommandError> {
    text.parse().map_err(CommandError::input)
}

fn connect(address: &Address) -> Result<Store, CommandError> {
    Store::connect(address, PATIENCE).map_err(wrong)
}

fn wrong(error: StoreError) -> CommandError {
    CommandError::input(error)
}
