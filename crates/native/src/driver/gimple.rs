//! What gcc's thread instrumentation leaves out, found in its intermediate code.
//!
//! gcc writes down the code of each function in a readable form (`-fdump-tree-optimized-lineno`). It can't be
//! changed there, so what is missing is refused, where it stands:
//! * `g = f()` for structures: the store is not announced;
//! * `f(g)` for structures: the reading of what is passed is not announced;
//! * inline assembly that does something, and functions that are marked so that they are not instrumented.
//!
//! A variable of the function's own whose address nobody takes may be used so: no other thread can see it.
//! The dump does not tell the name of a structure from that of a function where one is passed, so such cases
//! are doubts, to be settled when it is known what all the names stand for.

use std::collections::BTreeSet;

use super::BuildError;
use super::assembly;
use super::audit::{Audit, between_commas, refusal_of_exempt};

/// Looks through what gcc wrote of a file.
///
/// # Errors
/// If it has something that is not instrumented.
pub fn audit(dump: &str) -> Result<Audit, BuildError> {
    let mut audit = Audit::default();
    for function in dump.split("\n;; Function ").skip(1) {
        Function::of(function).audit(&mut audit)?;
    }
    Ok(audit)
}

struct Function<'a> {
    name: &'a str,
    text: &'a str,
    /// Variables that live in its frame and whose address is not taken but to announce something.
    own: BTreeSet<&'a str>,
    /// All that live in its frame.
    locals: BTreeSet<&'a str>,
    /// Its statements, after the declarations.
    lines: Vec<&'a str>,
}

impl<'a> Function<'a> {
    fn of(text: &'a str) -> Function<'a> {
        let name = text.split([' ', '(']).next().unwrap_or_default();
        let body = text.split_once("\n{\n").map_or("", |(_, body)| body);
        let taken: BTreeSet<&str> =
            body.lines().filter(|line| !line.contains("__builtin___tsan_")).flat_map(addresses).collect();
        // Declarations come first and end with an empty line: `struct Big b;`, `struct S a[3];`.
        let declared = body.lines().take_while(|line| !line.trim().is_empty());
        let declared = declared.filter(|line| !line.trim_start().starts_with("static ")).filter_map(|line| {
            let (words, _) =
                line.trim_end().strip_suffix(';')?.split_once('[').unwrap_or((line.trim_end(), ""));
            words.trim_end_matches(';').rsplit([' ', '*']).next()
        });
        let head = text.split_once("\n{\n").map_or("", |(head, _)| head);
        let parameters = head.rsplit_once(" (").map_or("", |(_, list)| list.trim_end().trim_end_matches(')'));
        let parameters = parameters.split(',').filter_map(|one| one.trim().rsplit([' ', '*']).next());
        let locals: BTreeSet<&str> = declared.chain(parameters).collect();
        let own = locals.difference(&taken).copied().collect();
        let lines = text.lines().skip_while(|line| !line.contains("<bb ")).collect();
        Function { name, text, own, locals, lines }
    }

    fn audit(&self, audit: &mut Audit) -> Result<(), BuildError> {
        let marked = self.text.contains("__attribute__((no_sanitize (thread")
            || self.text.contains("no_sanitize_thread");
        for (at, &line) in self.lines.iter().enumerate() {
            let (place, line) = placed(line);
            let refuse = |why: String| BuildError::Unsupported(format!("{place}{why}"));
            if marked && line.ends_with(';') && !place.is_empty() {
                return Err(refuse(refusal_of_exempt(self.name)));
            }
            if let Some((_, assembly)) = line.split_once("__asm__") {
                audit.has_assembly |= assembly::is_active(assembly.split('"').nth(1).unwrap_or_default());
                continue;
            }
            let Some(call) = Call::of(&line) else { continue };
            if !place.is_empty() {
                let place = || place.trim_end_matches(": ").to_owned();
                audit.calls.entry(call.callee.to_owned()).or_insert_with(place);
            }
            // The C++ library's code does not race with itself: what it does with its structures need not be
            // seen.
            if call.callee.starts_with("__builtin") || place.contains("/include/c++/") {
                continue;
            }
            if let Some(result) =
                call.result.filter(|result| self.is_shared(result) && !self.is_fresh(result, at))
            {
                return Err(refuse(format!(
                    "gcc does not announce the store of the structure that `{}` returns to `{result}`; \
                     assign it to a local variable first, or check with clang",
                    call.callee
                )));
            }
            for passed in call.arguments.iter().filter(|argument| self.is_shared(argument)) {
                let error = refuse(format!(
                    "gcc does not announce the reading of the structure `{passed}` that is passed to `{}`; \
                     copy it to a local variable first, or check with clang",
                    call.callee
                ));
                if passed.contains(|c: char| !(c.is_ascii_alphanumeric() || c == '_')) {
                    return Err(error);
                }
                audit.doubts.push(((*passed).to_owned(), error));
            }
        }
        Ok(())
    }

    /// Whether a statement is the first that mentions a variable of the function since that came to life:
    /// nobody else can know it yet. In a loop its former life must have ended.
    fn is_fresh(&self, variable: &str, at: usize) -> bool {
        let word = |c: char| !(c.is_alphanumeric() || c == '_');
        let mentions = |line: &&str| line.split(word).any(|part| part == variable);
        if !self.locals.contains(variable) || self.lines[..at].iter().any(mentions) {
            return false;
        }
        let block = |line: &str| line.split_once("<bb ")?.1.split('>').next()?.parse::<u32>().ok();
        let here = self.lines[..at]
            .iter()
            .rev()
            .filter(|line| line.trim_start().starts_with("<bb "))
            .find_map(|line| block(line));
        let here = here.unwrap_or(0);
        let leads_back = |line: &&str| line.contains("goto <bb ") && block(line).is_some_and(|to| to <= here);
        let after = &self.lines[at..];
        let Some(back) = after.iter().rposition(leads_back) else { return true };
        let end = format!("{variable} ={{v}} {{CLOBBER");
        after[..back].iter().any(|line| line.trim_start().starts_with(&end))
    }

    /// Whether an operand stands for memory that another thread might see.
    fn is_shared(&self, operand: &str) -> bool {
        let first = operand.chars().next().unwrap_or('0');
        if first.is_ascii_digit() || matches!(first, '-' | '&' | '"' | '\'' | '{') || is_register(operand) {
            return false;
        }
        let variable = operand.split(['.', '[']).next().unwrap_or_default();
        // Temporaries have names such as D.1234.
        let variable = if variable == "D" { operand } else { variable };
        let temporary = operand.starts_with("D.") && !operand[2..].contains(['.', '[', '>']);
        let constant = operand.contains("e+") || operand.contains("e-") && first.is_ascii_digit();
        !(temporary || constant || self.own.contains(variable) || operand == "<retval>")
    }
}

/// A call as it stands in the dump: `result = callee (a, b);`.
struct Call<'l> {
    result: Option<&'l str>,
    callee: &'l str,
    arguments: Vec<&'l str>,
}

impl Call<'_> {
    fn of(line: &str) -> Option<Call<'_>> {
        let statement = first_statement(line)?;
        let (result, call) = match statement.split_once(" = ") {
            Some((result, call)) if !result.contains(['"', '(']) => (Some(result), call),
            _ => (None, statement),
        };
        // Templates have parentheses in their names; the arguments are in the last ones.
        let (callee, arguments) = call.split_at(last_group(call)?);
        let callee = callee.strip_suffix(' ')?;
        let word = |c: char| c.is_alphanumeric() || "_.:~<>*,&$()[]{}=+-!|^/% ".contains(c);
        if callee.is_empty()
            || !callee.chars().all(word)
            || matches!(callee, "if" | "switch" | "return" | "goto")
        {
            return None;
        }
        let arguments = split(arguments.strip_prefix('(')?.strip_suffix(')')?);
        Some(Call { result: result.filter(|result| !result.is_empty()), callee, arguments })
    }
}

/// Characters that are not inside of quotes.
fn outside_of_quotes(text: &str) -> impl Iterator<Item = (usize, char)> {
    let (mut quoted, mut escaped) = (false, false);
    text.char_indices().filter(move |&(_, c)| {
        let was = quoted;
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            _ => {}
        }
        !was && !quoted
    })
}

/// What comes before the first semicolon.
fn first_statement(line: &str) -> Option<&str> {
    let (end, _) = outside_of_quotes(line).find(|&(_, c)| c == ';')?;
    Some(line[..end].trim())
}

/// Where the parentheses begin with which a text ends.
fn last_group(text: &str) -> Option<usize> {
    let (mut depth, mut begin, mut end) = (0_usize, None, 0);
    for (at, c) in outside_of_quotes(text) {
        match c {
            '(' => {
                if depth == 0 {
                    begin = Some(at);
                }
                depth += 1;
            }
            ')' => {
                depth = depth.saturating_sub(1);
                end = at + 1;
            }
            _ => {}
        }
    }
    begin.filter(|_| depth == 0 && end == text.len())
}

/// Splits arguments at commas outside of brackets and quotes.
fn split(text: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    let outermost = outside_of_quotes(text).filter(move |&(_, c)| {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && c == ','
    });
    between_commas(text, outermost.map(|(at, _)| at))
}

/// Names of the form `x_12` or `_5` with `(D)` or not: values, not memory.
fn is_register(operand: &str) -> bool {
    let name = operand.split('(').next().unwrap_or_default();
    let digits = name.rsplit('_').next().unwrap_or_default();
    name.contains('_')
        && !digits.is_empty()
        && digits.chars().all(|c| c.is_ascii_digit())
        && !name.contains(['*', '>', '['])
}

/// The variables whose addresses a line takes.
fn addresses(line: &str) -> impl Iterator<Item = &str> {
    line.split('&').skip(1).map(|rest| {
        let rest = skip_places(rest);
        rest.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).next().unwrap_or_default()
    })
}

/// What follows the places (`[t.c:3:4]`) at the beginning of a text.
fn skip_places(text: &str) -> &str {
    let mut text = text.trim_start();
    while let Some((_, rest)) = text.strip_prefix('[').and_then(|rest| rest.split_once("] ")) {
        text = rest.trim_start();
    }
    text
}

/// The first place of a line, as the beginning of a message, and the line without its places.
fn placed(line: &str) -> (String, String) {
    let mut place = String::new();
    let mut rest = line.trim();
    let mut plain = String::new();
    while let Some(at) = rest.find('[') {
        let (before, after) = rest.split_at(at);
        plain += before;
        match after[1..].split_once(']') {
            Some((inside, behind)) if is_place(inside) => {
                if place.is_empty() {
                    place = format!("{inside}: ");
                }
                rest = behind.trim_start();
            }
            _ => {
                plain.push('[');
                rest = &after[1..];
            }
        }
    }
    (place, plain + rest)
}

/// Whether a text is of the form `file:line:column`.
fn is_place(text: &str) -> bool {
    let mut parts = text.split(" discrim ").next().unwrap_or_default().rsplitn(3, ':');
    let number = |part: Option<&str>| part.is_some_and(|part| part.parse::<u32>().is_ok());
    number(parts.next()) && number(parts.next()) && parts.next().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn audited(declarations: &str, statement: &str) -> Result<(), String> {
        let dump = format!(
            "\n;; Function main (main, funcdef_no=0)\n\nint main (struct Big p)\n{{\n{declarations}\n\n  <bb 2> :\n  [t.c:3:4] \
             {statement}\n\n}}\n"
        );
        let audited = audit(&dump).map_err(|error| error.to_string())?;
        audited.doubts.into_iter().next().map_or(Ok(()), |(_, error)| Err(error.to_string()))
    }

    #[test]
    fn structures_that_others_may_see_are_refused() {
        for statement in
            ["G = give ();", "[t.c:3:2] *P.4_1 = give ();", "_5 = take (G);", "_3 = take ([t.c:1:2] *_9);"]
        {
            let error = audited("  struct Big b;", statement).unwrap_err();
            assert!(error.starts_with("t.c:3:4: gcc does not announce"), "{error}");
        }
    }

    #[test]
    fn registers_constants_and_variables_of_the_function_are_fine() {
        for statement in [
            "b = give (); [return slot optimization]",
            "_5 = take (b);",
            "_5 = take (p);",
            "D.1234 = give ();",
            "_5 = f (k_12(D), 3, &G, \"a, b\", 1.0e+0, -1);",
            "__builtin___tsan_write_range (&G, 40);",
            "if (x_3 > y_4)",
            "__asm__ __volatile__(\"\" :  :  : \"memory\");",
            "std::thread::thread<void (&)(int), int&> (&b, 3, &G);",
            "f (\"a;b) = (\", &G);",
            "OBJ_TYPE_REF(_2;(struct A)a_3(D)->0) (a_3(D));",
        ] {
            assert_eq!(audited("  struct Big b;\n  int D.2872;", statement), Ok(()), "{statement}");
        }
    }

    #[test]
    fn a_variable_whose_address_is_taken_is_none_of_the_functions_own() {
        let statements = "use (&b);\n  [t.c:3:4] _5 = take (b);";
        assert!(audited("  struct Big b;", statements).is_err());
    }

    #[test]
    fn a_variable_that_nobody_knows_yet_may_be_stored_to() {
        let declared = "  struct Big b;";
        assert_eq!(audited(declared, "b = give ();\n  [t.c:3:4] use (&b);"), Ok(()));
        assert!(audited(declared, "use (&b);\n  [t.c:3:4] b = give ();").is_err());
        let body = "b = give ();\n  [t.c:3:4] use (&b);\n";
        assert!(audited(declared, &format!("{body}  goto <bb 2>; [INV]")).is_err());
        let ended = "  b ={v} {CLOBBER(eol)};\n  goto <bb 2>; [INV]";
        assert_eq!(audited(declared, &format!("{body}{ended}")), Ok(()));
    }

    #[test]
    fn a_static_variable_is_none_either() {
        assert!(audited("  static struct Big b = {.a={1}};", "_5 = take (b);").is_err());
    }

    #[test]
    fn declarations_are_no_calls() {
        assert_eq!(audited("  int (*<T4d1>) (const void *, const void *) compare;", "return 0;"), Ok(()));
    }
}
