//! Programs of absurd sizes: each is accepted or refused in good time, and nothing overflows.

use std::fmt::Write;
use std::time::{Duration, Instant};

use mazurka_abs::language::Options;

use super::try_compile;

/// Compiles a program within a time that a square of its size would exceed by far.
fn quickly(text: &str) -> Result<(), String> {
    let start = Instant::now();
    let result = try_compile(text, &Options::default()).map(|_| ());
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    result
}

fn refused(text: &str, why: &str) {
    let wrong = quickly(text).unwrap_err();
    assert!(wrong.contains(why), "expected {why:?}:\n{}", &wrong[..wrong.len().min(2000)]);
}

#[test]
fn deep_nesting_is_refused() {
    let deep = |open: &str, close: &str| format!("{}1{}", open.repeat(100_000), close.repeat(100_000));
    for (open, close) in [
        ("(", ")"),
        ("-", ""),
        ("1 + (", ")"),
        ("Just(", ")"),
        ("list[", "]"),
        ("when True then 1 else ", ""),
    ] {
        refused(&format!("module T; {{ Int x = {}; }}", deep(open, close)), "nested too deeply");
    }
    refused(&format!("module T; {{ Int x = 1{}; }}", " + 1".repeat(100_000)), "nested too deeply");
    refused(
        &format!("module T; {{ Int x = case 1 {{ {} => 1; }}; }}", deep("Just(", ")")),
        "nested too deeply",
    );
    refused(
        &format!("module T; {{ {}Int{} x = 1; }}", "List<".repeat(100_000), ">".repeat(100_000)),
        "nested too deeply",
    );
    refused(&format!("module T; {}{}", "{".repeat(100_000), "}".repeat(100_000)), "nested too deeply");
    refused(
        &format!("module T; {{ {} skip; }}", "if (True) skip; else ".repeat(100_000)),
        "nested too deeply",
    );
    refused(
        &format!("module T; {{ Bool b = True; await b{}; }}", " & b".repeat(100_000)),
        "nested too deeply",
    );
}

#[test]
fn what_is_just_not_too_deep_is_accepted() {
    let sum = format!("module T; {{ Int x = 1{}; }}", " + 1".repeat(190));
    quickly(&sum).unwrap();
    let parentheses = format!("module T; {{ Int x = {}1{}; }}", "(".repeat(190), ")".repeat(190));
    quickly(&parentheses).unwrap();
    let right = format!("module T; {{ Int x = {}1{}; }}", "1 + (".repeat(190), ")".repeat(190));
    quickly(&right).unwrap();
    let cases = format!(
        "module T; def Int f(Int n) = {}0{}; {{ skip; }}",
        "case n { 1 => let (Int x) = 1 in when True then ".repeat(60),
        " else 1; }".repeat(60)
    );
    quickly(&cases).unwrap();
    let blocks = format!("module T; {{ {}skip;{} }}", "if (True) { ".repeat(48), " }".repeat(48));
    quickly(&blocks).unwrap();
}

#[test]
fn long_programs_are_fast() {
    let mut text = String::from("module T;\n");
    for i in 0..3000 {
        writeln!(text, "def Int f{i}(Int x) = x + {i};").unwrap();
        writeln!(text, "interface I{i} {{ Int m{i}(Int x); }}").unwrap();
        writeln!(
            text,
            "class C{i} implements I{i} {{ Int a = {i}; Int m{i}(Int x) {{ return f{i}(x + a); }} }}"
        )
        .unwrap();
    }
    text.push_str("{\n");
    for i in 0..3000 {
        writeln!(text, "I{i} o{i} = new C{i}(); Int x{i} = await o{i}!m{i}({i});").unwrap();
    }
    text.push('}');
    quickly(&text).unwrap();
    quickly(&format!("module T; {{ {} }}", "skip; ".repeat(200_000))).unwrap();
}

#[test]
fn many_errors_are_cut_off() {
    let text = format!("module T; {{ {} }}", "Int x = unknown1(unknownTwo); ".repeat(20_000));
    let wrong = quickly(&text).unwrap_err();
    assert_eq!(wrong.matches("error: ").count(), 20);
    let text = format!("module T; {{ {} }}", "Int x = ; ".repeat(20_000));
    let wrong = quickly(&text).unwrap_err();
    assert_eq!(wrong.matches("error: ").count(), 20);
}

#[test]
fn types_that_double_are_refused() {
    let mut text = String::from("module T; type T0 = Int;\n");
    for i in 1..60 {
        writeln!(text, "type T{i} = Pair<T{}, T{}>;", i - 1, i - 1).unwrap();
    }
    refused(&(text + "{ skip; }"), "too large");
    let nested = format!("{}1{}", "d(".repeat(150), ")".repeat(150));
    refused(
        &format!("module T; def Pair<A, A> d<A>(A a) = Pair(a, a); {{ println(toString({nested})); }}"),
        "too large",
    );
}

#[test]
fn long_chains_of_declarations() {
    let chain = |declare: &dyn Fn(usize) -> String, count: usize| -> String {
        (1..count).map(declare).collect::<Vec<_>>().join("\n")
    };
    let synonyms = chain(&|i| format!("type T{i} = T{};", i + 1), 5000);
    refused(&format!("module T; {synonyms} type T5000 = Int; {{ skip; }}"), "stand for each other");
    let interfaces = chain(&|i| format!("interface I{i} extends I{} {{ }}", i + 1), 3000);
    refused(&format!("module T; {interfaces} interface I3000 {{ }} {{ skip; }}"), "extends more than");
    let traits = chain(&|i| format!("trait R{i} = R{}", i + 1), 3000);
    refused(
        &format!(
            "module T; {traits} trait R3000 = {{ Unit m() {{ skip; }} }} class C {{ uses R1; }} {{ skip; }}"
        ),
        "too large",
    );
    let functions = chain(&|i| format!("def Int f{i}(g)(Int x) = f{}(g)(x);", i + 1), 3000);
    refused(&format!("module T; {functions} def Int f3000(g)(Int x) = g(x); {{ skip; }}"), "not supported");
    let plain = chain(&|i| format!("def Int f{i}(Int x) = f{}(x);", i + 1), 3000);
    quickly(&format!("module T; {plain} def Int f3000(Int x) = x; {{ skip; }}")).unwrap();
    let modules = chain(&|i| format!("module M{i}; export * from M{};", i + 1), 1000);
    quickly(&format!("{modules}\nmodule M1000; export *; def Int f() = 1;\nmodule Main; import * from M1; {{ Int x = f(); }}"))
        .unwrap();
}

#[test]
fn traits_that_double_are_refused() {
    let mut text = String::from("module T; trait R0 = { Unit m() { skip; } }\n");
    for i in 1..40 {
        writeln!(text, "trait R{i} = R{} modifies R{}", i - 1, i - 1).unwrap();
    }
    refused(&(text + "class C { uses R39; } { skip; }"), "too large");
}

#[test]
fn modules_that_export_each_other() {
    let text = "module A; export * from B; import * from B; module B; export * from A; import * from A; { Int x = f(); }";
    refused(text, "there is no function `f`");
}

#[test]
fn functions_that_take_functions_and_wait_for_each_other() {
    let text = "module T; def Int a(f)(Int x) = b(f)(x); def Int b(f)(Int x) = a(f)(x); { skip; }";
    refused(text, "not supported: functions that take functions and call each other in a circle");
    let text = "module T; def Int a(f)(Int x) = f(list[f(x)]); { skip; }";
    assert!(quickly(text).is_err());
    let text = "module T; def Int a(f)(Int x) = a(f)(f(f(list[f(f(x))]))); { skip; }";
    assert!(quickly(text).is_err());
}

#[test]
fn files_that_are_too_large() {
    refused(&format!("module T; //{}\n{{ skip; }}", "x".repeat(17 << 20)), "too large");
}
