//! Which runs: the filter of lists and of bulk changes.

use std::cmp::Reverse;

use branchpoint_backend::{Backend, Cursor, Filter, Run};
use branchpoint_core::ir::Status;
use serde::Deserialize;
use utoipa::ToSchema;

use crate::app::App;
use crate::caller::{Action, Caller};
use crate::problem::Problem;
use crate::time::now_ms;

/// A filter for runs. Without conditions it selects all runs.
#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Selection {
    /// Runs with one of these statuses.
    #[schema(value_type = Vec<crate::schemas::RunStatus>)]
    pub(super) status: Vec<String>,
    /// Runs of this workflow.
    pub(super) workflow: Option<String>,
    /// Runs whose id, workflow, input or result contains all these words.
    pub(super) q: Option<String>,
    /// Runs that have all these tags.
    pub(super) tags: Vec<String>,
    /// Runs started at or after this time, RFC 3339, or within this duration, such as `24h`.
    #[schema(
        pattern = r"^([1-9][0-9]{0,3}[smh]|20[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z)?$"
    )]
    pub(super) since: Option<String>,
    /// Runs started before this time, RFC 3339, or before this duration, such as `24h`.
    #[schema(
        pattern = r"^([1-9][0-9]{0,3}[smh]|20[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z)?$"
    )]
    pub(super) until: Option<String>,
    /// Runs that other runs called, too.
    pub(super) children: bool,
    /// Sessions, too.
    pub(super) sessions: bool,
}

/// The conditions of a selection.
pub(super) struct Conditions {
    statuses: Vec<Status>,
    filter: Filter,
}

impl Selection {
    /// Reads the conditions.
    pub(super) fn conditions(&self) -> Result<Conditions, Problem> {
        let mut statuses: Vec<Status> = Vec::new();
        for status in self.status.iter().map(|name| status_named(name)) {
            let status = status?;
            if !statuses.contains(&status) {
                statuses.push(status);
            }
        }
        let time =
            |text: &Option<String>| text.as_deref().filter(|text| !text.trim().is_empty()).map(moment).transpose();
        let given = |text: &Option<String>| text.clone().filter(|text| !text.trim().is_empty());
        let filter = Filter {
            status: if let [status] = statuses[..] { Some(status) } else { None },
            workflow: given(&self.workflow),
            tags: self.tags.clone(),
            since_ms: time(&self.since)?,
            until_ms: time(&self.until)?,
            search: given(&self.q),
            children: self.children,
            sessions: self.sessions,
            before: None,
            limit: None,
        };
        Ok(Conditions { statuses, filter })
    }
}

/// How many rows a page may skip because the caller may not read them.
const MAX_SKIPPED: usize = 2_000;

impl Conditions {
    /// The next rows of the list. Each of several statuses is a list of its own, with an index.
    fn rows(&self, backend: &dyn Backend, before: Option<Cursor>, limit: usize) -> Result<Vec<Run>, Problem> {
        let filter = Filter { before, limit: u32::try_from(limit).ok(), ..self.filter.clone() };
        if self.statuses.len() < 2 {
            return Ok(backend.runs(&filter)?);
        }
        let mut rows = Vec::new();
        for status in &self.statuses {
            rows.extend(backend.runs(&Filter { status: Some(*status), ..filter.clone() })?);
        }
        rows.sort_by_key(|run| Reverse(run.cursor()));
        rows.truncate(limit);
        Ok(rows)
    }

    /// So many runs that match and that the caller may read, newest first, and the cursor of the next.
    pub(super) fn page(
        &self,
        app: &App,
        backend: &dyn Backend,
        caller: &Caller,
        (limit, before): (usize, Option<Cursor>),
    ) -> Result<(Vec<Run>, Option<String>), Problem> {
        if self.filter.search.is_some() {
            backend.index_runs()?;
        }
        let mut rows = Vec::new();
        let (mut before, mut skipped) = (before, 0);
        loop {
            let runs = self.rows(backend, before, limit + 1)?;
            let is_end = runs.len() <= limit;
            for run in runs {
                let may_read = caller.may(Action::Read, &app.version(backend, run.workflow)?.name).is_ok();
                if !may_read {
                    skipped += 1;
                    before = Some(run.cursor());
                    continue;
                }
                if rows.len() == limit {
                    return Ok((rows, before.map(|before| before.to_string())));
                }
                before = Some(run.cursor());
                rows.push(run);
            }
            if is_end {
                return Ok((rows, None));
            }
            if skipped >= MAX_SKIPPED {
                return Ok((rows, before.map(|before| before.to_string())));
            }
        }
    }
}

/// The parts of a list that is separated by commas.
pub(super) fn list_of(text: Option<&str>) -> Vec<String> {
    let parts = text.unwrap_or_default().split(',').map(str::trim).filter(|part| !part.is_empty());
    parts.map(str::to_owned).collect()
}

fn status_named(name: &str) -> Result<Status, Problem> {
    Status::ALL.into_iter().find(|status| status.as_str() == name).ok_or_else(|| {
        let known = Status::ALL.map(Status::as_str).join(", ");
        Problem::bad_request(format!("`{name}` is not a status of a run. The statuses are {known}."))
    })
}

/// A time as RFC 3339, or a duration before now.
fn moment(text: &str) -> Result<i64, Problem> {
    if let Ok(time) = text.parse::<jiff::Timestamp>() {
        return Ok(time.as_millisecond());
    }
    let duration = text.parse::<jiff::SignedDuration>().or_else(|_| days(text).ok_or(()));
    let duration = duration.map_err(|()| {
        Problem::bad_request(format!(
            "`{text}` must be a time such as 2026-11-15T21:15:00Z, or a duration such as 24h."
        ))
    })?;
    let ms = i64::try_from(duration.as_millis().unsigned_abs()).unwrap_or(i64::MAX);
    Ok(now_ms().saturating_sub(ms))
}

fn days(text: &str) -> Option<jiff::SignedDuration> {
    let days: i64 = text.strip_suffix('d')?.parse().ok()?;
    Some(jiff::SignedDuration::from_hours(days.checked_mul(24)?))
}
