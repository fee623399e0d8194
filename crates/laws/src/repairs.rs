//! The repairs, by name: each can be taken out, and is then missed.

use mazurka_explore::Rules;
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
}

fn rules(repair: &'static str, instead: &'static str, change: fn(&mut Rules)) -> BrokenBuild {
    let mut subject = Subject::default();
    change(&mut subject.rules);
    BrokenBuild { repair, instead, subject }
}

fn labels(repair: &'static str, instead: &'static str, change: fn(&mut LabelRules)) -> BrokenBuild {
    let mut subject = Subject::default();
    change(&mut subject.labels);
    BrokenBuild { repair, instead, subject }
}

/// All builds that are broken on purpose.
pub fn broken_builds() -> Vec<BrokenBuild> {
    vec![
        rules("initials", "source tests weak initials", |r| r.initials = false),
        rules("static-footprints", "source uses what a step really touched", |r| r.static_footprints = false),
        rules("every-guard-writer", "a guarded step races with immediate predecessors only", |r| {
            r.every_guard_writer = false;
        }),
        rules("waiting-races", "a process that waits at the end does not race", |r| r.waiting_races = false),
        rules("guard-must-hold", "a guard's writer races though the guard does not hold without it", |r| {
            r.guard_must_hold = false;
        }),
        rules("rerun-varying", "optimal keeps the label of a reversed step", |r| r.rerun_varying = false),
        rules("sleep-test", "optimal inserts redundant sequences", |r| r.sleep_test = false),
        rules("weak-initials", "optimal follows only initials in a wakeup tree", |r| r.weak_initials = false),
        rules("other-outcomes", "optimal forgets outcomes that no sequence has", |r| {
            r.other_outcomes = false
        }),
        rules("old-races", "optimal forgets the races of a shared prefix", |r| r.old_races = false),
        rules("wake", "a sleeping process sleeps on", |r| r.wake = false),
        labels("guard-is-one-location", "each variable of a guard on its own", |l| {
            l.guard_is_one_location = false;
        }),
        labels("static-labels", "labels of source are not static", |l| l.static_footprints = false),
        labels("failed-try-lock", "a failed try_lock touches nothing", |l| l.failed_try_lock_counts = false),
    ]
}
