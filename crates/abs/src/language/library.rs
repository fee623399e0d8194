//! The standard library: read, checked and lowered once, and the base of every program.

use std::sync::OnceLock;

use super::compiler::Compiler;
use super::parser::parse;
use super::world::{Basics, Entity, Space, Value, World};
use super::{Dialect, world};
use crate::model::{Builtin, Constructor, ConstructorId, Function, FunctionId, Known};

/// Its text, written in the language itself.
pub(crate) const TEXT: &str = include_str!("../stdlib.abs");

/// What is declared before a program.
#[derive(Clone, Debug, Default)]
pub(crate) struct Base {
    pub(crate) world: World,
    pub(crate) constructors: Vec<Constructor>,
    pub(crate) functions: Vec<Function>,
}

/// The standard library, and the constructors that the machine knows.
pub(crate) fn library() -> &'static (Base, Known) {
    static LIBRARY: OnceLock<(Base, Known)> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let parsed = parse(0, TEXT);
        assert!(parsed.diagnostics.is_empty(), "the standard library is broken: {:?}", parsed.diagnostics);
        let mut compiler = Compiler::new(Base::default(), &parsed.modules, Dialect::Current);
        compiler.is_library = true;
        compiler.declare();
        compiler.world.basics = basics(&compiler.world);
        opaque(&mut compiler.world);
        let implicit = ["ABS.StdLib", "ABS.Exceptions"];
        compiler.world.implicit = implicit.iter().map(|name| compiler.world.module_names[*name]).collect();
        let exception = compiler.world.basics.exception;
        for (_, number, _) in &compiler.exceptions {
            compiler.world.constructors[*number].data = exception;
        }
        compiler.signatures();
        compiler.bodies();
        assert!(
            compiler.diagnostics.is_empty(),
            "the standard library is broken: {:?}",
            compiler.diagnostics
        );
        let known = known(&compiler.world);
        let functions = compiler.lowered.into_iter().flatten().collect();
        (Base { world: compiler.world, constructors: compiler.constructors, functions }, known)
    })
}

/// What a name of the library stands for.
fn entity(world: &World, space: Space, name: &str) -> Entity {
    let found = world.modules.iter().find_map(|module| module.declared(space, name));
    found.unwrap_or_else(|| panic!("the standard library lacks {name}")).0
}

fn basics(world: &World) -> Basics {
    let data = |name| match entity(world, Space::Type, name) {
        Entity::Data(data) => data,
        other => panic!("{name} is {other:?}"),
    };
    Basics {
        unit: data("Unit"),
        bool: data("Bool"),
        int: data("Int"),
        rat: data("Rat"),
        string: data("String"),
        fut: data("Fut"),
        exception: data("Exception"),
        list: data("List"),
        object: match entity(world, Space::Type, "Object") {
            Entity::Interface(interface) => interface,
            other => panic!("Object is {other:?}"),
        },
        to_string: function(world, "toString"),
    }
}

fn function(world: &World, name: &str) -> FunctionId {
    match entity(world, Space::Function, name) {
        Entity::Function(function) => function,
        other => panic!("{name} is {other:?}"),
    }
}

/// Sets are values of the machine: their constructors are functions.
fn opaque(world: &mut World) {
    for (constructor, maker) in [("EmptySet", "noElements"), ("Insert", "insertElement")] {
        let maker = function(world, maker);
        if let Entity::Constructor(number) = entity(world, Space::Constructor, constructor) {
            world.constructors[number].value = Value::Made(maker);
        }
    }
}

fn known(world: &World) -> Known {
    let constructor = |name: &str| -> ConstructorId {
        match entity(world, Space::Constructor, name) {
            Entity::Constructor(number) => match world.constructors[number].value {
                world::Value::Constructor(id) => id,
                other => panic!("{name} is {other:?}"),
            },
            other => panic!("{name} is {other:?}"),
        }
    };
    Known {
        nil: constructor("Nil"),
        cons: constructor("Cons"),
        empty_map: constructor("EmptyMap"),
        insert_assoc: constructor("InsertAssoc"),
        division_by_zero: constructor("DivisionByZeroException"),
        assertion_failed: constructor("AssertionFailException"),
        pattern_match_failed: constructor("PatternMatchFailException"),
        null_pointer: constructor("NullPointerException"),
        object_dead: constructor("ObjectDeadException"),
        class_cast: constructor("ClassCastException"),
        error: constructor("ErrorException"),
    }
}

/// What the machine does itself, by the name of the function.
pub(crate) fn builtin(name: &str) -> Option<Builtin> {
    Some(match name {
        "toString" => Builtin::ToString,
        "substr" => Builtin::Substr,
        "strlen" => Builtin::Strlen,
        "truncate" => Builtin::Truncate,
        "numerator" => Builtin::Numerator,
        "denominator" => Builtin::Denominator,
        "pow" => Builtin::Pow,
        "println" | "print" => Builtin::Print,
        "noElements" => Builtin::SetEmpty,
        "insertElement" => Builtin::SetInsert,
        "remove" => Builtin::SetRemove,
        "contains" => Builtin::SetContains,
        "union" => Builtin::SetUnion,
        "intersection" => Builtin::SetIntersection,
        "difference" => Builtin::SetDifference,
        "size" => Builtin::SetSize,
        "elements" => Builtin::SetElements,
        "take" => Builtin::SetTake,
        _ => return None,
    })
}
