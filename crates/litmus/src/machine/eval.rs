//! The value of expressions, and the places that they name.
//!
//! Where shared cells come from is up to a [`Reader`]: memory as it is now, with or without a record of what
//! was read, or as it was after some number of steps.

use mazurka_program::{Access, AccessKind, Label, Location, ProcessId};

use super::memory::Memory;
use crate::arithmetic;
use crate::code::{Image, Lvalue, NONE, Node, NodeId};

/// Where the values of shared cells come from.
pub(super) trait Reader {
    fn read(&mut self, cell: u32) -> i64;
}

/// Memory as it was after some number of steps.
pub(super) struct Past<'a>(pub &'a Memory, pub u32);

impl Reader for Past<'_> {
    fn read(&mut self, cell: u32) -> i64 {
        self.0.at(cell, self.1).0
    }
}

/// Memory as it is.
pub(super) struct Now<'a, R>(pub &'a Memory, pub &'a mut R);

impl<R: Recorder> Reader for Now<'_, R> {
    #[inline]
    fn read(&mut self, cell: u32) -> i64 {
        self.1.touch(cell, AccessKind::Read);
        self.0.get(cell)
    }
}

/// What becomes of the accesses of a step.
pub(super) trait Recorder {
    fn touch(&mut self, location: u32, kind: AccessKind);
    fn touch_range(&mut self, first: u32, len: u32, kind: AccessKind);
    fn spawned(&mut self, process: ProcessId);
}

/// They are not wanted.
pub(super) struct Unrecorded;

impl Recorder for Unrecorded {
    #[inline]
    fn touch(&mut self, _: u32, _: AccessKind) {}
    fn touch_range(&mut self, _: u32, _: u32, _: AccessKind) {}
    fn spawned(&mut self, _: ProcessId) {}
}

/// They are known already; created processes are not.
pub(super) struct SpawnRecorder<'a>(pub &'a mut Label);

impl Recorder for SpawnRecorder<'_> {
    #[inline]
    fn touch(&mut self, _: u32, _: AccessKind) {}
    fn touch_range(&mut self, _: u32, _: u32, _: AccessKind) {}
    fn spawned(&mut self, process: ProcessId) {
        self.0.spawned.push(process);
    }
}

/// They make the label.
pub(super) struct LabelRecorder<'a> {
    pub label: &'a mut Label,
    /// For each location its place in the label, if it has one: an entry counts only if the label has that
    /// location there, so nothing needs to be cleared between steps.
    pub seen: Vec<u32>,
    /// Whether the label has an access of more than one location.
    pub ranges: bool,
}

impl LabelRecorder<'_> {
    /// How a location is touched that was in no access of its own so far.
    fn after_ranges(&self, location: u32, kind: AccessKind) -> AccessKind {
        let one = Access::one(Location(location), kind);
        let earlier = self.label.accesses.iter().find(|access| access.len > 1 && access.overlaps(one));
        earlier.map_or(kind, |earlier| then(earlier.kind, kind))
    }
}

impl Recorder for LabelRecorder<'_> {
    #[inline]
    fn touch(&mut self, location: u32, kind: AccessKind) {
        let at = location as usize;
        if at >= self.seen.len() {
            self.seen.resize(at + 1, 0);
        }
        let kind = if self.ranges { self.after_ranges(location, kind) } else { kind };
        let accesses = &mut self.label.accesses;
        match accesses.get_mut(self.seen[at] as usize) {
            Some(known) if known.first.0 == location && known.len == 1 => known.kind = then(known.kind, kind),
            _ => {
                self.seen[at] = accesses.len() as u32;
                accesses.push(Access::one(Location(location), kind));
            }
        }
    }

    fn touch_range(&mut self, first: u32, len: u32, kind: AccessKind) {
        if len == 1 {
            return self.touch(first, kind);
        }
        self.ranges = true;
        self.label.accesses.push(Access { first: Location(first), len, kind });
    }

    fn spawned(&mut self, process: ProcessId) {
        self.label.spawned.push(process);
    }
}

/// How a location is touched by a step that touches it in one way and then in another.
///
/// What follows a blind write sees only the step's own value, so the whole stays blind.
#[inline]
pub(super) fn then(first: AccessKind, second: AccessKind) -> AccessKind {
    match (first, second) {
        (AccessKind::Read, AccessKind::Read) => AccessKind::Read,
        (AccessKind::Read, _) => AccessKind::Update,
        _ => first,
    }
}

/// The value of an expression, or the part of it that failed.
#[inline]
pub(super) fn eval<R: Reader>(
    image: &Image,
    locals: &[i64],
    id: NodeId,
    reader: &mut R,
) -> Result<i64, NodeId> {
    match image.nodes[id as usize] {
        Node::Const(value) => Ok(value),
        Node::Local(slot) => Ok(locals[slot as usize]),
        Node::Var(cell) => Ok(reader.read(cell)),
        _ => eval_inner(image, locals, id, reader),
    }
}

fn eval_inner<R: Reader>(image: &Image, locals: &[i64], id: NodeId, reader: &mut R) -> Result<i64, NodeId> {
    Ok(match image.nodes[id as usize] {
        Node::Const(value) => value,
        Node::Local(slot) => locals[slot as usize],
        Node::Var(cell) => reader.read(cell),
        Node::Cell { var, index } => {
            let at = eval(image, locals, index, reader)?;
            reader.read(cell_of(image, var, at).ok_or(id)?)
        }
        Node::Neg(a) => eval(image, locals, a, reader)?.checked_neg().ok_or(id)?,
        Node::Not(a) => i64::from(eval(image, locals, a, reader)? == 0),
        Node::And(a, b) => {
            i64::from(eval(image, locals, a, reader)? != 0 && eval(image, locals, b, reader)? != 0)
        }
        Node::Or(a, b) => {
            i64::from(eval(image, locals, a, reader)? != 0 || eval(image, locals, b, reader)? != 0)
        }
        Node::Binary(op, a, b) => {
            let a = eval(image, locals, a, reader)?;
            let b = eval(image, locals, b, reader)?;
            arithmetic::binary(op, a, b).ok_or(id)?
        }
    })
}

/// The cell of an array at an index, if it is in range.
#[inline]
pub(super) fn cell_of(image: &Image, var: u32, index: i64) -> Option<u32> {
    let info = &image.vars[var as usize];
    (index >= 0 && index < i64::from(info.len)).then(|| info.base + index as u32)
}

/// The cell that is named, or the part of its expression that failed.
#[inline]
pub(super) fn place<R: Reader>(
    image: &Image,
    locals: &[i64],
    to: Lvalue,
    reader: &mut R,
) -> Result<u32, NodeId> {
    if to.index == NONE {
        return Ok(image.vars[to.var as usize].base);
    }
    let index = eval(image, locals, to.index, reader)?;
    cell_of(image, to.var, index).ok_or(to.node)
}
