//! Whether a model of ABS is well-formed: every number stands for something, every place is in a file.

use mazurka_abs::model::*;

/// What is wrong with a model, if anything.
pub(crate) fn well_formed(model: &Model) -> Result<(), String> {
    let check = |class, slots| Checker { model, class, slots };
    for (at, function) in model.functions.iter().enumerate() {
        let here = check(None, function.slots);
        let FunctionBody::Expr(body) = &function.body else { continue };
        here.expr(body).map_err(|wrong| format!("function {at}, {}: {wrong}", function.name))?;
        here.need(function.parameters + function.functions <= function.slots, "slots for all parameters")?;
    }
    for (at, class) in model.classes.iter().enumerate() {
        check(Some(class), 0).body(&class.init).map_err(|wrong| format!("class {at}: {wrong}"))?;
        let sorted = class.methods.windows(2).all(|pair| pair[0].0 < pair[1].0);
        check(None, 0).need(sorted, "methods in order")?;
        for (name, method) in &class.methods {
            let known = name.index() < model.method_names.len() && method.index() < model.methods.len();
            check(None, 0)
                .need(known && model.methods[method.index()].class.index() == at, "its own methods")?;
        }
        let interfaces = class.implements.iter().all(|interface| interface.index() < model.interfaces.len());
        check(None, 0)
            .need(interfaces && class.parameters as usize <= class.fields.len(), "fields and interfaces")?;
    }
    for method in &model.methods {
        let class = model.classes.get(method.class.index());
        let here = check(class, 0);
        here.need(method.parameters as usize <= method.body.slots.len(), "slots for all parameters")?;
        here.body(&method.body).map_err(|wrong| format!("method {}: {wrong}", method.name))?;
    }
    check(None, 0).body(&model.main).map_err(|wrong| format!("main: {wrong}"))
}

type Checked = Result<(), String>;

/// A body that is looked at.
#[derive(Clone, Copy)]
struct Checker<'m> {
    model: &'m Model,
    class: Option<&'m Class>,
    slots: u32,
}

impl Checker<'_> {
    fn need(&self, holds: bool, what: &str) -> Checked {
        if holds { Ok(()) } else { Err(format!("not so: {what}")) }
    }

    fn span(&self, span: Span) -> Checked {
        let file = self.model.files.get(span.file as usize);
        let inside = file.is_some_and(|file| file.text.get(span.start as usize..span.end as usize).is_some());
        self.need(inside, &format!("{span:?} is a place"))
    }

    fn body(&self, body: &Body) -> Checked {
        self.span(body.span)?;
        Checker { slots: body.slots.len() as u32, ..*self }.statements(&body.statements)
    }

    fn statements(&self, statements: &[Statement]) -> Checked {
        statements.iter().try_for_each(|statement| {
            self.span(statement.span)?;
            self.statement(&statement.kind)
        })
    }

    fn statement(&self, kind: &StatementKind) -> Checked {
        match kind {
            StatementKind::Assign(target, expr) => self.target(*target).and(self.expr(expr)),
            StatementKind::Effect(target, effect) => {
                target.iter().try_for_each(|target| self.target(*target)).and(self.effect(effect))
            }
            StatementKind::Assert(expr) | StatementKind::Throw(expr) | StatementKind::Return(expr) => {
                self.expr(expr)
            }
            StatementKind::If(condition, yes, no) => {
                self.expr(condition).and(self.statements(yes)).and(self.statements(no))
            }
            StatementKind::While(condition, body) => self.expr(condition).and(self.statements(body)),
            StatementKind::ForEach { element, index, list, body } => {
                let slots = self.slot(*element).and(index.iter().try_for_each(|index| self.slot(*index)));
                slots.and(self.expr(list)).and(self.statements(body))
            }
            StatementKind::Switch(subject, branches) => self.expr(subject).and(self.branches(branches)),
            StatementKind::Try { body, handlers, finally } => {
                self.statements(body).and(self.branches(handlers)).and(self.statements(finally))
            }
            StatementKind::Await(guard) => self.guard(guard),
            StatementKind::Suspend => Ok(()),
        }
    }

    fn branches(&self, branches: &[(Pattern, Vec<Statement>)]) -> Checked {
        branches.iter().try_for_each(|(pattern, body)| self.pattern(pattern).and(self.statements(body)))
    }

    fn guard(&self, guard: &Guard) -> Checked {
        match guard {
            Guard::Future(expr) | Guard::Condition(expr) => self.expr(expr),
            Guard::And(left, right) => self.guard(left).and(self.guard(right)),
        }
    }

    fn target(&self, target: Target) -> Checked {
        match target {
            Target::Slot(slot) => self.slot(slot),
            Target::Field(field) => self.field(field),
        }
    }

    fn slot(&self, slot: Slot) -> Checked {
        self.need(slot.0 < self.slots, &format!("{slot:?} is one of {}", self.slots))
    }

    fn field(&self, field: FieldId) -> Checked {
        let known = self.class.is_some_and(|class| field.index() < class.fields.len());
        self.need(known, &format!("{field:?} is a field"))
    }

    fn effect(&self, effect: &Effect) -> Checked {
        match effect {
            Effect::New { class, arguments, .. } => {
                let parameters = self.model.classes.get(class.index()).map(|class| class.parameters as usize);
                self.need(parameters == Some(arguments.len()), "arguments of a class")?;
                self.exprs(arguments)
            }
            Effect::Call { callee, method, arguments } | Effect::SyncCall { callee, method, arguments } => {
                self.need(method.index() < self.model.method_names.len(), "the name of a method")?;
                self.expr(callee)?;
                self.exprs(arguments)
            }
            Effect::Get(expr) | Effect::Random(expr) => self.expr(expr),
        }
    }

    fn arity(&self, constructor: ConstructorId, parts: usize) -> Checked {
        let known = self.model.constructors.get(constructor.index());
        self.need(known.is_some_and(|known| known.arity as usize == parts), "parts of a constructor")
    }

    fn exprs(&self, exprs: &[Expr]) -> Checked {
        exprs.iter().try_for_each(|expr| self.expr(expr))
    }

    fn expr(&self, expr: &Expr) -> Checked {
        self.span(expr.span)?;
        match &expr.kind {
            ExprKind::Unit | ExprKind::Bool(_) | ExprKind::Int(_) | ExprKind::Text(_) | ExprKind::Null => {
                Ok(())
            }
            ExprKind::This => self.need(self.class.is_some(), "there is an object"),
            ExprKind::Slot(slot) => self.slot(*slot),
            ExprKind::Field(field) => self.field(*field),
            ExprKind::Construct(constructor, arguments) => {
                self.arity(*constructor, arguments.len()).and(self.exprs(arguments))
            }
            ExprKind::Apply { function, arguments, closures } => {
                let known = self.model.functions.get(function.index());
                let arity = known.map(|known| (known.parameters as usize, known.functions as usize));
                self.need(arity == Some((arguments.len(), closures.len())), "arguments of a function")?;
                self.exprs(arguments)?;
                closures.iter().try_for_each(|closure| self.closure(closure))
            }
            ExprKind::ApplySlot { function, arguments } => self.slot(*function).and(self.exprs(arguments)),
            ExprKind::Not(inner) | ExprKind::Negate(inner) => self.expr(inner),
            ExprKind::Implements(inner, interface) | ExprKind::As(inner, interface) => {
                self.need(interface.index() < self.model.interfaces.len(), "an interface")?;
                self.expr(inner)
            }
            ExprKind::Binary(_, left, right) => self.expr(left).and(self.expr(right)),
            ExprKind::If(condition, yes, no) => self.expr(condition).and(self.expr(yes)).and(self.expr(no)),
            ExprKind::Let(slot, value, body) => self.slot(*slot).and(self.expr(value)).and(self.expr(body)),
            ExprKind::Case(subject, branches) => {
                let branch = |(pattern, body): &(Pattern, Expr)| self.pattern(pattern).and(self.expr(body));
                self.expr(subject).and(branches.iter().try_for_each(branch))
            }
        }
    }

    fn closure(&self, closure: &Closure) -> Checked {
        match closure {
            Closure::Function(function) => {
                self.need(function.index() < self.model.functions.len(), "a function")
            }
            Closure::Slot(slot) => self.slot(*slot),
            Closure::Lambda { parameters, body } => {
                parameters.iter().try_for_each(|slot| self.slot(*slot)).and(self.expr(body))
            }
        }
    }

    fn pattern(&self, pattern: &Pattern) -> Checked {
        match pattern {
            Pattern::Bind(slot) => self.slot(*slot),
            Pattern::Equal(variable) => self.target(*variable),
            Pattern::Construct(constructor, parts) => {
                let parts_are = parts.iter().try_for_each(|part| self.pattern(part));
                self.arity(*constructor, parts.len()).and(parts_are)
            }
            _ => Ok(()),
        }
    }
}
