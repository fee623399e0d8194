//! The communication architecture of a program, for people: its processes, what they share, whether that
//! forms cycles, and what follows for `data-centric`. It is found by running the program.

mod svg;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::ops::ControlFlow;

use mazurka_explore::{Algorithm, Counts, Ending, Monitor, NotExhaustive, Options, explore};
use mazurka_program::{
    AccessKind, Explain, Location, Observed, ProcessId, Program, Run, Schedule, follow, settled,
};
use mazurka_trace::Trace;

use crate::collect::schedule_of;
use crate::style::clean;

/// At most so many executions are run again for the names of what they touch.
const MOST_NAMED: usize = 200;

/// Two processes and what they share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedLink {
    /// The places of the processes in [`Architecture::processes`].
    pub between: (usize, usize),
    /// What both use, one of them writing.
    pub locations: Vec<String>,
    /// Those of which what is read leaves the order of events open.
    pub free: Vec<String>,
    /// Whether one creates the other.
    pub creates: bool,
    /// Whether one waits for the end of the other, or the like.
    pub joins: bool,
}

/// An architecture with names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Architecture {
    /// The program.
    pub program: String,
    /// The processes, by their names.
    pub processes: Vec<String>,
    /// The edges.
    pub links: Vec<NamedLink>,
    /// Whether the graph of the paper has no cycle.
    pub acyclic: bool,
    /// Whether every cycle has at most two free edges.
    pub all_but_two: bool,
    /// The locations whose writes `data-centric` orders, since that is not so.
    pub ordered: Vec<String>,
    /// If cycles are reduced to a star, its root: all that the others do to these locations is ordered.
    pub root: Option<String>,
    /// How many executions were run.
    pub executions: u64,
    /// Why there may be more to be seen, if so.
    pub partial: Option<String>,
    /// What `data-centric` does not cover, if the program does it.
    pub uncovered: Option<String>,
}

/// What executions show.
#[derive(Default)]
struct Seen {
    graph: mazurka_explore::Architecture,
    /// Executions that touch what none before did, with what each step touches.
    telling: Vec<(Schedule, Vec<Touched>)>,
    touched: BTreeSet<Location>,
    processes: BTreeSet<ProcessId>,
}

/// Who took a step, what it read and what it wrote, in order.
struct Touched {
    process: ProcessId,
    reads: Vec<Location>,
    writes: Vec<Location>,
}

impl<R: Run> Monitor<R> for Seen {
    fn execution(&mut self, _: Ending, trace: &Trace, run: &R, _: &Counts) -> ControlFlow<()> {
        let mut new = false;
        for at in 0..trace.len() {
            self.graph.note(trace.process(at), trace.accesses(at), trace.spawned(at));
            self.graph.note_joins(trace.waited_for(at));
            new |= self.processes.insert(trace.process(at));
            let touched = trace.accesses(at).iter().flat_map(|access| access.locations());
            new = touched.fold(new, |new, location| self.touched.insert(location) || new);
        }
        if new && self.telling.len() < MOST_NAMED {
            self.telling
                .push((schedule_of(trace, run), (0..trace.len()).map(|at| touched(trace, at)).collect()));
        }
        ControlFlow::Continue(())
    }

    fn begin_again(&mut self) {
        *self = Seen { graph: mazurka_explore::Architecture::new(self.graph.reduction()), ..Seen::default() };
    }
}

fn touched(trace: &Trace, at: usize) -> Touched {
    let locations = |touches: fn(AccessKind) -> bool| {
        let accesses = trace.accesses(at).iter().filter(|access| touches(access.kind));
        accesses.flat_map(|access| access.locations()).take(64).collect()
    };
    Touched {
        process: trace.process(at),
        reads: locations(|kind| matches!(kind, AccessKind::Read | AccessKind::Update)),
        writes: locations(|kind| !kind.is_read()),
    }
}

impl Architecture {
    /// Runs a program, and finds what its processes share. `refused` says why `data-centric` can't have it,
    /// if so.
    pub fn of<P: Program<Run: Explain>>(
        program: &P,
        name: String,
        refused: Option<&str>,
        options: &Options,
    ) -> Architecture {
        let seen_by =
            || Seen { graph: mazurka_explore::Architecture::new(options.reduction), ..Seen::default() };
        let mut seen = seen_by();
        let (mut uncovered, mut found) = (refused.map(str::to_owned), None);
        if refused.is_none() {
            let summary = explore(program, Algorithm::DataCentric, options, &mut seen);
            match &summary.not_exhaustive {
                Some(NotExhaustive::Unsupported(why)) => uncovered = Some(why.clone()),
                _ => found = Some(summary),
            }
        }
        let summary = found.unwrap_or_else(|| {
            seen = seen_by();
            explore(program, Algorithm::Optimal, options, &mut seen)
        });
        let names = Names::of(program, &seen);
        let processes: Vec<ProcessId> = seen.graph.processes().collect();
        let place = |process: ProcessId| processes.iter().position(|&p| p == process).unwrap_or(0);
        let told = |locations: &[Location]| locations.iter().map(|&l| names.location(l)).collect::<Vec<_>>();
        let links = seen.graph.links().into_iter().map(|((a, b), link)| NamedLink {
            between: (place(a), place(b)),
            locations: told(&link.locations),
            free: told(&link.free),
            creates: link.creates,
            joins: link.joins,
        });
        Architecture {
            program: name,
            links: links.collect(),
            acyclic: seen.graph.is_acyclic(),
            all_but_two: seen.graph.is_all_but_two(),
            ordered: told(&seen.graph.ordered().collect::<Vec<_>>()),
            root: seen.graph.root().map(|root| names.process(root)),
            processes: processes.iter().map(|&process| names.process(process)).collect(),
            executions: summary.counts.executions(),
            partial: summary.not_exhaustive.map(|reason| reason.to_string()),
            uncovered,
        }
    }

    /// What it comes to, in a line: the kind of the graph, and what `data-centric` guarantees.
    pub fn verdict(&self) -> (&'static str, String) {
        let kind = match (self.acyclic, self.all_but_two) {
            (true, _) => "acyclic",
            (false, true) => "cyclic, and no cycle has more than two edges whose order is open",
            (false, false) => "cyclic",
        };
        if let Some(why) = &self.uncovered {
            return (kind, why.clone());
        }
        if self.all_but_two {
            return (kind, "data-centric completes each reads-from class once".to_owned());
        }
        let ordered = self.ordered.join(", ");
        let what = match &self.root {
            None => format!("the writes of {ordered}"),
            Some(root) => format!("what all but {root} do to {ordered}"),
        };
        let split = format!(
            "data-centric orders {what} too: it meets every reads-from class, and completes no Mazurkiewicz trace twice"
        );
        (kind, split)
    }

    /// The architecture as text.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let (kind, guarantee) = self.verdict();
        // Writing to a string does not fail.
        let _ = writeln!(text, "{}: {kind}", self.program);
        let _ = writeln!(text, "{guarantee}");
        let widest = self.processes.iter().map(|name| name.chars().count()).max().unwrap_or(0);
        let _ = writeln!(text, "\nprocesses: {}", self.processes.join(", "));
        for link in &self.links {
            let (a, b) = (&self.processes[link.between.0], &self.processes[link.between.1]);
            let _ = writeln!(text, "  {a:widest$} -- {b:widest$}  {}", link.words());
        }
        if self.links.iter().any(|link| !link.free.is_empty()) {
            let _ = writeln!(
                text,
                "\n*: several processes write it, so what is read leaves the order of some events open"
            );
        }
        let executions = match self.executions {
            1 => "1 execution".to_owned(),
            many => format!("{many} executions"),
        };
        let _ = match &self.partial {
            None => writeln!(text, "\nfound by running it: {executions}, and no more are needed"),
            Some(why) => writeln!(text, "\nfound by running it: {executions}; others may share more: {why}"),
        };
        text
    }

    /// The architecture as a picture.
    pub fn svg(&self) -> String {
        svg::draw(self)
    }
}

impl NamedLink {
    /// What the two share, in words.
    pub fn words(&self) -> String {
        let star = |name: &String| if self.free.contains(name) { format!("{name}*") } else { name.clone() };
        let mut words: Vec<String> = self.locations.iter().map(star).collect();
        words.extend(self.creates.then(|| "creates".to_owned()));
        words.extend(self.joins.then(|| "joins".to_owned()));
        words.join(", ")
    }
}

/// The names of processes and locations, as reports show them.
struct Names {
    processes: BTreeMap<ProcessId, String>,
    locations: BTreeMap<Location, String>,
}

impl Names {
    fn of<P: Program<Run: Explain>>(program: &P, seen: &Seen) -> Names {
        let mut names = Names { processes: BTreeMap::new(), locations: BTreeMap::new() };
        for (schedule, steps) in &seen.telling {
            names.learn(program, schedule, steps);
        }
        names
    }

    fn learn<P: Program<Run: Explain>>(&mut self, program: &P, schedule: &Schedule, steps: &[Touched]) {
        let told = settled(program, |run| {
            let mut told = Vec::new();
            // What can't be taken again is not told.
            let _ = follow(run, &schedule.steps, |run, process, choice| {
                told.push((run.process_name(process), run.step_explained(process, choice)?));
                Ok(())
            });
            told
        });
        for (step, (who, explained)) in steps.iter().zip(told) {
            self.processes.entry(step.process).or_insert(who);
            self.name(&step.reads, &explained.reads);
            self.name(&step.writes, &explained.writes);
        }
    }

    /// Things are told in the order in which they are touched. Where not all are told, none is taken for
    /// another.
    fn name(&mut self, locations: &[Location], told: &[Observed]) {
        if locations.len() == told.len() {
            for (location, observed) in locations.iter().zip(told) {
                self.locations.entry(*location).or_insert_with(|| observed.name.clone());
            }
        }
    }

    fn process(&self, process: ProcessId) -> String {
        self.processes.get(&process).map_or_else(|| format!("process {}", process.0), |name| clean(name))
    }

    fn location(&self, location: Location) -> String {
        self.locations.get(&location).map_or_else(|| format!("location {}", location.0), |name| clean(name))
    }
}
