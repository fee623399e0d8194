//! Constraints in the program's own names.

use mazurka_smt::{Application, Formula, Linear, Literal, Relation, Var};

use crate::Constraint;

/// What variables and functions are called.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// By variable.
    pub vars: Vec<String>,
    /// By function.
    pub functions: Vec<String>,
    /// What variables beyond those stand for.
    pub applications: Vec<Application>,
}

impl Names {
    fn var(&self, var: Var) -> String {
        if let Some(name) = self.vars.get(var.0 as usize) {
            return name.clone();
        }
        let Some(one) = self.applications.iter().find(|one| one.var == var) else {
            return format!("v{}", var.0);
        };
        let arguments: Vec<String> = one.arguments.iter().map(|sum| self.linear(sum)).collect();
        let unnamed = format!("f{}", one.function);
        let name = self.functions.get(one.function as usize).unwrap_or(&unnamed);
        if arguments.is_empty() {
            return name.clone();
        }
        format!("{name}({})", arguments.join(", "))
    }

    fn linear(&self, sum: &Linear) -> String {
        self.sum(sum.terms().iter().copied(), sum.offset())
    }

    fn sum(&self, terms: impl Iterator<Item = (Var, i128)>, constant: i128) -> String {
        let mut text = String::new();
        let mut add = |negative: bool, what: String| {
            text.push_str(match (negative, text.is_empty()) {
                (false, true) => "",
                (true, true) => "-",
                (false, false) => " + ",
                (true, false) => " - ",
            });
            text.push_str(&what);
        };
        for (var, by) in terms {
            let name = self.var(var);
            add(
                by < 0,
                if by.unsigned_abs() == 1 { name } else { format!("{} * {name}", by.unsigned_abs()) },
            );
        }
        if constant != 0 {
            add(constant < 0, constant.unsigned_abs().to_string());
        }
        if text.is_empty() { "0".to_owned() } else { text }
    }
}

/// A literal: what is added on the left, what is taken away on the right.
pub fn show_literal(literal: &Literal, names: &Names) -> String {
    let atom = &literal.atom;
    let left = atom.sum().iter().copied().filter(|&(_, by)| by > 0);
    let right = atom.sum().iter().filter(|&&(_, by)| by < 0).map(|&(var, by)| (var, by.saturating_neg()));
    let (relation, bound) = match (atom.relation(), literal.positive) {
        (Relation::Equal, true) => ("=", atom.bound()),
        (Relation::Equal, false) => ("!=", atom.bound()),
        (Relation::AtMost, true) if atom.bound() == -1 && atom.sum().len() > 1 => ("<", 0),
        (Relation::AtMost, true) => ("<=", atom.bound()),
        (Relation::AtMost, false) if atom.bound() == 0 => (">", 0),
        (Relation::AtMost, false) => (">=", atom.bound().saturating_add(1)),
    };
    format!("{} {relation} {}", names.sum(left, 0), names.sum(right, bound))
}

/// A constraint, as a conjunction.
pub fn show_constraint(constraint: &Constraint, names: &Names) -> String {
    if constraint.is_true() {
        return "true".to_owned();
    }
    let parts: Vec<String> = constraint.literals.iter().map(|literal| show_literal(literal, names)).collect();
    parts.join(" && ")
}

/// A formula, for tests and for those who look for what went wrong.
pub fn show_formula(formula: &Formula, names: &Names) -> String {
    let joined = |word: &str, parts: &[Formula]| {
        let parts: Vec<String> = parts.iter().map(|part| show_formula(part, names)).collect();
        format!("({})", parts.join(word))
    };
    match formula {
        Formula::True => "true".to_owned(),
        Formula::False => "false".to_owned(),
        Formula::Literal(literal) => show_literal(literal, names),
        Formula::And(parts) => joined(" && ", parts),
        Formula::Or(parts) => joined(" || ", parts),
    }
}
