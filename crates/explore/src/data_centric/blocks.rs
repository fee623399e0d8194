//! The blocks of a graph: its largest parts without a cut vertex. Two edges are in one block exactly if some
//! simple cycle has both; an edge that is in no cycle is a block by itself.

use std::collections::BTreeMap;

use mazurka_program::ProcessId;

use super::architecture::Edge;

/// The blocks, each as its edges. Depth-first search with low points (Hopcroft and Tarjan), on a stack of its
/// own.
pub(super) fn blocks(edges: &[Edge]) -> Vec<Vec<Edge>> {
    let mut adjacent: BTreeMap<ProcessId, Vec<(ProcessId, usize)>> = BTreeMap::new();
    for (k, &(a, b)) in edges.iter().enumerate() {
        adjacent.entry(a).or_default().push((b, k));
        adjacent.entry(b).or_default().push((a, k));
    }
    let mut search = Search { edges, adjacent, met: BTreeMap::new(), open: Vec::new(), found: Vec::new() };
    let roots: Vec<ProcessId> = search.adjacent.keys().copied().collect();
    for root in roots {
        if !search.met.contains_key(&root) {
            search.from(root);
        }
    }
    search.found
}

struct Search<'a> {
    edges: &'a [Edge],
    adjacent: BTreeMap<ProcessId, Vec<(ProcessId, usize)>>,
    /// When each process was met, and the earliest that its part of the tree leads back to.
    met: BTreeMap<ProcessId, (usize, usize)>,
    /// Edges that are in no block yet.
    open: Vec<usize>,
    found: Vec<Vec<Edge>>,
}

/// A process on the way: the edge that led to it, where its open edges begin, and the next edge to look at.
struct Visit {
    process: ProcessId,
    by: usize,
    opened: usize,
    next: usize,
}

impl Search<'_> {
    fn enter(&mut self, process: ProcessId) {
        let time = self.met.len();
        self.met.insert(process, (time, time));
    }

    fn from(&mut self, root: ProcessId) {
        let mut stack = vec![Visit { process: root, by: usize::MAX, opened: 0, next: 0 }];
        self.enter(root);
        while let Some(visit) = stack.last_mut() {
            let process = visit.process;
            let Some(&(other, by)) = self.adjacent[&process].get(visit.next) else {
                let Some(done) = stack.pop() else { return };
                if let Some(parent) = stack.last() {
                    self.leave(&done, parent.process);
                }
                continue;
            };
            visit.next += 1;
            if by == visit.by {
                continue;
            }
            match self.met.get(&other).copied() {
                None => {
                    stack.push(Visit { process: other, by, opened: self.open.len(), next: 0 });
                    self.open.push(by);
                    self.enter(other);
                }
                Some((time, _)) if time < self.met[&process].0 => {
                    self.open.push(by);
                    self.lower(process, time);
                }
                Some(_) => {}
            }
        }
    }

    fn lower(&mut self, process: ProcessId, to: usize) {
        if let Some((_, low)) = self.met.get_mut(&process) {
            *low = (*low).min(to);
        }
    }

    /// A process has been left for the one that led to it: what was opened since is a block, unless it leads
    /// back further.
    fn leave(&mut self, done: &Visit, parent: ProcessId) {
        let low = self.met[&done.process].1;
        if low >= self.met[&parent].0 {
            let block = self.open.drain(done.opened..).map(|edge| self.edges[edge]).collect();
            self.found.push(block);
        } else {
            self.lower(parent, low);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bridges_and_cycles() {
        let edge = |a, b| (ProcessId(a), ProcessId(b));
        let sizes = |edges: &[Edge]| {
            let mut sizes: Vec<usize> = blocks(edges).iter().map(Vec::len).collect();
            sizes.sort_unstable();
            sizes
        };
        assert_eq!(sizes(&[]), [] as [usize; 0]);
        assert_eq!(sizes(&[edge(0, 1), edge(1, 2), edge(1, 3)]), [1, 1, 1]);
        assert_eq!(sizes(&[edge(0, 1), edge(1, 2), edge(0, 2)]), [3]);
        // Two triangles that share a process, and a bridge to a square.
        let edges = [(0, 1), (1, 2), (0, 2), (2, 3), (3, 4), (2, 4), (4, 5), (5, 6), (6, 7), (7, 8), (5, 8)];
        assert_eq!(sizes(&edges.map(|(a, b)| edge(a, b))), [1, 3, 3, 4]);
    }
}
