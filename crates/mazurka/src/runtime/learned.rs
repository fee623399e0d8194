//! What is learned of a closure in a part of a search that changes nothing of the search, but that its report
//! tells: in words, for who goes on with the search in another process.
//!
//! A line each: what it is, and where in the source.

use crate::checker::heartbeat::{Met, Spot};

/// What was learned in a part.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Learned {
    pub(super) met: Met,
    /// Whether it could not be seen if a loop counts that was taken to wait.
    pub(super) unseen: bool,
}

const UNSEEN: &str = "unseen";
const WEAK_ORDERING: &str = "weak-ordering";
const CLOCK: &str = "clock";
const CLAIMED: &str = "claimed";
const TRIED: &str = "tried";

impl Learned {
    /// Nothing if nothing was learned.
    pub(super) fn encoded(&self) -> Vec<u8> {
        let mut text = if self.unseen { format!("{UNSEEN}\n") } else { String::new() };
        let met = &self.met;
        let spots = [(WEAK_ORDERING, met.weak_ordering.as_ref()), (CLOCK, met.clock.as_ref())];
        let claims =
            met.claims.iter().map(|(spot, tried)| (if *tried { TRIED } else { CLAIMED }, Some(spot)));
        for (what, spot) in spots.into_iter().chain(claims) {
            if let Some(Spot { file, line }) = spot {
                text += &format!("{what} {line} {file}\n");
            }
        }
        text.into_bytes()
    }

    pub(super) fn decoded(bytes: &[u8]) -> Option<Learned> {
        let mut learned = Learned::default();
        for line in std::str::from_utf8(bytes).ok()?.lines() {
            let mut words = line.splitn(3, ' ');
            let (what, spot) = (words.next()?, words.next().zip(words.next()));
            let spot = match spot {
                Some((line, file)) => Some(Spot { file: file.to_owned(), line: line.parse().ok()? }),
                None => None,
            };
            match (what, spot) {
                (UNSEEN, None) => learned.unseen = true,
                (WEAK_ORDERING, Some(spot)) => learned.met.weak_ordering = Some(spot),
                (CLOCK, Some(spot)) => learned.met.clock = Some(spot),
                (CLAIMED | TRIED, Some(spot)) => _ = learned.met.claims.insert(spot, what == TRIED),
                _ => return None,
            }
        }
        Some(learned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn what_was_learned_is_read_as_it_was_written() {
        let spot = |line| Some(Spot { file: "src/a b.rs".to_owned(), line });
        for (weak_ordering, clock) in [(None, None), (spot(1), None), (None, spot(2)), (spot(3), spot(4))] {
            for unseen in [false, true] {
                let claims = spot(5).into_iter().map(|spot| (spot, unseen)).collect();
                let claims = if clock.is_some() { claims } else { BTreeMap::new() };
                let met = Met { weak_ordering: weak_ordering.clone(), clock: clock.clone(), claims };
                let learned = Learned { met, unseen };
                assert_eq!(learned.encoded().is_empty(), learned == Learned::default());
                assert_eq!(Learned::decoded(&learned.encoded()), Some(learned));
            }
        }
        for other in ["unseen 1 x", "clock", "clock x y", "clock 1", "what 1 x", "\n"] {
            assert_eq!(Learned::decoded(other.as_bytes()), None, "{other}");
        }
        assert_eq!(Learned::decoded(b"\xff"), None);
    }
}
