//! The behaviour of each op. Every test drives a run by hand, with a minimal host.

mod adopt;
mod approval_model;
mod approval_rules;
mod budget_properties;
mod budgets;
mod edges;
mod effects;
mod frames;
mod host;
mod loops;
mod meets;
mod ops;
mod people;
mod runs;
mod sizes;
mod trace;
mod waits;
