//! What programs print: kept, and shown for a failing execution only.
#![allow(unsafe_code)]

use std::ffi::CStr;
use std::ptr;

use mazurka_program::AccessKind;

use super::stubs::{Passing, Stub, stubs};
use super::user::{caller, with_runtime};
use crate::runtime::memory::access::range;

/// No execution's output is kept beyond this.
const MOST: usize = 1 << 20;

unsafe extern "C" {
    static stdout: *mut libc::FILE;
    static stderr: *mut libc::FILE;
    fn vsnprintf(
        to: *mut libc::c_char,
        size: usize,
        format: *const libc::c_char,
        list: *mut libc::c_void,
    ) -> i32;
}

fn keep(bytes: &[u8]) {
    with_runtime(|runtime| {
        let room = MOST.saturating_sub(runtime.execution.output.len());
        runtime.execution.output.extend_from_slice(&bytes[..bytes.len().min(room)]);
    });
}

/// Only what the program was given to print to is supported.
fn check(stream: *mut libc::FILE, place: usize) {
    // SAFETY: the variables are the C library's, and set before `main`.
    let known = unsafe { stream == stdout || stream == stderr };
    if !known {
        let told = |at| format!("the program{at} uses a file, which is not supported");
        with_runtime(|runtime| runtime.refuse_at(place, told));
    }
}

/// Formats, and keeps what comes out. Gives its length.
fn print(format: *const libc::c_char, list: *mut libc::c_void) -> i32 {
    let mut buffer = [0u8; 1024];
    // The list is used up by each call.
    let mut again = [0u8; 24];
    // SAFETY: the list is a `va_list` of this platform, of 24 bytes, that describes what the format asks for;
    // the buffers are as large as they say. Nothing suspends the thread while a vector is alive.
    unsafe {
        ptr::copy_nonoverlapping(list.cast::<u8>(), again.as_mut_ptr(), again.len());
        let length = vsnprintf(buffer.as_mut_ptr().cast(), buffer.len(), format, list);
        let Ok(needed) = usize::try_from(length) else { return length };
        if needed < buffer.len() {
            keep(&buffer[..needed]);
        } else {
            let mut large = vec![0u8; needed.min(MOST) + 1];
            vsnprintf(large.as_mut_ptr().cast(), large.len(), format, again.as_mut_ptr().cast());
            keep(&large[..large.len() - 1]);
        }
        length
    }
}

extern "C-unwind" fn vprintf(format: *const libc::c_char, list: *mut libc::c_void) -> i32 {
    print(format, list)
}

extern "C-unwind" fn vfprintf(
    stream: *mut libc::FILE,
    format: *const libc::c_char,
    list: *mut libc::c_void,
) -> i32 {
    check(stream, caller());
    print(format, list)
}

extern "C-unwind" fn printf_chk(_flag: i32, format: *const libc::c_char, list: *mut libc::c_void) -> i32 {
    print(format, list)
}

extern "C-unwind" fn fprintf_chk(
    stream: *mut libc::FILE,
    _flag: i32,
    format: *const libc::c_char,
    list: *mut libc::c_void,
) -> i32 {
    check(stream, caller());
    print(format, list)
}

extern "C-unwind" fn dprintf(file: i32, format: *const libc::c_char, list: *mut libc::c_void) -> i32 {
    check_number(file, caller());
    print(format, list)
}

/// Keeps memory of the program, after it was announced that it is read.
fn keep_memory(from: *const u8, size: usize, place: usize) {
    range(from.expose_provenance(), size, place, AccessKind::Read);
    // SAFETY: the program passes so many bytes; a wild pointer faults, and the thread is thrown out.
    keep(unsafe { std::slice::from_raw_parts(from, size) });
}

fn keep_text(text: *const libc::c_char, place: usize) {
    // SAFETY: the program passes a C string; a wild pointer faults, and the thread is thrown out.
    let size = unsafe { libc::strlen(text) };
    keep_memory(text.cast(), size, place);
}

extern "C-unwind" fn puts(text: *const libc::c_char) -> i32 {
    keep_text(text, caller());
    keep(b"\n");
    1
}

extern "C-unwind" fn fputs(text: *const libc::c_char, stream: *mut libc::FILE) -> i32 {
    let place = caller();
    check(stream, place);
    keep_text(text, place);
    1
}

extern "C-unwind" fn putchar(byte: i32) -> i32 {
    keep(&[byte as u8]);
    byte
}

extern "C-unwind" fn fputc(byte: i32, stream: *mut libc::FILE) -> i32 {
    check(stream, caller());
    putchar(byte)
}

extern "C-unwind" fn fwrite(from: *const u8, size: usize, count: usize, stream: *mut libc::FILE) -> usize {
    let place = caller();
    check(stream, place);
    keep_memory(from, size.saturating_mul(count), place);
    count
}

extern "C-unwind" fn fflush(stream: *mut libc::FILE) -> i32 {
    if !stream.is_null() {
        check(stream, caller());
    }
    0
}

extern "C-unwind" fn perror(text: *const libc::c_char) {
    if !text.is_null() {
        keep_text(text, caller());
        keep(b": ");
    }
    // SAFETY: the error number is that of this thread; the C library gives a C string.
    keep(unsafe { CStr::from_ptr(libc::strerror(*with_runtime(|runtime| runtime.search.errno))) }.to_bytes());
    keep(b"\n");
}

fn check_number(file: i32, place: usize) {
    if file != 1 && file != 2 {
        check(ptr::null_mut(), place);
    }
}

extern "C-unwind" fn write(file: i32, from: *const u8, size: usize) -> isize {
    let place = caller();
    check_number(file, place);
    keep_memory(from, size, place);
    size as isize
}

extern "C-unwind" fn setvbuf() -> i32 {
    0
}

/// What programs call.
pub(crate) fn interposed(list: &mut Vec<Stub>) {
    list.extend(stubs! { Passing::Variadic(1); "printf" => vprintf });
    list.extend(stubs! { Passing::Variadic(2);
        "fprintf" => vfprintf, "__printf_chk" => printf_chk, "dprintf" => dprintf
    });
    list.extend(stubs! { Passing::Variadic(3); "__fprintf_chk" => fprintf_chk });
    list.extend(stubs! { Passing::Plain;
        "vprintf" => vprintf, "vfprintf" => vfprintf, "puts" => puts, "fputs" => fputs, "putchar" => putchar,
        "putchar_unlocked" => putchar, "putc" => fputc, "fputc" => fputc, "fwrite" => fwrite,
        "fflush" => fflush, "perror" => perror, "write" => write, "setvbuf" => setvbuf, "setbuf" => setvbuf,
        "setlinebuf" => setvbuf,
    });
}
