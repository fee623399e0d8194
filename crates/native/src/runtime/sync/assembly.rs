//! Accesses of inline assembly, which the driver announces: before an instruction that accesses memory, and
//! after one that may have changed it.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::fmt::Write;
use std::ptr;

use mazurka_program::AccessKind;
use mazurka_threads::races::Order;

use crate::runtime::memory::access::announce;
use crate::runtime::memory::layout::peek;
use crate::runtime::system::stubs::{Passing, Stub, stubs};
use crate::runtime::system::user::caller;
use crate::runtime::threads::rounds::Digester;
use crate::runtime::threads::runtime::current;

/// An instruction that is about to change memory.
#[derive(Clone, Copy, Default)]
struct Update {
    address: usize,
    size: usize,
    value: u64,
    place: usize,
    given: u64,
}

thread_local! {
    /// The one that is being done: nothing comes between it and the announcement that it is done.
    static UPDATE: Cell<Update> =
        const { Cell::new(Update { address: 0, size: 0, value: 0, place: 0, given: 0 }) };
}

/// The ways of an access, by number: the processor's loads acquire and its stores release.
const WAYS: [(&str, AccessKind, Order); 3] = [
    ("read", AccessKind::Read, Order::Acquire),
    ("write", AccessKind::Write, Order::Release),
    ("update", AccessKind::Update, Order::Both),
];
const SIZES: [usize; 5] = [1, 2, 4, 8, 16];
/// Set where registers may hold what a loop changes: loops are not recognised there.
const OPTIMISED: usize = 1 << 8;

/// What an instruction is given in registers, as far as it accesses so many bytes: those that its announcement
/// names, which are where they were saved, below the stack pointer of the program.
///
/// # Safety
/// An instruction must be announced, where the stack pointer was this.
unsafe fn given(stack_pointer: usize, size: usize) -> u64 {
    // SAFETY: by the contract of this function there are as many words as were saved.
    let word = |at: usize| unsafe { ptr::with_exposed_provenance::<u64>(stack_pointer - DEPTH + at).read() };
    let (rdi, which) = (word(DEPTH - ROOM), word(DEPTH - ROOM + 8));
    // The first that was saved lies highest.
    let saved = (0..SAVED.len()).map(|at| word(VECTORS + 8 * (SAVED.len() - 1 - at)));
    let values = saved.chain([rdi]).enumerate().filter(|(at, _)| which >> at & 1 == 1);
    let mask = u64::MAX >> (64 - 8 * size.min(8));
    let mut digest = Digester::new();
    values.for_each(|(_, value)| digest.add(value & mask));
    digest.finish()[0]
}

/// An instruction is about to access memory, in a way and of a size that the code tells.
extern "C-unwind" fn before(address: usize, code: usize) {
    let place = caller();
    let (_, kind, order) = WAYS[code & 3];
    let size = code >> 2 & 0x1F;
    let runtime = current();
    // SAFETY: a thread of the program runs here; no reference is kept while it is suspended. A wild pointer
    // faults, and the thread is thrown out.
    unsafe {
        (*runtime).note_instruction(code & OPTIMISED == 0);
        let how = (order, given((*runtime).registers().0, size));
        match size {
            1 => announce::<1>(runtime, address, place, kind, how),
            2 => announce::<2>(runtime, address, place, kind, how),
            4 => announce::<4>(runtime, address, place, kind, how),
            8 => announce::<8>(runtime, address, place, kind, how),
            _ => announce::<16>(runtime, address, place, kind, how),
        }
        if code & OPTIMISED != 0 {
            (*runtime).me().buffers.detector.clear();
        }
        if kind == AccessKind::Update {
            let value = peek(address, size.min(8));
            UPDATE.set(Update { address, size, value, place, given: how.1 });
        }
    }
}

/// The instruction has been done.
extern "C-unwind" fn done() {
    let Update { address, size, value, place, given } = UPDATE.get();
    // SAFETY: as above; the memory was accessed by the instruction.
    unsafe {
        let changed = size > 8 || peek(address, size) != value;
        (*current()).note_change(address, size, value, changed, (place, given));
    }
}

/// What is called by what the driver puts around instructions: it keeps all registers and flags. The runtime
/// is told of the registers as they are at the instruction.
pub(crate) fn assembly() -> String {
    let mut text = String::new();
    let mut entry = |name: &str, code: usize, target: &str| {
        let name = format!("mazurka_assembly_{name}");
        let _ = write!(text, "\t.globl {name}\n\t.hidden {name}\n{name}:\n\tpushq ${code}\n\tjmp {target}\n");
    };
    for (number, (way, ..)) in WAYS.iter().enumerate() {
        for size in SIZES {
            let code = number | size << 2;
            entry(&format!("{way}{size}"), code, "mazurka_around_before");
            entry(&format!("{way}{size}_optimised"), code | OPTIMISED, "mazurka_around_before");
        }
    }
    entry("done", 0, "mazurka_around_done");
    // Sequentially consistent, as the compilers number orders.
    entry("fence", 5, "mazurka_around_fence");
    for (name, target) in [
        ("before", "mazurka_assembly"),
        ("done", "mazurka_assembled"),
        ("fence", "__tsan_atomic_thread_fence"),
    ] {
        text += &around(name, target);
    }
    text
}

/// The registers that calls do not preserve, without that of the first argument, which the caller has saved.
const SAVED: [&str; 8] = ["rax", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11"];
/// What is on the stack besides: flags and the frame pointer above, vectors below.
const VECTORS: usize = 16 * 16;
/// What the announcement has put there.
const ROOM: usize = crate::driver::assembly::ROOM as usize;
const _: () = assert!(SAVED.len() + 1 == crate::driver::assembly::GIVEN.len());
/// From the stack pointer with all on it to that of the program.
const DEPTH: usize = VECTORS + (SAVED.len() + 4) * 8 + ROOM;

/// Calls a function of the stub with the first argument as it is and the code as the second, but for the fence
/// as the first.
fn around(name: &str, target: &str) -> String {
    let mut text = format!("mazurka_around_{name}:\n\tpushfq\n\tpushq %rbp\n");
    for register in SAVED {
        let _ = writeln!(text, "\tpushq %{register}");
    }
    let _ = writeln!(text, "\tleaq -{VECTORS}(%rsp), %rsp");
    for at in 0..16 {
        let _ = writeln!(text, "\tmovups %xmm{at}, {}(%rsp)", 16 * at);
    }
    // As if the program had called the function itself: its place, its registers, its stack.
    let code = VECTORS + (SAVED.len() + 2) * 8;
    let _ = write!(text, "\tmovq {}(%rsp), %rax\n\tmovq %rax, mazurka_caller(%rip)\n", code + 8);
    for (at, register) in ["rbx", "rbp", "r12", "r13", "r14", "r15"].iter().enumerate() {
        let _ = writeln!(text, "\tmovq %{register}, mazurka_caller+{}(%rip)", 8 + 8 * at);
    }
    let _ = write!(text, "\tleaq {DEPTH}(%rsp), %rax\n\tmovq %rax, mazurka_caller+56(%rip)\n");
    let argument = if name == "fence" { "rdi" } else { "rsi" };
    let _ = write!(text, "\tmovq {code}(%rsp), %{argument}\n\tmovq %rsp, %rbp\n\tandq $-16, %rsp\n");
    let _ = write!(text, "\tcall {target}\n\tcmpl $0, mazurka_caller+64(%rip)\n\tje 1f\n");
    text += "\tcall mazurka_wipe\n1:\n";
    text += "\tmovq %rbp, %rsp\n";
    for at in 0..16 {
        let _ = writeln!(text, "\tmovups {}(%rsp), %xmm{at}", 16 * at);
    }
    let _ = writeln!(text, "\tleaq {VECTORS}(%rsp), %rsp");
    for register in SAVED.iter().rev() {
        let _ = writeln!(text, "\tpopq %{register}");
    }
    text += "\tpopq %rbp\n\tpopfq\n\tleaq 8(%rsp), %rsp\n";
    // Nothing of it is left, so that a loop finds its stack as it was.
    for at in 1..(DEPTH - ROOM) / 8 {
        let _ = writeln!(text, "\tmovq $0, -{}(%rsp)", 8 * at);
    }
    text += "\tret\n";
    text
}

/// What programs call.
pub(crate) fn interposed(list: &mut Vec<Stub>) {
    list.extend(stubs! { Passing::Internal; "mazurka_assembly" => before, "mazurka_assembled" => done });
}
