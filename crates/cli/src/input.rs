//! Files that users name.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::error::CommandError;

/// No program is larger. A file that is, is refused before it is read.
const LARGEST_PROGRAM: u64 = 16 << 20;
/// Nor is a file with a schedule.
const LARGEST_SCHEDULE: u64 = 64 << 20;

/// The text of a program.
pub fn read_program(path: &Path) -> Result<String, CommandError> {
    read(path, LARGEST_PROGRAM, "a program")
}

/// The schedule that an argument gives: itself, or what is in the file that it names.
pub fn schedule_text(argument: &str) -> Result<String, CommandError> {
    match argument.strip_prefix('@') {
        Some(file) => Ok(read(Path::new(file), LARGEST_SCHEDULE, "a schedule")?.trim().to_owned()),
        None => Ok(argument.trim().to_owned()),
    }
}

fn read(path: &Path, largest: u64, what: &str) -> Result<String, CommandError> {
    let name = path.display();
    let refuse = |why: String| CommandError::input(format!("{name}: {why}")).at(&name);
    let too_large = || refuse(format!("the file is too large: {what} has at most {} MiB", largest >> 20));
    let file = File::open(path).map_err(|error| refuse(reason(&error)))?;
    let about = file.metadata().map_err(|error| refuse(reason(&error)))?;
    if about.is_dir() {
        return Err(refuse("this is a directory, not a file".to_owned()));
    }
    if about.len() > largest {
        return Err(too_large());
    }
    // What is no regular file has no length and may never end.
    let mut bytes = Vec::new();
    file.take(largest + 1).read_to_end(&mut bytes).map_err(|error| refuse(reason(&error)))?;
    if bytes.len() as u64 > largest {
        return Err(too_large());
    }
    String::from_utf8(bytes).map_err(|error| {
        if matches!(error.as_bytes(), [0xff, 0xfe, ..] | [0xfe, 0xff, ..]) {
            return refuse("this is text in UTF-16; save it as UTF-8".to_owned());
        }
        let (before, rest) = error.as_bytes().split_at(error.utf8_error().valid_up_to());
        let place = format!("{name}:{}", line_and_column(before));
        let byte = rest.first().copied().unwrap_or_default();
        CommandError::input(format!(
            "{place}: this is not text in UTF-8 (the byte {byte:#04x}); save it as UTF-8"
        ))
        .at(place)
    })
}

/// Where one is after a text, as `line:column`, both from 1.
fn line_and_column(before: &[u8]) -> String {
    let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
    let start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |newline| newline + 1);
    let column = String::from_utf8_lossy(&before[start..]).chars().count() + 1;
    format!("{line}:{column}")
}

fn reason(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "there is no such file".to_owned(),
        std::io::ErrorKind::PermissionDenied => "the file may not be read (permission denied)".to_owned(),
        _ => format!("the file can't be read: {error}"),
    }
}
