//! What an agent asks of the process that runs a program of machine code, and what that answers: a frame each,
//! one after the other.

use super::frames::{number, pack, read_number, unpack, unpack_exactly};

/// What is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ask {
    /// Is this search, by its header, one of the program that is here, and can it be searched here?
    Load(Vec<u8>),
    /// Find out what others have found out, generation by generation: all of it, of which some may be known.
    Know(Vec<Vec<u8>>),
    /// Explore these items for so many milliseconds.
    Explore { items: Vec<u8>, milliseconds: u64 },
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
}

/// What came of items.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Came {
    /// How many of the search's own items were done.
    pub done: u64,
    /// What was found in them, as [`encoding::parts`](mazurka_ledger::encoding::parts).
    pub parts: Vec<u8>,
    /// The item that ends the search, or for which it has to be begun again, if one does; as
    /// [`encoding::open_items`](mazurka_ledger::encoding::open_items).
    pub end: Vec<u8>,
    /// What is left behind all that, in the same form.
    pub left: Vec<u8>,
    /// What was learned of the program in the items that were done.
    pub learned: Vec<u8>,
}

impl Ask {
    pub fn encoded(&self) -> Vec<u8> {
        match self {
            Ask::Load(header) => pack([b"load", &header[..]]),
            Ask::Know(evidence) => pack([b"know", &pack(evidence)[..]]),
            Ask::Explore { items, milliseconds } => pack([b"explore", &items[..], &number(*milliseconds)]),
        }
    }

    pub fn decoded(bytes: &[u8]) -> Option<Ask> {
        match unpack(bytes)?[..] {
            [b"load", header] => Some(Ask::Load(header.to_vec())),
            [b"know", evidence] => {
                Some(Ask::Know(unpack(evidence)?.into_iter().map(<[u8]>::to_vec).collect()))
            }
            [b"explore", items, milliseconds] => {
                Some(Ask::Explore { items: items.to_vec(), milliseconds: read_number(milliseconds)? })
            }
            _ => None,
        }
    }
}

impl Answer {
    pub fn encoded(&self) -> Vec<u8> {
        match self {
            Answer::Ready => pack([b"ready"]),
            Answer::Refused(why) => pack([b"refused", why.as_bytes()]),
            Answer::Came(came) => pack([b"came", &came.encoded()[..]]),
        }
    }

    pub fn decoded(bytes: &[u8]) -> Option<Answer> {
        match unpack(bytes)?[..] {
            [b"ready"] => Some(Answer::Ready),
            [b"refused", why] => Some(Answer::Refused(String::from_utf8(why.to_vec()).ok()?)),
            [b"came", came] => Some(Answer::Came(Came::decoded(came)?)),
            _ => None,
        }
    }
}

impl Came {
    pub fn encoded(&self) -> Vec<u8> {
        let Came { done, parts, end, left, learned } = self;
        pack([&number(*done)[..], parts, end, left, learned])
    }

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
        let asks = [
            Ask::Load(b"header".to_vec()),
            Ask::Know(vec![]),
            Ask::Know(vec![vec![], b"evidence".to_vec()]),
            Ask::Explore { items: b"items".to_vec(), milliseconds: 1000 },
        ];
        for ask in asks {
            assert_eq!(Ask::decoded(&ask.encoded()), Some(ask));
        }
        let came = Came { done: 3, parts: b"p".to_vec(), learned: vec![0; 9], ..Came::default() };
        for answer in [Answer::Ready, Answer::Refused("why".to_owned()), Answer::Came(came)] {
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
