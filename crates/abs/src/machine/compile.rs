//! From a [`Model`] to an [`Image`].

mod expr;
mod stmt;

use crate::model::{FunctionBody, Guard, Model, Span};
use crate::value::Tag;

use super::code::{
    AwaitCode, Body, ClassCode, Code, ConstructorCode, FunctionCode, Image, Implementation, MethodCode, NONE,
    Op,
};
use super::facts::Facts;

/// Compiles a program.
pub fn compile(model: &Model) -> Image {
    let mut compiler = Compiler { image: empty(model), slots: 0 };
    for function in &model.functions {
        compiler.slots = function.slots;
        let implementation = match &function.body {
            FunctionBody::Expr(expr) => Implementation::Code(compiler.expression(expr)),
            FunctionBody::Builtin(builtin) => Implementation::Builtin(*builtin),
        };
        compiler.image.functions.push(FunctionCode { slots: compiler.slots, implementation });
    }
    for method in &model.methods {
        let body = compiler.body(&method.body, method.class.0);
        compiler.image.methods.push(MethodCode {
            name: method.name.clone(),
            parameters: method.parameters,
            body,
        });
    }
    for (k, class) in model.classes.iter().enumerate() {
        let init = compiler.body(&class.init, k as u32);
        compiler.image.bodies[init as usize].is_init = true;
        compiler.image.classes.push(ClassCode {
            name: class.name.clone(),
            implements: class.implements.iter().map(|interface| interface.0).collect(),
            fields: class.fields.iter().map(|field| field.name.clone()).collect(),
            init,
            run: class.run.map_or(NONE, |run| run.0),
            methods: class.methods.iter().map(|(name, method)| (name.0, method.0)).collect(),
        });
    }
    compiler.image.main = compiler.body(&model.main, NONE);
    let mut image = compiler.image;
    image.facts = Facts::find(&mut image);
    image
}

fn empty(model: &Model) -> Image {
    let mut by_name: Vec<usize> = (0..model.constructors.len()).collect();
    by_name.sort_by_key(|&k| (&model.constructors[k].name, k));
    let mut ranks = vec![0; by_name.len()];
    by_name.iter().enumerate().for_each(|(rank, &k)| ranks[k] = rank as u32);
    let constructors = model.constructors.iter().enumerate().map(|(k, constructor)| ConstructorCode {
        name: constructor.name.clone(),
        arity: constructor.arity,
        tag: Tag { rank: ranks[k], id: k as u32 },
    });
    Image {
        files: model.files.clone(),
        known: model.known,
        constructors: constructors.collect(),
        method_names: model.method_names.clone(),
        main: NONE,
        ..Image::default()
    }
}

/// The code of an expression over fields that has so many variables of its own, and how many it needs.
pub(super) fn compile_condition(image: &mut Image, expr: &crate::model::Expr, slots: u32) -> (Code, u32) {
    let mut compiler = Compiler { image: std::mem::take(image), slots };
    let code = compiler.expression(expr);
    *image = compiler.image;
    (code, compiler.slots)
}

struct Compiler {
    image: Image,
    /// How many slots the frame of what is being compiled has so far.
    slots: u32,
}

impl Compiler {
    fn body(&mut self, body: &crate::model::Body, class: u32) -> u32 {
        self.slots = body.slots.len() as u32;
        let mut writer = stmt::Writer { code: Vec::new(), spans: Vec::new() };
        self.statements(&body.statements, &mut writer);
        let unit = self.ready_made(Op::Unit, body.span);
        writer.push(super::code::Instr::Return(unit), end_of(body.span));
        self.image.bodies.push(Body {
            code: writer.code,
            spans: writer.spans,
            slots: self.slots,
            class,
            is_init: false,
        });
        self.image.bodies.len() as u32 - 1
    }

    /// A slot that no source variable has.
    fn hidden_slot(&mut self) -> u32 {
        self.slots += 1;
        self.slots - 1
    }

    /// An expression of one operation.
    fn ready_made(&mut self, op: Op, span: Span) -> Code {
        let start = self.image.ops.len() as u32;
        self.emit(op, span);
        self.emit(Op::Return, span);
        Code { start, end: start + 2 }
    }

    fn guard(&mut self, guard: &Guard) -> u32 {
        let mut code =
            AwaitCode { futures: Vec::new(), conditions: Vec::new(), fields: Vec::new(), own: NONE };
        let mut rest = vec![guard];
        while let Some(part) = rest.pop() {
            match part {
                Guard::Future(future) => {
                    let slot = variable(future);
                    code.futures.push((self.expression(future), slot));
                }
                Guard::Condition(condition) => {
                    let condition = self.expression(condition);
                    code.fields.extend(self.image.fields_of(condition));
                    code.conditions.push(condition);
                }
                Guard::And(a, b) => rest.extend([&**b, &**a]),
            }
        }
        code.fields.sort_unstable();
        code.fields.dedup();
        self.image.awaits.push(code);
        self.image.awaits.len() as u32 - 1
    }
}

/// The variable that an expression is, or [`NONE`].
fn variable(expr: &crate::model::Expr) -> u32 {
    match expr.kind {
        crate::model::ExprKind::Slot(slot) => slot.0,
        _ => NONE,
    }
}

/// Where a body ends.
fn end_of(span: Span) -> Span {
    Span { start: span.end.saturating_sub(1).max(span.start), ..span }
}
