//! Budgets: which parts have one, and its limits.

use branchpoint_core::ir::BudgetLimits;
use branchpoint_expr::{Located, Shape};

use super::guard;
use super::tree::{Role, Step};
use crate::fields::Access;

/// The range of a cost limit: it is counted in millionths.
pub(super) const LEAST_USD: f64 = 1e-6;
pub(super) const MOST_USD: f64 = 1e9;

const MICROS: f64 = 1_000_000.0;

/// The names that a budgeted part can read as `budget`.
pub(super) const FIELDS: [&str; 7] =
    ["tokens", "cost_usd", "elapsed_s", "remaining_tokens", "remaining_cost_usd", "remaining_s", "reason"];

/// The names that every step can read as `run`.
pub(super) const RUN_FIELDS: [&str; 3] = ["tokens", "cost_usd", "elapsed_s"];

/// The limits of the budget of a document or a step; none if it has no budget.
pub(super) fn of(holder: &Located) -> Option<BudgetLimits> {
    let budget = holder.given("budget")?;
    let tokens = budget.int("tokens").and_then(|tokens| u64::try_from(tokens).ok());
    let time_ms = budget.given("time").and_then(guard::duration_ms);
    let limits = BudgetLimits { tokens, cost_micros: budget.given("cost_usd").and_then(micros), time_ms };
    (!limits.is_none()).then_some(limits)
}

/// The budget of a step.
pub(super) fn of_step(step: &Step<'_>) -> Option<BudgetLimits> {
    of(step.located).filter(|_| can_have_one(step))
}

/// Whether a step has steps inside that a budget can limit.
pub(super) fn can_have_one(step: &Step<'_>) -> bool {
    ["if_else", "conditional", "switch", "for_each", "while", "parallel"].contains(&step.kind.name)
}

/// Whether a list of a step is in the part of the step's budget.
pub(super) fn covers(step: &Step<'_>, role: Role) -> bool {
    matches!(role, Role::Arm(_) | Role::Body | Role::Branch(_)) && of_step(step).is_some()
}

/// A cost in millionths.
fn micros(cost: &Located) -> Option<u64> {
    let usd = match cost.shape {
        Shape::Int(int) => int as f64,
        Shape::Float(float) => float,
        _ => return None,
    };
    let micros = (usd * MICROS).round();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range is checked first")]
    (LEAST_USD..=MOST_USD).contains(&usd).then(|| micros.max(1.0) as u64)
}
