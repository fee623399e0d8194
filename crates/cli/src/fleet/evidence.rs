//! What is known of a program of machine code, as the way to it: how a process that has just loaded the
//! program comes to know what another knows.
//!
//! What a process knows depends on what it explored, and in which order; it is in its memory, and can't be
//! sent. So what travels is what it did: a [`Step`] explores items, or takes up what somebody learned in items
//! that were explored elsewhere. A process that takes the steps of all generations of a search, and
//! [settles](settle) in each, knows what everybody who has done so knows.

use std::sync::atomic::AtomicBool;

use mazurka_explore::{Beginning, OpenItem, Options, StretchEnd};
use mazurka_native::runtime::{Native, TakenUp};
use mazurka_program::Program;
use mazurka_report::{Collected, Part, together};

use crate::front_end::AnyTarget;
use mazurka_ledger::encoding;
use mazurka_ledger::frames::{number, pack, read_number, unpack, unpack_exactly};

/// What is said of a program that does other things on another machine, or the second time.
pub const DIVERGED: &str = "the program did not do again what it had done in another process: it depends on something but \
                            the order of its steps";

/// Something by which a process has come to know more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// It took up what somebody learned in so many of the search's items, the first of them these, of whom they
    /// left what has this hash. Where it was taken up, only what was learned is kept.
    TakenUp { learned: Vec<u8>, items: Vec<u8>, done: u64, left: String },
    /// It explored so many, the first of them these.
    Explored { items: Vec<u8>, done: u64 },
}

/// What came of items, before which all was done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// What was found, as [`encoding::parts`].
    pub parts: Vec<u8>,
    /// What was learned.
    pub steps: Vec<Step>,
}

/// Why a search begins again: what was learned in a generation of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    pub steps: Vec<Step>,
    /// Whether something was found out in the last one that changes what steps touch. Else the search begins
    /// again so that all workers know what was learned.
    pub has_news: bool,
}

impl Step {
    fn encoded(&self) -> Vec<u8> {
        match self {
            Step::TakenUp { learned, items, done, left } => {
                pack([&b"taken up"[..], learned, items, &number(*done), left.as_bytes()])
            }
            Step::Explored { items, done } => pack([&b"explored"[..], items, &number(*done)]),
        }
    }

    fn decoded(bytes: &[u8]) -> Option<Step> {
        Some(match unpack(bytes)?[..] {
            [b"taken up", learned, items, done, left] => Step::TakenUp {
                learned: learned.to_vec(),
                items: items.to_vec(),
                done: read_number(done)?,
                left: String::from_utf8(left.to_vec()).ok()?,
            },
            [b"explored", items, done] => Step::Explored { items: items.to_vec(), done: read_number(done)? },
            _ => return None,
        })
    }
}

fn steps_encoded(steps: &[Step]) -> Vec<u8> {
    pack(steps.iter().map(Step::encoded))
}

fn steps_decoded(bytes: &[u8]) -> Option<Vec<Step>> {
    unpack(bytes)?.into_iter().map(Step::decoded).collect()
}

impl Account {
    pub fn encoded(&self) -> Vec<u8> {
        pack([&self.parts, &steps_encoded(&self.steps)])
    }

    pub fn decoded(bytes: &[u8]) -> Option<Account> {
        let [parts, steps] = unpack_exactly(bytes)?;
        Some(Account { parts: parts.to_vec(), steps: steps_decoded(steps)? })
    }
}

impl Evidence {
    pub fn encoded(&self) -> Vec<u8> {
        pack([&steps_encoded(&self.steps)[..], if self.has_news { b"news" } else { b"" }])
    }

    pub fn decoded(bytes: &[u8]) -> Option<Evidence> {
        let [steps, news] = unpack_exactly(bytes)?;
        Some(Evidence { steps: steps_decoded(steps)?, has_news: !news.is_empty() })
    }
}

/// A program of machine code in this process.
#[derive(Clone, Copy)]
pub struct Code<'a> {
    pub target: &'a dyn AnyTarget,
    pub program: &'a Native,
    pub options: &'a Options,
}

/// What came of items that were explored in this process.
pub struct Here {
    pub part: Option<Part>,
    pub left: Vec<OpenItem>,
    /// Whether it ended before as many were done as should be.
    pub is_over: bool,
}

impl Code<'_> {
    /// Explores the first items of the search, as often as something is found out: now all processes of this
    /// generation know the same.
    pub fn settle(self) {
        loop {
            let whole = Beginning::<Collected>::whole().open;
            self.explore(whole, 1);
            if !self.program.begin_again() {
                return;
            }
        }
    }

    /// Explores so many items of the search, the first of them these.
    pub fn explore(self, items: Vec<OpenItem>, most: u64) -> Here {
        let mut done = 0;
        let mut enough = || {
            done += 1;
            done >= most
        };
        let halt = AtomicBool::new(false);
        let stretch = self.target.check_stretch(self.options, items, &mut enough, &halt);
        let is_over = !matches!(stretch.end, StretchEnd::Enough);
        Here { part: together(stretch.done), left: stretch.left, is_over }
    }

    /// Comes to know what was found out in one generation of the search. Says whether there was news where there
    /// should be.
    pub fn find_out(self, evidence: &[u8]) -> Result<bool, String> {
        let diverged = || DIVERGED.to_owned();
        let Evidence { steps, has_news } = Evidence::decoded(evidence).ok_or_else(diverged)?;
        for step in steps {
            match step {
                Step::TakenUp { learned, .. } => {
                    if self.program.take_up(&learned) == TakenUp::Refused {
                        return Err(diverged());
                    }
                }
                Step::Explored { items, done } => {
                    let items = encoding::read_open_items(&items).ok_or_else(diverged)?;
                    self.explore(items, done);
                }
            }
        }
        let is_found = self.program.begin_again() == has_news;
        self.settle();
        Ok(is_found)
    }
}

/// What is left of items, as one text by which two are compared.
pub fn hash_of(left: &[OpenItem]) -> Option<String> {
    Some(mazurka_fleet::hash(&encoding::open_items(left).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evidence_is_read_as_it_was_written() {
        let taken = Step::TakenUp {
            learned: b"learned".to_vec(),
            items: Vec::new(),
            done: 7,
            left: "00ff".to_owned(),
        };
        let explored = Step::Explored { items: b"items".to_vec(), done: 1 };
        for steps in [vec![], vec![taken.clone()], vec![explored.clone(), taken, explored]] {
            for has_news in [false, true] {
                let evidence = Evidence { steps: steps.clone(), has_news };
                assert_eq!(Evidence::decoded(&evidence.encoded()), Some(evidence));
            }
            let account = Account { parts: b"[]".to_vec(), steps };
            let bytes = account.encoded();
            assert_eq!(Account::decoded(&bytes), Some(account));
            assert_eq!(Account::decoded(&bytes[1..]), None);
            assert_eq!(Account::decoded(&[&bytes[..], b"more"].concat()), None);
        }
        assert_eq!(Evidence::decoded(b"[]"), None);
    }
}
