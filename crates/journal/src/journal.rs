//! The journal: the file and what is open.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::frame::{framed, take_frame};
use crate::record::Record;
use crate::{Header, ItemId};

/// What a journal of any format begins with; its number follows, and the end of the line.
const MAGIC: &[u8] = b"mazurka journal ";
/// The format that is written and read here.
const FORMAT: &[u8] = b"2";

/// What was written is on the disk after so long at most.
const SYNC: Duration = Duration::from_secs(1);

/// A journal that is being written. Nobody else can open it meanwhile.
pub struct Journal {
    path: PathBuf,
    file: File,
    /// How long the file is.
    length: u64,
    header: Header,
    synced: Instant,
    contents: Contents,
}

/// What the records of a journal say so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Contents {
    generation: u64,
    known: Vec<u8>,
    next: u64,
    open: BTreeMap<ItemId, Vec<u8>>,
    totals: Option<Vec<u8>>,
    results: Vec<Vec<u8>>,
}

/// What was read from a journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recovered {
    /// What the search is.
    pub header: Header,
    /// How often it has begun again.
    pub generation: u64,
    /// What was known when it began again last; nothing at first.
    pub known: Vec<u8>,
    /// What the last checkpoint said of all before it, if there was one.
    pub totals: Option<Vec<u8>>,
    /// The results of all commits since.
    pub results: Vec<Vec<u8>>,
    /// How many bytes at the end were no whole record, and have been cut off.
    pub cut: u64,
}

/// Why there is no journal.
#[derive(Debug)]
pub enum JournalError {
    /// The file can't be had: what was being done, and why not.
    Io(&'static str, io::Error),
    /// The file is something else, or was damaged where it says what it is.
    NotAJournal,
    /// The file is a journal of this other format.
    OtherFormat(String),
    /// Another process has it.
    InUse,
    /// A record would have been too long to be read again.
    TooLong,
}

impl fmt::Display for JournalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JournalError::Io(doing, error) => write!(f, "the journal can't be {doing}: {error}"),
            JournalError::NotAJournal => f.write_str("this is not a journal, or its beginning is damaged"),
            JournalError::OtherFormat(format) => write!(
                f,
                "this is a journal of format {format}, which another version of mazurka wrote; go on with that one, \
                 or begin the search again"
            ),
            JournalError::InUse => f.write_str("another process is writing this journal"),
            JournalError::TooLong => f.write_str("a record of the journal would be longer than 1 GiB"),
        }
    }
}

impl std::error::Error for JournalError {}

/// Says what was being done when something went wrong.
fn doing<T>(what: &'static str, result: io::Result<T>) -> Result<T, JournalError> {
    result.map_err(|error| JournalError::Io(what, error))
}

impl Journal {
    /// Begins a journal with the first items. A file of that name must not be there, for it may be a journal,
    /// unless it is empty. Whoever is killed meanwhile leaves an empty file or a whole one.
    ///
    /// # Errors
    /// If the file is there, or can't be written.
    pub fn create(
        path: &Path,
        header: &Header,
        generation: u64,
        items: &[Vec<u8>],
    ) -> Result<Journal, JournalError> {
        let mut options = OpenOptions::new();
        let place = doing("created", options.write(true).create(true).truncate(false).open(path))?;
        lock(&place)?;
        if !is_at(&place, path) {
            return Err(JournalError::InUse);
        }
        if doing("created", place.metadata())?.len() > 0 {
            return Err(JournalError::Io("created", io::ErrorKind::AlreadyExists.into()));
        }
        let record = Record::Beginning { generation, known: Vec::new(), items: items.to_vec() };
        let bytes = beginning(header, &record)?;
        let mut journal = Journal {
            path: path.to_owned(),
            file: replaced(path, &bytes)?,
            length: bytes.len() as u64,
            header: header.clone(),
            synced: Instant::now(),
            contents: Contents::default(),
        };
        journal.contents.apply(record);
        Ok(journal)
    }

    /// What the search of a journal is, whoever has it.
    ///
    /// # Errors
    /// If it is none, or can't be read.
    pub fn header_of(path: &Path) -> Result<Header, JournalError> {
        let bytes = doing("opened", std::fs::read(path))?;
        let mut rest = after_magic(&bytes)?;
        take_frame(&mut rest).and_then(Header::decoded).ok_or(JournalError::NotAJournal)
    }

    /// Opens a journal to go on with it.
    ///
    /// # Errors
    /// If it is none, somebody else has it, or it can't be read and written.
    pub fn open(path: &Path) -> Result<(Journal, Recovered), JournalError> {
        let mut file = doing("opened", OpenOptions::new().read(true).write(true).open(path))?;
        lock(&file)?;
        if !is_at(&file, path) {
            // It was replaced by its checkpoint since it was opened: who did that has it.
            return Err(JournalError::InUse);
        }
        let mut bytes = Vec::new();
        doing("read", file.read_to_end(&mut bytes))?;
        let mut rest = after_magic(&bytes)?;
        let header = take_frame(&mut rest).and_then(Header::decoded).ok_or(JournalError::NotAJournal)?;
        let contents = Contents::read(&mut rest);
        // A journal without any record was cut while it was begun: there is nothing to go on with.
        let contents = contents.ok_or(JournalError::NotAJournal)?;
        let cut = rest.len() as u64;
        let length = bytes.len() as u64 - cut;
        let mut journal =
            Journal { path: path.to_owned(), file, length, header, synced: Instant::now(), contents };
        journal.cut_to(length)?;
        let Contents { generation, known, totals, results, .. } = &mut journal.contents;
        let recovered = Recovered {
            header: journal.header.clone(),
            generation: *generation,
            known: known.clone(),
            totals: totals.take(),
            results: std::mem::take(results),
            cut,
        };
        Ok((journal, recovered))
    }

    /// The items that are to be done, the oldest first.
    pub fn open_items(&self) -> Vec<(ItemId, Vec<u8>)> {
        self.contents.open.iter().map(|(item, bytes)| (*item, bytes.clone())).collect()
    }

    /// How many bytes the file has.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// An item is done: what came of it, and the items that it leaves behind, whose numbers are given back.
    ///
    /// # Errors
    /// If it can't be written: the item is open then, whatever is in the file.
    ///
    /// # Panics
    /// If the item is not open.
    pub fn commit(
        &mut self,
        item: ItemId,
        result: &[u8],
        items: &[Vec<u8>],
    ) -> Result<Vec<ItemId>, JournalError> {
        assert!(self.contents.open.contains_key(&item), "an item is committed that is not open");
        let record = Record::Commit { item, result: result.to_vec(), items: items.to_vec() };
        let first = self.contents.next;
        self.add(record)?;
        Ok((first..self.contents.next).map(ItemId).collect())
    }

    /// The search begins again: what came before is void, but for what is known by now.
    ///
    /// # Errors
    /// If it can't be written.
    pub fn begin_again(
        &mut self,
        generation: u64,
        known: &[u8],
        items: &[Vec<u8>],
    ) -> Result<(), JournalError> {
        self.add(Record::Beginning { generation, known: known.to_vec(), items: items.to_vec() })
    }

    /// Makes the file short: one record in the place of all, with the totals of all commits so far.
    ///
    /// # Errors
    /// If it can't be written; the journal is as it was then.
    pub fn checkpoint(&mut self, totals: &[u8]) -> Result<(), JournalError> {
        let Contents { generation, next, .. } = self.contents;
        let (known, totals, open) = (self.contents.known.clone(), totals.to_vec(), self.open_items());
        let record = Record::Checkpoint { generation, known, next, totals, open };
        let bytes = beginning(&self.header, &record)?;
        self.file = replaced(&self.path, &bytes)?;
        self.length = bytes.len() as u64;
        Ok(())
    }

    /// Waits until all that was written is on the disk.
    ///
    /// # Errors
    /// If the disk says that it is not.
    pub fn sync(&mut self) -> Result<(), JournalError> {
        self.synced = Instant::now();
        doing("written", self.file.sync_data())
    }

    fn add(&mut self, record: Record) -> Result<(), JournalError> {
        let frame = framed(&record.encoded()).ok_or(JournalError::TooLong)?;
        self.append(&frame)?;
        self.contents.apply(record);
        // What came of commits is with whoever committed.
        self.contents.results.clear();
        if self.synced.elapsed() >= SYNC {
            self.sync()?;
        }
        Ok(())
    }

    /// Writes at the end. What was written in part is cut off again, so that nothing comes behind it.
    fn append(&mut self, bytes: &[u8]) -> Result<(), JournalError> {
        if let Err(error) = self.file.write_all(bytes) {
            let _ = self.cut_to(self.length);
            return Err(JournalError::Io("written", error));
        }
        self.length += bytes.len() as u64;
        Ok(())
    }

    fn cut_to(&mut self, length: u64) -> Result<(), JournalError> {
        doing("written", self.file.set_len(length))?;
        doing("written", self.file.seek(SeekFrom::Start(length)).map(|_| ()))
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        // Nobody is left to be told.
        let _ = self.sync();
    }
}

impl Contents {
    /// Reads records up to the first that is not whole, sound and possible. None if there is not one.
    fn read(bytes: &mut &[u8]) -> Option<Contents> {
        let mut contents = None;
        loop {
            let mut rest = *bytes;
            let Some(record) = take_frame(&mut rest).and_then(Record::decoded) else { return contents };
            let is_first = contents.is_none();
            let present = contents.get_or_insert_with(Contents::default);
            let possible = match &record {
                Record::Commit { item, .. } => present.open.contains_key(item),
                Record::Beginning { .. } => true,
                Record::Checkpoint { next, open, .. } => is_first && open.iter().all(|(id, _)| id.0 < *next),
            };
            if !possible {
                return contents.filter(|_| !is_first);
            }
            present.apply(record);
            *bytes = rest;
        }
    }

    fn apply(&mut self, record: Record) {
        match record {
            Record::Beginning { generation, known, items } => {
                *self = Contents { generation, known, next: self.next, ..Contents::default() };
                self.add_items(items);
            }
            Record::Commit { item, result, items } => {
                self.open.remove(&item);
                self.results.push(result);
                self.add_items(items);
            }
            Record::Checkpoint { generation, known, next, totals, open } => {
                let (open, totals) = (open.into_iter().collect(), Some(totals));
                *self = Contents { generation, known, next, open, totals, results: Vec::new() };
            }
        }
    }

    fn add_items(&mut self, items: Vec<Vec<u8>>) {
        for item in items {
            self.open.insert(ItemId(self.next), item);
            self.next += 1;
        }
    }
}

/// What follows the first line of a journal, which says that it is one, and of which format.
fn after_magic(bytes: &[u8]) -> Result<&[u8], JournalError> {
    let rest = bytes.strip_prefix(MAGIC).ok_or(JournalError::NotAJournal)?;
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    match rest.split_at(digits) {
        (FORMAT, [b'\n', rest @ ..]) => Ok(rest),
        (other @ [_, ..], [b'\n', ..]) => {
            Err(JournalError::OtherFormat(String::from_utf8_lossy(other).into_owned()))
        }
        _ => Err(JournalError::NotAJournal),
    }
}

/// The bytes of a file with one record.
fn beginning(header: &Header, record: &Record) -> Result<Vec<u8>, JournalError> {
    let mut bytes = [MAGIC, FORMAT, b"\n"].concat();
    for body in [header.encoded(), record.encoded()] {
        bytes.extend(framed(&body).ok_or(JournalError::TooLong)?);
    }
    Ok(bytes)
}

/// Puts a file with these bytes, which is ours, in the place of the one at a path.
fn replaced(path: &Path, bytes: &[u8]) -> Result<File, JournalError> {
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    let name = PathBuf::from(name);
    let options = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(&name);
    let mut file = doing("written", options)?;
    lock(&file)?;
    let written = file.write_all(bytes).and_then(|()| file.sync_all());
    if written.is_err() {
        // It is of no use, and takes up room.
        let _ = std::fs::remove_file(&name);
    }
    doing("written", written)?;
    doing("replaced", std::fs::rename(&name, path))?;
    sync_directory(path);
    Ok(file)
}

/// Makes the file ours. Where files can't be locked nobody is kept out.
fn lock(file: &File) -> Result<(), JournalError> {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(JournalError::InUse),
        Ok(()) | Err(TryLockError::Error(_)) => Ok(()),
    }
}

/// Whether a file is still the one at a path.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let name = |metadata: std::fs::Metadata| (metadata.dev(), metadata.ino());
    match (file.metadata(), std::fs::metadata(path)) {
        (Ok(ours), Ok(there)) => name(ours) == name(there),
        _ => false,
    }
}

/// Files that are open can't be replaced there.
#[cfg(not(unix))]
fn is_at(_: &File, _: &Path) -> bool {
    true
}

/// Has the new name of a file on the disk. Where directories can't be opened there is nothing to do.
fn sync_directory(path: &Path) {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if let Ok(directory) = File::open(parent) {
        let _ = directory.sync_all();
    }
}
