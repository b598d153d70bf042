//! The records of steps in responses.

use std::collections::BTreeMap;

use branchpoint_backend::{Backend, RunTrace};
use branchpoint_core::effect::AGENT;
use branchpoint_core::ir::Index as _;
use branchpoint_core::{DecisionRecord, EffectNo, Redact, StepRecord, StepStatus};
use branchpoint_expr::{Object, Span, Value};
use branchpoint_runners::{Secrets, Untruncated};
use serde::Serialize;
use utoipa::ToSchema;

use super::record::UsageRecord;
use crate::app::App;
use crate::problem::Problem;
use crate::time::rfc3339;

/// A place in the source of a document, in bytes.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub(crate) struct SpanRecord {
    start: u32,
    end: u32,
    /// The line, counted from 1.
    line: usize,
}

impl SpanRecord {
    /// The place of a span in a text; none if the span is empty or outside of the text.
    pub(crate) fn of(span: Span, text: &str) -> Option<Self> {
        let part = span.text(text);
        (!part.is_empty()).then(|| Self { start: span.start, end: span.end, line: span.line_column(text).0 })
    }
}

/// An attempt of a call.
#[derive(Clone, Debug, Serialize, ToSchema)]
struct AttemptRecord {
    began: String,
    ended: Option<String>,
    /// The error of a failed attempt.
    #[schema(value_type = Option<crate::schemas::StepError>)]
    error: Value,
}

/// One execution of a step.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Step)]
pub(crate) struct StepJson {
    /// Identifies the execution within its run, and stays the same while the run continues.
    pub(crate) key: String,
    /// The key of the enclosing step.
    parent: Option<String>,
    /// The id of the step.
    step: String,
    /// The name that the document gives the step.
    #[schema(value_type = Option<String>)]
    name: Value,
    r#type: String,
    /// The number of this execution among those of the step at the same position, counted from 1.
    run: u32,
    #[schema(value_type = crate::schemas::StepStatus, example = "completed")]
    status: &'static str,
    /// Why the step did not run.
    reason: Option<String>,
    /// The rounds of the enclosing loops, outermost first: `{loop, index, item}`.
    #[schema(value_type = Vec<crate::schemas::Iteration>)]
    iterations: Vec<Value>,
    /// The branch that the step took.
    branch: Option<String>,
    took_ms: Option<i64>,
    waited_ms: i64,
    /// The part of `waited_ms` that the step waited for people.
    hitl_wait_ms: i64,
    began: Option<String>,
    ended: Option<String>,
    attempts: Vec<AttemptRecord>,
    usage: UsageRecord,
    has_children: bool,
    /// The number of enclosed steps by status.
    children_counts: BTreeMap<&'static str, u64>,
    depth: usize,
    /// The decisions with all branches. The trees of evaluated conditions are only in the record of one step.
    #[schema(value_type = Vec<crate::schemas::Decision>)]
    decisions: Vec<Value>,
    /// The number of decisions omitted between the first and the last.
    decisions_omitted: u64,
    /// The number of items of a loop.
    items: Option<u32>,
    warnings: Vec<String>,
    #[schema(value_type = Option<String>)]
    output_content_type: Value,
    #[schema(value_type = Option<crate::schemas::StepError>)]
    error: Value,
    /// The ids of the runs that the step called.
    child_runs: Vec<String>,
    span: Option<SpanRecord>,
}

/// One execution of a step with its values.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct StepDetail {
    #[serde(flatten)]
    step: StepJson,
    /// The input. A value above 4 KB is `{truncated, bytes}` unless the request asks for whole values.
    input: Value,
    /// The output, in the same form.
    output: Value,
    /// The tool calls of an agent's turn.
    #[schema(value_type = Vec<crate::schemas::ToolCall>)]
    tool_calls: Vec<Value>,
}

/// Writes the records of a trace.
pub(crate) struct StepWriter<'t> {
    trace: &'t RunTrace,
    secrets: Secrets,
    names: Object,
    text: String,
    /// The ids of called runs, by effect.
    called: BTreeMap<EffectNo, Vec<String>>,
}

impl<'t> StepWriter<'t> {
    pub(crate) fn new(backend: &dyn Backend, trace: &'t RunTrace) -> Result<Self, Problem> {
        let row = &trace.view.row;
        let secrets = backend.secrets(row.run)?;
        // The text of a called workflow is not stored, only its program.
        let text = if row.part.is_empty() { backend.document(row.workflow)?.text } else { String::new() };
        let mut called: BTreeMap<EffectNo, Vec<String>> = BTreeMap::new();
        for child in backend.children(row.run)? {
            if let Some(parent) = child.parent {
                called.entry(EffectNo(parent.effect)).or_default().push(child.id);
            }
        }
        let names = trace.view.view("names").and_then(|names| names.as_object().cloned()).unwrap_or_default();
        Ok(Self { trace, secrets, names, text, called })
    }

    /// Writes the trace of a run that is not stored.
    pub(crate) fn unstored(trace: &'t RunTrace, secrets: Secrets, text: &str) -> Self {
        let names = trace.view.view("names").and_then(|names| names.as_object().cloned()).unwrap_or_default();
        Self { trace, secrets, names, text: text.to_owned(), called: BTreeMap::new() }
    }

    pub(crate) fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    /// The number of these records by status.
    pub(crate) fn counts(&self, records: &[usize]) -> BTreeMap<&'static str, u64> {
        let mut counts = BTreeMap::new();
        for index in records {
            *counts.entry(status_of(&self.trace.records[*index])).or_default() += 1;
        }
        counts
    }

    /// A record without its values and without the trees of its conditions.
    pub(crate) fn step(&self, index: usize) -> StepJson {
        let decided = |decided: &DecisionRecord| without_trees(self.decision(decided, &self.secrets));
        self.write(index, &decided, &self.secrets)
    }

    /// A record with its values.
    pub(crate) fn detail(
        &self,
        app: &App,
        backend: &dyn Backend,
        index: usize,
        full: bool,
    ) -> Result<StepDetail, Problem> {
        let whole = Untruncated(&self.secrets);
        let redact: &dyn Redact = if full { &whole } else { &self.secrets };
        let record = &self.trace.records[index];
        let value = |value: &Option<Value>| value.as_ref().map_or(Value::Null, |value| redact.data(value));
        Ok(StepDetail {
            step: self.write(index, &|decided| self.decision(decided, redact), redact),
            input: value(&record.input),
            output: value(&record.output),
            tool_calls: self.tool_calls(app, backend, index, redact)?,
        })
    }

    /// A decision as JSON.
    pub(crate) fn decision(&self, decided: &DecisionRecord, redact: &dyn Redact) -> Value {
        decided.to_value(&self.trace.view.program, redact)
    }

    fn write(&self, index: usize, decision: &dyn Fn(&DecisionRecord) -> Value, redact: &dyn Redact) -> StepJson {
        let trace = self.trace;
        let (record, program) = (&trace.records[index], &trace.view.program);
        let step = &program.steps[record.step.index()];
        let did_run = !matches!(record.status, StepStatus::Skipped(_));
        let value = |value: &Option<Value>| value.as_ref().map_or(Value::Null, |value| redact.data(value));
        let attempts = record.attempts.iter().map(|attempt| AttemptRecord {
            began: rfc3339(attempt.began_ms),
            ended: attempt.ended_ms.map(rfc3339),
            error: value(&attempt.error),
        });
        let child_runs = trace.callers.iter().filter(|(_, caller)| **caller == index);
        let child_runs = child_runs.filter_map(|(effect, _)| self.called.get(effect)).flatten().cloned().collect();
        let worked = |ended_ms: i64| ended_ms - record.began_ms - record.waited_ms;
        StepJson {
            key: trace.keys[index].clone(),
            parent: trace.parents[index].map(|parent| trace.keys[parent].clone()),
            step: step.id.to_string(),
            name: self.names.get(&step.id).map(|name| self.secrets.mask_value(name)).unwrap_or_default(),
            r#type: step.kind.to_string(),
            run: record.run,
            status: status_of(record),
            reason: match &record.status {
                StepStatus::Skipped(reason) => Some(reason.to_string()),
                _ => None,
            },
            iterations: record.iterations.iter().map(|round| round.to_value(program, &self.secrets)).collect(),
            branch: record.branch.as_ref().map(|branch| self.secrets.mask(branch).into_owned()),
            took_ms: record.ended_ms.map(worked),
            waited_ms: record.waited_ms,
            hitl_wait_ms: record.waited_people_ms,
            began: did_run.then(|| rfc3339(record.began_ms)),
            ended: record.ended_ms.filter(|_| did_run).map(rfc3339),
            attempts: attempts.collect(),
            usage: record.usage.into(),
            has_children: !trace.children[index].is_empty(),
            children_counts: self.counts(&trace.children[index]),
            depth: trace.depth(index),
            decisions: record.decisions.iter().map(decision).collect(),
            decisions_omitted: record.decisions_omitted,
            items: record.items,
            warnings: record.warnings.iter().map(|warning| self.secrets.mask(warning).into_owned()).collect(),
            output_content_type: value(&record.output_content_type),
            error: value(&record.error),
            child_runs,
            span: SpanRecord::of(Span { start: step.origin.0, end: step.origin.1 }, &self.text),
        }
    }

    /// The tool calls of the agent's turns that a step called.
    fn tool_calls(
        &self,
        app: &App,
        backend: &dyn Backend,
        index: usize,
        redact: &dyn Redact,
    ) -> Result<Vec<Value>, Problem> {
        let effects = self.trace.callers.iter().filter(|(_, caller)| **caller == index).map(|(effect, _)| effect);
        let mut calls = Vec::new();
        for id in effects.filter_map(|effect| self.called.get(effect)).flatten() {
            let Some(run) = backend.run(id)?.filter(|run| run.part.starts_with(AGENT)) else { continue };
            let trace = app.trace(backend, &run)?;
            for index in trace.tops() {
                let (record, step) =
                    (&trace.records[index], &trace.view.program.steps[trace.records[index].step.index()]);
                if &*step.kind == "tool" {
                    calls.push(tool_call(record, redact));
                }
            }
        }
        Ok(calls)
    }
}

/// A tool call of an agent, from the record of its step.
fn tool_call(record: &StepRecord, redact: &dyn Redact) -> Value {
    let input = |key: &str| {
        let value = record.input.as_ref().and_then(|input| input.get(key));
        value.map(|value| redact.data(value)).unwrap_or_default()
    };
    let value = |value: &Option<Value>| value.as_ref().map_or(Value::Null, |value| redact.data(value));
    let fields = [
        ("tool", input("tool")),
        ("arguments", input("arguments")),
        ("status", Value::from(status_of(record))),
        ("began", Value::from(rfc3339(record.began_ms))),
        ("ended", record.ended_ms.map_or(Value::Null, |ended_ms| Value::from(rfc3339(ended_ms)))),
        ("output", value(&record.output)),
        ("error", value(&record.error)),
    ];
    Value::from(fields.into_iter().map(|(key, value)| (key.into(), value)).collect::<Object>())
}

/// The status of a step by name.
pub(crate) fn status_of(record: &StepRecord) -> &'static str {
    match &record.status {
        StepStatus::Running => "running",
        StepStatus::Waiting(status) => status.as_str(),
        StepStatus::Completed => "completed",
        StepStatus::Failed => "failed",
        StepStatus::Cancelled => "cancelled",
        StepStatus::Skipped(_) => "skipped",
    }
}

/// A decision without the trees of its conditions.
fn without_trees(mut decision: Value) -> Value {
    let branches = decision.get("branches").and_then(Value::as_list).unwrap_or_default().to_vec();
    let branches = branches.into_iter().map(|mut branch| {
        insert(&mut branch, "tree", Value::Null);
        branch
    });
    let branches = Value::from(branches.collect::<Vec<_>>());
    insert(&mut decision, "branches", branches);
    decision
}

fn insert(object: &mut Value, key: &str, value: Value) {
    if let Value::Object(fields) = object {
        fields.edit(|fields| fields.insert(key.into(), value));
    }
}
