//! What a person may do, from the claims of an ID token.

use std::collections::BTreeMap;

use openidconnect::core::CoreGenderClaim;
use openidconnect::{AdditionalClaims, IdTokenClaims};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::OidcSettings;
use crate::access::{Pattern, Role};

/// The maximum length of a user name in bytes.
const MAX_USER: usize = 200;

/// Gives a role to the members of a group, or to everybody who can sign in.
#[derive(Clone, Debug)]
pub struct RoleRule {
    /// The group; none for everybody.
    pub group: Option<String>,
    /// What its members may do.
    pub role: Role,
    /// The workflows for which they have the role.
    pub workflows: Vec<Pattern>,
}

/// Who signed in, and what they may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Grant {
    pub(crate) user: String,
    pub(crate) role: Role,
    pub(crate) workflows: Vec<Pattern>,
}

/// Why a person whom the provider knows cannot sign in here.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    #[error("the provider's claim `{0}` is missing or not a name")]
    NoName(String),
    #[error("the provider has not verified the address {0}")]
    Unverified(String),
    #[error("no role of this server is for {0}")]
    NoRole(String),
}

/// The claims of a token that the standard does not name.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(super) struct MoreClaims {
    #[serde(flatten)]
    claims: BTreeMap<String, Value>,
}

impl AdditionalClaims for MoreClaims {}

/// The claims of a verified token.
pub(super) struct Claims<'a>(pub(super) &'a IdTokenClaims<MoreClaims, CoreGenderClaim>);

impl Claims<'_> {
    pub(super) fn grant(&self, settings: &OidcSettings) -> Result<Grant, Refusal> {
        let user = self.user(settings)?;
        let groups = self.groups(&settings.groups_claim);
        let rule =
            settings.roles.iter().find(|rule| rule.group.as_ref().is_none_or(|group| groups.contains(&&**group)));
        let Some(rule) = rule else { return Err(Refusal::NoRole(user)) };
        Ok(Grant { user, role: rule.role, workflows: rule.workflows.clone() })
    }

    fn user(&self, settings: &OidcSettings) -> Result<String, Refusal> {
        let claim = &*settings.user_claim;
        let value = match claim {
            "sub" => Some(self.0.subject().as_str()),
            "email" => self.0.email().map(|email| email.as_str()),
            "preferred_username" => self.0.preferred_username().map(|name| name.as_str()),
            other => self.0.additional_claims().claims.get(other).and_then(Value::as_str),
        };
        let is_name = |name: &&str| !name.is_empty() && name.len() <= MAX_USER && !name.chars().any(char::is_control);
        let user = value.map(str::trim).filter(is_name).ok_or_else(|| Refusal::NoName(claim.to_owned()))?;
        // An address that a person can enter at the provider is not an identity.
        let is_verified = self.0.email_verified().unwrap_or(settings.trusts_unverified_email);
        if claim == "email" && !is_verified {
            return Err(Refusal::Unverified(user.to_owned()));
        }
        Ok(user.to_owned())
    }

    /// The groups of the user: a list of texts, or one text.
    fn groups(&self, claim: &str) -> Vec<&str> {
        match self.0.additional_claims().claims.get(claim) {
            Some(Value::Array(groups)) => groups.iter().filter_map(Value::as_str).collect(),
            Some(Value::String(group)) => vec![group],
            _ => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(user_claim: &str) -> OidcSettings {
        let rule = |group: Option<&str>, role, pattern: &str| RoleRule {
            group: group.map(str::to_owned),
            role,
            workflows: vec![pattern.parse().unwrap()],
        };
        OidcSettings {
            issuer: "https://id.example".into(),
            client_id: "branchpoint".into(),
            client_secret: None,
            name: "Example".into(),
            scopes: Vec::new(),
            user_claim: user_claim.into(),
            groups_claim: "groups".into(),
            trusts_unverified_email: false,
            roles: vec![rule(Some("engineers"), Role::Editor, "*"), rule(Some("support"), Role::Approver, "support-*")],
        }
    }

    #[track_caller]
    fn check(user_claim: &str, claims: &Value, expect: Result<(&str, Role), Refusal>) {
        let mut all =
            serde_json::json!({"iss": "https://id.example", "aud": ["branchpoint"], "sub": "u1", "exp": 2, "iat": 1});
        all.as_object_mut().unwrap().extend(claims.as_object().unwrap().clone());
        let token: IdTokenClaims<MoreClaims, CoreGenderClaim> = serde_json::from_value(all).unwrap();
        let grant = Claims(&token).grant(&settings(user_claim));
        assert_eq!(grant.map(|grant| (grant.user, grant.role)), expect.map(|(user, role)| (user.to_owned(), role)));
    }

    #[test]
    fn the_first_rule_that_fits_gives_the_role() {
        check("sub", &serde_json::json!({"groups": ["support", "engineers"]}), Ok(("u1", Role::Editor)));
        check("sub", &serde_json::json!({"groups": "support"}), Ok(("u1", Role::Approver)));
        check("sub", &serde_json::json!({"groups": ["sales"]}), Err(Refusal::NoRole("u1".into())));
        check("sub", &serde_json::json!({"groups": {"engineers": true}}), Err(Refusal::NoRole("u1".into())));
    }

    #[test]
    fn the_name_of_a_user_is_the_configured_claim() {
        let groups = serde_json::json!(["engineers"]);
        let named = serde_json::json!({"preferred_username": "ada", "email": "ada@example.com", "email_verified": true, "login": "al", "groups": groups});
        check("preferred_username", &named, Ok(("ada", Role::Editor)));
        check("email", &named, Ok(("ada@example.com", Role::Editor)));
        check("login", &named, Ok(("al", Role::Editor)));
        check("nickname2", &named, Err(Refusal::NoName("nickname2".into())));
        let unverified = serde_json::json!({"email": "ada@example.com", "email_verified": false, "groups": groups});
        check("email", &unverified, Err(Refusal::Unverified("ada@example.com".into())));
        let unknown = serde_json::json!({"email": "ada@example.com", "groups": groups});
        check("email", &unknown, Err(Refusal::Unverified("ada@example.com".into())));
        let hostile = serde_json::json!({"login": "a\r\nb", "groups": groups});
        check("login", &hostile, Err(Refusal::NoName("login".into())));
    }
}
