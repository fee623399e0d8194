//! What Rust has and the language has not, written in the language: reader-writer locks and the parking of
//! threads.
//!
//! An operation of the library that is one step is encoded as an atomic block that is one step, over a
//! variable whose name tells what it stands for. The oracle judges the block, the closure does the operation.

use mazurka_litmus::ast::*;

use crate::random::Random;
use crate::visit;
use crate::writer::{declaration, statements};

const RW: &str = "rw_";
pub(super) const TOKEN: &str = "tok_";

/// An operation that a statement encodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EncodedOp {
    Read,
    Write,
    TryRead,
    TryWrite,
    DropRead,
    DropWrite,
    Park,
    Unpark,
}

use EncodedOp::{DropRead, DropWrite, Park, Read, TryRead, TryWrite, Unpark, Write};

/// How they are encoded: `$v` is the variable, `$r` the local that says whether it was done. A process parks
/// with a token of its own name.
const ENCODINGS: [(EncodedOp, &str, &str); 8] = [
    (Read, RW, "atomic { await $v >= 0; $v += 1; }"),
    (Write, RW, "atomic { await $v == 0; $v = -1; }"),
    (TryRead, RW, "atomic { let $r = $v >= 0; $v += $r; }"),
    (TryWrite, RW, "atomic { let $r = $v == 0; $v -= $r; }"),
    (DropRead, RW, "$v -= 1;"),
    (DropWrite, RW, "$v = 0;"),
    (Park, TOKEN, "atomic { await $v == 1; $v = 0; }"),
    (Unpark, TOKEN, "$v = 1;"),
];

/// Whether a variable of this name stands for something else.
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

impl EncodedOp {
    /// The operation that a statement encodes, with the variable that it is about and the local that has its
    /// result.
    pub fn of(statement: &Stmt) -> Option<(EncodedOp, &str, Option<&Name>)> {
        let (first, last) = match &statement.kind {
            StmtKind::Atomic { body: block, .. } => (block.statements.first()?, block.statements.last()?),
            _ => (statement, statement),
        };
        let StmtKind::Assign { target: Target { name, index: None }, .. } = &last.kind else { return None };
        let result = match &first.kind {
            StmtKind::Let { name, .. } => Some(name),
            _ => None,
        };
        let local = result.map_or("", |result| &result.text);
        let encodes = |&&(op, prefix, text): &&(EncodedOp, &str, &str)| {
            name.text.starts_with(prefix)
                && text.contains("$r") == result.is_some()
                && statements(&op.text(&name.text, local)) == [statement.clone()]
        };
        ENCODINGS.iter().find(encodes).map(|&(op, ..)| (op, name.text.as_str(), result))
    }

    /// The statement that encodes it.
    fn text(self, variable: &str, result: &str) -> String {
        let (.., text) = ENCODINGS.iter().find(|(op, ..)| *op == self).expect("all of them are there");
        text.replace("$v", variable).replace("$r", result)
    }
}

/// Makes reader-writer locks of locks that no condition variable is used with.
fn share_locks(ast: &mut Ast, random: &mut Random) {
    let mut locks =
        visit::single_objects(ast, |item| if let Item::Lock(objects) = item { objects } else { &[] });
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
        ast.items.insert(0, declaration(&format!("var {RW}{lock};")));
        visit::blocks(ast, &mut |block| share_lock(block, &lock, random));
    }
}

/// Turns the statements of a lock in a block, with the local variable that says whether it is held: 1 reads,
/// 2 writes.
fn share_lock(block: &mut Block, lock: &str, random: &mut Random) {
    let (shared, held) = (format!("{RW}{lock}"), format!("held_{lock}"));
    let mut old = std::mem::take(&mut block.statements).into_iter();
    while let Some(statement) = old.next() {
        let writes = random.one_in(2);
        let mode = 1 + i64::from(writes);
        let text = match &statement.kind {
            StmtKind::Lock(target) if target.name.text == lock => {
                let lock = if writes { Write } else { Read }.text(&shared, "");
                // The mark comes after it.
                old.next();
                format!("{lock} let {held} = {mode};")
            }
            StmtKind::TryLock { dest: Dest::Let(dest) | Dest::Local(dest), lock: target }
                if target.name.text == lock =>
            {
                let lock = if writes { TryWrite } else { TryRead }.text(&shared, &dest.text);
                old.next();
                format!("{lock} if {} {{ let {held} = {mode}; }}", dest.text)
            }
            StmtKind::If { arms, .. } if arms[0].0 == Expr::name(&held) => {
                let (read, written) = (DropRead.text(&shared, ""), DropWrite.text(&shared, ""));
                format!(
                    "if {held} == 1 {{ {read} let {held} = 0; }}
                     else {{ if {held} == 2 {{ {written} let {held} = 0; }} }}"
                )
            }
            _ => {
                block.statements.push(statement);
                continue;
            }
        };
        block.statements.extend(statements(&text));
    }
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
        insert(&mut ast.items[at], Unpark, &token, random);
    }
    for _ in 0..1 + usize::from(random.one_in(3)) {
        insert(&mut ast.items[parker], Park, &token, random);
    }
    ast.items.insert(0, declaration(&format!("var {token};")));
}

fn insert(item: &mut Item, op: EncodedOp, token: &str, random: &mut Random) {
    if let Some(body) = visit::body(item) {
        let at = random.below(body.statements.len() + 1);
        body.statements.splice(at..at, statements(&op.text(token, "")));
    }
}
