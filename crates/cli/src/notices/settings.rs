//! The sections of `branchpoint.toml` about notices: `[notify]` and `[[webhooks]]`.

use std::collections::BTreeSet;

use anyhow::{Context, Result, bail};
use branchpoint_server::{MAX_LINK_MS, Pattern, Webhook};
use serde::Deserialize;

use crate::project::FILE;
use crate::time;

/// The maximum number of webhooks.
const MAX_WEBHOOKS: usize = 32;

/// The longest name of a webhook.
const LONGEST_NAME: usize = 64;

/// How long links are valid by default.
const LINK_MS: i64 = 7 * 86_400_000;

/// The least time between two reminders of a person by default.
const COOLDOWN_MS: i64 = 3_600_000;

/// What webhooks can be notified of.
pub(crate) const EVENTS: [&str; 8] = [
    "run.completed",
    "run.failed",
    "run.cancelled",
    "run.waiting",
    "approval.requested",
    "approval.reminded",
    "approval.escalated",
    "approval.ended",
];

/// Who is notified of approvals that are requested, reminded of, escalated or settled.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Notify {
    /// A command, which gets the event as JSON on its standard input.
    pub(crate) command: Option<String>,
    /// An address, to which the event is posted as JSON.
    pub(crate) webhook: Option<String>,
    /// The address of the server, for links in mails and messages.
    address: Option<String>,
    /// How long the links in mails are valid.
    link_expires: Option<String>,
    /// The least time between two reminder mails to a person.
    reminder_cooldown: Option<String>,
}

impl Notify {
    /// The address of the server without a slash at its end.
    pub(crate) fn address(&self) -> Result<Option<String>> {
        let Some(address) = &self.address else { return Ok(None) };
        check_address(address).with_context(|| format!("`address` of [notify] in {FILE} is invalid"))?;
        Ok(Some(address.trim_end_matches('/').to_owned()))
    }

    pub(crate) fn link_ms(&self) -> Result<i64> {
        let link_ms = duration("link_expires", self.link_expires.as_deref(), LINK_MS)?;
        if link_ms > MAX_LINK_MS {
            bail!("`link_expires` of [notify] in {FILE} must be at most 30d");
        }
        Ok(link_ms)
    }

    pub(crate) fn cooldown_ms(&self) -> Result<i64> {
        duration("reminder_cooldown", self.reminder_cooldown.as_deref(), COOLDOWN_MS)
    }
}

fn duration(key: &str, written: Option<&str>, default: i64) -> Result<i64> {
    let Some(written) = written else { return Ok(default) };
    time::parse_duration_ms(written).with_context(|| format!("`{key}` of [notify] in {FILE} is invalid"))
}

/// The form of the messages to a webhook.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Format {
    /// The event as JSON.
    #[default]
    Json,
    /// A message for an incoming webhook of Slack.
    Slack,
}

impl Format {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Slack => "slack",
        }
    }
}

/// `[[webhooks]]`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WebhookSettings {
    pub(crate) name: String,
    /// The address.
    #[serde(default)]
    pub(crate) url: Option<String>,
    /// The name of the secret with the address.
    #[serde(default)]
    pub(crate) url_env: Option<String>,
    /// The events, in which `*` means any text.
    #[serde(default = "run_events")]
    pub(crate) events: Vec<Pattern>,
    /// The names of the workflows, in which `*` means any text.
    #[serde(default = "Pattern::all")]
    pub(crate) workflow: Pattern,
    #[serde(default)]
    pub(crate) format: Format,
    /// The name of the secret that signs the messages.
    #[serde(default)]
    pub(crate) secret_env: Option<String>,
}

fn run_events() -> Vec<Pattern> {
    "run.*".parse().into_iter().collect()
}

impl WebhookSettings {
    /// The webhook of `[notify]`.
    pub(crate) fn of_notify(url: &str) -> Self {
        Self {
            name: "notify".into(),
            url: Some(url.to_owned()),
            url_env: None,
            events: "approval.*".parse().into_iter().collect(),
            workflow: Pattern::all(),
            format: Format::Json,
            secret_env: None,
        }
    }

    /// Whether the webhook gets an event of a workflow.
    pub(crate) fn wants(&self, event: &str, workflow: &str) -> bool {
        self.events.iter().any(|pattern| pattern.matches(event)) && self.workflow.matches(workflow)
    }

    fn check(&self) -> Result<()> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if self.name.is_empty() || self.name.len() > LONGEST_NAME || !self.name.chars().all(is_plain) {
            bail!("`name` must have 1 to {LONGEST_NAME} letters, digits, `-` and `_`");
        }
        match (&self.url, &self.url_env) {
            (Some(url), None) => check_address(url)?,
            (None, Some(_)) => {}
            _ => bail!("set `url`, or `url_env` to the name of the secret with the address"),
        }
        let unknown = self.events.iter().find(|pattern| !EVENTS.iter().any(|event| pattern.matches(event)));
        match unknown {
            Some(unknown) => bail!("`{unknown}` matches no event; the events are {}", EVENTS.join(", ")),
            None if self.events.is_empty() => bail!("`events` is empty; the events are {}", EVENTS.join(", ")),
            None => Ok(()),
        }
    }
}

impl From<&WebhookSettings> for Webhook {
    fn from(settings: &WebhookSettings) -> Self {
        // The path and the query of an address can be secrets.
        let host = settings.url.as_ref().map(|url| {
            let (scheme, rest) = url.split_once("://").unwrap_or_default();
            format!("{scheme}://{}", rest.split(['/', '?', '#']).next().unwrap_or_default())
        });
        Self {
            name: settings.name.clone(),
            host,
            events: settings.events.iter().map(ToString::to_string).collect(),
            workflow: settings.workflow.to_string(),
            format: settings.format.as_str(),
            is_signed: settings.secret_env.is_some(),
        }
    }
}

/// Fails if the webhooks of a project are invalid.
pub(crate) fn check_webhooks(webhooks: &[WebhookSettings]) -> Result<()> {
    let mut names = BTreeSet::new();
    for webhook in webhooks {
        webhook.check().with_context(|| format!("the webhook `{}` in {FILE} is invalid", webhook.name))?;
        if !names.insert(&webhook.name) {
            bail!("there are two webhooks `{}` in {FILE}; give each a name of its own", webhook.name);
        }
    }
    if names.len() > MAX_WEBHOOKS {
        bail!("there are {} webhooks in {FILE}, and at most {MAX_WEBHOOKS} are supported", names.len());
    }
    Ok(())
}

/// Fails unless a text is an address of HTTP without a user, a password or anything that a page or a message could misread.
fn check_address(address: &str) -> Result<()> {
    let rest = address.strip_prefix("https://").or_else(|| address.strip_prefix("http://"));
    let host = rest.map(|rest| rest.split(['/', '?', '#']).next().unwrap_or_default()).unwrap_or_default();
    let is_plain = |c: char| c.is_ascii_graphic() && !matches!(c, '"' | '\'' | '<' | '>' | '\\' | '`' | '|');
    if host.is_empty() || host.contains('@') || !address.chars().all(is_plain) {
        bail!("an address begins with http:// or https:// and has no spaces, quotes, user or password");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, problem: Option<&str>) {
        let webhook: WebhookSettings = toml::from_str(text).expect("these are settings");
        let checked = check_webhooks(&[webhook]).map_err(|error| format!("{error:#}"));
        match problem {
            None => assert_eq!(checked, Ok(())),
            Some(problem) => assert!(checked.as_ref().is_err_and(|error| error.contains(problem)), "{checked:?}"),
        }
    }

    #[test]
    fn webhooks_are_checked_when_they_are_read() {
        check("name = \"a\"\nurl = \"https://example.org/hook?a=b\"", None);
        check("name = \"a\"\nurl_env = \"SLACK_URL\"\nformat = \"slack\"\nevents = [\"*\"]", None);
        check("name = \"a b\"\nurl = \"https://example.org\"", Some("`name` must have"));
        check("name = \"a\"", Some("set `url`"));
        check("name = \"a\"\nurl = \"https://example.org\"\nurl_env = \"X\"", Some("set `url`"));
        for url in ["ftp://example.org", "https://", "https://me:word@example.org", "https://example.org/\\r\\n", "x"] {
            check(&format!("name = \"a\"\nurl = \"{url}\""), Some("an address begins with"));
        }
        check("name = \"a\"\nurl = \"https://example.org\"\nevents = [\"run.ended\"]", Some("matches no event"));
        check("name = \"a\"\nurl = \"https://example.org\"\nevents = []", Some("is empty"));
    }

    #[test]
    fn a_webhook_gets_the_events_of_its_workflows() {
        let text = "name = \"a\"\nurl = \"https://example.org\"\nworkflow = \"pay-*\"\nevents = [\"run.failed\", \"approval.*\"]";
        let webhook: WebhookSettings = toml::from_str(text).expect("these are settings");
        assert!(webhook.wants("run.failed", "pay-out") && webhook.wants("approval.ended", "pay-out"));
        assert!(!webhook.wants("run.completed", "pay-out") && !webhook.wants("run.failed", "billing"));
    }
}
