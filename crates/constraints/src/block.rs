//! What a block of code does, as data.

use std::collections::BTreeMap;

use mazurka_smt::{Application, Formula, Linear, Var};

/// Something that a path does besides assigning: it creates a process, tells a failure, calls a method.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effect {
    /// What, by a number of the front end's.
    pub kind: u32,
    /// With what.
    pub arguments: Vec<Linear>,
    /// The block's own variable that stands for what it makes, if it makes something that has a name.
    pub made: Option<Var>,
}

/// One way through a block: if the condition holds before it, this is what it does, all at once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Path {
    /// A conjunction, as a rule. The conditions of a block's paths exclude each other and leave nothing out.
    pub condition: Option<Formula>,
    /// What shared variables hold afterwards, as far as they change.
    pub assigned: BTreeMap<Var, Linear>,
    /// What the process knows afterwards: where it is, what its variables hold. As many for every path.
    pub results: Vec<Linear>,
    /// What else it does, in order.
    pub effects: Vec<Effect>,
    /// Whether it ends in a way of which nothing is known, such as an exception: then the orders count as
    /// different.
    pub fatal: bool,
    /// What is computed on the way, for whoever must know that it fits.
    pub computed: Vec<Linear>,
}

/// A block of code. Variables below `shared` are shared, the next `own` are the block's own, and those after
/// them stand for functions.
#[derive(Clone, Debug, Default)]
pub struct Block {
    /// How many variables are shared, the same for all blocks of a program.
    pub shared: u32,
    /// How many variables are its own: parameters.
    pub own: u32,
    /// How many of these, the last ones, stand for things that it makes: no two things that are made are
    /// equal.
    pub made: u32,
    /// What holds of these in every state: each speaks of one of them.
    pub known: Vec<Formula>,
    /// It can't be run unless this holds.
    pub guard: Option<Formula>,
    /// The ways through it.
    pub paths: Vec<Path>,
    /// What its function variables stand for.
    pub applications: Vec<Application>,
}

/// Function variables that are made as they are needed: equal arguments give the same one.
#[derive(Clone, Debug)]
pub struct Terms {
    next: u32,
    applications: Vec<Application>,
}

impl Terms {
    /// Variables from this one on are free to be used.
    pub fn new(next: u32) -> Terms {
        Terms { next, applications: Vec::new() }
    }

    /// The variable that stands for a function of these arguments.
    pub fn apply(&mut self, function: u32, arguments: Vec<Linear>) -> Var {
        let known =
            self.applications.iter().find(|one| one.function == function && one.arguments == arguments);
        if let Some(known) = known {
            return known.var;
        }
        let var = Var(self.next);
        self.next += 1;
        self.applications.push(Application { var, function, arguments });
        var
    }

    /// All that were made.
    pub fn applications(&self) -> &[Application] {
        &self.applications
    }
}
