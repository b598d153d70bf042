//! Ourselves, twice: over the run's own slots, and over a borrowed `serde_json::Value`.

use std::hint::black_box;

use branchpoint_expr::{Bind, Binding, Condition, Options, Slots, Value};

use crate::conditions::{context, expr};
use crate::{Case, Engine, Probe};

/// Our rows. Each compiles `conditions::expr(case)` over `conditions::context()`.
pub fn engines() -> Vec<Box<dyn Engine>> {
    vec![Box::new(OverSlots::new()), Box::new(OverJson { context: context() })]
}

/// The paths that a run of these conditions would keep in slots of their own.
const PATHS: [&[&str]; 8] = [
    &["inputs", "count"],
    &["inputs", "mode"],
    &["states", "check", "ExitCode"],
    &["states", "check", "Output"],
    &["a", "b", "c", "d", "e"],
    &["text"],
    &["name"],
    &["names"],
];

struct Paths;

impl Bind for Paths {
    fn bind(&self, path: &[&str]) -> Option<Binding> {
        let slot = PATHS.iter().position(|known| path.starts_with(known))?;
        Some(Binding { slot: u32::try_from(slot).ok()?, parts: PATHS[slot].len() })
    }
}

struct OverSlots {
    slots: Vec<Value>,
}

impl OverSlots {
    fn new() -> Self {
        let context = context();
        let value = |path: &[&str]| Value::from(path.iter().fold(&context, |value, key| &value[*key]));
        Self { slots: PATHS.iter().map(|path| value(path)).collect() }
    }
}

impl Engine for OverSlots {
    fn name(&self) -> &'static str {
        "**Branchpoint**, slots"
    }

    fn evaluate(&self, case: Case, probe: Probe) -> f64 {
        let condition = Condition::expression(&expr(case), Options::default().bound(&Paths)).expect("it compiles");
        probe.run(|| condition.evaluate(black_box(&Slots(&self.slots))) == Ok(true))
    }

    fn compile(&self, probe: Probe) -> Option<f64> {
        let text = expr(Case::CountAndMode);
        Some(probe.run(|| Condition::expression(black_box(&text), Options::default().bound(&Paths)).is_ok()))
    }
}

struct OverJson {
    context: serde_json::Value,
}

impl Engine for OverJson {
    fn name(&self) -> &'static str {
        "**Branchpoint**, borrowed JSON"
    }

    fn evaluate(&self, case: Case, probe: Probe) -> f64 {
        let condition = Condition::compile(&expr(case)).expect("it compiles");
        probe.run(|| condition.evaluate(black_box(&self.context)) == Ok(true))
    }

    fn compile(&self, probe: Probe) -> Option<f64> {
        let text = expr(Case::CountAndMode);
        Some(probe.run(|| Condition::compile(black_box(&text)).is_ok()))
    }
}
