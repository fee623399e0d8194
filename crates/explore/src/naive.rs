//! `naive`: every interleaving and every outcome, by depth-first search. What the others are compared with.

use std::ops::ControlFlow;

use mazurka_program::ProcessId;

use crate::walk::Walk;
use crate::{Ending, Summary};

/// The steps of a node that are still to be tried, the next one last, and how many there were.
struct Node {
    steps: Vec<(ProcessId, u32)>,
    known: usize,
}

pub(crate) fn search(mut walk: Walk<'_>) -> Summary {
    // The answer is in the summary: a search that ends early has noted why.
    let mut stack = Vec::new();
    let _ = run(&mut walk, &mut stack);
    let _ = walk.note_memory(memory(&stack));
    walk.summary()
}

fn run(walk: &mut Walk<'_>, stack: &mut Vec<Node>) -> ControlFlow<()> {
    stack.push(open(walk)?);
    while let Some(node) = stack.last_mut() {
        let Some((process, choice)) = node.steps.pop() else {
            stack.pop();
            continue;
        };
        walk.back_to(stack.len() - 1);
        walk.step(process, choice)?;
        stack.push(open(walk)?);
        if walk.progress_due {
            let branches =
                stack.iter().map(|n| ((n.known - n.steps.len()).saturating_sub(1), n.known.max(1)));
            walk.report_progress(branches)?;
            walk.note_memory(memory(stack))?;
        }
    }
    ControlFlow::Continue(())
}

/// Bytes held by the nodes.
fn memory(stack: &[Node]) -> usize {
    let steps = |node: &Node| node.steps.capacity() * size_of::<(ProcessId, u32)>();
    size_of_val(stack) + stack.iter().map(steps).sum::<usize>()
}

/// The node of the present state: all that can be done there.
fn open(walk: &mut Walk<'_>) -> ControlFlow<(), Node> {
    let mut steps = Vec::new();
    if walk.enabled().is_empty() {
        walk.end(walk.maximal_ending())?;
    } else if walk.too_deep() {
        walk.end(Ending::Cut)?;
    } else {
        let mut left: Vec<ProcessId> = walk.enabled().iter().collect();
        while let Some(process) = walk.pick(|p| left.contains(&p)) {
            left.retain(|&p| p != process);
            let alternatives = walk.run.alternatives(process);
            steps.extend((0..alternatives).map(|k| (process, walk.choice_at(k, alternatives))));
        }
        steps.reverse();
    }
    let known = steps.len();
    ControlFlow::Continue(Node { steps, known })
}
