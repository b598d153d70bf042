//! Steps of a run, a line each, for people.

use anstyle::{AnsiColor, Style};
use branchpoint_core::ir::{Index, Program, StepId};
use branchpoint_core::{StepRecord, StepStatus};
use branchpoint_expr::{Value, preview};
use branchpoint_runners::Secrets;

use crate::{masked, spent, terminal};

/// How much of an output is shown.
const LONGEST: usize = 60;

/// How much of an error is shown: the way out stands at its end.
pub(crate) const LONGEST_ERROR: usize = 400;

/// A step that took less time than this is not worth a number.
const NOTABLE_MS: i64 = 100;

/// How a line is written.
#[derive(Clone, Copy, Default)]
pub(crate) struct LineStyle {
    /// How deep the run is nested in others.
    pub(crate) depth: usize,
    /// Whether the step is a heading for the steps in it, which come later.
    pub(crate) heading: bool,
    /// Whether the duration and a short reason of the branch are shown.
    pub(crate) live: bool,
}

/// One step of a run. Values are masked before they are shortened.
pub(crate) fn line(program: &Program, record: &StepRecord, secrets: &Secrets, manner: LineStyle) -> String {
    let attempts = match record.attempts.len() {
        0 | 1 => String::new(),
        count => format!(", {count} attempts"),
    };
    let took_ms = record.ended_ms.map(|ended_ms| ended_ms - record.began_ms - record.waited_ms);
    let took_ms = took_ms.filter(|took_ms| manner.live && !manner.heading && *took_ms >= NOTABLE_MS);
    let took = took_ms.map(|took_ms| format!(", {}", duration(took_ms))).unwrap_or_default();
    let reason = reason(record, secrets).filter(|_| manner.live);
    let outcome = outcome(record, secrets, reason, LONGEST, manner.heading);
    let (sign, name) = (sign(&record.status, manner.heading), name(program, record, manner.depth));
    format!("{sign} {name}{attempts}{took}{outcome}\n")
}

/// The sign of a step, in its colour.
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

/// What a step has used, its branch and the reason for it, its output, its error and its warnings. A heading has no output yet.
pub(crate) fn outcome(
    record: &StepRecord,
    secrets: &Secrets,
    reason: Option<String>,
    longest: usize,
    heading: bool,
) -> String {
    let used = spent::words(record.usage).filter(|_| !heading).map(|used| format!(", {used}"));
    let branch = record.branch.as_ref().map(|branch| {
        let reason = reason.map(|reason| format!(" ({reason})")).unwrap_or_default();
        format!(" → {branch}{reason}")
    });
    // A step of a flow leaves variables behind beside what it gave; its data say enough.
    let output = record.output.as_ref().filter(|output| **output != Value::Null && !heading);
    let output = output.map(|output| output.get("data").unwrap_or(output));
    let output = output.map(|output| format!(": {}", masked::shortened_value(secrets, output, longest)));
    let error = record.error.as_ref().and_then(|error| error.get("message"));
    let error = error.map(|message| format!(": {}", masked::error(secrets, message)));
    let warnings = record.warnings.iter().map(|warning| format!(" (warning: {warning})"));
    [used, branch, output, error].into_iter().flatten().chain(warnings).collect()
}

/// A step with its place: its depth and its title.
pub(crate) fn name(program: &Program, record: &StepRecord, depth: usize) -> String {
    "  ".repeat(depth + inner_depth(program, record.step)) + &title(program, record)
}

/// A step, its type, which item of loops it is for, which time it runs. Calls of agents show the tool that was called.
pub(crate) fn title(program: &Program, record: &StepRecord) -> String {
    let step = &program.steps[record.step.index()];
    let tool = record.input.as_ref().filter(|_| &*step.kind == "tool").and_then(|input| input.get("tool")?.as_str());
    let path: Vec<String> = record.path.iter().map(u32::to_string).collect();
    let path = if path.is_empty() { String::new() } else { format!(" [{}]", path.join(",")) };
    let run = if record.run > 1 { format!(", run {}", record.run) } else { String::new() };
    format!("{} ({}){path}{run}", step.id, tool.unwrap_or(&step.kind))
}

/// How many steps are around a step.
pub(crate) fn inner_depth(program: &Program, step: StepId) -> usize {
    let parent = |step: &StepId| program.steps[step.index()].parent;
    std::iter::successors(parent(&step), parent).count()
}

/// The words of the decision, without its answer: the branch says that.
fn reason(record: &StepRecord, secrets: &Secrets) -> Option<String> {
    let decided = record.decisions.last()?;
    let sentence = decided.sentence().render(|value| preview(&secrets.mask_value(value)));
    let words = sentence.split_once(" because ").map_or(sentence.as_str(), |(_, words)| words);
    Some(shortened(&secrets.mask(words), LONGEST))
}

/// A text on one line, not too long.
pub(crate) fn shortened(text: &str, longest: usize) -> String {
    let text = text.trim_end();
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(longest).collect();
    if text.chars().count() > longest { line + "…" } else { line }
}

/// A time that has passed or will pass, as people say it.
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
