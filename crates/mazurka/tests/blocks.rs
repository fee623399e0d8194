//! Atomic blocks: several operations as one step, and what is claimed of them.

mod brute;

use std::fmt::Debug;

use mazurka::sync::atomic::AtomicI32;
use mazurka::sync::atomic::Ordering::SeqCst;
use mazurka::sync::{Arc, Mutex, mpsc};
use mazurka::{Algorithm, Block, Checker, Report, atomic, choose, thread};

use brute::verify;

/// Runs two closures over two variables, the first on a thread of its own.
fn two<A: Debug>(
    one: impl Fn(&AtomicI32, &AtomicI32) -> A,
    other: impl Fn(&AtomicI32, &AtomicI32) -> A + Send + Sync + Copy + 'static,
) -> String {
    let vars = Arc::new([AtomicI32::new(0), AtomicI32::new(0)]);
    let theirs = vars.clone();
    let worker = thread::spawn(move || drop(other(&theirs[0], &theirs[1])));
    one(&vars[0], &vars[1]);
    worker.join().unwrap();
    format!("{} {}", vars[0].load(SeqCst), vars[1].load(SeqCst))
}

fn failure(report: &Report) -> (String, String) {
    let failure = report.failures().next().unwrap_or_else(|| panic!("no failure in\n{report}"));
    (failure.kind().to_owned(), failure.message().to_owned())
}

#[test]
fn what_is_done_in_a_block_is_one_step() {
    fn both(x: &AtomicI32, y: &AtomicI32) {
        atomic(|| {
            x.store(y.load(SeqCst) + 1, SeqCst);
            y.store(x.load(SeqCst) + 1, SeqCst);
        });
    }
    verify(|| two(both, both), 2, &["3 4"]);
}

#[test]
fn what_a_block_touches_may_follow_from_what_it_reads() {
    let choosy = |x: &AtomicI32, y: &AtomicI32| {
        atomic(|| {
            if x.load(SeqCst) == 0 {
                y.store(1, SeqCst);
            }
        })
    };
    let plain = |x: &AtomicI32, y: &AtomicI32| {
        y.store(2, SeqCst);
        x.store(1, SeqCst);
    };
    verify(move || two(choosy, plain), 3, &["1 1", "1 2"]);
}

#[test]
fn a_block_in_a_block_and_one_that_panics_are_one_step() {
    fn nested(x: &AtomicI32, _: &AtomicI32) {
        atomic(|| {
            let before = x.load(SeqCst);
            atomic(|| x.store(before + 1, SeqCst));
        });
    }
    verify(|| two(nested, nested), 2, &["2 0"]);
    // On the way out of the block a destructor does an operation: the unwinding is a step of its own.
    struct Resets<'a>(&'a AtomicI32);
    impl Drop for Resets<'_> {
        fn drop(&mut self) {
            self.0.fetch_sub(1, SeqCst);
        }
    }
    let panics = |x: &AtomicI32, _: &AtomicI32| {
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            atomic(|| {
                let _resets = Resets(x);
                x.fetch_add(1, SeqCst);
                std::panic::resume_unwind(Box::new(()));
            })
        }));
        assert!(caught.is_err());
    };
    let looks = |x: &AtomicI32, _: &AtomicI32| assert_eq!(x.load(SeqCst), 0);
    let report = Checker::new().run(move || assert_eq!(two(panics, looks), "0 0"));
    assert!(report.is_pass(), "{report}");
}

#[test]
fn a_loop_around_a_block_that_waits_comes_to_an_end() {
    let waits = |x: &AtomicI32, y: &AtomicI32| {
        while atomic(|| {
            let ready = x.load(SeqCst) == 1;
            if ready {
                y.store(1, SeqCst);
            }
            !ready
        }) {}
    };
    let report = Checker::new().run(move || assert_eq!(two(waits, |x, _| x.store(1, SeqCst)), "1 1"));
    assert!(report.is_pass(), "{report}");
    let report = Checker::new().run(move || drop(two(waits, |_, _| ())));
    assert_eq!(failure(&report).0, "livelock", "{report}");
}

/// That a block in which this is done is refused, with these words and the place.
#[track_caller]
fn refused(words: &str, body: impl Fn(&Mutex<i32>) + Send + Sync + 'static) {
    let report = Checker::new().run(move || {
        let mutex = Mutex::new(0);
        atomic(|| body(&mutex));
    });
    let (kind, message) = failure(&report);
    assert_eq!(kind, "invalid-sync", "{report}");
    assert!(message.contains(words), "{message}");
    assert!(
        message.contains("which can't be in the atomic block at ") && message.contains("blocks.rs"),
        "{message}"
    );
    assert!(report.failures().next().unwrap().place().is_some_and(|place| place.contains("blocks.rs")));
}

#[test]
fn what_may_wait_in_a_block_is_refused_with_its_place() {
    refused("mutex.lock() may have to wait", |mutex| drop(mutex.lock()));
    refused("may have to wait", |_| {
        let (sender, receiver) = mpsc::channel();
        sender.send(1).unwrap();
        receiver.recv().unwrap();
    });
    refused("may have to wait", |_| thread::park());
    refused("choose(0..=1) has several outcomes", |_| assert!(choose(0..2) < 2));
    refused("starts a thread", |_| drop(thread::spawn(|| ())));
    // What never waits is none of these.
    let report = Checker::new().run(|| {
        let mutex = Mutex::new(0);
        atomic(|| *mutex.try_lock().unwrap() += 1);
        assert_eq!(*mutex.lock().unwrap(), 1);
    });
    assert!(report.is_pass(), "{report}");
}

#[test]
fn static_footprints_are_not_had() {
    let report = Checker::new().algorithm(Algorithm::Source).run(|| atomic(|| ()));
    assert!(report.text().contains("an atomic block is not supported by source; use optimal"), "{report}");
}

#[test]
fn outside_of_a_check_blocks_exclude_each_other() {
    let (x, y) = (AtomicI32::new(0), AtomicI32::new(0));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..100 {
                    atomic(|| {
                        x.fetch_add(1, SeqCst);
                        atomic(|| y.fetch_add(1, SeqCst));
                        assert_eq!(x.load(SeqCst), y.load(SeqCst));
                    });
                }
            });
        }
    });
    let given = Block::named("look").commutes_with_if("look", || unreachable!()).run(|| x.load(SeqCst));
    assert_eq!((given, y.load(SeqCst)), (400, 400));
}

/// Somebody pays, and somebody buys if there is enough: the claim is right where there is.
fn account(first: i32, claimed: bool) -> Report {
    let name = if claimed { "withdraw" } else { "nothing" };
    Checker::new().run(move || {
        let balance = Arc::new(AtomicI32::new(first));
        let theirs = balance.clone();
        let buyer = thread::spawn(move || {
            let withdraw = || {
                let enough = theirs.load(SeqCst) >= 100;
                if enough {
                    theirs.fetch_sub(100, SeqCst);
                }
                enough
            };
            Block::named("withdraw").run(withdraw);
        });
        Block::named("deposit").commutes_with(name).run(|| {
            balance.fetch_add(50, SeqCst);
        });
        buyer.join().unwrap();
    })
}

#[test]
fn a_claim_that_is_right_where_it_is_tried_passes() {
    let (right, none) = (account(100, true), account(100, false));
    assert!(right.is_pass() && none.is_pass(), "{right}{none}");
    let told = |report: &Report, words: &str| report.text().contains(words);
    assert!(
        told(&right, "claims of atomic blocks was tried in the states that were met, and not proved"),
        "{right}"
    );
    assert!(
        told(&none, "claims of atomic blocks was never tried: nowhere were two such blocks next"),
        "{none}"
    );
    // Searches take no advantage of it, and it costs no executions.
    assert_eq!((right.executions(), none.executions()), (2, 2));
}

#[test]
fn a_claim_that_is_wrong_is_a_failure_with_the_state() {
    let report = account(50, true);
    let (kind, message) = failure(&report);
    assert_eq!(kind, "constraint");
    assert_eq!(
        message,
        "`deposit` does not commute with `withdraw` here, where balance = 50: main before buyer leaves balance = 0, \
         buyer before main balance = 100"
    );
    assert!(report.text().contains("atomic deposit { balance.fetch_add() }"), "{report}");
}

/// A closure with two blocks, of which the second claims that they commute where a condition on `y` holds. Before,
/// somebody else may write `y`.
fn claim<R: Debug + 'static>(
    condition: fn(i32) -> bool,
    one: fn(&AtomicI32) -> R,
    other: fn(&AtomicI32) -> R,
) -> impl Fn() + Send + Sync + Clone + 'static {
    move || {
        let vars = Arc::new([AtomicI32::new(0), AtomicI32::new(0)]);
        let (mine, theirs) = (vars.clone(), vars.clone());
        thread::spawn(move || mine[1].store(1, SeqCst));
        thread::spawn(move || drop(Block::named("one").run(|| one(&theirs[0]))));
        let holds = || condition(vars[1].load(SeqCst));
        Block::named("other").commutes_with_if("one", holds).run(|| other(&vars[0]));
    }
}

fn adds(x: &AtomicI32) -> Option<i32> {
    x.fetch_add(1, SeqCst);
    None
}

fn sets(x: &AtomicI32) -> Option<i32> {
    x.store(7, SeqCst);
    None
}

fn looks(x: &AtomicI32) -> Option<i32> {
    Some(x.load(SeqCst))
}

#[test]
fn what_blocks_give_and_leave_is_compared() {
    let always = |_| true;
    let pass = |body| Checker::new().run(body).is_pass();
    assert!(pass(claim(always, adds, adds)));
    assert!(pass(claim(always, sets, sets)));
    assert!(pass(claim(always, looks, looks)));
    for (one, other, says) in [
        (adds as fn(&AtomicI32) -> Option<i32>, looks as fn(&AtomicI32) -> Option<i32>, "gives Some("),
        (looks, adds, "gives Some("),
        (sets, adds, " = 7"),
        (adds, sets, " = 8"),
    ] {
        let (kind, message) = failure(&Checker::new().run(claim(always, one, other)));
        assert_eq!(kind, "constraint");
        assert!(message.contains(says), "{message}");
        assert!(pass(claim(|_| false, one, other)));
    }
}

#[test]
fn a_block_is_tried_with_each_of_several_others() {
    let report = Checker::new().run(|| {
        let x = Arc::new(AtomicI32::new(0));
        let (mine, theirs) = (x.clone(), x.clone());
        let right = thread::spawn(move || Block::named("right").run(|| _ = adds(&mine)));
        let wrong = thread::spawn(move || Block::named("wrong").run(|| _ = sets(&theirs)));
        Block::named("main").commutes_with("right").commutes_with("wrong").run(|| _ = adds(&x));
        right.join().unwrap();
        wrong.join().unwrap();
    });
    // Where the first execution takes the step of the one who claims, all three are next.
    let (_, message) = failure(&report);
    assert!(message.starts_with("`main` does not commute with `wrong` here, where x = 0"), "{report}");
    assert_eq!(report.executions(), 1, "{report}");
}

#[test]
fn no_state_is_missed_in_which_a_condition_holds() {
    // What the blocks do has nothing to do with what the condition is about.
    for wrong in [(|y| y == 0) as fn(i32) -> bool, |y| y == 1] {
        for algorithm in [Algorithm::Naive, Algorithm::Optimal, Algorithm::WakeUp] {
            for seed in 0..4 {
                let report = Checker::new().algorithm(algorithm).seed(seed).run(claim(wrong, adds, sets));
                assert_eq!(failure(&report).0, "constraint", "{algorithm} {seed} {report}");
            }
        }
    }
}

#[test]
fn the_search_goes_on_behind_a_wrong_claim() {
    let counts = |wrong: bool, algorithm| {
        let condition: fn(i32) -> bool = if wrong { |y| y >= 0 } else { |y| y < 0 };
        let checker = Checker::new().algorithm(algorithm).keep_going(true);
        let report = checker.run(claim(condition, adds, sets));
        let kinds: Vec<String> = report.failures().map(|failure| failure.kind().to_owned()).collect();
        assert_eq!(!kinds.is_empty(), wrong, "{report}");
        assert!(kinds.iter().all(|kind| kind == "constraint"), "{report}");
        (report.executions(), report.blocked())
    };
    for algorithm in [Algorithm::Optimal, Algorithm::WakeUp] {
        assert_eq!(counts(true, algorithm), counts(false, algorithm), "{algorithm}");
    }
}

#[test]
fn a_wrong_claim_is_found_by_any_number_of_jobs_and_shown_again_by_its_schedule() {
    let run = |jobs| {
        let checker = Checker::new().algorithm(Algorithm::WakeUp).jobs(jobs).keep_going(true);
        checker.run(claim(|_| true, adds, sets))
    };
    let report = run(1);
    let told = |report: &Report| {
        let text = report.text();
        text.lines().filter(|line| !line.starts_with("executions:")).collect::<Vec<_>>().join("\n")
    };
    assert_eq!((report.executions(), told(&report)), (4, told(&run(2))));
    let schedule = report.failures().next().unwrap().schedule().expect("a schedule");
    let again = Checker::new().replay(schedule).run(claim(|_| true, adds, sets));
    assert_eq!(failure(&again), failure(&report));
}

#[test]
fn a_panic_in_one_order_is_a_difference() {
    let asserts = |x: &AtomicI32| {
        assert_eq!(x.load(SeqCst), 0, "too late");
        None
    };
    let report = Checker::new().keep_going(true).run(claim(|_| true, adds, asserts));
    let kinds: Vec<&str> = report.failures().map(|failure| failure.kind()).collect();
    assert!(kinds.contains(&"constraint") && kinds.contains(&"assertion"), "{report}");
    assert!(report.text().contains("too late"), "{report}");
}

#[test]
fn claims_that_cannot_be_tried_are_not_passed_over() {
    let locks = |_: &AtomicI32| {
        static LOCK: Mutex<i32> = Mutex::new(0);
        Some(*LOCK.try_lock().unwrap())
    };
    let report = Checker::new().run(claim(|_| true, adds, locks));
    assert!(!report.is_pass() && report.failures().next().is_none(), "{report}");
    assert!(report.text().contains("it does what is no operation of an atomic"), "{report}");
    let report = Checker::new().run(|| {
        let x = AtomicI32::new(0);
        Block::named("a").commutes_with_if("a", || x.fetch_add(1, SeqCst) == 0).run(|| ());
    });
    assert!(failure(&report).1.contains("may only read"), "{report}");
}

/// Random programs of blocks with claims, against what simulation says of them.
mod random {
    use super::*;
    use std::collections::BTreeSet;

    const NAMES: [&str; 2] = ["a", "b"];

    #[derive(Clone, Copy, Debug)]
    enum Op {
        Look(usize),
        Set(usize, i32),
        Add(usize, i32),
        /// If the first holds the number, one is added to the second.
        AddIf(usize, i32, usize),
    }

    #[derive(Clone, Debug)]
    struct Part {
        name: usize,
        /// Whom it claims to commute with, and where: everywhere, or where a variable holds a number.
        claim: Option<(usize, Option<(usize, i32)>)>,
        ops: Vec<Op>,
    }

    type Program = Vec<Vec<Part>>;

    struct Random(u64);

    impl Random {
        fn below(&mut self, n: usize) -> usize {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) as usize % n
        }

        fn op(&mut self) -> Op {
            let (at, value) = (self.below(2), self.below(3) as i32);
            match self.below(4) {
                0 => Op::Look(at),
                1 => Op::Set(at, value),
                2 => Op::Add(at, value),
                _ => Op::AddIf(at, value, self.below(2)),
            }
        }

        fn part(&mut self) -> Part {
            let condition = (self.below(3) > 0).then(|| (self.below(2), self.below(3) as i32));
            let claim = (self.below(3) > 0).then(|| (self.below(2), condition));
            let ops = (0..1 + self.below(2)).map(|_| self.op()).collect();
            Part { name: self.below(2), claim, ops }
        }

        fn program(&mut self) -> Program {
            let threads = 2 + self.below(2);
            (0..threads).map(|_| (0..1 + self.below(4 - threads)).map(|_| self.part()).collect()).collect()
        }
    }

    fn simulate(ops: &[Op], vars: &mut [i32; 2]) -> Vec<i32> {
        let mut seen = Vec::new();
        for &op in ops {
            match op {
                Op::Look(at) => seen.push(vars[at]),
                Op::Set(at, value) => vars[at] = value,
                Op::Add(at, value) => vars[at] += value,
                Op::AddIf(at, value, to) => vars[to] += i32::from(vars[at] == value),
            }
        }
        seen
    }

    /// Whether a claim is wrong in some state that the program can come to.
    fn is_wrong(program: &Program) -> bool {
        let mut seen = BTreeSet::new();
        let mut left = vec![([0; 2], vec![0; program.len()])];
        while let Some((vars, at)) = left.pop() {
            let next = |thread: usize| program[thread].get(at[thread]);
            for p in 0..program.len() {
                let Some(part) = next(p) else { continue };
                for other in (0..program.len()).filter(|&q| q != p).filter_map(next) {
                    let claimed = part.claim.is_some_and(|(with, condition)| {
                        with == other.name && condition.is_none_or(|(var, value)| vars[var] == value)
                    });
                    let (mut early, mut late) = (vars, vars);
                    let first = simulate(&part.ops, &mut early);
                    let ends = (first, simulate(&other.ops, &mut early));
                    let second = simulate(&other.ops, &mut late);
                    if claimed && (ends, early) != ((simulate(&part.ops, &mut late), second), late) {
                        return true;
                    }
                }
                let (mut vars, mut at) = (vars, at.clone());
                simulate(&part.ops, &mut vars);
                at[p] += 1;
                if seen.insert((vars, at.clone())) {
                    left.push((vars, at));
                }
            }
        }
        false
    }

    fn act(ops: &[Op], vars: &[AtomicI32; 2]) -> Vec<i32> {
        let mut seen = Vec::new();
        for &op in ops {
            match op {
                Op::Look(at) => seen.push(vars[at].load(SeqCst)),
                Op::Set(at, value) => vars[at].store(value, SeqCst),
                Op::Add(at, value) => _ = vars[at].fetch_add(value, SeqCst),
                Op::AddIf(at, value, to) => {
                    if vars[at].load(SeqCst) == value {
                        vars[to].fetch_add(1, SeqCst);
                    }
                }
            }
        }
        seen
    }

    fn thread(parts: &[Part], vars: &[AtomicI32; 2]) {
        for part in parts {
            let mut block = Block::named(NAMES[part.name]);
            if let Some((with, condition)) = part.claim {
                block = match condition {
                    None => block.commutes_with(NAMES[with]),
                    Some((at, value)) => {
                        block.commutes_with_if(NAMES[with], move || vars[at].load(SeqCst) == value)
                    }
                };
            }
            block.run(|| act(&part.ops, vars));
        }
    }

    fn run(program: &Program, algorithm: Algorithm, seed: u64) -> Report {
        let program = program.clone();
        Checker::new().algorithm(algorithm).seed(seed).run(move || {
            let vars = [const { AtomicI32::new(0) }; 2];
            thread::scope(|scope| {
                for parts in &program {
                    scope.spawn(|| thread(parts, &vars));
                }
            });
        })
    }

    fn compare(programs: u64, first: u64) -> (u64, u64) {
        let (mut wrong, mut right) = (0, 0);
        for number in first..first + programs {
            let program = Random(number.wrapping_mul(0x9E37_79B9_7F4A_7C15)).program();
            let expected = is_wrong(&program);
            *(if expected { &mut wrong } else { &mut right }) += 1;
            for (algorithm, seed) in [
                (Algorithm::Optimal, number),
                (Algorithm::Optimal, number + 1),
                (Algorithm::WakeUp, number),
                (Algorithm::Naive, number),
            ] {
                let report = run(&program, algorithm, seed);
                assert_eq!(!report.is_pass(), expected, "{number} {algorithm}\n{program:#?}\n{report}");
                assert!(report.failures().all(|failure| failure.kind() == "constraint"), "{number} {report}");
            }
        }
        (wrong, right)
    }

    #[test]
    fn claims_are_wrong_where_simulation_says_so() {
        let (wrong, right) = compare(40, 0);
        assert!(wrong > 8 && right > 8, "{wrong} wrong, {right} right");
    }

    #[test]
    #[ignore = "takes minutes"]
    fn many_claims_are_wrong_where_simulation_says_so() {
        let (wrong, right) = compare(5_000, 1_000);
        println!("{wrong} wrong, {right} right");
        assert!(wrong > 500 && right > 500);
    }
}
