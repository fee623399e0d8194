//! Places and names for addresses, from the debugging information of a program.
//!
//! Nothing is read before somebody asks: a search that finds no failure never does. Addresses are relative to where the
//! object is loaded, as they are in its file.

mod allocation;
mod functions;
mod mangled;
mod types;
mod unwind;
mod values;

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use gimli::{AttributeValue, DebuggingInformationEntry, Dwarf, EndianReader, LittleEndian, Operation};
use mazurka_program::Place;
use object::{Object, ObjectSection, ObjectSymbol, SymbolKind};

use crate::driver::readable;
use crate::runtime::{Frame, Spot, Symbolizer};
use allocation::Allocation;
use functions::{Function, Scopes};
pub(crate) use mangled::callable;
use types::{Part, Reading, TypeId, Types};
use unwind::Unwinding;

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
    /// Sorted by where they begin.
    functions: Vec<Function>,
    unwinding: Unwinding,
    /// The texts of files that were asked for, by lines.
    files: RefCell<HashMap<String, Rc<[String]>>>,
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

    /// The name of the variable, field or element of so many bytes at a fixed address.
    pub fn name(&self, address: u64, size: u64) -> Option<String> {
        self.name_at(&Spot::Variable { address }, size)
    }

    fn name_at(&self, spot: &Spot, size: u64) -> Option<String> {
        let loaded = self.loaded()?;
        match (loaded.part(spot, size), spot) {
            (Some((name, part)), _) => Some(format!("{name}{}", part.path)),
            (None, Spot::Variable { address }) => loaded.symbol(*address).map(|name| readable(&name)),
            (None, _) => None,
        }
    }

    /// The bytes at a fixed address as a value of what is there.
    pub fn value(&self, address: u64, bytes: &[u8]) -> String {
        self.value_at(&Spot::Variable { address }, bytes)
            .unwrap_or_else(|| Types::default().value(None, bytes))
    }

    fn value_at(&self, spot: &Spot, bytes: &[u8]) -> Option<String> {
        let loaded = self.loaded()?;
        let (_, part) = loaded.part(spot, bytes.len() as u64)?;
        Some(loaded.types.value(part.kind, bytes))
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

    fn name(&self, spot: &Spot, size: u64) -> Option<String> {
        self.name_at(spot, size)
    }

    fn value(&self, spot: &Spot, bytes: &[u8]) -> Option<String> {
        self.value_at(spot, bytes)
    }

    fn symbol(&self, address: u64) -> Option<String> {
        self.loaded()?.symbol(address)
    }

    fn caller(&self, frame: Frame, read: &dyn Fn(u64) -> Option<u64>) -> Option<Frame> {
        self.loaded()?.unwinding.caller(frame, read)
    }

    fn function(&self, address: u64) -> Option<String> {
        Symbols::function(self, address)
    }
}

impl Loaded {
    fn read(path: &Path) -> Option<Loaded> {
        let bytes = std::fs::read(path).ok()?;
        let file = object::File::parse(bytes.as_slice()).ok()?;
        let section =
            |id: gimli::SectionId| -> Result<Bytes, gimli::Error> { Ok(section_bytes(&file, id.name())) };
        let (mut variables, mut functions, mut types) = (Vec::new(), Vec::new(), Types::default());
        let unwinding = Unwinding::new(&file, section_bytes(&file, ".eh_frame"));
        let dwarf = Dwarf::load(section).ok()?;
        let mut headers = dwarf.units();
        let mut number = 0;
        while let Ok(Some(header)) = headers.next() {
            if let Ok(unit) = dwarf.unit(header) {
                let reading = Reading { dwarf: &dwarf, unit: &unit, number };
                // A unit that can't be read to its end has fewer names.
                let _ = reading.variables(&mut types, &mut variables, &mut functions);
                reading.read_pointees(&mut types);
            }
            number += 1;
        }
        variables.sort_by_key(|variable| (variable.address, variable.size));
        functions.sort_by_key(|function| function.range);
        let named = |symbol: object::Symbol<'_, '_>| {
            let known =
                matches!(symbol.kind(), SymbolKind::Text | SymbolKind::Data) && symbol.is_definition();
            known.then(|| Some((symbol.address(), symbol.size(), symbol.name().ok()?.to_owned()))).flatten()
        };
        let mut symbols: Vec<(u64, u64, String)> = file.symbols().filter_map(named).collect();
        symbols.sort();
        let context = addr2line::Context::from_dwarf(dwarf).ok()?;
        let files = RefCell::default();
        Some(Loaded { context, variables, types, functions, unwinding, files, symbols })
    }

    /// What a spot is a part of, and which part.
    fn part(&self, spot: &Spot, size: u64) -> Option<(String, Part)> {
        match *spot {
            Spot::Variable { address } => {
                let variable = self.variable(address)?;
                let part = self.types.part(variable.kind, address - variable.address, size);
                Some((variable.name.clone(), part))
            }
            Spot::Local { frame, address } => {
                let (local, offset) =
                    self.function_at(frame.place)?.local(frame.place, frame.base, address)?;
                Some((local.name.clone(), self.types.part(local.kind, offset, size)))
            }
            Spot::Block { place, size: all, offset } => {
                let (name, kind) = self.allocated(place, all)?;
                let each = self.types.get(kind)?.size;
                let mut part = self.types.part(kind, offset % each, size);
                if each < all {
                    part.path = format!("[{}]{}", offset / each, part.path);
                }
                Some((name, part))
            }
        }
    }

    /// The function that goes on at a place.
    fn function_at(&self, place: u64) -> Option<&Function> {
        let after = self.functions.partition_point(|function| function.range.0 < place);
        self.functions[..after].last().filter(|function| place <= function.range.1)
    }

    /// What a program calls a block of so many bytes that it allocated at a place, and what is in it: one, or several in a
    /// row. The line must say it, and the sizes must agree.
    fn allocated(&self, place: u64, size: u64) -> Option<(String, TypeId)> {
        let location = self.context.find_location(place.checked_sub(1)?).ok()??;
        let (file, line) = (location.file?, location.line? as usize);
        let lines = self.files.borrow_mut().entry(file.to_owned()).or_insert_with(|| lines_of(file)).clone();
        let allocation = Allocation::of(lines.get(line.checked_sub(1)?)?)?;
        let fits = |&kind: &TypeId| {
            self.types.get(kind).is_some_and(|found| found.size > 0 && size.is_multiple_of(found.size))
        };
        let variable = allocation.variable.as_deref();
        let local = || {
            let locals = &self.function_at(place)?.locals;
            self.types.pointee(locals.iter().rfind(|local| Some(local.name.as_str()) == variable)?.kind)
        };
        let global = || {
            self.types
                .pointee(self.variables.iter().find(|known| Some(known.name.as_str()) == variable)?.kind)
        };
        let member = || variable.and_then(|name| self.types.member_pointees(name).find(fits));
        let pointee = local().or_else(global).or_else(member).filter(fits);
        let named =
            || allocation.kind.as_deref().and_then(|name| self.types.named(name).iter().copied().find(fits));
        match (pointee, variable) {
            (Some(kind), Some(name)) => Some((name.to_owned(), kind)),
            _ => named().and_then(|kind| Some((allocation.kind.clone()?, kind))),
        }
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
    fn variables(
        &self,
        types: &mut Types,
        variables: &mut Vec<Variable>,
        known: &mut Vec<Function>,
    ) -> Result<(), gimli::Error> {
        let mut entries = self.unit.entries();
        let mut scopes = Scopes::default();
        // The functions around an entry, to tell their static variables apart.
        let mut functions: Vec<(isize, String)> = Vec::new();
        while let Some(entry) = entries.next_dfs()? {
            scopes.leave(entry.depth());
            self.note_function(entry, &mut scopes, types, known);
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

/// The bytes of a section; none if there is no such section.
fn section_bytes(file: &object::File<'_>, name: &str) -> Bytes {
    let section = file.section_by_name(name);
    let data = section.and_then(|section| section.uncompressed_data().ok()).unwrap_or_default();
    EndianReader::new(Rc::from(data.as_ref()), LittleEndian)
}

/// The lines of a file; none if it can't be read.
fn lines_of(file: &str) -> Rc<[String]> {
    std::fs::read_to_string(file).unwrap_or_default().lines().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests;
