//! Two blocks, one after the other, in both orders, and where that makes a difference.

use std::collections::{BTreeMap, BTreeSet};

use mazurka_smt::{Answer, Application, Embedded, Formula, Linear, Session, Var, Work};

use crate::block::{Block, Effect, Path, Terms};

/// When processes that are created count as the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Creation {
    /// If they are created with the same arguments, by whomever (CAV'18, definition 6).
    Anyone,
    /// If the same process creates them, in the same order: then they have the same names.
    SameCreator,
}

/// A pair of blocks.
#[derive(Clone, Debug)]
pub struct Pair {
    /// Where the orders differ, or one block keeps the other from running or lets it.
    pub differ: Formula,
    /// What the variables after the shared ones, the first block's own and the second's stand for.
    pub applications: Vec<Application>,
    /// What holds of own variables in every state.
    pub known: Formula,
    /// All that is computed in either order.
    pub computed: Vec<Linear>,
}

/// How many orders of the same number of effects are tried; beyond that they have to come in the same order.
const MOST_MATCHED: usize = 4;
/// How many pairs of paths are looked at.
const MOST_PAIRS: usize = 20_000;

/// Runs two blocks in both orders.
///
/// # Errors
/// In one sentence, why nothing can be said of them: a number that does not fit, too many paths.
pub fn compose(
    first: &Block,
    second: &Block,
    creation: Creation,
    work: &mut Work,
) -> Result<Pair, &'static str> {
    let own = first.shared + first.own;
    let mut composer = Composer { terms: Terms::new(own + second.own), creation, computed: BTreeSet::new() };
    let first = composer.import(first, 0).ok_or(TOO_LARGE)?;
    let second = composer.import(second, first.own).ok_or(TOO_LARGE)?;
    let differ = composer.differ(&first, &second, work)?;
    let ends = [first.shared + first.own, first.shared + first.own + second.own];
    let made = (ends[0] - first.made..ends[0]).chain(ends[1] - second.made..ends[1]).map(Var).collect();
    let used = used(&made, &differ, composer.terms.applications());
    let mut known = vec![distinct(&used).ok_or(TOO_LARGE)?];
    let about_used = |fact: &&Formula| fact.vars().iter().any(|var| used.contains(var));
    known.extend(first.known.iter().chain(&second.known).filter(about_used).cloned());
    let known = Formula::and(known);
    Ok(Pair {
        differ,
        known,
        applications: composer.terms.applications().to_vec(),
        computed: composer.computed.into_iter().collect(),
    })
}

const TOO_LARGE: &str = "a number does not fit in 128 bits";
const TOO_MANY: &str = "there are too many ways through the two blocks";

struct Composer {
    terms: Terms,
    creation: Creation,
    computed: BTreeSet<Linear>,
}

/// What came of two blocks, one after the other; `stuck` if the second could not run.
struct Outcome {
    condition: Formula,
    ran: Option<Ran>,
}

struct Ran {
    assigned: BTreeMap<Var, Linear>,
    /// Of the first block and the second, whichever ran before.
    results: [Vec<Linear>; 2],
    effects: [Vec<Effect>; 2],
}

impl Composer {
    /// A block with variables of the pair: its own shifted by so many, its functions made anew.
    fn import(&mut self, block: &Block, shift: u32) -> Option<Block> {
        let rename = |var: Var| {
            let own = var.0 >= block.shared && var.0 < block.shared + block.own;
            Linear::var(if own { Var(var.0 + shift) } else { var })
        };
        let paths = block.paths.iter().map(|path| self.rewrite(path, &block.applications, &rename));
        let paths = paths.collect::<Option<Vec<_>>>()?;
        let guard = match &block.guard {
            Some(guard) => Some(self.formula(guard, &block.applications, &rename)?),
            None => None,
        };
        let known = block.known.iter().map(|fact| self.formula(fact, &block.applications, &rename));
        let known = known.collect::<Option<Vec<_>>>()?;
        let applications = self.terms.applications().to_vec();
        let (shared, own, made) = (block.shared, block.own, block.made);
        Some(Block { shared, own, made, known, guard, paths, applications })
    }

    fn rewrite(&mut self, path: &Path, known: &[Application], with: &dyn Fn(Var) -> Linear) -> Option<Path> {
        let condition = match &path.condition {
            Some(condition) => Some(self.formula(condition, known, with)?),
            None => None,
        };
        let mut assigned = BTreeMap::new();
        for (&var, sum) in &path.assigned {
            assigned.insert(var, self.sum(sum, known, with)?);
        }
        let effects = path.effects.iter().map(|effect| {
            let made = effect.made.map(|made| renamed(&with(made), made));
            Some(Effect { kind: effect.kind, arguments: self.sums(&effect.arguments, known, with)?, made })
        });
        Some(Path {
            condition,
            assigned,
            effects: effects.collect::<Option<_>>()?,
            results: self.sums(&path.results, known, with)?,
            computed: self.sums(&path.computed, known, with)?,
            fatal: path.fatal,
        })
    }

    fn formula(
        &mut self,
        formula: &Formula,
        known: &[Application],
        with: &dyn Fn(Var) -> Linear,
    ) -> Option<Formula> {
        formula.substitute(&mut |var| self.replace(var, known, with))
    }

    fn sum(&mut self, sum: &Linear, known: &[Application], with: &dyn Fn(Var) -> Linear) -> Option<Linear> {
        sum.substitute(&mut |var| self.replace(var, known, with))
    }

    fn sums(
        &mut self,
        sums: &[Linear],
        known: &[Application],
        with: &dyn Fn(Var) -> Linear,
    ) -> Option<Vec<Linear>> {
        sums.iter().map(|sum| self.sum(sum, known, with)).collect()
    }

    /// What a variable becomes: a function is one of what its arguments become.
    fn replace(&mut self, var: Var, known: &[Application], with: &dyn Fn(Var) -> Linear) -> Option<Linear> {
        match known.iter().find(|one| one.var == var) {
            Some(one) => {
                let arguments = self.sums(&one.arguments, known, with)?;
                Some(Linear::var(self.terms.apply(one.function, arguments)))
            }
            None => Some(with(var)),
        }
    }

    /// A path as it is after another.
    fn after(&mut self, path: &Path, before: &Path) -> Option<Path> {
        let known = self.terms.applications().to_vec();
        let with = |var: Var| before.assigned.get(&var).cloned().unwrap_or_else(|| Linear::var(var));
        self.rewrite(path, &known, &with)
    }

    fn guard_after(&mut self, guard: &Formula, before: &Path) -> Option<Formula> {
        let known = self.terms.applications().to_vec();
        let with = |var: Var| before.assigned.get(&var).cloned().unwrap_or_else(|| Linear::var(var));
        self.formula(guard, &known, &with)
    }

    fn differ(&mut self, first: &Block, second: &Block, work: &mut Work) -> Result<Formula, &'static str> {
        let guards = [guard(first), guard(second)];
        let both = Formula::and(guards.clone());
        let one = self.outcomes(first, second, false, &both, work)?;
        let other = self.outcomes(second, first, true, &both, work)?;
        if one.len() * other.len() > MOST_PAIRS {
            return Err(TOO_MANY);
        }
        let mut cases = Vec::new();
        for left in &one {
            for right in &other {
                let condition = Formula::and([left.condition.clone(), right.condition.clone()]);
                if condition == Formula::False {
                    continue;
                }
                let differ = match (&left.ran, &right.ran) {
                    (Some(left), Some(right)) => self.difference(left, right).ok_or(TOO_LARGE)?,
                    _ => Formula::True,
                };
                cases.push(Formula::and([condition, differ]));
            }
        }
        for (runs, waits) in [(first, second), (second, first)] {
            cases.push(self.enables(runs, waits).ok_or(TOO_LARGE)?);
        }
        Ok(Formula::or(cases))
    }

    /// Where a block that can run lets another run that could not.
    fn enables(&mut self, runs: &Block, waits: &Block) -> Option<Formula> {
        let Some(wanted) = &waits.guard else { return Some(Formula::False) };
        let mut cases = Vec::new();
        for path in &runs.paths {
            let after = self.guard_after(wanted, path)?;
            cases.push(Formula::and([condition(path), after]));
        }
        Some(Formula::and([guard(runs), wanted.negated(), Formula::or(cases)]))
    }

    /// What comes of one block after the other, where both can run at first; `swapped` if the second one of
    /// the pair comes first. Ways that can't be are left out.
    fn outcomes(
        &mut self,
        first: &Block,
        second: &Block,
        swapped: bool,
        both: &Formula,
        work: &mut Work,
    ) -> Result<Vec<Outcome>, &'static str> {
        if first.paths.len() * second.paths.len() > MOST_PAIRS {
            return Err(TOO_MANY);
        }
        let mut outcomes = Vec::new();
        for before in &first.paths {
            self.computed.extend(before.computed.iter().cloned());
            let here = Formula::and([both.clone(), condition(before)]);
            if before.fatal {
                outcomes.push(Outcome { condition: here, ran: None });
                continue;
            }
            let free = match &second.guard {
                Some(guard) => self.guard_after(guard, before).ok_or(TOO_LARGE)?,
                None => Formula::True,
            };
            outcomes.push(Outcome { condition: Formula::and([here.clone(), free.negated()]), ran: None });
            for path in &second.paths {
                let path = self.after(path, before).ok_or(TOO_LARGE)?;
                let condition = Formula::and([here.clone(), free.clone(), condition(&path)]);
                self.computed.extend(path.computed.iter().cloned());
                let fatal = path.fatal;
                let ran = (!fatal).then(|| ran(before, path, swapped));
                outcomes.push(Outcome { condition, ran });
            }
        }
        let applications = self.terms.applications();
        outcomes.retain(|outcome| {
            outcome.condition != Formula::False
                && Embedded::new(&outcome.condition, applications).check(&[], work) != Answer::Unsat
        });
        Ok(outcomes)
    }

    /// Where two outcomes are not the same; if anyone may create a thing, up to the names of what is created.
    fn difference(&mut self, left: &Ran, right: &Ran) -> Option<Formula> {
        if self.creation == Creation::SameCreator {
            let effects = left.effects.iter().zip(&right.effects).map(|(one, other)| in_order(one, other));
            let effects = Formula::and(effects.collect::<Option<Vec<_>>>()?);
            return Some(Formula::or([self.unequal(left, right)?, effects.negated()]));
        }
        let (ours, theirs) = (left.effects.concat(), right.effects.concat());
        let mut ways = Vec::new();
        for order in matchings(&ours, &theirs) {
            let renamed = self.with_names_of(&ours, &theirs, &order, right)?;
            let theirs = renamed.effects.concat();
            let theirs: Vec<Effect> = order.iter().map(|&at| theirs[at].clone()).collect();
            let effects = in_order(&ours, &theirs)?;
            ways.push(Formula::or([self.unequal(left, &renamed)?, effects.negated()]));
        }
        // The orders agree if they do with some names.
        Some(if ways.is_empty() { Formula::True } else { Formula::and(ways) })
    }

    /// An outcome with what its effects make named as that of ours: the `i`th of ours is the `order[i]`th of
    /// theirs.
    fn with_names_of(
        &mut self,
        ours: &[Effect],
        theirs: &[Effect],
        order: &[usize],
        ran: &Ran,
    ) -> Option<Ran> {
        let mut names: BTreeMap<Var, Var> = BTreeMap::new();
        for (one, &at) in ours.iter().zip(order) {
            names.extend(theirs[at].made.zip(one.made));
        }
        let known = self.terms.applications().to_vec();
        let with = |var: Var| Linear::var(names.get(&var).copied().unwrap_or(var));
        let mut rename = |path: Path| self.rewrite(&path, &known, &with);
        let [first, second] = &ran.effects;
        let [one, other] = &ran.results;
        let first = rename(Path {
            assigned: ran.assigned.clone(),
            results: one.clone(),
            effects: first.clone(),
            ..Path::default()
        })?;
        let second = rename(Path { results: other.clone(), effects: second.clone(), ..Path::default() })?;
        Some(Ran {
            assigned: first.assigned,
            results: [first.results, second.results],
            effects: [first.effects, second.effects],
        })
    }

    /// Where two outcomes leave something else in variables, shared ones or those of the blocks.
    fn unequal(&self, left: &Ran, right: &Ran) -> Option<Formula> {
        let mut differences = Vec::new();
        let vars: BTreeSet<&Var> = left.assigned.keys().chain(right.assigned.keys()).collect();
        for &var in vars {
            let value = |ran: &Ran| ran.assigned.get(&var).cloned().unwrap_or_else(|| Linear::var(var));
            differences.push(Formula::equal(&value(left), &value(right))?.negated());
        }
        for (one, other) in left.results.iter().zip(&right.results) {
            differences.push(same(one, other)?.negated());
        }
        Some(Formula::or(differences))
    }
}

/// Those of some variables that matter.
fn used(made: &BTreeSet<Var>, differ: &Formula, applications: &[Application]) -> Vec<Var> {
    let mut used = differ.vars();
    let arguments = applications.iter().flat_map(|one| &one.arguments);
    used.extend(arguments.flat_map(|sum| sum.terms()).map(|&(var, _)| var));
    used.intersection(made).copied().collect()
}

/// No two of these are equal.
fn distinct(used: &[Var]) -> Option<Formula> {
    let mut parts = Vec::new();
    for (at, &one) in used.iter().enumerate() {
        for &other in &used[..at] {
            parts.push(Formula::equal(&Linear::var(one), &Linear::var(other))?.negated());
        }
    }
    Some(Formula::and(parts))
}

fn guard(block: &Block) -> Formula {
    block.guard.clone().unwrap_or(Formula::True)
}

fn condition(path: &Path) -> Formula {
    path.condition.clone().unwrap_or(Formula::True)
}

fn ran(before: &Path, after: Path, swapped: bool) -> Ran {
    let mut assigned = before.assigned.clone();
    assigned.extend(after.assigned);
    let mut results = [before.results.clone(), after.results];
    let mut effects = [before.effects.clone(), after.effects];
    if swapped {
        results.reverse();
        effects.reverse();
    }
    Ran { assigned, results, effects }
}

/// Where two lists are equal.
fn same(left: &[Linear], right: &[Linear]) -> Option<Formula> {
    if left.len() != right.len() {
        return Some(Formula::False);
    }
    let parts: Option<Vec<_>> = left.iter().zip(right).map(|(a, b)| Formula::equal(a, b)).collect();
    Some(Formula::and(parts?))
}

fn in_order(left: &[Effect], right: &[Effect]) -> Option<Formula> {
    if left.len() != right.len() {
        return Some(Formula::False);
    }
    let mut parts = Vec::new();
    for (one, other) in left.iter().zip(right) {
        if one.kind != other.kind {
            return Some(Formula::False);
        }
        parts.push(same(&one.arguments, &other.arguments)?);
    }
    Some(Formula::and(parts))
}

/// The ways in which the effects of one order can be those of the other: for each of ours, the place of theirs.
fn matchings(ours: &[Effect], theirs: &[Effect]) -> Vec<Vec<usize>> {
    if ours.len() != theirs.len() {
        return Vec::new();
    }
    if ours.len() > MOST_MATCHED {
        return vec![(0..ours.len()).collect()];
    }
    let mut ways: Vec<Vec<usize>> = vec![Vec::new()];
    for one in ours {
        let like =
            |at: &usize| theirs[*at].kind == one.kind && theirs[*at].made.is_some() == one.made.is_some();
        let grow = |way: &Vec<usize>| -> Vec<Vec<usize>> {
            let free = (0..theirs.len()).filter(|at| !way.contains(at) && like(at));
            free.map(|at| way.iter().copied().chain([at]).collect()).collect()
        };
        ways = ways.iter().flat_map(grow).collect();
    }
    ways
}

/// The variable that another one has become.
fn renamed(sum: &Linear, before: Var) -> Var {
    match sum.terms() {
        [(var, 1)] => *var,
        _ => before,
    }
}
