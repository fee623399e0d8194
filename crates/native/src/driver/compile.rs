//! Running the compiler and the linker.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::assembly;
use super::audit::Audit;
use super::compiler::{Compiler, Family};
use super::elf::SymbolNames;
use super::inputs::Source;
use super::redzones::add_redzones;
use super::standard::Standard;
use super::{BuildError, gimple, llvm, read, verifier, write};

/// How every file is compiled: as it is written, with places, for a shared object, library calls left alone.
///
/// Character classes are asked for by calls (`__NO_CTYPE`), not by looking into tables of the C library. A call
/// in the last place of a function is a call, so that its line is known.
const COMMON: &str = "\
    -O0 -g -fPIC -mno-red-zone -fno-builtin -fno-omit-frame-pointer -fno-optimize-sibling-calls -fno-stack-protector \
    -fcf-protection=none \
    -ftls-model=global-dynamic -U_FORTIFY_SOURCE -D__NO_CTYPE=1 -fsanitize=thread";

/// Reads that clang leaves out because a write follows are announced; entries of functions are not. Indices
/// of arrays whose size is known are checked: clang's `bounds` is more than that, and stops without a word.
/// Calls of functions that could be replaced stay calls, as with gcc.
const FOR_CLANG: &str = "\
    -mllvm -tsan-instrument-read-before-write=1 -mllvm -tsan-instrument-func-entry-exit=0 \
    -fsanitize=array-bounds -fsemantic-interposition";
const FOR_GCC: &str = "\
    -fdata-sections --param tsan-instrument-func-entry-exit=0 --param tsan-distinguish-volatile=1 \
    -fsanitize=bounds";

/// How all is linked: nothing of the usual beginning and end of a program, everything bound at once, and to
/// the object itself where that is possible.
const LINK: &str = "\
    -shared -nostdlib -nostartfiles -Wl,-Bsymbolic -Wl,-z,now -Wl,-z,relro -Wl,-z,defs -Wl,-z,noexecstack \
    -Wl,--eh-frame-hdr -Wl,--build-id=none";

/// The C++ library inside of the object, so that it is put back between executions and calls the runtime.
const CXX_LIBRARIES: &str = "-Wl,-Bstatic -lstdc++ -Wl,--exclude-libs,ALL";
const LIBRARIES: &str = "-Wl,-Bstatic -lgcc_eh -lgcc -Wl,-Bdynamic -lm -lc -Wl,--exclude-libs,ALL";

/// The language of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Language {
    /// C.
    C,
    /// C++.
    Cxx,
}

impl Language {
    /// By the name of a file.
    pub fn of(path: &Path) -> Result<Language, BuildError> {
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("c") => Ok(Language::C),
            Some("cc" | "cpp" | "cxx" | "C" | "c++") => Ok(Language::Cxx),
            _ => {
                Err(format!("{}: neither a C file (.c) nor a C++ file (.cc, .cpp, .cxx)", path.display())
                    .into())
            }
        }
    }
}

/// Library functions in an instrumented form.
#[derive(Clone, Copy, Debug)]
pub struct SupportLibrary {
    name: &'static str,
    text: &'static str,
    /// One of these is in each name that it defines; none if the names are those in the text.
    markers: &'static [&'static str],
}

/// What there is.
pub const SUPPORT: [SupportLibrary; 5] = [
    SupportLibrary {
        name: "library.cc",
        text: include_str!("support/library.cc"),
        markers: &["_List_node_base", "_Rb_tree_", "_Prime_rehash_policy", "__atomic_futex_unsigned_base"],
    },
    SupportLibrary {
        name: "random.cc",
        text: include_str!("support/random.cc"),
        markers: &["St13random_device"],
    },
    SupportLibrary {
        name: "cleanup.c",
        text: include_str!("support/cleanup.c"),
        markers: &["__pthread_register_cancel"],
    },
    SupportLibrary { name: "system.c", text: include_str!("support/system.c"), markers: &[] },
    SupportLibrary { name: "library.c", text: include_str!("support/library.c"), markers: &[] },
];

impl SupportLibrary {
    /// Whether it may define a name: where it may not, it need not be compiled.
    pub fn may_define(&self, name: &str) -> bool {
        match self.markers {
            [] => self.text.lines().filter(|line| defines(line)).any(|line| mentions(line, name)),
            markers => markers.iter().any(|marker| name.contains(marker)),
        }
    }
}

/// Whether a line of ours begins to define functions: its first word is in capitals.
fn defines(line: &str) -> bool {
    let word = line.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).next().unwrap_or_default();
    !word.is_empty() && word.chars().all(|c| c.is_ascii_uppercase() || c == '_')
}

/// Whether a line has a name, as a word.
fn mentions(line: &str, name: &str) -> bool {
    line.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).any(|word| word == name)
}

/// A file, compiled.
pub struct Compiled {
    /// The object file.
    pub object: PathBuf,
    /// What was found in it.
    pub audit: Audit,
    /// What the compiler said.
    pub warnings: String,
}

/// A compiler and how it is used for one program.
pub struct Toolchain<'d> {
    /// The compiler.
    pub compiler: Compiler,
    /// The user's options for it.
    pub flags: Vec<String>,
    /// Where files are written.
    pub directory: &'d Path,
    /// Whether messages may be coloured.
    pub colour: bool,
}

impl Toolchain<'_> {
    /// Compiles a file of the program.
    pub fn compile(&self, source: &Source, name: &str) -> Result<Compiled, BuildError> {
        let flags = self.flags_for(source);
        let compiled = self.compile_with(source, name, &flags)?;
        let atomic = |symbol: &String| verifier::is_atomic(symbol);
        if SymbolNames::of(&compiled.object)?.functions.iter().any(atomic)
            || verifier::mentions_atomic(&read_text(&source.path)?)
        {
            // The runtime is told when functions begin and end, since some are one step each.
            let flags = [flags, vec!["-finstrument-functions".to_owned()]].concat();
            return self.compile_with(source, name, &flags);
        }
        self.refuse_lost_errors(source, &flags, &compiled)?;
        Ok(compiled)
    }

    /// An optimiser may remove calls of a function that does nothing, unless others could put another one in
    /// its place. What the program calls so that it is noticed has to be there still.
    fn refuse_lost_errors(
        &self,
        source: &Source,
        flags: &[String],
        compiled: &Compiled,
    ) -> Result<(), BuildError> {
        if !optimises(flags) {
            return Ok(());
        }
        let mut command = self.compiler.command();
        if let Some(directory) = &source.directory {
            command.current_dir(directory);
        }
        command.args(flags).args(["-E", "-P"]).arg(&source.path);
        let SymbolNames { functions, needed, .. } = SymbolNames::of(&compiled.object)?;
        let is_there = functions.iter().chain(&needed).any(|name| verifier::plain(name) == verifier::ERROR);
        if !is_there && run(command)?.lines().any(|line| mentions(line, verifier::ERROR)) {
            return Err(BuildError::Unsupported(format!(
                "{}: the compiler has removed `{}`; compile with -O0, or make it a function that is not static",
                source.path.display(),
                verifier::ERROR
            )));
        }
        Ok(())
    }

    /// The options for a file: its own, and those for all.
    pub fn flags_for(&self, source: &Source) -> Vec<String> {
        [source.flags.as_slice(), &self.flags].concat()
    }

    /// Compiles library functions.
    pub fn support(&self, support: SupportLibrary) -> Result<PathBuf, BuildError> {
        let source = self.directory.join(support.name);
        write(&source, support.text)?;
        // So that its places are told from those of the program, and are the same in every process.
        let elsewhere = format!("-ffile-prefix-map={}=/usr/lib/mazurka", self.directory.display());
        Ok(self.compile_with(&Source::plain(source), support.name, &[elsewhere])?.object)
    }

    fn compile_with(&self, source: &Source, name: &str, flags: &[String]) -> Result<Compiled, BuildError> {
        let Source { path: source, directory, .. } = source;
        let is_cxx = Language::of(source)? == Language::Cxx;
        let prelude = self.directory.join("prelude.h");
        if is_cxx {
            write(&prelude, include_str!("support/prelude.h"))?;
        }
        let family = match self.compiler.family {
            Family::Clang => FOR_CLANG,
            Family::Gcc => FOR_GCC,
        };
        let command = || {
            let mut command = self.compiler.command();
            if let Some(directory) = directory {
                command.current_dir(directory);
            }
            command.args(COMMON.split(' '));
            if self.colour {
                command.arg("-fdiagnostics-color=always");
            }
            if is_cxx {
                command.arg("-include").arg(&prelude);
            }
            command.args(family.split(' ')).args(flags);
            command
        };
        let object = self.directory.join(format!("{name}.o"));
        let (audit, warnings) = match self.compiler.family {
            Family::Clang => self.with_clang(command(), source, &object, optimises(flags))?,
            Family::Gcc => self.with_gcc(command, source, &object, optimises(flags))?,
        };
        add_redzones(&object)?;
        Ok(Compiled { object, audit, warnings })
    }

    /// Compiles by way of LLVM's textual form, which is repaired. Gives what was found there, and warnings.
    fn with_clang(
        &self,
        mut command: Command,
        source: &Path,
        object: &Path,
        optimised: bool,
    ) -> Result<(Audit, String), BuildError> {
        let code = object.with_extension("ll");
        command.args(["-S", "-emit-llvm", "-o"]).arg(&code).arg(source);
        let warnings = run(command)?;
        let audit = llvm::repair(&read_text(&code)?)?;
        write(&code, &audit.text)?;
        let command = |what: &str| {
            let mut command = self.compiler.command();
            command.args([what, "-O0", "-fPIC", "-fdata-sections", "-Wno-override-module", "-o"]);
            command
        };
        if audit.has_assembly {
            let text = object.with_extension("s");
            let mut command = command("-S");
            command.arg(&text).arg(&code);
            run(command)?;
            self.assemble_announced(&text, object, optimised)?;
        } else {
            let mut command = command("-c");
            command.arg(object).arg(&code);
            run(command)?;
        }
        Ok((audit, warnings))
    }

    /// Assembles what the compiler wrote, after accesses of inline assembly were announced in it.
    fn assemble_announced(&self, text: &Path, object: &Path, optimised: bool) -> Result<(), BuildError> {
        write(text, assembly::announce(&read_text(text)?, optimised))?;
        let mut command = self.compiler.command();
        command.args(["-c", "-o"]).arg(object).arg(text);
        run(command).map(drop)
    }

    /// Compiles, and looks through what gcc writes down of the code. Gives what was found there, and warnings.
    fn with_gcc(
        &self,
        command: impl Fn() -> Command,
        source: &Path,
        object: &Path,
        optimised: bool,
    ) -> Result<(Audit, String), BuildError> {
        let dump = object.with_extension("dump");
        let mut first = command();
        first.arg(format!("-fdump-tree-optimized-lineno={}", dump.display()));
        first.args(["-c", "-o"]).arg(object).arg(source);
        let warnings = run(first)?;
        // A file without functions has no dump.
        let audit = if dump.exists() { gimple::audit(&read_text(&dump)?)? } else { Audit::default() };
        if audit.has_assembly {
            let text = object.with_extension("s");
            let mut second = command();
            second.args(["-w", "-S", "-o"]).arg(&text).arg(source);
            run(second)?;
            self.assemble_announced(&text, object, optimised)?;
        }
        Ok((audit, warnings))
    }

    /// The standard that files of a language are compiled for, as the compiler itself tells it.
    pub fn standard(&self, language: Language, flags: &[String]) -> Result<Standard, BuildError> {
        let name = if language == Language::C { "c" } else { "c++" };
        let mut command = self.compiler.command();
        command.args(flags).args(["-dM", "-E", "-x", name, "/dev/null"]);
        let standard = Standard::of_macros(language, &run(command)?);
        standard.ok_or_else(|| "the compiler does not tell which standard it follows".to_owned().into())
    }

    /// Assembles a text of ours.
    pub fn assemble(&self, text: &str, name: &str) -> Result<PathBuf, BuildError> {
        let source = self.directory.join(format!("{name}.s"));
        let object = self.directory.join(format!("{name}.o"));
        write(&source, text)?;
        let mut command = self.compiler.command();
        command.args(["-c", "-o"]).arg(&object).arg(&source);
        run(command)?;
        Ok(object)
    }

    /// Links everything.
    pub fn link(&self, objects: &[PathBuf], language: Language) -> Result<PathBuf, BuildError> {
        let program = self.directory.join("program.so");
        let mut command = self.compiler.command();
        command.args(LINK.split(' ')).arg("-o").arg(&program).args(objects);
        if language == Language::Cxx {
            command.args(CXX_LIBRARIES.split(' '));
        }
        command.args(LIBRARIES.split(' '));
        run(command)?;
        Ok(program)
    }
}

/// Whether options ask for optimisation: the last that says so decides.
fn optimises(flags: &[String]) -> bool {
    let level = flags.iter().rev().find(|flag| flag.starts_with("-O"));
    level.is_some_and(|level| level != "-O0")
}

/// Runs a command to its end, and gives what it said.
fn run(mut command: Command) -> Result<String, BuildError> {
    let output = command.output();
    let Output { status, stdout, stderr } =
        output.map_err(|error| format!("{}: can't be run: {error}", command.get_program().display()))?;
    let mut text = String::from_utf8_lossy(&stderr).into_owned();
    text += &String::from_utf8_lossy(&stdout);
    if status.success() {
        return Ok(text);
    }
    if text.trim().is_empty() {
        text = format!("{}: ended without a word ({status})\n", command.get_program().display());
    }
    Err(BuildError::Compiler(text))
}

fn read_text(path: &Path) -> Result<String, BuildError> {
    Ok(String::from_utf8_lossy(&read(path)?).into_owned())
}
