//! What can be said of a program before it runs: who can block, what methods mention, where segments can
//! lead.
//!
//! *Blocking.* A `get` whose variable an await has seen resolved never blocks. A cog in which no task can
//! ever block has no lock, and its tasks need no guard for it. Which classes share a cog is read off
//! `new local`.
//!
//! *Guards.* An await condition that mentions one field has that field's location as its guard, if the cog
//! has no lock; else it has a location of its own in each object, which writers of those fields, and whoever
//! changes the lock, touch too.
//!
//! *Static footprints.* The fields that a method mentions, with the methods of the same object that it calls;
//! and of every place where a segment can begin: whether the task can end in it, whether it can block, which
//! futures it can ask for.

mod reads;
mod resolved;
mod segments;

use std::collections::{BTreeMap, BTreeSet};

use mazurka_program::AccessKind;

use crate::model::{Pattern, Target};

use super::code::{Code, Image, Instr, NONE, Op};

pub use reads::{MayRead, Reads, add_all};
pub use segments::SegmentFacts;

/// What is known of a class.
#[derive(Clone, Debug, Default)]
pub struct ClassFacts {
    /// Whether the cog of an object that has one of its own can be locked.
    pub has_lock: bool,
    /// How many await statements have a location of their own in each object.
    pub own_awaits: u32,
    /// For each field, the own locations of the await statements that mention it.
    pub awaits_of_field: Vec<Vec<u32>>,
    /// The fields that are a guard themselves: a condition mentions them alone.
    pub guard_fields: Vec<u32>,
}

/// What is known of a program.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    pub classes: Vec<ClassFacts>,
    /// Whether the main block's cog can be locked.
    pub main_has_lock: bool,
    /// Whether cogs can have several objects.
    pub has_local: bool,
    /// For each method: the fields of its object that it may touch, and how.
    pub methods: Vec<Vec<(u32, AccessKind)>>,
    /// For each place where a segment can begin; once where an await that holds releases, once where it goes
    /// on.
    segments: [BTreeMap<(u32, u32), SegmentFacts>; 2],
    /// Whether some segment asks for futures that can't be told beforehand; the same two cases.
    any_future: [bool; 2],
    /// What may be read from where on.
    pub may_read: MayRead,
}

impl Facts {
    /// Finds them all, and marks the gets that never block and the awaits that have locations of their own.
    pub fn find(image: &mut Image) -> Facts {
        for body in &mut image.bodies {
            resolved::mark(&mut body.code, body.slots, &image.awaits);
        }
        let mut facts = Facts::default();
        facts.find_locks(image);
        facts.find_guards(image);
        facts.methods = (0..image.methods.len() as u32).map(|method| mentions(image, method)).collect();
        facts.segments = [false, true].map(|continuing| segments::find(image, facts.has_local, continuing));
        facts.any_future = [0, 1].map(|case| facts.segments[case].values().any(|segment| segment.any_future));
        facts.may_read = MayRead::find(image);
        facts
    }

    /// What a segment may do that begins at a place.
    pub fn segment(&self, body: u32, pc: u32, continuing: bool) -> Option<&SegmentFacts> {
        self.segments[usize::from(continuing)].get(&(body, pc))
    }

    /// The methods that may be called where these are run: theirs, and all of the names that they call.
    pub fn reachable(&self, image: &Image, begun: impl Iterator<Item = u32>) -> BTreeSet<u32> {
        let mut rest: Vec<u32> = begun.collect();
        let (mut reached, mut made) = (BTreeSet::new(), BTreeSet::new());
        while let Some(method) = rest.pop() {
            if !reached.insert(method) {
                continue;
            }
            let mut bodies = vec![image.methods[method as usize].body];
            while let Some(body) = bodies.pop() {
                for instr in &image.bodies[body as usize].code {
                    match instr {
                        Instr::Call { method, .. } | Instr::SyncCall { method, .. } => {
                            let classes = 0..image.classes.len() as u32;
                            rest.extend(classes.filter_map(|class| image.method_of(class, *method)));
                        }
                        Instr::New { class, .. } if made.insert(*class) => {
                            let class = &image.classes[*class as usize];
                            bodies.push(class.init);
                            rest.extend((class.run != NONE).then_some(class.run));
                        }
                        _ => {}
                    }
                }
            }
        }
        reached
    }

    /// Whether some segment asks for futures that can't be told beforehand.
    pub fn any_future(&self, continuing: bool) -> bool {
        self.any_future[usize::from(continuing)]
    }

    fn find_locks(&mut self, image: &Image) {
        let count = image.classes.len();
        let bodies_of = |class: u32| image.bodies.iter().filter(move |body| body.class == class);
        let blocks = |class: u32| bodies_of(class).any(|body| body.code.iter().any(can_block));
        let locals = |class: u32| -> Vec<u32> {
            let code = bodies_of(class).flat_map(|body| &body.code);
            code.filter_map(|instr| match instr {
                Instr::New { class, local: true, .. } => Some(*class),
                _ => None,
            })
            .collect()
        };
        // The main block is what belongs to no class.
        let members = |root: u32| -> BTreeSet<u32> {
            let (mut members, mut rest) = (BTreeSet::from([root]), vec![root]);
            while let Some(class) = rest.pop() {
                rest.extend(locals(class).into_iter().filter(|&local| members.insert(local)));
            }
            members
        };
        self.classes = vec![ClassFacts::default(); count];
        for root in (0..count as u32).chain([NONE]) {
            let members = members(root);
            self.has_local |= members.len() > 1;
            let has_lock = members.iter().any(|&class| blocks(class));
            match self.classes.get_mut(root as usize) {
                Some(class) => class.has_lock = has_lock,
                None => self.main_has_lock = has_lock,
            }
        }
        // A program that makes a local object of the same class has no more members, but several objects.
        let instrs = || image.bodies.iter().flat_map(|body| &body.code);
        self.has_local |= instrs().any(|instr| matches!(instr, Instr::New { local: true, .. }));
    }

    /// Whether an object of a class can be in a cog that can be locked.
    fn in_locked_cog(&self, class: u32) -> bool {
        match self.classes.get(class as usize) {
            // With local objects, who shares a cog with whom is not looked at closely.
            Some(_) if self.has_local => {
                self.main_has_lock || self.classes.iter().any(|class| class.has_lock)
            }
            Some(class) => class.has_lock,
            None => self.main_has_lock,
        }
    }

    fn find_guards(&mut self, image: &mut Image) {
        for (k, class) in self.classes.iter_mut().enumerate() {
            class.awaits_of_field = vec![Vec::new(); image.classes[k].fields.len()];
        }
        for at in 0..image.bodies.len() {
            let class = image.bodies[at].class;
            let locked = self.in_locked_cog(class);
            let Some(facts) = self.classes.get_mut(class as usize) else { continue };
            for instr in &image.bodies[at].code {
                let Instr::Await(index) = *instr else { continue };
                let code = &mut image.awaits[index as usize];
                match code.fields[..] {
                    _ if code.conditions.is_empty() => {}
                    [field] if !locked => facts.guard_fields.push(field),
                    [] if !locked => {}
                    _ => {
                        code.own = facts.own_awaits;
                        facts.own_awaits += 1;
                        for &field in &code.fields {
                            facts.awaits_of_field[field as usize].push(code.own);
                        }
                    }
                }
            }
            facts.guard_fields.sort_unstable();
            facts.guard_fields.dedup();
        }
    }
}

/// Whether a task may hold its cog at this instruction while others run.
fn can_block(instr: &Instr) -> bool {
    match instr {
        Instr::Get { resolved, .. } => !resolved,
        Instr::SyncCall { on_this, .. } => !on_this,
        Instr::Random(..) => true,
        _ => false,
    }
}

/// The expressions of an instruction.
fn expressions(image: &Image, instr: &Instr) -> Vec<Code> {
    match instr {
        Instr::Assign(_, code)
        | Instr::Random(_, code)
        | Instr::Assert(code)
        | Instr::JumpUnless(code, _)
        | Instr::Switch(code, _)
        | Instr::Throw(code)
        | Instr::Return(code)
        | Instr::Begin { list: code, .. }
        | Instr::Get { future: code, .. } => vec![*code],
        Instr::New { arguments, .. } => arguments.clone(),
        Instr::Call { callee, arguments, .. } | Instr::SyncCall { callee, arguments, .. } => {
            arguments.iter().chain([callee]).copied().collect()
        }
        Instr::Await(index) => {
            let code = &image.awaits[*index as usize];
            code.futures.iter().map(|(future, _)| *future).chain(code.conditions.iter().copied()).collect()
        }
        _ => Vec::new(),
    }
}

/// The patterns of an instruction.
fn patterns<'a>(image: &'a Image, instr: &'a Instr) -> impl Iterator<Item = &'a Pattern> {
    let branches = match instr {
        Instr::Switch(_, branches) | Instr::Catch(branches) => &branches[..],
        _ => &[],
    };
    branches.iter().map(|(pattern, _)| &image.patterns[*pattern as usize])
}

/// What an instruction assigns to.
fn target_of(instr: &Instr) -> Option<Target> {
    match instr {
        Instr::Assign(target, _)
        | Instr::Random(target, _)
        | Instr::New { target, .. }
        | Instr::Call { target, .. }
        | Instr::SyncCall { target, .. }
        | Instr::Get { target, .. } => *target,
        _ => None,
    }
}

/// The methods that a synchronous call may run within the segment.
fn inlined(image: &Image, class: u32, instr: &Instr, has_local: bool) -> Vec<u32> {
    let Instr::SyncCall { method, on_this, .. } = instr else { return Vec::new() };
    if has_local && !on_this {
        return (0..image.classes.len() as u32).filter_map(|class| image.method_of(class, *method)).collect();
    }
    if class == NONE {
        return Vec::new();
    }
    image.method_of(class, *method).into_iter().collect()
}

/// The methods that may run within the segments of a body, by synchronous calls.
fn callees(image: &Image, body: u32, has_local: bool) -> BTreeSet<u32> {
    let (mut found, mut rest) = (BTreeSet::new(), vec![body]);
    while let Some(body) = rest.pop() {
        let body = &image.bodies[body as usize];
        for instr in &body.code {
            for method in inlined(image, body.class, instr, has_local) {
                if found.insert(method) {
                    rest.push(image.methods[method as usize].body);
                }
            }
        }
    }
    found
}

/// The fields that a method mentions, or a method of the same object that it calls.
fn mentions(image: &Image, method: u32) -> Vec<(u32, AccessKind)> {
    let body = image.methods[method as usize].body;
    let class = image.bodies[body as usize].class;
    let mut methods = callees(image, body, false);
    methods.insert(method);
    let (mut reads, mut writes) = (BTreeSet::new(), BTreeSet::new());
    for method in methods {
        let body = &image.bodies[image.methods[method as usize].body as usize];
        debug_assert_eq!(body.class, class);
        for instr in &body.code {
            expressions(image, instr).into_iter().for_each(|code| reads.extend(image.fields_of(code)));
            if let Some(Target::Field(field)) = target_of(instr) {
                writes.insert(field.0);
            }
            patterns(image, instr).for_each(|pattern| reads.extend(pattern.compared_fields()));
        }
    }
    let kind = |field: u32| match (reads.contains(&field), writes.contains(&field)) {
        (true, true) => AccessKind::Update,
        (false, true) => AccessKind::Write,
        _ => AccessKind::Read,
    };
    reads.union(&writes).map(|&field| (field, kind(field))).collect()
}

/// Whether an expression is just one operation.
fn is_only(image: &Image, code: Code, op: impl Fn(&Op) -> bool) -> bool {
    code.end == code.start + 2 && op(&image.ops[code.start as usize])
}
