//! Evaluates a recorded decision again with changed values. The run is not changed.

use branchpoint_expr::{RecordedContext, Value, change, nearest};

use super::{Basis, BranchOutcome, BranchRecord, CountRecord, DecisionRecord};
use crate::ir::{Branch, Decision, DecisionKind, Index, Program};

/// Why a decision cannot be evaluated with a changed value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WhatIfError {
    /// The decision was not made by conditions.
    #[error("the decision does not depend on values: it was made by {0}")]
    NoConditions(&'static str),
    /// None of the conditions reads the path.
    #[error("the decision does not read `{path}`{}", .nearest.as_ref().map(|near| format!("; did you mean `{near}`?")).unwrap_or_default())]
    NotRead {
        /// The given path.
        path: String,
        /// The most similar path that the decision reads.
        nearest: Option<String>,
        /// The paths that the decision reads.
        reads: Vec<String>,
    },
}

/// Evaluates a recorded decision again, with these values at these paths.
///
/// ```
#[doc = include_str!("../../docs/decision.txt")]
/// let changed = what_if(&program, decided, &[("score".into(), Value::Int(1))])?;
/// assert_eq!(changed.chosen().map(|branch| &*branch.name), Some("low"));
/// # Ok::<(), WhatIfError>(())
/// ```
pub fn what_if(
    program: &Program,
    decided: &DecisionRecord,
    changes: &[(String, Value)],
) -> Result<DecisionRecord, WhatIfError> {
    let decision = decided.decision.and_then(|id| program.decisions.get(id.index()));
    let decision = match (&decided.basis, decision) {
        (Basis::Conditions, Some(decision)) if !decided.reads.is_empty() => decision,
        (basis, _) => return Err(WhatIfError::NoConditions(basis.description())),
    };
    let mut reads = decided.reads.clone();
    for (path, value) in changes {
        if !change(&mut reads, path, value) {
            let paths: Vec<String> = decided.reads.iter().map(|read| read.path.to_string()).collect();
            let near = nearest(path, paths.iter().map(String::as_str)).map(str::to_owned);
            return Err(WhatIfError::NotRead { path: path.clone(), nearest: near, reads: paths });
        }
    }
    let context = RecordedContext::of(&reads);
    let reset = |branch: &BranchRecord| BranchRecord {
        outcome: BranchOutcome::NotEvaluated,
        explanation: None,
        ..branch.clone()
    };
    let mut branches: Vec<BranchRecord> = decided.branches.iter().map(reset).collect();
    let limit = limit_reached(decision, decided);
    let rule = decided.branches.iter().position(|branch| branch.rule_holds == Some(true));
    let conditions = match limit {
        // The limit is checked before the condition.
        Some(limit) if !decision.branches[..limit].iter().any(|branch| branch.condition.is_some()) => &[][..],
        // A rule that holds comes before the conditions after it. The rule reads no changed values, so it has the outcome of the run.
        _ => &decision.branches[..rule.unwrap_or(decision.branches.len())],
    };
    let mut chosen = if conditions.is_empty() { limit } else { None };
    for (index, branch) in conditions.iter().enumerate() {
        let Some(condition) = branch.condition else { continue };
        let explained = program.conditions[condition.index()].explain(&context);
        let outcome = explained.outcome.clone();
        branches[index] = branches[index].clone().explained(explained);
        match outcome {
            Ok(true) => chosen = Some(index),
            Ok(false) => continue,
            Err(_) => {}
        }
        break;
    }
    let failed = branches.iter().any(|branch| branch.outcome == BranchOutcome::Error);
    if !failed {
        if chosen.is_some() {
            chosen = limit.or(chosen);
        }
        chosen = chosen.or(rule).or_else(|| branches.iter().position(|branch| branch.is_default));
    }
    if let Some(chosen) = chosen {
        let rules = branches[..chosen].iter_mut().filter(|branch| branch.explanation.is_none() && !branch.is_default);
        rules.for_each(|branch| branch.outcome = BranchOutcome::False);
        branches[chosen].outcome = BranchOutcome::True;
        // A loop checks its limit before it continues.
        if let Some(at) = limit_of(decision).filter(|at| *at > chosen && decision.branches[chosen].condition.is_some())
        {
            branches[at].outcome = BranchOutcome::False;
        }
    }
    let chosen = chosen.and_then(|chosen| u32::try_from(chosen).ok());
    Ok(DecisionRecord { branches, chosen, reads, ..decided.clone() })
}

/// The branch of a loop's limit, if the loop has reached the limit.
fn limit_reached(decision: &Decision, decided: &DecisionRecord) -> Option<usize> {
    let CountRecord { done, limit, .. } = decided.count?;
    limit_of(decision).filter(|_| limit.is_some_and(|limit| done >= limit))
}

/// The branch of a loop's limit.
fn limit_of(decision: &Decision) -> Option<usize> {
    let is_limit = |branch: &Branch| branch.condition.is_none() && !branch.is_default;
    let counts = decision.kind == DecisionKind::Loop && decision.count.is_some_and(|count| count.limit.is_some());
    decision.branches.iter().position(is_limit).filter(|_| counts)
}

impl Basis {
    /// The basis in words.
    fn description(&self) -> &'static str {
        match self {
            Self::Conditions => "a rule without conditions",
            Self::Votes { .. } => "votes",
            Self::Inputs { .. } => "what arrived at a join",
            Self::Items { .. } => "the number of items",
            Self::Attempt { .. } => "a retry policy",
            Self::Answer { .. } => "the answer of a person",
            Self::Time => "a time",
            Self::Signal { .. } => "a signal",
            Self::Budget(_) => "a budget",
        }
    }
}
