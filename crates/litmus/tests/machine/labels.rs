//! What steps are labelled with, by table.

use mazurka_litmus::LabelRules;
use mazurka_program::{Footprints, Label, ProcessId, Program, Run};

use super::support::{enabled, label_text, program};

/// A program, the processes that step (`1#2` is process 1 with outcome 2), and what each step's labels must
/// be: dynamic, or `dynamic / static` where they differ.
const LABELS: &[(&str, &[(&str, &str)])] = &[
    (
        "var x, y, a[3]; process p { let r = x; x = 1; x = x + 1; x += r; y = x; x = y; a[r + 1] = x; skip; }",
        &[
            ("0", "R x"),
            ("0", "W x"),
            ("0", "U x"),
            ("0", "U x"),
            ("0", "R x, W y"),
            ("0", "R y, W x"),
            ("0", "R x, W a[1]"),
            ("0", ""),
        ],
    ),
    (
        "var x, y = 1; process p { let r = x && y; r = y || x; r = r && x; if x == 0 && y > 0 { skip; } for i in 0..y {} }",
        &[
            ("0", "R x | varies / R x, R y"),
            ("0", "R y | varies / R y, R x"),
            ("0", "R x"),
            ("0", "R x, R y | varies / R x, R y"),
            ("0", ""),
            ("0", "R y"),
        ],
    ),
    (
        "var x, a[3]; process p { let r = a[x]; a[x] = 1; a[x] += a[1]; a[a[x]] = 2; }",
        &[
            ("0", "R x, R a[0] | varies / R x, R a[0]..a[2]"),
            ("0", "R x, W a[0] | varies / R x, U a[0]..a[2]"),
            ("0", "R x, R a[1], U a[0] | varies / R x, R a[1], U a[0]..a[2]"),
            ("0", "R x, R a[0], W a[1] | varies / R x, U a[0]..a[2]"),
        ],
    ),
    (
        "var x; process p { cas(x, 0, 1); let r = cas(x, 0, 1); r = fetch_add(x, 2); r = swap(x, r); assert r == 2; }",
        &[
            ("0", "U x | varies / U x"),
            ("0", "R x | varies / U x"),
            ("0", "U x"),
            ("0", "U x"),
        ],
    ),
    (
        "lock m, l[2]; process p { lock(m); let r = try_lock(m); r = try_lock(l[1]); unlock(m); } process q { lock(m); }",
        &[
            ("0", "U m | guard m"),
            ("0", "U m"),
            ("0", "U l[1]"),
            ("0", "U m"),
            ("1", "U m | guard m"),
        ],
    ),
    (
        "lock m; condvar c; process p[i in 0..2] { lock(m); wait(c, m); } process q { notify_one(c); notify_one(c); notify_all(c); }",
        &[
            ("2", "R c | varies / U c, U wake-ups of c"),
            ("0", "U m | guard m"),
            ("0", "U c, U m"),
            ("1", "U m | guard m"),
            ("1", "U c, U m"),
            ("2#1", "U c, W wake-up of p[1] | varies / U c, U wake-ups of c"),
            ("2", "U c, W wake-up of p[0] | varies / U c, U wake-ups of c"),
            ("1", "R wake-up of p[1] | after wake-up of p[1] / R wake-ups of c | guard wake-ups of c"),
            ("1", "U m | guard m"),
            ("0", "R wake-up of p[0] | after wake-up of p[0] / R wake-ups of c | guard wake-ups of c"),
        ],
    ),
    (
        "var x = 1, y = 1, z, a[2]; process p { await x == 1; await x == 1 || y == 1; let i = 1; await a[i] == 0 && a[i] < 2; await a[z] == 0; }
        process q { x = 1; z = 1; a[0] = 1; y = 2; x += 1; }",
        &[
            ("0", "R x | guard x"),
            ("1", "W x, U guard x == 1 || y == 1"),
            ("0", "R x, R y, R guard x == 1 || y == 1 | guard guard x == 1 || y == 1"),
            ("1", "W z, U guard a[z] == 0"),
            ("0", "R a[1] | guard a[1]"),
            ("1", "W a[0], U guard a[z] == 0"),
            ("0", "R z, R a[0]..a[1], R guard a[z] == 0 | guard guard a[z] == 0"),
            ("1", "W y, U guard x == 1 || y == 1"),
            ("1", "U x, U guard x == 1 || y == 1"),
        ],
    ),
    (
        "var x, y, a[3]; process p { atomic { await x == 0; y = 1; x = y; } atomic { let r = x; if r == 1 { y = r; } else { a[0] = 1; } }
        atomic { for i in 0..2 { a[i] = i; } y = a[0]; } atomic { for i in 0..x { a[i] = 2; } } atomic { x = 1; assume y == 3; a[2] = 2; } }",
        &[
            ("0", "U x, W y | guard x"),
            ("0", "R x, W y | varies / R x, U y, U a[0]"),
            ("0", "W a[0], W a[1], W y"),
            ("0", "R x, W a[0] | varies / R x, U a[0]..a[2]"),
            ("0", "W x, R y | varies / W x, R y, U a[2]"),
        ],
    ),
    (
        "var x; task t(i) { x = i; } process p { let h = spawn t(x); join(h); spawn t(1); join(q); } process q { }",
        &[
            ("0", "R x | spawn 0.0"),
            ("2", "W x"),
            ("2", "W exit of t 0.0"),
            ("0", "R exit of t 0.0 | after exit of t 0.0"),
            ("0", " | spawn 0.1"),
            ("1", "W exit of q"),
            ("0", "R exit of q | after exit of q"),
            ("3", "W x"),
            ("3", "W exit of t 0.1"),
        ],
    ),
    (
        "process p { receive ?a; receive { a => {} timeout => {} } receive { 2 => {} timeout => {} } } process q { send(p, 1); atomic { send(p, 2); send(p, (3, 4)); } }",
        &[
            ("1", "S mailbox of p, W message 0 of q / S mailbox of p"),
            ("0", "U message 0 of q | after message 0 of q | varies / R mailbox of p | guard mailbox of p"),
            ("0", "R mailbox of p | varies / R mailbox of p"),
            (
                "1",
                "S mailbox of p, W message 1 of q, W message 2 of q / S mailbox of p",
            ),
            ("0", "U message 1 of q | varies / R mailbox of p"),
        ],
    ),
    (
        "var x; process p[i in 0..2] { receive _; } process q { x = 1; atomic { let i = x; if i == 1 { send(p[i], 1); } } }",
        &[
            ("2", "W x"),
            (
                "2",
                "R x, S mailbox of p[1], W message 0 of q | varies / R x, S mailbox of p[0], S mailbox of p[1]",
            ),
        ],
    ),
    (
        "process p { let r = choose(3); choose(r + 1); assert r == 2; }",
        &[("0#2", ""), ("0#2", "")],
    ),
    // A step that fails has touched what it has touched, and varies, unless it would not have overwritten
    // anything unseen.
    (
        "var x = 9223372036854775807, y, z; lock m; process p { y = x + 1; } process q { x += 1; } process r { unlock(m); } process s { z = 1 / y; }",
        &[
            ("0", "R x | varies / R x, W y"),
            ("1", "U x"),
            ("2", "U m"),
            ("3", "R y | varies / R y, W z"),
        ],
    ),
];

fn parse_step(text: &str) -> (ProcessId, u32) {
    let (process, choice) = text.split_once('#').unwrap_or((text, "0"));
    (ProcessId(process.parse().unwrap()), choice.parse().unwrap())
}

#[test]
fn labels_say_what_steps_touch() {
    for (text, steps) in LABELS {
        for footprints in [Footprints::Dynamic, Footprints::Static] {
            let mut run = program(text).start(footprints);
            for (at, (step, expected)) in steps.iter().enumerate() {
                let (process, choice) = parse_step(step);
                let mut label = Label::default();
                run.step(process, choice, &mut label)
                    .unwrap_or_else(|stop| panic!("{text}: step {at}: {stop:?}"));
                let (dynamic, foreseen) = expected.split_once(" / ").unwrap_or((expected, expected));
                let expected = if footprints == Footprints::Dynamic { dynamic } else { foreseen };
                assert_eq!(label_text(&run, &label), expected, "{text}: step {at}, {footprints:?}");
            }
        }
    }
}

#[test]
fn rules_can_be_broken_on_purpose() {
    let text = "var x = 1, y; lock m; process p { await x == 1 && y == 0; } process q { y = 1; lock(m); }
        process r { try_lock(m); let r1 = x && y; }";
    let broken = LabelRules {
        guard_is_one_location: false,
        static_footprints: false,
        failed_try_lock_counts: false,
        failed_try_lock_reads: false,
        polls_wait: true,
        few_locks: true,
    };
    let mut run = program(text).with_rules(broken).start(Footprints::Static);
    let mut label = Label::default();
    let mut expect = |process: u32, expected: &str| {
        run.step(ProcessId(process), 0, &mut label).unwrap();
        assert_eq!(label_text(&run, &label), expected);
    };
    expect(0, "R x, R y | guard x");
    expect(1, "W y");
    expect(1, "U m | guard m");
    expect(2, "");
    expect(2, "R x, R y | varies");
}

#[test]
fn outcomes_are_those_of_choose_and_of_notify_one() {
    let text = "lock m; condvar c; process p[i in 0..3] { lock(m); wait(c, m); } process q { let r = choose(4); notify_one(c); }";
    let mut run = program(text).start(Footprints::Dynamic);
    let mut label = Label::default();
    assert_eq!(run.alternatives(ProcessId(3)), 4);
    run.step(ProcessId(3), 3, &mut label).unwrap();
    for waiters in 0..3 {
        assert_eq!(run.alternatives(ProcessId(3)), waiters.max(1));
        run.step(ProcessId(waiters), 0, &mut label).unwrap();
        run.step(ProcessId(waiters), 0, &mut label).unwrap();
    }
    for choice in 0..3 {
        run.step(ProcessId(3), choice, &mut label).unwrap();
        assert_eq!(enabled(&run), [ProcessId(choice)]);
        run.rewind(run.depth() - 1);
    }
    assert!(run.step(ProcessId(3), 3, &mut label).is_err(), "there is no outcome 3");
    assert!(run.step(ProcessId(0), 0, &mut label).is_err(), "process 0 waits");
    assert!(run.step(ProcessId(9), 0, &mut label).is_err(), "there is no process 9");
}
