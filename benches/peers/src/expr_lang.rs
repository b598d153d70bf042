//! `expr-lang`, the Rust crate.

use crate::conditions::{self, expr};
use crate::{Case, Engine, Probe};
use ::expr::{Context, Environment};
use std::hint::black_box;

pub struct ExprLang {
    environment: Environment<'static>,
    context: Context,
}

impl ExprLang {
    pub fn new() -> Self {
        Self {
            environment: Environment::new(),
            context: Context::from_serialize(&conditions::context()).expect("converts"),
        }
    }
}

impl Engine for ExprLang {
    fn name(&self) -> &'static str {
        "expr-lang (Rust crate)"
    }

    fn evaluate(&self, case: Case, probe: Probe) -> f64 {
        let program = ::expr::compile(&expr(case)).expect("compiles");
        probe.run(|| {
            let answer = self.environment.run(&program, black_box(&self.context));
            answer.is_ok_and(|value| value.as_bool() == Some(true))
        })
    }

    fn compile(&self, probe: Probe) -> Option<f64> {
        let source = expr(Case::CountAndMode);
        Some(probe.run(|| ::expr::compile(black_box(&source)).is_ok()))
    }
}
