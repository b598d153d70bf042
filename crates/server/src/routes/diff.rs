//! Differences between versions of a workflow, or between texts, by meaning.

use axum::Json;
use axum::extract::State;
use branchpoint_backend::Backend;
use branchpoint_dialects::{Change, ChangeLines, ChangesError, Group, changes};
use branchpoint_expr::{Dialect, Value};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::documents::optional_dialect;
use super::workflows::readable;
use crate::app::App;
use crate::body::{Body, Path, Query};
use crate::caller::{Action, Caller};
use crate::documents::{Source, dialect_named, load};
use crate::drawing::{Drawing, Marks, draw_compared};
use crate::problem::{Problem, ProblemKind};

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(diff_versions)).routes(routes!(diff_texts))
}

/// The differences between two documents.
#[derive(Serialize, ToSchema)]
struct Diff {
    /// The changes by meaning, grouped; empty if both documents mean the same.
    changes: Vec<ChangeRecord>,
    /// The new document with the nodes and edges that only the old one has; null if one of them cannot be drawn.
    drawing: Option<Drawing>,
    /// How nodes of the drawing differ from the old document, by id. Other nodes are the same.
    #[schema(value_type = BTreeMap<String, crate::schemas::DiffMark>)]
    marks: Marks,
    /// How edges of the drawing differ, by id.
    #[schema(value_type = BTreeMap<String, crate::schemas::DiffMark>)]
    edge_marks: Marks,
}

/// A change by meaning.
#[derive(Serialize, ToSchema)]
struct ChangeRecord {
    /// Where a summary lists it.
    #[schema(value_type = crate::schemas::DiffGroup)]
    group: &'static str,
    /// `added`, `removed`, `changed`, `moved` or `renamed`.
    #[schema(value_type = crate::schemas::DiffKind)]
    kind: &'static str,
    /// What the changed field is about: `condition`, `approvers`, `prompt`, `limit`, `retry`, `policy`, `input`, `setting` or `step`.
    aspect: &'static str,
    /// The step in the new document, or in the old one if it was removed; null for the document.
    step: Option<String>,
    step_type: Option<String>,
    /// The earlier id of a renamed step.
    was: Option<String>,
    /// The path of the field, such as `transitions[1].when`.
    field: Option<String>,
    /// The value in the old document, as text.
    before: Option<String>,
    /// The value in the new document, as text.
    after: Option<String>,
    /// What happened, without the name of the step.
    sentence: String,
    /// The line in the old document, counted from 1.
    line_from: Option<usize>,
    /// The line in the new document.
    line_to: Option<usize>,
}

/// Two versions.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct VersionsRequest {
    /// The old version.
    #[param(minimum = 1)]
    from: u32,
    /// The new version.
    #[param(minimum = 1)]
    to: u32,
}

/// Compares two versions of a workflow by meaning.
#[utoipa::path(get, path = "/workflows/{name}/diff", tag = "workflows", operation_id = "diff_versions",
    params(("name" = String, Path, description = "The name of the workflow"), VersionsRequest),
    responses((status = 200, description = "The changes", body = Diff)))]
async fn diff_versions(
    State(app): State<App>,
    caller: Caller,
    Path(name): Path<String>,
    Query(request): Query<VersionsRequest>,
) -> Result<Json<Diff>, Problem> {
    let shared = app.clone();
    app.call(move |backend| {
        let text = |version: u32| -> Result<(String, String), Problem> {
            let version = readable(&shared, backend, &caller, &name, Some(version))?;
            Ok((backend.document(version.workflow)?.text, version.dialect.to_string()))
        };
        let ((old, _), (new, dialect)) = (text(request.from)?, text(request.to)?);
        diff(backend, [&old, &new], dialect_named(&dialect), Some(&name)).map(Json)
    })
    .await
}

/// Two documents: the new one as text, the old one as text or as a version of a workflow.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct TextsRequest {
    /// The new document.
    text: String,
    /// The old document; without it, that of the workflow `name`.
    #[serde(default)]
    old: Option<String>,
    /// A workflow.
    #[serde(default)]
    name: Option<String>,
    /// The version of the workflow; the latest if absent.
    #[serde(default)]
    from: Option<u32>,
    /// The dialect; detected by the content if absent.
    #[serde(default)]
    dialect: Option<String>,
}

/// Compares two documents by meaning.
#[utoipa::path(post, path = "/diff", tag = "documents", operation_id = "diff_documents", request_body = TextsRequest,
    responses((status = 200, description = "The changes", body = Diff)))]
async fn diff_texts(
    State(app): State<App>,
    caller: Caller,
    Body(request): Body<TextsRequest>,
) -> Result<Json<Diff>, Problem> {
    caller.may_on_some(Action::Try)?;
    let dialect = optional_dialect(request.dialect.as_deref())?;
    let shared = app.clone();
    app.call(move |backend| {
        let (old, stored) = match (request.old, &request.name) {
            (Some(old), _) => (old, None),
            (None, Some(name)) => {
                let version = readable(&shared, backend, &caller, name, request.from)?;
                (backend.document(version.workflow)?.text, dialect_named(&version.dialect))
            }
            (None, None) => {
                return Err(Problem::invalid_input("Send the old document as `old`, or a workflow as `name`."));
            }
        };
        diff(backend, [&old, &request.text], dialect.or(stored), request.name.as_deref()).map(Json)
    })
    .await
}

/// The largest document that is compared, in bytes: comparing takes longer than loading.
const MAX_BYTES: usize = 512 * 1024;

fn check_size(text: &str, name: &str) -> Result<(), Problem> {
    if text.len() <= MAX_BYTES {
        return Ok(());
    }
    let detail = format!(
        "The {name} document has {} bytes. Only documents of at most {MAX_BYTES} bytes are compared.",
        text.len()
    );
    Err(Problem::new(ProblemKind::TooLarge, detail).with("limit", MAX_BYTES))
}

fn diff(
    backend: &dyn Backend,
    [old, new]: [&str; 2],
    dialect: Option<Dialect>,
    name: Option<&str>,
) -> Result<Diff, Problem> {
    check_size(old, "old")?;
    check_size(new, "new")?;
    let changes = changes(old, new, dialect).map_err(|error| match &error {
        ChangesError::OldInvalid(findings) => Problem::invalid_document(findings, old, "the old document"),
        ChangesError::NewInvalid(findings) => Problem::invalid_document(findings, new, "the new document"),
        ChangesError::OtherDialect(..) => Problem::invalid_input(format!("{error}.")),
    })?;
    let loaded = [old, new].map(|text| load(backend, Source { text, name, dialect, author: None }));
    let [old_loaded, new_loaded] = loaded;
    let (old_loaded, new_loaded) = (old_loaded?, new_loaded?);
    let dialect = new_loaded.dialect.or(dialect).unwrap_or(Dialect::Steps);
    let lines = ChangeLines::new(old, new, dialect);
    let records = changes.list.iter().map(|change| record(change, &lines)).collect();
    let programs = old_loaded.program.zip(new_loaded.program);
    let drawn = programs.map(|(before, after)| draw_compared(&changes, [(&before, old), (&after, new)], dialect));
    let (drawing, marks, edge_marks) = match drawn {
        Some((drawing, marks, edge_marks)) => (Some(drawing), marks, edge_marks),
        None => (None, Marks::new(), Marks::new()),
    };
    Ok(Diff { changes: records, drawing, marks, edge_marks })
}

fn record(change: &Change, lines: &ChangeLines<'_>) -> ChangeRecord {
    let (line_from, line_to) = lines.of(change);
    let text = |value: &Option<Value>| value.as_ref().map(ToString::to_string);
    let owned = |text: &Option<std::sync::Arc<str>>| text.as_ref().map(ToString::to_string);
    ChangeRecord {
        // The page has no group of its own for inputs.
        group: if change.group == Group::Inputs { "other" } else { change.group.as_str() },
        kind: change.kind.as_str(),
        aspect: change.aspect.as_str(),
        step: owned(&change.step),
        step_type: owned(&change.step_type),
        was: owned(&change.was),
        field: change.field.clone(),
        before: text(&change.before),
        after: text(&change.after),
        sentence: change.sentence(),
        line_from,
        line_to,
    }
}
