//! `branchpoint runs explain`: the decisions of a step, with the values that its conditions read.

use std::fmt::Write;
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow, bail};
use branchpoint_backend::RunNo;
use branchpoint_core::ir::{DecisionKind, Index};
use branchpoint_core::{DecisionRecord, WhatIfError, what_if};
use branchpoint_expr::{Span, Value};

use super::list::queue_reason;
use super::trace_tree::{TraceTree, path, positions};
use crate::approvals::reference;
use crate::store_access::StoreAccess;
use crate::{excerpt, json, terminal};

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// The id of the run, or a unique beginning or end of it
    run: String,

    /// The id of the step
    step: String,

    /// Iteration of the enclosing loops, outermost first, such as 0,1
    #[arg(long, value_name = "POSITIONS", value_delimiter = ',')]
    iteration: Option<Vec<u32>>,

    /// Changed value to decide with, such as step.score.output.score=0.9
    #[arg(long = "with", value_name = "PATH=VALUE")]
    changes: Vec<String>,

    /// Number of the decision to repeat, counted from 1; needs `--with`
    #[arg(long, value_name = "NUMBER", requires = "changes", value_parser = clap::value_parser!(u64).range(1..))]
    decision: Option<u64>,

    /// Print values above 4 KB in full; needs `--json`
    #[arg(long)]
    full: bool,
}

pub(super) fn run(opened: &StoreAccess, arguments: &Arguments, json: bool) -> Result<ExitCode> {
    let row = opened.run(&arguments.run)?;
    let tree = TraceTree::of(&*opened.store, row.run)?.full(arguments.full);
    if tree.of_step(&arguments.step, None).is_empty() && arguments.changes.is_empty() {
        return not_run(opened, &tree, row.run, &arguments.step, json);
    }
    let records = records_of(&tree, &arguments.step, arguments.iteration.as_deref())?;
    let document = opened.store.document(row.workflow)?;
    // The text of a called workflow is not stored, only its program.
    let (origin, text) = match row.part.as_str() {
        "" => (document.origin.as_str(), document.text.as_str()),
        part => (part, ""),
    };
    if !arguments.changes.is_empty() {
        return decide_again(&tree, &records, arguments, origin, json);
    }
    if json {
        let records: Vec<Value> = records.iter().map(|index| tree.record_json(*index)).collect();
        return terminal::print_json(&Value::from(records));
    }
    let place = |index: usize| {
        let (start, end) = tree.view.program.steps[tree.records[index].step.index()].origin;
        let span = Span { start, end };
        let line = (!span.text(text).is_empty()).then(|| span.line_column(text).0);
        line.map(|line| format!("{origin}:{line}\n")).unwrap_or_default()
    };
    let texts: Vec<String> = records.iter().map(|index| place(*index) + &explained(&tree, *index, origin)).collect();
    terminal::print_styled(&(texts.join("\n") + &open_approvals(opened, &tree, row.run, &arguments.step)?))?;
    Ok(ExitCode::SUCCESS)
}

/// Why a step of the workflow has no record: the run has not reached it, or is queued.
fn not_run(opened: &StoreAccess, tree: &TraceTree, run: RunNo, step: &str, json: bool) -> Result<ExitCode> {
    if !tree.view.program.steps.iter().any(|known| &*known.id == step) {
        records_of(tree, step, None)?;
    }
    if json {
        return terminal::print_json(&Value::from(Vec::new()));
    }
    let reason = queue_reason(&*opened.store, run)?.map(|reason| format!(": the run is {reason}")).unwrap_or_default();
    terminal::print_styled(&format!("Step `{step}` has not run{reason}.\n"))?;
    Ok(ExitCode::SUCCESS)
}

/// The approvals that a step of a run waits for: who may vote, who has voted, and what the choices still need.
fn open_approvals(opened: &StoreAccess, tree: &TraceTree, run: RunNo, step: &str) -> Result<String> {
    let open = opened.store.approvals(run)?.open;
    let mut text = String::new();
    for (open, request) in open.iter().filter_map(|open| Some((open, open.approval.request.as_ref()?))) {
        if open.run == run && &*open.approval.step == step {
            let _ =
                writeln!(text, "\n{step}: waiting for votes on approval {}", reference(&open.id, &open.approval.key));
            for line in request.progress_lines(&tree.secrets) {
                let _ = writeln!(text, "  {line}");
            }
        }
    }
    Ok(text)
}

/// A decision of a record, evaluated again.
struct Reevaluated<'t> {
    /// Its number in the record, counted from 1.
    number: usize,
    /// The rounds of the enclosing loops.
    iterations: String,
    was: &'t DecisionRecord,
    would_be: DecisionRecord,
}

/// Evaluates the decisions of the records again with changed values, or only the one with a number. Decisions that do not read a changed
/// path are left out, unless none reads it.
fn decide_again(
    tree: &TraceTree,
    records: &[usize],
    arguments: &Arguments,
    origin: &str,
    json: bool,
) -> Result<ExitCode> {
    let changes = arguments.changes.iter().map(|change| parse_change(change)).collect::<Result<Vec<_>>>()?;
    let program = &tree.view.program;
    let mut decisions: Vec<Reevaluated<'_>> = Vec::new();
    let mut refused = None;
    for record in records.iter().map(|index| &tree.records[*index]) {
        for (number, was) in (1..).zip(&record.decisions) {
            if arguments.decision.is_some_and(|only| only != number as u64) {
                continue;
            }
            match what_if(program, was, &changes) {
                Ok(would_be) => {
                    let iterations = path(&positions(record));
                    decisions.push(Reevaluated { number, iterations, was, would_be });
                }
                // A decision that reads other paths says more than one that reads none.
                Err(reason) => {
                    let is_better = matches!((&refused, &reason), (None, _) | (_, WhatIfError::NotRead { .. }));
                    refused = if is_better { Some(reason) } else { refused };
                }
            }
        }
    }
    match refused {
        Some(refused) if decisions.is_empty() => return Err(not_changeable(&refused)),
        None if decisions.is_empty() => match arguments.decision {
            Some(number) => bail!("step `{}` has no decision {number} in this run", arguments.step),
            None => bail!("step `{}` made no decision in this run", arguments.step),
        },
        _ => {}
    }
    if json {
        let decisions = decisions.iter().map(|Reevaluated { number, was, would_be, .. }| {
            let [was, would_be] = [*was, would_be].map(|decided| tree.decision_json(decided));
            json::object([("number", json::count(*number as u64)), ("was", was), ("would_be", would_be)])
        });
        let decisions = Value::from(decisions.collect::<Vec<_>>());
        return terminal::print_json(&decisions);
    }
    let several = decisions.len() > 1;
    let texts = decisions.iter().map(|Reevaluated { number, iterations, was, would_be }| {
        let same = was.chosen().map(|branch| &branch.name) == would_be.chosen().map(|branch| &branch.name);
        let verdict = if same { "The same branch" } else { "Another branch" };
        let text = would_be.to_text(program, origin, &tree.secrets);
        let iteration = if iterations.is_empty() { String::new() } else { format!(" of iteration {iterations}") };
        let which = if several { format!("Decision {number}{iteration}: ") } else { String::new() };
        format!("{which}{verdict} with these values. It was: {}\n\n{text}", was.headline(program))
    });
    terminal::print_styled(&texts.collect::<Vec<_>>().join("\n"))?;
    Ok(ExitCode::SUCCESS)
}

/// `PATH=VALUE`, the value as JSON or as plain text.
fn parse_change(text: &str) -> Result<(String, Value)> {
    let (path, value) = text
        .split_once('=')
        .filter(|(path, _)| !path.trim().is_empty())
        .with_context(|| format!("`--with {text}` has no `=`\nhelp: write it as `--with 'step.score.output=0.9'`"))?;
    let value = serde_json::from_str(value).unwrap_or_else(|_| Value::from(value));
    Ok((path.trim().to_owned(), value))
}

fn not_changeable(refused: &WhatIfError) -> anyhow::Error {
    match refused {
        WhatIfError::NotRead { reads, .. } => anyhow!("{refused}\nhelp: it reads {}", reads.join(", ")),
        WhatIfError::NoConditions(_) => anyhow!("{refused}"),
    }
}

/// The records of a step, optionally of one iteration.
pub(super) fn records_of(tree: &TraceTree, step: &str, iteration: Option<&[u32]>) -> Result<Vec<usize>> {
    let all = tree.of_step(step, None);
    if all.is_empty() {
        let names: Vec<&str> = tree.view.program.steps.iter().map(|step| &*step.id).collect();
        bail!("the workflow has no step `{step}`\nhelp: its steps are {}", names.join(", "));
    }
    let records = tree.of_step(step, iteration);
    if records.is_empty() {
        let known: Vec<String> = all.iter().map(|index| path(&positions(&tree.records[*index]))).collect();
        bail!("the step `{step}` has no such iteration\nhelp: it has run for {}", known.join("; "));
    }
    Ok(records)
}

/// A record with its decisions. The rounds of a loop have one line each, except for the last.
fn explained(tree: &TraceTree, index: usize, origin: &str) -> String {
    let (record, program) = (&tree.records[index], &tree.view.program);
    let mut text = tree.line(index, 0);
    let last = record.decisions.len().saturating_sub(1);
    for (position, decided) in record.decisions.iter().enumerate() {
        if record.decisions_omitted > 0 && position == record.decisions.len() / 2 {
            let _ = writeln!(text, "\n… {} decisions left out …", record.decisions_omitted);
        }
        let is_round = decided.kind == DecisionKind::Loop && position < last;
        let decision = if is_round {
            decided.line(program, &tree.secrets) + "\n"
        } else {
            decided.to_text(program, origin, &tree.secrets)
        };
        text += "\n";
        text += &decision;
    }
    if record.decisions.is_empty() {
        if let Some(input) = &record.input {
            let _ = writeln!(text, "\n  Input: {}", excerpt::value(&tree.secrets, input));
        }
        if let Some(output) = &record.output {
            let _ = writeln!(text, "  Output: {}", excerpt::value(&tree.secrets, output));
        }
        text += "  No decisions.\n";
    }
    text
}

/// The first record of a step, optionally of one iteration.
pub(super) fn first(tree: &TraceTree, step: &str, iteration: Option<&[u32]>) -> Result<usize> {
    records_of(tree, step, iteration)?.first().copied().context("the step has not run")
}
