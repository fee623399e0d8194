//! The arguments of the command.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use mazurka_explore::{Algorithm, Limits, Options, Order, Published, Reduction, UnknownAlgorithm};

use crate::estimate::EstimateArgs;
use crate::executions::ExecutionArgs;
use crate::front_end::FRONT_ENDS;
use crate::output::Colours;

/// Checks concurrent programs by running them under every interleaving that matters, and no other.
#[derive(Debug, Parser)]
#[command(name = "mazurka", version, subcommand_required = true, arg_required_else_help = true)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Look for failures of a program: assertions, deadlocks and the like
    Check(CheckArgs),
    /// Go on with a search that was ended, or killed, and that a journal was kept of (check --journal)
    Resume(ResumeArgs),
    /// Work at searches that are shared through a PostgreSQL database (check --on), with others on other machines
    Worker(WorkerArgs),
    /// Tell how far the searches in a database are, and who works at them
    Status(StatusArgs),
    /// End a search in a database, for good
    Cancel(CancelArgs),
    /// Run several algorithms on a program and print what each had to do
    Compare(CompareArgs),
    /// Tell which processes of a program share what, whether that forms cycles, and what follows for
    /// data-centric
    Architecture(ArchitectureArgs),
    /// Tell when the steps of a program commute
    Constraints(ConstraintsArgs),
    /// Tell about how many executions a check of a program has, and how long that takes
    Estimate(EstimateArgs),
    /// Read a program and print it
    Print(PrintArgs),
    /// List the algorithms: what each explores, needs and guarantees
    Algorithms(AlgorithmsArgs),
    /// Print a script that makes a shell complete the arguments of mazurka
    Completions(CompletionsArgs),
    /// Print the man page of mazurka
    Man,
    /// Compile C for a build, so that what it makes can be checked: CC="mazurka cc" make, then mazurka check
    /// ./program
    #[command(disable_help_flag = true)]
    Cc(CompileArgs),
    /// The same for C++: CXX="mazurka c++"
    #[command(name = "c++", disable_help_flag = true)]
    Cxx(CompileArgs),
}

impl Command {
    /// Whether machines want to read what is said.
    pub fn json(&self) -> bool {
        match self {
            Command::Check(arguments) => arguments.json,
            Command::Resume(arguments) => arguments.json,
            Command::Compare(arguments) => arguments.json,
            Command::Algorithms(arguments) => arguments.json,
            Command::Architecture(arguments) => arguments.json,
            Command::Constraints(arguments) => arguments.json,
            Command::Estimate(arguments) => arguments.json,
            Command::Status(arguments) => arguments.json,
            Command::Worker(_)
            | Command::Cancel(_)
            | Command::Print(_)
            | Command::Completions(_)
            | Command::Man
            | Command::Cc(_)
            | Command::Cxx(_) => false,
        }
    }

    /// How it is to talk to people.
    pub fn talk(&self) -> TalkArgs {
        match self {
            Command::Check(arguments) => arguments.talk,
            Command::Resume(arguments) => arguments.talk,
            Command::Compare(arguments) => arguments.talk,
            _ => TalkArgs::default(),
        }
    }
}

/// How to talk to people.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct TalkArgs {
    /// When to use colours: auto (on a terminal, unless NO_COLOR is set), always or never
    #[arg(long, value_name = "WHEN", alias = "colour", default_value = "auto", hide_possible_values = true)]
    pub color: Colours,

    /// Print nothing on a pass, and of anything else only what it is and where
    #[arg(long, short)]
    pub quiet: bool,
}

/// Arguments of `check`.
#[derive(Debug, Args)]
#[command(after_help = after_help())]
pub struct CheckArgs {
    /// The program: a .maz file, or the .abs, C or C++ files of one program; with --on also a Rust test, which is named
    /// behind --: --on URL -- BINARY TEST
    #[arg(required_unless_present = "on", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub files: Vec<PathBuf>,

    /// How to search.
    #[arg(long, value_name = "NAME", value_parser = AlgorithmName, default_value = DEFAULT_ALGORITHM.name(), hide_default_value = true,
          hide_possible_values = true, help = algorithm_help())]
    pub algorithm: String,

    /// Set a parameter of a .maz or .abs program; once for each
    #[arg(long = "param", value_name = "NAME=VALUE")]
    pub params: Vec<String>,

    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,

    /// How to talk to people.
    #[command(flatten)]
    pub talk: TalkArgs,

    /// Don't stop at the first failure, nor at the first execution that is too long
    #[arg(long)]
    pub keep_going: bool,

    /// With wake-up, and of .maz and .abs with reads-from, naive and random, search with so many workers (default:
    /// one for each core). The report is the same for any number; the other algorithms use one core
    #[arg(long, value_name = "N", value_parser = workers)]
    pub jobs: Option<usize>,

    /// With wake-up, keep a journal of the search in this file, so that mazurka resume can go on with it; the
    /// environment variable MAZURKA_JOURNAL names one too
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub journal: Option<PathBuf>,

    /// With wake-up, hand the search to workers on other machines, through this PostgreSQL database, and wait for
    /// what comes of it: postgres://user@host/database; see mazurka worker. With --jobs this machine works too
    #[arg(long, value_name = "URL", conflicts_with = "journal")]
    pub on: Option<String>,

    /// When to stop early.
    #[command(flatten)]
    pub limits: LimitArgs,

    /// Run this schedule (v1:..., or @FILE that holds one) instead of searching
    #[arg(long, value_name = "SCHEDULE")]
    pub replay: Option<String>,

    /// Run the algorithm as its paper prints it, in one of its versions (1 if left out); never exhaustive
    #[arg(long, value_name = "VERSION", num_args = 0..=1, require_equals = true, default_missing_value = "1")]
    pub as_published: Option<u8>,

    /// Show every step of a long execution
    #[arg(long)]
    pub full_trace: bool,

    /// With source+constraints and convergent+constraints, who finds out when steps commute: own (the procedure that
    /// is built in), z3 or cvc5, if installed
    #[arg(long, value_name = "NAME", hide_possible_values = true)]
    pub solver: Option<SolverName>,

    /// What to tell of executions besides failures.
    #[command(flatten)]
    pub executions: ExecutionArgs,

    /// Options for the front end, after --: listed below; for C those of the compiler too
    #[arg(last = true, value_name = "FRONT-END OPTIONS")]
    pub front_end: Vec<String>,
}

/// Arguments of `resume`.
#[derive(Debug, Args)]
#[command(after_help = EXIT_STATUS)]
pub struct ResumeArgs {
    /// The journal, which says what is searched and how; or the URL of a database with the search (check --on)
    #[arg(value_name = "JOURNAL", value_hint = ValueHint::FilePath)]
    pub journal: PathBuf,

    /// Which search of a database, by its number; needed if several are not over
    #[arg(long, value_name = "ID")]
    pub search: Option<i64>,

    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,

    /// How to talk to people.
    #[command(flatten)]
    pub talk: TalkArgs,

    /// Search with so many workers (default: one for each core)
    #[arg(long, value_name = "N", value_parser = workers)]
    pub jobs: Option<usize>,

    /// Stop after this many seconds
    #[arg(long, value_name = "S", value_parser = seconds, allow_negative_numbers = true)]
    pub timeout: Option<Duration>,

    /// Show every step of a long execution
    #[arg(long)]
    pub full_trace: bool,
}

/// Arguments of `worker`.
#[derive(Debug, Args)]
pub struct WorkerArgs {
    /// The database: postgres://user@host/database
    #[arg(long, value_name = "URL", required = true)]
    pub join: String,

    /// Work only at searches with this hash (mazurka status tells it), or any-of-this-user; once for each. Those of C
    /// and C++ are machine code, and run by nobody who does not say so
    #[arg(long, value_name = "HASH")]
    pub accept: Vec<String>,

    /// Work with so many threads (default: one for each core)
    #[arg(long, value_name = "N", value_parser = workers)]
    pub jobs: Option<usize>,

    /// End when there was nothing to do for so many seconds (default: wait for ever)
    #[arg(long, value_name = "S", value_parser = seconds, allow_negative_numbers = true)]
    pub idle: Option<Duration>,

    /// Another worker gets what this one was at so many seconds after it was heard of last
    #[arg(long, value_name = "S", value_parser = seconds, allow_negative_numbers = true, default_value = "60")]
    pub lease: Duration,

    /// Work for a Rust test only, with the program that cargo has built of the tests (target/debug/deps/...) and the
    /// name of the test. It is run here, and nothing else is
    #[arg(last = true, num_args = 2, value_names = ["BINARY", "TEST"])]
    pub program: Vec<String>,
}

/// Arguments of `status`.
#[derive(Debug, Args)]
pub struct StatusArgs {
    /// The database: postgres://user@host/database
    #[arg(value_name = "URL")]
    pub url: String,

    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,

    /// Tell about how many executions searches of .maz and ABS programs have in all; that takes up to 5 s for each
    #[arg(long)]
    pub estimate: bool,
}

/// Arguments of `cancel`.
#[derive(Debug, Args)]
pub struct CancelArgs {
    /// The database: postgres://user@host/database
    #[arg(value_name = "URL")]
    pub url: String,

    /// The number of the search
    #[arg(value_name = "SEARCH")]
    pub search: i64,
}

/// A number of workers.
fn workers(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(workers) if (1..=1024).contains(&workers) => Ok(workers),
        _ => Err("expected a number from 1 to 1024".to_owned()),
    }
}

/// How `check` searches if nobody says otherwise.
pub const DEFAULT_ALGORITHM: Algorithm = Algorithm::Optimal;

/// What the exit status says.
pub const EXIT_STATUS: &str = "Exit status: 0 no failure, and everything was looked at; 1 a failure; 2 usage, bad input or \
unsupported; 3 no failure, but not everything was looked at. Ctrl-C ends the search and reports what it has; a second \
one ends the command.";

/// Arguments of `compare`.
#[derive(Debug, Args)]
#[command(after_help = after_help())]
pub struct CompareArgs {
    /// The program: a .maz file, or the .abs, C or C++ files of one program
    #[arg(required = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub files: Vec<PathBuf>,

    /// Which algorithms, separated by commas [default: naive,source,optimal,data-centric,reads-from]
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = AlgorithmName,
          hide_possible_values = true)]
    pub algorithms: Option<Vec<String>>,

    /// Set a parameter of a .maz or .abs program; once for each. n=2..7 (7 included) or n=2,4,8 compares with
    /// each of these values
    #[arg(long = "param", value_name = "NAME=VALUES")]
    pub params: Vec<String>,

    /// Run those that have one also as their papers print them, in all versions
    #[arg(long)]
    pub as_published: bool,

    /// Print one JSON object instead of a table
    #[arg(long)]
    pub json: bool,

    /// Print comma-separated values instead of a table, a line for each search
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,

    /// Print a LaTeX table instead
    #[arg(long, conflicts_with_all = ["json", "csv"])]
    pub latex: bool,

    /// How to talk to people.
    #[command(flatten)]
    pub talk: TalkArgs,

    /// When to stop each algorithm early; without a time limit naive gets one of 10 s.
    #[command(flatten)]
    pub limits: LimitArgs,

    /// Options for the front end, after --: listed below; for C those of the compiler too
    #[arg(last = true, value_name = "FRONT-END OPTIONS")]
    pub front_end: Vec<String>,
}

/// Arguments of `architecture`.
#[derive(Debug, Args)]
#[command(after_help = after_help())]
pub struct ArchitectureArgs {
    /// The program: a .maz file, or the .abs, C or C++ files of one program
    #[arg(required = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub files: Vec<PathBuf>,

    /// Set a parameter of a .maz or .abs program; once for each
    #[arg(long = "param", value_name = "NAME=VALUE")]
    pub params: Vec<String>,

    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,

    /// Draw it into this file
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,

    /// When to stop looking; 10 s and 20,000 executions unless these say otherwise.
    #[command(flatten)]
    pub limits: LimitArgs,

    /// Options for the front end, after --: listed below; for C those of the compiler too
    #[arg(last = true, value_name = "FRONT-END OPTIONS")]
    pub front_end: Vec<String>,
}

/// Arguments of `constraints`.
#[derive(Debug, Args)]
#[command(after_help = after_help())]
pub struct ConstraintsArgs {
    /// The program: a .maz file, or the .abs files of one program
    #[arg(required = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub files: Vec<PathBuf>,

    /// Set a parameter of the program; once for each
    #[arg(long = "param", value_name = "NAME=VALUE")]
    pub params: Vec<String>,

    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,

    /// Who solves formulas: own (the procedure that is built in), z3 or cvc5, if installed
    #[arg(long, value_name = "NAME", default_value = "own", hide_possible_values = true)]
    pub solver: SolverName,

    /// Ask the built-in procedure and a program (z3 unless --solver says otherwise), and compare
    #[arg(long)]
    pub cross_check: bool,

    /// Options for the front end, after --: listed below
    #[arg(last = true, value_name = "FRONT-END OPTIONS")]
    pub front_end: Vec<String>,
}

/// Who solves formulas.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SolverName {
    /// The procedure that is built in.
    Own,
    /// Z3, a program.
    Z3,
    /// cvc5, a program.
    Cvc5,
}

/// Arguments of `cc` and `c++`.
#[derive(Debug, Args)]
pub struct CompileArgs {
    /// What the compiler is given; the environment variables MAZURKA_CC and MAZURKA_CXX name others than cc
    /// and c++
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS OF THE COMPILER")]
    pub words: Vec<String>,
}

/// Arguments of `print`.
#[derive(Debug, Args)]
pub struct PrintArgs {
    /// The program (.maz)
    #[arg(value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
}

/// Arguments of `algorithms`.
#[derive(Debug, Args)]
pub struct AlgorithmsArgs {
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `completions`.
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell: bash, zsh or fish
    #[arg(hide_possible_values = true)]
    pub shell: Shell,
}

/// The shells for which there are completions.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Shell {
    Bash,
    Zsh,
    Fish,
}

/// Any word, of which shells are told those that name an algorithm. Others are refused with what there is to
/// say of them, which is more than that they are not in a list.
#[derive(Clone, Debug)]
struct AlgorithmName;

impl TypedValueParser for AlgorithmName {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let value = |algorithm: Algorithm| PossibleValue::new(algorithm.name()).help(algorithm.summary());
        Some(Box::new(Algorithm::ALL.into_iter().map(value)))
    }
}

/// What a search may keep if nobody says otherwise: a program that creates processes forever must not take
/// the machine down.
const MEMORY: u64 = 4 << 30;

/// When to stop early, and in which order to go.
#[derive(Debug, Default, Args)]
pub struct LimitArgs {
    /// Stop after this many seconds (of each algorithm, in compare)
    #[arg(long, value_name = "S", value_parser = seconds, allow_negative_numbers = true)]
    pub timeout: Option<Duration>,

    /// Stop after this many executions of all kinds together
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), allow_negative_numbers = true)]
    pub max_executions: Option<u64>,

    /// Cut executions that are longer than this many steps [default: 100000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), allow_negative_numbers = true)]
    pub max_depth: Option<u32>,

    /// Cut loops in which something changes in every round after this many rounds [default: 1000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), allow_negative_numbers = true)]
    pub max_unroll: Option<u32>,

    /// Stop when the search keeps more than this: bytes, or with K, M, G or T as in 512M [default: 4G]
    #[arg(long, value_name = "BYTES", value_parser = bytes, allow_negative_numbers = true)]
    pub max_memory: Option<u64>,

    /// With reads-from: executions that leave memory in different ways are different
    #[arg(long)]
    pub observe_memory: bool,

    /// With data-centric, where processes form cycles: order the writes of some locations (locks), or all that any
    /// but the first process do to them (star) [default: locks]
    #[arg(long, value_name = "KIND", value_parser = reduction, hide_possible_values = true)]
    pub reduction: Option<Reduction>,

    /// Try processes and choices in an order drawn from this number
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub seed: Option<u64>,
}

impl LimitArgs {
    /// The most steps of an execution.
    pub fn depth(&self) -> usize {
        self.max_depth.map_or(Limits::default().depth, |depth| depth as usize)
    }

    /// What a search may keep, in bytes.
    pub fn memory(&self) -> u64 {
        self.max_memory.unwrap_or(MEMORY)
    }

    /// The options of a search.
    pub fn options(&self, keep_going: bool) -> Options {
        let limits = Limits {
            executions: self.max_executions,
            time: self.timeout,
            depth: self.depth(),
            memory: Some(self.memory()),
            unroll: self.max_unroll.map_or(Limits::default().unroll, |rounds| rounds as usize),
        };
        let order = self.seed.map_or(Order::Natural, Order::Shuffled);
        Options {
            order,
            limits,
            keep_going,
            observe_memory: self.observe_memory,
            reduction: self.reduction.unwrap_or_default(),
            ..Options::default()
        }
    }
}

/// The options of each front end, and the exit statuses.
pub fn after_help() -> String {
    let mut text = String::new();
    for front_end in FRONT_ENDS {
        let files: Vec<String> = front_end.extensions().iter().map(|known| format!(".{known}")).collect();
        text += &format!("Options for {} files, after --:\n", files.join(", "));
        for option in front_end.options().get_arguments() {
            let value = option.get_value_names().filter(|_| option.get_action().takes_values());
            let value = value.map_or(String::new(), |names| format!(" <{}>", names.join(" ")));
            let name = format!("--{}{value}", option.get_long().unwrap_or_default());
            text += &format!("      {name:26}  {}\n", option.get_help().cloned().unwrap_or_default());
        }
        text += "\n";
    }
    text + EXIT_STATUS
}

/// Each algorithm, in a line.
fn algorithm_help() -> String {
    let widest = Algorithm::ALL.into_iter().map(|algorithm| algorithm.name().len()).max().unwrap_or(0);
    let line = |algorithm: Algorithm| {
        let default = if algorithm == DEFAULT_ALGORITHM { " (the default)" } else { "" };
        format!("\n  {:widest$}  {}{default}", algorithm.name(), algorithm.summary())
    };
    format!("How to search:{}", Algorithm::ALL.map(line).concat())
}

/// The algorithm of a name.
///
/// # Errors
/// If there is none of that name: which there are.
pub fn algorithm(name: &str) -> Result<Algorithm, UnknownAlgorithm> {
    name.parse()
}

/// The algorithms of a name: the sound one, and those as published if they are asked for.
///
/// # Errors
/// If there is none of that name: which there are.
pub fn algorithms(name: &str, as_published: bool) -> Result<Vec<Algorithm>, UnknownAlgorithm> {
    let published: Vec<Algorithm> =
        Published::versions(name).filter(|_| as_published).map(Algorithm::Published).collect();
    match algorithm(name) {
        Ok(sound) => Ok([vec![sound], published].concat()),
        Err(_) if !published.is_empty() => Ok(published),
        Err(unknown) => Err(unknown),
    }
}

fn reduction(text: &str) -> Result<Reduction, String> {
    match text {
        "locks" => Ok(Reduction::Locks),
        "star" => Ok(Reduction::Star),
        _ => Err("it is locks or star".to_owned()),
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    let wrong =
        || "expected a number of seconds, such as 10 or 0.5; without --timeout there is no limit".to_owned();
    let seconds: f64 = text.parse().map_err(|_| wrong())?;
    // To some tools 0 means no limit, to others no time: better to ask.
    Duration::try_from_secs_f64(seconds).ok().filter(|time| !time.is_zero()).ok_or_else(wrong)
}

fn bytes(text: &str) -> Result<u64, String> {
    let wrong = || "expected a number of bytes, such as 1000000, 512M or 2G".to_owned();
    let (digits, shift) = match text.char_indices().next_back() {
        Some((at, unit)) if !unit.is_ascii_digit() => {
            let shift = match unit.to_ascii_uppercase() {
                'K' => 10,
                'M' => 20,
                'G' => 30,
                'T' => 40,
                _ => return Err(wrong()),
            };
            (&text[..at], shift)
        }
        _ => (text, 0),
    };
    let number: u64 = digits.parse().map_err(|_| wrong())?;
    number.checked_mul(1 << shift).filter(|&bytes| bytes > 0).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_arguments_are_well_formed() {
        Cli::command().debug_assert();
        FRONT_ENDS.iter().for_each(|front_end| front_end.options().debug_assert());
    }

    #[test]
    fn sizes_and_times() {
        for (text, expected) in
            [("512M", 512 << 20), ("2G", 2 << 30), ("2g", 2 << 30), ("17", 17), ("1K", 1024)]
        {
            assert_eq!(bytes(text), Ok(expected));
        }
        for text in ["", "M", "-1", "1.5G", "0", "99999999999T", "3X", "3é"] {
            assert!(bytes(text).is_err(), "{text}");
        }
        assert_eq!(seconds("0.5"), Ok(Duration::from_millis(500)));
        for text in ["", "-1", "0", "1e-30", "nan", "inf", "1e300", "5s"] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }

    /// Every option of the command is a row of a table of `docs/command.md`, and every row an option.
    #[test]
    fn the_page_of_the_command_names_exactly_its_options() {
        let page = include_str!("../../../docs/command.md");
        let mut options = BTreeSet::new();
        let front_ends = FRONT_ENDS.map(|front_end| front_end.options());
        for command in Cli::command().get_subcommands().chain(&front_ends) {
            for argument in command.get_arguments() {
                options.extend(argument.get_long().map(|long| format!("--{long}")));
            }
        }
        let rows = page.lines().filter_map(|line| line.strip_prefix("| `--"));
        let documented: BTreeSet<String> =
            rows.filter_map(|row| row.split([' ', '`']).next()).map(|name| format!("--{name}")).collect();
        assert_eq!(options, documented);
        for command in Cli::command().get_subcommands() {
            assert!(page.contains(&format!("mazurka {}", command.get_name())), "{}", command.get_name());
        }
    }

    /// The first cell and the second of the rows of a table of a page, the table being the one with this
    /// heading.
    fn rows<'a>(page: &'a str, heading: &str) -> Vec<(&'a str, &'a str)> {
        let table = page.lines().skip_while(|line| !line.starts_with(heading)).skip(2);
        let cells = |row: &'a str| row.trim_matches('|').split(" | ").map(str::trim).collect::<Vec<_>>();
        table.take_while(|line| line.starts_with('|')).map(cells).map(|row| (row[0], row[1])).collect()
    }

    /// The tables of algorithms in the documents have each of them, in order, with what it is in a line.
    #[test]
    fn the_tables_of_algorithms_are_those_of_the_registry() {
        let page = rows(include_str!("../../../docs/algorithms.md"), "| name | explores |");
        let command = rows(include_str!("../../../docs/command.md"), "| name | explores |");
        for table in [page, command] {
            let names: Vec<&str> = table.iter().filter_map(|(name, _)| name.split('`').nth(1)).collect();
            assert_eq!(names, Algorithm::ALL.map(Algorithm::name));
            for ((name, explores), algorithm) in table.into_iter().zip(Algorithm::ALL) {
                assert!(explores.starts_with(algorithm.summary()), "{name}: {explores}");
            }
        }
        let options = include_str!("../../../docs/command.md");
        let row = options.lines().find(|line| line.starts_with("| `--algorithm NAME`")).unwrap();
        let rust = include_str!("../../../docs/rust.md");
        let variable = rust.lines().find(|line| line.starts_with("| `MAZURKA_ALGORITHM`")).unwrap();
        for algorithm in Algorithm::ALL {
            let named = |line: &str| line.contains(&format!("`{algorithm}`"));
            assert!(named(row), "{algorithm} in {row}");
            assert!(!algorithm.needs().is_empty() || named(variable), "{algorithm} in {variable}");
        }
    }
}
