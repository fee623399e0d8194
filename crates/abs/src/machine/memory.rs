//! How many bytes a run keeps: what its logs say of the past, with the values there. Values are shared
//! between one time and the next, so each is counted where it is met first.

use std::collections::HashSet;
use std::rc::Rc;

use crate::value::{Data, Value};

use super::entity::{Object, Task, Wait};
use super::run::Machine;

/// What an allocation takes besides its bytes, about; counts of references included.
const ALLOCATION: usize = 32;
/// What an element of a set takes, about.
const ELEMENT: usize = 2 * size_of::<Value>();

/// A count of bytes, and the addresses of what has been counted.
#[derive(Default)]
struct Meter {
    bytes: usize,
    met: HashSet<usize>,
}

impl Machine {
    /// Bytes kept, when the logs were about as long as they ever were.
    pub fn memory(&self) -> usize {
        self.measured.1
    }

    /// Counts the bytes, if the logs have grown since that was done last: it takes time in proportion. When that is
    /// depends on the steps that were taken alone, and not on who asks when: reports tell what was kept.
    pub fn measure_growth(&mut self) {
        let logged = self.tasks.logged() as usize + self.objects.logged() as usize + self.guards.len();
        if logged > self.measured.0 + self.measured.0 / 4 || self.measured.1 == 0 {
            self.measured = (logged, self.measured.1.max(self.measure()));
        }
    }

    fn measure(&self) -> usize {
        let mut meter = Meter::default();
        meter.bytes += self.tasks.memory() + self.objects.memory() + self.cogs.memory() + self.own_memory();
        let tasks = self.tasks.all_times().flatten().chain(self.guards.iter().map(|guard| guard.task()));
        tasks.for_each(|task| meter.task(task));
        self.objects.all_times().flatten().for_each(|object| meter.object(object));
        meter.bytes
    }
}

impl Meter {
    /// Counts an allocation; says whether it is met for the first time.
    fn meets<T: ?Sized>(&mut self, shared: &Rc<T>, bytes: usize) -> bool {
        let new = self.met.insert(Rc::as_ptr(shared).cast::<()>().addr());
        self.bytes += if new { bytes + ALLOCATION } else { 0 };
        new
    }

    fn task(&mut self, task: &Rc<Task>) {
        if !self.meets(task, size_of::<Task>()) {
            return;
        }
        for frame in &task.frames {
            self.bytes += size_of_val(frame) + 2 * ALLOCATION;
            self.values(&frame.slots);
        }
        if let Wait::Done(Ok(value)) = &task.wait {
            self.values(std::slice::from_ref(value));
        }
    }

    fn object(&mut self, object: &Rc<Object>) {
        if self.meets(object, size_of::<Object>() + 2 * ALLOCATION) {
            self.bytes += size_of_val(&*object.writers);
            self.values(&object.fields);
        }
    }

    /// Counts values that lie in a row, and what they hold.
    fn values(&mut self, values: &[Value]) {
        self.bytes += size_of_val(values);
        let mut rest: Vec<&Value> = values.iter().collect();
        while let Some(value) = rest.pop() {
            match value {
                Value::Text(text) => {
                    self.meets(text, text.len());
                }
                Value::Big(number) => {
                    self.meets(number, number.bits() as usize / 8);
                }
                // What was met has been counted with all that it holds.
                Value::Data(data)
                    if self.meets(data, size_of::<Data>() + size_of_val(&*data.arguments) + ALLOCATION) =>
                {
                    rest.extend(&data.arguments);
                }
                Value::Set(set) if self.meets(set, set.len() * ELEMENT) => rest.extend(&**set),
                _ => {}
            }
        }
    }
}
