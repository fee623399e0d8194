//! The JSON of every outcome has the form that the schema says.

use serde_json::Value;

use crate::programs::*;
use crate::schema::Schema;
use crate::{Outcome, Place, check};

const CHECK: &str = include_str!("../../../../docs/schema/check.schema.json");
pub const COMPARE: &str = include_str!("../../../../docs/schema/compare.schema.json");

/// The one object on stdout, which must be of the schema of `check`.
#[track_caller]
pub fn check_object(outcome: &Outcome) -> Value {
    object(CHECK, outcome)
}

/// The one object on stdout, which must be of the schema.
#[track_caller]
pub fn object(schema: &str, outcome: &Outcome) -> Value {
    let value: Value =
        serde_json::from_str(&outcome.stdout).unwrap_or_else(|error| panic!("{error}: {}", outcome.stdout));
    if let Err(error) = Schema::new(schema).validate(&value) {
        panic!("{error}\n{}", outcome.stdout);
    }
    value
}

#[test]
fn every_outcome_has_the_form_of_the_schema() {
    let outcomes = [
        (ATOMIC, &[][..], 0, "pass"),
        (ALL_ASSUMED, &[], 0, "pass"),
        (LOST, &[], 1, "failure"),
        (LOST, &["--algorithm", "source", "--keep-going", "--", "--param", "n=3"], 1, "failure"),
        (DEADLOCK, &[], 1, "failure"),
        (NEVER_SENT, &[], 1, "failure"),
        (TWO_FAILURES, &["--keep-going"], 1, "failure"),
        (HANG, &[], 1, "failure"),
        (UNLOCK_OF_ANOTHER, &[], 1, "failure"),
        (DIVISION, &[], 1, "failure"),
        (SPAWNED, &[], 1, "failure"),
        (ENDLESS, &["--max-depth", "10"], 3, "not exhaustive"),
        (HUGE, &["--max-executions", "3"], 3, "not exhaustive"),
        (LOST, &["--replay", "v1:0"], 3, "not exhaustive"),
        (CHOICE, &["--replay", "v1:0#2,0"], 1, "failure"),
    ];
    for (program, options, status, verdict) in outcomes {
        let outcome = check("json", program, &[&["--json"], options].concat());
        let value = object(CHECK, &outcome);
        assert_eq!((outcome.status, value["verdict"].as_str()), (status, Some(verdict)), "{value}");
        assert_eq!(value["exhaustive"], value["reason"].is_null(), "{value}");
        assert_eq!(value["failures"].as_array().unwrap().is_empty(), verdict != "failure", "{value}");
    }
}

#[test]
fn where_there_is_no_verdict_the_error_has_the_form_of_the_schema() {
    let errors = [
        ("process p { x = ; }", &[][..], "input", 1),
        ("var x; process p { x = yy; } process q { x = zz; }", &[], "input", 2),
        (LOST, &["--replay", "v1:9"], "input", 0),
        (LOST, &["--replay", "x"], "input", 0),
        (LOST, &["--algorithm", "fast"], "unsupported", 0),
        (LOST, &["--as-published"], "unsupported", 0),
        (LOST, &["--nonsense"], "usage", 0),
        (LOST, &["--", "--param", "n"], "usage", 0),
        (LOST, &["--", "--param", "m=1"], "input", 0),
    ];
    for (program, options, kind, diagnostics) in errors {
        let outcome = check("json-error", program, &[&["--json"], options].concat());
        let value = object(CHECK, &outcome);
        assert_eq!((outcome.status, value["error"]["kind"].as_str()), (2, Some(kind)), "{value}");
        assert_eq!(value["error"]["diagnostics"].as_array().unwrap().len(), diagnostics, "{value}");
        assert!(
            outcome.stderr.contains(value["error"]["message"].as_str().unwrap()),
            "{value}\n{}",
            outcome.stderr
        );
    }
    let outcome = Place::new("json-missing", "program.maz", LOST).run(&["check", "nope.maz", "--json"]);
    assert_eq!(object(CHECK, &outcome)["error"]["location"], "nope.maz");
    let outcome = Place::new("json-usage", "program.maz", LOST).run(&["check", "--json"]);
    assert_eq!(object(CHECK, &outcome)["error"]["kind"], "usage");
}

#[test]
fn the_fields_of_a_failure_say_what_happened() {
    let value = object(CHECK, &check("json-fields", LOST, &["--json"]));
    assert_eq!((&value["schema"], &value["program"]), (&1.into(), &"program.maz".into()));
    assert_eq!((&value["algorithm"], &value["as_published"]), (&"optimal".into(), &false.into()));
    let failure = &value["failures"][0];
    assert_eq!((&failure["kind"], &failure["process"]), (&"assertion".into(), &"main".into()));
    assert_eq!(failure["executions"], Value::Null);
    assert!(failure["location"].as_str().unwrap().starts_with("program.maz:12:"));
    let trace = failure["trace"].as_array().unwrap();
    let first = &trace[0];
    assert_eq!((&first["step"], &first["reads"][0]["source"]), (&1.into(), &Value::Null));
    let last = trace.last().unwrap();
    let source = last["reads"][0]["source"].as_u64().unwrap() as usize;
    let (written, read) = (&trace[source - 1]["writes"][0], &last["reads"][0]);
    assert_eq!((&written["name"], &written["value"]), (&read["name"], &read["value"]));
}

#[test]
fn a_deadlock_says_who_waits() {
    let value = object(CHECK, &check("json-deadlock", DEADLOCK, &["--json", "--keep-going"]));
    assert_eq!((&value["deadlocks"], &value["failures"][0]["executions"]), (&1.into(), &1.into()));
    let waiting = value["failures"][0]["waiting"].as_array().unwrap();
    assert_eq!(waiting.len(), 2);
    assert_eq!((&waiting[0]["name"], &waiting[0]["waits_on"][0]), (&"a".into(), &"1".into()));
}

#[test]
fn a_comparison_has_the_form_of_its_schema() {
    let place = Place::new("json-compare", "program.maz", LOST);
    let value = object(COMPARE, &place.run(&["compare", "program.maz", "--json"]));
    assert_eq!(value["runs"].as_array().unwrap().len(), 5);
    assert_eq!((&value["verdict"], &value["disagreement"]), (&"failure".into(), &Value::Null));
    let place = Place::new("json-compare-error", "program.maz", "var");
    assert_eq!(object(CHECK, &place.run(&["compare", "program.maz", "--json"]))["error"]["kind"], "input");
}

#[test]
fn the_schema_refuses_what_is_not_of_it() {
    let good = object(CHECK, &check("json-good", LOST, &["--json"]));
    let schema = Schema::new(CHECK);
    for (pointer, wrong) in [
        ("/schema", 2.into()),
        ("/verdict", "perhaps".into()),
        ("/executions", (-1).into()),
        ("/failures/0/kind", "sadness".into()),
        ("/failures/0/schedule", "v0:1".into()),
        ("/failures/0/executions", 0.into()),
        ("/failures/0/location", "somewhere".into()),
        ("/failures/0/trace/0/step", 0.into()),
        ("/failures/0/trace/0/process", "main".into()),
        ("/failures/0/trace/0/reads", Value::Null),
    ] {
        let mut bad = good.clone();
        *bad.pointer_mut(pointer).unwrap() = wrong;
        assert!(schema.validate(&bad).is_err(), "{pointer}");
    }
    let mut bad = good.clone();
    bad.as_object_mut().unwrap().remove("reason");
    assert!(schema.validate(&bad).is_err());
}
