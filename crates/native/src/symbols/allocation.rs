//! What a line of a program calls the memory that it allocates.

/// What can be told from the text of a line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Allocation {
    /// The variable or field that it is assigned to: `node` of `node = malloc(...)`.
    pub variable: Option<String>,
    /// The type that is named: `Node` of `new Node` or `sizeof(struct Node)`.
    pub kind: Option<String>,
}

const FUNCTIONS: [&str; 6] = ["malloc", "calloc", "realloc", "reallocarray", "aligned_alloc", "memalign"];

impl Allocation {
    /// Of a line; nothing if it allocates nothing, or more than once. A function of the program may allocate
    /// for its callers.
    pub fn of(line: &str, own: Option<&str>) -> Option<Allocation> {
        let line = line.split("//").next().unwrap_or_default();
        let calls: Vec<(usize, &str)> = words(line)
            .filter(|&(at, word)| {
                let called = line[at + word.len()..].trim_start().starts_with('(');
                word == "new" || (FUNCTIONS.contains(&word) || Some(word) == own) && called
            })
            .collect();
        let &[(at, word)] = calls.as_slice() else { return None };
        let after = &line[at + word.len()..];
        let kind = match word {
            "new" => type_name(after),
            _ => after
                .split_once("sizeof")
                .and_then(|(_, size)| size.trim_start().strip_prefix('('))
                .and_then(type_name),
        };
        Some(Allocation { variable: assigned(&line[..at]), kind })
    }
}

/// The identifiers of a line, with where they begin.
fn words(line: &str) -> impl Iterator<Item = (usize, &str)> {
    let part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut rest = 0;
    std::iter::from_fn(move || {
        let begin = rest + line[rest..].find(part)?;
        let end = line[begin..].find(|c| !part(c)).map_or(line.len(), |length| begin + length);
        rest = end;
        Some((begin, &line[begin..end]))
    })
}

/// The type that a text begins with.
fn type_name(text: &str) -> Option<String> {
    let text = text.trim_start();
    let text =
        ["struct ", "class ", "union "].iter().find_map(|word| text.strip_prefix(word)).unwrap_or(text);
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != ':').unwrap_or(text.len());
    let name = text[..end].rsplit("::").next().unwrap_or_default();
    // A type with arguments has another name in the debugging information.
    let plain =
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && !text[end..].starts_with('<');
    plain.then(|| name.to_owned())
}

/// The last identifier before the `=` that a text ends with, but for casts.
fn assigned(before: &str) -> Option<String> {
    let mut text = before.trim_end();
    while let Some(cast) = text.strip_suffix(')') {
        text = cast[..cast.rfind('(')?].trim_end();
    }
    if let Some(call) = text.strip_suffix('(') {
        // `static_cast<struct node *>(malloc(...))`, `std::unique_ptr<Node> node(new Node)`
        let call = call.trim_end();
        text = match call.strip_suffix('>') {
            Some(cast) if cast.contains("_cast<") => cast[..cast.rfind("_cast<")?].trim_end_matches(part),
            _ => return last_word(call),
        };
        text = text.trim_end();
    }
    let target = text.strip_suffix('=')?;
    if target.ends_with(['=', '<', '>', '!', '+', '-']) {
        return None;
    }
    last_word(target.trim_end())
}

fn part(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn last_word(text: &str) -> Option<String> {
    let word = text.rsplit(|c| !part(c)).next()?;
    word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_').then(|| word.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_allocate() {
        for (line, variable, kind) in [
            ("  struct node *node = malloc(sizeof(struct node));", Some("node"), Some("node")),
            ("  node = (struct node *)malloc(sizeof *node);", Some("node"), None),
            ("  queue->head = calloc(4, sizeof(cell));", Some("head"), Some("cell")),
            ("  auto *n = static_cast<Node *>(malloc(sizeof(Node)));", Some("n"), Some("Node")),
            ("  instance = new Config;  // new Other", Some("instance"), Some("Config")),
            ("  std::unique_ptr<Node> next(new one::Node{7});", Some("next"), Some("Node")),
            ("  return malloc(sizeof(struct node));", None, Some("node")),
            ("  push(new Node(3));", Some("push"), Some("Node")),
            ("  values = new int[8];", Some("values"), Some("int")),
            ("  list = new std::vector<int>;", Some("list"), None),
        ] {
            let found = Allocation::of(line, None).unwrap_or_else(|| panic!("{line}"));
            assert_eq!((found.variable.as_deref(), found.kind.as_deref()), (variable, kind), "{line}");
        }
        for line in ["a = malloc(1), b = malloc(2);", "x = y;", "renew(x);", "", "é = mallocé(1)"] {
            assert_eq!(Allocation::of(line, None), None, "{line}");
        }
        let own = Allocation::of("  t = xmalloc(sizeof(struct task));", Some("xmalloc"));
        let names = own.map(|found| (found.variable, found.kind));
        assert_eq!(names, Some((Some("t".to_owned()), Some("task".to_owned()))));
    }
}
