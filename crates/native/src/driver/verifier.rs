//! Names with a meaning for whoever checks a program, whoever defines them.
//!
//! Verification tasks often bring definitions of these along, for those who run them as they are: what tells
//! of an error may have an empty body, and what assumes something may end the program. Calls of them are to
//! mean what their names say. So where the program has one, its first bytes are written over, in the linked
//! object, with a jump to a function of the runtime: whoever calls it, in whatever way, comes there.

use std::path::Path;

use object::{Object, ObjectSection, ObjectSymbol};

use super::elf::{ElfFile, parse};
use super::{BuildError, read, write};

/// What a call of is a failure.
pub const ERROR: &str = "reach_error";

/// What a call of a function means, and the function of the runtime that sees to it.
const MEANINGS: [(&str, &str); 3] = [
    (ERROR, "mazurka_reach_error"),
    ("__VERIFIER_error", "mazurka_reach_error"),
    ("assume_abort_if_not", "mazurka_assume"),
];

/// The prefix of functions that are one step, as in the tasks of SV-COMP.
const ATOMIC: &str = "__VERIFIER_atomic_";

/// A jump to a place that is told by its distance.
const JUMP: u8 = 0xE9;
const LENGTH: usize = 5;

/// The name of a function as C has it: of functions of C++ outside of classes without what they take.
pub fn plain(name: &str) -> &str {
    let Some(rest) = name.strip_prefix("_Z") else { return name };
    let digits = rest.chars().take_while(char::is_ascii_digit).count();
    let length = rest[..digits].parse::<usize>().ok();
    length.and_then(|length| rest.get(digits..digits + length)).unwrap_or(name)
}

/// Whether a function is one step as a whole.
pub fn is_atomic(name: &str) -> bool {
    let name = plain(name);
    name.starts_with(ATOMIC) && !matches!(&name[ATOMIC.len()..], "begin" | "end" | "")
}

/// Whether a text mentions a function that is one step.
pub fn mentions_atomic(text: &str) -> bool {
    let mut rest = text;
    while let Some(at) = rest.find(ATOMIC) {
        let word = &rest[at..];
        let end = word.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(word.len());
        if is_atomic(&word[..end]) {
            return true;
        }
        rest = &word[ATOMIC.len()..];
    }
    false
}

/// Sees to it that calls of the program's own functions mean what their names say.
///
/// # Errors
/// If one of them is too short for a jump.
pub fn divert(object: &Path) -> Result<(), BuildError> {
    let mut bytes = read(object)?;
    let mut jumps = Vec::new();
    {
        let file = parse(&bytes, object)?;
        let address = |wanted: &str| {
            let mut found = file.symbols().filter(|symbol| symbol.name() == Ok(wanted));
            found.find(|symbol| symbol.is_definition()).map(|symbol| symbol.address())
        };
        for symbol in file.symbols().filter(|symbol| symbol.is_definition()) {
            let name = symbol.name().map(plain).unwrap_or_default();
            // What the stub defines has no size.
            let Some((_, target)) = MEANINGS.iter().find(|(own, _)| *own == name && symbol.size() > 0) else {
                continue;
            };
            let (Some(place), Some(target)) = (place_of(&file, symbol.address()), address(target)) else {
                continue;
            };
            if (symbol.size() as usize) < LENGTH {
                return Err(BuildError::Unsupported(format!(
                    "the function `{name}` of the program is too short to be replaced; compile it with -O0"
                )));
            }
            jumps.push((place, target.wrapping_sub(symbol.address() + LENGTH as u64) as u32));
        }
    }
    if jumps.is_empty() {
        return Ok(());
    }
    for (place, distance) in jumps {
        let code = bytes.get_mut(place..place + LENGTH).ok_or_else(|| "a section is cut off".to_owned())?;
        code[0] = JUMP;
        code[1..].copy_from_slice(&distance.to_le_bytes());
    }
    Ok(write(object, bytes)?)
}

/// Where in the file the code at an address is.
fn place_of(file: &ElfFile<'_>, address: u64) -> Option<usize> {
    let within = |section: &object::read::elf::ElfSection64<'_, '_, _>| {
        (section.address()..section.address() + section.size()).contains(&address)
    };
    let section = file.sections().filter(|section| section.address() != 0).find(within)?;
    section.file_range().map(|(start, _)| (start + (address - section.address())) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_from_others_like_them() {
        assert_eq!(plain("_Z11reach_errorv"), "reach_error");
        assert_eq!(plain("_Z99x"), "_Z99x");
        assert!(is_atomic("__VERIFIER_atomic_acquire") && is_atomic("_Z25__VERIFIER_atomic_acquirev"));
        assert!(!is_atomic("__VERIFIER_atomic_begin") && !is_atomic("__VERIFIER_atomic_"));
        assert!(mentions_atomic("x __VERIFIER_atomic_begin(); __VERIFIER_atomic_take(int *m)"));
        assert!(!mentions_atomic("__VERIFIER_atomic_begin(); __VERIFIER_atomic_end();"));
    }
}
