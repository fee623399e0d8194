//! Processes and their names, which come from the creation tree.

use std::cmp::Ordering;
use std::fmt;

/// A process. The number is an index into [`Names`]; it says nothing of the order of creation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProcessId(pub u32);

impl ProcessId {
    /// The number as an index.
    #[inline(always)]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The creation tree of a program, as far as it has been seen.
///
/// A process is named by its parent and by how many processes the parent had created before it (`0.1.2`), so
/// a name means the same process in every interleaving. Entries are only added, in whatever order the search
/// meets them.
#[derive(Clone, Debug, Default)]
pub struct Names {
    entries: Vec<Entry>,
    roots: Vec<ProcessId>,
}

#[derive(Clone, Debug)]
struct Entry {
    parent: Option<ProcessId>,
    ordinal: u32,
    children: Vec<ProcessId>,
}

impl Names {
    /// An empty tree.
    pub fn new() -> Names {
        Names::default()
    }

    /// The number of processes that have a name.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether no process has a name.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The process that is `parent`'s child number `ordinal` (a process of the start, if there is no parent).
    ///
    /// # Panics
    /// If an earlier child has no name yet: children are met in the order in which they are created.
    pub fn child(&mut self, parent: Option<ProcessId>, ordinal: u32) -> ProcessId {
        let next = ProcessId(self.entries.len() as u32);
        let children = match parent {
            None => &mut self.roots,
            Some(p) => &mut self.entries[p.index()].children,
        };
        if let Some(&known) = children.get(ordinal as usize) {
            return known;
        }
        assert_eq!(children.len(), ordinal as usize, "children are named in the order of their creation");
        children.push(next);
        self.entries.push(Entry { parent, ordinal, children: Vec::new() });
        next
    }

    /// The name as a path in the creation tree.
    pub fn path(&self, process: ProcessId) -> Vec<u32> {
        let mut path = Vec::new();
        let mut at = Some(process);
        while let Some(p) = at {
            let entry = &self.entries[p.index()];
            path.push(entry.ordinal);
            at = entry.parent;
        }
        path.reverse();
        path
    }

    /// The process of that path, if it has been met.
    pub fn find(&self, path: &[u32]) -> Option<ProcessId> {
        let mut children = &self.roots;
        let mut found = None;
        for &ordinal in path {
            let p = *children.get(ordinal as usize)?;
            children = &self.entries[p.index()].children;
            found = Some(p);
        }
        found
    }

    /// The process of that path, which gets a number if it has not been met. None for an empty path.
    pub fn named(&mut self, path: &[u32]) -> Option<ProcessId> {
        let mut process = None;
        for &ordinal in path {
            // Children have numbers in the order of their creation.
            process = (0..=ordinal).map(|elder| self.child(process, elder)).last();
        }
        process
    }

    /// Compares two processes by their names, parents before children.
    pub fn compare(&self, a: ProcessId, b: ProcessId) -> Ordering {
        if a == b {
            return Ordering::Equal;
        }
        self.path(a).cmp(&self.path(b))
    }

    /// The name as text: `0.1.2`.
    pub fn display(&self, process: ProcessId) -> impl fmt::Display {
        struct Path(Vec<u32>);
        impl fmt::Display for Path {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                for (i, ordinal) in self.0.iter().enumerate() {
                    if i > 0 {
                        f.write_str(".")?;
                    }
                    write!(f, "{ordinal}")?;
                }
                Ok(())
            }
        }
        Path(self.path(process))
    }
}

/// A set of processes.
#[derive(Clone, Debug, Default)]
pub struct ProcessSet {
    /// One bit a process. Few programs have more than these.
    first: u64,
    /// The bits of the others, as far as any was set.
    further: Vec<u64>,
}

impl PartialEq for ProcessSet {
    fn eq(&self, other: &ProcessSet) -> bool {
        let (short, long) = match self.further.len() <= other.further.len() {
            true => (&self.further, &other.further),
            false => (&other.further, &self.further),
        };
        self.first == other.first
            && long.starts_with(short)
            && long[short.len()..].iter().all(|&word| word == 0)
    }
}
impl Eq for ProcessSet {}

impl ProcessSet {
    /// The empty set.
    pub fn new() -> ProcessSet {
        ProcessSet::default()
    }

    /// Adds a process.
    #[inline(always)]
    pub fn insert(&mut self, process: ProcessId) {
        if process.0 < 64 {
            self.first |= 1 << process.0;
            return;
        }
        let bit = 1 << (process.index() % 64);
        match (process.index() / 64).checked_sub(1) {
            None => self.first |= bit,
            Some(word) => {
                if word >= self.further.len() {
                    self.further.resize(word + 1, 0);
                }
                self.further[word] |= bit;
            }
        }
    }

    /// Removes a process.
    #[inline(always)]
    pub fn remove(&mut self, process: ProcessId) {
        if process.0 < 64 {
            self.first &= !(1 << process.0);
            return;
        }
        let bit = 1 << (process.index() % 64);
        match (process.index() / 64).checked_sub(1) {
            None => self.first &= !bit,
            Some(word) => {
                if let Some(word) = self.further.get_mut(word) {
                    *word &= !bit;
                }
            }
        }
    }

    /// Whether the process is in the set.
    #[inline(always)]
    pub fn contains(&self, process: ProcessId) -> bool {
        if process.0 < 64 {
            return self.first >> process.0 & 1 == 1;
        }
        let word = match (process.index() / 64).checked_sub(1) {
            None => self.first,
            Some(word) => self.further.get(word).copied().unwrap_or(0),
        };
        word >> (process.index() % 64) & 1 == 1
    }

    /// The member with the smallest number.
    #[inline]
    pub fn first(&self) -> Option<ProcessId> {
        match self.first {
            0 => self.iter().next(),
            bits => Some(ProcessId(bits.trailing_zeros())),
        }
    }

    /// The next member after a process.
    #[inline]
    pub fn after(&self, process: ProcessId) -> Option<ProcessId> {
        let later = if process.0 < 63 { self.first & (!1 << process.0) } else { 0 };
        match later {
            0 if self.further.is_empty() => None,
            0 => self.iter().find(|&other| other > process),
            bits => Some(ProcessId(bits.trailing_zeros())),
        }
    }

    /// Whether the set has no member.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.first == 0 && (self.further.is_empty() || self.further.iter().all(|&word| word == 0))
    }

    /// How many members the set has.
    pub fn len(&self) -> usize {
        let further: u32 = self.further.iter().map(|word| word.count_ones()).sum();
        (self.first.count_ones() + further) as usize
    }

    /// Makes the set empty, keeping its memory.
    #[inline]
    pub fn clear(&mut self) {
        self.first = 0;
        self.further.clear();
    }

    /// Makes the set equal to another, keeping its memory.
    #[inline]
    pub fn copy_from(&mut self, other: &ProcessSet) {
        self.first = other.first;
        if !self.further.is_empty() || !other.further.is_empty() {
            self.further.clear();
            self.further.extend_from_slice(&other.further);
        }
    }

    /// The members, by number.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = ProcessId> + '_ {
        Members { word: self.first, base: 0, further: self.further.iter() }
    }
}

/// What is left of a set: of one word and of those that follow.
struct Members<'a> {
    word: u64,
    base: u32,
    further: std::slice::Iter<'a, u64>,
}

impl Iterator for Members<'_> {
    type Item = ProcessId;

    #[inline]
    fn next(&mut self) -> Option<ProcessId> {
        while self.word == 0 {
            self.word = *self.further.next()?;
            self.base += 64;
        }
        let bit = self.word.trailing_zeros();
        self.word &= self.word - 1;
        Some(ProcessId(self.base + bit))
    }
}

impl FromIterator<ProcessId> for ProcessSet {
    fn from_iter<I: IntoIterator<Item = ProcessId>>(processes: I) -> ProcessSet {
        let mut set = ProcessSet::new();
        processes.into_iter().for_each(|p| set.insert(p));
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_do_not_depend_on_the_order_of_meeting() {
        let mut names = Names::new();
        let a = names.child(None, 0);
        let b = names.child(None, 1);
        let child_of_b = names.child(Some(b), 0);
        let child_of_a = names.child(Some(a), 0);
        assert_eq!(names.child(Some(b), 0), child_of_b);
        assert_eq!(names.display(child_of_b).to_string(), "1.0");
        assert_eq!(names.find(&[0, 0]), Some(child_of_a));
        assert_eq!(names.find(&[0, 1]), None);
        let unmet = names.named(&[0, 2]);
        assert_eq!((names.find(&[0, 2]), names.find(&[0, 1]).is_some()), (unmet, true));
        assert_eq!((names.named(&[1, 0]), names.named(&[])), (Some(child_of_b), None));
        assert_eq!(names.compare(child_of_a, child_of_b), Ordering::Less);
    }

    #[test]
    fn a_set_holds_what_was_put_into_it() {
        let mut set: ProcessSet = [3, 64, 130].into_iter().map(ProcessId).collect();
        assert_eq!(set.len(), 3);
        set.remove(ProcessId(64));
        assert!(!set.contains(ProcessId(64)) && set.contains(ProcessId(130)));
        assert_eq!(set.iter().map(|p| p.0).collect::<Vec<_>>(), [3, 130]);
        set.remove(ProcessId(130));
        assert_eq!(set, [ProcessId(3)].into_iter().collect());
        assert_ne!(set, ProcessSet::new());
    }
}
