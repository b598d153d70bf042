//! `rhai`: the tree walker; its bytecode machine (`grain`) was not clearly faster on conditions this small.

use crate::conditions::{PREFIX, SUFFIX, context, expr};
use crate::{Case, Engine, Probe};
use rhai::Scope;
use rhai::serde::to_dynamic;
use std::hint::black_box;

pub struct Rhai {
    engine: rhai::Engine,
    scope: Scope<'static>,
}

impl Rhai {
    pub fn new() -> Self {
        let mut scope = Scope::new();
        for (name, value) in context().as_object().expect("an object") {
            scope.push_dynamic(name.clone(), to_dynamic(value).expect("converts"));
        }
        Self { engine: rhai::Engine::new(), scope }
    }
}

impl Engine for Rhai {
    fn name(&self) -> &'static str {
        "rhai"
    }

    fn evaluate(&self, case: Case, probe: Probe) -> f64 {
        let ast = self.engine.compile_expression(source(case)).expect("compiles");
        let mut scope = self.scope.clone();
        probe.run(|| self.engine.eval_ast_with_scope::<bool>(black_box(&mut scope), &ast).is_ok_and(|answer| answer))
    }

    fn compile(&self, probe: Probe) -> Option<f64> {
        let source = source(Case::CountAndMode);
        Some(probe.run(|| self.engine.compile_expression(black_box(&source)).is_ok()))
    }
}

fn source(case: Case) -> String {
    match case {
        Case::ExitAndOutput => r#"states.check.ExitCode == 0 && states.check.Output.contains("success")"#.into(),
        Case::PrefixAndSuffix => {
            format!(r#"text.starts_with("{PREFIX}") && text.ends_with("{SUFFIX}")"#)
        }
        other => expr(other),
    }
}
