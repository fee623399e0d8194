//! What has to be the same wherever machine code is searched, for what one process has learned of it to mean something
//! to another: the object, the libraries beside it, and where all that is in memory.

use std::hash::Hasher;

use mazurka_journal::Header;
use mazurka_native::libraries;
use mazurka_native::runtime::Native;
use rustc_hash::FxHasher;

use crate::error::CommandError;
use crate::front_end::MachineCode;

/// The fields of a header that say so.
pub const OBJECT: &str = "object";
const LIBRARIES: &str = "libraries";
const LAYOUT: &str = "layout";

/// Whether a field of a header is one of them.
pub fn is_told_by(field: &str) -> bool {
    [OBJECT, LIBRARIES, LAYOUT].contains(&field)
}

/// The header of a search of machine code that has this name.
pub fn told(header: Header, program: &Native, object: &str) -> Header {
    header.with(OBJECT, object).with(LIBRARIES, libraries()).with(LAYOUT, program.layout())
}

/// The name of an object in a journal: how long it is, and a digest. It tells what was compiled from what else was, and
/// is no defence against somebody who wants them to be taken for the same.
pub fn digest(code: MachineCode<'_>) -> Result<String, CommandError> {
    let bytes = std::fs::read(code.object).map_err(CommandError::internal)?;
    let mut hasher = FxHasher::default();
    hasher.write(&bytes);
    Ok(format!("{} bytes, {:016x}", bytes.len(), hasher.finish()))
}

/// Complains if a program is among other libraries, or elsewhere in memory, than where its search was begun.
pub fn refuse_elsewhere(header: &Header, program: &Native) -> Result<(), CommandError> {
    let (theirs, ours) = (header.get(LIBRARIES).unwrap_or_default(), libraries());
    if let Some(line) = theirs.lines().find(|line| !ours.lines().any(|other| other == *line)) {
        let name = line.split(' ').next().unwrap_or_default();
        let here = ours.lines().find(|other| other.starts_with(&format!("{name} ")));
        return Err(CommandError::unsupported(format!(
            "it was begun with another {name} than there is here ({line} there, {} here): run it where the C library is \
             the same",
            here.unwrap_or("none")
        )));
    }
    let (theirs, ours) = (header.get(LAYOUT).unwrap_or_default(), program.layout());
    if theirs != ours {
        return Err(CommandError::unsupported(format!(
            "its program is at other addresses here than where it was begun ({theirs} there, {ours} here): run it where \
             the build of mazurka, the kernel and the limit of the stack (ulimit -s) are the same"
        )));
    }
    Ok(())
}
