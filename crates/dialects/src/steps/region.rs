//! Which steps belong together: what a retry does again, what a merge can wait for.

use branchpoint_expr::Located;

use super::tree::{Document, No, Role};

/// The steps that a retry may go back to: those around it, and earlier elements of the chains that hold it, as far as the
/// innermost loop body, branch or error handler.
pub(super) fn retry_targets(document: &Document<'_>, retry: No) -> Vec<No> {
    let mut targets = Vec::new();
    let mut at = retry;
    loop {
        let list = document.list_of(at);
        if document.is_chain(document.parent(at), list) {
            targets.extend(list.steps.iter().copied().take_while(|step| *step != at));
        }
        match document.parent(at) {
            Some(parent) if matches!(list.role, Role::Children | Role::Arm(_)) => {
                targets.push(parent);
                at = parent;
            }
            _ => return targets,
        }
    }
}

/// What a retry does again: the elements of one list, from the target to the one that holds the retry.
pub(super) fn retried(document: &Document<'_>, retry: No, target: No) -> Vec<No> {
    let list = document.list_of(target);
    let holds = |step: No| step == retry || document.around(retry).any(|(holder, _)| holder == step);
    let from = list.steps.iter().position(|step| *step == target).unwrap_or(0);
    let to = list.steps.iter().position(|step| holds(*step)).unwrap_or(from);
    let again = list.steps.get(from..=to.max(from)).unwrap_or_default();
    again.iter().flat_map(|step| document.below(*step)).collect()
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
