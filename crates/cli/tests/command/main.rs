//! The command as users meet it: every outcome, every kind of bad input, replays, JSON, and whole reports.
//!
//! `MAZURKA_BLESS=1 cargo test -p mazurka-cli` writes the files of whole reports (`tests/golden`) anew; look
//! at what changed.

mod about;
mod abs;
mod architecture;
mod bad_input;
mod constraints;
mod documents;
mod estimate;
mod executions;
#[cfg(feature = "postgres")]
mod fleet;
#[cfg(feature = "postgres")]
mod fleet_compiled;
#[cfg(feature = "postgres")]
mod fleet_rust;
mod golden;
mod jobs;
mod journal;
mod json;
mod limits;
mod native;
mod native_assembly;
mod native_builds;
mod native_cxx;
mod native_jobs;
mod native_journal;
mod native_kinds;
mod native_leftovers;
mod native_limits;
mod native_loops;
mod native_memory;
mod native_names;
mod native_own;
mod native_reports;
mod native_sync;
mod outcomes;
#[cfg(feature = "postgres")]
mod postgres;
mod programs;
mod ranges;
mod replay;
mod same;
mod schema;
mod tables;
mod talk;
#[cfg(feature = "postgres")]
mod victims;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A directory of a test's own, with one program in it.
struct Place {
    directory: PathBuf,
}

/// What the command did.
struct Outcome {
    status: i32,
    stdout: String,
    stderr: String,
}

impl Place {
    /// A directory that no other test uses, with `name` holding `text`.
    fn new(test: &str, name: &str, text: impl AsRef<[u8]>) -> Place {
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::write(directory.join(name), text).unwrap();
        Place { directory }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mazurka"));
        command.args(arguments).current_dir(&self.directory).stdin(Stdio::null());
        command
    }

    /// What another build of the command does.
    fn run_other_build(&self, arguments: &[&str]) -> Outcome {
        let other = self.directory.join("other-build");
        build_anew(Path::new(env!("CARGO_BIN_EXE_mazurka")), &other);
        let mut command = Command::new(&other);
        let output = command.args(arguments).current_dir(&self.directory).stdin(Stdio::null()).output();
        std::fs::remove_file(&other).unwrap();
        Outcome::of(output.unwrap())
    }

    fn run(&self, arguments: &[&str]) -> Outcome {
        Outcome::of(self.command(arguments).output().unwrap())
    }
}

/// Another build of a program: as the one that is there, with a byte more. Another process makes it, since one that
/// writes to a program while it starts others on other threads may find that it can't be run yet.
fn build_anew(program: &Path, other: &Path) {
    let copy = r#"cp "$0" "$1" && printf x >> "$1""#;
    let status = Command::new("sh").args(["-c", copy]).args([program, other]).status();
    assert!(status.unwrap().success());
}

/// Runs `mazurka check` on a program with more arguments.
fn check(test: &str, text: &str, more: &[&str]) -> Outcome {
    Place::new(test, "program.maz", text).run(&[&["check", "program.maz"], more].concat())
}

impl Outcome {
    fn of(output: Output) -> Outcome {
        Outcome {
            status: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Complains unless the status is this, and stdout has all of these lines or parts of lines.
    #[track_caller]
    fn expect(&self, status: i32, parts: &[&str]) -> &Outcome {
        let Outcome { stdout, stderr, .. } = self;
        assert_eq!(self.status, status, "stdout:\n{stdout}\nstderr:\n{stderr}");
        for part in parts {
            assert!(stdout.contains(part), "no {part:?} in\n{stdout}\nstderr:\n{stderr}");
        }
        if status != 2 {
            assert_eq!(stderr, "", "nothing but errors goes to stderr where there is no terminal");
        }
        self
    }

    /// Complains unless there is no verdict, and stderr has all of these parts.
    #[track_caller]
    fn refused(&self, parts: &[&str]) {
        let Outcome { status, stdout, stderr } = self;
        assert_eq!((*status, stdout.as_str()), (2, ""), "stderr:\n{stderr}");
        assert!(!stderr.contains("panicked") && !stderr.contains("internal error"), "{stderr}");
        for part in parts {
            assert!(stderr.contains(part), "no {part:?} in\n{stderr}");
        }
    }
}

/// Whether this process ignores SIGINT, and so do those that it starts.
fn is_interrupt_ignored() -> bool {
    const SIGINT: u32 = 2;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap_or("0");
    u64::from_str_radix(ignored.trim(), 16).unwrap() & 1 << (SIGINT - 1) != 0
}
