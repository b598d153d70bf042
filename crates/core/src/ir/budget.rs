//! Budgets: limits on the tokens, the cost and the time of a part of a run.

use serde::{Deserialize, Serialize};

use super::{Failure, Program, ScopeId, StepId};

/// The budget of the frames of a scope. A budget without limits only counts.
///
/// A call begins only if every budget around it has something left, and its usage is added to all of them when it has ended. When a call
/// cannot begin, the frame ends: for tokens and cost after the calls in flight have ended, for time at once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    /// The scope. A scope has at most one budget.
    pub scope: ScopeId,
    /// The limits.
    pub limits: BudgetLimits,
    /// Continues here when the budget is used up, with an object in the slot that describes the budget; none: the frame fails with
    /// `budget_exceeded`.
    pub exhausted: Option<Failure>,
    /// The step whose part has the budget; none for the whole document.
    pub step: Option<StepId>,
    /// The first step that runs when the budget is used up.
    pub leads_to: Option<StepId>,
}

/// The limits of a budget; none is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BudgetLimits {
    /// Tokens.
    pub tokens: Option<u64>,
    /// Cost, in millionths of the currency unit.
    pub cost_micros: Option<u64>,
    /// Milliseconds from the beginning of the frame, without waiting for people.
    pub time_ms: Option<u64>,
}

impl BudgetLimits {
    /// Whether nothing is limited.
    ///
    /// ```
    /// use branchpoint_core::ir::BudgetLimits;
    ///
    /// assert!(BudgetLimits::default().is_none());
    /// assert!(!BudgetLimits { tokens: Some(1_000), ..BudgetLimits::default() }.is_none());
    /// ```
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// The stricter limit of both, for each kind of limit.
    ///
    /// ```
    /// use branchpoint_core::ir::BudgetLimits;
    ///
    /// let own = BudgetLimits { tokens: Some(500), time_ms: Some(1_000), ..BudgetLimits::default() };
    /// let callers = BudgetLimits { tokens: Some(200), cost_micros: Some(9), ..BudgetLimits::default() };
    /// let both = BudgetLimits { tokens: Some(200), cost_micros: Some(9), time_ms: Some(1_000) };
    /// assert_eq!(own.stricter(callers), both);
    /// ```
    #[must_use]
    pub fn stricter(self, other: Self) -> Self {
        let least = |one: Option<u64>, other: Option<u64>| one.into_iter().chain(other).min();
        Self {
            tokens: least(self.tokens, other.tokens),
            cost_micros: least(self.cost_micros, other.cost_micros),
            time_ms: least(self.time_ms, other.time_ms),
        }
    }
}

impl Program {
    /// The budget of a scope.
    ///
    /// ```
    /// use branchpoint_core::ir::{Program, builder::Builder};
    ///
    /// assert_eq!(Builder::sample().budget_of(Program::ROOT), None);
    /// ```
    pub fn budget_of(&self, scope: ScopeId) -> Option<&Budget> {
        // The table is sorted by scope.
        let at = self.budgets.binary_search_by_key(&scope, |budget| budget.scope).ok()?;
        self.budgets.get(at)
    }
}
