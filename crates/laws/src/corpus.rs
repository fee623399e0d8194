//! The corpus: programs that broke some variant of an algorithm once, and seeds for mutants.

use std::path::PathBuf;

use mazurka_litmus::ast::Ast;
use mazurka_litmus::{Source, parse};

/// A program of the corpus.
#[derive(Clone, Debug)]
pub struct Seed {
    /// The name of its file, without the ending.
    pub name: String,
    /// The program.
    pub ast: Ast,
}

/// Where the corpus is in a checkout.
pub fn directory() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../corpus"))
}

/// The programs of the corpus, by name.
///
/// # Panics
/// If the corpus can't be read: it is part of the checkout.
pub fn seeds() -> Vec<Seed> {
    seeds_in("")
}

/// The programs of a part of the corpus: `rust` has those that the library did wrong once.
///
/// # Panics
/// If it can't be read.
pub fn seeds_in(part: &str) -> Vec<Seed> {
    let files = std::fs::read_dir(directory().join(part)).expect("the corpus is part of the checkout");
    let mut paths: Vec<PathBuf> = files.map(|file| file.expect("a readable file").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "maz"));
    paths.sort();
    let read = |path: PathBuf| {
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).expect("a readable file");
        let source = Source { name: name.clone(), text };
        let ast = parse(&source).unwrap_or_else(|errors| panic!("{name}: {}", errors[0].message));
        Seed { name, ast }
    };
    paths.into_iter().map(read).collect()
}
