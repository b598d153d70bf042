//! The names of the dialects, as arguments.

use branchpoint_expr::Dialect;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

/// Takes the name of a dialect.
pub(crate) fn parser() -> impl TypedValueParser<Value = Dialect> {
    value_parser(|dialect| match dialect {
        Dialect::Machine => "state machines",
        Dialect::Flow => "JSON flows",
        Dialect::Steps => "step trees, the house format",
        Dialect::Session => "tool gating of a conversation",
        Dialect::Graph => "graphs of nodes and edges",
    })
}

/// Takes the name of a dialect, each with its own words of help.
pub(crate) fn value_parser(help: impl Fn(Dialect) -> &'static str) -> impl TypedValueParser<Value = Dialect> {
    let values = Dialect::ALL.map(|dialect| PossibleValue::new(dialect.as_str()).help(help(dialect)));
    PossibleValuesParser::new(values).map(|name| {
        let dialect = Dialect::ALL.into_iter().find(|dialect| dialect.as_str() == name);
        dialect.expect("clap accepts the names of dialects only")
    })
}
