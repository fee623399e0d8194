//! `mazurka print`: reads a program and prints it.

use crate::args::PrintArgs;
use crate::error::CommandError;
use crate::{front_end, output};

/// Prints, and gives the exit status.
pub fn run(arguments: &PrintArgs) -> Result<u8, CommandError> {
    let text = front_end::of_file(&arguments.file)?.print(&arguments.file)?;
    output::stdout(&text)?;
    Ok(0)
}
