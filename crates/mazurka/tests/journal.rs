//! Checks that are kept: whatever kills them, and however often, who goes on ends with the same report. Each test
//! runs this program again, with one test and an environment of its own.
//!
//! `MAZURKA_KILLS=50 cargo test -p mazurka --test journal -- --ignored --nocapture many_kills` is the long run: so many
//! checks are killed and run again, a quarter of them several times.

mod counting;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use mazurka::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use mazurka::sync::atomic::{AtomicBool, AtomicUsize};
use mazurka::sync::{Arc, Mutex};
use mazurka::{Algorithm, Checker, Report, thread};
use mazurka_journal::{Header, Journal};

use counting::{add, add_in_two_steps, adders, timeless};

/// What is before and behind a report in what a victim prints.
const MARK: &str = "\n=====\n";

fn tell(report: &Report) {
    println!("{MARK}{}{MARK}", timeless(report));
}

/// A check in small parts, so that there is much to note.
fn small_parts() -> Checker {
    Checker::new().parts(16, 100)
}

macro_rules! victims {
    ($($(#[$meaning:meta])* $name:ident: $checker:expr, $closure:expr;)*) => {
        $($(#[$meaning])* #[test] #[ignore = "run by others"] fn $name() { tell(&$checker.run($closure)); })*

        const VICTIMS: &[&str] = &[$(stringify!($name)),*];
    };
}

victims! {
    /// 12,870 executions, and no failure.
    passes: small_parts(), || assert_eq!(adders(2, 8, add).load(SeqCst), 16);
    drawn: small_parts().seed(7), || assert_eq!(adders(2, 8, add).load(SeqCst), 16);
    fails: small_parts().keep_going(true), || {
        let found = adders(3, 2, add_in_two_steps).load(SeqCst);
        assert_ne!(found, 2, "most of it was lost");
        assert_eq!(found, 6, "some of it was lost");
    };
    /// Ends at a failure that comes late.
    fails_late: small_parts(), || {
        let counter = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
        let threads = [0, 1].map(|k| {
            let counter = counter.clone();
            thread::spawn(move || {
                for round in 0..7 {
                    counter.0.fetch_add(1, SeqCst);
                    if k == 1 && round == 0 {
                        counter.1.store(counter.0.load(SeqCst), SeqCst);
                    }
                }
            })
        });
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_ne!(counter.1.load(SeqCst), 1, "the last came first");
    };
    deadlocks: small_parts().keep_going(true), || {
        let (a, b) = (Arc::new(Mutex::new(())), Arc::new(Mutex::new(())));
        let (c, d) = (a.clone(), b.clone());
        let child = thread::spawn(move || drop((c.lock(), d.lock())));
        adders(2, 5, add);
        drop((b.lock(), a.lock()));
        child.join().unwrap();
    };
    /// That counts and ends of threads matter is found out late, one after the other.
    finds_out: small_parts(), || {
        let owner = Arc::new(0);
        let counter = Arc::new(AtomicUsize::new(0));
        let threads = [0, 1, 2].map(|_| {
            let (counter, other) = (counter.clone(), owner.clone());
            thread::spawn(move || {
                counter.store(counter.load(SeqCst) + 1, SeqCst);
                drop(other);
                counter.store(counter.load(SeqCst) + 1, SeqCst);
            })
        });
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        if counter.load(SeqCst) == 2 {
            let child = thread::spawn(|| ());
            assert!(Arc::strong_count(&owner) == 1 || child.is_finished());
            child.join().unwrap();
        }
    };
    spins: Checker::new().parts(2, 8), || {
        let shared = Arc::new((AtomicBool::new(false), AtomicUsize::new(0)));
        let threads = [0, 1, 2].map(|_| {
            let shared = shared.clone();
            thread::spawn(move || {
                while shared.0.compare_exchange(false, true, Acquire, Relaxed).is_err() {}
                shared.1.fetch_add(1, SeqCst);
                shared.0.store(false, Release);
            })
        });
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    };
    /// Loops that are cut.
    cut: small_parts().keep_going(true).max_unroll(3), || {
        let shared = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
        let loops = shared.clone();
        thread::spawn(move || while loops.0.load(SeqCst) < 100 { loops.1.fetch_add(1, SeqCst); });
        let adders = [0, 1].map(|_| {
            let shared = shared.clone();
            thread::spawn(move || (0..3).for_each(|_| _ = shared.0.fetch_add(1, SeqCst)))
        });
        adders.into_iter().for_each(|adder| adder.join().unwrap());
    };
    /// A loop of which it can't be seen whether it counts, for there is too much memory: no pass.
    doubts: small_parts(), || {
        if adders(3, 2, add_in_two_steps).load(SeqCst) == 2 {
            let memory = vec![0_u8; 4 << 20];
            let flag = Arc::new(AtomicBool::new(false));
            let other = flag.clone();
            let setter = thread::spawn(move || other.store(true, SeqCst));
            while !flag.load(SeqCst) {}
            setter.join().unwrap();
            drop(memory);
        }
    };
    /// What the report tells is met once, early or late.
    tells: small_parts().keep_going(true), || {
        let found = adders(3, 2, add_in_two_steps).load(SeqCst);
        let other = AtomicUsize::new(0);
        match found {
            2 => other.store(1, Relaxed),
            3 => drop(std::hint::black_box(mazurka::time::Instant::now())),
            _ => {}
        }
    };
}

/// A directory of a test's own, and how a victim is run there.
struct Place {
    directory: PathBuf,
}

impl Place {
    fn new(name: &str) -> Place {
        let directory =
            std::env::temp_dir().join(format!("mazurka-rust-journal-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&directory);
        fs::create_dir_all(&directory).unwrap();
        Place { directory }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    fn command(&self, test: &str, environment: &[(&str, &str)]) -> Command {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", test, "--ignored", "--nocapture", "--test-threads=1"]);
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("MAZURKA_") {
                command.env_remove(name);
            }
        }
        command.current_dir(&self.directory).env("RUST_BACKTRACE", "0").envs(environment.iter().copied());
        command
    }

    /// What a victim that nobody kills says.
    fn run(&self, test: &str, environment: &[(&str, &str)]) -> String {
        reports(&self.command(test, environment).output().unwrap()).remove(0)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// The reports that were printed.
fn reports(output: &Output) -> Vec<String> {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let reports: Vec<String> = text.split(MARK).skip(1).step_by(2).map(str::to_owned).collect();
    assert!(!reports.is_empty(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    reports
}

/// Whether something was done, and something was not.
fn is_midway(journal: &Path) -> bool {
    let copy = journal.with_extension("copy");
    if fs::copy(journal, &copy).is_err() {
        return false;
    }
    Journal::open(&copy).is_ok_and(|(journal, recovered)| {
        let begun = recovered.totals.is_some() || !recovered.results.is_empty();
        begun && !journal.open_items().is_empty()
    })
}

fn signal(process: &Child, which: &str) {
    assert!(Command::new("kill").args([which, &process.id().to_string()]).status().unwrap().success());
}

struct Victim {
    place: Place,
    test: &'static str,
    expected: String,
    takes: Duration,
    /// How long a journal of it is.
    length: u64,
}

/// When somebody is killed.
enum When {
    After(Duration),
    /// As soon as the journal has so many bytes, or will not have them.
    Length(u64),
}

impl Victim {
    fn new(name: &str, test: &'static str) -> Victim {
        let place = Place::new(&format!("{name}-{test}"));
        let started = Instant::now();
        let expected = place.run(test, &[("MAZURKA_JOBS", "1")]);
        let takes = started.elapsed();
        assert_eq!(place.run(test, &[("MAZURKA_JOURNAL", "whole")]), expected);
        let length = fs::metadata(place.file("whole")).unwrap().len();
        Victim { place, test, expected, takes, length }
    }

    fn kill(&self, environment: &[(&str, &str)], when: When) {
        let mut command = self.place.command(self.test, environment);
        let mut run = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        match when {
            When::After(time) => std::thread::sleep(time),
            When::Length(length) => {
                let has = || fs::metadata(self.place.file("journal")).map_or(0, |there| there.len());
                while has() < length && run.try_wait().unwrap().is_none() {
                    std::thread::sleep(Duration::from_micros(200));
                }
            }
        }
        run.kill().unwrap();
        run.wait().unwrap();
    }

    /// Kills the check when it has done something and not all. It goes on between the look and the kill, so what counts
    /// is what it has left behind; one that has ended by then is begun anew.
    fn kill_midway(&self, environment: &[(&str, &str)]) {
        let journal = self.place.file("journal");
        for _ in 0..100 {
            let _ = fs::remove_file(&journal);
            let mut run = self.place.command(self.test, environment).stdout(Stdio::null()).spawn().unwrap();
            while !is_midway(&journal) && run.try_wait().unwrap().is_none() {
                std::thread::sleep(Duration::from_millis(1));
            }
            run.kill().unwrap();
            run.wait().unwrap();
            if is_midway(&journal) {
                return;
            }
        }
        panic!("{} is over before it is seen midway", self.test);
    }

    /// Kills the check so often and has it end; whether the last kill was between its beginning and its end.
    fn dies(&self, kills: usize, random: &mut Random) -> bool {
        let journal = self.place.file("journal");
        let _ = fs::remove_file(&journal);
        for _ in 0..kills {
            let micros = random.below(self.takes.as_micros() as u64 * 2 / (1 + kills as u64) + 1);
            let when = match random.below(2) {
                0 => When::After(Duration::from_micros(micros)),
                _ => When::Length(random.below(self.length)),
            };
            let (jobs, checkpoint) = (1 + random.below(3), [3_000, 8 << 20][random.below(2) as usize]);
            let environment = [
                ("MAZURKA_JOURNAL", "journal"),
                ("MAZURKA_JOBS", &jobs.to_string()),
                ("MAZURKA_JOURNAL_CHECKPOINT", &checkpoint.to_string()),
            ];
            self.kill(&environment, when);
        }
        let midway = is_midway(&journal);
        // A check that is finished says the same at once.
        for jobs in ["2", "1"] {
            let environment = [("MAZURKA_JOURNAL", "journal"), ("MAZURKA_JOBS", jobs)];
            assert_eq!(self.place.run(self.test, &environment), self.expected, "{}", self.test);
        }
        midway
    }
}

struct Random(u64);

impl Random {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most.max(1)
    }
}

#[test]
fn a_check_that_is_killed_goes_on() {
    let mut random = Random(1);
    for &test in VICTIMS {
        Victim::new("killed", test).dies(2, &mut random);
    }
}

/// However long the machine takes, a check is killed that has done something and not all.
#[test]
fn a_check_that_is_killed_midway_goes_on() {
    for test in ["passes", "finds_out", "tells", "doubts"] {
        let victim = Victim::new("midway", test);
        assert_eq!(victim.expected.contains("can't be seen"), test == "doubts", "{}", victim.expected);
        let journal = victim.place.file("journal");
        for checkpoint in ["3000", "8000000"] {
            let environment = [("MAZURKA_JOURNAL", "journal"), ("MAZURKA_JOURNAL_CHECKPOINT", checkpoint)];
            victim.kill_midway(&environment);
            assert!(is_midway(&journal));
            assert_eq!(victim.place.run(test, &[("MAZURKA_JOURNAL", "journal")]), victim.expected);
        }
    }
}

#[test]
#[ignore = "long: MAZURKA_KILLS says how many checks are killed"]
fn a_journal_survives_many_kills() {
    let count: usize = std::env::var("MAZURKA_KILLS").map_or(16, |count| count.parse().unwrap());
    let seed = std::process::id().into();
    let mut random = Random(seed);
    let victims: Vec<Victim> = VICTIMS.iter().map(|test| Victim::new("many", test)).collect();
    let (mut killed, mut midway) = (0, 0);
    for number in 0..count {
        let kills = if number % 4 == 3 { 2 + random.below(4) as usize } else { 1 };
        killed += kills;
        midway += usize::from(victims[(number / 4) % victims.len()].dies(kills, &mut random));
    }
    println!("seed {seed}: {count} tests, {killed} kills, the last of {midway} midway; all exact");
}

#[test]
fn a_check_out_of_time_goes_on() {
    let victim = Victim::new("time", "passes");
    let mut cut = 0;
    loop {
        // Longer each time: on a machine that is slow enough no part is explored within the first.
        let time = (f64::from(30 * (cut + 1)) / 1000.0).to_string();
        let environment =
            [("MAZURKA_JOURNAL", "journal"), ("MAZURKA_JOBS", "1"), ("MAZURKA_MAX_SECONDS", &time)];
        let report = victim.place.run("passes", &environment);
        if !report.contains(&format!("the time limit of {time} s was reached")) {
            assert_eq!(report, victim.expected);
            break;
        }
        cut += 1;
    }
    assert!(cut > 0);
}

/// A journal that was cut anywhere, or damaged anywhere, is an earlier one, or is refused.
#[test]
fn a_damaged_journal_is_an_earlier_one_or_none() {
    let victim = Victim::new("damaged", "finds_out");
    let (journal, kept) = (victim.place.file("journal"), [("MAZURKA_JOURNAL", "journal")]);
    assert_eq!(victim.place.run("finds_out", &kept), victim.expected);
    let whole = fs::read(&journal).unwrap();
    let mut random = Random(3);
    for round in 0..8 {
        let at = random.below(whole.len() as u64) as usize;
        let mut bytes = whole.clone();
        if round % 2 == 0 {
            bytes.truncate(at)
        } else {
            bytes[at] ^= 0x10
        }
        fs::write(&journal, &bytes).unwrap();
        let report = victim.place.run("finds_out", &kept);
        let refused = report.contains("nothing was run: journal: this is not a journal");
        assert!(refused || report == victim.expected, "{at} of {}: {report}", whole.len());
    }
}

#[test]
#[ignore = "run by others"]
fn checks_twice() {
    for times in [2, 3] {
        tell(&Checker::new().run(move || drop(adders(2, times, add))));
    }
}

#[test]
fn what_differs_is_refused() {
    let place = Place::new("differs");
    let kept = [("MAZURKA_JOURNAL", "journal")];
    let short = [("MAZURKA_JOURNAL", "journal"), ("MAZURKA_MAX_SECONDS", "0.05"), ("MAZURKA_JOBS", "1")];
    assert!(place.run("passes", &short).contains("the time limit of 0.05 s was reached"));
    let whole = fs::read(place.file("journal")).unwrap();
    let refused = |test: &str, environment: &[(&str, &str)], why: &str| {
        let report = place.run(test, environment);
        assert!(report.contains(&format!("nothing was run: journal: {why}")), "{report}");
        assert_eq!(fs::read(place.file("journal")).unwrap(), whole);
    };
    let other = "this is the journal of the test journal::passes, and not of journal::fails";
    refused("fails", &kept, other);
    let seeded = [kept[0], ("MAZURKA_SEED", "3")];
    refused("passes", &seeded, "the search was begun with seed none, and this is 3; remove it");
    let unrolled = [kept[0], ("MAZURKA_MAX_UNROLL", "3")];
    refused("passes", &unrolled, "the search was begun with max_unroll 1000, and this is 3; remove it");
    let (journal, recovered) = Journal::open(&place.file("journal")).unwrap();
    drop(journal);
    let ours = recovered.header;
    let names = ["test", "version", "items", "binary", "number", "place", "keep_going", "max_depth"];
    for (field, why) in [
        ("binary", "the program of the test is not the one with which the search was begun"),
        ("version", "the search was begun with version something else, and this is"),
    ] {
        let value = |name| if name == field { "something else" } else { ours.get(name).unwrap() };
        let header = names.into_iter().fold(Header::new(), |header, name| header.with(name, value(name)));
        let _ = fs::remove_file(place.file("other"));
        drop(Journal::create(&place.file("other"), &header, 0, &[]).unwrap());
        let report = place.run("passes", &[("MAZURKA_JOURNAL", "other")]);
        assert!(report.contains(&format!("nothing was run: other: {why}")), "{report}");
    }
    drop(Journal::create(&place.file("command"), &Header::new().with("files", "p.maz"), 0, &[]).unwrap());
    let report = place.run("passes", &[("MAZURKA_JOURNAL", "command")]);
    assert!(report.contains("the journal of a search by the command mazurka"), "{report}");
    assert!(place.run("passes", &kept).starts_with("pass: "), "it can be gone on with");
}

#[test]
fn what_can_not_be_kept_is_refused() {
    let place = Place::new("refused");
    for (name, value, why) in [
        (
            "MAZURKA_ALGORITHM",
            "optimal",
            "a journal can be kept by wake-up only, not by optimal; leave that out",
        ),
        ("MAZURKA_LEAKS", "1", "a journal can't be kept of a search for leaks; leave that out"),
        (
            "MAZURKA_MAX_EXECUTIONS",
            "7",
            "a journal can't be kept of a search of so many executions; leave that",
        ),
    ] {
        let report = place.run("passes", &[("MAZURKA_JOURNAL", "journal"), (name, value)]);
        assert!(report.contains(&format!("nothing was run: {why}")), "{report}");
        assert!(!place.file("journal").exists());
    }
    let report = place.run("passes", &[("MAZURKA_JOURNAL", "journal"), ("MAZURKA_REPLAY", "v1:0")]);
    assert!(report.contains("only one schedule was run") && !place.file("journal").exists(), "{report}");
    let report = place.run("passes", &[("MAZURKA_JOURNAL", "no/such/file")]);
    assert!(report.contains("nothing was run: no/such/file: the journal can't be created: "), "{report}");
}

#[test]
fn two_do_not_write_one_journal() {
    let place = Place::new("two");
    let kept = [("MAZURKA_JOURNAL", "journal")];
    let mut first = place.command("passes", &kept).stdout(Stdio::null()).spawn().unwrap();
    while fs::metadata(place.file("journal")).map_or(0, |there| there.len()) == 0 {
        std::thread::sleep(Duration::from_millis(1));
    }
    // However long the second takes to begin, the first has not ended by then.
    signal(&first, "-STOP");
    let report = place.run("passes", &kept);
    let _ = first.kill();
    first.wait().unwrap();
    assert!(report.contains("nothing was run: journal: another process is writing this journal"), "{report}");
}

#[test]
fn a_directory_has_a_file_for_each_check() {
    let place = Place::new("directory");
    let kept = [("MAZURKA_JOURNAL", "journals/")];
    let first = reports(&place.command("checks_twice", &kept).output().unwrap());
    let again = reports(&place.command("checks_twice", &kept).output().unwrap());
    assert!(first.iter().all(|report| report.starts_with("pass: ")) && first == again, "{first:?} {again:?}");
    assert!(first[0].contains("6 complete") && first[1].contains("20 complete"), "{first:?}");
    let mut names: Vec<String> = fs::read_dir(place.file("journals"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort_unstable();
    let name = "journal.checks_twice";
    assert_eq!(names, [format!("{name}-2.journal"), format!("{name}.journal")]);
    // In a file there is room for one.
    let [first, second] =
        &reports(&place.command("checks_twice", &[("MAZURKA_JOURNAL", "file")]).output().unwrap())[..]
    else {
        panic!("two checks have two reports")
    };
    assert!(first.starts_with("pass: "), "{first}");
    assert!(second.contains("this is the journal of another check of the test"), "{second}");
}

/// The file that an option names is used as that of the environment is.
#[test]
fn a_journal_can_be_an_option() {
    let place = Place::new("option");
    let with = |number: u32| {
        let journal = place.file(&format!("{number}.journal"));
        let report = Checker::new().journal(&journal).run(|| drop(adders(2, 3, add)));
        assert!(report.is_pass() && report.executions() == 20, "{report}");
        assert!(report.verdict().contains("(wake-up; "), "{report}");
        assert!(Journal::open(&journal).unwrap().0.open_items().is_empty());
    };
    with(1);
    with(2);
    let report = Checker::new().journal(place.file("3")).algorithm(Algorithm::Source).run(|| ());
    assert!(report.text().contains("a journal can be kept by wake-up only, not by source"), "{report}");
}

/// Who was lost takes nothing with him.
#[test]
fn a_thread_that_is_lost_leaves_the_journal_to_others() {
    let place = Place::new("lost");
    let check = |checker: Checker| {
        let report = checker.hang_timeout(Duration::from_millis(300)).parts(2, 2).run(|| {
            if adders(3, 1, add_in_two_steps).load(SeqCst) == 1 {
                loop {
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
        });
        report.failures().map(|failure| (failure.kind(), failure.schedule())).collect::<Vec<_>>()
    };
    let expected = check(Checker::new().jobs(1));
    assert_eq!(expected.iter().map(|failure| failure.0).collect::<Vec<_>>(), ["hang"]);
    let journal = place.file("journal");
    assert_eq!(check(Checker::new().jobs(3).journal(&journal)), expected);
    let (journal, recovered) = Journal::open(&journal).unwrap();
    assert!(!recovered.results.is_empty() && !journal.open_items().is_empty());
}
