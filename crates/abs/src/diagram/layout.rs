//! Where everything is.
//!
//! Each segment has a stretch of height to itself, over the whole width: so no two labels meet, whatever the columns, and
//! an arrow crosses nothing but the lifelines of other objects.

use std::collections::HashMap;

use crate::machine::SegmentEnd;

use super::picture::{CHARACTER, LINE, Look, Picture, Shape, width_of};
use super::{Diagram, Effect, MAIN, Segment};

/// Of an execution with more segments than these two together, so many of the first are shown,
const HEAD: usize = 100;
/// and so many of the last.
const TAIL: usize = 200;
/// More objects than these share a column.
const MOST_COLUMNS: usize = 40;
/// So many calls and creations of one segment are shown.
const MOST_EFFECTS: usize = 12;
/// So many tasks that wait in the end are shown.
const MOST_WAITING: usize = 40;
/// A sentence takes at most so many lines.
const MOST_LINES: usize = 12;
/// The characters of a column, at least and at most.
const COLUMN: (usize, usize) = (14, 38);
/// The least width, so that there is room for the words above the columns.
const NARROWEST: i32 = 760;
/// The most characters before the columns.
const GUTTER: usize = 22;

const MARGIN: i32 = 12;
/// Between columns, and between segments.
const GAP: (i32, i32) = (30, 8);
/// From the edge of a box to the text in it.
const INSET: i32 = 5;

const OTHERS: &str = "other objects";

struct Column {
    name: String,
    characters: usize,
    x: i32,
    /// Where its object was created, as far as that is shown.
    begins: i32,
}

impl Column {
    fn width(&self) -> i32 {
        self.characters as i32 * CHARACTER + 2 * INSET
    }

    fn middle(&self) -> i32 {
        self.x + self.width() / 2
    }
}

struct Layout<'a> {
    diagram: &'a Diagram,
    columns: Vec<Column>,
    numbers: HashMap<&'a str, usize>,
    picture: Picture,
    y: i32,
}

/// Gives everything its place.
pub fn layout(diagram: &Diagram) -> Picture {
    let mut layout = Layout {
        diagram,
        columns: Vec::new(),
        numbers: HashMap::new(),
        picture: Picture::default(),
        y: MARGIN,
    };
    layout.make_columns();
    layout.head();
    let top = layout.y;
    layout.headings();
    layout.segments();
    layout.waiting();
    layout.headings();
    layout.lifelines(top + LINE);
    layout.foot();
    layout.picture
}

impl<'a> Layout<'a> {
    fn shown(&self) -> impl Iterator<Item = (usize, &'a Segment)> + use<'a> {
        let all = self.diagram.segments.len();
        let (head, tail) = if all > HEAD + TAIL { (HEAD, all - TAIL) } else { (all, all) };
        let numbered = self.diagram.segments.iter().enumerate();
        numbered.filter(move |(at, _)| *at < head || *at >= tail)
    }

    /// A column for each object, in the order in which they are met; the last is for all others.
    fn make_columns(&mut self) {
        self.column_of(MAIN);
        for (_, segment) in self.shown() {
            self.widen(&segment.object, &title(segment));
            self.widen(&segment.object, &segment.end_text);
            for effect in segment.effects.iter().take(MOST_EFFECTS) {
                self.widen(&segment.object, &effect.text);
                if let Some(object) = &effect.object {
                    self.column_of(object);
                }
            }
        }
        for wait in self.diagram.deadlocked.iter().take(MOST_WAITING) {
            self.widen(&wait.object, &format!("{} waits for", wait.task));
            self.widen(&wait.object, &wait.waits_for);
        }
        let mut x = MARGIN + self.gutter() as i32 * CHARACTER + MARGIN;
        for column in &mut self.columns {
            column.x = x;
            x += column.width() + GAP.0;
        }
        self.picture.width = (x - GAP.0 + MARGIN + 10).max(NARROWEST);
    }

    fn gutter(&self) -> usize {
        let widths = self.shown().map(|(at, segment)| width_of(&when(at, segment)));
        widths.max().unwrap_or(0).clamp(4, GUTTER)
    }

    fn column_of(&mut self, object: &'a str) -> usize {
        if let Some(&known) = self.numbers.get(object) {
            return known;
        }
        let at = self.columns.len().min(MOST_COLUMNS);
        self.numbers.insert(object, at);
        if at == self.columns.len() {
            let name = if at == MOST_COLUMNS { OTHERS } else { object };
            let characters = width_of(name).clamp(COLUMN.0, COLUMN.1);
            self.columns.push(Column { name: name.to_owned(), characters, x: 0, begins: 0 });
        }
        at
    }

    fn widen(&mut self, object: &'a str, text: &str) {
        let at = self.column_of(object);
        let column = &mut self.columns[at];
        column.characters = column.characters.max(width_of(text).min(COLUMN.1));
    }

    /// How many characters of the whole width a text may take.
    fn whole_line(&self) -> usize {
        ((self.picture.width - 2 * MARGIN) / CHARACTER) as usize
    }

    fn line(&mut self, text: &str, look: Look) {
        let most = self.whole_line();
        self.picture.text(MARGIN, self.y, text, most, look);
        self.y += LINE;
    }

    /// What the picture shows, and what it does not.
    fn head(&mut self) {
        let (segments, tasks) = (self.diagram.segments.len(), self.diagram.deadlocked.len());
        let objects = self.numbers.len().saturating_sub(1);
        self.line(
            &format!("{} of {}", counted(segments, "segment"), counted(objects, "object")),
            Look::Heading,
        );
        let shown = self.shown().count();
        if shown < segments {
            let note = format!(
                "only the first {HEAD} and the last {TAIL} segments are shown: {} are left out",
                segments - shown
            );
            self.line(&note, Look::Deadlock);
        }
        if self.numbers.len() > MOST_COLUMNS {
            let note = format!("the first {} objects have columns, all others share one", MOST_COLUMNS - 1);
            self.line(&note, Look::Deadlock);
        }
        if tasks > 0 {
            self.line(&format!("deadlock: {}", for_ever(tasks)), Look::Deadlock);
        }
        let mut x = MARGIN;
        for (text, look) in [
            ("return", Look::Return),
            ("await", Look::Await),
            ("blocked for", Look::Blocked),
            ("throws", Look::Exception),
        ] {
            let width = width_of(text) as i32 * CHARACTER + 2 * INSET;
            self.picture.shapes.push(Shape::Box { x, y: self.y, width, height: LINE, look });
            self.picture.text(x + INSET, self.y, text, usize::MAX, look);
            x += width + 10;
        }
        let note = "arrows: calls; dashed: new objects; framed red: waits for ever";
        self.picture.text(x, self.y, note, usize::MAX, Look::Faint);
        self.y += 2 * LINE;
    }

    fn headings(&mut self) {
        for column in &self.columns {
            let (x, y, width, height) = (column.x, self.y, column.width(), LINE + 4);
            self.picture.shapes.push(Shape::Box { x, y, width, height, look: Look::Heading });
            self.picture.text(x + INSET, y + 2, &column.name, column.characters, Look::Heading);
        }
        self.y += LINE + 4 + 2 * GAP.1;
    }

    fn segments(&mut self) {
        let mut before = None;
        for (at, segment) in self.shown() {
            if let Some(left_out) = at.checked_sub(before.map_or(0, |before: usize| before + 1))
                && left_out > 0
            {
                self.line(&format!("... {left_out} segments are left out here ..."), Look::Deadlock);
                self.y += GAP.1;
            }
            before = Some(at);
            self.segment(at, segment);
        }
    }

    fn segment(&mut self, at: usize, segment: &'a Segment) {
        let column = self.column_of(&segment.object);
        let (x, width, characters) =
            (self.columns[column].x, self.columns[column].width(), self.columns[column].characters);
        let top = self.y;
        let effects = segment.effects.len().min(MOST_EFFECTS);
        let more = segment.effects.len() - effects;
        let lines = 2 + effects + usize::from(more > 0);
        let height = lines as i32 * LINE;
        let look = if segment.deadlocked { Look::Deadlock } else { Look::Plain };
        self.picture.text(MARGIN, top, &when(at, segment), GUTTER, Look::Faint);
        self.picture.shapes.push(Shape::Box { x, y: top, width, height, look });
        self.picture.text(x + INSET, top, &title(segment), characters, Look::Heading);
        self.y += LINE;
        for effect in &segment.effects[..effects] {
            self.effect(column, effect);
        }
        if more > 0 {
            let text = format!("... and {more} more");
            self.picture.text(x + INSET, self.y, &text, characters, Look::Faint);
            self.y += LINE;
        }
        let look = look_of(&segment.end);
        let inner = Shape::Box { x: x + 2, y: self.y, width: width - 4, height: LINE - 2, look };
        if look != Look::Plain {
            self.picture.shapes.push(inner);
        }
        self.picture.text(x + INSET, self.y, &segment.end_text, characters, look);
        self.y = top + height + GAP.1;
    }

    /// A line in the box of a segment, and an arrow.
    fn effect(&mut self, column: usize, effect: &'a Effect) {
        let (x, width) = (self.columns[column].x, self.columns[column].width());
        let y = self.y;
        self.picture.text(x + INSET, y, &effect.text, self.columns[column].characters, Look::Plain);
        self.y += LINE;
        let Some(object) = &effect.object else { return };
        let target = self.column_of(object);
        let (middle, look) = (y + LINE / 2, if effect.creates { Look::Creation } else { Look::Arrow });
        if effect.creates && self.columns[target].begins == 0 {
            self.columns[target].begins = middle;
        }
        let to = self.columns[target].middle();
        self.picture.shapes.push(match target.cmp(&column) {
            std::cmp::Ordering::Equal => Shape::Hook { x: x + width, y: middle },
            std::cmp::Ordering::Greater => Shape::Arrow { from: (x + width, middle), to, look },
            std::cmp::Ordering::Less => Shape::Arrow { from: (x, middle), to, look },
        });
    }

    /// The tasks that wait in the end, in the columns of their objects, beneath each other.
    fn waiting(&mut self) {
        if self.diagram.deadlocked.is_empty() {
            return;
        }
        self.line("waiting for ever:", Look::Deadlock);
        let mut free = vec![self.y; self.columns.len()];
        for wait in self.diagram.deadlocked.iter().take(MOST_WAITING) {
            let at = self.column_of(&wait.object);
            let (x, width, characters) =
                (self.columns[at].x, self.columns[at].width(), self.columns[at].characters);
            let mut y = free[at];
            let lines = wrapped(&wait.waits_for, characters);
            let height = (lines.len() as i32 + 1) * LINE;
            self.picture.shapes.push(Shape::Box { x, y, width, height, look: Look::Deadlock });
            free[at] = y + height + GAP.1;
            let who = format!("{} waits for", wait.task);
            self.picture.text(x + INSET, y, &who, characters, Look::Deadlock);
            for line in lines {
                y += LINE;
                self.picture.text(x + INSET, y, &line, characters, Look::Blocked);
            }
        }
        self.y = free.into_iter().max().unwrap_or(self.y);
        if let Some(more) = self.diagram.deadlocked.len().checked_sub(MOST_WAITING).filter(|&more| more > 0) {
            self.line(&format!("... and {more} more tasks"), Look::Deadlock);
        }
        self.y += GAP.1;
    }

    /// Behind everything else.
    fn lifelines(&mut self, top: i32) {
        let bottom = self.y - LINE - 2 * GAP.1;
        let lines = self.columns.iter().map(|column| Shape::Line {
            from: (column.middle(), column.begins.max(top)),
            to: (column.middle(), bottom),
            look: Look::Lifeline,
        });
        let lines: Vec<Shape> = lines.collect();
        self.picture.shapes.splice(0..0, lines);
    }

    /// What went wrong.
    fn foot(&mut self) {
        let most = self.whole_line();
        for failure in &self.diagram.failures {
            for line in wrapped(failure, most) {
                self.line(&line, Look::Deadlock);
            }
        }
        self.picture.height = self.y + MARGIN;
    }
}

fn look_of(end: &SegmentEnd) -> Look {
    match end {
        SegmentEnd::Returned(_) => Look::Return,
        SegmentEnd::Threw(_) => Look::Exception,
        SegmentEnd::Awaits(_) | SegmentEnd::Suspended => Look::Await,
        SegmentEnd::Blocked(_) => Look::Blocked,
        SegmentEnd::Chooses(_) | SegmentEnd::Drew(_) | SegmentEnd::Noticed => Look::Plain,
    }
}

fn title(segment: &Segment) -> String {
    if segment.resumes { format!("{} goes on", segment.task) } else { segment.task.clone() }
}

/// When, and where in the source.
fn when(at: usize, segment: &Segment) -> String {
    match &segment.place {
        Some(place) => format!("{}  line {}", at + 1, place.line),
        None => (at + 1).to_string(),
    }
}

fn for_ever(tasks: usize) -> String {
    if tasks == 1 { "1 task waits for ever".to_owned() } else { format!("{tasks} tasks wait for ever") }
}

fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// Lines of at most so many characters, broken between words.
fn wrapped(text: &str, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if width_of(line) + 1 + width_of(word) <= most => *line += &format!(" {word}"),
            _ => lines.push(word.to_owned()),
        }
    }
    lines.truncate(MOST_LINES);
    lines
}
