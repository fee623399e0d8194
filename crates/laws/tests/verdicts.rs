//! Every shipped program says in a line `// expect: ...` what is to be expected of it, and that is what is
//! found.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use mazurka_explore::{Algorithm, Counts, Ending, Limits, Monitor, NotExhaustive, Options, explore};
use mazurka_litmus::{LitmusRun, Source, compile, parse, print};
use mazurka_program::Run;
use mazurka_trace::Trace;

/// The kinds of failures of all executions.
#[derive(Default)]
struct Kinds(BTreeSet<&'static str>);

impl Monitor<LitmusRun> for Kinds {
    fn execution(&mut self, ending: Ending, _: &Trace, run: &LitmusRun, _: &Counts) -> ControlFlow<()> {
        self.0.extend(run.failures().iter().map(|failure| failure.kind.name()));
        if ending == (Ending::Complete { deadlock: true }) {
            self.0.insert("deadlock");
        }
        ControlFlow::Continue(())
    }
}

fn programs() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = Vec::new();
    for directory in ["examples", "examples/papers", "corpus", "bench/litmus"] {
        let files = std::fs::read_dir(root.join(directory)).expect("it is in the checkout");
        found.extend(files.map(|file| file.expect("a readable file").path()));
    }
    found.retain(|path| path.extension().is_some_and(|ending| ending == "maz"));
    found.sort();
    found
}

fn verdict(source: &Source, algorithm: Algorithm) -> Option<BTreeSet<&'static str>> {
    let ast = parse(source).unwrap_or_else(|errors| panic!("{}: {}", source.name, errors[0].message));
    let printed = Source { name: source.name.clone(), text: print(&ast) };
    assert_eq!(parse(&printed).as_ref(), Ok(&ast), "{}: printed and read again", source.name);
    let program = compile(&ast, source, &[]).unwrap_or_else(|errors| panic!("{}: {errors:?}", source.name));
    // Some programs have too many interleavings for naive.
    let time = (algorithm == Algorithm::Naive).then_some(Duration::from_millis(500));
    let limits = Limits { time, ..Limits::default() };
    let mut kinds = Kinds::default();
    let summary = explore(&program, algorithm, &Options { limits, ..Options::default() }, &mut kinds);
    match summary.not_exhaustive {
        // What is not proved has to hold all the same.
        None | Some(NotExhaustive::NotProved) => Some(kinds.0),
        Some(NotExhaustive::Time(_)) => None,
        Some(NotExhaustive::Unsupported(_)) if algorithm == Algorithm::DataCentric => None,
        Some(reason) => panic!("{} under {algorithm}: {reason}", source.name),
    }
}

#[test]
fn shipped_programs_do_what_they_say() {
    let programs = programs();
    assert!(programs.len() > 130, "only {} programs", programs.len());
    for path in programs {
        let text = std::fs::read_to_string(&path).expect("a readable file");
        let expected = text.lines().find_map(|line| line.strip_prefix("// expect: "));
        let expected = expected.unwrap_or_else(|| panic!("{}: no line `// expect: ...`", path.display()));
        let source = Source { name: path.display().to_string(), text: text.clone() };
        // Random walks never look at everything.
        let exhaustive = Algorithm::ALL.into_iter().filter(|&algorithm| algorithm != Algorithm::Random);
        let found: Vec<_> = exhaustive.filter_map(|algorithm| verdict(&source, algorithm)).collect();
        assert!(found.iter().all(|kinds| *kinds == found[0]), "{}: {found:?}", source.name);
        match expected.strip_prefix("failure ") {
            None => assert!(expected == "pass" && found[0].is_empty(), "{}: {found:?}", source.name),
            Some(kind) => assert!(found[0].contains(kind.trim()), "{}: {found:?}", source.name),
        }
    }
}
