//! Random programs: small ones, over all that the language has.
//!
//! A program draws a few features first and uses only those, so that each is met densely by some programs. Programs
//! are kept to a handful of steps: the oracle tries every interleaving. Nothing keeps them from failing: indices may
//! be out of range, divisors 0, locks not held, handles empty.

use mazurka_litmus::ast::*;

use crate::random::Random;
use crate::writer::{Body, Writer, cell, constant, object, range};

/// What a program may use. Arrays and families have two members.
#[derive(Clone, Debug, Default)]
pub(crate) struct Features {
    pub vars: Vec<String>,
    pub arrays: Vec<String>,
    /// Locks and condition variables, members of arrays one by one.
    pub locks: Vec<Target>,
    pub condvars: Vec<Target>,
    /// With the number of their parameters. A task creates only those that come after it.
    pub tasks: Vec<(String, usize)>,
    /// Processes and whether they are families.
    pub processes: Vec<(String, bool)>,
    /// Weights of the kinds of statements, by [`KINDS`].
    pub weights: Vec<usize>,
}

/// How many kinds of statements there are; see [`Writer::statement`].
pub(crate) const KINDS: usize = 27;

/// A fresh random program.
pub fn program(random: &mut Random) -> Ast {
    let features = features(random);
    written(&features, random)
}

/// A fresh random program of what threads of Rust have: no atomic blocks, no awaits.
pub(crate) fn threads(random: &mut Random) -> Ast {
    let mut features = features(random);
    for kind in [4, 5, 21, 22] {
        features.weights[kind] = 0;
    }
    written(&features, random)
}

fn written(features: &Features, random: &mut Random) -> Ast {
    let mut items = declarations(features, random);
    // Some are too large for brute force: on these the algorithms must agree.
    let steps = if random.one_in(6) { 8 + random.below(6) } else { 4 + random.below(6) };
    let each = steps.div_ceil(features.processes.len()).min(5);
    for (k, (task, params)) in features.tasks.iter().enumerate() {
        let params: Vec<Name> = ["a1", "a2"].iter().take(*params).map(|&name| Name::new(name)).collect();
        let mut writer = Writer::new(features, Body::Task(k));
        writer.locals.extend(params.iter().map(|param| param.text.clone()));
        let statements = 1 + random.below(2);
        let body = writer.block(random, statements, 1);
        items.push(Item::Task(TaskDecl { name: Name::new(task), params, body }));
    }
    for (k, (process, family)) in features.processes.iter().enumerate() {
        let mut writer = Writer::new(features, Body::Process(k));
        let statements = if *family { 1 + random.below(2) } else { 1 + random.below(each) };
        let family = family.then(|| {
            writer.locals.push("i".to_owned());
            (Name::new("i"), range(0, 2))
        });
        let body = writer.block(random, statements, 0);
        items.push(Item::Process(ProcessDecl { name: Name::new(process), family, body }));
    }
    Ast { items }
}

fn some(names: &[&str], n: usize) -> Vec<String> {
    names.iter().take(n).map(|&name| name.to_owned()).collect()
}

fn features(random: &mut Random) -> Features {
    let members = |name: &str| (0..2).map(|k| cell(name, Expr::number(k))).collect::<Vec<_>>();
    let locks = match random.weighted(&[6, 4, 2, 2]) {
        0 => Vec::new(),
        1 => vec![object("m")],
        2 => vec![object("m"), object("l")],
        _ => members("l"),
    };
    let condvars = match random.weighted(&[4, 4, 1, 1]) {
        _ if locks.is_empty() => Vec::new(),
        0 => Vec::new(),
        1 => vec![object("c")],
        2 => vec![object("c"), object("d")],
        _ => members("d"),
    };
    let mut tasks = Vec::new();
    if random.one_in(3) {
        tasks.extend(
            some(&["t", "u"], 1 + random.below(2))
                .into_iter()
                .map(|name| (name, random.weighted(&[3, 2, 1]))),
        );
    }
    let names = some(&["p", "q", "r", "s"], 2 + random.below(3));
    let family = if random.one_in(4) { random.below(names.len()) } else { usize::MAX };
    let mut processes: Vec<(String, bool)> =
        names.into_iter().enumerate().map(|(k, name)| (name, k == family)).collect();
    if family < processes.len() && processes.len() > 2 {
        processes.truncate(3);
    }
    // Most kinds of statements are left out, so that the others meet each other.
    let mut weights: Vec<usize> = (0..KINDS).map(|_| [0, 0, 1, 1, 2, 6][random.below(6)]).collect();
    let mut at_least = |kind: usize, weight: usize| weights[kind] = weights[kind].max(weight);
    // What is declared is used.
    if !tasks.is_empty() {
        at_least(10, 4);
    }
    if !locks.is_empty() {
        at_least(6, 1);
    }
    if !condvars.is_empty() {
        at_least(8, 3);
        at_least(9, 3);
    }
    Features {
        vars: some(&["x", "y", "z"], 1 + random.below(3)),
        arrays: some(&["a"], usize::from(random.one_in(4))),
        locks,
        condvars,
        tasks,
        processes,
        weights,
    }
}

fn declarations(features: &Features, random: &mut Random) -> Vec<Item> {
    let mut items = Vec::new();
    let mut vars: Vec<VarDecl> = Vec::new();
    for name in &features.vars {
        let init = if random.one_in(4) { Init::All(constant(random)) } else { Init::Zero };
        vars.push(VarDecl { name: Name::new(name), size: None, init });
    }
    for name in &features.arrays {
        let init = match random.below(4) {
            0 => Init::All(Expr::number(1)),
            1 => Init::Each(vec![constant(random), constant(random)]),
            _ => Init::Zero,
        };
        vars.push(VarDecl { name: Name::new(name), size: Some(Expr::number(2)), init });
    }
    items.push(Item::Var(vars));
    if !features.locks.is_empty() {
        items.push(Item::Lock(objects(&features.locks)));
    }
    if !features.condvars.is_empty() {
        items.push(Item::Condvar(objects(&features.condvars)));
    }
    items
}

/// The declarations of objects, arrays once.
fn objects(targets: &[Target]) -> Vec<ObjectDecl> {
    let mut found: Vec<ObjectDecl> = Vec::new();
    for target in targets {
        if !found.iter().any(|known| known.name == target.name) {
            let size = target.index.is_some().then(|| Expr::number(2));
            found.push(ObjectDecl { name: target.name.clone(), size });
        }
    }
    found
}
