use mazurka_abs::{Abs, Options, Settings, Source, compile};
use mazurka_litmus::Litmus;
use mazurka_program::{Footprints, Label, Run, Step};

use super::layout::layout;
use super::svg::{CHARACTER, LINE, Picture, Shape, width_of};
use super::*;

fn program(text: &str) -> Abs {
    let source = Source { name: "test.abs".to_owned(), text: text.to_owned() };
    let model = compile(&[source], &Options::default()).unwrap_or_else(|errors| panic!("{errors:#?}"));
    Abs::new(model, Settings::default())
}

/// The execution in which always the first process that can takes a step.
fn first_schedule<P: Program>(program: &P, most: usize) -> Schedule {
    let mut run = program.start(Footprints::Dynamic);
    let mut steps = Vec::new();
    while steps.len() < most {
        let first = run.enabled().iter().next();
        let Some(process) = first else { break };
        steps.push(Step { process: run.names().path(process), choice: 0 });
        run.step(process, 0, &mut Label::default()).expect("a step");
    }
    Schedule { steps }
}

fn diagram(text: &str) -> Diagram {
    let program = program(text);
    Diagram::of(&program, &first_schedule(&program, 5_000), &Wording::COMMAND).expect("the schedule fits")
}

fn litmus(text: &str) -> Litmus {
    let source = mazurka_litmus::Source { name: "test.maz".to_owned(), text: text.to_owned() };
    let ast = mazurka_litmus::parse(&source).unwrap_or_else(|errors| panic!("{errors:#?}"));
    mazurka_litmus::compile(&ast, &source, &[]).unwrap_or_else(|errors| panic!("{errors:#?}"))
}

/// The diagram of a schedule of a program whose lifelines are processes.
fn process_diagram(text: &str, schedule: &str) -> Diagram {
    let schedule: Schedule = schedule.parse().expect("a schedule");
    Diagram::of(&litmus(text), &schedule, &Wording::COMMAND).expect("the schedule fits")
}

/// Left, top, right, bottom.
fn texts(picture: &Picture) -> Vec<(i32, i32, i32, i32, &str)> {
    let one = |shape: &'_ Shape| match shape {
        Shape::Text { x, y, text, .. } => Some((*x, *y, width_of(text) as i32 * CHARACTER)),
        _ => None,
    };
    let words = picture.shapes.iter().filter_map(|shape| match shape {
        Shape::Text { text, .. } => Some(text.as_str()),
        _ => None,
    });
    let places = picture.shapes.iter().filter_map(one);
    places.zip(words).map(|((x, y, width), text)| (x, y, x + width, y + LINE, text)).collect()
}

/// Everything is in the picture, and no two texts meet.
fn check(picture: &Picture) {
    let inside = |x: i32, y: i32| (0..=picture.width).contains(&x) && (0..=picture.height).contains(&y);
    let texts = texts(picture);
    for &(left, top, right, bottom, text) in &texts {
        assert!(inside(left, top) && inside(right, bottom), "{text} at {left},{top} to {right},{bottom}");
    }
    for (at, a) in texts.iter().enumerate() {
        for b in &texts[at + 1..] {
            let apart = a.2 <= b.0 || b.2 <= a.0 || a.3 <= b.1 || b.3 <= a.1;
            assert!(apart, "{a:?} and {b:?}");
        }
    }
    for shape in &picture.shapes {
        match shape {
            Shape::Box { x, y, width, height, .. } => {
                assert!(inside(*x, *y) && inside(x + width, y + height), "{shape:?}");
            }
            Shape::Line { from, to, .. } | Shape::Arrow { from, to, .. } => {
                assert!(inside(from.0, from.1) && inside(to.0, to.1), "{shape:?}")
            }
            Shape::Hook { x, y } => assert!(inside(x + 9, y + 9), "{shape:?}"),
            Shape::Text { .. } => {}
        }
    }
}

const DATABASE: &str = include_str!("../../../../bench/abs/db1.abs");
const PI: &str = include_str!("../../../../bench/abs/pi.abs");

/// `n` objects, each of which is called twice, with texts that need care.
fn many(n: usize) -> String {
    format!(
        "module M;
         interface I {{ Unit hear(String what); Unit go(); }}
         class LongNameOfAClassOfWhichThereAreManyObjects implements I {{
           Int heard = 0;
           Unit hear(String what) {{ heard = heard + 1; println(what); }}
           Unit go() {{ this!hear(\"<&>'\\\"\"); suspend; this!hear(\"\u{6f22}\u{5b57}\"); }}
         }}
         {{ Int i = 0; while (i < {n}) {{ I o = new LongNameOfAClassOfWhichThereAreManyObjects(); o!go(); i = i + 1; }} }}"
    )
}

#[test]
fn nothing_overlaps_and_everything_is_inside() {
    for text in [DATABASE.to_owned(), PI.to_owned(), many(1), many(8), many(60)] {
        check(&layout(&diagram(&text)));
    }
}

#[test]
fn the_deadlock_of_the_database() {
    let program = program(DATABASE);
    let schedule: Schedule = "v1:0,0.0,0.1".parse().expect("a schedule");
    let diagram = Diagram::of(&program, &schedule, &Wording::COMMAND).expect("it fits");
    check(&layout(&diagram));
    let told: Vec<(&str, &str, &str, bool)> = diagram
        .steps
        .iter()
        .map(|DrawnStep { activation, marked }| {
            let (end, _) = activation.end.as_ref().expect("segments end in some way");
            (activation.lifeline.as_str(), activation.title.as_str(), end.as_str(), *marked)
        })
        .collect();
    assert_eq!(
        told,
        [
            ("main", "main", "return", false),
            ("DBImp_1", "register 0.0", "blocked for ping 0.0.0 of WorkerImp_2", true),
            ("WorkerImp_2", "work 0.1", "blocked for getData 0.1.0 of DBImp_1", true),
        ]
    );
    let svg = diagram.svg();
    for part in [
        ">DBImp_1</text>",
        ">0.0.0: WorkerImp_2!ping(5)</text>",
        "class=\"deadlock\"",
        "class=\"blocked\"",
        "<polygon",
        ">ping 0.0.0 waits for</text>",
    ] {
        assert!(svg.contains(part), "no {part} in {svg}");
    }
}

#[test]
fn long_executions_are_bounded_and_say_so() {
    let diagram = diagram(&many(900));
    assert!(diagram.steps.len() > 3_000, "{}", diagram.steps.len());
    let picture = layout(&diagram);
    check(&picture);
    let svg = picture.svg();
    assert!(svg.len() < 1_000_000, "{}", svg.len());
    assert!(svg.contains("only the first 100 and the last 200 segments are shown: "));
    assert!(svg.contains("the first 39 objects have columns, all others share one"));
    assert!(svg.contains("... and 1788 more"));
}

#[test]
fn text_is_escaped() {
    let svg = diagram(&many(1)).svg();
    assert!(svg.contains("prints &lt;&amp;&gt;&apos;&quot;</text>"), "{svg}");
    for tag in svg.split('<').skip(1) {
        let known = ["svg", "style", "rect", "text", "title", "line", "polygon", "path"];
        let name = tag.trim_start_matches('/').split([' ', '>']).next().unwrap_or_default();
        assert!(known.contains(&name), "<{tag}");
    }
}

#[test]
fn an_exception_is_marked() {
    let text = "module M; interface I { Unit m(); }
        class C implements I { Int x = 0; Unit m() { x = 1 / x; } }
        { I o = new C(); Fut<Unit> f = o!m(); await f?; }";
    let diagram = diagram(&text.replace("Int x = 0", "Rat x = 0"));
    let svg = diagram.svg();
    assert!(svg.contains("<text class=\"exception\"") && svg.contains(">throws DivisionByZero"), "{svg}");
    assert_eq!(diagram.failures.len(), 1, "{:?}", diagram.failures);
}

#[test]
fn a_schedule_that_does_not_fit_is_refused() {
    let schedule: Schedule = "v1:0,0.7".parse().expect("a schedule");
    let refused = Diagram::of(&program(DATABASE), &schedule, &Wording::COMMAND);
    assert_eq!(refused, Err(Misfit { step: 2, why: "there is no process 0.7 at this point".to_owned() }));
    let schedule: Schedule = "v1:0,2".parse().expect("a schedule");
    let refused = Diagram::of(&litmus(LOST_UPDATE), &schedule, &Wording::COMMAND);
    assert_eq!(refused.map_err(|misfit| misfit.step), Err(2));
}

const LOST_UPDATE: &str = "var x;
    process worker[i in 0..2] { let r = x; x = r + 1; }
    process main { join(worker[0]); join(worker[1]); assert x == 2; }";

#[test]
fn processes_have_lifelines_and_happens_before_has_arrows() {
    let diagram = process_diagram(LOST_UPDATE, "v1:0,1*3,0*2,2*3");
    check(&layout(&diagram));
    assert_eq!(diagram.lifelines, ["worker[0]", "worker[1]", "main"]);
    // The read of 0 and the write of 1 race; so do the writes; what is joined happens before.
    assert_eq!(diagram.order, [(0, 2), (2, 4), (5, 6), (3, 7)]);
    let marked: Vec<usize> = (0..9).filter(|&at| diagram.steps[at].marked).collect();
    assert_eq!(marked, [8], "the step that fails");
    let svg = diagram.svg();
    for part in [
        ">9 steps of 3 processes</text>",
        ">worker[0]</text>",
        ">let r = x</text>",
        ">reads x=0 (initial)</text>",
        ">reads x=1 from step 5</text>",
        ">writes x=1</text>",
        ">worker[1] has ended</text>",
        ">assertion failed: x == 2 (x = 1)</text>",
        "<path class=\"arrow\" d=\"M",
    ] {
        assert!(svg.contains(part), "no {part} in {svg}");
    }
}

#[test]
fn who_waits_for_ever_is_drawn_in_its_column() {
    let text = "lock a; lock b; process p { lock(a); lock(b); } process q { lock(b); lock(a); }";
    let diagram = process_diagram(text, "v1:0,1");
    check(&layout(&diagram));
    let waiting: Vec<(&str, &str)> =
        diagram.waiting.iter().map(|wait| (wait.lifeline.as_str(), wait.waits_for.as_str())).collect();
    assert_eq!(waiting, [("p", "lock b, held by q since line 1"), ("q", "lock a, held by p since line 1")]);
    assert!(diagram.svg().contains(">deadlock: 2 processes wait for ever</text>"));
    assert!(process_diagram(text, "v1:0").waiting.is_empty(), "q can still go on");
}

#[test]
fn long_executions_of_many_processes_are_bounded() {
    let text = "var x; process p[i in 0..60] { for k in 0..9 { x = i + k; } }";
    let program = litmus(text);
    let diagram =
        Diagram::of(&program, &first_schedule(&program, 5_000), &Wording::COMMAND).expect("it fits");
    let picture = layout(&diagram);
    check(&picture);
    assert!(picture.svg().contains("only the first 100 and the last 200 steps are shown: 240 are left out"));
    assert!(picture.svg().contains("the first 40 processes have columns, all others share one"));
}
