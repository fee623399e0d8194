//! Where a program runs that may do anything: in a process of its own, with the same addresses every time.
#![allow(unsafe_code)]

/// Sees to it that processes that are started from now on have their memory at the same addresses each time, so that a
/// schedule means the same in another one. Says whether that is so; where the system does not allow it, values that are
/// addresses differ from process to process, but not within one.
pub fn fix_addresses() -> bool {
    const ASK: libc::c_ulong = 0xffff_ffff;
    // SAFETY: `personality` reads and sets a number that the kernel keeps for this process; it touches no memory.
    unsafe {
        let now = libc::personality(ASK);
        now >= 0 && libc::personality(now as libc::c_ulong | libc::ADDR_NO_RANDOMIZE as libc::c_ulong) >= 0
    }
}
