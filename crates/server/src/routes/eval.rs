//! Evaluates conditions in every spelling.

use std::collections::BTreeSet;

use axum::Json;
use axum::extract::State;
use branchpoint_dialects::{add_context_defaults, read};
use branchpoint_expr::{
    Condition, Diagnostic, EvalError, Gate, Kind, Located, Object, Options, Problems, Read, Value, render_json,
};
use serde::{Deserialize, Serialize};
use serde_json::Value as JsonValue;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::body::Body;
use crate::caller::{Action, Caller};
use crate::documents::{dialect_named, unknown_dialect};
use crate::problem::Problem;
use crate::time::{now_ms, rfc3339};

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(eval))
}

/// How a condition is written.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Spelling {
    /// The text of an expression.
    Expression,
    /// A typed group, as YAML or JSON.
    Group,
    /// A target list, or a gate with `on_match`.
    Targets,
    /// Conditions on the history of a session: `conditions`, and `sequence` if a condition is about it.
    History,
    /// A text match, or `conditions` with a list of which the first that matches counts.
    TextMatch,
}

/// A condition and the contexts to evaluate it over.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct EvalRequest {
    /// The condition.
    condition: String,
    spelling: Spelling,
    /// The dialect, which decides what missing values mean.
    dialect: String,
    /// The contexts: objects with the values that the condition can see. At most 50.
    #[serde(default)]
    #[schema(value_type = Vec<Object>)]
    cases: Vec<Value>,
}

/// Why an evaluation failed.
#[derive(Serialize, ToSchema)]
struct CaseError {
    kind: String,
    message: String,
}

/// The result of one context.
#[derive(Serialize, ToSchema)]
struct CaseResult {
    /// True, false, or null for an error.
    outcome: Option<bool>,
    error: Option<CaseError>,
    /// The outcome, one sentence, and every part of the condition with its value.
    #[schema(value_type = Option<crate::schemas::Explanation>)]
    explanation: Option<JsonValue>,
    /// The position of the condition that matched, for a list of conditions.
    #[serde(skip_serializing_if = "Option::is_none")]
    matched: Option<usize>,
    /// The values that the condition reads, by path.
    #[schema(value_type = Object)]
    reads: Object,
}

/// The results of a condition.
#[derive(Serialize, ToSchema)]
struct EvalResult {
    /// Findings about the condition. With an error, there are no results.
    #[schema(value_type = Vec<crate::schemas::Diagnostic>)]
    diagnostics: JsonValue,
    /// One result for each context.
    cases: Vec<CaseResult>,
    /// The paths that the condition reads.
    reads: BTreeSet<String>,
}

/// The maximum number of contexts.
const MAX_CASES: usize = 50;

/// Evaluates a condition over contexts, and explains each result.
#[utoipa::path(post, path = "/eval", tag = "documents", operation_id = "evaluate", request_body = EvalRequest,
    responses((status = 200, description = "The results", body = EvalResult)))]
async fn eval(
    State(app): State<App>,
    caller: Caller,
    Body(request): Body<EvalRequest>,
) -> Result<Json<EvalResult>, Problem> {
    caller.may_on_some(Action::Try)?;
    if request.cases.len() > MAX_CASES {
        return Err(Problem::invalid_input(format!("At most {MAX_CASES} contexts are evaluated at a time.")));
    }
    if let Some(position) = request.cases.iter().position(|case| case.as_object().is_none()) {
        return Err(Problem::invalid_input(format!("Context {} must be an object.", position + 1)));
    }
    let dialect =
        dialect_named(&request.dialect).ok_or_else(|| Problem::invalid_input(unknown_dialect(&request.dialect)))?;
    app.compute(move || {
        let compiled = match compile(&request.condition, request.spelling, Options::dialect(dialect)) {
            Ok(compiled) => compiled,
            Err(findings) => {
                let diagnostics = render_json(&findings, &request.condition, "condition");
                return Ok(Json(EvalResult { diagnostics, cases: Vec::new(), reads: BTreeSet::new() }));
            }
        };
        let findings: Vec<Diagnostic> =
            compiled.conditions().iter().flat_map(|condition| condition.warnings()).cloned().collect();
        let diagnostics = render_json(&findings, &request.condition, "condition");
        let now = rfc3339(now_ms());
        let cases: Vec<CaseResult> = request
            .cases
            .iter()
            .map(|case| {
                let mut names = case.as_object().cloned().unwrap_or_default();
                add_context_defaults(dialect, &mut names, &now);
                compiled.decide(&Value::from(names))
            })
            .collect();
        let reads = cases.iter().flat_map(|case| case.reads.keys()).map(ToString::to_string).collect();
        Ok(Json(EvalResult { diagnostics, cases, reads }))
    })
    .await
}

/// How the condition of a document is written; none if it cannot be evaluated on its own.
pub(crate) fn spelling_of(condition: &str, dialect: &str) -> Option<Spelling> {
    let options = || Some(Options::dialect(dialect_named(dialect)?));
    let is_structured = read(condition).is_ok_and(|document| document.to_value().as_str().is_none());
    let structured = [Spelling::Group, Spelling::Targets, Spelling::History, Spelling::TextMatch];
    let spellings = if is_structured { &structured[..] } else { &[Spelling::Expression] };
    let is_fitting =
        |spelling: &&Spelling| options().is_some_and(|options| compile(condition, **spelling, options).is_ok());
    spellings.iter().find(is_fitting).copied()
}

/// A compiled condition.
enum Compiled {
    /// True or false.
    One(Condition),
    /// Whether a gate is passed.
    Gate(Gate),
    /// The first of several that matches.
    First(Vec<Condition>),
}

fn compile(text: &str, spelling: Spelling, options: Options<'_>) -> Result<Compiled, Vec<Diagnostic>> {
    if spelling == Spelling::Expression {
        return Condition::expression(text, options).map(Compiled::One).map_err(|problems| problems.0);
    }
    let document = read(text)?;
    let compiled = match spelling {
        Spelling::Expression | Spelling::Group => Condition::group(&document, options).map(Compiled::One),
        Spelling::Targets if document.get("on_match").is_some() => {
            Gate::compile(&document, options).map(Compiled::Gate)
        }
        Spelling::Targets => Condition::targets(&document, options).map(Compiled::One),
        Spelling::History => history(&document, options).map(Compiled::One),
        Spelling::TextMatch => text_match(&document, options),
    };
    compiled.map_err(|problems| problems.0)
}

fn history(step: &Located, options: Options<'_>) -> Result<Condition, Problems> {
    match step.get("conditions") {
        Some(conditions) => Condition::history(conditions, step.get("sequence"), options),
        None => Condition::history(step, None, options),
    }
}

/// One entry, or the entries of a list: then the errors of all entries are reported.
fn text_match(node: &Located, options: Options<'_>) -> Result<Compiled, Problems> {
    let Some(conditions) = node.get("conditions") else {
        return Condition::text_match(node, options).map(Compiled::One);
    };
    let Some(entries) = conditions.items() else {
        let message = format!("`conditions` must be a list, and is {}", conditions.describe());
        return Err(Problems(vec![Diagnostic::error(Kind::InvalidField, conditions.span, message)]));
    };
    let (mut compiled, mut findings) = (Vec::new(), Vec::new());
    for entry in entries {
        match Condition::text_match(entry, options) {
            Ok(condition) => compiled.push(condition),
            Err(problems) => findings.extend(problems.0),
        }
    }
    if findings.is_empty() { Ok(Compiled::First(compiled)) } else { Err(Problems(findings)) }
}

impl Compiled {
    fn conditions(&self) -> &[Condition] {
        match self {
            Self::One(condition) => std::slice::from_ref(condition),
            Self::Gate(gate) => std::slice::from_ref(gate.condition()),
            Self::First(conditions) => conditions,
        }
    }

    fn decide(&self, context: &Value) -> CaseResult {
        let mut reads = Object::default();
        let mut explanation = None;
        let mut matched = None;
        for (position, condition) in self.conditions().iter().enumerate() {
            for Read { path, value, .. } in condition.reads(context) {
                reads.insert(path, value.unwrap_or_default());
            }
            let explained = condition.explain(context);
            let outcome = explained.outcome.clone();
            explanation = serde_json::from_str(&explained.to_json()).ok();
            match outcome {
                Err(error) => return CaseResult::failed(&error, explanation, reads),
                Ok(true) => {
                    matched = Some(position);
                    break;
                }
                Ok(false) => {}
            }
        }
        let outcome = match self {
            Self::One(_) | Self::First(_) => matched.is_some(),
            Self::Gate(gate) => match gate.passes(context) {
                Ok(passes) => passes,
                Err(error) => return CaseResult::failed(&error, explanation, reads),
            },
        };
        let matched = matched.filter(|_| matches!(self, Self::First(_)));
        CaseResult { outcome: Some(outcome), error: None, explanation, matched, reads }
    }
}

impl CaseResult {
    fn failed(error: &EvalError, explanation: Option<JsonValue>, reads: Object) -> Self {
        let error = CaseError { kind: error.kind.as_str().to_owned(), message: error.message.clone() };
        Self { outcome: None, error: Some(error), explanation, matched: None, reads }
    }
}
