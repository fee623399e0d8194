//! Bytes as values of a type.

use super::types::{Kind, Type, TypeId, Types};

impl Types {
    /// Bytes as a value of a type; in hexadecimal where the type is not known.
    pub fn value(&self, kind: Option<TypeId>, bytes: &[u8]) -> String {
        let Some(Type { kind, size }) = kind.and_then(|kind| self.get(kind)) else {
            return hexadecimal(bytes);
        };
        if *size as usize != bytes.len() || bytes.len() > 8 {
            return hexadecimal(bytes);
        }
        let raw = bytes.iter().rev().fold(0_u64, |value, &byte| value << 8 | u64::from(byte));
        let bits = 8 * bytes.len().clamp(1, 8) as u32;
        let signed = sign_extend(raw, bits);
        match kind {
            Kind::Signed => signed.to_string(),
            Kind::Unsigned => raw.to_string(),
            Kind::Char => match u8::try_from(raw) {
                Ok(byte) if byte.is_ascii_graphic() || byte == b' ' => {
                    format!("'{}' ({signed})", char::from(byte))
                }
                _ => signed.to_string(),
            },
            Kind::Bool if raw <= 1 => (raw == 1).to_string(),
            Kind::Float if bytes.len() == 4 => f32::from_bits(raw as u32).to_string(),
            Kind::Float if bytes.len() == 8 => f64::from_bits(raw).to_string(),
            Kind::Pointer(_) if raw == 0 => "NULL".to_owned(),
            Kind::Enum(names) => {
                let mask = u64::MAX >> (64 - bits);
                let named = names.iter().find(|(value, _)| value.cast_unsigned() & mask == raw);
                named.map_or_else(|| signed.to_string(), |(_, name)| name.clone())
            }
            _ => hexadecimal(bytes),
        }
    }
}

/// The low bits of a number, from 1 to 64 of them, as a number with a sign.
pub(crate) fn sign_extend(value: u64, bits: u32) -> i64 {
    (value << (64 - bits)).cast_signed() >> (64 - bits)
}

/// The last byte is the most significant.
fn hexadecimal(bytes: &[u8]) -> String {
    const MOST: usize = 16;
    let shown = &bytes[..bytes.len().min(MOST)];
    let digits: String = shown.iter().rev().map(|byte| format!("{byte:02x}")).collect();
    let digits = digits.trim_start_matches('0');
    let digits = if digits.is_empty() { "0" } else { digits };
    match bytes.len() {
        0..=MOST => format!("0x{digits}"),
        all => format!("{all} bytes, of which the first are 0x{digits}"),
    }
}
