//! The trait [`Backend`] over a server.

use std::io::{BufRead, Write};
use std::path::Path;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use branchpoint_backend::{
    Accepted, ApprovalRecord, Attempted, Backend, BackendError, CallSource, Delivery, Document, DriverProcess,
    EventListener, Exported, Filter, HandledBy, Health, HourCount, Imported, Migration, NamedSecret, NewDelivery,
    NewSecret, Notice, OnStart, OpenApproval, OpenApprovals, Priority, Prune, Pruned, Queued, ReadRequest, Replayed,
    Run, RunNo, RunScript, RunView, Session, SessionAction, SessionRequest, SessionResponse, SessionSummary, Start,
    Tags, Workflow, WorkflowNo, WorkflowSummary,
};
use branchpoint_core::ir::{Program, Status};
use branchpoint_core::{Event, Note, Stamp};
use branchpoint_expr::{Object, Value};
use branchpoint_runners::Secrets;
use reqwest::Method;
use serde_json::json;

use crate::connection::{Body, Change, new_key};
use crate::reads::open_approvals;
use crate::{Remote, Shared, followed_run};

/// Implements methods that only read.
macro_rules! read {
    ($($name:ident($($argument:ident: $type:ty),*) -> $result:ty => $request:expr;)*) => {
        $(fn $name(&self, $($argument: $type),*) -> Result<$result, BackendError> {
            self.0.read(&$request)
        })*
    };
}

/// Implements methods that a server does not offer.
macro_rules! unsupported {
    ($($name:ident($($type:ty),*) -> $result:ty => $what:literal;)*) => {
        $(fn $name(&self, $(_: $type),*) -> Result<$result, BackendError> {
            Err(BackendError::Unsupported($what))
        })*
    };
}

impl Backend for Remote {
    read! {
        run(id: &str) -> Option<Run> => ReadRequest::Run { id: id.to_owned() };
        index_runs() -> u64 => ReadRequest::IndexRuns {};
        row(run: RunNo) -> Run => ReadRequest::Row { run };
        children(run: RunNo) -> Vec<Run> => ReadRequest::Children { run };
        root_of(run: RunNo) -> RunNo => ReadRequest::RootOf { run };
        status(run: RunNo) -> Status => ReadRequest::Status { run };
        next_due_ms(run: RunNo) -> Option<i64> => ReadRequest::NextDue { run };
        drivers() -> Vec<DriverProcess> => ReadRequest::Drivers {};
        journal_size(run: RunNo) -> (u64, u64) => ReadRequest::JournalSize { run };
        unavailable_secrets(run: RunNo) -> Option<String> => ReadRequest::UnavailableSecrets { run };
        script(run: RunNo) -> Option<RunScript> => ReadRequest::Script { run };
        is_scripted(run: RunNo) -> bool => ReadRequest::IsScripted { run };
        approval_records(run: RunNo) -> Vec<ApprovalRecord> => ReadRequest::ApprovalRecords { run };
        workflows() -> Vec<WorkflowSummary> => ReadRequest::Workflows {};
        workflow(name: &str) -> Option<WorkflowNo> => ReadRequest::Workflow { name: name.to_owned() };
        document(workflow: WorkflowNo) -> Document => ReadRequest::Document { workflow };
        sessions() -> Vec<SessionSummary> => ReadRequest::Sessions {};
    }

    unsupported! {
        counts() -> Vec<(String, u64)> => "the number of all runs";
        totals(Option<&str>) -> Vec<(Status, u64)> => "the number of all runs";
        hourly(i64, Option<&str>) -> Vec<HourCount> => "the hourly series";
        find_saved(Workflow<'_>) -> Option<WorkflowNo> => "finding a compiled program";
        open_session(&Session) -> RunNo => "opening a session";
        fork_on(RunNo, u64, WorkflowNo, &str, CallSource) -> Accepted => "continuing a run on a changed workflow (`--with`)";
        plan_migration(RunNo, WorkflowNo) -> Migration => "moving runs to a changed workflow";
        migrate(RunNo, WorkflowNo) -> Accepted => "moving runs to a changed workflow";
        export(&[RunNo], &mut dyn Write) -> Exported => "an export";
        import(&mut dyn BufRead, u64, i64) -> Imported => "an import";
        prune(&Prune) -> Pruned => "removing runs";
        start(Start) -> Accepted => "starting a compiled program";
        start_then(Start, OnStart) -> () => "starting a compiled program";
        check(i64, i64) -> Health => "a check of the store";
        backup(&Path) -> bool => "a backup";
        compact(bool) -> bool => "compacting the store";
        notices(i64) -> Vec<Notice> => "reading notices";
        dispatch(&Notice, &[NewDelivery], i64, i64) -> () => "reading notices";
        add_delivery(&NewDelivery, i64) -> String => "managing webhook deliveries";
        claim_deliveries(i64, &str, i64) -> () => "managing webhook deliveries";
        due_deliveries(i64, &str, i64, u32) -> Vec<Delivery> => "managing webhook deliveries";
        next_delivery_ms(i64, &str) -> Option<i64> => "managing webhook deliveries";
        record_attempt(&Delivery, &Attempted, i64) -> () => "managing webhook deliveries";
        deliveries(&str, u32) -> Vec<Delivery> => "managing webhook deliveries";
        last_delivered_ms(&str, &str, &str) -> Option<i64> => "managing webhook deliveries";
        set_secret(&NewSecret, i64) -> () => "managing named secrets";
        remove_secret(&str) -> bool => "managing named secrets";
        named_secrets() -> Vec<NamedSecret> => "managing named secrets";
        named_secret(&str) -> Option<String> => "managing named secrets";
    }

    fn handle(&self) -> Result<Box<dyn Backend>, BackendError> {
        Ok(Box::new(Self(Arc::clone(&self.0))))
    }

    fn find_runs(&self, part: &str) -> Result<Vec<Run>, BackendError> {
        let runs: Vec<Run> = self.0.read(&ReadRequest::FindRuns { part: part.to_owned() })?;
        if let [run] = &runs[..] {
            self.0.set_focus(run.run, &run.id);
        }
        Ok(runs)
    }

    fn runs(&self, filter: &Filter) -> Result<Vec<Run>, BackendError> {
        self.0.runs(filter)
    }

    fn load(&self, run: RunNo) -> Result<RunView, BackendError> {
        self.0.load(run)
    }

    fn load_stored(&self, run: RunNo) -> Result<RunView, BackendError> {
        self.0.load_stored(run)
    }

    fn first_event(&self, run: RunNo) -> Result<Option<Event>, BackendError> {
        Ok(self.0.journal(run)?.into_iter().next().map(|(_, event, _)| event))
    }

    fn version(&self) -> Result<i64, BackendError> {
        Shared::live_version(&self.0)
    }

    fn queued(&self, run: RunNo, _: i64) -> Result<Option<Queued>, BackendError> {
        self.0.read(&ReadRequest::Queued { run })
    }

    fn tag(&self, run: RunNo, add: &Tags, remove: &Tags) -> Result<Tags, BackendError> {
        let body = json!({"add_tags": add.as_slice(), "remove_tags": remove.as_slice()});
        self.update(run, body)?;
        Ok(self.row(run)?.tags)
    }

    fn prioritize(&self, run: RunNo, priority: Priority) -> Result<(), BackendError> {
        self.update(run, json!({"priority": priority.get()}))
    }

    fn journal(&self, run: RunNo) -> Result<Vec<(Stamp, Event, u32)>, BackendError> {
        self.0.journal(run)
    }

    fn replay_part(
        &self,
        run: RunNo,
        from: Option<u64>,
        max_ops: u64,
        notes: &mut dyn FnMut(Note),
    ) -> Result<Replayed, BackendError> {
        self.0.replay_part(run, from, max_ops, notes)
    }

    /// The server has masked all values. Secrets in the program are known to everybody who may read it.
    fn secrets(&self, run: RunNo) -> Result<Secrets, BackendError> {
        let row = self.row(run)?;
        let program = self.0.program(row.workflow, &row.part)?;
        Ok(program.map(|program| Secrets::in_program(&program)).unwrap_or_default())
    }

    fn recording(&self, run: RunNo, mask: &Secrets) -> Result<Value, BackendError> {
        let recording: Value = self.0.read(&ReadRequest::Recording { run })?;
        Ok(mask.mask_value(&recording))
    }

    fn open_approvals(&self) -> Result<OpenApprovals, BackendError> {
        self.0.approvals_of(self.0.read(&ReadRequest::OpenApprovals {})?)
    }

    fn approvals(&self, run: RunNo) -> Result<OpenApprovals, BackendError> {
        self.0.approvals_of(self.0.read(&ReadRequest::Approvals { run })?)
    }

    fn approvals_in(&self, view: &RunView) -> Result<Vec<OpenApproval>, BackendError> {
        Ok(open_approvals(view, self.approval_records(view.row.run)?))
    }

    fn program(&self, workflow: WorkflowNo, part: &str) -> Result<Option<Program>, BackendError> {
        Ok(self.0.program(workflow, part)?.map(|program| Program::clone(&program)))
    }

    fn save(&self, workflow: Workflow<'_>, _: i64) -> Result<WorkflowNo, BackendError> {
        let Document { name, dialect, text, .. } = workflow.document;
        self.save_document(name, text, dialect)?;
        self.workflow(name)?
            .ok_or_else(|| BackendError::Refused(format!("the server does not have the workflow `{name}`")))
    }

    fn request_session(&self, session: &Session, request: SessionRequest) -> Result<SessionResponse, BackendError> {
        if request.action != SessionAction::Reset {
            return Err(BackendError::Unsupported("a request to a session"));
        }
        let path = ["agents", &session.document, "sessions", &session.name];
        // A history that was deleted is empty after a second request, too.
        let key = Some(new_key()?);
        let changed = self.0.change(&Change { method: Method::DELETE, path: &path, body: Body::None, key })?;
        let mut state: Object = Value::from(&changed.body).as_object().cloned().unwrap_or_default();
        state.shift_remove("sessionId");
        let problems = state.shift_remove("problems").and_then(|problems| problems.as_list().map(<[Value]>::to_vec));
        Ok(SessionResponse { state: Value::from(state), problems: problems.unwrap_or_default(), reasons: Vec::new() })
    }

    fn send(&self, run: RunNo, event: &Event) -> Result<HandledBy, BackendError> {
        self.0.send(run, event).map(|()| HandledBy::AnotherProcess)
    }

    fn resume(&self, run: RunNo, calls: CallSource) -> Result<(), BackendError> {
        self.0.resume(run, &calls)
    }

    fn fork(&self, from: RunNo, events: u64, id: &str, calls: CallSource) -> Result<Accepted, BackendError> {
        self.0.fork(from, events, id, &calls)
    }

    fn subscribe(&self, listener: EventListener) -> Result<(), BackendError> {
        self.0.listeners.lock().unwrap_or_else(PoisonError::into_inner).push(listener);
        Ok(())
    }

    fn drive_all(&self) -> Result<(), BackendError> {
        Ok(())
    }

    /// A server that cannot be reached is reported by the next request.
    fn is_driving(&self) -> bool {
        true
    }

    fn stop(&mut self, _: Duration) -> Result<(), BackendError> {
        self.0.listeners.lock().unwrap_or_else(PoisonError::into_inner).clear();
        Ok(())
    }
}

impl Remote {
    fn update(&self, run: RunNo, body: serde_json::Value) -> Result<(), BackendError> {
        let row = self.row(run)?;
        // Tags are sets, so adding and removing can be repeated.
        let key = Some(new_key()?);
        let path = ["runs", row.id.as_str()];
        let changed = self.0.change(&Change { method: Method::PATCH, path: &path, body: Body::Json(body), key });
        changed.map(drop)
    }

    /// Reports the events of a run to the listeners from now on, or after the first so many events.
    pub fn follow(&self, run: RunNo, after: u64) -> Result<(), BackendError> {
        let row = self.row(run)?;
        self.0.set_focus(row.run, &row.id);
        followed_run::follow(&self.0, run, after);
        Ok(())
    }
}

impl From<Remote> for Box<dyn Backend> {
    fn from(remote: Remote) -> Self {
        Box::new(remote)
    }
}
