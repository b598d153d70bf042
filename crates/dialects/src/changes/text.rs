//! Changes as words and as JSON.

use std::fmt::Write as _;

use branchpoint_expr::Value;
use serde_json::json;

use super::values::common;
use super::{Aspect, Change, ChangeKind, Changes, Group};

/// The most lines of a text of which the differences are shown line by line.
const COMPARED_LINES: usize = 400;

impl Group {
    /// The name in JSON.
    ///
    /// ```
    /// assert_eq!(branchpoint_dialects::Group::Decisions.as_str(), "decisions");
    /// ```
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Decisions => "decisions",
            Self::Approvals => "approvals",
            Self::Steps => "steps",
            Self::Inputs => "inputs",
            Self::Other => "other",
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::Decisions => "Decisions",
            Self::Approvals => "Approvals",
            Self::Steps => "Steps",
            Self::Inputs => "Inputs",
            Self::Other => "Other",
        }
    }
}

impl ChangeKind {
    /// The name in JSON.
    ///
    /// ```
    /// assert_eq!(branchpoint_dialects::ChangeKind::Moved.as_str(), "moved");
    /// ```
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Changed => "changed",
            Self::Moved => "moved",
            Self::Renamed => "renamed",
        }
    }

    fn sign(self) -> char {
        match self {
            Self::Added => '+',
            Self::Removed => '-',
            Self::Changed => '~',
            Self::Moved => '>',
            Self::Renamed => '=',
        }
    }
}

impl Aspect {
    /// The name in JSON.
    ///
    /// ```
    /// assert_eq!(branchpoint_dialects::Aspect::Retry.as_str(), "retry");
    /// ```
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Step => "step",
            Self::Condition => "condition",
            Self::Approvers => "approvers",
            Self::Prompt => "prompt",
            Self::Limit => "limit",
            Self::Retry => "retry",
            Self::Policy => "policy",
            Self::Input => "input",
            Self::Setting => "setting",
        }
    }
}

impl Changes {
    /// The changes as text, by group.
    ///
    /// ```
    /// let old = "name: greet\nsteps:\n  - {id: greet, step_type: text, template: Hello}\n";
    /// let changes = branchpoint_dialects::changes(old, &old.replace("Hello", "Hi"), None)?;
    /// assert_eq!(changes.to_text(), "Steps\n  ~ greet: template\n      - Hello\n      + Hi\n");
    /// # Ok::<(), branchpoint_dialects::ChangesError>(())
    /// ```
    pub fn to_text(&self) -> String {
        let mut out = String::new();
        let mut group = None;
        for change in &self.list {
            if group != Some(change.group) {
                let gap = if group.is_some() { "\n" } else { "" };
                // Writing to text does not fail.
                let _ = writeln!(out, "{gap}{}", change.group.title());
                group = Some(change.group);
            }
            write_change(&mut out, change);
        }
        out
    }

    /// The changes as JSON: the form that `docs/spec/house.md` describes.
    ///
    /// ```
    /// let json = branchpoint_dialects::Changes::default().to_json();
    /// assert_eq!(json["same"], true);
    /// ```
    pub fn to_json(&self) -> serde_json::Value {
        json!({
            "same": self.list.is_empty(),
            "changes": self.list.iter().map(Change::to_json).collect::<Vec<_>>(),
        })
    }
}

impl Change {
    fn to_json(&self) -> serde_json::Value {
        let fields = [
            ("group", Some(json!(self.group.as_str()))),
            ("kind", Some(json!(self.kind.as_str()))),
            ("aspect", Some(json!(self.aspect.as_str()))),
            ("step", self.step.as_ref().map(|step| json!(&**step))),
            ("step_type", self.step_type.as_ref().map(|kind| json!(&**kind))),
            ("was", self.was.as_ref().map(|was| json!(&**was))),
            ("field", self.field.as_ref().map(|field| json!(field))),
            ("before", self.before.as_ref().map(|before| json!(before))),
            ("after", self.after.as_ref().map(|after| json!(after))),
        ];
        fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
    }
}

fn write_change(out: &mut String, change: &Change) {
    let sign = change.kind.sign();
    let step = change.step.as_deref().unwrap_or("the workflow");
    let kind = change.step_type.as_ref().map(|kind| format!(" ({kind})")).unwrap_or_default();
    let shown = |value: &Option<Value>| value.as_ref().map(text).unwrap_or_default();
    // Writing to text does not fail.
    let _ = match (&change.field, change.kind) {
        (None, ChangeKind::Renamed) => {
            writeln!(out, "  {sign} {} is now {step}{kind}", change.was.as_deref().unwrap_or_default())
        }
        (None, ChangeKind::Moved) => {
            writeln!(out, "  {sign} {step}{kind}: from {} to {}", shown(&change.before), shown(&change.after))
        }
        (None, ChangeKind::Changed) => {
            writeln!(out, "  {sign} {step}: its program differs, although no part of it does")
        }
        (None, _) => writeln!(out, "  {sign} {step}{kind}"),
        (Some(field), _) => {
            let step = change.step.as_ref().map(|step| format!("{step}: ")).unwrap_or_default();
            let _ = writeln!(out, "  {sign} {step}{field}");
            write_values(out, change);
            Ok(())
        }
    };
}

/// Writes both values. Of two texts with several lines, only the lines that differ are shown, with one line around them.
fn write_values(out: &mut String, change: &Change) {
    let lines = |value: &Option<Value>| -> Vec<String> {
        value.as_ref().map(|value| text(value).lines().map(str::to_owned).collect()).unwrap_or_default()
    };
    let (before, after) = (lines(&change.before), lines(&change.after));
    let is_long = before.len().max(after.len()) > COMPARED_LINES;
    let same =
        if is_long { Vec::new() } else { common(before.len(), after.len(), |old, new| before[old] == after[new]) };
    let mut at = (0, 0);
    let ends = [(before.len(), after.len())];
    for (old, new) in same.iter().copied().chain(ends) {
        for line in &before[at.0..old] {
            let _ = writeln!(out, "      - {line}");
        }
        for line in &after[at.1..new] {
            let _ = writeln!(out, "      + {line}");
        }
        at = (old + 1, new + 1);
    }
}

/// A value as text: texts as they are, all else as JSON.
fn text(value: &Value) -> String {
    match value {
        Value::Str(text) if text.is_empty() => "\"\"".to_owned(),
        Value::Str(text) => text.to_string(),
        other => other.to_string(),
    }
}
