//! Records of decisions: every branch in order with its outcome, the chosen branch, and the reason.

use std::sync::Arc;

use branchpoint_expr::{Explanation, Phrase, Read, Value, duration_text};

use super::approval_record;
use crate::ir::{Branch, DecisionId, DecisionKind, StepId, Unit};
use crate::meter::BudgetRecord;
use crate::request::{Request, Resolution};

/// One decision of the document, as a run made it.
#[derive(Clone, Debug, PartialEq)]
pub struct DecisionRecord {
    /// The decision in the program; none for a retry policy, which the core applies.
    pub decision: Option<DecisionId>,
    /// The step that made the decision.
    pub step: StepId,
    /// The kind of decision.
    pub kind: DecisionKind,
    /// The time.
    pub at_ms: i64,
    /// All branches, in the order of evaluation.
    pub branches: Vec<BranchRecord>,
    /// The position of the chosen branch; none if the decision failed.
    pub chosen: Option<u32>,
    /// The basis of the decision.
    pub basis: Basis,
    /// The number of rounds, turns or retries before the decision.
    pub count: Option<CountRecord>,
    /// The items of a loop over items.
    pub items: Option<ItemCount>,
    /// The error of a failed loop, join or attempt.
    pub error: Option<Value>,
    /// All values that the conditions read, including conditions that were not evaluated.
    pub reads: Vec<Read>,
}

/// The number of rounds, turns or retries before a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CountRecord {
    /// The number.
    pub done: u64,
    /// The maximum.
    pub limit: Option<u64>,
    /// The counted unit.
    pub unit: Unit,
}

/// The items of a loop.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ItemCount {
    /// The number of items.
    pub count: u64,
    /// The number of items that a limit omits.
    pub left_out: u64,
    /// The positions of the failed items, up to the first twenty.
    pub failed: Vec<u32>,
}

/// A branch with its outcome.
#[derive(Clone, Debug, PartialEq)]
pub struct BranchRecord {
    /// The name.
    pub name: Arc<str>,
    /// The condition or the rule in words; none for a default that needs no reason.
    pub text: Option<Arc<str>>,
    /// Whether the branch is chosen when no condition is true.
    pub is_default: bool,
    /// The steps, states or nodes to which the branch leads.
    pub targets: Vec<Arc<str>>,
    /// Line and column of the condition in the document, counted from 1.
    pub position: Option<(u32, u32)>,
    /// The outcome of the condition or rule.
    pub outcome: BranchOutcome,
    /// The explanation of an evaluated condition.
    pub explanation: Option<Explanation>,
    /// The result of the rule, even if not needed for the decision, so that the decision can be evaluated again.
    pub rule_holds: Option<bool>,
}

/// The outcome of a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BranchOutcome {
    /// The condition or rule is true.
    True,
    /// The condition or rule is false.
    False,
    /// The condition cannot be evaluated.
    Error,
    /// The branch was not evaluated, because an earlier branch decided.
    NotEvaluated,
}

impl BranchOutcome {
    /// The name in every output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::True => "true",
            Self::False => "false",
            Self::Error => "error",
            Self::NotEvaluated => "not_evaluated",
        }
    }
}

/// The basis of a decision.
#[derive(Clone, Debug, PartialEq)]
pub enum Basis {
    /// The conditions of the branches.
    Conditions,
    /// The votes of people.
    Votes {
        /// The request with its votes.
        request: Box<Request>,
        /// How the request was settled.
        resolution: Resolution,
    },
    /// The inputs that arrived at a join.
    Inputs {
        /// Whether the inputs are parallel branches.
        are_branches: bool,
        /// The name and the state of each input, in order.
        inputs: Vec<(Arc<str>, InputState)>,
        /// The time limit in milliseconds, if the join exceeded it.
        timed_out_ms: Option<u64>,
    },
    /// The items of a loop.
    Items {
        /// Whether the loop failed. Items may fail even if the loop does not.
        has_failed: bool,
        /// The time limit in milliseconds, if the loop exceeded it.
        timed_out_ms: Option<u64>,
    },
    /// A failed attempt.
    Attempt {
        /// The number of the attempt, counted from 1.
        attempt: u32,
        /// The maximum number of attempts.
        limit: u32,
        /// The delay before the next attempt; none if no attempt follows.
        delay_ms: Option<u64>,
        /// Whether the error allows another attempt.
        retryable: bool,
    },
    /// A time that was reached.
    Time,
    /// The answer of a person.
    Answer {
        /// The person, if known.
        sender: Option<Arc<str>>,
        /// The note of the answer.
        note: Option<Value>,
    },
    /// A signal that arrived.
    Signal {
        /// The name of the signal.
        name: Arc<str>,
    },
    /// A budget that is used up.
    Budget(Box<BudgetRecord>),
}

/// The name of the branch of every loop that begins another round.
pub(super) const CONTINUE: &str = "continue";

/// The maximum number of failed items that are listed by position.
pub(crate) const FAILED_LISTED: usize = 20;

/// The state of an input of a join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputState {
    /// The value arrived.
    Arrived,
    /// The input ended without a value.
    Empty,
    /// The input failed.
    Failed,
    /// The input was cancelled because the join had enough values.
    Cancelled,
    /// No remaining strand can deliver the value.
    Unreachable,
}

impl InputState {
    /// The name in every output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Arrived => "arrived",
            Self::Empty => "empty",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Unreachable => "unreachable",
        }
    }
}

impl BranchRecord {
    /// A record of a branch before evaluation.
    pub(crate) fn unevaluated(branch: &Branch) -> Self {
        Self {
            name: branch.name.clone(),
            text: branch.text.clone(),
            is_default: branch.is_default,
            targets: branch.targets.clone(),
            position: branch.position,
            outcome: BranchOutcome::NotEvaluated,
            explanation: None,
            rule_holds: None,
        }
    }

    /// A branch that a rule of the engine chooses or not.
    pub(crate) fn by_rule(name: &str, outcome: BranchOutcome) -> Self {
        Self {
            name: name.into(),
            text: None,
            is_default: false,
            targets: Vec::new(),
            position: None,
            outcome,
            explanation: None,
            rule_holds: None,
        }
    }

    pub(crate) fn explained(mut self, explanation: Explanation) -> Self {
        self.outcome = match explanation.outcome {
            Ok(true) => BranchOutcome::True,
            Ok(false) => BranchOutcome::False,
            Err(_) => BranchOutcome::Error,
        };
        self.explanation = Some(explanation);
        self
    }
}

impl DecisionRecord {
    /// The chosen branch.
    ///
    /// ```
    #[doc = include_str!("../../docs/decision.txt")]
    /// assert_eq!(decided.chosen().map(|branch| &*branch.name), Some("high"));
    /// ```
    pub fn chosen(&self) -> Option<&BranchRecord> {
        self.branches.get(self.chosen? as usize)
    }

    /// The reason of the decision in one sentence.
    ///
    /// ```
    #[doc = include_str!("../../docs/decision.txt")]
    /// println!("{}", decided.sentence());
    /// ```
    pub fn sentence(&self) -> Phrase {
        let error = self.error.as_ref();
        match &self.basis {
            Basis::Conditions => self.by_conditions(),
            Basis::Votes { request, resolution } => approval_record::sentence(request, resolution).into(),
            Basis::Inputs { are_branches, inputs, timed_out_ms } => {
                by_inputs(*are_branches, inputs, error, *timed_out_ms).into()
            }
            Basis::Items { has_failed, timed_out_ms } => match (&self.items, timed_out_ms) {
                (_, Some(limit_ms)) => format!("the loop exceeded its timeout of {}", duration_text(*limit_ms)).into(),
                (Some(items), None) => by_items(items, *has_failed, error).into(),
                (None, None) => "the loop ended".into(),
            },
            Basis::Attempt { attempt, limit, delay_ms, retryable } => {
                let failed =
                    format!("attempt {attempt} of {limit} failed ({})", error.map(message).unwrap_or_default());
                let reason = self.chosen().and_then(|chosen| chosen.text.as_deref());
                let then = match (delay_ms, retryable) {
                    (Some(0), _) => "; the next attempt follows immediately".to_owned(),
                    (Some(delay_ms), _) => format!("; the next attempt follows after {}", duration_text(*delay_ms)),
                    (None, true) => ", and no attempt is left".to_owned(),
                    (None, false) => format!(", and {}", reason.unwrap_or("another attempt would not help")),
                };
                (failed + &then).into()
            }
            Basis::Time => {
                let rule = self.chosen().and_then(|chosen| chosen.text.as_deref());
                rule.unwrap_or("the time was reached").into()
            }
            Basis::Answer { sender, note } => {
                let choice = self.chosen().map_or("", |chosen| &chosen.name);
                let answered = match sender {
                    Some(sender) => format!("{sender} chose `{choice}`"),
                    None => format!("`{choice}` was chosen (sender unknown)"),
                };
                match note {
                    Some(note) => Phrase::from(answered).text(": ").value(note.clone()),
                    None => answered.into(),
                }
            }
            Basis::Signal { name } => format!("signal `{name}` arrived").into(),
            Basis::Budget(_) => {
                error.and_then(|error| error.get("message")?.as_str()).unwrap_or("the budget is used up").into()
            }
        }
    }

    fn explained(&self, outcome: BranchOutcome) -> impl Iterator<Item = &Explanation> {
        let branches = self.branches.iter().filter(move |branch| branch.outcome == outcome);
        branches.filter_map(|branch| branch.explanation.as_ref())
    }

    fn by_conditions(&self) -> Phrase {
        let Some(chosen) = self.chosen() else {
            let failed = self.explained(BranchOutcome::Error).next();
            return failed.map_or_else(|| "cannot be evaluated".into(), |failed| failed.sentence.clone());
        };
        if let Some(explanation) = &chosen.explanation {
            return explanation.sentence.clone();
        }
        match (self.kind, self.count, &chosen.text) {
            (DecisionKind::Loop, Some(CountRecord { limit: Some(limit), unit, .. }), Some(_))
                if self.explained(BranchOutcome::True).next().is_some() =>
            {
                format!("the condition is still true, but the limit of {} is reached", count_text(limit, unit)).into()
            }
            (DecisionKind::Retry, Some(CountRecord { done, limit: Some(limit), .. }), Some(_)) => {
                format!("retry {} of {limit}", done + 1).into()
            }
            (DecisionKind::Retry, Some(CountRecord { limit: Some(limit), .. }), None) => match limit {
                1 => "the only retry is used up".into(),
                limit => format!("all {limit} retries are used up").into(),
            },
            (.., reason) => self.without_condition(reason.as_deref()),
        }
    }

    /// The reason for choosing a branch without a condition.
    fn without_condition(&self, reason: Option<&str>) -> Phrase {
        let errors = self.explained(BranchOutcome::Error).count();
        let mut untrue = self.explained(BranchOutcome::False);
        let (first, second) = (untrue.next(), untrue.next());
        let unmatched = if self.kind == DecisionKind::Switch { "no case matched" } else { "no condition matched" };
        let failed = match errors {
            0 => None,
            1 => Some("1 condition cannot be evaluated".to_owned()),
            errors => Some(format!("{errors} conditions cannot be evaluated")),
        };
        match (first, reason, failed) {
            (None, Some(reason), None) => reason.into(),
            (None, None, None) if self.kind == DecisionKind::Transition => "the transition has no condition".into(),
            (None, None, None) => "there is no condition".into(),
            (Some(only), None, None) if second.is_none() => only.sentence.clone(),
            // The sentence of a single case shows the value that did not match.
            (Some(only), Some(reason), None) if second.is_none() && self.kind == DecisionKind::Switch => {
                only.sentence.clone().text("; ").text(reason)
            }
            (_, None, None) => unmatched.into(),
            (_, Some(reason), None) => format!("{unmatched}; {reason}").into(),
            (_, None, Some(failed)) => format!("{unmatched}, and {failed}").into(),
            (_, Some(reason), Some(failed)) => format!("{unmatched}, and {failed}; {reason}").into(),
        }
    }
}

/// A count with its unit: `1 round`, `2 turns`.
pub(super) fn count_text(count: u64, unit: Unit) -> String {
    match (count, unit) {
        (1, unit) => format!("1 {}", unit.as_str()),
        (count, Unit::Retry) => format!("{count} retries"),
        (count, unit) => format!("{count} {}s", unit.as_str()),
    }
}

/// The text `kind: message` of an error object.
fn message(error: &Value) -> String {
    let part = |key: &str| error.get(key).and_then(Value::as_str);
    match (part("kind"), part("message")) {
        // The kind is omitted if the message begins with it, such as `exit_code` and `exit code 2`.
        (Some(kind), Some(message)) if message.starts_with(&kind.replace('_', " ")) => message.to_owned(),
        (Some(kind), Some(message)) => format!("{kind}: {message}"),
        (None, Some(text)) | (Some(text), None) => text.to_owned(),
        (None, None) => error.to_string(),
    }
}

fn by_items(items: &ItemCount, has_failed: bool, error: Option<&Value>) -> String {
    let ItemCount { count, failed, .. } = items;
    let listed: Vec<String> = failed.iter().map(|at| format!("[{at}]")).collect();
    let (noun, first) = if failed.len() > 1 { ("items", "first error: ") } else { ("item", "") };
    let why = error.map(|error| format!(" ({first}{})", message(error))).unwrap_or_default();
    match (count, has_failed) {
        (_, true) if failed.is_empty() => format!("the loop stopped{why}"),
        (_, true) => format!("{noun} {} failed{why}", listed.join(", ")),
        (0, false) => "there are no items".into(),
        (1, false) if failed.is_empty() => "the only item is done".into(),
        (1, false) => format!("the only item failed{why}"),
        (_, false) if failed.is_empty() => format!("all {count} items are done"),
        (_, false) => format!("all {count} items have ended; failed: {}{why}", listed.join(", ")),
    }
}

fn by_inputs(
    are_branches: bool,
    inputs: &[(Arc<str>, InputState)],
    error: Option<&Value>,
    timed_out_ms: Option<u64>,
) -> String {
    let named = |state: InputState| {
        let names = inputs.iter().filter(|(_, other)| *other == state).map(|(name, _)| format!("`{name}`"));
        names.collect::<Vec<_>>().join(", ")
    };
    let arrived = inputs.iter().filter(|(_, state)| *state == InputState::Arrived).count();
    let (one, many) = if are_branches { ("branch", "branches") } else { ("input", "inputs") };
    let mut parts = Vec::new();
    parts.extend(timed_out_ms.map(|limit_ms| format!("the timeout of {} was exceeded", duration_text(limit_ms))));
    parts.push(match (arrived, inputs.len()) {
        (0, _) => format!("no {one} arrived"),
        (1, 1) => format!("the only {one} arrived: {}", named(InputState::Arrived)),
        (some, all) => format!("{some} of {all} {many} arrived: {}", named(InputState::Arrived)),
    });
    let several = inputs.iter().filter(|(_, state)| *state == InputState::Failed).count() > 1;
    let first = if several { "first error: " } else { "" };
    let error = error.filter(|_| timed_out_ms.is_none()).map(|error| format!(" ({first}{})", message(error)));
    let others = [
        (InputState::Failed, "failed", error.unwrap_or_default()),
        (InputState::Empty, "ended without a value", String::new()),
        (InputState::Cancelled, "cancelled", String::new()),
        (InputState::Unreachable, "unreachable", String::new()),
    ];
    for (state, words, detail) in others {
        let names = named(state);
        if !names.is_empty() {
            parts.push(format!("{words}: {names}{detail}"));
        }
    }
    parts.join("; ")
}
