//! Prints a program of `bench/abs` of a size: `abs-program msort 15`.

use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match text(&arguments) {
        Ok(text) => match std::io::stdout().lock().write_all(text.as_bytes()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => complain(&format!("the program can't be written: {error}")),
        },
        Err(wrong) => complain(&wrong),
    }
}

fn text(arguments: &[String]) -> Result<String, String> {
    let Some((name, sizes)) = arguments.split_first() else {
        return Err("usage: abs-program NAME [SIZE ...]".to_owned());
    };
    let size = |text: &String| text.parse().map_err(|_| format!("{text} is not a size"));
    mazurka_bench::abs_programs::program(name, &sizes.iter().map(size).collect::<Result<Vec<u32>, _>>()?)
}

fn complain(wrong: &str) -> ExitCode {
    eprintln!("abs-program: {wrong}");
    ExitCode::from(2)
}
