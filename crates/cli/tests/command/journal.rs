//! Searches that are kept: whatever kills them, and however often, who goes on ends with the same report.
//!
//! `MAZURKA_KILLS=200 cargo test -p mazurka-cli --test command -- --ignored --nocapture journal` is the long
//! run: so many searches are killed and resumed, a quarter of them several times.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use mazurka_journal::{Header, Journal};
use serde_json::Value;

use crate::json::check_object;
use crate::native_journal::COMPILED;
use crate::{Outcome, Place};

/// 184,756 traces, and no failure.
const PASS: &str = "var x; process p[i in 0..2] { for k in 0..10 { x += 1; } }";

/// Two assertions, of which one fails with several values.
const FAILURES: &str = "var x;
    process p[i in 0..2] { for k in 0..5 { let r = x; x = r + 1; } }
    process main {
        for i in 0..2 { join(p[i]); }
        assert x == 10, \"lost\";
        assert x != 2, \"nearly all lost\";
    }";

/// A deadlock, which all else goes on beside.
const DEADLOCK: &str = "var x; lock a, b;
    process p { lock(a); lock(b); unlock(b); unlock(a); }
    process q { lock(b); lock(a); unlock(a); unlock(b); }
    process r[i in 0..2] { for k in 0..8 { x += 1; } }";

/// A failure in the last of many traces, at which the search ends.
const LATE: &str = "var x, y;
    process p[i in 0..3] { for k in 0..4 { x += 1; if i == 2 && k == 0 { y = x; } } }
    process main { for i in 0..3 { join(p[i]); } assert y != 1, \"the last came first\"; }";

/// A loop that is cut.
const CUT: &str =
    "var x, y; process p { while x < 100 { y += 1; } } process q[i in 0..2] { for k in 0..5 { x += 1; } }";

/// Tasks of one object.
const OBJECTS: &str = "module M;
interface I { Unit go(Int n); }
class C implements I {
  Int x = 0;
  Unit go(Int n) { Int i = 0; while (i < n) { x = x + i; i = i + 1; suspend; } }
}
{ I a = new C(); a!go(5); a!go(5); a!go(2); }";

/// That a method throws what it does not catch is found out late: the search begins again.
const THROWS: &str = "module M;
interface I { Unit go(Int n); Unit last(); }
class C implements I {
  Int x = 0;
  Unit go(Int n) { Int i = 0; while (i < n) { x = x + i; i = i + 1; suspend; } }
  Unit last() { if (x == 0) { throw DivisionByZeroException; } }
}
{ I a = new C(); a!go(5); a!go(4); a!last(); }";

/// A program, and the options with which it is checked.
pub struct Case {
    pub name: &'static str,
    pub file: &'static str,
    pub text: &'static str,
    pub options: &'static [&'static str],
}

pub const CASES: [Case; 8] = [
    Case { name: "pass", file: "p.maz", text: PASS, options: &[] },
    Case { name: "seed", file: "p.maz", text: PASS, options: &["--seed", "7"] },
    Case { name: "failures", file: "p.maz", text: FAILURES, options: &["--keep-going"] },
    Case { name: "deadlock", file: "p.maz", text: DEADLOCK, options: &["--keep-going"] },
    Case { name: "late", file: "p.maz", text: LATE, options: &[] },
    Case { name: "cut", file: "p.maz", text: CUT, options: &["--keep-going", "--max-unroll", "3"] },
    Case { name: "objects", file: "p.abs", text: OBJECTS, options: &[] },
    Case {
        name: "throws",
        file: "p.abs",
        text: THROWS,
        options: &["--keep-going", "--", "--dependence", "static", "--uncaught", "forgive"],
    },
];

/// A search that is killed and resumed.
pub struct Victim {
    pub place: Place,
    pub journal: PathBuf,
    check: Vec<&'static str>,
    /// What a search that nobody kills says.
    pub expected: Report,
    takes: Duration,
}

pub type Report = (i32, Value);

/// The status and the report, without what may differ.
pub fn report(outcome: &Outcome) -> Report {
    let mut value = check_object(outcome);
    value.as_object_mut().unwrap().remove("seconds");
    if value["program"] == "p.abs" {
        // What its states take is estimated, and not the same in every run of the command.
        value.as_object_mut().unwrap().remove("memory");
    }
    (outcome.status, value)
}

impl Victim {
    pub fn new(test: &str, case: &Case) -> Victim {
        let place = Place::new(&format!("journal-{test}-{}", case.name), case.file, case.text);
        let journal = place.directory.join("journal");
        let check = [&["check", case.file, "--algorithm", "wake-up", "--json"], case.options].concat();
        let started = Instant::now();
        let expected = report(&place.run(&check));
        let takes = started.elapsed();
        let count = |kind: &str| expected.1[kind].as_u64().unwrap_or(0);
        assert!(count("executions") + count("stopped") > 1000, "{} {}", case.name, expected.1);
        Victim { place, journal, check, expected, takes }
    }

    /// The arguments of the next run: the first, or one that goes on, if there is something to go on with.
    pub fn arguments<'a>(&'a self, of_run: &[&'a str]) -> Vec<&'a str> {
        match std::fs::metadata(&self.journal) {
            Ok(there) if there.len() > 0 => [&["resume", "journal", "--json"], of_run].concat(),
            _ => [&["check", "--journal", "journal"], of_run, &self.check[1..]].concat(),
        }
    }

    /// A run that is killed after a while.
    fn kill(&self, jobs: &str, after: Duration, checkpoint: &str) {
        let mut command = self.place.command(&self.arguments(&["--jobs", jobs]));
        command.env("MAZURKA_JOURNAL_CHECKPOINT", checkpoint);
        let mut run = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(after);
        run.kill().unwrap();
        run.wait().unwrap();
    }

    /// The run that nobody kills.
    pub fn last(&self) -> Report {
        loop {
            let outcome = self.place.run(&self.arguments(&[]));
            // The worker of a command that was killed may begin a journal in the moment before it ends.
            let is_late = |word: &&str| outcome.stderr.contains(word);
            if !["there is such a file", "another process is writing"].iter().any(is_late) {
                return report(&outcome);
            }
        }
    }

    /// Kills a search that has done something and not all. It goes on between the look and the kill, so what counts is
    /// what it has left behind; one that has ended by then is begun anew.
    pub fn dies_midway(&self, jobs: &str, checkpoint: &str) {
        for _ in 0..100 {
            let _ = std::fs::remove_file(&self.journal);
            let mut command = self.place.command(&self.arguments(&["--jobs", jobs]));
            command.env("MAZURKA_JOURNAL_CHECKPOINT", checkpoint);
            let mut run = command.stdout(Stdio::null()).spawn().unwrap();
            while !self.is_midway() && run.try_wait().unwrap().is_none() {
                std::thread::sleep(Duration::from_millis(1));
            }
            run.kill().unwrap();
            run.wait().unwrap();
            if self.is_midway() {
                return;
            }
        }
        panic!("{:?} is over before it is seen midway", self.check);
    }

    /// Whether something was done, and something was not.
    pub fn is_midway(&self) -> bool {
        let copy = self.place.directory.join("copy");
        if std::fs::copy(&self.journal, &copy).is_err() {
            return false;
        }
        Journal::open(&copy).is_ok_and(|(journal, recovered)| {
            let begun = recovered.totals.is_some() || !recovered.results.is_empty();
            begun && !journal.open_items().is_empty()
        })
    }

    /// Kills the search so often and has it end; whether the last kill was between its beginning and its end.
    pub fn dies(&self, kills: usize, random: &mut Random) -> bool {
        let _ = std::fs::remove_file(&self.journal);
        for _ in 0..kills {
            let micros = random.below(self.takes.as_micros() as u64 / kills as u64 + 1);
            let (jobs, checkpoint) = (1 + random.below(3), [3_000, 8 << 20][random.below(2) as usize]);
            self.kill(&jobs.to_string(), Duration::from_micros(micros), &checkpoint.to_string());
        }
        let is_midway = self.is_midway();
        assert_eq!(self.last(), self.expected, "{:?}", self.check);
        // A search that is finished says the same at once.
        assert_eq!(self.last(), self.expected, "{:?}", self.check);
        is_midway
    }
}

pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most.max(1)
    }
}

#[test]
fn a_search_that_is_killed_goes_on() {
    let mut random = Random(1);
    for case in &CASES {
        Victim::new("killed", case).dies(2, &mut random);
    }
}

/// However long the machine takes, a search is killed that has done something and not all.
#[test]
fn a_search_that_is_killed_midway_goes_on() {
    let victim = Victim::new("midway", &CASES[0]);
    for checkpoint in ["3000", "8000000"] {
        victim.dies_midway("2", checkpoint);
        assert_eq!(victim.last(), victim.expected);
    }
}

#[test]
#[ignore = "long: MAZURKA_KILLS says how many searches are killed"]
fn a_journal_survives_many_kills() {
    let count: usize = std::env::var("MAZURKA_KILLS").map_or(16, |count| count.parse().unwrap());
    let seed = std::process::id().into();
    let mut random = Random(seed);
    let victims: Vec<Victim> = CASES.iter().chain(&COMPILED).map(|case| Victim::new("many", case)).collect();
    let (mut killed, mut midway) = (0, 0);
    for number in 0..count {
        let kills = if number % 4 == 3 { 2 + random.below(4) as usize } else { 1 };
        killed += kills;
        midway += usize::from(victims[(number / 4) % victims.len()].dies(kills, &mut random));
    }
    println!("seed {seed}: {count} searches, {killed} kills, the last of {midway} midway; all exact");
}

#[test]
fn a_search_out_of_time_goes_on() {
    let victim = Victim::new("time", &CASES[0]);
    let _ = std::fs::remove_file(&victim.journal);
    let mut cut = 0;
    loop {
        // Longer each time: on a machine that is slow enough no item is explored within the first.
        let time = (f64::from(50 * (cut + 1)) / 1000.0).to_string();
        let outcome = victim.place.run(&victim.arguments(&["--jobs", "1", "--timeout", &time]));
        if outcome.status != 3 {
            assert_eq!(report(&outcome), victim.expected);
            break;
        }
        assert_eq!(check_object(&outcome)["reason"], format!("the time limit of {time} s was reached"));
        cut += 1;
    }
    assert!(cut > 0);
}

/// A journal that was cut anywhere, or damaged anywhere, is an earlier one, or is refused.
#[test]
fn a_damaged_journal_is_an_earlier_one_or_none() {
    let victim = Victim::new("damaged", &CASES[2]);
    let _ = std::fs::remove_file(&victim.journal);
    assert_eq!(victim.last(), victim.expected);
    let whole = std::fs::read(&victim.journal).unwrap();
    let mut random = Random(3);
    for round in 0..8 {
        let at = random.below(whole.len() as u64) as usize;
        let mut bytes = whole.clone();
        if round % 2 == 0 {
            bytes.truncate(at)
        } else {
            bytes[at] ^= 0x10
        }
        std::fs::write(&victim.journal, &bytes).unwrap();
        let outcome = victim.place.run(&["resume", "journal", "--json"]);
        if outcome.status == 2 {
            let error = "this is not a journal, or its beginning is damaged";
            assert!(outcome.stderr.contains(error) || bytes.is_empty(), "{}", outcome.stderr);
        } else {
            assert_eq!(report(&outcome), victim.expected, "{at} of {}", whole.len());
        }
    }
    // The end is far from the beginning: there something is left to go on with.
    std::fs::write(&victim.journal, &whole[..whole.len() * 2 / 3]).unwrap();
    assert_eq!(victim.last(), victim.expected);
}

/// A search that had begun again goes on behind that.
#[test]
fn what_was_found_out_is_kept() {
    let victim = Victim::new("found-out", &CASES[7]);
    let _ = std::fs::remove_file(&victim.journal);
    assert_eq!(victim.last(), victim.expected);
    let whole = std::fs::read(&victim.journal).unwrap();
    for tenths in [9, 7, 5] {
        std::fs::write(&victim.journal, &whole[..whole.len() * tenths / 10]).unwrap();
        let (journal, recovered) = Journal::open(&victim.journal).unwrap();
        assert!(recovered.generation > 0 && !recovered.known.is_empty() && !recovered.results.is_empty());
        let done = recovered.results.len();
        drop(journal);
        assert_eq!(victim.last(), victim.expected);
        let (_, recovered) = Journal::open(&victim.journal).unwrap();
        // No result has become void, so it has not begun again.
        assert!(recovered.generation == 1 && recovered.results.len() > done, "{tenths}");
    }
}

#[test]
fn two_processes_do_not_write_one_journal() {
    let huge = "var x; process p[i in 0..4] { for k in 0..9 { x += 1; } }";
    let place = Place::new("journal-two", "p.maz", huge);
    let journal = place.directory.join("journal");
    let _ = std::fs::remove_file(&journal);
    let check = ["check", "p.maz", "--algorithm", "wake-up", "--journal", "journal"];
    let mut first = place.command(&check).stdout(Stdio::null()).spawn().unwrap();
    while std::fs::metadata(&journal).map_or(0, |there| there.len()) == 0 {
        std::thread::sleep(Duration::from_millis(5));
    }
    place.run(&["resume", "journal"]).refused(&["journal: another process is writing this journal"]);
    place.run(&check).refused(&["there is such a file", "mazurka resume journal goes on with it"]);
    first.kill().unwrap();
    first.wait().unwrap();
    let outcome = place.run(&["resume", "journal", "--timeout", "0.1"]);
    outcome.expect(3, &["not exhaustive", "the time limit of 0.1 s was reached"]);
}

#[test]
fn what_differs_is_refused() {
    let place = Place::new("journal-differs", "p.maz", PASS);
    let _ = std::fs::remove_file(place.directory.join("journal"));
    let kept = ["--algorithm", "wake-up", "--jobs", "1", "--timeout", "0.05", "--journal", "journal"];
    let begin = [&["check", "p.maz"], &kept[..]].concat();
    place.run(&begin).expect(3, &["the time limit of 0.05 s was reached"]);
    std::fs::write(place.directory.join("p.maz"), format!("// another\n{PASS}")).unwrap();
    place.run(&["resume", "journal"]).refused(&["p.maz is not what it was", "line 1 differs"]);
    std::fs::write(place.directory.join("p.maz"), PASS).unwrap();
    let journal = std::fs::read(place.directory.join("journal")).unwrap();
    let header = Header::new().with("version", "0.0.1").with("algorithm", "wake-up");
    let other = place.directory.join("other");
    let _ = std::fs::remove_file(&other);
    drop(Journal::create(&other, &header, 0, &[]).unwrap());
    let version = format!("begun by mazurka 0.0.1, and this is {}", env!("CARGO_PKG_VERSION"));
    place.run(&["resume", "other"]).refused(&[&version]);
    place.run_other_build(&["resume", "journal"]).refused(&["was begun by another build of mazurka"]);
    let rust = place.directory.join("rust");
    let _ = std::fs::remove_file(&rust);
    drop(Journal::create(&rust, &Header::new().with("test", "bank::late"), 0, &[]).unwrap());
    let why = "the journal of the Rust test bank::late; to go on with it, run the test again, with MAZURKA_JOURNAL=rust";
    place.run(&["resume", "rust"]).refused(&[why]);
    place.run(&["resume", "p.maz"]).refused(&["p.maz: this is not a journal"]);
    place.run(&["resume", "nothing"]).refused(&["nothing: there is no such file"]);
    assert_eq!(std::fs::read(place.directory.join("journal")).unwrap(), journal);
    place.run(&["resume", "journal"]).expect(0, &["pass", "184756 complete"]);
}

#[test]
fn what_can_not_be_kept_is_refused() {
    let place = Place::new("journal-refused", "p.maz", PASS);
    let journal = place.directory.join("journal");
    let _ = std::fs::remove_file(&journal);
    let refusals: [(&[&str], &str); 5] = [
        (&["p.maz"], "a journal can be kept by --algorithm wake-up only, not by optimal"),
        (
            &["p.maz", "--algorithm", "wake-up", "--max-executions", "3"],
            "--max-executions can't be had beside",
        ),
        (
            &["p.maz", "--algorithm", "wake-up", "--final-states"],
            "--final-states can't be had beside --journal",
        ),
        (&["p.maz", "--algorithm", "wake-up", "--replay", "v1:0"], "--replay can't be had beside --journal"),
        (&["p.maz", "--algorithm", "wake-up", "--param", "n=1"], "n"),
    ];
    for (arguments, why) in refusals {
        place.run(&[&["check"], arguments, &["--journal", "journal"]].concat()).refused(&[why]);
        assert!(!journal.exists(), "{arguments:?}");
    }
    let mut command = place.command(&["check", "p.maz"]);
    let output = command.env("MAZURKA_JOURNAL", "journal").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let short = ["--jobs", "1", "--timeout", "0.05"];
    let mut command = place.command(&[&["check", "p.maz", "--algorithm", "wake-up"], &short[..]].concat());
    let output = command.env("MAZURKA_JOURNAL", "journal").output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    place.run(&["resume", "journal"]).expect(0, &["pass", "184756 complete"]);
}

/// Every write to it fails: nothing is kept, and the report says so.
#[cfg(target_os = "linux")]
#[test]
fn a_journal_that_can_not_be_written_ends_the_search() {
    let place = Place::new("journal-full", "p.maz", PASS);
    let _ = std::fs::remove_file(place.directory.join("journal"));
    let check = "ulimit -f 1; trap '' XFSZ; exec \"$0\" check p.maz --algorithm wake-up --journal journal";
    let mut command = std::process::Command::new("bash");
    command.args(["-c", check, env!("CARGO_BIN_EXE_mazurka")]).current_dir(&place.directory);
    let output = command.output().unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(3), "{stdout}");
    assert!(stdout.contains("the journal can't be written: "), "{stdout}");
    place.run(&["resume", "journal"]).expect(0, &["pass", "184756 complete"]);
}
