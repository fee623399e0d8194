//! What is found in compiled code, whichever compiler made it.

use std::collections::BTreeMap;

use super::BuildError;

/// What was found when compiled code was looked at.
#[derive(Debug, Default)]
pub struct Audit {
    /// The repaired code, where the compiler takes it back.
    pub text: String,
    /// Where functions are called first.
    pub calls: BTreeMap<String, String>,
    /// What is to be refused if the name is that of a variable.
    pub doubts: Vec<(String, BuildError)>,
    /// Whether there is inline assembly whose accesses are to be announced.
    pub has_assembly: bool,
}

/// Why a function is refused that the program has asked not to be instrumented.
pub fn refusal_of_exempt(function: &str) -> String {
    format!(
        "the function `{function}` is marked so that it is not instrumented, so what it reads and writes \
         can't be seen; take the attribute away"
    )
}

/// The parts of a text between some of its commas.
pub fn between_commas(text: &str, commas: impl Iterator<Item = usize>) -> Vec<&str> {
    let mut begin = 0;
    let mut parts: Vec<&str> =
        commas.map(|at| text[std::mem::replace(&mut begin, at + 1)..at].trim()).collect();
    parts.extend(Some(text[begin..].trim()).filter(|last| !last.is_empty()));
    parts
}
