//! Finding a C and C++ compiler.

use std::process::{Command, Stdio};

use super::BuildError;

/// The oldest clang whose instrumentation is complete enough for the rest to be repaired.
const OLDEST_CLANG: u32 = 15;
/// The oldest gcc that has the parameters that are needed.
const OLDEST_GCC: u32 = 11;

/// Where to look if nobody says, the best first.
const NAMES: [&str; 17] = [
    "clang", "clang-22", "clang-21", "clang-20", "clang-19", "clang-18", "clang-17", "clang-16", "clang-15",
    "gcc", "gcc-16", "gcc-15", "gcc-14", "gcc-13", "gcc-12", "gcc-11", "cc",
];

/// Which compiler it is: they instrument differently, and miss different things.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// clang: what its instrumentation misses is added in its intermediate code.
    Clang,
    /// gcc: what its instrumentation misses is refused.
    Gcc,
}

/// A compiler that can be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compiler {
    /// The command, with arguments that always come first (`ccache gcc`).
    pub words: Vec<String>,
    /// Its family.
    pub family: Family,
    /// The first part of its version.
    pub major: u32,
}

impl Compiler {
    /// The one that is asked for, else the one that `CC` names, else the best that there is.
    ///
    /// # Errors
    /// If there is none, or the one that is named will not do.
    pub fn find(asked: Option<&str>) -> Result<Compiler, BuildError> {
        let named = asked.map(|name| (name.to_owned(), "--cc"));
        // In a build that was told to use it, that is `mazurka cc`.
        let is_ours = |name: &String| {
            let program = name.split_whitespace().next().and_then(|word| word.rsplit('/').next());
            program == Some("mazurka")
        };
        let from_environment = || {
            let name = std::env::var("CC").ok().filter(|name| !is_ours(name))?;
            Some((name, "the environment variable CC"))
        };
        let named = named.or_else(from_environment).filter(|(name, _)| !name.trim().is_empty());
        if let Some((name, who)) = named {
            return Compiler::named(&name).map_err(|why| format!("{who} names `{name}`, {why}").into());
        }
        NAMES.iter().find_map(|name| Compiler::named(name).ok()).ok_or_else(|| {
            BuildError::Unsupported(format!(
                "no C compiler was found: checking C and C++ needs clang {OLDEST_CLANG} or later (best), \
                 or gcc {OLDEST_GCC} or later; install one, or name one with --cc after --"
            ))
        })
    }

    /// The compiler of a name, or why it will not do.
    fn named(name: &str) -> Result<Compiler, String> {
        let words: Vec<String> = name.split_whitespace().map(str::to_owned).collect();
        let (program, first) = words.split_first().ok_or("which is empty")?;
        let output = Command::new(program)
            .args(first)
            .args(["-dM", "-E", "-x", "c", "/dev/null"])
            .stdin(Stdio::null())
            .output()
            .map_err(|error| format!("which can't be run: {error}"))?;
        let macros = String::from_utf8_lossy(&output.stdout);
        let value = |name: &str| {
            let line = macros.lines().find_map(|line| line.strip_prefix("#define ")?.strip_prefix(name));
            line.and_then(|rest| rest.strip_prefix(' ')).map(str::trim)
        };
        let number = |name: &str| value(name).and_then(|text| text.parse::<u32>().ok());
        if value("__x86_64__").is_none() || value("__linux__").is_none() {
            return Err(match output.status.success() {
                true => "which does not compile for Linux on x86-64".to_owned(),
                false => "which is no C compiler that works".to_owned(),
            });
        }
        let (family, major, oldest, word) = match (number("__clang_major__"), number("__GNUC__")) {
            (Some(major), _) => (Family::Clang, major, OLDEST_CLANG, "clang"),
            (None, Some(major)) => (Family::Gcc, major, OLDEST_GCC, "gcc"),
            (None, None) => return Err("which is neither clang nor gcc".to_owned()),
        };
        if major < oldest {
            return Err(format!("which is {word} {major}; at least {word} {oldest} is needed"));
        }
        Ok(Compiler { words, family, major })
    }

    /// A command that runs it.
    pub fn command(&self) -> Command {
        let mut words = self.words.iter();
        // There is a first word: `named` saw to it.
        let mut command = Command::new(words.next().map_or("cc", String::as_str));
        command.args(words).stdin(Stdio::null());
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_will_not_do_is_named() {
        let why = |name| match Compiler::find(Some(name)) {
            Err(BuildError::Unsupported(why)) => why,
            other => panic!("{other:?}"),
        };
        assert!(why("/nowhere/cc").starts_with("--cc names `/nowhere/cc`, which can't be run: "));
        assert_eq!(why("true"), "--cc names `true`, which does not compile for Linux on x86-64");
        assert_eq!(why("false"), "--cc names `false`, which is no C compiler that works");
    }
}
