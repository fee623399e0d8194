//! Hands a search to workers and waits until it is over; then the rest is as if a search that was kept here
//! is gone on with.

use std::fs::File;
use std::io::{IsTerminal, Read, Seek};
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use mazurka_explore::{Beginning, Counts, NotExhaustive, OpenItem, Options, Summary};
use mazurka_fleet::{Address, Look, Remains, SearchId, Store, hash};
use mazurka_journal::Header;
use mazurka_ledger::encoding;
use mazurka_report::{Collected, Part, together};

use super::clerk::{self, Crew};
use super::evidence::Code;
use super::explorer::whole;
use super::job::{Accept, Job, find_out, options, with_machine_code};
use super::judge::Judge;
use super::test_judge::TestJudge;
use super::test_program::{Prints, TestProgram};
use super::{address, connect, wrong};
use crate::args::{CheckArgs, ResumeArgs};
use crate::attend::Allowance;
use crate::error::CommandError;
use crate::front_end::{self, AnyTarget, MachineCode};
use crate::journal::Kept;
use crate::native::Worker;
use crate::{check, interrupt, native, output};

/// How often who waits looks, at first and at last.
const FIRST_LOOK: Duration = Duration::from_millis(20);
const LAST_LOOK: Duration = Duration::from_secs(1);
/// Results are put together when there are more than so many.
const MANY_RESULTS: i64 = 20;
/// The lease of threads of the process that waits.
const LEASE: Duration = Duration::from_secs(60);
/// So long after they ended they begin again.
const AGAIN: Duration = Duration::from_secs(1);

/// What is said of what came back and can't be read.
pub const DAMAGED: &str =
    "what came of the search can't be read: the database has something else than was put into it";

/// What is said where something of it is not there any more.
const MISSING: &str =
    "something is missing of what came of the search: somebody took it out of the database; check it again";

/// A search that was done elsewhere.
pub struct Elsewhere {
    store: Store,
    search: SearchId,
    begun: Instant,
    is_over: bool,
}

impl Elsewhere {
    /// How long it was waited for.
    pub fn seconds(&self) -> f64 {
        self.begun.elapsed().as_secs_f64()
    }

    /// It was reported: nobody needs to take it up again.
    pub fn told(mut self) -> Result<(), CommandError> {
        if self.is_over {
            self.store.reported(self.search).map_err(wrong)?;
            self.store.sweep().map_err(wrong)?;
        }
        Ok(())
    }
}

/// Hands a search over, or takes up the one of the same program that is not over, and waits for it.
pub fn hand_over(
    url: &str,
    arguments: &CheckArgs,
    header: Header,
    target: &dyn AnyTarget,
    worker: Option<&Worker>,
) -> Result<(Kept, Elsewhere), CommandError> {
    let begun = Instant::now();
    let address = address(url)?;
    let options = options(target, arguments);
    let judge = judge(target, &options);
    let mut store = connect(&address)?;
    let (header, code) = match target.machine_code() {
        None => (header, None),
        Some(code) => {
            with_machine_code(header, code).map(|(header, hash, bytes)| (header, Some((hash, bytes))))?
        }
    };
    if let Some((hash, bytes)) = code {
        store.put_blob(&hash, &bytes).map_err(wrong)?;
    }
    let (bytes, whole) = (header.encoded(), whole().expect("the whole search can be written"));
    let title = title(arguments);
    let (search, _) = store.begin(&hash(&bytes), &bytes, &title, &whole).map_err(wrong)?;
    let waiter = Waiter {
        address,
        store,
        search,
        arguments,
        most: arguments.limits.timeout,
        begun,
        is_told: arguments.jobs.is_some(),
        judge,
        test: None,
        worker,
    };
    waiter.wait(header, target)
}

/// The same for a Rust test, which reports by itself; gives the exit status.
pub fn hand_over_test(url: &str, arguments: &CheckArgs) -> Result<u8, CommandError> {
    let begun = Instant::now();
    let address = address(url)?;
    let program = Arc::new(TestProgram::of(&arguments.front_end).map_err(CommandError::input)?);
    let mut store = connect(&address)?;
    let child = program.start(Prints::Here, arguments.limits.timeout).map_err(CommandError::input)?;
    let mut judge = TestJudge(child);
    let Some((header, most)) = judge.search()? else { return judge.conclude_here() };
    let whole = whole().expect("the whole search can be written");
    let (search, _) = store.begin(&hash(&header), &header, &program.title(), &whole).map_err(wrong)?;
    let waiter = Waiter {
        address,
        store,
        search,
        arguments,
        most,
        begun,
        is_told: arguments.jobs.is_some(),
        judge: None,
        test: Some((program, judge)),
        worker: None,
    };
    waiter.wait_for_test()
}

/// Who decides what counts, where that depends on what is known of the program.
fn judge<'a>(target: &'a dyn AnyTarget, options: &'a Options) -> Option<Judge<'a>> {
    let MachineCode { program, .. } = target.machine_code()?;
    Some(Judge::new(Code { target, program, options }))
}

/// `mazurka resume URL`: takes up a search by its number.
pub fn resume(arguments: &ResumeArgs, worker: Option<&Worker>) -> Result<u8, CommandError> {
    let begun = Instant::now();
    let address = address(arguments.journal.to_str().unwrap_or_default())?;
    let mut store = connect(&address)?;
    let search = which(&mut store, &address, arguments.search)?;
    let what = store.search(search).map_err(wrong)?;
    let what = what.ok_or_else(|| CommandError::input(format!("{address}: there is no search {search}")))?;
    let refuse = |why: String| CommandError::input(format!("{address}: search {search} is refused: {why}"));
    let job = Job::with(Job::header_of(&what).map_err(&refuse)?);
    if job.is_test() {
        let how = "it is of a Rust test: mazurka check --on URL -- BINARY TEST takes it up";
        return Err(refuse(how.to_owned()));
    }
    let check = job.check_arguments(arguments)?;
    if worker.is_none()
        && let Some(object) = job.fetched(&mut |hash| store.blob(hash)).map_err(&refuse)?
    {
        // It is run by a process of its own, as where it was begun.
        let allowance = Allowance { time: check.limits.timeout, memory: check.limits.memory() };
        let attend = || native::attended(&object, &allowance);
        let (status, report) = match arguments.jobs {
            Some(threads) => helped(&address.to_string(), threads, &object, attend),
            None => attend(),
        }?;
        return output::stdout(&report).map(|()| status);
    }
    let (target, options) = job.load(worker).map_err(|error| refuse(error.message().to_owned()))?;
    let (is_told, judge) = (arguments.jobs.is_some(), judge(&*target, &options));
    let (arguments, most, test) = (&check, check.limits.timeout, None);
    let waiter = Waiter { address, store, search, arguments, most, begun, is_told, judge, test, worker };
    let (kept, elsewhere) = waiter.wait(job.header().clone(), &*target)?;
    check::run_elsewhere(&check, &*target, (kept, elsewhere), worker)
}

/// Does something with threads at work at the searches in a database, among them those of this program.
pub fn helped<T>(
    url: &str,
    threads: usize,
    mut object: &File,
    work: impl FnOnce() -> Result<T, CommandError>,
) -> Result<T, CommandError> {
    let mut bytes = Vec::new();
    object.read_to_end(&mut bytes).and_then(|_| object.rewind()).map_err(CommandError::internal)?;
    let accept = Accept::own(&hash(&bytes));
    let crew = Crew { threads, accept, lease: LEASE, idle: None, talks: false };
    let (address, close) = (address(url)?, AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| keep_at_work(&address, &crew, &close));
        let done = work();
        close.store(true, Relaxed);
        done
    })
}

/// Has threads work until they are to close. Whatever ends them before is told, and they begin again: whoever waits
/// may have nobody else.
fn keep_at_work(address: &Address, crew: &Crew, close: &AtomicBool) {
    let is_to_close = || close.load(Relaxed);
    while !is_to_close() {
        let ran = catch_unwind(AssertUnwindSafe(|| clerk::run(address, crew, &is_to_close)));
        let why = match ran {
            Ok(Ok(_)) => continue,
            Ok(Err(error)) => error.message().to_owned(),
            Err(_) => "a panic, which is a bug of mazurka".to_owned(),
        };
        output::stderr(&format!("the threads of this process begin to work again, after {why}\n"));
        std::thread::sleep(AGAIN);
    }
}

/// The search that is meant.
fn which(store: &mut Store, address: &Address, given: Option<SearchId>) -> Result<SearchId, CommandError> {
    if let Some(search) = given {
        return Ok(search);
    }
    match &store.unfinished().map_err(wrong)?[..] {
        [] => Err(CommandError::input(format!("{address}: all its searches are over"))),
        [(search, _)] => Ok(*search),
        many => {
            let named: Vec<String> =
                many.iter().map(|(search, title)| format!("{search} ({title})")).collect();
            let named = named.join(", ");
            Err(CommandError::input(format!(
                "{address}: it has several searches: --search says which: {named}"
            )))
        }
    }
}

fn title(arguments: &CheckArgs) -> String {
    let params = arguments.params.iter().map(|param| format!("--param {param}"));
    let words = params.chain(arguments.front_end.iter().cloned());
    std::iter::once(front_end::name_of(&arguments.files)).chain(words).collect::<Vec<_>>().join(" ")
}

struct Waiter<'a> {
    /// Who decides what counts of machine code; none if all does.
    judge: Option<Judge<'a>>,
    /// The Rust test that is searched, if one is, and its process.
    test: Option<(Arc<TestProgram>, TestJudge)>,
    /// The process that this is, if another one is to be told what comes of it.
    worker: Option<&'a Worker>,
    address: Address,
    store: Store,
    search: SearchId,
    arguments: &'a CheckArgs,
    /// How long it is waited for.
    most: Option<Duration>,
    begun: Instant,
    /// Whether people were told what to do.
    is_told: bool,
}

/// Why nobody waits any longer.
enum Waited {
    Over,
    OutOfTime(Duration),
    Interrupted,
}

impl Waiter<'_> {
    /// Waits, with threads of its own at work if the user wants that, and takes what came of the search.
    fn wait(mut self, header: Header, target: &dyn AnyTarget) -> Result<(Kept, Elsewhere), CommandError> {
        let (waited, is_over) = self.waited()?;
        let mut remains = self.store.remains(self.search).map_err(wrong)?;
        match &self.judge {
            None => {
                let options = self.arguments.limits.options(self.arguments.keep_going);
                find_out(target, &options, &remains.found_out)?;
            }
            Some(judge) => {
                remains.parts = vec![encoding::parts(&judge.total()).map_err(CommandError::internal)?];
            }
        }
        let before = beginning(remains, &waited)?;
        let Waiter { store, search, begun, .. } = self;
        let kept = Kept { header, keeper: None, before };
        Ok((kept, Elsewhere { store, search, begun, is_over }))
    }

    /// The same for a Rust test, which makes the report; gives the exit status.
    fn wait_for_test(mut self) -> Result<u8, CommandError> {
        let (waited, is_over) = self.waited()?;
        let remains = self.store.remains(self.search).map_err(wrong)?;
        let found_out = remains.found_out.clone();
        let before = beginning(remains, &waited)?;
        let Waiter { store, search, begun, test, .. } = self;
        let (_, mut judge) = test.ok_or_else(|| CommandError::internal("there is no test"))?;
        let status = judge.conclude(found_out, before, begun.elapsed())?;
        Elsewhere { store, search, begun, is_over }.told()?;
        Ok(status)
    }

    /// Waits; why that ended, and whether the search is over.
    fn waited(&mut self) -> Result<(Waited, bool), CommandError> {
        self.store.set_aside(self.search, false).map_err(wrong)?;
        let waited = match self.arguments.jobs.filter(|_| self.judge.is_none()) {
            None => self.until_over(&AtomicBool::new(false))?,
            // Of machine code these are threads of another process.
            Some(threads) => self.working(threads)?,
        };
        let is_over = matches!(waited, Waited::Over);
        if !is_over {
            // Nobody waits for it, so nobody needs to work at it. Who asks for the same program takes it up.
            self.store.set_aside(self.search, true).map_err(wrong)?;
        }
        Ok((waited, is_over))
    }

    fn working(&mut self, threads: usize) -> Result<Waited, CommandError> {
        let accept = match &self.test {
            Some((program, _)) => Accept::of(&[])?.only(program.clone()),
            None => Accept::of(&[])?,
        };
        let crew = Crew { threads, accept, lease: LEASE, idle: None, talks: false };
        let (close, failed) = (AtomicBool::new(false), AtomicBool::new(false));
        let address = self.address.clone();
        std::thread::scope(|scope| {
            let work = scope.spawn(|| {
                let ran =
                    catch_unwind(AssertUnwindSafe(|| clerk::run(&address, &crew, &|| close.load(Relaxed))));
                let result =
                    ran.unwrap_or_else(|_| Err(CommandError::internal("a thread of a worker panicked")));
                failed.store(result.is_err(), Relaxed);
                result
            });
            let waited = self.until_over(&failed);
            close.store(true, Relaxed);
            let worked =
                work.join().unwrap_or_else(|_| Err(CommandError::internal("a thread of a worker panicked")));
            worked.and(waited)
        })
    }

    /// Looks now and then, until the search is over or nobody wants to wait any longer.
    fn until_over(&mut self, is_alone: &AtomicBool) -> Result<Waited, CommandError> {
        let _interruptible = interrupt::listen();
        let (mut progress, mut pause, mut share) = (output::progress(), FIRST_LOOK, 0_f64);
        let mut generation = 0;
        loop {
            if self.worker.is_some_and(Worker::is_orphan) {
                // As if this process had been killed, too.
                return Err(CommandError::input("the command that waited is gone"));
            }
            let look = self.store.look(self.search).map_err(wrong)?;
            let gone = || CommandError::input(format!("{}: search {} is gone", self.address, self.search));
            let look = look.ok_or_else(gone)?;
            if look.state == "cancelled" {
                let (address, search) = (&self.address, self.search);
                let why = format!("{address}: search {search} was cancelled: there is no verdict");
                return Err(CommandError::input(why));
            }
            if let Some(judge) = &mut self.judge {
                judge.look(&mut self.store, self.search, look.generation)?;
            }
            // What came after its end may still have it begin again, until it is said to be done.
            if look.ready + look.held == 0
                && self.is_at_end(look.generation)?
                && self.store.finish(self.search, look.generation).map_err(wrong)?
            {
                return Ok(Waited::Over);
            }
            if look.state == "paused" {
                // Another who waited for it went away.
                self.store.set_aside(self.search, false).map_err(wrong)?;
            }
            self.hint(&look);
            // Sums of shares in another order may differ by a hair.
            share = share.max(look.share);
            if let Some(progress) = &mut progress {
                let counts = Counts { complete: look.executions.max(0) as u64, ..Counts::default() };
                progress.update(&counts, share);
            }
            if let Some(most) = self.most
                && self.begun.elapsed() >= most
            {
                return Ok(Waited::OutOfTime(most));
            }
            if interrupt::asked().is_break() || is_alone.load(Relaxed) {
                return Ok(Waited::Interrupted);
            }
            if look.results > MANY_RESULTS && self.judge.is_none() {
                self.store.put_together(self.search, look.generation, &all_together).map_err(wrong)?;
            }
            if std::mem::replace(&mut generation, look.generation) != look.generation {
                pause = FIRST_LOOK;
            }
            self.sleep(pause, is_alone);
            pause = (pause * 3 / 2).min(LAST_LOOK);
        }
    }

    /// Whether nothing is left to do is the end of the search.
    fn is_at_end(&mut self, generation: i32) -> Result<bool, CommandError> {
        match (&mut self.judge, &mut self.test) {
            (Some(judge), _) => judge.is_over(&mut self.store, self.search, generation),
            (None, Some((_, judge))) => judge.is_over(&mut self.store, self.search, generation),
            (None, None) => Ok(true),
        }
    }

    /// Tells people what they may have forgotten.
    fn hint(&mut self, look: &Look) {
        let is_told = std::mem::replace(&mut self.is_told, true);
        if !is_told && look.threads == 0 && !output::quiet() && std::io::stderr().is_terminal() {
            let (search, address) = (self.search, &self.address);
            let told = match (&self.judge, &self.test) {
                (Some(_), _) => " --accept any-of-this-user".to_owned(),
                (None, Some((program, _))) => format!(" -- {}", program.words()),
                (None, None) => String::new(),
            };
            output::stderr(&format!(
                "search {search} waits for workers: mazurka worker --join '{address}'{told} on any machine\n"
            ));
        }
    }

    /// Sleeps, unless somebody asks for an end or the time is up.
    fn sleep(&self, pause: Duration, is_alone: &AtomicBool) {
        let until = Instant::now() + pause;
        let is_up = || self.most.is_some_and(|most| self.begun.elapsed() >= most);
        while let Some(left) = until.checked_duration_since(Instant::now())
            && interrupt::asked() == ControlFlow::Continue(())
            && !is_up()
            && !is_alone.load(Relaxed)
        {
            std::thread::sleep(left.min(Duration::from_millis(20)));
        }
    }
}

/// Several results as one.
fn all_together(results: Vec<Vec<u8>>) -> Option<Vec<u8>> {
    let parts = results.iter().map(|bytes| encoding::read_parts(bytes)).collect::<Option<Vec<_>>>()?;
    encoding::parts(&together(parts.into_iter().flatten())).ok()
}

/// What is gone on with here: what workers found, and the item that ends the search.
fn beginning(remains: Remains, waited: &Waited) -> Result<Beginning<Collected>, CommandError> {
    let damaged = || CommandError::input(DAMAGED);
    let mut done: Vec<Part> = Vec::new();
    for bytes in &remains.parts {
        done.extend(encoding::read_parts(bytes).ok_or_else(damaged)?);
    }
    for bytes in &remains.given_up {
        let items = encoding::read_open_items(bytes).ok_or_else(damaged)?;
        let missed =
            |item: &OpenItem| Part { share: item.share, ..not_looked_at(item.place.clone(), given_up(item)) };
        done.extend(items.iter().map(missed));
    }
    if matches!(waited, Waited::Over) && remains.end.is_none() && !is_all(&done) {
        return Err(CommandError::input(MISSING));
    }
    // Of several reasons why not everything was looked at the first one is told.
    done.sort_by(|one, other| one.place.cmp(&other.place));
    let last = vec![u32::MAX; 1];
    match waited {
        Waited::Over => {}
        Waited::OutOfTime(most) => done.push(not_looked_at(last, NotExhaustive::Time(*most))),
        Waited::Interrupted => {
            let why = "the search was interrupted; it can be taken up again".to_owned();
            done.push(not_looked_at(last, NotExhaustive::Program(why)));
        }
    }
    let open = match remains.end.filter(|_| matches!(waited, Waited::Over)) {
        Some(bytes) => encoding::read_open_items(&bytes).ok_or_else(damaged)?,
        None => Vec::new(),
    };
    Ok(Beginning { found_out: Vec::new(), open, done })
}

/// Whether parts are all of a search: their shares are 1, but for what is lost by rounding.
fn is_all(parts: &[Part]) -> bool {
    (parts.iter().map(|part| part.share).sum::<f64>() - 1.0).abs() < 1e-6
}

/// What nobody could explore.
fn given_up(item: &OpenItem) -> NotExhaustive {
    let schedule = item.item.schedules.last().map(ToString::to_string).unwrap_or_default();
    NotExhaustive::Program(format!(
        "a part of the search was given up: {} workers that were at it did not finish it; it begins with the schedule \
         {schedule}",
        mazurka_fleet::TRIES
    ))
}

fn not_looked_at(place: Vec<u32>, why: NotExhaustive) -> Part {
    let counts = Counts::default();
    let summary = Summary { counts, not_exhaustive: Some(why), broken: None, note: None };
    Part { place, share: 0.0, summary, monitor: Collected::default(), learned: Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(place: &[u32], share: f64) -> Vec<u8> {
        let summary = Summary { counts: Counts::default(), not_exhaustive: None, broken: None, note: None };
        let part =
            Part { place: place.to_vec(), share, summary, monitor: Collected::default(), learned: vec![] };
        encoding::parts([&part]).unwrap()
    }

    #[test]
    fn what_is_missing_is_noticed() {
        let remains = |parts: &[Vec<u8>]| Remains { parts: parts.to_vec(), ..Remains::default() };
        let whole = [part(&[], 0.25), part(&[0], 0.5), part(&[1], 0.25)];
        assert_eq!(beginning(remains(&whole), &Waited::Over).unwrap().done.len(), 3);
        for some in [&whole[..0], &whole[..2], &whole[1..]] {
            let wrong = beginning(remains(some), &Waited::Over).unwrap_err();
            assert_eq!(wrong.message(), MISSING);
        }
        // Who did not wait to the end has not all, and says so.
        let early = beginning(remains(&whole[..2]), &Waited::OutOfTime(LEASE)).unwrap();
        assert_eq!(early.done.last().unwrap().summary.not_exhaustive, Some(NotExhaustive::Time(LEASE)));
        let open = Beginning::<Collected>::whole().open;
        let given_up = Remains { given_up: vec![encoding::open_items(&open).unwrap()], ..Remains::default() };
        let done = beginning(given_up, &Waited::Over).unwrap().done;
        let why = done[0].summary.not_exhaustive.as_ref().unwrap().to_string();
        assert!(why.ends_with("it begins with the schedule v1:"), "{why}");
        let damaged = beginning(remains(&[b"{}".to_vec()]), &Waited::Over).unwrap_err();
        assert_eq!(damaged.message(), DAMAGED);
    }
}
