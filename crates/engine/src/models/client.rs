//! The connections to providers, and the threads that serve them.

use std::sync::{LazyLock, OnceLock};
use std::time::Duration;

use reqwest::redirect::Policy;
use tokio::runtime::{Builder, Runtime};
use url::Url;

use super::providers::Target;
use crate::network::{Guarded, Network, Source};

/// How long a connection may take to come about.
const CONNECT: Duration = Duration::from_secs(30);

/// One for the process: a runtime must not be dropped where somebody else's runs, and hosts come and go.
static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    let built = Builder::new_multi_thread().worker_threads(2).thread_name("models").enable_all().build();
    built.unwrap_or_else(|error| panic!("a process that cannot start threads cannot ask models: {error}"))
});

pub(super) fn runtime() -> &'static Runtime {
    &RUNTIME
}

/// Made when the first call needs them: most processes ask no model.
#[derive(Default)]
pub(super) struct Clients {
    network: Network,
    /// For addresses that the operator has set.
    open: OnceLock<Result<reqwest::Client, String>>,
    /// For addresses that a document names: what names resolve to is checked.
    guarded: OnceLock<Result<reqwest::Client, String>>,
}

impl Clients {
    pub(super) fn new(network: Network) -> Self {
        Self { network, ..Self::default() }
    }

    /// Whose word the address of a provider is, unless it may not be called.
    pub(super) fn source(&self, target: &Target) -> Result<Source, String> {
        if !target.foreign {
            return Ok(Source::Operator);
        }
        let url = Url::parse(&target.url).map_err(|error| format!("`{}` is no address: {error}", target.url))?;
        self.network.admit(&url).map_err(|refused| refused.to_string())
    }

    /// The client for addresses that are somebody's word.
    pub(super) fn client(&self, source: Source) -> Result<&reqwest::Client, String> {
        let (kept, guard) = match source {
            Source::Operator => (&self.open, None),
            Source::Document => (&self.guarded, Some(&self.network)),
        };
        kept.get_or_init(|| built(guard)).as_ref().map_err(Clone::clone)
    }
}

/// A client that follows nothing by itself. With a guard, proxies are out too: they would look names up for us.
fn built(guard: Option<&Network>) -> Result<reqwest::Client, String> {
    // Whoever was first has chosen already, and it works as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = || {
        let builder = reqwest::Client::builder().redirect(Policy::none()).connect_timeout(CONNECT);
        match guard {
            Some(network) => builder.dns_resolver(Guarded(network.clone())).no_proxy(),
            None => builder,
        }
    };
    // A machine without certificates of its own, such as a bare container, gets those of the browsers.
    let client = builder().build().or_else(|_| builder().tls_backend_preconfigured(own_roots()).build());
    client.map_err(|error| format!("no connections can be made here: {error}"))
}

/// For connections within this machine: without proxies, and without certificates, which a machine may not have.
pub(super) fn within() -> reqwest::ClientBuilder {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let no_roots = rustls::ClientConfig::builder().with_root_certificates(rustls::RootCertStore::empty());
    let builder = reqwest::Client::builder().redirect(Policy::none()).no_proxy();
    builder.tls_backend_preconfigured(no_roots.with_no_client_auth())
}

fn own_roots() -> rustls::ClientConfig {
    let roots = rustls::RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    rustls::ClientConfig::builder().with_root_certificates(roots).with_no_client_auth()
}
