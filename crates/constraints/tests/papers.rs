//! The constraints of the papers' examples, and of blocks that are all over concurrent programs.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use mazurka_constraints::{
    Block, Creation, Effect, Names, Pair, Path, SearchSolver, Settings, Solver, SolverProgram, Terms,
    compose, refute, show_constraint, synthesise,
};
use mazurka_smt::{Formula, Linear, Var, Work};

fn var(at: u32) -> Linear {
    Linear::var(Var(at))
}

fn number(value: i128) -> Linear {
    Linear::constant(value)
}

fn plus(left: &Linear, right: &Linear) -> Linear {
    left.plus(right).unwrap()
}

fn at_most(left: &Linear, right: &Linear) -> Formula {
    Formula::at_most(left, right).unwrap()
}

fn equal(left: &Linear, right: &Linear) -> Formula {
    Formula::equal(left, right).unwrap()
}

fn path(condition: Formula, assigned: &[(u32, Linear)], effects: &[(u32, Linear)]) -> Path {
    Path {
        condition: Some(condition),
        assigned: assigned.iter().map(|(at, sum)| (Var(*at), sum.clone())).collect::<BTreeMap<_, _>>(),
        effects: effects
            .iter()
            .map(|(kind, sum)| Effect { kind: *kind, arguments: vec![sum.clone()], made: None })
            .collect(),
        ..Path::default()
    }
}

fn block(shared: u32, own: u32, paths: Vec<Path>) -> Block {
    Block { shared, own, paths, ..Block::default() }
}

/// The constraints of a pair; variables are named in order.
fn constraints(first: &Block, second: &Block, names: &[&str], invariant: Formula) -> Vec<String> {
    let pair = compose(first, second, Creation::Anyone, &mut Work(1_000_000)).unwrap();
    let found = synthesise(&pair, &Settings { invariant, ..Settings::default() });
    assert_eq!(found.note, None);
    let vars = names.iter().map(|&name| name.to_owned()).collect();
    let names = Names { vars, applications: pair.applications.clone(), ..Names::default() };
    found.constraints.iter().map(|constraint| show_constraint(constraint, &names)).collect()
}

fn check(first: &Block, second: &Block, names: &[&str], expected: &[&str]) {
    assert_eq!(constraints(first, second, names, Formula::True), expected);
}

#[test]
fn figure_1_of_cav18() {
    let (z, x) = (var(0), var(1));
    let one = |sum: &Linear| plus(sum, &number(1));
    let p = block(2, 0, vec![path(Formula::True, &[(1, one(&x))], &[])]);
    let negative = at_most(&z, &number(-1));
    let q = block(2, 0, vec![path(negative.negated(), &[(0, x.clone())], &[]), path(negative, &[], &[])]);
    let r = block(2, 0, vec![path(Formula::True, &[(1, one(&x)), (0, one(&z))], &[])]);
    check(&p, &q, &["z", "x"], &["z <= -1"]);
    check(&q, &r, &["z", "x"], &["z <= -2", "z >= 0", "z = x"]);
    check(&p, &r, &["z", "x"], &["true"]);
}

/// Shared: nr, r. Kinds of processes: 0 is fib, 1 is res.
#[test]
fn fib_and_res_of_cav18() {
    let (nr, r, v) = (var(0), var(1), var(2));
    let small = at_most(&v, &number(1));
    let less = |by: i128| plus(&v, &number(-by));
    let fib = block(
        2,
        1,
        vec![
            path(small.clone(), &[], &[(1, v.clone())]),
            path(small.negated(), &[], &[(0, less(1)), (0, less(2))]),
        ],
    );
    let none = at_most(&nr, &number(0));
    let res = block(
        2,
        1,
        vec![
            path(none.negated(), &[(0, number(0)), (1, v.clone())], &[]),
            path(none, &[(0, number(1)), (1, number(0))], &[(1, plus(&r, &v))]),
        ],
    );
    let names = ["nr", "r", "v", "v1"];
    check(&res, &res, &names, &["nr > 0", "v = v1"]);
    check(&fib, &fib, &names, &["true"]);
    check(&fib, &res, &names, &["true"]);
}

/// A path that also tells its process a number.
fn telling(path: Path, result: i128) -> Path {
    Path { results: vec![number(result)], ..path }
}

#[test]
fn withdrawals_that_tell_whether_they_succeeded() {
    let (balance, amount) = (var(0), var(1));
    let covered = at_most(&amount, &balance);
    let taken = path(covered.clone(), &[(0, balance.minus(&amount).unwrap())], &[]);
    let refused = path(covered.negated(), &[], &[]);
    let withdraw = block(1, 1, vec![telling(taken.clone(), 1), telling(refused.clone(), 0)]);
    let expected = [
        "bal < a && bal < a + b",
        "bal < a && bal < b",
        "bal < a + b && bal < b",
        "bal >= a && bal >= a + b && bal >= b",
    ];
    check(&withdraw, &withdraw, &["bal", "a", "b"], &expected);
    // Who does not tell may also be first or last with the same amount, or with nothing.
    let silent = block(1, 1, vec![taken, refused]);
    let more = [["a = 0", "a = b", "b = 0"].as_slice(), &expected].concat();
    check(&silent, &silent, &["bal", "a", "b"], &more);
}

#[test]
fn maxima_always_commute() {
    let (max, own) = (var(0), var(1));
    let greater = at_most(&own, &max).negated();
    let paths = vec![path(greater.clone(), &[(0, own.clone())], &[]), path(greater.negated(), &[], &[])];
    let max = block(1, 1, paths);
    check(&max, &max, &["max", "a", "b"], &["true"]);
}

/// A place of a bounded buffer is filled: shared are the number of places filled, their sum, the capacity and
/// whether the place of each was filled.
#[test]
fn filling_places_of_a_buffer() {
    let (cnt, sum, cap, value) = (var(0), var(1), var(2), var(5));
    let room = at_most(&plus(&cnt, &number(1)), &cap);
    let put = |place: u32| {
        let filled = [(0, plus(&cnt, &number(1))), (1, plus(&sum, &value)), (place, number(1))];
        block(5, 1, vec![path(room.clone(), &filled, &[]), path(room.negated(), &[], &[])])
    };
    let names = ["cnt", "sum", "cap", "full_v", "full_w", "v", "w"];
    check(&put(3), &put(4), &names, &["cnt <= cap - 2", "cnt >= cap", "full_v = 1 && full_w = 1 && v = w"]);
}

#[test]
fn compare_and_swap_has_eight() {
    let (x, old, new) = (var(0), var(1), var(2));
    let same = equal(&x, &old);
    let cas = block(1, 2, vec![path(same.clone(), &[(0, new)], &[]), path(same.negated(), &[], &[])]);
    let found = constraints(&cas, &cas, &["x", "a", "b", "c", "d"], Formula::True);
    assert_eq!(found.len(), 8, "{found:#?}");
}

#[test]
fn what_is_known_makes_constraints_shorter() {
    // take: if cnt > 0 { cnt -= 1 }, put: if cnt < cap { cnt += 1 }.
    let (cnt, cap) = (var(0), var(1));
    let some = at_most(&number(1), &cnt);
    let room = at_most(&plus(&cnt, &number(1)), &cap);
    let less = plus(&cnt, &number(-1));
    let more = plus(&cnt, &number(1));
    let take = block(2, 0, vec![path(some.clone(), &[(0, less)], &[]), path(some.negated(), &[], &[])]);
    let put = block(2, 0, vec![path(room.clone(), &[(0, more)], &[]), path(room.negated(), &[], &[])]);
    let invariant = Formula::and([at_most(&number(0), &cnt), at_most(&cnt, &cap), at_most(&number(1), &cap)]);
    let known = constraints(&put, &take, &["cnt", "cap"], invariant);
    assert_eq!(known, ["cnt > 0 && cnt < cap"]);
}

/// A ladder of six steps tells on which of them `x` stands; somebody else moves it by two.
#[test]
fn a_ladder_has_one_constraint_for_each_step() {
    let x = var(0);
    let mut paths = Vec::new();
    let mut above = Formula::True;
    for step in 0..=6 {
        let here = if step == 6 { Formula::True } else { at_most(&x, &number(10 * step)) };
        paths.push(path(Formula::and([above.clone(), here.clone()]), &[(1, number(step))], &[]));
        above = Formula::and([above, here.negated()]);
    }
    let ladder = block(2, 0, paths);
    let moves = block(2, 0, vec![path(Formula::True, &[(0, plus(&x, &number(2)))], &[])]);
    let pair = compose(&ladder, &moves, Creation::Anyone, &mut Work(1_000_000)).unwrap();
    assert_eq!(pair.differ.atoms().len(), 12);
    let expected = [
        "x <= -2",
        "x >= 51",
        "x > 0 && x <= 8",
        "x >= 11 && x <= 18",
        "x >= 21 && x <= 28",
        "x >= 31 && x <= 38",
        "x >= 41 && x <= 48",
    ];
    let mut found = constraints(&ladder, &moves, &["x", "step"], Formula::True);
    let mut expected = expected.map(str::to_owned);
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
}

/// Two loops, each a function of all that it mentions: what it leaves in three variables, and whether it ends.
fn loop_block(function: u32) -> Block {
    let (shared, own) = (3, 1);
    let mut terms = Terms::new(shared + own);
    let mentioned: Vec<Linear> = (0..shared + own).map(var).collect();
    let mut apply = |of: u32| Linear::var(terms.apply(10 * function + of, mentioned.clone()));
    let ends = equal(&apply(0), &number(1));
    let assigned: Vec<(u32, Linear)> = (0..shared).map(|at| (at, apply(1 + at))).collect();
    let thrown = Path { fatal: true, ..path(ends.negated(), &[], &[]) };
    let paths = vec![path(ends, &assigned, &[]), thrown];
    Block { shared, own, paths, applications: terms.applications().to_vec(), ..Block::default() }
}

/// What is told of loops is proved, and the same each time.
#[test]
fn loops_are_functions_of_all_that_they_mention() {
    let (first, second) = (loop_block(0), loop_block(1));
    let pair = compose(&first, &second, Creation::Anyone, &mut Work(1_000_000)).unwrap();
    let settings = Settings::default();
    let found = synthesise(&pair, &settings);
    assert_eq!((pair.differ.atoms().len(), found.constraints.len(), found.note), (7, 1, None));
    for constraint in &found.constraints {
        let holds = Formula::and(constraint.literals.iter().cloned().map(Formula::Literal));
        assert_eq!(refute(&pair, &holds, &settings), Ok(None));
    }
    assert_eq!(found.constraints, synthesise(&pair, &settings).constraints);
}

/// A program that is asked in place of a solver, and a pair to ask about.
fn asked(script: &str, patience: Duration) -> (SearchSolver, Pair) {
    let command = ["sh", "-c", script].map(str::to_owned).to_vec();
    let program = SolverProgram { name: "z9".to_owned(), command, patience };
    let x = var(0);
    let set = |value| block(1, 0, vec![path(Formula::True, &[(0, number(value))], &[])]);
    let more = block(1, 0, vec![path(Formula::True, &[(0, plus(&x, &number(1)))], &[])]);
    let pair = compose(&set(1), &more, Creation::Anyone, &mut Work(1_000_000)).unwrap();
    (SearchSolver::new(Solver::Program(program)), pair)
}

/// Whoever is missing, hangs, or answers nonsense is asked once, and told of in one sentence.
#[test]
fn who_does_not_answer_a_search_is_not_asked_again() {
    let seconds = Duration::from_secs(20);
    for (script, patience, what) in [
        ("exit 0", seconds, "ended before it answered"),
        ("while read line; do echo perhaps; done", seconds, "said `perhaps`, which is no answer"),
        ("while read line; do :; done; sleep 100", Duration::from_millis(200), "gave no answer in 0.2 s"),
        // Who goes on saying nothing has not answered either.
        ("while :; do echo; sleep 0.05; done", Duration::from_millis(300), "gave no answer in 0.3 s"),
    ] {
        let (solver, pair) = asked(script, patience);
        let begun = Instant::now();
        for _ in 0..50 {
            let found = solver.synthesise(&pair, Formula::True, Work(300_000), 16);
            assert!(found.constraints.is_empty());
        }
        assert!(begun.elapsed() < Duration::from_secs(15), "it was asked again and again");
        let expected = format!("the solver z9 {what}; the search goes on without its constraints");
        assert_eq!(solver.complaint(), Some(expected));
    }
    let (embedded, (_, pair)) = (SearchSolver::default(), asked("exit 0", seconds));
    assert_eq!(embedded.synthesise(&pair, Formula::True, Work(300_000), 16).constraints.len(), 0);
    assert_eq!(embedded.complaint(), None);
}

#[test]
fn a_solver_that_is_missing_is_told_of() {
    let command = vec!["no-such-solver-is-installed".to_owned()];
    let patience = Duration::from_secs(20);
    let program = SolverProgram { name: "z9".to_owned(), command, patience };
    let solver = SearchSolver::new(Solver::Program(program));
    let (_, pair) = asked("exit 0", patience);
    assert!(solver.synthesise(&pair, Formula::True, Work(300_000), 16).constraints.is_empty());
    let told = solver.complaint().unwrap();
    assert!(told.starts_with("the solver z9 can't be started ("), "{told}");
    assert!(told.ends_with("; the search goes on without its constraints"), "{told}");
}
