//! As much of C++'s mangled names as tells what a thread runs.

use crate::driver::readable;

/// The type that a mangled text begins with, if it is that of a callable object: a lambda, or a class.
pub(crate) fn callable(mangled: &str) -> Option<String> {
    let mut rest = mangled;
    // References to one are as good.
    while let Some(inner) = rest.strip_prefix(['R', 'O', 'K']) {
        rest = inner;
    }
    if let Some(local) = rest.strip_prefix('Z') {
        return lambda(local);
    }
    let is_name = rest.starts_with(|first: char| first == 'N' || first.is_ascii_digit());
    if is_name { demangled(rest) } else { None }
}

/// A name within a mangled one, if it can be read.
fn demangled(name: &str) -> Option<String> {
    let prefix = if name.starts_with('N') { "_Z" } else { "_ZN" };
    Some(readable(&format!("{prefix}{name}"))).filter(|name| !name.starts_with("_Z"))
}

/// A lambda of a function: `4mainEUlvE_` is the first of `main`, `4mainEUlvE0_` the second; clang has
/// `4mainE3$_0` and `4mainE3$_1`.
fn lambda(local: &str) -> Option<String> {
    let (function, number) = match local.split_once("EUl") {
        Some((function, rest)) => {
            let (_, number) = rest.split_once('E')?;
            (function, leading(number).map_or(1, |number| number.saturating_add(2)))
        }
        None => {
            let (before, rest) = local.split_once("$_")?;
            let function = before.trim_end_matches(|c: char| c.is_ascii_digit()).strip_suffix('E')?;
            (function, leading(rest)?.saturating_add(1))
        }
    };
    let name = demangled(function)?;
    Some(match number {
        1 => format!("lambda of {name}"),
        number => format!("lambda {number} of {name}"),
    })
}

/// The number that a text begins with.
fn leading(text: &str) -> Option<u64> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text[..end].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_threads_run() {
        for (mangled, name) in [
            ("Z4mainEUlvE_EEEEEE", Some("lambda of main")),
            ("Z4mainEUlvE0_EEEEEE", Some("lambda 2 of main")),
            ("ZN5queue4pushEiEUliE_iEEEEE", Some("lambda of queue::push")),
            ("Z7scatterRSt6vectorIiSaIiEEEUlvE1_EE", Some("lambda 3 of scatter")),
            ("Z4mainE3$_0EEEEE", Some("lambda of main")),
            ("ZN5queue4pushEiE4$_10EEEEE", Some("lambda 11 of queue::push")),
            ("7CounterEEEEE", Some("Counter")),
            ("N3one7CounterEEEEEE", Some("one::Counter")),
            ("PFviEiEEEEE", None),
            ("", None),
            ("99x", None),
        ] {
            assert_eq!(callable(mangled).as_deref(), name, "{mangled}");
        }
    }
}
