//! `mazurka completions`: scripts that make shells complete arguments.

use clap::CommandFactory;
use clap_complete::generate;

use crate::args::{Cli, CompletionsArgs, Shell};
use crate::error::CommandError;
use crate::output;

/// Prints a script, and gives the exit status.
pub fn run(arguments: &CompletionsArgs) -> Result<u8, CommandError> {
    let shell = match arguments.shell {
        Shell::Bash => clap_complete::Shell::Bash,
        Shell::Zsh => clap_complete::Shell::Zsh,
        Shell::Fish => clap_complete::Shell::Fish,
    };
    let mut script = Vec::new();
    generate(shell, &mut Cli::command(), "mazurka", &mut script);
    output::stdout(&String::from_utf8_lossy(&script))?;
    Ok(0)
}
