//! "Did you mean": the word that a misspelled one is closest to.

/// Words longer than this are not compared: nobody misspells them by a letter or two, and the cost is a square.
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

/// The number of letters to insert, remove, replace or swap with a neighbour to get from one word to the other.
fn distance(a: &str, b: &str) -> usize {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut rows = [[0usize; LONGEST + 1]; 3];
    for (j, cell) in rows[0].iter_mut().enumerate() {
        *cell = j;
    }
    for i in 1..=a.len() {
        let [before, above, row] = [(i + 1) % 3, (i - 1) % 3, i % 3];
        rows[row][0] = i;
        for j in 1..=b.len() {
            let replace = rows[above][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replace.min(rows[above][j] + 1).min(rows[row][j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[before][j - 2] + 1);
            }
            rows[row][j] = best;
        }
    }
    rows[a.len() % 3][b.len()]
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
