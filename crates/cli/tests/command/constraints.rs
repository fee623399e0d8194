//! `mazurka constraints`: when steps commute, in all its forms.

use crate::Place;
use crate::json::object;

const CONSTRAINTS: &str = include_str!("../../../../docs/schema/constraints.schema.json");
const FIGURE_1: &str = include_str!("../../../../examples/papers/cav18_fig1.maz");

#[test]
fn figure_1_of_cav18() {
    let place = Place::new("constraints-figure", "fig1.maz", FIGURE_1);
    let told = ["I(p, q) = { z <= -1 }\n", "I(p, r) = { true }\n", "I(q, r) = { z <= -2, z >= 0, z = x }\n"];
    place.run(&["constraints", "fig1.maz"]).expect(0, &told);
    let value = object(CONSTRAINTS, &place.run(&["constraints", "fig1.maz", "--json"]));
    assert_eq!(value["pairs"][0]["constraints"], serde_json::json!(["z <= -1"]));
    assert_eq!(value["pairs"][2]["necessary"], true);
    assert!(value["seconds"].as_f64().unwrap() < 2.0);
}

#[test]
fn what_is_not_known_is_told() {
    let text = "var x; lock m; process p { lock(m); x = x * x; unlock(m); } process q { x = 1; }";
    let place = Place::new("constraints-unknown", "program.maz", text);
    place.run(&["constraints", "program.maz"]).expect(
        0,
        &["no two steps of different processes", "(`x = x * x`), which computes what is not linear\n"],
    );
}

#[test]
fn a_solver_that_is_missing_is_one_sentence() {
    let place = Place::new("constraints-missing", "fig1.maz", FIGURE_1);
    let outcome = place.run(&["constraints", "fig1.maz", "--solver", "cvc5"]);
    if !outcome.stdout.contains("I(p, q) = { z <= -1 }") {
        outcome.expect(0, &["I(p, q) = {}\n", "note: the solver cvc5 can't be started"]);
        assert_eq!(outcome.stdout.matches("note:").count(), 1, "{}", outcome.stdout);
    }
    let outcome = place.run(&["constraints", "fig1.maz", "--cross-check"]);
    outcome.expect(0, &["I(q, r) = { z <= -2, z >= 0, z = x }\n"]);
}
