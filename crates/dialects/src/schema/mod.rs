//! What editors know about documents: a JSON Schema for each dialect, for completion and hints while one writes.
//!
//! A schema knows shapes, not meanings: `load` refuses more. It never refuses what loads.

use branchpoint_expr::Dialect;

/// The JSON Schema (2020-12) of a dialect's documents; none while a dialect has none.
pub fn schema(dialect: Dialect) -> Option<&'static str> {
    match dialect {
        Dialect::Steps => Some(include_str!("steps.json")),
        Dialect::Flow => Some(include_str!("flow.json")),
        Dialect::Machine => Some(include_str!("machine.json")),
        Dialect::Session | Dialect::Graph => None,
    }
}
