//! Small programs, one for each feature, under every algorithm and against brute force.

use crate::machine_support::{check, program, program_with};
use mazurka_abs::{AwaitTrue, Dependence, ObjectOrder, Settings, TaskOrder, Uncaught};
use mazurka_program::FailureKind;

const BLOCKING: &str = "
module M;
interface A { Int ask(B b); Int answer(); }
interface B { Int ask(A a); Int answer(); }
class AImp implements A {
  Int last = 0;
  Int ask(B b) { Fut<Int> f = b!answer(); last = f.get; return last; }
  Int answer() { return 1; }
}
class BImp implements B {
  Int ask(A a) { Int r = a.answer(); return r; }
  Int answer() { return 2; }
}
{ A a = new AImp(); B b = new BImp(); a!ask(b); b!ask(a); }
";

#[test]
fn blocking_gets_deadlock() {
    let truth = check(&program(BLOCKING));
    assert_eq!(truth.deadlocks.len(), 1);
    assert!(truth.states.len() > 1);
}

#[test]
fn a_get_of_a_resolved_future_goes_on() {
    let truth = check(&program(
        "module M;
         interface A { Int one(); Unit go(A other); Int seen(); }
         class C implements A {
           Int x = 0;
           Int one() { x = x + 1; return x; }
           Int seen() { return x; }
           Unit go(A other) { Fut<Int> f = other!one(); suspend; Int r = f.get; x = x + r; }
         }
         { A a = new C(); A b = new C(); a!go(b); a!seen(); b!one(); }",
    ));
    assert!(truth.deadlocks.is_empty());
}

#[test]
fn futures_in_fields() {
    let text = "module M;
         interface A { Unit keep(A other); Unit use(); Unit wait(); Int one(); Unit add(); }
         class C implements A {
           Maybe<Fut<Int>> kept = Nothing; Int x = 0; Int missed = 0;
           Unit keep(A other) { Fut<Int> f = other!one(); kept = Just(f); }
           Unit use() { switch (kept) { Just(f) => x = f.get; _ => missed = missed + 1; } }
           Unit wait() { switch (kept) { Just(f) => { await f?; x = x + 10; } _ => missed = missed + 1; } }
           Int one() { x = x + 1; return x; }
           Unit add() { x = x + 5; }
         }
         { A a = new C(); A b = new C(); a!keep(b); a!use(); a!wait(); b!add(); }";
    for await_holds in [AwaitTrue::Release, AwaitTrue::Continue] {
        let truth = check(&program_with(text, &[], Settings { await_holds, ..Settings::default() }));
        assert!(truth.states.len() > 3);
    }
}

#[test]
fn an_await_that_nobody_ends() {
    let truth = check(&program(
        "module M;
         interface A { Unit wait(); Unit set(); Unit clear(); }
         class C implements A {
           Bool on = False; Int done = 0;
           Unit wait() { await on; done = done + 1; }
           Unit set() { on = True; }
           Unit clear() { on = False; }
         }
         { A a = new C(); a!wait(); a!set(); a!clear(); }",
    ));
    assert_eq!(truth.deadlocks.len(), 1, "the clear may come before the wait goes on");
    assert!(truth.mazurkiewicz.len() > truth.deadlocks.len());
}

#[test]
fn a_guard_over_two_fields() {
    check(&program(
        "module M;
         interface A { Unit wait(); Unit setX(Int v); Unit setY(Int v); }
         class C implements A {
           Int x = 0; Int y = 0; Int done = 0;
           Unit wait() { await x + y == 1; done = done + 1; }
           Unit setX(Int v) { x = v; }
           Unit setY(Int v) { y = v; }
         }
         { A a = new C(); a!wait(); a!setX(1); a!setY(1); a!setX(0); a!wait(); }",
    ));
}

#[test]
fn a_guard_of_futures_and_a_condition() {
    check(&program(
        "module M;
         interface A { Unit wait(A b); Unit set(Int v); Int get(); }
         class C implements A {
           Int x = 0; Int done = 0;
           Unit wait(A b) { Fut<Int> f = b!get(); Fut<Unit> g = this!set(1); await f? & x > 0 & g?; done = x; }
           Unit set(Int v) { x = v; }
           Int get() { return x; }
         }
         { A a = new C(); A b = new C(); a!wait(b); a!set(0); a!set(2); b!set(5); }",
    ));
}

#[test]
fn awaits_in_a_cog_that_can_be_locked() {
    let text = "module M;
         interface A { Unit wait(A b); Unit block(A b); Int get(); Unit set(); Unit cond(); }
         class C implements A {
           Int x = 0; Int done = 0;
           Unit wait(A b) { Fut<Unit> f = this!block(b); await f?; done = x; }
           Unit block(A b) { Fut<Int> f = b!get(); x = f.get; }
           Unit cond() { await x > 0; done = done + 1; }
           Unit set() { x = x + 1; }
           Int get() { return 7; }
         }
         { A a = new C(); A b = new C(); a!wait(b); a!cond(); a!set(); }";
    check(&program(text));
    check(&program_with(text, &[], Settings { await_holds: AwaitTrue::Continue, ..Settings::default() }));
}

#[test]
fn random_draws_every_number() {
    let truth = check(&program(
        "module M;
         interface A { Unit draw(Int n); Unit add(); }
         class C implements A {
           Int x = 0;
           Unit draw(Int n) { Int r = random(n); x = x * 10 + r; }
           Unit add() { x = x + 1; }
         }
         { A a = new C(); a!draw(3); a!draw(2); a!add(); }",
    ));
    assert!(truth.states.len() >= 6);
    let truth = check(&program("module M; { Int n = 0; Int r = random(n); }"));
    assert_eq!(truth.failures.len(), 1);
}

const FAILING: &str = "
module M;
exception Wrong(Int why);
interface A { Int fail(Int n); Int ok(); Unit use(A a); Unit ignore(A a); }
class C implements A {
  Int x = 0; Int seen = 0;
  Int fail(Int n) { x = x + 1; if (n == 0) throw Wrong(x); Int q = truncate(10 / (n - 1)); return q; }
  Int ok() { x = x + 1; return x; }
  Unit use(A a) {
    Fut<Int> f = a!fail(0);
    try { seen = f.get; } catch { Wrong(w) => seen = 100 + w; _ => seen = 200; } finally { x = x + 50; }
  }
  Unit ignore(A a) { a!fail(1); }
}
";

#[test]
fn exceptions_are_thrown_again_by_get() {
    let text = format!("{FAILING} {{ A a = new C(); A b = new C(); b!use(a); }}");
    let truth = check(&program(&text));
    assert!(truth.failures.is_empty(), "{:?}", truth.failures);
    let text = format!("{FAILING} {{ A a = new C(); A b = new C(); b!ignore(a); a!ok(); }}");
    let truth = check(&program(&text));
    let kinds: Vec<FailureKind> = truth.failures.iter().map(|(kind, _)| *kind).collect();
    assert!(kinds.contains(&FailureKind::Arithmetic), "{:?}", truth.failures);
}

#[test]
fn an_uncaught_exception_kills_the_object() {
    let text = format!("{FAILING} {{ A a = new C(); A b = new C(); a!fail(0); a!ok(); b!use(a); }}");
    let kills = check(&program(&text));
    assert!(kills.failures.iter().any(|(_, message)| message.contains("ObjectDeadException")));
    let settings = Settings { uncaught: Uncaught::Forgive, ..Settings::default() };
    let forgives = check(&program_with(&text, &[], settings));
    assert!(!forgives.failures.iter().any(|(_, message)| message.contains("ObjectDeadException")));
    let text = "module M;
         interface A { Unit wait(); Unit bad(); Unit set(); Unit both(); }
         class C implements A {
           Bool on = False; Bool also = False; Int n = 0;
           Unit wait() { await on; n = n + 1; }
           Unit both() { await on && also; n = n + 10; }
           Unit bad() { assert n > 0; }
           Unit set() { on = True; }
         }
         { A a = new C(); a!wait(); a!bad(); a!set(); a!both(); }";
    let truth = check(&program(text));
    assert!(truth.failures.iter().any(|(kind, _)| *kind == FailureKind::Assertion));
    assert!(!truth.deadlocks.is_empty());
}

#[test]
fn an_exception_leaves_the_main_block() {
    let truth = check(&program(&format!(
        "{FAILING} {{ A a = new C(); Fut<Int> f = a!fail(0); Fut<Int> g = a!ok(); Int r = f.get; }}"
    )));
    assert!(
        truth.failures.iter().any(|(_, message)| message.ends_with("leaves main")),
        "{:?}",
        truth.failures
    );
}

const LOCAL: &str = "
module M;
interface Cell { Unit put(Int v); Int get(); Unit slow(Cell c); }
interface Owner { Unit go(Int v); Unit peek(); Unit remote(Cell c); Cell cell(); }
class CellImp implements Cell {
  Int v = 0;
  Unit put(Int v) { this.v = v; }
  Int get() { return v; }
  Unit slow(Cell c) { await v > 0; v = v + 10; }
}
class OwnerImp implements Owner {
  Cell c = null; Int seen = 0;
  { c = new local CellImp(); }
  Unit go(Int v) { c.put(v); Int r = c.get(); seen = seen + r; }
  Unit peek() { seen = c.get(); }
  Unit remote(Cell o) { Int r = o.get(); c.put(r); }
  Cell cell() { return c; }
}
";

#[test]
fn local_objects_share_a_cog() {
    check(&program(&format!("{LOCAL} {{ Owner o = new OwnerImp(); o!go(1); o!go(2); o!peek(); }}")));
    check(&program(&format!(
        "{LOCAL} {{ Owner o = new OwnerImp(); Cell x = new CellImp(); o!remote(x); o!go(2); x!put(5); }}"
    )));
    check(&program(&format!(
        "{LOCAL} {{ Owner o = new OwnerImp(); Cell c = await o!cell(); c!slow(null); o!go(0); o!go(3); }}"
    )));
}

const QUEUES: &str = "
module M;
interface A { Unit put(Int v); Unit twice(); Unit wait(); }
class C(A other) implements A {
  Int x = 0;
  Unit put(Int v) { x = x * 10 + v; }
  Unit twice() { x = x * 10 + 4; suspend; x = x * 10 + 5; if (other != null) other!put(6); }
  Unit wait() { await x > 10; x = x * 10 + 7; }
}
{ A a = new C(null); A b = new C(a); b!twice(); b!wait(); a!put(1); a!put(2); b!put(3); }
";

#[test]
fn orders_of_tasks_and_objects() {
    let mut counts = Vec::new();
    for tasks in [TaskOrder::Any, TaskOrder::Fifo, TaskOrder::Lifo] {
        for objects in [ObjectOrder::Any, ObjectOrder::Circular] {
            let settings = Settings { tasks, objects, ..Settings::default() };
            let truth = check(&program_with(QUEUES, &[], settings));
            if settings != Settings::default() {
                assert_eq!(truth.mazurkiewicz.len() as u64, truth.interleavings, "{settings:?}");
            }
            counts.push(truth.interleavings);
        }
    }
    assert_eq!(counts[3], 1, "first in, first out, and cogs in turn: nothing is left open");
    assert_eq!(counts[5], 1);
    assert!(counts[0] > counts[1] && counts[0] > counts[2] && counts[0] > counts[4], "{counts:?}");
}

#[test]
fn labels_of_what_was_touched_are_refused_by_source() {
    use mazurka_explore::{Algorithm, NoMonitor, NotExhaustive, Options, explore};
    let settings = Settings { dependence: Dependence::Dynamic, ..Settings::default() };
    let program = program_with(BLOCKING, &[], settings);
    let summary = explore(&program, Algorithm::Source, &Options::default(), &mut NoMonitor);
    assert!(matches!(summary.not_exhaustive, Some(NotExhaustive::Unsupported(_))), "{summary:?}");
    let summary = explore(&program, Algorithm::Optimal, &Options::default(), &mut NoMonitor);
    assert_eq!(summary.not_exhaustive, None);
}

#[test]
fn endless_segments_are_bounds() {
    use mazurka_explore::{Algorithm, NoMonitor, NotExhaustive, Options, explore};
    for (text, says) in [
        ("module M; { Int i = 0; while (True) { i = i + 1; } }", "endless loop"),
        ("module M; def Int f(Int n) = f(n + 1); { Int i = f(0); }", "deep"),
        ("module M; { String s = \"ab\"; while (True) { s = s + s; } }", "text"),
        ("module M; { Int i = 2; while (True) { i = i * i; } }", "number"),
        ("module M; { Int i = random(1001); }", "outcomes"),
    ] {
        let summary = explore(&program(text), Algorithm::Optimal, &Options::default(), &mut NoMonitor);
        let Some(NotExhaustive::Program(why)) = summary.not_exhaustive else { panic!("{text}: {summary:?}") };
        assert!(why.contains(says), "{text}: {why}");
    }
}

#[test]
fn deep_functions_and_long_lists() {
    let truth = check(&program(
        "module M;
         def Int sum(List<Int> l) = case l { Nil => 0; Cons(x, r) => x + sum(r); };
         def List<Int> upTo(Int n) = if n <= 0 then Nil else Cons(n, upTo(n - 1));
         { Int s = sum(upTo(20000)); assert s == 200010000; }",
    ));
    assert!(truth.failures.is_empty(), "{:?}", truth.failures);
}

#[test]
fn statements() {
    let truth = check(&program(
        "module M;
         exception Stop(Int at);
         def Int apply<A>(f)(A a) = f(a);
         interface A { Int all(); }
         class C implements A {
           Int k = 10; Set<Int> s = set[3, 1, 2]; Map<String, Int> m = map[Pair(\"a\", 1)];
           Int all() {
             Int total = 0;
             foreach (x, i in list[5, 6, 7]) { total = total + x * i; }
             switch (total) { 20 => total = total + 1; n => total = n; }
             try {
               try { throw Stop(total); } catch { Stop(0) => total = 0; } finally { total = total + 1; }
             } catch { Stop(t) => total = total + t; }
             total = total + apply((Int x) => x + k)(1);
             s = remove(s, 1);
             m = put(m, \"b\", size(s));
             foreach (v in values(m)) { total = total + v; }
             return total;
           }
         }
         { A a = new C(); Int t = await a!all(); assert t == 22 + 21 + 11 + 3; }",
    ));
    let messages: Vec<_> = truth.failures.iter().collect();
    assert!(messages.is_empty(), "{messages:?}");
}
