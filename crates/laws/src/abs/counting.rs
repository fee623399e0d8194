//! Random ABS programs whose tasks often commute, or almost do: an object whose methods count, add and compare,
//! and call each other when a count is reached, so that who comes last creates what comes next.

use crate::random::Random;

/// A method calls later ones only, so that every program ends.
const METHODS: usize = 3;

fn pick(random: &mut Random, texts: &[&'static str]) -> &'static str {
    random.pick(texts).copied().unwrap_or("")
}

fn call(random: &mut Random, method: usize) -> String {
    let later = method + 1 + random.below(METHODS - method - 1);
    let argument = pick(random, &["v", "x", "y", "1", "n"]);
    let to = pick(random, &["this", "this", "o"]);
    let call = format!("{to}!m{later}({argument});");
    if to == "o" { format!("if (o != null) {call}") } else { call }
}

fn statement(random: &mut Random, method: usize, depth: usize) -> String {
    let (a, b) = (pick(random, &["x", "y"]), pick(random, &["x", "y", "n"]));
    let (c, k) = (pick(random, &["n", "n", "x", "y", "v"]), random.below(4));
    let compare = pick(random, &["==", ">", "<="]);
    match random.below(13) {
        0..=2 => "n = n + 1;".to_owned(),
        3 | 4 => format!("{a} = {a} + v;"),
        5 => format!("{a} = {b};"),
        6 => format!("{a} = v;"),
        7 => format!("l = Cons({a}, l);"),
        8 if depth < 2 => format!("if ({c} {compare} {k}) {{ {} }}", statement(random, method, depth + 1)),
        9..=11 if method + 1 < METHODS => {
            let call = call(random, method);
            if random.one_in(4) { call } else { format!("if ({c} {compare} {k}) {{ {call} }}") }
        }
        12 if random.one_in(3) => "if (o == null) { o = new C(null); }".to_owned(),
        12 => "{ Int i = v; while (i > 0) { x = x + 1; i = i - 1; } }".to_owned(),
        _ => format!("{b} = {b} + 1;"),
    }
}

/// A random program.
pub fn program(random: &mut Random) -> String {
    let mut text = String::from("module M;\nimport * from ABS.StdLib;\ninterface I {\n");
    (0..METHODS).for_each(|m| text += &format!("Unit m{m}(Int v);\n"));
    text +=
        "}\nclass C(I o) implements I {\n  Int n = 0;\n  Int x = 0;\n  Int y = 1;\n  List<Int> l = Nil;\n";
    for method in 0..METHODS {
        text += &format!("  Unit m{method}(Int v) {{\n");
        for _ in 0..1 + random.below(3) {
            text += &format!("    {}\n", statement(random, method, 0));
        }
        text += "  }\n";
    }
    text += "}\n{\n  I a = new C(null);\n  I b = new C(a);\n";
    for _ in 0..2 + random.below(3) {
        let object = pick(random, &["a", "a", "b"]);
        text += &format!("  {object}!m{}({});\n", random.below(METHODS), random.below(3));
    }
    text + "}\n"
}
