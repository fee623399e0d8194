//! Accessors: `data D = C(Int size, ..)` declares a function `size`, a case over the constructors that have
//! it.

use mazurka_syntax::Diagnostic;

use super::ast::{ConstructorDecl, Name};
use super::compiler::Compiler;
use super::types::Type;
use super::world::Value;
use crate::model::{Expr, ExprKind, Function, FunctionBody, Pattern, Slot, Span};

/// One accessor: its name, its type, and which argument of which constructor it is.
struct Accessor<'a> {
    name: Name<'a>,
    ty: Type,
    places: Vec<(usize, usize)>,
}

impl<'a> Compiler<'a> {
    /// Declares the accessors of the constructors of one type, the first of which has this number.
    pub(crate) fn declare_accessors(
        &mut self,
        module: usize,
        first: usize,
        constructors: &'a [ConstructorDecl<'a>],
    ) {
        let names =
            constructors.iter().flat_map(|constructor| &constructor.arguments).filter_map(|(_, name)| *name);
        for name in names {
            // Several constructors may have the same.
            if !self.accessor_numbers.contains_key(&(first, name.text)) {
                let function = self.declare_function(module, name, false);
                self.accessor_numbers.insert((first, name.text), function);
            }
        }
    }

    /// Gives the accessors of the constructors of one type their types and bodies.
    pub(crate) fn accessors(&mut self, constructors: &[(usize, Vec<Option<Name<'a>>>)]) {
        let mut accessors: Vec<Accessor<'a>> = Vec::new();
        for (number, names) in constructors {
            for (at, name) in names.iter().enumerate() {
                let Some(name) = *name else { continue };
                let ty = self.world.constructors[*number].arguments[at].clone();
                match accessors.iter_mut().find(|other| other.name.text == name.text) {
                    None => accessors.push(Accessor { name, ty, places: vec![(*number, at)] }),
                    Some(other)
                        if other.ty == ty
                            && other.places.iter().all(|(constructor, _)| constructor != number) =>
                    {
                        other.places.push((*number, at));
                    }
                    Some(other) => {
                        let diagnostic = Diagnostic::new(name.span, format!("`{}` is used twice", name.text))
                            .label("with another type, or in the same constructor")
                            .also(other.name.span, "used here");
                        self.report(diagnostic);
                    }
                }
            }
        }
        let Some(&(first, _)) = constructors.first() else { return };
        for accessor in accessors {
            self.accessor(first, accessor);
        }
    }

    fn accessor(&mut self, first: usize, accessor: Accessor<'a>) {
        let Accessor { name, ty, places } = accessor;
        let Some(&function) = self.accessor_numbers.get(&(first, name.text)) else { return };
        let data = self.world.constructors[places[0].0].data;
        let type_parameters = self.world.data(data).parameters.clone();
        let variables = (0..type_parameters.len() as u32).map(Type::Variable).collect();
        let info = &mut self.world.functions[function.index()];
        info.type_parameters = type_parameters;
        info.parameters = vec![("value".to_string(), Type::Data(data, variables))];
        info.result = ty;
        let span = name.span;
        let subject = slot(Slot(0), span);
        let branches = places.into_iter().filter_map(|(number, at)| {
            let constructor = &self.world.constructors[number];
            let Value::Constructor(id) = constructor.value else { return None };
            let mut arguments = vec![Pattern::Wildcard; constructor.arguments.len()];
            arguments[at] = Pattern::Bind(Slot(1));
            Some((Pattern::Construct(id, arguments), slot(Slot(1), span)))
        });
        let kind = ExprKind::Case(Box::new(subject), branches.collect());
        self.lowered[function.index()] = Some(Function {
            name: name.text.to_string(),
            parameters: 1,
            functions: 0,
            slots: 2,
            body: FunctionBody::Expr(Expr { kind, span }),
            span,
        });
    }
}

fn slot(slot: Slot, span: Span) -> Expr {
    Expr { kind: ExprKind::Slot(slot), span }
}
