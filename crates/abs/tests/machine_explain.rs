//! What people are told.

use crate::machine_support::{bench, program};
use mazurka_abs::{Abs, AbsRun, SegmentEnd, SegmentStart};
use mazurka_program::{Explain, Footprints, Label, ProcessId, Program, Run};

/// Runs the processes with these paths, one step each, and tells the steps.
fn tell(program: &Abs, schedule: &[&[u32]]) -> (AbsRun, Vec<String>) {
    let mut run = program.start(Footprints::Dynamic);
    let mut told = Vec::new();
    for path in schedule {
        let process = run.names().find(path).expect("a process of that path");
        let step = run.step_explained(process, 0).expect("a step");
        let observed = |what: &str, list: &[mazurka_program::Observed]| -> String {
            let one = |o: &mazurka_program::Observed| match o.source {
                Some(step) => format!(" {what} {} = {} of step {step}", o.name, o.value),
                None => format!(" {what} {} = {}", o.name, o.value),
            };
            list.iter().map(one).collect()
        };
        let note = step.note.map_or(String::new(), |note| format!(" [{note}]"));
        told.push(
            step.operation + &observed("reads", &step.reads) + &observed("writes", &step.writes) + &note,
        );
    }
    (run, told)
}

#[test]
fn the_deadlock_of_the_database() {
    let (run, told) = tell(&program(&bench("db1")), &[&[0], &[0, 0], &[0, 1]]);
    assert_eq!(
        told,
        [
            "start -> return [new DBImp_1; new WorkerImp_2; DBImp_1!register(WorkerImp_2); \
             WorkerImp_2!work(DBImp_1)]",
            "start -> blocked at line 16 for ping 0.0.0 of WorkerImp_2 [WorkerImp_2!ping(5)]",
            "start -> blocked at line 32 for getData 0.1.0 of DBImp_1 [DBImp_1!getData(WorkerImp_2)]",
        ]
    );
    assert!(run.enabled().is_empty());
    let waiting = run.explain_waiting();
    let told: Vec<String> =
        waiting.iter().map(|wait| format!("{} waits for {}", wait.operation, wait.waits_for)).collect();
    assert_eq!(
        told,
        [
            "Int r = f.get waits for ping 0.0.0 of WorkerImp_2, and holds cog DBImp_1",
            "datum = f.get waits for getData 0.1.0 of DBImp_1, and holds cog WorkerImp_2",
            "start waits for cog WorkerImp_2, held by work 0.1 of WorkerImp_2",
            "start waits for cog DBImp_1, held by register 0.0 of DBImp_1",
        ]
    );
    assert_eq!(
        run.deadlock_message(&waiting).expect("a cycle"),
        "register 0.0 of DBImp_1 blocks cog DBImp_1 until ping 0.0.0 of WorkerImp_2 returns, which can't start since \
         work 0.1 of WorkerImp_2 blocks cog WorkerImp_2 until getData 0.1.0 of DBImp_1 returns, which can't start since \
         register 0.0 of DBImp_1 blocks cog DBImp_1"
    );
}

#[test]
fn reads_and_writes_with_their_sources() {
    let (run, told) = tell(&program(&bench("cav18")), &[&[0], &[0, 0], &[0, 2], &[0, 1]]);
    assert_eq!(
        told[1..],
        [
            "start -> return reads SharedImp_1.x = -2 of step 0 writes \
             SharedImp_1.x = -1",
            "start -> return reads SharedImp_1.x = -1 of step 1 reads \
             SharedImp_1.z = -2 of step 0 writes SharedImp_1.x = 0 writes SharedImp_1.z = -1",
            "start -> return reads SharedImp_1.z = -1 of step 2",
        ]
    );
    assert_eq!(run.state_terms().unwrap(), ["object(SharedImp_1,'SharedImp',[field(z,-1),field(x,0)])"]);
}

#[test]
fn a_segment_as_data() {
    let program = program(
        "module M;
         interface A { Int twice(Int n); }
         class C implements A {
           List<Int> seen = Nil;
           Int twice(Int n) { seen = Cons(n, seen); println(\"hi\"); suspend; return n * 2; }
         }
         { A a = new C(); Fut<Int> f = a!twice(4); await f?; Int r = f.get; assert r == 9; }",
    );
    let mut run = program.start(Footprints::Dynamic);
    let (main, task) = (ProcessId(0), ProcessId(1));
    let mut label = Label::default();
    let first = run.step_recorded(main, 0, &mut label).expect("a step");
    assert_eq!((first.start, &first.end), (SegmentStart::Starts, &SegmentEnd::Awaits(vec![task])));
    assert_eq!((first.created, first.calls[0].call.as_str()), (vec!["C_1".to_owned()], "C_1!twice(4)"));
    assert_eq!((label.spawned.as_slice(), first.calls[0].task), (&[task][..], task));
    let second = run.step_recorded(task, 0, &mut Label::default()).expect("a step");
    assert_eq!((second.object.as_deref(), second.printed), (Some("C_1"), vec!["hi".to_owned()]));
    assert_eq!(second.end, SegmentEnd::Suspended);
    assert_eq!(run.state_terms().unwrap(), ["object(C_1,'C',[field(seen,list[4])])"]);
    let third = run.step_recorded(task, 0, &mut Label::default()).expect("a step");
    assert_eq!((third.start, third.end), (SegmentStart::Resumes, SegmentEnd::Returned("8".to_owned())));
    let last = run.step_recorded(main, 0, &mut Label::default()).expect("a step");
    assert_eq!(last.end, SegmentEnd::Threw("AssertionFailException".to_owned()));
    let failure = &run.failures()[0];
    assert_eq!(failure.message, "assertion failed: r == 9 (AssertionFailException leaves main)");
    assert_eq!(failure.place.as_ref().map(|place| place.line), Some(7));
    run.rewind(3);
    assert!(run.failures().is_empty());
}
