//! "Did you mean": the word of the language that a misspelled one is closest to.

use mazurka_syntax::distance;

/// The words that begin declarations.
pub(super) const DECLARATIONS: &str = "param const var lock condvar process task commute";

/// The words that begin statements.
pub(super) const STATEMENTS: &str = "let if else while for break continue atomic assert assume await skip \
    spawn receive lock unlock try_lock wait notify_one notify_all join send choose fetch_add swap cas";

/// What other languages call things.
const OTHERS: &[(&str, &str)] = &[
    ("elif", "else if"),
    ("elsif", "else if"),
    ("elseif", "else if"),
    ("acquire", "lock"),
    ("release", "unlock"),
    ("signal", "notify_one"),
    ("broadcast", "notify_all"),
    ("notify", "notify_one"),
    ("exchange", "swap"),
    ("xchg", "swap"),
    ("compare_and_swap", "cas"),
    ("compare_exchange", "cas"),
    ("recv", "receive"),
    ("require", "assume"),
    ("nop", "skip"),
    ("pass", "skip"),
    ("yield", "skip"),
    ("thread", "process"),
    ("proc", "process"),
    ("proctype", "process"),
    ("int", "var"),
    ("mutex", "lock"),
    ("cond", "condvar"),
    ("fn", "task"),
    ("function", "task"),
];

/// The word of `candidates` that `word` may be meant for.
pub(super) fn closest(word: &str, candidates: &'static str) -> Option<&'static str> {
    // Longer than any word of the language by more than the distance allowed.
    if word.len() > 18 {
        return None;
    }
    let lower = word.to_lowercase();
    let foreign = OTHERS.iter().find(|(theirs, _)| *theirs == lower).map(|(_, ours)| *ours);
    if let Some(ours) =
        foreign.filter(|ours| ours.contains(' ') || candidates.split(' ').any(|word| word == *ours))
    {
        return Some(ours);
    }
    let allowed = match word.len() {
        0..=2 => 0,
        3..=5 => 1,
        _ => 2,
    };
    let near = candidates.split(' ').map(|candidate| (distance(&lower, candidate), candidate));
    near.filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, word)| word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspelled_words_are_recognised() {
        for (word, expected) in [
            ("asert", Some("assert")),
            ("whlie", Some("while")),
            ("Lock", Some("lock")),
            ("unlcok", Some("unlock")),
            ("fetchadd", Some("fetch_add")),
            ("elif", Some("else if")),
            ("mutex", Some("lock")),
            ("x", None),
            ("counter", None),
            ("", None),
        ] {
            assert_eq!(closest(word, STATEMENTS), expected, "{word}");
        }
        assert_eq!(closest("porcess", DECLARATIONS), Some("process"));
        assert_eq!(closest("vra", DECLARATIONS), Some("var"));
    }
}
