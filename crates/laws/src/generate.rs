//! Random programs: small ones, over all that the language has.
//!
//! A program draws a few features first and uses only those, so that each is met densely by some programs.
//! Programs are kept to a handful of steps: the oracle tries every interleaving. Nothing keeps them from
//! failing: indices may be out of range, divisors 0, locks not held, handles empty.

use mazurka_litmus::ast::{Ast, Expr, Name, Target};

use crate::random::Random;
use crate::writer::{self, Body, Writer, constant};

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
    let mut text = declarations(features, random);
    // Some are too large for brute force: on these the algorithms must agree.
    let steps = if random.one_in(6) { 8 + random.below(6) } else { 4 + random.below(6) };
    let each = steps.div_ceil(features.processes.len()).min(5);
    for (k, (task, params)) in features.tasks.iter().enumerate() {
        let params = &["a1", "a2"][..*params];
        let statements = 1 + random.below(2);
        let mut writer = Writer::new(features, random, Body::Task(k));
        writer.locals.extend(params.iter().map(|&param| param.to_owned()));
        text += &format!("task {task}({}) {{ {} }}\n", params.join(", "), writer.block(statements, 1));
    }
    for (k, (process, family)) in features.processes.iter().enumerate() {
        let statements = 1 + random.below(if *family { 2 } else { each });
        let mut writer = Writer::new(features, random, Body::Process(k));
        writer.locals.extend(family.then(|| "i".to_owned()));
        let index = if *family { "[i in 0..2]" } else { "" };
        text += &format!("process {process}{index} {{ {} }}\n", writer.block(statements, 0));
    }
    writer::program(text)
}

fn some(names: &[&str], n: usize) -> Vec<String> {
    names.iter().take(n).map(|&name| name.to_owned()).collect()
}

/// An object, or a member of an array.
pub(crate) fn target(name: &str, index: Option<i64>) -> Target {
    Target { name: Name::new(name), index: index.map(Expr::number) }
}

fn features(random: &mut Random) -> Features {
    let single = |name: &str| target(name, None);
    let members = |name: &str| vec![target(name, Some(0)), target(name, Some(1))];
    let locks = match random.weighted(&[6, 4, 2, 2]) {
        0 => Vec::new(),
        1 => vec![single("m")],
        2 => vec![single("m"), single("l")],
        _ => members("l"),
    };
    let condvars = match random.weighted(&[4, 4, 1, 1]) {
        _ if locks.is_empty() => Vec::new(),
        0 => Vec::new(),
        1 => vec![single("c")],
        2 => vec![single("c"), single("d")],
        _ => members("d"),
    };
    let mut tasks = Vec::new();
    if random.one_in(3) {
        let names = some(&["t", "u"], 1 + random.below(2));
        tasks.extend(names.into_iter().map(|name| (name, random.weighted(&[3, 2, 1]))));
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

fn declarations(features: &Features, random: &mut Random) -> String {
    let mut vars: Vec<String> = Vec::new();
    for name in &features.vars {
        let init = if random.one_in(4) { format!(" = {}", constant(random)) } else { String::new() };
        vars.push(format!("{name}{init}"));
    }
    for name in &features.arrays {
        let init = match random.below(4) {
            0 => " = 1".to_owned(),
            1 => format!(" = [{}, {}]", constant(random), constant(random)),
            _ => String::new(),
        };
        vars.push(format!("{name}[2]{init}"));
    }
    let mut text = format!("var {};\n", vars.join(", "));
    for (kind, targets) in [("lock", &features.locks), ("condvar", &features.condvars)] {
        let declared = targets.iter().map(|object| match object.index {
            None => object.name.text.clone(),
            Some(_) => format!("{}[2]", object.name.text),
        });
        let mut declared: Vec<String> = declared.collect();
        declared.dedup();
        if !declared.is_empty() {
            text += &format!("{kind} {};\n", declared.join(", "));
        }
    }
    text
}
