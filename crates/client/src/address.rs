//! The address of a server.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use url::{Host, Url};

/// The address of a server, with its base path. Without encryption, a token can be read on the way, so `http` is only for this machine
/// unless it is [allowed](ServerAddress::parse).
///
/// ```
/// use branchpoint_client::ServerAddress;
///
/// assert_eq!("https://flows.example/team/".parse::<ServerAddress>()?.to_string(), "https://flows.example/team");
/// assert!("http://flows.example".parse::<ServerAddress>().is_err());
/// assert!("http://127.0.0.1:8080".parse::<ServerAddress>().is_ok());
/// assert!(ServerAddress::parse("http://flows.example", true).is_ok());
/// # Ok::<(), branchpoint_client::InvalidAddress>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerAddress(Url);

/// Why a text is not the address of a server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidAddress {
    /// It is not a URL.
    #[error("it must be a URL such as https://flows.example")]
    NotAUrl,
    /// It has a user, a password, a query or a fragment.
    #[error("it must have no user, password, query or fragment; the token comes from BRANCHPOINT_TOKEN")]
    NotPlain,
    /// It is neither `https` nor `http`.
    #[error("it must begin with https:// or http://")]
    Scheme,
    /// It is `http` on another machine.
    #[error("http:// sends the token and all data unencrypted; use https://, or allow it with --allow-http")]
    Unencrypted,
}

impl ServerAddress {
    /// Reads an address. `allow_http` allows `http` on other machines.
    pub fn parse(text: &str, allow_http: bool) -> Result<Self, InvalidAddress> {
        let mut url = Url::parse(text.trim()).map_err(|_| InvalidAddress::NotAUrl)?;
        let is_plain =
            url.username().is_empty() && url.password().is_none() && url.query().is_none() && url.fragment().is_none();
        match url.scheme() {
            "https" | "http" if !is_plain => return Err(InvalidAddress::NotPlain),
            "https" => {}
            "http" if allow_http || is_loopback(&url) => {}
            "http" => return Err(InvalidAddress::Unencrypted),
            _ => return Err(InvalidAddress::Scheme),
        }
        let path = url.path().trim_end_matches('/').to_owned();
        url.set_path(&path);
        Ok(Self(url))
    }

    /// The URL of an endpoint, from the parts of its path below `/api/v1`.
    pub(crate) fn endpoint(&self, parts: &[&str]) -> Url {
        let mut url = self.0.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(["api", "v1"]).extend(parts);
        }
        url
    }
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(ip)) => IpAddr::V4(ip).is_loopback(),
        Some(Host::Ipv6(ip)) => IpAddr::V6(ip).is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    }
}

impl FromStr for ServerAddress {
    type Err = InvalidAddress;

    fn from_str(text: &str) -> Result<Self, InvalidAddress> {
        Self::parse(text, false)
    }
}

impl fmt::Display for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_str().trim_end_matches('/'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: Result<&str, InvalidAddress>) {
        assert_eq!(
            text.parse::<ServerAddress>().map(|address| address.to_string()),
            expect.map(str::to_owned),
            "{text}"
        );
    }

    #[test]
    fn only_plain_and_encrypted_addresses_are_accepted() {
        check("https://flows.example", Ok("https://flows.example"));
        check("https://flows.example:8443/team/", Ok("https://flows.example:8443/team"));
        check("http://localhost:8080", Ok("http://localhost:8080"));
        check("http://[::1]:8080/", Ok("http://[::1]:8080"));
        check("http://10.0.0.1", Err(InvalidAddress::Unencrypted));
        check("http://localhost.evil.example", Err(InvalidAddress::Unencrypted));
        check("https://ada:secret@flows.example", Err(InvalidAddress::NotPlain));
        check("https://flows.example/?token=x", Err(InvalidAddress::NotPlain));
        check("ftp://flows.example", Err(InvalidAddress::Scheme));
        check("flows.example", Err(InvalidAddress::NotAUrl));
    }

    #[test]
    fn parts_of_a_path_are_encoded() {
        let address: ServerAddress = "https://flows.example/team".parse().expect("an address");
        let url = address.endpoint(&["runs", "a/b?c", "cancel"]);
        assert_eq!(url.as_str(), "https://flows.example/team/api/v1/runs/a%2Fb%3Fc/cancel");
    }
}
