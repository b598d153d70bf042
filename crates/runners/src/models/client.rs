//! The connections to providers.

use reqwest::redirect::Policy;
use url::Url;

use super::providers::Target;
use crate::network::Source;
use crate::network::clients::{Clients, install_crypto};

/// Whose word the address of a provider is, unless it may not be called.
pub(super) fn source(clients: &Clients, target: &Target) -> Result<Source, String> {
    if !target.foreign {
        return Ok(Source::Operator);
    }
    let url = Url::parse(&target.url).map_err(|error| format!("`{}` is no address: {error}", target.url))?;
    clients.admit(&url).map_err(|refused| refused.to_string())
}

/// For connections within this machine: without proxies, and without certificates, which a machine may not have.
pub(super) fn within() -> reqwest::ClientBuilder {
    install_crypto();
    let no_roots = rustls::ClientConfig::builder().with_root_certificates(rustls::RootCertStore::empty());
    let builder = reqwest::Client::builder().redirect(Policy::none()).no_proxy();
    builder.tls_backend_preconfigured(no_roots.with_no_client_auth())
}
