//! Which pending steps commute, told from the present state.
//!
//! A state is all of it: a step that leaves something else in a local, read or not, does not commute.

use mazurka_program::{Commutes, Constraints, ProcessId};

use super::LitmusRun;
use super::process::Status;
use crate::constraints::Knowledge;
use crate::dead::Set;

impl LitmusRun {
    fn know(&mut self) -> &mut Knowledge {
        self.knowledge.get_or_insert_with(|| Knowledge::new(&self.image))
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
        self.know();
        let Some(knowledge) = &mut self.knowledge else { return false };
        let mut written = Set::default();
        for (at, proc) in self.machine.procs.iter().enumerate() {
            if proc.core.status == Status::Live && at != without.index() {
                knowledge.add_written(proc.core.pc, &mut written);
            }
        }
        knowledge.commute_uniformly(&self.image, self.machine.memory.values(), first, second, &written)
    }
}
