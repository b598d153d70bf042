//! Entries of scripts: their forms, their validation, and the answers that they give.

use std::sync::Arc;

use branchpoint_core::RunKinds as _;
use branchpoint_core::effect::{self, Body, Content, HttpResponse, ModelResult, ProcessResult, Stream};
use branchpoint_core::{AttemptError, RetryHint, Usage};
use branchpoint_expr::{Diagnostic, Kind, Object, Span, Value};

use super::EntryError;
use branchpoint_runners::{Answer, Call, max_output};

/// The key of a text that the input of the call must contain.
pub(super) const MATCH: &str = "$match";

/// The key of the duration of the call.
pub(super) const DELAY: &str = "$delay_ms";

/// The key of an entry for a call that the run withdrew.
pub(crate) const WITHDRAWN: &str = "$withdrawn";

/// The key of the votes of people.
pub(crate) const VOTES: &str = "$votes";

/// The type of the value of a key.
#[derive(Clone, Copy)]
enum Shape {
    Any,
    Text,
    /// Only `true`.
    True,
    Flag,
    Fields,
    /// A number that is not negative.
    Count,
    /// An HTTP status.
    Status,
    /// An exit code.
    Exit,
    /// A flag, or a number of milliseconds.
    RetryHint,
    Usage,
    Votes,
}

/// A form of entries: its main key, the shape of that key's value, and its other keys.
struct Form(&'static str, Shape, &'static [(&'static str, Shape)]);

const OUTPUT_KEYS: &[(&str, Shape)] = &[("stdout", Shape::Text), ("stderr", Shape::Text)];
const USAGE_KEYS: &[(&str, Shape)] = &[("$usage", Shape::Usage)];

const FORMS: [Form; 13] = [
    Form(
        "$error",
        Shape::Text,
        &[
            ("$kind", Shape::Text),
            ("$again", Shape::RetryHint),
            ("$answered", Shape::Flag),
            ("$judged", Shape::True),
            ("$usage", Shape::Usage),
        ],
    ),
    Form("$hang", Shape::True, &[]),
    Form(WITHDRAWN, Shape::True, &[]),
    Form("$output", Shape::Any, &[("$content_type", Shape::Text)]),
    Form("$value", Shape::Any, USAGE_KEYS),
    Form("$text", Shape::Text, USAGE_KEYS),
    Form("$reply", Shape::Any, USAGE_KEYS),
    Form("$prompt", Shape::True, &[]),
    Form("$request", Shape::True, &[]),
    Form("$status", Shape::Status, &[("headers", Shape::Fields), ("body", Shape::Any), ("text", Shape::Text)]),
    Form("$exit", Shape::Exit, OUTPUT_KEYS),
    Form("$timed_out", Shape::True, OUTPUT_KEYS),
    Form(VOTES, Shape::Votes, &[]),
];

/// The keys that every form may have.
const COMMON_KEYS: [(&str, Shape); 2] = [(DELAY, Shape::Count), (MATCH, Shape::Text)];

/// Validates an entry. A value without keys that begin with `$` is an answer as it is.
pub(super) fn check(entry: &Value) -> Result<(), EntryError> {
    let Some(fields) = entry.as_object().filter(|fields| fields.keys().any(|key| key.starts_with('$'))) else {
        return Ok(());
    };
    let mut named = FORMS.iter().filter(|form| fields.contains_key(form.0));
    let Some(Form(name, _, own)) = named.next() else { return Err(unknown_form(fields)) };
    if let Some(Form(other, ..)) = named.next() {
        return Err(EntryError::at(other, format!("`{name}` and `{other}` cannot be combined"), "remove one of them"));
    }
    let known = FORMS.iter().filter(|form| form.0 == *name).map(|form| (form.0, form.1));
    let known: Vec<(&str, Shape)> = known.chain(own.iter().copied()).chain(COMMON_KEYS).collect();
    for (key, value) in fields {
        let Some((_, shape)) = known.iter().find(|(known, _)| *known == &**key) else {
            let message = format!("`{key}` cannot be combined with `{name}`");
            return Err(EntryError::unknown(key, message, known.iter().map(|(known, _)| *known)));
        };
        if let Some(expected) = shape.mismatch(value) {
            return Err(EntryError::at(key, format!("`{key}` must be {expected}, but is {value:?}"), ""));
        }
    }
    Ok(())
}

/// The error of an entry whose `$` keys are not a form.
fn unknown_form(fields: &Object) -> EntryError {
    let of_forms = FORMS.iter().flat_map(|form| form.2.iter().map(|(key, _)| *key).chain([form.0]));
    let known: Vec<&str> = of_forms.chain(COMMON_KEYS.map(|(key, _)| key)).filter(|key| key.starts_with('$')).collect();
    let mut named = fields.keys().filter(|key| key.starts_with('$'));
    if let Some(key) = named.clone().find(|key| !known.contains(&&***key)) {
        let wrong = EntryError::unknown(key, format!("unknown answer form `{key}`"), known);
        let help = "write a value that has such a key as `{$output: value}`";
        return if wrong.help.is_empty() { EntryError { help: help.to_owned(), ..wrong } } else { wrong };
    }
    let key = named.next().map_or("", |key| key);
    EntryError::at(key, format!("`{key}` needs an answer next to it"), "write the answer as `$output: value`")
}

impl Shape {
    /// The expected value, if the value does not match.
    fn mismatch(self, value: &Value) -> Option<&'static str> {
        let int = |low: i64, high: i64| matches!(value, Value::Int(int) if (low..=high).contains(int));
        let count = || int(0, i64::MAX);
        let (fits, expected) = match self {
            Self::Any => (true, ""),
            Self::Text => (value.as_str().is_some(), "text"),
            Self::True => (*value == Value::Bool(true), "`true`"),
            Self::Flag => (matches!(value, Value::Bool(_)), "`true` or `false`"),
            Self::Fields => (value.as_object().is_some(), "an object"),
            Self::Count => (count(), "a whole number that is not negative"),
            Self::Status => (int(100, 999), "an HTTP status, a number of three digits"),
            Self::Exit => (int(i32::MIN.into(), i32::MAX.into()), "an exit code, a whole number"),
            Self::RetryHint => {
                (count() || matches!(value, Value::Bool(_)), "`true`, `false`, or a number of milliseconds")
            }
            Self::Usage => (is_usage(value), "an object with the numbers `tokens`, `cost_micros` and `input_tokens`"),
            Self::Votes => (is_votes(value), "a list of `{user, choice, comment, form, on_behalf_of}`"),
        };
        (!fits).then_some(expected)
    }
}

fn is_usage(value: &Value) -> bool {
    let known = |key: &str| matches!(key, "tokens" | "cost_micros" | "input_tokens");
    value.as_object().is_some_and(|fields| {
        fields.iter().all(|(key, value)| known(key) && matches!(value, Value::Int(count) if *count >= 0))
    })
}

/// The keys of a vote in a script.
const VOTE_KEYS: [&str; 5] = ["user", "choice", "comment", "form", "on_behalf_of"];

fn is_votes(value: &Value) -> bool {
    let text = |vote: &Value, key: &str| vote.get(key).is_some_and(|value| value.as_str().is_some());
    let known =
        |vote: &Value| vote.as_object().is_some_and(|fields| fields.keys().all(|key| VOTE_KEYS.contains(&&**key)));
    let vote = |vote: &Value| {
        known(vote)
            && text(vote, "user")
            && text(vote, "choice")
            && (vote.get("comment").is_none() || text(vote, "comment"))
    };
    value.as_list().is_some_and(|votes| votes.iter().all(vote))
}

impl EntryError {
    pub(super) fn at(key: &str, message: String, help: &str) -> Self {
        Self { kind: Kind::BadValue, key: key.into(), message, help: help.to_owned() }
    }

    /// The error of an unknown key, with a suggestion.
    pub(super) fn unknown<'n>(key: &str, message: String, names: impl IntoIterator<Item = &'n str>) -> Self {
        let near = Diagnostic::error(Kind::UnknownKey, Span::default(), "").suggest(key, names);
        Self { kind: Kind::UnknownKey, key: key.into(), message, help: near.help.unwrap_or_default() }
    }
}

/// The duration of a call that an entry answers.
pub(super) fn delay_ms(entry: &Value) -> u64 {
    entry.get(DELAY).and_then(number).unwrap_or_default()
}

/// The answer that an entry gives.
pub(super) fn answer(entry: &Value, call: &Call) -> Answer {
    let text = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default();
    let is = |key: &str| entry.get(key) == Some(&Value::Bool(true));
    if let Some(message) = entry.get("$error") {
        let (failed, usage) = (failed(entry, message), usage(entry));
        let judged = is("$judged");
        return if judged {
            Answer::Judged { result: Err(failed), usage }
        } else {
            Answer::failed_after(failed, usage)
        };
    }
    if is("$hang") || is(WITHDRAWN) {
        return Answer::Missing;
    }
    if let Some(value) = entry.get("$output") {
        let content_type = entry.get("$content_type").and_then(Value::as_str).map(Into::into);
        return Answer::Data(Content { value: value.clone(), content_type });
    }
    if let Some(value) = entry.get("$value") {
        return Answer::Judged { result: Ok(value.clone()), usage: usage(entry) };
    }
    if let Some(value) = entry.get("$text").filter(|text| text.as_str().is_some()).or(entry.get("$reply")) {
        let input_tokens = entry.get("$usage").and_then(|usage| usage.get("input_tokens")).and_then(number);
        return Answer::Model(ModelResult { value: value.clone(), usage: usage(entry), input_tokens });
    }
    if is("$prompt") {
        let Ok(effect::Request::Model(request)) = call.request() else { return Answer::model("") };
        return Answer::model(request.prompt.unwrap_or_default());
    }
    if is("$request") {
        return Answer::Http(HttpResponse {
            status: 200,
            headers: Object::default(),
            body: Body::Decoded(request(call)),
        });
    }
    if let Some(status) = entry.get("$status").and_then(number) {
        let headers = entry.get("headers").and_then(Value::as_object).cloned().unwrap_or_default();
        let body = match entry.get("text").and_then(Value::as_str) {
            Some(text) => Body::Text(text.into()),
            None => Body::Decoded(entry.get("body").cloned().unwrap_or_default()),
        };
        return Answer::Http(HttpResponse { status, headers, body });
    }
    if let Some(exit) = entry.get("$exit").and_then(number) {
        return process(call, exit, text("stdout").to_owned(), text("stderr").to_owned());
    }
    if is("$timed_out") {
        let result = ProcessResult::new(0, text("stdout"), text("stderr"));
        return Answer::Process(ProcessResult { exit_code: None, ..result });
    }
    match entry {
        Value::Str(text) if call.kind() == effect::Kind::Model => Answer::model(text.clone()),
        value => Answer::data(value.clone()),
    }
}

/// The result of a process, truncated to the output limit of its call as for a real command.
fn process(call: &Call, exit: i32, mut stdout: String, mut stderr: String) -> Answer {
    let limit = max_output(call);
    let mut cut = None;
    for (stream, text) in [(Stream::Err, &mut stderr), (Stream::Out, &mut stdout)] {
        if text.len() > limit {
            text.truncate(text.floor_char_boundary(limit));
            cut = Some(stream);
        }
    }
    Answer::Process(ProcessResult { exit_code: Some(exit), stdout: stdout.into(), stderr: stderr.into(), cut })
}

fn failed(entry: &Value, message: &Value) -> AttemptError {
    let kind = entry.get("$kind").and_then(Value::as_str).unwrap_or("step_failed");
    let answered = entry.get("$answered") == Some(&Value::Bool(true));
    let again = match entry.get("$again") {
        Some(Value::Bool(false)) => RetryHint::Never,
        Some(Value::Int(ms)) => RetryHint::After(u64::try_from(*ms).unwrap_or_default()),
        _ => RetryHint::Soon,
    };
    AttemptError { kind: kind.into(), message: message.to_string().into(), retry: again, answered }
}

fn usage(entry: &Value) -> Usage {
    let count = |key: &str| entry.get("$usage").and_then(|usage| usage.get(key)).and_then(number).unwrap_or_default();
    Usage { tokens: count("tokens"), cost_micros: count("cost_micros") }
}

/// The method, URL, headers and body of an HTTP request.
fn request(call: &Call) -> Value {
    let Ok(effect::Request::Http(request)) = call.request() else { return Value::Null };
    let text = |text: Option<String>| text.map_or(Value::Null, Value::from);
    let parts = [
        ("method", text(request.method)),
        ("url", text(request.url)),
        ("headers", Value::from(request.headers)),
        ("body", request.body),
    ];
    Value::from(parts.into_iter().map(|(name, part)| (Arc::from(name), part)).collect::<Object>())
}

fn number<N: TryFrom<i64>>(value: &Value) -> Option<N> {
    match value {
        Value::Int(int) => N::try_from(*int).ok(),
        _ => None,
    }
}
