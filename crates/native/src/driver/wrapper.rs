//! `mazurka cc`: the compiler of a build, which notes how each file is compiled.
//!
//! It runs the compiler that it stands for, as it is asked to; only to compile and link at once becomes two
//! steps. Object files are given a note each ([`super::record`]).

use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use super::compile::Language;
use super::directory::Directory;
use super::flags;
use super::record::{self, Unit};

/// Which compiler `mazurka cc` stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Driver {
    /// `mazurka cc`.
    C,
    /// `mazurka c++`.
    Cxx,
}

impl Driver {
    /// The variable of the environment that names the compiler, and the one that is taken if it does not.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Driver::C => ("MAZURKA_CC", "cc"),
            Driver::Cxx => ("MAZURKA_CXX", "c++"),
        }
    }

    fn command(self) -> Command {
        let (variable, usual) = self.names();
        let named = std::env::var(variable).ok().filter(|name| !name.trim().is_empty());
        let named = named.unwrap_or_else(|| usual.to_owned());
        let mut words = named.split_whitespace();
        let mut command = Command::new(words.next().unwrap_or(usual));
        command.args(words);
        command
    }

    fn run(self, words: &[String]) -> Result<ExitStatus, String> {
        let mut command = self.command();
        command.args(words);
        let (variable, _) = self.names();
        command.status().map_err(|error| {
            let name = command.get_program().display();
            format!("{name}: can't be run: {error}; {variable} names the compiler to use")
        })
    }
}

/// A word of the command, as far as it matters.
enum Word {
    /// A file to compile.
    Source,
    /// The file to make.
    Output(String),
    /// To compile, and not to link.
    CompileOnly,
    /// Something else than to make an object or a program.
    Elsewise,
    Other,
}

/// What a compiler was asked to do.
struct Asked {
    /// Its words, those that belong together as one.
    words: Vec<(Vec<String>, Word)>,
}

/// Options after which nothing is compiled to an object file, or that say otherwise what files are.
const ELSEWISE: [&str; 8] = ["-E", "-S", "-M", "-MM", "-fsyntax-only", "-x", "-", "-###"];

impl Asked {
    fn of(words: &[String]) -> Asked {
        let mut asked = Vec::new();
        let mut rest = words.iter().cloned();
        while let Some(word) = rest.next() {
            // What is optimised only when all is linked has no code that could be noted to.
            if word.starts_with("-flto") {
                continue;
            }
            let mut group = vec![word];
            if flags::takes_next(&group[0]) {
                group.extend(rest.next());
            }
            let word = group[0].as_str();
            let kind = match word {
                "-c" => Word::CompileOnly,
                "-o" => Word::Output(group.get(1).cloned().unwrap_or_default()),
                _ if word.starts_with("-o") && group.len() == 1 => Word::Output(word[2..].to_owned()),
                _ if ELSEWISE.contains(&word) || word.starts_with("-x") => Word::Elsewise,
                _ if !word.starts_with('-') && Language::of(Path::new(word)).is_ok() => Word::Source,
                _ => Word::Other,
            };
            asked.push((group, kind));
        }
        Asked { words: asked }
    }

    fn sources(&self) -> Vec<String> {
        let sources = self.words.iter().filter(|(_, kind)| matches!(kind, Word::Source));
        sources.map(|(words, _)| words[0].clone()).collect()
    }

    fn output(&self) -> Option<&str> {
        self.words.iter().rev().find_map(|(_, kind)| match kind {
            Word::Output(name) => Some(name.as_str()),
            _ => None,
        })
    }

    /// The words that are neither files to compile, nor say what to make of them.
    fn options(&self) -> Vec<String> {
        let options = self.words.iter().filter(|(_, kind)| matches!(kind, Word::Other));
        options.flat_map(|(words, _)| words.clone()).collect()
    }

    fn all(&self) -> Vec<String> {
        self.words.iter().flat_map(|(words, _)| words.clone()).collect()
    }
}

/// Does what a compiler is asked to do. Gives its exit status.
///
/// # Errors
/// If there is no compiler, or no room for what it makes.
pub fn compile(driver: Driver, words: &[String]) -> Result<u8, String> {
    let asked = Asked::of(words);
    let has = |wanted: fn(&Word) -> bool| asked.words.iter().any(|(_, kind)| wanted(kind));
    let sources = asked.sources();
    let status = if sources.is_empty() || has(|kind| matches!(kind, Word::Elsewise)) {
        driver.run(&asked.all())?
    } else if has(|kind| matches!(kind, Word::CompileOnly)) {
        let status = driver.run(&asked.all())?;
        if status.success() {
            for source in &sources {
                let object = asked.output().map_or_else(|| usual_object(source), PathBuf::from);
                note(&object, source, &asked)?;
            }
        }
        status
    } else {
        compile_and_link(driver, &asked)?
    };
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}

fn compile_and_link(driver: Driver, asked: &Asked) -> Result<ExitStatus, String> {
    let directory = Directory::new().map_err(|error| format!("temporary files can't be made: {error}"))?;
    let mut words = Vec::new();
    for (at, (group, kind)) in asked.words.iter().enumerate() {
        if !matches!(kind, Word::Source) {
            words.extend(group.clone());
            continue;
        }
        let object = directory.path().join(format!("{at}.o"));
        let name = object.display().to_string();
        let mut compile = flags::without_linking(&asked.options());
        compile.extend(["-c".to_owned(), "-o".to_owned(), name.clone(), group[0].clone()]);
        let status = driver.run(&compile)?;
        if !status.success() {
            return Ok(status);
        }
        note(&object, &group[0], asked)?;
        words.push(name);
    }
    driver.run(&words)
}

/// What a compiler calls the object file of a source if nobody says otherwise.
fn usual_object(source: &str) -> PathBuf {
    PathBuf::from(Path::new(source).file_name().unwrap_or_default()).with_extension("o")
}

fn note(object: &Path, source: &str, asked: &Asked) -> Result<(), String> {
    let directory = std::env::current_dir().map_err(|error| format!("no current directory: {error}"))?;
    let unit = Unit { directory, source: source.into(), arguments: asked.options() };
    // Where the output is a device, nobody wants it.
    if object.is_file() { record::keep(object, &unit) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_told_apart() {
        let words: Vec<String> = "-O2 -c -I include -MF a.d -o build/a.o src/a.c -lm -flto=auto"
            .split(' ')
            .map(str::to_owned)
            .collect();
        let asked = Asked::of(&words);
        assert_eq!(asked.sources(), ["src/a.c"]);
        assert_eq!(asked.output(), Some("build/a.o"));
        assert_eq!(asked.options(), ["-O2", "-I", "include", "-MF", "a.d", "-lm"]);
        assert_eq!(asked.all().len(), words.len() - 1);
        assert_eq!(usual_object("src/a.cpp"), Path::new("a.o"));
    }
}
