//! The connections to providers, and the threads that serve them.

use std::net::IpAddr;
use std::sync::{Arc, LazyLock, OnceLock};
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::redirect::Policy;
use tokio::runtime::{Builder, Runtime};

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
    trusted: OnceLock<Result<genai::Client, String>>,
    public: OnceLock<Result<genai::Client, String>>,
}

impl Clients {
    /// For addresses that the operator has set.
    pub(super) fn trusted(&self) -> Result<&genai::Client, String> {
        self.trusted.get_or_init(|| built(false)).as_ref().map_err(Clone::clone)
    }

    /// For addresses that a document names: they must not lead into the network of this machine.
    pub(super) fn public(&self) -> Result<&genai::Client, String> {
        self.public.get_or_init(|| built(true)).as_ref().map_err(Clone::clone)
    }
}

fn built(only_public: bool) -> Result<genai::Client, String> {
    // Whoever was first has chosen already, and it works as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = || {
        let builder = reqwest::Client::builder().redirect(Policy::none()).connect_timeout(CONNECT);
        if only_public { builder.dns_resolver(Arc::new(Public)).no_proxy() } else { builder }
    };
    // A machine without certificates of its own, such as a bare container, gets those of the browsers.
    let client = builder().build().or_else(|_| builder().tls_backend_preconfigured(own_roots()).build());
    let client = client.map_err(|error| format!("no connections can be made here: {error}"))?;
    genai::Client::builder().with_reqwest(client).build().map_err(|error| error.to_string())
}

fn own_roots() -> rustls::ClientConfig {
    let roots = rustls::RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    rustls::ClientConfig::builder().with_root_certificates(roots).with_no_client_auth()
}

/// Finds public addresses and no others.
struct Public;

impl Resolve for Public {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let addresses: Vec<_> = found.filter(|address| is_public(address.ip())).collect();
            if addresses.is_empty() {
                return Err(format!("`{}` has no public address", name.as_str()).into());
            }
            Ok(Box::new(addresses.into_iter()) as Addrs)
        })
    }
}

/// Whether an address that a document names may be called: an address in numbers is not looked up, so it is judged here.
pub(super) fn may_be_called(url: &str) -> Result<(), String> {
    let url = reqwest::Url::parse(url).map_err(|error| format!("`{url}` is no address: {error}"))?;
    if !["http", "https"].contains(&url.scheme()) {
        return Err(format!("an address begins with http:// or https://, and this one with {}://", url.scheme()));
    }
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    match host.parse::<IpAddr>() {
        Ok(ip) if !is_public(ip) => Err(format!("`{host}` is an address of a private network")),
        _ => Ok(()),
    }
}

fn is_public(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => {
            let [a, b, ..] = ip.octets();
            let shared = a == 100 && (64..128).contains(&b);
            let special = ip.is_loopback() || ip.is_private() || ip.is_link_local() || ip.is_unspecified();
            !(special
                || shared
                || ip.is_broadcast()
                || ip.is_multicast()
                || ip.is_documentation()
                || a == 0
                || a >= 240)
        }
        IpAddr::V6(ip) => {
            if let Some(mapped) = ip.to_ipv4_mapped() {
                return is_public(mapped.into());
            }
            let special = ip.is_loopback() || ip.is_unspecified() || ip.is_multicast();
            !(special || ip.is_unique_local() || ip.is_unicast_link_local())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_private_networks_are_not_public() {
        for ip in [
            "127.0.0.1",
            "10.1.2.3",
            "192.168.0.1",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",
            "::1",
            "fd00::1",
            "fe80::1",
            "::ffff:127.0.0.1",
        ] {
            assert!(!is_public(ip.parse().expect("an address")), "{ip}");
        }
        for ip in ["1.1.1.1", "2606:4700:4700::1111"] {
            assert!(is_public(ip.parse().expect("an address")), "{ip}");
        }
        assert!(may_be_called("http://[::1]:80/v1/").is_err());
        assert!(may_be_called("file:///etc/passwd").is_err());
        assert!(may_be_called("https://api.example.com/v1/").is_ok());
    }
}
