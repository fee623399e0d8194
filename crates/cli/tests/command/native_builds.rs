//! Programs as builds make them: `mazurka cc`, libraries, compilation databases.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::process::Command;

use crate::Place;

const QUEUE: &str = "#include <pthread.h>
#include \"config.h\"
struct queue { pthread_mutex_t mutex; int count, items[SLOTS]; };
struct queue shared;
void put(int item) {
  LOCK(&shared.mutex);
  shared.items[shared.count++] = item;
  UNLOCK(&shared.mutex);
}
int usleep(unsigned time) { return 3; }
";

const MAIN: &str = "#include <pthread.h>
#include <unistd.h>
#include \"queue.h\"
static void *work(void *unused) { put(1); return 0; }
int main(void) {
  pthread_t t;
  if (usleep(1) != 3) return 1;
  pthread_create(&t, 0, work, 0);
  put(2);
  pthread_join(t, 0);
  return 0;
}
";

const MAKEFILE: &str = "CFLAGS = -O2 -g -Wall -D_FORTIFY_SOURCE=2
program: main.o lib/libqueue.a
\t$(CC) -o $@ main.o -Llib -lqueue -lpthread
main.o: main.c
\t$(CC) $(CFLAGS) -Ilib -MD -MF main.d -c $<
lib/libqueue.a: lib/queue.c
\tcd lib && $(CC) $(CFLAGS) $(LOCKING) -I. -c queue.c -o queue.o && $(CC) -c other.c && ar rcs libqueue.a queue.o other.o
at-once: main.c
\t$(CC) $(CFLAGS) $(LOCKING) -Ilib main.c lib/queue.c -o $@ -lpthread
";

const LOCKING: &str = "-DLOCK=pthread_mutex_lock -DUNLOCK=pthread_mutex_unlock";

fn project(test: &str) -> Place {
    let place = Place::new(&format!("native-builds-{test}"), "main.c", MAIN);
    let lib = place.directory.join("lib");
    let _ = std::fs::remove_dir_all(&lib);
    std::fs::create_dir_all(&lib).unwrap();
    std::fs::write(place.directory.join("Makefile"), MAKEFILE).unwrap();
    std::fs::write(lib.join("queue.c"), QUEUE).unwrap();
    std::fs::write(lib.join("queue.h"), "void put(int item);\n").unwrap();
    std::fs::write(lib.join("config.h"), "#define SLOTS 2\n").unwrap();
    // What nobody needs is not taken from the library.
    std::fs::write(
        lib.join("other.c"),
        "int main2(void) { return 0; }\nint frobnicate(void) { return 1; }\n",
    )
    .unwrap();
    place
}

/// Runs `make`; gives whether there is one.
fn make(place: &Place, target: &str, locking: &str) -> bool {
    let compiler = format!("{} cc", env!("CARGO_BIN_EXE_mazurka"));
    let made = Command::new("make")
        .args(["-B", target, &format!("LOCKING={locking}")])
        .env("CC", compiler)
        .current_dir(&place.directory)
        .output();
    let Ok(output) = made else { return false };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    true
}

#[test]
fn a_build_goes_its_way_and_what_it_makes_can_be_checked() {
    let place = project("make");
    for target in ["program", "at-once"] {
        if !make(&place, target, LOCKING) {
            return;
        }
        // It is the program that it would have been.
        let status = Command::new(place.directory.join(target)).status().unwrap();
        assert!(status.success(), "{target}");
        place.run(&["check", target]).expect(0, &[&format!("pass: no execution of {target} fails")]);
        // Macros that are given are those of the build.
        make(&place, target, "-DLOCK= -DUNLOCK=");
        let outcome = place.run(&["check", target]);
        outcome
            .expect(1, &["failure: data-race", "lib/queue.c:7", &format!("mazurka check {target} --replay")]);
    }
}

#[test]
fn a_library_is_looked_into() {
    let place = project("library");
    if !make(&place, "program", LOCKING) {
        return;
    }
    place.run(&["check", "main.c", "lib/libqueue.a", "--", "-Ilib"]).expect(0, &["pass"]);
    // With the sources gone there is nothing to look at.
    std::fs::remove_file(place.directory.join("lib/queue.c")).unwrap();
    place
        .run(&["check", "program"])
        .refused(&["program: it was made of ", "queue.c, which is not there any more"]);
}

#[test]
fn what_was_built_otherwise_is_refused_with_a_remedy() {
    let place = Place::new("native-builds-plain", "main.c", "int main(void) { return 0; }");
    let built = Command::new("cc").args(["main.c", "-o", "plain"]).current_dir(&place.directory).status();
    if built.is_ok_and(|status| status.success()) {
        place.run(&["check", "plain"]).refused(&["plain: it does not say how it was compiled", "mazurka cc"]);
    }
    place.run(&["check", "main.c", "--", "-lfoo"]).refused(&["give their source files", "mazurka cc"]);
}

#[test]
fn a_compiler_that_fails_is_one_that_fails() {
    let place = Place::new("native-builds-wrong", "wrong.c", "int main(void) { return y; }");
    for words in
        [&["cc", "-c", "wrong.c"][..], &["cc", "wrong.c", "-o", "wrong"], &["cc", "--no-such-option"]]
    {
        let outcome = place.run(words);
        assert_eq!(outcome.status, 1, "{words:?}: {}", outcome.stderr);
        assert!(!place.directory.join("wrong").exists());
    }
    let outcome = place.command(&["cc", "-c", "wrong.c"]).env("MAZURKA_CC", "/nowhere/cc").output().unwrap();
    let told = String::from_utf8_lossy(&outcome.stderr).into_owned();
    assert_eq!(outcome.status.code(), Some(2), "{told}");
    assert!(told.contains("/nowhere/cc: can't be run") && told.contains("MAZURKA_CC"), "{told}");
}

#[test]
fn a_compilation_database_says_how_files_are_compiled() {
    let place = project("database");
    let entry = |flags: &str| {
        format!(
            r#"[{{"directory": ".", "file": "main.c", "command": "cc -O2 -Ilib -c main.c -o main.o"}},
               {{"directory": "lib", "file": "queue.c", "arguments": ["cc", "-c", "queue.c", "-I.", {flags}]}}]"#
        )
    };
    let locked = r#""-DLOCK=pthread_mutex_lock", "-DUNLOCK=pthread_mutex_unlock""#;
    let file = place.directory.join("compile_commands.json");
    std::fs::write(&file, entry(locked)).unwrap();
    place.run(&["check", "compile_commands.json"]).expect(0, &["pass"]);
    let named = ["check", "main.c", "lib/queue.c", "--", "--compile-commands=."];
    place.run(&named).expect(0, &["pass"]);
    std::fs::write(&file, entry(r#""-DLOCK(x)=", "-DUNLOCK(x)=""#)).unwrap();
    place.run(&named).expect(1, &["failure: data-race", "lib/queue.c:7"]);
    for (text, why) in [
        ("{}", "no list of commands"),
        ("[{\"file\": \"main.c\"}]", "entry 1: no `file`, or neither `arguments` nor `command`"),
        ("[", "no JSON"),
        (r#"[{"directory": ".", "file": "gone.c", "command": "cc -c gone.c"}]"#, "not there any more"),
        (
            r#"[{"file": "main.c", "command": "cc -Ilib"}, {"directory": ".", "file": "lib/../m2.c", "command": "cc"}]"#,
            "both define `main`",
        ),
    ] {
        std::fs::write(place.directory.join("m2.c"), "int main(void) { return 0; }").unwrap();
        std::fs::write(&file, text).unwrap();
        place.run(&["check", "compile_commands.json"]).refused(&[why]);
    }
}
