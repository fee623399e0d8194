//! Mutants: programs made by changing known ones a little.
//!
//! Undirected random programs are not enough. A wrong repair of a published algorithm survived 236,789 of
//! them and fell to mutants of known counterexamples within minutes.

use mazurka_litmus::ast::*;

use crate::generate::{Features, KINDS, target};
use crate::random::Random;
use crate::visit;
use crate::writer::{Body, Writer, declaration, statements, stmt};

/// A mutant of `base`. Parts of `other` may be put into it. It need not compile.
pub fn mutant(base: &Ast, other: &Ast, random: &mut Random) -> Ast {
    let mut ast = base.clone();
    for _ in 0..1 + random.below(4) {
        mutate(&mut ast, other, random);
    }
    ast
}

fn mutate(ast: &mut Ast, other: &Ast, random: &mut Random) {
    match random.below(23) {
        0 => edit_block(ast, random, |block, at, _| {
            block.statements.remove(at);
        }),
        1 => {
            edit_block(ast, random, |block, at, _| block.statements.insert(at, block.statements[at].clone()))
        }
        2 | 3 => insert_random(ast, random, false),
        4 => insert_random(ast, random, true),
        5 => edit_block(ast, random, |block, at, random| {
            let with = random.below(block.statements.len());
            block.statements.swap(at, with);
        }),
        6 => move_statement(ast, random),
        7 | 8 => change_number(ast, random),
        9 => rename_read(ast, random),
        10 => rename_target(ast, random),
        11 => edit_block(ast, random, |block, at, random| {
            let end = (at + 1 + random.below(2)).min(block.statements.len());
            let statements = block.statements.splice(at..end, []).collect();
            block.statements.insert(at, stmt(StmtKind::Atomic { name: None, body: Block { statements } }));
        }),
        12 => edit_block(ast, random, |block, at, _| unwrap(block, at)),
        13 => copy_process(ast, random),
        14 | 15 => splice(ast, other, random),
        16 | 17 => edit_block(ast, random, |block, at, random| {
            relative(&mut block.statements[at].kind, random);
        }),
        18 => wrap(ast, random),
        19 => change_operator(ast, random),
        20 => make_family(ast, random),
        21 => drop_process(ast, random),
        _ => visit::shuffle_processes(ast, random),
    }
}

/// Calls `edit` with a block and the place of a statement in it, drawn evenly among all statements.
fn edit_block(ast: &mut Ast, random: &mut Random, edit: impl FnOnce(&mut Block, usize, &mut Random)) {
    let mut count = 0;
    visit::blocks(ast, &mut |block| count += block.statements.len());
    if count > 0 {
        let n = random.below(count);
        visit::nth_statement(ast, n, |block, at| edit(block, at, random));
    }
}

/// What a program declares, for statements to be written into it.
fn features_of(ast: &Ast) -> Features {
    let mut features = Features { weights: vec![1; KINDS], ..Features::default() };
    for item in &ast.items {
        match item {
            Item::Var(vars) => {
                for var in vars {
                    let list = if var.size.is_none() { &mut features.vars } else { &mut features.arrays };
                    list.push(var.name.text.clone());
                }
            }
            Item::Lock(locks) => features.locks.extend(members(locks)),
            Item::Condvar(condvars) => features.condvars.extend(members(condvars)),
            Item::Process(p) => features.processes.push((p.name.text.clone(), p.family.is_some())),
            Item::Task(t) => features.tasks.push((t.name.text.clone(), t.params.len())),
            _ => {}
        }
    }
    features
}

/// Single objects, and the first two members of arrays.
fn members(objects: &[ObjectDecl]) -> impl Iterator<Item = Target> + '_ {
    objects.iter().flat_map(|declared| single_or_two(&declared.name.text, declared.size.is_some()))
}

fn single_or_two(name: &str, several: bool) -> Vec<Target> {
    match several {
        false => vec![target(name, None)],
        true => vec![target(name, Some(0)), target(name, Some(1))],
    }
}

/// The variables that the program has and some that it may get: a mutant of a program of two variables may
/// need a third.
fn declare_missing(ast: &mut Ast, random: &mut Random) -> Features {
    let features = features_of(ast);
    let mut declare = |text: &str| ast.items.insert(0, declaration(text));
    if features.vars.is_empty() || (features.vars.len() < 3 && random.one_in(8)) {
        let name = ["x9", "y9", "z9"].into_iter().find(|&n| !features.vars.iter().any(|v| v == n));
        declare(&format!("var {};", name.unwrap_or("w9")));
    }
    if features.locks.is_empty() && random.one_in(4) {
        declare("lock m9;");
    } else if features.condvars.is_empty() && !features.locks.is_empty() && random.one_in(6) {
        declare("condvar c9;");
    }
    features_of(ast)
}

fn insert_random(ast: &mut Ast, random: &mut Random, replace: bool) {
    let features = declare_missing(ast, random);
    let mut locals = Vec::new();
    visit::statements(ast, &mut |statement| {
        if let StmtKind::Let { name, .. } = &statement.kind {
            locals.push(name.text.clone());
        }
    });
    let process = random.below(features.processes.len().max(1));
    let mut writer = Writer::new(&features, random, Body::Process(process));
    writer.locals = locals;
    let new = statements(&writer.statement(0));
    edit_block(ast, random, |block, at, random| {
        let end = if replace { at + 1 } else { at };
        let start = at + random.below(2).min(end - at);
        block.statements.splice(start.min(end)..end, new);
    });
}

fn move_statement(ast: &mut Ast, random: &mut Random) {
    let mut taken = None;
    edit_block(ast, random, |block, at, _| taken = Some(block.statements.remove(at)));
    let Some(statement) = taken else { return };
    edit_block(ast, random, |block, at, _| block.statements.insert(at, statement));
}

fn change_number(ast: &mut Ast, random: &mut Random) {
    let is_number = |e: &Expr| matches!(e.kind, ExprKind::Number(_));
    change_expression(ast, random, is_number, |e, random| *e = Expr::number(random.below(3) as i64));
}

fn rename_read(ast: &mut Ast, random: &mut Random) {
    let vars = features_of(ast).vars;
    let is_var = |e: &Expr| matches!(&e.kind, ExprKind::Name(name) if vars.contains(&name.text));
    change_expression(ast, random, is_var, |e, random| {
        if let Some(var) = random.pick(&vars) {
            *e = Expr::name(var);
        }
    });
}

/// Changes an expression, drawn evenly among some.
fn change_expression(
    ast: &mut Ast,
    random: &mut Random,
    which: impl Fn(&Expr) -> bool,
    change: impl FnOnce(&mut Expr, &mut Random),
) {
    let mut count = 0;
    visit::expressions(ast, &mut |e| count += usize::from(which(e)));
    let n = random.below(count);
    visit::nth_expression(ast, n, which, |e| change(e, random));
}

fn rename_target(ast: &mut Ast, random: &mut Random) {
    let features = features_of(ast);
    edit_block(ast, random, |block, at, random| {
        let Some(target) = visit::target(&mut block.statements[at].kind) else { return };
        let vars: Vec<Target> = features.vars.iter().flat_map(|name| single_or_two(name, false)).collect();
        let processes = features.processes.iter();
        let processes: Vec<Target> =
            processes.flat_map(|(name, family)| single_or_two(name, *family)).collect();
        for targets in [&vars, &features.locks, &features.condvars, &processes] {
            if targets.iter().any(|known| known.name == target.name) {
                *target = random.pick(targets).expect("it has that one").clone();
                return;
            }
        }
    });
}

/// Makes a statement into one that is like it but for what waits, what is notified, what is tried.
fn relative(kind: &mut StmtKind, random: &mut Random) {
    let name = || Name::new("w9");
    let new = match kind.clone() {
        StmtKind::NotifyOne(c) => StmtKind::NotifyAll(c),
        StmtKind::NotifyAll(c) => StmtKind::NotifyOne(c),
        StmtKind::Lock(lock) => StmtKind::TryLock { dest: Dest::Let(name()), lock },
        StmtKind::TryLock { lock, .. } => StmtKind::Lock(lock),
        StmtKind::Await(e) => StmtKind::Assume(e),
        StmtKind::Assume(e) => match random.one_in(2) {
            true => StmtKind::Await(e),
            false => StmtKind::Assert { condition: e, message: None },
        },
        StmtKind::Assert { condition, .. } => StmtKind::Await(condition),
        StmtKind::Receive { arms, timeout: None } => {
            StmtKind::Receive { arms, timeout: Some(Block::default()) }
        }
        StmtKind::Receive { arms, .. } => StmtKind::Receive { arms, timeout: None },
        StmtKind::Assign { target, op: AssignOp::Set, value } => match random.below(3) {
            0 => StmtKind::Assign { target, op: AssignOp::Add, value },
            1 => StmtKind::Swap { dest: Dest::Let(name()), target, value },
            _ => StmtKind::Cas { dest: Dest::Let(name()), target, old: Expr::number(0), new: value },
        },
        StmtKind::Assign { target, value, .. } => StmtKind::Assign { target, op: AssignOp::Set, value },
        StmtKind::FetchAdd { target, value, .. }
        | StmtKind::Swap { target, value, .. }
        | StmtKind::Cas { target, new: value, .. } => StmtKind::Assign { target, op: AssignOp::Set, value },
        StmtKind::If { mut arms, .. } if arms.len() == 1 => {
            let (condition, mut body) = arms.remove(0);
            body.statements.push(stmt(StmtKind::Break));
            StmtKind::While { condition, body }
        }
        StmtKind::While { condition, body } => {
            StmtKind::If { arms: vec![(condition, body)], otherwise: None }
        }
        _ => return,
    };
    *kind = new;
}

/// Puts a statement under a condition or into a loop.
fn wrap(ast: &mut Ast, random: &mut Random) {
    let vars = features_of(ast).vars;
    edit_block(ast, random, |block, at, random| {
        let statement = block.statements.remove(at);
        let head = match random.pick(&vars) {
            Some(var) if random.one_in(2) => format!("if {var} == {}", random.below(2)),
            _ => "for k9 in 0..2".to_owned(),
        };
        let mut wrapped = statements(&format!("{head} {{}}"));
        visit::inner_blocks(&mut wrapped[0].kind)[0].statements.push(statement);
        block.statements.splice(at..at, wrapped);
    });
}

fn change_operator(ast: &mut Ast, random: &mut Random) {
    use BinaryOp::{Add, And, Eq, Ge, Gt, Le, Lt, Ne, Or, Sub};
    let families: [&[BinaryOp]; 3] = [&[Eq, Ne, Lt, Le, Gt, Ge], &[And, Or], &[Add, Sub]];
    let kin = |op: &BinaryOp| families.into_iter().find(|family| family.contains(op));
    let which = |e: &Expr| matches!(&e.kind, ExprKind::Binary(op, ..) if kin(op).is_some());
    change_expression(ast, random, which, |e, random| {
        if let ExprKind::Binary(op, ..) = &mut e.kind
            && let Some(&new) = kin(op).and_then(|family| random.pick(family))
        {
            *op = new;
        }
    });
}

/// Two of a process in place of one.
fn make_family(ast: &mut Ast, random: &mut Random) {
    let processes = visit::processes(ast);
    if let Some(&at) = random.pick(&processes)
        && let Item::Process(process) = &mut ast.items[at]
        && process.family.is_none()
    {
        let range = Range { from: Expr::number(0), to: Expr::number(2), inclusive: false };
        process.family = Some((Name::new("i9"), range));
    }
}

fn drop_process(ast: &mut Ast, random: &mut Random) {
    let processes = visit::processes(ast);
    if processes.len() > 2 {
        ast.items.remove(processes[random.below(processes.len())]);
    }
}

/// A block in place of the statement that it belongs to.
fn unwrap(block: &mut Block, at: usize) {
    let mut statement = block.statements.remove(at);
    let inner = visit::inner_blocks(&mut statement.kind).into_iter().next().map(std::mem::take);
    block.statements.splice(at..at, inner.unwrap_or_default().statements);
}

fn copy_process(ast: &mut Ast, random: &mut Random) {
    let processes = visit::processes(ast);
    let Some(&from) = random.pick(&processes) else { return };
    if processes.len() < 4 {
        let mut copy = ast.items[from].clone();
        if let Item::Process(process) = &mut copy {
            process.name = Name::new(format!("{}{}", process.name.text, processes.len()));
        }
        ast.items.push(copy);
    }
}

/// Puts a statement of another program into this one.
fn splice(ast: &mut Ast, other: &Ast, random: &mut Random) {
    let mut other = other.clone();
    let mut all = Vec::new();
    visit::statements(&mut other, &mut |statement| all.push(statement.clone()));
    if let Some(statement) = random.pick(&all).cloned() {
        edit_block(ast, random, |block, at, _| block.statements.insert(at, statement));
    }
}
