//! `datalogic-rs`: JSON rules over a resident parsed document, the arena reused.

use crate::conditions::{MODES, PREFIX, SUFFIX, context, names};
use crate::{Case, Engine, Probe};
use datalogic_rs::ParsedData;
use serde_json::{Value, json};
use std::hint::black_box;

pub struct Datalogic {
    engine: datalogic_rs::Engine,
    data: ParsedData,
}

impl Datalogic {
    pub fn new() -> Self {
        Self {
            engine: datalogic_rs::Engine::new(),
            data: ParsedData::from_json(&context().to_string()).expect("the document parses"),
        }
    }
}

impl Engine for Datalogic {
    fn name(&self) -> &'static str {
        "datalogic-rs"
    }

    fn evaluate(&self, case: Case, probe: Probe) -> f64 {
        let logic = self.engine.compile(&rule(case).to_string()).expect("compiles");
        let mut session = self.engine.session();
        probe.run(|| {
            let answer = session.eval_borrowed(&logic, black_box(&self.data));
            let answer = answer.is_ok_and(|value| value.as_bool() == Some(true));
            session.reset();
            answer
        })
    }

    fn compile(&self, probe: Probe) -> Option<f64> {
        let source = rule(Case::CountAndMode).to_string();
        Some(probe.run(|| self.engine.compile(black_box(&source)).is_ok()))
    }
}

fn rule(case: Case) -> Value {
    let (mode, text) = (json!({ "var": "inputs.mode" }), json!({ "var": "text" }));
    match case {
        Case::CountAndMode => {
            json!({ "and": [{ ">": [{ "var": "inputs.count" }, 10] }, { "==": [mode, "prod"] }] })
        }
        Case::ExitAndOutput => json!({ "and": [
            { "==": [{ "var": "states.check.ExitCode" }, 0] },
            { "in": ["success", { "var": "states.check.Output" }] },
        ] }),
        Case::OneOfTen => json!({ "or": MODES.map(|value| json!({ "==": [mode, value] })) }),
        Case::DeepNumber => json!({ ">=": [{ "var": "a.b.c.d.e" }, 3.5] }),
        Case::PrefixAndSuffix => {
            json!({ "and": [{ "starts_with": [text, PREFIX] }, { "ends_with": [text, SUFFIX] }] })
        }
        Case::ContextList => json!({ "in": [{ "var": "name" }, { "var": "names" }] }),
        Case::LiteralList => json!({ "in": [{ "var": "name" }, names()] }),
    }
}
