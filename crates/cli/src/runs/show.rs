//! `branchpoint runs show`: the status, input and result of a run.

use std::process::ExitCode;

use anyhow::Result;
use branchpoint_backend::{Backend, Priority, Run, RunNo, RunView};
use branchpoint_core::ir::Status;
use branchpoint_core::{BudgetRecord, Event};
use branchpoint_expr::{Object, Value};
use branchpoint_runners::Secrets;

use super::list::{alive, queued, tags, waits};
use super::trace_tree::TraceTree;
use crate::approvals::{shown_with_command, to_value};
use crate::store_access::StoreAccess;
use crate::{excerpt, json, outcome, table, terminal, time, usage};

/// How much of a script's hash is shown.
const HASH_LETTERS: usize = 12;

pub(super) fn run(opened: &StoreAccess, name: &str, json: bool) -> Result<ExitCode> {
    let (store, row) = (&*opened.store, opened.run(name)?);
    if json {
        let summary = run_json(store, &row)?;
        return terminal::print_json(&summary);
    }
    let (view, problem) = load_or_problem(store, row.run)?;
    let secrets = store.secrets(row.run)?;
    let document = store.document(row.workflow)?;
    let (status, waits) = waits(store, &row, &alive(store)?)?;
    let (events, bytes) = store.journal_size(row.run)?;
    let part = if row.part.is_empty() { String::new() } else { format!(", its part `{}`", row.part) };
    let mut facts = vec![
        ("run", row.id.clone()),
        ("workflow", format!("{} ({}), from {}{part}", document.name, document.dialect, document.origin)),
        ("status", status.as_str().to_owned()),
        ("started", time::local(row.started_ms)),
        ("took", time::active_duration(&row, status)),
        ("last event", time::local(row.updated_ms)),
        ("journal", format!("{events} event{}, {bytes} bytes", usage::plural(events))),
    ];
    if !row.tags.is_empty() {
        facts.push(("tags", row.tags.as_slice().join(", ")));
    }
    if row.priority != Priority::default() {
        facts.push(("priority", row.priority.to_string()));
    }
    facts.extend(row.decision.clone().map(|decision| ("decided", decision)));
    if let Some(parent) = row.parent {
        facts.push(("called by", store.row(parent.run)?.id));
    }
    if let Some(driver) = driver(store, &row)? {
        facts.push(("driven by", driver));
    }
    facts.extend(script(store, &row)?.map(|script| ("calls", script)));
    if !row.folder.is_empty() {
        facts.push(("folder", row.folder.clone()));
    }
    facts.extend(problem.map(|problem| ("problem", problem)));
    facts.extend(view.as_ref().and_then(|view| usage::to_text(view.state.usage())).map(|used| ("used", used)));
    facts.extend(
        budget_lines(&budgets(store, &row, view.as_ref())?, view.as_ref()).into_iter().map(|line| ("budget", line)),
    );
    facts.extend(start(store, &row).ok().map(|(input, _)| ("input", excerpt::value(&secrets, &input))));
    let flags = view.as_ref().map(flags).unwrap_or_default();
    facts.extend(flags.iter().map(|flag| ("flagged", secrets.mask(&outcome::flag_line(flag)).into_owned())));
    if let Some(view) = view.filter(|_| status.is_final()) {
        facts.push(end(status, &view.result().unwrap_or_default(), &secrets));
    } else if !waits.is_empty() {
        facts.push(("waits for", waits));
    }
    let mut text = table::facts(&facts);
    text += &pending(store, row.run)?;
    let children = store.children(row.run)?;
    if !children.is_empty() {
        let rows: Vec<[String; 3]> =
            children.into_iter().map(|child| [child.id, child.part, child.status.as_str().to_owned()]).collect();
        text = format!("{text}\n{}", table::table(["CALLED RUN", "WORKFLOW", "STATUS"], &rows));
    }
    terminal::print_styled(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Loads a run, or returns the problem that prevents it. A run that cannot be opened is shown from its row.
fn load_or_problem(store: &dyn Backend, run: RunNo) -> Result<(Option<RunView>, Option<String>)> {
    match store.load(run) {
        Ok(view) => {
            Ok((Some(view), store.unavailable_secrets(run)?.map(|why| format!("its secrets are unavailable: {why}"))))
        }
        Err(error) if error.is_of_one_run() => Ok((None, Some(error.to_string()))),
        Err(error) => Err(error.into()),
    }
}

/// How many budgets are shown.
const BUDGETS_SHOWN: usize = 10;

/// The budgets of a run with what they have used. Those of ended parts are rebuilt from the journal.
fn budgets(store: &dyn Backend, row: &Run, look: Option<&RunView>) -> Result<Vec<BudgetRecord>> {
    let is_limited = |look: &RunView| look.program.budgets.iter().any(|budget| !budget.limits.is_none());
    match look.filter(|look| is_limited(look) || !look.state.budgets(&look.program).is_empty()) {
        Some(_) => Ok(TraceTree::of(store, row.run)?.budgets()),
        None => Ok(Vec::new()),
    }
}

fn budget_lines(budgets: &[BudgetRecord], look: Option<&RunView>) -> Vec<String> {
    let Some(look) = look else { return Vec::new() };
    let mut lines: Vec<String> = budgets.iter().take(BUDGETS_SHOWN).map(|budget| budget.line(&look.program)).collect();
    if budgets.len() > BUDGETS_SHOWN {
        lines.push(format!("… and {} more; `branchpoint runs trace` shows them", budgets.len() - BUDGETS_SHOWN));
    }
    lines
}

fn end(status: Status, result: &Value, secrets: &Secrets) -> (&'static str, String) {
    if status == Status::Completed {
        let output = outcome::output_value(result).map(|output| excerpt::value(secrets, output));
        return ("output", output.unwrap_or_default());
    }
    let failure = outcome::failure(status, result);
    ("error", secrets.mask(&failure).lines().next().unwrap_or_default().to_owned())
}

/// The flags that policies have set: `{step, policy, on, message}` each.
pub(super) fn flags(view: &RunView) -> Vec<Value> {
    let list = |flags: Value| flags.as_list().map(<[Value]>::to_vec);
    // The view of a run that has ended is null: its slots are gone.
    view.view("flags").and_then(list).or_else(|| list(view.result()?.get("flags")?.clone())).unwrap_or_default()
}

/// The process that drives a run.
fn driver(store: &dyn Backend, row: &Run) -> Result<Option<String>> {
    let driver = store.drivers()?.into_iter().find(|driver| Some(driver.owner) == row.owner);
    Ok(driver
        .map(|driver| format!("process {} ({}) since {}", driver.pid, driver.command, time::local(driver.since_ms))))
}

/// Describes the script that answers the calls of a run.
fn script(store: &dyn Backend, row: &Run) -> Result<Option<String>> {
    let script = store.script(row.run)?;
    Ok(script.map(|script| {
        let name = format!("answered by a {}", if script.is_recorded { "recorded script" } else { "script" });
        let hash = script.hash.get(..HASH_LETTERS).unwrap_or_default();
        match script.live_ms {
            Some(live_ms) => format!("{name} ({hash}), executed since {}", time::local(live_ms)),
            None => format!("{name} ({hash})"),
        }
    }))
}

/// The input and the facts that a run was started with.
pub(crate) fn start(store: &dyn Backend, row: &Run) -> Result<(Value, Object)> {
    let first = store.journal(row.run)?.into_iter().next();
    Ok(match first {
        Some((_, Event::Start { input, facts, .. }, _)) => (input, facts),
        _ => (Value::Null, Object::default()),
    })
}

/// A run as JSON.
fn run_json(store: &dyn Backend, row: &Run) -> Result<Value> {
    let (secrets, (view, problem)) = (store.secrets(row.run)?, load_or_problem(store, row.run)?);
    let document = store.document(row.workflow)?;
    let (status, waits) = waits(store, row, &alive(store)?)?;
    let (events, bytes) = store.journal_size(row.run)?;
    let (input, facts) = start(store, row).unwrap_or_default();
    let children = store.children(row.run)?;
    let children = children.iter().map(|child| {
        json::object([
            ("run", Value::from(child.id.as_str())),
            ("workflow", Value::from(child.part.as_str())),
            ("status", Value::from(child.status.as_str())),
        ])
    });
    let approvals = store.approvals(row.run)?.open;
    let approvals = approvals.iter().map(|open| Ok(to_value(open, &store.secrets(open.run)?)));
    let parent = row.parent.map(|parent| store.row(parent.run)).transpose()?;
    let script = store.script(row.run)?.map(|script| {
        let live = script.live_ms.map_or(Value::Null, time::to_iso);
        json::object([("hash", Value::from(script.hash.as_str())), ("live_since", live)])
    });
    let mut summary = json::object([
        ("run", Value::from(row.id.as_str())),
        ("script", script.unwrap_or_default()),
        ("workflow", Value::from(document.name)),
        ("dialect", Value::from(document.dialect)),
        ("origin", Value::from(document.origin)),
        ("part", Value::from(row.part.as_str())),
        ("status", Value::from(status.as_str())),
        ("started", time::to_iso(row.started_ms)),
        ("touched", time::to_iso(row.updated_ms)),
        ("took_ms", Value::Int(time::active_ms(row, status))),
        ("waited_ms", Value::Int(row.waited_ms)),
        ("called_by", parent.map_or(Value::Null, |parent| Value::from(parent.id))),
        ("driven_by", driver(store, row)?.map_or(Value::Null, Value::from)),
        ("folder", Value::from(row.folder.as_str())),
        ("events", json::count(events)),
        ("bytes", json::count(bytes)),
        ("problem", problem.map_or(Value::Null, Value::from)),
        ("usage", view.as_ref().map_or(Value::Null, |view| usage::to_json(view.state.usage()))),
        ("input", secrets.mask_value(&input)),
        ("facts", secrets.mask_value(&Value::from(facts))),
        ("result", secrets.mask_value(&view.as_ref().and_then(RunView::result).unwrap_or_default())),
        ("queued", queued(store, row)?),
        ("tags", tags(row)),
        ("priority", Value::Int(row.priority.get())),
        ("decision", row.decision.as_deref().map_or(Value::Null, Value::from)),
        ("flags", secrets.mask_value(&Value::from(view.as_ref().map(self::flags).unwrap_or_default()))),
        ("waits_for", if waits.is_empty() { Value::Null } else { Value::from(waits) }),
        ("approvals", Value::from(approvals.collect::<Result<Vec<_>>>()?)),
        ("children", Value::from(children.collect::<Vec<_>>())),
    ]);
    let budgets = budgets(store, row, view.as_ref())?;
    if let Some(view) = view.filter(|_| !budgets.is_empty()) {
        let budgets = budgets.iter().map(|budget| budget.to_value(&view.program)).collect::<Vec<_>>();
        json::insert(&mut summary, "budgets", Value::from(budgets));
    }
    Ok(summary)
}

/// The open approvals of a run and its child runs, and the commands that answer them.
pub(crate) fn pending(store: &dyn Backend, run: RunNo) -> Result<String> {
    let open = store.approvals(run)?.open;
    open.iter().map(|open| Ok(store.secrets(open.run)?.mask(&shown_with_command(open)).into_owned())).collect()
}
