//! Which build of a program a process runs: two builds of one version may search otherwise.

use std::fs::File;
use std::hash::Hasher;
use std::io::{self, Read};
use std::sync::OnceLock;

use rustc_hash::FxHasher;

/// A program is read in pieces of so many bytes.
const PIECE: u64 = 1 << 20;

/// The program that this process runs: how long it is, and a digest of all of it.
///
/// # Errors
/// If it can't be read.
pub fn of_this_process() -> Result<String, String> {
    static BUILD: OnceLock<Result<String, String>> = OnceLock::new();
    // The file of its name may be another by now; where the system says which one it is, that is asked.
    let by_name = |_| std::env::current_exe().and_then(File::open);
    let read = || File::open("/proc/self/exe").or_else(by_name).and_then(of_file);
    BUILD.get_or_init(|| read().map_err(|error| error.to_string())).clone()
}

fn of_file(mut file: File) -> io::Result<String> {
    let (mut hasher, mut length, mut piece) = (FxHasher::default(), 0, Vec::new());
    while file.by_ref().take(PIECE).read_to_end(&mut piece)? > 0 {
        hasher.write(&piece);
        length += piece.len();
        piece.clear();
    }
    Ok(format!("{length} bytes, {:016x}", hasher.finish()))
}
