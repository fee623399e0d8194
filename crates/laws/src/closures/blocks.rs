//! Atomic blocks around what a rewritten program does in several steps: `mazurka::atomic` acts them out.

use mazurka_litmus::ast::*;

use super::encoded::{EncodedOp, stands_for_another};
use super::rust_ops;
use crate::random::Random;
use crate::visit;
use crate::writer::stmt;

/// Puts blocks around some of the statements of a rewritten program.
pub(super) fn add(ast: &mut Ast, random: &mut Random) {
    for body in ast.items.iter_mut().filter_map(visit::body) {
        within(body, random);
    }
}

fn within(block: &mut Block, random: &mut Random) {
    let mut rest = std::mem::take(&mut block.statements).into_iter().peekable();
    while let Some(mut statement) = rest.next() {
        if !fits(&statement) || random.one_in(2) {
            if !matches!(statement.kind, StmtKind::Atomic { .. }) {
                visit::inner_blocks(&mut statement.kind).into_iter().for_each(|inner| within(inner, random));
            }
            block.statements.push(statement);
            continue;
        }
        let mut statements = vec![statement];
        while !random.one_in(3)
            && let Some(next) = rest.next_if(fits)
        {
            statements.push(next);
        }
        block.statements.push(stmt(StmtKind::Atomic { name: None, body: Block { statements } }));
    }
}

/// Whether a statement may be in a block, in the language and in Rust.
fn fits(statement: &Stmt) -> bool {
    if EncodedOp::of(statement).is_some() || rust_ops::text(&statement.kind).is_some() {
        return false;
    }
    match &statement.kind {
        StmtKind::Assign { target, .. } => !stands_for_another(&target.name.text),
        StmtKind::Let { .. }
        | StmtKind::FetchAdd { .. }
        | StmtKind::Swap { .. }
        | StmtKind::Cas { .. }
        | StmtKind::Assert { .. }
        | StmtKind::Assume(_)
        | StmtKind::Send { .. } => true,
        StmtKind::If { arms, otherwise } => {
            let blocks = arms.iter().map(|arm| &arm.1).chain(otherwise);
            blocks.flat_map(|block| &block.statements).all(fits)
        }
        StmtKind::For { body, .. } => body.statements.iter().all(fits),
        _ => false,
    }
}
