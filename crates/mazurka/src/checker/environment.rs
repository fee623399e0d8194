//! The environment variables, all of them: nothing else in this crate reads the environment.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use mazurka_explore::Algorithm;
use mazurka_program::Schedule;

macro_rules! variables {
    ($($constant:ident = $name:literal: $meaning:literal;)*) => {
        $(const $constant: &str = $name;)*

        /// Every variable with what it means, as docs/rust.md has them. A test compares the two.
        const VARIABLES: &[(&str, &str)] = &[$(($constant, $meaning)),*];
    };
}

variables! {
    REPLAY = "MAZURKA_REPLAY":
        "runs one schedule instead of searching: `v1:...`, or `@FILE` for a file that holds it";
    ALGORITHM = "MAZURKA_ALGORITHM": "the algorithm: `optimal`, `wake-up`, `source`, `naive`, `data-centric`, `reads-from` or `random`";
    JOBS = "MAZURKA_JOBS": "the search is shared among so many threads, by `wake-up` unless another algorithm is asked for";
    JOURNAL = "MAZURKA_JOURNAL":
        "a file that keeps the search of the one test that is run, or a directory with a file for each: it is gone on with, by `wake-up`";
    CHECKPOINT = "MAZURKA_JOURNAL_CHECKPOINT": "a journal is made short again when it has more than so many bytes: `8388608`";
    MAX_EXECUTIONS = "MAZURKA_MAX_EXECUTIONS": "at most so many executions, of all kinds together";
    MAX_SECONDS = "MAZURKA_MAX_SECONDS": "at most so many seconds for each check: `10`, `0.5`";
    MAX_UNROLL = "MAZURKA_MAX_UNROLL":
        "loops in which something changes in every round are cut after so many rounds";
    OBSERVE_MEMORY = "MAZURKA_OBSERVE_MEMORY":
        "`1`: with `reads-from`, executions that leave memory in different ways are different; `0`: they aren't";
    SEED = "MAZURKA_SEED": "the order of the search is drawn from this number";
    HANG_SECONDS = "MAZURKA_HANG_SECONDS":
        "so long a thread may run without an operation before it counts as hanging; `0`: for ever";
    SPURIOUS_WAKEUPS = "MAZURKA_SPURIOUS_WAKEUPS":
        "`1`: condition variables and `park` may wake up of themselves; `0`: they don't";
    SPURIOUS_POLLS = "MAZURKA_SPURIOUS_POLLS":
        "`1`: futures may be polled though nobody woke their task; `0`: they aren't";
    SPURIOUS_FAILURES = "MAZURKA_SPURIOUS_FAILURES":
        "`1`: `compare_exchange_weak` may fail of itself; `0`: it doesn't";
    LEAKS = "MAZURKA_LEAKS":
        "`1`: an `Arc` that nobody drops, and memory that nobody frees, is a failure; `0`: it isn't";
    REGRESSIONS = "MAZURKA_REGRESSIONS": "saved failures: `on`; `read`: run but not written; `off`: neither";
    LOG = "MAZURKA_LOG":
        "`verdict` prints the verdict of each check, `progress` also how far it is; `off` neither";
    FULL_TRACE = "MAZURKA_FULL_TRACE": "`1`: reports leave nothing out, however long an execution is";
    WORKER = "MAZURKA_WORKER":
        "set by the command `mazurka` (`check --on`, `worker`) where it runs a test: the socket over which it asks for parts of the search";
    NO_COLOR = "NO_COLOR": "respected: no report of the library has colours";
    MANIFEST_DIR = "CARGO_MANIFEST_DIR": "set by cargo; where source files are looked for";
}

/// What is said of a check besides its report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verbosity {
    #[default]
    Off,
    Verdict,
    Progress,
}

/// What is done with saved failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SavedFailures {
    ReadAndWrite,
    Read,
    Ignore,
}

/// What the variables say. None where one is not set.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Environment {
    pub(crate) replay: Option<Schedule>,
    pub(crate) algorithm: Option<Algorithm>,
    pub(crate) jobs: Option<usize>,
    pub(crate) journal: Option<PathBuf>,
    /// From how many bytes on a journal is made short.
    pub(crate) long_journal: Option<u64>,
    pub(crate) max_executions: Option<u64>,
    pub(crate) max_time: Option<Duration>,
    pub(crate) max_unroll: Option<usize>,
    pub(crate) observe_memory: Option<bool>,
    pub(crate) seed: Option<u64>,
    /// None within: no time is too long.
    pub(crate) hang_timeout: Option<Option<Duration>>,
    pub(crate) spurious_wakeups: Option<bool>,
    pub(crate) spurious_polls: Option<bool>,
    pub(crate) spurious_failures: Option<bool>,
    pub(crate) leaks: Option<bool>,
    pub(crate) saved: Option<SavedFailures>,
    pub(crate) verbosity: Option<Verbosity>,
    pub(crate) full_trace: bool,
    /// Where somebody asks for parts of the search.
    pub(crate) worker: Option<PathBuf>,
}

impl Environment {
    /// # Errors
    /// If a variable has a value that it can't have: names both.
    pub(crate) fn read() -> Result<Environment, String> {
        Environment::from(&get)
    }

    fn from(get: &dyn Fn(&str) -> Option<OsString>) -> Result<Environment, String> {
        let switch = |name| value(get, name, "1 or 0", switch);
        Ok(Environment {
            replay: parsed(get, REPLAY, schedule)?,
            algorithm: parsed(get, ALGORITHM, |text| text.parse().map_err(message))?,
            jobs: value(get, JOBS, "a number of threads, at least 1", |text| {
                text.parse().ok().filter(|&jobs| jobs > 0)
            })?,
            journal: get(JOURNAL).filter(|path| !path.is_empty()).map(PathBuf::from),
            long_journal: value(get, CHECKPOINT, "a number of bytes", |text| text.parse().ok())?,
            max_executions: value(get, MAX_EXECUTIONS, "a number of executions, at least 1", |text| {
                text.parse().ok().filter(|&executions| executions > 0)
            })?,
            max_time: value(get, MAX_SECONDS, "a number of seconds above 0", |text| {
                seconds(text).filter(|time| !time.is_zero())
            })?,
            max_unroll: value(get, MAX_UNROLL, "a number of rounds, at least 1", |text| {
                text.parse().ok().filter(|&rounds| rounds > 0)
            })?,
            observe_memory: switch(OBSERVE_MEMORY)?,
            seed: value(get, SEED, "a number", |text| text.parse().ok())?,
            hang_timeout: value(get, HANG_SECONDS, "a number of seconds", |text| {
                seconds(text).map(|time| (!time.is_zero()).then_some(time))
            })?,
            spurious_wakeups: switch(SPURIOUS_WAKEUPS)?,
            spurious_polls: switch(SPURIOUS_POLLS)?,
            spurious_failures: switch(SPURIOUS_FAILURES)?,
            leaks: switch(LEAKS)?,
            saved: value(get, REGRESSIONS, "on, read or off", |text| match text {
                "on" => Some(SavedFailures::ReadAndWrite),
                "read" => Some(SavedFailures::Read),
                "off" => Some(SavedFailures::Ignore),
                _ => None,
            })?,
            verbosity: value(get, LOG, "verdict, progress or off", |text| match text {
                "verdict" | "1" => Some(Verbosity::Verdict),
                "progress" => Some(Verbosity::Progress),
                "off" | "0" => Some(Verbosity::Off),
                _ => None,
            })?,
            full_trace: switch(FULL_TRACE)?.unwrap_or(false),
            worker: get(WORKER).filter(|path| !path.is_empty()).map(PathBuf::from),
        })
    }
}

/// The directory of the package that is tested.
pub(crate) fn manifest_dir() -> Option<PathBuf> {
    get(MANIFEST_DIR).map(PathBuf::from)
}

/// The only place that reads the environment.
fn get(name: &str) -> Option<OsString> {
    debug_assert!(VARIABLES.iter().any(|variable| variable.0 == name), "{name} is not in the list");
    std::env::var_os(name)
}

/// The value of a variable; none if it is not set, or empty.
fn value<T>(
    get: &dyn Fn(&str) -> Option<OsString>,
    name: &str,
    wanted: &str,
    parse: impl Fn(&str) -> Option<T>,
) -> Result<Option<T>, String> {
    parsed(get, name, |text| parse(text).ok_or_else(|| format!("this is not {wanted}")))
}

/// The same, of one that says itself what is wrong with it.
fn parsed<T>(
    get: &dyn Fn(&str) -> Option<OsString>,
    name: &str,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Result<Option<T>, String> {
    let Some(text) = get(name).filter(|text| !text.is_empty()) else { return Ok(None) };
    let text = text.to_string_lossy();
    parse(text.trim()).map(Some).map_err(|why| format!("{name}={text}: {why}"))
}

/// A schedule, or `@` and the name of a file that holds one.
pub(crate) fn schedule(text: &str) -> Result<Schedule, String> {
    let Some(file) = text.strip_prefix('@') else { return text.parse().map_err(message) };
    let text = std::fs::read_to_string(file).map_err(|error| format!("can't read {file}: {error}"))?;
    text.trim().parse().map_err(message)
}

fn message(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn switch(text: &str) -> Option<bool> {
    match text {
        "1" => Some(true),
        "0" => Some(false),
        _ => None,
    }
}

fn seconds(text: &str) -> Option<Duration> {
    Duration::try_from_secs_f64(text.parse().ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(name: &str, value: &str) -> Result<Environment, String> {
        Environment::from(&|asked| (asked == name).then(|| value.into()))
    }

    #[test]
    fn the_documentation_has_this_list() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/rust.md");
        let text = std::fs::read_to_string(file).unwrap();
        let table = text.split("| variable | meaning |\n|---|---|\n").nth(1).unwrap();
        let documented: Vec<&str> = table.lines().take_while(|line| line.starts_with('|')).collect();
        let list: Vec<String> =
            VARIABLES.iter().map(|(name, meaning)| format!("| `{name}` | {meaning} |")).collect();
        assert_eq!(documented, list);
    }

    #[test]
    fn nothing_else_reads_the_environment() {
        fn visit(directory: &std::path::Path, readers: &mut Vec<PathBuf>) {
            for entry in std::fs::read_dir(directory).unwrap().map(Result::unwrap) {
                if entry.path().is_dir() {
                    visit(&entry.path(), readers);
                } else if std::fs::read_to_string(entry.path()).unwrap().contains(concat!("env::", "var")) {
                    readers.push(entry.path());
                }
            }
        }
        let (source, mut readers) =
            (std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), Vec::new());
        visit(&source, &mut readers);
        assert_eq!(readers, [source.join("checker/environment.rs")]);
    }

    #[test]
    fn values_are_read() {
        let none = Environment::default();
        assert_eq!(with("OTHER", "x").unwrap(), none);
        assert_eq!(with(SEED, "").unwrap(), none, "empty is as if not set");
        assert_eq!(with(SEED, "7").unwrap().seed, Some(7));
        assert_eq!(with(JOBS, "4").unwrap().jobs, Some(4));
        assert_eq!(with(JOURNAL, "").unwrap(), none);
        assert_eq!(with(JOURNAL, "a b").unwrap().journal, Some("a b".into()));
        assert_eq!(with(CHECKPOINT, "3000").unwrap().long_journal, Some(3000));
        assert_eq!(with(MAX_EXECUTIONS, " 12 ").unwrap().max_executions, Some(12));
        assert_eq!(with(MAX_SECONDS, "0.5").unwrap().max_time, Some(Duration::from_millis(500)));
        assert_eq!(with(HANG_SECONDS, "0").unwrap().hang_timeout, Some(None));
        assert_eq!(with(HANG_SECONDS, "2").unwrap().hang_timeout, Some(Some(Duration::from_secs(2))));
        assert_eq!(with(ALGORITHM, "naive").unwrap().algorithm, Some(Algorithm::Naive));
        assert_eq!(with(REPLAY, "v1:0*3").unwrap().replay.unwrap().steps.len(), 3);
        assert_eq!(with(REGRESSIONS, "read").unwrap().saved, Some(SavedFailures::Read));
        assert_eq!(with(LOG, "1").unwrap().verbosity, Some(Verbosity::Verdict));
        assert!(with(FULL_TRACE, "1").unwrap().full_trace);
        assert_eq!(with(SPURIOUS_FAILURES, "1").unwrap().spurious_failures, Some(true));
        assert_eq!(with(SPURIOUS_POLLS, "0").unwrap().spurious_polls, Some(false));
        assert_eq!(with(OBSERVE_MEMORY, "1").unwrap().observe_memory, Some(true));
    }

    #[test]
    fn a_bad_value_is_refused_with_the_name_of_its_variable() {
        for (name, value, expected) in [
            (SEED, "x", "MAZURKA_SEED=x: this is not a number"),
            (SEED, "-1", "MAZURKA_SEED=-1: this is not a number"),
            (JOBS, "0", "MAZURKA_JOBS=0: this is not a number of threads, at least 1"),
            (CHECKPOINT, "-1", "MAZURKA_JOURNAL_CHECKPOINT=-1: this is not a number of bytes"),
            (MAX_EXECUTIONS, "0", "MAZURKA_MAX_EXECUTIONS=0: this is not a number of executions, at least 1"),
            (MAX_SECONDS, "0", "MAZURKA_MAX_SECONDS=0: this is not a number of seconds above 0"),
            (MAX_SECONDS, "1e99", "MAZURKA_MAX_SECONDS=1e99: this is not a number of seconds above 0"),
            (HANG_SECONDS, "-1", "MAZURKA_HANG_SECONDS=-1: this is not a number of seconds"),
            (REGRESSIONS, "yes", "MAZURKA_REGRESSIONS=yes: this is not on, read or off"),
            (LOG, "loud", "MAZURKA_LOG=loud: this is not verdict, progress or off"),
            (FULL_TRACE, "yes", "MAZURKA_FULL_TRACE=yes: this is not 1 or 0"),
            (SPURIOUS_WAKEUPS, "on", "MAZURKA_SPURIOUS_WAKEUPS=on: this is not 1 or 0"),
            (
                ALGORITHM,
                "fast",
                "MAZURKA_ALGORITHM=fast: fast is not an algorithm; there are naive, source, optimal, \
                 wake-up, optimal+observers, source+context, source+constraints, convergent, \
                 convergent+constraints, data-centric, reads-from and random",
            ),
            (
                REPLAY,
                "v2:0",
                "MAZURKA_REPLAY=v2:0: not a schedule: expected \"v1:\" (the version of the schedule) at \
                 character 1",
            ),
        ] {
            assert_eq!(with(name, value).unwrap_err(), expected);
        }
        let error = with(REPLAY, "@/no/such/file").unwrap_err();
        assert!(error.starts_with("MAZURKA_REPLAY=@/no/such/file: can't read /no/such/file: "), "{error}");
    }
}
