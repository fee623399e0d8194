//! Declared constraints that could not be proved: where both blocks of one are next, both orders are run.
//!
//! What is told is a failure of the step that comes next. It depends on nothing but the state before that step,
//! so a schedule that comes there shows it again.

use mazurka_constraints::Standing;
use mazurka_program::{Failure, FailureKind, Label, NamedStates};

use super::eval::{Now, Unrecorded, eval};
use super::process::Status;
use super::{LitmusRun, Machine};
use crate::code::{DeclaredCode, Image, Pc};
use crate::constraints::Judged;

/// Where an order of two steps led.
#[derive(PartialEq)]
struct End {
    state: Vec<i64>,
    memory: Vec<i64>,
    failures: Vec<Failure>,
}

impl Machine {
    /// What is refuted whatever is done is a failure from the start.
    pub(super) fn tell_refuted(&mut self, image: &Image, judged: &Judged) {
        for (declared, standing) in image.declared.iter().zip(&judged.standings) {
            if let Standing::Refuted(how) = standing {
                self.failures.push(wrong(image, declared, how));
            }
        }
    }

    fn stands_at(&self, p: u32, line: Pc) -> bool {
        self.procs
            .get(p as usize)
            .is_some_and(|proc| proc.core.status == Status::Live && proc.core.pc == line)
    }
}

impl LitmusRun {
    /// The declared constraints that do not hold in the present state, of the step that a process has pending and
    /// that of another.
    pub(super) fn refuted_by(&mut self, p: u32) -> Vec<Failure> {
        let Some(judged) = self.judged.clone() else { return Vec::new() };
        let image = self.image.clone();
        let mut refuted = Vec::new();
        for (declared, standing) in image.declared.iter().zip(&judged.standings) {
            if !matches!(standing, Standing::Open(_)) || !self.applies(declared) {
                continue;
            }
            for (mine, theirs) in [(0, 1), (1, 0)] {
                if !self.machine.stands_at(p, declared.lines[mine]) {
                    continue;
                }
                let others = (0..self.machine.procs.len() as u32).filter(|&q| q != p);
                let others: Vec<u32> =
                    others.filter(|&q| self.machine.stands_at(q, declared.lines[theirs])).collect();
                let how = others.into_iter().find_map(|q| self.differ(&judged, [p, q]));
                if let Some(how) = how {
                    refuted.push(wrong(&image, declared, &format!("here: {how}")));
                    break;
                }
            }
        }
        refuted
    }

    /// Whether the condition of a constraint holds here.
    fn applies(&self, declared: &DeclaredCode) -> bool {
        declared.condition.as_ref().is_none_or(|condition| {
            let memory = &mut Now(&self.machine.memory, &mut Unrecorded);
            eval(&self.image, &[], condition.node, memory).is_ok_and(|value| value != 0)
        })
    }

    /// How both orders of two steps differ, if they do.
    fn differ(&mut self, judged: &Judged, [p, q]: [u32; 2]) -> Option<String> {
        let name = |run: &LitmusRun, p: u32| run.machine.process_name(&run.image, p);
        let (one, other) = (name(self, p), name(self, q));
        let known = self.machine.may_read.replace(judged.may_read.clone());
        let ends = [self.end(&[p, q]), self.end(&[q, p])];
        self.machine.may_read = known;
        match ends {
            [None, None] => None,
            [Some(_), None] => Some(format!("{one} before {other} can be, {other} before {one} can't")),
            [None, Some(_)] => Some(format!("{one} before {other} can't be, {other} before {one} can")),
            [Some(first), Some(second)] if first == second => None,
            [Some(first), Some(second)] => {
                let mut cells = 0..self.image.var_cells as usize;
                let values = cells.find(|&cell| first.memory[cell] != second.memory[cell]).map(|cell| {
                    let name = self.image.cell_name(cell as u32).unwrap_or_default();
                    let (left, right) = (first.memory[cell], second.memory[cell]);
                    format!(
                        "{one} before {other} leaves {name} = {left}, {other} before {one} {name} = {right}"
                    )
                });
                Some(values.unwrap_or_else(|| {
                    format!("{one} and {other} know, or tell, something else in the other order")
                }))
            }
        }
    }

    /// Takes steps, and back; none if one of them can't be taken.
    fn end(&mut self, order: &[u32]) -> Option<End> {
        let (depth, failed) = (self.machine.marks.len(), self.machine.failures.len());
        let mut label = Label::default();
        let image = self.image.clone();
        let all = order.iter().all(|&p| self.machine.step(&image, p, 0, &mut label).is_ok());
        let end = all.then(|| {
            let mut state = Vec::new();
            self.named_state(&mut state);
            let memory = self.machine.memory.values()[..image.var_cells as usize].to_vec();
            let mut failures = self.machine.failures[failed..].to_vec();
            failures.sort();
            End { state, memory, failures }
        });
        while self.machine.marks.len() > depth {
            self.machine.undo_step();
        }
        end
    }
}

fn wrong(image: &Image, declared: &DeclaredCode, how: &str) -> Failure {
    let message = format!("`{}` is wrong {how}", declared.text);
    Failure { kind: FailureKind::Constraint, message, place: image.place(declared.span), process: None }
}
