//! What editors know about documents: a JSON Schema for each dialect, for completion and hints while one writes.
//!
//! A schema knows shapes, not meanings: `load` refuses more. It never refuses what loads.

use branchpoint_expr::Dialect;

/// The JSON Schema (2020-12) of a dialect's documents.
pub fn schema(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Steps => include_str!("steps.json"),
        Dialect::Flow => include_str!("flow.json"),
        Dialect::Machine => include_str!("machine.json"),
        Dialect::Session => include_str!("session.json"),
        Dialect::Graph => include_str!("graph.json"),
    }
}
