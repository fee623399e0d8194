//! Random programs whose processes form a tree: each edge has variables and a lock of its own, which only its
//! two processes use. With two processes, that is any program of two processes.

use mazurka_litmus::ast::Ast;

use crate::random::Random;
use crate::writer;

/// A fresh program: two processes more often than not, else a path or a star of three or four.
pub fn program(random: &mut Random) -> Ast {
    let processes = [2, 2, 2, 3, 3, 4][random.below(6)];
    let parents: Vec<usize> = (1..processes).map(|child| random.below(child)).collect();
    let mut text = String::new();
    for edge in 0..parents.len() {
        let init = if random.one_in(3) { format!(" = {}", random.below(3)) } else { String::new() };
        text += &format!("var x{edge}{init}, y{edge}; lock m{edge};\n");
    }
    let steps = 9 - processes - random.below(2);
    for process in 0..processes {
        let edges: Vec<usize> =
            (0..parents.len()).filter(|&edge| edge + 1 == process || parents[edge] == process).collect();
        let many = 1 + random.below(steps.div_ceil(processes).max(2) + 1);
        let mut body = Body { random, edges, locals: 0, held: Vec::new() };
        let statements: String = (0..many).map(|_| body.statement(0)).collect();
        let released: String = body.held.iter().map(|edge| format!("unlock(m{edge});")).collect();
        let keeps = random.one_in(4);
        text += &format!("process p{process} {{ {statements} {} }}\n", if keeps { "" } else { &released });
    }
    if random.one_in(5) {
        let joins: String = (0..processes).map(|process| format!("join(p{process}); ")).collect();
        text += &format!("process last {{ {joins} assert x0 != 2; }}\n");
    }
    writer::program(text)
}

struct Body<'a> {
    random: &'a mut Random,
    edges: Vec<usize>,
    locals: usize,
    held: Vec<usize>,
}

impl Body<'_> {
    fn edge(&mut self) -> usize {
        self.random.pick(&self.edges).copied().unwrap_or(0)
    }

    fn variable(&mut self) -> String {
        let name = if self.random.one_in(3) { "y" } else { "x" };
        format!("{name}{}", self.edge())
    }

    fn value(&mut self) -> String {
        match self.random.below(3) {
            0 if self.locals > 0 => format!("v{}", self.random.below(self.locals)),
            _ => self.random.below(3).to_string(),
        }
    }

    fn fresh(&mut self) -> String {
        self.locals += 1;
        format!("v{}", self.locals - 1)
    }

    fn statement(&mut self, depth: usize) -> String {
        match self.random.below(16) {
            0..4 => format!("{} = {};", self.variable(), self.value()),
            4..8 => {
                let variable = self.variable();
                format!("let {} = {variable};", self.fresh())
            }
            8 => format!("{} += 1;", self.variable()),
            9 => {
                let (variable, value) = (self.variable(), self.value());
                format!("let {} = swap({variable}, {value});", self.fresh())
            }
            10 => {
                let (variable, old, new) = (self.variable(), self.random.below(2), self.value());
                format!("let {} = cas({variable}, {old}, {new});", self.fresh())
            }
            11 if depth == 0 => {
                let (variable, value) = (self.variable(), self.random.below(3));
                format!("if {variable} == {value} {{ {} }}", self.statement(1))
            }
            12 if depth == 0 => {
                let edge = self.edge();
                self.held.push(edge);
                format!("lock(m{edge});")
            }
            13 if depth == 0 => match self.held.pop() {
                Some(edge) => format!("unlock(m{edge});"),
                None => format!("assert {} < 2;", self.variable()),
            },
            14 => format!("{} = {} + {};", self.variable(), self.variable(), self.value()),
            _ => format!("assert {} != {};", self.variable(), self.random.below(3)),
        }
    }
}
