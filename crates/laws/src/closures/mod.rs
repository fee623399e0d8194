//! Random programs as closures over the library `mazurka`: it must do what the language's machine does.
//!
//! A program is rewritten until each of its steps is one operation of the library, and acted out by a
//! closure. Two things are compared then:
//!
//! * the closure with itself: brute force over the closure against every algorithm, in several orders, by the laws
//!   that programs of the language obey (each Mazurkiewicz class once, none blocked, executions of one class end
//!   alike);
//! * the closure with the program under its own oracle: the number of classes for each final value of the shared
//!   variables, failures, false assumptions, deadlocks and who waits in them.
//!
//! The first finds labels that are not right and searches that go wrong; the second finds operations that do something
//! else than they should.

mod act;
mod arithmetic;
mod c_text;
mod campaign;
mod essence;
mod joins;
mod lowering;
mod only;
mod plan;
mod props;
mod rewrite;
mod show;
mod side;
mod twins;

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use mazurka_explore::{Algorithm, Order, Rules};
use mazurka_litmus::ast::Ast;
use mazurka_litmus::{Litmus, Source, compile};
use mazurka_oracle::{Budget, TooMuch, truth};
use mazurka_program::{FailureKind, Footprints, Stop};

pub use campaign::{Campaign, Found, Outcome, program, run};

use crate::Broken;
use crate::diamonds::{self, Walks};
use crate::laws::obeys;
use crate::random::Random;
use essence::Essence;
use show::{Main, Shape, Show};

/// What became of a program.
#[derive(Clone, Debug)]
pub enum Checked {
    /// A closure can't act it out, for this reason.
    Unfit(&'static str),
    /// It has too many executions for anything.
    TooLarge,
    /// It has too many for brute force over the closure: `optimal` finds in the closure what there is in the program.
    Agrees(usize),
    /// All laws hold, and the closure does what the program does: so many classes.
    Holds(usize),
    /// Something is wrong.
    Breaks(Broken),
}

const LITMUS: Budget = Budget { executions: 3_000, steps: 40 };
const CLOSURE: Budget = Budget { executions: 2_000, steps: 60 };
/// At most so many executions of `optimal` where brute force gives up.
const AGREED: u64 = 1_000;

/// The program as a closure can act it out.
pub fn prepare(ast: &Ast, seed: u64) -> Ast {
    let mut random = Random::new(seed);
    let mut ast = joins::arrange(&rewrite::rewrite(ast, &mut random));
    twins::add(&mut ast, &mut random);
    if random.one_in(4) {
        only::add(&mut ast, &mut random);
    }
    ast
}

/// The program with one shared access a step, as C has it too.
pub(crate) fn prepare_for_c(ast: &Ast, seed: u64) -> Ast {
    joins::arrange(&rewrite::rewrite(ast, &mut Random::new(seed)))
}

/// What every file of C programs begins with.
pub(crate) const C_PRELUDE: &str = c_text::PRELUDE;

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

/// Checks everything on a program that was [prepared](prepare). The seed draws orders and the shape of the closure.
pub fn check(ast: &Ast, seed: u64) -> Checked {
    let Ok(litmus) = compile(ast, &Source::default(), &[]) else { return Checked::Unfit("not a program") };
    let plan = match lowering::plan(ast) {
        Ok(plan) => plan,
        Err(why) => return Checked::Unfit(why),
    };
    if plan.roots.is_empty() {
        return Checked::Unfit("no process");
    }
    let shape = Shape::random(&plan, &mut Random::new(seed ^ 0x5AFE));
    let show = Show::new(plan, shape);
    let checked = catch_unwind(AssertUnwindSafe(|| compare(&litmus, &show, seed))).unwrap_or_else(|panic| {
        let stop = show.trouble().stop;
        broken(format!("{:?}: panicked: {} ({stop:?})", show.shape(), message(&*panic)))
    });
    let trouble = show.trouble();
    if let Some(why) = trouble.unfit {
        return Checked::Unfit(why);
    }
    if let Some(wrong) = trouble.wrong {
        return broken(format!("{:?}: {wrong}", show.shape()));
    }
    checked
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("something that is no text")
}

fn broken(law: String) -> Checked {
    Checked::Breaks(Broken { algorithm: None, order: Order::Natural, law })
}

fn compare(litmus: &Litmus, show: &Show, seed: u64) -> Checked {
    let expected = match expectation(litmus, show) {
        Ok(expected) => expected,
        Err(checked) => return checked,
    };
    let named = |path: &[u32]| show.shape().process(show.plan(), path);
    let told = |what: String| broken(format!("{:?}: {what}", show.shape()));
    let closure = match truth(show, CLOSURE) {
        Ok(truth) => truth,
        Err(TooMuch::Executions) => return optimal_alone(expected, show, seed),
        Err(TooMuch::Steps) => return Checked::TooLarge,
        Err(TooMuch::Program) => return told(format!("the closure can't go on: {:?}", show.trouble().stop)),
    };
    if show.trouble().unfit.is_some() {
        return Checked::TooLarge;
    }
    if !closure.inconsistent.is_empty() {
        return told("two executions of one class end in different states".to_owned());
    }
    let found = Essence::of(&closure, &named);
    if let Some(difference) = expected.and_then(|expected| expected.difference(&found)) {
        return told(format!("the closure has {difference}"));
    }
    if let Err(what) = honest(show, seed) {
        return told(what);
    }
    let shuffled = |k: u64| Order::Shuffled(seed.wrapping_mul(41).wrapping_add(k) | 1);
    let mut plans = vec![
        (Algorithm::Optimal, Order::Natural),
        (Algorithm::Optimal, shuffled(1)),
        (Algorithm::Optimal, shuffled(2)),
        (Algorithm::Source, Order::Natural),
        (Algorithm::Source, shuffled(3)),
    ];
    if closure.interleavings <= 200 {
        plans.push((Algorithm::Naive, Order::Natural));
    }
    for (algorithm, order) in plans {
        if let Err(law) = obeys(show, &closure, Rules::default(), algorithm, order, seed) {
            let stop = show.trouble().stop;
            if algorithm == Algorithm::Source && is_refusal(stop.as_ref()) {
                show.forget_stop();
                continue;
            }
            return Checked::Breaks(Broken {
                algorithm: Some(algorithm),
                order,
                law: format!("{:?}: {law} ({stop:?})", show.shape()),
            });
        }
    }
    Checked::Holds(closure.mazurkiewicz.len())
}

/// Labels are honest, as far as a few walks show.
fn honest(show: &Show, seed: u64) -> Result<(), String> {
    diamonds::check(
        show,
        Footprints::Dynamic,
        Walks { number: 2, steps: 60 },
        &mut Random::new(seed ^ 0xD1A3),
    )
}

/// Whether a run stopped because the library does not do something under `source`.
fn is_refusal(stop: Option<&Stop>) -> bool {
    matches!(stop, Some(Stop::Unsupported(_)))
}

/// What the program does, by its own oracle. None if it is not what the closure does.
fn expectation(litmus: &Litmus, show: &Show) -> Result<Option<Essence>, Checked> {
    if show.plan().only_rust || show.shape().main == Main::Looks {
        return Ok(None);
    }
    let same = |path: &[u32]| Some(path.to_vec());
    let expected = match truth(litmus, LITMUS) {
        Ok(truth) => Essence::of(&truth, &same),
        Err(TooMuch::Executions) => match Essence::found(litmus, Order::Natural, AGREED, &same) {
            Ok(Some(essence)) => essence,
            Ok(None) => return Err(Checked::TooLarge),
            Err(why) => return Err(broken(format!("of the program itself: {why}"))),
        },
        Err(TooMuch::Steps | TooMuch::Program) => return Err(Checked::TooLarge),
    };
    if expected.fails_with(FailureKind::Hang) {
        return Err(Checked::Unfit("an endless local loop"));
    }
    // A panic does what no failure of the language does: it gives locks back.
    Ok((!show.shape().panics).then_some(expected))
}

/// For closures that are too large for brute force: `optimal` finds what is expected, or else the same in all orders.
fn optimal_alone(mut expected: Option<Essence>, show: &Show, seed: u64) -> Checked {
    let named = |path: &[u32]| show.shape().process(show.plan(), path);
    for order in [Order::Natural, Order::Shuffled(seed | 1), Order::Shuffled(seed.wrapping_mul(3) | 1)] {
        let most = expected.as_ref().map_or(AGREED, |expected| 100 + 2 * expected.executions());
        let law = match (Essence::found(show, order, most, &named), &expected) {
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
            (Err(why), _) => format!("{why} ({:?})", show.trouble().stop),
        };
        return Checked::Breaks(Broken {
            algorithm: Some(Algorithm::Optimal),
            order,
            law: format!("{:?}: {law}", show.shape()),
        });
    }
    // Not earlier: by now all that changes labels has been found out.
    if let Err(what) = honest(show, seed) {
        return broken(format!("{:?}: {what}", show.shape()));
    }
    Checked::Agrees(expected.map_or(0, |expected| expected.classes()))
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
        let shape = Shape { main: Main::Root, storage: props::Storage::Rows, panics: false, bound: None };
        compare(&litmus, &Show::new(plan, shape), 1)
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
