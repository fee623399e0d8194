use super::layout::layout;
use super::picture::{CHARACTER, LINE, Picture, Shape, width_of};
use super::*;
use crate::language::{Options, Source, compile};
use crate::machine::Settings;

fn program(text: &str) -> Abs {
    let source = Source { name: "test.abs".to_owned(), text: text.to_owned() };
    let model = compile(&[source], &Options::default()).unwrap_or_else(|errors| panic!("{errors:#?}"));
    Abs::new(model, Settings::default())
}

/// The execution in which always the first process that can takes a step.
fn first_schedule(program: &Abs, most: usize) -> Schedule {
    let mut run = program.start(Footprints::Dynamic);
    let mut steps = Vec::new();
    while steps.len() < most {
        let first = run.enabled().iter().next();
        let Some(process) = first else { break };
        steps.push(mazurka_program::Step { process: run.names().path(process), choice: 0 });
        run.step(process, 0, &mut Label::default()).expect("a step");
    }
    Schedule { steps }
}

fn diagram(text: &str) -> Diagram {
    let program = program(text);
    Diagram::of(&program, &first_schedule(&program, 5_000)).expect("the schedule fits")
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
            Shape::Line { from, to, .. } => {
                assert!(inside(from.0, from.1) && inside(to.0, to.1), "{shape:?}")
            }
            Shape::Arrow { from, to, .. } => {
                assert!(inside(from.0, from.1) && inside(*to, from.1), "{shape:?}")
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
    let diagram = Diagram::of(&program, &schedule).expect("it fits");
    check(&layout(&diagram));
    let told: Vec<(&str, &str, &str, bool)> = diagram
        .segments
        .iter()
        .map(|s| (s.object.as_str(), s.task.as_str(), s.end_text.as_str(), s.deadlocked))
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
    assert!(diagram.segments.len() > 3_000, "{}", diagram.segments.len());
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
    let refused = Diagram::of(&program(DATABASE), &schedule);
    assert_eq!(refused, Err("step 2 of the schedule is not possible".to_owned()));
}
