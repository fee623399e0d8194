//! Names for objects: the variable or field that an object is made for, as the source has it.
//!
//! The compiler tells where in the source a constructor was called. What is around that place is read as
//! tokens, from there outwards: `let x = Arc::new(Mutex::new(0))`, `head: AtomicPtr::new(..)`,
//! `flags.push(AtomicBool::new(false))`. Where no name is found, or no source, the kind of the object and the
//! place have to do.

mod tokens;

use std::collections::HashMap;
use std::panic::Location as Caller;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The name of an object of a kind that was made at a place.
pub(crate) fn name(kind: &str, created: &Caller<'_>) -> String {
    variable(created).map(|found| found.name).unwrap_or_else(|| {
        let file = created.file().rsplit(['/', '\\']).next().unwrap_or_default();
        format!("{kind}@{file}:{}", created.line())
    })
}

/// The variable that the result of a call is put into as it is, not as a part of something else.
pub(crate) fn variable_for(created: &Caller<'_>) -> Option<String> {
    variable(created).filter(|found| found.whole).map(|found| found.name)
}

/// A source file that a path of the compiler stands for. Such paths are relative to the root of the
/// workspace, while tests run in the directory of their package, which is given if it is known.
pub(crate) fn find(file: &str, package: Option<&str>) -> Option<PathBuf> {
    let file = Path::new(file);
    if file.is_absolute() {
        return file.is_file().then(|| file.to_owned());
    }
    let package = package.map(PathBuf::from).or_else(crate::checker::manifest_dir);
    let starts = package.into_iter().chain(std::env::current_dir().ok());
    let found = starts.flat_map(|start| start.ancestors().map(|root| root.join(file)).collect::<Vec<_>>());
    found.into_iter().find(|path| path.is_file())
}

fn variable(created: &Caller<'_>) -> Option<Variable> {
    let text = text(created.file())?;
    let before = before(&text, created.line(), created.column())?;
    Surroundings::from(tokens::read(before)).variable()
}

/// The text of a source file. Each is read once.
fn text(file: &str) -> Option<Arc<str>> {
    static FILES: Mutex<Option<HashMap<String, Option<Arc<str>>>>> = Mutex::new(None);
    let mut files = FILES.lock().unwrap_or_else(PoisonError::into_inner);
    let files = files.get_or_insert_default();
    if let Some(known) = files.get(file) {
        return known.clone();
    }
    let text = find(file, None).and_then(|path| std::fs::read_to_string(path).ok()).map(Arc::from);
    files.insert(file.to_owned(), text.clone());
    text
}

/// The text before a place.
fn before(text: &str, line: u32, column: u32) -> Option<&str> {
    let start: usize = text.split_inclusive('\n').take(line as usize - 1).map(str::len).sum();
    let rest = text.get(start..)?;
    let within = rest.char_indices().nth(column as usize - 1).map_or(rest.len(), |(at, _)| at);
    text.get(..start + within)
}

#[derive(Debug, PartialEq, Eq)]
struct Variable {
    name: String,
    /// Whether it holds what was made as it is.
    whole: bool,
}

/// What is around an expression: the tokens before it, cut shorter from group to enclosing group.
struct Surroundings<'a> {
    tokens: Vec<&'a str>,
    /// Which element of the tuple or array that is the value of a variable, if it is one.
    element: Option<usize>,
    /// Which elements of tuples the expression is a part of, from within.
    fields: Vec<usize>,
    whole: bool,
}

/// No expression is nested deeper than that within what it is a part of.
const MAX_LEVELS: usize = 16;

impl<'a> Surroundings<'a> {
    fn from(tokens: Vec<&'a str>) -> Surroundings<'a> {
        Surroundings { tokens, element: None, fields: Vec::new(), whole: true }
    }

    fn variable(mut self) -> Option<Variable> {
        for _ in 0..MAX_LEVELS {
            let head = self.head();
            if let Some(name) = self.named_by(head) {
                return Some(Variable { name, whole: self.whole });
            }
            let is_tail = self.tokens[head..].is_empty();
            let (opener, commas) = self.go_out(head)?;
            let is_value = self.tokens.last() == Some(&"=");
            // A block is what its last expression is.
            self.whole &= is_tail && opener == "{" && is_value;
            self.element = is_value.then_some(commas);
            if opener == "(" && self.tokens.last().is_none_or(|last| !ends_a_function(last)) {
                self.fields.push(commas);
            }
            if let Some(collection) = self.pushed_to() {
                return Some(Variable { name: self.with_fields(collection), whole: false });
            }
        }
        None
    }

    /// Where the part of the source begins that the expression is the end of: a field, an argument, a
    /// statement.
    fn head(&self) -> usize {
        let mut at = self.tokens.len();
        let mut assigned = false;
        while at > 0 {
            match self.tokens[at - 1] {
                "(" | "[" | "{" | ";" | "=>" => break,
                "," if !assigned => break,
                // What ends here is a statement before, or the pattern of a `let`.
                "}" if !assigned => break,
                ")" | "]" | "}" => at = self.opener(at - 1),
                "=" => (assigned, at) = (true, at - 1),
                "let" | "static" | "const" if assigned => return at - 1,
                _ => at -= 1,
            }
        }
        at
    }

    /// The position of what opens the group that is closed at a position.
    fn opener(&self, closer: usize) -> usize {
        let mut depth = 0_usize;
        for at in (0..=closer).rev() {
            match self.tokens[at] {
                ")" | "]" | "}" => depth += 1,
                "(" | "[" | "{" => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return at;
            }
        }
        0
    }

    /// The name in `let name =`, `static NAME: T =`, `a.name =` or `name:`.
    fn named_by(&self, head: usize) -> Option<String> {
        let head = &self.tokens[head..];
        if let Some(at) = head.iter().position(|&token| token == "=") {
            return self.assigned(&head[..at]);
        }
        match head {
            [name, ":", ..] if is_word(name) => Some(self.with_fields(name)),
            _ => None,
        }
    }

    /// The variable on the left of an assignment.
    fn assigned(&self, left: &[&'a str]) -> Option<String> {
        match left {
            ["let" | "static" | "const", "mut", name, ..] if is_word(name) => Some(self.with_fields(name)),
            ["let" | "static" | "const", name, ":", ..] | ["let", name] if is_word(name) => {
                Some(self.with_fields(name))
            }
            ["let", "(" | "[", pattern @ ..] => self.of_pattern(pattern),
            ["let", ..] => None,
            [.., name] if is_word(name) => Some(self.with_fields(name)),
            _ => None,
        }
    }

    /// The name for an element of a tuple that is taken apart; or all of them, for what gives the whole
    /// tuple.
    fn of_pattern(&self, pattern: &[&'a str]) -> Option<String> {
        let end = pattern.iter().rposition(|&token| token == ")" || token == "]")?;
        let names = pattern[..end].split(|&token| token == ",").map(|part| match part {
            ["mut", name] | [name] if is_word(name) => Some(*name),
            _ => None,
        });
        match self.element {
            Some(element) => names.into_iter().nth(element).flatten().map(str::to_owned),
            None if self.whole => Some(names.collect::<Option<Vec<&str>>>()?.join("/")),
            None => None,
        }
    }

    /// A part of a variable: `pair.0`.
    fn with_fields(&self, name: &str) -> String {
        self.fields.iter().rev().fold(name.to_owned(), |name, field| format!("{name}.{field}"))
    }

    /// Goes from the head to outside of the group that it is in. Gives what opens the group, and how many
    /// commas there were before the head.
    fn go_out(&mut self, head: usize) -> Option<(&'a str, usize)> {
        let (mut at, mut commas) = (head, 0);
        while at > 0 {
            match self.tokens[at - 1] {
                opener @ ("(" | "[" | "{") => {
                    self.tokens.truncate(at - 1);
                    // The body of a function is where its variables end.
                    let outside = self.head();
                    return (!self.tokens[outside..].contains(&"fn")).then_some((opener, commas));
                }
                ")" | "]" | "}" => at = self.opener(at - 1),
                token => {
                    commas += usize::from(token == ",");
                    at -= 1;
                }
            }
        }
        None
    }

    /// The collection in `collection.push(`.
    fn pushed_to(&self) -> Option<&'a str> {
        match self.tokens.as_slice() {
            [.., name, ".", "push" | "push_back" | "push_front" | "insert"] if is_word(name) => Some(name),
            _ => None,
        }
    }
}

/// Whether a parenthesis after this token is that of a call, or of a macro.
fn ends_a_function(token: &str) -> bool {
    is_word(token) || [">", "!", ")", "]"].contains(&token)
}

fn is_word(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && !["self", "mut", "ref", "let", "if", "match", "return", "_"].contains(&token)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The name for the call at `@` in a text.
    fn named(text: &str) -> Option<(String, bool)> {
        let before = text.split_once('@').unwrap().0;
        Surroundings::from(tokens::read(before)).variable().map(|found| (found.name, found.whole))
    }

    #[test]
    fn variables_are_found() {
        for (text, name) in [
            ("let balance = @Mutex::new(0)", "balance"),
            ("let balance = Arc::new(@Mutex::new(0))", "balance"),
            ("let mut x: AtomicUsize = @AtomicUsize::new(0)", "x"),
            ("let map: HashMap<u8, Vec<Mutex<u8>>> = of(@Mutex::new(0))", "map"),
            ("pub(crate) static COUNT: [AtomicU32; 2] = [@AtomicU32::new(0), AtomicU32::new(0)]", "COUNT"),
            ("static mut A: T = @T::new()", "A"),
            ("Queue { head: @AtomicPtr::new(null_mut()), tail: x }", "head"),
            ("Self { head: f(1, 2), tail: Box::new(@AtomicPtr::new(null_mut())) }", "tail"),
            ("Foo { a: 1,\n // a comment with {\n lock: @Mutex::new(\"}\") }", "lock"),
            ("let (a, b) = (@Mutex::new(0), Mutex::new(1))", "a"),
            ("let (a, mut b) = (Arc::new(Mutex::new(0)), Arc::new(@Mutex::new(1)))", "b"),
            ("let [x, y] = [X::new(1, 2), @X::new(3, 4)]", "y"),
            ("let pair = Arc::new((Mutex::new(false), @Condvar::new()))", "pair.1"),
            ("let deep = ((@X::new(), 1), 2)", "deep.0.0"),
            ("S { pair: (1, @X::new()) }", "pair.1"),
            ("let (sender, receiver) = @mpsc::channel()", "sender/receiver"),
            ("let flags = [@AtomicBool::new(false), AtomicBool::new(false)]", "flags"),
            ("let flags: Vec<_> = (0..3).map(|_| @AtomicBool::new(false)).collect()", "flags"),
            ("let forks = std::array::from_fn(|_| { let n = 1; Arc::new(@Mutex::new(n)) })", "forks"),
            ("let all = vec![@X::new()]", "all"),
            ("let x = if a == b { @X::new(1) } else { X::new(2) }", "x"),
            ("let x = match k { 1 => { @X::new() } _ => X::new() }", "x"),
            ("let x = match k { 1 => X::new(), _ => @X::new() }", "x"),
            ("f(); self.slot = @X::new()", "slot"),
            ("threads.push(@X::new())", "threads"),
            ("for i in 0..3 { g(i); forks.push(Arc::new(@Mutex::new(i))); }", "forks"),
            ("fn f() { let x = 'a'; let y = @X::new() }", "y"),
            ("if x { } let y = @X::new()", "y"),
        ] {
            assert_eq!(named(text).map(|found| found.0).as_deref(), Some(name), "{text}");
        }
    }

    #[test]
    fn nothing_is_made_up() {
        for text in [
            "@Mutex::new(0)",
            "fn new() -> Mutex<u8> { @Mutex::new(0) }",
            "let q = 1; fn new() -> Self { let x = 1; Self(@Mutex::new(0)) }",
            "let q = 1; f(@Mutex::new(0))",
            "let (a, b) = pair(@Mutex::new(0))",
            "let (a, Some(b)) = @pair()",
            "if let Some(x) = @f()",
            "let x = 1; return @f()",
        ] {
            assert_eq!(named(text), None, "{text}");
        }
    }

    #[test]
    fn what_holds_the_whole_is_told_from_what_holds_it_as_a_part() {
        for (text, whole) in [
            ("let worker = @thread::spawn(f)", true),
            ("let worker = scope.@spawn(f)", true),
            ("let worker = { let f = f.clone(); @thread::spawn(f) }", true),
            ("let worker = Builder::new().name(n).@spawn(f).unwrap()", true),
            ("let workers = [@thread::spawn(f)]", false),
            ("let workers = (0..2).map(|_| @thread::spawn(f))", false),
            ("workers.push(@thread::spawn(f))", false),
        ] {
            assert_eq!(named(text).unwrap().1, whole, "{text}");
        }
    }

    #[test]
    fn this_file_is_found_and_read() {
        let here = Caller::caller();
        assert!(find(here.file(), None).is_some_and(|path| path.ends_with("src/source.rs")));
        assert_eq!(name("Mutex", here), "here");
        assert_eq!(find("no/such/file.rs", None), None);
        let text = "one\ntwo é three\n";
        assert_eq!(before(text, 2, 7), Some("one\ntwo é "));
        assert_eq!(before(text, 9, 1), Some(text));
    }
}
