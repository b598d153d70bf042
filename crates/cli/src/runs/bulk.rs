//! `runs cancel`, `runs retry` and `runs resume` for all runs that a filter selects: a preview, a confirmation, and then one after the
//! other. A run that is refused does not stop the others.

use std::io::{IsTerminal, stdin};
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use branchpoint_backend::{BackendError, Filter, Run};
use branchpoint_core::ir::Status;
use branchpoint_expr::{Value, nearest};

use super::Follower;
use crate::run_driver::RunDriver;
use crate::store_access::StoreAccess;
use crate::table::table;
use crate::{exit, json, terminal, time};

/// The most runs that one command changes.
const MAX_RUNS: u32 = 10_000;

/// How many runs a preview lists.
const LISTED: usize = 20;

const KEYS: [&str; 5] = ["status", "workflow", "tag", "since", "search"];

/// The runs that a command changes, if it is not given one.
#[derive(clap::Args)]
pub(super) struct Bulk {
    /// Filter for several runs: status, workflow, tag, since or search; can be given several times
    #[arg(long = "where", value_name = "KEY=VALUE")]
    filters: Vec<String>,

    /// Show the runs that would change
    #[arg(long, requires = "filters")]
    dry_run: bool,

    /// Change several runs without asking
    #[arg(long, short, requires = "filters")]
    yes: bool,
}

/// What a command does to several runs.
#[derive(Clone, Copy)]
pub(super) struct Action {
    /// The verb, such as `cancel`.
    pub(super) verb: &'static str,
    /// The past participle, such as `cancelled`.
    pub(super) past: &'static str,
    /// Why a run is left as it is; `None` if the command changes it.
    pub(super) skips: fn(&StoreAccess, &Run) -> Result<Option<&'static str>>,
}

/// The runs that a filter selects.
struct Selection {
    runs: Vec<Run>,
    /// Runs that are left as they are, and why.
    skipped: Vec<(Run, &'static str)>,
}

impl Bulk {
    /// Whether the command is for several runs.
    pub(super) fn is_given(&self) -> bool {
        !self.filters.is_empty()
    }

    /// Selects runs, shows them, and asks. Returns those to change, or the exit status if there is nothing to do.
    pub(super) fn select(
        &self,
        opened: &StoreAccess,
        action: Action,
        json: bool,
    ) -> Result<Result<Vec<Run>, ExitCode>> {
        let Selection { runs, skipped } = self.selection(opened, action)?;
        if self.dry_run && json {
            let skipped = skipped
                .iter()
                .map(|(run, why)| json::object([("run", Value::from(run.id.as_str())), ("reason", Value::from(*why))]));
            let summary = [("runs", ids(&runs)), ("skipped", Value::from(skipped.collect::<Vec<_>>()))];
            return terminal::print_json(&json::object(summary)).map(Err);
        }
        for (why, count) in reasons(&skipped) {
            terminal::message(&format!("Leaves {count} as they are: {why}.\n"));
        }
        if runs.is_empty() {
            terminal::message(&format!("No runs to {}.\n", action.verb));
            return if json { print_outcome(action, &[], &[]).map(Err) } else { Ok(Err(ExitCode::SUCCESS)) };
        }
        if self.dry_run {
            terminal::print_styled(&listed(opened, &runs, usize::MAX)?)?;
            terminal::message(&format!("{} would be {}.\n", count(runs.len()), action.past));
            return Ok(Err(ExitCode::SUCCESS));
        }
        if runs.len() > 1 && !self.yes {
            confirm(opened, &runs, action)?;
        }
        Ok(Ok(runs))
    }

    fn selection(&self, opened: &StoreAccess, action: Action) -> Result<Selection> {
        let filter = Filter { limit: Some(MAX_RUNS + 1), ..filter(&self.filters)? };
        if filter.search.is_some() {
            opened.store.index_runs()?;
        }
        let runs = opened.store.runs(&filter)?;
        if runs.len() > MAX_RUNS as usize {
            bail!(
                "more than {MAX_RUNS} runs match\nhelp: select fewer with another --where, such as `--where since=1d`"
            );
        }
        let mut selection = Selection { runs: Vec::new(), skipped: Vec::new() };
        // The oldest first, as they were started.
        for run in runs.into_iter().rev() {
            match (action.skips)(opened, &run)? {
                None => selection.runs.push(run),
                Some(why) => selection.skipped.push((run, why)),
            }
        }
        Ok(selection)
    }
}

/// Reads filters.
fn filter(texts: &[String]) -> Result<Filter> {
    let mut filter = Filter::default();
    for text in texts {
        let Some((key, value)) = text.split_once('=') else {
            bail!("`{text}` is not a filter\nhelp: write KEY=VALUE, such as `--where status=failed`");
        };
        let repeated = match key {
            "status" => filter.status.replace(super::status(value).map_err(anyhow::Error::msg)?).is_some(),
            "workflow" => filter.workflow.replace(value.to_owned()).is_some(),
            "search" => filter.search.replace(value.to_owned()).is_some(),
            "since" => {
                let since_ms = time::parse_duration_ms(value).map_err(anyhow::Error::msg);
                let since_ms = since_ms.with_context(|| format!("`{text}` is not a filter"))?;
                filter.since_ms.replace(time::now_ms() - since_ms).is_some()
            }
            "tag" => {
                filter.tags.push(value.to_owned());
                false
            }
            _ => {
                let near =
                    nearest(key, KEYS).map(|near| format!("did you mean `{near}`? Otherwise ")).unwrap_or_default();
                bail!("there is no filter `{key}`\nhelp: {near}the filters are {}", KEYS.join(", "));
            }
        };
        if repeated {
            bail!("the filter `{key}` is given twice; only `tag` can be repeated");
        }
    }
    Ok(filter)
}

/// Why runs are left as they are, with their number.
fn reasons(skipped: &[(Run, &'static str)]) -> Vec<(&'static str, String)> {
    let mut reasons: Vec<(&'static str, usize)> = Vec::new();
    for (_, why) in skipped {
        match reasons.iter_mut().find(|(known, _)| known == why) {
            Some((_, count)) => *count += 1,
            None => reasons.push((why, 1)),
        }
    }
    reasons.into_iter().map(|(why, number)| (why, count(number))).collect()
}

fn count(runs: usize) -> String {
    if runs == 1 { "1 run".to_owned() } else { format!("{runs} runs") }
}

fn ids<'r>(runs: impl IntoIterator<Item = &'r Run>) -> Value {
    Value::from(runs.into_iter().map(|run| Value::from(run.id.as_str())).collect::<Vec<_>>())
}

fn listed(opened: &StoreAccess, runs: &[Run], most: usize) -> Result<String> {
    let row = |run: &Run| {
        let name = opened.store.document(run.workflow)?.name;
        Ok([run.id.clone(), name, run.status.as_str().to_owned(), time::local(run.started_ms)])
    };
    let rows = runs.iter().take(most).map(row).collect::<Result<Vec<_>>>()?;
    let more = runs.len().saturating_sub(most);
    let more = if more > 0 { format!("… and {more} more\n") } else { String::new() };
    Ok(table(["RUN", "WORKFLOW", "STATUS", "STARTED"], &rows) + &more)
}

/// Asks a person. Everything but a yes is a no, and without a person nothing is changed.
fn confirm(opened: &StoreAccess, runs: &[Run], action: Action) -> Result<()> {
    let what = format!("{} {}", action.verb, count(runs.len()));
    if !stdin().is_terminal() {
        bail!("this would {what}\nhelp: add --yes to confirm, or --dry-run to list them");
    }
    terminal::message(&listed(opened, runs, LISTED)?);
    let answer = terminal::ask(&format!("Really {what}? [y/N] ")).unwrap_or_default();
    if !matches!(answer.trim().to_lowercase().as_str(), "y" | "yes") {
        bail!("nothing was changed");
    }
    Ok(())
}

/// The outcome of each run.
pub(super) enum Outcome {
    /// The command has changed this run, or has started another in its place.
    Changed(Run),
    /// The run was refused.
    Refused(Run, String),
}

/// Waits for the runs that this process drives, and reports what became of all of them.
pub(super) fn finish(drive: RunDriver, action: Action, outcomes: Vec<Outcome>, json: bool) -> Result<ExitCode> {
    let (mut changed, mut refused) = (Vec::new(), Vec::new());
    for outcome in outcomes {
        match outcome {
            Outcome::Changed(run) => {
                let rests = |status: Status| Ok(status != Status::Running);
                let status = drive.follow(run.run, &mut Follower::silent_if(true), rests)?;
                if status.is_none() {
                    drive.leave()?;
                    terminal::message("Interrupted; the runs can be resumed.\n");
                    return Ok(ExitCode::from(exit::INTERRUPTED));
                }
                changed.push((run, status.unwrap_or(Status::Running)));
            }
            Outcome::Refused(run, why) => {
                terminal::error(&format!("run `{}` was not {}: {why}", run.id, action.past));
                refused.push((run, why));
            }
        }
    }
    drive.leave()?;
    if json {
        return print_outcome(action, &changed, &refused);
    }
    for status in Status::ALL {
        let runs = changed.iter().filter(|(_, of)| *of == status).count();
        if runs > 0 {
            terminal::print(&format!("{} {}: {}\n", count(runs), action.past, status.as_str()))?;
        }
    }
    Ok(code(action, &changed, !refused.is_empty()))
}

fn print_outcome(action: Action, changed: &[(Run, Status)], refused: &[(Run, String)]) -> Result<ExitCode> {
    let runs = changed.iter().map(|(run, status)| {
        json::object([("run", Value::from(run.id.as_str())), ("status", Value::from(status.as_str()))])
    });
    let errors = refused
        .iter()
        .map(|(run, why)| json::object([("run", Value::from(run.id.as_str())), ("reason", Value::from(why.as_str()))]));
    let summary =
        [("runs", Value::from(runs.collect::<Vec<_>>())), ("refused", Value::from(errors.collect::<Vec<_>>()))];
    terminal::print_json(&json::object(summary))?;
    Ok(code(action, changed, !refused.is_empty()))
}

/// The exit status: that of a single run, the worst of them.
fn code(action: Action, changed: &[(Run, Status)], is_refused: bool) -> ExitCode {
    let has = |statuses: &[Status]| changed.iter().any(|(_, status)| statuses.contains(status));
    ExitCode::from(match action.verb {
        _ if is_refused => exit::USAGE,
        "cancel" => 0,
        _ if has(&[Status::Failed, Status::Cancelled]) => exit::FAILED,
        _ if has(&[Status::WaitingPeople]) => exit::WAITING,
        _ => 0,
    })
}

/// Turns the refusal of one run into its outcome. Other errors end the command.
pub(super) fn outcome(run: Run, done: Result<Run>) -> Result<Outcome> {
    match done {
        Ok(changed) => Ok(Outcome::Changed(changed)),
        Err(error) => match error.downcast_ref::<BackendError>() {
            Some(BackendError::Unavailable(_) | BackendError::Incompatible(_)) => Err(error),
            _ => Ok(Outcome::Refused(run, error.to_string())),
        },
    }
}
