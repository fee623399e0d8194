//! What numbers can occur: shared variables, each with the least and the greatest value it can have in any
//! state.
//!
//! The numbers of the language are of 64 bits, and what does not fit is a failure; constraints know nothing
//! of that. Where every number that two steps compute fits whatever the state, they are about the same thing.
//!
//! The program is run on intervals, all lines at once, as many rounds as there can be steps: after that many
//! every state is covered. A program that may take any number of steps is covered only if the intervals come
//! to rest before.

use mazurka_smt::{Formula, Linear, Var};

use crate::ast::BinaryOp;
use crate::code::{ComponentCode, Image, Instr, Lvalue, NONE, Node, NodeId, Op, Tree};

/// How many rounds are run at most.
const MOST_ROUNDS: u64 = 20_000;
/// Beyond this nothing is known.
const WIDEST: i128 = 1 << 70;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Interval(i128, i128);

impl Interval {
    const NOTHING: Interval = Interval(i128::MAX, i128::MIN);
    const TRUTH: Interval = Interval(0, 1);

    fn is_nothing(self) -> bool {
        self.0 > self.1
    }

    fn join(self, other: Interval) -> Interval {
        Interval(self.0.min(other.0), self.1.max(other.1))
    }

    fn clamp(self) -> Interval {
        if self.is_nothing() { self } else { Interval(self.0.max(-WIDEST), self.1.min(WIDEST)) }
    }

    /// What comes of an operator whose results are greatest and least at the ends.
    fn with(self, other: Interval, op: impl Fn(i128, i128) -> i128) -> Interval {
        if self.is_nothing() || other.is_nothing() {
            return Interval::NOTHING;
        }
        let ends = [op(self.0, other.0), op(self.0, other.1), op(self.1, other.0), op(self.1, other.1)];
        let one = |end: &i128| Interval(*end, *end);
        ends.iter().map(one).fold(Interval::NOTHING, Interval::join).clamp()
    }
}

/// The values that shared variables can have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ranges {
    vars: Vec<Interval>,
    known: bool,
}

impl Ranges {
    pub fn find(image: &Image) -> Ranges {
        let mut rounds = Rounds::new(image);
        let most = steps(image).unwrap_or(MOST_ROUNDS + 1);
        let mut known = false;
        for round in 0..=most.min(MOST_ROUNDS) {
            if !rounds.round() {
                known = true;
                break;
            }
            known = round == most;
        }
        Ranges { vars: rounds.vars, known }
    }

    /// Whether a sum of shared cells is of 64 bits in every state.
    pub fn fits(&self, image: &Image, sum: &Linear) -> bool {
        let mut range = Interval(sum.offset(), sum.offset()).clamp();
        for &(var, by) in sum.terms() {
            if !self.known || var.0 >= image.var_cells || by.unsigned_abs() > 1 << 40 {
                return false;
            }
            let values = self.vars[image.var_of(var.0) as usize];
            let part = values.with(Interval(by, by), |a, b| a * b);
            range = range.with(part, |a, b| a + b);
        }
        range.0 >= i128::from(i64::MIN) && range.1 <= i128::from(i64::MAX)
    }
}

/// What is so in every state.
impl Ranges {
    /// That each shared variable of a formula holds what it can hold.
    pub fn invariant(&self, image: &Image, formula: &Formula) -> Formula {
        let within = |var: Var| {
            let Interval(least, greatest) = self.of_cell(image, var)?;
            let (cell, number) = (Linear::var(var), Linear::constant);
            let above = Formula::at_most(&number(least), &cell)?;
            Some(Formula::and([above, Formula::at_most(&cell, &number(greatest))?]))
        };
        Formula::and(formula.vars().into_iter().filter_map(within))
    }

    /// None if nothing is known of a cell.
    fn of_cell(&self, image: &Image, var: Var) -> Option<Interval> {
        let known = self.known && var.0 < image.var_cells;
        let range = known.then(|| self.vars[image.var_of(var.0) as usize])?;
        let is_finite = range.0 > -WIDEST && range.1 < WIDEST;
        (is_finite && !range.is_nothing()).then_some(range)
    }
}

/// How many lines are run at most, on all processes together; none if there is no bound to be seen.
fn steps(image: &Image) -> Option<u64> {
    let mut total = 0u64;
    for &decl in &image.roots {
        total = total.checked_add(body_steps(image, image.families[decl as usize].body, 0)?)?;
    }
    Some(total)
}

fn body_steps(image: &Image, body: u32, depth: usize) -> Option<u64> {
    if depth > image.bodies.len() {
        return None;
    }
    let code = &image.bodies[body as usize];
    let (mut total, mut pc) = (0u64, code.entry);
    // Each line as often as the loops around it go round.
    let mut loops: Vec<(u32, u64)> = Vec::new();
    while pc <= code.end {
        loops.retain(|&(end, _)| pc < end);
        let times = loops.iter().try_fold(1u64, |times, &(_, by)| times.checked_mul(by))?;
        let line = &image.lines[pc as usize];
        if line.in_while {
            return None;
        }
        let mut once = 1;
        match line.instr {
            Instr::Spawn(spawn) => once += body_steps(image, image.spawns[spawn as usize].body, depth + 1)?,
            Instr::ForNext { code, exit } => {
                let code = image.fors[code as usize];
                let (Node::Const(from), Node::Const(to)) =
                    (image.nodes[code.from as usize], image.nodes[code.to as usize])
                else {
                    return None;
                };
                loops.push((exit, (to.checked_sub(from)?.max(0) as u64).checked_add(2)?));
            }
            Instr::Atomic(atomic) => {
                let mut within = 0;
                let mut looping = false;
                Tree::each(&image.atomics[atomic as usize].body, &mut |tree| {
                    within += 1;
                    looping |= matches!(tree, Tree::For { .. });
                });
                if looping {
                    return None;
                }
                once += within;
            }
            _ => {}
        }
        total = total.checked_add(times.checked_mul(once)?)?;
        pc += 1;
    }
    Some(total)
}

/// Intervals that grow from round to round.
struct Rounds<'a> {
    image: &'a Image,
    vars: Vec<Interval>,
    /// By body and slot.
    locals: Vec<Vec<Interval>>,
    messages: Interval,
    /// What they become in this round.
    next: (Vec<Interval>, Vec<Vec<Interval>>, Interval),
}

impl Rounds<'_> {
    fn new(image: &Image) -> Rounds<'_> {
        let cells = |first: u32, len: u32| &image.initial[first as usize..(first + len) as usize];
        let one = |&value: &i64| Interval(value.into(), value.into());
        let vars = image
            .vars
            .iter()
            .map(|var| cells(var.base, var.len).iter().map(one).fold(Interval::NOTHING, Interval::join));
        let vars: Vec<Interval> = vars.collect();
        // A local holds 0 until it is assigned, -1 if it is to hold a handle.
        let mut locals: Vec<Vec<Interval>> =
            image.bodies.iter().map(|body| vec![Interval(-1, 0); body.locals.len()]).collect();
        for family in image.families.iter().filter(|family| family.family) {
            let last = i128::from(family.from) + i128::from(family.len);
            if let Some(index) = locals[family.body as usize].first_mut() {
                *index = index.join(Interval(family.from.into(), last));
            }
        }
        let messages = Interval::NOTHING;
        let next = (vars.clone(), locals.clone(), messages);
        Rounds { image, vars, locals, messages, next }
    }

    /// Runs every line once; says whether that is news.
    fn round(&mut self) -> bool {
        let image = self.image;
        for (at, body) in image.bodies.iter().enumerate() {
            for pc in body.entry..=body.end {
                self.instr(at, &image.lines[pc as usize].instr);
            }
        }
        let news = (&self.vars, &self.locals, &self.messages) != (&self.next.0, &self.next.1, &self.next.2);
        (self.vars, self.locals, self.messages) = self.next.clone();
        news
    }

    fn instr(&mut self, body: usize, instr: &Instr) {
        let image = self.image;
        match *instr {
            Instr::Op(op) => self.op(body, op),
            Instr::Atomic(atomic) => self.trees(body, &image.atomics[atomic as usize].body),
            Instr::ForStart(code) => {
                let code = image.fors[code as usize];
                let range = self.counted(body, code.from, code.to);
                for slot in [code.slot, code.next, code.left] {
                    self.set_local(body, slot, range);
                }
            }
            Instr::Spawn(spawn) => {
                let code = &image.spawns[spawn as usize];
                for (slot, &argument) in code.args.iter().enumerate() {
                    let value = self.value(body, argument);
                    self.set_local(code.body as usize, slot as u32, value);
                }
            }
            Instr::Receive(receive) => {
                let components = image.receives[receive as usize].arms.iter().flat_map(|arm| &arm.components);
                for component in components.flatten() {
                    if let ComponentCode::Bind(slot) = *component {
                        self.set_local(body, slot, self.messages);
                    }
                }
            }
            Instr::Choose { dest, .. } => self.set_local(body, dest, Interval(0, 1000)),
            Instr::TryLock { dest, .. } => self.set_local(body, dest, Interval::TRUTH),
            _ => {}
        }
    }

    /// What the index and the counters of a loop can be: the number of rounds too.
    fn counted(&self, body: usize, from: NodeId, to: NodeId) -> Interval {
        let (from, to) = (self.value(body, from), self.value(body, to));
        let rounds = to.with(from, |to, from| to - from + 1);
        let one = Interval(1, 1);
        from.join(to).join(rounds).join(to.with(one, |a, b| a + b)).join(Interval(0, 0))
    }

    fn trees(&mut self, body: usize, trees: &[Tree]) {
        Tree::each(trees, &mut |tree| match tree {
            Tree::Op(op) => self.op(body, *op),
            Tree::For { slot, from, to, .. } => {
                let range = self.counted(body, *from, *to);
                self.set_local(body, *slot, range);
            }
            _ => {}
        });
    }

    fn op(&mut self, body: usize, op: Op) {
        match op {
            Op::Local { slot, value } => self.set_local(body, slot, self.value(body, value)),
            Op::Store { to, value } => self.set_var(to, self.value(body, value)),
            Op::Change { dest, to, op, by } => {
                let old = self.vars[to.var as usize];
                let by = self.value(body, by);
                self.set_var(to, binary(op, old, by));
                self.set_local(body, dest, old);
            }
            Op::Swap { dest, to, value } => {
                self.set_local(body, dest, self.vars[to.var as usize]);
                self.set_var(to, self.value(body, value));
            }
            Op::Cas { dest, to, new, .. } => {
                self.set_var(to, self.value(body, new));
                self.set_local(body, dest, Interval::TRUTH);
            }
            Op::Send(send) => {
                for &part in &self.image.sends[send as usize].message {
                    self.next.2 = self.next.2.join(self.value(body, part));
                }
            }
            Op::Assert(_) | Op::Assume(_) | Op::Skip => {}
        }
    }

    fn set_local(&mut self, body: usize, slot: u32, value: Interval) {
        if slot != NONE
            && let Some(local) = self.next.1[body].get_mut(slot as usize)
        {
            *local = local.join(value).clamp();
        }
    }

    fn set_var(&mut self, to: Lvalue, value: Interval) {
        let var = &mut self.next.0[to.var as usize];
        *var = var.join(value).clamp();
    }

    fn value(&self, body: usize, node: NodeId) -> Interval {
        match self.image.nodes[node as usize] {
            Node::Const(value) => Interval(value.into(), value.into()),
            Node::Local(slot) => self.locals[body][slot as usize],
            Node::Var(cell) => self.vars[self.image.var_of(cell) as usize],
            Node::Cell { var, .. } => self.vars[var as usize],
            Node::Neg(a) => Interval(0, 0).with(self.value(body, a), |a, b| a - b),
            Node::Not(_) | Node::And(..) | Node::Or(..) => Interval::TRUTH,
            Node::Binary(op, a, b) => binary(op, self.value(body, a), self.value(body, b)),
        }
    }
}

fn binary(op: BinaryOp, a: Interval, b: Interval) -> Interval {
    match op {
        BinaryOp::Add => a.with(b, |a, b| a + b),
        BinaryOp::Sub => a.with(b, |a, b| a - b),
        BinaryOp::Mul => a.with(b, |a, b| a.saturating_mul(b)),
        // No greater than what is divided, whatever its sign.
        BinaryOp::Div | BinaryOp::Rem => a.join(a.with(Interval(-1, -1), |a, b| a * b)).join(Interval(0, 0)),
        _ => Interval::TRUTH,
    }
}
