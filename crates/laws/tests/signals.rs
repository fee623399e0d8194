//! Labels may say more than is needed: a step that sends may also update a location which every step of the
//! receiver reads, as the signals do that tell a process of the end of another one. The algorithms have to do
//! with such labels too, be the location one that the receiver reads, or one that it waits for, with a guard
//! that always holds, or with one that signals make false and true again.

use mazurka_explore::{Algorithm, NoMonitor, Options, Order, explore};
use mazurka_litmus::{Litmus, Source, compile, parse};
use mazurka_oracle::{Budget, truth};
use mazurka_program::{
    AccessKind, Failure, Footprints, Guard, GuardId, Label, Location, Names, ProcessId, ProcessSet, Program,
    Receives, Run, State, States, Stop,
};

/// What the steps of the first process do with the location of the signals.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Receiver {
    Reads,
    Waits,
    /// Each signal suspends the receiver, or lets it go on again.
    Suspended,
}

/// A program in which the sends of some processes are signals too.
struct Signals {
    program: Litmus,
    receiver: Receiver,
    /// By their numbers: whose sends are signals.
    senders: u32,
}

struct SignalsRun<R> {
    run: R,
    receiver: Receiver,
    senders: u32,
    /// After each number of steps, whether the receiver is suspended.
    suspended: Vec<bool>,
    enabled: ProcessSet,
}

impl<R: Run> SignalsRun<R> {
    fn is_suspended(&self) -> bool {
        self.receiver == Receiver::Suspended && self.suspended.last() == Some(&true)
    }

    fn refresh(&mut self) {
        let suspended = self.is_suspended();
        self.enabled = self.run.enabled().iter().filter(|&p| p != RECEIVER || !suspended).collect();
    }
}

/// The process whose steps know of the signals.
const RECEIVER: ProcessId = ProcessId(0);

/// Far from the locations of the program.
const SIGNAL: Location = Location(60);

/// The guard that holds unless the receiver is suspended.
const HOLDS: GuardId = GuardId(u32::MAX);

impl Program for Signals {
    type Run = SignalsRun<<Litmus as Program>::Run>;

    fn start(&self, footprints: Footprints) -> Self::Run {
        let run = self.program.start(footprints);
        let (receiver, senders) = (self.receiver, self.senders);
        let mut run =
            SignalsRun { run, receiver, senders, suspended: vec![false], enabled: ProcessSet::new() };
        run.refresh();
        run
    }
}

impl<R: Run> Run for SignalsRun<R> {
    fn names(&self) -> &Names {
        self.run.names()
    }

    fn depth(&self) -> usize {
        self.run.depth()
    }

    fn enabled(&self) -> &ProcessSet {
        &self.enabled
    }

    fn alternatives(&self, process: ProcessId) -> u32 {
        self.run.alternatives(process)
    }

    fn waiting(&self, with: &mut dyn FnMut(ProcessId, Option<Guard>)) {
        self.run.waiting(with);
        if self.is_suspended() && self.run.enabled().contains(RECEIVER) {
            with(RECEIVER, Some(Guard { location: SIGNAL, id: HOLDS }));
        }
    }

    fn step(&mut self, process: ProcessId, choice: u32, label: &mut Label) -> Result<(), Stop> {
        self.run.step(process, choice, label)?;
        let sends = label.accesses.iter().any(|access| access.kind == AccessKind::Send);
        let signals = sends && self.senders >> process.0 & 1 == 1;
        self.suspended.push(self.suspended[self.run.depth() - 1] != signals);
        self.refresh();
        if signals {
            label.touch(SIGNAL, AccessKind::Update);
        }
        if process == RECEIVER {
            label.touch(SIGNAL, AccessKind::Read);
            if self.receiver != Receiver::Reads {
                assert!(label.guard.is_none(), "a step has one guard");
                label.guard = Some(Guard { location: SIGNAL, id: HOLDS });
            }
        }
        Ok(())
    }

    fn rewind(&mut self, depth: usize) {
        self.run.rewind(depth);
        self.suspended.truncate(depth + 1);
        self.refresh();
    }

    fn guard_holds_at(&self, guard: GuardId, depth: usize) -> bool {
        match guard {
            HOLDS => self.receiver != Receiver::Suspended || !self.suspended[depth],
            _ => self.run.guard_holds_at(guard, depth),
        }
    }

    fn receives(&self) -> Option<&dyn Receives> {
        self.run.receives()
    }

    fn failures(&self) -> &[Failure] {
        self.run.failures()
    }

    fn assumed(&self) -> bool {
        self.run.assumed()
    }

    fn states(&self) -> Option<&dyn States> {
        Some(self)
    }
}

impl<R: Run> States for SignalsRun<R> {
    fn state(&self) -> State {
        self.run.states().expect("a program of states").state()
    }
}

const PROGRAMS: [&str; 9] = [
    "process R { receive ?a; } process P { send(R, 1); send(R, 2); } process Q { send(R, 3); } process S { send(R, 4); }",
    "process R { receive ?a; receive ?b; } process P { send(R, 1); send(R, 2); } process Q { send(R, 3); } process S { send(R, 4); }",
    "process R { receive ?a; } process P { send(R, 1); } process Q { send(R, 2); }",
    "process R { receive ?a; receive ?b; } process P { send(R, 1); } process Q { send(R, 2); }",
    "process R { receive ?a; receive ?b; receive ?c; } process P[i in 1..=3] { send(R, i); }",
    "var x; process R { receive ?a; x = 1; receive ?b; } process P { send(R, 1); let r = x; } process Q { send(R, 2); }",
    "var x; process R { x = 1; receive 2; } process P { send(R, 1); } process Q { let r = x; send(R, 2); send(R, 2); }",
    "var x; process R { receive { ?a => { x = a; } timeout => { x = 2; } } let r = x; } process P { send(R, 1); x = 3; } process Q { send(R, 2); }",
    "process R { receive 1; receive ?b; } process P { send(R, 1); send(R, 2); } process Q { send(R, 1); }",
];

fn compiled(text: &str) -> Litmus {
    let source = Source { name: "signals".to_owned(), text: text.to_owned() };
    let ast = parse(&source).unwrap_or_else(|errors| panic!("{text}: {}", errors[0].message));
    compile(&ast, &source, &[]).unwrap_or_else(|errors| panic!("{text}: {}", errors[0].message))
}

#[test]
fn sends_that_are_signals_too() {
    for text in PROGRAMS {
        for (receiver, senders) in [Receiver::Reads, Receiver::Waits, Receiver::Suspended]
            .into_iter()
            .flat_map(|receiver| [0b0010, 0b0110, 0b1110].map(|senders| (receiver, senders)))
        {
            let program = Signals { program: compiled(text), receiver, senders };
            let truth = truth(&program, Budget { executions: 5_000, steps: 30 }).expect("a small program");
            for order in (0..60).map(|seed| if seed == 0 { Order::Natural } else { Order::Shuffled(seed) }) {
                for (algorithm, classes) in [
                    (Algorithm::Optimal, truth.mazurkiewicz.len()),
                    (Algorithm::OptimalObservers, truth.observers.len()),
                ] {
                    let options = Options { order, ..Options::default() };
                    let summary = explore(&program, algorithm, &options, &mut NoMonitor);
                    let what = format!("{text}\n{receiver:?} {senders:#b} {algorithm} {order:?}");
                    assert_eq!(summary.not_exhaustive, None, "{what}");
                    assert_eq!(summary.counts.complete, classes as u64, "{what}");
                }
            }
        }
    }
}
