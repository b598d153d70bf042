//! Checks of documents: findings as JSON, with the step in which each is and the edits that fix it.

mod fixes;

use branchpoint_backend::Backend;
use branchpoint_dialects::{Loaded, StepOutline, outline, unserved_trigger};
use branchpoint_expr::{Diagnostic, Span, render_json};
use serde_json::Value;

use crate::app::App;
use crate::documents::{Source, load};
use crate::drawing::{Drawing, draw, draw_sketch};
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
        let steps = self.loaded.dialect.map(|dialect| outline(text, dialect)).unwrap_or_default();
        for (finding, rendered) in self.findings.iter().zip(&mut rendered) {
            rendered["step"] = step_at(&steps, finding).map_or(Value::Null, Value::from);
            rendered["fixes"] = Value::from(fixes::fixes(finding, text));
        }
        rendered
    }

    /// The drawing of the document, even if it has errors; none if it has no structure to draw.
    pub(crate) fn drawing(&self, text: &str) -> Option<Drawing> {
        let dialect = self.loaded.dialect?;
        let drawn = self.loaded.program.as_ref().map(|program| draw(program, text, dialect.as_str()));
        drawn.or_else(|| draw_sketch(text, dialect))
    }

    /// The document is invalid.
    pub(crate) fn problem(&self, text: &str, name: Option<&str>) -> Problem {
        Problem::invalid_document(&self.findings, text, name.unwrap_or("document"))
    }
}

/// The innermost step around a finding.
fn step_at(steps: &[StepOutline], finding: &Diagnostic) -> Option<String> {
    let encloses = |span: Span| span.start <= finding.span.start && finding.span.end <= span.end;
    let around = steps.iter().filter(|step| encloses(step.span));
    around.min_by_key(|step| step.span.end - step.span.start).map(|step| step.id.to_string())
}
