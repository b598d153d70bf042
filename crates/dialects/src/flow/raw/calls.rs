//! Steps that call runners.

use branchpoint_core::RunKinds as _;
use branchpoint_expr::{Kind, Located};

use super::{Reading, start_of};
use crate::DocumentKinds as _;
use crate::environment::check_names;
use crate::fields::{Access, Path, Type};
use crate::output_limit::OutputLimit;

/// A call of a runner.
#[derive(Debug)]
pub(in super::super) struct Call<'d> {
    pub(in super::super) timeout_s: Option<f64>,
    pub(in super::super) retries: u32,
    /// The purposes and the names of secrets, which the host resolves for each call.
    pub(in super::super) credentials: Vec<(&'d str, &'d str)>,
    pub(in super::super) kind: CallKind<'d>,
}

/// The kind of a call with its settings.
#[derive(Debug)]
pub(in super::super) enum CallKind<'d> {
    Model {
        prompt: &'d Located,
        system: Option<&'d Located>,
        provider: Option<&'d Located>,
        model: Option<&'d Located>,
        temperature: Option<&'d Located>,
        max_tokens: Option<&'d Located>,
        /// `text`, `json` or `json_schema`.
        format: &'d str,
        schema: Option<&'d Located>,
    },
    Http {
        url: &'d Located,
        method: Option<&'d Located>,
        headers: Option<&'d Located>,
        body_type: &'d str,
        body: Option<&'d Located>,
        form: Option<&'d Located>,
        follow_redirects: bool,
    },
    Process {
        command: &'d Located,
        args: Option<&'d Located>,
        cwd: Option<&'d Located>,
        env: Option<&'d Located>,
        limit: OutputLimit,
    },
    Action {
        server: &'d Located,
        action: &'d Located,
        params: Option<&'d Located>,
    },
    /// The host's tool of that name, with everything else as arguments.
    Tool {
        name: &'static str,
        arguments: Vec<&'d branchpoint_expr::Field>,
    },
}

impl Reading {
    pub(super) fn call<'d>(&mut self, ty: &str, config: &'d Located) -> Option<Call<'d>> {
        let default = if ty == "llmInstruction" { None } else { Some(30.0) };
        let kind = match ty {
            "llmInstruction" => self.model(config),
            "apiCall" => self.http(config),
            "runCommand" => self.process(config),
            "mcpServerAction" => CallKind::action(config),
            "webSearch" => Some(CallKind::tool(config, "webSearch")),
            _ => Some(CallKind::tool(config, "webScraping")),
        };
        Some(Call {
            timeout_s: config.number("timeout").or(default),
            retries: config.int("maxRetries").and_then(|retries| u32::try_from(retries).ok()).unwrap_or(0),
            credentials: self.credentials(ty, config),
            kind: kind?,
        })
    }

    /// The purpose and the name of each secret. Names are literals: data never names a secret.
    fn credentials<'d>(&mut self, ty: &str, config: &'d Located) -> Vec<(&'d str, &'d str)> {
        let Some(secrets) = config.given("credentials") else { return Vec::new() };
        if !["llmInstruction", "apiCall", "runCommand"].contains(&ty) {
            let message = "`credentials` has no effect: the settings of the host have the secrets of tools";
            self.ignored(config, "credentials", message, "remove it");
            return Vec::new();
        }
        if ty == "llmInstruction" && secrets.fields().len() > 1 {
            let message = "`credentials` of a model has one secret, the key of its provider";
            self.error(Kind::InvalidConfig, secrets.span, message, "remove the others");
        }
        secrets.fields().iter().filter_map(|field| Some((&*field.key, &**field.value.text()?))).collect()
    }

    fn model<'d>(&mut self, config: &'d Located) -> Option<CallKind<'d>> {
        let format = config.str("responseFormat").map_or("text", |format| format);
        if format == "json_schema" && config.given("jsonSchema").is_none() {
            let message = "`jsonSchema` is missing, which the format `json_schema` needs";
            self.error(Kind::InvalidConfig, start_of(config), message, "add \"jsonSchema\": {…}");
        }
        Some(CallKind::Model {
            prompt: config.given("instruction")?,
            system: config.given("systemPrompt"),
            provider: config.given("provider"),
            model: config.given("model"),
            temperature: config.given("temperature"),
            max_tokens: config.given("maxTokens"),
            format,
            schema: config.given("jsonSchema"),
        })
    }

    fn http<'d>(&mut self, config: &'d Located) -> Option<CallKind<'d>> {
        let body_type = config.str("bodyType").map_or("json", |body_type| body_type);
        let (is_form, form, body) = (body_type.starts_with("form_"), config.given("formData"), config.given("body"));
        let is_computed = |body: &Located| body.text().is_some_and(|text| text.contains("{{"));
        if let Some(body) = body.filter(|body| is_form && form.is_none() && !body.is_object() && !is_computed(body)) {
            self.check_config().wrong(Path::Root("body"), body, Type::Map(&Type::Any), Kind::InvalidConfig);
        }
        let (ignored, used) = if is_form && form.is_some() { ("body", "formData") } else { ("formData", "body") };
        if config.given(ignored).is_some() && (!is_form || form.is_some()) {
            let message = format!("`{ignored}` has no effect: with `bodyType` `{body_type}`, `{used}` is sent");
            self.ignored(config, ignored, &message, &format!("use `{used}`, or change `bodyType`"));
        }
        Some(CallKind::Http {
            url: config.given("url")?,
            method: config.given("method"),
            headers: config.given("headers"),
            body_type,
            body,
            form,
            follow_redirects: config.flag("followRedirects").unwrap_or(true),
        })
    }

    fn process<'d>(&mut self, config: &'d Located) -> Option<CallKind<'d>> {
        let env = config.given("env");
        self.findings.extend(check_names(env).chain(check_names(config.given("credentials"))));
        let (args, cwd) = (config.given("args"), config.given("cwd"));
        Some(CallKind::Process { command: config.given("command")?, args, cwd, env, limit: OutputLimit::read(config) })
    }

    fn ignored(&mut self, config: &Located, key: &str, message: &str, help: &str) {
        if let Some(field) = config.fields().iter().find(|field| *field.key == *key) {
            self.warn(Kind::IgnoredKey, field.key_span, message, help);
        }
    }
}

impl<'d> CallKind<'d> {
    fn action(config: &'d Located) -> Option<Self> {
        let (server, action) = (config.given("serverId")?, config.given("action")?);
        Some(Self::Action { server, action, params: config.given("params") })
    }

    /// The settings of a tool are its arguments, which only the host knows.
    fn tool(config: &'d Located, name: &'static str) -> Self {
        const OURS: [&str; 6] =
            ["resultVariable", "responseVariable", "directOutput", "timeout", "maxRetries", "credentials"];
        let arguments = config.fields().iter().filter(|field| !OURS.contains(&&*field.key)).collect();
        Self::Tool { name, arguments }
    }
}
