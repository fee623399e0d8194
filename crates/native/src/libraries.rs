//! The libraries that this process has, and how another machine tells whether its own are the same.

use std::collections::BTreeSet;
use std::path::Path;

use object::Object;

use crate::driver::ElfFile;

/// The shared libraries of this process as lines, each with its name and what its linker has named it by
/// (build id); with how many bytes it has if it has no such name.
pub fn libraries() -> String {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let paths: BTreeSet<&str> =
        maps.lines().filter_map(|line| line.find('/').map(|at| &line[at..])).collect();
    let mut told: Vec<String> = paths.into_iter().filter_map(library).collect();
    told.sort();
    told.join("\n")
}

/// A library as a line; none if it is something else.
fn library(path: &str) -> Option<String> {
    let name = Path::new(path).file_name()?.to_str()?;
    let is_library = name.ends_with(".so") || name.contains(".so.");
    let bytes = std::fs::read(path).ok().filter(|_| is_library)?;
    let id = ElfFile::parse(&*bytes)
        .ok()?
        .build_id()
        .ok()
        .flatten()
        .map(|id| id.iter().map(|byte| format!("{byte:02x}")).collect::<String>());
    Some(format!("{name} {}", id.unwrap_or_else(|| format!("of {} bytes", bytes.len()))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_c_library_is_among_them() {
        let told = libraries();
        let line =
            told.lines().find(|line| line.starts_with("libc.so.6 ")).unwrap_or_else(|| panic!("{told}"));
        assert!(line.len() > "libc.so.6 ".len() + 8, "{line}");
        assert_eq!(told, libraries());
    }
}
