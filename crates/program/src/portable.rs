//! Names that travel: the same in another run of the program, in another thread, process or machine.
//!
//! Processes and locations are small numbers, given in the order in which a run meets them, so that one
//! number means different things in two runs. Whoever hands work to another run (a schedule, what is known of
//! a location) tells them by name: a process by its path in the creation tree, a location by the process that
//! it belongs to, if any, and words of the front end. Names are asked for when work changes hands, never
//! while steps are taken.

use std::fmt;
use std::str::FromStr;

use crate::Location;

/// The name of a location.
///
/// As text: the path of the process, a colon, and the words: `0.1:3.16`, or `:7` for what belongs to no
/// process.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LocationName {
    /// The path of the process that it belongs to; empty if it belongs to none.
    pub process: Vec<u32>,
    /// What tells it from others that belong there.
    pub words: Vec<u64>,
}

impl LocationName {
    /// The name of what belongs to no process.
    pub fn global(words: Vec<u64>) -> LocationName {
        LocationName { process: Vec::new(), words }
    }
}

fn write_joined(f: &mut fmt::Formatter<'_>, parts: impl Iterator<Item = u64>) -> fmt::Result {
    for (at, part) in parts.enumerate() {
        let dot = if at > 0 { "." } else { "" };
        write!(f, "{dot}{part}")?;
    }
    Ok(())
}

impl fmt::Display for LocationName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_joined(f, self.process.iter().map(|&part| u64::from(part)))?;
        f.write_str(":")?;
        write_joined(f, self.words.iter().copied())
    }
}

/// A text that is not the name of a location.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotALocationName;

impl fmt::Display for NotALocationName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "not the name of a location: expected the path of a process, a colon and numbers, as in 0.1:3.16",
        )
    }
}

impl std::error::Error for NotALocationName {}

fn split<T: FromStr>(text: &str) -> Result<Vec<T>, NotALocationName> {
    let parts = text.split('.').filter(|_| !text.is_empty());
    parts.map(|part| part.parse().map_err(|_| NotALocationName)).collect()
}

impl FromStr for LocationName {
    type Err = NotALocationName;

    fn from_str(text: &str) -> Result<LocationName, NotALocationName> {
        let (process, words) = text.split_once(':').ok_or(NotALocationName)?;
        Ok(LocationName { process: split(process)?, words: split(words)? })
    }
}

/// A run that can tell its locations by names which travel.
pub trait PortableNames {
    /// The name of a location that this run has met; none if it has not.
    fn location_name(&self, location: Location) -> Option<LocationName>;

    /// The location of that name, which gets a number if the run has not met it. None if it can't be met yet,
    /// since the run has not found out what makes it a location (that memory is shared, say), or if it is no
    /// name of the program's.
    fn location_named(&mut self, name: &LocationName) -> Option<Location>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for (process, words, text) in
            [(vec![0, 1], vec![3, 16], "0.1:3.16"), (vec![], vec![7], ":7"), (vec![2], vec![], "2:")]
        {
            let name = LocationName { process, words };
            assert_eq!(name.to_string(), text);
            assert_eq!(text.parse(), Ok(name));
        }
        for wrong in ["", "7", "0.:1", "x:1", "0:1.", "0:1:2", "0:-1"] {
            assert_eq!(wrong.parse::<LocationName>(), Err(NotALocationName), "{wrong}");
        }
    }
}
