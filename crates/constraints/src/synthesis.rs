//! Constraints of a pair: all the weakest conjunctions of comparisons under which the orders agree.
//!
//! A set of literals is looked at if it could rule out all counterexamples known so far. If there is another
//! counterexample beside it, that is one more; else literals are left out as long as there is none, those
//! with many variables first, and what remains is a constraint. All of them are found, not only enough to
//! cover every state, since a search can use one only if its variables stay as they are (CAV'18, definition
//! 4).

use std::collections::BTreeSet;

use mazurka_smt::{
    Answer, Application, Atom, CrossCheck, Embedded, External, Formula, Literal, Model, Relation,
};
use mazurka_smt::{Session, SolverProgram, Var, Work, congruence};

use crate::compose::Pair;
use crate::map::Map;

/// Beyond so many comparisons, those of arguments are left out.
const MOST_ATOMS: usize = 40;

/// Who answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Solver {
    /// Our own procedure.
    #[default]
    Embedded,
    /// A program.
    Program(SolverProgram),
    /// Both, compared.
    Both(SolverProgram),
}

/// How constraints are looked for.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Who answers.
    pub solver: Solver,
    /// How much may be done for a pair.
    pub work: u64,
    /// How many constraints a pair may have.
    pub most: usize,
    /// What is known to hold in every state.
    pub invariant: Formula,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { solver: Solver::Embedded, work: 20_000_000, most: 64, invariant: Formula::True }
    }
}

/// Literals that hold together; none at all hold always.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Constraint {
    /// In order.
    pub literals: Vec<Literal>,
}

impl Constraint {
    /// Whether it holds in every state.
    pub fn is_true(&self) -> bool {
        self.literals.is_empty()
    }

    /// Whether it holds; none if a number does not fit.
    pub fn holds(&self, model: &Model) -> Option<bool> {
        self.literals.iter().try_fold(true, |all, literal| Some(literal.holds(model)? && all))
    }

    /// Its variables.
    pub fn vars(&self) -> BTreeSet<Var> {
        self.literals.iter().flat_map(|literal| literal.atom.sum()).map(|&(var, _)| var).collect()
    }

    /// `x >= 0` and `x <= 0` are `x = 0`.
    fn simplified(mut self) -> Constraint {
        let found = self.literals.iter().enumerate().find_map(|(at, literal)| {
            let atom = &literal.atom;
            let below = atom.bound().checked_sub(1)?;
            let upper = literal.positive && atom.relation() == Relation::AtMost;
            let least = self.literals.iter().position(|other| {
                !other.positive
                    && other.atom.relation() == Relation::AtMost
                    && other.atom.sum() == atom.sum()
                    && other.atom.bound() == below
            })?;
            upper.then_some((at, least))
        });
        let Some((at, least)) = found else { return self };
        let equal = self.literals[at].atom.equality();
        self.literals[at] = Literal { atom: equal, positive: true };
        self.literals.remove(least);
        self.literals.sort();
        self.literals.dedup();
        self.simplified()
    }
}

/// What is known of a pair.
#[derive(Clone, Debug, Default)]
pub struct Independence {
    /// If one of these holds, the orders agree.
    pub constraints: Vec<Constraint>,
    /// Whether the orders differ wherever none of them holds.
    pub necessary: bool,
    /// What kept more from being known, in one sentence.
    pub note: Option<String>,
    /// What went wrong with a program that was asked, in one sentence. Then nothing that it said is believed.
    pub complaint: Option<String>,
}

impl Independence {
    /// Nothing, for this reason.
    pub fn nothing(why: impl Into<String>) -> Independence {
        Independence { note: Some(why.into()), ..Independence::default() }
    }

    /// Whether the orders agree in every state.
    pub fn always(&self) -> bool {
        self.constraints.iter().any(Constraint::is_true)
    }
}

/// A session about a formula, by whoever is to answer.
fn session(solver: &Solver, formula: &Formula, applications: &[Application]) -> Box<dyn Session> {
    match solver {
        Solver::Embedded => Box::new(Embedded::new(formula, applications)),
        Solver::Program(program) => Box::new(External::new(program, formula, applications)),
        Solver::Both(program) => Box::new(CrossCheck::new(
            Embedded::new(formula, applications),
            External::new(program, formula, applications),
        )),
    }
}

/// What is known to hold in every state. That functions of equals are equal is part of it, also where what is
/// asked has nothing to do with these functions by itself.
fn invariant(pair: &Pair, settings: &Settings) -> Formula {
    let axioms = congruence(&pair.differ, &pair.applications).unwrap_or(Formula::True);
    Formula::and([settings.invariant.clone(), pair.known.clone(), axioms])
}

/// A state in which a constraint holds and the orders differ; none if there is none.
///
/// # Errors
/// If that could not be found out, why.
pub fn refute(pair: &Pair, constraint: &Formula, settings: &Settings) -> Result<Option<Model>, String> {
    let formula = Formula::and([pair.differ.clone(), constraint.clone(), invariant(pair, settings)]);
    let mut session = session(&settings.solver, &formula, &pair.applications);
    match session.check(&[], &mut Work(settings.work)) {
        Answer::Sat(model) => Ok(Some(model)),
        Answer::Unsat => Ok(None),
        Answer::Unknown => {
            Err(session.complaint().unwrap_or("that would have taken more than the work allowed").to_owned())
        }
    }
}

/// What constraints are made of: the comparisons of the formula, and those of variables among the arguments
/// of its functions.
fn candidates(pair: &Pair) -> Vec<Atom> {
    let mut atoms: BTreeSet<Atom> = pair.differ.atoms().into_iter().cloned().collect();
    let axioms = congruence(&pair.differ, &pair.applications);
    let is_plain = |var: Var| !pair.applications.iter().any(|one| one.var == var);
    let plain = |atom: &&Atom| atom.sum().iter().all(|&(var, _)| is_plain(var));
    let more: Vec<Atom> = axioms.iter().flat_map(Formula::atoms).filter(plain).cloned().collect();
    if atoms.len() + more.len() <= MOST_ATOMS {
        atoms.extend(more);
    }
    atoms.into_iter().collect()
}

/// All constraints of a pair, as many as the settings allow, in an order that is always the same.
pub fn synthesise(pair: &Pair, settings: &Settings) -> Independence {
    let invariant = invariant(pair, settings);
    let differ = Formula::and([pair.differ.clone(), invariant.clone()]);
    let atoms = candidates(pair);
    let mut search = Search {
        differ: session(&settings.solver, &differ, &pair.applications),
        possible: session(&settings.solver, &invariant, &pair.applications),
        map: Map::new(atoms.len()),
        atoms,
        work: Work(settings.work),
        found: Vec::new(),
    };
    let note = search.run(settings.most).err();
    search.drop_implied(pair, settings);
    let mut constraints: Vec<Constraint> = search.found.into_iter().map(Constraint::simplified).collect();
    constraints.sort_by_key(|constraint| (constraint.literals.len(), constraint.clone()));
    constraints.dedup();
    let complaint = search.differ.complaint().or(search.possible.complaint()).map(str::to_owned);
    if complaint.is_some() && matches!(settings.solver, Solver::Program(_)) {
        constraints.clear();
    }
    let note = complaint.clone().or(note.map(str::to_owned));
    let exact = pair.applications.is_empty();
    Independence { constraints, necessary: note.is_none() && exact, note, complaint }
}

struct Search {
    atoms: Vec<Atom>,
    differ: Box<dyn Session>,
    possible: Box<dyn Session>,
    map: Map,
    work: Work,
    found: Vec<Constraint>,
}

const TOO_MUCH: &str = "there may be more constraints: the work allowed was used up";
const ENOUGH: &str = "there may be more constraints: the limit was reached";

impl Search {
    fn literal(&self, at: usize) -> Literal {
        Literal { atom: self.atoms[at / 2].clone(), positive: at.is_multiple_of(2) }
    }

    fn literals(&self, set: &[usize]) -> Vec<Literal> {
        set.iter().map(|&at| self.literal(at)).collect()
    }

    fn run(&mut self, most: usize) -> Result<(), &'static str> {
        while let Some(set) = self.map.next() {
            let literals = self.literals(&set);
            match self.differ.check(&literals, &mut self.work) {
                Answer::Sat(model) => self.learn(&model)?,
                Answer::Unknown => return Err(TOO_MUCH),
                Answer::Unsat => {
                    if self.found.len() == most {
                        return Err(ENOUGH);
                    }
                    self.take(set)?;
                }
            }
        }
        Ok(())
    }

    /// A state in which the orders differ: whatever is to rule it out has a literal that is false there.
    fn learn(&mut self, model: &Model) -> Result<(), &'static str> {
        let mut contrary = Vec::new();
        for at in 0..2 * self.atoms.len() {
            if !self.literal(at).holds(model).ok_or(TOO_MUCH)? {
                contrary.push(at);
            }
        }
        self.map.hit(contrary.into_iter());
        Ok(())
    }

    /// Makes a set smaller that leaves no state in which the orders differ, and keeps it if it leaves any
    /// state.
    fn take(&mut self, mut set: Vec<usize>) -> Result<(), &'static str> {
        let literals = self.literals(&set);
        let possible = match self.possible.check(&literals, &mut self.work) {
            Answer::Sat(_) => true,
            Answer::Unsat => false,
            Answer::Unknown => return Err(TOO_MUCH),
        };
        // Those with many variables are left out first, for constraints over few are of more use.
        let mut order = set.clone();
        order.sort_by_key(|&at| (std::cmp::Reverse(self.atoms[at / 2].sum().len()), at));
        for at in order {
            let rest: Vec<usize> = set.iter().copied().filter(|&other| other != at).collect();
            let literals = self.literals(&rest);
            let session = if possible { &mut self.differ } else { &mut self.possible };
            match session.check(&literals, &mut self.work) {
                Answer::Unsat => set = rest,
                Answer::Sat(model) if possible => self.learn(&model)?,
                Answer::Sat(_) => {}
                Answer::Unknown => return Err(TOO_MUCH),
            }
        }
        self.map.block(&set);
        if possible {
            let mut literals = self.literals(&set);
            literals.sort();
            self.found.push(Constraint { literals });
        }
        Ok(())
    }

    /// Drops constraints that imply another one over no more variables.
    fn drop_implied(&mut self, pair: &Pair, settings: &Settings) {
        let mut at = 0;
        while at < self.found.len() {
            let implied =
                (0..self.found.len()).any(|other| other != at && self.implies(at, other, pair, settings));
            if implied {
                self.found.remove(at);
            } else {
                at += 1;
            }
        }
    }

    fn implies(&mut self, stronger: usize, weaker: usize, pair: &Pair, settings: &Settings) -> bool {
        let (stronger, weaker) = (&self.found[stronger], &self.found[weaker]);
        if !weaker.vars().is_subset(&stronger.vars()) {
            return false;
        }
        let conjunction =
            |constraint: &Constraint| Formula::and(constraint.literals.iter().cloned().map(Formula::Literal));
        let formula = Formula::and([conjunction(stronger), conjunction(weaker).negated()]);
        let formula = Formula::and([formula, invariant(pair, settings)]);
        Embedded::new(&formula, &pair.applications).check(&[], &mut self.work) == Answer::Unsat
    }
}
