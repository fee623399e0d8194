//! Expressions: names become slots and cells, numbers known now become constants.

use mazurka_syntax::Diagnostic;

use super::{Compiler, Symbol, check};
use crate::arithmetic;
use crate::ast::{BinaryOp, Expr, ExprKind, Name, Span, Target, UnaryOp};
use crate::code::{Condition, Lvalue, MAX_NESTING, NONE, Node, NodeId};
use crate::printer::print_expr;

impl Compiler {
    pub(super) fn node(&mut self, node: Node, span: Span) -> NodeId {
        self.image.nodes.push(node);
        self.image.node_spans.push(span);
        self.image.nodes.len() as NodeId - 1
    }

    /// An expression that may read anything.
    pub(super) fn expr(&mut self, expr: &Expr) -> NodeId {
        self.expr_at(expr, 0)
    }

    /// An expression that may read nothing shared; `what` says whose.
    pub(super) fn local_expr(&mut self, expr: &Expr, what: &str) -> NodeId {
        let node = self.expr(expr);
        if self.image.reads_shared(node) {
            let text = print_expr(expr);
            self.error(
                Diagnostic::new(expr.span, format!("{what} can't read anything shared"))
                    .label("reads a shared variable")
                    .help(format!("read it into a local variable first: `let v = {text};`")),
            );
        }
        node
    }

    /// A condition, with what is needed to tell it to people.
    pub(super) fn condition(&mut self, expr: &Expr, message: Option<String>, span: Span) -> Condition {
        self.leaves = Some(Vec::new());
        let node = self.expr(expr);
        let leaves = self.leaves.take().unwrap_or_default();
        let text = match expr.kind {
            ExprKind::Number(0) => "false".to_owned(),
            _ => print_expr(expr),
        };
        Condition { node, text, leaves, message, span }
    }

    fn expr_at(&mut self, expr: &Expr, depth: usize) -> NodeId {
        if depth > MAX_NESTING {
            self.too_deep(expr.span);
            return self.node(Node::Const(0), expr.span);
        }
        let node = match &expr.kind {
            ExprKind::Number(value) => Node::Const(*value),
            ExprKind::Name(name) => self.name_value(name),
            ExprKind::Cell(name, index) => match self.array_cell(name, index, depth + 1) {
                Some((var, index)) => Node::Cell { var, index },
                None => Node::Const(0),
            },
            ExprKind::Unary(op, operand) => {
                let a = self.expr_at(operand, depth + 1);
                self.unary(*op, a)
            }
            ExprKind::Binary(op, left, right) => {
                let a = self.expr_at(left, depth + 1);
                let b = self.expr_at(right, depth + 1);
                self.binary(*op, a, b)
            }
        };
        let id = self.node(node, expr.span);
        if let (Some(leaves), ExprKind::Name(_) | ExprKind::Cell(..)) = (&mut self.leaves, &expr.kind) {
            let text = print_expr(expr);
            if !leaves.iter().any(|(known, _)| *known == text) {
                leaves.push((text, id));
            }
        }
        id
    }

    fn unary(&self, op: UnaryOp, a: NodeId) -> Node {
        match (op, self.image.nodes[a as usize]) {
            (UnaryOp::Not, Node::Const(value)) => Node::Const(i64::from(value == 0)),
            (UnaryOp::Neg, Node::Const(value)) if value != i64::MIN => Node::Const(-value),
            (UnaryOp::Not, _) => Node::Not(a),
            (UnaryOp::Neg, _) => Node::Neg(a),
        }
    }

    /// An operator on two parts; what is known is computed now, unless it fails, which is left to the run.
    pub(super) fn binary(&self, op: BinaryOp, a: NodeId, b: NodeId) -> Node {
        let nodes = &self.image.nodes;
        if let (Node::Const(x), Node::Const(y)) = (nodes[a as usize], nodes[b as usize])
            && let Some(value) = arithmetic::binary(op, x, y)
        {
            return Node::Const(value);
        }
        match op {
            BinaryOp::And => Node::And(a, b),
            BinaryOp::Or => Node::Or(a, b),
            _ => Node::Binary(op, a, b),
        }
    }

    fn name_value(&mut self, name: &Name) -> Node {
        if let Some(&slot) = self.scope.slots.get(&name.text) {
            if self.scope.locals[slot as usize].handle {
                let message = format!("`{}` is the handle of a process, not a number", name.text);
                let help = "a handle is used only by `join` and `send`";
                self.error(Diagnostic::new(name.span, message).help(help));
                return Node::Const(0);
            }
            return Node::Local(slot);
        }
        match self.known(name) {
            Some(Symbol::Param(value) | Symbol::Const(value)) => Node::Const(value),
            Some(Symbol::Var(var)) if !self.image.vars[var as usize].array => {
                Node::Var(self.image.vars[var as usize].base)
            }
            Some(Symbol::Var(_)) => {
                self.needs_index(name);
                Node::Const(0)
            }
            Some(symbol) => {
                self.not_a_value(name, symbol);
                Node::Const(0)
            }
            None => Node::Const(0),
        }
    }

    /// What a name at the top stands for, if it is declared above; complains if not.
    pub(super) fn known(&mut self, name: &Name) -> Option<Symbol> {
        if self.scope.unknown.contains(&name.text) {
            return None;
        }
        let Some(&(symbol, item)) = self.symbols.get(&name.text) else {
            self.unknown(name);
            return None;
        };
        // Processes and tasks may name each other in any order: how else would two of them send to each
        // other.
        if item > self.item && !matches!(symbol, Symbol::Process(_) | Symbol::Task(_)) {
            let message = format!("`{}` is declared below its use", name.text);
            let help = format!("move the declaration of `{}` above this", name.text);
            self.error(Diagnostic::new(name.span, message).help(help));
        }
        Some(symbol)
    }

    fn unknown(&mut self, name: &Name) {
        self.scope.unknown.insert(name.text.clone());
        let locals = self.scope.slots.keys().map(String::as_str);
        let names = self.symbols.keys().map(String::as_str);
        let help = match check::closest(&name.text, locals.chain(names)) {
            Some(near) => format!("did you mean `{near}`?"),
            None if self.scope.of_constraint => {
                "a constraint is about shared variables, parameters and constants".to_owned()
            }
            None => format!(
                "declare it: `let {0} = 0;` for a local, `var {0};` at the top for a shared one",
                name.text
            ),
        };
        let message = format!("`{}` is not declared", name.text);
        self.error(Diagnostic::new(name.span, message).label("not known here").help(help));
    }

    pub(super) fn needs_index(&mut self, name: &Name) {
        let message = format!("`{}` is an array and needs an index", name.text);
        self.error(
            Diagnostic::new(name.span, message).help(format!("name one of its cells: `{}[0]`", name.text)),
        );
    }

    fn not_a_value(&mut self, name: &Name, symbol: Symbol) {
        let message = format!("`{}` is {}, not a number", name.text, symbol.noun());
        let help = match symbol {
            Symbol::Lock(_) => "to see whether it is free, try it: `r = try_lock(...)`",
            _ => "an expression is made of numbers, local variables and shared variables",
        };
        self.error(Diagnostic::new(name.span, message).help(help));
    }

    /// A cell of a shared array; checks what is known of the index.
    fn array_cell(&mut self, name: &Name, index: &Expr, depth: usize) -> Option<(u32, NodeId)> {
        let at = self.expr_at(index, depth);
        if self.scope.slots.contains_key(&name.text) {
            let message = format!("`{}` is a local variable and has no cells", name.text);
            self.error(Diagnostic::new(name.span, message).help("only shared arrays are indexed"));
            return None;
        }
        let symbol = self.known(name)?;
        let Symbol::Var(var) = symbol else {
            self.not_a_value(name, symbol);
            return None;
        };
        let info = &self.image.vars[var as usize];
        if !info.array {
            let message = format!("`{}` is a single variable and has no cells", name.text);
            let help = format!("leave out the index, or declare an array: `var {}[4];`", name.text);
            self.error(Diagnostic::new(name.span, message).help(help));
            return None;
        }
        let len = info.len;
        self.check_index(&name.text, at, index.span, 0, len);
        Some((var, at))
    }

    /// Complains of an index that is out of range whatever happens.
    pub(super) fn check_index(&mut self, name: &str, index: NodeId, span: Span, from: i64, len: u32) {
        let Node::Const(value) = self.image.nodes[index as usize] else { return };
        if value >= from && i128::from(value) - i128::from(from) < i128::from(len) {
            return;
        }
        let message = format!("`{name}[{value}]` does not exist");
        let help = match len {
            0 => format!("`{name}` is empty"),
            _ => format!("`{name}` goes from {name}[{from}] to {name}[{}]", from + i64::from(len - 1)),
        };
        self.error(Diagnostic::new(span, message).label("out of range").help(help));
    }

    /// A shared variable or cell that is written; `None` (after a complaint) if it is anything else.
    pub(super) fn lvalue(&mut self, target: &Target) -> Option<Lvalue> {
        if let Some(index) = &target.index {
            let (var, index) = self.array_cell(&target.name, index, 0)?;
            let node = self.node(Node::Cell { var, index }, target.name.span);
            return Some(Lvalue { var, index, node });
        }
        let name = &target.name;
        match self.known(name)? {
            Symbol::Var(var) if self.image.vars[var as usize].array => {
                self.needs_index(name);
                None
            }
            Symbol::Var(var) => Some(Lvalue { var, index: NONE, node: NONE }),
            symbol => {
                let message = format!("`{}` is {} and can't be assigned", name.text, symbol.noun());
                let help = match symbol {
                    Symbol::Param(_) | Symbol::Const(_) => {
                        format!("declare it as a variable: `var {};`", name.text)
                    }
                    _ => "only local and shared variables are assigned".to_owned(),
                };
                self.error(Diagnostic::new(name.span, message).help(help));
                None
            }
        }
    }

    pub(super) fn too_deep(&mut self, span: Span) {
        let message = format!("nested more than {MAX_NESTING} deep");
        // Both sides of an operator are as deep: once is enough.
        if self.errors.last().is_some_and(|last| last.message == message) {
            return;
        }
        self.error(Diagnostic::new(span, message).help("split it into several statements"));
    }
}
