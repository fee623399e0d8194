//! What one check leaves to the next on its thread: memory, and nothing that means anything.
//!
//! A small check would spend most of its time on getting the memory of its runtime and giving it back.

use std::cell::Cell;
use std::mem::take;

use mazurka_threads::guards::Guards;
use mazurka_threads::lifetime::Reset;
use mazurka_threads::replay::Prefixes;

use super::identity::NameTable;
use super::process::Process;
use super::script::TakenStep;
use super::stacks::Stacks;
use super::{Described, Execution, Runtime, StepState};

/// What a large check used is not kept.
const MAX_LOCATIONS: u32 = 1_024;
const MAX_STEPS: usize = 4_096;
const MAX_PROCESSES: usize = 32;

thread_local! {
    static RECYCLED: Cell<Option<Box<Recycled>>> = const { Cell::new(None) };
}

/// Buffers, all of them empty; records of processes as if they were new.
#[derive(Default)]
pub(super) struct Recycled {
    pub(super) table: NameTable,
    pub(super) described: Vec<Option<Described>>,
    pub(super) stacks: Option<Stacks>,
    pub(super) guards: Guards,
    pub(super) script: Vec<TakenStep>,
    pub(super) execution: Execution,
    pub(super) step: StepState,
    pub(super) processes: Vec<Process>,
    pub(super) prefixes: Prefixes,
}

impl Recycled {
    /// What is there for a new runtime.
    pub(super) fn get() -> Box<Recycled> {
        RECYCLED.try_with(Cell::take).ok().flatten().unwrap_or_default()
    }

    /// Keeps what a runtime had whose last execution has been ended.
    pub(super) fn keep(runtime: &mut Runtime, prefixes: &mut Prefixes) {
        let Runtime { search, execution, step, processes } = runtime;
        let large = search.table.count > MAX_LOCATIONS
            || search.script.capacity().max(prefixes.len()) > MAX_STEPS
            || processes.len() > MAX_PROCESSES;
        if large || !super::is_thread_fit() {
            return;
        }
        search.table.clear();
        search.described.clear();
        search.guards.clear();
        search.script.clear();
        prefixes.clear();
        processes.iter_mut().for_each(Process::forget);
        execution.reset();
        // What these know besides is of the check.
        (execution.arcs, execution.living) = Default::default();
        *step = StepState { label: take(&mut step.label), ..StepState::default() };
        step.label.clear();
        let recycled = Recycled {
            table: take(&mut search.table),
            described: take(&mut search.described),
            stacks: Some(search.stacks.hand_over()),
            guards: take(&mut search.guards),
            script: take(&mut search.script),
            execution: take(execution),
            step: take(step),
            processes: take(processes),
            prefixes: take(prefixes),
        };
        let _ = RECYCLED.try_with(|cell| cell.set(Some(Box::new(recycled))));
    }
}
