//! What compilers do not announce is seen all the same, or refused: for each hole a program that has fewer
//! executions, or another verdict, without its remedy. And library functions do what they should.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use mazurka_explore::{Algorithm, Counts, Ending, Monitor, Options, explore};
use mazurka_native::driver::{BuildError, Compiler, Family, Request, build};
use mazurka_native::runtime::{self, NativeRun, Races, load, stub_assembly};
use mazurka_program::Run;
use mazurka_trace::Trace;

/// A program has signal handlers, timers and memory at fixed addresses: one test at a time.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}

fn compilers() -> Vec<(&'static str, Family)> {
    let known = ["gcc", "clang", "clang-19"];
    let found: Vec<_> =
        known.into_iter().filter_map(|name| Some((name, Compiler::find(Some(name)).ok()?.family))).collect();
    assert!(!found.is_empty(), "there is no compiler");
    found
}

#[derive(Default)]
struct Messages(Vec<String>);

impl Monitor<NativeRun> for Messages {
    fn execution(&mut self, _: Ending, _: &Trace, run: &NativeRun, _: &Counts) -> ControlFlow<()> {
        self.0.extend(run.failures().iter().map(|failure| failure.message.clone()));
        ControlFlow::Continue(())
    }
}

/// The complete executions of a program whose races are no failures, and what failed.
fn outcome(source: &Path, compiler: &str) -> Result<(u64, Vec<String>), BuildError> {
    let request = Request {
        sources: vec![source.to_owned()],
        compiler: Some(compiler.to_owned()),
        ..Request::default()
    };
    let built = build(&request, &stub_assembly())?;
    let options = runtime::Options { races: Races::Sc, self_check: 1, ..runtime::Options::default() };
    let program = load(&built, options).map_err(BuildError::Unsupported)?;
    let mut messages = Messages::default();
    let summary = explore(&program, Algorithm::Optimal, &Options::default(), &mut messages);
    let what = format!("{} with {compiler}", source.display());
    assert_eq!((summary.not_exhaustive, summary.broken), (None, None), "{what}");
    Ok((summary.counts.complete, messages.0))
}

/// A program of one thread beside `main`, in a file of its own.
fn program(name: &str, globals: &str, thread: &str, main: &str) -> PathBuf {
    let text = format!(
        "#include <assert.h>\n#include <pthread.h>\n{globals}\n\
         static void *other(void *unused) {{ {thread} return 0; }}\n\
         int main(void) {{ pthread_t t; pthread_create(&t, 0, other, 0); {main} pthread_join(t, 0); return 0; }}\n"
    );
    let path = std::env::temp_dir().join(format!("mazurka-hole-{}-{name}.c", std::process::id()));
    std::fs::write(&path, text).expect("a file");
    path
}

const STRUCTURE: &str = "struct s { long a[4]; } g, h; long take(struct s s) { return s.a[2]; } long first(struct s s, struct s r) { return \
     s.a[2] - r.a[2]; } struct s give(void) { struct s s = {{7, 7, 7, 7}}; return s; }";

#[test]
fn what_is_not_announced_is_seen_or_refused() {
    let _alone = alone();
    // The executions with clang and with gcc; none where it is refused.
    let table = [
        // Reads that a write follows: clang leaves them out unless it is told not to.
        ("increment", "int x;", "x++;", "x++;", Some(4), Some(4)),
        // Ten bytes, which clang does not announce.
        (
            "long-double",
            "long double x;",
            "x = 1;",
            "volatile long double seen = x; (void)seen;",
            Some(2),
            Some(2),
        ),
        // Three bytes, which clang does not announce; to gcc the assignment is one step.
        (
            "bits",
            "struct { unsigned x : 20, y : 4; } __attribute__((packed)) b;",
            "b.y = 3;",
            "b.x = 7;",
            Some(4),
            Some(2),
        ),
        // A structure in memory as an argument: copied by the backend.
        ("by-value", STRUCTURE, "g.a[2] = 1;", "take(g);", Some(2), None),
        // Two of them: each copied where it is announced.
        ("two-by-value", STRUCTURE, "h.a[2] = 1; g.a[2] = 1;", "first(g, h);", Some(3), None),
        // A structure as a result: gcc does not announce its store.
        ("returned", STRUCTURE, "g = give();", "volatile long seen = g.a[2]; (void)seen;", Some(2), None),
        // Assembly that does nothing may stay.
        (
            "idle",
            "int x;",
            "__asm__ volatile(\"\" ::: \"memory\"); x = 1;",
            "__asm__(\"pause\"); x = 2;",
            Some(2),
            Some(2),
        ),
        // Assembly of a known kind is announced where it stands.
        ("assembly", "int x;", "__asm__ volatile(\"lock incl %0\" : \"+m\"(x));", "x = 2;", Some(2), Some(2)),
    ];
    for (name, globals, thread, main, with_clang, with_gcc) in table {
        let path = program(name, globals, thread, main);
        for (compiler, family) in compilers() {
            let expected = if family == Family::Clang { with_clang } else { with_gcc };
            match (outcome(&path, compiler), expected) {
                (Ok((executions, messages)), Some(expected)) => {
                    assert_eq!((executions, messages), (expected, Vec::new()), "{name} with {compiler}");
                }
                (Err(BuildError::Unsupported(why)), None) => {
                    assert!(why.contains(&format!("{name}.c:")), "{name} with {compiler}: {why}");
                }
                (found, _) => panic!("{name} with {compiler}: {found:?}"),
            }
        }
        std::fs::remove_file(&path).expect("it was there");
    }
}

#[test]
fn library_functions_do_what_they_should() {
    let _alone = alone();
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
    for (name, executions) in [("strings.c", 4), ("system.c", 1), ("containers.cpp", 1)] {
        for (compiler, _) in compilers() {
            let found = outcome(&directory.join(name), compiler);
            assert_eq!(found, Ok((executions, Vec::new())), "{name} with {compiler}");
        }
    }
}
