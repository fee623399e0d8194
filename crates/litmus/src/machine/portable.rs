//! Locations by names that mean the same in another run.

use mazurka_program::{Location, LocationName, PortableNames, ProcessId};

use super::{LitmusRun, Proc};
use crate::code::NONE;

/// What a process has, by the first word of a name.
const EXIT: u64 = 0;
const MAILBOX: u64 = 1;
const WAKE: u64 = 2;
const MESSAGE: u64 = 3;

/// No process sends more messages: a name that says so is none of the program's.
const MAX_MESSAGES: u64 = 1 << 20;

/// What a location is to a process, as the words of a name.
fn words(proc: &Proc, location: u32) -> Option<Vec<u64>> {
    let message = || proc.message_locations.iter().position(|&known| known == location);
    match location {
        at if at == proc.exit_location => Some(vec![EXIT]),
        at if at == proc.mailbox_location => Some(vec![MAILBOX]),
        at if at == proc.wake_location => Some(vec![WAKE]),
        _ => message().map(|ordinal| vec![MESSAGE, ordinal as u64]),
    }
}

/// Locations that the text fixes have the same number in every run; the others belong to processes.
impl PortableNames for LitmusRun {
    fn location_name(&self, location: Location) -> Option<LocationName> {
        if location.0 < self.image.fixed_locations {
            return Some(LocationName::global(vec![u64::from(location.0)]));
        }
        if location.0 == NONE {
            return None;
        }
        self.machine.procs.iter().enumerate().find_map(|(p, proc)| {
            let process = self.machine.names.path(ProcessId(p as u32));
            words(proc, location.0).map(|words| LocationName { process, words })
        })
    }

    fn location_named(&mut self, name: &LocationName) -> Option<Location> {
        if name.process.is_empty() {
            let fixed = |word: &u64| *word < u64::from(self.image.fixed_locations);
            return name.words.first().filter(|word| fixed(word)).map(|&word| Location(word as u32));
        }
        let p = self.machine.names.named(&name.process)?.0;
        self.machine.make_room(p);
        let location = match name.words[..] {
            [EXIT] => self.machine.exit_location(p),
            [MAILBOX] => self.machine.mailbox_location(p),
            [WAKE] => self.machine.wake_location(p),
            [MESSAGE, ordinal] if ordinal < MAX_MESSAGES => self.machine.message_location(p, ordinal as u32),
            _ => return None,
        };
        Some(Location(location))
    }
}
