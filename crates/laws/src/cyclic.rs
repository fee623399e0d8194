//! Random programs that may run for ever: two to four processes with loops that wait, poll, try, toggle and
//! take turns.
//!
//! Values are kept small, so that most programs have few states and many ways through them. Loops are drawn
//! from shapes that people write (a spin lock, polling under a lock, trying a lock) and from statements at
//! random; most loops write.

use mazurka_litmus::ast::Ast;

use crate::random::Random;
use crate::writer;

const VARS: [&str; 3] = ["x", "y", "z"];
const LOCKS: [&str; 2] = ["m", "l"];
const LOCALS: [&str; 2] = ["r", "q"];
const PROCESSES: [&str; 4] = ["a", "b", "c", "d"];

/// A program that may have executions without an end.
pub(crate) fn program(random: &mut Random) -> Ast {
    let processes = 2 + random.weighted(&[3, 4, 3]);
    let shared = Shared {
        processes,
        vars: 1 + random.weighted(&[3, 4, 1]),
        locks: random.weighted(&[4, 5, 1]),
        condvar: random.one_in(16),
        mailboxes: random.one_in(16),
        loops: 1 + random.below(processes.min(5 - processes / 2)),
    };
    let init = |random: &mut Random| if random.one_in(6) { " = 1" } else { "" };
    let vars: Vec<String> = VARS[..shared.vars].iter().map(|v| format!("{v}{}", init(random))).collect();
    let mut text = format!("var {};\n", vars.join(", "));
    if shared.locks > 0 {
        text += &format!("lock {};\n", LOCKS[..shared.locks].join(", "));
    }
    if shared.condvar {
        text += "condvar c0;\n";
    }
    for (process, name) in PROCESSES.into_iter().take(processes).enumerate() {
        let body = Writer { random, shared, process, in_loop: false }.body();
        text += &format!("process {name} {{ let r = 0; let q = 0; {body} }}\n");
    }
    writer::program(text)
}

/// What all processes of a program share.
#[derive(Clone, Copy)]
struct Shared {
    processes: usize,
    vars: usize,
    locks: usize,
    condvar: bool,
    mailboxes: bool,
    /// So many processes have loops.
    loops: usize,
}

struct Writer<'a> {
    random: &'a mut Random,
    shared: Shared,
    process: usize,
    /// Whether a loop is open: what counts up there may never end.
    in_loop: bool,
}

impl Writer<'_> {
    fn body(&mut self) -> String {
        if self.process >= self.shared.loops {
            let steps = 1 + self.random.below(5 - self.shared.processes);
            return self.statements(steps);
        }
        let before = self.random.below(5 - self.shared.processes);
        let mut body = self.statements(before) + &self.repeat();
        if self.shared.processes == 2 && self.random.one_in(6) {
            body += &self.repeat();
        }
        let after = self.random.below(if self.shared.processes < 4 { 2 } else { 1 });
        body + &self.statements(after)
    }

    fn statements(&mut self, number: usize) -> String {
        (0..number).map(|_| self.statement()).collect()
    }

    fn var(&mut self) -> &'static str {
        VARS[self.random.below(self.shared.vars)]
    }

    fn local(&mut self) -> &'static str {
        LOCALS[self.random.weighted(&[3, 1])]
    }

    fn value(&mut self) -> usize {
        self.random.weighted(&[3, 4, 1])
    }

    fn lock(&mut self) -> Option<&'static str> {
        let locks = &LOCKS[..self.shared.locks];
        self.random.pick(locks).copied()
    }

    fn other(&mut self) -> &'static str {
        let others = self.shared.processes - 1;
        PROCESSES[(self.process + 1 + self.random.below(others)) % self.shared.processes]
    }

    fn condition(&mut self) -> String {
        let op = if self.random.one_in(3) { "!=" } else { "==" };
        let first = format!("{} {op} {}", self.var(), self.value());
        match self.random.below(8) {
            0 => format!("{first} && {} == {}", self.var(), self.value()),
            1 => format!("{first} || {} == {}", self.var(), self.value()),
            _ => first,
        }
    }

    /// One statement, or a few that belong together.
    fn statement(&mut self) -> String {
        match self.random.weighted(&[6, 4, 3, 3, 2, 2, 3, 2, 3, 2, 1, 1, 1, 1]) {
            0 => format!("{} = {};", self.var(), self.value()),
            1 => format!("{} = {};", self.local(), self.var()),
            2 => format!("{} = {};", self.var(), self.local()),
            3 => self.turn(),
            4 => format!("{} = swap({}, {});", self.local(), self.var(), self.value()),
            5 => self.count(),
            6 => format!("{} = cas({}, {}, {});", self.local(), self.var(), self.value(), self.value()),
            7 => format!("await {};", self.condition()),
            8 => self.locked(),
            9 => format!("assert {};", self.condition()),
            10 => format!("if {} == {} {{ {} }}", self.local(), self.value(), self.simple()),
            11 => format!("atomic {{ {} {} }}", self.simple(), self.simple()),
            12 => self.message_or_signal(),
            _ => self.seldom(),
        }
    }

    /// A statement that nothing has to be given back after.
    fn simple(&mut self) -> String {
        match self.random.below(4) {
            0 => format!("{} = {};", self.local(), self.var()),
            1 => self.turn(),
            _ => format!("{} = {};", self.var(), self.value()),
        }
    }

    /// The next value after the present one, and 0 after the last.
    fn turn(&mut self) -> String {
        let (var, values) = (self.var(), 2 + self.random.below(2));
        match self.random.one_in(3) {
            true => format!("{var} = ({} + 1) % {values};", self.local()),
            false => format!("{var} = ({var} + 1) % {values};"),
        }
    }

    /// Counts up, and within a loop down again, mostly.
    fn count(&mut self) -> String {
        let (var, local) = (self.var(), self.local());
        let up = format!("{local} = fetch_add({var}, 1);");
        match self.in_loop && !self.random.one_in(20) {
            true => format!(
                "{up} {} {var} -= 1;",
                if self.random.one_in(2) { self.simple() } else { String::new() }
            ),
            false => up,
        }
    }

    fn locked(&mut self) -> String {
        let Some(lock) = self.lock() else { return self.simple() };
        match self.random.below(5) {
            0 | 1 => format!("lock({lock}); {} unlock({lock});", self.simple()),
            2 | 3 => self.try_lock(lock),
            _ => format!("lock({lock}); await {}; unlock({lock});", self.condition()),
        }
    }

    fn try_lock(&mut self, lock: &str) -> String {
        let local = self.local();
        format!("{local} = try_lock({lock}); if {local} {{ {} unlock({lock}); }}", self.simple())
    }

    fn message_or_signal(&mut self) -> String {
        match self.random.below(4) {
            0 if self.shared.condvar && self.shared.locks > 0 => match self.random.one_in(2) {
                true => "notify_all(c0);".to_owned(),
                false => "notify_one(c0);".to_owned(),
            },
            1 if self.shared.condvar && self.shared.locks > 0 => {
                let lock = LOCKS[0];
                format!("lock({lock}); if {} {{ wait(c0, {lock}); }} unlock({lock});", self.condition())
            }
            2 if self.shared.mailboxes && !self.in_loop => {
                format!("send({}, {});", self.other(), self.value())
            }
            3 if self.shared.mailboxes => "receive { (?r) => {} timeout => {} }".to_owned(),
            _ => self.simple(),
        }
    }

    fn seldom(&mut self) -> String {
        match (self.random.below(5), self.lock()) {
            (0, Some(lock)) => format!("unlock({lock});"),
            (1, Some(lock)) => format!("{} = try_lock({lock});", self.local()),
            (2, _) => format!("{} = choose(2);", self.local()),
            (3, _) if !self.in_loop => format!("join({});", self.other()),
            (4, _) => "skip;".to_owned(),
            _ => self.simple(),
        }
    }

    fn repeat(&mut self) -> String {
        self.in_loop = true;
        let repeated = match self.random.below(12) {
            0 | 1 => self.while_shared(),
            2..=4 => self.until_read(),
            5 => self.break_out(),
            6 => self.spin_lock(),
            7 => self.poll_under_lock(),
            8 => self.try_until_taken(),
            9 => self.toggle(),
            10 => self.take_turns(),
            _ => self.for_ever(),
        };
        self.in_loop = false;
        repeated
    }

    fn while_shared(&mut self) -> String {
        let statements = self.random.weighted(&[1, 4, 2]);
        format!("while {} {{ {} }}", self.condition(), self.statements(statements))
    }

    /// `while r != 1 { x = 0; r = y; }`
    fn until_read(&mut self) -> String {
        let local = self.local();
        let (statements, until) = (self.random.weighted(&[2, 4, 1]), 1 + self.random.weighted(&[4, 1]));
        let body = self.statements(statements);
        let read = match (self.random.below(8), self.lock()) {
            (0, _) => format!("{local} = swap({}, {});", self.var(), self.value()),
            (1, _) => format!("{local} = cas({}, {}, {});", self.var(), self.value(), self.value()),
            (2, Some(lock)) => format!("{local} = try_lock({lock});"),
            (3, _) => format!("{local} = fetch_add({}, 0);", self.var()),
            _ => format!("{local} = {};", self.var()),
        };
        format!("while {local} != {until} {{ {body} {read} }}")
    }

    fn break_out(&mut self) -> String {
        let (first, last) =
            (self.statement(), if self.random.one_in(2) { self.simple() } else { String::new() });
        let condition = match self.random.one_in(2) {
            true => self.condition(),
            false => format!("{} == {}", self.local(), self.value()),
        };
        let leave = if self.random.one_in(6) { "continue" } else { "break" };
        format!("while true {{ {first} if {condition} {{ {leave}; }} {last} }}")
    }

    fn spin_lock(&mut self) -> String {
        let (var, local) = (self.var(), self.local());
        let take = match self.random.one_in(2) {
            true => format!("while {local} == 0 {{ {local} = cas({var}, 0, 1); }}"),
            false => format!("{local} = 1; while {local} != 0 {{ {local} = swap({var}, 1); }}"),
        };
        format!("{take} {} {var} = 0;", self.simple())
    }

    fn poll_under_lock(&mut self) -> String {
        let Some(lock) = self.lock() else { return self.until_read() };
        let (local, var, until) = (self.local(), self.var(), 1 + self.random.below(2));
        format!("while {local} != {until} {{ lock({lock}); {local} = {var}; unlock({lock}); }}")
    }

    fn try_until_taken(&mut self) -> String {
        let Some(lock) = self.lock() else { return self.spin_lock() };
        let local = self.local();
        let between = if self.random.one_in(3) { self.simple() } else { String::new() };
        match self.random.one_in(2) {
            true => format!(
                "while {local} == 0 {{ {local} = try_lock({lock}); {between} }} {} unlock({lock});",
                self.simple()
            ),
            false => format!("while {} {{ {} {between} }}", self.condition(), self.try_lock(lock)),
        }
    }

    /// Writes and takes it back, again and again.
    fn toggle(&mut self) -> String {
        let (var, local) = (self.var(), self.local());
        let between = if self.random.one_in(2) { self.simple() } else { String::new() };
        format!("while {local} != 1 {{ {var} = 1; {between} {var} = 0; {local} = {}; }}", self.var())
    }

    /// Waits for others to write one value, and writes another.
    fn take_turns(&mut self) -> String {
        let var = self.var();
        let wait = match self.random.one_in(2) {
            true => format!("await {var} == {};", self.value()),
            false => format!("while {var} != {} {{}}", self.value()),
        };
        let head = if self.random.one_in(2) {
            "for k in 0..2".to_owned()
        } else {
            format!("while {}", self.condition())
        };
        format!("{head} {{ {wait} {var} = {}; }}", self.value())
    }

    fn for_ever(&mut self) -> String {
        match self.random.one_in(3) {
            true => format!("while true {{ {} }}", self.statements(2)),
            false => self.until_read(),
        }
    }
}
