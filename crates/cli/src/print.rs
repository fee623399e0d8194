//! `mazurka print`: reads a program and prints it.

use crate::args::PrintArgs;
use crate::input::{self, FrontEnd};
use crate::trouble::Trouble;
use crate::{litmus, output};

/// Prints, and gives the exit status.
pub fn run(arguments: &PrintArgs) -> Result<u8, Trouble> {
    let FrontEnd::Litmus = input::front_end(&arguments.file)?;
    let (ast, _) = litmus::read(&arguments.file)?;
    output::stdout(&mazurka_litmus::print(&ast))?;
    Ok(0)
}
