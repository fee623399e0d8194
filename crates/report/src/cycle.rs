//! Who waits for whom in a circle.

use crate::replay::Waiting;

/// The circles among processes that wait, each as the names on it; a process is on at most one of them.
pub(crate) fn cycles(waiting: &[Waiting]) -> Vec<Vec<&str>> {
    let mut search =
        Search { waiting, state: vec![State::New; waiting.len()], path: Vec::new(), found: Vec::new() };
    for at in 0..waiting.len() {
        search.visit(at);
    }
    search.found
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    New,
    OnPath,
    Done,
}

struct Search<'a> {
    waiting: &'a [Waiting],
    state: Vec<State>,
    path: Vec<usize>,
    found: Vec<Vec<&'a str>>,
}

impl<'a> Search<'a> {
    /// Walks along the waits, without recursion: a circle may be as long as there are processes.
    fn visit(&mut self, root: usize) {
        let mut at = root;
        loop {
            if self.state[at] == State::New {
                self.state[at] = State::OnPath;
                self.path.push(at);
            }
            let targets = self.targets(at);
            if let Some(&target) = targets.iter().find(|&&t| self.state[t] == State::OnPath) {
                self.close(target);
                return;
            }
            if let Some(&target) = targets.iter().find(|&&t| self.state[t] == State::New) {
                at = target;
                continue;
            }
            self.state[at] = State::Done;
            self.path.pop();
            match self.path.last() {
                Some(&previous) => at = previous,
                None => return,
            }
        }
    }

    fn targets(&self, at: usize) -> Vec<usize> {
        let paths = self.waiting[at].waits_on.iter();
        paths.filter_map(|path| self.waiting.iter().position(|wait| wait.process == *path)).collect()
    }

    fn close(&mut self, target: usize) {
        let from = self.path.iter().position(|&at| at == target).unwrap_or(0);
        let circle = self.path[from..].iter().map(|&at| self.waiting[at].name.as_str()).collect();
        self.found.push(circle);
        for at in self.path.drain(..) {
            self.state[at] = State::Done;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(name: &str, on: &[&str]) -> Waiting {
        Waiting {
            process: name.to_owned(),
            name: name.to_owned(),
            operation: String::new(),
            waits_for: String::new(),
            waits_on: on.iter().map(|&name| name.to_owned()).collect(),
            place: None,
        }
    }

    #[test]
    fn circles_are_found_once_each() {
        type Row = (&'static [(&'static str, &'static [&'static str])], &'static [&'static [&'static str]]);
        let table: [Row; 6] = [
            (&[("a", &["b"]), ("b", &["a"])], &[&["a", "b"]]),
            (&[("a", &["b"]), ("b", &["finished"])], &[]),
            (&[("a", &["a"])], &[&["a"]]),
            (&[("z", &["a"]), ("a", &["b"]), ("b", &["a"])], &[&["a", "b"]]),
            (&[("a", &["c", "b"]), ("b", &["a"]), ("c", &[])], &[&["a", "b"]]),
            (&[("a", &["a"]), ("b", &["c"]), ("c", &["b"])], &[&["a"], &["b", "c"]]),
        ];
        for (waits, expected) in table {
            let waiting: Vec<Waiting> = waits.iter().map(|(name, on)| wait(name, on)).collect();
            assert_eq!(cycles(&waiting), expected, "{waits:?}");
        }
    }
}
