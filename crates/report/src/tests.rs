//! What reports say of small programs.

use std::ops::ControlFlow;

use mazurka_explore::{Algorithm, Limits, Options};
use mazurka_program::{FailureKind, Place, Schedule};

use crate::toy::Op::{AssumeNot, Bound, Choose, DoOnce, Expect, FailOnce, Lock, Read, Tell, Unlock, Write};
use crate::toy::{Op, Toy};
use crate::*;

const INCREMENT: &[Op] = &[Read(0), Write(0, 1)];
const CHECKED: &[Op] = &[Read(0), Write(0, 1), Expect(0, 2)];
const AB: &[Op] = &[Lock(0), Lock(1), Unlock(1), Unlock(0)];
const BA: &[Op] = &[Lock(1), Lock(0), Unlock(0), Unlock(1)];

fn subject() -> Subject {
    Subject { program: "toy".to_owned(), ..Subject::default() }
}

fn search(processes: &[&[Op]], keep_going: bool) -> Report {
    let options = Options { keep_going, ..Options::default() };
    check(&Toy::new(processes), subject(), Algorithm::Naive, &options, None).unwrap()
}

fn run(processes: &[&[Op]], schedule: &str) -> Result<Report, Misfit> {
    check_schedule(&Toy::new(processes), subject(), schedule.parse().unwrap())
}

fn shown(report: &Report) -> String {
    let replay_command = |schedule: &str| format!("again {schedule}");
    text(
        report,
        &TextOptions { width: 120, colour: false, full_trace: false, replay_command: &replay_command },
    )
}

#[test]
fn a_pass_needs_everything_to_be_looked_at() {
    let report = search(&[INCREMENT, INCREMENT], false);
    assert_eq!((report.verdict(), report.counts.complete), (Verdict::Pass, 6));
    assert!(
        shown(&report)
            .starts_with("pass: no execution of toy fails (naive)\nexecutions: 6 complete, 0 blocked")
    );
    let limits = Limits { executions: Some(2), ..Limits::default() };
    let options = Options { limits, ..Options::default() };
    let report =
        check(&Toy::new(&[INCREMENT, INCREMENT]), subject(), Algorithm::Naive, &options, None).unwrap();
    assert_eq!(report.verdict(), Verdict::NotExhaustive);
    assert!(shown(&report).starts_with(
        "not exhaustive: no failure so far in toy (naive), but the limit of 2 executions was reached\n"
    ));
}

#[test]
fn the_first_failure_ends_the_search_and_its_story_ends_with_it() {
    let report = search(&[CHECKED, INCREMENT], false);
    assert_eq!((report.verdict(), report.failures.len()), (Verdict::Failure, 1));
    assert!(report.reason.as_ref().unwrap().starts_with("the search stopped at the first failure"));
    let failure = &report.failures[0];
    assert_eq!((failure.failure.kind, failure.process.as_deref()), (FailureKind::Assertion, Some("p0")));
    let replay = failure.replay.as_ref().unwrap();
    assert_eq!(replay.steps.len(), failure.schedule.as_ref().unwrap().steps.len());
    assert_eq!(replay.steps.last().unwrap().operation, "Expect(0, 2)");
}

#[test]
fn a_printed_schedule_gives_its_failure_again() {
    for processes in [&[CHECKED, INCREMENT], &[CHECKED, CHECKED], &[AB, BA]] {
        for mut failure in search(processes, true).failures {
            failure.executions = None;
            let again = run(processes, &failure.schedule.clone().unwrap().to_string()).unwrap();
            assert!(again.failures.contains(&failure), "{failure:?}");
        }
    }
}

#[test]
fn distinct_failures_are_told_once_each() {
    let report = search(&[CHECKED, CHECKED], true);
    assert_eq!((report.failures.len(), &report.reason), (2, &None));
    let text = shown(&report);
    assert!(text.starts_with("failure: 2 different failures in toy (naive)\n"), "{text}");
    assert!(text.contains("\n[1 of 2] assertion: not as expected\n  at toy:3:"), "{text}");
}

#[test]
fn failures_that_differ_in_values_only_are_one() {
    let writer: &[Op] = &[Read(0), Write(0, 1)];
    let report = search(&[writer, writer, &[Tell(0)]], true);
    let [failure] = report.failures.as_slice() else { panic!("{:?}", report.failures) };
    assert_eq!((report.counts.complete, failure.executions, failure.varies), (30, Some(30), true));
    let text = shown(&report);
    assert!(text.starts_with("failure: assertion in toy (naive)\n"), "{text}");
    assert!(
        text.contains("\n  seen in 30 executions, in some with other values; this is the first\n"),
        "{text}"
    );
    // One execution is one, however often it shows a failure at one place, and however many it shows.
    let report = search(&[&[Tell(0), Tell(0)], &[Expect(0, 0)]], true);
    assert_eq!(report.failures.len(), 2);
    assert_eq!(report.failures.iter().map(|f| f.executions).collect::<Vec<_>>(), [Some(3), Some(3)]);
    assert!(shown(&report).contains("\n  seen in 3 executions; this is the first\n"));
    let report = search(&[&[Tell(0)]], true);
    assert!(shown(&report).contains("\n  seen in one execution\n"));
    // Nobody counted where the search ended with the first.
    let report = search(&[writer, writer, &[Tell(0)]], false);
    assert_eq!(report.failures[0].executions, None);
    assert!(!shown(&report).contains("seen in"));
}

#[test]
fn deadlocks_at_the_same_places_are_one() {
    let report = search(&[AB, BA, &[Read(0)]], true);
    let [failure] = report.failures.as_slice() else { panic!("{:?}", report.failures) };
    assert!(failure.executions > Some(1) && failure.executions == Some(report.counts.deadlocks));
    // A third that waits for one of the two is no other deadlock; one that takes a lock for good is.
    let report = search(&[AB, BA, &[Lock(0), Unlock(0)]], true);
    assert_eq!(report.failures.len(), 1, "{:?}", report.failures);
    let report = search(&[AB, BA, &[Lock(0)]], true);
    let messages: Vec<&str> = report.failures.iter().map(|f| f.failure.message.as_str()).collect();
    assert_eq!(messages.len(), 4, "{messages:?}");
}

#[test]
fn who_watches_may_end_the_search() {
    let long: &[Op] = &[Write(0, 1); 8];
    let mut calls = 0;
    let mut watch = |_: &_, _: f64| {
        calls += 1;
        if calls == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let toy = Toy::new(&[long, long, long]);
    let report = check(&toy, subject(), Algorithm::Naive, &Options::default(), Some(&mut watch)).unwrap();
    assert_eq!(report.verdict(), Verdict::NotExhaustive);
    assert_eq!(report.reason.as_deref(), Some("the search was interrupted"));
    assert_eq!(calls, 2, "it ended at once");
    // What was found by then is told.
    let failing: &[Op] = &[Expect(0, 7)];
    let toy = Toy::new(&[long, long, failing]);
    let options = Options { keep_going: true, ..Options::default() };
    let mut watch = |_: &_, _: f64| ControlFlow::Break(());
    let report = check(&toy, subject(), Algorithm::Naive, &options, Some(&mut watch)).unwrap();
    assert_eq!((report.verdict(), report.failures.len()), (Verdict::Failure, 1));
    assert!(shown(&report).contains("\nthe search was interrupted\n"));
}

#[test]
fn a_bug_of_ours_is_no_verdict_unless_there_is_a_failure() {
    let options = Options { keep_going: true, ..Options::default() };
    let naive = |processes: &[&[Op]]| {
        let toy = Toy::new(processes);
        let row = comparison_row(&toy, Algorithm::Naive, &options, None);
        let comparison = Comparison { subject: subject(), rows: vec![row], not_run: vec![] };
        (check(&toy, subject(), Algorithm::Naive, &options, None), comparison)
    };
    let (report, comparison) = naive(&[&[Read(0)], &[DoOnce]]);
    let error = report.unwrap_err();
    assert_eq!(error.to_string(), "naive: a process was planned that can't take a step");
    assert_eq!((comparison.verdict(), comparison.internal_error()), (None, Some(error)));
    #[cfg(feature = "json")]
    assert!(json::comparison_json(&comparison).contains("\"verdict\":null"));
    let (report, comparison) = naive(&[&[Expect(0, 1)], &[DoOnce]]);
    let report = report.unwrap();
    assert_eq!((report.verdict(), comparison.verdict()), (Verdict::Failure, Some(Verdict::Failure)));
    assert!(report.reason.as_ref().unwrap().starts_with("internal error: "), "{:?}", report.reason);
}

#[test]
fn many_that_wait_are_not_all_told() {
    let mut processes: Vec<&[Op]> = vec![&[Lock(0)]];
    processes.extend([&[Lock(0)][..]; 30]);
    let text = shown(&run(&processes, "v1:0").unwrap());
    assert!(text.contains("\n  p20  line 1  lock(0)  for ") && !text.contains("\n  p21  "), "{text}");
    assert!(text.contains("\n  ... 10 more wait; --full-trace shows them\n"), "{text}");
}

#[test]
fn a_table_tells_who_did_what_and_where_values_came_from() {
    let report = run(&[CHECKED, INCREMENT], "v1:0,1*2,0*2").unwrap();
    let text = shown(&report);
    let table: Vec<&str> = text.lines().skip_while(|line| !line.starts_with("  step")).collect();
    let expected = [
        "  step  line  p0            p1",
        "     1     1  Read(0)                    reads x=0 (initial)",
        "     2     1                Read(0)      reads x=0 (initial)",
        "     3     2                Write(0, 1)  writes x=1",
        "     4     2  Write(0, 1)                writes x=1",
        ">    5     3  Expect(0, 2)               reads x=1 from step 4",
        "",
        "replay: again v1:0,1*2,0*2",
    ];
    assert_eq!(table, expected);
}

#[test]
fn a_deadlock_tells_who_waits_for_whom() {
    let report = search(&[AB, BA], true);
    assert_eq!(report.failures.len(), 1);
    assert_eq!(report.failures[0].failure.message, "p0 waits at lock(1), p1 waits at lock(0)");
    let text = shown(&report);
    let expected = "
waiting:
  p0  line 2  lock(1)  for lock 1, held by p1 since line 1
  p1  line 2  lock(0)  for lock 0, held by p0 since line 1
cycle: p0 -> p1 -> p0
";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn what_does_not_repeat_itself_is_a_failure_of_its_own() {
    let report = search(&[&[FailOnce]], false);
    let failure = &report.failures[0].failure;
    assert_eq!(failure.kind, FailureKind::Nondeterminism);
    assert!(failure.message.contains("(assertion: once only)"), "{}", failure.message);
    assert!(failure.message.ends_with("run again nothing failed"), "{}", failure.message);
}

#[test]
fn a_schedule_that_does_not_fit_is_refused_with_the_step_and_the_reason() {
    for (processes, schedule, expected) in [
        (&[AB, BA], "v1:7", "step 1: there is no process 7 at this point"),
        (&[AB, BA], "v1:0.1", "step 1: there is no process 0.1 at this point"),
        (
            &[AB, BA],
            "v1:0,1,0",
            "step 3: p0 (0) can't go on: it waits at lock(1) for lock 1, held by p1 since line 1",
        ),
        (&[INCREMENT, BA], "v1:0*3", "step 3: p0 (0) can't go on: it has finished"),
        (
            &[INCREMENT, BA],
            "v1:0#1",
            "step 1: the step of p0 (0) has one outcome, counted from 0; there is no #1",
        ),
        (
            &[&[Choose(3)], BA],
            "v1:0#3",
            "step 1: the step of p0 (0) has 3 outcomes, counted from 0; there is no #3",
        ),
    ] {
        let misfit = run(processes, schedule).unwrap_err().to_string();
        assert_eq!(misfit, format!("the schedule does not fit the program: {expected}"));
    }
}

#[test]
fn a_replay_is_never_a_pass() {
    for (processes, schedule, expected) in [
        (&[INCREMENT, INCREMENT], "v1:0*2,1*2", "only one schedule was run, to its end"),
        (&[INCREMENT, INCREMENT], "v1:0*2", "only one schedule was run, and p1 could still go on"),
        (&[INCREMENT, INCREMENT], "v1:", "only one schedule was run, and p0, p1 could still go on"),
        (
            &[&[AssumeNot(0)], INCREMENT],
            "v1:0,1*2",
            "only one schedule was run, and ended in a false assumption",
        ),
        (&[&[Bound], INCREMENT], "v1:0", "only one schedule was run, and stopped early: a toy ends here"),
    ] {
        let report = run(processes, schedule).unwrap();
        assert_eq!(report.verdict(), Verdict::NotExhaustive);
        assert_eq!(report.reason.as_deref(), Some(expected));
    }
}

#[test]
fn a_false_assumption_everywhere_is_pointed_out() {
    let report = search(&[&[AssumeNot(0)]], false);
    assert_eq!((report.verdict(), report.counts.assumed), (Verdict::Pass, 1));
    assert!(shown(&report).contains("note: an assumption was false in every execution"));
}

#[test]
fn long_stories_keep_both_ends_and_what_the_failing_process_did() {
    let noise = vec![Write(1, 0); 200];
    let processes: &[&[Op]] = &[CHECKED, &noise];
    let report = run(processes, "v1:1*50,0,1*50,0,1*90,0").unwrap();
    let text = shown(&report);
    let steps: Vec<&str> =
        text.lines().filter_map(|line| line.trim_start_matches('>').split_whitespace().next()).collect();
    for step in ["1", "51", "102", "192", "193", "..."] {
        assert!(steps.contains(&step), "{step}: {text}");
    }
    assert!(steps.len() < 60 && text.contains("38 steps left out; --full-trace shows them"), "{text}");
    let replay_command = |schedule: &str| schedule.to_owned();
    let options =
        TextOptions { width: 120, colour: false, full_trace: true, replay_command: &replay_command };
    assert!(super::text(&report, &options).lines().count() > 193);
}

#[test]
fn no_more_failures_are_kept_than_a_person_reads() {
    let many: Vec<Op> = (1..=101).map(|value| Expect(0, value)).collect();
    let report = search(&[&many], true);
    assert_eq!((report.failures.len(), report.more_failures), (MAX_FAILURES, true));
    assert!(shown(&report).starts_with("failure: more than 100 different failures in toy"));
}

#[test]
fn a_schedule_too_long_for_a_command_line_is_not_made_part_of_one() {
    let long: Vec<Op> = vec![Write(0, 1); 40_000];
    let schedule: String =
        (0..80_000).map(|at| format!("{}{}", if at > 0 { "," } else { "v1:" }, at % 2)).collect();
    let failing: Vec<Op> = long.iter().copied().chain([Expect(0, 7)]).collect();
    let report = run(&[&failing, &long], &format!("{schedule},0")).unwrap();
    let text = shown(&report);
    assert!(text.ends_with("is too long for a command line; --json prints it)\n"), "{text}");
    assert!(text.contains("\nreplay: again @FILE (the schedule, of 160004 characters, "));
}

#[test]
fn a_report_speaks_as_its_readers_do() {
    let wording = Wording {
        process: "thread",
        keep_going: "GO",
        max_depth: "DEPTH",
        max_unroll: "UNROLL",
        seed: "SEED",
        full_trace: "FULL",
        ..Wording::COMMAND
    };
    let subject = || Subject { program: "toy".to_owned(), wording, ..Subject::default() };
    let options = |keep_going, depth| Options {
        keep_going,
        limits: Limits { depth, ..Limits::default() },
        ..Options::default()
    };
    let toy = Toy::new(&[CHECKED, INCREMENT]);
    let report = |keep_going, depth| {
        check(&toy, subject(), Algorithm::Naive, &options(keep_going, depth), None).unwrap()
    };
    let failing = report(false, 100);
    assert_eq!(
        failing.reason.as_deref(),
        Some("the search stopped at the first failure (GO looks for others)")
    );
    let cut = "an execution was cut after 1 step; bound its loops";
    let reason = |keep_going| report(keep_going, 1).reason.unwrap();
    assert_eq!(reason(false), format!("{cut}, raise DEPTH, or go on with GO and a SEED"));
    assert_eq!(reason(true), format!("{cut} or raise DEPTH (another SEED may show more)"));
    let many = vec![INCREMENT; 12];
    let list = check_schedule(&Toy::new(&many), subject(), "v1:0,1,2,3,4,5,6,7,8,9,10,11".parse().unwrap());
    assert!(shown(&list.unwrap()).contains("\n  step  line  thread  operation\n"));
}

#[test]
fn a_memory_model_and_notes_are_told() {
    let mut report = search(&[INCREMENT], false);
    report.memory_model = Some("sequential consistency");
    report.notes.push("something\nelse".to_owned());
    let text = shown(&report);
    assert!(text.starts_with("pass: no execution of toy fails (naive; sequential consistency)\n"), "{text}");
    assert!(text.ends_with("\nnote: something else\n"), "{text}");
}

#[test]
fn a_message_of_several_lines_keeps_them() {
    let mut report = search(&[&[Expect(0, 1)]], false);
    report.failures[0].failure.message = "not equal\n  left: 1\n right: 2".to_owned();
    let text = shown(&report);
    assert!(text.contains("\nassertion: not equal\n    left: 1\n   right: 2\n  at toy:1:"), "{text}");
}

#[test]
fn the_step_of_who_failed_is_marked_though_others_went_on() {
    let mut report = run(&[CHECKED, INCREMENT], "v1:0,1*2,0*2").unwrap();
    let place = report.failures[0].failure.place.clone().map(|place| Place { line: 9, ..place });
    report.failures[0].failure.place = place;
    report.failures[0].process = Some("p1".to_owned());
    let text = shown(&report);
    assert!(
        text.contains("\n>    3     2                Write(0, 1)  writes x=1; fails in line 9\n"),
        "{text}"
    );
    report.failures[0].process = Some("p7".to_owned());
    let text = shown(&report);
    assert!(
        text.contains(
            "\n>    5     3  Expect(0, 2)               reads x=1 from step 4; p7 fails in line 9\n"
        ),
        "{text}"
    );
}

#[test]
fn many_processes_make_a_list() {
    let processes = [INCREMENT; 12];
    let schedule: String = (0..12).map(|at| format!("{}{at}", if at > 0 { "," } else { "v1:" })).collect();
    let report = run(&processes, &schedule).unwrap();
    let text = shown(&report);
    assert!(text.contains("\n  step  line  process  operation\n"), "{text}");
    assert!(text.contains("\n    12     1  p11      Read(0)    reads x=0 (initial)\n"), "{text}");
}

#[test]
fn a_narrow_terminal_breaks_remarks() {
    let report = run(&[CHECKED, INCREMENT], "v1:0,1*2,0*2").unwrap();
    let replay_command = |schedule: &str| schedule.to_owned();
    let options =
        TextOptions { width: 50, colour: false, full_trace: false, replay_command: &replay_command };
    let text = super::text(&report, &options);
    let replay: Vec<&str> = text.lines().skip_while(|line| !line.starts_with("  step")).collect();
    assert!(replay.iter().all(|line| line.len() <= 50), "{text}");
    assert!(text.contains("\n>    5     3  p0       Expect(0, 2)  reads x=1\n"), "{text}");
}

#[test]
fn algorithms_that_disagree_are_told() {
    let failing = comparison_row(&Toy::new(&[CHECKED]), Algorithm::Naive, &Options::default(), None);
    let passing = ComparisonRow { algorithm: Algorithm::Source, failures: vec![], ..failing.clone() };
    let comparison = Comparison { subject: subject(), rows: vec![failing, passing], not_run: vec![] };
    assert_eq!(comparison.verdict(), None);
    let told = comparison.disagreement().unwrap();
    assert_eq!(told, "naive met a failure that source missed (assertion: not as expected)");
}

#[test]
fn only_rows_of_one_program_can_disagree() {
    let row = |n: &str, algorithm: Algorithm, processes: &[&[Op]]| {
        let row = comparison_row(&Toy::new(processes), algorithm, &Options::default(), None);
        ComparisonRow { parameters: vec![("n".to_owned(), n.to_owned())], ..row }
    };
    let compared = |rows| Comparison { subject: subject(), rows, not_run: vec![] };
    let passing = row("1", Algorithm::Naive, &[INCREMENT]);
    let failing = row("2", Algorithm::Naive, &[CHECKED]);
    let apart = compared(vec![passing.clone(), failing.clone()]);
    assert_eq!((apart.verdict(), apart.disagreement()), (Some(Verdict::Failure), None));
    let wrong = ComparisonRow { algorithm: Algorithm::Source, failures: vec![], ..failing.clone() };
    let told = compared(vec![passing, failing, wrong]).disagreement().unwrap();
    assert_eq!(told, "naive met a failure that source missed (assertion: not as expected), at n = 2");
}

#[test]
fn a_comparison_passes_if_one_search_of_each_program_looked_at_everything() {
    let whole = comparison_row(&Toy::new(&[INCREMENT]), Algorithm::Naive, &Options::default(), None);
    let parameters = |n: &str| vec![("n".to_owned(), n.to_owned())];
    let at = |n: &str, reason: Option<&str>| {
        let (parameters, reason) = (parameters(n), reason.map(str::to_owned));
        ComparisonRow { parameters, reason, ..whole.clone() }
    };
    let verdict = |rows: Vec<ComparisonRow>, not_run: &[&str]| {
        let never = |n: &&str| NotRun { parameters: parameters(n), algorithm: Algorithm::Source };
        let not_run = not_run.iter().map(never).collect();
        Comparison { subject: subject(), rows, not_run }.verdict().unwrap()
    };
    let cut = Some("it was cut");
    for (rows, not_run, expected) in [
        (vec![at("1", None), at("2", None)], &[][..], Verdict::Pass),
        (vec![at("1", cut), at("1", None), at("2", None)], &[], Verdict::Pass),
        (vec![at("1", None), at("2", cut)], &[], Verdict::NotExhaustive),
        (vec![at("1", None), at("2", None)], &["2"], Verdict::Pass),
        (vec![at("1", None)], &["2"], Verdict::NotExhaustive),
        (vec![], &["1"], Verdict::NotExhaustive),
    ] {
        assert_eq!(verdict(rows.clone(), not_run), expected, "{rows:?} {not_run:?}");
    }
}

#[test]
fn the_empty_schedule_shows_a_failure_at_the_start() {
    assert_eq!(Schedule::default().to_string(), "v1:");
    let text = shown(&run(&[INCREMENT], "v1:").unwrap());
    assert!(text.contains("no step was taken"), "{text}");
}
