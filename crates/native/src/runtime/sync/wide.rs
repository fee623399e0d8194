//! Atomic accesses of 16 bytes, and of any other number of them that no processor has: one step each.
//!
//! Compilers call functions for them, by the names of their own instrumentation or of a library. Guards know
//! nothing of them: loops that wait with those of 16 bytes are rounds, and with others are cut.
#![allow(unsafe_code)]

use mazurka_program::AccessKind;
use mazurka_threads::races::Order;

use super::atomic::order;
use crate::runtime::memory::access::{Comparison, announce_range};
use crate::runtime::system::stubs::{Passing, Stub, stubs};
use crate::runtime::system::user::{caller, with_runtime};
use crate::runtime::threads::rounds::mixed;

/// The thread is about to access so many bytes, atomically or as the program itself does.
fn before(address: usize, size: usize, kind: AccessKind, order: Order, place: usize) {
    if size > 0 {
        announce_range((address, size), place, kind, (order, 0), None);
    }
}

const WIDE: usize = 16;

/// What the call was given, which tells it from others.
fn given(values: [u128; 2]) -> u64 {
    with_runtime(|runtime| runtime.note_told());
    let [first, second] = values.map(|value| [value as u64, (value >> 64) as u64]);
    mixed(&[first[0], first[1], second[0], second[1]])
}

/// The thread is about to access 16 bytes in a call that was given this to write.
fn before_wide(address: *mut u128, kind: AccessKind, order: Order, value: u128) {
    let how = (order, given([value, 0]));
    announce_range((address.expose_provenance(), WIDE), caller(), kind, how, None);
}

/// Reads 16 bytes of the program.
fn read(address: *const u128) -> u128 {
    // SAFETY: the program passes a valid pointer; a wild one faults, and the thread is thrown out. No other
    // thread runs, so that a plain access is atomic.
    unsafe { address.read_unaligned() }
}

fn write(address: *mut u128, value: u128) {
    // SAFETY: as above.
    unsafe { address.write_unaligned(value) };
}

extern "C-unwind" fn load(address: *mut u128, number: i32) -> u128 {
    before_wide(address, AccessKind::Read, order(number), 0);
    read(address)
}

extern "C-unwind" fn store(address: *mut u128, value: u128, number: i32) {
    before_wide(address, AccessKind::Write, order(number), value);
    write(address, value);
}

fn modify(address: *mut u128, number: i32, by: u128, f: impl FnOnce(u128, u128) -> u128) -> u128 {
    before_wide(address, AccessKind::Update, order(number), by);
    let value = read(address);
    write(address, f(value, by));
    value
}

extern "C-unwind" fn exchange(address: *mut u128, new: u128, order: i32) -> u128 {
    modify(address, order, new, |_, new| new)
}

extern "C-unwind" fn add(address: *mut u128, by: u128, order: i32) -> u128 {
    modify(address, order, by, u128::wrapping_add)
}

extern "C-unwind" fn sub(address: *mut u128, by: u128, order: i32) -> u128 {
    modify(address, order, by, u128::wrapping_sub)
}

extern "C-unwind" fn and(address: *mut u128, by: u128, order: i32) -> u128 {
    modify(address, order, by, |value, by| value & by)
}

extern "C-unwind" fn or(address: *mut u128, by: u128, order: i32) -> u128 {
    modify(address, order, by, |value, by| value | by)
}

extern "C-unwind" fn xor(address: *mut u128, by: u128, order: i32) -> u128 {
    modify(address, order, by, |value, by| value ^ by)
}

extern "C-unwind" fn nand(address: *mut u128, by: u128, order: i32) -> u128 {
    modify(address, order, by, |value, by| !(value & by))
}

/// Compares and exchanges; gives what was there.
fn compare(address: *mut u128, expected: u128, new: u128, orders: (i32, i32), place: usize) -> u128 {
    let at = address.expose_provenance();
    let comparison = Comparison { address: at, size: WIDE, expected, failure: order(orders.1) };
    let how = (order(orders.0), given([expected, new]));
    announce_range((at, WIDE), place, AccessKind::Update, how, Some(comparison));
    let value = read(address);
    if value == expected {
        write(address, new);
    }
    value
}

/// As clang calls it: gives what was there.
extern "C-unwind" fn compare_exchange(
    address: *mut u128,
    expected: u128,
    new: u128,
    success: i32,
    failure: i32,
) -> u128 {
    compare(address, expected, new, (success, failure), caller())
}

/// As gcc and libraries call it: tells whether it was as expected, and writes what was there.
extern "C-unwind" fn compare_exchange_at(
    address: *mut u128,
    expected: *mut u128,
    new: u128,
    success: i32,
    failure: i32,
) -> i32 {
    let place = caller();
    before(expected.expose_provenance(), WIDE, AccessKind::Read, Order::Plain, place);
    let wanted = read(expected);
    let value = compare(address, wanted, new, (success, failure), place);
    if value == wanted {
        return 1;
    }
    before(expected.expose_provenance(), WIDE, AccessKind::Write, Order::Plain, place);
    write(expected, value);
    0
}

/// No atomic object is larger: what it holds is kept on the stack between two steps.
const MOST: usize = 1024;

/// Does something with room for so many bytes.
fn with_room(size: usize, place: usize, act: impl FnOnce(*mut u8)) {
    if size > MOST {
        let told = |at| format!("an atomic object of {size} bytes{at} is not supported; use a lock");
        with_runtime(|runtime| runtime.refuse_at(place, told));
    }
    let mut room = [0_u8; MOST];
    act(room.as_mut_ptr());
}

/// Copies bytes of the program.
fn copy(from: *const u8, to: *mut u8, size: usize) {
    // SAFETY: the program passes valid pointers; wild ones fault, and the thread is thrown out.
    unsafe { std::ptr::copy(from, to, size) };
}

/// `__atomic_load`: of any size, to a place.
extern "C-unwind" fn load_any(size: usize, from: *const u8, to: *mut u8, number: i32) {
    let place = caller();
    with_room(size, place, |room| {
        before(from.expose_provenance(), size, AccessKind::Read, order(number), place);
        copy(from, room, size);
        before(to.expose_provenance(), size, AccessKind::Write, Order::Plain, place);
        copy(room, to, size);
    });
}

extern "C-unwind" fn store_any(size: usize, to: *mut u8, from: *const u8, number: i32) {
    let place = caller();
    with_room(size, place, |room| {
        before(from.expose_provenance(), size, AccessKind::Read, Order::Plain, place);
        copy(from, room, size);
        before(to.expose_provenance(), size, AccessKind::Write, order(number), place);
        copy(room, to, size);
    });
}

extern "C-unwind" fn exchange_any(size: usize, at: *mut u8, from: *const u8, to: *mut u8, number: i32) {
    let place = caller();
    with_room(2 * size, place, |room| {
        let old = room.wrapping_add(size);
        before(from.expose_provenance(), size, AccessKind::Read, Order::Plain, place);
        copy(from, room, size);
        before(at.expose_provenance(), size, AccessKind::Update, order(number), place);
        copy(at, old, size);
        copy(room, at, size);
        before(to.expose_provenance(), size, AccessKind::Write, Order::Plain, place);
        copy(old, to, size);
    });
}

/// The bytes of a number of up to 16 of them.
fn number(from: *const u8, size: usize) -> u128 {
    let mut value = 0_u128;
    copy(from, (&raw mut value).cast(), size);
    value
}

extern "C-unwind" fn compare_exchange_any(
    size: usize,
    at: *mut u8,
    expected: *mut u8,
    new: *const u8,
    success: i32,
    failure: i32,
) -> i32 {
    let place = caller();
    if size > WIDE {
        let told = |at| format!("to compare and exchange {size} bytes{at} is not supported; use a lock");
        with_runtime(|runtime| runtime.refuse_at(place, told));
    }
    before(expected.expose_provenance(), size, AccessKind::Read, Order::Plain, place);
    let wanted = number(expected, size);
    before(new.expose_provenance(), size, AccessKind::Read, Order::Plain, place);
    let new = number(new, size);
    let address = at.expose_provenance();
    let comparison = Comparison { address, size, expected: wanted, failure: order(failure) };
    announce_range((address, size), place, AccessKind::Update, (order(success), 0), Some(comparison));
    let value = number(at, size);
    if value == wanted {
        copy((&raw const new).cast(), at, size);
        return 1;
    }
    before(expected.expose_provenance(), size, AccessKind::Write, Order::Plain, place);
    copy((&raw const value).cast(), expected, size);
    0
}

/// What is one step here is so without a lock as far as the program can tell.
extern "C-unwind" fn is_lock_free(size: usize, _object: usize) -> i32 {
    i32::from(size <= WIDE)
}

/// What programs call.
pub(crate) fn interposed(list: &mut Vec<Stub>) {
    list.extend(stubs! { Passing::Plain;
        "__tsan_atomic128_load" => load, "__atomic_load_16" => load,
        "__tsan_atomic128_store" => store, "__atomic_store_16" => store,
        "__tsan_atomic128_exchange" => exchange, "__atomic_exchange_16" => exchange,
        "__tsan_atomic128_fetch_add" => add, "__atomic_fetch_add_16" => add,
        "__tsan_atomic128_fetch_sub" => sub, "__atomic_fetch_sub_16" => sub,
        "__tsan_atomic128_fetch_and" => and, "__atomic_fetch_and_16" => and,
        "__tsan_atomic128_fetch_or" => or, "__atomic_fetch_or_16" => or,
        "__tsan_atomic128_fetch_xor" => xor, "__atomic_fetch_xor_16" => xor,
        "__tsan_atomic128_fetch_nand" => nand, "__atomic_fetch_nand_16" => nand,
        "__tsan_atomic128_compare_exchange_strong" => compare_exchange_at,
        "__tsan_atomic128_compare_exchange_weak" => compare_exchange_at,
        "__atomic_compare_exchange_16" => compare_exchange_at,
        "__atomic_load" => load_any, "__atomic_store" => store_any, "__atomic_exchange" => exchange_any,
        "__atomic_compare_exchange" => compare_exchange_any, "__atomic_is_lock_free" => is_lock_free,
    });
    list.extend(stubs! { Passing::Stacked; "__tsan_atomic128_compare_exchange_val" => compare_exchange });
}
