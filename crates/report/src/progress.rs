//! One line on a terminal while a search runs.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use mazurka_explore::Counts;

/// The line is written at most so often.
const PAUSE: Duration = Duration::from_millis(100);

/// The line of progress on stderr; nothing where that is no terminal.
pub struct Progress {
    bar: ProgressBar,
    begin: Instant,
    last: Option<Instant>,
}

impl Default for Progress {
    fn default() -> Progress {
        Progress::new()
    }
}

impl Progress {
    /// A line that has not been written yet.
    pub fn new() -> Progress {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(10));
        if let Ok(style) = ProgressStyle::with_template("{msg}") {
            bar.set_style(style);
        }
        Progress { bar, begin: Instant::now(), last: None }
    }

    /// Writes the line again, if it is time to.
    pub fn update(&mut self, counts: &Counts, share: f64) {
        if self.bar.is_hidden() || self.last.is_some_and(|last| last.elapsed() < PAUSE) {
            return;
        }
        self.last = Some(Instant::now());
        self.bar.set_message(line(counts, share, self.begin.elapsed()));
    }
}

/// The line goes away before anything else is written.
impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Only complete executions are counted on: they alone mean the same in every algorithm.
fn line(counts: &Counts, share: f64, elapsed: Duration) -> String {
    let seconds = elapsed.as_secs_f64();
    let mut line = format!("{} complete", counts.complete);
    let others = [
        (counts.blocked, "blocked"),
        (counts.assumed, "assumed"),
        (counts.stopped, "stopped"),
        (counts.cut, "cut"),
    ];
    for (count, what) in others {
        if count > 0 {
            line += &format!(", {count} {what}");
        }
    }
    if seconds > 0.0 {
        line += &format!("; {:.0} complete/s", counts.complete as f64 / seconds);
    }
    // Of branches that are not found yet nobody knows, so no total is made of it: it may be off by any factor.
    if share > 0.0 && share <= 1.0 {
        line += &format!("; {:.1} % of the branches known so far", share * 100.0);
    }
    line + &format!("; longest {}; {seconds:.0} s", counts.longest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_tells_what_is_known() {
        let counts = Counts { complete: 90, blocked: 10, longest: 12, ..Counts::default() };
        let told = line(&counts, 0.25, Duration::from_secs(3));
        assert_eq!(
            told,
            "90 complete, 10 blocked; 30 complete/s; 25.0 % of the branches known so far; longest 12; 3 s"
        );
        assert_eq!(line(&counts, 0.0, Duration::ZERO), "90 complete, 10 blocked; longest 12; 0 s");
    }
}
