//! `branchpoint runs list`.

use std::collections::BTreeMap;
use std::process::ExitCode;

use anyhow::Result;
use branchpoint_backend::{Backend, Document, Filter, OpenApproval, OpenApprovals, Queued, Run, RunNo, WorkflowNo};
use branchpoint_core::ir::Status;
use branchpoint_expr::Value;

use crate::approvals::missing_voters;
use crate::store_access::StoreAccess;
use crate::table::table;
use crate::{excerpt, json, numbers, terminal, time};

/// The default number of listed runs.
const LIMIT: u32 = 20;

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Status filter
    #[arg(long, value_name = "STATUS", value_parser = super::status)]
    status: Option<Status>,

    /// Workflow filter, by name
    #[arg(long, value_name = "NAME")]
    workflow: Option<String>,

    /// Tag filter; can be given several times
    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<String>,

    /// Words in the id, workflow, input or result
    #[arg(long, value_name = "WORDS")]
    search: Option<String>,

    /// Maximum time since the start, such as 90s, 2h or 30d
    #[arg(long, value_name = "TIME", value_parser = time::parse_duration_ms)]
    since: Option<i64>,

    /// Maximum number of runs
    #[arg(long, value_name = "N", default_value_t = LIMIT, value_parser = numbers::positive)]
    limit: u32,

    /// All runs, including called runs and sessions
    #[arg(long, conflicts_with = "limit")]
    all: bool,
}

pub(super) fn run(opened: &StoreAccess, arguments: &Arguments, json: bool) -> Result<ExitCode> {
    let filter = Filter {
        status: arguments.status,
        workflow: arguments.workflow.clone(),
        tags: arguments.tags.clone(),
        search: arguments.search.clone(),
        since_ms: arguments.since.map(|since_ms| time::now_ms() - since_ms),
        children: arguments.all,
        sessions: arguments.all,
        before: None,
        // One more than the limit shows whether there are more.
        limit: (!arguments.all).then(|| arguments.limit.saturating_add(1)),
        until_ms: None,
    };
    let store = &*opened.store;
    if filter.search.is_some() {
        match store.index_runs()? {
            0 => {}
            missing => terminal::message(&format!(
                "{missing} older runs are not in the search index yet and were not searched. Search again to add more of them.\n"
            )),
        }
    }
    let mut runs = store.runs(&filter)?;
    let more = !arguments.all && runs.len() > arguments.limit as usize;
    runs.truncate(if arguments.all { usize::MAX } else { arguments.limit as usize });
    let mut listed = RunList { store, can_flag: BTreeMap::new(), documents: BTreeMap::new(), alive: alive(store)? };
    if json {
        let rows = runs.iter().map(|run| listed.json(run)).collect::<Result<Vec<_>>>()?;
        return terminal::print_json(&Value::from(rows));
    }
    if runs.is_empty() {
        terminal::message("There are no such runs. `branchpoint run FILE` starts one.\n");
        return Ok(ExitCode::SUCCESS);
    }
    let rows = runs.iter().map(|run| listed.row(run)).collect::<Result<Vec<_>>>()?;
    terminal::print_styled(&table(["RUN", "WORKFLOW", "STATUS", "STARTED", "TOOK", "WAITS FOR"], &rows))?;
    if more {
        terminal::message("There are more: --limit N, or --all.\n");
    }
    Ok(ExitCode::SUCCESS)
}

/// The owner numbers of living processes.
pub(super) fn alive(store: &dyn Backend) -> Result<Vec<i64>> {
    Ok(store.drivers()?.into_iter().map(|driver| driver.owner).collect())
}

struct RunList<'s> {
    store: &'s dyn Backend,
    /// By workflow and part: whether its policies can set flags. Only then a run is opened to look for them.
    can_flag: BTreeMap<(WorkflowNo, String), bool>,
    documents: BTreeMap<WorkflowNo, Document>,
    alive: Vec<i64>,
}

impl RunList<'_> {
    fn name(&mut self, run: &Run) -> Result<String> {
        if !self.documents.contains_key(&run.workflow) {
            self.documents.insert(run.workflow, self.store.document(run.workflow)?);
        }
        let name = &self.documents[&run.workflow].name;
        Ok(if run.part.is_empty() { name.clone() } else { format!("{name}/{}", run.part) })
    }

    /// The flags of a run; empty if it cannot be opened, which its status shows.
    fn flags(&mut self, run: &Run) -> Result<Vec<Value>> {
        let key = (run.workflow, run.part.clone());
        if self.can_flag.get(&key) == Some(&false) {
            return Ok(Vec::new());
        }
        let view = match self.store.load(run.run) {
            Ok(view) => view,
            Err(error) if error.is_of_one_run() => return Ok(Vec::new()),
            Err(error) => return Err(error.into()),
        };
        self.can_flag.insert(key, view.program.views.iter().any(|view| &*view.name == "flags"));
        Ok(super::show::flags(&view))
    }

    fn row(&mut self, run: &Run) -> Result<[String; 6]> {
        let (status, waits) = waits(self.store, run, &self.alive)?;
        let (started, took) = (time::local(run.started_ms), time::duration(time::active_ms(run, status)));
        let flagged = if self.flags(run)?.is_empty() { "" } else { ", flagged" };
        let status = format!("{}{flagged}", status.as_str());
        Ok([run.id.clone(), self.name(run)?, status, started, took, excerpt::text(&waits)])
    }

    fn json(&mut self, run: &Run) -> Result<Value> {
        let (status, waits) = waits(self.store, run, &self.alive)?;
        Ok(json::object([
            ("run", Value::from(run.id.as_str())),
            ("workflow", Value::from(self.name(run)?)),
            ("status", Value::from(status.as_str())),
            ("started", time::to_iso(run.started_ms)),
            ("touched", time::to_iso(run.updated_ms)),
            ("took_ms", Value::Int(time::active_ms(run, status))),
            ("waited_ms", Value::Int(run.waited_ms)),
            ("events", json::count(run.seq)),
            ("flags", self.store.secrets(run.run)?.mask_value(&Value::from(self.flags(run)?))),
            ("queued", queued(self.store, run)?),
            ("tags", tags(run)),
            ("priority", Value::Int(run.priority.get())),
            ("decision", run.decision.as_deref().map_or(Value::Null, Value::from)),
            ("waits_for", if waits.is_empty() { Value::Null } else { Value::from(waits) }),
        ]))
    }
}

/// Why a run is queued, as JSON; null if it is not.
pub(super) fn queued(store: &dyn Backend, run: &Run) -> Result<Value> {
    Ok(store.queued(run.run, time::now_ms())?.map_or(Value::Null, |queued| {
        json::object([
            ("position", json::count(queued.position)),
            ("group", queued.group.map_or(Value::Null, Value::from)),
            ("reason", Value::from(queued.reason)),
        ])
    }))
}

/// Why a run is queued, as text; none if it is not.
pub(super) fn queue_reason(store: &dyn Backend, run: RunNo) -> Result<Option<String>> {
    Ok(store.queued(run, time::now_ms())?.as_ref().map(queued_text))
}

fn queued_text(queued: &Queued) -> String {
    format!("queued at position {}: {}", queued.position, queued.reason)
}

/// The tags of a run as JSON.
pub(super) fn tags(run: &Run) -> Value {
    Value::from(run.tags.as_slice().iter().map(|tag| Value::from(tag.as_str())).collect::<Vec<_>>())
}

/// The missing voters of the open approvals of a run and its child runs, by step, and the child runs that cannot be opened.
fn missing_votes(store: &dyn Backend, run: RunNo) -> Result<Vec<String>> {
    let now_ms = time::now_ms();
    let OpenApprovals { open, unreadable } = store.approvals(run)?;
    let unreadable = unreadable.into_iter().map(|(id, why)| Ok(format!("run `{id}` cannot be opened: {why}")));
    let votes = open.into_iter().map(|OpenApproval { run, approval, .. }| {
        let overdue = if approval.is_overdue(now_ms) { " (overdue)" } else { "" };
        let votes = format!("{}: {}{overdue}", approval.step, missing_voters(&approval));
        Ok(store.secrets(run)?.mask(&votes).into_owned())
    });
    votes.chain(unreadable).collect()
}

/// The status of a run with its child runs, and what it waits for.
pub(super) fn waits(store: &dyn Backend, run: &Run, alive: &[i64]) -> Result<(Status, String)> {
    let status = store.status(run.run)?;
    let queued = if status == Status::Running { store.queued(run.run, time::now_ms())? } else { None };
    let waits = match status {
        Status::WaitingPeople => {
            let votes = missing_votes(store, run.run)?;
            if votes.is_empty() { "a signal".to_owned() } else { votes.join("; ") }
        }
        Status::WaitingTimer => {
            store.next_due_ms(run.run)?.map(|due_ms| format!("until {}", time::local(due_ms))).unwrap_or_default()
        }
        Status::Running if queued.is_some() => queued.as_ref().map(queued_text).unwrap_or_default(),
        Status::Running if !run.owner.is_some_and(|owner| alive.contains(&owner)) => {
            "abandoned: runs resume, or work".into()
        }
        _ => String::new(),
    };
    Ok((status, waits))
}
