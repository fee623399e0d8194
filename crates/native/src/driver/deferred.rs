//! Functions that are not supported, until somebody calls them.
//!
//! A program may have calls that no execution comes to. So a function that can't be had is no reason to
//! refuse the program: in its place stands a stub that says why, and who comes to it is refused there.

use std::fmt::Write;

/// What is linked in the place of functions that are not there: the text for the assembler.
#[derive(Debug, Default)]
pub struct Deferred {
    text: String,
    /// Of the first: its refusal, if it can't be put off after all.
    first: Option<String>,
}

impl Deferred {
    /// Puts a refusal off until the function is called. It is known to people by another name.
    pub fn refuse(&mut self, symbol: &str, name: &str, why: &str, refusal: impl FnOnce() -> String) {
        let _ = write!(
            self.text,
            "{}\tleaq 1f(%rip), %rdi\n\tleaq 2f(%rip), %rsi\n\tjmp mazurka_refused\n\
             \t.section .rodata\n1:\t.asciz \"{}\"\n2:\t.asciz \"{}\"\n\t.text\n",
            heading(symbol),
            escaped(name),
            escaped(why)
        );
        self.first.get_or_insert_with(refusal);
    }

    /// To call a function is to do nothing: it gives 0.
    pub fn ignore(&mut self, symbol: &str) {
        let _ = write!(self.text, "{}\txorl %eax, %eax\n\tret\n", heading(symbol));
    }

    /// One name stands for another.
    pub fn rename(&mut self, symbol: &str, other: &str) {
        let _ = writeln!(self.text, "{}\tjmp {other}", heading(symbol));
    }

    /// The text for the assembler.
    pub fn assembly(&self) -> String {
        format!("\t.text\n{}", self.text)
    }

    /// Why there is a refusal after all, if a function was put off.
    pub fn refusal(self) -> Option<String> {
        self.first
    }
}

fn heading(symbol: &str) -> String {
    format!("\t.globl {symbol}\n\t.hidden {symbol}\n\t.type {symbol}, @function\n{symbol}:\n")
}

/// A text between quotes, for the assembler.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}
