//! The files that a program is given as: sources, programs and libraries that a build has made.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use object::read::archive::ArchiveFile;

use super::elf::SymbolNames;
use super::record::{self, Unit};
use super::{BuildError, flags, read};

/// What object files and programs begin with, and what archives do.
const ELF: &[u8] = b"\x7fELF";
const ARCHIVE: &[u8] = b"!<arch>\n";

/// Whether a file, by how it begins, was made by a build.
pub fn is_made_by_build(path: &Path) -> bool {
    let mut begin = [0; 8];
    let read = std::fs::File::open(path).and_then(|mut file| std::io::Read::read(&mut file, &mut begin));
    read.is_ok() && (begin.starts_with(ELF) || begin == *ARCHIVE)
}

/// What is to be compiled: a file, where, and with which options besides those for all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The file.
    pub path: PathBuf,
    /// Where the compiler is to run, if not here.
    pub directory: Option<PathBuf>,
    /// Options for the compiler.
    pub flags: Vec<String>,
}

impl Source {
    /// A file of the program, compiled as all are.
    pub fn plain(path: PathBuf) -> Source {
        Source { path, directory: None, flags: Vec::new() }
    }

    /// A file as a build compiled it. What is below the present directory is told relative to that.
    ///
    /// # Errors
    /// If it is not there any more.
    pub fn of_build(unit: &Unit, from: &Path) -> Result<Source, BuildError> {
        let path = unit.directory.join(&unit.source);
        if !path.is_file() {
            return Err(BuildError::Unsupported(format!(
                "{}: {} was made of {}, which is not there any more",
                from.display(),
                if from.extension().is_some_and(|it| it == "json") { "the build" } else { "it" },
                path.display()
            )));
        }
        let mut flags = flags::meaning(&unit.arguments);
        // What the compiler has to say of them, it has said.
        flags.push("-w".to_owned());
        if let Ok(here) = std::env::current_dir() {
            flags.push(format!("-fdebug-prefix-map={}/=", here.display()));
        }
        Ok(Source { path, directory: Some(unit.directory.clone()), flags })
    }
}

/// A member of an archive: taken if it defines what is needed.
pub struct Member {
    /// What it is, for people: `libqueue.a(queue.o)`.
    name: String,
    names: SymbolNames,
    units: Vec<Unit>,
}

/// What files are.
#[derive(Default)]
pub struct Inputs {
    /// What is compiled in any case.
    pub sources: Vec<Source>,
    members: Vec<(PathBuf, Member)>,
}

impl Inputs {
    /// Sorts files, and reads what builds have noted in them.
    ///
    /// # Errors
    /// If a file was not built with `mazurka cc`, or can't be read.
    pub fn of(files: &[PathBuf], units: &[Unit]) -> Result<Inputs, BuildError> {
        let mut inputs = Inputs::default();
        for file in files {
            if !is_made_by_build(file) {
                inputs.sources.push(Source::plain(file.clone()));
                continue;
            }
            let bytes = read(file)?;
            if bytes.starts_with(ARCHIVE) {
                inputs.add_archive(file, &bytes)?;
                continue;
            }
            let kept = record::kept(&bytes, file)?;
            if kept.is_empty() {
                return Err(not_noted(&file.display().to_string()));
            }
            for unit in &kept {
                inputs.sources.push(Source::of_build(unit, file)?);
            }
        }
        let database = Path::new("compile_commands.json");
        for unit in units {
            inputs.sources.push(Source::of_build(unit, database)?);
        }
        Ok(inputs)
    }

    fn add_archive(&mut self, file: &Path, bytes: &[u8]) -> Result<(), BuildError> {
        let wrong = |error: object::Error| format!("{}: {error}", file.display());
        let archive = ArchiveFile::parse(bytes).map_err(wrong)?;
        if archive.is_thin() {
            let why = format!("{}: a thin archive has no files in it; make one with `ar rc`", file.display());
            return Err(why.into());
        }
        for member in archive.members() {
            let member = member.map_err(wrong)?;
            let name = format!("{}({})", file.display(), String::from_utf8_lossy(member.name()));
            let content = member.data(bytes).map_err(wrong)?;
            if content.starts_with(ELF) {
                let path = Path::new(&name);
                let (names, units) = (SymbolNames::in_bytes(content, path)?, record::kept(content, path)?);
                self.members.push((file.to_owned(), Member { name, names, units }));
            }
        }
        Ok(())
    }

    /// Takes the files of members that define what is needed and not defined, as a linker does; none if no
    /// member does.
    ///
    /// # Errors
    /// If such a member was not built with `mazurka cc`.
    pub fn take(
        &mut self,
        needed: &BTreeSet<String>,
        defined: &BTreeSet<String>,
    ) -> Result<Vec<Source>, BuildError> {
        let open: BTreeSet<&String> = needed.difference(defined).collect();
        let helps = |(_, member): &(PathBuf, Member)| {
            member.names.defined.iter().any(|name| open.contains(name) && !member.names.weak.contains(name))
        };
        let Some(at) = self.members.iter().position(helps) else { return Ok(Vec::new()) };
        let (file, member) = self.members.remove(at);
        if member.units.is_empty() {
            return Err(not_noted(&member.name));
        }
        member.units.iter().map(|unit| Source::of_build(unit, &file)).collect()
    }
}

fn not_noted(name: &str) -> BuildError {
    BuildError::Unsupported(format!(
        "{name}: it does not say how it was compiled; build it with CC=\"mazurka cc\" (and CXX=\"mazurka c++\"), \
         or give its source files"
    ))
}
