//! Reports of searches that workers share: the same for any number of them, byte for byte but for times.

use serde_json::Value;

use crate::{Outcome, Place};

/// A report without what depends on the clock, and all else as it was printed.
pub fn without_times(report: &str) -> String {
    if report.starts_with('{') {
        let key = "\"seconds\":";
        let (before, after) = report.split_once(key).expect("it is told how long it took");
        let rest = after.find([',', '}']).expect("the object goes on, or ends");
        return [before, key, &after[rest..]].concat();
    }
    let line = |line: &str| match line.starts_with("executions: ") {
        true => line.rsplit_once("; ").expect("the time comes last").0.to_owned(),
        false => line.to_owned(),
    };
    report.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// Complains unless one, two and four workers say the same, as text and as JSON; gives the JSON of it. The search is
/// what comes after `check`, with options of the front end.
#[track_caller]
pub fn same_for_any_number(place: &Place, search: &[&str], front_end: &[&str]) -> Value {
    let report = |jobs, form: &[&str]| {
        let Outcome { status, stdout, stderr } =
            place.run(&[&["check"], search, &["--jobs", jobs], form, &["--"], front_end].concat());
        assert!(status != 2, "{search:?} {front_end:?}: {stderr}");
        (status, without_times(&stdout), stderr)
    };
    let (text, json) = (report("1", &[]), report("1", &["--json"]));
    for jobs in ["2", "4"] {
        assert_eq!(report(jobs, &[]), text, "{jobs} workers: {search:?} {front_end:?}");
        assert_eq!(report(jobs, &["--json"]), json, "{jobs} workers: {search:?} {front_end:?}");
    }
    let whole = json.1.replace("\"seconds\":", "\"seconds\":0");
    serde_json::from_str(&whole).unwrap_or_else(|_| panic!("{json:?}"))
}
