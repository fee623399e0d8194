//! Where the database is, as a URL, and how to get there. Whatever is told of an address has no password.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use postgres::Config;
use postgres::config::{Host, SslMode};

/// The environment variable with the password, where the URL has none: `ps` shows what is on a command line.
const PASSWORD: &str = "PGPASSWORD";

/// A database, by its URL: `postgres://user@host/database`.
#[derive(Clone)]
pub struct Address {
    pub(crate) config: Config,
    pub(crate) trust: Trust,
}

/// Whether the other end has to show who it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Trust {
    /// It need not: what is said can't be read on the way, but who listens is not known.
    Anybody,
    /// By a certificate that the system's roots vouch for, or those of this file.
    Certified(Option<PathBuf>),
}

/// Why a text is no address. It never has the text, which may have a password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddressError(String);

impl fmt::Display for AddressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; an address is like postgres://user@host/database?sslmode=verify-full", self.0)
    }
}

impl std::error::Error for AddressError {}

impl Address {
    /// Whether a text is meant as one.
    pub fn is_meant(text: &str) -> bool {
        text.starts_with("postgres://") || text.starts_with("postgresql://")
    }
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Address, AddressError> {
        let refuse = |why: &str| AddressError(why.to_owned());
        if !Address::is_meant(text) {
            return Err(refuse("this is no URL of a PostgreSQL database"));
        }
        let (rest, query) = text.split_once('?').unwrap_or((text, ""));
        let (mut mode, mut roots, mut others) = ("prefer", None, Vec::new());
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                Some(("sslmode", value)) => mode = value,
                Some(("sslrootcert", file)) => roots = Some(PathBuf::from(decoded(file))),
                _ => others.push(pair),
            }
        }
        let url = format!("{rest}?{}", others.join("&"));
        let mut config: Config = url.parse().map_err(|_| refuse("this URL can't be read"))?;
        if config.get_hosts().is_empty() {
            return Err(refuse("this URL names no host"));
        }
        let (ssl, trust) = match (mode, roots) {
            ("disable", _) => (SslMode::Disable, Trust::Anybody),
            ("prefer", None) => (SslMode::Prefer, Trust::Anybody),
            ("require", None) => (SslMode::Require, Trust::Anybody),
            ("prefer" | "require" | "verify-full", roots) => (SslMode::Require, Trust::Certified(roots)),
            _ => return Err(refuse("sslmode is disable, prefer, require or verify-full")),
        };
        // Nobody listens in on a socket of this machine.
        let is_here = config.get_hosts().iter().all(|host| !matches!(host, Host::Tcp(_)));
        config.ssl_mode(if is_here { SslMode::Disable } else { ssl });
        if config.get_password().is_none()
            && let Ok(password) = std::env::var(PASSWORD)
        {
            config.password(password);
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(Duration::from_secs(10));
        }
        // A server that is gone without a word is noticed.
        config.keepalives_idle(Duration::from_secs(20)).tcp_user_timeout(Duration::from_secs(30));
        config.application_name("mazurka");
        Ok(Address { config, trust })
    }
}

/// A part of a URL, with its `%2F` and the like.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let code = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match code.filter(|_| first == b'%') {
            Some(code) => {
                bytes.push(code);
                rest = &after[2..];
            }
            None => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The URL without the password.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let config = &self.config;
        let user = config.get_user().map_or(String::new(), |user| format!("{user}@"));
        let port = config.get_ports().first().filter(|port| **port != 5432);
        let port = port.map_or(String::new(), |port| format!(":{port}"));
        let database = config.get_dbname().unwrap_or_default();
        match config.get_hosts().first() {
            Some(Host::Tcp(host)) => write!(f, "postgres://{user}{host}{port}/{database}"),
            #[cfg(unix)]
            Some(Host::Unix(path)) => {
                write!(f, "postgres://{user}{port}/{database}?host={}", path.display())
            }
            None => write!(f, "postgres://{user}/{database}"),
        }
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> Address {
        text.parse().unwrap()
    }

    #[test]
    fn a_password_is_never_told() {
        for text in [
            "postgres://me:s3cret@db.example/work?sslmode=require",
            "postgresql://me:s3cret@db.example:6000/work",
            "postgres://me:s3cret@/work?host=/run/sock",
        ] {
            let address = address(text);
            assert_eq!(address.config.get_password(), Some(&b"s3cret"[..]));
            assert!(!format!("{address} {address:?}").contains("s3cret"), "{address}");
        }
        for text in [
            "postgres://me:s3cret@db:port/x",
            "mysql://me:s3cret@db/x",
            "postgres://me:s3cret@db/x?sslmode=s3",
        ] {
            let wrong = text.parse::<Address>().unwrap_err();
            assert!(!format!("{wrong} {wrong:?}").contains("s3cret"), "{wrong}");
        }
    }

    #[test]
    fn who_must_show_a_certificate() {
        let roots = Trust::Certified(Some("/etc/my roots.pem".into()));
        for (query, mode, trust) in [
            ("", SslMode::Prefer, Trust::Anybody),
            ("?sslmode=disable", SslMode::Disable, Trust::Anybody),
            ("?sslmode=require", SslMode::Require, Trust::Anybody),
            ("?sslmode=verify-full", SslMode::Require, Trust::Certified(None)),
            ("?sslmode=verify-full&sslrootcert=/etc/my%20roots.pem", SslMode::Require, roots.clone()),
            ("?sslrootcert=/etc/my%20roots.pem&connect_timeout=5", SslMode::Require, roots),
        ] {
            let address = address(&format!("postgres://me@db/x{query}"));
            assert_eq!((address.config.get_ssl_mode(), address.trust), (mode, trust), "{query}");
        }
        assert!("postgres://me@db/x?sslmode=verify-ca".parse::<Address>().is_err());
    }
}
