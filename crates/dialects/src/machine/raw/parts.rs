//! Parts that states of several kinds have: transitions, inline failures, retries, hooks.

use branchpoint_core::RunKinds as _;
use branchpoint_expr::{Kind, Located, Span};

use super::{Fields, Findings, Text};

use crate::DocumentKinds as _;

/// One way on.
#[derive(Debug)]
pub(in crate::machine) struct Transition {
    /// None: it always matches.
    pub(in crate::machine) guard: Option<Guard>,
    pub(in crate::machine) target: Option<Text>,
    pub(in crate::machine) span: Span,
}

/// A condition as it was written.
#[derive(Clone, Debug)]
pub(in crate::machine) struct Guard(pub(in crate::machine) Located);

/// Where a failure goes.
#[derive(Debug)]
pub(in crate::machine) enum OnFailure {
    State(Text),
    Inline { message: Option<Text>, status: i64, span: Span },
}

/// How failed work is tried again.
#[derive(Debug)]
pub(in crate::machine) struct Retry {
    pub(in crate::machine) max_attempts: u32,
    pub(in crate::machine) initial_delay_ms: u64,
    pub(in crate::machine) max_delay_ms: u64,
    pub(in crate::machine) backoff: Backoff,
    pub(in crate::machine) multiplier: f64,
    pub(in crate::machine) jitter: f64,
    /// Empty: any failure.
    pub(in crate::machine) exit_codes: Vec<i64>,
}

#[derive(Clone, Copy, Debug)]
pub(in crate::machine) enum Backoff {
    Constant,
    Linear,
    Exponential,
}

/// One thing that a hook does.
#[derive(Debug)]
pub(in crate::machine) enum Action {
    Log(Text),
    Command(Text),
}

impl Transition {
    pub(super) fn list(fields: &mut Fields<'_>, found: &mut Findings) -> Vec<Self> {
        let path = fields.path("transitions");
        let entries = fields.list("transitions", found);
        entries.iter().enumerate().filter_map(|(n, entry)| Self::read(entry, format!("{path}[{n}]"), found)).collect()
    }

    fn read(entry: &Located, path: String, found: &mut Findings) -> Option<Self> {
        let mut fields = Fields::of(entry, path, found)?;
        let guard = Guard::of(&mut fields, "when", "condition", found);
        let target = fields.either("goto", "target", found);
        if target.is_none() {
            fields.missing("goto", found);
        }
        let target = target.and_then(|target| {
            let text = Text::of(target);
            if text.is_none() {
                fields.bad("goto", target, "the name of a state", found);
            }
            text
        });
        fields.finish(found);
        // Empty text means default, here and nowhere else.
        let guard = guard.filter(|guard| guard.0.text().is_none_or(|text| !text.trim().is_empty()));
        Some(Self { guard, target, span: entry.span })
    }
}

impl Guard {
    /// A condition under either of the dialect's keys, or under `if`, which every dialect has.
    pub(super) fn of(
        fields: &mut Fields<'_>,
        first: &'static str,
        second: &'static str,
        found: &mut Findings,
    ) -> Option<Self> {
        let own = fields.either(first, second, found);
        let common = fields.take("if");
        if let (Some(_), Some(common)) = (own, common) {
            let message = format!("`{}` and `{}` are two conditions at once", fields.path(first), fields.path("if"));
            found.error(Kind::TwoConditions, common.span, message);
        }
        if let Some(own) = own {
            let text = Text::of(own);
            if text.is_none() {
                fields.bad(first, own, "a condition as text", found);
            }
            return text.map(|text| Self(text.0));
        }
        common.map(|common| Self(Text::of(common).map_or_else(|| common.clone(), |text| text.0)))
    }
}

impl OnFailure {
    pub(super) fn read(fields: &mut Fields<'_>, found: &mut Findings) -> Option<Self> {
        let value = fields.said("on_failure")?;
        if let Some(state) = Text::of(value) {
            return Some(Self::State(state));
        }
        let mut inline = Fields::of(value, fields.path("on_failure"), found)?;
        let message = inline.needed("message", found);
        let status = inline.integer("status", 1..=255, found).unwrap_or(1);
        inline.finish(found);
        Some(Self::Inline { message, status, span: value.span })
    }
}

impl Retry {
    pub(super) fn read(fields: &mut Fields<'_>, found: &mut Findings) -> Option<Self> {
        let mut retry = fields.object("retry", found)?;
        let max_attempts = retry.integer("max_attempts", 1..=i64::from(u32::MAX), found).unwrap_or(1);
        let words =
            [("constant", Backoff::Constant), ("linear", Backoff::Linear), ("exponential", Backoff::Exponential)];
        let read = Self {
            max_attempts: u32::try_from(max_attempts).unwrap_or(1),
            initial_delay_ms: retry.duration("initial_delay", found).unwrap_or(0),
            max_delay_ms: retry.duration("max_delay", found).unwrap_or(0),
            backoff: retry.word("backoff", &words, found).unwrap_or(Backoff::Constant),
            multiplier: share(&mut retry, "multiplier", 0.0..=f64::MAX, found).unwrap_or(2.0),
            jitter: share(&mut retry, "jitter", 0.0..=1.0, found).unwrap_or(0.0),
            exit_codes: exit_codes(&mut retry, found),
        };
        retry.finish(found);
        Some(read)
    }
}

fn share(
    fields: &mut Fields<'_>,
    key: &'static str,
    allowed: std::ops::RangeInclusive<f64>,
    found: &mut Findings,
) -> Option<f64> {
    let number = fields.number(key, found)?;
    if !allowed.contains(&number) {
        let message = format!("`{}` is out of its range", fields.path(key));
        found.error(Kind::BadValue, fields.span, message);
        return None;
    }
    Some(number)
}

fn exit_codes(fields: &mut Fields<'_>, found: &mut Findings) -> Vec<i64> {
    let mut codes = Vec::new();
    for code in fields.list("retryable_exit_codes", found) {
        match code.shape {
            branchpoint_expr::Shape::Int(code) => codes.push(code),
            _ => fields.bad("retryable_exit_codes", code, "a list of exit codes", found),
        }
    }
    codes
}

impl Action {
    /// A list of actions; one action may stand alone.
    pub(super) fn list(fields: &mut Fields<'_>, key: &'static str, found: &mut Findings) -> Vec<Self> {
        let path = fields.path(key);
        let Some(value) = fields.take(key) else { return Vec::new() };
        let Some(entries) = value.items() else { return Self::read(value, &path, found).into_iter().collect() };
        entries.iter().enumerate().filter_map(|(n, entry)| Self::read(entry, &format!("{path}[{n}]"), found)).collect()
    }

    fn read(entry: &Located, path: &str, found: &mut Findings) -> Option<Self> {
        let mut fields = Fields::of(entry, path, found)?;
        let (log, command) = (fields.text("log", found), fields.text("command", found));
        let action = match (log, command) {
            (Some(_), Some(command)) => {
                let message = format!("`{path}` either logs or runs a command");
                found.error(Kind::Conflict, command.span(), message);
                None
            }
            (Some(log), None) => Some(Self::Log(log)),
            (None, Some(command)) => Some(Self::Command(command)),
            (None, None) => {
                if !fields.has("log") && !fields.has("command") {
                    fields.missing("command", found);
                }
                None
            }
        };
        fields.finish(found);
        action
    }

    pub(in crate::machine) fn text(&self) -> &Text {
        match self {
            Self::Log(text) | Self::Command(text) => text,
        }
    }
}
