//! What people are told: of steps, of values and where they came from, of who waits for what.
#![allow(unsafe_code)]

use mazurka_program::{
    AccessKind, Explain, Explanation, Location, Observed, Place, ProcessId, Run, Stop, WaitExplanation,
};
use rustc_hash::FxHashMap;

use crate::runtime::memory::shadow::Cell;
use crate::runtime::threads::objects::Object;
use crate::runtime::threads::operation::Wait;
use crate::runtime::threads::run::NativeRun;
use crate::runtime::threads::runtime::{MAIN, Runtime};
use crate::runtime::threads::thread::{Pending, Status};

/// A place in a sentence: the file without its directories, which are told once, where the failure is placed.
pub(crate) fn short(place: &Place) -> String {
    format!("{}:{}", place.file.rsplit('/').next().unwrap_or_default(), place.line)
}

/// What is told of a step, and what has to be known of those before.
#[derive(Default)]
pub(crate) struct StepExplanation {
    pub(crate) note: Option<String>,
    operation: String,
    reads: Vec<Observed>,
    writes: Vec<Observed>,
    /// Whether the step is of the insides of a library, and says nothing of the program.
    internal: bool,
    /// By location: the position of the step that wrote it last.
    writers: FxHashMap<Location, usize>,
    /// Where locks were taken last.
    taken: FxHashMap<Location, Option<Place>>,
}

impl Runtime {
    /// Where in the source the call is that returns to an address.
    pub(crate) fn place(&self, address: usize) -> Option<Place> {
        let symbols = self.search.options.symbols.as_ref()?;
        let offset = address
            .checked_sub(self.execution.image.base)
            .filter(|_| self.execution.image.extent.contains(&address))?;
        symbols.place(offset as u64)
    }

    /// ` at file:line`, or nothing; the file without its directories.
    pub(crate) fn at_place(&self, address: usize) -> String {
        self.place(address).map_or_else(String::new, |place| format!(" at {}", short(&place)))
    }

    pub(crate) fn function_name(&self, address: usize) -> Option<String> {
        let symbols = self.search.options.symbols.as_ref()?;
        symbols.function(address.checked_sub(self.execution.image.base)? as u64)
    }

    pub(crate) fn note_holder(&mut self, object: Object, process: ProcessId, place: usize) {
        if self.step.explanation.is_some() {
            let place = self.place_of(process, place);
            let explanation = self.step.explanation.as_mut();
            explanation.map(|explanation| explanation.taken.insert(object.location, place));
        }
    }

    /// ` since file:line`, or nothing.
    pub(crate) fn held_since(&self, object: Object) -> String {
        let place =
            self.step.explanation.as_ref().and_then(|told| told.taken.get(&object.location)?.as_ref());
        place.map_or_else(String::new, |place| format!(" since {}", short(place)))
    }

    /// Puts into words what a step is about to do: its label is known, and its thread has not gone on.
    #[cold]
    pub(crate) fn explain_before(&mut self, operation: Option<String>) {
        let accesses: Vec<_> = self
            .step
            .label
            .accesses
            .iter()
            .flat_map(|access| access.locations().map(|location| (location, access.kind)))
            .collect();
        let mut reads = Vec::new();
        let mut names = Vec::new();
        for &(location, kind) in &accesses {
            let Some(cell) = self.search.partition.memory(location) else { continue };
            let name = self.memory_name(cell.address, cell.size);
            if matches!(kind, AccessKind::Read | AccessKind::Update) {
                let value = self.value_text(cell.address, cell.size);
                let source =
                    self.step.explanation.as_ref().and_then(|told| told.writers.get(&location).copied());
                reads.push(Observed { name: name.clone(), value, source });
            }
            names.push((name, kind));
        }
        let cells = accesses.iter().map(|&(location, _)| self.search.partition.memory(location));
        let is_internal = |cell: Option<Cell>| cell.is_some_and(|cell| self.is_thread_state(cell.address));
        let internal = operation.is_none() && !accesses.is_empty() && cells.into_iter().all(is_internal);
        let position = (self.execution.schedule.depth as usize).saturating_sub(1);
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
        if let Some(explanation) = &mut self.step.explanation {
            (explanation.operation, explanation.reads) = (operation, reads);
            explanation.internal = internal;
            explanation.writes.clear();
            for (location, kind) in accesses {
                if !kind.is_read() {
                    explanation.writers.insert(location, position);
                }
            }
        }
    }

    /// Adds what the step has written.
    #[cold]
    pub(crate) fn explain_after(&mut self, accesses: &[mazurka_program::Access]) {
        let written = accesses.iter().filter(|access| !access.kind.is_read());
        let cells =
            written.flat_map(|access| access.locations()).filter_map(|at| self.search.partition.memory(at));
        let writes: Vec<Observed> = cells
            .map(|cell| Observed {
                name: self.memory_name(cell.address, cell.size),
                value: self.value_text(cell.address, cell.size),
                source: None,
            })
            .collect();
        if let Some(explanation) = &mut self.step.explanation {
            explanation.writes = writes;
        }
    }

    /// The program has ended, and nothing went wrong: notes who is left in a loop that waits.
    #[cold]
    pub(crate) fn note_left_spinning(&mut self) {
        let created = self.execution.schedule.created.iter();
        let spinning = created.copied().find_map(|process| match self.thread(process).state.pending {
            Pending::Operation { wait: Wait::Change(_), place, .. } => Some((process, place)),
            _ => None,
        });
        if let Some((process, place)) = spinning
            && self.thread(process).state.status == Status::Parked
        {
            let at =
                self.place_of(process, place).map_or_else(String::new, |at| format!(" at {}", short(&at)));
            self.search.left_spinning = Some(format!("{} still waits in a loop{at}", self.name_of(process)));
        }
    }

    /// Where a thread is at, if it is at something.
    pub(crate) fn pending_place(&self, process: ProcessId) -> Option<Place> {
        match self.thread(process).state.pending {
            Pending::Nothing => None,
            Pending::Access { place, .. } | Pending::Operation { place, .. } => self.place_of(process, place),
        }
    }
}

impl Explain for NativeRun {
    fn process_name(&self, process: ProcessId) -> String {
        self.runtime().name_of(process)
    }

    fn step_explained(&mut self, process: ProcessId, choice: u32) -> Result<Explanation, Stop> {
        self.explain_from_now_on();
        self.catch_up()?;
        let place = self.runtime().pending_place(process);
        self.take(process, choice)?;
        let explanation = self.runtime().step.explanation.as_mut();
        let (operation, reads, writes, note) = explanation.map_or_else(Default::default, |explanation| {
            let (reads, writes) =
                (std::mem::take(&mut explanation.reads), std::mem::take(&mut explanation.writes));
            (std::mem::take(&mut explanation.operation), reads, writes, explanation.note.take())
        });
        Ok(Explanation { process, operation, reads, writes, note, place })
    }

    fn told_internal(&self) -> bool {
        self.runtime().step.explanation.as_ref().is_some_and(|told| told.internal)
    }

    fn explain_waiting(&self) -> Vec<WaitExplanation> {
        let mut waiting = Vec::new();
        let runtime = self.runtime();
        self.waiting(&mut |process, _| {
            let Pending::Operation { operation, .. } = runtime.thread(process).state.pending else { return };
            // SAFETY: the thread is parked at the operation.
            let operation = unsafe { &*operation };
            let (waits_for, waits_on) = operation.waits_for(runtime);
            let place = runtime.pending_place(process);
            let operation = operation.describe(runtime);
            waiting.push(WaitExplanation { process, operation, waits_for, waits_on, place });
        });
        waiting
    }

    fn deadlock_message(&self, waiting: &[WaitExplanation]) -> Option<String> {
        let runtime = self.runtime();
        let first = waiting.first().filter(|_| runtime.thread(MAIN).state.status == Status::Finished)?;
        let place = first.place.as_ref().map_or(String::new(), |place| format!(" ({})", short(place)));
        let name = self.process_name(first.process);
        Some(format!("{name} still waits at {}{place} when main has ended", first.operation))
    }
}
