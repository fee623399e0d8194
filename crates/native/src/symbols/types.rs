//! Types of variables from the debugging information: only what naming parts and writing values needs.

use std::collections::HashMap;

use gimli::{AttributeValue, DebuggingInformationEntry, DwAt, Dwarf, Operation, Reader, Unit, UnitOffset};

use super::Bytes;

/// A type, by its place in [`Types`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TypeId(usize);

/// What a type is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Numbers with a sign.
    Signed,
    /// Numbers without.
    Unsigned,
    /// Characters.
    Char,
    /// Truth values.
    Bool,
    /// Numbers with a fraction.
    Float,
    /// Addresses; of what is known by this number.
    Pointer(usize),
    /// Names for numbers.
    Enum(Vec<(i64, String)>),
    /// Several things, one after the other or in one place.
    Record(Vec<Member>),
    /// Several things of one type.
    Array(TypeId),
    /// Something else.
    Opaque,
}

/// A part of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its name, if it has one that is for people.
    pub name: Option<String>,
    /// Where it begins.
    pub offset: u64,
    /// What it is.
    pub kind: TypeId,
    /// Of a bit-field, which has no address of its own: how many bytes have bits of it.
    pub bits: Option<u64>,
}

/// A type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Type {
    /// What it is.
    pub kind: Kind,
    /// Its size in bytes; 0 if that is not known.
    pub size: u64,
}

/// All types that were met.
#[derive(Debug, Default)]
pub struct Types {
    types: Vec<Type>,
    known: HashMap<(usize, usize), TypeId>,
    /// What pointers point to: read after all else, since types may point to themselves.
    pointees: Vec<Option<TypeId>>,
    waiting: Vec<(usize, UnitOffset)>,
    /// Records and new names of types, by name.
    names: HashMap<String, Vec<TypeId>>,
}

/// A part of something of a type: its name, and what it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// What to put behind the name of the whole: `.slots[2].value`.
    pub path: String,
    /// The type, if the part is all of it.
    pub kind: Option<TypeId>,
}

impl Types {
    /// The type of a number.
    pub fn get(&self, id: TypeId) -> Option<&Type> {
        self.types.get(id.0)
    }

    /// What a pointer of a type points to.
    pub fn pointee(&self, id: TypeId) -> Option<TypeId> {
        match self.get(id)?.kind {
            Kind::Pointer(pointer) => self.pointees.get(pointer).copied().flatten(),
            _ => None,
        }
    }

    /// Whether the last member of a record is an array that is as long as its memory.
    pub fn ends_in_array(&self, id: TypeId) -> bool {
        let Some(Type { kind: Kind::Record(members), .. }) = self.get(id) else { return false };
        let last = members.iter().max_by_key(|member| member.offset);
        let is_open = |kind: &Type| matches!(kind.kind, Kind::Array(_)) && kind.size == 0;
        last.is_some_and(|last| self.get(last.kind).is_some_and(is_open))
    }

    /// The types of a name.
    pub fn named(&self, name: &str) -> &[TypeId] {
        self.names.get(name).map_or(&[], Vec::as_slice)
    }

    /// What members of a name point to.
    pub fn member_pointees(&self, name: &str) -> impl Iterator<Item = TypeId> {
        let records = self.types.iter().filter_map(|found| match &found.kind {
            Kind::Record(members) => Some(members),
            _ => None,
        });
        let named = records.flatten().filter(move |member| member.name.as_deref() == Some(name));
        named.filter_map(|member| self.pointee(member.kind))
    }

    /// The part of so many bytes at an offset of something of a type.
    pub fn part(&self, whole: TypeId, offset: u64, size: u64) -> Part {
        let (mut id, mut offset, mut path) = (whole, offset, String::new());
        while let Some(Type { kind, size: all }) = self.get(id) {
            let is_whole = offset == 0 && size >= *all && *all > 0;
            match kind {
                // A record may consist of one thing.
                Kind::Record(members) if is_whole && self.member(members, 0, size).is_none() => break,
                // So may an array.
                Kind::Array(element)
                    if is_whole && self.get(*element).is_none_or(|element| element.size < *all) =>
                {
                    break;
                }
                Kind::Array(element) => {
                    let each = self.get(*element).map_or(0, |element| element.size);
                    if each == 0 || (offset % each + size > each && size > each) {
                        break;
                    }
                    path += &format!("[{}]", offset / each);
                    (id, offset) = (*element, offset % each);
                }
                Kind::Record(members) => {
                    let Some(member) = self.member(members, offset, size) else {
                        let bits = bit_fields(members, offset, size);
                        if !bits.is_empty() {
                            return Part { path: format!("{path}.{bits}"), kind: None };
                        }
                        break;
                    };
                    if let Some(name) = &member.name {
                        path += &format!(".{name}");
                    }
                    (id, offset) = (member.kind, offset - member.offset);
                }
                _ => break,
            }
        }
        let whole = offset == 0 && self.get(id).is_some_and(|found| found.size == size);
        if offset > 0 {
            path += &format!("+{offset}");
        }
        Part { path, kind: whole.then_some(id) }
    }

    /// The member that has some bytes. Of those of a union, best is one that has a part of just these bytes,
    /// then the smallest.
    fn member<'m>(&self, members: &'m [Member], offset: u64, size: u64) -> Option<&'m Member> {
        let size_of = |member: &Member| match self.get(member.kind).map_or(0, |kind| kind.size) {
            // Of a class that is defined elsewhere, or of an array that is as long as its memory, it is known
            // only where it ends.
            0 => {
                let behind = members.iter().map(|other| other.offset).filter(|&at| at > member.offset);
                behind.min().map_or(u64::MAX, |end| end - member.offset)
            }
            size => size,
        };
        let has = |member: &&Member| {
            let end = member.offset.saturating_add(size_of(member));
            member.bits.is_none() && member.offset <= offset && offset + size.max(1) <= end
        };
        let fits = |member: &Member| self.part(member.kind, offset - member.offset, size).kind.is_some();
        let mut having = members.iter().filter(has);
        let first = having.next()?;
        match having.next() {
            None => Some(first),
            Some(_) => members.iter().filter(has).min_by_key(|member| (!fits(member), size_of(member))),
        }
    }
}

/// The names of the bit-fields that have bits in some bytes.
fn bit_fields(members: &[Member], offset: u64, size: u64) -> String {
    let touched = members.iter().filter(|member| {
        member.bits.is_some_and(|bytes| member.offset < offset + size && offset < member.offset + bytes)
    });
    touched.filter_map(|member| member.name.as_deref()).collect::<Vec<_>>().join("/")
}

/// Reads the types and variables of one unit.
pub struct UnitReader<'r> {
    /// All of the debugging information.
    pub dwarf: &'r Dwarf<Bytes>,
    /// The unit.
    pub unit: &'r Unit<Bytes>,
    /// Its number.
    pub number: usize,
}

impl UnitReader<'_> {
    /// The name, type and size of a variable, which may stand in another entry that it refers to.
    pub fn declared(
        &self,
        types: &mut Types,
        entry: &DebuggingInformationEntry<Bytes>,
        elsewhere: DwAt,
    ) -> Option<(String, TypeId, u64)> {
        let other = reference(entry, elsewhere).and_then(|offset| self.unit.entry(offset).ok());
        let text = |entry| self.text(entry, gimli::DW_AT_name);
        let name = text(entry).or_else(|| text(other.as_ref()?))?;
        let own = |entry: &DebuggingInformationEntry<Bytes>| entry.attr_value(gimli::DW_AT_type);
        let kind = match own(entry).or_else(|| own(other.as_ref()?)) {
            Some(AttributeValue::UnitRef(offset)) => self.read(types, offset, 0),
            _ => opaque(types),
        };
        Some((name, kind, types.get(kind).map_or(0, |kind| kind.size)))
    }

    /// What tells where a variable is, if it is told by one operation: more of them are for a thread's own
    /// variable, or for something stranger.
    pub fn only_operation(&self, entry: &DebuggingInformationEntry<Bytes>) -> Option<Operation<Bytes>> {
        let expression = entry.attr_value(gimli::DW_AT_location)?.exprloc_value()?;
        let mut operations = expression.operations(self.unit.encoding());
        let first = operations.next().ok()??;
        operations.next().ok()?.is_none().then_some(first)
    }

    fn read(&self, types: &mut Types, offset: UnitOffset, depth: usize) -> TypeId {
        let key = (self.number, offset.0);
        if let Some(&known) = types.known.get(&key) {
            return known;
        }
        // It is known before it is read, as types can point to themselves and, in broken files, contain
        // themselves.
        let id = opaque(types);
        types.known.insert(key, id);
        if depth < 200
            && let Some(read) = self.read_new(types, offset, depth)
        {
            types.types[id.0] = read;
            if let Some(name) =
                self.unit.entry(offset).ok().and_then(|entry| self.text(&entry, gimli::DW_AT_name))
            {
                types.names.entry(name).or_default().push(id);
            }
        }
        id
    }

    /// Reads what the pointers of the unit that were met point to.
    pub fn read_pointees(&self, types: &mut Types) {
        while let Some((pointer, offset)) = types.waiting.pop() {
            types.pointees[pointer] = Some(self.read(types, offset, 0));
        }
    }

    fn read_new(&self, types: &mut Types, offset: UnitOffset, depth: usize) -> Option<Type> {
        let entry = self.unit.entry(offset).ok()?;
        let size = entry.attr_value(gimli::DW_AT_byte_size).and_then(|size| size.udata_value()).unwrap_or(0);
        let of = reference(&entry, gimli::DW_AT_type);
        let inner = |types: &mut Types| of.map(|offset| self.read(types, offset, depth + 1));
        let kind = match entry.tag() {
            gimli::DW_TAG_typedef
            | gimli::DW_TAG_const_type
            | gimli::DW_TAG_volatile_type
            | gimli::DW_TAG_atomic_type
            | gimli::DW_TAG_restrict_type => {
                let inner = inner(types)?;
                return types.get(inner).cloned();
            }
            gimli::DW_TAG_base_type => match entry.attr_value(gimli::DW_AT_encoding) {
                Some(AttributeValue::Encoding(gimli::DW_ATE_signed)) => Kind::Signed,
                Some(AttributeValue::Encoding(gimli::DW_ATE_boolean)) => Kind::Bool,
                Some(AttributeValue::Encoding(gimli::DW_ATE_float)) => Kind::Float,
                Some(AttributeValue::Encoding(gimli::DW_ATE_signed_char | gimli::DW_ATE_unsigned_char)) => {
                    Kind::Char
                }
                _ => Kind::Unsigned,
            },
            gimli::DW_TAG_pointer_type
            | gimli::DW_TAG_reference_type
            | gimli::DW_TAG_rvalue_reference_type => {
                types.waiting.extend(of.map(|offset| (types.pointees.len(), offset)));
                types.pointees.push(None);
                return Some(Type { kind: Kind::Pointer(types.pointees.len() - 1), size: 8 });
            }
            gimli::DW_TAG_enumeration_type => Kind::Enum(self.names(offset)),
            gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type | gimli::DW_TAG_union_type => {
                if entry.attr_value(gimli::DW_AT_declaration).is_some() {
                    return None;
                }
                let name = self.text(&entry, gimli::DW_AT_name).unwrap_or_default();
                if BUFFERS.iter().any(|buffer| name.starts_with(buffer))
                    && let Some(inner) = self.first_argument(offset)
                {
                    let inner = self.read(types, inner, depth + 1);
                    return types.get(inner).cloned();
                }
                Kind::Record(self.members(types, offset, depth))
            }
            gimli::DW_TAG_array_type => {
                let element = inner(types)?;
                return self.array(types, offset, element);
            }
            _ => return None,
        };
        Some(Type { kind, size })
    }

    /// The entries right below one, each as a function sees it.
    fn children(&self, offset: UnitOffset, mut with: impl FnMut(&DebuggingInformationEntry<Bytes>)) {
        let Ok(mut tree) = self.unit.entries_tree(Some(offset)) else { return };
        let Ok(root) = tree.root() else { return };
        let mut children = root.children();
        while let Ok(Some(child)) = children.next() {
            with(child.entry());
        }
    }

    fn names(&self, offset: UnitOffset) -> Vec<(i64, String)> {
        let mut names = Vec::new();
        self.children(offset, |entry| {
            let value = entry.attr_value(gimli::DW_AT_const_value).and_then(|value| value.sdata_value());
            if let (gimli::DW_TAG_enumerator, Some(value), Some(name)) =
                (entry.tag(), value, self.text(entry, gimli::DW_AT_name))
            {
                names.push((value, name));
            }
        });
        names
    }

    fn members(&self, types: &mut Types, offset: UnitOffset, depth: usize) -> Vec<Member> {
        let mut members = Vec::new();
        self.children(offset, |entry| {
            let is_base = entry.tag() == gimli::DW_TAG_inheritance;
            // Static members are variables.
            let is_part =
                entry.tag() == gimli::DW_TAG_member && entry.attr_value(gimli::DW_AT_declaration).is_none();
            if !is_base && !is_part {
                return;
            }
            let number = |name| entry.attr_value(name).and_then(|value| value.udata_value());
            let bits = number(gimli::DW_AT_bit_size);
            let first_bit = number(gimli::DW_AT_data_bit_offset);
            let at = match entry.attr_value(gimli::DW_AT_data_member_location) {
                Some(at) => at.udata_value(),
                None => Some(first_bit.unwrap_or(0) / 8),
            };
            let bytes = bits.map(|bits| (first_bit.unwrap_or(0) % 8 + bits).div_ceil(8));
            if let (Some(at), Some(kind)) = (at, reference(entry, gimli::DW_AT_type)) {
                let name = self.text(entry, gimli::DW_AT_name);
                members.push((at, kind, name.filter(|name| !is_base && is_for_people(name)), bytes));
            }
        });
        let read = members.into_iter().map(|(offset, kind, name, bits)| Member {
            name,
            offset,
            kind: self.read(types, kind, depth + 1),
            bits,
        });
        read.collect()
    }

    /// The type that a template was given first.
    pub fn first_argument(&self, offset: UnitOffset) -> Option<UnitOffset> {
        let mut first = None;
        self.children(offset, |entry| {
            if entry.tag() == gimli::DW_TAG_template_type_parameter && first.is_none() {
                first = reference(entry, gimli::DW_AT_type);
            }
        });
        first
    }

    /// What a function allocates that was made of a template: the type's name, and the type.
    pub fn allocates(&self, types: &mut Types, template: UnitOffset) -> Option<(String, TypeId)> {
        let kind = self.first_argument(template)?;
        let name = self.text(&self.unit.entry(kind).ok()?, gimli::DW_AT_name)?;
        Some((plain_name(&name)?, self.read(types, kind, 0)))
    }

    fn array(&self, types: &mut Types, offset: UnitOffset, element: TypeId) -> Option<Type> {
        let mut counts = Vec::new();
        self.children(offset, |entry| {
            if entry.tag() == gimli::DW_TAG_subrange_type {
                let number = |name| entry.attr_value(name).and_then(|value| value.udata_value());
                let count =
                    number(gimli::DW_AT_count).or_else(|| number(gimli::DW_AT_upper_bound)?.checked_add(1));
                counts.push(count.unwrap_or(0));
            }
        });
        // An array of several dimensions is an array of arrays.
        let mut found = types.get(element)?.clone();
        let mut inner = element;
        for count in counts.into_iter().rev() {
            found = Type { kind: Kind::Array(inner), size: count.saturating_mul(found.size) };
            types.types.push(found.clone());
            inner = TypeId(types.types.len() - 1);
        }
        Some(found)
    }

    /// A text that an entry has.
    pub fn text(&self, entry: &DebuggingInformationEntry<Bytes>, name: DwAt) -> Option<String> {
        let text = self.dwarf.attr_string(self.unit, entry.attr_value(name)?).ok()?;
        Some(text.to_string_lossy().ok()?.into_owned())
    }
}

/// The entry of the same unit that one refers to.
pub fn reference(entry: &DebuggingInformationEntry<Bytes>, name: DwAt) -> Option<UnitOffset> {
    match entry.attr_value(name)? {
        AttributeValue::UnitRef(offset) => Some(offset),
        _ => None,
    }
}

/// Types of the C++ library that are room for what they were given.
const BUFFERS: [&str; 2] = ["__aligned_buffer<", "__aligned_membuf<"];

/// The name of a type without what it was made of; where it is one of the library's insides, that of what it
/// was made of.
fn plain_name(name: &str) -> Option<String> {
    let (template, arguments) = name.split_once('<').unwrap_or((name, ""));
    let own = template.rsplit("::").next().unwrap_or_default().trim_end_matches(['*', ' ']);
    match own.starts_with('_') || own.is_empty() {
        false => Some(own.trim_start_matches("const ").to_owned()),
        true if arguments.is_empty() => None,
        true => plain_name(arguments.split([',', '>']).next().unwrap_or_default()),
    }
}

fn opaque(types: &mut Types) -> TypeId {
    types.types.push(Type { kind: Kind::Opaque, size: 0 });
    TypeId(types.types.len() - 1)
}

/// Names of the C++ library's insides are not: `counter._M_i` is `counter` to those who declared it.
fn is_for_people(name: &str) -> bool {
    !name.starts_with("_M_") && !name.starts_with("__")
}
