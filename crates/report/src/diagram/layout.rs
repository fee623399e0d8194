//! Where everything is.
//!
//! Each step has a stretch of height to itself, over the whole width: so no two labels meet, whatever the
//! columns, and an arrow of a message crosses nothing but lifelines. Arrows between steps go behind the
//! boxes.

use std::cmp::Ordering;
use std::collections::HashMap;

use mazurka_program::{ActivationEnd, Message};

use super::svg::{CHARACTER, LINE, Look, Picture, Shape, width_of};
use super::{Diagram, DrawnStep};
use crate::text::{counted, plural};

/// Of an execution with more steps than these two together, so many of the first are shown,
const HEAD: usize = 100;
/// and so many of the last.
const TAIL: usize = 200;
/// More lifelines than these share a column.
const MOST_COLUMNS: usize = 40;
/// So many messages of one step are shown.
const MOST_MESSAGES: usize = 12;
/// So many processes that wait in the end are shown.
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
/// Between columns, and between steps.
const GAP: (i32, i32) = (30, 8);
/// From the edge of a box to the text in it.
const INSET: i32 = 5;

struct Column {
    name: String,
    characters: usize,
    x: i32,
    /// Where its lifeline begins, as far as that is shown.
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
    /// The boxes of steps: column, top and bottom.
    boxes: HashMap<usize, (usize, i32, i32)>,
    y: i32,
}

/// Gives everything its place.
pub fn layout(diagram: &Diagram) -> Picture {
    let mut layout = Layout {
        diagram,
        columns: Vec::new(),
        numbers: HashMap::new(),
        picture: Picture::default(),
        boxes: HashMap::new(),
        y: MARGIN,
    };
    layout.make_columns();
    layout.head();
    let top = layout.y;
    layout.headings();
    layout.steps();
    layout.waiting();
    layout.headings();
    layout.order();
    layout.lifelines(top + LINE);
    layout.foot();
    layout.picture
}

impl<'a> Layout<'a> {
    fn shown(&self) -> impl Iterator<Item = (usize, &'a DrawnStep)> + use<'a> {
        let all = self.diagram.steps.len();
        let (head, tail) = if all > HEAD + TAIL { (HEAD, all - TAIL) } else { (all, all) };
        let numbered = self.diagram.steps.iter().enumerate();
        numbered.filter(move |(at, _)| *at < head || *at >= tail)
    }

    /// A column for each lifeline, in the order in which they are met; the last is for all others.
    fn make_columns(&mut self) {
        for lifeline in &self.diagram.lifelines {
            self.column_of(lifeline);
        }
        for (_, DrawnStep { activation, .. }) in self.shown() {
            self.widen(&activation.lifeline, &activation.title);
            if let Some((text, _)) = &activation.end {
                self.widen(&activation.lifeline, text);
            }
            for message in activation.messages.iter().take(MOST_MESSAGES) {
                self.widen(&activation.lifeline, &message.text);
                if let Some(lifeline) = &message.to {
                    self.column_of(lifeline);
                }
            }
        }
        for wait in self.diagram.waiting.iter().take(MOST_WAITING) {
            self.widen(&wait.lifeline, &format!("{} waits for", wait.process));
            self.widen(&wait.lifeline, &wait.waits_for);
        }
        let mut x = MARGIN + self.gutter() as i32 * CHARACTER + MARGIN;
        for column in &mut self.columns {
            column.x = x;
            x += column.width() + GAP.0;
        }
        self.picture.width = (x - GAP.0 + MARGIN + 10).max(NARROWEST);
    }

    fn gutter(&self) -> usize {
        let widths = self.shown().map(|(at, step)| width_of(&when(at, step)));
        widths.max().unwrap_or(0).clamp(4, GUTTER)
    }

    fn column_of(&mut self, lifeline: &'a str) -> usize {
        if let Some(&known) = self.numbers.get(lifeline) {
            return known;
        }
        let at = self.columns.len().min(MOST_COLUMNS);
        self.numbers.insert(lifeline, at);
        if at == self.columns.len() {
            let others = || format!("other {}", plural(self.diagram.words.lifeline));
            let name = if at == MOST_COLUMNS { others() } else { lifeline.to_owned() };
            let characters = width_of(&name).clamp(COLUMN.0, COLUMN.1);
            self.columns.push(Column { name, characters, x: 0, begins: 0 });
        }
        at
    }

    fn widen(&mut self, lifeline: &'a str, text: &str) {
        let at = self.column_of(lifeline);
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
        let Diagram { words, steps, waiting, .. } = self.diagram;
        let roots = usize::from(words.root.is_some());
        let lifelines = self.numbers.len().saturating_sub(roots) as u64;
        let heading =
            format!("{} of {}", counted(steps.len() as u64, words.step), counted(lifelines, words.lifeline));
        self.line(&heading, Look::Heading);
        let (shown, step, lifeline) = (self.shown().count(), plural(words.step), plural(words.lifeline));
        if shown < steps.len() {
            let left_out = steps.len() - shown;
            let note = format!(
                "only the first {HEAD} and the last {TAIL} {step} are shown: {left_out} are left out"
            );
            self.line(&note, Look::Deadlock);
        }
        if self.numbers.len() > MOST_COLUMNS {
            let own = MOST_COLUMNS - roots;
            self.line(
                &format!("the first {own} {lifeline} have columns, all others share one"),
                Look::Deadlock,
            );
        }
        if !waiting.is_empty() {
            let (who, wait) = (
                counted(waiting.len() as u64, words.process),
                if waiting.len() == 1 { "waits" } else { "wait" },
            );
            self.line(&format!("deadlock: {who} {wait} for ever"), Look::Deadlock);
        }
        let mut x = MARGIN;
        for (text, end) in words.ends {
            let (width, look) = (width_of(text) as i32 * CHARACTER + 2 * INSET, look_of(*end));
            self.picture.shapes.push(Shape::Box { x, y: self.y, width, height: LINE, look });
            self.picture.text(x + INSET, self.y, text, usize::MAX, look);
            x += width + 10;
        }
        self.picture.text(x, self.y, words.note, usize::MAX, Look::Faint);
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

    fn steps(&mut self) {
        let mut next = 0;
        for (at, step) in self.shown() {
            if at > next {
                let steps = plural(self.diagram.words.step);
                self.line(&format!("... {} {steps} are left out here ...", at - next), Look::Deadlock);
                self.y += GAP.1;
            }
            next = at + 1;
            self.step(at, step);
        }
    }

    fn step(&mut self, at: usize, step: &'a DrawnStep) {
        let activation = &step.activation;
        let number = self.column_of(&activation.lifeline);
        let Column { x, characters, .. } = self.columns[number];
        let (top, width) = (self.y, self.columns[number].width());
        let messages = activation.messages.len().min(MOST_MESSAGES);
        let more = activation.messages.len() - messages;
        let lines = 1 + messages + usize::from(more > 0) + usize::from(activation.end.is_some());
        let height = lines as i32 * LINE;
        let look = if step.marked { Look::Deadlock } else { Look::Plain };
        self.picture.text(MARGIN, top, &when(at, step), GUTTER, Look::Faint);
        self.picture.shapes.push(Shape::Box { x, y: top, width, height, look });
        self.picture.text(x + INSET, top, &activation.title, characters, Look::Heading);
        self.boxes.insert(at, (number, top, top + height));
        self.y += LINE;
        for message in &activation.messages[..messages] {
            self.message(number, message);
        }
        if more > 0 {
            let text = format!("... and {more} more");
            self.picture.text(x + INSET, self.y, &text, characters, Look::Faint);
            self.y += LINE;
        }
        if let Some((text, end)) = &activation.end {
            let look = look_of(*end);
            if look != Look::Plain {
                let (x, y, width, height) = (x + 2, self.y, width - 4, LINE - 2);
                self.picture.shapes.push(Shape::Box { x, y, width, height, look });
            }
            self.picture.text(x + INSET, self.y, text, characters, look);
        }
        self.y = top + height + GAP.1;
    }

    /// A line in the box of a step, and an arrow.
    fn message(&mut self, column: usize, message: &'a Message) {
        let (x, width) = (self.columns[column].x, self.columns[column].width());
        let y = self.y;
        self.picture.text(x + INSET, y, &message.text, self.columns[column].characters, Look::Plain);
        self.y += LINE;
        let Some(lifeline) = &message.to else { return };
        let target = self.column_of(lifeline);
        let (middle, look) = (y + LINE / 2, if message.creates { Look::Creation } else { Look::Arrow });
        if message.creates && self.columns[target].begins == 0 {
            self.columns[target].begins = middle;
        }
        let to = (self.columns[target].middle(), middle);
        self.picture.shapes.push(match target.cmp(&column) {
            Ordering::Equal => Shape::Hook { x: x + width, y: middle },
            Ordering::Greater => Shape::Arrow { from: (x + width, middle), to, look },
            Ordering::Less => Shape::Arrow { from: (x, middle), to, look },
        });
    }

    /// Those who wait in the end, in the columns of their lifelines, beneath each other.
    fn waiting(&mut self) {
        if self.diagram.waiting.is_empty() {
            return;
        }
        self.line("waiting for ever:", Look::Deadlock);
        let mut free = vec![self.y; self.columns.len()];
        for wait in self.diagram.waiting.iter().take(MOST_WAITING) {
            let at = self.column_of(&wait.lifeline);
            let Column { x, characters, .. } = self.columns[at];
            let width = self.columns[at].width();
            let mut y = free[at];
            let lines = wrapped(&wait.waits_for, characters);
            let height = (lines.len() as i32 + 1) * LINE;
            self.picture.shapes.push(Shape::Box { x, y, width, height, look: Look::Deadlock });
            free[at] = y + height + GAP.1;
            let who = format!("{} waits for", wait.process);
            self.picture.text(x + INSET, y, &who, characters, Look::Deadlock);
            for line in lines {
                y += LINE;
                self.picture.text(x + INSET, y, &line, characters, Look::Blocked);
            }
        }
        self.y = free.into_iter().max().unwrap_or(self.y);
        if let Some(more) = self.diagram.waiting.len().checked_sub(MOST_WAITING).filter(|&more| more > 0) {
            self.line(&format!("... and {more} more {}", plural(self.diagram.words.process)), Look::Deadlock);
        }
        self.y += GAP.1;
    }

    /// Arrows between steps, from side to side, behind everything but the lifelines.
    fn order(&mut self) {
        let arrows = self.diagram.order.iter().filter_map(|(first, second)| {
            let (&(from, top, bottom), &(to, y, _)) = (self.boxes.get(first)?, self.boxes.get(second)?);
            let (left, right) = (&self.columns[from.min(to)], &self.columns[from.max(to)]);
            let mut ends = (left.x + left.width(), right.x);
            if from > to {
                ends = (ends.1, ends.0);
            }
            Some(Shape::Arrow {
                from: (ends.0, (top + bottom) / 2),
                to: (ends.1, y + LINE / 2),
                look: Look::Arrow,
            })
        });
        let arrows: Vec<Shape> = arrows.collect();
        self.picture.shapes.splice(0..0, arrows);
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

fn look_of(end: ActivationEnd) -> Look {
    match end {
        ActivationEnd::Plain => Look::Plain,
        ActivationEnd::Returned => Look::Return,
        ActivationEnd::Waits => Look::Await,
        ActivationEnd::Blocked => Look::Blocked,
        ActivationEnd::Threw => Look::Exception,
    }
}

/// When, and where in the source.
fn when(at: usize, step: &DrawnStep) -> String {
    match &step.activation.place {
        Some(place) => format!("{}  line {}", at + 1, place.line),
        None => (at + 1).to_string(),
    }
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
