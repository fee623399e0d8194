//! Programs that are right: the benchmarks, and each feature of the language.

use std::path::Path;

use mazurka_abs::language::{Dialect, Options, Source, compile};

use super::{model, try_compile};

#[test]
fn all_benchmarks_and_examples_are_accepted() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folders = ["bench/abs", "examples/abs"].map(|folder| std::fs::read_dir(root.join(folder)).unwrap());
    let paths = folders.into_iter().flatten().map(|entry| entry.unwrap().path());
    let mut count = 0;
    for path in paths.filter(|path| path.extension().is_some_and(|ending| ending == "abs")) {
        let text = std::fs::read_to_string(&path).unwrap();
        if let Err(wrong) = try_compile(&text, &Options::default()) {
            panic!("{}:\n{wrong}", path.display());
        }
        count += 1;
    }
    assert!(count >= 25, "only {count} programs");
}

#[test]
fn a_program_with_most_features_is_accepted() {
    let model = model(include_str!("features.abs"));
    assert_eq!(model.classes.len(), 2);
    assert_eq!(model.interfaces.len(), 4, "and Object");
}

/// Accepts a main block.
fn main_block(statements: &str) {
    model(&format!("module T; interface I {{ Int m(Int x); }} {{ {statements} }}"));
}

/// Accepts declarations.
fn declarations(text: &str) {
    model(&format!("module T; {text} {{ skip; }}"));
}

#[test]
fn expressions() {
    for statements in [
        "Int x = -1; Int y = 1 + 2 * 3 - 4 % 5; Rat r = 1 / 2; Rat s = x;",
        "Bool b = !True || False && 1 < 2 == True;",
        "String s = \"a\\n\\t\\\"\\\\\" + \"b\";",
        "Int n = 3; String s = `n is $n$, n+1 is $n + 1$.`; String t = `plain \\$ \\``; String u = `$n$`;",
        "String s = `nested $`inner $1$`$ end`;",
        "Int x = when True then 1 else 2; Int y = if False then 1 else 2;",
        "Int x = let (Int a) = 1, (Int b) = a + 1 in a + b; Int y = let Int c = 2 in c;",
        "Int x = case Just(1) { Nothing => 0; Just(y) => y; };",
        "Int x = case Just(1) { Nothing => 0 | Just(y) => y };",
        "Int k = 1; Bool b = case Just(1) { Just(k) => True; _ => False; };",
        "List<Int> l = list[1, 2]; Set<Int> s = set[1, 2]; Map<Int, Bool> m = map[Pair(1, True)];",
        "List<Int> l = list[]; Set<Int> s = EmptySet; Map<Int, Bool> m = EmptyMap; Set<Int> t = Insert(1, s);",
        "I i = null; Bool b = i implements I; I j = i as I; Bool c = i == null;",
        "Bool b = list[1] < list[2]; Bool c = Just(1) >= Nothing; Bool d = \"a\" < \"b\";",
        "Rat r = max(1, 1 / 2); List<Rat> l = list[1, 1 / 2]; List<Rat> m = Cons(1, Nil);",
        "Maybe<List<Rat>> m = Just(list[1, 2]);",
    ] {
        main_block(statements);
    }
}

#[test]
fn type_arguments_are_inferred() {
    for statements in [
        "List<Rat> l = map((Int x) => x)(list[1]); Map<String, List<Int>> m = put(map[], \"a\", list[1]);",
        "Maybe<Rat> r = lookup(map[Pair(1, 1)], 1); Bool b = list[] == list[1] || Nil != Nil;",
        "I o = null; Bool b = Pair(1, null) == Pair(2, o) && Just(Nothing) == Just(Just(1));",
        "List<Int> l = foldr((Int x, List<Int> acc) => Cons(x, acc))(list[1], Nil);",
        "Int x = case Nil { Cons(y, _) => y; _ => 0; }; String s = toString(Nil) + toString(Left(1));",
        "List<Either<Int, Bool>> l = list[Left(1), Right(True)]; List<Rat> r = Cons(1, Cons(1 / 2, Nil));",
        "Bool c = True; List<Int> l = when c then Nil else list[1]; Int n = length(when c then Nil else list[\"a\"]);",
        "Pair<List<Int>, Map<Int, Set<String>>> p = Pair(Nil, map[Pair(1, set[])]);",
        "I i = null; Object o = null; List<Object> l = list[i, o]; Maybe<Object> m = Just(i); l = Cons(i, l);",
        "I i = null; Fut<Int> f = i!m(1); List<Fut<Rat>> l = list[f]; Rat r = f.get; f = null;",
        "Int n = length(head(list[Nil, list[1]])); Rat r = head(list[1, 1 / 2]) + fromJust(Just(2));",
    ] {
        main_block(statements);
    }
    for (statements, wrong) in [
        ("List<Int> l = list[1 / 2];", "expected `Int`, found `Rat`"),
        ("List<Int> l = map((Rat x) => x)(list[1]);", "expected `Int`, found `Rat`"),
        ("Object o = null; List<I> l = list[o];", "expected `I`, found `Object`"),
        ("Bool b = Just(1) == Left(1);", "expected `Maybe<Int>`, found `Either<Int, _>`"),
        ("Bool b = list[1] == list[True];", "expected `List<Int>`, found `List<Bool>`"),
        ("Maybe<Int> m = lookup(map[Pair(1, True)], 1);", "expected `Map<Int, Int>`, found `Map<Int, Bool>`"),
        ("Int x = fst(Pair(True, 1));", "expected `Pair<Int, _>`, found `Pair<Bool, Int>`"),
        ("Map<Int, Int> m = put(map[], 1, Nil);", "expected `Int`, found `List<_>`"),
    ] {
        let text = format!("module T; interface I {{ Int m(Int x); }} {{ {statements} }}");
        let answer = try_compile(&text, &Options::default()).unwrap_err();
        assert!(answer.contains(wrong), "{statements}\n{answer}");
    }
}

#[test]
fn second_order_functions_and_lambdas() {
    for statements in [
        "List<Int> l = map((Int x) => x + 1)(list[1, 2]);",
        "Int k = 2; List<Int> l = filter((Int x) => x > k)(list[1, 2, 3]);",
        "Int s = foldl((Int x, Int sum) => x + sum)(list[1, 2], 0);",
        "Rat s = foldr((Int x, Rat sum) => x / 2 + sum)(list[1, 2], 0);",
        "List<String> l = map(toString)(list[1, 2]); List<Int> m = map(length)(list[list[1], Nil]);",
        "List<List<Int>> l = map((List<Int> x) => map((Int y) => y + length(x))(x))(list[list[1]]);",
    ] {
        main_block(statements);
    }
    declarations(
        "def List<C> both<A, B, C>(f, g)(List<A> l) = map(g)(map(f)(l));
         def Int inc(Int x) = x + 1;
         def List<String> use() = both(inc, toString)(list[1]);
         def A twice<A>(f)(A a) = f(f(a));
         def Int five() = twice(inc)(3);
         def A times<A>(f)(Int n, A a) = when n == 0 then a else times(f)(n - 1, f(a));",
    );
}

#[test]
fn effects() {
    for statements in [
        "I i = null; Fut<Int> f = i!m(1); Int x = f.get; i!m(2);",
        "I i = null; Int x = await i!m(1); await i!m(2); x = await i!m(3);",
        "I i = null; Int x = i.m(1); i.m(2);",
        "Int x = random(6); random(2);",
        "List<I> l = list[null]; Fut<Int> f = head(l)!m(1); await f? & f? & True; suspend;",
    ] {
        main_block(statements);
    }
    model(
        "module T;
         interface I { Int m(); }
         class C implements I {
           Fut<Int> start() { Fut<Int> f = this!m(); return f; }
           Int m() { return 1; }
           Int n() { return this.m(); }
           Int o() { I i = new local C(); return await i!m(); }
           Unit run() { new C(); }
         }
         { I i = new C(); Object o = i; o = new C(); }",
    );
}

#[test]
fn statements() {
    for statements in [
        "skip; Int x = 1; x = 2; { Int x = 3; x = 4; } assert x == 2;",
        "Int x = 1; if (x == 1) x = 2; else if (x == 2) { x = 3; } else skip; while (x > 0) x = x - 1;",
        "foreach (x in list[1, 2]) println(toString(x)); foreach (x, i in list[\"a\"]) { Int n = i; String s = x; }",
        "Maybe<Int> m = Just(1); switch (m) { Just(x) => println(toString(x)); Nothing => { skip; } _ => skip; }",
        "Maybe<Int> m = Just(1); case m { Just(1) => skip; _ => skip; }",
        "try { Int x = truncate(1 / 0); } catch { DivisionByZeroException => skip; e => throw e; } finally skip;",
        "try throw ErrorException(\"x\"); catch ErrorException(s) => println(s);",
        "I i; Object o; I j = null; Fut<Int> f; f = i!m(1);",
        "case 1 { 1 => 2; _ => 3; }; -5; (1 + 2); max(1, 2); Bool b = ~(1 == 2);",
        "[Cost: 3] skip; [Near] I i = null; [Deadline: 10, Atomic] println(\"x\");",
    ] {
        main_block(statements);
    }
}

#[test]
fn data_types_and_functions() {
    declarations(
        "data Tree<A> = Leaf | Node(A value, Tree<A> left, Tree<A> right);
         data Shape = Circle(Int size) | Square(Int size, Int) | Point;
         type Forest = List<Tree<Int>>;
         exception Bad(Int code, String);
         def Int sum(Tree<Int> t) = case t { Leaf => 0; Node(v, l, r) => v + sum(l) + sum(r); };
         def Tree<A> insert<A>(Tree<A> t, A a) =
           case t { Leaf => Node(a, Leaf, Leaf); Node(b, l, r) => when a < b then Node(b, insert(l, a), r) else t; };
         def Int sizes(Shape s, Tree<Shape> t) = size(s) + size(value(t));
         def Forest plant(Int n) = when n == 0 then Nil else Cons(Node(n, Leaf, Leaf), plant(n - 1));
         def Int failing(Exception e) = case e { Bad(n, _) => n; _ => 0; };",
    );
}

#[test]
fn the_standard_library() {
    for statements in [
        "List<Int> l = list[1]; l = concatenate(l, reverse(appendright(without(copy(1, 2), 1), 3))); Int n = nth(l, 0);",
        "List<Int> l = tail(range(1, 3)); Int h = head(l); Bool b = isEmpty(l); n(l);",
        "Set<Int> s = set[1]; s = union(s, intersection(difference(s, s), remove(insertElement(s, 2), 1)));
         Int n = size(s) + take(s); Maybe<Int> m = takeMaybe(s); List<Int> l = elements(s);
         Bool b = contains(s, 1) && emptySet(s) && isSubset(s, s) && hasNext(s); Pair<Set<Int>, Int> p = next(s);",
        "Map<Int, String> m = map[Pair(1, \"a\")]; m = put(insert(removeKey(m, 1), Pair(2, \"b\")), 3, \"c\");
         Maybe<String> v = lookup(m, 1); v = lookupMaybe(m, 1); String s = lookupDefault(m, 1, \"\") + lookupUnsafe(m, 2);
         Set<Int> k = keys(m); List<String> l = values(m); List<Pair<Int, String>> e = entries(m); Bool b = emptyMap(m);",
        "Rat r = abs(-1 / 2) + pow(2, 3) + min(1, 2) + max(1, 2); Int n = truncate(r) + numerator(r) + denominator(r);",
        "Rat r = sqrt_newton(2, 1, 1 / 100) + exp_newton(1, 1 / 100); Bool b = and(True, or(False, not(True)));",
        "String s = substr(toString(Just(1)) + intToString(2), 0, strlen(\"ab\")); println(s); print(s);",
        "Maybe<Int> m = Just(1); Bool b = isJust(m); Int n = fromJust(m);
         Either<Int, Bool> e = Left(1); Bool c = isLeft(e) || isRight(e) || right(e); Int l = left(e);
         Triple<Int, Bool, String> t = Triple(1, True, \"a\"); Int a = fstT(t); Bool d = sndT(t); String s = trdT(t) + trd(t);
         Pair<Int, Bool> p = Pair(1, True); Int f = fst(p); Bool g = snd(p);",
    ] {
        model(&format!("module T; def Unit n(List<Int> l) = Unit; {{ {statements} }}"));
    }
}

#[test]
fn interfaces_and_classes() {
    model(
        "module T;
         interface A { Unit a(); }
         interface B extends A { Int b(A other); }
         interface C extends A, B { }
         class K(Int n, A next) implements C {
           Int count = n;
           A last = next;
           A none;
           { count = count + 1; this.count = this.twice(count); }
           Unit run() { suspend; }
           Unit a() { Int n = 5; count = n; this.n = n; }
           Int b(A other) { Int r = this.twice(count); return r; }
           Int twice(Int x) { return 2 * x; }
         }
         { C c = new K(1, null); A a = c; B b = c; a = new K(2, b); Int x = b.b(a); List<A> l = list[a, b, c]; }",
    );
}

#[test]
fn traits() {
    model(
        "module T;
         interface I { Int m(); Int n(); Bool p(); }
         trait A = { Int m() { return 1; } Int n() { return x; } }
         trait B = { Int m() { Int o = original(); return o + 1; } }
         trait D = A modifies B adds Bool p() { return True; }
         trait E = D modifies { Bool p() { Bool b = original(); return !b; } Unit q() { skip; } } removes { Unit q(); }
         class C implements I { Int x = 3; uses E; }
         class F implements I { Int x = 3; uses A removes Int n(); adds { Bool p() { return False; } }; Int n() { return 2; } }
         { I i = new C(); I j = new F(); }",
    );
}

#[test]
fn modules() {
    model(
        "module A.B;
         export f, T, K, I;
         export g;
         data T = C1 | C2;
         interface I { }
         class K implements I { }
         def Int f() = 1;
         def Int g() = 2;
         def Int hidden() = 3;
         module C;
         export *;
         export * from A.B;
         import g from A.B;
         def Int h() = g();
         module D;
         export f from A.B;
         module Main;
         import * from C;
         import f, T from A.B;
         import A.B.g;
         import I, K from A.B;
         def Int max(Int a, Int b) = a;
         { Int x = f() + A.B.g() + h() + C.h() + A.B.f() + max(1, 2) + ABS.StdLib.max(1, 2); I i = new A.B.K(); }
         module Last;",
    );
}

#[test]
fn several_files_are_one_program() {
    let file = |name: &str, text: &str| Source { name: name.to_string(), text: text.to_string() };
    let sources = [
        file("main.abs", "module Main; import * from Lib; { I i = new C(f()); i!m(); }"),
        file(
            "lib.abs",
            "module Lib; export *; interface I { Unit m(); } class C(Int n) implements I { Unit m() { skip; } } def Int f() = 1;",
        ),
    ];
    let model = compile(&sources, &Options::default()).unwrap();
    assert_eq!(model.files[1].name, "main.abs");
    assert_eq!(model.files[2].name, "lib.abs");
    assert_eq!(model.main.span.file, 1);
    assert_eq!(model.classes[0].span.file, 2);
}

#[test]
fn the_legacy_dialect() {
    let text = "module T; interface I { Unit m(Int as); }
        class C implements I {
          Int as = 0; Int when = 1; Int local = 2; Int switch = 3;
          Unit m(Int as) { this.as = as; when = when + switch + as; Bool b = ~(as == 1); Int x = 7 / 2; local = switch; }
        }
        { I i = new cog C(); I j = new C(); i!m(1); }";
    model(text);
    let options = Options { dialect: Some(Dialect::Legacy), ..Options::default() };
    try_compile("module T; class C { } { Int x = 7 / 2; new C(); }", &options).unwrap();
    assert!(try_compile("module T; { Int x = 7 / 2; }", &Options::default()).is_err());
}

#[test]
fn parameters() {
    let text =
        "module T; { Int n = 3; List<Int> l = Nil; n = n + 1; if (True) { Int inner = 2; } Object o; }";
    let given = |parameters: &[(&str, &str)]| {
        let parameters =
            parameters.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
        try_compile(text, &Options { parameters, ..Options::default() })
    };
    let model = given(&[("n", "2 + 2"), ("l", "list[1, 2]")]).unwrap();
    assert_eq!(model.files[2].name, "--param n");
    let wrong = |parameters: &[(&str, &str)]| given(parameters).unwrap_err();
    assert_eq!(
        wrong(&[("m", "1")]),
        "error: the program has no parameter `m`\n --> --param m:1:1\n  |\n1 | 1\n  | ^ unknown parameter\n  |\n  = help: it has: n, l\n"
    );
    assert!(wrong(&[("inner", "1")]).contains("no parameter `inner`"));
    assert!(wrong(&[("n", "True")]).contains("expected `Int`, found `Bool`"));
    assert!(wrong(&[("n", "1 +")]).contains("expected an expression"));
    assert!(wrong(&[("n", "new C()")]).contains("has an effect"));
    assert!(wrong(&[("n", "1"), ("n", "2")]).contains("given twice"));
    assert!(wrong(&[("n", "")]).contains("expected an expression"));
}
