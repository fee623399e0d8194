//! What programs become.

use mazurka_abs::language::{Dialect, Options};
use mazurka_abs::model::{
    Binary, Body, Closure, Effect, Expr, ExprKind, FunctionBody, Guard, Model, Pattern, StatementKind, Target,
};

use super::{model, try_compile};

/// The text of each statement of a body, as its place says.
fn texts<'m>(model: &'m Model, body: &Body) -> Vec<&'m str> {
    let text = |span: mazurka_abs::model::Span| {
        &model.files[span.file as usize].text[span.start as usize..span.end as usize]
    };
    body.statements.iter().map(|statement| text(statement.span)).collect()
}

#[test]
fn places_of_statements() {
    let model = model(
        "module T;
interface I { Int m(Int x); }
class C implements I {
  Int f = 1;
  { f = f + 1; }
  Int m(Int x) {
    [Cost: 1] Int y = x;
    if (y > 0) { y = 0; } else y = 1;
    while (y < 3) y = y + 1;
    foreach (z in list[1]) { skip; }
    switch (y) { 1 => skip; _ => skip; }
    try { assert y == 1; } catch { _ => skip; }
    await f == 2;
    suspend;
    return y;
  }
}
{ I i = new C(); Int x = await i!m(1); }",
    );
    assert_eq!(texts(&model, &model.classes[0].init), ["Int f = 1", "f = f + 1"]);
    let method = &model.methods[0];
    assert_eq!(
        texts(&model, &method.body),
        [
            "Int y = x",
            "if (y > 0)",
            "while (y < 3)",
            "foreach (z in list[1])",
            "switch (y)",
            "try",
            "await f == 2",
            "suspend",
            "return y",
        ]
    );
    assert_eq!(method.body.slots[..2], ["x", "y"]);
    let awaited = "Int x = await i!m(1)";
    assert_eq!(texts(&model, &model.main), ["I i = new C()", awaited, awaited, awaited]);
}

#[test]
fn an_awaited_call_is_a_call_an_await_and_a_get() {
    let model = model("module T; interface I { Int m(); } { I i = null; Int x = await i!m(); await i!m(); }");
    let kinds: Vec<&StatementKind> = model.main.statements.iter().map(|statement| &statement.kind).collect();
    let [_, call, wait, get, second, last] = kinds[..] else { panic!("{kinds:?}") };
    let StatementKind::Effect(Some(Target::Slot(future)), Effect::Call { .. }) = call else {
        panic!("{call:?}")
    };
    let StatementKind::Await(Guard::Future(awaited)) = wait else { panic!("{wait:?}") };
    assert!(matches!(awaited.kind, ExprKind::Slot(slot) if slot == *future));
    let StatementKind::Effect(Some(Target::Slot(x)), Effect::Get(taken)) = get else { panic!("{get:?}") };
    assert_eq!(model.main.slots[x.index()], "x");
    assert!(matches!(taken.kind, ExprKind::Slot(slot) if slot == *future));
    assert!(matches!(second, StatementKind::Effect(Some(_), Effect::Call { .. })));
    assert!(
        matches!(last, StatementKind::Await(Guard::Future(_))),
        "it does not rethrow, so it gets nothing"
    );
}

/// Whether the objects of a main block are made in the cog of their creator.
fn local(model: &Model) -> Vec<bool> {
    let made = model.main.statements.iter().filter_map(|statement| match &statement.kind {
        StatementKind::Effect(_, Effect::New { local, .. }) => Some(*local),
        _ => None,
    });
    made.collect()
}

#[test]
fn cogs_of_new_objects() {
    assert_eq!(local(&model("module T; class C { } { new C(); new local C(); }")), [false, true]);
    assert_eq!(
        local(&model("module T; class C { } { new cog C(); new C(); new local C(); }")),
        [false, true, true]
    );
    let options = Options { dialect: Some(Dialect::Legacy), ..Options::default() };
    assert_eq!(local(&try_compile("module T; class C { } { new C(); }", &options).unwrap()), [true]);
}

/// The value that the first statement of the main block assigns.
fn first(statements: &str) -> ExprKind {
    let model = model(&format!("module T; {{ {statements} }}"));
    match model.main.statements.into_iter().next().unwrap().kind {
        StatementKind::Assign(_, expr) => expr.kind,
        other => panic!("{other:?}"),
    }
}

#[test]
fn operators() {
    let operator = |statements: &str| match first(statements) {
        ExprKind::Binary(operator, ..) => operator,
        other => panic!("{other:?}"),
    };
    let legacy = |statements: &str| {
        let options = Options { dialect: Some(Dialect::Legacy), ..Options::default() };
        let model = try_compile(&format!("module T; {{ {statements} }}"), &options).unwrap();
        match &model.main.statements[0].kind {
            StatementKind::Assign(_, Expr { kind: ExprKind::Binary(operator, ..), .. }) => *operator,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(operator("Rat x = 1 / 2;"), Binary::Divide);
    assert_eq!(operator("Rat x = 1 / 2; Bool b = ~True;"), Binary::Divide);
    assert_eq!(legacy("Int x = 1 / 2;"), Binary::DivideInts);
    assert_eq!(legacy("Rat x = (1 + 0 / 1) / 2;"), Binary::DivideInts, "both are Int there");
    assert_eq!(operator("String x = \"a\" + \"b\";"), Binary::Concatenate);
    assert_eq!(operator("Int x = 1 + 2 * 3;"), Binary::Add);
    assert_eq!(operator("Int x = (1 + 2) * 3;"), Binary::Multiply);
    assert_eq!(operator("Int x = 7 - 2 - 1;"), Binary::Subtract);
    assert_eq!(operator("Bool x = 1 < 2 == True;"), Binary::Equal);
    assert_eq!(operator("Bool x = !True && False || True;"), Binary::Or);
    assert_eq!(operator("String x = `a$1$`;"), Binary::Concatenate);
    let ExprKind::Binary(_, left, _) = first("Int x = 7 - 2 - 1;") else { panic!() };
    assert!(matches!(left.kind, ExprKind::Binary(Binary::Subtract, ..)), "it groups to the left");
}

#[test]
fn lists_are_built_of_constructors() {
    let model =
        model("module T; { List<Int> l = list[1, 2]; Unit u = Unit; Bool b = True; Set<Int> s = EmptySet; }");
    let value = |at: usize| match &model.main.statements[at].kind {
        StatementKind::Assign(_, expr) => &expr.kind,
        other => panic!("{other:?}"),
    };
    let ExprKind::Construct(cons, arguments) = value(0) else { panic!("{:?}", value(0)) };
    assert_eq!(*cons, model.known.cons);
    assert!(matches!(&arguments[1].kind, ExprKind::Construct(_, inner) if inner.len() == 2));
    assert!(matches!(value(1), ExprKind::Unit));
    assert!(matches!(value(2), ExprKind::Bool(true)));
    let ExprKind::Apply { function, arguments, .. } = value(3) else { panic!("{:?}", value(3)) };
    assert!(arguments.is_empty());
    assert!(matches!(model.functions[function.index()].body, FunctionBody::Builtin(_)));
}

#[test]
fn pattern_variables_that_have_a_value_are_compared() {
    let model = model(
        "module T; def Bool f(Int k, Maybe<Int> m) = case m { Just(k) => True; Just(j) => j == 1; Nothing => False; }; { skip; }",
    );
    let function = model.functions.iter().find(|function| function.name == "f").unwrap();
    let FunctionBody::Expr(body) = &function.body else { panic!() };
    let ExprKind::Case(_, branches) = &body.kind else { panic!() };
    let Pattern::Construct(just, first) = &branches[0].0 else { panic!() };
    assert_eq!(model.constructors[just.index()].name, "Just");
    assert!(matches!(&first[0], Pattern::Equal(Target::Slot(slot)) if slot.0 == 0));
    assert!(
        matches!(&branches[1].0, Pattern::Construct(_, parts) if matches!(parts[0], Pattern::Bind(slot) if slot.0 == 2))
    );
    assert_eq!((function.parameters, function.slots), (2, 3));
}

#[test]
fn closures_and_their_slots() {
    let model = model(
        "module T; { Int k = 1; List<Int> l = map((Int x) => x + k)(list[1]); List<String> s = map(toString)(l); }",
    );
    let closure = |at: usize| match &model.main.statements[at].kind {
        StatementKind::Assign(_, expr) => match &expr.kind {
            ExprKind::Apply { closures, .. } => &closures[0],
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    };
    let Closure::Lambda { parameters, .. } = closure(1) else { panic!() };
    assert_eq!(model.main.slots[parameters[0].index()], "x");
    assert!(matches!(closure(2), Closure::Function(_)));
    let map =
        model.functions.iter().find(|function| function.name == "map" && function.functions == 1).unwrap();
    assert_eq!(map.parameters, 1);
    let FunctionBody::Expr(body) = &map.body else { panic!() };
    let ExprKind::Case(_, branches) = &body.kind else { panic!() };
    let ExprKind::Construct(_, parts) = &branches[1].1.kind else { panic!() };
    assert!(matches!(parts[0].kind, ExprKind::ApplySlot { function, .. } if function.0 == 1));
}

#[test]
fn traits_are_flattened() {
    let model = model(
        "module T;
         trait A = { Int m() { return 1; } }
         class C { uses A modifies { Int m() { Int o = original(); return o; } }; }
         { new C(); }",
    );
    let class = &model.classes[0];
    assert_eq!(class.methods.len(), 2);
    let method = |name: &str| {
        let find = |(number, _): &&(_, _)| -> bool {
            let number: mazurka_abs::model::MethodName = *number;
            model.method_names[number.index()] == name
        };
        &model.methods[class.methods.iter().find(find).unwrap().1.index()]
    };
    let new = method("m");
    let StatementKind::Effect(_, Effect::SyncCall { callee, method: called, .. }) =
        &new.body.statements[0].kind
    else {
        panic!("{:?}", new.body)
    };
    assert!(matches!(callee.kind, ExprKind::This));
    let old = method(&model.method_names[called.index()]);
    assert!(
        matches!(&old.body.statements[0].kind, StatementKind::Return(expr) if matches!(expr.kind, ExprKind::Int(_)))
    );
}

#[test]
fn classes_know_their_interfaces_fields_and_run() {
    let model = model(
        "module T; interface A { } interface B extends A { }
         class C(Int p) implements B { Int f = p; A g; Unit run() { skip; } }
         class D { }
         { new C(1); }",
    );
    let names: Vec<&str> = model.classes[0]
        .implements
        .iter()
        .map(|interface| model.interfaces[interface.index()].name.as_str())
        .collect();
    assert_eq!(names, ["B", "A", "Object"]);
    let fields: Vec<&str> = model.classes[0].fields.iter().map(|field| field.name.as_str()).collect();
    assert_eq!(fields, ["p", "f", "g"]);
    assert_eq!(model.classes[0].parameters, 1);
    assert!(model.classes[0].run.is_some());
    assert!(model.classes[1].run.is_none());
    assert_eq!(model.classes[0].init.statements.len(), 2);
}

#[test]
fn random_is_an_effect() {
    let model = model("module T; { Int x = random(3); }");
    assert!(matches!(model.main.statements[0].kind, StatementKind::Effect(Some(_), Effect::Random(_))));
}

#[test]
fn parameters_replace_initial_values() {
    let parameters = vec![("n".to_string(), "7".to_string())];
    let options = Options { parameters, ..Options::default() };
    let model = try_compile("module T; { Int n = 3; Int m = n; }", &options).unwrap();
    let StatementKind::Assign(_, expr) = &model.main.statements[0].kind else { panic!() };
    assert!(matches!(&expr.kind, ExprKind::Int(number) if *number == 7.into()));
    let span = model.main.statements[0].span;
    assert_eq!(span.file, 1, "the statement is where it was");
}
