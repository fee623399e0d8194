//! The standards that a program is compiled for, and what they say of release sequences.
//!
//! A store that releases, and is read by one that acquires, orders what came before the one with what comes
//! after the other. In C, and in C++ before C++20, that holds too if the value that is read was stored later,
//! by the same thread, without release: such a store continues the release sequence. C++20 took it out
//! (P0982); C has kept it, as far as we know: C23 counts as C, which can hide a race and invent none. Which
//! standard a compiler follows, it says itself: by the macros that it defines. They are kept in the object,
//! for who runs it.

use std::fmt;

use super::compile::Language;

/// Where the standards are in an object.
pub const SECTION: &str = ".mazurka.standards";

/// What a file was compiled for: a language, and the number that the compiler has for its version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Standard {
    language: Language,
    version: u32,
}

/// The first version of C++ in which stores of the same thread end a release sequence.
const CXX20: u32 = 202_002;

impl Standard {
    /// From the macros that a compiler defines, as it prints them.
    pub fn of_macros(language: Language, macros: &str) -> Option<Standard> {
        let name = match language {
            Language::C => "__STDC_VERSION__",
            Language::Cxx => "__cplusplus",
        };
        let mut values = macros.lines().filter_map(|line| line.strip_prefix("#define ")?.split_once(' '));
        let value = values.rfind(|(macro_name, _)| *macro_name == name);
        let version = match (value, language) {
            (Some((_, value)), _) => value.trim().trim_end_matches(['L', 'l']).parse().ok()?,
            // C of 1990 has no such macro.
            (None, Language::C) => 199_000,
            (None, Language::Cxx) => return None,
        };
        Some(Standard { language, version })
    }

    fn own_stores_continue(self) -> bool {
        self.language == Language::C || self.version < CXX20
    }

    /// The text of the assembler that keeps standards in an object.
    pub fn keep(standards: &[Standard]) -> String {
        let lines: Vec<String> =
            standards.iter().map(|it| format!("{} {}\\n", it.language as u32, it.version)).collect();
        format!("\t.section {SECTION},\"\",@progbits\n\t.ascii \"{}\"\n", lines.concat())
    }

    /// The standards that were kept so.
    pub fn kept(text: &str) -> Vec<Standard> {
        let line = |line: &str| {
            let (language, version) = line.split_once(' ')?;
            let language = if language == "0" { Language::C } else { Language::Cxx };
            Some(Standard { language, version: version.parse().ok()? })
        };
        text.lines().filter_map(line).collect()
    }
}

impl fmt::Display for Standard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Standard { language, version } = *self;
        let name = if language == Language::C { "C" } else { "C++" };
        let year = match (language, version) {
            (Language::C, ..199_901) => 90,
            (Language::C, ..201_112) => 99,
            (Language::C, ..201_710) => 11,
            (Language::C, 201_710) => 17,
            (Language::C, ..=202_311) => 23,
            (Language::Cxx, ..201_103) => 98,
            (Language::Cxx, ..201_402) => 11,
            (Language::Cxx, ..201_703) => 14,
            (Language::Cxx, 201_703) => 17,
            (Language::Cxx, ..=202_002) => 20,
            (Language::Cxx, ..=202_302) => 23,
            _ => return write!(f, "{name} after 23"),
        };
        write!(f, "{name}{year}")
    }
}

/// What continues a release sequence besides operations that read and write at once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReleaseSequences {
    /// Of all files of the program, each once.
    standards: Vec<Standard>,
}

impl ReleaseSequences {
    /// For a program with files of these standards.
    pub fn of(mut standards: Vec<Standard>) -> ReleaseSequences {
        standards.sort_unstable();
        standards.dedup();
        ReleaseSequences { standards }
    }

    /// Whether a store of the thread that released does. Where files differ it does, so that no race is told
    /// that one of them rules out.
    pub fn own_stores_continue(&self) -> bool {
        self.standards.is_empty() || self.standards.iter().any(|standard| standard.own_stores_continue())
    }
}

impl fmt::Display for ReleaseSequences {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = if self.own_stores_continue() { "continues" } else { "ends" };
        let names: Vec<String> = self.standards.iter().map(Standard::to_string).collect();
        write!(f, "a relaxed store {verb} the release sequence of its own thread")?;
        if !names.is_empty() {
            write!(f, ", as in {}", names.join(" and "))?;
        }
        let differs = self.standards.iter().any(|standard| !standard.own_stores_continue());
        if self.own_stores_continue() && differs {
            f.write_str(", of which not all say so: a race that only some of them know is not reported")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standard(language: Language, version: &str) -> Standard {
        let macros = format!(
            "#define __STDC__ 1\n#define __STDC_VERSION__ {version}\n#define __cplusplus {version}\n"
        );
        Standard::of_macros(language, &macros).unwrap()
    }

    #[test]
    fn standards_are_told_and_kept() {
        let all = [
            (standard(Language::C, "201112L"), "C11", true),
            (standard(Language::C, "201710L"), "C17", true),
            (standard(Language::C, "202000L"), "C23", true),
            (standard(Language::C, "202311L"), "C23", true),
            (standard(Language::Cxx, "201703L"), "C++17", true),
            (standard(Language::Cxx, "202002L"), "C++20", false),
            (standard(Language::Cxx, "202302L"), "C++23", false),
            (Standard::of_macros(Language::C, "").unwrap(), "C90", true),
        ];
        for (standard, name, continues) in all {
            assert_eq!(standard.to_string(), name);
            assert_eq!(ReleaseSequences::of(vec![standard]).own_stores_continue(), continues, "{name}");
        }
        assert_eq!(Standard::of_macros(Language::Cxx, ""), None);
        let two = [all[1].0, all[5].0];
        let text = Standard::keep(&two);
        let quoted = text.split('"').nth(3).unwrap().replace("\\n", "\n");
        assert_eq!(Standard::kept(&quoted), two);
    }

    #[test]
    fn where_files_differ_no_race_is_told_that_one_rules_out() {
        let both = vec![standard(Language::Cxx, "202002L"), standard(Language::C, "201710L")];
        let rule = ReleaseSequences::of(both);
        assert!(rule.own_stores_continue());
        assert!(rule.to_string().contains("as in C17 and C++20, of which not all say so"), "{rule}");
    }
}
