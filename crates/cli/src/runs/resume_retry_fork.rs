//! `branchpoint runs resume`, `retry` and `fork`: continues a run, or starts a new run from a moment of it.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use branchpoint_backend::{Backend, BackendError, CallSource, RESERVED_RUN_IDS, Rejection, Run, RunNo, RunView};
use branchpoint_core::ir::{Index, Status};
use branchpoint_core::{EffectNo, Event, Fold, NoteKind, State};
use branchpoint_expr::Value;
use branchpoint_host::host::new_id;

use super::bulk::{self, Action, Bulk};
use super::explain;
use super::list::alive;
use super::trace_tree::TraceTree;
use super::{Follower, changed_workflow};
use crate::approvals::quoted;
use crate::project::{Reach, StoreArguments};
use crate::run_driver::{Live, RunDriver, Until, report};
use crate::store_access::StoreAccess;
use crate::{outcome, terminal, time};

#[derive(clap::Args)]
pub(super) struct Resume {
    /// Id of the run, or a unique beginning or end of it
    #[arg(required_unless_present = "filters", conflicts_with = "filters")]
    run: Option<String>,

    #[command(flatten)]
    bulk: Bulk,

    #[command(flatten)]
    live: Live,

    #[command(flatten)]
    reach: Reach,
}

#[derive(clap::Args)]
pub(super) struct Retry {
    /// Id of the run, or a unique beginning or end of it
    #[arg(required_unless_present = "filters", conflicts_with = "filters")]
    run: Option<String>,

    #[command(flatten)]
    bulk: Bulk,

    /// Changed workflow on which the new run continues
    #[arg(long, value_name = "FILE")]
    with: Option<PathBuf>,

    /// Id of the new run [default: generated]
    #[arg(long, value_name = "KEY", conflicts_with = "filters")]
    id: Option<String>,

    #[command(flatten)]
    live: Live,

    #[command(flatten)]
    reach: Reach,
}

#[derive(clap::Args)]
pub(super) struct Fork {
    /// Id of the run, or a unique beginning or end of it
    run: String,

    /// Step to repeat [default with --with: where the run is]
    #[arg(long, value_name = "STEP", required_unless_present = "with")]
    at: Option<String>,

    /// Changed workflow on which the new run continues
    #[arg(long, value_name = "FILE")]
    with: Option<PathBuf>,

    /// Iteration of the enclosing loops, such as 0,1 [default: the first]
    #[arg(long, value_name = "POSITIONS", value_delimiter = ',', requires = "at")]
    iteration: Option<Vec<u32>>,

    /// Id of the new run [default: generated]
    #[arg(long, value_name = "KEY")]
    id: Option<String>,

    #[command(flatten)]
    live: Live,

    #[command(flatten)]
    reach: Reach,
}

pub(super) fn resume(opened: StoreAccess, store: &StoreArguments, arguments: &Resume, json: bool) -> Result<ExitCode> {
    if arguments.bulk.is_given() {
        return resume_all(opened, store, arguments, json);
    }
    let row = opened.run(arguments.run.as_deref().unwrap_or_default())?;
    if row.status.is_final() {
        let help = match row.status {
            Status::Failed => format!("`branchpoint runs retry {}` repeats the failed call", row.id),
            _ => format!("`branchpoint runs fork {} --at STEP` starts a new run from a step of it", row.id),
        };
        bail!("run `{}` has ended: {}\nhelp: {help}", row.id, row.status.as_str());
    }
    // A child run is resumed together with its parent.
    let run = opened.store.root_of(row.run)?;
    let drive = RunDriver::new(opened.reaching(arguments.reach), store, "runs resume")?;
    // Events after the resumption are shown.
    let follower = Follower::silent_if(json).beginning_now(drive.store(), run)?;
    // The root run comes first, because its child runs use its script.
    for (resumed, with) in [(run, arguments.live.with()), (row.run, CallSource::Script)] {
        match drive.resume(resumed, with)? {
            Ok(()) => {}
            Err(Rejection::Driven) => {
                bail!("another process owns run `{}`\nhelp: `branchpoint runs watch {}` follows it", row.id, row.id)
            }
            Err(refused) => bail!("run `{}` cannot continue: {refused}", row.id),
        }
    }
    wake_children(&drive, run)?;
    let (store, stands) = drive.until(Until::People, run, follower)?;
    report(&*store, run, stands, json)
}

const RESUME: Action = Action {
    verb: "resume",
    past: "resumed",
    skips: |opened, run| {
        let is_driven = || {
            Ok::<_, anyhow::Error>(
                run.owner.is_some_and(|owner| alive(&*opened.store).is_ok_and(|alive| alive.contains(&owner))),
            )
        };
        Ok(match run.status {
            status if status.is_final() => Some("they have ended"),
            _ if is_driven()? => Some("a process drives them"),
            Status::Running => None,
            _ => Some("they wait for people or timers"),
        })
    },
};

/// Resumes the abandoned runs that a filter selects.
fn resume_all(opened: StoreAccess, store: &StoreArguments, arguments: &Resume, json: bool) -> Result<ExitCode> {
    let runs = match arguments.bulk.select(&opened, RESUME, json)? {
        Ok(runs) => runs,
        Err(code) => return Ok(code),
    };
    let drive = RunDriver::new(opened.reaching(arguments.reach), store, "runs resume")?;
    let mut outcomes = Vec::new();
    for run in runs {
        let resumed = drive.resume(run.run, arguments.live.with()).and_then(|resumed| {
            resumed?;
            wake_children(&drive, run.run)?;
            Ok(run.clone())
        });
        outcomes.push(bulk::outcome(run, resumed)?);
    }
    bulk::finish(drive, RESUME, outcomes, json)
}

const RETRY: Action = Action {
    verb: "retry",
    past: "retried",
    skips: |opened, run| {
        if run.status != Status::Failed {
            return Ok(Some("they have not failed"));
        }
        let look = match opened.store.load(run.run) {
            Err(error) if error.is_of_one_run() => return Ok(Some("they cannot be read")),
            look => look?,
        };
        let events = before_the_failure(&*opened.store, &look)?;
        Ok(events.is_none().then_some("no call has failed them: their workflows decided to fail"))
    },
};

/// Retries the failed calls of the runs that a filter selects, each in a new run.
fn retry_all(opened: StoreAccess, store: &StoreArguments, arguments: &Retry, json: bool) -> Result<ExitCode> {
    let runs = match arguments.bulk.select(&opened, RETRY, json)? {
        Ok(runs) => runs,
        Err(code) => return Ok(code),
    };
    let drive = RunDriver::new(opened.reaching(arguments.reach), store, "runs retry")?;
    let mut outcomes = Vec::new();
    for run in runs {
        let retried = retry_one(&drive, &run, arguments.live.with());
        outcomes.push(bulk::outcome(run, retried)?);
    }
    bulk::finish(drive, RETRY, outcomes, json)
}

/// Retries a failed run in a new run, and returns the new one.
fn retry_one(drive: &RunDriver, run: &Run, with: CallSource) -> Result<Run> {
    let look = drive.store().load(run.run)?;
    let events = before_the_failure(drive.store(), &look)?.context("no call has failed it")?;
    let id = new_id(time::now_ms())?;
    let new = drive.fork((run.run, events), None, &id, with)?;
    terminal::message(&format!("Run `{id}` continues from event {events} of run `{}`.\n", run.id));
    Ok(drive.store().row(new)?)
}

/// Resumes the abandoned child runs of a run.
fn wake_children(drive: &RunDriver, run: RunNo) -> Result<()> {
    for child in drive.store().children(run)?.into_iter().filter(|child| !child.status.is_final()) {
        // A child run of another process continues there.
        let _ = drive.resume(child.run, CallSource::Script)?;
        wake_children(drive, child.run)?;
    }
    Ok(())
}

pub(super) fn fork(opened: StoreAccess, store: &StoreArguments, arguments: &Fork, json: bool) -> Result<ExitCode> {
    let row = opened.run(&arguments.run)?;
    let events = match &arguments.at {
        Some(at) => events_before(&*opened.store, &row, at, arguments.iteration.as_deref())?,
        None if row.status.is_final() => {
            bail!("run `{}` has ended: {}\nhelp: name the step to repeat with --at", row.id, row.status.as_str())
        }
        None => opened.store.load(row.run)?.state.seq(),
    };
    let new =
        Continuation { id: arguments.id.as_deref(), calls: arguments.live.with(), with: arguments.with.as_deref() };
    continue_from(opened.reaching(arguments.reach), store, (&row, events), &new, json)
}

/// How many events came before a step began and with it.
fn events_before(store: &dyn Backend, row: &Run, at: &str, iteration: Option<&[u32]>) -> Result<u64> {
    let tree = TraceTree::of(store, row.run)?;
    let record = &tree.records[explain::first(&tree, at, iteration)?];
    let began = |what: &NoteKind| matches!(what, NoteKind::Began(step, _) if *step == record.step);
    let path = record.path.clone();
    let events = until(store, &tree.view, |notes| notes.iter().any(|note| began(&note.kind) && note.path == path))?;
    events.with_context(|| {
        format!(
            "the step `{at}` has not begun in run `{}`\nhelp: `branchpoint runs trace {}` shows the steps that have",
            row.id, row.id
        )
    })
}

/// The number of events until the first notes that match.
fn until(
    store: &dyn Backend,
    view: &RunView,
    is_match: impl Fn(&[branchpoint_core::Note]) -> bool,
) -> Result<Option<u64>> {
    let mut fold = Fold::new(&view.program, State::new(), store.journal(view.row.run)?);
    let mut notes = Vec::new();
    while let Some(folded) = fold.replay_next(&mut |note| notes.push(note)) {
        let folded = folded.with_context(|| format!("cannot replay the journal of run `{}`", view.row.id))?;
        if is_match(&notes) {
            return Ok(Some(folded.seq));
        }
        notes.clear();
    }
    Ok(None)
}

pub(super) fn retry(opened: StoreAccess, store: &StoreArguments, arguments: &Retry, json: bool) -> Result<ExitCode> {
    if arguments.bulk.is_given() {
        return retry_all(opened, store, arguments, json);
    }
    let row = opened.run(arguments.run.as_deref().unwrap_or_default())?;
    if row.status != Status::Failed {
        let help = if row.status.is_final() {
            format!("`branchpoint runs fork {} --at STEP` repeats one of its steps", quoted(&row.id))
        } else {
            format!("`branchpoint runs resume {}` continues it", quoted(&row.id))
        };
        bail!("run `{}` has not failed, it is {}\nhelp: {help}", row.id, row.status.as_str());
    }
    let view = opened.store.load(row.run)?;
    let events = match before_the_failure(&*opened.store, &view)? {
        Some(events) => events,
        // The changed workflow may not fail where the workflow itself decided to.
        None if arguments.with.is_some() => view.state.seq(),
        None => bail!(
            "no call has failed run `{}`: the workflow itself decided to fail\n\
             help: `branchpoint runs trace {}` shows where; `branchpoint runs fork {} --at STEP` repeats a step",
            row.id,
            row.id,
            row.id
        ),
    };
    let new =
        Continuation { id: arguments.id.as_deref(), calls: arguments.live.with(), with: arguments.with.as_deref() };
    continue_from(opened.reaching(arguments.reach), store, (&row, events), &new, json)
}

/// The number of events before the response of the call that failed the run. If the result names a step, the call belongs to it.
fn before_the_failure(store: &dyn Backend, view: &RunView) -> Result<Option<u64>> {
    let result = view.result().unwrap_or_default();
    let step = outcome::failed_step(&result);
    let (tree, journal) = (TraceTree::of(store, view.row.run)?, store.journal(view.row.run)?);
    let of_step = |effect: &EffectNo| {
        let caller = tree.callers.get(effect).map(|index| tree.records[*index].step);
        let id = caller.map(|caller| &*view.program.steps[caller.index()].id);
        step.is_none() || id.is_none() || id == step.as_deref()
    };
    let failed = journal.iter().rposition(|(_, event, _)| match event {
        Event::Settled { effect, result, .. } => is_failure(result.as_ref().ok()) && of_step(effect),
        _ => false,
    });
    Ok(failed.map(|position| position as u64))
}

/// Whether the result of a call is a failure: an error, or an exit code other than 0.
fn is_failure(answer: Option<&Value>) -> bool {
    let Some(answer) = answer else { return true };
    let error = answer.get("error").is_some_and(|error| *error != Value::Null);
    let code = answer.get("exit_code").is_some_and(|code| !matches!(code, Value::Null | Value::Int(0)));
    error || code
}

/// A new run that continues another.
struct Continuation<'a> {
    id: Option<&'a str>,
    calls: CallSource,
    /// The changed workflow on which it continues.
    with: Option<&'a Path>,
}

/// Starts a new run that continues another after so many events, and drives it.
fn continue_from(
    opened: StoreAccess,
    arguments: &StoreArguments,
    (from, events): (&Run, u64),
    new: &Continuation<'_>,
    json: bool,
) -> Result<ExitCode> {
    let id = new.id.map_or_else(|| new_id(time::now_ms()), |id| Ok(id.to_owned()))?;
    if id.trim().is_empty() {
        bail!("--id must not be empty");
    }
    if RESERVED_RUN_IDS.contains(&id.as_str()) {
        bail!("the id `{id}` is reserved for a path of the HTTP API; choose another");
    }
    // The file is not saved on a server that could not use it.
    if new.with.is_some() && opened.is_server() {
        bail!(BackendError::Unsupported("continuing a run on a changed workflow (`--with`)"));
    }
    let workflow = match new.with.map(|file| changed_workflow::save_file(&opened, file, Some(from.run))).transpose()? {
        Some(Err(rejected)) => return Ok(rejected),
        saved => saved.and_then(Result::ok),
    };
    let drive = RunDriver::new(opened, arguments, "runs fork")?;
    let run = drive.fork((from.run, events), workflow, &id, new.calls.clone())?;
    let place = match workflow {
        Some(_) => "on the changed workflow ".to_owned(),
        None => String::new(),
    };
    terminal::message(&format!("Run `{id}` continues {place}from event {events} of run `{}`.\n", from.id));
    let follower = Follower::silent_if(json);
    let (store, stands) = drive.until(Until::People, run, follower)?;
    report(&*store, run, stands, json)
}
