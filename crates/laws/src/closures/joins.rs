//! Joins of processes that run from the start, as Rust can have them.
//!
//! Such a process is a thread that the closure's own thread makes. Its handle is there for threads that are
//! made later, and only one of them can have it. So a join stays if one single process has all joins of its
//! target, and the processes are put into an order in which targets come first; other joins are left out.

use std::collections::BTreeMap;

use mazurka_litmus::ast::*;

use crate::visit;

/// The program with joins that Rust can have, and its processes in an order in which it can.
pub(super) fn arrange(ast: &Ast) -> Ast {
    let mut ast = ast.clone();
    let (processes, mut others): (Vec<Item>, Vec<Item>) =
        std::mem::take(&mut ast.items).into_iter().partition(|item| matches!(item, Item::Process(_)));
    let mut processes: Vec<ProcessDecl> = processes
        .into_iter()
        .filter_map(|item| match item {
            Item::Process(process) => Some(process),
            _ => None,
        })
        .collect();
    let names: Vec<String> = processes.iter().map(|process| process.name.text.clone()).collect();
    for item in &mut others {
        if let Item::Task(task) = item {
            drop_joins(&mut task.body, &|target| names.contains(target));
        }
    }
    let owners = owners(&mut processes);
    for process in &mut processes {
        let me = process.name.text.clone();
        drop_joins(&mut process.body, &|target| names.contains(target) && owners.get(target) != Some(&me));
    }
    let mut ordered: Vec<ProcessDecl> = Vec::new();
    while !processes.is_empty() {
        let is_there = |target: &str| ordered.iter().any(|other| other.name.text == target);
        let ready = processes.iter_mut().position(|process| {
            let me = process.name.text.clone();
            owners.iter().all(|(target, owner)| *owner != me || is_there(target))
        });
        // A circle: its first member gives its joins up.
        let mut next = processes.remove(ready.unwrap_or(0));
        if ready.is_none() {
            drop_joins(&mut next.body, &|target| {
                names.iter().any(|name| name == target) && !is_there(target)
            });
        }
        ordered.push(next);
    }
    others.extend(ordered.into_iter().map(Item::Process));
    Ast { items: others }
}

/// For each process that is joined, the one that has its handle: the first that is no family and not it
/// itself.
fn owners(processes: &mut [ProcessDecl]) -> BTreeMap<String, String> {
    let mut owners = BTreeMap::new();
    for process in processes.iter_mut().filter(|process| process.family.is_none()) {
        let me = process.name.text.clone();
        visit::block(&mut process.body, &mut |block| {
            for statement in &block.statements {
                if let StmtKind::Join(target) = &statement.kind
                    && target.name.text != me
                {
                    owners.entry(target.name.text.clone()).or_insert_with(|| me.clone());
                }
            }
        });
    }
    owners
}

fn drop_joins(body: &mut Block, which: &dyn Fn(&String) -> bool) {
    visit::block(body, &mut |block| {
        block.statements.retain(|statement| match &statement.kind {
            StmtKind::Join(target) => !which(&target.name.text),
            _ => true,
        });
    });
}
