//! `branchpoint run --server`: saves the workflow on a server, starts a run there, and follows it.

use std::process::ExitCode;

use anyhow::{Result, bail};
use branchpoint_backend::{Accepted, Backend as _, BackendError, Rejection};
use branchpoint_client::{RemoteStart, ServerAddress};
use branchpoint_expr::{Dialect, Object, Value};
use branchpoint_host::host::new_id;
use branchpoint_runners::SharedSecrets;
use branchpoint_runners::storage::Uploads;

use super::{Answers, Arguments, inputs, name_of, rejected_result, report, secrets_of};
use crate::foreground::{Foreground, Outcome};
use crate::workflow::Workflow;
use crate::{backend, terminal, time};

/// Starts the run on the server, and follows it unless it is detached.
pub(super) fn run(
    arguments: &Arguments,
    address: &ServerAddress,
    workflow: &Workflow,
    answers: &Answers,
    (input, attachments): (Value, &Uploads),
    facts: &Object,
) -> Result<ExitCode> {
    check(arguments)?;
    let id = arguments.id.clone().map_or_else(|| new_id(time::now_ms()), Ok)?;
    let remote = backend::connect(address)?;
    let secrets = secrets_of(workflow, &input, facts);
    if let Some(user) = arguments.user.as_deref().filter(|user| *user != remote.user()) {
        bail!(
            "the server knows you as {}, so you cannot act as {user}\nhelp: set BRANCHPOINT_TOKEN to a token of {user}",
            remote.user()
        );
    }
    let existing = remote.run(&id)?;
    if existing.is_none()
        && let Some(result) = rejected_result(workflow, &input, facts, answers)?
    {
        let masks = SharedSecrets::default();
        masks.add(secrets.values().to_vec());
        return report::report_rejected(&result, &arguments.report_options(&id, masks, workflow));
    }
    let name = name_of(workflow);
    let dialect = workflow.dialect.map(Dialect::as_str).unwrap_or_default();
    remote.save_document(&name, &workflow.source.text, dialect)?;
    let file = |file: &branchpoint_runners::storage::Upload| {
        (file.name().to_owned(), file.mime().to_owned(), file.bytes().to_vec())
    };
    let start = RemoteStart {
        id: id.clone(),
        workflow: name,
        inputs: inputs::given(workflow.dialect, &arguments.inputs)?,
        script: answers.script_value().cloned(),
        tags: arguments.tags()?.as_slice().to_vec(),
        priority: arguments.priority.get(),
        files: attachments.files().iter().map(file).collect(),
    };
    let (user, handle) = (remote.user().to_owned(), remote.handle()?);
    let mut foreground = Foreground::of_server(handle, user, arguments.quiet, arguments.stdins() == 0)?;
    foreground.masks().add(secrets.values().to_vec());
    let Accepted { run, new } = match remote.start_run(&start) {
        Err(BackendError::Rejection(Rejection::NoRun)) => bail!("the run `{id}` was removed from the server"),
        started => started?,
    };
    let view = remote.load(run)?;
    if !new && !arguments.quiet {
        let what = match view.row.status.is_final() {
            true => "showing its result",
            false if remote.is_scripted(run)? => "continuing it, with its script",
            false => "continuing it",
        };
        foreground.say(&format!("Run `{id}` already exists; {what}.\n"));
    }
    if arguments.detach {
        foreground.leave()?;
        terminal::print(&format!("{id}\n"))?;
        return Ok(ExitCode::SUCCESS);
    }
    let outcome = if !new && view.row.status.is_final() {
        Outcome::Ended(Box::new(view))
    } else {
        remote.follow(run, if new { 0 } else { view.state.seq() })?;
        foreground.follow(run)?
    };
    let masks = foreground.masks().clone();
    foreground.leave()?;
    report::report_outcome(&outcome, &arguments.report_options(&id, masks, workflow))
}

/// Rejects options that have no effect on a server.
fn check(arguments: &Arguments) -> Result<()> {
    if arguments.record.is_some() {
        bail!(
            "--record is not available over --server\nhelp: `GET /api/v1/runs/RUN/recording` of the server gives the recording of a run"
        );
    }
    if arguments.reach.allow_private_network {
        bail!("--allow-private-network has no effect over --server\nhelp: start the server with it");
    }
    Ok(())
}
