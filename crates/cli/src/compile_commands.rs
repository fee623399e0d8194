//! Compilation databases: `compile_commands.json`, which says how each file of a project is compiled.

use std::path::{Path, PathBuf};

use mazurka_native::driver::Unit;
use serde_json::Value;

use crate::error::CommandError;
use crate::input;

/// What such a file is called.
pub const NAME: &str = "compile_commands.json";

/// Reads a database: a file, or the directory that has it.
pub fn read(path: &Path) -> Result<Vec<Unit>, CommandError> {
    let file = if path.is_dir() { path.join(NAME) } else { path.to_owned() };
    let text = input::read_program(&file)?;
    let name = file.display();
    let wrong = |why: String| CommandError::input(format!("{name}: {why}")).at(&name);
    let json: Value = serde_json::from_str(&text).map_err(|error| wrong(format!("no JSON: {error}")))?;
    let entries = json.as_array().ok_or_else(|| wrong("no list of commands".to_owned()))?;
    let base = file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let units = entries.iter().enumerate().map(|(at, entry)| {
        unit(entry, base).ok_or_else(|| {
            wrong(format!("entry {}: no `file`, or neither `arguments` nor `command`", at + 1))
        })
    });
    let mut units = units.collect::<Result<Vec<Unit>, _>>()?;
    // A file may be compiled several times, for several programs.
    let mut seen: Vec<PathBuf> = Vec::new();
    units.retain(|unit| {
        let path = unit.directory.join(&unit.source);
        !seen.contains(&path) && {
            seen.push(path);
            true
        }
    });
    Ok(units)
}

fn unit(entry: &Value, base: &Path) -> Option<Unit> {
    let text = |key: &str| entry.get(key)?.as_str().map(str::to_owned);
    let source = PathBuf::from(text("file")?);
    let directory = base.join(text("directory").unwrap_or_default());
    let directory = std::fs::canonicalize(&directory).unwrap_or(directory);
    let arguments = match entry.get("arguments").and_then(Value::as_array) {
        Some(words) => words.iter().map(|word| word.as_str().map(str::to_owned)).collect::<Option<_>>()?,
        None => words(&text("command")?),
    };
    // The first is the compiler. The file is told apart, and what is not about its meaning is left out later.
    let arguments = arguments.into_iter().skip(1).collect();
    Some(Unit { directory, source, arguments })
}

/// The words of a command, as a shell takes it apart.
fn words(command: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut characters = command.chars();
    while let Some(c) = characters.next() {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (Some('\''), _) => word.get_or_insert_default().push(c),
            (_, '\\') => word.get_or_insert_default().extend(characters.next()),
            (None, '"' | '\'') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, _) if c.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

/// How a file is compiled, if the database says so.
pub fn find<'u>(units: &'u [Unit], file: &Path) -> Option<&'u Unit> {
    let same = std::fs::canonicalize(file).ok()?;
    units
        .iter()
        .find(|unit| std::fs::canonicalize(unit.directory.join(&unit.source)).ok().as_ref() == Some(&same))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_taken_apart_as_by_a_shell() {
        assert_eq!(
            words(r#"cc -DNAME='"a b"' "-DX=\"y\"" -I a\ b  -c x.c"#),
            ["cc", "-DNAME=\"a b\"", "-DX=\"y\"", "-I", "a b", "-c", "x.c"]
        );
    }
}
