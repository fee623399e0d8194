//! A search as a worker gets it, and whether it is to be worked at.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use mazurka_constraints::Solver;
use mazurka_explore::{Algorithm, ItemSizes, OpenItem, Options, StretchEnd};
use mazurka_fleet::{Search, StoreError, hash};
use mazurka_journal::Header;
use mazurka_ledger::encoding;
use mazurka_native::isolation::file_in_memory;

use super::child::Child;
use super::test_program::{Prints, TestProgram};
use crate::args::{CheckArgs, ResumeArgs, TalkArgs};
use crate::error::CommandError;
use crate::front_end::{AnyTarget, FRONT_ENDS, FrontEnd, Loaded, MachineCode, Request};
use crate::machine_code::OBJECT;
use crate::native::Worker;
use crate::{journal, machine_code};
use mazurka_ledger::protocol::{Answer, Ask};

/// The field of the header that a search of a Rust test has.
const TEST: &str = "test";

/// The word for searches that the worker's own user of the database has begun.
const OURS: &str = "any-of-this-user";

/// What is said of a program that can't be loaded, and how often that is tried.
const DIES: &str = "the process in which its program is loaded dies";
const MOST_STARTS: u32 = 5;

/// Which searches a worker is to work at.
#[derive(Clone, Debug)]
pub struct Accept {
    /// What the user said; none if nothing.
    words: Option<Vec<String>>,
    /// The machine code that is run whatever was said: that of this process's own program.
    own: Option<String>,
    /// The Rust test that is run, and nothing else, if there is one.
    test: Option<Arc<TestProgram>>,
}

impl Accept {
    /// From what the user said: nothing said is all but machine code. What is run otherwise is text that is
    /// interpreted, which can do nothing to the machine but use its time and memory.
    pub fn of(words: &[String]) -> Result<Accept, CommandError> {
        let is_hash =
            |word: &str| word.len() >= 8 && word.len() <= 64 && word.chars().all(|c| c.is_ascii_hexdigit());
        match words.iter().find(|word| !is_hash(word) && *word != OURS) {
            Some(word) => Err(CommandError::input(format!(
                "--accept {word}: expected a hash, or its first 8 digits or more, as mazurka status tells it, or {OURS}"
            ))),
            None if words.is_empty() => Ok(Accept { words: None, own: None, test: None }),
            None => {
                let words = words.iter().map(|word| word.to_lowercase()).collect();
                Ok(Accept { words: Some(words), own: None, test: None })
            }
        }
    }

    /// All but machine code, and that of this object.
    pub fn own(object: &str) -> Accept {
        Accept { words: None, own: Some(object.to_owned()), test: None }
    }

    /// Of those only the ones of a Rust test.
    pub fn only(self, test: Arc<TestProgram>) -> Accept {
        Accept { test: Some(test), ..self }
    }

    /// The test that a search is of, if it is of one.
    fn test_of(&self, header: &Header) -> Result<Option<Arc<TestProgram>>, String> {
        match (header.get(TEST), &self.test) {
            (Some(_), Some(ours)) => Ok(Some(ours.clone())),
            (Some(theirs), None) => Err(format!(
                "it is of the Rust test {theirs}, which is run by workers that are told its program: mazurka worker --join URL \
                 -- BINARY TEST"
            )),
            (None, Some(ours)) => {
                Err(format!("it is not of the Rust test {}, for which this worker is", ours.name()))
            }
            (None, None) => Ok(None),
        }
    }

    /// Complains of a search that is not to be worked at, by what is searched if that is machine code.
    fn refuse(&self, search: &Search, object: Option<&str>) -> Result<(), String> {
        let Search { hash, is_ours, .. } = search;
        match (&self.words, object) {
            (Some(words), _) => {
                let is_meant =
                    |word: &String| if word == OURS { *is_ours } else { hash.starts_with(word.as_str()) };
                let why = || format!("its hash is {hash}, which is not among those of --accept");
                words.iter().any(is_meant).then_some(()).ok_or_else(why)
            }
            (None, Some(object)) if self.own.as_deref() != Some(object) => Err(format!(
                "it is machine code, which is run only where that is asked for: --accept {}, or --accept {OURS}",
                hash.get(..12).unwrap_or(hash)
            )),
            _ => Ok(()),
        }
    }
}

/// A search that can be worked at.
#[derive(Clone, Debug)]
pub struct Job {
    header: Header,
    /// The program, if it runs in a process of its own.
    apart: Option<Apart>,
}

/// A program that runs in a process of its own.
#[derive(Clone, Debug)]
enum Apart {
    Code(Arc<File>),
    Test(Arc<TestProgram>),
}

/// Where programs are that searches name by their hashes.
pub type Fetch<'a> = &'a mut dyn FnMut(&str) -> Result<Option<Vec<u8>>, StoreError>;

impl Job {
    /// A search, if it is to be worked at, and can be; else why not.
    pub fn of(search: &Search, accept: &Accept, fetch: Fetch<'_>) -> Result<Job, String> {
        let header = Job::header_of(search)?;
        accept.refuse(search, header.get(OBJECT))?;
        let test = accept.test_of(&header)?;
        let mut job = Job::with(header);
        job.apart = match test {
            Some(test) => Some(Apart::Test(test)),
            None => job.fetched(fetch)?.map(Apart::Code),
        };
        // What is wrong with it is told once, and not by each thread.
        for attempt in 1.. {
            match job.start() {
                None => job.load(None).map(drop).map_err(|error| error.message().to_owned())?,
                // Somebody may have killed it, which says nothing of the search.
                Some(Err(why)) if why == DIES && attempt < MOST_STARTS => continue,
                Some(child) => drop(child?),
            }
            break;
        }
        Ok(job)
    }

    /// One that is told in this way.
    pub fn with(header: Header) -> Job {
        Job { header, apart: None }
    }

    /// Whether its program runs in a process of its own.
    pub fn is_apart(&self) -> bool {
        self.is_test() || self.header.get(OBJECT).is_some()
    }

    /// Whether it is of a Rust test.
    pub fn is_test(&self) -> bool {
        self.header.get(TEST).is_some()
    }

    /// What a search says of itself, if that is of a version that can be read.
    pub fn header_of(search: &Search) -> Result<Header, String> {
        if hash(&search.header) != search.hash {
            return Err("its hash is not that of what it says; somebody changed it".to_owned());
        }
        let unknown = || "it is of another version of mazurka, and can't be read".to_owned();
        let header = Header::decoded(&search.header).ok_or_else(unknown)?;
        let (theirs, ours) = (header.get("version").ok_or_else(unknown)?, env!("CARGO_PKG_VERSION"));
        if theirs != ours {
            return Err(format!("it was begun by mazurka {theirs}, and this is {ours}"));
        }
        journal::refuse_other_build(&header)?;
        if header.get("items") != Some(encoding::FORMAT) {
            return Err("its items are written as another build of mazurka writes them".to_owned());
        }
        Ok(header)
    }

    /// The program, from where it is kept, if it is machine code.
    pub fn fetched(&self, fetch: Fetch<'_>) -> Result<Option<Arc<File>>, String> {
        let Some(hash) = self.header.get(OBJECT) else { return Ok(None) };
        let bytes = fetch(hash).map_err(|error| error.to_string())?;
        let bytes = bytes.ok_or("its program is not in the database, or is something else by now")?;
        let file =
            file_in_memory(&bytes).map_err(|error| format!("there is no room for its program: {error}"))?;
        Ok(Some(Arc::new(file)))
    }

    /// A process that has loaded the program, if it runs in one.
    pub fn start(&self) -> Option<Result<Child, String>> {
        let apart = self.apart.as_ref()?;
        let start = || {
            let mut child = match apart {
                Apart::Code(object) => {
                    Child::start(object).map_err(|error| format!("no process can be started: {error}"))?
                }
                Apart::Test(test) => test.start(Prints::Nowhere, None)?,
            };
            match child.ask(&Ask::Load(self.header.encoded()), &|| true) {
                Some(Answer::Ready) => Ok(child),
                Some(Answer::Refused(why)) => Err(why),
                _ => Err(DIES.to_owned()),
            }
        };
        Some(start())
    }

    /// What it is.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// How it is to be checked, with what is of a run.
    pub fn check_arguments(&self, run: &ResumeArgs) -> Result<CheckArgs, CommandError> {
        let damaged =
            || CommandError::input("the search can't be read: its header has not all that it should have");
        journal::check_arguments(run, &self.header).ok_or_else(damaged)
    }

    /// The program, from the texts that came with the search, or from the object of a process that is to run
    /// it; and how it is searched.
    pub fn load(&self, worker: Option<&Worker>) -> Result<(Box<dyn AnyTarget>, Options), CommandError> {
        let arguments = self.check_arguments(&nothing_of_a_run())?;
        let is_machine_code = self.header.get(OBJECT).is_some();
        let front_end = front_end(&arguments.files, is_machine_code)?;
        let request = Request {
            files: &arguments.files,
            options: &arguments.front_end,
            algorithms: &[Algorithm::WakeUp],
            limits: &arguments.limits,
            worker,
            texts: Some(&self.header),
            helps: None,
            solver: Solver::default(),
        };
        let Loaded::Here(target) = front_end.load(&request)? else {
            return Err(CommandError::unsupported("this kind of program can't be run by a worker"));
        };
        super::refuse_stories(&target.executions())?;
        if let Some(code) = target.machine_code() {
            machine_code::refuse_elsewhere(&self.header, code.program)?;
        }
        let options = options(&*target, &arguments);
        Ok((target, options))
    }

    /// The same, knowing what was found out before.
    pub fn load_knowing(&self, found_out: &[Vec<u8>]) -> Result<(Box<dyn AnyTarget>, Options), CommandError> {
        let (target, options) = self.load(None)?;
        find_out(&*target, &options, found_out)?;
        Ok((target, options))
    }
}

/// Has a program know what others found out: it finds it out again, in the items in which they did, and in
/// their order.
pub fn find_out(
    target: &dyn AnyTarget,
    options: &Options,
    found_out: &[Vec<u8>],
) -> Result<(), CommandError> {
    for evidence in found_out {
        let items: Option<Vec<OpenItem>> = encoding::read_open_items(evidence);
        let end = items
            .map(|items| target.check_stretch(options, items, &mut || true, &AtomicBool::new(false)).end);
        if !matches!(end, Some(StretchEnd::FoundOut(_))) {
            return Err(CommandError::input(
                "what another machine found out about the program was not found out here: the program did not do again \
                 what it had done",
            ));
        }
    }
    Ok(())
}

/// The header of a search of machine code: the same with the program. Gives the program too, and its hash.
pub fn with_machine_code(
    header: Header,
    code: MachineCode<'_>,
) -> Result<(Header, String, Vec<u8>), CommandError> {
    let bytes = std::fs::read(code.object).map_err(CommandError::internal)?;
    let object = hash(&bytes);
    Ok((machine_code::told(header, code.program, &object), object, bytes))
}

/// How a program is searched by workers. What a search may take of time is the affair of who waits for it.
pub fn options(target: &dyn AnyTarget, arguments: &CheckArgs) -> Options {
    let mut options = arguments.limits.options(arguments.keep_going);
    options.limits.time = None;
    if target.machine_code().is_some() {
        // As one machine cuts it.
        options.items = ItemSizes::OF_PROCESSES;
    }
    options
}

/// The front end of files that are not here, by their names alone.
fn front_end(files: &[PathBuf], is_machine_code: bool) -> Result<&'static dyn FrontEnd, CommandError> {
    if is_machine_code {
        let front_end = FRONT_ENDS.into_iter().find(|front_end| front_end.is_machine_code());
        return front_end.ok_or_else(|| CommandError::internal("there is no front end for machine code"));
    }
    let extension = files.first().and_then(|file| file.extension()?.to_str()).unwrap_or_default();
    let mut able = FRONT_ENDS.into_iter().filter(|front_end| front_end.can_be_resumed());
    let found = able.find(|front_end| front_end.extensions().contains(&extension));
    let known = found.filter(|front_end| files.len() == 1 || front_end.takes_several_files());
    known.ok_or_else(|| CommandError::unsupported(format!(".{extension} programs can't be run by a worker")))
}

fn nothing_of_a_run() -> ResumeArgs {
    ResumeArgs {
        journal: PathBuf::new(),
        search: None,
        json: false,
        talk: TalkArgs::default(),
        jobs: None,
        timeout: None,
        full_trace: false,
    }
}
