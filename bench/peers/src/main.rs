//! The library beside loom and shuttle, on the same programs in one run.
//!
//! `mazurka-peers [--seconds S] [PART OF A NAME]` prints a line a program: how many executions each tool
//! needs, how many it runs in a second of CPU time, and the ratios of those rates. The last lines compare
//! them with what is promised; the exit status is 1 if a promise is not kept.

mod measure;
mod programs;
mod table;
mod tools;

use std::process::ExitCode;
use std::time::Duration;

use measure::{measure, measure_apart};
use programs::CASES;
use table::Row;
use tools::Tool;

const USAGE: &str = "usage: mazurka-peers [--seconds S] [PART OF A PROGRAM'S NAME]";

/// What the command line asks for.
struct Request {
    /// CPU time that a measurement takes at least.
    at_least: Duration,
    /// Only programs whose name contains this.
    filter: String,
    /// Not the table, but the figures of this tool for the program of exactly that name.
    one: Option<Tool>,
}

fn main() -> ExitCode {
    let request = match parse(std::env::args().skip(1)) {
        Ok(request) => request,
        Err(error) => {
            eprintln!("mazurka-peers: {error}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let kept = match request.one {
        Some(tool) => print_one(tool, &request),
        None => print_table(&request),
    };
    if kept { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn print_one(tool: Tool, request: &Request) -> bool {
    let case = CASES.iter().find(|case| case.name == request.filter);
    if let Some(case) = case {
        println!("{}", measure(tool, case.program, request.at_least).to_line());
    }
    case.is_some()
}

fn print_table(request: &Request) -> bool {
    table::print_header();
    let mut rows = Vec::new();
    for case in CASES.iter().filter(|case| case.name.contains(&request.filter)) {
        let by = |tool| measure_apart(tool, case, request.at_least);
        let row = Row { case, ours: by(Tool::Ours), loom: by(Tool::Loom), shuttle: by(Tool::Shuttle) };
        row.print();
        rows.push(row);
    }
    table::print_verdicts(&rows)
}

fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Request, String> {
    let mut request = Request { at_least: Duration::from_secs(1), filter: String::new(), one: None };
    while let Some(argument) = arguments.next() {
        if argument == "--seconds" {
            let seconds =
                arguments.next().and_then(|text| text.parse().ok()).filter(|&seconds| seconds > 0.0);
            let duration = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
            request.at_least = duration.ok_or("--seconds needs a number above 0")?;
        } else if argument == "--one" {
            let tool = arguments.next().and_then(|name| Tool::by_name(&name));
            request.one = Some(tool.ok_or("--one needs the name of a tool")?);
        } else if argument.starts_with('-') {
            return Err(format!("no option {argument}"));
        } else {
            request.filter = argument;
        }
    }
    if CASES.iter().any(|case| case.name.contains(&request.filter)) {
        Ok(request)
    } else {
        let names: Vec<&str> = CASES.iter().map(|case| case.name).collect();
        Err(format!("no program has {:?} in its name: {}", request.filter, names.join(", ")))
    }
}
