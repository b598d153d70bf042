//! Network guard: addresses from documents or data must not reach the private network of this machine.
//!
//! A host name is checked by the addresses that it resolves to, when connecting, so that a second lookup cannot give another address.
//! Addresses from the settings are trusted; addresses from documents are not. Tools and models share this check.

pub(crate) mod clients;
pub(crate) mod retry_after;

use std::error::Error;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::{Host, Url};

/// The addresses that calls may reach.
#[derive(Clone, Debug, Default)]
pub(crate) struct Network {
    allow_private: bool,
    /// In lower case. A host with a port is trusted at that port only.
    trusted: Arc<[String]>,
}

/// Where an address comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// From the operator: nothing is checked.
    Operator,
    /// From a document or from data: it is checked.
    Document,
}

impl Network {
    /// Whether private addresses are allowed, and hosts (`name`, `name:port`) that are always allowed.
    pub(crate) fn new(allow_private: bool, trusted: &[String]) -> Self {
        Self { allow_private, trusted: trusted.iter().map(|host| host.to_ascii_lowercase()).collect() }
    }

    /// Checks an address before its host name is resolved. An address of a trusted host counts as the operator's.
    pub(crate) fn admit(&self, url: &Url) -> Result<Source, Refused> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(Refused::Scheme(url.scheme().into()));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(Refused::UserInfo);
        }
        let host = url.host().ok_or(Refused::NoHost)?;
        if self.trusts(&host, url.port_or_known_default()) {
            return Ok(Source::Operator);
        }
        let ip = match host {
            Host::Ipv4(ip) => Some(IpAddr::V4(ip)),
            Host::Ipv6(ip) => Some(IpAddr::V6(ip)),
            Host::Domain(_) => None,
        };
        ip.map_or(Ok(()), |ip| self.check(ip, &host.to_string())).map(|()| Source::Document)
    }

    fn trusts(&self, host: &Host<&str>, port: Option<u16>) -> bool {
        let host = host.to_string().to_ascii_lowercase();
        let with_port = port.map(|port| format!("{host}:{port}"));
        self.trusted.iter().any(|known| *known == host || Some(known) == with_port.as_ref())
    }

    /// Rejects an IP address that must not be reached.
    fn check(&self, ip: IpAddr, host: &str) -> Result<(), Refused> {
        match reach(ip) {
            // It serves the machine's cloud credentials, so `allow_private_network` does not allow it.
            Reach::Metadata => Err(Refused::Metadata(host.to_owned())),
            Reach::Private if !self.allow_private => Err(Refused::Private(host.to_owned())),
            Reach::Public | Reach::Private => Ok(()),
        }
    }
}

/// The network that an IP address belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// The public internet.
    Public,
    /// This machine, a private network, or a reserved range.
    Private,
    /// The metadata service of a cloud, which serves credentials.
    Metadata,
}

/// Why a call is not sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refused {
    #[error("the address has the scheme `{0}`, but must begin with http:// or https://")]
    Scheme(String),
    #[error("the address must not contain a user name or password; send them in a header")]
    UserInfo,
    #[error("the address has no host; write it as https://host/path")]
    NoHost,
    #[error(
        "`{0}` is a cloud metadata address, which serves the credentials of this machine; to allow it, add it to \
         `trusted_hosts` under [http] in the settings"
    )]
    Metadata(String),
    #[error(
        "`{0}` is a private or local address, which workflows may not call; allow it with --allow-private-network, or \
         with allow_private_network = true under [http] in the settings"
    )]
    Private(String),
}

/// The refusal among the causes of a client's error, if there is one.
pub(crate) fn refusal<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e Refused> {
    causes(error).find_map(|cause| cause.downcast_ref::<Refused>())
}

/// An error and its causes, the outermost first.
pub(crate) fn causes<'e>(error: &'e (dyn Error + 'static)) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error: &&'e (dyn Error + 'static)| <dyn Error>::source(*error))
}

/// The network of an IP address, in any notation.
pub(crate) fn reach(ip: IpAddr) -> Reach {
    match ip {
        IpAddr::V4(ip) => reach_v4(ip),
        IpAddr::V6(ip) => reach_v6(ip),
    }
}

const METADATA_V4: [[u8; 4]; 5] =
    [[169, 254, 169, 254], [169, 254, 170, 2], [169, 254, 170, 23], [100, 100, 100, 200], [168, 63, 129, 16]];

/// Networks with the lengths of their prefixes, from the IANA registry of special-purpose addresses.
const PRIVATE_V4: [([u8; 4], u32); 16] = [
    ([0, 0, 0, 0], 8),
    ([10, 0, 0, 0], 8),
    ([100, 64, 0, 0], 10),
    ([127, 0, 0, 0], 8),
    ([169, 254, 0, 0], 16),
    ([172, 16, 0, 0], 12),
    ([192, 0, 0, 0], 24),
    ([192, 0, 2, 0], 24),
    ([192, 31, 196, 0], 24),
    ([192, 88, 99, 0], 24),
    ([192, 168, 0, 0], 16),
    ([198, 18, 0, 0], 15),
    ([198, 51, 100, 0], 24),
    ([203, 0, 113, 0], 24),
    ([224, 0, 0, 0], 4),
    ([240, 0, 0, 0], 4),
];

fn reach_v4(ip: Ipv4Addr) -> Reach {
    if METADATA_V4.contains(&ip.octets()) {
        return Reach::Metadata;
    }
    let inside = |(network, length): &([u8; 4], u32)| {
        let network = u32::from(Ipv4Addr::from(*network));
        (u32::from(ip) ^ network).leading_zeros() >= *length
    };
    if PRIVATE_V4.iter().any(inside) { Reach::Private } else { Reach::Public }
}

const METADATA_V6: [Ipv6Addr; 2] =
    [Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254), Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254)];

fn reach_v6(ip: Ipv6Addr) -> Reach {
    if METADATA_V6.contains(&ip) {
        return Reach::Metadata;
    }
    if let Some(inner) = embedded_ipv4(ip) {
        return reach_v4(inner);
    }
    let [first, second, ..] = ip.segments();
    // Global addresses begin with the bits 001, except for ranges for protocols, tunnels and documentation.
    let global = first & 0xe000 == 0x2000;
    let special = first == 0x2001 && (second < 0x0200 || second == 0x0db8);
    let examples = first == 0x3fff && second < 0x1000;
    if global && !special && !examples { Reach::Public } else { Reach::Private }
}

/// The IPv4 address that an IPv6 address contains.
fn embedded_ipv4(ip: Ipv6Addr) -> Option<Ipv4Addr> {
    let parts = ip.segments();
    let (high, low) = match parts {
        // IPv4-mapped, NAT64, and the old IPv4-compatible form except `::` and `::1`.
        [0, 0, 0, 0, 0, 0xffff, high, low]
        | [0, 0, 0, 0, 0xffff, 0, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
        // 6to4, then ISATAP with either value of the universal/local bit.
        | [0x2002, high, low, ..]
        | [.., 0 | 0x200, 0x5efe, high, low] => (high, low),
        [0, 0, 0, 0, 0, 0, high, low] if (high, low) > (0, 1) => (high, low),
        _ => return None,
    };
    Some(Ipv4Addr::from((u32::from(high) << 16) | u32::from(low)))
}

/// Resolves host names for a client, and returns only allowed addresses.
#[derive(Debug)]
pub(crate) struct GuardedResolver(pub(crate) Network);

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let network = self.0.clone();
        Box::pin(async move {
            let addresses: Vec<SocketAddr> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            let checked =
                addresses.into_iter().map(|address| network.check(address.ip(), name.as_str()).map(|()| address));
            let (open, refused): (Vec<_>, Vec<_>) = checked.partition(Result::is_ok);
            match refused.into_iter().next() {
                Some(Err(refused)) if open.is_empty() => Err(refused.into()),
                _ => Ok(Box::new(open.into_iter().flatten()) as Addrs),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(expected: Reach, addresses: &str) {
        for address in addresses.split_whitespace() {
            let ip: IpAddr = address.parse().expect("this is an address");
            assert_eq!(reach(ip), expected, "{address}");
        }
    }

    #[test]
    fn public_addresses_are_allowed() {
        check(
            Reach::Public,
            "1.1.1.1 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.1 172.15.255.255 \
             172.32.0.0 192.167.255.255 192.169.0.0 198.17.255.255 198.20.0.0 223.255.255.255 2606:4700::1111 \
             2a00:1450::1 2001:4860:4860::8888 ::ffff:1.1.1.1 64:ff9b::1.1.1.1 2002:101:101::1",
        );
    }

    #[test]
    fn private_and_local_addresses_are_recognised_in_any_notation() {
        check(
            Reach::Private,
            "0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 100.64.0.1 100.127.255.255 127.0.0.1 127.255.255.254 \
             169.254.0.1 172.16.0.1 172.31.255.255 192.0.0.8 192.0.2.1 192.168.1.1 198.18.0.1 198.19.255.255 \
             198.51.100.7 203.0.113.9 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255 :: ::1 \
             ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:0:127.0.0.1 ::127.0.0.1 ::10.1.2.3 64:ff9b::127.0.0.1 \
             64:ff9b::192.168.0.1 64:ff9b:1::1 2002:7f00:1:: 2002:c0a8:101::1 2001::1 \
             2001:0:4136:e378:8000:63bf:3fff:fdd2 2001:db8::1 2001:10::1 3fff::1 2606:4700::200:5efe:10.0.0.1 \
             fc00::1 fd12:3456::1 fe80::1 febf::1 fec0::1 ff02::1 100::1 5f00::1",
        );
    }

    #[test]
    fn metadata_addresses_are_recognised_in_any_notation() {
        check(
            Reach::Metadata,
            "169.254.169.254 169.254.170.2 100.100.100.200 168.63.129.16 ::ffff:169.254.169.254 \
             64:ff9b::a9fe:a9fe 2002:a9fe:a9fe:: fd00:ec2::254 fd20:ce::254",
        );
    }

    #[track_caller]
    fn admitted(network: &Network, url: &str) -> Result<Source, Refused> {
        network.admit(&Url::parse(url).expect("this is an address"))
    }

    #[test]
    fn an_ip_address_is_checked_in_any_notation() {
        let network = Network::default();
        for url in [
            "http://127.0.0.1/",
            "http://127.1/",
            "http://2130706433/",
            "http://0x7f.0.0.1/",
            "http://0177.0.0.1/",
            "http://[::1]:80/",
            "http://[::ffff:7f00:1]/",
            "https://169.254.169.254/latest/meta-data/",
        ] {
            assert!(matches!(admitted(&network, url), Err(Refused::Private(_) | Refused::Metadata(_))), "{url}");
        }
        assert_eq!(admitted(&network, "https://1.1.1.1/"), Ok(Source::Document));
        assert_eq!(
            admitted(&network, "https://example.org/"),
            Ok(Source::Document),
            "a host name is checked when it is resolved"
        );
    }

    #[test]
    fn only_http_is_allowed_and_no_user_name_in_the_address() {
        let network = Network::new(true, &[]);
        assert_eq!(admitted(&network, "ftp://example.org/"), Err(Refused::Scheme("ftp".into())));
        assert_eq!(admitted(&network, "file:///etc/passwd"), Err(Refused::Scheme("file".into())));
        assert_eq!(admitted(&network, "https://me:pass@example.org/"), Err(Refused::UserInfo));
        assert_eq!(admitted(&network, "https://me@example.org/"), Err(Refused::UserInfo));
    }

    #[test]
    fn the_option_allows_private_networks_but_not_metadata_addresses() {
        let network = Network::new(true, &[]);
        assert_eq!(admitted(&network, "http://10.0.0.1/"), Ok(Source::Document));
        assert!(admitted(&network, "http://169.254.169.254/").is_err());
    }

    #[test]
    fn hosts_are_trusted_with_or_without_a_port() {
        let network = Network::new(false, &["127.0.0.1:8080".into(), "Intern.example".into(), "[::1]".into()]);
        assert_eq!(admitted(&network, "http://127.0.0.1:8080/x"), Ok(Source::Operator));
        assert!(admitted(&network, "http://127.0.0.1:8081/x").is_err());
        assert_eq!(admitted(&network, "https://intern.example/"), Ok(Source::Operator));
        assert_eq!(admitted(&network, "http://[::1]:9/"), Ok(Source::Operator));
        assert_eq!(admitted(&network, "https://other.intern.example/"), Ok(Source::Document));
    }

    #[test]
    fn a_refusal_names_the_option() {
        let refused = admitted(&Network::default(), "http://localhost.localdomain:1/");
        assert_eq!(refused, Ok(Source::Document), "it is a name");
        let refused = admitted(&Network::default(), "http://10.1.1.1/").expect_err("it is private").to_string();
        assert!(refused.contains("--allow-private-network"), "{refused}");
        assert!(refused.contains("10.1.1.1"), "{refused}");
    }
}
