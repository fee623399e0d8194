//! What is refused before it runs, with its place.

use mazurka_litmus::{Source, compile, parse};

/// Programs, and each error as `line:column message`.
const ERRORS: &[(&str, &[&str])] = &[
    // Names.
    ("var x; process p { counter = 1; counter = 2; }", &["1:20 `counter` is not declared"]),
    ("var counter; process p { contuer = 1; }", &["1:26 `contuer` is not declared"]),
    ("process p { let r = s; let s = 1; r = s; }", &["1:21 `s` is not declared"]),
    ("process p { r += 1; }", &["1:13 `r` is not declared"]),
    ("var x; lock x; process x {}", &["1:13 `x` is declared twice", "1:24 `x` is declared twice"]),
    ("process p { x = 1; } var x;", &["1:13 `x` is declared below its use"]),
    ("process p { join(q); } process q { send(p, 1); }", &[]),
    ("var x; process p { let x = 1; x = 2; }", &["1:24 `x` is a shared variable, declared at the top"]),
    ("process p { let q = 1; } process q {}", &["1:17 `q` is a process, declared at the top"]),
    ("param n = 1; process p[n in 0..2] {}", &["1:24 `n` is a parameter, declared at the top"]),
    ("task t(a, a) {} process p {}", &["1:11 `a` is a parameter twice"]),
    // Numbers that are computed before the run.
    ("var a[0 - 1]; process p {}", &["1:7 an array can't have -1 cells"]),
    ("lock l[1000001]; process p {}", &["1:8 an array can't have 1000001 cells"]),
    (
        "var a[1000000], b[1000000], c[1000000], d[1000000], e; process p {}",
        &["1:53 with `e` the program has more than 4000000 cells"],
    ),
    (
        "var a[1000000], b[1000000], c[1000000]; lock d[1000000], e; process p {}",
        &["1:1 the program has more than 4000000 variables, locks and condition variables"],
    ),
    ("var a[2] = [1, 2, 3]; process p {}", &["1:5 `a` has 2 cells, but is given 3 values"]),
    ("const A = 1 / 0; const B = 9223372036854775807 + A; process p {}", &["1:11 division by zero: 1 / 0"]),
    ("const A = B; const B = 1; process p {}", &["1:11 no parameter or constant `B` is declared above"]),
    ("var x; var a[x]; process p {}", &["1:14 `x` is a shared variable, not a number"]),
    ("const A = 0 && 1 / 0; const B = 1 || 1 / 0; process p {}", &[]),
    ("process p[i in 0..10001] {}", &["1:9 with 10001 of `p` there are too many processes"]),
    ("process p[i in 0..10000] {} process q {}", &[]),
    ("process p[i in 5..0] {}", &[]),
    // Arrays and single things.
    (
        "var x, a[2]; process p { x[0] = a; a = x[1]; }",
        &[
            "1:26 `x` is a single variable and has no cells",
            "1:33 `a` is an array and needs an index",
            "1:36 `a` is an array and needs an index",
            "1:40 `x` is a single variable and has no cells",
        ],
    ),
    (
        "var a[2]; process p { let r = 0; r[0] = a[2] + a[-1]; a[1 + 1] = 1; }",
        &[
            "1:34 `r` is a local variable and has no cells",
            "1:43 `a[2]` does not exist",
            "1:50 `a[-1]` does not exist",
            "1:57 `a[2]` does not exist",
        ],
    ),
    (
        "lock m, l[2]; process p { lock(l); lock(m[0]); lock(l[2]); }",
        &[
            "1:32 `l` is an array and needs an index",
            "1:41 `m` is a single one and takes no index",
            "1:55 `l[2]` does not exist",
        ],
    ),
    (
        "process p[i in 1..3] { join(p); join(p[0]); join(q[1]); } process q {}",
        &[
            "1:29 `p` is a family of processes and needs an index",
            "1:40 `p[0]` does not exist",
            "1:50 `q` is a single one and takes no index",
        ],
    ),
    // One kind of thing for another.
    (
        "var x; lock m; condvar c; process p { lock(x); wait(m, c); notify_one(m); unlock(p); }",
        &[
            "1:44 `x` is a shared variable, not a lock",
            "1:53 `m` is a lock, not a condition variable",
            "1:56 `c` is a condition variable, not a lock",
            "1:71 `m` is a lock, not a condition variable",
            "1:82 `p` is a process, not a lock",
        ],
    ),
    (
        "var x; lock m; task t() {} process p { x = m; x = p + t; join(t); join(x); send(m, 1); spawn p(); }",
        &[
            "1:44 `m` is a lock, not a number",
            "1:51 `p` is a process, not a number",
            "1:55 `t` is a task, not a number",
            "1:63 `t` is a task, not a process",
            "1:72 `x` is a shared variable, not a process",
            "1:81 `m` is a lock, not a process",
            "1:94 `p` is a process, not a task",
        ],
    ),
    (
        "param n = 1; const k = 2; lock m; process p[i in 0..2] { n = 1; k += 1; m = 2; p = 3; i = 4; }",
        &[
            "1:58 `n` is a parameter and can't be assigned",
            "1:65 `k` is a constant and can't be assigned",
            "1:73 `m` is a lock and can't be assigned",
            "1:80 `p` is a process and can't be assigned",
        ],
    ),
    (
        "var x; process p { let r = 0; r = fetch_add(r, 1); x = swap(x, 1); let l = 0; lock(l); }",
        &[
            "1:45 `r` is a local variable; `fetch_add` is for shared ones",
            "1:52 `x` is a shared variable, not a local variable",
            "1:84 `l` is a local variable",
        ],
    ),
    // Handles.
    (
        "task t() {} process p { let h = spawn t(); let r = h + 1; h = 2; let h = 3; join(r); join(h); }",
        &[
            "1:52 `h` is the handle of a process, not a number",
            "1:59 `h` holds a handle, it can't hold a number",
            "1:70 `h` holds a handle, it can't hold a number",
            "1:82 `r` is a number, not the handle of a process",
        ],
    ),
    (
        "task t(a) {} process p { let r = 1; r = spawn t(1); let h = spawn t(r); spawn t(h); receive ?h; join(h[0]); }",
        &[
            "1:37 `r` holds a number, it can't hold a handle",
            "1:81 `h` is the handle of a process, not a number",
            "1:94 `h` holds a handle, it can't hold a number",
            "1:102 `h` is a single one and takes no index",
        ],
    ),
    (
        "task t(a) {} process p { spawn t(); spawn t(1, 2); }",
        &["1:26 task `t` takes 1 arguments, not 0", "1:37 task `t` takes 1 arguments, not 2"],
    ),
    // What must not be shared.
    (
        "var x; lock l[2]; process p[i in 0..2] { lock(l[x]); join(p[x]); send(p[x], x); choose(x); receive (x, ?r); receive x + r; }",
        &[
            "1:49 the index of `l` can't read anything shared",
            "1:61 the index of `p` can't read anything shared",
            "1:73 the index of `p` can't read anything shared",
            "1:88 the number of choices can't read anything shared",
            "1:101 a pattern can't read anything shared",
            "1:117 a pattern can't read anything shared",
        ],
    ),
    (
        "process p { receive (?r, ?r); receive (?s, t); }",
        &["1:27 `r` is bound twice in one pattern", "1:44 `t` is not declared"],
    ),
    // What must be.
    ("process p { let r = 1; await r == 1; }", &["1:30 this `await` reads nothing shared"]),
    ("process p { await nothing == 1; }", &["1:19 `nothing` is not declared"]),
    // Loops and atomic blocks.
    (
        "var x; process p { break; if x { continue; } atomic { break; } while x { atomic { break; } } }",
        &[
            "1:20 `break` outside of a loop",
            "1:34 `continue` outside of a loop",
            "1:55 `break` outside of a loop",
        ],
    ),
    (
        "var x; lock m; condvar c; task t() {} process p { atomic { await x == 1; x = 2; await x == 1; while x {} atomic {} } }",
        &[
            "1:81 `await` after another statement can't stand in an atomic block",
            "1:95 `while` can't stand in an atomic block",
            "1:106 another atomic block can't stand in an atomic block",
        ],
    ),
    (
        "lock m; condvar c; task t() {} process p { atomic { lock(m); wait(c, m); join(p); receive _; } }",
        &[
            "1:53 a statement that can wait can't stand in an atomic block",
            "1:62 a statement that can wait can't stand in an atomic block",
            "1:74 a statement that can wait can't stand in an atomic block",
            "1:83 a statement that can wait can't stand in an atomic block",
        ],
    ),
    (
        "lock m; condvar c; task t() {} process p { atomic { unlock(m); try_lock(m); notify_one(c); notify_all(c); spawn t(); choose(2); } }",
        &[
            "1:53 an operation on a lock or a condition variable can't stand in an atomic block",
            "1:64 an operation on a lock or a condition variable can't stand in an atomic block",
            "1:77 an operation on a lock or a condition variable can't stand in an atomic block",
            "1:92 an operation on a lock or a condition variable can't stand in an atomic block",
            "1:107 `spawn` can't stand in an atomic block",
            "1:118 `choose` can't stand in an atomic block",
        ],
    ),
    // Lines are counted.
    (
        "var x;\n\nprocess p {\n    x = 1; /* é */ z = 2;\n    x = w + v;\n}",
        &["4:20 `z` is not declared", "5:9 `w` is not declared", "5:13 `v` is not declared"],
    ),
];

fn errors(text: &str, params: &[(String, i64)]) -> Vec<(String, Option<String>)> {
    let source = Source { name: "test.maz".to_owned(), text: text.to_owned() };
    let ast = parse(&source).unwrap_or_else(|errors| panic!("{text}: {errors:?}"));
    let errors = compile(&ast, &source, params).err().unwrap_or_default();
    errors
        .into_iter()
        .map(|error| {
            let (line, column) = mazurka_litmus::place(&source, error.span);
            (format!("{line}:{column} {}", error.message), error.help)
        })
        .collect()
}

#[test]
fn errors_are_told_with_their_places() {
    for (text, expected) in ERRORS {
        let found: Vec<String> = errors(text, &[]).into_iter().map(|(error, _)| error).collect();
        assert_eq!(found, *expected, "{text}");
    }
}

#[test]
fn errors_come_with_a_remedy() {
    for (text, _) in ERRORS {
        for (error, help) in errors(text, &[]) {
            let arithmetic = error.contains("overflows") || error.contains("division");
            assert!(help.is_some_and(|help| !help.is_empty()) || arithmetic, "{text}: {error} has no remedy");
        }
    }
    let help = |text: &str| errors(text, &[]).remove(0).1.unwrap();
    assert_eq!(help("var counter; process p { contuer = 1; }"), "did you mean `counter`?");
    assert_eq!(
        help("var x; lock l[2]; process p { lock(l[x + 1]); }"),
        "read it into a local variable first: `let v = x + 1;`"
    );
}

#[test]
fn parameters_are_set_by_the_caller() {
    let text = "param n = 1; param many = n + 1; var a[n]; process p { a[2] = 1; }";
    let found = |params: &[(&str, i64)]| {
        let params: Vec<(String, i64)> =
            params.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
        errors(text, &params)
    };
    assert_eq!(found(&[("n", 3)]), []);
    assert_eq!(found(&[])[0].0, "1:58 `a[2]` does not exist");
    let wrong = found(&[("n", 3), ("mani", 2), ("q", 1), ("n", 4)]);
    assert_eq!(wrong[0].0, "1:1 the program has no parameter `mani`");
    assert_eq!(wrong[0].1.as_deref(), Some("did you mean `many`?"));
    assert_eq!(wrong[1].1.as_deref(), Some("its parameters are: n, many"));
    assert_eq!(wrong[2].0, "1:1 the parameter `n` is given twice");
}

/// What is nested too deeply is not followed until the stack ends.
#[test]
fn trees_that_no_parser_makes_are_refused() {
    use mazurka_litmus::ast::{Ast, BinaryOp, Block, Expr, Item, Name, ProcessDecl, Stmt, StmtKind};
    let mut deep = Expr::name("x");
    for _ in 0..5000 {
        deep = Expr::binary(BinaryOp::Add, deep, Expr::number(1));
    }
    let statement = |kind| Stmt { kind, span: Default::default() };
    let mut nested = Block::default();
    for _ in 0..500 {
        let body = StmtKind::While { condition: Expr::number(1), body: nested };
        nested = Block { statements: vec![statement(body)] };
    }
    nested.statements.push(statement(StmtKind::Assume(deep.clone())));
    let process = ProcessDecl { name: Name::new("p"), family: None, body: nested };
    let items = vec![Item::Const(Name::new("k"), deep), Item::Process(process)];
    let errors = compile(&Ast { items }, &Source::default(), &[]).unwrap_err();
    assert_eq!(errors.len(), 1);
    assert!(errors[0].message.starts_with("nested more than"));
    let errors = compile(&Ast::default(), &Source::default(), &[]).unwrap_err();
    assert_eq!(errors[0].message, "the program has no process");
}
