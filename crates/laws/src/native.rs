//! Random programs in C: the front end for C must do with them what the language's machine does.
//!
//! Programs are turned into C, many in one file, compiled, and run one by one. Of each, brute force over the C program and
//! every order of `source`, `optimal` and `optimal+observers` obey the laws; and it has as many classes, modulo observers too, and as
//! many with a false assumption, as the program in the language has, the same failures, and the same processes wait in its
//! deadlocks.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use mazurka_explore::{
    Algorithm, Counts, Ending, Limits, Monitor, NotExhaustive, Options, Order, Rules, explore,
};
use mazurka_litmus::ast::Ast;
use mazurka_litmus::{Source, compile};
use mazurka_native::driver::{Built, Request, build};
use mazurka_native::runtime::{self, MainExits, Native, NativeRun, Races, load, stub_assembly};
use mazurka_oracle::{Budget, Truth, deadlock, truth};
use mazurka_program::{FailureKind, Run};
use mazurka_trace::Trace;

use crate::closures::{C_PRELUDE, in_c, prepare_for_c};
use crate::corpus::Seed;
use crate::laws::{obeys, within};
use crate::random::Random;
use crate::{generate, mutate, observers};

/// So many programs are compiled together.
const TOGETHER: u64 = 100;
const LITMUS: Budget = Budget { executions: 3_000, steps: 40 };
const NATIVE: Budget = Budget { executions: 3_000, steps: 60 };

/// What a campaign does.
#[derive(Clone, Debug)]
pub struct Campaign {
    /// The seed of everything.
    pub seed: u64,
    /// The number of the first program.
    pub first: u64,
    /// At most so many programs.
    pub programs: u64,
    /// At most this long.
    pub time: Option<Duration>,
    /// What mutants are made of.
    pub corpus: Vec<Seed>,
    /// The compiler, where the best that there is will not do.
    pub compiler: Option<String>,
}

/// What came of it.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Programs on which everything holds.
    pub held: u64,
    /// Programs that are too large for brute force over the C program, but of which `optimal` agrees with the language.
    pub agreed: u64,
    /// Programs that are too large even for that.
    pub too_large: u64,
    /// Programs that C has not, by the reason.
    pub unfit: BTreeMap<&'static str, u64>,
    /// Classes of the programs that hold or agree.
    pub classes: u64,
    /// The time it took.
    pub time: Duration,
    /// The first program on which something is wrong.
    pub found: Option<Found>,
}

/// A program on which something is wrong.
#[derive(Debug)]
pub struct Found {
    /// Its number.
    pub index: u64,
    /// What is wrong.
    pub what: String,
    /// The program.
    pub ast: Ast,
}

/// What a program and its form in C have in common.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Essence {
    classes: usize,
    assumed: usize,
    /// As they are printed in C: `#7` for an assertion, `A0` for arithmetic, `I0` for a join of nobody.
    failures: BTreeSet<String>,
    /// Who waits.
    deadlocks: BTreeSet<Vec<Vec<u32>>>,
}

/// Program number `index` of a seed. Half are mutants of the corpus. Most are such that C has them.
pub fn program(seed: u64, index: u64, corpus: &[Seed]) -> Ast {
    let mut random = Random::for_program(seed, index);
    let mutant = index % 2 == 1 && !corpus.is_empty();
    let mut attempts = 20;
    loop {
        let ast = match (mutant, random.pick(corpus), random.pick(corpus)) {
            (true, Some(base), Some(other)) => mutate::mutant(&base.ast, &other.ast, &mut random),
            _ => generate::threads(&mut random),
        };
        if compile(&ast, &Source::default(), &[]).is_ok() {
            let ast = prepare_for_c(&ast, random.number());
            attempts -= 1;
            if attempts == 0 || in_c(&ast, 0).is_ok() {
                return ast;
            }
        }
    }
}

/// Runs a campaign. Ends at the first program on which something is wrong.
///
/// # Errors
/// If a file of programs can't be compiled.
pub fn run(campaign: &Campaign) -> Result<Outcome, String> {
    let begin = Instant::now();
    let mut outcome = Outcome::default();
    let mut first = campaign.first;
    let end = campaign.first.saturating_add(campaign.programs);
    while first < end && outcome.found.is_none() && campaign.time.is_none_or(|most| begin.elapsed() < most) {
        let last = end.min(first + TOGETHER);
        batch(campaign, first, last, &mut outcome)?;
        first = last;
    }
    outcome.time = begin.elapsed();
    Ok(outcome)
}

/// A program that is in the file, and what is expected of it.
struct Entry {
    index: u64,
    ast: Ast,
    expected: Expected,
}

fn batch(campaign: &Campaign, first: u64, last: u64, outcome: &mut Outcome) -> Result<(), String> {
    let mut text = C_PRELUDE.to_owned();
    let mut entries: Vec<Entry> = Vec::new();
    for index in first..last {
        let ast = program(campaign.seed, index, &campaign.corpus);
        match in_c(&ast, entries.len()) {
            Err(why) => *outcome.unfit.entry(why).or_default() += 1,
            Ok(program) => match expectation(&ast) {
                Err(Some(why)) => *outcome.unfit.entry(why).or_default() += 1,
                Err(None) => outcome.too_large += 1,
                Ok(expected) => {
                    text += &program;
                    entries.push(Entry { index, ast, expected });
                }
            },
        }
    }
    text += "int main(int count, char **arguments) {\n  switch (atoi(arguments[1])) {\n";
    for number in 0..entries.len() {
        text += &format!("    case {number}: run_{number}(); break;\n");
    }
    text += "  }\n  return 0;\n}\n";
    let built = compiled(campaign, first, &text)?;
    for (number, entry) in entries.into_iter().enumerate() {
        match check(&built, number, &entry.expected, campaign.seed ^ entry.index) {
            Ok(Some(true)) => outcome.held += 1,
            Ok(Some(false)) => outcome.agreed += 1,
            Ok(None) => {
                outcome.too_large += 1;
                continue;
            }
            Err(what) => {
                outcome.found = Some(Found { index: entry.index, what, ast: entry.ast });
                return Ok(());
            }
        }
        outcome.classes += entry.expected.optimal.classes as u64;
    }
    Ok(())
}

fn compiled(campaign: &Campaign, first: u64, text: &str) -> Result<Built, String> {
    let name = format!("mazurka-fuzz-{}-{first}.c", std::process::id());
    let path: PathBuf = std::env::temp_dir().join(name);
    std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
    let request = Request {
        sources: vec![path.clone()],
        flags: vec!["-w".to_owned()],
        compiler: campaign.compiler.clone(),
        colour: false,
    };
    let built = build(&request, &stub_assembly()).map_err(|error| format!("{}: {error}", path.display()))?;
    // What could not be compiled stays there to be looked at.
    let _ = std::fs::remove_file(&path);
    Ok(built)
}

/// What a program does in the language, under `optimal` and modulo observers.
struct Expected {
    optimal: Essence,
    observers: Essence,
}

/// What a program does in the language. Else why it is unfit, or nothing if it is too large.
fn expectation(ast: &Ast) -> Result<Expected, Option<&'static str>> {
    let litmus = compile(ast, &Source::default(), &[]).map_err(|_| Some("not a program"))?;
    let truth = truth(&litmus, LITMUS).map_err(|_| None)?;
    if truth.failures.iter().any(|(kind, _)| *kind == FailureKind::Hang) {
        return Err(Some("an endless local loop"));
    }
    // In C that is the end of the program, and who waits then is in no deadlock; in the language the others go on.
    let not_held = |(kind, message): &(FailureKind, String)| {
        *kind == FailureKind::InvalidSync && !message.contains("holds no process")
    };
    if truth.failures.iter().any(not_held) {
        return Err(Some("a lock that is not held"));
    }
    let optimal = essence(&truth);
    let (classes, assumed) = (truth.observers.len(), truth.observers_assumed.len());
    Ok(Expected { observers: Essence { classes, assumed, ..optimal.clone() }, optimal })
}

fn essence(truth: &Truth) -> Essence {
    let failure = |(kind, message): &(FailureKind, String)| match kind {
        FailureKind::Assertion => format!("#{}", message.rsplit_once('#').map_or("", |(_, number)| number)),
        FailureKind::Arithmetic => "A0".to_owned(),
        FailureKind::InvalidSync => "I0".to_owned(),
        other => other.name().to_owned(),
    };
    Essence {
        classes: truth.mazurkiewicz.len(),
        assumed: truth.assumed.len(),
        failures: truth.failures.iter().map(failure).collect(),
        deadlocks: truth.deadlocks.iter().map(|(waiting, _)| waiting.clone()).collect(),
    }
}

/// Gathers what executions of a C program show.
#[derive(Default)]
struct Gather {
    essence: Essence,
    gave_up: bool,
}

impl Monitor<NativeRun> for Gather {
    fn execution(&mut self, ending: Ending, _: &Trace, run: &NativeRun, _: &Counts) -> ControlFlow<()> {
        for line in String::from_utf8_lossy(run.output()).lines() {
            self.gave_up |= line.starts_with('U');
            self.essence.failures.insert(line.to_owned());
        }
        let failures =
            run.failures().iter().map(|failure| format!("{}: {}", failure.kind.name(), failure.message));
        self.essence.failures.extend(failures);
        match ending {
            Ending::Complete { .. } => self.essence.classes += 1,
            Ending::Assumed => self.essence.assumed += 1,
            Ending::Blocked | Ending::Cut => {}
        }
        if let Some((waiting, _)) = deadlock(run) {
            // The processes of the start are main's children.
            let named = |path: &Vec<u32>| path.get(1..).map(<[u32]>::to_vec);
            self.essence.deadlocks.insert(waiting.iter().filter_map(named).collect());
        }
        ControlFlow::Continue(())
    }

    fn begin_again(&mut self) {
        *self = Gather::default();
    }
}

/// Whether everything holds, or only what `optimal` finds agrees; nothing if it is too large.
fn check(built: &Built, number: usize, expected: &Expected, seed: u64) -> Result<Option<bool>, String> {
    let options = runtime::Options {
        races: Races::Sc,
        main_exits: MainExits::Thread,
        arguments: vec![number.to_string()],
        self_check: 1,
        ..runtime::Options::default()
    };
    let program: Native = load(built, options)?;
    for (algorithm, expected) in
        [(Algorithm::Optimal, &expected.optimal), (Algorithm::OptimalObservers, &expected.observers)]
    {
        let Some(essence) = gathered(&program, algorithm, seed)? else { return Ok(None) };
        if essence != *expected {
            return Err(format!("{algorithm}: in C there is {essence:?}, in the language {expected:?}"));
        }
    }
    let Ok(truth) = truth(&program, NATIVE) else { return Ok(Some(false)) };
    for (algorithm, order) in [
        (Algorithm::Optimal, Order::Natural),
        (Algorithm::OptimalObservers, Order::Natural),
        (Algorithm::OptimalObservers, Order::Shuffled(seed | 1)),
        (Algorithm::Source, Order::Natural),
        (Algorithm::Source, Order::Shuffled(seed | 1)),
    ] {
        let obeyed = match algorithm {
            Algorithm::OptimalObservers => {
                let options = Options { order, limits: within(&truth), ..Options::default() };
                observers::obeys(&program, &truth, &options, seed)
            }
            _ => obeys(&program, &truth, Rules::default(), algorithm, order, seed),
        };
        match obeyed {
            // What `source` can't have it says.
            Err(law) if algorithm == Algorithm::Source && law.contains("not supported by source") => {}
            Err(law) => return Err(format!("{algorithm}, {order:?}: {law}")),
            Ok(()) => {}
        }
    }
    Ok(Some(true))
}

/// What a search of a C program shows; nothing if it is too large.
fn gathered(program: &Native, algorithm: Algorithm, seed: u64) -> Result<Option<Essence>, String> {
    let mut gather = Gather::default();
    let limits = Limits { executions: Some(20_000), depth: 500, ..Limits::default() };
    let options = Options { limits, order: Order::Shuffled(seed | 1), ..Options::default() };
    let summary = explore(program, algorithm, &options, &mut gather);
    match (summary.not_exhaustive, summary.broken) {
        (Some(NotExhaustive::Executions(_) | NotExhaustive::Depth(_)), _) => return Ok(None),
        (reason, Some(failure)) => {
            return Err(format!("{algorithm}: broken: {} ({reason:?})", failure.message));
        }
        (None | Some(NotExhaustive::NotProved), None) => {}
        (Some(reason), None) => return Err(format!("{algorithm}: not exhaustive: {reason}")),
    }
    if summary.counts.blocked > 0 {
        return Err(format!("{algorithm} blocked {} executions", summary.counts.blocked));
    }
    Ok((!gather.gave_up).then_some(gather.essence))
}
