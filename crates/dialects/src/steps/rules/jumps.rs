//! Where a retry may go back to, and which merge a join may feed.

use branchpoint_expr::{Kind, Shape};

use super::Check;
use crate::DocumentKinds as _;
use crate::steps::raw::is_id;
use crate::steps::region::{may_go_back, same_region};
use crate::steps::tree::{Role, StepIndex};

impl Check<'_, '_> {
    pub(super) fn jumps(&mut self) {
        let mut good = true;
        for index in 0..self.document.steps.len() {
            match self.document.steps[index].kind.name {
                "retry" => self.retry(index),
                "join" => good &= self.join(index),
                _ => {}
            }
        }
        // The order is checked only if every join is valid: one misplaced join would be reported twice.
        if good {
            self.order();
        }
    }

    fn retry(&mut self, index: StepIndex) {
        let document = self.document;
        let step = &document.steps[index];
        if !matches!(step.get("max_retries").map(|most| &most.shape), Some(Shape::Int(1..=10))) {
            let span = step.get("max_retries").map_or(step.span(), |most| most.span);
            let message = "`max_retries` is a whole number from 1 to 10";
            self.error(Kind::RetryMax, span, message, "say how often the target runs again at most");
        }
        let Some((target, span)) = self.target(index, "target_step_id", Kind::RetryTargetFormat) else { return };
        let actual = document.find(&target);
        if actual.is_none_or(|actual| !may_go_back(document, index, actual)) {
            let message = format!("a retry cannot go back to `{target}` from here");
            let help = "the target is a step around this one, or an earlier element of a chain that holds it, in the same \
                        loop body, branch or error handler";
            self.error(Kind::RetryTarget, span, message, help);
        }
    }

    /// Whether the join is where its merge can wait for it.
    fn join(&mut self, index: StepIndex) -> bool {
        let document = self.document;
        let Some((target, span)) = self.target(index, "target", Kind::JoinTargetFormat) else { return false };
        let Some(merge) = document.find(&target).filter(|merge| document.steps[*merge].is("merge")) else {
            let message = format!("there is no merge `{target}`");
            self.error(Kind::JoinTarget, span, message, "name a step of the type merge");
            return false;
        };
        let problem = if document.around(index).any(|(holder, _)| holder == merge) {
            "this join is below its own merge"
        } else if !same_region(document, index, merge) {
            "join and merge must be in the same loop body or error handler"
        } else if !self.in_order(index, merge) {
            "this join is neither in another branch beside its merge nor in an earlier element of its chain"
        } else {
            return true;
        };
        let help = "the branches of one fan-out or parallel step are joined, or a chain before a merge";
        self.error(Kind::JoinOrder, span, problem, help);
        false
    }

    /// Compares the positions in the list in which the paths to both diverge.
    fn in_order(&self, join: StepIndex, merge: StepIndex) -> bool {
        let document = self.document;
        let way = |index: StepIndex| {
            let mut way: Vec<StepIndex> = document.around(index).map(|(holder, _)| holder).collect();
            way.reverse();
            way.push(index);
            way
        };
        let (to_join, to_merge) = (way(join), way(merge));
        let parted = to_join.iter().zip(&to_merge).position(|(left, right)| left != right);
        let Some((left, right)) = parted.map(|at| (to_join[at], to_merge[at])) else { return false };
        if !document.are_siblings(left, right) {
            // Two lists of one step: only the branches of a parallel step run beside each other.
            let role = |index: StepIndex| document.list_of(index).role;
            return matches!((role(left), role(right)), (Role::Branch(_), Role::Branch(_)));
        }
        let list = document.list_of(left);
        !document.is_chain(document.parent(left), list) || left < right
    }

    fn target(&mut self, index: StepIndex, key: &str, format: Kind) -> Option<(String, branchpoint_expr::Span)> {
        let step = &self.document.steps[index];
        let Some(value) = step.get(key) else {
            let message = format!("a {} step needs `{key}`", step.kind.name);
            self.error(format, step.span(), message, "name a step by its id");
            return None;
        };
        if let Some(id) = value.text().filter(|id| is_id(id)) {
            self.refers(id, value.span);
            return Some((id.to_string(), value.span));
        }
        let help = "an id has letters, digits, `_` and `-`";
        self.error(format, value.span, format!("`{key}` is the id of a step"), help);
        None
    }
}
