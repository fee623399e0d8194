//! The parameters of a program, which may be given before `--` and after it, and their ranges: each value, or
//! each combination of values, is a program of its own.

use mazurka_report::Parameters;

use crate::error::CommandError;
use crate::front_end::{FRONT_ENDS, FrontEnd};

/// No more programs are compared in one go.
const MOST_PROGRAMS: usize = 1000;

/// The option of a front end that has parameters.
const OPTION: &str = "--param";

/// One program: its parameters, and the options of its front end, which have them too.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Instance {
    /// What goes to the front end.
    pub options: Vec<String>,
    /// The parameters among that.
    pub parameters: Parameters,
}

/// The options of the front end for the one program that is meant.
pub fn one_program(
    front_end: &dyn FrontEnd,
    before: &[String],
    after: &[String],
) -> Result<Vec<String>, CommandError> {
    let instances = instances(front_end, before, after)?;
    match <[Instance; 1]>::try_from(instances) {
        Ok([Instance { options, .. }]) => Ok(options),
        Err(many) => Err(CommandError::input(format!(
            "--param has several values, which make {} programs; check is for one of them, compare for all",
            many.len()
        ))),
    }
}

/// The programs that are meant by parameters from before `--` and by what came after it: one for each
/// combination of values, of which those of the last parameter change first.
pub fn instances(
    front_end: &dyn FrontEnd,
    before: &[String],
    after: &[String],
) -> Result<Vec<Instance>, CommandError> {
    if !has_parameters(front_end) {
        refuse_ranges_of_macros(after)?;
        let plain = Instance { options: after.to_vec(), ..Instance::default() };
        return if before.is_empty() { Ok(vec![plain]) } else { Err(no_parameters()) };
    }
    let before = before.iter().cloned().map(Word::Parameter);
    let mut instances = vec![Instance::default()];
    for word in before.chain(words(after)) {
        match word {
            Word::Other(word) => {
                instances.iter_mut().for_each(|instance| instance.options.push(word.clone()));
            }
            Word::Parameter(text) => instances = with_parameter(&instances, &text)?,
        }
    }
    Ok(instances)
}

/// A word, or two that belong together.
enum Word {
    /// What a parameter is said to be.
    Parameter(String),
    /// Whatever else.
    Other(String),
}

fn words(after: &[String]) -> Vec<Word> {
    let mut words = Vec::new();
    let mut left = after.iter();
    while let Some(word) = left.next() {
        let text = match word == OPTION {
            true => left.next(),
            false => None,
        };
        words.push(match (text, word.strip_prefix(OPTION).and_then(|rest| rest.strip_prefix('='))) {
            (Some(text), _) => Word::Parameter(text.clone()),
            (None, Some(text)) => Word::Parameter(text.to_owned()),
            (None, None) => Word::Other(word.clone()),
        });
    }
    words
}

/// Each of some programs with each value of one more parameter.
fn with_parameter(instances: &[Instance], text: &str) -> Result<Vec<Instance>, CommandError> {
    let refuse = |why: String| CommandError::input(format!("{OPTION} {text}: {why}"));
    let with = |name: &str, value: &str, instance: &Instance| {
        let mut instance = instance.clone();
        instance.options.extend([OPTION.to_owned(), format!("{name}={value}")]);
        instance.parameters.push((name.to_owned(), value.to_owned()));
        instance
    };
    let Some((name, list)) = text.split_once('=') else {
        // What is wrong with it the front end tells.
        let mut instances = instances.to_vec();
        instances.iter_mut().for_each(|it| it.options.extend([OPTION.to_owned(), text.to_owned()]));
        return Ok(instances);
    };
    let values = values(list).map_err(refuse)?;
    if values.len().saturating_mul(instances.len()) > MOST_PROGRAMS {
        return Err(refuse(format!("there are more than {MOST_PROGRAMS} programs to compare")));
    }
    let each = |instance| values.iter().map(move |value| with(name.trim(), value, instance));
    Ok(instances.iter().flat_map(each).collect())
}

/// The values that a text lists: `2..7`, `2,4,8`; else it is the one value, whatever that may be.
fn values(text: &str) -> Result<Vec<String>, String> {
    let ranges: Option<Vec<(i64, i64)>> = text.split(',').map(|part| range(part.trim())).collect();
    let Some(ranges) = ranges.filter(|_| text.contains([',', '.'])) else {
        return Ok(vec![text.trim().to_owned()]);
    };
    let mut values: Vec<String> = Vec::new();
    for (first, last) in ranges {
        if first > last {
            return Err(format!("there is nothing from {first} to {last}; the smaller end comes first"));
        }
        // One more than may be is enough to be refused.
        let some = (first..=last).take(MOST_PROGRAMS + 1).map(|value| value.to_string());
        for value in some {
            if !values.contains(&value) {
                values.push(value);
            }
        }
    }
    Ok(values)
}

/// A whole number, or two with dots between: the first and the last of a range.
fn range(text: &str) -> Option<(i64, i64)> {
    match text.split_once("..") {
        Some((first, last)) => {
            let last = last.strip_prefix('=').unwrap_or(last);
            Some((first.trim().parse().ok()?, last.trim().parse().ok()?))
        }
        None => text.parse().ok().map(|value| (value, value)),
    }
}

fn has_parameters(front_end: &dyn FrontEnd) -> bool {
    front_end.options().get_arguments().any(|option| option.get_long() == OPTION.strip_prefix("--"))
}

/// A macro with a range for a value would be what no program means: it is no number of C.
fn refuse_ranges_of_macros(after: &[String]) -> Result<(), CommandError> {
    let is_range = |word: &&String| {
        let value = word.trim_start_matches("-D").split_once('=').map(|definition| definition.1);
        value.is_some_and(|list| list.contains("..") && list.split(',').all(|part| range(part).is_some()))
    };
    let macros = after
        .iter()
        .enumerate()
        .filter(|(at, word)| word.starts_with("-D") || (*at > 0 && after[at - 1] == "-D"));
    match macros.map(|(_, word)| word).find(is_range) {
        None => Ok(()),
        Some(word) => Err(CommandError::unsupported(format!(
            "{word}: C and C++ are compared with one value of a macro at a time; ranges are for {OPTION}"
        ))),
    }
}

fn no_parameters() -> CommandError {
    let kinds = FRONT_ENDS.iter().filter(|front_end| has_parameters(**front_end));
    let kinds: Vec<String> = kinds.map(|front_end| format!(".{}", front_end.extensions()[0])).collect();
    CommandError::unsupported(format!(
        "{OPTION} is for {} programs; C and C++ take macros instead, after --: -- -DNAME=VALUE",
        kinds.join(" and ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{abs, litmus, native};

    fn strings(words: &[&str]) -> Vec<String> {
        words.iter().map(|&word| word.to_owned()).collect()
    }

    #[test]
    fn lists_and_ranges_have_their_values() {
        for (text, expected) in [
            ("5", &["5"][..]),
            ("05", &["05"]),
            (" x ", &["x"]),
            ("list[1,2]", &["list[1,2]"]),
            ("2..x", &["2..x"]),
            ("2..4", &["2", "3", "4"]),
            ("2..=4", &["2", "3", "4"]),
            ("-1 .. 1", &["-1", "0", "1"]),
            ("8,2,4", &["8", "2", "4"]),
            ("1..3,2,10", &["1", "2", "3", "10"]),
            ("3..3", &["3"]),
        ] {
            assert_eq!(values(text).unwrap(), expected, "{text}");
        }
        assert_eq!(values("3..2").unwrap_err(), "there is nothing from 3 to 2; the smaller end comes first");
        assert_eq!(values("0..9223372036854775807").unwrap().len(), MOST_PROGRAMS + 1);
    }

    #[test]
    fn parameters_are_combined_the_last_first() {
        let after = strings(&["--dead-variables", "--param", "k=1,2"]);
        let all = instances(&litmus::FrontEnd, &strings(&["n=3..4"]), &after).unwrap();
        let told: Vec<String> = all.iter().map(|instance| instance.options.join(" ")).collect();
        assert_eq!(
            told,
            [
                "--param n=3 --dead-variables --param k=1",
                "--param n=3 --dead-variables --param k=2",
                "--param n=4 --dead-variables --param k=1",
                "--param n=4 --dead-variables --param k=2",
            ]
        );
        let parameter = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(all[1].parameters, [parameter("n", "3"), parameter("k", "2")]);
    }

    #[test]
    fn what_the_front_end_has_to_judge_is_left_as_it_is() {
        for after in [&["--param", "n"][..], &["--param"], &["--params", "n=1"], &["nonsense"]] {
            let after = strings(after);
            assert_eq!(one_program(&abs::FrontEnd, &[], &after).unwrap(), after);
        }
        // A compiler has an option of that name.
        let after = strings(&["--param", "max-unroll-times=2..3"]);
        assert_eq!(one_program(&native::FrontEnd, &[], &after).unwrap(), after);
        for after in [&["-DN=2..4"][..], &["-O1", "-D", "N=1..2,7"]] {
            let wrong = one_program(&native::FrontEnd, &[], &strings(after)).unwrap_err();
            assert!(wrong.message().ends_with("with one value of a macro at a time; ranges are for --param"));
        }
        let after = strings(&["-DLIST=1,2", "-DTEXT=a..b", "-D", "ON", "x=1..2"]);
        assert_eq!(one_program(&native::FrontEnd, &[], &after).unwrap(), after);
        let wrong = one_program(&native::FrontEnd, &strings(&["n=2"]), &[]).unwrap_err();
        assert_eq!(
            wrong.message(),
            "--param is for .maz and .abs programs; C and C++ take macros instead, after --: -- -DNAME=VALUE"
        );
    }

    #[test]
    fn too_many_programs_are_refused() {
        for before in [&["n=1..1001"][..], &["n=1..100", "k=1..100"], &["n=0..9223372036854775807"]] {
            let wrong = instances(&litmus::FrontEnd, &strings(before), &[]).unwrap_err();
            assert!(wrong.message().ends_with("there are more than 1000 programs to compare"));
        }
        let wrong = one_program(&litmus::FrontEnd, &strings(&["n=2..7"]), &[]).unwrap_err();
        assert_eq!(
            wrong.message(),
            "--param has several values, which make 6 programs; check is for one of them, compare for all"
        );
    }
}
