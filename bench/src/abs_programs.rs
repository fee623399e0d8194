//! The programs of `bench/abs`, of any size.
//!
//! A program of a size is either that size or an error: never another size.

use std::fmt::Write;

/// No size is larger: the text of a program grows with it.
const LARGEST: u32 = 10_000;

/// How a program is made larger or smaller.
enum Sizes {
    /// There is only one.
    None,
    /// The variable `n` of the main block.
    N,
    /// The same, and a list of inputs as long, which begins like this and goes on with larger and larger
    /// numbers.
    Inputs(&'static [u32]),
    /// A line a writer.
    Writers,
    /// A number, and how much of it one object takes on itself.
    Factorial,
}

struct Family {
    name: &'static str,
    text: &'static str,
    sizes: Sizes,
}

macro_rules! family {
    ($name:literal, $sizes:expr) => {
        Family { name: $name, text: include_str!(concat!("../abs/", $name, ".abs")), sizes: $sizes }
    };
}

const FAMILIES: [Family; 18] = [
    family!("bb", Sizes::N),
    family!("cav18", Sizes::None),
    family!("db1", Sizes::None),
    family!("dbp", Sizes::N),
    family!("fact", Sizes::Factorial),
    family!("fib", Sizes::N),
    family!("fr", Sizes::N),
    family!("fra", Sizes::N),
    family!("lam", Sizes::None),
    family!("lw", Sizes::Writers),
    family!("mapred", Sizes::None),
    family!("msort", Sizes::Inputs(&[7, 2, 5, 1, 3, 9, 0, 4, 8, 6, 10, 11, 15, 14, 13, 12])),
    family!("pi", Sizes::N),
    family!("psort", Sizes::Inputs(&[7, 11, 6, 5, 9, 3])),
    family!("qsort", Sizes::N),
    family!("reg", Sizes::N),
    family!("running", Sizes::None),
    family!("sdn", Sizes::None),
];

/// The text of a program of a size.
///
/// # Errors
/// If there is no such program, or it can't be of that size.
pub fn program(name: &str, sizes: &[u32]) -> Result<String, String> {
    let Some(family) = FAMILIES.iter().find(|family| family.name == name) else {
        let names: Vec<&str> = FAMILIES.iter().map(|family| family.name).collect();
        return Err(format!("there is no program {name}; there are {}", names.join(", ")));
    };
    if let Some(wrong) = sizes.iter().find(|size| !(1..=LARGEST).contains(*size)) {
        return Err(format!("{name} can't be of size {wrong}: sizes are from 1 to {LARGEST}"));
    }
    let text = family.text;
    match (&family.sizes, sizes) {
        (Sizes::None, []) => Ok(text.to_owned()),
        (Sizes::None, _) => Err(format!("{name} has no size")),
        (Sizes::N, &[n]) => with_n(text, n),
        (Sizes::Inputs(first), &[n]) => with_inputs(&with_n(text, n)?, &inputs(first, n)),
        (Sizes::Writers, &[n]) => writers(text, n),
        (Sizes::Factorial, &[n, most]) => {
            let text = between(text, "new FactImp(null, ", ");", &most.to_string())?;
            between(&text, "f!fact(", ");", &n.to_string())
        }
        (Sizes::Factorial, _) => Err(format!("{name} has two sizes: {name} 5 2, say")),
        _ => Err(format!("{name} has one size: {name} 4, say")),
    }
}

fn with_n(text: &str, n: u32) -> Result<String, String> {
    between(text, "\n  Int n = ", ";", &n.to_string())
}

/// A text with what stands between two parts of it replaced; the last place of that kind, which is in the
/// main block.
fn between(text: &str, before: &str, after: &str, new: &str) -> Result<String, String> {
    let place = text.rfind(before).map(|at| at + before.len());
    let ends = place.and_then(|from| Some((from, from + text[from..].find(after)?)));
    let (from, to) = ends.ok_or_else(|| format!("the program has no place {before:?}"))?;
    Ok(format!("{}{new}{}", &text[..from], &text[to..]))
}

/// A list of `n` different numbers, in pieces: lists are nested as deeply as they are long.
fn inputs(first: &[u32], n: u32) -> String {
    let largest = first.iter().copied().max().unwrap_or(0);
    let all: Vec<u32> = first.iter().copied().chain(largest + 1..).take(n as usize).collect();
    let mut pieces = all.chunks(PIECE).map(|piece| {
        let piece: Vec<String> = piece.iter().map(u32::to_string).collect();
        format!("list[{}]", piece.join(", "))
    });
    let first = pieces.next().unwrap_or_default();
    pieces.fold(first, |before, piece| format!("concatenate({before}, {piece})"))
}

/// How long a list is that is written down.
const PIECE: usize = 50;

/// The program with another list that it takes its inputs from.
fn with_inputs(text: &str, inputs: &str) -> Result<String, String> {
    let (before, after) = ("takeN(n, ", "])");
    let from = text.rfind(before).map(|at| at + before.len());
    let ends = from.and_then(|from| Some((from, from + text[from..].find(after)? + 1)));
    let (from, to) = ends.ok_or_else(|| format!("the program has no place {before:?}"))?;
    Ok(format!("{}{inputs}{}", &text[..from], &text[to..]))
}

/// The task that starts `n` writers and awaits them all.
fn writers(text: &str, n: u32) -> Result<String, String> {
    let mut body = String::new();
    for i in 1..=n {
        // Writing to a string does not fail.
        let _ = write!(body, "\n    Fut<Unit> f{i} = this!write({i});");
    }
    let guard: Vec<String> = (1..=n).map(|i| format!("f{i}?")).collect();
    let text = between(
        text,
        "Unit start() {",
        "\n    assert",
        &format!("{body}\n    await {};", guard.join(" & ")),
    )?;
    Ok(text.replacen(", here n = 3:", &format!(", here n = {n}:"), 1))
}
