//! What a method does up to where it ends or waits first, as a transition system.

use std::collections::BTreeMap;

use mazurka_constraints::{Block, Effect as BlockEffect, Path, Terms};
use mazurka_smt::{Formula, Linear, Var};

use crate::model::{Binary, Effect, Expr, ExprKind, Method, Model, Sort, Statement, StatementKind, Target};

/// How many ways through a method are followed.
const MOST_PATHS: usize = 64;
/// How many objects and futures a method may make.
const MOST_MADE: u32 = 16;
/// How many conditions may be compared with each other.
const MOST_COMPARED: u32 = 8;
/// How deeply expressions and statements may be within each other.
const DEEPEST: u32 = 200;

/// Why nothing is known of a method, to follow its name.
type Reason = &'static str;

const TOO_LARGE: Reason = "computes numbers that are too large";

/// Functions of the standard library that have a value whatever they are given.
const TOTAL: [&str; 22] = [
    "length",
    "isEmpty",
    "appendright",
    "concatenate",
    "reverse",
    "copy",
    "without",
    "max",
    "min",
    "abs",
    "contains",
    "insertElement",
    "remove",
    "union",
    "intersection",
    "difference",
    "size",
    "put",
    "lookupDefault",
    "removeKey",
    "toString",
    "keys",
];

/// The functions without a meaning of a program.
#[derive(Debug, Default)]
pub(super) struct Functions {
    pub names: Vec<String>,
    numbers: BTreeMap<String, u32>,
}

impl Functions {
    fn number(&mut self, name: &str) -> u32 {
        *self.numbers.entry(name.to_owned()).or_insert_with(|| {
            self.names.push(name.to_owned());
            self.names.len() as u32 - 1
        })
    }
}

/// What a method of a class does, and what its own variables are called: parameters, and the objects that it
/// makes.
pub(super) fn extract(
    model: &Model,
    class: usize,
    method: &Method,
    functions: &mut Functions,
) -> (Result<Block, Reason>, Vec<String>) {
    let fields = &model.classes[class].fields;
    let shared = fields.len() as u32;
    let own = method.parameters + MOST_MADE;
    let mut names: Vec<String> = method.body.slots.iter().take(method.parameters as usize).cloned().collect();
    names.extend((0..MOST_MADE).map(|at| format!("made{at}")));
    let fresh = shared + method.parameters;
    let mut extractor = Extractor { model, functions, terms: Terms::new(shared + own), fresh, compared: 0 };
    let mut way = Way::default();
    for (at, field) in fields.iter().enumerate() {
        way.fields.push(unknown(field.sort, Var(at as u32)));
    }
    for (at, &sort) in method.sorts.iter().enumerate() {
        way.slots.insert(at as u32, unknown(sort, Var(shared + at as u32)));
    }
    let start = way.fields.clone();
    let block = extractor.statements(&method.body.statements, way, 0).and_then(|ends| {
        let mut paths = Vec::new();
        for (way, end) in ends {
            paths.extend(way.path(&start, end)?);
        }
        Ok(Block {
            shared,
            own,
            made: MOST_MADE,
            guard: None,
            paths,
            applications: extractor.terms.applications().to_vec(),
        })
    });
    (block, names)
}

/// A value that is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Symbol {
    /// An integer, or a number that stands for a value of another type.
    Number(Linear, Kind),
    Truth(Formula),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Int,
    Other,
}

fn unknown(sort: Sort, var: Var) -> Symbol {
    match sort {
        Sort::Int => Symbol::Number(Linear::var(var), Kind::Int),
        Sort::Other => Symbol::Number(Linear::var(var), Kind::Other),
        // True is 1.
        Sort::Bool => {
            Symbol::Truth(Formula::equal(&Linear::var(var), &Linear::constant(1)).unwrap_or(Formula::False))
        }
    }
}

/// How a way through a method ends.
#[derive(Clone, Debug, PartialEq, Eq)]
enum End {
    On,
    Returned(Symbol),
    /// At a statement, by its place.
    Waits(u32),
    Throws,
}

#[derive(Clone, Debug, Default)]
struct Way {
    condition: Vec<Formula>,
    fields: Vec<Symbol>,
    slots: BTreeMap<u32, Symbol>,
    effects: Vec<(u32, Vec<Symbol>)>,
    /// How many objects and futures it has made.
    made: u32,
}

impl Way {
    /// The paths of a way: one for each truth of what it leaves behind.
    fn path(self, start: &[Symbol], end: End) -> Result<Vec<Path>, Reason> {
        let mut results = match &end {
            End::Waits(at) => vec![Symbol::Number(Linear::constant(i128::from(*at) + 1), Kind::Int)],
            _ => vec![Symbol::Number(Linear::constant(0), Kind::Int)],
        };
        match &end {
            End::Returned(value) => results.push(value.clone()),
            End::Waits(_) => results.extend(self.slots.values().cloned()),
            End::On | End::Throws => {}
        }
        let changed = self.fields.iter().zip(start).enumerate().filter(|(_, (now, before))| now != before);
        let changed: Vec<(u32, Symbol)> = changed.map(|(at, (now, _))| (at as u32, now.clone())).collect();
        let mut open = vec![(self.condition.clone(), Numbers::default())];
        for (at, symbol) in &changed {
            open = spread(open, symbol, &|numbers, sum| {
                numbers.assigned.insert(Var(*at), sum);
            });
        }
        for symbol in &results {
            open = spread(open, symbol, &|numbers, sum| numbers.results.push(sum));
        }
        for (kind, arguments) in &self.effects {
            for (_, numbers) in &mut open {
                numbers.effects.push(BlockEffect { kind: *kind, arguments: Vec::new() });
            }
            for symbol in arguments {
                open = spread(open, symbol, &|numbers, sum| {
                    if let Some(effect) = numbers.effects.last_mut() {
                        effect.arguments.push(sum);
                    }
                });
            }
        }
        if open.len() > MOST_PATHS {
            return Err("has too many ways through it");
        }
        let path = |(condition, numbers): (Vec<Formula>, Numbers)| Path {
            condition: Some(Formula::and(condition)),
            assigned: numbers.assigned,
            results: numbers.results,
            effects: numbers.effects,
            computed: Vec::new(),
            fatal: end == End::Throws,
        };
        Ok(open.into_iter().map(path).collect())
    }
}

/// What a way leaves behind, in numbers.
#[derive(Clone, Debug, Default)]
struct Numbers {
    assigned: BTreeMap<Var, Linear>,
    results: Vec<Linear>,
    effects: Vec<BlockEffect>,
}

/// Adds a value to each way; a truth is 1 or 0 on ways of their own.
fn spread(
    open: Vec<(Vec<Formula>, Numbers)>,
    symbol: &Symbol,
    add: &dyn Fn(&mut Numbers, Linear),
) -> Vec<(Vec<Formula>, Numbers)> {
    let mut next = Vec::new();
    for (condition, numbers) in open {
        let sides = match symbol {
            Symbol::Number(sum, _) => vec![(Formula::True, sum.clone())],
            Symbol::Truth(truth) => {
                vec![(truth.clone(), Linear::constant(1)), (truth.negated(), Linear::constant(0))]
            }
        };
        for (side, sum) in sides.into_iter().filter(|(side, _)| *side != Formula::False) {
            let (mut condition, mut numbers) = (condition.clone(), numbers.clone());
            condition.push(side);
            add(&mut numbers, sum);
            next.push((condition, numbers));
        }
    }
    next
}

struct Extractor<'a> {
    model: &'a Model,
    functions: &'a mut Functions,
    terms: Terms,
    /// The first variable of what is made: objects and futures are named by who makes them, and in which
    /// order.
    fresh: u32,
    /// How many conditions were compared with each other.
    compared: u32,
}

impl Extractor<'_> {
    fn statements(&mut self, body: &[Statement], start: Way, depth: u32) -> Result<Vec<(Way, End)>, Reason> {
        if depth > DEEPEST {
            return Err("is nested too deeply");
        }
        let (mut going, mut done) = (vec![start], Vec::new());
        for statement in body {
            let mut next = Vec::new();
            for way in going {
                for (way, end) in self.statement(statement, way, depth)? {
                    if end == End::On {
                        next.push(way);
                    } else {
                        done.push((way, end));
                    }
                }
            }
            if next.len() + done.len() > MOST_PATHS {
                return Err("has too many ways through it");
            }
            going = next;
        }
        done.extend(going.into_iter().map(|way| (way, End::On)));
        Ok(done)
    }

    fn statement(
        &mut self,
        statement: &Statement,
        mut way: Way,
        depth: u32,
    ) -> Result<Vec<(Way, End)>, Reason> {
        let mut done = Vec::new();
        match &statement.kind {
            StatementKind::Assign(target, expr) => {
                let value = self.value(expr, &mut way, &mut done, depth)?;
                assign(&mut way, Some(*target), value);
                done.push((way, End::On));
            }
            StatementKind::If(condition, then, otherwise) => {
                let truth = self.truth(condition, &mut way, &mut done, depth)?;
                for (side, body) in [(truth.clone(), then), (truth.negated(), otherwise)] {
                    if side != Formula::False {
                        let mut way = way.clone();
                        way.condition.push(side);
                        done.extend(self.statements(body, way, depth + 1)?);
                    }
                }
            }
            StatementKind::Effect(target, effect) => {
                let value = self.effect(effect, &mut way, &mut done, depth)?;
                assign(&mut way, *target, value);
                done.push((way, End::On));
            }
            StatementKind::Return(expr) => {
                let value = self.value(expr, &mut way, &mut done, depth)?;
                done.push((way, End::Returned(value)));
            }
            StatementKind::Assert(condition) => {
                let truth = self.truth(condition, &mut way, &mut done, depth)?;
                throws(&mut way, truth, &mut done);
                done.push((way, End::On));
            }
            StatementKind::Await(_) | StatementKind::Suspend => {
                done.push((way, End::Waits(statement.span.start)));
            }
            StatementKind::While(..) | StatementKind::ForEach { .. } => return Err("has a loop"),
            StatementKind::Switch(..) => return Err("has a switch"),
            StatementKind::Try { .. } | StatementKind::Throw(_) => return Err("has exceptions of its own"),
        }
        Ok(done)
    }

    fn effect(
        &mut self,
        effect: &Effect,
        way: &mut Way,
        done: &mut Vec<(Way, End)>,
        depth: u32,
    ) -> Result<Symbol, Reason> {
        match effect {
            Effect::Call { callee, method, arguments } => {
                let mut told = Vec::new();
                for argument in arguments {
                    told.push(self.value(argument, way, done, depth)?);
                }
                let to = self.value(callee, way, done, depth)?;
                if !matches!(callee.kind, ExprKind::This) && !self.is_made(&to) {
                    let null = self.apply("null", &[])?;
                    let missing = self.equal(&to, &null)?;
                    throws(way, missing.negated(), done);
                }
                told.insert(0, to);
                way.effects.push((2 * method.0, told));
                self.make(way)
            }
            Effect::New { class, arguments, local } => {
                if *local {
                    return Err("makes an object in its own group");
                }
                let mut told = Vec::new();
                for argument in arguments {
                    told.push(self.value(argument, way, done, depth)?);
                }
                way.effects.push((2 * class.0 + 1, told));
                self.make(way)
            }
            Effect::SyncCall { .. } => Err("calls a method and waits for it"),
            Effect::Get(_) => Err("waits for a future"),
            Effect::Random(_) => Err("draws a number"),
        }
    }

    /// An object or a future that is new, and so not null.
    fn make(&mut self, way: &mut Way) -> Result<Symbol, Reason> {
        if way.made == MOST_MADE {
            return Err("makes too many objects and calls");
        }
        way.made += 1;
        Ok(Symbol::Number(Linear::var(Var(self.fresh + way.made - 1)), Kind::Other))
    }

    fn is_made(&self, symbol: &Symbol) -> bool {
        let made = self.fresh..self.fresh + MOST_MADE;
        matches!(symbol, Symbol::Number(sum, _) if matches!(sum.terms(), [(var, 1)] if made.contains(&var.0)))
    }

    fn apply(&mut self, name: &str, arguments: &[Symbol]) -> Result<Symbol, Reason> {
        let mut sums = Vec::new();
        for argument in arguments {
            match argument {
                Symbol::Number(sum, _) => sums.push(sum.clone()),
                Symbol::Truth(Formula::True) => sums.push(Linear::constant(1)),
                Symbol::Truth(Formula::False) => sums.push(Linear::constant(0)),
                Symbol::Truth(_) => return Err("gives a condition to a function"),
            }
        }
        let function = self.functions.number(name);
        Ok(Symbol::Number(Linear::var(self.terms.apply(function, sums)), Kind::Other))
    }

    fn equal(&mut self, left: &Symbol, right: &Symbol) -> Result<Formula, Reason> {
        match (left, right) {
            (Symbol::Number(left, _), Symbol::Number(right, _)) => {
                Formula::equal(left, right).ok_or(TOO_LARGE)
            }
            (Symbol::Truth(left), Symbol::Truth(right)) => {
                // Each such comparison has both sides twice.
                self.compared += 1;
                if self.compared > MOST_COMPARED {
                    return Err("compares many conditions with each other");
                }
                Ok(Formula::or([
                    Formula::and([left.clone(), right.clone()]),
                    Formula::and([left.negated(), right.negated()]),
                ]))
            }
            (Symbol::Truth(truth), Symbol::Number(sum, _))
            | (Symbol::Number(sum, _), Symbol::Truth(truth)) => {
                let holds = Formula::equal(sum, &Linear::constant(1)).ok_or(TOO_LARGE)?;
                self.equal(&Symbol::Truth(holds), &Symbol::Truth(truth.clone()))
            }
        }
    }

    fn truth(
        &mut self,
        expr: &Expr,
        way: &mut Way,
        done: &mut Vec<(Way, End)>,
        depth: u32,
    ) -> Result<Formula, Reason> {
        match self.value(expr, way, done, depth)? {
            Symbol::Truth(truth) => Ok(truth),
            Symbol::Number(sum, _) => Formula::equal(&sum, &Linear::constant(1)).ok_or(TOO_LARGE),
        }
    }

    /// The value of an expression; ways on which it throws go to `done`.
    fn value(
        &mut self,
        expr: &Expr,
        way: &mut Way,
        done: &mut Vec<(Way, End)>,
        depth: u32,
    ) -> Result<Symbol, Reason> {
        if depth > DEEPEST {
            return Err("is nested too deeply");
        }
        let depth = depth + 1;
        Ok(match &expr.kind {
            ExprKind::Unit => Symbol::Number(Linear::constant(0), Kind::Other),
            ExprKind::Bool(truth) => Symbol::Truth(Formula::of(*truth)),
            ExprKind::Int(number) => {
                let number: i64 = number.try_into().map_err(|_| TOO_LARGE)?;
                Symbol::Number(Linear::constant(number.into()), Kind::Int)
            }
            ExprKind::Null => self.apply("null", &[])?,
            ExprKind::This => self.apply("this", &[])?,
            ExprKind::Text(text) => self.apply(&format!("{text:?}"), &[])?,
            ExprKind::Slot(slot) => {
                way.slots.get(&slot.0).cloned().ok_or("uses a variable that is not set")?
            }
            ExprKind::Field(field) => way.fields[field.index()].clone(),
            ExprKind::Not(inner) => Symbol::Truth(self.truth(inner, way, done, depth)?.negated()),
            ExprKind::Negate(inner) => match self.value(inner, way, done, depth)? {
                Symbol::Number(sum, Kind::Int) => Symbol::Number(sum.times(-1).ok_or(TOO_LARGE)?, Kind::Int),
                other => self.apply("-", &[other])?,
            },
            ExprKind::Binary(op @ (Binary::And | Binary::Or), left, right) => {
                let before = done.len();
                let left = self.truth(left, way, done, depth)?;
                let right = self.truth(right, way, done, depth)?;
                if done.len() > before {
                    return Err("may throw in a part of a condition");
                }
                let parts = [left, right];
                Symbol::Truth(if *op == Binary::And { Formula::and(parts) } else { Formula::or(parts) })
            }
            ExprKind::Binary(op, left, right) => {
                let (left, right) =
                    (self.value(left, way, done, depth)?, self.value(right, way, done, depth)?);
                self.binary(*op, left, right)?
            }
            ExprKind::Construct(constructor, arguments) => {
                let arguments = self.values(arguments, way, done, depth)?;
                self.apply(&self.model.constructors[constructor.index()].name.clone(), &arguments)?
            }
            ExprKind::Apply { function, arguments, closures } if closures.is_empty() => {
                let arguments = self.values(arguments, way, done, depth)?;
                let name = self.model.functions[function.index()].name.clone();
                if !TOTAL.contains(&name.as_str()) {
                    let defined = self.apply(&format!("defined {name}"), &arguments)?;
                    let one = Symbol::Number(Linear::constant(1), Kind::Int);
                    let defined = self.equal(&defined, &one)?;
                    throws(way, defined, done);
                }
                self.apply(&name, &arguments)?
            }
            _ => return Err("has an expression that is not followed"),
        })
    }

    fn values(
        &mut self,
        exprs: &[Expr],
        way: &mut Way,
        done: &mut Vec<(Way, End)>,
        depth: u32,
    ) -> Result<Vec<Symbol>, Reason> {
        exprs.iter().map(|expr| self.value(expr, way, done, depth)).collect()
    }

    fn binary(&mut self, op: Binary, left: Symbol, right: Symbol) -> Result<Symbol, Reason> {
        match op {
            Binary::Equal => return Ok(Symbol::Truth(self.equal(&left, &right)?)),
            Binary::NotEqual => return Ok(Symbol::Truth(self.equal(&left, &right)?.negated())),
            _ => {}
        }
        let (Symbol::Number(a, Kind::Int), Symbol::Number(b, Kind::Int)) = (&left, &right) else {
            return self.opaque(op, left, right);
        };
        let at_most = |a: &Linear, b: &Linear| Formula::at_most(a, b).ok_or(TOO_LARGE);
        Ok(match op {
            Binary::Less => Symbol::Truth(at_most(b, a)?.negated()),
            Binary::LessEqual => Symbol::Truth(at_most(a, b)?),
            Binary::Greater => Symbol::Truth(at_most(a, b)?.negated()),
            Binary::GreaterEqual => Symbol::Truth(at_most(b, a)?),
            Binary::Add => Symbol::Number(a.plus(b).ok_or(TOO_LARGE)?, Kind::Int),
            Binary::Subtract => Symbol::Number(a.minus(b).ok_or(TOO_LARGE)?, Kind::Int),
            Binary::Multiply => match (a.as_constant(), b.as_constant()) {
                (Some(by), _) => Symbol::Number(b.times(by).ok_or(TOO_LARGE)?, Kind::Int),
                (_, Some(by)) => Symbol::Number(a.times(by).ok_or(TOO_LARGE)?, Kind::Int),
                _ => self.opaque(op, left, right)?,
            },
            _ => self.opaque(op, left, right)?,
        })
    }

    /// An operator on what is not known to be an integer, as a function without a meaning.
    fn opaque(&mut self, op: Binary, left: Symbol, right: Symbol) -> Result<Symbol, Reason> {
        let name = match op {
            Binary::Less => "less",
            Binary::LessEqual => "less or equal",
            Binary::Greater => "greater",
            Binary::GreaterEqual => "greater or equal",
            Binary::Add => "plus",
            Binary::Subtract => "minus",
            Binary::Multiply => "times",
            Binary::Divide | Binary::DivideInts | Binary::Modulo => return Err("divides"),
            _ => return Err("has an operator that is not followed"),
        };
        let value = self.apply(name, &[left, right])?;
        let compares =
            matches!(op, Binary::Less | Binary::LessEqual | Binary::Greater | Binary::GreaterEqual);
        match value {
            Symbol::Number(sum, _) if compares => {
                Ok(Symbol::Truth(Formula::equal(&sum, &Linear::constant(1)).ok_or(TOO_LARGE)?))
            }
            value => Ok(value),
        }
    }
}

/// Takes the way on which something does not hold to its end.
fn throws(way: &mut Way, holds: Formula, done: &mut Vec<(Way, End)>) {
    if holds != Formula::True {
        let mut thrown = way.clone();
        thrown.condition.push(holds.negated());
        done.push((thrown, End::Throws));
        way.condition.push(holds);
    }
}

fn assign(way: &mut Way, target: Option<Target>, value: Symbol) {
    match target {
        Some(Target::Slot(slot)) => {
            way.slots.insert(slot.0, value);
        }
        Some(Target::Field(field)) => way.fields[field.index()] = value,
        None => {}
    }
}
