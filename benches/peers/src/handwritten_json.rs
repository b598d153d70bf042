//! What a person writes over a parsed document: a chain of lookups for each path of the condition.
//!
//! The literals of (3) and (5) are read from data, as in the row over slots.

use crate::conditions::{MODES, PREFIX, SUFFIX, context, names};
use crate::{Case, Engine, Probe};
use serde_json::Value;
use std::collections::HashSet;
use std::hint::black_box;

pub struct Json(Value);

impl Json {
    pub fn new() -> Self {
        Self(context())
    }
}

impl Engine for Json {
    fn name(&self) -> &'static str {
        "hand-written Rust over `serde_json::Value`"
    }

    fn evaluate(&self, case: Case, probe: Probe) -> f64 {
        let literals = names();
        let literals: HashSet<&str> = literals.iter().map(String::as_str).collect();
        let root = &self.0;
        match case {
            Case::CountAndMode => probe.run(|| count_and_mode(black_box(root))),
            Case::ExitAndOutput => probe.run(|| exit_and_output(black_box(root))),
            Case::OneOfTen => probe.run(|| one_of_ten(black_box(root))),
            Case::DeepNumber => probe.run(|| deep_number(black_box(root))),
            Case::PrefixAndSuffix => probe.run(|| prefix_and_suffix(black_box(root))),
            Case::ContextList => probe.run(|| context_list(black_box(root))),
            Case::LiteralList => probe.run(|| literal_list(black_box(root), &literals)),
        }
    }
}

fn at<'json>(root: &'json Value, path: &[&str]) -> Option<&'json Value> {
    path.iter().try_fold(root, |value, key| value.get(key))
}

fn text<'json>(root: &'json Value, path: &[&str]) -> Option<&'json str> {
    at(root, path)?.as_str()
}

fn int(root: &Value, path: &[&str]) -> Option<i64> {
    at(root, path)?.as_i64()
}

fn count_and_mode(root: &Value) -> bool {
    int(root, &["inputs", "count"]).is_some_and(|count| count > 10) && text(root, &["inputs", "mode"]) == Some("prod")
}

fn exit_and_output(root: &Value) -> bool {
    int(root, &["states", "check", "ExitCode"]) == Some(0)
        && text(root, &["states", "check", "Output"]).is_some_and(|output| output.contains("success"))
}

fn one_of_ten(root: &Value) -> bool {
    black_box(&MODES).iter().any(|mode| text(root, &["inputs", "mode"]) == Some(mode))
}

fn deep_number(root: &Value) -> bool {
    at(root, &["a", "b", "c", "d", "e"]).and_then(Value::as_f64).is_some_and(|number| number >= 3.5)
}

fn prefix_and_suffix(root: &Value) -> bool {
    text(root, &["text"]).is_some_and(|text| text.starts_with(black_box(PREFIX)))
        && text(root, &["text"]).is_some_and(|text| text.ends_with(black_box(SUFFIX)))
}

fn context_list(root: &Value) -> bool {
    let name = text(root, &["name"]);
    at(root, &["names"]).and_then(Value::as_array).is_some_and(|names| names.iter().any(|item| item.as_str() == name))
}

fn literal_list(root: &Value, literals: &HashSet<&str>) -> bool {
    text(root, &["name"]).is_some_and(|name| literals.contains(name))
}
