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
use mazurka_explore::{self as explore, Algorithm, Limits, Need};
use mazurka_native::driver::{
    BuildError, Built, Driver, Request as Sources, Unit, build, compile_as_asked, is_made_by_build,
};
use mazurka_native::isolation::{fix_addresses, put_input_aside};
use mazurka_native::runtime::{
    MainExits, Native, Options, Races, Statuses, load as load_object, stub_assembly,
};
use mazurka_native::symbols::Symbols;
use mazurka_program::{FailureKind, Label, Run, Schedule, follow, settled};
use mazurka_report::{InternalError, Kept, Leak, Report, Subject, Watch, Wording, check_ahead};

use crate::attend::{Allowance, attend};
use crate::copies::Copies;
use crate::error::CommandError;
use crate::front_end::{self, Loaded, MachineCode, Request, Target, one_of};
use crate::{compile_commands, fleet, interrupt, output};

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
                      [--cc=COMPILER] [--compile-commands=FILE] [--arg=WORD] [--stack-size=BYTES] [--self-check=N] [--patience=SECONDS] \
                      [--nondet=VALUES] [options for the compiler]"
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

    /// A compile_commands.json, or the directory that has one: how the files are compiled
    #[arg(long, value_name = "FILE")]
    compile_commands: Option<PathBuf>,

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

    /// What is tried of the values of __VERIFIER_nondet_int and its kin: numbers and ranges (0,5..9); never
    /// exhaustive
    #[arg(long, value_name = "VALUES", value_parser = nondet, allow_hyphen_values = true)]
    nondet: Option<Values>,

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
            nondet: self.nondet.clone().map(|values| values.0).unwrap_or_default(),
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

    /// One that is told nothing of a terminal: it reports to a process.
    #[cfg_attr(not(feature = "postgres"), expect(dead_code, reason = "only other machines need it"))]
    pub fn at(object: PathBuf, parent: u32) -> Worker {
        Worker { object, parent, columns: 0, colour: false }
    }

    /// The program, ready to be run, and where it was loaded from.
    fn load(&self, options: &[String]) -> Result<(Native, PathBuf), CommandError> {
        let options = NativeOptions::parse(options)?;
        let object = match self.object.as_os_str() == INPUT {
            true => put_input_aside()
                .map_err(|error| CommandError::input(format!("the worker can't start: {error}")))?,
            false => self.object.clone(),
        };
        let built = Built::open(&object).map_err(CommandError::internal)?;
        let program = load_object(&built, options.runtime(&object))
            .map_err(|error| CommandError::unsupported(mapped(error)))?;
        Ok((program, object))
    }
}

/// Why a program can't be loaded. What is on a file system whose programs may not be run is told as that.
fn mapped(error: String) -> String {
    match error.contains("failed to map segment") {
        true => format!(
            "programs can't be run from {} (it is mounted noexec, most likely): set TMPDIR to a directory from \
             which they can",
            std::env::temp_dir().display()
        ),
        false => error,
    }
}

/// The front end for C and C++.
pub struct FrontEnd;

impl front_end::FrontEnd for FrontEnd {
    fn extensions(&self) -> &'static [&'static str] {
        &["c", "cc", "cpp", "cxx"]
    }

    /// What a build has made, and what it says of itself.
    fn knows(&self, file: &Path) -> bool {
        file.file_name().is_some_and(|name| name == compile_commands::NAME) || is_made_by_build(file)
    }

    fn options(&self) -> clap::Command {
        NativeOptions::command()
    }

    fn is_machine_code(&self) -> bool {
        true
    }

    /// Programs are checked by a worker.
    fn load(&self, request: &Request<'_>) -> Result<Loaded, CommandError> {
        request.algorithms.iter().try_for_each(|&algorithm| suit(algorithm))?;
        match request.worker {
            Some(worker) => {
                let (program, object) = worker.load(request.options)?;
                Ok(Loaded::Here(Box::new(NativeTarget { program, object })))
            }
            None => delegate(request).map(Loaded::Elsewhere),
        }
    }
}

struct NativeTarget {
    program: Native,
    /// Where it was loaded from.
    object: PathBuf,
}

impl Target for NativeTarget {
    type Program = Native;

    fn program(&self) -> &Native {
        &self.program
    }

    fn machine_code(&self) -> Option<MachineCode<'_>> {
        Some(MachineCode { program: &self.program, object: &self.object })
    }

    fn has_to_begin_again(&self) -> bool {
        // It is begun again by whoever decides that.
        self.program.has_news()
    }

    fn wording(&self) -> Wording {
        Wording { process: "thread", ..Wording::COMMAND }
    }

    fn limit(&self, limits: &Limits) {
        self.program.limit(limits.time, limits.memory);
    }

    fn check_jobs(
        &self,
        subject: Subject,
        algorithm: Algorithm,
        options: &explore::Options,
        workers: usize,
        watch: &mut Watch<'_>,
        kept: Option<Kept<'_>>,
    ) -> Option<Result<Report, InternalError>> {
        if algorithm != Algorithm::WakeUp {
            return None;
        }
        let mut copies = Copies::of(&self.program, options);
        // Of a search that was done elsewhere the end is left.
        let workers = if kept.as_ref().is_some_and(|kept| kept.keeper.is_none()) { 1 } else { workers };
        Some(check_ahead(&self.program, subject, options, workers, watch, kept, &mut copies))
    }

    fn left_out(&self) -> Option<String> {
        let name = self.program.sampled()?;
        Some(format!("of the values of {name} only those were tried that --nondet names"))
    }

    fn add_to(&self, report: &mut Report) -> Result<(), CommandError> {
        // Where a search ended at something that is not supported, and had met no failure, that is all there
        // is to say.
        let refusal = self.program.refusal().filter(|_| report.failures.is_empty());
        if let Some(refusal) = refusal.filter(|refusal| report.reason.as_ref() == Some(refusal)) {
            return Err(CommandError::unsupported(refusal));
        }
        report.notes.extend(output_note(&self.program, report));
        report.notes.extend(hang_note(&self.program, report));
        report.leaks = self.program.leaks().into_iter().map(leak).collect();
        // By which rule data races were looked for, where standards differ in what they say of the program.
        report.notes.extend(self.program.release_rule().map(ToString::to_string));
        if let Some(who) = self.program.left_spinning() {
            report
                .notes
                .push(format!("{who} when main has ended: -- --main-exits=thread tells that as a failure"));
        }
        if self.program.was_spared_wakeups() {
            let note = "no wait at a condition variable ended of itself, as waits may: -- --spurious-wakeups looks at that too";
            report.notes.push(note.to_owned());
        }
        Ok(())
    }
}

/// Refuses an algorithm that C and C++ can't have, before anything is compiled.
fn suit(algorithm: Algorithm) -> Result<(), CommandError> {
    let knows_commuting = |algorithm: Algorithm| algorithm.needs().contains(&Need::Constraints);
    let cannot = if algorithm.compares_states() {
        "compares states, which can't be done"
    } else if knows_commuting(algorithm) {
        "has to know when steps commute, which can't be told"
    } else {
        return Ok(());
    };
    let others = Algorithm::ALL.into_iter();
    let others = others.filter(|&other| !other.compares_states() && !knows_commuting(other));
    Err(CommandError::unsupported(format!(
        "{algorithm} {cannot} for C and C++; there are {}",
        Algorithm::list(others)
    )))
}

/// Compiles a program, has a worker do what the command was asked to do, and gives the exit status.
fn delegate(request: &Request<'_>) -> Result<u8, CommandError> {
    let Request { files, options, limits, algorithms, helps, .. } = *request;
    let NativeOptions { flags, cc: compiler, compile_commands, .. } = NativeOptions::parse(options)?;
    for file in files {
        // A directory or a missing file is better told by us than by a compiler.
        File::open(file).map_err(|error| {
            CommandError::input(format!("{}: the file can't be read: {error}", file.display()))
                .at(file.display())
        })?;
    }
    let colour = output::colour_on_stderr();
    let (sources, units) = sources(files, compile_commands.as_deref())?;
    let sources = Sources { sources, units, flags, compiler, colour };
    let built = build(&sources, &stub_assembly()).map_err(|error| match error {
        BuildError::Compiler(text) => CommandError::of_compiler(&text),
        BuildError::Unsupported(why) => CommandError::unsupported(why),
    })?;
    let warnings = built.warnings.clone();
    let searches = algorithms.len().try_into().unwrap_or(u32::MAX);
    let time = limits.timeout.and_then(|time| time.checked_mul(searches));
    let allowance = Allowance { time, memory: limits.memory() };
    let object = built.into_file().map_err(no_worker)?;
    let attended = match helps {
        Some((address, threads)) => {
            fleet::helped(address, threads, &object, || attended(&object, &allowance))
        }
        None => attended(&object, &allowance),
    };
    // What the compiler had to say comes after the verdict, which is what was asked for.
    let told = attended.and_then(|(status, report)| output::stdout(&report).map(|()| status));
    output::warnings(&warnings);
    told
}

/// Has a worker do what the command was asked to do with an object, and gives its exit status and its report.
pub fn attended(object: &File, allowance: &Allowance) -> Result<(u8, String), CommandError> {
    let mut child = object.try_clone().and_then(worker).map_err(no_worker)?;
    let _interruptible = interrupt::listen();
    attend(&mut child, allowance)
}

fn no_worker(error: std::io::Error) -> CommandError {
    CommandError::input(format!("no worker can be started: {error}"))
}

/// The files of a program, and those of them of which a database says how they are compiled.
fn sources(files: &[PathBuf], database: Option<&Path>) -> Result<(Vec<PathBuf>, Vec<Unit>), CommandError> {
    let known = database.map(compile_commands::read).transpose()?.unwrap_or_default();
    let (mut sources, mut units) = (Vec::new(), Vec::new());
    for file in files {
        if file.file_name().is_some_and(|name| name == compile_commands::NAME) {
            units.extend(compile_commands::read(file)?);
        } else if let Some(unit) = compile_commands::find(&known, file) {
            units.push(unit.clone());
        } else {
            sources.push(file.clone());
        }
    }
    Ok((sources, units))
}

/// `mazurka cc` and `mazurka c++`: compiles as it is asked to. Gives the exit status.
pub fn compile(driver: Driver, words: &[String]) -> Result<u8, CommandError> {
    compile_as_asked(driver, words).map_err(CommandError::unsupported)
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

/// Numbers that are tried.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Values(Vec<i64>);

/// No more are tried than this: a choice has so many outcomes at most.
const MOST_VALUES: i64 = 1 << 10;

fn nondet(text: &str) -> Result<Values, String> {
    let expected = || format!("expected numbers and ranges, {MOST_VALUES} at most: 0,1,-1 or 0..9");
    let number = |text: &str| text.trim().parse::<i64>().map_err(|_| expected());
    let mut values = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once("..").unwrap_or((part, part));
        let (first, last) = (number(first)?, number(last.trim_start_matches('='))?);
        let room = MOST_VALUES - values.len() as i64;
        if first > last || last.checked_sub(first).is_none_or(|more| more >= room) {
            return Err(expected());
        }
        values.extend((first..=last).filter(|value| !values.contains(value)).collect::<Vec<_>>());
    }
    Ok(Values(values))
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
    fn a_file_system_whose_programs_may_not_be_run_is_told() {
        let told = mapped("/tmp/x/program.so: failed to map segment from shared object".to_owned());
        let directory = std::env::temp_dir().display().to_string();
        assert!(
            told.contains(&directory) && told.contains("noexec") && told.contains("set TMPDIR"),
            "{told}"
        );
        assert_eq!(mapped("no such file".to_owned()), "no such file");
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
    fn values_are_numbers_and_ranges() {
        let values = |text| nondet(text).map(|values| values.0);
        assert_eq!(values("0,1,-1"), Ok(vec![0, 1, -1]));
        assert_eq!(values("-2..1,0,7"), Ok(vec![-2, -1, 0, 1, 7]));
        assert_eq!(values("0..1023").map(|values| values.len()), Ok(1024));
        for wrong in ["", "x", "3..1", "0..1024", "0..9223372036854775807", "-9223372036854775808..1", "1,,2"]
        {
            assert!(values(wrong).is_err(), "{wrong}");
        }
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
