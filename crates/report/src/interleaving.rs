//! The steps of a replay as a table with one column a process, or as a list where that is too wide.

use std::collections::BTreeMap;

use mazurka_program::{Observed, Place};

use crate::layout::{Column, Grid, Row};
use crate::replay::{Replay, ReplayStep};
use crate::style::{Paint, clean, short_operation, width};
use crate::wording::Wording;

/// A replay with no more steps than this is shown in full.
const LONG: usize = 60;
/// Of a longer one: so many of the first steps,
const HEAD: usize = 12;
/// so many of the last,
const TAIL: usize = 24;
/// and between them so many of the last steps of the processes that matter, and of those that they read from.
const MIDDLE: usize = 20;
/// A column of a process is not narrowed below this.
const NARROW: usize = 16;
/// A word in such a column is not broken unless it is longer than this.
const NARROW_WORD: usize = 24;
/// Nor is the operation in a list below this.
const NARROW_LIST: usize = 24;

/// So many values that one step read or wrote are told, unless everything is asked for.
const MOST_VALUES: usize = 16;

/// What of a replay to show, and how.
pub(crate) struct StepsLayout<'a> {
    /// The processes that matter most, as paths.
    pub focus: Vec<&'a str>,
    /// The step that failed, if one did.
    pub failed: Option<Failed<'a>>,
    /// Whether nothing may be left out.
    pub full: bool,
    /// How many columns there are.
    pub width: usize,
    /// Colours.
    pub paint: Paint,
    /// What readers call things.
    pub wording: &'a Wording,
}

/// A step that failed, or whose process did before it came to another one.
#[derive(Clone, Copy)]
pub(crate) struct Failed<'a> {
    /// Its position.
    pub step: usize,
    /// Who failed, if it was another process.
    pub who: Option<&'a str>,
    /// Where it failed.
    pub place: Option<&'a Place>,
}

/// The steps of a replay, as text.
pub(crate) fn interleaving(replay: &Replay, layout: &StepsLayout<'_>) -> String {
    let items = if layout.full { whole(replay.steps.len()) } else { selection(replay, layout) };
    let actors = actors(replay, &items);
    // With so many processes no table fits, and none need be tried.
    if actors.len() * NARROW < layout.width {
        let table = table(replay, &items, &actors, layout);
        if let Some(widths) = table.fit(layout.width) {
            return table.draw(&widths, layout.paint);
        }
    }
    let mut list = list(replay, &items, &actors, layout);
    let widths = list.fit(layout.width).unwrap_or_else(|| {
        list.break_remarks();
        list.fit(layout.width).unwrap_or_else(|| list.narrowest())
    });
    list.draw(&widths, layout.paint)
}

/// A stretch of steps: each shown, or all left out.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Item {
    Shown(usize),
    LeftOut(std::ops::Range<usize>),
    /// So many steps, here and there, of the insides of libraries.
    Internal(usize),
}

fn whole(steps: usize) -> Vec<Item> {
    (0..steps).map(Item::Shown).collect()
}

/// All steps but those of the insides of libraries; of many only both ends, and what the processes that matter
/// did last and read.
fn selection(replay: &Replay, layout: &StepsLayout<'_>) -> Vec<Item> {
    let steps = &replay.steps;
    let failed = layout.failed.map(|failed| failed.step);
    let is_told = |&at: &usize| !steps[at].internal || failed == Some(at);
    let told: Vec<usize> = (0..steps.len()).filter(is_told).collect();
    let mut items = match told.len() <= LONG {
        true => told.iter().copied().map(Item::Shown).collect(),
        false => ends_and_reads(replay, &told, &layout.focus),
    };
    if told.len() < steps.len() {
        items.push(Item::Internal(steps.len() - told.len()));
    }
    items
}

/// Of steps that are too many: both ends, and what the processes that matter did last and read.
fn ends_and_reads(replay: &Replay, told: &[usize], focus: &[&str]) -> Vec<Item> {
    let steps = &replay.steps;
    let (head, tail) = (told[HEAD], told[told.len() - TAIL]);
    let mut keep: Vec<bool> = (0..steps.len()).map(|at| at < head || at >= tail).collect();
    let mut room = MIDDLE;
    for at in (head..steps.len()).rev() {
        if !focus.contains(&steps[at].process.as_str()) {
            continue;
        }
        let sources = steps[at].reads.iter().filter_map(|read| read.source);
        for wanted in sources.chain([at]) {
            if room > 0 && wanted < keep.len() && !keep[wanted] {
                keep[wanted] = true;
                room -= 1;
            }
        }
    }
    let mut items = with_gaps(&keep);
    items.retain(|item| !matches!(item, Item::Shown(at) if told.binary_search(at).is_err()));
    items
}

fn with_gaps(keep: &[bool]) -> Vec<Item> {
    let mut items = Vec::new();
    let mut at = 0;
    for stretch in keep.chunk_by(|a, b| a == b) {
        let range = at..at + stretch.len();
        at = range.end;
        // A gap takes a line as well, so one step is rather shown.
        if stretch[0] || range.len() == 1 {
            items.extend(range.map(Item::Shown));
        } else {
            items.push(Item::LeftOut(range));
        }
    }
    items
}

/// A process that takes a step which is shown.
struct Actor {
    title: String,
    longest_word: usize,
}

/// Such processes by their paths, in the order of the creation tree.
fn actors(replay: &Replay, items: &[Item]) -> BTreeMap<Vec<u32>, Actor> {
    let steps = items.iter().filter_map(|item| match item {
        Item::Shown(at) => Some(&replay.steps[*at]),
        Item::LeftOut(_) | Item::Internal(_) => None,
    });
    let mut longest_words: BTreeMap<Vec<u32>, usize> = BTreeMap::new();
    for step in steps.clone() {
        let longest = longest_words.entry(path(&step.process)).or_default();
        let words = short_operation(&step.operation);
        *longest = words.split(' ').map(width).fold(*longest, usize::max);
    }
    let titles = titles(steps.map(|step| (step.process.as_str(), step.name.as_str())));
    titles
        .into_iter()
        .map(|(path, title)| {
            let longest_word = longest_words[&path];
            (path, Actor { title, longest_word })
        })
        .collect()
}

/// The titles of processes by their paths, in the order of the creation tree. Where two have the same name,
/// their paths tell them apart.
pub(crate) fn titles<'a>(processes: impl Iterator<Item = (&'a str, &'a str)>) -> BTreeMap<Vec<u32>, String> {
    let mut titles: BTreeMap<Vec<u32>, String> = BTreeMap::new();
    let mut named: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (process, name) in processes {
        titles.entry(path(process)).or_insert_with(|| {
            named.entry(clean(name)).or_default().push(process);
            clean(name)
        });
    }
    for (name, processes) in named.iter().filter(|(_, processes)| processes.len() > 1) {
        for process in processes {
            titles.insert(path(process), format!("{name} ({process})"));
        }
    }
    titles
}

fn table(
    replay: &Replay,
    items: &[Item],
    actors: &BTreeMap<Vec<u32>, Actor>,
    layout: &StepsLayout<'_>,
) -> Grid {
    let column = |actor: &Actor| Column {
        heading: actor.title.clone(),
        narrowest: NARROW.max(width(&actor.title)).max(actor.longest_word.min(NARROW_WORD)),
    };
    let columns = actors.values().map(column).collect();
    let paths: Vec<&Vec<u32>> = actors.keys().collect();
    let cells = |step: &ReplayStep| {
        let column = paths.binary_search(&&path(&step.process)).unwrap_or(0);
        vec![(column, short_operation(&step.operation))]
    };
    grid(replay, items, layout, columns, cells)
}

fn list(
    replay: &Replay,
    items: &[Item],
    actors: &BTreeMap<Vec<u32>, Actor>,
    layout: &StepsLayout<'_>,
) -> Grid {
    let widest = actors.values().map(|actor| width(&actor.title)).max().unwrap_or(0);
    let process = layout.wording.process;
    let columns = vec![
        Column { heading: process.to_owned(), narrowest: widest.max(process.len()) },
        Column { heading: "operation".to_owned(), narrowest: NARROW_LIST },
    ];
    let cells = |step: &ReplayStep| {
        vec![(0, actors[&path(&step.process)].title.clone()), (1, short_operation(&step.operation))]
    };
    grid(replay, items, layout, columns, cells)
}

fn grid(
    replay: &Replay,
    items: &[Item],
    layout: &StepsLayout<'_>,
    columns: Vec<Column>,
    cells: impl Fn(&ReplayStep) -> Vec<(usize, String)>,
) -> Grid {
    let one_file = one_file(replay);
    let files = Files::of(replay);
    let full_trace = layout.wording.full_trace;
    let row = |item: &Item| match item {
        Item::Internal(steps) => {
            let steps = if *steps == 1 { "1 step".to_owned() } else { format!("{steps} steps") };
            Row::Gap(format!("{steps} within libraries left out; {full_trace} shows them"))
        }
        Item::LeftOut(range) => Row::Gap(format!("{} steps left out; {full_trace} shows them", range.len())),
        Item::Shown(at) => {
            let step = &replay.steps[*at];
            let failed = layout.failed.filter(|failed| failed.step == *at);
            Row::Step {
                number: at + 1,
                line: step.place.as_ref().map_or(String::new(), |place| match one_file {
                    true => line(place, true),
                    false => files.short(place),
                }),
                cells: cells(step),
                remarks: remarks(step, failed, &files, layout),
                marked: failed.is_some(),
            }
        }
    };
    let line_heading = if one_file { "line" } else { "place" };
    let mut rows: Vec<Row> = items.iter().map(row).collect();
    if !one_file {
        rows.extend(files.whole().map(Row::Gap));
    }
    Grid { line_heading, columns, rows }
}

/// The files of a replay by their names alone, where these tell them apart; what is left out is told once.
struct Files<'a> {
    /// By the whole path.
    names: BTreeMap<&'a str, &'a str>,
}

impl<'a> Files<'a> {
    fn of(replay: &'a Replay) -> Files<'a> {
        let places = replay.steps.iter().filter_map(|step| step.place.as_ref());
        let name = |file: &'a str| file.rsplit('/').next().unwrap_or(file);
        let mut names: BTreeMap<&str, &str> = places.map(|place| (&*place.file, name(&place.file))).collect();
        let mut by_name: BTreeMap<&str, usize> = BTreeMap::new();
        names.values().for_each(|name| *by_name.entry(name).or_default() += 1);
        for (file, name) in &mut names {
            if by_name[name] > 1 {
                *name = file;
            }
        }
        Files { names }
    }

    fn short(&self, place: &Place) -> String {
        let name = self.names.get(place.file.as_str()).copied().unwrap_or(&place.file);
        format!("{}:{}", clean(name), place.line)
    }

    /// What the names that are short stand for.
    fn whole(&self) -> impl Iterator<Item = String> {
        let shortened = self.names.iter().filter(|(file, name)| file != name);
        shortened.map(|(file, name)| format!("{} is {}", clean(name), clean(file)))
    }
}

/// The path in the creation tree that a text names.
pub(crate) fn path(text: &str) -> Vec<u32> {
    text.split('.').filter_map(|ordinal| ordinal.parse().ok()).collect()
}

/// Whether all that a replay has is in one file, so that lines are enough.
pub(crate) fn one_file(replay: &Replay) -> bool {
    let steps = replay.steps.iter().filter_map(|step| step.place.as_ref());
    let waiting = replay.waiting.iter().filter_map(|wait| wait.place.as_ref());
    let mut files = steps.chain(waiting).map(|place| &place.file);
    let first = files.next();
    files.all(|file| Some(file) == first)
}

/// A place, short.
pub(crate) fn line(place: &Place, one_file: bool) -> String {
    if one_file { place.line.to_string() } else { format!("{}:{}", clean(&place.file), place.line) }
}

/// What a step read, with where that came from, what it wrote, what else there is to say, and where its
/// process failed afterwards, before it came to another step.
fn remarks(
    step: &ReplayStep,
    failed: Option<Failed<'_>>,
    files: &Files<'_>,
    layout: &StepsLayout<'_>,
) -> Vec<String> {
    let reads = step.reads.iter().map(read_text);
    let writes = step.writes.iter().map(value);
    let note = step.note.as_deref().map(clean).unwrap_or_default();
    let note: Vec<String> = note.split_inclusive("; ").map(|part| part.trim_end().to_owned()).collect();
    let failed = failed.and_then(|Failed { who, place, .. }| {
        let (who, place) = (who.map_or(String::new(), |who| format!("{} ", clean(who))), place?);
        match &step.place {
            Some(own) if own.file == place.file && own.line == place.line => None,
            Some(own) if own.file != place.file => Some(format!("{who}fails at {}", files.short(place))),
            _ => Some(format!("{who}fails in line {}", place.line)),
        }
    });
    let mut groups = vec![
        enumeration("reads", reads.collect(), layout),
        enumeration("writes", writes.collect(), layout),
        note,
        failed.into_iter().collect(),
    ];
    groups.retain(|group| !group.is_empty());
    let last = groups.len().saturating_sub(1);
    for group in groups.iter_mut().take(last) {
        group.last_mut().into_iter().for_each(|remark| remark.push(';'));
    }
    groups.concat()
}

fn enumeration(verb: &str, mut values: Vec<String>, layout: &StepsLayout<'_>) -> Vec<String> {
    if !layout.full && values.len() > MOST_VALUES + 1 {
        let more = values.len() - MOST_VALUES;
        values.truncate(MOST_VALUES);
        values.push(format!("and {more} more ({} shows them)", layout.wording.full_trace));
    }
    let last = values.len().saturating_sub(1);
    let item = |(at, value): (usize, String)| {
        let verb = if at == 0 { format!("{verb} ") } else { String::new() };
        format!("{verb}{value}{}", if at < last { "," } else { "" })
    };
    values.into_iter().enumerate().map(item).collect()
}

/// What was read, and from which step.
pub(crate) fn read_text(read: &Observed) -> String {
    match read.source {
        None => format!("{} (initial)", value(read)),
        Some(source) => format!("{} from step {}", value(read), source + 1),
    }
}

/// A value with the name of what holds it.
pub(crate) fn value(observed: &Observed) -> String {
    format!("{}={}", clean(&observed.name), clean(&observed.value))
}
