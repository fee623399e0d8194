//! Options of the user's that go to the compiler.

use super::BuildError;

/// Options whose argument is the next word.
const WITH_ARGUMENT: [&str; 12] = [
    "-I",
    "-D",
    "-U",
    "-include",
    "-imacros",
    "-isystem",
    "-iquote",
    "-idirafter",
    "-isysroot",
    "--param",
    "-Xclang",
    "-Xpreprocessor",
];

/// Libraries that are linked anyway, or hold nothing that a checked program could use.
const KNOWN_LIBRARIES: [&str; 8] =
    ["-lm", "-lc", "-lpthread", "-lrt", "-ldl", "-lstdc++", "-lgcc", "-lgcc_s"];

/// Options that are about something else than how code is compiled, by how they begin, and what to say of them.
const REFUSED: [(&str, &str); 24] = [
    ("-o", "the output is not kept"),
    ("-c", "the program is compiled and linked in any case"),
    ("-S", "the program is compiled and linked in any case"),
    ("-E", "the program is compiled and linked in any case"),
    ("-M", "no dependencies are written"),
    ("-x", "the language is known from the name of the file"),
    ("-fsanitize", "sanitizers can't be combined with the instrumentation that checking needs"),
    ("-fno-sanitize", "checking needs the instrumentation"),
    ("-shared", "how to link is up to mazurka"),
    ("-static", "how to link is up to mazurka"),
    ("-pie", "how to link is up to mazurka"),
    ("-no-pie", "how to link is up to mazurka"),
    ("-nostdlib", "how to link is up to mazurka"),
    ("-nodefaultlibs", "how to link is up to mazurka"),
    ("-nostartfiles", "how to link is up to mazurka"),
    ("-fuse-ld", "how to link is up to mazurka"),
    ("-Wl,", "how to link is up to mazurka"),
    ("-Xlinker", "how to link is up to mazurka"),
    ("-L", "libraries can't be looked into; give their source files"),
    ("-flto", "the code has to be looked at file by file"),
    ("-m32", "only 64-bit programs can be checked"),
    ("-mx32", "only 64-bit programs can be checked"),
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
        if WITH_ARGUMENT.contains(&word.as_str()) {
            let argument = words.next();
            flags.push(word.clone());
            flags.extend(argument.cloned());
            continue;
        }
        if KNOWN_LIBRARIES.contains(&word.as_str()) || word == "-pthread" {
            continue;
        }
        if let Some(why) = refusal(word) {
            return Err(BuildError::Unsupported(why));
        }
        flags.push(word.clone());
    }
    Ok(flags)
}

fn refusal(word: &str) -> Option<String> {
    if !word.starts_with('-') {
        return Some(format!(
            "`{word}` after -- is no option; the program's files go before --, and compiled files or libraries can't be \
             looked into"
        ));
    }
    if word.starts_with("-l") {
        return Some(format!("`{word}`: libraries can't be looked into; give their source files"));
    }
    // -o, -c and the like are whole words (-o may have its argument in the same word); -MD, -Wl,... only begin so.
    let is = |begin: &str| match begin {
        "-c" | "-S" | "-E" => word == begin,
        "-static" => word.starts_with("-static"),
        _ => word.starts_with(begin),
    };
    let (_, why) = REFUSED.iter().find(|(begin, _)| is(begin))?;
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
