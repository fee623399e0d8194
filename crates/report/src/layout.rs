//! A grid of text that fits a terminal.
//!
//! A grid has a number and a line in front, some columns, and remarks behind them. Where it is too wide, first the
//! remarks go on the next line, which loses nothing, then columns are narrowed, down to a bound of their own.

use crate::style::{Paint, Tone, cut, pad, width};

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
        // The widest columns are narrowed first, all to the same bound; none below its own.
        for bound in (1..=widest).rev() {
            for (at, width) in widths.columns.iter_mut().enumerate() {
                *width = whole[at].min(bound.max(self.columns[at].narrowest));
            }
            widths.remarks = self.longest_remark();
            if widths.total() <= columns {
                widths.remarks += columns - widths.total();
                return Some(widths);
            }
        }
        None
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
        let head = widths.row("step", self.line_heading, &headings, "");
        text += &format!("{}\n", paint.paint(Tone::Heading, head.trim_end()));
        for row in &self.rows {
            match row {
                Row::Gap(what) => {
                    text += &format!("{}\n", paint.paint(Tone::Faint, &widths.row("...", "", &[], what)));
                }
                Row::Step { number, line, cells, remarks, marked } => {
                    text += &widths.step(*number, line, cells, remarks, *marked, paint);
                }
            }
        }
        text
    }
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

    /// One line. What stands behind the columns follows them at once if no cell does.
    fn row(&self, number: &str, line: &str, cells: &[(usize, String)], behind: &str) -> String {
        let mut text = format!("{:MARGIN$}{number:>2$}{:GAP$}{line:>3$}", "", "", self.number, self.line);
        if cells.is_empty() {
            return format!("{text}{:GAP$}{behind}", "");
        }
        for (at, &columns) in self.columns.iter().enumerate() {
            let cell = cells.iter().find(|(column, _)| *column == at).map_or("", |(_, cell)| cell);
            text += &format!("{:GAP$}{}", "", pad(&cut(cell, columns), columns));
        }
        format!("{text}{:GAP$}{behind}", "")
    }

    fn step(
        &self,
        number: usize,
        line: &str,
        cells: &[(usize, String)],
        remarks: &[String],
        marked: bool,
        paint: Paint,
    ) -> String {
        let mut wrapped = wrap(remarks, self.remarks).into_iter();
        let first = wrapped.next().unwrap_or_default();
        let mut row = self.row(&number.to_string(), line, cells, &first);
        if marked {
            row.replace_range(..1, ">");
            row = paint.paint(Tone::Bad, row.trim_end());
        }
        let mut text = format!("{}\n", row.trim_end());
        let blank = [(0, String::new())];
        for remark in wrapped {
            text += &format!("{}\n", self.row("", "", &blank, &remark));
        }
        text
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
        let heads = (0..columns).map(|at| Column { heading: format!("p{at}"), narrowest: 8 });
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
            for operation in ["x = 1", "x = somewhat_longer + 1"] {
                for available in 20..120 {
                    let grid = grid(columns, operation);
                    let Some(widths) = grid.fit(available) else { continue };
                    let text = grid.draw(&widths, Paint(false));
                    for line in text.lines() {
                        assert!(width(line) <= available, "{available}: {line}");
                    }
                    assert!(text.contains("reads x=0 (initial);") && text.contains("writes x=1"));
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
