//! `mazurka constraints`: when the steps of a program commute.

use std::time::Instant;

use mazurka_constraints::{Settings, Solver, SolverProgram, Standing, Table};
use mazurka_explore::Algorithm;
use serde_json::{Value, json};

use crate::args::{ConstraintsArgs, LimitArgs, SolverName};
use crate::error::CommandError;
use crate::front_end::{self, Loaded, Request};
use crate::native::Worker;
use crate::{output, parameters};

/// Looks, tells, and gives the exit status.
pub fn run(arguments: &ConstraintsArgs, worker: Option<&Worker>) -> Result<u8, CommandError> {
    let front_end = front_end::of_files(&arguments.files)?;
    let given = parameters::one_program(front_end, &arguments.params, &arguments.front_end)?;
    let limits = LimitArgs::default();
    let request = Request {
        files: &arguments.files,
        options: &given,
        algorithms: &[Algorithm::Optimal],
        limits: &limits,
        worker,
        texts: None,
        helps: None,
        solver: Solver::default(),
    };
    let target = match front_end.load(&request)? {
        Loaded::Here(target) => target,
        Loaded::Elsewhere(status) => return Ok(status),
    };
    let solver = solver(arguments.solver, arguments.cross_check);
    let settings = Settings { solver, ..Settings::default() };
    let start = Instant::now();
    let Some(table) = target.constraints(&settings) else {
        let name = front_end::name_of(&arguments.files);
        return Err(CommandError::unsupported(format!(
            "{name}: constraints are told of .maz and .abs programs only"
        )));
    };
    let seconds = start.elapsed().as_secs_f64();
    output::stdout(&if arguments.json {
        format!("{}\n", object(&table, &front_end::name_of(&arguments.files), seconds))
    } else {
        text(&table, seconds)
    })?;
    let is_wrong = table.declared.iter().any(|row| matches!(row.standing, Standing::Refuted(_)));
    Ok(if is_wrong { 1 } else { 0 })
}

/// The solver of this name; compared with the procedure that is built in, if they are to be.
pub fn solver(name: SolverName, cross_check: bool) -> Solver {
    let program = match name {
        SolverName::Own if cross_check => SolverProgram::z3(),
        SolverName::Own => return Solver::Embedded,
        SolverName::Z3 => SolverProgram::z3(),
        SolverName::Cvc5 => SolverProgram::cvc5(),
    };
    if cross_check { Solver::Both(program) } else { Solver::Program(program) }
}

fn text(table: &Table, seconds: f64) -> String {
    let mut text = String::new();
    let mut notes: Vec<&str> = Vec::new();
    for row in &table.pairs {
        let name = |at: usize| table.blocks[at].name.as_str();
        let constraints = match row.constraints.is_empty() {
            true => "{}".to_owned(),
            false => format!("{{ {} }}", row.constraints.join(", ")),
        };
        text += &format!("I({}, {}) = {constraints}\n", name(row.blocks.0), name(row.blocks.1));
        if let Some(note) = &row.note
            && !notes.contains(&note.as_str())
        {
            notes.push(note);
        }
    }
    if table.pairs.is_empty() {
        text += "no two steps of different processes, of which something is known, have anything in common\n";
    }
    if table.apart > 0 {
        let (pairs, have) = if table.apart == 1 { ("pair", "has") } else { ("pairs", "have") };
        text += &format!("{} more {pairs} of steps {have} nothing in common\n", table.apart);
    }
    for block in &table.blocks {
        if let Err(why) = &block.block {
            text += &format!("nothing is known of {} (`{}`), which {why}\n", block.name, block.text);
        }
    }
    for row in &table.declared {
        let standing = match &row.standing {
            Standing::Proved => "proved".to_owned(),
            Standing::Refuted(how) => format!("wrong {how}"),
            Standing::Open(why) => format!("not proved: {why}"),
        };
        text += &format!("line {}: {}: {standing}\n", row.line, row.text);
    }
    notes.iter().for_each(|note| text += &format!("note: {note}\n"));
    text + &format!("in {seconds:.3} s\n")
}

fn object(table: &Table, program: &str, seconds: f64) -> Value {
    let blocks: Vec<Value> = table
        .blocks
        .iter()
        .map(|block| {
            json!({
                "name": block.name,
                "text": block.text,
                "line": block.line,
                "unknown": block.block.as_ref().err(),
            })
        })
        .collect();
    let pairs: Vec<Value> = table
        .pairs
        .iter()
        .map(|row| {
            let name = |at: usize| table.blocks[at].name.as_str();
            json!({
                "blocks": [name(row.blocks.0), name(row.blocks.1)],
                "constraints": row.constraints,
                "necessary": row.necessary,
                "note": row.note,
                "seconds": row.time.as_secs_f64(),
            })
        })
        .collect();
    let declared = table.declared.iter().map(|row| {
        let (standing, why) = match &row.standing {
            Standing::Proved => ("proved", None),
            Standing::Refuted(how) => ("wrong", Some(how)),
            Standing::Open(why) => ("not proved", Some(why)),
        };
        json!({ "text": row.text, "line": row.line, "standing": standing, "why": why })
    });
    json!({
        "schema": mazurka_report::json::SCHEMA,
        "program": program,
        "blocks": blocks,
        "pairs": pairs,
        "apart": table.apart,
        "declared": declared.collect::<Vec<_>>(),
        "seconds": seconds,
    })
}
