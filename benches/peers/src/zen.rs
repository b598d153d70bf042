//! `zen-expression`: bytecode on a reused machine over a prepared scope.

use crate::conditions::{PREFIX, SUFFIX, any_mode, context, expr};
use crate::{Case, Engine, Probe};
use std::hint::black_box;
use zen_expression::vm::VM;
use zen_expression::{Isolate, Scope};

pub struct Zen(Scope);

impl Zen {
    pub fn new() -> Self {
        Self(Scope::new(context().into()))
    }
}

impl Engine for Zen {
    fn name(&self) -> &'static str {
        "zen-expression"
    }

    fn evaluate(&self, case: Case, probe: Probe) -> f64 {
        let expression = Isolate::new().compile_standard(&source(case)).expect("compiles");
        let mut vm = VM::new();
        probe.run(|| {
            let answer = expression.evaluate_with_scope(black_box(&self.0), &mut vm);
            answer.is_ok_and(|value| value.as_bool() == Some(true))
        })
    }

    fn compile(&self, probe: Probe) -> Option<f64> {
        let source = source(Case::CountAndMode);
        let mut isolate = Isolate::new();
        Some(probe.run(|| isolate.compile_standard(black_box(&source)).is_ok()))
    }
}

fn source(case: Case) -> String {
    match case {
        Case::CountAndMode => r#"inputs.count > 10 and inputs.mode == "prod""#.into(),
        Case::ExitAndOutput => r#"states.check.ExitCode == 0 and contains(states.check.Output, "success")"#.into(),
        Case::OneOfTen => any_mode(" or "),
        Case::PrefixAndSuffix => {
            format!(r#"startsWith(text, "{PREFIX}") and endsWith(text, "{SUFFIX}")"#)
        }
        other => expr(other),
    }
}
