//! Random programs as closures over the library `mazurka`: it must do what the language's machine does.
//!
//! A program is rewritten until each of its steps is one operation of the library, and acted out by a
//! closure. Two things are compared then:
//!
//! * the closure with itself: brute force over the closure against every algorithm, in several orders, by the
//!   laws that programs of the language obey (each Mazurkiewicz class once, none blocked, executions of one
//!   class end alike);
//! * the closure with the program under its own oracle: the number of classes for each final value of the
//!   shared variables, failures, false assumptions, deadlocks and who waits in them.
//!
//! The first finds labels that are not right and searches that go wrong; the second finds operations that do
//! something else than they should.

mod arithmetic;
mod blocks;
mod c_text;
mod encoded;
mod interpreter;
mod joins;
mod log;
pub mod loops;
mod lowering;
mod objects;
mod plan;
mod program;
mod rewrite;
mod rust_ops;

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use mazurka_explore::{Algorithm, Limits, Options, Order, Rules};
use mazurka_litmus::ast::Ast;
use mazurka_litmus::{Litmus, Source, compile};
use mazurka_oracle::{Budget, TooMuch, truth};
use mazurka_program::{FailureKind, Footprints, Program, Stop};

use crate::behaviour::{Behaviour, Telling, failure_names};
use crate::campaign::{Broken, Checked, FuzzTarget, NOT_A_PROGRAM, Outcome};
use crate::corpus::Seed;
use crate::diamonds::{self, Walks};
use crate::laws::{INCONSISTENT, in_orders, names, obeys};
use crate::loops::every_poll_a_step;
use crate::random::Random;
use crate::{generate, maz};
use program::{ClosureProgram, MainThread, Shape};

/// Random programs as closures, half of them mutants.
#[derive(Clone, Debug)]
pub struct Closures {
    /// What mutants are made of.
    pub corpus: Vec<Seed>,
}

impl FuzzTarget for Closures {
    type Program = Ast;
    const CLEAN: &'static str = "nothing wrong";
    const BROKEN: &'static str = "WRONG in program";

    fn draw(&self, index: u64, random: &mut Random) -> (Ast, bool) {
        let (ast, mutant) = maz::draw(index, random, &self.corpus, generate::threads);
        (prepare(&ast, random.number()), mutant)
    }

    fn check(&self, ast: &Ast, seed: u64) -> Checked {
        check(ast, seed)
    }

    fn corpus(&self) -> Option<String> {
        Some(format!("corpus of {} programs", self.corpus.len()))
    }

    fn summary(&self, outcome: &Outcome<Ast>) -> String {
        let Outcome { held, mutants, classes, agreed, too_large, .. } = outcome;
        let seconds = outcome.time.as_secs_f64();
        let algorithms = names(&CHECKED);
        format!(
            "{held} programs ({mutants} mutants of the corpus), {classes} classes, in {seconds:.1} s: \
             closure and program agree, brute force and {algorithms} on the closure\n\
             too large for brute force over the closure: {agreed} that agree under optimal, {too_large} that \
             were left out{}",
            outcome.unfit_lines("can't be acted out")
        )
    }

    fn options(&self) -> String {
        " --closures".to_owned()
    }
}

/// What closures that brute force can take are checked under, and in which orders: `naive` if they are small.
const CHECKED: [(Algorithm, &[u64]); 5] = [
    (Algorithm::Naive, &[0]),
    (Algorithm::Optimal, &[0, 1, 2]),
    (Algorithm::WakeUp, &[0, 6, 7]),
    (Algorithm::Source, &[0, 3]),
    (Algorithm::ReadsFrom, &[0, 4, 5, 6]),
];

const LITMUS: Budget = Budget { executions: 3_000, steps: 40 };
const CLOSURE: Budget = Budget { executions: 2_000, steps: 60 };
/// At most so many executions of `optimal` where brute force gives up.
const AGREED: u64 = 1_000;
/// None of these is longer, but for those of endless programs.
const DEPTH: usize = 100;

/// The program as a closure can act it out.
pub fn prepare(ast: &Ast, seed: u64) -> Ast {
    let mut random = Random::new(seed);
    let mut ast = joins::arrange(&rewrite::rewrite(ast, &mut random));
    encoded::add(&mut ast, &mut random);
    if random.one_in(3) {
        blocks::add(&mut ast, &mut random);
    }
    if random.one_in(4) {
        rust_ops::add(&mut ast, &mut random);
    }
    ast
}

/// The program with one shared access a step, as C has it too.
pub(crate) fn prepare_for_c(ast: &Ast, seed: u64) -> Ast {
    joins::arrange(&rewrite::rewrite(ast, &mut Random::new(seed)))
}

/// What every file of C programs begins with.
pub(crate) const C_PRELUDE: &str = c_text::PRELUDE;
pub(crate) use c_text::GIVEN_UP;

/// A program that was [prepared](prepare_for_c) in C, as number `number` of a file.
///
/// # Errors
/// If C has no word for something in it.
pub(crate) fn in_c(ast: &Ast, number: usize) -> Result<String, &'static str> {
    let plan = lowering::plan(ast)?;
    if plan.roots.is_empty() {
        return Err("no process");
    }
    c_text::text(&plan, number)
}

/// Checks everything on a program that was [prepared](prepare). The seed draws orders and the shape of the
/// closure.
pub fn check(ast: &Ast, seed: u64) -> Checked {
    let Ok(litmus) = compile(ast, &Source::default(), &[]) else { return Checked::Unfit(NOT_A_PROGRAM) };
    let plan = match lowering::plan(ast) {
        Ok(plan) => plan,
        Err(why) => return Checked::Unfit(why),
    };
    if plan.roots.is_empty() {
        return Checked::Unfit("no process");
    }
    let shape = Shape::random(&plan, &mut Random::new(seed ^ 0x5AFE));
    let closure = ClosureProgram::new(plan, shape);
    let compared = catch_unwind(AssertUnwindSafe(|| compare(&litmus, &closure, seed)));
    let errors = closure.errors();
    let checked = compared.unwrap_or_else(|panic| {
        Checked::Breaks(Broken::law(format!("panicked: {} ({:?})", message(&*panic), errors.stop)))
    });
    match (errors.unfit, errors.wrong, checked) {
        (Some(why), _, _) => Checked::Unfit(why),
        (None, Some(wrong), _) => Checked::Breaks(Broken::law(format!("{shape:?}: {wrong}"))),
        (None, None, Checked::Breaks(broken)) => {
            Checked::Breaks(Broken { law: format!("{shape:?}: {}", broken.law), ..broken })
        }
        (None, None, checked) => checked,
    }
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("something that is no text")
}

fn broken(law: impl Into<String>) -> Checked {
    Checked::Breaks(Broken::law(law))
}

fn compare(litmus: &Litmus, closure: &ClosureProgram, seed: u64) -> Checked {
    let expected = match expectation(litmus, closure) {
        Ok(expected) => expected,
        Err(checked) => return checked,
    };
    let process = |path: &[u32]| closure.shape().process(closure.plan(), path);
    let truth = match truth(closure, CLOSURE) {
        Ok(truth) => truth,
        Err(TooMuch::Executions) => return optimal_alone(expected, closure, seed),
        Err(TooMuch::Steps | TooMuch::States) => return Checked::TooLarge,
        Err(TooMuch::Program) => {
            return broken(format!("the closure can't go on: {:?}", closure.errors().stop));
        }
    };
    if closure.errors().unfit.is_some() {
        return Checked::TooLarge;
    }
    if !truth.inconsistent.is_empty() {
        return broken(INCONSISTENT);
    }
    let found = Behaviour::of(&truth, &process);
    if let Some(difference) = expected.and_then(|expected| expected.difference(&found)) {
        return broken(format!("the closure has {difference}"));
    }
    if let Err(what) = honest(closure, seed) {
        return broken(what);
    }
    for (algorithm, order) in in_orders(seed.wrapping_mul(41), &CHECKED) {
        if algorithm == Algorithm::Naive && truth.interleavings > 200 {
            continue;
        }
        if let Err(law) = obeys(closure, &truth, Rules::default(), algorithm, order, seed) {
            let stop = closure.errors().stop;
            // What the library does not do under `source` it says.
            if algorithm == Algorithm::Source && matches!(stop, Some(Stop::Unsupported(_))) {
                closure.forget_stop();
                continue;
            }
            return Checked::Breaks(Broken::by(algorithm, order)(format!("{law} ({stop:?})")));
        }
    }
    if let Err(law) = same_for_any_jobs(closure) {
        return Checked::Breaks(Broken::by(Algorithm::WakeUp, Order::Natural)(law));
    }
    Checked::Holds(truth.mazurkiewicz.len())
}

/// The report of a search that several threads share is that of one.
fn same_for_any_jobs(closure: &ClosureProgram) -> Result<(), String> {
    let expected = closure.shared_report(1);
    let found = closure.shared_report(2);
    if found == expected { Ok(()) } else { Err(format!("with 2 jobs\n{found}\nand with 1\n{expected}")) }
}

/// Labels are honest, as far as a few walks show.
fn honest(closure: &ClosureProgram, seed: u64) -> Result<(), String> {
    let walks = Walks { number: 2, steps: 60 };
    diamonds::check(closure, Footprints::Dynamic, walks, &mut Random::new(seed ^ 0xD1A3))
}

/// What the program does, by its own oracle. None if it is not what the closure does. Every poll is a step: a
/// closure shows that one leads back only by taking it, so of programs that can go round for ever the numbers
/// differ. They have laws of their own ([`loops`]).
fn expectation(litmus: &Litmus, closure: &ClosureProgram) -> Result<Option<Behaviour>, Checked> {
    if closure.plan().only_rust || closure.shape().main == MainThread::Looks {
        return Ok(None);
    }
    let same = |path: &[u32]| Some(path.to_vec());
    let litmus = every_poll_a_step(litmus);
    let expected = match truth(&litmus, LITMUS) {
        Ok(truth) => Behaviour::of(&truth, &same),
        Err(TooMuch::Executions) => match by_optimal(&litmus, Order::Natural, AGREED, &same) {
            Ok(Some(behaviour)) if behaviour.ends() => behaviour,
            Ok(_) => return Err(Checked::TooLarge),
            Err(why) => return Err(broken(format!("of the program itself: {why}"))),
        },
        Err(TooMuch::Steps | TooMuch::States | TooMuch::Program) => return Err(Checked::TooLarge),
    };
    if expected.fails(|name| name == FailureKind::Hang.name()) {
        return Err(Checked::Unfit("an endless local loop"));
    }
    // A panic does what no failure of the language does: it gives locks back.
    Ok((!closure.shape().panics).then_some(expected))
}

/// What `optimal` finds. None if that is more than so many executions, or endless.
fn by_optimal<P: Program>(
    program: &P,
    order: Order,
    executions: u64,
    process: &dyn Fn(&[u32]) -> Option<Vec<u32>>,
) -> Result<Option<Behaviour>, String> {
    let limits = Limits { executions: Some(executions), depth: DEPTH, ..Limits::default() };
    let options = Options { order, limits, ..Options::default() };
    Behaviour::found(program, Algorithm::Optimal, &options, Telling { process, failures: &failure_names })
}

/// For closures that are too large for brute force: `optimal` finds what is expected, or else the same in all
/// orders.
fn optimal_alone(mut expected: Option<Behaviour>, closure: &ClosureProgram, seed: u64) -> Checked {
    let process = |path: &[u32]| closure.shape().process(closure.plan(), path);
    for order in [Order::Natural, Order::Shuffled(seed | 1), Order::Shuffled(seed.wrapping_mul(3) | 1)] {
        let most = expected.as_ref().map_or(AGREED, |expected| 100 + 2 * expected.executions());
        let law = match (by_optimal(closure, order, most, &process), &expected) {
            (Ok(Some(found)), None) => {
                expected = Some(found);
                continue;
            }
            (Ok(Some(found)), Some(expected)) => match expected.difference(&found) {
                None => continue,
                Some(difference) => difference,
            },
            (Ok(None), None) => return Checked::TooLarge,
            (Ok(None), Some(_)) => "more executions than there are classes".to_owned(),
            (Err(why), _) => format!("{why} ({:?})", closure.errors().stop),
        };
        return Checked::Breaks(Broken::by(Algorithm::Optimal, order)(law));
    }
    // Not earlier: by now all that changes labels has been found out.
    match honest(closure, seed) {
        Ok(()) => Checked::Agrees(expected.map_or(0, |expected| expected.classes())),
        Err(what) => broken(what),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mazurka_litmus::{parse, print};

    fn read(text: &str) -> Ast {
        let source = Source { name: "test.maz".into(), text: text.into() };
        parse(&source).unwrap_or_else(|errors| panic!("{}: {text}", errors[0].message))
    }

    /// What comes of it if the closure acts out another program than it is compared with.
    fn mistaken(program: &str, acted: &str) -> Checked {
        let litmus = compile(&read(program), &Source::default(), &[]).expect("it compiles");
        let plan = lowering::plan(&read(acted)).expect("it can be acted out");
        let shape =
            Shape { main: MainThread::Root, storage: objects::Storage::Rows, panics: false, bound: None };
        compare(&litmus, &ClosureProgram::new(plan, shape), 1)
    }

    #[test]
    fn a_closure_that_does_something_else_is_noticed() {
        for (program, acted) in [
            (
                "var x; process p { x = 1; } process q { x = 2; }",
                "var x; process p { x = 1; } process q { x = 1; }",
            ),
            (
                "var x; process p { x = 1; } process q { x = 2; }",
                "var x; process p { x = 1; } process q { let r = x; }",
            ),
            (
                "lock m; process p { lock(m); unlock(m); } process q { lock(m); unlock(m); }",
                "lock m; process p { lock(m); } process q { lock(m); unlock(m); }",
            ),
            (
                "lock m; process p { lock(m); } process q { let r = try_lock(m); }",
                "lock m; process p { lock(m); } process q { lock(m); }",
            ),
            (
                "lock m; condvar c; process p { lock(m); wait(c, m); } process q { notify_one(c); }",
                "lock m; condvar c; process p { lock(m); } process q { notify_one(c); }",
            ),
            (
                "process p { receive 1; } process q { send(p, 1); }",
                "process p { receive 2; } process q { send(p, 1); }",
            ),
            ("process p { let r = choose(2); }", "process p { let r = choose(3); }"),
            (
                "var x; process p { x = 1; } process q { let r = x; assert r, \"#1\"; }",
                "var x; process p { x = 1; } process q { let r = x; assert r, \"#2\"; }",
            ),
            (
                "var x; process p { x = 1; } process q { let r = x; assume r; }",
                "var x; process p { x = 1; } process q { let r = x; }",
            ),
            (
                "var tok_p; process p { atomic { await tok_p == 1; tok_p = 0; } } process q { tok_p = 1; }",
                "var tok_p; process p { } process q { tok_p = 1; }",
            ),
            (
                "var x; process p { atomic { let r = x; x = r + 1; } } process q { x = 2; }",
                "var x; process p { let r = x; x = r + 1; } process q { x = 2; }",
            ),
        ] {
            assert!(matches!(mistaken(program, acted), Checked::Breaks(_)), "{program}\n{acted}");
            for same in [program, acted] {
                let checked = mistaken(same, same);
                assert!(matches!(checked, Checked::Holds(_)), "{same}: {checked:?}");
            }
        }
    }

    #[test]
    fn programs_are_rewritten_to_one_access_a_step() {
        let ast = read(
            "const N = 2; var x, a[N]; lock m;
            process p { a[x] = a[1] + N; atomic { x += 1; if x == 1 && a[0] == 2 { unlock(m); } } }
            process q { join(p); while x < N { lock(m); skip; } }",
        );
        let expected = read(
            "var x, a[2]; lock m;
            process p {
                let held_m = 0;
                let tmp1 = x;
                let tmp2 = 1 / (0 <= tmp1 && tmp1 <= 1);
                let tmp3 = a[1];
                a[tmp1] = tmp3 + 2;
                x += 1;
                let tmp4 = x;
                let tmp5 = (tmp4 == 1) != 0;
                if tmp5 { let tmp6 = a[0]; let tmp5 = (tmp6 == 2) != 0; }
                if tmp5 { if held_m { unlock(m); let held_m = 0; } }
            }
            process q {
                let held_m = 0;
                join(p);
                while 1 { let tmp1 = x; if !(tmp1 < 2) { break; } lock(m); let held_m = 1; }
            }",
        );
        let rewritten = joins::arrange(&rewrite::rewrite(&ast, &mut Random::new(1)));
        assert_eq!(print(&rewritten), print(&expected));
    }
}
