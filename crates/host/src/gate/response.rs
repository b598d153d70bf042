//! The response of a session to a request.

use branchpoint_backend::{SessionRejection, SessionResponse};
use branchpoint_core::ir::{Program, ViewId};
use branchpoint_core::{BranchOutcome, BranchRecord, Note, NoteKind, State, view};
use branchpoint_expr::{Object, Value};

/// The view of a session, with the reasons in its notes.
///
/// ```
/// use branchpoint_core::{State, ir::builder::Builder};
/// use branchpoint_host::gate::session_response;
///
/// assert!(session_response(&Builder::sample(), &State::new(), &[]).is_err(), "it is not a session");
/// ```
pub fn response(program: &Program, state: &State, notes: &[Note]) -> Result<SessionResponse, SessionRejection> {
    let read = |name: &str| view(program, state, view_named(program, name)?).map_err(SessionRejection::View);
    let problems = read("problems")?.as_list().unwrap_or_default().to_vec();
    Ok(SessionResponse { state: read("session")?, problems, reasons: reasons(notes) })
}

/// The view of a session's program with this name.
pub(super) fn view_named(program: &Program, name: &str) -> Result<ViewId, SessionRejection> {
    let index = program.views.iter().position(|view| &*view.name == name);
    index.and_then(|at| u32::try_from(at).ok()).map(ViewId).ok_or(SessionRejection::NoSession)
}

/// The steps that were evaluated, in order, each with the outcome of its condition.
fn reasons(notes: &[Note]) -> Vec<Value> {
    let decided = notes.iter().filter_map(|note| match &note.kind {
        NoteKind::Decided(decided) => Some(decided),
        _ => None,
    });
    decided.flat_map(|decided| &decided.branches).filter_map(reason).collect()
}

fn reason(branch: &BranchRecord) -> Option<Value> {
    let explanation = serde_json::from_str(&branch.explanation.as_ref()?.to_json()).unwrap_or_default();
    let holds = Value::Bool(branch.outcome == BranchOutcome::True);
    let reason = [("step", Value::Str(branch.name.clone())), ("holds", holds), ("explanation", explanation)];
    Some(Value::from(reason.into_iter().map(|(key, value)| (key.into(), value)).collect::<Object>()))
}
