//! The functions that a program calls instead of those of the C library and of the compiler's runtime.
//!
//! The object has a stub in assembly that defines each name, hidden, as a jump through a table, so that every
//! call within the object is bound to it, and nothing of ours is exported. The table is filled when the
//! object is loaded; before that its entries return 0 at once. A stub leaves the address that it returns to
//! where we find it: in the second argument register for accesses of memory, else in the word
//! `mazurka_caller`.
#![allow(unsafe_code)]

use std::fmt::Write;
use std::ptr;

use crate::runtime::memory::layout::PAGE;

/// The section with the stub's own page.
pub(crate) const SECTION: &str = ".mazurka";

/// How a stub passes on a call.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Passing {
    /// One argument; the caller's address becomes the second. The registers are noted, and what the function
    /// leaves on the stack is wiped if it asks for that.
    Read,
    /// The same for any function: the caller's address is noted.
    Atomic,
    /// One argument; the caller's address becomes the second. Where loops are looked at, registers are noted
    /// and the stack is wiped here and below too.
    Access1,
    /// Two arguments; the caller's address becomes the third.
    Access2,
    /// As it is.
    Plain,
    /// As it is, with one argument on the stack.
    Stacked,
    /// As it is, from code of ours that has noted all.
    Internal,
    /// So many named arguments; the others are passed as a `va_list` after them.
    Variadic(usize),
}

/// A function of ours, under the name that programs call it by.
pub(crate) struct Stub {
    pub(crate) name: &'static str,
    pub(crate) passing: Passing,
    pub(crate) function: *const (),
}

/// Makes entries: `name => function`.
macro_rules! stubs {
    ($passing:expr; $($name:expr => $function:path),* $(,)?) => {
        [$($crate::runtime::system::stubs::Stub {
            name: $name,
            passing: $passing,
            function: $function as *const (),
        }),*]
    };
}
pub(crate) use stubs;

/// Operators of C++ that are others, unless the program has its own.
const SAME: [(&str, &str); 8] = [
    ("_Znam", "_Znwm"),
    ("_ZnamSt11align_val_t", "_ZnwmSt11align_val_t"),
    ("_ZdaPv", "_ZdlPv"),
    ("_ZdlPvm", "_ZdlPv"),
    ("_ZdaPvm", "_ZdaPv"),
    ("_ZdaPvSt11align_val_t", "_ZdlPvSt11align_val_t"),
    ("_ZdlPvmSt11align_val_t", "_ZdlPvSt11align_val_t"),
    ("_ZdaPvmSt11align_val_t", "_ZdaPvSt11align_val_t"),
];

/// All of them, in the order of the table.
fn all() -> Vec<Stub> {
    crate::runtime::interposed()
}

/// Fills the table of an object.
///
/// # Safety
/// The table must be that of an object with the stub of this build.
pub(crate) unsafe fn connect(table: *mut *const ()) -> Result<(), String> {
    let stubs = all();
    let start = table.expose_provenance() & !(PAGE - 1);
    let end = (table.expose_provenance() + stubs.len() * size_of::<usize>()).next_multiple_of(PAGE);
    // SAFETY: the table is read-only after relocation, on pages of the object, with an entry for each stub.
    unsafe {
        let place = ptr::with_exposed_provenance_mut(start);
        if libc::mprotect(place, end - start, libc::PROT_READ | libc::PROT_WRITE) != 0 {
            return Err("the stub's table can't be written".to_owned());
        }
        for (at, stub) in stubs.iter().enumerate() {
            table.add(at).write(stub.function);
        }
        libc::mprotect(place, end - start, libc::PROT_READ);
    }
    Ok(())
}

/// The text of the stub, for the assembler: to be linked into every object before all libraries.
pub fn stub_assembly() -> String {
    let stubs = all();
    let mut text = format!("\t.text\nmazurka_nothing:\n\txorl %eax, %eax\n\tret\n{}", wipe());
    for (at, stub) in stubs.iter().enumerate() {
        let name = stub.name;
        let entry = format!("mazurka_table+{}(%rip)", at * 8);
        text += &heading(name);
        text += &match stub.passing {
            Passing::Read => watched("\tmovq (%rsp), %rsi\n", ACCESS, &entry),
            Passing::Atomic => watched(NOTE_CALLER, ACCESS, &entry),
            Passing::Access1 => watched_in_rounds("\tmovq (%rsp), %rsi\n", ACCESS, &entry),
            Passing::Access2 => watched_in_rounds("\tmovq (%rsp), %rdx\n", ACCESS, &entry),
            Passing::Plain => watched_in_rounds(NOTE_CALLER, FUNCTION, &entry),
            Passing::Stacked => {
                watched_in_rounds(NOTE_CALLER, FUNCTION, &entry).replace("subq $8, %rsp", "pushq 8(%rsp)")
            }
            Passing::Internal => format!("\tmovl $0, mazurka_caller+72(%rip)\n\tjmp *{entry}\n"),
            Passing::Variadic(named) => variadic(named, &entry),
        };
    }
    text += BOUNDARY;
    text += &crate::runtime::sync::assembly::assembly();
    for (name, other) in SAME {
        // So that the caller stays the caller.
        text += &format!("{}\tjmp {other}\n", heading(name));
    }
    text += "\t.section .data.rel.ro,\"aw\",@progbits\n\t.balign 8\n";
    text += "\t.globl mazurka_table\n\t.protected mazurka_table\nmazurka_table:\n";
    for _ in &stubs {
        text += "\t.quad mazurka_nothing\n";
    }
    text += &format!("\t.section {SECTION},\"aw\",@nobits\n\t.balign 4096\n");
    text += "\t.globl mazurka_caller\n\t.protected mazurka_caller\nmazurka_caller:\n\t.zero 4096\n";
    text += "\t.section .note.GNU-stack,\"\",@progbits\n";
    text
}

/// Defines a name. Operators of C++ may be defined by the program too, which then means its own.
fn heading(name: &str) -> String {
    let binding = if name.starts_with("_Zn") || name.starts_with("_Zd") { "weak" } else { "globl" };
    format!("\t.{binding} {name}\n\t.hidden {name}\n\t.type {name}, @function\n{name}:\n")
}

const NOTE_CALLER: &str = "\tmovq (%rsp), %r11\n\tmovq %r11, mazurka_caller(%rip)\n";

/// Calls a function of the program, of three arguments. Who unwinds the stack finds its end here, and so does
/// not come to frames that are not the program's: an exception that nobody catches ends there. Where loops
/// are looked at, the function finds nothing below that others have left.
const BOUNDARY: &str = "\t.globl mazurka_enter\n\t.protected mazurka_enter\n\t.type mazurka_enter, @function
mazurka_enter:\n\t.cfi_startproc\n\t.cfi_undefined rip\n\tsubq $8, %rsp\n\t.cfi_adjust_cfa_offset 8
\tcmpl $0, mazurka_caller+68(%rip)\n\tje 1f\n\tmovq %rdi, %r8\n\tmovq %rcx, %r9
\tmovl $1024, %ecx\n\tleaq -8192(%rsp), %rdi\n\txorl %eax, %eax\n\trep stosq
\tmovq %r8, %rdi\n\tmovq %r9, %rcx\n1:
\tmovq %rdi, %rax\n\tmovq %rsi, %rdi\n\tmovq %rdx, %rsi\n\tmovq %rcx, %rdx\n\tcall *%rax
\taddq $8, %rsp\n\t.cfi_adjust_cfa_offset -8\n\tret\n\t.cfi_endproc\n";

/// Who asks later finds the frames of the caller from these.
const NOTE_FRAME: &str = "\tmovq %rbp, mazurka_caller+16(%rip)\n\tmovq %rsp, mazurka_caller+56(%rip)\n";

/// Wipes the stack below the stack pointer: as many words as were asked for, or, which is cheaper, the usual
/// ones. What a function returns is kept.
fn wipe() -> String {
    let mut text = format!("mazurka_wipe:\n\tcmpl ${USUAL_WORDS}, mazurka_caller+64(%rip)\n\tjg 1f\n");
    text += "\tmovl $0, mazurka_caller+64(%rip)\n\tpxor %xmm15, %xmm15\n\tmovq $0, -8(%rsp)\n";
    // A call has left the stack pointer 8 bytes below a multiple of 16.
    for at in 1..USUAL_WORDS / 2 {
        let _ = writeln!(text, "\tmovaps %xmm15, -{}(%rsp)", 8 + 16 * at);
    }
    text += "\tret\n1:\tmovq %rax, %r8\n\tmovl mazurka_caller+64(%rip), %ecx\n";
    text += "\tmovl $0, mazurka_caller+64(%rip)\n\tleaq (,%rcx,8), %rax\n\tmovq %rsp, %rdi\n";
    text += "\tsubq %rax, %rdi\n\txorl %eax, %eax\n\trep stosq\n\tmovq %r8, %rax\n\tret\n";
    text
}

/// So many words below the stack pointer are wiped where the usual path was taken.
pub(crate) const USUAL_WORDS: u32 = 48;

/// What has been called, in a word of its own: something that announces an access which the program makes
/// itself, or an atomic one.
pub(crate) const ACCESS: u32 = 1;
/// Any other function: of what it was given only the function knows.
pub(crate) const FUNCTION: u32 = 2;

/// The same as `watched` where loops are looked at, else as cheap as it can be.
fn watched_in_rounds(before: &str, call: u32, entry: &str) -> String {
    let cheap = format!("{NOTE_FRAME}{before}\tjmp *{entry}\n");
    format!("\tcmpl $0, mazurka_caller+68(%rip)\n\tjne 1f\n{cheap}1:\n{}", watched(before, call, entry))
}

/// Notes the registers that calls preserve, calls, and wipes.
fn watched(before: &str, call: u32, entry: &str) -> String {
    let mut text = format!("\t.cfi_startproc\n\tmovl ${call}, mazurka_caller+72(%rip)\n");
    for (at, register) in ["rbx", "rbp", "r12", "r13", "r14", "r15", "rsp"].iter().enumerate() {
        let _ = writeln!(text, "\tmovq %{register}, mazurka_caller+{}(%rip)", 8 + 8 * at);
    }
    let _ = write!(
        text,
        "{before}\tsubq $8, %rsp\n\t.cfi_adjust_cfa_offset 8\n\tcall *{entry}\n\taddq $8, %rsp\n\
         \t.cfi_adjust_cfa_offset -8\n\tcmpl $0, mazurka_caller+64(%rip)\n\tjne mazurka_wipe\n\tret\n\t.cfi_endproc\n"
    );
    text
}

/// Saves the argument registers as `va_start` finds them, and passes a `va_list` that describes them.
fn variadic(named: usize, entry: &str) -> String {
    let registers = ["rdi", "rsi", "rdx", "rcx", "r8", "r9"];
    let mut text = format!("{NOTE_FRAME}{NOTE_CALLER}\tmovl ${FUNCTION}, mazurka_caller+72(%rip)\n");
    text += "\tsubq $216, %rsp\n";
    for (at, register) in registers.iter().enumerate() {
        let _ = writeln!(text, "\tmovq %{register}, {}(%rsp)", 32 + 8 * at);
    }
    for at in 0..8 {
        let _ = writeln!(text, "\tmovaps %xmm{at}, {}(%rsp)", 80 + 16 * at);
    }
    let _ = write!(text, "\tmovl ${}, 8(%rsp)\n\tmovl $48, 12(%rsp)\n", 8 * named);
    text += "\tleaq 224(%rsp), %r11\n\tmovq %r11, 16(%rsp)\n\tleaq 32(%rsp), %r11\n\tmovq %r11, 24(%rsp)\n";
    let _ =
        write!(text, "\tleaq 8(%rsp), %{}\n\tcall *{entry}\n\taddq $216, %rsp\n\tret\n", registers[named]);
    text
}
