//! What is known of small programs, by hand.

use mazurka_constraints::Settings;
use mazurka_program::{Commutes, Footprints, Label, ProcessId, Program, Run};

use crate::{Litmus, Source, compile, parse};

fn program(text: &str) -> Litmus {
    let source = Source { name: "test.maz".to_owned(), text: text.to_owned() };
    let ast = parse(&source).expect("it parses");
    compile(&ast, &source, &[]).expect("it compiles")
}

/// The pairs as a table: `p q: a | b`.
fn pairs(text: &str) -> Vec<String> {
    let table = program(text).constraints(&Settings::default());
    let row = |row: &mazurka_constraints::PairRow| {
        let name = |at: usize| table.blocks[at].name.as_str();
        assert_eq!(row.note, None);
        format!("{} {}: {}", name(row.blocks.0), name(row.blocks.1), row.constraints.join(" | "))
    };
    table.pairs.iter().map(row).collect()
}

const FIGURE_1: &str = "var z = -2, x = -2;
    process p { x = x + 1; }
    process q { atomic { if z >= 0 { z = x; } } }
    process r { atomic { x = x + 1; z = z + 1; } }";

#[test]
fn figure_1_of_cav18() {
    assert_eq!(pairs(FIGURE_1), ["p q: z <= -1", "p r: true", "q r: z <= -2 | z >= 0 | z = x"]);
}

#[test]
fn names_of_the_program() {
    let text = "var bal = 9;
        process take[a in 1..3] { atomic { if a <= bal { bal = bal - a; } } }";
    let expected = "take take: a = 0 | a = a1 | a1 = 0 | bal < a && bal < a + a1 | bal < a && bal < a1 | \
                    bal < a + a1 && bal < a1 | bal >= a && bal >= a + a1 && bal >= a1";
    assert_eq!(pairs(text), [expected]);
}

#[test]
fn what_a_process_learns_counts_if_it_is_read() {
    let blind = "var x; process p { let r = x; } process q { x = 1; }";
    assert_eq!(pairs(blind), Vec::<String>::new());
    let seen = "var x; process p { let r = x; assert r == 0; } process q { x = 1; }";
    assert_eq!(pairs(seen), ["p q: x = 1"]);
    let told = "var x; process p { assert x > 0; } process q { x = x + 1; }";
    assert_eq!(pairs(told), ["p q: x > 0"]);
}

#[test]
fn guards_are_neither_opened_nor_closed() {
    let text = "var x, y; process p { atomic { await x > 0; y = 1; } } process q { x = x + 1; }";
    assert_eq!(pairs(text), ["p q: x <= -1 | x > 0"]);
}

#[test]
fn a_run_tells_what_commutes_now_and_later() {
    let mut run = program(FIGURE_1).start(Footprints::Static);
    let [p, q, r] = [0, 1, 2].map(ProcessId);
    let constraints = run.constraints().unwrap();
    let [bp, bq, br] = [p, q, r].map(|process| constraints.block(process).unwrap());
    assert_eq!(constraints.commute(bp, bq), Commutes::Here);
    assert_eq!(constraints.commute(bp, br), Commutes::Always);
    assert_eq!(constraints.commute(br, bq), Commutes::Here);
    // r writes z, on which p and q depend.
    assert!(!constraints.commute_uniformly(bp, bq, p));
    assert!(constraints.commute_uniformly(bp, br, p));
    let mut label = Label::default();
    run.step(r, 0, &mut label).unwrap();
    let constraints = run.constraints().unwrap();
    // z is -1 now, and only q is left to write it.
    assert_eq!(constraints.commute(bp, bq), Commutes::Here);
    assert!(!constraints.commute_uniformly(bp, bq, p));
    assert!(constraints.commute_uniformly(bq, bp, q));
    assert_eq!(constraints.block(r), None);
}

/// Definition 4 of CAV'18: what the two do themselves does not count, what others may still do does.
#[test]
fn beside_a_pair_only_others_count() {
    let beside = |more: &str| {
        let pair = "var x = 2, z = 1, s;
            process p { atomic { if z <= 0 { x = 1; } } }
            process q { atomic { if z <= 0 { x = 3; } } z = 0; }";
        let mut run = program(&format!("{pair} {more}")).start(Footprints::Static);
        let constraints = run.constraints().unwrap();
        let [p, q] = [0, 1].map(ProcessId);
        let [bp, bq] = [p, q].map(|process| constraints.block(process).unwrap());
        assert_eq!(constraints.commute(bp, bq), Commutes::Here);
        // That q sets z later counts here, for q may have its step taken before p.
        assert!(!constraints.commute_uniformly(bp, bq, p));
        [constraints.commute_beside(bp, bq, [p, q]), constraints.commute_beside(bq, bp, [q, p])]
    };
    assert_eq!(beside(""), [true, true]);
    assert_eq!(beside("process r { s = 1; }"), [true, true]);
    assert_eq!(beside("process r { await x == 1; z = 0; }"), [true, true]);
    assert_eq!(beside("process r { z = 0; }"), [false, false]);
    assert_eq!(beside("process r { s = 1; z = 0; }"), [false, false]);
    assert_eq!(beside("process r { s = 1; spawn later(); } task later() { z = 0; }"), [false, false]);
    assert_eq!(beside("process r { await s == 1; z = 0; } process t { s = 1; }"), [false, false]);
}

/// What a variable can hold at all is known: a search needs no constraint for what can't be.
#[test]
fn what_can_never_be_needs_no_constraint() {
    let commute = |least: i64| {
        let text = format!(
            "var flag, x; process p {{ atomic {{ if flag < {least} {{ x = 1; }} }} }}
             process q {{ atomic {{ if flag < {least} {{ x = 2; }} }} }}
             process r {{ flag = 1; }} process s {{ flag = 0; }}"
        );
        let mut run = program(&text).start(Footprints::Static);
        let constraints = run.constraints().unwrap();
        let [p, q] = [0, 1].map(|at| constraints.block(ProcessId(at)).unwrap());
        constraints.commute(p, q)
    };
    assert_eq!(commute(0), Commutes::Always);
    assert_eq!(commute(1), Commutes::Unknown);
    // People are told of all states, whether the program comes to them or not.
    let text = "var flag, x; process p { atomic { if flag < 0 { x = 1; } } }
        process q { atomic { if flag < 0 { x = 2; } } }";
    assert_eq!(pairs(text), ["p q: flag >= 0"]);
}

#[test]
fn what_may_overflow_commutes_only_where_it_does_not() {
    let text = "var x = 9223372036854775807;
        process p { x += 1; } process q { x -= 1; } process r { x -= 1; }";
    let mut run = program(text).start(Footprints::Static);
    let constraints = run.constraints().unwrap();
    let [p, q] = [0, 1].map(|at| constraints.block(ProcessId(at)).unwrap());
    assert_eq!(constraints.commute(p, q), Commutes::Unknown);
    assert!(!constraints.commute_uniformly(p, q, ProcessId(0)));
    let mut label = Label::default();
    run.step(ProcessId(2), 0, &mut label).unwrap();
    assert_eq!(run.constraints().unwrap().commute(p, q), Commutes::Here);
}

#[test]
fn equal_code_with_equal_arguments_is_one_block() {
    let text = "var a[4]; process p[i in 0..3] { a[i] = a[i] + 1; } process q[i in 0..2] { a[0] += 1; }";
    let mut run = program(text).start(Footprints::Dynamic);
    let constraints = run.constraints().unwrap();
    let blocks: Vec<u32> = (0..5).map(|at| constraints.block(ProcessId(at)).unwrap()).collect();
    assert_eq!(constraints.commute(blocks[0], blocks[1]), Commutes::Always);
    assert_eq!(constraints.commute(blocks[0], blocks[3]), Commutes::Always);
    assert_eq!(constraints.commute(blocks[3], blocks[4]), Commutes::Always);
}
