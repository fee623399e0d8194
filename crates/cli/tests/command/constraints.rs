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

/// A program of this name in place of a solver, and nothing else that could be found.
#[cfg(unix)]
fn search_with(place: &Place, script: Option<&str>, file: &str, algorithm: &str) -> crate::Outcome {
    use std::os::unix::fs::PermissionsExt as _;
    let program = place.directory.join("z3");
    let _ = std::fs::remove_file(&program);
    if let Some(script) = script {
        std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let mut command = place.command(&["check", file, "--algorithm", algorithm, "--solver", "z3"]);
    let output = command.env("PATH", &place.directory).output().unwrap();
    crate::Outcome {
        status: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

#[cfg(unix)]
#[test]
fn a_search_goes_on_without_a_solver_that_does_not_answer() {
    let place = Place::new("constraints-search", "fig1.maz", FIGURE_1);
    std::fs::write(place.directory.join("fig1.abs"), include_str!("../../../../bench/abs/cav18.abs"))
        .unwrap();
    let nonsense = "while read line; do echo sat is what it is; done";
    let ended = "ended before it answered";
    let said = "said `sat is what it is`, which is no answer";
    for (script, what) in [(None, "can't be started ("), (Some("exit 3"), ended), (Some(nonsense), said)] {
        for file in ["fig1.maz", "fig1.abs"] {
            for algorithm in ["source+constraints", "convergent+constraints"] {
                let outcome = search_with(&place, script, file, algorithm);
                outcome.expect(
                    0,
                    &["pass:", &format!("note: the solver z3 {what}"), "the search goes on without its"],
                );
                assert_eq!(outcome.stdout.matches("the solver").count(), 1, "{}", outcome.stdout);
            }
        }
    }
}

#[test]
fn a_search_asks_a_solver_that_is_installed() {
    let place = Place::new("constraints-z3", "fig1.maz", FIGURE_1);
    let counts = |solver: &str| {
        let check =
            ["check", "fig1.maz", "--algorithm", "convergent+constraints", "--json", "--solver", solver];
        let outcome = place.run(&check);
        let value: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
        (
            value["executions"].clone(),
            value["blocked"].clone(),
            value["events"].clone(),
            value["notes"].clone(),
        )
    };
    if std::process::Command::new("z3").arg("-version").output().is_err() {
        return;
    }
    assert_eq!(counts("z3"), counts("own"));
}

#[test]
fn a_solver_where_nobody_is_asked_is_a_mistake() {
    let place = Place::new("constraints-solver", "fig1.maz", FIGURE_1);
    let outcome = place.run(&["check", "fig1.maz", "--solver", "z3"]);
    assert_eq!(outcome.status, 2);
    assert!(outcome.stderr.contains("optimal does not"), "{}", outcome.stderr);
}

const DECLARED: &str = "
var x = 1, y;
commute grow, shrink if x >= 1;
commute grow, double;
commute twice, thrice;

process P { atomic grow { x += 1; } atomic twice { y = y * 2 * y; } }
process Q { atomic shrink { if x >= 1 { x -= 1; } } }
process R { skip; atomic thrice { y = y * y * 3; } }
process S { atomic double { x = 2 * x; } }
";

#[test]
fn what_is_declared_is_judged() {
    let place = Place::new("constraints-declared", "declared.maz", DECLARED);
    let wrong = "`commute grow, double` is wrong in every state: grow before double leaves x = 2, double before grow x = 1";
    place
        .run(&["check", "declared.maz"])
        .expect(1, &["failure: constraint in declared.maz", wrong, "at declared.maz:4:9"]);
    place.run(&["check", "declared.maz", "--replay", "v1:"]).expect(1, &[wrong]);
    let told = [
        "line 3: commute grow, shrink if x >= 1: proved\n",
        "line 4: commute grow, double: wrong in every state: ",
        "line 5: commute twice, thrice: not proved: twice computes what is not linear\n",
    ];
    place.run(&["constraints", "declared.maz"]).expect(1, &told);
    let value = object(CONSTRAINTS, &place.run(&["constraints", "declared.maz", "--json"]));
    assert_eq!(value["declared"][0]["standing"], "proved");
    assert_eq!(value["declared"][1]["standing"], "wrong");
    assert_eq!(value["declared"][2]["standing"], "not proved");
}

#[test]
fn what_is_not_proved_is_tried() {
    let right = "var y = 3; commute a, b; process P { atomic a { y = y * y; } } process Q { atomic b { y = y * y; } }";
    let place = Place::new("constraints-tried", "right.maz", right);
    let note =
        "`commute a, b` (line 1) is not proved, since a computes what is not linear: both orders were run";
    place.run(&["check", "right.maz"]).expect(0, &["pass:", note]);
    let wrong = right.replace("b { y = y * y; }", "b { y = y + 1; }");
    std::fs::write(place.directory.join("wrong.maz"), wrong).unwrap();
    let told = "`commute a, b` is wrong here: P before Q leaves y = 10, Q before P y = 16";
    for algorithm in ["naive", "source", "optimal", "wake-up", "convergent", "reads-from"] {
        let outcome = place.run(&["check", "wrong.maz", "--algorithm", algorithm]);
        outcome.expect(1, &["failure: constraint in wrong.maz", told, "at wrong.maz:1:20"]);
        let replay =
            outcome.stdout.split("--replay '").nth(1).and_then(|rest| rest.split('\'').next()).unwrap();
        place.run(&["check", "wrong.maz", "--replay", replay]).expect(1, &[told]);
    }
}

#[test]
fn names_of_blocks_are_looked_up() {
    let text = "var x; commute a, c if r > 0; process P { let r = 0; atomic a { x = r; } } process Q { atomic a { x += 1; } }";
    let place = Place::new("constraints-names", "program.maz", text);
    let outcome = place.run(&["check", "program.maz"]);
    assert_eq!(outcome.status, 2);
    for wrong in [
        "no atomic block is called `c`",
        "`a` is the name of two atomic blocks",
        "a constraint is about shared variables, parameters and constants",
    ] {
        assert!(outcome.stderr.contains(wrong), "{}", outcome.stderr);
    }
}

const METHODS: &str = "module Methods;
import * from ABS.StdLib;

interface Account { Unit put(Int v); Unit take(Int v); Unit reset(); Unit note(Int v); }

class AccountImp implements Account {
  Int sum = 10;
  List<Int> notes = Nil;

  [Commutes: put] Unit put(Int v) { sum = sum + v; }

  [Commutes: put, When: sum >= 100] [Commutes: reset, When: sum == 0]
  Unit take(Int v) { if (v <= sum) sum = sum - v; }

  Unit reset() { sum = 0; }

  [Commutes: note] Unit note(Int v) { notes = Cons(v, notes); }
}

{ Account a = new AccountImp(); a!put(1); a!take(2); }
";

#[test]
fn what_is_declared_of_methods_is_judged() {
    let place = Place::new("constraints-methods", "methods.abs", METHODS);
    let told = [
        "line 10: [Commutes: put] AccountImp.put: proved\n",
        "line 12: [Commutes: put, When: sum >= 100] AccountImp.take: wrong where sum = ",
        "take before put and put before take end differently",
        "line 12: [Commutes: reset, When: sum == 0] AccountImp.take: wrong where sum = 0, v = -",
        "line 17: [Commutes: note] AccountImp.note: not proved: it depends on values, or functions, of which nothing is known\n",
    ];
    place.run(&["constraints", "methods.abs"]).expect(1, &told);
    let wrong = "`[Commutes: put, When: sum >= 100] AccountImp.take` is wrong where";
    place
        .run(&["check", "methods.abs"])
        .expect(1, &["failure: constraint in methods.abs", wrong, "at methods.abs:12:14"]);
    let right = METHODS.replace("[Commutes: put, When: sum >= 100] [Commutes: reset, When: sum == 0]", "");
    std::fs::write(place.directory.join("right.abs"), right).unwrap();
    let note = "note: `[Commutes: note] AccountImp.note` (line 17) is neither proved nor refuted";
    let tried = "; both orders were run where both methods were next";
    place.run(&["check", "right.abs"]).expect(0, &["pass:", note, tried]);
    let notes = METHODS.replace("[Commutes: put, When: sum >= 100] [Commutes: reset, When: sum == 0]", "");
    let notes = notes.replace("a!put(1); a!take(2);", "a!note(1); a!note(2);");
    std::fs::write(place.directory.join("notes.abs"), notes).unwrap();
    let wrong = "`[Commutes: note] AccountImp.note` is wrong here: where sum = 10, notes = list[], note ";
    place
        .run(&["check", "notes.abs"])
        .expect(1, &["failure: constraint in notes.abs", wrong, "at notes.abs:17:14"]);
    let strange = METHODS.replace("[Commutes: put] Unit put", "[When: sum > 0, Commutes: puts] Unit put");
    std::fs::write(place.directory.join("strange.abs"), strange).unwrap();
    let outcome = place.run(&["check", "strange.abs"]);
    assert_eq!(outcome.status, 2);
    assert!(
        outcome.stderr.contains("`When` says where what is named before it commutes"),
        "{}",
        outcome.stderr
    );
}
