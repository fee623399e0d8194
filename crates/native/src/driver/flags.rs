//! Options for the compiler: those of the user, and those of a build.

use super::BuildError;

/// Options whose argument is the next word, and that are of interest to whoever compiles.
const WITH_ARGUMENT: &str = "\
    -I -D -U -include -imacros -isystem -iquote -idirafter -isysroot --param -Xclang -Xpreprocessor";

/// Others whose argument is the next word.
const OTHERS_WITH_ARGUMENT: &str = "\
    -o -x -L -l -MF -MT -MQ -Xlinker -Xassembler -T -u -z -e -A -B -aux-info -dumpbase -dumpdir -wrapper -arch \
    -mllvm -specs --sysroot -target";

/// Options of a build that say what the code means, by how they begin. Those that say how to make it fast, how
/// to look at it and how to link it do not matter: it is compiled as it is written.
const MEANING: &str = "\
    -I -D -U -include -imacros -isystem -iquote -idirafter -isysroot --sysroot -std= -ansi -trigraphs -nostdinc \
    -fno-exceptions -fexceptions -fno-rtti -frtti -fms-extensions -fplan9-extensions -funsigned-char \
    -fsigned-char -funsigned-bitfields -fsigned-bitfields -fcommon -fno-common -fshort-enums -fpack-struct \
    -fshort-wchar -fwrapv -fno-wrapv -fgnu89-inline -fpermissive -fcoroutines -fconcepts -fchar8_t -fno-char8_t \
    -fno-threadsafe-statics -ffreestanding -fopenmp -fblocks -pthread -mcx16 -msse -mavx -mavx2 -mbmi -mpopcnt \
    -maes -mcrc32 -mfma -mf16c -mtune -march";

/// Of those, what is for whoever runs the program as it is.
const NOT_MEANING: &str = "-D_FORTIFY_SOURCE -Wp,-D_FORTIFY_SOURCE";

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
    ("-L", "libraries can't be looked into; give their source files or archives"),
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
        if has(WITH_ARGUMENT, word) {
            flags.push(word.clone());
            flags.extend(words.next().cloned());
        } else if !has(KNOWN_LIBRARIES, word) {
            refusal(word).map_or(Ok(()), Err)?;
            flags.push(word.clone());
        }
    }
    Ok(flags)
}

/// Whether the argument of an option is the next word.
pub fn takes_next(option: &str) -> bool {
    has(WITH_ARGUMENT, option) || has(OTHERS_WITH_ARGUMENT, option)
}

/// What the options of a build say of the meaning of its code.
pub fn meaning(words: &[String]) -> Vec<String> {
    let mut kept = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let argument = if takes_next(word) { words.next() } else { None };
        let begins = |options: &str| options.split(' ').any(|option| word.starts_with(option));
        let defines = || argument.is_some_and(|it| word == "-D" && it.starts_with("_FORTIFY_SOURCE"));
        if begins(MEANING) && !begins(NOT_MEANING) && !defines() {
            kept.extend(std::iter::once(word).chain(argument).cloned());
        }
    }
    kept
}

/// The options of a command that compiles and links, without those for the linker.
pub fn without_linking(words: &[String]) -> Vec<String> {
    let linking = ["-l", "-L", "-Wl,", "-Xlinker", "-T", "-u", "-z", "-rdynamic", "-static", "-shared"];
    let mut kept = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let argument = if takes_next(word) { words.next() } else { None };
        let is_file = !word.starts_with('-');
        if !is_file && !linking.iter().any(|option| word.starts_with(option)) {
            kept.extend(std::iter::once(word).chain(argument).cloned());
        }
    }
    kept
}

fn has(options: &str, word: &str) -> bool {
    options.split(' ').any(|option| option == word)
}

fn refusal(word: &str) -> Option<String> {
    if !word.starts_with('-') {
        return Some(format!(
            "`{word}` after -- is no option; the program's files go before --, and so do programs and \
             libraries (.a) that were built with CC=\"mazurka cc\""
        ));
    }
    if word.starts_with("-l") {
        return Some(format!(
            "`{word}`: libraries can't be looked into; give their source files, or before -- the archive \
             (.a), built with CC=\"mazurka cc\""
        ));
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
    fn of_a_build_stays_what_says_what_the_code_means() {
        let words = "-O3 -g -Wall -Werror -DN=5 -D M -D _FORTIFY_SOURCE=2 -I inc -isystem s -MD -MF a.d -std=gnu11 \
                     -fPIC -fsanitize=address -include config.h -march=native -lfoo -Wl,-z,now";
        let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        assert_eq!(
            meaning(&words).join(" "),
            "-DN=5 -D M -I inc -isystem s -std=gnu11 -include config.h -march=native"
        );
        let compiled = without_linking(&words).join(" ");
        assert!(compiled.contains("-MF a.d") && !compiled.contains("-lfoo") && !compiled.contains("-Wl"));
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
