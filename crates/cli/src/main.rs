//! The `mazurka` command: flags and glue.
//!
//! What is checked comes from a front end, how from `mazurka-explore`, what is said of it from
//! `mazurka-report`. Here arguments become options of those, and verdicts become exit statuses: 0 pass, 1
//! failure, 2 no verdict (usage, bad input, unsupported, a bug of ours), 3 not exhaustive.

mod abs;
mod algorithms;
mod architecture;
mod args;
mod attend;
mod check;
mod compare;
mod compile_commands;
mod completions;
mod constraints;
mod copies;
mod error;
mod estimate;
mod executions;
#[cfg_attr(not(feature = "postgres"), path = "no_fleet.rs")]
mod fleet;
mod front_end;
mod guard;
mod input;
mod interrupt;
mod journal;
mod litmus;
mod machine_code;
mod man;
mod native;
mod output;
mod parameters;
mod print;

use std::process::ExitCode;

use clap::Parser;

use args::{Cli, Command};
use error::CommandError;
use mazurka_native::driver::Driver;
use native::Worker;

fn main() -> ExitCode {
    let mut arguments: Vec<_> = std::env::args_os().collect();
    if let Some(status) = fleet::serve(&arguments) {
        return ExitCode::from(status);
    }
    let worker = Worker::of(&mut arguments);
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    let json = cli.command.json();
    output::talk(cli.command.talk());
    match guard::guarded(|| run(&cli.command, worker.as_ref())) {
        Ok(status) => ExitCode::from(status),
        Err(error) => error.report(json),
    }
}

/// Does what was asked for, and gives the exit status.
fn run(command: &Command, worker: Option<&Worker>) -> Result<u8, CommandError> {
    match command {
        Command::Check(arguments) => check::run(arguments, worker),
        Command::Resume(arguments) if fleet::is_address(&arguments.journal) => {
            fleet::resume(arguments, worker)
        }
        Command::Resume(arguments) => journal::resume(arguments, worker),
        Command::Worker(arguments) => fleet::work(arguments),
        Command::Status(arguments) => fleet::status(arguments),
        Command::Cancel(arguments) => fleet::cancel(arguments),
        Command::Compare(arguments) => compare::run(arguments, worker),
        Command::Architecture(arguments) => architecture::run(arguments, worker),
        Command::Constraints(arguments) => constraints::run(arguments, worker),
        Command::Estimate(arguments) => estimate::run(arguments, worker),
        Command::Print(arguments) => print::run(arguments),
        Command::Algorithms(arguments) => algorithms::run(arguments),
        Command::Completions(arguments) => completions::run(arguments),
        Command::Man => man::run(),
        Command::Cc(arguments) => native::compile(Driver::C, &arguments.words),
        Command::Cxx(arguments) => native::compile(Driver::Cxx, &arguments.words),
    }
}

/// Help and the version are no errors; whatever else clap says is. `--json` is honoured although nothing was
/// parsed.
fn usage(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        // That nobody reads the help to its end is fine.
        let _ = error.print();
        return ExitCode::SUCCESS;
    }
    let json = std::env::args().take_while(|argument| argument != "--").any(|argument| argument == "--json");
    CommandError::of_usage(error).report(json)
}
