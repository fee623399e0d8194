//! What people are told: of steps, of values and where they came from, of who waits for what.
#![allow(unsafe_code)]

use mazurka_program::{
    AccessKind, Explain, Explanation, Location, Observed, Place, ProcessId, Run, Stop, WaitExplanation,
};
use rustc_hash::FxHashMap;

use crate::runtime::threads::objects::ObjectId;
use crate::runtime::threads::run::NativeRun;
use crate::runtime::threads::thread::{Pending, Status};
use crate::runtime::threads::world::{MAIN, World};

/// What is told of an execution whose steps are told.
#[derive(Default)]
pub(crate) struct Story {
    pub(crate) note: Option<String>,
    operation: String,
    reads: Vec<Observed>,
    writes: Vec<Observed>,
    /// By location: the position of the step that wrote it last.
    writers: FxHashMap<Location, usize>,
    /// Where locks were taken last.
    taken: FxHashMap<ObjectId, Option<Place>>,
}

impl World {
    /// Where in the source the call is that returns to an address.
    pub(crate) fn place(&self, address: usize) -> Option<Place> {
        let symbols = self.options.symbols.as_ref()?;
        let offset = address.checked_sub(self.image.base).filter(|_| self.image.extent.contains(&address))?;
        symbols.place(offset as u64)
    }

    /// ` at file:line`, or nothing.
    pub(crate) fn at_place(&self, address: usize) -> String {
        self.place(address).map_or_else(String::new, |place| format!(" at {}:{}", place.file, place.line))
    }

    pub(crate) fn function_name(&self, address: usize) -> Option<String> {
        let symbols = self.options.symbols.as_ref()?;
        symbols.function(address.checked_sub(self.image.base)? as u64)
    }

    pub(crate) fn note_holder(&mut self, object: ObjectId, thread: u32, place: usize) {
        if self.story.is_some() {
            let place = self.place_of(thread, place);
            self.story.as_mut().map(|story| story.taken.insert(object, place));
        }
    }

    /// ` since file:line`, or nothing.
    pub(crate) fn held_since(&self, object: ObjectId) -> String {
        let place = self.story.as_ref().and_then(|story| story.taken.get(&object)?.as_ref());
        place.map_or_else(String::new, |place| format!(" since {}:{}", place.file, place.line))
    }

    /// Puts into words what a step is about to do: its label is known, and its thread has not gone on.
    #[cold]
    pub(crate) fn tell_before(&mut self, operation: Option<String>) {
        let accesses: Vec<_> = self
            .label
            .accesses
            .iter()
            .flat_map(|access| access.locations().map(|location| (location, access.kind)))
            .collect();
        let mut reads = Vec::new();
        let mut names = Vec::new();
        for &(location, kind) in &accesses {
            let Some(cell) = self.partition.memory(location) else { continue };
            let name = self.memory_name(cell.address, cell.size);
            if matches!(kind, AccessKind::Read | AccessKind::Update) {
                let value = self.value_text(cell.address, cell.size);
                let source = self.story.as_ref().and_then(|story| story.writers.get(&location).copied());
                reads.push(Observed { name: name.clone(), value, source });
            }
            names.push((name, kind));
        }
        let position = (self.depth as usize).saturating_sub(1);
        let plain = || {
            let verb = match names.first().map(|name| name.1) {
                Some(AccessKind::Read) => "read",
                Some(AccessKind::Update) => "update",
                _ => "write",
            };
            let names: Vec<&str> = names.iter().map(|name| name.0.as_str()).collect();
            format!("{verb} {}", names.join(", "))
        };
        let operation = operation.unwrap_or_else(plain);
        if let Some(story) = &mut self.story {
            (story.operation, story.reads) = (operation, reads);
            story.writes.clear();
            for (location, kind) in accesses {
                if !kind.is_read() {
                    story.writers.insert(location, position);
                }
            }
        }
    }

    /// Adds what the step has written.
    #[cold]
    pub(crate) fn tell_after(&mut self, accesses: &[mazurka_program::Access]) {
        let written = accesses.iter().filter(|access| !access.kind.is_read());
        let cells = written.flat_map(|access| access.locations()).filter_map(|at| self.partition.memory(at));
        let writes: Vec<Observed> = cells
            .map(|cell| Observed {
                name: self.memory_name(cell.address, cell.size),
                value: self.value_text(cell.address, cell.size),
                source: None,
            })
            .collect();
        if let Some(story) = &mut self.story {
            story.writes = writes;
        }
    }

    fn pending_place(&self, thread: u32) -> Option<Place> {
        match self.thread(thread).pending {
            Pending::Nothing => None,
            Pending::Access { place, .. } | Pending::Operation { place, .. } => self.place_of(thread, place),
        }
    }
}

impl Explain for NativeRun {
    fn process_name(&self, process: ProcessId) -> String {
        self.world().name_of(process.0)
    }

    fn step_explained(&mut self, process: ProcessId, choice: u32) -> Result<Explanation, Stop> {
        self.tell_from_now_on();
        self.catch_up()?;
        let place = self.world().pending_place(process.0);
        self.take(process, choice)?;
        let story = self.world().story.as_mut();
        let (operation, reads, writes, note) = story.map_or_else(Default::default, |story| {
            let (reads, writes) = (std::mem::take(&mut story.reads), std::mem::take(&mut story.writes));
            (std::mem::take(&mut story.operation), reads, writes, story.note.take())
        });
        Ok(Explanation { process, operation, reads, writes, note, place })
    }

    fn explain_waiting(&self) -> Vec<WaitExplanation> {
        let mut waiting = Vec::new();
        let world = self.world();
        self.waiting(&mut |process, _| {
            let Pending::Operation { operation, .. } = world.thread(process.0).pending else { return };
            // SAFETY: the thread is parked at the operation.
            let operation = unsafe { &*operation };
            let (waits_for, waits_on) = operation.waits_for(world);
            let place = world.pending_place(process.0);
            let operation = operation.describe(world);
            waiting.push(WaitExplanation { process, operation, waits_for, waits_on, place });
        });
        waiting
    }

    fn deadlock_message(&self, waiting: &[WaitExplanation]) -> Option<String> {
        let world = self.world();
        let first = waiting.first().filter(|_| world.thread(MAIN).status == Status::Finished)?;
        let place =
            first.place.as_ref().map_or(String::new(), |place| format!(" ({}:{})", place.file, place.line));
        let name = self.process_name(first.process);
        Some(format!("{name} still waits at {}{place} when main has ended", first.operation))
    }
}
