//! Compares a run with the expectation of a vector, key by key. Missing keys are not checked.

use std::collections::BTreeMap;

use branchpoint_expr::{Object, Value};

use super::RunSummary;
use crate::vectors::compare::same;

pub(super) fn rejected(expected: &Value, kinds: &[&str]) -> Vec<String> {
    let mut problems = Vec::new();
    if text(expected, "status") != Some("rejected") {
        problems.push(format!("rejected with {kinds:?}"));
    }
    if let Some(kind) = text(expected, "error_kind")
        && !kinds.contains(&kind)
    {
        problems.push(format!("the codes are {kinds:?}"));
    }
    problems
}

pub(super) fn ended(expected: &Value, summary: &RunSummary) -> Vec<String> {
    let mut problems = Problems(Vec::new());
    for (key, wanted) in expected.as_object().into_iter().flatten() {
        problems.check(key, wanted, expected, summary);
    }
    problems.0
}

struct Problems(Vec<String>);

impl Problems {
    fn check(&mut self, key: &str, wanted: &Value, expected: &Value, summary: &RunSummary) {
        let error =
            |key: &str| summary.result.get("error").and_then(|error| error.get(key)).cloned().unwrap_or_default();
        let output = summary.result.get("output").cloned().unwrap_or_default();
        match key {
            "status" => self.equal(key, wanted, &Value::from(summary.status)),
            "error_kind" => self.equal(key, wanted, &error("kind")),
            "failed_step" => self.equal(key, wanted, &error("step")),
            "error_contains" => {
                let message = error("message").to_string();
                if !message.contains(&wanted.to_string()) {
                    self.0.push(format!("the error says {message:?}"));
                }
            }
            "output" => self.equal(key, wanted, &Value::from(output.to_string())),
            "output_json" => self.equal(key, wanted, &as_json(&output)),
            "steps_run" => self.steps_run(wanted, text(expected, "order_free_after"), summary),
            "steps_not_run" => self.equal(key, &sorted(wanted), &sorted(&texts(summary.not_run.iter()))),
            "branches" => self.branches(wanted, summary),
            "step_outputs" => self.step_outputs(wanted, summary),
            "step_outputs_absent" => self.absent(wanted, summary),
            "attempts" => self.attempts(wanted, summary),
            "reminders" => self.reminders(wanted, summary),
            "pending" => self.equal(key, wanted, &Value::from(summary.pending.clone())),
            "warnings" => self.equal(key, wanted, &texts(summary.warnings.iter())),
            "order_free_after" => {}
            other => self.0.push(format!("unknown expectation `{other}`")),
        }
    }

    fn equal(&mut self, key: &str, wanted: &Value, got: &Value) {
        if !same(wanted, got) {
            self.0.push(format!("{key} is {got:?}"));
        }
    }

    /// Compares the order of steps up to `free_after`, and the rest in any order.
    fn steps_run(&mut self, wanted: &Value, free_after: Option<&str>, summary: &RunSummary) {
        let wanted: Vec<String> = wanted.as_list().unwrap_or_default().iter().map(ToString::to_string).collect();
        let got: Vec<String> = summary.records.iter().map(|(id, _)| id.clone()).collect();
        let fixed = match free_after {
            Some(step) => wanted.iter().position(|id| id == step).map_or(wanted.len(), |at| at + 1),
            None => wanted.len(),
        };
        let split = |ids: &[String]| {
            let at = fixed.min(ids.len());
            let mut rest = ids[at..].to_vec();
            rest.sort();
            (ids[..at].to_vec(), rest)
        };
        if split(&wanted) != split(&got) {
            self.0.push(format!("steps_run is {got:?}"));
        }
    }

    fn branches(&mut self, wanted: &Value, summary: &RunSummary) {
        for (id, marker) in entries(wanted) {
            let record = summary.records.iter().rev().find(|(known, _)| known == id);
            let got = record.and_then(|(_, record)| record.branch.clone()).map_or(Value::Null, Value::Str);
            self.equal(&format!("the branch of {id}"), marker, &got);
        }
    }

    fn step_outputs(&mut self, wanted: &Value, summary: &RunSummary) {
        for (id, wanted) in entries(wanted) {
            let got = newest(summary, id);
            if !matches(wanted, &got) {
                self.0.push(format!("the output of {id} is {got:?}"));
            }
        }
    }

    fn absent(&mut self, wanted: &Value, summary: &RunSummary) {
        for (id, keys) in entries(wanted) {
            let got = as_json(&newest(summary, id));
            for key in keys.as_list().unwrap_or_default() {
                if got.get(&key.to_string()).is_some() {
                    self.0.push(format!("the output of {id} has {key:?}"));
                }
            }
        }
    }

    fn attempts(&mut self, wanted: &Value, summary: &RunSummary) {
        for (id, wanted) in entries(wanted) {
            let of_step = summary.records.iter().filter(|(known, _)| known == id);
            let count: usize = of_step.map(|(_, record)| record.attempts.len()).sum();
            self.equal(&format!("attempts of {id}"), wanted, &Value::Int(i64::try_from(count).unwrap_or(-1)));
        }
    }

    fn reminders(&mut self, wanted: &Value, summary: &RunSummary) {
        let mut got: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
        for (step, times) in &summary.reminders {
            got.entry(step).or_default().extend(times.iter().cloned());
        }
        for (id, wanted) in entries(wanted) {
            let times = got.get(id).cloned().unwrap_or_default();
            self.equal(&format!("reminders of {id}"), wanted, &Value::from(times));
        }
    }
}

fn newest(summary: &RunSummary, id: &str) -> Value {
    let mut of_step = summary.records.iter().rev().filter(|(known, _)| known == id);
    of_step.find_map(|(_, record)| record.output.clone()).unwrap_or_default()
}

/// Objects match if every expected key matches, lists element by element, and text by its text form.
fn matches(wanted: &Value, got: &Value) -> bool {
    match (wanted, got) {
        (Value::Object(wanted), got) => {
            let got = as_json(got);
            wanted.iter().all(|(key, wanted)| got.get(key).is_some_and(|got| matches(wanted, got)))
        }
        (Value::List(wanted), got) => {
            let got = as_json(got);
            let items = got.as_list().unwrap_or_default();
            got.as_list().is_some()
                && wanted.len() == items.len()
                && wanted.iter().zip(items).all(|(wanted, got)| matches(wanted, got))
        }
        (Value::Str(wanted), got) => **wanted == *got.to_string(),
        (wanted, got) => same(wanted, got),
    }
}

/// Parses text that contains JSON.
fn as_json(value: &Value) -> Value {
    match value.as_str().and_then(|text| serde_json::from_str(text).ok()) {
        Some(inside) => inside,
        None => value.clone(),
    }
}

fn entries(object: &Value) -> impl Iterator<Item = (&str, &Value)> {
    object.as_object().into_iter().flat_map(Object::iter).map(|(key, value)| (&**key, value))
}

fn text<'v>(value: &'v Value, key: &str) -> Option<&'v str> {
    value.get(key).and_then(Value::as_str)
}

fn texts<'t>(texts: impl Iterator<Item = &'t String>) -> Value {
    Value::from(texts.map(|text| Value::from(text.as_str())).collect::<Vec<_>>())
}

fn sorted(list: &Value) -> Value {
    let mut texts: Vec<String> = list.as_list().unwrap_or_default().iter().map(ToString::to_string).collect();
    texts.sort();
    Value::from(texts.into_iter().map(Value::from).collect::<Vec<_>>())
}
