//! The section `[oidc]` of `branchpoint.toml`: the provider with which people sign in to a server.

use anyhow::{Result, bail};
use branchpoint_runners::SecretStore;
use branchpoint_server::{OidcSettings, Pattern, Role, RoleRule};
use serde::Deserialize;

/// The provider, and what the people may do who sign in with it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OidcSection {
    issuer: String,
    client_id: String,
    client_secret_env: Option<String>,
    #[serde(default = "name")]
    name: String,
    #[serde(default = "scopes")]
    scopes: Vec<String>,
    #[serde(default = "user_claim")]
    user_claim: String,
    #[serde(default = "groups_claim")]
    groups_claim: String,
    /// For providers that never send the claim `email_verified`.
    #[serde(default)]
    trust_unverified_email: bool,
    roles: Vec<RoleSection>,
}

/// A role for the members of a group, or for everybody who signs in.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RoleSection {
    group: Option<String>,
    role: Role,
    #[serde(default)]
    workflows: Vec<Pattern>,
}

fn name() -> String {
    "single sign-on".into()
}

fn scopes() -> Vec<String> {
    vec!["profile".into(), "email".into()]
}

fn user_claim() -> String {
    "email".into()
}

fn groups_claim() -> String {
    "groups".into()
}

impl OidcSection {
    /// The settings of the server, with the secret that `client_secret_env` names.
    pub(crate) fn settings(&self, secrets: &SecretStore) -> Result<OidcSettings> {
        let client_secret = match &self.client_secret_env {
            None => None,
            Some(name) => match secrets(name) {
                Some(secret) => Some(secret),
                None => bail!(
                    "`client_secret_env` of [oidc] names `{name}`, which is not set\nhelp: set it in the environment or in the secrets file"
                ),
            },
        };
        if !self.issuer.starts_with("https://") && !is_on_this_machine(&self.issuer) {
            bail!("`issuer` of [oidc] must begin with `https://`: {}", self.issuer);
        }
        if self.roles.is_empty() {
            bail!(
                "[oidc] has no `roles`, so that no one could sign in\nhelp: add [[oidc.roles]] with a `role`, and a `group` unless it is for everybody"
            );
        }
        Ok(OidcSettings {
            issuer: self.issuer.clone(),
            client_id: self.client_id.clone(),
            client_secret,
            name: self.name.clone(),
            scopes: self.scopes.clone(),
            user_claim: self.user_claim.clone(),
            groups_claim: self.groups_claim.clone(),
            trusts_unverified_email: self.trust_unverified_email,
            roles: self.roles.iter().map(RoleSection::rule).collect(),
        })
    }
}

/// Whether an address without TLS leads to this machine.
fn is_on_this_machine(issuer: &str) -> bool {
    let Some(rest) = issuer.strip_prefix("http://") else { return false };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let is_port = |port: &str| port.bytes().all(|digit| digit.is_ascii_digit());
    let host = authority.rsplit_once(':').filter(|(_, port)| is_port(port)).map_or(authority, |(host, _)| host);
    matches!(host, "127.0.0.1" | "localhost" | "[::1]")
}

#[test]
fn only_loopback_hosts_need_no_tls() {
    for issuer in ["http://127.0.0.1:9400", "http://localhost/realms/a", "http://[::1]:80", "http://[::1]"] {
        assert!(is_on_this_machine(issuer), "{issuer}");
    }
    let foreign = [
        "http://localhost.evil.example",
        "http://127.0.0.1.evil.example:80",
        "http://127.0.0.1:1@evil.example",
        "ftp://localhost",
    ];
    for issuer in foreign {
        assert!(!is_on_this_machine(issuer), "{issuer}");
    }
}

impl RoleSection {
    fn rule(&self) -> RoleRule {
        let workflows = if self.workflows.is_empty() { vec![Pattern::all()] } else { self.workflows.clone() };
        RoleRule { group: self.group.clone(), role: self.role, workflows }
    }
}
