//! Mailboxes: messages are kept in the order in which they were sent, taken or not, so that a step is undone
//! by forgetting the last one sent or the mark on the one taken.

use mazurka_program::{AccessKind, Receives};

use super::eval::{Now, Recorder, Unrecorded, eval};
use super::process::{Halt, Message, Undo};
use super::step::Executor;
use super::{LitmusRun, Machine};
use crate::code::{ComponentCode, Image, Instr, NONE, ReceiveCode, SendCode};

impl Machine {
    pub(super) fn parts(&self, message: &Message) -> &[i64] {
        &self.payload[message.start as usize..(message.start + message.len) as usize]
    }

    /// The first arm whose pattern matches a message.
    pub(super) fn matching_arm(
        &self,
        image: &Image,
        code: &ReceiveCode,
        locals: &[i64],
        message: &Message,
    ) -> Option<usize> {
        let parts = self.parts(message);
        let equal = |component: &ComponentCode, part: i64| match *component {
            ComponentCode::Equal(node) => {
                eval(image, locals, node, &mut Now(&self.memory, &mut Unrecorded)) == Ok(part)
            }
            ComponentCode::Bind(_) | ComponentCode::Any => true,
        };
        code.arms.iter().position(|arm| match &arm.components {
            None => true,
            Some(components) => {
                components.len() == parts.len()
                    && components.iter().zip(parts).all(|(c, &part)| equal(c, part))
            }
        })
    }

    /// The oldest message of a process that a receive would take, and the arm that takes it.
    pub(super) fn find_message(&self, image: &Image, p: u32, code: &ReceiveCode) -> Option<(usize, usize)> {
        let proc = &self.procs[p as usize];
        let head = proc.core.head as usize;
        proc.inbox.iter().enumerate().skip(head).filter(|(_, message)| message.taken_at == NONE).find_map(
            |(at, message)| self.matching_arm(image, code, &proc.locals, message).map(|arm| (at, arm)),
        )
    }

    /// The failure of a pattern's own expressions, which ends the process whatever the mailbox holds.
    pub(super) fn pattern_failure(&self, image: &Image, p: u32, code: &ReceiveCode) -> Option<Halt> {
        let components = code.arms.iter().flat_map(|arm| arm.components.iter().flatten());
        components.into_iter().find_map(|component| match *component {
            ComponentCode::Equal(node) => self.value(image, p, node, &mut Unrecorded).err(),
            _ => None,
        })
    }

    fn take(&mut self, p: u32, at: usize) {
        let now = self.now();
        let proc = &mut self.procs[p as usize];
        proc.inbox[at].taken_at = now;
        while proc.inbox.get(proc.core.head as usize).is_some_and(|message| message.taken_at != NONE) {
            proc.core.head += 1;
        }
        self.undo.push(Undo::Taken(p, at as u32));
    }
}

impl Receives for LitmusRun {
    fn would_take(&self, receive: usize, send: usize) -> bool {
        let (image, machine) = (&*self.image, &self.machine);
        let Some(mark) = machine.marks.get(receive) else { return false };
        let Instr::Receive(code) = image.lines[mark.core.pc as usize].instr else { return false };
        let code = &image.receives[code as usize];
        let locals = machine.saved_locals(receive);
        let inbox = &machine.procs[mark.process as usize].inbox;
        let first = inbox.partition_point(|message| (message.sent_at as usize) < send);
        let mut sent = inbox[first..].iter().take_while(|message| message.sent_at as usize == send);
        sent.any(|message| machine.matching_arm(image, code, locals, message).is_some())
    }
}

impl<R: Recorder> Executor<'_, R> {
    pub(super) fn send(&mut self, code: &SendCode) -> Result<(), Halt> {
        let to = self.machine.peer(self.image, self.process, code.to)?;
        let start = self.machine.payload.len() as u32;
        for &part in &code.message {
            match self.value(part) {
                Ok(value) => self.machine.payload.push(value),
                Err(halt) => {
                    self.machine.payload.truncate(start as usize);
                    return Err(halt);
                }
            }
        }
        let (machine, p) = (&mut *self.machine, self.process);
        let ordinal = machine.procs[p as usize].core.sent;
        machine.procs[p as usize].core.sent += 1;
        self.record.touch(machine.mailbox_location(to), AccessKind::Send);
        if !machine.foresee {
            self.record.touch(machine.message_location(p, ordinal), AccessKind::Write);
        }
        let len = machine.payload.len() as u32 - start;
        let message = Message { sender: p, ordinal, sent_at: machine.now(), taken_at: NONE, start, len };
        machine.procs[to as usize].inbox.push(message);
        machine.undo.push(Undo::Sent(to));
        machine.signal = true;
        Ok(())
    }

    /// Takes a message or times out; gives the line to go on with.
    pub(super) fn receive(&mut self, receive: u32) -> Result<u32, Halt> {
        let code = &self.image.receives[receive as usize];
        let (machine, p) = (&mut *self.machine, self.process);
        if let Some(halt) = machine.pattern_failure(self.image, p, code) {
            return Err(halt);
        }
        let found = machine.find_message(self.image, p, code);
        if machine.foresee || found.is_none() {
            self.record.touch(machine.mailbox_location(p), AccessKind::Read);
        }
        let Some((at, arm)) = found else { return Ok(code.timeout) };
        let message = machine.procs[p as usize].inbox[at];
        if !machine.foresee {
            let location = machine.message_location(message.sender, message.ordinal);
            self.record.touch(location, AccessKind::Update);
        }
        machine.take(p, at);
        for (i, component) in code.arms[arm].components.iter().flatten().enumerate() {
            if let ComponentCode::Bind(slot) = *component {
                let value = machine.payload[message.start as usize + i];
                machine.set_local(p, slot, value);
            }
        }
        Ok(code.arms[arm].to)
    }
}
