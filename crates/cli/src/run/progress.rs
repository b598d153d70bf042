//! The steps of a run, a line each.

use std::fmt::Write;

use anstyle::{AnsiColor, Style};
use branchpoint_core::ir::{Index, Program, Status};
use branchpoint_core::{Note, StepRecord, StepStatus, steps};
use branchpoint_engine::Memory;
use branchpoint_expr::Value;

use crate::terminal;

/// How much of an output is shown.
const LONGEST: usize = 60;

/// What was shown already.
pub(crate) struct Progress {
    /// Whether it is told why a step went the way it did.
    pub(crate) reasons: bool,
    /// How many steps were shown.
    pub(crate) shown: usize,
}

impl Progress {
    /// Shows the steps that have ended since the last time. One that still runs is shown when it has ended, and those after
    /// it keep their order; when nothing more comes, all are shown.
    pub(crate) fn show(&mut self, program: &Program, host: &Memory<'_>, nothing_more: bool) {
        let records = steps(program, host.notes(), host.status());
        let ran = records.iter().filter(|record| !matches!(record.status, StepStatus::Skipped(_)));
        let new = ran.skip(self.shown).take_while(|record| nothing_more || !is_open(record));
        let lines: Vec<String> = new.map(|record| line(program, record) + &self.reasons(program, record)).collect();
        self.shown += lines.len();
        terminal::tell(&lines.concat());
    }

    /// Why a step took its branch: a line for each condition that was looked at.
    fn reasons(&self, program: &Program, record: &StepRecord) -> String {
        if !self.reasons || record.branch.is_none() {
            return String::new();
        }
        let indent = "  ".repeat(depth(program, record) + 1);
        let sentences = record.why.iter().filter_map(|why| {
            let why: serde_json::Value = serde_json::from_str(why).ok()?;
            let sentence = why.get("sentence")?.as_str()?;
            // What the author did not write has no words to be told with.
            (!sentence.contains("this part")).then(|| format!("  {indent}{sentence}\n"))
        });
        sentences.collect()
    }
}

fn is_open(record: &StepRecord) -> bool {
    matches!(record.status, StepStatus::Running | StepStatus::Waiting(_))
}

/// All steps of a run that is over, a line each.
pub(crate) fn lines(program: &Program, notes: &[Note], status: Status) -> String {
    let records = steps(program, notes, status);
    let ran = records.iter().filter(|record| !matches!(record.status, StepStatus::Skipped(_)));
    ran.map(|record| line(program, record)).collect()
}

/// Tells that the clock was moved on.
pub(crate) fn waited(ms: i64) {
    terminal::tell(&format!("… waits {}, which a run in memory skips\n", duration(ms)));
}

fn line(program: &Program, record: &StepRecord) -> String {
    let step = &program.steps[record.step.index()];
    let (sign, color) = match record.status {
        StepStatus::Completed => ("✓", AnsiColor::Green),
        StepStatus::Failed => ("✗", AnsiColor::Red),
        StepStatus::Running | StepStatus::Waiting(_) => ("…", AnsiColor::Yellow),
        _ => ("–", AnsiColor::Yellow),
    };
    let style = Style::new().fg_color(Some(color.into()));
    let indent = "  ".repeat(depth(program, record));
    let mut line = format!("{style}{sign}{style:#} {indent}{} ({})", step.id, step.kind);
    let mut add = |text: String| write!(line, "{text}").expect("writing to a text does not fail");
    if !record.path.is_empty() {
        let path: Vec<String> = record.path.iter().map(u32::to_string).collect();
        add(format!(" [{}]", path.join(",")));
    }
    if record.run > 1 {
        add(format!(", run {}", record.run));
    }
    if record.attempts.len() > 1 {
        add(format!(", {} attempts", record.attempts.len()));
    }
    if let Some(branch) = &record.branch {
        add(format!(" → {branch}"));
    }
    if let Some(output) = record.output.as_ref().filter(|output| **output != Value::Null) {
        // A step of a flow leaves variables behind beside what it gave; its data say enough.
        add(format!(": {}", cut(output.get("data").unwrap_or(output))));
    }
    if let Some(message) = record.error.as_ref().and_then(|error| error.get("message")) {
        add(format!(": {}", cut(message)));
    }
    for warning in &record.warnings {
        add(format!(" (warning: {warning})"));
    }
    line.push('\n');
    line
}

fn depth(program: &Program, record: &StepRecord) -> usize {
    let parent = |step: &branchpoint_core::ir::StepId| program.steps[step.index()].parent;
    std::iter::successors(parent(&record.step), parent).count()
}

/// A value on one line, not too long.
fn cut(value: &Value) -> String {
    let text = value.to_string();
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(LONGEST).collect();
    if text.chars().count() > LONGEST { line + "…" } else { line }
}

fn duration(ms: i64) -> String {
    let seconds = ms / 1000;
    match seconds {
        0 => format!("{ms} ms"),
        1..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        3600..86400 => format!("{} h", seconds / 3600),
        _ => format!("{} days", seconds / 86400),
    }
}
