//! The standard library and the smaller forms of the language: they do what the reference implementation
//! does. Each program checks itself.

use crate::machine_support::{Seen, check, program, search};
use mazurka_explore::{Algorithm, Options, Order, explore};
use mazurka_program::{FailureKind, Footprints, Program, Run};

/// Checks that the assertions of a main block hold, with declarations before it.
fn holds(declarations: &str, main: &str) {
    let truth = check(&program(&format!("module M; {declarations} {{ {main} }}")));
    assert!(truth.failures.is_empty() && truth.deadlocks.is_empty(), "{main}\n{:?}", truth.failures);
}

#[test]
fn every_object_implements_object() {
    holds(
        "interface I { } class C implements I { } class D { }",
        "I c = new C(); Object d = new D();
         assert c implements Object; assert d implements Object; assert !(d implements I);
         Object same = c as Object; assert same == c;
         I none = null; assert !(none implements Object);",
    );
}

#[test]
fn to_string_prints_as_the_erlang_back_end() {
    holds(
        "data Person = Person(String, Int) | Nobody;",
        r#"String s = "a\"b";
         assert toString(s) == s && `$s$` == s;
         assert toString(list[s, "c"]) == "list[\"a\\\"b\",\"c\"]";
         assert toString(set["x", ""]) == "set[\"\",\"x\"]";
         assert toString(map[Pair("z", 1), Pair("", 2)]) == "map[Pair(\"z\",1),Pair(\"\",2)]";
         assert toString(Person("Joe", 15)) == "Person(\"Joe\",15)" && toString(Nobody) == "Nobody";
         assert toString(list[Just(1), Nothing]) == "list[Just(1),Nothing]";
         List<Int> nil = Nil; Set<Int> no = set[]; Map<Int, Int> none = map[];
         assert toString(nil) == "list[]" && toString(no) == "EmptySet" && toString(none) == "EmptyMap";
         assert toString(Triple(1 / 3, -4 / 2, True)) == "Triple(1/3,-2,True)" && toString(Unit) == "Unit";"#,
    );
}

#[test]
fn maps_are_lists_of_entries() {
    holds(
        "def Int second(Map<Int, Int> m) =
           case m { InsertAssoc(_, InsertAssoc(Pair(k, _), _)) => k; _ => -1; };",
        "Map<Int, Int> m = map[Pair(3, 30), Pair(1, 10)];
         assert entries(m) == list[Pair(3, 30), Pair(1, 10)] && values(m) == list[30, 10];
         assert keys(m) == set[1, 3] && second(m) == 1 && second(map[]) == -1;
         assert entries(put(m, 3, 31)) == list[Pair(3, 31), Pair(1, 10)];
         assert entries(put(m, 2, 20)) == list[Pair(3, 30), Pair(1, 10), Pair(2, 20)];
         Map<Int, Int> twice = insert(m, Pair(1, 11));
         assert lookup(twice, 1) == Just(11) && lookup(removeKey(twice, 1), 1) == Just(10);
         assert removeKey(removeKey(twice, 1), 1) == map[Pair(3, 30)] && removeKey(m, 7) == m;
         assert m != map[Pair(1, 10), Pair(3, 30)];",
    );
}

#[test]
fn functions_of_the_standard_library() {
    holds(
        "",
        r#"Map<Int, String> m = map[Pair(1, "One"), Pair(2, "Two"), Pair(3, "One")];
         assert lookupReverse(m, "One") == Just(1) && lookupReverse(m, "Three") == Nothing;
         assert lookupReverseDefault(m, "Two", -1) == 2 && lookupReverseDefault(m, "Three", -1) == -1;
         assert lookupDefault(m, 4, "?") == "?" && lookupUnsafe(m, 2) == "Two";
         assert fromJustDefault(Just(1), 2) == 1 && fromJustDefault(Nothing, False) == False;
         assert (7 / 2) % 2 == 3 / 2 && 7 % (3 / 2) == 1 && (-7 / 2) % 2 == -3 / 2;
         Rat r = 5 % 3; assert r == 2;
         assert sqrt_newton(2, 1, 1 / 10) == 3 / 2 && sqrt_newton(4, 2, 1 / 100) == 2;
         assert exp_newton(1, 1 / 100) == 163 / 60 && exp_newton(-1, 1 / 100) == 60 / 163;"#,
    );
}

#[test]
fn forms_of_expressions_and_types() {
    holds(
        r"exception E(Int n); exception Plain;
          def Int f(Maybe<Int> m) = case m { | Nothing => 0 | Just(x) => x };
          def E make(Int n) = E(n);
          interface I { Unit fail(Plain p); } class C implements I { Unit fail(Plain p) { throw p; } }",
        r#"assert f(Just(3)) == 3 && f(Nothing) == 0;
         if True then 1 else 2; if (f(Nothing) == 0) then 1 else 2; if (True) { skip; } else skip;
         assert `a\T\\b\n\$\`$1$` == "a\\T\\\\b\\n$`1";
         E e = make(4); Exception x = e; List<E> l = list[e];
         try { throw x; } catch { E(n) => assert n == 4; }
         I i = new C(); Plain p = Plain; try { i.fail(p); } catch { Plain => skip; }"#,
    );
}

#[test]
fn initialisation_calls_within_its_cog_and_makes_local_objects_there() {
    let text = "module M;
         interface J { [Atomic] Int two(); }
         interface I { Int get(); }
         class D implements J { [Atomic] Int two() { return 2; } }
         class C implements I {
           Int f = 12; Int g = 0;
           { f = this.m(); J j = new local D(); g = j.two(); }
           [Atomic] Int m() { return f * 2; }
           Int get() { return f + g; }
         }
         { I i = new C(); Int x = i.get(); assert x == 26; }";
    let program = program(text);
    assert!(check(&program).failures.is_empty());
    let (summary, _) = search(&program, Algorithm::Optimal, Order::Natural);
    assert_eq!(summary.counts.events, 3, "main up to the call, get, the rest of main");
}

#[test]
fn an_initialisation_that_waits_for_another_cog_is_not_supported() {
    let program = program(
        "module M;
         interface J { [Atomic] Int two(); }
         class D implements J { [Atomic] Int two() { return 2; } }
         class C(J j) { Int g = 0; { g = j.two(); } }
         { J j = new D(); new C(j); }",
    );
    for algorithm in [Algorithm::Naive, Algorithm::Source, Algorithm::Optimal, Algorithm::Convergent] {
        let summary = explore(&program, algorithm, &Options::default(), &mut Seen::default());
        let reason = summary.not_exhaustive.map(|reason| reason.to_string()).unwrap_or_default();
        assert!(reason.contains("the initialisation of a C waits or draws at line 4"), "{reason}");
    }
}

#[test]
fn a_failure_that_futures_carry_is_placed_where_it_was() {
    let program = program(
        "module M;
         interface I { Int m(); Int n(I other); }
         class C implements I {
           Int m() { assert 1 == 2; return 1; }
           Int n(I other) { Int x = await other!m(); return x; }
         }
         { I i = new C(); I j = new C(); Int x = j.n(i); }",
    );
    let mut run = program.start(Footprints::Dynamic);
    let mut label = Default::default();
    loop {
        let Some(process) = run.enabled().iter().next() else { break };
        run.step(process, 0, &mut label).unwrap();
    }
    let [failure] = run.failures() else { panic!("{:?}", run.failures()) };
    assert_eq!(failure.kind, FailureKind::Assertion);
    assert_eq!(failure.message, "assertion failed: 1 == 2 (AssertionFailException leaves main)");
    assert_eq!(failure.place.as_ref().map(|place| (place.line, place.column)), Some((4, 22)));
    let thrower = failure.process.map(|process| run.names().display(process).to_string());
    assert_eq!(thrower.as_deref(), Some("0.0.0"), "the task of m");
}
