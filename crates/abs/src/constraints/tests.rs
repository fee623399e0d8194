//! What is known of the papers' programs.

use mazurka_constraints::Settings;

use crate::language::{Options, Source, compile};

fn pairs(text: &str) -> Vec<String> {
    let source = Source { name: "test.abs".to_owned(), text: text.to_owned() };
    let model = compile(&[source], &Options::default()).expect("it compiles");
    let table = super::constraints(&model, &Settings::default());
    let row = |row: &mazurka_constraints::PairRow| {
        let name = |at: usize| table.blocks[at].name.as_str();
        assert_eq!(row.note, None);
        format!("{} {}: {}", name(row.blocks.0), name(row.blocks.1), row.constraints.join(" | "))
    };
    table.pairs.iter().map(row).collect()
}

#[test]
fn figure_1_of_cav18() {
    let expected = [
        "SharedImp.p SharedImp.p: true",
        "SharedImp.p SharedImp.q: z <= -1",
        "SharedImp.p SharedImp.r: true",
        "SharedImp.q SharedImp.q: true",
        "SharedImp.q SharedImp.r: z <= -2 | z >= 0 | z = x",
        "SharedImp.r SharedImp.r: true",
    ];
    assert_eq!(pairs(include_str!("../../../../bench/abs/cav18.abs")), expected);
}

#[test]
fn fib_and_res_of_cav18() {
    let text = "module Fib; import * from ABS.StdLib;
        interface Sum { Unit fib(Int v); Unit res(Int v); }
        class SumImp implements Sum {
          Int nr = 1;
          Int r = 0;
          Unit fib(Int v) {
            if (v <= 1) { this!res(v); } else { this!fib(v - 1); this!fib(v - 2); }
          }
          Unit res(Int v) {
            if (nr > 0) { nr = 0; r = v; } else { this!res(r + v); r = 0; nr = 1; }
          }
        }
        { Sum s = new SumImp(); s!fib(3); }";
    let expected = [
        "SumImp.fib SumImp.fib: true",
        "SumImp.fib SumImp.res: true",
        "SumImp.res SumImp.res: nr > 0 | v = v1",
    ];
    assert_eq!(pairs(text), expected);
}

/// A method on one object, given the rest of its class.
fn of_methods(methods: &str) -> Vec<String> {
    pairs(&format!(
        "module M; import * from ABS.StdLib;
         interface I {{ Unit a(Int v, I o); Unit b(Int v); }}
         class C implements I {{ Int x = 0; I other = null; List<Int> l = Nil; Fut<Unit> f = null; {methods} }}
         {{ I c = new C(); }}"
    ))
}

#[test]
fn who_may_throw_commutes_only_where_he_does_not() {
    let found = of_methods("Unit a(Int v, I o) { o!b(v); } Unit b(Int v) { x = v; }");
    assert_eq!(found, ["C.a C.a: o != null() && o1 != null()", "C.b C.b: v = v1"]);
    let found = of_methods("Unit a(Int v, I o) { x = head(l); } Unit b(Int v) { l = Cons(v, l); }");
    assert_eq!(found[2], "C.b C.b: v = v1 | Cons(v1, Cons(v, l)) = Cons(v, Cons(v1, l))");
    assert!(found[1].contains("defined head(l) = 1"), "{found:?}");
}

/// Futures of different tasks are different: they are the same but for names where they are of the same calls.
#[test]
fn what_is_made_is_of_who_makes_it() {
    let found = of_methods("Unit a(Int v, I o) { f = this!b(v); } Unit b(Int v) { skip; }");
    assert_eq!(found, ["C.a C.a: v = v1"]);
    let found = of_methods("Unit a(Int v, I o) { f = this!b(x); this!b(v); } Unit b(Int v) { skip; }");
    assert_eq!(found, ["C.a C.a: true"]);
}
