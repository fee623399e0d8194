//! Taking lines of LLVM's textual form apart: only as much of it as is needed.

use crate::driver::audit::between_commas;

/// Splits at commas that are not inside brackets or quotes.
pub fn fields(text: &str) -> Vec<&str> {
    between_commas(text, outermost(text, ','))
}

/// Splits a type from what follows it.
pub fn type_and_rest(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    let end = outermost(text, ' ').next()?;
    Some((&text[..end], text[end..].trim_start()))
}

/// Where a character is that is not inside brackets or quotes.
fn outermost(text: &str, wanted: char) -> impl Iterator<Item = usize> {
    let mut scan = BracketScanner::default();
    text.char_indices().filter(move |&(_, c)| scan.at_top(c) && c == wanted).map(|(at, _)| at)
}

/// The arguments of a call: what is inside the parentheses that belong to the callee, and the callee.
pub fn callee_and_arguments(call: &str) -> Option<(&str, &str)> {
    // Attributes of the result may have parentheses too, and a function type (`i32 (ptr, ...)`): the callee
    // is a name that is followed at once by its parenthesis.
    let mut scan = BracketScanner::default();
    let mut name = None;
    for (at, c) in call.char_indices() {
        let top = scan.at_top(c);
        match c {
            '@' | '%' if top => name = Some(at),
            ' ' if top => name = None,
            '(' if scan.depth == 1 && !scan.quoted => {
                if let Some(begin) = name {
                    let inside = &call[at + 1..];
                    return Some((&call[begin..at], &inside[..closing(inside)?]));
                }
            }
            _ => {}
        }
    }
    None
}

/// The name of a global, without `@` and quotes.
pub fn plain_name(name: &str) -> &str {
    name.trim_start_matches('@').trim_matches('"')
}

/// Where the bracket is closed that was opened just before the text.
pub fn closing(text: &str) -> Option<usize> {
    let mut scan = BracketScanner { depth: 1, quoted: false };
    text.char_indices().find_map(|(at, c)| {
        scan.at_top(c);
        (scan.depth == 0).then_some(at)
    })
}

/// The text in quotes that comes first, as it stands there.
pub fn quoted(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once('"')?;
    Some(rest.split_once('"')?.0)
}

#[derive(Default)]
struct BracketScanner {
    depth: usize,
    quoted: bool,
}

impl BracketScanner {
    /// Goes on by a character, and says whether it stands outside of brackets and quotes.
    fn at_top(&mut self, c: char) -> bool {
        let before = self.depth;
        match c {
            '"' => self.quoted = !self.quoted,
            _ if self.quoted => {}
            '(' | '[' | '{' | '<' => self.depth += 1,
            ')' | ']' | '}' | '>' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        before == 0 && self.depth == 0 && !self.quoted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_apart() {
        let store =
            "{ i32, ptr } %v, ptr getelementptr inbounds (%struct.S, ptr @g, i64 0, i32 1), align 8, !dbg !9";
        let parts = fields(store);
        assert_eq!(parts.len(), 4);
        assert_eq!(type_and_rest(parts[0]), Some(("{ i32, ptr }", "%v")));
        assert_eq!(parts[1], "ptr getelementptr inbounds (%struct.S, ptr @g, i64 0, i32 1)");
    }

    #[test]
    fn callees_are_found_behind_types_and_attributes() {
        for (call, callee, arguments) in [
            ("call i32 (ptr, ...) @printf(ptr noundef @.str, i32 noundef %16), !dbg !8", "@printf", 2),
            ("call align 4 dereferenceable(8) ptr @f(ptr byval(%s) align 8 %3)", "@f", 1),
            ("call void %7(ptr %1)", "%7", 1),
            (r#"invoke void @"a b"(ptr @"x,y", i64 4)"#, r#"@"a b""#, 2),
        ] {
            let (name, inside) = callee_and_arguments(call).unwrap_or_else(|| panic!("{call}"));
            assert_eq!((name, fields(inside).len()), (callee, arguments), "{call}");
        }
        assert_eq!(callee_and_arguments(r#"call void asm sideeffect "pause", "~{memory}"() #8"#), None);
    }
}
