//! Random programs of steps that read and write conditionally, beside blind writes that nobody may ever read.
//!
//! What broke `optimal+observers` once was a step that reads a variable only where another one has some value, among writers
//! of both; programs that draw from all that the language has meet such steps too thinly. Here there is nothing else.

use mazurka_litmus::ast::*;

use crate::random::Random;
use crate::writer::{object, stmt};

const VARS: [&str; 4] = ["x", "y", "z", "w"];

/// A program of three or four processes with one to four steps each.
pub(crate) fn program(random: &mut Random) -> Ast {
    let vars = 2 + random.below(3);
    let declared = VARS[..vars].iter().map(|name| {
        let init = if random.one_in(4) { Init::All(Expr::number(7)) } else { Init::Zero };
        VarDecl { name: Name::new(*name), size: None, init }
    });
    let mut items = vec![Item::Var(declared.collect())];
    let processes = 3 + random.below(2);
    for name in ["p", "q", "r", "s"].into_iter().take(processes) {
        let mut writer = Conditional { vars, locals: 0 };
        let steps = 1 + random.below(if processes == 3 { 4 } else { 3 });
        let statements = (0..steps).flat_map(|_| writer.step(random)).collect();
        items.push(Item::Process(ProcessDecl {
            name: Name::new(name),
            family: None,
            body: Block { statements },
        }));
    }
    Ast { items }
}

struct Conditional {
    vars: usize,
    locals: usize,
}

impl Conditional {
    fn var(&self, random: &mut Random) -> &'static str {
        VARS[random.below(self.vars)]
    }

    fn constant(&self, random: &mut Random) -> Expr {
        Expr::number(random.below(3) as i64)
    }

    fn step(&mut self, random: &mut Random) -> Vec<Stmt> {
        match random.below(10) {
            0..=3 => vec![self.assign(random)],
            4 | 5 => vec![self.read(random)],
            6 => {
                let statements = vec![self.assign(random), self.assign(random)];
                vec![stmt(StmtKind::Atomic(Block { statements }))]
            }
            7 if random.one_in(3) => {
                let statements = vec![stmt(StmtKind::Await(self.condition(random))), self.branch(random)];
                vec![stmt(StmtKind::Atomic(Block { statements }))]
            }
            _ => self.block(random),
        }
    }

    fn assign(&self, random: &mut Random) -> Stmt {
        let target = object(self.var(random));
        stmt(StmtKind::Assign { target, op: AssignOp::Set, value: self.constant(random) })
    }

    fn read(&mut self, random: &mut Random) -> Stmt {
        self.locals += 1;
        let name = Name::new(format!("v{}", self.locals));
        stmt(StmtKind::Let { name, value: Expr::name(self.var(random)) })
    }

    fn condition(&self, random: &mut Random) -> Expr {
        let op = if random.one_in(2) { BinaryOp::Eq } else { BinaryOp::Ne };
        Expr::binary(op, Expr::name(self.var(random)), self.constant(random))
    }

    /// `let v = 9; atomic { if y != 1 { v = x; } z = v; }`, or a part of it.
    fn block(&mut self, random: &mut Random) -> Vec<Stmt> {
        self.locals += 1;
        let local = format!("v{}", self.locals);
        let mut statements = vec![self.conditional(random, &local, 0)];
        if random.one_in(3) {
            statements.push(self.branch(random));
        }
        if !random.one_in(3) {
            let target = object(self.var(random));
            let value = Expr::name(&local);
            statements.push(stmt(StmtKind::Assign { target, op: AssignOp::Set, value }));
        }
        let start = stmt(StmtKind::Let { name: Name::new(local), value: Expr::number(9) });
        vec![start, stmt(StmtKind::Atomic(Block { statements }))]
    }

    /// `if y != 1 { v = x; }`, perhaps with another condition within.
    fn conditional(&self, random: &mut Random, local: &str, depth: usize) -> Stmt {
        let inner = match random.below(4) {
            0 if depth < 1 => self.conditional(random, local, depth + 1),
            _ => {
                let value = Expr::name(self.var(random));
                stmt(StmtKind::Assign { target: object(local), op: AssignOp::Set, value })
            }
        };
        let arms = vec![(self.condition(random), Block { statements: vec![inner] })];
        stmt(StmtKind::If { arms, otherwise: None })
    }

    /// `if z == 0 { y = 1; }`
    fn branch(&self, random: &mut Random) -> Stmt {
        let arms = vec![(self.condition(random), Block { statements: vec![self.assign(random)] })];
        stmt(StmtKind::If { arms, otherwise: None })
    }
}
