//! Step trees: the examples, rules that no vector covers, and calls of other workflows.

mod approvals;
mod attachments;
mod budgets;
mod calls;
mod examples;
mod policies;
mod policy_trees;
mod rules;
mod waiting;
