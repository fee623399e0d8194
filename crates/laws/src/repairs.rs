//! The repairs, by name: each can be taken out, and is then missed.

use mazurka_explore::{Algorithm, Rules};
use mazurka_litmus::LabelRules;

use crate::Subject;

/// A build with one repair taken out.
#[derive(Clone, Copy, Debug)]
pub struct BrokenBuild {
    /// The name of the repair.
    pub repair: &'static str,
    /// What the build does instead.
    pub instead: &'static str,
    /// The build.
    pub subject: Subject,
    /// The algorithm that misses it most.
    pub algorithm: Algorithm,
}

fn rules(
    algorithm: Algorithm,
    repair: &'static str,
    instead: &'static str,
    change: fn(&mut Rules),
) -> BrokenBuild {
    let mut subject = Subject::default();
    change(&mut subject.rules);
    BrokenBuild { repair, instead, subject, algorithm }
}

fn labels(
    algorithm: Algorithm,
    repair: &'static str,
    instead: &'static str,
    change: fn(&mut LabelRules),
) -> BrokenBuild {
    let mut subject = Subject::default();
    change(&mut subject.labels);
    BrokenBuild { repair, instead, subject, algorithm }
}

/// All builds that are broken on purpose.
pub fn broken_builds() -> Vec<BrokenBuild> {
    use Algorithm::{Convergent, Optimal, OptimalObservers, Source, SourceContext};
    vec![
        rules(Source, "initials", "source tests weak initials", |r| r.source.initials = false),
        rules(Source, "static-footprints", "source uses what a step really touched", |r| {
            r.source.static_footprints = false
        }),
        rules(Optimal, "every-guard-writer", "a guarded step races with immediate predecessors only", |r| {
            r.shared.every_guard_writer = false;
        }),
        rules(Optimal, "waiting-races", "a process that waits at the end does not race", |r| {
            r.shared.waiting_races = false
        }),
        rules(
            Optimal,
            "guard-must-hold",
            "a guard's writer races though the guard does not hold without it",
            |r| {
                r.shared.guard_must_hold = false;
            },
        ),
        rules(Optimal, "rerun-varying", "optimal keeps the label of a reversed step", |r| {
            r.optimal.rerun_varying = false
        }),
        rules(Optimal, "sleep-test", "optimal inserts redundant sequences", |r| r.optimal.sleep_test = false),
        rules(Optimal, "weak-initials", "optimal follows only initials in a wakeup tree", |r| {
            r.optimal.weak_initials = false
        }),
        rules(Optimal, "other-outcomes", "optimal forgets outcomes that no sequence has", |r| {
            r.optimal.other_outcomes = false
        }),
        rules(Optimal, "old-races", "optimal forgets the races of a shared prefix", |r| {
            r.optimal.old_races = false
        }),
        rules(Optimal, "wake", "a sleeping process sleeps on", |r| r.shared.wake = false),
        rules(Convergent, "merge-asleep", "convergent merges states whoever slept there", |r| {
            r.convergent.merge_asleep = false
        }),
        rules(Convergent, "merged-conflicts", "convergent forgets what is below a merged state", |r| {
            r.convergent.merged_conflicts = false;
        }),
        rules(Convergent, "wake-needed", "convergent never wakes a sleeper", |r| {
            r.convergent.wake_needed = false
        }),
        rules(Convergent, "need-enablers", "convergent forgets who enables a needed process", |r| {
            r.convergent.need_enablers = false
        }),
        rules(SourceContext, "race-everybody", "source+context races only those who go on", |r| {
            r.source_context.race_everybody = false
        }),
        rules(SourceContext, "single-event", "source+context cuts whatever leads to the same state", |r| {
            r.source_context.single_event = false
        }),
        rules(SourceContext, "compare-failures", "source+context cuts what fails", |r| {
            r.source_context.compare_failures = false
        }),
        rules(OptimalObservers, "carry-observer", "the sequence of an observed race has no observer", |r| {
            r.observers.carry_observer = false;
        }),
        rules(
            OptimalObservers,
            "views",
            "a step that reads something new sees one order of unobserved writes",
            |r| {
                r.observers.views = false;
            },
        ),
        rules(
            OptimalObservers,
            "keep-unobserved",
            "an explored event is woken by what nobody has observed yet",
            |r| {
                r.observers.keep_unobserved = false;
            },
        ),
        rules(
            OptimalObservers,
            "unequal-writes",
            "writes of unequal sets of variables race only if observed",
            |r| {
                r.observers.unequal_writes = false;
            },
        ),
        rules(
            OptimalObservers,
            "awaited-writes",
            "writes that a guard waits for race only if observed",
            |r| {
                r.observers.awaited_writes = false;
            },
        ),
        rules(
            OptimalObservers,
            "selective",
            "messages race though the receive takes only one of them",
            |r| r.observers.selective = false,
        ),
        labels(Optimal, "guard-is-one-location", "each variable of a guard on its own", |l| {
            l.guard_is_one_location = false;
        }),
        labels(Source, "static-labels", "labels of source are not static", |l| l.static_footprints = false),
        labels(Optimal, "failed-try-lock", "a failed try_lock touches nothing", |l| {
            l.failed_try_lock_counts = false
        }),
    ]
}
