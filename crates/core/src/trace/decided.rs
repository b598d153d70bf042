//! A decision that a run has taken: every branch in order with its outcome, what was chosen, and why.

use std::sync::Arc;

use branchpoint_expr::{Explanation, Phrase, Read, Value};

use crate::ir::{Branch, DecisionId, DecisionKind, StepId};
use crate::request::{Request, Resolution};

/// One decision of the document, as a run took it.
#[derive(Clone, Debug, PartialEq)]
pub struct Decided {
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
    /// The round of a loop or the retries so far, and the most there may be.
    pub count: Option<(u64, Option<u64>)>,
    /// Every value that its conditions read, whether or not they were evaluated.
    pub reads: Vec<Read>,
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
    /// The step, state or node that it leads to.
    pub target: Option<Arc<str>>,
    /// Line and column of the condition in the document, counted from 1.
    pub position: Option<(u32, u32)>,
    /// What it gave.
    pub outcome: BranchOutcome,
    /// Why, if it has a condition and that was evaluated.
    pub explanation: Option<Explanation>,
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
    /// An earlier branch was chosen.
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
        /// Name and state of each input, in order.
        inputs: Vec<(Arc<str>, InputState)>,
        /// Why the join failed.
        error: Option<Value>,
    },
    /// The items of a loop.
    Items {
        /// How many there are.
        count: u32,
        /// The positions of those that failed, the first twenty of them.
        failed: Vec<u32>,
        /// Why the loop failed.
        error: Option<Value>,
    },
    /// An attempt that failed.
    Attempt {
        /// Its number, counted from 1.
        attempt: u32,
        /// The most there may be.
        limit: u32,
        /// Why it failed.
        error: Value,
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
        /// The answer.
        value: Value,
    },
    /// A signal that someone sent.
    Signal {
        /// Its name.
        name: Arc<str>,
    },
}

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
            target: branch.target.clone(),
            position: branch.position,
            outcome: BranchOutcome::NotEvaluated,
            explanation: None,
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

impl Decided {
    /// The branch that was chosen.
    pub fn chosen(&self) -> Option<&BranchRecord> {
        self.branches.get(self.chosen? as usize)
    }

    /// One sentence that says why.
    pub fn sentence(&self) -> Phrase {
        match &self.basis {
            Basis::Conditions => self.by_conditions(),
            Basis::Votes { request, resolution } => by_votes(request, resolution).into(),
            Basis::Inputs { inputs, error } => by_inputs(inputs, error.as_ref()).into(),
            Basis::Items { count, failed, error } => by_items(*count, failed, error.as_ref()).into(),
            Basis::Attempt { attempt, limit, error, delay_ms, retryable } => {
                let failed = format!("attempt {attempt} of {limit} failed ({})", message(error));
                let then = match (delay_ms, retryable) {
                    (Some(0), _) => ", the next follows at once".to_owned(),
                    (Some(delay_ms), _) => format!(", the next follows after {delay_ms} ms"),
                    (None, true) => ", and no attempt is left".to_owned(),
                    (None, false) => ", and another attempt would not help".to_owned(),
                };
                (failed + &then).into()
            }
            Basis::Time => {
                let rule = self.chosen().and_then(|chosen| chosen.text.as_deref());
                rule.unwrap_or("the time was reached").into()
            }
            Basis::Answer { sender, value } => {
                let answered = format!("{} answered ", sender.as_deref().unwrap_or("someone"));
                Phrase::from(answered).value(value.clone())
            }
            Basis::Signal { name } => format!("signal `{name}` arrived").into(),
        }
    }

    fn by_conditions(&self) -> Phrase {
        let explained = |outcome: BranchOutcome| {
            let branches = self.branches.iter().filter(move |branch| branch.outcome == outcome);
            branches.filter_map(|branch| branch.explanation.as_ref())
        };
        let Some(chosen) = self.chosen() else {
            let failed = explained(BranchOutcome::Error).next();
            return failed.map_or_else(|| "cannot be decided".into(), |failed| failed.sentence.clone());
        };
        if let Some(explanation) = &chosen.explanation {
            return explanation.sentence.clone();
        }
        match (self.kind, self.count, &chosen.text) {
            (DecisionKind::Loop, Some((_, Some(limit))), Some(_))
                if explained(BranchOutcome::True).next().is_some() =>
            {
                format!("the condition is still true, but the limit of {} is reached", rounds(limit)).into()
            }
            (DecisionKind::Retry, Some((count, Some(limit))), Some(_)) => format!("retry {count} of {limit}").into(),
            (DecisionKind::Retry, Some((_, Some(limit))), None) => match limit {
                1 => "the only retry is used up".into(),
                limit => format!("all {limit} retries are used up").into(),
            },
            (_, _, Some(reason)) if chosen.is_default && explained(BranchOutcome::False).next().is_some() => {
                format!("no condition matched, and {reason}").into()
            }
            (_, _, Some(rule)) => Phrase::from(&**rule),
            _ => {
                let errors = explained(BranchOutcome::Error).count();
                let mut untrue = explained(BranchOutcome::False);
                match (untrue.next(), untrue.next()) {
                    (Some(only), None) if errors == 0 => only.sentence.clone(),
                    (None, _) if errors == 0 => "there is no condition".into(),
                    _ => match errors {
                        0 => "no condition matched".into(),
                        1 => "no condition matched, and 1 cannot be evaluated".into(),
                        errors => format!("no condition matched, and {errors} cannot be evaluated").into(),
                    },
                }
            }
        }
    }
}

pub(super) fn rounds(count: u64) -> String {
    if count == 1 { "1 round".into() } else { format!("{count} rounds") }
}

/// `kind: message` of an error object.
fn message(error: &Value) -> String {
    let part = |key: &str| error.get(key).and_then(Value::as_str);
    match (part("kind"), part("message")) {
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

fn by_items(count: u32, failed: &[u32], error: Option<&Value>) -> String {
    let listed: Vec<String> = failed.iter().map(|at| format!("[{at}]")).collect();
    let items = if failed.len() == 1 { "item" } else { "items" };
    match (count, error) {
        (_, Some(error)) if failed.is_empty() => format!("the loop stopped ({})", message(error)),
        (_, Some(error)) => format!("{items} {} failed ({})", listed.join(", "), message(error)),
        (0, None) => "there are no items".into(),
        (1, None) if failed.is_empty() => "the only item is done".into(),
        (_, None) if failed.is_empty() => format!("all {count} items are done"),
        (_, None) => format!("all {count} items have ended; failed: {}", listed.join(", ")),
    }
}

fn by_inputs(inputs: &[(Arc<str>, InputState)], error: Option<&Value>) -> String {
    let named = |state: InputState| {
        let names: Vec<String> =
            inputs.iter().filter(|(_, found)| *found == state).map(|(name, _)| format!("`{name}`")).collect();
        names
    };
    let arrived = named(InputState::Arrived);
    let mut text = match (arrived.len(), inputs.len()) {
        (0, _) => "no input arrived".to_owned(),
        (some, all) => format!("{some} of {all} inputs arrived: {}", arrived.join(", ")),
    };
    let others = [
        (InputState::Empty, "ended without a value"),
        (InputState::Failed, "failed"),
        (InputState::Cancelled, "cancelled"),
        (InputState::Unreachable, "unreachable"),
    ];
    for (state, words) in others {
        let names = named(state);
        if !names.is_empty() {
            text = format!("{text}; {words}: {}", names.join(", "));
        }
    }
    if let Some(error) = error {
        text = format!("{text} ({})", message(error));
    }
    text
}
