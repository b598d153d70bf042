//! The configured providers for the settings of a server, and a check whether one responds. Keys are never part of it.

use std::time::Duration;

use branchpoint_core::effect::{ModelRequest, Request};
use branchpoint_core::ir::Effect;
use url::Url;

use super::Models;
use super::exchange::listed_models;
use super::fault::Fault;
use super::providers::{BUILTIN_PROVIDERS, BuiltinProvider, split};
use crate::network::Source;
use crate::secrets::Secrets;

/// How long a check of a provider may take.
const CHECK_TIMEOUT: Duration = Duration::from_secs(15);

/// The most bytes of the list of models that a check reads.
const CHECK_BYTES: u64 = 4 * 1024 * 1024;

/// The model in requests that need any.
const ANY_MODEL: &str = "any";

/// A configured provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderSummary {
    /// Its name.
    pub name: String,
    /// Its wire format, or the name of a compatible provider.
    pub protocol: String,
    /// Its address without user, password and query.
    pub address: Option<String>,
    /// The models that the settings name for it.
    pub models: Vec<String>,
    /// Whether its key is set.
    pub key: KeyStatus,
    /// Why its models cannot be called: the missing or wrong setting.
    pub problem: Option<String>,
}

/// Whether the key of a provider is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyStatus {
    /// It is set.
    Set,
    /// It is not set, so calls fail.
    Missing,
    /// The provider needs none.
    NotNeeded,
}

/// The result of checking a provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderCheck {
    /// Whether it responds and accepts the key.
    pub ok: bool,
    /// What came of the request, and what to do.
    pub message: String,
}

impl Models {
    /// The configured providers by name: those of the settings, and built-in ones with a key or an address in the environment.
    ///
    /// ```
    /// use std::collections::BTreeMap;
    /// use std::sync::Arc;
    ///
    /// use branchpoint_runners::models::{KeyStatus, Models, Settings};
    ///
    /// let mut models = Models::new(Settings::default(), BTreeMap::new());
    /// models.environment = Arc::new(|name| (name == "MISTRAL_API_KEY").then(|| "key".to_owned()));
    /// let providers = models.providers();
    /// assert_eq!(providers.iter().map(|provider| &*provider.name).collect::<Vec<_>>(), ["mistral"]);
    /// assert_eq!(providers[0].key, KeyStatus::Set);
    /// ```
    pub fn providers(&self) -> Vec<ProviderSummary> {
        let is_in_environment = |known: &&BuiltinProvider| {
            let names = known.key_env().into_iter().chain([known.url_env()]);
            names.into_iter().any(|name| self.variable(&name).is_some())
        };
        let builtin = BUILTIN_PROVIDERS.iter().filter(is_in_environment).map(|known| known.name.to_owned());
        let default = self.default_model().and_then(|model| split(&model, self).0);
        let named = self.settings.providers.keys().cloned().chain(self.settings.provider.clone()).chain(default);
        let mut names: Vec<String> = named.chain(builtin).collect();
        names.sort_unstable();
        names.dedup();
        names.into_iter().map(|name| self.summary(name)).collect()
    }

    fn summary(&self, name: String) -> ProviderSummary {
        let known = BUILTIN_PROVIDERS.iter().find(|known| known.name == name);
        let set = self.settings.providers.get(&name);
        let target = self.target_of(&name, ANY_MODEL, &ModelRequest::default());
        let configured = set.and_then(|set| set.base_url.clone());
        let configured =
            configured.or_else(|| self.variable(&known?.url_env())).or(known.map(|known| known.url.into()));
        let key_env = match set.and_then(|set| set.key_env.clone()) {
            Some(name) => Some(name),
            None => known.and_then(BuiltinProvider::key_env),
        };
        let has_key = key_env.as_deref().is_some_and(|name| !name.is_empty() && self.variable(name).is_some());
        let key = match &target {
            Ok(target) if target.key.is_some() => KeyStatus::Set,
            Ok(_) => KeyStatus::NotNeeded,
            Err(_) if has_key => KeyStatus::Set,
            Err(_) if key_env.is_none() => KeyStatus::NotNeeded,
            Err(_) => KeyStatus::Missing,
        };
        let (address, problem) = match target {
            Ok(target) => (Some(target.url.to_string()), None),
            Err(unavailable) => (configured, Some(unavailable.0)),
        };
        let protocol = set.and_then(|set| set.protocol.clone());
        let protocol = protocol.unwrap_or_else(|| known.map_or("openai", |known| known.name).to_owned());
        let models = self.named_models(&name, known);
        ProviderSummary { protocol, address: address.as_deref().and_then(shown_address), models, key, problem, name }
    }

    /// The models that the settings name for a provider, else the default of the built-in provider.
    fn named_models(&self, provider: &str, known: Option<&BuiltinProvider>) -> Vec<String> {
        let own = self.settings.providers.get(provider).and_then(|set| set.model.clone());
        let mut models: Vec<String> = own.into_iter().chain(self.default_of(provider)).collect();
        models.dedup();
        let builtin = known.map(|known| known.model).filter(|model| models.is_empty() && !model.is_empty());
        models.into_iter().chain(builtin.map(str::to_owned)).collect()
    }

    /// The provider that calls of an effect use, as far as it is known before a run; none for effects that call no model over HTTP.
    pub fn provider_of(&self, effect: &Effect) -> Option<String> {
        let Ok(Request::Model(request)) = effect.request() else { return None };
        if self.program_of(&request).is_some() {
            return None;
        }
        self.provider_and_model(&request).ok().map(|(provider, _)| provider)
    }

    /// Requests the list of models of a provider, which costs nothing. None if the provider is not configured.
    pub async fn check_provider(&self, name: &str) -> Option<ProviderCheck> {
        if !self.providers().iter().any(|provider| provider.name == name) {
            return None;
        }
        let failed = |message: String| ProviderCheck { ok: false, message };
        let target = match self.target_of(name, ANY_MODEL, &ModelRequest::default()) {
            Ok(target) => target,
            Err(unavailable) => return Some(failed(format!("{}.", unavailable.0))),
        };
        let client = match self.clients.client(Source::Operator) {
            Ok(client) => client,
            Err(message) => return Some(failed(message)),
        };
        let listed = tokio::time::timeout(CHECK_TIMEOUT, listed_models(client, &target, CHECK_BYTES)).await;
        let message = |fault: &Fault| fault.message(&Secrets::from_values(target.key.clone()));
        Some(match listed {
            Ok(Ok(models)) if models.is_empty() => {
                ProviderCheck { ok: true, message: "It responds, and lists no models.".into() }
            }
            Ok(Ok(models)) => {
                ProviderCheck { ok: true, message: format!("It responds and lists {} models.", models.len()) }
            }
            Ok(Err(fault)) => failed(message(&fault)),
            Err(_) => failed(format!("It did not respond within {} s.", CHECK_TIMEOUT.as_secs())),
        })
    }
}

/// An address without user, password and query, which may contain keys. None if it is not an address.
fn shown_address(address: &str) -> Option<String> {
    let address = if address.contains("://") { address.to_owned() } else { format!("http://{address}") };
    let mut url = Url::parse(&address).ok()?;
    url.set_query(None);
    url.set_fragment(None);
    // Addresses without a host have neither, and none of ours is one.
    url.set_username("").and_then(|()| url.set_password(None)).ok()?;
    Some(url.to_string())
}

#[cfg(test)]
mod tests {
    use super::shown_address;

    #[track_caller]
    fn check(address: &str, expect: Option<&str>) {
        assert_eq!(shown_address(address).as_deref(), expect, "{address}");
    }

    #[test]
    fn addresses_are_shown_without_credentials() {
        check("https://api.example/v1/", Some("https://api.example/v1/"));
        check("https://ada:hunter2@api.example/v1/?key=hunter3#x", Some("https://api.example/v1/"));
        check("localhost:11434/v1/", Some("http://localhost:11434/v1/"));
        check("data:text/plain,key", None);
        check("http://", None);
    }
}
