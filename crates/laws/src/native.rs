//! Random programs in C: the front end for C must do with them what the language's machine does.
//!
//! Programs are turned into C, many in one file, compiled, and run one by one. Of each, brute force over the
//! C program and every order of a table of algorithms obey the laws; and it has as many classes, modulo observers
//! and by what is read from whom too, and as many with a false assumption, as the program in the language has,
//! the same failures, and the same processes wait in its deadlocks.

use std::path::PathBuf;

use mazurka_explore::{Algorithm, Limits, Options, Order, Rules};
use mazurka_litmus::ast::Ast;
use mazurka_litmus::{LabelRules, Source, compile};
use mazurka_native::driver::{Built, Request, build};
use mazurka_native::runtime::{self, MainExits, Native, NativeRun, Races, load, stub_assembly};
use mazurka_oracle::{Budget, truth};
use mazurka_program::{FailureKind, Run};

use crate::behaviour::{Behaviour, Telling};
use crate::campaign::{Broken, Checked, FuzzTarget, NOT_A_PROGRAM, Outcome};
use crate::closures::{C_PRELUDE, GIVEN_UP, in_c, prepare_for_c};
use crate::corpus::Seed;
use crate::laws::{in_orders, names, obeys};
use crate::random::Random;
use crate::{generate, maz};

const LITMUS: Budget = Budget { executions: 3_000, steps: 40 };
const NATIVE: Budget = Budget { executions: 3_000, steps: 60 };

/// What programs that brute force can take are checked under, and in which orders.
const CHECKED: [(Algorithm, &[u64]); 5] = [
    (Algorithm::Optimal, &[0]),
    (Algorithm::WakeUp, &[0, 2]),
    (Algorithm::OptimalObservers, &[0, 1]),
    (Algorithm::ReadsFrom, &[0, 1, 2, 3]),
    (Algorithm::Source, &[0, 1]),
];

/// Random programs in C, half of them mutants. Most are such that C has them.
#[derive(Clone, Debug)]
pub struct CPrograms {
    /// What mutants are made of.
    pub corpus: Vec<Seed>,
    /// Who compiles them.
    pub compiler: Compiler,
}

/// A compiler of files with many programs.
#[derive(Clone, Debug, Default)]
pub struct Compiler {
    /// Its name, where the best that there is will not do.
    pub name: Option<String>,
}

/// The text of a file with programs, of which `main` runs the one that it is given the number of.
pub(crate) fn file_of(programs: &[String]) -> String {
    let mut text = C_PRELUDE.to_owned() + &programs.concat();
    text += "int main(int count, char **arguments) {\n  switch (atoi(arguments[1])) {\n";
    (0..programs.len()).for_each(|k| text += &format!("    case {k}: run_{k}(); break;\n"));
    text + "  }\n  return 0;\n}\n"
}

impl FuzzTarget for CPrograms {
    type Program = Ast;
    /// So many programs are compiled together.
    const BATCH: u64 = 100;
    const CLEAN: &'static str = "nothing wrong";
    const BROKEN: &'static str = "WRONG in program";

    fn draw(&self, index: u64, random: &mut Random) -> (Ast, bool) {
        let mut attempts = 20;
        loop {
            let (ast, mutant) = maz::draw(index, random, &self.corpus, generate::threads);
            let ast = prepare_for_c(&ast, random.number());
            attempts -= 1;
            if attempts == 0 || in_c(&ast, 0).is_ok() {
                return (ast, mutant);
            }
        }
    }

    fn check(&self, ast: &Ast, seed: u64) -> Checked {
        let batch = [(ast.clone(), seed)];
        self.check_batch(&batch).next().unwrap_or(Checked::TooLarge)
    }

    fn check_batch<'a>(&'a self, batch: &'a [(Ast, u64)]) -> Box<dyn Iterator<Item = Checked> + 'a> {
        let mut programs = Vec::new();
        let mut enter = |ast| {
            let program = in_c(ast, programs.len()).map_err(Checked::Unfit)?;
            let expected = expectation(ast)?;
            programs.push(program);
            Ok((programs.len() - 1, expected))
        };
        let entries: Vec<Result<(usize, Expected), Checked>> =
            batch.iter().map(|(ast, _)| enter(ast)).collect();
        let built =
            match self.compiler.compiled(&file_of(&programs), batch.first().map_or(0, |(_, seed)| *seed)) {
                Ok(built) => built,
                Err(why) if batch.len() == 1 => {
                    return Box::new(std::iter::once(Checked::Breaks(Broken::law(why))));
                }
                // One by one: that which can't be compiled is found so.
                Err(_) => return Box::new(batch.iter().map(|(ast, seed)| self.check(ast, *seed))),
            };
        Box::new(entries.into_iter().zip(batch).map(move |(entry, (_, seed))| {
            match entry {
                Ok((number, expected)) => check(&built, number, &expected, *seed)
                    .unwrap_or_else(|what| Checked::Breaks(Broken::law(what))),
                Err(checked) => checked,
            }
        }))
    }

    fn corpus(&self) -> Option<String> {
        Some(format!("corpus of {} programs", self.corpus.len()))
    }

    fn summary(&self, outcome: &Outcome<Ast>) -> String {
        let Outcome { held, classes, agreed, too_large, .. } = outcome;
        let seconds = outcome.time.as_secs_f64();
        let algorithms = names(&CHECKED);
        format!(
            "{held} C programs, {classes} classes, in {seconds:.1} s: they do what the language does, and obey \
             the laws under {algorithms}\n\
             too large for brute force in C: {agreed} that agree under optimal, optimal+observers and reads-from, \
             {too_large} that were left out{}",
            outcome.unfit_lines("not turned into C")
        )
    }

    fn options(&self) -> String {
        let compiler = self.compiler.name.as_ref().map_or(String::new(), |name| format!(" --cc {name}"));
        format!(" --native{compiler}")
    }
}

impl Compiler {
    /// A file of programs, with a number that no other file has.
    pub(crate) fn compiled(&self, text: &str, number: u64) -> Result<Built, String> {
        let name = format!("mazurka-fuzz-{}-{number}.c", std::process::id());
        let path: PathBuf = std::env::temp_dir().join(name);
        let told = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        std::fs::write(&path, text).map_err(|error| told(&error))?;
        let request = Request {
            sources: vec![path.clone()],
            flags: vec!["-w".to_owned()],
            compiler: self.name.clone(),
            ..Request::default()
        };
        let built = build(&request, &stub_assembly()).map_err(|error| told(&error))?;
        // What could not be compiled stays there to be looked at.
        let _ = std::fs::remove_file(&path);
        Ok(built)
    }
}

/// What a program does in the language, under `optimal`, modulo observers, and by reads-from classes.
struct Expected {
    optimal: Behaviour,
    observers: Behaviour,
    reads_from: Behaviour,
}

/// What a program does in the language; else why that can't be compared. Every poll is a step: C learns that one
/// leads back only by taking it, so of programs that can go round for ever the numbers differ. They have laws of
/// their own (`native_loops`).
fn expectation(ast: &Ast) -> Result<Expected, Checked> {
    let litmus = compile(ast, &Source::default(), &[]).map_err(|_| Checked::Unfit(NOT_A_PROGRAM))?;
    // In C an attempt at a lock that fails is a mere read.
    let rules = LabelRules { polls_wait: false, failed_try_lock_reads: true, ..LabelRules::default() };
    let truth = truth(&litmus.with_rules(rules), LITMUS).map_err(|_| Checked::TooLarge)?;
    if truth.failures.iter().any(|(kind, _)| *kind == FailureKind::Hang) {
        return Err(Checked::Unfit("an endless local loop"));
    }
    // In C that is the end of the program, and who waits then is in no deadlock; in the language the others
    // go on.
    let not_held = |(kind, message): &(FailureKind, String)| {
        *kind == FailureKind::InvalidSync && !message.contains("holds no process")
    };
    if truth.failures.iter().any(not_held) {
        return Err(Checked::Unfit("a lock that is not held"));
    }
    let optimal = Behaviour::of(&truth, &|path| Some(path.to_vec())).without_values();
    let observers = optimal.with_classes(truth.observers.len(), truth.observers_assumed.len());
    let reads_from = optimal.with_classes(truth.reads_from.len(), truth.reads_from_assumed.len());
    Ok(Expected { optimal, observers, reads_from })
}

/// Checks a program of a file.
fn check(built: &Built, number: usize, expected: &Expected, seed: u64) -> Result<Checked, String> {
    let options = runtime::Options {
        races: Races::Sc,
        main_exits: MainExits::Thread,
        arguments: vec![number.to_string()],
        self_check: 1,
        ..runtime::Options::default()
    };
    let program: Native = load(built, options)?;
    for (algorithm, expected) in [
        (Algorithm::Optimal, &expected.optimal),
        (Algorithm::OptimalObservers, &expected.observers),
        (Algorithm::ReadsFrom, &expected.reads_from),
    ] {
        let Some(found) = found(&program, algorithm, seed).map_err(|why| format!("{algorithm}: {why}"))?
        else {
            return Ok(Checked::TooLarge);
        };
        if found != *expected {
            return Err(format!("{algorithm}: in C there is {found:?}, in the language {expected:?}"));
        }
    }
    let classes = expected.optimal.classes();
    let Ok(truth) = truth(&program, NATIVE) else { return Ok(Checked::Agrees(classes)) };
    for (algorithm, order) in in_orders(seed, &CHECKED) {
        match obeys(&program, &truth, Rules::default(), algorithm, order, seed) {
            // What `source` can't have it says.
            Err(law) if algorithm == Algorithm::Source && law.contains("not supported by source") => {}
            Err(law) => return Err(format!("{algorithm}, {order:?}: {law}")),
            Ok(()) => {}
        }
    }
    Ok(Checked::Holds(classes))
}

/// What a search of a C program shows; nothing if it is too large.
fn found(program: &Native, algorithm: Algorithm, seed: u64) -> Result<Option<Behaviour>, String> {
    let limits = Limits { executions: Some(20_000), depth: 500, ..Limits::default() };
    let options = Options { limits, order: Order::Shuffled(seed | 1), ..Options::default() };
    // The processes of the start are main's children.
    let process = |path: &[u32]| path.get(1..).map(<[u32]>::to_vec);
    // What fails in the language is printed by its name in C, and fails nothing.
    let failures = |run: &NativeRun| {
        let printed = String::from_utf8_lossy(run.output()).lines().map(str::to_owned).collect::<Vec<_>>();
        let failed =
            run.failures().iter().map(|failure| format!("{}: {}", failure.kind.name(), failure.message));
        printed.into_iter().chain(failed).collect()
    };
    let telling = Telling { process: &process, failures: &failures };
    let found = Behaviour::found(program, algorithm, &options, telling)?;
    Ok(found.filter(|found| !found.fails(|name| name == GIVEN_UP)).map(Behaviour::without_values))
}
