//! The programs that tests use.

pub const LOST: &str = "\
// Two increments that are not atomic.
param n = 2;
var x = 0;

process worker[i in 0..n] {
    let r = x;
    x = r + 1;
}

process main {
    for i in 0..n { join(worker[i]); }
    assert x == n, \"an increment was lost\";
}
";

pub const ATOMIC: &str = "\
var x = 0;
process worker[i in 0..3] { x += 1; }
process main {
    for i in 0..3 { join(worker[i]); }
    assert x == 3;
}
";

pub const DEADLOCK: &str = "\
lock left, right;

process a {
    lock(left);
    lock(right);
    unlock(right);
    unlock(left);
}

process b {
    lock(right);
    lock(left);
    unlock(left);
    unlock(right);
}
";

pub const STORE_BUFFERING: &str = "\
var x, y;
process left { x = 1; let r = y; }
process right { y = 1; let r = x; }
";

/// All that a state has: arrays, handles, locks, messages, and who waits.
pub const PARTS: &str = "\
var a[2];
lock m;
task child(n) { a[n] = 7; lock(m); }
process main {
    lock(m);
    let c = spawn child(1);
    send(other, 1);
    send(other, (2, 3));
    join(c);
}
process other { receive 1; }
";

pub const NEVER_SENT: &str = "\
process sender { send(receiver, 1); }
process receiver {
    receive 1;
    receive 2;
}
";

pub const TWO_FAILURES: &str = "\
var x;
process a { x = 1; }
process b {
    let r = x;
    assert r == 0, \"too late\";
    assert r == 1, \"too early\";
}
";

pub const ENDLESS: &str = "\
var x;
process p { while true { x += 1; } }
";

pub const HANG: &str = "\
var x;
process p {
    x = 1;
    let i = 0;
    while true { i = 1 - i; }
}
";

pub const UNLOCK_OF_ANOTHER: &str = "\
lock m;
process a { lock(m); }
process b { unlock(m); }
";

pub const ALL_ASSUMED: &str = "\
var x;
process p { assume x == 1; }
";

pub const DIVISION: &str = "\
var x = 1, y;
process p { y = 1 / x; }
process q { x = 0; }
";

pub const CHOICE: &str = "\
var x;
process p {
    let r = choose(3);
    x = r;
    assert r != 2, \"two\";
}
";

pub const SPAWNED: &str = "\
var x;
task child(v) { x = v; }
process main {
    let a = spawn child(1);
    let b = spawn child(2);
    join(a);
    join(b);
    assert x == 2, \"the second is not always last\";
}
";

/// Steps enough that the middle of a failing execution is left out.
pub const LONG: &str = "\
var x, y;
process noise { for i in 0..100 { y = i; } }
process p {
    for i in 0..40 { x = i; }
    assert x != 39, \"it got there\";
}
";

/// More executions than can be looked at.
pub const HUGE: &str = "\
var x;
process p[i in 0..8] { for j in 0..8 { x = i * 8 + j; } }
";

/// Processes that create processes, forever.
pub const BOMB: &str = "\
task t() { spawn t(); skip; }
process p { spawn t(); }
";

/// Programs that fail, with the kind of failure.
pub const FAILING: [(&str, &str); 9] = [
    (LOST, "assertion"),
    (DEADLOCK, "deadlock"),
    (NEVER_SENT, "deadlock"),
    (TWO_FAILURES, "assertion"),
    (HANG, "hang"),
    (UNLOCK_OF_ANOTHER, "invalid-sync"),
    (DIVISION, "arithmetic"),
    (CHOICE, "assertion"),
    (SPAWNED, "assertion"),
];

/// The database and its worker, each of which blocks while the other waits for it.
pub const ABS_DATABASE: &str = include_str!("../../../../examples/abs/database.abs");

/// An assertion that fails because of what happens during an await.
pub const ABS_ACCOUNT: &str = include_str!("../../../../examples/abs/account.abs");

/// An exception that nobody is told of.
pub const ABS_UNCAUGHT: &str = include_str!("../../../../examples/abs/uncaught.abs");

pub const ABS_PASS: &str = "\
module M;
interface Cell { Unit set(Int v); Int get(); }
class CellImp implements Cell {
  Int value = 0;
  Unit set(Int v) { value = v; }
  Int get() { return value; }
}
{
  Int n = 2;
  Cell cell = new CellImp();
  cell!set(n);
  Int seen = await cell!get();
  assert seen == 0 || seen == n;
}
";

pub const ABS_WRONG: &str = "\
module M;
interface I { Unit m(Int x); }
class C implements I {
  Unit m(Int x) { y = x; }
}
{
  I o = new C();
  o!m(True);
  o!nothing();
}
";
