//! Two sessions about one formula, whose answers are compared.

use crate::{Answer, Literal, Session, Work};

/// Asks two sessions. Where both know and disagree, nothing is known, and that is complained of.
pub struct CrossCheck<A, B> {
    first: A,
    second: B,
    disagreement: Option<String>,
}

impl<A: Session, B: Session> CrossCheck<A, B> {
    /// Both are about the same formula.
    pub fn new(first: A, second: B) -> CrossCheck<A, B> {
        CrossCheck { first, second, disagreement: None }
    }
}

impl<A: Session, B: Session> Session for CrossCheck<A, B> {
    fn check(&mut self, literals: &[Literal], work: &mut Work) -> Answer {
        let (first, second) = (self.first.check(literals, work), self.second.check(literals, work));
        match (&first, &second) {
            (Answer::Sat(_), Answer::Unsat) | (Answer::Unsat, Answer::Sat(_)) => {
                let kind =
                    |answer: &Answer| if *answer == Answer::Unsat { "unsatisfiable" } else { "satisfiable" };
                let text = format!(
                    "two solvers disagree: {} and {}; neither is believed",
                    kind(&first),
                    kind(&second)
                );
                self.disagreement.get_or_insert(text);
                Answer::Unknown
            }
            (Answer::Unknown, _) => second,
            _ => first,
        }
    }

    fn complaint(&self) -> Option<&str> {
        self.disagreement.as_deref().or(self.first.complaint()).or(self.second.complaint())
    }
}
