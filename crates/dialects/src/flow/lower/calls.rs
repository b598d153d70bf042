//! Calls of the outside. The request is expanded first, so that a mistake in it is not taken for a failed call.

use branchpoint_core::ir::{Backoff, Effect, ExprId, PlaceId, Retry, Write};
use branchpoint_expr::{Field, Kind, Located, Object, Shape, Span, Value};

use super::super::raw::{Asked, Call};
use super::{Around, Lower, Ways, literal};

/// The pause before the first retry; before the n-th it is n times as long, up to the last bound.
const PAUSE_MS: u64 = 1_000;
const LONGEST_PAUSE_MS: u64 = 10_000;

impl Lower {
    pub(super) fn call(&mut self, call: &Call<'_>, around: &Around, ways: Ways) -> PlaceId {
        let mut request = Request::default();
        let (kind, spec) = self.asked(&call.what, &mut request);
        let retry = (call.retries > 0).then_some(Retry {
            max_attempts: call.retries + 1,
            delay_ms: PAUSE_MS,
            backoff: Backoff::Linear,
            max_delay_ms: LONGEST_PAUSE_MS,
            jitter: 0.0,
        });
        let spec = with_credentials(spec, call.credentials);
        let attempt_limit_ms = call.timeout_s.map(milliseconds);
        let effect = Effect { kind: kind.into(), spec, retry, attempt_limit_ms, step: Some(ways.step) };
        let effect = self.b.effect(effect);
        let gone = self.formula(&format!(r#"{{"kind": "{}", "message": $error.message}}"#, Kind::EffectFailed));
        let gone = self.b.set([Write::Put(self.error, gone)], ways.fail.to, None);
        let fail = branchpoint_core::ir::Failure { to: gone, ..ways.fail };
        let input = self.b.read(self.work);
        let ask = self.b.do_(effect, input, Some(self.data), ways.end, Some(fail));
        let request = request.located();
        let mut writes = vec![Write::Put(self.work, self.template(around.scope, &request))];
        let checks = self.checks(&call.what);
        writes.extend(checks.into_iter().map(|check| Write::Put(self.work, check)));
        self.b.set(writes, ask, Some(ways.fail))
    }

    /// The kind of the effect, what is the same for every call of it, and the parts of the request.
    fn asked(&mut self, asked: &Asked<'_>, request: &mut Request) -> (&'static str, Object) {
        match asked {
            Asked::Model { prompt, system, provider, model, temperature, max_tokens, format, schema } => {
                request.put("prompt", Some(prompt));
                request.put("system", *system);
                request.put("provider", *provider);
                request.put("model", *model);
                request.put("temperature", *temperature);
                if temperature.is_none() {
                    request.constant("temperature", Shape::Float(0.7));
                }
                request.put("max_tokens", *max_tokens);
                request.put("json_schema", *schema);
                self.numbers(*temperature, *max_tokens);
                let format = if *format == "text" { "text" } else { "json" };
                ("model", object([("non_empty", Value::Bool(true)), ("response_format", Value::from(format))]))
            }
            Asked::Http { url, method, headers, body_type, body, form, follow_redirects } => {
                self.address(url);
                request.put("method", *method);
                if method.is_none() {
                    request.constant("method", Shape::Str { text: "GET".into(), verbatim: None });
                }
                request.put("url", Some(url));
                request.put_or_empty("headers", *headers);
                let is_form = body_type.starts_with("form_");
                request.put("body", form.filter(|_| is_form).or(*body));
                let statuses =
                    |low: i64, high: i64| Value::from(vec![Value::from(vec![Value::Int(low), Value::Int(high)])]);
                let spec = [
                    ("body_type", Value::from(*body_type)),
                    ("follow_redirects", Value::Bool(*follow_redirects)),
                    ("expect_status", statuses(0, 399)),
                    ("final_status", statuses(400, 499)),
                ];
                ("http", object(spec))
            }
            Asked::Process { command, args, cwd, env } => {
                request.put("command", Some(command));
                request.put_or_empty("args", *args);
                request.put("cwd", *cwd);
                request.put("env", *env);
                ("process", object([("output", Value::from("tagged"))]))
            }
            Asked::Action { provider, server, action, params } => {
                request.put("server", Some(server));
                request.put("action", Some(action));
                request.put("params", *params);
                ("mcp", object([("provider", provider.map_or(Value::Null, Value::from))]))
            }
            Asked::Tool { name, arguments } => {
                request.fields.extend(arguments.iter().map(|field| (*field).clone()));
                ("tool", object([("tool", Value::from(*name))]))
            }
        }
    }

    /// What can be known of a request only when it was expanded.
    fn checks(&mut self, asked: &Asked<'_>) -> Vec<ExprId> {
        let mut checks = Vec::new();
        match asked {
            Asked::Model { temperature, max_tokens, .. } => {
                let known = [(*temperature, "temperature", "0, 2, false"), (*max_tokens, "max_tokens", TOKENS)];
                for (located, key, bounds) in known {
                    if located.is_some_and(|located| literal(located).is_none()) {
                        let text = format!(
                            r#"putPath($work, ["{key}"], within($work.{key}, {bounds}, "{}"))"#,
                            if key == "temperature" { "temperature" } else { "maxTokens" }
                        );
                        checks.push(self.formula(&text));
                    }
                }
            }
            Asked::Http { url, headers, body_type, form, .. } => {
                if literal(url).is_none() {
                    checks.push(self.formula(r#"putPath($work, ["url"], webAddress($work.url, "url"))"#));
                }
                if headers.is_some() {
                    let text = r#"putPath($work, ["headers"], keyed($work.headers, true))"#;
                    checks.push(self.formula(text));
                } else {
                    checks.push(self.formula(r#"putPath($work, ["headers"], {})"#));
                }
                if form.is_some() && body_type.starts_with("form_") {
                    checks.push(self.formula(r#"putPath($work, ["body"], keyed($work.body, false))"#));
                }
            }
            _ => {}
        }
        checks
    }

    /// Numbers that are written in the document.
    fn numbers(&mut self, temperature: Option<&Located>, max_tokens: Option<&Located>) {
        if let Some(located) = temperature
            && let Some(value) = literal(located)
            && !number(&value).is_some_and(|number| (0.0..=2.0).contains(&number))
        {
            self.error(
                Kind::InvalidConfig,
                located.span,
                "`temperature` is a number from 0 to 2",
                "write a number in these bounds",
            );
        }
        if let Some(located) = max_tokens
            && let Some(value) = literal(located)
            && !matches!(value, Value::Int(1..))
        {
            self.error(
                Kind::InvalidConfig,
                located.span,
                "`maxTokens` is an integer of at least 1",
                "write a number, or leave it out",
            );
        }
    }

    fn address(&mut self, url: &Located) {
        if literal(url).is_some_and(|url| !url.is_web_address()) {
            self.error(
                Kind::InvalidConfig,
                url.span,
                "`url` begins with http:// or https://",
                "write the whole address",
            );
        }
    }
}

const TOKENS: &str = "1, 9223372036854775807, true";

/// The parts of a request, as a document's object.
#[derive(Default)]
struct Request {
    fields: Vec<Field>,
}

impl Request {
    fn put(&mut self, key: &str, value: Option<&Located>) {
        self.fields.extend(value.map(|value| field(key, value.clone())));
    }

    fn put_or_empty(&mut self, key: &str, value: Option<&Located>) {
        match value {
            Some(value) => self.fields.push(field(key, value.clone())),
            None => self.constant(key, Shape::List(Vec::new())),
        }
    }

    fn constant(&mut self, key: &str, shape: Shape) {
        self.fields.push(field(key, Located { shape, span: Span::default() }));
    }

    fn located(self) -> Located {
        Located { shape: Shape::Object(self.fields), span: Span::default() }
    }
}

fn field(key: &str, value: Located) -> Field {
    Field { key: key.into(), key_span: Span::default(), value }
}

fn object<const N: usize>(entries: [(&str, Value); N]) -> Object {
    entries.into_iter().map(|(key, value)| (key.into(), value)).collect()
}

/// Secrets are named in what is the same for every call: the names are no part of a request and of no variable.
fn with_credentials(mut spec: Object, credentials: Option<&Located>) -> Value {
    spec.extend(credentials.map(|names| ("credentials".into(), names.to_value())));
    Value::from(spec)
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Int(int) => Some(*int as f64),
        Value::Float(float) => Some(*float),
        _ => None,
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a timeout was found to be from 1 to 300")]
fn milliseconds(seconds: f64) -> u64 {
    (seconds * 1_000.0).round() as u64
}
