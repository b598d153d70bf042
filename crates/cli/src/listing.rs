//! Prints a list of stored things: as JSON, as a table, or as a hint if the list is empty.

use std::process::ExitCode;

use anyhow::Result;
use branchpoint_expr::Value;

use crate::table::table;
use crate::terminal;

/// The headings of a list, and the hint for an empty one.
pub(crate) struct Listing<const N: usize> {
    pub(crate) headings: [&'static str; N],
    pub(crate) empty: &'static str,
}

impl<const N: usize> Listing<N> {
    /// Prints the items: with `json` an array of their `fields`, else a table of their `row`s.
    pub(crate) fn print<T>(
        &self,
        items: &[T],
        json: bool,
        fields: impl Fn(&T) -> Value,
        row: impl Fn(&T) -> [String; N],
    ) -> Result<ExitCode> {
        if json {
            return terminal::print_json(&Value::from(items.iter().map(fields).collect::<Vec<_>>()));
        }
        if items.is_empty() {
            terminal::message(&format!("{}\n", self.empty));
            return Ok(ExitCode::SUCCESS);
        }
        let rows: Vec<[String; N]> = items.iter().map(row).collect();
        terminal::print_styled(&table(self.headings, &rows))?;
        Ok(ExitCode::SUCCESS)
    }
}
