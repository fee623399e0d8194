//! The repairs, by name: each can be taken out, and is then missed.

use mazurka_explore::Algorithm;

use crate::Build;

/// A build with one repair taken out.
#[derive(Clone, Copy, Debug)]
pub struct BrokenBuild {
    /// The name of the repair.
    pub repair: &'static str,
    /// What the build does instead.
    pub instead: &'static str,
    /// The build.
    pub build: Build,
    /// The algorithm that misses it most.
    pub algorithm: Algorithm,
}

impl BrokenBuild {
    /// Whether the repair is a part of the rule for loops: only programs that may run for ever miss it.
    pub fn is_about_loops(&self) -> bool {
        self.build.rules.rounds != Build::default().rules.rounds
    }
}

/// The algorithm, the name of the repair and its switch, then what the build does without it.
macro_rules! broken_builds {
    ($($algorithm:ident $repair:literal $part:ident $(.$field:ident)+: $instead:literal;)*) => {
        vec![$({
            let mut build = Build::default();
            build.$part $(.$field)+ = false;
            BrokenBuild { repair: $repair, instead: $instead, build, algorithm: Algorithm::$algorithm }
        }),*]
    };
}

/// All builds that are broken on purpose.
pub fn broken_builds() -> Vec<BrokenBuild> {
    broken_builds! {
        Source "initials" rules.source.initials: "source tests weak initials";
        Source "static-footprints" rules.source.static_footprints: "source uses what a step really touched";
        Optimal "every-guard-writer" rules.shared.every_guard_writer:
            "a guarded step races with immediate predecessors only";
        Optimal "waiting-races" rules.shared.waiting_races: "a process that waits at the end does not race";
        Optimal "guard-must-hold" rules.shared.guard_must_hold:
            "a guard's writer races though the guard does not hold without it";
        Optimal "rerun-varying" rules.optimal.rerun_varying: "optimal keeps the label of a reversed step";
        Optimal "sleep-test" rules.optimal.sleep_test: "optimal inserts redundant sequences";
        Optimal "weak-initials" rules.optimal.weak_initials: "optimal follows only initials in a wakeup tree";
        Optimal "other-outcomes" rules.optimal.other_outcomes:
            "optimal forgets outcomes that no sequence has";
        Optimal "old-races" rules.optimal.old_races: "optimal forgets the races of a shared prefix";
        Optimal "wake" rules.shared.wake: "a sleeping process sleeps on";
        WakeUp "guard-cuts" rules.wake_up.guard_cuts:
            "wake-up tries a step that was kept waiting only where its race is";
        WakeUp "varying-cuts" rules.wake_up.varying_cuts:
            "wake-up tries a step that varies only before its event";
        WakeUp "early-outcomes" rules.wake_up.early_outcomes:
            "wake-up tries outcomes only behind an event that has not got them";
        WakeUp "least-outcome" rules.wake_up.least_outcome:
            "a waker whose outcome is gone leaves its parent as if it could not go on";
        WakeUp "hides-nobody" rules.wake_up.hides_nobody:
            "the canonical sleeper may hide another from the waker";
        WakeUp "run-varying" rules.wake_up.run_varying: "wake-up keeps the label of a step in a new place";
        WakeUp "guard-writers-last" rules.wake_up.guard_writers_last:
            "a writer of the waker's guard may be the canonical sleeper";
        WakeUp "outcomes" rules.wake_up.outcomes: "wake-up tries no other outcome";
        WakeUp "others-go-on" rules.wake_up.others_go_on:
            "wake-up does not ask whether somebody else would come first";
        WakeUp "waker-stays" rules.wake_up.waker_stays:
            "wake-up takes the last waker to be in every parent's beginning";
        Convergent "merge-asleep" rules.convergent.merge_asleep:
            "convergent merges states whoever slept there";
        Convergent "merged-conflicts" rules.convergent.merged_conflicts:
            "convergent forgets what is below a merged state";
        Convergent "wake-needed" rules.convergent.wake_needed: "convergent never wakes a sleeper";
        Convergent "need-enablers" rules.convergent.need_enablers:
            "convergent forgets who enables a needed process";
        ConvergentConstraints "uniformly" rules.convergent.uniformly:
            "convergent+constraints asks of the present state only";
        ConvergentConstraints "enabled-by-others" rules.convergent.enabled_by_others:
            "convergent+constraints holds back who waited for a step, whoever else enables it";
        ConvergentConstraints "wake-by-footprints" rules.convergent.wake_by_footprints:
            "convergent+constraints lets sleep who commutes";
        SourceContext "race-everybody" rules.source_context.race_everybody:
            "source+context races only those who go on";
        SourceContext "single-event" rules.source_context.single_event:
            "source+context cuts whatever leads to the same state";
        SourceContext "compare-failures" rules.source_context.compare_failures:
            "source+context cuts what fails";
        SourceConstraints "carry-records" rules.source_constraints.carry_records:
            "source+constraints forgets what was found behind a sleeper's step";
        SourceConstraints "need-for-sleepers" rules.source_constraints.need_for_sleepers:
            "source+constraints asks for nobody on behalf of who sleeps";
        SourceConstraints "constraints-uniformly" rules.source_constraints.uniformly:
            "source+constraints asks of the present state only";
        SourceConstraints "let-go-by-others" rules.source_constraints.enabled_by_others:
            "source+constraints holds back who waited for a step, whoever else enables it";
        SourceConstraints "commute-asleep" rules.source_constraints.commute_asleep:
            "source+constraints lets sleep whoever has a block";
        OptimalObservers "carry-observer" rules.observers.carry_observer:
            "the sequence of an observed race has no observer";
        OptimalObservers "views" rules.observers.views:
            "a step that reads something new sees one order of unobserved writes";
        OptimalObservers "keep-unobserved" rules.observers.keep_unobserved:
            "an explored event is woken by what nobody has observed yet";
        OptimalObservers "unequal-writes" rules.observers.unequal_writes:
            "writes of unequal sets of variables race only if observed";
        OptimalObservers "awaited-writes" rules.observers.awaited_writes:
            "writes that a guard waits for race only if observed";
        OptimalObservers "selective" rules.observers.selective:
            "messages race though the receive takes only one of them";
        DataCentric "tags" rules.data_centric.tags: "a negative annotation forbids whatever was pinned with it";
        DataCentric "pending" rules.data_centric.pending: "a process that waits at the end is not mutated";
        DataCentric "guarded-mutations" rules.data_centric.guard_must_hold:
            "an acquire is mutated to where the lock is held";
        DataCentric "varying" rules.data_centric.varying: "a mutated step writes what it wrote before";
        DataCentric "saturation" rules.data_centric.saturation:
            "Realize knows program order and observations only";
        DataCentric "transitivity" rules.data_centric.transitivity:
            "2SAT orders each pair of processes by itself";
        DataCentric "reduction" rules.data_centric.reduction: "cyclic architectures are taken for acyclic ones";
        ReadsFrom "swap" rules.reads_from.swap: "no step is tried before the read that kept it from coming";
        ReadsFrom "acquire" rules.reads_from.acquire: "a lock is taken next by whoever comes first";
        ReadsFrom "freeze" rules.reads_from.freeze: "nobody waits who could go on";
        ReadsFrom "hold-back" rules.reads_from.hold_back: "whoever could go on once can do so for ever";
        ReadsFrom "later-writes" rules.reads_from.later_writes:
            "what nobody was seen to write later nobody writes later";
        ReadsFrom "overwrite" rules.reads_from.overwrite: "what somebody waits to update is taken to be only updated";
        ReadsFrom "overwrite-aside" rules.reads_from.overwrite_aside:
            "what was only updated in the executions so far is taken to be only updated";
        ReadsFrom "find-out" rules.reads_from.find_out: "a step touches what it touched, whatever it reads";
        Optimal "restored" rules.rounds.restored: "a round may leave other values behind";
        Optimal "alone" rules.rounds.alone: "others may come between the steps of an own round";
        Optimal "joint" rules.rounds.joint: "rounds of several processes are not looked for";
        Optimal "guard-is-one-location" labels.guard_is_one_location: "each variable of a guard on its own";
        Source "static-labels" labels.static_footprints: "labels of source are not static";
        Optimal "failed-try-lock" labels.failed_try_lock_counts: "a failed try_lock touches nothing";
    }
}
