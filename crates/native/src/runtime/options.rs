//! How a program is checked, and how a check of it is made.
#![allow(unsafe_code)]

use std::cell::UnsafeCell;
use std::fmt;
use std::rc::Rc;
use std::time::Duration;

use mazurka_program::Place;

pub use crate::driver::Built;

use super::image::Image;
use super::world::World;

/// What happens when accesses of memory race.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Races {
    /// It is a failure.
    #[default]
    Report,
    /// They are looked at in every order, as if they were atomic.
    Sc,
}

/// What the end of `main` is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MainExits {
    /// The end of the program: who waits then is in no deadlock.
    #[default]
    Process,
    /// The end of the first thread.
    Thread,
}

/// Tells places and names of addresses, from the debugging information of a program.
///
/// Addresses are relative to where the object is loaded.
pub trait Symbolizer {
    /// Where in the source the instruction before an address is.
    fn place(&self, address: u64) -> Option<Place>;

    /// The name of the variable, field or element of so many bytes at an address.
    fn name(&self, address: u64, size: u64) -> Option<String>;

    /// The bytes at an address as a value of what is there.
    fn value(&self, _address: u64, _bytes: &[u8]) -> Option<String> {
        None
    }

    /// The name of the function at an address.
    fn function(&self, address: u64) -> Option<String>;
}

/// How a program is checked.
#[derive(Clone)]
pub struct Options {
    /// What happens when accesses race.
    pub races: Races,
    /// What the end of `main` is.
    pub main_exits: MainExits,
    /// The size of each thread's stack, in bytes.
    pub stack_size: usize,
    /// How many executions there are to each one that is replayed in another order, to see whether its labels tell all;
    /// 0 for none.
    pub self_check: u32,
    /// How much CPU time a thread may use between two operations.
    pub patience: Duration,
    /// What `main` is given besides the name of the program.
    pub arguments: Vec<String>,
    /// Tells places and names to people.
    pub symbols: Option<Rc<dyn Symbolizer>>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            races: Races::default(),
            main_exits: MainExits::default(),
            stack_size: 8 << 20,
            self_check: 1 << 10,
            patience: Duration::from_secs(10),
            arguments: Vec::new(),
            symbols: None,
        }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("races", &self.races)
            .field("main_exits", &self.main_exits)
            .field("stack_size", &self.stack_size)
            .field("self_check", &self.self_check)
            .field("patience", &self.patience)
            .field("arguments", &self.arguments)
            .finish_non_exhaustive()
    }
}

/// A compiled program in memory, to be checked.
pub struct Native {
    pub(super) world: Rc<UnsafeCell<World>>,
}

/// Loads a program. It belongs to the thread of the operating system that loads it.
///
/// # Errors
/// If the object is not as the driver makes them, or if there is no room for it.
pub fn load(built: &Built, options: Options) -> Result<Native, String> {
    let image = Image::load(&built.object)?;
    let at = |offset: &u64| image.base + *offset as usize;
    let (init, fini) = (built.init_array.iter().map(at).collect(), built.fini_array.iter().map(at).collect());
    let mut world = World::new(image, options)?;
    (world.init, world.fini) = (init, fini);
    // SAFETY: the function has no conditions.
    world.errno = unsafe { libc::__errno_location() };
    Ok(Native { world: Rc::new(UnsafeCell::new(world)) })
}
