//! From source files to a shared object that the runtime can run.
//!
//! Each file is compiled with the thread instrumentation of clang or gcc, and what that leaves out is
//! repaired (clang) or refused (gcc). The stub of the runtime, the program, instrumented forms of library
//! functions and the C++ library are linked into one shared object, of which loading runs nothing:
//! constructors are the runtime's affair. What the program defines itself is used in the place of what the
//! runtime and the libraries have. What it calls and nobody can answer for is refused when it is come to.

pub(crate) mod assembly;
mod audit;
mod compile;
mod compiler;
mod deferred;
mod directory;
mod elf;
mod flags;
mod gimple;
mod inputs;
mod library;
mod llvm;
mod record;
mod redzones;
mod standard;
mod verifier;
mod wrapper;

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

use audit::Audit;
use compile::{Compiled, Language, Toolchain};
pub use compiler::{Compiler, Family};
use deferred::Deferred;
use directory::Directory;
pub(crate) use elf::ElfFile;
use elf::{Contents, SymbolNames};
pub use inputs::is_made_by_build;
use inputs::{Inputs, Source};
use library::Judgement;
pub(crate) use library::readable;
pub use record::Unit;
pub(crate) use redzones::redzone_size;
pub use standard::ReleaseSequences;
use standard::Standard;
pub use wrapper::{Driver, compile as compile_as_asked};

/// What to build.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The files of the program: sources, and what a build has made of them.
    pub sources: Vec<PathBuf>,
    /// More of them, each with how it is compiled.
    pub units: Vec<Unit>,
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
    /// The functions that are one step each: addresses relative to where the object is loaded.
    pub atomic: Vec<u64>,
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
        let Contents { constructors, destructors, unwinds, standards, atomic } = Contents::of(object)?;
        Ok(Built {
            object: object.to_owned(),
            init_array: constructors,
            fini_array: destructors,
            unwinds,
            release_sequences: ReleaseSequences::of(Standard::kept(&standards)),
            atomic,
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

    let mut inputs = Inputs::of(&request.sources, &request.units)?;
    let mut program = Program::default();
    for source in std::mem::take(&mut inputs.sources) {
        program.compile(&toolchain, &source)?;
    }
    loop {
        let taken = inputs.take(&program.names.needed, &program.names.defined)?;
        if taken.is_empty() {
            break;
        }
        for source in taken {
            program.compile(&toolchain, &source)?;
        }
    }
    let Program { mut objects, warnings, deferred, own, standards, .. } =
        program.complete(&toolchain, stub)?;
    let stub = toolchain.assemble(&yielding(stub, &own), "stub")?;
    let language = standards.keys().map(|key| key.0).max().unwrap_or(Language::C);
    let standards: Vec<Standard> = standards.into_values().collect();
    let glue = [GLUE, &deferred.assembly(), &Standard::keep(&standards)].concat();
    // Behind the program's: the first of two that both give way is taken.
    objects.extend([stub, toolchain.assemble(&glue, "glue")?]);
    let object = toolchain.link(&objects, language).map_err(|error| match deferred.refusal() {
        // What is not there is elsewhere in a library after all, with what can't be told from it.
        Some(refusal) if error.to_string().contains("multiple definition") => refusal.into(),
        _ => error,
    })?;
    elf::silence(&object)?;
    verifier::divert(&object)?;
    Ok(Built { warnings, _directory: Some(directory), ..Built::open(&object)? })
}

/// The name that a line of the stub's text defines.
fn offered_name(line: &str) -> Option<&str> {
    line.strip_prefix("\t.globl ").or_else(|| line.strip_prefix("\t.weak ")).map(str::trim_end)
}

/// The text of the stub, in which what the program defines itself gives way. What the instrumentation calls
/// does not.
fn yielding(stub: &str, own: &BTreeSet<String>) -> String {
    let mut text = String::with_capacity(stub.len());
    for line in stub.split_inclusive('\n') {
        match offered_name(line) {
            Some(name) if own.contains(name) && !name.starts_with("__tsan_") => {
                text += &format!("\t.weak {name}\n");
            }
            _ => text += line,
        }
    }
    text
}

/// What is compiled of a program so far.
#[derive(Default)]
struct Program {
    objects: Vec<PathBuf>,
    names: SymbolNames,
    /// What is defined and goes before what the runtime has.
    own: BTreeSet<String>,
    /// Where functions are called first.
    calls: BTreeMap<String, String>,
    doubts: Vec<(String, BuildError)>,
    warnings: String,
    /// What is refused only when it is called.
    deferred: Deferred,
    /// By language and the options that decide it.
    standards: BTreeMap<(Language, Vec<String>), Standard>,
    /// The file that has `main`.
    main: Option<PathBuf>,
}

impl Program {
    /// Compiles a file of the program and adds it.
    fn compile(&mut self, toolchain: &Toolchain<'_>, source: &Source) -> Result<(), BuildError> {
        let language = Language::of(&source.path)?;
        let flags = toolchain.flags_for(source);
        let deciding = flags.iter().filter(|flag| flag.starts_with("-std=") || *flag == "-ansi");
        let key = (language, deciding.cloned().collect());
        if let Entry::Vacant(unknown) = self.standards.entry(key) {
            let standard = toolchain.standard(language, &unknown.key().1)?;
            unknown.insert(standard);
        }
        let name = format!("source{}", self.objects.len());
        let Compiled { object, audit, warnings } = toolchain.compile(source, &name)?;
        let has_main = SymbolNames::of(&object)?.defined.contains("main");
        if let Some(other) = self.main.as_ref().filter(|_| has_main) {
            return Err(BuildError::Unsupported(format!(
                "{} and {} both define `main`; name the files of one program",
                other.display(),
                source.path.display()
            )));
        }
        if has_main {
            self.main = Some(source.path.clone());
        }
        self.warnings += &warnings;
        self.add(object, audit)
    }

    fn add(&mut self, object: PathBuf, audit: Audit) -> Result<(), BuildError> {
        let names = SymbolNames::of(&object)?;
        self.own.extend(names.defined.iter().cloned());
        self.names.add(names);
        self.doubts.extend(audit.doubts);
        for (name, place) in audit.calls {
            self.calls.entry(name).or_insert(place);
        }
        self.objects.push(object);
        Ok(())
    }

    /// Adds library functions. What they merely offer gives way to what the runtime has.
    fn add_support(&mut self, object: PathBuf) -> Result<(), BuildError> {
        let names = SymbolNames::of(&object)?;
        self.own.extend(names.defined.difference(&names.weak).cloned());
        self.names.add(names);
        self.objects.push(object);
        Ok(())
    }

    /// Judges what the program needs, and adds the instrumented forms of library functions that are needed.
    fn complete(mut self, toolchain: &Toolchain<'_>, stub: &str) -> Result<Program, BuildError> {
        let glue = ["__dso_handle", "__libc_single_threaded"];
        let offered = stub.lines().filter_map(offered_name).chain(glue);
        let runtime: BTreeSet<String> = offered.map(str::to_owned).collect();
        if !self.names.defined.contains("main") {
            return Err("the program has no function `main`".to_owned().into());
        }
        if let Some((_, error)) = self.doubts.iter().find(|(name, _)| self.names.variables.contains(name)) {
            return Err(error.clone());
        }
        let called = self.open(&runtime);
        for support in compile::SUPPORT {
            // The C++ functions come first: they may need others.
            if self.open(&runtime).iter().any(|name| support.may_define(name)) {
                self.add_support(toolchain.support(support)?)?;
            }
        }
        for name in called {
            if !self.names.defined.contains(&name) {
                self.judge(&name, &runtime)?;
            }
        }
        Ok(self)
    }

    /// Judges a name that nobody defines. If it is that of a function, it is refused only when it is called.
    fn judge(&mut self, name: &str, runtime: &BTreeSet<String>) -> Result<(), BuildError> {
        let plain = verifier::plain(name);
        if plain != name && runtime.contains(plain) && is_ours(plain) {
            // Declared in C++ as if it were a function of C++.
            self.deferred.rename(name, plain);
            return Ok(());
        }
        let why = match library::judge(name) {
            Judgement::Harmless | Judgement::Linked => return Ok(()),
            Judgement::Hint => {
                self.deferred.ignore(name);
                return Ok(());
            }
            Judgement::Refused(why) => why,
        };
        let place = self.calls.get(name).map_or("", String::as_str);
        let refusal = || refused_call(place, &readable(name), why);
        if !(self.names.called.contains(name) || library::is_known_function(name)) {
            return Err(refusal().into());
        }
        let whole = format!("{why}; {}", library::remedy(name));
        self.deferred.refuse(name, &readable(name), &whole, refusal);
        Ok(())
    }

    /// The names that nobody defines yet.
    fn open(&self, runtime: &BTreeSet<String>) -> Vec<String> {
        let defined = |name: &&String| self.names.defined.contains(*name) || runtime.contains(*name);
        self.names.needed.iter().filter(|name| !defined(name)).cloned().collect()
    }
}

/// Whether a function is one of those that are made for who checks programs.
fn is_ours(name: &str) -> bool {
    name.starts_with("__VERIFIER_") || name.starts_with("mazurka_") || name == "reach_error"
}

/// The program calls what it may not, at a place that may not be known.
fn refused_call(place: &str, name: &str, why: &str) -> String {
    let place = if place.is_empty() { String::new() } else { format!("{place}: ") };
    format!("{place}the program calls `{name}`, which is not supported: {why}")
}

#[cfg(test)]
mod tests;
