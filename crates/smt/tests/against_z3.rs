//! Random systems: our own answers, and those of z3 where it is installed. `MAZURKA_SMT_SYSTEMS` says how
//! many, `MAZURKA_SMT_SEED` which.

use mazurka_smt::{Answer, Application, CrossCheck, Embedded, External, Formula, Linear, Literal, Session};
use mazurka_smt::{SolverProgram, Var, Work};
use std::time::Duration;

/// Enough for all but a few of the systems drawn here.
const WORK: u64 = 2_000_000;

struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }

    fn number(&mut self, size: u64) -> i128 {
        i128::from(self.below(2 * size + 1)) - i128::from(size)
    }

    fn linear(&mut self, vars: u32) -> Linear {
        let mut sum = Linear::constant(self.number(6));
        for var in 0..vars {
            if self.below(2) == 0 {
                let term = Linear::var(Var(var)).times(self.number(4)).unwrap();
                sum = sum.plus(&term).unwrap();
            }
        }
        sum
    }

    fn atom(&mut self, vars: u32) -> Formula {
        let (left, right) = (self.linear(vars), self.linear(vars));
        let atom =
            if self.below(3) == 0 { Formula::equal(&left, &right) } else { Formula::at_most(&left, &right) };
        atom.unwrap()
    }

    fn formula(&mut self, vars: u32, depth: u32) -> Formula {
        match if depth == 0 { 3 } else { self.below(4) } {
            0 => Formula::and(
                (0..2 + self.below(2)).map(|_| self.formula(vars, depth - 1)).collect::<Vec<_>>(),
            ),
            1 => {
                Formula::or((0..2 + self.below(2)).map(|_| self.formula(vars, depth - 1)).collect::<Vec<_>>())
            }
            2 => self.formula(vars, depth - 1).negated(),
            _ => self.atom(vars),
        }
    }

    fn applications(&mut self, vars: u32) -> Vec<Application> {
        let one = |random: &mut Random, var| Application {
            var: Var(var),
            function: random.below(2) as u32,
            arguments: vec![random.linear(vars), random.linear(vars)],
        };
        if self.below(3) > 0 { Vec::new() } else { (vars..vars + 2).map(|var| one(self, var)).collect() }
    }
}

fn literals(formula: &Formula, random: &mut Random) -> Vec<Literal> {
    let atoms = formula.atoms();
    let chosen = atoms.into_iter().filter(|_| random.below(3) == 0);
    chosen.map(|atom| Literal { atom: atom.clone(), positive: false }).collect()
}

#[test]
fn no_disagreement() {
    let number = |name: &str| std::env::var(name).ok().and_then(|n| n.parse::<u64>().ok());
    let systems = number("MAZURKA_SMT_SYSTEMS").unwrap_or(400);
    let z3 = SolverProgram { patience: Duration::from_secs(20), ..SolverProgram::z3() };
    let mut random = Random(number("MAZURKA_SMT_SEED").unwrap_or(0x9e37_79b9_7f4a_7c15).max(1));
    let (mut asked, mut unknown, mut sat, mut silent) = (0, 0, 0, 0);
    for system in 0..systems {
        let vars = 2 + random.below(3) as u32;
        let applications = random.applications(vars);
        let formula = random.formula(vars + applications.len() as u32, 3);
        let own = Embedded::new(&formula, &applications);
        let other = External::new(&z3, &formula, &applications);
        if let Some(why) = other.complaint() {
            eprintln!("not compared with z3: {why}");
            return;
        }
        let mut both = CrossCheck::new(own, other);
        for _ in 0..20 {
            let literals = literals(&formula, &mut random);
            let answer = both.check(&literals, &mut Work(WORK));
            if both.complaint().is_some() {
                break;
            }
            match answer {
                Answer::Unknown => unknown += 1,
                Answer::Sat(_) => sat += 1,
                Answer::Unsat => {}
            }
            asked += 1;
        }
        // z3 may take long about one in thousands: that is no disagreement.
        let is_silent = both.complaint().is_some_and(|why| why.contains("gave no answer in"));
        silent += u64::from(is_silent);
        let complaint = both.complaint().filter(|_| !is_silent);
        assert_eq!(complaint, None, "system {system}: {formula:?}, {applications:?}");
    }
    eprintln!(
        "{asked} questions: {sat} satisfiable, {unknown} unknown to both, no disagreement; z3 gave no answer about \
         {silent} systems"
    );
    assert_eq!(unknown, 0);
    assert!(silent * 1_000 <= systems, "z3 gave no answer about {silent} systems");
}

fn program(script: &str) -> SolverProgram {
    SolverProgram {
        name: "odd".to_owned(),
        command: vec!["sh".to_owned(), "-c".to_owned(), script.to_owned()],
        patience: Duration::from_millis(300),
    }
}

#[test]
fn programs_that_do_not_answer_are_complained_of_once() {
    let formula = Formula::at_most(&Linear::var(Var(0)), &Linear::constant(3)).unwrap();
    let missing = SolverProgram { command: vec!["no-such-solver-anywhere".to_owned()], ..program("") };
    let cases = [
        (missing, "the solver odd can't be started"),
        (program("sleep 60"), "the solver odd gave no answer in 0.3 s"),
        (program("read a; echo perhaps; sleep 60"), "the solver odd said `perhaps`, which is no answer"),
        (program("read a; echo sat; echo '((v0 9))'; sleep 60"), "the solver odd gave a model at which"),
        (program("read a; echo sat; echo banana; sleep 60"), "the solver odd said `banana`"),
        (
            program(&format!("read a; yes '{}'", "(".repeat(10_000))),
            "the solver odd gave an answer without an end",
        ),
        (program("exit 1"), "the solver odd "),
    ];
    for (program, complaint) in cases {
        let mut session = External::new(&program, &formula, &[]);
        for _ in 0..3 {
            if let Answer::Sat(model) = session.check(&[], &mut Work(1)) {
                assert!(formula.holds(&model) == Some(true), "{program:?}");
            }
        }
        let said = session.complaint().unwrap_or("nothing");
        assert!(said.starts_with(complaint), "{said}, not: {complaint}");
        assert!(said.ends_with("the search goes on without its constraints"), "{said}");
        assert_eq!(session.check(&[], &mut Work(1)), Answer::Unknown);
    }
}
