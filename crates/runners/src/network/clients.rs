//! The clients of everything that speaks HTTP: tools, models, and servers of tools at an address.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use reqwest::Client;
use reqwest::redirect::Policy;
use url::Url;

use crate::network::{Guarded, Network, Refused, Source, causes};

/// How long a connection may take to come about.
const CONNECT: Duration = Duration::from_secs(30);

/// One client for each kind of address. They are made when the first call needs them: most processes call nobody.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clients {
    network: Network,
    /// For addresses of the operator.
    open: Arc<OnceLock<Result<Client, String>>>,
    /// For addresses of documents: what names resolve to is checked.
    guarded: Arc<OnceLock<Result<Client, String>>>,
}

impl Clients {
    pub(crate) fn new(network: Network) -> Self {
        Self { network, ..Self::default() }
    }

    /// Whose word an address of a document is, unless it may not be called.
    pub(crate) fn admit(&self, url: &Url) -> Result<Source, Refused> {
        self.network.admit(url)
    }

    /// The client for addresses that are somebody's word.
    pub(crate) fn client(&self, source: Source) -> Result<&Client, String> {
        let (kept, guard) = match source {
            Source::Operator => (&self.open, None),
            Source::Document => (&self.guarded, Some(&self.network)),
        };
        kept.get_or_init(|| built(guard)).as_ref().map_err(Clone::clone)
    }
}

/// A client that follows nothing by itself. With a guard, proxies are out too: they would look names up for us.
fn built(guard: Option<&Network>) -> Result<Client, String> {
    install_crypto();
    let builder = || {
        let builder = Client::builder()
            .user_agent(concat!("branchpoint/", env!("CARGO_PKG_VERSION")))
            .redirect(Policy::none())
            .connect_timeout(CONNECT);
        match guard {
            Some(network) => builder.dns_resolver(Guarded(network.clone())).no_proxy(),
            None => builder,
        }
    };
    // A machine without certificates of its own, such as a bare container, gets those of the browsers.
    let client = builder().build().or_else(|_| builder().tls_backend_preconfigured(own_roots()).build());
    client.map_err(|error| {
        let reason = causes(&error).last().map(ToString::to_string).unwrap_or_default();
        format!("no connections can be made here: {reason}")
    })
}

fn own_roots() -> rustls::ClientConfig {
    let roots = rustls::RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    rustls::ClientConfig::builder().with_root_certificates(roots).with_no_client_auth()
}

/// Makes `ring` the provider of TLS for this process, unless somebody has chosen another, which works as well.
pub(crate) fn install_crypto() {
    let _ = rustls::crypto::ring::default_provider().install_default();
}
