//! Journals of checks: which search one is of, and who may write it.
//!
//! The header of a journal says what the search is: the test and which of its checks, the program that was
//! built of it, and the options that matter to what is explored. Whoever goes on has to agree in all of these; what
//! differs is told, and nothing is run. How long a check may take, on how many cores, and what is printed are of a run.
//!
//! What the closure captures, and what it reads of files and the environment, is not seen: a closure that
//! depends on these is to be checked with a journal for each.

use std::fs::{create_dir_all, metadata};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mazurka_explore::{Algorithm, Beginning, Ledger, OpenItem, Options, Order};
use mazurka_journal::{Header, Journal};
use mazurka_ledger::{Keeper, LONG, build, encoding};
use mazurka_report::{Collected, Part};

use super::test_identity::TestIdentity;
use super::{Settings, Spurious};

/// What is said of a closure whose search can't be cut into parts.
pub(super) const ALONE: &str = "a journal can't be kept of this closure: threads are given up with all that they \
                                hold, which is counted for the search as a whole; leave out the journal \
                                (Checker::journal, MAZURKA_JOURNAL)";

/// The same where others are to do it.
pub(super) const ALONE_ELSEWHERE: &str = "the search of this closure can't be shared: threads are given up with all that \
                                          they hold, which is counted for the search as a whole";

/// What a check is.
pub(super) struct Search<'a> {
    pub(super) identity: &'a TestIdentity,
    pub(super) algorithm: Algorithm,
    pub(super) options: &'a Options,
    pub(super) settings: &'a Settings,
}

/// Who keeps a search, for all who work at it: one after the other, where a thread is lost and others begin in
/// its place. It is left behind with all that it works with, and must write nothing then.
#[derive(Clone)]
pub(super) struct SharedKeeper(Arc<Mutex<State>>);

struct State {
    /// None when the check is over.
    keeper: Option<Keeper>,
    /// Whose turn it is.
    turn: u64,
}

/// Who may write a journal as long as nobody else begins.
pub(super) struct Turn {
    keeper: SharedKeeper,
    number: u64,
}

/// The journal of a search at a path: a new one, or that which is there.
pub(super) fn open(path: &Path, search: &Search<'_>, long: Option<u64>) -> Result<SharedKeeper, String> {
    search.refuse()?;
    let path = file_of(path, search.identity)?;
    let (name, long) = (path.display(), long.unwrap_or(LONG));
    let at_path = |why: String| format!("{name}: {why}");
    let header = search.header()?;
    let keeper = if metadata(&path).is_ok_and(|there| there.len() > 0 || !there.is_file()) {
        let (journal, recovered) = Journal::open(&path).map_err(|why| at_path(why.to_string()))?;
        if let Some(difference) = recovered.header.differences(&header).first() {
            return Err(at_path(what_differs(&difference.name, &recovered.header, &header)));
        }
        Keeper::go_on(journal, &recovered, long)
    } else {
        Keeper::begin(&path, &header, long)
    };
    let state = State { keeper: Some(keeper.map_err(at_path)?), turn: 0 };
    Ok(SharedKeeper(Arc::new(Mutex::new(state))))
}

/// The file: in a directory each check has one of its own.
fn file_of(path: &Path, identity: &TestIdentity) -> Result<PathBuf, String> {
    let is_directory = path.is_dir() || path.as_os_str().to_string_lossy().ends_with('/');
    if !is_directory {
        return Ok(path.to_owned());
    }
    create_dir_all(path)
        .map_err(|error| format!("{}: the directory can't be made: {error}", path.display()))?;
    let plain = |c: char| if c.is_alphanumeric() || "._-".contains(c) { c } else { '_' };
    let mut name: String = identity.full_name().replace("::", ".").chars().map(plain).collect();
    if identity.number() > 1 {
        name += &format!("-{}", identity.number());
    }
    Ok(path.join(name + ".journal"))
}

/// Why a search can't be cut into parts that are kept.
enum Obstacle {
    None,
    Algorithm(Algorithm),
    Kind(&'static str),
}

impl Search<'_> {
    /// Complains of what can't be kept.
    fn refuse(&self) -> Result<(), String> {
        let why = match self.obstacle() {
            Obstacle::None => return Ok(()),
            Obstacle::Algorithm(other) => format!("a journal can be kept by wake-up only, not by {other}"),
            Obstacle::Kind(what) => format!("a journal can't be kept of {what}"),
        };
        Err(format!("{why}; leave that out, or the journal (Checker::journal, MAZURKA_JOURNAL)"))
    }

    /// Complains of what others can't do.
    pub(super) fn refuse_elsewhere(&self) -> Result<(), String> {
        match self.obstacle() {
            Obstacle::None => Ok(()),
            Obstacle::Algorithm(other) => Err(format!(
                "a search can be shared by wake-up only, not by {other}, which the test asks for"
            )),
            Obstacle::Kind(what) => Err(format!("{what}, as the test asks for, can't be shared")),
        }
    }

    /// Why it can't be cut into parts that are kept.
    fn obstacle(&self) -> Obstacle {
        match self.algorithm {
            Algorithm::WakeUp if self.settings.leaks => Obstacle::Kind("a search for leaks"),
            Algorithm::WakeUp if self.options.limits.executions.is_some() => {
                Obstacle::Kind("a search of so many executions")
            }
            Algorithm::WakeUp => Obstacle::None,
            other => Obstacle::Algorithm(other),
        }
    }

    /// What the search is.
    pub(super) fn header(&self) -> Result<Header, String> {
        let Search { identity, options, settings, .. } = self;
        let Spurious { wakeups, polls, failures } = settings.spurious;
        let yes = |on: bool| if on { "yes" } else { "no" };
        let memory = options.limits.memory.map_or("none".to_owned(), |most| most.to_string());
        let seed = match options.order {
            Order::Natural => "none".to_owned(),
            Order::Shuffled(seed) => seed.to_string(),
        };
        Ok(Header::new()
            .with(TEST, identity.full_name())
            .with("version", env!("CARGO_PKG_VERSION"))
            .with("items", encoding::FORMAT)
            .with(BINARY, binary()?)
            .with(NUMBER, identity.number().to_string())
            .with(PLACE, identity.place())
            .with("keep_going", yes(options.keep_going))
            .with("max_depth", options.limits.depth.to_string())
            .with(MAX_UNROLL, options.limits.unroll.to_string())
            .with("max_memory", memory)
            .with(SEED, seed)
            .with("stack_size", settings.stack_size.to_string())
            .with(SPURIOUS[0], yes(wakeups))
            .with(SPURIOUS[1], yes(polls))
            .with(SPURIOUS[2], yes(failures))
            .with("parts", format!("{:?}", options.items)))
    }
}

const TEST: &str = "test";
const BINARY: &str = "binary";
const NUMBER: &str = "number";
const PLACE: &str = "place";
const MAX_UNROLL: &str = "max_unroll";
const SEED: &str = "seed";
const SPURIOUS: [&str; 3] = ["spurious_wakeups", "spurious_polls", "spurious_failures"];

/// Has a search be as the one of a header in all that the environment of a process may decide.
pub(super) fn adopt(header: &Header, options: &mut Options, spurious: &mut Spurious) {
    let seed = header.get(SEED).and_then(|seed| seed.parse().ok());
    options.order = seed.map_or(Order::Natural, Order::Shuffled);
    let unroll = header.get(MAX_UNROLL).and_then(|rounds| rounds.parse().ok());
    options.limits.unroll = unroll.unwrap_or(options.limits.unroll);
    let [wakeups, polls, failures] = SPURIOUS.map(|name| header.get(name) == Some("yes"));
    *spurious = Spurious { wakeups, polls, failures };
}

/// In what the search that others are at differs from the one of this process, if it does.
pub(super) fn what_is_other(theirs: &Header, ours: &Header) -> Option<String> {
    let difference = theirs.differences(ours).into_iter().next()?;
    let value = |header: &Header, field: &str| header.get(field).unwrap_or("nothing").to_owned();
    let (was, is) = (value(theirs, &difference.name), value(ours, &difference.name));
    Some(match &*difference.name {
        TEST => format!("it is of the test {was}, and this worker has the test {is}"),
        NUMBER | PLACE => format!(
            "it is of the check at {}, and the first check of the test is here at {}",
            value(theirs, PLACE),
            value(ours, PLACE)
        ),
        BINARY => {
            format!(
                "the program of its test ({was}) is not that of this worker ({is}): it was changed, or built otherwise"
            )
        }
        field => format!("it was begun with {field} {was}, and this worker has {is}"),
    })
}

/// In what a search differs from the one that was begun, and what to do.
fn what_differs(field: &str, then: &Header, now: &Header) -> String {
    let value = |header: &Header, field| header.get(field).unwrap_or_default().to_owned();
    let (was, is) = (value(then, field), value(now, field));
    let remedy = "remove it, or name another, to begin again";
    let Some(test) = then.get(TEST) else {
        return "this is the journal of a search by the command mazurka: mazurka resume goes on with it"
            .to_owned();
    };
    match field {
        TEST => format!(
            "this is the journal of the test {test}, and not of {is}; a directory (MAZURKA_JOURNAL=journals/) has a file \
             for each test"
        ),
        NUMBER | PLACE => format!(
            "this is the journal of another check of the test {test}: of number {}, at {}, and this is number {}, at {}; \
             a directory (MAZURKA_JOURNAL=journals/) has a file for each",
            value(then, NUMBER),
            value(then, PLACE),
            value(now, NUMBER),
            value(now, PLACE)
        ),
        BINARY => format!(
            "the program of the test is not the one with which the search was begun: it was changed, or built otherwise; \
             {remedy}"
        ),
        _ => format!("the search was begun with {field} {was}, and this is {is}; {remedy}"),
    }
}

/// The program of the operating system that the test is part of.
fn binary() -> Result<String, String> {
    build::of_this_process().map_err(|error| {
        format!("the program of the test can't be read, so that nobody can say what is searched: {error}")
    })
}

impl SharedKeeper {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins to work at what is left. Whoever did so before can write nothing from now on.
    pub(super) fn take_turn(&self) -> Result<(Turn, Beginning<Collected>), String> {
        let mut state = self.state();
        state.turn += 1;
        let before = state.keeper.as_ref().ok_or(OVER)?.beginning()?;
        Ok((Turn { keeper: self.clone(), number: state.turn }, before))
    }

    /// The check is over.
    pub(super) fn close(&self) {
        self.state().keeper = None;
    }
}

/// What is said to who was left behind.
const OVER: &str = "the check is over";

impl Turn {
    fn write(&self, write: impl FnOnce(&mut Keeper) -> Result<(), String>) -> Result<(), String> {
        let mut state = self.keeper.state();
        let is_ours = state.turn == self.number;
        state.keeper.as_mut().filter(|_| is_ours).ok_or(OVER.to_owned()).and_then(write)
    }
}

impl Ledger<Collected> for Turn {
    fn commit(&mut self, done: &Part, left: &[OpenItem]) -> Result<(), String> {
        self.write(|keeper| keeper.commit(done, left))
    }

    fn begin_again(&mut self, found_in: Option<&OpenItem>) -> Result<(), String> {
        self.write(|keeper| keeper.begin_again(found_in))
    }
}
