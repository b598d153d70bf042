//! The HTTP clients of tools, models and MCP servers.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use reqwest::Client;
use reqwest::redirect::Policy;
use url::Url;

use crate::network::{GuardedResolver, Network, Refused, Source, causes};

/// The time limit for connecting.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// One client for each kind of address, created for the first call that needs it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clients {
    network: Network,
    /// For addresses from the operator.
    open: Arc<OnceLock<Result<Client, String>>>,
    /// For addresses from documents. It checks the IP addresses that host names resolve to.
    guarded: Arc<OnceLock<Result<Client, String>>>,
}

impl Clients {
    pub(crate) fn new(network: Network) -> Self {
        Self { network, ..Self::default() }
    }

    /// Checks an address of a document: see [`Network::admit`].
    pub(crate) fn admit(&self, url: &Url) -> Result<Source, Refused> {
        self.network.admit(url)
    }

    /// The client for addresses from a source.
    pub(crate) fn client(&self, source: Source) -> Result<&Client, String> {
        let (cell, guard) = match source {
            Source::Operator => (&self.open, None),
            Source::Document => (&self.guarded, Some(&self.network)),
        };
        cell.get_or_init(|| build_client(guard)).as_ref().map_err(Clone::clone)
    }
}

/// Creates an HTTP client for addresses from the operator's settings. It follows no redirects and checks no addresses.
///
/// ```
/// assert!(branchpoint_runners::operator_client().is_ok());
/// ```
pub fn operator_client() -> Result<Client, String> {
    build_client(None)
}

/// Builds a client that does not follow redirects. With a guard it uses no proxies either, because a proxy would resolve host names itself.
fn build_client(guard: Option<&Network>) -> Result<Client, String> {
    install_crypto();
    let builder = || {
        let builder = Client::builder()
            .user_agent(concat!("branchpoint/", env!("CARGO_PKG_VERSION")))
            .redirect(Policy::none())
            .connect_timeout(CONNECT_TIMEOUT);
        match guard {
            Some(network) => builder.dns_resolver(GuardedResolver(network.clone())).no_proxy(),
            None => builder,
        }
    };
    // A machine without root certificates, such as a minimal container, uses Mozilla's.
    let client = builder().build().or_else(|_| builder().tls_backend_preconfigured(own_roots()).build());
    client.map_err(|error| {
        let reason = causes(&error).last().map(ToString::to_string).unwrap_or_default();
        format!("the HTTP client cannot be created: {reason}")
    })
}

fn own_roots() -> rustls::ClientConfig {
    let roots = rustls::RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    rustls::ClientConfig::builder().with_root_certificates(roots).with_no_client_auth()
}

/// Makes `ring` the TLS provider of this process, unless the process has chosen another one.
pub(crate) fn install_crypto() {
    let _ = rustls::crypto::ring::default_provider().install_default();
}
