//! What a program may call that is neither its own nor the runtime's.
//!
//! Library functions are not instrumented: what they read and write in the program's memory nobody would see,
//! and what they keep for themselves nobody would put back between executions. So a function is let through
//! only if it does neither; some are given in an instrumented form (`support`); all others are refused.

/// Functions that work on their arguments alone, or only on the frame of their caller, or read constant
/// tables; separated by spaces, as in the tables below.
const HARMLESS: &[&str] = &[
    // <math.h>, in all widths: see `MATH`. <complex.h> is not there.
    // <stdlib.h>
    "abs labs llabs imaxabs div ldiv lldiv imaxdiv getenv secure_getenv",
    // <ctype.h>, <wctype.h>
    "isalnum isalpha isblank iscntrl isdigit isgraph islower isprint ispunct isspace isupper isxdigit \
     tolower toupper isascii toascii iswalpha iswdigit iswspace towlower towupper iswalnum iswupper \
     iswlower",
    // <setjmp.h>
    "setjmp _setjmp __sigsetjmp sigsetjmp longjmp _longjmp siglongjmp __longjmp_chk",
    // <byteswap.h>, <arpa/inet.h>
    "htonl htons ntohl ntohs",
    // <unistd.h>
    "getpagesize",
    // <stdio.h>: the variables; what is done with them is the runtime's affair.
    "stdin stdout stderr",
    // <string.h>: messages, constant as long as nobody changes the locale.
    "strerror strsignal",
    // Made up by linkers.
    "_GLOBAL_OFFSET_TABLE_ _DYNAMIC __ehdr_start _end end _edata _etext __bss_start",
    // Weak, and not there: what profilers and old linkers define.
    "__gmon_start__ _ITM_deregisterTMCloneTable _ITM_registerTMCloneTable __cxa_thread_atexit_impl",
];

/// Functions of <math.h> in their form for `double`; those for `float` and `long double` end in `f` and `l`.
const MATH: &str = "\
    acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 expm1 fabs fdim \
    floor fma fmax fmin fmod hypot ilogb ldexp llrint llround log log10 log1p log2 logb lrint lround nan \
    nearbyint nextafter nexttoward pow remainder rint round scalbln scalbn sin sinh sqrt tan tanh tgamma \
    trunc __fpclassify __signbit __isinf __isnan __finite isinf isnan finite";

/// Why nothing is done with signals.
const SIGNALS: &str = "signals can't be modelled; call the handler from a thread instead";

/// Families of functions, by their names (see [`matches`]), and why they are refused.
const REFUSED: &[(&str, &str)] = &[
    (
        "fork vfork _Fork clone exec* posix_spawn* system popen wait waitpid wait3 wait4",
        "a checked program is one process; model the other one as a thread",
    ),
    ("raise kill tgkill setitimer sigwait* sigqueue pthread_kill pause timer_* signalfd", SIGNALS),
    (
        "open open64 openat creat close read pread* pwrite* readv writev lseek* stat* fstat* lstat* \
         fopen* freopen* fdopen fclose fread fgets fgetc getc getchar getline getdelim gets ungetc scanf \
         fscanf vfscanf __isoc99_scanf __isoc99_fscanf __isoc23_scanf __isoc23_fscanf fseek* ftell* \
         rewind unlink remove rename mkdir rmdir opendir readdir* closedir tmpfile* mkstemp* pipe* dup* \
         fcntl* ioctl flock mmap* munmap mprotect shm_* shmget shmat ftruncate* fsync chdir getcwd",
        "files outlive an execution and can't be put back; keep the data in memory",
    ),
    (
        "socket* bind listen accept* connect send* recv* poll ppoll select pselect epoll_* getaddrinfo \
         gethostby* eventfd* inotify_*",
        "the network is not modelled; put a queue in its place",
    ),
    (
        "clock_settime settimeofday clock_adjtime times ftime _ZNSt6chrono*",
        "of the modelled clock there are the usual functions; use clock_gettime",
    ),
    (
        "drand48 lrand48 mrand48 erand48 initstate* setstate* arc4random_buf",
        "what it gives differs from execution to execution; use rand() or __VERIFIER_nondet_int()",
    ),
    (
        "dlopen dlsym dlclose dlmopen dladdr",
        "code that is loaded at run time can't be instrumented; give its source files",
    ),
    (
        "syscall futex prctl arch_prctl ptrace brk sbrk",
        "what the kernel does then can't be modelled; use the functions of the C library",
    ),
    (
        "pthread_cancel pthread_setcancel* pthread_testcancel pthread_atfork getcontext setcontext \
         makecontext swapcontext",
        "threads that are ended or switched from outside can't be modelled",
    ),
    (
        "*basic_filebuf* *basic_ifstream* *basic_ofstream* *basic_fstream* *10filesystem*",
        "files outlive an execution and can't be put back; keep the data in memory",
    ),
];

/// What programs tell other tools, for which there is nothing to do: whatever orders accesses is seen.
const HINTS: &str = "\
    Annotate* RunningOnValgrind ValgrindSlowdown __tsan_acquire __tsan_release __tsan_mutex_* \
    __tsan_set_fiber_name __sanitizer_* __lsan_* __asan_poison_memory_region __asan_unpoison_memory_region";

/// What is to become of a function that a program needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// It may be called.
    Harmless,
    /// It is part of the C++ library or of the compiler's, which are linked in.
    Linked,
    /// To call it is to do nothing.
    Hint,
    /// It may not be called, for this reason.
    Refused(&'static str),
}

/// Judges a name that neither the program nor the runtime nor the support defines.
pub fn judge(name: &str) -> Judgement {
    if HARMLESS.iter().any(|names| has(names, name)) || is_math(name) {
        return Judgement::Harmless;
    }
    let refused = |names: &str| names.split(' ').any(|pattern| matches(pattern, name));
    if refused(HINTS) {
        return Judgement::Hint;
    }
    if let Some((_, why)) = REFUSED.iter().find(|(names, _)| refused(names)) {
        return Judgement::Refused(why);
    }
    let linked = ["_Z", "__cxa_", "__gxx_", "_Unwind_", "__gcc_", "__cxx", "__dynamic_cast", "__once_proxy"];
    if linked.iter().any(|begin| name.starts_with(begin)) || is_arithmetic(name) {
        return Judgement::Linked;
    }
    Judgement::Refused(
        "neither the files of the program define it, nor is it a library function that is known",
    )
}

/// A name as people know it: nested names of C++ are taken apart, as far as that is easy.
pub fn readable(name: &str) -> String {
    let prefixes = ["_ZNK", "_ZN", "_ZL", "_Z"];
    let Some(mut rest) = prefixes.iter().find_map(|prefix| name.strip_prefix(prefix)) else {
        return name.to_owned();
    };
    // Outside of namespaces and classes there is one name.
    let nested = name.starts_with("_ZN");
    let mut parts = Vec::new();
    if let Some(after) = rest.strip_prefix("St") {
        parts.push("std");
        rest = after;
    }
    loop {
        let digits = rest.chars().take_while(char::is_ascii_digit).count();
        let Ok(length) = rest[..digits].parse::<usize>() else { break };
        let Some(part) = rest.get(digits..digits + length) else { break };
        // Versions of the library's interface are of no interest.
        if !part.starts_with("_V") && part != "__cxx11" {
            parts.push(part);
        }
        rest = &rest[digits + length..];
        if !nested {
            break;
        }
    }
    if parts.is_empty() { name.to_owned() } else { parts.join("::") }
}

/// What a program can do that needs a function all the same.
pub fn remedy(name: &str) -> String {
    let own = "which is used in its place";
    match name.starts_with("_Z") {
        true => format!("or give a stub: define `{}` in a file of the program, {own}", readable(name)),
        false => format!("or give a stub: a function `{name}` in a file of the program, {own}"),
    }
}

/// Whether a name that is refused is known to be that of a function, and not of a variable.
pub fn is_known_function(name: &str) -> bool {
    !name.starts_with("_ZT")
        && REFUSED.iter().any(|(names, _)| names.split(' ').any(|one| matches(one, name)))
}

/// Whether a name is among those of a table.
fn has(names: &str, name: &str) -> bool {
    names.split(' ').any(|other| other == name)
}

fn is_math(name: &str) -> bool {
    has(MATH, name) || name.strip_suffix(['f', 'l']).is_some_and(|name| has(MATH, name))
}

/// Arithmetic that compilers call functions for: `__udivti3`, `__popcountdi2`, `__mulxc3`.
fn is_arithmetic(name: &str) -> bool {
    let modes = ["si", "di", "ti", "sf", "df", "xf", "tf", "hf", "sc", "dc", "xc"];
    let middle = name.strip_prefix("__").map(|name| name.trim_end_matches(|c: char| c.is_ascii_digit()));
    middle.is_some_and(|middle| {
        middle.len() < name.len() - 2
            && !middle.contains('_')
            && modes.iter().any(|mode| middle.ends_with(mode))
    })
}

/// Whether a name is of the form: `*` at the end or the beginning stands for anything.
fn matches(pattern: &str, name: &str) -> bool {
    match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        (Some(_), Some(_)) => name.contains(pattern.trim_matches('*')),
        (None, Some(begin)) => name.starts_with(begin),
        _ => name == pattern,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_names_can_be_read() {
        for (name, read) in [
            ("fork", "fork"),
            ("_ZNSt6chrono3_V212steady_clock3nowEv", "std::chrono::steady_clock::now"),
            ("_ZNSt13basic_filebufIcSt11char_traitsIcEEC1Ev", "std::basic_filebuf"),
            ("_ZN", "_ZN"),
            ("_ZN99999999999999999999999x", "_ZN99999999999999999999999x"),
            ("_ZN5short", "short"),
            ("_ZN9short", "_ZN9short"),
        ] {
            assert_eq!(readable(name), read);
        }
    }

    #[test]
    fn names_are_judged() {
        for name in ["sqrt", "sqrtf", "fabsl", "toupper", "setjmp"] {
            assert_eq!(judge(name), Judgement::Harmless, "{name}");
        }
        for name in
            ["_ZNSt6thread4joinEv", "__cxa_throw", "_Unwind_Resume", "__udivti3", "__popcountdi2", "__mulxc3"]
        {
            assert_eq!(judge(name), Judgement::Linked, "{name}");
        }
        assert_eq!(judge("AnnotateHappensBefore"), Judgement::Hint);
        for (name, why) in [
            ("fork", "one process"),
            ("execvp", "one process"),
            ("fopen64", "files"),
            ("recvfrom", "network"),
            ("_ZNSt6chrono5tzdb3nowEv", "modelled clock"),
            ("_ZNSt13basic_filebufIcSt11char_traitsIcEEC1Ev", "files"),
            ("frobnicate", "neither"),
            ("__helper", "neither"),
        ] {
            match judge(name) {
                Judgement::Refused(told) => assert!(told.contains(why), "{name}: {told}"),
                other => panic!("{name}: {other:?}"),
            }
        }
    }
}
