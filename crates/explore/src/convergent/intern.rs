//! Byte strings, each kept once, with a number: states, and sets of records.
//!
//! They are kept in full and compared in full: a hash only leads to them. They lie one after the other in
//! large pieces, so that they take little more than their bytes, and a million of them are let go of in no
//! time.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use crate::quick_hash::QuickHash;

/// The bytes of a piece, but for the first ones; a string that is larger has one of its own.
const PIECE: usize = 1 << 20;

/// The bytes of the first piece. Those after it are twice as large each, up to [`PIECE`].
const FIRST_PIECE: usize = 1 << 12;

#[derive(Debug)]
struct Place {
    /// Where its bytes are: the piece, the first of them there, and how many.
    piece: u32,
    start: u32,
    length: u32,
    /// The string with the same hash that was met before, plus 1; 0 if there is none.
    same_hash: u32,
}

#[derive(Debug, Default)]
pub(crate) struct Interned {
    hasher: RandomState,
    /// By hash: the string that was met last.
    by_hash: HashMap<u64, u32, QuickHash>,
    /// They don't grow beyond what was set aside for them.
    pieces: Vec<Vec<u8>>,
    places: Vec<Place>,
    /// Bytes of the pieces.
    memory: usize,
}

impl Interned {
    /// The number of a string, which may be new.
    pub fn number(&mut self, string: &[u8]) -> u32 {
        let hash = self.hasher.hash_one(string);
        let met = self.by_hash.get(&hash).map_or(0, |last| last + 1);
        let mut other = met;
        while let Some(number) = other.checked_sub(1) {
            if self.get(number) == string {
                return number;
            }
            other = self.places[number as usize].same_hash;
        }
        let number = self.places.len() as u32;
        let (piece, start) = self.keep(string);
        self.places.push(Place { piece, start, length: string.len() as u32, same_hash: met });
        self.by_hash.insert(hash, number);
        number
    }

    pub fn get(&self, number: u32) -> &[u8] {
        let place = &self.places[number as usize];
        let start = place.start as usize;
        &self.pieces[place.piece as usize][start..start + place.length as usize]
    }

    fn keep(&mut self, string: &[u8]) -> (u32, u32) {
        let fits = |piece: &Vec<u8>| piece.capacity() - piece.len() >= string.len();
        if !self.pieces.last().is_some_and(fits) {
            let next = FIRST_PIECE << self.pieces.len().min(8);
            let size = string.len().max(next.min(PIECE));
            self.memory += size;
            self.pieces.push(Vec::with_capacity(size));
        }
        let last = self.pieces.len() - 1;
        let piece = &mut self.pieces[last];
        let start = piece.len() as u32;
        piece.extend_from_slice(string);
        (last as u32, start)
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        let hashes = self.by_hash.capacity() * (size_of::<(u64, u32)>() + 1) * 8 / 7;
        self.memory + hashes + self.places.capacity() * size_of::<Place>()
    }
}

/// A list of numbers as bytes, small numbers in one byte: lists are equal exactly if the bytes are.
pub(crate) fn pack(numbers: &[i64], bytes: &mut Vec<u8>) {
    bytes.clear();
    for &number in numbers {
        // Numbers near 0 of either sign become small ones.
        push_number(((number << 1) ^ (number >> 63)) as u64, bytes);
    }
}

/// Seven bits a byte; the highest bit says that more come.
pub(super) fn push_number(number: u64, bytes: &mut Vec<u8>) {
    let mut rest = number;
    while rest >= 0x80 {
        bytes.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    bytes.push(rest as u8);
}

/// The numbers that were pushed.
pub(super) fn pushed_numbers(bytes: &[u8]) -> impl Iterator<Item = u64> + '_ {
    let mut rest = bytes.iter();
    std::iter::from_fn(move || {
        let (mut number, mut shift) = (0, 0);
        loop {
            let byte = *rest.next()?;
            number |= u64::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                return Some(number);
            }
            shift += 7;
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_lists_are_equal_only_if_the_lists_are() {
        let lists: [&[i64]; 9] = [
            &[],
            &[0],
            &[0, 0],
            &[-1],
            &[1],
            &[63, 64, -64, -65],
            &[8192],
            &[i64::MAX],
            &[i64::MIN, i64::MAX, 0],
        ];
        let packed = lists.map(|list| {
            let mut bytes = Vec::new();
            pack(list, &mut bytes);
            bytes
        });
        for (i, a) in packed.iter().enumerate() {
            for (j, b) in packed.iter().enumerate() {
                assert_eq!(a == b, i == j, "{:?} and {:?}", lists[i], lists[j]);
            }
        }
        assert_eq!(packed[5].len(), 6);
    }

    #[test]
    fn what_was_pushed_is_read_back() {
        let (numbers, mut bytes) = ([0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX], Vec::new());
        numbers.iter().for_each(|&number| push_number(number, &mut bytes));
        assert_eq!(pushed_numbers(&bytes).collect::<Vec<_>>(), numbers);
    }

    #[test]
    fn equal_strings_have_one_number() {
        let mut strings = Interned::default();
        let (a, empty, b) = (strings.number(b"a"), strings.number(b""), strings.number(b"b"));
        assert_eq!((strings.number(b"a"), strings.number(b""), strings.number(b"b")), (a, empty, b));
        assert_eq!((strings.get(a), strings.get(empty), strings.places.len()), (&b"a"[..], &b""[..], 3));
    }
}
