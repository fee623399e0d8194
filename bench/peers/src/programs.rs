//! The programs, written once, and how many executions each needs.
//!
//! `text.rs` is included in one module a tool, with that tool's `sync` and `thread`: the tools run the same
//! text. All atomics are sequentially consistent, because that is what the counts are about. `Arc` is the
//! standard library's: loom's own would have it explore the orders in which reference counts change, which no
//! program here can see.

/// A program and its size.
#[derive(Clone, Copy, Debug)]
pub enum Program {
    StoreBuffering,
    LastWrite { writers: usize },
    FloatingRead { writers: usize },
    FibBench { rounds: usize },
    MutexCounter { threads: usize, rounds: usize },
    Mpsc { producers: usize, messages: usize },
}

impl Program {
    /// Threads that live at once, `main` among them.
    pub fn threads(self) -> usize {
        1 + match self {
            Program::StoreBuffering | Program::FibBench { .. } => 2,
            Program::LastWrite { writers } => writers,
            Program::FloatingRead { writers } => writers + 1,
            Program::MutexCounter { threads, .. } => threads,
            Program::Mpsc { producers, .. } => producers,
        }
    }
}

/// A line of the table.
pub struct Case {
    pub name: &'static str,
    pub program: Program,
    /// How many Mazurkiewicz traces the program has: what one execution a class comes to.
    pub traces: u64,
}

const fn case(name: &'static str, program: Program, traces: u64) -> Case {
    Case { name, program, traces }
}

/// The counts have closed forms: n! for `lastwrite`, (n+1)! for `floating_read`, the central trinomial
/// coefficient of 2n for `fib_bench`, (tk)!/(k!)^t for the orders in which a lock is taken or messages
/// arrive.
pub const CASES: [Case; 14] = [
    case("store_buffering", Program::StoreBuffering, 3),
    case("lastwrite 4", Program::LastWrite { writers: 4 }, 24),
    case("lastwrite 5", Program::LastWrite { writers: 5 }, 120),
    case("lastwrite 8", Program::LastWrite { writers: 8 }, 40_320),
    case("floating_read 3", Program::FloatingRead { writers: 3 }, 24),
    case("floating_read 7", Program::FloatingRead { writers: 7 }, 40_320),
    case("fib_bench 3", Program::FibBench { rounds: 3 }, 141),
    case(FIB_BENCH_4, Program::FibBench { rounds: 4 }, 1_107),
    case("fib_bench 5", Program::FibBench { rounds: 5 }, 8_953),
    case("mutex 3 x 3", Program::MutexCounter { threads: 3, rounds: 3 }, 1_680),
    case("mutex 4 x 1", Program::MutexCounter { threads: 4, rounds: 1 }, 24),
    case("mutex 4 x 2", Program::MutexCounter { threads: 4, rounds: 2 }, 2_520),
    case("mpsc 3 x 2", Program::Mpsc { producers: 3, messages: 2 }, 90),
    case("mpsc 3 x 3", Program::Mpsc { producers: 3, messages: 3 }, 1_680),
];

/// The case that has a rate to reach.
pub const FIB_BENCH_4: &str = "fib_bench 4";

#[cfg(test)]
mod tests {
    use super::*;

    /// The litmus program of the same text, and its parameters; `None` if there is none.
    fn litmus(program: Program) -> Option<(&'static str, String)> {
        match program {
            Program::LastWrite { writers } => Some(("lastwrite", format!("n={writers}"))),
            Program::FloatingRead { writers } => Some(("floating_read", format!("n={writers}"))),
            Program::FibBench { rounds } => Some(("fib_bench_joined", format!("n={rounds}"))),
            Program::MutexCounter { threads, rounds } => Some(("mutex", format!("n={threads} k={rounds}"))),
            Program::StoreBuffering | Program::Mpsc { .. } => None,
        }
    }

    #[test]
    fn the_counts_are_those_of_the_litmus_programs() {
        let expected = include_str!("../../litmus/expected.tsv");
        let count_of = |name: &str, parameters: &str| {
            let fields = expected.lines().map(|line| line.split('\t').collect::<Vec<_>>());
            let line = fields.into_iter().find(|fields| fields[..2] == [name, parameters]);
            line.and_then(|fields| fields[2].parse().ok())
        };
        for case in &CASES {
            if let Some((name, parameters)) = litmus(case.program) {
                assert_eq!(count_of(name, &parameters), Some(case.traces), "{}", case.name);
            }
        }
    }
}
