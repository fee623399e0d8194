//! `Arc`s that are made of other values, and of `Arc`s of other types.
#![allow(unsafe_code)]

use std::any::{Any, type_name};
use std::borrow::Cow;
use std::ffi::{CStr, CString, OsStr, OsString};
use std::mem::{ManuallyDrop, MaybeUninit};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync as real;

use super::{Arc, look};
use crate::runtime::with_runtime;

impl<T: ?Sized> Arc<T> {
    /// Makes the handle one of another type of the same value. If those are followed these have to be: else
    /// there would be handles that nobody counts.
    fn convert<U: ?Sized>(self, real: impl FnOnce(real::Arc<T>) -> real::Arc<U>) -> Arc<U> {
        let handle = self.handle;
        let follows = |name| with_runtime(|runtime| runtime.follows(name)) == Some(true);
        if handle.is_none() && follows(type_name::<U>()) && !follows(type_name::<T>()) {
            look::<T>(handle);
        }
        Arc { real: ManuallyDrop::new(real(self.into_real())), handle }
    }
}

impl<T> Arc<T> {
    /// Shares room for a value that is not there yet.
    #[must_use]
    #[track_caller]
    pub fn new_uninit() -> Arc<MaybeUninit<T>> {
        Arc::only(real::Arc::new_uninit())
    }

    /// Shares room for a value, full of zeros.
    #[must_use]
    #[track_caller]
    pub fn new_zeroed() -> Arc<MaybeUninit<T>> {
        Arc::only(real::Arc::new_zeroed())
    }
}

impl<T> Arc<[T]> {
    /// Shares room for values that are not there yet.
    #[must_use]
    #[track_caller]
    pub fn new_uninit_slice(length: usize) -> Arc<[MaybeUninit<T>]> {
        Arc::only(real::Arc::new_uninit_slice(length))
    }

    /// Shares room for values, full of zeros.
    #[must_use]
    #[track_caller]
    pub fn new_zeroed_slice(length: usize) -> Arc<[MaybeUninit<T>]> {
        Arc::only(real::Arc::new_zeroed_slice(length))
    }
}

impl<T> Arc<MaybeUninit<T>> {
    /// Says that the value is there.
    ///
    /// # Safety
    /// It must be.
    #[must_use]
    pub unsafe fn assume_init(self) -> Arc<T> {
        // SAFETY: the caller vouches for it.
        self.convert(|real| unsafe { real.assume_init() })
    }
}

impl<T> Arc<[MaybeUninit<T>]> {
    /// Says that the values are there.
    ///
    /// # Safety
    /// They must be.
    #[must_use]
    pub unsafe fn assume_init(self) -> Arc<[T]> {
        // SAFETY: the caller vouches for it.
        self.convert(|real| unsafe { real.assume_init() })
    }
}

impl Arc<dyn Any + Send + Sync> {
    /// The `Arc` as one of the type that its value has; itself as an error, if that is another.
    pub fn downcast<T: Any + Send + Sync>(self) -> Result<Arc<T>, Arc<dyn Any + Send + Sync>> {
        if !self.is::<T>() {
            return Err(self);
        }
        Ok(self.convert(|real| match real.downcast() {
            Ok(real) => real,
            Err(_) => unreachable!("its type was asked for"),
        }))
    }
}

impl From<Arc<str>> for Arc<[u8]> {
    fn from(text: Arc<str>) -> Arc<[u8]> {
        text.convert(Into::into)
    }
}

impl<T, const N: usize> TryFrom<Arc<[T]>> for Arc<[T; N]> {
    type Error = Arc<[T]>;

    fn try_from(slice: Arc<[T]>) -> Result<Arc<[T; N]>, Arc<[T]>> {
        if slice.len() != N {
            return Err(slice);
        }
        Ok(slice.convert(|real| match real.try_into() {
            Ok(real) => real,
            Err(_) => unreachable!("its length was asked for"),
        }))
    }
}

macro_rules! from {
    ($([$($generics:tt)*] $from:ty => $to:ty;)*) => {$(
        impl<$($generics)*> From<$from> for Arc<$to> {
            #[track_caller]
            fn from(value: $from) -> Arc<$to> {
                Arc::only(value.into())
            }
        }
    )*};
}
from! {
    [T] T => T;
    [T: ?Sized] Box<T> => T;
    [] &str => str;
    [] &mut str => str;
    [] String => str;
    [T: Clone] &[T] => [T];
    [T: Clone] &mut [T] => [T];
    [T, const N: usize] [T; N] => [T];
    [T] Vec<T> => [T];
    [] &CStr => CStr;
    [] &mut CStr => CStr;
    [] CString => CStr;
    [] &OsStr => OsStr;
    [] &mut OsStr => OsStr;
    [] OsString => OsStr;
    [] &Path => Path;
    [] &mut Path => Path;
    [] PathBuf => Path;
}

impl<T: ?Sized> From<real::Arc<T>> for Arc<T> {
    #[track_caller]
    fn from(real: real::Arc<T>) -> Arc<T> {
        Arc::from_std(real)
    }
}

impl<'a, B: ?Sized + ToOwned> From<Cow<'a, B>> for Arc<B>
where
    Arc<B>: From<&'a B> + From<B::Owned>,
{
    #[track_caller]
    fn from(value: Cow<'a, B>) -> Arc<B> {
        match value {
            Cow::Borrowed(borrowed) => Arc::from(borrowed),
            Cow::Owned(owned) => Arc::from(owned),
        }
    }
}

impl<T> FromIterator<T> for Arc<[T]> {
    #[track_caller]
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Arc<[T]> {
        Arc::only(values.into_iter().collect())
    }
}

macro_rules! default {
    ($([$($generics:tt)*] $type:ty;)*) => {$(
        impl<$($generics)*> Default for Arc<$type> {
            #[track_caller]
            fn default() -> Arc<$type> {
                Arc::only(Default::default())
            }
        }
    )*};
}
default! {
    [T: Default] T;
    [T] [T];
    [] str;
    [] CStr;
}

impl<T: ?Sized> Default for Pin<Arc<T>>
where
    Arc<T>: Default,
{
    #[track_caller]
    fn default() -> Pin<Arc<T>> {
        // SAFETY: as in `Arc::pin`.
        unsafe { Pin::new_unchecked(Arc::default()) }
    }
}
