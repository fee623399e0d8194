//! `mazurka man`: the man page, one for the whole command.

use clap::CommandFactory;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};

use crate::args::{Cli, EXIT_STATUS};
use crate::error::CommandError;
use crate::front_end::FRONT_ENDS;
use crate::output;

/// What the environment says, as in docs/command.md.
const ENVIRONMENT: [(&str, &str); 3] = [
    ("NO_COLOR", "no colours, if it is set and not empty, unless --color says otherwise"),
    ("TERM", "no colours, if it is dumb, unless --color says otherwise"),
    ("CC", "the compiler for C and C++, unless --cc names one"),
];

/// Prints the page, and gives the exit status.
pub fn run() -> Result<u8, CommandError> {
    let page = page().map_err(CommandError::internal)?;
    output::stdout(&page)?;
    Ok(0)
}

fn page() -> std::io::Result<String> {
    let mut command = Cli::command();
    command.build();
    let mut page = Vec::new();
    let whole = Man::new(command.clone()).manual("Mazurka");
    whole.render_title(&mut page)?;
    whole.render_name_section(&mut page)?;
    whole.render_synopsis_section(&mut page)?;
    whole.render_description_section(&mut page)?;
    for subcommand in command.get_subcommands().filter(|subcommand| subcommand.get_name() != "help") {
        let heading = format!("MAZURKA {}", subcommand.get_name().to_uppercase());
        let about = subcommand.get_about().map_or(String::new(), ToString::to_string);
        section(&heading, &format!("{about}.")).to_writer(&mut page)?;
        page.extend(options(subcommand)?);
    }
    for front_end in FRONT_ENDS {
        let files: Vec<String> = front_end.extensions().iter().map(|known| format!(".{known}")).collect();
        let heading = format!("OPTIONS FOR {} FILES, AFTER --", files.join(", "));
        section(&heading, "").to_writer(&mut page)?;
        page.extend(options(&front_end.options())?);
    }
    section("EXIT STATUS", EXIT_STATUS.trim_start_matches("Exit status: ")).to_writer(&mut page)?;
    let mut environment = section("ENVIRONMENT", "");
    for (name, meaning) in ENVIRONMENT {
        environment.control("TP", []).text([roman(name)]).text([roman(meaning)]);
    }
    environment.to_writer(&mut page)?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}

fn section(heading: &str, text: &str) -> Roff {
    let mut roff = Roff::new();
    roff.control("SH", [heading]);
    if !text.is_empty() {
        roff.text([roman(text)]);
    }
    roff
}

/// The options of a command, for the section that is open.
fn options(command: &clap::Command) -> std::io::Result<Vec<u8>> {
    let mut section = Vec::new();
    Man::new(command.clone()).render_options_section(&mut section)?;
    let text = String::from_utf8_lossy(&section).replacen(".SH OPTIONS\n", "", 1);
    Ok(text.into_bytes())
}
