//! Makes a program smaller as long as it still shows what it was found for.

use mazurka_litmus::ast::*;

use crate::visit;

/// The smallest program that single removals and simplifications lead to, all of which satisfy `shows`.
pub fn shrink(ast: &Ast, mut shows: impl FnMut(&Ast) -> bool) -> Ast {
    let mut best = ast.clone();
    'again: loop {
        for candidate in candidates(&best) {
            if shows(&candidate) {
                best = candidate;
                continue 'again;
            }
        }
        return best;
    }
}

fn candidates(ast: &Ast) -> Vec<Ast> {
    let mut found = Vec::new();
    for i in 0..ast.items.len() {
        let mut smaller = ast.clone();
        smaller.items.remove(i);
        found.push(smaller);
    }
    let mut statements = 0;
    visit::statements(&mut ast.clone(), &mut |_| statements += 1);
    for n in 0..statements {
        found.extend(
            [edited(ast, n, remove), edited(ast, n, unwrap), edited(ast, n, simplify)].into_iter().flatten(),
        );
    }
    let mut expressions = 0;
    visit::expressions(&mut ast.clone(), &mut |_| expressions += 1);
    for n in 0..expressions {
        found.extend(with_expression(ast, n));
    }
    found
}

/// The program with its statement number `n` edited; none if there is nothing to edit.
fn edited(ast: &Ast, n: usize, edit: fn(&mut Block, usize) -> bool) -> Option<Ast> {
    let mut smaller = ast.clone();
    let (mut at, mut done) = (n as isize, false);
    visit::blocks(&mut smaller, &mut |block| {
        let here = block.statements.len() as isize;
        if (0..here).contains(&at) {
            done = edit(block, at as usize);
        }
        at -= here;
    });
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

/// The program with its expression number `n` replaced by one of its operands, or by 0.
fn with_expression(ast: &Ast, n: usize) -> Vec<Ast> {
    let mut replacements = Vec::new();
    let mut at = n as isize;
    visit::expressions(&mut ast.clone(), &mut |e| {
        if at == 0 {
            replacements = match &e.kind {
                ExprKind::Binary(_, left, right) => vec![(**left).clone(), (**right).clone()],
                ExprKind::Unary(_, inner) => vec![(**inner).clone()],
                ExprKind::Number(number) if *number > 1 => vec![Expr::number(1)],
                ExprKind::Number(1) => vec![Expr::number(0)],
                ExprKind::Cell(..) => vec![Expr::number(0)],
                _ => Vec::new(),
            };
        }
        at -= 1;
    });
    let replace = |with: Expr| {
        let mut smaller = ast.clone();
        let mut at = n as isize;
        visit::expressions(&mut smaller, &mut |e| {
            if at == 0 {
                *e = with.clone();
            }
            at -= 1;
        });
        smaller
    };
    replacements.into_iter().map(replace).collect()
}
