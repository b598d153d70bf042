//! The floor: what a person writes when every path is an index already.
//!
//! The literals of (3) and (5) are read from data, as in every evaluator of conditions known only at run time;
//! written into the code, LLVM folds all ten comparisons into one look at an integer.

use crate::conditions::{MODES, PREFIX, SUFFIX, context, names};
use crate::{Case, Engine, Probe};
use serde_json::Value as Json;
use std::collections::HashSet;
use std::hint::black_box;

enum Value {
    Int(i64),
    Float(f64),
    Text(String),
    List(Vec<Value>),
}

const PATHS: [&str; 8] = [
    "/inputs/count",
    "/inputs/mode",
    "/states/check/ExitCode",
    "/states/check/Output",
    "/a/b/c/d/e",
    "/text",
    "/name",
    "/names",
];
const COUNT: usize = 0;
const MODE: usize = 1;
const EXIT_CODE: usize = 2;
const OUTPUT: usize = 3;
const DEEP: usize = 4;
const TEXT: usize = 5;
const NAME: usize = 6;
const NAMES: usize = 7;

pub struct Slots([Value; 8]);

impl Slots {
    pub fn new() -> Self {
        let context = context();
        Self(PATHS.map(|path| resolve(context.pointer(path).expect("in the document"))))
    }

    fn int(&self, slot: usize) -> Option<i64> {
        match self.0[slot] {
            Value::Int(value) => Some(value),
            _ => None,
        }
    }

    fn float(&self, slot: usize) -> Option<f64> {
        match self.0[slot] {
            Value::Float(value) => Some(value),
            _ => None,
        }
    }

    fn text(&self, slot: usize) -> Option<&str> {
        self.0[slot].as_text()
    }

    fn list(&self, slot: usize) -> &[Value] {
        match &self.0[slot] {
            Value::List(items) => items,
            _ => &[],
        }
    }
}

impl Value {
    fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(value) => Some(value),
            _ => None,
        }
    }
}

fn resolve(value: &Json) -> Value {
    match value {
        Json::Number(number) if number.is_f64() => Value::Float(number.as_f64().expect("a float")),
        Json::Number(number) => Value::Int(number.as_i64().expect("an integer")),
        Json::String(text) => Value::Text(text.clone()),
        Json::Array(items) => Value::List(items.iter().map(resolve).collect()),
        other => panic!("no slot of the benchmark holds {other}"),
    }
}

impl Engine for Slots {
    fn name(&self) -> &'static str {
        "hand-written Rust over pre-resolved slots (the floor)"
    }

    fn evaluate(&self, case: Case, probe: Probe) -> f64 {
        let literals = names();
        let literals: HashSet<&str> = literals.iter().map(String::as_str).collect();
        match case {
            Case::CountAndMode => probe.run(|| count_and_mode(black_box(self))),
            Case::ExitAndOutput => probe.run(|| exit_and_output(black_box(self))),
            Case::OneOfTen => probe.run(|| one_of_ten(black_box(self))),
            Case::DeepNumber => probe.run(|| deep_number(black_box(self))),
            Case::PrefixAndSuffix => probe.run(|| prefix_and_suffix(black_box(self))),
            Case::ContextList => probe.run(|| context_list(black_box(self))),
            Case::LiteralList => probe.run(|| literal_list(black_box(self), &literals)),
        }
    }
}

fn count_and_mode(slots: &Slots) -> bool {
    slots.int(COUNT).is_some_and(|count| count > 10) && slots.text(MODE) == Some("prod")
}

fn exit_and_output(slots: &Slots) -> bool {
    slots.int(EXIT_CODE) == Some(0) && slots.text(OUTPUT).is_some_and(|output| output.contains("success"))
}

fn one_of_ten(slots: &Slots) -> bool {
    black_box(&MODES).iter().any(|mode| slots.text(MODE) == Some(mode))
}

fn deep_number(slots: &Slots) -> bool {
    slots.float(DEEP).is_some_and(|number| number >= 3.5)
}

fn prefix_and_suffix(slots: &Slots) -> bool {
    slots.text(TEXT).is_some_and(|text| text.starts_with(black_box(PREFIX)) && text.ends_with(black_box(SUFFIX)))
}

fn context_list(slots: &Slots) -> bool {
    let name = slots.text(NAME);
    slots.list(NAMES).iter().any(|item| item.as_text() == name)
}

fn literal_list(slots: &Slots, literals: &HashSet<&str>) -> bool {
    slots.text(NAME).is_some_and(|name| literals.contains(name))
}
