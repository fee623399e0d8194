//! Walks over syntax trees: all blocks, all expressions, all names of targets.

use mazurka_litmus::ast::*;

/// Calls `with` for every block, outer ones before inner ones.
pub(crate) fn blocks(ast: &mut Ast, with: &mut dyn FnMut(&mut Block)) {
    for item in &mut ast.items {
        match item {
            Item::Process(process) => block(&mut process.body, with),
            Item::Task(task) => block(&mut task.body, with),
            _ => {}
        }
    }
}

/// Calls `with` for a block and every block in it, outer ones before inner ones.
pub(crate) fn block(at: &mut Block, with: &mut dyn FnMut(&mut Block)) {
    with(at);
    for statement in &mut at.statements {
        for inner in inner_blocks(&mut statement.kind) {
            block(inner, with);
        }
    }
}

/// The blocks directly in a statement.
pub(crate) fn inner_blocks(kind: &mut StmtKind) -> Vec<&mut Block> {
    match kind {
        StmtKind::If { arms, otherwise } => {
            arms.iter_mut().map(|(_, body)| body).chain(otherwise.as_mut()).collect()
        }
        StmtKind::While { body, .. } | StmtKind::For { body, .. } | StmtKind::Atomic(body) => vec![body],
        StmtKind::Receive { arms, timeout } => {
            arms.iter_mut().map(|arm| &mut arm.body).chain(timeout.as_mut()).collect()
        }
        _ => Vec::new(),
    }
}

/// Calls `with` for every statement.
pub(crate) fn statements(ast: &mut Ast, with: &mut dyn FnMut(&mut Stmt)) {
    blocks(ast, &mut |block| block.statements.iter_mut().for_each(&mut *with));
}

/// Calls `with` for every expression in a statement's own head, operands included.
pub(crate) fn expressions(ast: &mut Ast, with: &mut dyn FnMut(&mut Expr)) {
    statements(ast, &mut |statement| {
        for expression in head_expressions(&mut statement.kind) {
            expression_tree(expression, with);
        }
    });
}

fn expression_tree(at: &mut Expr, with: &mut dyn FnMut(&mut Expr)) {
    with(at);
    match &mut at.kind {
        ExprKind::Number(_) | ExprKind::Name(_) => {}
        ExprKind::Cell(_, inner) | ExprKind::Unary(_, inner) => expression_tree(inner, with),
        ExprKind::Binary(_, left, right) => {
            expression_tree(left, with);
            expression_tree(right, with);
        }
    }
}

fn head_expressions(kind: &mut StmtKind) -> Vec<&mut Expr> {
    match kind {
        StmtKind::Let { value, .. } => vec![value],
        StmtKind::Assign { target, value, .. }
        | StmtKind::FetchAdd { target, value, .. }
        | StmtKind::Swap { target, value, .. } => target.index.iter_mut().chain([value]).collect(),
        StmtKind::Cas { target, old, new, .. } => target.index.iter_mut().chain([old, new]).collect(),
        StmtKind::Await(e) | StmtKind::Assume(e) => vec![e],
        StmtKind::Assert { condition, .. } => vec![condition],
        StmtKind::Choose { count, .. } => vec![count],
        StmtKind::Spawn { args, .. } => args.iter_mut().collect(),
        StmtKind::Send { to, message } => to.index.iter_mut().chain(message).collect(),
        StmtKind::If { arms, .. } => arms.iter_mut().map(|(condition, _)| condition).collect(),
        StmtKind::While { condition, .. } => vec![condition],
        StmtKind::For { range, .. } => vec![&mut range.from, &mut range.to],
        StmtKind::Receive { arms, .. } => {
            let components = arms.iter_mut().flat_map(|arm| match &mut arm.pattern {
                Pattern::Any => [].iter_mut(),
                Pattern::Tuple(components) => components.iter_mut(),
            });
            components
                .filter_map(|component| match component {
                    Component::Equal(e) => Some(e),
                    _ => None,
                })
                .collect()
        }
        _ => Vec::new(),
    }
}

/// The shared thing that a statement names first, if any.
pub(crate) fn target(kind: &mut StmtKind) -> Option<&mut Target> {
    match kind {
        StmtKind::Assign { target, .. }
        | StmtKind::FetchAdd { target, .. }
        | StmtKind::Swap { target, .. }
        | StmtKind::Cas { target, .. }
        | StmtKind::Lock(target)
        | StmtKind::Unlock(target)
        | StmtKind::TryLock { lock: target, .. }
        | StmtKind::Wait { lock: target, .. }
        | StmtKind::NotifyOne(target)
        | StmtKind::NotifyAll(target)
        | StmtKind::Join(target)
        | StmtKind::Send { to: target, .. } => Some(target),
        _ => None,
    }
}
