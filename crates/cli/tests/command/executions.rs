//! What is told of executions besides failures: final states, traces and pictures.

use crate::golden::is_as_kept;
use crate::json::check_object;
use crate::programs::*;
use crate::{Place, check};

#[test]
fn final_states_are_as_many_as_convergent_has_executions() {
    for (at, (text, states)) in
        [(ATOMIC, 1), (STORE_BUFFERING, 3), (CHOICE, 3), (DEADLOCK, 2), (SPAWNED, 2), (NEVER_SENT, 1)]
            .into_iter()
            .enumerate()
    {
        for algorithm in ["naive", "source", "optimal", "convergent"] {
            let options = ["--algorithm", algorithm, "--keep-going", "--final-states", "--json"];
            let object = check_object(&check(&format!("states{at}"), text, &options));
            assert_eq!(object["final_states"]["count"], states, "{algorithm} of {text}");
            if algorithm == "convergent" {
                assert_eq!(object["executions"], states, "{text}");
            }
            let listed = object["final_states"]["states"].as_array().unwrap();
            let executions: u64 = listed.iter().map(|state| state["executions"].as_u64().unwrap()).sum();
            assert_eq!(object["executions"], executions, "each execution ends in a state that is listed");
        }
    }
}

#[test]
fn a_schedule_has_one_final_state_if_it_comes_to_its_end() {
    let replayed = |schedule: &str| {
        let options = ["--replay", schedule, "--final-states", "--traces", "--json"];
        check_object(&check("states-replay", LOST, &options))
    };
    let whole = replayed("v1:0,1*3,0*2,2*3");
    assert_eq!(whole["final_states"]["states"][0]["terms"][0], "x = 1");
    assert_eq!(whole["traces"]["executions"][0]["trace"].as_array().unwrap().len(), 9);
    let part = replayed("v1:0,1");
    assert_eq!(part["final_states"]["count"], 0);
    assert_eq!(part["traces"]["executions"].as_array().map(Vec::len), Some(0));
}

#[test]
fn a_picture_is_drawn_with_a_column_a_process() {
    let place = Place::new("svg", "program.maz", LOST);
    let drawn = |more: &[&str], says: &str| {
        let outcome = place.run(&[&["check", "program.maz", "--svg", "a.svg"], more].concat());
        assert!(outcome.stdout.contains(&format!("note: a.svg shows {says}\n")), "{}", outcome.stdout);
        assert!(!outcome.stdout.contains("--svg"), "a replay need not draw again: {}", outcome.stdout);
        std::fs::read_to_string(place.directory.join("a.svg")).unwrap()
    };
    assert!(is_as_kept("picture.svg", &drawn(&[], "the failure")));
    assert!(drawn(&["--replay", "v1:0"], "the schedule").contains(">1 step of 1 process</text>"));
    drawn(&["--", "--param", "n=1"], "the first execution");
    check("svg-refused", LOST, &["--svg", "no/such/place.svg"])
        .refused(&["no/such/place.svg: the diagram can't be written: "]);
    let endless = check("svg-none", ENDLESS, &["--max-depth", "10", "--svg", "none.svg"]);
    endless.expect(3, &["note: none.svg was not written: there is no complete execution to draw\n"]);
}

/// C has executions, but no states that can be told.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[test]
fn c_programs_have_traces_and_pictures() {
    let text = "#include <pthread.h>
#include <stdatomic.h>
atomic_int x;
static void *add(void *unused) { atomic_fetch_add(&x, 1); return 0; }
int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, add, 0);
  x = 5;
  pthread_join(thread, 0);
  return 0;
}
";
    let place = Place::new("c-executions", "program.c", text);
    let told = place.run(&["check", "program.c", "--traces", "--svg", "a.svg"]);
    told.expect(
        0,
        &["execution 1 of 2: v1:", "execution 2 of 2: v1:", "note: a.svg shows the first execution\n"],
    );
    let svg = std::fs::read_to_string(place.directory.join("a.svg")).unwrap();
    for part in
        [">4 steps of 2 threads</text>", ">pthread_create(add)</text>", ">writes x=5</text>", "<path "]
    {
        assert!(svg.contains(part), "no {part} in {svg}");
    }
    place.run(&["check", "program.c", "--final-states"]).refused(&[
        "error: --final-states lists states, which can't be told for this kind of program; --traces tells its executions\n",
    ]);
    place.run(&["print", "program.c"]).refused(&["program.c: print is not supported for .c files"]);
}

#[test]
fn random_walks_find_failures_and_never_pass() {
    for (at, (program, kind)) in FAILING.into_iter().enumerate() {
        check(&format!("random{at}"), program, &["--algorithm", "random"])
            .expect(1, &[&format!("failure: {kind} in program.maz (random)\n"), "\nreplay: mazurka check "]);
    }
    let sample = "but random walks are a sample of the executions; optimal looks at all of them\n";
    check("random", ATOMIC, &["--algorithm", "random"]).expect(
        3,
        &[
            "not exhaustive: no failure so far in program.maz (random), ",
            sample,
            "executions: 10000 complete",
        ],
    );
    check("random", ATOMIC, &["--algorithm", "random", "--max-executions", "7"])
        .expect(3, &["but the limit of 7 executions was reached\nexecutions: 7 complete, "]);
    check("random", HUGE, &["--algorithm", "random", "--timeout", "0.2"])
        .expect(3, &["but the time limit of 0.2 s was reached\n"]);
}

#[test]
fn a_seed_stands_for_its_walks() {
    let first = |seed: &str| {
        let options =
            ["--algorithm", "random", "--max-executions", "3", "--traces", "--seed", seed, "--json"];
        check_object(&check("random-seed", HUGE, &options))["traces"].clone()
    };
    assert_eq!(first("1"), first("1"));
    assert_ne!(first("1"), first("2"));
}
