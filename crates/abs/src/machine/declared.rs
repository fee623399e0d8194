//! Declared constraints that can't be told from the text: where a task of each method is next in one object, both
//! orders are run.
//!
//! Compared is all that there is then, up to the names of what was created: fields, tasks that wait, and what the two
//! came to. What is told is a failure of the step that comes next. It depends on nothing but the state before that step,
//! so a schedule that comes there shows it again.

use std::rc::Rc;

use mazurka_program::{Failure, FailureKind, Label, Place, ProcessId};

use crate::value::{Value, show};

use super::code::{Code, Image};
use super::entity::{Object, Task};
use super::eval::Vm;
use super::guard::PastEnv;
use super::run::Machine;

/// A declared constraint of two methods of a class that is neither proved nor refuted.
#[derive(Clone, Debug)]
pub(super) struct OpenClaim {
    pub methods: [u32; 2],
    /// With the number of variables that it has.
    pub condition: Option<(Code, u32)>,
    pub text: String,
    pub place: Option<Place>,
}

/// Where an order of two tasks led.
struct End {
    /// Up to names.
    state: Vec<i64>,
    fields: Vec<Value>,
}

impl Machine {
    /// The declared constraints that do not hold in the present state, of the method that a task is about to begin
    /// and that of another task of the same object.
    pub(super) fn refuted_by(&mut self, image: &Image, p: u32, claims: &[OpenClaim]) -> Vec<Failure> {
        let mut refuted = Vec::new();
        let Some(mine) = self.beginning(image, p) else { return refuted };
        let others: Vec<(u32, Rc<Task>)> = self
            .enabled
            .iter()
            .map(|other| other.0)
            .filter(|&q| q != p)
            .collect::<Vec<_>>()
            .into_iter()
            .filter_map(|q| Some((q, self.beginning(image, q)?)))
            .filter(|(_, task)| id(task) == id(&mine))
            .collect();
        for claim in claims {
            let fits = |task: &Task| {
                let methods = [mine.method, task.method];
                methods == claim.methods || methods == [claim.methods[1], claim.methods[0]]
            };
            let theirs: Vec<u32> =
                others.iter().filter(|(_, task)| fits(task)).map(|other| other.0).collect();
            if theirs.is_empty() || !self.claimed_here(image, &mine, claim) {
                continue;
            }
            if let Some(how) = theirs.into_iter().find_map(|q| self.differ(image, [p, q], &mine)) {
                let message = format!("`{}` is wrong here: {how}", claim.text);
                let (kind, place) = (FailureKind::Constraint, claim.place.clone());
                refuted.push(Failure { kind, message, place, process: None });
            }
        }
        refuted
    }

    /// The task, if it can begin its method now, and nothing but what it does can come of that.
    fn beginning(&self, image: &Image, p: u32) -> Option<Rc<Task>> {
        let task = self.task(p).filter(|_| self.enabled.contains(ProcessId(p)))?;
        self.has_block(image, task).then(|| task.clone())
    }

    fn claimed_here(&self, image: &Image, task: &Task, claim: &OpenClaim) -> bool {
        let Some((code, slots)) = claim.condition else { return true };
        let this = task.object.as_ref();
        let object = this.and_then(|this| self.objects.get(this.id).as_deref());
        let mut env = PastEnv { object, this };
        let mut vm = Vm::new(self.settings.max_segment_steps, self.settings.max_depth);
        let mut slots = vec![Value::Unit; slots as usize];
        matches!(vm.eval(image, code, &mut slots, &mut env), Ok(Value::Bool(true)))
    }

    /// How both orders of two tasks of an object differ, if they do. Nothing is known where one of them can't be run,
    /// or names matter for more than telling things apart.
    fn differ(&mut self, image: &Image, [p, q]: [u32; 2], task: &Task) -> Option<String> {
        let object = id(task)?;
        let first = self.end_of_order(image, [p, q], [p, q], object)?;
        let second = self.end_of_order(image, [q, p], [p, q], object)?;
        if first.state == second.state {
            return None;
        }
        let (one, other) = (self.task_name(image, p), self.task_name(image, q));
        let before: Option<&Rc<Object>> = self.objects.get(object).as_ref();
        let class = before.map(|object| &image.classes[object.class as usize]);
        let names = class.map_or(&[][..], |class| &class.fields);
        let fields = names.iter().zip(first.fields.iter().zip(&second.fields));
        let differing =
            fields.clone().find(|(_, (early, late))| early != late).map(|(name, (early, late))| {
                let (early, late) = (show(early, image), show(late, image));
                format!("{one} before {other} leaves {name} = {early}, {other} before {one} {name} = {late}")
            });
        let told = before.into_iter().flat_map(|object| names.iter().zip(&object.fields));
        let here: Vec<String> =
            told.map(|(name, value)| format!("{name} = {}", show(value, image))).collect();
        let how = differing.unwrap_or_else(|| {
            format!("{one} before {other} and {other} before {one} give, or call, something else")
        });
        Some(if here.is_empty() { how } else { format!("where {}, {how}", here.join(", ")) })
    }

    /// Takes the steps of two tasks, and back.
    fn end_of_order(&mut self, image: &Image, order: [u32; 2], tasks: [u32; 2], object: u32) -> Option<End> {
        self.in_passing(|machine| {
            for p in order {
                machine.step(image, p, 0, &mut Label::default()).ok()?;
            }
            let state = machine.state_with(image, tasks)?;
            let fields = machine.objects.get(object).as_ref()?.fields.clone();
            (!machine.vm.told_names).then_some(End { state, fields })
        })
    }
}

fn id(task: &Task) -> Option<u32> {
    task.object.as_ref().map(|object| object.id)
}
