//! Indices outside of their arrays: compilers check arrays whose size they know, and call this.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char};

use mazurka_program::FailureKind;

use crate::runtime::system::stubs::{Passing, Stub, stubs};
use crate::runtime::system::user::{caller, my_name};
use crate::runtime::threads::arrive;
use crate::symbols::sign_extend;

/// What the checks of UBSan pass of the place and of the types, in both compilers alike.
#[repr(C)]
struct OutOfBounds {
    file: *const c_char,
    line: u32,
    column: u32,
    array: *const TypeDescriptor,
    index: *const TypeDescriptor,
}

/// A type: for an integer twice the logarithm of its bits, plus 1 if it has a sign; and its name, in quotes.
#[repr(C)]
struct TypeDescriptor {
    kind: u16,
    info: u16,
    name: [c_char; 0],
}

/// An index as the program has it, of which the low bits were passed.
fn value(index: u64, info: u16) -> i128 {
    let bits = 1 << (info >> 1).min(6);
    match info & 1 {
        1 => i128::from(sign_extend(index, bits)),
        _ => i128::from(index & (u64::MAX >> (64 - bits))),
    }
}

extern "C-unwind" fn out_of_bounds(data: *const OutOfBounds, index: u64) -> ! {
    let place = caller();
    // SAFETY: compilers pass constants of these types, which outlive the program.
    let (array, index) = unsafe {
        let array = CStr::from_ptr((&raw const (*(*data).array).name).cast()).to_string_lossy();
        (array, value(index, (*(*data).index).info))
    };
    let array = array.trim_matches('\'');
    let message = format!("{} uses the index {index} of an array `{array}`", my_name());
    arrive::fail_here(FailureKind::Memory, message, place)
}

/// What programs call.
pub(crate) fn interposed(list: &mut Vec<Stub>) {
    list.extend(stubs! { Passing::Plain; "__ubsan_handle_out_of_bounds" => out_of_bounds });
}

#[cfg(test)]
mod tests {
    use super::value;

    #[test]
    fn indices_have_their_signs() {
        // As a signed number of 32 bits, an unsigned one of 32, of 64, and a signed one of 8.
        for (passed, info, is) in [
            (0xFFFF_FFFF, 11, -1),
            (u64::MAX, 11, -1),
            (0xFFFF_FFFF, 10, 0xFFFF_FFFF),
            (u64::MAX, 12, i128::from(u64::MAX)),
            (0x80, 7, -128),
            (7, 13, 7),
        ] {
            assert_eq!(value(passed, info), is, "{passed:#x} {info}");
        }
    }
}
