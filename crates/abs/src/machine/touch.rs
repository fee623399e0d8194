//! What a step touches, as it is taken.

use mazurka_program::AccessKind;

/// One location that the step touched.
#[derive(Clone, Copy, Debug)]
pub struct Touch {
    pub location: u32,
    pub read: bool,
    pub written: bool,
    /// Whether nobody else ever writes it.
    pub once: bool,
}

impl Touch {
    pub fn kind(self) -> AccessKind {
        match (self.read, self.written) {
            _ if self.once => AccessKind::Once,
            (true, true) => AccessKind::Update,
            (false, true) => AccessKind::Write,
            _ => AccessKind::Read,
        }
    }
}

/// The locations that the present step has touched so far, each once.
#[derive(Clone, Debug, Default)]
pub struct Touches {
    list: Vec<Touch>,
    /// For each location, in which step it was touched last and where in the list it is.
    at: Vec<(u64, u32)>,
    step: u64,
    /// Whether something was read that could decide what else is touched.
    pub varies: bool,
}

impl Touches {
    /// Begins a step.
    pub fn begin(&mut self) {
        self.list.clear();
        self.step += 1;
        self.varies = false;
    }

    pub fn list(&self) -> &[Touch] {
        &self.list
    }

    #[inline]
    fn entry(&mut self, location: u32) -> &mut Touch {
        let index = location as usize;
        if index >= self.at.len() {
            self.at.resize(index + 1, (0, 0));
        }
        if self.at[index].0 != self.step {
            self.at[index] = (self.step, self.list.len() as u32);
            self.list.push(Touch { location, read: false, written: false, once: false });
        }
        &mut self.list[self.at[index].1 as usize]
    }

    /// A step that reads what it has written itself reads nothing of others.
    #[inline]
    pub fn read(&mut self, location: u32) {
        let entry = self.entry(location);
        let foreign = !entry.written;
        entry.read |= foreign;
        self.varies |= foreign;
    }

    /// A read of what the step would not have been taken without, so that it decides nothing.
    #[inline]
    pub fn witness(&mut self, location: u32) {
        let entry = self.entry(location);
        entry.read |= !entry.written;
    }

    #[inline]
    pub fn write(&mut self, location: u32) {
        self.entry(location).written = true;
    }

    /// Writes what nobody else ever writes, nor reads before.
    pub fn resolve(&mut self, location: u32) {
        let entry = self.entry(location);
        (entry.written, entry.once) = (true, true);
    }

    pub fn update(&mut self, location: u32) {
        let entry = self.entry(location);
        (entry.read, entry.written) = (true, true);
    }
}
