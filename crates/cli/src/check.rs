//! `mazurka check`: looks for failures of a program.

use std::path::Path;

use mazurka_program::{Explain, Program, Schedule};
use mazurka_report::{Progress, Report, Subject, TextOptions, check, check_schedule, json, text};

use crate::args::{CheckArgs, algorithm};
use crate::input::{self, FrontEnd};
use crate::trouble::Trouble;
use crate::{litmus, output};

/// Checks, reports, and gives the exit status.
pub fn run(arguments: &CheckArgs) -> Result<u8, Trouble> {
    let [file] = arguments.files.as_slice() else {
        return Err(Trouble::unsupported("a .maz program is one file; check them one at a time"));
    };
    // Whatever can be refused without looking at the program is.
    let algorithm = algorithm(&arguments.algorithm).map_err(Trouble::unsupported)?;
    if arguments.as_published {
        return Err(Trouble::unsupported(
            "none of naive, source, optimal has an as-published form; leave out --as-published",
        ));
    }
    let schedule = arguments.replay.as_deref().map(schedule).transpose()?;
    let front_end = input::front_end(file)?;
    let program = match front_end {
        FrontEnd::Litmus => litmus::load(file, &arguments.front_end)?,
    };
    let subject = Subject { program: file.display().to_string(), options: arguments.front_end.clone() };
    let report = match schedule {
        Some(schedule) => check_schedule(&program, subject, schedule).map_err(Trouble::input)?,
        None => search(&program, subject, algorithm, arguments),
    };
    output::stdout(&written(&report, arguments, file))?;
    Ok(report.verdict().exit_status())
}

fn schedule(argument: &str) -> Result<Schedule, Trouble> {
    input::schedule_text(argument)?.parse().map_err(|error| Trouble::input(format!("--replay: {error}")))
}

fn search<P>(
    program: &P,
    subject: Subject,
    algorithm: mazurka_explore::Algorithm,
    arguments: &CheckArgs,
) -> Report
where
    P: Program,
    P::Run: Explain,
{
    let options = arguments.limits.options(arguments.keep_going);
    let mut progress = Progress::new();
    check(program, subject, algorithm, &options, Some(&mut |counts, share| progress.update(counts, share)))
}

fn written(report: &Report, arguments: &CheckArgs, file: &Path) -> String {
    if arguments.json {
        return format!("{}\n", json(report));
    }
    let options = TextOptions {
        width: output::columns(),
        colour: output::colour_on_stdout(),
        full_trace: arguments.full_trace,
        replay_command: &|schedule| replay_command(file, schedule, &arguments.front_end),
    };
    text(report, &options)
}

/// The command that runs a schedule again, ready to be pasted into a shell.
fn replay_command(file: &Path, schedule: &str, front_end: &[String]) -> String {
    let mut command = format!("mazurka check {} --replay '{schedule}'", quoted(&file.display().to_string()));
    if !front_end.is_empty() {
        command += " --";
        for option in front_end {
            command += &format!(" {}", quoted(option));
        }
    }
    command
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=+,:@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pasted_command_means_what_it_says() {
        let options = ["--param".to_owned(), "n=3".to_owned()];
        let command = replay_command(Path::new("it's here.maz"), "v1:0", &options);
        assert_eq!(command, r"mazurka check 'it'\''s here.maz' --replay 'v1:0' -- --param n=3");
    }
}
