//! A grid of text that fits a terminal.
//!
//! A grid has a number and a line in front, some columns, and remarks behind them. Where it is too wide,
//! first remarks go on to the next line, then columns are narrowed, each down to a bound of its own, and what
//! is in them goes on to the next line. Nothing is lost.

use crate::style::{Paint, Tone, fill, pad, width};

/// Space between columns.
const GAP: usize = 2;
/// Space before everything: an indent, and a mark for the row that matters.
const MARGIN: usize = 2;

/// A grid to be laid out.
#[derive(Default)]
pub(crate) struct Grid {
    /// The heading of the lines.
    pub line_heading: &'static str,
    /// The columns.
    pub columns: Vec<Column>,
    /// The rows.
    pub rows: Vec<Row>,
}

/// A column.
pub(crate) struct Column {
    /// What stands above it.
    pub heading: String,
    /// What it may be narrowed to, if it is wider.
    pub narrowest: usize,
}

/// A row.
pub(crate) enum Row {
    /// Something that happened.
    Step {
        /// Its number, from 1.
        number: usize,
        /// Where in the source.
        line: String,
        /// Texts, each with its column; in the order of columns.
        cells: Vec<(usize, String)>,
        /// Remarks, each of which stays on one line.
        remarks: Vec<String>,
        /// Whether it is the one that matters.
        marked: bool,
    },
    /// Something left out.
    Gap(String),
}

/// The widths of everything.
pub(crate) struct Widths {
    number: usize,
    line: usize,
    columns: Vec<usize>,
    remarks: usize,
}

impl Grid {
    /// The widths with which the grid takes at most so many columns of a terminal, if there are any.
    pub(crate) fn fit(&self, columns: usize) -> Option<Widths> {
        let mut widths = self.natural();
        if widths.total() <= columns {
            return Some(widths);
        }
        let whole = widths.columns.clone();
        let widest = whole.iter().copied().max().unwrap_or(0);
        let longest_remark = self.longest_remark();
        // The widest columns are narrowed first, all to the same bound; none below its own.
        for bound in (1..=widest).rev() {
            for (at, width) in widths.columns.iter_mut().enumerate() {
                *width = whole[at].min(bound.max(self.columns[at].narrowest));
            }
            widths.remarks = longest_remark;
            if widths.total() <= columns {
                widths.remarks += columns - widths.total();
                return Some(widths);
            }
        }
        None
    }

    /// Lets remarks be broken between words, for a terminal that is too narrow for the longest.
    pub(crate) fn break_remarks(&mut self) {
        for row in &mut self.rows {
            if let Row::Step { remarks, .. } = row {
                *remarks = remarks.iter().flat_map(|remark| remark.split(' ')).map(str::to_owned).collect();
            }
        }
    }

    /// The least widths, for a terminal that is too narrow whatever is done.
    pub(crate) fn narrowest(&self) -> Widths {
        let mut widths = self.natural();
        for (width, column) in widths.columns.iter_mut().zip(&self.columns) {
            *width = (*width).min(column.narrowest);
        }
        widths.remarks = self.longest_remark();
        widths
    }

    fn natural(&self) -> Widths {
        let mut widths = Widths {
            number: "step".len(),
            line: self.line_heading.len(),
            columns: self.columns.iter().map(|column| width(&column.heading)).collect(),
            remarks: 0,
        };
        for row in &self.rows {
            let Row::Step { number, line, cells, remarks, .. } = row else { continue };
            widths.number = widths.number.max(number.to_string().len());
            widths.line = widths.line.max(width(line));
            for (at, text) in cells {
                widths.columns[*at] = widths.columns[*at].max(width(text));
            }
            widths.remarks = widths.remarks.max(width(&remarks.join(" ")));
        }
        widths
    }

    fn longest_remark(&self) -> usize {
        let remarks = self.rows.iter().flat_map(|row| match row {
            Row::Step { remarks, .. } => remarks.as_slice(),
            Row::Gap(_) => &[],
        });
        remarks.map(|remark| width(remark)).max().unwrap_or(0)
    }

    /// The grid with those widths.
    pub(crate) fn draw(&self, widths: &Widths, paint: Paint) -> String {
        let mut text = String::new();
        let headings: Vec<(usize, String)> =
            self.columns.iter().enumerate().map(|(at, column)| (at, column.heading.clone())).collect();
        for line in widths.row("step", self.line_heading, &headings, &[]) {
            text += &format!("{}\n", paint.paint(Tone::Heading, &line));
        }
        for row in &self.rows {
            match row {
                Row::Gap(what) => {
                    text += &format!("{}\n", paint.paint(Tone::Faint, &widths.line("...", "", &[], what)));
                }
                Row::Step { number, line, cells, remarks, marked } => {
                    let lines = widths.row(&number.to_string(), line, cells, remarks);
                    text += &if *marked { mark(lines, paint) } else { lines.join("\n") };
                    text += "\n";
                }
            }
        }
        text
    }
}

/// The lines of the row that matters, with a mark before the first.
fn mark(mut lines: Vec<String>, paint: Paint) -> String {
    lines[0].replace_range(..1, ">");
    lines.iter().map(|line| paint.paint(Tone::Bad, line)).collect::<Vec<_>>().join("\n")
}

impl Widths {
    fn total(&self) -> usize {
        let columns: usize = self.columns.iter().map(|column| column + GAP).sum();
        MARGIN
            + self.number
            + GAP
            + self.line
            + columns
            + if self.remarks > 0 { GAP + self.remarks } else { 0 }
    }

    /// One line. What stands behind the columns follows at once if there are none.
    fn line(&self, number: &str, line: &str, cells: &[&str], behind: &str) -> String {
        let mut text = format!("{:MARGIN$}{number:>2$}{:GAP$}{line:>3$}", "", "", self.number, self.line);
        for (cell, &columns) in cells.iter().zip(&self.columns) {
            text += &format!("{:GAP$}{}", "", pad(cell, columns));
        }
        format!("{text}{:GAP$}{behind}", "")
    }

    /// A row, which takes as many lines as the longest of its cells and its remarks.
    fn row(&self, number: &str, line: &str, cells: &[(usize, String)], remarks: &[String]) -> Vec<String> {
        let mut filled = vec![Vec::new(); self.columns.len()];
        for (at, text) in cells {
            filled[*at] = fill(text, self.columns[*at]);
        }
        let remarks = wrap(remarks, self.remarks);
        let height = filled.iter().map(Vec::len).chain([remarks.len(), 1]).max().unwrap_or(1);
        let one = |at: usize| {
            let cells: Vec<&str> =
                filled.iter().map(|lines| lines.get(at).map_or("", String::as_str)).collect();
            let remark = remarks.get(at).map_or("", String::as_str);
            let (number, line) = if at == 0 { (number, line) } else { ("", "") };
            self.line(number, line, &cells, remark).trim_end().to_owned()
        };
        (0..height).map(one).collect()
    }
}

/// Remarks on as few lines as they need; one that is too long for any has a line of its own.
fn wrap(remarks: &[String], columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for remark in remarks {
        match lines.last_mut() {
            Some(line) if width(line) + 1 + width(remark) <= columns => *line += &format!(" {remark}"),
            _ => lines.push(remark.clone()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(columns: usize, operation: &str) -> Grid {
        let heads = (0..columns).map(|at| Column { heading: format!("p{at}"), narrowest: 9 });
        let row = |number| Row::Step {
            number,
            line: "1".to_owned(),
            cells: vec![(number % columns, operation.to_owned())],
            remarks: vec!["reads x=0 (initial);".to_owned(), "writes x=1".to_owned()],
            marked: number == 2,
        };
        Grid { line_heading: "line", columns: heads.collect(), rows: vec![row(1), row(2)] }
    }

    #[test]
    fn a_grid_never_exceeds_the_width_it_fits() {
        for columns in 1..6 {
            for operation in ["x = 1", "x = long_er + something"] {
                for available in 20..120 {
                    let grid = grid(columns, operation);
                    let Some(widths) = grid.fit(available) else { continue };
                    let text = grid.draw(&widths, Paint(false));
                    for line in text.lines() {
                        assert!(width(line) <= available, "{available}: {line}");
                    }
                    let words: Vec<&str> = text.split_whitespace().collect();
                    let twice = |word: &str| words.iter().filter(|&&other| other == word).count() >= 2;
                    assert!(operation.split(' ').chain(["(initial);", "x=1"]).all(twice), "{text}");
                    assert!(text.lines().any(|line| line.starts_with("> ")));
                }
            }
        }
    }

    #[test]
    fn columns_are_not_narrowed_beyond_their_bound() {
        assert!(grid(5, "x = somewhat_longer + 1").fit(60).is_none());
        assert!(grid(5, "x = somewhat_longer + 1").fit(90).is_some());
    }
}
