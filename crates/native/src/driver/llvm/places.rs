//! DebugLocations in the source of what stands in LLVM's textual form, from its metadata.

use std::collections::HashMap;

use super::text::quoted;

/// The metadata of a module, by number.
pub struct DebugLocations<'a> {
    nodes: HashMap<&'a str, &'a str>,
}

impl<'a> DebugLocations<'a> {
    /// Of a module's text.
    pub fn of(module: &'a str) -> DebugLocations<'a> {
        let node = |line: &'a str| line.starts_with('!').then(|| line.split_once(" = ")).flatten();
        DebugLocations { nodes: module.lines().filter_map(node).collect() }
    }

    /// Where a line comes from, as `file:line:column`.
    pub fn of_line(&self, line: &str) -> Option<String> {
        let (_, rest) = line.rsplit_once("!dbg ")?;
        let number = rest.split([',', ' ']).next()?;
        let location = self.nodes.get(number)?;
        let file = self.file(location)?;
        let column = value(location, "column: ").unwrap_or("1");
        Some(format!("{file}:{}:{column}", value(location, "line: ")?))
    }

    /// The file of a node, or of a scope around it.
    fn file(&self, node: &str) -> Option<&'a str> {
        let mut node = node;
        // Scopes are nested, but not deeply; a limit keeps a malformed module from turning us in circles.
        for _ in 0..1000 {
            if let Some(file) = value(node, "file: ") {
                let (_, name) = self.nodes.get(file)?.split_once("filename: ")?;
                return quoted(name);
            }
            node = self.nodes.get(value(node, "scope: ")?)?;
        }
        None
    }
}

fn value<'n>(node: &'n str, key: &str) -> Option<&'n str> {
    let (_, rest) = node.split_once(key)?;
    rest.split([',', ')']).next()
}
