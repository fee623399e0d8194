//! A program of straight-line processes, made for tests of algorithms: no parser, no interpreter. It rewinds
//! by starting again.

use mazurka_program::{
    AccessKind, Failure, Footprints, Guard, GuardId, Label, Location, NamedStates, Names, ProcessId,
    ProcessSet, Program, Receives, Run, State, States, Stop,
};

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Op {
    Read(u32),
    Write(u32),
    Update(u32),
    Lock(u32),
    Unlock(u32),
    /// A step of this process has so many outcomes and touches nothing.
    Choose(u32),
}

#[derive(Clone, Debug)]
pub struct Toy(pub Vec<Vec<Op>>);

pub struct ToyRun {
    program: Toy,
    names: Names,
    enabled: ProcessSet,
    steps: Vec<(ProcessId, u32)>,
    pcs: Vec<usize>,
    memory: Vec<i64>,
    /// For each lock and depth, whether it is free.
    free: Vec<Vec<bool>>,
}

/// Locks are the locations from here on.
const LOCKS: u32 = 100;

impl Program for Toy {
    type Run = ToyRun;

    fn start(&self, _: Footprints) -> ToyRun {
        let mut names = Names::new();
        for k in 0..self.0.len() {
            names.child(None, k as u32);
        }
        let mut run = ToyRun {
            program: self.clone(),
            names,
            enabled: ProcessSet::new(),
            steps: Vec::new(),
            pcs: Vec::new(),
            memory: Vec::new(),
            free: Vec::new(),
        };
        run.rewind(0);
        run
    }
}

impl ToyRun {
    fn op(&self, process: ProcessId) -> Option<Op> {
        self.program.0[process.index()].get(self.pcs[process.index()]).copied()
    }

    fn refresh(&mut self) {
        let free = self.free.last().unwrap();
        self.enabled = (0..self.pcs.len() as u32)
            .map(ProcessId)
            .filter(|&p| match self.op(p) {
                None => false,
                Some(Op::Lock(l)) => free[l as usize],
                Some(_) => true,
            })
            .collect();
    }
}

impl Run for ToyRun {
    fn names(&self) -> &Names {
        &self.names
    }

    fn depth(&self) -> usize {
        self.steps.len()
    }

    fn enabled(&self) -> &ProcessSet {
        &self.enabled
    }

    fn alternatives(&self, process: ProcessId) -> u32 {
        if let Some(Op::Choose(n)) = self.op(process) { n } else { 1 }
    }

    fn waiting(&self, with: &mut dyn FnMut(ProcessId, Option<Guard>)) {
        for p in (0..self.pcs.len() as u32).map(ProcessId).filter(|&p| !self.enabled.contains(p)) {
            if let Some(Op::Lock(l)) = self.op(p) {
                with(p, Some(Guard { location: Location(LOCKS + l), id: GuardId(l) }));
            }
        }
    }

    fn step(&mut self, process: ProcessId, choice: u32, label: &mut Label) -> Result<(), Stop> {
        label.clear();
        assert!(self.enabled.contains(process) && choice < self.alternatives(process));
        let mut free = self.free.last().unwrap().clone();
        let value = 1 + process.0 as i64 * 10 + self.pcs[process.index()] as i64;
        match self.op(process).unwrap() {
            Op::Read(x) => label.touch(Location(x), AccessKind::Read),
            Op::Write(x) => {
                label.touch(Location(x), AccessKind::Write);
                self.memory[x as usize] = value;
            }
            Op::Update(x) => {
                label.touch(Location(x), AccessKind::Update);
                self.memory[x as usize] = self.memory[x as usize] * 31 + value;
            }
            Op::Lock(l) => {
                label.touch(Location(LOCKS + l), AccessKind::Update);
                label.guard = Some(Guard { location: Location(LOCKS + l), id: GuardId(l) });
                free[l as usize] = false;
            }
            Op::Unlock(l) => {
                label.touch(Location(LOCKS + l), AccessKind::Update);
                free[l as usize] = true;
            }
            Op::Choose(_) => {}
        }
        self.steps.push((process, choice));
        self.pcs[process.index()] += 1;
        self.free.push(free);
        self.refresh();
        Ok(())
    }

    fn rewind(&mut self, depth: usize) {
        let steps = std::mem::take(&mut self.steps);
        self.pcs = vec![0; self.program.0.len()];
        self.memory = vec![0; 8];
        self.free = vec![vec![true; 8]];
        self.refresh();
        for &(process, choice) in &steps[..depth] {
            self.step(process, choice, &mut Label::default()).unwrap();
        }
    }

    fn guard_holds_at(&self, guard: GuardId, depth: usize) -> bool {
        self.free[depth][guard.0 as usize]
    }

    fn failures(&self) -> &[Failure] {
        &[]
    }

    fn assumed(&self) -> bool {
        false
    }

    fn states(&self) -> Option<&dyn States> {
        Some(self)
    }

    fn receives(&self) -> Option<&dyn Receives> {
        Some(self)
    }
}

impl Receives for ToyRun {
    fn would_take(&self, _: usize, _: usize) -> bool {
        unreachable!("there are no mailboxes")
    }
}

impl States for ToyRun {
    fn state(&self) -> State {
        State { shared: self.memory.clone(), local: self.pcs.iter().map(|&pc| pc as i64).collect() }
    }

    fn named(&self) -> Option<&dyn NamedStates> {
        Some(self)
    }
}

impl NamedStates for ToyRun {
    fn named_state(&self, list: &mut Vec<i64>) {
        list.clear();
        list.extend(self.memory.iter().copied().chain(self.pcs.iter().map(|&pc| pc as i64)));
        list.extend(self.free.last().unwrap().iter().map(|&free| i64::from(free)));
    }
}
