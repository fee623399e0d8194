//! What the tests share.

use mazurka_litmus::{Litmus, LitmusRun, Source, compile, parse};
use mazurka_program::{AccessKind, Label, Location, ProcessId, Run};

/// A program from its text.
pub fn program(text: &str) -> Litmus {
    let source = Source { name: "test.maz".to_owned(), text: text.to_owned() };
    let ast = parse(&source).unwrap_or_else(|errors| panic!("{errors:?}\n{text}"));
    compile(&ast, &source, &[]).unwrap_or_else(|errors| panic!("{errors:?}\n{text}"))
}

/// Whether a text is a program.
pub fn is_program(text: &str) -> bool {
    let source = Source { name: "test.maz".to_owned(), text: text.to_owned() };
    parse(&source).is_ok_and(|ast| compile(&ast, &source, &[]).is_ok())
}

/// Random numbers.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % bound
    }
}

/// The processes that can take a step.
pub fn enabled(run: &LitmusRun) -> Vec<ProcessId> {
    run.enabled().iter().collect()
}

/// The processes that wait, with the locations and numbers of their guards.
pub fn waiting(run: &LitmusRun) -> Vec<(u32, Option<(u32, u32)>)> {
    let mut found = Vec::new();
    run.waiting(&mut |process, guard| found.push((process.0, guard.map(|g| (g.location.0, g.id.0)))));
    found
}

/// A label in words: `R x, U m | guard m | after exit of p | spawn 2 | varies`.
pub fn label_text(run: &LitmusRun, label: &Label) -> String {
    let accesses = label.accesses.iter().map(|access| {
        let letter = match access.kind {
            AccessKind::Read => "R",
            AccessKind::Write => "W",
            AccessKind::Update => "U",
            AccessKind::Send => "S",
            AccessKind::Once => "O",
        };
        let first = run.location_name(access.first);
        match access.len {
            1 => format!("{letter} {first}"),
            len => format!("{letter} {first}..{}", run.location_name(Location(access.first.0 + len - 1))),
        }
    });
    let mut text = accesses.collect::<Vec<_>>().join(", ");
    if let Some(guard) = label.guard {
        text += &format!(" | guard {}", run.location_name(guard.location));
    }
    for &location in &label.waited_for {
        text += &format!(" | after {}", run.location_name(location));
    }
    for child in &label.spawned {
        text += &format!(" | spawn {}", run.names().display(*child));
    }
    if label.varies {
        text += " | varies";
    }
    text
}
