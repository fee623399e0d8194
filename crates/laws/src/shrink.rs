//! Makes programs smaller: by what a statement less, or a simpler expression, leaves of them.

use mazurka_litmus::ast::*;

use crate::visit;

/// All programs that a single removal or simplification makes of one.
pub fn smaller(ast: &Ast) -> Vec<Ast> {
    let mut found = Vec::new();
    for i in 0..ast.items.len() {
        let mut smaller = ast.clone();
        smaller.items.remove(i);
        found.push(smaller);
    }
    let mut statements = 0;
    visit::statements(&mut ast.clone(), &mut |_| statements += 1);
    for n in 0..statements {
        found.extend([remove, unwrap, simplify].into_iter().filter_map(|edit| edited(ast, n, edit)));
    }
    let mut replacements = Vec::new();
    visit::expressions(&mut ast.clone(), &mut |e| replacements.push(simpler(e)));
    for (n, simpler) in replacements.into_iter().enumerate() {
        found.extend(simpler.into_iter().map(|with| {
            let mut smaller = ast.clone();
            visit::nth_expression(&mut smaller, n, |_| true, |e| *e = with);
            smaller
        }));
    }
    found
}

/// The program with its statement number `n` edited; none if there is nothing to edit.
fn edited(ast: &Ast, n: usize, edit: fn(&mut Block, usize) -> bool) -> Option<Ast> {
    let mut smaller = ast.clone();
    let mut done = false;
    visit::nth_statement(&mut smaller, n, |block, at| done = edit(block, at));
    done.then_some(smaller)
}

fn remove(block: &mut Block, at: usize) -> bool {
    block.statements.remove(at);
    true
}

/// Puts the inner blocks of a statement in its place.
fn unwrap(block: &mut Block, at: usize) -> bool {
    let mut statement = block.statements[at].clone();
    let inner: Vec<Stmt> = visit::inner_blocks(&mut statement.kind)
        .into_iter()
        .flat_map(|b| std::mem::take(b).statements)
        .collect();
    let any = !inner.is_empty();
    if any {
        block.statements.splice(at..=at, inner);
    }
    any
}

/// A simpler statement of the same kind.
fn simplify(block: &mut Block, at: usize) -> bool {
    match &mut block.statements[at].kind {
        StmtKind::If { otherwise, .. } => otherwise.take().is_some(),
        StmtKind::Receive { arms, .. } if arms.len() > 1 => arms.pop().is_some(),
        StmtKind::Receive { timeout, .. } => timeout.take().is_some(),
        _ => false,
    }
}

/// What an expression may be replaced by: one of its operands, or a smaller number.
fn simpler(e: &Expr) -> Vec<Expr> {
    match &e.kind {
        ExprKind::Binary(_, left, right) => vec![(**left).clone(), (**right).clone()],
        ExprKind::Unary(_, inner) => vec![(**inner).clone()],
        ExprKind::Number(number) if *number > 1 => vec![Expr::number(1)],
        ExprKind::Number(1) | ExprKind::Cell(..) => vec![Expr::number(0)],
        _ => Vec::new(),
    }
}
