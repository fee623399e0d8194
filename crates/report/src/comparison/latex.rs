//! A comparison as a LaTeX table, as papers print it: a line for each program, and for each algorithm its
//! complete and blocked executions and its time. It needs no package.

use mazurka_explore::Algorithm;

use super::{Comparison, ComparisonRow, value_of};

/// What is told of each algorithm.
const FIGURES: [&str; 3] = ["complete", "blocked", "time (s)"];

const DAGGER: &str = r"$^\dagger$";

impl Comparison {
    /// The comparison as a `tabular` environment. Its lines begin with the parameters that have several values,
    /// or with the program if none has; below it is why a search with a dagger was not exhaustive.
    pub fn latex(&self) -> String {
        let varying = self.varying();
        let algorithms = self.algorithms();
        let mut text = format!("% {}\n", self.title());
        text += &headings(&varying, &algorithms);
        for rows in self.programs() {
            let mut cells: Vec<String> = match varying.is_empty() {
                true => vec![escaped(&self.title())],
                false => varying.iter().map(|name| escaped(value_of(&rows[0].parameters, name))).collect(),
            };
            for algorithm in &algorithms {
                let row = rows.iter().find(|row| row.algorithm == *algorithm);
                cells.extend(row.map_or_else(Default::default, ComparisonRow::latex));
            }
            text += &line(&cells);
        }
        text += "\\hline\n\\end{tabular}\n";
        for reason in self.reasons() {
            text += &format!("\n\\noindent {DAGGER} {}\n", escaped(&reason));
        }
        for failure in self.failures() {
            text += &format!("% failure: {}\n", one_line(&self.failure_text(failure)));
        }
        text
    }

    /// The algorithms, each once.
    fn algorithms(&self) -> Vec<Algorithm> {
        let mut algorithms = Vec::new();
        for row in &self.rows {
            if !algorithms.contains(&row.algorithm) {
                algorithms.push(row.algorithm);
            }
        }
        algorithms
    }
}

/// The environment up to its first line of figures.
fn headings(varying: &[&str], algorithms: &[Algorithm]) -> String {
    let first: Vec<String> = match varying {
        [] => vec!["program".to_owned()],
        _ => varying.iter().map(|name| escaped(name)).collect(),
    };
    let begin = if varying.is_empty() { "l".to_owned() } else { "r".repeat(first.len()) };
    let columns = format!(" {}", "r".repeat(FIGURES.len())).repeat(algorithms.len());
    let mut names = vec![String::new(); first.len()];
    names.extend(algorithms.iter().map(|algorithm| {
        format!(r"\multicolumn{{{}}}{{c}}{{{}}}", FIGURES.len(), escaped(&algorithm.to_string()))
    }));
    let figures = algorithms.iter().flat_map(|_| FIGURES.map(str::to_owned));
    let figures: Vec<String> = first.into_iter().chain(figures).collect();
    format!("\\begin{{tabular}}{{{begin}{columns}}}\n\\hline\n{}{}\\hline\n", line(&names), line(&figures))
}

impl ComparisonRow {
    fn latex(&self) -> [String; FIGURES.len()] {
        let dagger = if self.reason.is_some() { DAGGER } else { "" };
        if self.is_refused {
            return [format!("--{dagger}"), "--".to_owned(), "--".to_owned()];
        }
        let counts = &self.counts;
        [format!("{}{dagger}", counts.complete), counts.blocked.to_string(), format!("{:.3}", self.seconds)]
    }
}

fn line(cells: &[String]) -> String {
    format!("{} \\\\\n", cells.join(" & "))
}

/// The text on one line.
fn one_line(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}

/// The text, without anything that LaTeX would obey.
fn escaped(text: &str) -> String {
    let one = |c: char| match c {
        '&' | '%' | '$' | '#' | '_' | '{' | '}' => format!("\\{c}"),
        '~' => r"\textasciitilde{}".to_owned(),
        '^' => r"\textasciicircum{}".to_owned(),
        '\\' => r"\textbackslash{}".to_owned(),
        c => c.to_string(),
    };
    one_line(text).chars().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_latex_obeys_is_left() {
        assert_eq!(escaped("a_b\\c{50%}\nn^2"), r"a\_b\textbackslash{}c\{50\%\} n\textasciicircum{}2");
    }
}
