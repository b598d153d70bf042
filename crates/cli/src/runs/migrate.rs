//! `branchpoint runs migrate`: moves waiting runs to a changed workflow.

use std::process::ExitCode;

use anyhow::{Result, bail};
use branchpoint_backend::{Backend, BackendError, Filter, Migration, Rejection, Run, WorkflowNo};
use branchpoint_core::ir::Status;
use branchpoint_expr::Value;

use super::changed_workflow;
use crate::project::StoreArguments;
use crate::run_driver::RunDriver;
use crate::store_access::StoreAccess;
use crate::{exit, json, terminal};

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Runs to move [default: all waiting runs of the workflow]
    #[arg(value_name = "RUN")]
    runs: Vec<String>,

    /// New version: a file, or NAME or NAME@HASH of a stored workflow
    #[arg(long, value_name = "VERSION")]
    to: String,

    /// Workflow filter, by name [default: the name of the new version]
    #[arg(long, value_name = "NAME")]
    workflow: Option<String>,

    /// Show which runs can move, and why the others cannot (the default)
    #[arg(long)]
    plan: bool,

    /// Move the runs that can move
    #[arg(long, conflicts_with = "plan")]
    apply: bool,
}

/// What becomes of one run.
struct Planned {
    run: Run,
    outcome: Result<Migration, Rejection>,
}

pub(super) fn run(opened: StoreAccess, store: &StoreArguments, arguments: &Arguments, json: bool) -> Result<ExitCode> {
    if opened.is_server() {
        bail!(BackendError::Unsupported("moving runs to a changed workflow"));
    }
    let to = match changed_workflow::version(&opened, &arguments.to)? {
        Ok(workflow) => workflow,
        Err(rejected) => return Ok(rejected),
    };
    let planned = plan(&opened, to, arguments)?;
    if !arguments.apply {
        show(&planned, "can move", json)?;
        return Ok(ExitCode::SUCCESS);
    }
    let drive = RunDriver::new(opened, store, "runs migrate")?;
    let mut moved = Vec::new();
    for Planned { run, outcome } in planned {
        let outcome = match outcome {
            Ok(migration) => apply(drive.store(), &run, to)?.map(|()| migration),
            Err(rejection) => Err(rejection),
        };
        moved.push(Planned { run, outcome });
    }
    drive.leave()?;
    show(&moved, "moved", json)?;
    let is_driven = |planned: &Planned| matches!(planned.outcome, Err(Rejection::Driven));
    Ok(if moved.iter().any(is_driven) { ExitCode::from(exit::USAGE) } else { ExitCode::SUCCESS })
}

fn plan(opened: &StoreAccess, to: WorkflowNo, arguments: &Arguments) -> Result<Vec<Planned>> {
    let store = &*opened.store;
    let runs = if arguments.runs.is_empty() {
        let name = match &arguments.workflow {
            Some(name) => name.clone(),
            None => store.document(to)?.name,
        };
        let mut runs = Vec::new();
        for status in [Status::WaitingPeople, Status::WaitingTimer] {
            let filter = Filter { status: Some(status), workflow: Some(name.clone()), ..Filter::default() };
            runs.extend(store.runs(&filter)?);
        }
        // The oldest first, as they were started.
        runs.sort_by_key(|run| run.run);
        runs
    } else {
        arguments.runs.iter().map(|name| opened.run(name)).collect::<Result<_>>()?
    };
    let others = runs.into_iter().filter(|run| run.workflow != to);
    others
        .map(|run| {
            let outcome = match store.plan_migration(run.run, to) {
                Err(BackendError::Rejection(rejection)) => Err(rejection),
                planned => Ok(planned?),
            };
            Ok(Planned { run, outcome })
        })
        .collect()
}

fn apply(store: &dyn Backend, run: &Run, to: WorkflowNo) -> Result<Result<(), Rejection>> {
    match store.migrate(run.run, to) {
        Err(BackendError::Rejection(rejection)) => Ok(Err(rejection)),
        migrated => Ok(Ok(migrated.map(drop)?)),
    }
}

fn show(planned: &[Planned], verb: &str, json: bool) -> Result<()> {
    if json {
        let runs: Vec<Value> = planned.iter().map(to_json).collect();
        return terminal::print_json(&Value::from(runs)).map(drop);
    }
    if planned.is_empty() {
        terminal::message("There are no waiting runs of another version of this workflow.\n");
    }
    terminal::print_styled(&planned.iter().map(|planned| line(planned, verb)).collect::<String>())
}

fn line(Planned { run, outcome }: &Planned, verb: &str) -> String {
    match outcome {
        Ok(migration) => {
            let void = migration.void_votes.iter().map(|(approval, votes)| {
                let noun = if *votes == 1 { "vote is" } else { "votes are" };
                format!("; approval `{approval}` opens again, {votes} {noun} void")
            });
            let waits_at = migration.waits_at.join(", ");
            format!("✓ {} {verb}: it waits at {waits_at}{}\n", run.id, void.collect::<String>())
        }
        Err(rejection) => format!("✗ {} stays: {}\n", run.id, reason(rejection)),
    }
}

fn reason(rejection: &Rejection) -> String {
    match rejection {
        Rejection::Driven => "another process drives it; stop that process, then try again".to_owned(),
        other => other.to_string(),
    }
}

fn to_json(planned: &Planned) -> Value {
    let texts = |list: &[String]| Value::from(list.iter().map(|text| Value::from(text.as_str())).collect::<Vec<_>>());
    let id = ("run", Value::from(planned.run.id.as_str()));
    match &planned.outcome {
        Ok(migration) => {
            let void = migration.void_votes.iter().map(|(approval, votes)| {
                json::object([("approval", Value::from(approval.as_str())), ("votes", json::count(*votes))])
            });
            json::object([
                id,
                ("moves", Value::Bool(true)),
                ("waits_at", texts(&migration.waits_at)),
                ("void_votes", Value::from(void.collect::<Vec<_>>())),
            ])
        }
        Err(rejection) => json::object([id, ("moves", Value::Bool(false)), ("reason", Value::from(reason(rejection)))]),
    }
}
