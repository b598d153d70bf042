//! The request of an effect: the fields of its step with their defaults, and the paths of secrets in them.

use std::sync::Arc;

use branchpoint_core::effect::{self, Kind, PathKey, SecretForm, SecretText};
use branchpoint_core::shell;
use branchpoint_expr::{Form, Located, Shape, Span, Value};

use super::tree::Step;
use super::types::{COMMON, implied};
use crate::fields::{Content, Field, Type, names};
use crate::lowering::located_object;
use crate::secrets;

/// The fields of an effect's input.
#[derive(Debug, Default)]
pub(super) struct Request {
    /// Name, form and text of each.
    pub(super) fields: Vec<(Arc<str>, Form, Located)>,
    /// The paths of texts that name secrets.
    pub(super) secrets: Vec<SecretText>,
    /// Fields whose values are computed, and their types.
    computed: Vec<(Arc<str>, Type)>,
}

/// Fields that are not sent, because other parts of the effect are built from them.
const NOT_SENT: [&str; 10] = [
    "attachment_rules",
    "timeout",
    "retry",
    "on_error",
    "output_schema",
    "expect_status",
    "stop_when",
    "target_step_id",
    "max_output",
    "truncate",
];

impl Request {
    pub(super) fn of(step: &Step<'_>, kind: Kind) -> Self {
        let mut request = Self::default();
        let own = step.located.fields().iter().filter(|field| {
            let name = &&*field.key;
            names(&[COMMON]).all(|common| common != *name) && !NOT_SENT.contains(name) && !field.value.is_null()
        });
        for field in own {
            let known = step.kind.field(&field.key);
            let newer = known.filter(|known| known.is_alias).and_then(|known| known.replaces);
            let (name, form) = (newer.map_or_else(|| field.key.clone(), Arc::from), form_of(known));
            if !request.fields.iter().any(|(known, ..)| *known == name) {
                let path = [PathKey::Field(name.clone())];
                let value = match known.map(|known| known.content) {
                    Some(Content::Fixed) => field.value.clone(),
                    Some(Content::Json) => request.split_secrets(&parsed(&field.value), &path),
                    _ => request.split_secrets(&field.value, &path),
                };
                if let Some(known) = known.filter(|_| field.value.text().is_some()) {
                    request.computed.push((name.clone(), known.ty));
                }
                request.fields.push((name, form, value));
            }
        }
        request.add_defaults(step);
        // A secret must be one word of the command for the shell.
        if step.is("command") && step.get("argv").is_none() {
            let command = PathKey::from("command");
            for secret in request.secrets.iter_mut().filter(|secret| secret.at.first() == Some(&command)) {
                secret.form = SecretForm::ShellWord;
            }
        }
        if kind != Kind::Scripted {
            request.rename(step, kind);
        }
        request
    }

    /// Formulas that check the types of computed fields in the object `p`, one after the other. A missing value renders as empty
    /// text, which is an absent field.
    pub(super) fn checks(&self) -> Vec<String> {
        let given = self.computed.iter().filter(|(name, _)| self.fields.iter().any(|(field, ..)| field == name));
        let check = |(name, ty): &(Arc<str>, Type)| {
            let (ty, bounds) = match ty {
                Type::Flag => ("boolean", String::new()),
                Type::Number(..) => ("number", String::new()),
                Type::Int(low, high) => ("integer", format!(", {low}, {high}")),
                Type::List(_) => ("array", String::new()),
                Type::Map(_) => ("object", String::new()),
                _ => return None,
            };
            let value = format!(r#"p.{name} == "" ? nil : p.{name}"#);
            Some(format!(r#"putPath(p, ["{name}"], field({value}, "{ty}", "{name}"{bounds}))"#))
        };
        given.filter_map(check).collect()
    }

    /// Renames the fields to their names in requests of the kind; other fields are omitted.
    fn rename(&mut self, step: &Step<'_>, kind: Kind) {
        let known = effect::Request::fields(kind).unwrap_or_default();
        for (name, form, value) in std::mem::take(&mut self.fields) {
            let name = request_field(step, kind, &name).unwrap_or(&name);
            let is_given = known.contains(&name) && !FIXED.contains(&name);
            if is_given && !self.fields.iter().any(|(given, ..)| **given == *name) {
                let value = if name == "facts" { located_object(step.span(), [("metadata", value)]) } else { value };
                self.fields.push((name.into(), form, value));
            }
        }
        self.secrets.retain_mut(|secret| {
            let Some(PathKey::Field(name)) = secret.at.first().cloned() else { return false };
            let name = request_field(step, kind, &name).unwrap_or(&name);
            let path = [name, "metadata"].into_iter().take(if name == "facts" { 2 } else { 1 });
            secret.at.splice(..1, path.map(PathKey::from));
            known.contains(&name)
        });
    }

    fn add_defaults(&mut self, step: &Step<'_>) {
        let written = step.located.get("step_type").and_then(Located::text).map_or("", |text| &**text);
        let own = implied(written).map(|(name, value)| (name, Form::Text, Value::from(value)));
        for (name, form, value) in own.into_iter().chain(defaults(step.kind.name)) {
            if !self.fields.iter().any(|(known, ..)| &**known == name) {
                self.fields.push((name.into(), form, located(&value, step.span())));
            }
        }
    }

    /// The value with texts that name secrets as lists of parts; records their paths.
    fn split_secrets(&mut self, value: &Located, path: &[PathKey]) -> Located {
        if let Some(parts) = secrets::split(value) {
            self.secrets.push(SecretText::plain(path.to_vec()));
            return parts;
        }
        let below = |key: PathKey| path.iter().cloned().chain([key]).collect::<Vec<_>>();
        let shape = match &value.shape {
            Shape::List(items) => {
                let items = (0..).map(PathKey::Item).zip(items);
                Shape::List(items.map(|(at, item)| self.split_secrets(item, &below(at))).collect())
            }
            Shape::Object(fields) => {
                let split_secrets = |field: &branchpoint_expr::Field| branchpoint_expr::Field {
                    value: self.split_secrets(&field.value, &below(PathKey::Field(field.key.clone()))),
                    ..field.clone()
                };
                Shape::Object(fields.iter().map(split_secrets).collect())
            }
            other => other.clone(),
        };
        Located { shape, span: value.span }
    }
}

/// Fields that only the effect sets.
const FIXED: [&str; 8] = ["task", "program", "since", "uses", "subagent_models", "operation", "workflow", "notices"];

/// The field of a request for a field of a step; none: the same name.
fn request_field(step: &Step<'_>, kind: Kind, name: &str) -> Option<&'static str> {
    let given = |name: &str| step.get(name).is_some();
    Some(match (step.kind.name, name) {
        ("prompt_call", "prompt_template") | ("evaluate_step", "evaluation_prompt") => "prompt",
        ("prompt_call", "system_template") => "system",
        ("prompt_call", "json_template")
            if step.get("simple_format").is_some_and(|simple| matches!(simple.shape, Shape::Bool(false))) =>
        {
            "messages"
        }
        ("evaluate_step", "expectation_config") => "expectation",
        ("evaluate_step", "input") => "subject",
        ("extract_data", "input") if kind == Kind::Model => "prompt",
        ("extract_data" | "extract_content", "input") => "source",
        ("extract_data" | "extract_content", "expected_format") => "format",
        ("command", "cwd") => "dir",
        ("load_content", "content_version_id")
        | ("load_content_attachment" | "write_content_attachment", "attachment_key")
        | ("write_metadata", "metadata_key")
        | ("publish_content", "key") => "path",
        ("write_content_attachment" | "write_metadata" | "publish_content", "input") if !given("content") => "content",
        ("web_search", "input") => "query",
        ("web_fetch", "input") => "url",
        ("send_email", "input") if !["text_body", "template", "html_body"].into_iter().any(given) => "text_body",
        ("call_workflow" | "call_agent", "input") => "inputs",
        ("call_workflow" | "call_agent", "metadata") => "facts",
        _ => return None,
    })
}

/// A JSON text as the list or object that it contains; any other value unchanged.
fn parsed(value: &Located) -> Located {
    let json = value.text().and_then(|text| serde_json::from_str::<Value>(text).ok());
    match json.filter(|json| matches!(json, Value::List(_) | Value::Object(_))) {
        Some(json) => located(&json, value.span),
        None => value.clone(),
    }
}

/// The value with one span for all its parts.
pub(super) fn located(value: &Value, span: Span) -> Located {
    let shape = match value {
        Value::List(items) => Shape::List(items.iter().map(|item| located(item, span)).collect()),
        Value::Object(fields) => {
            let field = |(key, value): (&Arc<str>, &Value)| branchpoint_expr::Field {
                key: key.clone(),
                key_span: span,
                value: located(value, span),
            };
            Shape::Object(fields.iter().map(field).collect())
        }
        other => Located::from(other).shape,
    };
    Located { shape, span }
}

fn form_of(field: Option<&Field>) -> Form {
    match field.map(|field| (field.ty, field.content)) {
        Some((_, Content::Command)) => Form::Escaped(shell::escape),
        Some((Type::Text | Type::Words(_) | Type::Form(..), _)) => Form::Text,
        _ => Form::Value,
    }
}

/// The defaults of absent fields. Every runner whose type has no field for `input` gets it.
fn defaults(kind: &str) -> Vec<(&'static str, Form, Value)> {
    let input = |name| (name, Form::Value, Value::from("{{input}}"));
    let text = |name| (name, Form::Text, Value::from("{{input}}"));
    let constant = |name, value: Value| (name, Form::Value, value);
    match kind {
        "prompt_call" => vec![text("prompt_template"), constant("simple_format", Value::Bool(true)), input("input")],
        "agent" => vec![text("prompt"), constant("max_turns", Value::Int(10)), input("input")],
        "retrieval" => {
            vec![text("query"), constant("top_n", Value::Int(20)), constant("include_attachments", Value::Bool(true))]
        }
        "add_chat_turn" | "add_memory" => vec![text("content"), input("input")],
        "search_memory" => vec![text("query")],
        "write_aws_s3_object" => vec![text("content")],
        "load_chat_history" | "load_memory" => Vec::new(),
        "http" => vec![constant("method", Value::from("GET"))],
        "webhook_call" => vec![
            constant("method", Value::from("POST")),
            constant("content_type", Value::from("application/json")),
            input("payload"),
        ],
        "command" => vec![text("stdin")],
        _ => vec![input("input")],
    }
}
