//! Loops that wait for bytes which others write a part of, and for words that are too wide for a guard: they
//! end, and what counts in them is cut.

use mazurka_explore::Limits;

use crate::runtime_rounds::{c, met};
use crate::runtime_support::{Scratch, build, compilers};

/// Two numbers in one word: who takes a lock increments the upper one of the whole word, who gives it back
/// the lower one alone.
fn ticket(threads: usize, take: &str, look: &str, give: &str) -> String {
    c(&format!(
        "#include <stdint.h>
union {{ uint32_t value; struct {{ uint16_t served, next; }} half; }} lock; int count;
static uint32_t take(void) {{ {take} }}
static uint32_t look(void) {{ {look} }}
static void give(uint16_t next) {{ {give} }}
void *user(void *argument) {{
    uint16_t mine = take() >> 16;
    while ((uint16_t)look() != mine) ;
    count++; give(mine + 1); return 0;
}}
int main(void) {{
    pthread_t t[{threads}]; for (int i = 0; i < {threads}; i++) pthread_create(&t[i], 0, user, 0);
    for (int i = 0; i < {threads}; i++) pthread_join(t[i], 0);
    assert(count == {threads}); return 0;
}}"
    ))
}

const TAKE: &str = "return __atomic_fetch_add(&lock.value, 0x10000, __ATOMIC_SEQ_CST);";
const LOOK: &str = "return __atomic_load_n(&lock.value, __ATOMIC_SEQ_CST);";
const GIVE: &str = "__atomic_store_n(&lock.half.served, next, __ATOMIC_SEQ_CST);";

#[test]
fn locks_of_two_numbers_in_a_word_end() {
    let scratch = Scratch::new();
    let assembly = [
        "uint32_t by = 0x10000; __asm__ volatile(\"lock; xaddl %0, %1\" : \"+r\"(by), \"+m\"(lock.value)); return by;",
        "uint32_t r; __asm__ volatile(\"movl %1, %0\" : \"=r\"(r) : \"m\"(lock.value) : \"memory\"); return r;",
        "__asm__ volatile(\"movw %1, %0\" : \"=m\"(lock.half.served) : \"r\"(next) : \"memory\");",
    ];
    let exchange = "uint32_t was = 0; while (!__atomic_compare_exchange_n(&lock.value, &was, was + 0x10000, 0, \
                    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) ; return was;";
    let only_looks = "return __atomic_fetch_or(&lock.value, 0, __ATOMIC_SEQ_CST);";
    // Of each how many executions are complete and how many are stopped, as gcc compiles it and as clang does.
    for (name, threads, [take, look, give], expected) in [
        ("two", 2, [TAKE, LOOK, GIVE], [(6, 4); 2]),
        ("assembly", 2, assembly, [(10, 4), (6, 4)]),
        ("an update that only looks", 2, [TAKE, only_looks, GIVE], [(6, 6); 2]),
        ("compare and exchange", 2, [exchange, LOOK, GIVE], [(8, 4); 2]),
        ("three", 3, [TAKE, LOOK, GIVE], [(72, 156); 2]),
    ] {
        let text = ticket(threads, take, look, give);
        for (compiler, expected) in compilers().into_iter().zip(expected) {
            let built = build(&scratch, &text, &["-pthread"], compiler);
            let (met, not_exhaustive) = met(&built, name, Limits::default());
            assert_eq!(not_exhaustive, None, "{name} {compiler}");
            assert_eq!((met.failures, met.livelocks), (Vec::new(), 0), "{name} {compiler}");
            assert_eq!((met.complete, met.stopped), expected, "{name} {compiler}");
        }
    }
}

/// A thread that spins until another has written a part of what it looks at, and what else each does.
fn spinner(declarations: &str, look: &str, write: &str) -> String {
    c(&format!(
        "#include <stdint.h>
{declarations}
void *spin(void *argument) {{ while (!({look})) ; return 0; }}
int main(void) {{
    pthread_t t; pthread_create(&t, 0, spin, 0);
    {write}
    pthread_join(t, 0); return 0;
}}"
    ))
}

/// What is 16 bytes wide is compared; of atomic objects of other sizes nothing is known, so they are cut.
#[test]
fn wide_words_are_waited_for_or_cut() {
    let scratch = Scratch::new();
    let wide = "_Alignas(16) unsigned __int128 wide; typedef unsigned __int128 u128;";
    let odd = "struct odd { long words[3]; }; _Atomic struct odd odd;
        static int look(void) { struct odd now = odd; return now.words[1]; }";
    let swap = "({ u128 was = 0; __atomic_compare_exchange_n(&wide, &was, 0, 0, 5, 5); was != 0; })";
    let half = "((uint64_t *)&wide)[1]";
    let rows = [
        ("load", wide, "__atomic_load_n(&wide, 5)", "__atomic_store_n(&wide, 1, 5);", true),
        ("or", wide, "__atomic_fetch_or(&wide, 0, 5)", "__atomic_store_n(&wide, 1, 5);", true),
        ("compare", wide, swap, "__atomic_store_n(&wide, 1, 5);", true),
        ("a half", wide, "__atomic_load_n(&wide, 5)", &format!("__atomic_store_n(&{half}, 1, 5);"), true),
        ("odd", odd, "look()", "odd = (struct odd){{0, 1, 0}};", false),
    ];
    for (name, declarations, look, write, ends) in rows {
        for compiler in compilers() {
            let text = spinner(declarations, look, write);
            let built = build(&scratch, &text, &["-pthread", "-mcx16"], compiler);
            let limits = Limits { unroll: 50, ..Limits::default() };
            let (met, not_exhaustive) = met(&built, name, limits);
            assert_eq!((met.failures, met.livelocks), (Vec::new(), 0), "{name} {compiler}");
            let reason = not_exhaustive.map_or_else(String::new, |reason| reason.to_string());
            assert_eq!(reason.contains("was cut after 50 rounds"), !ends, "{name} {compiler}: {reason}");
            assert_eq!(reason.is_empty(), ends, "{name} {compiler}: {reason}");
        }
    }
}

/// What counts in one half of a word, or is given to an instruction in a register alone, is no round: it is
/// cut, or what goes wrong late is found.
#[test]
fn what_changes_in_a_part_of_a_word_is_no_round() {
    let scratch = Scratch::new();
    let declarations = "union { uint32_t value; struct { uint16_t low, high; } half; } word; uint32_t seen;
        static int given_in_a_register(void) {
            uint32_t was, n = __atomic_load_n(&seen, 5);
            __asm__ volatile(\"xchgl %0, %1\" : \"=r\"(was), \"+m\"(word.value) : \"0\"(n << 16) : \"memory\");
            __atomic_store_n(&seen, n < 40 ? n + 1 : n, 5); assert(was >> 16 != 39); return (uint16_t)was; }";
    let rows = [
        ("counts", "(uint16_t)__atomic_fetch_add(&word.value, 0x10000, 5)", true),
        ("fails late", "given_in_a_register()", false),
    ];
    for (name, look, is_cut) in rows {
        for compiler in compilers() {
            let text = spinner(declarations, look, "__atomic_store_n(&word.half.low, 1, 5);");
            let built = build(&scratch, &text, &["-pthread"], compiler);
            let (met, not_exhaustive) = met(&built, name, Limits { unroll: 60, ..Limits::default() });
            let reason = not_exhaustive.map_or_else(String::new, |reason| reason.to_string());
            assert_eq!(reason.contains("was cut after 60 rounds"), is_cut, "{name} {compiler}: {reason}");
            assert_eq!(met.failures.is_empty(), is_cut, "{name} {compiler}: {met:?}");
        }
    }
}
