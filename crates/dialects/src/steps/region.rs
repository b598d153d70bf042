//! Regions of steps: the steps that a retry repeats, and the joins that a merge can wait for.

use std::ops::Range;

use branchpoint_expr::Located;

use super::budget;
use super::tree::{Document, Role, StepIndex};

/// Whether a retry may go back to a step: an enclosing step, or an earlier element of an enclosing chain, up to the
/// innermost loop body, branch or error handler.
pub(super) fn may_go_back(document: &Document<'_>, retry: StepIndex, target: StepIndex) -> bool {
    let mut at = retry;
    loop {
        let list = document.list_of(at);
        if target < at && document.are_siblings(target, at) && document.is_chain(document.parent(at), list) {
            return true;
        }
        match document.parent(at) {
            Some(parent)
                if matches!(list.role, Role::Children | Role::Arm(_))
                    && !budget::covers(&document.steps[parent], list.role) =>
            {
                at = parent;
            }
            _ => return false,
        }
        if at == target {
            return true;
        }
    }
}

/// The steps that a retry repeats: the elements of one list, from the target to the one with the retry, and all steps in
/// them. This can be the whole document, so it is a range.
pub(super) fn retried(document: &Document<'_>, retry: StepIndex, target: StepIndex) -> Range<StepIndex> {
    let mut holders = std::iter::once(retry).chain(document.around(retry).map(|(holder, _)| holder));
    let holder = holders.find(|holder| document.are_siblings(*holder, target)).unwrap_or(target);
    target..document.steps[holder.max(target)].end
}

/// Every join with the merge that it feeds, in the order of the text.
pub(super) fn joins(document: &Document<'_>) -> impl Iterator<Item = (StepIndex, StepIndex)> {
    let joins = document.steps.iter().enumerate().filter(|(_, step)| step.is("join"));
    joins.filter_map(|(index, step)| {
        let merge = document.find(step.get("target").and_then(Located::text)?)?;
        document.steps[merge].is("merge").then_some((index, merge))
    })
}

/// Whether two steps are in the same loop body, the same budgeted part and the same handler: the steps inside may run many times or never.
pub(super) fn same_region(document: &Document<'_>, left: StepIndex, right: StepIndex) -> bool {
    let region = |index: StepIndex| {
        let mut around = document.around(index);
        let innermost = around.find(|(holder, list)| is_region(document, *holder, list.role));
        let handler = |role: Role| matches!(role, Role::OnError | Role::OnBudget).then_some(role);
        match innermost {
            Some((holder, list)) => (Some(holder), handler(list.role)),
            None => (None, handler(document.top_list(index).role)),
        }
    };
    region(left) == region(right)
}

/// Whether no join leads into a list of a step or out of it.
pub(super) fn is_region(document: &Document<'_>, holder: StepIndex, role: Role) -> bool {
    matches!(role, Role::Body | Role::OnError | Role::OnBudget) || budget::covers(&document.steps[holder], role)
}
