//! Patterns: checked against the type of what they match, and lowered.

use mazurka_syntax::Diagnostic;

use super::ast::{Name, Pattern, PatternKind};
use super::body::Body;
use super::signature::count;
use super::types::Type;
use super::world::{Entity, Space, Value};
use crate::model;

impl<'a> Body<'_, 'a> {
    /// Binds the variables of a pattern in the innermost scope. A variable that has a value already is
    /// compared.
    pub(crate) fn pattern(&mut self, pattern: &Pattern<'a>, subject: &Type) -> model::Pattern {
        let span = pattern.span;
        match &pattern.kind {
            PatternKind::Wildcard => model::Pattern::Wildcard,
            PatternKind::Int(number) => {
                let int = self.basic(|basics| basics.int);
                self.matches(pattern, &int, subject);
                model::Pattern::Int(number.clone())
            }
            PatternKind::Text(text) => {
                let string = self.basic(|basics| basics.string);
                self.matches(pattern, &string, subject);
                model::Pattern::Text(text.clone())
            }
            PatternKind::Null => {
                self.matches(pattern, &Type::Null, subject);
                model::Pattern::Null
            }
            PatternKind::Name(name) => {
                if let Some((variable, ty)) = self.variable(name) {
                    if self.join(&ty, subject).is_none() {
                        let message =
                            format!("`{name}` has a value already, of another type than what is matched");
                        let diagnostic = Diagnostic::new(span, message);
                        let (found, wanted) = (self.show(&ty), self.show(subject));
                        let diagnostic =
                            diagnostic.label(format!("this is `{found}`, compared with `{wanted}`"));
                        self.report(diagnostic.help("a new variable needs a name of its own"));
                    }
                    return model::Pattern::Equal(variable);
                }
                let ty = self.resolved(subject, span);
                model::Pattern::Bind(self.declare(Name { text: name, span }, ty))
            }
            PatternKind::Construct(path, parts) => {
                let Some(Entity::Constructor(number)) =
                    self.compiler.lookup(self.module, Space::Constructor, path)
                else {
                    // Their variables are known behind it, of whatever type.
                    for part in parts {
                        self.pattern(part, &Type::Error);
                    }
                    return model::Pattern::Wildcard;
                };
                self.constructor_pattern(pattern, number, parts, subject)
            }
        }
    }

    /// Reports a pattern that can't match values of the type.
    fn matches(&mut self, pattern: &Pattern<'a>, ty: &Type, subject: &Type) {
        if self.join(ty, subject).is_none() {
            self.no_match(pattern, ty, subject);
        }
    }

    fn no_match(&mut self, pattern: &Pattern<'a>, ty: &Type, subject: &Type) {
        let (found, wanted) = (self.show(ty), self.show(subject));
        let message = format!("this pattern is of type `{found}`, but what is matched is `{wanted}`");
        self.report(Diagnostic::new(pattern.span, message).label("never matches"));
    }

    fn constructor_pattern(
        &mut self,
        pattern: &Pattern<'a>,
        number: usize,
        parts: &[Pattern<'a>],
        subject: &Type,
    ) -> model::Pattern {
        let constructor = self.compiler.world.constructors[number].clone();
        let metas = self.inference.fresh_list(self.compiler.world.data(constructor.data).parameters.len());
        let ty = Type::Data(constructor.data, metas.clone());
        let matches = self.sub(subject, &ty);
        if !matches {
            self.no_match(pattern, &ty, subject);
        }
        if parts.len() != constructor.arguments.len() {
            let wanted = count(constructor.arguments.len(), "argument");
            let message = format!("`{}` has {wanted}, found {}", constructor.name, parts.len());
            self.report(Diagnostic::new(pattern.span, message).also(constructor.span, "declared here"));
        }
        let arguments = constructor.arguments.iter().map(|argument| match matches {
            true => argument.substitute(&metas).unwrap_or(Type::Error),
            false => Type::Error,
        });
        let arguments: Vec<Type> =
            arguments.chain(std::iter::repeat(Type::Error)).take(parts.len()).collect();
        let parts = parts.iter().zip(&arguments).map(|(part, ty)| self.pattern(part, ty)).collect();
        match constructor.value {
            Value::Unit => model::Pattern::Unit,
            Value::Bool(value) => model::Pattern::Bool(value),
            Value::Constructor(id) => model::Pattern::Construct(id, parts),
            Value::Made(_) => {
                let data = &self.compiler.world.data(constructor.data).name;
                let message = format!(
                    "`{}` can't be a pattern: how a `{data}` is built can't be seen",
                    constructor.name
                );
                let help = "write sets as `set[..]`, and look into them by `emptySet`, `contains`, `takeMaybe` or `elements`";
                self.report(
                    Diagnostic::new(pattern.span, message).label("not supported: this pattern").help(help),
                );
                model::Pattern::Wildcard
            }
        }
    }
}
