//! Searches that are kept in a file: `mazurka check --journal FILE`, and `mazurka resume FILE`, which goes
//! on.
//!
//! The header of a journal says what the search is: the program's text, the version of the command, and all
//! options that matter to what is explored. Who goes on takes them from there, so options can't differ; the
//! program and the version may, and are refused by what differs. `--timeout`, `--jobs` and what is printed
//! are of a run, not of a search.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use mazurka_explore::{Algorithm, Beginning};
use mazurka_journal::{Header, Journal, JournalError, Recovered};
use mazurka_ledger::{DAMAGED, Keeper, LONG, build, encoding};
use mazurka_native::isolation::fix_addresses;
use mazurka_report::Collected;
use mazurka_report::json::ErrorKind;

use crate::args::{CheckArgs, LimitArgs, ResumeArgs};
use crate::error::CommandError;
use crate::executions::ExecutionArgs;
use crate::front_end::{self, AnyTarget, FrontEnd};
use crate::native::Worker;
use crate::{check, input, machine_code};

/// The field of the header that tells the build of the command.
const BUILD: &str = "build";

/// The environment variable that names a journal where no option does.
const VARIABLE: &str = "MAZURKA_JOURNAL";

/// So long the one who wrote a journal until it was killed may take to let go of it.
const PATIENCE: Duration = Duration::from_secs(5);

/// Between the words of a field: no argument and no file name has it.
const BETWEEN: char = '\0';

/// A search that is kept: who keeps it, and what it begins with.
pub struct Kept {
    /// What the search is.
    pub header: Header,
    /// Who keeps it; nobody of a search that was done elsewhere.
    pub keeper: Option<Keeper>,
    /// What was done before, and what is left.
    pub before: Beginning<Collected>,
}

/// The journal that `check` is to write, if it is to write one.
pub fn asked_for(arguments: &CheckArgs) -> Option<PathBuf> {
    let variable = || std::env::var_os(VARIABLE).filter(|value| !value.is_empty()).map(PathBuf::from);
    arguments.journal.clone().or_else(variable)
}

/// Complains of what can't be kept, and of a file that is there.
pub fn refuse(
    path: &Path,
    arguments: &CheckArgs,
    front_end: &dyn FrontEnd,
    algorithm: Algorithm,
) -> Result<(), CommandError> {
    if !(front_end.can_be_resumed() || front_end.is_machine_code()) {
        let why = "a journal can't be kept of programs of this kind; leave out --journal (MAZURKA_JOURNAL)";
        return Err(CommandError::unsupported(why));
    }
    if front_end.is_machine_code() && !fix_addresses() {
        let why = "the system does not allow programs to be at the same addresses in each process (personality), so no \
                   other process could go on with the search; leave out --journal (MAZURKA_JOURNAL)";
        return Err(CommandError::unsupported(why));
    }
    if algorithm != Algorithm::WakeUp {
        return Err(CommandError::unsupported(format!(
            "a journal can be kept by --algorithm wake-up only, not by {algorithm}; choose that, or leave \
             out --journal (MAZURKA_JOURNAL)"
        )));
    }
    let of_one_run = [
        ("--max-executions", arguments.limits.max_executions.is_some()),
        ("--replay", arguments.replay.is_some()),
    ];
    if let Some((option, _)) = of_one_run.into_iter().find(|(_, given)| *given) {
        return Err(beside(option));
    }
    refuse_stories(&arguments.executions)?;
    if std::fs::metadata(path).is_ok_and(|there| there.len() > 0 || !there.is_file()) {
        let name = path.display();
        let why = format!(
            "{name}: there is such a file; if it is the journal of a search that was not finished, \
             mazurka resume {name} goes on with it"
        );
        return Err(CommandError::input(why).at(name));
    }
    Ok(())
}

/// Complains of what is told of every execution: those before a kill are not known after it.
pub fn refuse_stories(executions: &ExecutionArgs) -> Result<(), CommandError> {
    executions.given().map_or(Ok(()), |option| Err(beside(option)))
}

fn beside(option: &str) -> CommandError {
    let why = format!("{option} can't be had beside --journal (MAZURKA_JOURNAL); leave one of them out");
    CommandError::new(ErrorKind::Usage, why)
}

/// The build of this command.
fn build() -> Result<String, CommandError> {
    build::of_this_process().map_err(|error| {
        CommandError::input(format!("the program of mazurka can't be read, to tell its build: {error}"))
    })
}

/// Complains of a search that another build of this version has begun: it may have searched otherwise.
pub fn refuse_other_build(header: &Header) -> Result<(), String> {
    let Some(theirs) = header.get(BUILD) else { return Ok(()) };
    let ours = build().map_err(|error| error.message().to_owned())?;
    if theirs == ours {
        return Ok(());
    }
    let version = env!("CARGO_PKG_VERSION");
    Err(format!(
        "the search was begun by another build of mazurka {version} ({theirs}, and this one has {ours}); use one build for \
         all of it, or begin it again"
    ))
}

/// What a search is. What machine code is made of is no part of it: it is known by what it was compiled to.
pub fn header(arguments: &CheckArgs, options: &[String]) -> Result<Header, CommandError> {
    let names = arguments.files.iter().map(|file| match file.to_str() {
        Some(name) => Ok(name.to_owned()),
        None => Err(CommandError::input("a journal can be kept of files only whose names are in UTF-8")),
    });
    let names: Vec<String> = names.collect::<Result<_, _>>()?;
    let LimitArgs { max_depth, max_unroll, max_memory, seed, .. } = &arguments.limits;
    let number = |value: Option<u64>| value.map_or(String::new(), |value| value.to_string());
    let mut header = Header::new()
        .with("version", env!("CARGO_PKG_VERSION"))
        .with(BUILD, build()?)
        .with("items", encoding::FORMAT)
        .with("algorithm", Algorithm::WakeUp.name())
        .with("keep-going", if arguments.keep_going { "yes" } else { "no" })
        .with("max-depth", number(max_depth.map(u64::from)))
        .with("max-unroll", number(max_unroll.map(u64::from)))
        .with("max-memory", number(*max_memory))
        .with("seed", number(*seed))
        .with("options", joined(options))
        .with("files", joined(&names));
    if !front_end::of_files(&arguments.files)?.is_machine_code() {
        for (file, name) in arguments.files.iter().zip(&names) {
            header = header.with(text_of(name), input::read_program(file)?);
        }
    }
    Ok(header)
}

/// Begins a journal.
pub fn begin(path: &Path, header: Header, target: &dyn AnyTarget) -> Result<Kept, CommandError> {
    let refuse = |why: String| CommandError::input(format!("{}: {why}", path.display())).at(path.display());
    let header = match target.machine_code() {
        Some(code) => machine_code::told(header, code.program, &machine_code::digest(code)?),
        None => header,
    };
    let keeper = Keeper::begin(&lasting(path), &header, long()).map_err(refuse)?;
    let before = keeper.beginning().map_err(refuse)?;
    Ok(Kept { header, keeper: Some(keeper), before })
}

/// A name for a file that is right wherever the program that is checked goes.
fn lasting(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// How long a file is that gets a checkpoint. Tests, which can't wait for a long one, say so.
fn long() -> u64 {
    let shorter = std::env::var("MAZURKA_JOURNAL_CHECKPOINT").ok().and_then(|bytes| bytes.parse().ok());
    shorter.unwrap_or(LONG)
}

/// Complains of a program that is not what the header says: it was read for that, and then again to be run.
pub fn refuse_changed(
    header: &Header,
    arguments: &CheckArgs,
    options: &[String],
) -> Result<(), CommandError> {
    match difference(&self::header(arguments, options)?, header) {
        None => Ok(()),
        Some(_) => Err(CommandError::input("the program was changed while it was read; check it again")),
    }
}

/// The first thing in which two searches differ, but for what machine code is in memory.
fn difference(first: &Header, second: &Header) -> Option<String> {
    let mut differences = first.differences(second).into_iter().map(|difference| difference.name);
    differences.find(|name| !machine_code::is_told_by(name))
}

/// Complains of machine code that is not what it was when its search was begun.
pub fn refuse_other_code(header: &Header, target: &dyn AnyTarget) -> Result<(), CommandError> {
    let Some(code) = target.machine_code() else { return Ok(()) };
    if header.get(machine_code::OBJECT) != Some(&machine_code::digest(code)?) {
        return Err(CommandError::input(
            "the program is compiled to something else than when the search was begun: its files, what they include, the \
             compiler or the build of mazurka are others; begin it again",
        ));
    }
    machine_code::refuse_elsewhere(header, code.program)
}

/// The field for the text of a file.
pub fn text_of(name: &str) -> String {
    format!("text of {name}")
}

/// Words as a field: each ends with what no word has, so that no word and one empty word differ.
fn joined(words: &[String]) -> String {
    words.iter().map(|word| format!("{word}{BETWEEN}")).collect()
}

fn words(field: &str) -> Vec<String> {
    field.split_terminator(BETWEEN).map(str::to_owned).collect()
}

/// `mazurka resume`: goes on with a search, and gives the exit status.
pub fn resume(arguments: &ResumeArgs, worker: Option<&Worker>) -> Result<u8, CommandError> {
    let (path, name) = (&arguments.journal, arguments.journal.display());
    let refuse = |why: String| CommandError::input(format!("{name}: {why}")).at(&name);
    if std::fs::metadata(path).is_ok_and(|there| there.is_file() && there.len() == 0) {
        return Err(refuse("nothing was written to this journal; begin the search again".to_owned()));
    }
    let wrong = |why| match why {
        JournalError::Io("opened", error) if error.kind() == std::io::ErrorKind::NotFound => {
            refuse("there is no such file".to_owned())
        }
        why => refuse(why.to_string()),
    };
    let header = Journal::header_of(path).map_err(&wrong)?;
    refuse_others(&header, &name.to_string()).map_err(&refuse)?;
    let check = check_arguments(arguments, &header).ok_or_else(|| refuse(DAMAGED.to_owned()))?;
    let present = self::header(&check, &check.front_end)?;
    if let Some(name) = difference(&header, &present) {
        return Err(refuse(what_differs(&name, &header, &present)));
    }
    if header.get(machine_code::OBJECT).is_some() && worker.is_none() {
        return check::delegate_kept(&check);
    }
    let (journal, recovered) = open(path, worker).map_err(&wrong)?;
    if !recovered.header.differences(&header).is_empty() {
        return Err(refuse(
            "another search's journal was put in its place meanwhile; resume it again".to_owned(),
        ));
    }
    let keeper = Keeper::go_on(journal, &recovered, long()).map_err(&refuse)?;
    let before = keeper.beginning().map_err(&refuse)?;
    check::run_kept(&check, worker, Kept { header, keeper: Some(keeper), before })
}

/// Complains of the journal of this name if its search is none that this command can go on with.
fn refuse_others(header: &Header, name: &str) -> Result<(), String> {
    if let Some(test) = header.get("test") {
        return Err(format!(
            "this is the journal of the Rust test {test}; to go on with it, run the test again, with MAZURKA_JOURNAL={name}"
        ));
    }
    let ours = env!("CARGO_PKG_VERSION");
    match header.get("version").filter(|version| *version != ours) {
        Some(version) => Err(format!(
            "the search was begun by mazurka {version}, and this is {ours}; go on with that one, or begin it again"
        )),
        None => refuse_other_build(header),
    }
}

/// Opens a journal. A worker whose command was killed ends a moment later, and so do copies of it.
fn open(path: &Path, worker: Option<&Worker>) -> Result<(Journal, Recovered), JournalError> {
    let (begun, patience) = (Instant::now(), if worker.is_some() { PATIENCE } else { Duration::ZERO });
    loop {
        match Journal::open(&lasting(path)) {
            Err(JournalError::InUse) if begun.elapsed() < patience => thread::sleep(PATIENCE / 100),
            done => return done,
        }
    }
}

/// The arguments that the search was begun with, but for those of a run.
pub fn check_arguments(arguments: &ResumeArgs, header: &Header) -> Option<CheckArgs> {
    fn number<T: std::str::FromStr>(field: &str) -> Option<Option<T>> {
        if field.is_empty() { Some(None) } else { field.parse().ok().map(Some) }
    }
    let limits = LimitArgs {
        timeout: arguments.timeout,
        max_executions: None,
        max_depth: number(header.get("max-depth")?)?,
        max_unroll: number(header.get("max-unroll")?)?,
        max_memory: number(header.get("max-memory")?)?,
        observe_memory: false,
        reduction: None,
        seed: number(header.get("seed")?)?,
    };
    Some(CheckArgs {
        files: words(header.get("files")?).into_iter().map(PathBuf::from).collect(),
        algorithm: header.get("algorithm").filter(|name| *name == Algorithm::WakeUp.name())?.to_owned(),
        params: Vec::new(),
        json: arguments.json,
        talk: arguments.talk,
        keep_going: header.get("keep-going")? == "yes",
        jobs: arguments.jobs,
        journal: None,
        on: None,
        limits,
        replay: None,
        as_published: None,
        full_trace: arguments.full_trace,
        solver: None,
        executions: ExecutionArgs::default(),
        front_end: words(header.get("options")?),
    })
}

/// In what a search differs from the one that was begun.
fn what_differs(field: &str, then: &Header, now: &Header) -> String {
    let (then, now) = (then.get(field).unwrap_or_default(), now.get(field).unwrap_or_default());
    let Some(file) = field.strip_prefix("text of ") else {
        return format!("the search was begun with another {field}; begin it again");
    };
    let lines = then.lines().zip(now.lines()).take_while(|(then, now)| then == now).count();
    format!(
        "{file} is not what it was when the search was begun (line {} differs); begin it again",
        lines + 1
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_as_they_are_written() {
        for list in [&[][..], &[""], &["", ""], &["--param", "n=3"], &["a b", "\n"]] {
            let list: Vec<String> = list.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(words(&joined(&list)), list);
        }
    }

    #[test]
    fn the_line_that_differs_is_told() {
        let header = |text: &str| Header::new().with("text of a.maz", text);
        let told = |then, now| what_differs("text of a.maz", &header(then), &header(now));
        assert!(told("a\nb\nc", "a\nx\nc").contains("a.maz is not what it was"));
        assert!(told("a\nb\nc", "a\nx\nc").contains("(line 2 differs)"));
        assert!(told("a\nb", "a\nb\nc").contains("(line 3 differs)"));
    }
}
