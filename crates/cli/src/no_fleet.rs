//! What is said where the command was built without PostgreSQL.

use std::ffi::OsString;
use std::fs::File;
use std::path::Path;

use mazurka_explore::Algorithm;
use mazurka_journal::Header;

use crate::args::{CancelArgs, CheckArgs, ResumeArgs, StatusArgs, WorkerArgs};
use crate::error::CommandError;
use crate::executions::ExecutionArgs;
use crate::front_end::{AnyTarget, FrontEnd};
use crate::journal::Kept;
use crate::native::Worker;

/// A search that was done elsewhere: there is none.
pub enum Elsewhere {}

impl Elsewhere {
    /// How long it took.
    pub fn seconds(&self) -> f64 {
        match *self {}
    }

    /// It was reported.
    pub fn told(self) -> Result<(), CommandError> {
        match self {}
    }
}

fn not_built_in() -> CommandError {
    CommandError::unsupported(
        "PostgreSQL is not built in: this mazurka was built without the cargo feature postgres, so it can't share a search \
         with other machines",
    )
}

pub fn is_address(path: &Path) -> bool {
    path.to_str().is_some_and(|text| text.starts_with("postgres://") || text.starts_with("postgresql://"))
}

pub fn refuse(_: &CheckArgs, _: &dyn FrontEnd, _: Algorithm) -> Result<(), CommandError> {
    Err(not_built_in())
}

pub fn refuse_stories(_: &ExecutionArgs) -> Result<(), CommandError> {
    Err(not_built_in())
}

pub fn hand_over(
    _: &str,
    _: &CheckArgs,
    _: Header,
    _: &dyn AnyTarget,
    _: Option<&Worker>,
) -> Result<(Kept, Elsewhere), CommandError> {
    Err(not_built_in())
}

pub fn check_test(_: &str, _: &CheckArgs) -> Result<u8, CommandError> {
    Err(not_built_in())
}

pub fn resume(_: &ResumeArgs, _: Option<&Worker>) -> Result<u8, CommandError> {
    Err(not_built_in())
}

pub fn helped<T>(
    _: &str,
    _: usize,
    _: &File,
    _: impl FnOnce() -> Result<T, CommandError>,
) -> Result<T, CommandError> {
    Err(not_built_in())
}

/// No process serves another.
pub fn serve(_: &[OsString]) -> Option<u8> {
    None
}

pub fn work(_: &WorkerArgs) -> Result<u8, CommandError> {
    Err(not_built_in())
}

pub fn status(_: &StatusArgs) -> Result<u8, CommandError> {
    Err(not_built_in())
}

pub fn cancel(_: &CancelArgs) -> Result<u8, CommandError> {
    Err(not_built_in())
}
