//! Searches on many machines: whoever is killed, the report is that of one machine.
//!
//! `MAZURKA_FLEETS=100 cargo test -p mazurka-cli --test command -- --ignored --nocapture fleet` is the long run: so
//! many searches with 1 to 6 workers that are killed, and a server that is restarted in every fifth.

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use mazurka_fleet::{Beat, Exchange, Heard, Lease, Left, Outcome as Came, Said, Store};
use mazurka_journal::Header;
use serde_json::Value;

use crate::journal::{CASES, Case, Random, Report, report};
use crate::json::object;
use crate::native_journal::COMPILED;
use crate::postgres::Server;
use crate::{Outcome, Place, is_interrupt_ignored};

const STATUS: &str = include_str!("../../../../docs/schema/status.schema.json");

/// Leases are short, so that nobody waits long for what a worker had that was killed.
const LEASE: &str = "2";

/// More executions than any test has time for.
const HUGE: &str = "var x; process p[i in 0..6] { for k in 0..9 { x += 1; } }";

/// Processes that a test has started; they are ended with it.
pub struct Crew<'a> {
    place: &'a Place,
    url: String,
    /// What they work at.
    at: Vec<String>,
    pub workers: Vec<Child>,
}

impl Crew<'_> {
    pub fn new<'a>(place: &'a Place, url: &str, workers: usize) -> Crew<'a> {
        // Else no machine code is run.
        Crew::at(place, url, workers, &["--accept", "any-of-this-user"])
    }

    pub fn at<'a>(place: &'a Place, url: &str, workers: usize, at: &[&str]) -> Crew<'a> {
        let at = at.iter().map(|word| (*word).to_owned()).collect();
        let mut crew = Crew { place, url: url.to_owned(), at, workers: Vec::new() };
        (0..workers).for_each(|_| crew.add());
        crew
    }

    fn add(&mut self) {
        let mut command = self
            .place
            .command(&["worker", "--join", &self.url, "--jobs", "1", "--lease", LEASE, "--idle", "60"]);
        command.args(&self.at);
        self.workers.push(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    }

    fn kill(&mut self, at: usize) {
        let mut worker = self.workers.swap_remove(at);
        worker.kill().unwrap();
        worker.wait().unwrap();
    }
}

impl Drop for Crew<'_> {
    fn drop(&mut self) {
        for worker in &mut self.workers {
            let _ = worker.kill();
            let _ = worker.wait();
        }
    }
}

/// A check that is waited for.
pub struct Waiting(pub Option<Child>);

impl Waiting {
    pub fn new(place: &Place, arguments: &[&str]) -> Waiting {
        let mut command = place.command(arguments);
        Waiting(Some(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()))
    }

    fn is_over(&mut self) -> bool {
        self.0.as_mut().unwrap().try_wait().unwrap().is_some()
    }

    pub fn end(mut self) -> Outcome {
        let output = self.0.take().unwrap().wait_with_output().unwrap();
        Outcome::of(output)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A program, and what a check of it on one machine says.
pub struct Subject {
    pub place: Place,
    pub check: Vec<&'static str>,
    pub expected: Report,
}

impl Subject {
    pub fn new(test: &str, case: &Case) -> Subject {
        let place = Place::new(&format!("fleet-{test}-{}", case.name), case.file, case.text);
        let check = [&["check", case.file, "--algorithm", "wake-up"], case.options].concat();
        let mut local = check.clone();
        local.insert(1, "--json");
        let expected = report(&place.run(&local));
        Subject { place, check, expected }
    }

    /// The arguments of a check by others.
    pub fn on<'a>(&'a self, more: &[&'a str]) -> Vec<&'a str> {
        [&["check"], more, &self.check[1..]].concat()
    }
}

/// How a search is disturbed.
pub struct Trouble {
    pub workers: usize,
    pub kills: usize,
    pub crashes: bool,
}

/// A search with workers of which some are killed, and others come; and a server that crashes, if it does.
pub fn disturbed(server: &mut Server, subject: &Subject, trouble: &Trouble, random: &mut Random) {
    let url = server.url();
    let crew = Crew::new(&subject.place, &url, trouble.workers);
    let check = Waiting::new(&subject.place, &subject.on(&["--json", "--on", &url]));
    let outcome = in_trouble(server, crew, check, trouble, random);
    assert_eq!(report(&outcome), subject.expected, "{:?}", subject.check);
}

/// What comes of a check whose workers are killed.
pub fn in_trouble(
    server: &mut Server,
    mut crew: Crew<'_>,
    mut check: Waiting,
    trouble: &Trouble,
    random: &mut Random,
) -> Outcome {
    let pause = |random: &mut Random| Duration::from_millis(random.below(700));
    for number in 0..trouble.kills {
        std::thread::sleep(pause(random));
        if trouble.crashes && number == trouble.kills / 2 {
            server.crash();
        }
        let victim = random.below(crew.workers.len() as u64) as usize;
        crew.kill(victim);
        crew.add();
    }
    let started = Instant::now();
    while !check.is_over() {
        assert!(
            started.elapsed() < Duration::from_secs(120),
            "{}",
            server.say("select * from mazurka.item limit 9")
        );
        std::thread::sleep(Duration::from_millis(5));
    }
    check.end()
}

fn case(name: &str) -> &'static Case {
    CASES.iter().find(|case| case.name == name).unwrap()
}

#[test]
fn workers_that_are_killed_change_nothing() {
    let Some(mut server) = Server::start(false) else { return };
    let mut random = Random(5);
    for (name, workers, kills, crashes) in [
        ("pass", 1, 1, false),
        ("seed", 6, 4, true),
        ("failures", 2, 1, false),
        ("late", 3, 2, false),
        ("cut", 2, 0, false),
        ("objects", 2, 1, false),
        ("throws", 2, 1, false),
    ] {
        let subject = Subject::new("killed", case(name));
        disturbed(&mut server, &subject, &Trouble { workers, kills, crashes }, &mut random);
    }
    // Nothing is left of what is over.
    assert_eq!(server.say("select count(*) from mazurka.search where not reported"), "0");
}

#[test]
#[ignore = "long: MAZURKA_FLEETS says how many searches are disturbed"]
fn a_fleet_survives_many_kills() {
    let count: usize = std::env::var("MAZURKA_FLEETS").map_or(10, |count| count.parse().unwrap());
    let Some(mut server) = Server::start(false) else { return };
    let seed = std::process::id().into();
    let mut random = Random(seed);
    let cases = CASES.iter().chain(&COMPILED);
    let subjects: Vec<Subject> = cases.map(|case| Subject::new("many", case)).collect();
    let (mut killed, mut crashed, started) = (0, 0, Instant::now());
    for number in 0..count {
        let workers = 1 + random.below(6) as usize;
        let crashes = number % 5 == 4;
        let kills = 1 + random.below(workers as u64) as usize;
        disturbed(
            &mut server,
            &subjects[number % subjects.len()],
            &Trouble { workers, kills, crashes },
            &mut random,
        );
        killed += kills;
        crashed += usize::from(crashes);
    }
    let seconds = started.elapsed().as_secs();
    println!(
        "seed {seed}: {count} searches, {killed} workers killed, {crashed} crashes of the server, {seconds} s; all exact"
    );
}

/// Results before which all is done become one, in their order; the others stay.
#[test]
fn results_are_put_together_in_order() {
    let Some(server) = Server::start(false) else { return };
    let mut store = Store::connect(&server.url().parse().unwrap(), Duration::from_secs(1)).unwrap();
    let (search, is_new) = store.begin("hash", b"header", "title", b"whole").unwrap();
    assert!(is_new && store.begin("hash", b"header", "title", b"whole").unwrap() == (search, false));
    let worker = store.join("test", 1, "0.0.0").unwrap().id;
    let searches = store.running().unwrap();
    let mut turn = |said: Vec<(Lease, Said)>, wanted| {
        let exchange = Exchange {
            worker,
            said: &said,
            wanted,
            searches: &searches,
            held: &[],
            seconds: 60.0,
            wants_load: true,
        };
        let exchanged = store.exchange(&exchange).unwrap();
        assert!(exchanged.heard.iter().all(|heard| *heard == Heard::Counted));
        (exchanged.taken, exchanged.load.unwrap())
    };
    let came = |place: Vec<u8>, part: &str, left| {
        let part = Some(part.as_bytes().to_vec());
        Said::Done(Came { place, part, share: 0.125, executions: 10, left, ..Came::default() })
    };
    let left = |number: u8| Left { place: vec![number], share: 0.125, body: vec![number] };
    let (mut taken, load) = turn(vec![], 9);
    assert_eq!((taken.len(), &taken[0].body[..], load.held, load.threads), (1, &b"whole"[..], 1, 1));
    let (mut taken, load) = turn(vec![(taken.remove(0), came(vec![], "a", (1..8).map(left).collect()))], 5);
    assert_eq!((load.ready, load.held), (2, 5));
    taken.sort_by_key(|lease| lease.body.clone());
    assert_eq!(taken.iter().map(|lease| lease.body[0]).collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
    let said = |lease: Lease| {
        let place = lease.body.clone();
        let part = char::from(b'a' + place[0]).to_string();
        (lease, came(place, &part, vec![]))
    };
    let third = taken.remove(2);
    turn(taken.into_iter().rev().map(said).collect(), 0);
    let together = |parts: Vec<Vec<u8>>| Some(parts.concat());
    let before = store.look(search).unwrap().unwrap();
    assert_eq!((before.executions, before.results, before.share), (50, 5, 0.625));
    for _ in 0..2 {
        store.put_together(search, 0, &together).unwrap();
        let parts = store.remains(search).unwrap().parts;
        assert_eq!(parts, [&b"abc"[..], b"e", b"f"]);
        let now = store.look(search).unwrap().unwrap();
        assert_eq!((now.executions, now.results, now.share), (50, 3, 0.625));
    }
    // An item that ends the search makes void what comes after it.
    let end = Said::Done(Came { place: vec![3], end: Some(left(3)), ..Came::default() });
    let exchange = Exchange {
        worker,
        said: &[(third, end)],
        wanted: 9,
        searches: &searches,
        held: &[],
        seconds: 60.0,
        wants_load: true,
    };
    let exchanged = store.exchange(&exchange).unwrap();
    assert_eq!((exchanged.heard[0], exchanged.taken.len()), (Heard::Counted, 0));
    let remains = store.remains(search).unwrap();
    assert_eq!((remains.parts, remains.end), (vec![b"abc".to_vec()], Some(vec![3])));
    let look = store.look(search).unwrap().unwrap();
    assert_eq!((look.ready, look.held), (0, 0));
    assert!(store.finish(search, 0).unwrap() && !store.finish(search, 1).unwrap());
}

/// What the server knows of the tables decides how it looks for items.
#[test]
fn no_more_is_leased_than_is_wanted() {
    let Some(server) = Server::start(false) else { return };
    let mut store = Store::connect(&server.url().parse().unwrap(), Duration::from_secs(1)).unwrap();
    store.begin("hash", b"header", "title", b"whole").unwrap();
    let worker = store.join("test", 1, "0.0.0").unwrap().id;
    let searches = store.running().unwrap();
    let mut turn = |said: Vec<(Lease, Said)>| {
        let (held, searches, wanted) = (&[][..], &searches[..], 1);
        let wants =
            Exchange { worker, said: &said, wanted, searches, held, seconds: 60.0, wants_load: false };
        store.exchange(&wants).unwrap().taken
    };
    let whole = turn(vec![]).remove(0);
    let left = |number: u8| Left { place: vec![number], share: 0.2, body: vec![number] };
    let done = Came { left: (0..4).map(left).collect(), ..Came::default() };
    let first = turn(vec![(whole, Said::Done(done))]);
    assert_eq!(first.len(), 1);
    for _ in 0..3 {
        server.say("vacuum analyze mazurka.item");
        server.say("vacuum analyze mazurka.search");
        assert_eq!(turn(vec![]).len(), 1);
    }
    assert_eq!(turn(vec![]).len(), 0);
}

/// Where transactions are serializable, many are in each other's way, and are done again.
#[test]
fn transactions_that_fail_are_done_again() {
    let Some(server) = Server::start(false) else { return };
    server.say("alter role tester set default_transaction_isolation = 'serializable'");
    let url = server.url();
    let subject = Subject::new("serializable", case("pass"));
    let crew = Crew::new(&subject.place, &url, 3);
    let shared = subject.place.run(&subject.on(&["--json", "--on", &url]));
    assert_eq!(report(&shared), subject.expected);
    drop(crew);
    let undone = server.say("select xact_rollback > 0 from pg_stat_database where datname = 'postgres'");
    assert_eq!(undone, "t", "nobody was in anybody's way");
}

/// What is printed, without times.
pub fn told(outcome: &Outcome) -> String {
    let without_time = |line: &str| match line.strip_prefix("executions: ") {
        Some(_) => line.rsplit_once("; ").unwrap().0.to_owned(),
        None => line.to_owned(),
    };
    outcome.stdout.lines().map(without_time).collect::<Vec<_>>().join("\n")
}

#[test]
fn what_fails_is_told_as_on_one_machine() {
    let Some(server) = Server::start(false) else { return };
    let url = server.url();
    for name in ["failures", "late", "deadlock"] {
        let subject = Subject::new("told", case(name));
        let crew = Crew::new(&subject.place, &url, 2);
        let local = subject.place.run(&subject.check);
        let shared = subject.place.run(&subject.on(&["--on", &url]));
        drop(crew);
        assert_eq!((told(&shared), shared.status), (told(&local), local.status));
        assert_eq!(shared.status, 1);
        assert_eq!(shared.stderr, "");
        // A process that waits may work, too.
        let alone = subject.place.run(&subject.on(&["--on", &url, "--jobs", "2"]));
        assert_eq!((told(&alone), alone.status), (told(&local), local.status));
    }
}

pub fn status(place: &Place, url: &str) -> Value {
    object(STATUS, &place.run(&["status", url, "--json"]))
}

/// Waits until something is so.
pub fn until(mut is_so: impl FnMut() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < Duration::from_secs(60), "it never came to that");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn searches_are_side_by_side_taken_up_and_cancelled() {
    let Some(server) = Server::start(false) else { return };
    let url = server.url();
    let (one, two) = (Subject::new("two", case("pass")), Subject::new("two", case("failures")));
    let place = Place::new("fleet-huge", "huge.maz", HUGE);
    let huge = ["check", "huge.maz", "--algorithm", "wake-up", "--on", &url];
    place.run(&["status", &url]).expect(0, &["no searches", "no workers"]);
    // Who waits is killed; the search stays.
    let waiting = Waiting::new(&one.place, &one.on(&["--json", "--on", &url]));
    until(|| status(&place, &url)["searches"].as_array().unwrap().len() == 1);
    drop(waiting);
    let other = Waiting::new(&two.place, &two.on(&["--json", "--on", &url]));
    until(|| status(&place, &url)["searches"].as_array().unwrap().len() == 2);
    let third = Waiting::new(&place, &huge);
    until(|| status(&place, &url)["searches"].as_array().unwrap().len() == 3);
    place.run(&["resume", &url]).refused(&["it has several searches: --search says which: 1 (p.maz)"]);
    let crew = Crew::new(&place, &url, 2);
    // Without any file, by its number; all three are worked at.
    let resumed = one.place.run(&["resume", &url, "--search", "1", "--json"]);
    assert_eq!(report(&resumed), one.expected);
    assert_eq!(report(&other.end()), two.expected);
    until(|| status(&place, &url)["searches"][0]["executions"].as_u64().unwrap() > 0);
    let (mut share, before) = (0.0, status(&place, &url));
    for _ in 0..10 {
        let now = status(&place, &url)["searches"][0]["share_done"].as_f64().unwrap();
        assert!(now >= share, "{now} after {share}");
        share = now;
    }
    assert_eq!(before["workers"].as_array().unwrap().len(), 2);
    place.run(&["status", &url]).expect(0, &["search 3: huge.maz", "running", "worker "]);
    place.run(&["cancel", &url, "3"]).expect(0, &["search 3 is cancelled"]);
    third.end().refused(&["search 3 was cancelled: there is no verdict"]);
    place.run(&["cancel", &url, "3"]).refused(&["there is no search 3 that is not over"]);
    // One that is out of time is put aside, and taken up by whoever asks for the same.
    let timed = [&huge[..], &["--timeout", "1"]].concat();
    place.run(&timed).expect(3, &["not exhaustive", "the time limit of 1 s was reached"]);
    assert_eq!(status(&place, &url)["searches"][0]["state"], "paused");
    let done = status(&place, &url)["searches"][0]["executions"].as_u64().unwrap();
    place.run(&timed).expect(3, &["the time limit of 1 s was reached"]);
    let now = status(&place, &url);
    assert_eq!(now["searches"][0]["id"], 4);
    assert!(now["searches"][0]["executions"].as_u64().unwrap() > done);
    drop(crew);
}

#[test]
fn what_differs_is_refused_by_workers() {
    let Some(server) = Server::start(false) else { return };
    let url = server.url();
    let place = Place::new("fleet-refused", "p.maz", CASES[0].text);
    std::fs::write(place.directory.join("p.c"), "int main() { return 0; }").unwrap();
    let refusals: [(&[&str], &str); 5] = [
        (&["p.maz"], "a search can be shared by --algorithm wake-up only, not by optimal"),
        (&["p.c"], "a search can be shared by --algorithm wake-up only, not by optimal"),
        (
            &["p.maz", "--algorithm", "wake-up", "--max-executions", "3"],
            "--max-executions can't be had beside --on",
        ),
        (&["p.maz", "--algorithm", "wake-up", "--traces"], "--traces can't be had beside --on"),
        (
            &["p.maz", "--algorithm", "wake-up", "--journal", "j"],
            "'--journal <FILE>' cannot be used with '--on",
        ),
    ];
    for (arguments, why) in refusals {
        place.run(&[&["check"], arguments, &["--on", &url]].concat()).refused(&[why]);
    }
    let mut command = place.command(&["check", "p.maz", "--algorithm", "wake-up", "--on", &url]);
    let both = command.env("MAZURKA_JOURNAL", "j").output().unwrap();
    assert_eq!(both.status.code(), Some(2));
    assert!(!place.directory.join("j").exists());
    // A search of another version, and one that somebody changed.
    let address = url.parse().unwrap();
    let mut store = Store::connect(&address, Duration::from_secs(1)).unwrap();
    let header = Header::new().with("version", "0.0.1").encoded();
    store.begin(&mazurka_fleet::hash(&header), &header, "old.maz", b"[]").unwrap();
    store.begin("1234", &header, "changed.maz", b"[]").unwrap();
    let idle = ["worker", "--join", &url, "--idle", "0.5"];
    let outcome = place.run(&idle);
    assert_eq!(outcome.status, 2);
    let version =
        format!("refuses search 1: it was begun by mazurka 0.0.1, and this is {}", env!("CARGO_PKG_VERSION"));
    assert!(outcome.stderr.contains(&version), "{}", outcome.stderr);
    assert!(
        outcome.stderr.contains("refuses search 2: its hash is not that of what it says"),
        "{}",
        outcome.stderr
    );
    assert!(store.cancel(1).unwrap() && store.cancel(2).unwrap());
    // Only what is accepted is run.
    let check = Waiting::new(&place, &["check", "p.maz", "--algorithm", "wake-up", "--on", &url]);
    until(|| status(&place, &url)["searches"][0]["id"] == 3);
    let hash = status(&place, &url)["searches"][0]["hash"].as_str().unwrap().to_owned();
    let outcome = place.run(&[&idle[..], &["--accept", "0123456789abcdef"]].concat());
    let refused = format!("refuses search 3: its hash is {hash}, which is not among those of --accept");
    assert!(outcome.status == 2 && outcome.stderr.contains(&refused), "{}", outcome.stderr);
    let outcome = place.run_other_build(&idle);
    let refused = "refuses search 3: the search was begun by another build of mazurka";
    assert!(outcome.status == 2 && outcome.stderr.contains(refused), "{}", outcome.stderr);
    place.run(&["status", &url, "--estimate"]).expect(0, &["search 3: p.maz", "  in all "]);
    object(STATUS, &place.run(&["status", &url, "--estimate", "--json"]));
    place.run(&[&idle[..], &["--accept", "all"]].concat()).refused(&["--accept all: expected a hash"]);
    let outcome = place.run(&[&idle[..], &["--accept", &hash[..12], "--jobs", "2"]].concat());
    assert_eq!(outcome.status, 0, "{}", outcome.stderr);
    assert!(outcome.stdout.contains("184756 executions; 0 items came too late"), "{}", outcome.stdout);
    check.end().expect(0, &["pass", "184756 complete"]);
}

/// A worker that is interrupted says what it has done, and gives the rest back: nobody waits for its lease.
#[test]
fn a_worker_that_is_interrupted_leaves_nothing_behind() {
    if is_interrupt_ignored() {
        // So it is in jobs of the background, which the worker takes after.
        return;
    }
    let Some(server) = Server::start(false) else { return };
    let url = server.url();
    let subject = Subject::new("interrupted", case("pass"));
    let join = ["worker", "--join", &url, "--jobs", "2", "--lease", "600"];
    let mut worker = Waiting::new(&subject.place, &join);
    let check = Waiting::new(&subject.place, &subject.on(&["--json", "--on", &url]));
    until(|| status(&subject.place, &url)["searches"][0]["executions"].as_u64().unwrap_or(0) > 0);
    let pid = worker.0.as_ref().unwrap().id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    until(|| worker.is_over());
    let outcome = worker.end();
    assert_eq!(outcome.status, 0, "{}", outcome.stderr);
    assert!(outcome.stdout.contains("; 0 items came too late"), "{}", outcome.stdout);
    let now = status(&subject.place, &url);
    assert_eq!((&now["searches"][0]["items_held"], &now["workers"]), (&0.into(), &Value::Array(vec![])));
    let crew = Crew::new(&subject.place, &url, 1);
    assert_eq!(report(&check.end()), subject.expected);
    drop(crew);
}

/// What three workers could not do is not looked at, and who comes too late with it has nothing to say.
#[test]
fn what_nobody_can_do_is_given_up() {
    let Some(server) = Server::start(false) else { return };
    let url = server.url();
    let place = Place::new("fleet-given-up", "p.maz", CASES[0].text);
    let check = Waiting::new(&place, &["check", "p.maz", "--algorithm", "wake-up", "--on", &url]);
    let mut store = Store::connect(&url.parse().unwrap(), Duration::from_secs(1)).unwrap();
    until(|| !store.unfinished().unwrap().is_empty());
    let searches = store.running().unwrap();
    let joined = store.join("test", 1, "0.0.0").unwrap();
    let worker = joined.id;
    let mut leases = Vec::new();
    for _ in 0..3 {
        let mut lease = None;
        until(|| {
            let wanted = Exchange {
                worker,
                said: &[],
                wanted: 1,
                searches: &searches,
                held: &[],
                seconds: 0.05,
                wants_load: false,
            };
            lease = store.exchange(&wanted).unwrap().taken.pop();
            lease.is_some()
        });
        leases.push(lease.unwrap());
        std::thread::sleep(Duration::from_millis(100));
    }
    let numbers: Vec<i64> = leases.iter().map(|lease| lease.number).collect();
    assert_eq!(numbers, [1, 2, 3]);
    let held: Vec<(i64, i64)> = leases.iter().map(|lease| (lease.item, lease.number)).collect();
    let beat = Beat { worker: &joined, held: &held[..2], items: 0, executions: 0, note: "", seconds: 60.0 };
    assert!(store.beat(&beat).unwrap().is_empty());
    let said: Vec<_> = leases.into_iter().map(|lease| (lease, Said::Done(Came::default()))).collect();
    let late = Exchange {
        worker,
        said: &said,
        wanted: 1,
        searches: &searches,
        held: &[],
        seconds: 0.05,
        wants_load: false,
    };
    let exchanged = store.exchange(&late).unwrap();
    assert_eq!(exchanged.heard, [Heard::Fenced; 3]);
    assert_eq!(exchanged.taken, []);
    let reason = "a part of the search was given up: 3 workers that were at it did not finish it; it begins with the \
                  schedule v1:";
    check.end().expect(3, &["not exhaustive", reason]);
}

#[test]
fn the_way_there_is_safe() {
    let Some(server) = Server::start(true) else { return };
    let port = server.port.unwrap();
    let socket = server.url();
    let place = Place::new("fleet-tls", "p.maz", CASES[0].text);
    place.run(&["status", &socket]).expect(0, &["no searches"]);
    let sql = "create role guest login password 's3cret' superuser";
    server.say(sql);
    let at = |host: &str, password: &str, query: &str| {
        format!("postgres://guest:{password}@{host}:{port}/postgres?sslmode={query}")
    };
    let roots = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/tls/root.crt");
    let full = format!("verify-full&sslrootcert={roots}");
    for url in [at("127.0.0.1", "s3cret", "require"), at("localhost", "s3cret", &full)] {
        place.run(&["status", &url]).expect(0, &["no searches"]);
    }
    let mut command = place.command(&["status", &format!("postgres://guest@127.0.0.1:{port}/postgres")]);
    assert!(command.env("PGPASSWORD", "s3cret").output().unwrap().status.success());
    // The server's certificate is not of the system's roots.
    let unknown = place.run(&["status", &at("localhost", "s3cret", "verify-full")]);
    unknown.refused(&["certificate"]);
    assert!(!unknown.stderr.contains("s3cret"), "{}", unknown.stderr);
    for command in
        [vec!["status"], vec!["worker", "--join"], vec!["check", "p.maz", "--algorithm", "wake-up", "--on"]]
    {
        let url = at("127.0.0.1", "wr0ng", "require");
        let outcome = place.run(&[&command[..], &[&url]].concat());
        outcome.refused(&["password authentication failed for user \"guest\"", "PGPASSWORD"]);
        assert!(!outcome.stderr.contains("wr0ng"), "{}", outcome.stderr);
    }
    let plain = place.run(&["status", &at("127.0.0.1", "s3cret", "disable")]);
    plain.refused(&["no encryption"]);
    assert!(!plain.stderr.contains("s3cret"), "{}", plain.stderr);
    let crew = Crew::new(&place, &at("localhost", "s3cret", &full), 1);
    let url = at("127.0.0.1", "s3cret", "require");
    place
        .run(&["check", "p.maz", "--algorithm", "wake-up", "--on", &url])
        .expect(0, &["pass", "184756 complete"]);
    drop(crew);
}
