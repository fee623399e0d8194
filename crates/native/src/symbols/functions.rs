//! Functions and their variables: where on the stack a variable is while its function runs.

use std::collections::HashMap;

use gimli::{AttributeValue, DebuggingInformationEntry, Operation, UnitOffset, X86_64};

use super::Bytes;
use super::types::{TypeId, Types, UnitReader, reference};

/// Classes of the C++ library that allocate what they were given.
const ALLOCATORS: [&str; 2] = ["__new_allocator<", "new_allocator<"];

/// A function, as far as its variables have places relative to the frame pointer.
#[derive(Debug)]
pub struct Function {
    pub(super) range: (u64, u64),
    /// From `rbp` to what the places of variables are relative to.
    base: i64,
    pub(super) locals: Vec<Local>,
    /// What it allocates, if it is one of the C++ library that was made to allocate one thing.
    pub(super) allocates: Option<(String, TypeId)>,
}

/// A variable or parameter of a function.
#[derive(Debug)]
pub struct Local {
    offset: i64,
    pub(super) size: u64,
    pub(super) name: String,
    pub(super) kind: TypeId,
    /// Where in the code it is there.
    scope: (u64, u64),
}

impl Function {
    /// The variable that has an address, with where in it that is; for a frame that goes on at some place.
    pub fn local(&self, place: u64, frame: u64, address: u64) -> Option<(&Local, u64)> {
        let found = self.locals.iter().filter_map(|local| {
            let start = frame.checked_add_signed(self.base.checked_add(local.offset)?)?;
            let inside = address.checked_sub(start).filter(|&at| at < local.size.max(1))?;
            let there = local.scope.0 < place && place <= local.scope.1;
            there.then_some((local, inside))
        });
        // Of those in one place, the one of the innermost block.
        found.min_by_key(|(local, _)| local.scope.1 - local.scope.0)
    }
}

/// The functions and blocks around the present entry of a unit that is read, with how deep they are.
#[derive(Debug, Default)]
pub struct Scopes {
    /// Of functions and blocks: depth, range of code.
    open: Vec<(isize, (u64, u64))>,
    /// The function that is being read: its depth and its number.
    function: Option<(isize, usize)>,
    /// The classes around the entry that allocate what they were given, with how deep they are.
    allocators: Vec<(isize, UnitOffset)>,
    /// Their functions, by the entry that declares one.
    allocating: HashMap<UnitOffset, UnitOffset>,
}

impl Scopes {
    /// An entry is come to: those that do not contain it are left.
    pub fn leave(&mut self, depth: isize) {
        while self.open.last().is_some_and(|scope| scope.0 >= depth) {
            self.open.pop();
        }
        self.function = self.function.filter(|function| function.0 < depth);
        while self.allocators.last().is_some_and(|class| class.0 >= depth) {
            self.allocators.pop();
        }
    }
}

impl UnitReader<'_> {
    /// Notes an entry that is a function, a block, or a variable of one.
    pub fn note_function(
        &self,
        entry: &DebuggingInformationEntry<Bytes>,
        scopes: &mut Scopes,
        types: &mut Types,
        functions: &mut Vec<Function>,
    ) {
        match entry.tag() {
            gimli::DW_TAG_subprogram => {
                if let Some(&(_, class)) = scopes.allocators.last()
                    && self.text(entry, gimli::DW_AT_name).as_deref() == Some("allocate")
                {
                    scopes.allocating.insert(entry.offset(), class);
                }
                if let (Some(range), Some(base)) = (self.range(entry), self.frame_base(entry)) {
                    scopes.open.push((entry.depth(), range));
                    scopes.function = Some((entry.depth(), functions.len()));
                    let template = self.allocating_template(entry, scopes);
                    let allocates = template.and_then(|template| self.allocates(types, template));
                    functions.push(Function { range, base, locals: Vec::new(), allocates });
                }
            }
            gimli::DW_TAG_class_type | gimli::DW_TAG_structure_type => {
                let name = self.text(entry, gimli::DW_AT_name).unwrap_or_default();
                if ALLOCATORS.iter().any(|allocator| name.starts_with(allocator)) {
                    scopes.allocators.push((entry.depth(), entry.offset()));
                }
            }
            gimli::DW_TAG_lexical_block => {
                if let Some(range) = self.range(entry) {
                    scopes.open.push((entry.depth(), range));
                }
            }
            gimli::DW_TAG_variable | gimli::DW_TAG_formal_parameter => {
                let Some(function) = scopes.function.and_then(|(_, at)| functions.get_mut(at)) else {
                    return;
                };
                let Some(&(_, scope)) = scopes.open.last() else { return };
                let Some(offset) = self.frame_offset(entry) else { return };
                let declared = self.declared(types, entry, gimli::DW_AT_abstract_origin);
                let Some((name, kind, size)) = declared else { return };
                function.locals.push(Local { offset, size, name, kind, scope });
            }
            _ => {}
        }
    }

    /// The template that says what a function allocates: that of its class, or its own.
    fn allocating_template(
        &self,
        entry: &DebuggingInformationEntry<Bytes>,
        scopes: &Scopes,
    ) -> Option<UnitOffset> {
        let declared = reference(entry, gimli::DW_AT_specification);
        let class = declared.and_then(|declared| scopes.allocating.get(&declared).copied());
        class.or_else(|| {
            let name = self.text(entry, gimli::DW_AT_name)?;
            name.starts_with("make_unique<").then(|| entry.offset())
        })
    }

    fn range(&self, entry: &DebuggingInformationEntry<Bytes>) -> Option<(u64, u64)> {
        let low = match entry.attr_value(gimli::DW_AT_low_pc)? {
            AttributeValue::Addr(address) => address,
            AttributeValue::DebugAddrIndex(index) => self.dwarf.address(self.unit, index).ok()?,
            _ => return None,
        };
        let high = match entry.attr_value(gimli::DW_AT_high_pc)? {
            AttributeValue::Addr(address) => address,
            value => low.checked_add(value.udata_value()?)?,
        };
        Some((low, high))
    }

    /// What places of variables are relative to: from `rbp`.
    fn frame_base(&self, entry: &DebuggingInformationEntry<Bytes>) -> Option<i64> {
        let expression = entry.attr_value(gimli::DW_AT_frame_base)?.exprloc_value()?;
        match expression.operations(self.unit.encoding()).next().ok()?? {
            // With a frame pointer: the saved one and the return address are in between.
            Operation::CallFrameCFA => Some(16),
            Operation::Register { register } if register == X86_64::RBP => Some(0),
            Operation::RegisterOffset { register, offset, .. } if register == X86_64::RBP => Some(offset),
            _ => None,
        }
    }

    fn frame_offset(&self, entry: &DebuggingInformationEntry<Bytes>) -> Option<i64> {
        match self.only_operation(entry)? {
            Operation::FrameOffset { offset } => Some(offset),
            _ => None,
        }
    }
}
