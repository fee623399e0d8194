//! Receivers as iterators.

use super::Receiver;

/// Receives until all senders are gone; from [`Receiver::iter`].
#[derive(Debug)]
pub struct Iter<'a, T: 'a> {
    receiver: &'a Receiver<T>,
}

/// Receives what is there; from [`Receiver::try_iter`].
#[derive(Debug)]
pub struct TryIter<'a, T: 'a> {
    receiver: &'a Receiver<T>,
}

/// Receives until all senders are gone, and owns the receiver.
#[derive(Debug)]
pub struct IntoIter<T> {
    receiver: Receiver<T>,
}

impl<T> Receiver<T> {
    /// Waits for one message after the other, until all senders are gone.
    pub fn iter(&self) -> Iter<'_, T> {
        Iter { receiver: self }
    }

    /// Receives what is there, one message after the other, without waiting.
    pub fn try_iter(&self) -> TryIter<'_, T> {
        TryIter { receiver: self }
    }
}

macro_rules! iterators {
    ($($name:ty: $receive:ident;)*) => {$(
        impl<T> Iterator for $name {
            type Item = T;

            #[track_caller]
            fn next(&mut self) -> Option<T> {
                self.receiver.$receive().ok()
            }
        }
    )*};
}

iterators! {
    Iter<'_, T>: recv;
    TryIter<'_, T>: try_recv;
    IntoIter<T>: recv;
}

impl<'a, T> IntoIterator for &'a Receiver<T> {
    type Item = T;
    type IntoIter = Iter<'a, T>;

    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
    }
}

impl<T> IntoIterator for Receiver<T> {
    type Item = T;
    type IntoIter = IntoIter<T>;

    fn into_iter(self) -> IntoIter<T> {
        IntoIter { receiver: self }
    }
}
