//! Which pending steps commute, told from the present state.
//!
//! A state is all of it: a step that leaves something else in a local, read or not, does not commute.

use mazurka_program::{Alike, Commutes, Constraints, Location, ProcessId};

use super::LitmusRun;
use super::process::Status;
use crate::constraints::Knowledge;
use crate::dead::Set;

impl LitmusRun {
    fn know(&mut self) -> &mut Knowledge {
        self.knowledge.get_or_insert_with(|| Knowledge::new(&self.image))
    }

    /// Whether two blocks commute as long as these processes do nothing.
    fn commute_without(&mut self, first: u32, second: u32, without: &[ProcessId]) -> bool {
        self.know();
        let Some(knowledge) = &mut self.knowledge else { return false };
        let mut written = Set::default();
        for (at, proc) in self.machine.procs.iter().enumerate() {
            let does_nothing = without.iter().any(|process| process.index() == at);
            if proc.core.status == Status::Live && !does_nothing {
                knowledge.add_written(proc.core.pc, &mut written);
            }
        }
        knowledge.commute_uniformly(&self.image, self.machine.memory.values(), first, second, &written)
    }
}

impl Constraints for LitmusRun {
    fn block(&mut self, process: ProcessId) -> Option<u32> {
        self.know();
        let proc = self.machine.procs.get(process.index())?;
        let knowledge = self.knowledge.as_mut()?;
        let live = proc.core.status == Status::Live;
        live.then(|| knowledge.block(&self.image, proc.core.pc, &proc.locals))?
    }

    fn commute(&mut self, first: u32, second: u32) -> Commutes {
        self.know();
        let Some(knowledge) = &mut self.knowledge else { return Commutes::Unknown };
        knowledge.commute(&self.image, self.machine.memory.values(), first, second)
    }

    fn commute_uniformly(&mut self, first: u32, second: u32, without: ProcessId) -> bool {
        self.commute_without(first, second, &[without])
    }

    /// Both steps are pending, so what the two processes do once one of them is taken is of no concern.
    fn commute_beside(&mut self, first: u32, second: u32, processes: [ProcessId; 2]) -> bool {
        self.commute_without(first, second, &processes)
    }

    fn commute_unless(
        &mut self,
        first: u32,
        second: u32,
        changes: &mut dyn FnMut(Location) -> bool,
    ) -> Alike {
        self.know();
        let Some(knowledge) = &mut self.knowledge else { return Alike::Unknown };
        let stays = &mut |cell: u32| !changes(Location(cell));
        match knowledge.commute_while(&self.image, self.machine.memory.values(), first, second, stays) {
            true => Alike::Same,
            false => Alike::Unknown,
        }
    }

    fn is_once(&self, block: u32) -> bool {
        self.knowledge.as_ref().is_some_and(|knowledge| knowledge.is_once(block))
    }
}
