//! `mazurka print`: reads a program and prints it.

use crate::args::PrintArgs;
use crate::input::{self, FrontEnd};
use crate::trouble::Trouble;
use crate::{litmus, output};

/// Prints, and gives the exit status.
pub fn run(arguments: &PrintArgs) -> Result<u8, Trouble> {
    if input::front_end(&arguments.file)? == FrontEnd::Abs {
        let name = arguments.file.display();
        return Err(Trouble::unsupported(format!("{name}: print is not supported for .abs files")).at(name));
    }
    let (ast, _) = litmus::read(&arguments.file)?;
    output::stdout(&mazurka_litmus::print(&ast))?;
    Ok(0)
}
