//! Tools for documents that are not saved: checks, formatting, drawings, schemas and templates.

use axum::Json;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use branchpoint_core::ir::Program;
use branchpoint_dialects::{format, schema, unserved_trigger};
use branchpoint_expr::{Diagnostic, Dialect, Severity, render_json};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::body::{Body, Path};
use crate::caller::{Action, Caller};
use crate::documents::{Source, dialect_named, load};
use crate::drawing::{Drawing, draw};
use crate::problem::Problem;
use crate::structure::{InputDeclaration, Structure, inputs_of, structure_of};

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(check))
        .routes(routes!(format_document))
        .routes(routes!(draw_document))
        .routes(routes!(schema_of))
        .routes(routes!(templates))
}

/// A document that is not saved.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct DocumentRequest {
    /// The document.
    text: String,
    /// The name under which it will be saved. A call of this name is circular.
    #[serde(default)]
    name: Option<String>,
    /// The dialect; detected by the content if absent.
    #[serde(default)]
    dialect: Option<String>,
}

impl DocumentRequest {
    fn dialect(&self) -> Result<Option<Dialect>, Problem> {
        self.dialect.as_deref().filter(|name| !name.is_empty()).map(known_dialect).transpose()
    }
}

fn known_dialect(name: &str) -> Result<Dialect, Problem> {
    dialect_named(name).ok_or_else(|| {
        let known = Dialect::ALL.map(Dialect::as_str).join(", ");
        Problem::invalid_input(format!("`{name}` is not a dialect. The dialects are {known}."))
    })
}

/// The findings about a document.
#[derive(Serialize, ToSchema)]
struct CheckResult {
    dialect: Option<String>,
    /// The findings in the order of the text: `{kind, severity, message, help, line, column, start, end, text, step, fixes}`. `start` and
    /// `end` count bytes. A fix is `{title, edits}`, an edit `{start, end, text}`.
    #[schema(value_type = Vec<crate::schemas::Diagnostic>)]
    diagnostics: Vec<Value>,
    /// Whether there are no errors.
    ok: bool,
    structure: Option<Structure>,
    inputs: Vec<InputDeclaration>,
}

/// Checks a document without saving it.
#[utoipa::path(post, path = "/check", tag = "documents", operation_id = "check_document", request_body = DocumentRequest,
    responses((status = 200, description = "The findings", body = CheckResult)))]
async fn check(
    State(app): State<App>,
    caller: Caller,
    Body(request): Body<DocumentRequest>,
) -> Result<Json<CheckResult>, Problem> {
    caller.may_on_some(Action::Try)?;
    let dialect = request.dialect()?;
    let shared = app.clone();
    app.call(move |backend| {
        let text = &request.text;
        let loaded = load(backend, Source { text, name: request.name.as_deref(), dialect })?;
        let ok = loaded.program.is_some();
        let mut findings = loaded.diagnostics;
        if let Some(program) = &loaded.program {
            findings.extend((shared.host.runner_check)(program, text));
            findings.extend(unserved_trigger(text));
            findings.sort_by_key(|finding| finding.span.start);
        }
        Ok(Json(CheckResult {
            dialect: loaded.dialect.map(|dialect| dialect.as_str().to_owned()),
            diagnostics: rendered(&findings, text, request.name.as_deref(), loaded.program.as_ref()),
            ok,
            structure: loaded.program.as_ref().map(structure_of),
            inputs: loaded.program.as_ref().map(inputs_of).unwrap_or_default(),
        }))
    })
    .await
}

/// Findings as JSON, with the step in which each is and the edits that fix it.
fn rendered(findings: &[Diagnostic], text: &str, name: Option<&str>, program: Option<&Program>) -> Vec<Value> {
    let Value::Array(mut rendered) = render_json(findings, text, name.unwrap_or("document")) else { return Vec::new() };
    for (finding, rendered) in findings.iter().zip(&mut rendered) {
        rendered["step"] = step_at(program, finding).map_or(Value::Null, Value::from);
        rendered["fixes"] = Value::from(fixes(finding, text));
    }
    rendered
}

/// The innermost step around a finding.
fn step_at(program: Option<&Program>, finding: &Diagnostic) -> Option<String> {
    let encloses = |(start, end): (u32, u32)| start <= finding.span.start && finding.span.end <= end && start < end;
    let steps = program?.steps.iter().filter(|step| encloses(step.origin));
    steps.min_by_key(|step| step.origin.1 - step.origin.0).map(|step| step.id.to_string())
}

/// The edits that the help of a finding suggests: `did you mean X?` and ``write `X` ``.
fn fixes(finding: &Diagnostic, text: &str) -> Vec<Value> {
    let Some(help) = &finding.help else { return Vec::new() };
    let suggested = ["did you mean `", "write `"].iter().find_map(|start| {
        let rest = &help[help.find(start)? + start.len()..];
        rest.split_once('`').map(|(suggested, _)| suggested)
    });
    let Some(suggested) = suggested else { return Vec::new() };
    let span = finding.span.text(text);
    // The span may be a whole expression of which one word is wrong.
    let wrong =
        if is_word(span) && finding.severity == Severity::Error { Some(span) } else { quoted(&finding.message) };
    let Some(offset) = wrong.and_then(|wrong| only_place(span, wrong).map(|at| (at, wrong))) else { return Vec::new() };
    let start = finding.span.start as usize + offset.0;
    let edit = json!({"start": start, "end": start + offset.1.len(), "text": suggested});
    vec![json!({"title": format!("Replace with `{suggested}`"), "edits": [edit]})]
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || "_-.$".contains(c))
}

/// The first text in backquotes.
fn quoted(message: &str) -> Option<&str> {
    message.split('`').nth(1).filter(|text| is_word(text))
}

/// The place of a word in a text, if it occurs there once.
fn only_place(text: &str, word: &str) -> Option<usize> {
    let mut places = text.match_indices(word);
    let first = places.next()?.0;
    places.next().is_none().then_some(first)
}

/// A formatted document.
#[derive(Serialize, ToSchema)]
struct Formatted {
    text: String,
    /// Whether formatting changed the text.
    changed: bool,
}

/// Formats a document. Comments are kept.
#[utoipa::path(post, path = "/format", tag = "documents", operation_id = "format_document", request_body = DocumentRequest,
    responses((status = 200, description = "The formatted document", body = Formatted)))]
async fn format_document(
    State(app): State<App>,
    caller: Caller,
    Body(request): Body<DocumentRequest>,
) -> Result<Json<Formatted>, Problem> {
    caller.may_on_some(Action::Try)?;
    let dialect = request.dialect()?;
    app.compute(move || {
        let formatted = format(&request.text, dialect);
        let name = request.name.as_deref().unwrap_or("document");
        let text = formatted.map_err(|findings| Problem::invalid_document(&findings, &request.text, name))?;
        Ok(Json(Formatted { changed: text != request.text, text }))
    })
    .await
}

/// Draws a document without saving it.
#[utoipa::path(post, path = "/drawing", tag = "documents", operation_id = "draw_document", request_body = DocumentRequest,
    responses((status = 200, description = "The drawing", body = Drawing)))]
async fn draw_document(
    State(app): State<App>,
    caller: Caller,
    Body(request): Body<DocumentRequest>,
) -> Result<Json<Drawing>, Problem> {
    caller.may_on_some(Action::Try)?;
    let dialect = request.dialect()?;
    app.call(move |backend| {
        let text = &request.text;
        let loaded = load(backend, Source { text, name: request.name.as_deref(), dialect })?;
        let name = request.name.as_deref().unwrap_or("document");
        let invalid = || Problem::invalid_document(&loaded.diagnostics, text, name);
        let program = loaded.program.as_ref().ok_or_else(invalid)?;
        let dialect = loaded.dialect.map(Dialect::as_str).unwrap_or_default();
        Ok(Json(draw(program, text, dialect)))
    })
    .await
}

/// Shows the JSON Schema of a dialect.
#[utoipa::path(get, path = "/schema/{dialect}", tag = "documents", operation_id = "get_schema",
    params(("dialect" = String, Path, description = "The dialect")),
    responses((status = 200, description = "The schema", body = Object, content_type = "application/schema+json")))]
async fn schema_of(caller: Caller, Path(dialect): Path<String>) -> Result<Response, Problem> {
    caller.may_on_some(Action::Try)?;
    let dialect =
        dialect_named(&dialect).ok_or_else(|| Problem::not_found(format!("`{dialect}` is not a dialect.")))?;
    Ok(([(header::CONTENT_TYPE, "application/schema+json")], schema(dialect)).into_response())
}

/// A workflow that people start from.
#[derive(Serialize, ToSchema)]
struct TemplateRecord {
    name: String,
    title: String,
    dialect: String,
    description: String,
    /// The document, named after the template.
    text: String,
    /// Answers for its calls and approvals, as YAML.
    script: Option<String>,
    /// Inputs for a run.
    #[schema(value_type = Option<Object>)]
    inputs: Option<Value>,
}

/// Lists workflows that people start from. Their scripts answer all calls, so they run without a key.
#[utoipa::path(get, path = "/templates", tag = "documents", operation_id = "list_templates",
    responses((status = 200, description = "The templates", body = Vec<TemplateRecord>)))]
async fn templates(State(app): State<App>, caller: Caller) -> Result<Json<Vec<TemplateRecord>>, Problem> {
    caller.may_on_some(Action::Try)?;
    let templates = (app.content.templates)().into_iter().map(|template| TemplateRecord {
        name: template.name.to_owned(),
        title: template.name.to_owned(),
        dialect: template.dialect.to_owned(),
        description: template.title.to_owned(),
        text: template.text.replace("NAME", template.name),
        script: (!template.script.is_empty()).then(|| template.script.to_owned()),
        inputs: serde_json::from_str::<Value>(template.inputs).ok().filter(Value::is_object),
    });
    Ok(Json(templates.collect()))
}
