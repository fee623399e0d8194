//! `mazurka estimate`: how many executions there are, about.

use crate::Place;
use crate::json::object;

const ESTIMATE: &str = include_str!("../../../../docs/schema/estimate.schema.json");
const INCREMENTS: &str = include_str!("../../../../bench/litmus/increments.maz");
const LASTZERO: &str = include_str!("../../../../bench/litmus/lastzero.maz");

#[test]
fn few_are_counted() {
    let place = Place::new("estimate-few", "increments.maz", INCREMENTS);
    let outcome = place.run(&["estimate", "increments.maz", "--param", "n=4"]);
    outcome.expect(0, &["24 executions: all of them were run\n"]);
}

#[test]
fn many_are_estimated() {
    let place = Place::new("estimate-many", "lastzero.maz", LASTZERO);
    let run = ["estimate", "lastzero.maz", "--param", "n=12", "--max-executions", "50000"];
    place.run(&run).expect(0, &["about ", "samples, of at most ", " a second, as here on one core: "]);
    let value = object(ESTIMATE, &place.run(&[&run[..], &["--json"]].concat()));
    // (n + 3) * 2^(n - 2)
    let (total, truth) = (value["total"].as_f64().unwrap(), 15_360.0);
    assert!((total / truth - 1.0).abs() < 0.2, "{total}");
    assert_eq!((&value["exact"], &value["reason"]), (&serde_json::json!(false), &serde_json::json!(null)));
    assert!(
        value["least"].as_f64() <= value["total"].as_f64()
            && value["total"].as_f64() <= value["most"].as_f64()
    );
}

#[test]
fn what_is_unknown_is_said_to_be() {
    let place = Place::new("estimate-unknown", "increments.maz", INCREMENTS);
    let run = ["estimate", "increments.maz", "--param", "n=40", "--max-executions", "20"];
    place.run(&run).expect(0, &["unknown: no sample came to its end; a larger --max-executions may tell\n"]);
    let value = object(ESTIMATE, &place.run(&[&run[..], &["--json"]].concat()));
    assert!(value["total"].is_null() && value["least"].is_null());
}
