//! Formats the steps of a run for people, one line for each step.

use anstyle::{AnsiColor, Style};
use branchpoint_core::ir::{Index, Program, StepId};
use branchpoint_core::{StepRecord, StepStatus};
use branchpoint_expr::{Value, preview};
use branchpoint_runners::Secrets;

use crate::{excerpt, terminal, usage};

/// The longest output or reason on a line, in characters.
const MAX_CHARS: usize = 60;

/// The shortest duration that is shown, in milliseconds.
const NOTABLE_MS: i64 = 100;

/// The form of a step's line.
#[derive(Clone, Copy, Default)]
pub(crate) struct LineStyle {
    /// How many runs and steps enclose the run of the step.
    pub(crate) depth: usize,
    /// Whether the step is a heading for the steps inside it, whose lines follow.
    pub(crate) heading: bool,
    /// Whether the duration and a short reason of the branch are shown.
    pub(crate) live: bool,
}

/// The line of a step. Values are masked before they are shortened.
pub(crate) fn line(program: &Program, record: &StepRecord, secrets: &Secrets, style: LineStyle) -> String {
    let attempts = match record.attempts.len() {
        0 | 1 => String::new(),
        count => format!(", {count} attempts"),
    };
    let took_ms = record.ended_ms.map(|ended_ms| ended_ms - record.began_ms - record.waited_ms);
    let took_ms = took_ms.filter(|took_ms| style.live && !style.heading && *took_ms >= NOTABLE_MS);
    let took = took_ms.map(|took_ms| format!(", {}", duration(took_ms))).unwrap_or_default();
    let reason = reason(record, secrets).filter(|_| style.live);
    let outcome = outcome(record, secrets, reason, MAX_CHARS, style.heading);
    let (sign, name) = (sign(&record.status, style.heading), name(program, record, style.depth));
    format!("{sign} {name}{attempts}{took}{outcome}\n")
}

/// The coloured sign of a step's status.
pub(crate) fn sign(status: &StepStatus, heading: bool) -> String {
    let (sign, color) = match status {
        _ if heading => ("▸", AnsiColor::Cyan),
        StepStatus::Completed => ("✓", AnsiColor::Green),
        StepStatus::Failed => ("✗", AnsiColor::Red),
        StepStatus::Running | StepStatus::Waiting(_) => ("…", AnsiColor::Yellow),
        StepStatus::Cancelled | StepStatus::Skipped(_) => ("–", AnsiColor::Yellow),
    };
    terminal::paint(Style::new().fg_color(Some(color.into())), sign)
}

/// The usage of a step, its branch with the reason, its output, its error and its warnings. A heading has no output yet.
pub(crate) fn outcome(
    record: &StepRecord,
    secrets: &Secrets,
    reason: Option<String>,
    max_chars: usize,
    heading: bool,
) -> String {
    let used = usage::to_text(record.usage).filter(|_| !heading).map(|used| format!(", {used}"));
    let branch = record.branch.as_ref().map(|branch| {
        let reason = reason.map(|reason| format!(" ({reason})")).unwrap_or_default();
        format!(" → {branch}{reason}")
    });
    // The output of a step of a flow also contains its variables; `data` is the result alone.
    let output = record.output.as_ref().filter(|output| **output != Value::Null && !heading);
    let output = output.map(|output| output.get("data").unwrap_or(output));
    let output = output.map(|output| format!(": {}", excerpt::value_up_to(secrets, output, max_chars)));
    let error = record.error.as_ref().and_then(|error| error.get("message"));
    let error = error.map(|message| format!(": {}", excerpt::error(secrets, message)));
    let warnings = record.warnings.iter().map(|warning| format!(" (warning: {warning})"));
    [used, branch, output, error].into_iter().flatten().chain(warnings).collect()
}

/// The title of a step, indented by its depth.
pub(crate) fn name(program: &Program, record: &StepRecord, depth: usize) -> String {
    "  ".repeat(depth + inner_depth(program, record.step)) + &title(program, record)
}

/// The id and type of a step, its iteration and its repetition. A tool call of an agent shows the tool instead of the type.
pub(crate) fn title(program: &Program, record: &StepRecord) -> String {
    let step = &program.steps[record.step.index()];
    let tool = record.input.as_ref().filter(|_| &*step.kind == "tool").and_then(|input| input.get("tool")?.as_str());
    let path: Vec<String> = record.path.iter().map(u32::to_string).collect();
    let path = if path.is_empty() { String::new() } else { format!(" [{}]", path.join(",")) };
    let run = if record.run > 1 { format!(", run {}", record.run) } else { String::new() };
    format!("{} ({}){path}{run}", step.id, tool.unwrap_or(&step.kind))
}

/// How many steps enclose a step.
pub(crate) fn inner_depth(program: &Program, step: StepId) -> usize {
    let parent = |step: &StepId| program.steps[step.index()].parent;
    std::iter::successors(parent(&step), parent).count()
}

/// The reason of the last decision, without its result: the line shows the branch.
fn reason(record: &StepRecord, secrets: &Secrets) -> Option<String> {
    let decided = record.decisions.last()?;
    let sentence = decided.sentence().render(|value| preview(&secrets.mask_value(value)));
    let words = sentence.split_once(" because ").map_or(sentence.as_str(), |(_, words)| words);
    Some(excerpt::text_up_to(&secrets.mask(words), MAX_CHARS))
}

/// A duration in its largest unit.
pub(crate) fn duration(ms: i64) -> String {
    let seconds = ms / 1000;
    match seconds {
        0 => format!("{ms} ms"),
        1..10 => format!("{seconds}.{} s", ms % 1000 / 100),
        10..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        3600..86400 => format!("{} h", seconds / 3600),
        _ => format!("{} days", seconds / 86400),
    }
}
