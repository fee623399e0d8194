//! What a method does up to where it ends or waits first, as a transition system.

use std::collections::BTreeMap;

use mazurka_constraints::{Block, Effect as BlockEffect, Path, Terms};
use mazurka_smt::{Formula, Linear, Var};

use super::functions::{Function, Functions, Loop, Meaning, Part, is_total};
use super::loops::LoopFacts;
use crate::model::{
    Binary, Effect, Expr, ExprKind, Method, MethodId, Model, Sort, Statement, StatementKind, Target,
};

/// How many ways through a method are followed.
const MOST_PATHS: usize = 64;
/// How many objects and futures a method may make.
const MOST_MADE: u32 = 16;
/// How many conditions may be compared with each other.
const MOST_COMPARED: u32 = 8;
/// How deeply expressions and statements may be within each other.
const DEEPEST: u32 = 200;

/// Why nothing is known of a method, to follow its name.
pub(super) type Reason = &'static str;

/// What an effect of a method is: its kind, and the number of a method, a class or a loop.
const KINDS: u32 = 3;
const CALL: u32 = 0;
const NEW: u32 = 1;
const LOOP: u32 = 2;

const MIXED: Reason = "computes with integers and rationals together";
const TOO_LARGE: Reason = "computes numbers that are too large";

/// What a method of a class does, and what its own variables are called: parameters, and the objects that it
/// makes.
pub(super) fn extract(
    model: &Model,
    class: usize,
    number: MethodId,
    functions: &mut Functions,
) -> (Result<Block, Reason>, Vec<String>) {
    let method = &model.methods[number.index()];
    let fields = &model.classes[class].fields;
    let shared = fields.len() as u32;
    let own = own(method);
    let mut names: Vec<String> = method.body.slots.iter().take(method.parameters as usize).cloned().collect();
    names.extend((0..MOST_MADE).map(|at| format!("made{at}")));
    let fresh = shared + method.parameters;
    let terms = Terms::new(shared + own);
    let mut extractor = Extractor { model, functions, terms, fresh, compared: 0, method: number.0 };
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
        let known = extractor.no_null()?;
        Ok(Block {
            shared,
            own,
            made: MOST_MADE,
            known,
            guard: None,
            paths,
            applications: extractor.terms.applications().to_vec(),
        })
    });
    (block, names)
}

/// How many variables a method has of its own: parameters, and what it makes.
pub(super) fn own(method: &Method) -> u32 {
    method.parameters + MOST_MADE
}

/// Where a condition about the fields of a class holds.
pub(super) fn condition(
    model: &Model,
    class: usize,
    expr: &Expr,
    functions: &mut Functions,
) -> Result<Formula, Reason> {
    let fields = &model.classes[class].fields;
    let shared = fields.len() as u32;
    let terms = Terms::new(shared);
    let mut extractor = Extractor { model, functions, terms, fresh: shared, compared: 0, method: 0 };
    let fields = fields.iter().enumerate().map(|(at, field)| unknown(field.sort, Var(at as u32)));
    let mut way = Way { fields: fields.collect(), ..Way::default() };
    let mut throws = Vec::new();
    let holds = extractor.truth(expr, &mut way, &mut throws, 0)?;
    // What stands for a function has a number that is another thing's in a pair of methods.
    if !throws.is_empty() || !extractor.terms.applications().is_empty() {
        return Err("calls functions, or may throw");
    }
    Ok(holds)
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
    /// A rational. A sum of such numbers has no constant part, and is compared with such sums only: then every
    /// solution in rationals is one in integers when multiplied by a common denominator, so what has none in
    /// integers has none.
    Rat,
    Other,
}

fn unknown(sort: Sort, var: Var) -> Symbol {
    match sort {
        Sort::Int => Symbol::Number(Linear::var(var), Kind::Int),
        Sort::Rat => Symbol::Number(Linear::var(var), Kind::Rat),
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
    /// What it calls and makes: of which kind, with what, and what came of it.
    effects: Vec<(u32, Vec<Symbol>, Option<Var>)>,
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
        for (kind, arguments, made) in &self.effects {
            for (_, numbers) in &mut open {
                numbers.effects.push(BlockEffect { kind: *kind, arguments: Vec::new(), made: *made });
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
    /// The method, by number.
    method: u32,
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
                assign(&mut way, Some(*target), value)?;
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
                assign(&mut way, *target, value)?;
                done.push((way, End::On));
            }
            StatementKind::Return(expr) => {
                let value = self.value(expr, &mut way, &mut done, depth)?;
                let value = self.plain(vec![value])?.remove(0);
                done.push((way, End::Returned(value)));
            }
            StatementKind::Assert(condition) => {
                let truth = self.truth(condition, &mut way, &mut done, depth)?;
                throws(&mut way, truth, &mut done);
                done.push((way, End::On));
            }
            StatementKind::Await(_) | StatementKind::Suspend => {
                for (_, symbol) in way.slots.iter_mut() {
                    *symbol = self.plain(vec![symbol.clone()])?.remove(0);
                }
                done.push((way, End::Waits(statement.span.start)));
            }
            StatementKind::While(..) | StatementKind::ForEach { .. } => {
                self.loop_statement(statement, &mut way, &mut done)?;
                done.push((way, End::On));
            }
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
                    let null = self.null()?;
                    let missing = self.equal(&to, &null)?;
                    throws(way, missing.negated(), done);
                }
                told.insert(0, to);
                let told = self.plain(told)?;
                self.make(way, CALL + KINDS * method.0, told)
            }
            Effect::New { class, arguments, local } => {
                if *local {
                    return Err("makes an object in its own group");
                }
                let mut told = Vec::new();
                for argument in arguments {
                    told.push(self.value(argument, way, done, depth)?);
                }
                let told = self.plain(told)?;
                self.make(way, NEW + KINDS * class.0, told)
            }
            Effect::SyncCall { .. } => Err("calls a method and waits for it"),
            Effect::Get(_) => Err("waits for a future"),
            Effect::Random(_) => Err("draws a number"),
        }
    }

    /// An object or a future that is new, and so not null.
    fn make(&mut self, way: &mut Way, kind: u32, told: Vec<Symbol>) -> Result<Symbol, Reason> {
        if way.made == MOST_MADE {
            return Err("makes too many objects and calls");
        }
        let made = Var(self.fresh + way.made);
        way.made += 1;
        way.effects.push((kind, told, Some(made)));
        Ok(Symbol::Number(Linear::var(made), Kind::Other))
    }

    /// Values as they leave a method: rationals are told by what stands for them.
    fn plain(&mut self, symbols: Vec<Symbol>) -> Result<Vec<Symbol>, Reason> {
        let plain = |symbol| match symbol {
            Symbol::Number(_, Kind::Rat) => self.apply(Function::Word("rational"), &[symbol]),
            symbol => Ok(symbol),
        };
        symbols.into_iter().map(plain).collect()
    }

    fn null(&mut self) -> Result<Symbol, Reason> {
        let number = self.number(Function::Null);
        self.functions.meanings.insert(number, Meaning::Null);
        self.apply(Function::Null, &[])
    }

    /// That what is made is there.
    fn no_null(&mut self) -> Result<Vec<Formula>, Reason> {
        let null = self.null()?;
        let made =
            (self.fresh..self.fresh + MOST_MADE).map(|at| Symbol::Number(Linear::var(Var(at)), Kind::Other));
        made.map(|made| Ok(self.equal(&made, &null)?.negated())).collect()
    }

    /// A loop: what it assigns, and what it calls, are functions of what it mentions; it may throw.
    fn loop_statement(
        &mut self,
        statement: &Statement,
        way: &mut Way,
        done: &mut Vec<(Way, End)>,
    ) -> Result<(), Reason> {
        let facts = LoopFacts::of(statement)?;
        let slots: Vec<u32> =
            facts.slots.iter().copied().filter(|slot| way.slots.contains_key(slot)).collect();
        let fields: Vec<u32> = facts.fields.iter().copied().collect();
        let mentioned = slots.iter().map(|slot| way.slots[slot].clone());
        let mentioned: Vec<Symbol> =
            mentioned.chain(fields.iter().map(|&field| way.fields[field as usize].clone())).collect();
        let (file, start) = (statement.span.file, statement.span.start);
        let part = |part| Function::Loop(part, file, start);
        let ends = self.number(part(Part::Ends));
        let meaning = Meaning::Ends(Loop { method: self.method, file, start, slots, fields });
        self.functions.meanings.insert(ends, meaning);
        let ends = self.apply(part(Part::Ends), &mentioned)?;
        let one = Symbol::Number(Linear::constant(1), Kind::Int);
        let ends = self.equal(&ends, &one)?;
        throws(way, ends, done);
        if facts.calls {
            let number = self.number(part(Part::Calls));
            let told = self.plain(mentioned.clone())?;
            way.effects.push((LOOP + KINDS * number, told, None));
        }
        for &field in &facts.assigned_fields {
            let after = self.apply(part(Part::Field(field)), &mentioned)?;
            way.fields[field as usize] = alike(&way.fields[field as usize], after);
        }
        for &slot in &facts.assigned_slots {
            if let Some(before) = way.slots.get(&slot).cloned() {
                let after = self.apply(part(Part::Slot(slot)), &mentioned)?;
                let after = match alike(&before, after) {
                    // A variable for rationals may have held an integer.
                    Symbol::Number(sum, Kind::Int) => Symbol::Number(sum, Kind::Other),
                    after => after,
                };
                way.slots.insert(slot, after);
            }
        }
        Ok(())
    }

    fn is_made(&self, symbol: &Symbol) -> bool {
        let made = self.fresh..self.fresh + MOST_MADE;
        matches!(symbol, Symbol::Number(sum, _) if matches!(sum.terms(), [(var, 1)] if made.contains(&var.0)))
    }

    fn number(&mut self, function: Function) -> u32 {
        self.functions.number(self.model, self.method, function)
    }

    fn apply(&mut self, function: Function, arguments: &[Symbol]) -> Result<Symbol, Reason> {
        let mut sums = Vec::new();
        for argument in arguments {
            match argument {
                Symbol::Number(sum, _) => sums.push(sum.clone()),
                Symbol::Truth(Formula::True) => sums.push(Linear::constant(1)),
                Symbol::Truth(Formula::False) => sums.push(Linear::constant(0)),
                Symbol::Truth(_) => return Err("gives a condition to a function"),
            }
        }
        let function = self.number(function);
        Ok(Symbol::Number(Linear::var(self.terms.apply(function, sums)), Kind::Other))
    }

    fn equal(&mut self, left: &Symbol, right: &Symbol) -> Result<Formula, Reason> {
        match (left, right) {
            (Symbol::Number(left, one), Symbol::Number(right, other)) => {
                if (*one == Kind::Rat) != (*other == Kind::Rat) {
                    return Err(MIXED);
                }
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
            ExprKind::Null => self.null()?,
            ExprKind::This => self.apply(Function::Word("this"), &[])?,
            ExprKind::Text(text) => self.apply(Function::Text(text.to_string()), &[])?,
            ExprKind::Slot(slot) => {
                way.slots.get(&slot.0).cloned().ok_or("uses a variable that is not set")?
            }
            ExprKind::Field(field) => way.fields[field.index()].clone(),
            ExprKind::Not(inner) => Symbol::Truth(self.truth(inner, way, done, depth)?.negated()),
            ExprKind::Negate(inner) => match self.value(inner, way, done, depth)? {
                Symbol::Number(sum, Kind::Int) => Symbol::Number(sum.times(-1).ok_or(TOO_LARGE)?, Kind::Int),
                other => self.apply(Function::Word("-"), &[other])?,
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
                self.apply(Function::Constructor(constructor.0), &arguments)?
            }
            ExprKind::Apply { function, arguments, closures } if closures.is_empty() => {
                let arguments = self.values(arguments, way, done, depth)?;
                if !is_total(self.model, *function) {
                    let defined = self.apply(Function::Defined(*function), &arguments)?;
                    let one = Symbol::Number(Linear::constant(1), Kind::Int);
                    let defined = self.equal(&defined, &one)?;
                    throws(way, defined, done);
                }
                self.apply(Function::Value(*function), &arguments)?
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
        let (a, b, kind) = match (&left, &right) {
            (Symbol::Number(a, Kind::Int), Symbol::Number(b, Kind::Int)) => (a, b, Kind::Int),
            (Symbol::Number(a, Kind::Rat), Symbol::Number(b, Kind::Rat)) if op != Binary::Multiply => {
                (a, b, Kind::Rat)
            }
            _ => {
                let sides = self.plain(vec![left, right])?;
                return self.opaque(op, sides[0].clone(), sides[1].clone());
            }
        };
        let at_most = |a: &Linear, b: &Linear| Formula::at_most(a, b).ok_or(TOO_LARGE);
        Ok(match op {
            Binary::Less => Symbol::Truth(at_most(b, a)?.negated()),
            Binary::LessEqual => Symbol::Truth(at_most(a, b)?),
            Binary::Greater => Symbol::Truth(at_most(a, b)?.negated()),
            Binary::GreaterEqual => Symbol::Truth(at_most(b, a)?),
            Binary::Add => Symbol::Number(a.plus(b).ok_or(TOO_LARGE)?, kind),
            Binary::Subtract => Symbol::Number(a.minus(b).ok_or(TOO_LARGE)?, kind),
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
        let value = self.apply(Function::Word(name), &[left, right])?;
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

/// A value that is not known, of the kind of a field.
fn alike(before: &Symbol, after: Symbol) -> Symbol {
    match (before, after) {
        (Symbol::Number(_, kind), Symbol::Number(sum, _)) => Symbol::Number(sum, *kind),
        (Symbol::Truth(_), Symbol::Number(sum, _)) => {
            Symbol::Truth(Formula::equal(&sum, &Linear::constant(1)).unwrap_or(Formula::False))
        }
        (_, after) => after,
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

fn assign(way: &mut Way, target: Option<Target>, value: Symbol) -> Result<(), Reason> {
    match target {
        Some(Target::Slot(slot)) => {
            way.slots.insert(slot.0, value);
        }
        Some(Target::Field(field)) => {
            let is_rat = |symbol: &Symbol| matches!(symbol, Symbol::Number(_, Kind::Rat));
            if is_rat(&way.fields[field.index()]) != is_rat(&value) {
                return Err(MIXED);
            }
            way.fields[field.index()] = value;
        }
        None => {}
    }
    Ok(())
}
