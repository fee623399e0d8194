//! Whatever becomes of the file, what is read is the journal as it was at some time.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use mazurka_journal::{Header, ItemId, Journal, JournalError, Recovered};

/// A directory of a test's own, gone in the end.
struct Directory(PathBuf);

impl Directory {
    fn new(name: &str) -> Directory {
        let path = std::env::temp_dir().join(format!("mazurka-journal-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Directory(path)
    }

    fn file(&self) -> PathBuf {
        self.0.join("search")
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// What a journal is good for: totals, and what is open.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Seen {
    generation: u64,
    known: Vec<u8>,
    total: u64,
    open: BTreeMap<ItemId, Vec<u8>>,
}

/// What is known when the search begins again.
const KNOWN: &[u8] = b"it throws";

fn header() -> Header {
    Header::new().with("program", "tree").with("version", "1")
}

/// Results are numbers, and totals their sums.
fn number(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes.try_into().unwrap())
}

fn seen(journal: &Journal, recovered: &Recovered) -> Seen {
    let before = recovered.totals.as_deref().map_or(0, number);
    let total = before + recovered.results.iter().map(|result| number(result)).sum::<u64>();
    let (generation, known) = (recovered.generation, recovered.known.clone());
    Seen { generation, known, total, open: journal.open_items().into_iter().collect() }
}

/// Writes a journal of a search, which begins again once; gives how it was after each record.
fn history(path: &Path) -> Vec<Seen> {
    let mut history = Vec::new();
    let mut journal = Journal::create(path, &header(), 0, &[vec![0; 3]]).unwrap();
    let mut total = 0;
    let mut note = |journal: &Journal, generation, total| {
        let known = if generation > 0 { KNOWN.to_vec() } else { Vec::new() };
        history.push(Seen { generation, known, total, open: journal.open_items().into_iter().collect() });
    };
    note(&journal, 0, total);
    for step in 0..12_u8 {
        if step == 5 {
            total = 0;
            journal.begin_again(1, KNOWN, &[vec![9, 9], vec![8]]).unwrap();
            note(&journal, 1, total);
        }
        let items = journal.open_items();
        let item = items[usize::from(step) % items.len()].0;
        let children: Vec<Vec<u8>> =
            (0..(step + 3) % 4).map(|child| vec![step; usize::from(child) * 40]).collect();
        let result = u64::from(step) * 1000 + 1;
        let new = journal.commit(item, &result.to_le_bytes(), &children).unwrap();
        assert_eq!(new.len(), children.len());
        total += result;
        note(&journal, u64::from(step >= 5), total);
    }
    history
}

#[test]
fn a_file_that_is_cut_anywhere_is_an_earlier_one() {
    let directory = Directory::new("cut");
    let path = directory.file();
    let history = history(&path);
    let whole = fs::read(&path).unwrap();
    let mut met = Vec::new();
    for length in 0..=whole.len() {
        fs::write(&path, &whole[..length]).unwrap();
        match Journal::open(&path) {
            Err(JournalError::NotAJournal) => assert!(met.is_empty(), "at {length}"),
            Err(error) => panic!("{error}"),
            Ok((journal, recovered)) => {
                assert_eq!(recovered.header, header());
                let now = seen(&journal, &recovered);
                assert_eq!(fs::metadata(&path).unwrap().len(), length as u64 - recovered.cut);
                if met.last() != Some(&now) {
                    met.push(now);
                }
            }
        }
    }
    assert_eq!(met, history);
}

#[test]
fn a_damaged_byte_makes_it_an_earlier_one_or_none() {
    let directory = Directory::new("damaged");
    let path = directory.file();
    let history = history(&path);
    let whole = fs::read(&path).unwrap();
    for at in 0..whole.len() {
        for damage in [0x01, 0x80, 0xff] {
            let mut bytes = whole.clone();
            bytes[at] ^= damage;
            fs::write(&path, &bytes).unwrap();
            match Journal::open(&path) {
                Err(JournalError::NotAJournal | JournalError::OtherFormat(_)) => {}
                Err(error) => panic!("{error}"),
                Ok((journal, recovered)) => {
                    let now = seen(&journal, &recovered);
                    assert!(history[..history.len() - 1].contains(&now), "{at}: {now:?}");
                    assert!(recovered.cut > 0);
                }
            }
        }
    }
}

#[test]
fn what_goes_on_from_a_cut_file_ends_as_the_rest_would_have() {
    let directory = Directory::new("goes-on");
    let path = directory.file();
    history(&path);
    let whole = fs::read(&path).unwrap();
    for length in (0..whole.len()).rev().step_by(7) {
        fs::write(&path, &whole[..length]).unwrap();
        let Ok((mut journal, _)) = Journal::open(&path) else { continue };
        for (item, _) in journal.open_items() {
            assert_eq!(journal.commit(item, &1_u64.to_le_bytes(), &[]).unwrap(), []);
        }
        drop(journal);
        let (journal, recovered) = Journal::open(&path).unwrap();
        assert_eq!((recovered.cut, journal.open_items()), (0, Vec::new()));
    }
}

#[test]
fn a_checkpoint_says_the_same_in_fewer_bytes() {
    let directory = Directory::new("checkpoint");
    let path = directory.file();
    let last = history(&path).pop().unwrap();
    let (mut journal, recovered) = Journal::open(&path).unwrap();
    let (before, total) = (journal.length(), seen(&journal, &recovered).total);
    journal.checkpoint(&total.to_le_bytes()).unwrap();
    assert!(journal.length() < before);
    // Nobody else can have it while it is written, by its old name or the new one.
    assert!(matches!(Journal::open(&path), Err(JournalError::InUse)));
    let item = journal.open_items()[0].0;
    let new = journal.commit(item, &7_u64.to_le_bytes(), &[vec![1]]).unwrap();
    assert!(last.open.keys().all(|old| new[0] > *old), "numbers are not given twice");
    drop(journal);
    let (journal, recovered) = Journal::open(&path).unwrap();
    let now = seen(&journal, &recovered);
    assert_eq!((now.total, now.generation), (last.total + 7, last.generation));
    assert_eq!((&now.known, &last.known[..]), (&last.known, KNOWN));
    assert_eq!(now.open.len(), last.open.len());
    assert_eq!(fs::metadata(&path).unwrap().len(), journal.length());
}

#[test]
fn a_file_that_is_there_is_not_written_over() {
    let directory = Directory::new("there");
    let path = directory.file();
    fs::write(&path, "something else").unwrap();
    let error = Journal::create(&path, &header(), 0, &[]).err().unwrap();
    assert!(error.to_string().starts_with("the journal can't be created: "), "{error}");
    assert!(matches!(Journal::open(&path), Err(JournalError::NotAJournal)));
    assert_eq!(fs::read(&path).unwrap(), b"something else");
    // Somebody who was killed before anything was written is in nobody's way.
    fs::write(&path, "").unwrap();
    let journal = Journal::create(&path, &header(), 0, &[b"root".to_vec()]).unwrap();
    assert!(matches!(Journal::open(&path), Err(JournalError::InUse)));
    assert!(matches!(Journal::create(&path, &header(), 0, &[]), Err(JournalError::InUse)));
    drop(journal);
    assert_eq!(Journal::open(&path).unwrap().0.open_items().len(), 1);
    let error = Journal::open(&directory.0.join("nothing")).err().unwrap();
    assert!(error.to_string().starts_with("the journal can't be opened: "), "{error}");
}

#[test]
fn a_journal_of_another_format_is_refused_by_that() {
    let directory = Directory::new("format");
    let path = directory.file();
    drop(Journal::create(&path, &header(), 0, &[b"root".to_vec()]).unwrap());
    let whole = fs::read(&path).unwrap();
    let (first, rest) = whole.split_at(whole.iter().position(|byte| *byte == b'\n').unwrap());
    assert_eq!(first, b"mazurka journal 2");
    for other in ["1", "3", "10", "22"] {
        fs::write(&path, [b"mazurka journal ", other.as_bytes(), rest].concat()).unwrap();
        let error = Journal::open(&path).err().unwrap();
        let said = format!("this is a journal of format {other}, which another version of mazurka wrote");
        assert!(error.to_string().starts_with(&said), "{error}");
    }
    for nothing in ["", "x", "2x"] {
        fs::write(&path, [b"mazurka journal ", nothing.as_bytes(), rest].concat()).unwrap();
        assert!(matches!(Journal::open(&path), Err(JournalError::NotAJournal)), "{nothing}");
    }
}
