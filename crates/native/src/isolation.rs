//! Where a program runs that may do anything: in a process of its own, with the same addresses every time.
#![allow(unsafe_code)]

/// Sees to it that processes that are started from now on have their memory at the same addresses each time,
/// so that a schedule means the same in another one. Says whether that is so; where the system does not allow
/// it, values that are addresses differ from process to process, but not within one.
pub fn fix_addresses() -> bool {
    const ASK: libc::c_ulong = 0xffff_ffff;
    // SAFETY: `personality` reads and sets a number of this process in the kernel; it touches no memory.
    unsafe {
        let now = libc::personality(ASK);
        now >= 0 && libc::personality(now as libc::c_ulong | libc::ADDR_NO_RANDOMIZE as libc::c_ulong) >= 0
    }
}

/// Puts what this process could read from its input aside, so that the program reads nothing, and gives a
/// name under which it can be opened as long as the process lives.
///
/// # Errors
/// If the system has no room for that.
pub fn put_input_aside() -> std::io::Result<std::path::PathBuf> {
    let nothing = std::fs::File::open("/dev/null")?;
    // SAFETY: the numbers are those of files that are open; nobody here relies on what number 0 is.
    let aside = unsafe {
        let aside = libc::fcntl(0, libc::F_DUPFD_CLOEXEC, 3);
        if aside < 0 || libc::dup2(std::os::fd::AsRawFd::as_raw_fd(&nothing), 0) < 0 {
            return Err(std::io::Error::last_os_error());
        }
        aside
    };
    Ok(std::path::PathBuf::from(format!("/proc/self/fd/{aside}")))
}
