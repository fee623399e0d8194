//! Whether a closure repeats itself, asked where a search came to what can't be.
//!
//! A search notices a step that is not repeated when it takes that step again. It may be led astray before:
//! what another execution did has been planned for, and does not come. So the closure is run many times over,
//! along schedules of which each repeats a part of the one before.

use std::time::{Duration, Instant};

use mazurka_program::{Failure, FailureKind, Footprints, Label, Program, Run, Stop};

use crate::runtime::run::{Closure, ClosureRun};

/// So many executions are run, at most.
const EXECUTIONS: usize = 2_000;
/// For so long, at most.
const TIME: Duration = Duration::from_secs(2);
/// And of each so many steps.
const MAX_STEPS: usize = 10_000;

/// What a closure does not repeat, if that shows.
pub(super) fn difference(program: &Closure) -> Option<Failure> {
    let begin = Instant::now();
    let mut run = program.start(Footprints::Dynamic);
    for round in 0..EXECUTIONS {
        if begin.elapsed() > TIME {
            return None;
        }
        match run_to_end(&mut run, round) {
            Ok(()) => {}
            Err(Stop::Broken(failure)) => {
                return Some(failure).filter(|failure| failure.kind == FailureKind::Nondeterminism);
            }
            Err(_) => return None,
        }
        // All but the last step are taken again; in every other round more of them are taken otherwise.
        let depth = run.depth();
        let again = if round % 2 == 0 { depth.saturating_sub(1) } else { round % depth.max(1) };
        run.rewind(again);
    }
    None
}

/// Takes steps until nobody can, by turns that depend on the round.
fn run_to_end(run: &mut ClosureRun, round: usize) -> Result<(), Stop> {
    let mut label = Label::default();
    while run.depth() < MAX_STEPS {
        let enabled: Vec<_> = run.enabled().iter().collect();
        let Some(&process) = enabled.get((round / 2 + run.depth()) % enabled.len().max(1)) else {
            return Ok(());
        };
        run.step(process, 0, &mut label)?;
    }
    Ok(())
}
