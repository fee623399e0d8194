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
        self.knowledge.get_or_insert_with(|| Knowledge::new(&self.image, self.solver.clone()))
    }

    /// Whether two blocks commute, now and as long as no others than these processes do anything.
    fn commute_while_they_act(&mut self, first: u32, second: u32, acts: impl Fn(ProcessId) -> bool) -> bool {
        self.know();
        let Some(knowledge) = &mut self.knowledge else { return false };
        let mut written = Set::default();
        for (at, proc) in self.machine.procs.iter().enumerate() {
            if proc.core.status == Status::Live && acts(ProcessId(at as u32)) {
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
        self.commute_while_they_act(first, second, |process| process != without)
    }

    /// Both steps are pending, so what the two processes do once one of them is taken is of no concern. Those who
    /// wait may be let go on by others, if there are any who can do something.
    fn commute_beside(&mut self, first: u32, second: u32, processes: [ProcessId; 2]) -> bool {
        let others_can = self.machine.enabled.iter().any(|process| !processes.contains(&process));
        let acts = |process| others_can && !processes.contains(&process);
        self.commute_while_they_act(first, second, acts)
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
