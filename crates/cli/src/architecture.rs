//! `mazurka architecture`: which processes of a program share what, and what follows for `data-centric`.

use std::time::Duration;

use mazurka_constraints::Solver;
use mazurka_explore::Algorithm;
use mazurka_report::Architecture;
use serde_json::{Value, json};

use crate::args::ArchitectureArgs;
use crate::error::CommandError;
use crate::front_end::{self, Loaded, Request};
use crate::native::Worker;
use crate::{interrupt, output, parameters};

/// How long it looks, and at how many executions, if nobody says otherwise: what there is to be seen is seen
/// soon.
const TIME: Duration = Duration::from_secs(10);
const EXECUTIONS: u64 = 20_000;

/// Looks, tells, and gives the exit status.
pub fn run(arguments: &ArchitectureArgs, worker: Option<&Worker>) -> Result<u8, CommandError> {
    let front_end = front_end::of_files(&arguments.files)?;
    if let Some(file) = &arguments.svg {
        let name = file.display();
        output::writable(file).map_err(|error| {
            CommandError::input(format!("{name}: the picture can't be written: {error}")).at(&name)
        })?;
    }
    let given = parameters::one_program(front_end, &arguments.params, &arguments.front_end)?;
    let request = Request {
        files: &arguments.files,
        options: &given,
        algorithms: &[Algorithm::Optimal],
        limits: &arguments.limits,
        worker,
        texts: None,
        helps: None,
        solver: Solver::default(),
    };
    let target = match front_end.load(&request)? {
        Loaded::Here(target) => target,
        Loaded::Elsewhere(status) => return Ok(status),
    };
    let mut options = arguments.limits.options(true);
    options.limits.time.get_or_insert(TIME);
    options.limits.executions.get_or_insert(EXECUTIONS);
    let _interruptible = interrupt::listen();
    let architecture = target.architecture(front_end::name_of(&arguments.files), &options);
    if let Some(file) = &arguments.svg {
        let name = file.display();
        std::fs::write(file, architecture.svg()).map_err(|error| {
            CommandError::input(format!("{name}: the picture can't be written: {error}")).at(&name)
        })?;
    }
    output::stdout(&if arguments.json {
        format!("{}\n", object(&architecture))
    } else {
        architecture.text()
    })?;
    Ok(0)
}

fn object(architecture: &Architecture) -> Value {
    let (_, guarantee) = architecture.verdict();
    let links: Vec<Value> = architecture
        .links
        .iter()
        .map(|link| {
            let name = |at: usize| architecture.processes[at].as_str();
            json!({
                "between": [name(link.between.0), name(link.between.1)],
                "locations": link.locations,
                "free": link.free,
                "creates": link.creates,
                "joins": link.joins,
            })
        })
        .collect();
    json!({
        "schema": mazurka_report::json::SCHEMA,
        "program": architecture.program,
        "processes": architecture.processes,
        "links": links,
        "acyclic": architecture.acyclic,
        "all_but_two": architecture.all_but_two,
        "ordered": architecture.ordered,
        "root": architecture.root,
        "guarantee": guarantee,
        "not_covered": architecture.uncovered,
        "executions": architecture.executions,
        "partial": architecture.partial,
    })
}
