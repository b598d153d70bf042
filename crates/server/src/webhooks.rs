//! The webhooks that the operator has configured, as the settings show them.

use std::sync::Arc;

/// A configured webhook, without its secrets.
#[derive(Clone, Debug)]
pub struct Webhook {
    /// The name.
    pub name: String,
    /// The scheme and the host of its address; none if the address is a secret.
    pub host: Option<String>,
    /// The patterns of its events.
    pub events: Vec<String>,
    /// The pattern of its workflows.
    pub workflow: String,
    /// The form of its messages.
    pub format: &'static str,
    /// Whether its messages are signed.
    pub is_signed: bool,
}

impl Webhook {
    /// The target of the deliveries to a webhook of this name.
    pub fn target_of(name: &str) -> String {
        format!("webhook:{name}")
    }
}

/// The configured webhooks, and what makes their deliveries begin.
#[derive(Clone)]
pub struct Webhooks {
    /// The webhooks.
    pub configured: Vec<Webhook>,
    /// Makes the process look for deliveries that are due.
    pub wake: Arc<dyn Fn() + Send + Sync>,
}

impl Default for Webhooks {
    fn default() -> Self {
        Self { configured: Vec::new(), wake: Arc::new(|| {}) }
    }
}
