//! The traits that types of the standard library implement, and ours do.

use std::fmt::{Debug, Display, Pointer};
use std::hash::Hash;
use std::ops::{Deref, DerefMut};
use std::panic::{RefUnwindSafe, UnwindSafe};

/// Each type implements each of its traits, by the standard library and by ours.
macro_rules! both_implement {
    ($($type:ty: $($trait:path),*;)*) => {
        #[allow(dead_code, unused_imports)]
        mod by_std {
            use super::*;
            use std::{cell, sync, thread, time};
            both_implement!(@all $($type: $($trait),*;)*);
        }
        #[allow(dead_code, unused_imports)]
        mod by_mazurka {
            use super::*;
            use mazurka::{cell, sync, thread, time};
            both_implement!(@all $($type: $($trait),*;)*);
        }
    };
    (@all $($type:ty: $($trait:path),*;)*) => {
        fn all() {
            $($({
                fn implements<T: $trait>() {}
                implements::<$type>();
            })*)*
        }
    };
}

both_implement! {
    cell::UnsafeCell<u8>: Debug, Default, From<u8>, Send;
    sync::Arc<u8>: AsRef<u8>, std::borrow::Borrow<u8>, Clone, Debug, Default, Deref<Target = u8>, Display, Eq,
        From<u8>, From<Box<u8>>, Hash, Ord, PartialOrd, Pointer, RefUnwindSafe, Send, Sync, Unpin, UnwindSafe;
    sync::Arc<std::io::Error>: std::error::Error;
    sync::Arc<std::fs::File>: std::io::Read, std::io::Seek, std::io::Write;
    sync::Arc<str>: Default, From<&'static str>, From<&'static mut str>, From<String>,
        From<std::borrow::Cow<'static, str>>;
    sync::Arc<[u8]>: Default, From<&'static [u8]>, From<&'static mut [u8]>, From<[u8; 2]>, From<Vec<u8>>,
        From<sync::Arc<str>>, From<std::borrow::Cow<'static, [u8]>>, FromIterator<u8>;
    sync::Arc<[u8; 2]>: TryFrom<sync::Arc<[u8]>>;
    sync::Arc<std::ffi::CStr>: Default, From<&'static std::ffi::CStr>, From<std::ffi::CString>;
    sync::Arc<std::ffi::OsStr>: From<&'static std::ffi::OsStr>, From<std::ffi::OsString>;
    sync::Arc<std::path::Path>: From<&'static std::path::Path>, From<std::path::PathBuf>;
    std::pin::Pin<sync::Arc<u8>>: Default;
    std::task::Waker: From<sync::Arc<Sleeper>>;
    std::task::RawWaker: From<sync::Arc<Sleeper>>;
    sync::Barrier: Debug, RefUnwindSafe, Send, Sync, UnwindSafe;
    sync::BarrierWaitResult: Debug;
    sync::Condvar: Debug, Default, RefUnwindSafe, Send, Sync, UnwindSafe;
    sync::LazyLock<u8>: Debug, Default, Deref<Target = u8>, DerefMut, RefUnwindSafe, Send, Sync, UnwindSafe;
    sync::Mutex<u8>: Debug, Default, From<u8>, RefUnwindSafe, Send, Sync, UnwindSafe;
    sync::MutexGuard<'static, u8>: Debug, Deref<Target = u8>, DerefMut, Display, Sync;
    sync::Once: Debug, RefUnwindSafe, Send, Sync, UnwindSafe;
    sync::OnceLock<u8>: Clone, Debug, Default, Eq, From<u8>, RefUnwindSafe, Send, Sync, UnwindSafe;
    sync::OnceState: Debug;
    sync::RwLock<u8>: Debug, Default, From<u8>, RefUnwindSafe, Send, Sync, UnwindSafe;
    sync::RwLockReadGuard<'static, u8>: Debug, Deref<Target = u8>, Display, Sync;
    sync::RwLockWriteGuard<'static, u8>: Debug, Deref<Target = u8>, DerefMut, Display, Sync;
    sync::WaitTimeoutResult: Copy, Debug, Eq;
    sync::Weak<u8>: Clone, Debug, Default, Send, Sync;
    sync::atomic::AtomicBool: Debug, Default, From<bool>, RefUnwindSafe, Send, Sync, UnwindSafe;
    sync::atomic::AtomicI8: Debug, Default, From<i8>, RefUnwindSafe, Send, Sync, UnwindSafe;
    sync::atomic::AtomicU64: Debug, Default, From<u64>, RefUnwindSafe, Send, Sync, UnwindSafe;
    sync::atomic::AtomicPtr<u8>: Debug, Default, From<*mut u8>, Pointer, RefUnwindSafe, Send, Sync, UnwindSafe;
    sync::mpsc::IntoIter<u8>: Debug, Iterator<Item = u8>;
    sync::mpsc::Iter<'static, u8>: Debug, Iterator<Item = u8>;
    sync::mpsc::TryIter<'static, u8>: Debug, Iterator<Item = u8>;
    sync::mpsc::Receiver<u8>: Debug, IntoIterator<Item = u8>, RefUnwindSafe, Send, UnwindSafe;
    &'static sync::mpsc::Receiver<u8>: IntoIterator<Item = u8>;
    sync::mpsc::Sender<u8>: Clone, Debug, RefUnwindSafe, Send, Sync, UnwindSafe;
    sync::mpsc::SyncSender<u8>: Clone, Debug, RefUnwindSafe, Send, Sync, UnwindSafe;
    thread::Builder: Debug;
    thread::JoinHandle<u8>: Debug, Send, Sync;
    thread::LocalKey<u8>: Debug;
    thread::Scope<'static, 'static>: Debug, Sync;
    thread::ScopedJoinHandle<'static, u8>: Debug, Send, Sync;
    thread::Thread: Clone, Debug, Send, Sync;
    thread::ThreadId: Copy, Debug, Eq, Hash, Send, Sync;
    time::Instant: Copy, Debug, Eq, Hash, Ord, Send, Sync, std::ops::Add<std::time::Duration, Output = time::Instant>,
        std::ops::AddAssign<std::time::Duration>, std::ops::Sub<std::time::Duration, Output = time::Instant>,
        std::ops::SubAssign<std::time::Duration>, std::ops::Sub<Output = std::time::Duration>;
}

struct Sleeper;

impl std::task::Wake for Sleeper {
    fn wake(self: std::sync::Arc<Sleeper>) {}
}

/// On Unix, what is open through an `Arc` is open.
#[cfg(unix)]
mod open {
    use std::os::fd::{AsFd, AsRawFd};

    fn implements<T: AsFd + AsRawFd>() {}

    #[allow(dead_code)]
    fn both() {
        implements::<std::sync::Arc<std::fs::File>>();
        implements::<mazurka::sync::Arc<std::fs::File>>();
    }
}
