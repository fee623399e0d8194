//! Where a program runs that may do anything: in a process of its own, with the same addresses every time,
//! and in copies of that process.
#![allow(unsafe_code)]

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::ptr;
use std::time::Duration;

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
pub fn put_input_aside() -> io::Result<PathBuf> {
    // It stays open as long as the process lives.
    let aside = take_input()?.into_raw_fd();
    Ok(PathBuf::from(format!("/proc/self/fd/{aside}")))
}

/// Takes what this process has as its input, so that the program reads nothing.
///
/// # Errors
/// If the system has no room for that.
pub fn take_input() -> io::Result<OwnedFd> {
    let nothing = File::open("/dev/null")?;
    // SAFETY: the numbers are those of files that are open; nobody here relies on what number 0 is.
    unsafe {
        let aside = libc::fcntl(0, libc::F_DUPFD_CLOEXEC, 3);
        if aside < 0 {
            return Err(io::Error::last_os_error());
        }
        let aside = OwnedFd::from_raw_fd(aside);
        if libc::dup2(nothing.as_raw_fd(), 0) < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(aside)
    }
}

/// A file with these bytes that is in no directory: programs can be run from it wherever they can be run from
/// memory.
///
/// # Errors
/// If the system has no room for it.
pub fn file_in_memory(bytes: &[u8]) -> io::Result<File> {
    // SAFETY: the name is a C string, and the number that of a new file, which nobody else has.
    let mut file = unsafe {
        let file = libc::memfd_create(c"mazurka".as_ptr(), libc::MFD_CLOEXEC);
        if file < 0 {
            return Err(io::Error::last_os_error());
        }
        File::from_raw_fd(file)
    };
    file.write_all(bytes)?;
    Ok(file)
}

/// A copy of this process, which does some work and writes what came of it. When nobody has it any more it is
/// ended.
#[derive(Debug)]
pub struct ProcessCopy {
    process: libc::pid_t,
    pipe: File,
    written: Vec<u8>,
    /// Whether it was waited for.
    is_gone: bool,
}

impl ProcessCopy {
    /// Makes a copy that does this work, on memory that is as it is now and its own from then on. Only the
    /// thread that calls this is copied. The copy dies with this process.
    ///
    /// # Errors
    /// If the system allows no more processes or files.
    pub fn of_this_process(work: impl FnOnce() -> Option<Vec<u8>>) -> io::Result<ProcessCopy> {
        let (pipe, into) = io::pipe()?;
        let all = all_signals();
        let mut before = all;
        // SAFETY: the sets are complete. The copy has this thread alone, and does nothing that waits for
        // others: what they may hold is the allocator's, which the system's `fork` takes care of. It never
        // returns from here.
        unsafe {
            // A signal that comes between is for the process that there was.
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
            let parent = libc::getpid();
            let process = libc::fork();
            if process == 0 {
                drop(pipe);
                become_copy(parent);
                libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, ptr::null_mut());
                let done = catch_unwind(AssertUnwindSafe(|| tell(into, work()))).unwrap_or(false);
                libc::_exit(if done { 0 } else { 1 });
            }
            let error = io::Error::last_os_error();
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, ptr::null_mut());
            if process < 0 {
                return Err(error);
            }
            Ok(ProcessCopy {
                process,
                pipe: File::from(OwnedFd::from(pipe)),
                written: Vec::new(),
                is_gone: false,
            })
        }
    }

    /// Its number.
    pub fn id(&self) -> u32 {
        self.process.cast_unsigned()
    }

    /// Ends it.
    pub fn kill(&mut self) {
        if !self.is_gone {
            // SAFETY: it is a child of this process that was not waited for, so the number is its.
            unsafe { libc::kill(self.process, libc::SIGKILL) };
        }
    }

    /// Waits until some of these copies have something to say, no longer than so long, and hears it. Gives
    /// which of them are done, and what they wrote; none of one that died.
    pub fn hear(copies: &mut [ProcessCopy], most: Duration) -> Vec<(usize, Option<Vec<u8>>)> {
        let poll =
            |copy: &ProcessCopy| libc::pollfd { fd: copy.pipe.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        let mut polls: Vec<libc::pollfd> = copies.iter().map(poll).collect();
        let most = libc::c_int::try_from(most.as_millis()).unwrap_or(libc::c_int::MAX);
        // SAFETY: there are so many of them. What was not heard for a signal is heard the next time.
        let ready = unsafe { libc::poll(polls.as_mut_ptr(), polls.len() as libc::nfds_t, most) };
        if ready <= 0 {
            return Vec::new();
        }
        let heard = copies.iter_mut().enumerate().zip(polls).filter(|(_, poll)| poll.revents != 0);
        heard.filter_map(|((at, copy), _)| copy.hear_more().map(|written| (at, written))).collect()
    }

    /// Reads what there is to read; if that was all, what it wrote, and none if it died.
    #[expect(clippy::option_option, reason = "it may go on, or be done, or have died")]
    fn hear_more(&mut self) -> Option<Option<Vec<u8>>> {
        let mut some = [0; 1 << 16];
        match self.pipe.read(&mut some) {
            Ok(0) => Some(self.has_done().then(|| std::mem::take(&mut self.written))),
            Ok(len) => {
                self.written.extend_from_slice(&some[..len]);
                None
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => None,
            Err(_) => Some(None),
        }
    }

    /// Waits for its end. Says whether it did what it was to do.
    fn has_done(&mut self) -> bool {
        let mut status = 0;
        // SAFETY: it is a child of this process that nobody else waits for.
        while unsafe { libc::waitpid(self.process, &raw mut status, 0) } < 0 {
            if io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
                return false;
            }
        }
        self.is_gone = true;
        libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0
    }
}

impl Drop for ProcessCopy {
    fn drop(&mut self) {
        if !self.is_gone {
            self.kill();
            self.has_done();
        }
    }
}

fn all_signals() -> libc::sigset_t {
    // SAFETY: the set is filled before it is used.
    unsafe {
        let mut all = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        all
    }
}

/// What a copy is from the start: one that dies with the process that it is of, that nobody interrupts but
/// that process, and whose program can't write into its report.
fn become_copy(parent: libc::pid_t) {
    // SAFETY: these set what the system knows of this process, and no memory is touched.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        if libc::getppid() != parent {
            libc::_exit(1);
        }
        libc::signal(libc::SIGINT, libc::SIG_IGN);
        let nothing = libc::open(c"/dev/null".as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
        if nothing >= 0 {
            libc::dup2(nothing, 1);
        }
    }
}

/// Writes what came of the work. Says whether there was something, and all of it was written.
fn tell(into: io::PipeWriter, came_of_it: Option<Vec<u8>>) -> bool {
    let mut into = into;
    came_of_it.is_some_and(|bytes| into.write_all(&bytes).is_ok())
}
