//! The programs of `bench/c` have exactly the counts of `bench/c/expected.tsv`, with threads created in
//! either order; small ones are held against brute force too.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use mazurka_explore::{Algorithm, Counts, Ending, Monitor, NoMonitor, NotExhaustive, Options, explore};
use mazurka_native::driver::{BuildError, Built, Compiler, Request, build};
use mazurka_native::runtime::{self, Native, NativeRun, Races, load, stub_assembly};
use mazurka_oracle::{Budget, truth};
use mazurka_program::Run;
use mazurka_trace::Trace;

/// Larger rows are run with one compiler, and in one order of creation.
const MANY: u64 = 6_000;
/// Programs with more executions are not for brute force.
const SMALL: u64 = 30;

/// A program has signal handlers, timers and memory at fixed addresses: one test at a time.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Row {
    program: String,
    arguments: String,
    algorithm: Algorithm,
    executions: u64,
    /// None where it depends on the order of the search.
    blocked: Option<u64>,
    assumed: Option<u64>,
}

fn rows() -> Vec<Row> {
    let text = include_str!("../c/expected.tsv");
    let mut lines = text.lines();
    assert_eq!(
        lines.next(),
        Some("program\targuments\talgorithm\texecutions\tblocked\tassumed\tsource_of_figure")
    );
    let row = |line: &str| {
        let cells: Vec<&str> = line.split('\t').collect();
        assert_eq!(cells.len(), 7, "{line}");
        let perhaps = |cell: &str| (cell != "-").then(|| cell.parse().expect("a number"));
        Row {
            program: cells[0].to_owned(),
            arguments: cells[1].to_owned(),
            algorithm: cells[2].parse().expect("an algorithm"),
            executions: cells[3].parse().expect("a number"),
            blocked: perhaps(cells[4]),
            assumed: perhaps(cells[5]),
        }
    };
    lines.map(row).collect()
}

/// The best compiler that is here, and gcc, if that is another one.
fn compilers() -> Vec<Option<&'static str>> {
    let best = Compiler::find(None).expect("there is a compiler");
    let gcc = Compiler::find(Some("gcc")).is_ok_and(|gcc| gcc.family != best.family);
    if gcc { vec![None, Some("gcc")] } else { vec![None] }
}

/// Programs, each compiled once.
#[derive(Default)]
struct Programs(BTreeMap<(String, String, Option<&'static str>), Built>);

impl Programs {
    fn load(&mut self, program: &str, arguments: &str, compiler: Option<&'static str>) -> Native {
        let key = (program.to_owned(), arguments.to_owned(), compiler);
        let built = self.0.entry(key).or_insert_with(|| {
            let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("c").join(format!("{program}.c"));
            let flags = arguments.split(' ').filter(|word| !word.starts_with("--races")).map(str::to_owned);
            let compiler = compiler.map(str::to_owned);
            let request =
                Request { sources: vec![source], flags: flags.collect(), compiler, ..Request::default() };
            build(&request, &stub_assembly()).unwrap_or_else(|error: BuildError| panic!("{program}: {error}"))
        });
        let races = if arguments.contains("--races=sc") { Races::Sc } else { Races::Report };
        let options = runtime::Options { races, ..runtime::Options::default() };
        load(built, options).unwrap_or_else(|error| panic!("{program} {arguments}: {error}"))
    }
}

fn count(program: &Native, row: &Row) -> Counts {
    let summary = explore(program, row.algorithm, &Options::default(), &mut NoMonitor);
    let what = format!("{} {} under {}", row.program, row.arguments, row.algorithm);
    assert_eq!(summary.broken, None, "{what}");
    assert_eq!(summary.not_exhaustive, None, "{what}");
    summary.counts
}

#[test]
fn counts_are_those_of_the_table() {
    let _alone = alone();
    let rows = rows();
    assert!(rows.len() > 120, "{}", rows.len());
    let mut programs = Programs::default();
    for row in &rows {
        for (at, compiler) in compilers().into_iter().enumerate() {
            for order in ["", " -DREVERSED"] {
                if row.executions > MANY && (at > 0 || !order.is_empty()) {
                    continue;
                }
                let arguments = format!("{}{order}", row.arguments);
                let program = programs.load(&row.program, &arguments, compiler);
                let counts = count(&program, row);
                let what = format!("{} {arguments} under {} ({compiler:?})", row.program, row.algorithm);
                assert_eq!(counts.complete, row.executions, "{what}: {counts:?}");
                assert_eq!(counts.deadlocks, 0, "{what}");
                assert!(row.blocked.is_none_or(|blocked| blocked == counts.blocked), "{what}: {counts:?}");
                assert!(row.assumed.is_none_or(|assumed| assumed == counts.assumed), "{what}: {counts:?}");
            }
        }
    }
}

#[test]
fn brute_force_has_as_many_classes() {
    let _alone = alone();
    let mut programs = Programs::default();
    let mut held = 0;
    for row in rows().iter().filter(|row| row.executions <= SMALL && row.algorithm != Algorithm::Source) {
        let program = programs.load(&row.program, &row.arguments, None);
        let Ok(truth) = truth(&program, Budget { executions: 50_000, steps: 200 }) else { continue };
        let classes = match row.algorithm {
            Algorithm::OptimalObservers => truth.observers.len(),
            Algorithm::DataCentric | Algorithm::ReadsFrom => truth.reads_from.len(),
            _ => truth.mazurkiewicz.len(),
        };
        let what = format!("{} {} ({})", row.program, row.arguments, row.algorithm);
        assert_eq!(classes as u64, row.executions, "{what}");
        held += 1;
    }
    assert!(held >= 16, "only {held} rows are small enough for brute force");
}

/// The kinds of failures of all executions.
#[derive(Default)]
struct Kinds(BTreeSet<&'static str>);

impl Monitor<NativeRun> for Kinds {
    fn execution(&mut self, ending: Ending, _: &Trace, run: &NativeRun, _: &Counts) -> ControlFlow<()> {
        self.0.extend(run.failures().iter().map(|failure| failure.kind.name()));
        if ending == (Ending::Complete { deadlock: true }) {
            self.0.insert("deadlock");
        }
        ControlFlow::Continue(())
    }

    fn begin_again(&mut self) {
        self.0.clear();
    }
}

fn examples() -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/c");
    let files = std::fs::read_dir(directory).expect("it is in the checkout");
    let mut found: Vec<PathBuf> = files.map(|file| file.expect("a readable file").path()).collect();
    found.sort();
    found
}

/// Every example says in a line `// expect: ...` what is to be expected of it, and that is what is found.
/// Some say in a line `// executions: ...` how many complete executions there are.
#[test]
fn examples_do_what_they_say() {
    let _alone = alone();
    let examples = examples();
    assert!(examples.len() >= 14, "only {} examples", examples.len());
    for path in examples {
        let text = std::fs::read_to_string(&path).expect("a readable file");
        let expected = text.lines().find_map(|line| line.strip_prefix("// expect: "));
        let expected = expected.unwrap_or_else(|| panic!("{}: no line `// expect: ...`", path.display()));
        for compiler in compilers() {
            let request = Request {
                sources: vec![path.clone()],
                compiler: compiler.map(str::to_owned),
                ..Request::default()
            };
            let built = build(&request, &stub_assembly())
                .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            let program = load(&built, runtime::Options::default()).expect("it can be loaded");
            for algorithm in [
                Algorithm::Source,
                Algorithm::Optimal,
                Algorithm::OptimalObservers,
                Algorithm::DataCentric,
                Algorithm::ReadsFrom,
            ] {
                let mut kinds = Kinds::default();
                let summary = explore(&program, algorithm, &Options::default(), &mut kinds);
                // Condition variables need to be run to know what they touch, so `source` says that it can't
                // have them.
                let refused = summary.not_exhaustive.as_ref().is_some_and(|reason| {
                    let reason = reason.to_string();
                    algorithm == Algorithm::Source && reason.contains("not supported by source")
                        || reason.contains("data-centric does not cover")
                });
                if refused {
                    continue;
                }
                let what = format!("{} ({compiler:?}, {algorithm})", path.display());
                if let Some(count) = text.lines().find_map(|line| line.strip_prefix("// executions: ")) {
                    // Compilers may keep different things, by which loops are seen earlier or later.
                    let counts: Vec<u64> =
                        count.split(" or ").map(|count| count.trim().parse().expect("a number")).collect();
                    assert!(counts.contains(&summary.counts.complete), "{what}: {}", summary.counts.complete);
                }
                // Whom a notification wakes is not proved for observers; it has to be right all the same.
                let proved = |reason: &NotExhaustive| *reason != NotExhaustive::NotProved;
                assert_eq!(summary.not_exhaustive.filter(proved), None, "{what}");
                assert_eq!(summary.broken, None, "{what}");
                match expected.strip_prefix("failure ") {
                    None => assert!(expected == "pass" && kinds.0.is_empty(), "{what}: {:?}", kinds.0),
                    Some(kind) => assert!(kinds.0.contains(kind.trim()), "{what}: {:?}", kinds.0),
                }
            }
        }
    }
}
