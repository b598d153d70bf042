//! Where a retry may go back to, and which merge a join may feed.

use branchpoint_expr::{Kind, Shape};

use super::Check;
use crate::DocumentKinds as _;
use crate::steps::raw::is_id;
use crate::steps::region::{may_go_back, same_region};
use crate::steps::tree::{No, Role};

impl Check<'_, '_> {
    pub(super) fn jumps(&mut self) {
        let mut good = true;
        for no in 0..self.document.steps.len() {
            match self.document.steps[no].kind.name {
                "retry" => self.retry(no),
                "join" => good &= self.join(no),
                _ => {}
            }
        }
        // An order is looked for only where every join is in place: one misplaced join would be told twice.
        if good {
            self.order();
        }
    }

    fn retry(&mut self, no: No) {
        let document = self.document;
        let step = &document.steps[no];
        if !matches!(step.get("max_retries").map(|most| &most.shape), Some(Shape::Int(1..=10))) {
            let span = step.get("max_retries").map_or(step.span(), |most| most.span);
            let message = "`max_retries` is a whole number from 1 to 10";
            self.error(Kind::RetryMax, span, message, "say how often the target runs again at most");
        }
        let Some((target, span)) = self.target(no, "target_step_id", Kind::RetryTargetFormat) else { return };
        let found = document.find(&target);
        if found.is_none_or(|found| !may_go_back(document, no, found)) {
            let message = format!("a retry cannot go back to `{target}` from here");
            let help = "the target is a step around this one, or an earlier element of a chain that holds it, in the same \
                        loop body, branch or error handler";
            self.error(Kind::RetryTarget, span, message, help);
        }
    }

    /// Whether the join is where its merge can wait for it.
    fn join(&mut self, no: No) -> bool {
        let document = self.document;
        let Some((target, span)) = self.target(no, "target", Kind::JoinTargetFormat) else { return false };
        let Some(merge) = document.find(&target).filter(|merge| document.steps[*merge].is("merge")) else {
            let message = format!("there is no merge `{target}`");
            self.error(Kind::JoinTarget, span, message, "name a step of the type merge");
            return false;
        };
        let problem = if document.around(no).any(|(holder, _)| holder == merge) {
            "this join is below its own merge"
        } else if !same_region(document, no, merge) {
            "join and merge must be in the same loop body or error handler"
        } else if !self.in_order(no, merge) {
            "this join is neither in another branch beside its merge nor in an earlier element of its chain"
        } else {
            return true;
        };
        let help = "the branches of one fan-out or parallel step are joined, or a chain before a merge";
        self.error(Kind::JoinOrder, span, problem, help);
        false
    }

    /// Looks at the list in which the ways to both part.
    fn in_order(&self, join: No, merge: No) -> bool {
        let document = self.document;
        let way = |no: No| {
            let mut way: Vec<No> = document.around(no).map(|(holder, _)| holder).collect();
            way.reverse();
            way.push(no);
            way
        };
        let (to_join, to_merge) = (way(join), way(merge));
        let parted = to_join.iter().zip(&to_merge).position(|(left, right)| left != right);
        let Some((left, right)) = parted.map(|at| (to_join[at], to_merge[at])) else { return false };
        if !document.are_siblings(left, right) {
            // Two lists of one step: only the branches of a parallel step run beside each other.
            let role = |no: No| document.list_of(no).role;
            return matches!((role(left), role(right)), (Role::Branch(_), Role::Branch(_)));
        }
        let list = document.list_of(left);
        !document.is_chain(document.parent(left), list) || left < right
    }

    fn target(&mut self, no: No, key: &str, format: Kind) -> Option<(String, branchpoint_expr::Span)> {
        let step = &self.document.steps[no];
        let Some(value) = step.get(key) else {
            let message = format!("a {} step needs `{key}`", step.kind.name);
            self.error(format, step.span(), message, "name a step by its id");
            return None;
        };
        if let Some(id) = value.text().filter(|id| is_id(id)) {
            return Some((id.to_string(), value.span));
        }
        let help = "an id has letters, digits, `_` and `-`";
        self.error(format, value.span, format!("`{key}` is the id of a step"), help);
        None
    }
}
