//! Redzones behind the variables of compiled files: who overruns one does not come upon the next.
//!
//! Compilers put each variable into a section of its own (`-fdata-sections`); such a section is made larger
//! here, before it is linked. The runtime finds the room behind a variable by the table of symbols, which
//! still has the size that it was given.

use std::path::Path;

use object::read::elf::ElfSymbol64;
use object::{LittleEndian, Object, ObjectSection, ObjectSymbol, SectionFlags, SectionKind, SymbolKind, elf};

use super::elf::{ElfFile, parse, set_word};
use super::{read, write};

/// Where a file has the place of its section headers, and the size of one.
const HEADERS: usize = 0x28;
const HEADER: usize = 64;
/// Where a header has the place and the size of its section.
const PLACE: usize = 0x18;
const SIZE: usize = 0x20;

/// How many bytes there are behind a variable of so many bytes.
pub(crate) fn redzone_size(size: u64) -> u64 {
    (size / 4).clamp(32, 1024).next_multiple_of(32)
}

/// Leaves room behind each variable of a compiled file.
///
/// # Errors
/// If it is no such file, or can't be written.
pub(super) fn add_redzones(path: &Path) -> Result<(), String> {
    let mut bytes = read(path)?;
    let larger = sections_of_variables(&parse(&bytes, path)?);
    let headers = word(&bytes, HEADERS)? as usize;
    for Section { index, content, size } in larger {
        let header = headers + index * HEADER;
        let room = redzone_size(size);
        if let Some((start, end)) = content {
            // The section gets a new place, where there is room.
            bytes.resize(bytes.len().next_multiple_of(64), 0);
            let place = bytes.len() as u64;
            let content = bytes.get(start..end).ok_or("a section is cut off")?.to_vec();
            bytes.extend(content);
            bytes.extend(std::iter::repeat_n(0, room as usize));
            set_word(&mut bytes, header + PLACE, place)?;
        }
        set_word(&mut bytes, header + SIZE, size + room)?;
    }
    write(path, bytes)
}

struct Section {
    index: usize,
    /// Where its content is in the file; none if it is all zeros.
    content: Option<(usize, usize)>,
    size: u64,
}

/// The sections that hold one variable each.
fn sections_of_variables(file: &ElfFile<'_>) -> Vec<Section> {
    let alone = |symbol: &ElfSymbol64<'_, '_, LittleEndian>, size: u64| {
        symbol.kind() == SymbolKind::Data && symbol.address() == 0 && symbol.size() == size
    };
    let sections = file.sections().filter(|section| {
        let SectionFlags::Elf { sh_flags, .. } = section.flags() else { return false };
        let name = section.name().unwrap_or_default();
        sh_flags & elf::SHF_WRITE == elf::SHF_WRITE
            && (name.starts_with(".data.") || name.starts_with(".bss."))
            && !name.starts_with(".data.rel.ro")
            && matches!(section.kind(), SectionKind::Data | SectionKind::UninitializedData)
    });
    let of_variable = sections.filter(|section| {
        let mut inside = file.symbols().filter(|symbol| symbol.section_index() == Some(section.index()));
        inside.any(|symbol| alone(&symbol, section.size()))
    });
    let section = |section: object::read::elf::ElfSection64<'_, '_, LittleEndian>| Section {
        index: section.index().0,
        content: section.file_range().map(|(start, len)| (start as usize, (start + len) as usize)),
        size: section.size(),
    };
    of_variable.map(section).collect()
}

fn word(bytes: &[u8], at: usize) -> Result<u64, String> {
    let field = bytes.get(at..at + 8).and_then(|field| field.try_into().ok());
    field.map(u64::from_le_bytes).ok_or_else(|| "the compiler made no object file".to_owned())
}
