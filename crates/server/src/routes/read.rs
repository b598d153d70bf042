//! What another Branchpoint process reads of this server, such as the command line with `--server`. Secrets are masked before anything is
//! sent, and a run that cannot be replayed without them is an error.

mod masked;

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use branchpoint_backend::{
    Backend, Bytes, Filter, JournalPart, OpenRuns, ReadRequest, Run, RunNo, RunState, WorkflowNo,
};
use branchpoint_core::codec;
use serde::Serialize;
use serde_json::Value;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::body::Body;
use crate::caller::{Action, Caller};
use crate::catalogue::Version;
use crate::problem::{Problem, ProblemKind};
use crate::time::now_ms;

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(read))
}

/// The most runs of one response.
const MAX_RUNS: u32 = 1_000;

/// The most approvals whose runs one response has.
const MAX_OPEN: usize = 1_000;

/// Reads what the command line shows with `--server`, in the form in which a store has it: rows, programs, states and events, with
/// secrets masked. The requests have a version of their own, which is in `/me`; other clients use the other endpoints. Changes nothing.
#[utoipa::path(post, path = "/read", tag = "general", operation_id = "read",
    request_body(content = Object, description = "`{read: NAME, …}`"),
    responses((status = 200, description = "What was read", body = Value)))]
async fn read(
    State(app): State<App>,
    caller: Caller,
    Body(request): Body<ReadRequest>,
) -> Result<Json<Value>, Problem> {
    caller.may_on_some(Action::Read)?;
    let shared = app.clone();
    app.call(move |backend| Reader { app: &shared, backend, caller: &caller }.read(request).map(Json)).await
}

struct Reader<'r> {
    app: &'r App,
    backend: &'r dyn Backend,
    caller: &'r Caller,
}

impl Reader<'_> {
    fn read(&self, request: ReadRequest) -> Result<Value, Problem> {
        let backend = self.backend;
        match request {
            ReadRequest::Run { id } => json(&backend.run(&id)?.filter(|run| self.may_read(run))),
            ReadRequest::FindRuns { part } => {
                let mut runs = backend.find_runs(&part)?;
                runs.retain(|run| self.may_read(run));
                json(&runs)
            }
            ReadRequest::Runs { filter } => json(&self.runs(filter)?),
            ReadRequest::IndexRuns {} => json(&backend.index_runs()?),
            ReadRequest::Drivers {} => json(&backend.drivers()?),
            ReadRequest::OpenApprovals {} => json(&self.open_runs(backend.open_approvals()?)?),
            ReadRequest::Workflows {} => {
                let mut workflows = backend.workflows()?;
                workflows.retain(|workflow| self.caller.may(Action::Read, &workflow.name).is_ok());
                json(&workflows)
            }
            ReadRequest::Workflow { name } => {
                let workflow = backend.workflow(&name)?.filter(|workflow| self.workflow(*workflow).is_ok());
                json(&workflow)
            }
            ReadRequest::Document { workflow } => {
                self.workflow(workflow)?;
                json(&backend.document(workflow)?)
            }
            ReadRequest::Program { workflow, part } => {
                self.workflow(workflow)?;
                let program = backend.program(workflow, &part)?;
                json(
                    &program
                        .map(|program| codec::encode_program(&program).map(Bytes))
                        .transpose()
                        .map_err(|error| unstorable(&error))?,
                )
            }
            ReadRequest::Sessions {} => {
                let mut sessions = backend.sessions()?;
                sessions.retain(|session| self.caller.may(Action::Read, &session.document).is_ok());
                json(&sessions)
            }
            ReadRequest::Row { run }
            | ReadRequest::Children { run }
            | ReadRequest::RootOf { run }
            | ReadRequest::Status { run }
            | ReadRequest::NextDue { run }
            | ReadRequest::Queued { run }
            | ReadRequest::JournalSize { run }
            | ReadRequest::UnavailableSecrets { run }
            | ReadRequest::Script { run }
            | ReadRequest::IsScripted { run }
            | ReadRequest::Recording { run }
            | ReadRequest::State { run }
            | ReadRequest::Journal { run, .. }
            | ReadRequest::ApprovalRecords { run }
            | ReadRequest::Approvals { run } => self.read_of(&self.run(run)?, &request),
        }
    }

    /// What is read of one run.
    fn read_of(&self, row: &Run, request: &ReadRequest) -> Result<Value, Problem> {
        let (backend, run) = (self.backend, row.run);
        match request {
            ReadRequest::Children { .. } => json(&backend.children(run)?),
            ReadRequest::RootOf { .. } => json(&backend.root_of(run)?),
            ReadRequest::Status { .. } => json(&backend.status(run)?),
            ReadRequest::NextDue { .. } => json(&backend.next_due_ms(run)?),
            ReadRequest::Queued { .. } => {
                let secrets = backend.secrets(run)?;
                json(&backend.queued(run, now_ms())?.map(|mut queued| {
                    queued.group = queued.group.map(|group| secrets.mask(&group).into_owned());
                    queued.reason = secrets.mask(&queued.reason).into_owned();
                    queued
                }))
            }
            ReadRequest::JournalSize { .. } => json(&backend.journal_size(run)?),
            ReadRequest::UnavailableSecrets { .. } => json(&backend.unavailable_secrets(run)?),
            ReadRequest::Script { .. } => {
                let secrets = backend.secrets(run)?;
                json(&backend.script(run)?.map(|mut script| {
                    script.script = secrets.mask_value(&script.script);
                    script
                }))
            }
            ReadRequest::IsScripted { .. } => json(&backend.is_scripted(run)?),
            ReadRequest::Recording { .. } => json(&backend.recording(run, &backend.secrets(run)?)?),
            ReadRequest::State { .. } => json(&self.state(row)?),
            ReadRequest::Journal { after, .. } => {
                let rows = masked::journal(backend, row)?;
                let after = usize::try_from(*after).unwrap_or(usize::MAX);
                let events = rows.iter().skip(after).map(|(stamp, event, check)| {
                    Ok((Bytes(codec::encode_event(stamp, event).map_err(|error| unstorable(&error))?), *check))
                });
                json(&JournalPart { events: events.collect::<Result<_, Problem>>()? })
            }
            ReadRequest::ApprovalRecords { .. } => json(&masked::approval_records(backend, run)?),
            ReadRequest::Approvals { .. } => json(&self.open_runs(backend.approvals(run)?)?),
            _ => json(row),
        }
    }

    fn state(&self, row: &Run) -> Result<RunState, Problem> {
        let (row, state) = masked::state(self.backend, row)?;
        Ok(RunState { row, state: Bytes(codec::encode_state(&state).map_err(|error| unstorable(&error))?) })
    }

    fn open_runs(&self, listed: branchpoint_backend::OpenApprovals) -> Result<OpenRuns, Problem> {
        let numbers: BTreeSet<RunNo> = listed.open.iter().map(|open| open.run).collect();
        if numbers.len() > MAX_OPEN {
            let detail = format!(
                "More than {MAX_OPEN} runs have open approvals. Use the web page, or the command on the server."
            );
            return Err(Problem::new(ProblemKind::TooLarge, detail));
        }
        let (mut open, mut bytes) = (OpenRuns::default(), 0);
        for number in numbers {
            let Ok(row) = self.run(number) else { continue };
            let state = self.state(&row)?;
            bytes += state.state.0.len() as u64;
            if bytes > masked::MAX_BYTES {
                let detail = "The open approvals are too large. Use the web page, or the command on the server.";
                return Err(Problem::new(ProblemKind::TooLarge, detail));
            }
            open.runs.push((state, masked::approval_records(self.backend, number)?));
        }
        for (id, error) in listed.unreadable {
            if self.backend.run(&id)?.is_some_and(|run| self.may_read(&run)) {
                open.unreadable.push((id, error.to_string()));
            }
        }
        Ok(open)
    }

    /// Runs that match and that the caller may read, newest first.
    fn runs(&self, filter: Filter) -> Result<Vec<Run>, Problem> {
        let limit = filter.limit.unwrap_or(MAX_RUNS).min(MAX_RUNS);
        let mut filter = Filter { limit: Some(limit), ..filter };
        if self.caller.may_on_server(Action::Read).is_ok() {
            return Ok(self.backend.runs(&filter)?);
        }
        let (mut runs, limit) = (Vec::new(), limit as usize);
        loop {
            let batch = self.backend.runs(&filter)?;
            let is_end = batch.len() < limit;
            filter.before = batch.last().map(Run::cursor);
            runs.extend(batch.into_iter().filter(|run| self.may_read(run)));
            if is_end || runs.len() >= limit {
                runs.truncate(limit);
                return Ok(runs);
            }
        }
    }

    fn may_read(&self, run: &Run) -> bool {
        self.workflow(run.workflow).is_ok()
    }

    /// The row of a run that the caller may read. Another does not exist for them.
    fn run(&self, run: RunNo) -> Result<Run, Problem> {
        let row = self.backend.row(run)?;
        self.workflow(row.workflow).map(|_| row).map_err(|_| Problem::not_found("The run does not exist."))
    }

    /// A workflow that the caller may read.
    fn workflow(&self, workflow: WorkflowNo) -> Result<Arc<Version>, Problem> {
        let missing = || Problem::not_found("The workflow does not exist.");
        let version = self.app.version(self.backend, workflow)?;
        self.caller.may(Action::Read, &version.name).map(|()| version).map_err(|_| missing())
    }
}

fn json(value: &impl Serialize) -> Result<Value, Problem> {
    serde_json::to_value(value)
        .map_err(|error| Problem::new(ProblemKind::Internal, format!("The response cannot be written: {error}.")))
}

fn unstorable(error: &codec::CodecError) -> Problem {
    Problem::new(ProblemKind::Conflict, format!("{error}.")).with("code", "damaged")
}
