//! Copies and fills of memory: `memcpy` and its kin.
//!
//! A copy is two steps: it reads, and then it writes. What it read is kept, since others may write it. What
//! has no such steps is left to the C library, which takes whatever a program gives it.
#![allow(unsafe_code)]

use std::ptr;

use mazurka_program::AccessKind;
use mazurka_threads::races::Order;

use super::access::announce_any;
use crate::runtime::system::stubs::{Passing, Stub, stubs};
use crate::runtime::system::user::caller;
use crate::runtime::threads::runtime::current;

/// Copies, after both accesses were announced. The ranges may overlap.
fn copy(to: usize, from: usize, size: usize, place: usize) {
    if size == 0 {
        return;
    }
    let noticed = announce_any(from, size, place, AccessKind::Read, (Order::Plain, 0));
    let source = ptr::with_exposed_provenance::<u8>(from);
    let target = ptr::with_exposed_provenance_mut::<u8>(to);
    if !noticed {
        announce_any(to, size, place, AccessKind::Write, (Order::Plain, 0));
        // SAFETY: the program passes valid ranges; wild ones fault, and the thread is thrown out.
        unsafe { libc::memmove(target.cast(), source.cast(), size) };
        return;
    }
    // SAFETY: as above; a thread of the program runs here, and no reference is kept across the switch.
    unsafe {
        let kept = &mut (*current()).me().buffers.kept;
        kept.clear();
        kept.extend_from_slice(std::slice::from_raw_parts(source, size));
        announce_any(to, size, place, AccessKind::Write, (Order::Plain, 0));
        let kept = &(*current()).me().buffers.kept;
        ptr::copy_nonoverlapping(kept.as_ptr(), target, size);
    }
}

fn fill(to: usize, byte: i32, size: usize, place: usize) {
    if size > 0 {
        announce_any(to, size, place, AccessKind::Write, (Order::Plain, 0));
        // SAFETY: the program passes a valid range; a wild one faults, and the thread is thrown out.
        unsafe { libc::memset(ptr::with_exposed_provenance_mut(to), byte, size) };
    }
}

extern "C-unwind" fn memcpy(to: usize, from: usize, size: usize) -> usize {
    copy(to, from, size, caller());
    to
}

extern "C-unwind" fn mempcpy(to: usize, from: usize, size: usize) -> usize {
    copy(to, from, size, caller());
    to + size
}

extern "C-unwind" fn bcopy(from: usize, to: usize, size: usize) {
    copy(to, from, size, caller());
}

extern "C-unwind" fn memset(to: usize, byte: i32, size: usize) -> usize {
    fill(to, byte, size, caller());
    to
}

extern "C-unwind" fn bzero(to: usize, size: usize) {
    fill(to, 0, size, caller());
}

/// What programs call.
pub(crate) fn interposed(list: &mut Vec<Stub>) {
    list.extend(stubs! { Passing::Plain;
        "memcpy" => memcpy, "memmove" => memcpy, "__tsan_memcpy" => memcpy, "__tsan_memmove" => memcpy,
        "__memcpy_chk" => memcpy, "__memmove_chk" => memcpy, "mempcpy" => mempcpy, "__mempcpy" => mempcpy,
        "bcopy" => bcopy, "memset" => memset, "__tsan_memset" => memset, "__memset_chk" => memset,
        "bzero" => bzero, "explicit_bzero" => bzero,
    });
}
