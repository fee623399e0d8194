//! `mazurka architecture`: what processes share, in all its forms.

use crate::Place;
use crate::golden::is_as_kept;
use crate::json::object;

const ARCHITECTURE: &str = include_str!("../../../../docs/schema/architecture.schema.json");

/// A path of three processes, and who joins them.
const PATH: &str = "var x, y; lock m;
process a { x = 1; let r = x; }
process b { x = 2; lock(m); y = 1; unlock(m); }
process c { lock(m); let s = y; unlock(m); }
process last { join(a); join(b); join(c); }";

/// Three processes that write and read one variable.
const CYCLE: &str = "var x; process p[i in 0..3] { x = i; let r = x; }";

#[test]
fn a_path_is_acyclic() {
    let place = Place::new("architecture-path", "program.maz", PATH);
    let outcome = place.run(&["architecture", "program.maz", "--svg", "picture.svg"]);
    outcome.expect(0, &["program.maz: acyclic\n", "a    -- b     x*\n", "b    -- c     y, m\n"]);
    assert!(is_as_kept("architecture.txt", &outcome.stdout));
    let picture = std::fs::read_to_string(place.directory.join("picture.svg")).unwrap();
    assert!(is_as_kept("architecture.svg", &picture));
}

#[test]
fn a_cycle_is_told_with_what_is_ordered() {
    let place = Place::new("architecture-cycle", "program.maz", CYCLE);
    let value = object(ARCHITECTURE, &place.run(&["architecture", "program.maz", "--json"]));
    assert_eq!((&value["acyclic"], &value["all_but_two"]), (&false.into(), &false.into()));
    assert_eq!(value["ordered"], serde_json::json!(["x"]));
    assert_eq!(value["links"].as_array().unwrap().len(), 3);
    assert_eq!(
        (&value["not_covered"], &value["partial"]),
        (&serde_json::Value::Null, &serde_json::Value::Null)
    );
}

#[test]
fn what_is_not_covered_or_not_seen_is_said() {
    let awaits = "var x; process p { await x == 1; } process q { x = 1; }";
    let place = Place::new("architecture-awaits", "program.maz", awaits);
    place.run(&["architecture", "program.maz"]).expect(0, &["data-centric does not cover a step that waits"]);
    let place = Place::new("architecture-partial", "program.maz", CYCLE);
    let outcome = place.run(&["architecture", "program.maz", "--max-executions", "1"]);
    outcome.expect(0, &["1 execution; others may share more: the limit of 1 executions was reached"]);
    let place = Place::new("architecture-rust", "program.rs", "fn main() {}");
    assert_eq!(place.run(&["architecture", "program.rs"]).status, 2);
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[test]
fn of_c() {
    let text = "#include <pthread.h>
int shared, other;
void *work(void *p) { shared = 1; return other + p; }
int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, work, 0);
  other = shared;
  pthread_join(thread, 0);
  return 0;
}
";
    let place = Place::new("architecture-c", "program.c", text);
    place
        .run(&["architecture", "program.c"])
        .expect(0, &["program.c: acyclic", "shared", "other", "creates, joins"]);
}
