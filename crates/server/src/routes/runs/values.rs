//! Whole values of steps in parts, and decisions as conditions to try out.

use axum::Json;
use axum::extract::State;
use branchpoint_backend::RunTrace;
use branchpoint_core::ir::Index as _;
use branchpoint_core::{BranchRecord, DecisionRecord, Redact as _};
use branchpoint_expr::{Object, Value};
use branchpoint_runners::{Secrets, Untruncated};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::readable;
use super::trace::index_of;
use crate::app::App;
use crate::body::{Path, Query};
use crate::caller::Caller;
use crate::problem::Problem;
use crate::routes::eval::{Spelling, spelling_of};

/// The default number of bytes of a part of a value.
const DEFAULT_BYTES: usize = 64 * 1024;

/// The most bytes of a part of a value.
const MAX_BYTES: usize = 1024 * 1024;

/// Which part of a value.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct ValueRequest {
    /// The first byte, the `next` of the part before.
    #[serde(default)]
    #[param(minimum = 0, maximum = 2_147_483_647)]
    offset: usize,
    /// The most bytes, up to 1 MiB.
    #[param(minimum = 1, maximum = 1_048_576, default = 65536)]
    bytes: Option<usize>,
}

/// A part of a value as text.
#[derive(Serialize, ToSchema)]
pub(super) struct ValueText {
    /// The text: the value itself if it is text, else its JSON.
    text: String,
    /// Whether the value is text.
    is_text: bool,
    /// The first byte of the text.
    offset: usize,
    /// The length of the whole text in bytes.
    total_bytes: usize,
    /// The offset of the next part; null at the end.
    next: Option<usize>,
}

/// Shows the input, the output or the error of a step as text, in parts.
#[utoipa::path(get, path = "/runs/{run}/trace/{step}/values/{part}", tag = "runs", operation_id = "get_step_value",
    params(("run" = String, Path, description = "The id of the run"),
        ("step" = String, Path, description = "The key of the step"),
        ("part" = String, Path, description = "`input`, `output` or `error`"), ValueRequest),
    responses((status = 200, description = "The part", body = ValueText)))]
pub(super) async fn value(
    State(app): State<App>,
    caller: Caller,
    Path((run, step, part)): Path<(String, String, String)>,
    Query(request): Query<ValueRequest>,
) -> Result<Json<ValueText>, Problem> {
    let bytes = match request.bytes.unwrap_or(DEFAULT_BYTES) {
        bytes @ 1..=MAX_BYTES => bytes,
        bytes => return Err(Problem::bad_request(format!("`bytes` is {bytes}, but must be from 1 to {MAX_BYTES}."))),
    };
    let shared = app.clone();
    app.call(move |backend| {
        let (row, _) = readable(&shared, backend, &caller, &run)?;
        let (trace, secrets) = (shared.trace(backend, &row)?, backend.secrets(row.run)?);
        let record = &trace.records[index_of(&trace, &step)?];
        let value = match &*part {
            "input" => &record.input,
            "output" => &record.output,
            "error" => &record.error,
            _ => return Err(Problem::not_found(format!("A step has no `{part}`. Use input, output or error."))),
        };
        let value = value.as_ref().map(|value| Untruncated(&secrets).data(value)).unwrap_or_default();
        Ok(Json(part_of_text(&value, request.offset, bytes)?))
    })
    .await
}

fn part_of_text(value: &Value, offset: usize, bytes: usize) -> Result<ValueText, Problem> {
    let whole = match value {
        Value::Str(text) => text.to_string(),
        value => serde_json::to_string_pretty(value).unwrap_or_default(),
    };
    let begin = |at: usize| (at..=whole.len()).find(|at| whole.is_char_boundary(*at)).unwrap_or(whole.len());
    if offset > whole.len() {
        return Err(Problem::invalid_input(format!("`offset` is {offset}, but the value has {} bytes.", whole.len())));
    }
    let (from, to) = (begin(offset), begin(offset.saturating_add(bytes).min(whole.len())));
    Ok(ValueText {
        text: whole[from..to].to_owned(),
        is_text: matches!(value, Value::Str(_)),
        offset: from,
        total_bytes: whole.len(),
        next: (to < whole.len()).then_some(to),
    })
}

/// Which decision of a step.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct PlaygroundRequest {
    /// The number of the decision among those of the step, counted from 1; the last one if absent.
    #[param(minimum = 1, maximum = 2_147_483_647)]
    decision: Option<usize>,
}

/// A condition of a decision.
#[derive(Serialize, ToSchema)]
struct PlaygroundBranch {
    name: String,
    /// The condition as the document has it; null for a branch without one.
    condition: Option<String>,
    /// How it is written; null if it cannot be evaluated on its own.
    spelling: Option<Spelling>,
    /// Whether the decision chose this branch.
    chosen: bool,
}

/// A decision as conditions and a context, to evaluate again with `POST /eval`.
#[derive(Serialize, ToSchema)]
pub(super) struct PlaygroundDecision {
    step: String,
    /// The number of the decision among those of the step, counted from 1.
    number: usize,
    dialect: String,
    /// The branches in order.
    branches: Vec<PlaygroundBranch>,
    /// The values that the conditions read, in their places.
    #[schema(value_type = Object)]
    context: Object,
}

/// Shows a decision as conditions with the values that they read, to try out.
#[utoipa::path(get, path = "/runs/{run}/trace/{step}/playground", tag = "runs", operation_id = "get_decision_to_try",
    params(("run" = String, Path, description = "The id of the run"),
        ("step" = String, Path, description = "The key of the step"), PlaygroundRequest),
    responses((status = 200, description = "The decision", body = PlaygroundDecision)))]
pub(super) async fn playground(
    State(app): State<App>,
    caller: Caller,
    Path((run, step)): Path<(String, String)>,
    Query(request): Query<PlaygroundRequest>,
) -> Result<Json<PlaygroundDecision>, Problem> {
    let shared = app.clone();
    app.call(move |backend| {
        let (row, version) = readable(&shared, backend, &caller, &run)?;
        let (trace, secrets) = (shared.trace(backend, &row)?, backend.secrets(row.run)?);
        let index = index_of(&trace, &step)?;
        let decisions = &trace.records[index].decisions;
        let number = request.decision.unwrap_or(decisions.len());
        let missing = || Problem::not_found(format!("Step `{step}` has no such decision."));
        let decided = number.checked_sub(1).and_then(|at| decisions.get(at)).ok_or_else(missing)?;
        let text = if row.part.is_empty() { backend.document(row.workflow)?.text } else { String::new() };
        let branches = decided.branches.iter().enumerate().map(|(position, branch)| {
            let condition = condition_of(&trace, (decided, position), branch, &text);
            PlaygroundBranch {
                name: secrets.mask(&branch.name).into_owned(),
                spelling: condition.as_deref().and_then(|condition| spelling_of(condition, &version.dialect)),
                condition: condition.map(|condition| secrets.mask(&condition).into_owned()),
                chosen: decided.chosen.is_some_and(|chosen| chosen as usize == position),
            }
        });
        Ok(Json(PlaygroundDecision {
            step: trace.step_id(index).to_owned(),
            number,
            dialect: version.dialect.to_string(),
            branches: branches.collect(),
            context: context_of(decided, &secrets),
        }))
    })
    .await
}

/// The text of the condition of a branch: its part of the document, else its form in words.
fn condition_of(
    trace: &RunTrace,
    (decided, position): (&DecisionRecord, usize),
    branch: &BranchRecord,
    text: &str,
) -> Option<String> {
    let program = &trace.view.program;
    let condition = program.decisions.get(decided.decision?.index())?.branches.get(position)?.condition?;
    let span = program.conditions[condition.index()].span();
    let source = span.text(text);
    if source.is_empty() {
        return branch.text.as_ref().map(ToString::to_string);
    }
    let source = dedented(source, span.line_column(text).1);
    // A list of targets belongs to a key of its step.
    let is_list = source.starts_with('[') || source.starts_with("- ");
    Some(if is_list { format!("conditions:\n  {}", source.replace('\n', "\n  ")) } else { source })
}

/// A block of a document without the indentation of its place, so that it can be read on its own.
fn dedented(source: &str, column: usize) -> String {
    let mut lines = source.trim_end().lines();
    let mut text = lines.next().unwrap_or_default().to_owned();
    for line in lines {
        let indentation = line.len() - line.trim_start_matches(' ').len();
        text.push('\n');
        text.push_str(&line[indentation.min(column.saturating_sub(1))..]);
    }
    text
}

/// The values that the conditions of a decision read, in their places in an object.
fn context_of(decided: &DecisionRecord, secrets: &Secrets) -> Object {
    let mut context = Value::from(Object::default());
    for read in &decided.reads {
        if let (Some(value), Some(keys)) = (&read.value, keys_of(&read.path)) {
            insert_at(&mut context, &keys, Untruncated(secrets).data(value));
        }
    }
    match context {
        Value::Object(fields) => fields.into_parts(),
        _ => Object::default(),
    }
}

/// A part of a path.
enum Key {
    Field(String),
    Index(usize),
}

/// The largest index of a list in a path that a context is built for.
const MAX_INDEX: usize = 10_000;

/// The parts of a path such as `step.score.output["a b"][0]`; none if it has another form.
fn keys_of(path: &str) -> Option<Vec<Key>> {
    let end = path.find(['.', '[']).unwrap_or(path.len());
    let mut keys = vec![Key::Field(path[..end].to_owned())];
    let mut rest = &path[end..];
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix('.') {
            let end = after.find(['.', '[']).unwrap_or(after.len());
            keys.push(Key::Field(after[..end].to_owned()));
            rest = &after[end..];
        } else {
            let (inside, after) = rest.strip_prefix('[')?.split_once(']')?;
            keys.push(match inside.parse() {
                Ok(index) if index <= MAX_INDEX => Key::Index(index),
                Ok(_) => return None,
                Err(_) => Key::Field(serde_json::from_str(&inside.replace('\'', "\"")).ok()?),
            });
            rest = after;
        }
    }
    Some(keys)
}

/// Puts a value at a place. A value that is there already and contains the place stays.
fn insert_at(target: &mut Value, keys: &[Key], value: Value) {
    let Some((key, rest)) = keys.split_first() else {
        *target = value;
        return;
    };
    match key {
        Key::Field(name) => {
            let mut fields = target.as_object().cloned().unwrap_or_default();
            let mut inner = fields.get(&**name).cloned().unwrap_or_default();
            insert_at(&mut inner, rest, value);
            fields.insert(name.as_str().into(), inner);
            *target = Value::from(fields);
        }
        Key::Index(index) => {
            let mut items = target.as_list().unwrap_or_default().to_vec();
            items.resize(items.len().max(index + 1), Value::Null);
            insert_at(&mut items[*index], rest, value);
            *target = Value::from(items);
        }
    }
}

#[cfg(test)]
mod tests {
    use branchpoint_expr::Value;

    use super::{dedented, insert_at, keys_of, part_of_text};

    #[test]
    fn values_are_put_in_their_places() {
        let mut context = Value::Null;
        for (path, value) in [("step.a.output", 1), ("step.b[1]", 2), ("step[\"c d\"].e", 3)] {
            insert_at(&mut context, &keys_of(path).unwrap(), Value::Int(value));
        }
        let expect = r#"{"step":{"a":{"output":1},"b":[null,2],"c d":{"e":3}}}"#;
        assert_eq!(serde_json::to_string(&context).unwrap(), expect);
        assert!(keys_of("a[99999999]").is_none());
    }

    #[test]
    fn long_values_are_cut_between_characters() {
        let value = Value::from("aäb");
        let first = part_of_text(&value, 0, 2).unwrap();
        assert_eq!((&*first.text, first.next, first.total_bytes), ("aä", Some(3), 4));
        assert_eq!(part_of_text(&value, 3, 9).unwrap().text, "b");
        assert!(part_of_text(&value, 5, 1).is_err());
    }

    #[test]
    fn blocks_lose_the_indentation_of_their_place() {
        assert_eq!(dedented("any:\n      - a\n      - b", 5), "any:\n  - a\n  - b");
    }
}
