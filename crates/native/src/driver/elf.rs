//! What is looked at, and changed, in compiled files.

use std::collections::BTreeSet;
use std::path::Path;

use object::elf::R_X86_64_PLT32;
use object::read::elf::ElfFile64;
use object::{
    LittleEndian, Object, ObjectSection, ObjectSymbol, ObjectSymbolTable, RelocationFlags, RelocationTarget,
    SymbolKind, SymbolSection,
};

use super::{read, standard, verifier, write};

/// A compiled file.
pub type ElfFile<'data> = ElfFile64<'data, LittleEndian>;

/// Tags of the dynamic section for functions that the loader calls, one each.
const ONE_FUNCTION: [u64; 2] = [12, 13];
/// Tags for the sizes of arrays of such functions: `DT_{INIT,FINI,PREINIT}_ARRAYSZ`.
const SIZES: [u64; 3] = [27, 28, 33];
/// A tag that loaders do not know, and so ignore.
const IGNORED: u64 = 0x6000_4d5a;

/// The names that a compiled file defines for others, and those that it needs.
#[derive(Debug, Default)]
pub struct SymbolNames {
    /// Defined.
    pub defined: BTreeSet<String>,
    /// Needed.
    pub needed: BTreeSet<String>,
    /// The names of variables, also of those that no other file sees.
    pub variables: BTreeSet<String>,
    /// Of those that it defines, those that others may define too, and better.
    pub weak: BTreeSet<String>,
    /// Those that are called: functions.
    pub called: BTreeSet<String>,
    /// The functions that it defines, also those that no other file sees.
    pub functions: BTreeSet<String>,
}

impl SymbolNames {
    /// Of a compiled file.
    ///
    /// # Errors
    /// If it is no such file.
    pub fn of(path: &Path) -> Result<SymbolNames, String> {
        SymbolNames::in_bytes(&read(path)?, path)
    }

    /// Of a compiled file that was read.
    ///
    /// # Errors
    /// If it is no such file.
    pub fn in_bytes(bytes: &[u8], path: &Path) -> Result<SymbolNames, String> {
        let file = parse(bytes, path)?;
        let mut names = SymbolNames::default();
        for symbol in file.symbols() {
            let Ok(name) = symbol.name() else { continue };
            if matches!(symbol.kind(), SymbolKind::Data | SymbolKind::Tls) || symbol.is_common() {
                // Variables of functions have a number behind their names.
                names.variables.insert(name.split('.').next().unwrap_or_default().to_owned());
            }
            if symbol.kind() == SymbolKind::Text && symbol.is_definition() {
                names.functions.insert(name.to_owned());
            }
            if !(symbol.is_global() || symbol.is_undefined()) {
                continue;
            }
            if symbol.is_weak() {
                names.weak.insert(name.to_owned());
            }
            match symbol.section() {
                SymbolSection::Undefined if !name.is_empty() => names.needed.insert(name.to_owned()),
                SymbolSection::Undefined => false,
                _ => names.defined.insert(name.to_owned()),
            };
        }
        let calls = file.sections().flat_map(|section| section.relocations());
        for (_, relocation) in calls.filter(|(_, relocation)| relocation.flags() == CALL) {
            let RelocationTarget::Symbol(symbol) = relocation.target() else { continue };
            let name = file.symbol_by_index(symbol).ok().and_then(|symbol| symbol.name().ok());
            names.called.extend(name.map(str::to_owned));
        }
        Ok(names)
    }

    /// Adds what another file has.
    pub fn add(&mut self, other: SymbolNames) {
        let SymbolNames { defined, needed, variables, weak, called, functions } = other;
        self.defined.extend(defined);
        self.needed.extend(needed);
        self.variables.extend(variables);
        self.weak.extend(weak);
        self.called.extend(called);
        self.functions.extend(functions);
    }
}

/// How a call of a function elsewhere is filled in.
const CALL: RelocationFlags = RelocationFlags::Elf { r_type: R_X86_64_PLT32 };

/// What the runtime has to know of a shared object. Addresses are relative to where it is loaded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    /// What the loader would call before `main`, in this order.
    pub constructors: Vec<u64>,
    /// What it would call after it, in this order.
    pub destructors: Vec<u64>,
    /// Whether there is code that exceptions can pass through.
    pub unwinds: bool,
    /// The text in the section for the standards that it was compiled for.
    pub standards: String,
    /// The functions that are one step each.
    pub atomic: Vec<u64>,
}

impl Contents {
    /// Of a shared object.
    ///
    /// # Errors
    /// If it is none.
    pub fn of(path: &Path) -> Result<Contents, String> {
        let bytes = read(path)?;
        let file = parse(&bytes, path)?;
        let mut constructors = pointers(&file, ".preinit_array");
        constructors.extend(pointers(&file, ".init_array"));
        let mut destructors = pointers(&file, ".fini_array");
        destructors.reverse();
        let unwinds = file.symbols().any(|symbol| symbol.name() == Ok("__gxx_personality_v0"));
        let standards = file.section_by_name(standard::SECTION).and_then(|section| section.data().ok());
        let standards = String::from_utf8_lossy(standards.unwrap_or_default()).into_owned();
        let is_atomic = |name: &str| verifier::is_atomic(name);
        let atomic = file
            .symbols()
            .filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.is_definition())
            .filter(|symbol| symbol.name().is_ok_and(is_atomic))
            .map(|symbol| symbol.address())
            .collect();
        Ok(Contents { constructors, destructors, unwinds, standards, atomic })
    }
}

/// The addresses in a section, as relocations will fill it.
fn pointers(file: &ElfFile<'_>, section: &str) -> Vec<u64> {
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
        set_word(&mut bytes, place, value)?;
    }
    write(path, bytes)
}

/// An entry of the dynamic section: a tag and a value.
const ENTRY: usize = 16;

/// Parses a compiled file, whose path is told if it is none.
pub fn parse<'data>(bytes: &'data [u8], path: &Path) -> Result<ElfFile<'data>, String> {
    ElfFile::parse(bytes).map_err(|error| format!("{}: {error}", path.display()))
}

/// Writes a word of 8 bytes.
pub fn set_word(bytes: &mut [u8], at: usize, value: u64) -> Result<(), String> {
    let field = bytes.get_mut(at..at + 8).ok_or("a compiled file is cut off")?;
    field.copy_from_slice(&value.to_le_bytes());
    Ok(())
}
