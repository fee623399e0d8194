//! What one check leaves to the next on its thread: memory, and nothing that means anything.
//!
//! A small check would spend most of its time on getting the memory of its world and giving it back.

use std::cell::Cell;
use std::mem::take;

use mazurka_program::{Label, Location, ProcessId, ProcessSet};

use super::allocator::Log;
use super::cells::Cells;
use super::identity::NameTable;
use super::process::Process;
use super::script::Taken;
use super::stacks::Stacks;
use super::{Captured, Described, World};

/// What a large check used is not kept.
const MAX_LOCATIONS: u32 = 1_024;
const MAX_STEPS: usize = 4_096;
const MAX_PROCESSES: usize = 32;

thread_local! {
    static SPARE: Cell<Option<Box<Spare>>> = const { Cell::new(None) };
}

/// Buffers, all of them empty; records of processes as if they were new.
#[derive(Default)]
pub(super) struct Spare {
    pub(super) table: NameTable,
    pub(super) cells: Cells,
    pub(super) described: Vec<Option<Described>>,
    pub(super) log: Log,
    pub(super) stacks: Option<Stacks>,
    pub(super) processes: Vec<Process>,
    pub(super) created: Vec<ProcessId>,
    pub(super) starting: Vec<ProcessId>,
    pub(super) guards: Vec<Captured>,
    pub(super) label: Label,
    pub(super) met: Vec<Location>,
    pub(super) script: Vec<Taken>,
    pub(super) enabled_at: Vec<ProcessSet>,
}

impl Spare {
    /// What is there for a new world.
    pub(super) fn get() -> Box<Spare> {
        SPARE.try_with(Cell::take).ok().flatten().unwrap_or_default()
    }

    /// Keeps what a world had whose last execution has been ended.
    pub(super) fn keep(world: &mut World, enabled_at: &mut Vec<ProcessSet>) {
        let large = world.table.count > MAX_LOCATIONS
            || world.script.capacity().max(enabled_at.len()) > MAX_STEPS
            || world.processes.len() > MAX_PROCESSES;
        if large || !super::is_thread_fit() {
            return;
        }
        world.table.clear();
        world.described.clear();
        world.log.clear();
        world.processes.iter_mut().for_each(Process::renew);
        world.created.clear();
        world.starting.clear();
        world.guards.clear();
        world.label.clear();
        world.shown.met.clear();
        world.script.clear();
        enabled_at.iter_mut().for_each(ProcessSet::clear);
        let spare = Spare {
            table: take(&mut world.table),
            // What they hold belongs to executions that are over, and says so.
            cells: take(&mut world.cells),
            described: take(&mut world.described),
            log: take(&mut world.log),
            stacks: Some(world.stacks.hand_over()),
            processes: take(&mut world.processes),
            created: take(&mut world.created),
            starting: take(&mut world.starting),
            guards: take(&mut world.guards),
            label: take(&mut world.label),
            met: take(&mut world.shown.met),
            script: take(&mut world.script),
            enabled_at: take(enabled_at),
        };
        let _ = SPARE.try_with(|cell| cell.set(Some(Box::new(spare))));
    }
}
