//! A plan as a program in C with pthreads.
//!
//! Shared variables are read and written as ordinary ones, so races are to be taken as sequentially
//! consistent. What fails in the language fails nothing in C: its name is printed, for whoever reads what was
//! printed.

use std::fmt::Write;

use mazurka_litmus::ast::{BinaryOp, UnaryOp};

use super::plan::{AccessKind, Body, Member, Op, Peer, Plan, Slot, Unfit, Value};

/// What is printed by a program that does what can't be compared.
pub(crate) const GIVEN_UP: &str = "given up";

/// What all programs of a file need.
pub(super) const PRELUDE: &str = r#"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

void __VERIFIER_assume(int);
unsigned mazurka_choose(unsigned);

static long add(long a, long b, int *bad) { long r = 0; if (__builtin_add_overflow(a, b, &r)) *bad = 1; return r; }
static long sub(long a, long b, int *bad) { long r = 0; if (__builtin_sub_overflow(a, b, &r)) *bad = 1; return r; }
static long mul(long a, long b, int *bad) { long r = 0; if (__builtin_mul_overflow(a, b, &r)) *bad = 1; return r; }
static long quotient(long a, long b, int *bad) {
  if (b == 0 || (b == -1 && a == (-9223372036854775807L - 1))) { *bad = 1; return 0; }
  return a / b;
}
static long rest(long a, long b, int *bad) {
  if (b == 0 || (b == -1 && a == (-9223372036854775807L - 1))) { *bad = 1; return 0; }
  return a % b;
}
static long place(long at, long from, long first, long count, int *bad) {
  long k = sub(at, from, bad);
  if (k < 0 || k >= count) *bad = 1;
  return *bad ? 0 : first + k;
}
/* Two numbers in one pointer; what does not fit is given up. */
static void *packed(long a, long b) {
  if (a != (int)a || b != (int)b) printf("given up\n");
  return (void *)(((unsigned long)(unsigned)(int)a << 32) | (unsigned)(int)b);
}
#define FAILED(what) do { printf(what "\n"); return 0; } while (0)
#define CHECKED do { if (bad) FAILED("arithmetic"); } while (0)
"#;

/// Program number `number` of a file: its variables, its functions, and `run_<number>`, which starts its
/// processes.
pub(super) fn text(plan: &Plan, number: usize) -> Result<String, Unfit> {
    if plan.only_rust || plan.mailboxes || !plan.rwlocks.is_empty() {
        return Err("something that C has not");
    }
    let mut text = String::new();
    let vars: Vec<String> = plan.vars.iter().map(|&value| number_text(value)).collect();
    // Writing to a string does not fail, here and below.
    let _ = writeln!(text, "static volatile long v_{number}[] = {{{}}};", non_empty(vars.join(", ")));
    let _ = writeln!(text, "static pthread_mutex_t m_{number}[{}];", plan.locks.max(1));
    let _ = writeln!(text, "static pthread_cond_t c_{number}[{}];", plan.condvars.max(1));
    for body in 0..plan.bodies.len() {
        let _ = writeln!(text, "static void *b_{number}_{body}(void *);");
    }
    for (at, body) in plan.bodies.iter().enumerate() {
        text += &Function { number, text: String::new() }.whole(at, body)?;
    }
    let _ = writeln!(text, "static void run_{number}(void) {{\n  pthread_t t;");
    for root in &plan.roots {
        if root.joined_by.is_some() {
            return Err("a process of the start that is joined");
        }
        let index = number_text(root.index.unwrap_or(0));
        let _ = writeln!(text, "  pthread_create(&t, 0, b_{number}_{}, packed({index}, 0));", root.body);
    }
    Ok(text + "}\n")
}

fn non_empty(list: String) -> String {
    if list.is_empty() { "0".to_owned() } else { list }
}

fn number_text(value: i64) -> String {
    match value {
        i64::MIN => "(-9223372036854775807L - 1)".to_owned(),
        value => format!("({value}L)"),
    }
}

struct Function {
    number: usize,
    text: String,
}

impl Function {
    fn whole(mut self, at: usize, body: &Body) -> Result<String, Unfit> {
        let _ = writeln!(self.text, "static void *b_{}_{at}(void *packed_arguments) {{", self.number);
        self.text += "  int bad = 0; (void)bad;\n  long l[64] = {0};\n";
        self.text += "  l[0] = (int)((unsigned long)packed_arguments >> 32);\n";
        self.text += "  l[1] = (int)(unsigned long)packed_arguments;\n";
        for handle in 0..body.handles {
            // 0: no thread; 1: a thread; 2: one that was joined.
            let _ = writeln!(self.text, "  pthread_t h{handle}; int born{handle} = 0; (void)born{handle};");
        }
        self.block(&body.code)?;
        self.text += "  return 0;\n}\n";
        Ok(self.text)
    }

    fn line(&mut self, line: &str) {
        self.text += "  ";
        self.text += line;
        self.text.push('\n');
    }

    fn block(&mut self, code: &[Op]) -> Result<(), Unfit> {
        for op in code {
            self.line("{");
            self.op(op)?;
            self.line("}");
        }
        Ok(())
    }

    /// Declares a variable with a value, or ends the thread if its arithmetic fails.
    fn value(&mut self, name: &str, value: &Value) {
        let value = expression(value);
        self.line(&format!("long {name} = {value}; (void){name}; CHECKED;"));
    }

    fn at(&mut self, member: &Member) {
        let Member { first, len, from, index } = member;
        let (index, from) = (expression(index), number_text(*from));
        self.line(&format!("long at = place({index}, {from}, {first}, {len}, &bad); CHECKED;"));
    }

    fn op(&mut self, op: &Op) -> Result<(), Unfit> {
        let n = self.number;
        match op {
            Op::Local(slot, value) => {
                self.value("x", value);
                self.line(&format!("l[{slot}] = x;"));
            }
            Op::Access(kind, at, value, dest) => self.access(kind, at, value, *dest),
            Op::Lock(lock) => {
                self.at(lock);
                self.line(&format!("pthread_mutex_lock(&m_{n}[at]);"));
            }
            Op::Unlock(lock) => {
                self.at(lock);
                self.line(&format!("pthread_mutex_unlock(&m_{n}[at]);"));
            }
            Op::TryLock(lock, dest) => {
                self.at(lock);
                self.result(*dest, &format!("pthread_mutex_trylock(&m_{n}[at]) == 0"));
            }
            Op::Wait(condvar, lock) => {
                self.at(condvar);
                self.line("long c = at;");
                self.line("{");
                self.at(lock);
                self.line(&format!("pthread_cond_wait(&c_{n}[c], &m_{n}[at]);"));
                self.line("}");
            }
            Op::Notify { condvar, all } => {
                self.at(condvar);
                let call = if *all { "broadcast" } else { "signal" };
                self.line(&format!("pthread_cond_{call}(&c_{n}[at]);"));
            }
            Op::Spawn { body, args, handle } => self.spawn(*body, args, *handle),
            Op::Join(Peer::Handle(slot)) => {
                self.line(&format!("if (born{slot} == 0) FAILED(\"invalid-sync\");"));
                self.line(&format!("if (born{slot} == 1) {{ pthread_join(h{slot}, 0); born{slot} = 2; }}"));
            }
            Op::Choose(dest, count) => {
                self.value("x", count);
                self.line("if (x <= 0) FAILED(\"arithmetic\");");
                self.result(*dest, "mazurka_choose((unsigned)x)");
            }
            Op::Assert(condition, number) => {
                self.value("x", condition);
                self.line(&format!("if (!x) printf(\"#{number}\\n\");"));
            }
            Op::Assume(condition) => {
                self.value("x", condition);
                self.line("__VERIFIER_assume(x != 0);");
            }
            Op::If { .. } | Op::While { .. } | Op::For { .. } => self.control(op)?,
            Op::Break => self.line("break;"),
            Op::Continue => self.line("continue;"),
            _ => return Err("something that C has not"),
        }
        Ok(())
    }

    fn result(&mut self, dest: Option<Slot>, call: &str) {
        match dest {
            Some(slot) => self.line(&format!("l[{slot}] = {call};")),
            None => self.line(&format!("(void)({call});")),
        }
    }

    fn access(&mut self, kind: &AccessKind, at: &Member, value: &Value, dest: Option<Slot>) {
        self.at(at);
        self.value("x", value);
        let cell = format!("v_{}[at]", self.number);
        let atomic = |name: &str| format!("__atomic_{name}(&{cell}, x, __ATOMIC_SEQ_CST)");
        let call = match kind {
            AccessKind::Load => cell,
            AccessKind::Store => format!("{cell} = x"),
            AccessKind::FetchAdd => atomic("fetch_add"),
            AccessKind::FetchSub => atomic("fetch_sub"),
            AccessKind::Swap => atomic("exchange_n"),
            AccessKind::CompareExchange(old) => {
                self.value("old", old);
                let orders = "__ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST";
                format!("__atomic_compare_exchange_n(&{cell}, &old, x, 0, {orders})")
            }
        };
        self.result(dest, &call);
    }

    fn spawn(&mut self, body: usize, args: &[Value], handle: Option<Slot>) {
        let zero = Value::Number(0);
        self.value("x", args.first().unwrap_or(&zero));
        self.value("y", args.get(1).unwrap_or(&zero));
        let target = handle.map_or("t".to_owned(), |slot| format!("h{slot}"));
        self.line("pthread_t t; (void)t;");
        self.line(&format!("pthread_create(&{target}, 0, b_{}_{body}, packed(x, y));", self.number));
        if let Some(slot) = handle {
            self.line(&format!("born{slot} = 1;"));
        }
    }

    fn control(&mut self, op: &Op) -> Result<(), Unfit> {
        match op {
            Op::If { condition, then, otherwise } => {
                self.value("x", condition);
                self.line("if (x) {");
                self.block(then)?;
                self.line("} else {");
                self.block(otherwise)?;
                self.line("}");
            }
            Op::While { condition, code } => {
                self.line("for (;;) {");
                self.value("x", condition);
                self.line("if (!x) break;");
                self.block(code)?;
                self.line("}");
            }
            Op::For { slot, from, to, inclusive, code } => {
                self.value("from", from);
                self.value("to", to);
                let less = if *inclusive { "<=" } else { "<" };
                self.line(&format!("for (__int128 k = from; k {less} to; k++) {{ l[{slot}] = (long)k;"));
                self.block(code)?;
                self.line("}");
            }
            _ => {}
        }
        Ok(())
    }
}

/// An expression over local variables; it sets `bad` if it fails.
fn expression(value: &Value) -> String {
    match value {
        Value::Number(number) => number_text(*number),
        Value::Local(slot) => format!("l[{slot}]"),
        Value::Unary(UnaryOp::Neg, inner) => format!("sub(0, {}, &bad)", expression(inner)),
        Value::Unary(UnaryOp::Not, inner) => format!("(long)!{}", expression(inner)),
        Value::Binary(op, left, right) => {
            let (left, right) = (expression(left), expression(right));
            let plain = |op: &str| format!("(long)({left} {op} {right})");
            let called = |name: &str| format!("{name}({left}, {right}, &bad)");
            match op {
                BinaryOp::Or => format!("(long)({left} || {right})"),
                BinaryOp::And => format!("(long)({left} && {right})"),
                BinaryOp::Eq => plain("=="),
                BinaryOp::Ne => plain("!="),
                BinaryOp::Lt => plain("<"),
                BinaryOp::Le => plain("<="),
                BinaryOp::Gt => plain(">"),
                BinaryOp::Ge => plain(">="),
                BinaryOp::Add => called("add"),
                BinaryOp::Sub => called("sub"),
                BinaryOp::Mul => called("mul"),
                BinaryOp::Div => called("quotient"),
                BinaryOp::Rem => called("rest"),
            }
        }
    }
}
