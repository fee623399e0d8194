//! A program for tests: a few processes, each a list of operations on variables and locks.
//!
//! It is explored by `naive` only, so its labels say no more than that algorithm needs.

use std::cell::Cell;

use mazurka_program::{
    Explain, Explanation, Failure, FailureKind, Footprints, Guard, GuardId, Label, Names, Observed, Place,
    ProcessId, ProcessSet, Program, Run, Stop, WaitExplanation,
};

/// What a process does in a step.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    /// Reads a variable into the register of the process.
    Read(usize),
    /// Writes its register plus a number.
    Write(usize, i64),
    /// Fails unless the variable has the value.
    Expect(usize, i64),
    /// Fails, and says what the variable holds.
    Tell(usize),
    /// Fails, but only in the first run that is started.
    FailOnce,
    /// Can be done only once in all executions of a run, which no program may do.
    DoOnce,
    /// Takes a lock.
    Lock(usize),
    /// Gives it back.
    Unlock(usize),
    /// One of so many outcomes; the register says which.
    Choose(u32),
    /// Stops for good if the register has the value.
    AssumeNot(i64),
    /// A bound of the front end.
    Bound,
}

/// Processes `p0`, `p1`, ...
pub(crate) struct Toy {
    processes: Vec<Vec<Op>>,
    starts: Cell<u32>,
}

impl Toy {
    pub(crate) fn new(processes: &[&[Op]]) -> Toy {
        Toy { processes: processes.iter().map(|ops| ops.to_vec()).collect(), starts: Cell::new(0) }
    }
}

impl Program for Toy {
    type Run = ToyRun;

    fn start(&self, _: Footprints) -> ToyRun {
        self.starts.set(self.starts.get() + 1);
        let mut names = Names::new();
        for at in 0..self.processes.len() {
            names.child(None, at as u32);
        }
        let count = self.processes.len();
        let memory = Memory {
            at: vec![0; count],
            register: vec![0; count],
            variables: [(0, None); 4],
            holders: [None; 4],
            stopped: vec![false; count],
            failures: Vec::new(),
        };
        let first = self.starts.get() == 1;
        let mut run = ToyRun {
            processes: self.processes.clone(),
            names,
            now: memory,
            past: vec![],
            first,
            done_once: false,
            enabled: ProcessSet::new(),
        };
        run.look();
        run
    }
}

#[derive(Clone)]
struct Memory {
    at: Vec<usize>,
    register: Vec<i64>,
    variables: [(i64, Option<usize>); 4],
    holders: [Option<(usize, usize)>; 4],
    stopped: Vec<bool>,
    failures: Vec<Failure>,
}

pub(crate) struct ToyRun {
    processes: Vec<Vec<Op>>,
    names: Names,
    now: Memory,
    past: Vec<Memory>,
    first: bool,
    done_once: bool,
    enabled: ProcessSet,
}

impl ToyRun {
    fn next(&self, process: usize) -> Option<Op> {
        let next = self.processes[process].get(self.now.at[process]).copied();
        next.filter(|op| !(self.now.stopped[process] || self.done_once && matches!(op, Op::DoOnce)))
    }

    fn waits(&self, process: usize) -> Option<usize> {
        match self.next(process) {
            Some(Op::Lock(lock)) if self.now.holders[lock].is_some() => Some(lock),
            _ => None,
        }
    }

    fn look(&mut self) {
        let can_go_on = |p: &usize| self.next(*p).is_some() && self.waits(*p).is_none();
        self.enabled = (0..self.processes.len()).filter(can_go_on).map(|at| ProcessId(at as u32)).collect();
    }

    fn place(&self, process: usize) -> Option<Place> {
        Some(Place {
            file: "toy".to_owned(),
            line: self.now.at[process] as u32 + 1,
            column: process as u32 + 1,
        })
    }

    fn fail(&mut self, process: usize, message: &str) {
        let place = self.place(process);
        let (kind, process) = (FailureKind::Assertion, Some(ProcessId(process as u32)));
        self.now.failures.push(Failure { kind, message: message.to_owned(), place, process });
    }

    fn take(&mut self, process: usize, choice: u32) -> Result<Explanation, Stop> {
        let op = self.next(process).expect("only an enabled process takes a step");
        let place = self.place(process);
        let position = self.past.len();
        self.past.push(self.now.clone());
        let (mut reads, mut writes) = (vec![], vec![]);
        let seen = |variable: usize, (value, source): (i64, Option<usize>)| {
            let name = ["x", "y", "z", "w"][variable].to_owned();
            vec![Observed { name, value: value.to_string(), source }]
        };
        match op {
            Op::Read(v) => {
                reads = seen(v, self.now.variables[v]);
                self.now.register[process] = self.now.variables[v].0;
            }
            Op::Write(v, plus) => {
                self.now.variables[v] = (self.now.register[process] + plus, Some(position));
                writes = seen(v, self.now.variables[v]);
            }
            Op::Expect(v, value) => {
                reads = seen(v, self.now.variables[v]);
                if self.now.variables[v].0 != value {
                    self.fail(process, "not as expected");
                }
            }
            Op::Tell(v) => self.fail(process, &format!("it is {}", self.now.variables[v].0)),
            Op::DoOnce => self.done_once = true,
            Op::FailOnce if self.first => self.fail(process, "once only"),
            Op::FailOnce => {}
            Op::Lock(lock) => self.now.holders[lock] = Some((process, self.now.at[process])),
            Op::Unlock(lock) => self.now.holders[lock] = None,
            Op::Choose(_) => self.now.register[process] = choice.into(),
            Op::AssumeNot(value) => self.now.stopped[process] = self.now.register[process] == value,
            Op::Bound => return Err(Stop::Bound("a toy ends here".to_owned())),
        }
        self.now.at[process] += 1;
        self.look();
        let (process, operation) = (ProcessId(process as u32), format!("{op:?}"));
        Ok(Explanation { process, operation, reads, writes, note: None, place })
    }
}

impl Run for ToyRun {
    fn names(&self) -> &Names {
        &self.names
    }

    fn depth(&self) -> usize {
        self.past.len()
    }

    fn enabled(&self) -> &ProcessSet {
        &self.enabled
    }

    fn alternatives(&self, process: ProcessId) -> u32 {
        if let Some(Op::Choose(outcomes)) = self.next(process.index()) { outcomes } else { 1 }
    }

    fn waiting(&self, with: &mut dyn FnMut(ProcessId, Option<Guard>)) {
        let waiting = (0..self.processes.len()).filter(|&process| self.waits(process).is_some());
        waiting.for_each(|process| with(ProcessId(process as u32), None));
    }

    fn step(&mut self, process: ProcessId, choice: u32, label: &mut Label) -> Result<(), Stop> {
        label.clear();
        self.take(process.index(), choice).map(drop)
    }

    fn rewind(&mut self, depth: usize) {
        if depth < self.past.len() {
            self.now = self.past[depth].clone();
            self.past.truncate(depth);
            self.look();
        }
    }

    fn guard_holds_at(&self, _: GuardId, _: usize) -> bool {
        unreachable!("no step of a toy has a guard in its label")
    }

    fn failures(&self) -> &[Failure] {
        &self.now.failures
    }

    fn assumed(&self) -> bool {
        self.now.stopped.contains(&true)
    }
}

impl Explain for ToyRun {
    fn process_name(&self, process: ProcessId) -> String {
        format!("p{}", process.0)
    }

    fn step_explained(&mut self, process: ProcessId, choice: u32) -> Result<Explanation, Stop> {
        self.take(process.index(), choice)
    }

    fn explain_waiting(&self) -> Vec<WaitExplanation> {
        let one = |process: usize| {
            let lock = self.waits(process)?;
            let (holder, line) = self.now.holders[lock]?;
            Some(WaitExplanation {
                process: ProcessId(process as u32),
                operation: format!("lock({lock})"),
                waits_for: format!("lock {lock}, held by p{holder} since line {}", line + 1),
                waits_on: vec![ProcessId(holder as u32)],
                place: self.place(process),
            })
        };
        (0..self.processes.len()).filter_map(one).collect()
    }
}
