//! Frames: how processes of one worker talk to each other over a socket, and how several texts are one.
//!
//! A frame is the number of its bytes, as four with the lowest first, and then the bytes. What is read is what
//! was written, or nothing: a frame that is cut is an error, and one that is longer than any that is written is
//! refused before there is room for it. A socket that is closed between two frames is at its end.

use std::io::{self, ErrorKind, Read, Write};

use mazurka_journal::frame::{put_bytes, take_bytes};

/// No frame is longer: what was garbled must not fill the memory.
const MOST: usize = 1 << 30;

/// Writes a frame.
pub fn write(into: &mut impl Write, body: &[u8]) -> io::Result<()> {
    let too_long = || io::Error::new(ErrorKind::InvalidInput, "the frame is too long");
    let length = u32::try_from(body.len()).ok().filter(|_| body.len() <= MOST).ok_or_else(too_long)?;
    into.write_all(&length.to_le_bytes())?;
    into.write_all(body)?;
    into.flush()
}

/// Reads a frame; none if there are no more.
pub fn read(from: &mut impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut length = Vec::with_capacity(4);
    match from.by_ref().take(4).read_to_end(&mut length)? {
        0 => return Ok(None),
        4 => {}
        _ => return Err(ErrorKind::UnexpectedEof.into()),
    }
    let length = u32::from_le_bytes([length[0], length[1], length[2], length[3]]);
    if length as usize > MOST {
        return Err(io::Error::new(ErrorKind::InvalidData, "the frame is too long"));
    }
    let mut body = Vec::new();
    match from.by_ref().take(length.into()).read_to_end(&mut body)? {
        read if read == length as usize => Ok(Some(body)),
        _ => Err(ErrorKind::UnexpectedEof.into()),
    }
}

/// Several texts as one: each after its length.
pub fn pack<T: AsRef<[u8]>>(parts: impl IntoIterator<Item = T>) -> Vec<u8> {
    let mut packed = Vec::new();
    for part in parts {
        put_bytes(&mut packed, part.as_ref());
    }
    packed
}

/// The texts of which one was made; none if it was not made so.
pub fn unpack(mut packed: &[u8]) -> Option<Vec<&[u8]>> {
    let mut parts = Vec::new();
    while !packed.is_empty() {
        parts.push(take_bytes(&mut packed)?);
    }
    Some(parts)
}

/// So many texts, and no more.
pub fn unpack_exactly<const N: usize>(packed: &[u8]) -> Option<[&[u8]; N]> {
    unpack(packed)?.try_into().ok()
}

/// A number as a text.
pub fn number(number: u64) -> [u8; 8] {
    number.to_le_bytes()
}

/// The number that was written so.
pub fn read_number(text: &[u8]) -> Option<u64> {
    Some(u64::from_le_bytes(text.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_read_as_they_are_written_or_not_at_all() {
        let mut written = Vec::new();
        for body in [&b""[..], b"one", &[7; 70_000]] {
            write(&mut written, body).unwrap();
        }
        let mut from = &written[..];
        let lengths: Vec<usize> =
            std::iter::from_fn(|| read(&mut from).unwrap()).map(|body| body.len()).collect();
        assert_eq!(lengths, [0, 3, 70_000]);
        // Cut anywhere, all that is whole is read, and then there is an end or an error.
        let starts = [0, 4, 11];
        for cut in (0..20).chain([written.len() - 1]) {
            let mut from = &written[..cut];
            let mut whole = 0;
            let end = loop {
                match read(&mut from) {
                    Ok(Some(_)) => whole += 1,
                    Ok(None) => break true,
                    Err(_) => break false,
                }
            };
            assert_eq!(
                (whole, end),
                (starts.iter().filter(|&&start| start != 0 && start <= cut).count(), starts.contains(&cut)),
                "{cut}"
            );
        }
    }

    #[test]
    fn a_garbled_length_takes_no_memory() {
        let error = read(&mut &[0xff, 0xff, 0xff, 0xff, 1, 2][..]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidData);
        // A length that could be is not believed before the bytes are there.
        let error = read(&mut &[0, 0, 0, 0x3f, 1, 2][..]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
    }

    #[test]
    fn texts_are_unpacked_as_they_were_packed() {
        for parts in [&[][..], &[&b""[..]], &[b"a", b"", b"bcd"]] {
            let packed = pack(parts);
            assert_eq!(unpack(&packed).unwrap(), parts);
            for cut in 1..packed.len() {
                assert!(unpack(&packed[..cut]).is_none_or(|fewer| parts.starts_with(&fewer)));
            }
        }
        let packed = pack([b"a", b"b"]);
        assert_eq!(unpack_exactly(&packed), Some([&b"a"[..], b"b"]));
        assert_eq!(unpack_exactly::<1>(&packed), None);
        assert_eq!(unpack(&[0xff; 8]), None);
        assert_eq!(read_number(&number(u64::MAX - 3)), Some(u64::MAX - 3));
        assert_eq!(read_number(b"1"), None);
    }
}
