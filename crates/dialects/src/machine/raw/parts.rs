//! Parts that states of several kinds have: transitions, inline failures, retries, hooks.

use branchpoint_expr::{Located, Span};

use super::Text;
use crate::fields::{Access, integer};

/// A transition.
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

/// The target of a failure.
#[derive(Debug)]
pub(in crate::machine) enum OnFailure {
    State(Text),
    Inline { message: Option<Text>, status: i64, span: Span },
}

/// The retry policy of a state.
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

/// An action of a hook.
#[derive(Debug)]
pub(in crate::machine) enum Action {
    Log(Text),
    Command(Text),
}

impl Transition {
    pub(super) fn list(state: &Located) -> Vec<Self> {
        state.list("transitions").iter().map(Self::read).collect()
    }

    fn read(entry: &Located) -> Self {
        // Only here, empty text means the default.
        let guard = Guard::of(entry, ["when", "condition", "if"]);
        let guard = guard.filter(|guard| guard.0.text().is_none_or(|text| !text.trim().is_empty()));
        Self { guard, target: entry.text_at("goto").or_else(|| entry.text_at("target")), span: entry.span }
    }
}

impl Guard {
    /// A condition under the first of some keys that the object has.
    pub(super) fn of(object: &Located, keys: [&str; 3]) -> Option<Self> {
        let condition = keys.iter().find_map(|key| object.given(key))?;
        Some(Self(Text::of(condition).map_or_else(|| condition.clone(), |text| text.0)))
    }
}

impl OnFailure {
    pub(super) fn read(state: &Located) -> Option<Self> {
        let value = state.given("on_failure")?;
        if let Some(name) = Text::of(value) {
            return Some(Self::State(name)).filter(|_| !value.text().is_some_and(|text| text.is_empty()));
        }
        let status = value.int("status").unwrap_or(1);
        value.is_object().then(|| Self::Inline { message: value.text_at("message"), status, span: value.span })
    }
}

impl Retry {
    pub(super) fn read(retry: &Located) -> Self {
        Self {
            max_attempts: retry.int("max_attempts").and_then(|most| u32::try_from(most).ok()).unwrap_or(1),
            initial_delay_ms: retry.duration_ms("initial_delay").unwrap_or(0),
            max_delay_ms: retry.duration_ms("max_delay").unwrap_or(0),
            backoff: match &*retry.word("backoff") {
                "linear" => Backoff::Linear,
                "exponential" => Backoff::Exponential,
                _ => Backoff::Constant,
            },
            multiplier: retry.number("multiplier").unwrap_or(2.0),
            jitter: retry.number("jitter").unwrap_or(0.0),
            exit_codes: retry.list("retryable_exit_codes").iter().filter_map(integer).collect(),
        }
    }
}

impl Action {
    /// A list of actions, or one action.
    pub(super) fn list(hooks: &Located, key: &str) -> Vec<Self> {
        let Some(value) = hooks.given(key) else { return Vec::new() };
        let entries = value.items().unwrap_or(std::slice::from_ref(value));
        let read =
            |entry: &Located| entry.text_at("log").map(Self::Log).or(entry.text_at("command").map(Self::Command));
        entries.iter().filter_map(read).collect()
    }

    pub(in crate::machine) fn text(&self) -> &Text {
        match self {
            Self::Log(text) | Self::Command(text) => text,
        }
    }
}
