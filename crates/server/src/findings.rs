//! Checks of documents: findings as JSON, with the step in which each is and the edits that fix it.

mod fixes;

use branchpoint_backend::Backend;
use branchpoint_core::ir::Program;
use branchpoint_dialects::{Loaded, unserved_trigger};
use branchpoint_expr::{Diagnostic, Dialect, render_json};
use serde_json::Value;

use crate::app::App;
use crate::documents::{Source, load};
use crate::drawing::{Drawing, draw};
use crate::problem::Problem;

/// A document that was loaded and checked.
pub(crate) struct Checked {
    pub(crate) loaded: Loaded,
    /// The findings in the order of the text, with those about runners and triggers.
    findings: Vec<Diagnostic>,
}

impl Checked {
    pub(crate) fn new(app: &App, backend: &dyn Backend, source: Source<'_>) -> Result<Self, Problem> {
        let mut loaded = load(backend, source)?;
        let mut findings = std::mem::take(&mut loaded.diagnostics);
        if let Some(program) = &loaded.program {
            findings.extend((app.host.runner_check)(program, source.text));
            findings.extend(unserved_trigger(source.text));
            findings.sort_by_key(|finding| finding.span.start);
        }
        Ok(Self { loaded, findings })
    }

    /// The findings as JSON.
    pub(crate) fn rendered(&self, text: &str, name: Option<&str>) -> Vec<Value> {
        let Value::Array(mut rendered) = render_json(&self.findings, text, name.unwrap_or("document")) else {
            return Vec::new();
        };
        for (finding, rendered) in self.findings.iter().zip(&mut rendered) {
            rendered["step"] = step_at(self.loaded.program.as_ref(), finding).map_or(Value::Null, Value::from);
            rendered["fixes"] = Value::from(fixes::fixes(finding, text));
        }
        rendered
    }

    /// The drawing of the document; none if it cannot be drawn.
    pub(crate) fn drawing(&self, text: &str) -> Option<Drawing> {
        let dialect = self.loaded.dialect.map(Dialect::as_str).unwrap_or_default();
        self.loaded.program.as_ref().map(|program| draw(program, text, dialect))
    }
}

/// The innermost step around a finding.
fn step_at(program: Option<&Program>, finding: &Diagnostic) -> Option<String> {
    let encloses = |(start, end): (u32, u32)| start <= finding.span.start && finding.span.end <= end && start < end;
    let steps = program?.steps.iter().filter(|step| encloses(step.origin));
    steps.min_by_key(|step| step.origin.1 - step.origin.0).map(|step| step.id.to_string())
}
