//! What programs do: values, failures, ends, states, and what is told of them.

use mazurka_litmus::{LitmusRun, Source, ast, compile};
use mazurka_program::{
    Explain, FailureKind, Footprints, Label, ProcessId, Program, Receives, Run, State, Stop,
};

use super::support::{enabled, program, waiting};

/// Runs the first process that can take a step, with its first outcome, until none can.
fn run_first(text: &str) -> LitmusRun {
    let mut run = program(text).start(Footprints::Dynamic);
    while let Some(&p) = enabled(&run).first() {
        run.step(p, 0, &mut Label::default()).unwrap();
        assert!(run.depth() < 1000, "{text} does not end");
    }
    run
}

fn steps(run: &mut LitmusRun, schedule: &[u32]) {
    for &p in schedule {
        run.step(ProcessId(p), 0, &mut Label::default()).unwrap();
    }
}

/// Programs that run process after process, and the shared memory at the end.
const VALUES: &[(&str, &[i64])] = &[
    ("var x, y = 7, a[2] = [3, 4], b[2] = 5; process p {}", &[0, 7, 3, 4, 5, 5]),
    ("var x; process p { x = 7 / 2 * 2 + -7 % 4 - -(1); }", &[4]),
    (
        "var x; process p { x = !5 + !0 * 2 + (1 < 2) + (2 <= 1) + (3 == 3) + (3 != 3) + (1 && 2) + (0 || 0); }",
        &[5],
    ),
    ("const A = 2; param n = A * 3; var x = n + 1; process p { x += n; x -= A; }", &[11]),
    ("var x; process p[i in -1..=2] { x = x * 10 + i + 2; }", &[1234]),
    ("var x; process p { for i in 0..3 { x = x * 10 + i; i = 7; } x = x * 10 + i; }", &[127]),
    ("var x; process p { for i in 3..1 { x = 1; } for i in 1..=1 { x += 5; } }", &[5]),
    (
        "var x; process p { let i = 0; while true { i += 1; if i == 2 { continue; } if i > 4 { break; } x = x * 10 + i; } }",
        &[134],
    ),
    ("var x; process p { let r = 3; if r == 1 { x = 1; } else if r == 3 { x = 2; } else { x = 3; } }", &[2]),
    ("var x = 1, y; process p { let r = cas(x, 1, 5); let s = cas(x, 1, 6); y = r * 10 + s; }", &[5, 10]),
    ("var x = 1, y; process p { let r = swap(x, 5); let s = fetch_add(x, 3); y = r * 10 + s; }", &[8, 15]),
    ("lock m; var x; process p { let r = try_lock(m); let s = try_lock(m); x = r * 10 + s; }", &[10]),
    (
        "var x; task t(a, b) { x = x * 100 + a * 10 + b; } process p { spawn t(1, 2); spawn t(3, x + 4); }",
        &[1234],
    ),
    (
        "var x; process p { send(p, (1, 2)); send(p, 3); send(p, 4); receive { 4 => { x = 1; } ?a => { x = a; } } receive (?a, ?b); x = x * 100 + a * 10 + b; }",
        &[312],
    ),
    (
        "var x; process p { receive { _ => { x = 1; } timeout => { x = 2; } } send(p, 1); receive { _ => { x += 10; } timeout => { x += 20; } } }",
        &[12],
    ),
    (
        "var x; process p { atomic { for i in 0..5 { if i == 1 { continue; } if i == 3 { break; } x = x * 10 + i + 1; } let r = x; x = r * 2; } }",
        &[26],
    ),
    (
        "var x; process p { while true { atomic { x += 1; if x == 3 { break; } } } for i in 0..3 { atomic { if i == 1 { continue; } } x = x * 10 + i; } }",
        &[302],
    ),
    ("var x, y; process p { await x == 1; y = 1; } process q { x = 1; }", &[1, 1]),
    ("var x; process p { let r = 9223372036854775807; for i in r - 1..=r { x += 1; } }", &[2]),
];

#[test]
fn values_are_computed_as_described() {
    for (text, expected) in VALUES {
        let run = run_first(text);
        assert_eq!(run.failures(), [], "{text}");
        assert_eq!(run.states().map(|states| states.state()).unwrap().shared, *expected, "{text}");
        assert!(!run.assumed(), "{text}");
    }
}

/// Programs that run process after process, with what goes wrong: kind, place and message.
const FAILURES: &[(&str, &[&str])] = &[
    (
        "var x = 1; process p { let n = 2; assert x == n, \"an increment was lost\"; x = 3; }",
        &["assertion 1:35 assertion failed: x == n (x = 1, n = 2): an increment was lost"],
    ),
    (
        "var a[2]; param k = 1; process p { assert a[k] > 0 || false; assert false; }",
        &[
            "assertion 1:36 assertion failed: a[k] > 0 || 0 (k = 1, a[k] = 0)",
            "assertion 1:62 assertion failed: false",
        ],
    ),
    ("var x, y; process p { x = 1 / y; x = 5; }", &["arithmetic 1:27 division by zero: 1 / 0"]),
    (
        "var x = 9223372036854775807; process p { x += 1; }",
        &["arithmetic 1:42 changing x: 9223372036854775807 + 1 overflows 64 bits"],
    ),
    (
        "var x = 9223372036854775807; process p { let r = -x - 1; r = -r; }",
        &["arithmetic 1:62 -(-9223372036854775808) overflows 64 bits"],
    ),
    (
        "var a[3]; process p { let i = 3; a[i] = 1; }",
        &["arithmetic 1:34 a[3] is out of range: a goes from 0 to 2"],
    ),
    (
        "lock l[2]; process p { let i = -1; lock(l[i]); }",
        &["arithmetic 1:36 l[-1] is out of range: l goes from 0 to 1"],
    ),
    (
        "process p[i in 1..3] { join(p[i + 2]); }",
        &[
            "arithmetic 1:24 p[3] is out of range: p goes from 1 to 2",
            "arithmetic 1:24 p[4] is out of range: p goes from 1 to 2",
        ],
    ),
    (
        "process p { let n = 1001; choose(n); }",
        &["arithmetic 1:27 choose(1001): the number of choices must be between 1 and 1000"],
    ),
    (
        "lock m; process p { lock(m); } process q { unlock(m); }",
        &["invalid-sync 1:44 unlock(m): m is held by p, not by q"],
    ),
    ("lock m; process p { unlock(m); }", &["invalid-sync 1:21 unlock(m): nobody holds m"]),
    ("lock m; condvar c; process p { wait(c, m); }", &["invalid-sync 1:32 wait(c, m): nobody holds m"]),
    (
        "task t() {} process p { let i = 1; if i == 0 { let h = spawn t(); } join(h); }",
        &["invalid-sync 1:69 h holds no process: nothing was spawned into it"],
    ),
    (
        "process p { let i = 0; while i < 5 { i = 1 - i; } }",
        &["hang 1:30 a loop came back to the same local state without a step: it never ends"],
    ),
    (
        "process p { let z = 0; receive { 1 / z => {} timeout => {} } }",
        &["arithmetic 1:34 division by zero: 1 / 0"],
    ),
    ("process p { let z = 0; receive 1 / z; }", &["arithmetic 1:32 division by zero: 1 / 0"]),
    ("var x; process p { await 1 / x; }", &["arithmetic 1:26 division by zero: 1 / 0"]),
];

#[test]
fn what_goes_wrong_is_told_in_a_sentence() {
    for (text, expected) in FAILURES {
        let run = run_first(text);
        let told = run.failures().iter().map(|failure| {
            let place = failure.place.as_ref().unwrap();
            format!("{} {}:{} {}", failure.kind.name(), place.line, place.column, failure.message)
        });
        assert_eq!(told.collect::<Vec<_>>(), *expected, "{text}");
    }
}

#[test]
fn a_process_that_fails_ends_and_one_that_asserts_goes_on() {
    let run = run_first(
        "var x, y, z; process p { x = 1 / y; z = 1; } process q { join(p); y = 1; assert y == 2; z = 2; }",
    );
    assert_eq!(run.states().map(|states| states.state()).unwrap().shared, [0, 1, 2]);
    assert_eq!(run.failures().len(), 2);
    assert_eq!(waiting(&run), []);
}

#[test]
fn a_false_assumption_stops_its_process_for_good() {
    let run = run_first("var x, y; process p { assume x == 1; y = 1; } process q { x = 1; join(p); }");
    assert!(run.assumed());
    assert_eq!(run.failures(), []);
    // Process 0 neither waits nor has finished; process 1 waits for it.
    assert_eq!(waiting(&run), [(1, None)]);
    assert_eq!(run.states().map(|states| states.state()).unwrap().shared, [1, 0]);
}

#[test]
fn locals_that_never_end_are_found_before_the_first_step_too() {
    let mut run =
        program("var x; process p { while true {} } process q { x = 1; }").start(Footprints::Dynamic);
    assert_eq!(run.failures()[0].kind, FailureKind::Hang);
    assert_eq!(enabled(&run), [ProcessId(1)]);
    steps(&mut run, &[1]);
    run.rewind(0);
    assert_eq!(run.failures().len(), 1);
}

#[test]
fn a_local_loop_that_is_too_long_is_a_bound() {
    let text = "var x; process p { let i = 0; while true { i += 1; } } process q { x = 1; let i = x; while true { i += 1; } }";
    let mut run = program(text).start(Footprints::Dynamic);
    let mut label = Label::default();
    let bound = |stop| match stop {
        Err(Stop::Bound(message)) => message,
        other => panic!("{other:?}"),
    };
    let message = bound(run.step(ProcessId(0), 0, &mut label));
    assert_eq!(
        message,
        "p ran 10000000 lines at test.maz:1:37 without coming to its next step; make its loop end sooner"
    );
    run.step(ProcessId(1), 0, &mut label).unwrap();
    assert!(bound(run.step(ProcessId(1), 0, &mut label)).starts_with("q ran"));
    run.rewind(1);
    assert_eq!(enabled(&run), [ProcessId(0), ProcessId(1)]);
    // The bounds of an atomic loop.
    for footprints in [Footprints::Dynamic, Footprints::Static] {
        let text = "var x, y; process p { atomic { let r = y; if r { x = 1; } for i in 0..1000000000 { } } }";
        assert!(
            bound(program(text).start(footprints).step(ProcessId(0), 0, &mut label)).starts_with("p ran")
        );
    }
}

/// Runs `main` with an outcome of its `choose`, then a schedule.
fn state_after(text: &str, choice: u32, schedule: &[u32]) -> State {
    let mut run = program(text).start(Footprints::Dynamic);
    run.step(ProcessId(0), choice, &mut Label::default()).unwrap();
    steps(&mut run, schedule);
    run.states().map(|states| states.state()).unwrap()
}

#[test]
fn states_don_t_depend_on_the_order_of_creation() {
    let text = "var x; task t(i) { x = i; send(main, i); skip; }
        process main { let c = choose(2); if c == 0 { spawn t(1); spawn t(2); } else { spawn t(2); spawn t(1); } c = 0; skip; }";
    // Two tasks were created in different orders, by steps 0 and 0; then 1 and 2 are their numbers.
    let state = |choice, schedule: &[u32]| state_after(text, choice, &[&[0, 0], schedule].concat());
    assert_eq!(state(0, &[]), state(1, &[]));
    assert_eq!(state(0, &[1]), state(1, &[2]));
    assert_eq!(state(0, &[0, 1, 1, 2]), state(1, &[0, 2, 2, 1]));
    assert_ne!(state(0, &[1]), state(0, &[2]));
    assert_ne!(state(0, &[1]), state(1, &[1]));
}

#[test]
fn handles_are_told_apart_in_states() {
    let text = "var x; task t(i) { if i == 1 { skip; } skip; }
        process main { let c = choose(2); if c == 0 { let a = spawn t(1); let b = spawn t(2); } else { let b = spawn t(2); let a = spawn t(1); }
        c = 0; skip; join(a); }";
    let end = |choice, schedule: &[u32]| state_after(text, choice, &[&[0, 0, 0], schedule].concat());
    assert_eq!(end(0, &[]), end(1, &[]));
    assert_eq!(end(0, &[1]), end(1, &[2]));
    // Both children have one step to go, but one parent waits for the one and the other for the other.
    assert_ne!(end(0, &[1, 1]), end(0, &[1, 2]));
}

#[test]
fn states_hold_locks_and_mailboxes() {
    let text = "lock l[2]; process p { let r = choose(2); lock(l[r]); r = 0; skip; } process q { send(p, (1, 2)); } process s { send(p, 1); send(p, 2); }";
    let end = |choice, schedule: &[u32]| state_after(text, choice, schedule);
    assert_ne!(end(0, &[0]), end(1, &[0]));
    assert_ne!(end(0, &[0, 1, 2, 2]), end(0, &[0, 2, 1, 2]));
    assert_eq!(end(0, &[0, 1, 2, 2]), end(0, &[1, 2, 0, 2]));
}

#[test]
fn a_receive_would_take_what_matches() {
    let text = "process p { let k = 2; receive 1; receive (k, ?v); receive { 3 => {} timeout => {} } }
        process q { send(p, 1); send(p, (2, 5)); atomic { send(p, 7); send(p, (2, 6)); } }";
    let mut run = program(text).start(Footprints::Dynamic);
    steps(&mut run, &[1, 1, 1, 0, 0, 0]);
    let takes = |receive: usize| (0..3).filter(|&send| run.would_take(receive, send)).collect::<Vec<_>>();
    assert_eq!(takes(3), [0]);
    assert_eq!(takes(4), [1, 2]);
    assert_eq!(takes(5), []);
    assert!(!run.would_take(0, 1) && !run.would_take(9, 0));
}

#[test]
fn a_guard_can_be_asked_about_any_time() {
    let text = "var x, y; lock m; process p { let k = 1; await x == k && y == 1; k = 5; lock(m); } process q { x = 1; y = 1; lock(m); unlock(m); x = 0; skip; }";
    let mut run = program(text).start(Footprints::Dynamic);
    let mut label = Label::default();
    let mut guard = None;
    steps(&mut run, &[1, 1, 1]);
    for p in [0, 1, 1, 1] {
        run.step(ProcessId(p), 0, &mut label).unwrap();
        guard = guard.or(label.guard);
    }
    let held: Vec<bool> = (0..=7).map(|depth| run.guard_holds_at(guard.unwrap().id, depth)).collect();
    assert_eq!(held, [false, false, true, true, true, true, false, false]);
    run.step(ProcessId(0), 0, &mut label).unwrap();
    let held: Vec<bool> = (0..=8).map(|depth| run.guard_holds_at(label.guard.unwrap().id, depth)).collect();
    assert_eq!(held, [true, true, true, false, false, true, true, true, false]);
}

#[test]
fn programs_need_no_source() {
    use ast::{Ast, Block, Item, Name, ProcessDecl, Stmt, StmtKind};
    let assert = StmtKind::Assert { condition: ast::Expr::number(0), message: None };
    let body = Block { statements: vec![Stmt { kind: assert, span: Default::default() }] };
    let process = ProcessDecl { name: Name::new("p"), family: None, body };
    let litmus = compile(&Ast { items: vec![Item::Process(process)] }, &Source::default(), &[]).unwrap();
    assert_eq!(litmus.file(), "");
    let run = litmus.start(Footprints::Dynamic);
    assert_eq!(run.failures()[0].message, "assertion failed: false");
    assert_eq!(run.failures()[0].place, None);
    assert_eq!(run.process_name(ProcessId(0)), "p");
}

/// Told steps: a program, then for each step its process, and the operation, what was read, written and
/// noted.
const TOLD: &[(&str, &[(&str, &str)])] = &[
    ("var x; process p { let r = x; x = r + 1; cas(x, 0, 5); cas(x, 1, 7); if x > 0 { skip; } x += 1; }", &[
        ("0", "let r = x; x = 0"),
        ("0", "x = r + 1 -> x = 1"),
        ("0", "cas(x, 0, 5); x = 1@1 (failed: x is 1, not 0)"),
        ("0", "cas(x, 1, 7); x = 1@1 -> x = 7 (succeeded)"),
        ("0", "if x > 0; x = 7@3"),
        ("0", "skip"),
        ("0", "x += 1; x = 7@3 -> x = 8"),
    ]),
    ("lock m; condvar c; process p { lock(m); wait(c, m); } process q { notify_all(c); notify_one(c); try_lock(m); try_lock(m); unlock(m); }", &[
        ("1", "notify_all(c) (nobody waits for c)"),
        ("0", "lock(m); m = free -> m = held by p"),
        ("0", "wait(c, m); m = held by p@1 -> m = free"),
        ("1", "notify_one(c) (woke p)"),
        ("1", "try_lock(m); m = free@2 -> m = held by q (took m)"),
        ("1", "try_lock(m); m = held by q@4 (did not get m: held by q)"),
        ("0", "wake up from wait(c, m)"),
        ("1", "unlock(m); m = held by q@4 -> m = free"),
        ("0", "take the lock again after wait(c, m); m = free@7 -> m = held by p"),
    ]),
    ("const k = 2; var a[2], x; task t() { skip; } process p { await a[x] == 0; let c = choose(3); let h = spawn t(); join(h); assume x == 1; }
process q { send(q, (k, 1)); receive (?b, ?d); receive { _ => {} timeout => {} } atomic { a[1] = 4; x = a[1]; send(p, x); } }", &[
        ("0", "await a[x] == 0; x = 0; a[0] = 0"),
        ("0#2", "let c = choose(3) (chose 2 of 0..3)"),
        ("0", "let h = spawn t() (created t 0.0)"),
        ("1", "send(q, (k, 1)) (sent (2, 1) to q)"),
        ("1", "receive (?b, ?d); message = (2, 1)@3 (took (2, 1), sent by q in line 2)"),
        ("1", "receive { _ | timeout } (timed out)"),
        ("1", "atomic { a[1] = 4; x = a[1]; send(p, x) } -> a[1] = 4; x = 4 (sent 4 to p)"),
        ("2", "skip"),
        ("2", "exit"),
        ("0", "join(h) (t 0.0 has ended)"),
        ("0", "assume x == 1; x = 4@6 (the assumption is false: p stops here)"),
    ]),
];

#[test]
fn steps_are_told() {
    for (text, expected) in TOLD {
        for footprints in [Footprints::Dynamic, Footprints::Static] {
            let mut run = program(text).start(footprints);
            for (at, (step, expected)) in expected.iter().enumerate() {
                let (process, choice) = step.split_once('#').unwrap_or((step, "0"));
                let process = ProcessId(process.parse().unwrap());
                let told = run.step_explained(process, choice.parse().unwrap()).unwrap();
                assert_eq!(tell(&told), *expected, "{text}: step {at}");
            }
        }
    }
}

fn tell(told: &mazurka_program::Explanation) -> String {
    let mut text = told.operation.clone();
    for read in &told.reads {
        text += &format!("; {} = {}", read.name, read.value);
        text += &read.source.map(|source| format!("@{source}")).unwrap_or_default();
    }
    let writes: Vec<String> = told.writes.iter().map(|w| format!("{} = {}", w.name, w.value)).collect();
    if !writes.is_empty() {
        text += &format!(" -> {}", writes.join("; "));
    }
    text + &told.note.as_ref().map(|note| format!(" ({note})")).unwrap_or_default()
}

#[test]
fn waiting_processes_are_told() {
    let text = "lock m; condvar c; var x, y = 2;
process a { lock(m);
lock(m); }
process b { lock(m); }
process d { await x == 1 || y == 1; }
process e { join(d); }
process f { receive { (1, ?v) => {} 7 => {} } }
process g { send(f, 1); send(f, (2, 3)); }";
    let mut run = program(text).start(Footprints::Dynamic);
    steps(&mut run, &[0, 5, 5]);
    let told = run.explain_waiting();
    let told: Vec<String> = told
        .iter()
        .map(|wait| format!("{}: {} {:?}", run.process_name(wait.process), wait.waits_for, wait.waits_on))
        .collect();
    assert_eq!(
        told,
        [
            "a: lock m, held by a itself since line 2 [ProcessId(0)]",
            "b: lock m, held by a since line 2 [ProcessId(0)]",
            "d: x == 1 || y == 1 (x = 0, y = 2) []",
            "e: the end of d [ProcessId(2)]",
            "f: a message (1, ?v) or 7; the mailbox holds 1, (2, 3) []",
        ]
    );
    let mut run =
        program("lock m; condvar c[2]; process a { lock(m); wait(c[1], m); }").start(Footprints::Dynamic);
    steps(&mut run, &[0, 0]);
    let told = run.explain_waiting();
    assert_eq!(
        (told[0].operation.as_str(), told[0].waits_for.as_str()),
        ("wake up from wait(c[1], m)", "a notification of c[1]")
    );
}
