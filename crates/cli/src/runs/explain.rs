//! `branchpoint runs explain`: why a step went the way it did, with the values that its conditions saw.

use std::fmt::Write;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use branchpoint_core::ir::Index;
use branchpoint_expr::Value;
use serde_json::Value as Json;

use super::told::{Told, path};
use crate::opened::Opened;
use crate::{masked, terminal};

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// The id of the run, or a beginning or end of it that no other has
    run: String,

    /// The id of the step
    step: String,

    /// Only this iteration of the loops around: positions from the outermost, such as 0,1
    #[arg(long, value_name = "POSITIONS", value_delimiter = ',')]
    iteration: Option<Vec<u32>>,
}

pub(super) fn run(opened: &Opened, arguments: &Arguments, json: bool) -> Result<ExitCode> {
    let row = opened.run(&arguments.run)?;
    let told = Told::of(&opened.store, row.run)?;
    let records = found(&told, &arguments.step, arguments.iteration.as_deref())?;
    if json {
        let records: Vec<Value> = records.iter().map(|index| told.record_json(*index)).collect();
        terminal::print(&(serde_json::to_string_pretty(&Value::from(records))? + "\n"))?;
        return Ok(ExitCode::SUCCESS);
    }
    let document = opened.store.document(row.workflow)?;
    // The text of a workflow that is called is not kept, only its program.
    let source = if row.part.is_empty() { document.text.as_str() } else { "" };
    let origin = Source { text: source, name: &document.origin };
    let texts: Vec<String> = records.iter().map(|index| explained(&told, *index, &origin)).collect();
    terminal::print_styled(&texts.join("\n"))?;
    Ok(ExitCode::SUCCESS)
}

/// The records that are meant; or what there is instead.
pub(super) fn found(told: &Told, step: &str, iteration: Option<&[u32]>) -> Result<Vec<usize>> {
    let all = told.of_step(step, None);
    if all.is_empty() {
        let names: Vec<&str> = told.look.program.steps.iter().map(|step| &*step.id).collect();
        bail!("the workflow has no step `{step}`\nhelp: its steps are {}", names.join(", "));
    }
    let records = told.of_step(step, iteration);
    if records.is_empty() {
        let known: Vec<String> = all.iter().map(|index| path(&told.records[*index].path)).collect();
        bail!("the step `{step}` has no such iteration\nhelp: it has run for {}", known.join("; "));
    }
    Ok(records)
}

struct Source<'s> {
    text: &'s str,
    name: &'s str,
}

impl Source<'_> {
    /// The part of the document at a place, on one line, and the number of its first line.
    fn at(&self, start: usize, end: usize) -> Option<(usize, String)> {
        let part = self.text.get(start..end).filter(|part| !part.trim().is_empty())?;
        let line = self.text.get(..start)?.matches('\n').count() + 1;
        Some((line, part.split_whitespace().collect::<Vec<_>>().join(" ")))
    }
}

fn explained(told: &Told, index: usize, source: &Source<'_>) -> String {
    let record = &told.records[index];
    let (start, end) = told.look.program.steps[record.step.index()].origin;
    let place = source.at(start as usize, end as usize).map(|(line, _)| format!("{}:{line}\n", source.name));
    let mut text = place.unwrap_or_default() + &told.line(index, 0);
    let nowhere = Source { text: "", name: "" };
    let whys = told.whys(record);
    for why in &whys {
        let source = if told.is_written(record, why) { source } else { &nowhere };
        text += &told.secrets.mask(&decision(why, source));
    }
    if whys.is_empty() {
        if let Some(input) = &record.input {
            let _ = writeln!(text, "\n  It began with {}", masked::line(&told.secrets, input));
        }
        if let Some(output) = &record.output {
            let _ = writeln!(text, "  It gave {}", masked::line(&told.secrets, output));
        }
        text += "  It has decided nothing.\n";
    }
    text
}

/// One condition: where it stands, what it gave, one sentence, and the values that it saw.
fn decision(why: &Json, source: &Source<'_>) -> String {
    let tree = why.get("tree").unwrap_or(&Json::Null);
    let written = written(tree, source);
    let place = written.as_ref().map_or(String::new(), |(line, text)| format!("  {}:{line}  {text}\n", source.name));
    let outcome = match why.get("outcome") {
        Some(Json::Bool(holds)) => holds.to_string(),
        _ => "cannot be decided".to_owned(),
    };
    let sentence = why.get("sentence").and_then(Json::as_str).unwrap_or_default();
    let sentence = match &written {
        // Parts that the explanation has no words for stand in the document.
        Some((_, text)) if sentence.contains("this part") => format!("{outcome} because `{text}` is {outcome}"),
        _ => sentence.to_owned(),
    };
    let mut lines = format!("\n{place}  {sentence}\n");
    parts(tree, source, 2, &mut lines);
    lines
}

fn written(part: &Json, source: &Source<'_>) -> Option<(usize, String)> {
    let number = |key: &str| part.get(key).and_then(Json::as_u64).and_then(|at| usize::try_from(at).ok());
    source.at(number("start")?, number("end")?)
}

/// The parts of a condition with what they gave, and its type.
fn parts(part: &Json, source: &Source<'_>, depth: usize, lines: &mut String) {
    let text = |key: &str| part.get(key).and_then(Json::as_str);
    let told = match (text("value"), text("type"), text("error")) {
        (_, _, Some(error)) => format!("failed: {error}"),
        (Some(value), Some(kind), _) => format!("{value} ({kind})"),
        (Some(value), None, _) => value.to_owned(),
        (None, ..) => "not looked at".to_owned(),
    };
    let name = text("text").unwrap_or_default();
    let name = if name == "this part" {
        written(part, source).map_or(name.to_owned(), |(_, text)| text)
    } else {
        name.to_owned()
    };
    let arrow = if depth > 2 && part.get("decided") == Some(&Json::Bool(true)) { "  ← decided" } else { "" };
    let _ = writeln!(lines, "{}{name} = {told}{arrow}", "  ".repeat(depth));
    for child in part.get("children").and_then(Json::as_array).into_iter().flatten() {
        parts(child, source, depth + 1, lines);
    }
}

/// Positions that were typed, as they stand in records.
pub(super) fn first(told: &Told, step: &str, iteration: Option<&[u32]>) -> Result<usize> {
    found(told, step, iteration)?.first().copied().context("the step has not run")
}
