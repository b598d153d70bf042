//! Events and states of runs without their secrets.

use branchpoint_backend::{ApprovalRecord, Backend, Run, RunNo, RunView};
use branchpoint_core::ir::Program;
use branchpoint_core::{Event, Fold, JournalRow, State, status};
use branchpoint_expr::{Object, Value};
use branchpoint_runners::Secrets;

use crate::problem::{Problem, ProblemKind};

/// The most bytes of a journal that is sent.
pub(super) const MAX_BYTES: u64 = 32 * 1024 * 1024;

/// The events of a run with secrets masked. Their check words are those of the masked events.
pub(super) fn journal(backend: &dyn Backend, row: &Run) -> Result<Vec<JournalRow>, Problem> {
    let (events, bytes) = backend.journal_size(row.run)?;
    if bytes > MAX_BYTES {
        let detail = format!(
            "Run `{}` has {events} events with {} MiB, and at most {} MiB are sent. Use the web page, or the command on the server.",
            row.id,
            bytes.div_ceil(1024 * 1024),
            MAX_BYTES / (1024 * 1024)
        );
        return Err(Problem::new(ProblemKind::TooLarge, detail));
    }
    let (rows, secrets) = (backend.journal(row.run)?, backend.secrets(row.run)?);
    if secrets.values().is_empty() {
        return Ok(rows);
    }
    let view = backend.load(row.run)?;
    refolded(&view, rows, &secrets).map(|(rows, _)| rows)
}

/// The row of a run, and its state with secrets masked.
pub(super) fn state(backend: &dyn Backend, row: &Run) -> Result<(Run, State), Problem> {
    let (view, secrets) = (backend.load(row.run)?, backend.secrets(row.run)?);
    if secrets.values().is_empty() {
        return Ok((view.row, view.state));
    }
    let mut rows = backend.journal(row.run)?;
    // Another process may have written more events since the run was loaded.
    rows.truncate(usize::try_from(view.state.seq()).unwrap_or(usize::MAX));
    let (_, state) = refolded(&view, rows, &secrets)?;
    Ok((view.row, state))
}

/// The requests of a run to people, with secrets masked.
pub(super) fn approval_records(backend: &dyn Backend, run: RunNo) -> Result<Vec<ApprovalRecord>, Problem> {
    let secrets = backend.secrets(run)?;
    let masked = |record: ApprovalRecord| ApprovalRecord { spec: secrets.mask_value(&record.spec), ..record };
    Ok(backend.approval_records(run)?.into_iter().map(masked).collect())
}

/// Folds the masked events again. An error if the run would be elsewhere without its secrets.
fn refolded(view: &RunView, rows: Vec<JournalRow>, secrets: &Secrets) -> Result<(Vec<JournalRow>, State), Problem> {
    let masked: Vec<JournalRow> =
        rows.into_iter().map(|(stamp, event, check)| (stamp, masked(event, secrets), check)).collect();
    let depends = || {
        let detail = format!(
            "The steps of run `{}` depend on a secret, which is not sent. Use the web page, or the command on the server.",
            view.row.id
        );
        Problem::new(ProblemKind::Conflict, detail).with("code", "damaged")
    };
    fold(&view.program, masked).filter(|(_, state)| status(&view.program, state) == view.status()).ok_or_else(depends)
}

fn fold(program: &Program, rows: Vec<JournalRow>) -> Option<(Vec<JournalRow>, State)> {
    let mut fold = Fold::new(program, State::new(), rows).without_check();
    let mut folded = Vec::new();
    for event in fold.by_ref() {
        let event = event.ok()?;
        folded.push((event.stamp, event.event, event.outcome.check));
    }
    Some((folded, fold.into_parts().0))
}

fn masked(event: Event, secrets: &Secrets) -> Event {
    let value = |value: Value| secrets.mask_value(&value);
    match event {
        Event::Start { input, facts, depth, max_ops, budget } => {
            let facts = value(Value::from(facts));
            let facts: Object = facts.as_object().cloned().unwrap_or_default();
            Event::Start { input: value(input), facts, depth, max_ops, budget }
        }
        Event::Settled { effect, attempt, result, usage } => {
            let result = result.map(value).map_err(|mut error| {
                error.message = secrets.mask(&error.message).into();
                error
            });
            Event::Settled { effect, attempt, result, usage }
        }
        Event::Signal { name, payload, sender, key } => Event::Signal { name, payload: value(payload), sender, key },
        Event::Cancel { reason } => Event::Cancel { reason: reason.map(|reason| secrets.mask(&reason).into()) },
        Event::Adopt(mut state) => {
            state.map_values(&mut |inner| *inner = secrets.mask_value(inner));
            Event::Adopt(state)
        }
        event @ (Event::TimerFired(_) | Event::Continue) => event,
    }
}
