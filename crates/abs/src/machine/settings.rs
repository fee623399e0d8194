//! How a program is run.

/// What labels say of segments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Dependence {
    /// What the algorithm asks for.
    #[default]
    Default,
    /// All that the method might touch, whatever the algorithm.
    Static,
    /// What the segment really touched. An algorithm that needs static footprints is refused.
    Dynamic,
}

/// Which of the tasks of a cog that could run may run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum TaskOrder {
    /// Each of them.
    #[default]
    Any,
    /// The one that joined the queue first. Who releases the cog joins it again.
    Fifo,
    /// The one that joined the queue last.
    Lifo,
}

/// Which of the cogs that have a task that could run may run one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ObjectOrder {
    /// Each of them.
    #[default]
    Any,
    /// The next one after the cog that ran last, in the order of creation, around and around.
    Circular,
}

/// What an await does whose guard holds when it is reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum AwaitTrue {
    /// Releases the cog: others may come between.
    #[default]
    Release,
    /// Goes on.
    Continue,
}

/// What an exception does that a task does not catch, besides resolving the task's future.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Uncaught {
    /// Kills the object of the task.
    #[default]
    Kill,
    /// Nothing.
    Forgive,
}

/// How a program is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Settings {
    /// What labels say of segments.
    pub dependence: Dependence,
    /// Which tasks of a cog may run.
    pub tasks: TaskOrder,
    /// Which cogs may run.
    pub objects: ObjectOrder,
    /// What an await does whose guard holds when it is reached.
    pub await_holds: AwaitTrue,
    /// What an uncaught exception does to the object.
    pub uncaught: Uncaught,
    /// Whether states are told without their dead variables: fields and local variables that no code that is
    /// left to run can read, and objects that nobody will find.
    pub forgets_dead_variables: bool,
    /// How many operations one segment may take.
    pub max_segment_steps: u64,
    /// How deep functions, and synchronous calls, may call each other.
    pub max_depth: usize,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            dependence: Dependence::default(),
            tasks: TaskOrder::default(),
            objects: ObjectOrder::default(),
            await_holds: AwaitTrue::default(),
            uncaught: Uncaught::default(),
            forgets_dead_variables: false,
            max_segment_steps: 10_000_000,
            max_depth: 100_000,
        }
    }
}

impl Settings {
    /// Whether who may run depends on more than each task by itself.
    pub(super) fn is_scheduled(&self) -> bool {
        self.tasks != TaskOrder::Any || self.objects != ObjectOrder::Any
    }
}
