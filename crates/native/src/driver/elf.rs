//! What is looked at, and changed, in compiled files.

use std::collections::BTreeSet;
use std::path::Path;

use object::read::elf::ElfFile64;
use object::{
    LittleEndian, Object, ObjectSection, ObjectSymbol, ObjectSymbolTable, RelocationTarget, SymbolKind,
    SymbolSection,
};

type File<'data> = ElfFile64<'data, LittleEndian>;

/// Tags of the dynamic section for functions that the loader calls, one each.
const ONE_FUNCTION: [u64; 2] = [12, 13];
/// Tags for the sizes of arrays of such functions: `DT_INIT_ARRAYSZ`, `DT_FINI_ARRAYSZ`, `DT_PREINIT_ARRAYSZ`.
const SIZES: [u64; 3] = [27, 28, 33];
/// A tag that loaders do not know, and so ignore.
const IGNORED: u64 = 0x6000_4d5a;

/// The names that a compiled file defines for others, and those that it needs.
#[derive(Debug, Default)]
pub struct Names {
    /// Defined.
    pub defined: BTreeSet<String>,
    /// Needed.
    pub needed: BTreeSet<String>,
    /// The names of variables, also of those that no other file sees.
    pub variables: BTreeSet<String>,
}

impl Names {
    /// Of a compiled file.
    ///
    /// # Errors
    /// If it is no such file.
    pub fn of(path: &Path) -> Result<Names, String> {
        let bytes = read(path)?;
        let file = parse(&bytes, path)?;
        let mut names = Names::default();
        for symbol in file.symbols() {
            let Ok(name) = symbol.name() else { continue };
            if matches!(symbol.kind(), SymbolKind::Data | SymbolKind::Tls) || symbol.is_common() {
                // Variables of functions have a number behind their names.
                names.variables.insert(name.split('.').next().unwrap_or_default().to_owned());
            }
            if !(symbol.is_global() || symbol.is_undefined()) {
                continue;
            }
            match symbol.section() {
                SymbolSection::Undefined if !name.is_empty() => names.needed.insert(name.to_owned()),
                SymbolSection::Undefined => false,
                _ => names.defined.insert(name.to_owned()),
            };
        }
        Ok(names)
    }
}

/// What the loader would call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    /// Before `main`, in this order.
    pub constructors: Vec<u64>,
    /// After it, in this order.
    pub destructors: Vec<u64>,
    /// Whether there is code that exceptions can pass through.
    pub unwinds: bool,
}

/// The functions that a shared object has for its beginning and end: addresses relative to where it is loaded.
///
/// # Errors
/// If it is no shared object.
pub fn calls(path: &Path) -> Result<Calls, String> {
    let bytes = read(path)?;
    let file = parse(&bytes, path)?;
    let mut calls = Calls {
        constructors: pointers(&file, ".preinit_array"),
        destructors: pointers(&file, ".fini_array"),
        unwinds: file.symbols().any(|symbol| symbol.name() == Ok("__gxx_personality_v0")),
    };
    calls.constructors.extend(pointers(&file, ".init_array"));
    calls.destructors.reverse();
    Ok(calls)
}

/// The text in a section; none if there is no such section.
///
/// # Errors
/// If it is no shared object.
pub fn text_of(path: &Path, section: &str) -> Result<String, String> {
    let bytes = read(path)?;
    let file = parse(&bytes, path)?;
    let data = file.section_by_name(section).and_then(|section| section.data().ok());
    Ok(String::from_utf8_lossy(data.unwrap_or_default()).into_owned())
}

/// The addresses in a section, as relocations will fill it.
fn pointers(file: &File<'_>, section: &str) -> Vec<u64> {
    let Some(section) = file.section_by_name(section) else { return Vec::new() };
    let range = section.address()..section.address() + section.size();
    let mut found: Vec<(u64, u64)> = Vec::new();
    for (at, relocation) in file.dynamic_relocations().into_iter().flatten() {
        if !range.contains(&at) {
            continue;
        }
        let base = match relocation.target() {
            RelocationTarget::Symbol(symbol) => {
                let table = file.dynamic_symbol_table();
                table
                    .and_then(|table| table.symbol_by_index(symbol).ok())
                    .map_or(0, |symbol| symbol.address())
            }
            _ => 0,
        };
        found.push((at, base.wrapping_add_signed(relocation.addend())));
    }
    found.sort_unstable();
    found.into_iter().map(|(_, address)| address).filter(|&address| address != 0).collect()
}

/// Sees to it that loading a shared object calls nothing.
///
/// # Errors
/// If it is no shared object, or can't be written.
pub fn silence(path: &Path) -> Result<(), String> {
    let mut bytes = read(path)?;
    let mut changes: Vec<(usize, u64)> = Vec::new();
    {
        let file = parse(&bytes, path)?;
        let Some(section) = file.section_by_name(".dynamic") else {
            return Err(format!("{}: the linker made no shared object", path.display()));
        };
        let offset = section.file_range().map_or(0, |(offset, _)| offset as usize);
        let entries = section.data().map_err(|error| format!("{}: {error}", path.display()))?;
        for (at, entry) in entries.chunks_exact(ENTRY).enumerate() {
            let tag = entry.iter().take(8).rev().fold(0, |tag, &byte| tag << 8 | u64::from(byte));
            let place = offset + at * ENTRY;
            if ONE_FUNCTION.contains(&tag) {
                changes.push((place, IGNORED));
            } else if SIZES.contains(&tag) {
                changes.push((place + ENTRY / 2, 0));
            }
        }
    }
    for (place, value) in changes {
        let field = bytes.get_mut(place..place + 8).ok_or("the dynamic section is cut off")?;
        field.copy_from_slice(&value.to_le_bytes());
    }
    std::fs::write(path, bytes).map_err(|error| format!("{}: {error}", path.display()))
}

/// An entry of the dynamic section: a tag and a value.
const ENTRY: usize = 16;

fn read(path: &Path) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn parse<'data>(bytes: &'data [u8], path: &Path) -> Result<File<'data>, String> {
    File::parse(bytes).map_err(|error| format!("{}: {error}", path.display()))
}
