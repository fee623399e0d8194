//! `mazurka-fuzz`: random programs against the laws, for as long as one likes.

use std::process::ExitCode;
use std::time::Duration;

use mazurka_explore::Algorithm;
use mazurka_laws::abs::{self, AbsPrograms};
use mazurka_laws::abs_text::{self, AbsTexts};
use mazurka_laws::campaign::{FuzzProgram, Outcome};
use mazurka_laws::closures::Closures;
use mazurka_laws::closures::loops::LoopClosures;
use mazurka_laws::commuting::{AbsCommuting, Commuting};
use mazurka_laws::loops::{LoopLaws, Loops};
use mazurka_laws::maz::MazPrograms;
use mazurka_laws::repairs::{BrokenBuild, broken_builds};
use mazurka_laws::{Build, Campaign, FuzzTarget, OneAlgorithm, corpus};
use mazurka_litmus::ast::Ast;

/// In how many orders a program is checked under one algorithm by itself.
const ORDERS: u64 = 4;

const USAGE: &str = "usage: mazurka-fuzz [options]
  --seed N      the seed of the campaign (default: drawn from the time)
  --programs N  check so many programs (default 100000)
  --seconds N   stop after so long (default 600)
  --first N     begin with program number N; with --programs 1, that program alone
  --threads N   how many threads (default: all cores)
  --corpus T    make mutants only of programs of the corpus with T in their name
  --only A      check algorithm A by itself, on small programs, in several orders each: many more programs
  --orders N    with --only or --loops: in how many orders each program is checked (default 4)
  --dead-variables  with --only convergent: states without what no code that is left to run can read
  --without R   take repair R out of the algorithms and see the laws break
  --repairs     take each repair out in turn, for at most --seconds each, and tell when it was missed
  --loops       programs that may run for ever, against all states that they can reach
  --loop-closures  act such programs out in Rust, over the library, and compare
  --closures    act the programs out in Rust, over the library, and compare
  --native      turn the programs into C, and compare; with --loops those that may run for ever
  --cc C        with --native: the compiler
  --abs         ABS programs, random ones and mutants
  --commuting   steps that are said to commute, in both orders
  --abs-commuting  the same of ABS programs
  --abs-text    texts that may be no ABS programs: whether each is refused with a place, or makes sense";

/// What programs are checked as.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Laws,
    Repairs,
    Loops,
    LoopClosures,
    Closures,
    Native,
    NativeLoops,
    Abs,
    AbsText,
    Commuting,
    AbsCommuting,
}

const MODES: [(&str, Mode); 9] = [
    ("--repairs", Mode::Repairs),
    ("--loops", Mode::Loops),
    ("--loop-closures", Mode::LoopClosures),
    ("--closures", Mode::Closures),
    ("--native", Mode::Native),
    ("--abs", Mode::Abs),
    ("--abs-text", Mode::AbsText),
    ("--commuting", Mode::Commuting),
    ("--abs-commuting", Mode::AbsCommuting),
];

/// What was asked for.
struct Arguments {
    mode: Mode,
    campaign: Campaign,
    programs: MazPrograms,
    orders: u64,
    compiler: Option<String>,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--help" || argument == "-h") {
        println!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    let Arguments { mode, campaign, programs, orders, compiler } = match read(arguments) {
        Ok(arguments) => arguments,
        Err(message) => {
            eprintln!("mazurka-fuzz: {message}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let wrong = match mode {
        Mode::Laws => fuzz(&campaign, &programs),
        Mode::Repairs => fuzz_repairs(&campaign, programs),
        Mode::Loops => {
            let only = programs.only.map(|only| only.algorithm);
            let laws = LoopLaws { build: programs.build, only, orders };
            fuzz(&campaign, &Loops::of(programs.corpus, laws))
        }
        Mode::LoopClosures => fuzz(&campaign, &LoopClosures::of(programs.corpus)),
        Mode::Closures => fuzz(&campaign, &Closures { corpus: programs.corpus }),
        Mode::Native => fuzz_native(campaign, programs, compiler),
        Mode::NativeLoops => fuzz_native_loops(campaign, programs, compiler, orders),
        Mode::Abs => {
            let only = programs.only.map(|only| only.algorithm);
            fuzz(&campaign, &AbsPrograms { corpus: abs::corpus(), only })
        }
        Mode::AbsText => fuzz(&campaign, &AbsTexts::of(abs_text::corpus())),
        Mode::Commuting => fuzz(&campaign, &Commuting { corpus: programs.corpus }),
        Mode::AbsCommuting => {
            let programs = AbsPrograms { corpus: abs::corpus(), only: None };
            fuzz(&campaign, &AbsCommuting { programs })
        }
    };
    ExitCode::from(u8::from(wrong))
}

/// Runs a campaign and tells what came of it; gives whether a law is broken.
fn fuzz<T: FuzzTarget>(campaign: &Campaign, target: &T) -> bool {
    let seed = campaign.seed;
    let corpus = target.corpus();
    if let Some(corpus) = &corpus {
        println!("seed {seed}: {corpus}");
    }
    let outcome = campaign.run(target);
    let told = if corpus.is_none() { format!("seed {seed}: ") } else { String::new() };
    println!("{told}{}", target.summary(&outcome));
    let Some(found) = &outcome.found else {
        println!("{}", T::CLEAN);
        return false;
    };
    println!("{} {} of seed {seed}: {}", T::BROKEN, found.index, found.broken);
    println!("again: mazurka-fuzz{} --seed {seed} --first {} --programs 1", target.options(), found.index);
    println!("--- as found\n{}", found.program.text());
    if let Some((program, broken)) = &found.shrunk {
        println!("--- made small: {broken}\n{}", program.text());
    }
    true
}

/// Takes each repair out in turn; gives whether one is not missed.
fn fuzz_repairs(campaign: &Campaign, programs: MazPrograms) -> bool {
    println!("seed {}: corpus of {} programs", campaign.seed, programs.corpus.len());
    let mut unnoticed = false;
    for broken in broken_builds() {
        let outcomes = match broken.is_about_loops() {
            true => vec![without_part_of_the_rule(campaign, &broken)],
            false => without_repair(campaign, &broken, &programs),
        };
        let programs: u64 = outcomes.iter().map(|outcome| outcome.programs()).sum();
        let seconds: f64 = outcomes.iter().map(|outcome| outcome.time.as_secs_f64()).sum();
        let found = outcomes.iter().find_map(|outcome| outcome.found.as_ref());
        let noticed = match found {
            Some(found) => format!("noticed after {programs} programs: {}", found.broken),
            None => format!("NOT NOTICED in {programs} programs"),
        };
        println!("{:<24} {seconds:>6.1} s  {noticed}", broken.repair);
        unnoticed |= found.is_none();
    }
    unnoticed
}

/// Many small programs under the one algorithm first, then fewer and larger ones under all of them.
fn without_repair(campaign: &Campaign, broken: &BrokenBuild, programs: &MazPrograms) -> Vec<Outcome<Ast>> {
    let half = Campaign { time: campaign.time.map(|time| time / 2), ..campaign.clone() };
    let only = OneAlgorithm { algorithm: broken.algorithm, dead_variables: false, orders: ORDERS };
    let target = |only| MazPrograms { build: broken.build, only, ..programs.clone() };
    let mut outcomes = vec![half.run(&target(Some(only)))];
    if outcomes[0].found.is_none() {
        outcomes.push(half.run(&target(None)));
    }
    outcomes
}

/// Programs that may run for ever.
fn without_part_of_the_rule(campaign: &Campaign, broken: &BrokenBuild) -> Outcome<Ast> {
    let laws = LoopLaws { build: broken.build, only: Some(broken.algorithm), ..LoopLaws::default() };
    campaign.run(&Loops::of(corpus::seeds_in("loops"), laws))
}

/// Programs in C, on one thread: a front end for C has its worker processes.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn fuzz_native(campaign: Campaign, programs: MazPrograms, compiler: Option<String>) -> bool {
    let compiler = mazurka_laws::native::Compiler { name: compiler };
    let target = mazurka_laws::native::CPrograms { corpus: programs.corpus, compiler };
    fuzz(&Campaign { threads: 1, ..campaign }, &target)
}

/// The same with loops.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn fuzz_native_loops(
    campaign: Campaign,
    programs: MazPrograms,
    compiler: Option<String>,
    orders: u64,
) -> bool {
    let compiler = mazurka_laws::native::Compiler { name: compiler };
    let target =
        mazurka_laws::native_loops::CLoops::of(programs.corpus, compiler, orders, programs.build.rules);
    fuzz(&Campaign { threads: 1, ..campaign }, &target)
}

/// There is no front end for C elsewhere.
#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn fuzz_native(_: Campaign, _: MazPrograms, _: Option<String>) -> bool {
    println!("C can be checked on Linux on x86-64 only");
    true
}

/// The same with loops.
#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn fuzz_native_loops(campaign: Campaign, programs: MazPrograms, compiler: Option<String>, _: u64) -> bool {
    fuzz_native(campaign, programs, compiler)
}

fn read(arguments: Vec<String>) -> Result<Arguments, String> {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let mut campaign = Campaign {
        seed: now.map_or(1, |since| since.as_nanos() as u64 % 1_000_000_007),
        first: 0,
        programs: 100_000,
        time: Some(Duration::from_secs(600)),
        threads: std::thread::available_parallelism().map_or(1, Into::into),
    };
    let mut programs = MazPrograms { corpus: Vec::new(), build: Build::default(), only: None };
    let (mut modes, mut compiler, mut of_corpus) = (Vec::new(), None, String::new());
    let (mut dead_variables, mut orders, mut only) = (false, None, None);
    let mut arguments = arguments.into_iter();
    while let Some(option) = arguments.next() {
        let mode = MODES.iter().find(|(flag, _)| *flag == option);
        dead_variables |= option == "--dead-variables";
        if mode.is_some() || option == "--dead-variables" {
            modes.extend(mode.map(|(_, mode)| *mode));
            continue;
        }
        let value = arguments.next().ok_or_else(|| format!("{option} needs a value"))?;
        let number = || value.parse::<u64>().map_err(|_| format!("{option} needs a number, not {value}"));
        match option.as_str() {
            "--seed" => campaign.seed = number()?,
            "--programs" => campaign.programs = number()?,
            "--seconds" => campaign.time = Some(Duration::from_secs(number()?)),
            "--first" => campaign.first = number()?,
            "--threads" => campaign.threads = number()? as usize,
            "--orders" => orders = Some(number()?),
            "--cc" => compiler = Some(value),
            "--only" => only = Some(value.parse::<Algorithm>().map_err(|error| format!("--only: {error}"))?),
            "--without" => programs.build = broken_build(&value)?,
            "--corpus" => of_corpus = value,
            _ => return Err(format!("unknown option {option}")),
        }
    }
    modes.dedup();
    let mode = match modes[..] {
        [] => Mode::Laws,
        [mode] => mode,
        [Mode::Native, Mode::Loops] | [Mode::Loops, Mode::Native] => Mode::NativeLoops,
        _ => {
            let names: Vec<&str> = MODES.iter().map(|(name, _)| *name).collect();
            return Err(format!("{} exclude each other", names.join(", ")));
        }
    };
    let has_loops = [Mode::Loops, Mode::NativeLoops].contains(&mode);
    if only.is_none() && orders.is_some() && !has_loops {
        return Err("--orders goes with --only or --loops".to_owned());
    }
    if dead_variables && only != Some(Algorithm::Convergent) {
        return Err("--dead-variables goes with --only convergent".to_owned());
    }
    let orders = orders.unwrap_or(ORDERS);
    programs.only = only.map(|algorithm| OneAlgorithm { algorithm, dead_variables, orders });
    let has_loops = has_loops || mode == Mode::LoopClosures;
    programs.corpus = if has_loops { corpus::seeds_in("loops") } else { corpus::seeds() };
    programs.corpus.retain(|seed| seed.name.contains(&of_corpus));
    if programs.corpus.is_empty() {
        return Err(format!("no program of the corpus has {of_corpus} in its name"));
    }
    Ok(Arguments { mode, campaign, programs, orders, compiler })
}

fn broken_build(name: &str) -> Result<Build, String> {
    let builds = broken_builds();
    let found = builds.iter().find(|broken| broken.repair == name);
    found.map(|broken| broken.build).ok_or_else(|| {
        let names: Vec<&str> = builds.iter().map(|broken| broken.repair).collect();
        format!("there is no repair {name}; there are {}", names.join(", "))
    })
}
