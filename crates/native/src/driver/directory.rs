//! A private directory for what a build leaves behind.

use std::fs::DirBuilder;
use std::io::{Error, ErrorKind};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A directory that nobody else may read, removed with what is in it when this is dropped.
#[derive(Debug)]
pub struct Directory {
    path: PathBuf,
}

impl Directory {
    /// A new one, where temporary files go.
    ///
    /// # Errors
    /// If it can't be made.
    pub fn new() -> Result<Directory, Error> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let parent = std::env::temp_dir();
        // Somebody may have left one of that name behind, but not many.
        for _ in 0..1000 {
            let number = COUNT.fetch_add(1, Ordering::Relaxed);
            let path = parent.join(format!("mazurka-{}-{number}", std::process::id()));
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(Directory { path }),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(Error::new(error.kind(), format!("{}: {error}", path.display()))),
            }
        }
        Err(Error::other(format!("{}: no name is free for a directory", parent.display())))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        // Nothing can be done if it stays.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}
