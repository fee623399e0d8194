//! What is built from real files by real compilers.

use super::*;

/// Each compiler that is here: tests say the same of all.
fn compilers() -> Vec<String> {
    let found: Vec<String> = ["gcc", "clang", "clang-19"]
        .into_iter()
        .filter(|name| Compiler::find(Some(name)).is_ok())
        .map(str::to_owned)
        .collect();
    assert!(!found.is_empty(), "there is no compiler");
    found
}

/// Defines what the tests' programs call, as the runtime's stub does.
fn stub() -> String {
    let mut names: Vec<String> = [
        "mazurka_refused",
        "__tsan_init",
        "__tsan_memcpy",
        "__tsan_memmove",
        "__tsan_memset",
        "memcpy",
        "memset",
        "malloc",
    ]
    .map(str::to_owned)
    .to_vec();
    for way in ["read", "write"] {
        for size in ["1", "2", "4", "8", "16", "_range"] {
            names.push(format!("__tsan_{way}{size}"));
            names.push(format!("__tsan_volatile_{way}{size}"));
            names.push(format!("__tsan_unaligned_{way}{size}"));
        }
    }
    let mut text = String::from("\t.text\n");
    for name in names.iter().chain(&["__tls_get_addr".to_owned()]) {
        text += &format!("\t.globl {name}\n\t.hidden {name}\n{name}:\n\tret\n");
    }
    text + "\t.section .note.GNU-stack,\"\",@progbits\n"
}

fn built(compiler: &str, name: &str, text: &str) -> Result<Built, BuildError> {
    let directory = Directory::new().expect("a directory");
    let source = directory.path().join(name);
    std::fs::write(&source, text).expect("a file");
    let request =
        Request { sources: vec![source], compiler: Some(compiler.to_owned()), ..Request::default() };
    build(&request, &stub())
}

fn refused(compiler: &str, text: &str) -> String {
    match built(compiler, "program.c", text) {
        Err(BuildError::Unsupported(why)) => why,
        other => panic!("{compiler}: {other:?}"),
    }
}

#[test]
fn a_program_becomes_an_object_that_calls_nothing_when_it_is_loaded() {
    for compiler in compilers() {
        let text = "int x; __attribute__((constructor)) void begin(void) { x = 1; }\n\
                    __attribute__((destructor)) void end(void) { x = 2; } int main(void) { return x; }";
        let built = built(&compiler, "program.c", text).unwrap_or_else(|error| panic!("{compiler}: {error}"));
        // One is the instrumentation's own.
        assert!(built.init_array.len() >= 2, "{compiler}: {built:?}");
        assert_eq!(built.fini_array.len(), 1, "{compiler}");
        assert_eq!(Built::open(&built.object).expect("it is there").init_array, built.init_array);
        let object = built.object.clone();
        drop(built);
        assert!(!object.exists(), "{compiler}: it was not removed");
    }
}

#[test]
fn what_the_compiler_says_is_told_as_it_is() {
    for compiler in compilers() {
        match built(&compiler, "program.c", "int main(void) { return y; }") {
            Err(BuildError::Compiler(text)) => {
                assert!(text.contains("program.c:1:25") && text.contains("undeclared"), "{text}");
            }
            other => panic!("{compiler}: {other:?}"),
        }
    }
}

#[test]
fn what_is_not_supported_is_refused_by_name_and_place() {
    for compiler in compilers() {
        for (text, place, what) in [
            (
                "int x;\n__attribute__((no_sanitize(\"thread\"))) int f(void) { return x; }\nint main(void) { return f(); }",
                "program.c:2:",
                "the function `f` is marked",
            ),
            ("extern int g;\nint main(void) { return g; }", "", "calls `g`"),
            ("int f(void) { return 0; }", "", "no function `main`"),
        ] {
            let why = refused(&compiler, text);
            assert!(why.contains(place) && why.contains(what), "{compiler}: {why}");
        }
    }
}

#[test]
fn a_function_that_is_not_there_is_refused_only_when_it_is_called() {
    for compiler in compilers() {
        for text in [
            "#include <unistd.h>\nint main(void) { return fork(); }",
            "int g(void);\nint main(void) { return g(); }",
            "#include <fcntl.h>\nint (*pointer)(const char *, int, ...) = open; int main(void) { return !pointer; }",
        ] {
            let built = built(&compiler, "program.c", text);
            assert!(built.is_ok(), "{compiler}: {text}: {built:?}");
        }
    }
}

/// Structures in the two ways that gcc does not announce: clang's code is repaired, gcc's is refused.
#[test]
fn structures_by_value_are_announced_or_refused() {
    let passed =
        "struct s { int a[10]; } g;\nint f(struct s s) { return s.a[3]; }\nint main(void) { return f(g); }";
    let returned = "struct s { int a[10]; } g;\nstruct s f(void) { struct s s = {{1}}; return s; }\nint main(void) { g = f(); return 0; }";
    let local = "struct s { int a[10]; };\nint f(struct s s) { return s.a[3]; }\nint main(void) { struct s s = {{1}}; return f(s); }";
    for compiler in compilers() {
        assert!(built(&compiler, "program.c", local).is_ok(), "{compiler}");
        if Compiler::find(Some(&compiler)).map(|found| found.family) == Ok(Family::Clang) {
            for text in [passed, returned] {
                assert!(built(&compiler, "program.c", text).is_ok(), "{compiler}");
            }
        } else {
            for text in [passed, returned] {
                assert!(refused(&compiler, text).contains("gcc does not announce"), "{compiler}");
            }
        }
    }
}

#[test]
fn idle_assembly_and_odd_sizes_compile() {
    let text = "long double l; struct { unsigned x:20; unsigned y:4; } __attribute__((packed)) b; _Thread_local int t;\n\
                int main(void) { __asm__ volatile(\"\" ::: \"memory\"); __asm__ volatile(\"pause\"); l += 1; b.y = 3; t++; return b.x; }";
    for compiler in compilers() {
        let built = built(&compiler, "program.c", text);
        assert!(built.is_ok(), "{compiler}: {built:?}");
    }
}

#[test]
fn library_functions_come_in_an_instrumented_form() {
    let text = "#include <string.h>\n#include <stdlib.h>\nint order(const void *a, const void *b) { return 0; }\n\
                int main(void) { char a[9]; strcpy(a, \"x\"); qsort(a, 9, 1, order); return strlen(a) + atoi(a); }";
    for compiler in compilers() {
        let missing = built(&compiler, "program.c", text);
        // The tests' stub has no atomic operations, which the generator of random numbers needs.
        match missing {
            Ok(_) => {}
            Err(BuildError::Compiler(text)) => {
                assert!(text.contains("__tsan_atomic64"), "{compiler}: {text}")
            }
            Err(error) => panic!("{compiler}: {error}"),
        }
    }
}
