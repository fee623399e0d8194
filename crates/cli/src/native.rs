//! The front end for C and C++: its options, from files to a program, and the process that it runs in.
//!
//! The program under test is compiled code: it may overwrite anything. So the command compiles it and then
//! runs itself again as a *worker*, a process that searches and reports. What the worker writes is kept until
//! it has ended as it should; a worker that dies takes no verdict with it.

use std::ffi::OsString;
use std::fs::File;
use std::os::unix::process::parent_id;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::rc::Rc;
use std::time::Duration;

use clap::{CommandFactory, Parser};
use mazurka_explore::{Algorithm, Limits};
use mazurka_native::driver::{BuildError, Built, Request as Sources, build};
use mazurka_native::isolation::{fix_addresses, put_input_aside};
use mazurka_native::runtime::{
    MainExits, Native, Options, Races, Statuses, load as load_object, stub_assembly,
};
use mazurka_native::symbols::Symbols;
use mazurka_program::{FailureKind, Label, Run, Schedule, follow, settled};
use mazurka_report::{Leak, Report, Wording};

use crate::attend::{Allowance, attend};
use crate::error::CommandError;
use crate::front_end::{self, Loaded, Request, Target, one_of};
use crate::{interrupt, output};

/// The first argument of a worker. No file is called so by accident.
const WORKER: &str = "native-worker";
/// Says that the object is what a worker can read from its input: a file without a name.
const INPUT: &str = "-";
/// Of what a program printed, so much is told.
const MOST_OUTPUT: usize = 4000;

/// The options of the front end for C and C++, after `--`; others are for the compiler.
#[derive(Debug, Parser)]
#[command(
    name = "mazurka",
    no_binary_name = true,
    disable_help_flag = true,
    override_usage = "mazurka check FILE.c ... -- [--races=report|sc] [--main-exits=process|thread] [--exit-status=zero|any] [--spurious-wakeups] \
                      [--cc=COMPILER] [--arg=WORD] [--stack-size=BYTES] [--self-check=N] [--patience=SECONDS] [options for the compiler]"
)]
struct NativeOptions {
    /// What accesses are that race: a failure, or as good as atomic ones
    #[arg(long, value_name = "RULE", value_parser = races, default_value = "report")]
    races: Races,

    /// What the end of main is: that of the process, or only that of its thread
    #[arg(long, value_name = "RULE", value_parser = main_exits, default_value = "process")]
    main_exits: MainExits,

    /// What the program may end with: a status of 0 only, or any
    #[arg(long, value_name = "RULE", value_parser = exit_status, default_value = "zero")]
    exit_status: Statuses,

    /// Waits at condition variables may end of themselves, one of each thread
    #[arg(long)]
    spurious_wakeups: bool,

    /// The compiler: clang 15 or later, or gcc 11 or later
    #[arg(long, value_name = "COMPILER")]
    cc: Option<String>,

    /// An argument that main is given; once for each
    #[arg(long = "arg", value_name = "WORD", allow_hyphen_values = true)]
    arguments: Vec<String>,

    /// The size of a thread's stack
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u32).range(16384..=1 << 30))]
    stack_size: Option<u32>,

    /// One of so many executions is run again in another order, to see whether all that it touches is seen; 0
    /// for none
    #[arg(long, value_name = "N")]
    self_check: Option<u32>,

    /// How long a thread may run without coming to anything that others can notice, until that counts as a
    /// hang
    #[arg(long, value_name = "SECONDS", value_parser = patience)]
    patience: Option<Duration>,

    /// For the compiler.
    #[arg(skip)]
    flags: Vec<String>,
}

impl NativeOptions {
    /// From the words after `--`: ours, and the rest for the compiler.
    fn parse(words: &[String]) -> Result<NativeOptions, CommandError> {
        let command = NativeOptions::command();
        let (mut ours, mut flags) = (Vec::new(), Vec::new());
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let (name, has_value) =
                word.split_once('=').map_or((word.as_str(), false), |(name, _)| (name, true));
            let long = name.strip_prefix("--");
            let option = command
                .get_arguments()
                .find(|option| option.get_long().is_some() && option.get_long() == long);
            let Some(option) = option else {
                flags.push(word.clone());
                continue;
            };
            ours.push(word.clone());
            if !has_value && option.get_action().takes_values() {
                ours.extend(words.next().cloned());
            }
        }
        let options = NativeOptions::try_parse_from(ours).map_err(|error| CommandError::of_usage(&error))?;
        Ok(NativeOptions { flags, ..options })
    }

    fn runtime(&self, object: &Path) -> Options {
        let usual = Options::default();
        Options {
            races: self.races,
            main_exits: self.main_exits,
            exit_status: self.exit_status,
            spurious_wakeups: self.spurious_wakeups,
            stack_size: self.stack_size.map_or(usual.stack_size, |size| size as usize),
            self_check: self.self_check.unwrap_or(usual.self_check),
            patience: self.patience.unwrap_or(usual.patience),
            arguments: self.arguments.clone(),
            symbols: Some(Rc::new(Symbols::new(object))),
            ..usual
        }
    }
}

/// What a worker is told by the command that started it.
#[derive(Debug)]
pub struct Worker {
    object: PathBuf,
    parent: u32,
    /// How wide a line of the report may be.
    pub columns: usize,
    /// Whether it may have colours.
    pub colour: bool,
}

impl Worker {
    /// Takes what is for a worker from the arguments of the command; none if it is none.
    pub fn of(arguments: &mut Vec<OsString>) -> Option<Worker> {
        if arguments.get(1)? != WORKER || arguments.len() < 6 {
            return None;
        }
        let mut told = arguments.drain(1..6).skip(1);
        let object = PathBuf::from(told.next()?);
        let mut number = || told.next()?.to_str()?.parse::<u32>().ok();
        Some(Worker { object, parent: number()?, columns: number()? as usize, colour: number()? == 1 })
    }

    /// Whether the command is gone: nobody would read the report.
    pub fn is_orphan(&self) -> bool {
        parent_id() != self.parent
    }

    /// The program, ready to be run.
    fn load(&self, options: &[String]) -> Result<Native, CommandError> {
        let options = NativeOptions::parse(options)?;
        let object = match self.object.as_os_str() == INPUT {
            true => put_input_aside()
                .map_err(|error| CommandError::input(format!("the worker can't start: {error}")))?,
            false => self.object.clone(),
        };
        let built = Built::open(&object).map_err(CommandError::internal)?;
        load_object(&built, options.runtime(&object)).map_err(CommandError::unsupported)
    }
}

/// The front end for C and C++.
pub struct FrontEnd;

impl front_end::FrontEnd for FrontEnd {
    fn extensions(&self) -> &'static [&'static str] {
        &["c", "cc", "cpp", "cxx"]
    }

    fn options(&self) -> clap::Command {
        NativeOptions::command()
    }

    /// Programs are checked by a worker.
    fn load(&self, request: &Request<'_>) -> Result<Loaded, CommandError> {
        request.algorithms.iter().try_for_each(|&algorithm| suit(algorithm))?;
        match request.worker {
            Some(worker) => Ok(Loaded::Here(Box::new(NativeTarget(worker.load(request.options)?)))),
            None => delegate(request).map(Loaded::Elsewhere),
        }
    }
}

struct NativeTarget(Native);

impl Target for NativeTarget {
    type Program = Native;

    fn program(&self) -> &Native {
        &self.0
    }

    fn wording(&self) -> Wording {
        Wording { process: "thread", ..Wording::COMMAND }
    }

    fn limit(&self, limits: &Limits) {
        self.0.limit(limits.time, limits.memory);
    }

    fn add_to(&self, report: &mut Report) -> Result<(), CommandError> {
        // Where a search ended at something that is not supported, and had met no failure, that is all there
        // is to say.
        let refusal = self.0.refusal().filter(|_| report.failures.is_empty());
        if let Some(refusal) = refusal.filter(|refusal| report.reason.as_ref() == Some(refusal)) {
            return Err(CommandError::unsupported(refusal));
        }
        report.notes.extend(output_note(&self.0, report));
        report.notes.extend(hang_note(&self.0, report));
        report.leaks = self.0.leaks().into_iter().map(leak).collect();
        // By which rule data races were looked for, where standards differ in what they say of the program.
        report.notes.extend(self.0.release_rule().map(ToString::to_string));
        if self.0.was_spared_wakeups() {
            let note = "no wait at a condition variable ended of itself, as waits may: -- --spurious-wakeups looks at that too";
            report.notes.push(note.to_owned());
        }
        Ok(())
    }
}

/// Refuses an algorithm that C and C++ can't have, before anything is compiled.
fn suit(algorithm: Algorithm) -> Result<(), CommandError> {
    if !algorithm.compares_states() {
        return Ok(());
    }
    let others = Algorithm::ALL.into_iter().filter(|other| !other.compares_states());
    Err(CommandError::unsupported(format!(
        "{algorithm} compares states, which can't be done for C and C++; there are {}",
        Algorithm::list(others)
    )))
}

/// Compiles a program, has a worker do what the command was asked to do, and gives the exit status.
fn delegate(request: &Request<'_>) -> Result<u8, CommandError> {
    let Request { files, options, limits, algorithms, .. } = *request;
    let NativeOptions { flags, cc: compiler, .. } = NativeOptions::parse(options)?;
    for file in files {
        // A directory or a missing file is better told by us than by a compiler.
        File::open(file).map_err(|error| {
            CommandError::input(format!("{}: the file can't be read: {error}", file.display()))
                .at(file.display())
        })?;
    }
    let colour = output::colour_on_stderr();
    let sources = Sources { sources: files.to_vec(), flags, compiler, colour };
    let built = build(&sources, &stub_assembly()).map_err(|error| match error {
        BuildError::Compiler(text) => CommandError::of_compiler(&text),
        BuildError::Unsupported(why) => CommandError::unsupported(why),
    })?;
    output::warnings(&built.warnings);
    let searches = algorithms.len().try_into().unwrap_or(u32::MAX);
    let time = limits.timeout.and_then(|time| time.checked_mul(searches));
    let allowance = Allowance { time, memory: limits.memory() };
    let mut child = built
        .into_file()
        .and_then(worker)
        .map_err(|error| CommandError::input(format!("no worker can be started: {error}")))?;
    let _interruptible = interrupt::listen();
    let (status, report) = attend(&mut child, &allowance)?;
    output::stdout(&report)?;
    Ok(status)
}

/// Starts a worker, which is given the object as its input.
fn worker(object: File) -> std::io::Result<Child> {
    // Where this is not allowed, a replay may differ in what it prints of addresses.
    fix_addresses();
    Command::new(std::env::current_exe()?)
        .arg(WORKER)
        .arg(INPUT)
        .arg(std::process::id().to_string())
        .arg(output::columns().to_string())
        .arg(u8::from(output::colour_on_stdout()).to_string())
        .args(std::env::args_os().skip(1))
        .stdin(object)
        .stdout(Stdio::piped())
        .spawn()
}

/// What the program printed in the execution that the report tells.
fn output_note(program: &Native, report: &Report) -> Option<String> {
    let printed = printed(program, report.schedule()?);
    if printed.is_empty() {
        return None;
    }
    let text = String::from_utf8_lossy(&printed[..printed.len().min(MOST_OUTPUT)]).into_owned();
    let more = printed.len().saturating_sub(MOST_OUTPUT);
    let rest = if more > 0 { format!(" (and {more} bytes more)") } else { String::new() };
    let lines: Vec<&str> = text.trim_end().lines().collect();
    Some(format!("the program printed: {}{rest}", lines.join(" | ")))
}

fn printed(program: &Native, schedule: &Schedule) -> Vec<u8> {
    settled(program, |run| {
        let mut label = Label::default();
        // What was printed up to a step that can't be taken was printed.
        let _ = follow(run, &schedule.steps, |run, process, choice| run.step(process, choice, &mut label));
        run.output().to_vec()
    })
}

/// Where a thread was that came to nothing any more. That is another place in each run, and so no part of the
/// failure.
fn hang_note(program: &Native, report: &Report) -> Option<String> {
    let hangs = report.failures.iter().any(|failure| failure.failure.kind == FailureKind::Hang);
    let (name, place) = program.stuck().filter(|_| hangs)?;
    Some(format!("{name} was at {}:{} when it was stopped", place.file, place.line))
}

/// Memory that is never freed.
fn leak(leak: mazurka_native::runtime::Leak) -> Leak {
    let location = leak.place.map(|place| format!("{}:{}:{}", place.file, place.line, place.column));
    Leak { location, blocks: leak.blocks, bytes: leak.bytes }
}

fn races(text: &str) -> Result<Races, String> {
    one_of(text, &[("report", Races::Report), ("sc", Races::Sc)])
}

fn exit_status(text: &str) -> Result<Statuses, String> {
    one_of(text, &[("zero", Statuses::Zero), ("any", Statuses::Any)])
}

fn main_exits(text: &str) -> Result<MainExits, String> {
    one_of(text, &[("process", MainExits::Process), ("thread", MainExits::Thread)])
}

fn patience(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| (0.1..=86400.0).contains(seconds));
    seconds
        .map(Duration::from_secs_f64)
        .ok_or_else(|| "expected a number of seconds from 0.1 to 86400".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(words: &[&str]) -> Result<NativeOptions, CommandError> {
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        NativeOptions::parse(&words)
    }

    #[test]
    fn options_are_told_apart_from_those_for_the_compiler() {
        let options =
            parsed(&["-DN=5", "--races=sc", "-I", "include", "--main-exits", "thread", "--arg=-x"]).unwrap();
        assert_eq!(options.flags, ["-DN=5", "-I", "include"]);
        assert_eq!((options.races, options.main_exits), (Races::Sc, MainExits::Thread));
        assert_eq!(options.arguments, ["-x"]);
        assert!(parsed(&["--races=maybe"]).is_err());
        assert!(parsed(&["--races"]).is_err());
    }

    #[test]
    fn only_a_worker_is_one() {
        let mut arguments: Vec<OsString> = ["mazurka", "check", "a.c"].map(OsString::from).to_vec();
        assert!(Worker::of(&mut arguments).is_none());
        let mut arguments: Vec<OsString> =
            ["mazurka", WORKER, "/tmp/p.so", "7", "80", "1", "check", "a.c"].map(OsString::from).to_vec();
        let worker = Worker::of(&mut arguments).unwrap();
        assert_eq!((worker.parent, worker.columns, worker.colour), (7, 80, true));
        assert_eq!(arguments, ["mazurka", "check", "a.c"]);
    }
}
