//! Steps that are said to commute do; and who says so wrongly is found out.

use mazurka_laws::abs::{self, AbsPrograms};
use mazurka_laws::commuting::{self, AbsCommuting, Commuting};
use mazurka_laws::diamonds::Walks;
use mazurka_laws::random::Random;
use mazurka_laws::{Campaign, corpus};
use mazurka_litmus::{Litmus, LitmusRun, Source, compile, parse};
use mazurka_program::{Commutes, Constraints, Failure, Footprints, Guard, GuardId, Label, Names};
use mazurka_program::{ProcessId, ProcessSet, Program, Run, States, Stop};

const WALKS: Walks = Walks { number: 4, steps: 8 };

#[test]
fn random_programs_commute_as_they_say() {
    let campaign = Campaign { seed: 3, first: 0, programs: 120, time: None, threads: 1 };
    let outcome = campaign.run(&Commuting { corpus: corpus::seeds() });
    assert!(outcome.found.is_none(), "{:?}", outcome.found.map(|found| found.broken));
    assert_eq!(outcome.held, 120);
    assert!(outcome.classes > 1_000, "both orders were run in {} states only", outcome.classes);
}

#[test]
fn random_active_objects_commute_as_they_say() {
    let campaign = Campaign { seed: 5, first: 0, programs: 60, time: None, threads: 1 };
    let programs = AbsPrograms { corpus: abs::corpus(), only: None };
    let outcome = campaign.run(&AbsCommuting { programs });
    assert!(outcome.found.is_none(), "{:?}", outcome.found.map(|found| found.broken));
    assert!(outcome.held > 40, "only {} programs", outcome.held);
    assert!(outcome.classes > 200, "both orders were run in {} states only", outcome.classes);
}

fn program(text: &str) -> Litmus {
    let source = Source { name: "test.maz".to_owned(), text: text.to_owned() };
    compile(&parse(&source).expect("it parses"), &source, &[]).expect("it compiles")
}

/// What a program that lies is found out by.
fn found_out(text: &str, lie: Lie) -> String {
    commuting::check(&Liar { program: program(text), lie }, WALKS, &mut Random::new(1)).unwrap_err()
}

#[test]
fn who_says_so_wrongly_is_found_out() {
    let writes = "var x; process p { x = 1; } process q { x = 2; }";
    assert!(found_out(writes, Lie::Always).ends_with("the orders end differently"));
    let waits = "var x; process p { await x == 1; } process q { x = 1; }";
    assert!(found_out(waits, Lie::Always).ends_with("enables or disables the other"));
    // Where x is 0 they do commute, but r may write it before.
    let later = "var x, y; process p { atomic { if x != 0 { y = 1; } } } process q { atomic { if x != 0 { y = 2; } } }
        process r { x = 1; }";
    assert!(found_out(later, Lie::Uniformly).ends_with("the orders end differently"));
    assert!(found_out(later, Lie::Beside).ends_with("the orders end differently"));
    assert_eq!(
        commuting::check(&program(later), WALKS, &mut Random::new(1)).map(|tried| tried > 0),
        Ok(true)
    );
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Lie {
    /// All steps commute.
    Always,
    /// Those that commute here do so for ever.
    Uniformly,
    /// Those that commute here do so whatever others do.
    Beside,
}

struct Liar {
    program: Litmus,
    lie: Lie,
}

struct LyingRun {
    run: LitmusRun,
    lie: Lie,
}

impl Program for Liar {
    type Run = LyingRun;

    fn start(&self, footprints: Footprints) -> LyingRun {
        LyingRun { run: self.program.start(footprints), lie: self.lie }
    }
}

impl Constraints for LyingRun {
    fn block(&mut self, process: ProcessId) -> Option<u32> {
        self.run.block(process)
    }

    fn commute(&mut self, first: u32, second: u32) -> Commutes {
        if self.lie == Lie::Always { Commutes::Always } else { self.run.commute(first, second) }
    }

    fn commute_uniformly(&mut self, first: u32, second: u32, without: ProcessId) -> bool {
        match self.lie {
            Lie::Beside => self.run.commute_uniformly(first, second, without),
            _ => self.commute(first, second) != Commutes::Unknown,
        }
    }

    fn commute_beside(&mut self, first: u32, second: u32, processes: [ProcessId; 2]) -> bool {
        match self.lie {
            Lie::Beside => self.commute(first, second) != Commutes::Unknown,
            _ => self.commute_uniformly(first, second, processes[0]),
        }
    }
}

impl Run for LyingRun {
    fn names(&self) -> &Names {
        self.run.names()
    }

    fn depth(&self) -> usize {
        self.run.depth()
    }

    fn enabled(&self) -> &ProcessSet {
        self.run.enabled()
    }

    fn alternatives(&self, process: ProcessId) -> u32 {
        self.run.alternatives(process)
    }

    fn waiting(&self, with: &mut dyn FnMut(ProcessId, Option<Guard>)) {
        self.run.waiting(with);
    }

    fn step(&mut self, process: ProcessId, choice: u32, label: &mut Label) -> Result<(), Stop> {
        self.run.step(process, choice, label)
    }

    fn rewind(&mut self, depth: usize) {
        self.run.rewind(depth);
    }

    fn guard_holds_at(&self, guard: GuardId, depth: usize) -> bool {
        self.run.guard_holds_at(guard, depth)
    }

    fn failures(&self) -> &[Failure] {
        self.run.failures()
    }

    fn assumed(&self) -> bool {
        self.run.assumed()
    }

    fn states(&self) -> Option<&dyn States> {
        self.run.states()
    }

    fn constraints(&mut self) -> Option<&mut dyn Constraints> {
        Some(self)
    }
}
