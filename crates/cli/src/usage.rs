//! The usage of model calls as text and as JSON.

use branchpoint_core::Usage;
use branchpoint_expr::Value;

use crate::json;

/// Tokens and dollars as text; none if there is no known usage.
pub(crate) fn to_text(usage: Usage) -> Option<String> {
    let tokens = (usage.tokens > 0).then(|| format!("{} token{}", group_digits(usage.tokens), plural(usage.tokens)));
    let cost = (usage.cost_micros > 0).then(|| dollars(usage.cost_micros));
    let parts: Vec<String> = tokens.into_iter().chain(cost).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// The same as an object, with the cost in millionths of a dollar.
pub(crate) fn to_json(usage: Usage) -> Value {
    json::object([("tokens", json::count(usage.tokens)), ("cost_micros", json::count(usage.cost_micros))])
}

/// The ending of a noun after a number.
pub(crate) fn plural(count: u64) -> &'static str {
    if count == 1 { "" } else { "s" }
}

/// A number with a comma before every three digits.
fn group_digits(number: u64) -> String {
    let digits = number.to_string();
    let parts = digits.as_bytes().rchunks(3).rev().map(|part| String::from_utf8_lossy(part).into_owned());
    parts.collect::<Vec<_>>().join(",")
}

/// At least two decimals, and more for fractions of a cent.
fn dollars(micros: u64) -> String {
    let fraction = format!("{:06}", micros % 1_000_000);
    let fraction = fraction.trim_end_matches('0');
    format!("${}.{fraction:0<2}", group_digits(micros / 1_000_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_and_dollars_read_well() {
        let words = |tokens, cost_micros| to_text(Usage { tokens, cost_micros });
        assert_eq!(words(0, 0), None);
        assert_eq!(words(1, 0).as_deref(), Some("1 token"));
        assert_eq!(words(1_234_567, 12).as_deref(), Some("1,234,567 tokens, $0.000012"));
        assert_eq!(words(0, 1_500_000_000).as_deref(), Some("$1,500.00"));
        assert_eq!(words(999, 123_400).as_deref(), Some("999 tokens, $0.1234"));
    }
}
