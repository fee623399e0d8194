//! A story as a table with one column a process, or as a list where that is too wide.

use std::collections::BTreeMap;

use mazurka_program::{Observed, Place};

use crate::layout::{Column, Grid, Row};
use crate::replay::{Story, StoryStep};
use crate::style::{Paint, clean, width};

/// A story with no more steps than this is told in full.
const LONG: usize = 60;
/// Of a longer one: so many of the first steps,
const HEAD: usize = 12;
/// so many of the last,
const TAIL: usize = 24;
/// and between them so many of the last steps of the processes that matter, and of those that they read from.
const MIDDLE: usize = 20;
/// A column of a process is not narrowed below this.
const NARROW: usize = 16;
/// Nor is the operation in a list below this.
const NARROW_LIST: usize = 24;

/// What of a story to show, and how.
pub(crate) struct Telling<'a> {
    /// The processes that matter most, as paths.
    pub focus: Vec<&'a str>,
    /// Whether the last step is where it went wrong.
    pub mark_last: bool,
    /// Whether nothing may be left out.
    pub full: bool,
    /// How many columns there are.
    pub width: usize,
    /// Colours.
    pub paint: Paint,
}

/// The steps of a story, as text.
pub(crate) fn interleaving(story: &Story, telling: &Telling<'_>) -> String {
    let items = if telling.full { whole(story.steps.len()) } else { selection(story, &telling.focus) };
    let table = table(story, &items, telling.mark_last);
    if let Some(widths) = table.fit(telling.width) {
        return table.draw(&widths, telling.paint);
    }
    let list = list(story, &items, telling.mark_last);
    let widths = list.fit(telling.width).unwrap_or_else(|| list.narrowest());
    list.draw(&widths, telling.paint)
}

/// A stretch of steps: each shown, or all left out.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Item {
    Shown(usize),
    LeftOut(std::ops::Range<usize>),
}

fn whole(steps: usize) -> Vec<Item> {
    (0..steps).map(Item::Shown).collect()
}

/// Both ends, and what the processes that matter did last and read.
fn selection(story: &Story, focus: &[&str]) -> Vec<Item> {
    let steps = &story.steps;
    if steps.len() <= LONG {
        return whole(steps.len());
    }
    let (head, tail) = (HEAD, steps.len() - TAIL);
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
    with_gaps(&keep)
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

fn table(story: &Story, items: &[Item], mark_last: bool) -> Grid {
    let titles = titles(story, items);
    let columns = titles
        .values()
        .map(|heading| Column { heading: heading.clone(), narrowest: NARROW.max(width(heading)) })
        .collect();
    let paths: Vec<&Vec<u32>> = titles.keys().collect();
    let cells = |step: &StoryStep| {
        let column = paths.binary_search(&&path(&step.process)).unwrap_or(0);
        vec![(column, clean(&step.operation))]
    };
    grid(story, items, mark_last, columns, cells)
}

fn list(story: &Story, items: &[Item], mark_last: bool) -> Grid {
    let titles = titles(story, items);
    let widest = titles.values().map(|title| width(title)).max().unwrap_or(0);
    let columns = vec![
        Column { heading: "process".to_owned(), narrowest: widest.max("process".len()) },
        Column { heading: "operation".to_owned(), narrowest: NARROW_LIST },
    ];
    let cells =
        |step: &StoryStep| vec![(0, titles[&path(&step.process)].clone()), (1, clean(&step.operation))];
    grid(story, items, mark_last, columns, cells)
}

fn grid(
    story: &Story,
    items: &[Item],
    mark_last: bool,
    columns: Vec<Column>,
    cells: impl Fn(&StoryStep) -> Vec<(usize, String)>,
) -> Grid {
    let one_file = same_file(story);
    let row = |item: &Item| match item {
        Item::LeftOut(range) => Row::Gap(format!("{} steps left out; --full-trace shows them", range.len())),
        Item::Shown(at) => {
            let step = &story.steps[*at];
            Row::Step {
                number: at + 1,
                line: step.place.as_ref().map_or(String::new(), |place| line(place, one_file)),
                cells: cells(step),
                remarks: remarks(step),
                marked: mark_last && at + 1 == story.steps.len(),
            }
        }
    };
    let line_heading = if one_file { "line" } else { "place" };
    Grid { line_heading, columns, rows: items.iter().map(row).collect() }
}

/// The processes that take a step which is shown, in the order of the creation tree. Where two have the same name,
/// their paths tell them apart.
fn titles(story: &Story, items: &[Item]) -> BTreeMap<Vec<u32>, String> {
    let mut titles = BTreeMap::new();
    for item in items {
        if let Item::Shown(at) = item {
            let step = &story.steps[*at];
            titles.entry(path(&step.process)).or_insert_with(|| (&step.process, clean(&step.name)));
        }
    }
    let twice = |name: &str| titles.values().filter(|(_, other)| other == name).count() > 1;
    let title = |(process, name): &(&String, String)| {
        if twice(name) { format!("{name} ({process})") } else { name.clone() }
    };
    titles.iter().map(|(path, process)| (path.clone(), title(process))).collect()
}

fn path(text: &str) -> Vec<u32> {
    text.split('.').filter_map(|ordinal| ordinal.parse().ok()).collect()
}

fn same_file(story: &Story) -> bool {
    let mut files = story.steps.iter().filter_map(|step| step.place.as_ref()).map(|place| &place.file);
    let first = files.next();
    files.all(|file| Some(file) == first)
}

fn line(place: &Place, one_file: bool) -> String {
    if one_file { place.line.to_string() } else { format!("{}:{}", clean(&place.file), place.line) }
}

/// What a step read, with where that came from, what it wrote, and what else there is to say.
fn remarks(step: &StoryStep) -> Vec<String> {
    let reads = step.reads.iter().map(|read| match read.source {
        None => format!("{} (initial)", value(read)),
        Some(source) => format!("{} from step {}", value(read), source + 1),
    });
    let writes = step.writes.iter().map(value);
    let mut groups = [enumeration("reads", reads.collect()), enumeration("writes", writes.collect())];
    if !groups[0].is_empty()
        && (!groups[1].is_empty() || step.note.is_some())
        && let Some(last) = groups[0].last_mut()
    {
        last.push(';');
    }
    if step.note.is_some()
        && let Some(last) = groups[1].last_mut()
    {
        last.push(';');
    }
    groups.into_iter().flatten().chain(step.note.as_deref().map(clean)).collect()
}

fn enumeration(verb: &str, values: Vec<String>) -> Vec<String> {
    let last = values.len().saturating_sub(1);
    let item = |(at, value): (usize, String)| {
        let verb = if at == 0 { format!("{verb} ") } else { String::new() };
        format!("{verb}{value}{}", if at < last { "," } else { "" })
    };
    values.into_iter().enumerate().map(item).collect()
}

fn value(observed: &Observed) -> String {
    format!("{}={}", clean(&observed.name), clean(&observed.value))
}
