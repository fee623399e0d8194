//! The table, and whether what is promised is kept.

use crate::measure::Measurement;
use crate::programs::{CASES, Case, FIB_BENCH_4};

/// Ours runs at least so many executions for one of loom, in the same CPU time, of every program but the smallest.
const RATIO_TO_LOOM: f64 = 20.0;
/// The same for shuttle, of every program.
const RATIO_TO_SHUTTLE: f64 = 2.0;
/// And never fewer than this: to be slower than it should be is one thing, to be slower than others another.
const LEAST_RATIO_TO_SHUTTLE: f64 = 0.7;
/// The same, as the geometric mean over all programs.
const MEAN_RATIO_TO_SHUTTLE: f64 = 1.5;
/// Executions a second of CPU time that ours runs at least of [`FIB_BENCH_4`].
const RATE_OF_FIB_BENCH_4: f64 = 300_000.0;

/// One program under the three tools; `None` where a tool can't run it.
pub struct Row {
    pub case: &'static Case,
    pub ours: Option<Measurement>,
    pub loom: Option<Measurement>,
    pub shuttle: Option<Measurement>,
}

pub fn print_header() {
    println!("{:26} {:^18} {:^21} {:^21} {:^15}", "", "mazurka", "loom", "shuttle", "mazurka over");
    print!("{:16} {:>9}", "program", "Maz");
    print!(" {:>8} {:>9} {:>11} {:>9} {:>11} {:>9}", "execs", "/s", "execs", "/s", "execs", "/s");
    println!(" {:>7} {:>7}", "loom", "shuttle");
}

impl Row {
    pub fn print(&self) {
        let Row { case, ours, loom, shuttle } = self;
        print!("{:16} {:>9} {}", case.name, with_commas(case.traces), columns(ours, 8));
        print!(" {} {}", columns(loom, 11), columns(shuttle, 11));
        println!(" {:>7} {:>7}", ratio_text(self.rate_over(loom)), ratio_text(self.rate_over(shuttle)));
    }

    fn rate_over(&self, peer: &Option<Measurement>) -> Option<f64> {
        Some(self.ours?.rate / (*peer)?.rate)
    }

    /// Why ours is not one passing execution a class, none blocked; `None` if it is.
    fn complaint(&self) -> Option<String> {
        let Case { name, traces, .. } = self.case;
        let Some(Measurement { check, .. }) = self.ours else { return Some(format!("no result on {name}")) };
        let right = check.pass && check.blocked == 0 && check.executions == *traces;
        let verdict = if check.pass { "passes" } else { "fails" };
        let (executions, blocked) = (check.executions, check.blocked);
        (!right).then(|| format!("{name} {verdict} with {executions} of {traces}, {blocked} blocked"))
    }
}

/// Executions and rate; a plus where the check was cut and would need more.
fn columns(measurement: &Option<Measurement>, width: usize) -> String {
    let Some(Measurement { check, rate }) = measurement else {
        return format!("{:>width$} {:>9}", "-", "-");
    };
    let plus = if check.cut { "+" } else { "" };
    format!("{:>width$} {:>9}", with_commas(check.executions) + plus, with_commas(*rate as u64))
}

fn ratio_text(ratio: Option<f64>) -> String {
    ratio.map_or("-".into(), figure)
}

fn figure(value: f64) -> String {
    if value < 1_000.0 { format!("{value:.1}") } else { with_commas(value as u64) }
}

fn with_commas(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (k, digit) in digits.chars().enumerate() {
        if k > 0 && (digits.len() - k).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A line a promise; whether all are kept, where they were measured.
#[must_use]
pub fn print_verdicts(rows: &[Row]) -> bool {
    let smallest = CASES.iter().map(|case| case.traces).min();
    let larger = rows.iter().filter(|row| Some(row.case.traces) > smallest);
    let over_loom = larger.filter_map(|row| Some((row, row.rate_over(&row.loom)?)));
    let over_shuttle = rows.iter().filter_map(|row| Some((row, row.rate_over(&row.shuttle)?)));
    let fib_bench_4 = rows.iter().filter(|row| row.case.name == FIB_BENCH_4);
    let complaints: Vec<String> = rows.iter().filter_map(Row::complaint).collect();
    println!();
    let kept = [
        print_verdict("one execution a class, none blocked", &complaints, "in all programs"),
        print_least("rate over loom's, but of the smallest program,", RATIO_TO_LOOM, over_loom),
        print_least("rate over shuttle's", RATIO_TO_SHUTTLE, over_shuttle.clone()),
        print_least("rate over shuttle's on the worst program", LEAST_RATIO_TO_SHUTTLE, over_shuttle.clone()),
        print_mean("rate over shuttle's", MEAN_RATIO_TO_SHUTTLE, over_shuttle.map(|(_, ratio)| ratio)),
        print_least(
            "rate of fib_bench 4",
            RATE_OF_FIB_BENCH_4,
            fib_bench_4.filter_map(|row| Some((row, row.ours?.rate))),
        ),
    ];
    kept.iter().all(|&kept| kept)
}

/// Whether all values are at least so large, with the smallest one.
fn print_least<'a>(what: &str, least: f64, values: impl Iterator<Item = (&'a Row, f64)>) -> bool {
    let what = format!("{what} at least {}", figure(least));
    let mut values: Vec<(&str, f64)> = values.map(|(row, value)| (row.case.name, value)).collect();
    values.sort_by(|(_, a), (_, b)| a.total_cmp(b));
    let Some((name, smallest)) = values.first() else {
        println!("{what}: not measured");
        return true;
    };
    let short = values.iter().filter(|(_, value)| *value < least);
    let complaints: Vec<String> =
        short.map(|(name, value)| format!("{} on {name}", figure(*value))).collect();
    print_verdict(&what, &complaints, &format!("lowest {} on {name}", figure(*smallest)))
}

/// Whether the geometric mean of all values is at least so large.
fn print_mean(what: &str, least: f64, values: impl Iterator<Item = f64>) -> bool {
    let what = format!("{what}, geometric mean at least {}", figure(least));
    let logarithms: Vec<f64> = values.map(f64::ln).collect();
    if logarithms.is_empty() {
        println!("{what}: not measured");
        return true;
    }
    let mean = (logarithms.iter().sum::<f64>() / logarithms.len() as f64).exp();
    let complaint = (mean < least).then(|| format!("{mean:.2}"));
    print_verdict(&what, complaint.as_slice(), &format!("{mean:.2}"))
}

/// Whether nothing is complained of.
fn print_verdict(what: &str, complaints: &[String], praise: &str) -> bool {
    if complaints.is_empty() {
        println!("{what}: met, {praise}");
    } else {
        println!("{what}: MISSED, {}", complaints.join("; "));
    }
    complaints.is_empty()
}
