//! Walks over syntax trees: all blocks, all statements, all expressions, what a statement names.

use mazurka_litmus::ast::*;

use crate::random::Random;

/// Calls `with` for every block, outer ones before inner ones.
pub(crate) fn blocks(ast: &mut Ast, with: &mut dyn FnMut(&mut Block)) {
    ast.items.iter_mut().filter_map(body).for_each(|body| block(body, with));
}

/// The body of a process or a task.
pub(crate) fn body(item: &mut Item) -> Option<&mut Block> {
    match item {
        Item::Process(process) => Some(&mut process.body),
        Item::Task(task) => Some(&mut task.body),
        _ => None,
    }
}

/// The names of declared objects that are no arrays: of locks, say.
pub(crate) fn single_objects(ast: &Ast, of: impl Fn(&Item) -> &[ObjectDecl]) -> Vec<String> {
    let single = ast.items.iter().flat_map(of).filter(|object| object.size.is_none());
    single.map(|object| object.name.text.clone()).collect()
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
        StmtKind::While { body, .. } | StmtKind::For { body, .. } | StmtKind::Atomic { body, .. } => {
            vec![body]
        }
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

/// Calls `with` for the block of statement number `n`, and its place there.
pub(crate) fn nth_statement(ast: &mut Ast, n: usize, with: impl FnOnce(&mut Block, usize)) {
    let (mut at, mut with) = (n, Some(with));
    blocks(ast, &mut |block| match with.take_if(|_| at < block.statements.len()) {
        Some(with) => with(block, at),
        None => at = at.saturating_sub(block.statements.len()),
    });
}

/// Calls `with` for expression number `n` of some.
pub(crate) fn nth_expression(
    ast: &mut Ast,
    n: usize,
    which: impl Fn(&Expr) -> bool,
    with: impl FnOnce(&mut Expr),
) {
    let (mut left, mut with) = (n, Some(with));
    expressions(ast, &mut |e| {
        if which(e) {
            match with.take_if(|_| left == 0) {
                Some(with) => with(e),
                None => left = left.saturating_sub(1),
            }
        }
    });
}

/// Calls `with` for every expression in a statement's own head, operands included.
pub(crate) fn expressions(ast: &mut Ast, with: &mut dyn FnMut(&mut Expr)) {
    statements(ast, &mut |statement| {
        head_expressions(&mut statement.kind).into_iter().for_each(|e| expression_tree(e, with));
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

/// The index of a statement's target, where one belongs to its expressions, and its other expressions.
fn head_expressions(kind: &mut StmtKind) -> Vec<&mut Expr> {
    match kind {
        StmtKind::Assign { target, value, .. }
        | StmtKind::FetchAdd { target, value, .. }
        | StmtKind::Swap { target, value, .. } => target.index.iter_mut().chain([value]).collect(),
        StmtKind::Cas { target, old, new, .. } => target.index.iter_mut().chain([old, new]).collect(),
        StmtKind::Send { to, message } => to.index.iter_mut().chain(message).collect(),
        _ => values(kind),
    }
}

/// The expressions of a statement's own head, but for the index of its target.
pub(crate) fn values(kind: &mut StmtKind) -> Vec<&mut Expr> {
    match kind {
        StmtKind::Let { value, .. }
        | StmtKind::Assign { value, .. }
        | StmtKind::FetchAdd { value, .. }
        | StmtKind::Swap { value, .. }
        | StmtKind::Await(value)
        | StmtKind::Assume(value)
        | StmtKind::Assert { condition: value, .. }
        | StmtKind::Choose { count: value, .. }
        | StmtKind::While { condition: value, .. } => vec![value],
        StmtKind::Cas { old, new, .. } => vec![old, new],
        StmtKind::Spawn { args: values, .. } | StmtKind::Send { message: values, .. } => {
            values.iter_mut().collect()
        }
        StmtKind::If { arms, .. } => arms.iter_mut().map(|(condition, _)| condition).collect(),
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

/// Where the processes are declared.
pub(crate) fn processes(ast: &Ast) -> Vec<usize> {
    (0..ast.items.len()).filter(|&i| matches!(ast.items[i], Item::Process(_))).collect()
}

/// Puts the processes into a random order.
pub(crate) fn shuffle_processes(ast: &mut Ast, random: &mut Random) {
    let processes = processes(ast);
    for k in (1..processes.len()).rev() {
        ast.items.swap(processes[k], processes[random.below(k + 1)]);
    }
}
