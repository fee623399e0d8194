//! What a solver says, read: just enough of SMT-LIB's brackets for values of variables.

use std::collections::BTreeMap;

use crate::Var;

/// How many brackets are opened and not closed.
pub(crate) fn opened(text: &str) -> i64 {
    let count = |bracket| text.bytes().filter(|&byte| byte == bracket).count() as i64;
    count(b'(') - count(b')')
}

/// The variables and their values of `((v0 1) (v1 (- 2)))`; none if it is something else.
pub(crate) fn values(text: &str) -> Option<BTreeMap<Var, i128>> {
    let spaced = text.replace('(', " ( ").replace(')', " ) ");
    let mut words = spaced.split_whitespace().peekable();
    let mut values = BTreeMap::new();
    expect(&mut words, "(")?;
    while words.peek() == Some(&"(") {
        words.next();
        let var = words.next()?.strip_prefix('v')?.parse().ok()?;
        let value = match words.next()? {
            "(" => {
                expect(&mut words, "-")?;
                // The sign comes with the digits, for the least number has no contrary.
                let value = format!("-{}", words.next()?).parse().ok()?;
                expect(&mut words, ")")?;
                value
            }
            digits => digits.parse().ok()?,
        };
        expect(&mut words, ")")?;
        values.insert(Var(var), value);
    }
    expect(&mut words, ")")?;
    words.next().is_none().then_some(values)
}

fn expect<'a>(words: &mut impl Iterator<Item = &'a str>, word: &str) -> Option<()> {
    (words.next()? == word).then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_and_nonsense() {
        let known = values("((v0 1) (v12 (- 5)))").unwrap();
        assert_eq!(known, BTreeMap::from([(Var(0), 1), (Var(12), -5)]));
        for nonsense in ["", "(", "((x 1))", "((v0 one))", "((v0 1)", "((v0 1)) more", "(error \"v0\")"] {
            assert_eq!(values(nonsense), None, "{nonsense}");
        }
        assert_eq!((opened("sat"), opened("((v0 1)\n(v1 2))"), opened("((v0 1)")), (0, 0, 1));
    }
}
