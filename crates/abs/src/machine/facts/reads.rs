//! Dead variables: what no code that is left to run can read.
//!
//! For each place in a body, the slots of its frame and the fields of classes that may be read from there on,
//! by whatever way the control may take, by the methods that may be called, whoever implements them, and by
//! what new objects run. Where exceptions lead is the frame's to say: a handler is a place like others.
//! Nothing is said of what is overwritten before it is read: that counts as read.

use crate::model::{Pattern, Target};

use super::super::code::{Code, Image, Instr, NONE, Op};
use super::resolved::successors;
use super::{expressions, patterns};

/// What may be read from a place on.
#[derive(Clone, Debug, Default)]
pub struct Reads {
    pub slots: Vec<bool>,
    /// By [`MayRead::field`].
    pub fields: Vec<bool>,
}

/// What may be read from each place on.
#[derive(Clone, Debug, Default)]
pub struct MayRead {
    bodies: Vec<Vec<Reads>>,
    /// For each class, the number of its first field.
    first_fields: Vec<u32>,
}

impl MayRead {
    pub fn find(image: &Image) -> MayRead {
        let mut first_fields = vec![0];
        for class in &image.classes {
            let last = first_fields.last().copied().unwrap_or_default();
            first_fields.push(last + class.fields.len() as u32);
        }
        let mut found = MayRead { bodies: Vec::new(), first_fields };
        found.bodies = (0..image.bodies.len()).map(|body| found.of_lines(image, body)).collect();
        while found.close(image) {}
        found
    }

    /// The number of a field.
    pub fn field(&self, class: u32, field: u32) -> usize {
        (self.first_fields[class as usize] + field) as usize
    }

    /// How many fields there are.
    pub fn fields(&self) -> usize {
        self.first_fields.last().copied().unwrap_or_default() as usize
    }

    /// What may be read from a place on.
    pub fn at(&self, body: u32, pc: u32) -> Option<&Reads> {
        self.bodies[body as usize].get(pc as usize)
    }

    /// What each instruction of a body reads itself.
    fn of_lines(&self, image: &Image, body: usize) -> Vec<Reads> {
        let body = &image.bodies[body];
        let fields = self.fields();
        let one = |instr: &Instr| {
            let mut reads = Reads { slots: vec![false; body.slots as usize], fields: vec![false; fields] };
            let mut mentioned = Vec::new();
            for code in expressions(image, instr) {
                slots_of(image, code, &mut reads.slots);
                mentioned.extend(image.fields_of(code));
            }
            for pattern in patterns(image, instr) {
                mentioned.extend(pattern.compared_fields());
                slots_of_pattern(pattern, &mut reads.slots);
            }
            if let Instr::Next { rest, count, .. } = instr {
                reads.slots[*rest as usize] = true;
                reads.slots[*count as usize] = true;
            }
            if body.class != NONE {
                mentioned.iter().for_each(|&field| reads.fields[self.field(body.class, field)] = true);
            }
            reads
        };
        body.code.iter().map(one).collect()
    }

    /// Adds to each place what may be read behind it; says whether there was news.
    fn close(&mut self, image: &Image) -> bool {
        let mut news = false;
        for body in 0..self.bodies.len() {
            let code = &image.bodies[body].code;
            for pc in (0..code.len()).rev() {
                let mut reads = std::mem::take(&mut self.bodies[body][pc]);
                successors(code, pc, |next| {
                    if let Some(after) = self.bodies[body].get(next).filter(|_| next != pc) {
                        news |= add_all(&mut reads.slots, &after.slots);
                        news |= add_all(&mut reads.fields, &after.fields);
                    }
                });
                for called in called(image, &code[pc]) {
                    // A body that calls itself is being looked at: what it reads first is read here already,
                    // or on the next round.
                    if let Some(within) = self.bodies[called as usize].first() {
                        news |= add_all(&mut reads.fields, &within.fields);
                    }
                }
                self.bodies[body][pc] = reads;
            }
        }
        news
    }
}

/// Adds a set; says whether that is news.
pub fn add_all(mine: &mut [bool], theirs: &[bool]) -> bool {
    let mut news = false;
    for (mine, &theirs) in mine.iter_mut().zip(theirs) {
        news |= theirs && !*mine;
        *mine |= theirs;
    }
    news
}

/// The bodies that an instruction may lead to, now or later.
fn called(image: &Image, instr: &Instr) -> Vec<u32> {
    match instr {
        Instr::Call { method, .. } | Instr::SyncCall { method, .. } => {
            let of_class = |class| image.method_of(class, *method);
            let methods = (0..image.classes.len() as u32).filter_map(of_class);
            methods.map(|method| image.methods[method as usize].body).collect()
        }
        Instr::New { class, .. } => {
            let class = &image.classes[*class as usize];
            let run = image.methods.get(class.run as usize).map(|method| method.body);
            run.into_iter().chain([class.init]).collect()
        }
        _ => Vec::new(),
    }
}

fn slots_of(image: &Image, code: Code, slots: &mut [bool]) {
    for op in &image.ops[code.start as usize..code.end as usize] {
        match *op {
            Op::Slot(slot) | Op::CallSlot(slot, _) => slots[slot as usize] = true,
            Op::Match(pattern, _) => slots_of_pattern(&image.patterns[pattern as usize], slots),
            // It keeps the whole frame.
            Op::Lambda(_) => slots.fill(true),
            _ => {}
        }
    }
}

fn slots_of_pattern(pattern: &Pattern, slots: &mut [bool]) {
    pattern.each(&mut |part| {
        if let Pattern::Equal(Target::Slot(slot)) = part {
            slots[slot.index()] = true;
        }
    });
}
