//! Reading and printing: what is good reads back as it was printed, what is bad is reported at its place with
//! a remedy, and nothing, however odd or large, makes the parser panic, hang or overflow the stack.

mod random;

use std::time::{Duration, Instant};

use mazurka_litmus::ast::{
    Arm, Ast, Block, Component, Dest, Expr, ExprKind, Init, Item, Name, Pattern, Span, Stmt, StmtKind,
    UnaryOp,
};
use mazurka_litmus::{Diagnostic, Source, parse, place, print, print_expr, print_stmt_head, render};
use random::Random;

fn source(text: impl Into<String>) -> Source {
    Source { name: "test.maz".to_string(), text: text.into() }
}

fn read(text: &str) -> Ast {
    let source = source(text);
    parse(&source).unwrap_or_else(|errors| panic!("{}", render(&errors, &source, false)))
}

fn errors(text: &str) -> Vec<Diagnostic> {
    parse(&source(text)).expect_err(text)
}

/// The first statement of the first process of a file that consists of it.
fn statement(text: &str) -> Stmt {
    match read(&format!("process p {{ {text} }}")).items.remove(0) {
        Item::Process(mut process) => process.body.statements.remove(0),
        other => panic!("{other:?}"),
    }
}

fn expr(text: &str) -> Expr {
    match statement(&format!("assume {text};")).kind {
        StmtKind::Assume(expr) => expr,
        other => panic!("{other:?}"),
    }
}

/// Programs that use all of the language.
const GOOD: &[&str] = &[
    "process p {}",
    "// words\nparam n = 2; const A = -1;\nvar x = 0, y, a[n + 1] = 7, b[3] = [1, -2, 3,];\nlock m, l[n]; condvar c, d[n];\n\
     process p { skip; } /* more */ process q[i in 1..n] {} process r[i in 0..=n - 1] { x = i; }\n\
     task t() {} task u(a1, a2,) { y = a1 + a2; }",
    "var x, a[3]; process p { let r = x; x = r + 1; r += x; r -= 1; a[r] = a[r + 1]; a[0] += 1; x -= a[a[2]]; }",
    "var x; process p { let r = fetch_add(x, 1); r = swap(a[1], r,); r = cas(x, r, r + 1); cas(x, 0, 1); swap(x, 2);\n\
     fetch_add(x, -1); let q = choose(3); choose(2); r = choose(q); }",
    "process p { lock(m); unlock(m); lock(l[i]); r = try_lock(m); try_lock(m); let s = try_lock(l[0]); wait(c, m);\n\
     notify_one(c); notify_all(d[i]); await x == 1 && y; }",
    "task t(a) {} process p { let h = spawn t(1); h = spawn t(1, 2,); spawn t(); join(h); join(p[i + 1]); send(h, 5);\n\
     send(p, (1, x)); send(p[0], (x + 1) * 2); send(p, (7)); send(p, ((1), 2,)); }",
    "process p { receive _; receive (_); receive 5; receive ?r; receive (1, ?r, _); receive (a) + 1; receive (?r);\n\
     receive -1; receive { (1, ?w) => { x = w; } _ => {} } receive { 1 => {} timeout => { skip; } }\n\
     receive { timeout => {} } receive { _ => {} } receive { 3 => {} } receive (r == 1) == 0; }",
    "process p { assert x; assert x == 1, \"a \\\"text\\\" with \\\\ and \\n and é, {}\"; assert 1, \"\"; assume !x; skip; }",
    "process p { if x { skip; } else if y {} else { if z {} } while true { break; continue; } for i in 0..n { x = i; }\n\
     for i in -1..=1 {} atomic { await x; y = 1; } if x {} else {} }",
    "\u{feff}process _x { _y = 1; __ = 2; }\r\n// no line after this",
];

#[test]
fn good_programs_read_back_as_printed() {
    for text in GOOD {
        let ast = read(text);
        let printed = print(&ast);
        assert_eq!(read(&printed), ast, "{printed}");
        assert_eq!(print(&read(&printed)), printed);
    }
}

#[test]
fn the_programs_of_the_repository_read_back_as_printed() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let files = ["corpus", "examples"].iter().filter_map(|folder| std::fs::read_dir(root.join(folder)).ok());
    for file in files.flatten().flatten().map(|entry| entry.path()) {
        if file.extension().is_some_and(|extension| extension == "maz") {
            let ast = read(&std::fs::read_to_string(&file).unwrap());
            assert_eq!(read(&print(&ast)), ast, "{}", file.display());
        }
    }
}

#[test]
fn a_program_is_printed_readably() {
    let text = "param n = 2;
var x, a[n] = [1, 2];

task t(v) {
    x = v;
}

process p[i in 0..=n] {
    let h = spawn t((i + 1) * 2);
    if x == 0 {
        skip;
    } else if !x {
    } else {
        receive {
            (1, ?w) => {
                x = w;
            }
            _ => {}
            timeout => {}
        }
    }
    send(p[i], (1, -x));
    assert x < 3 && (a[0] || x), \"late\\n\";
}
"
    .replace("!x {\n    }", "!x {}");
    assert_eq!(print(&read(&text)), text);
}

#[test]
fn statements_become_what_the_tree_says() {
    let name = Name::new;
    assert_eq!(
        statement("receive 5;").kind,
        StmtKind::Receive {
            arms: vec![Arm {
                pattern: Pattern::Tuple(vec![Component::Equal(Expr::number(5))]),
                body: Block::default(),
            }],
            timeout: None,
        }
    );
    let pattern = |text: &str| match statement(text).kind {
        StmtKind::Receive { arms, .. } => arms[0].pattern.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(pattern("receive _;"), Pattern::Any);
    assert_eq!(pattern("receive (_);"), Pattern::Tuple(vec![Component::Any]));
    assert_eq!(pattern("receive ?r;"), Pattern::Tuple(vec![Component::Bind(name("r"))]));
    let dest = |text: &str| match statement(text).kind {
        StmtKind::Choose { dest, .. } => dest,
        other => panic!("{other:?}"),
    };
    assert_eq!(dest("choose(2);"), Dest::None);
    assert_eq!(dest("r = choose(2);"), Dest::Local(name("r")));
    assert_eq!(dest("let r = choose(2);"), Dest::Let(name("r")));
    let StmtKind::If { arms, otherwise } = statement("if 1 {} else if 2 {} else {}").kind else { panic!() };
    assert_eq!((arms.len(), otherwise), (2, Some(Block::default())));
    let Item::Var(vars) = &read("var x, y = 1, z[2] = 1, w[1] = [1]; process p {}").items[0] else {
        panic!()
    };
    let all = Init::All(Expr::number(1));
    assert_eq!(
        vars.iter().map(|var| var.init.clone()).collect::<Vec<_>>(),
        [Init::Zero, all.clone(), all, Init::Each(vec![Expr::number(1)])]
    );
}

#[test]
fn expressions_have_the_shape_of_their_precedence() {
    let shape = |text: &str| fully_parenthesised(&expr(text));
    for (text, expected) in [
        ("a || b && c == d < e + f * -g", "(a || (b && (c == (d < (e + (f * (-g)))))))"),
        ("a - b - c", "((a - b) - c)"),
        ("a - (b - c)", "(a - (b - c))"),
        ("a * b / c % d", "(((a * b) / c) % d)"),
        ("!a == b", "((!a) == b)"),
        ("(a < b) < c", "((a < b) < c)"),
        ("!!a", "(!(!a))"),
        ("a--b", "(a - (-b))"),
        ("a - -5", "(a - -5)"),
        ("a-5", "(a - 5)"),
        ("-5", "-5"),
        ("-(5)", "(-5)"),
        ("- -5", "(--5)"),
        ("true + false", "(1 + 0)"),
        ("-9223372036854775808", "-9223372036854775808"),
        ("a[b[1] + 1]", "a[(b[1] + 1)]"),
        ("007", "7"),
    ] {
        assert_eq!(shape(text), expected, "{text}");
    }
}

fn fully_parenthesised(expr: &Expr) -> String {
    match &expr.kind {
        ExprKind::Number(value) => value.to_string(),
        ExprKind::Name(name) => name.text.clone(),
        ExprKind::Cell(name, index) => format!("{}[{}]", name.text, fully_parenthesised(index)),
        ExprKind::Unary(op, operand) => {
            let sign = if *op == UnaryOp::Neg { '-' } else { '!' };
            format!("({sign}{})", fully_parenthesised(operand))
        }
        ExprKind::Binary(op, left, right) => {
            format!("({} {op} {})", fully_parenthesised(left), fully_parenthesised(right))
        }
    }
}

#[test]
fn expressions_are_printed_with_no_more_parentheses_than_needed() {
    for text in [
        "a + b + c",
        "a - (b + c)",
        "(a + b) * c",
        "a || b && c",
        "(a || b) && c",
        "a < b == (c < d) < e",
        "(a == b) == c",
        "-x",
        "-(5)",
        "-(-5)",
        "-(-x)",
        "!-x",
        "!(a && b)",
        "a - -5",
        "a[i + 1] % 2",
    ] {
        let tree = expr(text);
        assert_eq!(print_expr(&tree), text);
        assert_eq!(print_expr(&expr(&format!("({text})"))), text);
    }
}

#[test]
fn heads_are_one_line() {
    for (text, head) in [
        ("x = r + 1;", "x = r + 1"),
        ("if x == 0 { skip; } else { skip; }", "if x == 0"),
        ("while !x { skip; }", "while !x"),
        ("for i in 0..n {}", "for i in 0..n"),
        ("receive (1, ?w);", "receive (1, ?w)"),
        ("receive { (1, ?w) => { skip; } timeout => {} }", "receive { (1, ?w) | timeout }"),
        ("atomic { x = 1; y = 2; }", "atomic { x = 1; y = 2 }"),
        ("atomic {}", "atomic { }"),
        ("atomic { if x { y = 1; } skip; }", "atomic { if x {...}; skip }"),
        (
            "atomic { a = 1; b = 1; c = 1; d = 1; e = 1; f = 1; g = 1; h = 1; i = 1; }",
            "atomic { a = 1; b = 1; c = 1; d = 1; e = 1; f = 1; ... }",
        ),
        ("let h = spawn t(1, 2);", "let h = spawn t(1, 2)"),
        ("assert x, \"two\\nlines\";", "assert x, \"two\\nlines\""),
    ] {
        assert_eq!(print_stmt_head(&statement(text)), head);
    }
}

/// A program, the message, its place, and a part of the remedy.
const BAD: &[(&str, &str, (u32, u32), &str)] = &[
    ("", "the file declares no process", (1, 1), "process main"),
    ("  // nothing\n", "the file declares no process", (1, 1), "process main"),
    ("var x;", "the file declares no process", (1, 1), "process main"),
    ("process p {\n    x = 1\n    y = 2;\n}", "a `;` is missing", (2, 10), "ends with `;`"),
    ("process p { skip }", "a `;` is missing", (1, 17), "ends with `;`"),
    ("var x\nprocess p {}", "a `;` is missing", (1, 6), "ends with `;`"),
    ("process p { x = 1 2; }", "expected `;`, found `2`", (1, 19), ""),
    ("process p { x = y and z; }", "expected `;`, found `and`", (1, 19), "`&&`"),
    ("process p { if x = 1 {} }", "`=` assigns; it does not compare", (1, 18), "`==`"),
    ("process p { x == 1; }", "`==` compares; it does not assign", (1, 15), "`=`"),
    ("process p { x = a & b; }", "there is no operator `&`", (1, 19), "`&&`"),
    ("process p { x = a | b; }", "there is no operator `|`", (1, 19), "`||`"),
    ("process p { x = a ^ b; }", "there is no operator `^`", (1, 19), "the operators are"),
    ("process p { if a <> b {} }", "there is no operator `<>`", (1, 18), "`!=`"),
    ("process p { if a => b {} }", "expected `{`, found `=>`", (1, 18), "`>=`"),
    ("process p { x++; }", "expected `=`, `+=` or `-=`, found `++`", (1, 14), "`x += 1`"),
    ("process p { a[i]--; }", "expected `=`, `+=` or `-=`, found `-`", (1, 17), "`a[i] -= 1`"),
    ("process p { asert x; }", "there is no statement `asert`", (1, 13), "`assert`"),
    ("process p { unlcok(m); }", "there is no operation `unlcok`", (1, 13), "`unlock`"),
    ("process p { if x {} elif y {} }", "there is no statement `elif`", (1, 21), "`else if`"),
    ("process p { f(1); }", "there is no operation `f`", (1, 13), "no functions"),
    ("process p { x = f(1); }", "there is no operation `f`", (1, 17), "no functions"),
    ("porcess p {}", "expected a declaration, found `porcess`", (1, 1), "`process`"),
    ("mutex m; process p {}", "expected a declaration, found `mutex`", (1, 1), "`lock`"),
    ("x = 1; process p {}", "a statement stands outside of every process", (1, 1), "var x"),
    ("process p {} }", "this `}` closes nothing", (1, 14), "remove"),
    ("process p {};", "this `;` ends nothing", (1, 13), "remove"),
    ("process p { ; }", "this `;` ends nothing", (1, 13), "skip"),
    (
        "process p { let wait = 1; }",
        "`wait` is a word of the language and can't be a name",
        (1, 17),
        "another",
    ),
    ("var lock; process p {}", "`lock` is a word of the language and can't be a name", (1, 5), "another"),
    ("process p { x = 9223372036854775808; }", "this number does not fit into 64 bits", (1, 17), "between"),
    ("process p { x = -9223372036854775809; }", "this number does not fit into 64 bits", (1, 17), "between"),
    ("process p { x = 0x10; }", "a number consists of decimal digits only", (1, 17), "prefix"),
    ("process p { x = 1.5; }", "all numbers are whole", (1, 17), "0..5"),
    ("process p {}\n/* the end", "this comment has no end", (2, 1), "`*/`"),
    ("process p { assert x, \"ab; }", "this text has no end", (1, 23), "close it"),
    ("process p { assert x, \"a\\t\"; }", "unknown escape in a text", (1, 25), "escapes are"),
    ("process p { assert x, y; }", "expected a text, found `y`", (1, 23), "quotes"),
    ("process p { assert(x, \"y\"); }", "expected `)`, found `,`", (1, 21), "no parentheses"),
    ("process p { if 0 < x < 9 {} }", "comparisons do not chain", (1, 22), "`0 < x && x < ...`"),
    ("process p { x = a == b != c; }", "comparisons do not chain", (1, 24), "&&"),
    (
        "process p { x = fetch_add(y, 1) + 1; }",
        "`fetch_add` stands alone",
        (1, 33),
        "`let r = fetch_add(y, 1);`",
    ),
    ("process p { x = 1 + cas(y, 0, 1); }", "`cas` stands alone", (1, 21), "let r"),
    ("process p { if try_lock(m) {} }", "`try_lock` stands alone", (1, 16), "let r"),
    ("process p { a[0] = swap(x, 1); }", "the value of `swap` goes into a local variable", (1, 20), "let r"),
    ("process p { var x = 1; }", "`var` stands at the top of the file", (1, 13), "let r"),
    ("process p { lock m; }", "a lock is declared at the top of the file", (1, 18), "`lock(m);`"),
    ("process p { let r; }", "expected `=`, found `;`", (1, 18), "let r = 0;"),
    ("process p { let r = 1, q = 2; }", "`let` declares one variable", (1, 22), "another `let`"),
    ("process p { else {} }", "this `else` belongs to no `if`", (1, 13), "follows"),
    ("process p { if x skip; }", "expected `{`, found `skip`", (1, 18), "braces"),
    ("process p { { skip; } }", "a block can't stand alone", (1, 13), "atomic"),
    ("process p { 5; }", "an expression is no statement", (1, 13), "assert"),
    ("process p {\n if x {\n", "this block is never closed", (2, 7), "the end of the file"),
    ("process p { skip;\nprocess q {}", "this block is never closed", (1, 11), "`process`"),
    ("process p { x = ; }", "expected an expression, found `;`", (1, 17), ""),
    ("process p { x = +1; }", "expected an expression, found `+`", (1, 17), "`-` and `!`"),
    ("process p { x = (1; }", "expected `)`, found `;`", (1, 19), ""),
    ("process p { x = a[1][2]; }", "arrays have one dimension", (1, 21), "one index"),
    ("process p { send(p, ()); }", "a message has at least one number", (1, 21), "0"),
    ("process p { receive; }", "expected a pattern, found `;`", (1, 20), "`_`"),
    ("process p { receive {} }", "this receive has no pattern", (1, 22), "`_`"),
    (
        "process p { receive { 1 => {}, 2 => {} } }",
        "nothing stands between the arms of a receive",
        (1, 30),
        "remove",
    ),
    (
        "process p { receive { timeout => {} 1 => {} } }",
        "`timeout` is the last arm of a receive",
        (1, 37),
        "move",
    ),
    ("process p { for i in 0 {} }", "expected `..`, found `{`", (1, 24), "`0..n`"),
    ("process p { let h = spawn(t); }", "expected the name of a task, found `(`", (1, 26), "spawn t("),
    ("process p() {}", "a process has no parameters", (1, 10), "task"),
    ("task t {} process p {}", "expected `(`, found `{`", (1, 8), "may be empty"),
    ("var x = [1, 2]; process p {}", "several values for a variable that is no array", (1, 9), "`var x[2]"),
    ("lock m = 0; process p {}", "locks and condition variables have no initial value", (1, 8), "free"),
    ("process p { é = 1; }", "a name has a strange letter", (1, 13), "letters"),
    ("process p { /* é */ x = @; }", "`@` means nothing here", (1, 25), "remove"),
    ("process p { x = 'a; }", "`'` means nothing here", (1, 17), "double quotes"),
    ("process p { x = 1; # words\n}", "`#` means nothing here", (1, 20), "`//`"),
    ("process p { x = 1\u{202e}; }", "`\\u{202e}` means nothing here", (1, 18), "remove"),
];

#[test]
fn bad_programs_are_reported_at_their_place_with_a_remedy() {
    for (text, message, at, remedy) in BAD {
        let source = source(*text);
        let errors = errors(text);
        let first = &errors[0];
        assert_eq!((first.message.as_str(), place(&source, first.span)), (*message, *at), "{text}");
        assert!(first.help.as_deref().unwrap_or("").contains(remedy), "{text}: {:?}", first.help);
        let shown = render(&errors, &source, false);
        assert!(shown.contains(&format!("test.maz:{}:{}", at.0, at.1)), "{shown}");
    }
}

#[test]
fn one_mistake_is_one_error() {
    for (text, ..) in BAD {
        let errors = errors(text);
        assert_eq!(errors.len(), 1, "{text}: {errors:#?}");
    }
}

#[test]
fn several_errors_are_reported_in_one_run() {
    let text = "var x = ;
process p {
    x = 1
    if x = 2 { asert x; }
    while x {
        y = (3;
        z = 4;
    }
    receive { 1 => x = 3; (2, => {} _ => { skip } }
}
procss q {}
process r { let = 3; @ }
";
    let source = source(text);
    let lines: Vec<u32> = errors(text).iter().map(|error| place(&source, error.span).0).collect();
    assert_eq!(lines, [1, 3, 4, 4, 6, 9, 9, 9, 11, 12, 12]);
    assert_eq!(errors(&format!("process p {{ {} }}", "x = ; ".repeat(1000))).len(), 20);
    assert_eq!(errors(&"@ ".repeat(1000)).len(), 20);
}

#[test]
fn diagnostics_are_rendered_with_line_label_and_remedy() {
    let source = source("process p {\n\tif x = 1 { skip; }\r\n}\n");
    let errors = parse(&source).unwrap_err();
    assert_eq!(
        render(&errors, &source, false),
        "error: `=` assigns; it does not compare
 --> test.maz:2:7
  |
2 |     if x = 1 { skip; }
  |          ^ within an expression
  |
  = help: to compare, write `==`
"
    );
    assert!(render(&errors, &source, true).contains('\u{1b}'));
}

#[test]
fn rendering_takes_every_span_and_every_line() {
    let long = format!("é{}\n\n\r\nß", "é x ".repeat(200_000));
    let begin = Instant::now();
    for text in ["", "\n", "a\r\n", "é", "a\u{202e}b\t\0c", &long] {
        let source = source(text);
        for (start, end) in
            [(0, 0), (0, 1), (1, 0), (1, 2), (2, 700_000), (777, 779), (700_000, 9), (u32::MAX, u32::MAX)]
        {
            let span = Span { file: 0, start, end };
            let shown = render(&[Diagnostic::new(span, "wrong").label("here").help("help")], &source, true);
            assert!(shown.contains("wrong") && shown.len() < 4000, "{shown}");
            let (line, column) = place(&source, span);
            assert!(line >= 1 && column >= 1);
        }
    }
    assert!(begin.elapsed() < Duration::from_secs(5));
}

/// Runs with a stack that is a fraction of that of any thread.
fn with_small_stack(run: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().stack_size(1 << 20).spawn(run).unwrap().join().unwrap();
}

#[test]
fn depth_is_limited_and_length_is_not() {
    with_small_stack(|| {
        let in_process = |inner: String| format!("process p {{ {inner} }}");
        let refused = |inner: String, message: &str| {
            let errors = errors(&in_process(inner));
            assert!(errors.iter().any(|error| error.message.contains(message)), "{errors:?}");
        };
        const N: usize = 100_000;
        let expression = "too long or too deeply nested";
        refused(format!("x = {};", vec!["1"; N].join(" + ")), expression);
        refused(format!("x = {}1{};", "(".repeat(N), ")".repeat(N)), expression);
        refused(format!("x = {};", "(".repeat(N)), expression);
        refused(format!("x = {}1;", "1||1&&1==1<1+1*(".repeat(N)), expression);
        refused(format!("x = {}1;", "-".repeat(N)), expression);
        refused(format!("x = {}1;", "!-(".repeat(N)), expression);
        refused(format!("x = {}1{};", "a[".repeat(N), "]".repeat(N)), expression);
        refused(format!("receive {}1;", "(".repeat(N)), expression);
        let blocks = "nested too deeply";
        refused("if 1 {".repeat(N) + &"}".repeat(N), blocks);
        refused("atomic {".repeat(N), blocks);
        refused("receive { _ => {".repeat(N), blocks);
        let both = format!("{}x = {}1;", "receive { _ => {".repeat(99), "1||1&&1==1<1+1*(".repeat(N));
        refused(both, expression);
        for good in [
            format!("x = {};", vec!["1"; 200].join(" + ")),
            format!("x = {}1{};", "(".repeat(300), ")".repeat(300)),
            format!("x = {}1{};", "-(".repeat(199), ")".repeat(199)),
            format!("x = {}1{};", "1 - (".repeat(199), ")".repeat(199)),
            format!("{}{}", "while 1 {".repeat(99), "}".repeat(99)),
            format!("if 1 {{}} {}", "else if 1 {}".repeat(N)),
            format!("send(p, ({}1));", "1, ".repeat(N)),
            "skip;".repeat(N),
        ] {
            let ast = read(&in_process(good));
            assert_eq!(read(&print(&ast)), ast);
        }
    });
}

#[test]
fn a_file_that_is_too_large_is_refused_at_once() {
    let large = source("x".repeat(20 << 20));
    let begin = Instant::now();
    let errors = parse(&large).unwrap_err();
    assert!(begin.elapsed() < Duration::from_millis(50));
    assert_eq!(errors.len(), 1);
    assert!(errors[0].message.contains("too large") && errors[0].span.end == 0);
    assert!(render(&errors, &large, false).len() < 2000);
}

#[test]
fn random_expressions_read_back_as_printed() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for _ in 0..5000 {
        let depth = random.below(7);
        let tree = random.expr(depth);
        let printed = print_expr(&tree);
        assert_eq!(expr(&printed), tree, "{printed}");
    }
}

#[test]
fn mutated_programs_are_read_or_refused_in_good_order() {
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    let (mut good, mut bad) = (0, 0);
    for round in 0..8000 {
        let text = random.mutated(GOOD[round % GOOD.len()]);
        let source = source(text.as_str());
        match parse(&source) {
            Ok(ast) => {
                good += 1;
                assert_eq!(read(&print(&ast)), ast, "{text}");
            }
            Err(errors) => {
                bad += 1;
                assert!((1..=20).contains(&errors.len()));
                for error in &errors {
                    let (start, end) = (error.span.start as usize, error.span.end as usize);
                    assert!(start <= end && text.get(start..end).is_some(), "{text}: {error:?}");
                }
                assert!(errors.is_sorted_by_key(|error| error.span.start));
                assert!(!render(&errors, &source, round % 2 == 0).is_empty());
            }
        }
    }
    assert!(good > 300 && bad > 3000, "the mutations are too weak or too strong: {good} good, {bad} bad");
}
