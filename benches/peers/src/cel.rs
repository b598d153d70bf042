//! `cel`: the Common Expression Language over a context of its own values.

use crate::conditions::{PREFIX, SUFFIX, context, expr};
use crate::{Case, Engine, Probe};
use cel::{Context, Env, Program, Value};
use serde_json::Value as Json;
use std::collections::HashMap;
use std::hint::black_box;
use std::sync::Arc;

pub struct Cel(Context<'static, 'static>);

impl Cel {
    pub fn new() -> Self {
        let mut variables = Context::with_env(Arc::new(Env::stdlib()));
        for (name, value) in context().as_object().expect("an object") {
            variables.add_variable_from_value(name, convert(value));
        }
        Self(variables)
    }
}

/// Its own conversion makes integers unsigned, which compare more slowly with its literals.
fn convert(value: &Json) -> Value {
    match value {
        Json::Number(number) => number.as_i64().map_or_else(|| number.as_f64().into(), Value::Int),
        Json::String(text) => text.as_str().into(),
        Json::Array(items) => items.iter().map(convert).collect::<Vec<_>>().into(),
        Json::Object(fields) => {
            fields.iter().map(|(key, field)| (key.clone(), convert(field))).collect::<HashMap<_, _>>().into()
        }
        other => panic!("the document of the benchmark has no {other}"),
    }
}

impl Engine for Cel {
    fn name(&self) -> &'static str {
        "cel"
    }

    fn evaluate(&self, case: Case, probe: Probe) -> f64 {
        let program = Program::compile(&source(case)).expect("compiles");
        probe.run(|| program.execute(black_box(&self.0)) == Ok(Value::Bool(true)))
    }

    fn compile(&self, probe: Probe) -> Option<f64> {
        let source = source(Case::CountAndMode);
        Some(probe.run(|| Program::compile(black_box(&source)).is_ok()))
    }
}

fn source(case: Case) -> String {
    match case {
        Case::ExitAndOutput => r#"states.check.ExitCode == 0 && states.check.Output.contains("success")"#.into(),
        Case::PrefixAndSuffix => format!(r#"text.startsWith("{PREFIX}") && text.endsWith("{SUFFIX}")"#),
        other => expr(other),
    }
}
