//! A report as text for people: the verdict first, then the counts, then how each failure comes about.

use mazurka_explore::Counts;
use mazurka_program::{Failure, FailureKind};

use crate::cycle::cycles;
use crate::interleaving::{Failed, StepsLayout, interleaving, line, one_file};
use crate::replay::{Replay, Waiting};
use crate::report::{Counterexample, Leak, Method, Report, Verdict};
use crate::style::{Paint, Tone, clean, clean_lines, pad, short_operation, width};
use crate::wording::Wording;

/// How to write a report.
pub struct TextOptions<'a> {
    /// The columns of the terminal.
    pub width: usize,
    /// Whether to use colours.
    pub colour: bool,
    /// Whether to show every step of a long execution.
    pub full_trace: bool,
    /// The command that runs a schedule again.
    pub replay_command: &'a dyn Fn(&str) -> String,
}

/// A report while it is written.
struct Writer<'a> {
    options: &'a TextOptions<'a>,
    wording: &'a Wording,
}

impl Writer<'_> {
    fn paint(&self) -> Paint {
        Paint(self.options.colour)
    }
}

/// A schedule longer than this can't be an argument of a command (128 KiB on Linux, with some room for
/// quotes).
const LONGEST_ARGUMENT: usize = 120_000;

/// The report as text.
pub fn text(report: &Report, options: &TextOptions<'_>) -> String {
    let writer = Writer { options, wording: &report.subject.wording };
    let mut text = format!("{}\n", verdict_line(report, writer.paint()));
    text += &format!("{}\n", counts_line(report));
    for note in notes(report) {
        text += &format!("{note}\n");
    }
    for (at, failure) in report.failures.iter().enumerate() {
        let number = (report.failures.len() > 1).then_some((at + 1, report.failures.len()));
        text += &format!("\n{}", writer.failure_text(failure, number));
    }
    if let Some(replay) = &report.replay {
        text += &format!("\n{}", writer.steps_text(replay, None));
    }
    if let Some(executions) = &report.executions {
        let steps = |replay: &Replay| writer.steps_text(replay, None);
        text += &format!("\n{}", executions.text(writer.paint(), &steps));
    }
    if let Some(states) = &report.final_states {
        text += &format!("\n{}", states.text(report.reason.is_some(), writer.paint()));
    }
    text
}

/// What nobody should miss of a report: the verdict, and of each failure what it is, where, and the command that
/// runs it again. Nothing of a pass.
pub fn brief_text(report: &Report, options: &TextOptions<'_>) -> String {
    if report.verdict() == Verdict::Pass {
        return String::new();
    }
    let writer = Writer { options, wording: &report.subject.wording };
    let mut text = format!("{}\n", verdict_line(report, writer.paint()));
    for (at, failure) in report.failures.iter().enumerate() {
        let number = (report.failures.len() > 1).then_some((at + 1, report.failures.len()));
        text += &writer.what_and_where(failure, number);
        text += &writer.how_to_replay(failure);
    }
    text
}

fn verdict_line(report: &Report, paint: Paint) -> String {
    let program = clean(&report.subject.program);
    let how = how(report);
    let (tone, rest) = match report.verdict() {
        Verdict::Pass => (Tone::Good, format!("no execution of {program} fails ({how})")),
        Verdict::Failure => (Tone::Bad, failure_summary(report)),
        Verdict::NotExhaustive => {
            let reason = report.reason.as_deref().unwrap_or_default();
            (Tone::Doubtful, format!("no failure so far in {program} ({how}), but {}", clean(reason)))
        }
    };
    format!("{} {rest}", paint.paint(tone, &format!("{}:", report.verdict().name())))
}

/// By what, and under which memory model.
fn how(report: &Report) -> String {
    let method = match &report.method {
        Method::Search(algorithm) => algorithm.to_string(),
        Method::Replay(_) => report.method.name().to_owned(),
    };
    report.memory_model.map_or(method.clone(), |model| format!("{method}; {model}"))
}

fn failure_summary(report: &Report) -> String {
    let program = clean(&report.subject.program);
    let how = how(report);
    match report.failures.as_slice() {
        [one] => format!("{} in {program} ({how})", one.failure.kind.name()),
        many if report.more_failures => {
            format!("more than {} different failures in {program} ({how})", many.len())
        }
        many => format!("{} different failures in {program} ({how})", many.len()),
    }
}

/// Complete, blocked and assumed executions apart: they are different things.
fn counts_line(report: &Report) -> String {
    let Counts { complete, blocked, assumed, stopped, cut, deadlocks, events, longest, .. } = report.counts;
    let deadlocked = if deadlocks > 0 { format!(" ({deadlocks} deadlocked)") } else { String::new() };
    let stopped = if stopped > 0 { format!(", {stopped} stopped") } else { String::new() };
    let cut = if cut > 0 { format!(", {cut} cut") } else { String::new() };
    let events = counted(events, "event");
    let longest = counted(longest as u64, "step");
    let mut text = format!(
        "executions: {complete} complete{deadlocked}, {blocked} blocked, {assumed} assumed{stopped}{cut}; {events}, \
         longest {longest}; {}",
        seconds_text(report.seconds)
    );
    if report.seconds >= 0.1 && complete > 0 {
        text += &format!(" ({:.0} complete/s)", complete as f64 / report.seconds);
    }
    text + &states_text(&report.counts)
}

/// What a search that stores states has to say of them, on a line of its own; nothing for the others.
fn states_text(counts: &Counts) -> String {
    if counts.states == 0 {
        return String::new();
    }
    format!(
        "\nstates: {} stored, {} of the blocked executions ended in one of them; {} bytes a state",
        counts.states,
        counts.merges,
        counts.state_memory / counts.states
    )
}

/// A number of things.
pub(crate) fn counted(count: u64, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {}", plural(what)) }
}

/// The plural of a noun.
pub(crate) fn plural(noun: &str) -> String {
    format!("{noun}{}", if noun.ends_with('s') { "es" } else { "s" })
}

/// A duration with three digits that mean something, in seconds.
pub(crate) fn seconds_text(seconds: f64) -> String {
    match seconds {
        s if s < 10.0 => format!("{s:.3} s"),
        s if s < 100.0 => format!("{s:.1} s"),
        s => format!("{s:.0} s"),
    }
}

fn leak_text(leak: &Leak) -> String {
    let place = leak.location.as_ref().map_or(String::new(), |place| format!(" at {}", clean(place)));
    let (bytes, blocks) = (counted(leak.bytes, "byte"), counted(leak.blocks, "block"));
    format!(
        "warning: memory leak: {bytes} in {blocks}, allocated{place}, are never freed, and nothing points to them"
    )
}

fn notes(report: &Report) -> Vec<String> {
    let mut notes = Vec::new();
    if report.verdict() == Verdict::Failure
        && let (Some(reason), Method::Search(_)) = (&report.reason, &report.method)
    {
        notes.push(clean(reason));
    }
    if report.verdict() == Verdict::Pass && report.counts.complete == 0 && report.counts.assumed > 0 {
        notes.push(
            "note: an assumption was false in every execution, so none was checked to its end".to_owned(),
        );
    }
    notes.extend(report.leaks.iter().map(leak_text));
    notes.extend(report.notes.iter().map(|note| format!("note: {}", clean(note))));
    notes
}

impl Writer<'_> {
    /// What went wrong, where, and how often.
    fn what_and_where(&self, failure: &Counterexample, number: Option<(usize, usize)>) -> String {
        let number = number.map_or(String::new(), |(at, all)| format!("[{at} of {all}] "));
        let message = failure.failure.message.trim();
        let (first, more_lines) = message.split_once('\n').unwrap_or((message, ""));
        let (heading, rest) = headline(&Failure { message: first.to_owned(), ..failure.failure.clone() });
        let mut text = format!("{}{rest}\n", self.paint().paint(Tone::Bad, &format!("{number}{heading}")));
        for line in clean_lines(more_lines) {
            text += &format!("  {line}\n");
        }
        let place = failure.failure.place.as_ref().map(|place| format!("at {}", clean(&place.to_string())));
        let process = failure.process.as_ref().map(|name| format!("in {}", clean(name)));
        let whereabouts: Vec<String> = place.into_iter().chain(process).collect();
        if !whereabouts.is_empty() {
            text += &format!("  {}\n", whereabouts.join(", "));
        }
        if let Some(executions) = failure.executions {
            text += &format!("  {}\n", how_often(executions, failure.varies));
        }
        text
    }

    fn failure_text(&self, failure: &Counterexample, number: Option<(usize, usize)>) -> String {
        let mut text = self.what_and_where(failure, number);
        match &failure.replay {
            Some(replay) => text += &format!("\n{}", self.steps_text(replay, Some(failure))),
            None if failure.schedule.is_some() && failure.failure.kind != FailureKind::Hang => {
                text += "\n  its steps are left out, to keep the report short\n";
            }
            None => {}
        }
        if failure.schedule.is_some() {
            text += &format!("\n{}", self.how_to_replay(failure));
        }
        text
    }

    fn how_to_replay(&self, failure: &Counterexample) -> String {
        let schedule = failure.schedule.as_ref();
        schedule.map_or(String::new(), |schedule| format!("{}\n", self.replay_line(&schedule.to_string())))
    }

    fn replay_line(&self, schedule: &str) -> String {
        let heading = self.paint().paint(Tone::Heading, "replay:");
        let command = self.options.replay_command;
        if schedule.len() <= LONGEST_ARGUMENT {
            return format!("{heading} {}", command(schedule));
        }
        format!(
            "{heading} {} (the schedule, of {} characters, is too long for a command line; {} prints it)",
            command("@FILE"),
            schedule.len(),
            self.wording.schedule
        )
    }

    fn steps_text(&self, replay: &Replay, failure: Option<&Counterexample>) -> String {
        let deadlock = failure.is_some_and(Counterexample::is_deadlock);
        let layout = StepsLayout {
            focus: focus(replay, failure),
            failed: failure.filter(|_| !deadlock).and_then(|failure| failed(replay, failure)),
            full: self.options.full_trace,
            width: self.options.width,
            paint: self.paint(),
            wording: self.wording,
        };
        let mut text = if replay.steps.is_empty() {
            "  no step was taken\n".to_owned()
        } else {
            interleaving(replay, &layout)
        };
        let livelock = failure.is_some_and(|failure| failure.failure.kind == FailureKind::Livelock);
        if deadlock || livelock || failure.is_none() {
            text += &self.waiting_text(replay);
        }
        text
    }

    fn waiting_text(&self, replay: &Replay) -> String {
        let waiting = &replay.waiting;
        if waiting.is_empty() {
            return String::new();
        }
        let mut text = format!("\n{}\n", self.paint().paint(Tone::Heading, "waiting:"));
        // One line more would do for the last one as well.
        let short = !self.options.full_trace && waiting.len() > MOST_WAITING + 1;
        let (shown, left_out) = waiting.split_at(if short { MOST_WAITING } else { waiting.len() });
        let one_file = one_file(replay);
        let line = |wait: &Waiting| match &wait.place {
            None => String::new(),
            Some(place) if one_file => format!("line {}", place.line),
            Some(place) => line(place, one_file),
        };
        let rows: Vec<[String; 3]> = shown
            .iter()
            .map(|wait| [clean(&wait.name), line(wait), short_operation(&wait.operation)])
            .collect();
        let widest = |at: usize| rows.iter().map(|row| width(&row[at])).max().unwrap_or(0);
        let widths = [widest(0), widest(1), widest(2)];
        for (wait, row) in shown.iter().zip(&rows) {
            let padded: Vec<String> = row.iter().zip(widths).map(|(cell, width)| pad(cell, width)).collect();
            text += &format!("  {}  for {}\n", padded.join("  "), clean(&wait.waits_for));
        }
        if !left_out.is_empty() {
            let rest = format!("... {} more wait; {} shows them", left_out.len(), self.wording.full_trace);
            text += &format!("  {}\n", self.paint().paint(Tone::Faint, &rest));
        }
        for circle in cycles(waiting) {
            text +=
                &format!("{} {}\n", self.paint().paint(Tone::Heading, "cycle:"), self.circle_text(&circle));
        }
        text
    }

    fn circle_text(&self, circle: &[&str]) -> String {
        let mut names: Vec<String> = circle.iter().chain(circle.first()).map(|name| clean(name)).collect();
        if !self.options.full_trace && circle.len() > MOST_OF_CIRCLE + 1 {
            let left_out = circle.len() - MOST_OF_CIRCLE;
            names.splice(MOST_OF_CIRCLE..circle.len(), [format!("({left_out} more)")]);
        }
        names.join(" -> ")
    }
}

fn how_often(executions: u64, varies: bool) -> String {
    match executions {
        0 | 1 => "seen in one execution".to_owned(),
        many if varies => format!("seen in {many} executions, in some with other values; this is the first"),
        many => format!("seen in {many} executions; this is the first"),
    }
}

/// Kind and message of a failure: what to emphasise, and the rest.
pub(crate) fn headline(failure: &Failure) -> (String, String) {
    let kind = failure.kind.name();
    let message = clean(&failure.message);
    match message.strip_prefix(kind) {
        // "assertion failed: x == 1" says its kind itself.
        Some(rest) => (kind.to_owned(), rest.to_owned()),
        None => (format!("{kind}:"), format!(" {message}")),
    }
}

/// The step that failed.
fn failed<'a>(replay: &Replay, failure: &'a Counterexample) -> Option<Failed<'a>> {
    let process = failure.process.as_deref();
    let (step, own) = replay.failing_step(process, replay.steps.len())?;
    Some(Failed { step, who: process.filter(|_| !own), place: failure.failure.place.as_ref() })
}

/// The processes that matter most: the one that failed, or those that wait.
fn focus<'a>(replay: &'a Replay, failure: Option<&Counterexample>) -> Vec<&'a str> {
    match failure {
        Some(failure) if !failure.is_deadlock() => {
            let last = replay.steps.last().map(|step| step.process.as_str());
            let named = replay.steps.iter().find(|step| Some(&step.name) == failure.process.as_ref());
            named.map(|step| step.process.as_str()).or(last).into_iter().collect()
        }
        _ => replay.waiting.iter().map(|wait| wait.process.as_str()).collect(),
    }
}

/// So many processes that wait are told of one by one, unless everything is asked for,
const MOST_WAITING: usize = 20;
/// and so many of a circle.
const MOST_OF_CIRCLE: usize = 8;
