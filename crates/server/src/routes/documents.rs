//! Tools for documents that are not saved: checks, formatting, drawings, schemas and templates.

use axum::Json;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use branchpoint_dialects::{format, schema};
use branchpoint_expr::Dialect;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::body::{Body, Path};
use crate::caller::{Action, Caller};
use crate::documents::{Source, dialect_named, unknown_dialect};
use crate::drawing::Drawing;
use crate::findings::Checked;
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
        optional_dialect(self.dialect.as_deref())
    }
}

/// The dialect that a request names, if it does.
pub(super) fn optional_dialect(name: Option<&str>) -> Result<Option<Dialect>, Problem> {
    name.filter(|name| !name.is_empty()).map(known_dialect).transpose()
}

fn known_dialect(name: &str) -> Result<Dialect, Problem> {
    dialect_named(name).ok_or_else(|| Problem::invalid_input(unknown_dialect(name)))
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
        let checked = Checked::new(
            &shared,
            backend,
            Source { text, name: request.name.as_deref(), dialect, author: Some(&caller) },
        )?;
        let program = checked.loaded.program.as_ref();
        Ok(Json(CheckResult {
            dialect: checked.loaded.dialect.map(|dialect| dialect.as_str().to_owned()),
            diagnostics: checked.rendered(text, request.name.as_deref()),
            ok: program.is_some(),
            structure: program.map(structure_of),
            inputs: program.map(inputs_of).unwrap_or_default(),
        }))
    })
    .await
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

/// A document to draw.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct DrawingRequest {
    /// The document.
    text: String,
    /// The name under which it will be saved. A call of this name is circular.
    #[serde(default)]
    name: Option<String>,
    /// The dialect; detected by the content if absent.
    #[serde(default)]
    dialect: Option<String>,
    /// Whether each node has the fields of its step.
    #[serde(default)]
    with_fields: bool,
}

/// Draws a document without saving it. Documents of the dialects that can be edited on a canvas are drawn even if they have errors.
#[utoipa::path(post, path = "/drawing", tag = "documents", operation_id = "draw_document", request_body = DrawingRequest,
    responses((status = 200, description = "The drawing", body = Drawing)))]
async fn draw_document(
    State(app): State<App>,
    caller: Caller,
    Body(request): Body<DrawingRequest>,
) -> Result<Json<Drawing>, Problem> {
    caller.may_on_some(Action::Try)?;
    let dialect = optional_dialect(request.dialect.as_deref())?;
    let shared = app.clone();
    app.call(move |backend| {
        let (text, name) = (&request.text, request.name.as_deref());
        let checked = Checked::new(&shared, backend, Source { text, name, dialect, author: Some(&caller) })?;
        let drawing = checked.drawing(text).ok_or_else(|| checked.problem(text, name))?;
        Ok(Json(if request.with_fields { drawing.with_fields(text) } else { drawing }))
    })
    .await
}

/// Shows the JSON Schema of a dialect.
#[utoipa::path(get, path = "/schema/{dialect}", tag = "documents", operation_id = "get_schema",
    params(("dialect" = String, Path, description = "The dialect")),
    responses((status = 200, description = "The schema", body = Object, content_type = "application/schema+json")))]
async fn schema_of(caller: Caller, Path(dialect): Path<String>) -> Result<Response, Problem> {
    caller.may_on_some(Action::Try)?;
    let dialect = dialect_named(&dialect).ok_or_else(|| Problem::not_found(unknown_dialect(&dialect)))?;
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
