//! Which steps belong together: what a retry does again, what a merge can wait for.

use std::ops::Range;

use branchpoint_expr::Located;

use super::tree::{Document, No, Role};

/// Whether a retry may go back to a step: one around it, or an earlier element of a chain that holds it, as far as the
/// innermost loop body, branch or error handler.
pub(super) fn may_go_back(document: &Document<'_>, retry: No, target: No) -> bool {
    let mut at = retry;
    loop {
        let list = document.list_of(at);
        if target < at && document.are_siblings(target, at) && document.is_chain(document.parent(at), list) {
            return true;
        }
        match document.parent(at) {
            Some(parent) if matches!(list.role, Role::Children | Role::Arm(_)) => at = parent,
            _ => return false,
        }
        if at == target {
            return true;
        }
    }
}

/// What a retry does again: the elements of one list, from the target to the one that holds the retry, and all that stands in
/// them. That may be the whole document, so it is never written out.
pub(super) fn retried(document: &Document<'_>, retry: No, target: No) -> Range<No> {
    let mut holders = std::iter::once(retry).chain(document.around(retry).map(|(holder, _)| holder));
    let holder = holders.find(|holder| document.are_siblings(*holder, target)).unwrap_or(target);
    target..document.steps[holder.max(target)].end
}

/// Every join with the merge that it feeds, in the order of the text.
pub(super) fn joins(document: &Document<'_>) -> impl Iterator<Item = (No, No)> {
    let joins = document.steps.iter().enumerate().filter(|(_, step)| step.is("join"));
    joins.filter_map(|(no, step)| {
        let merge = document.find(step.get("target").and_then(Located::text)?)?;
        document.steps[merge].is("merge").then_some((no, merge))
    })
}

/// Whether two steps are in the same loop body and the same error handler: what may run many times or never is one world.
pub(super) fn same_region(document: &Document<'_>, left: No, right: No) -> bool {
    let region = |no: No| {
        document
            .around(no)
            .find(|(_, list)| matches!(list.role, Role::Body | Role::OnError))
            .map(|(holder, list)| (holder, list.role))
    };
    region(left) == region(right)
}
