//! A decision that a run has taken: every branch in order with its outcome, what was chosen, and why.

use std::sync::Arc;

use branchpoint_expr::{Explanation, Phrase, Read, Value, duration_text};

use crate::ir::{Branch, DecisionId, DecisionKind, StepId, Unit};
use crate::request::{Request, Resolution};

/// One decision of the document, as a run took it.
#[derive(Clone, Debug, PartialEq)]
pub struct DecisionRecord {
    /// Its number in the program; none for a retry policy, which the core applies by itself.
    pub decision: Option<DecisionId>,
    /// The step that decided.
    pub step: StepId,
    /// What kind of decision it is.
    pub kind: DecisionKind,
    /// When.
    pub at_ms: i64,
    /// All branches, in the order in which they are evaluated.
    pub branches: Vec<BranchRecord>,
    /// The position of the chosen branch; none when the decision failed.
    pub chosen: Option<u32>,
    /// What it was decided by.
    pub basis: Basis,
    /// How many rounds, turns or retries were made before it.
    pub count: Option<CountRecord>,
    /// The items of a loop over items.
    pub items: Option<ItemCount>,
    /// Why a loop, a join or an attempt failed.
    pub error: Option<Value>,
    /// Every value that its conditions read, whether or not they were evaluated.
    pub reads: Vec<Read>,
}

/// How many rounds, turns or retries were made before a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CountRecord {
    /// The number.
    pub done: u64,
    /// The most there may be.
    pub limit: Option<u64>,
    /// What is counted.
    pub unit: Unit,
}

/// The items of a loop.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ItemCount {
    /// How many the loop goes over.
    pub count: u64,
    /// How many a limit leaves out.
    pub left_out: u64,
    /// The positions of those that failed, the first twenty of them.
    pub failed: Vec<u32>,
}

/// A branch and what became of it.
#[derive(Clone, Debug, PartialEq)]
pub struct BranchRecord {
    /// Its name.
    pub name: Arc<str>,
    /// The condition or the rule in words; none for a default that needs no reason.
    pub text: Option<Arc<str>>,
    /// Whether it is taken when no condition is true.
    pub is_default: bool,
    /// The steps, states or nodes that it leads to.
    pub targets: Vec<Arc<str>>,
    /// Line and column of the condition in the document, counted from 1.
    pub position: Option<(u32, u32)>,
    /// What it gave.
    pub outcome: BranchOutcome,
    /// Why, if it has a condition and that was evaluated.
    pub explanation: Option<Explanation>,
    /// Whether its rule held, evaluated or not, so that the decision can be taken again.
    pub rule_holds: Option<bool>,
}

/// What a branch gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BranchOutcome {
    /// Its condition or rule is true.
    True,
    /// Its condition or rule is false.
    False,
    /// Its condition cannot be evaluated.
    Error,
    /// An earlier branch was chosen, or it is evaluated only after a condition that was not true.
    NotEvaluated,
}

impl BranchOutcome {
    /// The word for it in every output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::True => "true",
            Self::False => "false",
            Self::Error => "error",
            Self::NotEvaluated => "not_evaluated",
        }
    }
}

/// What a decision was taken by.
#[derive(Clone, Debug, PartialEq)]
pub enum Basis {
    /// The conditions of its branches.
    Conditions,
    /// The votes of people.
    Votes {
        /// The request with its votes.
        request: Box<Request>,
        /// How it was settled.
        resolution: Resolution,
    },
    /// What arrived at a join.
    Inputs {
        /// Whether the inputs are branches that run beside each other.
        are_branches: bool,
        /// Name and state of each input, in order.
        inputs: Vec<(Arc<str>, InputState)>,
        /// The time limit in milliseconds, if that ended the join.
        timed_out_ms: Option<u64>,
    },
    /// The items of a loop.
    Items {
        /// Whether the loop failed; with it, or without, items may have.
        has_failed: bool,
        /// The time limit in milliseconds, if that ended the loop.
        timed_out_ms: Option<u64>,
    },
    /// An attempt that failed.
    Attempt {
        /// Its number, counted from 1.
        attempt: u32,
        /// The most there may be.
        limit: u32,
        /// How long the pause before the next attempt is.
        delay_ms: Option<u64>,
        /// Whether the error allows another attempt.
        retryable: bool,
    },
    /// A moment that came.
    Time,
    /// What a person answered.
    Answer {
        /// Who answered, if it is known.
        sender: Option<Arc<str>>,
        /// The note that comes with the answer.
        note: Option<Value>,
    },
    /// A signal that someone sent.
    Signal {
        /// Its name.
        name: Arc<str>,
    },
}

/// The name of the branch by which every loop begins another round.
pub(super) const CONTINUE: &str = "continue";

/// How many failed items are listed by position.
pub(crate) const FAILED_LISTED: usize = 20;

/// What became of an input of a join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputState {
    /// Its value arrived.
    Arrived,
    /// It ended without a value.
    Empty,
    /// It failed.
    Failed,
    /// It was cancelled because the others were enough.
    Cancelled,
    /// Nothing can bring it any more.
    Unreachable,
}

impl InputState {
    /// The word for it in every output.
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
    /// A branch that was not evaluated.
    pub(crate) fn of(branch: &Branch) -> Self {
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

    /// A branch that a rule of the engine takes or not.
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
    /// The branch that was chosen.
    ///
    /// ```
    #[doc = include_str!("../../docs/decision.txt")]
    /// assert_eq!(decided.chosen().map(|branch| &*branch.name), Some("high"));
    /// ```
    pub fn chosen(&self) -> Option<&BranchRecord> {
        self.branches.get(self.chosen? as usize)
    }

    /// One sentence that says why.
    ///
    /// ```
    #[doc = include_str!("../../docs/decision.txt")]
    /// println!("{}", decided.sentence());
    /// ```
    pub fn sentence(&self) -> Phrase {
        let error = self.error.as_ref();
        match &self.basis {
            Basis::Conditions => self.by_conditions(),
            Basis::Votes { request, resolution } => by_votes(request, resolution).into(),
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
                format!("the condition is still true, but the limit of {} is reached", counted(limit, unit)).into()
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

    /// Why a branch without a condition was chosen.
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
            // The value that the only case did not match says more than that it did not.
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

/// `1 round`, `2 turns`.
pub(super) fn counted(count: u64, unit: Unit) -> String {
    match (count, unit) {
        (1, unit) => format!("1 {}", unit.as_str()),
        (count, Unit::Retry) => format!("{count} retries"),
        (count, unit) => format!("{count} {}s", unit.as_str()),
    }
}

/// `kind: message` of an error object.
fn message(error: &Value) -> String {
    let part = |key: &str| error.get(key).and_then(Value::as_str);
    match (part("kind"), part("message")) {
        // `exit_code` and `exit code 2` say the same.
        (Some(kind), Some(message)) if message.starts_with(&kind.replace('_', " ")) => message.to_owned(),
        (Some(kind), Some(message)) => format!("{kind}: {message}"),
        (None, Some(text)) | (Some(text), None) => text.to_owned(),
        (None, None) => error.to_string(),
    }
}

fn votes(count: usize) -> String {
    if count == 1 { "1 vote".into() } else { format!("{count} votes") }
}

fn by_votes(request: &Request, resolution: &Resolution) -> String {
    let required = request.required as usize;
    match resolution {
        Resolution::Choice(choice) => {
            let voters: Vec<&str> =
                request.votes.iter().filter(|vote| vote.choice == *choice).map(|vote| &*vote.user).collect();
            let given = format!("{} for `{choice}` ({})", votes(voters.len()), voters.join(", "));
            format!("{given}, {required} required")
        }
        Resolution::NoQuorum => {
            format!(
                "all {} approvers voted, and no choice has the required {}",
                request.recipients.len(),
                votes(required)
            )
        }
        Resolution::Timeout => match request.votes.len() {
            0 => "the deadline passed without a vote".into(),
            given => format!("the deadline passed with {}, {required} required for one choice", votes(given)),
        },
        Resolution::Cancelled(reason) => match reason {
            Some(reason) => format!("the approval was cancelled: {reason}"),
            None => "the approval was cancelled".into(),
        },
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
        let names = inputs.iter().filter(|(_, found)| *found == state).map(|(name, _)| format!("`{name}`"));
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
