//! Drives a run from a command: until it has ended, waits for people, or is interrupted.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, bail};
use branchpoint_backend::{Backend, BackendError, CallSource, HandledBy, Rejection, RunEventKind, RunNo, WorkflowNo};
use branchpoint_core::Event;
use branchpoint_core::ir::Status;
use branchpoint_expr::Value;
use branchpoint_runners::CancellationToken;

use crate::approvals::quoted;
use crate::backend::Driving;
use crate::exit::Exit;
use crate::failure::{self, SourceMap};
use crate::local_runner::{LocalRunner, OutputListeners};
use crate::project::StoreArguments;
use crate::runs::{Follower, pending};
use crate::store_access::StoreAccess;
use crate::{backend, exit, interrupt, json, outcome, terminal, time, usage};

/// The pause between two checks of the run.
const POLL_INTERVAL: Duration = Duration::from_millis(30);

/// How long calls in flight may take to end when the command ends.
const GRACE: Duration = Duration::from_millis(500);

/// The longest timer that a command waits for.
const SHORT_MS: i64 = 60_000;

/// A backend that drives the runs that a command names.
pub(crate) struct RunDriver {
    backend: Box<dyn Backend>,
    interrupted: CancellationToken,
}

/// Whether a scripted run continues without its script.
#[derive(clap::Args, Clone, Copy)]
pub(crate) struct Live {
    /// Execute the calls of a scripted run
    #[arg(long, global = true)]
    pub(crate) live: bool,
}

impl Live {
    pub(crate) fn with(self) -> CallSource {
        if self.live { CallSource::Runners } else { CallSource::Script }
    }
}

/// When a command stops driving a run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Until {
    /// When it has ended or waits for people. All timers are awaited.
    People,
    /// Also when it waits for a timer that is more than a minute away.
    Rest,
}

impl RunDriver {
    pub(crate) fn new(opened: StoreAccess, arguments: &StoreArguments, what: &str) -> Result<Self> {
        Self::with(opened, arguments, what, OutputListeners::of(terminal::message))
    }

    /// Creates a driver with listeners for the output of commands and models.
    pub(crate) fn with(
        opened: StoreAccess,
        arguments: &StoreArguments,
        what: &str,
        listeners: OutputListeners,
    ) -> Result<Self> {
        if opened.is_server() {
            return Ok(Self { backend: opened.store, interrupted: interrupt::cancellation_token()? });
        }
        let project = opened.project;
        let here = Arc::new(LocalRunner::new(&project, arguments, listeners)?);
        let masks = here.masks().clone();
        let backend = backend::drive(&project, arguments, what, &here, Driving::here(&here, &project))?;
        backend.subscribe(Box::new(move |event| {
            if let RunEventKind::Message(text) = &event.kind {
                terminal::message(&format!("{}\n", masks.mask(text)));
            }
        }))?;
        Ok(Self { backend, interrupted: interrupt::cancellation_token()? })
    }

    pub(crate) fn store(&self) -> &dyn Backend {
        &*self.backend
    }

    /// Continues a run. The inner error says why this process cannot drive it.
    pub(crate) fn resume(&self, run: RunNo, with: CallSource) -> Result<Result<(), Rejection>> {
        match self.backend.resume(run, with) {
            Err(BackendError::Rejection(refused)) => Ok(Err(refused)),
            resumed => Ok(Ok(resumed?)),
        }
    }

    /// Starts a run with the first events of another, on its workflow or on a changed one.
    pub(crate) fn fork(
        &self,
        (from, events): (RunNo, u64),
        workflow: Option<WorkflowNo>,
        id: &str,
        with: CallSource,
    ) -> Result<RunNo> {
        let forked = match workflow {
            None => self.backend.fork(from, events, id, with),
            Some(workflow) => self.backend.fork_on(from, events, workflow, id, with),
        };
        match forked {
            Ok(accepted) if accepted.new => Ok(accepted.run),
            Ok(_) => bail!("run `{id}` already exists\nhelp: choose another --id"),
            Err(BackendError::Rejection(rejection @ Rejection::Differs(_))) => bail!(
                "the run cannot continue on the changed workflow: {rejection}\n\
                 help: --at names an earlier step from which to repeat; `branchpoint diff` shows what has changed"
            ),
            Err(BackendError::Rejection(rejection)) => bail!("the run cannot be forked: {rejection}"),
            Err(error) => Err(error.into()),
        }
    }

    /// Sends an event to a run, whichever process drives it. The inner error is a rejection, after which nothing has changed.
    pub(crate) fn send(&self, run: RunNo, event: &Event) -> Result<Result<HandledBy, BackendError>> {
        match self.backend.send(run, event) {
            Err(BackendError::Pending) => bail!(Exit::pending(self.pending(run)?)),
            Err(rejection @ (BackendError::Rejection(_) | BackendError::NoResponse)) => Ok(Err(rejection)),
            sent => Ok(Ok(sent?)),
        }
    }

    /// The message for an event that another process has and has not applied yet.
    fn pending(&self, run: RunNo) -> Result<String> {
        let id = quoted(&self.backend.row(run)?.id);
        Ok(format!(
            "the process that drives run {id} has received this and has not applied it yet; it may still take effect\n\
             help: `branchpoint runs show {id}` shows whether it did; do not send it again before"
        ))
    }

    /// Drives a run, prints its steps, and releases it. None: interrupted by Ctrl-C.
    pub(crate) fn until(
        mut self,
        until: Until,
        run: RunNo,
        mut follower: Follower,
    ) -> Result<(Box<dyn Backend>, Option<Status>)> {
        let status = self.follow(run, &mut follower, |status| {
            Ok(status.is_final() || status == Status::WaitingPeople || self.is_long(until, run, status)?)
        })?;
        self.backend.stop(GRACE)?;
        follower.show(&*self.backend, run, true)?;
        Ok((self.backend, status))
    }

    /// Shows the steps of a run until it has the awaited status. None after Ctrl-C.
    pub(crate) fn follow(
        &self,
        run: RunNo,
        follower: &mut Follower,
        mut is_awaited: impl FnMut(Status) -> Result<bool>,
    ) -> Result<Option<Status>> {
        let mut version = 0;
        loop {
            let now = self.backend.version()?;
            if now != version {
                version = now;
                follower.show(&*self.backend, run, false)?;
                let status = self.backend.status(run)?;
                if is_awaited(status)? {
                    // Steps may have ended between the two reads.
                    follower.show(&*self.backend, run, false)?;
                    return Ok(Some(status));
                }
            }
            if self.interrupted.is_cancelled() || !self.backend.is_driving() {
                return Ok(None);
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    fn is_long(&self, until: Until, run: RunNo, status: Status) -> Result<bool> {
        if until == Until::People || status != Status::WaitingTimer {
            return Ok(false);
        }
        Ok(is_far(self.backend.next_due_ms(run)?))
    }

    /// Releases all runs.
    pub(crate) fn leave(mut self) -> Result<()> {
        Ok(self.backend.stop(GRACE)?)
    }
}

/// The message for an event that a run did not accept.
pub(crate) fn rejection(error: &BackendError) -> String {
    let help = match error {
        BackendError::NoResponse => {
            "\nhelp: try again, or stop the process that drives it (`branchpoint doctor` names it)"
        }
        _ => "",
    };
    format!("{error}{help}")
}

/// Whether a command does not wait for this time by itself.
pub(crate) fn is_far(due_ms: Option<i64>) -> bool {
    due_ms.is_none_or(|due_ms| due_ms > time::now_ms() + SHORT_MS)
}

/// Reports the status of a driven run: its result on stdout, messages on stderr. Returns the exit status that `run` would have.
pub(crate) fn report(store: &dyn Backend, run: RunNo, status: Option<Status>, json: bool) -> Result<ExitCode> {
    let view = store.load(run)?;
    let (secrets, id) = (store.secrets(run)?, view.row.id.clone());
    let typed = quoted(&id);
    let Some(status) = status else {
        terminal::message(&format!("Released the run; resume it with `branchpoint runs resume {typed}`.\n"));
        return Ok(ExitCode::from(exit::INTERRUPTED));
    };
    let result = view.result().unwrap_or_default();
    if json {
        let summary = json::object([
            ("run", Value::from(id.as_str())),
            ("status", Value::from(status.as_str())),
            ("usage", usage::to_json(view.state.usage())),
            ("result", secrets.mask_value(&result)),
        ]);
        terminal::print_json(&summary)?;
    }
    terminal::message(&secrets.mask(&outcome::flags(&result)));
    match status {
        Status::Completed => {
            if let Some(output) = outcome::output(&result).filter(|_| !json) {
                terminal::print(&format!("{}\n", secrets.mask(&output)))?;
            }
            terminal::message(&format!("Run `{id}` completed.\n"));
            Ok(ExitCode::SUCCESS)
        }
        Status::Failed | Status::Cancelled => {
            let help = format!("`branchpoint runs trace {typed}` shows what happened");
            let document = store.document(view.row.workflow)?;
            let origin = SourceMap::new(&view.program, &document.origin, &document.text);
            failure::report(status, &result, Some(&origin), &secrets, Some(&help));
            Ok(ExitCode::from(outcome::code(status, &result)))
        }
        Status::WaitingPeople => {
            terminal::message(&format!("Run `{id}` is waiting for approvals.\n{}", pending(store, run)?));
            Ok(ExitCode::from(exit::WAITING))
        }
        Status::WaitingTimer | Status::Running => {
            let due =
                store.next_due_ms(run)?.map(|due_ms| format!(" until {}", time::local(due_ms))).unwrap_or_default();
            let help = format!("`branchpoint work` resumes it then, or `branchpoint runs resume {typed}`");
            terminal::message(&format!("Run `{id}` waits{due}; {help}.\n"));
            Ok(ExitCode::SUCCESS)
        }
    }
}
