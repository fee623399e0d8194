//! Frames: a body with its length and its checksum, and the numbers and texts within.
//!
//! What is in items and results is bytes to the journal; who writes them may use the same means.

/// No body is longer than this: a length that was damaged must not fill the memory.
const MOST: usize = 1 << 30;

/// How many bytes come before a body.
const HEAD: usize = 8;

/// A table for [`crc32c`], a byte at a time.
const TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let (mut crc, mut bit) = (byte as u32, 0);
        while bit < 8 {
            // Castagnoli's polynomial, its bits reversed.
            crc = if crc & 1 == 1 { (crc >> 1) ^ 0x82f6_3b78 } else { crc >> 1 };
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
};

/// The CRC-32C of some bytes.
fn crc32c(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, &byte| (crc >> 8) ^ TABLE[usize::from(crc as u8 ^ byte)])
}

/// A frame around a body; none if the body is too long to be read again.
pub fn framed(body: &[u8]) -> Option<Vec<u8>> {
    let length = u32::try_from(body.len()).ok().filter(|_| body.len() <= MOST)?;
    let mut frame = Vec::with_capacity(HEAD + body.len());
    frame.extend(length.to_le_bytes());
    frame.extend(crc32c(body).to_le_bytes());
    frame.extend(body);
    Some(frame)
}

/// Takes the body of the first frame off some bytes; none if there is no whole and sound one.
pub fn take_frame<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    let (checksum, rest) = rest.split_first_chunk::<4>()?;
    let length = u32::from_le_bytes(*length) as usize;
    let (body, rest) = rest.split_at_checked(length).filter(|_| length <= MOST)?;
    if crc32c(body) != u32::from_le_bytes(*checksum) {
        return None;
    }
    *bytes = rest;
    Some(body)
}

/// Adds a number: seven bits a byte, the lowest first.
pub fn put_number(body: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        body.push(number as u8 | 0x80);
        number >>= 7;
    }
    body.push(number as u8);
}

/// Adds bytes, with their number before them.
pub fn put_bytes(body: &mut Vec<u8>, bytes: &[u8]) {
    put_number(body, bytes.len() as u64);
    body.extend(bytes);
}

/// Takes a number.
pub fn take_number(body: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = body.split_first()?;
        *body = rest;
        let bits = u64::from(byte & 0x7f);
        number |= bits.checked_shl(shift).filter(|shifted| shifted >> shift == bits)?;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

/// Takes bytes.
pub fn take_bytes<'a>(body: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = usize::try_from(take_number(body)?).ok()?;
    let (bytes, rest) = body.split_at_checked(length)?;
    *body = rest;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_castagnolis() {
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(crc32c(b""), 0);
    }

    #[test]
    fn numbers_are_read_as_they_are_written() {
        for number in [0, 1, 0x7f, 0x80, 300, u64::from(u32::MAX), u64::MAX - 1, u64::MAX] {
            let mut body = Vec::new();
            put_number(&mut body, number);
            let mut rest = &body[..];
            assert_eq!(take_number(&mut rest), Some(number));
            assert!(rest.is_empty());
        }
        // Bits that a number has no room for, and a number that goes on for ever.
        assert_eq!(take_number(&mut &[0xff; 9][..]), None);
        assert_eq!(take_number(&mut &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02][..]), None);
        assert_eq!(take_number(&mut &[0x80; 20][..]), None);
    }
}
