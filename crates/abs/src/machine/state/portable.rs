//! Locations by names that mean the same in another run.

use mazurka_program::{Location, LocationName, Origin, PortableNames, Renaming, Thing as Renameable};

use super::super::run::{AbsRun, MAIN_DATA};

/// What a location belongs to, by the first word of its name: the future of a task,
const FUTURE: u64 = 0;
/// or the object that a task made as its so-manyth, of a class.
const OBJECT: u64 = 1;

/// A few locations have the same number in every run. The others belong to tasks, or to objects, which are
/// named after the task that made them.
impl PortableNames for AbsRun {
    fn location_name(&self, location: Location) -> Option<LocationName> {
        if location.0 <= MAIN_DATA {
            return Some(LocationName::global(vec![u64::from(location.0)]));
        }
        let (thing, place) = self.owner(location)?;
        let (process, words) = match thing {
            Renameable::Process(process) => (process, vec![FUTURE, u64::from(place)]),
            Renameable::Object(_) => {
                let Origin { maker, ordinal, kind } = self.origin(thing)?;
                (maker, vec![OBJECT, ordinal.into(), kind.into(), place.into()])
            }
        };
        Some(LocationName { process: self.machine.names.path(process), words })
    }

    fn location_named(&mut self, name: &LocationName) -> Option<Location> {
        let Some(process) = self.machine.names.named(&name.process) else {
            let fixed = name.words.first().filter(|&&word| word <= u64::from(MAIN_DATA));
            return fixed.map(|&word| Location(word as u32));
        };
        self.machine.meet_process(process.0);
        let (thing, place) = match name.words[..] {
            [FUTURE, place] => (Renameable::Process(process), place),
            [OBJECT, ordinal, kind, place] => {
                let (ordinal, kind) = (u32::try_from(ordinal).ok()?, u32::try_from(kind).ok()?);
                self.image.classes.get(kind as usize)?;
                (Renameable::Object(self.object_of(Origin { maker: process, ordinal, kind })), place)
            }
            _ => return None,
        };
        Some(self.location_of(thing, u32::try_from(place).ok()?))
    }
}
