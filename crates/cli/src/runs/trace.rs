//! `branchpoint runs trace`: the tree of a run's steps, including child runs.

use std::fmt::Write;
use std::process::ExitCode;

use anyhow::Result;
use branchpoint_backend::{Backend, Run};
use branchpoint_core::EffectNo;
use branchpoint_core::effect::AGENT;
use branchpoint_expr::Value;

use super::list::queue_reason;
use super::trace_tree::{OmittedSteps, TraceTree};
use crate::store_access::StoreAccess;
use crate::{json, terminal, time};

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// The id of the run, or a unique beginning or end of it
    run: String,

    /// First event to show of a long run [default: its newest part]
    #[arg(long, value_name = "EVENTS")]
    from: Option<u64>,

    /// Print values above 4 KB in full; needs `--json`
    #[arg(long)]
    full: bool,
}

pub(super) fn run(opened: &StoreAccess, arguments: &Arguments, json: bool) -> Result<ExitCode> {
    let (store, row) = (&*opened.store, opened.run(&arguments.run)?);
    if json {
        let trace = as_json(store, &row, arguments.from, arguments.full)?;
        terminal::print_json(&trace)?;
    } else {
        terminal::print_styled(&text(store, &row, arguments.from, 0)?)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A run with its steps, indented by its depth.
fn text(store: &dyn Backend, row: &Run, from: Option<u64>, depth: usize) -> Result<String> {
    let tree = TraceTree::after(store, row.run, from)?;
    let children = Children::of(store, row, &tree)?;
    let indent = "  ".repeat(depth);
    let name = if row.part.is_empty() { store.document(row.workflow)?.name } else { row.part.clone() };
    let status = store.status(row.run)?;
    let (took, status) = (time::active_duration(row, status), status.as_str());
    let mut text = format!("{indent}run {} of {name}: {status}, {took}\n", row.id);
    if let Some(reason) = queue_reason(store, row.run)? {
        let _ = writeln!(text, "{indent}  {reason}");
    }
    for budget in tree.open_budgets() {
        let _ = writeln!(text, "{indent}  budget of {}", budget.line(&tree.view.program));
    }
    let tops = (0..tree.records.len()).filter(|index| tree.around[*index].is_none());
    for index in tops {
        below(store, &tree, &children, index, depth + 1, &mut text)?;
    }
    for line in tree.left_out.lines(&row.id, tree.view.state.seq() - tree.left_out.after).lines() {
        let _ = writeln!(text, "{indent}  {line}");
    }
    for child in &children.nowhere {
        text += &self::text(store, child, None, depth + 1)?;
    }
    for (at_ms, who, what) in &tree.sent {
        let who = who.as_deref().map(|who| format!(" from {who}")).unwrap_or_default();
        let _ = writeln!(text, "{indent}  {}{who}: {what}", time::local(*at_ms));
    }
    Ok(text)
}

fn below(
    store: &dyn Backend,
    tree: &TraceTree,
    children: &Children,
    index: usize,
    depth: usize,
    text: &mut String,
) -> Result<()> {
    *text += &tree.line(index, depth);
    for (_, child) in children.of_records.iter().filter(|(of, _)| *of == index) {
        *text += &self::text(store, child, None, depth + 2)?;
    }
    for inner in inside(tree, index) {
        below(store, tree, children, inner, depth + 1, text)?;
    }
    Ok(())
}

fn inside(tree: &TraceTree, index: usize) -> impl Iterator<Item = usize> {
    tree.inner[index].iter().copied()
}

/// The child runs of a run.
struct Children {
    /// With the record of the step that has called.
    of_records: Vec<(usize, Run)>,
    /// Those whose step has no record.
    nowhere: Vec<Run>,
}

impl Children {
    fn of(store: &dyn Backend, row: &Run, tree: &TraceTree) -> Result<Self> {
        let mut children = Self { of_records: Vec::new(), nowhere: Vec::new() };
        for child in store.children(row.run)? {
            let effect = child.parent.map(|parent| EffectNo(parent.effect));
            match effect.and_then(|effect| tree.callers.get(&effect)) {
                Some(index) => children.of_records.push((*index, child)),
                None => children.nowhere.push(child),
            }
        }
        Ok(children)
    }
}

fn as_json(store: &dyn Backend, row: &Run, from: Option<u64>, full: bool) -> Result<Value> {
    let tree = TraceTree::after(store, row.run, from)?.full(full);
    let children = Children::of(store, row, &tree)?;
    let tops = (0..tree.records.len()).filter(|index| tree.around[*index].is_none());
    let steps = tops.map(|index| record(store, &tree, &children, index)).collect::<Result<Vec<_>>>()?;
    let others = children.nowhere.iter().map(|child| as_json(store, child, None, full)).collect::<Result<Vec<_>>>()?;
    let status = store.status(row.run)?;
    let sent = tree.sent.iter().map(|(at_ms, who, what)| {
        let who = who.as_deref().map_or(Value::Null, Value::from);
        json::object([("at", time::to_iso(*at_ms)), ("from", who), ("what", Value::from(what.as_str()))])
    });
    let mut trace = json::object([
        ("run", Value::from(row.id.as_str())),
        ("workflow", Value::from(store.document(row.workflow)?.name)),
        ("part", Value::from(row.part.as_str())),
        ("status", Value::from(status.as_str())),
        ("started", time::to_iso(row.started_ms)),
        ("touched", time::to_iso(row.updated_ms)),
        ("took_ms", Value::Int(time::active_ms(row, status))),
        ("waited_ms", Value::Int(row.waited_ms)),
        ("steps", Value::from(steps)),
        ("runs", Value::from(others)),
        ("sent", Value::from(sent.collect::<Vec<_>>())),
        ("left_out", left_out(tree.left_out)),
    ]);
    if let Some(reason) = queue_reason(store, row.run)? {
        json::insert(&mut trace, "queued", Value::from(reason));
    }
    let budgets = tree.open_budgets();
    if !budgets.is_empty() {
        let budgets = budgets.iter().map(|budget| budget.to_value(&tree.view.program)).collect::<Vec<_>>();
        json::insert(&mut trace, "budgets", Value::from(budgets));
    }
    Ok(trace)
}

fn record(store: &dyn Backend, tree: &TraceTree, children: &Children, index: usize) -> Result<Value> {
    let mut record = tree.record_json(index);
    let inner =
        inside(tree, index).map(|inner| self::record(store, tree, children, inner)).collect::<Result<Vec<_>>>()?;
    let runs = children.of_records.iter().filter(|(of, _)| *of == index);
    let runs = runs.map(|(_, child)| as_json(store, child, None, tree.full)).collect::<Result<Vec<_>>>()?;
    json::insert(&mut record, "tool_calls", Value::from(runs.iter().flat_map(tool_calls).collect::<Vec<_>>()));
    json::insert(&mut record, "steps", Value::from(inner));
    json::insert(&mut record, "runs", Value::from(runs));
    Ok(record)
}

/// The tool calls in the trace of a turn of an agent, as the record of its step lists them.
fn tool_calls(run: &Value) -> Vec<Value> {
    let is_turn = run.get("part").and_then(Value::as_str).is_some_and(|part| part.starts_with(AGENT));
    let steps = run.get("steps").and_then(Value::as_list).filter(|_| is_turn).unwrap_or_default();
    let calls = steps.iter().filter(|step| step.get("type").and_then(Value::as_str) == Some("tool"));
    let of = |call: &Value, key: &str| call.get("input").and_then(|input| input.get(key)).cloned().unwrap_or_default();
    let part = |call: &Value, key: &str| call.get(key).cloned().unwrap_or_default();
    let entry = |call: &Value| {
        json::object([
            ("tool", of(call, "tool")),
            ("arguments", of(call, "arguments")),
            ("status", part(call, "status")),
            ("began", part(call, "began")),
            ("ended", part(call, "ended")),
            ("output", part(call, "output")),
            ("error", part(call, "error")),
        ])
    };
    calls.map(entry).collect()
}

/// The omitted events before and after the part, and omitted steps. Null if everything is shown.
fn left_out(left_out: OmittedSteps) -> Value {
    if left_out == OmittedSteps::default() {
        return Value::Null;
    }
    json::object([
        ("events_before", json::count(left_out.before)),
        ("events_after", json::count(left_out.after)),
        ("steps", json::count(left_out.steps)),
    ])
}
