//! A process that runs a compiled program for a worker, as the worker sees it.
//!
//! One of machine code is started with the object by its number among the files of this process, and with a socket
//! as its input; one of a Rust test is [started](super::test_program) by its own program. Whatever becomes of it (it may die, say nothing or nonsense), an answer is whole or there is none.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child as Process, Command, ExitStatus, Stdio};
use std::time::Duration;

use mazurka_native::isolation::fix_addresses;

use super::serve::SERVER;
use mazurka_ledger::frames;
use mazurka_ledger::protocol::{Answer, Ask};

/// How often it is looked whether an answer is still wanted.
const LOOK: Duration = Duration::from_millis(50);

/// Such a process. It is ended with this.
pub struct Child {
    process: Process,
    socket: UnixStream,
}

impl Child {
    /// Starts one.
    pub fn start(object: &File) -> io::Result<Child> {
        // Where this is not allowed, programs are at other addresses than elsewhere, and are refused for that.
        fix_addresses();
        let (socket, theirs) = UnixStream::pair()?;
        let parent = std::process::id();
        let process = Command::new(std::env::current_exe()?)
            .arg(SERVER)
            .arg(format!("/proc/{parent}/fd/{}", object.as_raw_fd()))
            .arg(parent.to_string())
            // What is run there need not know how the database is reached.
            .env_remove("PGPASSWORD")
            // Ctrl-C is for the worker.
            .process_group(0)
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        Child::of(process, socket)
    }

    /// One that was started, and listens at the other end of a socket.
    pub fn of(process: Process, socket: UnixStream) -> io::Result<Child> {
        let child = Child { process, socket };
        child.socket.set_nonblocking(false)?;
        child.socket.set_read_timeout(Some(LOOK))?;
        Ok(child)
    }

    /// Waits for its end.
    pub fn ended(&mut self) -> io::Result<ExitStatus> {
        self.process.wait()
    }

    /// Asks for something, and waits for the answer as long as it is wanted; none if there is none.
    pub fn ask(&mut self, ask: &Ask, is_wanted: &dyn Fn() -> bool) -> Option<Answer> {
        frames::write(&mut self.socket, &ask.encoded()).ok()?;
        self.hear(is_wanted)
    }

    /// Waits for an answer as long as it is wanted.
    pub fn hear(&mut self, is_wanted: &dyn Fn() -> bool) -> Option<Answer> {
        let answer = frames::read(&mut Patient { socket: &self.socket, is_wanted }).ok()??;
        Answer::decoded(&answer)
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Reads from a socket as long as somebody wants it.
struct Patient<'a> {
    socket: &'a UnixStream,
    is_wanted: &'a dyn Fn() -> bool,
}

impl Read for Patient<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.socket.read(into) {
                Err(error)
                    if matches!(
                        error.kind(),
                        ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
                    ) && (self.is_wanted)() => {}
                result => return result,
            }
        }
    }
}
