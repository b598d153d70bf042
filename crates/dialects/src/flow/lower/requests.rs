//! The requests of each kind of call: their fixed fields, and the parts that are expanded for each call.

use branchpoint_core::RunKinds as _;
use branchpoint_core::effect::{self, Format, Response};
use branchpoint_core::functions::is_web_address;
use branchpoint_expr::{Kind, Located, Object, Shape, Span, Value};

use super::super::raw::CallKind;
use super::{Lower, literal};
use crate::lowering::located_object;

/// A request that is being built.
pub(super) struct Request {
    /// The kind of runner that performs it.
    pub(super) kind: effect::Kind,
    /// The fields that are the same for every call.
    pub(super) fixed: Object,
    /// The rules for responses.
    pub(super) response: Response,
    /// The object that is expanded for each call.
    pub(super) parts: Located,
    /// Formulas that check and change the expanded parts, in order.
    pub(super) changes: Vec<String>,
}

impl Lower {
    pub(super) fn request(&mut self, call_kind: &CallKind<'_>) -> Request {
        match call_kind {
            CallKind::Model { .. } => Self::model(call_kind),
            CallKind::Http { .. } => self.http(call_kind),
            CallKind::Process { command, args, cwd, env, limit } => {
                let parts = [("command", Some(*command)), ("args", *args), ("dir", *cwd), ("env", *env)];
                let mut request = Request::new(effect::Kind::Process, [], &parts);
                request.check(*env, "env", "object");
                request.check(*args, "args", "array");
                let args = if args.is_some() { "$work.args ?? []" } else { "[]" };
                let given = [("dir", cwd), ("env", env)].into_iter().filter(|(_, part)| part.is_some());
                let given = given.map(|(name, _)| format!(r#", "{name}": $work.{name}"#)).collect::<Vec<_>>().concat();
                request.changes.push(format!(r#"{{"argv": concat([$work.command], {args}){given}}}"#));
                request.response.format = Format::Tagged;
                limit.add_to(&mut request.response);
                request
            }
            CallKind::Action { server, action, params } => {
                let parts = [("server", Some(*server)), ("action", Some(*action)), ("params", *params)];
                // A server that the document names is checked before the run starts; null is a computed one.
                let fixed = [("server", literal(server).unwrap_or_default())];
                let mut request = Request::new(effect::Kind::Mcp, fixed, &parts);
                request.check(*params, "params", "object");
                request
            }
            CallKind::Tool { name, arguments } => {
                let arguments = arguments.iter().copied().cloned().collect();
                let arguments = Located { shape: Shape::Object(arguments), span: Span::default() };
                let parts = [("arguments", Some(&arguments))];
                Request::new(effect::Kind::Tool, [("tool", Value::from(*name))], &parts)
            }
        }
    }

    fn model(call_kind: &CallKind<'_>) -> Request {
        let CallKind::Model { prompt, system, provider, model, temperature, max_tokens, format, schema } = call_kind
        else {
            unreachable!("only questions to models come here");
        };
        let default_temperature = Located { shape: Shape::Float(0.7), span: Span::default() };
        let parts = [
            ("prompt", Some(*prompt)),
            ("system", *system),
            ("provider", *provider),
            ("model", *model),
            ("temperature", Some(temperature.unwrap_or(&default_temperature))),
            ("max_tokens", *max_tokens),
            ("schema", schema.filter(|_| *format != "text")),
        ];
        // A model that the document names is checked before the run starts; null is a computed one.
        let named =
            |part: Option<&Located>| part.map_or_else(|| Some(Value::from("default")), literal).unwrap_or_default();
        let fixed = [("provider", named(*provider)), ("model", named(*model))];
        let mut request = Request::new(effect::Kind::Model, fixed, &parts);
        request.response.non_empty = true;
        request.response.format = if *format == "text" { Format::Text } else { Format::Json };
        // Numbers in the document were checked with its fields, computed ones are checked in the run.
        let is_computed = |located: Option<&Located>| located.is_some_and(|located| literal(located).is_none());
        let temperature = is_computed(*temperature).then_some(("temperature", r#""number", "temperature", 0, 2"#));
        let max_tokens =
            is_computed(*max_tokens).then_some(("max_tokens", r#""integer", "maxTokens", 1, 9223372036854775807"#));
        for (part, bounds) in temperature.into_iter().chain(max_tokens) {
            request.changes.push(format!(r#"putPath($work, ["{part}"], field($work.{part}, {bounds}))"#));
        }
        request
    }

    fn http(&mut self, call_kind: &CallKind<'_>) -> Request {
        let CallKind::Http { url, method, headers, body_type, body, form, follow_redirects } = call_kind else {
            unreachable!("only requests over HTTP come here");
        };
        let get = Located { shape: Shape::Str { text: "GET".into(), verbatim: None }, span: Span::default() };
        let form = form.filter(|_| body_type.starts_with("form_"));
        let parts = [
            ("method", Some(method.unwrap_or(&get))),
            ("url", Some(*url)),
            ("headers", *headers),
            ("body", form.or(*body)),
        ];
        let fixed = [("body_type", Value::from(*body_type)), ("follow_redirects", Value::Bool(*follow_redirects))];
        let mut request = Request::new(effect::Kind::Http, fixed, &parts);
        request.response.expected_status = Some(vec![(0, 399)]);
        request.response.final_status = vec![(400, 499)];
        match literal(url) {
            None => request.changes.push(r#"putPath($work, ["url"], webAddress($work.url, "url"))"#.into()),
            Some(known) if known.as_str().is_some_and(is_web_address) => {}
            Some(_) => {
                let message = "`url` begins with http:// or https://";
                self.error(Kind::InvalidConfig, url.span, message, "write the whole address");
            }
        }
        let headers = if headers.is_some() { r#"keyed($work.headers, true, "headers")"# } else { "{}" };
        request.changes.push(format!(r#"putPath($work, ["headers"], {headers})"#));
        if form.is_none() && body_type.starts_with("form_") {
            request.check(*body, "body", "object");
        } else if form.is_some() {
            request.changes.push(r#"putPath($work, ["body"], keyed($work.body, false, "formData"))"#.into());
        }
        request
    }
}

impl Request {
    /// Checks the type of a part with a placeholder after its expansion.
    fn check(&mut self, written: Option<&Located>, part: &str, ty: &str) {
        if written.is_some_and(|written| written.text().is_some()) {
            self.changes.push(format!(r#"putPath($work, ["{part}"], field($work.{part}, "{ty}", "{part}"))"#));
        }
    }

    /// Builds a request; absent parts are omitted.
    fn new<const N: usize>(kind: effect::Kind, fixed: [(&str, Value); N], parts: &[(&str, Option<&Located>)]) -> Self {
        let parts = parts.iter().filter_map(|(key, value)| Some((*key, (*value)?.clone())));
        Self {
            kind,
            fixed: fixed.into_iter().map(|(key, value)| (key.into(), value)).collect(),
            response: Response::default(),
            parts: located_object(Span::default(), parts),
            changes: Vec::new(),
        }
    }
}
