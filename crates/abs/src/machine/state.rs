//! The state in a canonical form: equal exactly if two states are equal up to renaming of objects, tasks and
//! futures.
//!
//! Objects and tasks are the nodes of a graph ([`canonical`]) that says everything but names. All objects are
//! part of it, and of the tasks those that have not ended, those whose exception nobody was told of, and
//! those that somebody refers to.
//!
//! Two under-approximations, both sound (states that are equal up to renaming may be told apart, never the
//! other way around): references in a set, or in the keys of a map, keep their names in the creation tree,
//! since the order of elements goes by those; and where too many nodes look alike to try all ways of
//! numbering them, names decide.

mod canonical;
mod portable;
mod renaming;

use std::collections::BTreeMap;
use std::rc::Rc;

use mazurka_program::{Access, NamedStates, ProcessId, State, States};

use crate::value::{Reference, Value};

use super::code::{Image, NONE};
use super::entity::{Frame, Object, Pending, Task, Wait};
use super::eval::Thrown;
use super::facts::{Reads, add_all};
use super::run::{AbsRun, Machine};
use super::settings::{ObjectOrder, TaskOrder};
use canonical::{Graph, Item};

/// What a node stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Thing {
    Object(u32),
    Task(u32),
}

/// A number for a thing that no other thing has, in any state of any execution.
fn name(thing: &Thing) -> i64 {
    match *thing {
        Thing::Object(id) => 2 * i64::from(id),
        Thing::Task(p) => 2 * i64::from(p) + 1,
    }
}

/// Nodes are numbered as they are met.
struct Builder<'a> {
    machine: &'a Machine,
    graph: Graph,
    numbers: BTreeMap<Thing, usize>,
    rest: Vec<Thing>,
    /// Whether fields are told.
    fields: bool,
    /// Which fields may be read, if dead variables are left out.
    living: Option<Vec<bool>>,
}

impl States for AbsRun {
    fn state(&self) -> State {
        let (image, machine) = (&*self.image, &self.machine);
        State { shared: machine.encode(image, true), local: machine.encode(image, false) }
    }

    fn named(&self) -> Option<&dyn NamedStates> {
        Some(self)
    }
}

impl NamedStates for AbsRun {
    /// Objects and tasks by their numbers, and of tasks that go on, how many tasks and objects they have
    /// made, which names those to come.
    fn named_state(&self, list: &mut Vec<i64>) {
        let builder = self.machine.graph(&self.image, true);
        let things = builder.things();
        list.clear();
        list.push(self.machine.last_turn());
        for (thing, &number) in &builder.numbers {
            let items = &builder.graph.nodes[number].items;
            list.extend([name(thing), items.len() as i64]);
            list.extend(items.iter().map(|item| named(item, &things)));
            if let Thing::Task(p) = *thing
                && let Some(task) = self.machine.task(p).filter(|task| !task.is_done())
            {
                list.extend([task.children, task.created].map(i64::from));
            }
        }
    }

    /// What a task knows, or what it ended with, and the values of the fields that these accesses write.
    fn effect(&self, process: ProcessId, accesses: &[Access], list: &mut Vec<i64>) -> bool {
        let machine = &self.machine;
        let mut builder = Builder::new(machine, false, None);
        let mut items = Vec::new();
        if let Some(task) = machine.task(process.0) {
            builder.task(&self.image, task, &mut items);
        }
        let written = accesses.iter().filter(|access| !access.kind.is_read());
        for location in written.flat_map(|access| access.locations()) {
            let field = machine.owner(location.0);
            let object = field.and_then(|(id, _)| machine.objects.get(id).as_ref());
            if let (Some((_, field)), Some(object)) = (field, object)
                && let Some(value) = object.fields.get(field as usize)
            {
                builder.value(value, &mut items);
            }
        }
        let things = builder.things();
        list.clear();
        list.extend(items.iter().map(|item| named(item, &things)));
        true
    }
}

/// An item with the name of what it refers to.
fn named(item: &Item, things: &[Thing]) -> i64 {
    match *item {
        Item::Number(n) => n,
        Item::Node(to) => name(&things[to]),
    }
}

impl Machine {
    /// Which fields the tasks that have not ended may read.
    fn living_fields(&self, image: &Image) -> Vec<bool> {
        let mut living = vec![false; image.facts.may_read.fields()];
        let tasks = self.unfinished.iter().filter_map(|process| self.task(process.0));
        for frame in tasks.flat_map(|task| &task.frames) {
            continuations(image, frame).for_each(|reads| {
                add_all(&mut living, &reads.fields);
            });
        }
        living
    }

    /// Under a circular order, whose turn it was last.
    fn last_turn(&self) -> i64 {
        if self.settings.objects != ObjectOrder::Circular {
            return 0;
        }
        self.cogs_made.iter().position(|&cog| cog == self.last_cog).unwrap_or_default() as i64
    }

    /// With fields, everything; without, what the tasks know.
    fn graph(&self, image: &Image, fields: bool) -> Builder<'_> {
        let living = self.settings.forgets_dead_variables.then(|| self.living_fields(image));
        let mut builder = Builder::new(self, fields, living);
        builder.collect(image);
        builder
    }

    fn encode(&self, image: &Image, fields: bool) -> Vec<i64> {
        let mut code = self.graph(image, fields).graph.canonical();
        if fields && self.settings.objects == ObjectOrder::Circular {
            code.push(self.last_turn());
        }
        code
    }

    /// All that there is, up to names, with what two tasks know or came to; none if too much looks alike.
    pub(super) fn state_with(&self, image: &Image, tasks: [u32; 2]) -> Option<Vec<i64>> {
        let mut builder = Builder::new(self, true, None);
        let tasks = tasks.map(|p| Item::Node(builder.number(Thing::Task(p))));
        builder.collect(image);
        builder.graph.nodes.push(canonical::Node { name: (true, Vec::new()), items: tasks.to_vec() });
        builder.graph.exact()
    }

    /// The fields of all objects as terms `object(name,'Class',[field(name,value),..])`, in the order of
    /// their names in the creation tree.
    pub fn state_terms(&self, image: &Image) -> Vec<String> {
        let alive = |id: &u32| self.objects.get(*id).is_some();
        let mut ids: Vec<u32> = (0..self.references.len() as u32).filter(alive).collect();
        ids.sort_by(|&a, &b| self.references[a as usize].path.cmp(&self.references[b as usize].path));
        let mut terms = Vec::new();
        for id in ids {
            let Some(object) = self.objects.get(id) else { continue };
            let class = &image.classes[object.class as usize];
            let fields = class.fields.iter().zip(&object.fields);
            let fields: Vec<String> = fields
                .map(|(name, value)| format!("field({name},{})", crate::value::show(value, image)))
                .collect();
            let name = crate::value::show(&Value::Object(self.references[id as usize].clone()), image);
            terms.push(format!("object({name},'{}',[{}])", class.name, fields.join(",")));
        }
        terms
    }
}

impl<'a> Builder<'a> {
    fn new(machine: &'a Machine, fields: bool, living: Option<Vec<bool>>) -> Builder<'a> {
        let (graph, numbers) = (Graph::default(), BTreeMap::new());
        Builder { machine, graph, numbers, rest: Vec::new(), fields, living }
    }

    /// What each node stands for.
    fn things(&self) -> Vec<Thing> {
        let mut things = vec![Thing::Task(0); self.numbers.len()];
        self.numbers.iter().for_each(|(thing, &number)| things[number] = *thing);
        things
    }

    fn collect(&mut self, image: &Image) {
        let machine = self.machine;
        // Of an object that nobody will find, nothing matters; but what happens to a cog happens to all its
        // objects.
        if self.fields && (self.living.is_none() || image.facts.has_local) {
            for id in 0..machine.references.len() as u32 {
                if machine.objects.get(id).is_some() {
                    self.number(Thing::Object(id));
                }
            }
        }
        for p in 0..machine.tasks.len() as u32 {
            if machine.task(p).is_some_and(|task| !task.is_done() || is_unhandled(task)) {
                self.number(Thing::Task(p));
            }
        }
        while let Some(thing) = self.rest.pop() {
            let node = self.numbers[&thing];
            let mut items = Vec::new();
            match thing {
                Thing::Object(id) => self.object(image, id, &mut items),
                Thing::Task(p) => {
                    if let Some(task) = machine.task(p) {
                        self.task(image, task, &mut items);
                    }
                }
            }
            self.graph.nodes[node].items = items;
        }
    }

    /// The node of a thing, which may be new.
    fn number(&mut self, thing: Thing) -> usize {
        if let Some(&known) = self.numbers.get(&thing) {
            return known;
        }
        let path = match thing {
            Thing::Object(id) => &self.machine.references[id as usize].path,
            Thing::Task(p) => &self.machine.futures[p as usize].path,
        };
        let name = (matches!(thing, Thing::Task(_)), path.to_vec());
        self.graph.nodes.push(canonical::Node { name, items: Vec::new() });
        let number = self.graph.nodes.len() - 1;
        self.numbers.insert(thing, number);
        self.rest.push(thing);
        number
    }

    fn reference(&mut self, object: Option<&Rc<Reference>>, items: &mut Vec<Item>) {
        match object {
            None => items.push(Item::Number(-1)),
            Some(object) => items.push(Item::Node(self.number(Thing::Object(object.id)))),
        }
    }

    fn object(&mut self, image: &Image, id: u32, items: &mut Vec<Item>) {
        let machine = self.machine;
        let Some(object): Option<&Rc<Object>> = machine.objects.get(id).as_ref() else { return };
        items.extend([0, i64::from(object.class)].map(Item::Number));
        if !self.fields {
            return;
        }
        items.push(Item::Number(i64::from(object.dead)));
        match object.cog.checked_sub(1) {
            None => items.push(Item::Number(-1)),
            Some(first) => items.push(Item::Node(self.number(Thing::Object(first)))),
        }
        if machine.settings.objects == ObjectOrder::Circular {
            let made = machine.cogs_made.iter().position(|&cog| cog == id + 1);
            items.push(Item::Number(made.map_or(-1, |made| made as i64)));
        }
        for (field, value) in object.fields.iter().enumerate() {
            let number = image.facts.may_read.field(object.class, field as u32);
            match self.living.as_ref().is_none_or(|living| living[number]) {
                true => self.value(value, items),
                false => items.push(DEAD),
            }
        }
    }

    fn task(&mut self, image: &Image, task: &Task, items: &mut Vec<Item>) {
        items.push(Item::Number(1));
        if let Wait::Done(outcome) = &task.wait {
            // Of a task that has ended, its value is all that anybody can see; who failed is told besides.
            items.push(Item::Number(0));
            match outcome {
                Ok(value) => self.value(value, items),
                Err(thrown) => {
                    let unhandled = is_unhandled(task);
                    items.extend([i64::from(unhandled), thrown.kind as i64].map(Item::Number));
                    self.value(&thrown.value, items);
                    if unhandled {
                        // What will be told of it, if nobody hears of it.
                        items.extend([i64::from(task.method), place(thrown)].map(Item::Number));
                        self.reference(task.object.as_ref(), items);
                    }
                }
            }
            return;
        }
        items.push(Item::Number(if task.method == NONE { -1 } else { i64::from(task.method) }));
        self.reference(task.object.as_ref(), items);
        self.wait(task, items);
        if self.machine.settings.tasks != TaskOrder::Any {
            items.push(Item::Number(self.place_in_queue(task)));
        }
        items.push(Item::Number(task.frames.len() as i64));
        task.frames.iter().for_each(|frame| self.frame(image, frame, items));
    }

    /// How many tasks of the same cog joined the queue earlier.
    fn place_in_queue(&self, task: &Task) -> i64 {
        let machine = self.machine;
        let earlier = machine.unfinished.iter().filter_map(|process| machine.task(process.0));
        earlier.filter(|other| other.cog == task.cog && other.queued < task.queued).count() as i64
    }

    fn wait(&mut self, task: &Task, items: &mut Vec<Item>) {
        match &task.wait {
            Wait::Start => items.push(Item::Number(0)),
            Wait::Suspended => items.push(Item::Number(1)),
            Wait::Await { futures, noticed } => {
                let unseen: &[u32] = if *noticed { &[] } else { futures };
                items.extend([2, i64::from(*noticed), unseen.len() as i64].map(Item::Number));
                for &future in unseen {
                    let node = self.number(Thing::Task(future));
                    items.push(Item::Node(node));
                }
            }
            Wait::Blocked(future) => {
                items.push(Item::Number(3));
                let node = self.number(Thing::Task(*future));
                items.push(Item::Node(node));
            }
            Wait::Choosing(count) => items.extend([4, i64::from(*count)].map(Item::Number)),
            Wait::Chosen(drawn) => items.extend([5, i64::from(*drawn)].map(Item::Number)),
            Wait::Done(_) => items.push(Item::Number(6)),
        }
    }

    fn frame(&mut self, image: &Image, frame: &Frame, items: &mut Vec<Item>) {
        debug_assert_eq!(frame.slots.len(), image.bodies[frame.body as usize].slots as usize);
        items.extend([i64::from(frame.body), i64::from(frame.pc)].map(Item::Number));
        self.reference(frame.this.as_ref(), items);
        let living = self.living.as_ref().map(|_| living_slots(image, frame));
        for (slot, value) in frame.slots.iter().enumerate() {
            match living.as_ref().is_none_or(|living| living[slot]) {
                true => self.value(value, items),
                false => items.push(DEAD),
            }
        }
        items.push(Item::Number(frame.handlers.len() as i64));
        items.extend(frame.handlers.iter().map(|handler| Item::Number(i64::from(handler.at))));
        items.push(Item::Number(frame.pending.len() as i64));
        for pending in &frame.pending {
            match pending {
                Pending::Nothing => items.push(Item::Number(0)),
                Pending::Throw(thrown) => {
                    items.extend([1, thrown.kind as i64, place(thrown)].map(Item::Number));
                    self.value(&thrown.value, items);
                }
                Pending::Return(value) => {
                    items.push(Item::Number(2));
                    self.value(value, items);
                }
            }
        }
        if let Some(thrown) = &frame.exception {
            items.extend([thrown.kind as i64, place(thrown)].map(Item::Number));
            self.value(&thrown.value, items);
        }
    }

    /// A value, so that no two values have the same items.
    fn value(&mut self, value: &Value, items: &mut Vec<Item>) {
        let mut rest: Vec<(&Value, bool)> = vec![(value, false)];
        while let Some((value, in_key)) = rest.pop() {
            let mut put = |numbers: &[i64]| items.extend(numbers.iter().map(|&n| Item::Number(n)));
            match value {
                Value::Unit => put(&[0]),
                Value::Bool(value) => put(&[1, i64::from(*value)]),
                Value::Int(n) => put(&[2, *n]),
                Value::Big(n) => bytes(3, &n.to_signed_bytes_le(), &mut put),
                Value::Rat(rat) => {
                    bytes(4, &rat.0.to_signed_bytes_le(), &mut put);
                    bytes(4, &rat.1.to_signed_bytes_le(), &mut put);
                }
                Value::Text(text) => bytes(5, text.as_bytes(), &mut put),
                Value::Null => put(&[6]),
                Value::Object(object) | Value::Future(object) if in_key => {
                    put(&[13, i64::from(object.class), object.path.len() as i64]);
                    object.path.iter().for_each(|&part| put(&[i64::from(part)]));
                    // The name alone would not say which of the nodes it is.
                    let future = matches!(value, Value::Future(_));
                    let thing = if future { Thing::Task(object.id) } else { Thing::Object(object.id) };
                    items.push(Item::Node(self.number(thing)));
                }
                Value::Object(object) => {
                    put(&[7]);
                    items.push(Item::Node(self.number(Thing::Object(object.id))));
                }
                Value::Future(future) => {
                    put(&[8]);
                    items.push(Item::Node(self.number(Thing::Task(future.id))));
                }
                Value::Atom(tag) => put(&[9, i64::from(tag.id)]),
                Value::Data(data) => {
                    put(&[9, i64::from(data.tag.id)]);
                    rest.extend(data.arguments.iter().rev().map(|value| (value, in_key)));
                }
                Value::Set(set) => {
                    put(&[10, set.len() as i64]);
                    rest.extend(set.iter().rev().map(|value| (value, true)));
                }
                Value::Closure(_) => put(&[11]),
            }
        }
    }
}

/// What stands for a dead variable: no value begins like this.
const DEAD: Item = Item::Number(-1);

/// Where a frame may go on: where it is, and where exceptions would lead it.
fn continuations<'a>(image: &'a Image, frame: &'a Frame) -> impl Iterator<Item = &'a Reads> {
    let handlers = frame.handlers.iter().map(|handler| handler.at);
    [frame.pc].into_iter().chain(handlers).filter_map(|pc| image.facts.may_read.at(frame.body, pc))
}

fn living_slots(image: &Image, frame: &Frame) -> Vec<bool> {
    let mut living = vec![false; frame.slots.len()];
    continuations(image, frame).for_each(|reads| {
        add_all(&mut living, &reads.slots);
    });
    living
}

/// Where something was thrown.
fn place(thrown: &Thrown) -> i64 {
    i64::from(thrown.span.file) << 32 | i64::from(thrown.span.start)
}

/// Whether a task ended with an exception that nobody was told of.
fn is_unhandled(task: &Task) -> bool {
    matches!(task.wait, Wait::Done(Err(_))) && !task.rethrown
}

fn bytes(kind: i64, bytes: &[u8], put: &mut impl FnMut(&[i64])) {
    put(&[kind, bytes.len() as i64]);
    bytes.iter().for_each(|&byte| put(&[i64::from(byte)]));
}
