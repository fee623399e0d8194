//! Places and names for addresses, from the debugging information of a program.
//!
//! Nothing is read before somebody asks: a search that finds no failure never does. Addresses are relative to
//! where the object is loaded, as they are in its file.

mod allocation;
mod functions;
mod mangled;
mod storage;
mod types;
mod unwind;
mod values;

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use gimli::{DebuggingInformationEntry, Dwarf, EndianReader, LittleEndian, Operation};
use mazurka_program::Place;
use object::{Object, ObjectSection, ObjectSymbol, SymbolKind};

use crate::driver::readable;
use allocation::Allocation;
use functions::{Function, Scopes};
pub(crate) use mangled::callable;
pub use storage::{Frame, Storage};
use types::{Part, TypeId, Types, UnitReader};
use unwind::UnwindTables;
pub(crate) use values::sign_extend;

/// Sections of the file.
type Bytes = EndianReader<LittleEndian, Rc<[u8]>>;

/// Places and names of one object.
pub struct Symbols {
    object: PathBuf,
    /// What files are named relative to, if they are below it.
    directory: PathBuf,
    loaded: OnceCell<Option<DebugInfo>>,
}

struct DebugInfo {
    context: addr2line::Context<Bytes>,
    variables: Vec<Variable>,
    types: Types,
    /// Sorted by where they begin.
    functions: Vec<Function>,
    unwind_tables: UnwindTables,
    /// Places and names of functions that were asked for, by address.
    places: RefCell<HashMap<u64, Option<Place>>>,
    names: RefCell<HashMap<u64, Option<String>>>,
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

    fn loaded(&self) -> Option<&DebugInfo> {
        self.loaded.get_or_init(|| DebugInfo::read(&self.object)).as_ref()
    }

    /// Where in the source the instruction before an address is.
    pub fn place(&self, address: u64) -> Option<Place> {
        let loaded = self.loaded()?;
        let find = || self.find_place(loaded, address);
        loaded.places.borrow_mut().entry(address).or_insert_with(find).clone()
    }

    fn find_place(&self, loaded: &DebugInfo, address: u64) -> Option<Place> {
        let location = loaded.context.find_location(address.checked_sub(1)?).ok()??;
        let file = location.file?;
        let file = Path::new(file)
            .strip_prefix(&self.directory)
            .map_or(file.to_owned(), |file| file.display().to_string());
        Some(Place { file, line: location.line?, column: location.column.unwrap_or(1).max(1) })
    }

    /// The name of the variable, field or element of so many bytes.
    pub fn name(&self, storage: &Storage, size: u64) -> Option<String> {
        let loaded = self.loaded()?;
        match (loaded.part(storage, size), storage) {
            (Some((name, part)), _) => Some(format!("{name}{}", part.path)),
            (None, Storage::Static { address }) => loaded.symbol(*address).map(|name| readable(&name)),
            (None, _) => None,
        }
    }

    /// Bytes as a value of what is there.
    pub fn value(&self, storage: &Storage, bytes: &[u8]) -> Option<String> {
        let loaded = self.loaded()?;
        let (_, part) = loaded.part(storage, bytes.len() as u64)?;
        Some(loaded.types.value(part.kind, bytes))
    }

    /// The name of the function at an address.
    pub fn function(&self, address: u64) -> Option<String> {
        let loaded = self.loaded()?;
        loaded.names.borrow_mut().entry(address).or_insert_with(|| loaded.function_name(address)).clone()
    }

    /// The name of what begins at an address or has it, as the linker knows it.
    pub fn symbol(&self, address: u64) -> Option<String> {
        self.loaded()?.symbol(address)
    }

    /// The function that called one; `read` gives 8 bytes of the stack.
    pub fn caller(&self, frame: Frame, read: &dyn Fn(u64) -> Option<u64>) -> Option<Frame> {
        self.loaded()?.unwind_tables.caller(frame, read)
    }
}

impl fmt::Debug for Symbols {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Symbols").field("object", &self.object).finish_non_exhaustive()
    }
}

impl DebugInfo {
    fn read(path: &Path) -> Option<DebugInfo> {
        let bytes = std::fs::read(path).ok()?;
        let file = object::File::parse(bytes.as_slice()).ok()?;
        let section =
            |id: gimli::SectionId| -> Result<Bytes, gimli::Error> { Ok(section_bytes(&file, id.name())) };
        let (mut variables, mut functions, mut types) = (Vec::new(), Vec::new(), Types::default());
        let unwind_tables = UnwindTables::new(&file, section_bytes(&file, ".eh_frame"));
        let dwarf = Dwarf::load(section).ok()?;
        let mut headers = dwarf.units();
        let mut number = 0;
        while let Ok(Some(header)) = headers.next() {
            if let Ok(unit) = dwarf.unit(header) {
                let reader = UnitReader { dwarf: &dwarf, unit: &unit, number };
                // A unit that can't be read to its end has fewer names.
                let _ = reader.variables(&mut types, &mut variables, &mut functions);
                reader.read_pointees(&mut types);
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
        Some(DebugInfo {
            context,
            variables,
            types,
            functions,
            unwind_tables,
            places: RefCell::default(),
            names: RefCell::default(),
            files: RefCell::default(),
            symbols,
        })
    }

    fn function_name(&self, address: u64) -> Option<String> {
        let frames = self.context.find_frames(address).skip_all_loads();
        let named = frames.ok().and_then(|mut frames| {
            let function = frames.next().ok()??.function?;
            Some(function.raw_name().ok()?.into_owned())
        });
        named.or_else(|| self.symbol(address)).map(|name| readable(&name))
    }

    /// What some memory is a part of, and which part.
    fn part(&self, storage: &Storage, size: u64) -> Option<(String, Part)> {
        match *storage {
            Storage::Static { address } => {
                let variable = self.variable(address)?;
                let part = self.types.part(variable.kind, address - variable.address, size);
                Some((variable.name.clone(), part))
            }
            Storage::Automatic { frame, address } => {
                let (local, offset) =
                    self.function_at(frame.place)?.local(frame.place, frame.base, address)?;
                Some((local.name.clone(), self.types.part(local.kind, offset, size)))
            }
            Storage::Allocated { place, callee, size: all, offset } => {
                let (name, kind) = self.allocated(place, callee, all)?;
                let each = self.types.get(kind)?.size;
                if self.types.ends_in_array(kind) {
                    // What is behind belongs to that.
                    return Some((name, self.types.part(kind, offset, size)));
                }
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

    /// What a program calls a block of so many bytes that it allocated at a place, and what is in it: one, or
    /// several in a row. The line must say it, or a template that the library is made of, and the sizes must
    /// agree.
    fn allocated(&self, place: u64, callee: u64, size: u64) -> Option<(String, TypeId)> {
        let made = self.function_at(place).and_then(|function| function.allocates.as_ref());
        let holds = |(_, kind): &&(String, TypeId)| {
            self.types.get(*kind).is_some_and(|kind| kind.size > 0 && size.is_multiple_of(kind.size))
        };
        if let Some(made) = made.filter(holds) {
            return Some(made.clone());
        }
        let location = self.context.find_location(place.checked_sub(1)?).ok()??;
        let (file, line) = (location.file?, location.line? as usize);
        let lines = self.files.borrow_mut().entry(file.to_owned()).or_insert_with(|| lines_of(file)).clone();
        // A function that allocates for its caller.
        let own = if callee == place { None } else { self.function_name(callee) };
        let allocation = Allocation::of(lines.get(line.checked_sub(1)?)?, own.as_deref())?;
        let fits = |&kind: &TypeId| {
            let found = self.types.get(kind).map_or(0, |found| found.size);
            found > 0 && (size.is_multiple_of(found) || self.types.ends_in_array(kind) && size > found)
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

impl UnitReader<'_> {
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
            let Some((name, kind, size)) = self.declared(types, entry, gimli::DW_AT_specification) else {
                continue;
            };
            let name = match functions.last() {
                Some((_, function)) if !function.is_empty() => format!("{function}::{name}"),
                _ => name,
            };
            variables.push(Variable { address, size, name, kind });
        }
        Ok(())
    }

    fn address(&self, entry: &DebuggingInformationEntry<Bytes>) -> Option<u64> {
        match self.only_operation(entry)? {
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
