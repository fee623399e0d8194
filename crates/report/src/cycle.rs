//! Who waits for whom: circles, and who is to blame.

use std::collections::HashMap;

use mazurka_program::{ProcessId, WaitExplanation};

use crate::replay::Waiting;

/// The circles among processes that wait, each as the names on it; a process is on at most one of them.
pub(crate) fn cycles(waiting: &[Waiting]) -> Vec<Vec<&str>> {
    let places: HashMap<&str, usize> =
        waiting.iter().enumerate().map(|(at, wait)| (wait.process.as_str(), at)).collect();
    let targets =
        |wait: &Waiting| wait.waits_on.iter().filter_map(|path| places.get(path.as_str()).copied()).collect();
    let circles = circles(waiting.iter().map(targets).collect());
    let name = |at: usize| waiting[at].name.as_str();
    circles.into_iter().map(|circle| circle.into_iter().map(name).collect()).collect()
}

/// Which processes that wait don't do so merely because another one waits: those on a circle, and those that
/// wait for nobody who waits. The others would go on if these did.
pub(crate) fn to_blame(waiting: &[WaitExplanation]) -> Vec<bool> {
    let mut places: Vec<(ProcessId, usize)> =
        waiting.iter().enumerate().map(|(at, wait)| (wait.process, at)).collect();
    places.sort_unstable();
    let place = |process: &ProcessId| {
        places.binary_search_by_key(process, |&(process, _)| process).ok().map(|found| places[found].1)
    };
    let targets: Vec<Vec<usize>> =
        waiting.iter().map(|wait| wait.waits_on.iter().filter_map(place).collect()).collect();
    let mut to_blame: Vec<bool> = targets.iter().map(Vec::is_empty).collect();
    for at in circles(targets).into_iter().flatten() {
        to_blame[at] = true;
    }
    to_blame
}

/// The circles of a graph, given by its edges; each node is on at most one of them.
fn circles(targets: Vec<Vec<usize>>) -> Vec<Vec<usize>> {
    let state = vec![State::New; targets.len()];
    let mut search = Search { targets, state, path: Vec::new(), found: Vec::new() };
    for at in 0..search.targets.len() {
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

struct Search {
    targets: Vec<Vec<usize>>,
    state: Vec<State>,
    path: Vec<usize>,
    found: Vec<Vec<usize>>,
}

impl Search {
    /// Walks along the edges, without recursion: a circle may be as long as there are processes.
    fn visit(&mut self, root: usize) {
        let mut at = root;
        loop {
            if self.state[at] == State::New {
                self.state[at] = State::OnPath;
                self.path.push(at);
            }
            let next = |state: State| self.targets[at].iter().copied().find(|&t| self.state[t] == state);
            if let Some(target) = next(State::OnPath) {
                self.close(target);
                return;
            }
            if let Some(target) = next(State::New) {
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

    fn close(&mut self, target: usize) {
        let from = self.path.iter().position(|&at| at == target).unwrap_or(0);
        self.found.push(self.path[from..].to_vec());
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

    #[test]
    fn who_waits_only_because_others_do_is_not_to_blame() {
        type Row = (&'static [(u32, &'static [u32])], &'static [bool]);
        let table: [Row; 4] = [
            (&[(0, &[1]), (1, &[0]), (2, &[0]), (3, &[2])], &[true, true, false, false]),
            (&[(0, &[1]), (1, &[])], &[false, true]),
            (&[(5, &[9]), (3, &[5])], &[true, false]),
            (&[(0, &[0])], &[true]),
        ];
        for (waits, expected) in table {
            let wait = |&(process, on): &(u32, &[u32])| WaitExplanation {
                process: ProcessId(process),
                operation: String::new(),
                waits_for: String::new(),
                waits_on: on.iter().map(|&p| ProcessId(p)).collect(),
                place: None,
            };
            let waiting: Vec<WaitExplanation> = waits.iter().map(wait).collect();
            assert_eq!(to_blame(&waiting), expected, "{waits:?}");
        }
    }
}
