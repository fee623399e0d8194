//! State by lifetime: what an execution has, as one value.
//!
//! A runtime has three kinds of state: what is known for the whole search, what one execution has, and what
//! one step needs. The second begins anew with each execution; a front end that takes snapshots saves and
//! restores it. Whoever adds a field to a list of resets and forgets the list of saves has a wrong answer
//! that no compiler sees. So the state of an execution is declared by [`execution_state!`](crate::execution_state), which makes
//! [`ExecutionState`] of its fields, and each field says of itself how it begins, is saved and restored.

/// Something that begins anew with each execution. Memory is kept.
pub trait Reset {
    /// A new execution begins.
    fn reset(&mut self);
}

impl<T: ExecutionState> Reset for T {
    #[inline]
    fn reset(&mut self) {
        ExecutionState::begin(self);
    }
}

/// What is there or not is not there at first.
impl<T> Reset for Option<T> {
    #[inline]
    fn reset(&mut self) {
        *self = None;
    }
}

/// State that belongs to one execution, and that can be put aside.
pub trait ExecutionState {
    /// The state put aside. It keeps its memory when it is overwritten.
    type Saved: Default;

    /// A new execution begins. Memory is kept.
    fn begin(&mut self);

    /// Puts the present state aside.
    fn save(&self, saved: &mut Self::Saved);

    /// A new execution begins, in the state of one that was put aside.
    fn restore(&mut self, saved: &Self::Saved);
}

/// Lists begin empty.
impl<T: Clone> ExecutionState for Vec<T> {
    type Saved = Vec<T>;

    #[inline]
    fn begin(&mut self) {
        self.clear();
    }

    #[inline]
    fn save(&self, saved: &mut Vec<T>) {
        copy_list(self, saved);
    }

    #[inline]
    fn restore(&mut self, saved: &Vec<T>) {
        copy_list(saved, self);
    }
}

/// Makes a list what another is. Most lists of most executions are empty: those cost no call.
#[inline]
pub fn copy_list<T: Clone>(from: &Vec<T>, to: &mut Vec<T>) {
    if from.is_empty() {
        to.clear();
    } else {
        to.clone_from(from);
    }
}

macro_rules! plain {
    ($($type:ty),*) => { $(
        /// Begins as the default of its type.
        impl ExecutionState for $type {
            type Saved = $type;

            #[inline]
            fn begin(&mut self) {
                *self = <$type>::default();
            }

            #[inline]
            fn save(&self, saved: &mut $type) {
                *saved = *self;
            }

            #[inline]
            fn restore(&mut self, saved: &$type) {
                *self = *saved;
            }
        }
    )* };
}
plain!(bool, u32, u64, usize, i64);

/// Declares a struct whose fields are all [`ExecutionState`], and makes it one; without `saved as`, one whose
/// fields are all [`Reset`].
///
/// ```
/// use mazurka_threads::execution_state;
/// use mazurka_threads::lifetime::ExecutionState;
///
/// execution_state! {
///     /// What an execution has printed, and whether it is over.
///     #[derive(Default)]
///     pub struct Output, saved as SavedOutput {
///         /// The bytes.
///         pub bytes: Vec<u8>,
///         /// Whether there will be no more.
///         pub closed: bool,
///     }
/// }
///
/// let mut output = Output { bytes: b"once".to_vec(), closed: false };
/// let mut saved = SavedOutput::default();
/// output.save(&mut saved);
/// output.begin();
/// assert!(output.bytes.is_empty());
/// output.restore(&saved);
/// assert_eq!(output.bytes, b"once");
/// ```
#[macro_export]
macro_rules! execution_state {
    (
        $(#[$outer:meta])*
        $vis:vis struct $name:ident, saved as $saved:ident {
            $( $(#[$inner:meta])* $field_vis:vis $field:ident: $type:ty, )*
        }
    ) => {
        $(#[$outer])*
        $vis struct $name {
            $( $(#[$inner])* $field_vis $field: $type, )*
        }

        /// The state of an execution, put aside.
        #[derive(Default)]
        $vis struct $saved {
            $( $field: <$type as $crate::lifetime::ExecutionState>::Saved, )*
        }

        impl $crate::lifetime::ExecutionState for $name {
            type Saved = $saved;

            fn begin(&mut self) {
                $( $crate::lifetime::ExecutionState::begin(&mut self.$field); )*
            }

            fn save(&self, saved: &mut $saved) {
                $( $crate::lifetime::ExecutionState::save(&self.$field, &mut saved.$field); )*
            }

            fn restore(&mut self, saved: &$saved) {
                $( $crate::lifetime::ExecutionState::restore(&mut self.$field, &saved.$field); )*
            }
        }
    };
    (
        $(#[$outer:meta])*
        $vis:vis struct $name:ident {
            $( $(#[$inner:meta])* $field_vis:vis $field:ident: $type:ty, )*
        }
    ) => {
        $(#[$outer])*
        $vis struct $name {
            $( $(#[$inner])* $field_vis $field: $type, )*
        }

        impl $crate::lifetime::Reset for $name {
            fn reset(&mut self) {
                $( $crate::lifetime::Reset::reset(&mut self.$field); )*
            }
        }
    };
}

/// A list that an execution only adds to. To save and to restore costs what is new: entries have numbers that
/// no others ever have, so where two lists agree on one they agree on all before it. Memory is kept.
#[derive(Clone, Debug)]
pub struct Journal<T> {
    /// The first so many are the list as there are numbers; the others keep their memory.
    entries: Vec<T>,
    numbers: Vec<u64>,
    next: u64,
}

impl<T> Default for Journal<T> {
    fn default() -> Journal<T> {
        Journal { entries: Vec::new(), numbers: Vec::new(), next: 0 }
    }
}

impl<T> Journal<T> {
    /// Begins anew.
    pub fn clear(&mut self) {
        self.numbers.clear();
    }

    /// Keeps the first so many entries.
    pub fn truncate(&mut self, len: usize) {
        self.numbers.truncate(len);
    }

    /// Adds an entry.
    pub fn push(&mut self, entry: T) {
        match self.entries.get_mut(self.numbers.len()) {
            Some(old) => *old = entry,
            None => self.entries.push(entry),
        }
        self.count();
    }

    fn count(&mut self) {
        self.numbers.push(self.next);
        self.next += 1;
    }
}

impl<T: Clone> Journal<T> {
    /// Adds a copy of an entry.
    pub fn push_copy(&mut self, entry: &T) {
        copy_to(&mut self.entries, self.numbers.len(), entry);
        self.count();
    }

    /// Becomes what another list is, whose numbers come from where those of this one do.
    fn become_like(&mut self, other: &Journal<T>) {
        let mut same = self.numbers.len().min(other.numbers.len());
        while same > 0 && self.numbers[same - 1] != other.numbers[same - 1] {
            same -= 1;
        }
        for (at, entry) in other.iter().enumerate().skip(same) {
            copy_to(&mut self.entries, at, entry);
        }
        self.numbers.truncate(same);
        self.numbers.extend_from_slice(&other.numbers[same..]);
    }
}

/// Puts a copy into a list that is long enough, or lacks no more than that one.
fn copy_to<T: Clone>(entries: &mut Vec<T>, at: usize, entry: &T) {
    match entries.get_mut(at) {
        Some(old) => old.clone_from(entry),
        None => entries.push(entry.clone()),
    }
}

impl<T> Extend<T> for Journal<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, entries: I) {
        entries.into_iter().for_each(|entry| self.push(entry));
    }
}

impl<T> std::ops::Deref for Journal<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.entries[..self.numbers.len()]
    }
}

impl<T: Clone> ExecutionState for Journal<T> {
    type Saved = Journal<T>;

    #[inline]
    fn begin(&mut self) {
        self.clear();
    }

    fn save(&self, saved: &mut Journal<T>) {
        saved.become_like(self);
    }

    fn restore(&mut self, saved: &Journal<T>) {
        self.become_like(saved);
    }
}

/// A table by small numbers, of which an execution uses a part: what it has not used holds the default.
///
/// To begin costs nothing, and to save costs what was used: entries say of which execution they are.
#[derive(Debug)]
pub struct Sparse<T> {
    entries: Vec<(u64, T)>,
    execution: u64,
    /// The entries of this execution, in the order of their first use.
    used: Vec<u32>,
}

/// Entries of a [`Sparse`] table that were put aside.
#[derive(Debug)]
pub struct SavedSparse<T> {
    entries: Vec<(u32, T)>,
    /// So many of them are meant; the others keep their memory.
    len: usize,
}

impl<T> Default for SavedSparse<T> {
    fn default() -> SavedSparse<T> {
        SavedSparse { entries: Vec::new(), len: 0 }
    }
}

impl<T> Default for Sparse<T> {
    fn default() -> Sparse<T> {
        Sparse { entries: Vec::new(), execution: 1, used: Vec::new() }
    }
}

/// What a [`Sparse`] table has: made new without giving its memory back, and copied in the same way.
pub trait Entry: Default {
    /// Becomes what the default is.
    fn renew(&mut self);

    /// Becomes what another is.
    fn copy_from(&mut self, other: &Self);
}

/// An entry that is used, or not, and no more.
impl Entry for () {
    fn renew(&mut self) {}

    fn copy_from(&mut self, _other: &()) {}
}

impl<T: Entry> Sparse<T> {
    /// Uses an entry. Says whether this execution has not used it before.
    #[inline]
    pub fn is_first_use(&mut self, at: usize) -> bool {
        let used = self.used.len();
        self.at(at);
        self.used.len() > used
    }

    /// The entry, if this execution has used it.
    #[inline(always)]
    pub fn get(&self, at: usize) -> Option<&T> {
        match self.entries.get(at) {
            Some((execution, entry)) if *execution == self.execution => Some(entry),
            _ => None,
        }
    }

    /// The entry, for use.
    #[inline(always)]
    pub fn at(&mut self, at: usize) -> &mut T {
        if self.entries.get(at).is_none_or(|entry| entry.0 != self.execution) {
            self.first_use(at);
        }
        &mut self.entries[at].1
    }

    #[inline(never)]
    fn first_use(&mut self, at: usize) {
        if self.entries.len() <= at {
            self.entries.resize_with(at + 1, Default::default);
        }
        let (execution, entry) = &mut self.entries[at];
        *execution = self.execution;
        entry.renew();
        self.used.push(at as u32);
    }

    /// How many entries this execution has used.
    pub fn used(&self) -> usize {
        self.used.len()
    }

    /// Where the entries are.
    pub fn address(&self) -> usize {
        self.entries.as_ptr().addr()
    }
}

impl<T: Entry> ExecutionState for Sparse<T> {
    type Saved = SavedSparse<T>;

    #[inline]
    fn begin(&mut self) {
        self.execution += 1;
        self.used.clear();
    }

    fn save(&self, saved: &mut SavedSparse<T>) {
        saved.len = self.used.len();
        if saved.entries.len() < saved.len {
            saved.entries.resize_with(saved.len, Default::default);
        }
        for (to, &at) in saved.entries.iter_mut().zip(&self.used) {
            to.0 = at;
            to.1.copy_from(&self.entries[at as usize].1);
        }
    }

    fn restore(&mut self, saved: &SavedSparse<T>) {
        self.begin();
        for (at, entry) in &saved.entries[..saved.len] {
            self.at(*at as usize).copy_from(entry);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Entry for Vec<u32> {
        fn renew(&mut self) {
            self.clear();
        }

        fn copy_from(&mut self, other: &Vec<u32>) {
            self.clone_from(other);
        }
    }

    #[test]
    fn a_list_is_restored_to_what_it_was() {
        let (mut list, mut early, mut late) = (Journal::default(), Journal::default(), Journal::default());
        list.extend(["a", "b"]);
        list.save(&mut early);
        list.push("c");
        list.save(&mut late);
        list.restore(&early);
        list.push("d");
        assert_eq!(list[..], ["a", "b", "d"]);
        list.restore(&late);
        assert_eq!(list[..], ["a", "b", "c"], "though it was as long");
        list.begin();
        list.extend(["x", "y", "z"]);
        list.save(&mut early);
        list.restore(&late);
        assert_eq!((&list[..], &early[..]), (&["a", "b", "c"][..], &["x", "y", "z"][..]));
    }

    #[test]
    fn what_an_execution_used_is_gone_in_the_next_and_back_when_restored() {
        let mut table = Sparse::<Vec<u32>>::default();
        table.at(5).push(7);
        table.at(2).push(8);
        let mut saved = SavedSparse::default();
        table.save(&mut saved);
        table.at(2).push(9);
        table.begin();
        assert_eq!((table.get(2), table.get(5), table.used()), (None, None, 0));
        table.at(1).push(3);
        table.restore(&saved);
        assert_eq!((table.get(1), table.used()), (None, 2));
        assert_eq!((table.get(2), table.get(5)), (Some(&vec![8]), Some(&vec![7])));
        table.begin();
        table.save(&mut saved);
        table.at(5).push(1);
        table.restore(&saved);
        assert_eq!(table.get(5), None, "nothing had been used when it was saved");
    }
}
