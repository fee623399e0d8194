//! What others may still write while two tasks stand still: the W of CAV'18, definition 4.
//!
//! Others are those who can go on, and those whom they may let go on in turn. Who waits for one of the two that stand
//! still is none of them: in BB the producer waits for its store, and will not write to the buffer before that.

use std::collections::BTreeSet;

use crate::value::Value;

use super::code::{Image, NONE};
use super::entity::Wait;
use super::run::Machine;

impl Machine {
    /// The fields that others than some processes may write, whatever they call: those of the objects that they
    /// can reach, by methods of the names that can be called.
    pub(super) fn may_write(&self, image: &Image, without: [u32; 2]) -> BTreeSet<u32> {
        let others = self.others(without);
        let methods = others.iter().filter_map(|&p| self.task(p)).map(|task| task.method);
        let methods = image.facts.reachable(image, methods.filter(|&method| method != NONE));
        let mut written = BTreeSet::new();
        for object in self.reached_by(&others) {
            let class = self.references[object as usize].class;
            let own = image.classes[class as usize].methods.iter().map(|&(_, method)| method);
            for method in own.filter(|method| methods.contains(method)) {
                let fields = image.facts.methods[method as usize].iter();
                let base = self.bases[object as usize];
                written.extend(fields.filter(|(_, kind)| !kind.is_read()).map(|(field, _)| base + field));
            }
        }
        written
    }

    /// Who can take a step though two processes stand still, now or behind steps of others that can.
    fn others(&self, without: [u32; 2]) -> BTreeSet<u32> {
        let other = |p: &u32| !without.contains(p);
        let mut others: BTreeSet<u32> = self.enabled.iter().map(|process| process.0).filter(other).collect();
        let mut waiting: Vec<u32> = self.unfinished.iter().map(|process| process.0).filter(other).collect();
        loop {
            let before = others.len();
            waiting.retain(|p| !others.contains(p));
            let more: Vec<u32> = waiting.iter().copied().filter(|&p| self.may_go_on(p, &others)).collect();
            others.extend(more);
            if others.len() == before {
                return others;
            }
        }
    }

    /// Whether some processes may let one go on that waits. What is no future anybody may change.
    fn may_go_on(&self, waiting: u32, others: &BTreeSet<u32>) -> bool {
        let may_be_resolved = |future: &u32| self.is_resolved(*future) || others.contains(future);
        let futures_may = match self.task(waiting).map(|task| &task.wait) {
            Some(Wait::Await { futures, .. }) => futures.iter().all(may_be_resolved),
            Some(Wait::Blocked(future)) => may_be_resolved(future),
            _ => true,
        };
        futures_may && !others.is_empty()
    }

    /// The objects that some tasks can come by: what they know, what that knows, and what futures hold.
    fn reached_by(&self, tasks: &BTreeSet<u32>) -> BTreeSet<u32> {
        let (mut objects, mut futures) = (BTreeSet::new(), BTreeSet::new());
        let mut rest: Vec<Value> = Vec::new();
        for task in tasks.iter().filter_map(|&p| self.task(p)) {
            rest.extend(task.object.iter().map(|object| Value::Object(object.clone())));
            for frame in &task.frames {
                rest.extend(frame.this.iter().map(|this| Value::Object(this.clone())));
                rest.extend(frame.slots.iter().cloned());
            }
        }
        while let Some(value) = rest.pop() {
            value.visit(&mut |part, _| match part {
                Value::Object(object) if objects.insert(object.id) => {
                    let known = self.objects.get(object.id).as_ref();
                    rest.extend(known.iter().flat_map(|object| object.fields.iter().cloned()));
                }
                Value::Future(future) if futures.insert(future.id) => {
                    if let Some(Wait::Done(Ok(value))) = self.task(future.id).map(|task| &task.wait) {
                        rest.push(value.clone());
                    }
                }
                _ => {}
            });
        }
        objects
    }
}
