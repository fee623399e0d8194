//! Texts that are hardly programs of ABS: whatever they say, they are accepted or refused, in good time and
//! with a place.
//!
//! Texts are made of known programs, right ones and wrong ones, by changing characters, tokens and lines.
//! What is accepted must be a well-formed model: every number in it stands for something, every place is in a
//! file.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use mazurka_abs::{Dialect, Options, Source, compile, files, place, render};

use crate::abs_well_formed::well_formed;
use crate::campaign::{Broken, Checked, FuzzProgram, FuzzTarget, Outcome};
use crate::random::Random;

/// No text of the size of these takes longer.
const LONGEST: Duration = Duration::from_secs(5);
/// Texts that have grown larger than this are left as they are.
const LARGEST: usize = 20_000;

/// What texts are made of.
#[derive(Clone, Debug, Default)]
pub struct Corpus {
    /// Programs.
    pub right: Vec<String>,
    /// Texts that are no programs.
    pub wrong: Vec<String>,
}

/// Texts that may be no programs: one that is accepted holds, one that is refused is unfit.
#[derive(Debug, Default)]
pub struct AbsTexts {
    /// What they are made of.
    pub corpus: Corpus,
    /// All errors that were reported.
    errors: AtomicU64,
}

impl AbsTexts {
    /// Texts made of these.
    pub fn of(corpus: Corpus) -> AbsTexts {
        AbsTexts { corpus, errors: AtomicU64::new(0) }
    }
}

/// What is said of a text that was refused with a place.
pub const REFUSED: &str = "refused";

impl FuzzProgram for (String, Options) {
    fn text(&self) -> String {
        self.0.clone()
    }
}

impl FuzzTarget for AbsTexts {
    type Program = (String, Options);
    const CLEAN: &'static str = "nothing wrong";
    const BROKEN: &'static str = "WRONG: text";

    fn draw(&self, _: u64, random: &mut Random) -> (Self::Program, bool) {
        let text = mutant(&self.corpus, random);
        ((text, options(&self.corpus, random)), true)
    }

    fn check(&self, (text, options): &Self::Program, _: u64) -> Checked {
        let start = Instant::now();
        let result = catch_unwind(AssertUnwindSafe(|| check(text, options)));
        let time = start.elapsed();
        let wrong = match result {
            Ok(Ok(errors)) if time <= LONGEST => {
                self.errors.fetch_add(errors as u64, Relaxed);
                return if errors == 0 { Checked::Holds(0) } else { Checked::Unfit(REFUSED) };
            }
            Ok(Ok(_)) => format!("it took {time:?}"),
            Ok(Err(wrong)) => wrong,
            Err(_) => "a panic".to_owned(),
        };
        Checked::Breaks(Broken::law(wrong))
    }

    fn summary(&self, outcome: &Outcome<Self::Program>) -> String {
        format!(
            "{} texts accepted, {} refused with {} errors, in {:.1} s, the slowest in {} ms",
            outcome.held,
            outcome.programs() - outcome.held,
            self.errors.load(Relaxed),
            outcome.time.as_secs_f64(),
            outcome.slowest.as_millis()
        )
    }

    fn options(&self) -> String {
        " --abs-text".to_owned()
    }
}

/// The benchmarks, the standard library, and what the tests have.
///
/// # Panics
/// If they can't be read: they are part of the checkout.
pub fn corpus() -> Corpus {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let read = |path: &Path| std::fs::read_to_string(path).expect("part of the checkout");
    let mut paths: Vec<_> = std::fs::read_dir(root.join("bench/abs"))
        .expect("part of the checkout")
        .map(|file| file.expect("a readable file").path())
        .collect();
    paths.sort();
    let mut right: Vec<String> = paths.iter().map(|path| read(path)).collect();
    right.push(read(&root.join("crates/abs/tests/language/features.abs")));
    // Under another name, it is a text like any other.
    let mut wrong = vec![read(&root.join("crates/abs/src/stdlib.abs")).replace("ABS.", "Own.")];
    for name in ["syntax", "scope", "types", "modules", "refusals"] {
        let cases = read(&root.join(format!("crates/abs/tests/language/{name}.txt")));
        let programs = cases.split("=== ").filter_map(|case| {
            let (_, rest) = case.split_once('\n')?;
            rest.split_once("\n---\n").map(|(program, _)| program.to_string())
        });
        wrong.extend(programs);
    }
    Corpus { right, wrong }
}

/// The number of errors of a text, or what is wrong with the answer.
fn check(text: &str, options: &Options) -> Result<usize, String> {
    let sources = [Source { name: "t.abs".to_string(), text: text.to_string() }];
    let errors = match compile(&sources, options) {
        Ok(model) => return well_formed(&model).map(|()| 0),
        Err(errors) => errors,
    };
    if errors.is_empty() {
        return Err("refused without an error".to_string());
    }
    let files = files(&sources, options);
    for error in &errors {
        let places = std::iter::once(error.span).chain(error.also.as_ref().map(|(span, _)| *span));
        for span in places {
            let Some(file) = files.get(span.file as usize) else {
                return Err(format!("no file {}: {error:?}", span.file));
            };
            let (start, end) = (span.start as usize, span.end as usize);
            let inside = start <= end && end <= file.text.len();
            if !inside || !file.text.is_char_boundary(start) || !file.text.is_char_boundary(end) {
                return Err(format!("not a place: {error:?}"));
            }
            let (line, column) = place(file, span);
            if line == 0 || column == 0 {
                return Err(format!("no line or column: {error:?}"));
            }
        }
        if error.span.file == 0 || error.message.is_empty() {
            return Err(format!("an error of the library: {error:?}"));
        }
    }
    if render(&errors, &files, false).is_empty() {
        return Err("nothing is said".to_string());
    }
    Ok(errors.len())
}

fn options(corpus: &Corpus, random: &mut Random) -> Options {
    let dialect = match random.below(8) {
        0 => Some(Dialect::Legacy),
        1 => Some(Dialect::Current),
        _ => None,
    };
    let mut parameters = Vec::new();
    if random.one_in(10) {
        let text = corpus.pick(random);
        let tokens = tokens(&text);
        let from = random.below(tokens.len());
        let to = (from + 1 + random.below(4)).min(tokens.len());
        parameters.push(("n".to_string(), tokens[from.min(to)..to].join(" ")));
    }
    Options { dialect, parameters }
}

impl Corpus {
    fn pick(&self, random: &mut Random) -> String {
        let part = if random.one_in(4) { &self.wrong } else { &self.right };
        random.pick(part).cloned().unwrap_or_default()
    }
}

/// A text made of one of the corpus, and parts of others. Every other one is changed only a little, so that
/// some of them are programs still.
pub fn mutant(corpus: &Corpus, random: &mut Random) -> String {
    let mut text = corpus.pick(random);
    if random.one_in(2) {
        for _ in 0..1 + random.below(3) {
            text = exchange(&text, random);
        }
        return text;
    }
    for _ in 0..1 + random.below(4) {
        if text.len() > LARGEST {
            break;
        }
        let other = corpus.pick(random);
        text = match random.below(10) {
            0 | 1 => change_character(&text, random),
            2..=6 => change_token(&text, &other, random),
            _ => change_line(&text, &other, random),
        };
    }
    text
}

/// Puts a token in the place of one of its kind, both of the same text.
fn exchange(text: &str, random: &mut Random) -> String {
    let kind = |token: &str| match token.chars().next() {
        Some(first) if first.is_ascii_digit() => 0,
        Some(first) if first.is_ascii_lowercase() => 1,
        Some(first) if first.is_ascii_uppercase() => 2,
        Some(first) if "+-*/%<>=&|".contains(first) => 3,
        _ => 4,
    };
    let mut parts = tokens(text);
    let at = random.below(parts.len());
    let like: Vec<&str> = parts.iter().copied().filter(|part| kind(part) == kind(parts[at])).collect();
    parts[at] = like[random.below(like.len())];
    parts.concat()
}

fn change_character(text: &str, random: &mut Random) -> String {
    const STRANGE: [char; 16] =
        ['\0', '"', '`', '$', '\\', '\n', '{', '}', '(', ')', '<', '/', '*', 'é', '∧', '\u{10ffff}'];
    let at = text.floor_char_boundary(random.below(text.len() + 1));
    let (before, after) = text.split_at(at);
    let strange = random.pick(&STRANGE).copied().unwrap_or('?');
    let mut rest = after.chars();
    match random.below(4) {
        0 => {
            rest.next();
            format!("{before}{}", rest.as_str())
        }
        1 => {
            rest.next();
            format!("{before}{strange}{}", rest.as_str())
        }
        2 => format!("{before}{strange}{after}"),
        // The end is missing.
        _ => before.to_string(),
    }
}

/// The tokens of a text, roughly, with the layout between them.
fn tokens(text: &str) -> Vec<&str> {
    let kind = |character: char| match character {
        _ if character.is_alphanumeric() || character == '_' => 0,
        _ if character.is_whitespace() => 1,
        _ => 2,
    };
    let mut tokens = Vec::new();
    let mut start = 0;
    let mut previous = None;
    for (at, character) in text.char_indices() {
        let current = kind(character);
        if at > 0 && (previous != Some(current) || current == 2) {
            tokens.push(&text[start..at]);
            start = at;
        }
        previous = Some(current);
    }
    tokens.push(&text[start..]);
    tokens
}

fn change_token(text: &str, other: &str, random: &mut Random) -> String {
    let mut parts = tokens(text);
    let at = random.below(parts.len());
    let foreign = tokens(other);
    match random.below(7) {
        0 => {
            parts.remove(at);
        }
        1 => parts.insert(at, parts[at]),
        2 => {
            let with = random.below(parts.len());
            parts.swap(at, with);
        }
        3 => parts[at] = foreign[random.below(foreign.len())],
        4 => parts.insert(at, foreign[random.below(foreign.len())]),
        5 => parts[at] = parts[random.below(parts.len())],
        _ => {
            // The same again and again nests, if anything does.
            let end = (at + 1 + random.below(6)).min(parts.len());
            let repeated: Vec<&str> = parts[at..end].to_vec();
            for _ in 0..random.below(300) {
                parts.splice(at..at, repeated.iter().copied());
            }
        }
    }
    parts.concat()
}

fn change_line(text: &str, other: &str, random: &mut Random) -> String {
    let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
    if lines.is_empty() {
        return other.to_string();
    }
    let at = random.below(lines.len());
    let foreign: Vec<&str> = other.split_inclusive('\n').collect();
    let from = random.below(foreign.len());
    let to = (from + 1 + random.below(8)).min(foreign.len());
    match random.below(5) {
        0 => {
            lines.remove(at);
        }
        1 => lines.insert(at, lines[at]),
        2 => {
            let with = random.below(lines.len());
            lines.swap(at, with);
        }
        3 => {
            lines.splice(at..at, foreign[from.min(to)..to].iter().copied());
        }
        // Another module behind it.
        _ => return format!("{text}\n{other}"),
    }
    lines.concat()
}
