//! What a search is: whoever goes on with it must do the same.

use std::fmt;

use crate::frame::{put_bytes, put_number, take_bytes, take_number};

/// What a search is, as names with values, in the order in which they were given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    fields: Vec<(String, String)>,
}

/// Something in which two searches differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// What it is of both.
    pub name: String,
    /// What the first has, if anything.
    pub first: Option<String>,
    /// What the second has.
    pub second: Option<String>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "none".to_owned());
        write!(f, "{}: {} there, {} here", self.name, value(&self.first), value(&self.second))
    }
}

impl Header {
    /// One that says nothing.
    pub fn new() -> Header {
        Header::default()
    }

    /// The same with one more field.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: impl Into<String>) -> Header {
        self.fields.push((name.into(), value.into()));
        self
    }

    /// The value of a field.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(field, _)| field == name).map(|(_, value)| &**value)
    }

    /// In what another differs from this one.
    pub fn differences(&self, other: &Header) -> Vec<Difference> {
        let theirs = other.fields.iter().filter(|(name, _)| self.get(name).is_none());
        let names = self.fields.iter().chain(theirs).map(|(name, _)| name);
        let differing = names.filter(|name| self.get(name) != other.get(name));
        let value = |header: &Header, name: &str| header.get(name).map(str::to_owned);
        differing
            .map(|name| Difference {
                name: name.clone(),
                first: value(self, name),
                second: value(other, name),
            })
            .collect()
    }

    /// The header as bytes.
    pub fn encoded(&self) -> Vec<u8> {
        let mut body = Vec::new();
        put_number(&mut body, self.fields.len() as u64);
        for (name, value) in &self.fields {
            put_bytes(&mut body, name.as_bytes());
            put_bytes(&mut body, value.as_bytes());
        }
        body
    }

    /// The header that these bytes are of, if they are of one.
    pub fn decoded(mut body: &[u8]) -> Option<Header> {
        let text = |body: &mut &[u8]| String::from_utf8(take_bytes(body)?.to_vec()).ok();
        let mut header = Header::new();
        for _ in 0..take_number(&mut body)? {
            header.fields.push((text(&mut body)?, text(&mut body)?));
        }
        body.is_empty().then_some(header)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_is_told() {
        let first = Header::new().with("program", "a.maz").with("version", "0.1.0").with("n", "3");
        let second = Header::new().with("program", "a.maz").with("version", "0.2.0").with("m", "4");
        let told: Vec<String> = first.differences(&second).iter().map(ToString::to_string).collect();
        assert_eq!(
            told,
            ["version: 0.1.0 there, 0.2.0 here", "n: 3 there, none here", "m: none there, 4 here"]
        );
        assert_eq!(first.differences(&first), []);
        assert_eq!(Header::decoded(&first.encoded()), Some(first));
    }
}
