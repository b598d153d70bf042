//! Finds the approval that a person names on the command line.

use anyhow::{Result, bail};
use branchpoint_backend::{Backend, OpenApproval, OpenApprovals, RunNo};
use branchpoint_core::ApprovalKey;
use branchpoint_expr::Value;

use super::text::reference_to;
use crate::store_access::StoreAccess;
use crate::{terminal, time};

/// The open approvals, with a warning for each run that cannot be read.
pub(super) fn readable(found: OpenApprovals) -> Vec<OpenApproval> {
    for (id, why) in &found.unreadable {
        terminal::message(&format!("warning: run `{id}` cannot be opened: {why}\n"));
    }
    found.open
}

/// Whether the second part of a name means an approval: its number, or the id of its step.
fn is_named(open: &OpenApproval, name: &str) -> bool {
    match &open.approval.key {
        ApprovalKey::Request(request) => request.0.to_string() == name || &*open.approval.step == name,
        ApprovalKey::Step(step) => &**step == name,
        ApprovalKey::Line => false,
    }
}

/// The approval of a name: a run with one approval, RUN/N or RUN/STEP.
pub(super) fn by_name(opened: &StoreAccess, name: &str) -> Result<OpenApproval> {
    let split = name.rsplit_once('/');
    let (run, which) = match opened.run(name) {
        Ok(run) => (run, None),
        Err(unknown) => match split {
            Some((run, which)) => (opened.run(run)?, Some(which)),
            None => return Err(unknown),
        },
    };
    let mut open = readable(opened.store.approvals(run.run)?);
    let names: Vec<String> =
        open.iter().map(|open| format!("{} ({})", reference_to(open), open.approval.step)).collect();
    open.retain(|open| which.is_none_or(|which| is_named(open, which)));
    match open.len() {
        1 => Ok(open.remove(0)),
        0 if names.is_empty() || which.is_some() => {
            if let Some(expired) = expired(&*opened.store, run.run, which)? {
                bail!("{expired}");
            }
            let status = opened.store.status(run.run)?;
            if names.is_empty() {
                bail!(
                    "run `{}` has no open approval: it is {}\nhelp: `branchpoint approvals list` lists open approvals",
                    run.id,
                    status.as_str()
                );
            }
            bail!(
                "run `{}` has no open approval `{}`; it has:\n  {}",
                run.id,
                which.unwrap_or_default(),
                names.join("\n  ")
            )
        }
        _ => bail!("run `{}` has several open approvals; name one:\n  {}", run.id, names.join("\n  ")),
    }
}

/// The newest approval of a run whose deadline has passed, as a message.
fn expired(store: &dyn Backend, run: RunNo, which: Option<&str>) -> Result<Option<String>> {
    let id = store.row(run)?.id;
    for question in store.approval_records(run)?.into_iter().rev() {
        let step = question.spec.get("step").and_then(Value::as_str).unwrap_or_default();
        let number = question.request.0.to_string();
        if which.is_some_and(|which| which != number && which != step) {
            continue;
        }
        let timeout_ms = match question.spec.get("timeout_ms") {
            Some(Value::Int(timeout_ms)) => *timeout_ms,
            _ => return Ok(None),
        };
        let deadline_ms = question.requested_ms.saturating_add(timeout_ms);
        let expired = question.closed_ms.is_some_and(|closed_ms| closed_ms >= deadline_ms);
        return Ok(expired.then(|| late(&format!("{id}/{number}"), deadline_ms)));
    }
    Ok(None)
}

/// The message for a vote after the deadline.
pub(super) fn late(name: &str, deadline_ms: i64) -> String {
    format!("the deadline of `{name}` passed at {}", time::local(deadline_ms))
}
