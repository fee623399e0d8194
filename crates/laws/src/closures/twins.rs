//! What Rust has and the language has not, written in the language: reader-writer locks and the parking of threads.
//!
//! An operation of the library that is one step is written as an atomic block that is one step, over a variable whose
//! name tells what it stands for. The oracle judges the block, the closure does the operation:
//!
//! | operation | twin |
//! |---|---|
//! | `read()` | `atomic { await rw_m >= 0; rw_m += 1; }` |
//! | `write()` | `atomic { await rw_m == 0; rw_m = -1; }` |
//! | `try_read()`, `try_write()` | `atomic { let r = rw_m >= 0; rw_m += r; }`, `atomic { let r = rw_m == 0; rw_m -= r; }` |
//! | drop of a guard | `rw_m -= 1;`, `rw_m = 0;` |
//! | `park()` | `atomic { await tok_p == 1; tok_p = 0; }`, in process `p` |
//! | `unpark()` | `tok_p = 1;` |

use mazurka_litmus::ast::*;

use crate::random::Random;
use crate::visit;
use crate::writer::{object, stmt};

const RW: &str = "rw_";
pub(super) const TOKEN: &str = "tok_";

/// Whether a variable of this name is the twin of something.
pub(super) fn stands_for_another(name: &str) -> bool {
    name.starts_with(RW) || name.starts_with(TOKEN)
}

/// Puts some of these into a rewritten program.
pub(super) fn add(ast: &mut Ast, random: &mut Random) {
    if random.one_in(3) {
        share_locks(ast, random);
    }
    if random.one_in(4) {
        park(ast, random);
    }
}

fn is_number(expr: &Expr, number: i64) -> bool {
    match &expr.kind {
        ExprKind::Number(value) => *value == number,
        ExprKind::Unary(UnaryOp::Neg, inner) => {
            matches!(inner.kind, ExprKind::Number(value) if -value == number)
        }
        _ => false,
    }
}

/// What a statement is the twin of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Twin {
    Read,
    Write,
    TryRead(Name),
    TryWrite(Name),
    DropRead,
    DropWrite,
    Park,
    Unpark,
}

impl Twin {
    /// The twin that a statement is, with the variable that it is about.
    pub fn of(kind: &StmtKind) -> Option<(&str, Twin)> {
        match kind {
            StmtKind::Assign { target, op, value } if target.index.is_none() => {
                let name = target.name.text.as_str();
                let twin = match op {
                    AssignOp::Sub if name.starts_with(RW) && is_number(value, 1) => Twin::DropRead,
                    AssignOp::Set if name.starts_with(RW) && is_number(value, 0) => Twin::DropWrite,
                    AssignOp::Set if name.starts_with(TOKEN) && is_number(value, 1) => Twin::Unpark,
                    _ => return None,
                };
                Some((name, twin))
            }
            StmtKind::Atomic(block) => match &block.statements[..] {
                [first, Stmt { kind: StmtKind::Assign { target, op, value }, .. }] => {
                    Twin::of_block(&first.kind, target, *op, value)
                }
                _ => None,
            },
            _ => None,
        }
    }

    fn of_block<'a>(
        first: &StmtKind,
        target: &'a Target,
        op: AssignOp,
        value: &Expr,
    ) -> Option<(&'a str, Twin)> {
        let name = target.name.text.as_str();
        let (condition, dest) = match first {
            StmtKind::Await(condition) => (condition, None),
            StmtKind::Let { name, value } => (value, Some(name)),
            _ => return None,
        };
        let ExprKind::Binary(compare, left, right) = &condition.kind else { return None };
        if !matches!(&left.kind, ExprKind::Name(read) if read.text == name) {
            return None;
        }
        let is_dest = |dest: &Name| matches!(&value.kind, ExprKind::Name(name) if name == dest);
        let twin = match (compare, op, dest) {
            (BinaryOp::Ge, AssignOp::Add, None) if is_number(right, 0) && is_number(value, 1) => Twin::Read,
            (BinaryOp::Eq, AssignOp::Set, None) if is_number(right, 0) && is_number(value, -1) => Twin::Write,
            (BinaryOp::Ge, AssignOp::Add, Some(dest)) if is_number(right, 0) && is_dest(dest) => {
                Twin::TryRead(dest.clone())
            }
            (BinaryOp::Eq, AssignOp::Sub, Some(dest)) if is_number(right, 0) && is_dest(dest) => {
                Twin::TryWrite(dest.clone())
            }
            (BinaryOp::Eq, AssignOp::Set, None) if is_number(right, 1) && is_number(value, 0) => Twin::Park,
            _ => return None,
        };
        let prefix = if twin == Twin::Park { TOKEN } else { RW };
        name.starts_with(prefix).then_some((name, twin))
    }

    fn written(&self, name: &str) -> Stmt {
        let compare = |op, number| Expr::binary(op, Expr::name(name), Expr::number(number));
        let assign = |op, value| stmt(StmtKind::Assign { target: object(name), op, value });
        let block = |first, op, value| {
            stmt(StmtKind::Atomic(Block { statements: vec![stmt(first), assign(op, value)] }))
        };
        let bind = |dest: &Name, value| StmtKind::Let { name: dest.clone(), value };
        match self {
            Twin::Read => block(StmtKind::Await(compare(BinaryOp::Ge, 0)), AssignOp::Add, Expr::number(1)),
            Twin::Write => block(StmtKind::Await(compare(BinaryOp::Eq, 0)), AssignOp::Set, Expr::number(-1)),
            Twin::TryRead(dest) => {
                block(bind(dest, compare(BinaryOp::Ge, 0)), AssignOp::Add, Expr::name(&dest.text))
            }
            Twin::TryWrite(dest) => {
                block(bind(dest, compare(BinaryOp::Eq, 0)), AssignOp::Sub, Expr::name(&dest.text))
            }
            Twin::DropRead => assign(AssignOp::Sub, Expr::number(1)),
            Twin::DropWrite => assign(AssignOp::Set, Expr::number(0)),
            Twin::Park => block(StmtKind::Await(compare(BinaryOp::Eq, 1)), AssignOp::Set, Expr::number(0)),
            Twin::Unpark => assign(AssignOp::Set, Expr::number(1)),
        }
    }
}

fn declare(ast: &mut Ast, name: &str) {
    let var = VarDecl { name: Name::new(name), size: None, init: Init::Zero };
    ast.items.insert(0, Item::Var(vec![var]));
}

/// Makes reader-writer locks of locks that no condition variable is used with.
fn share_locks(ast: &mut Ast, random: &mut Random) {
    let mut locks: Vec<String> = Vec::new();
    for item in &ast.items {
        if let Item::Lock(objects) = item {
            let single = objects.iter().filter(|object| object.size.is_none());
            locks.extend(single.map(|object| object.name.text.clone()));
        }
    }
    visit::statements(ast, &mut |statement| {
        if let StmtKind::Wait { lock, .. } = &statement.kind {
            locks.retain(|name| *name != lock.name.text);
        }
    });
    for lock in locks {
        for item in &mut ast.items {
            if let Item::Lock(objects) = item {
                objects.retain(|object| object.name.text != lock);
            }
        }
        ast.items.retain(|item| !matches!(item, Item::Lock(objects) if objects.is_empty()));
        declare(ast, &format!("{RW}{lock}"));
        visit::blocks(ast, &mut |block| share_lock(block, &lock, random));
    }
}

/// Turns the statements of a lock in a block, with the local variable that says whether it is held: 1 reads, 2 writes.
fn share_lock(block: &mut Block, lock: &str, random: &mut Random) {
    let (shared, held) = (format!("{RW}{lock}"), format!("held_{lock}"));
    let mut statements: Vec<Stmt> = Vec::new();
    let mut old = std::mem::take(&mut block.statements).into_iter();
    let mark = |mode: i64| stmt(StmtKind::Let { name: Name::new(&held), value: Expr::number(mode) });
    let given_back = |twin: Twin| Block { statements: vec![twin.written(&shared), mark(0)] };
    while let Some(statement) = old.next() {
        let writes = random.one_in(2);
        match &statement.kind {
            StmtKind::Lock(target) if target.name.text == lock => {
                statements.push(if writes { Twin::Write } else { Twin::Read }.written(&shared));
                // The mark comes after it.
                old.next();
                statements.push(mark(1 + i64::from(writes)));
            }
            StmtKind::TryLock { dest: Dest::Let(dest) | Dest::Local(dest), lock: target }
                if target.name.text == lock =>
            {
                let twin = if writes { Twin::TryWrite(dest.clone()) } else { Twin::TryRead(dest.clone()) };
                statements.push(twin.written(&shared));
                old.next();
                let body = Block { statements: vec![mark(1 + i64::from(writes))] };
                let arms = vec![(Expr::name(&dest.text), body)];
                statements.push(stmt(StmtKind::If { arms, otherwise: None }));
            }
            StmtKind::If { arms, .. } if matches!(&arms[0].0.kind, ExprKind::Name(name) if name.text == held) =>
            {
                let mode = |mode| Expr::binary(BinaryOp::Eq, Expr::name(&held), Expr::number(mode));
                let written = vec![(mode(2), given_back(Twin::DropWrite))];
                let inner = stmt(StmtKind::If { arms: written, otherwise: None });
                let otherwise = Some(Block { statements: vec![inner] });
                let arms = vec![(mode(1), given_back(Twin::DropRead))];
                statements.push(stmt(StmtKind::If { arms, otherwise }));
            }
            _ => statements.push(statement),
        }
    }
    block.statements = statements;
}

/// Lets a process park, and itself or a later one unpark it.
fn park(ast: &mut Ast, random: &mut Random) {
    let single = |item: &Item| matches!(item, Item::Process(process) if process.family.is_none());
    let places: Vec<usize> = (0..ast.items.len()).filter(|&k| single(&ast.items[k])).collect();
    // The last one may be the thread that makes the others, which nobody knows.
    let Some((&last, earlier)) = places.split_last() else { return };
    let Some(&parker) = random.pick(earlier) else { return };
    let Item::Process(process) = &ast.items[parker] else { return };
    let token = format!("{TOKEN}{}", process.name.text);
    for _ in 0..1 + random.below(2) {
        let later: Vec<usize> = places.iter().copied().filter(|&place| place >= parker).collect();
        let at = if random.one_in(6) { parker } else { *random.pick(&later).unwrap_or(&last) };
        insert(&mut ast.items[at], Twin::Unpark.written(&token), random);
    }
    for _ in 0..1 + usize::from(random.one_in(3)) {
        insert(&mut ast.items[parker], Twin::Park.written(&token), random);
    }
    declare(ast, &token);
}

fn insert(item: &mut Item, statement: Stmt, random: &mut Random) {
    if let Item::Process(process) = item {
        let at = random.below(process.body.statements.len() + 1);
        process.body.statements.insert(at, statement);
    }
}
