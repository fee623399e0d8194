//! Tests of Rust crates: the program that cargo has built of them, and how a process of it is asked to search.
//!
//! `BINARY TEST --exact` is run with the path of a socket in its environment. The first check of the test connects to
//! it, and does what it is asked from then on (`checker::asked` in the library). The socket is in a directory that
//! nobody else can enter, and only for as long as the process has not connected.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child as Process, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use super::child::Child;

/// The environment variable that has the path of the socket.
const VARIABLE: &str = "MAZURKA_WORKER";
/// The one that says how long a check may take.
const MAX_SECONDS: &str = "MAZURKA_MAX_SECONDS";

/// So long a test may take until it comes to a check.
const LONGEST_START: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(5);

/// A test, and the program that has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestProgram {
    binary: PathBuf,
    test: String,
}

/// What becomes of what a test prints.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Prints {
    /// It is for the user.
    Here,
    Nowhere,
}

impl TestProgram {
    /// The one that is meant by what is given behind `--`.
    pub fn of(words: &[String]) -> Result<TestProgram, String> {
        let [binary, test] = words else {
            return Err("a Rust test is named by two words behind --: the program that cargo has built of the tests, and \
                        the name of the test (-- target/debug/deps/tests-0123456789abcdef module::test)"
                .to_owned());
        };
        // A name without a directory would be looked for elsewhere.
        let binary = std::path::absolute(binary).map_err(|error| format!("{binary}: {error}"))?;
        if !binary.is_file() {
            return Err(format!("{}: there is no such program", binary.display()));
        }
        Ok(TestProgram { binary, test: test.clone() })
    }

    /// What to call the test.
    pub fn name(&self) -> &str {
        &self.test
    }

    /// What to call a search of it.
    pub fn title(&self) -> String {
        let program = self.binary.file_name().unwrap_or_default().to_string_lossy();
        format!("{program} {}", self.test)
    }

    /// How it is named behind `--`.
    pub fn words(&self) -> String {
        format!("{} {}", self.binary.display(), self.test)
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.binary);
        command.args([&*self.test, "--exact", "--include-ignored"]).stdin(Stdio::null());
        command
    }

    /// A process that has come to the first check of the test, and waits to be asked.
    pub fn start(&self, prints: Prints, most: Option<Duration>) -> Result<Child, String> {
        let failed = |error| format!("{} can't be run: {error}", self.binary.display());
        let directory = PrivateDirectory::new().map_err(failed)?;
        let path = directory.0.join("socket");
        let listener = UnixListener::bind(&path).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let mut command = self.command();
        command.args(["--nocapture", "--test-threads=1"]).env(VARIABLE, &path).env_remove("PGPASSWORD");
        // Ctrl-C is for who asks.
        command.process_group(0);
        if let Some(most) = most {
            command.env(MAX_SECONDS, most.as_secs_f64().to_string());
        }
        if prints == Prints::Nowhere {
            command.stdout(Stdio::null()).stderr(Stdio::null());
        }
        let mut process = command.spawn().map_err(failed)?;
        match self.connected(&listener, &mut process) {
            Ok(socket) => Child::of(process, socket).map_err(failed),
            Err(why) => {
                let _ = process.kill();
                let _ = process.wait();
                Err(why)
            }
        }
    }

    fn connected(&self, listener: &UnixListener, process: &mut Process) -> Result<UnixStream, String> {
        let started = Instant::now();
        while started.elapsed() < LONGEST_START {
            if let Ok((socket, _)) = listener.accept() {
                return Ok(socket);
            }
            if let Ok(Some(status)) = process.try_wait() {
                return listener.accept().map(|(socket, _)| socket).map_err(|_| self.why_not(status));
            }
            std::thread::sleep(PAUSE);
        }
        Err(format!("the test {} did not come to a check in {} s", self.test, LONGEST_START.as_secs()))
    }

    /// Why a process of the test has ended without having come to a check.
    fn why_not(&self, status: ExitStatus) -> String {
        let list = self.command().arg("--list").output();
        let line = format!("{}: test", self.test);
        let is_there = |text: &[u8]| String::from_utf8_lossy(text).lines().any(|found| found == line);
        match list.is_ok_and(|list| is_there(&list.stdout)) {
            true => format!("the test {} came to no check ({status}): there is nothing to share", self.test),
            false => format!("{} has no test {}", self.binary.display(), self.test),
        }
    }
}

/// A directory that is this user's alone. It goes away with this.
struct PrivateDirectory(PathBuf);

impl PrivateDirectory {
    fn new() -> io::Result<PrivateDirectory> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        loop {
            let name = format!("mazurka-{}-{}", std::process::id(), NEXT.fetch_add(1, Relaxed));
            let path = std::env::temp_dir().join(name);
            match DirBuilder::new().mode(0o700).create(&path) {
                // Somebody had the number of this process before, and was killed.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                done => return done.map(|()| PrivateDirectory(path)),
            }
        }
    }
}

impl Drop for PrivateDirectory {
    fn drop(&mut self) {
        let path: &Path = &self.0;
        let _ = std::fs::remove_dir_all(path);
    }
}
