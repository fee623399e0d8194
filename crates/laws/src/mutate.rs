//! Mutants: programs made by changing known ones a little.
//!
//! Undirected random programs are not enough. A wrong repair of a published algorithm survived 236,789 of them and
//! fell to mutants of known counterexamples within minutes.

use mazurka_litmus::ast::*;

use crate::generate::{Features, Writer, stmt};
use crate::random::Random;
use crate::visit;

/// A mutant of `base`. Parts of `other` may be put into it. It need not compile.
pub fn mutant(base: &Ast, other: &Ast, random: &mut Random) -> Ast {
    let mut ast = base.clone();
    for _ in 0..1 + random.below(4) {
        mutate(&mut ast, other, random);
    }
    ast
}

fn mutate(ast: &mut Ast, other: &Ast, random: &mut Random) {
    match random.below(16) {
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
            block.statements.insert(at, stmt(StmtKind::Atomic(Block { statements })));
        }),
        12 => edit_block(ast, random, |block, at, _| unwrap(block, at)),
        13 => copy_process(ast, random),
        14 => splice(ast, other, random),
        _ => shuffle_processes(ast, random),
    }
}

/// Calls `edit` with a block and the place of a statement in it, drawn evenly among all statements.
fn edit_block(ast: &mut Ast, random: &mut Random, edit: impl Fn(&mut Block, usize, &mut Random)) {
    let mut count = 0;
    visit::blocks(ast, &mut |block| count += block.statements.len());
    let mut at = random.below(count);
    let mut done = count == 0;
    visit::blocks(ast, &mut |block| {
        if done {
            return;
        }
        if at < block.statements.len() {
            edit(block, at, random);
            done = true;
        } else {
            at -= block.statements.len();
        }
    });
}

/// What a program declares, for statements to be written into it.
fn features_of(ast: &Ast) -> Features {
    let mut features = Features {
        vars: Vec::new(),
        arrays: Vec::new(),
        locks: Vec::new(),
        condvars: Vec::new(),
        tasks: Vec::new(),
        processes: Vec::new(),
        weights: vec![1; 22],
    };
    for item in &ast.items {
        match item {
            Item::Var(vars) => {
                for var in vars {
                    let list = if var.size.is_none() { &mut features.vars } else { &mut features.arrays };
                    list.push(var.name.text.clone());
                }
            }
            Item::Lock(locks) => features.locks.extend(scalars(locks)),
            Item::Condvar(condvars) => features.condvars.extend(scalars(condvars)),
            Item::Process(p) if p.family.is_none() => features.processes.push(p.name.text.clone()),
            Item::Task(t) if t.params.is_empty() => features.tasks.push(t.name.text.clone()),
            _ => {}
        }
    }
    features
}

fn scalars(objects: &[ObjectDecl]) -> impl Iterator<Item = String> + '_ {
    objects.iter().filter(|object| object.size.is_none()).map(|object| object.name.text.clone())
}

/// The variables that the program has and some that it may get: a mutant of a program of two variables may need a third.
fn declare_missing(ast: &mut Ast, random: &mut Random) -> Features {
    let features = features_of(ast);
    let mut declare = |item: Item| ast.items.insert(0, item);
    let object = |name: &str| vec![ObjectDecl { name: Name::new(name), size: None }];
    if features.vars.is_empty() || (features.vars.len() < 3 && random.one_in(8)) {
        let name = ["x9", "y9", "z9"].into_iter().find(|&n| !features.vars.iter().any(|v| v == n));
        let name = Name::new(name.unwrap_or("w9"));
        declare(Item::Var(vec![VarDecl { name, size: None, init: Init::Zero }]));
    }
    if features.locks.is_empty() && random.one_in(4) {
        declare(Item::Lock(object("m9")));
    } else if features.condvars.is_empty() && !features.locks.is_empty() && random.one_in(6) {
        declare(Item::Condvar(object("c9")));
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
    let mut writer = Writer::new(&features, Some(process));
    writer.locals = locals;
    let mut new = Vec::new();
    writer.statement(random, 0, &mut new);
    edit_block(ast, random, |block, at, random| {
        let end = if replace { at + 1 } else { at };
        let start = at + random.below(2).min(end - at);
        block.statements.splice(start.min(end)..end, new.clone());
    });
}

fn move_statement(ast: &mut Ast, random: &mut Random) {
    let taken = std::cell::RefCell::new(None);
    edit_block(ast, random, |block, at, _| *taken.borrow_mut() = Some(block.statements.remove(at)));
    let Some(statement) = taken.into_inner() else { return };
    edit_block(ast, random, |block, at, _| block.statements.insert(at, statement.clone()));
}

fn change_number(ast: &mut Ast, random: &mut Random) {
    change_expression(
        ast,
        random,
        |e| matches!(e.kind, ExprKind::Number(_)),
        |e, random| {
            e.kind = ExprKind::Number(random.below(3) as i64);
        },
    );
}

fn rename_read(ast: &mut Ast, random: &mut Random) {
    let vars = features_of(ast).vars;
    let is_var = |e: &Expr| matches!(&e.kind, ExprKind::Name(name) if vars.contains(&name.text));
    change_expression(ast, random, is_var, |e, random| {
        if let Some(var) = random.pick(&vars) {
            e.kind = ExprKind::Name(Name::new(var));
        }
    });
}

fn change_expression(
    ast: &mut Ast,
    random: &mut Random,
    which: impl Fn(&Expr) -> bool,
    change: impl Fn(&mut Expr, &mut Random),
) {
    let mut count = 0;
    visit::expressions(ast, &mut |e| count += usize::from(which(e)));
    let mut at = random.below(count) as isize;
    visit::expressions(ast, &mut |e| {
        if which(e) {
            if at == 0 {
                change(e, random);
            }
            at -= 1;
        }
    });
}

fn rename_target(ast: &mut Ast, random: &mut Random) {
    let features = features_of(ast);
    edit_block(ast, random, |block, at, random| {
        let Some(target) = visit::target(&mut block.statements[at].kind) else { return };
        for names in [&features.vars, &features.locks, &features.condvars, &features.processes] {
            if names.contains(&target.name.text) {
                target.name = Name::new(random.pick(names).expect("it has that one"));
                return;
            }
        }
    });
}

/// A block in place of the statement that it belongs to.
fn unwrap(block: &mut Block, at: usize) {
    let mut statement = block.statements.remove(at);
    let inner = visit::inner_blocks(&mut statement.kind).into_iter().next().map(std::mem::take);
    block.statements.splice(at..at, inner.unwrap_or_default().statements);
}

fn copy_process(ast: &mut Ast, random: &mut Random) {
    let processes: Vec<usize> =
        (0..ast.items.len()).filter(|&i| matches!(ast.items[i], Item::Process(_))).collect();
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
        edit_block(ast, random, |block, at, _| block.statements.insert(at, statement.clone()));
    }
}

fn shuffle_processes(ast: &mut Ast, random: &mut Random) {
    let processes: Vec<usize> =
        (0..ast.items.len()).filter(|&i| matches!(ast.items[i], Item::Process(_))).collect();
    for k in (1..processes.len()).rev() {
        ast.items.swap(processes[k], processes[random.below(k + 1)]);
    }
}
