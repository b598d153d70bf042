//! No two merges wait for each other: the order of steps is a graph without a cycle.

use branchpoint_expr::Kind;

use super::Check;
use crate::DocumentKinds as _;
use crate::steps::region::joins;
use crate::steps::tree::{List, Role, StepIndex};

impl Check<'_, '_> {
    /// Every step has a beginning (`2 * no`) and an end (`2 * no + 1`).
    pub(super) fn order(&mut self) {
        let document = self.document;
        let count = document.steps.len();
        let mut after: Vec<Vec<usize>> = vec![Vec::new(); 2 * count];
        for (index, step) in document.steps.iter().enumerate() {
            after[begin(index)].push(end(index));
            let mut arms_before_children: Vec<StepIndex> = Vec::new();
            for list in &step.lists {
                self.list_order(index, list, &mut after);
                if list.role != Role::Children {
                    arms_before_children.extend(list.steps.last());
                }
            }
            if let Some(first) = step.list(Role::Children).and_then(|list| list.steps.first()) {
                let arms = arms_before_children.into_iter();
                arms.for_each(|last| after[end(last)].push(begin(*first)));
            }
        }
        chain_order(&document.root, &mut after);
        for (join, merge) in joins(document) {
            after[end(join)].push(begin(merge));
        }
        for join in in_cycles(&after).into_iter().filter(|node| node % 2 == 1).map(|node| node / 2) {
            if document.steps[join].is("join") {
                let message = "this join waits for its own merge, by way of others";
                let help = "merges that wait for each other never run; take one of the joins away";
                self.error(Kind::JoinOrder, document.steps[join].span(), message, help);
            }
        }
    }

    fn list_order(&self, holder: StepIndex, list: &List, after: &mut [Vec<usize>]) {
        for step in &list.steps {
            after[begin(holder)].push(begin(*step));
            after[end(*step)].push(end(holder));
        }
        if self.document.is_chain(Some(holder), list) {
            chain_order(list, after);
        }
    }
}

fn chain_order(list: &List, after: &mut [Vec<usize>]) {
    for pair in list.steps.windows(2) {
        after[end(pair[0])].push(begin(pair[1]));
    }
}

fn begin(index: StepIndex) -> usize {
    2 * index
}

fn end(index: StepIndex) -> usize {
    2 * index + 1
}

/// The nodes that remain after removing those without predecessors or successors, repeatedly.
fn in_cycles(after: &[Vec<usize>]) -> Vec<usize> {
    let mut before: Vec<Vec<usize>> = vec![Vec::new(); after.len()];
    for (from, to) in after.iter().enumerate().flat_map(|(from, to)| to.iter().map(move |to| (from, *to))) {
        before[to].push(from);
    }
    let (mut alive, order) = (vec![true; after.len()], [(after, &before[..]), (&before[..], after)]);
    for (forward, backward) in order {
        let waiting = |alive: &[bool], node: usize| backward[node].iter().filter(|from| alive[**from]).count();
        let mut left: Vec<usize> = (0..after.len()).map(|node| waiting(&alive, node)).collect();
        let mut free: Vec<usize> = (0..after.len()).filter(|node| alive[*node] && left[*node] == 0).collect();
        while let Some(node) = free.pop() {
            alive[node] = false;
            for next in forward[node].iter().filter(|next| alive[**next]) {
                left[*next] -= 1;
                if left[*next] == 0 {
                    free.push(*next);
                }
            }
        }
    }
    (0..after.len()).filter(|node| alive[*node]).collect()
}
