//! A comparison as CSV, for tables and plots: a line for each search, its columns named as the fields of the
//! JSON.

use mazurka_explore::Published;

use super::{Comparison, ComparisonRow, value_of};

/// The columns after those of the parameters.
const COLUMNS: [&str; 18] = [
    "algorithm",
    "version",
    "exhaustive",
    "executions",
    "blocked",
    "assumed",
    "cut",
    "events",
    "deadlocks",
    "longest",
    "wakeup_nodes",
    "memory",
    "states",
    "merges",
    "state_memory",
    "seconds",
    "failures",
    "reason",
];

impl Comparison {
    /// The comparison as CSV: the program, a column for each parameter that was given, and what each search
    /// did. `failures` is how many distinct ones it met, and `version` is empty but of an algorithm as
    /// published.
    pub fn csv(&self) -> String {
        let parameters: Vec<&str> = self
            .rows
            .first()
            .map_or(Vec::new(), |row| row.parameters.iter().map(|(name, _)| name.as_str()).collect());
        let headings = ["program"].into_iter().chain(parameters.iter().copied()).chain(COLUMNS);
        let mut text = line(headings);
        for row in &self.rows {
            let names = parameters.iter().map(|name| value_of(&row.parameters, name));
            let cells = row.figures();
            let cells = cells.iter().map(String::as_str);
            text += &line([self.subject.program.as_str()].into_iter().chain(names).chain(cells));
        }
        text
    }
}

impl ComparisonRow {
    fn figures(&self) -> [String; COLUMNS.len()] {
        let counts = &self.counts;
        let version = self.algorithm.published().map(Published::version);
        [
            self.algorithm.name().to_owned(),
            version.map_or(String::new(), |version| version.to_string()),
            self.reason.is_none().to_string(),
            counts.complete.to_string(),
            counts.blocked.to_string(),
            counts.assumed.to_string(),
            counts.cut.to_string(),
            counts.events.to_string(),
            counts.deadlocks.to_string(),
            counts.longest.to_string(),
            counts.wakeup_nodes.to_string(),
            counts.memory.to_string(),
            counts.states.to_string(),
            counts.merges.to_string(),
            counts.state_memory.to_string(),
            format!("{:.6}", self.seconds),
            self.failures.len().to_string(),
            self.reason.clone().unwrap_or_default(),
        ]
    }
}

fn line<'a>(cells: impl Iterator<Item = &'a str>) -> String {
    let cells: Vec<String> = cells.map(cell).collect();
    format!("{}\n", cells.join(","))
}

/// In quotes where it has to be (RFC 4180).
fn cell(text: &str) -> String {
    match text.contains(['"', ',', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_quoted_where_they_have_to_be() {
        assert_eq!(line(["a", "b,c", "say \"x\"", ""].into_iter()), "a,\"b,c\",\"say \"\"x\"\"\",\n");
    }
}
