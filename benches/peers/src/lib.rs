//! Branchpoint and its peers on the same seven conditions.
//!
//! Each engine is one file and one [`Engine`]; the bench binaries put all of [`engines`] through a [`Probe`].

mod branchpoint;
mod cel;
mod conditions;
mod datalogic;
mod expr_lang;
mod handwritten_json;
mod handwritten_slots;
mod minijinja;
mod probe;
mod report;
mod rhai;
mod zen;

pub use conditions::Case;
pub use probe::Probe;
pub use report::{environment, table};

/// An evaluator under measurement: holds its context, prepared once.
pub trait Engine {
    /// The name of its row.
    fn name(&self) -> &'static str;

    /// Compiles `case`, then hands `probe` the closure that evaluates it once.
    fn evaluate(&self, case: Case, probe: Probe) -> f64;

    /// Hands `probe` the closure that compiles [`Case::CountAndMode`]; `None` where there is nothing to compile.
    fn compile(&self, _probe: Probe) -> Option<f64> {
        None
    }
}

/// Every row of the table, in its order: the floors, ourselves, the peers.
pub fn engines() -> Vec<Box<dyn Engine>> {
    let mut engines: Vec<Box<dyn Engine>> =
        vec![Box::new(handwritten_slots::Slots::new()), Box::new(handwritten_json::Json::new())];
    engines.extend(branchpoint::engines());
    engines.extend(peers());
    engines
}

fn peers() -> [Box<dyn Engine>; 6] {
    [
        Box::new(datalogic::Datalogic::new()),
        Box::new(zen::Zen::new()),
        Box::new(cel::Cel::new()),
        Box::new(expr_lang::ExprLang::new()),
        Box::new(rhai::Rhai::new()),
        Box::new(minijinja::Minijinja::new()),
    ]
}
