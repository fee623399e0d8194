//! Statements: checked and lowered.

use std::collections::HashMap;

use mazurka_syntax::Diagnostic;

use super::ast::{self, Assignee, Block, Expr, Name, StatementKind as Kind};
use super::body::{Body, Kind as BodyKind};
use super::compiler::Compiler;
use super::effect::is_effect;
use super::types::Type;
use crate::model::{self, ExprKind, Guard, Span, Statement, StatementKind, Target};

impl<'a> Body<'_, 'a> {
    /// The statements of a body or a block, in a scope of their own. In the last one of a body `return` may
    /// stand.
    pub(crate) fn block(&mut self, block: &Block<'a>) {
        self.open();
        self.statements(&block.statements);
        self.close();
    }

    fn statements(&mut self, statements: &[ast::Statement<'a>]) {
        for statement in statements {
            if self.compiler.full() {
                break;
            }
            self.statement(statement);
        }
    }

    /// The statements of the body of a method: `return` is the last.
    pub(crate) fn method_block(&mut self, block: &'a Block<'a>, name: Name, result: &ast::TypeUse) {
        self.open();
        match block.statements.split_last() {
            Some((ast::Statement { kind: Kind::Return(value), span }, before)) => {
                self.statements(before);
                if !self.compiler.full() {
                    self.return_value(value, *span, result);
                }
            }
            last => {
                self.statements(&block.statements);
                let throws = matches!(last, Some((ast::Statement { kind: Kind::Throw(_), .. }, _)));
                if !throws {
                    self.check_no_return(block, name, result);
                }
            }
        }
        self.close();
    }

    /// Reports a method that ends without `return` and should not.
    fn check_no_return(&mut self, block: &Block, name: Name, result: &ast::TypeUse) {
        let unit = self.basic(|basics| basics.unit);
        if self.result != unit && !self.result.is_error() {
            let end = Span { start: block.span.end.saturating_sub(1), ..block.span };
            let message = format!("the method `{}` ends without `return`", name.text);
            let shown = self.show(&self.result);
            let diagnostic = Diagnostic::new(end, message).label(format!("expected `return` of `{shown}`"));
            self.report(diagnostic.also(result.span, "because of this type"));
        }
    }

    fn return_value(&mut self, value: &Expr<'a>, span: Span, result: &ast::TypeUse) {
        let wanted = self.result.clone();
        let context = Some((result.span, "what the method returns".to_string()));
        let right = self.right_of(value, &wanted, context);
        let value = self.as_expr(right, span);
        self.emit(StatementKind::Return(value), span);
    }

    fn statement(&mut self, statement: &ast::Statement<'a>) {
        let span = statement.span;
        let kind = match &statement.kind {
            Kind::Skip => return,
            Kind::Declare(ty, name, value) => return self.declaration(ty, *name, value.as_ref(), span),
            Kind::Assign(assignee, value) => return self.assignment(assignee, value, span),
            // Its value is not wanted.
            Kind::Expr(expr) => {
                let right = self.right(expr, None);
                return self.assign(None, right, span);
            }
            Kind::Block(block) => return self.block(block),
            Kind::Return(value) => return self.misplaced_return(value, span),
            Kind::Assert(condition) => StatementKind::Assert(self.condition(condition)),
            Kind::If(condition, yes, no) => {
                let condition = self.condition(condition);
                let yes = self.nested(yes);
                let no = no.as_ref().map_or_else(Vec::new, |no| self.nested(no));
                StatementKind::If(condition, yes, no)
            }
            Kind::While(condition, body) => {
                let condition = self.condition(condition);
                StatementKind::While(condition, self.nested(body))
            }
            Kind::ForEach { element, index, list, body } => self.foreach(*element, *index, list, body),
            Kind::Switch(subject, branches) => {
                let subject = self.infer(subject, None);
                let branches = self.branches(branches, &subject.ty);
                StatementKind::Switch(subject.expr, branches)
            }
            Kind::Try { body, handlers, finally } => {
                let body = self.nested(body);
                let exception = self.basic(|basics| basics.exception);
                let handlers = self.branches(handlers, &exception);
                let finally = finally.as_ref().map_or_else(Vec::new, |finally| self.nested(finally));
                StatementKind::Try { body, handlers, finally }
            }
            Kind::Throw(value) => {
                self.forbid_in_init(span, "`throw`");
                let exception = self.basic(|basics| basics.exception);
                StatementKind::Throw(self.check(value, &exception))
            }
            Kind::Await(guard) => {
                self.forbid_in_init(span, "`await`");
                StatementKind::Await(self.guard(guard))
            }
            Kind::Suspend => {
                self.forbid_in_init(span, "`suspend`");
                StatementKind::Suspend
            }
        };
        self.emit(kind, span);
    }

    /// A statement that is a part of another.
    fn nested(&mut self, statement: &ast::Statement<'a>) -> Vec<Statement> {
        self.lowered_apart(|this| this.statement(statement))
    }

    fn branches(
        &mut self,
        branches: &[(ast::Pattern<'a>, ast::Statement<'a>)],
        subject: &Type,
    ) -> Vec<(model::Pattern, Vec<Statement>)> {
        let lower = |(pattern, statement): &(ast::Pattern<'a>, ast::Statement<'a>)| {
            self.branch(pattern, subject, |this| this.nested(statement))
        };
        branches.iter().map(lower).collect()
    }

    fn declaration(&mut self, ty: &ast::TypeUse<'a>, name: Name<'a>, value: Option<&Expr<'a>>, span: Span) {
        let resolved = self.resolve_type(ty);
        let context = Some((ty.span, "its type".to_string()));
        let right = match value {
            Some(value) => self.right_of(value, &resolved, context),
            None => {
                self.check_uninitialised(&resolved, name);
                super::effect::Right::Pure(model::Expr { kind: ExprKind::Null, span }, resolved.clone())
            }
        };
        // Only now: its initial value does not know it.
        let slot = self.declare(name, resolved);
        self.assign(Some(Target::Slot(slot)), right, span);
    }

    /// Reports a variable that has no value and can't be null.
    pub(crate) fn check_uninitialised(&mut self, ty: &Type, name: Name) {
        let is_future = matches!(ty, Type::Data(data, _) if *data == self.compiler.world.basics.fut);
        if !ty.is_reference() && !is_future && !ty.is_error() {
            let shown = self.show(ty);
            let message = format!("`{}` needs an initial value", name.text);
            let diagnostic = Diagnostic::new(name.span, message).label(format!("this is `{shown}`"));
            self.report(diagnostic.help("only references and futures go without one: they are `null` then"));
        }
    }

    fn assignment(&mut self, assignee: &Assignee<'a>, value: &Expr<'a>, span: Span) {
        let (target, ty) = match assignee {
            Assignee::Field(name) => match self.field(name.text) {
                Some((field, ty)) => (Some(Target::Field(field)), ty),
                None => {
                    self.unknown_field(*name);
                    (None, Type::Error)
                }
            },
            Assignee::Name(name) => match self.variable(name.text) {
                Some((variable, ty)) => (Some(variable), ty),
                None => {
                    self.unknown_variable(*name);
                    (None, Type::Error)
                }
            },
        };
        let right = self.right_of(value, &ty, None);
        self.assign(target, right, span);
    }

    fn misplaced_return(&mut self, value: &Expr<'a>, span: Span) {
        let diagnostic = match self.kind {
            BodyKind::Main => Diagnostic::new(span, "the main block returns nothing").label("no method"),
            BodyKind::Init => Diagnostic::new(span, "an init block returns nothing").label("no method"),
            _ => Diagnostic::new(span, "`return` is the last statement of a method").label("not the last").help(
                "keep the value in a variable that is declared at the top of the method, and return it at the end",
            ),
        };
        self.report(diagnostic);
        if !is_effect(value) {
            self.infer(value, None);
        }
    }

    fn foreach(
        &mut self,
        element: Name<'a>,
        index: Option<Name<'a>>,
        list: &Expr<'a>,
        body: &ast::Statement<'a>,
    ) -> StatementKind {
        let typed = self.infer(list, None);
        let ty = self.inference.fresh();
        let wanted = Type::Data(self.compiler.world.basics.list, vec![ty.clone()]);
        if !self.sub(&typed.ty, &wanted) {
            let found = self.show(&typed.ty);
            let diagnostic = Diagnostic::new(list.span, format!("expected a list, found `{found}`"));
            let data = match self.resolved(&typed.ty, list.span) {
                Type::Data(data, _) => self.compiler.world.data(data).name.clone(),
                _ => String::new(),
            };
            let diagnostic = diagnostic.label(format!("this is `{found}`"));
            self.report(match data.as_str() {
                "Set" => diagnostic.help("`elements(..)` gives the elements of a set as a list"),
                "Map" => diagnostic.help("`entries(..)` gives the entries of a map as a list"),
                _ => diagnostic,
            });
        }
        let ty = self.resolved(&ty, list.span);
        self.open();
        let element = self.declare(element, ty);
        let int = self.basic(|basics| basics.int);
        let index = index.map(|index| self.declare(index, int));
        let body = self.nested(body);
        self.close();
        StatementKind::ForEach { element, index, list: typed.expr, body }
    }

    fn guard(&mut self, guard: &ast::Guard<'a>) -> Guard {
        match guard {
            ast::Guard::Future(future) => {
                let typed = self.infer(future, None);
                self.future_value(&typed.ty, future.span);
                Guard::Future(typed.expr)
            }
            ast::Guard::Condition(condition) => {
                let typed = self.infer(condition, None);
                let bool = self.basic(|basics| basics.bool);
                if !self.sub(&typed.ty, &bool) {
                    let is_future = match self.resolved(&typed.ty, condition.span) {
                        Type::Data(data, _) => data == self.compiler.world.basics.fut,
                        _ => false,
                    };
                    match is_future {
                        true => {
                            let diagnostic =
                                Diagnostic::new(condition.span, "a future is waited for with `?`");
                            self.report(diagnostic.label("this is a future").help("write `await f?;`"));
                        }
                        false => self.mismatch(condition.span, &bool, &typed.ty, None),
                    }
                }
                Guard::Condition(typed.expr)
            }
            ast::Guard::And(left, right) => {
                let left = self.guard(left);
                Guard::And(Box::new(left), Box::new(self.guard(right)))
            }
        }
    }
}

impl<'a> Compiler<'a> {
    /// The main block; variables at its top may have other initial values than it says.
    pub(crate) fn lower_main(
        &mut self,
        module: usize,
        block: &'a Block<'a>,
        overrides: &HashMap<&str, Expr<'a>>,
    ) -> model::Body {
        let mut body = Body::new(self, module, BodyKind::Main);
        body.open();
        for statement in &block.statements {
            if body.compiler.full() {
                break;
            }
            match &statement.kind {
                Kind::Declare(ty, name, Some(value)) => {
                    let given = overrides.get(name.text).filter(|_| !is_effect(value));
                    body.declaration(ty, *name, Some(given.unwrap_or(value)), statement.span);
                }
                _ => body.statement(statement),
            }
        }
        body.close();
        model::Body { slots: body.slots, statements: body.out, span: block.span }
    }
}
