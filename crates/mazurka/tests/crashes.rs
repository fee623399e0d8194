//! Threads that crash: a failure of their check, told with the steps that led to it; other checks go on.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(unsafe_code)]

use mazurka::sync::Arc;
use mazurka::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use mazurka::{Checker, Report, thread};

unsafe extern "C" {
    fn malloc(size: usize) -> *mut u8;
    fn free(memory: *mut u8);
}

/// A program that crashes if one thread comes after the other.
fn crashes_in_one_order(crash: fn()) -> impl Fn() + Send + Sync + 'static {
    move || {
        let shared = Arc::new(AtomicUsize::new(0));
        let other = shared.clone();
        let child = thread::spawn(move || other.store(1, SeqCst));
        if shared.load(SeqCst) == 1 {
            crash();
        }
        child.join().unwrap();
    }
}

#[track_caller]
fn assert_told(report: &Report, kind: &str, what: &str) {
    let failure = report.failures().next().expect("a failure");
    let schedule = failure.schedule();
    assert_eq!(
        (failure.kind(), failure.thread(), schedule.as_deref()),
        (kind, Some("main"), Some("v1:0,0.0,0")),
        "{report}"
    );
    let text = report.text();
    assert!(text.contains(what) && text.contains("MAZURKA_REPLAY='v1:0,0.0,0'"), "{report}");
    assert!(text.contains("shared.store(1)  writes shared=1"), "the steps are told: {report}");
    let next = Checker::new().run(crashes_in_one_order(|| ()));
    assert!(next.is_pass() && next.executions() == 2, "{next}");
}

#[test]
fn an_access_of_memory_that_is_not_there() {
    let report = Checker::new().run(crashes_in_one_order(|| {
        // SAFETY: none; it is the point.
        unsafe { std::ptr::without_provenance_mut::<u32>(8).write_volatile(1) };
    }));
    assert_told(&report, "memory", "accessed memory that is not there: SIGSEGV at 0x8");
}

#[test]
fn a_double_free_that_the_c_library_notices() {
    let report = Checker::new().run(crashes_in_one_order(|| {
        // SAFETY: as above.
        unsafe {
            let memory = malloc(24);
            free(std::hint::black_box(memory));
            free(std::hint::black_box(memory));
        }
    }));
    assert_told(&report, "panic", "or by the C library, which found its heap broken (a double free, say)");
}

/// The lock of the heap is held by who aborts here: large memory is freed under it. For the test below.
#[test]
#[ignore = "it ends all tests of the process"]
fn a_double_free_with_the_heap_locked() {
    Checker::new().check(crashes_in_one_order(|| {
        // SAFETY: as above.
        unsafe {
            let (memory, _next) = (malloc(4000), malloc(4000));
            free(std::hint::black_box(memory));
            free(std::hint::black_box(memory));
        }
    }));
}

#[test]
fn a_heap_that_stays_locked_is_the_end_of_all_tests_and_told() {
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    let output = command
        .args(["crashes::a_double_free_with_the_heap_locked", "--exact", "--ignored"])
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(101), "{told}");
    assert!(told.contains("a_double_free_with_the_heap_locked: signal 6 ended a modelled thread"), "{told}");
    assert!(told.contains("MAZURKA_REPLAY='v1:0,0.0,0'\n"), "{told}");
}

#[test]
fn an_instruction_that_there_is_not() {
    let report = Checker::new().run(crashes_in_one_order(|| {
        // SAFETY: as above.
        unsafe { std::arch::asm!("ud2") };
    }));
    assert_told(&report, "panic", "came to an instruction that can't be executed: SIGILL");
}

#[test]
fn a_division_that_the_machine_refuses() {
    let report = Checker::new().run(crashes_in_one_order(|| {
        // SAFETY: as above.
        unsafe { std::arch::asm!("xor edx, edx", "mov eax, 1", "xor ecx, ecx", "div ecx", out("eax") _, out("edx") _, out("ecx") _) };
    }));
    assert_told(&report, "arithmetic", "did arithmetic that the machine can't do: SIGFPE");
}

#[test]
fn an_abort_has_its_schedule() {
    let report = Checker::new().run(crashes_in_one_order(|| std::process::abort()));
    assert_told(&report, "panic", "aborted: by std::process::abort");
}

#[test]
fn an_overflow_of_the_stack_has_its_schedule() {
    fn deep(depth: usize) -> usize {
        let frame = std::hint::black_box([depth; 64]);
        if depth == usize::MAX { 0 } else { deep(depth + 1) + frame[depth % 64] }
    }
    let report = Checker::new().run(crashes_in_one_order(|| {
        std::hint::black_box(deep(0));
    }));
    assert_told(&report, "stack-overflow", "overflowed its stack");
}

/// The crash is met again when the schedule that was printed is run.
#[test]
fn the_schedule_of_a_crash_can_be_run() {
    let report = Checker::new().replay("v1:0,0.0,0").run(crashes_in_one_order(|| {
        // SAFETY: as above.
        unsafe { std::ptr::without_provenance_mut::<u32>(8).write_volatile(1) };
    }));
    assert_told(&report, "memory", "accessed memory that is not there");
}

/// Before the first operation there are no steps, and nothing is lost but these.
#[test]
fn a_crash_before_the_first_operation() {
    let report = Checker::new().run(|| std::process::abort());
    let failure = report.failures().next().expect("a failure");
    assert_eq!((failure.kind(), failure.thread()), ("panic", Some("main")), "{report}");
    assert!(report.text().contains("after its beginning"), "{report}");
}
