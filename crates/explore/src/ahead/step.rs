//! By what a process comes to know more of the program: as bytes, for another process that is to know the same.

use crate::Item;

/// Something by which a process has come to know more.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    /// It took up what somebody had learned.
    TakenUp(Vec<u8>),
    /// It explored an item itself, until there were so many executions.
    Explored { item: Item, most: u64 },
}

const TAKEN_UP: &[u8] = b"taken up\n";
const EXPLORED: &[u8] = b"explored\n";

impl Step {
    pub(super) fn encoded(&self) -> Vec<u8> {
        match self {
            Step::TakenUp(learned) => [TAKEN_UP, learned].concat(),
            Step::Explored { item, most } => {
                [EXPLORED, &most.to_le_bytes(), item.to_string().as_bytes()].concat()
            }
        }
    }

    pub(super) fn decoded(bytes: &[u8]) -> Option<Step> {
        if let Some(learned) = bytes.strip_prefix(TAKEN_UP) {
            return Some(Step::TakenUp(learned.to_vec()));
        }
        let (most, item) = bytes.strip_prefix(EXPLORED)?.split_first_chunk()?;
        let item = str::from_utf8(item).ok()?.parse().ok()?;
        Some(Step::Explored { item, most: u64::from_le_bytes(*most) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_read_as_it_was_written() {
        let item = Item { schedules: vec!["v1:0*3,0.1".parse().unwrap(), "v1:0.1#2".parse().unwrap()] };
        let explored = Step::Explored { item, most: u64::MAX - 7 };
        for step in [Step::TakenUp(Vec::new()), Step::TakenUp(b"explored\n".to_vec()), explored] {
            assert_eq!(Step::decoded(&step.encoded()), Some(step));
        }
        for wrong in [&b""[..], b"taken", b"explored\n1234567", b"explored\n12345678not a schedule\n"] {
            assert_eq!(Step::decoded(wrong), None);
        }
    }
}
