//! What an agent asks of the process that runs a compiled program (C, C++, a Rust test), and what that answers: a
//! frame each, one after the other.
//!
//! A Rust test is asked by a worker or by who hands its search over; the first thing that is asked tells which.

use std::time::Duration;

use mazurka_explore::NotExhaustive;

use crate::frames::{number, pack, read_number, unpack, unpack_exactly};

/// What is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ask {
    /// Is this search, by its header, one of the program that is here, and can it be searched here?
    Load(Vec<u8>),
    /// Find out what others have found out, generation by generation: all of it, of which some may be known.
    Know(Vec<Vec<u8>>),
    /// Explore these items for so many milliseconds.
    Explore {
        /// As [`encoding::open_items`](crate::encoding::open_items).
        items: Vec<u8>,
        /// How long.
        milliseconds: u64,
    },
    /// Which search is it, which others are to do?
    Tell,
    /// Does this item, for which somebody ended the search, end it here, too?
    Judge(Vec<u8>),
    /// The search is over: report what came of it.
    Conclude(Remainder),
}

/// What is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It was done.
    Ready,
    /// It can't be done; this is why.
    Refused(String),
    /// What came of items.
    Came(Came),
    /// The search, by its header, and for how many milliseconds it may be waited for.
    Search {
        /// What the search is.
        header: Vec<u8>,
        /// The longest time.
        milliseconds: Option<u64>,
    },
    /// There is nothing to search, or it ends there.
    Over,
    /// Something is found out in the item.
    FoundOut,
    /// It was reported, with this exit status.
    Told(u8),
}

/// What is left of a search that others did, for the process that makes a report of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Remainder {
    /// What was found out, as [`encoding::found_out`](crate::encoding::found_out), each.
    pub found_out: Vec<Vec<u8>>,
    /// What was found, as [`encoding::parts`](crate::encoding::parts).
    pub parts: Vec<u8>,
    /// What was not looked at.
    pub missed: Vec<Missed>,
    /// The item that ends the search, if one does.
    pub open: Vec<u8>,
    /// How long it took.
    pub milliseconds: u64,
}

/// A part of a search that nobody explored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missed {
    /// Where in the search.
    pub place: Vec<u32>,
    /// Why: that there was no more time, or something else.
    pub why: Result<Duration, String>,
}

impl Missed {
    /// What a report says of it.
    pub fn reason(&self) -> NotExhaustive {
        match &self.why {
            Ok(most) => NotExhaustive::Time(*most),
            Err(why) => NotExhaustive::Program(why.clone()),
        }
    }

    fn encoded(&self) -> Vec<u8> {
        let place: Vec<u8> = self.place.iter().flat_map(|number| number.to_le_bytes()).collect();
        match &self.why {
            Ok(most) => pack([&place[..], b"time", &number(most.as_millis() as u64)]),
            Err(why) => pack([&place[..], b"why", why.as_bytes()]),
        }
    }

    fn decoded(bytes: &[u8]) -> Option<Missed> {
        let [place, kind, why] = unpack_exactly(bytes)?;
        let (numbers, rest) = place.as_chunks();
        let why = match kind {
            b"time" => Ok(Duration::from_millis(read_number(why)?)),
            b"why" => Err(String::from_utf8(why.to_vec()).ok()?),
            _ => return None,
        };
        let place = numbers.iter().map(|number| u32::from_le_bytes(*number)).collect();
        rest.is_empty().then_some(Missed { place, why })
    }
}

impl Remainder {
    fn encoded(&self) -> Vec<u8> {
        let Remainder { found_out, parts, missed, open, milliseconds } = self;
        let missed = pack(missed.iter().map(Missed::encoded));
        pack([&pack(found_out)[..], parts, &missed, open, &number(*milliseconds)])
    }

    fn decoded(bytes: &[u8]) -> Option<Remainder> {
        let [found_out, parts, missed, open, milliseconds] = unpack_exactly(bytes)?;
        Some(Remainder {
            found_out: owned(unpack(found_out)?),
            parts: parts.to_vec(),
            missed: unpack(missed)?.into_iter().map(Missed::decoded).collect::<Option<_>>()?,
            open: open.to_vec(),
            milliseconds: read_number(milliseconds)?,
        })
    }
}

fn owned(texts: Vec<&[u8]>) -> Vec<Vec<u8>> {
    texts.into_iter().map(<[u8]>::to_vec).collect()
}

/// What came of items.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Came {
    /// How many of the search's own items were done.
    pub done: u64,
    /// What was found in them, as [`encoding::parts`](crate::encoding::parts).
    pub parts: Vec<u8>,
    /// The item that ends the search, or for which it has to be begun again, if one does; as
    /// [`encoding::open_items`](crate::encoding::open_items).
    pub end: Vec<u8>,
    /// What is left behind all that, in the same form.
    pub left: Vec<u8>,
    /// What was learned of the program in the items that were done.
    pub learned: Vec<u8>,
}

impl Ask {
    /// As bytes.
    pub fn encoded(&self) -> Vec<u8> {
        match self {
            Ask::Load(header) => pack([b"load", &header[..]]),
            Ask::Know(evidence) => pack([b"know", &pack(evidence)[..]]),
            Ask::Explore { items, milliseconds } => pack([b"explore", &items[..], &number(*milliseconds)]),
            Ask::Tell => pack([b"tell"]),
            Ask::Judge(item) => pack([b"judge", &item[..]]),
            Ask::Conclude(remainder) => pack([b"conclude", &remainder.encoded()[..]]),
        }
    }

    /// What was said so.
    pub fn decoded(bytes: &[u8]) -> Option<Ask> {
        match unpack(bytes)?[..] {
            [b"load", header] => Some(Ask::Load(header.to_vec())),
            [b"know", evidence] => Some(Ask::Know(owned(unpack(evidence)?))),
            [b"explore", items, milliseconds] => {
                Some(Ask::Explore { items: items.to_vec(), milliseconds: read_number(milliseconds)? })
            }
            [b"tell"] => Some(Ask::Tell),
            [b"judge", item] => Some(Ask::Judge(item.to_vec())),
            [b"conclude", remainder] => Some(Ask::Conclude(Remainder::decoded(remainder)?)),
            _ => None,
        }
    }
}

impl Answer {
    /// As bytes.
    pub fn encoded(&self) -> Vec<u8> {
        match self {
            Answer::Ready => pack([b"ready"]),
            Answer::Refused(why) => pack([b"refused", why.as_bytes()]),
            Answer::Came(came) => pack([b"came", &came.encoded()[..]]),
            Answer::Search { header, milliseconds } => {
                let most = milliseconds.map_or_else(Vec::new, |most| number(most).to_vec());
                pack([b"search", &header[..], &most])
            }
            Answer::Over => pack([b"over"]),
            Answer::FoundOut => pack([b"found out"]),
            Answer::Told(status) => pack([&b"told"[..], &[*status]]),
        }
    }

    /// What was said so.
    pub fn decoded(bytes: &[u8]) -> Option<Answer> {
        match unpack(bytes)?[..] {
            [b"ready"] => Some(Answer::Ready),
            [b"refused", why] => Some(Answer::Refused(String::from_utf8(why.to_vec()).ok()?)),
            [b"came", came] => Some(Answer::Came(Came::decoded(came)?)),
            [b"search", header, b""] => Some(Answer::Search { header: header.to_vec(), milliseconds: None }),
            [b"search", header, most] => {
                Some(Answer::Search { header: header.to_vec(), milliseconds: Some(read_number(most)?) })
            }
            [b"over"] => Some(Answer::Over),
            [b"found out"] => Some(Answer::FoundOut),
            [b"told", [status]] => Some(Answer::Told(*status)),
            _ => None,
        }
    }
}

impl Came {
    /// As bytes.
    pub fn encoded(&self) -> Vec<u8> {
        let Came { done, parts, end, left, learned } = self;
        pack([&number(*done)[..], parts, end, left, learned])
    }

    /// What was said so.
    pub fn decoded(bytes: &[u8]) -> Option<Came> {
        let [done, parts, end, left, learned] = unpack_exactly(bytes)?;
        let [parts, end, left, learned] = [parts, end, left, learned].map(<[u8]>::to_vec);
        Some(Came { done: read_number(done)?, parts, end, left, learned })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_heard_or_refused() {
        let missed = [Ok(Duration::from_millis(1500)), Err("given up".to_owned())];
        let missed = missed.into_iter().map(|why| Missed { place: vec![1, 700_000], why }).collect();
        let found_out = vec![b"f".to_vec(), Vec::new()];
        let remainder = Remainder { found_out, missed, milliseconds: 7, ..Remainder::default() };
        let asks = [
            Ask::Tell,
            Ask::Judge(b"item".to_vec()),
            Ask::Conclude(Remainder::default()),
            Ask::Conclude(remainder),
            Ask::Load(b"header".to_vec()),
            Ask::Know(vec![]),
            Ask::Know(vec![vec![], b"evidence".to_vec()]),
            Ask::Explore { items: b"items".to_vec(), milliseconds: 1000 },
        ];
        for ask in asks {
            assert_eq!(Ask::decoded(&ask.encoded()), Some(ask));
        }
        let came = Came { done: 3, parts: b"p".to_vec(), learned: vec![0; 9], ..Came::default() };
        let header = || b"header".to_vec();
        for answer in [
            Answer::Ready,
            Answer::Refused("why".to_owned()),
            Answer::Came(came),
            Answer::Search { header: header(), milliseconds: None },
            Answer::Search { header: header(), milliseconds: Some(9) },
            Answer::Over,
            Answer::FoundOut,
            Answer::Told(3),
        ] {
            let bytes = answer.encoded();
            assert_eq!(Answer::decoded(&bytes), Some(answer));
            assert_eq!(Answer::decoded(&bytes[..bytes.len() - 1]), None);
        }
        for garbled in [&b""[..], b"ready", &pack([&b"never"[..]]), &pack([&b"came"[..], b"x"])] {
            assert_eq!(Answer::decoded(garbled), None);
            assert_eq!(Ask::decoded(garbled), None);
        }
    }
}
