//! Steps that call the outside.

use branchpoint_core::RunKinds as _;
use branchpoint_expr::{Kind, Located};

use super::fields::{COMMON, Config};
use super::{Reading, start_of};
use crate::DocumentKinds as _;
use crate::environment::check_names;
use crate::output::{self, OutputLimit};
use crate::secrets::is_name;

/// The types of steps that call the outside.
pub(super) const CALLS: [&str; 6] =
    ["llmInstruction", "apiCall", "runCommand", "mcpServerAction", "webSearch", "webScraping"];

/// Settings that every call may have.
const EVERY: [&str; 3] = ["timeout", "maxRetries", "credentials"];

const MODEL: [&str; 8] =
    ["instruction", "systemPrompt", "provider", "model", "temperature", "maxTokens", "responseFormat", "jsonSchema"];
const HTTP: [&str; 7] = ["url", "method", "headers", "bodyType", "body", "formData", "followRedirects"];
const PROCESS: [&str; 6] = ["command", "args", "cwd", "env", "max_output", "truncate"];
#[expect(clippy::cast_possible_truncation, reason = "the bound is below 2^31")]
const MOST_BYTES: i32 = *output::BYTES.end() as i32;
const ACTION: [&str; 4] = ["provider", "serverId", "action", "params"];

/// A call of the outside.
#[derive(Debug)]
pub(in super::super) struct Call<'d> {
    pub(in super::super) timeout_s: Option<f64>,
    pub(in super::super) retries: u32,
    /// What secrets are for, and their names: the host resolves them when the call is made.
    pub(in super::super) credentials: Vec<(&'d str, &'d str)>,
    pub(in super::super) what: Asked<'d>,
}

/// What is asked of the outside.
#[derive(Debug)]
pub(in super::super) enum Asked<'d> {
    Model {
        prompt: &'d Located,
        system: Option<&'d Located>,
        provider: Option<&'d Located>,
        model: Option<&'d Located>,
        temperature: Option<&'d Located>,
        max_tokens: Option<&'d Located>,
        /// `text`, `json` or `json_schema`.
        format: &'static str,
        schema: Option<&'d Located>,
    },
    Http {
        url: &'d Located,
        method: Option<&'d Located>,
        headers: Option<&'d Located>,
        body_type: &'static str,
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
    pub(super) fn call<'d>(&mut self, ty: &str, config: Config<'d>) -> Option<Call<'d>> {
        let default = if ty == "llmInstruction" { None } else { Some(30.0) };
        let timeout_s = self.number(config, "timeout", 1, 300, false).or(default);
        let retries = self.number(config, "maxRetries", 0, 10, true).unwrap_or(0.0);
        let what = match ty {
            "llmInstruction" => self.model(config),
            "apiCall" => self.http(config),
            "runCommand" => self.process(config),
            "mcpServerAction" => self.action(config),
            "webSearch" => self.tool(config, "webSearch", "query"),
            _ => self.tool(config, "webScraping", "url"),
        };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it was found to be from 0 to 10")]
        let retries = retries as u32;
        let credentials = self.credentials(ty, config);
        Some(Call { timeout_s, retries, credentials, what: what? })
    }

    /// What each secret is for, and its name, which is written out: data never names a secret.
    fn credentials<'d>(&mut self, ty: &str, config: Config<'d>) -> Vec<(&'d str, &'d str)> {
        let Some(found) = config.located.fields().iter().find(|field| &*field.key == "credentials") else {
            return Vec::new();
        };
        if found.value.is_null() {
            return Vec::new();
        }
        if !["llmInstruction", "apiCall", "runCommand"].contains(&ty) {
            let message = "`credentials` has no effect here: what this tool needs stands in the settings of the host";
            self.warn(Kind::IgnoredKey, found.key_span, message, "leave it out");
            return Vec::new();
        }
        if !found.value.is_object() {
            self.odd(&found.value, "`credentials` is an object", "write {\"token\": \"NAME_OF_A_SECRET\"}");
        }
        if ty == "llmInstruction" && found.value.fields().len() > 1 {
            let message = "a model takes one secret, the key of its provider";
            self.error(Kind::InvalidConfig, found.value.span, message, "leave the others out");
        }
        let mut named = Vec::new();
        for field in found.value.fields() {
            match field.value.text().filter(|name| is_name(name)) {
                Some(name) => named.push((&*field.key, &**name)),
                None => {
                    self.odd(
                        &field.value,
                        "a secret is named as it is called",
                        "write its name, such as \"CRM_TOKEN\"",
                    );
                }
            }
        }
        named
    }

    fn model<'d>(&mut self, config: Config<'d>) -> Option<Asked<'d>> {
        self.unknown_keys(config.located, &[&COMMON, &EVERY, &MODEL]);
        let prompt = self.required_text(config, "instruction");
        let system = self.optional_text(config, "systemPrompt");
        let (provider, model) = (self.optional_text(config, "provider"), self.optional_text(config, "model"));
        let format = self.word(config, "responseFormat", &["text", "json", "json_schema"]).unwrap_or("text");
        // A schema may be the text of one.
        let is_text = |schema: &&Located| schema.text().is_some();
        let text = config.get("jsonSchema").filter(is_text);
        let schema = text.or_else(|| self.object_or_placeholder(config, "jsonSchema"));
        if format == "json_schema" && config.get("jsonSchema").is_none() {
            let message = "the format `json_schema` needs a `jsonSchema`";
            self.error(Kind::InvalidConfig, start_of(config.located), message, "add \"jsonSchema\": {…}");
        }
        let (temperature, max_tokens) = (config.get("temperature"), config.get("maxTokens"));
        Some(Asked::Model { prompt: prompt?, system, provider, model, temperature, max_tokens, format, schema })
    }

    fn http<'d>(&mut self, config: Config<'d>) -> Option<Asked<'d>> {
        self.unknown_keys(config.located, &[&COMMON, &EVERY, &HTTP]);
        let types = ["json", "form_urlencoded", "form_multipart", "text", "raw"];
        let url = self.required_text(config, "url");
        let method = config.get("method").and_then(|_| self.required_text(config, "method"));
        let headers = self.pairs(config, "headers");
        let body_type = self.word(config, "bodyType", &types).unwrap_or("json");
        let form = self.pairs(config, "formData");
        let is_form = body_type.starts_with("form_");
        let body =
            if is_form && form.is_none() { self.object_or_placeholder(config, "body") } else { config.get("body") };
        let (ignored, used) = if is_form && form.is_some() { ("body", "formData") } else { ("formData", "body") };
        if let Some(field) =
            config.located.fields().iter().find(|field| *field.key == *ignored && !field.value.is_null())
            && (!is_form || form.is_some())
        {
            let message = format!("`{ignored}` has no effect: with `bodyType` `{body_type}`, `{used}` is sent");
            self.warn(Kind::IgnoredKey, field.key_span, &message, &format!("use `{used}`, or change `bodyType`"));
        }
        let follow_redirects = self.flag(config, "followRedirects", true);
        Some(Asked::Http { url: url?, method, headers, body_type, body, form, follow_redirects })
    }

    fn process<'d>(&mut self, config: Config<'d>) -> Option<Asked<'d>> {
        self.unknown_keys(config.located, &[&COMMON, &EVERY, &PROCESS]);
        let command = self.required_text(config, "command");
        let args = self.list_or_placeholder(config, "args");
        let cwd = self.optional_text(config, "cwd");
        let env = self.object_or_placeholder(config, "env");
        self.findings.extend(check_names(env).chain(check_names(config.get("credentials"))));
        #[expect(clippy::cast_possible_truncation, reason = "it was found to be a whole number in range")]
        let bytes = self.number(config, "max_output", 1, MOST_BYTES, true).map(|bytes| bytes as i64);
        let limit = OutputLimit { bytes, truncate: self.flag(config, "truncate", false) };
        Some(Asked::Process { command: command?, args, cwd, env, limit })
    }

    fn action<'d>(&mut self, config: Config<'d>) -> Option<Asked<'d>> {
        self.unknown_keys(config.located, &[&COMMON, &EVERY, &ACTION]);
        self.word(config, "provider", &["local", "remote"]);
        let (server, action) = (self.required_text(config, "serverId"), self.required_text(config, "action"));
        let params = self.object_or_placeholder(config, "params");
        Some(Asked::Action { server: server?, action: action?, params })
    }

    /// Its settings are the arguments of a tool, which the host knows and we do not.
    fn tool<'d>(&mut self, config: Config<'d>, name: &'static str, needs: &str) -> Option<Asked<'d>> {
        self.required_text(config, needs)?;
        let ours = |key: &str| COMMON.contains(&key) || EVERY.contains(&key);
        let arguments = config.located.fields().iter().filter(|field| !ours(&field.key)).collect();
        Some(Asked::Tool { name, arguments })
    }

    /// A list of `{key, value}`.
    fn pairs<'d>(&mut self, config: Config<'d>, key: &str) -> Option<&'d Located> {
        let list = self.list_or_placeholder(config, key)?;
        for pair in list.items().unwrap_or_default() {
            if !pair.is_object() {
                self.odd(pair, &format!("an entry of `{key}` is an object"), "write {\"key\": …, \"value\": …}");
                continue;
            }
            self.unknown_keys(pair, &[&["key", "value"]]);
            if pair.get("key").is_none_or(|name| name.text().is_none_or(|name| name.trim().is_empty())) {
                let message = format!("an entry of `{key}` needs a `key`, which is text");
                self.error(Kind::InvalidConfig, start_of(pair), message, "add \"key\": \"…\"");
            }
            if pair.get("value").is_none() {
                let message = format!("an entry of `{key}` needs a `value`");
                self.error(Kind::InvalidConfig, start_of(pair), message, "add \"value\": …");
            }
        }
        Some(list)
    }
}
