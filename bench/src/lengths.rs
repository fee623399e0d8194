//! What a class of `reads-from` costs, by the length of executions: as a table, and as a figure with both axes
//! logarithmic, in which what grows with a power is a straight line.

use std::fmt::Write as _;
use std::time::Instant;

use mazurka_explore::{Algorithm, Limits, NoMonitor, Options, explore};

use crate::costs::program;

/// Programs with their sizes: executions of about 20, 60, 200, 600 and 2,000 steps. Then how many executions are
/// measured; those of opt_lock are of all lengths, so all of them are.
const PROGRAMS: [(&str, [i64; 5], Option<u64>); 3] = [
    ("opt_lock", [3, 10, 33, 100, 333], None),
    ("fib_bench", [3, 10, 33, 100, 333], Some(100)),
    ("pthread_demo", [2, 7, 25, 75, 250], Some(100)),
];

/// The fastest of so many tries counts.
const TRIES: usize = 3;

/// Executions of so many steps at most take so many microseconds each.
type Point = (f64, f64);

/// A program with what was measured of it.
struct Line {
    name: &'static str,
    points: Vec<Point>,
}

/// Prints the table, and draws the figure if there is a file for it.
///
/// # Errors
/// If a program can't be read, or the file can't be written.
pub fn table(figure: Option<&str>) -> Result<(), String> {
    println!("reads-from: time a class (the fastest of {TRIES} tries) grows with which power of the length");
    println!("{:>14} {:>6} {:>10} {:>12} {:>10}", "program", "n", "longest", "us/class", "power");
    let mut lines = Vec::new();
    for (name, sizes, executions) in PROGRAMS {
        let mut points: Vec<Point> = Vec::new();
        for size in sizes {
            let (longest, micros) = measured(name, size, executions)?;
            let power = points
                .first()
                .map_or(String::new(), |&first| format!("{:.2}", power(first, (longest, micros))));
            println!("{name:>14} {size:>6} {longest:>10} {micros:>12.1} {power:>10}");
            points.push((longest, micros));
        }
        lines.push(Line { name, points });
    }
    match figure {
        Some(path) => std::fs::write(path, drawn(&lines)).map_err(|error| format!("{path}: {error}")),
        None => Ok(()),
    }
}

/// The length of the longest execution, and how many microseconds a class takes.
fn measured(name: &str, size: i64, executions: Option<u64>) -> Result<Point, String> {
    let program = program(name, size)?;
    let limits = Limits { executions, ..Limits::default() };
    // Sums overflow in long executions of fib_bench: that is a failure, and no end.
    let options = Options { limits, keep_going: true, ..Options::default() };
    let tries = (0..TRIES).map(|_| {
        let begin = Instant::now();
        let counts = explore(&program, Algorithm::ReadsFrom, &options, &mut NoMonitor).counts;
        (counts.longest as f64, begin.elapsed().as_secs_f64() * 1e6 / counts.executions().max(1) as f64)
    });
    tries.min_by(|one, other| one.1.total_cmp(&other.1)).ok_or_else(|| "nothing was measured".to_owned())
}

/// The power with which time grows from one point to another.
fn power(first: Point, last: Point) -> f64 {
    (last.1 / first.1).ln() / (last.0 / first.0).ln()
}

/// The figure: a line a program, and a dashed one from where the slowest begins that grows with the square.
fn drawn(lines: &[Line]) -> String {
    const STYLE: &str = "text{font:13px ui-monospace,Menlo,Consolas,monospace;fill:#1b1f24}polyline{fill:none;\
        stroke-width:2}.grid{stroke:#d0d7de}.square{stroke:#8c959f;stroke-width:1.5;stroke-dasharray:4 5}";
    const COLOURS: [&str; 3] = ["#c2410c", "#1d4ed8", "#15803d"];
    let x = |length: f64| 70.0 + (length.log10() - 1.0) * 200.0;
    let y = |micros: f64| 340.0 - micros.log10() * 50.0;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 700 400\" width=\"700\" height=\"400\">\
         <style>{STYLE}</style><rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
    );
    let (left, right, top, bottom) = (x(10.0), x(3_000.0), y(1e6), y(1.0));
    // Writing to a string does not fail.
    for (length, words) in [(10.0, "10"), (100.0, "100"), (1_000.0, "1,000 steps")] {
        let at = x(length);
        let _ = writeln!(
            svg,
            "<line class=\"grid\" x1=\"{at:.0}\" y1=\"{top:.0}\" x2=\"{at:.0}\" y2=\"{bottom:.0}\"/>"
        );
        let _ = writeln!(
            svg,
            "<text x=\"{at:.0}\" y=\"{:.0}\" text-anchor=\"middle\">{words}</text>",
            bottom + 20.0
        );
    }
    for (micros, words) in [(1.0, "1 us"), (1e2, "100 us"), (1e4, "10 ms"), (1e6, "1 s")] {
        let at = y(micros);
        let _ = writeln!(
            svg,
            "<line class=\"grid\" x1=\"{left:.0}\" y1=\"{at:.0}\" x2=\"{right:.0}\" y2=\"{at:.0}\"/>"
        );
        let _ = writeln!(
            svg,
            "<text x=\"{:.0}\" y=\"{:.0}\" text-anchor=\"end\">{words}</text>",
            left - 8.0,
            at + 4.0
        );
    }
    for (Line { name, points }, colour) in lines.iter().zip(COLOURS) {
        let path: Vec<String> =
            points.iter().map(|&(length, micros)| format!("{:.1},{:.1}", x(length), y(micros))).collect();
        let _ = writeln!(svg, "<polyline stroke=\"{colour}\" points=\"{}\"/>", path.join(" "));
        let (Some(&first), Some(&last)) = (points.first(), points.last()) else { continue };
        let words = format!("{name}: {:.2}", power(first, last));
        let _ =
            writeln!(svg, "<text x=\"{:.1}\" y=\"{:.1}\">{words}</text>", x(last.0) + 8.0, y(last.1) + 4.0);
    }
    let slowest =
        lines.iter().filter_map(|line| line.points.first()).max_by(|one, other| one.1.total_cmp(&other.1));
    if let Some(&(length, micros)) = slowest {
        let end = 2_000.0;
        let (x1, y1, x2, y2) = (x(length), y(micros), x(end), y(micros * (end / length).powi(2)));
        let _ = writeln!(
            svg,
            "<line class=\"square\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"/>"
        );
        let _ = writeln!(svg, "<text x=\"{:.1}\" y=\"{:.1}\">square</text>", x2 + 8.0, y2 + 4.0);
    }
    let _ = writeln!(
        svg,
        "<text x=\"{left:.0}\" y=\"24\">time a class of reads-from, by the longest execution: which power</text>"
    );
    svg + "</svg>\n"
}
