//! `branchpoint runs cancel`: cancels a run, also in another process.

use std::process::ExitCode;

use anyhow::{Result, bail};
use branchpoint_backend::HandledBy;
use branchpoint_core::Event;
use branchpoint_core::ir::Status;
use branchpoint_expr::Value;

use super::Follower;
use super::bulk::{self, Action, Bulk};
use crate::project::StoreArguments;
use crate::run_driver::{self, RunDriver, Until};
use crate::store_access::StoreAccess;
use crate::{json, terminal};

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Id of the run, or a unique beginning or end of it
    #[arg(required_unless_present = "filters", conflicts_with = "filters")]
    run: Option<String>,

    #[command(flatten)]
    bulk: Bulk,

    /// Reason, shown with the run
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

pub(super) fn run(opened: StoreAccess, store: &StoreArguments, arguments: &Arguments, json: bool) -> Result<ExitCode> {
    if arguments.bulk.is_given() {
        return run_all(opened, store, arguments, json);
    }
    let row = opened.run(arguments.run.as_deref().unwrap_or_default())?;
    if row.status.is_final() {
        bail!("run `{}` has ended already: {}", row.id, row.status.as_str());
    }
    let drive = RunDriver::new(opened, store, "runs cancel")?;
    let follower = Follower::silent_if(json).beginning_now(drive.store(), row.run)?;
    let event = Event::Cancel { reason: arguments.reason.as_deref().map(Into::into) };
    let handled_by = match drive.send(row.run, &event)? {
        Ok(handled_by) => handled_by,
        Err(why) => bail!("run `{}` cannot be cancelled: {}", row.id, run_driver::rejection(&why)),
    };
    let status = if handled_by == HandledBy::ThisProcess {
        // What it does last is done here.
        drive.until(Until::Rest, row.run, follower)?.1
    } else {
        let status = drive.store().status(row.run)?;
        drive.leave()?;
        Some(status)
    };
    let status = status.unwrap_or(Status::Running);
    if json {
        let summary = [("run", Value::from(row.id)), ("status", Value::from(status.as_str()))];
        return terminal::print_json(&json::object(summary));
    }
    match status {
        Status::Cancelled => terminal::message(&format!("Run `{}` is cancelled.\n", row.id)),
        status if status.is_final() => {
            terminal::message(&format!("Run `{}` has ended: {}.\n", row.id, status.as_str()));
        }
        _ => terminal::message(&format!(
            "Requested the cancellation of run `{}` from the process that owns it.\n",
            row.id
        )),
    }
    Ok(ExitCode::SUCCESS)
}

const CANCEL: Action = Action {
    verb: "cancel",
    past: "cancelled",
    skips: |_, run| Ok(run.status.is_final().then_some("they have ended")),
};

/// Cancels the runs that a filter selects.
fn run_all(opened: StoreAccess, store: &StoreArguments, arguments: &Arguments, json: bool) -> Result<ExitCode> {
    let runs = match arguments.bulk.select(&opened, CANCEL, json)? {
        Ok(runs) => runs,
        Err(code) => return Ok(code),
    };
    let drive = RunDriver::new(opened, store, "runs cancel")?;
    let event = Event::Cancel { reason: arguments.reason.as_deref().map(Into::into) };
    let mut outcomes = Vec::new();
    for run in runs {
        let sent = drive.send(run.run, &event).and_then(|sent| Ok(sent.map(|_| run.clone())?));
        outcomes.push(bulk::outcome(run, sent)?);
    }
    bulk::finish(drive, CANCEL, outcomes, json)
}
