//! Identities and locations: given once, the same in every execution of a run.

use std::rc::Rc;

use crate::value::{Names, Reference, Sequences, Value};

use super::code::{Image, NONE};
use super::entity::Frame;
use super::run::{MAIN_DATA, MAIN_LOCK, Machine};

/// Where the locations of an object are: its fields, then these.
const ALIVE: u32 = 0;
const LOCK: u32 = 1;
const DATA: u32 = 2;
const AWAITS: u32 = 3;

impl Machine {
    /// Makes room for a process that may be new.
    pub fn meet_process(&mut self, p: u32) {
        self.tasks.reserve(p);
        while self.futures.len() <= p as usize {
            let id = self.futures.len() as u32;
            let path = self.names.path(mazurka_program::ProcessId(id)).into();
            self.futures.push(Rc::new(Reference { id, class: NONE, path }));
            self.future_locations.push(self.locations);
            self.locations += 1;
            self.known_objects.push(Vec::new());
        }
    }

    /// The object that a task creates as its `ordinal`th.
    pub fn meet_object(&mut self, image: &Image, creator: u32, ordinal: u32, class: u32) -> Rc<Reference> {
        let created = &mut self.known_objects[creator as usize];
        if created.len() <= ordinal as usize {
            created.resize_with(ordinal as usize + 1, Vec::new);
        }
        let known = &mut created[ordinal as usize];
        if let Some((_, id)) = known.iter().find(|(of, _)| *of == class) {
            return self.references[*id as usize].clone();
        }
        let id = self.references.len() as u32;
        known.push((class, id));
        let path = self.futures[creator as usize].path.iter().copied().chain([ordinal]).collect();
        let reference = Rc::new(Reference { id, class, path });
        self.references.push(reference.clone());
        self.bases.push(self.locations);
        let own = image.facts.classes[class as usize].own_awaits;
        self.locations += image.classes[class as usize].fields.len() as u32 + AWAITS + own;
        self.objects.reserve(id);
        self.cogs.reserve(id + 1);
        reference
    }

    /// The first of the locations of an object that are no fields.
    fn beyond_fields(&self, image: &Image, object: u32) -> u32 {
        let class = self.references[object as usize].class;
        self.bases[object as usize] + image.classes[class as usize].fields.len() as u32
    }

    pub fn alive_location(&self, image: &Image, object: u32) -> u32 {
        self.beyond_fields(image, object) + ALIVE
    }

    /// The location of an await that has one of its own in each object.
    pub fn await_location(&self, image: &Image, object: u32, own: u32) -> u32 {
        self.beyond_fields(image, object) + AWAITS + own
    }

    pub fn lock_location(&self, image: &Image, cog: u32) -> u32 {
        if cog == 0 { MAIN_LOCK } else { self.beyond_fields(image, cog - 1) + LOCK }
    }

    /// What stands for everything in a cog.
    pub fn data_location(&self, image: &Image, cog: u32) -> u32 {
        if cog == 0 { MAIN_DATA } else { self.beyond_fields(image, cog - 1) + DATA }
    }

    /// Whether tasks can ever block in a cog.
    pub fn has_lock(&self, image: &Image, cog: u32) -> bool {
        match cog.checked_sub(1) {
            None => image.facts.main_has_lock,
            Some(object) => image.facts.classes[self.references[object as usize].class as usize].has_lock,
        }
    }

    /// Calls `with` for each object of a cog.
    pub fn for_members(&self, cog: u32, mut with: impl FnMut(u32)) {
        if let Some(first) = cog.checked_sub(1) {
            with(first);
        }
        if let Some(members) = &self.cogs.get(cog).members {
            members.iter().for_each(|&member| with(member));
        }
    }

    /// A frame of a body with its arguments.
    pub fn frame(
        &self,
        image: &Image,
        body: u32,
        this: Option<Rc<Reference>>,
        mut slots: Vec<Value>,
    ) -> Frame {
        slots.resize(image.bodies[body as usize].slots as usize, Value::Unit);
        Frame {
            body,
            pc: 0,
            slots,
            this,
            handlers: Vec::new(),
            pending: Vec::new(),
            exception: None,
            returns: None,
        }
    }

    /// The name of a task: `main`, `work 0.1 of WorkerImp_2`.
    pub fn task_name(&self, image: &Image, p: u32) -> String {
        let Some(task) = self.tasks.get(p) else { return format!("task {p}") };
        let path = self.names.display(mazurka_program::ProcessId(p));
        match (&task.object, image.methods.get(task.method as usize)) {
            (Some(object), Some(method)) => format!("{} {path} of {}", method.name, image.object(object)),
            _ => "main".to_owned(),
        }
    }

    /// The name of a cog: that of its first object.
    pub fn cog_name(&self, image: &Image, cog: u32) -> String {
        match cog.checked_sub(1) {
            None => "of main".to_owned(),
            Some(object) => image.object(&self.references[object as usize]),
        }
    }
}

impl Names for Image {
    fn constructor(&self, id: u32) -> &str {
        &self.constructors[id as usize].name
    }

    /// The class, the path of the creating task unless that is the main block, and the ordinal from 1.
    fn object(&self, object: &Reference) -> String {
        let mut name = format!("{}_", self.classes[object.class as usize].name);
        let (ordinal, creator) = object.path.split_last().map_or((0, &[][..]), |(last, path)| (*last, path));
        if creator.len() > 1 {
            creator.iter().for_each(|part| name += &format!("{part}."));
        }
        name + &(ordinal + 1).to_string()
    }

    fn future(&self, future: &Reference) -> String {
        let path: Vec<String> = future.path.iter().map(u32::to_string).collect();
        format!("future {}", path.join("."))
    }

    fn sequences(&self) -> Sequences {
        let known = &self.known;
        Sequences { list: (known.nil.0, known.cons.0), map: (known.empty_map.0, known.insert_assoc.0) }
    }
}
