//! A session that asks a program which speaks SMT-LIB 2.
//!
//! The program may be missing, hang, or say what makes no sense: each is a complaint in one sentence, and
//! from then on every answer is [`Answer::Unknown`]. A model that it gives is put into the formula before it
//! is believed.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel, sync_channel};
use std::time::{Duration, Instant};

use crate::parse::{opened, values};
use crate::{Answer, Application, Atom, Formula, Literal, Model, Relation, Session, Var, Work};

/// Which program, and how long an answer may take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SolverProgram {
    /// What it is called, for people.
    pub name: String,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// How long an answer may take.
    pub patience: Duration,
}

impl SolverProgram {
    /// Z3.
    pub fn z3() -> SolverProgram {
        SolverProgram::named("z3", &["z3", "-in", "-smt2"])
    }

    /// cvc5.
    pub fn cvc5() -> SolverProgram {
        SolverProgram::named("cvc5", &["cvc5", "--incremental", "--produce-models", "--lang=smt2"])
    }

    fn named(name: &str, command: &[&str]) -> SolverProgram {
        let command = command.iter().map(|&word| word.to_owned()).collect();
        SolverProgram { name: name.to_owned(), command, patience: Duration::from_secs(10) }
    }
}

/// How long an answer may be.
const LONGEST: usize = 1 << 20;
/// How much it is asked about one formula: how hard a question is for it can't be told.
const MOST_QUESTIONS: usize = 5_000;
/// How many lines a program may be ahead of us.
const LINES_AHEAD: usize = 1000;

/// A program that answers.
pub struct External {
    program: SolverProgram,
    formula: Formula,
    vars: Vec<Var>,
    talk: Option<Talk>,
    asked: usize,
    complaint: Option<String>,
}

struct Talk {
    child: Child,
    /// What a thread of its own writes, since the program may not listen; what another has read.
    said: Sender<String>,
    lines: Receiver<String>,
}

/// Whoever is done with it ends it: it may be in the midst of something endless.
impl Drop for Talk {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl External {
    /// Starts the program with a formula. That it can't be started is found when it is asked.
    pub fn new(program: &SolverProgram, formula: &Formula, applications: &[Application]) -> External {
        let mut session = External {
            program: program.clone(),
            formula: formula.clone(),
            vars: Vec::new(),
            talk: None,
            asked: 0,
            complaint: None,
        };
        let Some(axioms) = crate::congruence(formula, applications) else {
            session.complain("was not asked, for a number does not fit in 128 bits");
            return session;
        };
        session.formula = Formula::and([formula.clone(), axioms]);
        session.vars = session.formula.vars().into_iter().collect();
        match start(program) {
            Ok(talk) => session.talk = Some(talk),
            Err(error) => session.complain(&format!("can't be started ({error})")),
        }
        let mut text = String::from("(set-option :print-success false)\n(set-logic QF_LIA)\n");
        for var in &session.vars {
            let _ = writeln!(text, "(declare-const v{} Int)", var.0);
        }
        let _ = writeln!(text, "(assert {})", formula_text(&session.formula));
        session.say(&text);
        session
    }

    fn complain(&mut self, what: &str) {
        self.talk = None;
        let name = &self.program.name;
        self.complaint.get_or_insert_with(|| {
            format!("the solver {name} {what}; the search goes on without its constraints")
        });
    }

    fn say(&mut self, text: &str) {
        if let Some(talk) = &self.talk {
            // If nobody writes it any more, no answer comes either.
            let _ = talk.said.send(text.to_owned());
        }
    }

    /// What it says next: as many lines as it takes until the brackets are closed.
    fn hear(&mut self) -> Option<String> {
        let (mut text, mut open) = (String::new(), 0);
        // Who says a little from time to time has not answered either.
        let begun = Instant::now();
        loop {
            let left = self.program.patience.saturating_sub(begun.elapsed());
            let line = self.talk.as_ref()?.lines.recv_timeout(left);
            match line {
                Ok(line) => {
                    open += opened(&line);
                    text.push_str(&line);
                }
                Err(RecvTimeoutError::Timeout) => {
                    self.complain(&format!("gave no answer in {} s", self.program.patience.as_secs_f64()));
                    return None;
                }
                Err(RecvTimeoutError::Disconnected) => {
                    self.complain("ended before it answered");
                    return None;
                }
            }
            if open <= 0 && !text.trim().is_empty() {
                return Some(text);
            }
            if text.len() > LONGEST {
                self.complain("gave an answer without an end");
                return None;
            }
        }
    }

    fn ask(&mut self, literals: &[Literal]) -> Option<Answer> {
        let mut text = String::from("(push 1)\n");
        for literal in literals {
            for &(var, _) in literal.atom.sum() {
                if !self.vars.contains(&var) {
                    // Declared within, and so gone after: it is unbounded elsewhere.
                    let _ = writeln!(text, "(declare-const v{} Int)", var.0);
                    self.vars.push(var);
                }
            }
        }
        for literal in literals {
            let _ = writeln!(text, "(assert {})", literal_text(literal));
        }
        text.push_str("(check-sat)\n");
        self.say(&text);
        let said = self.hear()?;
        let answer = match said.trim() {
            "unsat" => Answer::Unsat,
            "unknown" => Answer::Unknown,
            "sat" => self.model(literals)?,
            other => {
                self.complain(&format!("said `{}`, which is no answer", beginning(other)));
                return None;
            }
        };
        self.say("(pop 1)\n");
        let known = self.formula.vars();
        self.vars.retain(|var| known.contains(var));
        Some(answer)
    }

    fn model(&mut self, literals: &[Literal]) -> Option<Answer> {
        let mut model = Model::default();
        if !self.vars.is_empty() {
            let names: Vec<String> = self.vars.iter().map(|var| format!("v{}", var.0)).collect();
            self.say(&format!("(get-value ({}))\n", names.join(" ")));
            let said = self.hear()?;
            let Some(values) = values(&said) else {
                self.complain(&format!("said `{}`, which is no model", beginning(&said)));
                return None;
            };
            model = Model(values);
        }
        let holds = literals.iter().all(|literal| literal.holds(&model) == Some(true));
        if !holds || self.formula.holds(&model) != Some(true) {
            self.complain("gave a model at which the formula is not true");
            return None;
        }
        Some(Answer::Sat(model))
    }
}

impl Session for External {
    fn check(&mut self, literals: &[Literal], _work: &mut Work) -> Answer {
        if self.talk.is_none() || self.asked == MOST_QUESTIONS {
            return Answer::Unknown;
        }
        self.asked += 1;
        self.ask(literals).unwrap_or(Answer::Unknown)
    }

    fn complaint(&self) -> Option<&str> {
        self.complaint.as_deref()
    }
}

fn start(program: &SolverProgram) -> std::io::Result<Talk> {
    let (name, arguments) = program.command.split_first().ok_or(std::io::ErrorKind::InvalidInput)?;
    let mut child = Command::new(name)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let (send, lines) = sync_channel(LINES_AHEAD);
    if let Some(output) = child.stdout.take() {
        std::thread::spawn(move || {
            let lines = BufReader::new(output).lines().map_while(Result::ok);
            // Whoever is no longer listened to need not be read.
            let _ = lines.map(|line| send.send(line)).find(Result::is_err);
        });
    }
    let (said, texts) = channel::<String>();
    if let Some(mut input) = child.stdin.take() {
        std::thread::spawn(move || {
            let write = |text: String| input.write_all(text.as_bytes()).and_then(|()| input.flush());
            let _ = texts.into_iter().map(write).find(Result::is_err);
        });
    }
    Ok(Talk { child, said, lines })
}

/// Enough of what a program said to recognise it.
fn beginning(text: &str) -> String {
    text.trim().chars().take(60).collect()
}

fn number_text(number: i128) -> String {
    if number < 0 { format!("(- {})", number.unsigned_abs()) } else { number.to_string() }
}

fn atom_text(atom: &Atom) -> String {
    let term = |&(var, by): &(Var, i128)| match by {
        1 => format!("v{}", var.0),
        _ => format!("(* {} v{})", number_text(by), var.0),
    };
    let terms: Vec<String> = atom.sum().iter().map(term).collect();
    let sum = if terms.len() == 1 { terms[0].clone() } else { format!("(+ {})", terms.join(" ")) };
    let relation = match atom.relation() {
        Relation::AtMost => "<=",
        Relation::Equal => "=",
    };
    format!("({relation} {sum} {})", number_text(atom.bound()))
}

fn literal_text(literal: &Literal) -> String {
    let atom = atom_text(&literal.atom);
    if literal.positive { atom } else { format!("(not {atom})") }
}

fn formula_text(formula: &Formula) -> String {
    let joined = |word: &str, parts: &[Formula]| {
        let parts: Vec<String> = parts.iter().map(formula_text).collect();
        format!("({word} {})", parts.join(" "))
    };
    match formula {
        Formula::True => "true".to_owned(),
        Formula::False => "false".to_owned(),
        Formula::Literal(literal) => literal_text(literal),
        Formula::And(parts) => joined("and", parts),
        Formula::Or(parts) => joined("or", parts),
    }
}
