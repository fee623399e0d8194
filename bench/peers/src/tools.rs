//! The three checkers behind one function: check this program, give up after so long.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::programs::Program;

/// A checker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    Ours,
    Loom,
    Shuttle,
}

/// What one check of a program came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Check {
    /// Complete executions.
    pub executions: u64,
    /// Executions that were started and could not be completed. The peers don't tell theirs apart.
    pub blocked: u64,
    /// Whether the program passed. The peers panic where it does not.
    pub pass: bool,
    /// Whether the limit ended the check.
    pub cut: bool,
}

impl Tool {
    pub fn name(self) -> &'static str {
        match self {
            Tool::Ours => "mazurka",
            Tool::Loom => "loom",
            Tool::Shuttle => "shuttle",
        }
    }

    pub fn by_name(name: &str) -> Option<Tool> {
        [Tool::Ours, Tool::Loom, Tool::Shuttle].into_iter().find(|tool| tool.name() == name)
    }

    /// Whether the tool can run the program at all.
    pub fn supports(self, program: Program) -> bool {
        self != Tool::Loom || program.threads() <= loom::MAX_THREADS
    }

    /// Runs one check. The peers stop at the limit; ours needs none.
    pub fn check(self, program: Program, limit: Duration) -> Check {
        match self {
            Tool::Ours => check_ours(program),
            Tool::Loom => counted(limit, |count| {
                let mut builder = loom::model::Builder::new();
                builder.max_duration = Some(limit);
                builder.max_permutations = None;
                builder.preemption_bound = None;
                // The duration is only looked at this often.
                builder.checkpoint_interval = 100;
                builder.check(move || {
                    count.fetch_add(1, Ordering::Relaxed);
                    in_loom::run(program);
                });
            }),
            Tool::Shuttle => counted(limit, |count| {
                let mut config = shuttle::Config::new();
                config.max_time = Some(limit);
                let scheduler = shuttle::scheduler::DfsScheduler::new(None, false);
                shuttle::Runner::new(scheduler, config).run(move || {
                    count.fetch_add(1, Ordering::Relaxed);
                    in_shuttle::run(program);
                });
            }),
        }
    }
}

fn check_ours(program: Program) -> Check {
    let report = mazurka::Checker::new().run(move || in_mazurka::run(program));
    Check { executions: report.executions(), blocked: report.blocked(), pass: report.is_pass(), cut: false }
}

/// The peers don't report how many executions they ran: the program counts how often it is started.
fn counted(limit: Duration, check: impl FnOnce(Arc<AtomicU64>)) -> Check {
    let count = Arc::new(AtomicU64::new(0));
    let started = Instant::now();
    check(count.clone());
    let cut = started.elapsed() >= limit;
    Check { executions: count.load(Ordering::Relaxed), blocked: 0, pass: true, cut }
}

mod in_mazurka {
    use mazurka as tool;
    mod text {
        include!("text.rs");
    }
    pub use text::run;
}

mod in_loom {
    use loom as tool;
    mod text {
        include!("text.rs");
    }
    pub use text::run;
}

mod in_shuttle {
    use shuttle as tool;
    mod text {
        include!("text.rs");
    }
    pub use text::run;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::CASES;

    #[test]
    fn ours_runs_one_execution_a_class() {
        for case in &CASES {
            let check = Tool::Ours.check(case.program, Duration::MAX);
            let expected = Check { executions: case.traces, blocked: 0, pass: true, cut: false };
            assert_eq!(check, expected, "{}", case.name);
        }
    }

    #[test]
    fn a_peer_counts_its_executions_and_says_when_it_was_cut() {
        let program = Program::StoreBuffering;
        for (tool, executions) in [(Tool::Loom, 60), (Tool::Shuttle, 69)] {
            let check = tool.check(program, Duration::from_secs(60));
            assert_eq!((check.executions, check.cut), (executions, false), "{}", tool.name());
        }
        let check = Tool::Shuttle.check(Program::LastWrite { writers: 8 }, Duration::from_millis(10));
        assert!(check.executions > 0 && check.cut);
    }

    #[test]
    fn loom_is_not_given_more_threads_than_it_can_run() {
        assert!(Tool::Loom.supports(Program::LastWrite { writers: 4 }));
        assert!(!Tool::Loom.supports(Program::LastWrite { writers: 5 }));
        assert!(Tool::Shuttle.supports(Program::LastWrite { writers: 5 }));
    }
}
