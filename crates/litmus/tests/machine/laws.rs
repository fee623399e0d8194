//! What must hold of every run of every program, over random schedules.

use std::collections::BTreeSet;

use mazurka_litmus::LitmusRun;
use mazurka_program::{
    Access, AccessKind, Failure, Footprints, Guard, Label, ProcessId, Program, Run, State,
};

use super::programs::PROGRAMS;
use super::random;
use super::support::{Random, enabled, is_program, program, waiting};

const BOTH: [Footprints; 2] = [Footprints::Dynamic, Footprints::Static];
const STEPS: usize = 40;

/// All that can be seen of a run between two steps.
#[derive(Debug, PartialEq)]
struct Seen {
    enabled: Vec<ProcessId>,
    alternatives: Vec<u32>,
    waiting: Vec<(u32, Option<(u32, u32)>)>,
    state: Option<State>,
    failures: Vec<Failure>,
    assumed: bool,
}

fn seen(run: &LitmusRun) -> Seen {
    let enabled = enabled(run);
    Seen {
        alternatives: enabled.iter().map(|&p| run.alternatives(p)).collect(),
        enabled,
        waiting: waiting(run),
        state: run.states().map(|states| states.state()),
        failures: run.failures().to_vec(),
        assumed: run.assumed(),
    }
}

/// A schedule that was taken, with all that was seen.
struct Taken {
    steps: Vec<(ProcessId, u32, Label)>,
    seen: Vec<Seen>,
}

fn take(run: &mut LitmusRun, random: &mut Random) -> Taken {
    let mut taken = Taken { steps: Vec::new(), seen: vec![seen(run)] };
    while taken.steps.len() < STEPS && !run.enabled().is_empty() {
        let (p, choice) = pick(run, random);
        let mut label = Label::default();
        run.step(p, choice, &mut label).unwrap();
        taken.steps.push((p, choice, label));
        taken.seen.push(seen(run));
    }
    taken
}

fn pick(run: &LitmusRun, random: &mut Random) -> (ProcessId, u32) {
    let enabled = enabled(run);
    let p = enabled[random.below(enabled.len())];
    (p, random.below(run.alternatives(p) as usize) as u32)
}

/// Calls `with` for many random schedules of every program, with both kinds of footprints.
fn for_all(schedules: usize, with: impl Fn(&str, Footprints, &mut LitmusRun, &mut Random)) {
    for (name, text) in PROGRAMS {
        let program = program(text);
        for footprints in BOTH {
            let mut run = program.start(footprints);
            for seed in 0..schedules {
                let mut random = Random(0x9e37_79b9_7f4a_7c15 ^ (seed as u64 + 1) << 8);
                with(name, footprints, &mut run, &mut random);
                run.rewind(0);
            }
        }
    }
}

#[test]
fn going_back_and_doing_it_again_gives_the_same() {
    for_all(25, |name, footprints, run, random| {
        let taken = take(run, random);
        let end = taken.steps.len();
        for _ in 0..8 {
            let depth = random.below(end + 1);
            run.rewind(depth);
            assert_eq!(seen(run), taken.seen[depth], "{name} {footprints:?} back at {depth}");
            // Another way first, which must leave no trace.
            let other = take(run, random);
            run.rewind(depth);
            assert_eq!(
                seen(run),
                taken.seen[depth],
                "{name} {footprints:?} after {} steps",
                other.steps.len()
            );
            for (at, (p, choice, label)) in taken.steps.iter().enumerate().skip(depth) {
                let mut again = Label::default();
                run.step(*p, *choice, &mut again).unwrap();
                assert_eq!(again, *label, "{name} {footprints:?} step {at}");
                assert_eq!(seen(run), taken.seen[at + 1], "{name} {footprints:?} after step {at}");
            }
        }
    });
}

#[test]
fn a_clone_goes_its_own_way() {
    for_all(5, |name, _, run, random| {
        let taken = take(run, random);
        let mut clone = run.clone();
        clone.rewind(0);
        take(&mut clone, random);
        assert_eq!(seen(run), *taken.seen.last().unwrap(), "{name}");
    });
}

/// From when to when a process stood at the guarded step that it took, or stands at.
#[test]
fn a_guard_held_when_its_process_was_enabled() {
    for_all(25, |name, footprints, run, random| {
        let taken = take(run, random);
        let mut arrived = vec![0; run.names().len()];
        let check = |run: &LitmusRun, p: ProcessId, guard: Guard, from: usize, to: usize| {
            for depth in from..=to {
                let enabled = taken.seen[depth].enabled.contains(&p);
                let held = run.guard_holds_at(guard.id, depth);
                assert_eq!(held, enabled, "{name} {footprints:?}: {p:?} at {depth} of {to}");
            }
        };
        for (at, (p, _, label)) in taken.steps.iter().enumerate() {
            if let Some(guard) = label.guard {
                check(run, *p, guard, arrived[p.index()], at);
            }
            arrived[p.index()] = at + 1;
            label.spawned.iter().for_each(|child| arrived[child.index()] = at + 1);
        }
        let mut pending = Vec::new();
        run.waiting(&mut |p, guard| pending.extend(guard.map(|guard| (p, guard))));
        for (p, guard) in pending {
            check(run, p, guard, arrived[p.index()], taken.steps.len());
        }
    });
}

/// The accesses by the names of their locations, for two runs that may number them differently.
fn named(run: &LitmusRun, label: &Label) -> Vec<(String, AccessKind)> {
    let each =
        |access: &Access| access.locations().map(|l| (run.location_name(l), access.kind)).collect::<Vec<_>>();
    label.accesses.iter().flat_map(each).collect()
}

#[test]
fn static_footprints_cover_dynamic_ones() {
    for (name, text) in PROGRAMS {
        check_cover(name, text, 40);
    }
}

fn check_cover(name: &str, text: &str, schedules: u64) {
    let program = program(text);
    let mut dynamic = program.start(Footprints::Dynamic);
    let mut foreseen = program.start(Footprints::Static);
    for seed in 1..=schedules {
        let mut random = Random(seed * 77_777);
        for _ in 0..STEPS {
            if dynamic.enabled().is_empty() {
                break;
            }
            let (p, choice) = pick(&dynamic, &mut random);
            check_covered(name, &mut dynamic, &mut foreseen, p, choice);
        }
        dynamic.rewind(0);
        foreseen.rewind(0);
    }
}

/// Takes one step in two runs that are at the same place.
fn check_covered(name: &str, dynamic: &mut LitmusRun, foreseen: &mut LitmusRun, p: ProcessId, choice: u32) {
    let (mut touched, mut covering) = (Label::default(), Label::default());
    let failures = dynamic.failures().len();
    dynamic.step(p, choice, &mut touched).unwrap();
    foreseen.step(p, choice, &mut covering).unwrap();
    assert!(!covering.varies, "{name}");
    assert_eq!(touched.spawned, covering.spawned, "{name}");
    assert_eq!(
        dynamic.states().map(|states| states.state()),
        foreseen.states().map(|states| states.state()),
        "{name}"
    );
    // A write that a failure prevented is an update in the one and foreseen as a write in the other.
    let failed = dynamic.failures().len() > failures;
    let covering = named(foreseen, &covering);
    for (location, kind) in named(dynamic, &touched) {
        if location.starts_with("wake-up of") || location.starts_with("message") {
            continue;
        }
        let strong_enough =
            |strong| kind.is_read() || strong == kind || strong == AccessKind::Update || failed;
        let covered = covering.iter().any(|(other, strong)| *other == location && strong_enough(*strong));
        assert!(covered, "{name}: {kind:?} {location} is not in {covering:?}");
    }
}

fn dependent(p: ProcessId, a: &Label, q: ProcessId, b: &Label) -> bool {
    let conflict = |x: &Access, y: &Access| x.overlaps(*y) && !(x.kind.is_read() && y.kind.is_read());
    a.spawned.contains(&q)
        || b.spawned.contains(&p)
        || a.accesses.iter().any(|x| b.accesses.iter().any(|y| conflict(x, y)))
}

fn step(run: &mut LitmusRun, p: ProcessId) -> Label {
    let mut label = Label::default();
    run.step(p, 0, &mut label).unwrap();
    label
}

/// The failures, whatever their order.
fn failures(run: &LitmusRun) -> BTreeSet<Failure> {
    run.failures().iter().cloned().collect()
}

/// The law that reductions rest on: steps whose labels don't conflict can be swapped.
fn check_pair(name: &str, run: &mut LitmusRun, p: ProcessId, q: ProcessId) {
    let depth = run.depth();
    let a = step(run, p);
    let failed = run.failures().len();
    run.rewind(depth);
    let b = step(run, q);
    let (state_q, p_enabled) = (run.states().map(|states| states.state()), run.enabled().contains(p));
    if p_enabled {
        let later = step(run, p);
        if !a.varies && run.failures().len() == failed {
            assert_eq!(kinds(&a), kinds(&later), "{name}: {p:?} after {q:?} at {depth} touches others");
        } else if !a.varies {
            assert_eq!(
                locations(&a),
                locations(&later),
                "{name}: {p:?} after {q:?} at {depth} touches others"
            );
        }
        if !dependent(p, &a, q, &b) {
            let (state, failed, can) =
                (run.states().map(|states| states.state()), failures(run), enabled(run));
            assert_eq!(kinds(&a), kinds(&later), "{name}: {p:?} and {q:?} at {depth}");
            run.rewind(depth);
            step(run, p);
            assert!(run.enabled().contains(q), "{name}: {p:?} disables {q:?} at {depth}");
            let later = step(run, q);
            assert_eq!(kinds(&b), kinds(&later), "{name}: {q:?} and {p:?} at {depth}");
            assert_eq!(
                (run.states().map(|states| states.state()), failures(run), enabled(run)),
                (state, failed, can),
                "{name}: {p:?} {q:?}"
            );
        }
    } else {
        assert!(dependent(p, &a, q, &b), "{name}: {q:?} disables {p:?} at {depth} {state_q:?}");
    }
    run.rewind(depth);
}

fn locations(label: &Label) -> BTreeSet<u32> {
    label.accesses.iter().flat_map(|access| access.locations().map(|location| location.0)).collect()
}

fn kinds(label: &Label) -> BTreeSet<Access> {
    label.accesses.iter().copied().collect()
}

#[test]
fn steps_that_do_not_conflict_commute() {
    for_all(25, |name, footprints, run, random| {
        check_commute(&format!("{name} {footprints:?}"), run, random)
    });
}

fn check_commute(name: &str, run: &mut LitmusRun, random: &mut Random) {
    for _ in 0..STEPS {
        if run.enabled().is_empty() {
            break;
        }
        let can = enabled(run);
        for &p in &can {
            can.iter().filter(|&&q| q != p).for_each(|&q| check_pair(name, run, p, q));
            check_enabling(name, run, p);
        }
        let (p, choice) = pick(run, random);
        run.step(p, choice, &mut Label::default()).unwrap();
    }
}

/// The number of programs can be set: `MACHINE_PROGRAMS=100000 cargo test --release ...`.
#[test]
fn labels_of_random_programs_keep_the_laws() {
    let programs = std::env::var("MACHINE_PROGRAMS").ok().and_then(|n| n.parse().ok()).unwrap_or(1500u64);
    for seed in 1..=programs {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let text = random::text(&mut random);
        // Some have an index out of range, or an await that reads nothing.
        if !is_program(&text) {
            continue;
        }
        let name = format!("program {seed}:\n{text}\n");
        check_cover(&name, &text, 4);
        for footprints in BOTH {
            let mut run = program(&text).start(footprints);
            for _ in 0..3 {
                check_commute(&format!("{name} {footprints:?}"), &mut run, &mut random);
                run.rewind(0);
            }
        }
    }
}

/// A step that enables another process conflicts with that process's step.
fn check_enabling(name: &str, run: &mut LitmusRun, p: ProcessId) {
    let depth = run.depth();
    let waited = waiting(run);
    let a = step(run, p);
    for (q, guard) in waited {
        let q = ProcessId(q);
        if run.enabled().contains(q) {
            let b = step(run, q);
            assert!(dependent(p, &a, q, &b), "{name}: {p:?} enables {q:?} at {depth}: {a:?} {b:?}");
            assert_eq!(b.guard.map(|g| (g.location.0, g.id.0)), guard, "{name}: {q:?} at {depth}");
            run.rewind(depth + 1);
        }
    }
    run.rewind(depth);
}
