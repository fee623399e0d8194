//! What the command knows of a front end, and which one a file is for.
//!
//! To add one: a file that implements [`FrontEnd`], and a line in [`FRONT_ENDS`].

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use mazurka_constraints::{Settings, Solver, Table};
use mazurka_explore::{Algorithm, Estimate, Limits, OpenItem, Options, Stretch, estimate};
use mazurka_journal::Header;
use mazurka_native::runtime::Native;
use mazurka_program::{Explain, Program};
use mazurka_report::{
    Architecture, Collected, ComparisonRow, InternalError, Kept, Report, Subject, Watch, Wording,
    check_stretch,
};

use crate::args::LimitArgs;
use crate::check::Check;
use crate::error::CommandError;
use crate::executions::ExecutionArgs;
use crate::native::Worker;
use crate::{abs, compare, input, journal, litmus, native};

/// All of them.
pub static FRONT_ENDS: [&dyn FrontEnd; 3] = [&litmus::FrontEnd, &abs::FrontEnd, &native::FrontEnd];

/// A front end: from files to a program.
pub trait FrontEnd: Sync {
    /// The extensions of its files.
    fn extensions(&self) -> &'static [&'static str];

    /// Whether a file is one of its, other than by the extension.
    fn knows(&self, _file: &Path) -> bool {
        false
    }

    /// Whether a program may have several files.
    fn takes_several_files(&self) -> bool {
        true
    }

    /// Its options, which come after `--`.
    fn options(&self) -> clap::Command;

    /// Whether a search of its programs can be gone on with by another process.
    fn can_be_resumed(&self) -> bool {
        false
    }

    /// Whether its programs are machine code, which is sent to other machines as it is.
    fn is_machine_code(&self) -> bool {
        false
    }

    /// Loads a program, if it suits the algorithms.
    fn load(&self, request: &Request<'_>) -> Result<Loaded, CommandError>;

    /// A program, printed.
    fn print(&self, file: &Path) -> Result<String, CommandError> {
        let (name, extension) = (file.display(), file.extension().unwrap_or_default().display());
        let why = format!("{name}: print is not supported for .{extension} files");
        Err(CommandError::unsupported(why).at(name))
    }
}

/// What is to be loaded, and what for.
pub struct Request<'a> {
    /// The files of the program.
    pub files: &'a [PathBuf],
    /// What came after `--`.
    pub options: &'a [String],
    /// The algorithms that will run it.
    pub algorithms: &'a [Algorithm],
    /// The limits of each.
    pub limits: &'a LimitArgs,
    /// Who is to run it, if it is run in a process of its own.
    pub worker: Option<&'a Worker>,
    /// The texts of the files, where they are not on this machine: what a search was begun with elsewhere.
    pub texts: Option<&'a Header>,
    /// The database at whose searches of this program this process works too, and with how many threads.
    pub helps: Option<(&'a str, usize)>,
    /// Who answers searches that ask when steps commute.
    pub solver: Solver,
}

/// A program that is machine code, and runs in this process alone.
#[derive(Clone, Copy)]
#[cfg_attr(not(feature = "postgres"), expect(dead_code, reason = "only other machines need it"))]
pub struct MachineCode<'a> {
    /// The program.
    pub program: &'a Native,
    /// The file that it was loaded from.
    pub object: &'a Path,
}

impl Request<'_> {
    /// The text of a file of the program.
    pub fn text_of(&self, file: &Path) -> Result<String, CommandError> {
        let Some(texts) = self.texts else { return input::read_program(file) };
        let name = file.to_str().unwrap_or_default();
        let text = texts.get(&journal::text_of(name));
        text.map(str::to_owned)
            .ok_or_else(|| CommandError::input(format!("{name}: its text did not come along")))
    }
}

/// What came of a request.
pub enum Loaded {
    /// A program that can be run here.
    Here(Box<dyn AnyTarget>),
    /// Another process did what the command was asked to do, and had this exit status.
    Elsewhere(u8),
}

/// A program that a front end has loaded, and what it adds to a report.
pub trait Target {
    /// What it is to the engine.
    type Program: Program<Run: Explain>;

    /// The program.
    fn program(&self) -> &Self::Program;

    /// What its users call things.
    fn wording(&self) -> Wording {
        Wording::COMMAND
    }

    /// What its own options ask to be told of executions.
    fn executions(&self) -> ExecutionArgs {
        ExecutionArgs::default()
    }

    /// Why `data-centric` can't have it, whatever it does, if so.
    fn refuses_data_centric(&self) -> Option<&'static str> {
        None
    }

    /// When its steps commute, if the front end can tell.
    fn constraints(&self, _settings: &Settings) -> Option<Table> {
        None
    }

    /// The program, if it is machine code.
    fn machine_code(&self) -> Option<MachineCode<'_>> {
        None
    }

    /// Whether something was found out in the last executions for which a search has to be begun again.
    fn has_to_begin_again(&self) -> bool {
        self.program().begin_again()
    }

    /// Called before each search. Front ends whose steps take no time to speak of need not know of limits.
    fn limit(&self, _limits: &Limits) {}

    /// Searches with so many workers, and from what was kept, if executions of it can be run beside each other and a
    /// search by the algorithm can be shared. What is kept is of `wake-up`.
    fn check_jobs(
        &self,
        _subject: Subject,
        _algorithm: Algorithm,
        _options: &Options,
        _workers: usize,
        _watch: &mut Watch<'_>,
        _kept: Option<Kept<'_>>,
    ) -> Option<Result<Report, InternalError>> {
        None
    }

    /// Why a search that came to its end has not looked at everything all the same, if it has not.
    fn left_out(&self) -> Option<String> {
        None
    }

    /// Adds what the front end knows: notes and warnings.
    fn add_to(&self, _report: &mut Report) -> Result<(), CommandError> {
        Ok(())
    }
}

/// A [`Target`] of any front end.
pub trait AnyTarget {
    /// As [`Target::executions`].
    fn executions(&self) -> ExecutionArgs;

    /// Checks it.
    fn check(&self, check: &Check<'_>) -> Result<Report, CommandError>;

    /// Runs one algorithm on it, for a comparison.
    fn compare(&self, algorithm: Algorithm, options: &Options) -> ComparisonRow;

    /// As [`Target::constraints`].
    fn constraints(&self, settings: &Settings) -> Option<Table>;

    /// What its processes share.
    fn architecture(&self, name: String, options: &Options) -> Architecture;

    /// About how many executions it has, found out by running no more than so many.
    fn estimate(&self, budget: u64, options: &Options) -> Estimate;

    /// As [`Target::machine_code`].
    #[cfg_attr(not(feature = "postgres"), expect(dead_code, reason = "only other machines need it"))]
    fn machine_code(&self) -> Option<MachineCode<'_>>;

    /// Explores a stretch of a search by `wake-up`, until there was enough.
    #[cfg_attr(not(feature = "postgres"), expect(dead_code, reason = "only other machines need it"))]
    fn check_stretch(
        &self,
        options: &Options,
        items: Vec<OpenItem>,
        enough: &mut dyn FnMut() -> bool,
        halt: &AtomicBool,
    ) -> Stretch<Collected>;
}

impl<T: Target> AnyTarget for T {
    fn executions(&self) -> ExecutionArgs {
        Target::executions(self)
    }

    fn check(&self, check: &Check<'_>) -> Result<Report, CommandError> {
        check.run(self)
    }

    fn compare(&self, algorithm: Algorithm, options: &Options) -> ComparisonRow {
        match self.refuses_data_centric().filter(|_| compare::is_data_centric(algorithm)) {
            Some(why) => ComparisonRow::refused(algorithm, why),
            None => compare::row(self, algorithm, options),
        }
    }

    fn constraints(&self, settings: &Settings) -> Option<Table> {
        Target::constraints(self, settings)
    }

    fn architecture(&self, name: String, options: &Options) -> Architecture {
        self.limit(&options.limits);
        Architecture::of(self.program(), name, self.refuses_data_centric(), options)
    }

    fn estimate(&self, budget: u64, options: &Options) -> Estimate {
        self.limit(&options.limits);
        estimate(self.program(), budget, options)
    }

    fn check_stretch(
        &self,
        options: &Options,
        items: Vec<OpenItem>,
        enough: &mut dyn FnMut() -> bool,
        halt: &AtomicBool,
    ) -> Stretch<Collected> {
        self.limit(&options.limits);
        let mut has_to_begin_again = || self.has_to_begin_again();
        check_stretch(self.program(), options, items, &mut has_to_begin_again, enough, halt)
    }

    fn machine_code(&self) -> Option<MachineCode<'_>> {
        Target::machine_code(self)
    }
}

/// The front end for the files of one program.
pub fn of_files(files: &[PathBuf]) -> Result<&'static dyn FrontEnd, CommandError> {
    let mut kinds = files.iter().map(|file| of_file(file));
    let first = kinds.next().unwrap_or_else(|| Err(CommandError::input("no file is given")))?;
    for kind in kinds {
        if kind?.extensions() != first.extensions() {
            let why = "the files of one program are of one kind; check others apart";
            return Err(CommandError::unsupported(why));
        }
    }
    if files.len() > 1 && !first.takes_several_files() {
        let extension = first.extensions()[0];
        let why = format!("a .{extension} program is one file; check them one at a time");
        return Err(CommandError::unsupported(why));
    }
    Ok(first)
}

/// The front end for a file.
pub fn of_file(file: &Path) -> Result<&'static dyn FrontEnd, CommandError> {
    let name = file.display();
    if file.is_dir() {
        return Err(CommandError::input(format!("{name}: this is a directory, not a file")).at(name));
    }
    let extension = file.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    let mut front_ends = FRONT_ENDS.into_iter();
    let known = front_ends.find(|it| it.extensions().contains(&extension) || it.knows(file));
    known.ok_or_else(|| CommandError::unsupported(format!("{name}: {}", not_known(extension))).at(name))
}

/// Why a file with this extension is no program, and what is.
fn not_known(extension: &str) -> String {
    let extensions: Vec<String> = FRONT_ENDS
        .iter()
        .flat_map(|front_end| front_end.extensions())
        .map(|extension| format!(".{extension}"))
        .collect();
    let (last, others) = extensions.split_last().expect("there are front ends");
    let programs = format!("programs are {} or {last} files", others.join(", "));
    match extension {
        "rs" => "Rust is checked by its own tests, not by this command: in a test use the library mazurka in place \
                 of std, write #[mazurka::test] above it, and run cargo test; docs/rust.md shows how"
            .to_owned(),
        "beam" => format!(".beam files are not supported yet; {programs}"),
        _ => format!("not a file of a known kind; {programs} (Rust: see docs/rust.md; .beam is not supported yet)"),
    }
}

/// How the files of one program are called together.
pub fn name_of(files: &[PathBuf]) -> String {
    files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>().join(", ")
}

/// The parameters of a program: none is given twice.
pub fn refuse_repeated<'a>(names: impl Iterator<Item = &'a String> + Clone) -> Result<(), CommandError> {
    for (at, name) in names.clone().enumerate() {
        if names.clone().take(at).any(|other| other == name) {
            return Err(CommandError::input(format!("--param {name} is given twice")));
        }
    }
    Ok(())
}

/// The name and the value of a parameter.
pub fn parameter(text: &str) -> Result<(String, String), String> {
    let parts = text.split_once('=').map(|(name, value)| (name.trim(), value.trim()));
    match parts {
        Some((name, value)) if !name.is_empty() && !value.is_empty() => {
            Ok((name.to_owned(), value.to_owned()))
        }
        _ => Err("expected NAME=VALUE, such as n=3".to_owned()),
    }
}

/// What a word stands for.
pub fn one_of<T: Copy>(text: &str, words: &[(&str, T)]) -> Result<T, String> {
    match words.iter().find(|(word, _)| *word == text) {
        Some((_, meaning)) => Ok(*meaning),
        None => {
            let words: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            Err(format!("expected {}", words.join(" or ")))
        }
    }
}
