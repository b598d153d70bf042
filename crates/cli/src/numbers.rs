//! Parses numbers and addresses of the command line, with errors that show a valid value.

use std::net::SocketAddr;

/// A whole number of at least 1.
pub(crate) fn positive(text: &str) -> Result<u32, String> {
    let number = text.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| "write a whole number of at least 1".to_owned())
}

/// A number of seconds; 0 is allowed.
pub(crate) fn seconds(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| "write a whole number of seconds, such as 30".to_owned())
}

/// An IP address with a port. `localhost:8080` and `:8080` are addresses of this machine.
pub(crate) fn address(text: &str) -> Result<SocketAddr, String> {
    let local = text.strip_prefix("localhost:").or_else(|| text.strip_prefix(':'));
    let address = local.map_or_else(|| text.to_owned(), |port| format!("127.0.0.1:{port}"));
    address.parse().map_err(|_| "write an IP address and a port, such as 127.0.0.1:8080".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_addresses_are_parsed_and_others_are_rejected() {
        assert_eq!((positive("3"), seconds("0")), (Ok(3), Ok(0)));
        assert!(["0", "-1", "x", "", "4294967296"].iter().all(|text| positive(text).is_err()));
        assert!(["-1", "1.5", "10s"].iter().all(|text| seconds(text).is_err()));
        let local = SocketAddr::from(([127, 0, 0, 1], 8080));
        assert!(["127.0.0.1:8080", "localhost:8080", ":8080"].iter().all(|text| address(text) == Ok(local)));
        assert!(["127.0.0.1", "8080", "example.com:80", ""].iter().all(|text| address(text).is_err()));
    }
}
