//! Edits of documents as a canvas makes them, and the types of steps that it can add.

mod operation;

use axum::Json;
use axum::extract::State;
use branchpoint_dialects::{EditError, Edited, edit, palette};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::documents::optional_dialect;
use crate::app::App;
use crate::body::{Body, Path};
use crate::caller::{Action, Caller};
use crate::documents::{Source, dialect_named, unknown_dialect};
use crate::drawing::Drawing;
use crate::findings::Checked;
use crate::problem::{Problem, ProblemKind};
use operation::OperationRequest;

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(edit_document)).routes(routes!(palette_of))
}

/// A document and an operation.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct EditRequest {
    /// The document.
    text: String,
    /// The name under which it will be saved. A call of this name is circular.
    #[serde(default)]
    name: Option<String>,
    /// The dialect, `steps` or `graph`; detected by the content if absent.
    #[serde(default)]
    dialect: Option<String>,
    operation: OperationRequest,
    /// Whether each node of the drawing has the fields of its step.
    #[serde(default)]
    with_fields: bool,
}

/// The result of an edit. Nothing is saved.
#[derive(Serialize, ToSchema)]
struct EditResult {
    /// The edits of the text, in its order. They keep comments, order and notation of everything else.
    #[schema(value_type = Vec<crate::schemas::TextEdit>)]
    edits: Vec<EditRecord>,
    /// The text with the edits.
    text: String,
    /// The step to select.
    selected: Option<String>,
    /// The references that the edit changed, or that name a step that it removed.
    affected: Vec<AffectedRecord>,
    /// The steps that it removed, with those inside of them.
    removed: Vec<String>,
    /// The drawing of the new document; null if it cannot be drawn.
    drawing: Option<Drawing>,
    /// The findings about the new document, as from `/check`.
    #[schema(value_type = Vec<crate::schemas::Diagnostic>)]
    diagnostics: Vec<Value>,
}

/// The replacement of a range of bytes.
#[derive(Serialize)]
struct EditRecord {
    start: usize,
    end: usize,
    text: String,
}

/// A place that refers to a step.
#[derive(Serialize, ToSchema)]
struct AffectedRecord {
    /// The step with the reference; null for the document.
    step: Option<String>,
    /// The path of the field in the step, such as `elif[0].if`.
    field: String,
    /// The step that it names.
    names: String,
    /// The line, counted from 1: in the new text, or in the old one if the edit removes the reference.
    line: u32,
}

/// Edits a document as a canvas does: the source is edited, never written anew.
///
/// A rejected operation is a problem of the kind `edit_rejected`. Its `code` is `unsupported_dialect`, `unsupported_operation`,
/// `unknown_step`, `unknown_branch`, `unknown_type`, `unknown_connection`, `invalid_position`, `into_itself`, `invalid_id`,
/// `duplicate_id`, `has_children`, `invalid_path`, `invalid_fragment`, `invalid_connection`, `duplicate_connection`, `invalid_text` or
/// `unsupported_notation`; `finding` is the rule of the dialect that a connection breaks.
#[utoipa::path(post, path = "/edit", tag = "documents", operation_id = "edit_document", request_body = EditRequest,
    responses((status = 200, description = "The edits", body = EditResult)))]
async fn edit_document(
    State(app): State<App>,
    caller: Caller,
    Body(request): Body<EditRequest>,
) -> Result<Json<EditResult>, Problem> {
    caller.may_on_some(Action::Try)?;
    let dialect = optional_dialect(request.dialect.as_deref())?;
    let operation = request.operation.operation()?;
    let shared = app.clone();
    app.call(move |backend| {
        let Edited { edits, text, selected, affected, removed } =
            edit(&request.text, dialect, &operation).map_err(|error| rejection(&error))?;
        let checked = Checked::new(
            &shared,
            backend,
            Source { text: &text, name: request.name.as_deref(), dialect, author: Some(&caller) },
        )?;
        let edit =
            |edit: branchpoint_dialects::TextEdit| EditRecord { start: edit.start, end: edit.end, text: edit.text };
        let affected = affected.into_iter().map(|one| AffectedRecord {
            step: one.step,
            field: one.field,
            names: one.names,
            line: one.line,
        });
        let drawing = checked.drawing(&text);
        Ok(Json(EditResult {
            edits: edits.into_iter().map(edit).collect(),
            selected,
            affected: affected.collect(),
            removed,
            drawing: drawing.map(|drawing| if request.with_fields { drawing.with_fields(&text) } else { drawing }),
            diagnostics: checked.rendered(&text, request.name.as_deref()),
            text,
        }))
    })
    .await
}

fn rejection(error: &EditError) -> Problem {
    let problem = Problem::new(ProblemKind::EditRejected, error.to_string()).with("code", error.kind.as_str());
    match error.finding {
        Some(finding) => problem.with("finding", finding),
        None => problem,
    }
}

/// A type of step that can be added.
#[derive(Serialize, ToSchema)]
struct PaletteEntry {
    /// Its name in documents.
    kind: &'static str,
    /// Its name for people.
    title: String,
    /// The group in which it is listed.
    group: &'static str,
    /// What it does, in one line.
    about: &'static str,
    /// The path from the object of the step to the object with its fields; `["data"]` in graphs.
    #[schema(value_type = Vec<String>)]
    path: &'static [&'static str],
    /// The JSON Schema of its fields. References in it are those of `/schema/{dialect}`.
    #[schema(value_type = Object)]
    fields: Value,
    /// A minimal example as JSON.
    fragment: String,
    /// The branches or handles of the example.
    branches: Vec<&'static str>,
}

/// Lists the types of steps that can be added to documents of a dialect. The list is empty for dialects that are edited as text.
#[utoipa::path(get, path = "/palette/{dialect}", tag = "documents", operation_id = "get_palette",
    params(("dialect" = String, Path, description = "The dialect")),
    responses((status = 200, description = "The types", body = Vec<PaletteEntry>)))]
async fn palette_of(caller: Caller, Path(dialect): Path<String>) -> Result<Json<Vec<PaletteEntry>>, Problem> {
    caller.may_on_some(Action::Try)?;
    let dialect = dialect_named(&dialect).ok_or_else(|| Problem::not_found(unknown_dialect(&dialect)))?;
    let entries = palette(dialect).into_iter().map(|entry| PaletteEntry {
        kind: entry.kind,
        title: entry.title,
        group: entry.group,
        about: entry.about,
        path: entry.path,
        fields: entry.fields,
        fragment: entry.fragment,
        branches: entry.branches,
    });
    Ok(Json(entries.collect()))
}
