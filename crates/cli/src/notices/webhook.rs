//! Posts messages to a webhook.

use std::sync::Arc;

use branchpoint_core::EffectNo;
use branchpoint_core::effect::{HttpResponse, Kind};
use branchpoint_core::ir::Effect;
use branchpoint_core::ir::builder::effect;
use branchpoint_expr::{Object, Value};
use branchpoint_runners::tools::{Tools, signed_headers};
use branchpoint_runners::{Answer, Call, CancellationToken, SecretStore, no_secrets, retry_after, runtime};

use super::sender::Outcome;
use super::settings::WebhookSettings;
use crate::json;

/// How long an attempt may take, in milliseconds.
const LIMIT_MS: u64 = 30_000;

/// A webhook of the project.
pub(super) struct Webhook {
    pub(super) settings: WebhookSettings,
    /// Whether it is the webhook of `[notify]`, whose messages have a form of their own.
    pub(super) is_of_notify: bool,
    tools: Arc<Tools>,
    secrets: SecretStore,
}

impl Webhook {
    pub(super) fn new(settings: WebhookSettings, tools: Arc<Tools>, secrets: SecretStore) -> Self {
        Self { settings, is_of_notify: false, tools, secrets }
    }

    /// The webhook of `[notify]`, which gets notices about approvals.
    pub(super) fn of_notify(url: &str, tools: &Arc<Tools>) -> Self {
        let settings = WebhookSettings::of_notify(url);
        Self { settings, is_of_notify: true, tools: Arc::clone(tools), secrets: no_secrets() }
    }

    /// The target of its deliveries.
    pub(super) fn target(&self) -> String {
        if self.is_of_notify { "notify".into() } else { branchpoint_server::Webhook::target_of(&self.settings.name) }
    }

    pub(super) fn is_about_runs(&self) -> bool {
        self.settings
            .events
            .iter()
            .any(|pattern| super::settings::EVENTS[..4].iter().any(|event| pattern.matches(event)))
    }

    /// Posts a message once. The id is the same in every attempt.
    pub(super) fn attempt(&self, id: &str, body: &str) -> Outcome {
        match self.call(id, body) {
            Ok(call) => self.post(&call),
            Err(missing) => Outcome::Failed(missing, 0),
        }
    }

    fn call(&self, id: &str, body: &str) -> Result<Call, String> {
        let secret = |name: &String| (self.secrets)(name).ok_or_else(|| format!("the secret {name} is not set"));
        let url = match (&self.settings.url, &self.settings.url_env) {
            (Some(url), _) => url.clone(),
            (None, Some(name)) => secret(name)?,
            (None, None) => return Err("the webhook has no address".into()),
        };
        let key = self.settings.secret_env.as_ref().map(secret).transpose()?;
        let mut headers: Object = [("content-type", "application/json"), ("idempotency-key", id)]
            .map(|(name, value)| (Arc::from(name), Value::from(value)))
            .into_iter()
            .collect();
        let signed = signed_headers(key.as_deref().map(str::as_bytes), id, body.as_bytes());
        headers.extend(signed.into_iter().map(|(name, value)| (Arc::from(name), Value::from(value))));
        let input = json::object([
            ("method", Value::from("POST")),
            ("url", Value::from(url)),
            ("headers", Value::from(headers)),
            ("body", Value::from(body)),
            ("body_type", Value::from("raw")),
        ]);
        let definition = Effect {
            // A redirect would mostly be a request without the message, and look like a success.
            fixed: Object::from_iter([(Arc::from("follow_redirects"), Value::Bool(false))]),
            attempt_limit_ms: Some(LIMIT_MS),
            ..effect(Kind::Http)
        };
        Ok(Call { run: id.into(), effect: EffectNo(0), ..Call::first(definition, input) })
    }

    fn post(&self, call: &Call) -> Outcome {
        let perform = |prepared| runtime().block_on(self.tools.perform(&prepared, &CancellationToken::new()));
        match call.prepare(&no_secrets()).map_or_else(Some, perform) {
            Some(Answer::Http(HttpResponse { status, .. })) if (200..300).contains(&status) => {
                Outcome::Delivered(format!("status {status}"))
            }
            // The target of a redirect can have a secret in it, like the address of the webhook.
            Some(Answer::Http(HttpResponse { status, headers, .. }))
                if status < 400 && headers.contains_key("location") =>
            {
                Outcome::Rejected(format!(
                    "the webhook responded with status {status}, a redirect, which is not followed"
                ))
            }
            Some(Answer::Http(HttpResponse { status, headers, .. })) => {
                let wait = retry_after(&headers).unwrap_or_default();
                let wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
                Outcome::Failed(format!("the webhook responded with status {status}"), wait_ms)
            }
            Some(Answer::Failed(failed)) => {
                Outcome::Failed(format!("the webhook cannot be reached: {}", self.without_address(&failed.message)), 0)
            }
            _ => Outcome::Failed("the webhook did not respond in time".into(), 0),
        }
    }

    /// A message without the address, which can be a secret.
    fn without_address(&self, message: &str) -> String {
        let address = self.settings.url_env.as_ref().and_then(|name| (self.secrets)(name));
        address.map_or_else(|| message.to_owned(), |address| message.replace(&address, "***"))
    }
}
