//! What went wrong, in words.

use mazurka_program::{AccessKind, Failure, FailureKind, ProcessId};

use super::Machine;
use super::eval::{Now, Recorder, Unrecorded, eval};
use super::process::{Halt, Indexed};
use crate::arithmetic;
use crate::ast::Span;
use crate::code::{Condition, Image, NONE, Node};

/// How many failures of one step are kept: a local loop can fail again and again.
const MAX_FAILURES: usize = 64;

/// The cells that were touched.
#[derive(Default)]
struct CellRecorder(Vec<u32>);

impl Recorder for CellRecorder {
    fn touch(&mut self, location: u32, _: AccessKind) {
        self.0.push(location);
    }
    fn touch_range(&mut self, first: u32, len: u32, _: AccessKind) {
        self.0.extend(first..first + len);
    }
    fn spawned(&mut self, _: ProcessId) {}
}

impl Machine {
    pub(super) fn process_name(&self, image: &Image, p: u32) -> String {
        if let Some(&decl) = image.roots.get(p as usize) {
            let family = &image.families[decl as usize];
            return match family.family {
                true => format!("{}[{}]", family.name, family.from + i64::from(p - family.first)),
                false => family.name.clone(),
            };
        }
        match self.procs.get(p as usize) {
            Some(proc) => {
                format!("{} {}", image.bodies[proc.body as usize].name, self.names.display(ProcessId(p)))
            }
            None => format!("process number {p}"),
        }
    }

    fn fail(&mut self, image: &Image, p: u32, kind: FailureKind, message: String, span: Span) {
        let before = self.marks.last().map_or(0, |mark| mark.failures as usize);
        if self.failures.len() - before < MAX_FAILURES {
            let process = Some(ProcessId(p));
            self.failures.push(Failure { kind, message, place: image.place(span), process });
        }
    }

    /// The names that decided a condition with their values: `x = 1, n = 2`. What was not read is left out:
    /// others may change it meanwhile, and executions of one class must say the same.
    pub(super) fn values(&self, image: &Image, p: u32, condition: &Condition) -> String {
        let locals = &self.procs[p as usize].locals;
        let mut read = CellRecorder::default();
        let _ = eval(image, locals, condition.node, &mut Now(&self.memory, &mut read));
        let values = condition.leaves.iter().filter_map(|(name, node)| {
            let mut needed = CellRecorder::default();
            let value = eval(image, locals, *node, &mut Now(&self.memory, &mut needed)).ok()?;
            needed.0.iter().all(|cell| read.0.contains(cell)).then(|| format!("{name} = {value}"))
        });
        values.collect::<Vec<_>>().join(", ")
    }

    pub(super) fn assertion_failed(&mut self, image: &Image, p: u32, condition: &Condition) {
        let mut message = format!("assertion failed: {}", condition.text);
        let values = self.values(image, p, condition);
        if !values.is_empty() {
            message += &format!(" ({values})");
        }
        if let Some(words) = &condition.message {
            message += &format!(": {words}");
        }
        self.fail(image, p, FailureKind::Assertion, message, condition.span);
    }

    /// Records why a process ends early.
    pub(super) fn halted(&mut self, image: &Image, p: u32, halt: Halt) {
        let line = image.lines[self.procs[p as usize].core.pc as usize].span;
        let (kind, message, span) = match halt {
            Halt::Arithmetic(node) => (
                FailureKind::Arithmetic,
                self.arithmetic_message(image, p, node),
                image.node_spans[node as usize],
            ),
            Halt::Change(cell, op, by) => {
                let name = image.cell_name(cell).unwrap_or_default();
                let why = arithmetic::describe(op, self.memory.get(cell), by);
                (FailureKind::Arithmetic, format!("changing {name}: {why}"), line)
            }
            Halt::Range(indexed, at) => (FailureKind::Arithmetic, range_message(image, indexed, at), line),
            Halt::Choices(count) => {
                let message = format!("choose({count}): the number of choices must be between 1 and 1000");
                (FailureKind::Arithmetic, message, line)
            }
            Halt::NoProcess(slot) => {
                let body = self.procs[p as usize].body as usize;
                let name = &image.bodies[body].locals[slot as usize].name;
                (
                    FailureKind::InvalidSync,
                    format!("{name} holds no process: nothing was spawned into it"),
                    line,
                )
            }
            Halt::NotHeld(cell) => (FailureKind::InvalidSync, self.not_held_message(image, p, cell), line),
            Halt::Hang => {
                let message =
                    "a loop came back to the same local state without a step: it never ends".to_owned();
                (FailureKind::Hang, message, line)
            }
            // These are no failures.
            Halt::Assumed | Halt::Overrun => return,
        };
        let span = if span.end > 0 { span } else { line };
        self.fail(image, p, kind, message, span);
    }

    fn arithmetic_message(&self, image: &Image, p: u32, node: u32) -> String {
        let locals = &self.procs[p as usize].locals;
        let value = |id| eval(image, locals, id, &mut Now(&self.memory, &mut Unrecorded)).unwrap_or(0);
        match image.nodes[node as usize] {
            Node::Cell { var, index } => {
                let info = &image.vars[var as usize];
                out_of_range(&info.name, value(index), 0, info.len)
            }
            Node::Neg(a) => format!("-({}) overflows 64 bits", value(a)),
            Node::Binary(op, a, b) => arithmetic::describe(op, value(a), value(b)),
            _ => "arithmetic failed".to_owned(),
        }
    }

    fn not_held_message(&self, image: &Image, p: u32, cell: u32) -> String {
        let text = &image.texts[self.procs[p as usize].core.pc as usize];
        let name = image.cell_name(cell).unwrap_or_default();
        match self.memory.get(cell) {
            0 => format!("{text}: nobody holds {name}"),
            holder => {
                let (holder, process) =
                    (self.process_name(image, holder as u32 - 1), self.process_name(image, p));
                format!("{text}: {name} is held by {holder}, not by {process}")
            }
        }
    }
}

fn range_message(image: &Image, indexed: Indexed, at: i64) -> String {
    let (name, from, len) = match indexed {
        Indexed::Lock(decl) => (&image.locks[decl as usize].name, 0, image.locks[decl as usize].len),
        Indexed::Condvar(decl) => (&image.condvars[decl as usize].name, 0, image.condvars[decl as usize].len),
        Indexed::Family(decl) => {
            let family = &image.families[decl as usize];
            (&family.name, family.from, family.len)
        }
    };
    out_of_range(name, at, from, len)
}

fn out_of_range(name: &str, at: i64, from: i64, len: u32) -> String {
    match len {
        0 => format!("{name}[{at}] is out of range: {name} is empty"),
        _ => {
            format!("{name}[{at}] is out of range: {name} goes from {from} to {}", from + i64::from(len - 1))
        }
    }
}

/// Whether a number stands for a process in the cell of a lock.
pub(super) fn holder(value: i64) -> Option<u32> {
    value.checked_sub(1).and_then(|p| u32::try_from(p).ok()).filter(|&p| p != NONE)
}
