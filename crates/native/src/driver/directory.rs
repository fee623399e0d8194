//! A private directory for what a build leaves behind.
//!
//! It is removed when its owner is done with it. An owner that is killed can't; so it holds a lock on a file
//! in it as long as it lives, and whoever makes a directory removes those whose lock nobody holds.

use std::fs::{DirBuilder, File};
use std::io::{Error, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// What their names begin with.
const PREFIX: &str = "mazurka-build-";
/// The file whose lock says that the owner lives. It gets this name when it has been locked.
const LOCK: &str = "lock";
/// A directory without a lock is being made, unless it is as old as this.
const YOUNG: Duration = Duration::from_secs(3600);

/// A directory that nobody else may read, removed with what is in it when this is dropped.
#[derive(Debug)]
pub struct Directory {
    path: PathBuf,
    _lock: File,
}

impl Directory {
    /// A new one, where temporary files go.
    ///
    /// # Errors
    /// If it can't be made.
    pub fn new() -> Result<Directory, Error> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        static SWEPT: Once = Once::new();
        let parent = std::env::temp_dir();
        SWEPT.call_once(|| sweep(&parent));
        // Somebody may have left one of that name behind, but not many.
        for _ in 0..1000 {
            let number = COUNT.fetch_add(1, Ordering::Relaxed);
            let path = parent.join(format!("{PREFIX}{}-{number}", std::process::id()));
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => {
                    return match locked(&path) {
                        Ok(lock) => Ok(Directory { path, _lock: lock }),
                        Err(error) => {
                            let _ = std::fs::remove_dir_all(&path);
                            Err(at(&path, &error))
                        }
                    };
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(at(&path, &error)),
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

fn at(path: &Path, error: &Error) -> Error {
    Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// A file in a directory that is locked before anybody can find it.
fn locked(directory: &Path) -> Result<File, Error> {
    let unnamed = directory.join("unlocked");
    let file = File::create(&unnamed)?;
    file.lock()?;
    std::fs::rename(&unnamed, directory.join(LOCK))?;
    Ok(file)
}

/// Removes directories of owners that are gone. What can't be looked at, or removed, stays.
fn sweep(parent: &Path) {
    let Ok(entries) = std::fs::read_dir(parent) else { return };
    let Ok(mine) = std::fs::metadata("/proc/self").map(|owner| owner.uid()) else { return };
    for entry in entries.flatten() {
        let named = entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX));
        // Not through a link, and nobody else's.
        let is_ours = || entry.metadata().is_ok_and(|found| found.is_dir() && found.uid() == mine);
        if named && is_ours() && is_abandoned(&entry.path()) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

fn is_abandoned(directory: &Path) -> bool {
    match File::open(directory.join(LOCK)) {
        Ok(lock) => lock.try_lock().is_ok(),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let age = std::fs::metadata(directory).and_then(|found| found.modified()).ok();
            age.and_then(|made| made.elapsed().ok()).is_some_and(|age| age > YOUNG)
        }
        Err(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a directory goes away. What another test has forked holds all locks of this process until it
    /// runs another program.
    fn goes(parent: &Path, directory: &Path) -> bool {
        (0..500).any(|_| {
            sweep(parent);
            std::thread::sleep(Duration::from_millis(10));
            !directory.exists()
        })
    }

    #[test]
    fn what_nobody_owns_is_swept() {
        let parent = std::env::temp_dir().join(format!("mazurka-sweep-{}", std::process::id()));
        let made = |name: &str| {
            let path = parent.join(format!("{PREFIX}{name}"));
            std::fs::create_dir_all(&path).unwrap();
            path
        };
        let (gone, alive, young) = (made("gone"), made("alive"), made("young"));
        drop(locked(&gone).unwrap());
        let lock = locked(&alive).unwrap();
        assert!(goes(&parent, &gone));
        assert!(alive.exists() && young.exists());
        drop(lock);
        assert!(goes(&parent, &alive));
        std::fs::remove_dir_all(&parent).unwrap();
    }
}
