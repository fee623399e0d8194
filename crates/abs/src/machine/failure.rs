//! What went wrong, in words that are the same in every execution of a class.

use mazurka_program::{Failure, ProcessId};

use crate::value::{Value, show};

use super::code::Image;
use super::entity::Wait;
use super::eval::Thrown;
use super::run::Machine;

impl Machine {
    fn failure(&self, image: &Image, p: u32, thrown: &Thrown) -> Failure {
        let mut message = format!("{} leaves {}", show(&thrown.value, image), self.task_name(image, p));
        if !thrown.about.is_empty() {
            message = format!("{} ({message})", thrown.about);
        }
        let process = Some(thrown.thrower.unwrap_or(ProcessId(p)));
        Failure { kind: thrown.kind, message, place: image.place(thrown.span), process }
    }

    /// An exception left the main block.
    pub fn main_failed(&mut self, image: &Image, p: u32, thrown: &Thrown) {
        let failure = self.failure(image, p, thrown);
        self.failures.push(failure);
    }

    /// The exceptions that nobody was told of, when no process can go on.
    pub fn note_unhandled(&mut self, image: &Image) {
        let mut unhandled = Vec::new();
        for p in 0..self.tasks.len() as u32 {
            if let Some(task) = self.task(p)
                && let (Wait::Done(Err(thrown)), Some(_), false) = (&task.wait, &task.object, task.rethrown)
            {
                // That an object is dead is what some other exception led to: that one comes first.
                let dead = image.known.object_dead.0;
                let follows = matches!(&thrown.value, Value::Atom(tag) if tag.id == dead);
                let path = self.futures[p as usize].path.clone();
                unhandled.push(((follows, path), self.failure(image, p, thrown)));
            }
        }
        unhandled.sort_by(|a, b| a.0.cmp(&b.0));
        self.failures.extend(unhandled.into_iter().map(|(_, failure)| failure));
    }
}
