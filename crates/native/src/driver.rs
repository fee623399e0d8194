//! From source files to a shared object that the runtime can run.
//!
//! Each file is compiled with the thread instrumentation of clang or gcc, and what that leaves out is
//! repaired (clang) or refused (gcc). The stub of the runtime, the program, instrumented forms of library
//! functions and the C++ library are linked into one shared object, of which loading runs nothing:
//! constructors are the runtime's affair. What the program calls and nobody can answer for is refused before
//! anything runs.

mod audit;
mod compile;
mod compiler;
mod directory;
mod elf;
mod flags;
mod gimple;
mod library;
mod llvm;
mod redzones;
mod standard;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

use audit::Audit;
use compile::{Language, Toolchain};
pub use compiler::{Compiler, Family};
use directory::Directory;
pub(crate) use elf::ElfFile;
use elf::{Contents, SymbolNames};
use library::Judgement;
pub(crate) use library::readable;
pub(crate) use redzones::redzone_size;
pub use standard::ReleaseSequences;
use standard::Standard;

/// What to build.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The files of the program.
    pub sources: Vec<PathBuf>,
    /// Options for the compiler.
    pub flags: Vec<String>,
    /// The compiler to use, where the best that there is will not do.
    pub compiler: Option<String>,
    /// Whether messages of the compiler may be coloured.
    pub colour: bool,
}

/// A program, compiled and linked.
#[derive(Debug)]
pub struct Built {
    /// The shared object. It is removed with this, unless it was [opened](Built::open).
    pub object: PathBuf,
    /// The constructors, in the order of calls: addresses relative to where the object is loaded.
    pub init_array: Vec<u64>,
    /// The destructors, in the order of calls.
    pub fini_array: Vec<u64>,
    /// Whether there is C++ in it: code that exceptions can pass through.
    pub unwinds: bool,
    /// What continues a release sequence, by the standards that its files were compiled for.
    pub release_sequences: ReleaseSequences,
    /// What the compiler said, although it compiled: warnings.
    pub warnings: String,
    _directory: Option<Directory>,
}

impl Built {
    /// An object that was built, in this process or in another one that still has it.
    ///
    /// # Errors
    /// If it can't be read.
    pub fn open(object: &Path) -> Result<Built, String> {
        let Contents { constructors, destructors, unwinds, standards } = Contents::of(object)?;
        Ok(Built {
            object: object.to_owned(),
            init_array: constructors,
            fini_array: destructors,
            unwinds,
            release_sequences: ReleaseSequences::of(Standard::kept(&standards)),
            warnings: String::new(),
            _directory: None,
        })
    }

    /// The object as a file that has no name any more: whatever becomes of this process, nothing stays
    /// behind. Who is given the file opens it as `/proc/self/fd/...`.
    ///
    /// # Errors
    /// If it can't be opened.
    pub fn into_file(self) -> std::io::Result<std::fs::File> {
        std::fs::File::open(&self.object)
    }
}

/// Why there is nothing to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BuildError {
    /// The compiler refused the program; in its own words.
    Compiler(String),
    /// The program, or the machine, has something that is not supported.
    Unsupported(String),
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BuildError::Compiler(text) | BuildError::Unsupported(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for BuildError {}

impl From<String> for BuildError {
    fn from(why: String) -> BuildError {
        BuildError::Unsupported(why)
    }
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn write(path: &Path, content: impl AsRef<[u8]>) -> Result<(), String> {
    std::fs::write(path, content).map_err(|error| format!("{}: {error}", path.display()))
}

/// What the usual beginning of a program defines, which is not linked; and that there may be several threads.
const GLUE: &str = "\t.section .data.rel.ro,\"aw\",@progbits
\t.balign 8
\t.globl __dso_handle
\t.hidden __dso_handle
__dso_handle:
\t.quad __dso_handle
\t.data
\t.weak __libc_single_threaded
\t.hidden __libc_single_threaded
__libc_single_threaded:
\t.byte 0
\t.section .note.GNU-stack,\"\",@progbits
";

/// Compiles and links a program with the stub of the runtime.
///
/// # Errors
/// If the compiler refuses it, or if it uses something that is not supported.
pub fn build(request: &Request, stub: &str) -> Result<Built, BuildError> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Err("C and C++ can be checked on Linux on x86-64 only".to_owned().into());
    }
    let flags = flags::compiler_flags(&request.flags)?;
    let compiler = Compiler::find(request.compiler.as_deref())?;
    let directory = Directory::new().map_err(|error| format!("temporary files can't be made: {error}"))?;
    let toolchain = Toolchain { compiler, flags, directory: directory.path(), colour: request.colour };
    let stub = toolchain.assemble(stub, "stub")?;

    let mut program = Program::default();
    let mut languages = BTreeSet::new();
    for (at, source) in request.sources.iter().enumerate() {
        languages.insert(Language::of(source)?);
        let compiled = toolchain.compile(source, &format!("source{at}"))?;
        program.add(compiled.object, compiled.audit)?;
        program.warnings += &compiled.warnings;
    }
    let Program { mut objects, warnings, .. } = program.complete(&toolchain, &stub)?;
    let language = languages.iter().copied().max().unwrap_or(Language::C);
    let standards: Result<Vec<Standard>, BuildError> =
        languages.into_iter().map(|it| toolchain.standard(it)).collect();
    let glue = toolchain.assemble(&format!("{GLUE}{}", Standard::keep(&standards?)), "glue")?;
    objects.splice(0..0, [stub, glue]);
    let object = toolchain.link(&objects, language)?;
    elf::silence(&object)?;
    Ok(Built { warnings, _directory: Some(directory), ..Built::open(&object)? })
}

/// What is compiled of a program so far.
#[derive(Default)]
struct Program {
    objects: Vec<PathBuf>,
    names: SymbolNames,
    /// Where functions are called first.
    calls: BTreeMap<String, String>,
    doubts: Vec<(String, BuildError)>,
    warnings: String,
}

impl Program {
    fn add(&mut self, object: PathBuf, audit: Audit) -> Result<(), BuildError> {
        let names = SymbolNames::of(&object)?;
        self.names.defined.extend(names.defined);
        self.names.needed.extend(names.needed);
        self.names.variables.extend(names.variables);
        self.doubts.extend(audit.doubts);
        for (name, place) in audit.calls {
            library::note_call(&mut self.calls, &name, || place);
        }
        self.objects.push(object);
        Ok(())
    }

    /// Judges what the program needs, and adds the instrumented forms of library functions that are needed.
    fn complete(mut self, toolchain: &Toolchain<'_>, stub: &Path) -> Result<Program, BuildError> {
        let mut runtime = SymbolNames::of(stub)?.defined;
        runtime.extend(["__dso_handle", "__libc_single_threaded"].map(str::to_owned));
        if !self.names.defined.contains("main") {
            return Err("the program has no function `main`".to_owned().into());
        }
        if let Some((_, error)) = self.doubts.iter().find(|(name, _)| self.names.variables.contains(name)) {
            return Err(error.clone());
        }
        if let Some(place) = library::asks_for_time(&self.names.needed, &self.calls) {
            return Err(refused_call(
                &place,
                "std::chrono::steady_clock::now",
                "what it gives differs from execution to execution; waits for so long (`wait_for`) are",
            ));
        }
        let called = self.open(&runtime);
        for support in compile::SUPPORT {
            // The C++ functions come first: they may need others.
            if self.open(&runtime).iter().any(|name| support.may_define(name)) {
                self.add(toolchain.support(support)?, Audit::default())?;
            }
        }
        for name in called.iter().filter(|&name| !self.names.defined.contains(name)) {
            if let Judgement::Refused(why) = library::judge(name) {
                let place = self.calls.get(name).map_or("", String::as_str);
                return Err(refused_call(place, &readable(name), why));
            }
        }
        Ok(self)
    }

    /// The names that nobody defines yet.
    fn open(&self, runtime: &BTreeSet<String>) -> Vec<String> {
        let defined = |name: &&String| self.names.defined.contains(*name) || runtime.contains(*name);
        self.names.needed.iter().filter(|name| !defined(name)).cloned().collect()
    }
}

/// The program calls what it may not, at a place that may not be known.
fn refused_call(place: &str, name: &str, why: &str) -> BuildError {
    let place = if place.is_empty() { String::new() } else { format!("{place}: ") };
    format!("{place}the program calls `{name}`, which is not supported: {why}").into()
}

#[cfg(test)]
mod tests;
