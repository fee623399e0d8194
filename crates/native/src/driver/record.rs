//! How a file was compiled, kept in what came of it.
//!
//! `mazurka cc` compiles as the compiler that it stands for does, so that a build goes its usual way: what it
//! makes can be run, put into libraries and linked. It adds a section to every object file, which says how
//! that was compiled. Linkers put these sections behind each other. So a program, or a library, says of which
//! files it was made and how; to check it these are compiled anew, with instrumentation.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use object::{Object, ObjectSection};

use super::elf::{parse, set_word};
use super::{read, write};

/// The section.
const SECTION: &str = ".mazurka.command";

/// What each record begins with; then come the lengths of its parts and the parts, of which the first two are
/// the directory and the source.
const MAGIC: &[u8; 4] = b"MZK1";

/// How a file was compiled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unit {
    /// Where the compiler ran.
    pub directory: PathBuf,
    /// The file, as the compiler was told.
    pub source: PathBuf,
    /// All else that the compiler was told.
    pub arguments: Vec<String>,
}

impl Unit {
    fn bytes(&self) -> Vec<u8> {
        let mut parts: Vec<&[u8]> =
            vec![self.directory.as_os_str().as_bytes(), self.source.as_os_str().as_bytes()];
        parts.extend(self.arguments.iter().map(|argument| argument.as_bytes()));
        let mut bytes = MAGIC.to_vec();
        bytes.extend((parts.len() as u32).to_le_bytes());
        for part in parts {
            bytes.extend((part.len() as u32).to_le_bytes());
            bytes.extend(part);
        }
        bytes
    }

    /// The records in the content of a section. Between them there may be room that the linker left.
    fn all(mut bytes: &[u8]) -> Option<Vec<Unit>> {
        let mut units = Vec::new();
        loop {
            while let [0, rest @ ..] = bytes {
                bytes = rest;
            }
            if bytes.is_empty() {
                return Some(units);
            }
            bytes = bytes.strip_prefix(MAGIC)?;
            let mut parts = (0..number(&mut bytes)?).map(|_| {
                let length = number(&mut bytes)? as usize;
                let (part, rest) = bytes.split_at_checked(length)?;
                bytes = rest;
                Some(OsString::from_vec(part.to_vec()))
            });
            let (directory, source) = (parts.next()??.into(), parts.next()??.into());
            let text = |part: Option<OsString>| part?.into_string().ok();
            let arguments = parts.map(text).collect::<Option<Vec<String>>>()?;
            units.push(Unit { directory, source, arguments });
        }
    }
}

fn number(bytes: &mut &[u8]) -> Option<u32> {
    let (number, rest) = bytes.split_first_chunk::<4>()?;
    *bytes = rest;
    Some(u32::from_le_bytes(*number))
}

/// Where a file has the place of its section headers, how many there are, and which is that of their names.
const HEADERS: usize = 0x28;
const COUNT: usize = 0x3C;
const NAMES: usize = 0x3E;
/// The size of a section header, and where it has the parts that matter.
const HEADER: usize = 64;
const PLACE: usize = 0x18;
const SIZE: usize = 0x20;

/// Adds to an object file how it was compiled.
///
/// # Errors
/// If it is no such file, or can't be written.
pub fn keep(path: &Path, unit: &Unit) -> Result<(), String> {
    let mut bytes = read(path)?;
    parse(&bytes, path)?;
    let cut = || format!("{}: the object file is cut off", path.display());
    let word = |bytes: &[u8], at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
    let half = |bytes: &[u8], at: usize| Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
    let headers = word(&bytes, HEADERS).ok_or_else(cut)? as usize;
    let count = half(&bytes, COUNT).ok_or_else(cut)?;
    let names = half(&bytes, NAMES).ok_or_else(cut)?;
    if count == 0 || count >= 0xFF00 - 1 {
        return Err(format!("{}: the object file has too many sections", path.display()));
    }
    let mut table = bytes.get(headers..headers + usize::from(count) * HEADER).ok_or_else(cut)?.to_vec();

    // The names of the sections, with one more, in a new place.
    let header = usize::from(names) * HEADER;
    let at = word(&table, header + PLACE).ok_or_else(cut)? as usize;
    let size = word(&table, header + SIZE).ok_or_else(cut)? as usize;
    let mut texts = bytes.get(at..at + size).ok_or_else(cut)?.to_vec();
    let name = texts.len() as u32;
    texts.extend(SECTION.as_bytes());
    texts.push(0);
    set_word(&mut table, header + PLACE, bytes.len() as u64)?;
    set_word(&mut table, header + SIZE, texts.len() as u64)?;
    bytes.extend(&texts);

    // The section itself, which is not loaded: its name, its kind, its place and its size.
    let content = unit.bytes();
    let mut added = vec![0; HEADER];
    added[..4].copy_from_slice(&name.to_le_bytes());
    added[4..8].copy_from_slice(&object::elf::SHT_PROGBITS.0.to_le_bytes());
    set_word(&mut added, PLACE, bytes.len() as u64)?;
    set_word(&mut added, SIZE, content.len() as u64)?;
    set_word(&mut added, 0x30, 1)?;
    table.extend(added);
    bytes.extend(content);

    bytes.resize(bytes.len().next_multiple_of(8), 0);
    let place = bytes.len() as u64;
    set_word(&mut bytes, HEADERS, place)?;
    bytes[COUNT..COUNT + 2].copy_from_slice(&(count + 1).to_le_bytes());
    bytes.extend(table);
    write(path, bytes)
}

/// Of which files an object file or a program was made, as far as it says.
///
/// # Errors
/// If what it says can't be read.
pub fn kept(bytes: &[u8], path: &Path) -> Result<Vec<Unit>, String> {
    let file = parse(bytes, path)?;
    let Some(section) = file.section_by_name(SECTION) else { return Ok(Vec::new()) };
    let content = section.data().map_err(|error| format!("{}: {error}", path.display()))?;
    let mut units = Unit::all(content).ok_or_else(|| {
        format!("{}: what `mazurka cc` has noted there can't be read; build it anew", path.display())
    })?;
    let mut seen = Vec::new();
    units.retain(|unit| {
        !seen.contains(unit) && {
            seen.push(unit.clone());
            true
        }
    });
    Ok(units)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(source: &str, arguments: &[&str]) -> Unit {
        let arguments = arguments.iter().map(|&argument| argument.to_owned()).collect();
        Unit { directory: "/build".into(), source: source.into(), arguments }
    }

    #[test]
    fn records_stand_behind_each_other() {
        let units = [unit("a.c", &["-DN=3", "-I", "with space"]), unit("b.cc", &[])];
        let bytes = [units[0].bytes(), vec![0; 3], units[1].bytes()].concat();
        assert_eq!(Unit::all(&bytes), Some(units.to_vec()));
        assert_eq!(Unit::all(&[]), Some(Vec::new()));
        for cut in [1, 9, bytes.len() - 1] {
            assert_eq!(Unit::all(&bytes[..cut]), None);
        }
    }
}
