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
    assert_eq!(found, ["C.a C.a: o != null && o1 != null", "C.b C.b: v = v1"]);
    let found = of_methods("Unit a(Int v, I o) { x = head(l); } Unit b(Int v) { l = Cons(v, l); }");
    assert_eq!(found[2], "C.b C.b: v = v1 | Cons(v1, Cons(v, l)) = Cons(v, Cons(v1, l))");
    assert!(found[1].contains("defined head(l) = 1"), "{found:?}");
}

/// Names tell nothing: a function of the program may be called as one of the library that can't fail.
#[test]
fn functions_of_the_program_are_not_those_of_the_library() {
    let own = "module M; import * from ABS.StdLib;
        def Int max(Int a, Int b) = if b == 0 then head(Nil) else a;
        interface I { Unit a(Int v); Unit b(Int v); }
        class C implements I {
          Int x = 0;
          Unit a(Int v) { Int t = max(v, 0); x = x + 1; }
          Unit b(Int v) { x = x + 1; }
        }
        { I c = new C(); }";
    let found = pairs(own);
    assert_eq!(found[1], "C.a C.b: defined max(v, 0) = 1");
    let library = own.replace("def Int max(Int a, Int b) = if b == 0 then head(Nil) else a;", "");
    assert_eq!(pairs(&library)[1], "C.a C.b: true");
}

/// What a loop leaves behind is told by the field's name and the loop's line.
#[test]
fn loops_are_told_by_lines_and_fields() {
    let found = of_methods(
        "Unit a(Int v, I o) {
            while (v > x) { x = x + v; }
         }
         Unit b(Int v) { x = 0; }",
    );
    let all = found.join("\n");
    assert!(all.contains("x after the loop of line 4("), "{all}");
    assert!(all.contains("the end of the loop of line 4("), "{all}");
    assert!(!all.contains("field 0") && !all.contains("0:"), "{all}");
}

/// Futures of different tasks are different: they are the same but for names where they are of the same calls.
#[test]
fn what_is_made_is_of_who_makes_it() {
    let found = of_methods("Unit a(Int v, I o) { f = this!b(v); } Unit b(Int v) { skip; }");
    assert_eq!(found, ["C.a C.a: v = v1"]);
    let found = of_methods("Unit a(Int v, I o) { f = this!b(x); this!b(v); } Unit b(Int v) { skip; }");
    assert_eq!(found, ["C.a C.a: true"]);
}

/// The same program has the same constraints, in every thread and with every seed of a table of hashes.
#[test]
fn constraints_are_always_the_same() {
    let told = || {
        let texts = [
            include_str!("../../../../bench/abs/bb.abs"),
            include_str!("../../../../bench/abs/reg.abs"),
            include_str!("../../../../bench/abs/psort.abs"),
        ];
        let told = texts.map(|text| {
            let source = Source { name: "test.abs".to_owned(), text: text.to_owned() };
            let model = compile(&[source], &Options::default()).expect("it compiles");
            let mut table = super::constraints(&model, &Settings::default());
            table.pairs.iter_mut().for_each(|row| row.time = std::time::Duration::ZERO);
            format!("{:?}", table.pairs)
        });
        told.concat()
    };
    let threads: Vec<_> = (0..2).map(|_| std::thread::spawn(told)).collect();
    let first = told();
    assert!(first.contains("n > 0"), "{first}");
    for thread in threads {
        assert_eq!(thread.join().unwrap(), first);
    }
}
