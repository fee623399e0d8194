//! Options of the user's that go to the compiler.

use super::BuildError;

/// Options whose argument is the next word.
const WITH_ARGUMENT: &str = "\
    -I -D -U -include -imacros -isystem -iquote -idirafter -isysroot --param -Xclang -Xpreprocessor";

/// Libraries that are linked anyway, or hold nothing that a checked program could use.
const KNOWN_LIBRARIES: &str = "-lm -lc -lpthread -pthread -lrt -ldl -lstdc++ -lgcc -lgcc_s";

/// Options that are about something else than how code is compiled, and what to say of them. They are told by
/// how they begin (`-oprogram`, `-MD`), but for these, which are whole words.
const WHOLE: &str = "-c -S -E";
const REFUSED: [(&str, &str); 12] = [
    ("-o", "the output is not kept"),
    (WHOLE, "the program is compiled and linked in any case"),
    ("-M", "no dependencies are written"),
    ("-x", "the language is known from the name of the file"),
    ("-fsanitize", "sanitizers can't be combined with the instrumentation that checking needs"),
    ("-fno-sanitize", "checking needs the instrumentation"),
    (
        "-shared -static -pie -no-pie -nostdlib -nodefaultlibs -nostartfiles -fuse-ld -Wl, -Xlinker",
        "how to link is up to mazurka",
    ),
    ("-L", "libraries can't be looked into; give their source files"),
    ("-flto", "the code has to be looked at file by file"),
    ("-m32 -mx32", "only 64-bit programs can be checked"),
    ("--target", "only programs for this machine can be checked"),
    ("-stdlib=libc++", "only libstdc++ is supported"),
];

/// Those of the user's options that the compiler is given; the rest are libraries that need not be named.
///
/// # Errors
/// If there is one that can't be honoured.
pub fn compiler_flags(words: &[String]) -> Result<Vec<String>, BuildError> {
    let mut flags = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if WITH_ARGUMENT.split(' ').any(|option| option == word) {
            flags.push(word.clone());
            flags.extend(words.next().cloned());
        } else if !KNOWN_LIBRARIES.split(' ').any(|library| library == word) {
            refusal(word).map_or(Ok(()), Err)?;
            flags.push(word.clone());
        }
    }
    Ok(flags)
}

fn refusal(word: &str) -> Option<String> {
    if !word.starts_with('-') {
        return Some(format!(
            "`{word}` after -- is no option; the program's files go before --, and compiled files or \
             libraries can't be looked into"
        ));
    }
    if word.starts_with("-l") {
        return Some(format!("`{word}`: libraries can't be looked into; give their source files"));
    }
    let is = |options: &str, option: &str| word.starts_with(option) && (options != WHOLE || word == option);
    let (_, why) =
        REFUSED.iter().find(|(options, _)| options.split(' ').any(|option| is(options, option)))?;
    Some(format!("`{word}` can't be used here: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(words: &[&str]) -> Result<Vec<String>, String> {
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        compiler_flags(&words).map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_for_the_compiler_stays() {
        let told =
            flags(&["-DN=5", "-I", "include", "-std=c11", "-lm", "-pthread", "-O2", "-D", "M"]).unwrap();
        assert_eq!(told, ["-DN=5", "-I", "include", "-std=c11", "-O2", "-D", "M"]);
        assert_eq!(flags(&["-Wall", "-coverage"]).unwrap(), ["-Wall", "-coverage"]);
    }

    #[test]
    fn what_is_not_is_refused_by_name() {
        for word in
            ["-o", "-oprogram", "-c", "-fsanitize=address", "-lfoo", "x.o", "-Wl,-z,now", "-m32", "-MD"]
        {
            let why = flags(&[word]).unwrap_err();
            assert!(why.starts_with(&format!("`{word}`")), "{why}");
        }
    }
}
