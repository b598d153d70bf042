//! `minijinja`: an expression of its templates over a prepared value.

use crate::conditions::{PREFIX, SUFFIX, any_mode, context, expr};
use crate::{Case, Engine, Probe};
use minijinja::Environment;
use minijinja::value::{Serde, Value};
use std::hint::black_box;

pub struct Minijinja {
    environment: Environment<'static>,
    context: Value,
}

impl Minijinja {
    pub fn new() -> Self {
        Self { environment: Environment::new(), context: Value::from(Serde(context())) }
    }
}

impl Engine for Minijinja {
    fn name(&self) -> &'static str {
        "minijinja"
    }

    fn evaluate(&self, case: Case, probe: Probe) -> f64 {
        let source = source(case);
        let expression = self.environment.compile_expression_owned(source).expect("compiles");
        probe.run(|| {
            let answer = expression.eval(black_box(&self.context).clone());
            answer.is_ok_and(|value| value.is_true())
        })
    }

    fn compile(&self, probe: Probe) -> Option<f64> {
        let source = source(Case::CountAndMode);
        // Its borrowing compile wants a source as long-lived as the environment: an environment of the right lifetime, then.
        let environment = Environment::new();
        Some(probe.run(|| environment.compile_expression(black_box(&source)).is_ok()))
    }
}

fn source(case: Case) -> String {
    match case {
        Case::CountAndMode => r#"inputs.count > 10 and inputs.mode == "prod""#.into(),
        Case::ExitAndOutput => r#"states.check.ExitCode == 0 and "success" in states.check.Output"#.into(),
        Case::OneOfTen => any_mode(" or "),
        Case::PrefixAndSuffix => {
            format!(r#"text is startingwith "{PREFIX}" and text is endingwith "{SUFFIX}""#)
        }
        other => expr(other),
    }
}
