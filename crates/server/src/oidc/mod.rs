//! Sign-in with an OpenID Connect provider: the authorization code flow with PKCE, `state` and `nonce`.

mod claims;
mod http;
mod pending;

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use openidconnect::core::{
    CoreAuthDisplay, CoreAuthPrompt, CoreAuthenticationFlow, CoreErrorResponseType, CoreGenderClaim, CoreJsonWebKey,
    CoreJweContentEncryptionAlgorithm, CoreJwsSigningAlgorithm, CoreProviderMetadata, CoreRevocableToken,
    CoreRevocationErrorResponse, CoreTokenIntrospectionResponse, CoreTokenType,
};
use openidconnect::{
    AuthorizationCode, ClaimsVerificationError, Client, ClientId, ClientSecret, CsrfToken, EmptyExtraTokenFields,
    EndpointMaybeSet, EndpointNotSet, EndpointSet, IdTokenFields, IssuerUrl, Nonce, PkceCodeChallenge, RedirectUrl,
    Scope, StandardErrorResponse, StandardTokenResponse, TokenResponse as _,
};

pub use self::claims::RoleRule;
use self::claims::{Claims, MoreClaims};
pub(crate) use self::claims::{Grant, Refusal};
use self::http::ProviderClient;
use self::pending::Pending;

/// How long the provider's addresses and keys are used before they are requested again.
const METADATA_AGE: Duration = Duration::from_mins(5);

/// The provider with which people sign in, and what they may do then.
#[derive(Clone, Debug)]
pub struct OidcSettings {
    /// The issuer, as an address. Its configuration is read from `/.well-known/openid-configuration` below it.
    pub issuer: String,
    /// The id of this server at the provider.
    pub client_id: String,
    /// The secret of this server at the provider; none for a public client.
    pub client_secret: Option<String>,
    /// The name of the provider on the page.
    pub name: String,
    /// Scopes to request besides `openid`.
    pub scopes: Vec<String>,
    /// The claim that is the user's name.
    pub user_claim: String,
    /// The claim that lists the user's groups.
    pub groups_claim: String,
    /// Whether an email address counts as verified if the provider does not say so.
    pub trusts_unverified_email: bool,
    /// What users may do. The first rule that fits a user counts; a user whom none fits cannot sign in.
    pub roles: Vec<RoleRule>,
}

/// Signs people in with one provider.
pub(crate) struct Oidc {
    settings: OidcSettings,
    http: ProviderClient,
    metadata: Mutex<Option<(Instant, CoreProviderMetadata)>>,
    pending: Pending,
}

/// Why signing in failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OidcError {
    #[error("the provider {issuer} cannot be used: {reason}")]
    Provider { issuer: String, reason: String },
    #[error("the sign-in is unknown or took more than ten minutes")]
    UnknownState,
    #[error("the provider's response is invalid: {0}")]
    Response(String),
    #[error(transparent)]
    Refused(#[from] Refusal),
}

/// A sign-in that has begun.
pub(crate) struct StartedSignIn {
    /// Where the browser continues.
    pub(crate) url: String,
    /// The value that ties the sign-in to the browser.
    pub(crate) state: String,
}

/// A sign-in that the provider has confirmed.
#[derive(Debug)]
pub(crate) struct SignedIn {
    /// Who signed in, and what they may do.
    pub(crate) grant: Grant,
    /// The page to show.
    pub(crate) to: String,
}

type TokenFields = IdTokenFields<
    MoreClaims,
    EmptyExtraTokenFields,
    CoreGenderClaim,
    CoreJweContentEncryptionAlgorithm,
    CoreJwsSigningAlgorithm,
>;

/// A client whose ID tokens have the claims that rules can name. The library's own alias drops them.
type OidcClient = Client<
    MoreClaims,
    CoreAuthDisplay,
    CoreGenderClaim,
    CoreJweContentEncryptionAlgorithm,
    CoreJsonWebKey,
    CoreAuthPrompt,
    StandardErrorResponse<CoreErrorResponseType>,
    StandardTokenResponse<TokenFields, CoreTokenType>,
    CoreTokenIntrospectionResponse,
    CoreRevocableToken,
    CoreRevocationErrorResponse,
    EndpointSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointMaybeSet,
    EndpointMaybeSet,
>;

impl Oidc {
    /// A provider, and the client for addresses of the operator.
    pub(crate) fn new(settings: OidcSettings, http: reqwest::Client) -> Self {
        Self { settings, http: ProviderClient(http), metadata: Mutex::default(), pending: Pending::default() }
    }

    /// The name of the provider on the page.
    pub(crate) fn name(&self) -> &str {
        &self.settings.name
    }

    /// Begins a sign-in that returns to `callback` and ends at the page `to`.
    pub(crate) async fn begin(&self, callback: String, to: String) -> Result<StartedSignIn, OidcError> {
        let client = self.client(callback.clone(), false).await?;
        let (challenge, verifier) = PkceCodeChallenge::new_random_sha256();
        let flow = CoreAuthenticationFlow::AuthorizationCode;
        let request = client.authorize_url(flow, CsrfToken::new_random, Nonce::new_random);
        let scopes = self.settings.scopes.iter().map(|scope| Scope::new(scope.clone()));
        let (url, state, nonce) = request.add_scopes(scopes).set_pkce_challenge(challenge).url();
        let state = state.secret().clone();
        let begun = pending::SignIn { verifier, nonce, callback, to };
        self.pending.add(state.clone(), begun);
        Ok(StartedSignIn { url: url.into(), state })
    }

    /// Completes a sign-in with the code that the provider gave to the browser. A state works once.
    pub(crate) async fn complete(&self, state: &str, code: String) -> Result<SignedIn, OidcError> {
        let begun = self.pending.take(state).ok_or(OidcError::UnknownState)?;
        let client = self.client(begun.callback, false).await?;
        let exchange = client.exchange_code(AuthorizationCode::new(code)).map_err(|error| self.unusable(&error))?;
        let tokens = exchange.set_pkce_verifier(begun.verifier).request_async(&self.http).await;
        let tokens = tokens.map_err(|error| OidcError::Response(causes(&error)))?;
        let token = tokens.id_token().ok_or_else(|| OidcError::Response("it has no ID token".into()))?;
        let first = token.claims(&client.id_token_verifier(), &begun.nonce);
        let verified = match first {
            Ok(claims) => claims,
            // The provider may have changed its keys since they were read.
            Err(ClaimsVerificationError::SignatureVerification(_)) => {
                let renewed = self.client(String::new(), true).await?;
                let verified = token.claims(&renewed.id_token_verifier(), &begun.nonce);
                verified.map_err(|error| OidcError::Response(causes(&error)))?
            }
            Err(error) => return Err(OidcError::Response(causes(&error))),
        };
        let grant = Claims(verified).grant(&self.settings)?;
        Ok(SignedIn { grant, to: begun.to })
    }

    /// The client with the addresses and keys of the provider, which are requested again when they are old.
    async fn client(&self, callback: String, renew: bool) -> Result<OidcClient, OidcError> {
        let metadata = match self.recent_metadata().filter(|_| !renew) {
            Some(metadata) => metadata,
            None => self.discover().await?,
        };
        let secret = self.settings.client_secret.clone().map(ClientSecret::new);
        let client =
            OidcClient::from_provider_metadata(metadata, ClientId::new(self.settings.client_id.clone()), secret);
        if callback.is_empty() {
            return Ok(client);
        }
        let callback = RedirectUrl::new(callback).map_err(|error| self.unusable(&error))?;
        Ok(client.set_redirect_uri(callback))
    }

    fn recent_metadata(&self) -> Option<CoreProviderMetadata> {
        let stored = self.metadata.lock().unwrap_or_else(PoisonError::into_inner);
        stored.as_ref().filter(|(at, _)| at.elapsed() < METADATA_AGE).map(|(_, metadata)| metadata.clone())
    }

    async fn discover(&self) -> Result<CoreProviderMetadata, OidcError> {
        let issuer = IssuerUrl::new(self.settings.issuer.clone()).map_err(|error| self.unusable(&error))?;
        let metadata = CoreProviderMetadata::discover_async(issuer, &self.http).await;
        let metadata = metadata.map_err(|error| self.unusable(&error))?;
        *self.metadata.lock().unwrap_or_else(PoisonError::into_inner) = Some((Instant::now(), metadata.clone()));
        Ok(metadata)
    }

    fn unusable(&self, error: &dyn std::error::Error) -> OidcError {
        OidcError::Provider { issuer: self.settings.issuer.clone(), reason: causes(error) }
    }
}

/// An error with its causes, on one line.
fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text = format!("{text}: {cause}");
        next = cause.source();
    }
    text
}
