//! `mazurka algorithms`: what each explores, needs and guarantees.

use mazurka_explore::{Algorithm, Need, Published};
use serde_json::{Value, json};

use crate::args::{AlgorithmsArgs, DEFAULT_ALGORITHM};
use crate::error::CommandError;
use crate::output;

/// Lists, and gives the exit status.
pub fn run(arguments: &AlgorithmsArgs) -> Result<u8, CommandError> {
    output::stdout(&if arguments.json { format!("{}\n", object()) } else { text() })?;
    Ok(0)
}

/// What holds of a search that an algorithm has ended, each in a few words. Laws hold it to that.
fn guarantees(algorithm: Algorithm) -> Vec<String> {
    let met = "every failure, deadlock and final state is met";
    let words: &[&str] = match algorithm {
        Algorithm::Naive => &[met, "each interleaving once"],
        Algorithm::Source => &[met, "no trace is completed twice"],
        Algorithm::Optimal => &[met, "each trace once, and nothing is blocked"],
        Algorithm::WakeUp => &[
            met,
            "each trace once, and nothing is blocked",
            "nothing is remembered but the schedules that are left to run",
        ],
        Algorithm::OptimalObservers => &[
            "every failure and deadlock is met, but not every final value of shared variables",
            "each class once, and nothing is blocked",
            "not exhaustive where a step has several outcomes that others can notice",
        ],
        Algorithm::SourceContext => {
            &[met, "no trace is completed twice", "tested against brute force; there is no proof"]
        }
        Algorithm::SourceConstraints => &[met, "no trace is completed twice"],
        Algorithm::Convergent | Algorithm::ConvergentConstraints => &[met, "each final state once"],
        Algorithm::DataCentric => &[
            "every failure and deadlock is met, but not every final value of shared variables",
            "each reads-from class once, if cycles of processes have at most two edges about variables that \
             several processes overwrite (mazurka architecture tells); else no trace is completed twice",
            "not supported: awaits and loops that spin, messages, notifications and timeouts, steps that read \
             several locations and vary",
        ],
        Algorithm::ReadsFrom => &[
            "every failure and deadlock is met, but not every final value of shared variables",
            "each class once; nothing is blocked but where processes wait for plain variables",
        ],
        Algorithm::Random => &["a failure that is met is real"],
        Algorithm::Published(_) => &["a failure that is met is real"],
    };
    words.iter().map(|&words| words.to_owned()).chain(algorithm.misses()).collect()
}

/// What an algorithm needs of a program, each in a few words.
fn needs(algorithm: Algorithm) -> Vec<&'static str> {
    let words = |need: &Need| match need {
        Need::States => "states that can be compared: .maz and .abs programs have them",
        Need::Receives => {
            "to know what a receive would take: .maz programs tell, .abs, C and C++ have no receives"
        }
        Need::Constraints => "to know when steps commute: .maz programs tell",
    };
    algorithm.needs().iter().map(words).collect()
}

fn text() -> String {
    let mut text = String::new();
    for algorithm in Algorithm::ALL {
        let default = if algorithm == DEFAULT_ALGORITHM { " (the default)" } else { "" };
        text += &format!("{algorithm}{default}\n");
        text += &row("explores", &[algorithm.summary()]);
        let needs = needs(algorithm);
        text += &row("needs", if needs.is_empty() { &["nothing of the program"] } else { &needs });
        text += &row("guarantees", &guarantees(algorithm));
        text += "\n";
    }
    text += "With --as-published, as the papers print them; never exhaustive:\n";
    for form in Published::ALL {
        let version = form.version();
        text += &format!(
            "  {:26} {version}  {}; misses behaviours of {}\n",
            form.name(),
            form.paper(),
            form.losses()
        );
    }
    text
}

/// A heading, and beside it some lines.
fn row(heading: &str, lines: &[impl AsRef<str>]) -> String {
    let heading = [heading].into_iter().chain(std::iter::repeat(""));
    heading.zip(lines).map(|(heading, line)| format!("  {heading:10}  {}\n", line.as_ref())).collect()
}

fn object() -> Value {
    let algorithm = |algorithm: Algorithm| {
        json!({
            "name": algorithm.name(),
            "default": algorithm == DEFAULT_ALGORITHM,
            "explores": algorithm.summary(),
            "needs": needs(algorithm),
            "guarantees": guarantees(algorithm),
            "exhaustive": algorithm.misses().is_none(),
        })
    };
    let form = |form: Published| {
        json!({
            "name": form.name(),
            "version": form.version(),
            "paper": form.paper(),
            "loses": form.losses(),
        })
    };
    json!({
        "schema": mazurka_report::json::SCHEMA,
        "algorithms": Algorithm::ALL.map(algorithm),
        "as_published": Published::ALL.map(form),
    })
}
