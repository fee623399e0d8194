//! Control flow outside of atomic blocks: branches, loops and receives become lines with jumps.

use mazurka_syntax::Diagnostic;

use super::{Compiler, Loop, Patch};
use crate::ast::{Arm, Block, Component, Expr, Name, Pattern, Range, Span, Stmt, StmtKind};
use crate::code::{ArmCode, ComponentCode, ForCode, Instr, NONE, NodeId, Pc, ReceiveCode};
use crate::printer::{print_expr, print_stmt_head};

impl Compiler {
    /// A branch on a condition, to be patched with where it goes otherwise.
    fn branch(&mut self, condition: &Expr, keyword: &str) -> Pc {
        let node = self.expr(condition);
        let step = self.image.reads_shared(node);
        let varies = step && self.image.varies(node, &[]);
        let text = if step { format!("{keyword} {}", print_expr(condition)) } else { String::new() };
        self.emit(Instr::Branch { condition: node, otherwise: 0 }, step, varies, condition.span, text)
    }

    fn jump(&mut self, to: Pc, span: Span) -> Pc {
        self.emit(Instr::Jump(to), false, false, span, String::new())
    }

    pub(super) fn if_stmt(&mut self, arms: &[(Expr, Block)], otherwise: Option<&Block>) {
        let mut ends = Vec::new();
        for (i, (condition, block)) in arms.iter().enumerate() {
            let branch = self.branch(condition, if i == 0 { "if" } else { "else if" });
            self.block(block);
            // The last block falls through to the end.
            if otherwise.is_some() || i + 1 < arms.len() {
                ends.push(self.jump(0, condition.span));
            }
            let next = self.here();
            self.patch(Patch::Line(branch), next);
        }
        if let Some(block) = otherwise {
            self.block(block);
        }
        let end = self.here();
        for jump in ends {
            self.patch(Patch::Line(jump), end);
        }
    }

    pub(super) fn while_stmt(&mut self, condition: &Expr, body: &Block) {
        let next = self.here();
        let branch = self.branch(condition, "while");
        self.scope.loops.push(Loop { next, breaks: vec![Patch::Line(branch)] });
        self.block(body);
        self.jump(next, condition.span);
        self.image.lines[next as usize..].iter_mut().for_each(|line| line.in_while = true);
        self.end_loop();
    }

    /// Lets everything that leaves the innermost loop go here.
    fn end_loop(&mut self) {
        let end = self.here();
        for patch in self.scope.loops.pop().map(|l| l.breaks).unwrap_or_default() {
            self.patch(patch, end);
        }
    }

    pub(super) fn for_stmt(&mut self, index: &Name, range: &Range, body: &Block, span: Span) {
        let (from, to) = (self.expr(&range.from), self.expr(&range.to));
        let slot = self.declare_local(index, false);
        if slot == NONE {
            return;
        }
        let (next, left) = (self.slot("", false), self.slot("", false));
        let code = self.image.fors.len() as u32;
        self.image.fors.push(ForCode { slot, from, to, inclusive: range.inclusive, next, left });
        let step = self.image.reads_shared(from) || self.image.reads_shared(to);
        let varies = step && (self.image.varies(from, &[]) || self.image.varies(to, &[]));
        let dots = if range.inclusive { "..=" } else { ".." };
        let text = if step {
            format!("for {} in {}{dots}{}", index.text, print_expr(&range.from), print_expr(&range.to))
        } else {
            String::new()
        };
        self.emit(Instr::ForStart(code), step, varies, span, text);
        let head = self.emit(Instr::ForNext { code, exit: 0 }, false, false, span, String::new());
        self.scope.loops.push(Loop { next: head, breaks: vec![Patch::Line(head)] });
        self.block(body);
        self.jump(head, span);
        self.end_loop();
        self.emit(Instr::ForEnd(code), false, false, span, String::new());
    }

    /// `break` or `continue`.
    pub(super) fn leave(&mut self, stmt: &Stmt) {
        let Some(innermost) = self.scope.loops.last() else { return self.outside_loop(stmt) };
        let next = innermost.next;
        let jump = self.jump(next, stmt.span);
        if stmt.kind == StmtKind::Break
            && let Some(innermost) = self.scope.loops.last_mut()
        {
            innermost.breaks.push(Patch::Line(jump));
        }
    }

    pub(super) fn outside_loop(&mut self, stmt: &Stmt) {
        let word = if stmt.kind == StmtKind::Break { "break" } else { "continue" };
        let message = format!("`{word}` outside of a loop");
        self.error(Diagnostic::new(stmt.span, message).help("it belongs into a `while` or a `for`"));
    }

    pub(super) fn receive(&mut self, stmt: &Stmt, arms: &[Arm], timeout: Option<&Block>) {
        let codes = arms.iter().map(|arm| self.pattern(&arm.pattern, stmt)).collect();
        let index = self.image.receives.len();
        self.image.receives.push(ReceiveCode { arms: codes, timeout: NONE });
        self.emit(Instr::Receive(index as u32), true, true, stmt.span, print_stmt_head(stmt));
        let mut ends = Vec::new();
        for (i, arm) in arms.iter().enumerate() {
            self.image.receives[index].arms[i].to = self.here();
            self.block(&arm.body);
            ends.push(self.jump(0, stmt.span));
        }
        if let Some(block) = timeout {
            self.image.receives[index].timeout = self.here();
            self.block(block);
        }
        let end = self.here();
        for jump in ends {
            self.patch(Patch::Line(jump), end);
        }
    }

    /// A pattern. Its expressions are of the locals before it binds any.
    fn pattern(&mut self, pattern: &Pattern, stmt: &Stmt) -> ArmCode {
        let Pattern::Tuple(components) = pattern else {
            return ArmCode { components: None, to: 0, text: "_".to_owned() };
        };
        let mut codes: Vec<ComponentCode> = Vec::new();
        let mut texts = Vec::new();
        for component in components {
            let (code, text) = match component {
                Component::Equal(expr) => {
                    let node: NodeId = self.local_expr(expr, "a pattern");
                    (ComponentCode::Equal(node), print_expr(expr))
                }
                Component::Bind(name) => (ComponentCode::Any, format!("?{}", name.text)),
                Component::Any => (ComponentCode::Any, "_".to_owned()),
            };
            codes.push(code);
            texts.push(text);
        }
        let mut bound: Vec<&str> = Vec::new();
        for (i, component) in components.iter().enumerate() {
            let Component::Bind(name) = component else { continue };
            if bound.contains(&name.text.as_str()) {
                let span = if name.span.end > 0 { name.span } else { stmt.span };
                let message = format!("`{}` is bound twice in one pattern", name.text);
                self.error(Diagnostic::new(span, message).help("use another name, or `_` for anything"));
            }
            bound.push(&name.text);
            codes[i] = ComponentCode::Bind(self.declare_local(name, false));
        }
        let text = if texts.len() == 1 { texts.concat() } else { format!("({})", texts.join(", ")) };
        ArmCode { components: Some(codes), to: 0, text }
    }
}
