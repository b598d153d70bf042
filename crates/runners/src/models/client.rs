//! The connections to providers, and the threads that serve them.

use std::sync::LazyLock;

use reqwest::redirect::Policy;
use tokio::runtime::{Builder, Runtime};
use url::Url;

use super::providers::Target;
use crate::network::Source;
use crate::network::clients::{Clients, install_crypto};

/// One for the process: a runtime must not be dropped where somebody else's runs, and hosts come and go.
static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    let built = Builder::new_multi_thread().worker_threads(2).thread_name("models").enable_all().build();
    built.unwrap_or_else(|error| panic!("a process that cannot start threads cannot ask models: {error}"))
});

pub(super) fn runtime() -> &'static Runtime {
    &RUNTIME
}

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
