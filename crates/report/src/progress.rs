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
        self.bar.tick();
    }
}

/// The line goes away before anything else is written.
impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

fn line(counts: &Counts, share: f64, elapsed: Duration) -> String {
    let executions = counts.executions();
    let seconds = elapsed.as_secs_f64();
    let mut line = format!("{executions} executions begun");
    if seconds > 0.0 {
        line += &format!(", {:.0}/s", executions as f64 / seconds);
    }
    // Branches that are not found yet make the share less, so it is a guess and says so.
    if share > 0.0 && share <= 1.0 {
        line += &format!(", perhaps {:.1} % of {:.0}", share * 100.0, executions as f64 / share);
    }
    line + &format!(", longest {}, {seconds:.0} s", counts.longest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_tells_what_is_known() {
        let counts = Counts { complete: 90, blocked: 10, longest: 12, ..Counts::default() };
        let told = line(&counts, 0.25, Duration::from_secs(4));
        assert_eq!(told, "100 executions begun, 25/s, perhaps 25.0 % of 400, longest 12, 4 s");
        assert_eq!(line(&counts, 0.0, Duration::ZERO), "100 executions begun, longest 12, 0 s");
    }
}
