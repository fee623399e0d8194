//! Which pending tasks commute, told from the present state.
//!
//! A block is the first segment of a method: the method, its object, its arguments. Two blocks of one object
//! commute by a constraint of their methods that a solver has proved ([`MethodPairs`]), or, where functions and
//! data keep it from knowing, by running both orders here: that holds as long as the fields that the two mention
//! hold what they hold. Two blocks of different objects are told apart by what they touch.
//!
//! Nothing is known of segments after an await, of objects whose cog can be locked or has several objects, and
//! under an order of tasks. Where names were seen to matter, orders that end alike but for names are not told.

use std::collections::BTreeMap;
use std::rc::Rc;

use mazurka_program::{Alike, Commutes, Constraints, Label, Location, ProcessId};
use mazurka_smt::{Model as Numbers, Var};

use crate::constraints::{Creator, Loop, MethodPair, Term};
use crate::value::{Reference, Value};

use super::code::Image;
use super::entity::{Task, Wait};
use super::run::{AbsRun, Machine};
use super::settings::AwaitTrue;

/// How many blocks are told apart: beyond that nothing is known of new ones.
const MOST_BLOCKS: usize = 100_000;

/// The first segment of a method.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Block {
    method: u32,
    object: u32,
    arguments: Vec<Value>,
}

/// The blocks that a run has met.
#[derive(Default)]
pub(super) struct Blocks {
    numbers: BTreeMap<Rc<Block>, u32>,
    list: Vec<Rc<Block>>,
    /// Numbers of values that are no integers.
    values: BTreeMap<Value, i128>,
}

/// No integer of a program that constraints are asked about is as large.
const FIRST_VALUE: i128 = 1 << 80;

impl Blocks {
    /// A number that no value has that is not equal to this one; none if it is too large, or a fraction.
    fn number(&mut self, value: &Value) -> Option<i128> {
        match value {
            Value::Int(number) => Some((*number).into()),
            Value::Bool(truth) => Some((*truth).into()),
            Value::Unit => Some(0),
            Value::Big(_) | Value::Rat(_) => None,
            value => {
                let next = FIRST_VALUE + self.values.len() as i128;
                Some(*self.values.entry(value.clone()).or_insert(next))
            }
        }
    }
}

/// What came of two blocks in one order.
struct Ended {
    fields: Vec<Value>,
    /// Of the first block and the second, whichever came before.
    tasks: [Outcome; 2],
}

struct Outcome {
    task: Rc<Task>,
    /// The tasks that it created.
    called: Vec<(u32, u32, Vec<Value>)>,
    /// How many objects it created.
    created: u32,
}

/// How many operations a segment may take that is run to see what would come of it: of one that takes more nothing
/// is known.
const MOST_IN_PASSING: u64 = 200_000;

impl Machine {
    /// Whether something can be known of blocks of a task.
    pub(super) fn has_block(&self, image: &Image, task: &Task) -> bool {
        matches!(task.wait, Wait::Start)
            && task.object.is_some()
            && !self.scheduled
            && !image.facts.has_local
            && self.settings.await_holds == AwaitTrue::Release
            && !self.has_lock(image, task.cog)
    }

    /// Runs something that is taken back, whatever it comes across.
    pub(super) fn in_passing<T>(&mut self, run: impl FnOnce(&mut Machine) -> T) -> T {
        let (foresees, renames) = (self.foresees, self.renames);
        let (told, guard_told) = (self.vm.told_names, self.guard_told_names.get());
        let (resolved, depth) = (self.resolved, self.marks.len());
        let record = self.record.take();
        (self.foresees, self.renames) = (false, false);
        (self.vm.told_names, self.resolved) = (false, false);
        let most = self.settings.max_segment_steps;
        self.settings.max_segment_steps = most.min(MOST_IN_PASSING);
        let value = run(self);
        self.settings.max_segment_steps = most;
        while self.marks.len() > depth {
            self.undo_step();
        }
        (self.foresees, self.renames, self.resolved) = (foresees, renames, resolved);
        self.vm.told_names = told;
        self.guard_told_names.set(guard_told);
        self.record = record;
        value
    }

    /// Lets a task stand here that nobody has created. The step that it is put by is taken back with it.
    fn put_stranger(&mut self, image: &Image, ordinal: u32, task: Task) -> u32 {
        let p = self.names.child(None, ordinal).0;
        self.meet_process(p);
        self.mark();
        self.put_task(image, p, task);
        self.set_unfinished(p, true);
        self.set_enabled(p, true);
        if self.scheduled {
            self.history.push(self.enabled.clone());
        }
        p
    }

    fn stranger(&self, image: &Image, block: &Block) -> Option<Task> {
        let object: Rc<Reference> = self.references.get(block.object as usize)?.clone();
        let cog = self.objects.get(block.object).as_ref()?.cog;
        let body = image.methods[block.method as usize].body;
        let frame = self.frame(image, body, Some(object.clone()), block.arguments.clone());
        Some(Task::new(block.method, Some(object), cog, frame, 0))
    }

    /// Runs two blocks in an order; none if something is thrown, or names matter.
    fn run_order(&mut self, image: &Image, blocks: [&Block; 2], swapped: bool) -> Option<Ended> {
        self.in_passing(|machine| {
            let tasks = [machine.stranger(image, blocks[0])?, machine.stranger(image, blocks[1])?];
            let mut processes = Vec::new();
            for (ordinal, task) in (1..).zip(tasks) {
                processes.push(machine.put_stranger(image, ordinal, task));
            }
            let order = if swapped { [1, 0] } else { [0, 1] };
            let mut called = [Vec::new(), Vec::new()];
            for at in order {
                let mut label = Label::default();
                machine.step(image, processes[at], 0, &mut label).ok()?;
                for child in &label.spawned {
                    called[at].push(machine.call_of(*child)?);
                }
            }
            let [first, second] = called;
            let mut outcomes = [first, second].into_iter().zip(&processes).map(|(called, &p)| {
                let task = machine.task(p)?.clone();
                let threw = matches!(task.wait, Wait::Done(Err(_)));
                let created = task.created;
                (!threw).then_some(Outcome { task, called, created })
            });
            let tasks = [outcomes.next()??, outcomes.next()??];
            let fields = machine.objects.get(blocks[0].object).as_ref()?.fields.clone();
            (!machine.vm.told_names).then_some(Ended { fields, tasks })
        })
    }

    /// Whom a task that was just created is of, and with what.
    fn call_of(&self, process: ProcessId) -> Option<(u32, u32, Vec<Value>)> {
        let task = self.task(process.0)?;
        let object = task.object.as_ref()?.id;
        Some((object, task.method, task.frames.first()?.slots.clone()))
    }

    /// How alike both orders of two blocks end, run here.
    fn run_both(&mut self, image: &Image, first: &Block, second: &Block) -> Alike {
        let Some(one) = self.run_order(image, [first, second], false) else { return Alike::Unknown };
        let Some(other) = self.run_order(image, [first, second], true) else { return Alike::Unknown };
        if one.fields != other.fields || !one.tasks.iter().zip(&other.tasks).all(|(a, b)| same_end(a, b)) {
            return Alike::Unknown;
        }
        let called = |ended: &Ended, at: usize| ended.tasks[at].called.clone();
        if (0..2).all(|at| called(&one, at) == called(&other, at)) {
            return Alike::Same;
        }
        let all = |ended: &Ended| {
            let mut all = [called(ended, 0), called(ended, 1)].concat();
            all.sort();
            all
        };
        let ours = [self.names.child(None, 1), self.names.child(None, 2)];
        let ours = ours.map(|process| self.futures[process.index()].path.clone());
        // Names of what the two create: they must be nowhere, or it would be known who created what.
        let speaks = |value: &Value| {
            let mut found = false;
            value.visit(&mut |part, _| {
                if let Value::Object(thing) | Value::Future(thing) = part {
                    found |= ours.iter().any(|path| thing.path.starts_with(path));
                }
            });
            found
        };
        let everything = |ended: &Ended| -> bool {
            let tasks = ended.tasks.iter();
            let left = tasks.flat_map(|outcome| outcome.task.frames.iter().flat_map(|frame| &frame.slots));
            let results = ended.tasks.iter().filter_map(|outcome| match &outcome.task.wait {
                Wait::Done(Ok(value)) => Some(value),
                _ => None,
            });
            let arguments = ended.tasks.iter().flat_map(|outcome| &outcome.called);
            let arguments = arguments.flat_map(|(_, _, arguments)| arguments);
            ended.fields.iter().chain(left).chain(results).chain(arguments).any(speaks)
        };
        let ended = |task: &Outcome| task.task.is_done();
        let alike = all(&one) == all(&other)
            && one.tasks.iter().all(|outcome| outcome.created == 0 && ended(outcome))
            && !everything(&one)
            && !everything(&other);
        if alike { Alike::Renamed } else { Alike::Unknown }
    }

    /// Whether a loop of a method, begun with these variables, comes to an end without an exception, it and what
    /// comes behind it in the segment.
    fn loop_ends(&mut self, image: &Image, block: &Block, at: &Loop, slots: &[(u32, Value)]) -> bool {
        let ended = self.in_passing(|machine| {
            let mut task = machine.stranger(image, block)?;
            let frame = task.frames.first_mut()?;
            let spans = &image.bodies[frame.body as usize].spans;
            let here = |span: &crate::model::Span| span.file == at.file && span.start == at.start;
            frame.pc = spans.iter().position(here)? as u32;
            for (slot, value) in slots {
                *frame.slots.get_mut(*slot as usize)? = value.clone();
            }
            let p = machine.put_stranger(image, 1, task);
            machine.step(image, p, 0, &mut Label::default()).ok()?;
            let threw = matches!(machine.task(p)?.wait, Wait::Done(Err(_)));
            (!threw && !machine.vm.told_names).then_some(())
        });
        ended.is_some()
    }
}

/// Whether a task ended in the same way, but for whom it called.
fn same_end(one: &Outcome, other: &Outcome) -> bool {
    let (a, b) = (&one.task, &other.task);
    let same_wait = match (&a.wait, &b.wait) {
        (Wait::Done(Ok(a)), Wait::Done(Ok(b))) => a == b,
        (Wait::Suspended, Wait::Suspended) => true,
        (Wait::Await { futures: a, .. }, Wait::Await { futures: b, .. }) => a == b,
        _ => false,
    };
    let frame = |a: &super::entity::Frame, b: &super::entity::Frame| {
        let plain = |frame: &super::entity::Frame| {
            frame.handlers.is_empty() && frame.pending.is_empty() && frame.exception.is_none()
        };
        (a.body, a.pc) == (b.body, b.pc) && a.slots == b.slots && plain(a) && plain(b)
    };
    same_wait
        && one.created == other.created
        && a.frames.len() == b.frames.len()
        && a.frames.iter().zip(&b.frames).all(|(a, b)| frame(a, b))
}

/// Two blocks, and what is known of their methods.
#[derive(Clone, Copy)]
struct Asked<'a> {
    blocks: &'a [Rc<Block>; 2],
    pair: &'a MethodPair,
    creator: Creator,
}

impl AbsRun {
    fn pair(&mut self, first: u32, second: u32) -> Option<[Rc<Block>; 2]> {
        let list = &self.blocks.list;
        Some([list.get(first as usize)?.clone(), list.get(second as usize)?.clone()])
    }

    /// The value of a term of a constraint, and the fields that it is of.
    fn term(&mut self, asked: Asked<'_>, var: Var, fields: &mut Vec<u32>) -> Option<i128> {
        let Asked { blocks, pair, creator } = asked;
        let value = match pair.term(creator, var)? {
            Term::Field(field) => {
                fields.push(field);
                self.machine.objects.get(blocks[0].object).as_ref()?.fields.get(field as usize)?.clone()
            }
            Term::Argument(which, at) => blocks[which].arguments.get(at as usize)?.clone(),
            Term::Null => Value::Null,
            Term::Ends { which, at, slots } => {
                let mut values = Vec::new();
                for (slot, var) in slots {
                    values.push((slot, self.value(asked, var, fields)?));
                }
                fields.extend(at.fields.iter().copied());
                let image = self.image.clone();
                let ends = self.machine.loop_ends(&image, &blocks[which], &at, &values);
                return ends.then_some(1);
            }
        };
        self.blocks.number(&value)
    }

    fn value(&self, asked: Asked<'_>, var: Var, fields: &mut Vec<u32>) -> Option<Value> {
        let Asked { blocks, pair, creator } = asked;
        match pair.term(creator, var)? {
            Term::Field(field) => {
                fields.push(field);
                self.machine.objects.get(blocks[0].object).as_ref()?.fields.get(field as usize).cloned()
            }
            Term::Argument(which, at) => blocks[which].arguments.get(at as usize).cloned(),
            Term::Null => Some(Value::Null),
            Term::Ends { .. } => None,
        }
    }

    /// Whether a constraint of two blocks of one object holds now, and nothing changes that it is about.
    fn holds(
        &mut self,
        blocks: &[Rc<Block>; 2],
        creator: Creator,
        changes: &mut dyn FnMut(Location) -> bool,
    ) -> bool {
        let Some(pair) = self.pairs.pair(blocks[0].method, blocks[1].method) else { return false };
        for constraint in &pair.independence(creator).constraints {
            let (mut numbers, mut fields) = (Numbers::default(), Vec::new());
            let known = constraint.vars().into_iter().all(|var| {
                let asked = Asked { blocks, pair: &pair, creator };
                let value = self.term(asked, var, &mut fields);
                value.is_some_and(|value| numbers.0.insert(var, value).is_none())
            });
            let base = self.machine.bases[blocks[0].object as usize];
            if known
                && constraint.holds(&numbers) == Some(true)
                && !fields.iter().any(|&field| changes(Location(base + field)))
            {
                return true;
            }
        }
        false
    }

    fn alike(&mut self, first: u32, second: u32, changes: &mut dyn FnMut(Location) -> bool) -> Alike {
        let Some(blocks) = self.pair(first, second) else { return Alike::Unknown };
        let object = blocks[0].object;
        // Those of different objects have nothing in common, but for what stands for many futures.
        if blocks[1].object != object || self.machine.objects.get(object).is_none() {
            return Alike::Unknown;
        }
        if self.holds(&blocks, Creator::Same, changes) {
            return Alike::Same;
        }
        let renames = !self.machine.keeps_names;
        if renames && self.holds(&blocks, Creator::Anyone, changes) {
            return Alike::Renamed;
        }
        let (image, base) = (self.image.clone(), self.machine.bases[object as usize]);
        let mentioned = |block: &Block| &image.facts.methods[block.method as usize];
        let mut fields = mentioned(&blocks[0]).iter().chain(mentioned(&blocks[1]));
        let alive = self.machine.alive_location(&image, object);
        if fields.any(|&(field, _)| changes(Location(base + field))) || changes(Location(alive)) {
            return Alike::Unknown;
        }
        match self.machine.run_both(&image, &blocks[0], &blocks[1]) {
            Alike::Renamed if !renames => Alike::Unknown,
            alike => alike,
        }
    }
}

impl Constraints for AbsRun {
    fn block(&mut self, process: ProcessId) -> Option<u32> {
        let task = self.machine.task(process.0)?;
        if !self.machine.has_block(&self.image, task) {
            return None;
        }
        let arity = self.image.methods[task.method as usize].parameters as usize;
        let arguments = task.frames.first()?.slots.get(..arity)?.to_vec();
        let block = Block { method: task.method, object: task.object.as_ref()?.id, arguments };
        let Blocks { numbers, list, .. } = &mut self.blocks;
        if let Some(&known) = numbers.get(&block) {
            return Some(known);
        }
        if list.len() == MOST_BLOCKS {
            return None;
        }
        let (block, number) = (Rc::new(block), list.len() as u32);
        numbers.insert(block.clone(), number);
        list.push(block);
        Some(number)
    }

    fn commute(&mut self, first: u32, second: u32) -> Commutes {
        let Some([one, other]) = self.pair(first, second) else { return Commutes::Unknown };
        if one.object == other.object
            && let Some(pair) = self.pairs.pair(one.method, other.method)
            && pair.independence(Creator::Same).always()
        {
            return Commutes::Always;
        }
        match self.alike(first, second, &mut |_| false) {
            Alike::Same => Commutes::Here,
            _ => Commutes::Unknown,
        }
    }

    fn commute_uniformly(&mut self, first: u32, second: u32, _: ProcessId) -> bool {
        self.commute(first, second) == Commutes::Always
    }

    fn commute_unless(
        &mut self,
        first: u32,
        second: u32,
        changes: &mut dyn FnMut(Location) -> bool,
    ) -> Alike {
        self.alike(first, second, changes)
    }

    /// A task begins once.
    fn is_once(&self, _: u32) -> bool {
        true
    }

    fn commute_beside(&mut self, first: u32, second: u32, processes: [ProcessId; 2]) -> bool {
        let image = self.image.clone();
        let written = self.machine.may_write(&image, processes.map(|process| process.0));
        self.alike(first, second, &mut |location| written.contains(&location.0)) != Alike::Unknown
    }
}
