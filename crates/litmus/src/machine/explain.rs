//! Steps and waiting processes, told to people. Nothing here runs while a search does.

use mazurka_program::{
    AccessKind, Explain, Explanation, Label, Location, Observed, ProcessId, Run, Stop, WaitExplanation,
};

use super::eval::{Reader, eval};
use super::failure::holder;
use super::memory::Memory;
use super::process::{Message, Proc, Status, Undo, Wait};
use super::{LitmusRun, Machine};
use crate::code::{Image, Instr, NONE, Op, VarInfo};

impl Explain for LitmusRun {
    fn process_name(&self, process: ProcessId) -> String {
        self.machine.process_name(&self.image, process.0)
    }

    fn step_explained(&mut self, process: ProcessId, choice: u32) -> Result<Explanation, Stop> {
        let refuted = self.refuted_by(process.0);
        let (image, machine) = (&*self.image, &mut self.machine);
        let mut label = Label::default();
        if !machine.enabled.contains(process) {
            machine.step(image, process.0, choice, &mut label)?;
        }
        let pc = machine.procs[process.index()].core.pc as usize;
        let read = machine.guard_reads(image, process.0);
        let before = machine.note_before(image, process.0, choice);
        // What was really touched is wanted here, whatever labels the search asked for.
        let foresee = std::mem::replace(&mut machine.foresee, false);
        let result = machine.step(image, process.0, choice, &mut label);
        machine.foresee = foresee;
        result?;
        machine.failures.extend(refuted);
        let (reads, writes) = machine.observed(image, &label, &read);
        let note = before.or_else(|| machine.note_after(image, process.0, pc, &label));
        let place = image.place(image.lines[pc].span);
        Ok(Explanation { process, operation: image.texts[pc].clone(), reads, writes, note, place })
    }

    fn explain_waiting(&self) -> Vec<WaitExplanation> {
        let (image, machine) = (&*self.image, &self.machine);
        let mut explained = Vec::new();
        self.waiting(&mut |process, _| {
            let pc = machine.procs[process.index()].core.pc as usize;
            let (waits_for, waits_on) = machine.waits_for(image, process.0);
            let place = image.place(image.lines[pc].span);
            let operation = image.texts[pc].clone();
            explained.push(WaitExplanation { process, operation, waits_for, waits_on, place });
        });
        explained
    }

    /// Shared variables, locks that are held, and of each process its variables, its messages and where it
    /// waits.
    fn state_terms(&self) -> Option<Vec<String>> {
        let (image, machine) = (&*self.image, &self.machine);
        let mut terms: Vec<String> = image.vars.iter().map(|var| machine.var_text(var)).collect();
        for lock in image.lock_base..image.condvar_base {
            if let (Some(name), Some(p)) = (image.cell_name(lock), holder(machine.memory.get(lock))) {
                terms.push(format!("{name} held by {}", machine.process_name(image, p)));
            }
        }
        for (p, proc) in
            machine.procs.iter().enumerate().filter(|(_, proc)| proc.core.status != Status::Absent)
        {
            let parts = machine.process_terms(image, proc);
            if !parts.is_empty() {
                terms.push(format!("{}: {}", machine.process_name(image, p as u32), parts.join(", ")));
            }
        }
        Some(terms)
    }
}

/// Lists the cells that an expression really reads.
struct Listing<'a>(&'a Memory, Vec<u32>);

impl Reader for Listing<'_> {
    fn read(&mut self, cell: u32) -> i64 {
        self.1.push(cell);
        self.0.get(cell)
    }
}

impl LitmusRun {
    /// The name of a location for people: `a[2]`, `exit of main`, `message 0 of main`.
    pub fn location_name(&self, location: Location) -> String {
        let (image, machine, at) = (&*self.image, &self.machine, location.0);
        if let Some(name) = image.cell_name(at) {
            return match at >= image.condvar_base && (at - image.condvar_base) % 2 == 1 {
                true => format!("wake-ups of {name}"),
                false => name,
            };
        }
        if let Some(guard) = image.guards.iter().find(|guard| guard.group == at) {
            return format!("guard {}", guard.condition.text);
        }
        for (p, proc) in machine.procs.iter().enumerate() {
            let name = || machine.process_name(image, p as u32);
            if proc.exit_location == at {
                return format!("exit of {}", name());
            } else if proc.mailbox_location == at {
                return format!("mailbox of {}", name());
            } else if proc.wake_location == at {
                return format!("wake-up of {}", name());
            } else if let Some(ordinal) = proc.message_locations.iter().position(|&known| known == at) {
                return format!("message {ordinal} of {}", name());
            }
        }
        format!("location {at}")
    }
}

impl Machine {
    /// The cells that the guard of an await reads; its label has whole arrays.
    fn guard_reads(&self, image: &Image, p: u32) -> Vec<u32> {
        let proc = &self.procs[p as usize];
        let mut listing = Listing(&self.memory, Vec::new());
        if let Wait::Await(guard) = proc.core.wait {
            // A failure is told by the step.
            let _ = eval(image, &proc.locals, image.guards[guard as usize].condition.node, &mut listing);
        }
        listing.1
    }

    /// A shared variable and what it holds: `x = 1`, `a = [0, 1]`.
    fn var_text(&self, var: &VarInfo) -> String {
        let cells: Vec<String> =
            (var.base..var.base + var.len).map(|cell| self.memory.get(cell).to_string()).collect();
        let value = if var.array { format!("[{}]", cells.join(", ")) } else { cells.concat() };
        format!("{} = {value}", var.name)
    }

    /// What a process knows, and where it waits.
    fn process_terms(&self, image: &Image, proc: &Proc) -> Vec<String> {
        let locals = proc.locals.iter().zip(&image.bodies[proc.body as usize].locals);
        let named = locals.filter(|(_, info)| !info.name.is_empty());
        let mut terms: Vec<String> = named
            .map(|(&value, info)| match u32::try_from(value) {
                Ok(p) if info.handle => format!("{} = {}", info.name, self.process_name(image, p)),
                _ if info.handle => format!("{} = no process", info.name),
                _ => format!("{} = {value}", info.name),
            })
            .collect();
        let untaken = proc.inbox.iter().filter(|message| message.taken_at == NONE);
        terms.extend(untaken.map(|message| format!("message {} not taken", self.message_text(message))));
        if proc.core.wait != Wait::Free {
            terms.push(format!("waits at {}", image.texts[proc.core.pc as usize]));
        }
        terms
    }

    /// What a cell holds, as a person would say it.
    fn cell_text(&self, image: &Image, cell: u32, value: i64) -> String {
        match holder(value).filter(|_| cell >= image.lock_base) {
            Some(p) => format!("held by {}", self.process_name(image, p)),
            None if cell >= image.lock_base => "free".to_owned(),
            None => value.to_string(),
        }
    }

    /// What the last step read and wrote.
    fn observed(&self, image: &Image, label: &Label, really: &[u32]) -> (Vec<Observed>, Vec<Observed>) {
        let step = self.now();
        let (mut reads, mut writes) = (Vec::new(), Vec::new());
        for access in &label.accesses {
            for location in access.locations().map(|location| location.0) {
                if location >= image.condvar_base || access.len > 1 && !really.contains(&location) {
                    continue;
                }
                let Some(name) = image.cell_name(location) else { continue };
                if matches!(access.kind, AccessKind::Read | AccessKind::Update) {
                    let (value, source) = self.memory.at(location, step);
                    let value = self.cell_text(image, location, value);
                    reads.push(Observed { name: name.clone(), value, source });
                }
                let (value, written) = self.memory.at(location, step + 1);
                if written == Some(step as usize) {
                    let value = self.cell_text(image, location, value);
                    writes.push(Observed { name, value, source: None });
                }
            }
        }
        let taken = self.undone(step).filter_map(|undo| match *undo {
            Undo::Taken(p, at) => Some(self.procs[p as usize].inbox[at as usize]),
            _ => None,
        });
        for message in taken {
            let value = self.message_text(&message);
            reads.push(Observed {
                name: "message".to_owned(),
                value,
                source: Some(message.sent_at as usize),
            });
        }
        (reads, writes)
    }

    /// What the last step did to others.
    fn undone(&self, step: u32) -> impl Iterator<Item = &Undo> {
        self.undo[self.marks[step as usize].undo as usize..].iter()
    }

    fn message_text(&self, message: &Message) -> String {
        let parts: Vec<String> = self.parts(message).iter().map(i64::to_string).collect();
        if parts.len() == 1 { parts.concat() } else { format!("({})", parts.join(", ")) }
    }

    /// What can be told of a step only before it is taken.
    fn note_before(&self, image: &Image, p: u32, choice: u32) -> Option<String> {
        match image.lines[self.procs[p as usize].core.pc as usize].instr {
            Instr::Choose { count, .. } => {
                let count = self.choices(image, p, count).ok()?;
                Some(format!("chose {choice} of 0..{count}"))
            }
            Instr::NotifyOne(condvar) => self.note_notify(image, p, condvar, Some(choice)),
            Instr::NotifyAll(condvar) => self.note_notify(image, p, condvar, None),
            Instr::Join(peer) => {
                let target = self.peer(image, p, peer).ok()?;
                Some(format!("{} has ended", self.process_name(image, target)))
            }
            Instr::TryLock { lock, .. } => {
                let cell = self.lock_cell(image, p, lock).ok()?;
                let name = image.cell_name(cell)?;
                Some(match holder(self.memory.get(cell)) {
                    None => format!("took {name}"),
                    Some(q) => format!("did not get {name}: held by {}", self.process_name(image, q)),
                })
            }
            Instr::Op(Op::Cas { old, to, .. }) => {
                let mut reader = Listing(&self.memory, Vec::new());
                let locals = &self.procs[p as usize].locals;
                let old = eval(image, locals, old, &mut reader).ok()?;
                let cell = super::eval::place(image, locals, to, &mut reader).ok()?;
                let (name, value) = (image.cell_name(cell)?, self.memory.get(cell));
                Some(match value == old {
                    true => "succeeded".to_owned(),
                    false => format!("failed: {name} is {value}, not {old}"),
                })
            }
            _ => None,
        }
    }

    fn note_notify(
        &self,
        image: &Image,
        p: u32,
        condvar: crate::code::Object,
        choice: Option<u32>,
    ) -> Option<String> {
        let queue = self.condvar_cell(image, p, condvar).ok()?;
        let mut woken = Vec::new();
        self.woken(queue, choice, &mut woken);
        let names: Vec<String> = woken.iter().map(|&q| self.process_name(image, q)).collect();
        Some(match names.is_empty() {
            true => format!("nobody waits for {}", image.cell_name(queue)?),
            false => format!("woke {}", names.join(", ")),
        })
    }

    /// What can be told of a step once it is taken.
    fn note_after(&self, image: &Image, p: u32, pc: usize, label: &Label) -> Option<String> {
        let step = self.now();
        let line = |step: u32| {
            let span = image.lines[self.marks[step as usize].core.pc as usize].span;
            image.line_number(span).map(|line| format!(" in line {line}")).unwrap_or_default()
        };
        let mut notes: Vec<String> = Vec::new();
        let mut sent: Vec<u32> = Vec::new();
        for undo in self.undone(step) {
            match *undo {
                Undo::Taken(q, at) => {
                    let message = &self.procs[q as usize].inbox[at as usize];
                    let sender = self.process_name(image, message.sender);
                    let (text, line) = (self.message_text(message), line(message.sent_at));
                    notes.push(format!("took {text}, sent by {sender}{line}"));
                }
                Undo::Sent(q) => {
                    let inbox = &self.procs[q as usize].inbox;
                    let first = inbox.partition_point(|message| message.sent_at < step);
                    let earlier = sent.iter().filter(|&&to| to == q).count();
                    let text = inbox.get(first + earlier).map(|message| self.message_text(message));
                    sent.push(q);
                    notes.push(format!(
                        "sent {} to {}",
                        text.unwrap_or_default(),
                        self.process_name(image, q)
                    ));
                }
                Undo::Created(_) | Undo::Notified(_) => {}
            }
        }
        notes.extend(
            label.spawned.iter().map(|child| format!("created {}", self.process_name(image, child.0))),
        );
        if matches!(image.lines[pc].instr, Instr::Receive(_)) && notes.is_empty() {
            notes.push("timed out".to_owned());
        }
        if self.assumed > self.marks[step as usize].assumed {
            notes.push(format!("the assumption is false: {} stops here", self.process_name(image, p)));
        }
        (!notes.is_empty()).then(|| notes.join("; "))
    }

    /// What a process waits for, and on whom.
    fn waits_for(&self, image: &Image, p: u32) -> (String, Vec<ProcessId>) {
        let proc = &self.procs[p as usize];
        match proc.core.wait {
            Wait::Free => (String::new(), Vec::new()),
            Wait::Lock(cell) => self.waits_for_lock(image, p, cell),
            Wait::Wake(queue) => {
                (format!("a notification of {}", image.cell_name(queue).unwrap_or_default()), Vec::new())
            }
            Wait::Join(target) => {
                (format!("the end of {}", self.process_name(image, target)), vec![ProcessId(target)])
            }
            Wait::Change(cell) => {
                let (name, value) = (image.cell_name(cell).unwrap_or_default(), self.memory.get(cell));
                (format!("{name} to change ({name} = {})", self.cell_text(image, cell, value)), Vec::new())
            }
            Wait::Await(guard) => {
                let condition = &image.guards[guard as usize].condition;
                (format!("{} ({})", condition.text, self.values(image, p, condition)), Vec::new())
            }
            Wait::Receive(receive) => {
                let arms = image.receives[receive as usize].arms.iter().map(|arm| arm.text.as_str());
                let wanted = arms.collect::<Vec<_>>().join(" or ");
                let held = proc.inbox.iter().filter(|message| message.taken_at == NONE);
                let held: Vec<String> = held.map(|message| self.message_text(message)).collect();
                let held = if held.is_empty() {
                    "is empty".to_owned()
                } else {
                    format!("holds {}", held.join(", "))
                };
                (format!("a message {wanted}; the mailbox {held}"), Vec::new())
            }
        }
    }

    fn waits_for_lock(&self, image: &Image, p: u32, cell: u32) -> (String, Vec<ProcessId>) {
        let name = image.cell_name(cell).unwrap_or_default();
        let (value, taken) = self.memory.at(cell, self.marks.len() as u32);
        let Some(q) = holder(value) else { return (format!("lock {name}"), Vec::new()) };
        let who = match q == p {
            true => format!("{} itself", self.process_name(image, q)),
            false => self.process_name(image, q),
        };
        let span = taken.map(|step| image.lines[self.marks[step].core.pc as usize].span);
        let since = span.and_then(|span| image.line_number(span));
        let since = since.map(|line| format!(" since line {line}")).unwrap_or_default();
        let ended = if self.has_finished(q) { ", which has ended" } else { "" };
        (format!("lock {name}, held by {who}{since}{ended}"), vec![ProcessId(q)])
    }
}
