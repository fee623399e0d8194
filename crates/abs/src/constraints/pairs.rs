//! What a run asks of two methods: their constraints, found when they are first asked for and kept with the
//! program, and what the variables of these stand for.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use mazurka_constraints::{Block, Creation, Independence, SearchSolver, compose};
use mazurka_smt::{Application, Formula, Linear, Var, Work};

use super::extract::extract;
use super::functions::{Functions, Loop, Meaning};
use crate::model::{MethodId, Model};

/// How much may be done for a pair while a search waits.
const WORK: u64 = 1_000_000;
/// How many constraints are kept of a pair.
const MOST: usize = 16;

/// Who may create what is created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Creator {
    /// The same block in both orders.
    Same,
    /// Any of the two.
    Anyone,
}

/// What a variable of a constraint stands for.
#[derive(Clone, Debug)]
pub(crate) enum Term {
    /// Of the object.
    Field(u32),
    /// Of the first block (0) or the second (1).
    Argument(usize, u32),
    Null,
    /// Whether a loop of a block ends that begins with these variables: which stand for what.
    Ends {
        which: usize,
        at: Loop,
        slots: Vec<(u32, Var)>,
    },
}

/// What is known of two methods by one way of counting.
#[derive(Debug)]
struct Known {
    independence: Independence,
    applications: Vec<Application>,
}

/// What is known of two methods of a class.
#[derive(Debug)]
pub(crate) struct MethodPair {
    methods: [u32; 2],
    shared: u32,
    /// How many parameters each has, and own variables in all.
    own: [(u32, u32); 2],
    same: Known,
    anyone: Known,
    meanings: BTreeMap<u32, Meaning>,
}

impl MethodPair {
    fn known(&self, creator: Creator) -> &Known {
        match creator {
            Creator::Same => &self.same,
            Creator::Anyone => &self.anyone,
        }
    }

    pub fn independence(&self, creator: Creator) -> &Independence {
        &self.known(creator).independence
    }

    /// What a variable stands for; none if that can't be found out in a state.
    pub fn term(&self, creator: Creator, var: Var) -> Option<Term> {
        let Var(at) = var;
        if at < self.shared {
            return Some(Term::Field(at));
        }
        let mut first = self.shared;
        for (which, (parameters, own)) in self.own.into_iter().enumerate() {
            if (first..first + own).contains(&at) {
                return (at - first < parameters).then_some(Term::Argument(which, at - first));
            }
            first += own;
        }
        let application = self.known(creator).applications.iter().find(|one| one.var == var)?;
        match self.meanings.get(&application.function)? {
            Meaning::Null => Some(Term::Null),
            Meaning::Ends(at) => self.ends(at, &application.arguments),
        }
    }

    /// A loop that begins with fields as they are.
    fn ends(&self, at: &Loop, arguments: &[Linear]) -> Option<Term> {
        let (variables, fields) = arguments.split_at_checked(at.slots.len())?;
        let as_they_are = fields.iter().zip(&at.fields).all(|(sum, &field)| alone(sum) == Some(Var(field)));
        let slots = at.slots.iter().zip(variables).map(|(&slot, sum)| Some((slot, alone(sum)?)));
        let which = self.methods.iter().position(|&method| method == at.method)?;
        let slots = slots.collect::<Option<_>>()?;
        as_they_are.then_some(Term::Ends { which, at: at.clone(), slots })
    }
}

/// The variable that a sum is.
fn alone(sum: &Linear) -> Option<Var> {
    match sum.terms() {
        [(var, 1)] if *sum == Linear::var(*var) => Some(*var),
        _ => None,
    }
}

/// What is known of the methods of a program, as far as it was asked for.
#[derive(Clone, Debug)]
pub(crate) struct MethodPairs {
    model: Arc<Model>,
    found: Arc<Mutex<Found>>,
    pub solver: SearchSolver,
}

#[derive(Debug, Default)]
struct Found {
    functions: Functions,
    blocks: BTreeMap<u32, Option<Arc<Block>>>,
    pairs: BTreeMap<(u32, u32), Option<Arc<MethodPair>>>,
}

impl MethodPairs {
    pub fn new(model: Arc<Model>) -> MethodPairs {
        MethodPairs { model, found: Arc::default(), solver: SearchSolver::default() }
    }

    /// What is known of two methods of one class; none if nothing is.
    pub fn pair(&self, first: u32, second: u32) -> Option<Arc<MethodPair>> {
        let mut found = self.found.lock().ok()?;
        if let Some(known) = found.pairs.get(&(first, second)) {
            return known.clone();
        }
        let one = found.block(&self.model, first);
        let other = found.block(&self.model, second);
        let pair = one.zip(other).map(|(one, other)| {
            let parameters = |method: u32| self.model.methods[method as usize].parameters;
            Arc::new(MethodPair {
                methods: [first, second],
                shared: one.shared,
                own: [(parameters(first), one.own), (parameters(second), other.own)],
                same: known(&one, &other, Creation::SameCreator, &self.solver),
                anyone: known(&one, &other, Creation::Anyone, &self.solver),
                meanings: found.functions.meanings.clone(),
            })
        });
        found.pairs.insert((first, second), pair.clone());
        pair
    }
}

impl Found {
    fn block(&mut self, model: &Model, method: u32) -> Option<Arc<Block>> {
        if let Some(known) = self.blocks.get(&method) {
            return known.clone();
        }
        let class = model.methods[method as usize].class;
        let (block, _) = extract(model, class.index(), MethodId(method), &mut self.functions);
        let block = block.ok().map(Arc::new);
        self.blocks.insert(method, block.clone());
        block
    }
}

fn known(first: &Block, second: &Block, creation: Creation, solver: &SearchSolver) -> Known {
    let mut work = Work(WORK);
    match compose(first, second, creation, &mut work) {
        Ok(pair) => {
            // Of fields nothing is known but what they hold now.
            let independence = solver.synthesise(&pair, Formula::True, work, MOST);
            Known { independence, applications: pair.applications }
        }
        Err(why) => Known { independence: Independence::nothing(why), applications: Vec::new() },
    }
}
