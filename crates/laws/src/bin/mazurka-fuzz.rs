//! `mazurka-fuzz`: random programs against the laws, for as long as one likes.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use mazurka_explore::Algorithm;
use mazurka_laws::fuzz::{Campaign, Outcome, run};
use mazurka_laws::repairs::broken_builds;
use mazurka_laws::{Only, Subject, abs, abs_text, closures, corpus};

/// In how many orders a program is checked under one algorithm by itself.
const ORDERS: u64 = 4;

/// What programs are checked under.
const ALL: &str = "naive, source, optimal, optimal+observers, source+context and convergent";

const USAGE: &str = "usage: mazurka-fuzz [options]
  --seed N      the seed of the campaign (default: drawn from the time)
  --programs N  check so many programs (default 100000)
  --seconds N   stop after so long (default 600)
  --first N     begin with program number N; with --programs 1, that program alone
  --threads N   how many threads (default: all cores)
  --corpus T    make mutants only of programs of the corpus with T in their name
  --only A      check algorithm A by itself, on small programs, in several orders each: many more programs
  --orders N    with --only: in how many orders each program is checked (default 4)
  --dead-variables  with --only convergent: states without what no code that is left to run can read
  --without R   take repair R out of the algorithms and see the laws break
  --repairs     take each repair out in turn, for at most --seconds each, and tell when it was missed
  --closures    act the programs out in Rust, over the library, and compare
  --native      turn the programs into C, and compare
  --cc C        with --native: the compiler
  --abs         ABS programs, random ones and mutants
  --abs-text    texts that may be no ABS programs: whether each is refused with a place, or makes sense";

fn main() -> ExitCode {
    if std::env::args().skip(1).any(|argument| argument == "--help" || argument == "-h") {
        println!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut asked = |flag: &str| {
        let all = arguments.len();
        arguments.retain(|argument| argument != flag);
        arguments.len() < all
    };
    let dead_variables = asked("--dead-variables");
    let native = asked("--native");
    let compiler = compiler(&mut arguments);
    let mut asked = |flag: &str| {
        let all = arguments.len();
        arguments.retain(|argument| argument != flag);
        arguments.len() < all
    };
    let what = (asked("--closures"), asked("--abs"), asked("--abs-text"));
    let repairs = asked("--repairs");
    let campaign = match options(arguments.into_iter(), dead_variables) {
        Ok(campaign) => campaign,
        Err(message) => {
            eprintln!("mazurka-fuzz: {message}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let wrong = match what {
        (false, false, false) if native => fuzz_native(campaign, compiler),
        (false, false, false) if repairs => fuzz_repairs(&campaign),
        (false, false, false) => fuzz_laws(&campaign),
        (true, false, false) => fuzz_closures(campaign),
        (false, true, false) => fuzz_abs(campaign),
        (false, false, true) => fuzz_abs_text(&campaign),
        _ => {
            eprintln!("mazurka-fuzz: --closures, --abs and --abs-text exclude each other");
            return ExitCode::from(2);
        }
    };
    ExitCode::from(u8::from(wrong))
}

/// Programs against the laws; gives whether one is broken.
fn fuzz_laws(campaign: &Campaign) -> bool {
    println!("seed {}: corpus of {} programs", campaign.seed, campaign.corpus.len());
    let outcome = run(campaign);
    report(campaign, &outcome);
    outcome.found.is_some()
}

/// Takes each repair out in turn; gives whether one is not missed.
fn fuzz_repairs(campaign: &Campaign) -> bool {
    println!("seed {}: corpus of {} programs", campaign.seed, campaign.corpus.len());
    let mut unnoticed = false;
    for build in broken_builds() {
        // Many small programs under the one algorithm first, then fewer and larger ones under all of them.
        let half = campaign.time.map(|time| time / 2);
        let all = Campaign { subject: build.subject, time: half, ..campaign.clone() };
        let only = Only { algorithm: build.algorithm, dead_variables: false, orders: ORDERS };
        let mut outcomes = vec![run(&Campaign { only: Some(only), ..all.clone() })];
        if outcomes[0].found.is_none() {
            outcomes.push(run(&all));
        }
        let programs: u64 = outcomes.iter().map(|o| o.held + o.agreed + o.too_large).sum();
        let seconds: f64 = outcomes.iter().map(|o| o.time.as_secs_f64()).sum();
        let found = outcomes.iter().find_map(|outcome| outcome.found.as_ref());
        let noticed = match found {
            Some(found) => format!("noticed after {programs} programs: {}", found.broken),
            None => format!("NOT NOTICED in {programs} programs"),
        };
        println!("{:<24} {seconds:>6.1} s  {noticed}", build.repair);
        unnoticed |= found.is_none();
    }
    unnoticed
}

/// Takes the compiler out of the arguments.
fn compiler(arguments: &mut Vec<String>) -> Option<String> {
    let at = arguments.iter().position(|argument| argument == "--cc")?;
    let name = arguments.get(at + 1)?.clone();
    arguments.drain(at..at + 2);
    Some(name)
}

/// Programs in C; gives whether something is wrong.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn fuzz_native(campaign: Campaign, compiler: Option<String>) -> bool {
    use mazurka_laws::native;
    let Campaign { seed, first, programs, time, corpus, .. } = campaign;
    println!("seed {seed}: corpus of {} programs", corpus.len());
    let again = compiler.as_ref().map_or(String::new(), |name| format!(" --cc {name}"));
    let campaign = native::Campaign { seed, first, programs, time, corpus, compiler };
    let outcome = match native::run(&campaign) {
        Ok(outcome) => outcome,
        Err(why) => {
            println!("WRONG: {why}");
            return true;
        }
    };
    println!(
        "{} C programs, {} classes, in {:.1} s: they do what the language does, and obey the laws under source, optimal \
         and optimal+observers",
        outcome.held,
        outcome.classes,
        outcome.time.as_secs_f64()
    );
    println!(
        "too large for brute force in C: {} that agree under optimal and optimal+observers, {} that were left out",
        outcome.agreed, outcome.too_large
    );
    for (why, count) in &outcome.unfit {
        println!("not turned into C: {count}, for {why}");
    }
    let Some(found) = &outcome.found else {
        println!("nothing wrong");
        return false;
    };
    println!("WRONG in program {} of seed {seed}: {}", found.index, found.what);
    println!("again: mazurka-fuzz --native --seed {seed} --first {} --programs 1{again}", found.index);
    println!("---\n{}", mazurka_litmus::print(&found.ast));
    true
}

/// There is no front end for C elsewhere.
#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn fuzz_native(_: Campaign, _: Option<String>) -> bool {
    println!("C can be checked on Linux on x86-64 only");
    true
}

/// ABS programs against the laws; gives whether one is broken.
fn fuzz_abs(campaign: Campaign) -> bool {
    let Campaign { seed, first, programs, time, threads, only, .. } = campaign;
    let only = only.map(|only| only.algorithm);
    let corpus = abs::corpus();
    println!("seed {seed}: corpus of {} ABS programs", corpus.len());
    let outcome = abs::run(&abs::Campaign { seed, first, programs, time, threads, corpus, only });
    let algorithms = only.map_or(ALL.to_owned(), |only| only.to_string());
    println!(
        "{} ABS programs ({} mutants), {} classes, in {:.1} s under {algorithms}",
        outcome.held,
        outcome.mutants,
        outcome.classes,
        outcome.time.as_secs_f64()
    );
    match only {
        None => {
            println!("too large for brute force: {}, of which only labels were looked at", outcome.too_large)
        }
        Some(_) => println!("too large for brute force: {} that were left out", outcome.too_large),
    }
    let Some(found) = &outcome.found else {
        println!("no law broken");
        return false;
    };
    println!(
        "LAW BROKEN by program {} of seed {seed} under {:?}: {}",
        found.index, found.settings, found.broken
    );
    let again = only.map_or(String::new(), |only| format!(" --only {only}"));
    println!("again: mazurka-fuzz --abs --seed {seed} --first {} --programs 1{again}", found.index);
    println!("--- \n{}", found.text);
    true
}

/// Texts that may be no ABS programs; gives whether the front end did something wrong with one.
fn fuzz_abs_text(campaign: &Campaign) -> bool {
    let started = Instant::now();
    let corpus = abs_text::corpus();
    let threads = campaign.threads.max(1) as u64;
    let share = campaign.programs.div_ceil(threads);
    let outcomes: Vec<abs_text::Outcome> = std::thread::scope(|scope| {
        let part = |k: u64| {
            let first = campaign.first + k * share;
            let texts = share.min((campaign.first + campaign.programs).saturating_sub(first));
            let part = abs_text::Campaign { seed: campaign.seed, first, texts, corpus: corpus.clone() };
            scope.spawn(move || abs_text::run(&part))
        };
        let parts: Vec<_> = (0..threads).map(part).collect();
        parts.into_iter().map(|part| part.join().expect("a panic is an outcome")).collect()
    });
    let sum = |count: fn(&abs_text::Outcome) -> u64| outcomes.iter().map(count).sum::<u64>();
    println!(
        "seed {}: {} texts accepted, {} refused with {} errors, in {:.1} s, the slowest in {} ms",
        campaign.seed,
        sum(|outcome| outcome.accepted),
        sum(|outcome| outcome.refused),
        sum(|outcome| outcome.errors),
        started.elapsed().as_secs_f64(),
        outcomes.iter().map(|outcome| outcome.slowest.as_millis()).max().unwrap_or(0)
    );
    match outcomes.iter().find_map(|outcome| outcome.found.as_ref()) {
        None => println!("nothing wrong"),
        Some((index, text, what)) => {
            println!("WRONG: text {index}: {what}");
            println!("again: mazurka-fuzz --abs-text --seed {} --first {index} --programs 1", campaign.seed);
            println!("--- \n{text}");
        }
    }
    outcomes.iter().any(|outcome| outcome.found.is_some())
}

/// Acts programs out as closures; gives whether something is wrong.
fn fuzz_closures(campaign: Campaign) -> bool {
    let Campaign { seed, first, programs, time, threads, corpus, .. } = campaign;
    println!("seed {seed}: corpus of {} programs", corpus.len());
    let outcome = closures::run(&closures::Campaign { seed, first, programs, time, threads, corpus });
    println!(
        "{} programs ({} mutants of the corpus), {} classes, in {:.1} s: closure and program agree, brute force and \
         naive, source and optimal on the closure",
        outcome.held,
        outcome.mutants,
        outcome.classes,
        outcome.time.as_secs_f64()
    );
    println!(
        "too large for brute force over the closure: {} that agree under optimal, {} that were left out",
        outcome.agreed, outcome.too_large
    );
    for (why, count) in &outcome.unfit {
        println!("can't be acted out: {count}, for {why}");
    }
    let Some(found) = &outcome.found else {
        println!("nothing wrong");
        return false;
    };
    println!("WRONG in program {} of seed {seed}: {}", found.index, found.broken);
    println!("again: mazurka-fuzz --closures --seed {seed} --first {} --programs 1", found.index);
    println!("--- as found\n{}", mazurka_litmus::print(&found.ast));
    println!("--- made small: {}\n{}", found.broken_shrunk, mazurka_litmus::print(&found.shrunk));
    true
}

fn options(mut arguments: impl Iterator<Item = String>, dead_variables: bool) -> Result<Campaign, String> {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let mut campaign = Campaign {
        seed: now.map_or(1, |since| since.as_nanos() as u64 % 1_000_000_007),
        first: 0,
        programs: 100_000,
        time: Some(Duration::from_secs(600)),
        threads: std::thread::available_parallelism().map_or(1, Into::into),
        subject: Subject::default(),
        corpus: corpus::seeds(),
        only: None,
    };
    let mut orders = None;
    while let Some(option) = arguments.next() {
        let value = arguments.next().ok_or_else(|| format!("{option} needs a value"))?;
        if option == "--corpus" {
            campaign.corpus.retain(|seed| seed.name.contains(&value));
            if campaign.corpus.is_empty() {
                return Err(format!("no program of the corpus has {value} in its name"));
            }
            continue;
        }
        if option == "--only" {
            let algorithm = value.parse().map_err(|error| format!("--only: {error}"))?;
            campaign.only = Some(Only { algorithm, dead_variables, orders: ORDERS });
            continue;
        }
        if option == "--without" {
            campaign.subject = broken_build(&value)?;
            continue;
        }
        let number: u64 = value.parse().map_err(|_| format!("{option} needs a number, not {value}"))?;
        match option.as_str() {
            "--seed" => campaign.seed = number,
            "--programs" => campaign.programs = number,
            "--seconds" => campaign.time = Some(Duration::from_secs(number)),
            "--first" => campaign.first = number,
            "--threads" => campaign.threads = number as usize,
            "--orders" => orders = Some(number),
            _ => return Err(format!("unknown option {option}")),
        }
    }
    match (&mut campaign.only, orders) {
        (Some(only), Some(orders)) => only.orders = orders,
        (None, Some(_)) => return Err("--orders goes with --only".to_owned()),
        (_, None) => {}
    }
    if dead_variables && campaign.only.is_none_or(|only| only.algorithm != Algorithm::Convergent) {
        return Err("--dead-variables goes with --only convergent".to_owned());
    }
    Ok(campaign)
}

fn broken_build(name: &str) -> Result<Subject, String> {
    let builds = broken_builds();
    let found = builds.iter().find(|build| build.repair == name);
    found.map(|build| build.subject).ok_or_else(|| {
        let names: Vec<&str> = builds.iter().map(|build| build.repair).collect();
        format!("there is no repair {name}; there are {}", names.join(", "))
    })
}

fn report(campaign: &Campaign, outcome: &Outcome) {
    let algorithms = match campaign.only {
        Some(only) => only.to_string(),
        None => ALL.to_owned(),
    };
    println!(
        "{} programs ({} mutants of the corpus), {} classes, in {:.1} s under {algorithms}",
        outcome.held,
        outcome.mutants,
        outcome.classes,
        outcome.time.as_secs_f64()
    );
    match campaign.only {
        Some(only) if only.algorithm != Algorithm::OptimalObservers => {
            println!("too large for brute force: {} that were left out", outcome.too_large);
        }
        _ => println!(
            "too large for brute force: {} on which all orders agree, {} that were left out",
            outcome.agreed, outcome.too_large
        ),
    }
    match &outcome.found {
        None => println!("no law broken"),
        Some(found) => {
            println!("LAW BROKEN by program {} of seed {}: {}", found.index, campaign.seed, found.broken);
            let only = campaign.only.map_or(String::new(), |only| {
                let dead = if only.dead_variables { " --dead-variables" } else { "" };
                format!(" --only {}{dead} --orders {}", only.algorithm, only.orders)
            });
            println!(
                "again: mazurka-fuzz --seed {} --first {} --programs 1{only}",
                campaign.seed, found.index
            );
            println!("--- as found\n{}", mazurka_litmus::print(&found.ast));
            println!("--- made small\n{}", mazurka_litmus::print(&found.shrunk));
        }
    }
}
