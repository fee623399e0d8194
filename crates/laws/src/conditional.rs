//! Random programs of steps that read and write conditionally, beside blind writes that nobody may ever read.
//!
//! What broke `optimal+observers` once was a step that reads a variable only where another one has some
//! value, among writers of both; programs that draw from all that the language has meet such steps too
//! thinly. Here there is nothing else.

use mazurka_litmus::ast::Ast;

use crate::random::Random;
use crate::writer;

const VARS: [&str; 4] = ["x", "y", "z", "w"];

/// A program of three or four processes with one to four steps each.
pub(crate) fn program(random: &mut Random) -> Ast {
    let vars = 2 + random.below(3);
    let init = |random: &mut Random| if random.one_in(4) { " = 7" } else { "" };
    let declared: Vec<String> = VARS[..vars].iter().map(|name| format!("{name}{}", init(random))).collect();
    let mut text = format!("var {};\n", declared.join(", "));
    let processes = 3 + random.below(2);
    for name in ["p", "q", "r", "s"].into_iter().take(processes) {
        let mut writer = Conditional { random, vars, locals: 0 };
        let steps = 1 + writer.random.below(if processes == 3 { 4 } else { 3 });
        let body: String = (0..steps).map(|_| writer.step()).collect();
        text += &format!("process {name} {{ {body} }}\n");
    }
    writer::program(text)
}

struct Conditional<'a> {
    random: &'a mut Random,
    vars: usize,
    locals: usize,
}

impl Conditional<'_> {
    fn var(&mut self) -> &'static str {
        VARS[self.random.below(self.vars)]
    }

    fn local(&mut self) -> String {
        self.locals += 1;
        format!("v{}", self.locals)
    }

    fn step(&mut self) -> String {
        match self.random.below(10) {
            0..=3 => self.assign(),
            4 | 5 => format!("let {} = {};", self.local(), self.var()),
            6 => format!("atomic {{ {} {} }}", self.assign(), self.assign()),
            7 if self.random.one_in(3) => {
                format!("atomic {{ await {}; {} }}", self.condition(), self.branch())
            }
            _ => self.block(),
        }
    }

    fn assign(&mut self) -> String {
        format!("{} = {};", self.var(), self.random.below(3))
    }

    fn condition(&mut self) -> String {
        let op = if self.random.one_in(2) { "==" } else { "!=" };
        format!("{} {op} {}", self.var(), self.random.below(3))
    }

    /// `let v = 9; atomic { if y != 1 { v = x; } z = v; }`, or a part of it.
    fn block(&mut self) -> String {
        let local = self.local();
        let mut inner = self.conditional(&local, 0);
        if self.random.one_in(3) {
            inner += &self.branch();
        }
        if !self.random.one_in(3) {
            inner += &format!("{} = {local};", self.var());
        }
        format!("let {local} = 9; atomic {{ {inner} }}")
    }

    /// `if y != 1 { v = x; }`, perhaps with another condition within, which is drawn first.
    fn conditional(&mut self, local: &str, depth: usize) -> String {
        let inner = match self.random.below(4) {
            0 if depth < 1 => self.conditional(local, depth + 1),
            _ => format!("{local} = {};", self.var()),
        };
        format!("if {} {{ {inner} }}", self.condition())
    }

    /// `if z == 0 { y = 1; }`
    fn branch(&mut self) -> String {
        format!("if {} {{ {} }}", self.condition(), self.assign())
    }
}
