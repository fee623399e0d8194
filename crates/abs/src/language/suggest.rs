//! "Did you mean": the word that a misspelled one is closest to.

use mazurka_syntax::distance;

/// Words longer than this are not compared: nobody misspells them by a letter or two, and the cost is a
/// square.
const LONGEST: usize = 40;
/// How many candidates are looked at.
const MOST: usize = 2000;

/// The candidate that a word was meant to be, if one is close enough.
pub(crate) fn closest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if word.is_empty() || word.len() > LONGEST {
        return None;
    }
    // Of short words almost any is close to any other.
    let allowed = match word.len() {
        1 => 0,
        2..=4 => 1,
        5..=8 => 2,
        _ => 3,
    };
    candidates
        .into_iter()
        .take(MOST)
        .filter(|candidate| *candidate != word && candidate.len() <= LONGEST)
        .filter(|candidate| candidate.len().abs_diff(word.len()) <= allowed.max(1))
        .map(|candidate| (distance(word, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= allowed || word.eq_ignore_ascii_case(candidate))
        .min()
        .map(|(_, candidate)| candidate)
}

/// "did you mean `x`?", if there is something close.
pub(crate) fn did_you_mean<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    closest(word, candidates).map(|candidate| format!("did you mean `{candidate}`?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspelled_words_are_recognised() {
        let words = ["length", "head", "tail", "Worker", "register", "ab"];
        for (word, expected) in [
            ("lenght", Some("length")),
            ("heda", Some("head")),
            ("worker", Some("Worker")),
            ("regster", Some("register")),
            ("ba", Some("ab")),
            ("x", None),
            ("zebra", None),
            ("", None),
        ] {
            assert_eq!(closest(word, words), expected, "{word}");
        }
    }
}
