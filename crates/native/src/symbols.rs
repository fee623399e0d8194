//! Places and names for addresses, from the debugging information of a program.
//!
//! Nothing is read before somebody asks: a search that finds no failure never does. Addresses are relative to where the
//! object is loaded, as they are in its file.

mod types;
mod values;

use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use gimli::{AttributeValue, DebuggingInformationEntry, Dwarf, EndianReader, LittleEndian, Operation};
use mazurka_program::Place;
use object::{Object, ObjectSection, ObjectSymbol, SymbolKind};

use crate::runtime::Symbolizer;
use types::{Reading, TypeId, Types};

/// Sections of the file.
type Bytes = EndianReader<LittleEndian, Rc<[u8]>>;

/// Places and names of one object.
pub struct Symbols {
    object: PathBuf,
    /// What files are named relative to, if they are below it.
    directory: PathBuf,
    loaded: OnceCell<Option<Loaded>>,
}

struct Loaded {
    context: addr2line::Context<Bytes>,
    variables: Vec<Variable>,
    types: Types,
    /// Functions and variables of which there is only a name: address, size, name; sorted.
    symbols: Vec<(u64, u64, String)>,
}

/// A variable with a fixed address.
struct Variable {
    address: u64,
    size: u64,
    name: String,
    kind: TypeId,
}

impl Symbols {
    /// Of an object. It need not be readable: then nothing has a name.
    pub fn new(object: &Path) -> Symbols {
        let directory = std::env::current_dir().unwrap_or_default();
        Symbols { object: object.to_owned(), directory, loaded: OnceCell::new() }
    }

    fn loaded(&self) -> Option<&Loaded> {
        self.loaded.get_or_init(|| Loaded::read(&self.object)).as_ref()
    }

    /// Where in the source the instruction before an address is.
    pub fn place(&self, address: u64) -> Option<Place> {
        let location = self.loaded()?.context.find_location(address.checked_sub(1)?).ok()??;
        let file = location.file?;
        let file = Path::new(file)
            .strip_prefix(&self.directory)
            .map_or(file.to_owned(), |file| file.display().to_string());
        Some(Place { file, line: location.line?, column: location.column.unwrap_or(1).max(1) })
    }

    /// The name of the variable, field or element of so many bytes at an address.
    pub fn name(&self, address: u64, size: u64) -> Option<String> {
        let loaded = self.loaded()?;
        let Some(variable) = loaded.variable(address) else { return loaded.symbol(address) };
        let part = loaded.types.part(variable.kind, address - variable.address, size);
        Some(format!("{}{}", variable.name, part.path))
    }

    /// The bytes at an address as a value of what is there.
    pub fn value(&self, address: u64, bytes: &[u8]) -> String {
        let known = self.loaded().and_then(|loaded| {
            let variable = loaded.variable(address)?;
            let part = loaded.types.part(variable.kind, address - variable.address, bytes.len() as u64);
            Some(loaded.types.value(part.kind, bytes))
        });
        known.unwrap_or_else(|| Types::default().value(None, bytes))
    }

    /// The name of the function at an address.
    pub fn function(&self, address: u64) -> Option<String> {
        let loaded = self.loaded()?;
        let frames = loaded.context.find_frames(address).skip_all_loads();
        let named = frames.ok().and_then(|mut frames| {
            let frame = frames.next().ok()??;
            let function = frame.function?;
            Some(function.raw_name().ok()?.into_owned())
        });
        let name = named.or_else(|| loaded.symbol(address))?;
        Some(crate::driver::readable(&name))
    }
}

impl Symbolizer for Symbols {
    fn place(&self, address: u64) -> Option<Place> {
        Symbols::place(self, address)
    }

    fn name(&self, address: u64, size: u64) -> Option<String> {
        Symbols::name(self, address, size)
    }

    fn value(&self, address: u64, bytes: &[u8]) -> Option<String> {
        Some(Symbols::value(self, address, bytes))
    }

    fn function(&self, address: u64) -> Option<String> {
        Symbols::function(self, address)
    }
}

impl Loaded {
    fn read(path: &Path) -> Option<Loaded> {
        let bytes = std::fs::read(path).ok()?;
        let file = object::File::parse(bytes.as_slice()).ok()?;
        let section = |id: gimli::SectionId| -> Result<Bytes, gimli::Error> {
            let section = file.section_by_name(id.name());
            let data = section.and_then(|section| section.uncompressed_data().ok()).unwrap_or_default();
            Ok(EndianReader::new(Rc::from(data.as_ref()), LittleEndian))
        };
        let (mut variables, mut types) = (Vec::new(), Types::default());
        let dwarf = Dwarf::load(section).ok()?;
        let mut headers = dwarf.units();
        let mut number = 0;
        while let Ok(Some(header)) = headers.next() {
            if let Ok(unit) = dwarf.unit(header) {
                let reading = Reading { dwarf: &dwarf, unit: &unit, number };
                // A unit that can't be read to its end has fewer names.
                let _ = reading.variables(&mut types, &mut variables);
            }
            number += 1;
        }
        variables.sort_by_key(|variable| (variable.address, variable.size));
        let named = |symbol: object::Symbol<'_, '_>| {
            let known =
                matches!(symbol.kind(), SymbolKind::Text | SymbolKind::Data) && symbol.is_definition();
            known.then(|| Some((symbol.address(), symbol.size(), symbol.name().ok()?.to_owned()))).flatten()
        };
        let mut symbols: Vec<(u64, u64, String)> = file.symbols().filter_map(named).collect();
        symbols.sort();
        let context = addr2line::Context::from_dwarf(dwarf).ok()?;
        Some(Loaded { context, variables, types, symbols })
    }

    fn variable(&self, address: u64) -> Option<&Variable> {
        let after = self.variables.partition_point(|variable| variable.address <= address);
        let has = |variable: &&Variable| address < variable.address + variable.size.max(1);
        self.variables[..after].last().filter(has)
    }

    fn symbol(&self, address: u64) -> Option<String> {
        let after = self.symbols.partition_point(|(start, ..)| *start <= address);
        let (start, size, name) = self.symbols[..after].last()?;
        match address - start {
            0 => Some(name.clone()),
            distance if distance < *size => Some(format!("{name}+{distance}")),
            _ => None,
        }
    }
}

impl Reading<'_> {
    /// Adds the variables of the unit that have a fixed address.
    fn variables(&self, types: &mut Types, variables: &mut Vec<Variable>) -> Result<(), gimli::Error> {
        let mut entries = self.unit.entries();
        // The functions around an entry, to tell their static variables apart.
        let mut functions: Vec<(isize, String)> = Vec::new();
        while let Some(entry) = entries.next_dfs()? {
            while functions.last().is_some_and(|(depth, _)| *depth >= entry.depth()) {
                functions.pop();
            }
            if entry.tag() == gimli::DW_TAG_subprogram {
                let name = self.text(entry, gimli::DW_AT_name).unwrap_or_default();
                functions.push((entry.depth(), name));
            }
            if entry.tag() != gimli::DW_TAG_variable {
                continue;
            }
            let Some(address) = self.address(entry) else { continue };
            let declaration = match entry.attr_value(gimli::DW_AT_specification) {
                Some(AttributeValue::UnitRef(offset)) => self.unit.entry(offset).ok(),
                _ => None,
            };
            let of = |name| entry.attr_value(name).or_else(|| declaration.as_ref()?.attr_value(name));
            let text = |name| self.text(entry, name).or_else(|| self.text(declaration.as_ref()?, name));
            let Some(name) = text(gimli::DW_AT_name) else { continue };
            let kind = self.type_of(types, of(gimli::DW_AT_type));
            let size = types.get(kind).map_or(0, |kind| kind.size);
            let name = match functions.last() {
                Some((_, function)) if !function.is_empty() => format!("{function}::{name}"),
                _ => name,
            };
            variables.push(Variable { address, size, name, kind });
        }
        Ok(())
    }

    fn address(&self, entry: &DebuggingInformationEntry<Bytes>) -> Option<u64> {
        let expression = entry.attr_value(gimli::DW_AT_location)?.exprloc_value()?;
        let mut operations = expression.operations(self.unit.encoding());
        let first = operations.next().ok()??;
        // More operations: a thread's own variable, or something stranger.
        if operations.next().ok()?.is_some() {
            return None;
        }
        match first {
            Operation::Address { address } => Some(address),
            Operation::AddressIndex { index } => self.dwarf.address(self.unit, index).ok(),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
