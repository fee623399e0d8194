//! Inline assembly of the well-known kinds does what the compilers' built-in operations do.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use crate::Place;
use crate::native_own::compilers;

/// Operations in inline assembly, and the same as the compilers have them.
const OPERATIONS: &str = "#include <assert.h>
#include <pthread.h>
#ifdef ASSEMBLY
static int add(int *p, int v) {
  __asm__ __volatile__(\"lock; xaddl %0, %1\" : \"+r\"(v), \"+m\"(*p) : : \"memory\", \"cc\");
  return v;
}
static int swap(int *p, int v) {
  __asm__ __volatile__(\"xchg %0, %1\" : \"+r\"(v), \"+m\"(*p) : : \"memory\");
  return v;
}
static char cas(long *p, long old, long new) {
  char done;
  __asm__ __volatile__(\"lock\\n\\tcmpxchgq %3, %1\\n\\tsete %0\" : \"=q\"(done), \"+m\"(*p), \"+a\"(old) : \"r\"(new) : \"memory\", \"cc\");
  return done;
}
static void increment(int *p) { __asm__ __volatile__(\"lock; incl (%0)\" : : \"r\"(p) : \"memory\", \"cc\"); }
static int load(int *p) { int v; __asm__ __volatile__(\"movl %1, %0\" : \"=r\"(v) : \"m\"(*p) : \"memory\"); return v; }
static void fence(void) { __asm__ __volatile__(\"lock; addl $0,0(%%rsp)\\n\\tmfence\" ::: \"memory\", \"cc\"); }
static void pause(void) { __asm__ __volatile__(\"rep; nop\" ::: \"memory\"); }
#else
static int add(int *p, int v) { return __atomic_fetch_add(p, v, 5); }
static int swap(int *p, int v) { return __atomic_exchange_n(p, v, 5); }
static char cas(long *p, long old, long new) { return __atomic_compare_exchange_n(p, &old, new, 0, 5, 5); }
static void increment(int *p) { __atomic_fetch_add(p, 1, 5); }
static int load(int *p) { return __atomic_load_n(p, 5); }
static void fence(void) { __atomic_thread_fence(5); }
static void pause(void) {}
#endif
static int lock, counter, Hits;
long word;
static void acquire(void) { while (swap(&lock, 1)) while (load(&lock)) pause(); }
static void release(void) { fence(); swap(&lock, 0); }
static void *work(void *mine) {
#ifndef BUG
  acquire();
#endif
  counter++;
#ifndef BUG
  release();
#endif
  increment(&Hits);
#ifdef ASSEMBLY
  __asm__ __volatile__(\"LOCK; incl %0\" : \"+m\"(Hits) : : \"cc\");
#else
  increment(&Hits);
#endif
  if (cas(&word, 0, (long)mine)) add(&Hits, 10);
  return 0;
}
int main(void) {
  pthread_t t[2];
  for (long i = 1; i < 3; i++) pthread_create(&t[i - 1], 0, work, (void *)i);
  for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
  assert(counter == 2 && add(&Hits, 3) == 14 && Hits == 17 && word != 0);
  return 0;
}
";

#[test]
fn assembly_is_what_it_does() {
    let place = Place::new("native-assembly", "program.c", OPERATIONS);
    for compiler in compilers() {
        for algorithm in ["source", "optimal", "optimal+observers"] {
            let check = |option: &str| {
                let options = ["--", "--self-check=1", &compiler, option];
                place.run(&[&["check", "program.c", "--algorithm", algorithm][..], &options].concat())
            };
            let outcome = check("-DASSEMBLY");
            outcome.expect(0, &["pass"]);
            let executions =
                |text: &str| text.lines().nth(1).map(|line| line.split(';').next().map(str::to_owned));
            assert_eq!(executions(&outcome.stdout), executions(&check("-DBUILT_IN").stdout), "{compiler}");
        }
        let options = ["check", "program.c", "--", &compiler, "-DASSEMBLY", "-DBUG"];
        place.run(&options).expect(1, &["failure: data-race", "counter: work"]);
        let optimised =
            ["check", "program.c", "--max-executions", "100", "--", &compiler, "-DASSEMBLY", "-O2"];
        place.run(&optimised).expect(3, &["no failure so far"]);
    }
}

/// The processor wants memory at a multiple of 16; that it is not is no matter of null pointers.
#[test]
fn a_wide_exchange_of_memory_that_is_not_aligned_is_told_as_that() {
    let text = "#include <stdint.h>
static char buffer[64] __attribute__((aligned(16)));
int main(void) {
  unsigned char done;
  uint64_t low = 0, high = 0;
  __asm__ __volatile__(\"lock cmpxchg16b %1; sete %0\" : \"=q\"(done), \"+m\"(*(__int128 *)(buffer + 8)), \"+a\"(low), \"+d\"(high)
                       : \"b\"(1ull), \"c\"(2ull) : \"memory\");
  return !done;
}
";
    let place = Place::new("native-assembly-aligned", "program.c", text);
    for compiler in compilers() {
        place.run(&["check", "program.c", "--", &compiler]).expect(
            1,
            &["memory: main compares and exchanges 16 bytes at an address that is no multiple of 16\n  at program.c:6"],
        );
    }
}

#[test]
fn assembly_of_other_kinds_is_refused_where_it_stands() {
    for (name, assembly, why) in [
        (
            "clock",
            "\"rdtsc\" : \"=a\"(x) : : \"edx\"",
            "(`rdtsc`) is not supported: it is of no kind that is known",
        ),
        ("plain", "\"incl %0\" : \"+m\"(x)", "is not supported: without `lock` it is no one step"),
        ("segment", "\"movl %%fs:0, %0\" : \"=r\"(x)", "it is of no kind that is known"),
    ] {
        let text =
            format!("int x;\nint main(void) {{\n  __asm__ __volatile__({assembly});\n  return 0;\n}}\n");
        let place = Place::new(&format!("native-assembly-{name}"), "program.c", text);
        for compiler in compilers() {
            place.run(&["check", "program.c", "--", &compiler]).refused(&["program.c:3", why]);
        }
    }
}
