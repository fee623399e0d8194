//! Threads, memory and values by the names that people gave them.
#![allow(unsafe_code)]

use mazurka_program::ProcessId;
use mazurka_threads::replay::mix;

use crate::runtime::memory::heap::Block;
use crate::runtime::memory::layout;
use crate::runtime::threads::objects::{Class, Object};
use crate::runtime::threads::runtime::{MAIN, Runtime};
use crate::runtime::threads::thread::{Body, Task};
use crate::symbols::{Storage, sign_extend};

/// The function that runs all threads of the C++ library.
const CXX_THREAD: &str = "execute_native_thread_routine";

impl Runtime {
    /// A thread as people know it: by its function, with a number if others have the same.
    pub(crate) fn name_of(&self, process: ProcessId) -> String {
        if process == MAIN {
            return "main".to_owned();
        }
        let path = self.search.names.path(process);
        let Some(name) = self.task_name(process) else {
            let numbers: Vec<String> = path.iter().skip(1).map(|ordinal| (ordinal + 1).to_string()).collect();
            return format!("thread {}", numbers.join("."));
        };
        let same = |other: &&ProcessId| **other != MAIN && self.task_of(**other) == self.task_of(process);
        let elder = |other: &&ProcessId| self.search.names.path(**other) < path;
        match self.execution.schedule.created.iter().filter(same).filter(elder).count() {
            0 => name,
            others => format!("{name}#{}", others + 1),
        }
    }

    /// What a thread does: the function, and the type and the function that the C++ library was given.
    fn task_of(&self, process: ProcessId) -> Option<(usize, Option<Task>)> {
        let state = &self.execution.threads.list.get(process.index())?.state;
        match state.body {
            Body::Posix(function, _) | Body::Standard(function, _) => {
                // The words beside a function are its arguments.
                let task = state.task.map(|task| match self.function_at(task.words[1]) {
                    Some(_) => Task { words: [0, task.words[1]], ..task },
                    None => Task { words: [task.words[0], 0], ..task },
                });
                Some((function, task))
            }
            Body::Main => None,
        }
    }

    fn task_name(&self, process: ProcessId) -> Option<String> {
        let (function, task) = self.task_of(process)?;
        let name = self.function_name(function)?;
        match task {
            Some(task) if name.contains(CXX_THREAD) => self.cxx_task(task),
            _ => Some(name),
        }
    }

    /// What the C++ library was given to call: a function, a member function, or an object.
    fn cxx_task(&self, task: Task) -> Option<String> {
        let symbols = self.search.options.symbols.as_ref()?;
        let type_name = symbols.symbol(task.table.checked_sub(self.execution.image.base)? as u64)?;
        let (_, callable) = type_name.split_once("5tupleIJ")?;
        match callable.chars().next()? {
            'P' => self.function_at(task.words[1]),
            'M' => self.function_at(task.words[0]),
            _ => crate::symbols::callable(callable),
        }
    }

    /// The name of the function that begins at an address.
    fn function_at(&self, address: usize) -> Option<String> {
        let inside = self.execution.image.extent.contains(&address);
        inside.then(|| self.function_name(address)).flatten()
    }

    /// Notes what a thread of the C++ library is to do, while the object that tells it is there.
    pub(crate) fn note_task(&mut self, process: ProcessId, argument: usize) {
        let block = self
            .execution
            .heap
            .block_around(argument)
            .filter(|block| block.address == argument && block.size >= 16);
        let task = block.filter(|_| self.execution.image.unwinds).map(|block| {
            // SAFETY: the block is in an open slot and as large as it says.
            let word = |at: usize| unsafe { layout::peek(block.address + at, 8) } as usize;
            let end = block.size & !7;
            Task { table: word(0), words: [word(end - 16), word(end - 8)] }
        });
        let words = task.map_or([0; 3], |task| [task.table, task.words[0], task.words[1]]);
        self.execution.names =
            words.into_iter().fold(self.execution.names, |names, word| mix(names, word as u64));
        self.thread_mut(process).state.task = task;
    }

    /// What some memory is part of; of a thread's stack, what has a name there.
    fn storage(&self, address: usize) -> Option<Storage> {
        if self.execution.image.variables.contains(&address) {
            return Some(Storage::Static { address: (address - self.execution.image.base) as u64 });
        }
        let symbols = self.search.options.symbols.as_ref()?;
        if let Some(block) = self.execution.heap.block_around(address) {
            let (size, offset) = (block.size as u64, (address - block.address) as u64);
            // Who called a function that allocates for others knows better than that one what it is.
            let base = self.execution.image.base;
            let places: Vec<u64> =
                self.callers_of(&block).filter_map(|at| Some(at.checked_sub(base)? as u64)).collect();
            let mut called = *places.first()?;
            let mut parts = places.into_iter().map(|place| {
                let callee = std::mem::replace(&mut called, place);
                Storage::Allocated { place, callee, size, offset }
            });
            let first = parts.next();
            return first.into_iter().chain(parts).find(|part| symbols.name(part, 1).is_some()).or(first);
        }
        let owner = self.search.slots.owner(address)?;
        let slot = self.search.slots.slot(owner);
        if !(slot.stack_limit..slot.stack_base).contains(&address) {
            return None;
        }
        let frames = self.frames(owner).into_iter();
        let mut parts = frames.map(|frame| Storage::Automatic { frame, address: address as u64 });
        parts.find(|part| symbols.name(part, 1).is_some())
    }

    /// Memory as people know it.
    pub(crate) fn memory_name(&self, address: usize, size: usize) -> String {
        self.declared_name(address, size).unwrap_or_else(|| self.raw_name(address))
    }

    /// Memory by the name that the program has for it, if the debugging information tells.
    pub(crate) fn declared_name(&self, address: usize, size: usize) -> Option<String> {
        let symbols = self.search.options.symbols.as_ref()?;
        let storage = self.storage(address)?;
        let name = symbols.name(&storage, size as u64)?;
        Some(match storage {
            Storage::Static { .. } => name,
            Storage::Automatic { frame, .. } => {
                // With the function and, if it does not go without saying, the thread.
                let thread = self.name_of(self.search.slots.owner(address)?);
                match symbols.function(frame.place) {
                    Some(function) if function != thread => format!("{name} of {function} in {thread}"),
                    _ => format!("{name} of {thread}"),
                }
            }
            Storage::Allocated { .. } => {
                let block = self.execution.heap.block_around(address)?;
                format!("{name}{} (allocated{})", self.ordinal(&block), self.allocated_at(&block))
            }
        })
    }

    /// Memory by where it is.
    fn raw_name(&self, address: usize) -> String {
        if self.execution.image.variables.contains(&address) {
            return format!("variable {:#x}", address - self.execution.image.base);
        }
        let Some(owner) = self.search.slots.owner(address) else { return format!("memory at {address:#x}") };
        let (slot, thread) = (self.search.slots.slot(owner), self.name_of(owner));
        if let Some(block) = self.execution.heap.block_around(address) {
            let (offset, size) = (address - block.address, block.size);
            let (ordinal, place) = (self.ordinal(&block), self.allocated_at(&block));
            return format!("byte {offset} of {size}{ordinal} (allocated{place})");
        }
        if address < slot.tls {
            return format!("stack of {thread} - {}", slot.stack_base.saturating_sub(address));
        }
        format!("thread-local variable {} of {thread}", address - slot.tls)
    }

    /// `#2` for the second block that a thread has allocated at one place.
    fn ordinal(&self, block: &Block) -> String {
        let Some(owner) = self.search.slots.owner(block.address) else { return String::new() };
        let same = |other: &&Block| other.place == block.place && other.trail == block.trail;
        let before = |other: &&Block| other.address < block.address;
        match self.execution.heap.blocks.of_thread(owner).iter().filter(same).filter(before).count() {
            0 => String::new(),
            others => format!("#{}", others + 1),
        }
    }

    /// ` at file:line`, or nothing; the file without its directories.
    pub(crate) fn allocated_at(&self, block: &Block) -> String {
        self.at_place(self.own_place(block.place, &block.trail))
    }

    /// What an address is of, if that is told in a word: a variable, a function, the start of a block.
    fn pointer_text(&self, address: usize) -> Option<String> {
        let symbols = self.search.options.symbols.as_ref()?;
        if !self.execution.image.variables.contains(&address)
            && self.execution.image.extent.contains(&address)
        {
            return self.function_at(address).map(|name| match name.strip_prefix("_ZTV") {
                Some(class) => {
                    let class = class.split_once('+').map_or(class, |(class, _)| class);
                    format!("the functions of {}", crate::driver::readable(&format!("_Z{class}")))
                }
                None => name,
            });
        }
        let storage = self.storage(address)?;
        let whole = |name: String| name.split(['.', '[']).next().unwrap_or_default().to_owned();
        Some(match storage {
            Storage::Static { .. } => format!("&{}", symbols.name(&storage, 1)?),
            Storage::Automatic { .. } => {
                let owner = self.search.slots.owner(address)?;
                format!("&{} of {}", whole(symbols.name(&storage, 1)?), self.name_of(owner))
            }
            Storage::Allocated { offset: 0, size, .. } => {
                let block = self.execution.heap.block_around(address)?;
                format!("&{}{}", whole(symbols.name(&storage, size)?), self.ordinal(&block))
            }
            Storage::Allocated { .. } => return None,
        })
    }

    /// Whether some memory is what a `std::thread` has of its task, a closure and its captures: allocated by
    /// the constructor of the thread, and known to nobody but the library.
    pub(crate) fn is_thread_state(&self, address: usize) -> bool {
        let (Some(block), Some(symbols)) =
            (self.execution.heap.block_around(address), &self.search.options.symbols)
        else {
            return false;
        };
        let mut callers = self.callers_of(&block).take_while(|&place| self.is_in_library(place));
        callers.any(|place| {
            let function = symbols.symbol((place - self.execution.image.base) as u64);
            function.is_some_and(|name| name.starts_with("_ZNSt6thread"))
        })
    }

    /// The return addresses of an allocation, the innermost first.
    fn callers_of(&self, block: &Block) -> impl Iterator<Item = usize> {
        let trail = block.trail.into_iter().take_while(|&place| place != 0);
        let base = self.execution.image.base;
        std::iter::once(block.place).chain(trail.map(move |place| base + place as usize))
    }

    /// A lock and the like, as people know it.
    pub(crate) fn object_name(&self, object: Object) -> String {
        let size = match object.class {
            Class::Mutex => 40,
            Class::Condition => 48,
            Class::ReadWriteLock => 56,
            Class::Semaphore | Class::Barrier => 32,
            Class::Once | Class::Spinlock | Class::Futex => 4,
            Class::StaticGuard => 8,
        };
        self.memory_name(object.address, size)
    }

    pub(crate) fn value_text(&self, address: usize, size: usize) -> String {
        // SAFETY: callers ask for cells, which are memory of the program.
        let bytes: Vec<u8> = (0..size).map(|at| unsafe { layout::peek(address + at, 1) } as u8).collect();
        let symbols = self.search.options.symbols.as_ref();
        let known = symbols.and_then(|symbols| symbols.value(&self.storage(address)?, &bytes));
        // SAFETY: as above.
        let value = unsafe { layout::peek(address, size) };
        // Of what has no type, or is a pointer to something, it may be told what it points to.
        if size == 8 && known.as_ref().is_none_or(|text| text.starts_with("0x")) {
            let pointer = value as usize;
            if self.search.slots.contains(pointer) || self.execution.image.extent.contains(&pointer) {
                return self.pointer_text(pointer).unwrap_or_else(|| format!("{value:#x}"));
            }
        }
        known.unwrap_or_else(|| match size {
            1 | 2 | 4 | 8 => sign_extend(value, 8 * size as u32).to_string(),
            _ => format!("{size} bytes"),
        })
    }
}
